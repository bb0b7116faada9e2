/* SPDX-License-Identifier: 0BSD */
/* A matrix product whose terms come a few at a time: out[M,N] = finish(sum over all calls of a[M,K] * b[K,N]). Between
 * two calls the sums wait in `waiting`, tile by tile, and the next call goes on from there. Each sum is as in
 * product.c: TERMS at a time, whatever the calls hold; where there are more (ALL > TERMS) the sums of the finished ones
 * wait behind. The first skip() of a call's K terms were in the call before (the last block of a matrix is a whole one,
 * too).
 *
 *   product_sums        tiles
 *   product_sums_plain  in few instructions, for --optimize size; the sums wait row by row */
#include "kernels/stepc_registers.h"
#include "kernels/stepc_tile.h"
#include "template.h"

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
        for (int l = r * STEPC_TILE_COLUMNS(T); l < r * STEPC_TILE_COLUMNS(T) + columns; l++)
            waiting[WAITING + l] = waiting[l] + (first ? (T)0 : waiting[WAITING + l]);
    }
}

/* How many terms come next, of `left`, behind those that are done. */
static STEPC_INLINE int depth_behind(const int terms, const int left)
{
    const int open = terms % TERMS;
    return left < TERMS - open ? left : TERMS - open;
}

/* Rows i ..{ and columns j ..} of one tile{, of which the columns from .. to - 1 are new}. */
static STEPC_INLINE void part(const int rows, const int vectors, const int from, const int to, const int i, const int j,
                              const int skipped, const int done, const T *restrict left, const T *restrict right,
                              T *restrict waiting)
{
    const int last = done + K - skipped >= ALL;
    for (int k = skipped; k < K; k += depth_behind(done + k - skipped, K - k)) {
        const int open = (done + k - skipped) % TERMS, depth = depth_behind(done + k - skipped, K - k);
        stepc_tile_terms(rows, vectors, depth, open > 0 ? STEPC_TILE_GOES_ON : STEPC_TILE_SETS, waiting,
                         left + k * A_COL, A_ROW, A_COL, right + k * B_ROW, B_ROW);
        if (ALL > TERMS) {
            if (open + depth == TERMS || (last && k + depth == K))
                join(rows, vectors * STEPC_LANES(T), done + k + depth - skipped <= TERMS, waiting);
        }
    }
    for (int r = 0; last && r < rows; r++) {
        STEPC_LANE_LOOP
        for (int l = from; l < to; l++) {
            const T v = waiting[(ALL > TERMS ? WAITING : 0) + r * STEPC_TILE_COLUMNS(T) + l];
            finish(i + r, j + l, v);
        }
    }
}

/* All rows of the columns j .., whose tiles wait one behind the other. */
static STEPC_INLINE void strip(const int vectors, const int from, const int to, const int j, const int skipped,
                               const int done, const T *restrict left, const T *restrict right, T *restrict waiting)
{
    for (int i = 0; i < M - STEPC_LAST_ROWS(M); i += STEPC_PART_ROWS(M))
        part(STEPC_PART_ROWS(M), vectors, from, to, i, j, skipped, done, left + i * A_ROW, right,
             waiting + i / STEPC_PART_ROWS(M) * STEPC_TILE_ROWS * STEPC_TILE_COLUMNS(T));
    if (STEPC_LAST_ROWS(M) > 0)
        part(STEPC_LAST_ROWS(M), vectors, from, to, M - STEPC_LAST_ROWS(M), j, skipped, done,
             left + (M - STEPC_LAST_ROWS(M)) * A_ROW, right,
             waiting + (STEPC_PARTS(M) - 1) * STEPC_TILE_ROWS * STEPC_TILE_COLUMNS(T));
}

/* waiting: WAITING elements, twice as many if ALL > TERMS. */
KERNEL static void product_sums(const T *restrict a, const T *restrict b, T *restrict waiting)
{
    for (int j = 0; j < N - N % STEPC_TILE_COLUMNS(T); j += STEPC_TILE_COLUMNS(T))
        strip(STEPC_VECTORS, 0, STEPC_TILE_COLUMNS(T), j, skip(), before(), a, b + j,
              waiting + j * STEPC_PARTS(M) * STEPC_TILE_ROWS);
    if (N % 32 > 0) {
        if (N % STEPC_TILE_COLUMNS(T) >= STEPC_LANES(T))
            strip(1, 0, STEPC_LANES(T), N - N % STEPC_TILE_COLUMNS(T), skip(), before(), a,
                  b + (N - N % STEPC_TILE_COLUMNS(T)),
                  waiting + (N - N % STEPC_TILE_COLUMNS(T)) * STEPC_PARTS(M) * STEPC_TILE_ROWS);
    }
    if (N % 16 > 0) {
        if (N % STEPC_LANES(T) > 0)
            strip(1, STEPC_LANES(T) - N % STEPC_LANES(T), STEPC_LANES(T), N - STEPC_LANES(T), skip(), before(), a,
                  b + (N - STEPC_LANES(T)),
                  waiting + (N - N % STEPC_TILE_COLUMNS(T) +
                             (N % STEPC_TILE_COLUMNS(T) >= STEPC_LANES(T) ? STEPC_TILE_COLUMNS(T) : 0)) *
                                STEPC_PARTS(M) * STEPC_TILE_ROWS);
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
