/* Root (stepc): y = x^exponent with an exponent between 0 and 1 (Sqrt without one, else Pow), of an x that is never
 * below 0, and 0 only where its own gradient is 0 as well: a sum of squares or of powers of absolute values, as norms
 * and distances have it (rewrite/recognise.c). At x = 0 the slope is infinite; PyTorch's norms and distances have the
 * gradient 0 there, and so has this, to any order. */
#include "ops/op.h"

static const struct op_param inputs[] = {
    {.name = "x", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "exponent", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};

/* dy / (2 y), or dy e x^(e - 1). Where x is 0, another number takes its place first, so that no infinity meets a 0 in
 * the gradient of this. */
static struct value *slope_times(struct grad_ctx *c, struct value *at_zero)
{
    struct value *const x = grad_input(c, 0), *const e = grad_input(c, 1), *const dy = grad_of_output(c, 0);
    struct value *const one = build_like(c, x, 1.0);
    if (e == NULL) {
        struct value *const y = build(c, "Where", at_zero, one, grad_output(c, 0));
        return build(c, "Div", dy, build(c, "Mul", y, build_like(c, y, 2.0)));
    }
    struct value *const power = build(c, "Pow", build(c, "Where", at_zero, one, x), build(c, "Sub", e, one));
    return build(c, "Mul", dy, build(c, "Mul", power, e));
}

static bool root_grad(struct grad_ctx *c)
{
    struct value *const zero = build_like(c, grad_input(c, 0), 0.0);
    struct value *const at_zero = build(c, "Equal", grad_input(c, 0), zero);
    return grad_accumulate(c, 0, build(c, "Where", at_zero, zero, slope_times(c, at_zero)));
}

static double root_f(const struct eval_ctx *c, const double *x)
{
    const enum dtype d = c->in[0]->dtype;
    return eval_has(c, 1) ? eval_pow(c, d, x[0], x[1]) : eval_math(c, d, MATH_SQRT, x[0]);
}

static bool root_eval(struct eval_ctx *c)
{
    return eval_map_f(c, root_f);
}

static bool root_expand(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0), *const e = expand_in(c, 1);
    return expand_out(c, 0, e == NULL ? build(c, "Sqrt", x) : build(c, "Pow", x, e));
}

#define GRADIENT                                                                                                       \
    "s = ReduceSum <keepdims = 0> (y) dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x) "

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = stepc.Root(x) }", .feed = "positive"},
    {.text = "g (double[7] x) => (double[7] y) { y = stepc.Root(x) }", .feed = "positive"},
    {.text = "g (double[7] x) => (double[7] y) { e = Constant <value = double {0.25}> () y = stepc.Root(x, e) }",
     .feed = "positive"},
    {.text = "g (float[2,3] x) => (float[2,3] y) { e = Constant <value_floats = [0.3]> () y = stepc.Root(x, e) }",
     .feed = "positive"},
    {.text = "g (float16[5] x) => (float16[5] y) { y = stepc.Root(x) }", .feed = "positive"},
    /* gradients at 0, and the gradient of one */
    {.text = "g () => (float[2] dx) { x = Constant <value_floats = [0.0, 4.0]> () y = stepc.Root(x) " GRADIENT "}",
     .no_gradient = true},
    {.text = "g () => (float[2] dx) { x = Constant <value_floats = [0.0, 4.0]> () e = Constant <value_float = 0.3> () "
             "y = stepc.Root(x, e) " GRADIENT "}",
     .no_gradient = true},
    {.text = "g () => (float[2] ddx) { x = Constant <value_floats = [0.0, 4.0]> () y = stepc.Root(x) " GRADIENT
             "t = ReduceSum <keepdims = 0> (dx) "
             "ddx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"t\"> (x) }",
     .no_gradient = true},
    {.text = "g (int32[2] x) => (int32[2] y) { y = stepc.Root(x) }", .error = "is int32"},
    {0}};

const struct op_def op_defs_norm_root[] = {
    {.domain = DOMAIN_STEPC, .name = "Root", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = root_grad, .expand = root_expand, .eval = root_eval, .is_elementwise = true,
     .samples = samples},
    {0}};
