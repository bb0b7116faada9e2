/* stepc.SoftmaxCrossEntropyProbabilities: SoftmaxCrossEntropyLoss with a probability for each class in the place of a
 * class number, as torch.nn.CrossEntropyLoss has it. Scores and probabilities [N, C, d1...], class weights [C].
 *
 * The contract: that of LogSoftmax over C, Mul with the probabilities, then with the weights if there are any,
 * ReduceSum over C, Neg; for a mean ReduceMean over all positions, whose weights do not divide (PyTorch's mean is one
 * over samples here), for a sum ReduceSum.
 * Source: PyTorch, torch.nn.CrossEntropyLoss, "Probabilities for each class". ONNX has class numbers only; R40 in
 * docs/readings.md. */
#include "ops/loss_rules.h"

#include <math.h>

static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_param inputs[] = {
    {.name = "scores", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "probabilities", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "weights", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF,
     .why = "ONNX marks the weights of classes as not differentiable, and PyTorch trains none"},
    {0}};
static const struct op_param outputs[] = {
    {.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "log_prob", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},
    {0}};

static struct shape without_classes(const struct shape *scores)
{
    struct shape s = *scores;
    s.rank--;
    for (int d = 1; d < s.rank; d++)
        shape_set(&s, d, shape_size(scores, d + 1));
    return s;
}

static bool soft_infer(struct infer_ctx *c)
{
    if (!loss_infer_probabilities(c))
        return false;
    const struct shape positions = without_classes(infer_shape(c, 0));
    const bool each = loss_of(c->node).reduction == LOSS_NONE;
    return infer_out(c, 0, DTYPE_UNDEFINED, each ? &positions : &SHAPE_SCALAR) &&
           infer_out(c, 1, DTYPE_UNDEFINED, infer_shape(c, 0));
}

static struct value *weighted(struct expand_ctx *c, struct value *x)
{
    struct value *const weights = expand_in(c, 2);
    struct shape s = SHAPE_SCALAR;
    if (weights == NULL)
        return x;
    for (int d = 0; d < x->shape.rank; d++)
        shape_add(&s, d == 1 ? shape_size(&x->shape, 1) : size_constant(1));
    return build(c, "Mul", x, build_reshape(c->b, weights, &s));
}

static bool soft_expand(struct expand_ctx *c)
{
    const struct loss l = loss_of(c->node);
    const int axis = 1;
    struct value *const log_prob = build_with(c, "LogSoftmax", ATTRS(attr_int("axis", 1)), expand_in(c, 0));
    struct value *const terms = weighted(c, build(c, "Mul", log_prob, expand_in(c, 1)));
    struct value *y = build(c, "Neg", build_reduce_sum(c->b, terms, &axis, 1, false));
    if (l.reduction != LOSS_NONE)
        y = build_with(c, l.reduction == LOSS_SUM ? "ReduceSum" : "ReduceMean", ATTRS(attr_int("keepdims", 0)), y);
    return expand_out(c, 0, y) && expand_out(c, 1, log_prob);
}

/* The loss of a position; log_prob, where it is wanted, beside it. */
static double soft_at(const struct eval_ctx *c, const struct loss *l, int64_t from)
{
    const double *const x = eval_f(c, 0), *const t = eval_f(c, 1);
    double *const log_prob = eval_out_f(c, 1);
    const double max = eval_max(x + from, l->c, l->d);
    double sum = 0, loss = 0;
    for (int64_t k = 0; k < l->c; k++)
        sum += exp(x[from + k * l->d] - max);
    for (int64_t k = 0; k < l->c; k++) {
        const int64_t i = from + k * l->d;
        const double value = x[i] - max - log(sum);
        loss -= value * t[i] * (eval_has(c, 2) ? eval_f(c, 2)[k] : 1);
        if (log_prob != NULL)
            log_prob[i] = value;
    }
    return loss;
}

static bool soft_eval(struct eval_ctx *c)
{
    const struct loss l = loss_of(c->node);
    double *const y = eval_out_f(c, 0), total = 0;
    for (int64_t p = 0; p < l.n * l.d; p++) {
        const double loss = soft_at(c, &l, p / l.d * l.c * l.d + p % l.d);
        total += loss;
        if (y != NULL && l.reduction == LOSS_NONE)
            y[p] = loss;
    }
    if (y != NULL && l.reduction != LOSS_NONE)
        y[0] = l.reduction == LOSS_SUM ? total : total / (double)(l.n * l.d);
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[5,10] x, float[5,10] t) => (float y) "
             "{ y = SoftmaxCrossEntropyLoss <ignore_index = -100> (x, t) }",
     .feed = "normal,positive"},
    {.text = "g (double[2,4,3] x, double[2,4,3] t, double[4] w) => (double y, double[2,4,3] p) "
             "{ y, p = SoftmaxCrossEntropyLoss(x, t, w) }", .feed = "normal,positive,positive"},
    {.text = "g (float[3,7] x, float[3,7] t) => (float y) "
             "{ y = SoftmaxCrossEntropyLoss <reduction = \"sum\"> (x, t) }", .feed = "normal,positive", .opset = 12},
    {.text = "g (double[2,3,2,2] x, double[2,3,2,2] t) => (double[2,2,2] y) "
             "{ y = stepc.SoftmaxCrossEntropyProbabilities <reduction = \"none\", ignore_index = -1> (x, t) }",
     .feed = "normal,positive"},
    {.text = "g (float16[6,5] x, float16[6,5] t) => (float16 y) { y = SoftmaxCrossEntropyLoss(x, t) }",
     .feed = "normal,positive"},
    {.text = "g (float[5,3] x, float[5,2] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }",
     .error = "input 1 't' has shape [5,2], expected [5,3]: a probability for each class"},
    {.text = "g (float[5,3] x, float[5] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }",
     .error = "input 1 't' is float, expected int32 or int64"},
    {0}};

const struct op_def op_defs_soft_labels[] = {
    {.domain = DOMAIN_STEPC, .name = "SoftmaxCrossEntropyProbabilities", .versions = versions, .inputs = inputs,
     .outputs = outputs, .attrs = loss_attrs, .infer = soft_infer, .axes = loss_axes,
     .expand = soft_expand, .eval = soft_eval,
     .samples = samples},
    {0}};
