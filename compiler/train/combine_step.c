/* step() of a model with several training entries: all that have update bindings, in order, as one graph
 * (docs/readings.md, R7).
 *
 *   entry a: W <- a(W, x)                     step: W_2 = a(W, x)
 *   entry b: V <- b(W, V, x)                        V_2 = b(W_2, V, x);  W <- W_2, V <- V_2
 *
 * A later entry reads what earlier ones bind; everything is stored at the end, so that a step that fails has changed
 * nothing, and gives the bits of the entries called one after the other. For that, what it reads is what a variable
 * would hold: rounded to its type, a constant to every Gradient (stepc.Stored). Entries keep their own counters of
 * random numbers.
 *
 * Names: an input that several entries have is one input, of one type. An output that several have is that of the first
 * under its own name; algorithms' later ones are called ENTRY.NAME, and the main graph's, which say the same of newer
 * variables, are left out. Everything else of an algorithm is its own (R14). */
#include "train/combine_internal.h"

#include "graph/build.h"

#include <string.h>

struct step_maker {
    struct combiner *c;
    struct graph *graph;
    struct map inputs;    /* name -> struct value * */
    struct map state;     /* variable's name -> its content by now, struct value * */
    struct map constants; /* of the main graph: name -> struct value *, from the first entry that has them on */
    VEC(struct graph_output) outputs;
};

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

/* Inputs of earlier entries serve this one as well. */
static bool share_inputs(struct step_maker *s, size_t k, const struct model_graph *mg, struct map *scope)
{
    bool ok = true;
    const bool with_main = !combine_without_main(s->c, k);
    vec_each(const struct model_value_info *, vi, &mg->inputs) {
        struct value *const v = map_get(&s->inputs, vi->name);
        struct shape shape;
        if (v == NULL || map_has(scope, vi->name))
            continue;
        map_set(scope, vi->name, v);
        if (with_main && map_has(&s->c->main_names->inputs, vi->name)) /* compared already */
            continue;
        if (!import_input_shape(s->graph, vi, s->c->options, "step", &shape))
            ok = false;
        else if (v->dtype != vi->type.elem || !shape_equal(&v->shape, &shape))
            ok = diag_error(s->c->diag, &vi->loc,
                            "input '%s' is %s%s here, but %s%s in an earlier training_info: step() has one input of a "
                            "name; rename it, or leave step out with --entries",
                            vi->name, dtype_name(vi->type.elem), shape_text(s->c->arena, &shape), dtype_name(v->dtype),
                            shape_text(s->c->arena, &v->shape));
    }
    return ok;
}

static void reserve_state(const struct map *state, struct map *scope)
{
    for (size_t i = 0; i < state->count; i++)
        map_set(scope, state->entries[i].key, NULL);
}

/* Before any node, which could take their names in the graph. */
static bool add_inputs(struct step_maker *s, size_t k)
{
    const struct model_graph *const graphs[] = {combine_main_graph(s->c, k), s->c->model->training.data[k]->algorithm};
    bool ok = true;
    struct map scope = {.arena = s->c->arena};
    reserve_state(&s->c->main_state, &scope);
    reserve_state(&s->c->own_state[k], &scope);
    for (int i = 0; i < 2; i++) {
        if (graphs[i] == NULL)
            continue;
        ok = share_inputs(s, k, graphs[i], &scope) && ok;
        ok = import_arguments(s->graph, graphs[i], &scope, s->c->options, "step") && ok;
        for (size_t n = 0; n < graphs[i]->inputs.count; n++) {
            const char *const name = graphs[i]->inputs.data[n]->name;
            if (map_get(&scope, name) != NULL)
                map_set(&s->inputs, name, map_get(&scope, name));
        }
    }
    return ok;
}

/* ---- what an entry starts from ----------------------------------------------------------------------------------- */

static void add_state(struct step_maker *s, const struct map *state, struct map *scope)
{
    for (size_t i = 0; i < state->count; i++) {
        const char *const name = state->entries[i].key;
        struct variable *const variable = state->entries[i].value;
        if (variable == NULL)
            continue;
        if (!map_has(&s->state, name))
            map_set(&s->state, name, graph_add_variable(s->graph, variable));
        map_set(scope, name, map_get(&s->state, name));
    }
}

static void add_inputs_of(const struct step_maker *s, const struct model_graph *mg, struct map *scope)
{
    for (size_t i = 0; mg != NULL && i < mg->inputs.count; i++) {
        struct value *const v = map_get(&s->inputs, mg->inputs.data[i]->name);
        if (v != NULL && !map_has(scope, mg->inputs.data[i]->name))
            map_set(scope, mg->inputs.data[i]->name, v);
    }
}

static void start_scope(struct step_maker *s, size_t k, struct map *scope)
{
    add_state(s, &s->c->main_state, scope);
    add_state(s, &s->c->own_state[k], scope);
    add_inputs_of(s, combine_main_graph(s->c, k), scope);
    add_inputs_of(s, s->c->model->training.data[k]->algorithm, scope);
    for (size_t i = 0; i < s->constants.count; i++)
        if (!map_has(scope, s->constants.entries[i].key))
            map_set(scope, s->constants.entries[i].key, s->constants.entries[i].value);
}

static void keep_constants(struct step_maker *s, const struct map *scope)
{
    const struct model_graph *const mg = s->c->model->graph;
    vec_each(const struct model_initializer *, x, &mg->initializers)
        if (map_has(scope, x->name))
            map_set(&s->constants, x->name, map_get(scope, x->name));
    vec_each(const struct model_sparse *, x, &mg->sparse_initializers)
        if (map_has(scope, x->name))
            map_set(&s->constants, x->name, map_get(scope, x->name));
}

/* ---- what it leaves ---------------------------------------------------------------------------------------------- */

static bool store(struct step_maker *s, const struct binding *bound)
{
    struct builder b = {.graph = s->graph, .loc = bound->loc, .prefix = ""};
    struct value *const v = build_value(&b, "stepc.Stored", NULL, (struct value *const[]){bound->value}, 1);
    graph_rename(s->graph, v, graph_fresh_name(s->graph, bound->variable->name));
    map_set(&s->state, bound->variable->name, v);
    return !b.failed;
}

/* The bindings of the entry that was just added; those of earlier ones stay unless it binds the same variable. */
static bool store_updates(struct step_maker *s, size_t k)
{
    const struct model_training *const t = s->c->model->training.data[k];
    bool ok = true;
    vec_each_ptr(const struct binding, bound, &s->graph->bindings)
        vec_each_ptr(const struct model_pair, pair, &t->update_binding)
            if (str_equal(pair->key, bound->variable->name))
                ok = store(s, bound) && ok;
    return ok;
}

static bool has_output(const struct step_maker *s, const char *name)
{
    vec_each_ptr(const struct graph_output, out, &s->outputs)
        if (str_equal(out->name, name))
            return true;
    return false;
}

static void take_outputs(struct step_maker *s, const char *entry)
{
    vec_each(struct graph_output, out, &s->graph->outputs) {
        if (has_output(s, out.name)) {
            if (map_has(&s->c->main_names->outputs, out.name))
                continue;
            out.name = arena_printf(s->c->arena, "%s.%s", entry, out.name);
        }
        vec_push(s->c->arena, &s->outputs, out);
    }
    s->graph->outputs.count = 0;
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

bool combine_make_step(struct combiner *c, const char *const *names)
{
    const size_t count = c->model->training.count;
    struct step_maker s = {.c = c,
                           .graph = combine_add_entry(c, "step", ENTRY_STEP, -1, 0, c->program->counters.count),
                           .inputs = {.arena = c->arena},
                           .state = {.arena = c->arena},
                           .constants = {.arena = c->arena}};
    bool ok = true;
    for (size_t k = 0; k < count; k++)
        if (combine_has_updates(c->model->training.data[k]))
            ok = add_inputs(&s, k) && ok;
    for (size_t k = 0; k < count; k++) {
        if (!combine_has_updates(c->model->training.data[k]))
            continue;
        struct map scope = {.arena = c->arena};
        start_scope(&s, k, &scope);
        ok = combine_add_training(c, s.graph, k, &scope, "step") && ok;
        keep_constants(&s, &scope);
        take_outputs(&s, names[k]);
        ok = ok && store_updates(&s, k);
        s.graph->counter++;
    }
    vec_each(struct graph_output, out, &s.outputs)
        vec_push(c->arena, &s.graph->outputs, out);
    return ok;
}
