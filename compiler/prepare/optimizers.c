/* Optimizers: what the command line says of them, the learning rate, clipping, and one update for each trained
 * tensor. momentum, nesterov, adagrad and adam are ONNX operators; the others are written out (updates.c and its
 * neighbours). */
#include "prepare/spec.h"
#include "prepare/updates.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- the command line's text ------------------------------------------------------------------------------------- */

#define FIELD(f) offsetof(struct optimizer, f)

#define DECAY(name, usual) {#name, FIELD(name), (usual), 0, 1, .open = true}
#define SWITCH(name, usual) {#name, FIELD(name), (usual), 0, 1, .open = false}
#define AMOUNT(name, usual) {#name, FIELD(name), (usual), 0, HUGE_VAL, .open = true}

/* The usual values are ONNX's where the operator has any, else PyTorch's; those of lion and lamb are their papers',
 * those of adafactor Hugging Face's. */
static const struct spec_rule rules[OPTIMIZER_COUNT] = {
    [OPTIMIZER_SGD] = {"sgd", {AMOUNT(norm_coefficient, 0)}},
    [OPTIMIZER_MOMENTUM] = {"momentum", {AMOUNT(alpha, 0.9), AMOUNT(beta, 1), AMOUNT(norm_coefficient, 0)}},
    [OPTIMIZER_NESTEROV] = {"nesterov", {AMOUNT(alpha, 0.9), AMOUNT(beta, 1), AMOUNT(norm_coefficient, 0)}},
    [OPTIMIZER_ADAGRAD] = {"adagrad",
                           {AMOUNT(epsilon, 1e-6), AMOUNT(decay_factor, 0), AMOUNT(norm_coefficient, 0),
                            AMOUNT(initial_accumulator, 0)}},
    [OPTIMIZER_ADAM] = {"adam",
                        {DECAY(alpha, 0.9), DECAY(beta, 0.999), AMOUNT(epsilon, 1e-6), AMOUNT(norm_coefficient, 0),
                         AMOUNT(norm_coefficient_post, 0)}},
    [OPTIMIZER_ADAMW] = {"adamw",
                         {DECAY(beta1, 0.9), DECAY(beta2, 0.999), AMOUNT(epsilon, 1e-8), AMOUNT(weight_decay, 0.01),
                          AMOUNT(decay_min_rank, 0), AMOUNT(norm_coefficient, 0), SWITCH(amsgrad, 0)}},
    [OPTIMIZER_AMSGRAD] = {"amsgrad",
                           {DECAY(beta1, 0.9), DECAY(beta2, 0.999), AMOUNT(epsilon, 1e-8),
                            AMOUNT(norm_coefficient, 0)}},
    [OPTIMIZER_NADAM] = {"nadam",
                         {DECAY(beta1, 0.9), DECAY(beta2, 0.999), AMOUNT(epsilon, 1e-8), AMOUNT(momentum_decay, 0.004),
                          AMOUNT(norm_coefficient, 0)}},
    [OPTIMIZER_RADAM] = {"radam",
                         {DECAY(beta1, 0.9), DECAY(beta2, 0.999), AMOUNT(epsilon, 1e-8), AMOUNT(norm_coefficient, 0)}},
    [OPTIMIZER_ADAMAX] = {"adamax",
                          {DECAY(beta1, 0.9), DECAY(beta2, 0.999), AMOUNT(epsilon, 1e-8),
                           AMOUNT(norm_coefficient, 0)}},
    [OPTIMIZER_LAMB] = {"lamb",
                        {DECAY(beta1, 0.9), DECAY(beta2, 0.999), AMOUNT(epsilon, 1e-6), AMOUNT(weight_decay, 0.01),
                         AMOUNT(decay_min_rank, 0)}},
    [OPTIMIZER_LION] = {"lion",
                        {DECAY(beta1, 0.9), DECAY(beta2, 0.99), AMOUNT(weight_decay, 0), AMOUNT(decay_min_rank, 0)}},
    [OPTIMIZER_ADAFACTOR] = {"adafactor",
                             {AMOUNT(epsilon1, 1e-30), AMOUNT(epsilon2, 1e-3), AMOUNT(clip_threshold, 1),
                              {"decay_rate", FIELD(decay_rate), -0.8, -HUGE_VAL, 0, .open = true}, DECAY(beta1, 0),
                              AMOUNT(weight_decay, 0), SWITCH(scale_parameter, 1), SWITCH(relative_step, 1),
                              SWITCH(warmup_init, 0)}},
    [OPTIMIZER_RMSPROP] = {"rmsprop",
                           {DECAY(alpha, 0.99), AMOUNT(epsilon, 1e-8), AMOUNT(norm_coefficient, 0), AMOUNT(momentum, 0),
                            SWITCH(centered, 0)}},
};

static const struct spec_table table = {"--optimizer", "optimizer", rules, OPTIMIZER_COUNT};

static update_rule update_by_operator;

/* What an optimizer starts with where the user says nothing, and what writes its update. */
static const struct {
    double rate;
    int64_t first_step; /* T at the first step */
    bool counts;        /* reads T */
    int opset;          /* that its operators need, beyond what all need */
    update_rule *update;
} usual[OPTIMIZER_COUNT] = {
    [OPTIMIZER_SGD] = {0.01, 0, false, 0, update_sgd},
    [OPTIMIZER_MOMENTUM] = {0.01, 0, true, 0, update_by_operator},
    [OPTIMIZER_NESTEROV] = {0.01, 0, true, 0, update_by_operator},
    [OPTIMIZER_ADAGRAD] = {0.01, 0, true, 0, update_by_operator},
    [OPTIMIZER_ADAM] = {0.001, 1, true, 0, update_by_operator},
    [OPTIMIZER_ADAMW] = {0.001, 0, true, 0, update_adamw},
    [OPTIMIZER_AMSGRAD] = {0.001, 0, true, 0, update_adamw},
    [OPTIMIZER_NADAM] = {0.002, 0, true, 0, update_nadam},
    [OPTIMIZER_RADAM] = {0.001, 0, true, 9, update_radam}, /* Where */
    [OPTIMIZER_ADAMAX] = {0.002, 0, true, 0, update_adamax},
    [OPTIMIZER_LAMB] = {0.001, 0, true, 9, update_lamb},  /* Where */
    [OPTIMIZER_LION] = {0.0001, 0, false, 9, update_lion}, /* Sign */
    [OPTIMIZER_ADAFACTOR] = {0.001, 0, true, 0, update_adafactor},
    [OPTIMIZER_RMSPROP] = {0.01, 0, false, 0, update_rmsprop},
};

/* Adafactor's relative steps are the whole rate, which the variable multiplies. */
static double usual_rate(const struct optimizer *o)
{
    return o->kind == OPTIMIZER_ADAFACTOR && o->relative_step != 0 ? 1 : usual[o->kind].rate;
}

bool optimizer_parse(struct diag *d, struct arena *a, const char *text, struct optimizer *out)
{
    size_t kind;
    *out = (struct optimizer){0};
    if (!spec_parse(d, a, &table, text, &kind, out))
        return false;
    out->kind = (enum optimizer_kind)kind;
    return true;
}

double *optimizer_key(struct optimizer *o, const char *name)
{
    for (const struct spec_key *k = rules[o->kind].keys; k->name; k++)
        if (str_equal(k->name, name))
            return spec_field(o, k);
    return NULL;
}

/* ---- values that all updates share ------------------------------------------------------------------------------- */

/* A variable that no node changes is bound to itself: that makes it part of the state, to be saved and set at run time.
 */
static struct rate rate_variable(struct preparer *p, const char *wish, double x)
{
    const enum dtype dtype = p->trainables.data[0].tensor->dtype;
    struct tensor *const initial = tensor_scalar_double(p->arena, dtype, x);
    if (p->shard_count > 0)
        return (struct rate){.name = shared_scalar(p, wish, initial), .dtype = dtype};
    const char *const name = add_tensor(p, wish, initial);
    bind_update(p, name, add_op(p, suffixed(p, name, "new"), "Identity", name), initial);
    return (struct rate){.name = name, .dtype = dtype};
}

static struct rate common_rate(struct preparer *p)
{
    const struct prepare_options *const o = p->options;
    const double rate = o->learning_rate >= 0 ? o->learning_rate : usual_rate(&o->optimizer);
    if (o->learning_rate_input) {
        const enum dtype dtype = p->trainables.data[0].tensor->dtype;
        model_add_value(p->arena, p->algorithm, 0, o->learning_rate_input, dtype, NULL, 0);
        say(p, "learning rate: the input '%s'", o->learning_rate_input);
        return (struct rate){.name = o->learning_rate_input, .dtype = dtype};
    }
    const struct rate r = rate_variable(p, "learning_rate", rate);
    say(p, "learning rate: %g, the variable '%s'", rate, r.name);
    return r;
}

/* The common rate, then one for each --group: without a name where no tensor has it. */
static void add_rates(struct updater *u)
{
    struct preparer *const p = u->p;
    u->rates = arena_array(p->arena, struct rate, p->options->groups.count + 1);
    u->rates[0] = common_rate(p);
    vec_each_ptr(const struct trainable, t, &p->trainables) {
        struct rate *const r = &u->rates[t->rate_group];
        if (r->name)
            continue;
        *r = rate_variable(p, arena_printf(p->arena, "learning_rate.%zu", t->rate_group), t->learning_rate);
        say(p, "learning rate of group %zu: %g, the variable '%s'", t->rate_group, t->learning_rate, r->name);
    }
}

static const char *cast_unless(struct preparer *p, const char *wish, const char *x, enum dtype from, enum dtype to)
{
    return from == to ? x : add_cast(p, wish, x, to);
}

static bool counts_steps(const struct preparer *p)
{
    return usual[p->options->optimizer.kind].counts || p->options->schedule.kind != SCHEDULE_CONSTANT;
}

static int64_t first_step(const struct preparer *p)
{
    return p->options->first_step >= 0 ? p->options->first_step : usual[p->options->optimizer.kind].first_step;
}

static void add_step_count(struct updater *u)
{
    struct preparer *const p = u->p;
    if (!counts_steps(p))
        return;
    const int64_t first = first_step(p);
    struct tensor *const initial = tensor_scalar_int(p->arena, first);
    if (p->shard_count > 0) {
        u->step = shared_scalar(p, "step_count", initial);
        return;
    }
    u->step = add_tensor(p, "step_count", initial);
    const char *const next = add_op(p, suffixed(p, u->step, "new"), "Add", u->step, add_int(p, "one_step", 1));
    bind_update(p, u->step, next, initial);
    say(p, "step count: from %lld, the variable '%s'", (long long)first, u->step);
}

static void add_rate_schedule(struct updater *u)
{
    struct preparer *const p = u->p;
    const char *const factor = add_schedule(p, u->step, first_step(p));
    for (size_t i = 0; factor && i <= p->options->groups.count; i++) {
        u->rate = &u->rates[i];
        if (!u->rate->name)
            continue;
        const char *const product = add_op(p, "scheduled_rate.double", "Mul", rate_in_double(u), factor);
        u->rate->name = scalar_in(u, "scheduled_rate", product, DTYPE_DOUBLE, u->rate->dtype);
    }
}

/* ---- clipping ---------------------------------------------------------------------------------------------------- */

static void clip_values(struct preparer *p)
{
    vec_each_ptr(struct trainable, t, &p->trainables)
        t->gradient = add_clip(p, suffixed(p, t->name, "clipped"), t->gradient, t->tensor->dtype,
                               -p->options->clip_value, p->options->clip_value);
}

/* G *= min(1, limit / (norm + 1e-6)), norm over all gradients together, as torch.nn.utils.clip_grad_norm_ does. */
static void clip_norm(struct preparer *p)
{
    const enum dtype dtype = p->trainables.data[0].tensor->dtype;
    const char *sum = NULL;
    vec_each_ptr(const struct trainable, t, &p->trainables) {
        const char *part = add_reduce(p, suffixed(p, t->name, "square_sum"), "ReduceSumSquare", t->gradient, -1);
        part = cast_unless(p, suffixed(p, t->name, "square_sum.cast"), part, t->tensor->dtype, dtype);
        sum = sum ? add_op(p, "square_sum", "Add", sum, part) : part;
    }
    const char *const norm = add_op(p, "gradient_norm", "Sqrt", sum);
    const char *const safe = add_op(p, "safe_norm", "Add", norm, add_scalar(p, "norm_epsilon", dtype, 1e-6));
    const char *const ratio =
        add_op(p, "clip_ratio", "Div", add_scalar(p, "clip_norm", dtype, p->options->clip_norm), safe);
    const char *const factor = add_op(p, "clip_factor", "Min", ratio, add_scalar(p, "one", dtype, 1));
    vec_each_ptr(struct trainable, t, &p->trainables) {
        const char *const own = cast_unless(p, "clip_factor.cast", factor, dtype, t->tensor->dtype);
        t->gradient = add_op(p, suffixed(p, t->name, "clipped"), "Mul", t->gradient, own);
    }
}

/* ---- updates by operators of ONNX -------------------------------------------------------------------------------- */

/* X', S1'.. = OP(R, T, X, G, S1..) */
static struct model_node *add_operator(struct updater *u, const struct trainable *t, const char *op,
                                       const char *const *states)
{
    struct preparer *const p = u->p;
    const char *in[8] = {rate_for(u, t), u->step, t->name, t->gradient},
               *out[4] = {fresh_name(p, suffixed(u->p, t->name, "new"))};
    const char *state[3] = {NULL};
    for (size_t i = 0; states[i]; i++) {
        state[i] = add_state(u, t, states[i]);
        in[4 + i] = state[i];
        out[1 + i] = fresh_name(p, suffixed(p, state[i], "new"));
    }
    struct model_node *const n = model_add_node(p->arena, p->algorithm, PREVIEW_TRAINING, op, in, out);
    bind_update(u->p, t->name, out[0], t->tensor);
    for (size_t i = 0; state[i]; i++)
        bind_update(p, state[i], out[1 + i], t->tensor);
    return n;
}

/* By an operator of ONNX, whose attributes are called like the keys. */
static void update_by_operator(struct updater *u, const struct trainable *t)
{
    static const struct {
        const char *op, *states[3];
    } rows[OPTIMIZER_COUNT] = {[OPTIMIZER_MOMENTUM] = {"Momentum", {"v"}}, [OPTIMIZER_NESTEROV] = {"Momentum", {"v"}},
                               [OPTIMIZER_ADAGRAD] = {"Adagrad", {"h"}}, [OPTIMIZER_ADAM] = {"Adam", {"v", "h"}}};
    struct arena *const a = u->p->arena;
    struct optimizer fields = *u->o;
    struct model_node *const n = add_operator(u, t, rows[fields.kind].op, rows[fields.kind].states);
    for (const struct spec_key *k = rules[fields.kind].keys; k->name; k++)
        if (k->field != FIELD(initial_accumulator)) /* the state's, not the operator's */
            model_set_float(a, n, k->name, (float)*spec_field(&fields, k));
    if (fields.kind == OPTIMIZER_MOMENTUM || fields.kind == OPTIMIZER_NESTEROV)
        model_set_string(a, n, "mode", fields.kind == OPTIMIZER_NESTEROV ? "nesterov" : "standard");
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void say_optimizer(struct preparer *p, const struct optimizer *o)
{
    struct strbuf b = {.arena = p->arena};
    struct optimizer copy = *o;
    for (const struct spec_key *k = rules[o->kind].keys; k->name; k++)
        strbuf_addf(&b, " %s=%g", k->name, *spec_field(&copy, k));
    say(p, "optimizer: %s%s", rules[o->kind].name, strbuf_text(&b));
}

/* Decay by a group's word is what PyTorch's optimizer calls weight_decay, and spares no tensor. */
static void add_update(struct updater *u, const struct trainable *t)
{
    const struct optimizer *const common = u->o;
    struct optimizer own = *common;
    if (!isnan(t->weight_decay)) {
        *(optimizer_key(&own, "weight_decay") ? &own.weight_decay : &own.norm_coefficient) = t->weight_decay;
        own.decay_min_rank = 0;
    }
    u->o = &own;
    u->rate = &u->rates[t->rate_group];
    usual[own.kind].update(u, t);
    u->o = common;
}

static bool check_rate_input(struct preparer *p)
{
    const char *const name = p->options->learning_rate_input;
    if (!name)
        return true;
    if (map_has(&p->names, name))
        return diag_error(p->diag, &p->loc,
                          "--learning-rate-input %s: there is a tensor of that name already; give another name", name);
    vec_each_ptr(const struct group, g, &p->options->groups)
        if (!isnan(g->learning_rate))
            return diag_error(p->diag, &p->loc,
                              "--group %s: its learning rate would be a variable, but --learning-rate-input makes the "
                              "rate of all an input",
                              g->title);
    map_set(&p->names, name, NULL);
    return true;
}

bool add_optimizer(struct preparer *p)
{
    const struct optimizer *const o = &p->options->optimizer;
    struct updater u = {.p = p, .o = o, .casts.arena = p->arena};
    if (p->opset < usual[o->kind].opset)
        return diag_error(p->diag, &p->loc,
                          "--optimizer %s needs an operator of opset %d, the model imports ai.onnx %lld",
                          rules[o->kind].name, usual[o->kind].opset, (long long)p->opset);
    if (!check_rate_input(p) || !choose_groups(p))
        return false;
    if (p->options->first_step >= 0 && !counts_steps(p))
        say(p, "note: --first-step: %s does not count steps", rules[o->kind].name);
    say_optimizer(p, o);
    say_groups(p);
    add_rates(&u);
    add_step_count(&u);
    add_rate_schedule(&u);
    if (p->options->clip_value > 0)
        clip_values(p);
    if (p->options->clip_norm > 0)
        clip_norm(p);
    vec_each_ptr(const struct trainable, t, &p->trainables)
        if (is_updated_here(p, t))
            add_update(&u, t);
    add_averages(&u);
    return true;
}
