/* Tile: the tensor repeated along each of its axes.
 * Spec: ONNX Tile-1 (one axis), -6 and -13 (a number for every axis). */
#include "graph/axes.h"
#include "ops/move_rules.h"

#include "base/checked.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_param inputs_1[] = {{.name = "input", .type = 'T', .dtypes = FLOATS_1},
                                           {.name = "tiles", .type = 'T', .dtypes = FLOATS_1},
                                           {.name = "axis", .type = 'T', .dtypes = FLOATS_1},
                                           {0}};

static bool known_number(struct upgrade_ctx *c, int i, const char *name, int64_t *number)
{
    struct value *v = node_input(c->node, (size_t)i);
    const struct tensor *t = v == NULL ? NULL : value_known(v);
    if (t == NULL || t->count != 1)
        return upgrade_error(c, "input %d (%s) must be one number that is known at compile time", i, name);
    *number = tensor_get_int(t, 0);
    return true;
}

/* Version 1: `tiles` times along `axis`, both numbers of the input's floating type. */
static bool upgrade_1(struct upgrade_ctx *c)
{
    struct node *n = c->node;
    const struct value *x = node_input(n, 0);
    int64_t tiles = 0, wish = 0, repeats[SHAPE_MAX_RANK];
    int axis;
    if (x == NULL || !known_number(c, 1, "tiles", &tiles) || !known_number(c, 2, "axis", &wish))
        return false;
    if (!shape_axis(x->shape.rank, wish, &axis))
        return upgrade_error(c, "axis %lld is out of range for rank %d", (long long)wish, x->shape.rank);
    for (int d = 0; d < x->shape.rank; d++)
        repeats[d] = d == axis ? tiles : 1;
    struct value *list = build_ints(c->b, repeats, (size_t)x->shape.rank);
    node_set_input(n, 2, NULL);
    node_set_input(n, 1, list);
    return !c->b->failed;
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .inputs = inputs_1, .upgrade = upgrade_1},
    {.since = 6, .dtypes = MOVE_TYPES_1},
    {.since = 13},
    {0}};
static const struct op_param inputs[] = {
    {.name = "input", .type = 'T', .dtypes = MOVE_TYPES_25},
    {.name = "repeats", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};

/* ---- as other operators ------------------------------------------------------------------------------------------ */

/* [a,b] repeated [2,3] times is [a,b] -> [1,a,1,b] -> [2,a,3,b] -> [2a,3b]. Axes that stay once get no
 * dimension of their own. */
static bool tile_plan(const struct shape *x, const int64_t *repeats, struct shape *apart, struct shape *repeated)
{
    *apart = *repeated = SHAPE_SCALAR;
    for (int d = 0; d < x->rank; d++) {
        if (apart->rank + 2 > SHAPE_MAX_RANK)
            return false;
        if (repeats[d] != 1) {
            shape_add(apart, size_constant(1));
            shape_add(repeated, size_constant(repeats[d]));
        }
        shape_take(apart, x, d);
        shape_take(repeated, x, d);
    }
    return true;
}

static bool tile_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    struct shape repeats, y = *x, apart, repeated;
    if (!move_infer_dims(c, 1, &repeats))
        return false;
    if (repeats.rank != x->rank)
        return infer_error(c, "input 1 (repeats) has %d elements, expected %d, the rank of input 0 '%s'", repeats.rank,
                           x->rank, infer_in(c, 0)->name);
    if (!tile_plan(x, repeats.dim, &apart, &repeated))
        return infer_unsupported(c,
                                 "rank and number of repeated axes are more than %d together, which is not supported",
                                 SHAPE_MAX_RANK - 1);
    for (int d = 0; d < x->rank; d++) {
        int64_t dim;
        if (!checked_mul(x->dim[d], repeats.dim[d], &dim))
            return infer_error(c, "dimension %d of the result is too large", d);
        shape_set(&y, d, size_product(shape_size(x, d), shape_size(&repeats, d)));
    }
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

static bool tile_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    struct shape apart, repeated;
    size_t count;
    if (!tile_plan(&x->shape, move_known_ints(c->b->graph->arena, c->node, 1, &count), &apart, &repeated))
        UNREACHABLE("inference has refused this Tile");
    struct value *wide = build_expand(c->b, build_reshape(c->b, x, &apart), &repeated);
    return expand_out(c, 0, build_reshape(c->b, wide, &node_output(c->node, 0)->shape));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static bool tile_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    int64_t stride[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0};
    shape_strides(&x->shape, stride);
    for (int64_t k = 0; y != NULL && k < y->count; k++) {
        int64_t from = 0;
        for (int d = 0; d < x->shape.rank; d++)
            from += index[d] % x->shape.dim[d] * stride[d];
        move_element(y, k, x, from);
        shape_next(&y->shape, index);
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] x) => (float[4,9] y) { r = Constant <value_ints = [2, 3]> () y = Tile(x, r) }"},
    {.text = "g (double[2,3] x) => (double[2,6] y) { r = Constant <value_ints = [1, 2]> () y = Tile(x, r) }"},
    {.text = "g (int64[2] x) => (int64[0] y) { r = Constant <value_ints = [0]> () y = Tile(x, r) }",
     .no_gradient = true},
    {.text = "g (float[2,3] x) => (float[2,9] y) { t = Constant <value = float {3.0}> () "
             "a = Constant <value = float {1.0}> () y = Tile(x, t, a) }", .opset = 5},
    {.text = "g (float[2,3] x) => (float[4] y) { r = Constant <value_ints = [2]> () y = Tile(x, r) }",
     .error = "expected 2, the rank"},
    {.text = "g (float[2,3] x) => (float[2] y) { r = Constant <value_ints = [1, 9223372036854775807]> () y = "
             "Tile(x, r) }",
     .error = "dimension 1 of the result is too large"},
    {0}};

static void tile_axes(struct axes_ctx *c)
{
    struct arena scratch = {0};
    size_t count;
    const int64_t *const repeats = move_known_ints(&scratch, c->node, 1, &count);
    for (size_t d = 0; repeats && d < count; d++)
        if (repeats[d] == 1)
            axes_pass(c, 0, (int)d, 0, (int)d);
    arena_free(&scratch);
}

/* The gradient follows from the expansion: the adjoint is summed over the copies. */
const struct op_def op_defs_tile[] = {
    {.name = "Tile", .versions = versions, .inputs = inputs, .outputs = outputs, .infer = tile_infer,
     .axes = tile_axes,
     .stays = op_stays, .expand = tile_expand, .eval = tile_eval, .sizes = SIZES_MOVED, .samples = samples},
    {0}};
