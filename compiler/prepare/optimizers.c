/* Optimizers: one update for each trained tensor. momentum, nesterov, adagrad and adam are ONNX operators; the others
 * are written out. One node for each tensor, since it then fuses with the gradient that it alone reads. */
#include "prepare/prepare_internal.h"
#include "prepare/spec.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- the command line's text ------------------------------------------------------------------------------------- */

#define FIELD(f) offsetof(struct optimizer, f)

#define DECAY(name, usual) {#name, FIELD(name), (usual), 0, 1, .open = true}
#define SWITCH(name, usual) {#name, FIELD(name), (usual), 0, 1, .open = false}
#define AMOUNT(name, usual) {#name, FIELD(name), (usual), 0, HUGE_VAL, .open = true}

/* The usual values are ONNX's where the operator has any, else PyTorch's. */
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
                          AMOUNT(decay_min_rank, 0), AMOUNT(norm_coefficient, 0)}},
    [OPTIMIZER_RMSPROP] = {"rmsprop",
                           {DECAY(alpha, 0.99), AMOUNT(epsilon, 1e-8), AMOUNT(norm_coefficient, 0), AMOUNT(momentum, 0),
                            SWITCH(centered, 0)}},
};

static const struct spec_table table = {"--optimizer", "optimizer", rules, OPTIMIZER_COUNT};

/* What an optimizer starts with where the user says nothing. */
static const struct {
    double rate;
    int64_t first_step; /* T at the first step */
    bool counts;        /* reads T */
} usual[OPTIMIZER_COUNT] = {
    [OPTIMIZER_SGD] = {0.01, 0, false},     [OPTIMIZER_MOMENTUM] = {0.01, 0, true},
    [OPTIMIZER_NESTEROV] = {0.01, 0, true}, [OPTIMIZER_ADAGRAD] = {0.01, 0, true},
    [OPTIMIZER_ADAM] = {0.001, 1, true},    [OPTIMIZER_ADAMW] = {0.001, 0, true},
    [OPTIMIZER_RMSPROP] = {0.01, 0, false},
};

bool optimizer_parse(struct diag *d, struct arena *a, const char *text, struct optimizer *out)
{
    size_t kind;
    *out = (struct optimizer){0};
    if (!spec_parse(d, a, &table, text, &kind, out))
        return false;
    out->kind = (enum optimizer_kind)kind;
    return true;
}

/* ---- values that all updates share ------------------------------------------------------------------------------- */

struct updater {
    struct preparer *p;
    const struct optimizer *o;
    const char *rate[2]; /* for float and double tensors; NULL until made */
    enum dtype rate_dtype;
    const char *step;                                /* T; NULL where nothing reads it */
    const char *scaled_rate[2], *root_correction[2]; /* adamw: rate / (1 - beta1^t), 1 / sqrt(1 - beta2^t) */
};

static int slot_of(enum dtype t)
{
    return t == DTYPE_DOUBLE;
}

/* A variable that no node changes is bound to itself: that makes it part of the state, to be saved and set at run time.
 */
static void add_rate(struct updater *u)
{
    struct preparer *const p = u->p;
    const struct prepare_options *const o = p->options;
    const double rate = o->learning_rate >= 0 ? o->learning_rate : usual[u->o->kind].rate;
    u->rate_dtype = p->trainables.data[0].tensor->dtype;
    const char **const slot = &u->rate[slot_of(u->rate_dtype)];
    if (o->learning_rate_input) {
        *slot = o->learning_rate_input;
        model_add_value(p->arena, p->algorithm, 0, *slot, u->rate_dtype, NULL, 0);
        say(p, "learning rate: the input '%s'", *slot);
        return;
    }
    struct tensor *const initial = tensor_scalar_double(p->arena, u->rate_dtype, rate);
    *slot = add_tensor(p, "learning_rate", initial);
    bind_update(p, *slot, add_op(p, arena_printf(p->arena, "%s.new", *slot), "Identity", *slot), initial);
    say(p, "learning rate: %g, the variable '%s'", rate, *slot);
}

static const char *rate_for(struct updater *u, enum dtype dtype)
{
    const char **const slot = &u->rate[slot_of(dtype)];
    if (!*slot)
        *slot = add_cast(u->p, "learning_rate.cast", u->rate[slot_of(u->rate_dtype)], dtype);
    return *slot;
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
    u->step = add_tensor(p, "step_count", initial);
    const char *const next = add_op(p, suffixed(p, u->step, "new"), "Add", u->step, add_int(p, "one_step", 1));
    bind_update(p, u->step, next, initial);
    say(p, "step count: from %lld, the variable '%s'", (long long)first, u->step);
}

static void add_rate_schedule(struct updater *u)
{
    struct preparer *const p = u->p;
    const char **const rate = &u->rate[slot_of(u->rate_dtype)];
    const char *const factor = add_schedule(p, u->step, first_step(p));
    if (!factor)
        return;
    const char *const base = cast_unless(p, "learning_rate.double", *rate, u->rate_dtype, DTYPE_DOUBLE);
    const char *const product = add_op(p, "scheduled_rate.double", "Mul", base, factor);
    *rate = cast_unless(p, "scheduled_rate", product, DTYPE_DOUBLE, u->rate_dtype);
}

/* 1 - beta^t in double: in float most digits of 1 - 0.999^t cancel in the first steps. Hyper-parameters are binary32,
 * as the attributes of ONNX's optimizers are. */
static const char *bias_correction(struct preparer *p, const char *wish, double beta, const char *t)
{
    const char *const power = add_op(p, suffixed(p, wish, "power"), "Pow",
                                     add_scalar(p, wish, DTYPE_DOUBLE, (double)(float)beta), t);
    return add_op(p, suffixed(p, wish, "correction"), "Sub", add_scalar(p, "one_double", DTYPE_DOUBLE, 1), power);
}

/* t = T + 1: the steps done when this one is. */
static void add_adamw_scalars(struct updater *u, enum dtype dtype)
{
    struct preparer *const p = u->p;
    const int k = slot_of(dtype);
    if (u->scaled_rate[k])
        return;
    const char *const count = add_cast(p, "steps_before", u->step, DTYPE_DOUBLE);
    const char *const t = add_op(p, "steps", "Add", count, add_scalar(p, "one_double", DTYPE_DOUBLE, 1));
    const char *const rate =
        cast_unless(p, "learning_rate.double", u->rate[slot_of(u->rate_dtype)], u->rate_dtype, DTYPE_DOUBLE);
    const char *const first = bias_correction(p, "beta1", u->o->beta1, t), *const second = bias_correction(
                                                                               p, "beta2", u->o->beta2, t);
    const char *const scaled = add_op(p, "corrected_rate.double", "Div", rate, first);
    const char *const root = add_op(p, "root_of_correction", "Sqrt", second);
    const char *const inverse = add_op(p, "inverse_root.double", "Reciprocal", root);
    u->scaled_rate[k] = cast_unless(p, "corrected_rate", scaled, DTYPE_DOUBLE, dtype);
    u->root_correction[k] = cast_unless(p, "inverse_root", inverse, DTYPE_DOUBLE, dtype);
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

/* ---- updates ----------------------------------------------------------------------------------------------------- */

/* A tensor like t, part of the state: of zeros, but Adagrad's sums may start elsewhere. */
static const char *add_state(struct updater *u, const struct trainable *t, const char *suffix)
{
    struct tensor *const initial = tensor_new(u->p->arena, t->tensor->dtype, &t->tensor->shape);
    for (int64_t i = 0; u->o->initial_accumulator != 0 && i < initial->count; i++)
        tensor_set_double(initial, i, u->o->initial_accumulator);
    return add_tensor(u->p, suffixed(u->p, t->name, suffix), initial);
}

/* A hyper-parameter, rounded to binary32 as an ONNX attribute is. */
static const char *parameter(struct updater *u, const struct trainable *t, const char *name, double x)
{
    return add_scalar(u->p, name, t->tensor->dtype, (double)(float)x);
}

static const char *with_norm(struct updater *u, const struct trainable *t)
{
    if (u->o->norm_coefficient == 0)
        return t->gradient;
    const char *const pull = add_op(u->p, suffixed(u->p, t->name, "pull"), "Mul", t->name,
                                    parameter(u, t, "norm_coefficient", u->o->norm_coefficient));
    return add_op(u->p, suffixed(u->p, t->name, "regularized"), "Add", t->gradient, pull);
}

static void update_sgd(struct updater *u, const struct trainable *t)
{
    const char *const g = with_norm(u, t);
    const char *const step = add_op(u->p, suffixed(u->p, t->name, "step"), "Mul", rate_for(u, t->tensor->dtype), g);
    bind_update(u->p, t->name, add_op(u->p, suffixed(u->p, t->name, "new"), "Sub", t->name, step), t->tensor);
}

/* X', S1'.. = OP(R, T, X, G, S1..) */
static struct model_node *add_operator(struct updater *u, const struct trainable *t, const char *op,
                                       const char *const *states)
{
    struct preparer *const p = u->p;
    const char *in[8] = {rate_for(u, t->tensor->dtype), u->step, t->name, t->gradient},
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

/* state' = decay * state + (1 - decay) * x; bound. */
static const char *running_mean(struct updater *u, const struct trainable *t, const char *suffix,
                                const char *decay_name, double decay, const char *x)
{
    struct preparer *const p = u->p;
    const char *const state = add_state(u, t, suffix);
    const char *const kept = add_op(p, suffixed(p, state, "kept"), "Mul", state, parameter(u, t, decay_name, decay));
    const double rest = 1 - (double)(float)decay;
    const char *const added =
        add_op(p, suffixed(p, state, "added"), "Mul", x,
               add_scalar(p, arena_printf(p->arena, "one_minus_%s", decay_name), t->tensor->dtype, rest));
    const char *const next = add_op(p, suffixed(p, state, "new"), "Add", kept, added);
    bind_update(p, state, next, t->tensor);
    return next;
}

/* G pulled by norm_coefficient X first, as torch.optim.Adam has it; then
 * M' = beta1 M + (1 - beta1) G, V' = beta2 V + (1 - beta2) G^2, and with t = T + 1
 * X' = X (1 - R weight_decay) - R / (1 - beta1^t) * M' / (sqrt(V') / sqrt(1 - beta2^t) + epsilon). As
 * torch.optim.AdamW. */
static void update_adamw(struct updater *u, const struct trainable *t)
{
    struct preparer *const p = u->p;
    const enum dtype dtype = t->tensor->dtype;
    const int k = slot_of(dtype);
    add_adamw_scalars(u, dtype);
    const char *const g = with_norm(u, t);
    const char *const square = add_op(p, suffixed(u->p, t->name, "square"), "Mul", g, g);
    const char *const m = running_mean(u, t, "m", "beta1", u->o->beta1, g);
    const char *const v = running_mean(u, t, "v", "beta2", u->o->beta2, square);
    const char *const root = add_op(p, suffixed(u->p, t->name, "root"), "Sqrt", v);
    const char *const corrected = add_op(p, suffixed(u->p, t->name, "corrected"), "Mul", root, u->root_correction[k]);
    const char *const divisor =
        add_op(p, suffixed(u->p, t->name, "divisor"), "Add", corrected, parameter(u, t, "epsilon", u->o->epsilon));
    const char *const direction = add_op(p, suffixed(u->p, t->name, "direction"), "Div", m, divisor);
    const char *const step = add_op(p, suffixed(u->p, t->name, "step"), "Mul", u->scaled_rate[k], direction);
    const char *x = t->name;
    if (u->o->weight_decay > 0 && t->tensor->shape.rank >= u->o->decay_min_rank) {
        const char *const loss = add_op(p, suffixed(u->p, t->name, "decay"), "Mul", rate_for(u, dtype),
                                        parameter(u, t, "weight_decay", u->o->weight_decay));
        const char *const keep =
            add_op(p, suffixed(u->p, t->name, "keep"), "Sub", add_scalar(p, "one", dtype, 1), loss);
        x = add_op(p, suffixed(u->p, t->name, "decayed"), "Mul", t->name, keep);
    }
    bind_update(u->p, t->name, add_op(p, suffixed(u->p, t->name, "new"), "Sub", x, step), t->tensor);
}

/* buffer' = momentum buffer + x; bound. */
static const char *add_buffer(struct updater *u, const struct trainable *t, const char *x)
{
    struct preparer *const p = u->p;
    const char *const state = add_state(u, t, "buffer");
    const char *const kept = add_op(p, suffixed(p, state, "kept"), "Mul", state,
                                    parameter(u, t, "momentum", u->o->momentum));
    const char *const next = add_op(p, suffixed(p, state, "new"), "Add", kept, x);
    bind_update(p, state, next, t->tensor);
    return next;
}

/* V' = alpha V + (1 - alpha) G^2, D = G / (sqrt(V') + epsilon), X' = X - R D; centered: M' = alpha M + (1 - alpha) G
 * and V' - M'^2 in the place of V'; momentum: B' = momentum B + D, X' = X - R B'. As torch.optim.RMSprop. */
static void update_rmsprop(struct updater *u, const struct trainable *t)
{
    struct preparer *const p = u->p;
    const char *const g = with_norm(u, t);
    const char *const v =
        running_mean(u, t, "v", "alpha", u->o->alpha, add_op(p, suffixed(u->p, t->name, "square"), "Mul", g, g));
    const char *variance = v;
    if (u->o->centered != 0) {
        const char *const m = running_mean(u, t, "m", "alpha", u->o->alpha, g);
        variance = add_op(p, suffixed(u->p, t->name, "variance"), "Sub", v,
                          add_op(p, suffixed(u->p, t->name, "mean_square"), "Mul", m, m));
    }
    const char *const root = add_op(p, suffixed(u->p, t->name, "root"), "Sqrt", variance);
    const char *const divisor =
        add_op(p, suffixed(u->p, t->name, "divisor"), "Add", root, parameter(u, t, "epsilon", u->o->epsilon));
    const char *direction = add_op(p, suffixed(u->p, t->name, "direction"), "Div", g, divisor);
    if (u->o->momentum != 0)
        direction = add_buffer(u, t, direction);
    const char *const step =
        add_op(p, suffixed(u->p, t->name, "step"), "Mul", rate_for(u, t->tensor->dtype), direction);
    bind_update(u->p, t->name, add_op(p, suffixed(u->p, t->name, "new"), "Sub", t->name, step), t->tensor);
}

static void (*const updates[OPTIMIZER_COUNT])(struct updater *, const struct trainable *) = {
    [OPTIMIZER_SGD] = update_sgd,              [OPTIMIZER_MOMENTUM] = update_by_operator,
    [OPTIMIZER_NESTEROV] = update_by_operator, [OPTIMIZER_ADAGRAD] = update_by_operator,
    [OPTIMIZER_ADAM] = update_by_operator,     [OPTIMIZER_ADAMW] = update_adamw,
    [OPTIMIZER_RMSPROP] = update_rmsprop};

static void say_optimizer(struct preparer *p, const struct optimizer *o)
{
    struct strbuf b = {.arena = p->arena};
    struct optimizer copy = *o;
    for (const struct spec_key *k = rules[o->kind].keys; k->name; k++)
        strbuf_addf(&b, " %s=%g", k->name, *spec_field(&copy, k));
    say(p, "optimizer: %s%s", rules[o->kind].name, strbuf_text(&b));
}

bool add_optimizer(struct preparer *p)
{
    struct updater u = {.p = p, .o = &p->options->optimizer};
    if (p->options->learning_rate_input && map_has(&p->names, p->options->learning_rate_input))
        return diag_error(p->diag, &p->loc,
                          "--learning-rate-input %s: there is a tensor of that name already; give another name",
                          p->options->learning_rate_input);
    if (p->options->learning_rate_input)
        map_set(&p->names, p->options->learning_rate_input, NULL);
    if (p->options->first_step >= 0 && !counts_steps(p))
        say(p, "note: --first-step: %s does not count steps", rules[u.o->kind].name);
    say_optimizer(p, u.o);
    add_rate(&u);
    add_step_count(&u);
    add_rate_schedule(&u);
    if (p->options->clip_value > 0)
        clip_values(p);
    if (p->options->clip_norm > 0)
        clip_norm(p);
    for (size_t i = 0; i < p->trainables.count; i++)
        updates[u.o->kind](&u, &p->trainables.data[i]);
    return true;
}
