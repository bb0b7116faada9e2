/* Convolutions as plain loops (templates/conv_plain.c): with --optimize size there is no other form. */
#include "ops/conv_internal.h"

static const char *const late[] = {"N", NULL};
static const struct template_traits plain_templates[] = {[CONV_Y] = {.name = "conv_plain", .late = late},
                                                         [CONV_X] = {.name = "conv_grad_input_plain", .late = late},
                                                         [CONV_W] = {.name = "conv_grad_weight_plain", .late = late}};

/* So many channels are summed up together: they share what they read, and few sums fit into any registers. */
static int64_t rows_of(int64_t channels)
{
    int64_t rows = 4;
    while (channels % rows != 0)
        rows--;
    return rows;
}

/* On a Cortex-M4 a product takes 3 to 5 instructions, where each of `rows` sums runs over many of them; the line of a
 * window takes 12 more, an element 35. As operations, of which a product has two. */
static int64_t overhead_of(int64_t products, int64_t turns, int64_t terms)
{
    return (int64_t)((double)products * (2 + 12.0 / (double)turns + 35.0 / (double)terms) * 2 / 3);
}

static void bind_axis(struct lower_ctx *c, const char *prefix, int axis, int64_t x)
{
    lower_template_int(c, arena_printf(c->arena, "%s%c", prefix, "DHW"[axis]), x);
}

static void bind_sizes(struct lower_ctx *c, const struct conv *v, enum conv_role result, int64_t rows)
{
    const bool padded = result == CONV_X ? window_lacks_outputs(&v->window) : window_leaves_input(&v->window);
    lower_template_int(c, "PADDED", padded);
    lower_template_int(c, "N", v->n);
    lower_template_int(c, "G", v->groups);
    lower_template_int(c, "C", v->c);
    lower_template_int(c, "O", v->o);
    lower_template_int(c, "ROWS", rows);
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &v->window.axis[i];
        bind_axis(c, "", i, a->in);
        bind_axis(c, "O", i, a->out);
        bind_axis(c, "K", i, a->size);
        bind_axis(c, "S", i, a->stride);
        bind_axis(c, "L", i, a->dilation);
        bind_axis(c, "PAD_", i, a->pad_begin);
        bind_axis(c, "PAST_", i, (a->out - 1) * a->stride + (a->size - 1) * a->dilation - a->pad_begin >= a->in);
        /* no hole: indices go that far */
        bind_axis(c, "PADDED_", i, a->in + a->pad_begin + a->pad_end + a->size * a->dilation + a->out * a->stride);
    }
    const int64_t products = v->n * v->groups * v->o * v->c * window_size(&v->window) * window_out_count(&v->window);
    const struct window_axis *const last = &v->window.axis[WINDOW_AXES - 1];
    const int64_t turns = result == CONV_W ? last->out : last->size;
    const int64_t terms = result == CONV_W   ? window_out_count(&v->window)
                          : result == CONV_X ? v->o * window_size(&v->window)
                                             : v->c * window_size(&v->window);
    lower_template_flops(c, 2 * products);
    lower_template_overhead(c, overhead_of(products / rows, turns, terms));
}

bool conv_fits_plain(const struct conv_task *t)
{
    return t->c->options.small;
}

void conv_bind_plain(const struct conv_task *t)
{
    struct lower_ctx *const c = t->c;
    const struct conv *const v = t->v;
    const enum conv_role result = t->result;
    const int64_t in = window_in_count(&v->window), out = window_out_count(&v->window);
    const int64_t rows = rows_of(result == CONV_X ? v->c : v->o);
    lower_template(c, &plain_templates[result], lower_out_dtype(c, 0));
    bind_sizes(c, v, result, rows);
    lower_template_pieces(c, result != CONV_W ? v->n : v->groups > 1 ? v->groups : v->o / rows);
    lower_template_scratch(c, "scratch", 0); /* unless an operand is computed */
    if (result == CONV_W) {
        const int64_t sums = v->o * v->c * window_size(&v->window) + rows * out;
        conv_bind_planes(c, "dy", t->first, v->n, v->groups * v->o, out, sums);
        conv_bind_planes(c, "x", t->second, v->n, v->groups * v->c, in, sums + v->c * in);
        return;
    }
    if (result == CONV_Y)
        conv_bind_planes(c, "x", t->first, v->n, v->groups * v->c, in, v->c * in);
    else
        conv_bind_planes(c, "dy", t->first, v->n, v->groups * v->o, out, v->o * out);
    conv_bind_operand(c, "w", t->second);
}
