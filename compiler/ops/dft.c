/* DFT: the discrete Fourier transform along one axis. The last axis holds a number: its real part, or both parts.
 *   forward y[k] = sum over j of x[j] e^(-2 pi i j k / N), inverse y[k] = 1/N sum over j of x[j] e^(2 pi i j k / N)
 * N is dft_length, by default the axis' size; x is cut or filled up with zeros to N.
 * onesided, forward: x is real, y is the first N/2 + 1 numbers.
 * onesided, inverse: x is the first N/2 + 1 numbers, y is real, N is by default 2 (size - 1). Each number stands for
 * two, but those of j = 0 and j = N/2 for one, and their imaginary parts do not count.
 * It is one product of x, both parts side by side, with a constant matrix, so not a fast transform. The matrix is
 * computed in double and rounded once; sums have the order of MatMul's. Types of 16 bits are computed in float. (ONNX
 * calls x non-differentiable; as in PyTorch it has its gradient here.)
 * Spec: ONNX DFT-17 (axis is an attribute), -20 (an input). */
#include "base/checked.h"
#include "ops/op.h"

#include <math.h>

enum { DFT_MOST = 1 << 23 /* elements of the matrix */ };
enum { LENGTH = 1, AXIS = 2 };

static const double pi = 3.14159265358979323846;

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_attr attrs_17[] = {{.name = "axis", .type = ATTR_INT, .int_default = 1},
                                          {.name = "inverse", .type = ATTR_INT, .int_default = 0},
                                          {.name = "onesided", .type = ATTR_INT, .int_default = 0},
                                          {0}};
static const struct op_attr attrs[] = {{.name = "inverse", .type = ATTR_INT, .int_default = 0},
                                       {.name = "onesided", .type = ATTR_INT, .int_default = 0},
                                       {0}};

#define INPUT {.name = "input", .type = 'T', .dtypes = DTYPES_FLOATS}
#define LENGTH_INPUT {.name = "dft_length", .dtypes = DTYPES_INDEX, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF}
static const struct op_param inputs_17[] = {INPUT, LENGTH_INPUT, {0}};
static const struct op_param inputs[] = {
    INPUT,
    LENGTH_INPUT,
    {.name = "axis", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool upgrade_17(struct upgrade_ctx *c)
{
    if (node_attr(c->node, "axis") == NULL)
        node_set_attr(c->node, attr_int("axis", 1));
    return upgrade_attr_to_input(c, "axis", AXIS);
}

static const struct op_version versions[] = {
    {.since = 17, .attrs = attrs_17, .inputs = inputs_17, .upgrade = upgrade_17}, {.since = 20}, {0}};

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

struct dft {
    int axis;
    int64_t size, length, used; /* of the axis; N; how many elements of the axis are read */
    int64_t parts, out_parts;   /* of a number: 1 or 2 */
    int64_t out_size, out_per;  /* as a size (tensor/size.h) */
    bool inverse, is_half; /* is_half: the inverse of a one-sided transform */
};

/* Of a node whose axis and length are known and whose axis is one of x. */
static struct dft dft_of(const struct node *n)
{
    const struct shape *x = &node_input(n, 0)->shape;
    struct value *const axis = node_input(n, AXIS), *const length = node_input(n, LENGTH);
    const bool inverse = op_attr_int(n, "inverse") != 0, onesided = op_attr_int(n, "onesided") != 0;
    struct dft f = {.inverse = inverse, .is_half = inverse && onesided, .parts = x->dim[x->rank - 1]};
    const int64_t at = axis != NULL ? tensor_get_int(value_known(axis), 0) : -2;
    f.axis = (int)(at < 0 ? at + x->rank : at);
    f.size = x->dim[f.axis];
    const int64_t by_default = f.is_half ? 2 * (f.size - 1) : f.size;
    f.length = length != NULL ? tensor_get_int(value_known(length), 0) : by_default;
    const int64_t half = f.length / 2 + 1, read = f.is_half ? half : f.length;
    f.used = f.size < read ? f.size : read;
    f.out_parts = f.is_half ? 1 : 2;
    f.out_size = onesided && !inverse ? half : f.length;
    const struct size size = shape_size(x, f.axis), last = size_sum(size, size_constant(-1));
    const struct size out = length != NULL ? tensor_get_size(value_known(length), 0)
                            : f.is_half    ? size_product(last, size_constant(2))
                                           : size;
    f.out_per = (onesided && !inverse ? size_quotient(out, 2) : out).per;
    return f;
}

/* ---- inference --------------------------------------------------------------------------------------------------- */

static bool infer_parts(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    const bool inverse = op_attr_int(c->node, "inverse") != 0, onesided = op_attr_int(c->node, "onesided") != 0;
    const char *name = infer_in(c, 0)->name;
    const long long parts = x->rank == 0 ? 0 : (long long)x->dim[x->rank - 1];
    if (x->rank < 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected 2 or more", name, x->rank);
    if (parts != 1 && parts != 2)
        return infer_error(c, "input 0 '%s' has %lld elements along its last axis, expected 1 (real) or 2 (complex)",
                           name, parts);
    if (onesided && inverse && parts == 1)
        return infer_error(c, "input 0 '%s' is real, expected a complex one with 'inverse' and 'onesided'", name);
    if (onesided && !inverse && parts == 2)
        return infer_error(c, "input 0 '%s' is complex, expected a real one with 'onesided'", name);
    return true;
}

static bool dft_infer(struct infer_ctx *c)
{
    int64_t wish = -2, length = 0;
    int axis;
    if (!infer_parts(c) || !infer_known_int(c, AXIS, &wish) || !infer_known_int(c, LENGTH, &length) ||
        !infer_axis(c, wish, infer_rank(c, 0), &axis))
        return false;
    if (axis == infer_rank(c, 0) - 1)
        return infer_error(c, "axis %lld is the last one, which holds the parts of a number", (long long)wish);
    const struct dft f = dft_of(c->node);
    if (f.length < 1)
        return infer_error(c, "dft_length is %lld, expected 1 or more", (long long)f.length);
    int64_t rows, columns, elements;
    if (!checked_mul(f.used > 0 ? f.used : 1, f.parts, &rows) || !checked_mul(f.out_size, f.out_parts, &columns) ||
        !checked_mul(rows, columns, &elements) || elements > DFT_MOST)
        return infer_unsupported(c, "%lld numbers to %lld numbers need a matrix of more than %d elements",
                                 (long long)f.used, (long long)f.out_size, DFT_MOST);
    struct shape y = *infer_shape(c, 0);
    shape_set(&y, axis, (struct size){f.out_size, f.out_per});
    shape_set(&y, y.rank - 1, size_constant(f.out_parts));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- expansion --------------------------------------------------------------------------------------------------- */

/* The cosine of p/q of a turn, by the contract's functions: the matrix does not depend on a C library. The angle is
 * brought below an eighth of a turn in integers, so zeros, ones and symmetries are exact. */
static double cosine_of_turn(int64_t p, int64_t q)
{
    const struct eval_ctx same = {.arithmetic = ARITHMETIC_SAME};
    p = (p % q + q) % q;
    p = 2 * p > q ? q - p : p;
    const double sign = 4 * p > q ? -1 : 1;
    const int64_t eighths = 4 * p > q ? 4 * (q - 2 * p) : 8 * p; /* up to 2 q */
    if (eighths <= q)
        return sign * eval_math(&same, DTYPE_DOUBLE, MATH_COS, pi / 4 * ((double)eighths / (double)q));
    return sign * eval_math(&same, DTYPE_DOUBLE, MATH_SIN, pi / 4 * ((double)(2 * q - eighths) / (double)q));
}

/* [used * parts, out_size * out_parts]: what part c of x[j] adds to part d of y[k]. */
static struct value *build_matrix(struct expand_ctx *c, const struct dft *f, struct size rows, enum dtype dtype)
{
    const int64_t n = f->length, columns = f->out_size * f->out_parts;
    const struct size width = size_product((struct size){f->out_size, f->out_per}, size_constant(f->out_parts));
    struct arena *const a = c->b->graph->arena;
    struct tensor *const t = tensor_new(a, dtype, &SHAPE_OF(rows, width));
    struct tensor *const waves = tensor_new(a, DTYPE_DOUBLE, &SHAPE(2, n)); /* cosines, sines */
    for (int64_t m = 0; m < n; m++) {
        tensor_set_double(waves, m, cosine_of_turn(m, n));
        tensor_set_double(waves, n + m, (f->inverse ? -1 : 1) * cosine_of_turn(4 * m - n, 4 * n));
    }
    for (int64_t j = 0; j < f->used; j++) {
        const double weight = (f->is_half && 2 * j % n != 0 ? 2.0 : 1.0) / (f->inverse ? (double)n : 1.0);
        for (int64_t k = 0; k < f->out_size; k++) {
            const int64_t m = j * k % n;
            const double cosine = weight * tensor_get_double(waves, m), sine = weight * tensor_get_double(waves, n + m);
            for (int64_t p = 0; p < f->parts; p++)
                for (int64_t q = 0; q < f->out_parts; q++)
                    tensor_set_double(t, (j * f->parts + p) * columns + k * f->out_parts + q,
                                      p == q   ? cosine
                                      : p == 0 ? -sine
                                               : sine);
        }
    }
    return build_constant(c->b, t);
}

/* The transform's axis and the one before the last change places; the same again undoes it. */
static struct value *build_swap(struct expand_ctx *c, struct value *x, int axis)
{
    int perm[SHAPE_MAX_RANK];
    const int rank = x->shape.rank;
    for (int d = 0; d < rank; d++)
        perm[d] = d;
    perm[axis] = rank - 2;
    perm[rank - 2] = axis;
    return axis == rank - 2 ? x : build_transpose(c->b, x, perm);
}

static bool dft_expand(struct expand_ctx *c)
{
    const struct dft f = dft_of(c->node);
    struct value *x = expand_in(c, 0);
    if (f.used < f.size)
        x = build(c, "Slice", x, build_ints(c->b, &(int64_t){0}, 1), build_ints(c->b, &f.used, 1),
                  build_ints(c->b, &(int64_t){f.axis}, 1));
    x = build_swap(c, x, f.axis);
    struct shape row = x->shape, y = x->shape;
    row.rank--;
    const struct size rows = size_product(shape_size(&x->shape, x->shape.rank - 2), size_constant(f.parts));
    shape_set(&row, row.rank - 1, rows);
    shape_set(&y, y.rank - 2, shape_size(&node_output(c->node, 0)->shape, f.axis));
    shape_set(&y, y.rank - 1, size_constant(f.out_parts));
    struct value *product = build(c, "MatMul", build_reshape(c->b, x, &row), build_matrix(c, &f, rows, x->dtype));
    return expand_out(c, 0, build_swap(c, build_reshape(c->b, product, &y), f.axis));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Part q of y[k], from x[0], x[step], ..: the formula as it stands. */
static double term_sum(const struct dft *f, const double *x, int64_t step, int64_t k, int64_t q)
{
    double sum = 0;
    for (int64_t j = 0; j < f->used; j++) {
        const double angle = (f->inverse ? 2 : -2) * pi * (double)(j * k % f->length) / (double)f->length;
        const bool is_edge = 2 * j == f->length || j == 0;
        const double re = x[j * step], im = f->parts == 1 || (f->is_half && is_edge) ? 0 : x[j * step + 1];
        const double term = q == 0 ? re * cos(angle) - im * sin(angle) : re * sin(angle) + im * cos(angle);
        sum += f->is_half && !is_edge ? 2 * term : term;
    }
    return f->inverse ? sum / (double)f->length : sum;
}

static bool dft_eval(struct eval_ctx *c)
{
    const struct dft f = dft_of(c->node);
    const struct eval_tensor *y = eval_output(c, 0);
    int64_t stride[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0};
    shape_strides(&c->in[0]->shape, stride);
    for (int64_t at = 0; at < y->count; at++, shape_next(&y->shape, index)) {
        int64_t from = 0;
        for (int d = 0; d < y->shape.rank - 1; d++)
            from += d == f.axis ? 0 : index[d] * stride[d];
        y->f[at] = term_sum(&f, eval_f(c, 0) + from, stride[f.axis], index[f.axis], index[y->shape.rank - 1]);
    }
    return true;
}

#define NUMBER(name, number) name " = Constant <value_int = " number "> () "
static const struct op_sample samples[] = {
    {.text = "g (float[2,7,1] x) => (float[2,7,2] y) { y = DFT(x) }"},
    {.text = "g (double[2,5,3,2] x) => (double[2,5,3,2] y) { " NUMBER("a", "1") "y = DFT(x, , a) }"},
    {.text = "g (double[4,3,2] x) => (double[4,3,2] y) { " NUMBER("a", "-3") "y = DFT <inverse = 1> (x, , a) }"},
    {.text = "g (float[8,1] x) => (float[8,2] y) { y = DFT <inverse = 1> (x) }"},
    /* one-sided, of even and odd lengths, and back */
    {.text = "g (float[3,8,1] x) => (float[3,5,2] y) { y = DFT <onesided = 1> (x) }"},
    {.text = "g (double[3,7,1] x) => (double[3,4,2] y) { y = DFT <onesided = 1> (x) }"},
    {.text = "g (float[3,5,2] x) => (float[3,8,1] y) { y = DFT <onesided = 1, inverse = 1> (x) }"},
    {.text =
         "g (double[3,4,2] x) => (double[3,7,1] y) { " NUMBER("n", "7") "y = DFT <onesided = 1, inverse = 1> (x, n) }"},
    {.text = "g (double[1,9,1] x) => (double[1,9,1] y) { t = DFT <onesided = 1> (x) " NUMBER("n", "9")
             "y = DFT <onesided = 1, inverse = 1> (t, n) }"},
    /* cut, and filled up with zeros */
    {.text = "g (float[2,9,2] x) => (float[2,6,2] y) { n = Constant <value = int32 {6}> () y = DFT(x, n) }"},
    {.text = "g (float[5,3,2] x) => (float[8,3,2] y) { " NUMBER("n", "8") NUMBER("a", "0") "y = DFT(x, n, a) }"},
    {.text = "g (float[5,2] x) => (float[4,1] y) { " NUMBER("n", "4") "y = DFT <onesided = 1, inverse = 1> (x, n) }"},
    {.text = "g (float[2,1] x) => (float[4,2] y) { " NUMBER("n", "6") "y = DFT <onesided = 1> (x, n) }"},
    {.text = "g (float[1,2] x) => (float[1,2] y) { y = DFT(x) }"},
    {.text = "g (float[0,4,1] x) => (float[0,4,2] y) { y = DFT(x) }"},
    {.text = "g (float[3,0,1] x) => (float[3,4,2] y) { " NUMBER("n", "4") "y = DFT(x, n) }"},
    {.text = "g (float16[2,6,1] x) => (float16[2,6,2] y) { y = DFT(x) }"},
    {.text = "g (float[2,6,3,1] x) => (float[2,6,3,2] y) { y = DFT(x) }", .opset = 17},
    {.text = "g (float[2,6,3,1] x) => (float[2,6,4,2] y) { " NUMBER("n", "4") "y = DFT <axis = -2> (x, n) }",
     .opset = 19},
    {.text = "g (float[6] x) => (float[6] y) { y = DFT(x) }", .error = "input 0 'x' has rank 1, expected 2 or more"},
    {.text = "g (float[6,3] x) => (float[6,2] y) { y = DFT(x) }",
     .error = "input 0 'x' has 3 elements along its last axis, expected 1 (real) or 2 (complex)"},
    {.text = "g (float[6,2] x) => (float[4,2] y) { y = DFT <onesided = 1> (x) }", .error = "'x' is complex"},
    {.text = "g (float[6,1] x) => (float[10,1] y) { y = DFT <onesided = 1, inverse = 1> (x) }", .error = "'x' is real"},
    {.text = "g (float[6,1] x) => (float[6,2] y) { " NUMBER("a", "1") "y = DFT(x, , a) }",
     .error = "axis 1 is the last one"},
    {.text = "g (float[6,1] x) => (float[6,2] y) { y = DFT(x) }", .opset = 17, .error = "axis 1 is the last one"},
    {.text = "g (float[6,1] x) => (float[6,2] y) { " NUMBER("a", "2") "y = DFT(x, , a) }", .error = "axis"},
    {.text = "g (float[6,1] x, int64 a) => (float[6,2] y) { y = DFT(x, , a) }",
     .error = "must be known at compile time"},
    {.text = "g (float[6,1] x, int64 n) => (float[6,2] y) { y = DFT(x, n) }", .error = "must be known at compile time"},
    {.text = "g (float[6,1] x) => (float[6,2] y) { n = Constant <value_ints = [6, 6]> () y = DFT(x, n) }",
     .error = "input 1 'n' (dft_length) has 2 elements, expected a scalar"},
    {.text = "g (float[6,1] x) => (float[6,2] y) { " NUMBER("n", "0") "y = DFT(x, n) }",
     .error = "dft_length is 0, expected 1 or more"},
    {.text = "g (float[1,2] x) => (float[0,1] y) { y = DFT <onesided = 1, inverse = 1> (x) }",
     .error = "dft_length is 0"},
    {.text = "g (float[5000,1] x) => (float[5000,2] y) { y = DFT(x) }",
     .error = "5000 numbers to 5000 numbers need a matrix of more than 8388608 elements"},
    {.text = "g (float[0,1] x) => (float[5000000,2] y) { " NUMBER("n", "5000000") "y = DFT <axis = 0> (x, n) }",
     .opset = 17,
     .error = "0 numbers to 5000000 numbers need a matrix of more than 8388608 elements"},
    {0}};

/* The gradient is that of MatMul. */
const struct op_def op_defs_dft[] = {
    {.name = "DFT", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs, .infer = dft_infer,
     .expand = dft_expand, .eval = dft_eval, .in_float = true, .samples = samples},
    {0}};
