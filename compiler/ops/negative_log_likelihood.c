/* NegativeLogLikelihoodLoss, and stepc.PickLabels, which it is made of. With x the scores, t the label and w its weight
 * at each position: l = 0 - x[t] * w; none: l, sum: the sum of l, mean: that divided by the sum of w (R32 in
 * docs/readings.md). Sums in ReduceSum's order.
 * Spec: ONNX NegativeLogLikelihoodLoss-12, -13 and -22 (22 adds bfloat16). */
#include "ops/loss_rules.h"

#include <string.h>

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define FLOATS_12 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))

static const struct op_version versions[] = {{.since = 12, .dtypes = FLOATS_12},
                                             {.since = 13, .dtypes = FLOATS_12},
                                             {.since = 22},
                                             {0}};
static const struct op_param inputs[] = {
    {.name = "input", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "target", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
    {.name = "weight", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF,
     .why = "ONNX marks the weights of classes as not differentiable, and PyTorch trains none"},
    {0}};
static const struct op_param outputs[] = {{.name = "loss", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool nll_infer(struct infer_ctx *c)
{
    if (!loss_infer_inputs(c))
        return false;
    const struct shape y = loss_shape(c->node);
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- the loss ---------------------------------------------------------------------------------------------------- */

static bool nll_expand(struct expand_ctx *c)
{
    struct loss_nodes l = loss_nodes_of(c->b, c->node);
    return expand_out(c, 0, loss_of_logarithms(&l));
}

static bool nll_eval(struct eval_ctx *c)
{
    const struct loss l = loss_of(c->node);
    const int64_t positions = l.n * l.d;
    double *y = eval_out_f(c, 0), *each = arena_array(c->scratch, double, (size_t)positions);
    double *weight = arena_array(c->scratch, double, (size_t)positions);
    for (int64_t p = 0; p < positions; p++) {
        int64_t label;
        bool ignored;
        if (!loss_label(c, &l, p, &label, &ignored))
            return false;
        weight[p] = loss_weight(c, label, ignored);
        if (!ignored)
            each[p] = 0 - eval_round(c, eval_f(c, 0)[(p / l.d * l.c + label) * l.d + p % l.d] * weight[p]);
    }
    if (y == NULL)
        return true;
    if (l.reduction == LOSS_NONE) {
        memcpy(y, each, (size_t)positions * sizeof *y);
        return true;
    }
    y[0] = eval_sum_row(c, c->in[0]->dtype, each, positions, 1);
    if (l.reduction == LOSS_MEAN)
        y[0] = eval_round(c, y[0] / eval_sum_row(c, c->in[0]->dtype, weight, positions, 1));
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[5,10] x, int64[5] t) => (float y) { y = NegativeLogLikelihoodLoss(x, t) }",
     .feed = "normal,index:10"},
    {.text = "g (double[2,4,3] x, int32[2,3] t, double[4] w) => (double y) "
             "{ y = NegativeLogLikelihoodLoss <ignore_index = 2> (x, t, w) }",
     .feed = "normal,index:4,positive"},
    {.text = "g (double[2,4,3] x, int64[2,3] t) => (double[2,3] y) "
             "{ y = NegativeLogLikelihoodLoss <reduction = \"none\", ignore_index = 1> (x, t) }",
     .feed = "normal,index:4"},
    {.text = "g (double[3,4] x, int64[3] t, double[4] w) => (double y) "
             "{ y = NegativeLogLikelihoodLoss <reduction = \"sum\"> (x, t, w) }", .feed = "normal,index:4,positive"},
    {.text = "g (double[2,5000] x, int32[2] t) => (double[2] y) "
             "{ y = NegativeLogLikelihoodLoss <reduction = \"none\"> (x, t) }",
     .feed = "normal,index:5000"},
    {.text = "g (float[2,3] x) => (float y) { t = Constant <value_ints = [-1, 1]> () "
             "y = NegativeLogLikelihoodLoss <ignore_index = -1> (x, t) }"},
    /* a number that is no double */
    {.text = "g (float[3,3] x) => (float y) { t = Constant <value = int64[3] {-9223372036854775807, 2, 1}> () "
             "y = NegativeLogLikelihoodLoss <ignore_index = -9223372036854775807> (x, t) }"},
    {.text = "g (float[5,10] x, int64[5,1] t) => (float y) { y = NegativeLogLikelihoodLoss(x, t) }",
     .error = "expected [5]"},
    {0}};

/* ---- PickLabels: y[n, d...] = x[n, t[n, d...], d...]; 0 where the label is ignored ------------------------------- */

static const struct op_attr pick_attrs[] = {{.name = "ignore_index", .type = ATTR_INT, .no_default = true}, {0}};
static const struct op_version pick_versions[] = {{.since = 1}, {0}};
static const struct op_param pick_inputs[] = {
    {.name = "x", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "labels", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param pick_outputs[] = {{.name = "y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

/* The axes of x other than that of classes are those of labels, or 1 and stretch. */
static bool pick_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *labels = infer_shape(c, 1);
    bool fits = x->rank == labels->rank + 1 && labels->rank > 0;
    for (int d = 0; fits && d < labels->rank; d++) {
        const int64_t dim = x->dim[d == 0 ? 0 : d + 1];
        fits = dim == 1 || dim == labels->dim[d];
    }
    if (fits)
        return infer_out(c, 0, DTYPE_UNDEFINED, labels);
    struct arena text = {0};
    infer_error(c, "labels of shape %s do not pick from %s, [batch, classes, ...]", shape_text(&text, labels),
                shape_text(&text, x));
    arena_free(&text);
    return false;
}

/* Per axis of labels the stride in x, `stride` being x's own strides; *classes: that of the axis of classes. */
static void strides_under_labels(const struct shape *x, const int64_t *stride, int64_t *out)
{
    for (int d = 0; d < x->rank - 1; d++) {
        const int from = d == 0 ? 0 : d + 1;
        out[d] = x->dim[from] == 1 ? 0 : stride[from];
    }
}

/* dx[n, c, d...] = dy[n, d...] where c is the label and not ignored, else 0; where x stretches, the sum of that. */
static bool pick_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *labels = grad_input(c, 1);
    struct loss_nodes l = {.b = c->b, .loss = {.c = x->shape.dim[1]}, .scores = x, .labels = labels};
    struct value *mask = loss_label_mask(&l);
    int64_t ignore;
    if (loss_ignore_index(c->node, &ignore)) {
        struct value *ignored = loss_is_ignored(c->b, labels, ignore);
        mask = build(c, "And", mask, build(c, "Not", loss_with_class_axis(c->b, ignored)));
    }
    struct value *dy = loss_with_class_axis(c->b, grad_of_output(c, 0));
    return grad_accumulate(c, 0, build(c, "Where", mask, dy, build_like(c, x, 0.0)));
}

/* x at [n, 1, d...] of all classes, stretched to what the labels have. */
static struct value *stretched(struct expand_ctx *c, struct value *x, const struct shape *labels)
{
    struct shape s = x->shape;
    for (int d = 0; d < labels->rank; d++)
        shape_set(&s, d == 0 ? 0 : d + 1, shape_size(labels, d));
    return build_expand(c->b, x, &s);
}

/* GatherElements, by the label 0 where there is none. */
static bool pick_plain(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *labels = expand_in(c, 1), *ignored = NULL;
    const struct shape *const shape = &labels->shape;
    int64_t ignore;
    if (loss_ignore_index(c->node, &ignore)) {
        ignored = loss_is_ignored(c->b, labels, ignore);
        labels = build(c, "Where", ignored, build_like(c, labels, 0.0), labels);
    }
    x = stretched(c, x, shape);
    struct value *y = build_with(c, "GatherElements", ATTRS(attr_int("axis", 1)), x,
                                 loss_with_class_axis(c->b, labels));
    y = build_reshape(c->b, y, shape);
    return expand_out(c, 0, ignored != NULL ? build(c, "Where", ignored, build_like(c, y, 0.0), y) : y);
}

static bool pick_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0), *labels = eval_input(c, 1);
    double *y = eval_out_f(c, 0);
    struct loss l = {.c = x->shape.dim[1]};
    l.has_ignore = loss_ignore_index(c->node, &l.ignore);
    int64_t stride[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK], index[SHAPE_MAX_RANK] = {0};
    shape_strides(&x->shape, stride);
    strides_under_labels(&x->shape, stride, step);
    for (int64_t p = 0; p < labels->count; p++) {
        int64_t label;
        bool ignored;
        if (!loss_label(c, &l, p, &label, &ignored))
            return false;
        int64_t from = ignored ? 0 : label * stride[1];
        for (int d = 0; d < labels->shape.rank; d++)
            from += index[d] * step[d];
        if (y != NULL && !ignored)
            y[p] = x->f[from];
        shape_next(&labels->shape, index);
    }
    return true;
}

/* Is the label the one to ignore? NULL: none is. */
static const struct expr *is_ignored(struct lower_ctx *c, const struct expr *label)
{
    int64_t ignore;
    if (!loss_ignore_index(c->node, &ignore))
        return NULL;
    return expr_binary(c->arena, EXPR_EQ, label, expr_int(c->arena, label->dtype, ignore));
}

static void check_labels(struct lower_ctx *c, const struct expr *label)
{
    lower_add_check(c, lower_shape(c, 1), label, 0, lower_shape(c, 0)->dim[1], "STEPC_E_LABEL");
    struct check *check = &c->kernel->checks.data[c->kernel->checks.count - 1];
    check->has_except = loss_ignore_index(c->node, &check->except);
}

static bool pick_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0);
    const struct expr *label = lower_in(c, 1), *ignored = is_ignored(c, label), *at = label;
    if (ignored != NULL) /* an ignored label may lie outside: nothing is read by it */
        at = expr_select(c->arena, ignored, expr_int(c->arena, label->dtype, 0), label);
    struct access from = {.buffer = x.buffer, .offset = x.offset, .term_count = 1};
    strides_under_labels(&x.shape, x.stride, from.stride);
    from.term[0] = (struct access_term){expr_cast(c->arena, DTYPE_INT64, at), x.stride[1], x.shape.dim[1]};
    const struct expr *y = lower_load_at(c, &from);
    if (ignored != NULL)
        y = expr_select(c->arena, ignored, expr_number(c->arena, y->dtype, 0), y);
    if (!lower_map(c, y))
        return false;
    check_labels(c, label);
    return true;
}

static const struct op_sample pick_samples[] = {
    {.text = "g (float[5,10] x, int64[5] t) => (float[5] y) { y = stepc.PickLabels(x, t) }", .feed = "normal,index:10"},
    {.text = "g (double[2,4,3] x, int32[2,3] t) => (double[2,3] y) { y = stepc.PickLabels <ignore_index = 1> (x, t) }",
     .feed = "normal,index:4"},
    {.text = "g (double[1,4,1] x, int32[2,3] t) => (double[2,3] y) { y = stepc.PickLabels(x, t) }",
     .feed = "normal,index:4"},
    {.text = "g (float[5,10] x, int64[4] t) => (float[4] y) { y = stepc.PickLabels(x, t) }", .error = "do not pick"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_negative_log_likelihood[] = {
    {.name = "NegativeLogLikelihoodLoss", .versions = versions, .inputs = inputs, .outputs = outputs,
     .attrs = loss_attrs, .infer = nll_infer, .axes = loss_axes,
     .expand = nll_expand, .eval = nll_eval, .selects_from = loss_selects_from,
     .bounded = loss_bounded, .samples = samples},
    {.domain = DOMAIN_STEPC, .name = "PickLabels", .versions = pick_versions, .inputs = pick_inputs,
     .outputs = pick_outputs, .attrs = pick_attrs, .infer = pick_infer, .grad = pick_grad,
     .plain = pick_plain, .eval = pick_eval,
     .lower = pick_lower, .selects_from = loss_selects_from, .samples = pick_samples},
    {0}};
