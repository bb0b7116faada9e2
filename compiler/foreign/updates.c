/* Reads out of a model's training entries what the update of each weight is made of. */
#include "foreign/fill_internal.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

#define TRAINING "ai.onnx.preview.training"
#define PRODUCT "momentum_product"

enum { MOST_VISITED = 10000 /* nodes of one update: honest ones have thirty */ };

/* PyTorch's key -> what `stepc prepare` adds to the weight's name. with, without: another that PyTorch keeps beside it,
 * or does not; beside, alone: a suffix of another variable that the model has for the weight, or has not. */
static const struct suffix {
    const char *key, *suffix, *with, *without, *beside, *alone;
} suffixes[] = {
    {"exp_avg", "m", NULL, NULL, NULL, NULL},
    {"exp_avg_sq", "v", NULL, NULL, "m", NULL},
    {"max_exp_avg_sq", "v_max", NULL, NULL, NULL, NULL},
    {"exp_inf", "u", NULL, NULL, NULL, NULL},
    {"momentum_buffer", "buffer", "square_avg", NULL, NULL, NULL},
    {"momentum_buffer", "v", NULL, "square_avg", NULL, "m"},
    {"square_avg", "v", "grad_avg", NULL, "m", NULL},
    {"square_avg", "v", NULL, "grad_avg", NULL, "m"},
    {"grad_avg", "m", NULL, NULL, "v", NULL},
    {"sum", "h", NULL, NULL, NULL, "v"},
};
enum { SUFFIXES = sizeof suffixes / sizeof *suffixes };

/* What prepare calls a constant, or an operator an attribute -> PyTorch's name. */
static const struct {
    const char *op, *name, *key;
} constants[] = {
    {"", "beta1", "beta1"},
    {"", "beta2", "beta2"},
    {"", "epsilon", "eps"},
    {"", "weight_decay", "weight_decay"},
    {"", "norm_coefficient", "weight_decay"},
    {"", "momentum", "momentum"},
    {"", "momentum_decay", "momentum_decay"},
    {"", "alpha", "alpha"},
    {"Adam", "alpha", "beta1"},
    {"Adam", "beta", "beta2"},
    {"Adam", "epsilon", "eps"},
    {"Adam", "norm_coefficient", "weight_decay"},
    {"Momentum", "alpha", "momentum"},
    {"Momentum", "norm_coefficient", "weight_decay"},
    {"Adagrad", "epsilon", "eps"},
    {"Adagrad", "decay_factor", "lr_decay"},
    {"Adagrad", "norm_coefficient", "weight_decay"},
};
enum { CONSTANTS = sizeof constants / sizeof *constants };

/* Operators: how many tensors they keep for each weight, and what PyTorch calls these. */
static const struct operator_form {
    const char *op;
    size_t states;
    const char *keys[2];
    int64_t first; /* what prepare counts steps from */
} operators[] = {
    {"Adam", 2, {"exp_avg", "exp_avg_sq"}, 1}, {"Momentum", 1, {"momentum_buffer"}, 0}, {"Adagrad", 1, {"sum"}, 0}};
enum { OPERATORS = sizeof operators / sizeof *operators };

static const struct operator_form *form_of(const struct model_node *n)
{
    for (size_t i = 0; i < OPERATORS; i++)
        if (str_equal(n->domain, TRAINING) && str_equal(n->op_type, operators[i].op))
            return &operators[i];
    return NULL;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void add_initializers(struct updates *u, const struct model_graph *g)
{
    for (size_t i = 0; g && i < g->initializers.count; i++)
        if (!map_has(&u->initializers, g->initializers.data[i]->name))
            map_set(&u->initializers, g->initializers.data[i]->name, g->initializers.data[i]);
}

static void add_counter(struct updates *u, const char *name, int64_t first)
{
    const struct model_initializer *const x = map_get(&u->initializers, name);
    if (!x || !map_has(&u->bound, name) || x->tensor->count != 1 || !dtype_is_int(x->tensor->dtype) ||
        map_has(&u->counters, name))
        return;
    int64_t *const kept = arena_new(u->arena, int64_t);
    *kept = first;
    map_set(&u->counters, name, kept);
}

/* X', S1'... = OP(R, T, X..., G..., S1..., S2...) */
static void add_operator(struct updates *u, const struct model_node *n, const struct operator_form *form)
{
    const size_t tensors = n->inputs.count < 2 ? 0 : (n->inputs.count - 2) / (2 + form->states);
    for (size_t i = 0; i < tensors; i++)
        for (size_t k = 0; k < form->states; k++) {
            const char *const weight = n->inputs.data[2 + i], *const state = n->inputs.data[2 + (2 + k) * tensors + i];
            if (!map_has(&u->bound, weight) || !map_has(&u->bound, state) || !map_has(&u->initializers, weight) ||
                !map_has(&u->initializers, state))
                continue;
            map_set(&u->slots, arena_printf(u->arena, "%s %s", form->keys[k], weight), (void *)(uintptr_t)state);
            map_set(&u->states, state, NULL);
        }
    if (n->inputs.count >= 2)
        add_counter(u, n->inputs.data[1], form->first);
}

static void add_algorithm(struct updates *u, const struct model_graph *g)
{
    vec_each(const struct model_node *, n, &g->nodes) {
        const struct operator_form *const form = form_of(n);
        vec_each(const char *, output, &n->outputs)
            if (output[0] != '\0' && !map_has(&u->producers, output))
                map_set(&u->producers, output, (void *)(uintptr_t)n);
        if (form)
            add_operator(u, n, form);
    }
}

void updates_find(struct arena *a, const struct model *m, struct updates *out)
{
    *out = (struct updates){.model = m,
                            .arena = a,
                            .initializers.arena = a,
                            .bound.arena = a,
                            .producers.arena = a,
                            .slots.arena = a,
                            .states.arena = a,
                            .counters.arena = a};
    add_initializers(out, m->graph);
    vec_each(const struct model_training *, t, &m->training) {
        add_initializers(out, t->algorithm);
        vec_each_ptr(const struct model_pair, p, &t->update_binding)
            map_set(&out->bound, p->key, (void *)(uintptr_t)p->value);
    }
    vec_each(const struct model_training *, t, &m->training)
        if (t->algorithm)
            add_algorithm(out, t->algorithm);
    add_counter(out, "step_count", 0);
}

/* ---- what is kept for a weight ----------------------------------------------------------------------------------- */

static bool has_key(const named_tensors *list, const char *key)
{
    vec_each_ptr(const struct named_tensor, t, list)
        if (str_equal(t->name, key))
            return true;
    return false;
}

static bool has_variable(const struct updates *u, const char *weight, const char *suffix)
{
    const char *const name = arena_printf(u->arena, "%s.%s", weight, suffix);
    return map_has(&u->bound, name) && map_has(&u->initializers, name) && !map_has(&u->states, name);
}

const char *updates_slot(const struct updates *u, const char *weight, const char *key, const named_tensors *others)
{
    const char *const known = map_get(&u->slots, arena_printf(u->arena, "%s %s", key, weight));
    if (known)
        return known;
    if (str_equal(key, "mu_product")) /* NAdam's, the same for all */
        return map_has(&u->bound, PRODUCT) && map_has(&u->initializers, PRODUCT) ? PRODUCT : NULL;
    for (size_t i = 0; i < SUFFIXES; i++) {
        const struct suffix *const s = &suffixes[i];
        if (str_equal(s->key, key) && has_variable(u, weight, s->suffix) && (!s->with || has_key(others, s->with)) &&
            (!s->without || !has_key(others, s->without)) && (!s->beside || has_variable(u, weight, s->beside)) &&
            (!s->alone || !has_variable(u, weight, s->alone)))
            return arena_printf(u->arena, "%s.%s", weight, s->suffix);
    }
    return NULL;
}

bool updates_is_state(const struct updates *u, const char *variable)
{
    const char *const dot = strrchr(variable, '.');
    if (map_has(&u->states, variable))
        return true;
    for (size_t i = 0; dot && i < SUFFIXES; i++)
        if (str_equal(dot + 1, suffixes[i].suffix) &&
            map_has(&u->bound, arena_strndup(u->arena, variable, (size_t)(dot - variable))))
            return true;
    return false;
}

bool updates_is_fresh(const struct updates *u)
{
    for (size_t i = 0; i < u->bound.count; i++) {
        const char *const name = u->bound.entries[i].key;
        const struct model_initializer *const x = map_get(&u->initializers, name);
        if (x && x->tensor->dtype != DTYPE_STRING && updates_is_state(u, name) && !tensor_is_zero(x->tensor))
            return false;
    }
    return true;
}

/* A note says how many steps were filled in; without one, what a fresh model has; else what prepare gives. */
int64_t updates_first_count(const struct updates *u, const char *counter)
{
    const struct model_initializer *const x = map_get(&u->initializers, counter);
    const int64_t now = tensor_get_int(x->tensor, 0), filled = checkpoint_counted_of_model(u->model),
                  usual = *(const int64_t *)map_get(&u->counters, counter);
    if (filled > 0 && now >= filled)
        return now - filled;
    return updates_is_fresh(u) ? now : usual;
}

int64_t updates_steps_counted(const struct updates *u, const char *counter, const struct tensor *now)
{
    int64_t steps;
    return now && now->count == 1 && dtype_is_int(now->dtype) &&
                   checked_sub(tensor_get_int(now, 0), updates_first_count(u, counter), &steps) && steps >= 0
               ? steps
               : -1;
}

static bool binds(const struct model_training *t, const char *variable)
{
    vec_each_ptr(const struct model_pair, p, &t->update_binding)
        if (str_equal(p->key, variable))
            return true;
    return false;
}

int64_t checkpoint_steps_counted(struct arena *a, const struct model *m, const struct model_training *entry,
                                 const struct map *values, const char **counter)
{
    struct updates u;
    int64_t most = 0;
    *counter = NULL;
    updates_find(a, m, &u);
    for (size_t i = 0; i < u.counters.count; i++) {
        const char *const name = u.counters.entries[i].key;
        const int64_t steps = updates_steps_counted(&u, name, map_get(values, name));
        if (steps < 0 || (*counter && steps <= most) || (entry && !binds(entry, name)))
            continue;
        most = steps;
        *counter = name;
    }
    return most;
}

/* ---- how a weight is updated ------------------------------------------------------------------------------------- */

/* "beta1" of "beta1_2", as names that were taken become. */
static bool is_called(const char *name, const char *wish)
{
    const size_t n = strlen(wish);
    return strncmp(name, wish, n) == 0 &&
           (name[n] == '\0' ||
            (name[n] == '_' && name[n + 1] != '\0' && name[n + 1 + strspn(name + n + 1, "0123456789")] == '\0'));
}

/* What stands there first, but no 0: a decay may stand in an attribute or in a constant. */
static void add_fact(const struct updates *u, struct update_facts *f, const char *key, double x)
{
    vec_each_ptr(struct checkpoint_number, n, &f->numbers)
        if (str_equal(n->key, key)) {
            n->value = n->value == 0 ? x : n->value;
            return;
        }
    vec_push(u->arena, &f->numbers, ((struct checkpoint_number){key, x}));
}

static void see_initializer(const struct updates *u, const struct model_initializer *x, struct update_facts *f)
{
    if (str_starts_with(x->name, "learning_rate") && map_has(&u->bound, x->name))
        f->rate = x->name;
    if (!f->counter && map_has(&u->counters, x->name))
        f->counter = x->name;
    if (x->tensor->count != 1 || !dtype_is_float(x->tensor->dtype))
        return;
    vec_push(u->arena, &f->constants, tensor_get_double(x->tensor, 0));
    f->decoupled = f->decoupled || is_called(x->name, "weight_decay");
    for (size_t i = 0; i < CONSTANTS; i++)
        if (constants[i].op[0] == '\0' && is_called(x->name, constants[i].name))
            add_fact(u, f, constants[i].key, tensor_get_double(x->tensor, 0));
}

static void see_node(const struct updates *u, const struct model_node *n, struct update_facts *f)
{
    for (size_t i = 0; i < CONSTANTS && form_of(n); i++) {
        const struct model_attr *const x = model_find_attr(&n->attrs, constants[i].name);
        if (str_equal(constants[i].op, n->op_type) && x && x->type == ATTR_FLOAT)
            add_fact(u, f, constants[i].key, (double)x->f);
    }
    const struct model_attr *const beta = model_find_attr(&n->attrs, "beta"), *const mode =
                                                                                  model_find_attr(&n->attrs, "mode");
    if (form_of(n) && str_equal(n->op_type, "Momentum")) {
        f->dampening = beta && beta->type == ATTR_FLOAT ? 1 - (double)beta->f : 0;
        f->nesterov = mode && mode->type == ATTR_STRING && str_equal(mode->s.data, "nesterov");
    }
    const struct model_initializer *const rate =
        form_of(n) && n->inputs.count > 0 ? map_get(&u->initializers, n->inputs.data[0]) : NULL;
    if (rate && map_has(&u->bound, rate->name))
        f->rate = rate->name;
    else if (rate && rate->tensor->count == 1 && dtype_is_float(rate->tensor->dtype))
        f->fixed_rate = tensor_get_double(rate->tensor, 0);
    vec_each(const char *, output, &n->outputs) {
        if (!f->scheduled && str_starts_with(output, "scheduled_rate"))
            f->scheduled = output; /* the last one that is computed */
        f->rectified = f->rectified || str_starts_with(output, "rectification");
    }
}

/* From the new value back to what it is made of, not beyond gradients. */
void updates_facts(const struct updates *u, const char *weight, struct update_facts *out)
{
    struct map seen = {.arena = u->arena};
    const char *const value = map_get(&u->bound, weight);
    *out = (struct update_facts){.fixed_rate = NAN, .dampening = NAN, .nesterov = NAN};
    if (!value)
        return;
    map_set(&seen, value, NULL);
    for (size_t i = 0; i < seen.count && seen.count < MOST_VISITED; i++) {
        const struct model_node *const n = map_get(&u->producers, seen.entries[i].key);
        const struct model_initializer *const x = n ? NULL : map_get(&u->initializers, seen.entries[i].key);
        if (x)
            see_initializer(u, x, out);
        out->descends = out->descends || (n && str_equal(n->op_type, "Gradient"));
        if (!n || str_equal(n->op_type, "Gradient"))
            continue;
        see_node(u, n, out);
        vec_each(const char *, input, &n->inputs)
            if (input[0] != '\0')
                map_set(&seen, input, NULL);
    }
}
