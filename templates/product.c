/* SPDX-License-Identifier: 0BSD */
/* Matrix products: out[M,N] = finish(a[M,K] * b[K,N]). Each element's terms are added in index order into one
 * accumulator that starts from zero, in all forms (tile.h). Two kernels:
 *
 *   product         rows of b are contiguous: tiles read b in place. N >= 16. Where N is no multiple of a vector, the last
 *                   vector of columns overlaps the one before, and only its new columns are finished.
 *   product_packed  any strides: PANEL columns of b at a time are copied into `panel`, which all rows then use.
 *
 * Panels are 16 or 32 columns, whatever the target: the arena has one size everywhere. 32 gain nothing for small products
 * and cost memory (the MLP 64-32-10: 3.74 us a step and 12288 bytes, with 16 columns 3.78 and 9472). */
#include "pack.h"
#include "registers.h"
#include "template.h"
#include "tile.h"

enum HOLE {
    M = 5, N = 21, K = 7,
    A_ROW = 7, A_COL = 1,  /* element (i,k) of a is at i * A_ROW + k * A_COL */
    B_ROW = 21, B_COL = 1, /* element (k,j) of b is at k * B_ROW + j * B_COL */
    PANEL = 16, BLOCK = 16, /* BLOCK: columns packed at a time, a multiple of PANEL */
    PACK_A = 0,             /* rows of a are packed as well, for all of a BLOCK > PANEL: K * 8 more elements behind the panels */
    WITH_FINISH = 1, WITH_ROW_SUM = 1
};
typedef float T HOLE;

static T out[M * N], sums[M]; /* sample */
static inline void HOLE finish(int i, int j, T acc)
{
    out[i * N + j] = acc;
}
static inline void HOLE row_sum(int i, T sum)
{
    sums[i] = sum;
}

/* to[depth,width] = from[depth,columns], missing columns are zeros. */
static STEPC_INLINE void pack(T *restrict to, const int width, const T *restrict from, const int row_step,
                              const int column_step, const int columns, const int depth)
{
    for (int k = 0; k < depth; k++) {
        for (int j = 0; j < width; j++)
            to[k * width + j] = j < columns ? from[k * row_step + j * column_step] : 0;
    }
}

/* One tile: rows i .. and columns j .., of which the columns from .. to - 1 are new. left is a, or with PACK_A its packed rows;
 * right is b at column j. */
static STEPC_INLINE void part(const int rows, const int vectors, const int from, const int to, const int i, const int j,
                              const T *restrict left, const T *restrict right, const int step)
{
    T acc[TILE_ROWS * TILE_COLUMNS];
    if (PACK_A) {
        tile(rows, vectors, K, acc, left, 1, rows, right, step);
    } else {
        tile(rows, vectors, K, acc, left + i * A_ROW, A_ROW, A_COL, right, step);
    }
    if (N == 1)
        (void)j;
    for (int r = 0; r < rows; r++) {
        STEPC_LANE_LOOP
        for (int l = from; l < to; l++) {
            const T v = acc[r * TILE_COLUMNS + l]; /* loaded before any select: a masked load waits for the store */
            finish(i + r, j + l, v);
        }
    }
}

/* All rows of the columns j .. */
static STEPC_INLINE void strip(const int vectors, const int from, const int to, const int j, const T *restrict left,
                               const T *restrict right, const int step)
{
    for (int i = 0; i < M - LAST_ROWS(M); i += PART_ROWS(M))
        part(PART_ROWS(M), vectors, from, to, i, j, left, right, step);
    if (LAST_ROWS(M) > 0)
        part(LAST_ROWS(M), vectors, from, to, M - LAST_ROWS(M), j, left, right, step);
}

/* Sums over k of a[first ..][k], in index order; `count` of them side by side. */
static STEPC_INLINE void row_sum_block(const int count, const int first, const T *restrict left)
{
    T sum[M < 64 ? M : 64] = {0};
    for (int k = 0; k < K; k++) {
        STEPC_LANE_LOOP
        for (int r = 0; r < count; r++)
            sum[r] += left[(first + r) * A_ROW + k * A_COL];
    }
    for (int r = 0; r < count; r++)
        row_sum(first + r, sum[r]);
}

static STEPC_INLINE void row_sums(const T *restrict left)
{
    if (M >= 64) {
        for (int i = 0; i < M - M % 64; i += 64)
            row_sum_block(64, i, left);
    }
    if (M % 64 > 0)
        row_sum_block(M % 64, M - M % 64, left);
}

KERNEL static void product(const T *restrict a, const T *restrict b)
{
    if (WITH_FINISH) {
        for (int j = 0; j < N - N % TILE_COLUMNS; j += TILE_COLUMNS)
            strip(VECTORS, 0, TILE_COLUMNS, j, a, b + j, B_ROW);
        if (N % 32 > 0) {
            if (N % TILE_COLUMNS >= LANES)
                strip(1, 0, LANES, N - N % TILE_COLUMNS, a, b + (N - N % TILE_COLUMNS), B_ROW);
        }
        if (N % 16 > 0) {
            if (N % LANES > 0)
                strip(1, LANES - N % LANES, LANES, N - LANES, a, b + (N - LANES), B_ROW);
        }
    }
    if (WITH_ROW_SUM)
        row_sums(a);
}

/* The columns p .. of b as one panel. */
static STEPC_INLINE void pack_panel(const int columns, const int p, T *restrict packed, const T *restrict right)
{
    if (B_ROW == 1)
        pack_transposed(packed, PANEL, right + p * B_COL, B_COL, columns, K);
    else
        pack(packed, PANEL, right + p * B_COL, B_ROW, B_COL, columns, K);
}

/* Rows i .. of the columns p .. of one panel. */
static STEPC_INLINE void panel_part(const int rows, const int columns, const int i, const int p, const T *restrict left,
                                    const T *restrict packed)
{
    for (int j = 0; j < columns - columns % PANEL_TILE(PANEL); j += PANEL_TILE(PANEL))
        part(rows, PANEL_VECTORS(PANEL), 0, PANEL_TILE(PANEL), i, p + j, left, packed + j, PANEL);
    if (N % PANEL > 0) {
        if (columns % PANEL_TILE(PANEL) > 0)
            part(rows, PANEL_VECTORS(PANEL), 0, columns % PANEL_TILE(PANEL), i,
                 p + columns - columns % PANEL_TILE(PANEL), left,
                 packed + (columns - columns % PANEL_TILE(PANEL)), PANEL);
    }
}

/* The same of all packed panels. */
static STEPC_INLINE void panels_part(const int rows, const int columns, const int i, const int p, const T *restrict left,
                                     const T *restrict packed)
{
    for (int q = 0; q < columns - columns % PANEL; q += PANEL)
        panel_part(rows, PANEL, i, p + q, left, packed + q * K);
    if (N % PANEL > 0) {
        if (columns % PANEL > 0)
            panel_part(rows, columns % PANEL, i, p + columns - columns % PANEL, left,
                       packed + (columns - columns % PANEL) * K);
    }
}

/* Rows i .. of a, element by element of the sum: a column of a tile that is far from the next would fall into one set of the
 * cache with it, and out again before the next tile. */
static STEPC_INLINE void pack_rows(const int rows, const int i, T *restrict packed, const T *restrict left)
{
    for (int k = 0; k < K; k++) {
        for (int r = 0; r < rows; r++)
            packed[k * rows + r] = left[(i + r) * A_ROW + k * A_COL];
    }
}

static STEPC_INLINE void rows_part(const int rows, const int columns, const int i, const int p, const T *restrict left,
                                   T *restrict packed)
{
    if (PACK_A) {
        pack_rows(rows, i, packed + BLOCK * K, left);
        panels_part(rows, columns, i, p, packed + BLOCK * K, packed);
    } else {
        panels_part(rows, columns, i, p, left, packed);
    }
}

static STEPC_INLINE void pack_panels(const int columns, const int p, T *restrict packed, const T *restrict right)
{
    for (int q = 0; q < columns - columns % PANEL; q += PANEL)
        pack_panel(PANEL, p + q, packed + q * K, right);
    if (N % PANEL > 0) {
        if (columns % PANEL > 0)
            pack_panel(columns % PANEL, p + columns - columns % PANEL, packed + (columns - columns % PANEL) * K, right);
    }
}

/* All rows of the columns p .. */
static STEPC_INLINE void packed_strip(const int columns, const int p, const T *restrict left, const T *restrict right,
                                      T *restrict packed)
{
    if (BLOCK == PANEL) {
        pack_panel(columns, p, packed, right);
        for (int i = 0; i < M - LAST_ROWS(M); i += PART_ROWS(M))
            panel_part(PART_ROWS(M), columns, i, p, left, packed);
        if (LAST_ROWS(M) > 0)
            panel_part(LAST_ROWS(M), columns, M - LAST_ROWS(M), p, left, packed);
    } else {
        pack_panels(columns, p, packed, right);
        for (int i = 0; i < M - LAST_ROWS(M); i += PART_ROWS(M))
            rows_part(PART_ROWS(M), columns, i, p, left, packed);
        if (LAST_ROWS(M) > 0)
            rows_part(LAST_ROWS(M), columns, M - LAST_ROWS(M), p, left, packed);
    }
}

KERNEL static void product_packed(const T *restrict a, const T *restrict b, T *restrict panel)
{
    if (WITH_FINISH) {
        if (N >= BLOCK) {
            for (int p = 0; p < N - N % BLOCK; p += BLOCK)
                packed_strip(BLOCK, p, a, b, panel);
        }
        if (N % BLOCK > 0)
            packed_strip(N % BLOCK, N - N % BLOCK, a, b, panel);
    }
    if (WITH_ROW_SUM)
        row_sums(a);
}
