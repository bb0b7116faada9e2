/* Elementwise functions of one operand: Neg Abs Sign Reciprocal Sqrt Exp Log Sin Cos Sigmoid Tanh Erf Softplus Relu
 * LeakyRelu Floor Ceil Round.
 * Spec: ONNX Operators.md. Between versions only the allowed types grew; opset 1 had in-place hints. */
#include "ops/op.h"

#include <math.h>

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define FLOATS_6 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))

static const struct op_attr consumed_inputs[] = {{.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true},
                                                 {0}};

#define VERSION_1 {.since = 1, .dtypes = FLOATS_6, .attrs = consumed_inputs, .upgrade = upgrade_drop_consumed_inputs}

static const struct op_version versions_1_6_13[] = {VERSION_1, {.since = 6, .dtypes = FLOATS_6}, {.since = 13}, {0}};
static const struct op_version versions_neg[] = {
    VERSION_1, {.since = 6, .dtypes = FLOATS_6 | DTYPES_SIGNED}, {.since = 13}, {0}};
static const struct op_version versions_abs[] = {VERSION_1,
                                                 {.since = 6, .dtypes = FLOATS_6 | DTYPES_INTS},
                                                 {.since = 13},
                                                 {0}};
static const struct op_version versions_relu[] = {
    VERSION_1, {.since = 6, .dtypes = FLOATS_6}, {.since = 13, .dtypes = DTYPES_FLOATS}, {.since = 14}, {0}};
static const struct op_version versions_erf[] = {{.since = 9, .dtypes = FLOATS_6}, {.since = 13}, {0}};
static const struct op_version versions_sign[] = {{.since = 9, .dtypes = FLOATS_6 | DTYPES_INTS}, {.since = 13}, {0}};
static const struct op_version versions_softplus[] = {{.since = 1, .dtypes = FLOATS_6}, {.since = 22}, {0}};
static const struct op_version versions_trigonometric[] = {{.since = 7, .dtypes = FLOATS_6}, {.since = 22}, {0}};
static const struct op_version versions_round[] = {{.since = 11, .dtypes = FLOATS_6}, {.since = 22}, {0}};

static const struct op_attr leaky_relu_attrs[] = {{.name = "alpha", .type = ATTR_FLOAT, .float_default = 0.01f}, {0}};
static const struct op_attr leaky_relu_attrs_1[] = {{.name = "alpha", .type = ATTR_FLOAT, .float_default = 0.01f},
                                                    {.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true},
                                                    {0}};
static const struct op_version versions_leaky_relu[] = {
    {.since = 1, .dtypes = FLOATS_6, .attrs = leaky_relu_attrs_1, .upgrade = upgrade_drop_consumed_inputs},
    {.since = 6, .dtypes = FLOATS_6},
    {.since = 16},
    {0}};

#define PARAM(label, set, marks) {{.name = (label), .type = 'T', .dtypes = (set), .flags = (marks)}, {0}}
static const struct op_param x_floats[] = PARAM("X", DTYPES_FLOATS, 0), y_floats[] = PARAM("Y", DTYPES_FLOATS, 0);
static const struct op_param in_floats[] = PARAM("input", DTYPES_FLOATS, 0),
                             out_floats[] = PARAM("output", DTYPES_FLOATS, 0);
static const struct op_param x_signed[] = PARAM("X", DTYPES_FLOATS | DTYPES_SIGNED, 0);
static const struct op_param y_signed[] = PARAM("Y", DTYPES_FLOATS | DTYPES_SIGNED, 0);
static const struct op_param x_numeric[] = PARAM("X", DTYPES_NUMERIC, 0), y_numeric[] = PARAM("Y", DTYPES_NUMERIC, 0);
static const struct op_param x_flat[] = PARAM("X", DTYPES_FLOATS, PARAM_NOT_DIFF);
static const struct op_param y_flat[] = PARAM("Y", DTYPES_FLOATS, PARAM_OUTPUT_NOT_DIFF);
static const struct op_param in_flat[] = PARAM("input", DTYPES_NUMERIC, PARAM_NOT_DIFF);
static const struct op_param out_flat[] = PARAM("output", DTYPES_NUMERIC, PARAM_OUTPUT_NOT_DIFF);

/* ---- shared pieces ----------------------------------------------------------------------------------------------- */

static bool eval_elementary(struct eval_ctx *c, enum math_fn fn)
{
    const struct eval_tensor *x = eval_input(c, 0);
    double *y = eval_out_f(c, 0);
    for (int64_t k = 0; y != NULL && k < x->count; k++)
        y[k] = eval_math(c, x->dtype, fn, x->f[k]);
    return true;
}

static bool lower_elementary(struct lower_ctx *c, enum expr_fn fn)
{
    return lower_map(c, expr_math(c->arena, fn, lower_in(c, 0)));
}

static const struct expr *number(struct lower_ctx *c, double x)
{
    return expr_number(c->arena, lower_dtype(c, 0), x);
}

/* a < b ? x : y */
static const struct expr *if_less(struct lower_ctx *c, const struct expr *a, const struct expr *b, const struct expr *x,
                                  const struct expr *y)
{
    return expr_select(c->arena, expr_binary(c->arena, EXPR_LT, a, b), x, y);
}

/* ---- Neg: -x ----------------------------------------------------------------------------------------------------- */

static bool neg_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, build(c, "Neg", grad_of_output(c, 0)));
}

static double neg_f(const struct eval_ctx *c, const double *x)
{
    return -x[0];
}

static int64_t neg_i(const struct eval_ctx *c, const int64_t *x)
{
    return eval_int_binary(c->in[0]->dtype, '-', 0, x[0]);
}

static bool neg_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) ? eval_map_f(c, neg_f) : eval_map_i(c, neg_i);
}

static bool neg_lower(struct lower_ctx *c)
{
    return lower_map(c, expr_unary(c->arena, EXPR_NEG, lower_in(c, 0)));
}

static const struct op_sample neg_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Neg(x) }"},
    {.text = "g (int8[4] x) => (int8[4] y) { y = Neg(x) }", .no_gradient = true},
    {.text = "g (uint8[4] x) => (uint8[4] y) { y = Neg(x) }", .error = "is uint8"},
    {.text = "g (float[5] x) => (float[5] y) { y = Neg <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

/* ---- Abs --------------------------------------------------------------------------------------------------------- */

/* dx = dy * sign(x); 0 at x = 0, as in PyTorch. */
static bool abs_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), build(c, "Sign", grad_input(c, 0))));
}

static double abs_f(const struct eval_ctx *c, const double *x)
{
    return fabs(x[0]);
}

static int64_t abs_i(const struct eval_ctx *c, const int64_t *x)
{
    const enum dtype d = c->in[0]->dtype;
    return dtype_is_signed(d) && x[0] < 0 ? eval_int_binary(d, '-', 0, x[0]) : x[0];
}

static bool abs_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) ? eval_map_f(c, abs_f) : eval_map_i(c, abs_i);
}

static bool abs_lower(struct lower_ctx *c)
{
    const struct expr *x = lower_in(c, 0);
    if (dtype_is_float(x->dtype))
        return lower_elementary(c, EXPR_FN_ABS);
    if (!dtype_is_signed(x->dtype))
        return lower_map(c, x);
    return lower_map(c, if_less(c, x, number(c, 0), expr_unary(c->arena, EXPR_NEG, x), x));
}

static const struct op_sample abs_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Abs(x) }"},
    {.text = "g (int32[5] x) => (int32[5] y) { y = Abs(x) }", .no_gradient = true},
    {.text = "g (uint16[5] x) => (uint16[5] y) { y = Abs(x) }", .no_gradient = true},
    {.text = "g () => (float[2] dx) { x = Constant <value_floats = [0.0, -2.0]> () y = Abs(x) "
             "s = ReduceSum <keepdims = 0> (y) dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[5] x) => (float[5] y) { y = Abs <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

/* ---- Sign: 1, 0, -1; NaN stays NaN ------------------------------------------------------------------------------- */

static double sign_f(const struct eval_ctx *c, const double *x)
{
    return x[0] > 0 ? 1 : x[0] < 0 ? -1 : x[0] == 0 ? 0 : x[0];
}

static int64_t sign_i(const struct eval_ctx *c, const int64_t *x)
{
    if (!dtype_is_signed(c->in[0]->dtype))
        return x[0] != 0;
    return (x[0] > 0) - (x[0] < 0);
}

static bool sign_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) ? eval_map_f(c, sign_f) : eval_map_i(c, sign_i);
}

static bool sign_lower(struct lower_ctx *c)
{
    const struct expr *x = lower_in(c, 0), *zero = number(c, 0);
    const struct expr *equal = expr_binary(c->arena, EXPR_EQ, x, zero);
    const struct expr *rest = expr_select(c->arena, equal, zero, x); /* 0, or NaN */
    if (!dtype_is_float(x->dtype))
        rest = zero;
    if (dtype_is_signed(x->dtype)) /* floats as well */
        rest = if_less(c, x, zero, number(c, -1), rest);
    return lower_map(c, if_less(c, zero, x, number(c, 1), rest));
}

static const struct op_sample sign_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Sign(x) }", .no_gradient = true},
    {.text = "g (int64[5] x) => (int64[5] y) { y = Sign(x) }", .no_gradient = true},
    {.text = "g (uint8[5] x) => (uint8[5] y) { y = Sign(x) }", .no_gradient = true},
    {0}};

/* ---- Reciprocal: 1 / x ------------------------------------------------------------------------------------------- */

/* dx = -dy y^2 */
static bool reciprocal_grad(struct grad_ctx *c)
{
    struct value *y = grad_output(c, 0);
    return grad_accumulate(c, 0, build(c, "Neg", build(c, "Mul", grad_of_output(c, 0), build(c, "Mul", y, y))));
}

static double reciprocal_f(const struct eval_ctx *c, const double *x)
{
    return eval_round(c, 1 / x[0]);
}

static bool reciprocal_eval(struct eval_ctx *c)
{
    return eval_map_f(c, reciprocal_f);
}

static bool reciprocal_lower(struct lower_ctx *c)
{
    return lower_map(c, expr_binary(c->arena, EXPR_DIV, number(c, 1), lower_in(c, 0)));
}

static const struct op_sample reciprocal_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Reciprocal(x) }", .feed = "positive"},
    {.text = "g (double[4] x) => (double[4] y) { y = Reciprocal(x) }", .feed = "positive"},
    {.text = "g (float[5] x) => (float[5] y) { y = Reciprocal <consumed_inputs = [0]> (x) }", .opset = 5,
     .feed = "positive"},
    {0}};

/* ---- Sqrt -------------------------------------------------------------------------------------------------------- */

/* dx = dy / (2 y); infinite at 0 (IEEE). */
static bool sqrt_grad(struct grad_ctx *c)
{
    struct value *y = grad_output(c, 0);
    return grad_accumulate(c, 0, build(c, "Div", grad_of_output(c, 0), build(c, "Mul", y, build_like(c, y, 2.0))));
}

static bool sqrt_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_SQRT);
}

static bool sqrt_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_SQRT);
}

static const struct op_sample sqrt_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Sqrt(x) }", .feed = "positive"},
    {.text = "g (double[4] x) => (double[4] y) { y = Sqrt(x) }", .feed = "positive"},
    {.text = "g (int32[2] x) => (int32[2] y) { y = Sqrt(x) }", .error = "is int32"},
    {.text = "g (float[5] x) => (float[5] y) { y = Sqrt <consumed_inputs = [0]> (x) }", .opset = 5, .feed = "positive"},
    {0}};

/* ---- Exp --------------------------------------------------------------------------------------------------------- */

/* dx = dy y */
static bool exp_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), grad_output(c, 0)));
}

static bool exp_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_EXP);
}

static bool exp_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_EXP);
}

static const struct op_sample exp_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Exp(x) }"},
    {.text = "g (double[4] x) => (double[4] y) { y = Exp(x) }"},
    {.text = "g (float[5] x) => (float[5] y) { y = Exp <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

/* ---- Log --------------------------------------------------------------------------------------------------------- */

/* dx = dy / x */
static bool log_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, build(c, "Div", grad_of_output(c, 0), grad_input(c, 0)));
}

static bool log_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_LOG);
}

static bool log_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_LOG);
}

static const struct op_sample log_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Log(x) }", .feed = "positive"},
    {.text = "g (double[4] x) => (double[4] y) { y = Log(x) }", .feed = "positive"},
    {.text = "g (float[5] x) => (float[5] y) { y = Log <consumed_inputs = [0]> (x) }", .opset = 5, .feed = "positive"},
    {0}};

/* ---- Sin, Cos ---------------------------------------------------------------------------------------------------- */

/* dx = dy cos(x) */
static bool sin_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), build(c, "Cos", grad_input(c, 0))));
}

static bool sin_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_SIN);
}

static bool sin_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_SIN);
}

static const struct op_sample sin_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Sin(x) }"},
    {.text = "g (double[4] x) => (double[4] y) { y = Sin(x) }"},
    {0}};

/* dx = -dy sin(x) */
static bool cos_grad(struct grad_ctx *c)
{
    struct value *slope = build(c, "Neg", build(c, "Sin", grad_input(c, 0)));
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), slope));
}

static bool cos_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_COS);
}

static bool cos_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_COS);
}

static const struct op_sample cos_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Cos(x) }"},
    {.text = "g (double[4] x) => (double[4] y) { y = Cos(x) }"},
    {0}};

/* ---- Sigmoid: 1 / (1 + exp(-x)) ---------------------------------------------------------------------------------- */

/* dx = dy y (1 - y) */
static bool sigmoid_grad(struct grad_ctx *c)
{
    struct value *y = grad_output(c, 0);
    struct value *slope = build(c, "Mul", y, build(c, "Sub", build_like(c, y, 1.0), y));
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), slope));
}

static bool sigmoid_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_SIGMOID);
}

static bool sigmoid_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_SIGMOID);
}

static const struct op_sample sigmoid_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Sigmoid(x) }"},
    {.text = "g (double[4] x) => (double[4] y) { y = Sigmoid(x) }"},
    {.text = "g (float[5] x) => (float[5] y) { y = Sigmoid <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

/* ---- Tanh -------------------------------------------------------------------------------------------------------- */

/* dx = dy (1 - y^2) */
static bool tanh_grad(struct grad_ctx *c)
{
    struct value *y = grad_output(c, 0);
    struct value *slope = build(c, "Sub", build_like(c, y, 1.0), build(c, "Mul", y, y));
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), slope));
}

static bool tanh_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_TANH);
}

static bool tanh_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_TANH);
}

static const struct op_sample tanh_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Tanh(x) }"},
    {.text = "g (double[4] x) => (double[4] y) { y = Tanh(x) }"},
    {.text = "g (float[5] x) => (float[5] y) { y = Tanh <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

/* ---- Erf --------------------------------------------------------------------------------------------------------- */

/* dx = dy 2/sqrt(pi) exp(-x^2) */
static bool erf_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    struct value *bell = build(c, "Exp", build(c, "Neg", build(c, "Mul", x, x)));
    struct value *slope = build(c, "Mul", bell, build_like(c, x, 1.12837916709551257));
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), slope));
}

static bool erf_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_ERF);
}

static bool erf_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_ERF);
}

static const struct op_sample erf_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Erf(x) }"},
    {.text = "g (double[4] x) => (double[4] y) { y = Erf(x) }"},
    {0}};

/* ---- Softplus: log(1 + exp(x)) ----------------------------------------------------------------------------------- */

/* dx = dy sigmoid(x) */
static bool softplus_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), build(c, "Sigmoid", grad_input(c, 0))));
}

static bool softplus_eval(struct eval_ctx *c)
{
    return eval_elementary(c, MATH_SOFTPLUS);
}

static bool softplus_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_SOFTPLUS);
}

static const struct op_sample softplus_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Softplus(x) }"},
    {.text = "g (double[4] x) => (double[4] y) { y = Softplus(x) }"},
    {0}};

/* ---- Relu: x < 0 ? 0 : x, so that NaN stays NaN ------------------------------------------------------------------ */

/* dx = y > 0 ? dy : 0; 0 at x = 0, as in PyTorch. Reading y and not x lets x go. */
static bool relu_grad(struct grad_ctx *c)
{
    struct value *y = grad_output(c, 0), *dy = grad_of_output(c, 0);
    struct value *zero = build_like(c, y, 0.0);
    return grad_accumulate(c, 0, build(c, "Where", build(c, "Greater", y, zero), dy, zero));
}

static double relu_f(const struct eval_ctx *c, const double *x)
{
    return x[0] < 0 ? 0 : x[0];
}

static int64_t relu_i(const struct eval_ctx *c, const int64_t *x)
{
    return x[0] < 0 ? 0 : x[0];
}

static bool relu_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) ? eval_map_f(c, relu_f) : eval_map_i(c, relu_i);
}

static bool relu_lower(struct lower_ctx *c)
{
    const struct expr *x = lower_in(c, 0), *zero = number(c, 0);
    return lower_map(c, if_less(c, x, zero, zero, x));
}

static const struct op_sample relu_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Relu(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Relu(x) }"},
    {.text = "g (int16[7] x) => (int16[7] y) { y = Relu(x) }", .no_gradient = true},
    {.text = "g (int16[7] x) => (int16[7] y) { y = Relu(x) }", .opset = 13, .error = "is int16"},
    {.text = "g () => (float[3] dx) { x = Constant <value_floats = [0.0, -2.0, 2.0]> () y = Relu(x) "
             "s = ReduceSum <keepdims = 0> (y) dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[5] x) => (float[5] y) { y = Relu <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

/* ---- LeakyRelu: x < 0 ? alpha x : x ------------------------------------------------------------------------------ */

/* dx = dy (x > 0 ? 1 : alpha); alpha at the kink, as in PyTorch. */
static bool leaky_relu_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *dy = grad_of_output(c, 0);
    struct value *shrunk = build(c, "Mul", dy, build_like(c, x, grad_attr_float(c, "alpha")));
    return grad_accumulate(c, 0, build(c, "Where", build(c, "Greater", x, build_like(c, x, 0.0)), dy, shrunk));
}

static bool leaky_relu_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    double *y = eval_out_f(c, 0);
    const double alpha = op_attr_float(c->node, "alpha");
    for (int64_t k = 0; y != NULL && k < x->count; k++)
        y[k] = x->f[k] < 0 ? eval_round(c, alpha * x->f[k]) : x->f[k];
    return true;
}

static bool leaky_relu_lower(struct lower_ctx *c)
{
    const struct expr *x = lower_in(c, 0);
    const struct expr *alpha = number(c, op_attr_float(c->node, "alpha"));
    return lower_map(c, if_less(c, x, number(c, 0), expr_binary(c->arena, EXPR_MUL, alpha, x), x));
}

static const struct op_sample leaky_relu_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = LeakyRelu(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = LeakyRelu <alpha = 0.3> (x) }"},
    {.text = "g (int32[2] x) => (int32[2] y) { y = LeakyRelu(x) }", .error = "is int32"},
    {.text = "g (float[5] x) => (float[5] y) { y = LeakyRelu <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

/* ---- Floor, Ceil, Round (halves to even) ------------------------------------------------------------------------- */

static double floor_f(const struct eval_ctx *c, const double *x)
{
    return floor(x[0]);
}

static bool floor_eval(struct eval_ctx *c)
{
    return eval_map_f(c, floor_f);
}

static bool floor_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_FLOOR);
}

static const struct op_sample floor_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Floor(x) }", .no_gradient = true},
    {.text = "g (double[4] x) => (double[4] y) { y = Floor(x) }", .no_gradient = true},
    {.text = "g (float[5] x) => (float[5] y) { y = Floor <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

static double ceil_f(const struct eval_ctx *c, const double *x)
{
    return ceil(x[0]);
}

static bool ceil_eval(struct eval_ctx *c)
{
    return eval_map_f(c, ceil_f);
}

static bool ceil_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_CEIL);
}

static const struct op_sample ceil_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Ceil(x) }", .no_gradient = true},
    {.text = "g (double[4] x) => (double[4] y) { y = Ceil(x) }", .no_gradient = true},
    {.text = "g (float[5] x) => (float[5] y) { y = Ceil <consumed_inputs = [0]> (x) }", .opset = 5},
    {0}};

static double round_f(const struct eval_ctx *c, const double *x)
{
    return nearbyint(x[0]); /* the rounding mode is the default one, to even */
}

static bool round_eval(struct eval_ctx *c)
{
    return eval_map_f(c, round_f);
}

static bool round_lower(struct lower_ctx *c)
{
    return lower_elementary(c, EXPR_FN_ROUND);
}

static const struct op_sample round_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Round(x) }", .no_gradient = true},
    {.text = "g () => (float[5] y) { x = Constant <value_floats = [0.5, 1.5, 2.5, -0.5, -1.5]> () y = Round(x) }",
     .no_gradient = true},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_unary_math[] = {
    {.name = "Neg", .versions = versions_neg, .inputs = x_signed, .outputs = y_signed, .infer = infer_same_as_input,
     .grad = neg_grad, .eval = neg_eval, .lower = neg_lower, .is_elementwise = true, .samples = neg_samples},
    {.name = "Abs", .versions = versions_abs, .inputs = x_numeric, .outputs = y_numeric, .infer = infer_same_as_input,
     .grad = abs_grad, .eval = abs_eval, .lower = abs_lower, .is_elementwise = true, .samples = abs_samples},
    {.name = "Sign", .versions = versions_sign, .inputs = in_flat, .outputs = out_flat, .infer = infer_same_as_input,
     .grad = grad_none, .eval = sign_eval, .lower = sign_lower, .is_elementwise = true, .samples = sign_samples},
    {.name = "Reciprocal", .versions = versions_1_6_13, .inputs = x_floats, .outputs = y_floats,
     .infer = infer_same_as_input, .grad = reciprocal_grad, .eval = reciprocal_eval, .lower = reciprocal_lower,
     .is_elementwise = true, .samples = reciprocal_samples},
    {.name = "Sqrt", .versions = versions_1_6_13, .inputs = x_floats, .outputs = y_floats, .infer = infer_same_as_input,
     .grad = sqrt_grad, .eval = sqrt_eval, .lower = sqrt_lower, .is_elementwise = true, .samples = sqrt_samples},
    {.name = "Exp", .versions = versions_1_6_13, .inputs = in_floats, .outputs = out_floats,
     .infer = infer_same_as_input, .grad = exp_grad, .eval = exp_eval, .lower = exp_lower, .is_elementwise = true,
     .samples = exp_samples},
    {.name = "Log", .versions = versions_1_6_13, .inputs = in_floats, .outputs = out_floats,
     .infer = infer_same_as_input, .grad = log_grad, .eval = log_eval, .lower = log_lower, .is_elementwise = true,
     .samples = log_samples},
    {.name = "Sin", .versions = versions_trigonometric, .inputs = in_floats, .outputs = out_floats,
     .infer = infer_same_as_input, .grad = sin_grad, .eval = sin_eval, .lower = sin_lower, .is_elementwise = true,
     .samples = sin_samples},
    {.name = "Cos", .versions = versions_trigonometric, .inputs = in_floats, .outputs = out_floats,
     .infer = infer_same_as_input, .grad = cos_grad, .eval = cos_eval, .lower = cos_lower, .is_elementwise = true,
     .samples = cos_samples},
    {.name = "Sigmoid", .versions = versions_1_6_13, .inputs = x_floats, .outputs = y_floats,
     .infer = infer_same_as_input, .grad = sigmoid_grad, .eval = sigmoid_eval, .lower = sigmoid_lower,
     .is_elementwise = true, .samples = sigmoid_samples},
    {.name = "Tanh", .versions = versions_1_6_13, .inputs = in_floats, .outputs = out_floats,
     .infer = infer_same_as_input, .grad = tanh_grad, .eval = tanh_eval, .lower = tanh_lower, .is_elementwise = true,
     .samples = tanh_samples},
    {.name = "Erf", .versions = versions_erf, .inputs = in_floats, .outputs = out_floats, .infer = infer_same_as_input,
     .grad = erf_grad, .eval = erf_eval, .lower = erf_lower, .is_elementwise = true, .samples = erf_samples},
    {.name = "Softplus", .versions = versions_softplus, .inputs = x_floats, .outputs = y_floats,
     .infer = infer_same_as_input, .grad = softplus_grad, .eval = softplus_eval, .lower = softplus_lower,
     .is_elementwise = true, .samples = softplus_samples},
    {.name = "Relu", .versions = versions_relu, .inputs = x_signed, .outputs = y_signed, .infer = infer_same_as_input,
     .grad = relu_grad, .eval = relu_eval, .lower = relu_lower, .is_elementwise = true, .samples = relu_samples},
    {.name = "LeakyRelu", .versions = versions_leaky_relu, .inputs = x_floats, .outputs = y_floats,
     .attrs = leaky_relu_attrs, .infer = infer_same_as_input, .grad = leaky_relu_grad, .eval = leaky_relu_eval,
     .lower = leaky_relu_lower, .is_elementwise = true, .samples = leaky_relu_samples},
    {.name = "Floor", .versions = versions_1_6_13, .inputs = x_flat, .outputs = y_flat, .infer = infer_same_as_input,
     .grad = grad_none, .eval = floor_eval, .lower = floor_lower, .is_elementwise = true, .samples = floor_samples},
    {.name = "Ceil", .versions = versions_1_6_13, .inputs = x_flat, .outputs = y_flat, .infer = infer_same_as_input,
     .grad = grad_none, .eval = ceil_eval, .lower = ceil_lower, .is_elementwise = true, .samples = ceil_samples},
    {.name = "Round", .versions = versions_round, .inputs = x_flat, .outputs = y_flat, .infer = infer_same_as_input,
     .grad = grad_none, .eval = round_eval, .lower = round_lower, .is_elementwise = true, .samples = round_samples},
    {0}};
