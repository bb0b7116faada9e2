/* SPDX-License-Identifier: 0BSD */
/* Places of the first K elements of each line x[o][..][i] in order, the greatest first (LARGEST) or the least:
 * finish(o, r, i, place of the one with rank r). Of equal ones the one in front comes first. There is no NaN; were
 * there one, all places would still be some.
 *
 * Few are kept in order while the line is read once, each new one moves up to where it belongs: most of a line comes
 * behind all that are kept. Of many the places are sorted: in runs of RUN the rank of an element is the number of those
 * that come before it, all compared with all, and then runs are merged (`order` has 2 SIZE numbers, or K). */
#include "kernels/stepc_registers.h"
#include "template.h"

enum HOLE {
    OUTER = 2, SIZE = 13, INNER = 3, K = 5,
    X_OUTER = 39, X_ROW = 3, X_COL = 1,
    LARGEST = 1,
    FEW = 40, /* so many are kept */
    RUN = 4   /* 1: all is merged */
};
typedef float T HOLE;

static int64_t out[OUTER * K * INNER]; /* sample */
static inline void HOLE finish(int o, int r, int i, int64_t place)
{
    out[(o * K + r) * INNER + i] = place;
}

static STEPC_INLINE int is_before(const T a, const T b)
{
    return LARGEST ? a > b : a < b;
}

static inline void keep_first(const T *restrict line, int32_t *restrict order)
{
    for (int p = 0; p < SIZE; p++) {
        const int last = p < K ? p : K - 1;
        const T v = line[p * X_ROW];
        if (p < K || is_before(v, line[(int)order[K - 1] * X_ROW])) {
            order[last] = (int32_t)p;
            for (int j = last; j > 0 && is_before(v, line[(int)order[j - 1] * X_ROW]); j--) {
                order[j] = order[j - 1];
                order[j - 1] = (int32_t)p;
            }
        }
    }
}

/* order[from .. middle) and order[middle .. to), both sorted, into merged[from .. to). */
static inline void merge(const int from, const int middle, const int to, const T *restrict line,
                         const int32_t *restrict order, int32_t *restrict merged)
{
    int i = from, j = middle;
    for (int p = from; i < middle && j < to; p++) {
        const int later = is_before(line[(int)order[j] * X_ROW], line[(int)order[i] * X_ROW]) ? 1 : 0;
        merged[p] = order[later == 1 ? j : i];
        i += 1 - later;
        j += later;
    }
    for (int p = i; p < middle; p++)
        merged[p + j - middle] = order[p];
    for (int p = j; p < to; p++)
        merged[p] = order[p];
}

/* A run of `count` from `from` on. */
static inline void rank_run(const int count, const int from, const T *restrict line, int32_t *restrict order)
{
    const T *const run = line + from * X_ROW;
    int32_t rank[RUN] = {0};
    for (int l = 0; l < count; l++)
        order[from + l] = (int32_t)(from + l);
    for (int q = 0; q < count; q++) {
        const T v = run[q * X_ROW];
        for (int l = 0; l < count; l++) {
            const T u = run[l * X_ROW];
            const int in_front = q < l ? 1 : 0;
            rank[l] += (int32_t)(in_front * (is_before(u, v) ? 0 : 1) + (1 - in_front) * (is_before(v, u) ? 1 : 0));
        }
    }
    for (int l = 0; l < count; l++)
        order[from + (int)rank[l]] = (int32_t)(from + l);
}

static inline void sort(const T *restrict line, int32_t *restrict order, int32_t *restrict merged)
{
    for (int from = 0; from < SIZE - SIZE % RUN; from += RUN)
        rank_run(RUN, from, line, order);
    if (SIZE % RUN > 0)
        rank_run(SIZE % RUN, SIZE - SIZE % RUN, line, order);
    for (int run = RUN; run < SIZE; run = 2 * run) {
        for (int from = 0; from < SIZE; from += 2 * run) {
            const int middle = SIZE - from < run ? SIZE : from + run;
            const int to = SIZE - from < 2 * run ? SIZE : from + 2 * run;
            merge(from, middle, to, line, order, merged);
        }
        for (int p = 0; p < SIZE; p++)
            order[p] = merged[p];
    }
}

KERNEL static void places(const T *restrict x, int32_t *restrict order)
{
    for (int o = 0; o < OUTER; o++) {
        for (int i = 0; i < INNER; i++) {
            const T *const line = x + o * X_OUTER + i * X_COL;
            if (K <= FEW)
                keep_first(line, order);
            else
                sort(line, order, order + SIZE);
            for (int r = 0; r < K; r++) {
                const int64_t place = (int64_t)order[r];
                finish(o, r, i, place);
            }
        }
    }
}
