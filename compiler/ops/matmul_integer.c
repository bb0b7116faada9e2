/* MatMulInteger and QLinearMatMul: matrix products of integers of 8 bits, with shapes as MatMul's.
 *   MatMulInteger   y = (a - za) (b - zb)                                      in int32, which wraps
 *   QLinearMatMul   y = saturate(round((a - za) (b - zb) sa sb / sy) + zy)     halves to even
 * za and sa are one for the tensor, or one for each row of a; zb and sb one, or one for each column of b; sy and zy
 * are one. For rows, a of rank 2 has a list [m] or [m, 1], and a of more axes [.., m, 1] (docs/readings.md, R39);
 * columns alike: [n] or [.., 1, n].
 *
 * QLinearMatMul is expanded: the sum becomes a float, is multiplied by sa * sb, and goes through QuantizeLinear, which
 * rounds before it adds zy (R38). Scales of 16 bits become floats first.
 * No gradient goes through integers. Spec: ONNX MatMulInteger-10; QLinearMatMul-10 and -21 (scales of 16 bits; its
 * floats of 8 bits are not supported). */
#include "ops/linear_rules.h"
#include "ops/matmul_rules.h"

/* ---- what belongs to rows and columns ---------------------------------------------------------------------------- */

/* The shape in which parameter z of operand x is multiplied and subtracted, [.., rows, 1] or [.., 1, columns]; false
 * where it has none. One number has a shape of ones. */
static bool align(const struct shape *z, const struct shape *x, bool is_left, struct shape *out)
{
    struct shape whole = *x;
    if (shape_count(z) == 1 && z->rank <= 1) {
        *out = SHAPE(1, 1);
        return true;
    }
    if (x->rank < 2)
        return false;
    shape_set(&whole, is_left ? x->rank - 1 : x->rank - 2, size_constant(1));
    *out = whole;
    return shape_equal(z, &whole) || (x->rank == 2 && z->rank == 1 && z->dim[0] == shape_count(&whole));
}

/* Input i, where it is there, belongs to operand x. */
static bool check_parameter(struct infer_ctx *c, int i, int x, bool is_left)
{
    struct shape aligned;
    const struct value *const z = infer_in(c, i);
    if (z == NULL || align(&z->shape, infer_shape(c, x), is_left, &aligned))
        return true;
    struct arena text = {0};
    infer_error(c, "input %d '%s' has shape %s, expected one number, or one for each %s of input %d '%s' of shape %s",
                i, z->name, shape_text(&text, &z->shape), is_left ? "row" : "column", x, infer_in(c, x)->name,
                shape_text(&text, infer_shape(c, x)));
    arena_free(&text);
    return false;
}

/* ---- the product ------------------------------------------------------------------------------------------------- */

/* Places of the operands among the inputs of a node. */
struct matmul_operands {
    int a, b, zero_a, zero_b;
};

/* Number `at` of the zero points that belong to x, of which the row (or column) at hand is `line` of `lines`, and its
 * matrix begins at element `from`, of matrices of `size` elements. */
static int64_t zero_of(const struct eval_ctx *c, int i, int64_t line, int64_t lines, int64_t from, int64_t size)
{
    if (!eval_has(c, i))
        return 0;
    return eval_i(c, i)[c->in[i]->count == 1 ? 0 : from / size * lines + line];
}

static int64_t sum_at(const struct eval_ctx *c, const struct matmul_operands *in, const struct matmul_sizes *p,
                      const int64_t *index)
{
    const int64_t i = index[p->outer], j = index[p->outer + 1];
    const int64_t from_a = matmul_row(p, index), from_b = matmul_column(p, index);
    const int64_t zero_a = zero_of(c, in->zero_a, i, p->m, from_a - i * p->k, p->m * p->k);
    const int64_t zero_b = zero_of(c, in->zero_b, j, p->n, from_b - j, p->k * p->n);
    int64_t sum = 0;
    for (int64_t k = 0; k < p->k; k++) {
        const int64_t a = eval_i(c, in->a)[from_a + k] - zero_a, b = eval_i(c, in->b)[from_b + k * p->n] - zero_b;
        sum = eval_int_binary(DTYPE_INT32, '+', sum, a * b);
    }
    return sum;
}

/* ---- MatMulInteger ----------------------------------------------------------------------------------------------- */

#define BITS_8 (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))

static const struct op_version integer_versions[] = {{.since = 10}, {0}};
static const struct op_param integer_inputs[] = {
    {.name = "A", .type = 'A', .dtypes = BITS_8},
    {.name = "B", .type = 'B', .dtypes = BITS_8},
    {.name = "a_zero_point", .type = 'A', .dtypes = BITS_8, .flags = PARAM_OPTIONAL},
    {.name = "b_zero_point", .type = 'B', .dtypes = BITS_8, .flags = PARAM_OPTIONAL},
    {0}};
static const struct op_param integer_outputs[] = {{.name = "Y", .dtypes = DTYPE_BIT(DTYPE_INT32)}, {0}};
static const struct matmul_operands integer_places = {0, 1, 2, 3};

static bool integer_infer(struct infer_ctx *c)
{
    return check_parameter(c, 2, 0, true) && check_parameter(c, 3, 1, false) &&
           matmul_infer_product(c, 0, 1, DTYPE_INT32);
}

static bool integer_eval(struct eval_ctx *c)
{
    struct eval_tensor *const y = eval_output(c, 0);
    struct matmul_sizes p;
    if (y == NULL || y->count == 0 || !matmul_sizes_of(&c->in[0]->shape, &c->in[1]->shape, &p))
        return true;
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t at = 0; at < y->count; at++, shape_next(&p.y, index))
        y->i[at] = sum_at(c, &integer_places, &p, index);
    return true;
}

/* Zero points as a view of the operand's shape; NULL: none. */
static const struct view *zero_view(struct lower_ctx *c, int i, int x, const struct matmul_sizes *p, struct view *out)
{
    const bool is_left = x == integer_places.a;
    struct shape aligned;
    if (!lower_has(c, i) || !align(lower_shape(c, i), lower_shape(c, x), is_left, &aligned))
        return NULL;
    struct shape led = SHAPE_SCALAR, to = p->y;
    for (int d = aligned.rank - p->y.rank; d < aligned.rank; d++)
        shape_add(&led, d < 0 ? size_constant(1) : shape_size(&aligned, d));
    const struct view v = lower_view_of(c, i);
    if (!view_reshape(&v, &led, out))
        UNREACHABLE("axes of one always fit");
    shape_set(&to, is_left ? p->outer + 1 : p->outer, size_constant(p->k));
    *out = view_broadcast(out, &to);
    return out;
}

static bool integer_lower(struct lower_ctx *c)
{
    struct matmul_sizes p;
    struct view of_a, of_b;
    if (!matmul_sizes_of(lower_shape(c, 0), lower_shape(c, 1), &p))
        UNREACHABLE("MatMulInteger of shapes that inference refuses");
    if (shape_count(&p.y) == 0 || p.k == 0)
        return lower_map(c, expr_int(c->arena, DTYPE_INT32, 0));
    const struct view a = matmul_operand(c, 0, &p.a, &p), b = matmul_operand(c, 1, &p.b, &p);
    return lower_product_of_integers(c, DTYPE_INT32, &a, &b, zero_view(c, 2, 0, &p, &of_a),
                                     zero_view(c, 3, 1, &p, &of_b), NULL);
}

static const struct op_sample integer_samples[] = {
    {.text = "g (uint8[4,3] A, uint8[3,2] B) => (int32[4,2] y) { y = MatMulInteger(A, B) }", .no_gradient = true},
    {.text = "g (uint8[4,3] A, int8[3,2] B, uint8 z) => (int32[4,2] y) { y = MatMulInteger(A, B, z) }",
     .no_gradient = true},
    {.text = "g (int8[4,3] A, uint8[3,70] B, int8[1] z, uint8 w) => (int32[4,70] y) { y = MatMulInteger(A, B, z, w) }",
     .no_gradient = true},
    {.text = "g (int8[4,40] A, int8[40,5] B, int8[4] z, int8[5] w) => (int32[4,5] y) { y = MatMulInteger(A, B, z, w) }",
     .no_gradient = true},
    {.text = "g (int8[2,1,4,3] A, uint8[3,3,5] B, int8[2,1,4,1] z, uint8[3,1,5] w) => (int32[2,3,4,5] y) "
             "{ y = MatMulInteger(A, B, z, w) }",
     .no_gradient = true},
    {.text = "g (uint8[4,3] A, int8[2,3,5] B, int8[2,1,5] w) => (int32[2,4,5] y) { y = MatMulInteger(A, B, , w) }",
     .no_gradient = true},
    {.text = "g (int8[4,33] A, int8[5,33] B, int8[1,5] w) => (int32[4,5] y) "
             "{ t = Transpose(B) y = MatMulInteger(A, t, , w) }",
     .no_gradient = true},
    {.text = "g (uint8[9] A, int8[9] B, uint8 z) => (int32 y) { y = MatMulInteger(A, B, z) }", .no_gradient = true},
    {.text = "g (uint8[4,9] A, int8[9] B, uint8[4] z) => (int32[4] y) { y = MatMulInteger(A, B, z) }",
     .no_gradient = true},
    {.text = "g (uint8[3,0] A, int8[0,2] B) => (int32[3,2] y) { y = MatMulInteger(A, B) }", .no_gradient = true},
    {.text = "g (uint8[0,3] A, int8[3,2] B, uint8[0] z) => (int32[0,2] y) { y = MatMulInteger(A, B, z) }",
     .no_gradient = true},
    /* sums that need more bits than the operands */
    {.text = "g () => (int32[1,1] y) { A = Constant <value = uint8[1,3] {255, 255, 255}> () "
             "B = Constant <value = int8[3,1] {-128, -128, -128}> () z = Constant <value = uint8 {0}> () "
             "w = Constant <value = int8 {127}> () y = MatMulInteger(A, B, z, w) }",
     .no_gradient = true},
    /* a scale at the end, as models that quantize as they run have it */
    {.text = "g (float[4,20] x, int8[20,6] B, int8[6] w, float[6] scale) => (float[4,6] y) "
             "{ q, s, z = DynamicQuantizeLinear(x) p = MatMulInteger(q, B, z, w) f = Cast <to = 1> (p) "
             "t = Mul(s, scale) y = Mul(f, t) }",
     .no_gradient = true},
    {.text = "g (int8[4,3] A, int8[3,2] B, int8[3] z) => (int32[4,2] y) { y = MatMulInteger(A, B, z) }",
     .error = "input 2 'z' has shape [3], expected one number, or one for each row of input 0 'A' of shape [4,3]"},
    {.text = "g (int8[2,4,3] A, int8[3,2] B, int8[4] z) => (int32[2,4,2] y) { y = MatMulInteger(A, B, z) }",
     .error = "expected one number, or one for each row"},
    {.text = "g (int8[4,3] A, int8[3,2] B, int8[3,1] w) => (int32[4,2] y) { y = MatMulInteger(A, B, , w) }",
     .error = "input 3 'w' has shape [3,1], expected one number, or one for each column of input 1 'B'"},
    {.text = "g (int8[4,3] A, int8[2,2] B) => (int32[4,2] y) { y = MatMulInteger(A, B) }",
     .error = "has 2 rows, expected 3"},
    {.text = "g (int8[4,3] A, int8[3,2] B, uint8 z) => (int32[4,2] y) { y = MatMulInteger(A, B, z) }",
     .error = "input 2 'z' is uint8"},
    {.text = "g (int32[4,3] A, int8[3,2] B) => (int32[4,2] y) { y = MatMulInteger(A, B) }", .error = "'A' is int32"},
    {0}};

/* ---- QLinearMatMul ----------------------------------------------------------------------------------------------- */

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

#define HALF_FLOATS (DTYPE_BIT(DTYPE_FLOAT) | DTYPES_FLOAT16S)
#define LINEAR_INPUTS(scale)                                                                                           \
    {                                                                                                                  \
        {.name = "a", .type = 'A', .dtypes = BITS_8}, {.name = "a_scale", .type = 'S', .dtypes = (scale)},             \
            {.name = "a_zero_point", .type = 'A', .dtypes = BITS_8}, {.name = "b", .type = 'B', .dtypes = BITS_8},     \
            {.name = "b_scale", .type = 'S', .dtypes = (scale)},                                                       \
            {.name = "b_zero_point", .type = 'B', .dtypes = BITS_8},                                                   \
            {.name = "y_scale", .type = 'S', .dtypes = (scale)},                                                       \
            {.name = "y_zero_point", .type = 'Y', .dtypes = BITS_8},                                                   \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
static const struct op_param linear_inputs_10[] = LINEAR_INPUTS(DTYPE_BIT(DTYPE_FLOAT));
static const struct op_param linear_inputs[] = LINEAR_INPUTS(HALF_FLOATS);
static const struct op_param linear_outputs[] = {{.name = "y", .type = 'Y', .dtypes = BITS_8}, {0}};
static const struct op_version linear_versions[] = {{.since = 10, .inputs = linear_inputs_10}, {.since = 21}, {0}};
static const struct matmul_operands linear_places = {A, B, A_ZERO, B_ZERO};

static bool linear_infer(struct infer_ctx *c)
{
    return linear_infer_result(c, Y_SCALE, Y_ZERO) && check_parameter(c, A_SCALE, A, true) &&
           check_parameter(c, A_ZERO, A, true) && check_parameter(c, B_SCALE, B, false) &&
           check_parameter(c, B_ZERO, B, false) && matmul_infer_product(c, A, B, DTYPE_UNDEFINED);
}

/* A scale as a float that broadcasts to y, which lacks the axis of rows where a is a row, of columns where b is a
 * column. */
static struct value *scale_over(struct expand_ctx *c, int i, int x)
{
    struct value *const scale = build_cast(c->b, expand_in(c, i), DTYPE_FLOAT);
    const bool is_left = x == A;
    struct shape s;
    if (!align(&scale->shape, &expand_in(c, x)->shape, is_left, &s) || shape_count(&s) == 1)
        return build_reshape(c->b, scale, &SHAPE_SCALAR);
    if (is_left && expand_in(c, B)->shape.rank == 1)
        s.rank--;
    if (!is_left && expand_in(c, A)->shape.rank == 1)
        shape_set(&s, s.rank - 2, shape_size(&s, s.rank - 1)), s.rank--;
    return build_reshape(c->b, scale, &s);
}

static bool linear_expand(struct expand_ctx *c)
{
    struct value *const sum =
        build(c, "MatMulInteger", expand_in(c, A), expand_in(c, B), expand_in(c, A_ZERO), expand_in(c, B_ZERO));
    struct value *const scale = build(c, "Mul", scale_over(c, A_SCALE, A), scale_over(c, B_SCALE, B));
    return expand_out(c, 0, linear_build_result(c, sum, scale, Y_SCALE, Y_ZERO));
}

static double scale_at(const struct eval_ctx *c, int i, int64_t line, int64_t lines, int64_t from, int64_t size)
{
    return eval_f(c, i)[c->in[i]->count == 1 ? 0 : from / size * lines + line];
}

static bool linear_eval(struct eval_ctx *c)
{
    struct eval_tensor *const y = eval_output(c, 0);
    struct matmul_sizes p;
    if (y == NULL || y->count == 0 || !matmul_sizes_of(&c->in[A]->shape, &c->in[B]->shape, &p))
        return true;
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t at = 0; at < y->count; at++, shape_next(&p.y, index)) {
        const int64_t i = index[p.outer], j = index[p.outer + 1];
        const double left = p.k == 0 ? 0 : scale_at(c, A_SCALE, i, p.m, matmul_row(&p, index) - i * p.k, p.m * p.k);
        const double right = p.k == 0 ? 0 : scale_at(c, B_SCALE, j, p.n, matmul_column(&p, index) - j, p.k * p.n);
        y->i[at] = linear_eval_result(c, sum_at(c, &linear_places, &p, index), left, right, Y_SCALE, Y_ZERO);
    }
    return true;
}

#define SCALES(sa, sb, sy)                                                                                             \
    "sa = Constant <value_float" sa "> () sb = Constant <value_float" sb "> () sy = Constant <value_float" sy "> () "
static const struct op_sample linear_samples[] = {
    {.text = "g (uint8[4,3] a, uint8 za, uint8[3,2] b, uint8 zb, uint8 zy) => (uint8[4,2] y) "
             "{ " SCALES(" = 0.03", " = 0.07", " = 0.9") "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }",
     .no_gradient = true},
    {.text = "g (int8[2,4,30] a, int8[1] za, uint8[30,70] b, uint8[1] zb, int8[1] zy) => (int8[2,4,70] y) "
             "{ " SCALES("s = [0.03]", "s = [0.07]", "s = [1.5]") "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }",
     .opset = 10, .no_gradient = true},
    {.text = "g (int8[2,3] a, int8[2] za, uint8[3,2] b, uint8[2] zb, int8 zy) => (int8[2,2] y) "
             "{ " SCALES("s = [0.03, 0.5]", "s = [0.07, 0.01]", " = 0.9")
             "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }",
     .no_gradient = true},
    {.text = "g (int8[5,2,3] a, int8 za, int8[3,4] b, int8[1,4] zb, uint8 zy, float[5,2,1] u, float[1,4] v) => "
             "(uint8[5,2,4] y) { sy = Constant <value_float = 0.9> () y = QLinearMatMul(a, u, za, b, v, zb, sy, zy) }",
     .no_gradient = true},
    /* a row and a column */
    {.text = "g (int8[7] a, int8 za, uint8[7,2] b, uint8[2] zb, int8 zy) => (int8[2] y) "
             "{ " SCALES(" = 0.03", "s = [0.07, 0.01]", " = 0.9") "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }",
     .no_gradient = true},
    {.text = "g (int8[2,7] a, int8[2] za, uint8[7] b, uint8 zb, int8 zy) => (int8[2] y) "
             "{ " SCALES("s = [0.03, 0.5]", " = 0.07", " = 0.9") "y = QLinearMatMul(a, sa, za, b, sb, zb, sy, zy) }",
     .no_gradient = true},
    {.text = "g (uint8[4,3] a, uint8 za, int8[3,2] b, int8 zb, uint8 zy, float16 u, float16 v, float16 w) => "
             "(uint8[4,2] y) { y = QLinearMatMul(a, u, za, b, v, zb, w, zy) }",
     .feed = ",,,,,positive,positive,positive", .no_gradient = true},
    {.text = "g (uint8[3,0] a, uint8 z, uint8[0,2] b) => (uint8[3,2] y) "
             "{ " SCALES(" = 0.03", " = 0.07", " = 0.9") "y = QLinearMatMul(a, sa, z, b, sb, z, sy, z) }",
     .no_gradient = true},
    {.text = "g (int8[2,3] a, int8 z, int8[3,2] b) => (int8[2,2] y) "
             "{ " SCALES("s = [0.1, 0.2, 0.3]", " = 0.07", " = 0.9") "y = QLinearMatMul(a, sa, z, b, sb, z, sy, z) }",
     .error = "input 1 'sa' has shape [3], expected one number, or one for each row of input 0 'a'"},
    {.text = "g (int8[2,3] a, int8 z, int8[3,2] b) => (int8[2,2] y) "
             "{ " SCALES(" = 0.03", " = 0.07", "s = [0.9, 0.8]") "y = QLinearMatMul(a, sa, z, b, sb, z, sy, z) }",
     .error = "input 6 'sy' has 2 elements, expected one"},
    {.text = "g (int8[2,3] a, int8 z, int8[3,2] b, float16 s) => (int8[2,2] y) "
             "{ y = QLinearMatMul(a, s, z, b, s, z, s, z) }",
     .opset = 20, .error = "is float16"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_matmul_integer[] = {
    {.name = "MatMulInteger", .versions = integer_versions, .inputs = integer_inputs, .outputs = integer_outputs,
     .infer = integer_infer, .grad = grad_none, .eval = integer_eval, .lower = integer_lower,
     .samples = integer_samples},
    {.name = "QLinearMatMul", .versions = linear_versions, .inputs = linear_inputs, .outputs = linear_outputs,
     .infer = linear_infer, .grad = grad_none, .expand = linear_expand, .eval = linear_eval,
     .samples = linear_samples},
    {0}};
