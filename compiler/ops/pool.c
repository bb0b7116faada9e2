/* Pooling: MaxPool, AveragePool and their derivatives stepc.MaxPoolGrad and stepc.AveragePoolGrad. Element i of a
 * window is what its position t reads; positions in the padding do not take part.
 *   MaxPool           y = the greatest element; of equal ones the first (row-major) counts; NaN is greater than
 *                     all, the last NaN counts
 *   MaxPoolGrad       dx[i] = sum of dy over the windows whose maximum is element i, in order of windows, from +0
 *   AveragePool       y = (sum of the elements, row-major, from +0) / count. count: the elements of the
 *                     window, with count_include_pad also its positions in the padding, but not those that
 *                     ceil_mode reaches beyond it
 *   AveragePoolGrad   dx[i] = sum of dy / count over the windows that contain i, in order of windows, from +0
 * Ties as in PyTorch. MaxPool's value does not depend on dx: the second derivative in x is zero. Indices number
 * the elements of the whole tensor; with storage_order = 1 the spatial axes of each channel are numbered with
 * the first one fastest.
 * Spec: ONNX MaxPool-1, -8 (Indices), -10 (ceil_mode, dilations), -11, -12 (int8, uint8), -22; AveragePool-1, -7
 * (count_include_pad), -10 (ceil_mode), -11, -19 (dilations), -22. */
#include "ops/window_rules.h"

#include <math.h>
#include <string.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define BYTES (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))
#define NUMBER(label) {.name = (label), .type = ATTR_INT, .int_default = 0}
#define ATTRS_1                                                                                                        \
    {.name = "auto_pad", .type = ATTR_STRING, .string_default = "NOTSET"},                                             \
        {.name = "kernel_shape", .type = ATTR_INTS, .required = true}, WINDOW_LIST("pads"), WINDOW_LIST("strides")
static const struct op_attr attrs_1[] = {ATTRS_1, {0}};
static const struct op_attr max_attrs_8[] = {ATTRS_1, NUMBER("storage_order"), {0}};
static const struct op_attr max_attrs[] = {ATTRS_1,
                                           NUMBER("storage_order"),
                                           NUMBER("ceil_mode"),
                                           WINDOW_LIST("dilations"),
                                           {0}};
static const struct op_attr average_attrs_7[] = {ATTRS_1, NUMBER("count_include_pad"), {0}};
static const struct op_attr average_attrs_10[] = {ATTRS_1, NUMBER("count_include_pad"), NUMBER("ceil_mode"), {0}};
static const struct op_attr average_attrs[] = {
    ATTRS_1, NUMBER("count_include_pad"), NUMBER("ceil_mode"), WINDOW_LIST("dilations"), {0}};
static const struct op_attr average_grad_attrs[] = {
    ATTRS_1, NUMBER("count_include_pad"), NUMBER("ceil_mode"), WINDOW_LIST("dilations"), WINDOW_LIST("shape"), {0}};

#define PARAM(label, set) {.name = (label), .type = 'T', .dtypes = (set)}
static const struct op_param max_inputs[] = {PARAM("X", DTYPES_FLOATS | BYTES), {0}};
static const struct op_param max_outputs_1[] = {PARAM("Y", 0), {0}};
static const struct op_param max_outputs[] = {
    PARAM("Y", DTYPES_FLOATS | BYTES),
    {.name = "Indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OPTIONAL | PARAM_OUTPUT_NOT_DIFF},
    {0}};
static const struct op_param float_inputs[] = {PARAM("X", DTYPES_FLOATS), {0}};
static const struct op_param float_outputs[] = {PARAM("Y", DTYPES_FLOATS), {0}};
static const struct op_param max_grad_inputs[] = {PARAM("X", DTYPES_FLOATS), PARAM("dY", DTYPES_FLOATS), {0}};
static const struct op_param average_grad_inputs[] = {PARAM("dY", DTYPES_FLOATS), {0}};
static const struct op_param grad_outputs[] = {PARAM("dX", DTYPES_FLOATS), {0}};

static const struct op_version max_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .outputs = max_outputs_1},
    {.since = 8, .dtypes = FLOATS_1, .attrs = max_attrs_8},
    {.since = 10, .dtypes = FLOATS_1},
    {.since = 11, .dtypes = FLOATS_1},
    {.since = 12, .dtypes = FLOATS_1 | BYTES},
    {.since = 22},
    {0}};
static bool average_downgrade(struct downgrade_ctx *c)
{
    downgrade_drop_ones(c, "dilations");
    return true;
}

static const struct op_version average_versions[] = {{.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1},
                                                     {.since = 7, .dtypes = FLOATS_1, .attrs = average_attrs_7},
                                                     {.since = 10, .dtypes = FLOATS_1, .attrs = average_attrs_10},
                                                     {.since = 11, .dtypes = FLOATS_1, .attrs = average_attrs_10,
                                                      .downgrade = average_downgrade},
                                                     {.since = 19, .dtypes = FLOATS_1},
                                                     {.since = 22},
                                                     {0}};
static const struct op_version grad_versions[] = {{.since = 1}, {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

#define WINDOW_MOST (1 << 24) /* elements of a window */

static struct window pool_window(const struct node *n, const struct shape *x)
{
    return window_of_kernel(n, x);
}

static bool flag(const struct node *n, const char *name)
{
    return op_attr_int(n, name) != 0;
}

/* A window along an axis that has no element, or -1, without looking at all of them. Windows in front of the input are
 * empty where they end there, the first one most of all; behind it the last one. Only where one step of the window is
 * longer than the input may it step over: which element it would meet repeats itself from window to window, after at
 * most as many windows as there are elements if none is empty. */
static int64_t find_empty_window(const struct window_axis *a)
{
    const int64_t looked = a->dilation > a->in ? a->in + 1 : 1, last = a->out - 1;
    for (int64_t o = 0; o < looked && o <= last; o++)
        if (window_axis_population(a, o, false) == 0)
            return o;
    return last >= 0 && window_axis_population(a, last, false) == 0 ? last : -1;
}

/* Every window must have an element: nobody says what the maximum of nothing is. */
static bool check_windows(struct infer_ctx *c, const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        const int64_t empty = find_empty_window(&w->axis[i]);
        if (empty >= 0)
            return infer_error(c, "window %lld along spatial axis %d lies in the padding", (long long)empty,
                               i - (WINDOW_AXES - w->rank));
    }
    return true;
}

/* The window over x, checked. */
static bool infer_window(struct infer_ctx *c, const struct shape *x, struct window *w)
{
    struct shape size;
    int64_t elements = 1;
    if (!window_infer_kernel(c, x->rank - 2, true, &size))
        return false;
    for (int i = 0; i < x->rank - 2; i++) {
        elements *= size.dim[i];
        if (elements > WINDOW_MOST)
            return infer_error(c, "a window has more than %d elements", WINDOW_MOST);
    }
    return window_infer(c, x, &size, w);
}

static bool pool_infer(struct infer_ctx *c)
{
    struct window w;
    if (window_infer_rank(c, 0) == 0 || !infer_window(c, infer_shape(c, 0), &w))
        return false;
    const struct shape y = window_out_shape(&w, shape_size(infer_shape(c, 0), 0), shape_size(infer_shape(c, 0), 1));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y) && check_windows(c, &w);
}

static bool max_infer(struct infer_ctx *c)
{
    const int64_t order = op_attr_int(c->node, "storage_order");
    if (order != 0 && order != 1)
        return infer_error(c, "attribute 'storage_order' is %lld, expected 0 or 1", (long long)order);
    return pool_infer(c) && infer_out(c, 1, DTYPE_INT64, &c->out[0].shape);
}

static bool check_dy(struct infer_ctx *c, int i, const struct shape *x)
{
    struct window w;
    if (!infer_window(c, x, &w))
        return false;
    const struct shape y = window_out_shape(&w, shape_size(x, 0), shape_size(x, 1));
    if (!shape_equal(&y, infer_shape(c, i)))
        return infer_error(c, "input %d '%s' does not have the shape of the pool's output", i, infer_in(c, i)->name);
    return infer_out(c, 0, DTYPE_UNDEFINED, x) && check_windows(c, &w);
}

static bool max_grad_infer(struct infer_ctx *c)
{
    return window_infer_rank(c, 0) != 0 && check_dy(c, 1, infer_shape(c, 0));
}

static bool average_grad_infer(struct infer_ctx *c)
{
    struct shape x;
    return window_infer_shape(c, &x) && check_dy(c, 0, &x);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static void make_attrs(const struct node *n, const struct window *w, struct window_attrs *a)
{
    window_make_attrs(w, a);
    a->attr[WINDOW_ATTRS] = attr_int("ceil_mode", op_attr_int(n, "ceil_mode"));
}

static bool max_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    struct value *x = grad_input(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    make_attrs(c->node, &w, &a);
    return grad_accumulate(c, 0, build_with(c, "stepc.MaxPoolGrad", a.attr, x, grad_of_output(c, 0)));
}

/* dx = MaxPoolGrad(x, dy), u flows into dx: what flows into dy is u where the maxima of x are. */
static bool max_grad_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    struct value *x = grad_input(c, 0), *dy = grad_input(c, 1), *u = grad_of_output(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    make_attrs(c->node, &w, &a);
    const struct node *pool = build_node(c->b, "MaxPool", a.attr, &x, 1, 2);
    if (c->b->failed)
        return false;
    struct value *flat = build_reshape(c->b, u, &SHAPE_OF(shape_elements(&u->shape)));
    struct value *at = build_reshape(c->b, pool->outputs.data[1], &SHAPE_OF(shape_elements(&dy->shape)));
    return grad_accumulate(c, 1, build_reshape(c->b, build(c, "Gather", flat, at), &dy->shape));
}

static bool average_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    const struct shape *x = &grad_input(c, 0)->shape;
    const struct window w = pool_window(c->node, x);
    make_attrs(c->node, &w, &a);
    a.attr[WINDOW_ATTRS + 1] = attr_int("count_include_pad", op_attr_int(c->node, "count_include_pad"));
    a.attr[WINDOW_ATTRS + 2] = attr_dims("shape", x);
    return grad_accumulate(c, 0, build_with(c, "stepc.AveragePoolGrad", a.attr, grad_of_output(c, 0)));
}

static bool average_grad_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    const struct shape x = window_shape(c->node);
    const struct window w = pool_window(c->node, &x);
    make_attrs(c->node, &w, &a);
    a.attr[WINDOW_ATTRS + 1] = attr_int("count_include_pad", op_attr_int(c->node, "count_include_pad"));
    return grad_accumulate(c, 0, build_with(c, "AveragePool", a.attr, grad_of_output(c, 0)));
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
    make_attrs(c->node, &w, &a);
    struct value *at = build_node(c->b, "MaxPool", a.attr, &x, 1, 2)->outputs.data[1];
    at = build_reshape(c->b, at, &row);
    struct value *const data = build_expand(c->b, build_like(c, dy, 0.0), &SHAPE_OF(one, size, one));
    const struct attr *how =
        ATTRS(attr_size("size", &size), attr_string("reduction", no_window_overlaps(&w) ? "none" : "add"));
    dy = build_reshape(c->b, dy, &row);
    return expand_out(c, 0, build_reshape(c->b, build_with(c, "stepc.Scatter", how, at, dy, data), &x->shape));
}

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
    const bool column_major = flag(c->node, "storage_order");
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

/* ---- code: maps -------------------------------------------------------------------------------------------------- */

#define UNROLLED 16 /* elements of a window that are written out */

/* Small windows within the input: each element is one strided load, and the result a map that fusion
 * can place anywhere. */
static bool is_map(const struct window *w)
{
    return !window_leaves_input(w) && window_size(w) <= UNROLLED;
}

/* Position t of all windows, over [n, channels, spatial axes of the output]. */
static const struct expr *load_position(struct lower_ctx *c, const struct view *x, const struct window *w, int64_t t)
{
    struct view v = {.buffer = x->buffer, .offset = x->offset, .shape = *lower_out_shape(c, 0)};
    v.stride[0] = x->stride[0];
    v.stride[1] = x->stride[1];
    for (int i = WINDOW_AXES - 1; i >= WINDOW_AXES - w->rank; i--) {
        const struct window_axis *a = &w->axis[i];
        const int d = 2 + i - (WINDOW_AXES - w->rank);
        v.offset += t % a->size * a->dilation * x->stride[d];
        v.stride[d] = a->stride * x->stride[d];
        t /= a->size;
    }
    return lower_load(c, &v);
}

/* Each selection has one comparison: of two at once GCC 12 would make bits, one by one. */
static const struct expr *greater_of(struct arena *a, const struct expr *best, const struct expr *v)
{
    const struct expr *greater = expr_select(a, expr_binary(a, EXPR_LT, best, v), v, best);
    return dtype_is_float(v->dtype) ? expr_select(a, expr_binary(a, EXPR_EQ, v, v), greater, v) : greater;
}

static bool lower_max_map(struct lower_ctx *c, const struct window *w)
{
    const struct view x = lower_view_of(c, 0);
    const struct expr *best = load_position(c, &x, w, 0);
    for (int64_t t = 1; t < window_size(w); t++)
        best = greater_of(c->arena, best, load_position(c, &x, w, t));
    return lower_map(c, best);
}

static bool lower_average_map(struct lower_ctx *c, const struct window *w)
{
    const struct view x = lower_view_of(c, 0);
    const enum dtype d = lower_dtype(c, 0);
    const struct expr *sum = expr_number(c->arena, d, 0);
    for (int64_t t = 0; t < window_size(w); t++)
        sum = expr_binary(c->arena, EXPR_ADD, sum, load_position(c, &x, w, t));
    return lower_map(c, expr_binary(c->arena, EXPR_DIV, sum, expr_number(c->arena, d, (double)window_size(w))));
}

/* ---- code: templates --------------------------------------------------------------------------------------------- */

static void bind_axis(struct lower_ctx *c, const char *prefix, int axis, int64_t x)
{
    lower_template_int(c, arena_printf(c->arena, "%s%c", prefix, "DHW"[axis]), x);
}

/* The windows of a line that see no padding: none, or those from the first such one on. */
static void bind_inside(struct lower_ctx *c, const struct window_axis *line)
{
    const int64_t last = line->in - 1 - (line->size - 1) * line->dilation + line->pad_begin;
    const int64_t first = (line->pad_begin + line->stride - 1) / line->stride,
                  beyond = last < 0 ? 0 : last / line->stride + 1;
    const int64_t end = beyond < line->out ? beyond : line->out;
    lower_template_int(c, "INSIDE", first < end ? first : line->out);
    lower_template_int(c, "BEYOND", first < end ? end : line->out);
}

enum pool_template { MAX_POOL, MAX_POOL_GRAD, MAX_POOL_GRAD_APART, AVERAGE_POOL, AVERAGE_POOL_GRAD };
static const char *const late[] = {"PLANES", NULL};
static const struct template_traits pool_templates[] = {
    [MAX_POOL] = {.name = "max_pool", .late = late},
    [MAX_POOL_GRAD] = {.name = "max_pool_grad", .late = late},
    [MAX_POOL_GRAD_APART] = {.name = "max_pool_grad_apart", .late = late},
    [AVERAGE_POOL] = {.name = "average_pool", .late = late},
    [AVERAGE_POOL_GRAD] = {.name = "average_pool_grad", .late = late}};
/* with --optimize size */
static const struct template_traits plain_templates[] = {
    [MAX_POOL] = {.name = "max_pool_plain", .late = late},
    [MAX_POOL_GRAD] = {.name = "max_pool_grad_plain", .late = late},
    [MAX_POOL_GRAD_APART] = {.name = "max_pool_grad_apart_plain", .late = late},
    [AVERAGE_POOL] = {.name = "average_pool_plain", .late = late},
    [AVERAGE_POOL_GRAD] = {.name = "average_pool_grad_plain", .late = late}};

static void bind_window(struct lower_ctx *c, enum pool_template form, const struct window *w, int64_t planes,
                        enum dtype type, bool padding)
{
    const bool lacks = form == AVERAGE_POOL_GRAD ? window_lacks_outputs(w) : window_leaves_input(w);
    lower_template(c, c->options.small ? &plain_templates[form] : &pool_templates[form], type);
    lower_template_pieces(c, planes);
    lower_template_int(c, "PLANES", planes);
    lower_template_int(c, "FLOATS", dtype_is_float(type));
    lower_template_int(c, "COLUMN_MAJOR", 0);
    lower_template_int(c, "PADDED", lacks);
    lower_template_int(c, "COUNT", window_equal_population(w, padding));
    /* a comparison or addition for each element */
    lower_template_flops(c, planes * window_size(w) * window_out_count(w));
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &w->axis[i];
        bind_axis(c, "", i, a->in);
        bind_axis(c, "O", i, a->out);
        bind_axis(c, "K", i, a->size);
        bind_axis(c, "S", i, a->stride);
        bind_axis(c, "L", i, a->dilation);
        bind_axis(c, "PAD_", i, a->pad_begin);
        bind_axis(c, "BEGIN_", i, padding ? -a->pad_begin : 0);
        bind_axis(c, "END_", i, padding ? a->in + a->pad_end : a->in);
        /* no hole: indices go that far */
        bind_axis(c, "PADDED_", i, a->in + a->pad_begin + a->pad_end + a->size * a->dilation);
    }
    bind_inside(c, &w->axis[WINDOW_AXES - 1]);
}

static void bind_operand(struct lower_ctx *c, const char *param, int i)
{
    const struct view v = lower_contiguous(c, i);
    const struct access a = {.buffer = v.buffer, .offset = v.offset};
    lower_template_operand(c, param, &a);
}

static void add_finish(struct lower_ctx *c, const char *hole, int output, int64_t planes, int64_t count)
{
    const struct view out = lower_out_view(c, output), to = view_of_buffer(out.buffer, &SHAPE(planes, count));
    struct part *p = lower_template_part(c, hole, 2, to.shape.dim);
    lower_store(c, p, &to, expr_result(c->arena, lower_out_dtype(c, output)));
}

static int64_t planes_of(const struct shape *x)
{
    return x->dim[0] * x->dim[1];
}

static bool max_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    const int64_t planes = planes_of(lower_shape(c, 0)), out = window_out_count(&w);
    if (!lower_wants(c, 1) && is_map(&w))
        return lower_max_map(c, &w);
    for (int o = 0; o < 2; o++)
        if (lower_wants(c, o))
            lower_out_view(c, o);
    if (planes * out == 0)
        return true;
    lower_contiguous(c, 0);
    lower_kernel(c, NULL);
    bind_window(c, MAX_POOL, &w, planes, lower_dtype(c, 0), false);
    lower_template_int(c, "COLUMN_MAJOR", op_attr_int(c->node, "storage_order"));
    bind_operand(c, "x", 0);
    if (lower_wants(c, 0))
        add_finish(c, "finish", 0, planes, out);
    if (lower_wants(c, 1))
        add_finish(c, "finish_index", 1, planes, out);
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

static bool lower_zeros(struct lower_ctx *c)
{
    return lower_map(c, expr_number(c->arena, lower_out_dtype(c, 0), 0));
}

static bool max_grad_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    const int64_t planes = planes_of(lower_shape(c, 0));
    const bool apart = lies_apart(&w) && window_size(&w) <= UNROLLED;
    if (planes * window_out_count(&w) == 0)
        return lower_zeros(c);
    lower_contiguous(c, 0);
    lower_contiguous(c, 1);
    lower_kernel(c, NULL);
    bind_window(c, apart ? MAX_POOL_GRAD_APART : MAX_POOL_GRAD, &w, planes, lower_dtype(c, 0), false);
    bind_operand(c, "x", 0);
    bind_operand(c, "dy", 1);
    if (!apart)
        lower_template_scratch(c, "scratch", window_in_count(&w));
    add_finish(c, "finish", 0, planes, window_in_count(&w));
    return true;
}

static bool average_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    const int64_t planes = planes_of(lower_shape(c, 0)), out = window_out_count(&w);
    if (is_map(&w) || planes * out == 0)
        return lower_average_map(c, &w);
    lower_contiguous(c, 0);
    lower_kernel(c, NULL);
    bind_window(c, AVERAGE_POOL, &w, planes, lower_dtype(c, 0), flag(c->node, "count_include_pad"));
    bind_operand(c, "x", 0);
    add_finish(c, "finish", 0, planes, out);
    return true;
}

static bool average_grad_lower(struct lower_ctx *c)
{
    const struct shape *x = lower_out_shape(c, 0);
    const struct window w = pool_window(c->node, x);
    if (planes_of(x) * window_out_count(&w) == 0)
        return lower_zeros(c);
    lower_contiguous(c, 0);
    lower_kernel(c, NULL);
    bind_window(c, AVERAGE_POOL_GRAD, &w, planes_of(x), lower_dtype(c, 0), flag(c->node, "count_include_pad"));
    bind_operand(c, "dy", 0);
    if (!c->options.small)
        lower_template_scratch(c, "scratch", window_in_count(&w));
    add_finish(c, "finish", 0, planes_of(x), window_in_count(&w));
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
             "{ y = AveragePool <kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\"> (x) }", .opset = 9},
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

const struct op_def op_defs_pool[] = {
    {.name = "MaxPool", .versions = max_versions, .inputs = max_inputs, .outputs = max_outputs, .attrs = max_attrs,
     .infer = max_infer, .axes = axes_samples_and_channels, .grad = max_grad, .eval = max_eval, .lower = max_lower,
     .bounded = bounded_samples, .samples = max_samples},
    {.domain = DOMAIN_STEPC, .name = "MaxPoolGrad", .versions = grad_versions, .inputs = max_grad_inputs,
     .outputs = grad_outputs, .attrs = max_attrs, .infer = max_grad_infer, .grad = max_grad_grad,
     .plain = max_grad_plain, .eval = max_grad_eval,
     .lower = max_grad_lower, .samples = max_grad_samples},
    {.name = "AveragePool", .versions = average_versions, .inputs = float_inputs, .outputs = float_outputs,
     .attrs = average_attrs, .infer = pool_infer, .axes = axes_samples_and_channels, .grad = average_grad,
     .plain = average_plain, .eval = average_eval, .lower = average_lower,
     .is_sum = true,
     .bounded = bounded_samples, .samples = average_samples},
    {.domain = DOMAIN_STEPC, .name = "AveragePoolGrad", .versions = grad_versions, .inputs = average_grad_inputs,
     .outputs = grad_outputs, .attrs = average_grad_attrs, .infer = average_grad_infer, .grad = average_grad_grad,
     .plain = average_grad_plain,
     .eval = average_grad_eval, .lower = average_grad_lower, .is_sum = true, .samples = average_grad_samples},
    {0}};
