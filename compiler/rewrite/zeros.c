/* What init() sets to zeros begins with zeros, as moments of optimizers do. Emitted code then clears all of it at once,
 * where a kernel for each bias would fill it. */
#include "rewrite/pass.h"

/* A variable that the graph reads has to begin with what it has. */
static bool is_read(const struct graph *g, const struct variable *v)
{
    const struct value *const read = map_get(&g->variables, v->name);
    return read && graph_is_used(g, read);
}

bool rewrite_zeros(struct graph *g)
{
    for (size_t i = g->bindings.count; i-- > 0;) {
        const struct binding *const b = &g->bindings.data[i];
        const struct tensor *const element = uniform_value(g, b->value);
        if (!element || !tensor_is_zero(element) || is_read(g, b->variable))
            continue;
        b->variable->initial = tensor_new(g->arena, b->variable->dtype, &b->variable->shape);
        vec_remove(&g->bindings, i);
        g->edits++;
    }
    return rewrite_dce(g);
}
