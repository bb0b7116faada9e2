/* Sums of gradients that are zeros but for a piece.
 *
 * Those of several Gathers from one tensor, as an embedding has them that is read for each bag or each step, become
 * one:
 *
 *   d = Add(Add(Scatter(i, u), Scatter(j, v)), g)      d = Add(g, Scatter(Concat(i, j), Concat(u, v)))
 *
 * Those of slices, as a loop over time has them that was unrolled (x[:, t]), stand side by side:
 *
 *   d = Add(Add(SliceGrad(u, 0), SliceGrad(v, 1)), g)  d = Add(g, Concat(u, v))
 *
 * So nothing is written as a whole, and added as a whole, for every piece. Pieces that overlap make several layers.
 * Only sums that nobody else reads are merged, in the order in which they meet. */
#include "train/adjoint_internal.h"

#include "graph/build.h"

#include <stdlib.h>

enum { ROWS = 1 }; /* the axis of indices and updates that grows */

/* What a sum consists of. */
struct sum_terms {
    struct arena *arena;
    VEC(struct value *) others;
    VEC(struct node *) scatters; /* that fit together */
    VEC(struct node *) slices;   /* likewise: pieces along `axis` */
    int axis;
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

/* The node of stepc's own domain whose result is v, perhaps under another shape, if nobody else reads it; or NULL. */
static struct node *node_behind(const struct graph *g, const struct value *v, const char *op)
{
    while (v->kind == VALUE_RESULT && has_one_reader(g, v) && node_is(v->producer, "Reshape"))
        v = v->producer->inputs.data[0];
    const bool is_it = v->kind == VALUE_RESULT && has_one_reader(g, v) && v->producer->def == op_find(DOMAIN_STEPC, op);
    return is_it ? v->producer : NULL;
}

/* ---- scatters ---------------------------------------------------------------------------------------------------- */

/* The stepc.Scatter behind v that adds up from zeros; or NULL. */
static struct node *scatter_behind(const struct graph *g, const struct value *v)
{
    struct node *const n = node_behind(g, v, "Scatter");
    return n != NULL && node_input(n, 2) == NULL ? n : NULL;
}

static bool fits(const struct node *a, const struct node *b)
{
    const struct value *const i = a->inputs.data[0], *const j = b->inputs.data[0];
    const struct shape *const u = &a->inputs.data[1]->shape, *const v = &b->inputs.data[1]->shape;
    return i->dtype == j->dtype && i->shape.dim[0] == j->shape.dim[0] && i->shape.dim[2] == j->shape.dim[2] &&
           u->dim[0] == v->dim[0] && u->dim[2] == v->dim[2] && op_attr_int(a, "size") == op_attr_int(b, "size");
}

static struct value *side_by_side(struct builder *b, const struct sum_terms *t, size_t input)
{
    struct value **const parts = arena_array(t->arena, struct value *, t->scatters.count);
    for (size_t i = 0; i < t->scatters.count; i++)
        parts[i] = t->scatters.data[i]->inputs.data[input];
    return build_value(b, "Concat", ATTRS(attr_int("axis", ROWS)), parts, t->scatters.count);
}

static struct value *merged_scatters(struct builder *b, const struct sum_terms *t)
{
    struct value *const in[] = {side_by_side(b, t, 0), side_by_side(b, t, 1)};
    return build_value(b, "stepc.Scatter", ATTRS(attr_int("size", op_attr_int(t->scatters.data[0], "size"))), in, 2);
}

/* ---- slices ------------------------------------------------------------------------------------------------------ */

static const int64_t *ints_of(const struct node *n, const char *attr)
{
    const int64_t *x = NULL;
    size_t count;
    op_attr_ints(n, attr, &x, &count);
    return x;
}

/* The only axis along which the piece is no whole, if its elements are neighbours there; or -1. */
static int axis_of(const struct node *slice)
{
    const struct shape *const piece = &slice->inputs.data[0]->shape;
    const int64_t *const shape = ints_of(slice, "shape"), *const steps = ints_of(slice, "steps");
    int axis = -1;
    for (int d = 0; d < piece->rank; d++) {
        if (steps[d] != 1 || piece->dim[d] == 0 || (piece->dim[d] != shape[d] && axis >= 0))
            return -1;
        if (piece->dim[d] != shape[d])
            axis = d;
    }
    return axis;
}

static int64_t start_of(const struct node *slice, int axis)
{
    return ints_of(slice, "starts")[axis];
}

static int64_t end_of(const struct node *slice, int axis)
{
    return start_of(slice, axis) + slice->inputs.data[0]->shape.dim[axis];
}

static bool stands_beside(const struct sum_terms *t, const struct node *n)
{
    const struct node *const first = t->slices.data[0];
    const struct shape *const a = &first->inputs.data[0]->shape, *const b = &n->inputs.data[0]->shape;
    bool same = a->rank == b->rank && axis_of(n) == t->axis;
    for (int d = 0; same && d < a->rank; d++)
        same = ints_of(first, "shape")[d] == ints_of(n, "shape")[d];
    return same;
}

/* The stepc.SliceGrad behind v of a piece along one axis that stands beside the others; or NULL. */
static struct node *slice_behind(const struct graph *g, struct sum_terms *t, const struct value *v)
{
    struct node *const n = node_behind(g, v, "SliceGrad");
    if (n == NULL || axis_of(n) < 0 || (t->slices.count > 0 && !stands_beside(t, n)))
        return NULL;
    t->axis = axis_of(n);
    return n;
}

static struct value *zeros(struct builder *b, const struct node *slice, int axis, int64_t count)
{
    const struct value *const dy = slice->inputs.data[0];
    struct shape s = dy->shape;
    shape_set(&s, axis, size_constant(count));
    return build_expand(b, build_scalar(b, dy->dtype, 0), &s);
}

/* The pieces from the first on that do not overlap, side by side with zeros between them; the others stay in the list.
 * The list is in the order of their starts. */
static struct value *take_layer(struct builder *b, struct sum_terms *t)
{
    const int64_t size = ints_of(t->slices.data[0], "shape")[t->axis];
    VEC(struct value *) parts = {0};
    struct node *const first = t->slices.data[0];
    int64_t end = 0;
    size_t left = 0, taken = 0;
    for (size_t i = 0; i < t->slices.count; i++) {
        struct node *const n = t->slices.data[i];
        if (start_of(n, t->axis) < end) {
            t->slices.data[left++] = n;
            continue;
        }
        if (start_of(n, t->axis) > end)
            vec_push(t->arena, &parts, zeros(b, first, t->axis, start_of(n, t->axis) - end));
        vec_push(t->arena, &parts, n->inputs.data[0]);
        end = end_of(n, t->axis);
        taken++;
    }
    t->slices.count = left;
    if (taken == 1)
        return first->outputs.data[0];
    if (end < size)
        vec_push(t->arena, &parts, zeros(b, first, t->axis, size - end));
    return build_value(b, "Concat", ATTRS(attr_int("axis", t->axis)), parts.data, parts.count);
}

/* Of two that begin alike the one that was made first. */
static int by_start(const void *a, const void *b)
{
    struct node *const x = *(struct node *const *)a, *const y = *(struct node *const *)b;
    const int64_t from = start_of(x, axis_of(x)), other = start_of(y, axis_of(y));
    if (from != other)
        return from < other ? -1 : 1;
    return x->outputs.data[0]->id < y->outputs.data[0]->id ? -1 : 1;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void sort_term(const struct graph *g, struct sum_terms *t, struct value *v)
{
    struct node *const scatter = scatter_behind(g, v), *const slice = slice_behind(g, t, v);
    if (scatter != NULL && (t->scatters.count == 0 || fits(t->scatters.data[0], scatter)))
        vec_push(t->arena, &t->scatters, scatter);
    else if (slice != NULL)
        vec_push(t->arena, &t->slices, slice);
    else
        vec_push(t->arena, &t->others, v);
}

/* With a list of its own: sums may be longer than the stack is deep. */
static void collect(const struct graph *g, struct sum_terms *t, const struct node *root, int since)
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

static struct value *sum_of(struct builder *b, struct value *x, struct value *y)
{
    return x == NULL ? y : build_value(b, "Add", NULL, (struct value *const[]){x, y}, 2);
}

static bool merge_sum(struct graph *g, struct node *root, int since)
{
    struct arena scratch = {0};
    struct sum_terms t = {.arena = &scratch};
    struct value *const old = root->outputs.data[0], *sum = NULL;
    struct builder b = {
        .graph = g, .before = root, .loc = root->loc, .prefix = arena_printf(g->arena, "%s.", old->name)};
    collect(g, &t, root, since);
    if (t.scatters.count > 1 || t.slices.count > 1) {
        if (t.scatters.count > 0)
            sum = build_reshape(&b, merged_scatters(&b, &t), &old->shape);
        if (t.slices.count > 0)
            qsort(t.slices.data, t.slices.count, sizeof *t.slices.data, by_start);
        while (t.slices.count > 0)
            sum = sum_of(&b, sum, build_reshape(&b, take_layer(&b, &t), &old->shape));
        for (size_t i = t.others.count; i-- > 0;)
            sum = sum_of(&b, t.others.data[i], sum);
        if (!b.failed)
            build_replace(&b, old, sum);
    }
    arena_free(&scratch);
    return !b.failed;
}

bool merge_sums(struct graph *g, int since)
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
