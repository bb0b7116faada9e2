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

/* plain: products become plain loops afterwards, in which nothing else has a place. */
void fuse_entry(struct lowered *l, bool plain);

/* ---- after it, in this order ------------------------------------------------------------------------------------- */

/* --optimize size (plain.c): matrix products as plain loops (templates/product_plain.c), with the same bits: a third of
 * the code, no work memory, three to thirty times slower. */
void plain_kernels(struct lowered *l);

/* --blas (blas.c): large matrix products call a BLAS (runtime/blas/). What was fused into their end runs after the
 * call, over the sums. */
void blas_kernels(struct lowered *l);
/* Does a call cost next to nothing beside a product of M x N sums of so many terms? */
bool blas_is_worth_a_call(int64_t m, int64_t n, int64_t depth);

/* --threads (share.c): cuts large kernels into shares, which threads may compute side by side: each writes other
 * outputs, and no sum is cut, so that the bits do not depend on how many threads there are. Each share gets scratch of
 * its own. 1: nothing is cut. */
void share_kernels(struct lowered *l, int shares);
/* Is there enough to do in the kernel? */
bool share_is_worth(const struct kernel *k, const struct target *t);

/* Sizes that are known late, --dim batch=1..32 (late.c): which numbers of the kernels depend on the count that each
 * call gives. The program is lowered and fused for three counts, the range's highest and two beside it. What is the
 * same in all three is a constant; a size that differs is base + per * n, and a factor that differs k * n or k / n.
 * Whatever else differs is an error: nobody knows then what it is for other counts.
 *
 * Notes in probe[0], the program for range->high, what depends on the count, and gives its templates forms that take
 * it. probe[i] is for i * step more. What cannot depend on it is reported, with the node of the first such kernel:
 * others may be out of step behind it. */
bool late_kernels(struct diag *d, struct lowered *const probe[3], const struct size_range *range,
                  int64_t step) MUST_USE;
/* x[i] is the number for a count of n + i * step; step is 1 or -1. False: it is no base + per * n, which is 1 or more
 * from `low` on and never falls: memory is that of the highest count. */
bool late_size_of(const int64_t x[3], int64_t n, int64_t step, int64_t low, struct late_size *out);
/* A factor that differs: numerator / (per * n), rounded once, the numerator a power of 2; 0: per * n itself. */
struct late_factor {
    double numerator;
    int64_t per;
};
/* x[i], of which some differ, are those for range->high + i * step. False: they are none. */
bool late_factor_of(enum dtype d, const double x[3], const struct size_range *range, int64_t step,
                    struct late_factor *out);
double late_factor_at(const struct late_factor *f, enum dtype d, int64_t count);

#endif
