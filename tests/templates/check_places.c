/* places as it stands against counting who comes before. */
#include TEMPLATE

#include <stdio.h>

static T x[(OUTER - 1) * X_OUTER + (SIZE - 1) * X_ROW + (INNER - 1) * X_COL + 1];

static double key(int o, int p, int i)
{
    return (double)x[o * X_OUTER + p * X_ROW + i * X_COL];
}

static int rank(int o, int p, int i)
{
    int before = 0;
    for (int q = 0; q < SIZE; q++) {
        const double other = key(o, q, i), own = key(o, p, i);
        before += (LARGEST ? other > own : other < own) || (q < p && !(other < own) && !(other > own));
    }
    return before;
}

int main(void)
{
    static int32_t order[2 * SIZE];
    int failures = 0;
    for (int i = 0; i < (int)(sizeof x / sizeof *x); i++)
        x[i] = (T)((i * 7919) % 23);
    places(x, order);
    for (int o = 0; o < OUTER; o++)
        for (int p = 0; p < SIZE; p++)
            for (int i = 0; i < INNER; i++) {
                const int r = rank(o, p, i);
                if (r < K && out[(o * K + r) * INNER + i] != p && failures++ < 5)
                    printf("[%d,%d,%d] is %d, expected %d\n", o, r, i, (int)out[(o * K + r) * INNER + i], p);
            }
    return failures != 0;
}
