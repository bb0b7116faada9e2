/* Concat: tensors that differ only along `axis`, one after the other.
 * Spec: ONNX Concat-1 (axis 1 by default), -4 to -13 (axis required). */
#include "ops/move_rules.h"

static const struct op_attr attrs_1[] = {{.name = "axis", .type = ATTR_INT, .int_default = 1}, {0}};
static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .required = true}, {0}};

static bool upgrade_1(struct upgrade_ctx *c)
{
    if (node_attr(c->node, "axis") == NULL)
        node_set_attr(c->node, attr_int("axis", 1));
    return true;
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16), .attrs = attrs_1, .upgrade = upgrade_1},
    {.since = 4, .dtypes = MOVE_TYPES_1},
    {.since = 11, .dtypes = MOVE_TYPES_1},
    {.since = 13},
    {0}};
static const struct op_param inputs[] = {
    {.name = "inputs", .type = 'T', .dtypes = MOVE_TYPES_25, .flags = PARAM_VARIADIC}, {0}};
static const struct op_param outputs[] = {{.name = "concat_result", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};

static int concat_axis(const struct node *n)
{
    int axis = 0;
    (void)shape_axis(n->inputs.data[0]->shape.rank, op_attr_int(n, "axis"), &axis);
    return axis;
}

static bool check_input(struct infer_ctx *c, int i, int axis)
{
    const struct shape *first = infer_shape(c, 0), *x = infer_shape(c, i);
    if (x->rank != first->rank)
        return infer_error(c, "input %d '%s' has rank %d, expected %d as input 0 '%s'", i, infer_in(c, i)->name,
                           x->rank, first->rank, infer_in(c, 0)->name);
    for (int d = 0; d < x->rank; d++)
        if (d != axis && x->dim[d] != first->dim[d])
            return infer_error(c, "dimension %d of input %d '%s' is %lld, expected %lld as in input 0 '%s'", d, i,
                               infer_in(c, i)->name, (long long)x->dim[d], (long long)first->dim[d],
                               infer_in(c, 0)->name);
    return true;
}

static bool concat_infer(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), y.rank, &axis))
        return false;
    for (int i = 1; i < infer_input_count(c); i++) {
        if (!check_input(c, i, axis))
            return false;
        /* the sum of two cannot overflow: each is at most INT64_MAX / 16, as of every shape that was checked */
        shape_set(&y, axis, size_sum(shape_size(&y, axis), shape_size(infer_shape(c, i), axis)));
        if (y.dim[axis] > INT64_MAX / 16)
            return infer_error(c, "the result is too large");
    }
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* dx_i = its slice of dy */
static bool concat_grad(struct grad_ctx *c)
{
    const int axis = concat_axis(c->node);
    struct size at = size_constant(0);
    for (int i = 0; i < grad_input_count(c); i++) {
        const struct size start = at;
        at = size_sum(at, shape_size(&grad_input(c, i)->shape, axis));
        if (!grad_wants(c, i))
            continue;
        struct value *part = build(c, "Slice", grad_of_output(c, 0), build_dims(c->b, &SHAPE_OF(start)),
                                   build_dims(c->b, &SHAPE_OF(at)), build_ints(c->b, &(int64_t){axis}, 1));
        if (!grad_accumulate(c, i, part))
            return false;
    }
    return true;
}

static bool concat_eval(struct eval_ctx *c)
{
    const int axis = concat_axis(c->node);
    struct eval_tensor *y = eval_output(c, 0);
    int64_t stride[SHAPE_MAX_RANK], offset = 0;
    if (y == NULL)
        return true;
    shape_strides(&y->shape, stride);
    for (int i = 0; i < (int)c->node->inputs.count; i++) {
        move_write_strided(y, offset, stride, eval_input(c, i));
        offset += eval_input(c, i)->shape.dim[axis] * stride[axis];
    }
    return true;
}

/* Is input i computed for this node alone? Then its copy is a kernel of its own, that fusion may put where the
 * input is computed. */
static bool is_own(const struct lower_ctx *c, int i)
{
    return lower_view_of(c, i).buffer->kind == BUFFER_TEMP && node_input(c->node, (size_t)i)->uses.count == 1;
}

/* Each input is stored into its slice of the result: those that come from elsewhere by the parts of one kernel. */
static bool concat_lower(struct lower_ctx *c)
{
    const int axis = concat_axis(c->node);
    if (c->node->inputs.count == 1)
        return lower_as_reshape(c, 0, 0);
    const struct view out = lower_out_view(c, 0);
    if (out.buffer->count == 0)
        return true;
    struct view to = out;
    bool is_open = false;
    for (int i = 0; i < (int)c->node->inputs.count; i++) {
        const struct view from = lower_view_of(c, i);
        to.shape = from.shape;
        if (shape_count(&from.shape) > 0 && (!is_open || is_own(c, i)))
            lower_kernel(c, NULL);
        is_open = shape_count(&from.shape) > 0 ? !is_own(c, i) : is_open;
        if (shape_count(&from.shape) > 0)
            lower_store(c, lower_part(c, &from.shape), &to, lower_in_over(c, i, &from.shape));
        to.offset += from.shape.dim[axis] * out.stride[axis];
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] a, float[1,3] b) => (float[3,3] y) { y = Concat <axis = 0> (a, b) }"},
    {.text = "g (double[2,3] a, double[2,1] b, double[2,2] c) => (double[2,6] y) { y = Concat <axis = -1> (a, b, c) }"},
    {.text = "g (float[2,3] a) => (float[2,6] y) { y = Concat <axis = 1> (a, a) }"},
    {.text = "g (float[2,3] a) => (float[2,3] y) { y = Concat <axis = 0> (a) }"},
    {.text = "g (float[0] a, float[1] b) => (float[1] y) { y = Concat <axis = 0> (a, b) }"},
    {.text = "g (int64[0] a, int64[2] b) => (int64[2] y) { y = Concat <axis = 0> (a, b) }", .no_gradient = true},
    {.text = "g (float[2,3] a, float[2,1] b) => (float[2,4] y) { y = Concat(a, b) }", .opset = 1},
    {.text = "g (float[2,3] a, float[1,2] b) => (float[3,3] y) { y = Concat <axis = 0> (a, b) }",
     .error = "dimension 1 of input 1 'b' is 2, expected 3"},
    {.text = "g (float[2,3] a, float[3] b) => (float[3,3] y) { y = Concat <axis = 0> (a, b) }",
     .error = "has rank 1, expected 2"},
    {.text = "g (float a, float b) => (float[2] y) { y = Concat <axis = 0> (a, b) }", .error = "is a scalar"},
    {.text = "g (float16[2,3] a, float16[2,2] b) => (float16[2,5] y) { y = Concat <axis = 1> (a, b) }"},
    {.text = "g (bfloat16[2,3] a, bfloat16[1,3] b) => (bfloat16[3,3] y) { s = Exp(a) y = Concat <axis = 0> (s, b) }"},
    {.text = "g (float[2,3] a, float[2] b) => (float[4,3] y) { y = Concat <axis = 0> (a, b) }",
     .error = "input 1 'b' has rank 1, expected 2 as input 0 'a'"},
    {.text = "g (float[2,3] a, float[2,4] b) => (float[4,3] y) { y = Concat <axis = 0> (a, b) }",
     .error = "dimension 1 of input 1 'b' is 4, expected 3 as in input 0 'a'"},
    {.text = "g (float[2] a) => (float[2] y) { y = Concat <axis = 1> (a) }",
     .error = "axis 1"},
    {0}};

static bool concat_bounded(struct bounded_ctx *c)
{
    int of = 0; /* some input is bounded, or nobody would ask */
    while (bounded_in(c, of) == NULL)
        of++;
    const struct bounded *const first = bounded_in(c, of);
    if (first->axis == concat_axis(c->node))
        return bounded_refuse(c, of, "Concat would put something behind the last of them");
    for (int i = 0; i < (int)c->node->inputs.count; i++) {
        const struct bounded *const x = bounded_in(c, i);
        if (x == NULL || x->axis != first->axis || !bounded_alike(x, first))
            return bounded_refuse(c, x != NULL ? i : of, "Concat needs as many in all inputs");
    }
    return bounded_out(c, 0, first, first->axis);
}

static void concat_axes(struct axes_ctx *c)
{
    for (size_t i = 0; i < c->node->inputs.count; i++)
        axes_pass_but(c, (int)i, 0, concat_axis(c->node));
}

const struct op_def op_defs_concat[] = {
    {.name = "Concat", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = concat_infer, .axes = concat_axes, .grad = concat_grad, .eval = concat_eval, .lower = concat_lower,
     .bounded = concat_bounded, .sizes = SIZES_MOVED, .samples = samples},
    {0}};
