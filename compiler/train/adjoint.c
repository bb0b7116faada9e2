/* Expansion of Gradient nodes: reverse mode, as a rewrite.
 *
 * Needs: Gradient nodes whose names are names of values in the graph (import sees to that). Leaves: ordinary nodes
 * only.
 *
 *   y = Mul(x, w);  dw = Gradient<xs=["w"], zs=["x"], y="y">(w, x)
 *   y = Mul(x, w);  one = ConstantOfShape(..);  dw = Mul(one, x)
 *
 * The names select a function F from the listed tensors (xs and zs) to y: each listed tensor is a free variable of F,
 * even if the graph computes it ("cut"). Where the node supplies another tensor than the listed one, the part of F that
 * depends on it is evaluated again. Adjoints are kept by the values of the original graph, so that two listed tensors
 * which are given the same value keep apart.
 *
 * Inner Gradient nodes stand before outer ones and are expanded first. While a Gradient node waits, its listed values
 * and y are appended to its inputs: replacements made meanwhile reach it like any reader. */
#include "train/adjoint.h"
#include "train/adjoint_internal.h"

#include "base/str.h"
#include "graph/region.h"

#include <string.h>

#define MAX_EXPANSION_ROUNDS 100

struct gradient {
    struct node *node; /* inputs: supplied values, then listed values, then y */
    size_t x_count;    /* listed values: xs first, then zs */
    size_t count;
    bool failed;
};

/* What is known of one value of the original graph, by its id. */
struct mark {
    bool listed;           /* free variable of F */
    bool active;           /* carries a derivative with respect to some x */
    bool needed;           /* y depends on it, in F */
    bool wanted;           /* active, and y depends on it through what can be differentiated: its adjoint is built */
    bool changed;          /* differs from the original because another value is supplied somewhere before */
    struct node *reader;   /* through which it became wanted: the next node towards y */
    struct value *now;     /* its value in F where changed */
    struct value *adjoint; /* so far; NULL: zero */
};

struct gradient_expansion {
    struct graph *g;
    struct gradient *gradient;
    struct node **nodes; /* before the Gradient node, in order */
    size_t node_count;
    struct mark *marks;
    int value_count;      /* of the original graph: marks has so many entries */
    int counted;          /* values of the graph that the budget knows of */
    struct arena scratch; /* nodes, marks */
};

/* ---- what may be made -------------------------------------------------------------------------------------------- */

/* A Gradient is a few times as large as what it differentiates, so that k of them, each of the one before, make some
 * 3^k nodes out of k lines. One is in proportion to the model; many are bounded like the nodes of unrolled loops, and
 * so is how often nodes are looked at, which each Gradient does with all in front of it. */
struct adjoint_budget {
    int64_t nodes;   /* of the model's graphs */
    int64_t at_once; /* the same, for each Gradient node that has them in front */
    int64_t made, visited;
    bool exceeded;
};

static int64_t most_made(const struct adjoint_budget *b)
{
    enum { EACH = 64, FEW = 100000, MANY = 1000000 };
    const int64_t in_proportion = FEW + EACH * b->at_once, most = MANY + EACH * b->nodes;
    return in_proportion < most ? in_proportion : most;
}

/* The model's, whichever region the graph is of. */
static struct adjoint_budget *budget_of(const struct graph *g)
{
    struct program *const p = program_outermost(g->program);
    if (p->adjoints == NULL)
        p->adjoints = arena_new(p->arena, struct adjoint_budget);
    return p->adjoints;
}

/* Of a region all that it holds counts: it was made for this. */
static void open_budget(struct graph *g, size_t gradients)
{
    const struct program *const p = g->program;
    struct adjoint_budget *const b = budget_of(g);
    if (p->entries.count == 1 && p->entries.data[0].is_region) {
        b->made += g->value_count;
    } else {
        b->nodes += (int64_t)g->node_count;
        b->at_once += (int64_t)g->node_count * (int64_t)gradients;
    }
}

static bool spend(struct gradient_expansion *e)
{
    enum { MOST_VISITED = 20000000 };
    struct adjoint_budget *const b = budget_of(e->g);
    b->made += e->g->value_count - e->counted;
    e->counted = e->g->value_count;
    if (b->exceeded || (b->made <= most_made(b) && b->visited <= MOST_VISITED))
        return !b->exceeded;
    b->exceeded = true;
    return diag_unsupported(e->g->diag, &e->gradient->node->loc,
                            "Gradient exceeds the bound of %lld values made for all gradients of a model, or of %d "
                            "visits of nodes: each is some times as large as what it differentiates",
                            (long long)most_made(b), MOST_VISITED);
}

static bool is_gradient(const struct node *n)
{
    return n->def->is_structural && strcmp(n->def->name, "Gradient") == 0;
}

static struct value *supplied(const struct gradient *gr, size_t i)
{
    return gr->node->inputs.data[i];
}

static struct value *listed(const struct gradient *gr, size_t i)
{
    return gr->node->inputs.data[gr->count + i];
}

static struct value *y_of(const struct gradient *gr)
{
    return gr->node->inputs.data[2 * gr->count];
}

static struct mark *mark_of(const struct gradient_expansion *e, const struct value *v)
{
    return v != NULL && v->id < e->value_count ? &e->marks[v->id] : NULL;
}

/* ---- resolution of the names ------------------------------------------------------------------------------------- */

static bool can_carry_gradient(enum dtype d)
{
    return (DTYPES_FLOATS & DTYPE_BIT(d)) != 0; /* R24 in docs/readings.md */
}

static struct value *find_value(struct graph *g, const struct node *n, const char *what, const char *name)
{
    struct value *const v = graph_find(g, name);
    if (v == NULL)
        diag_error(g->diag, &n->loc, "%s names '%s', which is not a value of graph '%s'", what, name, g->name);
    return v;
}

static bool check_listed(struct graph *g, const struct gradient *gr, size_t i, const struct value *v,
                         const struct value *given)
{
    const struct loc *const at = &gr->node->loc;
    if (i < gr->x_count && !can_carry_gradient(v->dtype))
        return diag_error(g->diag, at, "xs names '%s', which is %s: only floating tensors have a gradient", v->name,
                          dtype_name(v->dtype));
    if (given == NULL)
        return diag_error(g->diag, at, "input %zu, the value of '%s', is omitted", i, v->name);
    if (given->dtype != v->dtype || !shape_equal(&given->shape, &v->shape))
        return diag_error(g->diag, at, "input %zu '%s' is %s%s, but stands for '%s' of %s%s", i, given->name,
                          dtype_name(given->dtype), shape_text(g->arena, &given->shape), v->name, dtype_name(v->dtype),
                          shape_text(g->arena, &v->shape));
    return true;
}

/* The listed values, appended to `values`. */
static bool find_listed(struct graph *g, const struct gradient *gr, const struct attr *xs, const struct attr *zs,
                        struct value **values)
{
    bool ok = true;
    for (size_t i = 0; i < gr->count; i++) {
        const bool is_x = i < gr->x_count;
        const char *const name = is_x ? xs->strings[i] : zs->strings[i - gr->x_count];
        values[i] = find_value(g, gr->node, is_x ? "xs" : "zs", name);
        for (size_t k = 0; k < i && values[i] != NULL; k++)
            if (values[k] == values[i])
                ok = diag_error(g->diag, &gr->node->loc, "'%s' is listed twice in xs and zs", name); /* R22 */
        if (values[i] == NULL || !check_listed(g, gr, i, values[i], node_input(gr->node, i)))
            ok = false;
    }
    return ok;
}

static bool check_y(struct graph *g, const struct node *n, const struct value *y)
{
    if (!can_carry_gradient(y->dtype))
        return diag_error(g->diag, &n->loc, "y '%s' is %s: only floating tensors can be differentiated", y->name,
                          dtype_name(y->dtype));
    if (shape_count(&y->shape) == 1)
        return true;
    return diag_lenient(g->diag, &n->loc,
                        "y '%s' has shape %s, not that of a scalar: this is the gradient of the sum of its elements",
                        y->name, shape_text(g->arena, &y->shape)); /* R18 */
}

static bool resolve_gradient(struct graph *g, struct gradient *gr)
{
    struct node *const n = gr->node;
    const struct attr *const xs = node_attr(n, "xs"), *const zs = node_attr(n, "zs"), *const y_name = node_attr(n, "y");
    if (xs == NULL || y_name == NULL || xs->count == 0) /* R28 */
        return diag_error(g->diag, &n->loc, "Gradient needs at least one name in xs, and a y");
    gr->x_count = xs->count;
    gr->count = xs->count + (zs != NULL ? zs->count : 0);
    if (n->inputs.count != gr->count)
        return diag_error(g->diag, &n->loc,
                          "Gradient has %zu input%s, expected %zu: one for each name in xs, then in zs",
                          n->inputs.count, str_plural(n->inputs.count), gr->count);
    if (n->outputs.count > gr->x_count)
        return diag_error(g->diag, &n->loc, "Gradient has %zu outputs for %zu names in xs", n->outputs.count,
                          gr->x_count);

    struct value **const values = arena_array(g->arena, struct value *, gr->count);
    bool ok = find_listed(g, gr, xs, zs, values);
    struct value *const y = find_value(g, n, "y", y_name->s);
    if (y == NULL || !check_y(g, n, y) || !ok)
        return false;
    for (size_t i = 0; i < gr->count; i++)
        node_add_input(n, values[i]);
    node_add_input(n, y);
    return true;
}

/* ---- analysis: which values matter ------------------------------------------------------------------------------- */

static bool is_marked_not_diff(const struct op_param *params, size_t i)
{
    const struct op_param *const p = op_param_at(params, i);
    return p != NULL && (p->flags & PARAM_NOT_DIFF) != 0;
}

static bool carries(const struct gradient_expansion *e, const struct node *n, size_t input)
{
    const struct mark *const m = mark_of(e, n->inputs.data[input]);
    return m != NULL && m->active && !is_marked_not_diff(n->def->inputs, input);
}

/* From xs towards y: what has a derivative, and what differs from the original. Listed values are free: nothing flows
 * into them. Integers and bools, and outputs of operators without any gradient (Shape, Less), end the flow (R25). */
static void mark_forward(struct gradient_expansion *e)
{
    for (size_t k = 0; k < e->node_count; k++) {
        const struct node *const n = e->nodes[k];
        bool active = false, changed = false;
        for (size_t i = 0; i < n->inputs.count && !n->def->is_state; i++) {
            const struct mark *const m = mark_of(e, n->inputs.data[i]);
            changed = changed || (m != NULL && m->changed);
            active = active || carries(e, n, i);
        }
        active = active && n->def->grad != grad_none;
        for (size_t i = 0; i < n->outputs.count && (active || changed); i++) {
            struct mark *const m = mark_of(e, n->outputs.data[i]);
            if (m == NULL || m->listed)
                continue;
            m->changed = changed;
            m->active =
                active && can_carry_gradient(n->outputs.data[i]->dtype) && !is_marked_not_diff(n->def->outputs, i);
        }
    }
}

enum quality { NEEDED, WANTED, CHANGED };

/* The first output of n that is not cut away and has that quality, or NULL. */
static const struct mark *find_output(const struct gradient_expansion *e, const struct node *n, enum quality q)
{
    vec_each(const struct value *, v, &n->outputs) {
        const struct mark *const m = mark_of(e, v);
        if (m != NULL && !m->listed && (q == NEEDED ? m->needed : q == WANTED ? m->wanted : m->changed))
            return m;
    }
    return NULL;
}

/* Does F use n? */
static bool has_needed_output(const struct gradient_expansion *e, const struct node *n)
{
    return find_output(e, n, NEEDED) != NULL;
}

static bool has_wanted_output(const struct gradient_expansion *e, const struct node *n)
{
    return find_output(e, n, WANTED) != NULL;
}

/* From y back: what F consists of, and which part of it needs adjoints. */
static void mark_backward(struct gradient_expansion *e)
{
    struct mark *const y = mark_of(e, y_of(e->gradient));
    y->needed = true;
    y->wanted = y->active;
    for (size_t k = e->node_count; k-- > 0;) {
        struct node *const n = e->nodes[k];
        if (!has_needed_output(e, n))
            continue;
        const bool wanted = has_wanted_output(e, n);
        for (size_t i = 0; i < n->inputs.count; i++) {
            struct mark *const m = mark_of(e, n->inputs.data[i]);
            if (m == NULL)
                continue;
            m->needed = true;
            if (!wanted || m->wanted || !carries(e, n, i))
                continue;
            m->wanted = true;
            m->reader = n;
        }
    }
}

static void analyse(struct gradient_expansion *e)
{
    struct graph *const g = e->g;
    const struct gradient *const gr = e->gradient;
    arena_free(&e->scratch);
    e->node_count = 0;
    for (const struct node *n = g->first; n != gr->node; n = n->next)
        e->node_count++;
    e->nodes = arena_array(&e->scratch, struct node *, e->node_count);
    size_t k = 0;
    for (struct node *n = g->first; n != gr->node; n = n->next)
        e->nodes[k++] = n;
    budget_of(g)->visited += (int64_t)k;

    e->value_count = g->value_count;
    e->marks = arena_array(&e->scratch, struct mark, (size_t)g->value_count);
    for (size_t i = 0; i < gr->count; i++) {
        struct mark *const m = mark_of(e, listed(gr, i));
        m->listed = true;
        m->active = node_output(gr->node, i) != NULL; /* zs have no output */
        m->changed = supplied(gr, i) != listed(gr, i);
        m->now = supplied(gr, i);
    }
    mark_forward(e);
    mark_backward(e);
}

static bool is_x(const struct gradient *gr, const struct value *v)
{
    for (size_t i = 0; i < gr->x_count; i++)
        if (listed(gr, i) == v)
            return true;
    return false;
}

/* R20: an x that other listed tensors determine. Followed without the cut, over all kinds of inputs. A tensor among zs
 * that others determine is listed in order to be cut. */
static bool check_independent(struct gradient_expansion *e)
{
    bool *const reached = arena_array(&e->scratch, bool, (size_t)e->value_count);
    bool ok = true;
    for (size_t i = 0; i < e->gradient->count; i++)
        reached[listed(e->gradient, i)->id] = true;
    for (size_t k = 0; k < e->node_count; k++) {
        const struct node *const n = e->nodes[k];
        const struct value *from = NULL;
        for (size_t i = 0; i < n->inputs.count && from == NULL && !n->def->is_state; i++)
            if (n->inputs.data[i] != NULL && reached[n->inputs.data[i]->id])
                from = n->inputs.data[i];
        for (size_t i = 0; i < n->outputs.count && from != NULL; i++) {
            const struct value *const v = n->outputs.data[i];
            if (v != NULL && mark_of(e, v)->listed && is_x(e->gradient, v))
                ok = diag_lenient(e->g->diag, &e->gradient->node->loc,
                                  "'%s' is listed in xs or zs, but depends on others listed there: what flows through "
                                  "it is left out",
                                  v->name) &&
                     ok;
            if (v != NULL)
                reached[v->id] = true;
        }
    }
    return ok;
}

/* ---- rules: composites are expanded, missing ones reported ------------------------------------------------------- */

static const char *step_text(struct arena *a, const struct node *n)
{
    const char *const op = op_display_name(n->def);
    return n->name[0] != '\0' ? arena_printf(a, "%s '%s'", op, n->name) : op;
}

/* "loss <- ReduceMean <- Mul 'scale' <- NonZero": from y to n, long ones with a gap. */
static const char *path_text(const struct gradient_expansion *e, const struct node *n)
{
    enum { SHOWN = 12 };
    VEC(const struct node *) path = {0};
    struct arena *const a = e->g->arena;
    while (n != NULL) {
        vec_push(a, &path, n);
        const struct node *next = NULL;
        for (size_t i = 0; i < n->outputs.count && next == NULL; i++) {
            const struct mark *const m = mark_of(e, n->outputs.data[i]);
            if (m != NULL && m->wanted && !m->listed)
                next = m->reader;
        }
        n = next;
    }
    const char *text = y_of(e->gradient)->name;
    for (size_t k = path.count; k-- > 0;) {
        const bool hidden = path.count > SHOWN && k >= SHOWN / 2 && k < path.count - SHOWN / 2;
        if (!hidden)
            text = arena_printf(a, "%s <- %s", text, step_text(a, path.data[k]));
        else if (k == SHOWN / 2)
            text = arena_printf(a, "%s <- ... (%zu more)", text, path.count - SHOWN);
    }
    return text;
}

/* Is v a variable of some Gradient that is still there? */
static bool is_listed_anywhere(const struct value *v)
{
    vec_each_ptr(const struct use, u, &v->uses) {
        const int inputs = (int)u->node->inputs.count;
        if (is_gradient(u->node) && u->input >= inputs / 2 && u->input < inputs - 1)
            return true;
    }
    return false;
}

/* An output of a composite that is a variable becomes a copy: the composite may make one output out of another, or hand
 * out an input, and a variable is neither. */
static bool set_outputs_apart(struct builder *b, const struct node *n)
{
    vec_each(struct value *, v, &n->outputs) {
        if (v == NULL || !is_listed_anywhere(v))
            continue;
        const char *const name = v->name;
        struct value *const copy = build_value(b, "Identity", NULL, &v, 1);
        if (b->failed)
            return false;
        graph_replace(b->graph, v, copy);
        node_set_input(copy->producer, 0, v);
        graph_rename(b->graph, v, graph_fresh_name(b->graph, arena_printf(b->graph->arena, "%s.made", name)));
        graph_rename(b->graph, copy, name);
    }
    return true;
}

/* Composites on the way without a rule of their own give way to what they consist of. False: nothing to expand, or
 * failed. */
static bool expand_composites(struct gradient_expansion *e, bool *failed)
{
    bool any = false;
    for (size_t k = 0; k < e->node_count; k++) {
        struct node *const n = e->nodes[k];
        if (n->def->grad != NULL || n->def->expand == NULL || !has_wanted_output(e, n))
            continue;
        const struct value *const out = node_output(n, 0);
        struct builder b = {.graph = e->g,
                            .before = n,
                            .loc = n->loc,
                            .stream = n->stream,
                            .counter = n->counter,
                            .prefix = out != NULL ? arena_printf(e->g->arena, "%s.", out->name) : ""};
        struct expand_ctx c = {.b = &b, .node = n};
        struct builder behind = b;
        behind.before = n->next;
        if (!set_outputs_apart(&behind, n) || !expand_node(&c)) {
            *failed = true;
            return false;
        }
        graph_remove_node(e->g, n);
        any = true;
    }
    return any;
}

static bool check_rules(const struct gradient_expansion *e)
{
    bool ok = true;
    for (size_t k = 0; k < e->node_count; k++)
        if (is_gradient(e->nodes[k]) && has_wanted_output(e, e->nodes[k]))
            return false; /* one that failed: what is wrong with it was reported */
    for (size_t k = 0; k < e->node_count; k++) {
        const struct node *const n = e->nodes[k];
        if (!has_wanted_output(e, n))
            continue;
        if (n->def->grad == NULL)
            ok = diag_unsupported(e->g->diag, &n->loc, "no gradient is known for operator %s; path from y: %s",
                            op_display_name(n->def), path_text(e, n));
        else if (n->def->grad == grad_undefined)
            ok = diag_error(e->g->diag, &n->loc, "the gradient of operator %s is not defined; path from y: %s",
                            op_display_name(n->def), path_text(e, n));
    }
    return ok;
}

/* What depends on an x and reaches y through an input that has a derivative which its operator leaves out: the gradient
 * is not that of the function, and whoever trains through it would not notice. */
static void tell_what_is_left_out(const struct gradient_expansion *e)
{
    for (size_t k = 0; k < e->node_count; k++) {
        const struct node *const n = e->nodes[k];
        for (size_t i = 0; i < n->inputs.count && has_needed_output(e, n); i++) {
            const struct mark *const m = mark_of(e, n->inputs.data[i]);
            const struct op_param *const p = op_param_at(n->def->inputs, i);
            if (m != NULL && m->active && p != NULL && p->why != NULL)
                diag_warning(e->g->diag, &n->loc, "the gradient through input %zu '%s' is left out: %s", i,
                             n->inputs.data[i]->name, p->why);
        }
    }
}

static bool prepare_rules(struct gradient_expansion *e)
{
    bool failed = false;
    for (int round = 0; round < MAX_EXPANSION_ROUNDS; round++) {
        analyse(e);
        if (expand_composites(e, &failed))
            continue;
        tell_what_is_left_out(e);
        return !failed && check_rules(e);
    }
    UNREACHABLE("composites expand into each other");
}

/* ---- evaluation of F at other values ----------------------------------------------------------------------------- */

static struct value *now(const struct gradient_expansion *e, struct value *v)
{
    const struct mark *const m = mark_of(e, v);
    return m != NULL && m->changed ? m->now : v;
}

/* The number is that of the model's node; if this is one of several that it became: "node #6 (Loop: Where)". */
static const char *node_text(struct arena *a, const struct node *n)
{
    const char *const op = op_display_name(n->def), *const of_model = n->loc.op ? n->loc.op : "";
    if (n->name[0] != '\0')
        return arena_printf(a, "node '%s'", n->name);
    if (of_model[0] == '\0' || str_equal(of_model, n->def->name))
        return arena_printf(a, "node #%d (%s)", n->loc.index, op);
    return arena_printf(a, "node #%d (%s: %s)", n->loc.index, of_model, op);
}

/* The node once more, on the values it has in F; random ones draw the same numbers (R27). */
static bool evaluate_again(struct gradient_expansion *e, const struct node *n)
{
    struct graph *const g = e->g;
    struct loc loc = n->loc;
    loc.origin = arena_printf(g->arena, "evaluated again for %s", node_text(g->arena, e->gradient->node));
    struct node *const copy = graph_add_like(g, n, &loc, e->gradient->node);
    for (size_t i = 0; i < n->inputs.count; i++)
        node_add_input(copy, now(e, n->inputs.data[i]));
    vec_each(struct value *, v, &n->outputs) {
        struct value *const made =
            node_add_output(copy, v != NULL ? graph_fresh_name(g, arena_printf(g->arena, "%s.again", v->name)) : NULL);
        if (v != NULL && !mark_of(e, v)->listed)
            mark_of(e, v)->now = made;
    }
    return node_infer(copy);
}

/* The node as F has it: the original, or its copy. */
static struct node *node_in_f(const struct gradient_expansion *e, struct node *n)
{
    const struct mark *const m = find_output(e, n, CHANGED);
    return m != NULL ? m->now->producer : n;
}

static bool evaluate_changed(struct gradient_expansion *e)
{
    for (size_t k = 0; k < e->node_count; k++) {
        const struct node *const n = e->nodes[k];
        if (find_output(e, n, CHANGED) != NULL && has_needed_output(e, n) && (!evaluate_again(e, n) || !spend(e)))
            return false;
    }
    return true;
}

/* ---- adjoints ---------------------------------------------------------------------------------------------------- */

#define MADE_PREFIX "grad."

/* The adjoint of v is complete: what was made for it is called after it. */
static void name_adjoint(const struct gradient_expansion *e, const struct value *v, struct value *adjoint)
{
    if (adjoint->id >= e->value_count && str_starts_with(adjoint->name, MADE_PREFIX))
        graph_rename(e->g, adjoint, graph_fresh_name(e->g, arena_printf(e->g->arena, "d_%s", v->name)));
}

static struct builder builder_for(const struct gradient_expansion *e, const struct node *n)
{
    struct arena *const a = e->g->arena;
    struct builder b = {.graph = e->g,
                        .before = e->gradient->node,
                        .loc = n->loc,
                        .stream = n->stream,
                        .counter = n->counter,
                        .prefix = MADE_PREFIX};
    b.loc.origin = arena_printf(a, "gradient of %s", n->loc.origin != NULL ? n->loc.origin : node_text(a, n));
    for (size_t i = n->outputs.count; i-- > 0;)
        if (n->outputs.data[i] != NULL)
            b.prefix = arena_printf(a, MADE_PREFIX "%s.", n->outputs.data[i]->name);
    return b;
}

static bool add_adjoint(const struct gradient_expansion *e, struct builder *b, const struct value *v,
                        struct value *more)
{
    struct mark *const m = mark_of(e, v);
    m->adjoint = m->adjoint == NULL ? more : build_value(b, "Add", NULL, (struct value *const[]){m->adjoint, more}, 2);
    return !b->failed;
}

/* Runs the rule of one node and hands its results to the adjoints of the inputs. */
static bool differentiate_node(const struct gradient_expansion *e, struct node *n)
{
    struct arena *const a = e->g->arena;
    struct node *const in_f = node_in_f(e, n);
    const size_t inputs = n->inputs.count, outputs = n->outputs.count;
    struct value **const dy = arena_array(a, struct value *, outputs + op_count_params(n->def->outputs));
    struct value **const dx = arena_array(a, struct value *, inputs);
    bool *const wanted = arena_array(a, bool, inputs);
    bool any = false;
    for (size_t i = 0; i < outputs; i++) {
        struct mark *const m = mark_of(e, n->outputs.data[i]);
        if (m == NULL || m->listed || m->adjoint == NULL)
            continue;
        dy[i] = m->adjoint;
        name_adjoint(e, n->outputs.data[i], m->adjoint);
        any = true;
    }
    if (!any)
        return true;
    for (size_t i = 0; i < inputs; i++)
        wanted[i] = carries(e, n, i) && mark_of(e, n->inputs.data[i])->wanted;

    struct builder b = builder_for(e, n);
    struct grad_ctx c = {.b = &b, .node = in_f, .dy = dy, .dx = dx, .wanted = wanted};
    if (!n->def->grad(&c) || b.failed)
        return false;
    for (size_t i = 0; i < inputs; i++)
        if (dx[i] != NULL && !add_adjoint(e, &b, n->inputs.data[i], dx[i]))
            return false;
    return true;
}

static bool differentiate(struct gradient_expansion *e)
{
    struct builder b = builder_for(e, e->gradient->node);
    struct value *const y = y_of(e->gradient);
    if (!mark_of(e, y)->wanted)
        return true; /* all zero */
    mark_of(e, y)->adjoint = build_full_like(&b, now(e, y), 1.0);
    bool ok = !b.failed;
    for (size_t k = e->node_count; k-- > 0 && ok;)
        if (has_wanted_output(e, e->nodes[k]) && (!differentiate_node(e, e->nodes[k]) || !spend(e)))
            ok = false;
    return ok;
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

/* R21, R25: nothing flows into x. */
static struct value *zero_gradient(const struct gradient_expansion *e, struct builder *b, struct value *x)
{
    const char *const y = y_of(e->gradient)->name;
    if (mark_of(e, x)->needed)
        diag_warning(e->g->diag, &e->gradient->node->loc,
                     "'%s' reaches '%s' only through inputs and operators that carry no "
                     "gradient: its gradient is zero",
                     x->name, y);
    else
        diag_warning(e->g->diag, &e->gradient->node->loc, "'%s' has no influence on '%s': its gradient is zero",
                     x->name, y);
    return build_full_like(b, x, 0.0);
}

/* Readers of the Gradient node's outputs get the adjoints, which take over the names that the model gives. A variable
 * of a later Gradient is a copy: other gradients may be made out of the adjoint, and do not depend on the variable. */
static bool replace_outputs(const struct gradient_expansion *e)
{
    const struct gradient *const gr = e->gradient;
    struct builder b = builder_for(e, gr->node);
    struct map claimed = {.arena = e->g->arena};
    for (size_t i = 0; i < gr->node->outputs.count; i++) {
        struct value *const old = gr->node->outputs.data[i];
        if (old == NULL)
            continue;
        struct value *dx = mark_of(e, listed(gr, i))->adjoint;
        if (dx == NULL)
            dx = zero_gradient(e, &b, listed(gr, i));
        if (dx->kind != VALUE_RESULT || dx->id < e->value_count || map_has(&claimed, dx->name) ||
            is_listed_anywhere(old))
            dx = build_value(&b, "Identity", NULL, &dx, 1);
        if (b.failed)
            return false;
        const char *const name = old->name;
        graph_replace(e->g, old, dx);
        graph_rename(e->g, old, graph_fresh_name(e->g, "replaced"));
        graph_rename(e->g, dx, name);
        map_set(&claimed, dx->name, dx);
    }
    return true;
}

static bool expand_gradient(struct graph *g, struct gradient *gr)
{
    struct gradient_expansion e = {.g = g, .gradient = gr, .counted = g->value_count};
    const int since = g->value_count;
    const bool ok = spend(&e) && prepare_rules(&e) && check_independent(&e) && spend(&e) && evaluate_changed(&e) &&
                    differentiate(&e) && replace_outputs(&e);
    arena_free(&e.scratch);
    if (!ok)
        return false;
    graph_remove_node(g, gr->node);
    return merge_sums(g, since);
}

/* See op_def.join. */
static bool join_nodes(struct graph *g)
{
    graph_each_node(g, n)
    {
        if (n->def->join == NULL)
            continue;
        struct builder b = {.graph = g, .before = n, .loc = n->loc,
                            .prefix = arena_printf(g->arena, "%s.", n->outputs.data[0]->name)};
        struct expand_ctx c = {.b = &b, .node = n};
        if (n->def->join(&c))
            graph_remove_node(g, n);
        if (b.failed)
            return false;
    }
    return true;
}

static bool has_gradient(const struct graph *g)
{
    graph_each_node(g, n)
        if (is_gradient(n))
            return true;
    return false;
}

bool adjoint_expand(struct graph *g)
{
    VEC(struct gradient) gradients = {0};
    bool ok = !has_gradient(g) || join_nodes(g);
    graph_each_node(g, n)
    {
        if (!is_gradient(n))
            continue;
        struct gradient gr = {.node = n};
        gr.failed = !resolve_gradient(g, &gr);
        ok = ok && !gr.failed;
        vec_push(g->arena, &gradients, gr);
    }
    open_budget(g, gradients.count);
    vec_each_ptr(struct gradient, gr, &gradients)
        if (!gr->failed && !expand_gradient(g, gr))
            ok = false;
    return ok;
}
