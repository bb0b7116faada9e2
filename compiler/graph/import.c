/* Import: the nodes of a model graph, in order, become typed nodes of the newest form.
 *
 * Needs: model graphs as the reader checked them; nothing is assumed of their meaning. Leaves: every value with dtype
 * and shape. A definition that failed stands in the scope as NULL ("poisoned"): readers of it fail without a message,
 * so one mistake is one message and independent mistakes are all reported. */
#include "graph/import.h"

#include "base/str.h"
#include "graph/bounded.h"
#include "graph/import_internal.h"
#include "graph/upgrade.h"

#include <string.h>

/* ---- one node ---------------------------------------------------------------------------------------------------- */

static bool add_inputs(const struct import_use *u, struct node *n)
{
    VEC(struct value *) inputs = {0};
    bool ok = true;
    size_t count = 0; /* without omitted ones at the end */
    for (size_t i = 0; i < u->mn->inputs.count; i++) {
        struct value *v = NULL;
        if (!import_resolve_tensor(u, i, &v))
            ok = false;
        vec_push(u->arena, &inputs, v);
        if (v != NULL)
            count = i + 1;
    }
    for (size_t i = 0; ok && i < count; i++)
        node_add_input(n, inputs.data[i]);
    return ok;
}

static bool resolve_named(const struct import_use *u, const char *what, const char *name, struct value **v)
{
    if (!import_resolve(u, what, name, v))
        return false;
    if (*v == NULL || (*v)->kind == VALUE_SEQUENCE)
        return diag_error(u->diag, &u->loc, "%s '%s' is not a tensor", what, name);
    return (*v)->bounded == NULL ||
           diag_unsupported(u->diag, &u->loc,
                            "how many elements %s '%s' has along axis %d follows from data (%s): Gradient needs fixed "
                            "sizes",
                            what, name, (*v)->bounded->axis, (*v)->bounded->origin);
}

/* Gradient names values by attributes: brings them to the names that the values have in this graph, which also shows
 * that they are defined before the node (R23 in docs/readings.md). */
static bool resolve_names(const struct import_use *u, struct node *n)
{
    if (u->r->call != NULL || u->r->outer != NULL)
        return diag_unsupported(u->diag, &n->loc,
                                "Gradient inside a %s is not supported: its names mean the graph it stands in",
                                u->r->call != NULL ? "function" : "graph of another node");
    bool ok = true;
    vec_each_ptr(struct attr, a, &n->attrs) {
        struct value *v;
        if (a->type == ATTR_STRING) {
            if (resolve_named(u, a->name, a->s, &v))
                a->s = v->name;
            else
                ok = false;
            continue;
        }
        const char **const names = arena_array(u->arena, const char *, a->count);
        for (size_t k = 0; a->type == ATTR_STRINGS && k < a->count; k++) {
            if (resolve_named(u, a->name, a->strings[k], &v))
                names[k] = v->name;
            else
                ok = false;
        }
        a->strings = names;
    }
    return ok;
}

/* Makes values for the wanted outputs, brings the node to the newest form and infers. */
static bool finish_node(const struct import_use *u, const struct op_choice *choice, struct node *n)
{
    size_t count = u->mn->outputs.count;
    while (count > 0 && u->mn->outputs.data[count - 1][0] == '\0')
        count--;
    struct value **const outputs = arena_array(u->arena, struct value *, count);
    for (size_t i = 0; i < count; i++) {
        const char *const name = u->mn->outputs.data[i];
        outputs[i] = node_add_output(n, name[0] != '\0' ? import_graph_name(u, name) : NULL);
    }
    if (!upgrade_to_newest(n, choice) || !node_infer(n))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (outputs[i] == NULL)
            continue;
        map_set(u->r->scope, u->mn->outputs.data[i], outputs[i]);
        const struct model_value_info *const vi = map_get(&u->r->declared, u->mn->outputs.data[i]);
        if (vi != NULL && !import_check_declared(u->diag, vi, outputs[i]))
            return false;
    }
    return true;
}

/* The graph's node for one of the model, inputs and attributes set. NULL after a report, or silently if an input is
 * poisoned. */
static struct node *start_node(const struct import_use *u, const struct op_choice *choice)
{
    const char *const name = u->mn->name[0] != '\0' ? arena_printf(u->arena, "%s%s", u->r->prefix, u->mn->name) : "";
    struct node *const n = graph_add_node(u->g, choice->def, name, &u->loc, NULL);
    bool ok = add_inputs(u, n);
    if (!upgrade_set_attrs(u->diag, n, u->mn))
        ok = false;
    if (choice->def->is_structural && !resolve_names(u, n))
        ok = false;
    if (ok && upgrade_check_inputs(u->diag, choice, n))
        return n;
    graph_remove_node(u->g, n);
    return NULL;
}

static bool wants_nothing(const struct model_node *mn)
{
    for (size_t i = 0; i < mn->outputs.count; i++)
        if (mn->outputs.data[i][0] != '\0')
            return false;
    return true;
}

static bool import_operator(const struct import_use *u)
{
    struct op_choice choice;
    const uint32_t stream = import_is_random(u->mn) ? import_next_stream(u->im, u->r) : 0;
    if (import_is_missing(u->mn))
        return import_report_missing(u->im, u->mn);
    if (!import_choose(u, &choice))
        return false;

    struct node *const n = start_node(u, &choice);
    if (n == NULL)
        return false;
    if (wants_nothing(u->mn)) { /* nothing can read it */
        graph_remove_node(u->g, n);
        return true;
    }
    n->stream = stream;
    n->counter = u->g->counter;
    if (stream != 0)
        u->g->program->uses_random = true;
    return finish_node(u, &choice, n);
}

static bool has_inputs(const struct model_node *mn)
{
    for (size_t i = 0; i < mn->inputs.count; i++)
        if (mn->inputs.data[i][0] != '\0')
            return true;
    return false;
}

/* Does the constant share the attribute's memory? Lists are copied, sparse tensors filled up. */
static bool is_shared(const struct model_node *mn, const struct tensor *t)
{
    for (size_t i = 0; i < mn->attrs.count; i++)
        if (mn->attrs.data[i]->t == t)
            return true;
    return false;
}

static bool import_constant(const struct import_use *u)
{
    const struct tensor *const t = import_constant_tensor(u->diag, u->arena, u->mn);
    bool ok = t != NULL && import_check_outputs_new(u);
    if (ok && (u->mn->outputs.count != 1 || has_inputs(u->mn)))
        ok = diag_error(u->diag, &u->mn->loc, "Constant has no input and one output");
    if (ok && u->r->repeated && !is_shared(u->mn, t))
        ok = import_spend(u->im, &u->mn->loc, IMPORT_COPIED, t->count);
    if (!ok)
        return false;
    const char *const name = u->mn->outputs.data[0];
    if (name[0] != '\0')
        map_set(u->r->scope, name, graph_add_constant(u->g, import_graph_name(u, name), t));
    return true;
}

/* NULL where the name is no tensor. */
static struct value *tensor_called(const struct import_use *u, const char *name)
{
    struct value *const v = name[0] != '\0' ? map_get(import_region_of(u->r, name)->scope, name) : NULL;
    return v == &import_omitted || (v != NULL && v->kind == VALUE_SEQUENCE) ? NULL : v;
}

/* What was made behind `before` for an annotated node, but for what nodes inside of it have noted. */
static void note_placed(const struct import_use *u, const struct node *before)
{
    struct placed *const p = arena_new(u->arena, struct placed);
    *p = (struct placed){.node = u->mn,
                         .inputs = arena_array(u->arena, struct value *, u->mn->inputs.count),
                         .outputs = arena_array(u->arena, struct value *, u->mn->outputs.count)};
    for (size_t i = 0; i < u->mn->inputs.count; i++)
        p->inputs[i] = tensor_called(u, u->mn->inputs.data[i]);
    for (size_t i = 0; i < u->mn->outputs.count; i++)
        p->outputs[i] = tensor_called(u, u->mn->outputs.data[i]);
    for (struct node *n = before != NULL ? before->next : u->g->first; n != NULL; n = n->next)
        if (n->placed == NULL)
            n->placed = p;
}

bool import_list(struct importer *im, struct import_scope *r, const model_nodes *nodes)
{
    bool ok = true;
    vec_each(const struct model_node *, n, nodes) {
        const struct node *const before = im->g->last;
        const struct model_node *const mn = r->call != NULL ? import_resolve_attrs(im->g->arena, r->call, n) : n;
        const struct model_function *const f = import_called_function(&im->functions, mn);
        const struct import_use u = import_begin(im, r, mn);
        if (!(f != NULL                                      ? import_call(&u, f)
              : import_is_graph_call(mn)                     ? import_graph_call(&u)
              : import_is_constant(mn)                       ? import_constant(&u)
              : import_is_control(mn) || import_is_alias(&u) ? import_control(&u)
                                                             : import_operator(&u)))
            ok = import_poison_outputs(&u);
        else if (mn->devices.count > 0)
            note_placed(&u, before);
    }
    return ok;
}

/* ---- inputs and initializers ------------------------------------------------------------------------------------- */

/* Is the input, though it has an initializer, one that the caller wants to feed? */
static bool is_asked_for(const struct import_options *o, const char *name)
{
    return (o->fed != NULL && map_has(o->fed, name)) || (o->shapes != NULL && map_has(o->shapes, name));
}

/* Names are not empty and are not listed twice. */
static bool check_listed(struct graph *g, struct map *listed, const char *name, const char *what, const struct loc *at)
{
    if (name[0] == '\0')
        return diag_error(g->diag, at, "%s without a name", what);
    if (map_has(listed, name))
        return diag_error(g->diag, at, "%s '%s' is listed twice", what, name);
    map_set(listed, name, NULL);
    return true;
}

static void collect_initializers(const struct model_graph *mg, struct map *names)
{
    for (size_t i = 0; i < mg->initializers.count; i++)
        map_set(names, mg->initializers.data[i]->name, NULL);
    for (size_t i = 0; i < mg->sparse_initializers.count; i++)
        map_set(names, mg->sparse_initializers.data[i]->name, NULL);
}

bool import_arguments(struct graph *g, const struct model_graph *mg, struct map *scope, const struct import_options *o,
                      const char *entry)
{
    struct map listed = {.arena = g->arena}, initializers = {.arena = g->arena};
    bool ok = true;
    collect_initializers(mg, &initializers);
    vec_each(const struct model_value_info *, vi, &mg->inputs) {
        if (!check_listed(g, &listed, vi->name, "input", &vi->loc)) {
            ok = false;
            continue;
        }
        if (map_has(scope, vi->name) || (map_has(&initializers, vi->name) && !is_asked_for(o, vi->name)))
            continue;
        struct shape shape;
        struct value *v = NULL;
        if (import_input_shape(g, vi, o, entry, &shape))
            v = graph_add_input(g, vi->name, vi->type.elem, &shape);
        else
            ok = false;
        map_set(scope, vi->name, v);
    }
    return ok;
}

bool import_initializers(const struct importer *im, const struct model_graph *mg, struct map *scope,
                                struct map *listed, bool make)
{
    bool ok = true;
    vec_each(const struct model_initializer *, init, &mg->initializers)
        if (!make)
            ok = check_listed(im->g, listed, init->name, "initializer", &init->loc) && ok;
        else if (!map_has(scope, init->name))
            map_set(scope, init->name, graph_add_constant(im->g, init->name, init->tensor));
    vec_each(const struct model_sparse *, sparse, &mg->sparse_initializers)
        if (!make) {
            ok = check_listed(im->g, listed, sparse->name, "sparse initializer", &sparse->loc) && ok;
        } else if (!map_has(scope, sparse->name)) {
            const struct tensor *const t = import_dense(im->g->diag, im->g->arena, sparse);
            map_set(scope, sparse->name, t != NULL ? graph_add_constant(im->g, sparse->name, t) : NULL);
            ok = ok && t != NULL;
        }
    return ok;
}

/* Where inputs and values are declared that initializers stand for: the initializers count. */
static bool check_initializers(struct graph *g, const model_values *declared, const struct map *scope)
{
    bool ok = true;
    vec_each(const struct model_value_info *, vi, declared) {
        const struct value *const v = map_get(scope, vi->name);
        if (v != NULL && (v->kind == VALUE_CONSTANT || v->kind == VALUE_VARIABLE))
            ok = import_check_initializer(g->diag, vi, v) && ok;
    }
    return ok;
}

static void note_listed(struct map *listed, const struct model_graph *mg)
{
    static const char *const lists[] = {"xs", "zs"};
    for (size_t i = 0; mg != NULL && i < mg->nodes.count; i++) {
        const struct model_node *const n = mg->nodes.data[i];
        const bool is_gradient = str_equal(n->op_type, "Gradient") && str_equal(n->domain, DOMAIN_TRAINING);
        for (int k = 0; k < 2 && is_gradient; k++) {
            const struct model_attr *const a = model_find_attr(&n->attrs, lists[k]);
            for (size_t s = 0; a != NULL && s < a->strings.count; s++)
                if (a->strings.data[s].data != NULL)
                    map_set(listed, a->strings.data[s].data, NULL);
        }
    }
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

bool import_nodes(struct graph *g, const struct model_graph *mg, struct map *scope, const struct import_options *o,
                  const char *entry)
{
    const struct model *const m = g->program->model;
    struct importer im = {.g = g, .model = m, .options = o, .entry = entry, .functions = {.arena = g->arena}};
    im.repetitions.arena = im.missing.arena = im.inner_random.arena = im.listed.arena = g->arena;
    import_index_functions(&im.functions, m);
    im.stream = import_first_stream(&im.functions, m, mg) + g->counter * import_random_streams(m);
    im.streams = (uint32_t)g->program->counters.count * import_random_streams(m);
    for (size_t k = 0; k < m->training.count; k++) {
        note_listed(&im.listed, m->training.data[k]->algorithm);
        if (m->training.data[k]->algorithm == mg)
            im.main_graph = import_main_graph_as_function(g->arena, m);
    }
    note_listed(&im.listed, m->graph);

    struct map initializers = {.arena = g->arena};
    bool ok = import_initializers(&im, mg, scope, &initializers, false);
    ok = import_arguments(g, mg, scope, o, entry) && ok;
    ok = import_initializers(&im, mg, scope, &initializers, true) && ok;
    ok = check_initializers(g, &mg->inputs, scope) && ok;
    ok = check_initializers(g, &mg->value_infos, scope) && ok;

    struct import_scope r = {.scope = scope, .opsets = &m->opsets, .prefix = ""};
    import_index_region(&r, g->arena, &mg->nodes, &mg->value_infos);
    return import_list(&im, &r, &mg->nodes) && ok;
}

static struct graph_output *find_output(struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->outputs.count; i++)
        if (strcmp(g->outputs.data[i].name, name) == 0)
            return &g->outputs.data[i];
    return NULL;
}

bool import_outputs(struct graph *g, const struct model_graph *mg, struct map *scope)
{
    bool ok = true;
    vec_each(const struct model_value_info *, vi, &mg->outputs) {
        struct value *v = map_get(scope, vi->name);
        if (v == NULL && !map_has(scope, vi->name))
            ok = diag_error(g->diag, &vi->loc, "output '%s' is not defined in graph '%s'", vi->name, mg->name);
        else if (v != NULL && (v == &import_omitted || v->kind == VALUE_SEQUENCE))
            ok = diag_unsupported(g->diag, &vi->loc,
                                  "output '%s' is not a tensor: sequences and optional values are not given out",
                                  vi->name);
        else if (v == NULL || !import_check_output(g->diag, mg, scope, vi, v))
            ok = false;
        else if (find_output(g, vi->name) != NULL)
            continue;
        else if (v->bounded != NULL)
            ok = bounded_give(g, &vi->loc, vi->name, v) && ok;
        else
            vec_push(g->arena, &g->outputs, ((struct graph_output){vi->name, v}));
    }
    return ok;
}

/* ---- the model as a whole ---------------------------------------------------------------------------------------- */

#define NEWEST_IR 14
#define NEWEST_OPSET 28

static bool check_opsets(struct diag *d, const struct model *m)
{
    const struct loc at = LOC_FILE(m->file);
    bool ok = true;
    if (m->ir_version >= 3 && m->opsets.count == 0)
        ok = diag_error(d, &at, "opset_import is empty");
    for (size_t i = 0; i < m->opsets.count; i++) {
        const struct model_opset *const o = &m->opsets.data[i];
        const char *const domain = o->domain[0] == '\0' ? "ai.onnx" : o->domain;
        for (size_t k = 0; k < i; k++)
            if (strcmp(m->opsets.data[k].domain, o->domain) == 0 && m->opsets.data[k].version != o->version)
                ok = diag_error(d, &at, "domain '%s' is imported with version %lld and with version %lld", domain,
                                (long long)m->opsets.data[k].version, (long long)o->version);
        if (o->domain[0] == '\0' && o->version > NEWEST_OPSET)
            ok = diag_lenient(d, &at,
                              "opset %lld of ai.onnx is newer than %d, the newest known: operators are read as of %d",
                              (long long)o->version, NEWEST_OPSET, NEWEST_OPSET) &&
                 ok;
    }
    return ok;
}

bool import_check_model(struct diag *d, const struct model *m)
{
    const struct loc at = LOC_FILE(m->file);
    bool ok = check_opsets(d, m);
    if (m->ir_version < 1)
        ok = diag_error(d, &at, "ir_version is missing");
    if (m->ir_version > NEWEST_IR)
        ok = diag_lenient(d, &at, "ir_version %lld is newer than %d, the newest known", (long long)m->ir_version,
                          NEWEST_IR) &&
             ok;
    if (m->ir_version < 7 && m->training.count > 0) /* R4 */
        diag_warning(d, &at, "training_info came with ir_version 7, but the model says %lld", (long long)m->ir_version);

    struct arena scratch = {0};
    struct map keys = {.arena = &scratch};
    vec_each(const struct model_function *, f, &m->functions) {
        const char *const key = import_function_key(&scratch, f->domain, f->name, f->overload);
        if (map_has(&keys, key))
            ok = diag_error(d, &f->loc, "function '%s' of domain '%s' is defined twice", f->name, f->domain);
        map_set(&keys, key, NULL);
    }
    arena_free(&scratch);
    return ok;
}
