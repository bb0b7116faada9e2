/* Transpose: dimension d of the result is dimension perm[d] of the input; without perm, all in reverse order.
 * Spec: ONNX Transpose-1 to -25; later versions only add types. */
#include "ops/move_rules.h"

static const struct op_attr attrs[] = {{.name = "perm", .type = ATTR_INTS, .no_default = true}, {0}};
static const struct op_version versions[] = {{.since = 1, .dtypes = MOVE_TYPES_1},
                                             {.since = 13, .dtypes = MOVE_TYPES_13},
                                             {.since = 21, .dtypes = MOVE_TYPES_21},
                                             {.since = 23, .dtypes = MOVE_TYPES_23},
                                             {.since = 24, .dtypes = MOVE_TYPES_24},
                                             {.since = 25},
                                             {0}};
static const struct op_param inputs[] = {{.name = "data", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};
static const struct op_param outputs[] = {{.name = "transposed", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};

/* perm of a node that inference has accepted. */
static void transpose_perm(const struct node *n, int rank, int *perm)
{
    const int64_t *list;
    size_t count;
    const bool given = op_attr_ints(n, "perm", &list, &count);
    for (int d = 0; d < rank; d++)
        perm[d] = given ? (int)list[d] : rank - 1 - d;
}

static bool check_perm(struct infer_ctx *c, int rank)
{
    const int64_t *list;
    size_t count;
    bool used[SHAPE_MAX_RANK] = {false};
    if (!op_attr_ints(c->node, "perm", &list, &count))
        return true;
    if (count != (size_t)rank)
        return infer_error(c, "attribute 'perm' has %zu entries, expected %d, the rank of input 0 '%s'", count, rank,
                           infer_in(c, 0)->name);
    for (size_t d = 0; d < count; d++) {
        if (list[d] < 0 || list[d] >= rank)
            return infer_error(c, "attribute 'perm' contains %lld, expected 0 to %d", (long long)list[d], rank - 1);
        if (used[list[d]])
            return infer_error(c, "attribute 'perm' contains %lld twice", (long long)list[d]);
        used[list[d]] = true;
    }
    return true;
}

static bool transpose_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    struct shape y = {.rank = x->rank};
    int perm[SHAPE_MAX_RANK];
    if (!check_perm(c, x->rank))
        return false;
    transpose_perm(c->node, x->rank, perm);
    for (int d = 0; d < y.rank; d++)
        shape_set(&y, d, shape_size(x, (int)perm[d]));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* dx = dy transposed back */
static bool transpose_grad(struct grad_ctx *c)
{
    int perm[SHAPE_MAX_RANK], inverse[SHAPE_MAX_RANK];
    const int rank = grad_input(c, 0)->shape.rank;
    transpose_perm(c->node, rank, perm);
    for (int d = 0; d < rank; d++)
        inverse[perm[d]] = d;
    return grad_accumulate(c, 0, build_transpose(c->b, grad_of_output(c, 0), inverse));
}

static bool transpose_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    int perm[SHAPE_MAX_RANK];
    int64_t of_x[SHAPE_MAX_RANK], stride[SHAPE_MAX_RANK];
    transpose_perm(c->node, x->shape.rank, perm);
    shape_strides(&x->shape, of_x);
    for (int d = 0; d < x->shape.rank; d++)
        stride[d] = of_x[perm[d]];
    if (eval_wants(c, 0))
        move_read_strided(eval_output(c, 0), x, 0, stride);
    return true;
}

static bool transpose_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0);
    int perm[SHAPE_MAX_RANK];
    transpose_perm(c->node, x.shape.rank, perm);
    const struct view y = view_transpose(&x, perm);
    return lower_as_view(c, 0, &y);
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] x) => (float[3,2] y) { y = Transpose(x) }"},
    {.text = "g (double[2,3,4,5] x) => (double[2,4,3,5] y) { y = Transpose <perm = [0, 2, 1, 3]> (x) }"},
    {.text = "g (float[2,3,4] x) => (float[4,2,3] y) { y = Transpose <perm = [2, 0, 1]> (x) }"},
    {.text = "g (float x) => (float y) { y = Transpose(x) }"},
    {.text = "g (int64[2,0] x) => (int64[0,2] y) { y = Transpose(x) }", .no_gradient = true},
    {.text = "g (float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1, 1]> (x) }", .error = "contains 1 twice"},
    {.text = "g (float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1]> (x) }",
     .error = "has 1 entries, expected 2"},
    {.text = "g (float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1, 2]> (x) }",
     .error = "contains 2, expected 0 to 1"},
    {.text = "g (bfloat16[2,3,4] x) => (bfloat16[4,2,3] y) { y = Transpose <perm = [2,0,1]> (x) }"},
    {0}};

static bool transpose_bounded(struct bounded_ctx *c)
{
    const struct bounded *x = bounded_in(c, 0);
    const int rank = c->node->inputs.data[0]->shape.rank;
    int perm[SHAPE_MAX_RANK], d = 0;
    transpose_perm(c->node, rank, perm);
    while (d < rank - 1 && perm[d] != x->axis)
        d++;
    return bounded_out(c, 0, x, d);
}

static void transpose_axes(struct axes_ctx *c)
{
    const int rank = node_input(c->node, 0)->shape.rank;
    int perm[SHAPE_MAX_RANK];
    transpose_perm(c->node, rank, perm);
    for (int d = 0; d < rank; d++)
        axes_pass(c, 0, perm[d], 0, d);
}

const struct op_def op_defs_transpose[] = {
    {.name = "Transpose", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = transpose_infer, .axes = transpose_axes,
     .grad = transpose_grad, .eval = transpose_eval, .lower = transpose_lower,
     .is_view = true, .bounded = transpose_bounded, .sizes = SIZES_MOVED, .samples = samples},
    {0}};
