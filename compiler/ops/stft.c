/* STFT: the discrete Fourier transform of pieces (frames) of a signal [batch, size, parts]; parts is 1 (real) or 2
 * (complex), and a signal [batch, size] is real.
 *   y[b,f,k] = sum over t of window[t] x[b, f * frame_step + t] e^(-2 pi i t k / frame_length)
 * in [batch, frames, numbers, 2], where frames = (size - frame_length) / frame_step + 1: only whole ones. numbers is
 * frame_length, with `onesided` (the default), for real signals, frame_length / 2 + 1. frame_length is by default the
 * window's size.
 * Frames are a view of the signal (stepc.Windows), multiplied by the window, then DFT. Types of 16 bits are computed in
 * float. (ONNX calls signal and window non-differentiable; as in PyTorch both have their gradient here.)
 * Spec: ONNX STFT-17. */
#include "ops/op.h"

#include <math.h>

enum { SIGNAL, STEP, WINDOW, LENGTH };

static const double pi = 3.14159265358979323846;

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_version versions[] = {{.since = 17}, {0}};
static const struct op_attr attrs[] = {{.name = "onesided", .type = ATTR_INT, .int_default = 1}, {0}};
static const struct op_param inputs[] = {
    {.name = "signal", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "frame_step", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
    {.name = "window", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},
    {.name = "frame_length", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

struct frames {
    int64_t batch, size, parts; /* of the signal */
    int64_t step, length, count, numbers;
};

/* Of a node whose step and length are known. */
static struct frames frames_of(const struct node *n)
{
    const struct shape *x = &node_input(n, SIGNAL)->shape;
    struct value *const window = node_input(n, WINDOW), *const length = node_input(n, LENGTH);
    struct frames f = {.batch = x->dim[0], .size = x->dim[1], .parts = x->rank == 3 ? x->dim[2] : 1};
    f.step = tensor_get_int(value_known(node_input(n, STEP)), 0);
    f.length = length != NULL ? tensor_get_int(value_known(length), 0) : window->shape.dim[0];
    f.count = (f.size - f.length) / f.step + 1;
    f.numbers = op_attr_int(n, "onesided") != 0 ? f.length / 2 + 1 : f.length;
    return f;
}

/* ---- inference --------------------------------------------------------------------------------------------------- */

static bool infer_signal(struct infer_ctx *c)
{
    const struct value *x = infer_in(c, SIGNAL);
    if (x->shape.rank != 2 && x->shape.rank != 3)
        return infer_error(c, "input 0 '%s' has rank %d, expected 3 (or 2, for a real signal)", x->name, x->shape.rank);
    const long long parts = x->shape.rank == 3 ? (long long)x->shape.dim[2] : 1;
    if (parts != 1 && parts != 2)
        return infer_error(c, "input 0 '%s' has %lld elements along its last axis, expected 1 (real) or 2 (complex)",
                           x->name, parts);
    if (parts == 2 && op_attr_int(c->node, "onesided") != 0)
        return infer_error(c, "input 0 '%s' is complex, expected a real one with 'onesided', which is the default",
                           x->name);
    return true;
}

static bool infer_lengths(struct infer_ctx *c)
{
    const struct value *window = infer_in(c, WINDOW);
    const int64_t size = infer_shape(c, SIGNAL)->dim[1];
    int64_t step = 0;
    if (window == NULL && infer_in(c, LENGTH) == NULL)
        return infer_error(c, "input 2 (window) and input 3 (frame_length) are both omitted, expected one of them");
    if (window != NULL && window->shape.rank != 1)
        return infer_error(c, "input 2 '%s' (window) has rank %d, expected 1", window->name, window->shape.rank);
    int64_t length = window != NULL ? window->shape.dim[0] : 0;
    if (!infer_known_int(c, STEP, &step) || !infer_known_int(c, LENGTH, &length))
        return false;
    if (step < 1)
        return infer_error(c, "frame_step is %lld, expected 1 or more", (long long)step);
    if (window != NULL && window->shape.dim[0] != length)
        return infer_error(c, "input 2 '%s' (window) has %lld elements, expected frame_length, which is %lld",
                           window->name, (long long)window->shape.dim[0], (long long)length);
    if (length < 1 || length > size)
        return infer_error(c, "frame_length is %lld, expected 1 to %lld, the signal's size", (long long)length,
                           (long long)size);
    return true;
}

static bool stft_infer(struct infer_ctx *c)
{
    if (!infer_signal(c) || !infer_lengths(c))
        return false;
    const struct frames f = frames_of(c->node);
    const struct size batch = shape_size(infer_shape(c, SIGNAL), 0), count = size_constant(f.count),
                      numbers = size_constant(f.numbers);
    return infer_out(c, 0, DTYPE_UNDEFINED, &SHAPE_OF(batch, count, numbers, size_constant(2)));
}

/* ---- expansion --------------------------------------------------------------------------------------------------- */

/* [batch, frames, length, parts] */
static struct value *build_frames(struct expand_ctx *c, const struct frames *f)
{
    const struct shape *const given = &expand_in(c, SIGNAL)->shape;
    const struct shape apart = SHAPE_OF(shape_size(given, 0), shape_size(given, 1), size_constant(f->parts));
    struct value *const signal = build_reshape(c->b, expand_in(c, SIGNAL), &apart);
    struct value *const planes = build_transpose(c->b, signal, (int[]){0, 2, 1});
    struct value *const windows =
        build_with(c, "stepc.Windows",
                   ATTRS(attr_ints("kernel_shape", &f->length, 1), attr_ints("strides", &f->step, 1)), planes);
    return build_transpose(c->b, windows, (int[]){0, 3, 2, 1});
}

static bool stft_expand(struct expand_ctx *c)
{
    const struct frames f = frames_of(c->node);
    struct value *x = build_frames(c, &f), *const window = expand_in(c, WINDOW);
    if (window != NULL)
        x = build(c, "Mul", x, build_reshape(c->b, window, &SHAPE(f.length, 1)));
    return expand_out(c, 0,
                      build_with(c, "DFT", ATTRS(attr_int("onesided", op_attr_int(c->node, "onesided"))), x, NULL,
                                 build_int(c->b, 2)));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Part q of number k of the frame that begins at x: the formula as it stands. */
static double term_sum(const struct eval_ctx *c, const struct frames *f, const double *x, int64_t k, int64_t q)
{
    double sum = 0;
    for (int64_t t = 0; t < f->length; t++) {
        const double weight = eval_has(c, WINDOW) ? eval_f(c, WINDOW)[t] : 1;
        const double angle = -2 * pi * (double)(t * k % f->length) / (double)f->length;
        const double re = x[t * f->parts], im = f->parts == 2 ? x[t * f->parts + 1] : 0;
        sum += weight * (q == 0 ? re * cos(angle) - im * sin(angle) : re * sin(angle) + im * cos(angle));
    }
    return sum;
}

static bool stft_eval(struct eval_ctx *c)
{
    const struct frames f = frames_of(c->node);
    struct eval_tensor *const y = eval_output(c, 0);
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t at = 0; at < y->count; at++, shape_next(&y->shape, index)) {
        const int64_t from = (index[0] * f.size + index[1] * f.step) * f.parts;
        y->f[at] = term_sum(c, &f, eval_f(c, SIGNAL) + from, index[2], index[3]);
    }
    return true;
}

#define NUMBER(name, number) name " = Constant <value_int = " number "> () "
static const struct op_sample samples[] = {
    {.text = "g (float[2,11,1] x, float[4] w) => (float[2,4,3,2] y) { " NUMBER("s", "2") "y = STFT(x, s, w) }"},
    {.text = "g (double[1,16,1] x) => (double[1,3,5,2] y) "
             "{ " NUMBER("s", "4") NUMBER("n", "8") "y = STFT(x, s, , n) }"},
    {.text = "g (float[2,10] x, float[5] w) => (float[2,2,3,2] y) "
             "{ " NUMBER("s", "4") NUMBER("n", "5") "y = STFT(x, s, w, n) }"},
    {.text = "g (double[2,9,2] x, double[4] w) => (double[2,6,4,2] y) "
             "{ " NUMBER("s", "1") "y = STFT <onesided = 0> (x, s, w) }"},
    {.text = "g (float[1,7,1] x) => (float[1,2,3,2] y) "
             "{ s = Constant <value = int32 {4}> () n = Constant <value = int32 {3}> () "
             "y = STFT <onesided = 0> (x, s, , n) }"},
    /* frames with gaps; one frame; the power that models take of it; no signal */
    {.text = "g (float[2,9,1] x) => (float[2,2,2,2] y) { " NUMBER("s", "6") NUMBER("n", "3") "y = STFT(x, s, , n) }"},
    {.text = "g (float[1,6,1] x, float[6] w) => (float[1,1,4,2] y) { " NUMBER("s", "9") "y = STFT(x, s, w) }"},
    {.text = "g (float[1,40,1] x, float[8] w) => (float[1,9,5] y) { " NUMBER("s", "4") "t = STFT(x, s, w) "
             "a = Constant <value_ints = [3]> () y = ReduceSumSquare <keepdims = 0> (t, a) }"},
    {.text = "g (float[0,6,1] x, float[4] w) => (float[0,2,3,2] y) { " NUMBER("s", "2") "y = STFT(x, s, w) }"},
    {.text = "g (float16[2,11,1] x, float16[4] w) => (float16[2,4,3,2] y) { " NUMBER("s", "2") "y = STFT(x, s, w) }"},
    {.text = "g (float[1,8,2] x, float[4] w) => (float[1,5,3,2] y) { " NUMBER("s", "1") "y = STFT(x, s, w) }",
     .error = "input 0 'x' is complex"},
    {.text = "g (float[8] x, float[4] w) => (float[1,5,3,2] y) { " NUMBER("s", "1") "y = STFT(x, s, w) }",
     .error = "input 0 'x' has rank 1, expected 3 (or 2, for a real signal)"},
    {.text = "g (float[1,8,3] x, float[4] w) => (float[1,5,3,2] y) { " NUMBER("s", "1") "y = STFT(x, s, w) }",
     .error = "input 0 'x' has 3 elements along its last axis"},
    {.text = "g (float[1,8,1] x) => (float[1,5,3,2] y) { " NUMBER("s", "1") "y = STFT(x, s) }",
     .error = "input 2 (window) and input 3 (frame_length) are both omitted"},
    {.text = "g (float[1,8,1] x, float[4,1] w) => (float[1,5,3,2] y) { " NUMBER("s", "1") "y = STFT(x, s, w) }",
     .error = "input 2 'w' (window) has rank 2, expected 1"},
    {.text = "g (float[1,8,1] x, float[4] w) => (float[1,5,3,2] y) "
             "{ " NUMBER("s", "1") NUMBER("n", "5") "y = STFT(x, s, w, n) }",
     .error = "input 2 'w' (window) has 4 elements, expected frame_length, which is 5"},
    {.text = "g (float[1,8,1] x, float[9] w) => (float[1,1,5,2] y) { " NUMBER("s", "1") "y = STFT(x, s, w) }",
     .error = "frame_length is 9, expected 1 to 8, the signal's size"},
    {.text = "g (float[1,8,1] x) => (float[1,1,5,2] y) { " NUMBER("s", "1") NUMBER("n", "0") "y = STFT(x, s, , n) }",
     .error = "frame_length is 0, expected 1 to 8"},
    {.text = "g (float[1,8,1] x, float[4] w) => (float[1,5,3,2] y) { " NUMBER("s", "0") "y = STFT(x, s, w) }",
     .error = "frame_step is 0, expected 1 or more"},
    {.text = "g (float[1,8,1] x, float[4] w, int64 s) => (float[1,5,3,2] y) { y = STFT(x, s, w) }",
     .error = "must be known at compile time"},
    {.text = "g (float[1,6000,1] x) => (float[1,1,3001,2] y) "
             "{ " NUMBER("s", "1") NUMBER("n", "6000") "y = STFT(x, s, , n) }",
     .error = "need a matrix of more than 8388608 elements"},
    {0}};

/* The gradient is that of what it is made of. */
const struct op_def op_defs_stft[] = {
    {.name = "STFT", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs, .infer = stft_infer,
     .expand = stft_expand, .eval = stft_eval, .in_float = true, .samples = samples},
    {0}};
