/* What a gradient rule may ask for: see struct grad_ctx. */
#include "train/adjoint.h"

struct value *grad_input(const struct grad_ctx *c, int i)
{
    return node_input(c->node, (size_t)i);
}

int grad_input_count(const struct grad_ctx *c)
{
    return (int)c->node->inputs.count;
}

/* Name of output i, which nobody wanted so far: that of the first wanted one, and the schema's name for the parameter.
 */
static const char *name_of_new_output(const struct node *n, int i)
{
    struct arena *const a = n->graph->arena;
    const char *base = n->name;
    for (size_t k = n->outputs.count; k-- > 0;)
        if (n->outputs.data[k] != NULL)
            base = n->outputs.data[k]->name;
    for (int k = 0; n->def->outputs != NULL && n->def->outputs[k].name != NULL; k++)
        if (k == i)
            return arena_printf(a, "%s.%s", base, n->def->outputs[k].name);
    return arena_printf(a, "%s.%d", base, i);
}

struct value *grad_output(struct grad_ctx *c, int i)
{
    struct node *const n = c->node;
    struct value *v = node_output(n, (size_t)i);
    if (v != NULL)
        return v;

    const size_t at = (size_t)i, old_count = n->outputs.count;
    while (n->outputs.count < at)
        vec_push(n->graph->arena, &n->outputs, NULL);
    v = node_add_output(n, graph_fresh_name(n->graph, name_of_new_output(n, i)));
    if (at < old_count) { /* a gap: the new value belongs there, not to the end */
        n->outputs.count--;
        n->outputs.data[at] = v;
        v->output = i;
    }
    if (!node_infer(n))
        c->b->failed = true;
    return v;
}

bool grad_has_output(const struct grad_ctx *c, int i)
{
    return c->dy[i] != NULL;
}

struct value *grad_of_output(struct grad_ctx *c, int i)
{
    if (c->dy[i] == NULL)
        c->dy[i] = build_full_like(c->b, grad_output(c, i), 0.0);
    return c->dy[i];
}

bool grad_wants(const struct grad_ctx *c, int i)
{
    return (size_t)i < c->node->inputs.count && c->wanted[i];
}

double grad_attr_float(const struct grad_ctx *c, const char *name)
{
    return op_attr_float(c->node, name);
}

int64_t grad_attr_int(const struct grad_ctx *c, const char *name)
{
    return op_attr_int(c->node, name);
}

/* Sums v over the axes along which x was stretched to v's shape. */
static struct value *undo_broadcast(struct builder *b, struct value *v, const struct shape *x)
{
    int axes[SHAPE_MAX_RANK];
    size_t count = 0;
    const int lead = v->shape.rank - x->rank;
    for (int k = 0; k < v->shape.rank; k++)
        if (k < lead || (x->dim[k - lead] == 1 && v->shape.dim[k] != 1))
            axes[count++] = k;
    return build_reshape(b, build_reduce_sum(b, v, axes, count, false), x);
}

bool grad_accumulate(struct grad_ctx *c, int i, struct value *v)
{
    if (!grad_wants(c, i) || c->b->failed)
        return !c->b->failed;
    const struct value *const x = grad_input(c, i);
    struct shape both;
    v = build_cast(c->b, v, x->dtype);
    if (!shape_broadcast(&both, &v->shape, &x->shape))
        UNREACHABLE("gradient of %s: adjoint of input %d has shape %s", op_display_name(c->node->def), i,
                    shape_text(c->b->graph->arena, &v->shape));
    v = build_expand(c->b, v, &both); /* a rule may hand in less than the whole, for instance a scalar */
    if (!shape_equal(&v->shape, &x->shape))
        v = undo_broadcast(c->b, v, &x->shape);
    c->dx[i] = c->dx[i] == NULL ? v : build(c, "Add", c->dx[i], v);
    return !c->b->failed;
}

bool grad_none(struct grad_ctx *c)
{
    return true;
}

bool grad_undefined(struct grad_ctx *c)
{
    c->b->failed = true;
    return diag_error(c->b->graph->diag, &c->node->loc, "the gradient of %s is not defined",
                      op_display_name(c->node->def));
}
