/* SPDX-License-Identifier: 0BSD */
/* A matrix product whose terms come a few at a time: out[M,N] = finish(sum over all calls of a[M,K] * b[K,N]). Between two calls the sums
 * wait in `waiting`, tile by tile, and the next call goes on from there: the order of each sum stays as in product.c, one accumulator that
 * starts from zero. The first skip() of a call's K terms were in the call before (the last block of a matrix is a whole one, too).
 *
 *   product_sums        tiles
 *   product_sums_plain  in few instructions, for --optimize size; the sums wait row by row */
#include "registers.h"
#include "template.h"
#include "tile.h"

enum HOLE {
    M = 5, N = 21, K = 7,
    A_ROW = 7, A_COL = 1, /* element (i,k) of a is at i * A_ROW + k * A_COL */
    B_ROW = 21            /* element (k,j) of b is at k * B_ROW + j; N >= 16 */
};
typedef float T HOLE;

static T out[M * N]; /* sample */
static int call_of_sample, calls_of_sample, skip_of_sample;
static inline void HOLE finish(int i, int j, T acc)
{
    out[i * N + j] = acc;
}
static inline int HOLE is_first(void) /* call */
{
    return call_of_sample == 0;
}
static inline int HOLE is_last(void)
{
    return call_of_sample == calls_of_sample - 1;
}
static inline int HOLE skip(void)
{
    return skip_of_sample;
}

/* Rows i .. and columns j .. of one tile, of which the columns from .. to - 1 are new. */
static STEPC_INLINE void part(const int rows, const int vectors, const int from, const int to, const int i, const int j,
                              const int skipped, const int first, const int last, const T *restrict left,
                              const T *restrict right, T *restrict waiting)
{
    tile(rows, vectors, K - skipped, first, waiting, left + skipped * A_COL, A_ROW, A_COL, right + skipped * B_ROW, B_ROW);
    for (int r = 0; last && r < rows; r++) {
        STEPC_LANE_LOOP
        for (int l = from; l < to; l++) {
            const T v = waiting[r * TILE_COLUMNS + l];
            finish(i + r, j + l, v);
        }
    }
}

/* All rows of the columns j .., whose tiles wait one behind the other. */
static STEPC_INLINE void strip(const int vectors, const int from, const int to, const int j, const int skipped,
                               const int first, const int last, const T *restrict left, const T *restrict right,
                               T *restrict waiting)
{
    for (int i = 0; i < M - LAST_ROWS(M); i += PART_ROWS(M))
        part(PART_ROWS(M), vectors, from, to, i, j, skipped, first, last, left + i * A_ROW, right,
             waiting + i / PART_ROWS(M) * TILE_ROWS * TILE_COLUMNS);
    if (LAST_ROWS(M) > 0)
        part(LAST_ROWS(M), vectors, from, to, M - LAST_ROWS(M), j, skipped, first, last, left + (M - LAST_ROWS(M)) * A_ROW,
             right, waiting + (PARTS(M) - 1) * TILE_ROWS * TILE_COLUMNS);
}

/* waiting: (M + 8) * (N rounded up to 32, and 32 more if that is not N) elements, whatever the target's tiles are. */
KERNEL static void product_sums(const T *restrict a, const T *restrict b, T *restrict waiting)
{
    for (int j = 0; j < N - N % TILE_COLUMNS; j += TILE_COLUMNS)
        strip(VECTORS, 0, TILE_COLUMNS, j, skip(), is_first(), is_last(), a, b + j, waiting + j * PARTS(M) * TILE_ROWS);
    if (N % 32 > 0) {
        if (N % TILE_COLUMNS >= LANES)
            strip(1, 0, LANES, N - N % TILE_COLUMNS, skip(), is_first(), is_last(), a, b + (N - N % TILE_COLUMNS),
                  waiting + (N - N % TILE_COLUMNS) * PARTS(M) * TILE_ROWS);
    }
    if (N % 16 > 0) {
        if (N % LANES > 0)
            strip(1, LANES - N % LANES, LANES, N - LANES, skip(), is_first(), is_last(), a, b + (N - LANES),
                  waiting + (N - N % TILE_COLUMNS + (N % TILE_COLUMNS >= LANES ? TILE_COLUMNS : 0)) * PARTS(M) * TILE_ROWS);
    }
}

KERNEL static void product_sums_plain(const T *restrict a, const T *restrict b, T *restrict waiting)
{
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            T acc = is_first() ? (T)0 : waiting[i * N + j];
            for (int k = skip(); k < K; k++)
                acc += a[i * A_ROW + k * A_COL] * b[k * B_ROW + j];
            waiting[i * N + j] = acc;
            if (is_last())
                finish(i, j, acc);
        }
    }
}
