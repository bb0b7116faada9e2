/* Updates by a mean of gradients and one of their squares: Adam and its relatives. T counts from 0, t = T + 1 are the
 * steps done when this one is. What depends on t alone is computed in double, once a step: in float most digits of
 * 1 - 0.999^t cancel in the first steps. Hyper-parameters are binary32, as the attributes of ONNX's optimizers are. */
#include "prepare/updates.h"

#include <math.h>

/* Where the variance of few gradients begins to be of use (RAdam). */
static const double LEAST_RHO = 5;

/* ---- scalars ----------------------------------------------------------------------------------------------------- */

/* 1 - beta^t */
static const char *bias_correction(struct updater *u, const char *name, double beta)
{
    struct preparer *const p = u->p;
    const char *const power =
        add_op(p, suffixed(p, name, "power"), "Pow", double_number(u, name, (double)(float)beta), steps_done(u));
    return add_op(p, suffixed(p, name, "correction"), "Sub", double_number(u, "one_double", 1), power);
}

static const char *first_correction(struct updater *u)
{
    if (!u->first)
        u->first = bias_correction(u, "beta1", u->o->beta1);
    return u->first;
}

static const char *second_correction(struct updater *u)
{
    if (!u->second)
        u->second = bias_correction(u, "beta2", u->o->beta2);
    return u->second;
}

/* R / (1 - beta1^t) in t's type */
static const char *corrected_rate(struct updater *u, const struct trainable *t)
{
    if (!u->rate->scaled) {
        const char *const rate = rate_in_double(u);
        u->rate->scaled = add_op(u->p, "corrected_rate.double", "Div", rate, first_correction(u));
    }
    return scalar_in(u, "corrected_rate", u->rate->scaled, DTYPE_DOUBLE, t->tensor->dtype);
}

/* 1 / sqrt(1 - beta2^t) in t's type */
static const char *inverse_root(struct updater *u, const struct trainable *t)
{
    if (!u->root_correction) {
        const char *const root = add_op(u->p, "root_of_correction", "Sqrt", second_correction(u));
        u->root_correction = add_op(u->p, "inverse_root.double", "Reciprocal", root);
    }
    return scalar_in(u, "inverse_root", u->root_correction, DTYPE_DOUBLE, t->tensor->dtype);
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

static const char *mean_gradient(struct updater *u, const struct trainable *t, const char *g)
{
    return running_mean(u, t, "m", "beta1", u->o->beta1, g);
}

static const char *mean_square(struct updater *u, const struct trainable *t, const char *g)
{
    return running_mean(u, t, "v", "beta2", u->o->beta2, own_op(u, t, "square", "Mul", g, g));
}

/* x' = max(x, v): the largest so far; bound. */
static const char *largest(struct updater *u, const struct trainable *t, const char *v)
{
    const char *const state = add_state(u, t, "v_max");
    const char *const next = add_op(u->p, suffixed(u->p, state, "new"), "Max", state, v);
    bind_update(u->p, state, next, t->tensor);
    return next;
}

/* sqrt(V') / sqrt(1 - beta2^t) + epsilon */
static const char *corrected_divisor(struct updater *u, const struct trainable *t, const char *v)
{
    const char *const root = own_op(u, t, "root", "Sqrt", v);
    const char *const corrected = own_op(u, t, "corrected", "Mul", root, inverse_root(u, t));
    return own_op(u, t, "divisor", "Add", corrected, parameter(u, t, "epsilon", u->o->epsilon));
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

/* G pulled by norm_coefficient X first, as torch.optim.Adam has it; then
 * M' = beta1 M + (1 - beta1) G, V' = beta2 V + (1 - beta2) G^2, amsgrad: W' = max(W, V') in the place of V', and
 * X' = X (1 - R weight_decay) - R / (1 - beta1^t) * M' / (sqrt(V') / sqrt(1 - beta2^t) + epsilon). As
 * torch.optim.AdamW. */
void update_adamw(struct updater *u, const struct trainable *t)
{
    const char *const rate = corrected_rate(u, t);
    (void)inverse_root(u, t);
    const char *const g = with_norm(u, t);
    const char *const m = mean_gradient(u, t, g);
    const char *v = mean_square(u, t, g);
    if (u->o->amsgrad != 0 || u->o->kind == OPTIMIZER_AMSGRAD)
        v = largest(u, t, v);
    const char *const direction = own_op(u, t, "direction", "Div", m, corrected_divisor(u, t, v));
    const char *const step = own_op(u, t, "step", "Mul", rate, direction);
    bind_step(u, t, with_decay(u, t), step);
}

/* mu(t) = beta1 (1 - 0.96^(t momentum_decay) / 2) */
static const char *momentum_at(struct updater *u, const char *wish, const char *t)
{
    struct preparer *const p = u->p;
    const char *const age = add_op(p, suffixed(p, wish, "age"), "Mul", t,
                                   double_number(u, "momentum_decay", (double)(float)u->o->momentum_decay));
    const char *const power =
        add_op(p, suffixed(p, wish, "power"), "Pow", double_number(u, "momentum_base", 0.96), age);
    const char *const half = add_op(p, suffixed(p, wish, "half"), "Mul", power, double_number(u, "half_double", 0.5));
    const char *const share = add_op(p, suffixed(p, wish, "share"), "Sub", double_number(u, "one_double", 1), half);
    return add_op(p, wish, "Mul", double_number(u, "beta1", (double)(float)u->o->beta1), share);
}

/* mu(t), mu(t + 1), and P' = P mu(t), part of the state. */
static void add_momentum(struct updater *u)
{
    struct preparer *const p = u->p;
    if (u->product)
        return;
    struct tensor *const initial = tensor_scalar_double(p->arena, DTYPE_DOUBLE, 1);
    const char *const state = add_tensor(p, "momentum_product", initial);
    const char *const next = add_op(p, "next_step_number", "Add", steps_done(u), double_number(u, "one_double", 1));
    u->momentum = momentum_at(u, "momentum_now", steps_done(u));
    u->next_momentum = momentum_at(u, "momentum_next", next);
    u->product = add_op(p, suffixed(p, state, "new"), "Mul", state, u->momentum);
    bind_update(p, state, u->product, initial);
}

/* R share / (1 - product) */
static const char *share_of_rate(struct updater *u, const char *wish, const char *share, const char *product)
{
    struct preparer *const p = u->p;
    const char *const rest = add_op(p, suffixed(p, wish, "rest"), "Sub", double_number(u, "one_double", 1), product);
    const char *const part = add_op(p, suffixed(p, wish, "part"), "Mul", rate_in_double(u), share);
    return add_op(p, suffixed(p, wish, "double"), "Div", part, rest);
}

static void add_nadam_rates(struct updater *u)
{
    struct preparer *const p = u->p;
    if (u->rate->scaled)
        return;
    add_momentum(u);
    const char *const rest = add_op(p, "gradient_share", "Sub", double_number(u, "one_double", 1), u->momentum);
    const char *const next = add_op(p, "momentum_product.next", "Mul", u->product, u->next_momentum);
    u->rate->scaled = share_of_rate(u, "gradient_rate", rest, u->product);
    u->rate->other = share_of_rate(u, "momentum_rate", u->next_momentum, next);
}

/* M', V' as above, D = sqrt(V') / sqrt(1 - beta2^t) + epsilon, P' = P mu(t), and
 * X' = X - (R (1 - mu(t)) / (1 - P') G + R mu(t + 1) / (1 - P' mu(t + 1)) M') / D. As torch.optim.NAdam. */
void update_nadam(struct updater *u, const struct trainable *t)
{
    const enum dtype dtype = t->tensor->dtype;
    add_nadam_rates(u);
    const char *const of_gradient = scalar_in(u, "gradient_rate", u->rate->scaled, DTYPE_DOUBLE, dtype);
    const char *const of_mean = scalar_in(u, "momentum_rate", u->rate->other, DTYPE_DOUBLE, dtype);
    const char *const g = with_norm(u, t);
    const char *const m = mean_gradient(u, t, g), *const v = mean_square(u, t, g);
    const char *const first = own_op(u, t, "gradient_part", "Mul", of_gradient, g);
    const char *const second = own_op(u, t, "momentum_part", "Mul", of_mean, m);
    const char *const sum = own_op(u, t, "direction", "Add", first, second);
    bind_step(u, t, t->name, own_op(u, t, "step", "Div", sum, corrected_divisor(u, t, v)));
}

/* rho(t) = rho - 2 t beta2^t / (1 - beta2^t), rho = 2 / (1 - beta2) - 1; above 5 the factor is
 * sqrt((rho(t) - 4) (rho(t) - 2) rho / ((rho - 4) (rho - 2) rho(t)) (1 - beta2^t)), else 1. */
static void add_rectification(struct updater *u)
{
    struct preparer *const p = u->p;
    if (u->is_rectified)
        return;
    const double rho = 2 / (1 - (double)(float)u->o->beta2) - 1;
    const char *const one = double_number(u, "one_double", 1), *const correction = second_correction(u);
    const char *const power = add_op(p, "rho.power", "Sub", one, correction);
    const char *const twice = add_op(p, "rho.steps", "Mul", steps_done(u), double_number(u, "two_double", 2));
    const char *const part = add_op(p, "rho.part", "Div", add_op(p, "rho.weighted", "Mul", twice, power), correction);
    const char *const now = add_op(p, "rho", "Sub", double_number(u, "rho_limit", rho), part);
    const char *const least = double_number(u, "least_rho", LEAST_RHO);
    u->is_rectified = add_op(p, "is_rectified", "Greater", now, least);
    const char *const safe = add_op(p, "rho.safe", "Max", now, least);
    const char *const four = add_op(p, "rho.minus_4", "Sub", safe, double_number(u, "four_double", 4));
    const char *const two = add_op(p, "rho.minus_2", "Sub", safe, double_number(u, "two_double", 2));
    const char *const ratio = add_op(p, "rho.ratio", "Div", add_op(p, "rho.product", "Mul", four, two), safe);
    const double scale = rho > LEAST_RHO ? rho / ((rho - 4) * (rho - 2)) : 1; /* 1: rho(t) never exceeds 5 */
    const char *const whole = add_op(p, "rectification.square", "Mul", ratio, double_number(u, "rho_scale", scale));
    const char *const root =
        add_op(p, "rectification.root", "Sqrt", add_op(p, "rectification.corrected", "Mul", whole, correction));
    u->rectification = add_op(p, "rectification", "Where", u->is_rectified, root, one);
}

/* M', V' as above; X' = X - R / (1 - beta1^t) * rectification * M' / D, where D is sqrt(V') + epsilon if rho(t) > 5,
 * else 1. As torch.optim.RAdam. */
void update_radam(struct updater *u, const struct trainable *t)
{
    const enum dtype dtype = t->tensor->dtype;
    (void)corrected_rate(u, t);
    add_rectification(u);
    if (!u->rate->other)
        u->rate->other = add_op(u->p, "rectified_rate.double", "Mul", u->rate->scaled, u->rectification);
    const char *const rate = scalar_in(u, "rectified_rate", u->rate->other, DTYPE_DOUBLE, dtype);
    const char *const g = with_norm(u, t);
    const char *const m = mean_gradient(u, t, g), *const v = mean_square(u, t, g);
    const char *const deviation =
        own_op(u, t, "deviation", "Add", own_op(u, t, "root", "Sqrt", v), parameter(u, t, "epsilon", u->o->epsilon));
    const char *const divisor =
        own_op(u, t, "divisor", "Where", u->is_rectified, deviation, add_scalar(u->p, "one", dtype, 1));
    const char *const direction = own_op(u, t, "direction", "Div", m, divisor);
    bind_step(u, t, t->name, own_op(u, t, "step", "Mul", rate, direction));
}

/* M' as above, U' = max(beta2 U, |G| + epsilon), X' = X - R / (1 - beta1^t) * M' / U'. As torch.optim.Adamax. */
void update_adamax(struct updater *u, const struct trainable *t)
{
    struct preparer *const p = u->p;
    const char *const rate = corrected_rate(u, t);
    const char *const g = with_norm(u, t);
    const char *const m = mean_gradient(u, t, g);
    const char *const state = add_state(u, t, "u");
    const char *const kept = add_op(p, suffixed(p, state, "kept"), "Mul", state, parameter(u, t, "beta2", u->o->beta2));
    const char *const size =
        own_op(u, t, "size", "Add", own_op(u, t, "abs", "Abs", g), parameter(u, t, "epsilon", u->o->epsilon));
    const char *const norm = add_op(p, suffixed(p, state, "new"), "Max", kept, size);
    bind_update(p, state, norm, t->tensor);
    const char *const direction = own_op(u, t, "direction", "Div", m, norm);
    bind_step(u, t, t->name, own_op(u, t, "step", "Mul", rate, direction));
}

/* The Euclidean norm of all elements together, a scalar. */
static const char *norm_of(struct updater *u, const struct trainable *t, const char *suffix, const char *x)
{
    struct preparer *const p = u->p;
    const char *const name = suffixed(p, t->name, suffix);
    return add_op(p, name, "Sqrt", add_reduce(p, suffixed(p, name, "square"), "ReduceSumSquare", x, -1));
}

/* M', V' as above, D = M' / (1 - beta1^t) / (sqrt(V') / sqrt(1 - beta2^t) + epsilon) + weight_decay X, and
 * X' = X - R |X| / |D| D, but X - R D where one of the norms is 0. As You et al., Large Batch Optimization for Deep
 * Learning, algorithm 2. */
void update_lamb(struct updater *u, const struct trainable *t)
{
    struct preparer *const p = u->p;
    const enum dtype dtype = t->tensor->dtype;
    const char *const m = mean_gradient(u, t, t->gradient), *const v = mean_square(u, t, t->gradient);
    const char *const first = scalar_in(u, "beta1.correction", first_correction(u), DTYPE_DOUBLE, dtype);
    const char *const mean = own_op(u, t, "corrected_mean", "Div", m, first);
    const char *direction = own_op(u, t, "direction", "Div", mean, corrected_divisor(u, t, v));
    if (is_decayed(u, t))
        direction = own_op(u, t, "decayed_direction", "Add", direction,
                           own_op(u, t, "decay", "Mul", t->name, parameter(u, t, "weight_decay", u->o->weight_decay)));
    const char *const zero = add_scalar(p, "zero", dtype, 0), *const one = add_scalar(p, "one", dtype, 1);
    const char *const own = norm_of(u, t, "norm", t->name), *const of_step = norm_of(u, t, "step_norm", direction);
    const char *const both = own_op(u, t, "both_norms", "And", own_op(u, t, "has_norm", "Greater", own, zero),
                                    own_op(u, t, "moves", "Greater", of_step, zero));
    const char *const ratio = own_op(u, t, "norm_ratio", "Div", own, of_step);
    const char *const trust = own_op(u, t, "trust", "Where", both, ratio, one);
    const char *const rate = own_op(u, t, "own_rate", "Mul", rate_for(u, t), trust);
    bind_step(u, t, t->name, own_op(u, t, "step", "Mul", rate, direction));
}
