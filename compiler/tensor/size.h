/* Sizes that a call of the program says (--dim batch=1..32): a size is known for the highest count, and each count less
 * makes it smaller by the same number. So sums of sizes, differences, multiples and exact quotients are sizes again;
 * whatever else a number is made of is not affine, and nobody knows it for other counts.
 *
 *   x[batch,64] for a highest count of 32: {32, 1}, {64, 0}     Flatten: {32 * 64, 64}     batch + 1: {33, 1} */
#ifndef STEPC_TENSOR_SIZE_H
#define STEPC_TENSOR_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#define NOT_AFFINE INT64_MIN

struct size {
    int64_t most; /* with the range's highest count */
    int64_t per;  /* what one count more adds; 0: it is a constant; NOT_AFFINE */
};

struct size size_constant(int64_t x);
/* {0, NOT_AFFINE} where the number for the highest count does not fit. */
struct size size_sum(struct size x, struct size y);
struct size size_difference(struct size x, struct size y);
struct size size_product(struct size x, struct size y);
/* x / y, which is exact for the highest count; y.most > 0. A constant if one is so many times the other. */
struct size size_over(struct size x, struct size y);
/* Rounded down, or up; by > 0. */
struct size size_quotient(struct size x, int64_t by);
struct size size_quotient_up(struct size x, int64_t by);
/* Of two of which each is the larger for some counts, from `span` below the highest on, neither is: NOT_AFFINE. */
struct size size_least(struct size x, struct size y, int64_t span);
struct size size_greatest(struct size x, struct size y, int64_t span);
/* The sign of x - y if it is the same for all counts; else NOT_AFFINE. */
int64_t size_compare(struct size x, struct size y, int64_t span);
bool size_equal(struct size x, struct size y);

#endif
