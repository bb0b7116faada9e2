/* SPDX-License-Identifier: 0BSD */
/* What stepc_narrow.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

typedef STEPC_T STEPC_OF(narrow_vec) __attribute__((vector_size(STEPC_NARROW_LANES(STEPC_T) * sizeof(STEPC_T))));
typedef STEPC_T STEPC_OF(narrow_vec_at)
    __attribute__((vector_size(STEPC_NARROW_LANES(STEPC_T) * sizeof(STEPC_T)), aligned(sizeof(STEPC_T)), may_alias));

/* c[rows, STEPC_NARROW_LANES] = or += the terms of one sum each; with_sums: and sums[i] += row i of a. */
/* Why: on the way these sums cost no time of their own; one after the other they would wait for each other. */
static STEPC_INLINE void STEPC_OF(narrow_terms)(const int rows, const int depth, const int adds, STEPC_T *restrict c,
                                                const STEPC_T *restrict a, const int row_step, const int depth_step,
                                                const STEPC_T *restrict b, const int b_step, const int with_sums,
                                                STEPC_T *restrict sums)
{
    STEPC_OF(narrow_vec) acc[STEPC_NARROW_ROWS];
    STEPC_T sum[STEPC_NARROW_ROWS];
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        acc[i] = (STEPC_OF(narrow_vec)){0};
        sum[i] = sums[i];
    }
    STEPC_UNROLL_4
    for (int k = 0; k < depth; k++) {
        const STEPC_OF(narrow_vec) right = *(const STEPC_OF(narrow_vec_at) *)(b + k * b_step);
        STEPC_UNROLL
        for (int i = 0; i < rows; i++) {
            const STEPC_T s = a[i * row_step + k * depth_step];
            acc[i] += s * right;
            if (with_sums)
                sum[i] += s;
        }
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        if (adds)
            acc[i] += *(const STEPC_OF(narrow_vec_at) *)(c + i * STEPC_NARROW_LANES(STEPC_T));
        *(STEPC_OF(narrow_vec_at) *)(c + i * STEPC_NARROW_LANES(STEPC_T)) = acc[i];
        sums[i] = sum[i];
    }
}

/* acc += term k of each of `parts` sums, and sums += the next `parts` elements of their rows, from element `next`
 * on. */
static STEPC_INLINE void STEPC_OF(term_of_each)(const int rows, const int parts, const int terms, const int k,
                                                const int next, STEPC_OF(narrow_vec) * acc, STEPC_T *sum,
                                                const STEPC_T *restrict a, const int row_step, const int depth_step,
                                                const STEPC_T *restrict b, const int b_step, const int with_sums)
{
    STEPC_UNROLL
    for (int p = 0; p < parts; p++) {
        const STEPC_OF(narrow_vec) right = *(const STEPC_OF(narrow_vec_at) *)(b + (p * terms + k) * b_step);
        STEPC_UNROLL
        for (int i = 0; i < rows; i++) {
            acc[p * rows + i] += a[i * row_step + (p * terms + k) * depth_step] * right;
            if (with_sums)
                sum[i] += a[i * row_step + (next + p) * depth_step];
        }
    }
}

/* stepc_narrow_tile() for few rows with many terms: all parts at a time, whose sums do not wait for one another. */
static STEPC_INLINE void STEPC_OF(narrow_terms_at_once)(const int rows, const int depth, const int terms,
                                                        STEPC_T *restrict c, const int c_step,
                                                        const STEPC_T *restrict a, const int row_step,
                                                        const int depth_step, const STEPC_T *restrict b,
                                                        const int b_step, const int with_sums, STEPC_T *restrict sums)
{
    const int parts = (depth + terms - 1) / terms, last = depth - (parts - 1) * terms;
    STEPC_OF(narrow_vec) acc[STEPC_NARROW_ROWS];
    STEPC_T sum[STEPC_NARROW_ROWS];
    STEPC_UNROLL
    for (int i = 0; i < parts * rows; i++)
        acc[i] = (STEPC_OF(narrow_vec)){0};
    STEPC_UNROLL
    for (int i = 0; i < rows; i++)
        sum[i] = sums[i];
    STEPC_UNROLL_4
    for (int k = 0; k < last; k++)
        STEPC_OF(term_of_each)(rows, parts, terms, k, k * parts, acc, sum, a, row_step, depth_step, b, b_step,
            with_sums);
    STEPC_UNROLL_4
    for (int k = last; k < terms; k++)
        STEPC_OF(term_of_each)(rows, parts - 1, terms, k, last + k * (parts - 1), acc, sum, a, row_step, depth_step, b,
            b_step, with_sums);
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        STEPC_UNROLL
        for (int p = 1; p < parts; p++)
            acc[i] += acc[p * rows + i];
        *(STEPC_OF(narrow_vec_at) *)(c + i * c_step) = acc[i];
        sums[i] = sum[i];
    }
}

/* Where a vector is two rows long, a row would fill half of it. So vectors hold four rows of four columns: a term of
 * four rows is spread over the fours in registers, a row of b repeated as it is loaded. */
/* Why: 256 x 8 x 16 takes 0.48 instead of 0.65 us. */
#if defined(__AVX512F__) && STEPC_VECTOR_BYTES == 64 &&                                                                \
    (defined(__clang__) || (__GNUC__ >= 12 && defined(__SIZEOF_INT128__)))
#define STEPC_NARROW_QUADS(T) (sizeof(T) == 4)

typedef STEPC_T STEPC_OF(four_quads) __attribute__((vector_size(16 * sizeof(STEPC_T))));
typedef STEPC_T STEPC_OF(four_quads_at)
    __attribute__((vector_size(16 * sizeof(STEPC_T)), aligned(sizeof(STEPC_T)), may_alias));

#if defined(__clang__)
/* A quad as integers. */
/* Why: of floats Clang would spread a term over each half of the vector before it joins them. */
typedef __typeof__(__builtin_choose_expr(sizeof(STEPC_T) == 4, (int32_t)0, (int64_t)0)) STEPC_OF(whole_quad_at)
    __attribute__((vector_size(4 * sizeof(STEPC_T)), aligned(sizeof(STEPC_T)), may_alias));
#define STEPC_TWO_WHOLE(p, q)                                                                                          \
    __builtin_shufflevector(*(const STEPC_OF(whole_quad_at) *)(p), *(const STEPC_OF(whole_quad_at) *)(q), 0, 1, 2, 3,  \
                            4, 5, 6, 7)
#define STEPC_JOINED_FOUR(p, q, r, s)                                                                                  \
    (STEPC_OF(four_quads)) __builtin_shufflevector(STEPC_TWO_WHOLE(p, q), STEPC_TWO_WHOLE(r, s), 0, 1, 2, 3, 4, 5, 6,  \
                                                   7, 8, 9, 10, 11, 12, 13, 14, 15)
#else
typedef STEPC_OF(long_integer) STEPC_OF(four_long) __attribute__((vector_size(16 * sizeof(STEPC_T))));
#define STEPC_JOINED_FOUR(p, q, r, s)                                                                                  \
    (STEPC_OF(four_quads))(STEPC_OF(four_long))                                                                        \
    {                                                                                                                  \
        *(const STEPC_OF(long_at) *)(p), *(const STEPC_OF(long_at) *)(q), *(const STEPC_OF(long_at) *)(r),             \
            *(const STEPC_OF(long_at) *)(s)                                                                            \
    }
#endif

/* Element t of each quad, four times. */
#define STEPC_SPREAD(v, t)                                                                                             \
    __builtin_shufflevector(v, v, (t), (t), (t), (t), 4 + (t), 4 + (t), 4 + (t), 4 + (t), 8 + (t), 8 + (t), 8 + (t),   \
                            8 + (t), 12 + (t), 12 + (t), 12 + (t), 12 + (t))
/* Of four rows, in halves of four columns, the first two and the last two. */
#define STEPC_FIRST_TWO(a, b) __builtin_shufflevector(a, b, 0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23)
#define STEPC_LAST_TWO(a, b) __builtin_shufflevector(a, b, 8, 9, 10, 11, 24, 25, 26, 27, 12, 13, 14, 15, 28, 29, 30, 31)

/* One term of the sums, element t of the quads of a, and row t of b. */
#define STEPC_ADD_TERM(t)                                                                                              \
    if (first <= (t)) {                                                                                                \
        const STEPC_T *const row = b + (t)*b_step;                                                                     \
        const STEPC_OF(four_quads) b0 = STEPC_JOINED_FOUR(row, row, row, row),                                         \
                                   b1 = STEPC_JOINED_FOUR(row + 4, row + 4, row + 4, row + 4);                         \
        STEPC_UNROLL                                                                                                   \
        for (int i = 0; i < (rows + 3) / 4; i++) {                                                                     \
            const STEPC_OF(four_quads) s = STEPC_SPREAD(v[i], t);                                                      \
            acc[i][0] += s * b0;                                                                                       \
            acc[i][1] += s * b1;                                                                                       \
        }                                                                                                              \
    }

/* acc += four terms of up to STEPC_NARROW_ROWS rows, without those before `first`; rows that do not exist repeat the
 * first of four. */
static STEPC_INLINE void STEPC_OF(four_terms_of_narrow)(const int rows, const int first, STEPC_OF(four_quads) (*acc)[2],
                                                        const STEPC_T *restrict a, const int row_step,
                                                        const STEPC_T *restrict b, const int b_step)
{
    STEPC_OF(four_quads) v[STEPC_NARROW_ROWS / 4];
    STEPC_UNROLL
    for (int i = 0; i < (rows + 3) / 4; i++) {
        const STEPC_T *const r0 = a + 4 * i * row_step;
        v[i] = STEPC_JOINED_FOUR(r0, r0 + (4 * i + 1 < rows ? row_step : 0), r0 + (4 * i + 2 < rows ? 2 * row_step : 0),
                                 r0 + (4 * i + 3 < rows ? 3 * row_step : 0));
    }
    STEPC_ADD_TERM(0)
    STEPC_ADD_TERM(1)
    STEPC_ADD_TERM(2)
    STEPC_ADD_TERM(3)
}

/* sum = or += the terms of one sum each. Their number need not be a multiple of four, if others lie in front of
 * them. */
static STEPC_INLINE void STEPC_OF(narrow_terms_by_quads)(const int rows, const int depth, const int adds,
                                                         STEPC_OF(four_quads) (*sum)[2], const STEPC_T *restrict a,
                                                         const int row_step, const STEPC_T *restrict b,
                                                         const int b_step)
{
    STEPC_OF(four_quads) acc[STEPC_NARROW_ROWS / 4][2];
    STEPC_UNROLL
    for (int i = 0; i < STEPC_NARROW_ROWS / 4; i++)
        acc[i][0] = acc[i][1] = (STEPC_OF(four_quads)){0};
    for (int k = 0; k < depth - depth % 4; k += 4)
        STEPC_OF(four_terms_of_narrow)(rows, 0, acc, a + k, row_step, b + k * b_step, b_step);
    if (depth % 4 > 0)
        STEPC_OF(four_terms_of_narrow)(rows, 4 - depth % 4, acc, a + depth - 4, row_step, b + (depth - 4) * b_step,
            b_step);
    STEPC_UNROLL
    for (int i = 0; i < (rows + 3) / 4; i++) {
        sum[i][0] = adds ? sum[i][0] + acc[i][0] : acc[i][0];
        sum[i][1] = adds ? sum[i][1] + acc[i][1] : acc[i][1];
    }
}

/* stepc_narrow_tile() for rows of a, of at least four terms, that lie in memory as a whole. */
static STEPC_INLINE void STEPC_OF(narrow_tile_by_quads)(const int rows, const int depth, const int terms,
                                                        STEPC_T *restrict c, const int c_step,
                                                        const STEPC_T *restrict a, const int row_step,
                                                        const STEPC_T *restrict b, const int b_step)
{
    STEPC_OF(four_quads) sum[STEPC_NARROW_ROWS / 4][2];
    STEPC_OF(narrow_terms_by_quads)(rows, depth < terms ? depth : terms, 0, sum, a, row_step, b, b_step);
    for (int k = terms; k < depth; k += terms)
        STEPC_OF(narrow_terms_by_quads)(rows, depth - k < terms ? depth - k : terms, 1, sum, a + k, row_step, b + k *
            b_step, b_step);
    STEPC_UNROLL
    for (int i = 0; i < (rows + 3) / 4; i++) {
        const STEPC_OF(four_quads)
            whole[2] = {STEPC_FIRST_TWO(sum[i][0], sum[i][1]), STEPC_LAST_TWO(sum[i][0], sum[i][1])};
        STEPC_UNROLL
        for (int r = 0; r < 4; r += 2) {
            STEPC_T *const to = c + (4 * i + r) * c_step;
            if (4 * i + r + 1 < rows && c_step == 8) {
                *(STEPC_OF(four_quads_at) *)to = whole[r / 2];
            } else {
                if (4 * i + r < rows)
                    *(STEPC_OF(narrow_vec_at) *)to =
                        __builtin_shufflevector(whole[r / 2], whole[r / 2], 0, 1, 2, 3, 4, 5, 6, 7);
                if (4 * i + r + 1 < rows)
                    *(STEPC_OF(narrow_vec_at) *)(to + c_step) =
                        __builtin_shufflevector(whole[r / 2], whole[r / 2], 8, 9, 10, 11, 12, 13, 14, 15);
            }
        }
    }
}
#endif

/* c[rows, columns] = a[rows,depth] * b[depth,columns], `terms` products in a sum, c_step from row to row.
 * STEPC_NARROW_LANES are stored of every row, in the order of the rows. */
static STEPC_INLINE void STEPC_OF(narrow_tile)(const int rows, const int columns, const int depth, const int terms,
                                               STEPC_T *restrict c, const int c_step, const STEPC_T *restrict a,
                                               const int row_step, const int depth_step, const STEPC_T *restrict b,
                                               const int b_step, const int with_sums, STEPC_T *restrict sums)
{
    STEPC_T acc[STEPC_NARROW_ROWS * STEPC_NARROW_LANES(STEPC_T)];
    (void)columns;
#if defined(STEPC_NARROW_QUADS)
    if (STEPC_NARROW_QUADS(STEPC_T) && depth_step == 1 && depth >= 4 && terms >= 4 && !with_sums) {
        STEPC_OF(narrow_tile_by_quads)(rows, depth, terms, c, c_step, a, row_step, b, b_step);
        return;
    }
#endif
    if (depth > terms && (depth + terms - 1) / terms * rows <= STEPC_NARROW_ROWS) {
        STEPC_OF(narrow_terms_at_once)(rows, depth, terms, c, c_step, a, row_step, depth_step, b, b_step, with_sums,
            sums);
        return;
    }
    STEPC_OF(narrow_terms)(rows, depth < terms ? depth : terms, 0, acc, a, row_step, depth_step, b, b_step, with_sums,
        sums);
    for (int k = terms; k < depth; k += terms)
        STEPC_OF(narrow_terms)(rows, depth - k < terms ? depth - k : terms, 1, acc, a + k * depth_step, row_step,
            depth_step, b + k * b_step, b_step, with_sums, sums);
    STEPC_UNROLL
    for (int i = 0; i < rows; i++)
        *(STEPC_OF(narrow_vec_at) *)(c + i * c_step) =
            *(const STEPC_OF(narrow_vec_at) *)(acc + i * STEPC_NARROW_LANES(STEPC_T));
}

#else

/* The same with the tile of wider products. */
static STEPC_INLINE void STEPC_OF(narrow_tile)(const int rows, const int columns, const int depth, const int terms,
                                               STEPC_T *restrict c, const int c_step, const STEPC_T *restrict a,
                                               const int row_step, const int depth_step, const STEPC_T *restrict b,
                                               const int b_step, const int with_sums, STEPC_T *restrict sums)
{
    STEPC_T acc[STEPC_TILE_ROWS * STEPC_TILE_COLUMNS(STEPC_T)];
    STEPC_OF(tile)(rows, 1, depth, terms, STEPC_TILE_SETS, acc, a, row_step, depth_step, b, b_step);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns && j < STEPC_NARROW_LANES(STEPC_T); j++)
            c[i * c_step + j] = acc[i * STEPC_TILE_COLUMNS(STEPC_T) + j];
    }
    for (int k = 0; with_sums && k < depth; k++) {
        for (int i = 0; i < rows; i++)
            sums[i] += a[i * row_step + k * depth_step];
    }
}

#endif
