/* Logarithms of probabilities and of sums of exponentials, as models and exporters spell them, without forming what is
 * taken the logarithm of: that rounds to 0 or to 1, or is infinite.
 *
 *   Log(Sigmoid(x))             -Softplus(-x)            Log(1 - Sigmoid(x))       -Softplus(x)
 *   Log(Softmax(x))             LogSoftmax(x)            Log(ReduceSum(Exp(x)))    ReduceLogSumExp(x)
 *   Log(ReduceMean(Exp(x)))     m + Log(ReduceMean(Exp(x - m))), m the maximum
 *   Log(1 + Exp(x))             Softplus(x)              Log(Exp(x))               x
 *   Log(a b), Log(a / b)        Log(a) +- Log(b)         Log(Where(c, a, b))       Where(c, Log(a), Log(b))
 *   Log(Exp(a) + Exp(b))        h + Softplus(l - h), h the larger of a and b, l the other
 *   Log(1 - Softmax(x))         of the largest element of a line the sum of the others
 *   Log(Pow(a, c)), Log(Sqrt(a)), Log(ReduceProd(a))     c Log(a), Log(a) / 2, ReduceSum(Log(a))
 *   Log(v a + w b), Log(ReduceSum(w a))     m + Log(v Exp(Log(a) - m) + w Exp(Log(b) - m)), whatever v and w are; m the
 *                                           largest logarithm of what has a weight other than 0
 *   Log(Reshape(a))             Reshape(Log(a)), and so for what else moves elements
 *
 * where a and b are such expressions in turn, or numbers that are known and not negative. Where bounds or a number
 * stand between (Log(Clip(1 - Sigmoid(x), low, high)), Log(1 - Sigmoid(x) + epsilon)), only 1 - Sigmoid(x) becomes
 * Sigmoid(-x), which says the same with all digits. */
#include "rewrite/recognise.h"

#include "rewrite/pass.h"

#include <math.h>

/* What a value is made of, as far as its logarithm goes. */
enum log_form {
    PLAIN,
    NUMBERS, /* known, from a bool, or a steady sum; none below 0: the logarithm is taken of them */
    SMALL,   /* probabilities */
    LARGE    /* exponentials and their sums */
};

struct log_rule {
    const char *op;
    enum log_form (*kind)(const struct recogniser *r, const struct node *n, int depth);
    struct value *(*log)(const struct recogniser *r, const struct node *n, int depth); /* where kind is not PLAIN */
};

static enum log_form kind_of(const struct recogniser *r, struct value *v, int depth);
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

/* ---- 1 - Sigmoid(x), 1 - Softmax(x) ------------------------------------------------------------------------------ */

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

/* n, or the LogSoftmax that it is the exponential of, if n is a Softmax over several elements; or NULL. */
static const struct node *softmax_of(const struct recogniser *r, const struct node *n)
{
    const struct node *const s = node_is(n, "Exp") ? recognise_made_by(r, in(n, 0), "LogSoftmax") : n;
    int axis;
    const bool is_softmax = s != NULL && (s != n || node_is(n, "Softmax")) &&
                            shape_axis(in(s, 0)->shape.rank, op_attr_int(s, "axis"), &axis) &&
                            in(s, 0)->shape.dim[axis] > 1;
    return is_softmax ? s : NULL;
}

/* Is v a Sigmoid or a Softmax, perhaps moved, perhaps between known bounds? */
static bool is_probability(const struct recogniser *r, struct value *v, bool bounded, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || depth == 0)
        return false;
    if (node_is(n, "Sigmoid") || softmax_of(r, n) != NULL)
        return true;
    return (recognise_moves(r, v) || (bounded && node_is(n, "Clip"))) &&
           is_probability(r, in(n, 0), bounded, depth - 1);
}

static struct value *one_minus(const struct recogniser *r, struct value *x)
{
    return x == NULL ? NULL : build(r, "Sub", build_like(r, x, 1.0), x);
}

/* Which element of each line along the axis is the largest; of equal ones the first. */
static struct value *is_largest(const struct recogniser *r, struct value *x, int axis)
{
    struct shape line = {.rank = x->shape.rank};
    int64_t *const numbers = arena_array(r->b->graph->arena, int64_t, (size_t)x->shape.dim[axis]);
    for (int d = 0; d < line.rank; d++)
        shape_set(&line, d, d == axis ? shape_size(&x->shape, axis) : size_constant(1));
    for (int64_t i = 0; i < x->shape.dim[axis]; i++)
        numbers[i] = i;
    struct value *const places = build_reshape(r->b, build_ints(r->b, numbers, (size_t)x->shape.dim[axis]), &line);
    return build(r, "Equal", build_with(r, "ArgMax", ATTRS(attr_int("axis", axis), attr_int("keepdims", 1)), x),
                 places);
}

/* 1 - p of a Softmax, or the logarithm of that. Where p is no more than a half it is exact as it stands. Of the largest
 * element it is the sum of the others. */
static struct value *softmax_complement(const struct recogniser *r, const struct node *softmax, struct value *p,
                                        bool logarithm)
{
    struct value *const x = in(softmax, 0), *const one = build_like(r, x, 1.0), *const zero = build_like(r, x, 0.0);
    int axis = 0;
    shape_axis(x->shape.rank, op_attr_int(softmax, "axis"), &axis);
    struct value *const largest = is_largest(r, x, axis), *const axes = build_ints(r->b, &(int64_t){axis}, 1);
    struct value *const rest = build(r, "Where", largest, one, build(r, "Sub", one, p));
    const struct attr *const keep = ATTRS(attr_int("keepdims", 1));
    if (!logarithm)
        return build(r, "Where", largest, build_with(r, "ReduceSum", keep, build(r, "Where", largest, zero, p), axes),
                     rest);
    struct value *const others = build(r, "Where", largest, build_like(r, x, -INFINITY), x);
    struct value *const share = build(r, "Sub", build_with(r, "ReduceLogSumExp", keep, others, axes),
                                      build_with(r, "ReduceLogSumExp", keep, x, axes));
    return build(r, "Where", largest, share, build(r, "Log", rest));
}

/* 1 - v of such a probability, or the logarithm of that. */
static struct value *complement(const struct recogniser *r, const struct value *v, bool logarithm)
{
    const struct node *const n = v->producer, *const softmax = softmax_of(r, n);
    if (softmax != NULL)
        return softmax_complement(r, softmax, n->outputs.data[0], logarithm);
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

/* m, or 0 where that is infinite; no gradient flows through it: what comes by either way adds up to 0. */
static struct value *shift_by(const struct recogniser *r, struct value *m)
{
    struct value *const infinite = build(r, "Equal", build(r, "Abs", m), build_like(r, m, INFINITY));
    return build(r, "stepc.Stored", build(r, "Where", infinite, build_like(r, m, 0.0), m));
}

/* ---- the rules --------------------------------------------------------------------------------------------------- */

static enum log_form kind_small(const struct recogniser *r, const struct node *n, int depth)
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

static enum log_form kind_exp(const struct recogniser *r, const struct node *n, int depth)
{
    return LARGE;
}

static struct value *log_exp(const struct recogniser *r, const struct node *n, int depth)
{
    return in(n, 0);
}

static enum log_form kind_sub(const struct recogniser *r, const struct node *n, int depth)
{
    struct value *const p = taken_from_one(r, n);
    return p != NULL && is_probability(r, p, false, depth) ? SMALL : PLAIN;
}

static struct value *log_sub(const struct recogniser *r, const struct node *n, int depth)
{
    return expanded(r, complement(r, taken_from_one(r, n), true), n);
}

/* A probability plus a number is as exact as it stands. */
static enum log_form kind_add(const struct recogniser *r, const struct node *n, int depth)
{
    if (kind_sub(r, n, depth) == SMALL)
        return SMALL;
    const enum log_form a = kind_of(r, in(n, 0), depth), b = kind_of(r, in(n, 1), depth);
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
    struct value *const infinite = build(r, "Equal", build(r, "Abs", high), build_like(r, high, INFINITY));
    struct value *const from = build(r, "Where", infinite, build_like(r, high, 0.0), high);
    return build(r, "Add", high, build(r, "Softplus", build(r, "Sub", low, from)));
}

static enum log_form kind_product(const struct recogniser *r, const struct node *n, int depth)
{
    const enum log_form a = kind_of(r, in(n, 0), depth), b = kind_of(r, in(n, 1), depth);
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

static enum log_form kind_of_first(const struct recogniser *r, const struct node *n, int depth)
{
    const enum log_form k = kind_of(r, in(n, 0), depth);
    return k == NUMBERS ? PLAIN : k;
}

static struct value *log_reciprocal(const struct recogniser *r, const struct node *n, int depth)
{
    return build(r, "Neg", log_of(r, in(n, 0), depth));
}

static enum log_form kind_sum(const struct recogniser *r, const struct node *n, int depth)
{
    return is_steady_sum(r, n->outputs.data[0]) ? PLAIN : kind_of_first(r, n, depth);
}

/* The same reduction of x by another operator. */
static struct value *reduced(const struct recogniser *r, const struct node *n, const char *op, bool keep,
                             struct value *x)
{
    return build_with(r, op,
                      ATTRS(attr_int("keepdims", keep || op_attr_int(n, "keepdims") != 0),
                            attr_int("noop_with_empty_axes", op_attr_int(n, "noop_with_empty_axes"))),
                      x, node_input(n, 1));
}

/* m + Log(y), y a sum or mean of exponentials less m. */
static struct value *log_shifted(const struct recogniser *r, struct value *y, struct value *m)
{
    return build(r, "Add", build(r, "Log", y), build_reshape(r->b, m, &y->shape));
}

static struct value *log_sum(const struct recogniser *r, const struct node *n, int depth)
{
    return recognise_log_sum_exp(r, n, log_of(r, in(n, 0), depth));
}

static struct value *log_mean(const struct recogniser *r, const struct node *n, int depth)
{
    struct value *const x = log_of(r, in(n, 0), depth);
    struct value *const m = shift_by(r, reduced(r, n, "ReduceMax", true, x));
    return log_shifted(r, reduced(r, n, "ReduceMean", false, build(r, "Exp", build(r, "Sub", x, m))), m);
}

static struct value *log_prod(const struct recogniser *r, const struct node *n, int depth)
{
    return reduced(r, n, "ReduceSum", false, log_of(r, in(n, 0), depth));
}

static enum log_form kind_pow(const struct recogniser *r, const struct node *n, int depth)
{
    double e;
    return recognise_number(r, in(n, 1), &e) ? kind_of_first(r, n, depth) : PLAIN;
}

static struct value *log_pow(const struct recogniser *r, const struct node *n, int depth)
{
    struct value *const l = log_of(r, in(n, 0), depth);
    return expanded(r, build(r, "Mul", l, build_cast(r->b, in(n, 1), l->dtype)), n);
}

static struct value *log_sqrt(const struct recogniser *r, const struct node *n, int depth)
{
    struct value *const l = log_of(r, in(n, 0), depth);
    return build(r, "Mul", l, build_like(r, l, 0.5));
}

static enum log_form kind_where(const struct recogniser *r, const struct node *n, int depth)
{
    const enum log_form a = kind_of(r, in(n, 1), depth), b = kind_of(r, in(n, 2), depth);
    if (a == PLAIN || b == PLAIN || (a == NUMBERS && b == NUMBERS))
        return PLAIN;
    return a > b ? a : b;
}

static struct value *log_where(const struct recogniser *r, const struct node *n, int depth)
{
    return build(r, "Where", in(n, 0), log_of(r, in(n, 1), depth), log_of(r, in(n, 2), depth));
}

static const struct log_rule rules[] = {
    {"Add", kind_add, log_add},           {"Div", kind_product, log_div},
    {"Exp", kind_exp, log_exp},           {"Mul", kind_product, log_mul},
    {"Pow", kind_pow, log_pow},           {"Reciprocal", kind_of_first, log_reciprocal},
    {"ReduceMean", kind_sum, log_mean},   {"ReduceProd", kind_of_first, log_prod},
    {"ReduceSum", kind_sum, log_sum},     {"Sigmoid", kind_small, log_sigmoid},
    {"Softmax", kind_small, log_softmax}, {"Sqrt", kind_of_first, log_sqrt},
    {"Sub", kind_sub, log_sub},           {"Where", kind_where, log_where},
};

static const struct log_rule *rule_of(const struct node *n)
{
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (node_is(n, rules[i].op))
            return &rules[i];
    return NULL;
}

static enum log_form kind_made(const struct recogniser *r, struct value *v, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || depth == 0)
        return PLAIN;
    if (recognise_moves(r, v))
        return kind_of_first(r, n, depth - 1);
    const struct log_rule *const rule = rule_of(n);
    return rule != NULL ? rule->kind(r, n, depth - 1) : PLAIN;
}

static enum log_form kind_of(const struct recogniser *r, struct value *v, int depth)
{
    if (!dtype_is_float(v->dtype))
        return PLAIN;
    const enum log_form made = kind_made(r, v, depth);
    return made != PLAIN ? made : is_numbers(r, v, depth) ? NUMBERS : PLAIN;
}

static struct value *new_log_of(const struct recogniser *r, struct value *v, int depth)
{
    if (kind_made(r, v, depth) == PLAIN)
        return build(r, "Log", v);
    if (recognise_moves(r, v))
        return recognise_moved(r, v, log_of(r, in(v->producer, 0), depth - 1));
    return rule_of(v->producer)->log(r, v->producer, depth - 1);
}

/* Log(v), of v's shape, for any kind but PLAIN. */
static struct value *log_of(const struct recogniser *r, struct value *v, int depth)
{
    struct value **const log = recognise_kept(r, "log", v, depth);
    if (*log == NULL)
        *log = new_log_of(r, v, depth);
    return *log;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* w a, where a is an exponential or a probability and w may be 0, or below, or only known when the program runs. */
struct weighted {
    struct value *w, *a;
    enum log_form kind; /* of a; PLAIN: it is nothing of the kind */
};

static struct weighted weighted_by(const struct recogniser *r, struct value *v, int depth)
{
    const struct node *const mul = recognise_made_by(r, v, "Mul");
    for (size_t i = 0; i < 2 && mul != NULL && depth > 0; i++) {
        const enum log_form a = kind_of(r, in(mul, i), depth - 1), w = kind_of(r, in(mul, 1 - i), depth - 1);
        double number;
        if ((a == SMALL || a == LARGE) &&
            (w == PLAIN || (w == NUMBERS && !recognise_number(r, in(mul, 1 - i), &number))))
            return (struct weighted){in(mul, 1 - i), in(mul, i), a};
    }
    return (struct weighted){.a = v, .kind = PLAIN};
}

/* l, but minus infinity where the weight is 0. */
static struct value *log_that_counts(const struct recogniser *r, struct value *l, struct value *w)
{
    struct value *const none = build(r, "Equal", w, build_like(r, w, 0.0));
    return build(r, "Where", none, build_like(r, l, -INFINITY), l);
}

/* w Exp(l - m). Only where w is 0 may l be far above m: there the exponential is as large as it may be. */
static struct value *weighted_exp(const struct recogniser *r, struct value *l, struct value *m, struct value *w)
{
    const double most = l->dtype == DTYPE_FLOAT16 ? 11 : 88;
    struct value *const d = build(r, "Sub", l, m);
    struct value *const e = build(r, "Exp", build(r, "Min", d, build_like(r, d, most)));
    return w != NULL ? build(r, "Mul", e, w) : e;
}

/* Of a sum in which at least one of both has a weight. */
static bool is_weighted_sum(const struct recogniser *r, const struct node *n, int depth)
{
    const struct weighted a = weighted_by(r, in(n, 0), depth), b = weighted_by(r, in(n, 1), depth);
    if (a.kind == PLAIN && b.kind == PLAIN)
        return false;
    const enum log_form x = a.kind != PLAIN ? a.kind : kind_of(r, a.a, depth);
    const enum log_form y = b.kind != PLAIN ? b.kind : kind_of(r, b.a, depth);
    return x > NUMBERS && y > NUMBERS;
}

static struct value *larger(const struct recogniser *r, struct value *a, struct value *b)
{
    return build(r, "Where", build(r, "Greater", a, b), a, b);
}

static struct value *log_weighted(const struct recogniser *r, const struct node *n, int depth)
{
    struct value *l[2], *w[2], *counts[2];
    for (size_t i = 0; i < 2; i++) {
        const struct weighted x = weighted_by(r, in(n, i), depth);
        w[i] = x.w;
        l[i] = log_of(r, x.a, x.w != NULL ? depth - 1 : depth);
        counts[i] = x.w != NULL ? log_that_counts(r, l[i], x.w) : l[i];
    }
    struct value *const m = shift_by(r, larger(r, counts[0], counts[1]));
    struct value *const sum = build(r, "Add", weighted_exp(r, l[0], m, w[0]), weighted_exp(r, l[1], m, w[1]));
    return build(r, "Add", build(r, "Log", sum), m);
}

static struct value *log_reduced(const struct recogniser *r, const struct node *n, int depth)
{
    const struct weighted x = weighted_by(r, in(n, 0), depth);
    struct value *const l = log_of(r, x.a, depth - 1);
    struct value *const m = shift_by(r, reduced(r, n, "ReduceMax", true, log_that_counts(r, l, x.w)));
    return log_shifted(r, reduced(r, n, "ReduceSum", false, weighted_exp(r, l, m, x.w)), m);
}

/* Log(v), of v's shape, where v is a sum with weights, perhaps moved, perhaps times or over what is not below 0; or
 * NULL. Such a sum may be below 0 itself, so it is no part of any other expression. */
static struct value *log_with_weights(const struct recogniser *r, struct value *v, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || depth == 0 || !dtype_is_float(v->dtype))
        return NULL;
    const bool divides = node_is(n, "Div");
    struct value *l = NULL;
    if (recognise_moves(r, v)) {
        l = log_with_weights(r, in(n, 0), depth - 1);
        return l != NULL ? recognise_moved(r, v, l) : NULL;
    }
    if (node_is(n, "ReduceSum"))
        return weighted_by(r, in(n, 0), depth - 1).kind != PLAIN ? log_reduced(r, n, depth - 1) : NULL;
    if (node_is(n, "Add"))
        return is_weighted_sum(r, n, depth - 1) ? log_weighted(r, n, depth - 1) : NULL;
    for (size_t i = 0; i < (divides ? 1 : 2) && (divides || node_is(n, "Mul")) && l == NULL; i++) {
        const bool positive = kind_of(r, in(n, 1 - i), depth - 1) != PLAIN;
        l = positive ? log_with_weights(r, in(n, i), depth - 1) : NULL;
        if (l != NULL)
            l = build(r, divides ? "Sub" : "Add", l, log_of(r, in(n, 1 - i), depth - 1));
    }
    return l;
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

static struct value *steadied(const struct recogniser *r, struct value *v, int depth);

static struct value *new_steadied(const struct recogniser *r, struct value *v, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || depth == 0 || !dtype_is_float(v->dtype))
        return v;
    struct value *const p = taken_from_one(r, n);
    if (p != NULL && is_probability(r, p, true, depth))
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

/* v with Sigmoid(-x) for 1 - Sigmoid(x); v itself where there is nothing of the kind. */
static struct value *steadied(const struct recogniser *r, struct value *v, int depth)
{
    struct value **const steady = recognise_kept(r, "steady", v, depth);
    if (*steady == NULL)
        *steady = new_steadied(r, v, depth);
    return *steady;
}

/* ---- the nodes --------------------------------------------------------------------------------------------------- */

struct value *recognise_log(const struct recogniser *r, struct node *n)
{
    struct value *const x = in(n, 0);
    if (kind_of(r, x, RECOGNISE_DEPTH) > NUMBERS)
        return log_of(r, x, RECOGNISE_DEPTH);
    struct value *const weighted = log_with_weights(r, x, RECOGNISE_DEPTH);
    if (weighted != NULL)
        return weighted;
    struct value *const steady = steadied(r, x, RECOGNISE_DEPTH);
    return steady != x ? build(r, "Log", steady) : NULL;
}

struct value *recognise_quotient(const struct recogniser *r, struct node *n)
{
    const int depth = RECOGNISE_DEPTH - 1;
    if (kind_of(r, in(n, 0), depth) != LARGE || kind_of(r, in(n, 1), depth) != LARGE)
        return NULL;
    return build(r, "Exp", log_div(r, n, depth));
}

struct value *recognise_reduce_log_sum(const struct recogniser *r, struct node *n)
{
    struct value *const x = in(n, 0);
    if (kind_of(r, x, RECOGNISE_DEPTH) <= NUMBERS)
        return NULL;
    return recognise_log_sum_exp(r, n, log_of(r, x, RECOGNISE_DEPTH));
}
