/* Updates by plain formulas, and what all updates are made of. One node for each tensor, since it then fuses with the
 * gradient that it alone reads. Formulas are in docs/optimizers.md; a prime marks the new value there and here. */
#include "prepare/updates.h"

/* ---- scalars ----------------------------------------------------------------------------------------------------- */

const char *parameter(struct updater *u, const struct trainable *t, const char *name, double x)
{
    return add_scalar(u->p, name, t->tensor->dtype, (double)(float)x);
}

const char *double_number(struct updater *u, const char *name, double x)
{
    return add_scalar(u->p, name, DTYPE_DOUBLE, x);
}

const char *scalar_in(struct updater *u, const char *wish, const char *x, enum dtype from, enum dtype to)
{
    const char *const key = arena_printf(u->p->arena, "%s %d", x, (int)to);
    if (from == to)
        return x;
    if (!map_has(&u->casts, key))
        map_set(&u->casts, key, (void *)(uintptr_t)add_cast(u->p, wish, x, to));
    return map_get(&u->casts, key);
}

const char *rate_for(struct updater *u, const struct trainable *t)
{
    return scalar_in(u, "learning_rate.cast", u->rate->name, u->rate->dtype, t->tensor->dtype);
}

const char *rate_in_double(struct updater *u)
{
    return scalar_in(u, "learning_rate.double", u->rate->name, u->rate->dtype, DTYPE_DOUBLE);
}

const char *steps_done(struct updater *u)
{
    if (!u->t)
        u->t = add_op(u->p, "steps", "Add", add_cast(u->p, "steps_before", u->step, DTYPE_DOUBLE),
                      double_number(u, "one_double", 1));
    return u->t;
}

/* ---- tensors ----------------------------------------------------------------------------------------------------- */

const char *add_state(struct updater *u, const struct trainable *t, const char *suffix)
{
    struct tensor *const initial = tensor_new(u->p->arena, t->tensor->dtype, &t->tensor->shape);
    for (int64_t i = 0; u->o->initial_accumulator != 0 && i < initial->count; i++)
        tensor_set_double(initial, i, u->o->initial_accumulator);
    return add_tensor(u->p, suffixed(u->p, t->name, suffix), initial);
}

const char *with_norm(struct updater *u, const struct trainable *t)
{
    if (u->o->norm_coefficient == 0)
        return t->gradient;
    const char *const pull =
        own_op(u, t, "pull", "Mul", t->name, parameter(u, t, "norm_coefficient", u->o->norm_coefficient));
    return own_op(u, t, "regularized", "Add", t->gradient, pull);
}

bool is_decayed(const struct updater *u, const struct trainable *t)
{
    return u->o->weight_decay > 0 && t->tensor->shape.rank >= u->o->decay_min_rank;
}

const char *with_decay(struct updater *u, const struct trainable *t)
{
    if (!is_decayed(u, t))
        return t->name;
    const char *const loss =
        own_op(u, t, "decay", "Mul", rate_for(u, t), parameter(u, t, "weight_decay", u->o->weight_decay));
    const char *const keep = own_op(u, t, "keep", "Sub", add_scalar(u->p, "one", t->tensor->dtype, 1), loss);
    return own_op(u, t, "decayed", "Mul", t->name, keep);
}

const char *mean_of(struct updater *u, const struct trainable *t, const char *name, const char *decay_name,
                    double decay, const char *x, const char *y)
{
    struct preparer *const p = u->p;
    const char *const kept = add_op(p, suffixed(p, name, "kept"), "Mul", x, parameter(u, t, decay_name, decay));
    const double rest = 1 - (double)(float)decay;
    const char *const added =
        add_op(p, suffixed(p, name, "added"), "Mul", y,
               add_scalar(p, arena_printf(p->arena, "one_minus_%s", decay_name), t->tensor->dtype, rest));
    return add_op(p, suffixed(p, name, "new"), "Add", kept, added);
}

const char *running_mean(struct updater *u, const struct trainable *t, const char *suffix, const char *decay_name,
                         double decay, const char *x)
{
    const char *const state = add_state(u, t, suffix);
    const char *const next = mean_of(u, t, state, decay_name, decay, state, x);
    bind_update(u->p, state, next, t->tensor);
    return next;
}

void bind_step(struct updater *u, const struct trainable *t, const char *from, const char *step)
{
    bind_update(u->p, t->name, own_op(u, t, "new", "Sub", from, step), t->tensor);
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

void update_sgd(struct updater *u, const struct trainable *t)
{
    const char *const g = with_norm(u, t);
    bind_step(u, t, t->name, own_op(u, t, "step", "Mul", rate_for(u, t), g));
}

/* buffer' = momentum buffer + x; bound. */
static const char *add_buffer(struct updater *u, const struct trainable *t, const char *x)
{
    struct preparer *const p = u->p;
    const char *const state = add_state(u, t, "buffer");
    const char *const kept =
        add_op(p, suffixed(p, state, "kept"), "Mul", state, parameter(u, t, "momentum", u->o->momentum));
    const char *const next = add_op(p, suffixed(p, state, "new"), "Add", kept, x);
    bind_update(p, state, next, t->tensor);
    return next;
}

/* V' = alpha V + (1 - alpha) G^2, D = G / (sqrt(V') + epsilon), X' = X - R D; centered: M' = alpha M + (1 - alpha) G
 * and V' - M'^2 in the place of V'; momentum: B' = momentum B + D, X' = X - R B'. As torch.optim.RMSprop. */
void update_rmsprop(struct updater *u, const struct trainable *t)
{
    const char *const g = with_norm(u, t);
    const char *const v = running_mean(u, t, "v", "alpha", u->o->alpha, own_op(u, t, "square", "Mul", g, g));
    const char *variance = v;
    if (u->o->centered != 0) {
        const char *const m = running_mean(u, t, "m", "alpha", u->o->alpha, g);
        variance = own_op(u, t, "variance", "Sub", v, own_op(u, t, "mean_square", "Mul", m, m));
    }
    const char *const root = own_op(u, t, "root", "Sqrt", variance);
    const char *const divisor = own_op(u, t, "divisor", "Add", root, parameter(u, t, "epsilon", u->o->epsilon));
    const char *direction = own_op(u, t, "direction", "Div", g, divisor);
    if (u->o->momentum != 0)
        direction = add_buffer(u, t, direction);
    bind_step(u, t, t->name, own_op(u, t, "step", "Mul", rate_for(u, t), direction));
}

/* X' = X (1 - R weight_decay) - R sign(beta1 M + (1 - beta1) G), then M' = beta2 M + (1 - beta2) G. As Chen et al.,
 * Symbolic Discovery of Optimization Algorithms, algorithm 2; sign(0) = 0. */
void update_lion(struct updater *u, const struct trainable *t)
{
    struct preparer *const p = u->p;
    const char *const m = add_state(u, t, "m");
    const char *const blend = mean_of(u, t, suffixed(p, t->name, "blend"), "beta1", u->o->beta1, m, t->gradient);
    bind_update(p, m, mean_of(u, t, m, "beta2", u->o->beta2, m, t->gradient), t->tensor);
    const char *const direction = own_op(u, t, "direction", "Sign", blend);
    const char *const step = own_op(u, t, "step", "Mul", rate_for(u, t), direction);
    bind_step(u, t, with_decay(u, t), step);
}
