/* CumSum and CumProd: sums and products of the elements along one axis up to each of them.
 *   y[i] = x[0] + .. + x[i]     exclusive: x[0] + .. + x[i - 1], and y[0] = 0
 * With reverse the axis is walked from its end. CumProd is the same with * and 1.
 *
 * The order (docs/numerics.md): one accumulator, from +0 or 1, takes the elements one by one as the axis is walked, and
 * its values are the results; with float16 and bfloat16 it is a float.
 * Spec: ONNX CumSum-11 and -14 (14 adds the floats of 16 bits); CumProd-26. */
#include "graph/region.h"
#include "ops/move_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define TYPES_11 (DTYPES_FLOAT_DOUBLE | DTYPES_INDEX | DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64))
#define TYPES (TYPES_11 | DTYPES_FLOAT16S)

static const struct op_attr attrs[] = {{.name = "exclusive", .type = ATTR_INT, .int_default = 0},
                                       {.name = "reverse", .type = ATTR_INT, .int_default = 0},
                                       {0}};
static const struct op_version sum_versions[] = {{.since = 11, .dtypes = TYPES_11}, {.since = 14}, {0}};
static const struct op_version product_versions[] = {{.since = 26}, {0}};
static const struct op_param inputs[] = {{.name = "x", .type = 'T', .dtypes = TYPES},
                                         {.name = "axis", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {{.name = "y", .type = 'T', .dtypes = TYPES}, {0}};

static bool cumulative_infer(struct infer_ctx *c)
{
    const int64_t *axis;
    size_t count;
    int d;
    if (!infer_known_ints(c, 1, &axis, &count))
        return false;
    if (count != 1)
        return infer_error(c, "input 1 '%s' has %zu elements, expected one axis", infer_in(c, 1)->name, count);
    return infer_axis(c, axis[0], infer_rank(c, 0), &d) && infer_same_as_input(c);
}

/* For a node that inference has passed. */
static int axis_of(const struct node *n)
{
    int d = 0;
    if (!shape_axis(node_input(n, 0)->shape.rank, tensor_get_int(value_known(node_input(n, 1)), 0), &d))
        UNREACHABLE("an axis that inference refuses");
    return d;
}

static bool is_exclusive(const struct node *n)
{
    return op_attr_int(n, "exclusive") != 0;
}

static bool is_reverse(const struct node *n)
{
    return op_attr_int(n, "reverse") != 0;
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* dx[j] = sum of dy[i] over all i whose sum has x[j] in it: walked from the other end. */
static bool cum_sum_grad(struct grad_ctx *c)
{
    const struct attr *const walk =
        ATTRS(attr_int("exclusive", is_exclusive(c->node)), attr_int("reverse", !is_reverse(c->node)));
    return grad_accumulate(c, 0, build_with(c, "CumSum", walk, grad_of_output(c, 0), grad_input(c, 1)));
}

/* x[.., n, ..] as x[outer, inner, n]. */
static struct value *axis_last(struct builder *b, struct value *x, const struct shape *apart)
{
    return build_transpose(b, build_reshape(b, x, apart), (int[]){0, 2, 1});
}

/* dx[j] = sum over i of dy[i] * (the product y[i] without its factor x[j]), of those y[i] that have it. Every such
 * product is computed, n * n of them for an axis of n elements: so zeros need no rule of their own, as a division by
 * x[j] would. */
static bool cum_prod_grad(struct grad_ctx *c)
{
    struct builder *const b = c->b;
    struct value *const x = grad_input(c, 0);
    const int axis = axis_of(c->node), products = 3;
    const struct size n = shape_size(&x->shape, axis), outer = shape_size_range(&x->shape, 0, axis),
                      inner = shape_size_range(&x->shape, axis + 1, x->shape.rank);
    const struct shape apart = SHAPE_OF(outer, n, inner), row = SHAPE_OF(outer, inner, size_constant(1), n),
                       square = SHAPE_OF(n, n);
    const bool reverse = is_reverse(c->node), exclusive = is_exclusive(c->node);
    struct value *const zeros = build_expand(b, build_like(c, x, 0), &square);
    struct value *const left_out =
        build_with(c, "EyeLike", ATTRS(attr_int("dtype", (int64_t)DTYPE_BOOL)), zeros);
    struct value *const factors =
        build(c, "Where", left_out, build_like(c, x, 1), build_reshape(b, axis_last(b, x, &apart), &row));
    struct value *const product =
        build_with(c, "CumProd", ATTRS(attr_int("exclusive", exclusive), attr_int("reverse", reverse)), factors,
                   build_int(b, products));
    struct value *const dy = build_reshape(b, axis_last(b, grad_of_output(c, 0), &apart), &row);
    const int64_t first = !exclusive ? 0 : reverse ? -1 : 1;
    struct value *const terms =
        build_with(c, "Trilu", ATTRS(attr_int("upper", !reverse)), build(c, "Mul", product, dy), build_int(b, first));
    struct value *const sums = build_reduce_sum(b, terms, &products, 1, false);
    return grad_accumulate(c, 0, build_reshape(b, build_transpose(b, sums, (int[]){0, 2, 1}), &x->shape));
}

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

enum { CUM_PROD_OPSET = 26 };

/* A Scan along the axis, which stands in front then, that carries the product. */
static bool cum_prod_plain(struct expand_ctx *c)
{
    struct builder *const b = c->b;
    struct value *const x = expand_in(c, 0);
    const int axis = axis_of(c->node), rank = x->shape.rank;
    int there[SHAPE_MAX_RANK], back[SHAPE_MAX_RANK];
    struct shape line = {.rank = 0};
    if (c->target->opset >= CUM_PROD_OPSET || shape_count(&x->shape) == 0)
        return true;
    for (int d = 0; d < rank; d++) {
        there[d] = d == 0 ? axis : d <= axis ? d - 1 : d;
        back[there[d]] = d;
        if (d > 0)
            shape_take(&line, &x->shape, there[d]);
    }
    struct region *const r = region_new(b->graph, shape_size(&x->shape, axis), is_reverse(c->node));
    struct builder inner = {.graph = region_graph(r), .loc = b->loc, .prefix = b->prefix};
    struct value *const before = region_state(r, "product", x->dtype, &line);
    struct value *const factor = region_input(r, "factor", x->dtype, &line, true);
    struct value *const product = build_value(&inner, "Mul", NULL, (struct value *const[]){before, factor}, 2);
    region_carry(r, 0, product);
    (void)region_stack(r, "products", is_exclusive(c->node) ? before : product);
    struct value *const in[] = {build_expand(b, build_like(c, x, 1.0), &line), build_transpose(b, x, there)};
    const struct node *const n = build_region(b, r, in, 2, (const char *const[]){NULL, "products"}, 2);
    return !inner.failed && expand_out(c, 0, build_transpose(b, n->outputs.data[1], back));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static void fold_line_f(const struct eval_ctx *c, char op, int64_t at, int64_t count, int64_t step)
{
    const double *x = eval_f(c, 0);
    double *y = eval_out_f(c, 0), folded = op == '*' ? 1 : 0;
    const bool exclusive = is_exclusive(c->node);
    for (int64_t i = 0; i < count; i++, at += step) {
        const double before = folded;
        folded = eval_round(c, op == '*' ? folded * x[at] : folded + x[at]);
        y[at] = exclusive ? before : folded;
    }
}

static void fold_line_i(const struct eval_ctx *c, char op, int64_t at, int64_t count, int64_t step)
{
    const int64_t *x = eval_i(c, 0);
    int64_t *y = eval_out_i(c, 0), folded = op == '*';
    const bool exclusive = is_exclusive(c->node);
    for (int64_t i = 0; i < count; i++, at += step) {
        const int64_t before = folded;
        folded = eval_int_binary(c->in[0]->dtype, op, folded, x[at]);
        y[at] = exclusive ? before : folded;
    }
}

static bool eval_cumulative(struct eval_ctx *c, char op)
{
    const struct shape *const s = &c->in[0]->shape;
    const int axis = axis_of(c->node);
    const int64_t n = s->dim[axis], inner = shape_count_range(s, axis + 1, s->rank);
    const bool reverse = is_reverse(c->node);
    for (int64_t line = 0; eval_wants(c, 0) && n > 0 && line < c->in[0]->count / n; line++) {
        const int64_t first = line / inner * n * inner + line % inner;
        const int64_t at = reverse ? first + (n - 1) * inner : first, step = reverse ? -inner : inner;
        if (dtype_is_float(c->in[0]->dtype))
            fold_line_f(c, op, at, n, step);
        else
            fold_line_i(c, op, at, n, step);
    }
    return true;
}

static bool cum_sum_eval(struct eval_ctx *c)
{
    return eval_cumulative(c, '+');
}

static bool cum_prod_eval(struct eval_ctx *c)
{
    return eval_cumulative(c, '*');
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* The axis as it is walked. */
static struct view walked(const struct view *v, int axis, bool reverse)
{
    int64_t start[SHAPE_MAX_RANK] = {0}, step[SHAPE_MAX_RANK];
    for (int d = 0; d < v->shape.rank; d++)
        step[d] = 1;
    if (reverse) {
        start[axis] = v->shape.dim[axis] - 1;
        step[axis] = -1;
    }
    return view_slice(v, start, step, &v->shape);
}

/* An axis of one element: nothing is carried. A sum begins with +0, which shows where x is -0. */
static bool lower_single(struct lower_ctx *c, enum reduce_op op)
{
    const struct expr *const x = lower_in(c, 0);
    const struct expr *const neutral = expr_number(c->arena, x->dtype, op == REDUCE_PROD);
    const bool adds = op == REDUCE_SUM && dtype_is_float(x->dtype);
    return lower_map(c, is_exclusive(c->node) ? neutral : adds ? expr_binary(c->arena, EXPR_ADD, neutral, x) : x);
}

static bool lower_cumulative(struct lower_ctx *c, enum reduce_op op)
{
    const int axis = axis_of(c->node);
    const bool reverse = is_reverse(c->node);
    if (lower_shape(c, 0)->dim[axis] == 1)
        return lower_single(c, op);
    const struct view x = lower_view_of(c, 0), y = lower_out_view(c, 0);
    const struct view from = walked(&x, axis, reverse), to = walked(&y, axis, reverse);
    lower_kernel(c, NULL);
    struct part *const p = lower_part(c, &x.shape);
    p->reduce = op;
    p->scan = is_exclusive(c->node) ? SCAN_BEFORE : SCAN_WITH;
    p->reduced[axis] = true;
    p->element = lower_load(c, &from);
    lower_store(c, p, &to, expr_result(c->arena, p->element->dtype));
    return true;
}

static bool cum_sum_lower(struct lower_ctx *c)
{
    return lower_cumulative(c, REDUCE_SUM);
}

static bool cum_prod_lower(struct lower_ctx *c)
{
    return lower_cumulative(c, REDUCE_PROD);
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

#define AXIS(number) "axis = Constant <value_int = " number "> () "
#define SAMPLE(type, attributes, number, op)                                                                           \
    "g (" type " x) => (" type " y) { " AXIS(number) "y = " op " " attributes " (x, axis) }"

static const struct op_sample cum_sum_samples[] = {
    {.text = SAMPLE("float[7]", "", "0", "CumSum")},
    {.text = SAMPLE("float[7]", "<exclusive = 1>", "0", "CumSum")},
    {.text = SAMPLE("float[7]", "<reverse = 1>", "-1", "CumSum")},
    {.text = SAMPLE("double[7]", "<reverse = 1, exclusive = 1>", "0", "CumSum")},
    {.text = SAMPLE("float[3,40]", "", "1", "CumSum")},
    /* more than a block of outputs side by side; a last block that is shorter */
    {.text = SAMPLE("float[5,67]", "<exclusive = 1>", "0", "CumSum")},
    {.text = SAMPLE("double[2,4,131]", "<reverse = 1>", "1", "CumSum")},
    {.text = SAMPLE("double[2,3,4,5]", "", "-3", "CumSum"), .opset = 11},
    {.text = SAMPLE("float[2,1,5]", "", "1", "CumSum")},
    {.text = SAMPLE("float[2,1,5]", "<exclusive = 1>", "1", "CumSum")},
    {.text = SAMPLE("bfloat16[1,3]", "", "0", "CumSum")},
    {.text = SAMPLE("float[0,3]", "", "0", "CumSum")},
    {.text = SAMPLE("float[3,0]", "<reverse = 1>", "1", "CumSum")},
    {.text = SAMPLE("float16[3,20]", "", "1", "CumSum")},
    {.text = SAMPLE("bfloat16[20,3]", "<reverse = 1>", "0", "CumSum")},
    {.text = SAMPLE("int32[3,9]", "<exclusive = 1>", "1", "CumSum"), .no_gradient = true},
    {.text = SAMPLE("int64[9,3]", "<reverse = 1>", "0", "CumSum"), .no_gradient = true},
    {.text = SAMPLE("uint64[2,5]", "", "-1", "CumSum"), .no_gradient = true},
    /* sums of integers wrap */
    {.text = "g () => (int32[3] y) { x = Constant <value = int32[3] {2147483647, 1, -5}> () " AXIS("0")
             "y = CumSum(x, axis) }",
     .no_gradient = true},
    /* every sum begins with +0, and what is no number stays */
    {.text = "g () => (float[5] y) { x = Constant <value = float[5] {-0.0, 1.0, inf, -inf, 2.0}> () " AXIS("0")
             "y = CumSum(x, axis) }",
     .no_gradient = true},
    /* an axis as a list of one */
    {.text = "g (float[2,3] x) => (float[2,3] y) { axis = Constant <value_ints = [1]> () y = CumSum(x, axis) }"},
    /* what is read, and what reads, is computed on the way; through views too */
    {.text = "g (double[4,33] x) => (double[4,33] y) { " AXIS("1") "e = Exp(x) s = CumSum(e, axis) y = Tanh(s) }"},
    {.text = "g (double[5,3] x) => (double[5,3] y) { " AXIS("1")
             "t = Transpose(x) s = CumSum <reverse = 1> (t, axis) u = Transpose(s) y = Mul(u, x) }"},
    {.text = "g (float[6,20] x) => (float[6,20] y) { " AXIS("1")
             "p = Softmax(x) s = CumSum <exclusive = 1> (p, axis) m = ReduceMax <keepdims = 1> (s) y = Div(s, m) }",
     .no_gradient = true},
    {.text = "g (float[6,20] x) => (float[6,20] y) { " AXIS("1")
             "s = CumSum(x, axis) y = CumSum <reverse = 1> (s, axis) }"},
    /* which differ in what they store, along a dimension and beside a sum that share a walk and a product */
    {.text = "g (double[5,7] x, double[5,7] z) => (double[5,7] y, double[5,7] u, double[5,7] v) { " AXIS("1")
             "y = CumSum(x, axis) u = CumSum <exclusive = 1> (z, axis) v = CumSum <exclusive = 1> (x, axis) }"},
    {.text = "g (double[2,1100] x) => (double[2,1100] y) { " AXIS("1")
             "s = CumSum(x, axis) e = Exp(x) m = ReduceSum <keepdims = 1> (e, axis) y = Div(s, m) }"},
    {.text = "g (double[20,9] x, double[20,40] w) => (double[9,40] y, double[20,9] z) { " AXIS("0")
             "t = Transpose(x) y = MatMul(t, w) s = CumSum(x, axis) z = Mul(s, s) }"},
    /* one walk makes both results */
    {.text = "g (double[5,70] x) => (double[5,70] y, double[5,70] z) { " AXIS("0")
             "s = CumSum(x, axis) y = Mul(s, x) z = Neg(y) }"},
    {.text = "g (float[6,20] x) => (float[120] y) { " AXIS("0")
             "s = CumSum(x, axis) flat = Constant <value_ints = [-1]> () r = Reshape(s, flat) y = CumSum(r, axis) }"},
    {.text = "g (float[3,4] x, int64 axis) => (float[3,4] y) { y = CumSum(x, axis) }",
     .error = "input 1 'axis' (axis) must be known at compile time"},
    {.text = SAMPLE("float[3,4]", "", "2", "CumSum"), .error = "axis 2 is out of range [-2, 1]"},
    {.text = SAMPLE("float[3,4]", "", "-3", "CumSum"), .error = "axis -3 is out of range [-2, 1]"},
    {.text = SAMPLE("float", "", "0", "CumSum"), .error = "is a scalar"},
    {.text = "g (float[3,4] x) => (float[3,4] y) { axis = Constant <value_ints = [0, 1]> () y = CumSum(x, axis) }",
     .error = "has 2 elements, expected one axis"},
    {.text = SAMPLE("float16[3]", "", "0", "CumSum"), .opset = 11, .error = "is float16"},
    {0}};

static const struct op_sample cum_prod_samples[] = {
    {.text = SAMPLE("float[7]", "", "0", "CumProd")},
    {.text = SAMPLE("double[7]", "<exclusive = 1>", "0", "CumProd")},
    {.text = SAMPLE("double[7]", "<reverse = 1>", "-1", "CumProd")},
    {.text = SAMPLE("double[7]", "<reverse = 1, exclusive = 1>", "0", "CumProd")},
    {.text = SAMPLE("float[3,12]", "", "1", "CumProd")},
    {.text = SAMPLE("double[5,67]", "<reverse = 1>", "0", "CumProd")},
    {.text = SAMPLE("double[2,4,3]", "<exclusive = 1>", "1", "CumProd")},
    {.text = SAMPLE("float[2,0,3]", "", "1", "CumProd")},
    {.text = SAMPLE("float[2,1,3]", "", "1", "CumProd")},
    {.text = SAMPLE("int64[2,1,3]", "<exclusive = 1>", "1", "CumProd"), .no_gradient = true},
    {.text = SAMPLE("float16[3,5]", "", "1", "CumProd")},
    {.text = SAMPLE("int32[3,9]", "", "1", "CumProd"), .no_gradient = true},
    {.text = SAMPLE("uint64[9,3]", "<exclusive = 1>", "0", "CumProd"), .no_gradient = true},
    /* factors of zero */
    {.text = "g (double[6] x) => (double[6] y) { z = Constant <value = double[6] {1.0, 0.0, 2.0, 0.0, 1.0, 1.0}> () "
             AXIS("0") "f = Mul(x, z) y = CumProd(f, axis) }"},
    {.text = SAMPLE("float[3,4]", "", "2", "CumProd"), .error = "axis 2 is out of range [-2, 1]"},
    {0}};

/* Backwards, what is not meant would come first. */
static bool cumulative_bounded(struct bounded_ctx *c)
{
    const struct bounded *const x = bounded_in(c, 0);
    if (!bounded_only(c, 0))
        return false;
    if (x->axis == axis_of(c->node) && is_reverse(c->node))
        bounded_fill_input(c, 0, build_like(c, c->node->inputs.data[0], node_is(c->node, "CumSum") ? 0.0 : 1.0));
    return bounded_out(c, 0, x, x->axis);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void cumulative_axes(struct axes_ctx *c)
{
    axes_pass_but(c, 0, 0, axis_of(c->node));
}

const struct op_def op_defs_cumulative[] = {
    {.name = "CumSum", .versions = sum_versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = cumulative_infer, .axes = cumulative_axes,
     .grad = cum_sum_grad, .eval = cum_sum_eval, .lower = cum_sum_lower,
     .is_sum = true, .bounded = cumulative_bounded, .samples = cum_sum_samples},
    {.name = "CumProd", .versions = product_versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = cumulative_infer, .axes = cumulative_axes, .grad = cum_prod_grad,
     .plain = cum_prod_plain, .eval = cum_prod_eval, .lower = cum_prod_lower,
     .bounded = cumulative_bounded, .samples = cum_prod_samples},
    {0}};
