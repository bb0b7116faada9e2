/* AffineGrid: the grid with which GridSample turns, moves and stretches images, from theta [N,k,k+1] and a size
 * [N,C,in..] of k = 2 or 3 spatial axes, added from left to right:
 *   grid[n, p.., i] = theta[n,i,0] x_last(p) + .. + theta[n,i,k-1] x_first(p) + theta[n,i,k]
 * Along an axis of S elements x(p) = (2 p + 1) / S - 1, with align_corners 2 p / (S - 1) - 1, and 0 where S is 1, as in
 * PyTorch; computed in double and rounded once. Types of 16 bits are computed in float. (ONNX calls theta
 * non-differentiable; as in PyTorch it has its gradient here.)
 * Spec: ONNX AffineGrid-20. */
#include "ops/move_rules.h"

static const struct op_attr attrs[] = {{.name = "align_corners", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_version versions[] = {{.since = 20}, {0}};
static const struct op_param inputs[] = {{.name = "theta", .type = 'T', .dtypes = DTYPES_FLOATS},
                                         {.name = "size", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {{.name = "grid", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool affine_grid_infer(struct infer_ctx *c)
{
    const struct shape *theta = infer_shape(c, 0);
    struct shape size, grid = SHAPE_SCALAR;
    if (!move_infer_dims(c, 1, &size))
        return false;
    if (size.rank != 4 && size.rank != 5)
        return infer_error(c, "input 1 '%s' (size) has %d elements, expected 4 or 5", infer_in(c, 1)->name, size.rank);
    const int axes = size.rank - 2;
    if (theta->rank != 3 || theta->dim[0] != size.dim[0] || theta->dim[1] != axes || theta->dim[2] != axes + 1)
        return infer_error(c, "input 0 '%s' does not have the shape [%lld,%d,%d]", infer_in(c, 0)->name,
                           (long long)size.dim[0], axes, axes + 1);
    shape_take(&grid, &size, 0);
    for (int d = 0; d < axes; d++)
        shape_take(&grid, &size, d + 2);
    shape_add(&grid, size_constant(axes));
    return infer_out(c, 0, DTYPE_UNDEFINED, &grid);
}

static double place_of(int64_t p, int64_t size, bool aligned)
{
    if (aligned)
        return size == 1 ? 0 : 2 * (double)p / (double)(size - 1) - 1;
    return (double)(2 * p + 1) / (double)size - 1;
}

/* Column j of theta, over the grid. */
static struct value *build_column(struct expand_ctx *c, struct value *theta, int j, int axes)
{
    struct shape shape = SHAPE_OF(shape_size(&theta->shape, 0));
    for (int d = 1; d <= axes; d++)
        shape_add(&shape, size_constant(1));
    shape_add(&shape, size_constant(axes));
    struct value *column = build_with(c, "Gather", ATTRS(attr_int("axis", 2)), theta, build_int(c->b, j));
    return build_reshape(c->b, column, &shape);
}

/* x along axis d of the grid: place_of() of 0, 1, ... */
static struct value *build_places(struct expand_ctx *c, enum dtype dtype, int d, bool aligned)
{
    const struct shape *grid = &node_output(c->node, 0)->shape;
    struct shape shape = {.rank = grid->rank};
    for (int i = 0; i < grid->rank; i++)
        shape_set(&shape, i, i == d ? shape_size(grid, d) : size_constant(1));
    const int64_t size = grid->dim[d];
    if (aligned && size == 1)
        return build_reshape(c->b, build_scalar(c->b, dtype, 0), &shape);
    struct value *x = build_cast(c->b, build_counter(c->b, DTYPE_INT64, 0, &shape), DTYPE_DOUBLE);
    x = build(c, "Mul", x, build_like(c, x, 2));
    if (!aligned)
        x = build(c, "Add", x, build_like(c, x, 1));
    x = build(c, "Div", x, build_like(c, x, (double)(aligned ? size - 1 : size)));
    return build_cast(c->b, build(c, "Sub", x, build_like(c, x, 1)), dtype);
}

static bool affine_grid_expand(struct expand_ctx *c)
{
    const struct shape *grid = &node_output(c->node, 0)->shape;
    const enum dtype d = expand_in(c, 0)->dtype;
    const bool aligned = op_attr_int(c->node, "align_corners") != 0;
    struct value *theta = build_cast(c->b, expand_in(c, 0), dtype_computed(d)), *sum = NULL;
    const int axes = grid->rank - 2;
    for (int j = 0; j < axes; j++) {
        struct value *places = build_places(c, theta->dtype, axes - j, aligned);
        struct value *term = build(c, "Mul", build_column(c, theta, j, axes), places);
        sum = sum ? build(c, "Add", sum, term) : term;
    }
    sum = build(c, "Add", sum, build_column(c, theta, axes, axes));
    return expand_out(c, 0, build_cast(c->b, sum, d));
}

static bool affine_grid_eval(struct eval_ctx *c)
{
    const double *theta = eval_f(c, 0);
    const struct shape *shape = &eval_output(c, 0)->shape;
    const int axes = shape->rank - 2;
    const bool aligned = op_attr_int(c->node, "align_corners") != 0;
    int64_t index[SHAPE_MAX_RANK] = {0};
    double *grid = eval_out_f(c, 0);
    for (int64_t k = 0; k < eval_output(c, 0)->count; k++, shape_next(shape, index)) {
        const double *row = &theta[(index[0] * axes + index[axes + 1]) * (axes + 1)];
        grid[k] = row[axes];
        for (int j = 0; j < axes; j++)
            grid[k] += row[j] * place_of(index[axes - j], shape->dim[axes - j], aligned);
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,2,3] t) => (float[2,4,5,2] g) { s = Constant <value_ints = [2, 3, 4, 5]> () g = AffineGrid(t, "
             "s) }"},
    {.text = "g (double[2,2,3] t) => (double[2,4,1,2] g) { s = Constant <value_ints = [2, 3, 4, 1]> () "
             "g = AffineGrid <align_corners = 1> (t, s) }"},
    {.text = "g (double[1,3,4] t) => (double[1,2,3,4,3] g) { s = Constant <value_ints = [1, 5, 2, 3, 4]> () g = "
             "AffineGrid(t, s) }"},
    {.text = "g (float16[1,2,3] t) => (float16[1,2,3,2] g) { s = Constant <value_ints = [1, 1, 2, 3]> () g = "
             "AffineGrid(t, s) }"},
    {.text = "g (float[0,2,3] t) => (float[0,2,3,2] g) { s = Constant <value_ints = [0, 1, 2, 3]> () g = AffineGrid(t, "
             "s) }"},
    {.text = "g (float[1,2,3] t) => (float[1,0,3,2] g) { s = Constant <value_ints = [1, 1, 0, 3]> () g = AffineGrid(t, "
             "s) }"},
    {.text =
         "g (float[1,2,3] t) => (float[1,2,3,2] g) { s = Constant <value_ints = [1, 1, 2]> () g = AffineGrid(t, s) }",
     .error = "has 3 elements, expected 4 or 5"},
    {.text = "g (float[1,2,3] t) => (float[2,2,3,2] g) { s = Constant <value_ints = [2, 1, 2, 3]> () g = AffineGrid(t, "
             "s) }",
     .error = "does not have the shape [2,2,3]"},
    {.text = "g (float[1,2,3] t, int64[4] s) => (float[1,2,3,2] g) { g = AffineGrid(t, s) }", .error = "known"},
    {0}};

const struct op_def op_defs_affine_grid[] = {{.name = "AffineGrid",
                                              .versions = versions,
                                              .inputs = inputs,
                                              .outputs = outputs,
                                              .attrs = attrs,
                                              .infer = affine_grid_infer,
                                              .expand = affine_grid_expand,
                                              .eval = affine_grid_eval,
                                              .samples = samples},
                                             {0}};
