#include "foreign/give.h"

#include "foreign/fill_internal.h"

#include <math.h>
#include <stdlib.h>

struct giver {
    struct diag *diag;
    struct arena *arena;
    const struct weight_options *options;
    const struct map *values;
    struct updates updates;
    double steps; /* of the run */
    named_tensors out;
    struct map given; /* variables that are written */
};

static const struct tensor *value_of(const struct giver *g, const struct model_initializer *x)
{
    const struct tensor *const t = map_get(g->values, x->name);
    return t ? t : x->tensor;
}

static bool is_turned(const struct giver *g, const struct model_initializer *x)
{
    vec_each(const char *, pattern, &g->options->transpose)
        if (x->tensor->shape.rank == 2 && str_glob(pattern, x->name))
            return true;
    return false;
}

/* turned: the file has it the other way round. */
static void give(struct giver *g, const char *name, const struct tensor *t, bool turned)
{
    vec_push(g->arena, &g->out, ((struct named_tensor){name, turned ? tensor_transposed(g->arena, t) : t}));
}

/* ---- the optimizer ----------------------------------------------------------------------------------------------- */

/* A float of the model as the number that was meant: the shortest that rounds to it. */
static double meant(struct arena *a, double x)
{
    for (int digits = 6; digits < 9; digits++) {
        const double y = strtod(arena_printf(a, "%.*g", digits, x), NULL);
        if ((float)y == (float)x)
            return y;
    }
    return x;
}

static void give_number(struct giver *g, const char *name, const char *key, double x)
{
    give(g, arena_printf(g->arena, "optimizer.param_groups.%s.%s", name, key),
         tensor_scalar_double(g->arena, DTYPE_DOUBLE, meant(g->arena, x)), false);
}

static void give_group(struct giver *g, const char *name, const struct update_facts *facts)
{
    const struct model_initializer *const rate = facts->rate ? map_get(&g->updates.initializers, facts->rate) : NULL;
    const struct tensor *const now = facts->scheduled ? map_get(g->values, facts->scheduled) : NULL;
    const double base = rate && value_of(g, rate)->count == 1 ? tensor_get_double(value_of(g, rate), 0)
                                                              : facts->fixed_rate;
    if (!isnan(base))
        give_number(g, name, "lr", now && now->count == 1 ? tensor_get_double(now, 0) : base);
    if (!isnan(base) && facts->scheduled)
        give_number(g, name, "initial_lr", base);
    vec_each_ptr(const struct checkpoint_number, n, &facts->numbers)
        give_number(g, name, n->key, n->value);
    if (isnan(checkpoint_number(&facts->numbers, "weight_decay", NAN))) /* else it would be that of another group */
        give_number(g, name, "weight_decay", 0);
    if (!isnan(facts->dampening))
        give_number(g, name, "dampening", facts->dampening);
    if (!isnan(facts->nesterov))
        give_number(g, name, "nesterov", facts->nesterov);
}

/* By what PyTorch's optimizers are told apart: Adam, AdamW and SGD have keys that others have not. */
static void give_kind(struct giver *g, const struct model_initializer *x, const char *name,
                      const struct update_facts *facts)
{
    const bool is_adam = !isnan(checkpoint_number(&facts->numbers, "beta1", NAN)),
               has_mean = map_has(&g->updates.bound, arena_printf(g->arena, "%s.m", x->name)),
               has_square = map_has(&g->updates.bound, arena_printf(g->arena, "%s.v", x->name));
    if (is_adam && !facts->rectified && !isnan(checkpoint_number(&facts->numbers, "eps", NAN)) &&
        isnan(checkpoint_number(&facts->numbers, "momentum_decay", NAN))) {
        give_number(g, name, "amsgrad", map_has(&g->updates.bound, arena_printf(g->arena, "%s.v_max", x->name)));
        give_number(g, name, "decoupled_weight_decay", facts->decoupled);
    }
    if (!is_adam && has_square && isnan(facts->nesterov))
        give_number(g, name, "centered", has_mean);
    if (!is_adam && !has_square && isnan(checkpoint_number(&facts->numbers, "lr_decay", NAN)))
        give_number(g, name, "momentum", 0);
}

/* What the update of the weight counts, whoever has made the steps; else how many the run says. */
static double steps_of(const struct giver *g, const struct update_facts *facts)
{
    const struct model_initializer *const x =
        facts->counter ? map_get(&g->updates.initializers, facts->counter) : NULL;
    const int64_t steps = x ? updates_steps_counted(&g->updates, x->name, value_of(g, x)) : -1;
    return steps < 0 ? g->steps : (double)steps;
}

/* Which keys an update has: those of Adam's relatives go by beta1, others by the mean of squares. */
static void give_states(struct giver *g, const struct model_initializer *x, const char *name,
                        const struct update_facts *facts)
{
    static const char *const adam[] = {"exp_avg", "exp_avg_sq", "max_exp_avg_sq", "exp_inf", "mu_product", NULL},
                             *const others[] = {"square_avg", "grad_avg", "momentum_buffer", "sum", NULL};
    const bool is_adam = !isnan(checkpoint_number(&facts->numbers, "beta1", NAN));
    const char *const *const keys = is_adam ? adam : others;
    named_tensors beside = {0};
    bool counts = false;
    if (!is_adam && map_has(&g->updates.bound, arena_printf(g->arena, "%s.m", x->name)))
        vec_push(g->arena, &beside, ((struct named_tensor){"grad_avg", NULL}));
    if (!is_adam)
        vec_push(g->arena, &beside, ((struct named_tensor){"square_avg", NULL}));
    for (size_t i = 0; keys[i]; i++) {
        const char *const variable = updates_slot(&g->updates, x->name, keys[i], &beside);
        if (!variable)
            continue;
        give(g, arena_printf(g->arena, "optimizer.state.%s.%s", name, keys[i]),
             value_of(g, map_get(&g->updates.initializers, variable)), is_turned(g, x));
        map_set(&g->given, variable, NULL);
        counts = counts || !str_equal(keys[i], "momentum_buffer");
    }
    if (counts)
        give(g, arena_printf(g->arena, "optimizer.state.%s.step", name),
             tensor_scalar_double(g->arena, DTYPE_FLOAT, steps_of(g, facts)), false);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void give_weight(struct giver *g, const struct model_initializer *x)
{
    const char *const name = weights_renamed(g->arena, g->options, x->name, NULL);
    struct update_facts facts;
    map_set(&g->given, x->name, NULL);
    if (map_has(g->values, x->name) && !map_get(g->values, x->name))
        return;
    if (dtype_is_float(x->tensor->dtype))
        give(g, name, value_of(g, x), is_turned(g, x));
    if (!map_has(&g->updates.bound, x->name))
        return;
    updates_facts(&g->updates, x->name, &facts);
    if (!facts.rate && !facts.descends)
        return; /* a running statistic */
    if (facts.rate)
        map_set(&g->given, facts.rate, NULL);
    give_group(g, name, &facts);
    give_kind(g, x, name, &facts);
    give_states(g, x, name, &facts);
}

/* What Adafactor keeps, and whatever a model of another's has. */
static void warn_of_rest(struct giver *g, const char *path)
{
    str_list rest = {0};
    struct strbuf text = {.arena = g->arena};
    for (size_t i = 0; i < g->updates.bound.count; i++) {
        const char *const name = g->updates.bound.entries[i].key;
        if (!map_has(&g->given, name) && !map_has(&g->updates.counters, name))
            vec_push(g->arena, &rest, name);
    }
    for (size_t i = 0; i < rest.count && i < 8; i++)
        strbuf_addf(&text, "%s%s", i > 0 ? ", " : "", rest.data[i]);
    if (rest.count > 0)
        diag_warning(g->diag, &LOC_FILE(path), "PyTorch has no name for %zu variable%s, which %s not written: %s%s",
                     rest.count, str_plural(rest.count), rest.count == 1 ? "is" : "are", strbuf_text(&text),
                     rest.count > 8 ? "..." : "");
}

bool checkpoint_give(struct diag *d, struct arena *a, const struct model *m, const struct map *values,
                     const named_tensors *own, int64_t steps, const struct weight_options *o, const char *path)
{
    struct giver g = {.diag = d, .arena = a, .options = o, .values = values, .steps = (double)steps, .given.arena = a};
    struct weight_options with_model;
    weights_as_noted(a, m, false, o, &with_model);
    g.options = &with_model;
    updates_find(a, m, &g.updates);
    vec_each(const struct model_initializer *, x, &m->graph->initializers)
        give_weight(&g, x);
    warn_of_rest(&g, path);
    checkpoint_split_recurrent(a, m, &with_model, &g.out);
    vec_each_ptr(const struct named_tensor, t, own)
        give(&g, t->name, t->tensor, false);
    return safetensors_write(d, path, &g.out);
}
