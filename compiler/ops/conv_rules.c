/* Convolutions as kernels: `forms` are what there is to choose from. With --optimize size they are plain loops
 * (conv_plain_rules.c). Else windows of 1 with stride 1 are matrix products (conv_product_rules.c), windows of single
 * channels templates/depthwise*.c in part (conv_narrow_rules.c), short lines of large batches templates/conv_images.c
 * (conv_images_rules.c), everything else is templates/conv.c. What that template needs to know of an axis is worked out
 * here, and where each position of the window lies in the padded image becomes a table. */
#include "ops/conv_internal.h"

#include "base/checked.h"
#include "lower/targets.h"

#define SLACK 32      /* elements that a vector may read behind its operand: two of 16 */
#define FLAT_UNIT 32  /* windows that a tile computes at a time, at most */
#define PLANE_MARGIN 48 /* elements around a plane that copies are made of: 16 before it */
#define SHORT_LINE 16 /* elements: shorter ones are finished together */
#define LINE_OVER 4   /* elements that a copied line may be too long */
#define COLUMN_MOST 64 /* elements of a column that holds several positions of the window */

static const char *const axis_letters = "DHW";

static void bind_axis(struct lower_ctx *c, const char *prefix, int axis, const char *suffix, int64_t x)
{
    lower_template_int(c, arena_printf(c->arena, "%s%c%s", prefix, axis_letters[axis], suffix), x);
}

/* One axis of the image that windows are computed from (templates/conv.c has the meaning of each). */
struct image_axis {
    int64_t size, stride, pad; /* what is copied; pad may be negative */
    int64_t phases, length;
    int64_t windows;
};

/* Do lines stand in the image as they are, with zeros around them? */
static bool holds_lines(const struct image_axis *a)
{
    for (int i = 0; i < WINDOW_AXES; i++)
        if (a[i].stride != 1 || a[i].phases != 1 || a[i].pad < 0 || a[i].pad + a[i].size > a[i].length)
            return false;
    return true;
}

/* Copies of lines instead of zeros between them: for as many windows as elements, and fewer than a vector. */
static bool takes_copies(const struct window *w, const struct image_axis *a)
{
    const struct window_axis *line = &w->axis[WINDOW_AXES - 1];
    return holds_lines(a) && line->size > 1 && line->stride == 1 && line->out == line->in && line->in <= NARROW_MOST &&
           (line->size - 1) * line->dilation < SHIFT_MOST && line->pad_begin < SHIFT_MOST;
}

/* The last axis as copies, the first of which is moved by `shift` columns and the next by `step` more. Returns scratch
 * for a plane with room around it, and for what is kept of it. */
static int64_t take_copies(struct lower_ctx *c, const struct window *w, struct image_axis *a, int64_t shift,
                           int64_t step)
{
    struct image_axis *line = &a[WINDOW_AXES - 1];
    const int64_t lines = a[1].size * line->size, vectors = (lines + LANES_MOST - 1) / LANES_MOST * LANES_MOST;
    line->pad = 0;
    line->length = line->size;
    line->phases = w->axis[WINDOW_AXES - 1].size;
    lower_template_int(c, "SHIFT", shift);
    lower_template_int(c, "SHIFT_STEP", step);
    return a[0].size * lines + PLANE_MARGIN + line->phases * vectors;
}

/* Copies of what the columns of the window see of lines, where these have more elements than windows: are the vectors
 * of windows that lie in gaps, once for each row of weights, more than the copies cost, a line as much as COPY_COST
 * vectors and those that it has? */
static bool takes_cuts(struct lower_ctx *c, const struct conv *v, const struct image_axis *a)
{
    enum { COPY_COST = 5 };
    const struct window_axis *line = &v->window.axis[WINDOW_AXES - 1];
    const int64_t lines = a[0].windows * a[1].windows, copied = a[0].size * a[1].size * line->size;
    if (c->options.scalar || !holds_lines(a) || line->size == 1 || line->size > SHIFT_MOST || line->pad_begin != 0 ||
        line->pad_end != 0 || line->out % LANES_MOST == 0 || v->o == 1 ||
        v->c * copied * line->in > conv_most_of_image(c))
        return false;
    const int64_t gaps = (lines * line->in + LANES_MOST - 1) / LANES_MOST -
                         (lines * line->out + LANES_MOST - 1) / LANES_MOST;
    return v->o * window_size(&v->window) * gaps > copied * (line->out / LANES_MOST + COPY_COST);
}

static void take_cuts(struct lower_ctx *c, const struct window *w, struct image_axis *a)
{
    struct image_axis *line = &a[WINDOW_AXES - 1];
    line->length = line->windows;
    line->phases = w->axis[WINDOW_AXES - 1].size;
    lower_template_int(c, "SHIFT_STEP", w->axis[WINDOW_AXES - 1].dilation);
}

static void bind_axes(struct lower_ctx *c, const struct image_axis *a)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        bind_axis(c, "", i, "", a[i].size);
        bind_axis(c, "S", i, "", a[i].stride);
        bind_axis(c, "PAD_", i, "", a[i].pad);
        bind_axis(c, "Q", i, "", a[i].length);
        bind_axis(c, "O", i, "", a[i].windows);
    }
}

static void bind_image(struct lower_ctx *c, const struct image_axis *a)
{
    const struct image_axis *line = &a[WINDOW_AXES - 1];
    const bool copies = line->phases > line->stride, cuts = copies && line->windows < line->size;
    bind_axes(c, a);
    lower_template_int(c, "LINES", copies || holds_lines(a));
    lower_template_int(c, "COPIES", copies && !cuts);
    lower_template_int(c, "CUTS", cuts);
    for (int i = 0; i < WINDOW_AXES; i++)
        bind_axis(c, "P", i, "", a[i].phases);
}

static int64_t image_channel(const struct image_axis *a)
{
    int64_t n = 1;
    for (int i = 0; i < WINDOW_AXES; i++)
        n *= a[i].phases * a[i].length;
    return n;
}

/* Windows of one channel as one line over whole lines of the image, rounded up for vectors. */
static int64_t flat_step(const struct image_axis *a)
{
    const int64_t n = ((a[0].windows - 1) * a[1].length + a[1].windows - 1) * a[2].length + a[2].windows;
    return (n + FLAT_UNIT - 1) / FLAT_UNIT * FLAT_UNIT;
}

int64_t conv_tile_rows(int64_t rows)
{
    return rows < ROWS_MOST ? rows : ROWS_MOST;
}

void conv_bind_operand(struct lower_ctx *c, const char *param, int i)
{
    const struct view v = lower_contiguous(c, i);
    const struct access a = {.buffer = v.buffer, .offset = v.offset};
    lower_template_operand(c, param, &a);
}

void conv_bind_planes(struct lower_ctx *c, const char *param, int i, int64_t n, int64_t channels, int64_t elements,
                      int64_t scratch)
{
    const struct view v = lower_contiguous(c, i);
    const struct access a = {.buffer = v.buffer, .offset = v.offset, .stride = {channels * elements, elements, 1}};
    lower_template_operand(c, param, &a);
    lower_template_loops(c, 3, (const int64_t[]){n, channels, elements}, scratch);
}

void conv_bind_scratch(struct lower_ctx *c, int64_t count, int64_t plane)
{
    lower_template_scratch(c, "scratch", count + plane);
    lower_template_int(c, "PLANE", count);
}

void conv_bind_table(struct lower_ctx *c, const char *param, const int64_t *x, int64_t count)
{
    struct tensor *t = tensor_new(c->arena, DTYPE_INT32, &SHAPE(count));
    for (int64_t i = 0; i < count; i++)
        tensor_set_int(t, i, x[i]);
    const struct access a = lower_table(c, param, t);
    lower_template_operand(c, param, &a);
}

/* Are so many terms zeros around the image for whole tiles of windows that these should leave them out? They are lines
 * before the first one and behind the last. Tiles that look for them are narrower; those of one row, or of lines of
 * whole vectors, do not. `at`: where each of the window's positions reads in the image. */
static bool skips_padding(const struct image_axis *a, int64_t rows, const int64_t *at, int64_t count)
{
    enum { TILE = 2 * LANES_MOST, SAVING = 8 };
    const int64_t first = (a[0].pad * a[1].length + a[1].pad) * a[2].length + a[2].pad;
    const int64_t end = first + ((a[0].size - 1) * a[1].length + a[1].size - 1) * a[2].length + a[2].size;
    const int64_t tiles = (flat_step(a) + TILE - 1) / TILE;
    double inside = 0;
    if (!holds_lines(a) || rows == 1 || a[2].windows % LANES_MOST == 0)
        return false;
    for (int64_t t = 0; t < count; t++) {
        const int64_t before = at[t] < first ? (first - at[t]) / TILE : 0,
                      behind = at[t] < end ? (end - at[t] + TILE - 1) / TILE : 0;
        const int64_t last = behind < tiles ? behind : tiles;
        inside += last > before ? (double)(last - before) : 0;
    }
    return inside < (double)tiles * (double)count * (SAVING - 1) / SAVING;
}

/* ---- images of x ------------------------------------------------------------------------------------------------- */

static struct image_axis axis_of_x(const struct window_axis *w)
{
    const int64_t reach = (w->size - 1) * w->dilation;
    return (struct image_axis){.size = w->in, .stride = w->stride, .pad = w->pad_begin,
                               .phases = reach + 1 < w->stride ? reach + 1 : w->stride,
                               .length = w->out + reach / w->stride, .windows = w->out};
}

/* Distance of each position of the window from the window's place. */
static int64_t *distances_in_x(struct arena *arena, const struct window *w, const struct image_axis *a)
{
    const int64_t count = window_size(w);
    int64_t *at = arena_array(arena, int64_t, (size_t)count);
    for (int64_t t = 0; t < count; t++) {
        int64_t rest = t, phase = 0, place = 0, phase_unit = 1, place_unit = 1;
        for (int i = WINDOW_AXES - 1; i >= 0; i--) {
            const int64_t reach = rest % w->axis[i].size * w->axis[i].dilation;
            rest /= w->axis[i].size;
            const bool copies = a[i].phases > a[i].stride;
            phase += (copies ? reach / w->axis[i].dilation : reach % w->axis[i].stride) * phase_unit;
            place += (copies ? 0 : reach / w->axis[i].stride) * place_unit;
            phase_unit *= a[i].phases;
            place_unit *= a[i].length;
        }
        at[t] = phase * place_unit + place;
    }
    return at;
}

static void bind_sizes(struct lower_ctx *c, const struct conv *v, int64_t channels, int64_t rows, int64_t slack)
{
    lower_template_int(c, "N", v->n);
    lower_template_int(c, "G", v->groups);
    lower_template_int(c, "CHANNELS", channels);
    lower_template_int(c, "ROWS", rows);
    lower_template_int(c, "TAPS", window_size(&v->window));
    lower_template_int(c, "SLACK", slack);
    lower_template_flops(c, 2 * v->n * v->groups * rows * channels * window_size(&v->window) *
                                window_out_count(&v->window));
}

/* The zeros behind a line are those in front of the next one, or of the slack. Returns how many this saves a line: so
 * many more elements of the slack are read. */
static int64_t share_padding(struct image_axis *a)
{
    const int64_t behind = a->length - a->pad - a->size, less = a->pad < behind ? a->pad : behind;
    const int64_t shared = a->phases == 1 && less > 0 ? less : 0;
    a->length -= shared;
    return shared;
}

static int64_t whole_vectors(int64_t elements)
{
    return (elements + LANES_MOST - 1) / LANES_MOST * LANES_MOST;
}

/* Where a channel is a single line, the next one begins at a whole vector: vectors of windows then
 * cross no cache line. */
static void align_lines(struct image_axis *a)
{
    if (a[0].length == 1 && a[1].length == 1 && a[2].length > LANES_MOST)
        a[2].length = whole_vectors(a[2].length);
}

/* Vectors of windows that templates/conv.c computes for a row of an image. */
static int64_t flat_vectors(const struct window *w, const struct image_axis *a)
{
    struct image_axis line = a[WINDOW_AXES - 1];
    if (line.windows % LANES_MOST == 0)
        return a[1].windows * (line.windows / LANES_MOST);
    if (takes_copies(w, a))
        line.length = line.windows;
    else
        share_padding(&line);
    return ((a[1].windows - 1) * line.length + line.windows + LANES_MOST - 1) / LANES_MOST;
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

/* Gradients of weights are cut into rows of sums, which prepare all images anew, or into images: then none is prepared
 * twice, but the sums of each wait until those before them are added, and are then written and read once more. */
static bool cut_weight_grad(struct kernel *k, int shares, const struct target *target)
{
    (void)target;
    const int64_t n = kernel_int(k, "N"),
                  sums = kernel_int(k, "ROWS") * kernel_int(k, "RUNS") * kernel_int(k, "RUN_STEP");
    const int64_t image = kernel_int(k, "QD") * kernel_int(k, "QH") * kernel_int(k, "QW") * kernel_int(k, "COLUMN");
    const int64_t waiting = n - n / shares;
    if (n < shares || kernel_int(k, "G") > 1 || 2 * waiting * sums > n * image)
        return k->cut.pieces >= shares;
    const int64_t own = (k->scratch.count + SHARE_LINE - 1) / SHARE_LINE * SHARE_LINE;
    kernel_set_int(k, "CUT_IMAGES", 1);
    kernel_set_int(k, "OWN", own);
    k->cut.passes = 2;
    k->scratch.count = own + ((waiting - (shares - 1)) * sums + shares - 1) / shares; /* of one share */
    return true;
}

static const char *const late[] = {"N", NULL};
static const struct template_traits forward_template = {.name = "conv", .late = late},
                                    input_grad_template = {.name = "conv_grad_input", .late = late},
                                    weight_grad_template = {.name = "conv_grad_weight", .cut = cut_weight_grad,
                                                            .late = late},
                                    channels_template = {.name = "depthwise_grad_weight", .late = late};

/* ---- gradients of weights ---------------------------------------------------------------------------------------- */

/* How the elements that a window sees come to lie side by side: which positions along each axis a column of the image
 * holds (1, or all), and into how many runs this leaves the window cut, along each axis. */
struct columns {
    int64_t held[WINDOW_AXES], cuts[WINDOW_AXES];
    int64_t column, run, runs; /* elements; how many */
};

static struct columns make_columns(const struct conv *v, bool holds_lines, bool holds_all)
{
    const struct window_axis *line = &v->window.axis[WINDOW_AXES - 1];
    struct columns r = {.column = v->c, .runs = 1};
    for (int i = 0; i < WINDOW_AXES; i++) {
        const int64_t size = v->window.axis[i].size;
        const bool is_line = i == WINDOW_AXES - 1, holds = is_line ? holds_all : holds_lines;
        r.held[i] = holds ? size : 1;
        r.cuts[i] = holds || (is_line && line->dilation == 1) ? 1 : size;
        r.column *= r.held[i];
        r.runs *= r.cuts[i];
    }
    r.run = r.column * (line->size / r.held[WINDOW_AXES - 1] / r.cuts[WINDOW_AXES - 1]);
    return r;
}

/* For each window: its vectors, once for each row of weights, and a column, of which each element is copied
 * at a vector's cost. */
static int64_t columns_cost(const struct conv *v, const struct columns *r)
{
    return v->o * r->runs * (whole_vectors(r->run) / LANES_MOST) + r->column;
}

/* Where channels are few, runs are short and leave lanes empty: then columns hold several positions,
 * if that is cheaper. */
static struct columns choose_columns(const struct conv *v)
{
    const bool is_dilated = v->window.axis[WINDOW_AXES - 1].dilation > 1;
    struct columns best = make_columns(v, false, false);
    for (int all = 0; all <= is_dilated; all++) {
        const struct columns r = make_columns(v, true, all);
        if (r.column <= COLUMN_MOST && columns_cost(v, &r) < columns_cost(v, &best))
            best = r;
    }
    return best;
}

/* Are lines of the image lines of windows? Else they are lines of x. */
static bool is_line_of_windows(const struct window_axis *w, int64_t held)
{
    return held > 1 || w->size == 1;
}

static struct image_axis axis_of_columns(const struct window_axis *w, int64_t held, bool is_line)
{
    const int64_t reach = held > 1 ? 0 : (w->size - 1) * w->dilation;
    struct image_axis a = {.size = w->in, .stride = w->stride, .pad = w->pad_begin, .phases = 1, .windows = w->out};
    if (!is_line && is_line_of_windows(w, held))
        a.stride = 1;
    a.length = (w->out - 1) * a.stride + reach + 1;
    return a;
}

/* The place of each position in the runs; where runs begin; where the elements of a column come from. */
static void bind_columns(struct lower_ctx *c, const struct conv *v, const struct columns *r, const struct image_axis *a)
{
    const struct window_axis *w = v->window.axis;
    const int64_t taps = window_size(&v->window), held = r->column / v->c, run_step = whole_vectors(r->run);
    int64_t *const table = arena_array(c->arena, int64_t, (size_t)(taps + r->runs + r->column));
    for (int64_t t = 0; t < taps; t++) {
        const int64_t at[] = {t / w[2].size / w[1].size, t / w[2].size % w[1].size, t % w[2].size};
        int64_t run = 0, begin = 0, inside = 0;
        for (int i = 0; i < WINDOW_AXES; i++) {
            const bool is_cut = r->cuts[i] > 1;
            run = run * r->cuts[i] + (is_cut ? at[i] : 0);
            begin = begin * a[i].length + (is_cut ? at[i] * w[i].dilation : 0);
            inside = inside * r->held[i] + (r->held[i] > 1 ? at[i] : 0);
        }
        const bool is_along = r->held[2] == 1 && r->cuts[2] == 1;
        table[t] = run * run_step + (is_along ? at[2] * r->column : 0) + inside;
        table[taps + run] = begin * r->column;
    }
    for (int64_t k = 0; k < r->column; k++) {
        const int64_t line = k / r->held[2] % r->held[1] * w[1].dilation,
                      depth = k / r->held[2] / r->held[1] % r->held[0] * w[0].dilation;
        table[taps + r->runs + k] = ((k / held * w[0].in + depth) * w[1].in + line) * w[2].in;
    }
    conv_bind_table(c, "taps", table, taps + r->runs + r->column);
    lower_template_int(c, "COLUMN", r->column);
    lower_template_int(c, "RUN", r->run);
    lower_template_int(c, "RUNS", r->runs);
    lower_template_int(c, "RUN_STEP", run_step);
    for (int i = 0; i < WINDOW_AXES; i++) {
        bind_axis(c, "HELD_", i, "", r->held[i]);
        bind_axis(c, "REACH_", i, "", w[i].dilation);
        bind_axis(c, "T", i, "", is_line_of_windows(&w[i], r->held[i]) ? w[i].stride : 1);
    }
}

static bool fits_runs(const struct conv_task *t)
{
    return t->result == CONV_W;
}

static void bind_runs(const struct conv_task *t)
{
    struct lower_ctx *const c = t->c;
    const struct conv *const v = t->v;
    struct image_axis a[WINDOW_AXES];
    const struct columns r = choose_columns(v);
    const int64_t taps = window_size(&v->window);
    for (int i = 0; i < WINDOW_AXES; i++)
        a[i] = axis_of_columns(&v->window.axis[i], r.held[i], i == WINDOW_AXES - 1);
    lower_template(c, &weight_grad_template, lower_out_dtype(c, 0));
    lower_template_pieces(c, v->o / ROWS_MOST);
    bind_sizes(c, v, v->c, v->o, SLACK);
    bind_axes(c, a);
    const int64_t in = window_in_count(&v->window), out = window_out_count(&v->window);
    conv_bind_planes(c, "dy", t->first, v->n, v->groups * v->o, out, v->o * out);
    conv_bind_planes(c, "x", t->second, v->n, v->groups * v->c, in, v->c * in);
    bind_columns(c, v, &r, a);
    lower_template_int(c, "CUT_IMAGES", 0);
    lower_template_int(c, "OWN", 0);
    const int64_t image = a[0].length * a[1].length * a[2].length * r.column + SLACK;
    conv_bind_scratch(c, image + v->o * r.runs * whole_vectors(r.run) + v->c * taps, 0);
}

/* ---- y, and dx from images of dy --------------------------------------------------------------------------------- */

/* dx is computed phase by phase: element i = stride * (first + j) + phase - pad_begin is window j, and reads dy at
 * first + j - distance / stride for each position of the window whose distance has that phase. */
static struct image_axis axis_of_dy(const struct window_axis *w)
{
    const int64_t reach = (w->size - 1) * w->dilation / w->stride, first = w->pad_begin / w->stride;
    const int64_t windows = (w->in - 1 + w->pad_begin) / w->stride - first + 1;
    return (struct image_axis){.size = w->out, .stride = 1, .pad = reach - first, .phases = 1,
                               .length = windows + reach,
                               .windows = w->in % w->stride == 0 ? w->in / w->stride : windows};
}

/* Position t of the window: its phase, and where it reads in the image. */
struct window_reading {
    int64_t phase, distance;
};

static struct window_reading reading_of_dy(const struct window *w, const struct image_axis *a, int64_t t)
{
    int64_t place = 0, copy = 0, phase_unit = 1, place_unit = 1;
    struct window_reading r = {0};
    for (int i = WINDOW_AXES - 1; i >= 0; i--) {
        const struct window_axis *axis = &w->axis[i];
        const int64_t distance = t % axis->size * axis->dilation;
        t /= axis->size;
        r.phase += distance % axis->stride * phase_unit;
        if (a[i].phases > 1)
            copy = distance / axis->dilation;
        else
            place += ((axis->size - 1) * axis->dilation / axis->stride - distance / axis->stride) * place_unit;
        phase_unit *= axis->stride;
        place_unit *= a[i].length;
    }
    r.distance = copy * place_unit + place;
    return r;
}

static int64_t count_phases(const struct window *w)
{
    return w->axis[0].stride * w->axis[1].stride * w->axis[2].stride;
}

/* Distances, positions of the window in the order of phases, then where each phase begins. */
static int64_t table_for_dy(struct arena *arena, const struct window *w, const struct image_axis *a, int64_t **table)
{
    const int64_t count = window_size(w), phases = count_phases(w);
    int64_t *const x = arena_array(arena, int64_t, (size_t)(2 * count + phases + 1)), *const begin = x + 2 * count;
    /* positions of each phase that are in the table */
    int64_t *const filled = arena_array(arena, int64_t, (size_t)phases);
    for (int64_t t = 0; t < count; t++)
        begin[reading_of_dy(w, a, t).phase + 1]++;
    for (int64_t p = 0; p < phases; p++)
        begin[p + 1] += begin[p];
    for (int64_t t = 0; t < count; t++) {
        const struct window_reading r = reading_of_dy(w, a, t);
        const int64_t at = begin[r.phase] + filled[r.phase]++;
        x[at] = r.distance;
        x[count + at] = t;
    }
    *table = x;
    return 2 * count + phases + 1;
}

static void image_axes(const struct conv_task *t, struct image_axis *a)
{
    for (int i = 0; i < WINDOW_AXES; i++)
        a[i] = t->result == CONV_X ? axis_of_dy(&t->v->window.axis[i]) : axis_of_x(&t->v->window.axis[i]);
}

/* Of windows, and of phases. */
static double cost_along_lines(const struct conv_task *t)
{
    struct image_axis a[WINDOW_AXES];
    const struct conv *const v = t->v;
    image_axes(t, a);
    return (double)v->n * (double)(v->c * v->o) * (double)window_size(&v->window) *
           (double)flat_vectors(&v->window, a) * LANES_MOST;
}

static bool fits_windows(const struct conv_task *t)
{
    return t->result == CONV_Y || (t->result == CONV_X && count_phases(&t->v->window) == 1);
}

/* y, or dx where the stride is 1: windows over dy with the positions of the window the other way round. */
static void bind_windows(const struct conv_task *t)
{
    struct lower_ctx *const c = t->c;
    const struct conv *const v = t->v;
    const bool gradient = t->result == CONV_X;
    struct image_axis a[WINDOW_AXES];
    image_axes(t, a);
    const struct window_axis *line = &v->window.axis[WINDOW_AXES - 1];
    const int64_t channels = gradient ? v->o : v->c, rows = gradient ? v->c : v->o, taps = window_size(&v->window);
    const int64_t y_count = window_out_count(&v->window), x_count = window_in_count(&v->window);
    const int64_t in = gradient ? y_count : x_count, out = gradient ? x_count : y_count;
    lower_template(c, &forward_template, lower_out_dtype(c, 0));
    const bool copies = takes_copies(&v->window, a);
    const int64_t plane = copies ? take_copies(c, &v->window, a, gradient ? line->pad_begin : -line->pad_begin,
                                               gradient ? -line->dilation : line->dilation)
                                 : 0;
    if (!gradient && !copies && takes_cuts(c, v, a))
        take_cuts(c, &v->window, a);
    const int64_t slack = SLACK + (copies ? 0 : share_padding(&a[WINDOW_AXES - 1]));
    align_lines(a);
    lower_template_pieces(c, v->n);
    bind_sizes(c, v, channels, rows, slack);
    bind_image(c, a);
    lower_template_int(c, "W_ROW", gradient ? taps : channels * taps);
    lower_template_int(c, "W_CHANNEL", gradient ? rows * taps : taps);
    const bool whole = rows > 1 && a[2].windows % LANES_MOST == 0 && out % (2 * LANES_MOST) == 0;
    const int64_t step = whole ? 0 : flat_step(a);
    lower_template_int(c, "FLAT_STEP", step);
    conv_bind_planes(c, "x", t->first, v->n, v->groups * channels, in, copies ? 0 : in);
    conv_bind_operand(c, "w", t->second);
    int64_t *at;
    if (gradient)
        table_for_dy(c->arena, &v->window, a, &at); /* of its only phase */
    else
        at = distances_in_x(c->arena, &v->window, a);
    lower_template_int(c, "SKIPS", skips_padding(a, rows, at, taps));
    conv_bind_table(c, "taps", at, taps);
    const int64_t image = channels * image_channel(a) + slack;
    conv_bind_scratch(c, image + conv_tile_rows(rows) * step + out + LINE_OVER, plane);
}

static bool fits_phases(const struct conv_task *t)
{
    return t->result == CONV_X && count_phases(&t->v->window) > 1;
}

/* dx phase by phase. */
static void bind_phases(const struct conv_task *t)
{
    struct lower_ctx *const c = t->c;
    const struct conv *const v = t->v;
    struct image_axis a[WINDOW_AXES];
    int64_t *table;
    image_axes(t, a);
    const struct window_axis *last = &v->window.axis[WINDOW_AXES - 1];
    lower_template(c, &input_grad_template, lower_out_dtype(c, 0));
    const int64_t slack = SLACK + share_padding(&a[WINDOW_AXES - 1]);
    align_lines(a);
    lower_template_pieces(c, v->n);
    bind_sizes(c, v, v->o, v->c, slack);
    bind_image(c, a);
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *axis = &v->window.axis[i];
        bind_axis(c, "X", i, "", axis->in);
        bind_axis(c, "T", i, "", axis->stride);
        bind_axis(c, "LOW_", i, "", axis->pad_begin / axis->stride * axis->stride - axis->pad_begin);
    }
    lower_template_int(c, "FLAT_STEP", flat_step(a));
    const int64_t out = window_out_count(&v->window);
    conv_bind_planes(c, "dy", t->first, v->n, v->groups * v->o, out, out);
    conv_bind_operand(c, "w", t->second);
    const int64_t count = table_for_dy(c->arena, &v->window, a, &table);
    lower_template_int(c, "SKIPS", skips_padding(a, v->c, table, window_size(&v->window)));
    conv_bind_table(c, "taps", table, count);
    const bool merges = last->stride > 1 && last->in < SHORT_LINE;
    lower_template_int(c, "MERGES", merges);
    const int64_t line = merges ? window_in_count(&v->window) + LINE_OVER : a[2].windows * last->stride;
    const int64_t rows = conv_tile_rows(v->c), packed = v->groups * v->o * (v->c + rows - 1) * window_size(&v->window);
    const int64_t image = v->o * image_channel(a) + slack, sums = rows * count_phases(&v->window) * flat_step(a);
    conv_bind_scratch(c, image + packed + sums + line, 0);
}

/* ---- a window for each channel ----------------------------------------------------------------------------------- */

static bool fits_channels(const struct conv_task *t)
{
    return t->result == CONV_W && conv_is_depthwise(t->v);
}

/* dw */
static void bind_channels(const struct conv_task *t)
{
    struct lower_ctx *const c = t->c;
    const struct conv *const v = t->v;
    struct image_axis a[WINDOW_AXES];
    image_axes(t, a);
    lower_template(c, &channels_template, lower_out_dtype(c, 0));
    lower_template_int(c, "N", v->n);
    lower_template_int(c, "G", v->groups);
    lower_template_int(c, "TAPS", window_size(&v->window));
    bind_image(c, a);
    conv_bind_table(c, "taps", distances_in_x(c->arena, &v->window, a), window_size(&v->window));
    lower_template_pieces(c, v->groups / LANES_MOST);
    lower_template_flops(c, 2 * v->n * v->groups * window_size(&v->window) * window_out_count(&v->window));
    const int64_t in = window_in_count(&v->window), out = window_out_count(&v->window);
    conv_bind_planes(c, "dy", t->first, v->n, v->groups, out, out * LANES_MOST);
    conv_bind_planes(c, "x", t->second, v->n, v->groups, in, in * LANES_MOST);
    conv_bind_scratch(c, (image_channel(a) + in + out + window_size(&v->window)) * LANES_MOST, 0);
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

static const struct conv_form forms[] = {
    {conv_fits_plain, NULL, conv_bind_plain},
    {conv_fits_product, NULL, NULL},
    {conv_fits_narrow, NULL, conv_bind_narrow},
    {conv_fits_images, conv_cost_of_images, conv_bind_images},
    {fits_windows, cost_along_lines, bind_windows},
    {fits_phases, cost_along_lines, bind_phases},
    {fits_channels, NULL, bind_channels},
    {fits_runs, NULL, bind_runs},
};

/* Of two that have a cost, the first has to save an eighth. */
static const struct conv_form *choose_form(const struct conv_task *t)
{
    const struct conv_form *best = NULL;
    double least = 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct conv_form *const f = &forms[i];
        if (!f->fits(t))
            continue;
        if (!f->cost)
            return best ? best : f;
        const double cost = f->cost(t);
        if (best && least < cost - cost / 8)
            continue;
        best = f;
        least = cost;
    }
    return best;
}

/* ---- all --------------------------------------------------------------------------------------------------------- */

/* No term at all: the sum is 0. */
static const struct expr *zero_result(const struct expr *result, void *data)
{
    return expr_number(data, result->dtype, 0);
}

static bool lower_without_terms(struct lower_ctx *c, struct shape loops, const struct view *to,
                                const struct expr *finish)
{
    const struct expr_map map = {.arena = c->arena, .result = zero_result, .data = c->arena};
    lower_kernel(c, NULL);
    lower_store(c, lower_part(c, &loops), to, expr_substitute(&map, finish));
    return true;
}

/* Each phase of a gradient has a place in a table. There are more of them than elements only where pads are large. */
static bool has_many_phases(const struct window *w)
{
    enum { FEW_PHASES = 1 << 16 };
    int64_t phases = 1;
    for (int i = 0; i < WINDOW_AXES; i++)
        if (!checked_mul(phases, w->axis[i].stride, &phases))
            return true;
    return phases > FEW_PHASES && phases / 4 > window_in_count(w) + window_size(w);
}

/* With one window along an axis its stride says nothing, and need not reach further than window and input do. */
static struct conv with_needed_strides(const struct conv *v)
{
    struct conv r = *v;
    for (int i = 0; i < WINDOW_AXES; i++) {
        struct window_axis *a = &r.window.axis[i];
        const int64_t reach = (a->size - 1) * a->dilation + 1, far = a->in + a->pad_begin,
                      most = reach > far ? reach : far;
        a->stride = a->out == 1 && a->stride > most ? most : a->stride;
    }
    return r;
}

/* Can what follows count with int64? Sizes come from shapes that no tensor need have. What indices hold is checked for
 * all kernels alike (lower/index.c). */
static bool can_be_counted(struct lower_ctx *c, const struct conv *v, enum conv_role result)
{
    /* the distances of a window become a table; of a gradient its phases, too, or the places of its channels */
    const int64_t most = (int64_t)1 << 48, most_taps = 1 << 18;
    int64_t image = v->c > v->o ? v->c : v->o, taps = 1, phases = 1, steps = 2;
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &v->window.axis[i];
        const int64_t length = a->in + a->pad_begin + a->pad_end + a->size * a->dilation + a->stride;
        if (!checked_mul(image, length, &image) || image > most || !checked_mul(taps, a->size, &taps) ||
            taps > most_taps)
            return lower_error(c, "a window over a padded image of more than 2^48 elements, or of more than 2^18 "
                                  "positions, is not compiled");
    }
    if (result == CONV_X && has_many_phases(&v->window))
        return lower_error(c, "a gradient of a convolution with strides of many times the size of its input is not "
                              "compiled");
    for (int i = 0; i < WINDOW_AXES && result == CONV_X; i++)
        if (!checked_mul(phases, v->window.axis[i].stride, &phases) || phases > most_taps)
            return lower_error(c, "a gradient of a convolution with strides of more than 2^18 elements is not "
                                  "compiled");
    if (result == CONV_W && v->c > most_taps)
        return lower_error(c, "a gradient of weights of more than 2^18 channels is not compiled");
    const int64_t factors[] = {v->n, v->groups, v->c, v->o, taps, window_out_count(&v->window)};
    for (size_t i = 0; i < sizeof factors / sizeof *factors; i++)
        if (!checked_mul(steps, factors[i], &steps) || steps > most)
            return lower_error(c, "a convolution of more than 2^48 steps is not compiled");
    return table_spend(c->node->graph->program, &c->node->loc, taps + phases);
}

bool conv_lower(struct lower_ctx *c, const struct conv *given, enum conv_role result, int first, int second,
                const struct expr *finish)
{
    const struct conv needed = with_needed_strides(given), *v = &needed;
    const int64_t size = window_size(&v->window), in = window_in_count(&v->window), out = window_out_count(&v->window);
    struct shape loops = SHAPE(v->groups * v->o, v->c * size);
    if (result == CONV_Y)
        loops = SHAPE(v->n, v->groups * v->o, out);
    if (result == CONV_X)
        loops = SHAPE(v->n, v->groups * v->c, in);
    const struct view whole = lower_out_view(c, 0), to = view_of_buffer(whole.buffer, &loops);
    if (shape_count(&loops) == 0)
        return true;
    if (v->n == 0 || v->c == 0 || v->o == 0 || out == 0)
        return lower_without_terms(c, loops, &to, finish);
    if (!can_be_counted(c, v, result))
        return false;
    const struct conv line = conv_on_one_line(v);
    const struct conv_task task = {c, &line, result, first, second};
    const struct conv_form *const form = choose_form(&task);
    if (!form->bind)
        return conv_lower_product(&task, finish);
    lower_contiguous(c, first); /* copies, where needed, are kernels before this one */
    lower_contiguous(c, second);
    lower_kernel(c, NULL);
    form->bind(&task);
    struct part *p = lower_template_part(c, result == CONV_W ? "finish_weight" : "finish", loops.rank, loops.dim);
    lower_store(c, p, &to, finish);
    return true;
}
