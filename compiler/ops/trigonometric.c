/* Tan Asin Acos Atan, Sinh Cosh, Asinh Acosh Atanh. (Sin, Cos and Tanh stand in unary_math.c.)
 * Outside of their domain, |x| > 1 or x < 1, they are NaN. At its ends the gradients of Asin, Acos, Acosh and Atanh are
 * infinite, as in PyTorch.
 * Spec: ONNX Tan, Asin, Acos, Atan-7 and -22; Sinh, Cosh, Asinh, Acosh, Atanh-9 and -22. 22 adds bfloat16. */
#include "ops/op.h"

#include <math.h>

#define FLOATS_7 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))

static const struct op_version versions_7[] = {{.since = 7, .dtypes = FLOATS_7}, {.since = 22}, {0}};
static const struct op_version versions_9[] = {{.since = 9, .dtypes = FLOATS_7}, {.since = 22}, {0}};
static const struct op_param inputs[] = {{.name = "input", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

/* ---- value and code ---------------------------------------------------------------------------------------------- */

/* The operators and their functions, one to one. */
#define EACH_FUNCTION(F)                                                                                               \
    F(tan, TAN) F(asin, ASIN) F(acos, ACOS) F(atan, ATAN) F(sinh, SINH) F(cosh, COSH) F(asinh, ASINH) F(acosh, ACOSH)  \
    F(atanh, ATANH)

static bool eval_function(struct eval_ctx *c, enum math_fn fn)
{
    const struct eval_tensor *x = eval_input(c, 0);
    double *y = eval_out_f(c, 0);
    for (int64_t k = 0; y != NULL && k < x->count; k++)
        y[k] = eval_math(c, x->dtype, fn, x->f[k]);
    return true;
}

#define CALLBACKS(name, NAME)                                                                                          \
    static bool name##_eval(struct eval_ctx *c)                                                                        \
    {                                                                                                                  \
        return eval_function(c, MATH_##NAME);                                                                          \
    }                                                                                                                  \
    static bool name##_lower(struct lower_ctx *c)                                                                      \
    {                                                                                                                  \
        return lower_map(c, expr_math(c->arena, EXPR_FN_##NAME, lower_in(c, 0)));                                      \
    }
EACH_FUNCTION(CALLBACKS)

/* Which poles x lies between. */
static double tan_piece(const struct eval_ctx *c, const double *x)
{
    (void)c;
    return nearbyint(x[0] / 3.14159265358979323846);
}

static bool tan_eval_piece(struct eval_ctx *c)
{
    return eval_map_f(c, tan_piece);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static struct value *one(struct grad_ctx *c)
{
    return build_like(c, grad_input(c, 0), 1.0);
}

/* (1 - x) (1 + x), which is exact near 1 and -1, where 1 - x^2 is not. */
static struct value *one_less_square(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    return build(c, "Mul", build(c, "Sub", one(c), x), build(c, "Add", one(c), x));
}

static bool divided(struct grad_ctx *c, struct value *by)
{
    return grad_accumulate(c, 0, build(c, "Div", grad_of_output(c, 0), by));
}

static bool multiplied(struct grad_ctx *c, struct value *slope)
{
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), slope));
}

/* dx = dy (1 + y^2) */
static bool tan_grad(struct grad_ctx *c)
{
    struct value *y = grad_output(c, 0);
    return multiplied(c, build(c, "Add", one(c), build(c, "Mul", y, y)));
}

/* dx = dy / sqrt(1 - x^2) */
static bool asin_grad(struct grad_ctx *c)
{
    return divided(c, build(c, "Sqrt", one_less_square(c)));
}

/* dx = -dy / sqrt(1 - x^2) */
static bool acos_grad(struct grad_ctx *c)
{
    struct value *root = build(c, "Sqrt", one_less_square(c));
    return grad_accumulate(c, 0, build(c, "Div", build(c, "Neg", grad_of_output(c, 0)), root));
}

/* dx = dy / (1 + x^2) */
static bool atan_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    return divided(c, build(c, "Add", one(c), build(c, "Mul", x, x)));
}

/* dx = dy cosh(x) */
static bool sinh_grad(struct grad_ctx *c)
{
    return multiplied(c, build(c, "Cosh", grad_input(c, 0)));
}

/* dx = dy sinh(x) */
static bool cosh_grad(struct grad_ctx *c)
{
    return multiplied(c, build(c, "Sinh", grad_input(c, 0)));
}

/* dx = dy / sqrt(x^2 + 1) */
static bool asinh_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    return divided(c, build(c, "Sqrt", build(c, "Add", one(c), build(c, "Mul", x, x))));
}

/* dx = dy / sqrt((x - 1) (x + 1)); NaN for x < -1, too, where y is. */
static bool acosh_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    struct value *root = build(c, "Mul", build(c, "Sqrt", build(c, "Sub", x, one(c))),
                               build(c, "Sqrt", build(c, "Add", x, one(c))));
    return divided(c, root);
}

/* dx = dy / (1 - x^2) */
static bool atanh_grad(struct grad_ctx *c)
{
    return divided(c, one_less_square(c));
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* Numbers with a special result; the input adds zeros that only the running program sees. */
#define SPECIAL(op, type)                                                                                              \
    {.text = "g (" type "[1] x) => (" type "[12] y) "                                                                  \
             "{ f = Constant <value = float[12] {0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 1e-30, 1e30, inf, -inf, nan}> " \
             "() d = CastLike(f, x) z = Sub(x, x) s = Add(d, z) y = " op "(s) }", .no_gradient = true}
#define SAMPLES(op, drawn)                                                                                             \
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = " op "(x) }", .feed = (drawn)},                                 \
    {.text = "g (double[4] x) => (double[4] y) { y = " op "(x) }", .feed = (drawn)},                                   \
    {.text = "g (float16[4] x) => (float16[4] y) { y = " op "(x) }", .feed = (drawn)},                                 \
    {.text = "g (bfloat16[4] x) => (bfloat16[4] y) { y = " op "(x) }", .feed = (drawn), .no_gradient = true},          \
    {.text = "g (float[0] x) => (float[0] y) { y = " op "(x) }", .feed = (drawn)},                                     \
    {.text = "g (int32[2] x) => (int32[2] y) { y = " op "(x) }", .error = "is int32"},                                 \
    {.text = "g (bfloat16[4] x) => (bfloat16[4] y) { y = " op "(x) }", .opset = 21, .error = "bfloat16"},              \
    SPECIAL(op, "float"), SPECIAL(op, "double")

static const struct op_sample tan_samples[] = {SAMPLES("Tan", "unit"), {0}};
static const struct op_sample asin_samples[] = {SAMPLES("Asin", "unit"), {0}};
static const struct op_sample acos_samples[] = {SAMPLES("Acos", "unit"), {0}};
static const struct op_sample atan_samples[] = {SAMPLES("Atan", NULL), {0}};
static const struct op_sample sinh_samples[] = {SAMPLES("Sinh", NULL), {0}};
static const struct op_sample cosh_samples[] = {SAMPLES("Cosh", NULL), {0}};
static const struct op_sample asinh_samples[] = {SAMPLES("Asinh", NULL), {0}};
static const struct op_sample atanh_samples[] = {SAMPLES("Atanh", "unit"), {0}};
#define ABOVE_1(type)                                                                                                  \
    {.text = "g (" type "[2,3] x) => (" type "[2,3] y) "                                                               \
             "{ f = Constant <value_float = 1.25> () d = CastLike(f, x) s = Add(x, d) y = Acosh(s) }",                 \
     .feed = "positive"}
static const struct op_sample acosh_samples[] = {
    ABOVE_1("float"), ABOVE_1("double"), ABOVE_1("float16"), SPECIAL("Acosh", "float"), SPECIAL("Acosh", "double"),
    {.text = "g (float[0] x) => (float[0] y) { y = Acosh(x) }"},
    {.text = "g (int32[2] x) => (int32[2] y) { y = Acosh(x) }", .error = "is int32"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

#define RULES(name)                                                                                                    \
    .inputs = inputs, .outputs = outputs, .infer = infer_same_as_input, .grad = name##_grad, .eval = name##_eval,      \
    .lower = name##_lower, .is_elementwise = true, .samples = name##_samples

const struct op_def op_defs_trigonometric[] = {
    {.name = "Tan", .versions = versions_7, RULES(tan), .eval_piece = tan_eval_piece},
    {.name = "Asin", .versions = versions_7, RULES(asin)},
    {.name = "Acos", .versions = versions_7, RULES(acos)},
    {.name = "Atan", .versions = versions_7, RULES(atan)},
    {.name = "Sinh", .versions = versions_9, RULES(sinh)},
    {.name = "Cosh", .versions = versions_9, RULES(cosh)},
    {.name = "Asinh", .versions = versions_9, RULES(asinh)},
    {.name = "Acosh", .versions = versions_9, RULES(acosh)},
    {.name = "Atanh", .versions = versions_9, RULES(atanh)},
    {0}};
