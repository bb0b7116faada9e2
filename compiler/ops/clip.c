/* Clip: y = x < min ? min : x, then max < y ? max : y. If min > max the result is max. NaN stays NaN.
 * Spec: ONNX Clip-1 and -6 (bounds are attributes), -11 to -13 (bounds are optional scalar inputs). */
#include "ops/op.h"

#include <float.h>
#include <math.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_attr attrs_1[] = {{.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true},
                                         {.name = "max", .type = ATTR_FLOAT, .no_default = true},
                                         {.name = "min", .type = ATTR_FLOAT, .no_default = true},
                                         {0}};
static const struct op_attr attrs_6[] = {{.name = "max", .type = ATTR_FLOAT, .float_default = FLT_MAX},
                                         {.name = "min", .type = ATTR_FLOAT, .float_default = -FLT_MAX},
                                         {0}};
static const struct op_attr no_attrs[] = {{0}};

static void set_missing(struct node *n, const char *attr, double x)
{
    if (node_attr(n, attr) == NULL)
        node_set_attr(n, attr_float(attr, x));
}

/* In version 1 an absent bound is none, in 6 it is the largest float. */
static bool upgrade_1(struct upgrade_ctx *c)
{
    set_missing(c->node, "min", -HUGE_VAL);
    set_missing(c->node, "max", HUGE_VAL);
    return upgrade_drop_consumed_inputs(c);
}

static bool upgrade_6(struct upgrade_ctx *c)
{
    set_missing(c->node, "min", -FLT_MAX);
    set_missing(c->node, "max", FLT_MAX);
    return upgrade_float_attr_to_input(c, "min", 1) && upgrade_float_attr_to_input(c, "max", 2);
}

static const struct op_param one_input[] = {{.name = "input", .type = 'T', .dtypes = DTYPES_NUMERIC}, {0}};
static const struct op_param inputs[] = {
    {.name = "input", .type = 'T', .dtypes = DTYPES_NUMERIC},
    {.name = "min", .type = 'T', .dtypes = DTYPES_NUMERIC, .flags = PARAM_OPTIONAL},
    {.name = "max", .type = 'T', .dtypes = DTYPES_NUMERIC, .flags = PARAM_OPTIONAL},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_NUMERIC}, {0}};

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .inputs = one_input, .upgrade = upgrade_1},
    {.since = 6, .dtypes = FLOATS_1, .attrs = attrs_6, .inputs = one_input, .upgrade = upgrade_6},
    {.since = 11, .dtypes = FLOATS_1, .attrs = no_attrs},
    {.since = 12, .dtypes = FLOATS_1 | DTYPES_INTS},
    {.since = 13},
    {0}};

/* The spec wants bounds of rank 0; exporters also write one element of rank 1. */
static bool clip_infer(struct infer_ctx *c)
{
    for (int i = 1; i <= 2; i++) {
        const struct value *bound = infer_in(c, i);
        if (bound != NULL && (shape_count(&bound->shape) != 1 || bound->shape.rank > infer_rank(c, 0)))
            return infer_error(c, "input %d '%s' must be a scalar", i, bound->name);
    }
    return infer_same_as_input(c);
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* dx = min <= x <= max ? dy : 0: the interval is closed, as in PyTorch.
 * dmin = the sum of dy where x < min, unless max wins (max < min); dmax = the sum of dy where max < x or max < min.
 * ONNX marks the bounds as not differentiable; PyTorch trains them (PACT's and learned step sizes' clipping), and where
 * they are constants nothing is asked for. */
static struct value *where(struct grad_ctx *c, struct value *condition, struct value *dy)
{
    return build(c, "Where", condition, dy, build_like(c, dy, 0.0));
}

static bool clip_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *low = grad_input(c, 1), *high = grad_input(c, 2), *dy = grad_of_output(c, 0);
    struct value *above = low == NULL ? NULL : build(c, "GreaterOrEqual", x, low);
    struct value *below = high == NULL ? NULL : build(c, "LessOrEqual", x, high);
    struct value *inside = above == NULL ? below : below == NULL ? above : build(c, "And", above, below);
    struct value *crossed = low == NULL || high == NULL ? NULL : build(c, "Less", high, low);
    if (low != NULL && grad_wants(c, 1)) {
        struct value *under = build(c, "Less", x, low);
        if (!grad_accumulate(c, 1,
                             where(c, crossed == NULL ? under : build(c, "And", under, build(c, "Not", crossed)), dy)))
            return false;
    }
    if (high != NULL && grad_wants(c, 2)) {
        struct value *over = build(c, "Greater", x, high);
        if (!grad_accumulate(c, 2, where(c, crossed == NULL ? over : build(c, "Or", over, crossed), dy)))
            return false;
    }
    return grad_accumulate(c, 0, inside == NULL ? dy : where(c, inside, dy));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static double clip_f(const struct eval_ctx *c, const double *x)
{
    double y = x[0];
    if (eval_has(c, 1))
        y = y < x[1] ? x[1] : y;
    if (eval_has(c, 2))
        y = x[2] < y ? x[2] : y;
    return y;
}

static bool less_int(const struct eval_ctx *c, int64_t a, int64_t b)
{
    return c->in[0]->dtype == DTYPE_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t clip_i(const struct eval_ctx *c, const int64_t *x)
{
    int64_t y = x[0];
    if (eval_has(c, 1))
        y = less_int(c, y, x[1]) ? x[1] : y;
    if (eval_has(c, 2))
        y = less_int(c, x[2], y) ? x[2] : y;
    return y;
}

static bool clip_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) != NULL ? eval_map_f(c, clip_f) : eval_map_i(c, clip_i);
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool clip_lower(struct lower_ctx *c)
{
    const struct expr *y = lower_in(c, 0);
    if (lower_has(c, 1)) {
        const struct expr *low = lower_in(c, 1);
        y = expr_select(c->arena, expr_binary(c->arena, EXPR_LT, y, low), low, y);
    }
    if (lower_has(c, 2)) {
        const struct expr *high = lower_in(c, 2);
        y = expr_select(c->arena, expr_binary(c->arena, EXPR_LT, high, y), high, y);
    }
    return lower_map(c, y);
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,9] x, float lo, float hi) => (float[2,9] y) { y = Clip(x, lo, hi) }"},
    {.text = "g (float[9] x) => (float[9] y) { hi = Constant <value_float = 0.5> () y = Clip(x, , hi) }"},
    {.text = "g (double[9] x) => (double[9] y) { lo = Constant <value = double {-0.25}> () y = Clip(x, lo) }"},
    {.text = "g (int16[9] x, int16 lo, int16 hi) => (int16[9] y) { y = Clip(x, lo, hi) }", .no_gradient = true},
    {.text = "g (uint64[9] x, uint64 lo) => (uint64[9] y) { y = Clip(x, lo) }", .no_gradient = true},
    {.text = "g (float[9] x) => (float[9] y) { y = Clip(x) }"},
    {.text = "g (float[9] x) => (float[9] y) { y = Clip <min = -0.5, max = 0.5> (x) }", .opset = 6},
    {.text = "g (float[9] x) => (float[9] y) { y = Clip <min = -0.5> (x) }", .opset = 5},
    {.text = "g (float[2,9] x, float[1] hi) => (float[2,9] y) { y = Clip(x, , hi) }"},
    {.text = "g (double[2,9] x, double lo) => (double[2,9] y) { hi = Sub(lo, lo) y = Clip(x, lo, hi) }"},
    {.text = "g (float[9] x, float[2] lo) => (float[9] y) { y = Clip(x, lo) }", .error = "must be a scalar"},
    {.text = "g (float16[9] x) => (float16[9] y) { a = Constant <value_float = -0.3> () "
             "b = Constant <value_float = 0.4> () lo = CastLike(a, x) hi = CastLike(b, x) y = Clip(x, lo, hi) }"},
    {0}};

const struct op_def op_defs_clip[] = {
    {.name = "Clip", .versions = versions, .inputs = inputs, .outputs = outputs, .infer = clip_infer, .grad = clip_grad,
     .eval = clip_eval, .lower = clip_lower, .is_elementwise = true, .samples = samples},
    {0}};
