#include "ops/resize_rules.h"

#include "base/str.h"

#include <math.h>
#include <string.h>

/* ---- what a node says -------------------------------------------------------------------------------------------- */

enum { MODE, PLACE, ROUNDING, POLICY, CHOICES };
#define MOST_CHOICES 7
static const struct choice {
    const char *attr, *names[MOST_CHOICES + 1];
} choices[CHOICES] = {
    {"mode", {[RESIZE_NEAREST] = "nearest", [RESIZE_LINEAR] = "linear", [RESIZE_CUBIC] = "cubic"}},
    {"coordinate_transformation_mode",
     {[RESIZE_HALF_PIXEL] = "half_pixel",
      [RESIZE_SYMMETRIC] = "half_pixel_symmetric",
      [RESIZE_PYTORCH] = "pytorch_half_pixel",
      [RESIZE_ALIGN_CORNERS] = "align_corners",
      [RESIZE_ASYMMETRIC] = "asymmetric",
      [RESIZE_CROP] = "tf_crop_and_resize",
      [RESIZE_FOR_NN] = "tf_half_pixel_for_nn"}},
    {"nearest_mode",
     {[RESIZE_PREFER_FLOOR] = "round_prefer_floor",
      [RESIZE_PREFER_CEIL] = "round_prefer_ceil",
      [RESIZE_FLOOR] = "floor",
      [RESIZE_CEIL] = "ceil"}},
    {"keep_aspect_ratio_policy",
     {[RESIZE_STRETCH] = "stretch", [RESIZE_NOT_LARGER] = "not_larger", [RESIZE_NOT_SMALLER] = "not_smaller"}}};

/* The number of the name that the attribute has; -1 where it has none of them. */
static int chosen(const struct node *n, const struct choice *choice)
{
    const char *name = op_attr_string(n, choice->attr);
    for (int i = 0; choice->names[i] != NULL; i++)
        if (strcmp(name, choice->names[i]) == 0)
            return i;
    return -1;
}

static bool check_choice(struct infer_ctx *c, const struct choice *choice)
{
    struct arena text = {0};
    struct strbuf b = {.arena = &text};
    if (chosen(c->node, choice) >= 0)
        return true;
    for (int i = 0; choice->names[i] != NULL; i++)
        strbuf_addf(&b, "%s'%s'", i == 0 ? "" : choice->names[i + 1] ? ", " : " or ", choice->names[i]);
    infer_error(c, "attribute '%s' is '%s', expected %s", choice->attr, op_attr_string(c->node, choice->attr),
                strbuf_text(&b));
    arena_free(&text);
    return false;
}

bool resize_infer_attributes(struct infer_ctx *c)
{
    for (int i = 0; i < CHOICES; i++)
        if (!check_choice(c, &choices[i]))
            return false;
    return true;
}

bool resize_crops(const struct node *n)
{
    return chosen(n, &choices[PLACE]) == RESIZE_CROP;
}

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

/* Input i, known, or NULL where it is omitted or has no elements. */
static const struct tensor *given(const struct node *n, int i)
{
    struct value *v = node_input(n, (size_t)i);
    return v == NULL || shape_count(&v->shape) == 0 ? NULL : value_known(v);
}

static void scale_by(struct resize_axis *g, double scale)
{
    const bool is_large = g->in > 1 << 24; /* float cannot tell such lengths apart */
    g->up = scale;
    g->down = 1;
    g->length = is_large ? (double)g->in * scale : (double)((float)g->in * (float)scale);
    g->out = g->length < (double)(INT64_MAX / 4) ? (int64_t)g->length : INT64_MAX;
}

/* All listed axes by one ratio, the smallest or the largest: out is the size that was asked for, and rounded to the
 * nearest of what comes. */
static void keep_ratio(struct resize *r, bool smallest)
{
    const struct resize_axis *decides = NULL;
    for (int i = 0; i < r->count; i++) {
        const struct resize_axis *g = &r->along[r->axes[i]];
        const double ratio = g->up / g->down, best = decides ? decides->up / decides->down : 0;
        if (g->in > 0 && (decides == NULL || (smallest ? ratio < best : ratio > best)))
            decides = g;
    }
    const struct resize_axis by = decides ? *decides : (struct resize_axis){.up = 1, .down = 1};
    for (int i = 0; i < r->count; i++) {
        struct resize_axis *g = &r->along[r->axes[i]];
        g->up = by.up;
        g->down = by.down;
        g->length = (double)g->in * g->up / g->down;
        g->out = g->length < (double)(INT64_MAX / 4) ? (int64_t)(g->length + 0.5) : INT64_MAX;
    }
}

static void read_axes(const struct node *n, struct resize *r)
{
    const int64_t *axes;
    size_t count;
    const bool all = !op_attr_ints(n, "axes", &axes, &count);
    r->count = all ? r->rank : (int)count;
    for (int i = 0; i < r->count; i++) {
        r->axes[i] = i;
        if (!all)
            (void)shape_axis(r->rank, axes[i], &r->axes[i]);
    }
}

struct resize resize_of(const struct node *n)
{
    const struct shape *x = &n->inputs.data[0]->shape;
    const struct tensor *scales = given(n, RESIZE_SCALES), *sizes = given(n, RESIZE_SIZES), *roi = given(n, RESIZE_ROI);
    struct resize r = {.mode = (enum resize_mode)chosen(n, &choices[MODE]),
                       .place = (enum resize_place)chosen(n, &choices[PLACE]),
                       .rounding = (enum resize_rounding)chosen(n, &choices[ROUNDING]),
                       .antialias = op_attr_int(n, "antialias") != 0,
                       .exclude = op_attr_int(n, "exclude_outside") != 0,
                       .a = op_attr_float(n, "cubic_coeff_a"),
                       .rank = x->rank};
    r.exclude &= r.mode != RESIZE_NEAREST;
    for (int d = 0; d < x->rank; d++)
        r.along[d] = (struct resize_axis){
            .in = x->dim[d], .out = x->dim[d], .up = 1, .down = 1, .length = (double)x->dim[d], .end = 1};
    read_axes(n, &r);
    for (int i = 0; i < r.count; i++) {
        struct resize_axis *g = &r.along[r.axes[i]];
        if (scales) {
            scale_by(g, tensor_get_double(scales, i));
        } else if (sizes) {
            g->out = tensor_get_int(sizes, i);
            g->up = g->length = (double)g->out;
            g->down = (double)g->in;
        }
        if (roi && r.place == RESIZE_CROP) {
            g->start = tensor_get_double(roi, i);
            g->end = tensor_get_double(roi, r.count + i);
        }
    }
    if (sizes && chosen(n, &choices[POLICY]) != RESIZE_STRETCH)
        keep_ratio(&r, chosen(n, &choices[POLICY]) == RESIZE_NOT_LARGER);
    return r;
}

/* Where result k lies in the input. */
static double place_of(const struct resize *r, const struct resize_axis *g, int64_t k)
{
    const double at = (double)k, last = (double)(g->in - 1);
    switch (r->place) {
    case RESIZE_ALIGN_CORNERS:
        return g->length == 1 ? 0 : at * last / (g->length - 1);
    case RESIZE_ASYMMETRIC:
        return at * g->down / g->up;
    case RESIZE_CROP:
        return (g->length == 1 ? (g->end - g->start) * last / 2 : at * (g->end - g->start) * last / (g->length - 1)) +
               g->start * last;
    case RESIZE_PYTORCH:
        return g->length > 1 ? (at + 0.5) * g->down / g->up - 0.5 : 0;
    case RESIZE_SYMMETRIC:
        return (double)g->in / 2 * (1 - (double)g->out / g->length) + (at + 0.5) * g->down / g->up - 0.5;
    case RESIZE_FOR_NN:
        return (at + 0.5) * g->down / g->up;
    case RESIZE_HALF_PIXEL:
        break;
    }
    return (at + 0.5) * g->down / g->up - 0.5;
}

bool resize_is_outside(const struct resize *r, const struct resize_axis *g, int64_t k)
{
    const double x = place_of(r, g, k);
    return r->place == RESIZE_CROP && !(x >= 0 && x <= (double)(g->in - 1));
}

static double shrinking_scale(const struct resize *r, const struct resize_axis *g)
{
    return r->antialias && g->up < g->down ? g->up / g->down : 1;
}

int64_t resize_window(const struct resize *r, const struct resize_axis *g)
{
    const double reach = r->mode == RESIZE_CUBIC ? 2 : 1;
    return 2 * (int64_t)ceil(reach / shrinking_scale(r, g));
}

/* Keys' polynomial: weight of a neighbour at distance d. */
static double keys(double a, double d)
{
    d = fabs(d);
    if (d <= 1)
        return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/* r: distance to the left neighbour, number 0; distance: of the neighbour. */
static double weight_at(const struct resize *r, double to_left, double distance)
{
    if (r->mode == RESIZE_LINEAR)
        return fabs(distance) < 1 ? 1 - fabs(distance) : 0;
    if (r->mode == RESIZE_CUBIC)
        return keys(r->a, distance);
    const bool left =
        to_left < 1 && (r->rounding == RESIZE_FLOOR || (r->rounding == RESIZE_PREFER_FLOOR && to_left <= 0.5) ||
                        (r->rounding == RESIZE_PREFER_CEIL && to_left < 0.5));
    return left == (distance < 0) ? 1 : 0;
}

int64_t resize_neighbours(const struct resize *r, const struct resize_axis *g, int64_t k, double *weight)
{
    const int64_t size = resize_window(r, g), half = size / 2;
    const double x = place_of(r, g, k), left = ceil(x) - 1, to_left = x - left, scale = shrinking_scale(r, g);
    const double first = fmin(fmax(left + 1 - (double)half, (double)-half), (double)(g->in + half - size));
    double sum = 0;
    for (int64_t t = 0; t < size; t++) {
        const double distance = ((double)(t + 1 - half) - to_left) * scale, at = first + (double)t;
        const bool counts = !r->exclude || (at >= 0 && at < (double)g->in);
        weight[t] = counts ? weight_at(r, to_left, distance) : 0;
        sum += weight[t];
    }
    for (int64_t t = 0; t < size && (r->exclude || r->antialias) && sum != 0; t++)
        weight[t] /= sum;
    return (int64_t)first;
}

int64_t resize_inside(const struct resize_axis *g, int64_t i)
{
    return i < 0 ? 0 : i >= g->in ? g->in - 1 : i;
}
