/* AveragePool and its derivative stepc.AveragePoolGrad. Element i of a window is what its position t reads; positions
 * in the padding do not take part.
 *   AveragePool       y = (sum of the elements, row-major, from +0) / count. count: the elements of the
 *                     window, with count_include_pad also its positions in the padding, but not those that
 *                     ceil_mode reaches beyond it
 *   AveragePoolGrad   dx[i] = sum of dy / count over the windows that contain i, in order of windows, from +0
 * Spec: ONNX AveragePool-1, -7 (count_include_pad), -10 (ceil_mode), -11, -19 (dilations), -22. */
#include "ops/pool_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_attr average_attrs_7[] = {POOL_ATTRS_1, POOL_NUMBER("count_include_pad"), {0}};
static const struct op_attr average_attrs_10[] = {
    POOL_ATTRS_1, POOL_NUMBER("count_include_pad"), POOL_NUMBER("ceil_mode"), {0}};
static const struct op_attr average_attrs[] = {
    POOL_ATTRS_1, POOL_NUMBER("count_include_pad"), POOL_NUMBER("ceil_mode"), WINDOW_LIST("dilations"), {0}};
static const struct op_attr average_grad_attrs[] = {POOL_ATTRS_1,
                                                    POOL_NUMBER("count_include_pad"),
                                                    POOL_NUMBER("ceil_mode"),
                                                    WINDOW_LIST("dilations"),
                                                    WINDOW_LIST("shape"),
                                                    {0}};

static const struct op_param float_inputs[] = {POOL_PARAM("X", DTYPES_FLOATS), {0}};
static const struct op_param float_outputs[] = {POOL_PARAM("Y", DTYPES_FLOATS), {0}};
static const struct op_param average_grad_inputs[] = {POOL_PARAM("dY", DTYPES_FLOATS), {0}};
static const struct op_param grad_outputs[] = {POOL_PARAM("dX", DTYPES_FLOATS), {0}};

static bool average_downgrade(struct downgrade_ctx *c)
{
    downgrade_drop_ones(c, "dilations");
    return true;
}

static const struct op_version average_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = pool_attrs_1},
    {.since = 7, .dtypes = FLOATS_1, .attrs = average_attrs_7},
    {.since = 10, .dtypes = FLOATS_1, .attrs = average_attrs_10},
    {.since = 11, .dtypes = FLOATS_1, .attrs = average_attrs_10, .downgrade = average_downgrade},
    {.since = 19, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool flag(const struct node *n, const char *name)
{
    return op_attr_int(n, name) != 0;
}

static bool average_grad_infer(struct infer_ctx *c)
{
    struct shape x;
    return window_infer_shape(c, &x) && pool_infer_grad(c, 0, &x);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static bool average_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    const struct shape *x = &grad_input(c, 0)->shape;
    const struct window w = pool_window(c->node, x);
    pool_make_attrs(c->node, &w, &a);
    a.attr[WINDOW_ATTRS + 1] = attr_int("count_include_pad", op_attr_int(c->node, "count_include_pad"));
    a.attr[WINDOW_ATTRS + 2] = attr_dims("shape", x);
    return grad_accumulate(c, 0, build_with(c, "stepc.AveragePoolGrad", a.attr, grad_of_output(c, 0)));
}

static bool average_grad_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    const struct shape x = window_shape(c->node);
    const struct window w = pool_window(c->node, &x);
    pool_make_attrs(c->node, &w, &a);
    a.attr[WINDOW_ATTRS + 1] = attr_int("count_include_pad", op_attr_int(c->node, "count_include_pad"));
    return grad_accumulate(c, 0, build_with(c, "AveragePool", a.attr, grad_of_output(c, 0)));
}

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

/* 1 / by how many elements each window divides, [1, 1, o...] */
static struct value *build_shares(struct expand_ctx *c, const struct window *w)
{
    const struct shape s = window_out_shape(w, size_constant(1), size_constant(1));
    struct tensor *const t = tensor_new(c->b->graph->arena, expand_in(c, 0)->dtype, &s);
    for (int64_t o = 0; o < t->count; o++)
        tensor_set_double(t, o, 1.0 / (double)window_population(w, o, flag(c->node, "count_include_pad")));
    return build_constant(c->b, t);
}

/* The same windows with a padding that ends where the last one does: with ceil_mode they may reach beyond it. */
static struct window reached(const struct window *w)
{
    struct window r = *w;
    for (int i = 0; i < WINDOW_AXES; i++) {
        struct window_axis *const a = &r.axis[i];
        const int64_t behind = (a->out - 1) * a->stride + (a->size - 1) * a->dilation + 1 - a->in - a->pad_begin;
        a->pad_end = behind > 0 ? behind : 0;
    }
    return r;
}

enum { DILATIONS_OPSET = 19 };

/* Dilated windows came late: a convolution of each channel by itself with ones. */
static bool average_plain(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    const struct shape y = node_output(c->node, 0)->shape;
    struct shape alone = x->shape;
    struct window_attrs a;
    bool is_dilated = false;
    for (int i = 0; i < w.rank; i++) {
        const struct window_axis *const axis = &w.axis[WINDOW_AXES - w.rank + i];
        is_dilated = is_dilated || axis->dilation != 1;
    }
    if (!is_dilated || c->target->opset >= DILATIONS_OPSET)
        return true;
    shape_set(&alone, 0, shape_size_range(&x->shape, 0, 2));
    shape_set(&alone, 1, size_constant(1));
    const struct window whole = reached(&w);
    const struct shape ones = window_weights(&w, size_constant(1), size_constant(1));
    window_make_attrs(&whole, &a);
    struct value *const weights = build_expand(c->b, build_like(c, x, 1.0), &ones);
    struct value *sums = build_with(c, "Conv", a.attr, build_reshape(c->b, x, &alone), weights);
    sums = build_reshape(c->b, sums, &y);
    return expand_out(c, 0, build(c, "Mul", sums, build_shares(c, &w)));
}

/* The gradient of a convolution of each channel by itself with ones. */
static bool average_grad_plain(struct expand_ctx *c)
{
    const struct shape x = window_shape(c->node);
    const struct window w = pool_window(c->node, &x);
    struct window_attrs a;
    struct value *dy = build(c, "Mul", expand_in(c, 0), build_shares(c, &w));
    const struct shape planes = window_out_shape(&w, shape_size_range(&x, 0, 2), size_constant(1));
    const struct shape ones = window_weights(&w, size_constant(1), size_constant(1));
    struct shape alone = x;
    shape_set(&alone, 0, shape_size_range(&x, 0, 2));
    shape_set(&alone, 1, size_constant(1));
    const struct window whole = reached(&w);
    window_make_attrs(&whole, &a);
    a.attr[WINDOW_ATTRS] = attr_dims("shape", &alone);
    struct value *const weights = build_expand(c->b, build_like(c, dy, 1.0), &ones);
    dy = build_reshape(c->b, dy, &planes);
    return expand_out(c, 0, build_reshape(c->b, build_with(c, "stepc.ConvGradInput", a.attr, dy, weights), &x));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static bool average_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    double *y = eval_out_f(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), planes = x->shape.dim[0] * x->shape.dim[1];
    const int64_t size = window_size(&w);
    const bool padding = flag(c->node, "count_include_pad");
    for (int64_t k = 0; y != NULL && k < planes * out; k++) {
        double sum = 0;
        for (int64_t t = 0; t < size; t++) {
            const int64_t i = window_element(&w, k % out, t);
            if (i >= 0)
                sum = eval_round(c, sum + x->f[k / out * in + i]);
        }
        y[k] = eval_round(c, sum / eval_round(c, (double)window_population(&w, k % out, padding)));
    }
    return true;
}

static bool average_grad_eval(struct eval_ctx *c)
{
    const struct shape shape = window_shape(c->node);
    const double *dy = eval_f(c, 0);
    double *dx = eval_out_f(c, 0);
    const struct window w = pool_window(c->node, &shape);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), planes = shape.dim[0] * shape.dim[1],
                  size = window_size(&w);
    const bool padding = flag(c->node, "count_include_pad");
    for (int64_t k = 0; dx != NULL && k < planes * out; k++) {
        const double share = eval_round(c, dy[k] / eval_round(c, (double)window_population(&w, k % out, padding)));
        for (int64_t t = 0; t < size; t++) {
            const int64_t i = window_element(&w, k % out, t);
            if (i >= 0)
                dx[k / out * in + i] = eval_round(c, dx[k / out * in + i] + share);
        }
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool lower_average_map(struct lower_ctx *c, const struct window *w)
{
    const struct view x = lower_view_of(c, 0);
    const enum dtype d = lower_dtype(c, 0);
    const struct expr *sum = expr_number(c->arena, d, 0);
    for (int64_t t = 0; t < window_size(w); t++)
        sum = expr_binary(c->arena, EXPR_ADD, sum, pool_load_position(c, &x, lower_out_shape(c, 0), w, t));
    return lower_map(c, expr_binary(c->arena, EXPR_DIV, sum, expr_number(c->arena, d, (double)window_size(w))));
}

static const char *const late[] = {"PLANES", NULL};
static const struct pool_template average_pool = {{.name = "average_pool", .late = late},
                                                  {.name = "average_pool_plain", .late = late}};
static const struct pool_template average_pool_grad = {{.name = "average_pool_grad", .late = late},
                                                       {.name = "average_pool_grad_plain", .late = late}};

static bool average_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    const int64_t planes = pool_planes(lower_shape(c, 0)), out = window_out_count(&w);
    if (pool_is_map(&w) || planes * out == 0)
        return lower_average_map(c, &w);
    lower_contiguous(c, 0);
    lower_kernel(c, NULL);
    pool_bind_window(c, pool_form(c, &average_pool), &w, planes, lower_dtype(c, 0), window_leaves_input(&w),
                     flag(c->node, "count_include_pad"));
    pool_bind_operand(c, "x", 0);
    pool_add_finish(c, "finish", 0, planes, out);
    return true;
}

static bool average_grad_lower(struct lower_ctx *c)
{
    const struct shape *x = lower_out_shape(c, 0);
    const struct window w = pool_window(c->node, x);
    if (pool_planes(x) * window_out_count(&w) == 0)
        return pool_lower_zeros(c);
    lower_contiguous(c, 0);
    lower_kernel(c, NULL);
    pool_bind_window(c, pool_form(c, &average_pool_grad), &w, pool_planes(x), lower_dtype(c, 0),
                     window_lacks_outputs(&w), flag(c->node, "count_include_pad"));
    pool_bind_operand(c, "dy", 0);
    if (!c->options.small)
        lower_template_scratch(c, "scratch", window_in_count(&w));
    pool_add_finish(c, "finish", 0, pool_planes(x), window_in_count(&w));
    return true;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample average_samples[] = {
    {.text = "g (float[2,3,6,7] x) => (float[2,3,3,3] y) "
             "{ y = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"},
    {.text = "g (double[2,3,6,7] x) => (double[2,3,6,7] y) "
             "{ y = AveragePool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x) }"},
    {.text = "g (double[2,3,6,7] x) => (double[2,3,3,4] y) "
             "{ y = AveragePool "
             "<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], count_include_pad = 1> (x) }"},
    {.text = "g (double[1,2,6,7] x) => (double[1,2,3,4] y) "
             "{ y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [0, 1, 0, 1], ceil_mode = 1, "
             "count_include_pad = 1> (x) }"},
    {.text = "g (double[1,2,7,8] x) => (double[1,2,3,4] y) "
             "{ y = AveragePool <kernel_shape = [3, 3], strides = [2, 1], dilations = [1, 2]> (x) }"},
    {.text = "g (float[2,3,9] x) => (float[2,3,4] y) { y = AveragePool <kernel_shape = [3], strides = [2]> (x) }"},
    {.text = "g (double[1,2,4,5,6] x) => (double[1,2,1,2,2] y) "
             "{ y = AveragePool <kernel_shape = [4, 3, 3], strides = [1, 2, 3]> (x) }"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,6,7] y) "
             "{ y = AveragePool <kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\"> (x) }",
     .opset = 9},
    {.text = "g (float[1,2,5,43] x) => (float[1,2,3,22] y) "
             "{ y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }"},
    {.text = "g (float[1,0,6,7] x) => (float[1,0,5,6] y) { y = AveragePool <kernel_shape = [2, 2]> (x) }"},
    {.text = "g (int8[1,2,6,7] x) => (int8[1,2,5,6] y) { y = AveragePool <kernel_shape = [2, 2]> (x) }",
     .error = "int8"},
    {.text = "g (bfloat16[1,2,6,6] x) => (bfloat16[1,2,3,3] y) "
             "{ y = AveragePool <kernel_shape = [2,2], strides = [2,2]> (x) }"},
    {0}};

static const struct op_sample average_grad_samples[] = {
    {.text = "g (double[2,3,3,3] dy) => (double[2,3,6,7] dx) "
             "{ dx = stepc.AveragePoolGrad <kernel_shape = [2, 2], strides = [2, 2], shape = [2, 3, 6, 7]> (dy) }"},
    {.text = "g (float[2,3,3] dy) => (float[2,3,6] dx) "
             "{ dx = stepc.AveragePoolGrad "
             "<kernel_shape = [3], strides = [2], pads = [1, 0], shape = [2, 3, 6]> (dy) }"},
    {.text = "g (float[1,2,3,22] dy) => (float[1,2,5,43] dx) "
             "{ dx = stepc.AveragePoolGrad "
             "<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], shape = [1, 2, 5, 43]> (dy) }"},
    {.text = "g (double[1,2,4,4] dy) => (double[1,2,6,7] dx) "
             "{ dx = stepc.AveragePoolGrad <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 2, 1], "
             "count_include_pad = 1, shape = [1, 2, 6, 7]> (dy) }"},
    {.text = "g (float[2,3,4] dy) => (float[2,3,6] dx) "
             "{ dx = stepc.AveragePoolGrad <kernel_shape = [2], shape = [-2, 3, 6]> (dy) }",
     .error = "attribute 'shape' contains -2"},
    {.text = "g (float[2,3,4] dy) => (float[2,3,6] dx) "
             "{ dx = stepc.AveragePoolGrad <kernel_shape = [2], shape = [2, 3, 6]> (dy) }",
     .error = "does not have the shape of the pool's output"},
    {0}};
const struct op_def op_defs_average_pool[] = {{.name = "AveragePool",
                                               .versions = average_versions,
                                               .inputs = float_inputs,
                                               .outputs = float_outputs,
                                               .attrs = average_attrs,
                                               .infer = pool_infer,
                                               .axes = axes_samples_and_channels,
                                               .grad = average_grad,
                                               .plain = average_plain,
                                               .eval = average_eval,
                                               .lower = average_lower,
                                               .is_sum = true,
                                               .bounded = bounded_samples,
                                               .samples = average_samples},
                                              {.domain = DOMAIN_STEPC,
                                               .name = "AveragePoolGrad",
                                               .versions = pool_grad_versions,
                                               .inputs = average_grad_inputs,
                                               .outputs = grad_outputs,
                                               .attrs = average_grad_attrs,
                                               .infer = average_grad_infer,
                                               .axes = axes_samples_and_channels,
                                               .grad = average_grad_grad,
                                               .plain = average_grad_plain,
                                               .eval = average_grad_eval,
                                               .lower = average_grad_lower,
                                               .is_sum = true,
                                               .samples = average_grad_samples},
                                              {0}};
