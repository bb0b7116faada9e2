/* GatherND: elements or slices of data at points; and stepc.PointIndex, which numbers points row-major.
 *   y[b.., k.., i..] = data[b.., indices[b.., k.., 0], indices[b.., k.., 1], .., i..]
 * b are the first batch_dims axes. Indices: ops/index_rules.h. d data is dy added where each slice came from, in the
 * order of the indices (stepc.Scatter).
 * Spec: ONNX GatherND-11, -12 (batch_dims), -13 (bfloat16). */
#include "ops/index_rules.h"

/* ---- GatherND: schema -------------------------------------------------------------------------------------------- */

static const struct op_attr attrs[] = {{.name = "batch_dims", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_attr attrs_11[] = {{0}};
static const struct op_version versions[] = {{.since = 11, .dtypes = MOVE_TYPES_1, .attrs = attrs_11},
                                             {.since = 12, .dtypes = MOVE_TYPES_1},
                                             {.since = 13},
                                             {0}};
static const struct op_param inputs[] = {{.name = "data", .type = 'T', .dtypes = DTYPES_ALL},
                                         {.name = "indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

/* Axes of data: `batch`, then those of a point, then those of a slice. Axes of the indices: `batch`, then to `points`
 * (not included). */
struct axes {
    int batch, point, points;
};

static struct axes axes_of(const struct node *n)
{
    const struct shape *indices = &n->inputs.data[1]->shape;
    return (struct axes){(int)op_attr_int(n, "batch_dims"), (int)indices->dim[indices->rank - 1], indices->rank - 1};
}

static bool check_axes(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1);
    const int64_t batch = op_attr_int(c->node, "batch_dims");
    if (x->rank == 0 || indices->rank == 0)
        return infer_error(c, "input %d '%s' is a scalar", x->rank == 0 ? 0 : 1,
                           infer_in(c, x->rank == 0 ? 0 : 1)->name);
    if (batch < 0 || batch >= x->rank || batch >= indices->rank)
        return infer_error(c, "attribute 'batch_dims' is %lld, expected 0 to %d", (long long)batch,
                           (x->rank < indices->rank ? x->rank : indices->rank) - 1);
    for (int d = 0; d < batch; d++)
        if (x->dim[d] != indices->dim[d])
            return infer_error(c, "dimension %d of input 1 '%s' is %lld, expected %lld as that of input 0 '%s'", d,
                               infer_in(c, 1)->name, (long long)indices->dim[d], (long long)x->dim[d],
                               infer_in(c, 0)->name);
    const int64_t point = indices->dim[indices->rank - 1];
    if (point < 1 || point > x->rank - batch)
        return infer_error(c, "the last dimension of input 1 '%s' is %lld, expected 1 to %lld", infer_in(c, 1)->name,
                           (long long)point, (long long)(x->rank - batch));
    return true;
}

static bool gather_infer(struct infer_ctx *c)
{
    if (!check_axes(c))
        return false;
    const struct shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1);
    const struct axes a = axes_of(c->node);
    struct shape y = SHAPE_SCALAR;
    if (a.points + x->rank - a.batch - a.point > SHAPE_MAX_RANK)
        return infer_error(c, "the result would have rank %d, at most %d is supported",
                           a.points + x->rank - a.batch - a.point, SHAPE_MAX_RANK);
    for (int d = 0; d < a.points; d++)
        shape_take(&y, indices, d);
    for (int d = a.batch + a.point; d < x->rank; d++)
        shape_take(&y, x, d);
    for (int j = 0; j < a.point; j++)
        if (!index_infer_known(c, 1, (struct index_column){a.point, j}, x->dim[a.batch + j]))
            return false;
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

static int64_t gather_selects_from(const struct node *n, int input)
{
    const struct axes a = axes_of(n);
    return input == 1 ? index_least(&n->inputs.data[0]->shape.dim[a.batch], a.point) : 0;
}

/* ---- GatherND: gradient, value, code ----------------------------------------------------------------------------- */

static bool gather_grad(struct grad_ctx *c)
{
    const struct shape *x = &grad_input(c, 0)->shape, *indices = &grad_input(c, 1)->shape;
    const struct axes a = axes_of(c->node);
    const struct size outer = shape_size_range(x, 0, a.batch), rows = shape_size_range(indices, a.batch, a.points),
                      inner = shape_size_range(x, a.batch + a.point, x->rank), one = size_constant(1);
    const struct size size = shape_size_range(x, a.batch, a.batch + a.point);
    struct value *index = build_with(c, "stepc.PointIndex",
                                     ATTRS(attr_ints("shape", &x->dim[a.batch], (size_t)a.point)), grad_input(c, 1));
    struct value *dx = build_with(c, "stepc.Scatter", ATTRS(attr_size("size", &size)),
                                  build_reshape(c->b, index, &SHAPE_OF(outer, rows, one)),
                                  build_reshape(c->b, grad_of_output(c, 0), &SHAPE_OF(outer, rows, inner)));
    return grad_accumulate(c, 0, build_reshape(c->b, dx, x));
}

/* Row-major number of point k of input i among points of the given shape; false after a report. */
static bool read_point(const struct eval_ctx *c, int i, int64_t k, const int64_t *dim, int count, int64_t *number)
{
    *number = 0;
    for (int j = 0; j < count; j++) {
        int64_t index;
        if (!index_read(c, i, k * count + j, dim[j], &index))
            return false;
        *number = *number * dim[j] + index;
    }
    return true;
}

static bool gather_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct shape *indices = &eval_input(c, 1)->shape;
    const struct axes a = axes_of(c->node);
    const int64_t outer = shape_count_range(indices, 0, a.batch), rows = shape_count_range(indices, a.batch, a.points);
    const int64_t size = shape_count_range(&x->shape, a.batch, a.batch + a.point);
    const int64_t inner = shape_count_range(&x->shape, a.batch + a.point, x->shape.rank);
    struct eval_tensor *y = eval_output(c, 0);
    for (int64_t k = 0; k < outer * rows; k++) {
        int64_t number;
        if (!read_point(c, 1, k, &x->shape.dim[a.batch], a.point, &number))
            return false;
        for (int64_t i = 0; y != NULL && i < inner; i++)
            move_element(y, k * inner + i, x, (k / rows * size + number) * inner + i);
    }
    return true;
}

/* Column j of the points in v, over its other axes; its loops may be more. */
static struct view column(const struct view *v, int j)
{
    struct view of = *v;
    of.shape.rank--;
    of.offset += j * v->stride[v->shape.rank - 1];
    of.stride[of.shape.rank] = 0;
    return of;
}

/* The number of the point at hand: int64. Strides count what a step of one of its indices means. */
static const struct expr *point_number(struct lower_ctx *c, const struct view *points, const struct shape *loops,
                                       const int64_t *dim, const int64_t *stride, int count)
{
    const struct expr *number = NULL;
    for (int j = 0; j < count; j++) {
        struct view of = column(points, j);
        of.shape = *loops;
        for (int d = points->shape.rank - 1; d < loops->rank; d++)
            of.stride[d] = 0;
        const struct expr *part = index_load(c, &of, dim[j]);
        if (stride[j] != 1)
            part = expr_binary(c->arena, EXPR_MUL, part, expr_int(c->arena, DTYPE_INT64, stride[j]));
        number = number == NULL ? part : expr_binary(c->arena, EXPR_ADD, number, part);
    }
    return number;
}

static void check_points(struct lower_ctx *c, int i, const int64_t *dim, int count)
{
    const struct view points = lower_view_of(c, i);
    for (int j = 0; j < count; j++) {
        const struct view of = column(&points, j);
        index_add_check(c, i, &of, (struct index_column){count, j}, dim[j]);
    }
}

/* An access has room for few indices: many become one, the number of the point, for which x must lie row-major. */
static void add_terms(struct lower_ctx *c, struct access *access, const struct view *x, const struct axes *a)
{
    static const int64_t as_it_is[] = {1};
    const struct shape *loops = lower_out_shape(c, 0);
    const struct view points = lower_view_of(c, 1);
    const int64_t *dim = &x->shape.dim[a->batch], *stride = &x->stride[a->batch];
    for (int j = 0; j < a->point && a->point <= ACCESS_MAX_TERMS; j++) {
        struct view of = points;
        of.offset += j * points.stride[a->points];
        access->term[access->term_count++] = (struct access_term){point_number(c, &of, loops, &dim[j], as_it_is, 1),
                                                                  .stride = stride[j], .extent = dim[j]};
    }
    if (a->point <= ACCESS_MAX_TERMS)
        return;
    int64_t last = 0;
    for (int j = 0; j < a->point; j++)
        last += (dim[j] - 1) * stride[j];
    access->term[access->term_count++] =
        (struct access_term){point_number(c, &points, loops, dim, stride, a->point), .stride = 1, .extent = last + 1};
}

static bool gather_lower(struct lower_ctx *c)
{
    const struct axes a = axes_of(c->node);
    const struct view x = a.point > ACCESS_MAX_TERMS ? lower_contiguous(c, 0) : lower_view_of(c, 0),
                      out = lower_out_view(c, 0);
    if (out.buffer->count == 0)
        return true;
    lower_kernel(c, NULL);
    check_points(c, 1, &x.shape.dim[a.batch], a.point);
    struct view slices = {.buffer = x.buffer, .offset = x.offset, .shape = out.shape};
    for (int d = 0; d < a.batch; d++)
        slices.stride[d] = x.stride[d];
    for (int d = a.batch + a.point; d < x.shape.rank; d++)
        slices.stride[a.points + d - a.batch - a.point] = x.stride[d];
    struct access access = lower_access(&slices);
    add_terms(c, &access, &x, &a);
    lower_store(c, lower_part(c, &out.shape), &out, lower_load_at(c, &access));
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[5,5,3] x, int64[4,2] i) => (float[4,3] y) { y = GatherND(x, i) }", .feed = ",index:5"},
    {.text = "g (float[5,5,3] x, int64[9,2] i) => (float[9,3] y) { n = Constant <value_int = 5> () k = Sub(i, n) "
             "y = GatherND(x, k) }",
     .feed = ",index:10"},
    {.text = "g (float[5,5,3] x, int64[4,2] i) => (float[4,3] y) { y = GatherND(x, i) }",
     .feed = ",index:100",
     .error = ", expected -5 to 4"},
    {.text = "g (double[5,3] x, int64[2,2,1] i) => (double[2,2,3] y) { y = GatherND(x, i) }", .feed = ",index:5"},
    {.text = "g (float[4,3,2] x, int64[4,5,1] i) => (float[4,5,2] y) { y = GatherND <batch_dims = 1> (x, i) }",
     .feed = ",index:3"},
    {.text = "g (float[2,3,4,4] x, int64[2,3,5,2] i) => (float[2,3,5] y) { y = GatherND <batch_dims = 2> (x, i) }",
     .feed = ",index:4"},
    {.text = "g (float[3,3] x, int64[2] i) => (float y) { y = GatherND(x, i) }", .feed = ",index:3"},
    {.text = "g (float[2,2,2,2,2,3] x, int64[4,5] i) => (float[4,3] y) { y = GatherND(x, i) }", .feed = ",index:2"},
    {.text = "g (float[3,2,2,2,2,2,2] x, int64[3,4,5] i) => (float[3,4,2] y) { t = Transpose <perm = [0, 6, 5, 4, 3, "
             "2, 1]> (x) "
             "y = GatherND <batch_dims = 1> (t, i) }",
     .feed = ",index:2"},
    {.text = "g (float[2,3] x) => (float[3] y) { i = Constant <value = int64[3,2] {-1, 0, 1, -3, 0, 0}> () y = "
             "GatherND(x, i) }"},
    {.text = "g (float[2,3] x, int64[0,2] i) => (float[0] y) { y = GatherND(x, i) }"},
    {.text = "g (bool[5,2] x, int64[3,1] i) => (bool[3,2] y) { y = GatherND(x, i) }",
     .feed = ",index:5",
     .no_gradient = true},
    {.text = "g (int32[5,2] x, int64[3,1] i) => (int32[3,2] y) { y = GatherND(x, i) }",
     .feed = ",index:5",
     .opset = 11,
     .no_gradient = true},
    {.text = "g (float16[5,2] x, int64[3,1] i) => (float16[3,2] y) { y = GatherND(x, i) }", .feed = ",index:5"},
    {.text = "g (float[2,3] x) => (float[1] y) { i = Constant <value = int64[1,2] {0, 3}> () y = GatherND(x, i) }",
     .error = "element 1 of input 1 'i' is the index 3, expected -3 to 2"},
    {.text = "g (float[2,3] x, int64[2,3] i) => (float[2] y) { y = GatherND(x, i) }", .error = "is 3, expected 1 to 2"},
    {.text = "g (float[2,3] x, int64[3,1] i) => (float[3] y) { y = GatherND <batch_dims = 1> (x, i) }",
     .error = "dimension 0 of input 1 'i' is 3, expected 2"},
    {.text = "g (float[2,3] x, int64[3,1] i) => (float[3] y) { y = GatherND <batch_dims = 2> (x, i) }",
     .error = "expected 0 to 1"},
    {.text = "g (float x, int64[3,1] i) => (float[3] y) { y = GatherND(x, i) }", .error = "is a scalar"},
    {.text = "g (float[2] x, int32[3,1] i) => (float[3] y) { y = GatherND(x, i) }", .error = "int32"},
    {.text = "g (float[2,1,1,1,1,1,1,1,1,1,1] x, int64[2,1,1,1] i) => (float[2] y) { y = GatherND(x, i) }",
     .error = "the result would have rank 13, at most 12 is supported"},
    {.text = "g (float x, int64[1,1] i) => (float[1] y) { y = GatherND(x, i) }",
     .error = "input 0 'x' is a scalar"},
    {.text = "g (float[3] x, int64 i) => (float y) { y = GatherND(x, i) }",
     .error = "input 1 'i' is a scalar"},
    {.text = "g (float[3,2] x, int64[3,1] i) => (float[3] y) { y = GatherND <batch_dims = 2> (x, i) }",
     .error = "attribute 'batch_dims' is 2, expected 0 to 1"},
    {.text = "g (float[3,2] x, int64[3,1] i) => (float[3] y) { y = GatherND <batch_dims = -1> (x, i) }",
     .error = "attribute 'batch_dims' is -1, expected 0 to 1"},
    {.text = "g (float[3,2] x, int64[3,3] i) => (float[3] y) { y = GatherND(x, i) }",
     .error = "the last dimension of input 1 'i' is 3, expected 1 to 2"},
    {.text = "g (float[3,2] x, int64[3,0] i) => (float[3] y) { y = GatherND(x, i) }",
     .error = "the last dimension of input 1 'i' is 0, expected 1 to 2"},
    {0}};

/* ---- PointIndex(points): the row-major number of each in a tensor of `shape` ------------------------------------- */

static const struct op_attr point_attrs[] = {{.name = "shape", .type = ATTR_INTS, .required = true}, {0}};
static const struct op_version point_versions[] = {{.since = 1}, {0}};
static const struct op_param point_inputs[] = {{.name = "points", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                               {0}};
static const struct op_param point_outputs[] = {
    {.name = "numbers", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static struct shape shape_of(const struct node *n)
{
    return op_attr_dims(n, "shape");
}

static bool point_infer(struct infer_ctx *c)
{
    const struct shape *points = infer_shape(c, 0), shape = shape_of(c->node);
    int64_t count;
    if (points->rank == 0 || points->dim[points->rank - 1] != shape.rank || shape.rank == 0)
        return infer_error(c, "the last dimension of input 0 '%s' is not the number of entries of attribute 'shape'",
                           infer_in(c, 0)->name);
    if (!shape_count_checked(&shape, &count))
        return infer_error(c, "attribute 'shape' is not possible or too large");
    struct shape y = *points;
    y.rank--;
    for (int j = 0; j < shape.rank; j++)
        if (!index_infer_known(c, 0, (struct index_column){shape.rank, j}, shape.dim[j]))
            return false;
    return infer_out(c, 0, DTYPE_INT64, &y);
}

static int64_t point_selects_from(const struct node *n, int input)
{
    const struct shape shape = shape_of(n);
    return input == 0 ? index_least(shape.dim, shape.rank) : 0;
}

static bool point_eval(struct eval_ctx *c)
{
    const struct shape shape = shape_of(c->node);
    int64_t *y = eval_out_i(c, 0);
    for (int64_t k = 0; k < eval_input(c, 0)->count / shape.rank; k++) {
        int64_t number;
        if (!read_point(c, 0, k, shape.dim, shape.rank, &number))
            return false;
        if (y != NULL)
            y[k] = number;
    }
    return true;
}

static bool point_plain(struct expand_ctx *c)
{
    const struct shape shape = shape_of(c->node);
    struct value *const zero = build_int(c->b, 0), *points = build_cast(c->b, expand_in(c, 0), DTYPE_INT64);
    struct value *const dims = build_ints(c->b, shape.dim, (size_t)shape.rank);
    int64_t stride[SHAPE_MAX_RANK];
    const int last = points->shape.rank - 1;
    shape_strides(&shape, stride);
    struct value *const negative = build(c, "Less", points, zero), *const from_end = build(c, "Add", points, dims);
    points = build(c, "Where", negative, from_end, points);
    points = build(c, "Mul", points, build_ints(c->b, stride, (size_t)shape.rank));
    return expand_out(c, 0, build_reduce_sum(c->b, points, &last, 1, false));
}

static bool point_lower(struct lower_ctx *c)
{
    const struct shape shape = shape_of(c->node);
    const struct view points = lower_view_of(c, 0), out = lower_out_view(c, 0);
    int64_t stride[SHAPE_MAX_RANK];
    if (out.buffer->count == 0)
        return true;
    shape_strides(&shape, stride);
    lower_kernel(c, NULL);
    check_points(c, 0, shape.dim, shape.rank);
    lower_store(c, lower_part(c, &out.shape), &out,
                point_number(c, &points, &out.shape, shape.dim, stride, shape.rank));
    return true;
}

static const struct op_sample point_samples[] = {
    {.text = "g (int64[4,2] i) => (int64[4] y) { y = stepc.PointIndex <shape = [5, 7]> (i) }",
     .feed = "index:5",
     .no_gradient = true},
    {.text = "g (int32[3] i) => (int64 y) { y = stepc.PointIndex <shape = [3, 3, 3]> (i) }",
     .feed = "index:3",
     .no_gradient = true},
    {.text = "g () => (int64[2] y) { i = Constant <value = int64[2,2] {-1, 0, 1, -3}> () y = stepc.PointIndex <shape = "
             "[2, 3]> (i) }",
     .no_gradient = true},
    {.text = "g (int64[4,2] i) => (int64[4] y) { y = stepc.PointIndex <shape = [5]> (i) }",
     .error = "is not the number of entries"},
    {.text = "g (int64[4,1] i) => (int64[4] y) { y = stepc.PointIndex <shape = [-5]> (i) }",
     .error = "not possible or too large"},
    {0}};

static bool gather_bounded(struct bounded_ctx *c)
{
    const struct bounded *x = bounded_in(c, 0), *indices = bounded_in(c, 1);
    const struct shape *points = &c->node->inputs.data[1]->shape;
    const int batch = (int)op_attr_int(c->node, "batch_dims"), count = (int)points->dim[points->rank - 1];
    if (x == NULL && indices->axis >= batch && indices->axis < points->rank - 1)
        return bounded_out(c, 0, indices, indices->axis);
    if (x == NULL || x->axis < batch + count)
        return bounded_refuse(c, x == NULL ? 1 : 0, "GatherND takes elements along this axis by their place");
    return bounded_only(c, 0) && bounded_out(c, 0, x, points->rank - 1 + x->axis - batch - count);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_gather_nd[] = {
    {.name = "GatherND", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = gather_infer, .grad = gather_grad, .eval = gather_eval, .lower = gather_lower,
     .selects_from = gather_selects_from, .bounded = gather_bounded, .samples = samples},
    {.domain = DOMAIN_STEPC, .name = "PointIndex", .versions = point_versions, .inputs = point_inputs,
     .outputs = point_outputs, .attrs = point_attrs, .infer = point_infer, .grad = grad_none,
     .plain = point_plain, .eval = point_eval,
     .lower = point_lower, .bounded = bounded_same, .selects_from = point_selects_from, .samples = point_samples},
    {0}};
