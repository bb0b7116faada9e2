/* LRN: with s[n,c] the sum of x[n,i]^2 over max(0, c - floor((size - 1) / 2)) <= i <= min(C - 1, c + ceil((size - 1) /
 * 2)) and d = bias + alpha / size * s
 *   y = x / d^beta
 *   dx = dy / d^beta - 2 alpha beta / size * x * (the sum of dy y / d over the windows that contain the channel)
 * Made of a sum over windows along the channels (window_sum.c). The power 3/4, which nearly all networks have, is
 * sqrt(d) sqrt(sqrt(d)): two instructions, and as exact. Spec: ONNX LRN-1, -13. */
#include "graph/axes.h"
#include "ops/window_rules.h"

#include <math.h>

#define NUMBER(label, number)                                                                                          \
    {                                                                                                                  \
        .name = (label), .type = ATTR_FLOAT, .float_default = (number)                                                 \
    }
static const struct op_attr attrs[] = {NUMBER("alpha", 1e-4),
                                       NUMBER("beta", 0.75),
                                       NUMBER("bias", 1),
                                       {.name = "size", .type = ATTR_INT, .required = true},
                                       {0}};
static const struct op_param inputs[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_version versions[] = {{.since = 1, .dtypes = FLOATS_1}, {.since = 13}, {0}};

static bool lrn_infer(struct infer_ctx *c)
{
    const int64_t size = op_attr_int(c->node, "size");
    if (infer_rank(c, 0) < 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected at least 2: [N, C, ...]", infer_in(c, 0)->name,
                           infer_rank(c, 0));
    if (size < 1)
        return infer_error(c, "attribute 'size' is %lld, expected 1 or more", (long long)size);
    if (infer_shape(c, 0)->dim[1] > INT32_MAX)
        return infer_unsupported(c, "more than %d channels are not supported", INT32_MAX);
    return infer_same_as_input(c);
}

/* Channels in front of and behind the one at hand: no more than there are. */
static void neighbours(const struct node *n, int64_t *before, int64_t *behind)
{
    const int64_t size = op_attr_int(n, "size"), most = node_input(n, 0)->shape.dim[1] - 1;
    *before = (size - 1) / 2 < most ? (size - 1) / 2 : most;
    *behind = size / 2 < most ? size / 2 : most;
}

/* ---- as other operators ----------------------------------------------------------------------------------------- */

/* The sum of x over so many channels. */
static struct value *sum_along_channels(struct builder *b, struct value *x, int64_t before, int64_t behind)
{
    const struct shape s = x->shape;
    const int64_t rest = shape_count_range(&s, 2, s.rank), size = before + 1 + behind;
    const struct window_axis none = {.in = 1, .out = 1, .size = 1, .stride = 1, .dilation = 1};
    const struct window w = {.rank = 2,
                             .axis = {none,
                                      {.in = s.dim[1],
                                       .out = s.dim[1],
                                       .size = size,
                                       .stride = 1,
                                       .dilation = 1,
                                       .pad_begin = before,
                                       .pad_end = behind},
                                      {.in = rest, .out = rest, .size = 1, .stride = 1, .dilation = 1}}};
    const struct shape lines =
        SHAPE_OF(shape_size(&s, 0), size_constant(1), shape_size(&s, 1), shape_size_range(&s, 2, s.rank));
    return build_reshape(b, window_build_sum(b, build_reshape(b, x, &lines), &w), &s);
}

/* alpha / size */
static double scale_of(const struct node *n)
{
    return op_attr_float(n, "alpha") / (double)op_attr_int(n, "size");
}

/* d. The gradient builds it again, and gets the same nodes. */
static struct value *build_base(struct builder *b, const struct node *n, struct value *x)
{
    int64_t before, behind;
    struct {
        struct builder *b;
    } c = {b};
    neighbours(n, &before, &behind);
    struct value *sum = sum_along_channels(b, build(&c, "Mul", x, x), before, behind);
    return build(&c, "Add", build(&c, "Mul", sum, build_like(&c, x, scale_of(n))),
                 build_like(&c, x, op_attr_float(n, "bias")));
}

static struct value *build_power(struct builder *b, const struct node *n, struct value *d)
{
    const double beta = op_attr_float(n, "beta");
    struct {
        struct builder *b;
    } c = {b};
    if (beta == 1)
        return d;
    if (beta == 0.5 || beta == 0.75) {
        struct value *root = build(&c, "Sqrt", d);
        return beta == 0.5 ? root : build(&c, "Mul", root, build(&c, "Sqrt", root));
    }
    return build(&c, "Pow", d, build_like(&c, d, beta));
}

static bool lrn_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    return expand_out(c, 0, build(c, "Div", x, build_power(c->b, c->node, build_base(c->b, c->node, x))));
}

static bool lrn_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *dy = grad_of_output(c, 0);
    const double factor = -2 * scale_of(c->node) * op_attr_float(c->node, "beta");
    int64_t before, behind;
    if (shape_count(&x->shape) == 0)
        return true;
    neighbours(c->node, &before, &behind);
    struct value *d = build_base(c->b, c->node, x);
    struct value *share = build(c, "Div", build(c, "Mul", dy, grad_output(c, 0)), d);
    struct value *sum = sum_along_channels(c->b, share, behind, before);
    struct value *others = build(c, "Mul", build(c, "Mul", sum, build_like(c, x, factor)), x);
    return grad_accumulate(c, 0, build(c, "Add", build(c, "Div", dy, build_power(c->b, c->node, d)), others));
}

/* ---- value ------------------------------------------------------------------------------------------------------ */

static bool lrn_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const int64_t channels = x->shape.dim[1], rest = shape_count_range(&x->shape, 2, x->shape.rank);
    const double scale = scale_of(c->node), bias = op_attr_float(c->node, "bias"),
                 beta = op_attr_float(c->node, "beta");
    int64_t before, behind;
    double *y = eval_out_f(c, 0);
    neighbours(c->node, &before, &behind);
    for (int64_t k = 0; y != NULL && k < x->count; k++) {
        const int64_t channel = k / rest % channels;
        double sum = 0;
        for (int64_t i = channel - before; i <= channel + behind; i++) {
            const double v = i < 0 || i >= channels ? 0 : x->f[k + (i - channel) * rest];
            sum += v * v;
        }
        y[k] = x->f[k] / pow(bias + scale * sum, beta);
    }
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,7,3,4] x) => (float[2,7,3,4] y) { y = LRN <size = 5> (x) }"},
    {.text = "g (double[2,7,3,4] x) => (double[2,7,3,4] y) { y = LRN <size = 5, alpha = 0.9, beta = 0.75, bias = 2.0> "
             "(x) }"},
    {.text = "g (double[1,6,5] x) => (double[1,6,5] y) { y = LRN <size = 4, alpha = 0.7, beta = 0.6> (x) }",
     .opset = 1},
    {.text = "g (double[3,5] x) => (double[3,5] y) { y = LRN <size = 3, alpha = 0.7, beta = 0.5, bias = 1.5> (x) }"},
    {.text = "g (double[2,5,2,1,3] x) => (double[2,5,2,1,3] y) { y = LRN <size = 2, alpha = 0.5, beta = 1.0> (x) }"},
    {.text = "g (double[2,3,4] x) => (double[2,3,4] y) { y = LRN <size = 9000000000000, alpha = 9000000000000.0, beta "
             "= 2.0> (x) }"},
    {.text = "g (float[1,40,5] x) => (float[1,40,5] y) { y = LRN <size = 33, alpha = 0.8> (x) }"},
    {.text = "g (double[2,3] x) => (double[2,3] y) { y = LRN <size = 1, alpha = 1.0, beta = -0.5> (x) }"},
    {.text = "g (float[1,24] x) => (float[1,24] y) { y = LRN <size = 24, alpha = 0.8> (x) }"},
    {.text = "g (float[2,0,3] x) => (float[2,0,3] y) { y = LRN <size = 3> (x) }"},
    {.text = "g (bfloat16[1,4,3] x) => (bfloat16[1,4,3] y) { y = LRN <size = 3> (x) }"},
    {.text = "g (float[5] x) => (float[5] y) { y = LRN <size = 3> (x) }", .error = "has rank 1, expected at least 2"},
    {.text = "g (float[2,5] x) => (float[2,5] y) { y = LRN <size = 0> (x) }", .error = "attribute 'size' is 0"},
    {.text = "g (float[2,5] x) => (float[2,5] y) { y = LRN(x) }", .error = "size"},
    {0}};

/* What onnxruntime takes. */
static bool lrn_stays(const struct node *n)
{
    return n->inputs.data[0]->shape.rank == 4 && op_attr_int(n, "size") % 2 == 1;
}

const struct op_def op_defs_lrn[] = {{.name = "LRN",
                                      .versions = versions,
                                      .inputs = inputs,
                                      .outputs = outputs,
                                      .attrs = attrs,
                                      .infer = lrn_infer,
                                      .axes = axes_samples,
                                      .grad = lrn_grad,
                                      .stays = lrn_stays,
                                      .expand = lrn_expand,
                                      .eval = lrn_eval,
                                      .samples = samples},
                                     {0}};
