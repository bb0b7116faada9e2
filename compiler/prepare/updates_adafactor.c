/* Adafactor (Shazeer and Stern 2018) as Hugging Face's transformers have it: of the mean of squares of a matrix only
 * the means of its rows and of its columns are kept, so that the state is small. With t = T + 1, rms(x) = |x| / sqrt(n)
 *
 *   b = 1 - t^decay_rate                          S = G^2 + epsilon1
 *   matrices   A' = b A + (1 - b) row means of S, C' = b C + (1 - b) column means of S
 *              U = G / sqrt(A' / mean(A')) / sqrt(C')
 *   others     V' = b V + (1 - b) S, U = G / sqrt(V')
 *   U' = U / max(1, rms(U) / clip_threshold)
 *   r = R; relative_step: times min(1e-2, 1 / sqrt(t)), or min(1e-6 t, 1 / sqrt(t)) with warmup_init;
 *       scale_parameter: times max(epsilon2, rms(X))
 *   D = r U', or with beta1 the running mean of that
 *   X' = X - weight_decay r X - D */
#include "prepare/updates.h"

/* The mean over axis `axis`, which stays with one element, or over all elements, a scalar (axis -1). */
static const char *mean_over(struct updater *u, const char *wish, const char *x, int64_t axis)
{
    struct preparer *const p = u->p;
    const char *const y = add_reduce(p, wish, "ReduceMean", x, axis);
    if (axis >= 0)
        model_set_int(p->arena, last_node(p), "keepdims", 1);
    return y;
}

/* rms(x), a scalar */
static const char *size_of(struct updater *u, const struct trainable *t, const char *suffix, const char *x)
{
    struct preparer *const p = u->p;
    const char *const name = suffixed(p, t->name, suffix);
    const char *const squares = add_op(p, suffixed(p, name, "squares"), "Mul", x, x);
    return add_op(p, name, "Sqrt", mean_over(u, suffixed(p, name, "mean"), squares, -1));
}

/* b and 1 - b */
static void add_shares(struct updater *u)
{
    struct preparer *const p = u->p;
    if (u->kept_share)
        return;
    u->new_share = add_op(p, "new_share.double", "Pow", steps_done(u),
                          double_number(u, "decay_rate", (double)(float)u->o->decay_rate));
    u->kept_share = add_op(p, "kept_share.double", "Sub", double_number(u, "one_double", 1), u->new_share);
}

/* state' = b state + (1 - b) x, where the state has the shape of t but for one element along `axis`; bound. */
static const char *kept_mean(struct updater *u, const struct trainable *t, const char *suffix, int axis, const char *x)
{
    struct preparer *const p = u->p;
    struct shape shape = t->tensor->shape;
    if (axis >= 0)
        shape.dim[axis] = 1;
    struct tensor *const initial = tensor_new(p->arena, t->tensor->dtype, &shape);
    const char *const state = add_tensor(p, suffixed(p, t->name, suffix), initial);
    const enum dtype dtype = t->tensor->dtype;
    add_shares(u);
    const char *const kept = add_op(p, suffixed(p, state, "kept"), "Mul", state,
                                    scalar_in(u, "kept_share", u->kept_share, DTYPE_DOUBLE, dtype));
    const char *const added =
        add_op(p, suffixed(p, state, "added"), "Mul", x, scalar_in(u, "new_share", u->new_share, DTYPE_DOUBLE, dtype));
    const char *const next = add_op(p, suffixed(p, state, "new"), "Add", kept, added);
    bind_update(p, state, next, initial);
    return next;
}

/* U of a matrix, or of a stack of matrices: the last two axes count. */
static const char *factored(struct updater *u, const struct trainable *t, const char *squares)
{
    struct preparer *const p = u->p;
    const int last = t->tensor->shape.rank - 1;
    const char *const row_mean = mean_over(u, suffixed(p, t->name, "row_means"), squares, last);
    const char *const column_mean = mean_over(u, suffixed(p, t->name, "column_means"), squares, last - 1);
    const char *const rows = kept_mean(u, t, "rows", last, row_mean);
    const char *const columns = kept_mean(u, t, "columns", last - 1, column_mean);
    const char *const share =
        own_op(u, t, "row_shares", "Div", rows, mean_over(u, suffixed(p, t->name, "rows_mean"), rows, last - 1));
    const char *const by_row = own_op(u, t, "by_row", "Div", t->gradient, own_op(u, t, "row_root", "Sqrt", share));
    return own_op(u, t, "direction", "Div", by_row, own_op(u, t, "column_root", "Sqrt", columns));
}

static const char *whole(struct updater *u, const struct trainable *t, const char *squares)
{
    const char *const v = kept_mean(u, t, "v", -1, squares);
    return own_op(u, t, "direction", "Div", t->gradient, own_op(u, t, "root", "Sqrt", v));
}

/* r but for the size of X, in t's type */
static const char *step_rate(struct updater *u, const struct trainable *t)
{
    struct preparer *const p = u->p;
    if (u->o->relative_step == 0)
        return rate_for(u, t);
    if (!u->rate->scaled) {
        const char *const inverse =
            add_op(p, "inverse_root_of_steps", "Reciprocal", add_op(p, "root_of_steps", "Sqrt", steps_done(u)));
        const char *const most = u->o->warmup_init != 0 ? add_op(p, "warmup_step", "Mul", steps_done(u),
                                                                 double_number(u, "warmup_slope", 1e-6))
                                                        : double_number(u, "largest_step", 1e-2);
        const char *const relative = add_op(p, "relative_step", "Min", most, inverse);
        u->rate->scaled = add_op(p, "relative_rate.double", "Mul", rate_in_double(u), relative);
    }
    return scalar_in(u, "relative_rate", u->rate->scaled, DTYPE_DOUBLE, t->tensor->dtype);
}

static const char *own_rate(struct updater *u, const struct trainable *t)
{
    const char *const rate = step_rate(u, t);
    if (u->o->scale_parameter == 0)
        return rate;
    const char *const size =
        own_op(u, t, "scale", "Max", size_of(u, t, "size", t->name), parameter(u, t, "epsilon2", u->o->epsilon2));
    return own_op(u, t, "own_rate", "Mul", rate, size);
}

void update_adafactor(struct updater *u, const struct trainable *t)
{
    struct preparer *const p = u->p;
    const char *const squares =
        own_op(u, t, "square", "Add", own_op(u, t, "gradient_square", "Mul", t->gradient, t->gradient),
               parameter(u, t, "epsilon1", u->o->epsilon1));
    const char *const direction = t->tensor->shape.rank >= 2 ? factored(u, t, squares) : whole(u, t, squares);
    const char *const excess = own_op(u, t, "excess", "Div", size_of(u, t, "step_size", direction),
                                      parameter(u, t, "clip_threshold", u->o->clip_threshold));
    const char *const divisor = own_op(u, t, "excess_or_1", "Max", excess, add_scalar(p, "one", t->tensor->dtype, 1));
    const char *const rate = own_rate(u, t);
    const char *step = own_op(u, t, "step", "Mul", rate, own_op(u, t, "clipped_step", "Div", direction, divisor));
    if (u->o->beta1 != 0)
        step = running_mean(u, t, "m", "beta1", u->o->beta1, step);
    const char *x = t->name;
    if (u->o->weight_decay != 0) {
        const char *const share =
            own_op(u, t, "decay", "Mul", rate, parameter(u, t, "weight_decay", u->o->weight_decay));
        x = own_op(u, t, "decayed", "Sub", t->name, own_op(u, t, "loss", "Mul", share, t->name));
    }
    bind_step(u, t, x, step);
}
