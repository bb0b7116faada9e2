/* Conv, and stepc.ConvGradInput and stepc.ConvGradWeight, its derivatives. With i the input element that position t of
 * the window reads at output p (padding counts as zeros):
 *   Conv              y[n,o,p] = (sum over c, t of x[n,c,i] w[o,c,t]) + b[o]
 *   ConvGradInput    dx[n,c,i] =  sum over o, t of dy[n,o,p] w[o,c,t]            p: the output that reads i at t
 *   ConvGradWeight   dw[o,c,t] =  sum over n of (sum over p of dy[n,o,p] x[n,c,i])
 * The contract: one accumulator that starts from +0, terms added in index order (positions of windows and outputs
 * row-major), each product rounded. Padding is multiplied and added as well, which shows only where a weight is not
 * finite; ConvGradInput has no term where no output lies on i (between strides), and a zero where it would lie before
 * the first or after the last output. ConvGradWeight sums each image by itself and adds the sums in the order of n, so
 * that samples may arrive one at a time. b is added last. All three are sums of the same products, so each gradient of
 * each is one of the three again.
 * Spec: ONNX Conv-1, -11, -22 (22 only adds bfloat16). */
#include "ops/conv_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define GROUP {.name = "group", .type = ATTR_INT, .int_default = 1}
static const struct op_attr attrs[] = {{.name = "auto_pad", .type = ATTR_STRING, .string_default = "NOTSET"},
                                       WINDOW_LIST("dilations"), GROUP, WINDOW_LIST("kernel_shape"),
                                       WINDOW_LIST("pads"), WINDOW_LIST("strides"), {0}};
static const struct op_version versions[] = {{.since = 1, .dtypes = FLOATS_1},
                                             {.since = 11, .dtypes = FLOATS_1},
                                             {.since = 22},
                                             {0}};

#define PARAM(label, marks) {.name = (label), .type = 'T', .dtypes = DTYPES_FLOATS, .flags = (marks)}
static const struct op_param inputs[] = {PARAM("X", 0), PARAM("W", 0), PARAM("B", PARAM_OPTIONAL), {0}};
static const struct op_param outputs[] = {PARAM("Y", 0), {0}};

/* `shape`: of x, where strides leave open which one it was. */
static const struct op_attr grad_attrs[] = {
    WINDOW_LIST("dilations"), GROUP, WINDOW_LIST("kernel_shape"), WINDOW_LIST("pads"), WINDOW_LIST("shape"),
    WINDOW_LIST("strides"), {0}};
static const struct op_version grad_versions[] = {{.since = 1}, {0}};
static const struct op_param input_grad_inputs[] = {PARAM("dY", 0), PARAM("W", 0), {0}};
static const struct op_param input_grad_outputs[] = {PARAM("dX", 0), {0}};
static const struct op_param weight_grad_inputs[] = {PARAM("dY", 0), PARAM("X", 0), {0}};
static const struct op_param weight_grad_outputs[] = {PARAM("dW", 0), {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

struct conv conv_make(const struct node *n, const struct shape *x, struct size out_channels, const struct shape *size)
{
    struct conv v = {.n = x->dim[0], .groups = op_attr_int(n, "group"), .images = shape_size(x, 0),
                     .channels = shape_size(x, 1)};
    v.c = x->dim[1] / v.groups;
    v.o = out_channels.most / v.groups;
    v.window = window_of(n, x, size);
    return v;
}

static struct conv conv_of(const struct node *n)
{
    const struct shape *const w = &node_input(n, 1)->shape, size = window_of_weights(w);
    return conv_make(n, &node_input(n, 0)->shape, shape_size(w, 0), &size);
}

static struct conv input_grad_of(const struct node *n)
{
    const struct shape x = window_shape(n), *const w = &node_input(n, 1)->shape, size = window_of_weights(w);
    return conv_make(n, &x, shape_size(w, 0), &size);
}

static struct conv weight_grad_of(const struct node *n)
{
    const struct shape size = op_attr_dims(n, "kernel_shape");
    return conv_make(n, &node_input(n, 1)->shape, shape_size(&node_input(n, 0)->shape, 1), &size);
}

static bool check_group(struct infer_ctx *c, const char *what, int64_t channels)
{
    const int64_t groups = op_attr_int(c->node, "group");
    if (groups < 1)
        return infer_error(c, "attribute 'group' is %lld, expected 1 or more", (long long)groups);
    return channels % groups == 0 || infer_error(c, "%lld %s channels cannot be divided into %lld groups",
                                                 (long long)channels, what, (long long)groups);
}

bool conv_infer_weights(struct infer_ctx *c, const struct shape *x, int i)
{
    const struct value *w = infer_in(c, i);
    struct shape size;
    if (w->shape.rank != x->rank)
        return infer_error(c, "input %d '%s' has rank %d, expected %d", i, w->name, w->shape.rank, x->rank);
    if (!window_infer_kernel(c, x->rank - 2, false, &size) || !check_group(c, "input", x->dim[1]) ||
        !check_group(c, "output", w->shape.dim[0]))
        return false;
    for (int s = 0; s < size.rank; s++)
        if (size.dim[s] != w->shape.dim[2 + s])
            return infer_error(c, "attribute 'kernel_shape' has %lld for spatial axis %d, but input %d '%s' has %lld",
                               (long long)size.dim[s], s, i, w->name, (long long)w->shape.dim[2 + s]);
    const int64_t expected = x->dim[1] / op_attr_int(c->node, "group");
    return w->shape.dim[1] == expected || infer_error(c, "input %d '%s' is for %lld channels, expected %lld", i,
                                                      w->name, (long long)w->shape.dim[1], (long long)expected);
}

static bool check_bias(struct infer_ctx *c)
{
    const struct value *b = infer_in(c, 2);
    const int64_t channels = infer_shape(c, 1)->dim[0];
    if (b == NULL || (b->shape.rank == 1 && b->shape.dim[0] == channels))
        return true;
    return infer_error(c, "input 2 '%s' is not a list of %lld numbers, one per output channel", b->name,
                       (long long)channels);
}

static bool conv_infer(struct infer_ctx *c)
{
    struct window w;
    if (window_infer_rank(c, 0) == 0 || !conv_infer_weights(c, infer_shape(c, 0), 1) || !check_bias(c))
        return false;
    const struct shape size = window_of_weights(infer_shape(c, 1));
    if (!window_infer(c, infer_shape(c, 0), &size, &w))
        return false;
    const struct shape y = window_out_shape(&w, shape_size(infer_shape(c, 0), 0), shape_size(infer_shape(c, 1), 0));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* Is input 0 what a convolution of x would give? */
static bool check_dy(struct infer_ctx *c, const struct shape *x, struct size channels, const struct shape *size)
{
    struct window w;
    if (!window_infer(c, x, size, &w))
        return false;
    const struct shape y = window_out_shape(&w, shape_size(x, 0), channels);
    return shape_equal(&y, infer_shape(c, 0)) ||
           infer_error(c, "input 0 '%s' does not have the shape of the convolution's output", infer_in(c, 0)->name);
}

static bool input_grad_infer(struct infer_ctx *c)
{
    struct shape x;
    if (!window_infer_shape(c, &x) || !conv_infer_weights(c, &x, 1))
        return false;
    const struct shape *const w = infer_shape(c, 1), size = window_of_weights(w);
    return check_dy(c, &x, shape_size(w, 0), &size) && infer_out(c, 0, DTYPE_UNDEFINED, &x);
}

static bool weight_grad_infer(struct infer_ctx *c)
{
    struct shape size;
    const int rank = window_infer_rank(c, 0);
    if (rank == 0 || window_infer_rank(c, 1) == 0)
        return false;
    const struct shape *dy = infer_shape(c, 0), *x = infer_shape(c, 1);
    if (x->rank != dy->rank)
        return infer_error(c, "inputs have ranks %d and %d, expected the same", dy->rank, x->rank);
    if (!window_infer_kernel(c, rank, true, &size) || !check_group(c, "input", x->dim[1]) ||
        !check_group(c, "output", dy->dim[1]) || !check_dy(c, x, shape_size(dy, 1), &size))
        return false;
    struct shape w = SHAPE_OF(shape_size(dy, 1), size_quotient(shape_size(x, 1), op_attr_int(c->node, "group")));
    for (int i = 0; i < rank; i++)
        shape_take(&w, &size, i);
    return infer_out(c, 0, DTYPE_UNDEFINED, &w);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static struct value *build_conv(struct grad_ctx *c, const struct conv *v, struct value *x, struct value *w)
{
    struct window_attrs a;
    window_make_attrs(&v->window, &a);
    a.attr[WINDOW_ATTRS] = attr_int("group", v->groups);
    return build_with(c, "Conv", a.attr, x, w);
}

static struct value *build_input_grad(struct grad_ctx *c, const struct conv *v, struct value *dy, struct value *w)
{
    struct window_attrs a;
    window_make_attrs(&v->window, &a);
    struct shape shape = SHAPE_OF(v->images, v->channels);
    for (int i = 0; i < v->window.rank; i++)
        shape_add(&shape, window_in_size(&v->window.axis[WINDOW_AXES - v->window.rank + i]));
    a.attr[WINDOW_ATTRS] = attr_int("group", v->groups);
    a.attr[WINDOW_ATTRS + 1] = attr_dims("shape", &shape);
    return build_with(c, "stepc.ConvGradInput", a.attr, dy, w);
}

static struct value *build_weight_grad(struct grad_ctx *c, const struct conv *v, struct value *dy, struct value *x)
{
    struct window_attrs a;
    window_make_attrs(&v->window, &a);
    a.attr[WINDOW_ATTRS] = attr_int("group", v->groups);
    return build_with(c, "stepc.ConvGradWeight", a.attr, dy, x);
}

/* db[o] = the sum of dy over all other axes */
static struct value *build_bias_grad(struct grad_ctx *c, struct value *dy)
{
    int axes[SHAPE_MAX_RANK], count = 0;
    for (int d = 0; d < dy->shape.rank; d++)
        if (d != 1)
            axes[count++] = d;
    return build_reduce_sum(c->b, dy, axes, (size_t)count, false);
}

static bool conv_grad(struct grad_ctx *c)
{
    const struct conv v = conv_of(c->node);
    struct value *x = grad_input(c, 0), *w = grad_input(c, 1), *dy = grad_of_output(c, 0);
    if (grad_wants(c, 0) && !grad_accumulate(c, 0, build_input_grad(c, &v, dy, w)))
        return false;
    if (grad_wants(c, 1) && !grad_accumulate(c, 1, build_weight_grad(c, &v, dy, x)))
        return false;
    return !grad_wants(c, 2) || grad_accumulate(c, 2, build_bias_grad(c, dy));
}

/* dx = ConvGradInput(dy, w), u flows into dx. */
static bool input_grad_grad(struct grad_ctx *c)
{
    const struct conv v = input_grad_of(c->node);
    struct value *dy = grad_input(c, 0), *w = grad_input(c, 1), *u = grad_of_output(c, 0);
    if (grad_wants(c, 0) && !grad_accumulate(c, 0, build_conv(c, &v, u, w)))
        return false;
    return !grad_wants(c, 1) || grad_accumulate(c, 1, build_weight_grad(c, &v, dy, u));
}

/* dw = ConvGradWeight(dy, x), u flows into dw. */
static bool weight_grad_grad(struct grad_ctx *c)
{
    const struct conv v = weight_grad_of(c->node);
    struct value *dy = grad_input(c, 0), *x = grad_input(c, 1), *u = grad_of_output(c, 0);
    if (grad_wants(c, 0) && !grad_accumulate(c, 0, build_conv(c, &v, x, u)))
        return false;
    return !grad_wants(c, 1) || grad_accumulate(c, 1, build_input_grad(c, &v, dy, u));
}

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

/* ConvTranspose: what the map has beyond x is cut off; what windows do not reach is added as zeros. */
static bool input_grad_plain(struct expand_ctx *c)
{
    const struct conv v = input_grad_of(c->node);
    const int rank = v.window.rank;
    int64_t pads[2 * WINDOW_AXES], extra[WINDOW_AXES];
    struct window_attrs a;
    for (int i = 0; i < rank; i++) {
        const struct window_axis *const w = &v.window.axis[WINDOW_AXES - rank + i];
        const int64_t whole = (w->out - 1) * w->stride + (w->size - 1) * w->dilation + 1;
        const int64_t behind = whole - w->pad_begin - w->in;
        pads[i] = w->pad_begin;
        pads[rank + i] = behind > 0 ? behind : 0;
        extra[i] = behind < 0 ? -behind : 0;
    }
    window_make_attrs(&v.window, &a);
    const struct attr *how = ATTRS(a.attr[0], a.attr[1], a.attr[2], attr_ints("pads", pads, 2 * (size_t)rank),
                                     attr_ints("output_padding", extra, (size_t)rank), attr_int("group", v.groups));
    return expand_out(c, 0, build_with(c, "ConvTranspose", how, expand_in(c, 0), expand_in(c, 1)));
}

/* [n, groups k, i...] as [k, groups n, i...] */
static struct value *channels_in_front(struct builder *b, struct value *x, int64_t groups)
{
    const struct size n = shape_size(&x->shape, 0), of_group = size_constant(x->shape.dim[1] / groups);
    struct shape apart = SHAPE_OF(n, size_constant(groups), of_group);
    struct shape together = SHAPE_OF(of_group, size_product(n, size_constant(groups)));
    int perm[SHAPE_MAX_RANK] = {2, 1, 0};
    for (int d = 2; d < x->shape.rank; d++) {
        perm[apart.rank] = apart.rank;
        shape_take(&apart, &x->shape, d), shape_take(&together, &x->shape, d);
    }
    return build_reshape(b, build_transpose(b, build_reshape(b, x, &apart), perm), &together);
}

static struct value *exchange_first(struct builder *b, struct value *x)
{
    int perm[SHAPE_MAX_RANK];
    for (int d = 0; d < x->shape.rank; d++)
        perm[d] = d < 2 ? 1 - d : d;
    return build_transpose(b, x, perm);
}

/* Only what the window sees: strides may leave elements at the end. */
static struct value *first_positions(struct builder *b, struct value *x, const struct conv *v)
{
    int64_t start[WINDOW_AXES] = {0}, end[WINDOW_AXES], axes[WINDOW_AXES];
    const size_t rank = (size_t)v->window.rank;
    for (size_t i = 0; i < rank; i++) {
        end[i] = v->window.axis[WINDOW_AXES - rank + i].size;
        axes[i] = (int64_t)i + 2;
    }
    struct value *const in[] = {x, build_ints(b, start, rank), build_ints(b, end, rank), build_ints(b, axes, rank)};
    return build_value(b, "Slice", NULL, in, 4);
}

/* A convolution whose images are the channels of x and whose windows are dy, with strides and dilations exchanged:
 *   dw[o, c, t] = sum over n, p of x[n, c, p stride + t dilation] dy[n, o, p] */
static bool weight_grad_plain(struct expand_ctx *c)
{
    const struct conv v = weight_grad_of(c->node);
    const int rank = v.window.rank;
    int64_t pads[2 * WINDOW_AXES];
    struct window_attrs a;
    struct value *const dy = expand_in(c, 0);
    for (int i = 0; i < rank; i++) {
        const struct window_axis *const w = &v.window.axis[WINDOW_AXES - rank + i];
        const int64_t behind = (w->out - 1) * w->stride + (w->size - 1) * w->dilation + 1 - w->in - w->pad_begin;
        pads[i] = w->pad_begin;
        pads[rank + i] = behind > 0 ? behind : 0;
    }
    window_make_attrs(&v.window, &a);
    struct attr strides = a.attr[2], dilations = a.attr[1];
    strides.name = "strides";
    dilations.name = "dilations";
    struct value *const images = channels_in_front(c->b, expand_in(c, 1), v.groups);
    const struct attr *how = ATTRS(attr_ints("kernel_shape", dy->shape.dim + 2, (size_t)rank), strides, dilations,
                                     attr_ints("pads", pads, 2 * (size_t)rank), attr_int("group", v.groups));
    struct value *const dw = build_with(c, "Conv", how, images, exchange_first(c->b, dy));
    return expand_out(c, 0, exchange_first(c->b, first_positions(c->b, dw, &v)));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* patch[t] = x[at[t]], 0 in the padding */
static void fill_patch(const double *x, const int64_t *at, int64_t count, double *patch)
{
    for (int64_t t = 0; t < count; t++)
        patch[t] = at[t] < 0 ? 0 : x[at[t]];
}

static bool conv_eval(struct eval_ctx *c)
{
    const struct conv v = conv_of(c->node);
    const int64_t size = window_size(&v.window), in = window_in_count(&v.window), out = window_out_count(&v.window);
    const int64_t channels = v.groups * v.o, terms = v.c * size;
    int64_t *const at = arena_array(c->scratch, int64_t, (size_t)size);
    double *const patch = arena_array(c->scratch, double, (size_t)terms);
    double *y = eval_out_f(c, 0);
    for (int64_t p = 0; y != NULL && p < out; p++) {
        for (int64_t t = 0; t < size; t++)
            at[t] = window_element(&v.window, p, t);
        for (int64_t plane = 0; plane < v.n * v.groups; plane++) {
            for (int64_t k = 0; k < v.c; k++)
                fill_patch(eval_f(c, 0) + (plane * v.c + k) * in, at, size, patch + k * size);
            for (int64_t o = plane * v.o; o < (plane + 1) * v.o; o++) {
                const double sum = eval_dot(c, terms, terms, patch, 1, eval_f(c, 1) + o % channels * terms, 1);
                y[o * out + p] = eval_has(c, 2) ? eval_round(c, sum + eval_f(c, 2)[o % channels]) : sum;
            }
        }
    }
    return true;
}

enum output_kind { NO_OUTPUT, OUTSIDE, OUTPUT };

/* The output that reads input `at` at position `tap` of its window. */
static enum output_kind output_at(const struct window_axis *a, int64_t at, int64_t tap, int64_t *out)
{
    const int64_t distance = at + a->pad_begin - tap * a->dilation;
    *out = distance / a->stride;
    if (distance % a->stride != 0)
        return NO_OUTPUT;
    return distance >= 0 && *out < a->out ? OUTPUT : OUTSIDE;
}

static enum output_kind output_of(const struct window *w, int64_t in, int64_t tap, int64_t *out)
{
    const struct window_axis *a = w->axis;
    int64_t x, y, z;
    const enum output_kind kinds[] = {
        output_at(&a[2], in % a[2].in, tap % a[2].size, &x),
        output_at(&a[1], in / a[2].in % a[1].in, tap / a[2].size % a[1].size, &y),
        output_at(&a[0], in / a[2].in / a[1].in, tap / a[2].size / a[1].size, &z)};
    enum output_kind least = OUTPUT;
    for (int i = 0; i < WINDOW_AXES; i++)
        least = kinds[i] < least ? kinds[i] : least;
    *out = (z * a[1].out + y) * a[2].out + x;
    return least;
}

/* Of one input element: the positions of windows at which any output reads it, and that output (-1: one
 * that does not exist). */
static int64_t find_readers(const struct window *w, int64_t in, int64_t *tap, int64_t *out)
{
    const int64_t size = window_size(w);
    int64_t count = 0;
    for (int64_t t = 0; t < size; t++) {
        const enum output_kind kind = output_of(w, in, t, &out[count]);
        if (kind == NO_OUTPUT)
            continue;
        if (kind == OUTSIDE)
            out[count] = -1;
        tap[count++] = t;
    }
    return count;
}

static bool input_grad_eval(struct eval_ctx *c)
{
    const struct conv v = input_grad_of(c->node);
    const int64_t size = window_size(&v.window), in = window_in_count(&v.window), out = window_out_count(&v.window);
    int64_t *const tap = arena_array(c->scratch, int64_t, (size_t)size);
    int64_t *const at = arena_array(c->scratch, int64_t, (size_t)size);
    double *const patch = arena_array(c->scratch, double, (size_t)(v.o * size));
    double *const w = arena_array(c->scratch, double, (size_t)(v.o * size));
    double *dx = eval_out_f(c, 0);
    for (int64_t i = 0; dx != NULL && i < in; i++) {
        const int64_t readers = find_readers(&v.window, i, tap, at);
        for (int64_t plane = 0; plane < v.n * v.groups; plane++) {
            const double *const weights = eval_f(c, 1) + plane % v.groups * v.o * v.c * size;
            for (int64_t o = 0; o < v.o; o++)
                fill_patch(eval_f(c, 0) + (plane * v.o + o) * out, at, readers, patch + o * readers);
            for (int64_t k = 0; k < v.c; k++) {
                for (int64_t o = 0; o < v.o; o++)
                    fill_patch(weights + (o * v.c + k) * size, tap, readers, w + o * readers);
                dx[(plane * v.c + k) * in + i] = eval_dot(c, v.o * readers, v.o * readers, patch, 1, w, 1);
            }
        }
    }
    return true;
}

/* Sums over one image, then over the images. */
static bool weight_grad_eval(struct eval_ctx *c)
{
    const struct conv v = weight_grad_of(c->node);
    const int64_t size = window_size(&v.window), in = window_in_count(&v.window), out = window_out_count(&v.window);
    int64_t *const at = arena_array(c->scratch, int64_t, (size_t)out);
    double *const patch = arena_array(c->scratch, double, (size_t)out);
    double *dw = eval_out_f(c, 0);
    for (int64_t t = 0; dw != NULL && t < size; t++) {
        for (int64_t p = 0; p < out; p++)
            at[p] = window_element(&v.window, p, t);
        for (int64_t plane = 0; plane < v.n * v.groups; plane++)
            for (int64_t k = 0; k < v.c; k++) {
                fill_patch(eval_f(c, 1) + (plane * v.c + k) * in, at, out, patch);
                for (int64_t o = 0; o < v.o; o++) {
                    double *const total = &dw[((plane % v.groups * v.o + o) * v.c + k) * size + t];
                    *total = eval_round(c, *total + eval_dot(c, out, out, eval_f(c, 0) + (plane * v.o + o) * out, 1,
                                                             patch, 1));
                }
            }
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool lower_conv_forward(struct lower_ctx *c)
{
    const struct conv v = conv_of(c->node);
    const enum dtype d = lower_out_dtype(c, 0);
    const struct expr *sum = expr_result(c->arena, d);
    if (lower_has(c, 2)) {
        struct view bias = lower_view_of(c, 2);
        bias.shape = SHAPE(v.n, v.groups * v.o, window_out_count(&v.window));
        bias.stride[1] = bias.stride[0];
        bias.stride[0] = bias.stride[2] = 0;
        sum = expr_binary(c->arena, EXPR_ADD, sum, lower_load(c, &bias));
    }
    return conv_lower(c, &v, CONV_Y, 0, 1, sum);
}

static bool input_grad_lower(struct lower_ctx *c)
{
    const struct conv v = input_grad_of(c->node);
    return conv_lower(c, &v, CONV_X, 0, 1, expr_result(c->arena, lower_out_dtype(c, 0)));
}

static bool weight_grad_lower(struct lower_ctx *c)
{
    const struct conv v = weight_grad_of(c->node);
    return conv_lower(c, &v, CONV_W, 0, 1, expr_result(c->arena, lower_out_dtype(c, 0)));
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text = "g (float[2,3,6,7] x, float[9,3,3,3] w, float[9] b) => (float[2,9,4,5] y) { y = Conv(x, w, b) }"},
    {.text = "g (double[2,3,6,7] x, double[4,3,3,2] w, double[4] b) => (double[2,4,6,8] y) "
             "{ y = Conv <pads = [1, 1, 1, 1]> (x, w, b) }"},
    {.text = "g (double[1,2,9,8] x, double[3,2,3,3] w) => (double[1,3,4,3] y) "
             "{ y = Conv <strides = [2, 3], pads = [0, 1, 1, 1]> (x, w) }"},
    {.text = "g (double[2,2,9,8] x, double[3,2,2,3] w) => (double[2,3,3,4] y) "
             "{ y = Conv <strides = [2, 1], dilations = [3, 2]> (x, w) }"},
    {.text = "g (float[2,2,21,20] x, float[17,2,5,5] w, float[17] b) => (float[2,17,21,20] y) "
             "{ y = Conv <auto_pad = \"SAME_UPPER\", kernel_shape = [5, 5]> (x, w, b) }"},
    {.text = "g (double[1,1,5,5] x, double[1,1,2,2] w) => (double[1,1,3,3] y) "
             "{ y = Conv <auto_pad = \"SAME_LOWER\", strides = [2, 2]> (x, w) }"},
    {.text = "g (double[1,1,5,5] x, double[1,1,2,2] w) => (double[1,1,4,4] y) "
             "{ y = Conv <auto_pad = \"VALID\", pads = [1, 1, 1, 1]> (x, w) }"},
    {.text = "g (float[63,6,9,7] x, float[9,6,5,5] w, float[9] b) => (float[63,9,9,7] y) "
             "{ y = Conv <pads = [2, 2, 2, 2]> (x, w, b) }"},
    {.text = "g (float[63,8,9,7] x, float[10,4,5,5] w) => (float[63,10,5,4] y) "
             "{ y = Conv <group = 2, strides = [2, 2], pads = [2, 2, 2, 2]> (x, w) }"},
    {.text = "g (double[63,6,9,9] x, double[9,6,3,3] w) => (double[63,9,5,5] y) "
             "{ y = Conv <dilations = [2, 2]> (x, w) }"},
    {.text = "g (double[2,6,5,4] x, double[4,3,3,3] w, double[4] b) => (double[2,4,5,4] y) "
             "{ y = Conv <group = 2, pads = [1, 1, 1, 1]> (x, w, b) }"},
    {.text = "g (float[2,20,7,9] x, float[20,1,3,3] w, float[20] b) => (float[2,20,7,9] y) "
             "{ y = Conv <group = 20, pads = [1, 1, 1, 1]> (x, w, b) }"},
    {.text = "g (double[2,3,7,9] x, double[6,1,3,3] w) => (double[2,6,4,5] y) "
             "{ y = Conv <group = 3, strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) }"},
    {.text = "g (float[2,18,9,10] x, float[18,1,3,3] w) => (float[2,18,5,5] y) "
             "{ y = Conv <group = 18, strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) }"},
    {.text = "g (double[2,5,4,20] x, double[5,1,3,3] w) => (double[2,5,4,20] y) "
             "{ y = Conv <group = 5, pads = [1, 1, 1, 1]> (x, w) }"},
    {.text = "g (double[1,9,9,8] x, double[9,1,2,3] w) => (double[1,9,6,4] y) "
             "{ y = Conv <group = 9, dilations = [3, 2]> (x, w) }"},
    {.text = "g (double[1,4,4,4] x, double[4,1,2,2] w) => (double[1,4,9,9] y) "
             "{ y = Conv <group = 4, pads = [3, 3, 3, 3]> (x, w) }"},
    {.text = "g (double[1,9,9,8] x, double[9,1,2,3] w) => (double[1,9,11,8] y) "
             "{ y = Conv <group = 9, pads = [3, 1, 0, 1]> (x, w) }"},
    {.text = "g (float[2,19,31,9] x, float[19,1,5,5] w, float[19] b) => (float[2,19,28,9] y) "
             "{ e = Relu(x) y = Conv <group = 19, dilations = [2, 1], pads = [1, 3, 4, 1]> (e, w, b) }"},
    {.text = "g (double[3,4,3,2] x, double[4,1,3,2] w) => (double[3,4,3,2] y) "
             "{ y = Conv <group = 4, pads = [1, 1, 1, 0]> (x, w) }"},
    {.text = "g (float[2,5,9] x, float[5,1,3] w) => (float[2,5,9] y) { y = Conv <group = 5, pads = [1, 1]> (x, w) }"},
    {.text = "g (double[2,3,4,5] x, double[3,1,2,3] w) => (double[2,3,7,5] y) "
             "{ y = Conv <group = 3, dilations = [1, 2], pads = [0, 4, 4, 0]> (x, w) }"},
    {.text = "g (float[1,6,3,4,5] x, float[6,1,2,3,2] w) => (float[1,6,2,2,4] y) { y = Conv <group = 6> (x, w) }"},
    {.text = "g (float[2,3,5,16] x, float[9,3,3,3] w, float[9] b) => (float[2,9,5,16] y) "
             "{ y = Conv <pads = [1, 1, 1, 1]> (x, w, b) }"},
    {.text = "g (float[1,2,3,48] x, float[5,2,3,3] w) => (float[1,5,3,48] y) "
             "{ y = Conv <pads = [1, 2, 1, 0]> (x, w) }"},
    {.text = "g (float[1,2,7,13] x, float[6,2,3,4] w, float[6] b) => (float[1,6,7,11] y) "
             "{ f = Conv <pads = [1, 1, 1, 0]> (x, w, b) y = Relu(f) }"},
    {.text = "g (float[1,2,9,13] x, float[16,2,4,4] w) => (float[1,16,6,10] y) { f = Conv(x, w) y = Relu(f) }"},
    {.text = "g (float[1,2,6,32] x, float[11,2,3,3] w) => (float[1,11,3,16] y) "
             "{ y = Conv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, w) }"},
    {.text = "g (double[1,2,5,24] x, double[3,2,2,3] w) => (double[1,3,2,8] y) { y = Conv <strides = [2, 3]> (x, w) }"},
    {.text = "g (float[2,3,7,5] x, float[10,3,1,1] w, float[10] b) => (float[2,10,7,5] y) { y = Conv(x, w, b) }"},
    {.text = "g (float[2,9,6,5] x, float[10,9,1,1] w, float[10] b) => (float[2,10,6,5] y) { y = Conv(x, w, b) }"},
    {.text = "g (double[2,3,6,5] x, double[4,3,1,1] w) => (double[2,4,3,3] y) { y = Conv <strides = [2, 2]> (x, w) }"},
    {.text = "g (double[2,4,5] x, double[6,2,1] w) => (double[2,6,5] y) { y = Conv <group = 2> (x, w) }"},
    {.text = "g (double[2,3,9] x, double[4,3,3] w, double[4] b) => (double[2,4,5] y) "
             "{ y = Conv <strides = [2], dilations = [2], pads = [2, 2]> (x, w, b) }"},
    {.text = "g (double[2,2,4,5,6] x, double[3,2,2,3,2] w, double[3] b) => (double[2,3,3,2,7] y) "
             "{ y = Conv <strides = [1, 2, 1], pads = [0, 0, 1, 0, 0, 1]> (x, w, b) }"},
    {.text = "g (float[2,3,7,5] x, float[9,3,3,3] w) => (float[2,9,7,5] y) "
             "{ y = Conv <dilations = [1, 2], pads = [1, 2, 1, 2]> (x, w) }"},
    {.text = "g (double[1,2,3,7] x, double[3,2,1,4] w) => (double[1,3,3,7] y) "
             "{ y = Conv <pads = [0, 1, 0, 2]> (x, w) }"},
    {.text = "g (double[1,2,3,4,5] x, double[3,2,3,2,3] w) => (double[1,3,3,5,5] y) "
             "{ y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w) }"},
    /* copies of planes that no zeros part */
    {.text = "g (double[1,2,3,4,5] x, double[3,2,2,2,3] w) => (double[1,3,4,5,5] y) "
             "{ y = Conv <pads = [1, 1, 1, 1, 1, 1]> (x, w) }"},
    {.text = "g (float[1,2,4,4,5] x, float[3,2,1,3,3] w) => (float[1,3,4,4,5] y) "
             "{ y = Conv <pads = [0, 1, 1, 0, 1, 1]> (x, w) }"},
    {.text = "g (float[2,3,7] x, float[4,3,3] w, float[4] b) => (float[2,4,7] y) "
             "{ y = Conv <pads = [1, 1]> (x, w, b) }"},
    /* windows larger than the image */
    {.text = "g (float[2,4,3,2] x, float[8,2,5,4] w, float[8] b) => (float[2,8,2,3] y) "
             "{ y = Conv <group = 2, strides = [2, 1], pads = [3, 1, 2, 3]> (x, w, b) }"},
    {.text = "g (double[2,6,7,8] x, double[6,3,3,3] w) => (double[2,6,2,5] y) "
             "{ y = Conv <group = 2, strides = [3, 2], dilations = [2, 1], pads = [1, 0, 2, 3]> (x, w) }"},
    /* lines of one element, between zeros */
    {.text = "g (float[1,2,7,1] x, float[3,2,3,1] w) => (float[1,3,7,1] y) { y = Conv <pads = [1, 0, 1, 0]> (x, w) }"},
    {.text = "g (float[1,2,11,3] x, float[5,2,2,2] w) => (float[1,5,5,1] y) { y = Conv <strides = [2, 2]> (x, w) }"},
    {.text = "g (float[2,3,7,5] x, float[9,3,3,3] w) => (float[2,9,7,5] y) "
             "{ e = Tanh(x) y = Conv <pads = [1, 1, 1, 1]> (e, w) }"},
    {.text = "g (double[2,18,5,20] x, double[18,1,3,3] w) => (double[2,18,3,10] y) "
             "{ e = Tanh(x) y = Conv <group = 18, strides = [2, 2], pads = [1, 1, 1, 1]> (e, w) }"},
    {.text = "g (float[2,5,9] x, float[9,5,1] w) => (float[2,9,9] y) { e = Tanh(x) f = Conv(e, w) y = Tanh(f) }"},
    {.text = "g (float[2,0,4,4] x, float[3,0,2,2] w, float[3] b) => (float[2,3,3,3] y) { y = Conv(x, w, b) }"},
    {.text = "g (float[0,2,4,4] x, float[3,2,2,2] w) => (float[0,3,3,3] y) { y = Conv(x, w) }"},
    {.text = "g (float[1,3,4,4] x, float[2,2,3,3] w) => (float[1,2,2,2] y) { y = Conv(x, w) }",
     .error = "is for 2 channels, expected 3"},
    {.text = "g (float[1,3,4,4] x, float[2,3,5,5] w) => (float[1,2,1,1] y) { y = Conv(x, w) }",
     .error = "does not fit"},
    {.text = "g (float[1,3,4,4] x, float[2,3,3] w) => (float[1,2,2,2] y) { y = Conv(x, w) }",
     .error = "has rank 3, expected 4"},
    {.text = "g (float[1,3,4,4] x, float[2,3,3,3] w) => (float[1,2,2,2] y) { y = Conv <kernel_shape = [3, 2]> (x, w) }",
     .error = "has 2 for spatial axis 1"},
    {.text = "g (float[1,3,4,4] x, float[2,3,3,3] w) => (float[1,2,2,2] y) { y = Conv <strides = [0, 1]> (x, w) }",
     .error = "attribute 'strides' contains 0"},
    {.text = "g (float[1,3,4,4] x, float[2,3,3,3] w) => (float[1,2,2,2] y) { y = Conv <pads = [1, 1]> (x, w) }",
     .error = "attribute 'pads' has 2 numbers, expected 4"},
    {.text = "g (float[1,3,4,4] x, float[2,1,3,3] w) => (float[1,2,2,2] y) { y = Conv <group = 2> (x, w) }",
     .error = "cannot be divided into 2 groups"},
    {.text = "g (float[1,3,4,4] x, float[2,3,3,3] w, float[3] b) => (float[1,2,2,2] y) { y = Conv(x, w, b) }",
     .error = "not a list of 2 numbers"},
    {.text = "g (float[3,4] x, float[2,3] w) => (float[1,2] y) { y = Conv(x, w) }",
     .error = "has rank 2, expected 3 to 5"},
    {.text = "g (float16[2,3,5,5] x, float16[4,3,3,3] w, float16[4] b) => (float16[2,4,5,5] y) "
             "{ y = Conv <pads = [1,1,1,1]> (x, w, b) }"},
    {0}};

static const struct op_sample input_grad_samples[] = {
    {.text = "g (double[2,4,4,3] dy, double[4,3,3,3] w) => (double[2,3,9,8] dx) "
             "{ dx = stepc.ConvGradInput <shape = [2, 3, 9, 8], strides = [2, 3], pads = [0, 1, 1, 1]> (dy, w) }"},
    {.text = "g (float[2,9,7,6] dy, float[9,2,3,3] w) => (float[2,2,9,8] dx) "
             "{ dx = stepc.ConvGradInput <shape = [2, 2, 9, 8]> (dy, w) }"},
    {.text = "g (double[1,2,3] dy, double[2,1,1] w) => (double[1,2,6] dx) "
             "{ dx = stepc.ConvGradInput <shape = [1, 2, 6], strides = [2], group = 2> (dy, w) }"},
    {.text = "g (float[63,9,6,5] dy, float[9,4,5,5] w) => (float[63,4,10,9] dx) "
             "{ dx = stepc.ConvGradInput <shape = [63, 4, 10, 9]> (dy, w) }"},
    {.text = "g (float[63,9,5,4] dy, float[9,5,5,4] w) => (float[63,5,9,8] dx) "
             "{ dx = stepc.ConvGradInput "
             "<shape = [63, 5, 9, 8], strides = [2, 2], pads = [2, 1, 2, 2], dilations = [1, 1]> (dy, w) }"},
    {.text = "g (double[63,8,6,4] dy, double[8,5,3,3] w) => (double[63,5,8,14] dx) "
             "{ dx = stepc.ConvGradInput "
             "<shape = [63, 5, 8, 14], strides = [1, 2], dilations = [1, 3], pads = [0, 0, 0, 0]> (dy, w) }"},
    /* strides of one window */
    {.text = "g (double[1,2,1,1] dy, double[2,3,3,3] w) => (double[1,3,3,4] dx) "
             "{ dx = stepc.ConvGradInput "
             "<shape = [1, 3, 3, 4], strides = [2000000000, 2000000000], pads = [1, 1, 0, 0]> (dy, w) }"},
    /* as many windows as elements, although they are two apart */
    {.text = "g (float[1,1,3,3] dy, float[1,2,3,3] w) => (float[1,2,7,3] dx) "
             "{ dx = stepc.ConvGradInput <shape = [1, 2, 7, 3], strides = [3, 2], pads = [1, 2, 1, 2]> (dy, w) }"},
    {.text = "g (double[1,2,3] dy, double[2,1,1] w) => (double[1,1,6] dx) "
             "{ dx = stepc.ConvGradInput <shape = [-1, 1, 6]> (dy, w) }",
     .error = "attribute 'shape' contains -1"},
    {.text = "g (double[1,2,3] dy, double[2,1,1] w) => (double[1,1,6] dx) "
             "{ dx = stepc.ConvGradInput <shape = [1, 1, 6]> (dy, w) }",
     .error = "does not have the shape of the convolution's output"},
    {0}};
static const struct op_sample weight_grad_samples[] = {
    {.text = "g (double[2,4,4,3] dy, double[2,3,9,8] x) => (double[4,3,3,3] dw) "
             "{ dw = stepc.ConvGradWeight <kernel_shape = [3, 3], strides = [2, 3], pads = [0, 1, 1, 1]> (dy, x) }"},
    {.text = "g (float[2,19,7,6] dy, float[2,2,9,8] x) => (float[19,2,3,3] dw) "
             "{ dw = stepc.ConvGradWeight <kernel_shape = [3, 3]> (dy, x) }"},
    {.text = "g (float[2,6,9,11] dy, float[2,1,9,11] x) => (float[6,1,5,5] dw) "
             "{ dw = stepc.ConvGradWeight <kernel_shape = [5, 5], pads = [2, 2, 2, 2]> (dy, x) }"},
    {.text = "g (float[2,7,5,6] dy, float[2,2,9,12] x) => (float[7,2,3,3] dw) "
             "{ dw = stepc.ConvGradWeight "
             "<kernel_shape = [3, 3], strides = [2, 1], dilations = [1, 3], pads = [1, 0, 1, 0]> (dy, x) }"},
    {.text = "g (float[2,5,9,6] dy, float[2,17,9,12] x) => (float[5,17,3,3] dw) "
             "{ dw = stepc.ConvGradWeight <kernel_shape = [3, 3], dilations = [1, 3], pads = [1, 0, 1, 0]> (dy, x) }"},
    {.text = "g (float[1,9,4,3,5] dy, float[1,2,6,5,9] x) => (float[9,2,3,3,3] dw) "
             "{ dw = stepc.ConvGradWeight "
             "<kernel_shape = [3, 3, 3], strides = [1, 1, 2], pads = [0, 0, 1, 0, 0, 1]> (dy, x) }"},
    {.text = "g (double[1,3,2,3,5] dy, double[1,20,5,5,5] x) => (double[3,20,2,3,3] dw) "
             "{ dw = stepc.ConvGradWeight "
             "<kernel_shape = [2, 3, 3], strides = [3, 1, 1], pads = [0, 0, 1, 0, 0, 1]> (dy, x) }"},
    {.text = "g (float[2,19,7,6] dy, float[2,2,9,8] x) => (float[19,2,3,3] dw) { dw = stepc.ConvGradWeight(dy, x) }",
     .error = "attribute 'kernel_shape' is missing"},
    {0}};

/* Samples are apart, and without groups filters are, and channels are summed over. Windows see their neighbours: axes
 * of space are whole. */
static void conv_axes(struct axes_ctx *c)
{
    axes_samples(c);
    if (op_attr_int(c->node, "group") != 1)
        return;
    axes_pass(c, 1, 0, 0, 1);
    axes_pass(c, 2, 0, 0, 1);
    const int channels = axes_label(c);
    axes_put(c, 0, 1, channels);
    axes_put(c, 1, 1, channels);
}

/* Of y = conv(x, w): dx[n,c] from dy[n,-] and w[-,c]; dw[o,c] from dy[-,o] and x[-,c]. */
static void input_grad_axes(struct axes_ctx *c)
{
    axes_samples(c);
    if (op_attr_int(c->node, "group") == 1)
        axes_pass(c, 1, 1, 0, 1);
}

static void weight_grad_axes(struct axes_ctx *c)
{
    if (op_attr_int(c->node, "group") != 1)
        return;
    axes_pass(c, 0, 1, 0, 0);
    axes_pass(c, 1, 1, 0, 1);
}

const struct op_def op_defs_conv[] = {
    {.name = "Conv", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = conv_infer, .axes = conv_axes,
     .grad = conv_grad, .eval = conv_eval, .lower = lower_conv_forward, .is_sum = true,
     .bounded = bounded_samples, .samples = samples},
    {.domain = DOMAIN_STEPC, .name = "ConvGradInput", .versions = grad_versions, .inputs = input_grad_inputs,
     .outputs = input_grad_outputs, .attrs = grad_attrs, .infer = input_grad_infer, .axes = input_grad_axes,
     .grad = input_grad_grad,
     .plain = input_grad_plain,
     .eval = input_grad_eval, .lower = input_grad_lower, .is_sum = true, .samples = input_grad_samples},
    {.domain = DOMAIN_STEPC, .name = "ConvGradWeight", .versions = grad_versions, .inputs = weight_grad_inputs,
     .outputs = weight_grad_outputs, .attrs = grad_attrs, .infer = weight_grad_infer, .axes = weight_grad_axes,
     .grad = weight_grad_grad,
     .plain = weight_grad_plain,
     .eval = weight_grad_eval, .lower = weight_grad_lower, .is_sum = true, .samples = weight_grad_samples},
    {0}};
