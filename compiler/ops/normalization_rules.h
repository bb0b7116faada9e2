/* What the normalizations share: y = (x - mean) / sqrt(variance + epsilon) along some axes, with the population's
 * variance, taken as the mean of (x - mean)^2. Internal to ops/. */
#ifndef STEPC_OPS_NORMALIZATION_RULES_H
#define STEPC_OPS_NORMALIZATION_RULES_H

#include "ops/op.h"

struct axis_set {
    int axis[SHAPE_MAX_RANK];
    size_t count;
};

/* double where an input is double, else float: float16 and bfloat16 are normalized in float. */
enum dtype norm_dtype(const struct node *n);
/* Axes from `from` to the last of rank `rank`. */
struct axis_set norm_axes_from(int from, int rank);
/* Elements that one statistic is made of. */
int64_t norm_count(const struct shape *s, const struct axis_set *along);

/* ---- in nodes ---------------------------------------------------------------------------------------------------- */

/* keeps the axes, as do the next two */
struct value *norm_sum(struct builder *b, struct value *x, const struct axis_set *along);
struct value *norm_mean(struct builder *b, struct value *x, const struct axis_set *along);
/* 1 / sqrt(variance + epsilon) */
struct value *norm_inverse_deviation(struct builder *b, struct value *variance, double epsilon);
/* The vector v [C] as [1.., C, 1..] with C on axis `axis` of rank `rank`. */
struct value *norm_on_axis(struct builder *b, struct value *v, int axis, int rank);

/* ---- in double --------------------------------------------------------------------------------------------------- */

struct moments {
    double mean, variance;
};
/* Of the elements x[start[s] .. start[s] + length) for all s. */
struct moments norm_moments(const double *x, const int64_t *start, int64_t starts, int64_t length);

#endif
