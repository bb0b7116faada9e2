/* SPDX-License-Identifier: 0BSD */
/* Products of a matrix and a vector: out[ROWS] = finish(matrix[ROWS,K] * vector[K]), each sum as in product.c, TERMS at
 * a time. Tiles would fill one lane of a vector only, and packing would cost as much as the product. The matrix is read
 * once, in the order of memory. What changes it in place afterwards, as the update of weights does after the gradient
 * of a layer's input for one sample, can be done on the way (update), while its elements are near. So `matrix` is no
 * restrict pointer but in functions that do not. */
#include "kernels/stepc_column_sums.h"
#include "kernels/stepc_registers.h"
#include "kernels/stepc_row_sums.h"
#include "template.h"

enum HOLE {
    ROWS = 13,
    K = 7,
    TERMS = 3,
    ROW_STEP = 7,
    COL_STEP = 1, /* element (i,k) of the matrix is at i * ROW_STEP + k * COL_STEP */
    VECTOR_STEP = 1,
    BLOCK = 8,   /* rows at a time. Those side by side (ROW_STEP is 1): 64, whose sums are in registers, or more, whose
                    sums are in `waiting`; rows of which each lies in memory as a whole (COL_STEP is 1): 32 or 16, or
                    STEPC_FAR_ROWS if FETCH; else 8 */
    SWAPPED = 0, /* 1: the result is a row of one, element (0,i) */
    SHARES = 1,  /* the rows are cut into so many */
    FETCH = 1,   /* the matrix is in no near cache: ask for it ahead. Whole rows: ROW_STEP is K */
    WITH_UPDATE = 1
};
typedef float T HOLE;

static T out[ROWS]; /* sample */
static inline void HOLE finish(int i, int j, T sum)
{
    out[i + j] = sum;
}
static T *matrix_of_sample;
static inline void HOLE update(int i, int k) /* element (i,k) of the matrix has been read */
{
    matrix_of_sample[i * ROW_STEP + k * COL_STEP] += (T)4096;
}
static int share_of_sample;
static inline int HOLE share(void) /* which share of SHARES */
{
    return share_of_sample;
}

static STEPC_INLINE void update_element(const int i, const int k)
{
    update(i, k);
}

/* The elements (i .., k ..), in the order of memory. */
static STEPC_INLINE void update_elements(const int rows, const int terms, const int i, const int k)
{
    if (ROW_STEP == 1) {
        for (int l = k; l < k + terms; l++) {
            STEPC_LANE_LOOP
            for (int r = i; r < i + rows; r++)
                update_element(r, l);
        }
    } else {
        for (int r = i; r < i + rows; r++) {
            STEPC_LANE_LOOP
            for (int l = k; l < k + terms; l++)
                update_element(r, l);
        }
    }
}

/* Rows side by side: `count` of them, from row i on. */
static STEPC_INLINE void adjacent_rows(const int count, const int i, const T *from, const T *restrict factor)
{
    T sum[ROWS < 64 ? ROWS : 64] = {(T)0};
    for (int k = 0; k < K - K % TERMS; k += TERMS) {
        stepc_columns_times_vector(count, TERMS, K > TERMS, sum, from + i + k * COL_STEP, COL_STEP,
                                   factor + k * VECTOR_STEP, VECTOR_STEP);
        if (WITH_UPDATE)
            update_elements(count, TERMS, i, k);
    }
    if (K % TERMS > 0) {
        stepc_columns_times_vector(count, K % TERMS, K > TERMS, sum, from + i + (K - K % TERMS) * COL_STEP, COL_STEP,
                                   factor + (K - K % TERMS) * VECTOR_STEP, VECTOR_STEP);
        if (WITH_UPDATE)
            update_elements(count, K % TERMS, i, K - K % TERMS);
    }
    for (int r = 0; r < count; r++) {
        const T v = sum[r];
        if (SWAPPED)
            finish(0, i + r, v);
        else
            finish(i + r, 0, v);
    }
}

/* Up to eight terms k .. of row i + r. */
static STEPC_INLINE void few_terms_of_row(const int terms, const int r, const int i, const int k, const T *from,
                                          const T *restrict factor, T *restrict waiting)
{
    const T *const f = factor + k * VECTOR_STEP, *const column = from + i + k * COL_STEP;
    T sum = waiting[r] + column[r] * f[0];
    if (terms > 1)
        sum += column[r + COL_STEP] * f[VECTOR_STEP];
    if (terms > 2)
        sum += column[r + 2 * COL_STEP] * f[2 * VECTOR_STEP];
    if (terms > 3)
        sum += column[r + 3 * COL_STEP] * f[3 * VECTOR_STEP];
    if (terms > 4)
        sum += column[r + 4 * COL_STEP] * f[4 * VECTOR_STEP];
    if (terms > 5)
        sum += column[r + 5 * COL_STEP] * f[5 * VECTOR_STEP];
    if (terms > 6)
        sum += column[r + 6 * COL_STEP] * f[6 * VECTOR_STEP];
    if (terms > 7)
        sum += column[r + 7 * COL_STEP] * f[7 * VECTOR_STEP];
    waiting[r] = sum;
    if (WITH_UPDATE) {
        update_element(i + r, k);
        if (terms > 1)
            update_element(i + r, k + 1);
        if (terms > 2)
            update_element(i + r, k + 2);
        if (terms > 3)
            update_element(i + r, k + 3);
        if (terms > 4)
            update_element(i + r, k + 4);
        if (terms > 5)
            update_element(i + r, k + 5);
        if (terms > 6)
            update_element(i + r, k + 6);
        if (terms > 7)
            update_element(i + r, k + 7);
    }
}

/* The same of `count` rows side by side: whole vectors, then half a one and what is left. */
static STEPC_INLINE void few_terms(const int terms, const int count, const int i, const int k, const T *from,
                                   const T *restrict factor, T *restrict waiting)
{
    STEPC_WIDE_LOOP
    for (int r = 0; r < count - count % 16; r++)
        few_terms_of_row(terms, r, i, k, from, factor, waiting);
    STEPC_SHORT_LOOP
    for (int r = count - count % 16; r < count; r++)
        few_terms_of_row(terms, r, i, k, from, factor, waiting);
}

/* The terms k .. of many rows side by side, of which the sums of earlier ones lie behind. */
static STEPC_INLINE void waiting_terms(const int count, const int terms, const int i, const int k, const T *from,
                                       const T *restrict factor, T *restrict waiting)
{
    STEPC_LANE_LOOP
    for (int r = 0; r < count; r++)
        waiting[r] = (T)0;
    const int some = WITH_UPDATE ? STEPC_UPDATED_AT_ONCE(count, K) : 8;
    for (int l = 0; l < terms - terms % some; l += some) {
        few_terms(some, count, i, k + l, from, factor, waiting);
        STEPC_ONE_ITERATION();
    }
    if (terms % some > 0)
        few_terms(terms % some, count, i, k + terms - terms % some, from, factor, waiting);
    if (TERMS < K) {
        STEPC_LANE_LOOP
        for (int r = 0; r < count; r++)
            waiting[BLOCK + r] += waiting[r];
    }
}

/* Many rows side by side: their sums wait in memory, so that the matrix is walked column by column. */
static STEPC_INLINE void waiting_rows(const int count, const int i, const T *from, const T *restrict factor,
                                      T *restrict waiting)
{
    if (TERMS < K) {
        STEPC_LANE_LOOP
        for (int r = 0; r < count; r++)
            waiting[BLOCK + r] = (T)0;
    }
    for (int k = 0; k < K - K % TERMS; k += TERMS)
        waiting_terms(count, TERMS, i, k, from, factor, waiting);
    if (K % TERMS > 0)
        waiting_terms(count, K % TERMS, i, K - K % TERMS, from, factor, waiting);
    STEPC_LANE_LOOP
    for (int r = 0; r < count; r++) {
        const T v = waiting[TERMS < K ? BLOCK + r : r];
        if (SWAPPED)
            finish(0, i + r, v);
        else
            finish(i + r, 0, v);
    }
}

/* The terms first .. of rows that lie apart, eight sums at a time, which do not wait for each other. Rows that do not
 * exist repeat the first one. */
static STEPC_INLINE void distant_terms(const int rows, const int terms, const int first, const T *restrict row,
                                       const T *restrict factor, T *restrict sum)
{
    const T *const r1 = row + (rows > 1 ? ROW_STEP : 0), *const r2 = row + (rows > 2 ? 2 * ROW_STEP : 0);
    const T *const r3 = row + (rows > 3 ? 3 * ROW_STEP : 0), *const r4 = row + (rows > 4 ? 4 * ROW_STEP : 0);
    const T *const r5 = row + (rows > 5 ? 5 * ROW_STEP : 0), *const r6 = row + (rows > 6 ? 6 * ROW_STEP : 0);
    const T *const r7 = row + (rows > 7 ? 7 * ROW_STEP : 0);
    T s0 = (T)0, s1 = (T)0, s2 = (T)0, s3 = (T)0, s4 = (T)0, s5 = (T)0, s6 = (T)0, s7 = (T)0;
    for (int k = first; k < first + terms; k++) {
        const T f = factor[k * VECTOR_STEP];
        s0 += row[k * COL_STEP] * f;
        s1 += r1[k * COL_STEP] * f;
        s2 += r2[k * COL_STEP] * f;
        s3 += r3[k * COL_STEP] * f;
        s4 += r4[k * COL_STEP] * f;
        s5 += r5[k * COL_STEP] * f;
        s6 += r6[k * COL_STEP] * f;
        s7 += r7[k * COL_STEP] * f;
    }
    sum[0] += s0;
    sum[1] += s1;
    sum[2] += s2;
    sum[3] += s3;
    sum[4] += s4;
    sum[5] += s5;
    sum[6] += s6;
    sum[7] += s7;
}

static STEPC_INLINE void distant_rows(const int rows, const int i, const T *from, const T *restrict factor)
{
    T sum[8] = {(T)0};
    for (int k = 0; k < K - K % TERMS; k += TERMS) {
        distant_terms(rows, TERMS, k, from + i * ROW_STEP, factor, sum);
        if (WITH_UPDATE)
            update_elements(rows, TERMS, i, k);
    }
    if (K % TERMS > 0) {
        distant_terms(rows, K % TERMS, K - K % TERMS, from + i * ROW_STEP, factor, sum);
        if (WITH_UPDATE)
            update_elements(rows, K % TERMS, i, K - K % TERMS);
    }
    for (int r = 0; r < rows; r++) {
        const T v = sum[r];
        if (SWAPPED)
            finish(0, i + r, v);
        else
            finish(i + r, 0, v);
    }
}

static STEPC_INLINE void finish_whole_rows(const int rows, const int i, const T *restrict sum)
{
    STEPC_SHORT_LOOP
    for (int r = 0; r < rows; r++) {
        const T v = sum[r];
        if (SWAPPED)
            finish(0, i + r, v);
        else
            finish(i + r, 0, v);
    }
}

/* Rows of which each lies in memory as a whole. */
static STEPC_INLINE void whole_rows(const int rows, const int i, const T *from, const T *restrict factor)
{
    T sum[BLOCK] = {(T)0};
    if (FETCH && K >= 2 * TERMS) {
        /* the last ones: once more */
        const T *const ahead = i >= BLOCK ? from + (i - BLOCK) * ROW_STEP : from + i * ROW_STEP;
        for (int k = 0; k <= K - 2 * TERMS; k += 2 * TERMS) {
            stepc_far_rows_times_vector(rows, TERMS, ahead + k * rows, sum, from + i * ROW_STEP + k, ROW_STEP,
                                        factor + k * VECTOR_STEP, VECTOR_STEP);
            if (WITH_UPDATE)
                update_elements(rows, 2 * TERMS, i, k);
        }
    }
    for (int k = FETCH ? K - K % (2 * TERMS) : 0; k < K - K % TERMS; k += TERMS) {
        stepc_rows_times_vector(rows, TERMS, K > TERMS, sum, from + i * ROW_STEP + k, ROW_STEP,
                                factor + k * VECTOR_STEP, VECTOR_STEP);
        if (WITH_UPDATE)
            update_elements(rows, TERMS, i, k);
    }
    if (K % TERMS > 0) {
        stepc_rows_times_vector(rows, K % TERMS, K > TERMS, sum, from + i * ROW_STEP + (K - K % TERMS), ROW_STEP,
                                factor + (K - K % TERMS) * VECTOR_STEP, VECTOR_STEP);
        if (WITH_UPDATE)
            update_elements(rows, K % TERMS, i, K - K % TERMS);
    }
    for (int r = 0; r < rows - rows % STEPC_SUMS_READ; r += STEPC_SUMS_READ)
        finish_whole_rows(STEPC_SUMS_READ, i + r, sum + r);
    if (rows % STEPC_SUMS_READ > 0)
        finish_whole_rows(rows % STEPC_SUMS_READ, i + rows - rows % STEPC_SUMS_READ,
                          sum + (rows - rows % STEPC_SUMS_READ));
}

/* Rows that are in no near cache, from the last to the first. */
/* Why: kernels that update the matrix or read it column by column, and so come before or after, walk it forwards, and
 * find near what was read last (2048 x 2048 of 16 MB: such an update takes 0.33 instead of 0.42 ms). */
static STEPC_INLINE void far_rows(const T *from, const T *restrict factor)
{
    const int first = SHARES > 1 ? ROWS / BLOCK * share() / SHARES * BLOCK : 0;
    const int end = SHARES > 1 ? ROWS / BLOCK * (share() + 1) / SHARES * BLOCK : ROWS - ROWS % BLOCK;
    if (ROWS % BLOCK > 0) {
        if (SHARES > 1) {
            if (share() == SHARES - 1)
                whole_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, from, factor);
        } else {
            whole_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, from, factor);
        }
    }
    for (int i = end - BLOCK; i >= first; i -= BLOCK)
        whole_rows(BLOCK, i, from, factor);
}

KERNEL static void matrix_vector(const T *matrix, const T *restrict vector, T *restrict waiting)
{
    if (ROW_STEP == 1 && BLOCK > 64) {
        if (ROWS >= BLOCK) {
            for (int i = SHARES > 1 ? ROWS / BLOCK * share() / SHARES * BLOCK : 0;
                 SHARES > 1 ? i < ROWS / BLOCK * (share() + 1) / SHARES * BLOCK : i < ROWS - ROWS % BLOCK; i += BLOCK)
                waiting_rows(BLOCK, i, matrix, vector, waiting);
        }
        if (ROWS % BLOCK > 0) {
            if (SHARES > 1) {
                if (share() == SHARES - 1)
                    waiting_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, matrix, vector, waiting);
            } else {
                waiting_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, matrix, vector, waiting);
            }
        }
    } else if (ROW_STEP == 1) {
        if (ROWS >= BLOCK) {
            for (int i = SHARES > 1 ? ROWS / BLOCK * share() / SHARES * BLOCK : 0;
                 SHARES > 1 ? i < ROWS / BLOCK * (share() + 1) / SHARES * BLOCK : i < ROWS - ROWS % BLOCK; i += BLOCK)
                adjacent_rows(BLOCK, i, matrix, vector);
        }
        if (ROWS % BLOCK > 0) {
            if (SHARES > 1) {
                if (share() == SHARES - 1)
                    adjacent_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, matrix, vector);
            } else {
                adjacent_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, matrix, vector);
            }
        }
    } else if (COL_STEP == 1 && FETCH) {
        far_rows(matrix, vector);
    } else if (COL_STEP == 1) {
        if (ROWS >= BLOCK) {
            for (int i = SHARES > 1 ? ROWS / BLOCK * share() / SHARES * BLOCK : 0;
                 SHARES > 1 ? i < ROWS / BLOCK * (share() + 1) / SHARES * BLOCK : i < ROWS - ROWS % BLOCK; i += BLOCK)
                whole_rows(BLOCK, i, matrix, vector);
        }
        if (ROWS % BLOCK > 0) {
            if (SHARES > 1) {
                if (share() == SHARES - 1)
                    whole_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, matrix, vector);
            } else {
                whole_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, matrix, vector);
            }
        }
    } else {
        if (ROWS >= BLOCK) {
            for (int i = SHARES > 1 ? ROWS / BLOCK * share() / SHARES * BLOCK : 0;
                 SHARES > 1 ? i < ROWS / BLOCK * (share() + 1) / SHARES * BLOCK : i < ROWS - ROWS % BLOCK; i += BLOCK)
                distant_rows(BLOCK, i, matrix, vector);
        }
        if (ROWS % BLOCK > 0) {
            if (SHARES > 1) {
                if (share() == SHARES - 1)
                    distant_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, matrix, vector);
            } else {
                distant_rows(ROWS % BLOCK, ROWS - ROWS % BLOCK, matrix, vector);
            }
        }
    }
}
