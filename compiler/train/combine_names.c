/* What the names of a graph mean: tables, so that models with many initializers and bindings are combined in a time
 * that grows with their size. */
#include "train/combine_internal.h"

static void enter(struct map *m, const char *name, void *what)
{
    if (!map_has(m, name)) /* the first one counts */
        map_set(m, name, what);
}

static void enter_node(struct graph_names *x, const struct model_node *n)
{
    for (size_t k = 0; k < n->outputs.count; k++)
        enter(&x->results, n->outputs.data[k], NULL);
    for (size_t k = 0; k < n->inputs.count; k++)
        enter(&x->reads, n->inputs.data[k], NULL);
    for (size_t k = 0; k < n->attrs.count; k++)
        x->may_read_all |= n->attrs.data[k]->type == ATTR_GRAPH || n->attrs.data[k]->type == ATTR_GRAPHS;
}

const struct graph_names *combine_names(struct arena *a, const struct model_graph *mg)
{
    struct graph_names *const x = arena_new(a, struct graph_names);
    *x = (struct graph_names){.graph = mg,
                              .initializers.arena = a,
                              .inputs.arena = a,
                              .outputs.arena = a,
                              .results.arena = a,
                              .reads.arena = a};
    for (size_t i = 0; mg != NULL && i < mg->initializers.count; i++)
        enter(&x->initializers, mg->initializers.data[i]->name, mg->initializers.data[i]);
    for (size_t i = 0; mg != NULL && i < mg->inputs.count; i++)
        enter(&x->inputs, mg->inputs.data[i]->name, mg->inputs.data[i]);
    for (size_t i = 0; mg != NULL && i < mg->outputs.count; i++)
        enter(&x->outputs, mg->outputs.data[i]->name, NULL);
    for (size_t i = 0; mg != NULL && i < mg->nodes.count; i++)
        enter_node(x, mg->nodes.data[i]);
    return x;
}

bool combine_is_read(const struct graph_names *x, const char *name)
{
    return x->may_read_all || map_has(&x->reads, name) || map_has(&x->outputs, name);
}
