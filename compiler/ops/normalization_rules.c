#include "ops/normalization_rules.h"

enum dtype norm_dtype(const struct node *n)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i] != NULL && n->inputs.data[i]->dtype == DTYPE_DOUBLE)
            return DTYPE_DOUBLE;
    return DTYPE_FLOAT;
}

struct axis_set norm_axes_from(int from, int rank)
{
    struct axis_set s = {.count = (size_t)(rank - from)};
    for (int d = from; d < rank; d++)
        s.axis[d - from] = d;
    return s;
}

int64_t norm_count(const struct shape *s, const struct axis_set *along)
{
    int64_t count = 1;
    for (size_t i = 0; i < along->count; i++)
        count *= s->dim[along->axis[i]];
    return count;
}

/* ---- in nodes ---------------------------------------------------------------------------------------------------- */

struct value *norm_sum(struct builder *b, struct value *x, const struct axis_set *along)
{
    return build_reduce_sum(b, x, along->axis, along->count, true);
}

struct value *norm_mean(struct builder *b, struct value *x, const struct axis_set *along)
{
    const struct {
        struct builder *b;
    } c = {b};
    int64_t axes[SHAPE_MAX_RANK];
    for (size_t i = 0; i < along->count; i++)
        axes[i] = along->axis[i];
    if (along->count == 0) /* ReduceMean would take them all */
        return x;
    return build_with(&c, "ReduceMean", ATTRS(attr_int("keepdims", 1)), x, build_ints(b, axes, along->count));
}

struct value *norm_inverse_deviation(struct builder *b, struct value *variance, double epsilon)
{
    const struct {
        struct builder *b;
    } c = {b};
    struct value *above = build(&c, "Add", variance, build_like(&c, variance, epsilon));
    return build_called(b, "inverse", build(&c, "Reciprocal", build(&c, "Sqrt", above)));
}

struct value *norm_on_axis(struct builder *b, struct value *v, int axis, int rank)
{
    struct shape s = SHAPE_SCALAR;
    for (int d = 0; d < rank; d++)
        shape_add(&s, d == axis ? shape_elements(&v->shape) : size_constant(1));
    return build_reshape(b, v, &s);
}

/* ---- in double --------------------------------------------------------------------------------------------------- */

struct moments norm_moments(const double *x, const int64_t *start, int64_t starts, int64_t length)
{
    const double count = (double)(starts * length);
    struct moments m = {0};
    for (int64_t s = 0; s < starts; s++)
        for (int64_t i = 0; i < length; i++)
            m.mean += x[start[s] + i];
    m.mean /= count;
    for (int64_t s = 0; s < starts; s++)
        for (int64_t i = 0; i < length; i++)
            m.variance += (x[start[s] + i] - m.mean) * (x[start[s] + i] - m.mean);
    m.variance /= count;
    return m;
}
