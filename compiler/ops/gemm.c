/* Gemm: Y = alpha A' B' + beta C, A' and B' being A and B or their transposes, C broadcast to Y.
 * The contract of one element: acc = sum over k of a b in index order, 80 at a time, then r = alpha acc, then r + beta
 * C; each operation rounds, a factor of 1 is no operation. Integers wrap.
 * Spec: ONNX Gemm-1, -6, -7 (C broadcasts by itself), -9 (integers), -11 (C optional), -13 (bfloat16). */
#include "ops/op.h"

#include <math.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define WIDE_INTS (DTYPES_INDEX | DTYPE_BIT(DTYPE_UINT32) | DTYPE_BIT(DTYPE_UINT64))

#define COMMON_ATTRS                                                                                                   \
    {.name = "alpha", .type = ATTR_FLOAT, .float_default = 1},                                                         \
    {.name = "beta", .type = ATTR_FLOAT, .float_default = 1},                                                          \
    {.name = "transA", .type = ATTR_INT, .int_default = 0}, {.name = "transB", .type = ATTR_INT, .int_default = 0}
static const struct op_attr attrs_1[] = {COMMON_ATTRS, {.name = "broadcast", .type = ATTR_INT, .int_default = 0}, {0}};
static const struct op_attr attrs[] = {COMMON_ATTRS, {0}};

#define PARAM(label, marks) {.name = (label), .type = 'T', .dtypes = DTYPES_FLOATS | WIDE_INTS, .flags = (marks)}
static const struct op_param inputs_with_c[] = {PARAM("A", 0), PARAM("B", 0), PARAM("C", 0), {0}};
static const struct op_param inputs[] = {PARAM("A", 0), PARAM("B", 0), PARAM("C", PARAM_OPTIONAL), {0}};
static const struct op_param outputs[] = {PARAM("Y", 0), {0}};

/* Opsets 1 and 6: without broadcast=1 C has the shape of Y already. */
static bool upgrade_broadcast(struct upgrade_ctx *c)
{
    struct node *n = c->node;
    const struct attr *broadcast = node_attr(n, "broadcast");
    const bool may_stretch = broadcast != NULL && broadcast->i != 0;
    const struct value *a = node_input(n, 0), *b = node_input(n, 1), *bias = node_input(n, 2);
    node_remove_attr(n, "broadcast");
    if (may_stretch || a == NULL || b == NULL || bias == NULL || a->shape.rank != 2 || b->shape.rank != 2)
        return true; /* what else may be wrong, inference reports */
    const struct attr *trans_a = node_attr(n, "transA"), *trans_b = node_attr(n, "transB");
    const struct shape y = SHAPE_OF(shape_size(&a->shape, trans_a != NULL && trans_a->i != 0),
                                    shape_size(&b->shape, trans_b == NULL || trans_b->i == 0));
    if (shape_equal(&bias->shape, &y))
        return true;
    struct arena text = {0};
    upgrade_error(c, "input 2 '%s' has shape %s, expected %s without attribute broadcast=1", bias->name,
                  shape_text(&text, &bias->shape), shape_text(&text, &y));
    arena_free(&text);
    return false;
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .inputs = inputs_with_c},
    {.since = 6, .dtypes = FLOATS_1, .attrs = attrs_1, .inputs = inputs_with_c, .upgrade = upgrade_broadcast},
    {.since = 7, .dtypes = FLOATS_1, .attrs = attrs, .inputs = inputs_with_c},
    {.since = 9, .dtypes = FLOATS_1 | WIDE_INTS, .attrs = attrs, .inputs = inputs_with_c},
    {.since = 11, .dtypes = FLOATS_1 | WIDE_INTS},
    {.since = 13},
    {0}};

struct gemm {
    bool trans_a, trans_b;
    int64_t m, n, k;
    double alpha, beta;
};

static struct gemm gemm_of(const struct node *n)
{
    struct gemm g = {.trans_a = op_attr_int(n, "transA") != 0,
                     .trans_b = op_attr_int(n, "transB") != 0,
                     .alpha = op_attr_float(n, "alpha"),
                     .beta = op_attr_float(n, "beta")};
    const struct shape *a = &node_input(n, 0)->shape, *b = &node_input(n, 1)->shape;
    g.m = a->dim[g.trans_a];
    g.k = a->dim[!g.trans_a];
    g.n = b->dim[!g.trans_b];
    return g;
}

static bool gemm_product(const struct node *n, struct op_product *out)
{
    const struct gemm g = gemm_of(n);
    *out = (struct op_product){g.m, g.k, g.n, g.trans_a, g.trans_b};
    return true;
}

static bool check_ranks(struct infer_ctx *c)
{
    for (int i = 0; i < 2; i++)
        if (infer_rank(c, i) != 2)
            return infer_error(c, "input %d '%s' has rank %d, expected a matrix (rank 2)", i, infer_in(c, i)->name,
                               infer_rank(c, i));
    return true;
}

static bool check_bias(struct infer_ctx *c, const struct shape *y)
{
    const struct value *bias = infer_in(c, 2);
    struct shape both;
    if (bias == NULL || (shape_broadcast(&both, &bias->shape, y) && shape_equal(&both, y)))
        return true;
    struct arena text = {0};
    infer_error(c, "input 2 '%s' of shape %s does not broadcast to the result's shape %s", bias->name,
                shape_text(&text, &bias->shape), shape_text(&text, y));
    arena_free(&text);
    return false;
}

/* Integer factors: nobody says what half an integer would be. */
static bool check_factors(struct infer_ctx *c)
{
    static const char *const names[] = {"alpha", "beta"};
    for (int i = 0; i < 2 && !dtype_is_float(infer_in(c, 0)->dtype); i++) {
        const double x = op_attr_float(c->node, names[i]);
        if (x != floor(x) || fabs(x) > 1e9)
            return infer_error(c, "attribute '%s' is %g, expected a whole number for integer inputs", names[i], x);
    }
    return true;
}

static bool gemm_infer(struct infer_ctx *c)
{
    if (!check_ranks(c))
        return false;
    const struct gemm g = gemm_of(c->node);
    const int64_t rows = infer_shape(c, 1)->dim[g.trans_b];
    if (rows != g.k)
        return infer_error(c, "input 1 '%s' has %lld %s, expected %lld to match input 0 '%s'", infer_in(c, 1)->name,
                           (long long)rows, g.trans_b ? "columns" : "rows", (long long)g.k, infer_in(c, 0)->name);
    const struct shape y =
        SHAPE_OF(shape_size(infer_shape(c, 0), g.trans_a), shape_size(infer_shape(c, 1), !g.trans_b));
    return check_bias(c, &y) && check_factors(c) && infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

static struct value *product(struct grad_ctx *c, double alpha, struct value *a, bool trans_a, struct value *b,
                             bool trans_b)
{
    return build_with(c, "Gemm",
                      ATTRS(attr_float("alpha", alpha), attr_int("transA", trans_a), attr_int("transB", trans_b)), a,
                      b);
}

/* With A' = op(A), B' = op(B):  dA' = alpha dY B'',  dB' = alpha A'' dY,  dC = beta dY */
static bool gemm_grad(struct grad_ctx *c)
{
    const struct gemm g = gemm_of(c->node);
    struct value *a = grad_input(c, 0), *b = grad_input(c, 1), *dy = grad_of_output(c, 0);
    if (grad_wants(c, 0)) {
        struct value *da =
            g.trans_a ? product(c, g.alpha, b, g.trans_b, dy, true) : product(c, g.alpha, dy, false, b, !g.trans_b);
        if (!grad_accumulate(c, 0, da))
            return false;
    }
    if (grad_wants(c, 1)) {
        struct value *db =
            g.trans_b ? product(c, g.alpha, dy, true, a, g.trans_a) : product(c, g.alpha, a, !g.trans_a, dy, false);
        if (!grad_accumulate(c, 1, db))
            return false;
    }
    if (!grad_wants(c, 2))
        return true;
    return grad_accumulate(c, 2, g.beta == 1 ? dy : build(c, "Mul", dy, build_like(c, dy, g.beta)));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

struct gemm_steps { /* of index k in A and B */
    int64_t a, b;
};

static double float_element(const struct eval_ctx *c, const struct gemm *g, int64_t a, int64_t b,
                            struct gemm_steps step, const double *bias)
{
    double r = eval_dot(c, g->k, EVAL_TERMS_OF_PRODUCT, eval_f(c, 0) + a, step.a, eval_f(c, 1) + b, step.b);
    if (g->alpha != 1)
        r = eval_round(c, g->alpha * r);
    if (bias != NULL)
        r = eval_round(c, r + (g->beta == 1 ? *bias : eval_round(c, g->beta * *bias)));
    return r;
}

static int64_t int_element(const struct eval_ctx *c, const struct gemm *g, int64_t a, int64_t b, struct gemm_steps step,
                           const int64_t *bias)
{
    const enum dtype d = c->in[0]->dtype;
    int64_t r = 0;
    for (int64_t k = 0; k < g->k; k++)
        r = eval_int_binary(d, '+', r,
                            eval_int_binary(d, '*', eval_i(c, 0)[a + k * step.a], eval_i(c, 1)[b + k * step.b]));
    r = eval_int_binary(d, '*', r, (int64_t)g->alpha);
    return bias == NULL ? r : eval_int_binary(d, '+', r, eval_int_binary(d, '*', (int64_t)g->beta, *bias));
}

static bool gemm_eval(struct eval_ctx *c)
{
    const struct gemm g = gemm_of(c->node);
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    int64_t *bias_at = arena_array(c->scratch, int64_t, (size_t)y->count);
    if (eval_has(c, 2))
        eval_broadcast_index(eval_input(c, 2), &y->shape, bias_at);
    const struct gemm_steps step = {.a = g.trans_a ? g.m : 1, .b = g.trans_b ? 1 : g.n};
    for (int64_t p = 0; p < y->count; p++) {
        const int64_t m = p / g.n, n = p % g.n;
        const int64_t a = g.trans_a ? m : m * g.k, b = g.trans_b ? n * g.k : n;
        if (y->f != NULL)
            y->f[p] = float_element(c, &g, a, b, step, eval_has(c, 2) ? eval_f(c, 2) + bias_at[p] : NULL);
        else
            y->i[p] = int_element(c, &g, a, b, step, eval_has(c, 2) ? eval_i(c, 2) + bias_at[p] : NULL);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static struct view operand(struct lower_ctx *c, int i, bool transposed)
{
    const struct view v = lower_view_of(c, i);
    return transposed ? view_transpose(&v, (int[]){1, 0}) : v;
}

/* alpha r + beta C over the loops m, n */
static const struct expr *finish(struct lower_ctx *c, const struct gemm *g, const struct expr *r)
{
    const enum dtype d = r->dtype;
    if (g->alpha != 1)
        r = expr_binary(c->arena, EXPR_MUL, expr_number(c->arena, d, g->alpha), r);
    if (!lower_has(c, 2))
        return r;
    const struct expr *bias = lower_in_over(c, 2, &SHAPE(g->m, g->n));
    if (g->beta != 1)
        bias = expr_binary(c->arena, EXPR_MUL, expr_number(c->arena, d, g->beta), bias);
    return expr_binary(c->arena, EXPR_ADD, r, bias);
}

static bool gemm_lower(struct lower_ctx *c)
{
    const struct gemm g = gemm_of(c->node);
    const enum dtype d = lower_out_dtype(c, 0);
    if (g.m == 0 || g.n == 0 || g.k == 0)
        return lower_map(c, finish(c, &g, expr_number(c->arena, d, 0)));
    const struct view a = operand(c, 0, g.trans_a), b = operand(c, 1, g.trans_b);
    const bool is_plain = g.alpha == 1 && !lower_has(c, 2);
    return lower_product(c, &a, &b, PRODUCT_TERMS_OF_SUM, is_plain ? NULL : finish(c, &g, expr_result(c->arena, d)));
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

static void gemm_axes(struct axes_ctx *c)
{
    const struct gemm g = gemm_of(c->node);
    const int terms = axes_label(c);
    axes_pass(c, 0, g.trans_a, 0, 0);
    axes_pass(c, 1, !g.trans_b, 0, 1);
    axes_put(c, 0, !g.trans_a, terms);
    axes_put(c, 1, g.trans_b, terms);
    if (node_input(c->node, 2) != NULL)
        axes_pass_broadcast(c, 2);
}

static const struct op_sample samples[] = {
    {.text = "g (float[3,4] a, float[4,5] b, float[5] c) => (float[3,5] y) { y = Gemm(a, b, c) }"},
    {.text = "g (double[4,3] a, double[5,4] b, double[3,1] c) => (double[3,5] y) "
             "{ y = Gemm <alpha = 0.5, beta = 2.0, transA = 1, transB = 1> (a, b, c) }"},
    {.text = "g (double[4,3] a, double[4,5] b, double c) => (double[3,5] y) "
             "{ y = Gemm <transA = 1, beta = -1.0> (a, b, c) }"},
    {.text = "g (double[3,4] a, double[5,4] b) => (double[3,5] y) { y = Gemm <transB = 1, alpha = 3.0> (a, b) }"},
    {.text = "g (int32[3,4] a, int32[4,5] b, int32[1,5] c) => (int32[3,5] y) "
             "{ y = Gemm <alpha = 2.0, beta = 3.0> (a, b, c) }", .no_gradient = true},
    {.text = "g (float[3,0] a, float[0,5] b, float[5] c) => (float[3,5] y) { y = Gemm(a, b, c) }"},
    {.text = "g (float[3,4] a, float[4,5] b, float[5] c) => (float[3,5] y) { y = Gemm <broadcast = 1> (a, b, c) }",
     .opset = 6},
    {.text = "g (float[3,4] a, float[4,5] b, float[5] c) => (float[3,5] y) { y = Gemm(a, b, c) }", .opset = 6,
     .error = "broadcast=1"},
    {.text = "g (float[3,4] a, float[3,5] b) => (float[3,5] y) { y = Gemm(a, b) }", .error = "has 3 rows, expected 4"},
    {.text = "g (float[3,4] a, float[4,5] b, float[3] c) => (float[3,5] y) { y = Gemm(a, b, c) }",
     .error = "does not broadcast"},
    {.text = "g (float[2,3,4] a, float[4,5] b) => (float[3,5] y) { y = Gemm(a, b) }", .error = "has rank 3"},
    {.text = "g (int32[3,4] a, int32[4,5] b) => (int32[3,5] y) { y = Gemm <alpha = 0.5> (a, b) }",
     .error = "whole number"},
    {.text = "g (float[3,4] a, float[4,5] b) => (float[3,5] y) { y = Gemm(a, b) }", .opset = 9, .error = "input"},
    {.text = "g (float16[3,4] a, float16[5,4] b, float16[5] c) => (float16[3,5] y) "
             "{ y = Gemm <transB = 1, alpha = 0.3, beta = 0.7> (a, b, c) }"},
    {0}};

/* Rows of A, columns of B, or what products are added over: there, what is not meant is 0 on both sides. */
static bool gemm_bounded(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    const struct bounded *const a = bounded_in(c, 0), *const b = bounded_in(c, 1), *const added = bounded_in(c, 2);
    const bool over_a = a != NULL && (a->axis == 1) != (op_attr_int(n, "transA") != 0);
    const bool over_b = b != NULL && (b->axis == 0) != (op_attr_int(n, "transB") != 0);
    if (a != NULL && b != NULL && !over_a && !over_b)
        return bounded_refuse(c, 1, "two sizes of the result would follow from data");
    if (over_a != over_b || (over_a && !bounded_alike(a, b)))
        return bounded_refuse(c, a != NULL ? 0 : 1, "it is not known to be as many as in the other matrix");
    if (over_a) {
        bounded_fill_input(c, 0, build_like(c, n->inputs.data[0], 0.0));
        bounded_fill_input(c, 1, build_like(c, n->inputs.data[1], 0.0));
    }
    const struct bounded *const y = over_a ? NULL : a != NULL ? a : b;
    const int axis = y == a ? 0 : 1;
    const struct value *const v = node_input(n, 2);
    const int at = v != NULL ? axis - 2 + v->shape.rank : -1;
    if (added != NULL && (y == NULL || added->axis != at || !bounded_alike(added, y)))
        return bounded_refuse(c, 2, "it is not known to be as many as in the product");
    if (y != NULL && added == NULL && at >= 0 && v->shape.dim[at] != 1)
        return bounded_refuse(c, y == a ? 0 : 1, "what is added has a fixed number there");
    return y == NULL || bounded_out(c, 0, y, axis);
}

const struct op_def op_defs_gemm[] = {
    {.name = "Gemm", .written = "ab", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = gemm_infer, .axes = gemm_axes,
     .product = gemm_product, .grad = gemm_grad, .eval = gemm_eval, .lower = gemm_lower,
     .is_sum = true, .bounded = gemm_bounded, .samples = samples},
    {0}};
