/* Convolutions of large batches of short lines, as kernels: vectors run across images (templates/conv_images.c), which
 * saves the padding and the gaps between lines. */
#include "ops/conv_internal.h"

#include "lower/targets.h"

/* What windows see along an axis, terms in their order: of window i the first within the operand, how many, and how
 * many zeros of the padding lie before and behind them. The order of templates/conv_images.c. */
struct window_span {
    int64_t tap, place, count, before, behind;
};

/* An axis as seen from the result: of x, or of dy, whose windows are turned around. */
struct span_axis {
    const struct window_axis *w;
    bool gradient;
    int64_t windows, in; /* elements of the result and of the operand */
    int64_t tap_step, place_step; /* from term to term */
};

static struct span_axis span_axis_of(const struct window_axis *w, bool gradient)
{
    struct span_axis a = {.w = w, .gradient = gradient, .windows = w->out, .in = w->in, .tap_step = 1,
                          .place_step = w->dilation};
    if (gradient) {
        a.windows = w->in;
        a.in = w->out;
        while (a.tap_step * w->dilation % w->stride != 0)
            a.tap_step++;
        a.place_step = -(a.tap_step * w->dilation / w->stride);
    }
    return a;
}

static struct window_span span_of(const struct span_axis *a, int64_t i)
{
    const struct window_axis *w = a->w;
    struct window_span r = {.tap = -1};
    for (int64_t t = 0; t < w->size; t++) {
        const int64_t distance =
            a->gradient ? i + w->pad_begin - t * w->dilation : i * w->stride + t * w->dilation - w->pad_begin;
        if (a->gradient && distance % w->stride != 0)
            continue; /* between two windows: no term */
        const int64_t place = a->gradient ? distance / w->stride : distance;
        const bool inside = place >= 0 && place < a->in;
        if (r.tap < 0 || (inside && r.count == 0)) {
            r.tap = t;
            r.place = inside ? place : 0;
        }
        r.count += inside;
        r.before += !inside && r.count == 0;
        r.behind += !inside && r.count > 0;
    }
    if (r.count > 0)
        return r;
    return (struct window_span){.tap = r.tap < 0 ? 0 : r.tap, .behind = r.before};
}

/* Terms of all windows along an axis. */
static int64_t count_terms(const struct span_axis *a)
{
    int64_t n = 0;
    for (int64_t i = 0; i < a->windows; i++)
        n += span_of(a, i).count;
    return n;
}

static bool has_padding(const struct span_axis *a)
{
    for (int64_t i = 0; i < a->windows; i++) {
        const struct window_span s = span_of(a, i);
        if (s.before + s.behind > 0)
            return true;
    }
    return false;
}

/* What follows walks the axis, and its table is to stay small. */
static bool is_short(const struct window_axis *w)
{
    enum { MOST = 256 };
    return w->in <= MOST && w->out <= MOST && w->size <= MOST && w->stride <= MOST;
}

/* Memory for the operand of a tile's images must leave half of the second cache. */
bool conv_fits_images(const struct conv_task *t)
{
    enum { ROWS_LEAST = 4 };
    const struct lower_options *const o = &t->c->options;
    const struct conv *const v = t->v;
    const bool gradient = t->result == CONV_X;
    const int64_t most = target_far(t->c->l->target) / 2; /* floats */
    const struct window_axis *w = v->window.axis;
    const int64_t rows = gradient ? v->c : v->o, channels = gradient ? v->o : v->c;
    const int64_t in = gradient ? window_out_count(&v->window) : window_in_count(&v->window);
    return t->result != CONV_W && !o->scalar && !o->late && v->n >= IMAGES_MOST && rows >= ROWS_LEAST && w[0].in == 1 &&
           w[0].size == 1 && w[0].out == 1 && is_short(&w[1]) && is_short(&w[2]) && channels * in <= most / IMAGES_MOST;
}

/* Vectors across images skip the padding and need no gaps between lines, but operand and result are turned, which costs
 * as much as TURN_COST multiplications. */
double conv_cost_of_images(const struct conv_task *t)
{
    enum { TURN_COST = 8 };
    const struct conv *const v = t->v;
    const bool gradient = t->result == CONV_X;
    const struct window_axis *w = v->window.axis;
    const int64_t rows = gradient ? v->c : v->o, channels = gradient ? v->o : v->c;
    const int64_t in = gradient ? window_out_count(&v->window) : window_in_count(&v->window);
    const int64_t out = gradient ? window_in_count(&v->window) : window_out_count(&v->window);
    const struct span_axis lines = span_axis_of(&w[1], gradient), columns = span_axis_of(&w[2], gradient);
    const double padded = (double)((v->n + IMAGES_MOST - 1) / IMAGES_MOST * IMAGES_MOST),
                 pairs = (double)(rows * channels);
    return padded * (pairs * (double)(count_terms(&lines) * count_terms(&columns)) +
                     TURN_COST * (double)(channels * in + rows * out));
}

/* tap, place: elements of the window and of the operand between neighbours along the axis. */
static int64_t add_spans(int64_t *to, const struct span_axis *a, int64_t tap, int64_t place)
{
    enum { NUMBERS = 5 };
    for (int64_t i = 0; i < a->windows; i++) {
        const struct window_span s = span_of(a, i);
        const int64_t numbers[NUMBERS] = {s.tap * tap, s.place * place, s.count, s.before, s.behind};
        for (int k = 0; k < NUMBERS; k++)
            to[i * NUMBERS + k] = numbers[k];
    }
    return a->windows * NUMBERS;
}

static const struct template_traits images_template = {.name = "conv_images"};

void conv_bind_images(const struct conv_task *t)
{
    struct lower_ctx *const c = t->c;
    const struct conv *const v = t->v;
    const bool gradient = t->result == CONV_X;
    const struct span_axis lines = span_axis_of(&v->window.axis[1], gradient),
                           columns = span_axis_of(&v->window.axis[2], gradient);
    const int64_t rows = gradient ? v->c : v->o, channels = gradient ? v->o : v->c, taps = window_size(&v->window);
    const int64_t in = lines.in * columns.in, out = lines.windows * columns.windows, width = columns.w->size;
    int64_t *const spans = arena_array(c->arena, int64_t, (size_t)(5 * (lines.windows + columns.windows)));
    lower_template(c, &images_template, lower_out_dtype(c, 0));
    lower_template_pieces(c, out / LANES_MOST);
    lower_template_flops(c, 2 * v->n * v->groups * v->c * v->o * taps * window_out_count(&v->window));
    lower_template_int(c, "N", v->n);
    lower_template_int(c, "G", v->groups);
    lower_template_int(c, "CHANNELS", channels);
    lower_template_int(c, "ROWS", rows);
    lower_template_int(c, "IN", in);
    lower_template_int(c, "OUT", out);
    lower_template_int(c, "OH", lines.windows);
    lower_template_int(c, "OW", columns.windows);
    lower_template_int(c, "TAPS", taps);
    lower_template_int(c, "TAP_STEP_H", lines.tap_step * width);
    lower_template_int(c, "TAP_STEP_W", columns.tap_step);
    lower_template_int(c, "PLACE_STEP_H", lines.place_step * columns.in);
    lower_template_int(c, "PLACE_STEP_W", columns.place_step);
    lower_template_int(c, "W_ROW", gradient ? taps : v->c * taps);
    lower_template_int(c, "W_CHANNEL", gradient ? v->c * taps : taps);
    lower_template_int(c, "PADDED", has_padding(&lines) || has_padding(&columns));
    conv_bind_planes(c, "x", t->first, v->n, v->groups * channels, in, in * IMAGES_MOST);
    conv_bind_operand(c, "w", t->second);
    const int64_t count = add_spans(spans, &lines, width, columns.in);
    conv_bind_table(c, "spans", spans, count + add_spans(spans + count, &columns, 1, 1));
    int64_t scratch = (channels * in + conv_tile_rows(rows) * LANES_MOST) * IMAGES_MOST;
    scratch += v->groups * channels * taps * (rows + conv_tile_rows(rows) - 1);
    conv_bind_scratch(c, scratch, 0);
}
