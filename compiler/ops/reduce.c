/* Reductions: ReduceSum Mean Max Min Prod, and ReduceL1 L2 SumSquare LogSum LogSumExp, which are made of those.
 *
 * The order of sums and products (docs/numerics.md), axes of one element counting as absent:
 *   the last axis is reduced     the trailing block of reduced axes is one tail, whose element p goes to lane p %
 *                                16; outer reduced axes are visited in index order, into the same lanes; then the
 *                                lanes fold by halves
 *   only outer axes are reduced  one accumulator per output, in index order
 * A float sum is made in blocks: 4,096 elements of a tail, of shorter tails as many as have that many, 4,096 terms of
 * outer axes; a block's accumulators begin anew, and are added to those of the whole.
 * Every accumulator starts from +0 (or 1, -inf, inf). Reducing nothing but axes of one element changes nothing.
 *
 * Spec: ONNX Operators.md. Up to 11 (ReduceSum) or 13 (the others) `axes` was an attribute. */
#include "ops/reduce_rules.h"

#include <math.h>
#include <string.h>

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define BITS(d) DTYPE_BIT(DTYPE_##d)
#define TYPES_1 (DTYPES_FLOAT_DOUBLE | BITS(FLOAT16) | DTYPES_INDEX | BITS(UINT32) | BITS(UINT64))
#define TYPES_12 (TYPES_1 | BITS(INT8) | BITS(UINT8))
#define TYPES_13 (TYPES_1 | BITS(BFLOAT16))
#define TYPES_EXTREMUM_13 (TYPES_12 | BITS(BFLOAT16))
#define TYPES_EXTREMUM (TYPES_EXTREMUM_13 | BITS(BOOL))

#define ATTR_KEEPDIMS {.name = "keepdims", .type = ATTR_INT, .int_default = 1}
static const struct op_attr attrs_1[] = {{.name = "axes", .type = ATTR_INTS, .no_default = true}, ATTR_KEEPDIMS, {0}};
static const struct op_attr attrs[] = {
    ATTR_KEEPDIMS, {.name = "noop_with_empty_axes", .type = ATTR_INT, .int_default = 0}, {0}};

#define DATA(set) {.name = "data", .type = 'T', .dtypes = (set)}
#define AXES {.name = "axes", .dtypes = BITS(INT64), .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF}
static const struct op_param inputs_1[] = {DATA(0), {0}};
static const struct op_param inputs[] = {DATA(TYPES_13), AXES, {0}},
                             extremum_inputs[] = {DATA(TYPES_EXTREMUM), AXES, {0}};
static const struct op_param outputs[] = {{.name = "reduced", .type = 'T', .dtypes = TYPES_13}, {0}};
static const struct op_param extremum_outputs[] = {{.name = "reduced", .type = 'T', .dtypes = TYPES_EXTREMUM}, {0}};

static bool upgrade_axes(struct upgrade_ctx *c)
{
    return upgrade_attr_to_input(c, "axes", 1);
}

static bool downgrade_axes(struct downgrade_ctx *c)
{
    return downgrade_input_to_attr(c, 1, "axes");
}

#define WITH_ATTRIBUTE(version, set) {.since = (version), .dtypes = (set), .attrs = attrs_1, .inputs = inputs_1}
#define LAST_WITH_ATTRIBUTE(version, set)                                                                              \
    {.since = (version), .dtypes = (set), .attrs = attrs_1, .inputs = inputs_1, .upgrade = upgrade_axes,   \
     .downgrade = downgrade_axes}
static const struct op_version sum_versions[] = {
    WITH_ATTRIBUTE(1, TYPES_1), LAST_WITH_ATTRIBUTE(11, TYPES_1), {.since = 13}, {0}};
static const struct op_version versions[] = {
    WITH_ATTRIBUTE(1, TYPES_1), WITH_ATTRIBUTE(11, TYPES_1), LAST_WITH_ATTRIBUTE(13, TYPES_13), {.since = 18}, {0}};
static const struct op_version extremum_versions[] = {WITH_ATTRIBUTE(1, TYPES_1),
                                                      WITH_ATTRIBUTE(11, TYPES_1),
                                                      WITH_ATTRIBUTE(12, TYPES_12),
                                                      LAST_WITH_ATTRIBUTE(13, TYPES_EXTREMUM_13),
                                                      {.since = 18, .dtypes = TYPES_EXTREMUM_13},
                                                      {.since = 20},
                                                      {0}};

/* ---- axes and shapes --------------------------------------------------------------------------------------------- */

static bool reduced_axes(struct infer_ctx *c, bool *reduced)
{
    const int rank = infer_rank(c, 0);
    const int64_t *axes = NULL;
    size_t count = 0;
    if (infer_in(c, 1) != NULL && !infer_known_ints(c, 1, &axes, &count))
        return false;
    const bool all = count == 0 && op_attr_int(c->node, "noop_with_empty_axes") == 0;
    for (int d = 0; d < rank; d++)
        reduced[d] = all;
    for (size_t i = 0; i < count; i++) {
        int d;
        if (!infer_axis(c, axes[i], rank, &d))
            return false;
        if (reduced[d])
            return infer_error(c, "axis %d is named twice", d);
        reduced[d] = true;
    }
    return true;
}

static bool reduce_infer(struct infer_ctx *c)
{
    bool reduced[SHAPE_MAX_RANK];
    if (!reduced_axes(c, reduced))
        return false;
    const struct shape *x = infer_shape(c, 0);
    const bool keep = op_attr_int(c->node, "keepdims") != 0;
    struct shape y = {0};
    for (int d = 0; d < x->rank; d++)
        if (keep || !reduced[d])
            shape_add(&y, reduced[d] ? size_constant(1) : shape_size(x, d));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool folds_nothing(const struct node *n, const bool *reduced)
{
    return reduce_count(n, reduced) == 1;
}

static bool lower_fold(struct lower_ctx *c, enum reduce_op op, bool is_mean)
{
    bool reduced[SHAPE_MAX_RANK];
    reduce_axes(c->node, reduced);
    if (folds_nothing(c->node, reduced))
        return lower_as_reshape(c, 0, 0);
    const enum dtype d = lower_dtype(c, 0);
    const struct expr *finish = NULL;
    if (is_mean)
        finish = expr_binary(c->arena, EXPR_DIV, expr_result(c->arena, d),
                             expr_number(c->arena, d, (double)reduce_count(c->node, reduced)));
    return lower_reduce(c, reduced, op, lower_in_over(c, 0, lower_shape(c, 0)), finish);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* v, of the result's shape, as if keepdims were 1: broadcasts against the input. */
static struct value *with_kept_dims(struct grad_ctx *c, struct value *v)
{
    bool reduced[SHAPE_MAX_RANK];
    reduce_axes(c->node, reduced);
    const struct shape s = reduce_kept_shape(c->node, reduced);
    return build_reshape(c->b, v, &s);
}

/* ---- ReduceSum and ReduceMean ------------------------------------------------------------------------------------ */

/* dx = dy, stretched */
static bool sum_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, with_kept_dims(c, grad_of_output(c, 0)));
}

static bool sum_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_SUM});
}

static bool sum_lower(struct lower_ctx *c)
{
    return lower_fold(c, REDUCE_SUM, false);
}

static const struct op_sample sum_samples[] = {
    {.text = "g (float[5,37] x) => (float[1,1] y) { y = ReduceSum(x) }"},
    {.text = "g (float[5,37] x) => (float[5] y) "
             "{ a = Constant <value_ints = [-1]> () y = ReduceSum <keepdims = 0> (x, a) }"},
    {.text = "g (float[5,70] x) => (float[1,70] y) { a = Constant <value_ints = [0]> () y = ReduceSum(x, a) }"},
    {.text = "g (float[3,4,5] x) => (float[4] y) "
             "{ a = Constant <value_ints = [0, 2]> () y = ReduceSum <keepdims = 0> (x, a) }"},
    {.text = "g (float[3,20,1] x) => (float[3,1] y) "
             "{ a = Constant <value_ints = [1]> () y = ReduceSum <keepdims = 0> (x, a) }"},
    {.text = "g (float[3,1] x) => (float[3] y) "
             "{ a = Constant <value_ints = [1]> () y = ReduceSum <keepdims = 0> (x, a) }"},
    {.text = "g (double[3,4] x) => (double[3,4] y) { y = ReduceSum <noop_with_empty_axes = 1> (x) }"},
    {.text = "g (double x) => (double y) { y = ReduceSum(x) }"},
    {.text = "g (float[2,0] x) => (float[2,1] y) { a = Constant <value_ints = [1]> () y = ReduceSum(x, a) }"},
    {.text = "g (double[2,3,4] x) => (double[2,4] y) { y = ReduceSum <axes = [1], keepdims = 0> (x) }", .opset = 11},
    {.text = "g (int32[4,5] x) => (int32[4,1] y) { a = Constant <value_ints = [1]> () y = ReduceSum(x, a) }",
     .no_gradient = true},
    {.text = "g (float[4,5] x) => (float[4] y) { a = Constant <value_ints = [2]> () y = ReduceSum(x, a) }",
     .error = "axis 2 is out of range"},
    {.text = "g (float[4,5] x) => (float[4] y) { a = Constant <value_ints = [1, -1]> () y = ReduceSum(x, a) }",
     .error = "twice"},
    {.text = "g (float[4,5] x, int64[1] a) => (float[4] y) { y = ReduceSum(x, a) }", .error = "known at compile time"},
    {.text = "g (int8[4] x) => (int8[1] y) { y = ReduceSum(x) }", .error = "is int8"},
    {.text = "g (float16[3,40] x) => (float16[3,1] y) { a = Constant <value_ints = [1]> () y = ReduceSum(x, a) }"},
    {.text = "g (bfloat16[7,5] x) => (bfloat16[5] y) "
             "{ a = Constant <value_ints = [0]> () y = ReduceSum <keepdims = 0> (x, a) }"},
    {0}};

/* dx = dy / n */
static bool mean_grad(struct grad_ctx *c)
{
    bool reduced[SHAPE_MAX_RANK];
    reduce_axes(c->node, reduced);
    struct value *dy = grad_of_output(c, 0);
    const double n = (double)reduce_count(c->node, reduced);
    return grad_accumulate(c, 0, with_kept_dims(c, build(c, "Div", dy, build_like(c, dy, n))));
}

static bool mean_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_SUM, .finish = FINISH_MEAN});
}

static bool mean_lower(struct lower_ctx *c)
{
    return lower_fold(c, REDUCE_SUM, true);
}

static const struct op_sample mean_samples[] = {
    {.text = "g (float[5,37] x) => (float[5,1] y) { a = Constant <value_ints = [1]> () y = ReduceMean(x, a) }"},
    {.text = "g (double[2,3,4] x) => (double[2,4] y) { y = ReduceMean <axes = [1], keepdims = 0> (x) }", .opset = 13},
    {.text = "g (int64[4,5] x) => (int64[1,5] y) { a = Constant <value_ints = [0]> () y = ReduceMean(x, a) }",
     .no_gradient = true},
    {.text = "g (float16[3,37] x) => (float16[3] y) "
             "{ a = Constant <value_ints = [1]> () y = ReduceMean <keepdims = 0> (x, a) }"},
    {0}};

/* ---- ReduceMax and ReduceMin: any NaN gives NaN ------------------------------------------------------------------ */

/* The adjoint is shared evenly among the elements that attain the extremum, as PyTorch's amax and amin do. */
static bool extremum_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *dy = with_kept_dims(c, grad_of_output(c, 0));
    bool reduced[SHAPE_MAX_RANK];
    int axes[SHAPE_MAX_RANK];
    size_t count = 0;
    reduce_axes(c->node, reduced);
    for (int d = 0; d < x->shape.rank; d++)
        if (reduced[d])
            axes[count++] = d;
    struct value *attains = build(c, "Equal", x, with_kept_dims(c, grad_output(c, 0)));
    struct value *ties = build_reduce_sum(c->b, build_cast(c->b, attains, x->dtype), axes, count, true);
    return grad_accumulate(c, 0, build(c, "Where", attains, build(c, "Div", dy, ties), build_like(c, x, 0.0)));
}

static bool max_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_MAX});
}

static const struct node *only_reader(const struct value *v)
{
    return v->uses.count == 1 && !graph_gives(v->producer->graph, v) ? v->uses.data[0].node : NULL;
}

static bool reduces_same_axes(const struct node *n, const struct node *other)
{
    bool reduced[SHAPE_MAX_RANK] = {false}, too[SHAPE_MAX_RANK] = {false};
    reduce_axes(n, reduced);
    reduce_axes(other, too);
    return memcmp(reduced, too, sizeof reduced) == 0;
}

/* Is the maximum only what softmax takes from each element, e = exp(x - m), y = e * (1 / sum(e))? Where x has a NaN the
 * sum then has one, whatever m is. */
static bool serves_softmax(const struct node *n)
{
    const struct node *const minus = only_reader(node_output(n, 0));
    if (!minus || !node_is(minus, "Sub") || node_input(minus, 0) != node_input(n, 0))
        return false;
    const struct node *const exp = only_reader(node_output(minus, 0));
    const struct value *const e = exp && node_is(exp, "Exp") ? node_output(exp, 0) : NULL;
    if (!e || e->uses.count != 2 || graph_gives(exp->graph, e))
        return false;
    const struct node *sum = e->uses.data[0].node, *times = e->uses.data[1].node;
    if (!node_is(sum, "ReduceSum")) {
        const struct node *const other = sum;
        sum = times;
        times = other;
    }
    if (!node_is(sum, "ReduceSum") || !node_is(times, "Mul") || !reduces_same_axes(n, sum))
        return false;
    const struct node *const inverse = only_reader(node_output(sum, 0));
    return inverse && node_is(inverse, "Reciprocal") && only_reader(node_output(inverse, 0)) == times;
}

static bool max_lower(struct lower_ctx *c)
{
    return lower_fold(c, serves_softmax(c->node) ? REDUCE_TOP : REDUCE_MAX, false);
}

static const struct op_sample max_samples[] = {
    {.text = "g (float[5,37] x) => (float[5] y) "
             "{ a = Constant <value_ints = [1]> () y = ReduceMax <keepdims = 0> (x, a) }"},
    {.text = "g (double[5,7] x) => (double[1,7] y) { a = Constant <value_ints = [0]> () y = ReduceMax(x, a) }"},
    {.text = "g (uint8[5,7] x) => (uint8[1,1] y) { y = ReduceMax(x) }", .no_gradient = true},
    {.text = "g (uint64[5,7] x) => (uint64[5,1] y) { a = Constant <value_ints = [1]> () y = ReduceMax(x, a) }",
     .no_gradient = true},
    {.text = "g (bool[5,7] x) => (bool[5,1] y) { a = Constant <value_ints = [1]> () y = ReduceMax(x, a) }",
     .no_gradient = true},
    {.text = "g (float[2,0] x) => (float[2,1] y) { a = Constant <value_ints = [1]> () y = ReduceMax(x, a) }"},
    {.text = "g (double[2,3,4] x) => (double[1,1,1] y) { y = ReduceMax(x) }", .opset = 1},
    /* a tie: 1/2 each */
    {.text = "g () => (float[3] dx) { x = Constant <value_floats = [2.0, 1.0, 2.0]> () "
             "s = ReduceMax <keepdims = 0> (x) dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x) }",
     .no_gradient = true},
    {.text = "g (uint8[4] x) => (uint8[1] y) { y = ReduceMax(x) }", .opset = 11, .error = "is uint8"},
    {.text = "g (float[2,3,4] x) => (float[2,1,4] y) { y = ReduceMax <axes = [-2]> (x) }", .opset = 13},
    {.text = "g (float16[3,40] x) => (float16[3,1] y) { a = Constant <value_ints = [1]> () y = ReduceMax(x, a) }"},
    {0}};

static bool min_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_MIN});
}

static bool min_lower(struct lower_ctx *c)
{
    return lower_fold(c, REDUCE_MIN, false);
}

static const struct op_sample min_samples[] = {
    {.text = "g (float[5,37] x) => (float[5] y) "
             "{ a = Constant <value_ints = [1]> () y = ReduceMin <keepdims = 0> (x, a) }"},
    {.text = "g (int32[5,7] x) => (int32[1,7] y) { a = Constant <value_ints = [0]> () y = ReduceMin(x, a) }",
     .no_gradient = true},
    {.text = "g (uint64[2,0] x) => (uint64[2,1] y) { a = Constant <value_ints = [1]> () y = ReduceMin(x, a) }",
     .no_gradient = true},
    {.text = "g (float[2,3,4] x) => (float[2,1,4] y) { y = ReduceMin <axes = [-2]> (x) }", .opset = 13},
    {0}};

/* ---- ReduceProd -------------------------------------------------------------------------------------------------- */

static struct value *columns(struct expand_ctx *c, struct value *x, int64_t from, int64_t to)
{
    const int64_t one = 1;
    return build(c, "Slice", x, build_ints(c->b, &from, 1), build_ints(c->b, &to, 1), build_ints(c->b, &one, 1));
}

/* [rows, n] -> [rows, 1], multiplying halves: a tree of products. */
static struct value *multiply_halves(struct expand_ctx *c, struct value *x)
{
    while (x->shape.dim[1] > 1 && !c->b->failed) {
        const int64_t n = x->shape.dim[1], half = n / 2;
        struct value *p = build(c, "Mul", columns(c, x, 0, half), columns(c, x, half, 2 * half));
        x = n % 2 == 0 ? p : build_with(c, "Concat", ATTRS(attr_int("axis", 1)), p, columns(c, x, 2 * half, n));
    }
    return x;
}

/* For gradients only: y / x fails at zeros, but the rule of Mul along a tree does not, to any order. */
static bool prod_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    const struct shape *y = &node_output(c->node, 0)->shape;
    bool reduced[SHAPE_MAX_RANK];
    int perm[SHAPE_MAX_RANK], at = 0;
    reduce_axes(c->node, reduced);
    for (int pass = 0; pass < 2; pass++)
        for (int d = 0; d < x->shape.rank; d++)
            if (reduced[d] == (pass == 1))
                perm[at++] = d;
    struct size folded = size_constant(1);
    for (int d = 0; d < x->shape.rank; d++)
        folded = reduced[d] ? size_product(folded, shape_size(&x->shape, d)) : folded;
    const struct shape rows = SHAPE_OF(shape_elements(y), folded);
    if (rows.dim[1] == 0)
        return expand_out(c, 0, build_expand(c->b, build_like(c, x, 1.0), y));
    struct value *flat = build_reshape(c->b, build_transpose(c->b, x, perm), &rows);
    return expand_out(c, 0, build_reshape(c->b, multiply_halves(c, flat), y));
}

static bool prod_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_PROD});
}

static bool prod_lower(struct lower_ctx *c)
{
    return lower_fold(c, REDUCE_PROD, false);
}

static const struct op_sample prod_samples[] = {
    {.text = "g (float[5,37] x) => (float[5] y) "
             "{ a = Constant <value_ints = [1]> () y = ReduceProd <keepdims = 0> (x, a) }", .feed = "positive"},
    {.text = "g (double[5,3,2] x) => (double[1,3,1] y) { a = Constant <value_ints = [0, 2]> () y = ReduceProd(x, a) }"},
    {.text = "g (int32[5,3] x) => (int32[1,3] y) { a = Constant <value_ints = [0]> () y = ReduceProd(x, a) }",
     .no_gradient = true},
    /* zeros: 0, 3, 0 and 0, 0, 0 */
    {.text = "g () => (float[3] dx) { x = Constant <value_floats = [1.0, 0.0, 3.0]> () "
             "s = ReduceProd <keepdims = 0> (x) dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[2,3,4] x) => (float[2,1,4] y) { y = ReduceProd <axes = [-2]> (x) }", .opset = 13},
    {0}};

/* ---- composites -------------------------------------------------------------------------------------------------- */

/* The reduction `op` of x along this node's axes. */
static struct value *reduce_again(struct expand_ctx *c, const char *op, struct value *x, int64_t keepdims)
{
    const struct attr *as = ATTRS(attr_int("keepdims", keepdims),
                                  attr_int("noop_with_empty_axes", op_attr_int(c->node, "noop_with_empty_axes")));
    return build_with(c, op, as, x, expand_in(c, 1));
}

static struct value *sum_again(struct expand_ctx *c, struct value *x)
{
    return reduce_again(c, "ReduceSum", x, op_attr_int(c->node, "keepdims"));
}

/* fn(x); of integers in double. */
static struct value *through_double(struct expand_ctx *c, const char *fn, struct value *x)
{
    if (dtype_is_float(x->dtype))
        return build(c, fn, x);
    return build_cast(c->b, build(c, fn, build_cast(c->b, x, DTYPE_DOUBLE)), x->dtype);
}

/* ---- ReduceL1: sum of |x|. dx = dy sign(x), 0 at 0. */

static bool l1_expand(struct expand_ctx *c)
{
    return expand_out(c, 0, sum_again(c, build(c, "Abs", expand_in(c, 0))));
}

static bool l1_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_SUM, .element = ELEMENT_ABS});
}

static const struct op_sample l1_samples[] = {
    {.text = "g (float[5,37] x) => (float[5,1] y) { a = Constant <value_ints = [1]> () y = ReduceL1(x, a) }"},
    {.text = "g (double[5,3] x) => (double[3] y) { y = ReduceL1 <axes = [0], keepdims = 0> (x) }", .opset = 13},
    {.text = "g (int32[5,3] x) => (int32[1,1] y) { y = ReduceL1(x) }", .no_gradient = true},
    {0}};

/* ---- ReduceSumSquare: sum of x^2. */

static bool sum_square_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    return expand_out(c, 0, sum_again(c, build(c, "Mul", x, x)));
}

static bool sum_square_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_SUM, .element = ELEMENT_SQUARE});
}

static const struct op_sample sum_square_samples[] = {
    {.text = "g (float[5,37] x) => (float[5,1] y) { a = Constant <value_ints = [1]> () y = ReduceSumSquare(x, a) }"},
    {.text = "g (double[5,3] x) => (double[5,3] y) { y = ReduceSumSquare <noop_with_empty_axes = 1> (x) }"},
    {.text = "g (float[2,3,4] x) => (float[2,1,4] y) { y = ReduceSumSquare <axes = [-2]> (x) }", .opset = 13},
    {0}};

/* ---- ReduceL2: sqrt of the sum of x^2. */

/* dx = dy x / y; 0 where y = 0, as in PyTorch. */
static bool l2_grad(struct grad_ctx *c)
{
    struct value *y = with_kept_dims(c, grad_output(c, 0)), *dy = with_kept_dims(c, grad_of_output(c, 0));
    struct value *zero = build_like(c, y, 0.0), *at_zero = build(c, "Equal", y, zero);
    struct value *slope = build(c, "Div", dy, build(c, "Where", at_zero, build_like(c, y, 1.0), y));
    return grad_accumulate(c, 0, build(c, "Mul", grad_input(c, 0), build(c, "Where", at_zero, zero, slope)));
}

static bool l2_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    return expand_out(c, 0, through_double(c, "Sqrt", sum_again(c, build(c, "Mul", x, x))));
}

static bool l2_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_SUM, .element = ELEMENT_SQUARE, .finish = FINISH_SQRT});
}

static const struct op_sample l2_samples[] = {
    {.text = "g (float[5,37] x) => (float[5,1] y) { a = Constant <value_ints = [1]> () y = ReduceL2(x, a) }"},
    {.text = "g (double[5,3] x) => (double[3] y) "
             "{ a = Constant <value_ints = [0]> () y = ReduceL2 <keepdims = 0> (x, a) }"},
    {.text = "g (int64[5,3] x) => (int64[1,1] y) { y = ReduceL2(x) }", .no_gradient = true},
    {.text = "g () => (float[2] dx) { x = Constant <value_floats = [0.0, 0.0]> () s = ReduceL2 <keepdims = 0> (x) "
             "dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"s\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[2,3,4] x) => (float[2,1,4] y) { y = ReduceL2 <axes = [-2]> (x) }", .opset = 13},
    {0}};

/* ---- ReduceLogSum: log of the sum. */

static bool log_sum_expand(struct expand_ctx *c)
{
    return expand_out(c, 0, through_double(c, "Log", sum_again(c, expand_in(c, 0))));
}

static bool log_sum_eval(struct eval_ctx *c)
{
    return reduce_eval(c, &(struct reduction){.fold = FOLD_SUM, .finish = FINISH_LOG});
}

static const struct op_sample log_sum_samples[] = {
    {.text = "g (float[5,37] x) => (float[5,1] y) { a = Constant <value_ints = [1]> () y = ReduceLogSum(x, a) }",
     .feed = "positive"},
    {.text = "g (double[5,3] x) => (double[3] y) "
             "{ a = Constant <value_ints = [0]> () y = ReduceLogSum <keepdims = 0> (x, a) }", .feed = "positive"},
    {.text = "g (float[2,3,4] x) => (float[2,1,4] y) { y = ReduceLogSum <axes = [-2]> (x) }", .opset = 13,
     .feed = "positive"},
    {0}};

/* ---- ReduceLogSumExp: m + log(sum of exp(x - m)), m the maximum; where that is infinite, m = 0. */

/* dx = dy exp(x - y); 0 where y = -inf, that is where all of x is. */
static bool log_sum_exp_grad(struct grad_ctx *c)
{
    struct value *y = with_kept_dims(c, grad_output(c, 0)), *dy = with_kept_dims(c, grad_of_output(c, 0));
    struct value *empty = build(c, "Equal", y, build_like(c, y, -INFINITY));
    struct value *share = build(c, "Exp",
                                build(c, "Sub", grad_input(c, 0), build(c, "Where", empty, build_like(c, y, 0.0), y)));
    return grad_accumulate(c, 0, build(c, "Mul", dy, share));
}

static struct value *log_sum_exp(struct expand_ctx *c, struct value *x)
{
    struct value *m = reduce_again(c, "ReduceMax", x, 1);
    struct value *infinite = build(c, "Equal", build(c, "Abs", m), build_like(c, m, INFINITY));
    struct value *shift = build(c, "Where", infinite, build_like(c, m, 0.0), m);
    struct value *log_sum = build(c, "Log", sum_again(c, build(c, "Exp", build(c, "Sub", x, shift))));
    return build(c, "Add", log_sum, build_reshape(c->b, shift, &log_sum->shape));
}

static bool log_sum_exp_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    if (dtype_is_float(x->dtype))
        return expand_out(c, 0, log_sum_exp(c, x));
    return expand_out(c, 0, build_cast(c->b, log_sum_exp(c, build_cast(c->b, x, DTYPE_DOUBLE)), x->dtype));
}

static double log_sum_exp_of(const struct eval_ctx *c, enum dtype d, const struct fold_walk *w,
                             const double *x, double *e)
{
    double m = reduce_fold(c, &(struct reduction){.fold = FOLD_MAX}, w, x);
    if (isinf(m))
        m = 0;
    for (int64_t s = 0; s < w->steps; s++)
        e[w->step[s]] = eval_math(c, d, MATH_EXP, eval_round_to(c, d, x[w->step[s]] - m));
    const double sum = reduce_fold(c, &(struct reduction){.fold = FOLD_SUM}, w, e);
    return eval_round_to(c, d, eval_math(c, d, MATH_LOG, sum) + m);
}

static bool log_sum_exp_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    const enum dtype d = reduce_working_dtype(c);
    double *in = x->f, *e = arena_array(c->scratch, double, (size_t)x->count + 1);
    if (in == NULL) {
        in = arena_array(c->scratch, double, (size_t)x->count + 1);
        for (int64_t k = 0; k < x->count; k++)
            in[k] = reduce_wide(x->dtype, x->i[k]);
    }
    const struct fold_walk w = reduce_walk(c);
    for (int64_t k = 0; k < w.results; k++) {
        const double r = log_sum_exp_of(c, d, &w, in + w.start[k], e);
        if (y->f != NULL)
            y->f[k] = r;
        else
            y->i[k] = dtype_from_double(y->dtype, r);
    }
    return true;
}

static const struct op_sample log_sum_exp_samples[] = {
    {.text = "g (float[5,37] x) => (float[5,1] y) { a = Constant <value_ints = [1]> () y = ReduceLogSumExp(x, a) }"},
    {.text = "g (double[5,3] x) => (double[3] y) "
             "{ a = Constant <value_ints = [0]> () y = ReduceLogSumExp <keepdims = 0> (x, a) }"},
    {.text = "g (double[2,3,4] x) => (double[2,1,1] y) { y = ReduceLogSumExp <axes = [1, 2]> (x) }", .opset = 11},
    {.text = "g (float[2,3,4] x) => (float[2,1,4] y) { y = ReduceLogSumExp <axes = [-2]> (x) }", .opset = 13},
    {0}};

/* What belongs to nothing is made what changes no result. A mean of none is NaN, as PyTorch's. */
static bool reduce_bounded(struct bounded_ctx *c)
{
    static const struct {
        const char *op;
        enum { FILL_ZERO, FILL_ONE, FILL_LEAST, FILL_GREATEST } fill;
    } fills[] = {{"ReduceMax", FILL_LEAST}, {"ReduceMin", FILL_GREATEST}, {"ReduceProd", FILL_ONE},
                 {"ReduceLogSumExp", FILL_LEAST}};
    struct node *const n = c->node;
    struct value *const v = n->inputs.data[0];
    const struct bounded *const x = v->bounded;
    const bool keep = op_attr_int(n, "keepdims") != 0;
    bool reduced[SHAPE_MAX_RANK];
    int at = 0, fill = FILL_ZERO;
    reduce_axes(n, reduced);
    for (int d = 0; d < x->axis; d++)
        at += keep || !reduced[d];
    if (!reduced[x->axis])
        return bounded_out(c, 0, x, at);
    for (size_t i = 0; i < sizeof fills / sizeof *fills; i++)
        if (node_is(n, fills[i].op))
            fill = fills[i].fill;
    bounded_fill_input(c, 0, fill == FILL_LEAST      ? bounded_least(c->b, v->dtype, false)
                             : fill == FILL_GREATEST ? bounded_greatest(c->b, v->dtype)
                                                     : build_like(c, v, fill == FILL_ONE ? 1.0 : 0.0));
    if (!node_is(n, "ReduceMean"))
        return true;
    int64_t others = 1;
    for (int d = 0; d < v->shape.rank; d++)
        others *= reduced[d] && d != x->axis ? v->shape.dim[d] : 1;
    /* Sum and number of terms may be greater than a type of 16 bits has room for. */
    const enum dtype d = v->dtype == DTYPE_FLOAT16 || v->dtype == DTYPE_BFLOAT16 ? DTYPE_FLOAT : v->dtype;
    struct value *const sum = build_with(c, "ReduceSum", ATTRS(attr_int("keepdims", keep)),
                                         build_cast(c->b, n->inputs.data[0], d), node_input(n, 1));
    struct value *const terms = build_cast(c->b, build(c, "Mul", x->count, build_int(c->b, others)), d);
    if (d == v->dtype)
        return bounded_become(c, "Div", ATTRS_NONE, (struct value *const[]){sum, terms}, 2);
    struct value *const mean = build(c, "Div", sum, terms);
    return bounded_become(c, "Cast", ATTRS(attr_int("to", v->dtype)), &mean, 1);
}

/* Axes are a list for runtimes; the specification lets a scalar pass. */
static bool reduce_plain(struct expand_ctx *c)
{
    struct value *const axes = node_input(c->node, 1);
    if (axes != NULL && axes->shape.rank == 0)
        node_set_input(c->node, 1, build_reshape(c->b, axes, &SHAPE(1)));
    return true;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Of the parts of a reduced axis each gives a result, and these are reduced again. */
static void reduce_labels(struct axes_ctx *c)
{
    bool reduced[SHAPE_MAX_RANK];
    const int rank = node_input(c->node, 0)->shape.rank;
    const bool kept = node_output(c->node, 0)->shape.rank == rank;
    reduce_axes(c->node, reduced);
    for (int d = 0, to = 0; d < rank; d++) {
        if (reduced[d])
            axes_put(c, 0, d, axes_label(c));
        else
            axes_pass(c, 0, d, 0, to);
        to += kept || !reduced[d];
    }
}

const struct op_def op_defs_reduce[] = {
    {.name = "ReduceSum", .versions = sum_versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = reduce_infer, .axes = reduce_labels, .grad = sum_grad,
     .plain = reduce_plain, .eval = sum_eval, .lower = sum_lower, .is_sum = true,
     .bounded = reduce_bounded, .samples = sum_samples},
    {.name = "ReduceMean", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = reduce_infer, .axes = reduce_labels, .grad = mean_grad,
     .plain = reduce_plain, .eval = mean_eval, .lower = mean_lower, .is_sum = true,
     .bounded = reduce_bounded, .samples = mean_samples},
    {.name = "ReduceMax", .versions = extremum_versions, .inputs = extremum_inputs, .outputs = extremum_outputs,
     .attrs = attrs, .infer = reduce_infer, .axes = reduce_labels, .grad = extremum_grad,
     .plain = reduce_plain, .eval = max_eval, .lower = max_lower,
     .bounded = reduce_bounded, .samples = max_samples},
    {.name = "ReduceMin", .versions = extremum_versions, .inputs = extremum_inputs, .outputs = extremum_outputs,
     .attrs = attrs, .infer = reduce_infer, .axes = reduce_labels, .grad = extremum_grad,
     .plain = reduce_plain, .eval = min_eval, .lower = min_lower,
     .bounded = reduce_bounded, .samples = min_samples},
    {.name = "ReduceProd", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = reduce_infer, .axes = reduce_labels,
     .expand = prod_expand, .plain = reduce_plain, .eval = prod_eval, .lower = prod_lower,
     .bounded = reduce_bounded, .sizes = SIZES_COUNT, .samples = prod_samples},
    {.name = "ReduceL1", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = reduce_infer, .axes = reduce_labels,
     .expand = l1_expand, .eval = l1_eval, .bounded = reduce_bounded, .samples = l1_samples},
    {.name = "ReduceL2", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = reduce_infer, .axes = reduce_labels,
     .grad = l2_grad, .expand = l2_expand, .eval = l2_eval, .in_float = true,
     .bounded = reduce_bounded, .samples = l2_samples},
    {.name = "ReduceSumSquare", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = reduce_infer, .axes = reduce_labels,
     .expand = sum_square_expand, .eval = sum_square_eval, .in_float = true,
     .bounded = reduce_bounded, .samples = sum_square_samples},
    {.name = "ReduceLogSum", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = reduce_infer, .axes = reduce_labels, .expand = log_sum_expand, .eval = log_sum_eval, .in_float = true,
     .bounded = reduce_bounded, .samples = log_sum_samples},
    {.name = "ReduceLogSumExp", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = reduce_infer, .axes = reduce_labels,
     .grad = log_sum_exp_grad, .expand = log_sum_exp_expand, .eval = log_sum_exp_eval,
     .in_float = true, .bounded = reduce_bounded, .samples = log_sum_exp_samples},
    {0}};
