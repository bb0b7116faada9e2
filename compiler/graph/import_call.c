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

const struct model_function *import_called_function(const struct map *functions, const struct model_node *mn)
{
    if (functions->count == 0)
        return NULL;
    return map_get(functions, import_function_key(functions->arena, mn->domain, mn->op_type, mn->overload));
}

/* ---- calls of functions ------------------------------------------------------------------------------------------ */

struct model_attr *import_resolve_attr(struct arena *a, const struct call *call, const struct model_attr *attr)
{
    const struct model_attr *actual = model_find_attr(&call->node->attrs, attr->ref);
    if (actual == NULL)
        actual = model_find_attr(&call->function->attribute_defaults, attr->ref);
    if (actual == NULL)
        return NULL;
    struct model_attr *const copy = arena_copy(a, actual, sizeof *actual, alignof(struct model_attr));
    copy->name = attr->name;
    copy->ref = "";
    return copy;
}

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
        struct model_attr *const actual = attr->ref[0] != '\0' ? import_resolve_attr(a, call, attr) : attr;
        if (actual != NULL)
            vec_push(a, &copy->attrs, actual);
    }
    return copy;
}

static bool check_call(const struct import_use *u, const struct model_function *f)
{
    for (const struct call *c = u->r->call; c != NULL; c = c->outer)
        if (c->function == f)
            return diag_error(u->diag, &u->loc, "function '%s' calls itself", f->name);
    if (u->r->call != NULL && u->r->call->depth >= IMPORT_DEEPEST_CALL)
        return diag_error(u->diag, &u->loc, "calls of functions are nested more than %d deep", IMPORT_DEEPEST_CALL);
    if (!import_spend(u->im, &u->loc, IMPORT_INLINED, (int64_t)f->nodes.count))
        return false;
    if (u->mn->inputs.count > f->inputs.count)
        return diag_error(u->diag, &u->loc, "function '%s' takes %zu inputs, given %zu", f->name, f->inputs.count,
                          u->mn->inputs.count);
    if (u->mn->outputs.count > f->outputs.count)
        return diag_error(u->diag, &u->loc, "function '%s' has %zu outputs, the node names %zu", f->name,
                          f->outputs.count, u->mn->outputs.count);
    /* what a call leaves out is bound as well */
    const size_t left_out = f->inputs.count - u->mn->inputs.count + f->outputs.count - u->mn->outputs.count;
    if (!import_spend(u->im, &u->loc, IMPORT_ENTRIES, (int64_t)left_out))
        return false;
    bool ok = true;
    vec_each(const struct model_attr *, x, &u->mn->attrs) {
        bool known = str_starts_with(x->name, "__") || model_find_attr(&f->attribute_defaults, x->name) != NULL;
        vec_each(const char *, name, &f->attributes)
            known = known || strcmp(name, x->name) == 0;
        if (!known)
            ok = diag_error(u->diag, &u->loc, "unknown attribute '%s' of function '%s'", x->name, f->name);
    }
    return ok;
}

static bool check_graph_call(const struct import_use *u)
{
    if (u->im->main_graph == NULL || u->r->call != NULL)
        return diag_error(u->diag, &u->loc, "GraphCall is allowed in algorithm graphs only");
    const struct model_attr *const name = model_find_attr(&u->mn->attrs, "graph_name");
    if (name == NULL || name->type != ATTR_STRING || name->s.data == NULL ||
        strcmp(name->s.data, u->im->main_graph->name) != 0)
        return diag_error(u->diag, &u->loc,
                          "attribute 'graph_name' of GraphCall must be '%s', the name of the main graph",
                          u->im->main_graph->name);
    return true;
}

/* In a GraphCall initializers and variables keep their names, and stand in for inputs of the same name that are
 * omitted. */
static bool bind_main_graph(const struct import_use *u, struct map *inner)
{
    const struct model_graph *const mg = u->im->model->graph;
    const struct import_scope *r = u->r;
    bool ok = true;
    while (r->outer != NULL)
        r = r->outer;
    vec_each(const struct model_initializer *, x, &mg->initializers)
        if (!map_has(inner, x->name) || map_get(inner, x->name) == &import_omitted)
            map_set(inner, x->name, map_get(r->scope, x->name));
    vec_each(const struct model_sparse *, x, &mg->sparse_initializers)
        if (!map_has(inner, x->name))
            map_set(inner, x->name, map_get(r->scope, x->name));
    for (size_t i = 0; i < mg->inputs.count; i++)
        if (map_get(inner, mg->inputs.data[i]->name) == &import_omitted)
            ok = diag_error(u->diag, &u->loc, "GraphCall omits input %zu '%s', which has no initializer to stand in",
                            i, mg->inputs.data[i]->name);
    return ok;
}

/* Actual operands take the formal names in the function's own scope. */
static bool bind_inputs(const struct import_use *u, const struct model_function *f, struct map *inner)
{
    bool ok = true;
    for (size_t i = 0; i < f->inputs.count; i++) {
        struct value *v = NULL;
        if (!import_resolve_input(u, i, &v))
            ok = false;
        map_set(inner, f->inputs.data[i], v != NULL ? v : &import_omitted);
    }
    return ok;
}

/* Results take the caller's names in the caller's scope. One that is no node's of the function (id below `since`) is an
 * operand. */
static bool bind_outputs(const struct import_use *u, const struct model_function *f, const struct map *inner, int since)
{
    bool ok = true;
    for (size_t i = 0; i < u->mn->outputs.count; i++) {
        if (u->mn->outputs.data[i][0] == '\0')
            continue;
        struct value *v = map_get(inner, f->outputs.data[i]);
        if (v == NULL && !map_has(inner, f->outputs.data[i]))
            ok = diag_error(u->diag, &u->mn->loc, "function '%s' does not define its output '%s'", f->name,
                            f->outputs.data[i]);
        else if (v == &import_omitted)
            ok = diag_error(u->diag, &u->mn->loc, "output '%s' of function '%s' is an input that the call omits",
                            f->outputs.data[i], f->name);
        else {
            if (v != NULL && v->kind != VALUE_SEQUENCE && v->id < since)
                v = import_variable(u, u->mn->outputs.data[i], v);
            map_set(u->r->scope, u->mn->outputs.data[i], v);
        }
        if (v == NULL)
            ok = false;
    }
    return ok;
}

bool import_call(const struct import_use *u, const struct model_function *f)
{
    struct map scope = {.arena = u->arena};
    const int since = u->g->value_count;
    if (!check_call(u, f) || !import_check_outputs_new(u) || !bind_inputs(u, f, &scope) ||
        (f == u->im->main_graph && !bind_main_graph(u, &scope)))
        return false;
    const struct call call = {f, u->mn, u->r->call, u->r->call != NULL ? u->r->call->depth + 1 : 1};
    struct import_scope inner = {.scope = &scope,
                                 .opsets = f->opsets.count > 0 ? &f->opsets : u->r->opsets,
                                 .call = &call,
                                 .repeated = u->r->repeated,
                                 .prefix = arena_printf(u->arena, "%s%s.", u->r->prefix, import_label(u->mn))};
    import_index_region(&inner, u->arena, &f->nodes, &f->value_infos);
    for (size_t i = 0; i < u->mn->outputs.count; i++) /* results are called as the caller calls them */
        if (u->mn->outputs.data[i][0] != '\0')
            map_set(&inner.names, f->outputs.data[i], (void *)import_graph_name(u, u->mn->outputs.data[i]));
    const bool ok = import_list(u->im, &inner, &f->nodes);
    return bind_outputs(u, f, &scope, since) && ok;
}

bool import_graph_call(const struct import_use *u)
{
    return check_graph_call(u) && import_call(u, u->im->main_graph);
}
