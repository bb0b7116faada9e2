/* ConvInteger and QLinearConv: convolutions of integers of 8 bits, with shapes as Conv's.
 *   ConvInteger   y[n,o,p] = sum over c, t of (x[n,c,i] - zx) (w[o,c,t] - zw[o])     in int32, which wraps
 *   QLinearConv   y = saturate(round((that sum + b[o]) sx sw[o] / sy) + zy)          halves to even
 * with i the element that position t of the window reads at output p. Padding counts as zx, and so adds nothing. zw and
 * sw are one for all weights, or one for each output channel; the others are one.
 *
 * Padding is a copy of x with zx around it; windows are then a way of reading it. QLinearConv is expanded as
 * QLinearMatMul is (matmul_integer.c): b is added to the sum, in int32; the sum becomes a float, is multiplied by
 * sx * sw, and goes through QuantizeLinear.
 * No gradient goes through integers. Spec: ONNX ConvInteger-10, QLinearConv-10. */
#include "ops/conv_rules.h"
#include "ops/linear_rules.h"

#define BITS_8 (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))

static const struct op_attr attrs[] = {{.name = "auto_pad", .type = ATTR_STRING, .string_default = "NOTSET"},
                                       WINDOW_LIST("dilations"),
                                       {.name = "group", .type = ATTR_INT, .int_default = 1},
                                       WINDOW_LIST("kernel_shape"),
                                       WINDOW_LIST("pads"),
                                       WINDOW_LIST("strides"),
                                       {0}};
static const struct op_version versions[] = {{.since = 10}, {0}};

/* ---- what both share --------------------------------------------------------------------------------------------- */

/* Places of the operands among the inputs of a node. */
struct conv_operands {
    int x, w, zero_x, zero_w;
};

static struct conv conv_of(const struct node *n, const struct conv_operands *in)
{
    const struct shape *const w = &node_input(n, (size_t)in->w)->shape;
    const struct shape size = window_of_weights(w);
    return conv_make(n, &node_input(n, (size_t)in->x)->shape, shape_size(w, 0), &size);
}

/* Is input i, if it is there, one number, or with `listed` one for each output channel? */
static bool check_parameter(struct infer_ctx *c, int i, const struct conv_operands *in, bool listed)
{
    const struct value *const z = infer_in(c, i);
    const int64_t channels = infer_shape(c, in->w)->dim[0];
    if (z == NULL || (z->shape.rank <= 1 && shape_count(&z->shape) == 1) ||
        (listed && z->shape.rank == 1 && z->shape.dim[0] == channels))
        return true;
    struct arena text = {0};
    infer_error(c, "input %d '%s' has shape %s, expected one number%s", i, z->name, shape_text(&text, &z->shape),
                listed ? ", or one for each output channel" : "");
    arena_free(&text);
    return false;
}

/* What a convolution reads of x, [n, channels, axes..]: x, with zeros around it where windows reach outside. */
static struct shape padded_shape(const struct conv *v)
{
    struct shape s = SHAPE_OF(v->images, v->channels);
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *const a = &v->window.axis[i];
        const struct size starts = size_product(window_out_size(a), size_constant(a->stride)),
                          last = size_sum(window_reach(a), size_constant(-a->stride));
        shape_add(&s, a->out == 0 ? size_constant(0) : size_sum(starts, last));
    }
    return s;
}

static bool infer_product(struct infer_ctx *c, const struct conv_operands *in, enum dtype dtype)
{
    struct window w;
    int64_t count;
    const struct shape *const x = infer_shape(c, in->x);
    if (window_infer_rank(c, in->x) == 0 || !conv_infer_weights(c, x, in->w) ||
        !check_parameter(c, in->zero_x, in, false) || !check_parameter(c, in->zero_w, in, true))
        return false;
    const struct shape size = window_of_weights(infer_shape(c, in->w));
    if (!window_infer(c, x, &size, &w))
        return false;
    const struct conv v = conv_of(c->node, in);
    const struct shape y = window_out_shape(&w, shape_size(x, 0), shape_size(infer_shape(c, in->w), 0)),
                       read = padded_shape(&v);
    return shape_count_checked(&read, &count) ? infer_out(c, 0, dtype, &y)
                                              : infer_error(c, "input %d '%s' is too large with its padding", in->x,
                                                            infer_in(c, in->x)->name);
}

static int64_t number_of(const struct eval_ctx *c, int i, int64_t channel)
{
    return !eval_has(c, i) ? 0 : eval_i(c, i)[c->in[i]->count == 1 ? 0 : channel];
}

/* y[plane, o, p] of the group `plane` of all images; o is the channel among all. */
static int64_t sum_at(const struct eval_ctx *c, const struct conv_operands *in, const struct conv *v, int64_t plane,
                      int64_t o, int64_t p)
{
    const int64_t size = window_size(&v->window), elements = window_in_count(&v->window);
    const int64_t zero_x = number_of(c, in->zero_x, 0), zero_w = number_of(c, in->zero_w, o);
    int64_t sum = 0;
    for (int64_t k = 0; k < v->c; k++) {
        for (int64_t t = 0; t < size; t++) {
            const int64_t at = window_element(&v->window, p, t);
            if (at < 0)
                continue;
            const int64_t x = eval_i(c, in->x)[(plane * v->c + k) * elements + at] - zero_x;
            sum = eval_int_binary(DTYPE_INT32, '+', sum, x * (eval_i(c, in->w)[(o * v->c + k) * size + t] - zero_w));
        }
    }
    return sum;
}

/* All sums, each through `finish`. */
static bool eval_product(struct eval_ctx *c, const struct conv_operands *in,
                         int64_t (*finish)(const struct eval_ctx *c, int64_t sum, int64_t o))
{
    const struct conv v = conv_of(c->node, in);
    const int64_t out = window_out_count(&v.window), channels = v.groups * v.o;
    struct eval_tensor *const y = eval_output(c, 0);
    for (int64_t at = 0; y != NULL && at < y->count; at++) {
        const int64_t row = at / out;
        y->i[at] = finish(c, sum_at(c, in, &v, row / v.o, row % channels, at % out), row % channels);
    }
    return true;
}

/* ---- ConvInteger ------------------------------------------------------------------------------------------------- */

static const struct op_param integer_inputs[] = {
    {.name = "x", .type = 'X', .dtypes = BITS_8},
    {.name = "w", .type = 'W', .dtypes = BITS_8},
    {.name = "x_zero_point", .type = 'X', .dtypes = BITS_8, .flags = PARAM_OPTIONAL},
    {.name = "w_zero_point", .type = 'W', .dtypes = BITS_8, .flags = PARAM_OPTIONAL},
    {0}};
static const struct op_param integer_outputs[] = {{.name = "y", .dtypes = DTYPE_BIT(DTYPE_INT32)}, {0}};
static const struct conv_operands integer_places = {0, 1, 2, 3};

static bool integer_infer(struct infer_ctx *c)
{
    return infer_product(c, &integer_places, DTYPE_INT32);
}

static int64_t itself(const struct eval_ctx *c, int64_t sum, int64_t o)
{
    (void)c, (void)o;
    return sum;
}

static bool integer_eval(struct eval_ctx *c)
{
    return eval_product(c, &integer_places, itself);
}

/* A view [n, channels, axes..] with three axes: the model's are the last ones. */
static struct view with_three_axes(const struct view *v)
{
    struct view out = {.buffer = v->buffer, .offset = v->offset, .shape = SHAPE(1, 1, 1, 1, 1)};
    for (int d = 0; d < v->shape.rank; d++) {
        const int to = d < 2 ? d : d + 5 - v->shape.rank;
        shape_set(&out.shape, to, shape_size(&v->shape, d));
        out.stride[to] = v->stride[d];
    }
    return out;
}

/* A copy of x with its zero point around it. */
static struct view padded_copy(struct lower_ctx *c, const struct conv *v, const struct view *x)
{
    const struct value *const value = node_input(c->node, 0);
    const struct shape whole = padded_shape(v);
    struct view from = *x, place;
    int64_t at[SHAPE_MAX_RANK] = {0};
    const int64_t one[SHAPE_MAX_RANK] = {1, 1, 1, 1, 1};
    const struct view to =
        view_of_buffer(buffer_new(c->l, BUFFER_TEMP, value->name, value->dtype, &whole), &whole);
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *const a = &v->window.axis[i];
        const int64_t room = whole.dim[2 + i] - a->pad_begin;
        at[2 + i] = a->pad_begin;
        shape_set(&from.shape, 2 + i, size_constant(room < 0 ? 0 : room < a->in ? room : a->in));
    }
    lower_kernel(c, "pad");
    lower_store(c, lower_part(c, &whole), &to,
                lower_has(c, 2) ? lower_in_over(c, 2, &SHAPE(1)) : expr_int(c->arena, lower_dtype(c, 0), 0));
    if (shape_count(&from.shape) == 0)
        return to;
    place = view_slice(&to, at, one, &from.shape);
    lower_store(c, lower_part(c, &from.shape), &place, lower_load(c, &from));
    return to;
}

/* Places of the loops of a convolution among those of its kernel. */
struct loops {
    int image, group, channel, out[WINDOW_AXES], term, tap[WINDOW_AXES], count;
};

/* Sums innermost; `beside`: outputs of a line, which lie side by side in memory as what they read does. */
static struct loops loops_of(bool beside)
{
    struct loops l = {.image = 0, .group = 1, .channel = 2, .count = 3};
    for (int i = 0; i < (beside ? WINDOW_AXES - 1 : WINDOW_AXES); i++)
        l.out[i] = l.count++;
    l.term = l.count++;
    for (int i = 0; i < WINDOW_AXES; i++)
        l.tap[i] = l.count++;
    if (beside)
        l.out[WINDOW_AXES - 1] = l.count++;
    return l;
}

static struct shape domain_of(const struct loops *l, const struct conv *v)
{
    struct shape s = {.rank = l->count};
    shape_set(&s, l->image, v->images);
    shape_set(&s, l->group, size_constant(v->groups));
    shape_set(&s, l->channel, size_constant(v->o));
    shape_set(&s, l->term, size_quotient(v->channels, v->groups));
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *const a = &v->window.axis[i];
        shape_set(&s, l->out[i], window_out_size(a));
        shape_set(&s, l->tap[i], (struct size){a->size, a->size_per});
    }
    return s;
}

static struct access access_x(const struct loops *l, const struct conv *v, const struct view *x)
{
    struct access a = {.buffer = x->buffer, .offset = x->offset};
    a.stride[l->image] = x->stride[0];
    a.stride[l->group] = x->stride[1] * v->c;
    a.stride[l->term] = x->stride[1];
    for (int i = 0; i < WINDOW_AXES; i++) {
        a.stride[l->out[i]] = x->stride[2 + i] * v->window.axis[i].stride;
        a.stride[l->tap[i]] = x->stride[2 + i] * v->window.axis[i].dilation;
    }
    return a;
}

static struct access access_w(const struct loops *l, const struct conv *v, const struct view *w)
{
    struct access a = {.buffer = w->buffer, .offset = w->offset};
    a.stride[l->group] = w->stride[0] * v->o;
    a.stride[l->channel] = w->stride[0];
    a.stride[l->term] = w->stride[1];
    for (int i = 0; i < WINDOW_AXES; i++)
        a.stride[l->tap[i]] = w->stride[2 + i];
    return a;
}

/* Where a result, or with `listed` a parameter with one number for each channel, lies. */
static struct view over_channels(const struct loops *l, const struct conv *v, const struct view *x, int channels,
                                 const struct shape *domain)
{
    struct view to = {.buffer = x->buffer, .offset = x->offset, .shape = *domain};
    to.stride[l->group] = x->stride[channels] * v->o;
    to.stride[l->channel] = x->stride[channels];
    return to;
}

/* Element `at` of input i in int32, less its zero point. */
static const struct expr *wide(struct lower_ctx *c, const struct access *at, const struct expr *zero)
{
    const struct expr *const x = expr_cast(c->arena, DTYPE_INT32, lower_load_at(c, at));
    const bool is_none = zero == NULL || (zero->op == EXPR_INT && zero->i == 0);
    return is_none ? x : expr_binary(c->arena, EXPR_SUB, x, expr_cast(c->arena, DTYPE_INT32, zero));
}

static const struct expr *zero_of_weights(struct lower_ctx *c, const struct loops *l, const struct conv *v,
                                          const struct shape *domain)
{
    if (!lower_has(c, 3))
        return NULL;
    const struct expr *const same = lower_in_over(c, 3, lower_shape(c, 3));
    if (same->op == EXPR_INT || shape_count(lower_shape(c, 3)) == 1)
        return same; /* equal numbers are a literal */
    const struct view list = lower_view_of(c, 3);
    const struct view z = over_channels(l, v, &list, 0, domain);
    return lower_load(c, &z);
}

static bool integer_lower(struct lower_ctx *c)
{
    const struct conv v = conv_of(c->node, &integer_places);
    const struct window_axis *const line = &v.window.axis[WINDOW_AXES - 1];
    const struct view of_x = lower_view_of(c, 0), of_w = lower_view_of(c, 1), out = lower_out_view(c, 0);
    struct view x = with_three_axes(&of_x);
    const struct view w = with_three_axes(&of_w), y = with_three_axes(&out);
    if (out.buffer->count == 0)
        return true;
    if (v.c == 0)
        return lower_map(c, expr_int(c->arena, DTYPE_INT32, 0));
    if (window_leaves_input(&v.window))
        x = padded_copy(c, &v, &x);
    const bool beside = !c->options.scalar && line->out > 1 && line->stride == 1 && x.stride[4] == 1;
    const struct loops l = loops_of(beside);
    const struct shape domain = domain_of(&l, &v);
    const struct access at_x = access_x(&l, &v, &x), at_w = access_w(&l, &v, &w);
    struct view to = over_channels(&l, &v, &y, 1, &domain);
    to.stride[l.image] = y.stride[0];
    lower_kernel(c, "conv");
    struct part *const p = lower_part(c, &domain);
    p->reduce = REDUCE_SUM;
    p->reduced[l.term] = true;
    for (int i = 0; i < WINDOW_AXES; i++) {
        p->reduced[l.tap[i]] = true;
        to.stride[l.out[i]] = y.stride[2 + i];
    }
    p->element = expr_binary(c->arena, EXPR_MUL,
                             wide(c, &at_x, lower_has(c, 2) ? lower_in_over(c, 2, &SHAPE(1)) : NULL),
                             wide(c, &at_w, zero_of_weights(c, &l, &v, &domain)));
    lower_store(c, p, &to, expr_result(c->arena, DTYPE_INT32));
    return true;
}

static const struct op_sample integer_samples[] = {
    {.text = "g (uint8[1,1,3,3] x, uint8[1,1,2,2] w, uint8 z) => (int32[1,1,2,2] y) { y = ConvInteger(x, w, z) }",
     .no_gradient = true},
    {.text = "g (uint8[2,3,5,6] x, int8[4,3,3,2] w, uint8 z, int8[4] v) => (int32[2,4,5,7] y) "
             "{ y = ConvInteger <pads = [1, 1, 1, 1]> (x, w, z, v) }",
     .no_gradient = true},
    {.text = "g (int8[2,4,9] x, int8[6,2,3] w, int8[1] z, int8[1] v) => (int32[2,6,4] y) "
             "{ y = ConvInteger <group = 2, strides = [2], dilations = [2], pads = [0, 2]> (x, w, z, v) }",
     .no_gradient = true},
    {.text = "g (uint8[1,3,20,20] x, int8[3,1,3,3] w, uint8 z) => (int32[1,3,20,20] y) "
             "{ y = ConvInteger <group = 3, auto_pad = \"SAME_UPPER\"> (x, w, z) }",
     .no_gradient = true},
    {.text = "g (int8[1,2,3,4,5] x, uint8[3,2,2,2,2] w) => (int32[1,3,3,4,4] y) "
             "{ y = ConvInteger <pads = [1, 1, 0, 0, 0, 0]> (x, w) }",
     .no_gradient = true},
    {.text = "g (int8[2,8,4,4] x, int8[5,8,1,1] w, int8 z) => (int32[2,5,4,4] y) { y = ConvInteger(x, w, z) }",
     .no_gradient = true},
    /* x as a transposed view; windows that see padding alone; strides that leave elements out */
    {.text = "g (int8[1,5,6,3] x, int8[2,3,2,2] w, int8 z) => (int32[1,2,4,5] y) "
             "{ t = Transpose <perm = [0, 3, 1, 2]> (x) y = ConvInteger(t, w, z) }",
     .no_gradient = true},
    {.text = "g (int8[1,1,2] x, int8[1,1,1] w, int8 z) => (int32[1,1,8] y) "
             "{ y = ConvInteger <pads = [3, 3]> (x, w, z) }",
     .no_gradient = true},
    {.text = "g (int8[1,1,9] x, int8[1,1,2] w, int8 z) => (int32[1,1,3] y) "
             "{ y = ConvInteger <strides = [4], pads = [1, 0]> (x, w, z) }",
     .no_gradient = true},
    {.text = "g (uint8[0,1,3,3] x, uint8[1,1,2,2] w) => (int32[0,1,2,2] y) { y = ConvInteger(x, w) }",
     .no_gradient = true},
    {.text = "g (uint8[1,0,3,3] x, uint8[2,0,2,2] w) => (int32[1,2,2,2] y) { y = ConvInteger(x, w) }",
     .no_gradient = true},
    /* a scale at the end, as models that quantize as they run have it */
    {.text = "g (float[1,2,6,6] x, int8[3,2,3,3] w, int8 v, float s) => (float[1,3,6,6] y) "
             "{ q, r, z = DynamicQuantizeLinear(x) p = ConvInteger <pads = [1, 1, 1, 1]> (q, w, z, v) "
             "f = Cast <to = 1> (p) t = Mul(r, s) y = Mul(f, t) }",
     .no_gradient = true},
    {.text = "g (uint8[1,1,3,3] x, uint8[1,1,2,2] w, uint8[2] z) => (int32[1,1,2,2] y) { y = ConvInteger(x, w, z) }",
     .error = "input 2 'z' has shape [2], expected one number"},
    {.text = "g (uint8[1,1,3,3] x, uint8[3,1,2,2] w, uint8[2] v) => (int32[1,3,2,2] y) { y = ConvInteger(x, w, , v) }",
     .error = "input 3 'v' has shape [2], expected one number, or one for each output channel"},
    {.text = "g (uint8[1,2,3,3] x, uint8[3,1,2,2] w) => (int32[1,3,2,2] y) { y = ConvInteger(x, w) }",
     .error = "input 1 'w' is for 1 channels, expected 2"},
    {.text = "g (uint8[1,1,3,3] x, uint8[1,1,2,2] w, int8 z) => (int32[1,1,2,2] y) { y = ConvInteger(x, w, z) }",
     .error = "input 2 'z' is int8"},
    {.text = "g (uint8[2,3] x, uint8[1,3] w) => (int32[2,1] y) { y = ConvInteger(x, w) }", .error = "has rank 2"},
    {0}};

/* ---- QLinearConv ------------------------------------------------------------------------------------------------- */

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, BIAS };

#define SCALE(label) {.name = (label), .dtypes = DTYPE_BIT(DTYPE_FLOAT)}
static const struct op_param linear_inputs[] = {
    {.name = "x", .type = 'X', .dtypes = BITS_8},
    SCALE("x_scale"),
    {.name = "x_zero_point", .type = 'X', .dtypes = BITS_8},
    {.name = "w", .type = 'W', .dtypes = BITS_8},
    SCALE("w_scale"),
    {.name = "w_zero_point", .type = 'W', .dtypes = BITS_8},
    SCALE("y_scale"),
    {.name = "y_zero_point", .type = 'Y', .dtypes = BITS_8},
    {.name = "B", .dtypes = DTYPE_BIT(DTYPE_INT32), .flags = PARAM_OPTIONAL},
    {0}};
static const struct op_param linear_outputs[] = {{.name = "y", .type = 'Y', .dtypes = BITS_8}, {0}};
static const struct conv_operands linear_places = {X, W, X_ZERO, W_ZERO};

static bool linear_infer(struct infer_ctx *c)
{
    const struct value *const b = infer_in(c, BIAS);
    if (!infer_product(c, &linear_places, DTYPE_UNDEFINED) || !check_parameter(c, X_SCALE, &linear_places, false) ||
        !check_parameter(c, W_SCALE, &linear_places, true) || !linear_infer_result(c, Y_SCALE, Y_ZERO))
        return false;
    const int64_t channels = infer_shape(c, W)->dim[0];
    if (b == NULL || (b->shape.rank == 1 && b->shape.dim[0] == channels))
        return true;
    return infer_error(c, "input %d '%s' is not a list of %lld numbers, one per output channel", BIAS, b->name,
                       (long long)channels);
}

/* One number, or one for each channel, in a shape that broadcasts to y. */
static struct value *over_y(struct expand_ctx *c, struct value *x)
{
    struct shape s = SHAPE_OF(shape_elements(&x->shape));
    if (s.dim[0] == 1)
        return build_reshape(c->b, x, &SHAPE_SCALAR);
    for (int rank = expand_in(c, X)->shape.rank - 2; rank > 0; rank--)
        shape_add(&s, size_constant(1));
    return build_reshape(c->b, x, &s);
}

static bool linear_expand(struct expand_ctx *c)
{
    struct attr copies[8] = {0};
    size_t count = 0;
    for (size_t i = 0; attrs[i].name != NULL; i++)
        if (node_attr(c->node, attrs[i].name) != NULL)
            copies[count++] = *node_attr(c->node, attrs[i].name);
    struct value *const zero = expand_in(c, X_ZERO), *const bias = expand_in(c, BIAS);
    struct value *sum = build_with(c, "ConvInteger", copies, expand_in(c, X), expand_in(c, W), zero,
                                   expand_in(c, W_ZERO));
    if (bias != NULL)
        sum = build(c, "Add", sum, over_y(c, bias));
    struct value *const factor = build(c, "Mul", over_y(c, expand_in(c, X_SCALE)), over_y(c, expand_in(c, W_SCALE)));
    return expand_out(c, 0, linear_build_result(c, sum, factor, Y_SCALE, Y_ZERO));
}

static int64_t quantized(const struct eval_ctx *c, int64_t sum, int64_t o)
{
    const double left = eval_f(c, X_SCALE)[0], right = eval_f(c, W_SCALE)[c->in[W_SCALE]->count == 1 ? 0 : o];
    const int64_t all = eval_int_binary(DTYPE_INT32, '+', sum, number_of(c, BIAS, o));
    return linear_eval_result(c, all, left, right, Y_SCALE, Y_ZERO);
}

static bool linear_eval(struct eval_ctx *c)
{
    return eval_product(c, &linear_places, quantized);
}

#define SCALES(sw)                                                                                                     \
    "sx = Constant <value_float = 0.03> () sw = Constant <value_float" sw "> () sy = Constant <value_float = 0.9> () "
static const struct op_sample linear_samples[] = {
    {.text = "g (uint8[1,1,7,7] x, uint8 zx, uint8[1,1,1,1] w, uint8[1] zw, uint8 zy) => (uint8[1,1,7,7] y) "
             "{ " SCALES("s = [0.07]") "y = QLinearConv(x, sx, zx, w, sw, zw, sy, zy) }",
     .no_gradient = true},
    {.text = "g (uint8[2,3,6,5] x, uint8 zx, int8[4,3,3,3] w, int8[4] zw, uint8 zy, int32[4] b) => (uint8[2,4,3,3] y) "
             "{ " SCALES("s = [0.07, 0.01, 0.2, 0.1]")
             "y = QLinearConv <strides = [2, 2], pads = [1, 1, 1, 1]> (x, sx, zx, w, sw, zw, sy, zy, b) }",
     .no_gradient = true},
    {.text = "g (int8[2,4,9] x, int8 zx, int8[4,1,3] w, int8 zw, int8 zy, int32[4] b) => (int8[2,4,9] y) "
             "{ " SCALES(" = 0.02")
             "y = QLinearConv <group = 4, auto_pad = \"SAME_LOWER\"> (x, sx, zx, w, sw, zw, sy, zy, b) }",
     .no_gradient = true},
    {.text = "g (uint8[1,1,3,3] x, uint8 z, uint8[2,1,1,1] w, float[3] s) => (uint8[1,2,3,3] y) "
             "{ " SCALES(" = 0.07") "y = QLinearConv(x, sx, z, w, s, z, sy, z) }",
     .error = "input 4 's' has shape [3], expected one number, or one for each output channel"},
    {.text = "g (uint8[1,1,3,3] x, uint8 z, uint8[2,1,1,1] w, int32[3] b) => (uint8[1,2,3,3] y) "
             "{ " SCALES(" = 0.07") "y = QLinearConv(x, sx, z, w, sw, z, sy, z, b) }",
     .error = "input 8 'b' is not a list of 2 numbers, one per output channel"},
    {.text = "g (uint8[1,1,3,3] x, uint8 z, uint8[2,1,1,1] w, float[2] s) => (uint8[1,2,3,3] y) "
             "{ " SCALES(" = 0.07") "y = QLinearConv(x, sx, z, w, sw, z, s, z) }",
     .error = "input 6 's' has 2 elements, expected one"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_conv_integer[] = {
    {.name = "ConvInteger", .versions = versions, .inputs = integer_inputs, .outputs = integer_outputs, .attrs = attrs,
     .infer = integer_infer, .grad = grad_none, .eval = integer_eval, .lower = integer_lower,
     .samples = integer_samples},
    {.name = "QLinearConv", .versions = versions, .inputs = linear_inputs, .outputs = linear_outputs, .attrs = attrs,
     .infer = linear_infer, .grad = grad_none, .expand = linear_expand, .eval = linear_eval,
     .samples = linear_samples},
    {0}};
