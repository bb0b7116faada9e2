/* Det: determinants of matrices [.., n, n], n up to 8.
 * Code and `same` arithmetic expand along rows: the minor of the last k rows and a set of k columns is the sum, from
 * its first column on, of row's element times the minor of the other columns, signs alternating. Every minor is
 * computed once: n 2^(n-1) products. No division, so that singular matrices are no special case.
 * Spec: ONNX Det-11 and -22 (22 adds bfloat16). */
#include "ops/op.h"

#include <math.h>

enum { DET_MOST = 8 };

static const struct op_version versions[] = {
    {.since = 11, .dtypes = DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16)}, {.since = 22}, {0}};
static const struct op_param inputs[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool det_infer(struct infer_ctx *c)
{
    const struct value *x = infer_in(c, 0);
    struct shape y = x->shape;
    if (y.rank < 2 || y.dim[y.rank - 1] != y.dim[y.rank - 2]) {
        struct arena text = {0};
        infer_error(c, "input 0 '%s' has shape %s, expected square matrices", x->name, shape_text(&text, &y));
        arena_free(&text);
        return false;
    }
    if (y.dim[y.rank - 1] > DET_MOST)
        return infer_unsupported(c, "input 0 '%s' has matrices of %lld rows, at most %d are supported", x->name,
                                 (long long)y.dim[y.rank - 1], DET_MOST);
    y.rank -= 2;
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* For each of the n n elements the (n-1) (n-1) elements of its minor, by their number in the matrix. */
static struct value *minor_indices(struct builder *b, int64_t n)
{
    struct tensor *t = tensor_new(b->graph->arena, DTYPE_INT64, &SHAPE(n * n, n - 1, n - 1));
    int64_t k = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++)
            for (int64_t p = 0; p < n - 1; p++)
                for (int64_t q = 0; q < n - 1; q++)
                    tensor_set_int(t, k++, (p + (p >= i)) * n + q + (q >= j));
    return build_constant(b, t);
}

static struct value *checkerboard(struct builder *b, enum dtype d, int64_t n)
{
    struct tensor *t = tensor_new(b->graph->arena, d, &SHAPE(n * n));
    for (int64_t k = 0; k < n * n; k++)
        tensor_set_double(t, k, (k / n + k % n) % 2 ? -1 : 1);
    return build_constant(b, t);
}

/* dx = dy times the cofactors of x, determinants again: also where x is singular. */
static bool det_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0);
    const int rank = x->shape.rank;
    const int64_t n = x->shape.dim[rank - 1];
    const struct size count = shape_size_range(&x->shape, 0, rank - 2);
    struct shape single = x->shape;
    shape_set(&single, rank - 1, size_constant(1));
    shape_set(&single, rank - 2, size_constant(1));
    struct value *dy = build_reshape(c->b, grad_of_output(c, 0), &single);
    if (n == 0)
        return true;
    if (n == 1)
        return grad_accumulate(c, 0, dy);
    struct value *flat = build_reshape(c->b, x, &SHAPE_OF(count, size_constant(n * n)));
    struct value *minors = build_with(c, "Gather", ATTRS(attr_int("axis", 1)), flat, minor_indices(c->b, n));
    struct value *cofactors = build(c, "Mul", build(c, "Det", minors), checkerboard(c->b, x->dtype, n));
    return grad_accumulate(c, 0, build(c, "Mul", dy, build_reshape(c->b, cofactors, &x->shape)));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static int count_columns(unsigned set)
{
    int count = 0;
    for (; set != 0; set &= set - 1)
        count++;
    return count;
}

static double det_by_minors(const struct eval_ctx *c, const double *x, int n)
{
    double minor[1 << DET_MOST] = {1};
    for (unsigned set = 1; set < 1u << n; set++) {
        const double *row = x + (n - count_columns(set)) * n;
        double sum = 0;
        int sign = 0;
        for (int j = 0; j < n; j++) {
            if (!(set >> j & 1u))
                continue;
            const double product = set == 1u << j ? row[j] : eval_round(c, row[j] * minor[set & ~(1u << j)]);
            sum = sign == 0 ? product : eval_round(c, sign % 2 ? sum - product : sum + product);
            sign++;
        }
        minor[set] = sum;
    }
    return minor[(1u << n) - 1];
}

/* Elimination with the largest pivot of each column. */
static double det_by_elimination(const double *x, int n)
{
    double a[DET_MOST][DET_MOST], det = 1;
    for (int k = 0; k < n * n; k++)
        a[k / n][k % n] = x[k];
    for (int k = 0; k < n; k++) {
        int pivot = k;
        for (int i = k + 1; i < n; i++)
            pivot = fabs(a[i][k]) > fabs(a[pivot][k]) ? i : pivot;
        for (int j = 0; j < n && pivot != k; j++) {
            const double moved = a[k][j];
            a[k][j] = a[pivot][j];
            a[pivot][j] = moved;
        }
        det *= pivot != k ? -a[k][k] : a[k][k];
        for (int i = k + 1; i < n && a[k][k] != 0; i++)
            for (int j = n - 1; j >= k; j--)
                a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    return det;
}

static bool det_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    const int n = (int)x->shape.dim[x->shape.rank - 1];
    for (int64_t k = 0; y != NULL && k < y->count; k++)
        y->f[k] = c->arithmetic == ARITHMETIC_SAME ? det_by_minors(c, x->f + k * n * n, n)
                                                   : det_by_elimination(x->f + k * n * n, n);
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* Element (i, j) of the matrix at the current point of output 0. */
static const struct expr *element(struct lower_ctx *c, const struct view *x, int i, int j)
{
    struct view v = *x;
    const int rank = x->shape.rank;
    v.offset += i * x->stride[rank - 2] + j * x->stride[rank - 1];
    v.shape.rank = rank - 2;
    v.stride[rank - 2] = v.stride[rank - 1] = 0;
    return lower_load(c, &v);
}

static bool det_lower(struct lower_ctx *c)
{
    struct arena *a = c->arena;
    const struct view x = lower_view_of(c, 0);
    const int n = (int)x.shape.dim[x.shape.rank - 1];
    const struct expr *minor[1 << DET_MOST] = {expr_float(a, lower_dtype(c, 0), 1)};
    const struct expr *at[DET_MOST][DET_MOST];
    for (int k = 0; k < n * n; k++)
        at[k / n][k % n] = element(c, &x, k / n, k % n);
    for (unsigned set = 1; set < 1u << n; set++) {
        const int row = n - count_columns(set);
        int sign = 0;
        for (int j = 0; j < n; j++) {
            if (!(set >> j & 1u))
                continue;
            const struct expr *product =
                set == 1u << j ? at[row][j] : expr_binary(a, EXPR_MUL, at[row][j], minor[set & ~(1u << j)]);
            minor[set] = sign == 0 ? product : expr_binary(a, sign % 2 ? EXPR_SUB : EXPR_ADD, minor[set], product);
            sign++;
        }
    }
    return lower_map(c, minor[(1u << n) - 1]);
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,2] x) => (float y) { y = Det(x) }"},
    {.text = "g (float[5,3,3] x) => (float[5] y) { y = Det(x) }"},
    {.text = "g (double[2,3,4,4] x) => (double[2,3] y) { y = Det(x) }"},
    {.text = "g (double[1,1] x) => (double y) { y = Det(x) }"},
    {.text = "g (float[3,1,1] x) => (float[3] y) { y = Det(x) }"},
    {.text = "g (float[3,0,0] x) => (float[3] y) { y = Det(x) }"},
    {.text = "g (float[0,2,2] x) => (float[0] y) { y = Det(x) }"},
    {.text = "g (double[6,6] x) => (double y) { t = Transpose(x) y = Det(t) }"},
    {.text = "g (float[2,8,8] x) => (float[2] y) { y = Det(x) }", .no_gradient = true},
    {.text = "g (float16[3,3] x) => (float16 y) { y = Det(x) }", .no_gradient = true},
    /* singular: the gradient is that of the cofactors */
    {.text = "g () => (float[2,2] dx) { x = Constant <value = float[2,2] {1.0, 2.0, 2.0, 4.0}> () y = Det(x) "
             "dx = ai.onnx.preview.training.Gradient <xs = [\"x\"], y = \"y\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[3,2] x) => (float y) { y = Det(x) }", .error = "expected square matrices"},
    {.text = "g (float[3] x) => (float y) { y = Det(x) }", .error = "expected square matrices"},
    {.text = "g (float[9,9] x) => (float y) { y = Det(x) }", .error = "at most 8 are supported"},
    {0}};

const struct op_def op_defs_det[] = {
    {.name = "Det", .versions = versions, .inputs = inputs, .outputs = outputs, .infer = det_infer, .grad = det_grad,
     .eval = det_eval, .lower = det_lower, .samples = samples},
    {0}};
