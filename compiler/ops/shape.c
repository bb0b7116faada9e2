/* Shape and Size: what is known of a tensor without its content.
 * Spec: ONNX Shape-1 to -25 (15 adds start and end), Size-1 to -25. */
#include "ops/move_rules.h"

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

static const struct op_attr attrs[] = {
    {.name = "end", .type = ATTR_INT, .no_default = true}, {.name = "start", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_attr no_attrs[] = {{0}};
static const struct op_version versions[] = {
    {.since = 1, .dtypes = MOVE_TYPES_1, .attrs = no_attrs}, {.since = 13, .dtypes = MOVE_TYPES_13, .attrs = no_attrs},
    {.since = 15, .dtypes = MOVE_TYPES_13},                  {.since = 19, .dtypes = MOVE_TYPES_19},
    {.since = 21, .dtypes = MOVE_TYPES_21},                  {.since = 23, .dtypes = MOVE_TYPES_23},
    {.since = 24, .dtypes = MOVE_TYPES_24},                  {.since = 25},
    {0}};
static const struct op_version size_versions[] = {
    {.since = 1, .dtypes = MOVE_TYPES_1},   {.since = 13, .dtypes = MOVE_TYPES_13},
    {.since = 19, .dtypes = MOVE_TYPES_19}, {.since = 21, .dtypes = MOVE_TYPES_21},
    {.since = 23, .dtypes = MOVE_TYPES_23}, {.since = 24, .dtypes = MOVE_TYPES_24},
    {.since = 25},                          {0}};
static const struct op_param inputs[] = {
    {.name = "data", .type = 'T', .dtypes = MOVE_TYPES_25, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param outputs[] = {
    {.name = "shape", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};
static const struct op_param size_outputs[] = {
    {.name = "size", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

/* ---- Shape ------------------------------------------------------------------------------------------------------- */

static int clamp_axis(int64_t axis, int rank)
{
    if (axis < 0)
        axis += rank;
    return axis < 0 ? 0 : axis > rank ? rank : (int)axis;
}

/* The dimensions [*start, *end) that are asked for; out of range is cut off, not an error. */
static void shape_range(const struct node *n, int rank, int *start, int *end)
{
    *start = clamp_axis(op_attr_int(n, "start"), rank);
    *end = node_attr(n, "end") == NULL ? rank : clamp_axis(op_attr_int(n, "end"), rank);
    if (*end < *start)
        *end = *start;
}

static bool shape_infer(struct infer_ctx *c)
{
    int start, end;
    shape_range(c->node, infer_rank(c, 0), &start, &end);
    return infer_out(c, 0, DTYPE_INT64, &SHAPE(end - start));
}

static bool shape_eval(struct eval_ctx *c)
{
    const struct shape *shape = &eval_input(c, 0)->shape;
    int64_t *y = eval_out_i(c, 0);
    int start, end;
    shape_range(c->node, shape->rank, &start, &end);
    for (int d = start; y != NULL && d < end; d++)
        y[d - start] = shape->dim[d];
    return true;
}

/* Folding leaves none of these nodes; should one come here nevertheless, each element is stored by a
 * statement of its own. */
static bool lower_numbers(struct lower_ctx *c, const int64_t *x, int count)
{
    struct view to = lower_out_view(c, 0);
    to.shape = SHAPE_SCALAR;
    if (count == 0)
        return true;
    lower_kernel(c, NULL);
    for (int k = 0; k < count; k++) {
        to.offset = k;
        lower_store(c, lower_part(c, &SHAPE_SCALAR), &to, expr_int(c->arena, DTYPE_INT64, x[k]));
    }
    return true;
}

static bool shape_lower(struct lower_ctx *c)
{
    int start, end;
    shape_range(c->node, lower_shape(c, 0)->rank, &start, &end);
    return lower_numbers(c, lower_shape(c, 0)->dim + start, end - start);
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] x) => (int64[2] y) { y = Shape(x) }", .no_gradient = true},
    {.text = "g (float x) => (int64[0] y) { y = Shape(x) }", .no_gradient = true},
    {.text = "g (float[2,3,4] x) => (int64[1] y) { y = Shape <start = -2, end = 2> (x) }", .no_gradient = true},
    {.text = "g (float[2,3,4] x) => (int64[3] y) { y = Shape <start = -9, end = 9> (x) }", .no_gradient = true},
    {.text = "g (bool[2,0] x) => (int64[0] y) { y = Shape <start = 2, end = 1> (x) }", .no_gradient = true},
    {.text = "g (float[2,6] x) => (float[6,2] y) { s = Shape(x) i = Constant <value_ints = [1, 0]> () t = Gather(s, i) "
             "y = Reshape(x, t) }"},
    {.text = "g (float[2,3] x) => (int64[1] y) { y = Shape <start = 1> (x) }", .opset = 13, .error = "start"},
    {0}};

/* ---- Size -------------------------------------------------------------------------------------------------------- */

static bool size_infer(struct infer_ctx *c)
{
    return infer_out(c, 0, DTYPE_INT64, &SHAPE_SCALAR);
}

static bool size_eval(struct eval_ctx *c)
{
    if (eval_wants(c, 0))
        eval_out_i(c, 0)[0] = shape_count(&eval_input(c, 0)->shape);
    return true;
}

static bool size_lower(struct lower_ctx *c)
{
    const int64_t count = shape_count(lower_shape(c, 0));
    return lower_numbers(c, &count, 1);
}

static const struct op_sample size_samples[] = {
    {.text = "g (float[2,3] x) => (int64 y) { y = Size(x) }", .no_gradient = true},
    {.text = "g (float x) => (int64 y) { y = Size(x) }", .no_gradient = true},
    {.text = "g (float[2,0] x) => (int64 y) { y = Size(x) }", .no_gradient = true},
    {0}};

/* The dimensions as numbers, one of which is the count. */
static bool shape_bounded(struct bounded_ctx *c)
{
    const struct value *const v = c->node->inputs.data[0];
    const struct bounded *const x = v->bounded;
    struct value *parts[SHAPE_MAX_RANK];
    size_t count = 0;
    int start, end;
    shape_range(c->node, v->shape.rank, &start, &end);
    for (int d = start; d < end; d++)
        parts[count++] = d == x->axis ? build_reshape(c->b, x->count, &SHAPE(1))
                                      : build_ints(c->b, &v->shape.dim[d], 1);
    if (x->axis < start || x->axis >= end)
        return true;
    return count == 1 ? bounded_become(c, "Identity", ATTRS_NONE, parts, 1)
                      : bounded_become(c, "Concat", ATTRS(attr_int("axis", 0)), parts, count);
}

static bool size_bounded(struct bounded_ctx *c)
{
    const struct value *const v = c->node->inputs.data[0];
    const struct bounded *const x = v->bounded;
    const int64_t others =
        shape_count_range(&v->shape, 0, x->axis) * shape_count_range(&v->shape, x->axis + 1, v->shape.rank);
    return bounded_become(c, "Mul", ATTRS_NONE, (struct value *const[]){x->count, build_int(c->b, others)}, 2);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_shape[] = {
    {.name = "Shape", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs, .infer = shape_infer,
     .grad = grad_none, .eval = shape_eval, .lower = shape_lower,
     .bounded = shape_bounded, .sizes = SIZES_DIMS, .samples = samples, .shape_only = true},
    {.name = "Size", .versions = size_versions, .inputs = inputs, .outputs = size_outputs, .infer = size_infer,
     .grad = grad_none, .eval = size_eval, .lower = size_lower,
     .bounded = size_bounded, .sizes = SIZES_COUNT, .samples = size_samples, .shape_only = true},
    {0}};
