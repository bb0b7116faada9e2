/* The rules `plain` and `downgrade` of all nodes (graph/op_def.h, graph/downgrade.h):
 *
 *   dx = stepc.ConvGradInput(dy, w)      dx = ConvTranspose(dy, w)
 *   y = ReduceMean(x, axes)              y = ReduceMean<axes = [0]>(x) */
#include "expand/expand_internal.h"

#include "base/str.h"
#include "graph/downgrade.h"
#include "graph/region.h"
#include "rewrite/pass.h"

enum { MOST_ROUNDS = 100 };

/* ---- composites -------------------------------------------------------------------------------------------------- */

static bool is_of_gradient(const struct node *n)
{
    return n->loc.origin != NULL && str_starts_with(n->loc.origin, "gradient of");
}

bool expand_stays(const struct node *n, void *choice)
{
    struct expand_choice *const c = choice;
    if (n->def->stays == NULL || !n->def->stays(n) || n->inputs.data[0]->dtype != DTYPE_FLOAT ||
        !downgrade_fits(n, c->opset))
        return false;
    if (c->graph != n->graph) {
        c->graph = n->graph;
        c->is_differentiated = false;
        for (const struct node *x = n->graph->first; x != NULL; x = x->next)
            c->is_differentiated = c->is_differentiated || is_of_gradient(x);
    }
    return !c->is_differentiated;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static const char *prefix_of(const struct node *n)
{
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL)
            return arena_printf(n->graph->arena, "%s.", n->outputs.data[i]->name);
    return "";
}

static bool is_read(const struct node *n)
{
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i] != NULL && graph_is_used(n->graph, n->outputs.data[i]))
            return true;
    return false;
}

/* *any: the node became others. */
static bool make_plain(struct graph *g, struct node *n, const struct plain_target *t, bool *any)
{
    struct builder b = {.graph = g, .before = n, .loc = n->loc, .prefix = prefix_of(n), .stream = n->stream,
                        .counter = n->counter};
    struct expand_ctx c = {.b = &b, .node = n, .target = t};
    if (!n->def->plain(&c) || b.failed)
        return false;
    if (is_read(n))
        return true;
    graph_remove_node(g, n);
    *any = true;
    return true;
}

static bool apply_rules(struct graph *g, const struct plain_target *t)
{
    bool ok = true, any = true;
    for (int round = 0; ok && any && round < MOST_ROUNDS; round++) {
        any = false;
        graph_each_node(g, n) {
            if (n->region != NULL)
                ok &= plain_nodes(region_graph(n->region), t);
            else if (n->def->plain != NULL && is_read(n))
                ok &= make_plain(g, n, t, &any);
        }
    }
    if (any && ok)
        UNREACHABLE("rules of plain nodes make each other's nodes");
    return ok;
}

static bool is_onnx(const struct node *n)
{
    return n->def->domain == NULL || str_equal(n->def->domain, DOMAIN_ONNX);
}

/* The only node of another domain that is written all the same is the one with a region. */
static bool check_domains(const struct graph *g)
{
    bool ok = true;
    for (const struct node *n = g->first; n != NULL; n = n->next)
        if (!is_onnx(n) && n->region == NULL)
            ok = diag_unsupported(g->diag, &n->loc, "%s has no form in operators of ai.onnx yet",
                                  op_display_name(n->def));
    return ok;
}

bool plain_nodes(struct graph *g, const struct plain_target *t)
{
    static bool (*const tidy[])(struct graph *) = {rewrite_fold, rewrite_simplify, rewrite_cse, rewrite_dce};
    bool ok = apply_rules(g, t);
    uint64_t edits = g->edits - 1;
    for (int round = 0; ok && edits != g->edits && round < MOST_ROUNDS; round++) {
        edits = g->edits;
        for (size_t i = 0; ok && i < sizeof tidy / sizeof *tidy; i++)
            ok = tidy[i](g);
    }
    return ok && check_domains(g);
}

/* ---- what is given out ------------------------------------------------------------------------------------------- */

/* v itself, or a copy: *taken says by id what is given out already. */
static struct value *own_result(struct builder *b, struct value *v, bool *taken)
{
    if (v->kind != VALUE_RESULT || taken[v->id])
        return build_value(b, "Identity", NULL, &v, 1);
    taken[v->id] = true;
    return v;
}

/* Each output and each new content of a variable is a result of a node, and of its own. */
static bool separate_results(struct graph *g)
{
    struct builder b = {.graph = g, .loc = g->loc, .prefix = "given."};
    bool *const taken = arena_array(g->arena, bool, (size_t)g->value_count + 1);
    for (size_t i = 0; i < g->outputs.count; i++)
        g->outputs.data[i].value = own_result(&b, g->outputs.data[i].value, taken);
    for (size_t i = 0; i < g->bindings.count; i++)
        g->bindings.data[i].value = own_result(&b, g->bindings.data[i].value, taken);
    return !b.failed;
}

/* A state that a region leaves alone is carried all the same. */
static void carry_all(struct region *r)
{
    struct graph *const g = region_graph(r);
    for (int i = 0; i < r->states; i++) {
        struct variable *const v = r->program->variables.data[i];
        bool is_carried = false;
        for (size_t k = 0; k < g->bindings.count; k++)
            is_carried = is_carried || g->bindings.data[k].variable == v;
        if (!is_carried)
            region_carry(r, i, graph_add_variable(g, v));
    }
}

bool plain_versions(struct graph *g, int opset)
{
    bool ok = separate_results(g);
    graph_each_node(g, n) {
        if (n->region != NULL)
            carry_all(n->region);
        ok &= n->region != NULL ? plain_versions(region_graph(n->region), opset) : downgrade_node(g->diag, n, opset);
    }
    return ok;
}
