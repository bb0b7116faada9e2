/* Logarithms of probabilities and of sums of exponentials, as models and exporters spell them, without forming what is
 * taken the logarithm of: that rounds to 0 or to 1, or is infinite.
 *
 *   Log(Sigmoid(x))             -Softplus(-x)            Log(1 - Sigmoid(x))       -Softplus(x)
 *   Log(Softmax(x))             LogSoftmax(x)            Log(ReduceSum(Exp(x)))    ReduceLogSumExp(x)
 *   Log(ReduceMean(Exp(x)))     m + Log(ReduceMean(Exp(x - m))), m the maximum
 *   Log(1 + Exp(x))             Softplus(x)              Log(Exp(x))               x
 *   Log(a b), Log(a / b)        Log(a) +- Log(b)         Log(Where(c, a, b))       Where(c, Log(a), Log(b))
 *   Log(Exp(a) + Exp(b))        h + Softplus(l - h), h the larger of a and b, l the other
 *   Log(Reshape(a))             Reshape(Log(a)), and so for what else moves elements
 *
 * where a and b are such expressions in turn, or numbers that are known and not negative. Where bounds or a number
 * stand between (Log(Clip(1 - Sigmoid(x), low, high)), Log(1 - Sigmoid(x) + epsilon)), only 1 - Sigmoid(x) becomes
 * Sigmoid(-x), which says the same with all digits. */
#include "rewrite/recognise.h"

#include "rewrite/pass.h"

#include <math.h>

/* What a value is made of, as far as its logarithm goes. */
enum kind {
    PLAIN,
    NUMBERS, /* known, from a bool, or a steady sum; none below 0: the logarithm is taken of them */
    SMALL,   /* probabilities */
    LARGE    /* exponentials and their sums */
};

struct log_rule {
    const char *op;
    enum kind (*kind)(const struct recogniser *r, const struct node *n, int depth);
    struct value *(*log)(const struct recogniser *r, const struct node *n, int depth); /* where kind is not PLAIN */
};

static enum kind kind_of(const struct recogniser *r, struct value *v, int depth);
static struct value *log_of(const struct recogniser *r, struct value *v, int depth);

static struct value *in(const struct node *n, size_t i)
{
    return n->inputs.data[i];
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static bool is_known_and_not_negative(struct value *v)
{
    const struct tensor *const t = value_known(v);
    for (int64_t i = 0; t != NULL && i < t->count; i++)
        if (!(tensor_get_double(t, i) >= 0))
            return false;
    return t != NULL;
}

/* 0 and 1 from a condition or from OneHot, and what is made of these. */
static bool is_mask(const struct recogniser *r, struct value *v, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || depth == 0)
        return false;
    if (node_is(n, "Cast") || node_is(n, "CastLike"))
        return in(n, 0)->dtype == DTYPE_BOOL || is_mask(r, in(n, 0), depth - 1);
    if (node_is(n, "OneHot"))
        return is_known_and_not_negative(in(n, 2));
    if (node_is(n, "Sub"))
        return recognise_one(r, in(n, 0)) && is_mask(r, in(n, 1), depth - 1);
    if (node_is(n, "Mul"))
        return is_mask(r, in(n, 0), depth - 1) && is_mask(r, in(n, 1), depth - 1);
    return recognise_moves(r, v) && is_mask(r, in(n, 0), depth - 1);
}

/* ReduceSum(Exp(x - maximum)), which is 1 at least, or the mean. */
static bool is_steady_sum(const struct recogniser *r, const struct value *v)
{
    const struct node *sum = recognise_made_by(r, v, "ReduceSum");
    sum = sum != NULL ? sum : recognise_made_by(r, v, "ReduceMean");
    const struct node *const exp = sum != NULL ? recognise_made_by(r, in(sum, 0), "Exp") : NULL;
    return exp != NULL && recognise_below_maximum(r, in(exp, 0));
}

static bool is_numbers(const struct recogniser *r, struct value *v, int depth)
{
    double x;
    if (recognise_number(r, v, &x))
        return x >= 0;
    return is_known_and_not_negative(v) || is_mask(r, v, depth) || is_steady_sum(r, v);
}

/* ---- 1 - Sigmoid(x) ---------------------------------------------------------------------------------------------- */

/* p, where n is 1 - p; or NULL. */
static struct value *taken_from_one(const struct recogniser *r, const struct node *n)
{
    if (node_is(n, "Sub"))
        return recognise_one(r, in(n, 0)) ? in(n, 1) : NULL;
    for (size_t i = 0; i < 2 && node_is(n, "Add"); i++) {
        const struct node *const neg = recognise_made_by(r, in(n, i), "Neg");
        if (neg != NULL && recognise_one(r, in(n, 1 - i)))
            return in(neg, 0);
    }
    return NULL;
}

/* Is v a Sigmoid, perhaps moved, perhaps between known bounds? */
static bool is_sigmoid(const struct recogniser *r, struct value *v, bool bounded, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || depth == 0)
        return false;
    return node_is(n, "Sigmoid") ||
           ((recognise_moves(r, v) || (bounded && node_is(n, "Clip"))) && is_sigmoid(r, in(n, 0), bounded, depth - 1));
}

static struct value *one_minus(const struct recogniser *r, struct value *x)
{
    return x == NULL ? NULL : build(r, "Sub", build_like(r, x, 1.0), x);
}

/* 1 - v of such a Sigmoid, or the logarithm of that. */
static struct value *complement(const struct recogniser *r, const struct value *v, bool logarithm)
{
    const struct node *const n = v->producer;
    if (node_is(n, "Sigmoid"))
        return logarithm ? build(r, "Neg", build(r, "Softplus", in(n, 0)))
                         : build(r, "Sigmoid", recognise_negated(r, in(n, 0)));
    struct value *const inner = complement(r, in(n, 0), logarithm);
    if (!node_is(n, "Clip"))
        return recognise_moved(r, v, inner);
    return build(r, "Clip", inner, one_minus(r, node_input(n, 2)), one_minus(r, node_input(n, 1)));
}

static struct value *expanded(const struct recogniser *r, struct value *x, const struct node *n)
{
    return build_expand(r->b, x, &n->outputs.data[0]->shape);
}

/* ---- the rules --------------------------------------------------------------------------------------------------- */

static enum kind kind_small(const struct recogniser *r, const struct node *n, int depth)
{
    return SMALL;
}

static struct value *log_sigmoid(const struct recogniser *r, const struct node *n, int depth)
{
    return build(r, "Neg", build(r, "Softplus", recognise_negated(r, in(n, 0))));
}

static struct value *log_softmax(const struct recogniser *r, const struct node *n, int depth)
{
    return build_with(r, "LogSoftmax", ATTRS(attr_int("axis", op_attr_int(n, "axis"))), in(n, 0));
}

static enum kind kind_exp(const struct recogniser *r, const struct node *n, int depth)
{
    return LARGE;
}

static struct value *log_exp(const struct recogniser *r, const struct node *n, int depth)
{
    return in(n, 0);
}

static enum kind kind_sub(const struct recogniser *r, const struct node *n, int depth)
{
    struct value *const p = taken_from_one(r, n);
    return p != NULL && is_sigmoid(r, p, false, depth) ? SMALL : PLAIN;
}

static struct value *log_sub(const struct recogniser *r, const struct node *n, int depth)
{
    return expanded(r, complement(r, taken_from_one(r, n), true), n);
}

/* A probability plus a number is as exact as it stands. */
static enum kind kind_add(const struct recogniser *r, const struct node *n, int depth)
{
    if (kind_sub(r, n, depth) == SMALL)
        return SMALL;
    const enum kind a = kind_of(r, in(n, 0), depth), b = kind_of(r, in(n, 1), depth);
    const bool sum = (a == LARGE && (b == LARGE || b == NUMBERS)) || (b == LARGE && a == NUMBERS);
    return sum ? LARGE : PLAIN;
}

static struct value *log_add(const struct recogniser *r, const struct node *n, int depth)
{
    if (kind_sub(r, n, depth) == SMALL)
        return log_sub(r, n, depth);
    for (size_t i = 0; i < 2; i++)
        if (recognise_one(r, in(n, i)))
            return expanded(r, build(r, "Softplus", log_of(r, in(n, 1 - i), depth)), n);
    struct value *const a = log_of(r, in(n, 0), depth), *const b = log_of(r, in(n, 1), depth);
    struct value *const first = build(r, "Greater", a, b);
    struct value *const high = build(r, "Where", first, a, b), *const low = build(r, "Where", first, b, a);
    return build(r, "Add", high, build(r, "Softplus", build(r, "Sub", low, high)));
}

static enum kind kind_product(const struct recogniser *r, const struct node *n, int depth)
{
    const enum kind a = kind_of(r, in(n, 0), depth), b = kind_of(r, in(n, 1), depth);
    if (a == PLAIN || b == PLAIN || (a == NUMBERS && b == NUMBERS))
        return PLAIN;
    return a > b ? a : b;
}

static struct value *log_mul(const struct recogniser *r, const struct node *n, int depth)
{
    return build(r, "Add", log_of(r, in(n, 0), depth), log_of(r, in(n, 1), depth));
}

static struct value *log_div(const struct recogniser *r, const struct node *n, int depth)
{
    return build(r, "Sub", log_of(r, in(n, 0), depth), log_of(r, in(n, 1), depth));
}

static enum kind kind_of_first(const struct recogniser *r, const struct node *n, int depth)
{
    const enum kind k = kind_of(r, in(n, 0), depth);
    return k == NUMBERS ? PLAIN : k;
}

static struct value *log_reciprocal(const struct recogniser *r, const struct node *n, int depth)
{
    return build(r, "Neg", log_of(r, in(n, 0), depth));
}

static enum kind kind_sum(const struct recogniser *r, const struct node *n, int depth)
{
    return is_steady_sum(r, n->outputs.data[0]) ? PLAIN : kind_of_first(r, n, depth);
}

static struct value *log_sum(const struct recogniser *r, const struct node *n, int depth)
{
    return recognise_log_sum_exp(r, n, log_of(r, in(n, 0), depth));
}

/* m + Log(ReduceMean(Exp(x - m))), m the maximum, or 0 where that is infinite. No gradient flows through m: what comes
 * by either way adds up to 0. */
static struct value *log_mean(const struct recogniser *r, const struct node *n, int depth)
{
    struct value *const x = log_of(r, in(n, 0), depth), *const axes = node_input(n, 1);
    const struct attr noop = attr_int("noop_with_empty_axes", op_attr_int(n, "noop_with_empty_axes"));
    struct value *const most = build_with(r, "ReduceMax", ATTRS(attr_int("keepdims", 1), noop), x, axes);
    struct value *const infinite = build(r, "Equal", build(r, "Abs", most), build_like(r, x, INFINITY));
    struct value *const m = build(r, "stepc.Stored", build(r, "Where", infinite, build_like(r, x, 0.0), most));
    struct value *const e = build(r, "Exp", build(r, "Sub", x, m));
    struct value *const mean =
        build_with(r, "ReduceMean", ATTRS(attr_int("keepdims", op_attr_int(n, "keepdims")), noop), e, axes);
    return build(r, "Add", build(r, "Log", mean), build_reshape(r->b, m, &mean->shape));
}

static enum kind kind_where(const struct recogniser *r, const struct node *n, int depth)
{
    const enum kind a = kind_of(r, in(n, 1), depth), b = kind_of(r, in(n, 2), depth);
    if (a == PLAIN || b == PLAIN || (a == NUMBERS && b == NUMBERS))
        return PLAIN;
    return a > b ? a : b;
}

static struct value *log_where(const struct recogniser *r, const struct node *n, int depth)
{
    return build(r, "Where", in(n, 0), log_of(r, in(n, 1), depth), log_of(r, in(n, 2), depth));
}

static const struct log_rule rules[] = {
    {"Add", kind_add, log_add},
    {"Div", kind_product, log_div},
    {"Exp", kind_exp, log_exp},
    {"Mul", kind_product, log_mul},
    {"Reciprocal", kind_of_first, log_reciprocal},
    {"ReduceMean", kind_sum, log_mean},
    {"ReduceSum", kind_sum, log_sum},
    {"Sigmoid", kind_small, log_sigmoid},
    {"Softmax", kind_small, log_softmax},
    {"Sub", kind_sub, log_sub},
    {"Where", kind_where, log_where},
};

static const struct log_rule *rule_of(const struct node *n)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (node_is(n, rules[i].op))
            return &rules[i];
    return NULL;
}

static enum kind kind_made(const struct recogniser *r, struct value *v, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || depth == 0)
        return PLAIN;
    if (recognise_moves(r, v))
        return kind_of_first(r, n, depth - 1);
    const struct log_rule *const rule = rule_of(n);
    return rule != NULL ? rule->kind(r, n, depth - 1) : PLAIN;
}

static enum kind kind_of(const struct recogniser *r, struct value *v, int depth)
{
    if (!dtype_is_float(v->dtype))
        return PLAIN;
    const enum kind made = kind_made(r, v, depth);
    return made != PLAIN ? made : is_numbers(r, v, depth) ? NUMBERS : PLAIN;
}

/* Log(v), of v's shape, for any kind but PLAIN. */
static struct value *log_of(const struct recogniser *r, struct value *v, int depth)
{
    if (kind_made(r, v, depth) == PLAIN)
        return build(r, "Log", v);
    if (recognise_moves(r, v))
        return recognise_moved(r, v, log_of(r, in(v->producer, 0), depth - 1));
    return rule_of(v->producer)->log(r, v->producer, depth - 1);
}

/* ---- what bounds or numbers are added to ------------------------------------------------------------------------- */

static bool is_passed(const struct node *n)
{
    static const char *const ops[] = {"Add", "Clip", "Max", "Min", "Mul", "Where"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

/* v with Sigmoid(-x) for 1 - Sigmoid(x); v itself where there is nothing of the kind. */
static struct value *steadied(const struct recogniser *r, struct value *v, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || depth == 0 || !dtype_is_float(v->dtype))
        return v;
    struct value *const p = taken_from_one(r, n);
    if (p != NULL && is_sigmoid(r, p, true, depth))
        return expanded(r, complement(r, p, false), n);
    const bool moves = recognise_moves(r, v);
    if (!moves && !is_passed(n))
        return v;
    struct value **const inputs = arena_array(r->b->graph->arena, struct value *, n->inputs.count);
    bool any = false;
    for (size_t i = 0; i < n->inputs.count; i++) {
        inputs[i] = in(n, i) == NULL || (moves && i > 0) ? in(n, i) : steadied(r, in(n, i), depth - 1);
        any = any || inputs[i] != in(n, i);
    }
    return any ? recognise_again(r, v, inputs) : v;
}

/* ---- the nodes --------------------------------------------------------------------------------------------------- */

struct value *recognise_log(const struct recogniser *r, struct node *n)
{
    struct value *const x = in(n, 0);
    if (kind_of(r, x, RECOGNISE_DEPTH) > NUMBERS)
        return log_of(r, x, RECOGNISE_DEPTH);
    struct value *const steady = steadied(r, x, RECOGNISE_DEPTH);
    return steady != x ? build(r, "Log", steady) : NULL;
}

struct value *recognise_reduce_log_sum(const struct recogniser *r, struct node *n)
{
    struct value *const x = in(n, 0);
    if (kind_of(r, x, RECOGNISE_DEPTH) <= NUMBERS)
        return NULL;
    return recognise_log_sum_exp(r, n, log_of(r, x, RECOGNISE_DEPTH));
}
