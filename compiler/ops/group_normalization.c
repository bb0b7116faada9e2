/* GroupNormalization and InstanceNormalization of X [N, C, d...], made of ordinary operators. X is seen as rows [N,
 * groups, n], where n counts all elements of a group (an instance is a group of one channel), and with mean and r = 1 /
 * sqrt(var + epsilon) of each row
 *   d = X - mean,  var = mean(d * d),  Y = d * r * scale + bias       scale and bias: one number per channel
 * In float, or in double where an input is double, whatever stash_type says.
 * Spec: ONNX GroupNormalization-18 (scale and bias per group), -21; InstanceNormalization-1, -6, -22. */
#include "ops/normalization_rules.h"

#include <math.h>
#include <string.h>

enum { X, SCALE, BIAS };

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define ATTR_EPSILON {.name = "epsilon", .type = ATTR_FLOAT, .float_default = 1e-5f}
#define ATTR_GROUPS {.name = "num_groups", .type = ATTR_INT, .required = true}
static const struct op_attr attrs_18[] = {ATTR_EPSILON, ATTR_GROUPS, {0}};
static const struct op_attr attrs[] = {
    ATTR_EPSILON, ATTR_GROUPS, {.name = "stash_type", .type = ATTR_INT, .int_default = DTYPE_FLOAT}, {0}};
static const struct op_attr instance_attrs_1[] = {
    {.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true}, ATTR_EPSILON, {0}};
static const struct op_attr instance_attrs[] = {ATTR_EPSILON, {0}};

#define PARAM(label) {.name = (label), .type = 'T', .dtypes = DTYPES_FLOATS}
static const struct op_param inputs[] = {PARAM("X"), PARAM("scale"), PARAM("bias"), {0}};
static const struct op_param outputs[] = {PARAM("Y"), {0}};
static const struct op_param instance_inputs[] = {PARAM("input"), PARAM("scale"), PARAM("B"), {0}};
static const struct op_param instance_outputs[] = {PARAM("output"), {0}};

static int64_t groups_of(const struct node *n, const struct shape *x)
{
    return strcmp(n->def->name, "GroupNormalization") == 0 ? op_attr_int(n, "num_groups") : x->dim[1];
}

/* One number per group [G] -> the same number for each of its channels [C]. */
static bool repeat_for_channels(struct upgrade_ctx *c, int input, int64_t groups, int64_t channels)
{
    struct value *v = node_input(c->node, (size_t)input);
    if (!shape_equal(&v->shape, &SHAPE(groups)))
        return upgrade_error(c, "input %d '%s' must have %lld elements, one for each group", input, v->name,
                             (long long)groups);
    struct value *column = build_reshape(c->b, v, &SHAPE(groups, 1));
    struct value *table = build_expand(c->b, column, &SHAPE(groups, channels / groups));
    node_set_input(c->node, input, build_reshape(c->b, table, &SHAPE(channels)));
    return !c->b->failed;
}

static bool upgrade_per_group(struct upgrade_ctx *c)
{
    const struct node *n = c->node;
    const struct value *x = node_input(n, X);
    if (x == NULL || x->shape.rank < 2 || node_input(n, SCALE) == NULL || node_input(n, BIAS) == NULL)
        return true; /* reported by inference */
    const int64_t groups = op_attr_int(n, "num_groups"), channels = x->shape.dim[1];
    if (groups <= 0 || channels % groups != 0)
        return true;
    return repeat_for_channels(c, SCALE, groups, channels) && repeat_for_channels(c, BIAS, groups, channels);
}

static const struct op_version versions[] = {
    {.since = 18, .attrs = attrs_18, .upgrade = upgrade_per_group}, {.since = 21}, {0}};
static const struct op_version instance_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = instance_attrs_1, .upgrade = upgrade_drop_consumed_inputs},
    {.since = 6, .dtypes = FLOATS_1},
    {.since = 22},
    {0}};

static bool check_vector(struct infer_ctx *c, int i)
{
    const int64_t channels = infer_shape(c, X)->dim[1];
    if (shape_equal(infer_shape(c, i), &SHAPE(channels)))
        return true;
    struct arena text = {0};
    infer_error(c, "input %d '%s' has shape %s, expected [%lld]: one number for each channel of input 0 '%s'", i,
                infer_in(c, i)->name, shape_text(&text, infer_shape(c, i)), (long long)channels, infer_in(c, X)->name);
    arena_free(&text);
    return false;
}

static bool group_normalization_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, X);
    if (x->rank < 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected at least 2: batch, channels",
                           infer_in(c, X)->name, x->rank);
    const int64_t groups = groups_of(c->node, x);
    if (x->dim[1] != 0 && (groups <= 0 || x->dim[1] % groups != 0))
        return infer_error(c, "%lld channels cannot be divided into %lld groups", (long long)x->dim[1],
                           (long long)groups);
    return check_vector(c, SCALE) && check_vector(c, BIAS) && infer_out(c, 0, DTYPE_UNDEFINED, x);
}

/* ---- as other nodes ---------------------------------------------------------------------------------------------- */

struct normalized_groups {
    struct builder *b;
    const struct node *node;
    struct shape shape, rows; /* of X, and [N, groups, n] */
    struct axis_set along;    /* the last axis of rows */
    struct value *d, *r, *scale;
};

static struct value *per_channel(const struct normalized_groups *t, int i)
{
    const struct value *x = node_input(t->node, X);
    return build_cast(t->b, norm_on_axis(t->b, node_input(t->node, (size_t)i), 1, x->shape.rank), norm_dtype(t->node));
}

static struct normalized_groups groups_in(struct builder *b, const struct node *n)
{
    struct normalized_groups t = {.b = b, .node = n, .shape = node_input(n, X)->shape, .along = norm_axes_from(2, 3)};
    const int64_t groups = groups_of(n, &t.shape);
    const struct size sample = shape_size_range(&t.shape, 1, t.shape.rank);
    const bool by_channel = groups == t.shape.dim[1];
    t.rows = SHAPE_OF(shape_size(&t.shape, 0), by_channel ? shape_size(&t.shape, 1) : size_constant(groups),
                      by_channel   ? shape_size_range(&t.shape, 2, t.shape.rank)
                      : groups > 0 ? size_quotient(sample, groups)
                                   : size_constant(0));
    struct value *x = build_reshape(b, build_cast(b, node_input(n, X), norm_dtype(n)), &t.rows);
    struct value *mean = build_called(b, "mean", norm_mean(b, x, &t.along));
    t.d = build_called(b, "deviation", build(&t, "Sub", x, mean));
    struct value *variance = build_called(b, "variance", norm_mean(b, build(&t, "Mul", t.d, t.d), &t.along));
    t.r = norm_inverse_deviation(b, variance, op_attr_float(n, "epsilon"));
    t.scale = per_channel(&t, SCALE);
    return t;
}

static bool group_normalization_expand(struct expand_ctx *c)
{
    const struct normalized_groups t = groups_in(c->b, c->node);
    struct value *h = build_reshape(c->b, build(&t, "Mul", t.d, t.r), &t.shape);
    struct value *y = build(&t, "Add", build(&t, "Mul", h, t.scale), per_channel(&t, BIAS));
    return expand_out(c, 0, build_cast(c->b, y, expand_in(c, X)->dtype));
}

/* With g = dy * scale and h = d * r, in rows of n elements:  dX = r * ((g - mean(g)) - h * (mean(g * d) * r)),
 * dscale = dy * h and dbias = dy, summed over all axes but C. */
static bool group_normalization_grad(struct grad_ctx *c)
{
    const struct normalized_groups t = groups_in(c->b, c->node);
    struct value *dy = build_cast(c->b, grad_of_output(c, 0), norm_dtype(c->node));
    struct value *h = build(&t, "Mul", t.d, t.r), *g = build_reshape(c->b, build(&t, "Mul", dy, t.scale), &t.rows);
    struct value *along_d = norm_mean(c->b, build(&t, "Mul", g, t.d), &t.along);
    struct value *pull = build(&t, "Mul", h, build(&t, "Mul", along_d, t.r));
    struct value *centred = build(&t, "Sub", build(&t, "Sub", g, norm_mean(c->b, g, &t.along)), pull);
    struct value *dx = build_reshape(c->b, build(&t, "Mul", centred, t.r), &t.shape);
    struct value *by_scale = build(&t, "Mul", dy, build_reshape(c->b, h, &t.shape));
    struct axis_set others = {.count = 0};
    for (int d = 0; d < t.shape.rank; d++)
        if (d != 1)
            others.axis[others.count++] = d;
    const struct shape channels = SHAPE_OF(shape_size(&t.shape, 1));
    return grad_accumulate(c, X, dx) &&
           grad_accumulate(c, SCALE, build_reshape(c->b, norm_sum(c->b, by_scale, &others), &channels)) &&
           grad_accumulate(c, BIAS, build_reshape(c->b, norm_sum(c->b, dy, &others), &channels));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static bool group_normalization_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = c->in[X];
    const double *scale = eval_f(c, SCALE), *bias = eval_f(c, BIAS), epsilon = op_attr_float(c->node, "epsilon");
    double *y = eval_out_f(c, 0);
    const int64_t channels = x->shape.dim[1], inner = shape_count_range(&x->shape, 2, x->shape.rank);
    const int64_t groups = groups_of(c->node, &x->shape);
    if (x->count == 0 || y == NULL)
        return true;
    const int64_t length = channels / groups * inner;
    for (int64_t start = 0; start < x->count; start += length) {
        const struct moments m = norm_moments(x->f, &start, 1, length);
        for (int64_t i = start; i < start + length; i++) {
            const int64_t channel = i / inner % channels;
            y[i] = (x->f[i] - m.mean) / sqrt(m.variance + epsilon) * scale[channel] + bias[channel];
        }
    }
    return true;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text = "g (float[2,6,3,2] x, float[6] s, float[6] b) => (float[2,6,3,2] y) "
             "{ y = GroupNormalization <num_groups = 3> (x, s, b) }"},
    {.text = "g (double[2,4,5] x, double[4] s, double[4] b) => (double[2,4,5] y) "
             "{ y = GroupNormalization <num_groups = 1, epsilon = 0.1> (x, s, b) }"},
    {.text = "g (double[3,4] x, double[4] s, double[4] b) => (double[3,4] y) "
             "{ y = GroupNormalization <num_groups = 2> (x, s, b) }"},
    {.text = "g (float[2,6,3] x, float[3] s, float[3] b) => (float[2,6,3] y) "
             "{ y = GroupNormalization <num_groups = 3> (x, s, b) }", .opset = 20},
    {.text = "g (float[2,6,3] x, float[6] s) => (float[2,6,3] y) { y = GroupNormalization <num_groups = 4> (x, s, s) }",
     .error = "cannot be divided into 4 groups"},
    {.text = "g (float[2,6,3] x, float[5] s) => (float[2,6,3] y) { y = GroupNormalization <num_groups = 3> (x, s, s) }",
     .error = "expected [6]"},
    {0}};

/* Without an axis behind the channels an instance is one element; runtimes do not know such an operand. */
static bool instance_stays(const struct node *n)
{
    return node_input(n, X)->shape.rank > 2;
}

static const struct op_sample instance_samples[] = {
    {.text = "g (float[2,3] x, float[3] s, float[3] b) => (float[2,3] y) { y = InstanceNormalization(x, s, b) }"},
    {.text = "g (float[2,3,5,4] x, float[3] s, float[3] b) => (float[2,3,5,4] y) "
             "{ y = InstanceNormalization(x, s, b) }"},
    {.text = "g (double[2,3,7] x, double[3] s, double[3] b) => (double[2,3,7] y) "
             "{ y = InstanceNormalization <epsilon = 0.1> (x, s, b) }"},
    {.text = "g (float[2,3,5] x, float[3] s, float[3] b) => (float[2,3,5] y) { y = InstanceNormalization(x, s, b) }",
     .opset = 6},
    {.text = "g (float[2,3,5] x, float[3] s, float[3] b) => (float[2,3,5] y) "
             "{ y = InstanceNormalization <consumed_inputs = [0]> (x, s, b) }",
     .opset = 5},
    {.text = "g (float[2,3,5] x, float[2] s) => (float[2,3,5] y) { y = InstanceNormalization(x, s, s) }",
     .error = "expected [3]"},
    {0}};

const struct op_def op_defs_group_normalization[] = {
    {.name = "GroupNormalization", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = group_normalization_infer, .grad = group_normalization_grad, .expand = group_normalization_expand,
     .eval = group_normalization_eval, .bounded = bounded_samples, .samples = samples},
    {.name = "InstanceNormalization", .versions = instance_versions, .inputs = instance_inputs,
     .outputs = instance_outputs, .attrs = instance_attrs, .infer = group_normalization_infer,
     .grad = group_normalization_grad, .stays = instance_stays, .expand = group_normalization_expand,
     .eval = group_normalization_eval,
     .bounded = bounded_samples, .samples = instance_samples},
    {0}};
