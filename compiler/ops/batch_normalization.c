/* BatchNormalization of X [N, C, d...], channel by channel, made of ordinary operators:
 *   d = X - mean,  r = 1 / sqrt(var + epsilon),  Y = d * (r * scale) + B
 * In inference form mean and var are inputs 3 and 4. In training form (training_mode = 1) they are those of the batch:
 * mean is ReduceMean(X) and var ReduceMean(d * d) over all axes but C, the population's variance; and
 *   running_mean = input_mean * momentum + mean * (1 - momentum),  running_var likewise.
 * All in float (in double where an input is double); 1 - momentum is rounded once.
 * With spatial = 0 (until version 8) each element of a sample is a channel of its own: everything
 * is of shape [C, d...].
 * Spec: ONNX BatchNormalization-1, -6 (is_test), -7, -9 (training where more than Y is wanted), -14 (training_mode),
 * -15; the outputs saved_mean and saved_var of the old versions, mean and variance of the batch, and spatial stay
 * available inside. */
#include "ops/normalization_rules.h"

#include <math.h>

enum { X, SCALE, BIAS, MEAN, VAR };                            /* inputs */
enum { Y, RUNNING_MEAN, RUNNING_VAR, SAVED_MEAN, SAVED_VAR }; /* outputs */

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define ATTR_CONSUMED {.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true}
#define ATTR_EPSILON {.name = "epsilon", .type = ATTR_FLOAT, .float_default = 1e-5f}
#define ATTR_MOMENTUM {.name = "momentum", .type = ATTR_FLOAT, .float_default = 0.9f}
#define ATTR_IS_TEST {.name = "is_test", .type = ATTR_INT, .int_default = 0}
#define ATTR_SPATIAL {.name = "spatial", .type = ATTR_INT, .int_default = 1}
static const struct op_attr attrs_1[] = {ATTR_CONSUMED, ATTR_EPSILON, ATTR_IS_TEST, ATTR_MOMENTUM, ATTR_SPATIAL, {0}};
static const struct op_attr attrs_6[] = {ATTR_EPSILON, ATTR_IS_TEST, ATTR_MOMENTUM, ATTR_SPATIAL, {0}};
static const struct op_attr attrs_7[] = {ATTR_EPSILON, ATTR_MOMENTUM, ATTR_SPATIAL, {0}};
static const struct op_attr attrs_9[] = {ATTR_EPSILON, ATTR_MOMENTUM, {0}};
#define ATTR_TRAINING {.name = "training_mode", .type = ATTR_INT, .int_default = 0}
static const struct op_attr attrs_14[] = {ATTR_EPSILON, ATTR_MOMENTUM, ATTR_TRAINING, {0}};
/* As a node stands in a graph: with what no model of today can say. */
static const struct op_attr attrs[] = {ATTR_EPSILON, ATTR_MOMENTUM, ATTR_SPATIAL, ATTR_TRAINING, {0}};

#define PARAM(label, letter, marks) {.name = (label), .type = (letter), .dtypes = DTYPES_FLOATS, .flags = (marks)}
#define UNUSED (PARAM_OPTIONAL | PARAM_OUTPUT_NOT_DIFF)
#define STATISTIC(label, letter) PARAM(label, letter, PARAM_STATISTIC)
static const struct op_param inputs_1[] = {PARAM("X", 'T', 0),     PARAM("scale", 'T', 0), PARAM("B", 'T', 0),
                                           STATISTIC("mean", 'T'), STATISTIC("var", 'T'),  {0}};
static const struct op_param inputs_14[] = {PARAM("X", 'T', 0),
                                            PARAM("scale", 'T', 0),
                                            PARAM("B", 'T', 0),
                                            STATISTIC("input_mean", 'U'),
                                            STATISTIC("input_var", 'U'),
                                            {0}};
static const struct op_param inputs[] = {PARAM("X", 'T', 0),           PARAM("scale", 'S', 0),      PARAM("B", 'S', 0),
                                         STATISTIC("input_mean", 'U'), STATISTIC("input_var", 'U'), {0}};
static const struct op_param outputs_1[] = {PARAM("Y", 'T', 0),
                                            PARAM("mean", 'T', UNUSED),
                                            PARAM("var", 'T', UNUSED),
                                            PARAM("saved_mean", 0, UNUSED),
                                            PARAM("saved_var", 0, UNUSED),
                                            {0}};
static const struct op_param outputs_14[] = {
    PARAM("Y", 'T', 0), PARAM("running_mean", 'U', UNUSED), PARAM("running_var", 'U', UNUSED), {0}};
/* As a node stands in a graph: with what the gradient reads, which no model of today can name. */
static const struct op_param outputs[] = {PARAM("Y", 'T', 0),
                                          PARAM("running_mean", 'U', UNUSED),
                                          PARAM("running_var", 'U', UNUSED),
                                          PARAM("saved_mean", 0, PARAM_OPTIONAL),
                                          PARAM("saved_var", 0, PARAM_OPTIONAL),
                                          {0}};

/* ---- older versions ---------------------------------------------------------------------------------------------- */

static void set_training(struct node *n, bool training)
{
    if (training)
        node_set_attr(n, attr_int("training_mode", 1));
}

/* Training unless is_test = 1. */
static bool upgrade_is_test(struct upgrade_ctx *c)
{
    const struct attr *is_test = node_attr(c->node, "is_test");
    set_training(c->node, is_test == NULL || is_test->i == 0);
    node_remove_attr(c->node, "is_test");
    return true;
}

/* Training where anything but Y is asked for. A node that comes from is_test says it already. */
static bool upgrade_by_outputs(struct upgrade_ctx *c)
{
    bool more = node_attr(c->node, "training_mode") != NULL;
    for (size_t o = 1; o < c->node->outputs.count; o++)
        more = more || c->node->outputs.data[o] != NULL;
    set_training(c->node, more);
    return true;
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .inputs = inputs_1, .outputs = outputs_1,
     .upgrade = upgrade_drop_consumed_inputs},
    {.since = 6, .dtypes = FLOATS_1, .attrs = attrs_6, .inputs = inputs_1, .outputs = outputs_1,
     .upgrade = upgrade_is_test},
    {.since = 7, .dtypes = FLOATS_1, .attrs = attrs_7, .inputs = inputs_1, .outputs = outputs_1},
    {.since = 9, .dtypes = FLOATS_1, .attrs = attrs_9, .inputs = inputs_1, .outputs = outputs_1,
     .upgrade = upgrade_by_outputs},
    {.since = 14, .attrs = attrs_14, .inputs = inputs_14, .outputs = outputs_14},
    {.since = 15, .attrs = attrs_14, .outputs = outputs_14},
    {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool is_training(const struct node *n)
{
    return op_attr_int(n, "training_mode") != 0;
}

/* Of scale, bias and statistics: [C], with spatial = 0 [C, d...]; [N] is [N, 1]. */
static struct shape channel_shape(const struct node *n)
{
    const struct shape *x = &node_input(n, X)->shape;
    struct shape s = SHAPE_OF(x->rank == 1 ? size_constant(1) : shape_size(x, 1));
    if (op_attr_int(n, "spatial") == 0)
        for (int d = 2; d < x->rank; d++)
            shape_take(&s, x, d);
    return s;
}

static bool check_vectors(struct infer_ctx *c)
{
    const struct shape expected = channel_shape(c->node);
    for (int i = SCALE; i <= VAR; i++)
        if (!shape_equal(infer_shape(c, i), &expected)) {
            struct arena text = {0};
            infer_error(c, "input %d '%s' has shape %s, expected %s: one number for each channel of input 0 '%s'", i,
                        infer_in(c, i)->name, shape_text(&text, infer_shape(c, i)), shape_text(&text, &expected),
                        infer_in(c, X)->name);
            arena_free(&text);
            return false;
        }
    return true;
}

static bool batch_normalization_infer(struct infer_ctx *c)
{
    if (infer_rank(c, X) < 1)
        return infer_error(c, "input 0 '%s' is a scalar, expected a batch", infer_in(c, X)->name);
    if (!check_vectors(c))
        return false;
    const struct shape s = channel_shape(c->node);
    for (int o = RUNNING_MEAN; o <= SAVED_VAR; o++) {
        if (node_output(c->node, (size_t)o) != NULL && !is_training(c->node))
            return infer_error(c, "output %d is wanted, but without training_mode = 1 there is only Y", o);
        const enum dtype d = o >= SAVED_MEAN ? norm_dtype(c->node) : infer_in(c, o == RUNNING_MEAN ? MEAN : VAR)->dtype;
        if (!infer_out(c, o, d, &s))
            return false;
    }
    return infer_out(c, Y, DTYPE_UNDEFINED, infer_shape(c, X));
}

/* ---- as other nodes ---------------------------------------------------------------------------------------------- */

/* The operands in the type that is computed in, vectors as [1, C, 1...] or [1, C, d...]. */
struct normalized_batch {
    struct builder *b;
    const struct node *node;
    struct axis_set along; /* all axes of X that the vectors do not have */
    struct shape channels; /* of the vectors as they are given */
    int64_t count;         /* elements along them */
    struct value *x, *scale, *bias, *mean, *var, *deviation /* x - mean */, *inverse /* 1 / sqrt(var + epsilon) */;
};

static struct value *vector(const struct normalized_batch *t, struct value *v)
{
    struct shape s = t->x->shape;
    for (size_t i = 0; i < t->along.count; i++)
        shape_set(&s, t->along.axis[i], size_constant(1));
    return build_cast(t->b, build_reshape(t->b, v, &s), t->x->dtype);
}

static struct value *operand(const struct normalized_batch *t, int i)
{
    return vector(t, node_input(t->node, (size_t)i));
}

/* All but mean and what depends on it. */
static struct normalized_batch batch_of(struct builder *b, const struct node *n)
{
    struct normalized_batch t = {.b = b, .node = n, .x = build_cast(b, node_input(n, X), norm_dtype(n)),
                                 .channels = channel_shape(n)};
    const struct shape *s = &t.x->shape;
    for (int d = 0; d < s->rank; d++)
        if (d == 0 || d > t.channels.rank)
            t.along.axis[t.along.count++] = d;
    t.count = norm_count(s, &t.along);
    t.scale = build_called(b, "scale", operand(&t, SCALE));
    t.bias = build_called(b, "bias", operand(&t, BIAS));
    return t;
}

static void set_mean(struct normalized_batch *t, struct value *mean)
{
    t->mean = mean;
    t->deviation = build_called(t->b, "deviation", build(t, "Sub", t->x, mean));
}

static void set_variance(struct normalized_batch *t, struct value *var)
{
    t->var = var;
    t->inverse = norm_inverse_deviation(t->b, var, op_attr_float(t->node, "epsilon"));
}

static void take_moments(struct normalized_batch *t)
{
    if (is_training(t->node)) {
        set_mean(t, build_called(t->b, "mean", norm_mean(t->b, t->x, &t->along)));
        struct value *squares = build(t, "Mul", t->deviation, t->deviation);
        set_variance(t, build_called(t->b, "variance", norm_mean(t->b, squares, &t->along)));
    } else {
        set_mean(t, build_called(t->b, "mean", operand(t, MEAN)));
        set_variance(t, build_called(t->b, "variance", operand(t, VAR)));
    }
}

static struct value *as_vector(const struct normalized_batch *t, struct value *v)
{
    return build_reshape(t->b, v, &t->channels);
}

static struct value *running(const struct normalized_batch *t, int input, struct value *now)
{
    const double momentum = op_attr_float(t->node, "momentum");
    struct value *kept = build(t, "Mul", operand(t, input), build_like(t, now, momentum));
    struct value *sum = build(t, "Add", kept, build(t, "Mul", now, build_like(t, now, 1 - momentum)));
    return build_cast(t->b, as_vector(t, sum), node_input(t->node, (size_t)input)->dtype);
}

static bool batch_normalization_expand(struct expand_ctx *c)
{
    struct normalized_batch t = batch_of(c->b, c->node);
    take_moments(&t);
    struct value *by = build_called(t.b, "factor", build(&t, "Mul", t.inverse, t.scale));
    struct value *y = build(&t, "Add", build(&t, "Mul", t.deviation, by), t.bias);
    return (!expand_wants(c, Y) || expand_out(c, Y, build_cast(c->b, y, expand_in(c, X)->dtype))) &&
           (!expand_wants(c, RUNNING_MEAN) || expand_out(c, RUNNING_MEAN, running(&t, MEAN, t.mean))) &&
           (!expand_wants(c, RUNNING_VAR) || expand_out(c, RUNNING_VAR, running(&t, VAR, t.var))) &&
           (!expand_wants(c, SAVED_MEAN) || expand_out(c, SAVED_MEAN, as_vector(&t, t.mean))) &&
           (!expand_wants(c, SAVED_VAR) || expand_out(c, SAVED_VAR, as_vector(&t, t.var)));
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* v / count */
static struct value *share(const struct normalized_batch *t, struct value *v)
{
    return build(t, "Div", v, build_like(t, v, (double)t->count));
}

/* Of the batch, with s = sum(dy) and p = sum(dy * d) over a channel of n elements, r = 1 / sqrt(var + epsilon):
 *   dX = r * scale * ((dy - s / n) - d * (p * r * r / n))
 * whose sum over a channel is 0, since adding a constant to a channel changes nothing: a bias in front has no gradient;
 * and from adjoints of the statistics themselves (as gradients of gradients have them) dmean / n + dvar * 2 d / n. */
static bool training_grad_x(struct grad_ctx *c, const struct normalized_batch *t, struct value *dy, struct value *s,
                            struct value *p)
{
    struct value *square = build(t, "Mul", t->inverse, t->inverse);
    struct value *pull = build_called(t->b, "pull", share(t, build(t, "Mul", p, square)));
    struct value *centred = build(t, "Sub", build(t, "Sub", dy, share(t, s)), build(t, "Mul", t->deviation, pull));
    struct value *factor = build_called(t->b, "factor", build(t, "Mul", t->inverse, t->scale));
    struct value *dx = build(t, "Mul", centred, factor);
    for (size_t i = 0; i < t->along.count; i++)
        dx->zero_sum |= 1u << t->along.axis[i];
    bool ok = grad_accumulate(c, X, dx);
    if (grad_has_output(c, SAVED_MEAN))
        ok = ok && grad_accumulate(c, X, share(t, vector(t, grad_of_output(c, SAVED_MEAN))));
    if (grad_has_output(c, SAVED_VAR)) {
        struct value *dvar = vector(t, grad_of_output(c, SAVED_VAR));
        struct value *twice = build(t, "Mul", share(t, dvar), build_like(t, dvar, 2.0));
        ok = ok && grad_accumulate(c, X, build(t, "Mul", t->deviation, twice));
    }
    return ok;
}

/* With fixed statistics:  dX = dy * r * scale,  dmean = -s * r * scale,  dvar = -1/2 * p * scale * r^3 */
static bool inference_grad(struct grad_ctx *c, const struct normalized_batch *t, struct value *dy, struct value *s,
                           struct value *p)
{
    struct value *slope = build_called(t->b, "factor", build(t, "Mul", t->inverse, t->scale));
    struct value *cube = build(t, "Mul", slope, build(t, "Mul", t->inverse, t->inverse));
    struct value *dvar = build(t, "Mul", build(t, "Mul", p, cube), build_like(t, p, -0.5));
    return grad_accumulate(c, X, build(t, "Mul", dy, slope)) &&
           grad_accumulate(c, MEAN, as_vector(t, build(t, "Neg", build(t, "Mul", s, slope)))) &&
           grad_accumulate(c, VAR, as_vector(t, dvar));
}

/* dscale = p * r, dB = s. */
static bool batch_normalization_grad(struct grad_ctx *c)
{
    struct normalized_batch t = batch_of(c->b, c->node);
    if (is_training(c->node)) {
        set_mean(&t, vector(&t, grad_output(c, SAVED_MEAN)));
        set_variance(&t, vector(&t, grad_output(c, SAVED_VAR)));
    } else {
        take_moments(&t);
    }
    struct value *dy = build_cast(c->b, grad_of_output(c, Y), t.x->dtype);
    struct value *s = build_called(c->b, "sum", norm_sum(c->b, dy, &t.along));
    struct value *p = norm_sum(c->b, build(&t, "Mul", dy, t.deviation), &t.along);
    build_called(c->b, "moment", p);
    return grad_accumulate(c, SCALE, as_vector(&t, build(&t, "Mul", p, t.inverse))) &&
           grad_accumulate(c, BIAS, as_vector(&t, s)) &&
           (is_training(c->node) ? training_grad_x(c, &t, dy, s, p) : inference_grad(c, &t, dy, s, p));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Where X keeps channel `channel`: `starts` runs of `length` elements. */
struct runs {
    int64_t *start, starts, length, channels;
};

static struct runs runs_of(struct eval_ctx *c)
{
    const struct shape *s = &c->in[X]->shape, channels = channel_shape(c->node);
    const int behind = channels.rank < s->rank ? channels.rank + 1 : s->rank;
    struct runs r = {.channels = shape_count(&channels), .length = shape_count_range(s, behind, s->rank),
                     .starts = s->dim[0]};
    r.start = arena_array(c->scratch, int64_t, (size_t)r.starts);
    return r;
}

static void find_channel(struct runs *r, int64_t channel)
{
    for (int64_t s = 0; s < r->starts; s++)
        r->start[s] = (s * r->channels + channel) * r->length;
}

static void store_statistics(struct eval_ctx *c, int64_t channel, const struct moments *m)
{
    const double momentum = op_attr_float(c->node, "momentum"),
                 rest = eval_round_to(c, norm_dtype(c->node), 1 - momentum);
    const double now[] = {m->mean, m->variance, m->mean, m->variance};
    for (int o = RUNNING_MEAN; o <= SAVED_VAR; o++) {
        double *to = eval_out_f(c, o);
        const double x = now[o - RUNNING_MEAN];
        if (to != NULL)
            to[channel] =
                o >= SAVED_MEAN ? x : eval_f(c, o == RUNNING_MEAN ? MEAN : VAR)[channel] * momentum + x * rest;
    }
}

static bool batch_normalization_eval(struct eval_ctx *c)
{
    const double *x = eval_f(c, X), epsilon = op_attr_float(c->node, "epsilon");
    double *y = eval_out_f(c, Y);
    struct runs r = runs_of(c);
    for (int64_t channel = 0; channel < r.channels; channel++) {
        find_channel(&r, channel);
        struct moments m = {eval_f(c, MEAN)[channel], eval_f(c, VAR)[channel]};
        if (is_training(c->node)) {
            m = norm_moments(x, r.start, r.starts, r.length);
            store_statistics(c, channel, &m);
        }
        const double by = eval_f(c, SCALE)[channel] / sqrt(m.variance + epsilon);
        for (int64_t s = 0; s < r.starts && y != NULL; s++)
            for (int64_t i = r.start[s]; i < r.start[s] + r.length; i++)
                y[i] = (x[i] - m.mean) * by + eval_f(c, BIAS)[channel];
    }
    return true;
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

#define OPERANDS "float[5,3] x, float[3] s, float[3] b, float[3] m, float[3] v"
#define IMAGES "double[2,3,2,5] x, double[3] s, double[3] b, double[3] m, double[3] v"
#define ACTIVATIONS "double[4,3,2] x, double[3,2] s, double[3,2] b, double[3,2] m, double[3,2] v"
#define FEED "normal,normal,normal,normal,positive"
/* The running statistics carry no gradient, so a sum that contains them has another derivative than what
 * flows: no_gradient. */
static const struct op_sample samples[] = {
    {.text = "g (" OPERANDS ") => (float[5,3] y) { y = BatchNormalization(x, s, b, m, v) }", .feed = FEED},
    {.text = "g (" IMAGES ") => (double[2,3,2,5] y) { y = BatchNormalization <epsilon = 0.1> (x, s, b, m, v) }",
     .feed = FEED},
    {.text = "g (" OPERANDS ") => (float[5,3] y) { y = BatchNormalization <training_mode = 1> (x, s, b, m, v) }",
     .feed = FEED},
    {.text = "g (" IMAGES ") => (double[2,3,2,5] y, double[3] rm, double[3] rv) "
             "{ y, rm, rv = BatchNormalization <training_mode = 1, momentum = 0.75> (x, s, b, m, v) }", .feed = FEED,
     .no_gradient = true},
    {.text = "g (float[4,3,20] x, float[3] s, float[3] b, float[3] m, float[3] v) => (float[4,3,20] y, float[3] rv) "
             "{ y, \"\", rv = BatchNormalization <training_mode = 1> (x, s, b, m, v) }", .feed = FEED,
     .no_gradient = true},
    {.text = "g (float[7] x, float[1] s, float[1] b, float[1] m, float[1] v) => (float[7] y) "
             "{ y = BatchNormalization <training_mode = 1> (x, s, b, m, v) }", .feed = FEED},
    {.text = "g (float[4,3] x, double[3] s, double[3] b, float[3] m, float[3] v) => (float[4,3] y, float[3] rm, "
             "float[3] rv) "
             "{ y, rm, rv = BatchNormalization <training_mode = 1> (x, s, b, m, v) }", .feed = FEED,
     .no_gradient = true},
    {.text = "g (" OPERANDS ") => (float[5,3] y) { y = BatchNormalization <training_mode = 1> (x, s, b, m, v) }",
     .opset = 14, .feed = FEED},
    /* Something for each element that is added before: its gradient is a sum over the samples alone. */
    {.text = "g (double[4,2,3] x, double[2,3] a, double[2] s, double[2] b, double[2] m, double[2] v) => "
             "(double[4,2,3] y) { p = Add(x, a) y = BatchNormalization <training_mode = 1> (p, s, b, m, v) }",
     .feed = "normal,normal,normal,normal,normal,positive"},
    {.text = "g (" OPERANDS ") => (float[5,3] y) { y = BatchNormalization(x, s, b, m, v) }", .opset = 9, .feed = FEED},
    {.text = "g (" OPERANDS ") => (float[5,3] y, float[3] rm, float[3] rv, float[3] sm, float[3] sv) "
             "{ y, rm, rv, sm, sv = BatchNormalization(x, s, b, m, v) }", .opset = 9, .feed = FEED,
     .no_gradient = true},
    {.text = "g (" OPERANDS ") => (float[5,3] y) { y = BatchNormalization <spatial = 0> (x, s, b, m, v) }", .opset = 7,
     .feed = FEED},
    {.text = "g (" OPERANDS ") => (float[5,3] y) { y = BatchNormalization <is_test = 1> (x, s, b, m, v) }", .opset = 6,
     .feed = FEED},
    {.text = "g (" OPERANDS ") => (float[5,3] y) { y = BatchNormalization <consumed_inputs = [0]> (x, s, b, m, v) }",
     .opset = 1, .feed = FEED},
    {.text = "g (" ACTIVATIONS ") => (double[4,3,2] y) { y = BatchNormalization <spatial = 0> (x, s, b, m, v) }",
     .opset = 7, .feed = FEED},
    {.text = "g (" ACTIVATIONS ") => (double[4,3,2] y, double[3,2] rm) "
             "{ y, rm = BatchNormalization <spatial = 0> (x, s, b, m, v) }", .opset = 8, .feed = FEED,
     .no_gradient = true},
    {.text = "g (" ACTIVATIONS ") => (double[4,3,2] y) { y = BatchNormalization <spatial = 0> (x, s, b, m, v) }",
     .opset = 6, .feed = FEED},
    {.text = "g (" IMAGES ") => (double[2,3,2,5] y) { y = BatchNormalization <spatial = 0> (x, s, b, m, v) }",
     .opset = 7, .error = "expected [3,2,5]"},
    {.text = "g (" OPERANDS ") => (float[5,3] y) { y = BatchNormalization <spatial = 0> (x, s, b, m, v) }", .opset = 9,
     .error = "spatial"},
    {.text = "g (" OPERANDS ") => (float[5,3] y, float[3] rm) { y, rm = BatchNormalization(x, s, b, m, v) }",
     .error = "without training_mode = 1"},
    {.text = "g (float[5,3] x, float[4] s) => (float[5,3] y) { y = BatchNormalization(x, s, s, s, s) }",
     .error = "expected [3]"},
    {0}};

/* In training form runtimes that only infer refuse it. */
static bool batch_normalization_stays(const struct node *n)
{
    return op_attr_int(n, "training_mode") == 0;
}

/* Where it trains, statistics are sums over what Y keeps apart: parts of them are put together in between. */
static void batch_normalization_axes(struct axes_ctx *c)
{
    axes_pass_all(c, X, Y);
    for (int i = SCALE; i <= VAR; i++)
        axes_pass(c, i, 0, Y, 1);
    for (int o = RUNNING_MEAN; o <= SAVED_VAR; o++)
        axes_pass(c, X, 1, o, 0);
}

const struct op_def op_defs_batch_normalization[] = {
    {.name = "BatchNormalization", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = batch_normalization_infer, .axes = batch_normalization_axes, .grad = batch_normalization_grad,
     .stays = batch_normalization_stays, .expand = batch_normalization_expand,
     .eval = batch_normalization_eval, .samples = samples},
    {0}};
