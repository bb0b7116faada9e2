/* SPDX-License-Identifier: 0BSD */
/* What stepc_tile_sums.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

/* As stepc_tile_terms(), for rows of a side by side; and sums[i] += row i of a. */
/* Why: on the way these sums cost next to nothing, while in a loop of their own each addition waits for the one
 * before. */
static STEPC_INLINE void STEPC_OF(tile_terms_and_sums)(const int rows, const int vectors, const int depth,
                                                       const int adds, STEPC_T *restrict c, const STEPC_T *restrict a,
                                                       const int depth_step, const STEPC_T *restrict b,
                                                       const int b_step, STEPC_T *restrict sums)
{
    STEPC_OF(vec) acc[STEPC_TILE_ROWS][STEPC_VECTORS];
    STEPC_OF(quad) four[(STEPC_TILE_ROWS + 3) / 4];
    STEPC_T one[STEPC_TILE_ROWS];
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        acc[i][0] = acc[i][1] = (STEPC_OF(vec)){0};
        one[i] = sums[i];
    }
    STEPC_UNROLL
    for (int i = 0; i < rows / 4; i++)
        four[i] = *(const STEPC_OF(quad_at) *)(sums + 4 * i);
    STEPC_UNROLL_4
    for (int k = 0; k < depth; k++) {
        const STEPC_OF(vec) b0 = *(const STEPC_OF(vec_at) *)(b + k * b_step);
        const STEPC_OF(vec) b1 = *(const STEPC_OF(vec_at) *)(b + k * b_step + (vectors > 1 ? STEPC_LANES(STEPC_T) : 0));
        STEPC_UNROLL
        for (int i = 0; i < rows; i++) {
            const STEPC_T s = a[i + k * depth_step];
            acc[i][0] += s * b0;
            if (vectors > 1)
                acc[i][1] += s * b1;
        }
        STEPC_UNROLL
        for (int i = 0; i < rows / 4; i++)
            four[i] += *(const STEPC_OF(quad_at) *)(a + 4 * i + k * depth_step);
        STEPC_UNROLL
        for (int i = rows - rows % 4; i < rows; i++)
            one[i] += a[i + k * depth_step];
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        if (adds) {
            acc[i][0] += *(const STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T));
            acc[i][1] += *(const STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T) +
                                                     (vectors > 1 ? STEPC_LANES(STEPC_T) : 0));
        }
        *(STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T)) = acc[i][0];
        if (vectors > 1)
            *(STEPC_OF(vec_at) *)(c + i * STEPC_TILE_COLUMNS(STEPC_T) + STEPC_LANES(STEPC_T)) = acc[i][1];
    }
    STEPC_UNROLL
    for (int i = 0; i < rows / 4; i++)
        *(STEPC_OF(quad_at) *)(sums + 4 * i) = four[i];
    STEPC_UNROLL
    for (int i = rows - rows % 4; i < rows; i++)
        sums[i] = one[i];
}

/* stepc_tile() for rows of a side by side; and sums[i] += row i of a[rows,depth], in index order. */
static STEPC_INLINE void STEPC_OF(tile_and_sums)(const int rows, const int vectors, const int depth, const int terms,
                                                 STEPC_T *restrict c, const STEPC_T *restrict a, const int depth_step,
                                                 const STEPC_T *restrict b, const int b_step, STEPC_T *restrict sums)
{
    STEPC_OF(tile_terms_and_sums)(rows, vectors, depth < terms ? depth : terms, 0, c, a, depth_step, b, b_step, sums);
    for (int k = terms; k < depth; k += terms)
        STEPC_OF(tile_terms_and_sums)(rows, vectors, depth - k < terms ? depth - k : terms, 1, c, a + k * depth_step,
            depth_step, b + k * b_step, b_step, sums);
}

#else

static STEPC_INLINE void STEPC_OF(tile_and_sums)(const int rows, const int vectors, const int depth, const int terms,
                                                 STEPC_T *restrict c, const STEPC_T *restrict a, const int depth_step,
                                                 const STEPC_T *restrict b, const int b_step, STEPC_T *restrict sums)
{
    STEPC_OF(tile)(rows, vectors, depth, terms, STEPC_TILE_SETS, c, a, 1, depth_step, b, b_step);
    for (int k = 0; k < depth; k++) {
        for (int i = 0; i < rows; i++)
            sums[i] += a[i + k * depth_step];
    }
}

#endif

/* Rows i .. of m, a literal, as in stepc_tile_of(). */
static STEPC_INLINE void STEPC_OF(tile_of_and_sums)(const int i, const int m, const int vectors, const int depth,
                                                    const int terms, STEPC_T *restrict c, const STEPC_T *restrict a,
                                                    const int depth_step, const STEPC_T *restrict b, const int b_step,
                                                    STEPC_T *restrict sums)
{
    if (STEPC_LIKELY(STEPC_LAST_ROWS(m) == 0 || i + STEPC_PART_ROWS(m) <= m))
        STEPC_OF(tile_and_sums)(STEPC_PART_ROWS(m), vectors, depth, terms, c, a, depth_step, b, b_step, sums);
    else
        STEPC_OF(tile_and_sums)(STEPC_LAST_ROWS(m), vectors, depth, terms, c, a, depth_step, b, b_step, sums);
}
