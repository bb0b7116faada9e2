/* How far can what a kernel computes be from the exact result of its inputs, which are the same for both engines?
 *
 * Sums of products (and of terms) add errors up. Of n terms that is n units of the sum of their magnitudes at worst;
 * roundings that are independent of each other stay below L sqrt(n) units of it but for a probability of
 * 2 exp(-L^2 / 2) an element (Higham, Mary: A new approach to probabilistic rounding error analysis, 2019). L = 9 lets
 * one of 10^17 elements pass. Magnitudes and n are found with the operator itself: applied to absolute values, and to
 * ones.
 *
 * Operators that compute element by element carry an interval on: they are applied to its ends and its middle (and to
 * 0, where that lies inside), in all combinations of the operands, and what comes out is widened by their own rounding.
 * So a square root or a quotient near 0, an update by Adam of an element whose gradient nearly vanishes, gets the room
 * that it takes, and no other element does. Where an operator jumps in between (Mod, Tan) anything may come out.
 *
 * What else there is, is tried out: with inputs that are moved by a unit, as a whole tensor. */
#include "engine/error_bound.h"

#include "eval/eval.h"
#include "graph/op_def.h"
#include <math.h>
#include <string.h>

enum { TRIALS = 4, MOST_OPERANDS = 4 };

#define LAMBDA 9.0     /* L above */
#define PER_TRIAL 16.0 /* times what a trial moves: trials find the order of magnitude, not the largest error */
#define PER_RESULT 4.0 /* units of a result that one operation may be off by: elementary functions are good to two */

/* A value: in the middle what the exact inputs give. Where it is exact itself, the three are one. */
struct interval {
    const struct eval_tensor *middle, *low, *high;
};

struct bounds {
    struct arena *arena;
    const struct graph *graph;
    double unit;
    uint64_t random;
    struct interval *value;        /* by value id */
    const struct eval_tensor **at; /* by value id: what nodes are applied to now, and give */
    double *effect;                /* by value id: sum of the largest effects of the trials */
};

static bool is_exact(const struct interval *x)
{
    return x->low == x->middle;
}

static bool evaluate(const struct bounds *b, struct arena *a, const struct node *n)
{
    struct diag silent = {.arena = a};
    return eval_node_at(n, b->at, ARITHMETIC_DOUBLE, (struct eval_random){0, 0}, a, &silent);
}

static struct eval_tensor *copy_of(struct arena *a, const struct eval_tensor *t)
{
    struct eval_tensor *const c = eval_tensor_new(a, t->dtype, &t->shape);
    if (t->f)
        memcpy(c->f, t->f, (size_t)t->count * sizeof *t->f);
    else if (t->i)
        memcpy(c->i, t->i, (size_t)t->count * sizeof *t->i);
    return c;
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static double sign_of(struct bounds *b)
{
    b->random = b->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth, MMIX */
    return b->random >> 63 ? 1 : -1;
}

static struct eval_tensor *move(struct bounds *b, struct arena *a, const struct eval_tensor *t)
{
    struct eval_tensor *const m = copy_of(a, t);
    for (int64_t k = 0; m->f && k < m->count; k++)
        m->f[k] *= 1 + sign_of(b) * b->unit;
    return m;
}

static double largest_effect(const struct eval_tensor *x, const struct eval_tensor *y)
{
    double most = 0;
    for (int64_t k = 0; x->f && k < x->count; k++)
        most = fmax(most, fabs(x->f[k] - y->f[k]));
    return most;
}

static bool run_trial(struct bounds *b)
{
    struct arena a = {0};
    bool ok = true;
    memset(b->at, 0, (size_t)b->graph->value_count * sizeof *b->at);
    graph_each_node(b->graph, n)
    {
        for (size_t i = 0; i < n->inputs.count; i++) {
            const struct value *const v = n->inputs.data[i];
            if (v && !b->at[v->id])
                b->at[v->id] =
                    v->kind == VALUE_CONSTANT ? b->value[v->id].middle : move(b, &a, b->value[v->id].middle);
        }
        ok = ok && evaluate(b, &a, n);
        for (size_t o = 0; ok && o < n->outputs.count; o++) {
            const struct value *const v = n->outputs.data[o];
            if (v)
                b->effect[v->id] += largest_effect(b->value[v->id].middle, b->at[v->id]);
        }
    }
    arena_free(&a);
    return ok;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static struct eval_tensor *magnitudes(struct arena *a, const struct interval *x)
{
    struct eval_tensor *const t = copy_of(a, x->middle);
    for (int64_t k = 0; t->f && k < t->count; k++)
        t->f[k] = fmax(fabs(x->low->f[k]), fabs(x->high->f[k]));
    return t;
}

static struct eval_tensor *ones(struct arena *a, const struct interval *x)
{
    struct eval_tensor *const t = copy_of(a, x->middle);
    for (int64_t k = 0; t->f && k < t->count; k++)
        t->f[k] = 1;
    return t;
}

/* The result of n, of what is made of its operands; NULL: it cannot be evaluated so. */
static const struct eval_tensor *apply(const struct bounds *b, struct arena *a, const struct node *n,
                                       struct eval_tensor *(*make)(struct arena *a, const struct interval *x))
{
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i])
            b->at[n->inputs.data[i]->id] = make(a, &b->value[n->inputs.data[i]->id]);
    return evaluate(b, a, n) ? b->at[n->outputs.data[0]->id] : NULL;
}

/* Roundings of a result, and `error` besides, on both sides. */
static struct interval around(const struct bounds *b, const struct eval_tensor *middle, double error)
{
    if (!middle->f)
        return (struct interval){middle, middle, middle};
    struct eval_tensor *const low = copy_of(b->arena, middle), *const high = copy_of(b->arena, middle);
    for (int64_t k = 0; k < middle->count; k++) {
        const double all = error + PER_RESULT * b->unit * fabs(middle->f[k]);
        low->f[k] -= all;
        high->f[k] += all;
    }
    return (struct interval){middle, low, high};
}

/* Widens the interval of a sum's result by its roundings. */
static void widen_sum(const struct bounds *b, const struct node *n, const struct interval *v)
{
    struct arena a = {0};
    const struct eval_tensor *const sizes = apply(b, &a, n, magnitudes), *const counts = apply(b, &a, n, ones);
    const double ratio =
        v->middle->count > 0 ? (double)b->value[n->inputs.data[0]->id].middle->count / (double)v->middle->count : 1;
    for (int64_t k = 0; sizes && counts && k < v->middle->count; k++) {
        /* a mean of ones says nothing of their number */
        const double terms = fmax(fmax(fabs(counts->f[k]), ratio), 1);
        const double error = LAMBDA * sqrt(terms) * b->unit / 2 * fabs(sizes->f[k]);
        v->low->f[k] -= error;
        v->high->f[k] += error;
    }
    arena_free(&a);
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

struct corner {
    const struct value *operand[MOST_OPERANDS]; /* those that are not exact */
    int choice[MOST_OPERANDS];                  /* 0 middle, 1 low, 2 high, 3 what lies nearest to 0 */
    int count;
};

static const struct eval_tensor *choose(struct arena *a, const struct interval *x, int choice)
{
    const struct eval_tensor *const ends[] = {x->middle, x->low, x->high};
    if (choice < 3)
        return ends[choice];
    struct eval_tensor *const t = copy_of(a, x->middle);
    for (int64_t k = 0; t->f && k < t->count; k++)
        t->f[k] = x->low->f[k] > 0 ? x->low->f[k] : x->high->f[k] < 0 ? x->high->f[k] : 0;
    return t;
}

static bool next_corner(struct corner *c)
{
    for (int i = 0; i < c->count; i++) {
        if (++c->choice[i] < 4)
            return true;
        c->choice[i] = 0;
    }
    return false;
}

/* False: more operands than combinations are tried of. */
static bool find_operands(const struct bounds *b, const struct node *n, struct corner *c)
{
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const v = n->inputs.data[i];
        bool known = !v || is_exact(&b->value[v->id]);
        for (int k = 0; k < c->count; k++)
            known |= c->operand[k] == v;
        if (known)
            continue;
        if (c->count == MOST_OPERANDS)
            return false;
        c->operand[c->count++] = v;
    }
    return true;
}

static void include(const struct interval *x, const struct eval_tensor *t)
{
    for (int64_t k = 0; t->f && k < t->count; k++) {
        const bool undefined = isnan(t->f[k]) && !isnan(x->middle->f[k]);
        x->low->f[k] = undefined ? -INFINITY : fmin(x->low->f[k], t->f[k]);
        x->high->f[k] = undefined ? INFINITY : fmax(x->high->f[k], t->f[k]);
    }
    for (int64_t k = 0; t->i && k < t->count; k++) {
        x->low->i[k] = t->i[k] < x->low->i[k] ? t->i[k] : x->low->i[k];
        x->high->i[k] = t->i[k] > x->high->i[k] ? t->i[k] : x->high->i[k];
    }
}

/* Where the operands of two corners are on different pieces the result may be anything. */
static void open_at_jumps(const struct interval *x, const struct eval_tensor *piece, const struct eval_tensor *other)
{
    for (int64_t k = 0; piece->f && k < piece->count; k++)
        if (piece->f[k] != other->f[k] && !(isnan(piece->f[k]) && isnan(other->f[k]))) {
            x->low->f[k] = -INFINITY;
            x->high->f[k] = INFINITY;
        }
    for (int64_t k = 0; piece->i && k < piece->count; k++)
        if (piece->i[k] != other->i[k]) {
            x->low->i[k] = INT64_MIN;
            x->high->i[k] = INT64_MAX;
        }
}

/* At the corner that b->at says. *first: of the first corner, from there on. */
static bool include_jumps(const struct bounds *b, const struct node *n, struct arena *a, const struct interval *x,
                          const struct eval_tensor **first)
{
    struct op_def def = *n->def;
    struct node asks = *n;
    def.eval = def.eval_piece;
    asks.def = &def;
    if (!evaluate(b, a, &asks))
        return false;
    const struct eval_tensor *const piece = b->at[n->outputs.data[0]->id];
    if (*first)
        open_at_jumps(x, *first, piece);
    else
        *first = copy_of(b->arena, piece);
    return true;
}

static bool bound_elementwise(const struct bounds *b, const struct node *n, struct corner *c, bool rounds,
                              struct interval *x)
{
    if (c->count == 0 && !x->middle->f)
        return true;
    x->low = copy_of(b->arena, x->middle);
    x->high = copy_of(b->arena, x->middle);
    const struct eval_tensor *first = NULL;
    bool ok;
    do {
        struct arena a = {0};
        for (size_t i = 0; i < n->inputs.count; i++)
            if (n->inputs.data[i])
                b->at[n->inputs.data[i]->id] = b->value[n->inputs.data[i]->id].middle;
        for (int i = 0; i < c->count; i++)
            b->at[c->operand[i]->id] = choose(&a, &b->value[c->operand[i]->id], c->choice[i]);
        ok = evaluate(b, &a, n);
        if (ok)
            include(x, b->at[n->outputs.data[0]->id]);
        if (ok && n->def->eval_piece)
            ok = include_jumps(b, n, &a, x, &first);
        arena_free(&a);
    } while (ok && next_corner(c));
    for (int64_t k = 0; rounds && x->middle->f && k < x->middle->count; k++) {
        x->low->f[k] -= PER_RESULT * b->unit * fabs(x->low->f[k]);
        x->high->f[k] += PER_RESULT * b->unit * fabs(x->high->f[k]);
    }
    return ok;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static bool bound_node(const struct bounds *b, const struct node *n)
{
    struct corner c = {.count = 0};
    struct interval *const first = n->outputs.data[0] ? &b->value[n->outputs.data[0]->id] : NULL;
    const bool moves =
        (n->def->is_view || n->def->is_reshape) && n->inputs.data[0] && !is_exact(&b->value[n->inputs.data[0]->id]);
    if ((n->def->is_elementwise || moves) && find_operands(b, n, &c) && first)
        return bound_elementwise(b, n, &c, !moves, first);
    for (size_t o = 0; o < n->outputs.count; o++) {
        const struct value *const v = n->outputs.data[o];
        if (v)
            b->value[v->id] = around(b, b->value[v->id].middle, PER_TRIAL / TRIALS * b->effect[v->id]);
    }
    if (n->def->is_sum && first && first->middle->f)
        widen_sum(b, n, first);
    return true;
}

/* False: a variable, or random numbers. */
static bool find_middles(const struct bounds *b, const struct tensor *const *inputs)
{
    for (size_t i = 0; i < b->graph->inputs.count; i++)
        b->at[b->graph->inputs.data[i]->id] = eval_from_tensor(b->arena, inputs[i]);
    graph_each_node(b->graph, n)
    {
        for (size_t i = 0; i < n->inputs.count; i++) {
            const struct value *const v = n->inputs.data[i];
            if (v && !b->at[v->id] && v->kind == VALUE_CONSTANT)
                b->at[v->id] = eval_from_tensor(b->arena, v->constant);
            if (v && !b->at[v->id])
                return false;
        }
        if (n->stream != 0 || !evaluate(b, b->arena, n))
            return false;
    }
    for (int id = 0; id < b->graph->value_count; id++)
        b->value[id] = (struct interval){b->at[id], b->at[id], b->at[id]};
    return true;
}

bool error_bounds(struct arena *a, const struct graph *g, const struct tensor *const *inputs, double unit,
                  struct error_bound *out)
{
    struct bounds b = {.arena = a, .graph = g, .unit = unit, .random = 1};
    b.value = arena_array(a, struct interval, (size_t)g->value_count);
    b.at = arena_array(a, const struct eval_tensor *, (size_t)g->value_count);
    b.effect = arena_array(a, double, (size_t)g->value_count);
    bool ok = find_middles(&b, inputs);
    for (int t = 0; ok && t < TRIALS; t++)
        ok = run_trial(&b);
    graph_each_node(g, n)
        ok = ok && bound_node(&b, n);
    for (size_t o = 0; ok && o < g->outputs.count; o++) {
        const struct interval *const x = &b.value[g->outputs.data[o].value->id];
        out[o] = (struct error_bound){x->low->f, x->high->f};
    }
    return ok;
}
