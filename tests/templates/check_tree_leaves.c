/* tree_leaves as it stands against walking the trees by recursion: complete trees over the same few nodes. */
#include TEMPLATE

#include <math.h>
#include <stdio.h>

enum { NODES = 7 };
static const int32_t features[NODES] = {1, 0, 2, 0, 1, 2, 1};
static const T splits[NODES] = {(T)0.5, (T)-1, (T)2, (T)0, (T)0.25, (T)-0.5, (T)1};

static int32_t way_of(int node, int way)
{
    const int child = 2 * node + 1 + (way == 0 ? 0 : 1);
    return child < NODES && way < 2 ? (int32_t)child : (int32_t)(-1 - (8 * node + way));
}

static int32_t leaf_of(int32_t at, const T *x)
{
    if (at < 0)
        return -1 - at;
    const T v = x[features[at] * X_COL];
    const int way = v <= splits[at] ? 0 : WAYS == 2 || v > splits[at] ? 1 : 2;
    return leaf_of(way_of(at, way), x);
}

int main(void)
{
    int32_t next[NODES * WAYS], roots[TREES];
    int failures = 0;
    for (int i = 0; i < NODES * WAYS; i++)
        next[i] = way_of(i / WAYS, i % WAYS);
    for (int t = 0; t < TREES; t++)
        roots[t] = t % 4 == 3 ? -10 : t % 4;
    for (int r = 0; r < 125; r++) {
        T x[3 * X_COL];
        for (int f = 0, rest = r; f < 3; f++, rest /= 5)
            x[f * X_COL] = rest % 5 == 4 ? (T)NAN : (T)(rest % 5) - (T)1.5;
        tree_leaves(x, roots, features, splits, next);
        for (int t = 0; t < TREES; t++)
            if (out[t] != leaf_of(roots[t], x) && failures++ < 5)
                printf("row %d, tree %d: leaf %d, expected %d\n", r, t, (int)out[t], (int)leaf_of(roots[t], x));
    }
    return failures != 0;
}
