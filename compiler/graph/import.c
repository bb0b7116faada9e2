/* Import: the nodes of a model graph, in order, become typed nodes of the newest form.
 *
 * Needs: model graphs as the reader checked them; nothing is assumed of their meaning. Leaves: every value with dtype
 * and shape. A definition that failed stands in the scope as NULL ("poisoned"): readers of it fail without a message,
 * so one mistake is one message and independent mistakes are all reported. */
#include "graph/import.h"

#include "base/str.h"
#include "graph/build.h"
#include "graph/import_internal.h"
#include "graph/upgrade.h"

#include <stdio.h>
#include <string.h>

#define MAX_CALL_DEPTH 100
#define MAX_INLINED_NODES 1000000

/* A model-local function being inlined. */
struct call {
    const struct model_function *function;
    const struct model_node *node; /* the caller's, its own attribute references resolved */
    const struct call *outer;
    int depth;
};

/* One list of nodes with its names: a model graph, or the body of a called function. */
struct region {
    struct map *scope;    /* name -> struct value *, NULL: poisoned */
    struct map producers; /* name -> const struct model_node *, of all nodes of the list, for messages */
    struct map declared;  /* name -> const struct model_value_info * */
    struct map names;     /* value name -> name in the graph, where it is not prefix + name */
    const model_opsets *opsets;
    const struct call *call; /* NULL: not in a function */
    const char *prefix;      /* of value and node names */
};

struct importer {
    struct graph *g;
    const struct model *model;
    const struct import_options *options;
    const char *entry;
    struct map functions; /* key of function_key() -> struct model_function * */
    const struct model_function
        *main_graph; /* the main graph in the form of a function, for GraphCall; NULL outside algorithms */
    uint32_t stream; /* of the random node met last */
    size_t inlined;  /* nodes in functions so far */
};

/* Stands in a function's scope for an input that the caller omits. */
static struct value omitted_input;

/* ---- functions of the model -------------------------------------------------------------------------------------- */

/* The standard domain has two spellings. */
static const char *function_key(struct arena *a, const char *domain, const char *name, const char *overload)
{
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    return arena_printf(a, "%s\1%s\1%s", domain, name, overload);
}

static bool is_graph_call(const struct model_node *mn)
{
    return strcmp(mn->domain, DOMAIN_TRAINING) == 0 && strcmp(mn->op_type, "GraphCall") == 0;
}

static void index_functions(struct map *functions, const struct model *m)
{
    for (size_t i = 0; i < m->functions.count; i++) {
        struct model_function *const f = m->functions.data[i];
        const char *const key = function_key(functions->arena, f->domain, f->name, f->overload);
        if (!map_has(functions, key))
            map_set(functions, key, f);
    }
}

/* R31: GraphCall of release 1.7 runs the main graph on other inputs. It is a call of a function with that body, whose
 * free names are the initializers. */
static const struct model_function *main_graph_as_function(struct arena *a, const struct model *m)
{
    struct model_function *const f = arena_new(a, struct model_function);
    const struct model_graph *const mg = m->graph;
    *f = (struct model_function){
        .name = mg->name, .domain = "", .overload = "", .doc = "", .opsets = m->opsets, .loc = mg->loc};
    for (size_t i = 0; i < mg->inputs.count; i++)
        vec_push(a, &f->inputs, mg->inputs.data[i]->name);
    for (size_t i = 0; i < mg->outputs.count; i++)
        vec_push(a, &f->outputs, mg->outputs.data[i]->name);
    vec_push(a, &f->attributes, "graph_name");
    memcpy(&f->nodes, &mg->nodes, sizeof f->nodes);
    memcpy(&f->value_infos, &mg->value_infos, sizeof f->value_infos);
    return f;
}

/* The function that the node calls, or NULL. A local function named like a standard operator wins (R5). */
static const struct model_function *called_function(const struct map *functions, const struct model_node *mn)
{
    if (functions->count == 0)
        return NULL;
    return map_get(functions, function_key(functions->arena, mn->domain, mn->op_type, mn->overload));
}

/* ---- random streams ---------------------------------------------------------------------------------------------- */

static bool is_random(const struct model_node *mn)
{
    const struct op_def *const def = op_find(mn->domain, mn->op_type);
    return def != NULL && def->is_random;
}

/* Random nodes of the list, in functions that it calls too. `budget` bounds the walk through nested calls: a model
 * beyond it is refused by import for the same reason. */
static uint32_t count_random(const struct map *functions, const struct model_graph *main_graph,
                             struct model_node *const *nodes, size_t count, int depth, size_t *budget)
{
    uint32_t random = 0;
    for (size_t i = 0; i < count; i++) {
        const struct model_function *const f = called_function(functions, nodes[i]);
        const bool calls_main = f == NULL && is_graph_call(nodes[i]);
        if (f == NULL && !calls_main) {
            random += is_random(nodes[i]);
            continue;
        }
        const size_t body_count = f != NULL ? f->nodes.count : main_graph->nodes.count;
        if (depth >= MAX_CALL_DEPTH || *budget < body_count)
            continue;
        *budget -= body_count;
        random += count_random(functions, main_graph, f != NULL ? f->nodes.data : main_graph->nodes.data, body_count,
                               depth + 1, budget);
    }
    return random;
}

/* Streams taken by the graphs that stand before `until` in the order main graph, algorithms, initializations. */
static uint32_t count_streams(const struct map *functions, const struct model *m, const struct model_graph *until)
{
    uint32_t streams = 0;
    const size_t trainings = m->training.count;
    for (size_t i = 0; i < 1 + 2 * trainings; i++) {
        const struct model_graph *mg = m->graph;
        if (i > 0)
            mg = i <= trainings ? m->training.data[i - 1]->algorithm
                                : m->training.data[i - 1 - trainings]->initialization;
        if (mg == NULL)
            continue;
        if (mg == until)
            break;
        size_t budget = MAX_INLINED_NODES;
        streams += count_random(functions, m->graph, mg->nodes.data, mg->nodes.count, 0, &budget);
    }
    return streams;
}

uint32_t import_random_streams(const struct model *m)
{
    struct arena scratch = {0};
    struct map functions = {.arena = &scratch};
    index_functions(&functions, m);
    const uint32_t streams = count_streams(&functions, m, NULL);
    arena_free(&scratch);
    return streams;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const char *node_text(struct arena *a, const struct model_node *mn)
{
    return mn->name[0] != '\0' ? arena_printf(a, "node '%s' (%s)", mn->name, mn->op_type)
                               : arena_printf(a, "node #%d (%s)", mn->loc.index, mn->op_type);
}

static struct loc node_loc(const struct importer *im, const struct region *r, const struct model_node *mn)
{
    struct loc loc = mn->loc;
    if (r->call != NULL && loc.origin == NULL)
        loc.origin = arena_printf(im->g->arena, "function '%s' called by %s", r->call->function->name,
                                  node_text(im->g->arena, r->call->node));
    return loc;
}

/* Says why `name` is not in scope; `what` is how the node refers to it: "input 1", "xs". */
static bool report_undefined(const struct importer *im, const struct region *r, const struct model_node *mn,
                             const char *what, const char *name)
{
    struct diag *const d = im->g->diag;
    const struct loc loc = node_loc(im, r, mn);
    const struct model_node *const producer = map_get(&r->producers, name);
    if (producer == mn)
        return diag_error(d, &loc, "%s '%s' is an output of the node itself", what, name);
    if (producer != NULL)
        return diag_error(d, &loc, "%s '%s' is not defined before the node: %s defines it later, nodes must be sorted",
                          what, name, node_text(d->arena, producer));

    struct arena scratch = {0};
    const char **const names = arena_array(&scratch, const char *, r->scope->count);
    for (size_t i = 0; i < r->scope->count; i++)
        names[i] = r->scope->entries[i].key;
    const char *const close = str_closest(name, names, r->scope->count);
    if (close != NULL)
        diag_error(d, &loc, "%s '%s' is not defined; did you mean '%s'?", what, name, close);
    else
        diag_error(d, &loc, "%s '%s' is not defined: no input, initializer or node output has this name", what, name);
    arena_free(&scratch);
    return false;
}

/* The value behind a name; false where it is poisoned (silently) or undefined (reported). *v NULL: an omitted input. */
static bool resolve(const struct importer *im, const struct region *r, const struct model_node *mn, const char *what,
                    const char *name, struct value **v)
{
    *v = map_get(r->scope, name);
    if (*v == &omitted_input) {
        *v = NULL;
        return true;
    }
    if (*v != NULL)
        return true;
    if (!map_has(r->scope, name))
        return report_undefined(im, r, mn, what, name);
    return false;
}

static const char *graph_name_of(const struct importer *im, const struct region *r, const char *name)
{
    const char *const given = map_get(&r->names, name);
    return given != NULL ? given : r->prefix[0] != '\0' ? arena_printf(im->g->arena, "%s%s", r->prefix, name) : name;
}

/* Nothing that the node defines exists; what it would redefine stays. */
static bool poison_outputs(const struct region *r, const struct model_node *mn)
{
    for (size_t i = 0; i < mn->outputs.count; i++)
        if (mn->outputs.data[i][0] != '\0' && !map_has(r->scope, mn->outputs.data[i]))
            map_set(r->scope, mn->outputs.data[i], NULL);
    return false;
}

/* Every value has one definition. */
static bool check_outputs_new(const struct importer *im, const struct region *r, const struct model_node *mn)
{
    const struct loc loc = node_loc(im, r, mn);
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

/* ---- one node ---------------------------------------------------------------------------------------------------- */

static bool add_inputs(const struct importer *im, const struct region *r, const struct model_node *mn, struct node *n)
{
    VEC(struct value *) inputs = {0};
    bool ok = true;
    size_t count = 0; /* without omitted ones at the end */
    for (size_t i = 0; i < mn->inputs.count; i++) {
        struct value *v = NULL;
        char what[40];
        snprintf(what, sizeof what, "input %zu", i);
        if (mn->inputs.data[i][0] != '\0' && !resolve(im, r, mn, what, mn->inputs.data[i], &v))
            ok = false;
        vec_push(im->g->arena, &inputs, v);
        if (v != NULL)
            count = i + 1;
    }
    for (size_t i = 0; ok && i < count; i++)
        node_add_input(n, inputs.data[i]);
    return ok;
}

/* Gradient names values by attributes: brings them to the names that the values have in this graph, which also shows
 * that they are defined before the node (R23). */
static bool resolve_names(const struct importer *im, const struct region *r, const struct model_node *mn,
                          struct node *n)
{
    if (r->call != NULL)
        return diag_unsupported(im->g->diag, &n->loc,
                                "Gradient inside a function is not supported: its names mean the graph it stands in");
    bool ok = true;
    for (size_t i = 0; i < n->attrs.count; i++) {
        struct attr *const a = &n->attrs.data[i];
        struct value *v;
        if (a->type == ATTR_STRING) {
            if (resolve(im, r, mn, a->name, a->s, &v))
                a->s = v->name;
            else
                ok = false;
            continue;
        }
        const char **const names = arena_array(im->g->arena, const char *, a->count);
        for (size_t k = 0; a->type == ATTR_STRINGS && k < a->count; k++) {
            if (resolve(im, r, mn, a->name, a->strings[k], &v))
                names[k] = v->name;
            else
                ok = false;
        }
        a->strings = names;
    }
    return ok;
}

/* Makes values for the wanted outputs, brings the node to the newest form and infers. */
static bool finish_node(const struct importer *im, const struct region *r, const struct model_node *mn,
                        const struct op_choice *choice, struct node *n)
{
    size_t count = mn->outputs.count;
    while (count > 0 && mn->outputs.data[count - 1][0] == '\0')
        count--;
    struct value **const outputs = arena_array(im->g->arena, struct value *, count);
    for (size_t i = 0; i < count; i++) {
        const char *const name = mn->outputs.data[i];
        outputs[i] = node_add_output(n, name[0] != '\0' ? graph_name_of(im, r, name) : NULL);
    }
    if (!upgrade_to_newest(n, choice) || !node_infer(n))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (outputs[i] == NULL)
            continue;
        map_set(r->scope, mn->outputs.data[i], outputs[i]);
        const struct model_value_info *const vi = map_get(&r->declared, mn->outputs.data[i]);
        if (vi != NULL && !import_check_declared(im->g->diag, vi, "value", outputs[i]))
            return false;
    }
    return true;
}

/* The graph's node for one of the model, inputs and attributes set. NULL after a report, or silently if an input is
 * poisoned. */
static struct node *start_node(const struct importer *im, const struct region *r, const struct model_node *mn,
                               const struct op_choice *choice)
{
    const struct loc loc = node_loc(im, r, mn);
    const char *const name = mn->name[0] != '\0' ? arena_printf(im->g->arena, "%s%s", r->prefix, mn->name) : "";
    struct node *const n = graph_add_node(im->g, choice->def, name, &loc, NULL);
    bool ok = add_inputs(im, r, mn, n);
    if (!upgrade_set_attrs(im->g->diag, n, mn))
        ok = false;
    if (choice->def->is_structural && !resolve_names(im, r, mn, n))
        ok = false;
    if (ok && upgrade_check_inputs(im->g->diag, choice, n))
        return n;
    graph_remove_node(im->g, n);
    return NULL;
}

static bool wants_nothing(const struct model_node *mn)
{
    for (size_t i = 0; i < mn->outputs.count; i++)
        if (mn->outputs.data[i][0] != '\0')
            return false;
    return true;
}

static bool import_operator(struct importer *im, const struct region *r, const struct model_node *mn)
{
    struct op_choice choice;
    const uint32_t stream = is_random(mn) ? ++im->stream : 0;
    const bool known = upgrade_choose(im->g->diag, mn, r->opsets, im->model->ir_version, &choice);
    if (!known || !upgrade_check_node(im->g->diag, &choice, mn))
        return poison_outputs(r, mn);
    if (!check_outputs_new(im, r, mn))
        return poison_outputs(r, mn);

    struct node *const n = start_node(im, r, mn, &choice);
    if (n == NULL)
        return poison_outputs(r, mn);
    if (wants_nothing(mn)) { /* nothing can read it */
        graph_remove_node(im->g, n);
        return true;
    }
    n->stream = stream;
    n->counter = im->g->counter;
    if (stream != 0)
        im->g->program->uses_random = true;
    if (finish_node(im, r, mn, &choice, n))
        return true;
    return poison_outputs(r, mn);
}

static bool has_inputs(const struct model_node *mn)
{
    for (size_t i = 0; i < mn->inputs.count; i++)
        if (mn->inputs.data[i][0] != '\0')
            return true;
    return false;
}

static bool import_constant(const struct importer *im, const struct region *r, const struct model_node *mn)
{
    const struct tensor *const t = import_constant_tensor(im->g->diag, im->g->arena, mn);
    bool ok = t != NULL && check_outputs_new(im, r, mn);
    if (ok && (mn->outputs.count != 1 || has_inputs(mn)))
        ok = diag_error(im->g->diag, &mn->loc, "Constant has no input and one output");
    if (!ok)
        return poison_outputs(r, mn);
    const char *const name = mn->outputs.data[0];
    if (name[0] != '\0')
        map_set(r->scope, name, graph_add_constant(im->g, graph_name_of(im, r, name), t));
    return true;
}

/* ---- calls of functions ------------------------------------------------------------------------------------------ */

static const struct model_attr *find_attr(struct model_attr *const *attrs, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(attrs[i]->name, name) == 0)
            return attrs[i];
    return NULL;
}

/* The node with attributes that refer to the function's replaced by the caller's, else by the function's default, else
 * dropped. */
static const struct model_node *resolve_attrs(struct arena *a, const struct call *call, const struct model_node *mn)
{
    bool any = false;
    for (size_t i = 0; i < mn->attrs.count; i++)
        any = any || mn->attrs.data[i]->ref[0] != '\0';
    if (!any)
        return mn;
    struct model_node *const copy = arena_copy(a, mn, sizeof *mn, alignof(struct model_node));
    memset(&copy->attrs, 0, sizeof copy->attrs);
    for (size_t i = 0; i < mn->attrs.count; i++) {
        struct model_attr *attr = mn->attrs.data[i];
        if (attr->ref[0] != '\0') {
            const struct model_function *const f = call->function;
            const struct model_attr *actual = find_attr(call->node->attrs.data, call->node->attrs.count, attr->ref);
            if (actual == NULL)
                actual = find_attr(f->attribute_defaults.data, f->attribute_defaults.count, attr->ref);
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

static void index_region(struct region *r, struct arena *a, struct model_node *const *nodes, size_t node_count,
                         struct model_value_info *const *infos, size_t info_count)
{
    r->producers.arena = r->declared.arena = r->names.arena = a;
    for (size_t i = 0; i < node_count; i++)
        for (size_t k = 0; k < nodes[i]->outputs.count; k++)
            if (nodes[i]->outputs.data[k][0] != '\0')
                map_set(&r->producers, nodes[i]->outputs.data[k], nodes[i]);
    for (size_t i = 0; i < info_count; i++)
        map_set(&r->declared, infos[i]->name, infos[i]);
}

static bool check_call(const struct importer *im, const struct region *r, const struct model_node *mn,
                       const struct model_function *f)
{
    const struct loc loc = node_loc(im, r, mn);
    for (const struct call *c = r->call; c != NULL; c = c->outer)
        if (c->function == f)
            return diag_error(im->g->diag, &loc, "function '%s' calls itself", f->name);
    if (r->call != NULL && r->call->depth >= MAX_CALL_DEPTH)
        return diag_error(im->g->diag, &loc, "calls of functions are nested more than %d deep", MAX_CALL_DEPTH);
    if (im->inlined + f->nodes.count > MAX_INLINED_NODES)
        return diag_error(im->g->diag, &loc, "inlining the functions makes more than %d nodes", MAX_INLINED_NODES);
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
                     find_attr(f->attribute_defaults.data, f->attribute_defaults.count, name) != NULL;
        for (size_t k = 0; k < f->attributes.count; k++)
            known = known || strcmp(f->attributes.data[k], name) == 0;
        if (!known)
            ok = diag_error(im->g->diag, &loc, "unknown attribute '%s' of function '%s'", name, f->name);
    }
    return ok;
}

static bool check_graph_call(const struct importer *im, const struct region *r, const struct model_node *mn)
{
    const struct loc loc = node_loc(im, r, mn);
    if (im->main_graph == NULL || r->call != NULL)
        return diag_error(im->g->diag, &loc, "GraphCall is allowed in algorithm graphs only");
    const struct model_attr *const name = find_attr(mn->attrs.data, mn->attrs.count, "graph_name");
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
    for (size_t i = 0; i < mg->initializers.count; i++)
        if (!map_has(inner, mg->initializers.data[i]->name) ||
            map_get(inner, mg->initializers.data[i]->name) == &omitted_input)
            map_set(inner, mg->initializers.data[i]->name, map_get(r->scope, mg->initializers.data[i]->name));
    for (size_t i = 0; i < mg->sparse_initializers.count; i++)
        if (!map_has(inner, mg->sparse_initializers.data[i]->name))
            map_set(inner, mg->sparse_initializers.data[i]->name,
                    map_get(r->scope, mg->sparse_initializers.data[i]->name));
    const struct loc loc = node_loc(im, r, mn);
    for (size_t i = 0; i < mg->inputs.count; i++)
        if (map_get(inner, mg->inputs.data[i]->name) == &omitted_input)
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
        char what[40];
        snprintf(what, sizeof what, "input %zu", i);
        const bool given = i < mn->inputs.count && mn->inputs.data[i][0] != '\0';
        if (given && !resolve(im, r, mn, what, mn->inputs.data[i], &v))
            ok = false;
        map_set(inner, f->inputs.data[i], v != NULL ? v : &omitted_input);
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
        else if (v == &omitted_input)
            ok = diag_error(im->g->diag, &mn->loc, "output '%s' of function '%s' is an input that the call omits",
                            f->outputs.data[i], f->name);
        else
            map_set(r->scope, mn->outputs.data[i], v);
        if (v == NULL)
            ok = false;
    }
    return ok;
}

static bool import_list(struct importer *im, struct region *r, struct model_node *const *nodes, size_t count);

static bool inline_function(struct importer *im, const struct region *r, const struct model_node *mn,
                            const struct model_function *f)
{
    struct arena *const a = im->g->arena;
    struct map scope = {.arena = a};
    bool ok = check_call(im, r, mn, f) && check_outputs_new(im, r, mn);
    if (!ok || !bind_inputs(im, r, mn, f, &scope))
        return poison_outputs(r, mn);
    if (f == im->main_graph && !bind_main_graph(im, r, mn, &scope))
        return poison_outputs(r, mn);

    const char *const label = mn->name[0] != '\0' ? mn->name : mn->outputs.count > 0 ? mn->outputs.data[0] : f->name;
    const struct call call = {f, mn, r->call, r->call != NULL ? r->call->depth + 1 : 1};
    struct region inner = {.scope = &scope,
                           .opsets = f->opsets.count > 0 ? &f->opsets : r->opsets,
                           .call = &call,
                           .prefix = arena_printf(a, "%s%s.", r->prefix, label)};
    index_region(&inner, a, f->nodes.data, f->nodes.count, f->value_infos.data, f->value_infos.count);
    for (size_t i = 0; i < mn->outputs.count; i++) /* results are called as the caller calls them */
        if (mn->outputs.data[i][0] != '\0')
            map_set(&inner.names, f->outputs.data[i], (void *)graph_name_of(im, r, mn->outputs.data[i]));
    im->inlined += f->nodes.count;
    ok = import_list(im, &inner, f->nodes.data, f->nodes.count);
    if (!bind_outputs(im, r, mn, f, &scope))
        ok = false;
    return ok || poison_outputs(r, mn);
}

static bool import_list(struct importer *im, struct region *r, struct model_node *const *nodes, size_t count)
{
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        const struct model_node *const mn = r->call != NULL ? resolve_attrs(im->g->arena, r->call, nodes[i]) : nodes[i];
        const struct model_function *f = called_function(&im->functions, mn);
        if (f == NULL && is_graph_call(mn)) {
            if (!check_graph_call(im, r, mn)) {
                ok = poison_outputs(r, mn);
                continue;
            }
            f = im->main_graph;
        }
        const bool done = f != NULL                ? inline_function(im, r, mn, f)
                          : import_is_constant(mn) ? import_constant(im, r, mn)
                                                   : import_operator(im, r, mn);
        ok = ok && done;
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
    for (size_t i = 0; i < mg->inputs.count; i++) {
        const struct model_value_info *const vi = mg->inputs.data[i];
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

static bool import_initializers(const struct importer *im, const struct model_graph *mg, struct map *scope,
                                struct map *listed, bool make)
{
    bool ok = true;
    for (size_t i = 0; i < mg->initializers.count; i++) {
        const struct model_initializer *const init = mg->initializers.data[i];
        if (!make)
            ok = check_listed(im->g, listed, init->name, "initializer", &init->loc) && ok;
        else if (!map_has(scope, init->name))
            map_set(scope, init->name, graph_add_constant(im->g, init->name, init->tensor));
    }
    for (size_t i = 0; i < mg->sparse_initializers.count; i++) {
        const struct model_sparse *const sparse = mg->sparse_initializers.data[i];
        if (!make) {
            ok = check_listed(im->g, listed, sparse->name, "sparse initializer", &sparse->loc) && ok;
        } else if (!map_has(scope, sparse->name)) {
            const struct tensor *const t = import_dense(im->g->diag, im->g->arena, sparse);
            map_set(scope, sparse->name, t != NULL ? graph_add_constant(im->g, sparse->name, t) : NULL);
            ok = ok && t != NULL;
        }
    }
    return ok;
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

bool import_nodes(struct graph *g, const struct model_graph *mg, struct map *scope, const struct import_options *o,
                  const char *entry)
{
    const struct model *const m = g->program->model;
    struct importer im = {.g = g, .model = m, .options = o, .entry = entry, .functions = {.arena = g->arena}};
    index_functions(&im.functions, m);
    im.stream = count_streams(&im.functions, m, mg) + g->counter * import_random_streams(m);
    for (size_t k = 0; k < m->training.count; k++)
        if (m->training.data[k]->algorithm == mg)
            im.main_graph = main_graph_as_function(g->arena, m);

    struct map initializers = {.arena = g->arena};
    bool ok = import_initializers(&im, mg, scope, &initializers, false);
    ok = import_arguments(g, mg, scope, o, entry) && ok;
    ok = import_initializers(&im, mg, scope, &initializers, true) && ok;

    struct region r = {.scope = scope, .opsets = &m->opsets, .prefix = ""};
    index_region(&r, g->arena, mg->nodes.data, mg->nodes.count, mg->value_infos.data, mg->value_infos.count);
    return import_list(&im, &r, mg->nodes.data, mg->nodes.count) && ok;
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
    for (size_t i = 0; i < mg->outputs.count; i++) {
        const struct model_value_info *const vi = mg->outputs.data[i];
        struct value *const v = map_get(scope, vi->name);
        if (v == NULL && !map_has(scope, vi->name))
            ok = diag_error(g->diag, &vi->loc, "output '%s' is not defined in graph '%s'", vi->name, mg->name);
        else if (v == NULL || !import_check_declared(g->diag, vi, "output", v))
            ok = false;
        else if (find_output(g, vi->name) == NULL)
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
    for (size_t i = 0; i < m->functions.count; i++) {
        const struct model_function *const f = m->functions.data[i];
        const char *const key = function_key(&scratch, f->domain, f->name, f->overload);
        if (map_has(&keys, key))
            ok = diag_error(d, &f->loc, "function '%s' of domain '%s' is defined twice", f->name, f->domain);
        map_set(&keys, key, NULL);
    }
    arena_free(&scratch);
    return ok;
}
