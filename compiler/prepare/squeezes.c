#include "prepare/squeezes.h"

#include "prepare/edit.h"
#include "prepare/prepare_internal.h"

enum { AXES_INPUT = 13 /* opset from which axes are an input */ };

static bool has_no_axes(const struct model_node *n)
{
    return is_op(n, "Squeeze") && n->inputs.count > 0 && !model_find_attr(&n->attrs, "axes") &&
           (n->inputs.count < 2 || n->inputs.data[1][0] == '\0');
}

static bool has_such_nodes(const struct model_graph *g)
{
    vec_each(const struct model_node *, n, &g->nodes)
        if (has_no_axes(n))
            return true;
    return false;
}

static void set_axes(struct edit *e, struct model_node *n, const int64_t *axes, size_t count)
{
    n->inputs.count = 1;
    if (count == 0) {
        n->op_type = "Identity";
    } else if (model_opset(&e->model->opsets, "") < AXES_INPUT) {
        model_set_ints(e->arena, n, "axes", axes, count);
    } else {
        const char *const name = edit_fresh_name(e, arena_printf(e->arena, "%s.axes", n->outputs.data[0]));
        model_add_initializer(e->arena, e->model->graph, name, tensor_from_ints(e->arena, axes, (int64_t)count));
        vec_push(e->arena, &n->inputs, name);
    }
}

static bool keep_batch(struct edit *e, const struct batch_axes *b, struct model_node *n)
{
    const char *const name = n->inputs.data[0];
    const struct shape *const x = size_of_value(b, name);
    int64_t axes[SHAPE_MAX_RANK];
    size_t count = 0;
    bool batch = false;
    for (int d = 0; x && d < x->rank; d++) {
        const bool own = is_batch_dim(b, name, d);
        if (!own && x->dim[d] == 1)
            axes[count++] = d;
        batch = batch || own;
    }
    if (batch)
        set_axes(e, n, axes, count);
    return batch;
}

static void leave_out_wrong_ranks(const struct batch_axes *b, const model_values *values)
{
    vec_each(struct model_value_info *, vi, values) {
        const struct shape *const s = size_of_value(b, vi->name);
        if (s && vi->type.has_shape && vi->type.dims.count != (size_t)s->rank) {
            vi->type.has_shape = false;
            vi->type.dims.count = 0;
        }
    }
}

void keep_batch_of_squeezes(struct diag *d, struct arena *a, struct model *m, const struct import_options *o)
{
    struct batch_axes axes;
    struct edit e;
    bool changed = false;
    if (!has_such_nodes(m->graph))
        return;
    edit_begin(&e, d, a, m, NULL);
    find_batch_axes(a, m, o, &axes);
    vec_each(struct model_node *, n, &m->graph->nodes)
        if (has_no_axes(n) && keep_batch(&e, &axes, n)) {
            diag_note(d, &n->loc, "it has no axes, and would take out a batch of one sample: the batch stays");
            changed = true;
        }
    if (!changed)
        return;
    find_batch_axes(a, m, o, &axes);
    leave_out_wrong_ranks(&axes, &m->graph->outputs);
    leave_out_wrong_ranks(&axes, &m->graph->value_infos);
}
