/* What a name means where it stands. Names of a graph inside a node hide those of the graphs around it. */
#include "graph/import_internal.h"

#include "base/str.h"

#include <stdio.h>
#include <string.h>

struct value import_omitted;

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *import_node_text(struct arena *a, const struct model_node *mn)
{
    return mn->name[0] != '\0' ? arena_printf(a, "node '%s' (%s)", mn->name, mn->op_type)
                               : arena_printf(a, "node #%d (%s)", mn->loc.index, mn->op_type);
}

struct loc import_node_loc(const struct importer *im, const struct region *r, const struct model_node *mn)
{
    struct loc loc = mn->loc;
    if (loc.origin == NULL)
        loc.origin = r->origin;
    if (r->call != NULL && loc.origin == NULL)
        loc.origin = arena_printf(im->g->arena, "function '%s' called by %s", r->call->function->name,
                                  import_node_text(im->g->arena, r->call->node));
    return loc;
}

static const char *closest_name(struct arena *scratch, const struct region *r, const char *name)
{
    VEC(const char *) names = {0};
    for (; r != NULL; r = r->outer)
        for (size_t i = 0; i < r->scope->count; i++)
            vec_push(scratch, &names, r->scope->entries[i].key);
    return str_closest(name, names.data, names.count);
}

/* Says why `name` is not in scope; `what` is how the node refers to it: "input 1", "xs". */
static bool report_undefined(const struct importer *im, const struct region *r, const struct model_node *mn,
                             const char *what, const char *name)
{
    struct diag *const d = im->g->diag;
    const struct loc loc = import_node_loc(im, r, mn);
    const struct model_node *producer = NULL;
    for (const struct region *at = r; at != NULL && producer == NULL; at = at->outer)
        producer = map_get(&at->producers, name);
    if (producer == mn)
        return diag_error(d, &loc, "%s '%s' is an output of the node itself", what, name);
    if (producer != NULL)
        return diag_error(d, &loc, "%s '%s' is not defined before the node: %s defines it later, nodes must be sorted",
                          what, name, import_node_text(d->arena, producer));

    struct arena scratch = {0};
    const char *const close = closest_name(&scratch, r, name);
    if (close != NULL)
        diag_error(d, &loc, "%s '%s' is not defined; did you mean '%s'?", what, name, close);
    else
        diag_error(d, &loc, "%s '%s' is not defined: no input, initializer or node output has this name", what, name);
    arena_free(&scratch);
    return false;
}

bool import_resolve(const struct importer *im, const struct region *r, const struct model_node *mn, const char *what,
                    const char *name, struct value **v)
{
    const struct region *at = r;
    while (at->outer != NULL && !map_has(at->scope, name))
        at = at->outer;
    *v = map_get(at->scope, name);
    if (*v == &import_omitted) {
        *v = NULL;
        return true;
    }
    if (*v != NULL)
        return true;
    if (!map_has(at->scope, name))
        return report_undefined(im, r, mn, what, name);
    return false;
}

bool import_resolve_input(const struct importer *im, const struct region *r, const struct model_node *mn, size_t i,
                          struct value **v)
{
    char what[40];
    snprintf(what, sizeof what, "input %zu", i);
    *v = NULL;
    return i >= mn->inputs.count || mn->inputs.data[i][0] == '\0' ||
           import_resolve(im, r, mn, what, mn->inputs.data[i], v);
}

bool import_resolve_tensor(const struct importer *im, const struct region *r, const struct model_node *mn, size_t i,
                           struct value **v)
{
    if (!import_resolve_input(im, r, mn, i, v))
        return false;
    if (*v == NULL || (*v)->kind != VALUE_SEQUENCE)
        return true;
    const struct loc loc = import_node_loc(im, r, mn);
    return diag_error(im->g->diag, &loc, "input %zu '%s' is a sequence, expected a tensor", i, mn->inputs.data[i]);
}

const char *import_graph_name(const struct importer *im, const struct region *r, const char *name)
{
    const char *const given = map_get(&r->names, name);
    return given != NULL ? given : r->prefix[0] != '\0' ? arena_printf(im->g->arena, "%s%s", r->prefix, name) : name;
}

/* Nothing that the node defines exists; what it would redefine stays. */
bool import_poison_outputs(const struct region *r, const struct model_node *mn)
{
    for (size_t i = 0; i < mn->outputs.count; i++)
        if (mn->outputs.data[i][0] != '\0' && !map_has(r->scope, mn->outputs.data[i]))
            map_set(r->scope, mn->outputs.data[i], NULL);
    return false;
}

/* Every value has one definition. */
bool import_check_outputs_new(const struct importer *im, const struct region *r, const struct model_node *mn)
{
    const struct loc loc = import_node_loc(im, r, mn);
    bool ok = true;
    for (size_t i = 0; i < mn->outputs.count; i++) {
        const char *const name = mn->outputs.data[i];
        bool taken = name[0] != '\0' && map_has(r->scope, name);
        for (size_t k = 0; k < i && name[0] != '\0'; k++)
            taken = taken || strcmp(mn->outputs.data[k], name) == 0;
        if (taken)
            ok = diag_error(im->g->diag, &loc, "output %zu '%s' is already defined: every value has one definition", i,
                            name);
    }
    return ok;
}
bool import_define(const struct importer *im, const struct region *r, const struct model_node *mn, size_t i,
                   struct value *v, int since)
{
    if (i >= mn->outputs.count || mn->outputs.data[i][0] == '\0')
        return true;
    const char *const name = mn->outputs.data[i];
    if (v == NULL)
        return false;
    map_set(r->scope, name, v);
    if (v == &import_omitted || v->kind == VALUE_SEQUENCE)
        return true;
    if (v->kind == VALUE_RESULT && v->id >= since)
        graph_rename(im->g, v, graph_fresh_name(im->g, import_graph_name(im, r, name)));
    const struct model_value_info *const vi = map_get(&r->declared, name);
    return vi == NULL || import_check_declared(im->g->diag, vi, "value", v);
}

void import_index_region(struct region *r, struct arena *a, const model_nodes *nodes, const model_values *infos)
{
    r->producers.arena = r->declared.arena = r->names.arena = a;
    vec_each(struct model_node *, n, nodes)
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0')
                map_set(&r->producers, name, n);
    vec_each(struct model_value_info *, vi, infos)
        map_set(&r->declared, vi->name, vi);
}
