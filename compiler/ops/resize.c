/* Resize, and Upsample: sampling at other places, along each axis by itself. Result k of an axis lies at x(k):
 *   half_pixel            (k + 1/2) / scale - 1/2
 *   half_pixel_symmetric  the same, centred where the result has not the length that the scale asks for
 *   pytorch_half_pixel    the same, 0 if length <= 1 (R44)
 *   tf_half_pixel_for_nn  (k + 1/2) / scale, in versions 11 and 12
 *   asymmetric            k / scale
 *   align_corners         k (in - 1) / (length - 1), 0 if length = 1
 *   tf_crop_and_resize    start (in - 1) + k (end - start) (in - 1) / (length - 1), the middle if length = 1;
 *                         what lies outside of the input is extrapolation_value
 * length = in * scale, not rounded (R52). The weights of its neighbours, with r in (0, 1] the distance to the left one:
 *   nearest  1 for one of the two      linear  1 - r, r      cubic  Keys' polynomial of four, coefficient a
 * With antialias and a scale below 1 windows are 1 / scale as wide, and weights are divided by their sum. Neighbours
 * outside of the input repeat its border, or with exclude_outside are left out and the weights divided by the sum of
 * those that are left.
 *
 * Numeric contract: places and weights are computed in double and rounded once, to the type of computation: the
 * input's, float for types of 16 bits, double for integers, which are rounded (half to even) and saturate at the end.
 * Then one ResampleAxis for each axis that changes: axes that shrink from the outermost to the innermost, then axes
 * that grow the other way, for integers all from the innermost on. Where weights are 1, elements are only moved.
 * Lengths are float(in) * scale, rounded down, as ONNX's shape inference computes them; from 2^24 on in double.
 * Spec: ONNX Resize-10 (as Upsample; nearest rounds down where it grows, up where it shrinks), -11, -13, -18
 * (antialias, axes, keep_aspect_ratio_policy), -19; Upsample-7, -9, deprecated since 10. */
#include "graph/axes.h"
#include "ops/move_rules.h"
#include "ops/resize_rules.h"

#include <math.h>
#include <string.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define TEXT(label, text) {.name = (label), .type = ATTR_STRING, .string_default = (text)}
#define NUMBER(label) {.name = (label), .type = ATTR_INT, .int_default = 0}
#define FLOAT(label, number) {.name = (label), .type = ATTR_FLOAT, .float_default = (number)}
#define ATTRS_11                                                                                                       \
    TEXT("mode", "nearest"), TEXT("coordinate_transformation_mode", "half_pixel"),                                     \
        TEXT("nearest_mode", "round_prefer_floor"), FLOAT("cubic_coeff_a", -0.75), FLOAT("extrapolation_value", 0.0),  \
        NUMBER("exclude_outside")
static const struct op_attr mode_only[] = {TEXT("mode", "nearest"), {0}};
static const struct op_attr attrs_11[] = {ATTRS_11, {0}};
static const struct op_attr attrs[] = {ATTRS_11,
                                       NUMBER("antialias"),
                                       TEXT("keep_aspect_ratio_policy", "stretch"),
                                       {.name = "axes", .type = ATTR_INTS, .no_default = true},
                                       {0}};
static const struct op_attr upsample_attrs_7[] = {
    TEXT("mode", "nearest"), {.name = "scales", .type = ATTR_FLOATS, .required = true}, {0}};

#define TYPES_10 (DTYPES_ALL & ~DTYPE_BIT(DTYPE_BFLOAT16))
#define ROI_TYPES (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))
#define DATA {.name = "X", .type = 'T', .dtypes = DTYPES_ALL}
#define CONSTANT_INPUT(label, set, optional) {.name = (label), .dtypes = (set), .flags = PARAM_NOT_DIFF | (optional)}
#define SCALES(optional) CONSTANT_INPUT("scales", DTYPE_BIT(DTYPE_FLOAT), optional)
static const struct op_param data_only[] = {DATA, {0}};
static const struct op_param inputs_10[] = {DATA, SCALES(0), {0}};
static const struct op_param inputs[] = {DATA,
                                         CONSTANT_INPUT("roi", ROI_TYPES, PARAM_OPTIONAL),
                                         SCALES(PARAM_OPTIONAL),
                                         CONSTANT_INPUT("sizes", DTYPE_BIT(DTYPE_INT64), PARAM_OPTIONAL),
                                         {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static bool upgrade_10(struct upgrade_ctx *c);
static const struct op_version versions[] = {
    {.since = 10, .dtypes = TYPES_10, .attrs = mode_only, .inputs = inputs_10, .upgrade = upgrade_10},
    {.since = 11, .dtypes = TYPES_10, .attrs = attrs_11},
    {.since = 13, .attrs = attrs_11},
    {.since = 18},
    {.since = 19},
    {0}};

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* Input i has so many numbers, all known; sizes are integers. */
static bool check_list(struct infer_ctx *c, int i, int count)
{
    static const char *const names[] = {[RESIZE_ROI] = "roi", [RESIZE_SCALES] = "scales", [RESIZE_SIZES] = "sizes"};
    const struct tensor *t = infer_known(c, i);
    if (t == NULL)
        return false;
    if (infer_rank(c, i) != 1 || t->count != count)
        return infer_error(c, "input %d '%s' (%s) has %lld elements, expected %d", i, infer_in(c, i)->name, names[i],
                           (long long)t->count, count);
    for (int64_t k = 0; k < count; k++) {
        const double x = tensor_get_double(t, k);
        if (!isfinite(x) || fabs(x) > 1e15 || (i == RESIZE_SCALES && x < 1e-15) || (i == RESIZE_SIZES && x < 0))
            return infer_error(c, "element %lld of input %d '%s' (%s) is %g", (long long)k, i, infer_in(c, i)->name,
                               names[i], x);
    }
    return true;
}

static bool has(const struct infer_ctx *c, int i)
{
    return infer_in(c, i) != NULL && shape_count(infer_shape(c, i)) > 0;
}

static bool check_attributes(struct infer_ctx *c)
{
    const int64_t *axes;
    size_t count;
    bool listed[SHAPE_MAX_RANK] = {false};
    if (!resize_infer_attributes(c))
        return false;
    if (op_attr_int(c->node, "antialias") != 0 && strcmp(op_attr_string(c->node, "mode"), "nearest") == 0)
        return infer_error(c, "attribute 'antialias' is set, but mode 'nearest' has no weights");
    return !op_attr_ints(c->node, "axes", &axes, &count) ||
           move_infer_axes(c, axes, count, infer_rank(c, 0), false, listed);
}

static bool check_inputs(struct infer_ctx *c)
{
    const int64_t *axes;
    size_t count;
    const int expected = op_attr_ints(c->node, "axes", &axes, &count) ? (int)count : infer_rank(c, 0);
    const bool crops = resize_crops(c->node);
    if (has(c, RESIZE_SCALES) && has(c, RESIZE_SIZES))
        return infer_error(c, "inputs 2 (scales) and 3 (sizes) are both given, expected one of them");
    if (expected > 0 && !has(c, RESIZE_SCALES) && !has(c, RESIZE_SIZES))
        return infer_error(c, "neither input 2 (scales) nor input 3 (sizes) is given");
    if (crops && expected > 0 && !has(c, RESIZE_ROI))
        return infer_error(
            c, "input 1 (roi) is omitted, but coordinate_transformation_mode 'tf_crop_and_resize' needs it");
    return (!has(c, RESIZE_SCALES) || check_list(c, RESIZE_SCALES, expected)) &&
           (!has(c, RESIZE_SIZES) || check_list(c, RESIZE_SIZES, expected)) &&
           (!crops || expected == 0 || check_list(c, RESIZE_ROI, 2 * expected));
}

/* Places and weights along an axis become tables, as long as the axis. */
#define TABLE_MOST (1 << 20)

static bool needs_long_table(const struct resize *r, int d)
{
    const struct resize_axis *g = &r->along[d];
    const bool is_kept = g->in == g->out && g->up == g->down && r->place != RESIZE_CROP;
    return !is_kept && (g->in > TABLE_MOST || g->out > TABLE_MOST);
}

/* So many times the input by a whole scale, or a number of its own. */
static struct size out_size(const struct infer_ctx *c, const struct resize_axis *g, struct size in)
{
    const bool multiplies = has(c, RESIZE_SCALES) && g->down == 1 && g->up == floor(g->up) && g->up < INT32_MAX;
    if (g->out == g->in)
        return in;
    return multiplies ? (struct size){g->out, size_product(in, size_constant((int64_t)g->up)).per}
                      : size_constant(g->out);
}

static bool resize_infer(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    if (!check_attributes(c) || !check_inputs(c))
        return false;
    const struct resize r = resize_of(c->node);
    bool makes_none = false;
    for (int d = 0; d < r.rank; d++) {
        if (r.along[d].in == 0 && r.along[d].out != 0)
            return infer_error(c, "dimension %d is 0 and cannot become %lld", d, (long long)r.along[d].out);
        shape_set(&y, d, out_size(c, &r.along[d], shape_size(&y, d)));
        makes_none = makes_none || y.dim[d] == 0;
    }
    for (int d = 0; d < r.rank && !makes_none; d++)
        if (needs_long_table(&r, d))
            return infer_unsupported(c, "dimension %d goes from %lld to %lld elements, at most %d are resized", d,
                                     (long long)r.along[d].in, (long long)r.along[d].out, TABLE_MOST);
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- as windows along one axis ----------------------------------------------------------------------------------- */

/* Result k reads elements [first[k], first[k] + size) with `weight`, size numbers for each k. */
struct resize_table {
    int64_t size;
    int64_t *first;
    double *weight;
    bool plain; /* all windows are one element with weight 1 */
};

/* Neighbours that are the same element (the border) become one; those without weight at either end go. The rest
 * begins at *first. */
static int64_t merge(const struct resize *r, const struct resize_axis *g, int64_t k, double *weight, int64_t *first)
{
    const int64_t size = resize_window(r, g);
    double *merged = weight + size;
    memset(merged, 0, (size_t)size * sizeof *merged);
    *first = 0;
    merged[0] = r->mode == RESIZE_NEAREST ? 1 : 0; /* what is extrapolated reads anything */
    if (resize_is_outside(r, g, k))
        return 1;
    merged[0] = 0;
    const int64_t from = resize_neighbours(r, g, k, weight), base = resize_inside(g, from);
    int64_t begin = size, end = 0;
    for (int64_t t = 0; t < size; t++)
        merged[resize_inside(g, from + t) - base] += weight[t];
    for (int64_t t = 0; t < size; t++) {
        begin = merged[t] != 0 && begin == size ? t : begin;
        end = merged[t] != 0 ? t + 1 : end;
    }
    if (end == 0)
        return 1;
    memmove(merged, merged + begin, (size_t)(end - begin) * sizeof *merged);
    *first = base + begin;
    return end - begin;
}

static struct resize_table table_of(struct arena *a, const struct resize *r, const struct resize_axis *g)
{
    const int64_t room = g->out > 0 ? resize_window(r, g) : 1;
    double *weight = arena_array(a, double, (size_t)(2 * room));
    struct resize_table t = {.size = 1, .first = arena_array(a, int64_t, (size_t)g->out), .plain = true};
    for (int64_t k = 0; k < g->out; k++) {
        const int64_t count = merge(r, g, k, weight, &t.first[k]);
        t.size = count > t.size ? count : t.size;
        t.plain &= count == 1 && weight[room] == 1;
    }
    t.weight = arena_array(a, double, (size_t)(g->out * t.size));
    for (int64_t k = 0; k < g->out; k++) {
        const int64_t count = merge(r, g, k, weight, &t.first[k]), most = g->in - t.size;
        const int64_t moved = t.first[k] > most ? t.first[k] - most : 0;
        t.first[k] -= moved;
        for (int64_t i = 0; i < count; i++)
            t.weight[k * t.size + moved + i] = weight[room + i];
    }
    return t;
}

/* Is result k element k / factor, for a whole factor? 0: no. */
static int64_t repeats(const struct resize_table *t, const struct resize_axis *g)
{
    const int64_t factor = g->in > 0 && t->plain && g->out % g->in == 0 ? g->out / g->in : 0;
    for (int64_t k = 0; k < g->out && factor > 0; k++)
        if (t->first[k] != k / factor)
            return 0;
    return factor;
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

static struct value *build_window(struct expand_ctx *c, struct value *x, int axis, const struct resize_axis *g,
                                  const struct resize_table *t)
{
    struct arena *a = c->b->graph->arena;
    struct tensor *start = tensor_new(a, g->in <= INT16_MAX ? DTYPE_INT16 : DTYPE_INT64, &SHAPE(g->out));
    struct tensor *weight = t->plain ? NULL : tensor_new(a, x->dtype, &SHAPE(g->out, t->size));
    for (int64_t k = 0; k < g->out; k++)
        tensor_set_int(start, k, t->first[k]);
    for (int64_t k = 0; weight && k < weight->count; k++)
        tensor_set_double(weight, k, t->weight[k]);
    return build_with(c, "stepc.ResampleAxis", ATTRS(attr_int("axis", axis)), x, build_constant(c->b, start),
                      weight ? build_constant(c->b, weight) : NULL);
}

/* Every second element, or all in reverse order: a view. */
static struct value *build_slice(struct expand_ctx *c, struct value *x, int axis, int64_t first, int64_t step,
                                 int64_t count)
{
    const int64_t last = first + (count - 1) * step, end = step > 0 ? last + 1 : last - 1;
    struct value *to = build_ints(c->b, (int64_t[]){end < 0 ? INT64_MIN : end}, 1);
    return build(c, "Slice", x, build_ints(c->b, &first, 1), to, build_ints(c->b, (int64_t[]){axis}, 1),
                 build_ints(c->b, &step, 1));
}

static struct value *build_axis(struct expand_ctx *c, struct value *x, int axis, const struct resize_axis *g,
                                const struct resize_table *t)
{
    if (!t->plain || g->out == 0)
        return build_window(c, x, axis, g, t);
    const int64_t step = g->out > 1 ? t->first[1] - t->first[0] : 1;
    for (int64_t k = 1; k < g->out; k++)
        if (step == 0 || t->first[k] - t->first[k - 1] != step)
            return build_window(c, x, axis, g, t);
    return build_slice(c, x, axis, t->first[0], step, g->out);
}

/* Each element `factor` times, along all axes at once: [a,b] -> [a,1,b,1] -> [a,2,b,2] -> [2a,2b]. */
static struct value *build_repeated(struct expand_ctx *c, struct value *x, const int64_t *factor)
{
    struct shape apart = SHAPE_SCALAR, repeated = SHAPE_SCALAR, y = x->shape;
    for (int d = 0; d < x->shape.rank; d++) {
        shape_take(&apart, &x->shape, d);
        shape_take(&repeated, &x->shape, d);
        shape_set(&y, d, size_product(shape_size(&y, d), size_constant(factor[d])));
        if (factor[d] == 1)
            continue;
        shape_add(&apart, size_constant(1));
        shape_add(&repeated, size_constant(factor[d]));
    }
    return build_reshape(c->b, build_expand(c->b, build_reshape(c->b, x, &apart), &repeated), &y);
}

/* Results outside of the input are extrapolation_value. */
static struct value *build_outside(struct expand_ctx *c, const struct resize *r, struct value *y)
{
    const double given = op_attr_float(c->node, "extrapolation_value");
    const bool rounds = !dtype_is_float(y->dtype) && y->dtype != DTYPE_BOOL;
    if (r->place != RESIZE_CROP)
        return y;
    for (int d = 0; d < r->rank; d++) {
        const struct resize_axis *g = &r->along[d];
        struct shape shape = SHAPE_SCALAR;
        bool any = false;
        for (int i = 0; i < r->rank - d; i++)
            shape_add(&shape, size_constant(i == 0 ? g->out : 1));
        struct tensor *is_out = tensor_new(c->b->graph->arena, DTYPE_BOOL, &shape);
        for (int64_t k = 0; k < g->out; k++) {
            tensor_set_int(is_out, k, resize_is_outside(r, g, k));
            any |= resize_is_outside(r, g, k);
        }
        if (any)
            y = build(c, "Where", build_constant(c->b, is_out), build_like(c, y, rounds ? nearbyint(given) : given), y);
    }
    return y;
}

static enum dtype computed_in(const struct resize *r, enum dtype d)
{
    if (r->mode == RESIZE_NEAREST)
        return d;
    return dtype_is_float(d) ? dtype_computed(d) : DTYPE_DOUBLE;
}

/* Axes that shrink come first, from the outermost on, so that those behind them have less to do; axes that grow
 * come last, from the innermost on, so that the largest pass, which is the last, walks memory in its order. */
static int in_order(const struct resize *r, bool integers, int *order)
{
    int count = 0;
    for (int d = 0; d < r->rank && !integers; d++)
        if (r->along[d].out < r->along[d].in)
            order[count++] = d;
    for (int d = r->rank - 1; d >= 0; d--)
        if (integers || r->along[d].out >= r->along[d].in)
            order[count++] = d;
    return count;
}

static bool resize_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    const struct resize r = resize_of(c->node);
    const enum dtype d = x->dtype;
    int order[SHAPE_MAX_RANK], rank = r.rank;
    int64_t factor[SHAPE_MAX_RANK];
    struct arena scratch = {0};
    struct value *y = build_cast(c->b, x, computed_in(&r, d));
    const int count = in_order(&r, !dtype_is_float(d), order);
    for (int i = 0; i < r.rank; i++)
        factor[i] = 1;
    for (int i = 0; i < count; i++) {
        const struct resize_axis *g = &r.along[order[i]];
        if (g->out > TABLE_MOST) /* and stays as it is */
            continue;
        const struct resize_table t = table_of(&scratch, &r, g);
        const int64_t times = repeats(&t, g);
        if (times == 1 || (times > 1 && rank < SHAPE_MAX_RANK)) {
            rank += times > 1;
            factor[order[i]] = times;
        } else {
            y = build_axis(c, y, order[i], g, &t);
        }
    }
    arena_free(&scratch);
    y = build_outside(c, &r, build_repeated(c, y, factor));
    if (y->dtype != d && !dtype_is_float(d) && d != DTYPE_BOOL)
        y = build(c, "Round", y);
    return expand_out(c, 0, build_cast(c->b, y, d));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Of one result: for each axis its neighbours and their weights. */
struct point {
    const struct resize *r;
    const struct eval_tensor *x;
    int64_t stride[SHAPE_MAX_RANK], first[SHAPE_MAX_RANK], size[SHAPE_MAX_RANK];
    double *weight[SHAPE_MAX_RANK];
};

/* The weighted sum over axes from d on, in x from element `from` on. */
static double weigh(const struct point *p, int d, int64_t from)
{
    if (d == p->r->rank)
        return p->x->f                       ? p->x->f[from]
               : p->x->dtype == DTYPE_UINT64 ? (double)(uint64_t)p->x->i[from]
                                             : (double)p->x->i[from];
    double sum = 0;
    for (int64_t t = 0; t < p->size[d]; t++)
        if (p->weight[d][t] != 0)
            sum += p->weight[d][t] *
                   weigh(p, d + 1, from + resize_inside(&p->r->along[d], p->first[d] + t) * p->stride[d]);
    return sum;
}

/* The element that mode nearest takes. */
static int64_t nearest(const struct point *p)
{
    int64_t from = 0;
    for (int d = 0; d < p->r->rank; d++)
        for (int64_t t = 0; t < p->size[d]; t++)
            if (p->weight[d][t] != 0)
                from += resize_inside(&p->r->along[d], p->first[d] + t) * p->stride[d];
    return from;
}

static void set(const struct eval_ctx *c, int64_t k, double v)
{
    struct eval_tensor *y = eval_output(c, 0);
    if (y->f)
        y->f[k] = v;
    else
        y->i[k] = dtype_from_double(y->dtype, y->dtype == DTYPE_BOOL ? v : nearbyint(v));
}

static bool resize_eval(struct eval_ctx *c)
{
    const struct resize plan = resize_of(c->node), *r = &plan;
    struct eval_tensor *y = eval_output(c, 0);
    struct point p = {.r = r, .x = eval_input(c, 0)};
    int64_t index[SHAPE_MAX_RANK] = {0};
    if (y == NULL || y->count == 0)
        return true;
    shape_strides(&p.x->shape, p.stride);
    for (int d = 0; d < r->rank; d++) {
        p.size[d] = resize_window(r, &r->along[d]);
        p.weight[d] = arena_array(c->scratch, double, (size_t)p.size[d]);
    }
    for (int64_t k = 0; k < y->count; k++, shape_next(&y->shape, index)) {
        bool outside = false;
        for (int d = 0; d < r->rank && !outside; d++) {
            outside = resize_is_outside(r, &r->along[d], index[d]);
            if (!outside)
                p.first[d] = resize_neighbours(r, &r->along[d], index[d], p.weight[d]);
        }
        if (outside)
            set(c, k, op_attr_float(c->node, "extrapolation_value"));
        else if (r->mode == RESIZE_NEAREST)
            move_element(y, k, p.x, nearest(&p));
        else
            set(c, k, weigh(&p, 0, 0));
    }
    return true;
}

/* ---- older forms ------------------------------------------------------------------------------------------------- */

static struct value *build_scales(struct builder *b, const double *scale, size_t count)
{
    struct tensor *t = tensor_new(b->graph->arena, DTYPE_FLOAT, &SHAPE((int64_t)count));
    for (size_t i = 0; i < count; i++)
        tensor_set_double(t, (int64_t)i, scale[i]);
    return build_constant(b, t);
}

/* Version 10 is asymmetric. Mode nearest rounds down along axes that grow and up along axes that shrink: where
 * there are both, one node for each. */
static bool upgrade_10(struct upgrade_ctx *c)
{
    struct node *n = c->node;
    struct value *x = node_input(n, 0), *scales = node_input(n, 1);
    const struct attr *mode = node_attr(n, "mode");
    const bool is_nearest = mode == NULL || strcmp(mode->s, "nearest") == 0;
    if (x == NULL || scales == NULL)
        return true; /* the count is reported by inference */
    const struct tensor *known = is_nearest ? value_known(scales) : NULL;
    if (is_nearest && known == NULL)
        return upgrade_error(c, "input 1 '%s' (scales) must be known at compile time", scales->name);
    double up[SHAPE_MAX_RANK], down[SHAPE_MAX_RANK];
    const size_t count = known && known->count <= SHAPE_MAX_RANK ? (size_t)known->count : 0;
    bool grows = false, shrinks = false;
    for (size_t i = 0; i < count; i++) {
        const double scale = tensor_get_double(known, (int64_t)i);
        up[i] = scale > 1 ? scale : 1;
        down[i] = scale > 1 ? 1 : scale;
        grows |= scale > 1;
        shrinks |= scale < 1;
    }
    if (grows && shrinks) {
        const struct attr *floors =
            ATTRS(attr_string("coordinate_transformation_mode", "asymmetric"), attr_string("nearest_mode", "floor"));
        node_set_input(n, 0, build_with(c, "Resize", floors, x, NULL, build_scales(c->b, up, count)));
        scales = build_scales(c->b, down, count);
    }
    node_add_input(n, scales);
    node_set_input(n, RESIZE_ROI, NULL);
    node_set_attr(n, attr_string("coordinate_transformation_mode", "asymmetric"));
    node_set_attr(n, attr_string("nearest_mode", shrinks ? "ceil" : "floor"));
    return !c->b->failed;
}

static bool upsample_upgrade_7(struct upgrade_ctx *c)
{
    const struct attr *scales = node_attr(c->node, "scales");
    node_add_input(c->node, build_scales(c->b, scales->floats, scales->count));
    node_remove_attr(c->node, "scales");
    return !c->b->failed;
}

/* Upsample is a Resize that is asymmetric and rounds down. */
static bool upsample_upgrade_9(struct upgrade_ctx *c)
{
    struct node *n = c->node;
    struct value *scales = node_input(n, 1);
    const struct tensor *known = scales ? value_known(scales) : NULL;
    const struct attr *mode = node_attr(n, "mode");
    if (mode != NULL && strcmp(mode->s, "nearest") != 0 && strcmp(mode->s, "linear") != 0)
        return upgrade_error(c, "attribute 'mode' is '%s', expected 'nearest' or 'linear'", mode->s);
    for (int64_t k = 0; known != NULL && k < known->count; k++)
        if (!(tensor_get_double(known, k) >= 1))
            return upgrade_error(c, "element %lld of the scales is %g, expected 1 or more", (long long)k,
                                 tensor_get_double(known, k));
    n->def = op_find(DOMAIN_ONNX, "Resize");
    node_add_input(n, scales);
    node_set_input(n, RESIZE_ROI, NULL);
    node_set_attr(n, attr_string("coordinate_transformation_mode", "asymmetric"));
    node_set_attr(n, attr_string("nearest_mode", "floor"));
    return true;
}

static const struct op_version upsample_versions[] = {
    {.since = 7, .dtypes = TYPES_10, .attrs = upsample_attrs_7, .inputs = data_only, .upgrade = upsample_upgrade_7},
    {.since = 9, .dtypes = TYPES_10, .upgrade = upsample_upgrade_9},
    {.since = 10, .dtypes = TYPES_10, .deprecated = true},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

#define SCALE(list) "s = Constant <value_floats = [" list "]> () "
#define SIZE(list) "s = Constant <value_ints = [" list "]> () "
#define REGION(list) "r = Constant <value_floats = [" list "]> () "
static const struct op_sample samples[] = {
    /* nearest: views, elements that are moved, all ways of rounding */
    {.text = "g (float[1,2,3,4] x) => (float[1,2,6,12] y) { " SCALE("1.0, 1.0, 2.0, 3.0") "y = Resize(x, , s) }"},
    {.text = "g (double[1,2,5,4] x) => (double[1,2,3,6] y) { " SIZE("1, 2, 3, 6") "y = Resize(x, , , s) }"},
    {.text = "g (float[2,8] x) => (float[2,4] y) { " SIZE(
         "4") "y = Resize <axes = [1], nearest_mode = \"floor\"> (x, , , s) }"},
    {.text = "g (float[2,5] x) => (float[2,7] y) { " SIZE(
         "7") "y = Resize <axes = [-1], nearest_mode = \"ceil\", "
              "coordinate_transformation_mode = \"asymmetric\"> (x, , , s) }"},
    {.text =
         "g (int8[7] x) => (int8[4] y) { " SCALE("0.6") "y = Resize <nearest_mode = \"round_prefer_ceil\"> (x, , s) }",
     .no_gradient = true},
    {.text = "g (bool[3] x) => (bool[6] y) { " SCALE("2.0") "y = Resize(x, , s) }", .no_gradient = true},
    /* linear and cubic in all ways to find the place */
    {.text = "g (float[1,2,5,7] x) => (float[1,2,10,14] y) { " SCALE(
         "1.0, 1.0, 2.0, 2.0") "y = Resize <mode = \"linear\"> (x, , s) }"},
    {.text = "g (double[2,5,7] x) => (double[2,12,9] y) { " SIZE(
         "12, 9") "y = Resize <mode = \"linear\", axes = [1, 2], "
                  "coordinate_transformation_mode = \"align_corners\"> (x, , , s) }"},
    {.text = "g (double[2,5] x) => (double[2,11] y) { " SCALE(
         "1.0, 2.3") "y = Resize <mode = \"linear\", "
                     "coordinate_transformation_mode = \"half_pixel_symmetric\"> (x, , s) }"},
    {.text = "g (double[6,5] x) => (double[1,3] y) { " SIZE(
         "1, 3") "y = Resize <mode = \"cubic\", "
                 "coordinate_transformation_mode = \"pytorch_half_pixel\"> (x, , , s) }"},
    {.text = "g (double[4,4] x) => (double[8,3] y) { " SCALE(
         "2.0, 0.8") "y = Resize <mode = \"cubic\", cubic_coeff_a = -0.5, "
                     "coordinate_transformation_mode = \"asymmetric\", exclude_outside = 1> (x, , s) }"},
    {.text = "g (float[1,1,4,4] x) => (float[1,1,3,5] y) { " REGION("0.0, 0.0, 0.4, 1.2, 1.0, 1.0, 0.6, 0.1")
         SIZE("1, 1, 3, 5") "y = Resize <mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\", "
                            "extrapolation_value = 10.0> "
                            "(x, r, , s) }"},
    {.text = "g (double[4,4] x) => (double[3,5] y) { " REGION("0.4, 0.3, 1.2, 0.9")
         SIZE("3, 5") "y = Resize <mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\", "
                      "extrapolation_value = 10.0> (x, r, , s) }"},
    {.text = "g (float[4,4] x) => (float[3,5] y) { " REGION("0.4, 0.3, 1.2, 0.9")
         SIZE("3, 5") "y = Resize <coordinate_transformation_mode = \"tf_crop_and_resize\", "
                      "extrapolation_value = -1.5> (x, r, , s) }"},
    {.text = "g (int32[5] x) => (int32[4] y) { " REGION("-0.2, 1.3")
         SIZE("4") "y = Resize <coordinate_transformation_mode = "
                   "\"tf_crop_and_resize\", extrapolation_value = 7.6> (x, r, , s) }",
     .no_gradient = true},
    {.text = "g (float[2,9] x) => (float[2,4] y) { " SIZE(
         "4") "y = Resize <mode = \"linear\", antialias = 1, axes = [1]> (x, , , s) }"},
    {.text =
         "g (double[40,3] x) => (double[3,3] y) { " SCALE("0.08, 1.0") "y = Resize <mode = \"cubic\", antialias = 1, "
                                                                       "exclude_outside = 1> (x, , s) }"},
    {.text = "g (double[2,40] x) => (double[2,3] y) { " SCALE(
         "1.0, 0.08") "y = Resize <mode = \"cubic\", antialias = 1> (x, , s) }"},
    {.text = "g (float[3,4] x) => (float[7,9] y) { " SIZE(
         "7, 8") "y = Resize <mode = \"linear\", "
                 "keep_aspect_ratio_policy = \"not_smaller\"> (x, , , s) }"},
    {.text = "g (float[3,4] x) => (float[6,8] y) { " SIZE(
         "7, 8") "y = Resize <keep_aspect_ratio_policy = \"not_larger\"> (x, , , s) }"},
    {.text = "g (float[7,10] x) => (float[4,5] y) { " SIZE(
         "5, 5") "y = Resize <keep_aspect_ratio_policy = \"not_larger\"> (x, , , s) }"},
    /* other types: integers are rounded */
    {.text = "g (uint8[3,4] x) => (uint8[7,9] y) { " SIZE("7, 9") "y = Resize <mode = \"cubic\"> (x, , , s) }",
     .no_gradient = true},
    {.text = "g (int64[3,4] x) => (int64[2,9] y) { " SIZE("2, 9") "y = Resize <mode = \"linear\"> (x, , , s) }",
     .no_gradient = true},
    {.text = "g (float16[2,4] x) => (float16[4,7] y) { " SIZE("4, 7") "y = Resize <mode = \"linear\"> (x, , , s) }"},
    {.text = "g (bfloat16[2,4] x) => (bfloat16[4,8] y) { " SIZE("4, 8") "y = Resize(x, , , s) }"},
    /* one place for all results: the gradient adds them up one by one */
    {.text = "g (double[2,40] x) => (double[2,40] y) { " REGION("0.513, 0.513")
         SIZE("40") "y = Resize <mode = \"linear\", axes = [1], coordinate_transformation_mode = "
                    "\"tf_crop_and_resize\"> (x, r, , s) }"},
    {.text = "g (float[40,3] x) => (float[40,3] y) { " REGION("0.5, 0.5")
         SIZE("40") "y = Resize <axes = [0], coordinate_transformation_mode = \"tf_crop_and_resize\"> (x, r, , s) }"},
    /* 0.7 in float is less than 7 / 10, but times 10 it is 7 */
    {.text = "g (float[10] x) => (float[7] y) { " SCALE("0.7") "y = Resize <mode = \"linear\"> (x, , s) }"},
    /* nothing to do, nothing there, one element, nothing that is read more than once */
    {.text = "g (float[2,3] x) => (float[2,3] y) { " SCALE("1.0, 1.0") "y = Resize <mode = \"cubic\"> (x, , s) }"},
    {.text = "g (float[0,3] x) => (float[0,1000000000000000] y) { s = Constant <value_ints = [0, 1000000000000000]> () "
             "y = Resize <mode = \"linear\"> (x, , , s) }"},
    {.text = "g (float[0,3] x) => (float[0,6] y) { " SCALE("2.0, 2.0") "y = Resize <mode = \"linear\"> (x, , s) }"},
    {.text = "g (float[2,3] x) => (float[2,0] y) { " SIZE("2, 0") "y = Resize <mode = \"linear\"> (x, , , s) }"},
    {.text = "g (float[1,1] x) => (float[3,2] y) { " SIZE("3, 2") "y = Resize <mode = \"cubic\"> (x, , , s) }"},
    {.text = "g (float x) => (float y) { y = Resize(x) }"},
    /* older versions */
    {.text = "g (float[1,1,4,3] x) => (float[1,1,2,7] y) { " SCALE("1.0, 1.0, 0.6, 2.4") "y = Resize(x, s) }",
     .opset = 10},
    {.text = "g (float[1,1,4,3] x) => (float[1,1,2,7] y) { " SCALE(
         "1.0, 1.0, 0.6, 2.4") "y = Resize <mode = \"linear\"> (x, s) }",
     .opset = 10},
    {.text = "g (float[4] x) => (float[6] y) { " REGION("0.0, 1.0")
         SCALE("1.5") "y = Resize <nearest_mode = \"floor\", "
                      "coordinate_transformation_mode = \"tf_half_pixel_for_nn\"> (x, r, s) }",
     .opset = 11},
    /* windows of 16 positions, which are written out, and of more */
    {.text = "g (float[64] x) => (float[8] y) { " SCALE("0.125")
         "y = Resize <mode = \"linear\", antialias = 1> (x, , s) }"},
    {.text = "g (float[64,3] x) => (float[8,3] y) { " SIZE("8, 3")
         "y = Resize <mode = \"linear\", antialias = 1> (x, , , s) }"},
    {.text = "g (float[72] x) => (float[8] y) { " SIZE("8")
         "y = Resize <mode = \"linear\", antialias = 1> (x, , , s) }"},
    /* what is wrong */
    {.text = "g (float[4] x) => (float[8] y) { " SCALE("2.0") "y = Resize <mode = \"area\"> (x, , s) }",
     .error = "attribute 'mode' is 'area', expected 'nearest', 'linear' or 'cubic'"},
    {.text = "g (float[4] x) => (float[8] y) { " SCALE("2.0") "y = Resize <antialias = 1> (x, , s) }",
     .error = "has no weights"},
    {.text = "g (float[2,3] x) => (float[2000000,3] y) { s = Constant <value_ints = [2000000, 3]> () "
             "y = Resize(x, , , s) }",
     .error = "dimension 0 goes from 2 to 2000000 elements, at most 1048576 are resized"},
    {.text =
         "g (float[4] x) => (float[8] y) { " SCALE("2.0") "t = Constant <value_ints = [8]> () y = Resize(x, , s, t) }",
     .error = "both given"},
    {.text = "g (float[4] x) => (float[8] y) { y = Resize(x) }",
     .error = "neither input 2 (scales) nor input 3 (sizes) is given"},
    {.text = "g (float[4] x) => (float[8] y) { " SCALE("2.0, 2.0") "y = Resize(x, , s) }",
     .error = "has 2 elements, expected 1"},
    {.text = "g (float[4] x) => (float[8] y) { " SCALE("-2.0") "y = Resize(x, , s) }", .error = "(scales) is -2"},
    {.text = "g (float[4] x, float[1] s) => (float[8] y) { y = Resize(x, , s) }", .error = "known"},
    {.text = "g (float[0] x) => (float[8] y) { " SIZE("8") "y = Resize(x, , , s) }", .error = "cannot become 8"},
    {.text = "g (float[4] x) => (float[8] y) { " SIZE(
         "8") "y = Resize <coordinate_transformation_mode = \"tf_crop_and_resize\"> "
              "(x, , , s) }",
     .error = "needs it"},
    {.text = "g (float[4] x) => (float[8] y) { " SIZE("8") "y = Resize <axes = [1]> (x, , , s) }", .error = "axis"},
    {0}};

static const struct op_sample upsample_samples[] = {
    {.text = "g (float[1,1,2,3] x) => (float[1,1,4,9] y) { " SCALE("1.0, 1.0, 2.0, 3.0") "y = Upsample(x, s) }",
     .opset = 9},
    {.text = "g (float[1,1,2,3] x) => (float[1,1,5,6] y) { y = Upsample <mode = \"linear\", scales = [1.0, 1.0, 2.5, "
             "2.0]> (x) }",
     .opset = 7},
    {.text = "g (int32[2] x) => (int32[5] y) { " SCALE("2.5") "y = Upsample(x, s) }", .opset = 9, .no_gradient = true},
    {.text = "g (float[2] x) => (float[5] y) { " SCALE("2.5") "y = Upsample <mode = \"nearest\"> (x, s) }", .opset = 9},
    {.text = "g (float[2] x) => (float[1] y) { " SCALE("0.5") "y = Upsample(x, s) }",
     .opset = 9,
     .error = "is 0.5, expected 1 or more"},
    {.text = "g (float[2] x) => (float[4] y) { " SCALE("2.0") "y = Upsample <mode = \"cubic\"> (x, s) }",
     .opset = 9,
     .error = "'cubic'"},
    {.text = "g (float[2] x) => (float[4] y) { " SCALE("2.0") "y = Upsample(x, s) }",
     .opset = 10,
     .error = "deprecated"},
    {0}};

/* Axes that stay as they are. */
static void resize_labels(struct axes_ctx *c)
{
    const struct resize r = resize_of(c->node);
    for (int d = 0; d < r.rank && !resize_crops(c->node); d++) {
        bool stays = true;
        for (int i = 0; i < r.count; i++)
            stays = stays && (r.axes[i] != d || (r.along[d].in == r.along[d].out && r.along[d].up == r.along[d].down));
        if (stays)
            axes_pass(c, RESIZE_X, d, 0, d);
    }
}

/* Gradients follow from the expansions. */
const struct op_def op_defs_resize[] = {{.name = "Resize",
                                         .versions = versions,
                                         .inputs = inputs,
                                         .outputs = outputs,
                                         .attrs = attrs,
                                         .infer = resize_infer,
                                         .axes = resize_labels,
                                         .expand = resize_expand,
                                         .eval = resize_eval,
                                         .samples = samples},
                                        {.name = "Upsample",
                                         .versions = upsample_versions,
                                         .inputs = inputs_10,
                                         .outputs = outputs,
                                         .attrs = mode_only,
                                         .samples = upsample_samples},
                                        {0}};
