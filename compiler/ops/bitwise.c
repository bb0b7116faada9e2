/* Integers as bits: BitwiseAnd BitwiseOr BitwiseXor BitwiseNot, BitShift of unsigned ones, and BitCast between types
 * of one width. A shift by the width or more gives 0; the specification leaves it open. The bits of a NaN are
 * outside of the contract.
 * Spec: ONNX Bitwise*-18, BitShift-11, BitCast-26. */
#include "ops/op.h"

#include <string.h>

#define INTS(label, set, marks) {.name = (label), .type = 'T', .dtypes = (set), .flags = (marks)}
static const struct op_version versions[] = {{.since = 18}, {0}};
static const struct op_param pair[] = {INTS("A", DTYPES_INTS, PARAM_NOT_DIFF),
                                       INTS("B", DTYPES_INTS, PARAM_NOT_DIFF),
                                       {0}};
static const struct op_param result[] = {INTS("C", DTYPES_INTS, PARAM_OUTPUT_NOT_DIFF), {0}};
static const struct op_param single[] = {INTS("X", DTYPES_INTS, PARAM_NOT_DIFF), {0}};
static const struct op_param single_result[] = {INTS("Y", DTYPES_INTS, PARAM_OUTPUT_NOT_DIFF), {0}};

static bool lower_bits(struct lower_ctx *c, enum expr_op op)
{
    return lower_map(c, expr_binary(c->arena, op, lower_in(c, 0), lower_in(c, 1)));
}

/* ---- BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot --------------------------------------------------------------- */

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

/* ---- BitShift ---------------------------------------------------------------------------------------------------- */

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
        return infer_error(c, "attribute 'direction' is '%s', expected 'LEFT' or 'RIGHT'",
                           op_attr_string(c->node, "direction"));
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
             "z = CastLike(i, x) t = BitwiseNot(x) y = BitShift <direction = \"LEFT\"> (t, z) }",                      \
     .no_gradient = true},                                                                                             \
    {.text = "g (" type "[9] x) => (" type "[9] y) { i = Constant <value = int64[9] {" by "}> () "                     \
             "z = CastLike(i, x) t = BitwiseNot(x) y = BitShift <direction = \"RIGHT\"> (t, z) }",                     \
     .no_gradient = true}

static const struct op_sample shift_samples[] = {
    SHIFTS("uint8", "0, 1, 2, 5, 6, 7, 8, 9, 255"),
    SHIFTS("uint16", "0, 1, 2, 14, 15, 16, 17, 31, 65535"),
    SHIFTS("uint32", "0, 1, 2, 30, 31, 32, 33, 64, 4294967295"),
    SHIFTS("uint64", "0, 1, 2, 31, 32, 33, 63, 64, -1"),
    {.text = "g (uint8[2] x, uint8[2] z) => (uint8[2] y) { y = BitShift <direction = \"UP\"> (x, z) }",
     .error = "expected 'LEFT' or 'RIGHT'"},
    {.text = "g (int8[2] x, int8[2] z) => (int8[2] y) { y = BitShift <direction = \"LEFT\"> (x, z) }",
     .error = "is int8"},
    {0}};

/* ---- BitCast ----------------------------------------------------------------------------------------------------- */

static const struct op_attr cast_attrs[] = {{.name = "to", .type = ATTR_INT, .required = true}, {0}};
static const struct op_version cast_versions[] = {{.since = 26}, {0}};
#define BITCAST_TYPES (DTYPES_ALL | DTYPES_FLOAT8 | DTYPE_BIT(DTYPE_FLOAT8E8M0)) /* below a byte: not supported */
static const struct op_param cast_inputs[] = {
    {.name = "input", .type = 'T', .dtypes = BITCAST_TYPES, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param cast_outputs[] = {
    {.name = "output", .dtypes = BITCAST_TYPES, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static bool cast_infer(struct infer_ctx *c)
{
    const int64_t number = op_attr_int(c->node, "to");
    const enum dtype from = infer_in(c, 0)->dtype;
    if (number < 1 || number >= DTYPE_COUNT)
        return infer_error(c, "attribute 'to' is %lld, which is no type", (long long)number);
    const enum dtype to = (enum dtype)number;
    if (dtype_bits(from) != dtype_bits(to))
        return infer_error(c, "attribute 'to' is %s with %d bits, input 0 '%s' is %s with %d: expected as many",
                           dtype_name(to), dtype_bits(to), infer_in(c, 0)->name, dtype_name(from), dtype_bits(from));
    if (!(BITCAST_TYPES & DTYPE_BIT(to)))
        return infer_unsupported(c, "attribute 'to' is %s, which is not supported", dtype_name(to));
    return infer_out(c, 0, to, infer_shape(c, 0));
}

/* Through memory. Any bits but 0 are true. */
static bool cast_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    for (int64_t k = 0; y != NULL && k < y->count; k++) {
        unsigned char bytes[sizeof(int64_t)] = {0};
        if (x->f != NULL)
            dtype_store_double(x->dtype, bytes, x->f[k]);
        else
            dtype_store_int(x->dtype, bytes, x->i[k]);
        if (y->f != NULL)
            y->f[k] = dtype_load_double(y->dtype, bytes);
        else
            y->i[k] = y->dtype == DTYPE_BOOL ? bytes[0] != 0 : dtype_load_int(y->dtype, bytes);
    }
    return true;
}

/* Loads of bit patterns come as float: back to what lies in memory. */
static bool cast_lower(struct lower_ctx *c)
{
    struct arena *a = c->arena;
    const enum dtype from = node_input(c->node, 0)->dtype, to = node_output(c->node, 0)->dtype;
    const struct expr *x = expr_cast(a, from, lower_in(c, 0));
    const struct expr *y = from == to ? x : to == DTYPE_BOOL ? expr_cast(a, to, x) : expr_bits(a, to, x);
    return lower_map(c, expr_cast(a, dtype_computed(to), y));
}

#define BITS_OF(type, other, number)                                                                                   \
    {.text = "g (" type "[9] x) => (" other "[9] y) { y = BitCast <to = " number "> (x) }", .no_gradient = true}
static const struct op_sample cast_samples[] = {
    BITS_OF("float", "int32", "6"), BITS_OF("float", "uint32", "12"), BITS_OF("double", "int64", "7"),
    BITS_OF("double", "uint64", "13"), BITS_OF("float16", "int16", "5"), BITS_OF("bfloat16", "uint16", "4"),
    BITS_OF("float16", "bfloat16", "16"), BITS_OF("int8", "uint8", "2"), BITS_OF("uint8", "int8", "3"),
    BITS_OF("int16", "uint16", "4"), BITS_OF("uint16", "int16", "5"), BITS_OF("int32", "uint32", "12"),
    BITS_OF("uint64", "int64", "7"), BITS_OF("bool", "uint8", "2"), BITS_OF("bool", "int8", "3"),
    BITS_OF("int8", "bool", "9"), BITS_OF("float", "float", "1"), BITS_OF("float16", "float16", "10"),
    {.text = "g (float[9] x) => (float[9] y) { i = BitCast <to = 6> (x) o = Constant <value = int32 {8388608}> () "
             "s = Add(i, o) y = BitCast <to = 1> (s) }", .no_gradient = true},
    {.text = "g (double[9] x) => (double[9] y) { i = BitCast <to = 13> (x) n = BitwiseNot(i) m = BitwiseNot(n) "
             "y = BitCast <to = 11> (m) }", .no_gradient = true},
    {.text = "g (bfloat16[9] x) => (float16[9] y) "
             "{ i = BitCast <to = 5> (x) o = Constant <value = int64 {1}> () p = CastLike(o, i) s = BitwiseXor(i, p) "
             "t = BitCast <to = 16> (s) f = Cast <to = 1> (t) y = Cast <to = 10> (f) }", .no_gradient = true},
    {.text = "g (float x) => (int32 y) { y = BitCast <to = 6> (x) }", .no_gradient = true},
    {.text = "g (float[2] x) => (int64[2] y) { y = BitCast <to = 7> (x) }", .error = "expected as many"},
    BITS_OF("uint8", "float8e4m3fn", "17"), BITS_OF("float8e5m2", "int8", "3"),
    BITS_OF("float8e4m3fnuz", "float8e8m0", "24"),
    {.text = "g (uint4[2] x) => (int4[2] y) { y = BitCast <to = 22> (x) }", .error = "input 0 'x' is uint4"},
    {.text = "g (uint8[2] x) => (uint8[2] y) { y = BitCast <to = 77> (x) }", .error = "no type"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_bitwise[] = {
    {.name = "BitwiseAnd", .versions = versions, .inputs = pair, .outputs = result, .infer = infer_broadcast,
     .grad = grad_none, .eval = and_eval, .lower = and_lower, .is_elementwise = true, .samples = and_samples},
    {.name = "BitwiseOr", .versions = versions, .inputs = pair, .outputs = result, .infer = infer_broadcast,
     .grad = grad_none, .eval = or_eval, .lower = or_lower, .is_elementwise = true, .samples = or_samples},
    {.name = "BitwiseXor", .versions = versions, .inputs = pair, .outputs = result, .infer = infer_broadcast,
     .grad = grad_none, .eval = xor_eval, .lower = xor_lower, .is_elementwise = true, .samples = xor_samples},
    {.name = "BitwiseNot", .versions = versions, .inputs = single, .outputs = single_result,
     .infer = infer_same_as_input, .grad = grad_none, .eval = not_eval, .lower = not_lower, .is_elementwise = true,
     .samples = not_samples},
    {.name = "BitShift", .versions = shift_versions, .inputs = shift_pair, .outputs = shift_result,
     .attrs = shift_attrs, .infer = shift_infer, .grad = grad_none, .eval = shift_eval, .lower = shift_lower,
     .is_elementwise = true, .samples = shift_samples},
    {.name = "BitCast", .versions = cast_versions, .inputs = cast_inputs, .outputs = cast_outputs, .attrs = cast_attrs,
     .infer = cast_infer, .grad = grad_none, .eval = cast_eval, .lower = cast_lower, .is_elementwise = true,
     .samples = cast_samples},
    {0}};
