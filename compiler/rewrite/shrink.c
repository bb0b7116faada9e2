/* The last rewrite, of what small kernels are made of (--optimize size) and nobody else sees: operators replace
 * themselves by what takes less memory (graph/op_def.h, `shrink`).
 *
 *   dx = stepc.MaxPoolGrad(x, dy)      y, p = stepc.MaxPoolPlaces(x); dx = stepc.MaxPoolGradAt(p, dy) */
#include "rewrite/pass.h"

#include "graph/build.h"
#include "graph/region.h"

static bool shrink_node(struct graph *g, struct node *n)
{
    struct builder b = {.graph = g,
                        .before = n,
                        .loc = n->loc,
                        .stream = n->stream,
                        .counter = n->counter,
                        .prefix = arena_printf(g->arena, "%s.", n->outputs.data[0]->name)};
    struct expand_ctx c = {.b = &b, .node = n};
    return n->def->shrink(&c) && !b.failed;
}

bool rewrite_shrink(struct graph *g)
{
    bool ok = true;
    const uint64_t edits = g->edits;
    graph_each_node(g, n)
    {
        if (n->region != NULL)
            ok &= rewrite_shrink(region_graph(n->region));
        else if (n->def->shrink != NULL && n->outputs.data[0] != NULL)
            ok &= shrink_node(g, n);
    }
    return ok && (g->edits == edits || rewrite_dce(g));
}
