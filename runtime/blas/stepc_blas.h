/* SPDX-License-Identifier: 0BSD */
/* stepc_blas.h: matrix products by a BLAS, for programs made with `stepc compile --blas`. Only those need it;
 * stepc_blas.c beside it is compiled and linked with a library that has the C interface of BLAS, such as OpenBLAS. */
#ifndef STEPC_BLAS_H
#define STEPC_BLAS_H

#ifdef __cplusplus
extern "C" {
#endif

/* c[m,n] = a[m,k] * b[k,n]. Element (i,j) of a is at a[i * a_row + j * a_col], of which one step is 1, and the other at
 * least the length of what it steps over; b likewise. Rows of c are c_row elements apart. The order in which terms are
 * added is the library's, and so is the number of threads. */
void stepc_blas_float(int m, int n, int k, const float *a, int a_row, int a_col, const float *b, int b_row,
                      int b_col, float *c, int c_row);
void stepc_blas_double(int m, int n, int k, const double *a, int a_row, int a_col, const double *b, int b_row,
                       int b_col, double *c, int c_row);

#ifdef __cplusplus
}
#endif

#endif
