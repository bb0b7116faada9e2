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
 * that it takes, and no other element does.
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

/* A value: in the middle what the exact inputs give. */
struct interval {
    struct eval_tensor *middle, *low, *high;
    bool exact; /* the three are one */
};

struct bounds {
    struct arena *arena;
    const struct graph *graph;
    double unit;
    uint64_t random;
    struct interval *value;     /* by value id */
    struct eval_tensor **moved; /* by value id: of the trial at hand */
    double *effect;             /* by value id: sum of the largest effects of the trials */
};

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

typedef const struct eval_tensor *(*choose_fn)(const struct bounds *b, const struct value *v, const void *data);

/* Node n of the operands that `choose` gives; NULL if it cannot be evaluated so. */
static struct eval_tensor **evaluate(const struct bounds *b, struct arena *a, const struct node *n, choose_fn choose,
                                     const void *data)
{
    struct diag silent = {.arena = a};
    const struct eval_tensor **const in = arena_array(a, const struct eval_tensor *, n->inputs.count + 1);
    struct eval_tensor **const out = arena_array(a, struct eval_tensor *, n->outputs.count + 1);
    for (size_t i = 0; i < n->inputs.count; i++)
        in[i] = n->inputs.data[i] ? choose(b, n->inputs.data[i], data) : NULL;
    return eval_node(n, in, out, ARITHMETIC_DOUBLE, (struct eval_random){0, 0}, a, &silent) ? out : NULL;
}

static const struct eval_tensor *choose_middle(const struct bounds *b, const struct value *v, const void *data)
{
    (void)data;
    return b->value[v->id].middle;
}

static const struct eval_tensor *choose_moved(const struct bounds *b, const struct value *v, const void *data)
{
    (void)data;
    return b->moved[v->id];
}

/* ---- trials ------------------------------------------------------------------------------------------------------ */

static double sign_of(struct bounds *b)
{
    b->random = b->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth, MMIX */
    return b->random >> 63 ? 1 : -1;
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
    for (int64_t k = 0; x->f && k < x->count; k++) {
        const double d = fabs(x->f[k] - y->f[k]);
        most = d > most ? d : most;
    }
    return most;
}

static bool run_trial(struct bounds *b)
{
    struct arena a = {0};
    bool ok = true;
    memset(b->moved, 0, (size_t)b->graph->value_count * sizeof *b->moved);
    graph_each_node(b->graph, n)
    {
        for (size_t i = 0; i < n->inputs.count; i++) {
            const struct value *const v = n->inputs.data[i];
            if (v && !b->moved[v->id])
                b->moved[v->id] =
                    v->kind == VALUE_CONSTANT ? b->value[v->id].middle : move(b, &a, b->value[v->id].middle);
        }
        struct eval_tensor **const out = evaluate(b, &a, n, choose_moved, NULL);
        ok = ok && out;
        for (size_t o = 0; ok && o < n->outputs.count; o++)
            if (n->outputs.data[o]) {
                b->moved[n->outputs.data[o]->id] = out[o];
                b->effect[n->outputs.data[o]->id] += largest_effect(b->value[n->outputs.data[o]->id].middle, out[o]);
            }
        if (!ok)
            break;
    }
    arena_free(&a);
    return ok;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static const struct eval_tensor *choose_size(const struct bounds *b, const struct value *v, const void *data)
{
    struct eval_tensor *const t = copy_of((struct arena *)(uintptr_t)data, b->value[v->id].middle);
    for (int64_t k = 0; t->f && k < t->count; k++)
        t->f[k] = fmax(fabs(b->value[v->id].low->f[k]), fabs(b->value[v->id].high->f[k]));
    return t;
}

static const struct eval_tensor *choose_one(const struct bounds *b, const struct value *v, const void *data)
{
    struct eval_tensor *const t = copy_of((struct arena *)(uintptr_t)data, b->value[v->id].middle);
    for (int64_t k = 0; t->f && k < t->count; k++)
        t->f[k] = 1;
    return t;
}

/* Widens the interval of a sum's result by its roundings. */
static void widen_sum(const struct bounds *b, const struct node *n, struct interval *v)
{
    struct arena a = {0};
    struct eval_tensor **const sizes = evaluate(b, &a, n, choose_size, &a),
                               **const counts = evaluate(b, &a, n, choose_one, &a);
    const double ratio =
        v->middle->count > 0 ? (double)b->value[n->inputs.data[0]->id].middle->count / (double)v->middle->count : 1;
    for (int64_t k = 0; sizes && counts && k < v->middle->count; k++) {
        /* a mean of ones says nothing of their number */
        const double terms = fmax(fmax(fabs(counts[0]->f[k]), ratio), 1);
        const double error = LAMBDA * sqrt(terms) * b->unit / 2 * fabs(sizes[0]->f[k]);
        v->low->f[k] -= error;
        v->high->f[k] += error;
    }
    arena_free(&a);
}

static struct interval around(struct bounds *b, const struct value *v, struct eval_tensor *middle)
{
    struct interval x = {middle, copy_of(b->arena, middle), copy_of(b->arena, middle), false};
    const double moved = PER_TRIAL / TRIALS * b->effect[v->id];
    for (int64_t k = 0; middle->f && k < middle->count; k++) {
        const double error = moved + PER_RESULT * b->unit * fabs(middle->f[k]);
        x.low->f[k] -= error;
        x.high->f[k] += error;
    }
    x.exact = !middle->f;
    return x;
}

/* ---- element by element ------------------------------------------------------------------------------------------ */

struct corner {
    const struct value *operand[MOST_OPERANDS]; /* those that are not exact */
    int choice[MOST_OPERANDS];                  /* 0 middle, 1 low, 2 high, 3 what lies nearest to 0 */
    int count;
    struct arena *arena;
};

static const struct eval_tensor *nearest_to_zero(struct arena *a, const struct interval *x)
{
    struct eval_tensor *const t = copy_of(a, x->middle);
    for (int64_t k = 0; t->f && k < t->count; k++)
        t->f[k] = x->low->f[k] > 0 ? x->low->f[k] : x->high->f[k] < 0 ? x->high->f[k] : 0;
    return t;
}

static const struct eval_tensor *choose_corner(const struct bounds *b, const struct value *v, const void *data)
{
    const struct corner *const c = data;
    const struct interval *const x = &b->value[v->id];
    for (int i = 0; i < c->count; i++) {
        if (c->operand[i] != v)
            continue;
        switch (c->choice[i]) {
        case 1: return x->low;
        case 2: return x->high;
        case 3: return nearest_to_zero(c->arena, x);
        default: return x->middle;
        }
    }
    return x->middle;
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
        bool known = !v || b->value[v->id].exact;
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

static void include(struct interval *x, const struct eval_tensor *t)
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

static bool bound_elementwise(struct bounds *b, const struct node *n, const struct corner *first, bool rounds,
                              struct interval *x)
{
    struct corner c = *first;
    x->low = copy_of(b->arena, x->middle);
    x->high = copy_of(b->arena, x->middle);
    do {
        struct arena a = {0};
        c.arena = &a;
        struct eval_tensor **const out = evaluate(b, &a, n, choose_corner, &c);
        if (out)
            include(x, out[0]);
        arena_free(&a);
        if (!out)
            return false;
    } while (next_corner(&c));
    for (int64_t k = 0; rounds && x->middle->f && k < x->middle->count; k++) {
        x->low->f[k] -= PER_RESULT * b->unit * fabs(x->low->f[k]);
        x->high->f[k] += PER_RESULT * b->unit * fabs(x->high->f[k]);
    }
    x->exact = c.count == 0 && !x->middle->f;
    return true;
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

static bool bound_node(struct bounds *b, const struct node *n)
{
    struct corner c = {.count = 0};
    const bool moves =
        (n->def->is_view || n->def->is_reshape) && n->inputs.data[0] && !b->value[n->inputs.data[0]->id].exact;
    if ((n->def->is_elementwise || moves) && find_operands(b, n, &c) && n->outputs.data[0])
        return bound_elementwise(b, n, &c, !moves, &b->value[n->outputs.data[0]->id]);
    for (size_t o = 0; o < n->outputs.count; o++)
        if (n->outputs.data[o])
            b->value[n->outputs.data[o]->id] = around(b, n->outputs.data[o], b->value[n->outputs.data[o]->id].middle);
    if (n->def->is_sum && n->outputs.data[0] && b->value[n->outputs.data[0]->id].middle->f)
        widen_sum(b, n, &b->value[n->outputs.data[0]->id]);
    return true;
}

static bool find_middles(struct bounds *b, const struct tensor *const *inputs)
{
    for (size_t i = 0; i < b->graph->inputs.count; i++)
        b->value[b->graph->inputs.data[i]->id].middle = eval_from_tensor(b->arena, inputs[i]);
    graph_each_node(b->graph, n)
    {
        for (size_t i = 0; i < n->inputs.count; i++) {
            const struct value *const v = n->inputs.data[i];
            struct interval *const x = v ? &b->value[v->id] : NULL;
            if (x && !x->middle && v->kind == VALUE_CONSTANT)
                x->middle = eval_from_tensor(b->arena, v->constant);
            if (x && !x->middle)
                return false; /* a variable */
            if (x && !v->producer)
                *x = (struct interval){x->middle, x->middle, x->middle, true};
        }
        struct eval_tensor **const out = n->stream == 0 ? evaluate(b, b->arena, n, choose_middle, NULL) : NULL;
        if (!out)
            return false;
        for (size_t o = 0; o < n->outputs.count; o++)
            if (n->outputs.data[o])
                b->value[n->outputs.data[o]->id].middle = out[o];
    }
    return true;
}

bool error_bounds(struct arena *a, const struct graph *g, const struct tensor *const *inputs, double unit,
                  struct error_bound *out)
{
    struct bounds b = {.arena = a, .graph = g, .unit = unit, .random = 1};
    b.value = arena_array(a, struct interval, (size_t)g->value_count);
    b.moved = arena_array(a, struct eval_tensor *, (size_t)g->value_count);
    b.effect = arena_array(a, double, (size_t)g->value_count);
    bool ok = find_middles(&b, inputs);
    for (int t = 0; ok && t < TRIALS; t++)
        ok = run_trial(&b);
    graph_each_node(g, n)
        ok = ok && bound_node(&b, n);
    for (size_t o = 0; ok && o < g->outputs.count; o++) {
        const struct interval *const x = &b.value[g->outputs.data[o].value->id];
        out[o] = x->low && x->low->f ? (struct error_bound){x->low->f, x->high->f} : (struct error_bound){NULL, NULL};
    }
    return ok;
}
