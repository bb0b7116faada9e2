#include "prepare/flatten.h"

#include "graph/inline.h"
#include "prepare/decide.h"

#include <string.h>

enum { MOST_NAMED = 6 };

struct hoister {
    struct inliner *inliner;
    struct model *model;
    model_nodes first; /* constants, which are put in front of all nodes */
    str_list moved;
};

/* ---- names in graphs inside nodes -------------------------------------------------------------------------------- */

static bool defines(const struct model_graph *g, const char *name)
{
    struct map own = {.arena = NULL};
    struct arena scratch = {0};
    own.arena = &scratch;
    collect_own_names(&own, g);
    const bool found = map_has(&own, name);
    arena_free(&scratch);
    return found;
}

/* Who reads `old` of the graph, in it or in graphs inside its nodes, reads `name`. */
static void rename_readers(const struct model_graph *g, const char *old, const char *name)
{
    vec_each(struct model_node *, n, &g->nodes) {
        rename_names(&n->inputs, old, name);
        model_each_inner(n, inner)
            if (!defines(inner, old))
                rename_readers(inner, old, name);
    }
}

/* What it is called in the main graph. */
static const char *name_outside(struct hoister *x, const struct model_graph *g, const char *title, const char *name)
{
    if (inline_is_single(x->inliner, name))
        return name;
    const char *const own = inline_fresh_name(x->inliner, arena_printf(x->inliner->arena, "%s.%s", title, name));
    rename_readers(g, name, own);
    return own;
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* What a graph gives has to be made by a node of its own. */
static struct model_node *result_node(struct hoister *x, const char *from, const char *to, const struct loc *at)
{
    struct model_graph holder = {.loc = *at};
    return model_add_node(x->inliner->arena, &holder, "", "Identity", (const char *[]){from, NULL},
                          (const char *[]){to, NULL});
}

static void put_first(struct arena *a, struct model_graph *g, const model_nodes *first)
{
    const model_nodes old = g->nodes;
    if (first->count == 0)
        return;
    memset(&g->nodes, 0, sizeof g->nodes);
    vec_each(struct model_node *, n, first)
        vec_push(a, &g->nodes, n);
    vec_each(struct model_node *, n, &old)
        vec_push(a, &g->nodes, n);
}

static const char *result_name(struct hoister *x, const char *title, const char *name)
{
    return inline_fresh_name(x->inliner, arena_printf(x->inliner->arena, "%s.%s", title, name));
}

/* An initializer that an input hides means nothing. */
static void hoist_initializers(struct hoister *x, struct model_graph *g, const char *title)
{
    struct arena *const a = x->inliner->arena;
    model_nodes results = {0};
    size_t kept = 0;
    vec_each(struct model_initializer *, init, &g->initializers) {
        if (!dtype_is_float(init->tensor->dtype) || model_find_value(&g->inputs, init->name)) {
            g->initializers.data[kept++] = init;
            continue;
        }
        const bool given = model_find_value(&g->outputs, init->name);
        const char *const own = given ? result_name(x, title, init->name) : name_outside(x, g, title, init->name);
        if (given)
            vec_push(a, &results, result_node(x, own, init->name, &init->loc));
        init->name = own;
        vec_push(a, &x->model->graph->initializers, init);
        vec_push(a, &x->moved, own);
    }
    g->initializers.count = kept;
    put_first(a, g, &results);
}

static void hoist_constants(struct hoister *x, struct model_graph *g, const char *title)
{
    struct arena *const a = x->inliner->arena;
    size_t kept = 0;
    vec_each(struct model_node *, n, &g->nodes) {
        if (!inline_weight(n)) {
            g->nodes.data[kept++] = n;
            continue;
        }
        const char *const name = n->outputs.data[0];
        const bool given = model_find_value(&g->outputs, name);
        const char *const own = given ? result_name(x, title, name) : name_outside(x, g, title, name);
        if (given)
            g->nodes.data[kept++] = result_node(x, own, name, &n->loc);
        n->outputs.data[0] = own;
        vec_push(a, &x->first, n);
        vec_push(a, &x->inliner->constants, own);
        vec_push(a, &x->moved, own);
    }
    g->nodes.count = kept;
}

static void hoist_inner(struct hoister *x, const struct model_node *n)
{
    const char *const title = n->name[0] != '\0'     ? n->name
                              : n->outputs.count > 0 ? n->outputs.data[0]
                                                     : n->op_type;
    model_each_inner(n, inner) {
        hoist_initializers(x, inner, title);
        hoist_constants(x, inner, title);
        vec_each(const struct model_node *, m, &inner->nodes)
            hoist_inner(x, m);
    }
}

static void hoist_weights(struct hoister *x)
{
    struct model_graph *const g = x->model->graph;
    vec_each(const struct model_node *, n, &g->nodes)
        hoist_inner(x, n);
    put_first(x->inliner->arena, g, &x->first);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void say_done(struct edit *e, size_t calls, size_t branches, const str_list *moved)
{
    if (calls > 0) {
        edit_changed(e, "functions as their nodes");
        edit_say(e, "%zu call%s of functions: the main graph has the functions' nodes in their place", calls,
                 str_plural(calls));
    }
    if (branches > 0) {
        edit_changed(e, "branches that are decided as their nodes");
        edit_say(e, "%zu If%s decided: the main graph has the nodes of the branch taken", branches,
                 branches == 1 ? " is" : "s are");
    }
    if (moved->count > 0) {
        edit_changed(e, "weights of graphs inside nodes as its own");
        edit_say(e, "%s of graphs inside nodes: the main graph has %s", names_text(e->arena, moved, MOST_NAMED),
                 moved->count == 1 ? "it" : "them");
    }
}

void flatten_model(struct edit *e, const struct import_options *options)
{
    struct inliner x;
    struct hoister hoister = {.inliner = &x, .model = e->model};
    if (e->model->training.count > 0)
        return;
    inline_begin(&x, e->arena, e->model);
    inline_calls(&x);
    size_t by_sizes;
    const size_t branches = decide_branches(&x, options, &by_sizes);
    if (by_sizes > 0)
        edit_say(e, "note: %zu of the Ifs depend%s on --dim or --shape: the model is right for these sizes only",
                 by_sizes, by_sizes == 1 ? "s" : "");
    hoist_weights(&hoister);
    say_done(e, x.calls, branches, &hoister.moved);
    vec_each(const char *, name, &x.constants)
        map_set(&e->inner_constants, name, NULL);
    e->names = (struct map){.arena = e->arena};
    collect_names(&e->names, e->model->graph);
}
