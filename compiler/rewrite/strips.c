/* A value that is large, but is made and read along one of its axes, need not lie in memory as a whole:
 *
 *   y = Relu(Conv(x, w))          p = stepc.Scan(Reshape(w, [3, ..]), x)
 *   p = MaxPool(y)                    a strip of p = MaxPool(Relu(Conv(x, strip of w)))
 *
 * A region computes it strip by strip, with all that reads it. Along axes that run together (graph/axes.h) an element
 * is that of its strip, bit for bit. What stands around and is as large goes into the region as well; what is small is
 * cut or put together outside. */
#include "rewrite/into_region.h"
#include "rewrite/pass.h"

#include "graph/axes.h"

enum { LEAST_STRIP = 2 /* elements along the axis: reductions see an axis of one element as absent */ };

typedef VEC(struct value *) value_vec;

struct strips {
    struct arena *arena; /* of the pass */
    struct graph *graph;
    int64_t count;
    int64_t large;    /* bytes from which on a value has to be inside */
    int *axis;        /* by id: 1 + the axis along which the value is cut; 0: it is not */
    bool *is_joined;  /* by id of a result: its node is in the region */
    value_vec cut;    /* all that are */
    value_vec inside; /* those that are to be in the region alone */
    struct into_region into;
};

/* ---- what belongs to it ------------------------------------------------------------------------------------------ */

static int64_t bytes_of(const struct value *v)
{
    return shape_count(&v->shape) * (int64_t)dtype_size(v->dtype);
}

static bool cut(struct strips *s, struct value *v, int axis)
{
    if (s->axis[v->id] != 0)
        return s->axis[v->id] == axis + 1;
    const int64_t size = v->shape.dim[axis];
    if (v->late != NULL || v->shape.rank == SHAPE_MAX_RANK || size % s->count != 0 || size / s->count < LEAST_STRIP)
        return false;
    for (int d = 0; d < axis; d++)
        if (v->shape.dim[d] != 1)
            return false;
    s->axis[v->id] = axis + 1;
    vec_push(s->arena, &s->cut, v);
    if (v->kind == VALUE_RESULT && bytes_of(v) >= s->large && !graph_gives(s->graph, v))
        vec_push(s->arena, &s->inside, v);
    return true;
}

/* The one axis of v with that label; -1: there is none, -2: there are more. */
static int axis_with(const axis_labels *labels, const struct value *v, int label)
{
    int found = -1;
    for (int d = 0; d < v->shape.rank; d++)
        if ((*labels)[d] == label)
            found = found == -1 ? d : -2;
    return found;
}

/* The label along which values of n that are cut already are; AXIS_WHOLE: they do not run together. */
static int label_of(const struct strips *s, const struct node *n, const struct axes_ctx *axes)
{
    int label = AXIS_WHOLE;
    for (size_t i = 0; i < n->inputs.count + n->outputs.count; i++) {
        const bool in = i < n->inputs.count;
        const size_t at = in ? i : i - n->inputs.count;
        const struct value *const v = in ? n->inputs.data[at] : n->outputs.data[at];
        if (v == NULL || s->axis[v->id] == 0)
            continue;
        const int own = (in ? axes->in : axes->out)[at][s->axis[v->id] - 1];
        if (own == AXIS_WHOLE || (label != AXIS_WHOLE && own != label))
            return AXIS_WHOLE;
        label = own;
    }
    return label;
}

/* May n be computed strip by strip, and none of its results is a sum over the axis? What it reads and makes is cut. */
static bool join(struct strips *s, const struct node *n)
{
    struct axes_ctx axes;
    if (n->region != NULL || n->def->is_random || n->def->selects_from != NULL || !node_axes(s->arena, n, &axes))
        return false;
    const int label = label_of(s, n, &axes);
    if (label == AXIS_WHOLE)
        return false;
    for (size_t i = 0; i < n->outputs.count; i++) {
        struct value *const v = n->outputs.data[i];
        const int axis = v != NULL ? axis_with(&axes.out[i], v, label) : -1;
        if (v == NULL)
            continue;
        if (axis < 0 || !cut(s, v, axis))
            return false;
        s->is_joined[v->id] = true;
    }
    for (size_t i = 0; i < n->inputs.count; i++) {
        struct value *const v = n->inputs.data[i];
        const int axis = v != NULL ? axis_with(&axes.in[i], v, label) : -1;
        if (axis == -2 || (axis >= 0 && !cut(s, v, axis)) || (axis < 0 && v != NULL && s->axis[v->id] != 0))
            return false;
    }
    return true;
}

static bool is_joined(const struct strips *s, const struct node *n)
{
    vec_each(const struct value *, v, &n->outputs)
        if (v != NULL)
            return s->is_joined[v->id];
    return false;
}

/* All nodes that make or read what is to be inside. */
static bool find_nodes(struct strips *s)
{
    for (size_t i = 0; i < s->inside.count; i++) {
        const struct value *const v = s->inside.data[i];
        if (!is_joined(s, v->producer) && !join(s, v->producer))
            return false;
        vec_each_ptr(const struct use, u, &v->uses)
            if (!is_joined(s, u->node) && !join(s, u->node))
                return false;
    }
    return true;
}

/* A value that one node reads whole may have been cut for another since; and none of them may read what follows from
 * another one outside of the region. */
static bool may_be_apart(struct strips *s)
{
    bool *const behind = arena_array(s->arena, bool, (size_t)s->graph->value_count);
    graph_each_node(s->graph, n)
    {
        bool reads = false;
        vec_each(const struct value *, v, &n->inputs)
            reads |= v != NULL && (behind[v->id] || (s->is_joined[v->id] && !is_joined(s, n)));
        if (is_joined(s, n) && (reads || !join(s, n)))
            return false;
        vec_each(const struct value *, v, &n->outputs)
            if (v != NULL)
                behind[v->id] = reads;
    }
    return true;
}

/* ---- the region -------------------------------------------------------------------------------------------------- */

static struct shape strip_of(const struct strips *s, const struct value *v)
{
    struct shape of = v->shape;
    const int axis = s->axis[v->id] - 1;
    shape_set(&of, axis, size_constant(of.dim[axis] / s->count));
    return of;
}

static bool is_read_outside(const struct strips *s, const struct value *v)
{
    vec_each_ptr(const struct use, u, &v->uses)
        if (!is_joined(s, u->node))
            return true;
    return graph_gives(s->graph, v);
}

/* `last`: the last node before any was made here. */
static void add_body(struct strips *s, const struct node *last)
{
    for (const struct node *n = s->graph->first; n != last->next; n = n->next) {
        if (!is_joined(s, n))
            continue;
        const struct shape of = n->outputs.data[0] != NULL ? strip_of(s, n->outputs.data[0]) : SHAPE_SCALAR;
        into_region_node(&s->into, n, n->outputs.data[0] != NULL ? &of : NULL);
    }
}

static bool build_strips(struct strips *s)
{
    struct graph *const g = s->graph;
    struct builder b = {.graph = g, .prefix = "strips.", .loc = s->inside.data[0]->producer->loc};
    const struct node *const last = g->last;
    value_vec stacked = {0};
    VEC(const char *) names = {0};
    s->into = into_region(g, s->arena);
    s->into.region = region_new(g, size_constant(s->count), false);
    s->into.region->strips_of = s->inside.data[0]->name;
    const size_t count = s->cut.count;
    for (size_t i = 0; i < count; i++) {
        struct value *const v = s->cut.data[i];
        const struct shape of = strip_of(s, v);
        if (!s->is_joined[v->id])
            into_region_slice(&s->into, &b, v, v, &of, s->axis[v->id] - 1);
        else if (is_read_outside(s, v))
            vec_push(s->arena, &stacked, v);
    }
    add_body(s, last);
    vec_each(struct value *, v, &stacked) {
        region_stack(s->into.region, v->name, s->into.now[v->id]);
        vec_push(s->arena, &names, v->name);
        graph_rename(g, v, graph_fresh_name(g, "replaced"));
    }
    struct node *const n =
        build_region(&b, s->into.region, s->into.inputs.data, s->into.inputs.count, names.data, names.count);
    vec_each(struct value *, v, &stacked) {
        struct value *const whole = into_region_whole(&b, n->outputs.data[v_at], s->axis[v->id] - 1, &v->shape);
        graph_replace(g, v, whole);
        graph_rename(g, whole, graph_fresh_name(g, arena_printf(g->arena, "%s.whole", names.data[v_at])));
    }
    into_region_move_readers(g, n);
    return !b.failed;
}

bool rewrite_strips(struct graph *g, struct value *large, int64_t count, bool *done)
{
    struct arena scratch = {0};
    const size_t values = (size_t)g->value_count;
    struct strips s = {.arena = &scratch,
                       .graph = g,
                       .count = count,
                       .large = bytes_of(large) / 2,
                       .axis = arena_array(&scratch, int, values),
                       .is_joined = arena_array(&scratch, bool, values)};
    int axis = 0;
    bool ok = true;
    while (axis + 1 < large->shape.rank && large->shape.dim[axis] == 1)
        axis++;
    *done = large->shape.rank > 0 && cut(&s, large, axis) && s.inside.count > 0 && find_nodes(&s) && may_be_apart(&s);
    if (*done)
        ok = build_strips(&s) && rewrite_dce(g);
    arena_free(&scratch);
    return ok;
}
