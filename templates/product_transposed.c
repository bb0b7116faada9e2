/* SPDX-License-Identifier: 0BSD */
/* Matrix products with few rows of a and a b that is stored transposed and is far larger: out[M,N] = finish(a[M,K] *
 * b[N,K]'). Each element's terms are added as in product.c, TERMS at a time.
 *
 * In product.c b would have to be packed, which takes as long as ten rows of a. Here vectors run across rows of a,
 * which are packed once, and rows of b are read in place, each once. A finished tile is transposed back. Where K >
 * DEPTH the sums of ROWS rows of b wait in `panel` behind a for the next terms. */
#include "kernels/stepc_pack.h"
#include "kernels/stepc_registers.h"
#include "kernels/stepc_tile.h"
#include "template.h"

enum HOLE {
    M = 5, N = 69, K = 7, TERMS = 3,
    A_ROW = 7, /* element (i,k) of a is at i * A_ROW + k */
    B_COL = 7, /* element (k,j) of b is at j * B_COL + k */
    DEPTH = 3, ROWS = 40, /* DEPTH is a multiple of TERMS, or K; ROWS at least 32 */
    SHARES = 1, /* the result is cut into so many, by columns */
    WITH_FINISH = 1
};
typedef float T HOLE;

static T out[M * N]; /* sample */
static inline void HOLE finish(int i, int j, T acc)
{
    out[i * N + j] = acc;
}
static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}

/* All of a, 32 rows side by side: term k of rows p .. is at p * K + k * 32; missing rows are zeros. */
static STEPC_INLINE void pack_all(const T *restrict left, T *restrict packed)
{
    for (int p = 0; p < M - M % 32; p += 32)
        stepc_pack_transposed(packed + p * K, 32, left + p * A_ROW, A_ROW, 32, K);
    if (M % 32 > 0)
        stepc_pack_transposed(packed + (M - M % 32) * K, 32, left + (M - M % 32) * A_ROW, A_ROW, M % 32, K);
}

/* Finishes the sums of rows j .. of b, a group or what is left of it. A function of its own: what finishing needs takes
 * no registers from the tile. */
/* Why: rows j + r of b and i + l of a have theirs at i * STEPC_GROUP_ROWS(N) + r * STEPC_TILE_COLUMNS + l. */
static STEPC_KERNEL void finish_group(const int rows, const int j, const T *restrict sums_of_group)
{
    T transposed[STEPC_TILE_COLUMNS(T) * STEPC_GROUP_ROWS(N)];
    for (int i = 0; i < M; i += STEPC_TILE_COLUMNS(T)) {
        stepc_pack_transposed(transposed, STEPC_GROUP_ROWS(N), sums_of_group + i * STEPC_GROUP_ROWS(N),
                              STEPC_TILE_COLUMNS(T), rows, STEPC_TILE_COLUMNS(T));
        for (int l = 0; l < STEPC_TILE_COLUMNS(T) && l < M - i; l++) {
            STEPC_LANE_LOOP
            for (int r = 0; r < rows; r++) {
                const T v = transposed[l * STEPC_GROUP_ROWS(N) + r];
                finish(i + l, j + r, v);
            }
        }
    }
}

/* Rows j .. of b, all rows of a{, the terms k .. of each sum}. */
static STEPC_INLINE void transposed_rows(const int j, const int k, const T *restrict right, const T *restrict packed,
                                         T *restrict tiles)
{
    const int depth = K - k < DEPTH ? K - k : DEPTH, how = k == 0      ? STEPC_TILE_SETS
                                                           : TERMS < K ? STEPC_TILE_ADDS
                                                                       : STEPC_TILE_GOES_ON;
    for (int i = 0; i < (M % 32 > 0 ? M - M % STEPC_PANEL_TILE(T, 32) : M); i += STEPC_PANEL_TILE(T, 32))
        stepc_tile_of_terms(j, N, STEPC_PANEL_VECTORS(T, 32), depth, TERMS, how, tiles + i * STEPC_GROUP_ROWS(N),
                            right + j * B_COL + k, B_COL, 1, packed + i / 32 * 32 * K + i % 32 + k * 32, 32);
    if (M % 32 > 0) {
        if (M % STEPC_PANEL_TILE(T, 32) > STEPC_LANES(T))
            stepc_tile_of_terms(j, N, STEPC_VECTORS, depth, TERMS, how,
                                tiles + (M - M % STEPC_PANEL_TILE(T, 32)) * STEPC_GROUP_ROWS(N), right + j * B_COL + k,
                                B_COL, 1, packed + (M - M % 32) * K + (M % 32 - M % STEPC_PANEL_TILE(T, 32)) + k * 32,
                                32);
        else if (M % STEPC_PANEL_TILE(T, 32) > 0)
            stepc_tile_of_terms(j, N, 1, depth, TERMS, how,
                                tiles + (M - M % STEPC_PANEL_TILE(T, 32)) * STEPC_GROUP_ROWS(N), right + j * B_COL + k,
                                B_COL, 1, packed + (M - M % 32) * K + (M % 32 - M % STEPC_PANEL_TILE(T, 32)) + k * 32,
                                32);
    }
}

/* Rows j .. of b, one of the four parts of a group. It is finished behind the last of them. */
/* Why: groups wait one behind the other, from row `first` on, where not all terms are added at once. */
static STEPC_INLINE void transposed_part(const int j, const int first, const int k, const T *restrict right,
                                         const T *restrict packed, T *restrict sums)
{
    const int r = j % STEPC_GROUP_ROWS(N), rows = STEPC_ROWS_FROM(j, N);
    T *const own = sums + (DEPTH < K ? (j - r - first) * ((M + 31) / 32 * 32) : 0);
    transposed_rows(j, k, right, packed, own + r * STEPC_TILE_COLUMNS(T));
    if (K - k <= DEPTH && (r + rows == STEPC_GROUP_ROWS(N) || j + rows == N))
        finish_group(r + rows, j - r, own);
}

/* Rows first .. end - 1 of b, all terms: whole groups, or what is left behind them. */
static STEPC_INLINE void transposed_sums(const int first, const int end, const T *restrict right,
                                         const T *restrict packed, T *restrict sums)
{
    for (int k = 0; k < K; k += DEPTH) {
        for (int j = first; j < end; j += STEPC_PART_ROWS(N))
            transposed_part(j, first, k, right, packed, sums);
    }
}

KERNEL static void product_transposed(const T *restrict a, const T *restrict b, T *restrict panel)
{
    const int start =
        SHARES > 1 ? (N + STEPC_GROUP_ROWS(N) - 1) / STEPC_GROUP_ROWS(N) * share() / SHARES * STEPC_GROUP_ROWS(N) : 0;
    const int stop = SHARES > 1 ? share() == SHARES - 1 ? N
                                                        : (N + STEPC_GROUP_ROWS(N) - 1) / STEPC_GROUP_ROWS(N) *
                                                              (share() + 1) / SHARES * STEPC_GROUP_ROWS(N)
                                : N;
    if (WITH_FINISH) {
        pack_all(a, panel);
        if (ROWS < N && DEPTH < K) {
            const int rows = ROWS / STEPC_GROUP_ROWS(N) * STEPC_GROUP_ROWS(N);
            for (int j = start; j < stop; j += rows)
                transposed_sums(j, stop - j < rows ? stop : j + rows, b, panel, panel + (M + 31) / 32 * 32 * K);
        } else if (SHARES > 1 || DEPTH < K) {
            transposed_sums(start, stop, b, panel, panel + (M + 31) / 32 * 32 * K);
        } else {
            T *const sums = panel + (M + 31) / 32 * 32 * K;
            for (int j = 0; j < N; j += STEPC_PART_ROWS(N))
                transposed_part(j, 0, 0, b, panel, sums);
        }
    }
}
