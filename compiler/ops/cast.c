/* Cast and CastLike: conversion between numeric types and bool.
 *   float -> integer   truncates; out of range saturates and NaN gives 0 (4 and 2 bit types wrap, as
 *                      upstream's data has it)
 *   integer -> float   rounds to nearest even
 *   anything -> bool   x != 0
 *   float -> 8- or 4-bit float: kept as a bit pattern; `saturate` and `round_mode` as ONNX's tables say
 * Spec: ONNX Cast-1 to -25, CastLike-15 to -25. Strings are not supported. */
#include "ops/op.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define TYPES_1 (DTYPES_ALL & ~DTYPE_BIT(DTYPE_BFLOAT16))
#define TYPES_19 (DTYPES_ALL | DTYPES_FLOAT8)
#define TYPES_21 (TYPES_19 | DTYPES_INT4)
#define TYPES_23 (TYPES_21 | DTYPE_BIT(DTYPE_FLOAT4E2M1))
#define TYPES_24 (TYPES_23 | DTYPE_BIT(DTYPE_FLOAT8E8M0))
#define TYPES_25 (TYPES_24 | DTYPES_INT2)

#define ATTR_TO {.name = "to", .type = ATTR_INT, .required = true}
#define ATTR_SATURATE {.name = "saturate", .type = ATTR_INT, .int_default = 1}
#define ATTR_ROUND_MODE {.name = "round_mode", .type = ATTR_STRING, .string_default = "up"}

static const struct op_attr attrs_1[] = {{.name = "to", .type = ATTR_STRING, .required = true}, {0}};
static const struct op_attr attrs_6[] = {ATTR_TO, {0}};
static const struct op_attr attrs_19[] = {ATTR_SATURATE, ATTR_TO, {0}};
static const struct op_attr attrs[] = {ATTR_ROUND_MODE, ATTR_SATURATE, ATTR_TO, {0}};
static const struct op_attr like_attrs_19[] = {ATTR_SATURATE, {0}};
static const struct op_attr like_attrs[] = {ATTR_ROUND_MODE, ATTR_SATURATE, {0}};
static const struct op_attr no_attrs[] = {{0}};

/* Version 1 names the type: "FLOAT", "INT64". */
static bool upgrade_1(struct upgrade_ctx *c)
{
    const struct attr *to = node_attr(c->node, "to");
    char name[32] = "";
    for (size_t k = 0; k + 1 < sizeof name && to->s[k] != '\0'; k++)
        name[k] = (char)tolower((unsigned char)to->s[k]);
    const enum dtype d = dtype_from_name(name);
    if (d == DTYPE_UNDEFINED)
        return upgrade_error(c, "attribute 'to' is '%s', expected a type such as 'FLOAT'", to->s);
    node_set_attr(c->node, attr_int("to", d));
    return true;
}

static const struct op_version versions[] = {{.since = 1, .dtypes = TYPES_1, .attrs = attrs_1, .upgrade = upgrade_1},
                                             {.since = 6, .dtypes = TYPES_1, .attrs = attrs_6},
                                             {.since = 9, .dtypes = TYPES_1, .attrs = attrs_6},
                                             {.since = 13, .dtypes = DTYPES_ALL, .attrs = attrs_6},
                                             {.since = 19, .dtypes = TYPES_19, .attrs = attrs_19},
                                             {.since = 21, .dtypes = TYPES_21, .attrs = attrs_19},
                                             {.since = 23, .dtypes = TYPES_23, .attrs = attrs_19},
                                             {.since = 24, .dtypes = TYPES_24},
                                             {.since = 25},
                                             {0}};
static const struct op_version like_versions[] = {{.since = 15, .dtypes = DTYPES_ALL, .attrs = no_attrs},
                                                  {.since = 19, .dtypes = TYPES_19, .attrs = like_attrs_19},
                                                  {.since = 21, .dtypes = TYPES_21, .attrs = like_attrs_19},
                                                  {.since = 23, .dtypes = TYPES_23, .attrs = like_attrs_19},
                                                  {.since = 24, .dtypes = TYPES_24},
                                                  {.since = 25},
                                                  {0}};
static const struct op_param inputs[] = {{.name = "input", .type = 'T', .dtypes = TYPES_25}, {0}};
static const struct op_param outputs[] = {{.name = "output", .dtypes = TYPES_25}, {0}};
static const struct op_param like_inputs[] = {{.name = "input", .type = 'T', .dtypes = TYPES_25},
                                              {.name = "target_type", .type = 'U', .dtypes = TYPES_25,
                                               .flags = PARAM_NOT_DIFF},
                                              {0}};
static const struct op_param like_outputs[] = {{.name = "output", .type = 'U', .dtypes = TYPES_25}, {0}};

static bool check_round_mode(struct infer_ctx *c)
{
    const char *mode = op_attr_string(c->node, "round_mode");
    if (strcmp(mode, "up") == 0 || strcmp(mode, "down") == 0 || strcmp(mode, "nearest") == 0)
        return true;
    return infer_error(c, "attribute 'round_mode' is '%s', expected 'up', 'down' or 'nearest'", mode);
}

static bool cast_infer(struct infer_ctx *c)
{
    const int64_t to = op_attr_int(c->node, "to");
    if (to <= 0 || to >= DTYPE_COUNT)
        return infer_error(c, "attribute 'to' is %lld, which is no type", (long long)to);
    if (!(TYPES_25 & DTYPE_BIT(to)))
        return infer_unsupported(c, "attribute 'to' is %lld (%s): conversion to this type is not supported",
                                 (long long)to, dtype_name((enum dtype)to));
    return check_round_mode(c) && infer_out(c, 0, (enum dtype)to, infer_shape(c, 0));
}

static bool cast_like_infer(struct infer_ctx *c)
{
    return check_round_mode(c) && infer_out(c, 0, infer_in(c, 1)->dtype, infer_shape(c, 0));
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* Between floating types the adjoint is converted back; integers and bool carry none (R25 in docs/readings.md), nor do
 * types of memory (R24). */
static bool cast_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    if (!dtype_is_float(x->dtype) || !dtype_is_float(c->node->outputs.data[0]->dtype))
        return true;
    return grad_accumulate(c, 0, build_cast(c->b, grad_of_output(c, 0), x->dtype));
}

static bool cast_like_expand(struct expand_ctx *c)
{
    const struct attr *to = ATTRS(attr_int("to", expand_in(c, 1)->dtype),
                                  attr_int("saturate", op_attr_int(c->node, "saturate")),
                                  attr_string("round_mode", op_attr_string(c->node, "round_mode")));
    return expand_out(c, 0, build_with(c, "Cast", to, expand_in(c, 0)));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* FLOAT8E8M0 holds powers of two only: up, down, or to the nearer one (a tie goes up). */
static double round_to_power(double x, const char *mode)
{
    int exponent; /* |x| = fraction * 2^exponent, fraction in [0.5, 1) */
    const double fraction = frexp(fabs(x), &exponent);
    if (x == 0 || !isfinite(x) || fraction == 0.5)
        return x;
    const bool up = strcmp(mode, "nearest") == 0 ? fraction >= 0.75 : strcmp(mode, "up") == 0;
    return ldexp(1.0, up ? exponent : exponent - 1);
}

/* Formats of 8 bits and less are storage, not arithmetic: float is rounded to them, in both arithmetics. */
static double cast_to_small_float(const struct eval_ctx *c, enum dtype to, double x)
{
    if (to == DTYPE_FLOAT8E8M0)
        return dtype_round(to, round_to_power(dtype_round(DTYPE_FLOAT, x), op_attr_string(c->node, "round_mode")));
    return dtype_round_small(to, x, op_attr_int(c->node, "saturate") != 0);
}

/* Under DOUBLE a cast between the larger floats does nothing, as no other operation rounds there. */
static double float_to_float(const struct eval_ctx *c, enum dtype to, double x)
{
    return DTYPES_FLOATS & DTYPE_BIT(to) ? eval_round_to(c, to, x) : cast_to_small_float(c, to, x);
}

/* One rounding: going through double would round a large int64 twice. */
static double int_to_float(const struct eval_ctx *c, enum dtype from, enum dtype to, int64_t x)
{
    const bool is_unsigned = from == DTYPE_UINT64;
    if (c->arithmetic == ARITHMETIC_SAME && to != DTYPE_DOUBLE)
        return float_to_float(c, to, is_unsigned ? (double)(float)(uint64_t)x : (double)(float)x);
    return float_to_float(c, to, is_unsigned ? (double)(uint64_t)x : (double)x);
}

static int64_t float_to_int(enum dtype to, double x)
{
    if (dtype_is_int(to) && dtype_bits(to) < 8)
        return dtype_wrap(to, dtype_from_double(DTYPE_INT64, x));
    return dtype_from_double(to, x);
}

static bool cast_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    for (int64_t k = 0; y != NULL && k < x->count; k++) {
        if (y->f != NULL)
            y->f[k] =
                x->f != NULL ? float_to_float(c, y->dtype, x->f[k]) : int_to_float(c, x->dtype, y->dtype, x->i[k]);
        else
            y->i[k] = x->f != NULL ? float_to_int(y->dtype, x->f[k]) : dtype_wrap(y->dtype, x->i[k]);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* x, or `by` with the sign of x where |x| reaches `limit`. */
static const struct expr *beyond(struct arena *a, const struct expr *x, double limit, double by)
{
    const struct expr *const above = expr_binary(a, EXPR_LE, expr_float(a, DTYPE_FLOAT, limit), x);
    const struct expr *const below = expr_binary(a, EXPR_LE, x, expr_float(a, DTYPE_FLOAT, -limit));
    x = expr_select(a, above, expr_float(a, DTYPE_FLOAT, by), x);
    return expr_select(a, below, expr_float(a, DTYPE_FLOAT, -by), x);
}

/* The power of two at or below |x|, or the nearer one (a tie goes up), by the bits of the float: what is no number
 * stays. The smallest power is a subnormal float, and the next larger one would be infinity. */
static const struct expr *power_of(struct arena *a, const struct expr *x, bool nearest)
{
    const struct expr *const size = expr_math(a, EXPR_FN_ABS, x);
    const struct expr *bits = expr_bits(a, DTYPE_UINT32, size);
    if (nearest)
        bits = expr_binary(a, EXPR_ADD, bits, expr_int(a, DTYPE_UINT32, 0x400000));
    bits = expr_binary(a, EXPR_AND, bits, expr_int(a, DTYPE_UINT32, 0x7f800000));
    const struct expr *const power = expr_bits(a, DTYPE_FLOAT, bits);
    const struct expr *const in_range =
        expr_binary(a, EXPR_LT, size, expr_float(a, DTYPE_FLOAT, nearest ? 0x1.8p127 : INFINITY));
    const struct expr *const is_small =
        expr_binary(a, EXPR_LT, size, expr_float(a, DTYPE_FLOAT, nearest ? 0x1.8p-127 : 0x1p-126));
    return expr_select(a, is_small, expr_float(a, DTYPE_FLOAT, 0), expr_select(a, in_range, power, x));
}

/* What storing in `to` rounds as the attributes want it: storing saturates but for infinities, and takes the
 * power of two above. */
static const struct expr *prepared(struct lower_ctx *c, enum dtype to, const struct expr *x)
{
    struct arena *const a = c->arena;
    const char *const mode = op_attr_string(c->node, "round_mode");
    if (to == DTYPE_FLOAT8E8M0)
        return strcmp(mode, "up") == 0 ? x : power_of(a, x, strcmp(mode, "nearest") == 0);
    if (op_attr_int(c->node, "saturate") != 0)
        return to == DTYPE_FLOAT8E5M2 ? beyond(a, x, INFINITY, FLT_MAX) : x;
    switch ((int)to) { /* half a step above the largest value, which a tie rounds up where its last bit is 1 */
    case DTYPE_FLOAT8E4M3FN: return beyond(a, x, 0x1.d00002p8, NAN);
    case DTYPE_FLOAT8E4M3FNUZ: return beyond(a, x, 248, NAN);
    case DTYPE_FLOAT8E5M2: return beyond(a, x, 61440, INFINITY);
    case DTYPE_FLOAT8E5M2FNUZ: return beyond(a, x, 61440, NAN);
    default: return x;
    }
}

static bool cast_lower(struct lower_ctx *c)
{
    const enum dtype from = node_input(c->node, 0)->dtype, to = node_output(c->node, 0)->dtype;
    if (from == to) {
        const struct view v = lower_view_of(c, 0);
        return lower_as_view(c, 0, &v);
    }
    const struct expr *x = lower_in(c, 0);
    if (dtype_is_below_byte(to) && dtype_is_float(x->dtype)) /* saturates in 64 bits, then wraps */
        x = expr_cast(c->arena, DTYPE_INT64, x);
    x = expr_cast(c->arena, lower_out_dtype(c, 0), x);
    return lower_map(c, dtype_is_pattern(to) ? prepared(c, to, x) : x);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* From float and from every other kind, both ways, with numbers around each end of the range. */
#define ENDS                                                                                                           \
    "[0.0, -0.0, 0.24, 0.25, -0.26, 0.75, 1.25, 1.75, -2.5, 3.5, 5.0, 6.0, 7.0, -9.0, 239.0, 248.0, 249.0, 448.0, "    \
    "463.9, 464.0, 464.1, 57344.0, 61439.0, 61440.0, 65536.0, 1e-3, 9e-4, 1e-5, 7.6e-6, 3.8e-6, -3e-6, 1e-38, 6e-39, " \
    "8e-39, 1.8e38, 2.6e38, -3e38, 1e9]"
#define ENDS_COUNT "38"
#define STORED(type, number, attributes)                                                                               \
    {.text = "g (" type "[9] x) => (float[9] y) { y = Cast <to = 1> (x) }", .no_gradient = true},                      \
    {.text = "g (" type "[9] x) => (float16[9] y) { y = Cast <to = 10> (x) }", .no_gradient = true},                   \
    {.text = "g (" type "[9] x) => (int8[9] y) { y = Cast <to = 3> (x) }", .no_gradient = true},                       \
    {.text = "g (float[9] x) => (" type "[9] y) { y = Cast <to = " number attributes "> (x) }", .no_gradient = true},  \
    {.text = "g (double[9] x) => (" type "[9] y) { y = Cast <to = " number attributes "> (x) }", .no_gradient = true}, \
    {.text = "g (int64[9] x) => (" type "[9] y) { y = Cast <to = " number attributes "> (x) }", .no_gradient = true},  \
    {.text = "g (" type "[2,3] x) => (" type "[3,2] y) { y = Transpose(x) }", .no_gradient = true},                    \
    {.text = "g (float one) => (" type "[" ENDS_COUNT "] y) { x = Constant <value_floats = " ENDS "> () s = Exp(one) " \
             "z = Sub(s, s) t = Add(x, z) y = Cast <to = " number attributes "> (t) }", .no_gradient = true},          \
    {.text = "g (float one) => (" type "[3] y) { x = Constant <value_floats = [1.0, -1.0, 0.0]> () s = Sub(one, one) " \
             "t = Div(x, s) y = Cast <to = " number attributes "> (t) }", .no_gradient = true}

static const struct op_sample samples[] = {
    STORED("float8e4m3fn", "17", ""), STORED("float8e4m3fnuz", "18", ""), STORED("float8e5m2", "19", ""),
    STORED("float8e5m2fnuz", "20", ""), STORED("float8e4m3fn", "17", ", saturate = 0"),
    STORED("float8e4m3fnuz", "18", ", saturate = 0"), STORED("float8e5m2", "19", ", saturate = 0"),
    STORED("float8e5m2fnuz", "20", ", saturate = 0"), STORED("float4e2m1", "23", ""),
    STORED("float8e8m0", "24", ""), STORED("float8e8m0", "24", ", round_mode = \"down\""),
    STORED("float8e8m0", "24", ", round_mode = \"nearest\""), STORED("uint4", "21", ""), STORED("int4", "22", ""),
    STORED("uint2", "25", ""), STORED("int2", "26", ""),
    {.text = "g (double[2,9] x) => (float[2,9] y) { y = Cast <to = 1> (x) }"},
    {.text = "g (float[9] x) => (double[9] y) { y = Cast <to = 11> (x) }"},
    {.text = "g (float[9] x) => (int32[9] y) { y = Cast <to = 6> (x) }", .no_gradient = true},
    {.text = "g (float[9] x) => (uint8[9] y) { y = Cast <to = 2> (x) }", .no_gradient = true},
    {.text = "g (float[9] x) => (bool[9] y) { y = Cast <to = 9> (x) }", .no_gradient = true},
    {.text = "g (bool[9] x) => (float[9] y) { y = Cast <to = 1> (x) }", .no_gradient = true},
    {.text = "g (int64[9] x) => (float[9] y) { y = Cast <to = 1> (x) }", .no_gradient = true},
    {.text = "g (int64[9] x) => (int8[9] y) { y = Cast <to = 3> (x) }", .no_gradient = true},
    {.text = "g () => (int32[4] y) { x = Constant <value_floats = [3e9, -3e9, 2.9, -2.9]> () y = Cast <to = 6> (x) }",
     .no_gradient = true},
    {.text = "g (float[9] x) => (int64[9] y) { y = Cast <to = \"INT64\"> (x) }", .opset = 5, .no_gradient = true},
    {.text = "g (float[9] x) => (string[9] y) { y = Cast <to = 8> (x) }", .error = "string"},
    {.text = "g (float[9] x) => (float[9] y) { y = Cast <to = 99> (x) }", .error = "no type"},
    {.text = "g (float[19] x) => (float16[19] y) { y = Cast <to = 10> (x) }"},
    {.text = "g (double[19] x) => (bfloat16[19] y) { y = Cast <to = 16> (x) }"},
    {.text = "g (float16[19] x) => (double[19] y) { y = Cast <to = 11> (x) }"},
    {.text = "g (float16[19] x) => (bfloat16[19] y) { y = Cast <to = 16> (x) }"},
    {.text = "g (bfloat16[9] x) => (int8[9] y) { y = Cast <to = 3> (x) }", .no_gradient = true},
    {.text = "g (int64[9] x) => (float16[9] y) { y = Cast <to = 10> (x) }", .no_gradient = true},
    {.text = "g (float16[9] x) => (bool[9] y) { y = Cast <to = 9> (x) }", .no_gradient = true},
    {.text = "g () => (float16[8] y) "
             "{ x = Constant <value_floats = [65519.0, 65520.0, -1e9, 5.9e-8, 2.9e-8, 6.1e-5, 1.00048828125, 0.0]> () "
             "y = Cast <to = 10> (x) }",
     .no_gradient = true},
    {0}};
static const struct op_sample like_samples[] = {
    {.text = "g (float[9] x, double[1] t) => (double[9] y) { y = CastLike(x, t) }"},
    {.text = "g (float[9] x, int16[1] t) => (int16[9] y) { y = CastLike(x, t) }", .no_gradient = true},
    {.text = "g (float[9] x, float8e4m3fn[1] t) => (float8e4m3fn[9] y) { y = CastLike <saturate = 0> (x, t) }",
     .no_gradient = true},
    {.text = "g (float[9] x, bfloat16[1] t) => (bfloat16[9] y) { y = CastLike(x, t) }"},
    {0}};

const struct op_def op_defs_cast[] = {
    {.name = "Cast", .written = "=", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = cast_infer, .grad = cast_grad, .eval = cast_eval, .lower = cast_lower, .is_elementwise = true,
     .sizes = SIZES_MOVED, .samples = samples},
    {.name = "CastLike", .written = "=", .versions = like_versions, .inputs = like_inputs, .outputs = like_outputs,
     .attrs = like_attrs, .infer = cast_like_infer, .expand = cast_like_expand, .eval = cast_eval,
     .samples = like_samples},
    {0}};
