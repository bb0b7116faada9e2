/* SPDX-License-Identifier: 0BSD */
/* What stepc_row_sums.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2

/* *sum += four terms of up to STEPC_FOURS_LANES rows, each in index order; rows that do not exist repeat the first one.
 * alone: few other sums are computed at the same time. */
static STEPC_INLINE void STEPC_OF(four_terms)(STEPC_OF(fours) * sum, const int alone, const int rows,
                                              const STEPC_T *restrict row, const int row_step,
                                              const STEPC_T *restrict factor, const int factor_step)
{
    const STEPC_T *const r1 = row + (rows > 1 ? row_step : 0), *const r2 = row + (rows > 2 ? 2 * row_step : 0);
    const STEPC_T *const r3 = row + (rows > 3 ? 3 * row_step : 0);
    STEPC_OF(fours)
    v[4] = {STEPC_FOUR_OF_ROW(row, row + (rows > 4 ? 4 * row_step : 0)),
            STEPC_FOUR_OF_ROW(r1, row + (rows > 5 ? 5 * row_step : 0)),
            STEPC_FOUR_OF_ROW(r2, row + (rows > 6 ? 6 * row_step : 0)),
            STEPC_FOUR_OF_ROW(r3, row + (rows > 7 ? 7 * row_step : 0))};
    STEPC_OF(fours) acc = *sum;
    STEPC_OF(transpose_fours)(v);
    STEPC_UNROLL
    for (int t = 0; t < 4; t++) {
        if (alone)
            STEPC_ADD_PRODUCT(acc, v[t], factor[t * factor_step]);
        else
            acc += v[t] * factor[t * factor_step];
    }
    *sum = acc;
}

/* So many rows have four vectors of sums, which do not wait for each other. */
#define STEPC_ROWS_AT_ONCE (4 * STEPC_FOURS_LANES)

/* part += the last depth % 4 terms of each row, and sum += part. */
static STEPC_INLINE void STEPC_OF(add_with_last_terms)(const int rows, const int depth, STEPC_T *restrict sum,
                                                       STEPC_T *restrict part, const STEPC_T *restrict row,
                                                       const int row_step, const STEPC_T *restrict factor,
                                                       const int factor_step)
{
    for (int k = depth - depth % 4; k < depth; k++) {
        for (int r = 0; r < rows; r++)
            part[r] += row[r * row_step + k] * factor[k * factor_step];
    }
    for (int r = 0; r < rows; r++)
        sum[r] += part[r];
}

/* rows_times_vector for up to STEPC_ROWS_AT_ONCE rows; `sum` has room for whole vectors. */
static STEPC_INLINE void STEPC_OF(few_rows_times_vector)(const int rows, const int depth, const int goes_on,
                                                         STEPC_T *restrict sum, const STEPC_T *restrict row,
                                                         const int row_step, const STEPC_T *restrict factor,
                                                         const int factor_step)
{
    STEPC_OF(fours) acc[4];
    STEPC_UNROLL
    for (int q = 0; q < 4; q++)
        acc[q] = (STEPC_OF(fours)){0};
    for (int k = 0; k < depth - depth % 4; k += 4) {
        STEPC_UNROLL
        for (int q = 0; q < (rows + STEPC_FOURS_LANES - 1) / STEPC_FOURS_LANES; q++)
            STEPC_OF(four_terms)(&acc[q], rows <= 2 * STEPC_FOURS_LANES, rows - STEPC_FOURS_LANES * q, row +
                STEPC_FOURS_LANES * q * row_step + k, row_step, factor + k * factor_step, factor_step);
    }
    if (depth % 4 == 0) {
        STEPC_UNROLL
        for (int q = 0; q < (rows + STEPC_FOURS_LANES - 1) / STEPC_FOURS_LANES; q++) {
            if (goes_on)
                acc[q] += *(const STEPC_OF(fours_at) *)(sum + STEPC_FOURS_LANES * q);
            *(STEPC_OF(fours_at) *)(sum + STEPC_FOURS_LANES * q) = acc[q];
        }
    } else {
        STEPC_T part[STEPC_ROWS_AT_ONCE];
        STEPC_UNROLL
        for (int q = 0; q < 4; q++)
            *(STEPC_OF(fours_at) *)(part + STEPC_FOURS_LANES * q) = acc[q];
        STEPC_OF(add_with_last_terms)(rows, depth, sum, part, row, row_step, factor, factor_step);
    }
}

/* sum[i] += row i[depth] * factor[depth], a sum that starts from zero and is added in index order; `sum` has room for a
 * multiple of eight. goes_on: it does not hold zeros only. Rows are transposed in registers, in blocks of 4 x 4. */
/* Why: 2048 x 2048 takes half of the time that eight scalar sums take, and a quarter where the matrix is in a near
 * cache. */
static STEPC_INLINE void STEPC_OF(rows_times_vector)(const int rows, const int depth, const int goes_on,
                                                     STEPC_T *restrict sum, const STEPC_T *restrict row,
                                                     const int row_step, const STEPC_T *restrict factor,
                                                     const int factor_step)
{
    STEPC_UNROLL
    for (int i = 0; i < rows; i += STEPC_ROWS_AT_ONCE)
        STEPC_OF(few_rows_times_vector)(rows - i < STEPC_ROWS_AT_ONCE ? rows - i : STEPC_ROWS_AT_ONCE, depth, goes_on,
            sum + i, row + i * row_step, row_step, factor, factor_step);
}

/* sum[i] += row i[depth] * factor[depth], then the same of the next `depth` elements, for up to STEPC_FAR_ROWS rows
 * that lie in no near cache. Meanwhile as many elements from `ahead` on are asked for. */
/* Why: the two sums hide each other's latency. More rows at a time would come from as many places, all of one set of a
 * cache where they are a multiple of 4 KB apart, and only memory that is asked for in its order arrives at full speed.
 * 2048 x 2048 of 16 MB: 0.27 instead of 0.40 ms. */
static STEPC_INLINE void STEPC_OF(far_rows_times_vector)(const int rows, const int depth, const STEPC_T *ahead,
                                                         STEPC_T *restrict sum, const STEPC_T *restrict row,
                                                         const int row_step, const STEPC_T *restrict factor,
                                                         const int factor_step)
{
    enum { QUARTERS = STEPC_FAR_ROWS / STEPC_FOURS_LANES };
    STEPC_OF(fours) acc[2][QUARTERS];
    STEPC_UNROLL
    for (int q = 0; q < QUARTERS; q++)
        acc[0][q] = acc[1][q] = (STEPC_OF(fours)){0};
    for (int k = 0; k < depth - depth % 4; k += 4) {
        STEPC_UNROLL
        for (int l = 0; l < 2 * 4 * rows; l += 64 / (int)sizeof(STEPC_T))
            STEPC_AHEAD(ahead + 2 * k * rows + l);
        STEPC_UNROLL
        for (int q = 0; q < (rows + STEPC_FOURS_LANES - 1) / STEPC_FOURS_LANES; q++) {
            const STEPC_T *const first = row + STEPC_FOURS_LANES * q * row_step + k;
            STEPC_OF(four_terms)(&acc[0][q], 0, rows - STEPC_FOURS_LANES * q, first, row_step, factor + k * factor_step,
                factor_step);
            STEPC_OF(four_terms)(&acc[1][q], 0, rows - STEPC_FOURS_LANES * q, first + depth, row_step, factor + (depth +
                k) * factor_step, factor_step);
        }
    }
    for (int half = 0; half < 2; half++) {
        STEPC_T part[STEPC_FAR_ROWS];
        STEPC_UNROLL
        for (int q = 0; q < QUARTERS; q++)
            *(STEPC_OF(fours_at) *)(part + STEPC_FOURS_LANES * q) = acc[half][q];
        STEPC_OF(add_with_last_terms)(rows, depth, sum, part, row + half * depth, row_step, factor + half * depth *
            factor_step, factor_step);
    }
}

#else
/* The same with eight sums at a time, which do not wait for each other. */
static STEPC_INLINE void STEPC_OF(rows_times_vector)(const int rows, const int depth, const int goes_on,
                                                     STEPC_T *restrict sum, const STEPC_T *restrict row,
                                                     const int row_step, const STEPC_T *restrict factor,
                                                     const int factor_step)
{
    (void)goes_on;
    for (int i = 0; i < rows; i += 8) {
        const STEPC_T *const r0 = row + i * row_step;
        const STEPC_T *const r1 = r0 + (rows > i + 1 ? row_step : 0), *const r2 =
                                                                          r0 + (rows > i + 2 ? 2 * row_step : 0);
        const STEPC_T *const r3 = r0 + (rows > i + 3 ? 3 * row_step : 0), *const r4 =
                                                                              r0 + (rows > i + 4 ? 4 * row_step : 0);
        const STEPC_T *const r5 = r0 + (rows > i + 5 ? 5 * row_step : 0), *const r6 =
                                                                              r0 + (rows > i + 6 ? 6 * row_step : 0);
        const STEPC_T *const r7 = r0 + (rows > i + 7 ? 7 * row_step : 0);
        STEPC_T s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
        for (int k = 0; k < depth; k++) {
            const STEPC_T f = factor[k * factor_step];
            s0 += r0[k] * f;
            s1 += r1[k] * f;
            s2 += r2[k] * f;
            s3 += r3[k] * f;
            s4 += r4[k] * f;
            s5 += r5[k] * f;
            s6 += r6[k] * f;
            s7 += r7[k] * f;
        }
        sum[i] += s0, sum[i + 1] += s1, sum[i + 2] += s2, sum[i + 3] += s3;
        sum[i + 4] += s4, sum[i + 5] += s5, sum[i + 6] += s6, sum[i + 7] += s7;
    }
}

static STEPC_INLINE void STEPC_OF(far_rows_times_vector)(const int rows, const int depth, const STEPC_T *ahead,
                                                         STEPC_T *restrict sum, const STEPC_T *restrict row,
                                                         const int row_step, const STEPC_T *restrict factor,
                                                         const int factor_step)
{
    (void)ahead;
    STEPC_OF(rows_times_vector)(rows, depth, 1, sum, row, row_step, factor, factor_step);
    STEPC_OF(rows_times_vector)(rows, depth, 1, sum, row + depth, row_step, factor + depth * factor_step, factor_step);
}

#endif
