/* SPDX-License-Identifier: 0BSD */
/* What stepc_tile.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

typedef STEPC_T STEPC_OF(vec) __attribute__((vector_size(STEPC_VECTOR_BYTES)));
typedef STEPC_T STEPC_OF(vec_at)
    __attribute__((vector_size(STEPC_VECTOR_BYTES), aligned(sizeof(STEPC_T)), may_alias)); /* a vec anywhere */

/* c[rows, vectors * STEPC_LANES] = a[rows,depth] * b[depth, vectors * STEPC_LANES], the terms of one sum each. */
static STEPC_INLINE void STEPC_OF(tile_terms)(const int rows, const int vectors, const int depth, const int how,
                                              STEPC_T *restrict c, const STEPC_T *restrict a, const int row_step,
                                              const int depth_step, const STEPC_T *restrict b, const int b_step)
{
    STEPC_OF(vec) acc[STEPC_TILE_ROWS][STEPC_VECTORS];
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        acc[i][0] = acc[i][1] = (STEPC_OF(vec)){0};
        if (how == STEPC_TILE_GOES_ON) {
            acc[i][0] = *(const STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T));
            acc[i][1] = *(const STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T) +
                                                    (vectors > 1 ? STEPC_LANES(STEPC_T) : 0));
        }
    }
    STEPC_UNROLL_4
    for (int k = 0; k < depth; k++) {
        const STEPC_OF(vec) b0 = *(const STEPC_OF(vec_at) *)(b + k * b_step);
        const STEPC_OF(vec) b1 = *(const STEPC_OF(vec_at) *)(b + k * b_step + (vectors > 1 ? STEPC_LANES(STEPC_T) : 0));
        STEPC_UNROLL
        for (int i = 0; i < rows; i++) {
            const STEPC_T s = a[i * row_step + k * depth_step];
            acc[i][0] += s * b0;
            if (vectors > 1)
                acc[i][1] += s * b1;
        }
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        if (how == STEPC_TILE_ADDS) {
            acc[i][0] += *(const STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T));
            acc[i][1] += *(const STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T) +
                                                     (vectors > 1 ? STEPC_LANES(STEPC_T) : 0));
        }
        *(STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T)) = acc[i][0];
        if (vectors > 1)
            *(STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T) + STEPC_LANES(STEPC_T)) = acc[i][1];
    }
}

#elif STEPC_FORM == 1

/* The same in C99: an array of lanes for each row, and one loop over the lanes. Rows that do not exist repeat the last
 * one. */
/* Why: a two-dimensional accumulator, or a loop per row, is 2 to 40 times slower with one compiler or the other. */
static STEPC_INLINE void STEPC_OF(tile_terms)(const int rows, const int vectors, const int depth, const int how,
                                              STEPC_T *restrict c, const STEPC_T *restrict a, const int row_step,
                                              const int depth_step, const STEPC_T *restrict b, const int b_step)
{
    STEPC_T c0[STEPC_LANES(STEPC_T)] = {0}, c1[STEPC_LANES(STEPC_T)] = {0}, c2[STEPC_LANES(STEPC_T)] = {0},
            c3[STEPC_LANES(STEPC_T)] = {0};
    STEPC_T c4[STEPC_LANES(STEPC_T)] = {0}, c5[STEPC_LANES(STEPC_T)] = {0}, c6[STEPC_LANES(STEPC_T)] = {0},
            c7[STEPC_LANES(STEPC_T)] = {0};
    const int last = (rows - 1) * row_step;
    (void)vectors;
    if (how == STEPC_TILE_GOES_ON) {
        memcpy(c0, c, sizeof c0);
        memcpy(c1, c + STEPC_LANES(STEPC_T), sizeof c1);
        memcpy(c2, c + 2 * STEPC_LANES(STEPC_T), sizeof c2);
        memcpy(c3, c + 3 * STEPC_LANES(STEPC_T), sizeof c3);
        memcpy(c4, c + 4 * STEPC_LANES(STEPC_T), sizeof c4);
        memcpy(c5, c + 5 * STEPC_LANES(STEPC_T), sizeof c5);
        memcpy(c6, c + 6 * STEPC_LANES(STEPC_T), sizeof c6);
        memcpy(c7, c + 7 * STEPC_LANES(STEPC_T), sizeof c7);
    }
    for (int k = 0; k < depth; k++) {
        const STEPC_T *const ak = a + k * depth_step;
        const STEPC_T *const bk = b + k * b_step;
        const STEPC_T s0 = ak[0], s1 = ak[rows > 1 ? row_step : last], s2 = ak[rows > 2 ? 2 * row_step : last];
        const STEPC_T s3 = ak[rows > 3 ? 3 * row_step : last], s4 = ak[rows > 4 ? 4 * row_step : last];
        const STEPC_T s5 = ak[rows > 5 ? 5 * row_step : last], s6 = ak[rows > 6 ? 6 * row_step : last];
        const STEPC_T s7 = ak[rows > 7 ? 7 * row_step : last];
        for (int l = 0; l < STEPC_LANES(STEPC_T); l++) {
            const STEPC_T v = bk[l];
            c0[l] += s0 * v;
            c1[l] += s1 * v;
            c2[l] += s2 * v;
            c3[l] += s3 * v;
            c4[l] += s4 * v;
            c5[l] += s5 * v;
            c6[l] += s6 * v;
            c7[l] += s7 * v;
        }
    }
    for (int l = 0; how == STEPC_TILE_ADDS && l < STEPC_LANES(STEPC_T); l++) {
        c0[l] += c[l];
        c1[l] += c[STEPC_LANES(STEPC_T) + l];
        c2[l] += c[2 * STEPC_LANES(STEPC_T) + l];
        c3[l] += c[3 * STEPC_LANES(STEPC_T) + l];
        c4[l] += c[4 * STEPC_LANES(STEPC_T) + l];
        c5[l] += c[5 * STEPC_LANES(STEPC_T) + l];
        c6[l] += c[6 * STEPC_LANES(STEPC_T) + l];
        c7[l] += c[7 * STEPC_LANES(STEPC_T) + l];
    }
    memcpy(c, c0, sizeof c0);
    memcpy(c + STEPC_LANES(STEPC_T), c1, sizeof c1);
    memcpy(c + 2 * STEPC_LANES(STEPC_T), c2, sizeof c2);
    memcpy(c + 3 * STEPC_LANES(STEPC_T), c3, sizeof c3);
    memcpy(c + 4 * STEPC_LANES(STEPC_T), c4, sizeof c4);
    memcpy(c + 5 * STEPC_LANES(STEPC_T), c5, sizeof c5);
    memcpy(c + 6 * STEPC_LANES(STEPC_T), c6, sizeof c6);
    memcpy(c + 7 * STEPC_LANES(STEPC_T), c7, sizeof c7);
}

#else

/* The same for scalar registers. One function for all calls, since code size counts here. Rows that do not exist repeat
 * the last one. */
/* Why: a call costs 2 %. */
static STEPC_ROUTINE void STEPC_OF(tile_terms)(const int rows, const int vectors, const int depth, const int how,
                                               STEPC_T *restrict c, const STEPC_T *restrict a, const int row_step,
                                               const int depth_step, const STEPC_T *restrict b, const int b_step)
{
    STEPC_T c00 = 0, c01 = 0, c02 = 0, c03 = 0, c10 = 0, c11 = 0, c12 = 0, c13 = 0;
    STEPC_T c20 = 0, c21 = 0, c22 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
    const STEPC_T *a1 = rows > 1 ? a + row_step : a;
    const STEPC_T *a2 = rows > 2 ? a1 + row_step : a1;
    const STEPC_T *a3 = rows > 3 ? a2 + row_step : a2;
    (void)vectors;
    if (how == STEPC_TILE_GOES_ON) {
        c00 = c[0], c01 = c[1], c02 = c[2], c03 = c[3], c10 = c[4], c11 = c[5], c12 = c[6], c13 = c[7];
        c20 = c[8], c21 = c[9], c22 = c[10], c23 = c[11], c30 = c[12], c31 = c[13], c32 = c[14], c33 = c[15];
    }
    for (int k = 0; k < depth; k++) {
        const STEPC_T b0 = b[k * b_step], b1 = b[k * b_step + 1], b2 = b[k * b_step + 2], b3 = b[k * b_step + 3];
        STEPC_T s = a[k * depth_step];
        c00 += s * b0;
        c01 += s * b1;
        c02 += s * b2;
        c03 += s * b3;
        s = a1[k * depth_step];
        c10 += s * b0;
        c11 += s * b1;
        c12 += s * b2;
        c13 += s * b3;
        s = a2[k * depth_step];
        c20 += s * b0;
        c21 += s * b1;
        c22 += s * b2;
        c23 += s * b3;
        s = a3[k * depth_step];
        c30 += s * b0;
        c31 += s * b1;
        c32 += s * b2;
        c33 += s * b3;
    }
    if (how == STEPC_TILE_ADDS) {
        c00 += c[0], c01 += c[1], c02 += c[2], c03 += c[3], c10 += c[4], c11 += c[5], c12 += c[6], c13 += c[7];
        c20 += c[8], c21 += c[9], c22 += c[10], c23 += c[11], c30 += c[12], c31 += c[13], c32 += c[14], c33 += c[15];
    }
    c[0] = c00, c[1] = c01, c[2] = c02, c[3] = c03, c[4] = c10, c[5] = c11, c[6] = c12, c[7] = c13;
    c[8] = c20, c[9] = c21, c[10] = c22, c[11] = c23, c[12] = c30, c[13] = c31, c[14] = c32, c[15] = c33;
}

#endif

/* c[rows, vectors * STEPC_LANES] = a[rows,depth] * b[depth, vectors * STEPC_LANES], `terms` products in a sum, and the
 * sums added in order. c has STEPC_TILE_COLUMNS per row, element (i,k) of a is at a[i * row_step + k * depth_step].
 * Always inlined: rows and vectors are literals in every call, which keeps the accumulators in registers. */
static STEPC_INLINE void STEPC_OF(tile)(const int rows, const int vectors, const int depth, const int terms,
                                        const int how, STEPC_T *restrict c, const STEPC_T *restrict a,
                                        const int row_step, const int depth_step, const STEPC_T *restrict b,
                                        const int b_step)
{
    STEPC_OF(tile_terms)(rows, vectors, depth < terms ? depth : terms, how, c, a, row_step, depth_step, b, b_step);
    for (int k = terms; k < depth; k += terms)
        STEPC_OF(tile_terms)(rows, vectors, depth - k < terms ? depth - k : terms, STEPC_TILE_ADDS, c, a + k *
            depth_step, row_step, depth_step, b + k * b_step, b_step);
}

/* Rows i .. of m, a literal: the call for whole tiles and the one for what is left have literals each. */
static STEPC_INLINE void STEPC_OF(tile_of_terms)(const int i, const int m, const int vectors, const int depth,
                                                 const int terms, const int how, STEPC_T *restrict c,
                                                 const STEPC_T *restrict a, const int row_step, const int depth_step,
                                                 const STEPC_T *restrict b, const int b_step)
{
    if (STEPC_LIKELY(STEPC_LAST_ROWS(m) == 0 || i + STEPC_PART_ROWS(m) <= m))
        STEPC_OF(tile)(STEPC_PART_ROWS(m), vectors, depth, terms, how, c, a, row_step, depth_step, b, b_step);
    else
        STEPC_OF(tile)(STEPC_LAST_ROWS(m), vectors, depth, terms, how, c, a, row_step, depth_step, b, b_step);
}

static STEPC_INLINE void STEPC_OF(tile_of)(const int i, const int m, const int vectors, const int depth,
                                           const int terms, STEPC_T *restrict c, const STEPC_T *restrict a,
                                           const int row_step, const int depth_step, const STEPC_T *restrict b,
                                           const int b_step)
{
    STEPC_OF(tile_of_terms)(i, m, vectors, depth, terms, STEPC_TILE_SETS, c, a, row_step, depth_step, b, b_step);
}

/* Rows i .. of m, which no literal says: what is left of a tile is four rows, two and one. */
static STEPC_INLINE void STEPC_OF(tile_late)(const int i, const int m, const int vectors, const int depth,
                                             const int terms, STEPC_T *restrict c, const STEPC_T *restrict a,
                                             const int row_step, const int depth_step, const STEPC_T *restrict b,
                                             const int b_step)
{
    const int rows = m - i;
    if (STEPC_LIKELY(rows >= STEPC_TILE_ROWS)) {
        STEPC_OF(tile)(STEPC_TILE_ROWS, vectors, depth, terms, STEPC_TILE_SETS, c, a, row_step, depth_step, b, b_step);
        return;
    }
#if STEPC_FORM == 2
    const int four = rows / 4 * 4, two = rows / 2 * 2;
    if (four > 0)
        STEPC_OF(tile)(4, vectors, depth, terms, STEPC_TILE_SETS, c, a, row_step, depth_step, b, b_step);
    if (two > four)
        STEPC_OF(tile)(2, vectors, depth, terms, STEPC_TILE_SETS, c + four * STEPC_TILE_COLUMNS(STEPC_T),
            a + four * row_step, row_step, depth_step, b, b_step);
    if (rows > two)
        STEPC_OF(tile)(1, vectors, depth, terms, STEPC_TILE_SETS, c + two * STEPC_TILE_COLUMNS(STEPC_T),
            a + two * row_step, row_step, depth_step, b, b_step);
#else
    STEPC_OF(tile)(rows, vectors, depth, terms, STEPC_TILE_SETS, c, a, row_step, depth_step, b, b_step);
#endif
}

static STEPC_INLINE void STEPC_OF(store_tile)(const int rows, const int columns, STEPC_T *restrict to, const int step,
                                              const STEPC_T *restrict c)
{
    for (int r = 0; columns == STEPC_TILE_COLUMNS(STEPC_T) && r < rows; r++) {
        STEPC_WIDE_LOOP
        for (int l = 0; l < STEPC_TILE_COLUMNS(STEPC_T); l++)
            to[r * step + l] = c[r * STEPC_TILE_COLUMNS(STEPC_T) + l];
    }
    for (int r = 0; columns < STEPC_TILE_COLUMNS(STEPC_T) && r < rows; r++) {
        STEPC_LANE_LOOP
        for (int l = 0; l < columns; l++)
            to[r * step + l] = c[r * STEPC_TILE_COLUMNS(STEPC_T) + l];
    }
}
