/* CenterCropPad: each axis cut, or filled up with zeros, to a given size around its middle. Where the difference is
 * odd, one element more is cut, or added, at the end. It is a Pad whose numbers may be negative. Spec: ONNX
 * CenterCropPad-18. */
#include "ops/move_rules.h"

static const struct op_attr attrs[] = {{.name = "axes", .type = ATTR_INTS, .no_default = true}, {0}};
static const struct op_version versions[] = {{.since = 18}, {0}};
static const struct op_param inputs[] = {{.name = "input_data", .type = 'T', .dtypes = DTYPES_ALL},
                                         {.name = "shape", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {{.name = "output_data", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static bool crop_infer(struct infer_ctx *c)
{
    const int64_t *axes;
    size_t count;
    struct shape wish, y = *infer_shape(c, 0);
    bool listed[SHAPE_MAX_RANK] = {false};
    const bool all = !op_attr_ints(c->node, "axes", &axes, &count);
    if (!move_infer_dims(c, 1, &wish) || (!all && !move_infer_axes(c, axes, count, y.rank, false, listed)))
        return false;
    if (wish.rank != (all ? y.rank : (int)count))
        return infer_error(c, "input 1 '%s' (shape) has %d elements, expected %d", infer_in(c, 1)->name, wish.rank,
                           all ? y.rank : (int)count);
    for (int k = 0; k < wish.rank; k++) {
        int d = k;
        if (!all)
            (void)shape_axis(y.rank, axes[k], &d);
        shape_set(&y, d, shape_size(&wish, k));
    }
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* Elements before the first one, negative where these are cut off. */
static int64_t before(int64_t in, int64_t out)
{
    return out > in ? (out - in) / 2 : -((in - out) / 2);
}

static bool crop_expand(struct expand_ctx *c)
{
    const struct shape *x = &expand_in(c, 0)->shape, *y = &node_output(c->node, 0)->shape;
    int64_t pads[2 * SHAPE_MAX_RANK];
    for (int d = 0; d < x->rank; d++) {
        pads[d] = before(x->dim[d], y->dim[d]);
        pads[x->rank + d] = y->dim[d] - x->dim[d] - pads[d];
    }
    return expand_out(c, 0, build(c, "Pad", expand_in(c, 0), build_ints(c->b, pads, 2 * (size_t)x->rank)));
}

static bool crop_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    int64_t index[SHAPE_MAX_RANK] = {0}, stride[SHAPE_MAX_RANK];
    shape_strides(&x->shape, stride);
    for (int64_t k = 0; k < y->count; k++, shape_next(&y->shape, index)) {
        int64_t from = 0;
        bool inside = true;
        for (int d = 0; d < x->shape.rank; d++) {
            const int64_t i = index[d] - before(x->shape.dim[d], y->shape.dim[d]);
            inside &= i >= 0 && i < x->shape.dim[d];
            from += i * stride[d];
        }
        if (inside)
            move_element(y, k, x, from);
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[4,7] x) => (float[7,4] y) { s = Constant <value_ints = [7, 4]> () y = CenterCropPad(x, s) }"},
    {.text = "g (double[2,5,3] x) => (double[2,2,6] y) { s = Constant <value = int32[2] {6, 2}> () "
             "y = CenterCropPad <axes = [-1, 1]> (x, s) }"},
    {.text = "g (bool[3] x) => (bool[5] y) { s = Constant <value_ints = [5]> () y = CenterCropPad(x, s) }",
     .no_gradient = true},
    {.text = "g (float[3] x) => (float[0] y) { s = Constant <value_ints = [0]> () y = CenterCropPad(x, s) }"},
    {.text = "g (float[0,2] x) => (float[2,1] y) { s = Constant <value_ints = [2, 1]> () y = CenterCropPad(x, s) }"},
    {.text = "g (float[3] x) => (float[3] y) { s = Constant <value_ints = [3, 3]> () y = CenterCropPad(x, s) }",
     .error = "has 2 elements, expected 1"},
    {.text = "g (float[3] x) => (float[3] y) { s = Constant <value_ints = [-3]> () y = CenterCropPad(x, s) }",
     .error = "-3"},
    {.text = "g (float[3,3] x) => (float[3,3] y) { s = Constant <value_ints = [3, 3]> () y = CenterCropPad <axes = [1, "
             "-1]> (x, s) }",
     .error = "listed twice"},
    {0}};

/* The gradient is that of Pad. */
const struct op_def op_defs_center_crop_pad[] = {{.name = "CenterCropPad",
                                                  .versions = versions,
                                                  .inputs = inputs,
                                                  .outputs = outputs,
                                                  .attrs = attrs,
                                                  .infer = crop_infer,
                                                  .expand = crop_expand,
                                                  .eval = crop_eval,
                                                  .samples = samples},
                                                 {0}};
