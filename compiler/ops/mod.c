/* Mod: what remains of a division.
 *   fmod = 0: y = a - floor(a / b) b, the sign of b (Python's %)
 *   fmod = 1: y = a - trunc(a / b) b, the sign of a (C's fmod)
 * Exact but for fmod = 0 of floats, where a negative remainder is brought to b's side by one sum. Floats with fmod = 0
 * are an error of Mod-13's text and defined since (a zero has the sign of b); here they always work.
 * Integers: a mod 0 = 0. Floats: NaN for b = 0 and for infinite a.
 * Spec: ONNX Mod-10, -13 (adds bfloat16). */
#include "ops/op.h"

#include <math.h>

static const struct op_attr attrs[] = {{.name = "fmod", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_version versions[] = {
    {.since = 10, .dtypes = DTYPES_NUMERIC & ~DTYPE_BIT(DTYPE_BFLOAT16)}, {.since = 13}, {0}};
static const struct op_param inputs[] = {
    {.name = "A", .type = 'T', .dtypes = DTYPES_NUMERIC}, {.name = "B", .type = 'T', .dtypes = DTYPES_NUMERIC}, {0}};
static const struct op_param outputs[] = {{.name = "C", .type = 'T', .dtypes = DTYPES_NUMERIC}, {0}};

static bool truncates(const struct node *n)
{
    return op_attr_int(n, "fmod") == 1;
}

static bool mod_infer(struct infer_ctx *c)
{
    const int64_t fmod = op_attr_int(c->node, "fmod");
    if (fmod != 0 && fmod != 1)
        return infer_error(c, "attribute 'fmod' is %lld, expected 0 or 1", (long long)fmod);
    return infer_broadcast(c);
}

/* da = dy; db = -dy q with the whole quotient q = (a - y) / b, as PyTorch's fmod and remainder have
 * it, jumps included. */
static bool mod_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0), *b = grad_input(c, 1);
    if (!dtype_is_float(b->dtype))
        return true;
    if (grad_wants(c, 0) && !grad_accumulate(c, 0, dy))
        return false;
    if (!grad_wants(c, 1))
        return true;
    struct value *quotient = build(c, "Round",
                                   build(c, "Div", build(c, "Sub", grad_input(c, 0), grad_output(c, 0)), b));
    return grad_accumulate(c, 1, build(c, "Neg", build(c, "Mul", dy, quotient)));
}

/* Floats with fmod = 0 are an error of runtimes, too. */
static bool mod_plain(struct expand_ctx *c)
{
    struct value *const b = expand_in(c, 1), *const zero = build_like(c, b, 0.0);
    if (truncates(c->node) || !dtype_is_float(b->dtype))
        return true;
    struct value *const rest = build_with(c, "Mod", ATTRS(attr_int("fmod", 1)), expand_in(c, 0), b);
    struct value *const below = build(c, "Less", rest, zero);
    struct value *const differs = build(c, "Xor", below, build(c, "Less", b, zero));
    struct value *const is_zero = build(c, "Equal", rest, zero), *const moved = build(c, "Add", rest, b);
    struct value *const moves = build(c, "And", differs, build(c, "Not", is_zero));
    return expand_out(c, 0, build(c, "Where", moves, moved, rest));
}

static double mod_f(const struct eval_ctx *c, const double *x)
{
    const double rest = fmod(x[0], x[1]);
    if (truncates(c->node))
        return rest;
    if (rest == 0)
        return copysign(rest, x[1]);
    return (rest < 0) == (x[1] < 0) ? rest : eval_round(c, rest + x[1]);
}

static int64_t mod_i(const struct eval_ctx *c, const int64_t *x)
{
    const enum dtype d = c->in[0]->dtype;
    const int64_t rest = eval_int_binary(d, '%', x[0], x[1]);
    const bool other_side = dtype_is_signed(d) && rest != 0 && (rest < 0) != (x[1] < 0);
    return other_side && !truncates(c->node) ? eval_int_binary(d, '+', rest, x[1]) : rest;
}

static bool mod_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) != NULL ? eval_map_f(c, mod_f) : eval_map_i(c, mod_i);
}

static double quotient_f(const struct eval_ctx *c, const double *x)
{
    return truncates(c->node) ? trunc(x[0] / x[1]) : floor(x[0] / x[1]);
}

static int64_t quotient_i(const struct eval_ctx *c, const int64_t *x)
{
    const enum dtype d = c->in[0]->dtype;
    return x[1] == 0 ? 0 : eval_int_binary(d, '/', eval_int_binary(d, '-', x[0], mod_i(c, x)), x[1]);
}

static bool mod_eval_piece(struct eval_ctx *c)
{
    return eval_f(c, 0) != NULL ? eval_map_f(c, quotient_f) : eval_map_i(c, quotient_i);
}

static bool mod_lower(struct lower_ctx *c)
{
    struct arena *a = c->arena;
    const struct expr *b = lower_in(c, 1), *rest = expr_binary(a, EXPR_MOD, lower_in(c, 0), b);
    const bool floats = dtype_is_float(b->dtype);
    if (truncates(c->node) || (!floats && !dtype_is_signed(b->dtype)))
        return lower_map(c, rest);
    const struct expr *zero = expr_number(a, b->dtype, 0), *positive = expr_binary(a, EXPR_LT, zero, b);
    const struct expr *negative = expr_binary(a, EXPR_LT, b, zero);
    const struct expr *below = expr_binary(a, EXPR_AND, expr_binary(a, EXPR_LT, rest, zero), positive);
    const struct expr *above = expr_binary(a, EXPR_AND, expr_binary(a, EXPR_LT, zero, rest), negative);
    const struct expr *moved = expr_select(a, expr_binary(a, EXPR_OR, below, above),
                                           expr_binary(a, EXPR_ADD, rest, b), rest);
    if (!floats)
        return lower_map(c, moved);
    const struct expr *signed_zero = expr_select(a, negative, expr_number(a, b->dtype, -0.0), zero);
    return lower_map(c, expr_select(a, expr_binary(a, EXPR_EQ, rest, zero), signed_zero, moved));
}

/* Dividends and divisors of all signs, zeros, infinities and NaN. */
#define SPECIAL(type)                                                                                                  \
    "a0 = Constant <value = float[8,1] {5.5, -5.5, 0.0, -0.0, 3.0, inf, -inf, nan}> () a = Cast <to = " type "> (a0) " \
    "b0 = Constant <value = float[7] {3.0, -3.0, 0.7, 0.0, inf, -inf, nan}> () b = Cast <to = " type "> (b0) "
#define SIGNS(type)                                                                                                    \
    "a0 = Constant <value = int64[6,1] {7, -7, 6, -6, 0, -128}> () a = Cast <to = " type "> (a0) "                     \
    "b0 = Constant <value = int64[5] {3, -3, 1, -1, 0}> () b = Cast <to = " type "> (b0) "

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] a, float[3] b) => (float[2,3] y) { y = Mod <fmod = 1> (a, b) }"},
    {.text = "g (float[2,3] a, float[3] b) => (float[2,3] y) { y = Mod(a, b) }"},
    {.text = "g (double[4] a, double b) => (double[4] y) { y = Mod <fmod = 1> (a, b) }"},
    {.text = "g (double[4] a, double[3,1] b) => (double[3,4] y) { y = Mod(a, b) }"},
    {.text = "g (int64[8] a, int64[8] b) => (int64[8] y) { y = Mod(a, b) }", .no_gradient = true},
    {.text = "g (int8[8] a, int8[8] b) => (int8[8] y) { y = Mod <fmod = 1> (a, b) }", .no_gradient = true},
    {.text = "g (uint8[8] a, uint8[2,1] b) => (uint8[2,8] y) { y = Mod(a, b) }", .no_gradient = true},
    {.text = "g (uint64[8] a, uint64[8] b) => (uint64[8] y) { y = Mod <fmod = 1> (a, b) }", .no_gradient = true},
    {.text = "g (float16[4] a, float16[4] b) => (float16[4] y) { y = Mod <fmod = 1> (a, b) }", .feed = "positive"},
    {.text = "g (bfloat16[4] a, bfloat16[4] b) => (bfloat16[4] y) { y = Mod(a, b) }", .feed = "positive"},
    {.text = "g (float[0,3] a, float[3] b) => (float[0,3] y) { y = Mod(a, b) }"},
    {.text = "g () => (float[8,7] y) { " SPECIAL("1") "y = Mod(a, b) }", .no_gradient = true},
    {.text = "g () => (float[8,7] y) { " SPECIAL("1") "y = Mod <fmod = 1> (a, b) }", .no_gradient = true},
    {.text = "g (double[8,1] z) => (double[8,7] y) { " SPECIAL("11") "c = Sub(z, z) d = Add(a, c) y = Mod(d, b) }",
     .no_gradient = true},
    {.text = "g (int32[6,1] z) => (int32[6,5] y) { " SIGNS("6") "c = Sub(z, z) d = Add(a, c) y = Mod(d, b) }",
     .no_gradient = true},
    {.text = "g (int8[6,1] z) => (int8[6,5] y) { " SIGNS("3") "c = Sub(z, z) d = Add(a, c) y = Mod(d, b) }",
     .no_gradient = true},
    {.text = "g (int16[6,1] z) => (int16[6,5] y) "
             "{ " SIGNS("5") "c = Sub(z, z) d = Add(a, c) y = Mod <fmod = 1> (d, b) }", .no_gradient = true},
    {.text = "g (float[3] a, float[3] b) => (float[3] y) { y = Mod <fmod = 2> (a, b) }", .error = "expected 0 or 1"},
    {.text = "g (float[3] a, int32[3] b) => (float[3] y) { y = Mod(a, b) }", .error = "int32"},
    {.text = "g (float[3] a, float[2] b) => (float[3] y) { y = Mod(a, b) }", .error = "broadcast"},
    {0}};

const struct op_def op_defs_mod[] = {
    {.name = "Mod", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs, .infer = mod_infer,
     .grad = mod_grad,
     .plain = mod_plain, .eval = mod_eval, .eval_piece = mod_eval_piece, .lower = mod_lower, .is_elementwise = true,
     .samples = samples},
    {0}};
