/* SPDX-License-Identifier: 0BSD */
/* A matrix product whose terms come a few at a time: out[M,N] = finish(sum over all calls of a[M,K] * b[K,N]). Between
 * two calls the sums wait in `waiting`, tile by tile, and the next call goes on from there. Each sum is as in
 * product.c: TERMS at a time, whatever the calls hold; where there are more (ALL > TERMS) the sums of the finished ones
 * wait behind. The first skip() of a call's K terms were in the call before (the last block of a matrix is a whole one,
 * too).
 *
 *   product_sums        tiles
 *   product_sums_plain  in few instructions, for --optimize size; the sums wait row by row */
#include "registers.h"
#include "template.h"
#include "tile.h"

enum HOLE {
    M = 5, N = 21, K = 7, ALL = 19, TERMS = 5,
    WAITING = 832,        /* (M + 8) * (N rounded up to 32, and 32 more if that is not N), on any target */
    A_ROW = 7, A_COL = 1, /* element (i,k) of a is at i * A_ROW + k * A_COL */
    B_ROW = 21            /* element (k,j) of b is at k * B_ROW + j; N >= 16 */
};
typedef float T HOLE;

static T out[M * N]; /* sample */
static int before_of_sample, skip_of_sample;
static inline void HOLE finish(int i, int j, T acc)
{
    out[i * N + j] = acc;
}
static inline int HOLE before(void) /* how many terms were in all calls before */
{
    return before_of_sample;
}
static inline int HOLE skip(void)
{
    return skip_of_sample;
}

/* The sums of a tile are whole: they join those before. */
static STEPC_INLINE void join(const int rows, const int columns, const int first, T *restrict waiting)
{
    for (int r = 0; r < rows; r++) {
        STEPC_LANE_LOOP
        for (int l = r * TILE_COLUMNS; l < r * TILE_COLUMNS + columns; l++)
            waiting[WAITING + l] = waiting[l] + (first ? (T)0 : waiting[WAITING + l]);
    }
}

/* How many terms come next, of `left`, behind those that are done. */
static STEPC_INLINE int depth_behind(const int terms, const int left)
{
    const int open = terms % TERMS;
    return left < TERMS - open ? left : TERMS - open;
}

/* Rows i .. and columns j .. of one tile, of which the columns from .. to - 1 are new. */
static STEPC_INLINE void part(const int rows, const int vectors, const int from, const int to, const int i, const int j,
                              const int skipped, const int done, const T *restrict left, const T *restrict right,
                              T *restrict waiting)
{
    const int last = done + K - skipped >= ALL;
    for (int k = skipped; k < K; k += depth_behind(done + k - skipped, K - k)) {
        const int open = (done + k - skipped) % TERMS, depth = depth_behind(done + k - skipped, K - k);
        tile_terms(rows, vectors, depth, open > 0 ? TILE_GOES_ON : TILE_SETS, waiting, left + k * A_COL, A_ROW, A_COL,
                   right + k * B_ROW, B_ROW);
        if (ALL > TERMS) {
            if (open + depth == TERMS || (last && k + depth == K))
                join(rows, vectors * LANES, done + k + depth - skipped <= TERMS, waiting);
        }
    }
    for (int r = 0; last && r < rows; r++) {
        STEPC_LANE_LOOP
        for (int l = from; l < to; l++) {
            const T v = waiting[(ALL > TERMS ? WAITING : 0) + r * TILE_COLUMNS + l];
            finish(i + r, j + l, v);
        }
    }
}

/* All rows of the columns j .., whose tiles wait one behind the other. */
static STEPC_INLINE void strip(const int vectors, const int from, const int to, const int j, const int skipped,
                               const int done, const T *restrict left, const T *restrict right, T *restrict waiting)
{
    for (int i = 0; i < M - LAST_ROWS(M); i += PART_ROWS(M))
        part(PART_ROWS(M), vectors, from, to, i, j, skipped, done, left + i * A_ROW, right,
             waiting + i / PART_ROWS(M) * TILE_ROWS * TILE_COLUMNS);
    if (LAST_ROWS(M) > 0)
        part(LAST_ROWS(M), vectors, from, to, M - LAST_ROWS(M), j, skipped, done, left + (M - LAST_ROWS(M)) * A_ROW,
             right, waiting + (PARTS(M) - 1) * TILE_ROWS * TILE_COLUMNS);
}

/* waiting: WAITING elements, twice as many if ALL > TERMS. */
KERNEL static void product_sums(const T *restrict a, const T *restrict b, T *restrict waiting)
{
    for (int j = 0; j < N - N % TILE_COLUMNS; j += TILE_COLUMNS)
        strip(VECTORS, 0, TILE_COLUMNS, j, skip(), before(), a, b + j, waiting + j * PARTS(M) * TILE_ROWS);
    if (N % 32 > 0) {
        if (N % TILE_COLUMNS >= LANES)
            strip(1, 0, LANES, N - N % TILE_COLUMNS, skip(), before(), a, b + (N - N % TILE_COLUMNS),
                  waiting + (N - N % TILE_COLUMNS) * PARTS(M) * TILE_ROWS);
    }
    if (N % 16 > 0) {
        if (N % LANES > 0)
            strip(1, LANES - N % LANES, LANES, N - LANES, skip(), before(), a, b + (N - LANES),
                  waiting +
                      (N - N % TILE_COLUMNS + (N % TILE_COLUMNS >= LANES ? TILE_COLUMNS : 0)) * PARTS(M) * TILE_ROWS);
    }
}

KERNEL static void product_sums_plain(const T *restrict a, const T *restrict b, T *restrict waiting)
{
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            T *const sum = waiting + i * N + j;
            for (int k = skip(); k < K; k++) {
                const int done = before() + k - skip();
                if (ALL > TERMS) {
                    if (done % TERMS == 0)
                        sum[WAITING] = done > 0 ? sum[WAITING] + sum[0] : (T)0;
                }
                sum[0] = (done % TERMS > 0 ? sum[0] : (T)0) + a[i * A_ROW + k * A_COL] * b[k * B_ROW + j];
            }
            if (before() + K - skip() >= ALL) {
                const T v = ALL > TERMS ? sum[WAITING] + sum[0] : sum[0];
                finish(i, j, v);
            }
        }
    }
}
