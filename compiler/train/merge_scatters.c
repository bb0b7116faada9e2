/* Gradients of several Gathers from one tensor, as an embedding has them that is read for each bag or each step,
 * become one:
 *
 *   d = Add(Add(Scatter(i, u), Scatter(j, v)), g)      d = Add(g, Scatter(Concat(i, j), Concat(u, v)))
 *
 * So a table of many rows is not written as a whole for every Gather. Only sums that nobody else reads are merged,
 * in the order in which they meet. */
#include "train/adjoint_internal.h"

#include "graph/build.h"

enum { ROWS = 1 }; /* the axis of indices and updates that grows */

/* What a sum consists of. */
struct terms {
    struct arena *arena;
    VEC(struct value *) others;
    VEC(struct node *) scatters; /* that fit together */
};

static bool has_one_reader(const struct graph *g, const struct value *v)
{
    return v->uses.count == 1 && !graph_gives(g, v);
}

static bool is_inner_sum(const struct graph *g, const struct value *v, int since)
{
    return v->kind == VALUE_RESULT && v->id >= since && node_is(v->producer, "Add") && has_one_reader(g, v) &&
           shape_equal(&v->producer->inputs.data[0]->shape, &v->producer->inputs.data[1]->shape);
}

/* The stepc.Scatter that adds up from zeros and whose result is v, perhaps under another shape; or NULL. */
static struct node *scatter_behind(const struct graph *g, const struct value *v)
{
    while (v->kind == VALUE_RESULT && has_one_reader(g, v) && node_is(v->producer, "Reshape"))
        v = v->producer->inputs.data[0];
    if (v->kind != VALUE_RESULT || !has_one_reader(g, v) || v->producer->def != op_find(DOMAIN_STEPC, "Scatter"))
        return NULL;
    return node_input(v->producer, 2) == NULL ? v->producer : NULL;
}

static bool fits(const struct node *a, const struct node *b)
{
    const struct value *const i = a->inputs.data[0], *const j = b->inputs.data[0];
    const struct shape *const u = &a->inputs.data[1]->shape, *const v = &b->inputs.data[1]->shape;
    return i->dtype == j->dtype && i->shape.dim[0] == j->shape.dim[0] && i->shape.dim[2] == j->shape.dim[2] &&
           u->dim[0] == v->dim[0] && u->dim[2] == v->dim[2] && op_attr_int(a, "size") == op_attr_int(b, "size");
}

static void sort_term(const struct graph *g, struct terms *t, struct value *v)
{
    struct node *const n = scatter_behind(g, v);
    if (n != NULL && (t->scatters.count == 0 || fits(t->scatters.data[0], n)))
        vec_push(t->arena, &t->scatters, n);
    else
        vec_push(t->arena, &t->others, v);
}

/* With a list of its own: sums may be longer than the stack is deep. */
static void collect(const struct graph *g, struct terms *t, const struct node *root, int since)
{
    VEC(struct value *) open = {0};
    vec_push(t->arena, &open, root->inputs.data[1]);
    vec_push(t->arena, &open, root->inputs.data[0]);
    while (open.count > 0) {
        struct value *const v = open.data[--open.count];
        if (!is_inner_sum(g, v, since)) {
            sort_term(g, t, v);
            continue;
        }
        vec_push(t->arena, &open, v->producer->inputs.data[1]);
        vec_push(t->arena, &open, v->producer->inputs.data[0]);
    }
}

static struct value *side_by_side(struct builder *b, const struct terms *t, size_t input)
{
    struct value **const parts = arena_array(t->arena, struct value *, t->scatters.count);
    for (size_t i = 0; i < t->scatters.count; i++)
        parts[i] = t->scatters.data[i]->inputs.data[input];
    return build_value(b, "Concat", ATTRS(attr_int("axis", ROWS)), parts, t->scatters.count);
}

static bool merge_sum(struct graph *g, struct node *root, int since)
{
    struct arena scratch = {0};
    struct terms t = {.arena = &scratch};
    struct value *const old = root->outputs.data[0];
    struct builder b = {
        .graph = g, .before = root, .loc = root->loc, .prefix = arena_printf(g->arena, "%s.", old->name)};
    collect(g, &t, root, since);
    if (t.scatters.count > 1) {
        struct value *const in[] = {side_by_side(&b, &t, 0), side_by_side(&b, &t, 1)};
        struct value *sum =
            build_value(&b, "stepc.Scatter", ATTRS(attr_int("size", op_attr_int(t.scatters.data[0], "size"))), in, 2);
        sum = build_reshape(&b, sum, &old->shape);
        for (size_t i = t.others.count; i-- > 0;)
            sum = build_value(&b, "Add", NULL, (struct value *const[]){t.others.data[i], sum}, 2);
        if (!b.failed)
            build_replace(&b, old, sum);
    }
    arena_free(&scratch);
    return !b.failed;
}

bool merge_scatters(struct graph *g, int since)
{
    bool ok = true;
    for (struct node *n = g->last; n != NULL && ok; n = n->prev) {
        struct value *const v = node_output(n, 0);
        if (v == NULL || v->id < since || !node_is(n, "Add") || !graph_is_used(g, v))
            continue;
        const bool is_inner = is_inner_sum(g, v, since) && node_is(v->uses.data[0].node, "Add");
        if (!is_inner && shape_equal(&n->inputs.data[0]->shape, &n->inputs.data[1]->shape))
            ok = merge_sum(g, n, since);
    }
    return ok;
}
