/* SPDX-License-Identifier: 0BSD */
/* out[M,N] = finish(a[M,K] * b[K,N]) in few instructions, for --optimize size: no tiles, nothing packed, no scratch.
 * Each sum as in product.c, TERMS at a time. */
#include "template.h"

enum HOLE {
    M = 5, N = 21, K = 7, TERMS = 3,
    A_ROW = 7, A_COL = 1,  /* element (i,k) of a is at i * A_ROW + k * A_COL */
    B_ROW = 21, B_COL = 1, /* element (k,j) of b is at k * B_ROW + j * B_COL */
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

KERNEL static void product_plain(const T *restrict a, const T *restrict b)
{
    for (int i = 0; i < M; i++) {
        if (WITH_FINISH) {
            for (int j = 0; j < N; j++) {
                T sum = (T)0;
                if (TERMS < K) {
                    for (int k = 0; k < K; k += TERMS) {
                        const int end = K - k < TERMS ? K : k + TERMS;
                        T part = (T)0;
                        for (int l = k; l < end; l++)
                            part += a[i * A_ROW + l * A_COL] * b[l * B_ROW + j * B_COL];
                        sum += part;
                    }
                } else {
                    for (int k = 0; k < K; k++)
                        sum += a[i * A_ROW + k * A_COL] * b[k * B_ROW + j * B_COL];
                }
                finish(i, j, sum);
            }
        }
        if (WITH_ROW_SUM) {
            T sum = (T)0;
            for (int k = 0; k < K; k++)
                sum += a[i * A_ROW + k * A_COL];
            row_sum(i, sum);
        }
    }
}
