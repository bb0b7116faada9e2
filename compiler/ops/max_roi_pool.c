/* MaxRoiPool: regions of X [N,C,H,W], each cut into bins; of each bin the greatest element, 0 where it is empty. One is
 * [image, x1, y1, x2, y2]; along each axis, with round() half away from zero and exact quotients:
 *   start = round(x1 scale)       size = max(round(x2 scale) - start + 1, 1)
 *   bin p = elements from start + floor(p size / bins) to start + ceil((p + 1) size / bins), not included, inside of X
 * It is a maximum over rows, then over columns, each of them under a mask; of equal elements all share the gradient.
 * Regions have none, as in torchvision. Types of 16 bits are computed in float; borders beyond 1e9 count as 1e9.
 * Spec: ONNX MaxRoiPool-1, -22 (bfloat16). */
#include "ops/move_rules.h"

#include <math.h>

static const struct op_attr attrs[] = {{.name = "pooled_shape", .type = ATTR_INTS, .required = true},
                                       {.name = "spatial_scale", .type = ATTR_FLOAT, .float_default = 1.0},
                                       {0}};
static const struct op_version versions[] = {
    {.since = 1, .dtypes = DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16)}, {.since = 22}, {0}};
static const struct op_param inputs[] = {
    {.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "rois", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool max_roi_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *rois = infer_shape(c, 1);
    const int64_t *bins;
    size_t count;
    op_attr_ints(c->node, "pooled_shape", &bins, &count);
    if (count != 2 || bins[0] < 1 || bins[1] < 1)
        return infer_error(c, "attribute 'pooled_shape' does not have two numbers of 1 or more");
    if (x->rank != 4)
        return infer_error(c, "input 0 '%s' has rank %d, expected 4", infer_in(c, 0)->name, x->rank);
    if (rois->rank != 2 || rois->dim[1] != 5)
        return infer_error(c, "input 1 '%s' does not have the shape [regions,5]", infer_in(c, 1)->name);
    if (shape_count(x) == 0 && x->dim[1] > 0 && rois->dim[0] > 0)
        return infer_error(c, "input 0 '%s' has no elements to read", infer_in(c, 0)->name);
    const struct size rows = size_constant(bins[0]), columns = size_constant(bins[1]);
    return infer_out(c, 0, DTYPE_UNDEFINED, &SHAPE_OF(shape_size(rois, 0), shape_size(x, 1), rows, columns));
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

static struct value *build_column(struct expand_ctx *c, struct value *rois, int column)
{
    struct value *x = build_with(c, "Gather", ATTRS(attr_int("axis", 1)), rois, build_int(c->b, column));
    return build_reshape(c->b, x, &SHAPE_OF(shape_size(&rois->shape, 0), size_constant(1), size_constant(1)));
}

#define FAR 1e9 /* no image is as large, and products with bins stay within int64 */

/* Rounded, as integers. */
static struct value *build_border(struct expand_ctx *c, struct value *rois, int column)
{
    struct value *x = build_column(c, rois, column);
    x = build(c, "Mul", x, build_like(c, x, op_attr_float(c->node, "spatial_scale")));
    x = build(c, "Max", build(c, "Min", x, build_like(c, x, FAR)), build_like(c, x, -FAR));
    struct value *away = build(c, "Floor", build(c, "Add", build(c, "Abs", x), build_like(c, x, 0.5)));
    x = build(c, "Where", build(c, "Less", x, build_like(c, x, 0)), build(c, "Neg", away), away);
    return build_cast(c->b, x, DTYPE_INT64);
}

/* 0, 1, 2... along dimension `dim` of three. */
static struct value *build_numbers(struct expand_ctx *c, int dim, int64_t count)
{
    struct shape shape = SHAPE(1, 1, 1);
    shape_set(&shape, dim, size_constant(count));
    return build_counter(c->b, DTYPE_INT64, 0, &shape);
}

/* Which elements of an axis (0: rows) each bin has: [regions, bins, elements]. */
static struct value *build_mask(struct expand_ctx *c, struct value *rois, int axis, int64_t bins, int64_t size)
{
    struct value *start = build_border(c, rois, 2 - axis), *end = build_border(c, rois, 4 - axis);
    struct value *one = build_int(c->b, 1), *count = build_int(c->b, bins), *element = build_numbers(c, 2, size);
    struct value *extent = build(c, "Max", build(c, "Add", build(c, "Sub", end, start), one), one);
    struct value *before = build(c, "Mul", build_numbers(c, 1, bins), extent);
    struct value *behind = build(c, "Add", build(c, "Add", before, extent), build_int(c->b, bins - 1)); /* rounds up */
    struct value *low = build(c, "Add", start, build(c, "Div", before, count));
    struct value *high = build(c, "Add", start, build(c, "Div", behind, count));
    return build(c, "And", build(c, "LessOrEqual", low, element), build(c, "Less", element, high));
}

/* The maximum of x over its last dimension, where the mask says so. */
static struct value *build_maximum(struct expand_ctx *c, struct value *mask, struct value *x)
{
    struct value *masked = build(c, "Where", mask, x, build_like(c, x, -INFINITY));
    return build_with(c, "ReduceMax", ATTRS(attr_int("keepdims", 0)), masked,
                      build_ints(c->b, (int64_t[]){masked->shape.rank - 1}, 1));
}

static bool max_roi_expand(struct expand_ctx *c)
{
    const struct shape *y = &node_output(c->node, 0)->shape;
    struct value *x = expand_in(c, 0), *rois = expand_in(c, 1);
    const enum dtype d = x->dtype;
    x = build_cast(c->b, x, dtype_computed(d));
    rois = build_cast(c->b, rois, dtype_computed(d));
    const struct size regions = shape_size(y, 0), channels = shape_size(y, 1), rows = shape_size(&x->shape, 2),
                      columns = shape_size(&x->shape, 3), one = size_constant(1), down = shape_size(y, 2),
                      across = shape_size(y, 3);
    struct value *image = build_reshape(c->b, build_column(c, rois, 0), &SHAPE_OF(regions));
    struct value *own = build_with(c, "Gather", ATTRS(attr_int("axis", 0)), x, build_cast(c->b, image, DTYPE_INT64));
    struct value *of_rows = build_mask(c, rois, 0, y->dim[2], rows.most),
                 *of_columns = build_mask(c, rois, 1, y->dim[3], columns.most);
    /* [regions, channels, bins, columns, rows], then [regions, channels, bins, bins, columns] */
    own = build_reshape(c->b, build_transpose(c->b, own, (int[]){0, 1, 3, 2}),
                        &SHAPE_OF(regions, channels, one, columns, rows));
    struct value *greatest =
        build_maximum(c, build_reshape(c->b, of_rows, &SHAPE_OF(regions, one, down, one, rows)), own);
    greatest = build_reshape(c->b, greatest, &SHAPE_OF(regions, channels, down, one, columns));
    struct value *along = build_reshape(c->b, of_columns, &SHAPE_OF(regions, one, one, across, columns));
    greatest = build_maximum(c, along, greatest);
    /* without elements: 0 */
    struct value *least = build_like(c, x, -INFINITY), *zero = build_like(c, x, 0);
    struct value *flag_r = build_maximum(c, of_rows, zero), *flag_c = build_maximum(c, of_columns, zero);
    struct value *flag = build(c, "Add", build_reshape(c->b, flag_r, &SHAPE_OF(regions, one, down, one)),
                               build_reshape(c->b, flag_c, &SHAPE_OF(regions, one, one, across)));
    return expand_out(c, 0, build_cast(c->b, build(c, "Where", build(c, "Equal", flag, least), zero, greatest), d));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Elements [from, to) of bin p along an axis of `size`. */
static void range_of_bin(double first, double last, double scale, int64_t bins, int64_t p, int64_t size, int64_t *range)
{
    const double start = round(fmax(fmin(first * scale, FAR), -FAR)), end = round(fmax(fmin(last * scale, FAR), -FAR));
    const double extent = fmax(end - start + 1, 1);
    const double from = start + floor((double)p * extent / (double)bins);
    const double to = start + ceil((double)(p + 1) * extent / (double)bins);
    range[0] = (int64_t)fmin(fmax(from, 0), (double)size);
    range[1] = (int64_t)fmin(fmax(to, 0), (double)size);
}

static double greatest_of(const double *x, int64_t columns, const int64_t *v, const int64_t *h)
{
    double most = -INFINITY;
    for (int64_t i = v[0]; i < v[1]; i++)
        for (int64_t j = h[0]; j < h[1]; j++)
            most = x[i * columns + j] > most || isnan(x[i * columns + j]) ? x[i * columns + j] : most;
    return v[0] < v[1] && h[0] < h[1] ? most : 0;
}

/* The image in which a region lies. */
static int64_t max_roi_selects_from(const struct node *n, int input)
{
    return input == 1 ? node_input(n, 0)->shape.dim[0] : 0;
}

static bool max_roi_eval(struct eval_ctx *c)
{
    const struct shape *x = &eval_input(c, 0)->shape, *y = &eval_output(c, 0)->shape;
    const double scale = op_attr_float(c->node, "spatial_scale");
    for (int64_t k = 0; k < eval_output(c, 0)->count; k++) {
        const double *roi = &eval_f(c, 1)[k / y->dim[3] / y->dim[2] / y->dim[1] * 5];
        const int64_t channel = k / y->dim[3] / y->dim[2] % y->dim[1];
        int64_t image = dtype_from_double(DTYPE_INT64, roi[0]), v[2], h[2];
        image += image < 0 ? x->dim[0] : 0;
        if (image < 0 || image >= x->dim[0])
            return eval_error(c, "a region lies in image %g, of %lld", roi[0], (long long)x->dim[0]);
        range_of_bin(roi[2], roi[4], scale, y->dim[2], k / y->dim[3] % y->dim[2], x->dim[2], v);
        range_of_bin(roi[1], roi[3], scale, y->dim[3], k % y->dim[3], x->dim[3], h);
        eval_out_f(c, 0)[k] =
            greatest_of(&eval_f(c, 0)[(image * x->dim[1] + channel) * x->dim[2] * x->dim[3]], x->dim[3], v, h);
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text =
         "g (float[2,3,6,7] x) => (float[3,3,2,3] y) { r = Constant <value = float[3,5] {1, 0, 0, 5, 5, 0, 2, 1, 9, 3, "
         "0, 1, 1, 1, 1}> () y = MaxRoiPool <pooled_shape = [2, 3]> (x, r) }"},
    {.text =
         "g (double[1,2,6,7] x) => (double[2,2,2,2] y) { r = Constant <value = double[2,5] {0, 1, 3, 13, 9, 0, 20, 20, "
         "30, 30}> () y = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.5> (x, r) }"},
    {.text = "g (float[1,1,24,24] x) => (float[2,1,7,5] y) { r = Constant <value = float[2,5] {0, 0, 0, 20, 20, 0, 1, "
             "2, 10, 15}> () y = MaxRoiPool <pooled_shape = [7, 5]> (x, r) }"},
    {.text = "g (float16[1,2,4,4] x) => (float16[1,2,1,1] y) { r = Constant <value = float16[1,5] {0, 0, 0, 3, 2}> () "
             "y = MaxRoiPool <pooled_shape = [1, 1]> (x, r) }"},
    {.text =
         "g (float[1,2,4,4] x, float[0,5] r) => (float[0,2,1,1] y) { y = MaxRoiPool <pooled_shape = [1, 1]> (x, r) }"},
    {.text = "g (float[2,2,4,4] x, float[3,5] r) => (float[3,2,1,1] y) "
             "{ t = Constant <value_floats = [100.0]> () f = Mul(r, t) y = MaxRoiPool <pooled_shape = [1, 1]> (x, f) }",
     .error = "a region lies in image"},
    {.text = "g (float[2,2,4,4] x) => (float[1,2,1,1] y) { r = Constant <value = float[1,5] {2, 0, 0, 3, 3}> () "
             "y = MaxRoiPool <pooled_shape = [1, 1]> (x, r) }",
     .error = "a region lies in image 2, of 2"},
    {.text = "g (float[1,2,4,4] x, float[1,5] r) => (float[1,2,1,1] y) { y = MaxRoiPool <pooled_shape = [1]> (x, r) }",
     .error = "two numbers"},
    {.text =
         "g (float[1,2,4,4] x, float[1,4] r) => (float[1,2,1,1] y) { y = MaxRoiPool <pooled_shape = [1, 1]> (x, r) }",
     .error = "[regions,5]"},
    {.text = "g (float[2,4,4] x, float[1,5] r) => (float[1,2,1,1] y) { y = MaxRoiPool <pooled_shape = [1, 1]> (x, r) }",
     .error = "has rank 3"},
    {0}};

/* The gradient follows from the expansion. */
const struct op_def op_defs_max_roi_pool[] = {{.name = "MaxRoiPool",
                                               .versions = versions,
                                               .inputs = inputs,
                                               .outputs = outputs,
                                               .attrs = attrs,
                                               .infer = max_roi_infer,
                                               .expand = max_roi_expand,
                                               .eval = max_roi_eval,
                                               .selects_from = max_roi_selects_from,
                                               .samples = samples},
                                              {0}};
