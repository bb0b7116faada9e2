/* GatherElements: for each index an element, along one axis, of the line that the index stands in.
 *   y[o.., k, i..] = data[o.., indices[o.., k, i..], i..]
 * indices may be shorter than data along the other axes. Indices: ops/index_rules.h. d data is dy added where each
 * element came from, in the order of the indices (stepc.Scatter).
 * Spec: ONNX GatherElements-11, -13 (bfloat16). */
#include "graph/axes.h"
#include "ops/index_rules.h"

static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_version versions[] = {{.since = 11, .dtypes = MOVE_TYPES_1}, {.since = 13}, {0}};
static const struct op_param inputs[] = {{.name = "data", .type = 'T', .dtypes = DTYPES_ALL},
                                         {.name = "indices", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

static bool gather_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1);
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), x->rank, &axis))
        return false;
    return index_infer_elements(c, axis) && infer_out(c, 0, DTYPE_UNDEFINED, indices);
}

static int64_t gather_selects_from(const struct node *n, int input)
{
    return input == 1 ? n->inputs.data[0]->shape.dim[move_axis(n)] : 0;
}

/* What the indices can name, as [outer,size,inner], gets the sums; the rest of x gets zeros. */
static bool gather_grad(struct grad_ctx *c)
{
    const struct shape *x = &grad_input(c, 0)->shape, *y = &grad_input(c, 1)->shape;
    const int axis = move_axis(c->node);
    const struct size size = shape_size(x, axis);
    const struct shape lines =
        SHAPE_OF(shape_size_range(y, 0, axis), shape_size(y, axis), shape_size_range(y, axis + 1, y->rank));
    int64_t starts[SHAPE_MAX_RANK] = {0}, steps[SHAPE_MAX_RANK];
    struct shape named = *y;
    shape_set(&named, axis, size);
    for (int d = 0; d < x->rank; d++)
        steps[d] = 1;
    struct value *dx =
        build_with(c, "stepc.Scatter", ATTRS(attr_size("size", &size)),
                   build_reshape(c->b, grad_input(c, 1), &lines), build_reshape(c->b, grad_of_output(c, 0), &lines));
    dx = build_reshape(c->b, dx, &named);
    const size_t rank = (size_t)x->rank;
    const struct attr *place =
        ATTRS(attr_dims("shape", x), attr_ints("starts", starts, rank), attr_ints("steps", steps, rank));
    return grad_accumulate(c, 0, shape_equal(&named, x) ? dx : build_with(c, "stepc.SliceGrad", place, dx));
}

static bool gather_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct shape *indices = &eval_input(c, 1)->shape;
    const int axis = move_axis(c->node);
    struct eval_tensor *y = eval_output(c, 0);
    int64_t stride[SHAPE_MAX_RANK], point[SHAPE_MAX_RANK] = {0};
    shape_strides(&x->shape, stride);
    for (int64_t k = 0; k < eval_input(c, 1)->count; k++) {
        int64_t from = 0, index;
        if (!index_read(c, 1, k, x->shape.dim[axis], &index))
            return false;
        for (int d = 0; d < indices->rank; d++)
            from += stride[d] * (d == axis ? index : point[d]);
        if (y != NULL)
            move_element(y, k, x, from);
        shape_next(indices, point);
    }
    return true;
}

static bool gather_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0), indices = lower_view_of(c, 1), out = lower_out_view(c, 0);
    const int axis = move_axis(c->node);
    const int64_t size = x.shape.dim[axis];
    if (out.buffer->count == 0)
        return true;
    lower_kernel(c, NULL);
    index_add_check(c, 1, &indices, INDEX_ALL, size);
    struct view lines = x;
    lines.shape = out.shape;
    lines.stride[axis] = 0;
    struct access access = lower_access(&lines);
    access.term[access.term_count++] =
        (struct access_term){.index = index_load(c, &indices, size), .stride = x.stride[axis], .extent = size};
    lower_store(c, lower_part(c, &out.shape), &out, lower_load_at(c, &access));
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[5,3] x, int64[4,3] i) => (float[4,3] y) { y = GatherElements(x, i) }", .feed = ",index:5"},
    {.text = "g (double[2,5,3] x, int32[2,7,3] i) => (double[2,7,3] y) { y = GatherElements <axis = -2> (x, i) }",
     .feed = ",index:5"},
    {.text = "g (float[4,5] x, int64[4,1] i) => (float[4,1] y) { y = GatherElements <axis = 1> (x, i) }",
     .feed = ",index:5"},
    {.text = "g (float[4,5,3] x, int64[2,6,1] i) => (float[2,6,1] y) { y = GatherElements <axis = 1> (x, i) }",
     .feed = ",index:5"},
    {.text =
         "g (float[4,3] x, int64[6,1] i) => (float[6,3] y) { s = Constant <value_ints = [6, 3]> () e = Expand(i, s) "
         "y = GatherElements(x, e) }",
     .feed = ",index:4"},
    {.text = "g (float[2,3] x) => (float[2,2] y) { i = Constant <value = int64[2,2] {-1, 0, 1, -3}> () "
             "y = GatherElements <axis = 1> (x, i) }"},
    {.text = "g (float[5,3] x, int64[9,3] i) => (float[9,3] y) { n = Constant <value_int = 5> () k = Sub(i, n) "
             "y = GatherElements(x, k) }",
     .feed = ",index:10"},
    {.text = "g (float[5,3] x, int64[0,3] i) => (float[0,3] y) { y = GatherElements(x, i) }"},
    {.text = "g (bool[5] x, int64[2] i) => (bool[2] y) { y = GatherElements(x, i) }",
     .feed = ",index:5",
     .no_gradient = true},
    {.text = "g (int8[5] x, int64[2] i) => (int8[2] y) { y = GatherElements(x, i) }",
     .feed = ",index:5",
     .opset = 11,
     .no_gradient = true},
    {.text = "g (bfloat16[5,3] x, int64[4,3] i) => (bfloat16[4,3] y) { y = GatherElements(x, i) }", .feed = ",index:5"},
    {.text = "g (float[5,3] x) => (float[1,1] y) { i = Constant <value = int64[1,1] {5}> () y = GatherElements(x, i) }",
     .error = "is the index 5, expected -5 to 4"},
    {.text = "g (float[5,3] x, int64[4,3] i) => (float[4,3] y) { y = GatherElements(x, i) }",
     .feed = ",index:100",
     .error = ", expected -5 to 4"},
    {.text = "g (float[5,3] x, int64[4] i) => (float[4] y) { y = GatherElements(x, i) }",
     .error = "has rank 1, expected 2"},
    {.text = "g (float[5,3] x, int64[4,4] i) => (float[4,4] y) { y = GatherElements(x, i) }",
     .error = "is 4, expected at most 3"},
    {.text = "g (float x, int64 i) => (float y) { y = GatherElements(x, i) }", .error = "is a scalar"},
    {.text = "g (float[5] x, float[1] i) => (float[1] y) { y = GatherElements(x, i) }", .error = "float"},
    {0}};

/* Lines of indices stand beside lines of data. */
static bool gather_bounded(struct bounded_ctx *c)
{
    const struct bounded *x = bounded_in(c, 0), *indices = bounded_in(c, 1);
    const int axis = move_axis(c->node);
    if (x != NULL && x->axis == axis)
        return bounded_refuse(c, 0, "GatherElements takes elements along this axis by their place");
    if (indices != NULL && indices->axis == axis && bounded_only(c, 1))
        return bounded_out(c, 0, indices, axis);
    if (x == NULL || indices == NULL || x->axis != indices->axis || !bounded_alike(x, indices))
        return bounded_refuse(c, x != NULL ? 0 : 1, "it is not known to be as many as in the other input");
    return bounded_out(c, 0, x, x->axis);
}

static void gather_labels(struct axes_ctx *c)
{
    const struct shape *const x = &node_input(c->node, 0)->shape, *const i = &node_input(c->node, 1)->shape;
    for (int d = 0; d < x->rank; d++)
        if (d != move_axis(c->node) && x->dim[d] == i->dim[d]) {
            axes_pass(c, 1, d, 0, d);
            axes_pass(c, 0, d, 0, d);
        }
}

const struct op_def op_defs_gather_elements[] = {
    {.name = "GatherElements", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = gather_infer, .axes = gather_labels,
     .grad = gather_grad, .eval = gather_eval, .lower = gather_lower,
     .selects_from = gather_selects_from, .bounded = gather_bounded, .samples = samples},
    {0}};
