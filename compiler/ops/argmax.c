/* ArgMax and ArgMin: the position of the extreme element along an axis, of several equal ones the first (or the last,
 * with select_last_index). A NaN counts as extreme, as in NumPy and PyTorch; the specification leaves it open.
 * Spec: ONNX ArgMax-1 to -13 (11 negative axes, 12 select_last_index), ArgMin alike. */
#include "ops/move_rules.h"

#include <math.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define TYPES_1 (DTYPES_NUMERIC & ~DTYPE_BIT(DTYPE_BFLOAT16))
#define ATTR_AXIS {.name = "axis", .type = ATTR_INT, .int_default = 0}
#define ATTR_KEEPDIMS {.name = "keepdims", .type = ATTR_INT, .int_default = 1}

static const struct op_attr attrs_1[] = {ATTR_AXIS, ATTR_KEEPDIMS, {0}};
static const struct op_attr attrs[] = {
    ATTR_AXIS, ATTR_KEEPDIMS, {.name = "select_last_index", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_version versions[] = {{.since = 1, .dtypes = TYPES_1, .attrs = attrs_1},
                                             {.since = 11, .dtypes = TYPES_1, .attrs = attrs_1},
                                             {.since = 12, .dtypes = TYPES_1},
                                             {.since = 13},
                                             {0}};
static const struct op_param inputs[] = {
    {.name = "data", .type = 'T', .dtypes = DTYPES_NUMERIC, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param outputs[] = {
    {.name = "reduced", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static int arg_axis(const struct node *n)
{
    int axis = 0;
    (void)shape_axis(n->inputs.data[0]->shape.rank, op_attr_int(n, "axis"), &axis);
    return axis;
}

static bool arg_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    const bool keep = op_attr_int(c->node, "keepdims") != 0;
    struct shape y = SHAPE_SCALAR;
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), x->rank, &axis))
        return false;
    if (x->dim[axis] == 0)
        return infer_error(c, "dimension %d of input 0 '%s' is 0: there is no extreme element", axis,
                           infer_in(c, 0)->name);
    for (int d = 0; d < x->rank; d++)
        if (d != axis || keep)
            shape_add(&y, d == axis ? size_constant(1) : shape_size(x, d));
    return infer_out(c, 0, DTYPE_INT64, &y);
}

/* ---- as other operators, for lowering ---------------------------------------------------------------------------- */

/* The smallest (or largest) position at which x equals the extreme value, or is NaN: then the extreme
 * value is NaN, too. */
static bool arg_expand(struct expand_ctx *c, const char *reduction)
{
    struct value *x = expand_in(c, 0);
    const int axis = arg_axis(c->node);
    const bool last = op_attr_int(c->node, "select_last_index") != 0;
    if (dtype_is_int(x->dtype) && dtype_bits(x->dtype) == 16) /* ReduceMax does not take these */
        x = build_cast(c->b, x, DTYPE_INT32);
    struct value *axes = build_ints(c->b, &(int64_t){axis}, 1);
    struct value *extreme = build_with(c, reduction, ATTRS(attr_int("keepdims", 1)), x, axes);
    struct value *hit = build(c, "Equal", x, extreme);
    if (dtype_is_float(x->dtype))
        hit = build(c, "Or", hit, build(c, "Not", build(c, "Equal", x, x)));
    struct value *numbers = build_with(c, "stepc.Positions", ATTRS(attr_int("axis", axis)), x);
    struct value *none = build_int(c->b, last ? -1 : x->shape.dim[axis]);
    struct value *candidates = build(c, "Where", hit, numbers, none);
    struct value *y = build_with(c, last ? "ReduceMax" : "ReduceMin",
                                 ATTRS(attr_int("keepdims", op_attr_int(c->node, "keepdims") != 0)), candidates, axes);
    return expand_out(c, 0, y);
}

static bool argmax_expand(struct expand_ctx *c)
{
    return arg_expand(c, "ReduceMax");
}

static bool argmin_expand(struct expand_ctx *c)
{
    return arg_expand(c, "ReduceMin");
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Is element k of x further out than element best? */
static bool is_beyond(const struct eval_tensor *x, int64_t k, int64_t best, bool largest, bool last)
{
    if (x->f != NULL) {
        const double a = x->f[k], b = x->f[best];
        if (isnan(a) || isnan(b))
            return isnan(a) && (last || !isnan(b));
        return (largest ? a > b : a < b) || (last && a == b);
    }
    if (x->dtype == DTYPE_UINT64) {
        const uint64_t a = (uint64_t)x->i[k], b = (uint64_t)x->i[best];
        return (largest ? a > b : a < b) || (last && a == b);
    }
    const int64_t a = x->i[k], b = x->i[best];
    return (largest ? a > b : a < b) || (last && a == b);
}

static bool arg_eval(struct eval_ctx *c, bool largest)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const int axis = arg_axis(c->node);
    const bool last = op_attr_int(c->node, "select_last_index") != 0;
    const int64_t outer = shape_count_range(&x->shape, 0, axis), size = x->shape.dim[axis];
    const int64_t inner = shape_count_range(&x->shape, axis + 1, x->shape.rank);
    int64_t *y = eval_out_i(c, 0);
    for (int64_t o = 0; y != NULL && o < outer; o++)
        for (int64_t i = 0; i < inner; i++) {
            const int64_t first = o * size * inner + i;
            int64_t best = 0;
            for (int64_t k = 1; k < size; k++)
                if (is_beyond(x, first + k * inner, first + best * inner, largest, last))
                    best = k;
            y[o * inner + i] = best;
        }
    return true;
}

static bool argmax_eval(struct eval_ctx *c)
{
    return arg_eval(c, true);
}

static bool argmin_eval(struct eval_ctx *c)
{
    return arg_eval(c, false);
}

/* ---- Positions(x): 0, 1, ... along the axis, with 1 as all other dimensions: broadcasts with x. A counter, not a
 * table of numbers: it takes x, whose elements nobody looks at, so that it is not folded ---- */

static const struct op_attr position_attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_version position_versions[] = {{.since = 1}, {0}};
static const struct op_param position_inputs[] = {{.name = "x", .dtypes = DTYPES_ALL, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param position_outputs[] = {
    {.name = "positions", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static bool position_infer(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), y.rank, &axis))
        return false;
    for (int d = 0; d < y.rank; d++)
        shape_set(&y, d, d == axis ? shape_size(&y, d) : size_constant(1));
    return infer_out(c, 0, DTYPE_INT64, &y);
}

static bool position_eval(struct eval_ctx *c)
{
    int64_t *y = eval_out_i(c, 0);
    for (int64_t k = 0; y != NULL && k < c->out[0]->count; k++)
        y[k] = k;
    return true;
}

static bool position_plain(struct expand_ctx *c)
{
    return expand_out(c, 0, build_counter(c->b, DTYPE_INT64, 0, &node_output(c->node, 0)->shape));
}

static bool position_lower(struct lower_ctx *c)
{
    return lower_map(c, expr_index(c->arena, arg_axis(c->node)));
}

static const struct op_sample position_samples[] = {
    {.text = "g (float[3,4] x) => (int64[1,4] y) { y = stepc.Positions <axis = 1> (x) }", .no_gradient = true},
    {.text = "g (bool[3,4,2] x) => (int64[3,1,1] y) { y = stepc.Positions <axis = -3> (x) }", .no_gradient = true},
    {.text = "g (float[3,4] x) => (int64[1,4] y) { y = stepc.Positions <axis = 2> (x) }", .error = "axis 2"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample max_samples[] = {
    {.text = "g (float[3,4] x) => (int64[1,4] y) { y = ArgMax(x) }", .no_gradient = true},
    {.text = "g (double[3,4] x) => (int64[3] y) { y = ArgMax <axis = -1, keepdims = 0> (x) }", .no_gradient = true},
    {.text = "g (int32[3,4] x) => (int64[3,1] y) { y = ArgMax <axis = 1, select_last_index = 1> (x) }",
     .no_gradient = true},
    {.text = "g (int16[9] x) => (int64[1] y) { y = ArgMax(x) }", .opset = 11, .no_gradient = true},
    {.text = "g (int32[6,9] x) => (int64[6,1] y) { y = ArgMax <axis = 1> (x) }", .feed = "index:3",
     .no_gradient = true},
    {.text = "g (uint64[6,9] x) => (int64[6,1] y) { y = ArgMax <axis = 1> (x) }", .feed = "index:3",
     .no_gradient = true},
    {.text = "g () => (int64[1] y) { x = Constant <value_floats = [1.0, 3.0, 3.0, 2.0]> () y = ArgMax(x) }",
     .no_gradient = true},
    {.text = "g (float[40,3] x) => (int64[40] y) { y = ArgMax <axis = 1, keepdims = 0> (x) }", .no_gradient = true},
    {.text = "g (float[2,40,3] x) => (int64[2,1,3] y) { y = ArgMax <axis = 1> (x) }", .no_gradient = true},
    {.text = "g (float[0] x) => (int64[1] y) { y = ArgMax(x) }", .error = "no extreme element"},
    {0}};
static const struct op_sample min_samples[] = {
    {.text = "g (int32[6,9] x) => (int64[6,1] y) { y = ArgMin <axis = 1> (x) }", .feed = "index:3",
     .no_gradient = true},
    {.text = "g (uint64[6,9] x) => (int64[6,1] y) { y = ArgMin <axis = 1> (x) }", .feed = "index:3",
     .no_gradient = true},
    {.text = "g () => (int64[1] y) { x = Constant <value_floats = [2.0, 1.0, 1.0, 3.0]> () y = ArgMin(x) }",
     .no_gradient = true},
    {.text = "g (float[3,4] x) => (int64[1,4] y) { y = ArgMin(x) }", .no_gradient = true},
    {.text = "g (float[3,4,2] x) => (int64[3,2] y) { y = ArgMin <axis = 1, keepdims = 0> (x) }", .no_gradient = true},
    {.text = "g (int8[3,4] x) => (int64[3,1] y) { y = ArgMin <axis = 1, select_last_index = 1> (x) }",
     .no_gradient = true},
    {0}};

static bool argmax_bounded(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    const struct bounded *const x = bounded_in(c, 0);
    const enum dtype d = n->inputs.data[0]->dtype;
    const int axis = arg_axis(n);
    if (x->axis != axis)
        return bounded_out(c, 0, x, x->axis - (op_attr_int(n, "keepdims") == 0 && axis < x->axis));
    if (op_attr_int(n, "select_last_index") != 0)
        return bounded_refuse(c, 0, "the last of equal elements is not looked for among them");
    bounded_fill_input(c, 0, node_is(n, "ArgMax") ? bounded_least(c->b, d, false) : bounded_greatest(c->b, d));
    return true;
}

static void arg_axes(struct axes_ctx *c)
{
    const int rank = node_input(c->node, 0)->shape.rank, axis = arg_axis(c->node);
    const bool kept = node_output(c->node, 0)->shape.rank == rank;
    for (int d = 0; d < rank; d++)
        if (d != axis)
            axes_pass(c, 0, d, 0, d - (!kept && d > axis));
}

const struct op_def op_defs_argmax[] = {
    {.name = "ArgMax", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = arg_infer, .axes = arg_axes,
     .grad = grad_none, .stays = op_stays, .expand = argmax_expand, .eval = argmax_eval,
     .bounded = argmax_bounded, .samples = max_samples},
    {.name = "ArgMin", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = arg_infer, .axes = arg_axes,
     .grad = grad_none, .stays = op_stays, .expand = argmin_expand, .eval = argmin_eval,
     .bounded = argmax_bounded, .samples = min_samples},
    {.domain = DOMAIN_STEPC, .name = "Positions", .versions = position_versions, .inputs = position_inputs,
     .outputs = position_outputs, .attrs = position_attrs, .infer = position_infer, .grad = grad_none,
     .plain = position_plain,
     .eval = position_eval, .lower = position_lower, .samples = position_samples},
    {0}};
