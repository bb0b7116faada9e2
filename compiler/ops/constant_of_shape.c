/* ConstantOfShape: one number repeated over a shape that is given as input.
 * Spec: ONNX ConstantOfShape-9 to -25; later versions only add types. */
#include "ops/move_rules.h"

#include <string.h>

static const struct op_attr attrs[] = {{.name = "value", .type = ATTR_TENSOR, .no_default = true}, {0}};
static const struct op_version versions[] = {{.since = 9},  {.since = 20}, {.since = 21}, {.since = 23},
                                             {.since = 24}, {.since = 25}, {0}};
static const struct op_param inputs[] = {{.name = "input", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {{.name = "output", .dtypes = MOVE_TYPES_25}, {0}};

static const struct tensor *value_attr(const struct node *n)
{
    const struct attr *a = node_attr(n, "value");
    return a == NULL ? NULL : a->t;
}

/* Without the attribute: float zeros. */
static bool constant_of_shape_infer(struct infer_ctx *c)
{
    const struct tensor *value = value_attr(c->node);
    struct shape shape;
    if (value != NULL && value->count != 1)
        return infer_error(c, "attribute 'value' has %lld elements, expected one", (long long)value->count);
    if (value != NULL && !(MOVE_TYPES_25 & DTYPE_BIT(value->dtype)))
        return infer_unsupported(c, "attribute 'value' is of type %s, which is not supported",
                                 dtype_name(value->dtype));
    return move_infer_dims(c, 0, &shape) && infer_out(c, 0, value != NULL ? value->dtype : DTYPE_FLOAT, &shape);
}

static bool constant_of_shape_expand(struct expand_ctx *c)
{
    const struct tensor *value = value_attr(c->node);
    const struct value *y = node_output(c->node, 0);
    struct tensor *number = tensor_new(c->b->graph->arena, y->dtype, &SHAPE_SCALAR);
    if (value != NULL)
        memcpy(number->data, value->data, dtype_size(value->dtype));
    return expand_out(c, 0, build_expand(c->b, build_constant(c->b, number), &y->shape));
}

static bool constant_of_shape_eval(struct eval_ctx *c)
{
    const struct tensor *value = value_attr(c->node);
    struct eval_tensor *y = eval_output(c, 0);
    if (value == NULL || y == NULL)
        return true; /* outputs start as zeros */
    const struct eval_tensor *number = eval_from_tensor(c->scratch, value);
    for (int64_t k = 0; k < y->count; k++)
        move_element(y, k, number, 0);
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) "
             "{ s = Shape(x) c = ConstantOfShape <value = float[1] {2.5}> (s) y = Mul(x, c) }"},
    {.text = "g (float[2,3] x) => (float[2,3] y) { s = Shape(x) y = ConstantOfShape(s) }", .no_gradient = true},
    {.text = "g () => (int32[0,3] y) "
             "{ s = Constant <value_ints = [0, 3]> () y = ConstantOfShape <value = int32[1] {7}> (s) }",
     .no_gradient = true},
    {.text = "g () => (float[3] y) { s = Constant <value_ints = [-3]> () y = ConstantOfShape(s) }",
     .error = "dimension -3"},
    {.text = "g (int64[1] s) => (float[3] y) { y = ConstantOfShape(s) }", .error = "must be known at compile time"},
    {.text = "g () => (float[1] y) { s = Constant <value_ints = [1,1,1,1,1,1,1,1,1,1,1,1,1]> () y = "
             "ConstantOfShape(s) }",
     .error = "asks for rank 13, at most 12 is supported"},
    {0}};

static bool filled_by_data(struct bounded_ctx *c)
{
    const struct attr *const value = node_attr(c->node, "value");
    const struct attr *const how = value != NULL ? ATTRS(*value) : ATTRS_NONE;
    const struct bounded *count;
    struct value *dims;
    int axis;
    return !bounded_shape(c, 0, &dims, &axis, &count) ||
           (bounded_become(c, "ConstantOfShape", how, &dims, 1) && bounded_out(c, 0, count, axis));
}

const struct op_def op_defs_constant_of_shape[] = {
    {.name = "ConstantOfShape", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = constant_of_shape_infer, .grad = grad_none, .expand = constant_of_shape_expand,
     .eval = constant_of_shape_eval, .sized_by_data = filled_by_data, .sizes = SIZES_MOVED, .samples = samples},
    {0}};
