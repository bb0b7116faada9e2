/* MatMul: the matrix product of the last two axes, the axes before them broadcast. An operand of rank 1 is a row (on
 * the left) or a column (on the right), and its axis of one is taken out of the result.
 * Each element is a sum over k in index order, 80 terms at a time. Integers wrap.
 * Spec: ONNX MatMul-1, -9 (integers), -13 (bfloat16). */
#include "ops/matmul_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define WIDE_INTS (DTYPES_INDEX | DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64))

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1}, {.since = 9, .dtypes = FLOATS_1 | WIDE_INTS}, {.since = 13}, {0}};
static const struct op_param inputs[] = {{.name = "A", .type = 'T', .dtypes = DTYPES_FLOATS | WIDE_INTS},
                                         {.name = "B", .type = 'T', .dtypes = DTYPES_FLOATS | WIDE_INTS},
                                         {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS | WIDE_INTS}, {0}};

static bool matmul_product(const struct node *n, struct op_product *out)
{
    const struct shape *const a = &node_input(n, 0)->shape, *const b = &node_input(n, 1)->shape;
    if (a->rank != 2)
        return false;
    *out = (struct op_product){a->dim[0], a->dim[1], b->rank > 1 ? b->dim[b->rank - 1] : 1, false, false};
    return true;
}

static bool matmul_infer(struct infer_ctx *c)
{
    return matmul_infer_product(c, 0, 1, DTYPE_UNDEFINED);
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

static struct value *swap_last_two(struct grad_ctx *c, struct value *x)
{
    int perm[SHAPE_MAX_RANK];
    for (int d = 0; d < x->shape.rank; d++)
        perm[d] = d;
    perm[x->shape.rank - 2] = x->shape.rank - 1;
    perm[x->shape.rank - 1] = x->shape.rank - 2;
    return build_transpose(c->b, x, perm);
}

static struct shape as_rows(const struct shape *s)
{
    return SHAPE_OF(shape_size_range(s, 0, s->rank - 1), shape_size(s, s->rank - 1));
}

/* dB = A' dY. One b for all of the batch: the sum over the batch is part of the product over all rows. */
static struct value *grad_right(struct grad_ctx *c, const struct matmul_sizes *p, struct value *a, struct value *dy)
{
    struct value *const x = build_reshape(c->b, a, &p->a);
    const bool one_b = shape_count_range(&p->b, 0, p->outer) == 1;
    if (p->outer == 0 || !one_b)
        return build(c, "MatMul", swap_last_two(c, x), dy);
    const struct shape rows_a = as_rows(&p->a), rows_dy = as_rows(&p->y);
    return build(c, "MatMul", swap_last_two(c, build_reshape(c->b, x, &rows_a)), build_reshape(c->b, dy, &rows_dy));
}

/* From the promoted shape to one that grad_accumulate() can sum back to the operand's: without an added axis of one. */
static bool accumulate(struct grad_ctx *c, int i, struct value *d)
{
    const struct shape *to = &grad_input(c, i)->shape;
    if (shape_count(&d->shape) == shape_count(to))
        return grad_accumulate(c, i, build_reshape(c->b, d, to));
    struct shape s = d->shape;
    if (to->rank == 1) {
        s.rank--;
        shape_set(&s, s.rank - 1, shape_size(to, 0));
    }
    return grad_accumulate(c, i, build_reshape(c->b, d, &s));
}

/* dA = dY B', dB = A' dY */
static bool matmul_grad(struct grad_ctx *c)
{
    struct value *a = grad_input(c, 0), *b = grad_input(c, 1);
    struct matmul_sizes p;
    if (!matmul_sizes_of(&a->shape, &b->shape, &p))
        UNREACHABLE("MatMul of shapes that inference refuses");
    struct value *dy = build_reshape(c->b, grad_of_output(c, 0), &p.y);
    if (grad_wants(c, 0)) {
        struct value *bt = swap_last_two(c, build_reshape(c->b, b, &p.b));
        if (!accumulate(c, 0, build(c, "MatMul", dy, bt)))
            return false;
    }
    return !grad_wants(c, 1) || accumulate(c, 1, grad_right(c, &p, a, dy));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static double dot(const struct eval_ctx *c, const struct matmul_sizes *p, int64_t from_a, int64_t from_b)
{
    return eval_dot(c, p->k, EVAL_TERMS_OF_PRODUCT, eval_f(c, 0) + from_a, 1, eval_f(c, 1) + from_b, p->n);
}

static int64_t int_dot(const struct eval_ctx *c, const struct matmul_sizes *p, int64_t from_a, int64_t from_b)
{
    const enum dtype d = c->in[0]->dtype;
    int64_t sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum = eval_int_binary(d, '+', sum,
                              eval_int_binary(d, '*', eval_i(c, 0)[from_a + k], eval_i(c, 1)[from_b + k * p->n]));
    return sum;
}

static bool matmul_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    struct matmul_sizes p;
    if (y == NULL || y->count == 0 || !matmul_sizes_of(&c->in[0]->shape, &c->in[1]->shape, &p))
        return true;
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t at = 0; at < y->count; at++) {
        const int64_t from_a = matmul_row(&p, index), from_b = matmul_column(&p, index);
        if (y->f != NULL)
            y->f[at] = dot(c, &p, from_a, from_b);
        else
            y->i[at] = int_dot(c, &p, from_a, from_b);
        shape_next(&p.y, index);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool matmul_lower(struct lower_ctx *c)
{
    struct matmul_sizes p;
    if (!matmul_sizes_of(lower_shape(c, 0), lower_shape(c, 1), &p))
        UNREACHABLE("MatMul of shapes that inference refuses");
    if (shape_count(&p.y) == 0 || p.k == 0)
        return lower_map(c, expr_number(c->arena, lower_out_dtype(c, 0), 0));
    const struct view a = matmul_operand(c, 0, &p.a, &p), b = matmul_operand(c, 1, &p.b, &p);
    return lower_product(c, &a, &b, PRODUCT_TERMS_OF_SUM, NULL);
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

/* Outer axes broadcast; an operand of rank 1 is one row, or one column. */
static void matmul_axes(struct axes_ctx *c)
{
    const int a = node_input(c->node, 0)->shape.rank, b = node_input(c->node, 1)->shape.rank;
    const int y = node_output(c->node, 0)->shape.rank, rows = y - (b > 1);
    for (int d = 0; d < a - 2; d++)
        if (node_input(c->node, 0)->shape.dim[d] != 1)
            axes_pass(c, 0, d, 0, rows - 1 - (a - 2) + d);
    for (int d = 0; d < b - 2; d++)
        if (node_input(c->node, 1)->shape.dim[d] != 1)
            axes_pass(c, 1, d, 0, rows - (a > 1) - (b - 2) + d);
    if (a > 1)
        axes_pass(c, 0, a - 2, 0, rows - 1);
    if (b > 1)
        axes_pass(c, 1, b - 1, 0, y - 1);
    const int terms = axes_label(c);
    axes_put(c, 0, a - 1, terms);
    axes_put(c, 1, b > 1 ? b - 2 : 0, terms);
}

static const struct op_sample samples[] = {
    {.text = "g (float[3,4] a, float[4,5] b) => (float[3,5] y) { y = MatMul(a, b) }"},
    {.text = "g (double[2,3,4] a, double[4,5] b) => (double[2,3,5] y) { y = MatMul(a, b) }"},
    {.text = "g (float[3,4] a, float[2,4,5] b) => (float[2,3,5] y) { y = MatMul(a, b) }"},
    {.text = "g (float[2,1,3,4] a, float[3,4,2] b) => (float[2,3,3,2] y) { y = MatMul(a, b) }"},
    {.text = "g (double[4] a, double[4] b) => (double y) { y = MatMul(a, b) }"},
    {.text = "g (double[4] a, double[2,4,3] b) => (double[2,3] y) { y = MatMul(a, b) }"},
    {.text = "g (double[2,3,4] a, double[4] b) => (double[2,3] y) { y = MatMul(a, b) }"},
    {.text = "g (float[70] a, float[70,130] b) => (float[130] y) { y = MatMul(a, b) }"}, /* by columns */
    {.text = "g (float[3,0] a, float[0,5] b) => (float[3,5] y) { y = MatMul(a, b) }"},
    {.text = "g (int32[2,3,4] a, int32[4,5] b) => (int32[2,3,5] y) { y = MatMul(a, b) }", .no_gradient = true},
    {.text = "g (uint64[3,4] a, uint64[4] b) => (uint64[3] y) { y = MatMul(a, b) }", .no_gradient = true},
    {.text = "g (float[3,4] a, float[3,5] b) => (float[3,5] y) { y = MatMul(a, b) }",
     .error = "has 3 rows, expected 4"},
    {.text = "g (float[2,3,4] a, float[3,4,5] b) => (float[3,5] y) { y = MatMul(a, b) }", .error = "do not broadcast"},
    {.text = "g (float a, float[3] b) => (float[3] y) { y = MatMul(a, b) }", .error = "scalar"},
    {.text = "g (int32[3,4] a, int32[4] b) => (int32[3] y) { y = MatMul(a, b) }", .opset = 8, .error = "int32"},
    {.text = "g (float16[5,7] a, float16[7,9] b) => (float16[5,9] y) { y = MatMul(a, b) }"},
    {.text = "g (bfloat16[2,3,4] a, bfloat16[2,4,3] b) => (bfloat16[2,3,3] y) { y = MatMul(a, b) }"},
    {.text = "g (float16[5,7] a, float16[7] b) => (float16[5] y) { t = Exp(a) y = MatMul(t, b) }"},
    {.text = "g (float x, float[3,2] w) => (float[2] y) { y = MatMul(x, w) }",
     .error = "input 0 'x' is a scalar, expected rank 1 or more"},
    {.text = "g (float[2,3] x, float w) => (float[2] y) { y = MatMul(x, w) }",
     .error = "input 1 'w' is a scalar, expected rank 1 or more"},
    {0}};

/* Along the axis that products are added over, what is not meant is 0 on both sides. */
static bool matmul_bounded(struct bounded_ctx *c)
{
    struct value *const a = c->node->inputs.data[0], *const b = c->node->inputs.data[1];
    const struct bounded *const x = a->bounded, *const y = b->bounded;
    const int out = c->node->outputs.data[0]->shape.rank, terms = b->shape.rank > 1 ? b->shape.rank - 2 : 0;
    const bool over_a = x != NULL && x->axis == a->shape.rank - 1, over_b = y != NULL && y->axis == terms;
    if (over_a != over_b || (over_a && !bounded_alike(x, y)))
        return bounded_refuse(c, x != NULL ? 0 : 1, "it is not known to be as many as in the other input");
    if (over_a) {
        bounded_fill_input(c, 0, build_like(c, a, 0.0));
        bounded_fill_input(c, 1, build_like(c, b, 0.0));
        return true;
    }
    /* Where the result has it, counted from its end. */
    const int from_a = x != NULL ? a->shape.rank - x->axis - (b->shape.rank == 1) : 0;
    const int from_b = y != NULL ? b->shape.rank - y->axis - (a->shape.rank == 1 && y->axis < terms) : 0;
    const bool is_batch = from_a > 2 || (from_b > 2 && a->shape.rank > 1);
    const struct value *const other = x != NULL ? b : a;
    const int from = x != NULL ? from_a : from_b, there = other->shape.rank - from;
    if (x != NULL && y != NULL && from_a != from_b)
        return bounded_refuse(c, 1, "two sizes of the result would follow from data");
    if (x != NULL && y != NULL && (!is_batch || !bounded_alike(x, y)))
        return bounded_refuse(c, 1, "it is not known to be as many as in the other input");
    if ((x == NULL || y == NULL) && is_batch && there >= 0 && other->shape.dim[there] != 1)
        return bounded_refuse(c, x != NULL ? 0 : 1, "the other input has a fixed number there");
    return bounded_out(c, 0, x != NULL ? x : y, out - from);
}

const struct op_def op_defs_matmul[] = {
    {.name = "MatMul", .written = "ab", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = matmul_infer, .axes = matmul_axes,
     .product = matmul_product, .grad = matmul_grad, .eval = matmul_eval, .lower = matmul_lower,
     .is_sum = true, .bounded = matmul_bounded, .samples = samples},
    {0}};
