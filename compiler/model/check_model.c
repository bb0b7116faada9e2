#include "model/check_model.h"

#include "base/map.h"
#include "base/str.h"

enum {
    OPSET_IR = 3,          /* the first with opset_import */
    FREE_INITIALIZERS_IR = 4,
    FUNCTION_IR = 8,
    DEEPEST_CALL = 100
};

/* ---- model and graph --------------------------------------------------------------------------------------------- */

static bool check_metadata(struct diag *d, const struct model *m)
{
    struct map seen = {.arena = d->arena};
    bool ok = true;
    for (size_t i = 0; i < m->metadata.count; i++) {
        if (map_has(&seen, m->metadata.data[i].key))
            ok = diag_error(d, &LOC_FILE(m->file), "metadata_props: key '%s' occurs twice", m->metadata.data[i].key);
        map_set(&seen, m->metadata.data[i].key, NULL);
    }
    return ok;
}

static bool check_shapes_declared(struct diag *d, const struct model_graph *g)
{
    bool ok = true;
    vec_each(const struct model_value_info *, vi, &g->outputs)
        if (vi->type.kind == TYPE_NONE)
            ok = diag_error(d, &g->loc, "output '%s' has no type", vi->name);
        else if (vi->type.kind == TYPE_TENSOR && !vi->type.has_shape)
            ok = diag_error(d, &g->loc, "output '%s' has no shape, not even an unknown one of known rank", vi->name);
    return ok;
}

static bool check_initializers_listed(struct diag *d, const struct model *m)
{
    bool ok = true;
    for (size_t i = 0; m->ir_version < FREE_INITIALIZERS_IR && i < m->graph->initializers.count; i++) {
        const struct model_initializer *const x = m->graph->initializers.data[i];
        if (!model_find_value(&m->graph->inputs, x->name))
            ok = diag_error(d, &x->loc,
                            "initializer '%s' is not among the inputs, as ir_version %lld demands; 4 and newer do not",
                            x->name, (long long)m->ir_version);
    }
    return ok;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static const char *identity(struct arena *a, const char *domain, const char *name, const char *overload)
{
    return arena_printf(a, "%s\n%s\n%s", model_domain(domain), name, overload);
}

static bool check_distinct(struct diag *d, const struct model_function *f, const str_list *names, const char *what)
{
    struct map seen = {.arena = d->arena};
    bool ok = true;
    for (size_t i = 0; i < names->count; i++) {
        if (map_has(&seen, names->data[i]))
            ok = diag_error(d, &f->loc, "function '%s': %s '%s' is listed twice", f->name, what, names->data[i]);
        map_set(&seen, names->data[i], NULL);
    }
    return ok;
}

static bool check_imports(struct diag *d, const struct model_function *f)
{
    struct map reported = {.arena = d->arena};
    bool ok = true;
    for (size_t i = 0; i < f->nodes.count; i++) {
        const char *const domain = f->nodes.data[i]->domain;
        if (model_opset(&f->opsets, domain) != 0 || map_has(&reported, domain))
            continue;
        map_set(&reported, domain, NULL);
        ok = diag_error(d, &f->nodes.data[i]->loc, "function '%s' does not import the domain '%s' of %s", f->name,
                        domain[0] != '\0' ? domain : "ai.onnx", f->nodes.data[i]->op_type);
    }
    return ok;
}

static bool check_function(struct diag *d, const struct model *m, const struct model_function *f)
{
    bool ok = f->name[0] != '\0' || diag_error(d, &f->loc, "a function without a name");
    if (f->domain[0] == '\0' && m->ir_version >= FUNCTION_IR)
        ok = diag_error(d, &f->loc, "function '%s' has no domain", f->name);
    ok = check_distinct(d, f, &f->inputs, "input") && ok;
    ok = check_distinct(d, f, &f->outputs, "output") && ok;
    ok = check_distinct(d, f, &f->attributes, "attribute") && ok;
    return check_imports(d, f) && ok;
}

enum visit { NOT_YET, OPEN, DONE };

struct calls {
    struct diag *diag;
    const struct model *model;
    struct map by_identity; /* -> index + 1 */
    enum visit *visits;
};

static bool follow(struct calls *c, size_t at, int depth);

static bool follow_nodes(struct calls *c, const struct model_function *caller, const model_nodes *nodes, int depth)
{
    bool ok = true;
    for (size_t i = 0; i < nodes->count && ok; i++) {
        const struct model_node *const n = nodes->data[i];
        const char *const called = identity(c->diag->arena, n->domain, n->op_type, n->overload ? n->overload : "");
        const uintptr_t callee = (uintptr_t)map_get(&c->by_identity, called);
        if (callee != 0 && c->visits[callee - 1] == OPEN)
            return diag_error(c->diag, &n->loc, "function '%s' calls itself, through '%s'", n->op_type, caller->name);
        ok = callee == 0 || follow(c, callee - 1, depth + 1);
        model_each_inner(n, inner)
            ok = ok && follow_nodes(c, caller, &inner->nodes, depth);
    }
    return ok;
}

static bool follow(struct calls *c, size_t at, int depth)
{
    const struct model_function *const f = c->model->functions.data[at];
    if (c->visits[at] == DONE)
        return true;
    if (depth > DEEPEST_CALL)
        return diag_error(c->diag, &f->loc, "calls of functions nest more than %d deep, down to '%s'",
                          DEEPEST_CALL, f->name);
    c->visits[at] = OPEN;
    const bool ok = follow_nodes(c, f, &f->nodes, depth);
    c->visits[at] = DONE;
    return ok;
}

static bool check_functions(struct diag *d, const struct model *m)
{
    struct calls c = {d, m, {.arena = d->arena}, arena_array(d->arena, enum visit, m->functions.count)};
    bool ok = true;
    for (size_t i = 0; i < m->functions.count; i++) {
        const struct model_function *const f = m->functions.data[i];
        const char *const id = identity(d->arena, f->domain, f->name, f->overload ? f->overload : "");
        ok = check_function(d, m, f) && ok;
        map_set(&c.by_identity, id, (void *)(uintptr_t)(i + 1));
    }
    for (size_t i = 0; i < m->functions.count && ok; i++)
        ok = follow(&c, i, 0);
    return ok;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

bool model_check(struct diag *d, const struct model *m)
{
    bool ok = check_metadata(d, m);
    if (m->ir_version < OPSET_IR && m->opsets.count > 0)
        ok = diag_error(d, &LOC_FILE(m->file), "opset_import came with ir_version %d, but the model says %lld",
                        OPSET_IR, (long long)m->ir_version);
    if (m->graph->name[0] == '\0')
        ok = diag_error(d, &LOC_FILE(m->file), "the graph has no name");
    ok = check_shapes_declared(d, m->graph) && ok;
    ok = check_initializers_listed(d, m) && ok;
    ok = model_check_devices(d, m) && ok;
    return check_functions(d, m) && ok;
}
