/* Logic on bool: Not And Or Xor, broadcast.
 * Spec: ONNX Operators.md; opset 1 broadcasts by attributes. */
#include "ops/op.h"

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

static const struct op_attr attrs_1[] = {
    {.name = "axis", .type = ATTR_INT, .no_default = true}, {.name = "broadcast", .type = ATTR_INT, .int_default = 0},
    {0}};
static const struct op_version versions[] = {
    {.since = 1, .attrs = attrs_1, .upgrade = upgrade_broadcast_attr}, {.since = 7}, {0}};
static const struct op_version not_versions[] = {{.since = 1}, {0}};

static const struct op_param inputs[] = {{.name = "A", .type = 'T', .dtypes = DTYPES_BOOL, .flags = PARAM_NOT_DIFF},
                                         {.name = "B", .type = 'T', .dtypes = DTYPES_BOOL, .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {
    {.name = "C", .type = 'T', .dtypes = DTYPES_BOOL, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};
static const struct op_param not_inputs[] = {
    {.name = "X", .type = 'T', .dtypes = DTYPES_BOOL, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param not_outputs[] = {
    {.name = "Y", .type = 'T', .dtypes = DTYPES_BOOL, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

/* ---- Not --------------------------------------------------------------------------------------------------------- */

static int64_t not_i(const struct eval_ctx *c, const int64_t *x)
{
    return !x[0];
}

static bool not_eval(struct eval_ctx *c)
{
    return eval_map_i(c, not_i);
}

static bool not_lower(struct lower_ctx *c)
{
    return lower_map(c, expr_unary(c->arena, EXPR_NOT, lower_in(c, 0)));
}

static const struct op_sample not_samples[] = {
    {.text = "g (bool[2,3] x) => (bool[2,3] y) { y = Not(x) }", .no_gradient = true},
    {.text = "g (int32[2] x) => (int32[2] y) { y = Not(x) }", .error = "is int32"},
    {.text = "g (bool x) => (bool y) { y = Not(x) }", .no_gradient = true},
    {0}};

/* ---- And, Or, Xor ------------------------------------------------------------------------------------------------ */

static bool lower_logic(struct lower_ctx *c, enum expr_op op)
{
    return lower_map(c, expr_binary(c->arena, op, lower_in(c, 0), lower_in(c, 1)));
}

static int64_t and_i(const struct eval_ctx *c, const int64_t *x)
{
    return x[0] && x[1];
}

static bool and_eval(struct eval_ctx *c)
{
    return eval_map_i(c, and_i);
}

static bool and_lower(struct lower_ctx *c)
{
    return lower_logic(c, EXPR_AND);
}

static int64_t or_i(const struct eval_ctx *c, const int64_t *x)
{
    return x[0] || x[1];
}

static bool or_eval(struct eval_ctx *c)
{
    return eval_map_i(c, or_i);
}

static bool or_lower(struct lower_ctx *c)
{
    return lower_logic(c, EXPR_OR);
}

static int64_t xor_i(const struct eval_ctx *c, const int64_t *x)
{
    return x[0] != x[1];
}

static bool xor_eval(struct eval_ctx *c)
{
    return eval_map_i(c, xor_i);
}

static bool xor_lower(struct lower_ctx *c)
{
    return lower_logic(c, EXPR_XOR);
}

static const struct op_sample and_samples[] = {
    {.text = "g (bool[2,4] a, bool[4] b) => (bool[2,4] y) { y = And(a, b) }", .no_gradient = true},
    {.text = "g (bool[4,2] a, bool[4] b) => (bool[4,2] y) { y = And <broadcast = 1, axis = 0> (a, b) }", .opset = 6,
     .no_gradient = true},
    {0}};
static const struct op_sample or_samples[] = {
    {.text = "g (bool[2,4] a, bool[4] b) => (bool[2,4] y) { y = Or(a, b) }", .no_gradient = true},
    {.text = "g (bool[4,2] a, bool[4] b) => (bool[4,2] y) { y = Or <axis = 0, broadcast = 1> (a, b) }",
     .opset = 6, .no_gradient = true},
    {0}};
static const struct op_sample xor_samples[] = {
    {.text = "g (bool[2,4] a, bool[4] b) => (bool[2,4] y) { y = Xor(a, b) }", .no_gradient = true},
    {.text = "g (bool[4,2] a, bool[4] b) => (bool[4,2] y) { y = Xor <axis = 0, broadcast = 1> (a, b) }",
     .opset = 6, .no_gradient = true},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_logical[] = {
    {.name = "Not", .versions = not_versions, .inputs = not_inputs, .outputs = not_outputs,
     .infer = infer_same_as_input, .grad = grad_none, .eval = not_eval, .lower = not_lower, .is_elementwise = true,
     .samples = not_samples},
    {.name = "And", .versions = versions, .inputs = inputs, .outputs = outputs, .infer = infer_broadcast,
     .grad = grad_none, .eval = and_eval, .lower = and_lower, .is_elementwise = true, .samples = and_samples},
    {.name = "Or", .versions = versions, .inputs = inputs, .outputs = outputs, .infer = infer_broadcast,
     .grad = grad_none, .eval = or_eval, .lower = or_lower, .is_elementwise = true, .samples = or_samples},
    {.name = "Xor", .versions = versions, .inputs = inputs, .outputs = outputs, .infer = infer_broadcast,
     .grad = grad_none, .eval = xor_eval, .lower = xor_lower, .is_elementwise = true, .samples = xor_samples},
    {0}};
