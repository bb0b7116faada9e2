#include "rewrite/into_region.h"

#include <string.h>

struct into_region into_region(struct graph *g, struct arena *a)
{
    const size_t count = (size_t)g->value_count;
    return (struct into_region){
        .graph = g, .arena = a, .now = arena_array(a, struct value *, count), .is_step = arena_array(a, bool, count)};
}

/* conv1.part1 -> conv1 */
static const char *name_in_region(struct into_region *r, const char *name)
{
    static const char suffix[] = ".part1";
    const size_t length = strlen(name), cut = sizeof suffix - 1;
    const bool has = length > cut && !strcmp(name + length - cut, suffix);
    return graph_fresh_name(region_graph(r->region),
                            has ? arena_printf(r->graph->arena, "%.*s", (int)(length - cut), name) : name);
}

static bool reads_step(const struct into_region *r, const struct node *n)
{
    vec_each(const struct value *, v, &n->inputs)
        if (v != NULL && r->is_step[v->id])
            return true;
    return false;
}

/* To a shape that is not n's own. */
static void add_expand(struct into_region *r, const struct node *n, const struct shape *shape)
{
    struct builder b = {.graph = region_graph(r->region), .prefix = "", .loc = n->loc};
    const struct value *const v = n->outputs.data[0];
    r->now[v->id] = build_expand(&b, r->now[n->inputs.data[0]->id], shape);
    r->is_step[v->id] = true;
}

void into_region_node(struct into_region *r, const struct node *n, const struct shape *shape)
{
    vec_each(struct value *, v, &n->inputs) /* what comes in with them stands in front */
        if (v != NULL)
            into_region_value(r, v);
    if (shape != NULL && n->def->is_broadcast) {
        add_expand(r, n, shape);
        return;
    }
    struct node *const copy = graph_add_like(region_graph(r->region), n, &n->loc, NULL);
    if (shape != NULL && node_attr(n, "shape") != NULL)
        node_set_attr(copy, attr_dims("shape", shape));
    vec_each(const struct value *, v, &n->inputs)
        node_add_input(copy, v != NULL ? r->now[v->id] : NULL);
    vec_each(const struct value *, v, &n->outputs) {
        struct value *const made = node_add_output(copy, v != NULL ? name_in_region(r, v->name) : NULL);
        if (v != NULL) {
            r->now[v->id] = made;
            r->is_step[v->id] = reads_step(r, n);
        }
    }
    if (!node_infer(copy))
        UNREACHABLE("a copy of %s '%s' that inference refuses", n->def->name, n->name);
}

struct value *into_region_value(struct into_region *r, struct value *v)
{
    if (r->now[v->id] != NULL)
        return r->now[v->id];
    const struct op_def *const def = v->kind == VALUE_RESULT ? v->producer->def : NULL;
    if (v->kind == VALUE_CONSTANT) {
        r->now[v->id] = graph_add_constant(region_graph(r->region), v->name, v->constant);
    } else if (def != NULL && (def->is_view || def->is_broadcast || def->is_reshape) && !reads_step(r, v->producer)) {
        into_region_node(r, v->producer, NULL);
    } else {
        r->now[v->id] = region_input(r->region, v->name, v->dtype, &v->shape, false);
        vec_push(r->arena, &r->inputs, v);
    }
    return r->now[v->id];
}

void into_region_slice(struct into_region *r, struct builder *b, struct value *v, struct value *whole,
                       const struct shape *of_step, int axis)
{
    r->now[v->id] = region_input(r->region, whole->name, whole->dtype, of_step, true);
    r->is_step[v->id] = true;
    vec_push(r->arena, &r->inputs, into_region_cut(b, whole, axis, whole->shape.dim[axis] / of_step->dim[axis]));
}

/* Is the axis, or what is left of it in a step, the first one that has more than one element? */
static bool is_outermost(const struct shape *s, int axis)
{
    for (int d = 0; d < axis; d++)
        if (s->dim[d] != 1)
            return false;
    return true;
}

struct value *into_region_cut(struct builder *b, struct value *whole, int axis, int64_t steps)
{
    const bool outermost = is_outermost(&whole->shape, axis);
    struct shape s = SHAPE_SCALAR;
    int perm[SHAPE_MAX_RANK + 1], rank = 0;
    if (outermost)
        shape_add(&s, size_constant(steps));
    for (int d = 0; d < whole->shape.rank; d++) {
        if (d == axis && !outermost)
            shape_add(&s, size_constant(steps));
        shape_add(&s, size_constant(d == axis ? whole->shape.dim[d] / steps : whole->shape.dim[d]));
    }
    perm[rank++] = axis;
    for (int d = 0; d < s.rank; d++)
        if (d != axis)
            perm[rank++] = d;
    struct value *const apart = build_reshape(b, whole, &s);
    return outermost ? apart : build_transpose(b, apart, perm);
}

struct value *into_region_whole(struct builder *b, struct value *cut, int axis, const struct shape *to)
{
    int perm[SHAPE_MAX_RANK + 1], rank = 0;
    for (int d = 1; d < cut->shape.rank; d++) {
        if (d == axis + 1)
            perm[rank++] = 0;
        perm[rank++] = d;
    }
    return build_reshape(b, is_outermost(to, axis) ? cut : build_transpose(b, cut, perm), to);
}

void into_region_move_readers(struct graph *g, struct node *region)
{
    struct arena scratch = {0};
    bool *const behind = arena_array(&scratch, bool, (size_t)g->value_count);
    for (const struct node *n = region; n != NULL; n = n->next)
        vec_each(const struct value *, v, &n->outputs)
            if (v != NULL)
                behind[v->id] = true;
    for (struct node *n = g->first, *next; n != region; n = next) {
        bool reads = false;
        next = n->next;
        vec_each(const struct value *, v, &n->inputs)
            reads |= v != NULL && behind[v->id];
        if (!reads)
            continue;
        vec_each(const struct value *, v, &n->outputs)
            if (v != NULL)
                behind[v->id] = true;
        graph_move_before(g, n, NULL);
    }
    arena_free(&scratch);
}

void into_region_take_place(struct graph *g, struct value *old, struct value *called, struct value *made)
{
    const char *const name = called->name;
    graph_replace(g, old, made);
    graph_rename(g, called, graph_fresh_name(g, "replaced"));
    graph_rename(g, made, name);
}
