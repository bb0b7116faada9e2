/* Cuts large kernels into shares, which threads may compute side by side: each writes other outputs, and no sum is
 * cut, so that the bits do not depend on how many threads there are. Each share gets scratch of its own. */
#ifndef STEPC_FUSE_SHARE_H
#define STEPC_FUSE_SHARE_H

#include "lower/kernel.h"

/* Is there enough to do in the kernel? */
bool share_is_worth(const struct kernel *k, const struct target *t);

/* After fusion. 1: nothing is cut. */
void share_kernels(struct lowered *l, int shares);

#endif
