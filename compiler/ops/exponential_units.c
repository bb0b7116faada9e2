/* Elu, Selu, Celu: one curve, straight above 0 and exponential below:
 *   y = x > 0 ? above * x : below * expm1(x / width)
 *                above    below            width
 *   Elu          1        alpha            1
 *   Selu         gamma    gamma * alpha    1
 *   Celu         1        alpha            alpha
 * expm1 is a function of the contract, so that small x keep their digits. gamma * alpha is rounded once.
 * Spec: ONNX Elu-1, -6, -22; Selu-1, -6, -22; Celu-12, -28. */
#include "ops/op.h"

#include <math.h>

#define ATTR(label, value) {.name = (label), .type = ATTR_FLOAT, .float_default = (value)}
#define ATTR_CONSUMED {.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true}
static const struct op_attr elu_attrs_1[] = {ATTR("alpha", 1), ATTR_CONSUMED, {0}},
                            elu_attrs[] = {ATTR("alpha", 1), {0}};
static const struct op_attr selu_attrs_1[] = {ATTR("alpha", 1.6732f), ATTR("gamma", 1.0507f), ATTR_CONSUMED, {0}};
static const struct op_attr selu_attrs[] = {ATTR("alpha", 1.67326319217681884765625),
                                            ATTR("gamma", 1.05070102214813232421875),
                                            {0}};

static const struct op_param inputs[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

/* The defaults of Selu-1 had fewer digits. */
static bool upgrade_selu_1(struct upgrade_ctx *c)
{
    if (node_attr(c->node, "alpha") == NULL)
        node_set_attr(c->node, attr_float("alpha", 1.6732f));
    if (node_attr(c->node, "gamma") == NULL)
        node_set_attr(c->node, attr_float("gamma", 1.0507f));
    return upgrade_drop_consumed_inputs(c);
}

static const struct op_version elu_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = elu_attrs_1, .upgrade = upgrade_drop_consumed_inputs},
    {.since = 6, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};
static const struct op_version selu_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = selu_attrs_1, .upgrade = upgrade_selu_1},
    {.since = 6, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};
static const struct op_version celu_versions[] = {{.since = 12}, {.since = 28}, {0}};

struct curve {
    double above, below, width;
};

static struct curve curve_of(const struct node *n)
{
    const double alpha = op_attr_float(n, "alpha");
    switch (n->def->name[0]) {
    case 'S': {
        const double gamma = op_attr_float(n, "gamma");
        return (struct curve){gamma, dtype_round(DTYPE_FLOAT, gamma * alpha), 1};
    }
    case 'C': return (struct curve){1, alpha, alpha};
    default: return (struct curve){1, alpha, 1};
    }
}

/* dx = dy * (x > 0 ? above : below / width * exp(x / width)); below's slope at the kink, as in PyTorch. Positive x do
 * not reach exp, where they might overflow. */
static bool exponential_grad(struct grad_ctx *c)
{
    const struct curve u = curve_of(c->node);
    struct value *x = grad_input(c, 0), *zero = build_like(c, x, 0.0), *is_above = build(c, "Greater", x, zero);
    struct value *scaled = build(c, "Div", build(c, "Where", is_above, zero, x), build_like(c, x, u.width));
    struct value *slope = build(c, "Mul", build(c, "Exp", scaled), build_like(c, x, u.below / u.width));
    struct value *by = build(c, "Where", is_above, build_like(c, x, u.above), slope);
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), by));
}

static bool exponential_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct curve u = curve_of(c->node);
    const double above = eval_round(c, u.above), below = eval_round(c, u.below), width = eval_round(c, u.width);
    double *y = eval_out_f(c, 0);
    for (int64_t k = 0; y != NULL && k < x->count; k++) {
        const double v = x->f[k];
        if (v > 0)
            y[k] = eval_round(c, v * above);
        else
            y[k] = eval_round(c, eval_math(c, x->dtype, MATH_EXPM1, eval_round(c, v / width)) * below);
    }
    return true;
}

static const struct expr *times(struct lower_ctx *c, const struct expr *x, double by)
{
    return by == 1 ? x : expr_binary(c->arena, EXPR_MUL, x, expr_number(c->arena, lower_dtype(c, 0), by));
}

static bool exponential_lower(struct lower_ctx *c)
{
    const struct curve u = curve_of(c->node);
    const struct expr *x = lower_in(c, 0), *zero = expr_number(c->arena, lower_dtype(c, 0), 0);
    const struct expr *scaled =
        u.width == 1 ? x : expr_binary(c->arena, EXPR_DIV, x, expr_number(c->arena, lower_dtype(c, 0), u.width));
    const struct expr *low = times(c, expr_math(c->arena, EXPR_FN_EXPM1, scaled), u.below);
    return lower_map(c, expr_select(c->arena, expr_binary(c->arena, EXPR_LT, zero, x), times(c, x, u.above), low));
}

enum { CELU_OPSET = 28 };

/* Of other types than float since 28 only: max(0, x) + min(0, alpha (exp(x / alpha) - 1)), of narrow ones as float. */
static bool celu_plain(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0), *const zero = build_like(c, x, 0.0);
    const struct attr number = attr_float("alpha", op_attr_float(c->node, "alpha"));
    struct value *const alpha = build_like(c, x, number.f);
    if (x->dtype == DTYPE_FLOAT || c->target->opset >= CELU_OPSET)
        return true;
    if (dtype_is_float16(x->dtype)) {
        struct value *const y = build_with(c, "Celu", ATTRS(number), build_cast(c->b, x, DTYPE_FLOAT));
        return expand_out(c, 0, build_cast(c->b, y, x->dtype));
    }
    struct value *const power = build(c, "Exp", build(c, "Div", x, alpha));
    struct value *const curve = build(c, "Mul", alpha, build(c, "Sub", power, build_like(c, x, 1.0)));
    struct value *const below = build(c, "Min", zero, curve);
    return expand_out(c, 0, build(c, "Add", build(c, "Max", zero, x), below));
}

static const struct op_sample elu_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Elu(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Elu <alpha = 2.5> (x) }"},
    {.text = "g (float[5] x) => (float[5] y) { y = Elu <consumed_inputs = [0]> (x) }", .opset = 5},
    {.text = "g (int32[2] x) => (int32[2] y) { y = Elu(x) }", .error = "is int32"},
    {0}};
static const struct op_sample selu_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Selu(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Selu <alpha = 2.0, gamma = 3.0> (x) }"},
    {.text = "g (float[5] x) => (float[5] y) { y = Selu(x) }", .opset = 5},
    {0}};
static const struct op_sample celu_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Celu(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Celu <alpha = 2.5> (x) }"},
    {.text = "g (float[7] x) => (float[7] y) { y = Celu <alpha = 2.5> (x) }", .opset = 12},
    {0}};

#define RULES                                                                                                          \
    .infer = infer_same_as_input, .grad = exponential_grad, .eval = exponential_eval, .lower = exponential_lower,      \
    .is_elementwise = true
const struct op_def op_defs_exponential_units[] = {
    {.name = "Elu", .versions = elu_versions, .inputs = inputs, .outputs = outputs, .attrs = elu_attrs, RULES,
     .samples = elu_samples},
    {.name = "Selu", .versions = selu_versions, .inputs = inputs, .outputs = outputs, .attrs = selu_attrs, RULES,
     .samples = selu_samples},
    {.name = "Celu", .versions = celu_versions, .inputs = inputs, .outputs = outputs, .attrs = elu_attrs, RULES,
     .plain = celu_plain, .samples = celu_samples},
    {0}};
