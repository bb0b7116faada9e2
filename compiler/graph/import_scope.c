/* What a name means where it stands. Names of a graph inside a node hide those of the graphs around it. */
#include "graph/import_internal.h"

#include "base/str.h"
#include "graph/upgrade.h"

#include <stdio.h>
#include <string.h>

struct value import_omitted;

/* ---- names ------------------------------------------------------------------------------------------------------- */

const char *import_node_text(struct arena *a, const struct model_node *mn)
{
    return mn->name[0] != '\0' ? arena_printf(a, "node '%s' (%s)", mn->name, mn->op_type)
                               : arena_printf(a, "node #%d (%s)", mn->loc.index, mn->op_type);
}

const char *import_label(const struct model_node *mn)
{
    return mn->name[0] != '\0' ? mn->name : mn->outputs.count > 0 ? mn->outputs.data[0] : mn->op_type;
}

struct import_use import_begin(struct importer *im, const struct import_scope *r, const struct model_node *mn)
{
    struct import_use u = {im, r, mn, mn->loc, im->g, im->g->arena, im->g->diag};
    if (u.loc.origin == NULL)
        u.loc.origin = r->origin;
    if (r->call != NULL && u.loc.origin == NULL)
        u.loc.origin = arena_printf(u.arena, "function '%s' called by %s", r->call->function->name,
                                    import_node_text(u.arena, r->call->node));
    for (const struct call *c = r->call; c != NULL && u.loc.trace == NULL && u.loc.scopes == NULL; c = c->outer) {
        u.loc.trace = c->node->loc.trace;
        u.loc.scopes = c->node->loc.scopes;
    }
    return u;
}

bool import_is_tensor(const struct value *v)
{
    return v != NULL && v != &import_omitted && v->kind != VALUE_SEQUENCE;
}

const struct import_scope *import_region_of(const struct import_scope *r, const char *name)
{
    while (r->outer != NULL && !map_has(r->scope, name))
        r = r->outer;
    return r;
}

static const char *closest_name(struct arena *scratch, const struct import_scope *r, const char *name)
{
    str_list names = {0};
    for (; r != NULL; r = r->outer)
        for (size_t i = 0; i < r->scope->count; i++)
            vec_push(scratch, &names, r->scope->entries[i].key);
    return str_closest(name, names.data, names.count);
}

/* Says why `name` is not in scope; `what` is how the node refers to it: "input 1", "xs". */
static bool report_undefined(const struct import_use *u, const char *what, const char *name)
{
    struct diag *const d = u->diag;
    const struct loc *const at = &u->loc;
    const struct model_node *producer = NULL;
    for (const struct import_scope *r = u->r; r != NULL && producer == NULL; r = r->outer)
        producer = map_get(&r->producers, name);
    if (producer == u->mn)
        return diag_error(d, at, "%s '%s' is an output of the node itself", what, name);
    if (producer != NULL && u->im->said_unsorted) /* one cure for all */
        return false;
    u->im->said_unsorted = u->im->said_unsorted || producer != NULL;
    if (producer != NULL)
        return diag_error(d, at,
                          "%s '%s' is not defined before the node: %s defines it later, nodes must be sorted: stepc "
                          "convert --sort does it",
                          what, name, import_node_text(d->arena, producer));

    struct arena scratch = {0};
    const char *const close = closest_name(&scratch, u->r, name);
    if (close != NULL)
        diag_error(d, at, "%s '%s' is not defined; did you mean '%s'?", what, name, close);
    else
        diag_error(d, at, "%s '%s' is not defined: no input, initializer or node output has this name", what, name);
    arena_free(&scratch);
    return false;
}

bool import_resolve(const struct import_use *u, const char *what, const char *name, struct value **v)
{
    const struct map *const scope = import_region_of(u->r, name)->scope;
    *v = map_get(scope, name);
    if (*v == NULL)
        return !map_has(scope, name) && report_undefined(u, what, name);
    if (*v == &import_omitted)
        *v = NULL;
    return true;
}

bool import_resolve_input(const struct import_use *u, size_t i, struct value **v)
{
    char what[40];
    snprintf(what, sizeof what, "input %zu", i);
    *v = NULL;
    return i >= u->mn->inputs.count || u->mn->inputs.data[i][0] == '\0' ||
           import_resolve(u, what, u->mn->inputs.data[i], v);
}

bool import_resolve_tensor(const struct import_use *u, size_t i, struct value **v)
{
    if (!import_resolve_input(u, i, v))
        return false;
    if (*v == NULL || (*v)->kind != VALUE_SEQUENCE)
        return true;
    return diag_error(u->diag, &u->loc, "input %zu '%s' is a sequence, expected a tensor", i, u->mn->inputs.data[i]);
}

const char *import_graph_name(const struct import_use *u, const char *name)
{
    const char *const given = map_get(&u->r->names, name);
    return given != NULL ? given : u->r->prefix[0] != '\0' ? arena_printf(u->arena, "%s%s", u->r->prefix, name) : name;
}

bool import_poison_outputs(const struct import_use *u)
{
    vec_each(const char *, name, &u->mn->outputs)
        if (name[0] != '\0' && !map_has(u->r->scope, name))
            map_set(u->r->scope, name, NULL);
    return false;
}

bool import_check_outputs_new(const struct import_use *u)
{
    bool ok = true;
    for (size_t i = 0; i < u->mn->outputs.count; i++) {
        const char *const name = u->mn->outputs.data[i];
        bool taken = name[0] != '\0' && map_has(u->r->scope, name);
        for (size_t k = 0; k < i && name[0] != '\0'; k++)
            taken = taken || strcmp(u->mn->outputs.data[k], name) == 0;
        if (taken)
            ok = diag_error(u->diag, &u->loc, "output %zu '%s' is already defined: every value has one definition", i,
                            name);
    }
    return ok;
}

bool import_choose(const struct import_use *u, struct op_choice *out)
{
    return upgrade_choose(u->diag, u->mn, u->r->opsets, u->im->model->ir_version, out) &&
           upgrade_check_node(u->diag, out, u->mn) && import_check_outputs_new(u);
}

struct value *import_variable(const struct import_use *u, const char *name, struct value *v)
{
    if (u->r->outer != NULL || u->r->call != NULL || !map_has(&u->im->listed, name) || v->bounded != NULL)
        return v;
    struct builder b = import_builder(u);
    struct value *const copy = build_value(&b, "Identity", NULL, &v, 1);
    if (v->kind == VALUE_RESULT && strcmp(v->name, name) == 0) /* of a call */
        graph_rename(u->g, v, graph_fresh_name(u->g, arena_printf(u->arena, "%s.made", name)));
    graph_rename(u->g, copy, graph_fresh_name(u->g, name));
    return b.failed ? NULL : copy;
}

bool import_define(const struct import_use *u, size_t i, struct value *v, int since)
{
    if (i >= u->mn->outputs.count || u->mn->outputs.data[i][0] == '\0')
        return true;
    const char *const name = u->mn->outputs.data[i];
    if (import_is_tensor(v))
        v = import_variable(u, name, v);
    if (v == NULL)
        return false;
    map_set(u->r->scope, name, v);
    if (!import_is_tensor(v))
        return true;
    if (v->kind == VALUE_RESULT && v->id >= since)
        graph_rename(u->g, v, graph_fresh_name(u->g, import_graph_name(u, name)));
    const struct model_value_info *const vi = map_get(&u->r->declared, name);
    return vi == NULL || import_check_declared(u->diag, vi, v);
}

void import_index_region(struct import_scope *r, struct arena *a, const model_nodes *nodes, const model_values *infos)
{
    r->producers.arena = r->declared.arena = r->names.arena = a;
    vec_each(struct model_node *, n, nodes)
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0')
                map_set(&r->producers, name, n);
    vec_each(struct model_value_info *, vi, infos)
        map_set(&r->declared, vi->name, vi);
}
