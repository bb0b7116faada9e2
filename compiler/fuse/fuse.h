/* Fusion: fewer, larger kernels. Producers go into the loads of their reader, consumers into the finishing
 * statements of reductions and templates, siblings together; what nobody reads any more is not stored.
 *
 * Needs the legal order that lowering leaves, and leaves one. Never changes arithmetic: the same operations on the
 * same values in the same order.
 *
 *   kernel product: t[i,j] = result              kernel product_relu:
 *   kernel relu:    h[i,j] = max(t[i,j], 0)  ->    h[i,j] = max(result, 0) */
#ifndef STEPC_FUSE_FUSE_H
#define STEPC_FUSE_FUSE_H

#include "lower/kernel.h"

/* plain: products become plain loops afterwards (fuse/plain.h), in which nothing else has a place. */
void fuse_entry(struct lowered *l, bool plain);

#endif
