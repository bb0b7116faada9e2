/* SPDX-License-Identifier: 0BSD */
/* Matrix products: out[M,N] = finish(a[M,K] * b[K,N]). Each element's terms are added in index order, TERMS at a time:
 * the sum of each TERMS starts from zero and is added to those before it, in all forms (stepc_tile.h), unless a BLAS
 * adds them. Six kernels:
 *
 *   product         rows of b are contiguous: tiles read b in place. N >= 16. Where N is no multiple of a vector, the
 *                   last vector of columns overlaps the one before, and only its new columns are finished.
 *   product_packed  any strides: PANEL columns of b at a time are packed into `panel`, which all rows then use.
 *   product_narrow  any strides, N <= 8: tiles of half a vector make the sums of rows on their way, and several of them
 *                   are finished together (256 x 8 x 16: 1.4 instead of 2.1 us; 2 x 8 x 256: 0.5 instead of 1.3).
 *   product_few     rows of a are contiguous, N <= 4: PANEL of them at a time are transposed into `panel`, and vectors
 *                   run across them.
 *   product_blocked any strides, large: BLOCK columns and DEPTH rows of b at a time are packed into panels of 32
 *                   columns, of which one stays in the cache nearest to the core while all rows of a use it. Where
 *                   K > DEPTH the sums of a block wait in `panel` behind it, for those of the next block. ROWS rows of
 *                   a at most, so that the waiting sums stay in the cache as well.
 *   product_blas    a call of a library (runtime/blas/), which leaves the sums in `panel` or where they are wanted.
 *
 * Panels are 16 or 32 columns, whatever the target: the arena has one size everywhere. 32 gain nothing for small
 * products and cost memory (the MLP 64-32-10: 3.74 us a step and 12288 bytes, with 16 columns 3.78 and 9472). */
#include "kernels/stepc_block.h"
#include "kernels/stepc_narrow.h"
#include "kernels/stepc_pack.h"
#include "kernels/stepc_registers.h"
#include "kernels/stepc_tile.h"
#include "kernels/stepc_tile_sums.h"
#include "template.h"

enum HOLE {
    M = 5, N = 21, K = 7, TERMS = 3,
    A_ROW = 7, A_COL = 1,  /* element (i,k) of a is at i * A_ROW + k * A_COL */
    B_ROW = 21, B_COL = 1, /* element (k,j) of b is at k * B_ROW + j * B_COL */
    PANEL = 16,
    BLOCK = 64, ROWS = 24,           /* product_blocked: BLOCK is a multiple of 32, ROWS at least 8 */
    DEPTH = 3, LAST = 3, LONGEST = 4, /* DEPTH: multiple of TERMS, or K; LAST, of DEPTH: where the last terms begin */
    PACK_A = 0,                      /* rows of a are packed, too: 32 * LONGEST elements behind the panels, and sums */
    SUMS_IN_TILES = 0,               /* A_ROW is 1, and row_sum gets what tiles of the first columns sum on their way */
    SHARES = 1,                      /* the result is cut into so many, which lie side by side: rows, or columns */
    CUT_ROWS = 0,                    /* product_blocked: rows */
    FETCH_B = 1, FETCH_OUT = 1,      /* b, or what finish reads, is in no near cache: ask for it ahead */
    READS_FINISH = 1,                /* finish reads other memory for each row */
    PLAIN_FINISH = 0,                /* finish only stores, all elements one behind the other */
    WITH_LATE_M = 0,                 /* M is known when the kernel runs: whole tiles, then tiles of 4, 2 and 1 */
    RESULT_ROW = 0,                  /* product_blas: finish only stores, in rows so far apart; 0: it does more */
    WITH_FINISH = 1, WITH_ROW_SUM = 1
};
typedef float T HOLE;

static T out[M * N], sums[M]; /* sample */
static inline void HOLE finish(int i, int j, T acc)
{
    out[i * N + j] = acc;
}
static inline void HOLE finish_ahead(int i, int j) /* finish(i, j, ..) follows soon */
{
    STEPC_AHEAD(&out[i * N + j]);
}
static int share_of_sample;
static inline int HOLE share(void) /* which of them to compute */
{
    return share_of_sample;
}
static inline T *HOLE finish_place(void) /* where finish stores element (0,0) */
{
    return out;
}
static inline void HOLE row_sum(int i, T sum)
{
    sums[i] = sum;
}
/* to[M,N] = left * right, by a BLAS */
static inline void HOLE blas(const T *left, const T *right, T *to, int row)
{
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) {
            to[i * row + j] = 0;
            for (int k = 0; k < K; k++)
                to[i * row + j] += left[i * A_ROW + k * A_COL] * right[k * B_ROW + j * B_COL];
        }
    }
}

/* From one tile's rows to the next one's, and how many the tile has that begins with row i. */
static inline int tile_rows(void)
{
    return WITH_LATE_M ? STEPC_TILE_ROWS : STEPC_PART_ROWS(M);
}

static inline int rows_from(const int i)
{
    if (WITH_LATE_M)
        return M - i < STEPC_TILE_ROWS ? M - i : STEPC_TILE_ROWS;
    else
        return STEPC_ROWS_FROM(i, M);
}

/* Rows of the share, or all: whole tiles. The last share has what is left of one, too. */
static inline int first_row(void)
{
    return SHARES > 1 ? M / tile_rows() * share() / SHARES * tile_rows() : 0;
}

static inline int end_row(void)
{
    return SHARES > 1 ? share() < SHARES - 1 ? M / tile_rows() * (share() + 1) / SHARES * tile_rows() : M : M;
}

/* One tile: rows i ..{ and columns j ..}{ of those p .. of b, which `right` holds}{; the columns from .. to - 1 are
 * new}. */
static STEPC_INLINE void tile_of(const int i, const int vectors, const int from, const int to, const int j, const int p,
                                 const T *restrict left, const T *restrict right, const int step)
{
    T acc[STEPC_TILE_ROWS * STEPC_TILE_COLUMNS(T)];
    if (WITH_LATE_M) {
        stepc_tile_late(i, M, vectors, K, TERMS, acc, left + i * A_ROW, A_ROW, A_COL, right + j, step);
    } else if (SUMS_IN_TILES * WITH_ROW_SUM == 1) {
        if (p + j == 0) {
            T sum[STEPC_TILE_ROWS] = {(T)0};
            stepc_tile_of_and_sums(i, M, vectors, K, TERMS, acc, left + i, A_COL, right, step, sum);
            for (int r = 0; r < rows_from(i); r++)
                row_sum(i + r, sum[r]);
        } else {
            stepc_tile_of(i, M, vectors, K, TERMS, acc, left + i * A_ROW, A_ROW, A_COL, right + j, step);
        }
    } else {
        stepc_tile_of(i, M, vectors, K, TERMS, acc, left + i * A_ROW, A_ROW, A_COL, right + j, step);
    }
    if (N % 16 > 0) {
        if ((to - from) % STEPC_LANES(T) > 0)
            STEPC_STORED(acc);
    }
    STEPC_ROW_LOOP
    for (int r = 0; r < rows_from(i); r++) {
        STEPC_LANE_LOOP
        for (int l = from; l < to; l++) {
            const T v =
                acc[r * STEPC_TILE_COLUMNS(T) + l]; /* loaded before any select: a masked load waits for the store */
            finish(i + r, p + j + l, v);
        }
    }
}

/* All rows of so many columns j ..: vectors that end with them, and begin before them if they are not whole. */
static STEPC_INLINE void strip(const int columns, const int j, const T *restrict left, const T *restrict right)
{
    const int vectors = (columns + STEPC_LANES(T) - 1) / STEPC_LANES(T), end = vectors * STEPC_LANES(T);
    const int from = N % 16 > 0 ? end - columns : 0, first = j - from;
    for (int i = first_row(); i < end_row(); i += tile_rows())
        tile_of(i, vectors, from, end, first, 0, left, right, B_ROW);
}

/* Sums over k of a[first ..][k], in index order; `count` of them side by side. */
static STEPC_INLINE void row_sum_block(const int count, const int first, const T *restrict left)
{
    T sum[M < 96 ? M : 96] = {0};
    for (int k = 0; k < K; k++) {
        STEPC_SUM_LOOP
        for (int r = 0; r < count; r++)
            sum[r] += left[(first + r) * A_ROW + k * A_COL];
    }
    for (int r = 0; r < count; r++)
        row_sum(first + r, sum[r]);
}

static STEPC_INLINE void row_sums(const T *restrict left)
{
    if (SHARES > 1) {
        if (share() > 0)
            return;
    }
    if (M >= 96) {
        for (int i = 0; i < M - M % 96; i += 96)
            row_sum_block(96, i, left);
    }
    if (M % 96 > 0)
        row_sum_block(M % 96, M - M % 96, left);
}

KERNEL static void product(const T *restrict a, const T *restrict b)
{
    if (WITH_FINISH) {
        if (N % 32 == 0) {
            for (int j = 0; j < N; j += STEPC_TILE_COLUMNS(T)) {
                for (int i = first_row(); i < end_row(); i += tile_rows())
                    tile_of(i, STEPC_VECTORS, 0, STEPC_TILE_COLUMNS(T), j, 0, a, b, B_ROW);
            }
        } else {
            for (int j = 0; j < N - STEPC_LAST_COLUMNS(T, N); j += STEPC_COLUMNS_OF(T, N))
                strip(STEPC_COLUMNS_OF(T, N), j, a, b);
            if (STEPC_LAST_COLUMNS(T, N) > 0)
                strip(STEPC_LAST_COLUMNS(T, N), N - STEPC_LAST_COLUMNS(T, N), a, b);
        }
    }
    if (WITH_ROW_SUM > WITH_FINISH * SUMS_IN_TILES * !WITH_LATE_M)
        row_sums(a);
}

/* The columns p .. of b as one panel. */
static STEPC_INLINE void pack_panel(const int columns, const int p, T *restrict packed, const T *restrict right)
{
    if (B_ROW == 1)
        stepc_pack_transposed(packed, PANEL, right + p * B_COL, B_COL, columns, K);
    else
        stepc_pack(packed, PANEL, right + p * B_COL, B_ROW, B_COL, columns, K);
}

/* One tile: rows i ..{ and columns j ..} of a panel of columns{, of which the first `to` are wanted}. */
static STEPC_INLINE void panel_tile(const int i, const int to, const int j, const int p, const T *restrict left,
                                    const T *restrict packed)
{
    tile_of(i, STEPC_PANEL_VECTORS(T, PANEL), 0, to, j, p, left, packed, PANEL);
}

/* All rows of the columns p .. */
static STEPC_INLINE void packed_strip(const int columns, const int p, const T *restrict left, const T *restrict right,
                                      T *restrict packed)
{
    pack_panel(columns, p, packed, right);
    for (int i = first_row(); i < end_row(); i += tile_rows()) {
        if (N % PANEL == 0) {
            for (int j = 0; j < PANEL; j += STEPC_PANEL_TILE(T, PANEL))
                panel_tile(i, STEPC_PANEL_TILE(T, PANEL), j, p, left, packed);
        } else {
            for (int j = 0; j < columns - columns % STEPC_PANEL_TILE(T, PANEL); j += STEPC_PANEL_TILE(T, PANEL))
                panel_tile(i, STEPC_PANEL_TILE(T, PANEL), j, p, left, packed);
            if (columns % STEPC_PANEL_TILE(T, PANEL) > 0)
                panel_tile(i, columns % STEPC_PANEL_TILE(T, PANEL), columns - columns % STEPC_PANEL_TILE(T, PANEL), p,
                           left, packed);
        }
    }
}

KERNEL static void product_packed(const T *restrict a, const T *restrict b, T *restrict panel)
{
    if (WITH_FINISH) {
        if (N >= PANEL) {
            for (int p = 0; p < N - N % PANEL; p += PANEL)
                packed_strip(PANEL, p, a, b, panel);
        }
        if (N % PANEL > 0)
            packed_strip(N % PANEL, N - N % PANEL, a, b, panel);
    }
    if (WITH_ROW_SUM > WITH_FINISH * SUMS_IN_TILES * !WITH_LATE_M)
        row_sums(a);
}

/* ---- few columns ------------------------------------------------------------------------------------------------- */

/* Finishes rows i .., whose sums lie one row after the other. */
static STEPC_INLINE void finish_narrow(const int rows, const int i, const T *restrict done)
{
    if (N == 8) {
        STEPC_SHORT_ROWS
        for (int r = 0; r < rows; r++) {
            STEPC_SHORT_ROW
            for (int j = 0; j < N; j++) {
                const T v = done[r * N + j]; /* loaded before any select: a masked load waits for the store */
                finish(i + r, j, v);
            }
        }
    } else {
        STEPC_LANE_LOOP
        for (int r = 0; r < rows; r++) {
            STEPC_UNROLL
            for (int j = 0; j < N; j++) {
                const T v = done[r * N + j];
                finish(i + r, j, v);
            }
        }
    }
}

/* Sums of rows i .. The last columns come first: what they leave behind their row is overwritten. */
static STEPC_INLINE void narrow_part(const int rows, const int i, const T *restrict left, const T *restrict right,
                                     const int step, T *restrict done)
{
    T sum[STEPC_NARROW_ROWS] = {(T)0};
    for (int j = (N - 1) / STEPC_NARROW_LANES(T) * STEPC_NARROW_LANES(T); j >= 0; j -= STEPC_NARROW_LANES(T))
        stepc_narrow_tile(rows, N - j, K, TERMS, done + j, N, left + i * A_ROW, A_ROW, A_COL, right + j, step,
                          WITH_ROW_SUM && j == 0, sum);
    if (WITH_ROW_SUM) {
        for (int r = 0; r < rows; r++)
            row_sum(i + r, sum[r]);
    }
}

/* `count` rows: whole tiles, and what is left of one. */
static STEPC_INLINE void narrow_group(const int count, const int i, const T *restrict left, const T *restrict right,
                                      const int step, T *restrict done)
{
    for (int r = 0; r < count - count % STEPC_NARROW_ROWS; r += STEPC_NARROW_ROWS)
        narrow_part(STEPC_NARROW_ROWS, i + r, left, right, step, done + r * N);
    if (count % STEPC_NARROW_ROWS > 0)
        narrow_part(count % STEPC_NARROW_ROWS, i + count - count % STEPC_NARROW_ROWS, left, right, step,
                    done + (count - count % STEPC_NARROW_ROWS) * N);
    finish_narrow(count, i, done);
}

static STEPC_INLINE void narrow_rows(const T *restrict left, const T *restrict right, const int step)
{
    const int group = SHARES > 1 ? STEPC_NARROW_ROWS : STEPC_NARROW_GROUP;
    T done[(M < STEPC_NARROW_GROUP ? M : STEPC_NARROW_GROUP) * N +
           STEPC_NARROW_LANES(T)]; /* a tile stores whole vectors */
    const int first = SHARES > 1 ? M / group * share() / SHARES * group : 0;
    const int end = SHARES > 1 ? M / group * (share() + 1) / SHARES * group : M - M % group;
    for (int i = first; i < end; i += group)
        narrow_group(group, i, left, right, step, done);
    if (SHARES > 1 ? M % group > 0 && share() == SHARES - 1 : M % group > 0)
        narrow_group(M % group, M - M % group, left, right, step, done);
}

KERNEL static void product_narrow(const T *restrict a, const T *restrict b, T *restrict panel)
{
    if (WITH_FINISH) {
        if (B_COL == 1 && N % 4 == 0) {
            if (N % STEPC_NARROW_LANES(T) == 0) {
                narrow_rows(a, b, B_ROW);
            } else {
                stepc_pack(panel, STEPC_NARROW_WIDTH, b, B_ROW, B_COL, N, K);
                narrow_rows(a, panel, STEPC_NARROW_WIDTH);
            }
        } else if (B_ROW == 1) {
            stepc_pack_transposed(panel, STEPC_NARROW_WIDTH, b, B_COL, N, K);
            narrow_rows(a, panel, STEPC_NARROW_WIDTH);
        } else {
            stepc_pack(panel, STEPC_NARROW_WIDTH, b, B_ROW, B_COL, N, K);
            narrow_rows(a, panel, STEPC_NARROW_WIDTH);
        }
    } else if (WITH_ROW_SUM) {
        row_sums(a);
    }
}

/* Rows i .., which are columns of a tile and lie transposed in `columns`. */
static STEPC_INLINE void few_part(const int rows, const int i, const T *restrict right, const T *restrict columns,
                                  const int step)
{
    T acc[STEPC_TILE_ROWS * STEPC_TILE_COLUMNS(T)];
    stepc_tile(N, STEPC_VECTORS, K, TERMS, STEPC_TILE_SETS, acc, right, B_COL, B_ROW, columns, step);
    STEPC_LANE_LOOP
    for (int r = 0; r < rows; r++) {
        STEPC_UNROLL
        for (int j = 0; j < N; j++) {
            const T v = acc[j * STEPC_TILE_COLUMNS(T) + r];
            finish(i + r, j, v);
        }
    }
}

/* Rows i .. are transposed, all of them first: a vector that is loaded right after parts of it were stored waits for
 * them. */
static STEPC_INLINE void few_rows(const int rows, const int i, const T *restrict left, const T *restrict right,
                                  T *restrict transposed)
{
    const int step = (rows + STEPC_TILE_COLUMNS(T) - 1) / STEPC_TILE_COLUMNS(T) * STEPC_TILE_COLUMNS(T);
    stepc_pack_transposed(transposed, step, left + i * A_ROW, A_ROW, rows, K);
    for (int r = 0; r < rows - rows % STEPC_TILE_COLUMNS(T); r += STEPC_TILE_COLUMNS(T))
        few_part(STEPC_TILE_COLUMNS(T), i + r, right, transposed + r, step);
    if (rows % STEPC_TILE_COLUMNS(T) > 0)
        few_part(rows % STEPC_TILE_COLUMNS(T), i + rows - rows % STEPC_TILE_COLUMNS(T), right,
                 transposed + (rows - rows % STEPC_TILE_COLUMNS(T)), step);
}

KERNEL static void product_few(const T *restrict a, const T *restrict b, T *restrict panel)
{
    if (WITH_FINISH) {
        if (M >= PANEL) {
            const int first = SHARES > 1 ? M / PANEL * share() / SHARES * PANEL : 0;
            const int end = SHARES > 1 ? M / PANEL * (share() + 1) / SHARES * PANEL : M - M % PANEL;
            for (int i = first; i < end; i += PANEL)
                few_rows(PANEL, i, a, b, panel);
        }
        if (M % PANEL > 0) {
            if (SHARES > 1) {
                if (share() == SHARES - 1)
                    few_rows(M % PANEL, M - M % PANEL, a, b, panel);
            } else {
                few_rows(M % PANEL, M - M % PANEL, a, b, panel);
            }
        }
    }
    if (WITH_ROW_SUM)
        row_sums(a);
}

/* ---- large products ---------------------------------------------------------------------------------------------- */

/* `panel` holds a block of b, a group's rows of a and their sums (PACK_A), then the tiles whose sums wait for the next
 * terms; only one tile if all terms are added at once. */

/* Finishes the sums of one tile. A function of its own: what finishing needs takes no registers from the tile. */
static STEPC_KERNEL void finish_tile(const int rows, const int columns, const int i, const int j,
                                     const T *restrict sums_of_tile)
{
    for (int r = 0; r < rows; r++) {
        STEPC_WIDE_LOOP
        for (int l = 0; l < columns; l++) {
            const T v = sums_of_tile[r * STEPC_TILE_COLUMNS(T) + l]; /* before any select: see tile_of() */
            finish(i + r, j + l, v);
        }
    }
}

/* How many terms the block has that begins with term k. */
static STEPC_INLINE int terms_from(const int k)
{
    if (LAST > 0)
        return k < LAST ? DEPTH : K - LAST;
    else
        return K;
}

/* Asks for a part of a panel of the next block{, columns j ..}{, terms k ..}{, while rows i .. of a panel are
 * computed}. */
static STEPC_INLINE void fetch_panel(const int i, const int j, const int k, const T *restrict right)
{
    const int columns = N - j < 32 ? N - j : 32, depth = terms_from(k), rows = tile_rows();
    if (B_ROW == 1) {
        const int own = (32 * rows + (CUT_ROWS ? M / SHARES : M) - 1) / (CUT_ROWS ? M / SHARES : M);
        stepc_ahead(i / rows * own, i / rows * own + own, columns, depth, right + k + j * B_COL, B_COL);
    } else {
        const int own = (LONGEST * rows + (CUT_ROWS ? M / SHARES : M) - 1) / (CUT_ROWS ? M / SHARES : M);
        stepc_ahead(i / rows * own, i / rows * own + own, depth, columns, right + k * B_ROW + j * B_COL, B_ROW);
    }
}

/* Rows i .. of one packed block of columns and terms. */
/* Why: the sums of all rows, from row `first` on, wait in `waiting` until their last terms are added, if there are
 * several blocks of them. */
static STEPC_INLINE void block_rows(const int i, const int first, const int p, const int k, const T *restrict left,
                                    const T *restrict right, const T *restrict packed, T *restrict waiting)
{
    const int end = N - p < BLOCK ? N : p + BLOCK, depth = terms_from(k), whole = k >= LAST;
    const int how = k == 0 ? STEPC_TILE_SETS : TERMS < K ? STEPC_TILE_ADDS : STEPC_TILE_GOES_ON;
    for (int j = p; j < end; j += STEPC_PANEL_TILE(T, 32)) {
        T acc[STEPC_TILE_ROWS * STEPC_TILE_COLUMNS(T)];
        T *const sums_of_tile =
            LAST > 0 ? waiting + ((i - first) / STEPC_PART_ROWS(M) * BLOCK + j - p) * STEPC_TILE_ROWS : acc;
        const int columns = N % 32 > 0 && end - j < STEPC_PANEL_TILE(T, 32) ? end - j : STEPC_PANEL_TILE(T, 32);
        if (FETCH_B) {
            if (j % 32 == 0)
                fetch_panel(CUT_ROWS ? i - first_row() : i, k < LAST ? j : j + BLOCK, k < LAST ? k + DEPTH : 0, right);
        }
        if (FETCH_OUT && READS_FINISH) {
            for (int r = 0; whole && r < rows_from(i); r++) {
                for (int l = 0; l < columns; l += 64 / (int)sizeof(T))
                    finish_ahead(i + r, j + l);
            }
        }
        if (PACK_A)
            stepc_tile_of_terms(i, M, STEPC_VECTORS, depth, TERMS, how, sums_of_tile, left, 1, 8,
                                packed + (j - p) / 32 * (32 * depth) + (j - p) % 32, 32);
        else
            stepc_tile_of_terms(i, M, STEPC_VECTORS, depth, TERMS, how, sums_of_tile, left + i * A_ROW + k * A_COL,
                                A_ROW, A_COL, packed + (j - p) / 32 * (32 * depth) + (j - p) % 32, 32);
        if (PLAIN_FINISH) {
            if (whole)
                stepc_store_tile(rows_from(i), columns, finish_place() + i * N + j, N, sums_of_tile);
        } else {
            if (whole)
                finish_tile(rows_from(i), columns, i, j, sums_of_tile);
        }
    }
}

/* Rows i ..{ of those first .. end - 1}. Those of four tiles are packed together; meanwhile a part of the next four is
 * asked for, or again of the first ones with the next terms. The sums of rows are made with the first columns of b. */
static STEPC_INLINE void packed_part(const int i, const int first, const int end, const int p, const int k,
                                     const T *restrict left, const T *restrict right, T *restrict panel)
{
    T *const packed = panel + BLOCK * LONGEST, *const sum = packed + 32 * LONGEST;
    const int t = (i - first) / STEPC_PART_ROWS(M) % 4, next = i + (4 - t) * STEPC_PART_ROWS(M);
    const int row = next < end ? next : first, terms = (next < end ? k : k + DEPTH) + t * ((LONGEST + 3) / 4);
    if (t == 0 || rows_from(i) < STEPC_PART_ROWS(M))
        stepc_pack_rows_of(i, end, M, terms_from(k), packed + t * (8 * LONGEST), LONGEST, left + i * A_ROW + k * A_COL,
                           A_ROW, A_COL, WITH_ROW_SUM && p == 0, k > 0, sum + i);
    stepc_ahead(terms, terms + (LONGEST + 3) / 4, K,
                end - row < 4 * STEPC_PART_ROWS(M) ? end - row : 4 * STEPC_PART_ROWS(M), left + row * A_ROW, A_COL);
    block_rows(i, first, p, k, packed + t * (8 * LONGEST), right, panel, LAST > 0 ? sum + M : (T *)0);
}

/* Columns p .. and terms k .. of b as panels of 32 columns. */
static STEPC_INLINE void pack_block(const int p, const int k, T *restrict packed, const T *restrict right)
{
    const int end = N - p < BLOCK ? N : p + BLOCK;
    for (int j = p; j < end; j += 32) {
        const int columns = N % 32 > 0 && end - j < 32 ? end - j : 32;
        if (B_ROW == 1)
            stepc_pack_transposed(packed + (j - p) * terms_from(k), 32, right + k + j * B_COL, B_COL, columns,
                                  terms_from(k));
        else
            stepc_pack(packed + (j - p) * terms_from(k), 32, right + k * B_ROW + j * B_COL, B_ROW, B_COL, columns,
                       terms_from(k));
    }
}

/* Rows i .. of one packed block of columns and terms, where rows may lie as they are. */
static STEPC_INLINE void block_part(const int i, const int first, const int end, const int p, const int k,
                                    const T *restrict left, const T *restrict right, T *restrict panel)
{
    if (PACK_A)
        packed_part(i, first, end, p, k, left, right, panel);
    else
        block_rows(i, first, p, k, left, right, panel, LAST > 0 ? panel + BLOCK * LONGEST : (T *)0);
}

/* Rows first .. end - 1{ of the columns p ..}{ and terms k ..} */
static STEPC_INLINE void block_terms(const int first, const int end, const int p, const int k, const T *restrict left,
                                     const T *restrict right, T *restrict panel)
{
    pack_block(p, k, panel, right);
    if (ROWS < M || CUT_ROWS) {
        for (int i = first; i < end; i += STEPC_PART_ROWS(M))
            block_part(i, first, end, p, k, left, right, panel);
    } else {
        for (int i = 0; i < M; i += STEPC_PART_ROWS(M))
            block_part(i, 0, M, p, k, left, right, panel);
    }
}

/* Rows first .. end - 1{ of the columns p ..} */
static STEPC_INLINE void block_sums(const int first, const int end, const int p, const T *restrict left,
                                    const T *restrict right, T *restrict panel)
{
    if (LAST > 0) {
        for (int k = 0; k <= LAST; k += DEPTH)
            block_terms(first, end, p, k, left, right, panel);
    } else {
        block_terms(first, end, p, 0, left, right, panel);
    }
}

/* Rows first .. end - 1{ of the columns p ..}, of which as many are computed at a time as memory holds: whole tiles. */
static STEPC_INLINE void block_columns(const int first, const int end, const int p, const T *restrict left,
                                       const T *restrict right, T *restrict panel)
{
    if (ROWS < M) {
        const int rows = ROWS / STEPC_PART_ROWS(M) * STEPC_PART_ROWS(M);
        for (int i = first; i < end; i += rows)
            block_sums(i, end - i < rows ? end : i + rows, p, left, right, panel);
    } else {
        block_sums(first, end, p, left, right, panel);
    }
}

/* The sums of rows first .. end - 1, which packing made. */
static STEPC_INLINE void finish_row_sums(const int first, const int end, const T *restrict sum)
{
    if (SHARES > 1 && !CUT_ROWS) {
        if (share() > 0)
            return;
    }
    STEPC_LANE_LOOP
    for (int i = first; i < end; i++)
        row_sum(i, sum[i]);
}

KERNEL static void product_blocked(const T *restrict a, const T *restrict b, T *restrict panel)
{
    if (CUT_ROWS) {
        const int first = first_row(), end = end_row();
        if (WITH_FINISH) {
            for (int p = 0; p < N; p += BLOCK)
                block_columns(first, end, p, a, b, panel);
            if (WITH_ROW_SUM && PACK_A)
                finish_row_sums(first, end, panel + (BLOCK + 32) * LONGEST);
        }
    } else if (WITH_FINISH) {
        for (int p = SHARES > 1 ? (N + BLOCK - 1) / BLOCK * share() / SHARES * BLOCK : 0;
             p < (SHARES > 1 ? (N + BLOCK - 1) / BLOCK * (share() + 1) / SHARES * BLOCK : N); p += BLOCK)
            block_columns(0, M, p, a, b, panel);
        if (WITH_ROW_SUM && PACK_A)
            finish_row_sums(0, M, panel + (BLOCK + 32) * LONGEST);
    }
    if (WITH_ROW_SUM) {
        if (!PACK_A || !WITH_FINISH)
            row_sums(a);
    }
}

/* ---- a library's ------------------------------------------------------------------------------------------------- */

KERNEL static void product_blas(const T *restrict a, const T *restrict b, T *restrict panel)
{
    if (WITH_FINISH) {
        if (RESULT_ROW > 0) {
            blas(a, b, finish_place(), RESULT_ROW);
        } else {
            blas(a, b, panel, N);
            for (int i = 0; i < M; i++) {
                STEPC_LANE_LOOP
                for (int j = 0; j < N; j++) {
                    const T v = panel[i * N + j];
                    finish(i, j, v);
                }
            }
        }
    }
    if (WITH_ROW_SUM)
        row_sums(a);
}
