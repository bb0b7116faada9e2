/* stepc.Scatter, what all operators that put elements by index are made of, and gradients of those that take some:
 *   y[o, s, i] = data[o, s, i], and with it updates[o, k, i] for each k with indices[o, k, i] = s, in the order of k
 * Without data there is 0 to begin with. `reduction` says how they are taken together: add, mul, max, min (a NaN
 * stays), none (the last one counts). o and i may be fixed in the indices: [1,rows,1] are rows, for all columns.
 * Indices: ops/index_rules.h.
 *
 * Gradients, as PyTorch has them (scatter, scatter_add, scatter_reduce); "at the index": of the row that it names.
 *   none       d data = dy, but 0 where something was put
 *              d updates = dy at the index, also for those that a later one replaced
 *   add        d data = dy, d updates = dy at the index
 *   mul        d data = dy * the product of the updates
 *              d updates = (dy y) at the index / update; if the update is the only 0 of its place, (dy * the product of
 *              all else) at the index
 *   max, min   dy is shared evenly among all that are equal to y */
#include "ops/scatter_rows.h"

#include "base/str.h"
#include <math.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_attr attrs[] = {{.name = "size", .type = ATTR_INT, .required = true},
                                       {.name = "reduction", .type = ATTR_STRING, .string_default = "add"},
                                       {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_param inputs[] = {{.name = "indices", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                         {.name = "updates", .type = 'T', .dtypes = DTYPES_ALL},
                                         {.name = "data", .type = 'T', .dtypes = DTYPES_ALL, .flags = PARAM_OPTIONAL},
                                         {0}};
static const struct op_param outputs[] = {{.name = "y", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

/* ---- the attribute ----------------------------------------------------------------------------------------------- */

static const char *const reductions[] = {[SCATTER_ADD] = "add",
                                         [SCATTER_MUL] = "mul",
                                         [SCATTER_MAX] = "max",
                                         [SCATTER_MIN] = "min",
                                         [SCATTER_NONE] = "none"};

enum scatter_reduction scatter_reduction(const struct node *n)
{
    int r = SCATTER_ADD;
    while (r < SCATTER_UNKNOWN && !str_equal(op_attr_string(n, "reduction"), reductions[r]))
        r++;
    return (enum scatter_reduction)r;
}

bool scatter_infer_reduction(struct infer_ctx *c)
{
    return scatter_reduction(c->node) != SCATTER_UNKNOWN ||
           infer_error(c, "attribute 'reduction' is '%s', expected none, add, mul, min or max",
                       op_attr_string(c->node, "reduction"));
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool fits(int64_t given, int64_t dim)
{
    return given == dim || given == 1;
}

static bool scatter_infer(struct infer_ctx *c)
{
    const struct shape *indices = infer_shape(c, 0), *updates = infer_shape(c, 1);
    const int64_t size = op_attr_int(c->node, "size");
    if (!scatter_infer_reduction(c))
        return false;
    if (indices->rank != 3 || updates->rank != 3 || indices->dim[1] != updates->dim[1] ||
        !fits(indices->dim[0], updates->dim[0]) || !fits(indices->dim[2], updates->dim[2]))
        return infer_error(
            c, "indices and updates do not have the shapes [outer or 1,rows,inner or 1] and [outer,rows,inner]");
    if (size < 0)
        return infer_error(c, "attribute 'size' is %lld, expected 0 or more", (long long)size);
    const struct shape y = SHAPE_OF(shape_size(updates, 0), op_attr_size(c->node, "size"), shape_size(updates, 2));
    if (infer_in(c, 2) != NULL && !shape_equal(infer_shape(c, 2), &y))
        return infer_error(c, "input 2 '%s' does not have the shape [outer,size,inner]", infer_in(c, 2)->name);
    if (infer_in(c, 2) == NULL && scatter_reduction(c->node) != SCATTER_ADD)
        return infer_error(c, "without data the only reduction is add");
    return index_infer_known(c, 0, INDEX_ALL, size) && infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

static int64_t scatter_selects_from(const struct node *n, int input)
{
    return input == 0 ? op_attr_int(n, "size") : 0;
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* The rows of v that the indices name: [outer,size,inner] becomes [outer,rows,inner]. */
static struct value *at_indices(struct grad_ctx *c, struct value *v)
{
    struct value *indices = grad_input(c, 0);
    const struct shape *rows = &grad_input(c, 1)->shape;
    if (indices->shape.dim[0] == 1 && indices->shape.dim[2] == 1) {
        struct value *list = build_reshape(c->b, indices, &SHAPE_OF(shape_size(rows, 1)));
        return build_with(c, "Gather", ATTRS(attr_int("axis", 1)), v, list);
    }
    return build_with(c, "GatherElements", ATTRS(attr_int("axis", 1)), v, build_expand(c->b, indices, rows));
}

static struct value *scattered(struct grad_ctx *c, const char *reduction, struct value *updates, struct value *data)
{
    const struct size size = shape_size(&grad_output(c, 0)->shape, 1);
    const struct attr *how = ATTRS(attr_size("size", &size), attr_string("reduction", reduction));
    return build_with(c, "stepc.Scatter", how, grad_input(c, 0), updates, data);
}

static bool none_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0), *updates = grad_input(c, 1);
    if (grad_wants(c, 1) && !grad_accumulate(c, 1, at_indices(c, dy)))
        return false;
    return !grad_wants(c, 2) || grad_accumulate(c, 2, scattered(c, "none", build_full_like(c->b, updates, 0.0), dy));
}

static bool add_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0);
    if (grad_wants(c, 1) && !grad_accumulate(c, 1, at_indices(c, dy)))
        return false;
    return grad_input(c, 2) == NULL || grad_accumulate(c, 2, dy);
}

static bool mul_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0), *y = grad_output(c, 0), *updates = grad_input(c, 1),
                 *data = grad_input(c, 2);
    struct value *one = build_like(c, updates, 1.0), *zero = build_like(c, updates, 0.0);
    struct value *rest = scattered(c, "mul", updates, build_full_like(c->b, data, 1.0));
    if (grad_wants(c, 2) && !grad_accumulate(c, 2, build(c, "Mul", dy, rest)))
        return false;
    if (!grad_wants(c, 1))
        return true;
    struct value *is_zero = build(c, "Equal", updates, zero);
    struct value *zeros = at_indices(c, scattered(c, "add", build_cast(c->b, is_zero, updates->dtype), NULL));
    struct value *is_single = build(c, "And", is_zero, build(c, "Equal", zeros, one));
    struct value *all_else = scattered(c, "mul", build(c, "Where", is_single, one, updates), data);
    struct value *quotient =
        build(c, "Div", at_indices(c, build(c, "Mul", dy, y)), build(c, "Where", is_zero, one, updates));
    struct value *product = at_indices(c, build(c, "Mul", dy, all_else));
    return grad_accumulate(c, 1, build(c, "Where", is_single, product, quotient));
}

static bool extreme_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0), *y = grad_output(c, 0), *updates = grad_input(c, 1),
                 *data = grad_input(c, 2);
    struct value *zero = build_like(c, updates, 0.0);
    struct value *data_is = build(c, "Equal", data, y), *update_is = build(c, "Equal", updates, at_indices(c, y));
    struct value *start = build_cast(c->b, data_is, y->dtype);
    struct value *count = scattered(c, "add", build_cast(c->b, update_is, y->dtype), start);
    struct value *share = build(c, "Div", dy, count);
    if (grad_wants(c, 1) && !grad_accumulate(c, 1, build(c, "Where", update_is, at_indices(c, share), zero)))
        return false;
    return !grad_wants(c, 2) || grad_accumulate(c, 2, build(c, "Where", data_is, share, zero));
}

static bool scatter_grad(struct grad_ctx *c)
{
    switch (scatter_reduction(c->node)) {
    case SCATTER_ADD:
        return add_grad(c);
    case SCATTER_MUL:
        return mul_grad(c);
    case SCATTER_MAX:
    case SCATTER_MIN:
        return extreme_grad(c);
    default:
        return none_grad(c);
    }
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static double combine_floats(const struct eval_ctx *c, enum scatter_reduction r, double x, double y)
{
    switch (r) {
    case SCATTER_ADD:
        return eval_round(c, x + y);
    case SCATTER_MUL:
        return eval_round(c, x * y);
    case SCATTER_MAX:
        return y > x || isnan(y) ? y : x;
    case SCATTER_MIN:
        return y < x || isnan(y) ? y : x;
    default:
        return y;
    }
}

static bool is_less(enum dtype d, int64_t x, int64_t y)
{
    return d == DTYPE_UINT64 ? (uint64_t)x < (uint64_t)y : x < y;
}

static int64_t combine_ints(enum scatter_reduction r, enum dtype d, int64_t x, int64_t y)
{
    switch (r) {
    case SCATTER_ADD:
        return d == DTYPE_BOOL ? x | y : eval_int_binary(d, '+', x, y);
    case SCATTER_MUL:
        return d == DTYPE_BOOL ? x & y : eval_int_binary(d, '*', x, y);
    case SCATTER_MAX:
        return is_less(d, x, y) ? y : x;
    case SCATTER_MIN:
        return is_less(d, y, x) ? y : x;
    default:
        return y;
    }
}

void scatter_combine(const struct eval_ctx *c, enum scatter_reduction r, struct eval_tensor *to, int64_t k,
                     const struct eval_tensor *from, int64_t j)
{
    if (to->f != NULL)
        to->f[k] = combine_floats(c, r, to->f[k], from->f[j]);
    else
        to->i[k] = combine_ints(r, to->dtype, to->i[k], from->i[j]);
}

/* All indices are looked at before anything else: they may be repeated for many elements. */
static bool read_all(const struct eval_ctx *c, int64_t size, int64_t *index)
{
    for (int64_t k = 0; k < eval_input(c, 0)->count; k++)
        if (!index_read(c, 0, k, size, &index[k]))
            return false;
    return true;
}

static bool scatter_eval(struct eval_ctx *c)
{
    const struct eval_tensor *updates = eval_input(c, 1);
    const struct shape *given = &eval_input(c, 0)->shape;
    const enum scatter_reduction r = scatter_reduction(c->node);
    const int64_t rows = updates->shape.dim[1], inner = updates->shape.dim[2];
    const int64_t size = op_attr_int(c->node, "size"), width = given->dim[2];
    int64_t *index = arena_array(c->scratch, int64_t, (size_t)eval_input(c, 0)->count);
    struct eval_tensor *y = eval_output(c, 0);
    if (!read_all(c, size, index))
        return false;
    for (int64_t p = 0; y != NULL && eval_has(c, 2) && p < y->count; p++)
        move_element(y, p, eval_input(c, 2), p);
    for (int64_t p = 0; y != NULL && p < updates->count; p++) {
        const int64_t o = p / (rows * inner), k = p / inner % rows, i = p % inner;
        const int64_t s = index[((given->dim[0] == 1 ? 0 : o) * rows + k) * width + (width == 1 ? 0 : i)];
        scatter_combine(c, r, y, (o * size + s) * inner + i, updates, p);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* Does every element equal the one `step` before it in dimension d? */
static bool repeats_along(const struct tensor *t, int d)
{
    int64_t stride[SHAPE_MAX_RANK];
    shape_strides(&t->shape, stride);
    for (int64_t k = 0; k < t->count; k++)
        if (k / stride[d] % t->shape.dim[d] > 0 && tensor_get_int(t, k) != tensor_get_int(t, k - stride[d]))
            return false;
    return true;
}

/* The indices, standing still where they are the same for all rows or columns: as those of one, expanded, are. */
static struct view indices_of(struct lower_ctx *c)
{
    struct view v = lower_view_of(c, 0);
    const struct tensor *known = value_known(c->node->inputs.data[0]);
    for (int d = 0; d < 3; d += 2)
        if (v.shape.dim[d] == 1 || (known != NULL && repeats_along(known, d)))
            v.stride[d] = 0;
    return v;
}

static enum scatter_reduction lowered_reduction(const struct lower_ctx *c)
{
    const enum scatter_reduction r = scatter_reduction(c->node);
    if (lower_out_dtype(c, 0) != DTYPE_BOOL)
        return r;
    return r == SCATTER_ADD ? SCATTER_MAX : r == SCATTER_MUL ? SCATTER_MIN : r;
}

/* Sums that start from constant zeros, as exporters write them, need no data. */
static bool starts_from_zero(struct lower_ctx *c)
{
    if (!lower_has(c, 2))
        return true;
    const struct tensor *t = lower_view_of(c, 2).buffer->constant;
    if (t == NULL || scatter_reduction(c->node) != SCATTER_ADD || !dtype_is_float(t->dtype))
        return false;
    for (int64_t k = 0; k < t->count; k++)
        if (tensor_get_double(t, k) != 0 || signbit(tensor_get_double(t, k)))
            return false;
    return true;
}

/* What is at the current point of the result to begin with. */
static const struct expr *start_of(struct lower_ctx *c)
{
    if (starts_from_zero(c))
        return move_zero(c, lower_out_dtype(c, 0));
    const struct view data = lower_view_of(c, 2);
    return lower_load(c, &data);
}

static const struct expr *together(struct lower_ctx *c, const struct expr *x, const struct expr *y)
{
    struct arena *a = c->arena;
    const struct expr *is_nan = expr_unary(a, EXPR_NOT, expr_binary(a, EXPR_EQ, y, y)), *beyond;
    switch (lowered_reduction(c)) {
    case SCATTER_ADD:
        return expr_binary(a, EXPR_ADD, x, y);
    case SCATTER_MUL:
        return expr_binary(a, EXPR_MUL, x, y);
    case SCATTER_MAX:
        beyond = expr_binary(a, EXPR_LT, x, y);
        break;
    case SCATTER_MIN:
        beyond = expr_binary(a, EXPR_LT, y, x);
        break;
    default:
        return y;
    }
    return expr_select(a, dtype_is_float(y->dtype) ? expr_binary(a, EXPR_OR, beyond, is_nan) : beyond, y, x);
}

/* One row: each element of the result asks whether it is meant, and the loops fuse with others. */
static void lower_one_row(struct lower_ctx *c, const struct view *indices, const struct view *out)
{
    struct arena *a = c->arena;
    const struct view given = lower_view_of(c, 1);
    struct view index = *indices, update = given;
    index.shape = update.shape = out->shape;
    index.stride[1] = update.stride[1] = 0;
    const struct expr *start = start_of(c), *place = index_load(c, &index, out->shape.dim[1]);
    const struct expr *is_meant = expr_binary(a, EXPR_EQ, place, expr_index(a, 1));
    lower_store(c, lower_part(c, &out->shape), out,
                expr_select(a, is_meant, together(c, start, lower_load(c, &update)), start));
}

static void operand(struct lower_ctx *c, const char *param, const struct view *v)
{
    const struct access access = {.buffer = v->buffer, .offset = v->offset};
    lower_template_operand(c, param, &access);
}

static void strides(struct lower_ctx *c, const char *const *holes, const struct view *v)
{
    for (int d = 0; d < 3; d++)
        lower_template_int(c, holes[d], v->stride[d]);
}

static void lower_types(struct lower_ctx *c, enum dtype type)
{
    lower_template_int(c, "REDUCTION", lowered_reduction(c));
    lower_template_int(c, "FLOATS", dtype_is_float(type));
    lower_template_int(c, "SIGNED", dtype_is_int(type) && dtype_is_signed(type) ? dtype_bits(type) : 0);
}

static const char *const late[] = {"OUTER", "ROWS", "DY_OUTER", "INDEX_OUTER", NULL};
static const struct template_traits rows_template = {.name = "scatter_rows", .late = late};

/* So many columns of y stand in scratch memory at a time, where a row is one element or columns have indices of their
 * own; 0: none does. */
static int64_t summed_columns(const struct lower_ctx *c, const struct view *indices, const struct view *out)
{
    const int64_t columns = out->shape.dim[2], most = c->options.small ? 1 : 16;
    return columns > 1 && indices->stride[2] == 0 ? 0 : columns < most ? columns : most;
}

/* No loop nest of plain stores can add up, so this is a template (templates/scatter.c). It takes the rows of each index
 * in turn from a chained list in scratch memory (a head per index, a successor per row), so that no second copy of y is
 * needed and every element is finished once, in order. For single elements a list costs more than it saves: some
 * columns of y are summed up in scratch memory. */
static void lower_rows(struct lower_ctx *c, const struct view *indices, const struct view *out)
{
    static const char *const index_holes[] = {"INDEX_OUTER", "INDEX_STRIDE", "INDEX_COL"};
    static const char *const update_holes[] = {"DY_OUTER", "DY_ROW", "DY_COL"};
    static const char *const data_holes[] = {"DATA_OUTER", "DATA_ROW", "DATA_COL"};
    const struct view updates = lower_view_of(c, 1);
    const struct shape *shape = &out->shape;
    const int64_t rows = updates.shape.dim[1], size = shape->dim[1];
    const enum dtype type = lower_out_dtype(c, 0);
    lower_template(c, &rows_template, type);
    lower_template_int(c, "OUTER", shape->dim[0]);
    lower_template_int(c, "ROWS", rows);
    lower_template_int(c, "SIZE", size);
    lower_template_int(c, "INNER", shape->dim[2]);
    lower_types(c, type);
    strides(c, index_holes, indices);
    strides(c, update_holes, &updates);
    operand(c, "indices", indices);
    operand(c, "dy", &updates);
    lower_template_int(c, "HAS_DATA", !starts_from_zero(c));
    if (!starts_from_zero(c)) {
        const struct view data = lower_view_of(c, 2);
        strides(c, data_holes, &data);
        operand(c, "data", &data);
    }
    const int64_t columns = summed_columns(c, indices, out);
    lower_template_int(c, "BY_CHAINS", columns == 0);
    if (columns > 0) {
        lower_template_int(c, "COLUMNS", columns);
        lower_template_scratch(c, "sums", size * columns);
    } else {
        lower_template_scratch(c, "chain", size + rows);
        c->kernel->scratch.buffer->dtype = DTYPE_INT32;
    }
    lower_template_flops(c, shape_count(&updates.shape));
    struct part *p = lower_template_part(c, "finish", 3, shape->dim);
    lower_store(c, p, out, expr_result(c->arena, type));
}

static bool scatter_lower(struct lower_ctx *c)
{
    const struct view indices = indices_of(c), out = lower_out_view(c, 0);
    const int64_t rows = lower_shape(c, 1)->dim[1];
    if (rows > INT32_MAX || out.shape.dim[1] > INT32_MAX)
        return lower_error(c, "more than %d indices or slices are not compiled", INT32_MAX);
    if (out.buffer->count == 0)
        return true;
    lower_kernel(c, NULL);
    index_add_check(c, 0, &indices, INDEX_ALL, out.shape.dim[1]);
    if (rows == 0)
        lower_store(c, lower_part(c, &out.shape), &out, start_of(c));
    else if (rows == 1)
        lower_one_row(c, &indices, &out);
    else
        lower_rows(c, &indices, &out);
    return true;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text = "g (int64[1,4,1] i, float[1,4,3] u) => (float[1,5,3] y) { y = stepc.Scatter <size = 5> (i, u) }",
     .feed = "index:5"},
    {.text = "g (int32[1,6,1] i, double[2,6,3] u) => (double[2,2,3] y) { y = stepc.Scatter <size = 2> (i, u) }",
     .feed = "index:2"},
    {.text = "g (int64[1,5,1] i, float[1,5,70] u) => (float[1,3,70] y) { y = stepc.Scatter <size = 3> (i, u) }",
     .feed = "index:3"},
    {.text = "g (int64[1,0,1] i, float[2,0,3] u) => (float[2,5,3] y) { y = stepc.Scatter <size = 5> (i, u) }"},
    {.text = "g (int64[1,6,1] i, float[2,6,3] u, float[2,4,2] x) => (float[2,4,3] y) { "
             "y = stepc.Scatter <size = 4> (i, u, x) }",
     .error = "input 2 'x' does not have the shape [outer,size,inner]"},
    {.text = "g (int64[1,6,1] i, float[2,6,3] u) => (float[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"max\"> (i, u) }",
     .error = "without data the only reduction is add"},
    {.text = "g (int64[2,6,1] i, float[2,6,3] u, float[2,4,3] x) => (float[2,4,3] y) { "
             "y = stepc.Scatter <size = 4> (i, u, x) }",
     .feed = "index:4"},
    {.text = "g (int64[1,6,3] i, float[2,6,3] u, float[2,4,3] x) => (float[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"none\"> (i, u, x) }",
     .feed = "index:4",
     .no_gradient = true},
    {.text = "g (int64[2,6,3] i, float[2,6,3] u, float[2,4,3] x) => (float[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"mul\"> (i, u, x) }",
     .feed = "index:4"},
    {.text = "g (int64[2,6,3] i, float[2,6,3] u, float[2,4,3] x) => (float[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"max\"> (i, u, x) }",
     .feed = "index:4"},
    {.text = "g (int64[1,6,1] i, float16[2,6,3] u, float16[2,4,3] x) => (float16[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"min\"> (i, u, x) }",
     .feed = "index:4"},
    {.text = "g (int64[2,1,3] i, float[2,1,3] u, float[2,4,3] x) => (float[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"max\"> (i, u, x) }",
     .feed = "index:4"},
    {.text = "g (int64[2,1,3] i, float[2,1,3] u) => (float[2,4,3] y) { y = stepc.Scatter <size = 4> (i, u) }",
     .feed = "index:4"},
    {.text = "g (int64[1,6,1] i, int8[2,6,3] u, int8[2,4,3] x) => (int8[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"mul\"> (i, u, x) }",
     .feed = "index:4",
     .no_gradient = true},
    {.text = "g (int64[1,6,1] i, int64[2,6,3] u, int64[2,4,3] x) => (int64[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"add\"> (i, u, x) }",
     .feed = "index:4",
     .no_gradient = true},
    {.text = "g (int64[1,6,1] i, uint64[2,6,3] u, uint64[2,4,3] x) => (uint64[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"max\"> (i, u, x) }",
     .feed = "index:4",
     .no_gradient = true},
    {.text = "g (int64[1,6,3] i, bool[2,6,3] u, bool[2,4,3] x) => (bool[2,4,3] y) { "
             "y = stepc.Scatter <size = 4, reduction = \"add\"> (i, u, x) }",
     .feed = "index:4",
     .no_gradient = true},
    {.text = "g (int64[3] i, float[4,3] u) => (float[2,5,3] y) { y = stepc.Scatter <size = 5> (i, u) }",
     .error = "do not have the shapes [outer or 1,rows,inner or 1]"},
    {.text = "g (int64[1,3,1] i, float[4,3,1] u) => (float[4,5,1] y) { y = stepc.Scatter <size = 5, reduction = "
             "\"max\"> (i, u) }",
     .error = "without data"},
    {.text = "g (int64[1,3,1] i, float[4,3,1] u, float[4,5,2] x) => (float[4,5,1] y) { y = stepc.Scatter <size = 5> "
             "(i, u, x) }",
     .error = "does not have the shape [outer,size,inner]"},
    {.text = "g (int64[1,3,1] i, float[4,3,1] u) => (float[4,5,1] y) { y = stepc.Scatter <size = 5, reduction = "
             "\"avg\"> (i, u) }",
     .error = "expected none, add, mul, min or max"},
    {0}};

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

enum { SUM_OPSET = 16, EXTREME_OPSET = 18, MOST_HITS = 1 << 28 };

/* [o, s, k, i]: does row k go to s? o and i are 1 where the indices fix them. */
static struct value *hits_of(struct expand_ctx *c)
{
    const int64_t size = op_attr_int(c->node, "size");
    struct value *indices = expand_in(c, 0);
    const struct shape *const s = &indices->shape;
    const struct size one = size_constant(1);
    indices = build_reshape(c->b, indices, &SHAPE_OF(shape_size(s, 0), one, shape_size(s, 1), shape_size(s, 2)));
    struct value *const zero = build_like(c, indices, 0.0), *const negative = build(c, "Less", indices, zero);
    struct value *const from_end = build(c, "Add", indices, build_like(c, indices, (double)size));
    indices = build(c, "Where", negative, from_end, indices);
    return build(c, "Equal", build_counter(c->b, indices->dtype, 0, &SHAPE(size, 1, 1)), indices);
}

/* Infinity wherever a row goes that is not `bounded`, as a number to add; else 0. */
static struct value *beyond(struct expand_ctx *c, struct value *matrix, struct value *bounded, double infinity)
{
    struct value *const is_beyond = build_cast(c->b, build(c, "Not", bounded), matrix->dtype);
    struct value *const zero = build_like(c, matrix, 0.0), *const hits = build(c, "MatMul", matrix, is_beyond);
    return build(c, "Where", build(c, "Less", zero, hits), build_like(c, matrix, infinity), zero);
}

/* M u of floats. 0 times infinity is NaN: what is not finite is added for itself, NaN as both infinities. */
static struct value *finite_product(struct expand_ctx *c, struct value *matrix, struct value *updates)
{
    struct value *const below = build(c, "Less", updates, build_like(c, updates, INFINITY));
    struct value *const above = build(c, "Less", build_like(c, updates, -INFINITY), updates);
    struct value *const is_finite = build(c, "And", below, above);
    struct value *const finite = build(c, "Where", is_finite, updates, build_like(c, updates, 0.0));
    struct value *const sum = build(c, "Add", build(c, "MatMul", matrix, finite), beyond(c, matrix, below, INFINITY));
    return build(c, "Add", sum, beyond(c, matrix, above, -INFINITY));
}

/* y = M u with M[o, s, k] = 1 where row k goes to s. */
static struct value *sum_by_product(struct expand_ctx *c)
{
    struct value *updates = expand_in(c, 1), *const data = expand_in(c, 2), *const hits = hits_of(c);
    const int64_t outer = hits->shape.dim[0], size = hits->shape.dim[1], rows = hits->shape.dim[2];
    const struct shape *const s = outer == 1 ? &SHAPE(size, rows) : &SHAPE(outer, size, rows);
    const enum dtype type = updates->dtype;
    if (type == DTYPE_BFLOAT16) /* which Where has not yet */
        updates = build_cast(c->b, updates, DTYPE_FLOAT);
    struct value *const matrix = build_cast(c->b, build_reshape(c->b, hits, s), updates->dtype);
    struct value *sum;
    if (dtype_is_float(type))
        sum = build_cast(c->b, finite_product(c, matrix, updates), type);
    else
        sum = build(c, "MatMul", matrix, updates);
    return data != NULL ? build(c, "Add", data, sum) : sum;
}

/* All rows beside each other, with what changes nothing where a row does not go. */
static struct value *reduce_hits(struct expand_ctx *c, enum scatter_reduction r)
{
    static const char *const over[] = {[SCATTER_ADD] = "ReduceSum", [SCATTER_MUL] = "ReduceProd",
                                       [SCATTER_MAX] = "ReduceMax", [SCATTER_MIN] = "ReduceMin"};
    static const char *const with[] = {[SCATTER_ADD] = "Add", [SCATTER_MUL] = "Mul", [SCATTER_MAX] = "Max",
                                       [SCATTER_MIN] = "Min"};
    struct value *updates = expand_in(c, 1), *const data = expand_in(c, 2), *const hits = hits_of(c);
    const struct shape *const u = &expand_in(c, 1)->shape;
    const struct size one = size_constant(1);
    updates = build_reshape(c->b, updates, &SHAPE_OF(shape_size(u, 0), one, shape_size(u, 1), shape_size(u, 2)));
    struct value *nothing = build_like(c, updates, r == SCATTER_MUL ? 1.0 : 0.0);
    if (r == SCATTER_MAX || r == SCATTER_MIN)
        nothing = build_reshape(
            c->b, data, &SHAPE_OF(shape_size(u, 0), shape_size(&data->shape, 1), one, shape_size(u, 2)));
    struct value *const all = build(c, "Where", hits, updates, nothing);
    struct value *const axis = build_ints(c->b, (int64_t[]){2}, 1);
    struct value *const y = build_with(c, over[r], ATTRS(attr_int("keepdims", 0)), all, axis);
    return data != NULL ? build(c, with[r], data, y) : y;
}

/* MatMul and the reductions have these. */
static bool is_summed(enum dtype t)
{
    return dtype_is_float(t) || t == DTYPE_INT32 || t == DTYPE_INT64 || t == DTYPE_UINT32 || t == DTYPE_UINT64;
}

/* Before scatters could reduce; NULL where there are too many pairs of a row and a place, or no operators for the
 * type. */
static struct value *without_reduction(struct expand_ctx *c, enum scatter_reduction r)
{
    const struct shape *const indices = &expand_in(c, 0)->shape, *const u = &expand_in(c, 1)->shape;
    const bool by_product = r == SCATTER_ADD && indices->dim[2] == 1;
    const double pairs = (double)op_attr_int(c->node, "size") * (double)u->dim[1];
    const double hits = by_product ? (double)indices->dim[0] : (double)u->dim[0] * (double)u->dim[2];
    if (!is_summed(expand_in(c, 1)->dtype) || u->dim[1] == 0 || pairs * hits > MOST_HITS)
        return NULL;
    return by_product ? sum_by_product(c) : reduce_hits(c, r);
}

static bool is_rows(const struct value *indices)
{
    return indices->shape.dim[0] == 1 && indices->shape.dim[2] == 1;
}

/* Rows of a matrix, or elements of a line: less to say than element by element. */
static struct value *scatter_rows(struct expand_ctx *c, const struct attr *how, struct value *data)
{
    struct value *indices = expand_in(c, 0), *updates = expand_in(c, 1);
    const int64_t rows = updates->shape.dim[1], inner = updates->shape.dim[2], size = data->shape.dim[1];
    indices = build_reshape(c->b, build_cast(c->b, indices, DTYPE_INT64), &SHAPE(rows, 1));
    updates = build_reshape(c->b, updates, &SHAPE(rows, inner));
    data = build_reshape(c->b, data, &SHAPE(size, inner));
    return build_value(c->b, "ScatterND", how, (struct value *const[]){data, indices, updates}, 3);
}

static bool scatter_plain(struct expand_ctx *c)
{
    struct value *const indices = expand_in(c, 0), *const updates = expand_in(c, 1), *data = expand_in(c, 2);
    struct value *const y = node_output(c->node, 0);
    const enum scatter_reduction r = scatter_reduction(c->node);
    const bool is_extreme = r == SCATTER_MAX || r == SCATTER_MIN;
    if (r != SCATTER_NONE && c->target->opset < (is_extreme ? EXTREME_OPSET : SUM_OPSET)) {
        struct value *const v = without_reduction(c, r);
        if (v != NULL)
            return expand_out(c, 0, v);
    }
    const struct attr *how = r == SCATTER_NONE ? ATTRS_NONE : ATTRS(attr_string("reduction", reductions[r]));
    if (data == NULL)
        data = build_full_like(c->b, y, 0.0);
    if (is_rows(indices) && y->shape.dim[0] == 1)
        return expand_out(c, 0, build_reshape(c->b, scatter_rows(c, how, data), &y->shape));
    const struct attr axis = attr_int("axis", 1);
    struct value *const in[] = {data, build_expand(c->b, indices, &updates->shape), updates};
    return expand_out(c, 0, build_value(c->b, "ScatterElements",
                                        r == SCATTER_NONE ? ATTRS(axis)
                                                          : ATTRS(axis, attr_string("reduction", reductions[r])),
                                        in, 3));
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

const struct op_def op_defs_scatter_rows[] = {
    {.domain = DOMAIN_STEPC, .name = "Scatter", .versions = versions, .inputs = inputs, .outputs = outputs,
     .attrs = attrs, .infer = scatter_infer, .grad = scatter_grad,
     .plain = scatter_plain, .eval = scatter_eval, .lower = scatter_lower,
     .selects_from = scatter_selects_from, .samples = samples},
    {0}};
