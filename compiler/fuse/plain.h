/* --optimize size: matrix products as plain loops (templates/product_plain.c), with the same bits: a third of the
 * code, no work memory, three to thirty times slower. */
#ifndef STEPC_FUSE_PLAIN_H
#define STEPC_FUSE_PLAIN_H

#include "lower/kernel.h"

/* After fusion, before kernels are cut into shares. */
void plain_kernels(struct lowered *l);

#endif
