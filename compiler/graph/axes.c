#include "graph/axes.h"

#include "graph/bounded.h"

int axes_label(struct axes_ctx *c)
{
    return c->labels++;
}

static int rank_of(const struct value *v)
{
    return v ? v->shape.rank : 0;
}

void axes_put(struct axes_ctx *c, int input, int axis, int label)
{
    if (axis >= 0 && axis < rank_of(node_input(c->node, (size_t)input)))
        c->in[input][axis] = label;
}

void axes_give(struct axes_ctx *c, int output, int axis, int label)
{
    if (axis >= 0 && axis < rank_of(node_output(c->node, (size_t)output)))
        c->out[output][axis] = label;
}

void axes_pass(struct axes_ctx *c, int input, int from, int output, int to)
{
    const struct value *const x = node_input(c->node, (size_t)input), *const y = node_output(c->node, (size_t)output);
    if (from < 0 || from >= rank_of(x) || to < 0 || to >= rank_of(y))
        return;
    int *const a = &c->in[input][from], *const b = &c->out[output][to];
    const int label = *a != AXIS_WHOLE ? *a : *b != AXIS_WHOLE ? *b : axes_label(c);
    *a = *b = label;
}

void axes_pass_but(struct axes_ctx *c, int input, int output, int axis)
{
    for (int d = 0; d < rank_of(node_input(c->node, (size_t)input)); d++)
        if (d != axis)
            axes_pass(c, input, d, output, d);
}

void axes_pass_all(struct axes_ctx *c, int input, int output)
{
    axes_pass_but(c, input, output, -1);
}

void axes_pass_before(struct axes_ctx *c, int input, int output, int axis)
{
    for (int d = 0; d < axis; d++)
        axes_pass(c, input, d, output, d);
}

void axes_pass_broadcast(struct axes_ctx *c, int input)
{
    const struct value *const x = node_input(c->node, (size_t)input), *const y = node_output(c->node, 0);
    for (int d = 0; y && d < rank_of(x); d++) {
        const int to = d + y->shape.rank - x->shape.rank;
        if (to >= 0 && x->shape.dim[d] == y->shape.dim[to])
            axes_pass(c, input, d, 0, to);
    }
}

void axes_broadcast(struct axes_ctx *c)
{
    for (size_t i = 0; i < c->node->inputs.count; i++)
        axes_pass_broadcast(c, (int)i);
}

void axes_samples_and_channels(struct axes_ctx *c)
{
    for (size_t i = 0; i < c->node->outputs.count; i++)
        axes_pass_before(c, 0, (int)i, 2);
}

void axes_samples(struct axes_ctx *c)
{
    for (size_t i = 0; i < c->node->outputs.count; i++)
        axes_pass_before(c, 0, (int)i, 1);
}

/* Shapes alone count: any part of the input tells them. */
static void axes_of_shapes(struct axes_ctx *c)
{
    for (size_t i = 0; i < c->node->inputs.count; i++)
        for (int d = 0; d < rank_of(c->node->inputs.data[i]); d++)
            axes_put(c, (int)i, d, axes_label(c));
}

static void axes_of_input(struct axes_ctx *c)
{
    for (size_t i = 0; i < c->node->outputs.count; i++)
        axes_pass_all(c, 0, (int)i);
}

bool node_axes(struct arena *a, const struct node *n, struct axes_ctx *out)
{
    const struct op_def *const def = n->def;
    *out = (struct axes_ctx){.node = n,
                             .in = arena_array(a, axis_labels, n->inputs.count + 1),
                             .out = arena_array(a, axis_labels, n->outputs.count + 1),
                             .labels = AXIS_WHOLE + 1};
    if (def->axes)
        def->axes(out);
    else if (def->is_elementwise)
        axes_broadcast(out);
    else if (def->is_broadcast)
        axes_pass_broadcast(out, 0);
    else if (def->shape_only)
        axes_of_shapes(out);
    else if (def->bounded == bounded_elementwise) /* what this rule says of one axis holds for each */
        axes_broadcast(out);
    else if (def->bounded == bounded_same)
        axes_of_input(out);
    else if (def->bounded == bounded_samples)
        axes_samples(out);
    else
        return n->inputs.count == 0;
    return true;
}
