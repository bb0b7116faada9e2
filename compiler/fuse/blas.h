/* --blas: large matrix products call a BLAS (runtime/blas/). What was fused into their end runs after the call, over
 * the sums. */
#ifndef STEPC_FUSE_BLAS_H
#define STEPC_FUSE_BLAS_H

#include "lower/kernel.h"

/* Does a call cost next to nothing beside a product of M x N sums of so many terms? */
bool blas_is_worth_a_call(int64_t m, int64_t n, int64_t depth);

/* After fusion, before kernels are cut into shares. */
void blas_kernels(struct lowered *l);

#endif
