/* LayerNormalization and RMSNormalization over the axes from `axis` on, made of ordinary operators:
 *   layer   d = X - mean(X),  r = 1 / sqrt(mean(d * d) + epsilon),  Y = d * r * Scale + B
 *   RMS                       r = 1 / sqrt(mean(X * X) + epsilon),  Y = X * r * scale
 * where mean is ReduceMean: 16 lanes over the normalized axes taken as one row. In float, or in double where an input
 * is double, whatever stash_type says: the type of Mean and InvStdDev, which it decides, may be narrower than what
 * they are computed in.
 * Spec: ONNX LayerNormalization-17, RMSNormalization-23. */
#include "ops/move_rules.h"
#include "ops/normalization_rules.h"

#include <math.h>

enum { X, SCALE, BIAS };             /* inputs */
enum { Y, MEAN, INVERSE_DEVIATION }; /* outputs */

/* ---- schema ------------------------------------------------------------------------------------------------------ */

static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = -1},
                                       {.name = "epsilon", .type = ATTR_FLOAT, .float_default = 1e-5f},
                                       {.name = "stash_type", .type = ATTR_INT, .int_default = DTYPE_FLOAT},
                                       {0}};

#define PARAM(label, letter, marks) {.name = (label), .type = (letter), .dtypes = DTYPES_FLOATS, .flags = (marks)}
static const struct op_param inputs[] = {PARAM("X", 'T', 0),
                                         PARAM("Scale", 'T', 0),
                                         PARAM("B", 'T', PARAM_OPTIONAL),
                                         {0}};
static const struct op_param outputs[] = {
    PARAM("Y", 'T', 0), PARAM("Mean", 0, PARAM_OPTIONAL), PARAM("InvStdDev", 0, PARAM_OPTIONAL), {0}};
static const struct op_param rms_inputs[] = {PARAM("X", 'T', 0), PARAM("scale", 'V', 0), {0}};
static const struct op_param rms_outputs[] = {PARAM("Y", 'V', 0), {0}};

static const struct op_version versions[] = {{.since = 17}, {0}};
static const struct op_version rms_versions[] = {{.since = 23}, {0}};

/* Scale and B are broadcast to X, not the other way round. */
static bool check_fits(struct infer_ctx *c, int i)
{
    struct shape both;
    if (infer_in(c, i) == NULL)
        return true;
    if (shape_broadcast(&both, infer_shape(c, X), infer_shape(c, i)) && shape_equal(&both, infer_shape(c, X)))
        return true;
    struct arena text = {0};
    infer_error(c, "input %d '%s' has shape %s, which cannot be broadcast to that of input 0 '%s', %s", i,
                infer_in(c, i)->name, shape_text(&text, infer_shape(c, i)), infer_in(c, X)->name,
                shape_text(&text, infer_shape(c, X)));
    arena_free(&text);
    return false;
}

static bool check_stash_type(struct infer_ctx *c)
{
    const int64_t stash = op_attr_int(c->node, "stash_type");
    return (stash >= 0 && stash < 32 && (DTYPES_FLOATS & DTYPE_BIT(stash)) != 0) ||
           infer_error(c, "attribute 'stash_type' is %lld, expected a floating type", (long long)stash);
}

static bool rms_normalization_infer(struct infer_ctx *c)
{
    int axis;
    return infer_axis(c, op_attr_int(c->node, "axis"), infer_rank(c, X), &axis) && check_fits(c, SCALE) &&
           check_stash_type(c) && infer_out(c, Y, DTYPE_UNDEFINED, infer_shape(c, X));
}

static bool layer_normalization_infer(struct infer_ctx *c)
{
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), infer_rank(c, X), &axis) || !check_fits(c, SCALE) ||
        !check_fits(c, BIAS) || !check_stash_type(c))
        return false;
    const enum dtype stash = (enum dtype)op_attr_int(c->node, "stash_type");
    struct shape s = *infer_shape(c, X);
    for (int d = axis; d < s.rank; d++)
        shape_set(&s, d, size_constant(1));
    return infer_out(c, Y, DTYPE_UNDEFINED, infer_shape(c, X)) && infer_out(c, MEAN, stash, &s) &&
           infer_out(c, INVERSE_DEVIATION, stash, &s);
}

/* ---- as other nodes ---------------------------------------------------------------------------------------------- */

/* The operands in the type that is computed in. */
struct normalized_layer {
    struct builder *b;
    const struct node *node;
    struct axis_set along;
    struct value *x, *scale, *bias; /* bias NULL: none */
};

static struct normalized_layer layer_of(struct builder *b, const struct node *n)
{
    const enum dtype d = norm_dtype(n);
    struct normalized_layer t = {.b = b, .node = n, .x = build_cast(b, node_input(n, X), d),
                                 .scale = build_cast(b, node_input(n, SCALE), d)};
    t.along = norm_axes_from(move_axis(n), t.x->shape.rank);
    if (node_input(n, BIAS) != NULL)
        t.bias = build_cast(b, node_input(n, BIAS), d);
    return t;
}

/* 1 / sqrt(mean(d * d) + epsilon) */
static struct value *inverse_of(const struct normalized_layer *t, struct value *d)
{
    struct value *variance = build_called(t->b, "variance", norm_mean(t->b, build(t, "Mul", d, d), &t->along));
    return norm_inverse_deviation(t->b, variance, op_attr_float(t->node, "epsilon"));
}

static bool layer_normalization_expand(struct expand_ctx *c)
{
    struct normalized_layer t = layer_of(c->b, c->node);
    struct value *mean = build_called(c->b, "mean", norm_mean(c->b, t.x, &t.along));
    struct value *d = build_called(c->b, "deviation", build(&t, "Sub", t.x, mean)), *r = inverse_of(&t, d);
    struct value *y = build(&t, "Mul", build(&t, "Mul", d, r), t.scale);
    if (t.bias != NULL)
        y = build(&t, "Add", y, t.bias);
    const enum dtype stash = (enum dtype)op_attr_int(c->node, "stash_type");
    return (!expand_wants(c, Y) || expand_out(c, Y, build_cast(c->b, y, expand_in(c, X)->dtype))) &&
           (!expand_wants(c, MEAN) || expand_out(c, MEAN, build_cast(c->b, mean, stash))) &&
           (!expand_wants(c, INVERSE_DEVIATION) || expand_out(c, INVERSE_DEVIATION, build_cast(c->b, r, stash)));
}

static bool rms_normalization_expand(struct expand_ctx *c)
{
    struct normalized_layer t = layer_of(c->b, c->node);
    struct value *y = build(&t, "Mul", build(&t, "Mul", t.x, inverse_of(&t, t.x)), t.scale);
    return expand_out(c, Y, build_cast(c->b, y, node_output(c->node, Y)->dtype));
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

/* A statistic as the node outputs it, where that loses nothing; else computed again (equal nodes become one). */
static struct value *statistic(struct grad_ctx *c, const struct normalized_layer *t, int output, struct value *d)
{
    if (op_attr_int(c->node, "stash_type") == (int64_t)t->x->dtype)
        return grad_output(c, output);
    return output == MEAN ? norm_mean(c->b, t->x, &t->along) : inverse_of(t, d);
}

static struct value *mean_of_product(const struct normalized_layer *t, struct value *a, struct value *b)
{
    return norm_mean(t->b, build(t, "Mul", a, b), &t->along);
}

/* With g = dy * Scale, h = d * r and means along the row of n elements:
 *   dX = r * ((g - mean(g)) - h * mean(g * h)),  dScale = dy * h,  dB = dy (both summed over what was broadcast);
 * from adjoints of the statistics: dMean / n - dInvStdDev * r^2 * h / n.
 * mean(g * h) is taken as mean(g * d) * r. */
static bool layer_normalization_grad(struct grad_ctx *c)
{
    struct normalized_layer t = layer_of(c->b, c->node);
    struct value *d = build(&t, "Sub", t.x, statistic(c, &t, MEAN, NULL)), *r = statistic(c, &t, INVERSE_DEVIATION, d);
    struct value *h = build(&t, "Mul", d, r), *dy = build_cast(c->b, grad_of_output(c, Y), t.x->dtype);
    if (!grad_accumulate(c, SCALE, build(&t, "Mul", dy, h)) || (t.bias != NULL && !grad_accumulate(c, BIAS, dy)))
        return false;
    struct value *g = build(&t, "Mul", dy, t.scale);
    struct value *pull = build(&t, "Mul", h, build(&t, "Mul", mean_of_product(&t, g, d), r));
    struct value *centred = build(&t, "Sub", build(&t, "Sub", g, norm_mean(c->b, g, &t.along)), pull);
    if (!grad_accumulate(c, X, build(&t, "Mul", centred, r)))
        return false;
    struct value *count = build_like(&t, t.x, (double)norm_count(&t.x->shape, &t.along));
    if (grad_has_output(c, MEAN)) {
        struct value *dmean = build_cast(c->b, grad_of_output(c, MEAN), t.x->dtype);
        if (!grad_accumulate(c, X, build(&t, "Div", dmean, count)))
            return false;
    }
    if (grad_has_output(c, INVERSE_DEVIATION)) {
        struct value *dr = build_cast(c->b, grad_of_output(c, INVERSE_DEVIATION), t.x->dtype);
        struct value *by = build(&t, "Div", build(&t, "Mul", dr, build(&t, "Mul", r, r)), count);
        return grad_accumulate(c, X, build(&t, "Neg", build(&t, "Mul", h, by)));
    }
    return true;
}

/* With g = dy * scale:  dX = r * (g - X * (r^2 * mean(g * X))),  dscale = dy * X * r */
static bool rms_normalization_grad(struct grad_ctx *c)
{
    struct normalized_layer t = layer_of(c->b, c->node);
    struct value *r = inverse_of(&t, t.x), *dy = build_cast(c->b, grad_of_output(c, Y), t.x->dtype);
    struct value *g = build(&t, "Mul", dy, t.scale);
    struct value *by = build(&t, "Mul", mean_of_product(&t, g, t.x), build(&t, "Mul", r, r));
    struct value *dx = build(&t, "Mul", build(&t, "Sub", g, build(&t, "Mul", t.x, by)), r);
    return grad_accumulate(c, SCALE, build(&t, "Mul", dy, build(&t, "Mul", t.x, r))) && grad_accumulate(c, X, dx);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Input i, broadcast to X, at every element of X; `missing` where it is omitted. */
static const double *broadcast(struct eval_ctx *c, int i, double missing)
{
    const struct eval_tensor *x = c->in[X];
    double *to = arena_array(c->scratch, double, (size_t)x->count);
    int64_t *from = arena_array(c->scratch, int64_t, (size_t)x->count);
    if (eval_has(c, i))
        eval_broadcast_index(c->in[i], &x->shape, from);
    for (int64_t k = 0; k < x->count; k++)
        to[k] = eval_has(c, i) ? c->in[i]->f[from[k]] : missing;
    return to;
}

static bool normalize_rows(struct eval_ctx *c, bool around_mean)
{
    const struct eval_tensor *x = c->in[X];
    const int axis = move_axis(c->node);
    const int64_t rows = shape_count_range(&x->shape, 0, axis),
                  length = shape_count_range(&x->shape, axis, x->shape.rank);
    const double *scale = broadcast(c, SCALE, 1), *bias = broadcast(c, BIAS, 0),
                 epsilon = op_attr_float(c->node, "epsilon");
    double *y = eval_out_f(c, Y), *mean = eval_out_f(c, MEAN), *inverse = eval_out_f(c, INVERSE_DEVIATION);
    for (int64_t row = 0; row < rows; row++) {
        const int64_t start = row * length;
        struct moments m = norm_moments(x->f, &start, 1, length);
        if (!around_mean)
            m = (struct moments){.variance = m.variance + m.mean * m.mean};
        const double r = 1 / sqrt(m.variance + epsilon);
        for (int64_t i = start; y != NULL && i < start + length; i++)
            y[i] = (x->f[i] - m.mean) * r * scale[i] + bias[i];
        if (mean != NULL)
            mean[row] = m.mean;
        if (inverse != NULL)
            inverse[row] = r;
    }
    return true;
}

static bool layer_normalization_eval(struct eval_ctx *c)
{
    return normalize_rows(c, true);
}

static bool rms_normalization_eval(struct eval_ctx *c)
{
    return normalize_rows(c, false);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text = "g (float[3,37] x, float[37] s, float[37] b) => (float[3,37] y) { y = LayerNormalization(x, s, b) }"},
    {.text = "g (double[2,3,4] x, double[3,4] s) => (double[2,3,4] y) "
             "{ y = LayerNormalization <axis = 1, epsilon = 0.1> (x, s) }"},
    {.text = "g (float[2,3,4] x, float[4] s, float[3,1] b) => (float[2,3,4] y, float[2,1,1] m, float[2,1,1] r) "
             "{ y, m, r = LayerNormalization <axis = -2> (x, s, b) }"},
    {.text = "g (double[2,3] x, double[3] s) => (float[2,1] m, double[2,3] y) { y, m = LayerNormalization(x, s) }",
     .tolerance = 1e-6, .no_gradient = true},
    {.text = "g (double[2,3] x, double[3] s) => (double[2,1] r) "
             "{ y, m, r = LayerNormalization <stash_type = 11> (x, s) }"},
    {.text = "g (float[2,3] x, float[1] s) => (float[2,3] y) { y = LayerNormalization <axis = 0> (x, s) }"},
    {.text = "g (float[0,3] x, float[3] s) => (float[0,3] y, float[0,1] r) { y, \"\", r = LayerNormalization(x, s) }"},
    {.text = "g (float[2,3] x, float[4] s) => (float[2,3] y) { y = LayerNormalization(x, s) }",
     .error = "cannot be broadcast"},
    {.text = "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization <axis = 2> (x, s) }",
     .error = "axis 2"},
    {.text = "g (float[2,3] x, float[3] s) => (float[2,3] y) { y = LayerNormalization <stash_type = 7> (x, s) }",
     .error = "expected a floating type"},
    {0}};

static const struct op_sample rms_samples[] = {
    {.text = "g (float[3,37] x, float[37] s) => (float[3,37] y) { y = RMSNormalization(x, s) }"},
    {.text = "g (double[2,3,4] x, double[3,4] s) => (double[2,3,4] y) "
             "{ y = RMSNormalization <axis = 1, epsilon = 0.1> (x, s) }"},
    {.text = "g (float[2,3] x, double[3] s) => (double[2,3] y) { y = RMSNormalization(x, s) }", .tolerance = 1e-6},
    {.text = "g (float[2,3] x, float[2] s) => (float[2,3] y) { y = RMSNormalization(x, s) }",
     .error = "cannot be broadcast"},
    {0}};

static bool norm_bounded(struct bounded_ctx *c)
{
    const struct bounded *const x = bounded_in(c, 0);
    if (x != NULL && x->axis >= move_axis(c->node))
        return bounded_refuse(c, 0, "the mean and the variance are of a fixed number of elements");
    return bounded_same(c);
}

/* Along which it normalizes are whole. Scale and bias may have some of the axes in front. */
static void normalization_axes(struct axes_ctx *c)
{
    const struct shape *const x = &node_input(c->node, X)->shape;
    for (size_t o = 0; o < c->node->outputs.count; o++)
        axes_pass_before(c, X, (int)o, move_axis(c->node));
    for (int i = SCALE; i <= BIAS; i++) {
        const struct value *const v = node_input(c->node, (size_t)i);
        for (int d = 0; v && d < v->shape.rank; d++)
            if (d + x->rank - v->shape.rank < move_axis(c->node) && v->shape.dim[d] != 1)
                axes_pass(c, i, d, Y, d + x->rank - v->shape.rank);
    }
}

const struct op_def op_defs_layer_normalization[] = {
    {.name = "LayerNormalization", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = layer_normalization_infer, .axes = normalization_axes, .grad = layer_normalization_grad,
     .stays = op_stays, .expand = layer_normalization_expand,
     .eval = layer_normalization_eval, .bounded = norm_bounded, .samples = samples},
    {.name = "RMSNormalization", .versions = rms_versions, .inputs = rms_inputs, .outputs = rms_outputs, .attrs = attrs,
     .infer = rms_normalization_infer, .axes = normalization_axes,
     .grad = rms_normalization_grad, .expand = rms_normalization_expand,
     .eval = rms_normalization_eval, .bounded = norm_bounded, .samples = rms_samples},
    {0}};
