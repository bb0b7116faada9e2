/* What is computed of a whole batch and of its parts as well: along axes that run together (graph/axes.h), an element
 * of the whole is that of its part, bit for bit.
 *
 *   x1, x2 = Split(x); h1 = Relu(x1); h2 = Relu(x2); h = Relu(x)        h is h1 and h2, one behind the other */
#include "rewrite/roll.h"

#include "graph/axes.h"

/* By id of a value of the whole batch: the first part's, and the axis. */
struct counterpart {
    struct value *of_part;
    int axis;
};

struct whole_search {
    struct roll *r;
    struct arena *arena;
    struct counterpart *of;
};

static bool has_counterpart(const struct whole_search *s, const struct value *v)
{
    return v != NULL && s->of[v->id].of_part != NULL;
}

static void note_slices(struct whole_search *s)
{
    vec_each(struct value *, v, &s->r->noted)
        if (roll_is_slice(s->r, v))
            s->of[v->producer->inputs.data[0]->id] = (struct counterpart){v, roll_axis(v)};
}

static bool equal_attributes(const struct node *a, const struct node *b)
{
    for (size_t i = 0; i < a->attrs.count; i++)
        if (!attr_equal(&a->attrs.data[i], &b->attrs.data[i]))
            return false;
    return true;
}

/* Reads n of the whole what m reads of the first part? Operands that reshapes read beside say their shapes. */
static bool reads_alike(const struct whole_search *s, const struct node *n, const struct node *m)
{
    const bool is_reshape = n->def->is_reshape;
    if (n->def != m->def || n->inputs.count != m->inputs.count || n->outputs.count != m->outputs.count ||
        n->attrs.count != m->attrs.count || (!is_reshape && !equal_attributes(n, m)))
        return false;
    for (size_t i = 0; i < n->inputs.count; i++) {
        struct value *const x = n->inputs.data[i], *const y = m->inputs.data[i];
        const bool fits = has_counterpart(s, x) ? s->of[x->id].of_part == y : x == y || (is_reshape && i > 0);
        if (!fits)
            return false;
    }
    return true;
}

static struct node *find_node_of_part(const struct whole_search *s, const struct node *n)
{
    vec_each(const struct value *, x, &n->inputs) {
        if (!has_counterpart(s, x))
            continue;
        vec_each_ptr(const struct use, u, &s->of[x->id].of_part->uses)
            if (reads_alike(s, n, u->node))
                return u->node;
        return NULL;
    }
    return NULL;
}

/* Is y of the first part a piece of x along the axis? */
static bool is_piece(const struct whole_search *s, const struct value *x, const struct value *y, int axis)
{
    if (x->dtype != y->dtype || x->shape.rank != y->shape.rank)
        return false;
    for (int d = 0; d < x->shape.rank; d++)
        if (x->shape.dim[d] != y->shape.dim[d] * (d == axis ? (int64_t)s->r->parts : 1))
            return false;
    return true;
}

/* The label of the axis along which the operands are cut; AXIS_WHOLE: there is no single one. */
static int label_of_operands(const struct whole_search *s, const struct node *n, const struct axes_ctx *axes)
{
    int label = AXIS_WHOLE;
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const x = n->inputs.data[i];
        if (!has_counterpart(s, x))
            continue;
        const int own = axes->in[i][s->of[x->id].axis];
        if (own == AXIS_WHOLE || (label != AXIS_WHOLE && own != label))
            return AXIS_WHOLE;
        label = own;
    }
    return label;
}

/* The axis of output o along which n's results are those of the parts; -1: there is none. */
static int axis_of_output(const struct whole_search *s, const struct node *n, const struct axes_ctx *axes, size_t o)
{
    const int label = axes != NULL ? label_of_operands(s, n, axes) : AXIS_WHOLE;
    if (axes == NULL)
        return s->of[n->inputs.data[0]->id].axis == 0 && n->outputs.data[o]->shape.rank > 0 ? 0 : -1;
    for (int d = 0; label != AXIS_WHOLE && d < n->outputs.data[o]->shape.rank; d++)
        if (axes->out[o][d] == label)
            return d;
    return -1;
}

static void note_results(struct whole_search *s, const struct node *n, const struct node *of_part)
{
    struct axes_ctx axes;
    const bool is_reshape = n->def->is_reshape && has_counterpart(s, n->inputs.data[0]);
    if (!is_reshape && !node_axes(s->arena, n, &axes))
        return;
    for (size_t o = 0; o < n->outputs.count; o++) {
        struct value *const x = n->outputs.data[o], *const y = of_part->outputs.data[o];
        const int axis = x != NULL && y != NULL ? axis_of_output(s, n, is_reshape ? NULL : &axes, o) : -1;
        if (axis >= 0 && is_piece(s, x, y, axis))
            s->of[x->id] = (struct counterpart){y, axis};
    }
}

/* Is v read by something that is not part by part? */
static bool is_read_as_whole(const struct whole_search *s, const struct value *v)
{
    bool any = graph_gives(s->r->graph, v);
    vec_each_ptr(const struct use, u, &v->uses) {
        bool has = false;
        vec_each(const struct value *, y, &u->node->outputs)
            has |= has_counterpart(s, y);
        any |= !has;
    }
    return any;
}

void roll_find_wholes(struct roll *r)
{
    struct whole_search s = {r, r->arena, arena_array(r->arena, struct counterpart, (size_t)r->graph->value_count)};
    note_slices(&s);
    graph_each_node(r->graph, n)
    {
        const struct node *const of_part = find_node_of_part(&s, n);
        if (of_part != NULL)
            note_results(&s, n, of_part);
    }
    graph_each_node(r->graph, n)
        vec_each(struct value *, v, &n->outputs)
            if (has_counterpart(&s, v) && v->shape.rank < SHAPE_MAX_RANK && is_read_as_whole(&s, v))
                vec_push(r->arena, &r->wholes, ((struct roll_whole){v, s.of[v->id].of_part, s.of[v->id].axis}));
}
