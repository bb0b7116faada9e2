/* Questions about floats: IsNaN, and IsInf with a sign or either.
 * Spec: ONNX IsNaN-9, -13, -20; IsInf-10, -20. Later versions add types (8-bit floats, which are not supported). */
#include "ops/op.h"

#include <math.h>

#define FLOATS_9 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))

static const struct op_param inputs[] = {
    {.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .dtypes = DTYPES_BOOL, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static bool infer(struct infer_ctx *c)
{
    return infer_out(c, 0, DTYPE_BOOL, infer_shape(c, 0));
}

/* ---- IsNaN ------------------------------------------------------------------------------------------------------- */

static const struct op_version nan_versions[] = {{.since = 9, .dtypes = FLOATS_9}, {.since = 13}, {.since = 20}, {0}};

static int64_t nan_fi(const struct eval_ctx *c, const double *x)
{
    return isnan(x[0]);
}

static bool nan_eval(struct eval_ctx *c)
{
    return eval_map_fi(c, nan_fi);
}

static bool nan_lower(struct lower_ctx *c)
{
    const struct expr *x = lower_in(c, 0);
    return lower_map(c, expr_unary(c->arena, EXPR_NOT, expr_binary(c->arena, EXPR_EQ, x, x)));
}

/* ---- IsInf ------------------------------------------------------------------------------------------------------- */

static const struct op_attr inf_attrs[] = {{.name = "detect_negative", .type = ATTR_INT, .int_default = 1},
                                           {.name = "detect_positive", .type = ATTR_INT, .int_default = 1},
                                           {0}};
static const struct op_version inf_versions[] = {{.since = 10, .dtypes = DTYPES_FLOAT_DOUBLE}, {.since = 20}, {0}};

static int64_t inf_fi(const struct eval_ctx *c, const double *x)
{
    return isinf(x[0]) && op_attr_int(c->node, x[0] < 0 ? "detect_negative" : "detect_positive") != 0;
}

static bool inf_eval(struct eval_ctx *c)
{
    return eval_map_fi(c, inf_fi);
}

static bool inf_lower(struct lower_ctx *c)
{
    struct arena *a = c->arena;
    const struct expr *x = lower_in(c, 0);
    const struct expr *negative = expr_binary(a, EXPR_EQ, x, expr_float(a, x->dtype, -INFINITY));
    const struct expr *positive = expr_binary(a, EXPR_EQ, x, expr_float(a, x->dtype, INFINITY));
    const bool below = op_attr_int(c->node, "detect_negative") != 0,
               above = op_attr_int(c->node, "detect_positive") != 0;
    if (!below && !above)
        return lower_map(c, expr_int(a, DTYPE_BOOL, 0));
    return lower_map(c, below && above ? expr_binary(a, EXPR_OR, negative, positive) : below ? negative : positive);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

/* x is 0 or what 0 / 0 and 1 / 0 are, which only the running program sees. */
#define SPECIAL(type)                                                                                                  \
    "g (" type "[1,5] x) => (bool[3,5] y) { f = Constant <value = float[3,1] {nan, inf, -inf}> () "                    \
    "d = CastLike(f, x) z = Sub(x, x) s = Add(d, z) "

static const struct op_sample nan_samples[] = {
    {.text = SPECIAL("float") "y = IsNaN(s) }", .no_gradient = true},
    {.text = SPECIAL("double") "y = IsNaN(s) }", .no_gradient = true},
    {.text = SPECIAL("float16") "y = IsNaN(s) }", .no_gradient = true},
    {.text = SPECIAL("bfloat16") "y = IsNaN(s) }", .no_gradient = true},
    {.text = "g (float[0] x) => (bool[0] y) { y = IsNaN(x) }", .no_gradient = true},
    {.text = "g (int32[2] x) => (bool[2] y) { y = IsNaN(x) }", .error = "is int32"},
    {.text = "g (bfloat16[2] x) => (bool[2] y) { y = IsNaN(x) }", .opset = 12, .error = "bfloat16"},
    {0}};
static const struct op_sample inf_samples[] = {
    {.text = SPECIAL("float") "y = IsInf(s) }", .no_gradient = true},
    {.text = SPECIAL("double") "y = IsInf <detect_negative = 0> (s) }", .no_gradient = true},
    {.text = SPECIAL("float") "y = IsInf <detect_positive = 0> (s) }", .no_gradient = true},
    {.text = SPECIAL("float") "y = IsInf <detect_positive = 0, detect_negative = 0> (s) }", .no_gradient = true},
    {.text = SPECIAL("float16") "y = IsInf(s) }", .no_gradient = true},
    {.text = "g (float16[2] x) => (bool[2] y) { y = IsInf(x) }", .opset = 19, .error = "float16"},
    {0}};

const struct op_def op_defs_is_nan[] = {
    {.name = "IsNaN", .versions = nan_versions, .inputs = inputs, .outputs = outputs, .infer = infer, .grad = grad_none,
     .eval = nan_eval, .lower = nan_lower, .is_elementwise = true, .samples = nan_samples},
    {.name = "IsInf", .versions = inf_versions, .inputs = inputs, .outputs = outputs, .attrs = inf_attrs,
     .infer = infer, .grad = grad_none, .eval = inf_eval, .lower = inf_lower, .is_elementwise = true,
     .samples = inf_samples},
    {0}};
