/* SPDX-License-Identifier: 0BSD */
/* The shares of a large kernel write different elements: with -fopenmp threads run them side by side, as many as
 * OMP_NUM_THREADS allows; the results are the same bits. STEPC_SHARES(n) stands before the loop over n of them. */
#ifndef STEPC_KERNELS_SHARES_H
#define STEPC_KERNELS_SHARES_H

#if defined(_OPENMP)
#include <omp.h>
#define STEPC_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define STEPC_SHARES(n)                                                                                                \
    STEPC_PRAGMA(omp parallel for schedule(static)                                                                     \
                     num_threads(omp_get_max_threads() < n ? omp_get_max_threads() : n))
#else
#define STEPC_SHARES(n)
#endif

#endif
