/* Gather: slices of data along `axis`, chosen by indices (ops/index_rules.h).
 *   y[o.., k.., i..] = data[o.., indices[k..], i..]
 * Spec: ONNX Gather-1 to -13 (11 allows negative indices, 13 only adds bfloat16). */
#include "ops/index_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_version versions[] = {
    {.since = 1, .dtypes = MOVE_TYPES_1}, {.since = 11, .dtypes = MOVE_TYPES_1}, {.since = 13}, {0}};
static const struct op_param inputs[] = {{.name = "data", .type = 'T', .dtypes = MOVE_TYPES_25},
                                         {.name = "indices", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};

/* ---- indices ----------------------------------------------------------------------------------------------------- */

static int gather_axis(const struct node *n)
{
    int axis = 0;
    (void)shape_axis(n->inputs.data[0]->shape.rank, op_attr_int(n, "axis"), &axis);
    return axis;
}

static int64_t gather_selects_from(const struct node *n, int input)
{
    return input == 1 ? n->inputs.data[0]->shape.dim[gather_axis(n)] : 0;
}

/* Are the indices known and equally spaced? Then Gather takes a range, which strides can say. */
static bool is_progression(struct value *indices, int64_t size, int64_t *start, int64_t *step)
{
    const struct tensor *t = value_known(indices);
    if (t == NULL || t->count == 0 || t->shape.rank > 1)
        return false;
    *start = index_wrap(tensor_get_int(t, 0), size);
    *step = t->count == 1 ? 1 : index_wrap(tensor_get_int(t, 1), size) - *start;
    for (int64_t k = 1; k < t->count; k++)
        if (index_wrap(tensor_get_int(t, k), size) != *start + k * *step)
            return false;
    return *step != 0;
}

/* ---- Gather ------------------------------------------------------------------------------------------------------ */

static bool gather_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1);
    struct shape y = SHAPE_SCALAR;
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), x->rank, &axis))
        return false;
    const int rank = x->rank - 1 + indices->rank;
    if (rank > SHAPE_MAX_RANK)
        return infer_error(c, "the result would have rank %d, at most %d is supported", rank, SHAPE_MAX_RANK);
    for (int d = 0; d < axis; d++)
        shape_take(&y, x, d);
    for (int d = 0; d < indices->rank; d++)
        shape_take(&y, indices, d);
    for (int d = axis + 1; d < x->rank; d++)
        shape_take(&y, x, d);
    return index_infer_known(c, 1, INDEX_ALL, x->dim[axis]) && infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* d data: each slice of dy is added where it came from, in the order of the indices. All dimensions around the axis are
 * taken as one: [outer, size, inner]. A range of distinct indices needs no addition: SliceGrad. */
static bool gather_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *indices = grad_input(c, 1);
    const int axis = gather_axis(c->node);
    const struct size size = shape_size(&x->shape, axis), outer = shape_size_range(&x->shape, 0, axis),
                      inner = shape_size_range(&x->shape, axis + 1, x->shape.rank),
                      rows = shape_elements(&indices->shape);
    struct value *dy = build_reshape(c->b, grad_of_output(c, 0), &SHAPE_OF(outer, rows, inner)), *dx;
    int64_t start, step;
    if (is_progression(indices, size.most, &start, &step)) {
        const struct attr *range = ATTRS(attr_dims("shape", &SHAPE_OF(outer, shape_size(&x->shape, axis), inner)),
                                         attr_ints("starts", (int64_t[]){0, start, 0}, 3),
                                         attr_ints("steps", (int64_t[]){1, step, 1}, 3));
        dx = build_with(c, "stepc.SliceGrad", range, dy);
    } else {
        struct value *listed = build_reshape(c->b, indices, &SHAPE_OF(size_constant(1), rows, size_constant(1)));
        dx = build_with(c, "stepc.Scatter", ATTRS(attr_size("size", &size)), listed, dy);
    }
    return grad_accumulate(c, 0, build_reshape(c->b, dx, &x->shape));
}

static bool gather_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    const int axis = gather_axis(c->node);
    const int64_t outer = shape_count_range(&x->shape, 0, axis), size = x->shape.dim[axis];
    const int64_t inner = shape_count_range(&x->shape, axis + 1, x->shape.rank), rows = eval_input(c, 1)->count;
    for (int64_t k = 0; k < rows; k++) {
        int64_t index;
        if (!index_read(c, 1, k, size, &index))
            return false;
        for (int64_t o = 0; y != NULL && o < outer; o++)
            for (int64_t i = 0; i < inner; i++)
                move_element(y, (o * rows + k) * inner + i, x, (o * size + index) * inner + i);
    }
    return true;
}

/* A view over the shape of output 0 with x's dimensions around the axis where they belong, and none in between. */
static struct view around_axis(const struct lower_ctx *c, const struct view *x, int axis, int index_rank)
{
    struct view v = {.buffer = x->buffer, .offset = x->offset, .shape = *lower_out_shape(c, 0)};
    for (int d = 0; d < axis; d++)
        v.stride[d] = x->stride[d];
    for (int d = axis + 1; d < x->shape.rank; d++)
        v.stride[d - 1 + index_rank] = x->stride[d];
    return v;
}

/* The load of x at the current point, through the indices. */
static const struct expr *lower_lookup(struct lower_ctx *c, const struct view *x, int axis)
{
    const struct view indices = lower_view_of(c, 1), v = around_axis(c, x, axis, indices.shape.rank);
    struct view over = {.buffer = indices.buffer, .offset = indices.offset, .shape = v.shape};
    for (int d = 0; d < indices.shape.rank; d++)
        over.stride[axis + d] = indices.stride[d];
    const int64_t size = x->shape.dim[axis];
    struct access access = lower_access(&v);
    access.term[access.term_count++] =
        (struct access_term){.index = index_load(c, &over, size), .stride = x->stride[axis], .extent = size};
    return lower_load_at(c, &access);
}

static bool gather_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0);
    const int axis = gather_axis(c->node);
    struct value *indices = c->node->inputs.data[1];
    int64_t start, step;
    if (is_progression(indices, x.shape.dim[axis], &start, &step)) {
        struct view y = around_axis(c, &x, axis, indices->shape.rank);
        y.offset += start * x.stride[axis];
        if (indices->shape.rank == 1)
            y.stride[axis] = step * x.stride[axis];
        return lower_as_view(c, 0, &y);
    }
    const struct view out = lower_out_view(c, 0);
    if (out.buffer->count == 0)
        return true;
    lower_kernel(c, NULL);
    const struct view shown = lower_view_of(c, 1);
    index_add_check(c, 1, &shown, INDEX_ALL, x.shape.dim[axis]);
    lower_store(c, lower_part(c, &out.shape), &out, lower_lookup(c, &x, axis));
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[5,3] x, int64[4] i) => (float[4,3] y) { y = Gather(x, i) }", .feed = ",index:5"},
    {.text = "g (float[3,128] x, int64[4] i) => (float[4,128] y) { y = Gather(x, i) }", .feed = ",index:3"},
    {.text = "g (double[2,5] x, int32[2,2] i) => (double[2,2,2] y) { y = Gather <axis = -1> (x, i) }",
     .feed = ",index:5"},
    {.text = "g (float[2,5,3] x, int64 i) => (float[2,3] y) { y = Gather <axis = 1> (x, i) }", .feed = ",index:5"},
    {.text = "g (float[5,3] x, int64[9] i) => (float[9,3] y) { n = Constant <value_int = 5> () k = Sub(i, n) "
             "y = Gather(x, k) }",
     .feed = ",index:10"},
    {.text = "g (float[3,5] x, int64[9] i) => (float[3,9] y) { n = Constant <value_int = 5> () k = Sub(i, n) "
             "y = Gather <axis = 1> (x, k) }",
     .feed = ",index:10"},
    {.text = "g (float[5,3] x, int64[4] i) => (float[4,3] y) { y = Gather(x, i) }",
     .feed = ",index:100",
     .error = ", expected -5 to 4"},
    {.text = "g (float[5,3] x, int64[4] i) => (float[4,3] y) { n = Constant <value_int = 60> () k = Sub(i, n) "
             "y = Gather(x, k) }",
     .feed = ",index:54",
     .error = ", expected -5 to 4"},
    {.text = "g (float[5,3] x) => (float[3,3] y) { i = Constant <value_ints = [-1, 0, -1]> () y = Gather(x, i) }"},
    {.text = "g (float[5,3] x) => (float[3] y) { i = Constant <value_int = -2> () y = Gather(x, i) }"},
    {.text = "g (float[3,5] x) => (float[3,2] y) "
             "{ i = Constant <value_ints = [4, 1]> () y = Gather <axis = 1> (x, i) }"},
    {.text = "g (bool[5] x, int64[2] i) => (bool[2] y) { y = Gather(x, i) }", .feed = ",index:5", .no_gradient = true},
    {.text = "g (float[5,3] x) => (float[1,3] y) { i = Constant <value_ints = [5]> () y = Gather(x, i) }",
     .error = "is the index 5, expected -5 to 4"},
    {.text = "g (float x, int64[1] i) => (float[1] y) { y = Gather(x, i) }", .error = "is a scalar"},
    {.text = "g (float[5] x, float[1] i) => (float[1] y) { y = Gather(x, i) }", .error = "float"},
    {.text = "g (float16[5,3] x, int64[4] i) => (float16[4,3] y) { y = Gather(x, i) }", .feed = ",index:5"},
    {.text = "g (float[2,1,1,1,1,1,1,1,1,1,1] x, int64[2,2] i) => (float[2,2,1,1,1,1,1,1,1,1,1,1] y) { y = "
             "Gather(x, i) }",
     .feed = ",index:2"},
    {.text = "g (float[2,1,1,1,1,1,1,1,1,1,1] x, int64[2,2,1] i) => (float[2] y) { y = Gather(x, i) }",
     .error = "the result would have rank 13, at most 12 is supported"},
    {0}};

/* Places are chosen from all there are, not from as many as there happen to be. */
static bool gather_bounded(struct bounded_ctx *c)
{
    const struct bounded *x = bounded_in(c, 0), *indices = bounded_in(c, 1);
    const int axis = gather_axis(c->node);
    if (x == NULL)
        return bounded_out(c, 0, indices, axis + indices->axis);
    if (x->axis == axis)
        return bounded_refuse(c, 0, "Gather takes elements along this axis by their place");
    if (!bounded_only(c, 0))
        return false;
    return bounded_out(c, 0, x, x->axis < axis ? x->axis : x->axis - 1 + c->node->inputs.data[1]->shape.rank);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Rows may be asked for in parts; what they are taken from is whole along the axis. */
static void gather_axes(struct axes_ctx *c)
{
    const int axis = gather_axis(c->node), indices = node_input(c->node, 1)->shape.rank;
    for (int d = 0; d < node_input(c->node, 0)->shape.rank; d++)
        if (d != axis)
            axes_pass(c, 0, d, 0, d < axis ? d : d - 1 + indices);
    for (int d = 0; d < indices; d++)
        axes_pass(c, 1, d, 0, axis + d);
}

const struct op_def op_defs_gather[] = {
    {.name = "Gather", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = gather_infer, .axes = gather_axes, .grad = gather_grad, .eval = gather_eval, .lower = gather_lower,
     .selects_from = gather_selects_from, .bounded = gather_bounded, .sizes = SIZES_MOVED, .samples = samples},
    {0}};
