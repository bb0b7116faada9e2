/* MatMul: the matrix product of the last two axes, the axes before them broadcast. An operand of rank 1 is a row (on
 * the left) or a column (on the right), and its axis of one is taken out of the result.
 * Each element is a sum over k in index order, 80 terms at a time. Integers wrap.
 * Spec: ONNX MatMul-1, -9 (integers), -13 (bfloat16). */
#include "ops/op.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define WIDE_INTS (DTYPES_INDEX | DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64))

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1}, {.since = 9, .dtypes = FLOATS_1 | WIDE_INTS}, {.since = 13}, {0}};
static const struct op_param inputs[] = {{.name = "A", .type = 'T', .dtypes = DTYPES_FLOATS | WIDE_INTS},
                                         {.name = "B", .type = 'T', .dtypes = DTYPES_FLOATS | WIDE_INTS},
                                         {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS | WIDE_INTS}, {0}};

/* The product with all ranks equal and at least 2: a[outer.., m, k] b[outer.., k, n] = y[outer.., m, n]; outer dims of
 * a and b may be 1. */
struct product {
    struct shape a, b, y;
    int outer; /* number of outer dims */
    int64_t m, n, k;
};

static struct shape promote(const struct shape *s, bool is_left)
{
    if (s->rank != 1)
        return *s;
    return is_left ? SHAPE(1, s->dim[0]) : SHAPE(s->dim[0], 1);
}

static struct shape lead_with_ones(const struct shape *s, int rank)
{
    struct shape out = {.rank = rank};
    for (int d = 0; d < rank; d++)
        out.dim[d] = d < rank - s->rank ? 1 : s->dim[d - (rank - s->rank)];
    return out;
}

/* False where the outer dims do not broadcast. */
static bool product_of(const struct shape *a, const struct shape *b, struct product *p)
{
    p->a = promote(a, true);
    p->b = promote(b, false);
    const int rank = p->a.rank > p->b.rank ? p->a.rank : p->b.rank;
    p->a = lead_with_ones(&p->a, rank);
    p->b = lead_with_ones(&p->b, rank);
    p->outer = rank - 2;
    p->m = p->a.dim[rank - 2];
    p->k = p->a.dim[rank - 1];
    p->n = p->b.dim[rank - 1];
    struct shape outer_a = p->a, outer_b = p->b;
    outer_a.rank = outer_b.rank = rank - 2;
    if (!shape_broadcast(&p->y, &outer_a, &outer_b))
        return false;
    p->y.rank = rank;
    p->y.dim[rank - 2] = p->m;
    p->y.dim[rank - 1] = p->n;
    return true;
}

static bool matmul_product(const struct node *n, struct op_product *out)
{
    const struct shape *const a = &node_input(n, 0)->shape, *const b = &node_input(n, 1)->shape;
    if (a->rank != 2)
        return false;
    *out = (struct op_product){a->dim[0], a->dim[1], b->rank > 1 ? b->dim[b->rank - 1] : 1, false, false};
    return true;
}

/* y without the axes that the promotion added. */
static struct shape result_shape(const struct product *p, const struct shape *a, const struct shape *b)
{
    struct shape y = p->y;
    y.rank = p->outer;
    if (a->rank != 1)
        y.dim[y.rank++] = p->m;
    if (b->rank != 1)
        y.dim[y.rank++] = p->n;
    return y;
}

static bool matmul_infer(struct infer_ctx *c)
{
    const struct value *va = infer_in(c, 0), *vb = infer_in(c, 1);
    const struct shape *a = &va->shape, *b = &vb->shape;
    if (a->rank == 0 || b->rank == 0)
        return infer_error(c, "input %d '%s' is a scalar, expected rank 1 or more", a->rank == 0 ? 0 : 1,
                           a->rank == 0 ? va->name : vb->name);
    const int64_t k = a->dim[a->rank - 1], rows = b->dim[b->rank > 1 ? b->rank - 2 : 0];
    if (k != rows)
        return infer_error(c, "input 1 '%s' has %lld rows, expected %lld to match the last axis of input 0 '%s'",
                           vb->name, (long long)rows, (long long)k, va->name);
    struct product p;
    if (!product_of(a, b, &p)) {
        struct arena text = {0};
        infer_error(c,
                    "input 0 '%s' of shape %s and input 1 '%s' of shape %s: the axes before the last two do not "
                    "broadcast",
                    va->name, shape_text(&text, a), vb->name, shape_text(&text, b));
        arena_free(&text);
        return false;
    }
    const struct shape y = result_shape(&p, a, b);
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
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
    return SHAPE(shape_count_range(s, 0, s->rank - 1), s->dim[s->rank - 1]);
}

/* dB = A' dY. One b for all of the batch: the sum over the batch is part of the product over all rows. */
static struct value *grad_right(struct grad_ctx *c, const struct product *p, struct value *a, struct value *dy)
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
        s.dim[s.rank - 1] = to->dim[0];
    }
    return grad_accumulate(c, i, build_reshape(c->b, d, &s));
}

/* dA = dY B', dB = A' dY */
static bool matmul_grad(struct grad_ctx *c)
{
    struct value *a = grad_input(c, 0), *b = grad_input(c, 1);
    struct product p;
    if (!product_of(&a->shape, &b->shape, &p))
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

static double dot(const struct eval_ctx *c, const struct product *p, int64_t from_a, int64_t from_b)
{
    return eval_dot(c, p->k, EVAL_TERMS_OF_PRODUCT, eval_f(c, 0) + from_a, 1, eval_f(c, 1) + from_b, p->n);
}

static int64_t int_dot(const struct eval_ctx *c, const struct product *p, int64_t from_a, int64_t from_b)
{
    const enum dtype d = c->in[0]->dtype;
    int64_t sum = 0;
    for (int64_t k = 0; k < p->k; k++)
        sum = eval_int_binary(d, '+', sum,
                              eval_int_binary(d, '*', eval_i(c, 0)[from_a + k], eval_i(c, 1)[from_b + k * p->n]));
    return sum;
}

/* Strides of the outer dims, 0 where they stretch. */
static void outer_strides(const struct shape *s, int outer, int64_t *stride)
{
    shape_strides(s, stride);
    for (int d = 0; d < outer; d++)
        stride[d] = s->dim[d] == 1 ? 0 : stride[d];
}

static bool matmul_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    struct product p;
    if (y == NULL || y->count == 0 || !product_of(&c->in[0]->shape, &c->in[1]->shape, &p))
        return true;
    int64_t stride_a[SHAPE_MAX_RANK], stride_b[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0};
    outer_strides(&p.a, p.outer, stride_a);
    outer_strides(&p.b, p.outer, stride_b);
    for (int64_t at = 0; at < y->count; at++) {
        int64_t from_a = index[p.outer] * p.k, from_b = index[p.outer + 1];
        for (int d = 0; d < p.outer; d++) {
            from_a += index[d] * stride_a[d];
            from_b += index[d] * stride_b[d];
        }
        if (y->f != NULL)
            y->f[at] = dot(c, &p, from_a, from_b);
        else
            y->i[at] = int_dot(c, &p, from_a, from_b);
        shape_next(&p.y, index);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* The operand as [outer.., rows, columns]: added axes of one, outer dims stretched. */
static struct view product_operand(struct lower_ctx *c, int i, const struct shape *promoted, const struct product *p)
{
    const struct view v = lower_view_of(c, i);
    struct view full;
    if (!view_reshape(&v, promoted, &full))
        UNREACHABLE("axes of one always fit");
    struct shape to = p->y;
    to.dim[p->outer] = promoted->dim[p->outer];
    to.dim[p->outer + 1] = promoted->dim[p->outer + 1];
    return view_broadcast(&full, &to);
}

static bool matmul_lower(struct lower_ctx *c)
{
    struct product p;
    if (!product_of(lower_shape(c, 0), lower_shape(c, 1), &p))
        UNREACHABLE("MatMul of shapes that inference refuses");
    if (shape_count(&p.y) == 0 || p.k == 0)
        return lower_map(c, expr_number(c->arena, lower_out_dtype(c, 0), 0));
    const struct view a = product_operand(c, 0, &p.a, &p), b = product_operand(c, 1, &p.b, &p);
    return lower_product(c, &a, &b, PRODUCT_TERMS_OF_SUM, NULL);
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

static const struct op_sample samples[] = {
    {.text = "g (float[3,4] a, float[4,5] b) => (float[3,5] y) { y = MatMul(a, b) }"},
    {.text = "g (double[2,3,4] a, double[4,5] b) => (double[2,3,5] y) { y = MatMul(a, b) }"},
    {.text = "g (float[3,4] a, float[2,4,5] b) => (float[2,3,5] y) { y = MatMul(a, b) }"},
    {.text = "g (float[2,1,3,4] a, float[3,4,2] b) => (float[2,3,3,2] y) { y = MatMul(a, b) }"},
    {.text = "g (double[4] a, double[4] b) => (double y) { y = MatMul(a, b) }"},
    {.text = "g (double[4] a, double[2,4,3] b) => (double[2,3] y) { y = MatMul(a, b) }"},
    {.text = "g (double[2,3,4] a, double[4] b) => (double[2,3] y) { y = MatMul(a, b) }"},
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
    {0}};

const struct op_def op_defs_matmul[] = {
    {.name = "MatMul", .versions = versions, .inputs = inputs, .outputs = outputs, .infer = matmul_infer,
     .product = matmul_product,
     .grad = matmul_grad, .eval = matmul_eval, .lower = matmul_lower, .is_sum = true, .samples = samples},
    {0}};
