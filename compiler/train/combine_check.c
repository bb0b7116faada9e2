/* The rules of training_info: what a binding may name, and which names the combined graph may hold.
 * Spec: onnx.proto, TrainingInfoProto, and docs/readings.md, R6 to R15. ONNX's own checker looks at none of this. */
#include "train/combine_internal.h"

#include "base/str.h"
#include "graph/op_def.h"

#include <string.h>

struct loc combine_loc(const struct combiner *c, size_t k)
{
    struct loc loc = c->model->training.data[k]->loc;
    if (loc.file == NULL)
        loc = LOC_FILE(c->model->file);
    if (loc.graph == NULL)
        loc.graph = arena_printf(c->arena, "training_info #%zu", k + 1);
    return loc;
}

/* ---- what names mean --------------------------------------------------------------------------------------------- */

static bool is_sparse_initializer(const struct model_graph *mg, const char *name)
{
    for (size_t i = 0; mg != NULL && i < mg->sparse_initializers.count; i++)
        if (strcmp(mg->sparse_initializers.data[i]->name, name) == 0)
            return true;
    return false;
}

/* Is it an initializer of a graph inside some node of mg? Nesting is bounded by the reader. */
static bool is_in_subgraph(const struct model_graph *mg, const char *name)
{
    for (size_t i = 0; mg != NULL && i < mg->nodes.count; i++)
        model_each_inner(mg->nodes.data[i], inner)
            if (model_find_initializer(inner, name) != NULL || is_in_subgraph(inner, name))
                return true;
    return false;
}

/* Does the algorithm read an initializer that stands in the main graph only to be shared by algorithms? */
static bool is_handed_over(const struct combiner *c, size_t k, const char *name)
{
    return map_has(&c->main_names->initializers, name) && !combine_is_read(c->main_names, name) &&
           combine_is_read(c->names[k].algorithm, name);
}

/* ---- bindings ---------------------------------------------------------------------------------------------------- */

/* One of the two lists of a training_info, and the graphs whose outputs may be values (R6). */
struct binding_list {
    const char *name;
    const model_pairs *pairs;
    size_t k;                                 /* which training_info */
    const struct graph_names *algorithm;      /* its initializers may be keys */
    const struct graph_names *first, *second; /* outputs of these may be values; second may be NULL */
    const char *values_text;
};

static bool is_key(const struct combiner *c, const struct binding_list *l, const char *name)
{
    return map_has(&c->main_names->initializers, name) || map_has(&l->algorithm->initializers, name);
}

static bool is_value(const struct binding_list *l, const char *name)
{
    return map_has(&l->first->outputs, name) || (l->second != NULL && map_has(&l->second->outputs, name));
}

static void add_initializer_names(struct arena *a, const struct model_graph *mg, str_list *names)
{
    for (size_t i = 0; mg != NULL && i < mg->initializers.count; i++)
        vec_push(a, names, mg->initializers.data[i]->name);
}

static void add_output_names(struct arena *a, const struct model_graph *mg, str_list *names)
{
    for (size_t i = 0; mg != NULL && i < mg->outputs.count; i++)
        vec_push(a, names, mg->outputs.data[i]->name);
}

static bool report_bad_key(struct combiner *c, const struct binding_list *l, const struct model_pair *p,
                           const struct loc *at)
{
    const struct model_graph *const main_graph = c->model->graph, *const algorithm = l->algorithm->graph;
    if (is_key(c, l, p->value) && is_value(l, p->key)) /* R8 */
        return diag_error(c->diag, at,
                          "%s: the pair '%s' <- '%s' is the wrong way round: the key names the variable, the value "
                          "its new content; write key '%s', value '%s'",
                          l->name, p->key, p->value, p->value, p->key);
    if (is_sparse_initializer(main_graph, p->key) || is_sparse_initializer(algorithm, p->key)) /* R15 */
        return diag_error(c->diag, at, "%s: key '%s' is a sparse initializer, which cannot be a variable", l->name,
                          p->key);
    if (is_in_subgraph(main_graph, p->key) || is_in_subgraph(algorithm, p->key))
        return diag_error(c->diag, at, "%s: key '%s' is an initializer inside a subgraph, which cannot be a variable",
                          l->name, p->key);
    for (size_t k = 0; k < c->model->training.count; k++) {
        if (k != l->k && map_has(&c->names[k].algorithm->initializers, p->key))
            return diag_error(c->diag, at, "%s: key '%s' is an initializer of another training_info's algorithm (#%zu)",
                              l->name, p->key, k + 1);
    }
    if (map_has(&c->main_names->inputs, p->key) || map_has(&c->main_names->results, p->key) ||
        map_has(&l->algorithm->results, p->key))
        return diag_error(c->diag, at, "%s: key '%s' is not an initializer: only initializers can be variables",
                          l->name, p->key);
    str_list names = {0};
    add_initializer_names(c->arena, main_graph, &names);
    add_initializer_names(c->arena, algorithm, &names);
    return diag_error(c->diag, at, "%s: key '%s' is no initializer of the main graph or of the algorithm%s", l->name,
                      p->key, str_suggestion(c->arena, p->key, names.data, names.count));
}

static bool report_bad_value(struct combiner *c, const struct binding_list *l, const struct model_pair *p,
                             const struct loc *at)
{
    if (map_has(&l->first->results, p->value) || (l->second != NULL && map_has(&l->second->results, p->value)))
        return diag_error(c->diag, at, "%s: value '%s' for '%s' is computed, but is not among the outputs of its graph",
                          l->name, p->value, p->key);
    str_list names = {0};
    add_output_names(c->arena, l->first->graph, &names);
    add_output_names(c->arena, l->second != NULL ? l->second->graph : NULL, &names);
    return diag_error(c->diag, at, "%s: value '%s' for '%s' is no output of %s%s", l->name, p->value, p->key,
                      l->values_text, str_suggestion(c->arena, p->value, names.data, names.count));
}

/* A variable needs a type that emitted code can hold. */
static bool enter_variable(struct combiner *c, const struct binding_list *l, const char *key, const struct loc *at)
{
    const struct model_initializer *init = map_get(&l->algorithm->initializers, key);
    struct map *state = &c->own_state[l->k];
    if (init == NULL) {
        init = map_get(&c->main_names->initializers, key);
        state = &c->main_state;
    }
    if (dtype_c_type(init->tensor->dtype)[0] == '\0')
        return diag_error(c->diag, at, "%s: initializer '%s' is of type %s, which a variable cannot have", l->name, key,
                          dtype_name(init->tensor->dtype));
    if (!map_has(state, key))
        map_set(state, key, NULL);
    return true;
}

/* Is the key handed over on purpose? An entry that works on the state alone reads what earlier ones left, then resets
 * it. */
static bool takes_over(const struct combiner *c, const struct binding_list *l, const char *key)
{
    return map_has(&c->main_names->initializers, key) && !combine_is_read(c->main_names, key) &&
           combine_without_main(c, l->k);
}

/* `before`: keys of this list in earlier training_infos. */
static bool check_bindings(struct combiner *c, const struct binding_list *l, struct map *before)
{
    struct map seen = {.arena = c->arena};
    const struct loc at = combine_loc(c, l->k);
    bool ok = true;
    vec_each_ptr(const struct model_pair, p, l->pairs) {
        if (map_has(&seen, p->key)) { /* R9 */
            ok = diag_error(c->diag, &at, "%s: key '%s' occurs twice", l->name, p->key);
            continue;
        }
        if (!is_key(c, l, p->key)) {
            ok = report_bad_key(c, l, p, &at);
        } else if (!is_value(l, p->value)) {
            ok = report_bad_value(c, l, p, &at);
            ok = enter_variable(c, l, p->key, &at) && ok;
        } else {
            ok = enter_variable(c, l, p->key, &at) && ok;
        }
        map_set(&seen, p->key, NULL);
        if (map_has(before, p->key) && !takes_over(c, l, p->key))
            diag_warning(c->diag, &at,
                         "%s: key '%s' is bound by an earlier training_info too: they are carried out in order",
                         l->name, p->key);
    }
    for (size_t i = 0; i < seen.count; i++)
        map_set(before, seen.entries[i].key, NULL);
    return ok;
}

static bool check_training(struct combiner *c, size_t k, struct map *updated, struct map *initialized)
{
    const struct model_training *const t = c->model->training.data[k];
    const struct training_names *const names = &c->names[k];
    const struct loc at = combine_loc(c, k);
    bool ok = true;
    if (t->initialization != NULL && t->initialization->inputs.count > 0)
        ok = diag_error(c->diag, &at, "the initialization graph has inputs ('%s'): nothing can feed them",
                        t->initialization->inputs.data[0]->name);
    if (t->initialization == NULL && t->initialization_binding.count > 0)
        return diag_error(c->diag, &at, "initialization_binding is given, but no initialization graph");

    const struct binding_list update = {"update_binding",
                                        &t->update_binding,
                                        k,
                                        names->algorithm,
                                        names->algorithm,
                                        c->main_names,
                                        "the algorithm or of the main graph"};
    const struct binding_list init = {
        "initialization_binding",  &t->initialization_binding, k, names->algorithm, names->initialization, NULL,
        "the initialization graph"};
    ok = check_bindings(c, &update, updated) && ok;
    ok = check_bindings(c, &init, initialized) && ok;
    return ok;
}

/* ---- GraphCall --------------------------------------------------------------------------------------------------- */

static bool is_main_value(const struct graph_names *of_main, const struct graph_names *algorithm, const char *name)
{
    if (name[0] == '\0' || map_has(&algorithm->inputs, name) || map_has(&algorithm->results, name))
        return false;
    const bool is_input = map_has(&of_main->inputs, name) && !map_has(&of_main->initializers, name);
    return is_input || map_has(&of_main->results, name);
}

static bool refers_to_main(const struct graph_names *of_main, const struct graph_names *algorithm,
                           const struct model_node *n)
{
    vec_each(const char *, name, &n->inputs)
        if (is_main_value(of_main, algorithm, name))
            return true;
    for (size_t i = 0; i < n->attrs.count && strcmp(n->op_type, "Gradient") == 0; i++) {
        const struct model_attr *const a = n->attrs.data[i];
        if (a->type == ATTR_STRING && a->s.data != NULL && is_main_value(of_main, algorithm, a->s.data))
            return true;
        for (size_t k = 0; k < a->strings.count; k++)
            if (a->strings.data[k].data != NULL && is_main_value(of_main, algorithm, a->strings.data[k].data))
                return true;
    }
    return false;
}

static bool refers_to_nothing(const struct combiner *c, size_t k)
{
    const struct model_training *const t = c->model->training.data[k];
    const struct graph_names *const of_main = c->main_names, *const algorithm = c->names[k].algorithm;
    vec_each(const struct model_node *, n, &t->algorithm->nodes)
        if (refers_to_main(of_main, algorithm, n))
            return false;
    vec_each(const struct model_value_info *, vi, &t->algorithm->outputs)
        if (is_main_value(of_main, algorithm, vi->name))
            return false;
    vec_each_ptr(const struct model_pair, pair, &t->update_binding)
        if (is_main_value(of_main, algorithm, pair->value))
            return false;
    return true;
}

bool combine_calls_main_only(const struct combiner *c, size_t k)
{
    const struct model_training *const t = c->model->training.data[k];
    bool calls = false;
    for (size_t i = 0; t->algorithm != NULL && i < t->algorithm->nodes.count; i++) {
        const struct model_node *const n = t->algorithm->nodes.data[i];
        calls = calls || (strcmp(n->domain, DOMAIN_TRAINING) == 0 && strcmp(n->op_type, "GraphCall") == 0);
    }
    return calls && refers_to_nothing(c, k); /* the second is slower, and GraphCall is rare */
}

/* Of several entries, one that works on the state alone and on what another entry left there, like `apply` of prepare
 * --split, does not ask for the inputs of the main graph, and returns none of its outputs. */
bool combine_without_main(const struct combiner *c, size_t k)
{
    const struct model_training *const t = c->model->training.data[k];
    const size_t steps = combine_count_steps(c->model);
    if (combine_calls_main_only(c, k))
        return true;
    bool takes = false;
    const struct map *const reads = &c->names[k].algorithm->reads;
    for (size_t i = 0; i < reads->count && t->update_binding.count > 0 && !takes && steps > 1; i++)
        takes = map_has(&c->main_state, reads->entries[i].key) && is_handed_over(c, k, reads->entries[i].key);
    return takes && refers_to_nothing(c, k);
}

/* ---- names of the combined graph --------------------------------------------------------------------------------- */

/* name -> what it is, as text. */
static void collect_definitions(const struct model_graph *mg, struct map *definitions)
{
    vec_each(const struct model_value_info *, vi, &mg->inputs)
        map_set(definitions, vi->name, "an input");
    vec_each(const struct model_initializer *, x, &mg->initializers)
        map_set(definitions, x->name, "an initializer");
    vec_each(const struct model_sparse *, x, &mg->sparse_initializers)
        map_set(definitions, x->name, "an initializer");
    vec_each(const struct model_node *, n, &mg->nodes)
        vec_each(const char *, name, &n->outputs)
            map_set(definitions, name, "a node's output");
}

static bool dims_compatible(const struct model_dim *a, const struct model_dim *b)
{
    return a->value < 0 || b->value < 0 || a->value == b->value;
}

static bool types_compatible(const struct model_type *a, const struct model_type *b)
{
    bool ok = a->kind == b->kind && a->elem == b->elem;
    if (!ok || !a->has_shape || !b->has_shape)
        return ok;
    ok = a->dims.count == b->dims.count;
    for (size_t i = 0; ok && i < a->dims.count; i++)
        ok = dims_compatible(&a->dims.data[i], &b->dims.data[i]);
    return ok;
}

/* R12: an input of the main graph may be repeated. Any other second definition is an error; those by nodes are found
 * when the nodes are imported. */
static bool check_combined_names(struct combiner *c, const struct model_graph *algorithm, const struct map *main_names)
{
    bool ok = true;
    vec_each(const struct model_value_info *, vi, &algorithm->inputs) {
        const struct model_value_info *const other = map_get(&c->main_names->inputs, vi->name);
        if (other != NULL && types_compatible(&vi->type, &other->type))
            diag_warning(c->diag, &vi->loc, "input '%s' repeats an input of the main graph: they are taken as one",
                         vi->name);
        else if (other != NULL)
            ok = diag_error(c->diag, &vi->loc, "input '%s' repeats an input of the main graph with another type",
                            vi->name);
        else if (map_has(main_names, vi->name))
            ok = diag_error(c->diag, &vi->loc, "input '%s' is already %s of the main graph", vi->name,
                            (const char *)map_get(main_names, vi->name));
    }
    vec_each(const struct model_initializer *, init, &algorithm->initializers)
        if (map_has(main_names, init->name))
            ok = diag_error(c->diag, &init->loc, "initializer '%s' of the algorithm is already %s of the main graph",
                            init->name, (const char *)map_get(main_names, init->name));
    vec_each(const struct model_sparse *, s, &algorithm->sparse_initializers)
        if (map_has(main_names, s->name))
            ok = diag_error(c->diag, &s->loc, "initializer '%s' of the algorithm is already %s of the main graph",
                            s->name, (const char *)map_get(main_names, s->name));
    return ok;
}

/* R14: initializers of two algorithms may share a name only if neither is a variable. */
static bool check_shared_names(struct combiner *c)
{
    struct map first = {.arena = c->arena}; /* name -> own_state of the training_info that declares it first */
    bool ok = true;
    for (size_t k = 0; k < c->model->training.count; k++) {
        const struct model_graph *const mg = c->model->training.data[k]->algorithm;
        for (size_t i = 0; mg != NULL && i < mg->initializers.count; i++) {
            const char *const name = mg->initializers.data[i]->name;
            const struct map *const other = map_get(&first, name);
            if (other == NULL) {
                map_set(&first, name, &c->own_state[k]);
                continue;
            }
            const struct loc at = combine_loc(c, k);
            if (other != &c->own_state[k] && (map_has(other, name) || map_has(&c->own_state[k], name)))
                ok = diag_error(c->diag, &at,
                                "initializer '%s' is declared by two algorithms, and is a variable: give them "
                                "different names, or declare it in the main graph",
                                name);
        }
    }
    return ok;
}

bool combine_check(struct combiner *c)
{
    struct map updated = {.arena = c->arena}, initialized = {.arena = c->arena}, main_names = {.arena = c->arena};
    bool ok = true;
    collect_definitions(c->model->graph, &main_names);
    for (size_t k = 0; k < c->model->training.count; k++) {
        const struct model_graph *const algorithm = c->model->training.data[k]->algorithm;
        ok = check_training(c, k, &updated, &initialized) && ok;
        if (algorithm != NULL && !combine_calls_main_only(c, k))
            ok = check_combined_names(c, algorithm, &main_names) && ok;
    }
    return check_shared_names(c) && ok;
}
