/* Calls of the model's own functions are inlined: the body's nodes are imported under names of their own, with the
 * actual operands in place of the formal ones. GraphCall is such a call. */
#include "graph/import_internal.h"

#include "base/str.h"

#include <string.h>

/* ---- functions of the model -------------------------------------------------------------------------------------- */

/* The standard domain has two spellings. */
const char *import_function_key(struct arena *a, const char *domain, const char *name, const char *overload)
{
    return arena_printf(a, "%s\1%s\1%s", model_domain(domain), name, overload);
}

bool import_is_graph_call(const struct model_node *mn)
{
    return strcmp(mn->domain, DOMAIN_TRAINING) == 0 && strcmp(mn->op_type, "GraphCall") == 0;
}

void import_index_functions(struct map *functions, const struct model *m)
{
    vec_each(struct model_function *, f, &m->functions) {
        const char *const key = import_function_key(functions->arena, f->domain, f->name, f->overload);
        if (!map_has(functions, key))
            map_set(functions, key, f);
    }
}

/* R31 in docs/readings.md: GraphCall of release 1.7 runs the main graph on other inputs. It is a call of a function
 * with that body, whose free names are the initializers. */
const struct model_function *import_main_graph_as_function(struct arena *a, const struct model *m)
{
    struct model_function *const f = arena_new(a, struct model_function);
    const struct model_graph *const mg = m->graph;
    *f = (struct model_function){.name = mg->name, .domain = "", .overload = "", .doc = "", .opsets = m->opsets,
                                 .nodes = mg->nodes, .value_infos = mg->value_infos, .loc = mg->loc};
    for (size_t i = 0; i < mg->inputs.count; i++)
        vec_push(a, &f->inputs, mg->inputs.data[i]->name);
    for (size_t i = 0; i < mg->outputs.count; i++)
        vec_push(a, &f->outputs, mg->outputs.data[i]->name);
    vec_push(a, &f->attributes, "graph_name");
    return f;
}

/* The function that the node calls, or NULL. A local function named like a standard operator wins (R5). */
const struct model_function *import_called_function(const struct map *functions, const struct model_node *mn)
{
    if (functions->count == 0)
        return NULL;
    return map_get(functions, import_function_key(functions->arena, mn->domain, mn->op_type, mn->overload));
}

/* ---- calls of functions ------------------------------------------------------------------------------------------ */

const struct model_attr *import_find_attr(struct model_attr *const *attrs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(attrs[i]->name, name) == 0)
            return attrs[i];
    return NULL;
}

/* The node with attributes that refer to the function's replaced by the caller's, else by the function's default, else
 * dropped. */
const struct model_node *import_resolve_attrs(struct arena *a, const struct call *call, const struct model_node *mn)
{
    bool any = false;
    for (size_t i = 0; i < mn->attrs.count; i++)
        any = any || mn->attrs.data[i]->ref[0] != '\0';
    if (!any)
        return mn;
    struct model_node *const copy = arena_copy(a, mn, sizeof *mn, alignof(struct model_node));
    memset(&copy->attrs, 0, sizeof copy->attrs);
    vec_each(struct model_attr *, attr, &mn->attrs) {
        if (attr->ref[0] != '\0') {
            const struct model_function *const f = call->function;
            const struct model_attr *actual = import_find_attr(call->node->attrs.data, call->node->attrs.count,
                                                               attr->ref);
            if (actual == NULL)
                actual = import_find_attr(f->attribute_defaults.data, f->attribute_defaults.count, attr->ref);
            if (actual == NULL)
                continue;
            const char *const name = attr->name;
            attr = arena_copy(a, actual, sizeof *actual, alignof(struct model_attr));
            attr->name = name;
            attr->ref = "";
        }
        vec_push(a, &copy->attrs, attr);
    }
    return copy;
}

static bool check_call(struct importer *im, const struct region *r, const struct model_node *mn,
                       const struct model_function *f)
{
    const struct loc loc = import_node_loc(im, r, mn);
    for (const struct call *c = r->call; c != NULL; c = c->outer)
        if (c->function == f)
            return diag_error(im->g->diag, &loc, "function '%s' calls itself", f->name);
    if (r->call != NULL && r->call->depth >= IMPORT_DEEPEST_CALL)
        return diag_error(im->g->diag, &loc, "calls of functions are nested more than %d deep", IMPORT_DEEPEST_CALL);
    if (!import_spend(im, &loc, IMPORT_INLINED, (int64_t)f->nodes.count))
        return false;
    if (mn->inputs.count > f->inputs.count)
        return diag_error(im->g->diag, &loc, "function '%s' takes %zu inputs, given %zu", f->name, f->inputs.count,
                          mn->inputs.count);
    if (mn->outputs.count > f->outputs.count)
        return diag_error(im->g->diag, &loc, "function '%s' has %zu outputs, the node names %zu", f->name,
                          f->outputs.count, mn->outputs.count);
    bool ok = true;
    for (size_t i = 0; i < mn->attrs.count; i++) {
        const char *const name = mn->attrs.data[i]->name;
        bool known = str_starts_with(name, "__") ||
                     import_find_attr(f->attribute_defaults.data, f->attribute_defaults.count, name) != NULL;
        for (size_t k = 0; k < f->attributes.count; k++)
            known = known || strcmp(f->attributes.data[k], name) == 0;
        if (!known)
            ok = diag_error(im->g->diag, &loc, "unknown attribute '%s' of function '%s'", name, f->name);
    }
    return ok;
}

static bool check_graph_call(const struct importer *im, const struct region *r, const struct model_node *mn)
{
    const struct loc loc = import_node_loc(im, r, mn);
    if (im->main_graph == NULL || r->call != NULL)
        return diag_error(im->g->diag, &loc, "GraphCall is allowed in algorithm graphs only");
    const struct model_attr *const name = import_find_attr(mn->attrs.data, mn->attrs.count, "graph_name");
    if (name == NULL || name->type != ATTR_STRING || name->s.data == NULL ||
        strcmp(name->s.data, im->main_graph->name) != 0)
        return diag_error(im->g->diag, &loc,
                          "attribute 'graph_name' of GraphCall must be '%s', the name of the main graph",
                          im->main_graph->name);
    return true;
}

/* In a GraphCall initializers and variables keep their names, and stand in for inputs of the same name that are
 * omitted. */
static bool bind_main_graph(const struct importer *im, const struct region *r, const struct model_node *mn,
                            struct map *inner)
{
    const struct model_graph *const mg = im->model->graph;
    bool ok = true;
    while (r->outer != NULL)
        r = r->outer;
    for (size_t i = 0; i < mg->initializers.count; i++)
        if (!map_has(inner, mg->initializers.data[i]->name) ||
            map_get(inner, mg->initializers.data[i]->name) == &import_omitted)
            map_set(inner, mg->initializers.data[i]->name, map_get(r->scope, mg->initializers.data[i]->name));
    for (size_t i = 0; i < mg->sparse_initializers.count; i++)
        if (!map_has(inner, mg->sparse_initializers.data[i]->name))
            map_set(inner, mg->sparse_initializers.data[i]->name,
                    map_get(r->scope, mg->sparse_initializers.data[i]->name));
    const struct loc loc = import_node_loc(im, r, mn);
    for (size_t i = 0; i < mg->inputs.count; i++)
        if (map_get(inner, mg->inputs.data[i]->name) == &import_omitted)
            ok = diag_error(im->g->diag, &loc, "GraphCall omits input %zu '%s', which has no initializer to stand in",
                            i, mg->inputs.data[i]->name);
    return ok;
}

/* Actual operands take the formal names in the function's own scope. */
static bool bind_inputs(const struct importer *im, const struct region *r, const struct model_node *mn,
                        const struct model_function *f, struct map *inner)
{
    bool ok = true;
    for (size_t i = 0; i < f->inputs.count; i++) {
        struct value *v = NULL;
        if (!import_resolve_input(im, r, mn, i, &v))
            ok = false;
        map_set(inner, f->inputs.data[i], v != NULL ? v : &import_omitted);
    }
    return ok;
}

/* Results take the caller's names in the caller's scope. */
static bool bind_outputs(const struct importer *im, const struct region *r, const struct model_node *mn,
                         const struct model_function *f, const struct map *inner)
{
    bool ok = true;
    for (size_t i = 0; i < mn->outputs.count; i++) {
        if (mn->outputs.data[i][0] == '\0')
            continue;
        struct value *const v = map_get(inner, f->outputs.data[i]);
        if (v == NULL && !map_has(inner, f->outputs.data[i]))
            ok = diag_error(im->g->diag, &mn->loc, "function '%s' does not define its output '%s'", f->name,
                            f->outputs.data[i]);
        else if (v == &import_omitted)
            ok = diag_error(im->g->diag, &mn->loc, "output '%s' of function '%s' is an input that the call omits",
                            f->outputs.data[i], f->name);
        else
            map_set(r->scope, mn->outputs.data[i], v);
        if (v == NULL)
            ok = false;
    }
    return ok;
}

bool import_call(struct importer *im, const struct region *r, const struct model_node *mn,
                            const struct model_function *f)
{
    struct arena *const a = im->g->arena;
    struct map scope = {.arena = a};
    bool ok = check_call(im, r, mn, f) && import_check_outputs_new(im, r, mn);
    if (!ok || !bind_inputs(im, r, mn, f, &scope))
        return import_poison_outputs(r, mn);
    if (f == im->main_graph && !bind_main_graph(im, r, mn, &scope))
        return import_poison_outputs(r, mn);

    const char *const label = mn->name[0] != '\0' ? mn->name : mn->outputs.count > 0 ? mn->outputs.data[0] : f->name;
    const struct call call = {f, mn, r->call, r->call != NULL ? r->call->depth + 1 : 1};
    struct region inner = {.scope = &scope,
                           .opsets = f->opsets.count > 0 ? &f->opsets : r->opsets,
                           .call = &call,
                           .repeated = r->repeated,
                           .prefix = arena_printf(a, "%s%s.", r->prefix, label)};
    import_index_region(&inner, a, &f->nodes, &f->value_infos);
    for (size_t i = 0; i < mn->outputs.count; i++) /* results are called as the caller calls them */
        if (mn->outputs.data[i][0] != '\0')
            map_set(&inner.names, f->outputs.data[i], (void *)import_graph_name(im, r, mn->outputs.data[i]));
    ok = import_list(im, &inner, &f->nodes);
    if (!bind_outputs(im, r, mn, f, &scope))
        ok = false;
    return ok || import_poison_outputs(r, mn);
}

bool import_graph_call(struct importer *im, const struct region *r, const struct model_node *mn)
{
    return check_graph_call(im, r, mn) ? import_call(im, r, mn, im->main_graph) : import_poison_outputs(r, mn);
}
