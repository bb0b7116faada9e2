/* The table of passes and the loop that brings a graph to its canonical form. */
#include "rewrite/pass.h"

#include "graph/region.h"

#include <string.h>

/* chains are followed within a round, so that few are needed; what is left then is correct as well */
enum { MOST_ROUNDS = 16 };

static const struct pass {
    const char *name;
    bool (*run)(struct graph *g);
} passes[] = {
    {"expand", rewrite_expand}, {"fold", rewrite_fold}, {"simplify", rewrite_simplify}, {"cse", rewrite_cse},
    {"dce", rewrite_dce},
};
enum { PASS_COUNT = sizeof passes / sizeof passes[0] };

const char *const pass_names[] = {"expand", "fold", "simplify", "cse", "dce", NULL};

static void dump(const struct graph *g, const struct pass *p, int round, const struct pass_options *o)
{
    if (o == NULL || o->dump_after == NULL || o->dump_to == NULL || strcmp(o->dump_after, p->name) != 0)
        return;
    struct arena scratch = {0};
    fprintf(o->dump_to, "# after %s, round %d\n%s", p->name, round, graph_print(&scratch, g));
    arena_free(&scratch);
}

/* What the node does not need any more of its region, and the other way round. */
static void trim_region(struct node *n)
{
    struct region *const r = n->region;
    for (int i = r->states; i < (int)r->program->variables.count; i++)
        if (node_output(n, (size_t)i) == NULL)
            region_drop(r, i);
    const struct graph *const g = region_graph(r);
    for (size_t i = g->inputs.count; i-- > 0;) {
        const size_t input = (size_t)r->states + i;
        if (node_input(n, input) != NULL && !graph_is_used(g, g->inputs.data[i]))
            node_set_input(n, (int)input, NULL);
    }
}

static bool canonicalise_regions(struct graph *g, const struct pass_options *o)
{
    bool ok = true;
    graph_each_node(g, n) {
        if (n->region == NULL)
            continue;
        trim_region(n);
        ok &= canonicalise(region_graph(n->region), o);
        trim_region(n);
    }
    return ok;
}

static bool run_round(struct graph *g, int round, const struct pass_options *o)
{
    if (!canonicalise_regions(g, o))
        return false;
    for (size_t i = 0; i < PASS_COUNT; i++) {
        if (passes[i].run == rewrite_expand ? !rewrite_expand_some(g, o) : !passes[i].run(g))
            return false;
        dump(g, &passes[i], round, o);
#ifndef NDEBUG
        graph_verify(g, passes[i].name);
#endif
    }
    return true;
}

bool canonicalise(struct graph *g, const struct pass_options *o)
{
    for (int round = 1; round <= MOST_ROUNDS; round++) {
        const uint64_t edits = g->edits;
        if (!run_round(g, round, o))
            return false;
        if (g->edits == edits)
            break;
    }
    return true;
}
