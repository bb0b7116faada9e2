/* --blas: large matrix products call a BLAS (runtime/blas/). What was fused into their end runs after the call, over
 * the sums. */
#ifndef STEPC_FUSE_BLAS_H
#define STEPC_FUSE_BLAS_H

#include "lower/kernel.h"

/* After fusion, before kernels are cut into shares. */
void blas_kernels(struct lowered *l);

#endif
