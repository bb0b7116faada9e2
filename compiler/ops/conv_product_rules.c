/* Convolutions with windows of one element, as matrix products. */
#include "ops/conv_internal.h"

#include "lower/targets.h"

int64_t conv_most_of_image(const struct lower_ctx *c)
{
    return target_far(c->l->target) / 2 / (int64_t)sizeof(float);
}

/* Windows of one element that meet every element once. */
static bool is_pointwise(const struct conv *v)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &v->window.axis[i];
        if (a->size != 1 || a->stride != 1 || a->pad_begin != 0 || a->pad_end != 0)
            return false;
    }
    return true;
}

/* A matrix product, unless its rows would begin at any address: an image of them costs less than vectors that
 * cross cache lines. */
bool conv_fits_product(const struct conv_task *t)
{
    const struct conv *const v = t->v;
    const int64_t count = window_in_count(&v->window), channels = v->c > v->o ? v->c : v->o;
    return t->result != CONV_W && is_pointwise(v) && v->groups == 1 &&
           (count % LANES_MOST == 0 || count < LANES_MOST || channels * count > conv_most_of_image(t->c));
}

struct conv conv_on_one_line(const struct conv *v)
{
    struct conv r = *v;
    const int64_t count = window_in_count(&v->window);
    for (int i = 0; i < WINDOW_AXES && is_pointwise(v); i++)
        r.window.axis[i].in = r.window.axis[i].out = i + 1 < WINDOW_AXES ? 1 : count;
    return r;
}

/* y[n] = w x[n], dx[n] = w' dy[n] */
bool conv_lower_product(const struct conv_task *t, const struct expr *finish)
{
    struct lower_ctx *const c = t->c;
    const struct conv *const v = t->v;
    const bool transposed = t->result == CONV_X;
    const struct view x = lower_contiguous(c, t->first), weights = lower_contiguous(c, t->second);
    const int64_t rows = transposed ? v->c : v->o, inner = transposed ? v->o : v->c,
                  count = window_in_count(&v->window);
    const struct view a = {.buffer = weights.buffer, .offset = weights.offset, .shape = SHAPE(v->n, rows, inner),
                           .stride = {0, transposed ? 1 : v->c, transposed ? v->c : 1}};
    const struct view b = {.buffer = x.buffer,
                           .offset = x.offset,
                           .shape = SHAPE(v->n, inner, count),
                           .stride = {inner * count, count, 1}};
    return lower_product(c, &a, &b, inner, finish);
}
