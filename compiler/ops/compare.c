/* Comparisons: Equal Less LessOrEqual Greater GreaterOrEqual; bool out of two operands, broadcast.
 * NaN is equal to nothing and neither less nor greater (IEEE 754).
 * Spec: ONNX Operators.md. Versions differ in types; opset 1 broadcasts by attributes. */
#include "ops/op.h"

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

static const struct op_attr attrs_1[] = {
    {.name = "axis", .type = ATTR_INT, .no_default = true}, {.name = "broadcast", .type = ATTR_INT, .int_default = 0},
    {0}};
static const struct op_attr no_attrs[] = {{0}};

static const struct op_version equal_versions[] = {
    {.since = 1, .dtypes = DTYPES_INDEX | DTYPES_BOOL, .attrs = attrs_1, .upgrade = upgrade_broadcast_attr},
    {.since = 7, .dtypes = DTYPES_INDEX | DTYPES_BOOL, .attrs = no_attrs},
    {.since = 11, .dtypes = FLOATS_1 | DTYPES_INTS | DTYPES_BOOL},
    {.since = 13},
    {.since = 19},
    {0}};
static const struct op_version order_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .upgrade = upgrade_broadcast_attr},
    {.since = 7, .dtypes = FLOATS_1, .attrs = no_attrs},
    {.since = 9, .dtypes = FLOATS_1 | DTYPES_INTS},
    {.since = 13},
    {0}};
static const struct op_version or_equal_versions[] = {{.since = 12, .dtypes = FLOATS_1 | DTYPES_INTS},
                                                      {.since = 16},
                                                      {0}};

static const struct op_param equal_inputs[] = {
    {.name = "A", .type = 'T', .dtypes = DTYPES_ALL, .flags = PARAM_NOT_DIFF},
    {.name = "B", .type = 'T', .dtypes = DTYPES_ALL, .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param order_inputs[] = {
    {.name = "A", .type = 'T', .dtypes = DTYPES_NUMERIC, .flags = PARAM_NOT_DIFF},
    {.name = "B", .type = 'T', .dtypes = DTYPES_NUMERIC, .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "C", .dtypes = DTYPES_BOOL, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

/* ---- shared pieces ----------------------------------------------------------------------------------------------- */

static bool eval_either(struct eval_ctx *c, eval_fn_fi floats, eval_fn_i ints)
{
    return eval_f(c, 0) != NULL ? eval_map_fi(c, floats) : eval_map_i(c, ints);
}

static bool less_int(const struct eval_ctx *c, int64_t a, int64_t b)
{
    return c->in[0]->dtype == DTYPE_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static bool lower_compare(struct lower_ctx *c, enum expr_op op, int left, int right)
{
    return lower_map(c, expr_binary(c->arena, op, lower_in(c, left), lower_in(c, right)));
}

/* ---- Equal ------------------------------------------------------------------------------------------------------- */

static int64_t equal_f(const struct eval_ctx *c, const double *x)
{
    return x[0] == x[1];
}

static int64_t equal_i(const struct eval_ctx *c, const int64_t *x)
{
    return x[0] == x[1];
}

static bool equal_eval(struct eval_ctx *c)
{
    return eval_either(c, equal_f, equal_i);
}

static bool equal_lower(struct lower_ctx *c)
{
    return lower_compare(c, EXPR_EQ, 0, 1);
}

static const struct op_sample equal_samples[] = {
    {.text = "g (int32[2,9] a, int32[9] b) => (bool[2,9] y) { y = Equal(a, b) }", .no_gradient = true},
    {.text = "g (bool[9] a, bool[9] b) => (bool[9] y) { y = Equal(a, b) }", .no_gradient = true},
    {.text = "g (float[9] a) => (bool[9] y) { y = Equal(a, a) }", .no_gradient = true},
    {.text = "g (int32[3,2] a, int32[3] b) => (bool[3,2] y) { y = Equal <broadcast = 1, axis = 0> (a, b) }", .opset = 6,
     .no_gradient = true},
    {.text = "g (float[2] a, int32[2] b) => (bool[2] y) { y = Equal(a, b) }", .error = "int32"},
    {0}};

/* ---- Less -------------------------------------------------------------------------------------------------------- */

static int64_t less_f(const struct eval_ctx *c, const double *x)
{
    return x[0] < x[1];
}

static int64_t less_i(const struct eval_ctx *c, const int64_t *x)
{
    return less_int(c, x[0], x[1]);
}

static bool less_eval(struct eval_ctx *c)
{
    return eval_either(c, less_f, less_i);
}

static bool less_lower(struct lower_ctx *c)
{
    return lower_compare(c, EXPR_LT, 0, 1);
}

static const struct op_sample less_samples[] = {
    {.text = "g (float[3,1] a, float[4] b) => (bool[3,4] y) { y = Less(a, b) }", .no_gradient = true},
    {.text = "g (int8[9] a, int8[9] b) => (bool[9] y) { y = Less(a, b) }", .no_gradient = true},
    {.text = "g (uint64[9] a, uint64[9] b) => (bool[9] y) { y = Less(a, b) }", .no_gradient = true},
    {.text = "g (bool[2] a, bool[2] b) => (bool[2] y) { y = Less(a, b) }", .error = "bool"},
    {.text = "g (float[2,3] a, float[2] b) => (bool[2,3] y) { y = Less <axis = 0, broadcast = 1> (a, b) }", .opset = 6},
    {.text = "g (float16[9] a, float16[9] b) => (bool[9] y) { y = Less(a, b) }", .no_gradient = true},
    {0}};

/* ---- LessOrEqual ------------------------------------------------------------------------------------------------- */

static int64_t less_or_equal_f(const struct eval_ctx *c, const double *x)
{
    return x[0] <= x[1];
}

static int64_t less_or_equal_i(const struct eval_ctx *c, const int64_t *x)
{
    return !less_int(c, x[1], x[0]);
}

static bool less_or_equal_eval(struct eval_ctx *c)
{
    return eval_either(c, less_or_equal_f, less_or_equal_i);
}

static bool less_or_equal_lower(struct lower_ctx *c)
{
    return lower_compare(c, EXPR_LE, 0, 1);
}

static const struct op_sample less_or_equal_samples[] = {
    {.text = "g (double[3,4] a, double[4] b) => (bool[3,4] y) { y = LessOrEqual(a, b) }", .no_gradient = true},
    {.text = "g (int32[9] a, int32[9] b) => (bool[9] y) { y = LessOrEqual(a, b) }", .no_gradient = true},
    {0}};

/* ---- Greater ----------------------------------------------------------------------------------------------------- */

static int64_t greater_f(const struct eval_ctx *c, const double *x)
{
    return x[0] > x[1];
}

static int64_t greater_i(const struct eval_ctx *c, const int64_t *x)
{
    return less_int(c, x[1], x[0]);
}

static bool greater_eval(struct eval_ctx *c)
{
    return eval_either(c, greater_f, greater_i);
}

static bool greater_lower(struct lower_ctx *c)
{
    return lower_compare(c, EXPR_LT, 1, 0);
}

static const struct op_sample greater_samples[] = {
    {.text = "g (float[3,1] a, float[4] b) => (bool[3,4] y) { y = Greater(a, b) }", .no_gradient = true},
    {.text = "g (int16[9] a, int16[9] b) => (bool[9] y) { y = Greater(a, b) }", .no_gradient = true},
    {.text = "g (float[2,3] a, float[2] b) => (bool[2,3] y) { y = Greater <axis = 0, broadcast = 1> (a, b) }",
     .opset = 6},
    {0}};

/* ---- GreaterOrEqual ---------------------------------------------------------------------------------------------- */

static int64_t greater_or_equal_f(const struct eval_ctx *c, const double *x)
{
    return x[0] >= x[1];
}

static int64_t greater_or_equal_i(const struct eval_ctx *c, const int64_t *x)
{
    return !less_int(c, x[0], x[1]);
}

static bool greater_or_equal_eval(struct eval_ctx *c)
{
    return eval_either(c, greater_or_equal_f, greater_or_equal_i);
}

static bool greater_or_equal_lower(struct lower_ctx *c)
{
    return lower_compare(c, EXPR_LE, 1, 0);
}

static const struct op_sample greater_or_equal_samples[] = {
    {.text = "g (float[3,4] a, float[4] b) => (bool[3,4] y) { y = GreaterOrEqual(a, b) }", .no_gradient = true},
    {.text = "g (uint8[9] a, uint8[9] b) => (bool[9] y) { y = GreaterOrEqual(a, b) }", .no_gradient = true},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_compare[] = {
    {.name = "Equal", .written = "==", .versions = equal_versions, .inputs = equal_inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = grad_none, .eval = equal_eval, .lower = equal_lower, .is_elementwise = true,
     .sizes = SIZES_EQUAL, .samples = equal_samples},
    {.name = "Less", .written = "<", .versions = order_versions, .inputs = order_inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = grad_none, .eval = less_eval, .lower = less_lower, .is_elementwise = true,
     .sizes = SIZES_LESS, .samples = less_samples},
    {.name = "LessOrEqual", .written = "<=", .versions = or_equal_versions, .inputs = order_inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = grad_none, .eval = less_or_equal_eval, .lower = less_or_equal_lower,
     .is_elementwise = true, .samples = less_or_equal_samples},
    {.name = "Greater", .written = ">", .versions = order_versions, .inputs = order_inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = grad_none, .eval = greater_eval, .lower = greater_lower, .is_elementwise = true,
     .sizes = SIZES_GREATER, .samples = greater_samples},
    {.name = "GreaterOrEqual", .written = ">=", .versions = or_equal_versions, .inputs = order_inputs,
     .outputs = outputs, .infer = infer_broadcast, .grad = grad_none, .eval = greater_or_equal_eval,
     .lower = greater_or_equal_lower, .is_elementwise = true, .samples = greater_or_equal_samples},
    {0}};
