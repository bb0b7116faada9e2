/* Tables for spectra: HannWindow HammingWindow BlackmanWindow, whose size is known at compile time,
 * and MelWeightMatrix.
 *   y[n] = a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N), N = size, or size - 1 where the window is not periodic
 * All are computed in double and converted to the output's type by Cast.
 * Spec: ONNX *Window-17, MelWeightMatrix-17. */
#include "ops/op.h"

#include <math.h>

static const struct op_version versions[] = {{.since = 17}, {0}};
static const struct op_param outputs[] = {{.name = "output", .dtypes = DTYPES_NUMERIC, .flags = PARAM_OUTPUT_NOT_DIFF},
                                          {0}};

static const double pi = 3.14159265358979323846;

/* ---- shared pieces ----------------------------------------------------------------------------------------------- */

/* The attribute output_datatype. */
static bool infer_datatype(struct infer_ctx *c, enum dtype *d)
{
    const int64_t number = op_attr_int(c->node, "output_datatype");
    const bool is_type = number >= 1 && number < DTYPE_COUNT;
    *d = is_type ? (enum dtype)number : DTYPE_UNDEFINED;
    if (is_type && (DTYPES_NUMERIC & DTYPE_BIT(number)))
        return true;
    return infer_error(c, "attribute 'output_datatype' is %lld (%s), expected a numeric type", (long long)number,
                       is_type ? dtype_name(*d) : "no type");
}

/* Input i, a number known at compile time. */
static bool infer_number(struct infer_ctx *c, int i, double *x)
{
    const struct tensor *t = infer_known(c, i);
    if (t == NULL)
        return false;
    if (t->count != 1 || t->shape.rank > 1)
        return infer_error(c, "input %d '%s' has %lld elements, expected a scalar", i, infer_in(c, i)->name,
                           (long long)t->count);
    *x = tensor_get_double(t, 0);
    return true;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static const struct op_attr window_attrs[] = {{.name = "output_datatype", .type = ATTR_INT, .int_default = DTYPE_FLOAT},
                                              {.name = "periodic", .type = ATTR_INT, .int_default = 1},
                                              {0}};
static const struct op_param window_inputs[] = {{.name = "size", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF}, {0}};

/* The coefficients are those of the specification's function; Hamming's are 25/46 and 21/46. */
static const double hann[3] = {0.5, 0.5, 0}, hamming[3] = {25.0 / 46, 21.0 / 46, 0}, blackman[3] = {0.42, 0.5, 0.08};

static const double *coefficients(const struct node *n)
{
    return node_is(n, "HannWindow") ? hann : node_is(n, "HammingWindow") ? hamming : blackman;
}

static bool window_infer(struct infer_ctx *c)
{
    enum dtype d;
    double size = 0;
    if (!infer_datatype(c, &d) || !infer_number(c, 0, &size))
        return false;
    if (size < 0)
        return infer_error(c, "input 0 '%s' is %.0f, expected a size: 0 or more", infer_in(c, 0)->name, size);
    return infer_out(c, 0, d, &SHAPE(tensor_get_int(infer_known(c, 0), 0)));
}

/* The angle from one element to the next. A symmetric window of one element is its middle, as in PyTorch and NumPy. */
static double step_of(const struct node *n)
{
    const int64_t size = node_output(n, 0)->shape.dim[0];
    if (op_attr_int(n, "periodic") != 0)
        return size > 0 ? 2 * pi / (double)size : 0;
    return size > 1 ? 2 * pi / (double)(size - 1) : 0;
}

static double first_angle(const struct node *n)
{
    return op_attr_int(n, "periodic") == 0 && node_output(n, 0)->shape.dim[0] == 1 ? pi : 0;
}

static struct value *number(struct expand_ctx *c, double x)
{
    return build_scalar(c->b, DTYPE_DOUBLE, x);
}

static bool window_expand(struct expand_ctx *c)
{
    const struct value *y = node_output(c->node, 0);
    const double *a = coefficients(c->node), first = first_angle(c->node);
    struct value *n = build(c, "Range", number(c, 0), number(c, (double)y->shape.dim[0]), number(c, 1));
    struct value *angle = build(c, "Add", build(c, "Mul", n, number(c, step_of(c->node))), number(c, first));
    struct value *sum = build(c, "Sub", number(c, a[0]), build(c, "Mul", number(c, a[1]), build(c, "Cos", angle)));
    if (a[2] != 0) {
        struct value *twice = build(c, "Cos", build(c, "Mul", angle, number(c, 2)));
        sum = build(c, "Add", sum, build(c, "Mul", number(c, a[2]), twice));
    }
    return expand_out(c, 0, build_cast(c->b, sum, y->dtype));
}

static bool window_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    const double *a = coefficients(c->node);
    for (int64_t k = 0; y != NULL && k < y->count; k++) {
        const double angle = first_angle(c->node) + (double)k * step_of(c->node);
        const double x = a[0] - a[1] * cos(angle) + a[2] * cos(2 * angle);
        if (y->f != NULL)
            y->f[k] = eval_round(c, x);
        else
            y->i[k] = dtype_from_double(y->dtype, x);
    }
    return true;
}

#define SIZE(number) "n = Constant <value_int = " number "> () "
#define WINDOW_SAMPLES(op)                                                                                             \
    {.text = "g () => (float[10] y) { " SIZE("10") "y = " op "(n) }", .no_gradient = true},                            \
    {.text = "g () => (double[7] y) { " SIZE("7") "y = " op " <periodic = 0, output_datatype = 11> (n) }",             \
     .no_gradient = true},                                                                                             \
    {.text = "g (float[1] x) => (float[70000] y) { " SIZE("70000") "w = " op "(n) y = Mul(x, w) }"},                   \
    {.text = "g () => (float16[5] y) { " SIZE("5") "y = " op " <output_datatype = 10> (n) }", .no_gradient = true},    \
    {.text = "g () => (uint8[4] y) { " SIZE("4") "y = " op " <output_datatype = 2> (n) }", .no_gradient = true},       \
    {.text = "g () => (float[1] y) { " SIZE("1") "y = " op " <periodic = 0> (n) }", .no_gradient = true},              \
    {.text = "g () => (float[0] y) { " SIZE("0") "y = " op "(n) }", .no_gradient = true},                              \
    {.text = "g () => (float[1] y) { " SIZE("-1") "y = " op "(n) }", .error = "expected a size"},                      \
    {.text = "g () => (float[1] y) { " SIZE("1") "y = " op " <output_datatype = 9> (n) }",                             \
     .error = "expected a numeric type"},                                                                              \
    {.text = "g (int64 n) => (float[1] y) { y = " op "(n) }", .error = "must be known at compile time"}

static const struct op_sample hann_samples[] = {WINDOW_SAMPLES("HannWindow"), {0}};
static const struct op_sample hamming_samples[] = {WINDOW_SAMPLES("HammingWindow"), {0}};
static const struct op_sample blackman_samples[] = {WINDOW_SAMPLES("BlackmanWindow"), {0}};

/* ---- MelWeightMatrix: [dft_length / 2 + 1, num_mel_bins] --------------------------------------------------------- */

#define NUMBER(label) {.name = (label), .type = 'N', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF}
#define EDGE(label) {.name = (label), .type = 'E', .dtypes = DTYPES_FLOATS, .flags = PARAM_NOT_DIFF}
static const struct op_attr mel_attrs[] = {{.name = "output_datatype", .type = ATTR_INT, .int_default = DTYPE_FLOAT},
                                           {0}};
static const struct op_param mel_inputs[] = {
    NUMBER("num_mel_bins"), NUMBER("dft_length"), NUMBER("sample_rate"), EDGE("lower_edge_hertz"),
    EDGE("upper_edge_hertz"), {0}};

enum { MEL_MOST = 1 << 22 /* elements of the table */ };

/* Triangle k rises from row at(k) of the spectrum to at(k + 1), where it is 1, and falls to at(k + 2). */
struct mel {
    double bins, length, rate, low, high;
};

static bool mel_infer_numbers(struct infer_ctx *c, struct mel *m)
{
    double *const to[] = {&m->bins, &m->length, &m->rate, &m->low, &m->high};
    for (int i = 0; i < 5; i++)
        if (!infer_number(c, i, to[i]))
            return false;
    return true;
}

static struct mel mel_of(const struct node *n)
{
    double x[5];
    for (int i = 0; i < 5; i++)
        x[i] = tensor_get_double(value_known(n->inputs.data[i]), 0);
    return (struct mel){x[0], x[1], x[2], x[3], x[4]};
}

/* With the contract's functions: the rows are whole numbers that must not depend on a C library. Corners are
 * spaced evenly on the mel scale, 2595 log10(1 + f / 700), by a (bins + 2)-th of the way, as in the
 * specification's reference. */
static double mel_row(const struct mel *m, double k)
{
    const struct eval_ctx same = {.arithmetic = ARITHMETIC_SAME};
    const double scale = 2595 / 2.302585092994045684; /* ln 10 */
    const double low = scale * eval_math(&same, DTYPE_DOUBLE, MATH_LOG, 1 + m->low / 700);
    const double high = scale * eval_math(&same, DTYPE_DOUBLE, MATH_LOG, 1 + m->high / 700);
    const double mel = k * ((high - low) / (m->bins + 2)) + low;
    const double hertz = 700 * (eval_math(&same, DTYPE_DOUBLE, MATH_EXP, mel / scale) - 1);
    return floor((m->length + 1) * hertz / m->rate);
}

static bool mel_infer(struct infer_ctx *c)
{
    enum dtype d;
    struct mel m;
    if (!infer_datatype(c, &d) || !mel_infer_numbers(c, &m))
        return false;
    if (m.bins < 1 || m.length < 1 || m.rate < 1)
        return infer_error(c, "%.0f bins, %.0f samples of a spectrum and a rate of %.0f: expected 1 or more of each",
                           m.bins, m.length, m.rate);
    if (!(m.low >= 0 && m.high >= m.low && m.high < 1e30))
        return infer_error(c, "edges of %g and %g hertz, expected 0 or more, the lower one first", m.low, m.high);
    const double rows = floor(m.length / 2) + 1;
    if (rows * m.bins > MEL_MOST)
        return infer_unsupported(c, "a table of %.0f x %.0f elements is larger than %d, which is not supported", rows,
                                 m.bins, MEL_MOST);
    if (mel_row(&m, m.bins) >= rows || mel_row(&m, m.bins + 1) > rows)
        return infer_error(c, "frequencies up to %g hertz are not in a spectrum of %.0f samples at a rate of %.0f",
                           m.high, m.length, m.rate);
    return infer_out(c, 0, d, &SHAPE((int64_t)rows, (int64_t)m.bins));
}

/* Element (row, bin). */
static double mel_weight(const struct mel *m, double row, double bin)
{
    const double low = mel_row(m, bin), middle = mel_row(m, bin + 1), high = mel_row(m, bin + 2);
    if (row == middle)
        return 1;
    if (row >= low && row < middle)
        return (row - low) / (middle - low);
    return row > middle && row < high ? (high - row) / (high - middle) : 0;
}

static bool mel_expand(struct expand_ctx *c)
{
    const struct value *y = node_output(c->node, 0);
    const struct mel m = mel_of(c->node);
    struct tensor *t = tensor_new(c->b->graph->arena, y->dtype, &y->shape);
    for (int64_t k = 0; k < t->count; k++)
        tensor_set_double(t, k, mel_weight(&m, (double)(k / y->shape.dim[1]), (double)(k % y->shape.dim[1])));
    return expand_out(c, 0, build_constant(c->b, t));
}

/* By triangles. */
static bool mel_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    const struct mel m = mel_of(c->node);
    for (int64_t bin = 0; y != NULL && bin < y->shape.dim[1]; bin++) {
        const int64_t corner[3] = {(int64_t)mel_row(&m, (double)bin), (int64_t)mel_row(&m, (double)bin + 1),
                                   (int64_t)mel_row(&m, (double)bin + 2)};
        for (int64_t row = corner[0]; row <= corner[2] && row < y->shape.dim[0]; row++) {
            const bool rises = row <= corner[1];
            const int64_t from = rises ? corner[0] : corner[2], height = corner[1] - from;
            const double x = row == corner[1] ? 1 : (double)(row - from) / (double)height;
            if (y->f != NULL)
                y->f[row * y->shape.dim[1] + bin] = eval_round(c, x);
            else
                y->i[row * y->shape.dim[1] + bin] = dtype_from_double(y->dtype, x);
        }
    }
    return true;
}

#define MEL(bins, length, rate, low, high)                                                                             \
    "b = Constant <value_int = " bins "> () l = Constant <value_int = " length "> () "                                 \
    "r = Constant <value_int = " rate "> () "                                                                          \
    "e = Constant <value_float = " low "> () f = Constant <value_float = " high "> () "
static const struct op_sample mel_samples[] = {
    {.text = "g () => (float[9,8] y) { " MEL("8", "16", "8192", "0.0", "4096.0") "y = MelWeightMatrix(b, l, r, e, f) }",
     .no_gradient = true},
    {.text = "g (double[2,129] x) => (double[2,20] y) { " MEL("20", "256", "16000", "125.5", "7500.0")
             "w = MelWeightMatrix <output_datatype = 11> (b, l, r, e, f) y = MatMul(x, w) }"},
    {.text = "g () => (int32[3,2] y) "
             "{ " MEL("2", "5", "100", "0.0", "50.0") "y = MelWeightMatrix <output_datatype = 6> (b, l, r, e, f) }",
     .no_gradient = true},
    {.text = "g () => (float[9,0] y) { " MEL("0", "16", "8192", "0.0", "4096.0") "y = MelWeightMatrix(b, l, r, e, f) }",
     .error = "expected 1 or more of each"},
    {.text = "g () => (float[9,8] y) "
             "{ " MEL("8", "16", "8192", "-700.0", "4096.0") "y = MelWeightMatrix(b, l, r, e, f) }",
     .error = "expected 0 or more"},
    {.text = "g () => (float[9,8] y) "
             "{ " MEL("8", "16", "8192", "0.0", "40960.0") "y = MelWeightMatrix(b, l, r, e, f) }",
     .error = "are not in a spectrum"},
    {.text = "g () => (float[9,8] y) "
             "{ " MEL("9000000000", "16000", "8192", "0.0", "4096.0") "y = MelWeightMatrix(b, l, r, e, f) }",
     .error = "which is not supported"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

#define WINDOW(label, sample)                                                                                          \
    {.name = (label), .versions = versions, .inputs = window_inputs, .outputs = outputs, .attrs = window_attrs,        \
     .infer = window_infer, .grad = grad_none, .expand = window_expand, .eval = window_eval, .samples = (sample)}

const struct op_def op_defs_signal_windows[] = {
    WINDOW("HannWindow", hann_samples),
    WINDOW("HammingWindow", hamming_samples),
    WINDOW("BlackmanWindow", blackman_samples),
    {.name = "MelWeightMatrix", .versions = versions, .inputs = mel_inputs, .outputs = outputs, .attrs = mel_attrs,
     .infer = mel_infer, .grad = grad_none, .expand = mel_expand, .eval = mel_eval, .samples = mel_samples},
    {0}};
