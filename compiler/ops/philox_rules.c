/* The generator of random numbers (runtime/stepc_random.h, docs/numerics-functions.md) as nodes of ai.onnx. Words of 32
 * bits are int64 there: products, quotients and remainders of those are what every runtime has. No product exceeds
 * 2^48 and no sum 2^49, since factors are taken apart into halves:
 *
 *   x m = (x (m / 2^16)) 2^16 + x (m mod 2^16)
 *
 * Words that are exclusive-ored are BitwiseXor, which came with opset 18; before, bit by bit. */
#include "ops/random_rules.h"

enum { XOR_OPSET = 18, ROUNDS = 10, WORD_BITS = 32, HALF = 1 << 16 };
static const int64_t word_range = (int64_t)1 << WORD_BITS;

struct philox {
    struct builder *b;
    int opset;
    struct value *counter[4], *key[2];
};

static struct value *divide(struct philox *p, struct value *x, int64_t by)
{
    return build(p, "Div", x, build_int(p->b, by));
}

static struct value *remainder_of(struct philox *p, struct value *x, int64_t by)
{
    return build(p, "Mod", x, build_int(p->b, by));
}

static struct value *times(struct philox *p, struct value *x, int64_t by)
{
    return build(p, "Mul", x, build_int(p->b, by));
}

/* ---- exclusive or ------------------------------------------------------------------------------------------------ */

/* [..., 32]: 0 or 1 */
static struct value *bits_of(struct philox *p, struct value *x, struct value *powers)
{
    struct shape s = x->shape;
    shape_add(&s, size_constant(1));
    return remainder_of(p, build(p, "Div", build_reshape(p->b, x, &s), powers), 2);
}

/* a + b - 2 (a and b) */
static struct value *xor_by_bits(struct philox *p, struct value *a, struct value *b)
{
    struct tensor *const t = tensor_new(p->b->graph->arena, DTYPE_INT64, &SHAPE(WORD_BITS));
    for (int i = 0; i < WORD_BITS; i++)
        tensor_set_int(t, i, (int64_t)1 << i);
    struct value *const powers = build_constant(p->b, t);
    struct value *const bits_a = bits_of(p, a, powers), *both;
    both = build(p, "Mul", bits_a, bits_of(p, b, powers));
    both = build(p, "Mul", both, powers);
    const int last = both->shape.rank - 1;
    both = build_reduce_sum(p->b, both, &last, 1, false);
    struct value *const sum = build(p, "Add", a, b);
    return build(p, "Sub", sum, times(p, both, 2));
}

static struct value *xor_of(struct philox *p, struct value *a, struct value *b)
{
    return p->opset >= XOR_OPSET ? build(p, "BitwiseXor", a, b) : xor_by_bits(p, a, b);
}

/* ---- the rounds -------------------------------------------------------------------------------------------------- */

/* x times m, both below 2^32: its upper and lower word. */
static struct value *multiply(struct philox *p, struct value *x, int64_t m, struct value **low)
{
    struct value *const a = times(p, x, m % HALF);
    struct value *const b = times(p, x, m / HALF), *const middle = build(p, "Add", b, divide(p, a, HALF));
    struct value *const upper_half = times(p, remainder_of(p, middle, HALF), HALF);
    *low = build(p, "Add", upper_half, remainder_of(p, a, HALF));
    return divide(p, middle, HALF);
}

static struct value *add_word(struct philox *p, struct value *x, int64_t y)
{
    return remainder_of(p, build(p, "Add", x, build_int(p->b, y)), word_range);
}

static void one_round(struct philox *p)
{
    struct value **const c = p->counter, *low_0, *low_1;
    struct value *const high_0 = multiply(p, c[0], 0xD2511F53, &low_0);
    struct value *const high_1 = multiply(p, c[2], 0xCD9E8D57, &low_1);
    struct value *const first = xor_of(p, high_1, xor_of(p, c[1], p->key[0]));
    c[2] = xor_of(p, high_0, xor_of(p, c[3], p->key[1]));
    c[0] = first;
    c[1] = low_1;
    c[3] = low_0;
    p->key[0] = add_word(p, p->key[0], 0x9E3779B9);
    p->key[1] = add_word(p, p->key[1], 0xBB67AE85);
}

/* Of 64 bits, also where the number is negative: a remainder has the divisor's sign. */
static void take_apart(struct philox *p, struct value *x, struct value **low, struct value **high)
{
    *low = remainder_of(p, x, word_range);
    *high = remainder_of(p, divide(p, build(p, "Sub", x, *low), word_range), word_range);
}

/* The four words of each of so many blocks, [blocks] each. */
static struct philox draw_words(struct expand_ctx *c, int64_t blocks)
{
    struct philox p = {.b = c->b, .opset = c->target->opset};
    struct value *const counter = c->target->counters[c->node->counter];
    struct value *seed = c->target->seed;
    uint64_t own;
    if (random_seed(c->node, &own))
        seed = build_int(c->b, (int64_t)own);
    take_apart(&p, seed, &p.key[0], &p.key[1]);
    p.counter[0] = build_counter(c->b, DTYPE_INT64, 0, &SHAPE(blocks));
    take_apart(&p, counter, &p.counter[1], &p.counter[2]);
    p.counter[3] = build_int(c->b, c->node->stream);
    for (int round = 0; round < ROUNDS; round++)
        one_round(&p);
    for (int i = 0; i < 4; i++)
        p.counter[i] = build_expand(c->b, p.counter[i], &SHAPE(blocks));
    return p;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/* w >> 8, times 2^-24 */
static struct value *unit_float(struct philox *p, struct value *w)
{
    struct value *const x = build_cast(p->b, divide(p, w, 1 << 8), DTYPE_FLOAT);
    return build(p, "Mul", x, build_scalar(p->b, DTYPE_FLOAT, 0x1p-24));
}

/* (a >> 6) 2^27 + (b >> 5), times 2^-53 */
static struct value *unit_double(struct philox *p, struct value *a, struct value *b)
{
    struct value *const high = times(p, divide(p, a, 1 << 6), 1 << 27);
    struct value *const whole = build(p, "Add", high, divide(p, b, 1 << 5));
    return build(p, "Mul", build_cast(p->b, whole, DTYPE_DOUBLE), build_scalar(p->b, DTYPE_DOUBLE, 0x1p-53));
}

/* `count` lists of [blocks] side by side, of which the first elements become a tensor of shape s. */
static struct value *side_by_side(struct builder *b, struct value **list, int count, const struct shape *s)
{
    const struct {
        struct builder *b;
    } c = {b};
    const struct size blocks = shape_size(&list[0]->shape, 0);
    const struct shape column = SHAPE_OF(blocks, size_constant(1)),
                       row = SHAPE_OF(size_product(blocks, size_constant(count)));
    for (int i = 0; i < count; i++)
        list[i] = build_reshape(b, list[i], &column);
    struct value *y = build_value(b, "Concat", ATTRS(attr_int("axis", 1)), list, (size_t)count);
    y = build_reshape(b, y, &row);
    const int64_t elements = shape_count(s);
    if (elements < row.dim[0])
        y = build(&c, "Slice", y, build_ints(b, (int64_t[]){0}, 1), build_ints(b, &elements, 1));
    return build_reshape(b, y, s);
}

/* In list[]: what a block makes, 4 floats or 2 doubles. */
static int draw_units(struct expand_ctx *c, enum dtype d, const struct shape *s, struct value **list)
{
    const int count = d == DTYPE_DOUBLE ? 2 : 4;
    struct philox p = draw_words(c, (shape_count(s) + count - 1) / count);
    for (int i = 0; i < count; i++)
        list[i] = d == DTYPE_DOUBLE ? unit_double(&p, p.counter[2 * i], p.counter[2 * i + 1])
                                    : unit_float(&p, p.counter[i]);
    return count;
}

struct value *random_build_uniform(struct expand_ctx *c, enum dtype d, const struct shape *s)
{
    struct value *list[4];
    const int count = draw_units(c, d, s, list);
    return side_by_side(c->b, list, count, s);
}

/* sqrt(-2 log(1 - u)) times cos(2 pi v) and sin(2 pi v). The angle is taken in double: in float its error would be
 * that of a number up to 2 pi. */
static void box_muller(struct expand_ctx *c, struct value **u, struct value **v)
{
    struct value *const x = build(c, "Sub", build_like(c, *u, 1.0), *u);
    struct value *const log = build(c, "Log", x);
    struct value *const radius = build(c, "Sqrt", build(c, "Mul", build_like(c, log, -2.0), log));
    struct value *angle = build_cast(c->b, *v, DTYPE_DOUBLE);
    angle = build(c, "Mul", angle, build_like(c, angle, 6.283185307179586));
    struct value *const cosine = build_cast(c->b, build(c, "Cos", angle), radius->dtype);
    struct value *const sine = build_cast(c->b, build(c, "Sin", angle), radius->dtype);
    *u = build(c, "Mul", radius, cosine);
    *v = build(c, "Mul", radius, sine);
}

struct value *random_build_normal(struct expand_ctx *c, enum dtype d, const struct shape *s)
{
    struct value *list[4];
    const int count = draw_units(c, d, s, list);
    for (int i = 0; i < count; i += 2)
        box_muller(c, &list[i], &list[i + 1]);
    return side_by_side(c->b, list, count, s);
}
