/* CausalConvWithState: every channel is convolved with a window of its own over what came before, past_state in
 * front of it.
 *   P = past_state, input (zeros in place of the past where it is omitted), with K - 1 more positions than the input
 *   Y[b,c,t] = activation(sum over k of weight[c,0,k] * P[b,c,t+k] + bias[c])
 *   present_state = the last K - 1 positions of P
 * The activation is none, silu or swish: y * sigmoid(y). Expanded into Conv; in float, or in double where the input
 * is: float16 is rounded once, at the end. Spec: ONNX CausalConvWithState-27. */
#include "ops/move_rules.h"

#include <math.h>
#include <string.h>

enum { X, WEIGHT, BIAS, PAST };

static const struct op_attr attrs[] = {{.name = "activation", .type = ATTR_STRING, .string_default = "none"}, {0}};
static const struct op_param inputs[] = {
    {.name = "input", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "weight", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "bias", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},
    {.name = "past_state", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS},
                                          {.name = "present_state", .type = 'T', .dtypes = DTYPES_FLOATS},
                                          {0}};
static const struct op_version versions[] = {{.since = 27}, {0}};

static bool is_activated(const struct node *n)
{
    return strcmp(op_attr_string(n, "activation"), "none") != 0;
}

static bool causal_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, X), *w = infer_shape(c, WEIGHT);
    const char *how = op_attr_string(c->node, "activation");
    if (strcmp(how, "none") != 0 && strcmp(how, "silu") != 0 && strcmp(how, "swish") != 0)
        return infer_error(c, "attribute 'activation' is '%s', expected 'none', 'silu' or 'swish'", how);
    if (x->rank != 3 || w->rank != 3 || w->dim[2] < 1)
        return infer_error(
            c, "input and weight have shapes %s and %s, expected [batch,channels,length] and [channels,1,window]",
            shape_text(c->diag->arena, x), shape_text(c->diag->arena, w));
    const struct size channels = shape_size(x, 1), window = shape_size(w, 2);
    const struct shape state = SHAPE_OF(shape_size(x, 0), channels, size_sum(window, size_constant(-1)));
    return move_infer_shape(c, WEIGHT, &SHAPE_OF(channels, size_constant(1), window)) &&
           move_infer_shape(c, BIAS, &SHAPE_OF(channels)) &&
           move_infer_shape(c, PAST, &state) && infer_out(c, 0, DTYPE_UNDEFINED, x) &&
           infer_out(c, 1, DTYPE_UNDEFINED, &state);
}

static struct value *wide(struct expand_ctx *c, int i, enum dtype type)
{
    return expand_in(c, i) != NULL ? build_cast(c->b, expand_in(c, i), type) : NULL;
}

static bool causal_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, X), *past = expand_in(c, PAST);
    const enum dtype type = dtype_computed(x->dtype);
    const struct size before = size_sum(shape_size(&expand_in(c, WEIGHT)->shape, 2), size_constant(-1));
    const struct shape state = SHAPE_OF(shape_size(&x->shape, 0), shape_size(&x->shape, 1), before);
    if (past == NULL)
        past = build_expand(c->b, build_like(c, x, 0.0), &state);
    struct value *all = state.dim[2] > 0 ? build_with(c, "Concat", ATTRS(attr_int("axis", 2)), past, x) : x;
    if (expand_wants(c, 0)) {
        const struct attr *each = ATTRS(attr_int("group", x->shape.dim[1]));
        struct value *y =
            build_with(c, "Conv", each, build_cast(c->b, all, type), wide(c, WEIGHT, type), wide(c, BIAS, type));
        if (is_activated(c->node))
            y = build(c, "Mul", y, build(c, "Sigmoid", y));
        if (!expand_out(c, 0, build_cast(c->b, y, x->dtype)))
            return false;
    }
    if (!expand_wants(c, 1))
        return !c->b->failed;
    const struct size from = shape_size(&x->shape, 2), to = size_sum(from, before);
    const int64_t axis = 2;
    if (state.dim[2] == 0)
        return expand_out(c, 1, past);
    struct value *const first = build_dims(c->b, &SHAPE_OF(from));
    struct value *const behind = build_dims(c->b, &SHAPE_OF(to));
    return expand_out(c, 1, build(c, "Slice", all, first, behind, build_ints(c->b, &axis, 1)));
}

/* Position t of a channel, counted from the first of the past. */
static double position(const struct eval_ctx *c, int64_t channel, int64_t t)
{
    const int64_t length = c->in[X]->shape.dim[2], before = c->in[WEIGHT]->shape.dim[2] - 1;
    if (t >= before)
        return c->in[X]->f[channel * length + t - before];
    return eval_has(c, PAST) ? c->in[PAST]->f[channel * before + t] : 0;
}

static bool causal_eval(struct eval_ctx *c)
{
    const struct shape *x = &c->in[X]->shape;
    const int64_t channels = x->dim[1], length = x->dim[2], window = c->in[WEIGHT]->shape.dim[2];
    for (int64_t k = 0; k < x->dim[0] * channels; k++) {
        for (int64_t t = 0; eval_wants(c, 0) && t < length; t++) {
            double sum = eval_has(c, BIAS) ? eval_f(c, BIAS)[k % channels] : 0;
            for (int64_t j = 0; j < window; j++)
                sum += c->in[WEIGHT]->f[k % channels * window + j] * position(c, k, t + j);
            eval_out_f(c, 0)[k * length + t] = is_activated(c->node) ? sum / (1 + exp(-sum)) : sum;
        }
        for (int64_t t = 0; eval_wants(c, 1) && t < window - 1; t++)
            eval_out_f(c, 1)[k * (window - 1) + t] = position(c, k, length + t);
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text =
         "g (float[2,3,5] x, float[3,1,4] w) => (float[2,3,5] y, float[2,3,3] s) { y, s = CausalConvWithState(x, w) }"},
    {.text = "g (float[2,3,5] x, float[3,1,4] w, float[3] b, float[2,3,3] p) => (float[2,3,5] y, float[2,3,3] s) "
             "{ y, s = CausalConvWithState <activation = \"silu\"> (x, w, b, p) }"},
    {.text = "g (double[1,2,1] x, double[2,1,4] w, double[1,2,3] p) => (double[1,2,1] y, double[1,2,3] s) "
             "{ y, s = CausalConvWithState <activation = \"swish\"> (x, w, , p) }"},
    {.text =
         "g (float[1,2,4] x, float[2,1,1] w) => (float[1,2,4] y, float[1,2,0] s) { y, s = CausalConvWithState(x, w) }"},
    {.text = "g (float16[1,2,4] x, float16[2,1,2] w) => (float16[1,2,4] y, float16[1,2,1] s) { y, s = "
             "CausalConvWithState(x, w) }",
     .tolerance = 2e-3},
    {.text = "g (float[2,3,5] x, float[3,1,4] w, float[2] b) => (float[2,3,5] y, float[2,3,3] s) { y, s = "
             "CausalConvWithState(x, w, b) }",
     .error = "input 2 'b' has shape [2], expected [3]"},
    {.text =
         "g (float[2,3,5] x, float[3,4] w) => (float[2,3,5] y, float[2,3,3] s) { y, s = CausalConvWithState(x, w) }",
     .error = "expected [batch,channels,length] and [channels,1,window]"},
    {.text = "g (float[2,3,5] x, float[3,1,4] w) => (float[2,3,5] y, float[2,3,3] s) { y, s = CausalConvWithState "
             "<activation = \"relu\"> (x, w) }",
     .error = "attribute 'activation' is 'relu'"},
    {0}};

const struct op_def op_defs_causal_conv[] = {{.name = "CausalConvWithState",
                                              .versions = versions,
                                              .inputs = inputs,
                                              .outputs = outputs,
                                              .attrs = attrs,
                                              .infer = causal_infer,
                                              .expand = causal_expand,
                                              .eval = causal_eval,
                                              .samples = samples},
                                             {0}};
