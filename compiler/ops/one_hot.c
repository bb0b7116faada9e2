/* OneHot: values[1] where the index, along a new axis, is the position, else values[0]; and Hardmax, which is 1 at the
 * first of the greatest elements along an axis and 0 elsewhere.
 *   y[o.., k, i..] = indices[o.., i..] is k ? values[1] : values[0]
 * Negative indices count from the end; those outside of [-depth, depth) give values[0] everywhere. Indices of a
 * floating type lose their fraction. d values[1] is the sum of dy where the index is, d values[0] that of the rest.
 * Hardmax, as a step, has no gradient.
 * Spec: ONNX OneHot-9, -11 (negative indices); Hardmax-1, -11 (flattened at `axis`), -13. */
#include "ops/flatten_rules.h"
#include "ops/move_rules.h"

/* ---- OneHot: schema ---------------------------------------------------------------------------------------------- */

#define NUMERIC_9 (DTYPES_NUMERIC & ~DTYPE_BIT(DTYPE_BFLOAT16))
static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = -1}, {0}};
static const struct op_version versions[] = {{.since = 9}, {.since = 11}, {0}};
static const struct op_param inputs[] = {{.name = "indices", .dtypes = NUMERIC_9, .flags = PARAM_NOT_DIFF},
                                         {.name = "depth", .dtypes = NUMERIC_9, .flags = PARAM_NOT_DIFF},
                                         {.name = "values", .type = 'T', .dtypes = DTYPES_ALL},
                                         {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static int hot_axis(const struct node *n)
{
    int axis = 0;
    (void)shape_axis(n->inputs.data[0]->shape.rank + 1, op_attr_int(n, "axis"), &axis);
    return axis;
}

static bool infer_depth(struct infer_ctx *c, struct size *depth)
{
    const struct tensor *t = infer_known(c, 1);
    if (t == NULL)
        return false;
    if (t->count != 1 || t->shape.rank > 1)
        return infer_error(c, "input 1 '%s' (depth) has shape %s, expected a single number", infer_in(c, 1)->name,
                           shape_text(c->graph->arena, &t->shape));
    *depth = dtype_is_float(t->dtype) ? size_constant(dtype_from_double(DTYPE_INT64, tensor_get_double(t, 0)))
                                      : tensor_get_size(t, 0);
    return depth->most >= 0 || infer_error(c, "input 1 '%s' (depth) is %lld, expected 0 or more", infer_in(c, 1)->name,
                                           (long long)depth->most);
}

static bool hot_infer(struct infer_ctx *c)
{
    const struct shape *indices = infer_shape(c, 0), *values = infer_shape(c, 2);
    struct size depth;
    int axis;
    if (indices->rank == SHAPE_MAX_RANK)
        return infer_error(c, "the result would have rank %d, at most %d is supported", indices->rank + 1,
                           SHAPE_MAX_RANK);
    if (!infer_axis(c, op_attr_int(c->node, "axis"), indices->rank + 1, &axis) || !infer_depth(c, &depth))
        return false;
    if (values->rank != 1 || values->dim[0] != 2)
        return infer_error(c, "input 2 '%s' (values) has shape %s, expected [2]", infer_in(c, 2)->name,
                           shape_text(c->graph->arena, values));
    struct shape y = {.rank = indices->rank + 1};
    for (int d = 0; d < y.rank; d++)
        shape_set(&y, d, d == axis ? depth : shape_size(indices, d < axis ? d : d - 1));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

static int64_t hot_selects_from(const struct node *n, int input)
{
    const struct value *y = node_output(n, 0);
    return input == 0 && y != NULL ? y->shape.dim[hot_axis(n)] : 0;
}

/* ---- OneHot: gradient, value, code ------------------------------------------------------------------------------- */

/* The sum of dy where the index is (1), or is not (0). */
static struct value *sum_where(struct grad_ctx *c, int is_there)
{
    struct arena *a = c->b->graph->arena;
    struct value *dy = grad_of_output(c, 0);
    struct tensor *choice = tensor_new(a, dy->dtype, &SHAPE(2));
    tensor_set_double(choice, is_there, 1.0);
    struct value *mask = build_with(c, "OneHot", ATTRS(attr_int("axis", grad_attr_int(c, "axis"))), grad_input(c, 0),
                                    grad_input(c, 1), build_constant(c->b, choice));
    struct value *flat = build_reshape(c->b, build(c, "Mul", dy, mask), &SHAPE_OF(shape_elements(&dy->shape)));
    return build_reduce_sum(c->b, flat, &(int){0}, 1, true);
}

static bool hot_grad(struct grad_ctx *c)
{
    if (!grad_wants(c, 2))
        return true;
    struct value *rest = sum_where(c, 0), *there = sum_where(c, 1);
    return grad_accumulate(c, 2, build_with(c, "Concat", ATTRS(attr_int("axis", 0)), rest, there));
}

/* Element k of the indices, from 0 on; no position if it is out of range. */
static int64_t position_of(const struct eval_tensor *indices, int64_t k, int64_t depth)
{
    if (indices->f == NULL && !dtype_is_signed(indices->dtype))
        return indices->i[k]; /* that of a huge uint64 is negative here */
    const int64_t index = indices->f != NULL ? dtype_from_double(DTYPE_INT64, indices->f[k]) : indices->i[k];
    return index < 0 ? index + depth : index;
}

static bool hot_eval(struct eval_ctx *c)
{
    const struct eval_tensor *indices = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    const int axis = hot_axis(c->node);
    for (int64_t p = 0; y != NULL && p < y->count; p++) {
        const int64_t depth = y->shape.dim[axis], inner = shape_count_range(&y->shape, axis + 1, y->shape.rank);
        const int64_t k = p / inner % depth, from = p / inner / depth * inner + p % inner;
        move_element(y, p, eval_input(c, 2), position_of(indices, from, depth) == k);
    }
    return true;
}

/* One of the two values: a literal where they are known. */
static const struct expr *choice(struct lower_ctx *c, int which)
{
    const struct tensor *known = value_known(c->node->inputs.data[2]);
    const enum dtype type = lower_out_dtype(c, 0);
    if (known != NULL)
        return dtype_is_float(type) ? expr_float(c->arena, type, tensor_get_double(known, which))
                                    : expr_int(c->arena, type, tensor_get_int(known, which));
    struct view values = lower_view_of(c, 2);
    values.offset += which * values.stride[0];
    values.shape = *lower_out_shape(c, 0);
    values.stride[0] = 0;
    return lower_load(c, &values);
}

static bool hot_lower(struct lower_ctx *c)
{
    struct arena *a = c->arena;
    const struct view indices = lower_view_of(c, 0);
    const struct shape *shape = lower_out_shape(c, 0);
    const int axis = hot_axis(c->node);
    struct view over = {.buffer = indices.buffer, .offset = indices.offset, .shape = *shape};
    for (int d = 0; d < indices.shape.rank; d++)
        over.stride[d < axis ? d : d + 1] = indices.stride[d];
    const enum dtype type = indices.buffer->dtype;
    const struct expr *index = expr_cast(a, DTYPE_INT64, lower_load(c, &over));
    if (dtype_is_float(type) || dtype_is_signed(type))
        index = expr_select(a, expr_binary(a, EXPR_LT, index, expr_int(a, DTYPE_INT64, 0)),
                            expr_binary(a, EXPR_ADD, index, expr_int(a, DTYPE_INT64, shape->dim[axis])), index);
    const struct expr *is_there = expr_binary(a, EXPR_EQ, index, expr_index(a, axis));
    return lower_map(c, expr_select(a, is_there, choice(c, 1), choice(c, 0)));
}

#define DEPTH_4 "d = Constant <value_int = 4> () "
static const struct op_sample samples[] = {
    {.text = "g (int64[3] i, float[2] v) => (float[3,4] y) { " DEPTH_4 "y = OneHot(i, d, v) }", .feed = "index:4"},
    {.text = "g (int32[2,3] i, double[2] v) => (double[4,2,3] y) { " DEPTH_4 "y = OneHot <axis = 0> (i, d, v) }"},
    {.text = "g (int8[2,3] i, float16[2] v) => (float16[2,4,3] y) { " DEPTH_4 "y = OneHot <axis = -2> (i, d, v) }"},
    {.text = "g (float[5] i, int32[2] v) => (int32[5,4] y) { " DEPTH_4 "y = OneHot(i, d, v) }", .no_gradient = true},
    {.text = "g (uint64[5] i, bool[2] v) => (bool[5,4] y) { " DEPTH_4 "y = OneHot(i, d, v) }", .no_gradient = true},
    {.text = "g (uint64 i) => (float[3] y) { d = Constant <value_floats = [3.5]> () v = Constant <value_floats = "
             "[-1.0, 2.0]> () "
             "y = OneHot(i, d, v) }",
     .opset = 9},
    /* -5 to 5: those below 0 count from the end */
    {.text = "g (int64[40] i, float[2] v) => (float[40,4] y) { n = Constant <value_int = 5> () k = Sub(i, n) " DEPTH_4
             "y = OneHot(k, d, v) }",
     .feed = "index:11"},
    {.text = "g (int64[40] i, float[2] v) => (float[40,4] y) { n = Constant <value_int = 5> () k = Sub(i, n) " DEPTH_4
             "f = Cast <to = 1> (k) y = OneHot(f, d, v) }",
     .feed = "index:11"},
    {.text = "g (int64[0] i, float[2] v) => (float[0,4] y) { " DEPTH_4 "y = OneHot(i, d, v) }"},
    {.text = "g (int64[3] i, float[2] v) => (float[3,0] y) { d = Constant <value_int = 0> () y = OneHot(i, d, v) }"},
    {.text = "g (int64[3] i, int64 d, float[2] v) => (float[3,4] y) { y = OneHot(i, d, v) }",
     .error = "must be known at compile time"},
    {.text = "g (int64[3] i, float[2] v) => (float[3,4] y) { d = Constant <value_int = -4> () y = OneHot(i, d, v) }",
     .error = "is -4, expected 0 or more"},
    {.text =
         "g (int64[3] i, float[2] v) => (float[3,4] y) { d = Constant <value_ints = [4, 4]> () y = OneHot(i, d, v) }",
     .error = "expected a single number"},
    {.text = "g (int64[3] i, float[3] v) => (float[3,4] y) { " DEPTH_4 "y = OneHot(i, d, v) }",
     .error = "has shape [3], expected [2]"},
    {.text = "g (int64[3] i, float[2] v) => (float[3,4] y) { " DEPTH_4 "y = OneHot <axis = 2> (i, d, v) }",
     .error = "out of range"},
    {.text = "g (int64[1,1,1,1,1,1,1,1,1,1,1,1] i, float[2] v) => (float[3] y) { d = Constant <value_int = 4> "
             "() y = OneHot(i, d, v) }",
     .error = "the result would have rank 13, at most 12 is supported"},
    {0}};

/* ---- Hardmax ----------------------------------------------------------------------------------------------------- */

static const struct op_attr max_attrs_1[] = {{.name = "axis", .type = ATTR_INT, .int_default = 1}, {0}};
static const struct op_version max_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = max_attrs_1},
    {.since = 11, .dtypes = FLOATS_1, .attrs = max_attrs_1, .upgrade = flatten_upgrade},
    {.since = 13},
    {0}};
static const struct op_param max_inputs[] = {{.name = "input", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param max_outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool max_infer(struct infer_ctx *c)
{
    int axis;
    return infer_axis(c, op_attr_int(c->node, "axis"), infer_rank(c, 0), &axis) && infer_same_as_input(c);
}

static bool max_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    int axis = 0;
    (void)shape_axis(x->shape.rank, op_attr_int(c->node, "axis"), &axis);
    struct tensor *choice = tensor_new(c->b->graph->arena, x->dtype, &SHAPE(2));
    tensor_set_double(choice, 1, 1.0);
    struct value *first = build_with(c, "ArgMax", ATTRS(attr_int("axis", axis), attr_int("keepdims", 0)), x);
    return expand_out(c, 0,
                      build_with(c, "OneHot", ATTRS(attr_int("axis", axis)), first,
                                 build_size(c->b, shape_size(&x->shape, axis)), build_constant(c->b, choice)));
}

/* An index without an axis of its own is no input of ONNX's. */
static bool hot_plain(struct expand_ctx *c)
{
    struct value *const y = node_output(c->node, 0), *const index = expand_in(c, 0);
    if (index->shape.rank > 0)
        return true;
    struct value *const list = build_reshape(c->b, index, &SHAPE(1));
    struct value *const hot = build(c, "OneHot", list, expand_in(c, 1), expand_in(c, 2));
    return expand_out(c, 0, build_reshape(c->b, hot, &y->shape));
}

/* Is x greater than all that came before it? A NaN is, if it is the first. */
static bool is_greater(double x, double greatest)
{
    return x > greatest || (x != x && greatest == greatest);
}

static bool max_eval(struct eval_ctx *c)
{
    const struct shape *s = &eval_input(c, 0)->shape;
    int axis = 0;
    (void)shape_axis(s->rank, op_attr_int(c->node, "axis"), &axis);
    const int64_t size = s->dim[axis], inner = shape_count_range(s, axis + 1, s->rank);
    const double *x = eval_f(c, 0);
    double *y = eval_out_f(c, 0);
    for (int64_t line = 0; y != NULL && size > 0 && line < eval_input(c, 0)->count / size; line++) {
        const int64_t start = line / inner * size * inner + line % inner;
        int64_t best = 0;
        for (int64_t k = 1; k < size; k++)
            if (is_greater(x[start + k * inner], x[start + best * inner]))
                best = k;
        y[start + best * inner] = 1.0;
    }
    return true;
}

static const struct op_sample max_samples[] = {
    {.text = "g (float[2,5] x) => (float[2,5] y) { y = Hardmax(x) }"},
    {.text = "g (double[3,4,2] x) => (double[3,4,2] y) { y = Hardmax <axis = -2> (x) }"},
    {.text = "g (float16[4,3] x) => (float16[4,3] y) { y = Hardmax <axis = 0> (x) }"},
    {.text = "g (float[2,3,4] x) => (float[2,3,4] y) { y = Hardmax(x) }", .opset = 11},
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Hardmax(x) }", .opset = 1},
    {.text = "g () => (float[4] y) { x = Constant <value_floats = [1.0, 3.0, 3.0, 2.0]> () y = Hardmax(x) }"},
    {.text = "g (float[0,3] x) => (float[0,3] y) { y = Hardmax(x) }"},
    {.text = "g (float x) => (float y) { y = Hardmax(x) }", .error = "is a scalar"},
    {0}};

static bool hot_bounded(struct bounded_ctx *c)
{
    const struct bounded *const x = bounded_in(c, 0);
    if (x == NULL || !bounded_only(c, 0))
        return x != NULL || bounded_refuse(c, bounded_in(c, 1) != NULL ? 1 : 2, "OneHot needs a fixed size");
    return bounded_out(c, 0, x, x->axis + (x->axis >= hot_axis(c->node)));
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void hot_axes(struct axes_ctx *c)
{
    int axis;
    const int rank = node_input(c->node, 0)->shape.rank;
    (void)shape_axis(rank + 1, op_attr_int(c->node, "axis"), &axis);
    for (int d = 0; d < rank; d++)
        axes_pass(c, 0, d, 0, d + (d >= axis));
}

static void max_axes(struct axes_ctx *c)
{
    int axis;
    (void)shape_axis(node_input(c->node, 0)->shape.rank, op_attr_int(c->node, "axis"), &axis);
    axes_pass_but(c, 0, 0, axis);
}

const struct op_def op_defs_one_hot[] = {
    {.name = "OneHot", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = hot_infer, .axes = hot_axes,
     .grad = hot_grad, .plain = hot_plain, .eval = hot_eval, .lower = hot_lower, .selects_from = hot_selects_from,
     .bounded = hot_bounded, .samples = samples},
    {.name = "Hardmax", .versions = max_versions, .inputs = max_inputs, .outputs = max_outputs, .attrs = attrs,
     .infer = max_infer, .axes = max_axes,
     .grad = grad_none, .expand = max_expand, .eval = max_eval, .samples = max_samples},
    {0}};
