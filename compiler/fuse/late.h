/* Sizes that are known late (--dim batch=1..32): which numbers of the kernels depend on the count that each call gives.
 * The program is lowered and fused for three counts, the range's highest and two beside it. What is the same in all
 * three is a constant; a size that differs is base + per * n, and a factor that differs k * n or k / n. Whatever else
 * differs is an error: nobody knows then what it is for other counts. */
#ifndef STEPC_FUSE_LATE_H
#define STEPC_FUSE_LATE_H

#include "lower/kernel.h"

/* x[i] is the number for a count of n + i * step; step is 1 or -1. False: it is no base + per * n, which is 1 or more
 * from `low` on. */
bool late_size_of(const int64_t x[3], int64_t n, int64_t step, int64_t low, struct late_size *out);

/* After fusion. Notes in probe[0], the program for range->high, what depends on the count, and gives its templates
 * forms that take it. probe[i] is for i * step more. What cannot depend on it is reported, with the node of the first
 * such kernel: others may be out of step behind it. */
bool late_kernels(struct diag *d, struct lowered *const probe[3], const struct size_range *range,
                  int64_t step) MUST_USE;

#endif
