/* Softmax and LogSoftmax along one axis, made of ordinary operators. With m the maximum along the axis, e = exp(x - m)
 * and s the sum of e (in ReduceSum's order: 16 lanes where the axis is the last one that counts, else index order):
 *   softmax     y = e * (1 / s)
 *   log softmax y = (x - m) - log(s)
 * Spec: ONNX Operators.md. Versions 1 and 11 flatten the input to a matrix at `axis` and normalise its rows. */
#include "ops/flatten_rules.h"
#include "ops/move_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_attr attrs_1[] = {{.name = "axis", .type = ATTR_INT, .int_default = 1}, {0}};
static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = -1}, {0}};
static const struct op_param inputs[] = {{.name = "input", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static const struct op_version versions[] = {{.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1},
                                             {.since = 11, .dtypes = FLOATS_1, .attrs = attrs_1,
                                              .upgrade = flatten_upgrade},
                                             {.since = 13},
                                             {0}};

static bool softmax_infer(struct infer_ctx *c)
{
    int axis;
    return infer_axis(c, op_attr_int(c->node, "axis"), infer_rank(c, 0), &axis) && infer_same_as_input(c);
}

/* ---- shared pieces ----------------------------------------------------------------------------------------------- */

static struct value *sum_along(struct builder *b, struct value *x, int axis)
{
    return build_reduce_sum(b, x, &axis, 1, true);
}

/* x - m; never above 0. A row of -inf gives NaN, as in PyTorch. */
static struct value *below_maximum(struct expand_ctx *c, int axis)
{
    const int64_t wide = axis;
    struct value *x = expand_in(c, 0);
    return build(c, "Sub", x,
                 build_with(c, "ReduceMax", ATTRS(attr_int("keepdims", 1)), x, build_ints(c->b, &wide, 1)));
}

/* The rows along the axis, one at a time. `is_tail`: nothing but axes of one element follows. */
struct softmax_rows {
    int64_t count, length, stride;
    bool is_tail;
};

static struct softmax_rows rows_of(const struct eval_ctx *c)
{
    const struct shape *s = &c->in[0]->shape;
    const int axis = move_axis(c->node);
    const int64_t inner = shape_count_range(s, axis + 1, s->rank);
    return (struct softmax_rows){
        .count = shape_count_range(s, 0, axis) * inner, .length = s->dim[axis], .stride = inner, .is_tail = inner == 1};
}

static int64_t row_start(const struct softmax_rows *r, int64_t k)
{
    return k / r->stride * r->length * r->stride + k % r->stride;
}

static double sum_row(const struct eval_ctx *c, const struct softmax_rows *r, const double *e)
{
    if (r->is_tail)
        return eval_sum_row(c, c->in[0]->dtype, e, r->length, 1);
    double sum = 0;
    for (int64_t k = 0; k < r->length; k++)
        sum = eval_round(c, sum + e[k * r->stride]);
    return sum;
}

/* Of one row: x - m to shifted, exp of that to e (both as long as the input); returns the sum. */
static double exp_row(const struct eval_ctx *c, const struct softmax_rows *r, int64_t from, double *shifted, double *e)
{
    const double *x = eval_f(c, 0);
    const double m = eval_max(x + from, r->length, r->stride);
    for (int64_t k = 0; k < r->length; k++) {
        const int64_t at = from + k * r->stride;
        shifted[at] = eval_round(c, x[at] - m);
        e[at] = eval_math(c, c->in[0]->dtype, MATH_EXP, shifted[at]);
    }
    return r->length == 1 ? e[from] : sum_row(c, r, e + from);
}

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

/* dx = y (dy - sum(dy y)) */
static bool softmax_grad(struct grad_ctx *c)
{
    struct value *y = grad_output(c, 0), *dy = grad_of_output(c, 0);
    struct value *mean = sum_along(c->b, build(c, "Mul", dy, y), move_axis(c->node));
    return grad_accumulate(c, 0, build(c, "Mul", y, build(c, "Sub", dy, mean)));
}

static bool softmax_expand(struct expand_ctx *c)
{
    const int axis = move_axis(c->node);
    struct value *e = build(c, "Exp", below_maximum(c, axis));
    return expand_out(c, 0, build(c, "Mul", e, build(c, "Reciprocal", sum_along(c->b, e, axis))));
}

static bool softmax_eval(struct eval_ctx *c)
{
    double *y = eval_out_f(c, 0);
    if (y == NULL)
        return true;
    const struct softmax_rows r = rows_of(c);
    double *shifted = arena_array(c->scratch, double, (size_t)c->in[0]->count + 1);
    for (int64_t k = 0; k < r.count; k++) {
        const int64_t from = row_start(&r, k);
        const double scale = eval_round(c, 1 / exp_row(c, &r, from, shifted, y));
        for (int64_t i = 0; i < r.length; i++)
            y[from + i * r.stride] = eval_round(c, y[from + i * r.stride] * scale);
    }
    return true;
}

static const struct op_sample softmax_samples[] = {
    {.text = "g (float[5,37] x) => (float[5,37] y) { y = Softmax(x) }"},
    {.text = "g (double[3,4] x) => (double[3,4] y) { y = Softmax <axis = 0> (x) }"},
    {.text = "g (float[2,5,3] x) => (float[2,5,3] y) { y = Softmax <axis = 1> (x) }"},
    {.text = "g (float[2,20,1] x) => (float[2,20,1] y) { y = Softmax <axis = -2> (x) }"},
    {.text = "g (double[1] x) => (double[1] y) { y = Softmax(x) }"},
    {.text = "g (double[2,3,4] x) => (double[2,3,4] y) { y = Softmax(x) }", .opset = 11},
    {.text = "g (double[2,3,4] x) => (double[2,3,4] y) { y = Softmax <axis = 2> (x) }", .opset = 9},
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 2> (x) }", .error = "axis 2 is out of range"},
    {.text = "g (float x) => (float y) { y = Softmax(x) }", .error = "is a scalar"},
    {.text = "g (int32[2,3] x) => (int32[2,3] y) { y = Softmax(x) }", .error = "is int32"},
    {.text = "g (float16[3,20] x) => (float16[3,20] y) { y = Softmax(x) }"},
    {0}};

/* ---- LogSoftmax -------------------------------------------------------------------------------------------------- */

/* dx = dy - exp(y) sum(dy) */
static bool log_softmax_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0);
    struct value *sum = sum_along(c->b, dy, move_axis(c->node));
    return grad_accumulate(c, 0, build(c, "Sub", dy, build(c, "Mul", build(c, "Exp", grad_output(c, 0)), sum)));
}

static bool log_softmax_expand(struct expand_ctx *c)
{
    const int axis = move_axis(c->node);
    struct value *below = below_maximum(c, axis);
    struct value *log_sum = build(c, "Log", sum_along(c->b, build(c, "Exp", below), axis));
    return expand_out(c, 0, build(c, "Sub", below, log_sum));
}

static bool log_softmax_eval(struct eval_ctx *c)
{
    double *y = eval_out_f(c, 0);
    if (y == NULL)
        return true;
    const struct softmax_rows r = rows_of(c);
    double *e = arena_array(c->scratch, double, (size_t)c->in[0]->count + 1);
    for (int64_t k = 0; k < r.count; k++) {
        const int64_t from = row_start(&r, k);
        const double log_sum = eval_math(c, c->in[0]->dtype, MATH_LOG, exp_row(c, &r, from, y, e));
        for (int64_t i = 0; i < r.length; i++)
            y[from + i * r.stride] = eval_round(c, y[from + i * r.stride] - log_sum);
    }
    return true;
}

static const struct op_sample log_softmax_samples[] = {
    {.text = "g (float[5,37] x) => (float[5,37] y) { y = LogSoftmax(x) }"},
    {.text = "g (double[3,4] x) => (double[3,4] y) { y = LogSoftmax <axis = 0> (x) }"},
    {.text = "g (float[2,5,3] x) => (float[2,5,3] y) { y = LogSoftmax <axis = 1> (x) }"},
    {.text = "g (double[2,3,4] x) => (double[2,3,4] y) { y = LogSoftmax(x) }", .opset = 11},
    {0}};

/* Along the axis itself nothing is a share of what is not meant. */
static bool softmax_bounded(struct bounded_ctx *c)
{
    const struct bounded *const x = bounded_in(c, 0);
    if (x->axis == move_axis(c->node))
        bounded_fill_input(c, 0, bounded_least(c->b, c->node->inputs.data[0]->dtype, true));
    return bounded_out(c, 0, x, x->axis);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void softmax_axes(struct axes_ctx *c)
{
    axes_pass_but(c, 0, 0, move_axis(c->node));
}

const struct op_def op_defs_softmax[] = {
    {.name = "Softmax", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = softmax_infer, .axes = softmax_axes, .grad = softmax_grad,
     .stays = op_stays, .expand = softmax_expand, .eval = softmax_eval, .in_float = true,
     .bounded = softmax_bounded, .samples = softmax_samples},
    {.name = "LogSoftmax", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = softmax_infer, .axes = softmax_axes, .grad = log_softmax_grad,
     .stays = op_stays, .expand = log_softmax_expand, .eval = log_softmax_eval,
     .in_float = true, .bounded = softmax_bounded, .samples = log_softmax_samples},
    {0}};
