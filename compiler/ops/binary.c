/* Arithmetic of two operands, broadcast: Add Sub Mul Div Pow.
 * Spec: ONNX Operators.md, Broadcasting.md. Opsets 1 to 6 broadcast by attributes; from 7 on the NumPy way.
 * Integers wrap, x / 0 = 0, MIN / -1 = MIN; the spec leaves these open. */
#include "ops/op.h"

#include <math.h>

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define WIDE_INTS (DTYPES_INDEX | DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64))

static const struct op_attr attrs_1[] = {{.name = "axis", .type = ATTR_INT, .no_default = true},
                                         {.name = "broadcast", .type = ATTR_INT, .int_default = 0},
                                         {.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true},
                                         {0}};
static const struct op_attr attrs_6[] = {
    {.name = "axis", .type = ATTR_INT, .no_default = true}, {.name = "broadcast", .type = ATTR_INT, .int_default = 0},
    {0}};
static const struct op_attr no_attrs[] = {{0}};

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .upgrade = upgrade_drop_consumed_inputs},
    {.since = 6, .dtypes = FLOATS_1 | WIDE_INTS, .attrs = attrs_6, .upgrade = upgrade_broadcast_attr},
    {.since = 7, .dtypes = FLOATS_1 | WIDE_INTS, .attrs = no_attrs},
    {.since = 13, .dtypes = DTYPES_FLOATS | WIDE_INTS},
    {.since = 14},
    {0}};
static const struct op_param inputs[] = {
    {.name = "A", .type = 'T', .dtypes = DTYPES_NUMERIC}, {.name = "B", .type = 'T', .dtypes = DTYPES_NUMERIC}, {0}};
static const struct op_param outputs[] = {{.name = "C", .type = 'T', .dtypes = DTYPES_NUMERIC}, {0}};

/* ---- shared pieces ----------------------------------------------------------------------------------------------- */

static bool eval_either(struct eval_ctx *c, eval_fn_f floats, eval_fn_i ints)
{
    return eval_f(c, 0) != NULL ? eval_map_f(c, floats) : eval_map_i(c, ints);
}

static bool lower_binary(struct lower_ctx *c, enum expr_op op)
{
    return lower_map(c, expr_binary(c->arena, op, lower_in(c, 0), lower_in(c, 1)));
}

/* ---- Add --------------------------------------------------------------------------------------------------------- */

static bool add_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0);
    return grad_accumulate(c, 0, dy) && grad_accumulate(c, 1, dy);
}

static double add_f(const struct eval_ctx *c, const double *x)
{
    return eval_round(c, x[0] + x[1]);
}

static int64_t add_i(const struct eval_ctx *c, const int64_t *x)
{
    return eval_int_binary(c->in[0]->dtype, '+', x[0], x[1]);
}

static bool add_eval(struct eval_ctx *c)
{
    return eval_either(c, add_f, add_i);
}

static bool add_lower(struct lower_ctx *c)
{
    return lower_binary(c, EXPR_ADD);
}

static const struct op_sample add_samples[] = {
    {.text = "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { y = Add(a, b) }"},
    {.text = "g (float[4,1,3] a, float[2,1] b) => (float[4,2,3] y) { y = Add(a, b) }"},
    {.text = "g (double[2,3] a, double b) => (double[2,3] y) { y = Add(a, b) }"},
    {.text = "g (uint8[5] a, uint8[5] b) => (uint8[5] y) { y = Add(a, b) }", .no_gradient = true},
    /* equal steps, which are counted, and what nearly is */
    {.text = "g (int32[2,20,3] a) => (int32[2,20,3] y) { b = Constant <value = int32[20,1] {9,6,3,0,-3,-6,-9,-12,-15,"
             "-18,-21,-24,-27,-30,-33,-36,-39,-42,-45,-48}> () y = Add(a, b) }", .no_gradient = true},
    {.text = "g (uint8[3,18] a) => (uint8[3,18] y) { "
             "b = Constant <value = uint8[18] {0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,18}> () y = Add(a, b) }",
     .no_gradient = true},
    {.text = "g (float[2,3,4] a, float[3] b) => (float[2,3,4] y) { y = Add <broadcast = 1, axis = 1> (a, b) }",
     .opset = 6},
    {.text = "g (float[2,3] a, float[3] b) => (float[2,3] y) { y = Add(a, b) }", .opset = 6, .error = "broadcast=1"},
    {.text = "g (float[2,3] a, float[2,2] b) => (float[2,3] y) { y = Add(a, b) }", .error = "broadcast"},
    {.text = "g (float[2] a, int32[2] b) => (float[2] y) { y = Add(a, b) }", .error = "int32"},
    {.text = "g (float[2,3] a, float[2] b) => (float[2,3] y) "
             "{ y = Add <axis = 0, broadcast = 1, consumed_inputs = [0, 0]> (a, b) }", .opset = 5},
    {.text = "g (float16[3,4] a, float16[4] b) => (float16[3,4] y) { y = Add(a, b) }"},
    {.text = "g (bfloat16[3,4] a, bfloat16[3,1] b) => (bfloat16[3,4] y) { s = Add(a, b) y = Add(s, a) }"},
    {0}};

/* ---- Sub --------------------------------------------------------------------------------------------------------- */

static bool sub_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0);
    if (!grad_accumulate(c, 0, dy))
        return false;
    return !grad_wants(c, 1) || grad_accumulate(c, 1, build(c, "Neg", dy));
}

static double sub_f(const struct eval_ctx *c, const double *x)
{
    return eval_round(c, x[0] - x[1]);
}

static int64_t sub_i(const struct eval_ctx *c, const int64_t *x)
{
    return eval_int_binary(c->in[0]->dtype, '-', x[0], x[1]);
}

static bool sub_eval(struct eval_ctx *c)
{
    return eval_either(c, sub_f, sub_i);
}

static bool sub_lower(struct lower_ctx *c)
{
    return lower_binary(c, EXPR_SUB);
}

static const struct op_sample sub_samples[] = {
    {.text = "g (float[2,3] a, float[3] b) => (float[2,3] y) { y = Sub(a, b) }"},
    {.text = "g (double[3] a, double[2,3] b) => (double[2,3] y) { y = Sub(a, b) }"},
    {.text = "g (int64[5] a, int64[5] b) => (int64[5] y) { y = Sub(a, b) }", .no_gradient = true},
    {.text = "g (float[2,3] a, float[2] b) => (float[2,3] y) "
             "{ y = Sub <axis = 0, broadcast = 1, consumed_inputs = [0, 0]> (a, b) }", .opset = 5},
    {.text = "g (float[2,3,4] a, float[3] b) => (float[2,3,4] y) { y = Sub <axis = 1, broadcast = 1> (a, b) }",
     .opset = 6},
    {0}};

/* ---- Mul --------------------------------------------------------------------------------------------------------- */

/* da = dy b, db = dy a */
static bool mul_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0);
    if (grad_wants(c, 0) && !grad_accumulate(c, 0, build(c, "Mul", dy, grad_input(c, 1))))
        return false;
    return !grad_wants(c, 1) || grad_accumulate(c, 1, build(c, "Mul", dy, grad_input(c, 0)));
}

static double mul_f(const struct eval_ctx *c, const double *x)
{
    return eval_round(c, x[0] * x[1]);
}

static int64_t mul_i(const struct eval_ctx *c, const int64_t *x)
{
    return eval_int_binary(c->in[0]->dtype, '*', x[0], x[1]);
}

static bool mul_eval(struct eval_ctx *c)
{
    return eval_either(c, mul_f, mul_i);
}

static bool mul_lower(struct lower_ctx *c)
{
    return lower_binary(c, EXPR_MUL);
}

static const struct op_sample mul_samples[] = {
    {.text = "g (float[2,3] a, float[2,1] b) => (float[2,3] y) { y = Mul(a, b) }"},
    {.text = "g (double[2,3] a) => (double[2,3] y) { y = Mul(a, a) }"},
    {.text = "g (int32[5] a, int32[5] b) => (int32[5] y) { y = Mul(a, b) }", .no_gradient = true},
    {.text = "g (float[2,3] a, float[2] b) => (float[2,3] y) "
             "{ y = Mul <axis = 0, broadcast = 1, consumed_inputs = [0, 0]> (a, b) }", .opset = 5},
    {.text = "g (float[2,3,4] a, float[3] b) => (float[2,3,4] y) { y = Mul <axis = 1, broadcast = 1> (a, b) }",
     .opset = 6},
    {.text = "g (float16[7] a, float16[7] b) => (float16[7] y) { e = Exp(a) s = Add(e, b) y = Mul(s, e) }"},
    {0}};

/* ---- Div --------------------------------------------------------------------------------------------------------- */

/* da = dy / b, db = -(dy y) / b */
static bool div_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0), *b = grad_input(c, 1);
    if (grad_wants(c, 0) && !grad_accumulate(c, 0, build(c, "Div", dy, b)))
        return false;
    if (!grad_wants(c, 1))
        return true;
    return grad_accumulate(c, 1, build(c, "Neg", build(c, "Div", build(c, "Mul", dy, grad_output(c, 0)), b)));
}

static double div_f(const struct eval_ctx *c, const double *x)
{
    return eval_round(c, x[0] / x[1]);
}

static int64_t div_i(const struct eval_ctx *c, const int64_t *x)
{
    return eval_int_binary(c->in[0]->dtype, '/', x[0], x[1]);
}

static bool div_eval(struct eval_ctx *c)
{
    return eval_either(c, div_f, div_i);
}

static bool div_lower(struct lower_ctx *c)
{
    return lower_binary(c, EXPR_DIV);
}

static const struct op_sample div_samples[] = {
    {.text = "g (float[2,3] a, float[3] b) => (float[2,3] y) { y = Div(a, b) }", .feed = "positive"},
    {.text = "g (double a, double[2,3] b) => (double[2,3] y) { y = Div(a, b) }", .feed = "positive"},
    {.text = "g (int32[9] a, int32[9] b) => (int32[9] y) { y = Div(a, b) }", .no_gradient = true},
    {.text = "g (int32[3] a) => (int32[3] y) { z = Constant <value_int = 0> () b = Cast <to = 6> (z) y = Div(a, b) }",
     .no_gradient = true},
    {.text = "g (float[2,3] a, float[2] b) => (float[2,3] y) "
             "{ y = Div <axis = 0, broadcast = 1, consumed_inputs = [0, 0]> (a, b) }", .opset = 5, .feed = "positive"},
    {.text = "g (float[2,3,4] a, float[3] b) => (float[2,3,4] y) { y = Div <axis = 1, broadcast = 1> (a, b) }",
     .opset = 6, .feed = "positive"},
    {0}};

/* ---- Pow: x^e; the exponent may have another type ---------------------------------------------------------------- */

#define POW_BASES (DTYPES_FLOATS | DTYPES_INDEX)

static const struct op_param pow_same_inputs[] = {
    {.name = "X", .type = 'T', .dtypes = POW_BASES}, {.name = "Y", .type = 'T', .dtypes = POW_BASES}, {0}};
static const struct op_param pow_inputs[] = {
    {.name = "X", .type = 'T', .dtypes = POW_BASES}, {.name = "Y", .type = 'U', .dtypes = DTYPES_NUMERIC}, {0}};
static const struct op_param pow_outputs[] = {{.name = "Z", .type = 'T', .dtypes = POW_BASES}, {0}};
static const struct op_version pow_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_6, .inputs = pow_same_inputs, .upgrade = upgrade_broadcast_attr},
    {.since = 7, .dtypes = FLOATS_1, .attrs = no_attrs, .inputs = pow_same_inputs},
    {.since = 12, .dtypes = FLOATS_1 | DTYPES_INDEX},
    {.since = 13},
    {.since = 15},
    {0}};

/* The exponent in x's type; the singular point of x^(e-1) at e = 0, x = 0 is stepped around: there e = 1, so that the
 * gradient, 0 * x^0, is 0 as in PyTorch and no infinity gets into gradients of this gradient. */
static struct value *pow_safe_exponent(struct grad_ctx *c, struct value *x, struct value *e)
{
    const struct tensor *known = value_known(e);
    bool may_be_zero = known == NULL;
    for (int64_t k = 0; known != NULL && k < known->count; k++)
        may_be_zero = may_be_zero || tensor_get_double(known, k) == 0;
    if (!may_be_zero)
        return e;
    struct value *zero = build_like(c, x, 0.0);
    struct value *singular = build(c, "And", build(c, "Equal", x, zero), build(c, "Equal", e, zero));
    return build(c, "Where", singular, build_like(c, x, 1.0), e);
}

/* dx = dy e x^(e-1) */
static struct value *pow_grad_base(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    struct value *e = build_cast(c->b, grad_input(c, 1), x->dtype);
    struct value *below = build(c, "Sub", pow_safe_exponent(c, x, e), build_like(c, x, 1.0));
    return build(c, "Mul", grad_of_output(c, 0), build(c, "Mul", e, build(c, "Pow", x, below)));
}

/* de = dy y log(x); 0 where x = 0 and e >= 0, as in PyTorch; NaN for x < 0. The logarithm is kept away from 0 there,
 * for gradients of this gradient. */
static struct value *pow_grad_exponent(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *e = grad_input(c, 1);
    struct value *at_zero = build(c, "And", build(c, "Equal", x, build_like(c, x, 0.0)),
                                  build(c, "GreaterOrEqual", e, build_like(c, e, 0.0)));
    struct value *safe = build(c, "Where", at_zero, build_like(c, x, 1.0), x);
    struct value *slope = build(c, "Mul", grad_output(c, 0), build(c, "Log", safe));
    return build_cast(c->b, build(c, "Mul", grad_of_output(c, 0), slope), e->dtype);
}

static bool pow_grad(struct grad_ctx *c)
{
    if (grad_wants(c, 0) && !grad_accumulate(c, 0, pow_grad_base(c)))
        return false;
    return !grad_wants(c, 1) || !dtype_is_float(grad_input(c, 1)->dtype) || grad_accumulate(c, 1, pow_grad_exponent(c));
}

/* One rule for all types: a float base computes in its own type, the exponent is converted to it. */
static double pow_f(const struct eval_ctx *c, const double *x)
{
    const enum dtype d = c->in[0]->dtype;
    return eval_pow(c, d, x[0], eval_round_to(c, d, x[1]));
}

/* By repeated squaring, wrapping. A negative exponent gives 1 / x^-e, truncated: 0 but for 1 and -1. */
static int64_t int_power(enum dtype d, int64_t x, int64_t e, bool e_is_negative)
{
    if (e_is_negative)
        return x == 1 ? 1 : x == -1 ? (e % 2 == 0 ? 1 : -1) : 0;
    int64_t y = 1;
    for (uint64_t rest = (uint64_t)e; rest != 0; rest >>= 1) {
        if (rest & 1)
            y = eval_int_binary(d, '*', y, x);
        x = eval_int_binary(d, '*', x, x);
    }
    return y;
}

static int64_t pow_i(const struct eval_ctx *c, const int64_t *x)
{
    return int_power(c->in[0]->dtype, x[0], x[1], dtype_is_signed(c->in[1]->dtype) && x[1] < 0);
}

/* An integer base with a fractional exponent computes in double. */
static int64_t pow_fi(const struct eval_ctx *c, const double *x)
{
    return dtype_from_double(c->in[0]->dtype, eval_pow(c, DTYPE_DOUBLE, x[0], x[1]));
}

static bool pow_eval(struct eval_ctx *c)
{
    if (eval_f(c, 0) != NULL)
        return eval_map_f(c, pow_f);
    return eval_f(c, 1) != NULL ? eval_map_fi(c, pow_fi) : eval_map_i(c, pow_i);
}

/* Small known exponents become products, which may wrap in any order; the rest is one operation on int64, whose low
 * bits are those of every narrower type. */
static bool lower_int_power(struct lower_ctx *c, const struct expr *x, const struct expr *e)
{
    struct arena *a = c->arena;
    if (e->op == EXPR_INT && e->i >= 0 && e->i <= 8) {
        const struct expr *y = expr_int(a, x->dtype, 1);
        for (int64_t k = 0; k < e->i; k++)
            y = expr_binary(a, EXPR_MUL, y, x);
        return lower_map(c, y);
    }
    if (e->dtype == DTYPE_UINT64)
        return lower_error(c, "integer powers with exponents of type uint64 are not compiled; cast them to int64");
    const struct expr *y = expr_binary(a, EXPR_POW, expr_cast(a, DTYPE_INT64, x), expr_cast(a, DTYPE_INT64, e));
    return lower_map(c, expr_cast(a, x->dtype, y));
}

static bool pow_lower(struct lower_ctx *c)
{
    const struct expr *x = lower_in(c, 0), *e = lower_in(c, 1);
    if (dtype_is_float(x->dtype))
        return lower_map(c, expr_binary(c->arena, EXPR_POW, x, expr_cast(c->arena, x->dtype, e)));
    if (!dtype_is_float(e->dtype))
        return lower_int_power(c, x, e);
    const struct expr *y = expr_binary(c->arena, EXPR_POW, expr_cast(c->arena, DTYPE_DOUBLE, x),
                                       expr_cast(c->arena, DTYPE_DOUBLE, e));
    return lower_map(c, expr_cast(c->arena, x->dtype, y));
}

static const struct op_sample pow_samples[] = {
    {.text = "g (float[2,3] x, float[3] e) => (float[2,3] y) { y = Pow(x, e) }", .feed = "positive"},
    {.text = "g (double[2,3] x) => (double[2,3] y) "
             "{ e = Constant <value_float = 2.0> () f = Cast <to = 11> (e) y = Pow(x, f) }"},
    {.text = "g (float[4] x) => (float[4] y) { e = Constant <value_int = 3> () y = Pow(x, e) }"},
    {.text = "g (float[4] x, double[4] e) => (float[4] y) { y = Pow(x, e) }", .feed = "positive"},
    {.text = "g (int32[6] x) => (int32[6] y) { e = Constant <value_int = 3> () y = Pow(x, e) }", .no_gradient = true},
    {.text = "g (int32[6] x) => (int32[6] y) { e = Constant <value_int = 0> () y = Pow(x, e) }", .no_gradient = true},
    {.text = "g (int64[6] x) => (int64[6] y) { e = Constant <value_int = 8> () y = Pow(x, e) }", .no_gradient = true},
    {.text = "g (int32[6] x) => (int32[6] y) { e = Constant <value_int = 9> () y = Pow(x, e) }", .no_gradient = true},
    /* bases -2 to 2, exponents -3 to 3 */
    {.text = "g (int64[40] i, int32[40] j) => (int64[40] y) { two = Constant <value_int = 2> () x = Sub(i, two) "
             "three = Constant <value = int32 {3}> () e = Sub(j, three) y = Pow(x, e) }",
     .feed = "index:5,index:7",
     .no_gradient = true},
    {.text = "g (int64[40] i, uint8[40] e) => (int64[40] y) { two = Constant <value_int = 2> () x = Sub(i, two) "
             "y = Pow(x, e) }",
     .feed = "index:5,index:7",
     .no_gradient = true},
    {.text = "g (int64[6] x, int8[6] e) => (int64[6] y) { y = Pow(x, e) }", .no_gradient = true},
    {.text = "g (int32[6] x, float[6] e) => (int32[6] y) { y = Pow(x, e) }", .no_gradient = true},
    {.text = "g (int32[6] x) => (int32[6] y) { e = Constant <value_float = 40.5> () y = Pow(x, e) }",
     .no_gradient = true},
    {.text = "g (float[2,3] x, int32[3] e) => (float[2,3] y) { y = Pow(x, e) }", .opset = 7, .error = "int32"},
    /* at x = 0: e x^(e-1) is 0 for e = 0 and e = 2, 1 for e = 1 */
    {.text = "g () => (float[3] dx) { x = Constant <value_floats = [0.0, 0.0, 0.0]> () "
             "e = Constant <value_floats = [0.0, 1.0, 2.0]> () y = Pow(x, e) s = ReduceSum <keepdims = 0> (y) "
             "dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], zs = [\"e\"], y = \"s\"> (x, e) }",
     .no_gradient = true},
    {.text = "g (float[2,3] a, float[2] b) => (float[2,3] y) { y = Pow <axis = 0, broadcast = 1> (a, b) }",
     .opset = 6, .feed = "positive"},
    {.text = "g (bfloat16[5] a) => (bfloat16[5] y) { two = Constant <value_int = 2> () y = Pow(a, two) }"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_binary[] = {
    {.name = "Add", .written = "+", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = add_grad, .eval = add_eval, .lower = add_lower, .is_elementwise = true,
     .is_arithmetic = true, .sizes = SIZES_SUM, .samples = add_samples},
    {.name = "Sub", .written = "-", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = sub_grad, .eval = sub_eval, .lower = sub_lower, .is_elementwise = true,
     .is_arithmetic = true, .sizes = SIZES_DIFFERENCE, .samples = sub_samples},
    {.name = "Mul", .written = "*", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = mul_grad, .eval = mul_eval, .lower = mul_lower, .is_elementwise = true,
     .is_arithmetic = true, .sizes = SIZES_PRODUCT, .samples = mul_samples},
    {.name = "Div", .written = "/", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = div_grad, .eval = div_eval, .lower = div_lower, .is_elementwise = true,
     .sizes = SIZES_QUOTIENT, .samples = div_samples},
    {.name = "Pow", .versions = pow_versions, .inputs = pow_inputs, .outputs = pow_outputs, .infer = infer_broadcast,
     .grad = pow_grad, .eval = pow_eval, .lower = pow_lower, .is_elementwise = true, .samples = pow_samples},
    {0}};
