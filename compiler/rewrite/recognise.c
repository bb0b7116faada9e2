/* Spellings of one function that are exact on paper, and lose digits or become NaN in floats, become the operator that
 * computes it. This is before differentiation, so that gradients come from that operator as well, and both arithmetics
 * have it (DESIGN.md, "The way data flows").
 *
 *   logarithms                        see logarithm.c
 *   Exp(x) / (1 + Exp(x)), a / (1 + Exp(-x))     Sigmoid(x), a Sigmoid(x)
 *   (Exp(x) - Exp(-x)) / (Exp(x) + Exp(-x))      Tanh(x)
 *   (Exp(x) - 1) / (Exp(x) + 1), (1 - Exp(x)) / (1 + Exp(x))     Tanh(x / 2), -Tanh(x / 2)
 *   Exp(x) / ReduceSum(Exp(x))        Softmax(x), over several axes Exp(x - ReduceLogSumExp(x))
 *   a / b, sums of exponentials both  Exp(Log(a) - Log(b))
 *   Sqrt(s), Pow(s, e), 0 < e < 1     stepc.Root(s), whose gradient at 0 is 0, where s is a sum of squares or of powers
 *                                     of absolute values, or kept from falling below 0
 *
 * Needs: a graph that may still have Gradient nodes. What these list stays as it is, and nothing is looked for behind
 * it: it is a variable there. Leaves: the old nodes too, for other readers; dce takes those that have none. */
#include "rewrite/recognise.h"

#include "base/map.h"
#include "rewrite/pass.h"

#include <string.h>

/* ---- shared with logarithm.c ------------------------------------------------------------------------------------- */

struct node *recognise_producer(const struct recogniser *r, const struct value *v)
{
    return v->kind == VALUE_RESULT && !map_has(r->listed, v->name) ? v->producer : NULL;
}

struct node *recognise_made_by(const struct recogniser *r, const struct value *v, const char *op)
{
    struct node *const n = recognise_producer(r, v);
    return n != NULL && node_is(n, op) ? n : NULL;
}

bool recognise_moves(const struct recogniser *r, const struct value *v)
{
    static const char *const ops[] = {"Cast",           "CastLike", "Expand",    "Flatten",  "Gather",
                                      "GatherElements", "GatherND", "Identity",  "Reshape",  "Slice",
                                      "Split",          "Squeeze",  "Transpose", "Unsqueeze"};
    const struct node *const n = recognise_producer(r, v);
    if (n == NULL || !dtype_is_float(v->dtype) || !dtype_is_float(n->inputs.data[0]->dtype))
        return false;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        if (node_is(n, ops[i]))
            return true;
    return false;
}

struct value *recognise_again(const struct recogniser *r, const struct value *v, struct value *const *inputs)
{
    const struct node *const n = v->producer;
    struct attr *const attrs = arena_array(r->b->graph->arena, struct attr, n->attrs.count + 1);
    for (size_t i = 0; i < n->attrs.count; i++)
        attrs[i] = n->attrs.data[i];
    return build_node(r->b, op_display_name(n->def), attrs, inputs, n->inputs.count, n->outputs.count)
        ->outputs.data[v->output];
}

struct value *recognise_moved(const struct recogniser *r, const struct value *v, struct value *x)
{
    const struct node *const n = v->producer;
    struct value **const inputs = arena_array(r->b->graph->arena, struct value *, n->inputs.count);
    for (size_t i = 0; i < n->inputs.count; i++)
        inputs[i] = i == 0 ? x : n->inputs.data[i];
    return recognise_again(r, v, inputs);
}

struct value **recognise_kept(const struct recogniser *r, const char *manner, const struct value *v, int depth)
{
    struct arena *const a = r->kept->arena;
    const char *const key = arena_printf(a, "%s %d %d", manner, depth, v->id);
    if (!map_has(r->kept, key))
        map_set(r->kept, key, arena_new(a, struct value *));
    return map_get(r->kept, key);
}

bool recognise_number(const struct recogniser *r, struct value *v, double *x)
{
    const struct tensor *const t = dtype_is_float(v->dtype) ? uniform_value(r->b->graph, v) : NULL;
    if (t != NULL)
        *x = tensor_get_double(t, 0);
    return t != NULL;
}

bool recognise_one(const struct recogniser *r, struct value *v)
{
    double x;
    return recognise_number(r, v, &x) && x == 1;
}

struct value *recognise_negated(const struct recogniser *r, struct value *x)
{
    const struct node *const neg = recognise_made_by(r, x, "Neg");
    return neg != NULL ? neg->inputs.data[0] : build(r, "Neg", x);
}

struct value *recognise_log_sum_exp(const struct recogniser *r, const struct node *sum, struct value *x)
{
    const struct attr *const attrs = ATTRS(attr_int("keepdims", op_attr_int(sum, "keepdims")),
                                           attr_int("noop_with_empty_axes", op_attr_int(sum, "noop_with_empty_axes")));
    return build_with(r, "ReduceLogSumExp", attrs, x, node_input(sum, 1));
}

bool recognise_below_maximum(const struct recogniser *r, const struct value *x)
{
    const struct node *const sub = recognise_made_by(r, x, "Sub");
    const struct value *m = sub != NULL ? sub->inputs.data[1] : NULL;
    for (int depth = 0; m != NULL && depth < RECOGNISE_DEPTH && recognise_moves(r, m); depth++)
        m = m->producer->inputs.data[0];
    return m != NULL && recognise_made_by(r, m, "ReduceMax") != NULL;
}

/* ---- quotients --------------------------------------------------------------------------------------------------- */

/* z, where v is Exp(z); or NULL. */
static struct value *exponent_of(const struct recogniser *r, const struct value *v)
{
    const struct node *const exp = recognise_made_by(r, v, "Exp");
    return exp != NULL ? exp->inputs.data[0] : NULL;
}

/* z, where v is 1 + Exp(z); or NULL. */
static struct value *one_plus_exp(const struct recogniser *r, const struct value *v)
{
    const struct node *const sum = recognise_made_by(r, v, "Add");
    for (size_t i = 0; i < 2 && sum != NULL; i++)
        if (recognise_one(r, sum->inputs.data[1 - i]) && exponent_of(r, sum->inputs.data[i]) != NULL)
            return exponent_of(r, sum->inputs.data[i]);
    return NULL;
}

static struct value *find_sigmoid(const struct recogniser *r, struct value *above, const struct value *below)
{
    struct value *const z = one_plus_exp(r, below);
    if (z == NULL)
        return NULL;
    if (exponent_of(r, above) == z)
        return build(r, "Sigmoid", z);
    struct value *const y = build(r, "Sigmoid", recognise_negated(r, z));
    return recognise_one(r, above) ? y : build(r, "Mul", above, y);
}

/* Are both the same value, or the negative of one? */
static bool is_same(const struct recogniser *r, const struct value *a, const struct value *b)
{
    const struct node *const neg = recognise_made_by(r, a, "Neg"), *const other = recognise_made_by(r, b, "Neg");
    return a == b || (neg != NULL && other != NULL && neg->inputs.data[0] == other->inputs.data[0]);
}

static bool is_negative(const struct recogniser *r, const struct value *a, const struct value *of)
{
    const struct node *const neg = recognise_made_by(r, a, "Neg");
    return neg != NULL && neg->inputs.data[0] == of;
}

static struct value *find_tanh(const struct recogniser *r, const struct value *above, const struct value *below)
{
    const struct node *const sub = recognise_made_by(r, above, "Sub"), *const add = recognise_made_by(r, below, "Add");
    if (sub == NULL || add == NULL)
        return NULL;
    struct value *const a = exponent_of(r, sub->inputs.data[0]), *const b = exponent_of(r, sub->inputs.data[1]);
    struct value *const c = exponent_of(r, add->inputs.data[0]), *const d = exponent_of(r, add->inputs.data[1]);
    if (a == NULL || b == NULL || c == NULL || d == NULL ||
        !((is_same(r, a, c) && is_same(r, b, d)) || (is_same(r, a, d) && is_same(r, b, c))))
        return NULL;
    return is_negative(r, b, a) || is_negative(r, a, b) ? build(r, "Tanh", a) : NULL;
}

/* z, where v is Exp(z) - 1, and `negative` where it is 1 - Exp(z); or NULL. */
static struct value *exp_less_one(const struct recogniser *r, const struct value *v, bool *negative)
{
    const struct node *const sub = recognise_made_by(r, v, "Sub"), *const add = recognise_made_by(r, v, "Add");
    double x;
    for (size_t i = 0; i < 2 && sub != NULL; i++) {
        *negative = i == 1;
        if (recognise_one(r, sub->inputs.data[1 - i]) && exponent_of(r, sub->inputs.data[i]) != NULL)
            return exponent_of(r, sub->inputs.data[i]);
    }
    *negative = false;
    for (size_t i = 0; i < 2 && add != NULL; i++)
        if (recognise_number(r, add->inputs.data[1 - i], &x) && x == -1)
            return exponent_of(r, add->inputs.data[i]);
    return NULL;
}

static struct value *find_half_tanh(const struct recogniser *r, const struct value *above, const struct value *below)
{
    bool negative;
    struct value *const z = one_plus_exp(r, below);
    if (z == NULL || exp_less_one(r, above, &negative) != z)
        return NULL;
    struct value *const y = build(r, "Tanh", build(r, "Mul", z, build_like(r, z, 0.5)));
    return negative ? build(r, "Neg", y) : y;
}

/* The axes along which the node reduces, but for those of one element. */
static int long_axes(const struct node *n, int *axes)
{
    const struct shape *const s = &n->inputs.data[0]->shape;
    struct value *const v = node_input(n, 1);
    const struct tensor *const given = v != NULL ? value_known(v) : NULL;
    bool reduced[SHAPE_MAX_RANK] = {false};
    const bool all = (given == NULL || given->count == 0) && op_attr_int(n, "noop_with_empty_axes") == 0;
    for (int64_t i = 0; given != NULL && i < given->count; i++) {
        const int64_t axis = tensor_get_int(given, i);
        reduced[axis < 0 ? axis + s->rank : axis] = true;
    }
    int count = 0;
    for (int d = 0; d < s->rank; d++)
        if ((all || reduced[d]) && s->dim[d] != 1)
            axes[count++] = d;
    return count;
}

/* Has `sum`, in whatever shape the node gives it, that of x with 1 in place of these axes? */
static bool is_kept(const struct shape *sum, const struct shape *x, const int *axes, int count)
{
    struct shape kept = *x;
    for (int i = 0; i < count; i++)
        shape_set(&kept, axes[i], size_constant(1));
    return shape_equal(sum, &kept);
}

static struct value *find_softmax(const struct recogniser *r, const struct value *above, const struct value *below)
{
    struct value *const x = exponent_of(r, above);
    const struct value *sum = below;
    for (int depth = 0; depth < RECOGNISE_DEPTH && recognise_moves(r, sum) && sum->producer->def->is_reshape; depth++)
        sum = sum->producer->inputs.data[0];
    const struct node *const n = recognise_made_by(r, sum, "ReduceSum");
    if (x == NULL || n == NULL || exponent_of(r, n->inputs.data[0]) != x || recognise_below_maximum(r, x))
        return NULL;
    int axes[SHAPE_MAX_RANK];
    const int count = long_axes(n, axes);
    if (count == 0 || !is_kept(&below->shape, &x->shape, axes, count))
        return NULL;
    if (count == 1)
        return build_with(r, "Softmax", ATTRS(attr_int("axis", axes[0])), x);
    struct value *const total = recognise_log_sum_exp(r, n, x);
    return build(r, "Exp", build(r, "Sub", x, build_reshape(r->b, total, &below->shape)));
}

static struct value *recognise_div(const struct recogniser *r, struct node *n)
{
    struct value *const above = n->inputs.data[0], *const below = n->inputs.data[1];
    struct value *y = find_half_tanh(r, above, below);
    y = y != NULL ? y : find_sigmoid(r, above, below);
    y = y != NULL ? y : find_tanh(r, above, below);
    y = y != NULL ? build_expand(r->b, y, &n->outputs.data[0]->shape) : find_softmax(r, above, below);
    return y != NULL ? y : recognise_quotient(r, n);
}

static struct value *recognise_reciprocal(const struct recogniser *r, struct node *n)
{
    struct value *const z = one_plus_exp(r, n->inputs.data[0]);
    return z != NULL ? build_expand(r->b, build(r, "Sigmoid", recognise_negated(r, z)), &n->outputs.data[0]->shape)
                     : NULL;
}

/* ---- norms ------------------------------------------------------------------------------------------------------- */

static bool is_power(const struct recogniser *r, const struct node *n)
{
    double p;
    if (!recognise_number(r, n->inputs.data[1], &p))
        return false;
    return p == 2 || p == 4 || (p > 1 && recognise_made_by(r, n->inputs.data[0], "Abs") != NULL);
}

static bool is_kept_above_zero(const struct recogniser *r, const struct node *n)
{
    double x;
    if (node_is(n, "Relu"))
        return true;
    if (node_is(n, "Clip"))
        return node_input(n, 1) != NULL && recognise_number(r, node_input(n, 1), &x) && x == 0;
    if (!node_is(n, "Max"))
        return false;
    for (size_t i = 0; i < n->inputs.count; i++)
        if (recognise_number(r, n->inputs.data[i], &x) && x == 0)
            return true;
    return false;
}

/* Is v never below 0, and 0 only where its own gradient is 0 too? */
static bool is_sum_of_squares(const struct recogniser *r, struct value *v, int depth)
{
    const struct node *const n = recognise_producer(r, v);
    double x;
    if (n == NULL || depth == 0 || !dtype_is_float(v->dtype))
        return false;
    struct value *const a = node_input(n, 0), *const b = node_input(n, 1);
    if (node_is(n, "ReduceSumSquare") || is_kept_above_zero(r, n))
        return true;
    if (node_is(n, "ReduceSum") || node_is(n, "ReduceMean") || recognise_moves(r, v))
        return is_sum_of_squares(r, a, depth - 1);
    if (node_is(n, "Pow"))
        return is_power(r, n);
    if (node_is(n, "Div"))
        return recognise_number(r, b, &x) && x > 0 && is_sum_of_squares(r, a, depth - 1);
    if (node_is(n, "Add"))
        return is_sum_of_squares(r, a, depth - 1) && is_sum_of_squares(r, b, depth - 1);
    if (!node_is(n, "Mul"))
        return false;
    const bool square_a = a == b || is_sum_of_squares(r, a, depth - 1);
    const bool square_b = a == b || is_sum_of_squares(r, b, depth - 1);
    return (square_a && square_b) || (square_a && recognise_number(r, b, &x) && x > 0) ||
           (square_b && recognise_number(r, a, &x) && x > 0);
}

static struct value *recognise_sqrt(const struct recogniser *r, struct node *n)
{
    struct value *const s = n->inputs.data[0];
    return is_sum_of_squares(r, s, RECOGNISE_DEPTH) ? build(r, "stepc.Root", s) : NULL;
}

static struct value *recognise_pow(const struct recogniser *r, struct node *n)
{
    struct value *const s = n->inputs.data[0], *const exponent = n->inputs.data[1];
    const struct value *const y = n->outputs.data[0];
    double e;
    if (!recognise_number(r, exponent, &e) || !(e > 0 && e < 1) || !shape_equal(&s->shape, &y->shape) ||
        !is_sum_of_squares(r, s, RECOGNISE_DEPTH))
        return NULL;
    return e == 0.5 ? build(r, "stepc.Root", s) : build(r, "stepc.Root", s, build_cast(r->b, exponent, s->dtype));
}

/* ---- the pass ---------------------------------------------------------------------------------------------------- */

static const struct anchor {
    const char *op;
    struct value *(*find)(const struct recogniser *r, struct node *n);
    enum recognised_kind kind;
} anchors[] = {
    {"Div", recognise_div, RECOGNISED_QUOTIENT},
    {"Log", recognise_log, RECOGNISED_LOGARITHM},
    {"Pow", recognise_pow, RECOGNISED_NORM},
    {"Reciprocal", recognise_reciprocal, RECOGNISED_QUOTIENT},
    {"ReduceLogSum", recognise_reduce_log_sum, RECOGNISED_LOGARITHM},
    {"Sqrt", recognise_sqrt, RECOGNISED_NORM},
};

static const struct anchor *anchor_of(const struct node *n)
{
    const struct value *const y = node_output(n, 0);
    for (size_t i = 0; i < sizeof anchors / sizeof anchors[0]; i++)
        if (node_is(n, anchors[i].op) && y != NULL && dtype_is_float(y->dtype) && shape_count(&y->shape) > 0)
            return &anchors[i];
    return NULL;
}

static void add_names(struct graph *g, const struct node *n, const char *attr, struct map *listed)
{
    const struct attr *const names = node_attr(n, attr);
    for (size_t i = 0; names != NULL && i < names->count; i++)
        map_set(listed, names->strings[i], g);
}

static void find_listed(struct graph *g, struct map *listed)
{
    graph_each_node(g, n)
    {
        if (!n->def->is_structural)
            continue;
        add_names(g, n, "xs", listed);
        add_names(g, n, "zs", listed);
    }
}

static bool recognise_node(struct graph *g, struct node *n, const struct map *listed, recognised_list *found)
{
    const struct anchor *const anchor = anchor_of(n);
    if (anchor == NULL)
        return true;
    struct value *const y = n->outputs.data[0];
    struct builder b = {.graph = g, .before = n, .loc = n->loc, .prefix = arena_printf(g->arena, "%s.", y->name)};
    struct map kept = {.arena = listed->arena};
    const struct recogniser r = {.b = &b, .listed = listed, .kept = &kept};
    const int first_own = g->value_count;
    struct value *by = anchor->find(&r, n);
    if (by != NULL && by->id < first_own)
        by = build_value(&b, "Identity", NULL, &by, 1); /* takes over the name, which a Gradient may list */
    if (by != NULL && !b.failed) {
        const struct recognised what = {anchor->kind, n->name[0] != '\0' ? n->name : y->name};
        build_replace(&b, y, by);
        if (found != NULL)
            vec_push(g->arena, found, what);
    }
    return !b.failed;
}

bool rewrite_recognise(struct graph *g, recognised_list *found)
{
    struct arena scratch = {0};
    struct map listed = {.arena = &scratch};
    bool ok = true;
    find_listed(g, &listed);
    graph_each_node(g, n) ok = ok && recognise_node(g, n, &listed, found);
    arena_free(&scratch);
    return ok;
}
