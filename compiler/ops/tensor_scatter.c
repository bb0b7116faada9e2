/* TensorScatter: a cache of keys or values with new ones put in, from a place of its own in each sample.
 *   y = past_cache, then y[b, .., write_indices[b] + t, ..] = update[b, .., t, ..] for each t in turn
 * along `axis`; without write_indices from the beginning. In mode "circular" positions are taken modulo the length of
 * the cache; in mode "linear" a write that does not fit is an error when the entry runs. Written with ScatterElements,
 * which has the gradients.
 * Spec: ONNX TensorScatter-24. */
#include "ops/index_rules.h"

#include "base/str.h"
#include <inttypes.h>

static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = -2},
                                       {.name = "mode", .type = ATTR_STRING, .string_default = "linear"},
                                       {0}};
static const struct op_version versions[] = {{.since = 24}, {0}};
static const struct op_param inputs[] = {
    {.name = "past_cache", .type = 'T', .dtypes = DTYPES_ALL},
    {.name = "update", .type = 'T', .dtypes = DTYPES_ALL},
    {.name = "write_indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF | PARAM_OPTIONAL},
    {0}};
static const struct op_param outputs[] = {{.name = "present_cache", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static bool is_circular(const struct node *n)
{
    return str_equal(op_attr_string(n, "mode"), "circular");
}

static bool put_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *update = infer_shape(c, 1);
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), x->rank, &axis))
        return false;
    if (axis == 0)
        return infer_error(c, "attribute 'axis' names dimension 0, which is the batch");
    if (!is_circular(c->node) && !str_equal(op_attr_string(c->node, "mode"), "linear"))
        return infer_error(c, "attribute 'mode' is '%s', expected linear or circular", op_attr_string(c->node, "mode"));
    struct shape expected = *x;
    shape_set(&expected, axis, update->rank > axis ? shape_size(update, axis) : size_constant(0));
    if (!shape_equal(&expected, update) || update->dim[axis] > x->dim[axis])
        return infer_error(
            c, "input 1 '%s' has shape %s, which is not that of input 0 '%s' but for at most as much along axis %d",
            infer_in(c, 1)->name, shape_text(c->graph->arena, update), infer_in(c, 0)->name, axis);
    if (infer_in(c, 2) != NULL && !shape_equal(infer_shape(c, 2), &SHAPE_OF(shape_size(x, 0))))
        return infer_error(c, "input 2 '%s' has shape %s, expected [%lld], a place for each sample",
                           infer_in(c, 2)->name, shape_text(c->graph->arena, infer_shape(c, 2)), (long long)x->dim[0]);
    return infer_out(c, 0, DTYPE_UNDEFINED, x);
}

static int64_t put_selects_from(const struct node *n, int input)
{
    const int axis = move_axis(n);
    const struct shape *x = &n->inputs.data[0]->shape, *update = &n->inputs.data[1]->shape;
    return input == 2 ? x->dim[axis] - (is_circular(n) ? 0 : update->dim[axis] - 1) : 0;
}

/* 0, 1, .. along the axis, to be broadcast. */
static struct value *positions(struct expand_ctx *c, const struct shape *update, int axis)
{
    struct shape along = SHAPE_SCALAR;
    for (int d = 0; d < update->rank; d++)
        shape_add(&along, d == axis ? shape_size(update, d) : size_constant(1));
    struct value *count = build_int(c->b, update->dim[axis]);
    return build_reshape(c->b, build(c, "Range", build_int(c->b, 0), count, build_int(c->b, 1)), &along);
}

/* A negative place of a linear write becomes one behind the end: no index may count from there. */
static struct value *places(struct expand_ctx *c, const struct shape *update, int axis)
{
    struct value *at = positions(c, update, axis), *given = expand_in(c, 2);
    const int64_t length = expand_in(c, 0)->shape.dim[axis];
    struct shape samples = SHAPE_SCALAR;
    if (given == NULL)
        return at;
    for (int d = 0; d < update->rank; d++)
        shape_add(&samples, d == 0 ? shape_size(update, 0) : size_constant(1));
    struct value *start = build_reshape(c->b, given, &samples), *end = build_int(c->b, length);
    if (is_circular(c->node))
        return build(c, "Mod", build(c, "Add", build(c, "Mod", start, end), at), end);
    start = build(c, "Where", build(c, "Less", start, build_int(c->b, 0)), end, start);
    return build(c, "Add", start, at);
}

static bool put_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *update = expand_in(c, 1);
    const int axis = move_axis(c->node);
    if (shape_count(&update->shape) == 0)
        return expand_out(c, 0, x);
    struct value *at = build_expand(c->b, places(c, &update->shape, axis), &update->shape);
    return expand_out(c, 0, build_with(c, "ScatterElements", ATTRS(attr_int("axis", axis)), x, at, update));
}

/* Where sample b begins; false after a report. */
static bool read_place(const struct eval_ctx *c, int64_t b, int64_t length, int64_t count, int64_t *start)
{
    const int64_t given = eval_has(c, 2) ? eval_i(c, 2)[b] : 0;
    *start = given;
    if (!is_circular(c->node))
        return count == 0 || (given >= 0 && given <= length - count) ||
               eval_error(c, "element %" PRId64 " of input 2 is %" PRId64 ", expected 0 to %" PRId64, b, given,
                          length - count);
    *start = length == 0 ? 0 : (given % length + length) % length;
    return true;
}

static bool put_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0), *update = eval_input(c, 1);
    const int axis = move_axis(c->node);
    const int64_t batch = x->shape.dim[0], outer = shape_count_range(&x->shape, 1, axis), length = x->shape.dim[axis];
    const int64_t inner = shape_count_range(&x->shape, axis + 1, x->shape.rank), count = update->shape.dim[axis];
    struct eval_tensor *y = eval_output(c, 0);
    for (int64_t k = 0; y != NULL && k < y->count; k++)
        move_element(y, k, x, k);
    for (int64_t b = 0; b < batch; b++) {
        int64_t start;
        if (!read_place(c, b, length, count, &start))
            return false;
        for (int64_t k = 0; y != NULL && k < outer * count * inner; k++) {
            const int64_t o = b * outer + k / (count * inner), t = k / inner % count, i = k % inner;
            move_element(y, (o * length + (start + t) % length) * inner + i, update, (o * count + t) * inner + i);
        }
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3,4,5] x, float[2,3,2,5] u, int64[2] i) => (float[2,3,4,5] y) { y = TensorScatter(x, u, i) }",
     .feed = ",,index:3"},
    {.text = "g (float[3,4,2] x, float[3,3,2] u, int64[3] i) => (float[3,4,2] y) { y = TensorScatter <mode = "
             "\"circular\"> (x, u, i) }"},
    {.text = "g (double[3,4] x, double[3,2] u) => (double[3,4] y) { y = TensorScatter <axis = 1> (x, u) }"},
    {.text = "g (bool[3,4] x, bool[3,1] u, int64[3] i) => (bool[3,4] y) { y = TensorScatter <axis = -1> (x, u, i) }",
     .feed = ",,index:4",
     .no_gradient = true},
    {.text = "g (float[3,4,2] x, float[3,0,2] u) => (float[3,4,2] y) { y = TensorScatter(x, u) }"},
    {.text = "g (float[2,3,4,5] x, float[2,3,2,5] u, int64[2] i) => (float[2,3,4,5] y) { y = TensorScatter(x, u, i) }",
     .feed = ",,index:100",
     .error = ", expected 0 to 2"},
    {.text = "g (float[3,4] x, float[3,2] u) => (float[3,4] y) { y = TensorScatter(x, u) }",
     .error = "which is the batch"},
    {.text = "g (float[3,4,2] x, float[3,5,2] u) => (float[3,4,2] y) { y = TensorScatter(x, u) }",
     .error = "at most as much along axis 1"},
    {.text = "g (float[3,4,2] x, float[3,1,2] u, int64[2] i) => (float[3,4,2] y) { y = TensorScatter(x, u, i) }",
     .error = "expected [3], a place for each sample"},
    {.text = "g (float[3,4,2] x, float[3,1,2] u) => (float[3,4,2] y) { y = TensorScatter <mode = \"ring\"> (x, u) }",
     .error = "expected linear or circular"},
    {0}};

const struct op_def op_defs_tensor_scatter[] = {
    {.name = "TensorScatter", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = put_infer, .expand = put_expand, .eval = put_eval, .selects_from = put_selects_from, .samples = samples},
    {0}};
