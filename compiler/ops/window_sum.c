/* stepc.WindowSum: y[n,c,o] = the sum over positions t of the window, row-major, of x[n,c, o * stride + t * dilation],
 * from +0. Windows of more than 16 elements whose outputs are one element wide are summed as reductions along the last
 * axis are, in 16 lanes. Padding is not its business: zeros are put around x before. What LpPool and LRN are made of.
 * The derivative is a sum over windows again, with stride 1 over an image in which dy lies `stride` apart between
 * zeros; or, where windows lie side by side, dy stretched. So gradients of any order need nothing else. */
#include "ops/window_rules.h"

static const struct op_attr attrs[] = {
    WINDOW_LIST("dilations"),
    {.name = "kernel_shape", .type = ATTR_INTS, .required = true},
    WINDOW_LIST("strides"),
    {0}};
static const struct op_param inputs[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};

#define UNROLLED 16 /* elements of a window that are written out */

static struct window sum_window(const struct node *n)
{
    return window_of_kernel(n, &node_input(n, 0)->shape);
}

static bool sum_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    struct shape size;
    struct window w;
    if (window_infer_rank(c, 0) == 0 || !window_infer_kernel(c, x->rank - 2, true, &size) ||
        !window_infer(c, x, &size, &w))
        return false;
    const struct shape y = window_out_shape(&w, shape_size(x, 0), shape_size(x, 1));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- gradient --------------------------------------------------------------------------------------------------- */

/* Windows side by side. */
static bool lies_apart(const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++)
        if (w->axis[i].stride != w->axis[i].size || (w->axis[i].dilation != 1 && w->axis[i].size > 1))
            return false;
    return true;
}

/* [n, c, o...] -> [n, c, o..., 1] stretched to [n, c, o..., size], as [n, c, o size...]: what lies behind the last
 * windows is 0. */
static struct value *stretch(struct builder *b, struct value *dy, const struct window *w, const struct shape *x)
{
    struct shape apart = SHAPE_OF(shape_size(x, 0), shape_size(x, 1)), wide = apart, together = apart;
    int64_t zeros[2 * (2 + WINDOW_AXES)] = {0};
    bool has_zeros = false;
    for (int i = 0; i < w->rank; i++) {
        const struct window_axis *a = &w->axis[WINDOW_AXES - w->rank + i];
        const struct size out = window_out_size(a), size = {a->size, a->size_per};
        shape_add(&apart, out);
        shape_add(&wide, out);
        shape_add(&apart, size_constant(1));
        shape_add(&wide, size);
        shape_add(&together, size_product(out, size));
        zeros[x->rank + 2 + i] = a->in - a->out * a->size;
        has_zeros = has_zeros || a->in > a->out * a->size;
    }
    struct value *dx = build_reshape(b, build_expand(b, build_reshape(b, dy, &apart), &wide), &together);
    const size_t count = 2 * (size_t)x->rank;
    return has_zeros ? build_value(b, "Pad", NULL, (struct value *const[]){dx, build_ints(b, zeros, count)}, 2) : dx;
}

/* dy `stride` apart between zeros, reach - 1 of them in front and behind. */
static struct value *stuff(struct builder *b, struct value *dy, const struct window *w)
{
    int64_t start[2 + WINDOW_AXES] = {0}, step[2 + WINDOW_AXES];
    const size_t rank = (size_t)dy->shape.rank;
    struct shape shape = dy->shape;
    for (size_t d = 0; d < rank; d++)
        step[d] = 1;
    for (int i = 0; i < w->rank; i++) {
        const struct window_axis *a = &w->axis[WINDOW_AXES - w->rank + i];
        shape_set(&shape, 2 + i, size_sum(window_in_size(a), size_sum(window_reach(a), size_constant(-1))));
        start[2 + i] = window_reach(a).most - 1;
        step[2 + i] = a->out > 1 ? a->stride : 1;
    }
    return build_value(
        b, "stepc.SliceGrad",
        ATTRS(attr_dims("shape", &shape), attr_ints("starts", start, rank), attr_ints("steps", step, rank)), &dy,
        1);
}

static struct value *build_windows(struct builder *b, struct value *x, const struct window *w, bool strides)
{
    struct window_attrs a;
    window_make_attrs(w, &a);
    const struct attr kernel = a.attr[0], stride = a.attr[1], dilation = a.attr[2];
    return build_value(b, "stepc.WindowSum", strides ? ATTRS(kernel, stride, dilation) : ATTRS(kernel, dilation), &x,
                       1);
}

static bool sum_grad(struct grad_ctx *c)
{
    const struct window w = sum_window(c->node);
    const struct shape *x = &grad_input(c, 0)->shape;
    struct value *dy = grad_of_output(c, 0);
    if (shape_count(&dy->shape) == 0)
        return true;
    return grad_accumulate(
        c, 0, lies_apart(&w) ? stretch(c->b, dy, &w, x) : build_windows(c->b, stuff(c->b, dy, &w), &w, false));
}

struct value *window_build_sum(struct builder *b, struct value *x, const struct window *w)
{
    int64_t zeros[2 * (2 + WINDOW_AXES)] = {0};
    const int rank = x->shape.rank;
    bool has_zeros = false;
    for (int i = 0; i < w->rank; i++) {
        const struct window_axis *a = &w->axis[WINDOW_AXES - w->rank + i];
        const int64_t behind = (a->out - 1) * a->stride + window_reach(a).most - a->in - a->pad_begin;
        zeros[2 + i] = a->pad_begin;
        zeros[rank + 2 + i] = behind > 0 ? behind : 0;
        has_zeros = has_zeros || a->pad_begin > 0 || behind > 0;
    }
    if (has_zeros)
        x = build_value(b, "Pad", NULL, (struct value *const[]){x, build_ints(b, zeros, 2 * (size_t)rank)}, 2);
    return build_windows(b, x, w, true);
}

/* A convolution of each channel by itself with ones. */
static bool sum_plain(struct expand_ctx *c)
{
    const struct window w = sum_window(c->node);
    struct window_attrs a;
    struct value *const x = expand_in(c, 0);
    const struct shape y = node_output(c->node, 0)->shape;
    const struct shape ones = window_weights(&w, size_constant(1), size_constant(1));
    struct shape alone = x->shape;
    shape_set(&alone, 0, shape_size_range(&x->shape, 0, 2));
    shape_set(&alone, 1, size_constant(1));
    window_make_attrs(&w, &a);
    struct value *const weights = build_expand(c->b, build_like(c, x, 1.0), &ones);
    struct value *const sums = build_with(c, "Conv", a.attr, build_reshape(c->b, x, &alone), weights);
    return expand_out(c, 0, build_reshape(c->b, sums, &y));
}

/* ---- value ------------------------------------------------------------------------------------------------------ */

static bool sum_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct window w = sum_window(c->node);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), size = window_size(&w),
                  planes = x->shape.dim[0] * x->shape.dim[1];
    const bool in_lanes = size > UNROLLED && w.axis[WINDOW_AXES - 1].out == 1;
    double *y = eval_out_f(c, 0), *patch = arena_array(c->scratch, double, (size_t)size);
    for (int64_t k = 0; y != NULL && k < planes * out; k++) {
        double sum = 0;
        for (int64_t t = 0; t < size; t++) {
            patch[t] = x->f[k / out * in + window_element(&w, k % out, t)];
            sum = eval_round(c, sum + patch[t]);
        }
        y[k] = in_lanes ? eval_sum_lanes(c, x->dtype, patch, size, 1) : sum;
    }
    return true;
}

/* ---- code ------------------------------------------------------------------------------------------------------- */

/* Position t of all windows, over the dims of y. */
static const struct expr *load_position(struct lower_ctx *c, const struct view *x, const struct window *w, int64_t t)
{
    struct view v = *x;
    v.shape = *lower_out_shape(c, 0);
    for (int d = x->shape.rank - 1, i = WINDOW_AXES - 1; d >= 2; d--, i--) {
        const struct window_axis *a = &w->axis[i];
        v.offset += t % a->size * a->dilation * x->stride[d];
        v.stride[d] = a->stride * x->stride[d];
        t /= a->size;
    }
    return lower_load(c, &v);
}

static bool lower_written_out(struct lower_ctx *c, const struct view *x, const struct window *w)
{
    const struct expr *sum = expr_number(c->arena, lower_dtype(c, 0), 0);
    for (int64_t t = 0; t < window_size(w); t++)
        sum = expr_binary(c->arena, EXPR_ADD, sum, load_position(c, x, w, t));
    return lower_map(c, sum);
}

static void add_loop(struct view *x, struct view *y, int64_t extent, int64_t x_stride, int64_t y_stride)
{
    x->stride[x->shape.rank] = x_stride;
    y->stride[y->shape.rank] = y_stride;
    shape_add(&x->shape, size_constant(extent));
    shape_add(&y->shape, size_constant(extent));
}

/* Loops over n, c and the outputs but the last axis, then over the window, then over the last axis: its sums stand side
 * by side. */
static bool lower_as_loops(struct lower_ctx *c, const struct view *x, const struct window *w)
{
    const struct view y = lower_out_view(c, 0);
    const int last = WINDOW_AXES - 1, front = WINDOW_AXES - w->rank;
    struct view from = {.buffer = x->buffer, .offset = x->offset}, to = {.buffer = y.buffer, .offset = y.offset};
    for (int d = 0; d < 2; d++)
        add_loop(&from, &to, x->shape.dim[d], x->stride[d], y.stride[d]);
    for (int i = front; i < last; i++)
        add_loop(&from, &to, w->axis[i].out, x->stride[2 + i - front] * w->axis[i].stride, y.stride[2 + i - front]);
    const int window = from.shape.rank;
    for (int i = front; i <= last; i++)
        add_loop(&from, &to, w->axis[i].size, x->stride[2 + i - front] * w->axis[i].dilation, 0);
    add_loop(&from, &to, w->axis[last].out, x->stride[2 + last - front] * w->axis[last].stride,
             y.stride[2 + last - front]);
    lower_kernel(c, NULL);
    struct part *p = lower_part(c, &from.shape);
    for (int i = 0; i < w->rank; i++)
        p->reduced[window + i] = true;
    p->reduce = REDUCE_SUM;
    p->element = lower_load(c, &from);
    lower_store(c, p, &to, expr_result(c->arena, p->element->dtype));
    return true;
}

static bool sum_lower(struct lower_ctx *c)
{
    const struct window w = sum_window(c->node);
    const struct view x = lower_view_of(c, 0);
    return window_size(&w) <= UNROLLED ? lower_written_out(c, &x, &w) : lower_as_loops(c, &x, &w);
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text = "g (float[2,3,6,7] x) => (float[2,3,5,5] y) { y = stepc.WindowSum <kernel_shape = [2, 3]> (x) }"},
    {.text = "g (double[2,3,6,7] x) => (double[2,3,3,3] y) { y = stepc.WindowSum <kernel_shape = [2, 2], strides = [2, "
             "2]> (x) }"},
    {.text = "g (double[1,2,9,8] x) => (double[1,2,3,2] y) "
             "{ y = stepc.WindowSum <kernel_shape = [2, 3], strides = [3, 2], dilations = [2, 2]> (x) }"},
    {.text =
         "g (double[1,2,9] x) => (double[1,2,3] y) { y = stepc.WindowSum <kernel_shape = [2], strides = [3]> (x) }"},
    {.text = "g (float[2,2,7,23] x) => (float[2,2,2,19] y) { y = stepc.WindowSum <kernel_shape = [6, 5]> (x) }"},
    {.text = "g (float[2,2,9,23] x) => (float[2,2,2,4] y) "
             "{ y = stepc.WindowSum <kernel_shape = [4, 5], strides = [2, 5], dilations = [2, 1]> (x) }"},
    {.text =
         "g (float[2,3,37] x) => (float[2,3,1] y) { y = stepc.WindowSum <kernel_shape = [37], strides = [37]> (x) }"},
    {.text = "g (float[2,3,9,5] x) => (float[2,3,5,1] y) { y = stepc.WindowSum <kernel_shape = [5, 5]> (x) }"},
    {.text = "g (float[1,2,4,5,6] x) => (float[1,2,2,3,4] y) { y = stepc.WindowSum <kernel_shape = [3, 3, 3]> (x) }"},
    {.text = "g (double[1,2,4,5,6] x) => (double[1,2,2,2,3] y) { y = stepc.WindowSum <kernel_shape = [2, 2, 2], "
             "strides = [2, 2, 2]> (x) }"},
    {.text = "g (float[0,2,4] x) => (float[0,2,3] y) { y = stepc.WindowSum <kernel_shape = [2]> (x) }"},
    {.text = "g (bfloat16[1,2,6] x) => (bfloat16[1,2,4] y) { y = stepc.WindowSum <kernel_shape = [3]> (x) }"},
    {.text = "g (float[1,2,4] x) => (float[1,2,0] y) { y = stepc.WindowSum <kernel_shape = [5]> (x) }",
     .error = "does not fit"},
    {.text = "g (float[1,2,4] x) => (float[1,2,4] y) { y = stepc.WindowSum(x) }", .error = "kernel_shape"},
    {0}};

const struct op_def op_defs_window_sum[] = {{.domain = DOMAIN_STEPC,
                                             .name = "WindowSum",
                                             .versions = versions,
                                             .inputs = inputs,
                                             .outputs = outputs,
                                             .attrs = attrs,
                                             .infer = sum_infer,
                                             .grad = sum_grad,
                                             .plain = sum_plain,
                                             .eval = sum_eval,
                                             .lower = sum_lower,
                                             .samples = samples},
                                            {0}};
