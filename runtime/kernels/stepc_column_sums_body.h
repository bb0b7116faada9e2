/* SPDX-License-Identifier: 0BSD */
/* What stepc_column_sums.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

#define STEPC_COLUMN_LANES(T) (STEPC_VECTOR_BYTES / (int)sizeof(T))
typedef STEPC_T STEPC_OF(column_vec) __attribute__((vector_size(STEPC_VECTOR_BYTES)));
typedef STEPC_T STEPC_OF(column_vec_at)
    __attribute__((vector_size(STEPC_VECTOR_BYTES), aligned(sizeof(STEPC_T)), may_alias));

/* Where vector q of `rows` rows begins: the last one overlaps the one before it. */
static STEPC_INLINE int STEPC_OF(column_vector)(const int rows, const int q)
{
    return STEPC_COLUMN_LANES(STEPC_T) * (q + 1) <= rows ? STEPC_COLUMN_LANES(STEPC_T) * q
                                                         : rows - STEPC_COLUMN_LANES(STEPC_T);
}

/* sum[i] += matrix(i, depth) * factor[depth], a sum that starts from zero and is added in index order; up to 64 rows,
 * in registers. Element (i,k) is column[i + k * column_step]. goes_on: `sum` does not hold zeros only. */
static STEPC_INLINE void STEPC_OF(columns_times_vector)(const int rows, const int depth, const int goes_on,
                                                        STEPC_T *restrict sum, const STEPC_T *restrict column,
                                                        const int column_step, const STEPC_T *restrict factor,
                                                        const int factor_step)
{
    if (rows >= STEPC_COLUMN_LANES(STEPC_T)) {
        STEPC_OF(column_vec) acc[64 / STEPC_COLUMN_LANES(STEPC_T)];
        STEPC_UNROLL
        for (int q = 0; q < (rows + STEPC_COLUMN_LANES(STEPC_T) - 1) / STEPC_COLUMN_LANES(STEPC_T); q++)
            acc[q] = (STEPC_OF(column_vec)){0};
        for (int k = 0; k < depth; k++) {
            STEPC_UNROLL
            for (int q = 0; q < (rows + STEPC_COLUMN_LANES(STEPC_T) - 1) / STEPC_COLUMN_LANES(STEPC_T); q++)
                STEPC_ADD_PRODUCT(
                    acc[q],
                    *(const STEPC_OF(column_vec_at) *)(column + k * column_step + STEPC_OF(column_vector)(rows, q)),
                    factor[k * factor_step]);
        }
        if (rows % STEPC_COLUMN_LANES(STEPC_T) > 0 && goes_on) /* elements of two vectors get their sum once */
            acc[rows / STEPC_COLUMN_LANES(STEPC_T)] +=
                *(const STEPC_OF(column_vec_at) *)(sum + rows - STEPC_COLUMN_LANES(STEPC_T));
        STEPC_UNROLL
        for (int q = 0; q < rows / STEPC_COLUMN_LANES(STEPC_T); q++) {
            if (goes_on)
                acc[q] += *(const STEPC_OF(column_vec_at) *)(sum + STEPC_COLUMN_LANES(STEPC_T) * q);
            *(STEPC_OF(column_vec_at) *)(sum + STEPC_COLUMN_LANES(STEPC_T) * q) = acc[q];
        }
        if (rows % STEPC_COLUMN_LANES(STEPC_T) > 0)
            *(STEPC_OF(column_vec_at) *)(sum + rows - STEPC_COLUMN_LANES(STEPC_T)) =
                acc[rows / STEPC_COLUMN_LANES(STEPC_T)];
    } else {
        STEPC_T part[STEPC_COLUMN_LANES(STEPC_T)] = {0};
        for (int k = 0; k < depth; k++) {
            for (int i = 0; i < rows; i++)
                part[i] += column[k * column_step + i] * factor[k * factor_step];
        }
        for (int i = 0; i < rows; i++)
            sum[i] += part[i];
    }
}

#elif STEPC_FORM == 1

/* The same in C99. */
static STEPC_INLINE void STEPC_OF(columns_times_vector)(const int rows, const int depth, const int goes_on,
                                                        STEPC_T *restrict sum, const STEPC_T *restrict column,
                                                        const int column_step, const STEPC_T *restrict factor,
                                                        const int factor_step)
{
    (void)goes_on;
    STEPC_T part[64] = {0};
    for (int k = 0; k < depth; k++) {
        const STEPC_T f = factor[k * factor_step];
        for (int i = 0; i < rows; i++)
            part[i] += column[k * column_step + i] * f;
    }
    for (int i = 0; i < rows; i++)
        sum[i] += part[i];
}

#else

/* Eight rows or fewer, whose sums do not wait for each other. Rows that do not exist repeat the first one. */
static STEPC_INLINE void STEPC_OF(eight_columns)(const int rows, const int depth, STEPC_T *restrict sum,
                                                 const STEPC_T *restrict column, const int column_step,
                                                 const STEPC_T *restrict factor, const int factor_step)
{
    STEPC_T s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
    for (int k = 0; k < depth; k++) {
        const STEPC_T *const c = column + k * column_step;
        const STEPC_T f = factor[k * factor_step];
        s0 += c[0] * f;
        s1 += c[rows > 1 ? 1 : 0] * f;
        s2 += c[rows > 2 ? 2 : 0] * f;
        s3 += c[rows > 3 ? 3 : 0] * f;
        s4 += c[rows > 4 ? 4 : 0] * f;
        s5 += c[rows > 5 ? 5 : 0] * f;
        s6 += c[rows > 6 ? 6 : 0] * f;
        s7 += c[rows > 7 ? 7 : 0] * f;
    }
    sum[0] += s0;
    if (rows > 1)
        sum[1] += s1;
    if (rows > 2)
        sum[2] += s2;
    if (rows > 3)
        sum[3] += s3;
    if (rows > 4)
        sum[4] += s4;
    if (rows > 5)
        sum[5] += s5;
    if (rows > 6)
        sum[6] += s6;
    if (rows > 7)
        sum[7] += s7;
}

/* The same for scalar registers. */
static STEPC_INLINE void STEPC_OF(columns_times_vector)(const int rows, const int depth, const int goes_on,
                                                        STEPC_T *restrict sum, const STEPC_T *restrict column,
                                                        const int column_step, const STEPC_T *restrict factor,
                                                        const int factor_step)
{
    (void)goes_on;
    for (int i = 0; i < rows - rows % 8; i += 8)
        STEPC_OF(eight_columns)(8, depth, sum + i, column + i, column_step, factor, factor_step);
    if (rows % 8 > 0)
        STEPC_OF(eight_columns)(rows % 8, depth, sum + rows - rows % 8, column + rows - rows % 8, column_step, factor,
            factor_step);
}

#endif
