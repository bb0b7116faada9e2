/* RoiAlign: regions of X [N,C,H,W], each cut into bins of which every one becomes a number: the average, or the
 * greatest, of s x s places in it that lie evenly, s = sampling_ratio. Region r is [x1, y1, x2, y2] * spatial_scale in
 * image batch_indices[r], moved by -1/2 in mode half_pixel, and at least 1 wide and high in mode output_half_pixel:
 *   bin = (end - start) / bins        place = start + (p + (i + 1/2) / s) bin
 *   avg  (the sum of weight * X over rows of places, their two neighbours, columns, their two neighbours) / s^2
 *   max  the greatest weight * X of all neighbours of all places
 * Weights are those of linear interpolation; a place beyond -1 or H (W) has none, one beyond the border is the border.
 * The gradient is that of torchvision: of X only. sampling_ratio 0 makes s depend on each region's size: not
 * supported. Types of 16 bits are computed in float.
 * Spec: ONNX RoiAlign-10 (output_half_pixel), -16, -22 (bfloat16). */
#include "ops/index_rules.h"

#include "base/str.h"

#include <math.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define TEXT(label, text) {.name = (label), .type = ATTR_STRING, .string_default = (text)}
#define NUMBER(label, number) {.name = (label), .type = ATTR_INT, .int_default = (number)}
#define ATTRS_10                                                                                                       \
    TEXT("mode", "avg"), NUMBER("output_height", 1), NUMBER("output_width", 1), NUMBER("sampling_ratio", 0),           \
    {                                                                                                                  \
        .name = "spatial_scale", .type = ATTR_FLOAT, .float_default = 1.0                                              \
    }
static const struct op_attr attrs_10[] = {ATTRS_10, {0}};
static const struct op_attr attrs[] = {ATTRS_10, TEXT("coordinate_transformation_mode", "half_pixel"), {0}};
static const struct op_param inputs[] = {
    {.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "rois", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_NOT_DIFF},
    {.name = "batch_indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool upgrade_10(struct upgrade_ctx *c)
{
    node_set_attr(c->node, attr_string("coordinate_transformation_mode", "output_half_pixel"));
    return true;
}

#define FLOATS_10 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))
static const struct op_version versions[] = {
    {.since = 10, .dtypes = FLOATS_10, .attrs = attrs_10, .upgrade = upgrade_10},
    {.since = 16, .dtypes = FLOATS_10},
    {.since = 22},
    {0}};

/* ---- what the node says ------------------------------------------------------------------------------------------ */

struct bins {
    bool greatest, half_pixel;
    int64_t samples, out[2], in[2]; /* out, in: rows, then columns */
    double scale;
};

static struct bins bins_of(const struct node *n)
{
    const struct shape *x = &n->inputs.data[0]->shape;
    return (struct bins){.greatest = str_equal(op_attr_string(n, "mode"), "max"),
                         .half_pixel = str_equal(op_attr_string(n, "coordinate_transformation_mode"), "half_pixel"),
                         .samples = op_attr_int(n, "sampling_ratio"),
                         .out = {op_attr_int(n, "output_height"), op_attr_int(n, "output_width")},
                         .in = {x->dim[2], x->dim[3]},
                         .scale = op_attr_float(n, "spatial_scale")};
}

static bool check_name(struct infer_ctx *c, const char *attr, const char *one, const char *other)
{
    const char *name = op_attr_string(c->node, attr);
    return str_equal(name, one) || str_equal(name, other) ||
           infer_error(c, "attribute '%s' is '%s', expected '%s' or '%s'", attr, name, one, other);
}

#define MOST_SAMPLES 64 /* along one axis of a bin */

static bool check_attributes(struct infer_ctx *c)
{
    const int64_t samples = op_attr_int(c->node, "sampling_ratio");
    if (!check_name(c, "mode", "avg", "max") ||
        !check_name(c, "coordinate_transformation_mode", "half_pixel", "output_half_pixel"))
        return false;
    if (op_attr_int(c->node, "output_height") < 1 || op_attr_int(c->node, "output_width") < 1)
        return infer_error(c, "attributes 'output_height' and 'output_width' are %lld and %lld, expected 1 or more",
                           (long long)op_attr_int(c->node, "output_height"),
                           (long long)op_attr_int(c->node, "output_width"));
    if (samples == 0)
        return infer_unsupported(c, "attribute 'sampling_ratio' is 0: how many places are read would depend on the "
                                    "regions, which is not supported; a number such as 2 fixes it");
    if (samples < 0 || samples > MOST_SAMPLES)
        return infer_error(c, "attribute 'sampling_ratio' is %lld, expected 0 to %d", (long long)samples, MOST_SAMPLES);
    return true;
}

static bool roi_align_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *rois = infer_shape(c, 1), *images = infer_shape(c, 2);
    if (!check_attributes(c))
        return false;
    if (x->rank != 4)
        return infer_error(c, "input 0 '%s' has rank %d, expected 4", infer_in(c, 0)->name, x->rank);
    if (rois->rank != 2 || rois->dim[1] != 4)
        return infer_error(c, "input 1 '%s' does not have the shape [regions,4]", infer_in(c, 1)->name);
    if (images->rank != 1 || images->dim[0] != rois->dim[0])
        return infer_error(c, "input 2 '%s' does not have the shape [%lld]", infer_in(c, 2)->name,
                           (long long)rois->dim[0]);
    if (shape_count(x) == 0 && x->dim[1] > 0 && rois->dim[0] > 0)
        return infer_error(c, "input 0 '%s' has no elements to read", infer_in(c, 0)->name);
    const struct bins b = bins_of(c->node);
    const struct size rows = size_constant(b.out[0]), columns = size_constant(b.out[1]);
    return infer_out(c, 0, DTYPE_UNDEFINED, &SHAPE_OF(shape_size(rois, 0), shape_size(x, 1), rows, columns)) &&
           index_infer_known(c, 2, INDEX_ALL, x->dim[0]);
}

static int64_t roi_align_selects_from(const struct node *n, int input)
{
    return input == 2 ? n->inputs.data[0]->shape.dim[0] : 0;
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

/* Values have the dimensions [row samples, row neighbours, column samples, column neighbours, regions, rows,
 * columns], 1 where they do not change: sums go over the first four. */
enum { DIMS = 7, REGIONS = 4 };

static struct shape along_regions(struct size regions)
{
    struct shape s = SHAPE(1, 1, 1, 1, 1, 1, 1);
    shape_set(&s, REGIONS, regions);
    return s;
}

static struct value *build_border(struct expand_ctx *c, const struct bins *b, struct value *rois, int column)
{
    struct value *x = build_with(c, "Gather", ATTRS(attr_int("axis", 1)), rois, build_int(c->b, column));
    const struct shape regions = along_regions(shape_size(&rois->shape, 0));
    x = build_reshape(c->b, x, &regions);
    x = build(c, "Mul", x, build_like(c, x, b->scale));
    return b->half_pixel ? build(c, "Sub", x, build_like(c, x, 0.5)) : x;
}

/* p + (i + 1/2) / samples, for sample i of bin p along an axis (0: rows). */
static struct value *build_fractions(struct expand_ctx *c, const struct bins *b, int axis, enum dtype dtype)
{
    struct shape bins = along_regions(size_constant(1)), samples = bins;
    shape_set(&bins, REGIONS + 1 + axis, size_constant(b->out[axis]));
    shape_set(&samples, 2 * axis, size_constant(b->samples));
    struct tensor *t = tensor_new(c->b->graph->arena, DTYPE_DOUBLE, &samples);
    for (int64_t i = 0; i < b->samples; i++)
        tensor_set_double(t, i, ((double)i + 0.5) / (double)b->samples);
    struct value *p = build_cast(c->b, build_counter(c->b, DTYPE_INT64, 0, &bins), DTYPE_DOUBLE);
    return build_cast(c->b, build(c, "Add", p, build_constant(c->b, t)), dtype);
}

/* One number for either neighbour. */
static struct value *build_two(struct expand_ctx *c, int axis, enum dtype dtype, double first, double second)
{
    struct shape shape = along_regions(size_constant(1));
    shape_set(&shape, 2 * axis + 1, size_constant(2));
    struct tensor *t = tensor_new(c->b->graph->arena, dtype, &shape);
    tensor_set_double(t, 0, first);
    tensor_set_double(t, 1, second);
    return build_constant(c->b, t);
}

struct roi_axis {
    struct value *place, *weight;
};

/* Neighbours of all places along an axis, and their weights. */
static struct roi_axis build_axis(struct expand_ctx *c, const struct bins *b, int axis, struct value *rois)
{
    const enum dtype d = rois->dtype;
    struct value *start = build_border(c, b, rois, 1 - axis), *end = build_border(c, b, rois, 3 - axis);
    struct value *zero = build_like(c, start, 0), *last = build_like(c, start, (double)(b->in[axis] - 1));
    struct value *size = build(c, "Sub", end, start);
    if (!b->half_pixel)
        size = build(c, "Max", size, build_like(c, size, 1));
    struct value *bin = build(c, "Div", size, build_like(c, size, (double)b->out[axis]));
    struct value *v = build(c, "Add", start, build(c, "Mul", build_fractions(c, b, axis, d), bin));
    struct value *inside = build(c, "And", build(c, "GreaterOrEqual", v, build_like(c, v, -1)),
                                 build(c, "LessOrEqual", v, build_like(c, v, (double)b->in[axis])));
    v = build(c, "Where", build(c, "Less", zero, v), build(c, "Where", build(c, "Less", v, last), v, last), zero);
    struct value *left = build(c, "Floor", v), *right = build(c, "Sub", v, left);
    struct value *weight =
        build(c, "Add", build_two(c, axis, d, 1, 0), build(c, "Mul", build_two(c, axis, d, -1, 1), right));
    return (struct roi_axis){.place = build(c, "Add", left, build_two(c, axis, d, 0, 1)),
                             .weight = build(c, "Where", inside, weight, zero)};
}

/* All elements that are read: [C, per bin, regions * rows * columns]. */
static struct value *build_elements(struct expand_ctx *c, const struct bins *b, struct value *x,
                                    const struct roi_axis *axes, const struct shape *read)
{
    const int64_t plane = b->in[0] * b->in[1], images = x->shape.dim[0];
    struct value *number =
        build_with(c, "stepc.PlaceIndex", ATTRS(attr_ints("shape", b->in, 2)), axes[0].place, axes[1].place);
    /* An image that is none stays none: no number of an element may wrap round to that of another. */
    struct value *image = build(c, "Clip", expand_in(c, 2), build_int(c->b, -images - 1), build_int(c->b, images));
    const struct shape regions = along_regions(shape_size(&image->shape, 0));
    image = build(c, "Mul", build_reshape(c->b, image, &regions), build_like(c, image, (double)plane));
    number = build(c, "Add", build_cast(c->b, number, DTYPE_INT64), image);
    struct value *planes = build_transpose(c->b, x, (int[]){1, 0, 2, 3});
    const struct size all = size_product(shape_size(&x->shape, 0), size_constant(plane));
    planes = build_reshape(c->b, planes, &SHAPE_OF(shape_size(&x->shape, 1), all));
    return build_with(c, "Gather", ATTRS(attr_int("axis", 1)), planes,
                      build_reshape(c->b, number, read));
}

static bool roi_align_expand(struct expand_ctx *c)
{
    const struct bins b = bins_of(c->node);
    struct value *x = expand_in(c, 0), *rois = expand_in(c, 1);
    const struct shape *y = &node_output(c->node, 0)->shape;
    const enum dtype d = x->dtype;
    x = build_cast(c->b, x, dtype_computed(d));
    rois = build_cast(c->b, rois, dtype_computed(d));
    const struct roi_axis axes[] = {build_axis(c, &b, 0, rois), build_axis(c, &b, 1, rois)};
    const struct size bins = size_product(shape_size(y, 0), shape_size_range(y, 2, 4));
    const struct shape read = SHAPE_OF(size_constant(4 * b.samples * b.samples), bins);
    struct value *weight = build_reshape(c->b, build(c, "Mul", axes[0].weight, axes[1].weight), &read);
    struct value *e = build(c, "Mul", weight, build_elements(c, &b, x, axes, &read));
    if (b.greatest) {
        e = build_with(c, "ReduceMax", ATTRS(attr_int("keepdims", 0)), e, build_ints(c->b, (int64_t[]){1}, 1));
    } else {
        e = build_reduce_sum(c->b, e, (int[]){1}, 1, false);
        e = build(c, "Div", e, build_like(c, e, (double)(b.samples * b.samples)));
    }
    e = build_reshape(c->b, e, &SHAPE_OF(shape_size(y, 1), shape_size(y, 0), shape_size(y, 2), shape_size(y, 3)));
    return expand_out(c, 0, build_cast(c->b, build_transpose(c->b, e, (int[]){1, 0, 2, 3}), d));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Both neighbours of a place and their weights. */
struct neighbours {
    int64_t element[2];
    double weight[2];
};

static struct neighbours pair_of(double v, int64_t size)
{
    const double last = (double)(size - 1);
    if (!(v >= -1 && v <= (double)size))
        return (struct neighbours){{0, 0}, {0, 0}};
    v = v < 0 ? 0 : v > last ? last : v;
    const int64_t left = (int64_t)v;
    return (struct neighbours){{left, left < size - 1 ? left + 1 : left}, {1 - (v - (double)left), v - (double)left}};
}

/* Sample i of bin p of a region that begins and ends there, along one axis. */
static double sample_at(const struct bins *b, double start, double end, int64_t out, int64_t p, int64_t i)
{
    const double offset = b->half_pixel ? 0.5 : 0, size = (end - start) * b->scale;
    const double bin = (b->half_pixel || size > 1 ? size : 1) / (double)out;
    return start * b->scale - offset + ((double)p + ((double)i + 0.5) / (double)b->samples) * bin;
}

static double bin_of(const struct bins *b, const double *x, const double *roi, int64_t row, int64_t column)
{
    double sum = 0, most = -INFINITY;
    for (int64_t i = 0; i < b->samples * b->samples; i++) {
        const struct neighbours v = pair_of(sample_at(b, roi[1], roi[3], b->out[0], row, i / b->samples), b->in[0]);
        const struct neighbours h = pair_of(sample_at(b, roi[0], roi[2], b->out[1], column, i % b->samples), b->in[1]);
        for (int k = 0; k < 4; k++) {
            const double term = v.weight[k / 2] * h.weight[k % 2] * x[v.element[k / 2] * b->in[1] + h.element[k % 2]];
            sum += term;
            most = term > most || isnan(term) ? term : most;
        }
    }
    return b->greatest ? most : sum / (double)(b->samples * b->samples);
}

static bool roi_align_eval(struct eval_ctx *c)
{
    const struct bins b = bins_of(c->node);
    const struct shape *x = &eval_input(c, 0)->shape;
    const int64_t images = x->dim[0], channels = x->dim[1], bins = b.out[0] * b.out[1];
    double *y = eval_out_f(c, 0);
    for (int64_t r = 0; r < eval_input(c, 2)->count; r++) {
        int64_t image;
        if (!index_read(c, 2, r, images, &image))
            return false;
        for (int64_t k = 0; k < channels * bins; k++)
            y[r * channels * bins + k] = bin_of(&b, &eval_f(c, 0)[(image * channels + k / bins) * b.in[0] * b.in[1]],
                                                &eval_f(c, 1)[4 * r], k % bins / b.out[1], k % b.out[1]);
    }
    return true;
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

#define REGION(type, list) "r = Constant <value = " type "[2,4] {" list "}> () "
static const struct op_sample samples[] = {
    {.text = "g (float[2,3,6,7] x, int64[2] i) => (float[2,3,2,3] y) { " REGION(
         "float", "0.5, 1, 4.5, 5.5, -3, 0, 9, 2.2") "y = RoiAlign <output_height = 2, output_width = 3, "
                                                     "sampling_ratio = 2> (x, r, i) }",
     .feed = ",index:2"},
    /* places beside the first and the last element, and further away */
    {.text = "g (double[1,2,4,5] x) => (double[2,2,2,2] y) { " REGION(
         "double", "-1, -1, 0, 0, -1.5, -2, 6.5, 5") "i = Constant <value_ints = [0, 0]> () "
             "y = RoiAlign <output_height = 2, output_width = 2, sampling_ratio = 2> (x, r, i) }"},
    {.text = "g (float[1,2,4,5] x) => (float[2,2,3,2] y) { " REGION(
         "float", "-1, -1, 0, 0, 3.5, 2.5, 5.5, 4.5") "i = Constant <value_ints = [0, 0]> () "
             "y = RoiAlign <output_height = 3, output_width = 2, sampling_ratio = 1, mode = \"max\", "
             "coordinate_transformation_mode = \"output_half_pixel\"> (x, r, i) }"},
    {.text = "g (double[1,2,6,7] x) => (double[2,2,2,2] y) { " REGION(
         "double", "1, 2, 12, 9, 3, 3, 3.5, 3.5") "i = Constant <value_ints = [0, 0]> () y = RoiAlign <output_height = "
                                                  "2, output_width = 2, sampling_ratio = 3, "
                                                  "spatial_scale = 0.5, coordinate_transformation_mode = "
                                                  "\"output_half_pixel\"> (x, r, i) }"},
    {.text = "g (double[2,2,6,7] x) => (double[2,2,2,2] y) { " REGION(
         "double", "1, 2, 6, 5, 0, 1, 3.5, 3.5") "i = Constant <value_ints = [1, 0]> () y = RoiAlign <output_height = "
                                                 "2, output_width = 2, sampling_ratio = 1, "
                                                 "mode = \"max\"> (x, r, i) }"},
    {.text = "g (float16[1,2,6,7] x, float16[1,4] r) => (float16[1,2,1,1] y) { i = Constant <value_ints = [0]> () "
             "y = RoiAlign <sampling_ratio = 2> (x, r, i) }"},
    {.text = "g (float[1,2,6,7] x, float[1,4] r) => (float[1,2,1,1] y) { i = Constant <value_ints = [0]> () "
             "y = RoiAlign <sampling_ratio = 2> (x, r, i) }",
     .opset = 10},
    {.text = "g (float[1,2,6,7] x, float[0,4] r, int64[0] i) => (float[0,2,1,1] y) { y = RoiAlign <sampling_ratio = 2> "
             "(x, r, i) }"},
    {.text = "g (float[1,2,6,7] x, float[1,4] r, int64[1] i) => (float[1,2,1,1] y) { y = RoiAlign(x, r, i) }",
     .error = "'sampling_ratio' is 0"},
    {.text = "g (float[1,2,6,7] x, float[1,5] r, int64[1] i) => (float[1,2,1,1] y) { y = RoiAlign <sampling_ratio = 2> "
             "(x, r, i) }",
     .error = "[regions,4]"},
    {.text = "g (float[1,2,6,7] x, float[1,4] r, int64[2] i) => (float[1,2,1,1] y) { y = RoiAlign <sampling_ratio = 2> "
             "(x, r, i) }",
     .error = "does not have the shape [1]"},
    {.text = "g (float[2,6,7] x, float[1,4] r, int64[1] i) => (float[1,2,1,1] y) { y = RoiAlign <sampling_ratio = 2> "
             "(x, r, i) }",
     .error = "has rank 3, expected 4"},
    {.text = "g (float[1,2,6,7] x, float[1,4] r, int64[1] i) => (float[1,2,1,1] y) { "
             "y = RoiAlign <sampling_ratio = 2, mode = \"min\"> (x, r, i) }",
     .error = "expected 'avg' or 'max'"},
    {.text = "g (float[2,1,6,7] x, float[1,4] r) => (float[1,1,1,1] y) { i = Constant <value_ints = [2]> () "
             "y = RoiAlign <sampling_ratio = 2> (x, r, i) }",
     .error = "is the index 2, expected -2 to 1"},
    {.text = "g (float[2,1,6,7] x) => (float[2,1,1,1] y) { " REGION("float", "1, 2, 6, 5, 0, 1, 3.5, 3.5")
             "i = Constant <value_ints = [-2, -1]> () y = RoiAlign <sampling_ratio = 2> (x, r, i) }"},
    {0}};

/* The gradient follows from the expansion. */
const struct op_def op_defs_roi_align[] = {{.name = "RoiAlign",
                                            .versions = versions,
                                            .inputs = inputs,
                                            .outputs = outputs,
                                            .attrs = attrs,
                                            .infer = roi_align_infer,
                                            .expand = roi_align_expand,
                                            .eval = roi_align_eval,
                                            .samples = samples,
                                            .selects_from = roi_align_selects_from},
                                           {0}};
