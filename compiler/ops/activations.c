/* Activations made of ordinary operators: Gelu HardSigmoid HardSwish Mish Shrink Softsign Swish SwiGLU ThresholdedRelu
 * and PRelu. Each one's comment is its contract: the operations from left to right, each rounded to the type of X
 * (float where that is float16 or bfloat16: only the result is rounded to it).
 * Spec: ONNX Operators.md. Opset 1 had in-place hints. */
#include "ops/op.h"

#include <math.h>
#include <string.h>

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define SLOPED_9 (FLOATS_1 | DTYPES_INDEX | DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64))
#define SLOPED (SLOPED_9 | DTYPE_BIT(DTYPE_BFLOAT16))

#define ATTR(label, value) {.name = (label), .type = ATTR_FLOAT, .float_default = (value)}
#define ATTR_CONSUMED {.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true}
static const struct op_attr gelu_attrs[] = {{.name = "approximate", .type = ATTR_STRING, .string_default = "none"},
                                            {0}};
static const struct op_attr alpha_attrs[] = {ATTR("alpha", 1), {0}};
static const struct op_attr shrink_attrs[] = {ATTR("lambd", 0.5), ATTR("bias", 0), {0}};
static const struct op_attr hard_attrs_1[] = {ATTR("alpha", 0.2f), ATTR("beta", 0.5), ATTR_CONSUMED, {0}};
static const struct op_attr hard_attrs[] = {ATTR("alpha", 0.2f), ATTR("beta", 0.5), {0}};
static const struct op_attr consumed_attrs[] = {ATTR_CONSUMED, {0}};

#define PARAM(label, set) {.name = (label), .type = 'T', .dtypes = (set)}
static const struct op_param inputs[] = {PARAM("X", DTYPES_FLOATS), {0}}, outputs[] = {PARAM("Y", DTYPES_FLOATS), {0}};
static const struct op_param numbers_in[] = {PARAM("input", DTYPES_NUMERIC), {0}},
                             numbers_out[] = {PARAM("output", DTYPES_NUMERIC), {0}};
static const struct op_param sloped_in[] = {PARAM("X", SLOPED), PARAM("slope", SLOPED), {0}},
                             sloped_out[] = {PARAM("Y", SLOPED), {0}};

static const struct op_version versions_20[] = {{.since = 20}, {0}};
static const struct op_version versions_24[] = {{.since = 24}, {0}}, versions_28[] = {{.since = 28}, {0}};
static const struct op_param gate_inputs[] = {PARAM("A", DTYPES_FLOATS), PARAM("B", DTYPES_FLOATS), {0}};
static const struct op_version versions_9[] = {{.since = 9}, {0}};
static const struct op_version versions_1_22[] = {{.since = 1, .dtypes = FLOATS_1}, {.since = 22}, {0}};
static const struct op_version versions_10_22[] = {{.since = 10, .dtypes = FLOATS_1}, {.since = 22}, {0}};
static const struct op_version versions_14_22[] = {{.since = 14, .dtypes = FLOATS_1}, {.since = 22}, {0}};
static const struct op_version versions_18_22[] = {{.since = 18, .dtypes = FLOATS_1}, {.since = 22}, {0}};
static const struct op_version versions_hard[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = hard_attrs_1, .upgrade = upgrade_drop_consumed_inputs},
    {.since = 6, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};

/* Before broadcasting, slope was one number or one for each channel. */
static bool upgrade_slope(struct upgrade_ctx *c)
{
    const struct value *x = node_input(c->node, 0);
    struct value *slope = node_input(c->node, 1);
    if (x == NULL || slope == NULL || shape_count(&slope->shape) == 1 || x->shape.rank < 2 || slope->shape.rank != 1)
        return true;
    struct shape s = SHAPE_OF(shape_size(&slope->shape, 0));
    for (int d = 1; d < x->shape.rank - 1; d++)
        shape_add(&s, size_constant(1));
    node_set_input(c->node, 1, build_reshape(c->b, slope, &s));
    return !c->b->failed;
}

static const struct op_version versions_sloped[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = consumed_attrs, .upgrade = upgrade_drop_consumed_inputs},
    {.since = 6, .dtypes = FLOATS_1, .upgrade = upgrade_slope},
    {.since = 7, .dtypes = FLOATS_1},
    {.since = 9, .dtypes = SLOPED_9},
    {.since = 16},
    {0}};

/* ---- shared pieces ----------------------------------------------------------------------------------------------- */

static struct value *constant(struct expand_ctx *c, double x)
{
    return build_like(c, expand_in(c, 0), x);
}

typedef double (*curve)(const struct eval_ctx *c, double x);

/* In double only: what generated code computes is the expansion. */
static bool eval_curve(struct eval_ctx *c, curve f)
{
    const struct eval_tensor *x = eval_input(c, 0);
    double *y = eval_out_f(c, 0);
    for (int64_t k = 0; y != NULL && k < x->count; k++)
        y[k] = f(c, x->f[k]);
    return true;
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* ---- Gelu: 0.5 x (1 + erf(x sqrt(1/2))), or 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) ---------------------- */

#define SQRT_HALF 0.70710678118654752440
#define SQRT_2_OVER_PI 0.79788456080286535588
#define INVERSE_SQRT_2_PI 0.39894228040143267794

static bool is_tanh(const struct node *n)
{
    return strcmp(op_attr_string(n, "approximate"), "tanh") == 0;
}

static bool gelu_infer(struct infer_ctx *c)
{
    const char *given = op_attr_string(c->node, "approximate");
    if (strcmp(given, "none") != 0 && strcmp(given, "tanh") != 0)
        return infer_error(c, "attribute 'approximate' is '%s', expected 'none' or 'tanh'", given);
    return infer_same_as_input(c);
}

/* erf or tanh of the scaled x */
static struct value *gelu_sigma(struct builder *b, struct value *x, bool tanh_form)
{
    const struct {
        struct builder *b;
    } c = {b};
    if (!tanh_form)
        return build(&c, "Erf", build(&c, "Mul", x, build_like(&c, x, SQRT_HALF)));
    struct value *cube = build(&c, "Mul", build(&c, "Mul", x, x), x);
    struct value *bent = build(&c, "Add", x, build(&c, "Mul", cube, build_like(&c, x, 0.044715)));
    return build(&c, "Tanh", build(&c, "Mul", bent, build_like(&c, x, SQRT_2_OVER_PI)));
}

/* (x / 2) (1 + sigma) */
static bool gelu_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *sigma = gelu_sigma(c->b, x, is_tanh(c->node));
    struct value *half = build(c, "Mul", x, constant(c, 0.5));
    return expand_out(c, 0, build(c, "Mul", half, build(c, "Add", sigma, constant(c, 1))));
}

/* none:  dx = dy (0.5 (1 + erf(x sqrt(1/2))) + x exp(-x^2 / 2) / sqrt(2 pi))
 * tanh:  dx = dy (0.5 (1 + t) + 0.5 x (1 - t^2) sqrt(2/pi) (1 + 3 * 0.044715 x^2)) */
static bool gelu_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *one = build_like(c, x, 1.0), *half = build_like(c, x, 0.5);
    const bool tanh_form = is_tanh(c->node);
    struct value *sigma = gelu_sigma(c->b, x, tanh_form), *square = build(c, "Mul", x, x), *bell;
    if (tanh_form) {
        struct value *slope = build(c, "Add",
                                    build(c, "Mul", square, build_like(c, x, 3 * 0.044715 * SQRT_2_OVER_PI / 2)),
                                    build_like(c, x, SQRT_2_OVER_PI / 2));
        bell = build(c, "Mul", build(c, "Sub", one, build(c, "Mul", sigma, sigma)), slope);
    } else {
        bell = build(c, "Mul", build(c, "Exp", build(c, "Mul", square, build_like(c, x, -0.5))),
                     build_like(c, x, INVERSE_SQRT_2_PI));
    }
    struct value *by = build(c, "Add", build(c, "Mul", build(c, "Add", sigma, one), half), build(c, "Mul", x, bell));
    return grad_accumulate(c, 0, build(c, "Mul", grad_of_output(c, 0), by));
}

static double gelu(const struct eval_ctx *c, double x)
{
    if (is_tanh(c->node))
        return 0.5 * x * (1 + tanh(SQRT_2_OVER_PI * (x + 0.044715 * x * x * x)));
    return 0.5 * x * (1 + erf(x * SQRT_HALF));
}

static bool gelu_eval(struct eval_ctx *c)
{
    return eval_curve(c, gelu);
}

static const struct op_sample gelu_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Gelu(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Gelu(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Gelu <approximate = \"tanh\"> (x) }"},
    {.text = "g (float[7] x) => (float[7] y) { y = Gelu <approximate = \"erf\"> (x) }",
     .error = "expected 'none' or 'tanh'"},
    {0}};

/* ---- HardSigmoid: t = x alpha + beta; 0 for t <= 0, 1 for t >= 1, else t. HardSwish: x times that of 1/6 and 1/2 - */

/* At the kinks the slope is 0, as in PyTorch. */
static struct value *hard_sigmoid_of(struct expand_ctx *c, double alpha, double beta)
{
    struct value *t = build(c, "Add", build(c, "Mul", expand_in(c, 0), constant(c, alpha)), constant(c, beta));
    struct value *low = build(c, "Where", build(c, "LessOrEqual", t, constant(c, 0)), constant(c, 0), t);
    return build(c, "Where", build(c, "GreaterOrEqual", t, constant(c, 1)), constant(c, 1), low);
}

static double clamp(double t)
{
    return t <= 0 ? 0 : t >= 1 ? 1 : t;
}

static bool hard_sigmoid_expand(struct expand_ctx *c)
{
    return expand_out(c, 0, hard_sigmoid_of(c, op_attr_float(c->node, "alpha"), op_attr_float(c->node, "beta")));
}

static double hard_sigmoid(const struct eval_ctx *c, double x)
{
    return clamp(x * op_attr_float(c->node, "alpha") + op_attr_float(c->node, "beta"));
}

static bool hard_sigmoid_eval(struct eval_ctx *c)
{
    return eval_curve(c, hard_sigmoid);
}

static bool hard_swish_expand(struct expand_ctx *c)
{
    return expand_out(c, 0, build(c, "Mul", expand_in(c, 0), hard_sigmoid_of(c, 1.0 / 6, 0.5)));
}

static double hard_swish(const struct eval_ctx *c, double x)
{
    return x * clamp(x / 6 + 0.5);
}

static bool hard_swish_eval(struct eval_ctx *c)
{
    return eval_curve(c, hard_swish);
}

static const struct op_sample hard_sigmoid_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = HardSigmoid(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = HardSigmoid <alpha = 0.75, beta = 0.25> (x) }"},
    {.text = "g (float[5] x) => (float[5] y) { y = HardSigmoid(x) }", .opset = 5},
    {0}};
static const struct op_sample hard_swish_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = HardSwish(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = HardSwish(x) }"},
    {0}};

/* ---- Mish: x tanh(softplus(x)). Swish: x sigmoid(alpha x) -------------------------------------------------------- */

static bool mish_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    return expand_out(c, 0, build(c, "Mul", x, build(c, "Tanh", build(c, "Softplus", x))));
}

static double mish(const struct eval_ctx *c, double x)
{
    return x * tanh(x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)));
}

static bool mish_eval(struct eval_ctx *c)
{
    return eval_curve(c, mish);
}

static bool swish_expand(struct expand_ctx *c)
{
    const double alpha = op_attr_float(c->node, "alpha");
    struct value *x = expand_in(c, 0), *scaled = alpha == 1 ? x : build(c, "Mul", x, constant(c, alpha));
    return expand_out(c, 0, build(c, "Mul", x, build(c, "Sigmoid", scaled)));
}

static double swish(const struct eval_ctx *c, double x)
{
    return x * sigmoid(op_attr_float(c->node, "alpha") * x);
}

static bool swish_eval(struct eval_ctx *c)
{
    return eval_curve(c, swish);
}

/* SwiGLU: a gate of its own, Swish(A) B, of one shape. */
static bool swiglu_infer(struct infer_ctx *c)
{
    const struct value *a = infer_in(c, 0), *b = infer_in(c, 1);
    if (shape_equal(&a->shape, &b->shape))
        return infer_out(c, 0, DTYPE_UNDEFINED, &a->shape);
    struct arena text = {0};
    infer_error(c, "input 1 '%s' has shape %s, expected that of input 0 '%s', %s: SwiGLU does not broadcast", b->name,
                shape_text(&text, &b->shape), a->name, shape_text(&text, &a->shape));
    arena_free(&text);
    return false;
}

static bool swiglu_expand(struct expand_ctx *c)
{
    const struct attr alpha = attr_float("alpha", op_attr_float(c->node, "alpha"));
    return expand_out(c, 0, build(c, "Mul", build_with(c, "Swish", ATTRS(alpha), expand_in(c, 0)), expand_in(c, 1)));
}

static double swiglu(const struct eval_ctx *c, const double *x)
{
    return eval_round(c, swish(c, x[0]) * x[1]);
}

static bool swiglu_eval(struct eval_ctx *c)
{
    return eval_map_f(c, swiglu);
}

static const struct op_sample swiglu_samples[] = {
    {.text = "g (float[2,3] a, float[2,3] b) => (float[2,3] y) { y = SwiGLU(a, b) }"},
    {.text = "g (double[7] a, double[7] b) => (double[7] y) { y = SwiGLU <alpha = 1.7> (a, b) }"},
    {.text = "g (bfloat16[7] a, bfloat16[7] b) => (bfloat16[7] y) { y = SwiGLU(a, b) }"},
    {.text = "g (float[2,3] a, float[3] b) => (float[2,3] y) { y = SwiGLU(a, b) }",
     .error = "SwiGLU does not broadcast"},
    {0}};
static const struct op_sample mish_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Mish(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Mish(x) }"},
    {0}};
static const struct op_sample swish_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Swish(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Swish <alpha = 1.7> (x) }"},
    {0}};

/* ---- Softsign: x / (1 + |x|) ------------------------------------------------------------------------------------- */

static bool softsign_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    return expand_out(c, 0, build(c, "Div", x, build(c, "Add", build(c, "Abs", x), constant(c, 1))));
}

/* dx = dy / (1 + |x|)^2 */
static bool softsign_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *below = build(c, "Add", build(c, "Abs", x), build_like(c, x, 1.0));
    return grad_accumulate(c, 0, build(c, "Div", grad_of_output(c, 0), build(c, "Mul", below, below)));
}

static double softsign(const struct eval_ctx *c, double x)
{
    return x / (1 + fabs(x));
}

static bool softsign_eval(struct eval_ctx *c)
{
    return eval_curve(c, softsign);
}

static const struct op_sample softsign_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Softsign(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = Softsign(x) }"},
    {0}};

/* ---- ThresholdedRelu: x > alpha ? x : 0. Shrink: x < -lambd ? x + bias : x > lambd ? x - bias : 0 ---------------- */

static bool thresholded_relu_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *is_above = build(c, "Greater", x, constant(c, op_attr_float(c->node, "alpha")));
    return expand_out(c, 0, build(c, "Where", is_above, x, constant(c, 0)));
}

static double thresholded_relu(const struct eval_ctx *c, double x)
{
    return x > op_attr_float(c->node, "alpha") ? x : 0;
}

static bool thresholded_relu_eval(struct eval_ctx *c)
{
    return eval_curve(c, thresholded_relu);
}

/* Integers are shrunk in double and truncated, as ONNX's reference does. */
static bool shrink_expand(struct expand_ctx *c)
{
    const double lambd = op_attr_float(c->node, "lambd"), bias = op_attr_float(c->node, "bias");
    const enum dtype d = expand_in(c, 0)->dtype;
    struct value *x = dtype_is_float(d) ? expand_in(c, 0) : build_cast(c->b, expand_in(c, 0), DTYPE_DOUBLE);
    struct value *above = build(c, "Sub", x, build_like(c, x, bias)),
                 *below = build(c, "Add", x, build_like(c, x, bias));
    struct value *upper = build(c, "Where", build(c, "Greater", x, build_like(c, x, lambd)), above,
                                build_like(c, x, 0.0));
    struct value *y = build(c, "Where", build(c, "Less", x, build_like(c, x, -lambd)), below, upper);
    return expand_out(c, 0, build_cast(c->b, y, d));
}

static double shrink(const struct eval_ctx *c, double x)
{
    const double lambd = op_attr_float(c->node, "lambd"), bias = op_attr_float(c->node, "bias");
    return x < -lambd ? x + bias : x > lambd ? x - bias : 0;
}

static bool shrink_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    int64_t *y = eval_out_i(c, 0);
    for (int64_t k = 0; y != NULL && k < x->count; k++)
        y[k] = dtype_from_double(x->dtype,
                                 shrink(c, x->dtype == DTYPE_UINT64 ? (double)(uint64_t)x->i[k] : (double)x->i[k]));
    return y != NULL || eval_curve(c, shrink);
}

static const struct op_sample thresholded_relu_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = ThresholdedRelu(x) }"},
    {.text = "g (double[7] x) => (double[7] y) { y = ThresholdedRelu <alpha = 0.25> (x) }"},
    {0}};
static const struct op_sample shrink_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Shrink(x) }"},
    {.text = "g (double[9] x) => (double[9] y) { y = Shrink <lambd = 0.25, bias = 0.5> (x) }"},
    {.text = "g (int8[9] x) => (int8[9] y) { y = Shrink <lambd = 1.5, bias = 1.5> (x) }", .no_gradient = true},
    {0}};

/* ---- PRelu: x > 0 ? x : slope x ---------------------------------------------------------------------------------- */

static bool prelu_infer(struct infer_ctx *c)
{
    struct shape both;
    if (shape_broadcast(&both, infer_shape(c, 0), infer_shape(c, 1)) && shape_equal(&both, infer_shape(c, 0)))
        return infer_same_as_input(c);
    struct arena text = {0};
    infer_error(c, "input 1 '%s' has shape %s, which cannot be broadcast to that of input 0 '%s', %s",
                infer_in(c, 1)->name, shape_text(&text, infer_shape(c, 1)), infer_in(c, 0)->name,
                shape_text(&text, infer_shape(c, 0)));
    arena_free(&text);
    return false;
}

static bool prelu_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *is_above = build(c, "Greater", x, constant(c, 0));
    return expand_out(c, 0, build(c, "Where", is_above, x, build(c, "Mul", x, expand_in(c, 1))));
}

static double prelu_f(const struct eval_ctx *c, const double *x)
{
    return x[0] > 0 ? x[0] : x[0] * x[1];
}

static int64_t prelu_i(const struct eval_ctx *c, const int64_t *x)
{
    const bool is_above = dtype_is_signed(c->in[0]->dtype) ? x[0] > 0 : x[0] != 0;
    return is_above ? x[0] : eval_int_binary(c->in[0]->dtype, '*', x[0], x[1]);
}

static bool prelu_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) ? eval_map_f(c, prelu_f) : eval_map_i(c, prelu_i);
}

static const struct op_sample prelu_samples[] = {
    {.text = "g (float[2,3,4] x, float[3,1] s) => (float[2,3,4] y) { y = PRelu(x, s) }"},
    {.text = "g (double[7] x, double[1] s) => (double[7] y) { y = PRelu(x, s) }"},
    {.text = "g (int32[7] x, int32[7] s) => (int32[7] y) { y = PRelu(x, s) }", .no_gradient = true},
    {.text = "g (float[2,3,4] x, float[3] s) => (float[2,3,4] y) { y = PRelu(x, s) }", .opset = 6},
    {.text = "g (float[5] x, float[1] s) => (float[5] y) { y = PRelu <consumed_inputs = [0]> (x, s) }", .opset = 5},
    {.text = "g (float[3] x, float[2,3] s) => (float[3] y) { y = PRelu(x, s) }", .error = "cannot be broadcast"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

#define FLOATS .inputs = inputs, .outputs = outputs
const struct op_def op_defs_activations[] = {
    {.name = "Gelu", .versions = versions_20, FLOATS, .attrs = gelu_attrs, .infer = gelu_infer, .grad = gelu_grad,

     .stays = op_stays, .expand = gelu_expand, .eval = gelu_eval, .in_float = true, .bounded = bounded_same,
     .samples = gelu_samples},
    {.name = "HardSigmoid", .versions = versions_hard, FLOATS, .attrs = hard_attrs, .infer = infer_same_as_input,
     .stays = op_stays, .expand = hard_sigmoid_expand, .eval = hard_sigmoid_eval, .in_float = true,
     .bounded = bounded_same, .samples = hard_sigmoid_samples},
    {.name = "HardSwish", .versions = versions_14_22, FLOATS, .infer = infer_same_as_input,
     .stays = op_stays, .expand = hard_swish_expand,
     .eval = hard_swish_eval, .in_float = true, .bounded = bounded_same, .samples = hard_swish_samples},
    {.name = "Mish", .versions = versions_18_22, FLOATS, .infer = infer_same_as_input, .expand = mish_expand,
     .eval = mish_eval, .in_float = true, .bounded = bounded_same, .samples = mish_samples},
    {.name = "Swish", .versions = versions_24, FLOATS, .attrs = alpha_attrs, .infer = infer_same_as_input,
     .expand = swish_expand, .eval = swish_eval, .in_float = true, .bounded = bounded_same, .samples = swish_samples},
    {.name = "SwiGLU", .versions = versions_28, .inputs = gate_inputs, .outputs = outputs, .attrs = alpha_attrs,
     .infer = swiglu_infer, .expand = swiglu_expand, .eval = swiglu_eval, .in_float = true,
     .bounded = bounded_elementwise, .samples = swiglu_samples},
    {.name = "Softsign", .versions = versions_1_22, FLOATS, .infer = infer_same_as_input, .grad = softsign_grad,
     .stays = op_stays, .expand = softsign_expand, .eval = softsign_eval, .in_float = true,
     .bounded = bounded_same, .samples = softsign_samples},
    {.name = "ThresholdedRelu", .versions = versions_10_22, FLOATS, .attrs = alpha_attrs, .infer = infer_same_as_input,
     .stays = op_stays, .expand = thresholded_relu_expand, .eval = thresholded_relu_eval,
     .bounded = bounded_same, .samples = thresholded_relu_samples},
    {.name = "Shrink", .versions = versions_9, .inputs = numbers_in, .outputs = numbers_out, .attrs = shrink_attrs,
     .infer = infer_same_as_input, .expand = shrink_expand, .eval = shrink_eval,
     .bounded = bounded_same, .samples = shrink_samples},
    {.name = "PRelu", .versions = versions_sloped, .inputs = sloped_in, .outputs = sloped_out, .infer = prelu_infer,

     .stays = op_stays, .expand = prelu_expand, .eval = prelu_eval, .bounded = bounded_elementwise,
     .samples = prelu_samples},
    {0}};
