/* Dead code: what no output and no binding needs goes, from the end to the front in one walk.
 *
 *   a = Exp(x); b, mask = Dropout(x); output y = b       b = Dropout(x); output y = b
 *
 * Leaves sources that are read, and no unread optional output. */
#include "rewrite/pass.h"

#include "graph/region.h"

static void mark_ends(const struct graph *g, bool *needed)
{
    for (size_t i = 0; i < g->outputs.count; i++)
        needed[g->outputs.data[i].value->id] = true;
    for (size_t i = 0; i < g->bindings.count; i++)
        needed[g->bindings.data[i].value->id] = true;
}

static bool is_needed(const struct node *n, const bool *needed)
{
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL && needed[n->outputs.data[i]->id])
            return true;
    return false;
}

/* Required outputs stay, and variadic ones: their number means something (Split). Of a region's, states stay. */
static bool is_optional_output(const struct op_def *def, size_t i)
{
    for (size_t k = 0; def->outputs != NULL && def->outputs[k].name != NULL; k++)
        if (k == i)
            return (def->outputs[k].flags & PARAM_OPTIONAL) && !(def->outputs[k].flags & PARAM_VARIADIC);
    return false;
}

static void drop_outputs(struct node *n, const bool *needed)
{
    for (size_t i = n->outputs.count; i-- > 0;) {
        const bool may_go = n->region != NULL ? (int)i >= n->region->states : is_optional_output(n->def, i);
        if (n->outputs.data[i] != NULL && !needed[n->outputs.data[i]->id] && may_go)
            node_drop_output(n, i);
    }
}

bool rewrite_dce(struct graph *g)
{
    struct arena scratch = {0};
    bool *needed = arena_array(&scratch, bool, (size_t)g->value_count);
    mark_ends(g, needed);
    for (struct node *n = g->last, *before; n != NULL; n = before) {
        before = n->prev;
        if (!is_needed(n, needed)) {
            graph_remove_node(g, n);
            continue;
        }
        drop_outputs(n, needed);
        for (size_t i = 0; i < n->inputs.count; i++)
            if (n->inputs.data[i] != NULL)
                needed[n->inputs.data[i]->id] = true;
    }
    graph_keep_sources(g, needed);
    arena_free(&scratch);
    return true;
}
