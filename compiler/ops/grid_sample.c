/* GridSample: X [N,C,in..] read at places that `grid` [N,out..,k] gives, -1 to 1 along each of the k spatial axes, the
 * last axis first; and stepc.PlaceIndex and stepc.TakePlaces, by which it reads. Along an axis of S elements, with v =
 * ((g + 1) S - 1) / 2, or (g + 1) (S - 1) / 2 where corners are aligned, in the grid's type:
 *   nearest  the element at round(v), half to even
 *   linear   elements i = floor(v), i + 1 with the weights 1 - t, t, where t = v - i
 *   cubic    elements i - 1 to i + 2 with Keys' weights, a = -0.75, as polynomials in t by Horner's rule
 * Weights of the axes are multiplied from the first axis on, and products with X added from +0 in row-major order.
 * Outside of X:
 *   zeros       weights of elements outside are 0
 *   border      linear: v is brought into [0, S - 1]; else the nearest element counts
 *   reflection  linear: v is mirrored at the borders until it lies inside (at the outer edges of border elements, or
 *               with aligned corners at their centres), then as border; else the number of the element is mirrored
 * A NaN in the grid is element 0. All follows PyTorch, and so do gradients: rounding and floor have none, a place at
 * the border or beyond it does not move, a mirrored one moves the other way. (ONNX's reference clips and mirrors v in
 * mode cubic as well, which makes a kink at the border; and it calls grid non-differentiable, but as in PyTorch it has
 * its gradient here.) Types of 16 bits are computed in float, integers in double, and rounded (half to even) at the
 * end.
 * Spec: ONNX GridSample-16 (two spatial axes, modes bilinear and bicubic), -20 (any number of them; here 1 to 3), -22
 * (bfloat16). */
#include "graph/axes.h"
#include "ops/index_rules.h"

#include <math.h>
#include <string.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

enum { MOST_AXES = 3, MOST_TAPS = 4, MOST_IN_FLOAT = 1 << 24 /* whole numbers */ };
#define TYPES_16 (DTYPES_ALL & ~DTYPE_BIT(DTYPE_BFLOAT16))
#define TEXT(label, text) {.name = (label), .type = ATTR_STRING, .string_default = (text)}
#define ATTRS_OF(mode)                                                                                                 \
    TEXT("mode", mode), TEXT("padding_mode", "zeros"), {.name = "align_corners", .type = ATTR_INT, .int_default = 0},  \
    {                                                                                                                  \
        0                                                                                                              \
    }
#define INPUTS(set, grid_set)                                                                                          \
    {.name = "X", .type = 'T', .dtypes = (set)}, {.name = "grid", .type = 'G', .dtypes = (grid_set)},                  \
    {                                                                                                                  \
        0                                                                                                              \
    }
static const struct op_attr attrs_16[] = {ATTRS_OF("bilinear")};
static const struct op_attr attrs[] = {ATTRS_OF("linear")};
static const struct op_param inputs_16[] = {INPUTS(TYPES_16, DTYPES_FLOATS & ~DTYPE_BIT(DTYPE_BFLOAT16))};
static const struct op_param inputs[] = {INPUTS(DTYPES_ALL, DTYPES_FLOATS)};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static bool upgrade_16(struct upgrade_ctx *c)
{
    static const char *const renamed[][2] = {{"bilinear", "linear"}, {"bicubic", "cubic"}, {"nearest", "nearest"}};
    const struct attr *mode = node_attr(c->node, "mode");
    const struct value *x = node_input(c->node, 0);
    if (x != NULL && x->shape.rank != 4)
        return upgrade_error(c, "input 0 '%s' has rank %d, expected 4", x->name, x->shape.rank);
    for (size_t i = 0; mode != NULL && i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(mode->s, renamed[i][0]) == 0) {
            node_set_attr(c->node, attr_string("mode", renamed[i][1]));
            return true;
        }
    return mode == NULL ||
           upgrade_error(c, "attribute 'mode' is '%s', expected 'bilinear', 'nearest' or 'bicubic'", mode->s);
}

static const struct op_version versions[] = {
    {.since = 16, .dtypes = TYPES_16, .attrs = attrs_16, .inputs = inputs_16, .upgrade = upgrade_16},
    {.since = 20, .dtypes = TYPES_16, .inputs = inputs_16},
    {.since = 22},
    {0}};

/* ---- what the node says ------------------------------------------------------------------------------------------ */

enum grid_mode { NEAREST, LINEAR, CUBIC, MODES };
enum grid_padding { ZEROS, BORDER, REFLECTION, PADDINGS };
static const char *const mode_names[] = {[NEAREST] = "nearest", [LINEAR] = "linear", [CUBIC] = "cubic"};
static const char *const padding_names[] = {[ZEROS] = "zeros", [BORDER] = "border", [REFLECTION] = "reflection"};

static int name_in(const char *name, const char *const *names, int count)
{
    int i = 0;
    while (i < count && strcmp(name, names[i]) != 0)
        i++;
    return i;
}

struct sampling {
    enum grid_mode mode;
    enum grid_padding padding;
    bool aligned;
    int axes, taps;                    /* spatial axes; elements along each */
    int64_t images, channels, in, out; /* in, out: elements of one channel */
    int64_t size[MOST_AXES];
};

static struct sampling sampling_of(const struct node *n)
{
    const struct shape *x = &n->inputs.data[0]->shape, *grid = &n->inputs.data[1]->shape;
    static const int taps[] = {[NEAREST] = 1, [LINEAR] = 2, [CUBIC] = 4};
    struct sampling s = {.mode = (enum grid_mode)name_in(op_attr_string(n, "mode"), mode_names, MODES),
                         .padding =
                             (enum grid_padding)name_in(op_attr_string(n, "padding_mode"), padding_names, PADDINGS),
                         .aligned = op_attr_int(n, "align_corners") != 0,
                         .axes = x->rank - 2,
                         .images = x->dim[0],
                         .channels = x->dim[1],
                         .in = shape_count_range(x, 2, x->rank),
                         .out = shape_count_range(grid, 1, grid->rank - 1)};
    s.taps = taps[s.mode];
    for (int d = 0; d < s.axes; d++)
        s.size[d] = x->dim[d + 2];
    return s;
}

static bool grid_sample_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *grid = infer_shape(c, 1);
    struct shape y = *x;
    const char *mode = op_attr_string(c->node, "mode"), *padding = op_attr_string(c->node, "padding_mode");
    if (name_in(mode, mode_names, MODES) == MODES)
        return infer_error(c, "attribute 'mode' is '%s', expected 'linear', 'nearest' or 'cubic'", mode);
    if (name_in(padding, padding_names, PADDINGS) == PADDINGS)
        return infer_error(c, "attribute 'padding_mode' is '%s', expected 'zeros', 'border' or 'reflection'", padding);
    if (x->rank < 3)
        return infer_error(c, "input 0 '%s' has rank %d, expected at least 3", infer_in(c, 0)->name, x->rank);
    if (x->rank > 2 + MOST_AXES)
        return infer_unsupported(c, "more than %d spatial axes are not supported", MOST_AXES);
    if (grid->rank != x->rank || grid->dim[0] != x->dim[0] || grid->dim[grid->rank - 1] != x->rank - 2)
        return infer_error(c, "input 1 '%s' does not have the shape [%lld,..,%d] with rank %d", infer_in(c, 1)->name,
                           (long long)x->dim[0], x->rank - 2, x->rank);
    for (int d = 2; d < x->rank; d++) {
        shape_set(&y, d, shape_size(grid, d - 1));
        if (x->dim[d] > MOST_IN_FLOAT && infer_in(c, 1)->dtype != DTYPE_DOUBLE)
            return infer_unsupported(
                c, "dimension %d of input 0 is more than %d, which only a grid of double can tell apart", d,
                MOST_IN_FLOAT);
    }
    if (shape_count_range(x, 2, x->rank) == 0 && shape_count_range(&y, 2, y.rank) > 0)
        return infer_error(c, "input 0 '%s' has no elements to read", infer_in(c, 0)->name);
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

/* Values of one axis have the dimensions [N, taps of the first axis.., of the last axis, out]: 1 where they do not
 * change. */
struct grid_axis {
    struct value *place, *weight; /* weight: NULL in mode nearest */
};

static struct value *plus(struct expand_ctx *c, struct value *x, double number)
{
    return build(c, "Add", x, build_like(c, x, number));
}

static struct value *times(struct expand_ctx *c, struct value *x, double number)
{
    return build(c, "Mul", x, build_like(c, x, number));
}

static struct size places_of(const struct value *grid)
{
    return shape_size_range(&grid->shape, 1, grid->shape.rank - 1);
}

/* The places along axis d, in elements from the first one on. */
static struct value *build_place(struct expand_ctx *c, const struct sampling *s, int d)
{
    struct value *grid = expand_in(c, 1);
    const double size = (double)s->size[d];
    struct shape apart = SHAPE_OF(shape_size(&grid->shape, 0));
    for (int i = 0; i < s->axes; i++)
        shape_add(&apart, size_constant(1));
    shape_add(&apart, places_of(grid));
    struct value *g = build_with(c, "Gather", ATTRS(attr_int("axis", -1)), grid, build_int(c->b, s->axes - 1 - d));
    g = plus(c, build_cast(c->b, build_reshape(c->b, g, &apart), dtype_computed(grid->dtype)), 1);
    return s->aligned ? times(c, g, (size - 1) / 2) : times(c, plus(c, times(c, g, size), -1), 0.5);
}

static struct value *build_less(struct expand_ctx *c, double number, struct value *x)
{
    return build(c, "Less", build_like(c, x, number), x);
}

/* v in [0, size - 1]; at the border and beyond it a constant, which has no gradient. */
static struct value *build_clipped(struct expand_ctx *c, struct value *v, int64_t size)
{
    const double last = (double)(size - 1);
    struct value *below = build(c, "Where", build(c, "Less", v, build_like(c, v, last)), v, build_like(c, v, last));
    return build(c, "Where", build_less(c, 0, v), below, build_like(c, v, 0));
}

/* v mirrored at both ends: from -1/2 to size - 1/2, or from 0 to size - 1. */
static struct value *build_mirrored(struct expand_ctx *c, const struct sampling *s, struct value *v, int64_t size)
{
    const double low = s->aligned ? 0 : -0.5, span = s->aligned ? (double)(size - 1) : (double)size;
    struct value *zero = build_like(c, v, 0);
    if (span == 0)
        return times(c, v, 0);
    struct value *u = plus(c, v, -low);
    u = build(c, "Where", build(c, "Less", u, zero), build(c, "Neg", u), u);
    struct value *turns = build(c, "Floor", build(c, "Div", u, build_like(c, u, span)));
    struct value *rest = build(c, "Sub", u, times(c, turns, span));
    struct value *odd = build(c, "Sub", turns, times(c, build(c, "Floor", times(c, turns, 0.5)), 2));
    struct value *back = build(c, "Sub", build_like(c, u, span), rest);
    return plus(c, build(c, "Where", build_less(c, 0, odd), back, rest), low);
}

/* One number for each tap of axis d. */
static struct value *build_per_tap(struct expand_ctx *c, const struct sampling *s, int d, enum dtype dtype,
                                   const double *number)
{
    struct shape shape = SHAPE_SCALAR;
    for (int i = 0; i < s->axes + 2; i++)
        shape_add(&shape, size_constant(i == d + 1 ? s->taps : 1));
    struct tensor *t = tensor_new(c->b->graph->arena, dtype, &shape);
    for (int64_t i = 0; i < s->taps; i++)
        tensor_set_double(t, i, number[i]);
    return build_constant(c->b, t);
}

#define A (-0.75)
/* Coefficients of 1, t, t^2, t^3, for each tap. */
static const double linear_weights[][MOST_TAPS] = {{1, 0}, {-1, 1}};
static const double cubic_weights[][MOST_TAPS] = {
    {0, 1, 0, 0}, {A, 0, -A, 0}, {-2 * A, -(A + 3), 2 * A + 3, A}, {A, A + 2, -(A + 2), -A}};

static struct value *build_weights(struct expand_ctx *c, const struct sampling *s, int d, struct value *t)
{
    const double(*number)[MOST_TAPS] = s->mode == LINEAR ? linear_weights : cubic_weights;
    struct value *sum = NULL;
    for (int i = s->taps - 1; i >= 0; i--) {
        struct value *of_taps = build_per_tap(c, s, d, t->dtype, number[i]);
        sum = sum == NULL ? of_taps : build(c, "Add", build(c, "Mul", sum, t), of_taps);
    }
    return sum;
}

static struct value *build_is_inside(struct expand_ctx *c, struct value *place, int64_t size)
{
    return build(c, "And", build(c, "GreaterOrEqual", place, build_like(c, place, 0)),
                 build(c, "LessOrEqual", place, build_like(c, place, (double)(size - 1))));
}

static struct grid_axis build_axis(struct expand_ctx *c, const struct sampling *s, int d, enum dtype computed)
{
    static const double from_floor[] = {0, 1}, around[] = {-1, 0, 1, 2};
    const int64_t size = s->size[d];
    struct value *v = build_place(c, s, d);
    struct grid_axis a = {0};
    if (s->mode == NEAREST) {
        a.place = build(c, "Round", v);
    } else {
        if (s->mode == LINEAR && s->padding == REFLECTION)
            v = build_mirrored(c, s, v, size);
        if (s->mode == LINEAR && s->padding != ZEROS)
            v = build_clipped(c, v, size);
        struct value *floor = build(c, "Floor", v);
        a.place = build(c, "Add", floor, build_per_tap(c, s, d, v->dtype, s->mode == LINEAR ? from_floor : around));
        a.weight = build_weights(c, s, d, build_cast(c->b, build(c, "Sub", v, floor), computed));
    }
    if (s->mode != LINEAR && s->padding == REFLECTION)
        a.place = build_mirrored(c, s, a.place, size);
    if (s->padding == ZEROS && a.weight)
        a.weight = build(c, "Where", build_is_inside(c, a.place, size), a.weight, build_like(c, a.weight, 0));
    return a;
}

/* X at the places: [N, C, taps of all axes, out]. */
static struct value *build_elements(struct expand_ctx *c, const struct sampling *s, struct value *x,
                                    struct value *const *places, int64_t taps)
{
    const struct size images = shape_size(&x->shape, 0), channels = shape_size(&x->shape, 1),
                      each = size_constant(taps), out = places_of(expand_in(c, 1));
    const struct shape planar = SHAPE_OF(images, channels, shape_size_range(&x->shape, 2, x->shape.rank));
    struct value *planes = build_reshape(c->b, x, &planar);
    struct value *index = build_value(c->b, "stepc.PlaceIndex", ATTRS(attr_ints("shape", s->size, (size_t)s->axes)),
                                      places, (size_t)s->axes);
    struct value *elements =
        build(c, "stepc.TakePlaces", planes, build_reshape(c->b, index, &SHAPE_OF(images, size_product(each, out))));
    return build_reshape(c->b, elements, &SHAPE_OF(images, channels, each, out));
}

static bool grid_sample_expand(struct expand_ctx *c)
{
    const struct sampling s = sampling_of(c->node);
    struct value *x = expand_in(c, 0), *places[MOST_AXES], *weight = NULL, *inside = NULL;
    const enum dtype d = x->dtype, computed = s.mode == NEAREST   ? d
                                              : dtype_is_float(d) ? dtype_computed(d)
                                                                  : DTYPE_DOUBLE;
    const struct shape *y = &node_output(c->node, 0)->shape;
    int64_t taps = 1;
    for (int i = 0; i < s.axes; i++) {
        const struct grid_axis a = build_axis(c, &s, i, computed);
        places[i] = a.place;
        taps *= s.taps;
        if (s.mode != NEAREST)
            weight = weight ? build(c, "Mul", weight, a.weight) : a.weight;
        else if (s.padding == ZEROS)
            inside = inside ? build(c, "And", inside, build_is_inside(c, a.place, s.size[i]))
                            : build_is_inside(c, a.place, s.size[i]);
    }
    struct value *e = build_elements(c, &s, build_cast(c->b, x, computed), places, taps);
    const struct shape per_tap =
        SHAPE_OF(shape_size(&x->shape, 0), size_constant(1), size_constant(taps), places_of(expand_in(c, 1)));
    if (weight)
        e = build_reduce_sum(c->b, build(c, "Mul", build_reshape(c->b, weight, &per_tap), e), (int[]){2}, 1, true);
    if (inside) {
        struct tensor *zero = tensor_new(c->b->graph->arena, d, &SHAPE_SCALAR);
        e = build(c, "Where", build_reshape(c->b, inside, &per_tap), e, build_constant(c->b, zero));
    }
    if (e->dtype != d && !dtype_is_float(d) && d != DTYPE_BOOL)
        e = build(c, "Round", e);
    return expand_out(c, 0, build_cast(c->b, build_reshape(c->b, e, y), d));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static double eval_mirror(const struct sampling *s, double v, int64_t size)
{
    const double low = s->aligned ? 0 : -0.5, high = s->aligned ? (double)(size - 1) : (double)size - 0.5;
    if (high <= low)
        return 0;
    const double within = fmod(fabs(v - low), 2 * (high - low));
    return within <= high - low ? low + within : 2 * high - low - within;
}

static double eval_clip(double v, int64_t size)
{
    return v > 0 ? (v < (double)(size - 1) ? v : (double)(size - 1)) : 0;
}

static double eval_keys(double distance)
{
    const double x = fabs(distance);
    if (x <= 1)
        return (A + 2) * x * x * x - (A + 3) * x * x + 1;
    return x < 2 ? A * (x * x * x - 5 * x * x + 8 * x - 4) : 0;
}

/* Elements and weights along one axis; an element of weight 0 is any. */
struct eval_axis {
    int64_t element[MOST_TAPS];
    double weight[MOST_TAPS];
};

static struct eval_axis eval_places(const struct sampling *s, double g, int64_t size)
{
    struct eval_axis a = {{0}, {0}};
    double v = s->aligned ? (g + 1) / 2 * (double)(size - 1) : ((g + 1) * (double)size - 1) / 2;
    if (s->mode == NEAREST)
        v = nearbyint(v);
    else if (s->mode == LINEAR && s->padding != ZEROS)
        v = eval_clip(s->padding == REFLECTION ? eval_mirror(s, v, size) : v, size);
    const double first = floor(v) - (s->mode == CUBIC ? 1 : 0);
    for (int t = 0; t < s->taps; t++) {
        const double place = first + t, distance = v - place;
        const bool inside = place >= 0 && place <= (double)(size - 1);
        a.weight[t] = s->mode == NEAREST ? 1 : s->mode == LINEAR ? 1 - fabs(distance) : eval_keys(distance);
        if (s->padding == ZEROS && !inside)
            a.weight[t] = 0;
        a.element[t] = (int64_t)eval_clip(s->padding == REFLECTION ? eval_mirror(s, place, size) : place, size);
    }
    return a;
}

static double element_of(const struct eval_tensor *x, int64_t k)
{
    return x->f ? x->f[k] : x->dtype == DTYPE_UINT64 ? (double)(uint64_t)x->i[k] : (double)x->i[k];
}

/* Element p of the taps, row-major: its number in a channel, and its weight. */
static int64_t eval_tap(const struct sampling *s, const struct eval_axis *axis, int64_t p, double *weight)
{
    int64_t from = 0, stride = 1;
    *weight = 1;
    for (int d = s->axes - 1; d >= 0; d--) {
        from += axis[d].element[p % s->taps] * stride;
        *weight *= axis[d].weight[p % s->taps];
        stride *= s->size[d];
        p /= s->taps;
    }
    return from;
}

static void eval_point(const struct eval_ctx *c, const struct sampling *s, const struct eval_axis *axis, int64_t x,
                       int64_t y)
{
    const struct eval_tensor *from = eval_input(c, 0);
    struct eval_tensor *to = eval_output(c, 0);
    double sum = 0, weight;
    int64_t taps = 1;
    for (int d = 0; d < s->axes; d++)
        taps *= s->taps;
    for (int64_t p = 0; p < taps; p++) {
        const int64_t k = x + eval_tap(s, axis, p, &weight);
        if (s->mode == NEAREST && weight != 0)
            move_element(to, y, from, k);
        else if (s->mode != NEAREST && weight != 0)
            sum += weight * element_of(from, k);
    }
    if (s->mode == NEAREST)
        return;
    if (to->f)
        to->f[y] = sum;
    else
        to->i[y] = dtype_from_double(to->dtype, to->dtype == DTYPE_BOOL ? sum : nearbyint(sum));
}

static bool grid_sample_eval(struct eval_ctx *c)
{
    const struct sampling s = sampling_of(c->node);
    const double *grid = eval_f(c, 1);
    for (int64_t q = 0; eval_wants(c, 0) && q < s.images * s.out; q++) {
        struct eval_axis axis[MOST_AXES];
        for (int d = 0; d < s.axes; d++)
            axis[d] = eval_places(&s, grid[q * s.axes + s.axes - 1 - d], s.size[d]);
        for (int64_t k = q / s.out * s.channels; k < (q / s.out + 1) * s.channels; k++)
            eval_point(c, &s, axis, k * s.in, k * s.out + q % s.out);
    }
    return true;
}

/* ---- PlaceIndex(place..): the row-major number of the element at these places in a tensor of `shape` ------------- */

/* Each is brought into [0, dim - 1] and truncated; NaN is 0. So the number is always one of an element. */
static const struct op_attr place_attrs[] = {{.name = "shape", .type = ATTR_INTS, .required = true}, {0}};
static const struct op_version place_versions[] = {{.since = 1}, {0}};
static const struct op_param place_inputs[] = {
    {.name = "place", .type = 'T', .dtypes = DTYPES_FLOAT_DOUBLE, .flags = PARAM_VARIADIC | PARAM_NOT_DIFF}, {0}};
static const struct op_param place_outputs[] = {
    {.name = "index", .dtypes = DTYPES_INDEX, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static const int64_t *place_dims(const struct node *n, size_t *count)
{
    const int64_t *dims;
    op_attr_ints(n, "shape", &dims, count);
    return dims;
}

static bool place_infer(struct infer_ctx *c)
{
    size_t count;
    const int64_t *dims = place_dims(c->node, &count);
    struct shape whole = {.rank = (int)count}, y = *infer_shape(c, 0);
    int64_t elements;
    if (count > SHAPE_MAX_RANK || (int)count != infer_input_count(c))
        return infer_error(c, "attribute 'shape' has %zu numbers for %d places", count, infer_input_count(c));
    for (size_t d = 0; d < count; d++) {
        shape_set(&whole, (int)d, size_constant(dims[d]));
        if (dims[d] > MOST_IN_FLOAT && infer_in(c, 0)->dtype == DTYPE_FLOAT)
            return infer_error(c, "attribute 'shape' has %lld, more than float can tell apart", (long long)dims[d]);
    }
    if (!shape_count_checked(&whole, &elements) || elements == 0)
        return infer_error(c, "attribute 'shape' has no elements, or too many");
    for (int i = 1; i < infer_input_count(c); i++)
        if (!shape_broadcast(&y, &y, infer_shape(c, i)))
            return infer_error(c, "the shape of input %d '%s' does not broadcast with those before", i,
                               infer_in(c, i)->name);
    return infer_out(c, 0, elements <= INT32_MAX ? DTYPE_INT32 : DTYPE_INT64, &y);
}

static bool place_eval(struct eval_ctx *c)
{
    size_t count;
    const int64_t *dims = place_dims(c->node, &count);
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    int64_t *from = arena_array(c->scratch, int64_t, (size_t)y->count);
    for (size_t d = 0; d < count; d++) {
        eval_broadcast_index(eval_input(c, (int)d), &y->shape, from);
        for (int64_t k = 0; k < y->count; k++)
            y->i[k] = y->i[k] * dims[d] + (int64_t)eval_clip(eval_f(c, (int)d)[from[k]], dims[d]);
    }
    return true;
}

/* NaN is not above 0, and so 0. */
static bool place_plain(struct expand_ctx *c)
{
    size_t count;
    const int64_t *dims = place_dims(c->node, &count);
    const enum dtype type = node_output(c->node, 0)->dtype;
    struct value *number = NULL;
    for (size_t d = 0; d < count; d++) {
        struct value *const v = expand_in(c, (int)d), *const zero = build_like(c, v, 0.0);
        struct value *const last = build_like(c, v, (double)(dims[d] - 1));
        struct value *const below = build(c, "Where", build(c, "Less", v, last), v, last);
        struct value *index = build_cast(c->b, build(c, "Where", build(c, "Less", zero, v), below, zero), type);
        if (number != NULL) {
            number = build(c, "Mul", number, build_like(c, number, (double)dims[d]));
            index = build(c, "Add", number, index);
        }
        number = index;
    }
    return expand_out(c, 0, number);
}

static bool place_lower(struct lower_ctx *c)
{
    size_t count;
    struct arena *a = c->arena;
    const enum dtype type = lower_out_dtype(c, 0);
    const int64_t *dims = place_dims(c->node, &count);
    const struct expr *number = NULL;
    for (size_t d = 0; d < count; d++) {
        const struct expr *v = lower_in(c, (int)d), *zero = expr_float(a, v->dtype, 0),
                          *last = expr_float(a, v->dtype, (double)(dims[d] - 1));
        const struct expr *below = expr_select(a, expr_binary(a, EXPR_LT, v, last), v, last);
        const struct expr *index = expr_cast(a, type, expr_select(a, expr_binary(a, EXPR_LT, zero, v), below, zero));
        number = number ? expr_binary(a, EXPR_ADD, expr_binary(a, EXPR_MUL, number, expr_int(a, type, dims[d])), index)
                        : index;
    }
    return lower_map(c, number);
}

static const struct op_sample place_samples[] = {
    {.text = "g (float[3,1] p, float[4] q) => (int32[3,4] i) { i = stepc.PlaceIndex <shape = [2, 3]> (p, q) }",
     .no_gradient = true},
    {.text = "g (double[5] p) => (int32[5] i) { i = stepc.PlaceIndex <shape = [3]> (p) }", .no_gradient = true},
    {.text = "g (float[5] p) => (int32[5] i) { i = stepc.PlaceIndex <shape = [3, 2]> (p) }",
     .error = "2 numbers for 1 places"},
    {.text = "g (float[5] p) => (int32[5] i) { i = stepc.PlaceIndex <shape = [0]> (p) }", .error = "no elements"},
    {.text = "g (float[5] p) => (int32[5] i) { i = stepc.PlaceIndex <shape = [16777220]> (p) }", .error = "tell apart"},
    {0}};

/* ---- TakePlaces(x, index): y[n, c, r] = x[n, c, index[n, r]] ----------------------------------------------------- */

static const struct op_param take_inputs[] = {{.name = "x", .type = 'T', .dtypes = DTYPES_ALL},
                                              {.name = "index", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                              {0}};
static const struct op_param take_outputs[] = {{.name = "y", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static bool take_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *index = infer_shape(c, 1);
    if (x->rank != 3 || index->rank != 2 || index->dim[0] != x->dim[0])
        return infer_error(c, "inputs do not have the shapes [N,C,elements] and [N,places]");
    return index_infer_known(c, 1, INDEX_ALL, x->dim[2]) &&
           infer_out(c, 0, DTYPE_UNDEFINED, &SHAPE_OF(shape_size(x, 0), shape_size(x, 1), shape_size(index, 1)));
}

static bool take_plain(struct expand_ctx *c)
{
    struct value *index = expand_in(c, 1);
    const struct shape *const s = &index->shape;
    index = build_reshape(c->b, index, &SHAPE_OF(shape_size(s, 0), size_constant(1), shape_size(s, 1)));
    index = build_expand(c->b, index, &node_output(c->node, 0)->shape);
    return expand_out(c, 0, build_with(c, "GatherElements", ATTRS(attr_int("axis", 2)), expand_in(c, 0), index));
}

static int64_t take_selects_from(const struct node *n, int input)
{
    return input == 1 ? n->inputs.data[0]->shape.dim[2] : 0;
}

/* dx = dy added where it came from, in the order of the places. A row of all channels is added at once. */
static bool take_grad(struct grad_ctx *c)
{
    const struct shape *x = &grad_input(c, 0)->shape, *index = &grad_input(c, 1)->shape;
    struct value *rows = build_transpose(c->b, grad_of_output(c, 0), (int[]){0, 2, 1});
    const struct shape column = SHAPE_OF(shape_size(index, 0), shape_size(index, 1), size_constant(1));
    struct value *dx = build_with(c, "stepc.Scatter", ATTRS(attr_int("size", x->dim[2])),
                                  build_reshape(c->b, grad_input(c, 1), &column), rows);
    return grad_accumulate(c, 0, build_transpose(c->b, dx, (int[]){0, 2, 1}));
}

static bool take_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const int64_t channels = x->shape.dim[1], size = x->shape.dim[2], places = eval_input(c, 1)->shape.dim[1];
    for (int64_t k = 0; k < eval_input(c, 1)->count; k++) {
        int64_t from;
        if (!index_read(c, 1, k, size, &from))
            return false;
        for (int64_t i = k / places * channels; eval_wants(c, 0) && i < (k / places + 1) * channels; i++)
            move_element(eval_output(c, 0), i * places + k % places, x, i * size + from);
    }
    return true;
}

static bool take_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0), index = lower_view_of(c, 1), out = lower_out_view(c, 0);
    struct view still = x, over = {.buffer = index.buffer, .offset = index.offset, .shape = out.shape};
    if (out.buffer->count == 0)
        return true;
    lower_kernel(c, NULL);
    index_add_check(c, 1, &index, INDEX_ALL, x.shape.dim[2]);
    still.shape = out.shape;
    still.stride[2] = 0;
    over.stride[0] = index.stride[0];
    over.stride[2] = index.stride[1];
    struct access access = lower_access(&still);
    access.term[access.term_count++] = (struct access_term){
        .index = index_load(c, &over, x.shape.dim[2]), .stride = x.stride[2], .extent = x.shape.dim[2]};
    lower_store(c, lower_part(c, &out.shape), &out, lower_load_at(c, &access));
    return true;
}

static const struct op_sample take_samples[] = {
    {.text = "g (float[2,3,4] x, int64[2,5] i) => (float[2,3,5] y) { y = stepc.TakePlaces(x, i) }", .feed = ",index:4"},
    {.text = "g (double[2,3,4] x, int32[2,1] i) => (double[2,3,1] y) { y = stepc.TakePlaces(x, i) }",
     .feed = ",index:4"},
    {.text = "g (float[2,3,4] x, int64[2,0] i) => (float[2,3,0] y) { y = stepc.TakePlaces(x, i) }"},
    {.text = "g (float[2,3,4] x, int64[3,5] i) => (float[2,3,5] y) { y = stepc.TakePlaces(x, i) }",
     .error = "[N,places]"},
    {.text = "g (float[1,1,4] x) => (float[1,1,1] y) { i = Constant <value = int64[1,1] {4}> () y = "
             "stepc.TakePlaces(x, i) }",
     .error = "is the index 4, expected -4 to 3"},
    {0}};

/* ---- record ------------------------------------------------------------------------------------------------------ */

static const struct op_sample samples[] = {
    {.text = "g (float[2,3,4,5] x, float[2,3,2,2] g) => (float[2,3,3,2] y) { y = GridSample(x, g) }"},
    {.text = "g (double[2,3,4,5] x, double[2,3,2,2] g) => (double[2,3,3,2] y) { y = GridSample <align_corners = 1, "
             "padding_mode = \"border\"> (x, g) }"},
    {.text = "g (double[2,3,4,5] x, double[2,3,2,2] g) => (double[2,3,3,2] y) { y = GridSample <padding_mode = "
             "\"reflection\"> (x, g) }"},
    {.text = "g (double[2,3,4,5] x, double[2,3,2,2] g) => (double[2,3,3,2] y) { y = GridSample <padding_mode = "
             "\"reflection\", align_corners = 1> (x, g) }"},
    {.text = "g (double[2,3,4,5] x, double[2,3,2,2] g) => (double[2,3,3,2] y) { y = GridSample <mode = \"cubic\"> (x, "
             "g) }"},
    {.text = "g (double[1,2,4,5] x, double[1,3,2,2] g) => (double[1,2,3,2] y) { y = GridSample <mode = \"cubic\", "
             "padding_mode = \"border\", align_corners = 1> (x, g) }"},
    {.text = "g (double[1,2,4,5] x, double[1,3,2,2] g) => (double[1,2,3,2] y) { y = GridSample <mode = \"cubic\", "
             "padding_mode = \"reflection\"> (x, g) }"},
    {.text =
         "g (float[2,3,4,5] x, float[2,3,2,2] g) => (float[2,3,3,2] y) { y = GridSample <mode = \"nearest\"> (x, g) }"},
    {.text = "g (float[2,3,4,5] x, float[2,3,2,2] g) => (float[2,3,3,2] y) { y = GridSample <mode = \"nearest\", "
             "padding_mode = \"reflection\"> (x, g) }"},
    {.text = "g (int32[2,3,4,5] x, float[2,3,2,2] g) => (int32[2,3,3,2] y) { y = GridSample <mode = \"nearest\", "
             "padding_mode = \"border\"> (x, g) }",
     .no_gradient = true},
    {.text = "g (double[1,2,3,4,2] x, double[1,2,2,3,3] g) => (double[1,2,2,2,3] y) { y = GridSample(x, g) }"},
    {.text = "g (double[1,1,3,1,2] x, double[1,1,2,2,3] g) => (double[1,1,1,2,2] y) { y = GridSample <padding_mode = "
             "\"reflection\", align_corners = 1> (x, g) }"},
    {.text = "g (float[2,2,7] x, float[2,4,1] g) => (float[2,2,4] y) { y = GridSample <mode = \"linear\"> (x, g) }"},
    {.text = "g (uint8[1,1,3,3] x, double[1,2,2,2] g) => (uint8[1,1,2,2] y) { y = GridSample(x, g) }",
     .no_gradient = true},
    {.text = "g (float16[1,1,3,3] x, float16[1,2,2,2] g) => (float16[1,1,2,2] y) { y = GridSample(x, g) }"},
    {.text = "g (double[1,1,3,3] x, float[1,2,2,2] g) => (double[1,1,2,2] y) { y = GridSample(x, g) }"},
    {.text = "g (float[1,0,3,3] x, float[1,2,2,2] g) => (float[1,0,2,2] y) { y = GridSample(x, g) }"},
    {.text = "g (float[1,2,3,3] x, float[1,0,2,2] g) => (float[1,2,0,2] y) { y = GridSample(x, g) }"},
    {.text =
         "g (float[1,2,4,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { y = GridSample <mode = \"bicubic\"> (x, g) }",
     .opset = 16},
    {.text = "g (float[1,2,4,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { y = GridSample(x, g) }", .opset = 16},
    {.text =
         "g (float[1,2,4,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { y = GridSample <mode = \"bilinear\"> (x, g) }",
     .opset = 16},
    {.text =
         "g (float[1,2,4,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { y = GridSample <mode = \"nearest\"> (x, g) }",
     .opset = 16},
    {.text =
         "g (float[1,2,4,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { y = GridSample <mode = \"linear\"> (x, g) }",
     .opset = 16,
     .error = "'linear'"},
    {.text = "g (float[1,2,4] x, float[1,3,1] g) => (float[1,2,3] y) { y = GridSample(x, g) }",
     .opset = 16,
     .error = "has rank 3, expected 4"},
    {.text = "g (float[1,2,4,5] x, float[1,3,2,3] g) => (float[1,2,3,2] y) { y = GridSample(x, g) }",
     .error = "[1,..,2]"},
    {.text = "g (float[1,2,0,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { y = GridSample(x, g) }",
     .error = "no elements to read"},
    {.text = "g (float[1,2,4,5] x, float[1,3,2,2] g) => (float[1,2,3,2] y) { y = GridSample <padding_mode = \"wrap\"> "
             "(x, g) }",
     .error = "'wrap'"},
    {0}};

static void grid_sample_axes(struct axes_ctx *c)
{
    axes_samples(c);
    axes_pass(c, 1, 0, 0, 0);
}

/* Gradients follow from the expansion. */
const struct op_def op_defs_grid_sample[] = {{.name = "GridSample",
                                              .versions = versions,
                                              .inputs = inputs,
                                              .outputs = outputs,
                                              .attrs = attrs,
                                              .infer = grid_sample_infer,
                                              .axes = grid_sample_axes,
                                              .expand = grid_sample_expand,
                                              .eval = grid_sample_eval,
                                              .samples = samples},
                                             {.domain = DOMAIN_STEPC,
                                              .name = "PlaceIndex",
                                              .versions = place_versions,
                                              .inputs = place_inputs,
                                              .outputs = place_outputs,
                                              .attrs = place_attrs,
                                              .infer = place_infer,
                                              .plain = place_plain,
                                              .grad = grad_none,
                                              .eval = place_eval,
                                              .lower = place_lower,
                                              .is_elementwise = true,
                                              .samples = place_samples},
                                             {.domain = DOMAIN_STEPC,
                                              .name = "TakePlaces",
                                              .versions = place_versions,
                                              .inputs = take_inputs,
                                              .outputs = take_outputs,
                                              .infer = take_infer,
                                              .plain = take_plain,
                                              .grad = take_grad,
                                              .eval = take_eval,
                                              .lower = take_lower,
                                              .samples = take_samples,
                                              .selects_from = take_selects_from},
                                             {0}};
