/* Integers as bits: BitwiseAnd BitwiseOr BitwiseXor BitwiseNot, and BitShift of unsigned ones.
 * A shift by the width or more gives 0; the specification leaves it open.
 * Spec: ONNX Bitwise*-18, BitShift-11. */
#include "ops/op.h"

#include <string.h>

#define INTS(label, set, marks) {.name = (label), .type = 'T', .dtypes = (set), .flags = (marks)}
static const struct op_version versions[] = {{.since = 18}, {0}};
static const struct op_param pair[] = {INTS("A", DTYPES_INTS, PARAM_NOT_DIFF), INTS("B", DTYPES_INTS, PARAM_NOT_DIFF), {0}};
static const struct op_param result[] = {INTS("C", DTYPES_INTS, PARAM_OUTPUT_NOT_DIFF), {0}};
static const struct op_param single[] = {INTS("X", DTYPES_INTS, PARAM_NOT_DIFF), {0}};
static const struct op_param single_result[] = {INTS("Y", DTYPES_INTS, PARAM_OUTPUT_NOT_DIFF), {0}};

static bool lower_bits(struct lower_ctx *c, enum expr_op op)
{
    return lower_map(c, expr_binary(c->arena, op, lower_in(c, 0), lower_in(c, 1)));
}

/* ---- BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot ------------------------------------------------------------------ */

static int64_t and_i(const struct eval_ctx *c, const int64_t *x)
{
    return x[0] & x[1];
}

static bool and_eval(struct eval_ctx *c)
{
    return eval_map_i(c, and_i);
}

static bool and_lower(struct lower_ctx *c)
{
    return lower_bits(c, EXPR_AND);
}

static int64_t or_i(const struct eval_ctx *c, const int64_t *x)
{
    return x[0] | x[1];
}

static bool or_eval(struct eval_ctx *c)
{
    return eval_map_i(c, or_i);
}

static bool or_lower(struct lower_ctx *c)
{
    return lower_bits(c, EXPR_OR);
}

static int64_t xor_i(const struct eval_ctx *c, const int64_t *x)
{
    return x[0] ^ x[1];
}

static bool xor_eval(struct eval_ctx *c)
{
    return eval_map_i(c, xor_i);
}

static bool xor_lower(struct lower_ctx *c)
{
    return lower_bits(c, EXPR_XOR);
}

static int64_t not_i(const struct eval_ctx *c, const int64_t *x)
{
    return dtype_wrap(c->in[0]->dtype, ~x[0]);
}

static bool not_eval(struct eval_ctx *c)
{
    return eval_map_i(c, not_i);
}

static bool not_lower(struct lower_ctx *c)
{
    return lower_map(c, expr_unary(c->arena, EXPR_NOT, lower_in(c, 0)));
}

#define EACH_WIDTH(op)                                                                                                 \
    {.text = "g (int8[2,9] a, int8[9] b) => (int8[2,9] y) { y = " op "(a, b) }", .no_gradient = true},                 \
    {.text = "g (uint16[9] a, uint16 b) => (uint16[9] y) { y = " op "(a, b) }", .no_gradient = true},                  \
    {.text = "g (int32[3,1] a, int32[4] b) => (int32[3,4] y) { y = " op "(a, b) }", .no_gradient = true},              \
    {.text = "g (uint64[9] a, uint64[9] b) => (uint64[9] y) { z = Sub(a, b) y = " op "(z, b) }", .no_gradient = true}, \
    {.text = "g (int64[0] a, int64[0] b) => (int64[0] y) { y = " op "(a, b) }", .no_gradient = true},                  \
    {.text = "g (bool[2] a, bool[2] b) => (bool[2] y) { y = " op "(a, b) }", .error = "is bool"}

static const struct op_sample and_samples[] = {EACH_WIDTH("BitwiseAnd"), {0}};
static const struct op_sample or_samples[] = {EACH_WIDTH("BitwiseOr"), {0}};
static const struct op_sample xor_samples[] = {EACH_WIDTH("BitwiseXor"), {0}};
static const struct op_sample not_samples[] = {
    {.text = "g (int8[9] x) => (int8[9] y) { y = BitwiseNot(x) }", .no_gradient = true},
    {.text = "g (uint8[9] x) => (uint8[9] y) { y = BitwiseNot(x) }", .no_gradient = true},
    {.text = "g (uint32[2,3] x) => (uint32[2,3] y) { y = BitwiseNot(x) }", .no_gradient = true},
    {.text = "g (int64 x) => (int64 y) { z = BitwiseNot(x) y = Add(z, x) }", .no_gradient = true},
    {.text = "g (float[2] x) => (float[2] y) { y = BitwiseNot(x) }", .error = "is float"},
    {0}};

/* ---- BitShift ----------------------------------------------------------------------------------------------------- */

static const struct op_attr shift_attrs[] = {{.name = "direction", .type = ATTR_STRING, .required = true}, {0}};
static const struct op_version shift_versions[] = {{.since = 11}, {0}};
static const struct op_param shift_pair[] = {
    INTS("X", DTYPES_UNSIGNED, PARAM_NOT_DIFF), INTS("Y", DTYPES_UNSIGNED, PARAM_NOT_DIFF), {0}};
static const struct op_param shift_result[] = {INTS("Z", DTYPES_UNSIGNED, PARAM_OUTPUT_NOT_DIFF), {0}};

static bool goes_left(const struct node *n)
{
    return strcmp(op_attr_string(n, "direction"), "LEFT") == 0;
}

static bool shift_infer(struct infer_ctx *c)
{
    if (!goes_left(c->node) && strcmp(op_attr_string(c->node, "direction"), "RIGHT") != 0)
        return infer_error(c, "attribute 'direction' is '%s', expected 'LEFT' or 'RIGHT'", op_attr_string(c->node, "direction"));
    return infer_broadcast(c);
}

static int64_t shift_i(const struct eval_ctx *c, const int64_t *x)
{
    const enum dtype d = c->in[0]->dtype;
    const uint64_t bits = (uint64_t)x[0], by = (uint64_t)x[1];
    if (by >= (uint64_t)dtype_bits(d))
        return 0;
    return dtype_wrap(d, (int64_t)(goes_left(c->node) ? bits << by : bits >> by));
}

static bool shift_eval(struct eval_ctx *c)
{
    return eval_map_i(c, shift_i);
}

static bool shift_lower(struct lower_ctx *c)
{
    return lower_bits(c, goes_left(c->node) ? EXPR_SHL : EXPR_SHR);
}

#define SHIFTS(type, by)                                                                                               \
    {.text = "g (" type "[2,9] x) => (" type "[2,9] y) { i = Constant <value = int64[9] {" by "}> () "                 \
             "z = CastLike(i, x) t = BitwiseNot(x) y = BitShift <direction = \"LEFT\"> (t, z) }", .no_gradient = true}, \
    {.text = "g (" type "[9] x) => (" type "[9] y) { i = Constant <value = int64[9] {" by "}> () "                     \
             "z = CastLike(i, x) t = BitwiseNot(x) y = BitShift <direction = \"RIGHT\"> (t, z) }", .no_gradient = true}

static const struct op_sample shift_samples[] = {
    SHIFTS("uint8", "0, 1, 2, 5, 6, 7, 8, 9, 255"),
    SHIFTS("uint16", "0, 1, 2, 14, 15, 16, 17, 31, 65535"),
    SHIFTS("uint32", "0, 1, 2, 30, 31, 32, 33, 64, 4294967295"),
    SHIFTS("uint64", "0, 1, 2, 31, 32, 33, 63, 64, -1"),
    {.text = "g (uint8[2] x, uint8[2] z) => (uint8[2] y) { y = BitShift <direction = \"UP\"> (x, z) }",
     .error = "expected 'LEFT' or 'RIGHT'"},
    {.text = "g (int8[2] x, int8[2] z) => (int8[2] y) { y = BitShift <direction = \"LEFT\"> (x, z) }", .error = "is int8"},
    {0}};

/* ---- records ------------------------------------------------------------------------------------------------------ */

const struct op_def op_defs_bitwise[] = {
    {.name = "BitwiseAnd", .versions = versions, .inputs = pair, .outputs = result, .infer = infer_broadcast, .grad = grad_none,
     .eval = and_eval, .lower = and_lower, .is_elementwise = true, .samples = and_samples},
    {.name = "BitwiseOr", .versions = versions, .inputs = pair, .outputs = result, .infer = infer_broadcast, .grad = grad_none,
     .eval = or_eval, .lower = or_lower, .is_elementwise = true, .samples = or_samples},
    {.name = "BitwiseXor", .versions = versions, .inputs = pair, .outputs = result, .infer = infer_broadcast, .grad = grad_none,
     .eval = xor_eval, .lower = xor_lower, .is_elementwise = true, .samples = xor_samples},
    {.name = "BitwiseNot", .versions = versions, .inputs = single, .outputs = single_result, .infer = infer_same_as_input,
     .grad = grad_none, .eval = not_eval, .lower = not_lower, .is_elementwise = true, .samples = not_samples},
    {.name = "BitShift", .versions = shift_versions, .inputs = shift_pair, .outputs = shift_result, .attrs = shift_attrs,
     .infer = shift_infer, .grad = grad_none, .eval = shift_eval, .lower = shift_lower, .is_elementwise = true,
     .samples = shift_samples},
    {0}};
