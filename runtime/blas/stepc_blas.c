/* SPDX-License-Identifier: 0BSD */
#include "stepc_blas.h"

#include <cblas.h>

void stepc_blas_float(int m, int n, int k, const float *a, int a_row, int a_col, const float *b, int b_row,
                      int b_col, float *c, int c_row)
{
    cblas_sgemm(CblasRowMajor, a_col == 1 ? CblasNoTrans : CblasTrans, b_col == 1 ? CblasNoTrans : CblasTrans, m, n, k,
                1.0f, a, a_col == 1 ? a_row : a_col, b, b_col == 1 ? b_row : b_col, 0.0f, c, c_row);
}

void stepc_blas_double(int m, int n, int k, const double *a, int a_row, int a_col, const double *b, int b_row,
                       int b_col, double *c, int c_row)
{
    cblas_dgemm(CblasRowMajor, a_col == 1 ? CblasNoTrans : CblasTrans, b_col == 1 ? CblasNoTrans : CblasTrans, m, n, k,
                1.0, a, a_col == 1 ? a_row : a_col, b, b_col == 1 ? b_row : b_col, 0.0, c, c_row);
}
