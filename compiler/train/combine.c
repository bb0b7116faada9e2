/* Combination: one graph per entry out of a model with training_info.
 *
 *   init       the initialization graphs, each in a name space of its own, with their bindings
 *   step ...   main graph + algorithm, as if their lists stood in one graph, with the update bindings; of several
 *              each under its own name, and "step" for all of them: combine_step.c
 *   infer      the main graph alone
 *
 * State variables are the initializers that some binding writes; every other initializer is a constant. Which
 * initializers may be keys, and all other rules of bindings, are in combine_check.c. */
#include "train/combine.h"

#include "base/str.h"
#include "graph/bounded.h"
#include "graph/op_def.h"
#include "rewrite/pass.h"
#include "train/combine_internal.h"

#include <string.h>

/* ---- variables --------------------------------------------------------------------------------------------------- */

/* Names that say what an initializer is for, of all graphs of a model. */
struct initializer_uses {
    struct map differentiated; /* in xs of some Gradient */
    struct map statistics;     /* running mean or variance of some BatchNormalization */
    struct map stand_ins;      /* operands of GraphCall: what the main graph reads in the place of a weight */
    struct map sums;           /* what an entry only adds to: combine_sums.c */
};

/* What a GraphCall hands to the main graph in the place of a weight is a running mean of it. */
static void note_stand_ins(struct initializer_uses *uses, const struct model_node *n)
{
    if (str_equal(n->op_type, "GraphCall") && str_equal(n->domain, DOMAIN_TRAINING))
        vec_each(const char *, name, &n->inputs)
            map_set(&uses->stand_ins, name, NULL);
}

static void note_uses(struct initializer_uses *uses, const struct model_graph *mg)
{
    for (size_t i = 0; mg != NULL && i < mg->nodes.count; i++) {
        const struct model_node *const n = mg->nodes.data[i];
        note_stand_ins(uses, n);
        const struct op_def *const def = op_find(n->domain, n->op_type);
        const struct model_attr *const xs = str_equal(n->op_type, "Gradient") ? model_find_attr(&n->attrs, "xs") : NULL;
        const size_t params = def != NULL ? op_count_params(def->inputs) : 0;
        for (size_t k = 0; k < params && k < n->inputs.count; k++)
            if (def->inputs[k].flags & PARAM_STATISTIC)
                map_set(&uses->statistics, n->inputs.data[k], NULL);
        for (size_t j = 0; xs != NULL && j < xs->strings.count; j++)
            if (xs->strings.data[j].data != NULL)
                map_set(&uses->differentiated, xs->strings.data[j].data, NULL);
    }
}

/* What the main graph does not read is there for the algorithms: weights of a part that only training needs, and what
 * they share beside them, like sums of gradients. */
static enum variable_role role_of(const struct combiner *c, const struct initializer_uses *uses,
                                  const struct model_initializer *init, bool in_main)
{
    const struct tensor *const t = init->tensor;
    if (map_has(&uses->sums, init->name))
        return ROLE_SUM;
    if (!dtype_is_float(t->dtype))
        return t->count == 1 ? ROLE_COUNTER : in_main ? ROLE_STATISTIC : ROLE_OPTIMIZER;
    if (map_has(&uses->differentiated, init->name))
        return ROLE_WEIGHT;
    if (!in_main || !combine_is_read(c->main_names, init->name))
        return in_main && map_has(&uses->stand_ins, init->name) ? ROLE_STATISTIC : ROLE_OPTIMIZER;
    return map_has(&uses->statistics, init->name) ? ROLE_STATISTIC : ROLE_WEIGHT;
}

/* The initializers of mg that `state` names become variables; the map's values are set to them. */
static void make_variables(struct combiner *c, const struct initializer_uses *uses, const struct model_graph *mg,
                           struct map *state, variable_list *made)
{
    for (size_t i = 0; mg != NULL && i < mg->initializers.count; i++) {
        const struct model_initializer *const init = mg->initializers.data[i];
        if (!map_has(state, init->name) || map_get(state, init->name) != NULL)
            continue;
        struct variable *const v = arena_new(c->arena, struct variable);
        *v = (struct variable){.name = init->name,
                               .dtype = init->tensor->dtype,
                               .shape = init->tensor->shape,
                               .initial = init->tensor,
                               .role = role_of(c, uses, init, mg == c->model->graph),
                               .loc = init->loc};
        map_set(state, init->name, v);
        vec_push(c->arena, made, v);
    }
}

/* weights | statistics | optimizer | counters | sums, each in model order: main graph, then the algorithms. */
static void make_all_variables(struct combiner *c)
{
    variable_list made = {0};
    struct initializer_uses uses = {{.arena = c->arena}, {.arena = c->arena}, {.arena = c->arena}, {.arena = c->arena}};
    note_uses(&uses, c->model->graph);
    vec_each(const struct model_training *, t, &c->model->training)
        note_uses(&uses, t->algorithm);
    combine_find_sums(c->arena, c->model, &uses.sums);
    make_variables(c, &uses, c->model->graph, &c->main_state, &made);
    for (size_t k = 0; k < c->model->training.count; k++)
        make_variables(c, &uses, c->model->training.data[k]->algorithm, &c->own_state[k], &made);
    for (int role = ROLE_WEIGHT; role <= ROLE_SUM; role++) {
        vec_each(struct variable *, v, &made) {
            if ((int)v->role != role)
                continue;
            v->index = (int)c->program->variables.count;
            vec_push(c->arena, &c->program->variables, v);
        }
    }
}

static struct variable *find_variable(const struct combiner *c, size_t k, const char *name)
{
    struct variable *const own = map_get(&c->own_state[k], name);
    return own != NULL ? own : map_get(&c->main_state, name);
}

/* ---- names of entries -------------------------------------------------------------------------------------------- */

static const char *c_identifier(struct arena *a, const char *name)
{
    const bool starts_well = is_letter(name[0]);
    char *const id = arena_printf(a, "%s%s", starts_well ? "" : "m_", name);
    for (char *p = id; *p != '\0'; p++)
        if (!is_letter(*p) && !is_digit(*p))
            *p = '_';
    return id;
}

/* What follows the model's prefix in emitted code already: digits_state is a type, digits_step_inputs as well. */
static bool is_taken_by_code(const char *name)
{
    static const char *const taken[] = {"state", "arena", "model", "variables", "entries", "weights",
                                        "weights_end", "updates_by_entry"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (strcmp(name, taken[i]) == 0)
            return true;
    return str_ends_with(name, "_inputs") || str_ends_with(name, "_outputs");
}

static const char *fresh_entry_name(struct combiner *c, const char *wish)
{
    if (is_taken_by_code(wish))
        wish = arena_printf(c->arena, "%s_entry", wish);
    const char *name = wish;
    for (int i = 2; map_has(&c->entry_names, name); i++)
        name = arena_printf(c->arena, "%s_%d", wish, i);
    map_set(&c->entry_names, name, NULL);
    return name;
}

bool combine_has_updates(const struct model_training *t)
{
    return t->update_binding.count > 0;
}

size_t combine_count_steps(const struct model *m)
{
    size_t steps = 0;
    vec_each(const struct model_training *, t, &m->training)
        steps += combine_has_updates(t);
    return steps;
}

/* NULL for a training_info that only initializes. */
static const char *training_entry_name(struct combiner *c, size_t k)
{
    const struct model_training *const t = c->model->training.data[k];
    if (!combine_has_updates(t) && t->algorithm == NULL)
        return NULL;
    if (combine_has_updates(t) && combine_count_steps(c->model) == 1)
        return "step";
    const char *const own = t->algorithm != NULL ? t->algorithm->name : "";
    return fresh_entry_name(c,
                            own[0] != '\0' ? c_identifier(c->arena, own) : arena_printf(c->arena, "step_%zu", k + 1));
}

/* Is the name in the comma-separated list? NULL: everything is. */
static bool is_in_list(const char *list, const char *name)
{
    const size_t length = strlen(name);
    for (const char *p = list; p != NULL; p = strchr(p, ',') != NULL ? strchr(p, ',') + 1 : NULL)
        if (strncmp(p, name, length) == 0 && (p[length] == ',' || p[length] == '\0'))
            return true;
    return list == NULL;
}

static bool check_only(struct combiner *c)
{
    bool ok = true;
    const struct loc at = LOC_FILE(c->model->file);
    for (const char *p = c->only; p != NULL; p = strchr(p, ',') != NULL ? strchr(p, ',') + 1 : NULL) {
        const char *const name = arena_strndup(c->arena, p, strcspn(p, ","));
        if (map_has(&c->entry_names, name))
            continue;
        struct strbuf names = {.arena = c->arena};
        for (size_t i = 0; i < c->entry_names.count; i++)
            strbuf_addf(&names, "%s%s", i > 0 ? ", " : "", c->entry_names.entries[i].key);
        ok = diag_error(c->diag, &at, "the model has no entry '%s'; it has: %s", name, strbuf_text(&names));
    }
    return ok;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

struct graph *combine_add_entry(struct combiner *c, const char *name, enum entry_kind kind, int training, size_t first,
                                size_t counters)
{
    struct graph *const g = graph_new(c->program, name);
    g->loc = (struct loc){.file = c->model->file, .graph = name, .index = -1};
    g->counter = (uint32_t)first;
    vec_push(c->arena, &c->program->entries,
             ((struct entry){.name = name,
                             .kind = kind,
                             .graph = g,
                             .training = training,
                             .first_counter = first,
                             .counter_count = counters}));
    return g;
}

static void add_state_to_scope(struct graph *g, const struct map *state, struct map *scope)
{
    for (size_t i = 0; i < state->count; i++)
        if (state->entries[i].value != NULL)
            map_set(scope, state->entries[i].key, graph_add_variable(g, state->entries[i].value));
}

/* R11 in docs/readings.md. A poisoned value is silent. */
static bool add_binding(struct combiner *c, struct graph *g, size_t k, const char *list, const struct model_pair *pair,
                        const struct map *scope)
{
    struct variable *const variable = find_variable(c, k, pair->key);
    struct value *const value = map_get(scope, pair->value);
    const struct loc loc = combine_loc(c, k);
    if (variable == NULL || value == NULL)
        return false;
    if (value->bounded != NULL)
        return diag_unsupported(c->diag, &loc,
                                "%s: how many elements '%s' has along axis %d follows from data (%s): a variable has a "
                                "fixed size",
                                list, pair->value, value->bounded->axis, value->bounded->origin);
    if (value->dtype != variable->dtype || !shape_equal(&value->shape, &variable->shape))
        return diag_error(c->diag, &loc, "%s: '%s' is %s%s, but the variable '%s' is %s%s", list, pair->value,
                          dtype_name(value->dtype), shape_text(c->arena, &value->shape), pair->key,
                          dtype_name(variable->dtype), shape_text(c->arena, &variable->shape));
    const struct binding b = {.variable = variable, .value = value, .loc = loc};
    vec_each_ptr(struct binding, other, &g->bindings)
        if (other->variable == variable) {
            *other = b; /* R9: of two initializations the later one wins */
            return true;
        }
    vec_push(c->arena, &g->bindings, b);
    return true;
}

static bool add_bindings(struct combiner *c, struct graph *g, size_t k, const char *list, const model_pairs *pairs,
                         const struct map *scope)
{
    bool ok = true;
    vec_each_ptr(const struct model_pair, pair, pairs)
        ok = add_binding(c, g, k, list, pair, scope) && ok;
    return ok;
}

static bool make_init(struct combiner *c)
{
    struct graph *const g = combine_add_entry(c, "init", ENTRY_INIT, -1, 0, 0);
    bool ok = true;
    for (size_t k = 0; k < c->model->training.count; k++) {
        const struct model_training *const t = c->model->training.data[k];
        if (t->initialization == NULL)
            continue;
        struct map scope = {.arena = c->arena}; /* R14 */
        ok = import_nodes(g, t->initialization, &scope, c->options, "init") && ok;
        ok = import_outputs(g, t->initialization, &scope) && ok; /* checks what it declares ... */
        g->outputs.count = 0;                                    /* ... but init() hands out nothing */
        ok = add_bindings(c, g, k, "initialization_binding", &t->initialization_binding, &scope) && ok;
    }
    return ok;
}

/* R13: what is stored into a variable is not handed to the caller as well. */
static void drop_bound_outputs(struct graph *g, const model_pairs *pairs)
{
    size_t kept = 0;
    for (size_t i = 0; i < g->outputs.count; i++) {
        bool bound = false;
        vec_each_ptr(const struct model_pair, pair, pairs)
            bound = bound || str_equal(pair->value, g->outputs.data[i].name);
        if (!bound)
            g->outputs.data[kept++] = g->outputs.data[i];
    }
    g->outputs.count = kept;
}

/* The main graph without anything but its initializers. */
static const struct model_graph *initializers_only(struct arena *a, const struct model_graph *mg)
{
    struct model_graph *const bare = arena_new(a, struct model_graph);
    *bare = (struct model_graph){.name = mg->name, .doc = mg->doc, .loc = mg->loc};
    memcpy(&bare->initializers, &mg->initializers, sizeof bare->initializers);
    memcpy(&bare->sparse_initializers, &mg->sparse_initializers, sizeof bare->sparse_initializers);
    return bare;
}

const struct model_graph *combine_main_graph(const struct combiner *c, size_t k)
{
    return combine_without_main(c, k) ? initializers_only(c->arena, c->model->graph) : c->model->graph;
}

bool combine_add_training(struct combiner *c, struct graph *g, size_t k, struct map *scope, const char *entry)
{
    const struct model_training *const t = c->model->training.data[k];
    const struct model_graph *const main_graph = combine_main_graph(c, k);
    bool ok = import_nodes(g, main_graph, scope, c->options, entry);
    ok = import_outputs(g, main_graph, scope) && ok;
    if (t->algorithm != NULL) {
        ok = import_nodes(g, t->algorithm, scope, c->options, entry) && ok;
        ok = import_outputs(g, t->algorithm, scope) && ok;
    }
    ok = add_bindings(c, g, k, "update_binding", &t->update_binding, scope) && ok;
    drop_bound_outputs(g, &t->update_binding);
    return ok;
}

static bool make_training_entry(struct combiner *c, size_t k, const char *name, size_t counter)
{
    const bool updates = combine_has_updates(c->model->training.data[k]);
    struct graph *const g =
        combine_add_entry(c, name, updates ? ENTRY_STEP : ENTRY_EVALUATE, (int)k, updates ? counter : 0, updates);
    struct map scope = {.arena = c->arena};
    add_state_to_scope(g, &c->main_state, &scope);
    add_state_to_scope(g, &c->own_state[k], &scope);
    return combine_add_training(c, g, k, &scope, name);
}

static bool make_infer(struct combiner *c)
{
    struct graph *const g = combine_add_entry(c, "infer", ENTRY_INFER, -1, 0, 0);
    struct map scope = {.arena = c->arena};
    add_state_to_scope(g, &c->main_state, &scope);
    const bool ok = import_nodes(g, c->model->graph, &scope, c->options, "infer");
    return import_outputs(g, c->model->graph, &scope) && ok;
}

/* NULL for a training_info that is no entry. */
static const char **name_entries(struct combiner *c)
{
    const size_t count = c->model->training.count;
    const char **const names = arena_array(c->arena, const char *, count);
    map_set(&c->entry_names, "init", NULL);
    map_set(&c->entry_names, "infer", NULL);
    if (combine_count_steps(c->model) > 0)
        map_set(&c->entry_names, "step", NULL);
    for (size_t k = 0; k < count; k++)
        names[k] = training_entry_name(c, k);
    return names;
}

void combine_training_names(struct arena *a, const struct model *m, str_list *names)
{
    struct combiner c = {.arena = a, .model = m, .entry_names = {.arena = a}};
    const char **const all = name_entries(&c);
    for (size_t k = 0; k < m->training.count; k++)
        if (combine_has_updates(m->training.data[k]))
            vec_push(a, names, all[k]);
}

static void add_counters(struct combiner *c)
{
    str_list *const counters = &c->program->counters;
    combine_training_names(c->arena, c->model, counters);
    if (counters->count == 0)
        vec_push(c->arena, counters, "");
    c->program->random_streams = (uint32_t)counters->count * import_random_streams(c->model);
}

static bool make_entries(struct combiner *c)
{
    const size_t count = c->model->training.count;
    const char **const names = name_entries(c);
    bool ok = check_only(c);
    if (is_in_list(c->only, "init"))
        ok = make_init(c) && ok;
    if (combine_count_steps(c->model) > 1 && is_in_list(c->only, "step"))
        ok = combine_make_step(c, names) && ok;
    size_t counter = 0;
    for (size_t k = 0; k < count; k++) {
        if (names[k] != NULL && is_in_list(c->only, names[k]))
            ok = make_training_entry(c, k, names[k], counter) && ok;
        counter += combine_has_updates(c->model->training.data[k]);
    }
    if (is_in_list(c->only, "infer"))
        ok = make_infer(c) && ok;
    return ok;
}

/* ---- the program ------------------------------------------------------------------------------------------------- */

bool combine_program(struct diag *d, struct arena *a, const struct model *m, const struct import_options *o,
                     const char *name, const char *only, struct program **out)
{
    struct program *const p = arena_new(a, struct program);
    *p = (struct program){.name = c_identifier(a, name),
                          .arena = a,
                          .diag = d,
                          .model = m,
                          .fold = fold_value,
                          .fed = o->fed,
                          .range = o->range,
                          .bounds = bounded_options(a, m, o->bounds)};
    struct combiner c = {.diag = d,
                         .arena = a,
                         .model = m,
                         .options = o,
                         .only = only,
                         .program = p,
                         .main_state = {.arena = a},
                         .entry_names = {.arena = a},
                         .own_state = arena_array(a, struct map, m->training.count),
                         .main_names = combine_names(a, m->graph),
                         .names = arena_array(a, struct training_names, m->training.count)};
    for (size_t k = 0; k < m->training.count; k++) {
        const struct model_training *const t = m->training.data[k];
        c.own_state[k].arena = a;
        c.names[k] = (struct training_names){combine_names(a, t->algorithm), combine_names(a, t->initialization)};
    }

    *out = NULL;
    bool ok = import_check_model(d, m);
    if (m->opsets.count == 0 && m->ir_version >= 3)
        return false; /* every node would say so again */
    ok = combine_check(&c) && ok;
    make_all_variables(&c);
    add_counters(&c);
    ok = combine_infer_sizes(&c) && make_entries(&c) && ok;
    bounded_forget(p);
    *out = ok ? p : NULL;
    return ok;
}

void combine_values(struct diag *d, struct arena *a, const struct model *m, const struct import_options *o,
                    struct map *values)
{
    struct program *const p = arena_new(a, struct program);
    *p = (struct program){.name = "values", .arena = a, .diag = d, .model = m, .fold = fold_value, .fed = o->fed,
                          .bounds = bounded_options(a, m, o->bounds)};
    vec_push(a, &p->counters, "");
    *values = (struct map){.arena = a};
    if (!import_nodes(graph_new(p, "infer"), m->graph, values, o, "infer"))
        return; /* what there is is in `values` */
}
