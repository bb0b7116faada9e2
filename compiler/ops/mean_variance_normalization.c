/* MeanVarianceNormalization and LpNormalization, made of ordinary operators:
 *   mean variance   d = X - mean(X),  y = d / (sqrt(mean(d * d)) + 1e-9)        over `axes`
 *   Lp              y = x / norm, norm = sum |x| (p = 1) or sqrt(sum x^2) (p = 2) along `axis`; 0 where the norm is 0
 * in the type of X. Spec: ONNX MeanVarianceNormalization-9, -13; LpNormalization-1, -22. */
#include "ops/normalization_rules.h"

#include <math.h>

#define EPSILON 1e-9

static const struct op_attr attrs[] = {{.name = "axes", .type = ATTR_INTS, .no_default = true}, {0}};
static const struct op_attr lp_attrs[] = {
    {.name = "axis", .type = ATTR_INT, .int_default = -1}, {.name = "p", .type = ATTR_INT, .int_default = 2}, {0}};
static const struct op_param inputs[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_version versions[] = {{.since = 9, .dtypes = FLOATS_1}, {.since = 13}, {0}};
static const struct op_version lp_versions[] = {{.since = 1, .dtypes = FLOATS_1}, {.since = 22}, {0}};

/* ---- MeanVarianceNormalization ----------------------------------------------------------------------------------- */

/* Attribute axes, by default all but C. */
static void axes_of(const struct node *n, const int64_t **axes, size_t *count)
{
    static const int64_t all_but_channels[] = {0, 2, 3};
    if (!op_attr_ints(n, "axes", axes, count)) {
        *axes = all_but_channels;
        *count = 3;
    }
}

static bool mean_variance_infer(struct infer_ctx *c)
{
    const int64_t *axes;
    size_t count;
    bool named[SHAPE_MAX_RANK] = {false};
    axes_of(c->node, &axes, &count);
    for (size_t i = 0; i < count; i++) {
        int d;
        if (!infer_axis(c, axes[i], infer_rank(c, 0), &d))
            return false;
        if (named[d])
            return infer_error(c, "axis %d is named twice", d);
        named[d] = true;
    }
    return infer_same_as_input(c);
}

/* Of a node that inference has passed, in ascending order. */
static struct axis_set along_of(const struct node *n, bool along[SHAPE_MAX_RANK])
{
    const int rank = node_input(n, 0)->shape.rank;
    const int64_t *axes;
    size_t count;
    struct axis_set s = {.count = 0};
    axes_of(n, &axes, &count);
    for (int d = 0; d < rank; d++) {
        along[d] = false;
        for (size_t i = 0; i < count; i++)
            along[d] = along[d] || (axes[i] < 0 ? axes[i] + rank : axes[i]) == d;
        if (along[d])
            s.axis[s.count++] = d;
    }
    return s;
}

static bool mean_variance_expand(struct expand_ctx *c)
{
    bool along[SHAPE_MAX_RANK];
    const struct axis_set s = along_of(c->node, along);
    struct value *x = expand_in(c, 0), *d = build(c, "Sub", x, norm_mean(c->b, x, &s));
    struct value *deviation = build(c, "Sqrt", norm_mean(c->b, build(c, "Mul", d, d), &s));
    return expand_out(c, 0, build(c, "Div", d, build(c, "Add", deviation, build_like(c, x, EPSILON))));
}

/* The row that each element belongs to: its position among the kept axes. */
static int64_t *rows_of(struct eval_ctx *c, const bool *along, int64_t *rows)
{
    const struct shape *s = &c->in[0]->shape;
    struct shape kept = *s;
    int64_t stride[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0};
    for (int d = 0; d < s->rank; d++)
        if (along[d])
            shape_set(&kept, d, size_constant(1));
    *rows = shape_count(&kept);
    shape_strides(&kept, stride);
    int64_t *row = arena_array(c->scratch, int64_t, (size_t)c->in[0]->count);
    for (int64_t k = 0; k < c->in[0]->count; k++) {
        for (int d = 0; d < s->rank; d++)
            row[k] += along[d] ? 0 : index[d] * stride[d];
        shape_next(s, index);
    }
    return row;
}

static bool mean_variance_eval(struct eval_ctx *c)
{
    bool along[SHAPE_MAX_RANK];
    int64_t rows;
    const struct axis_set s = along_of(c->node, along);
    const struct eval_tensor *x = c->in[0];
    const int64_t *row = rows_of(c, along, &rows);
    const double count = (double)norm_count(&x->shape, &s);
    double *mean = arena_array(c->scratch, double, (size_t)rows),
           *square = arena_array(c->scratch, double, (size_t)rows);
    double *y = eval_out_f(c, 0);
    for (int64_t k = 0; k < x->count; k++)
        mean[row[k]] += x->f[k] / count;
    for (int64_t k = 0; k < x->count; k++)
        square[row[k]] += (x->f[k] - mean[row[k]]) * (x->f[k] - mean[row[k]]) / count;
    for (int64_t k = 0; y != NULL && k < x->count; k++)
        y[k] = (x->f[k] - mean[row[k]]) / (sqrt(square[row[k]]) + EPSILON);
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3,4,5] x) => (float[2,3,4,5] y) { y = MeanVarianceNormalization(x) }"},
    {.text = "g (double[4,5] x) => (double[4,5] y) { y = MeanVarianceNormalization <axes = [-1]> (x) }"},
    {.text = "g (double[4,5] x) => (double[4,5] y) { y = MeanVarianceNormalization <axes = [1, 0]> (x) }", .opset = 9},
    {.text = "g (float[4,5] x) => (float[4,5] y) { y = MeanVarianceNormalization(x) }", .error = "axis 2"},
    {.text = "g (float[4,5] x) => (float[4,5] y) { y = MeanVarianceNormalization <axes = [1, -1]> (x) }",
     .error = "named twice"},
    {0}};

/* ---- LpNormalization --------------------------------------------------------------------------------------------- */

static bool lp_infer(struct infer_ctx *c)
{
    int axis;
    const int64_t p = op_attr_int(c->node, "p");
    if (p != 1 && p != 2)
        return infer_error(c, "attribute 'p' is %lld, expected 1 or 2", (long long)p);
    return infer_axis(c, op_attr_int(c->node, "axis"), infer_rank(c, 0), &axis) && infer_same_as_input(c);
}

/* A row of zeros is divided by 1: its value stays 0, and so does its slope. */
static bool lp_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *one = build_like(c, x, 1.0);
    const int64_t axis = op_attr_int(c->node, "axis");
    struct value *axes = build_ints(c->b, &axis, 1);
    if (op_attr_int(c->node, "p") == 1) {
        struct value *norm = build(c, "ReduceSum", build(c, "Abs", x), axes);
        struct value *is_zero = build(c, "Equal", norm, build_like(c, x, 0.0));
        return expand_out(c, 0, build(c, "Div", x, build(c, "Where", is_zero, one, norm)));
    }
    struct value *square = build(c, "ReduceSum", build(c, "Mul", x, x), axes);
    struct value *is_zero = build(c, "Equal", square, build_like(c, x, 0.0));
    return expand_out(c, 0, build(c, "Div", x, build(c, "Sqrt", build(c, "Where", is_zero, one, square))));
}

static bool lp_eval(struct eval_ctx *c)
{
    bool along[SHAPE_MAX_RANK] = {false};
    int axis = 0;
    int64_t rows;
    const struct eval_tensor *x = c->in[0];
    const bool is_1 = op_attr_int(c->node, "p") == 1;
    if (!shape_axis(x->shape.rank, op_attr_int(c->node, "axis"), &axis))
        UNREACHABLE("an axis that inference refuses");
    along[axis] = true;
    const int64_t *row = rows_of(c, along, &rows);
    double *norm = arena_array(c->scratch, double, (size_t)rows), *y = eval_out_f(c, 0);
    for (int64_t k = 0; k < x->count; k++)
        norm[row[k]] += is_1 ? fabs(x->f[k]) : x->f[k] * x->f[k];
    for (int64_t k = 0; y != NULL && k < x->count; k++) {
        const double n = is_1 ? norm[row[k]] : sqrt(norm[row[k]]);
        y[k] = n == 0 ? 0 : x->f[k] / n;
    }
    return true;
}

static const struct op_sample lp_samples[] = {
    {.text = "g (float[3,37] x) => (float[3,37] y) { y = LpNormalization(x) }"},
    {.text = "g (double[3,4,2] x) => (double[3,4,2] y) { y = LpNormalization <p = 1, axis = 1> (x) }"},
    {.text = "g () => (float[3] y) { x = Constant <value_floats = [0.0, 0.0, 0.0]> () y = LpNormalization(x) }",
     .no_gradient = true},
    {.text = "g (float[3] x) => (float[3] y) { y = LpNormalization(x) }", .opset = 21},
    {.text = "g (float[3] x) => (float[3] y) { y = LpNormalization <p = 3> (x) }", .error = "expected 1 or 2"},
    {0}};

const struct op_def op_defs_mean_variance_normalization[] = {
    {.name = "MeanVarianceNormalization", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = mean_variance_infer, .expand = mean_variance_expand, .eval = mean_variance_eval, .samples = samples},
    {.name = "LpNormalization", .versions = lp_versions, .inputs = inputs, .outputs = outputs, .attrs = lp_attrs,
     .infer = lp_infer, .expand = lp_expand, .eval = lp_eval, .samples = lp_samples},
    {0}};
