/* Composite operators that have no lowering of their own become the operators they are made of:
 *
 *   y = ReduceMean(x)          s = ReduceSum(x); y = Div(s, 6)
 *
 * Expansions may contain composites again, a bounded number of times. */
#include "rewrite/pass.h"

#include "graph/build.h"

enum { MOST_ROUNDS = 100 };

static bool is_composite(const struct node *n)
{
    return n->def->lower == NULL && n->def->expand != NULL;
}

static const char *prefix_of(const struct node *n)
{
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL)
            return arena_printf(n->graph->arena, "%s.", n->outputs.data[i]->name);
    return "";
}

static bool expand_node(struct graph *g, struct node *n)
{
    struct builder b = {.graph = g, .before = n, .loc = n->loc, .prefix = prefix_of(n), .stream = n->stream, .counter = n->counter};
    struct expand_ctx c = {.b = &b, .node = n};
    if (!n->def->expand(&c) || b.failed)
        return false;
    graph_remove_node(g, n);
    return true;
}

bool rewrite_expand(struct graph *g)
{
    bool ok = true;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        bool any = false;
        graph_each_node(g, n) {
            if (!is_composite(n))
                continue;
            any = true;
            if (!expand_node(g, n))
                ok = false;
        }
        if (!any || !ok)
            return ok;
    }
    UNREACHABLE("composites expand into each other");
}
