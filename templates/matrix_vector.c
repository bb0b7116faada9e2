/* SPDX-License-Identifier: 0BSD */
/* Products of a matrix and a vector: out[ROWS] = finish(matrix[ROWS,K] * vector[K]), each sum in index order from zero. Tiles
 * would fill one lane of a vector only, and packing would cost as much as the product. */
#include "registers.h"
#include "template.h"

enum HOLE {
    ROWS = 13, K = 7,
    ROW_STEP = 7, COL_STEP = 1, /* element (i,k) of the matrix is at i * ROW_STEP + k * COL_STEP */
    VECTOR_STEP = 1,
    SWAPPED = 0 /* 1: the result is a row of one, element (0,i) */
};
typedef float T HOLE;

static T out[ROWS]; /* sample */
static inline void HOLE finish(int i, int j, T sum)
{
    out[i + j] = sum;
}

/* Rows side by side: `count` of them, from row i on. */
static STEPC_INLINE void adjacent_rows(const int count, const int i, const T *restrict from, const T *restrict factor)
{
    T sum[ROWS < 64 ? ROWS : 64] = {(T)0};
    for (int k = 0; k < K; k++) {
        const T f = factor[k * VECTOR_STEP];
        STEPC_LANE_LOOP
        for (int r = 0; r < count; r++)
            sum[r] += from[i + r + k * COL_STEP] * f;
    }
    for (int r = 0; r < count; r++) {
        const T v = sum[r];
        if (SWAPPED)
            finish(0, i + r, v);
        else
            finish(i + r, 0, v);
    }
}

/* Eight sums hide the latency of one. Rows that do not exist repeat the first one. */
static STEPC_INLINE void distant_rows(const int rows, const int i, const T *restrict from, const T *restrict factor)
{
    const T *const row = from + i * ROW_STEP;
    const T *const r1 = row + (rows > 1 ? ROW_STEP : 0), *const r2 = row + (rows > 2 ? 2 * ROW_STEP : 0);
    const T *const r3 = row + (rows > 3 ? 3 * ROW_STEP : 0), *const r4 = row + (rows > 4 ? 4 * ROW_STEP : 0);
    const T *const r5 = row + (rows > 5 ? 5 * ROW_STEP : 0), *const r6 = row + (rows > 6 ? 6 * ROW_STEP : 0);
    const T *const r7 = row + (rows > 7 ? 7 * ROW_STEP : 0);
    T s0 = (T)0, s1 = (T)0, s2 = (T)0, s3 = (T)0, s4 = (T)0, s5 = (T)0, s6 = (T)0, s7 = (T)0;
    T sum[8];
    for (int k = 0; k < K; k++) {
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
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3, sum[4] = s4, sum[5] = s5, sum[6] = s6, sum[7] = s7;
    for (int r = 0; r < rows; r++) {
        const T v = sum[r];
        if (SWAPPED)
            finish(0, i + r, v);
        else
            finish(i + r, 0, v);
    }
}

KERNEL static void matrix_vector(const T *restrict matrix, const T *restrict vector)
{
    if (ROW_STEP == 1) {
        if (ROWS >= 64) {
            for (int i = 0; i < ROWS - ROWS % 64; i += 64)
                adjacent_rows(64, i, matrix, vector);
        }
        if (ROWS % 64 > 0)
            adjacent_rows(ROWS % 64, ROWS - ROWS % 64, matrix, vector);
    } else {
        if (ROWS >= 8) {
            for (int i = 0; i < ROWS - ROWS % 8; i += 8)
                distant_rows(8, i, matrix, vector);
        }
        if (ROWS % 8 > 0)
            distant_rows(ROWS % 8, ROWS - ROWS % 8, matrix, vector);
    }
}
