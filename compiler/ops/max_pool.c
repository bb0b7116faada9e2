/* MaxPool and its derivative stepc.MaxPoolGrad. Element i of a window is what its position t reads; positions in the
 * padding do not take part.
 *   MaxPool           y = the greatest element; of equal ones the first (row-major) counts; NaN is greater than
 *                     all, the last NaN counts
 *   MaxPoolGrad       dx[i] = sum of dy over the windows whose maximum is element i, in order of windows, from +0
 * Ties as in PyTorch. MaxPool's value does not depend on dx: the second derivative in x is zero. Indices number
 * the elements of the whole tensor; with storage_order = 1 the spatial axes of each channel are numbered with
 * the first one fastest.
 * Spec: ONNX MaxPool-1, -8 (Indices), -10 (ceil_mode, dilations), -11, -12 (int8, uint8), -22. */
#include "ops/pool_rules.h"

#include <math.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define BYTES (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))

static const struct op_attr max_attrs_8[] = {POOL_ATTRS_1, POOL_NUMBER("storage_order"), {0}};
static const struct op_attr max_attrs[] = {POOL_ATTRS_1,
                                           POOL_NUMBER("storage_order"),
                                           POOL_NUMBER("ceil_mode"),
                                           WINDOW_LIST("dilations"),
                                           {0}};

static const struct op_param max_inputs[] = {POOL_PARAM("X", DTYPES_FLOATS | BYTES), {0}};
static const struct op_param max_outputs_1[] = {POOL_PARAM("Y", 0), {0}};
static const struct op_param max_outputs[] = {
    POOL_PARAM("Y", DTYPES_FLOATS | BYTES),
    {.name = "Indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OPTIONAL | PARAM_OUTPUT_NOT_DIFF},
    {0}};
static const struct op_param max_grad_inputs[] = {POOL_PARAM("X", DTYPES_FLOATS), POOL_PARAM("dY", DTYPES_FLOATS), {0}};
static const struct op_param grad_outputs[] = {POOL_PARAM("dX", DTYPES_FLOATS), {0}};

static const struct op_version max_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = pool_attrs_1, .outputs = max_outputs_1},
    {.since = 8, .dtypes = FLOATS_1, .attrs = max_attrs_8},
    {.since = 10, .dtypes = FLOATS_1},
    {.since = 11, .dtypes = FLOATS_1},
    {.since = 12, .dtypes = FLOATS_1 | BYTES},
    {.since = 22},
    {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool max_infer(struct infer_ctx *c)
{
    const int64_t order = op_attr_int(c->node, "storage_order");
    if (order != 0 && order != 1)
        return infer_error(c, "attribute 'storage_order' is %lld, expected 0 or 1", (long long)order);
    return pool_infer(c) && infer_out(c, 1, DTYPE_INT64, &c->out[0].shape);
}

static bool max_grad_infer(struct infer_ctx *c)
{
    return window_infer_rank(c, 0) != 0 && pool_infer_grad(c, 1, infer_shape(c, 0));
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static bool max_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    struct value *x = grad_input(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    pool_make_attrs(c->node, &w, &a);
    return grad_accumulate(c, 0, build_with(c, "stepc.MaxPoolGrad", a.attr, x, grad_of_output(c, 0)));
}

/* dx = MaxPoolGrad(x, dy), u flows into dx: what flows into dy is u where the maxima of x are. */
static bool max_grad_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    struct value *x = grad_input(c, 0), *dy = grad_input(c, 1), *u = grad_of_output(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    pool_make_attrs(c->node, &w, &a);
    const struct node *pool = build_node(c->b, "MaxPool", a.attr, &x, 1, 2);
    if (c->b->failed)
        return false;
    struct value *flat = build_reshape(c->b, u, &SHAPE_OF(shape_elements(&u->shape)));
    struct value *at = build_reshape(c->b, pool->outputs.data[1], &SHAPE_OF(shape_elements(&dy->shape)));
    return grad_accumulate(c, 1, build_reshape(c->b, build(c, "Gather", flat, at), &dy->shape));
}

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

static bool no_window_overlaps(const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++)
        if (w->axis[i].stride < (w->axis[i].size - 1) * w->axis[i].dilation + 1 && w->axis[i].out > 1)
            return false;
    return true;
}

/* dy where MaxPool found its maxima: one after the other where windows lie apart, else added up. */
static bool max_grad_plain(struct expand_ctx *c)
{
    struct window_attrs a;
    struct value *x = expand_in(c, 0), *dy = expand_in(c, 1);
    const struct window w = pool_window(c->node, &x->shape);
    const struct size one = size_constant(1), size = shape_elements(&x->shape);
    const struct shape row = SHAPE_OF(one, shape_elements(&dy->shape), one);
    pool_make_attrs(c->node, &w, &a);
    struct value *at = build_node(c->b, "MaxPool", a.attr, &x, 1, 2)->outputs.data[1];
    at = build_reshape(c->b, at, &row);
    struct value *const data = build_expand(c->b, build_like(c, dy, 0.0), &SHAPE_OF(one, size, one));
    const struct attr *how =
        ATTRS(attr_size("size", &size), attr_string("reduction", no_window_overlaps(&w) ? "none" : "add"));
    dy = build_reshape(c->b, dy, &row);
    return expand_out(c, 0, build_reshape(c->b, build_with(c, "stepc.Scatter", how, at, dy, data), &x->shape));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The element of window o with the maximum; x begins at `base`. */
static int64_t find_maximum(const struct eval_tensor *x, const struct window *w, int64_t base, int64_t o)
{
    const int64_t size = window_size(w);
    int64_t best = -1;
    for (int64_t t = 0; t < size; t++) {
        const int64_t i = window_element(w, o, t);
        if (i < 0)
            continue;
        if (best < 0 || (x->f != NULL ? x->f[base + i] > x->f[base + best] || isnan(x->f[base + i])
                                      : x->i[base + i] > x->i[base + best]))
            best = i;
    }
    return best;
}

static int64_t element_number(const struct window *w, int64_t i, bool column_major)
{
    const struct window_axis *a = w->axis;
    if (!column_major)
        return i;
    const int64_t x = i % a[2].in, y = i / a[2].in % a[1].in, z = i / a[2].in / a[1].in;
    return z + a[0].in * (y + a[1].in * x);
}

static bool max_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    int64_t *indices = eval_wants(c, 1) ? eval_out_i(c, 1) : NULL;
    const struct window w = pool_window(c->node, &x->shape);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), planes = x->shape.dim[0] * x->shape.dim[1];
    const bool column_major = op_attr_int(c->node, "storage_order") != 0;
    for (int64_t k = 0; k < planes * out; k++) {
        const int64_t base = k / out * in, i = find_maximum(x, &w, base, k % out);
        if (y != NULL && y->f != NULL)
            y->f[k] = x->f[base + i];
        else if (y != NULL)
            y->i[k] = x->i[base + i];
        if (indices != NULL)
            indices[k] = base + element_number(&w, i, column_major);
    }
    return true;
}

static bool max_grad_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const double *dy = eval_f(c, 1);
    double *dx = eval_out_f(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), planes = x->shape.dim[0] * x->shape.dim[1];
    for (int64_t k = 0; dx != NULL && k < planes * out; k++) {
        const int64_t base = k / out * in;
        double *sum = &dx[base + find_maximum(x, &w, base, k % out)];
        *sum = eval_round(c, *sum + dy[k]);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* Each selection has one comparison: of two at once GCC 12 would make bits, one by one. */
static const struct expr *greater_of(struct arena *a, const struct expr *best, const struct expr *v)
{
    const struct expr *greater = expr_select(a, expr_binary(a, EXPR_LT, best, v), v, best);
    return dtype_is_float(v->dtype) ? expr_select(a, expr_binary(a, EXPR_EQ, v, v), greater, v) : greater;
}

static bool lower_max_map(struct lower_ctx *c, const struct window *w)
{
    const struct view x = lower_view_of(c, 0);
    const struct expr *best = pool_load_position(c, &x, w, 0);
    for (int64_t t = 1; t < window_size(w); t++)
        best = greater_of(c->arena, best, pool_load_position(c, &x, w, t));
    return lower_map(c, best);
}

static const char *const late[] = {"PLANES", NULL};
static const struct pool_template max_pool = {{.name = "max_pool", .late = late},
                                              {.name = "max_pool_plain", .late = late}};
static const struct pool_template max_pool_grad = {{.name = "max_pool_grad", .late = late},
                                                   {.name = "max_pool_grad_plain", .late = late}};
static const struct pool_template max_pool_grad_apart = {{.name = "max_pool_grad_apart", .late = late},
                                                         {.name = "max_pool_grad_apart_plain", .late = late}};

static bool max_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    const int64_t planes = pool_planes(lower_shape(c, 0)), out = window_out_count(&w);
    if (!lower_wants(c, 1) && pool_is_map(&w))
        return lower_max_map(c, &w);
    for (int o = 0; o < 2; o++)
        if (lower_wants(c, o))
            lower_out_view(c, o);
    if (planes * out == 0)
        return true;
    lower_contiguous(c, 0);
    lower_kernel(c, NULL);
    pool_bind_window(c, &max_pool, &w, planes, lower_dtype(c, 0), window_leaves_input(&w), false);
    lower_template_int(c, "COLUMN_MAJOR", op_attr_int(c->node, "storage_order"));
    pool_bind_operand(c, "x", 0);
    if (lower_wants(c, 0))
        pool_add_finish(c, "finish", 0, planes, out);
    if (lower_wants(c, 1))
        pool_add_finish(c, "finish_index", 1, planes, out);
    return true;
}

/* Windows side by side, from the first element on. */
static bool lies_apart(const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &w->axis[i];
        if (a->stride != a->size || (a->dilation != 1 && a->size > 1))
            return false;
    }
    return !window_leaves_input(w);
}

static bool max_grad_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    const int64_t planes = pool_planes(lower_shape(c, 0));
    const bool apart = lies_apart(&w) && window_size(&w) <= POOL_UNROLLED;
    if (planes * window_out_count(&w) == 0)
        return pool_lower_zeros(c);
    lower_contiguous(c, 0);
    lower_contiguous(c, 1);
    lower_kernel(c, NULL);
    pool_bind_window(c, apart ? &max_pool_grad_apart : &max_pool_grad, &w, planes, lower_dtype(c, 0),
                     window_leaves_input(&w), false);
    pool_bind_operand(c, "x", 0);
    pool_bind_operand(c, "dy", 1);
    if (!apart)
        lower_template_scratch(c, "scratch", window_in_count(&w));
    pool_add_finish(c, "finish", 0, planes, window_in_count(&w));
    return true;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample max_samples[] = {
    {.text = "g (float[2,3,6,7] x) => (float[2,3,3,3] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"},
    {.text = "g (double[2,3,6,7] x) => (double[2,3,6,7] y) "
             "{ y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x) }"},
    {.text = "g (double[1,2,6,7] x) => (double[1,2,2,3] y) "
             "{ y = MaxPool <kernel_shape = [3, 2], strides = [3, 2]> (x) }"},
    {.text = "g (double[1,2,7,7] x) => (double[1,2,4,4] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x) }"},
    {.text = "g (double[1,2,7,8] x) => (double[1,2,3,4] y) "
             "{ y = MaxPool <kernel_shape = [3, 3], strides = [2, 1], dilations = [1, 2]> (x) }"},
    {.text = "g (float[1,2,5,5] x) => (float[1,2,3,3] y) "
             "{ y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"SAME_LOWER\"> (x) }"},
    {.text = "g (float[2,3,9] x) => (float[2,3,4] y) { y = MaxPool <kernel_shape = [3], strides = [2]> (x) }"},
    {.text = "g (double[1,2,4,5,6] x) => (double[1,2,2,2,3] y) "
             "{ y = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (x) }"},
    {.text = "g (float[2,3,6,7] x) => (float[2,3,3,3] y, int64[2,3,3,3] i) "
             "{ y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"},
    {.text = "g (float[2,2,4,5,6] x) => (int64[2,2,3,4,5] i) "
             "{ y, i = MaxPool <kernel_shape = [2, 2, 2], storage_order = 1> (x) }", .no_gradient = true},
    {.text = "g (int8[1,2,6,7] x) => (int8[1,2,3,3] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
     .no_gradient = true},
    {.text = "g (uint8[1,2,6,7] x) => (uint8[1,2,4,4] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }", .no_gradient = true},
    {.text = "g (double[1,1,6] z) => (double[1,1,3] y) "
             "{ x = Floor(z) y = MaxPool <kernel_shape = [2], strides = [2]> (x) }"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
     .opset = 7},
    {.text = "g (float[1,2,5,43] z) => (float[1,2,3,22] y, int64[1,2,3,22] i) "
             "{ x = Floor(z) y, i = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }"},
    {.text = "g (float[1,1,3,4,40] x) => (float[1,1,3,2,36] y) "
             "{ y = MaxPool "
             "<kernel_shape = [2, 2, 3], dilations = [2, 1, 3], strides = [1, 2, 1], pads = [1, 0, 1, 1, 0, 1]> (x) }"},
    {.text = "g (float[0,1,6,7] x) => (float[0,1,5,6] y) { y = MaxPool <kernel_shape = [2, 2]> (x) }"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [2]> (x) }",
     .error = "attribute 'kernel_shape' has 1 numbers, expected 2"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) { y = MaxPool(x) }", .error = "kernel_shape"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], pads = [2, 0, 0, 0]> (x) }", .error = "lies in the padding"},
    {.text = "g (float[6,7] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [2]> (x) }", .error = "has rank 2"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], auto_pad = \"SAME\"> (x) }", .error = "expected NOTSET"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [8, 2]> (x) }",
     .error = "does not fit"},
    {.text = "g (float16[1,2,6,6] x) => (float16[1,2,3,3] y) "
             "{ y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x) }"},
    {0}};

static const struct op_sample max_grad_samples[] = {
    {.text = "g (double[2,3,6,7] x, double[2,3,3,3] dy) => (double[2,3,6,7] dx) "
             "{ dx = stepc.MaxPoolGrad <kernel_shape = [2, 2], strides = [2, 2]> (x, dy) }"},
    {.text = "g (float[2,3,6,7] x, float[2,3,6,7] dy) => (float[2,3,6,7] dx) "
             "{ dx = stepc.MaxPoolGrad <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, dy) }"},
    {.text = "g (float[1,2,5,6,7] z, float[1,2,2,3,2] dy) => (float[1,2,5,6,7] dx) "
             "{ x = Floor(z) dx = stepc.MaxPoolGrad <kernel_shape = [2, 2, 3], strides = [2, 2, 3]> (x, dy) }"},
    {.text = "g (float[1,2,5,43] z, float[1,2,3,22] dy) => (float[1,2,5,43] dx) "
             "{ x = Floor(z) "
             "dx = stepc.MaxPoolGrad <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x, dy) }"},
    {.text = "g (float[1,2,6] x, float[1,2,6] dy) => (float[1,2,6] dx) "
             "{ dx = stepc.MaxPoolGrad <kernel_shape = [2]> (x, dy) }",
     .error = "does not have the shape of the pool's output"},
    {0}};
const struct op_def op_defs_max_pool[] = {
    {.name = "MaxPool", .versions = max_versions, .inputs = max_inputs, .outputs = max_outputs, .attrs = max_attrs,
     .infer = max_infer, .axes = axes_samples_and_channels, .grad = max_grad, .eval = max_eval, .lower = max_lower,
     .bounded = bounded_samples, .samples = max_samples},
    {.domain = DOMAIN_STEPC, .name = "MaxPoolGrad", .versions = pool_grad_versions, .inputs = max_grad_inputs,
     .outputs = grad_outputs, .attrs = max_attrs, .infer = max_grad_infer, .grad = max_grad_grad,
     .plain = max_grad_plain, .eval = max_grad_eval, .lower = max_grad_lower, .samples = max_grad_samples},
    {0}};
