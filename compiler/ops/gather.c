/* Gather: slices of data along `axis`, chosen by indices; and its gradient, GatherGrad.
 *   y[o.., k.., i..] = data[o.., indices[k..], i..]
 * A negative index counts from the end; one outside of [-size, size) is an error: at compile time where the indices are known,
 * else when the entry runs, before anything is written.
 * Spec: ONNX Gather-1 to -13 (11 allows negative indices, 13 only adds bfloat16). */
#include "ops/move_rules.h"

#include <inttypes.h>

/* ---- schema ------------------------------------------------------------------------------------------------------- */

static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_version versions[] = {
    {.since = 1, .dtypes = MOVE_TYPES_1}, {.since = 11, .dtypes = MOVE_TYPES_1}, {.since = 13}, {0}};
static const struct op_param inputs[] = {{.name = "data", .type = 'T', .dtypes = MOVE_TYPES_25},
                                         {.name = "indices", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};

/* ---- indices ------------------------------------------------------------------------------------------------------ */

static int gather_axis(const struct node *n)
{
    int axis = 0;
    (void)shape_axis(n->inputs.data[0]->shape.rank, op_attr_int(n, "axis"), &axis);
    return axis;
}

static bool check_known_indices(struct infer_ctx *c, int i, int64_t size)
{
    const struct tensor *known = value_known(infer_in(c, i));
    for (int64_t k = 0; known != NULL && k < known->count; k++) {
        const int64_t index = tensor_get_int(known, k);
        if (index < -size || index >= size)
            return infer_error(c, "element %lld of input %d '%s' is the index %lld, expected %lld to %lld", (long long)k, i,
                               infer_in(c, i)->name, (long long)index, (long long)-size, (long long)size - 1);
    }
    return true;
}

static int64_t gather_selects_from(const struct node *n, int input)
{
    return input == 1 ? n->inputs.data[0]->shape.dim[gather_axis(n)] : 0;
}

static int64_t wrap(int64_t index, int64_t size)
{
    return index < 0 ? index + size : index;
}

/* Are the indices known and equally spaced? Then Gather takes a range, which strides can say. */
static bool is_progression(struct value *indices, int64_t size, int64_t *start, int64_t *step)
{
    const struct tensor *t = value_known(indices);
    if (t == NULL || t->count == 0 || t->shape.rank > 1)
        return false;
    *start = wrap(tensor_get_int(t, 0), size);
    *step = t->count == 1 ? 1 : wrap(tensor_get_int(t, 1), size) - *start;
    for (int64_t k = 1; k < t->count; k++)
        if (wrap(tensor_get_int(t, k), size) != *start + k * *step)
            return false;
    return *step != 0;
}

/* The index as the kernel sees it, from 0 on. */
static const struct expr *wrapped(struct arena *a, const struct expr *index, int64_t size)
{
    const struct expr *zero = expr_int(a, DTYPE_INT64, 0);
    const struct expr *from_end = expr_binary(a, EXPR_ADD, index, expr_int(a, DTYPE_INT64, size));
    return expr_select(a, expr_binary(a, EXPR_LT, index, zero), from_end, index);
}

/* The kernel refuses indices outside of [-size, size), unless inference has seen them all. */
static void add_index_check(struct lower_ctx *c, int i, int64_t size)
{
    const struct shape *shape = lower_shape(c, i);
    if (value_known(c->node->inputs.data[i]) != NULL)
        return;
    lower_add_check(c, shape, expr_cast(c->arena, DTYPE_INT64, lower_in_over(c, i, shape)), -size, size, "STEPC_E_INDEX");
}

/* ---- Gather ------------------------------------------------------------------------------------------------------- */

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
        y.dim[y.rank++] = x->dim[d];
    for (int d = 0; d < indices->rank; d++)
        y.dim[y.rank++] = indices->dim[d];
    for (int d = axis + 1; d < x->rank; d++)
        y.dim[y.rank++] = x->dim[d];
    return check_known_indices(c, 1, x->dim[axis]) && infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* d data: each slice of dy is added where it came from, in the order of the indices. All dimensions around the axis are taken
 * as one: [outer, size, inner]. A range of distinct indices needs no addition: SliceGrad. */
static bool gather_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *indices = grad_input(c, 1);
    const int axis = gather_axis(c->node);
    const int64_t outer = shape_count_range(&x->shape, 0, axis), size = x->shape.dim[axis];
    const int64_t inner = shape_count_range(&x->shape, axis + 1, x->shape.rank), rows = shape_count(&indices->shape);
    struct value *dy = build_reshape(c->b, grad_of_output(c, 0), &SHAPE(outer, rows, inner)), *dx;
    int64_t start, step;
    if (is_progression(indices, size, &start, &step)) {
        const struct attr *range = ATTRS(attr_ints("shape", (int64_t[]){outer, size, inner}, 3),
                                         attr_ints("starts", (int64_t[]){0, start, 0}, 3),
                                         attr_ints("steps", (int64_t[]){1, step, 1}, 3));
        dx = build_with(c, "stepc.SliceGrad", range, dy);
    } else {
        dx = build_with(c, "stepc.GatherGrad", ATTRS(attr_int("size", size)), build_reshape(c->b, indices, &SHAPE(rows)), dy);
    }
    return grad_accumulate(c, 0, build_reshape(c->b, dx, &x->shape));
}

static bool read_index(const struct eval_ctx *c, int i, int64_t k, int64_t size, int64_t *index)
{
    const int64_t given = eval_i(c, i)[k];
    *index = wrap(given, size);
    return (*index >= 0 && *index < size) ||
           eval_error(c, "element %" PRId64 " of input %d is the index %" PRId64 ", expected %" PRId64 " to %" PRId64, k, i, given,
                      -size, size - 1);
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
        if (!read_index(c, 1, k, size, &index))
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
    const struct expr *index = wrapped(c->arena, expr_cast(c->arena, DTYPE_INT64, lower_load(c, &over)), size);
    struct access access = lower_access(&v);
    access.term[access.term_count++] = (struct access_term){.index = index, .stride = x->stride[axis], .extent = size};
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
    add_index_check(c, 1, x.shape.dim[axis]);
    lower_store(c, lower_part(c, &out.shape), &out, lower_lookup(c, &x, axis));
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[5,3] x, int64[4] i) => (float[4,3] y) { y = Gather(x, i) }", .feed = ",index:5"},
    {.text = "g (double[2,5] x, int32[2,2] i) => (double[2,2,2] y) { y = Gather <axis = -1> (x, i) }", .feed = ",index:5"},
    {.text = "g (float[2,5,3] x, int64 i) => (float[2,3] y) { y = Gather <axis = 1> (x, i) }", .feed = ",index:5"},
    {.text = "g (float[5,3] x) => (float[3,3] y) { i = Constant <value_ints = [-1, 0, -1]> () y = Gather(x, i) }"},
    {.text = "g (float[5,3] x) => (float[3] y) { i = Constant <value_int = -2> () y = Gather(x, i) }"},
    {.text = "g (float[3,5] x) => (float[3,2] y) { i = Constant <value_ints = [4, 1]> () y = Gather <axis = 1> (x, i) }"},
    {.text = "g (bool[5] x, int64[2] i) => (bool[2] y) { y = Gather(x, i) }", .feed = ",index:5", .no_gradient = true},
    {.text = "g (float[5,3] x) => (float[1,3] y) { i = Constant <value_ints = [5]> () y = Gather(x, i) }",
     .error = "is the index 5, expected -5 to 4"},
    {.text = "g (float x, int64[1] i) => (float[1] y) { y = Gather(x, i) }", .error = "is a scalar"},
    {.text = "g (float[5] x, float[1] i) => (float[1] y) { y = Gather(x, i) }", .error = "float"},
    {.text = "g (float16[5,3] x, int64[4] i) => (float16[4,3] y) { y = Gather(x, i) }", .feed = ",index:5"},
    {0}};

/* ---- GatherGrad(indices, dy): dx[o, s, i] = the sum of dy[o, k, i] over all k with indices[k] = s, in order of k ------------ */

static const struct op_attr grad_attrs[] = {{.name = "size", .type = ATTR_INT, .required = true}, {0}};
static const struct op_version grad_versions[] = {{.since = 1}, {0}};
static const struct op_param grad_inputs[] = {{.name = "indices", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                              {.name = "dy", .type = 'T', .dtypes = DTYPES_FLOATS},
                                              {0}};
static const struct op_param grad_outputs[] = {{.name = "dx", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool gather_grad_infer(struct infer_ctx *c)
{
    const struct shape *indices = infer_shape(c, 0), *dy = infer_shape(c, 1);
    const int64_t size = op_attr_int(c->node, "size");
    if (indices->rank != 1 || dy->rank != 3 || indices->dim[0] != dy->dim[1])
        return infer_error(c, "inputs have ranks %d and %d, expected the shapes [rows] and [outer,rows,inner]", indices->rank,
                           dy->rank);
    if (size < 0)
        return infer_error(c, "attribute 'size' is %lld, expected 0 or more", (long long)size);
    return check_known_indices(c, 0, size) && infer_out(c, 0, DTYPE_UNDEFINED, &SHAPE(dy->dim[0], size, dy->dim[2]));
}

static int64_t gather_grad_selects_from(const struct node *n, int input)
{
    return input == 0 ? op_attr_int(n, "size") : 0;
}

/* The adjoint of dy is gathered from the adjoint of dx. */
static bool gather_grad_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 1, build_with(c, "Gather", ATTRS(attr_int("axis", 1)), grad_of_output(c, 0), grad_input(c, 0)));
}

static bool gather_grad_eval(struct eval_ctx *c)
{
    const struct shape *dy = &eval_input(c, 1)->shape;
    const int64_t outer = dy->dim[0], rows = dy->dim[1], inner = dy->dim[2], size = op_attr_int(c->node, "size");
    const double *from = eval_f(c, 1);
    double *to = eval_out_f(c, 0);
    for (int64_t k = 0; k < rows; k++) {
        int64_t index;
        if (!read_index(c, 0, k, size, &index))
            return false;
        for (int64_t o = 0; to != NULL && o < outer; o++)
            for (int64_t i = 0; i < inner; i++) {
                double *sum = &to[(o * size + index) * inner + i];
                *sum = eval_round(c, *sum + from[(o * rows + k) * inner + i]);
            }
    }
    return true;
}

/* No loop nest of plain stores can add up, so this is a template (templates/scatter.c). It takes the rows of each index in
 * turn from a chained list in scratch memory (a head per index, a successor per row), so that no second copy of dx is needed
 * and every element is finished once, in order. */
static void lower_scatter(struct lower_ctx *c, const struct view *dy, const struct view *out)
{
    const struct view indices = lower_view_of(c, 0);
    const struct shape *shape = &out->shape;
    const struct access to_indices = {.buffer = indices.buffer, .offset = indices.offset};
    const struct access to_dy = {.buffer = dy->buffer, .offset = dy->offset};
    const int64_t rows = dy->shape.dim[1], size = shape->dim[1];
    const enum dtype type = lower_out_dtype(c, 0);
    lower_template(c, "scatter_add_rows", type);
    lower_template_int(c, "OUTER", shape->dim[0]);
    lower_template_int(c, "ROWS", rows);
    lower_template_int(c, "SIZE", size);
    lower_template_int(c, "INNER", shape->dim[2]);
    lower_template_int(c, "INDEX_STRIDE", indices.stride[0]);
    lower_template_int(c, "DY_OUTER", dy->stride[0]);
    lower_template_int(c, "DY_ROW", dy->stride[1]);
    lower_template_int(c, "DY_COL", dy->stride[2]);
    lower_template_operand(c, "indices", &to_indices);
    lower_template_operand(c, "dy", &to_dy);
    lower_template_scratch(c, "chain", size + rows);
    lower_template_flops(c, shape->dim[0] * rows * shape->dim[2]);
    c->kernel->scratch->dtype = DTYPE_INT32;
    struct part *p = lower_template_part(c, "finish", 3, shape->dim);
    lower_store(c, p, out, expr_result(c->arena, type));
}

static bool gather_grad_lower(struct lower_ctx *c)
{
    const struct view dy = lower_view_of(c, 1), out = lower_out_view(c, 0);
    if (dy.shape.dim[1] > INT32_MAX || out.shape.dim[1] > INT32_MAX)
        return lower_error(c, "more than %d indices or slices are not compiled", INT32_MAX);
    if (out.buffer->count == 0 || dy.shape.dim[1] == 0) /* nothing to add */
        return move_fill_and_place(c, move_zero(c, lower_out_dtype(c, 0)), NULL, NULL);
    lower_kernel(c, NULL);
    add_index_check(c, 0, out.shape.dim[1]);
    lower_scatter(c, &dy, &out);
    return true;
}

static const struct op_sample grad_samples[] = {
    {.text = "g (int64[4] i, float[1,4,3] dy) => (float[1,5,3] dx) { dx = stepc.GatherGrad <size = 5> (i, dy) }",
     .feed = "index:5"},
    {.text = "g (int32[6] i, double[2,6,3] dy) => (double[2,2,3] dx) { dx = stepc.GatherGrad <size = 2> (i, dy) }",
     .feed = "index:2"},
    {.text = "g (int64[0] i, float[2,0,3] dy) => (float[2,5,3] dx) { dx = stepc.GatherGrad <size = 5> (i, dy) }"},
    {.text = "g (int64[3] i, float[4,3] dy) => (float[2,5,3] dx) { dx = stepc.GatherGrad <size = 5> (i, dy) }",
     .error = "expected the shapes [rows] and [outer,rows,inner]"},
    {0}};

/* ---- records ------------------------------------------------------------------------------------------------------ */

const struct op_def op_defs_gather[] = {
    {.name = "Gather", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs, .infer = gather_infer,
     .grad = gather_grad, .eval = gather_eval, .lower = gather_lower, .selects_from = gather_selects_from,
     .samples = samples},
    {.domain = DOMAIN_STEPC, .name = "GatherGrad", .versions = grad_versions, .inputs = grad_inputs, .outputs = grad_outputs,
     .attrs = grad_attrs, .infer = gather_grad_infer, .grad = gather_grad_grad, .eval = gather_grad_eval,
     .lower = gather_grad_lower, .selects_from = gather_grad_selects_from, .samples = grad_samples},
    {0}};
