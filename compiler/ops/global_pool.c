/* GlobalAveragePool and GlobalMaxPool, written with other operators: one window over all spatial axes.
 * Spec: ONNX GlobalAveragePool-1, -22; GlobalMaxPool-1, -22. */
#include "ops/window_rules.h"

static const struct op_param inputs[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_version versions[] = {{.since = 1, .dtypes = FLOATS_1}, {.since = 22}, {0}};

/* The mean over the spatial axes, as ReduceMean. */
static bool average_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    int64_t axes[SHAPE_MAX_RANK];
    size_t count = 0;
    for (int d = 2; d < x->shape.rank; d++)
        axes[count++] = d;
    return expand_out(c, 0,
                      build_with(c, "ReduceMean", ATTRS(attr_int("keepdims", 1)), x, build_ints(c->b, axes, count)));
}

static int64_t planes_of(const struct shape *x)
{
    return x->dim[0] * x->dim[1];
}

static bool average_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    double *y = eval_out_f(c, 0);
    const int64_t planes = planes_of(&x->shape), count = shape_count_range(&x->shape, 2, x->shape.rank);
    for (int64_t p = 0; y != NULL && p < planes; p++)
        y[p] = eval_round(c, eval_sum_row(c, x->dtype, x->f + p * count, count, 1) / eval_round(c, (double)count));
    return true;
}

/* One window over all spatial axes, so that ties are MaxPool's. */
static bool max_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    const struct shape window = SHAPE_OF(shape_size_range(&x->shape, 2, x->shape.rank));
    struct value *flat = build_reshape(c->b, x, &SHAPE_OF(shape_size(&x->shape, 0), shape_size(&x->shape, 1),
                                                          shape_size(&window, 0)));
    struct value *y = build_with(c, "MaxPool", ATTRS(attr_dims("kernel_shape", &window)), flat);
    struct shape to = x->shape;
    for (int d = 2; d < to.rank; d++)
        shape_set(&to, d, size_constant(1));
    return expand_out(c, 0, build_reshape(c->b, y, &to));
}

static bool max_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    double *y = eval_out_f(c, 0);
    const int64_t planes = planes_of(&x->shape), count = shape_count_range(&x->shape, 2, x->shape.rank);
    for (int64_t p = 0; y != NULL && p < planes; p++)
        y[p] = eval_max(x->f + p * count, count, 1);
    return true;
}

static const struct op_sample average_samples[] = {
    {.text = "g (float[2,3,5,7] x) => (float[2,3,1,1] y) { y = GlobalAveragePool(x) }"},
    {.text = "g (double[2,3,9] x) => (double[2,3,1] y) { y = GlobalAveragePool(x) }", .opset = 7},
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = GlobalAveragePool(x) }",
     .error = "has rank 2, expected at least 3"},
    {0}};
static const struct op_sample max_samples[] = {
    {.text = "g (float[2,3,5,7] x) => (float[2,3,1,1] y) { y = GlobalMaxPool(x) }"},
    {.text = "g (double[2,3,2,2,2] x) => (double[2,3,1,1,1] y) { y = GlobalMaxPool(x) }"},
    {.text = "g (float[2,3,0] x) => (float[2,3,1] y) { y = GlobalMaxPool(x) }", .error = "has no elements to pool"},
    {0}};

const struct op_def op_defs_global_pool[] = {
    {.name = "GlobalAveragePool", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = window_infer_global, .axes = axes_samples_and_channels,
     .stays = op_stays, .expand = average_expand, .eval = average_eval, .is_sum = true,
     .bounded = bounded_samples, .samples = average_samples},
    {.name = "GlobalMaxPool", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = window_infer_global, .axes = axes_samples_and_channels,
     .stays = op_stays, .expand = max_expand, .eval = max_eval,
     .bounded = bounded_samples, .samples = max_samples},
    {0}};
