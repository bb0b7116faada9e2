/* Split: the parts of a tensor along one axis, the inverse of Concat.
 * Spec: ONNX Split-1 and -2 (sizes are an attribute), -13 (an input), -18 (or a number of parts, the
 * last may be smaller). */
#include "ops/move_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define ATTR_AXIS {.name = "axis", .type = ATTR_INT, .int_default = 0}

static const struct op_attr attrs_2[] = {ATTR_AXIS, {.name = "split", .type = ATTR_INTS, .no_default = true}, {0}};
static const struct op_attr attrs_13[] = {ATTR_AXIS, {0}};
static const struct op_attr attrs[] = {ATTR_AXIS, {.name = "num_outputs", .type = ATTR_INT, .no_default = true}, {0}};
static const struct op_param inputs_1[] = {
    {.name = "input", .type = 'T', .dtypes = FLOATS_1},
    {.name = "split", .type = 'T', .dtypes = FLOATS_1, .flags = PARAM_OPTIONAL},
    {0}};
static const struct op_param inputs_2[] = {{.name = "input", .type = 'T', .dtypes = MOVE_TYPES_1}, {0}};

/* Version 1 knows the sizes as an input as well, of the input's floating type. */
static bool upgrade_1(struct upgrade_ctx *c)
{
    struct value *sizes = node_input(c->node, 1);
    if (sizes != NULL)
        node_set_input(c->node, 1, build_cast(c->b, sizes, DTYPE_INT64));
    return !c->b->failed;
}

static bool upgrade_2(struct upgrade_ctx *c)
{
    return upgrade_attr_to_input(c, "split", 1);
}

/* Until 18 no sizes meant as many equal parts as there are outputs. */
static bool upgrade_13(struct upgrade_ctx *c)
{
    struct node *n = c->node;
    const struct value *x = node_input(n, 0);
    const int64_t parts = (int64_t)n->outputs.count;
    int axis;
    if (node_input(n, 1) != NULL || x == NULL || parts == 0)
        return true;
    if (shape_axis(x->shape.rank, node_attr(n, "axis") != NULL ? node_attr(n, "axis")->i : 0, &axis) &&
        x->shape.dim[axis] % parts != 0)
        return upgrade_error(c, "dimension %d of input 0 '%s' is %lld and cannot be split into %lld equal parts", axis,
                             x->name, (long long)x->shape.dim[axis], (long long)parts);
    node_set_attr(n, attr_int("num_outputs", parts));
    return true;
}

/* As sizes: 13 has no number of parts. */
static bool downgrade_18(struct downgrade_ctx *c)
{
    struct node *const n = c->node;
    const struct shape *const x = &n->inputs.data[0]->shape;
    int64_t sizes[INFER_MAX_OUTPUTS];
    int axis = 0;
    if (node_attr(n, "num_outputs") == NULL)
        return true;
    const int64_t parts = op_attr_int(n, "num_outputs");
    (void)shape_axis(x->rank, op_attr_int(n, "axis"), &axis);
    const int64_t each = x->dim[axis] / parts + (x->dim[axis] % parts != 0);
    for (int64_t k = 0; k < parts; k++)
        sizes[k] = k + 1 < parts ? each : x->dim[axis] - each * k;
    node_remove_attr(n, "num_outputs");
    node_add_input(n, build_ints(c->b, sizes, (size_t)parts));
    return true;
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_2, .inputs = inputs_1, .upgrade = upgrade_1},
    {.since = 2, .dtypes = MOVE_TYPES_1, .attrs = attrs_2, .inputs = inputs_2},
    {.since = 11, .dtypes = MOVE_TYPES_1, .attrs = attrs_2, .inputs = inputs_2, .upgrade = upgrade_2},
    {.since = 13, .attrs = attrs_13, .upgrade = upgrade_13, .downgrade = downgrade_18},
    {.since = 18},
    {0}};
static const struct op_param inputs[] = {
    {.name = "input", .type = 'T', .dtypes = MOVE_TYPES_25},
    {.name = "split", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF | PARAM_OPTIONAL},
    {0}};
static const struct op_param outputs[] = {
    {.name = "outputs", .type = 'T', .dtypes = MOVE_TYPES_25, .flags = PARAM_VARIADIC}, {0}};

/* ---- inference --------------------------------------------------------------------------------------------------- */

static int split_axis(const struct node *n)
{
    int axis = 0;
    (void)shape_axis(n->inputs.data[0]->shape.rank, op_attr_int(n, "axis"), &axis);
    return axis;
}

/* Sizes of all parts of a node that inference has accepted. */
static const int64_t *split_sizes(struct arena *a, const struct node *n, size_t *count)
{
    const int64_t *given = move_known_ints(a, n, 1, count);
    if (given != NULL)
        return given;
    const int64_t dim = n->inputs.data[0]->shape.dim[split_axis(n)], parts = op_attr_int(n, "num_outputs");
    const int64_t each = dim / parts + (dim % parts != 0);
    int64_t *sizes = arena_array(a, int64_t, (size_t)parts);
    for (int64_t k = 0; k < parts; k++)
        sizes[k] = k + 1 < parts ? each : dim - each * k;
    *count = (size_t)parts;
    return sizes;
}

static bool check_given_sizes(struct infer_ctx *c, int64_t dim)
{
    const int64_t *sizes;
    size_t count;
    int64_t rest = dim;
    if (node_attr(c->node, "num_outputs") != NULL)
        return infer_error(c, "both input 1 (split) and attribute 'num_outputs' are given, expected one");
    if (!infer_known_ints(c, 1, &sizes, &count))
        return false;
    for (size_t k = 0; k < count; k++) {
        if (sizes[k] < 0 || sizes[k] > rest)
            return infer_error(c, "part %zu has size %lld, of %lld that are left", k, (long long)sizes[k],
                               (long long)rest);
        rest -= sizes[k];
    }
    if (rest != 0)
        return infer_error(c, "the parts have sizes of %lld together, expected %lld, the dimension that is split",
                           (long long)(dim - rest), (long long)dim);
    return true;
}

static bool check_part_number(struct infer_ctx *c, int64_t dim)
{
    const struct attr *parts = node_attr(c->node, "num_outputs");
    if (parts == NULL)
        return infer_error(c, "neither input 1 (split) nor attribute 'num_outputs' is given");
    if (parts->i < 1 || parts->i > INFER_MAX_OUTPUTS)
        return infer_error(c, "attribute 'num_outputs' is %lld, expected 1 to %d", (long long)parts->i,
                           INFER_MAX_OUTPUTS);
    const int64_t each = dim / parts->i + (dim % parts->i != 0);
    if (each * (parts->i - 1) > dim)
        return infer_error(c, "dimension of %lld cannot be split into %lld parts of which only the last is smaller",
                           (long long)dim, (long long)parts->i);
    return true;
}

/* Of the parts that num_outputs says the last one is what is left. */
static struct size part_size(const struct node *n, struct size whole, const int64_t *sizes, size_t count, size_t k)
{
    const int64_t parts = (int64_t)count;
    if (node_input(n, 1) != NULL)
        return tensor_get_size(value_known(node_input(n, 1)), (int64_t)k);
    const struct size each = size_quotient_up(whole, parts),
                      last = size_difference(whole, size_product(each, size_constant(parts - 1)));
    return (struct size){sizes[k], k + 1 < count ? each.per : last.per};
}

static bool split_infer(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    int axis;
    size_t count;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), y.rank, &axis))
        return false;
    if (!(infer_in(c, 1) != NULL ? check_given_sizes(c, y.dim[axis]) : check_part_number(c, y.dim[axis])))
        return false;
    struct arena scratch = {0};
    const struct size whole = shape_size(&y, axis);
    const int64_t *sizes = split_sizes(&scratch, c->node, &count);
    bool ok = true;
    if (c->node->outputs.count > count)
        ok = infer_error(c, "the node has %zu outputs for %zu parts", c->node->outputs.count, count);
    for (size_t k = 0; ok && k < count; k++) {
        shape_set(&y, axis, part_size(c->node, whole, sizes, count, k));
        ok = infer_out(c, (int)k, infer_in(c, 0)->dtype, &y);
    }
    arena_free(&scratch);
    return ok;
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* dx = Concat(dy_0, dy_1, ...) with zeros for parts that nothing flows into */
static bool split_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    struct arena *a = c->b->graph->arena;
    const int axis = split_axis(c->node);
    size_t count;
    const int64_t *sizes = split_sizes(a, c->node, &count);
    struct value **parts = arena_array(a, struct value *, count);
    if (!grad_wants(c, 0))
        return true;
    for (size_t k = 0; k < count; k++) {
        struct shape shape = x->shape;
        shape_set(&shape, axis, part_size(c->node, shape_size(&x->shape, axis), sizes, count, k));
        const bool flows = k < c->node->outputs.count && grad_has_output(c, (int)k);
        parts[k] = flows ? grad_of_output(c, (int)k) : build_expand(c->b, build_like(c, x, 0.0), &shape);
    }
    return grad_accumulate(c, 0, build_value(c->b, "Concat", ATTRS(attr_int("axis", axis)), parts, count));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static bool split_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const int axis = split_axis(c->node);
    int64_t stride[SHAPE_MAX_RANK], offset = 0;
    size_t count;
    const int64_t *sizes = split_sizes(c->scratch, c->node, &count);
    shape_strides(&x->shape, stride);
    for (size_t k = 0; k < c->node->outputs.count; k++) {
        if (eval_wants(c, (int)k))
            move_read_strided(eval_output(c, (int)k), x, offset, stride);
        offset += sizes[k] * stride[axis];
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool split_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0);
    const int axis = split_axis(c->node);
    size_t count;
    const int64_t *sizes = split_sizes(c->arena, c->node, &count);
    struct view y = x;
    for (size_t k = 0; k < c->node->outputs.count; k++) {
        shape_set(&y.shape, axis, part_size(c->node, shape_size(&x.shape, axis), sizes, count, k));
        if (lower_wants(c, (int)k) && !lower_as_view(c, (int)k, &y))
            return false;
        y.offset += sizes[k] * x.stride[axis];
    }
    return true;
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

static const struct op_sample samples[] = {
    {.text = "g (float[2,6] x) => (float[2,3] y, float[2,3] z) { y, z = Split <axis = 1, num_outputs = 2> (x) }"},
    {.text = "g (double[5,2] x) => (double[2,2] y, double[1,2] z) { y, u, z = Split <num_outputs = 3> (x) }"},
    {.text = "g (float[6] x) => (float[1] y, float[3] z) { "
             "s = Constant <value_ints = [1, 2, 3]> () y, u, z = Split <axis = -1> (x, s) }"},
    {.text = "g (float[6] x) => (float[0] y, float[6] z) { s = Constant <value_ints = [0, 6]> () y, z = Split(x, s) }"},
    {.text = "g (float[6] x) => (float[2] y, float[2] z) { y, u, z = Split(x) }", .opset = 13},
    {.text = "g (float[6] x) => (float[4] y, float[2] z) { y, z = Split <split = [4, 2]> (x) }", .opset = 11},
    {.text = "g (float[5] x) => (float[3] y, float[2] z) { y, z = Split(x) }", .opset = 13, .error = "2 equal parts"},
    {.text = "g (float[5] x) => (float[3] y) { y, z = Split(x) }", .error = "neither"},
    {.text = "g (float[6] x) => (float[4] y) { s = Constant <value_ints = [4, 3]> () y, z = Split(x, s) }",
     .error = "part 1 has size 3"},
    {.text = "g (float[6] x) => (float[4] y) { s = Constant <value_ints = [4, 1]> () y, z = Split(x, s) }",
     .error = "expected 6"},
    {.text = "g (float[4,3] x) => (float[1,3] y, float[3,3] z) { y, z = Split <axis = 0, split = [1, 3]> (x) }",
     .opset = 1},
    {0}};

static bool split_bounded(struct bounded_ctx *c)
{
    if (bounded_in(c, 0)->axis == split_axis(c->node))
        return bounded_refuse(c, 0, "Split needs a fixed size of the axis that it divides");
    return bounded_same(c);
}

static void split_axes(struct axes_ctx *c)
{
    for (size_t i = 0; i < c->node->outputs.count; i++)
        axes_pass_but(c, 0, (int)i, split_axis(c->node));
}

const struct op_def op_defs_split[] = {
    {.name = "Split", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = split_infer, .axes = split_axes,
     .grad = split_grad, .eval = split_eval, .lower = split_lower, .is_view = true,
     .bounded = split_bounded, .sizes = SIZES_MOVED, .samples = samples},
    {0}};
