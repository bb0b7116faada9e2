/* SoftmaxCrossEntropyLoss, and stepc.SoftmaxCrossEntropyGrad, its derivative in scores. Scores [N, C, d1...], labels
 * [N, d1...], class weights [C]. One template kernel gives loss, log_prob and gradient in one pass over scores.
 *
 * The contract. With m the maximum over C, e = exp(x - m), s the sum of e (16 lanes if nothing follows C, else in index
 * order), t the label and w its weight (1 without weights) at each position:
 *   loss      (log(s) - (x[t] - m)) * w; 0 where the label is ignored
 *   sum       of those over all positions in index order, 1,024 at a time: one accumulator for each 1,024, one for
 *             their sums; mean: that divided by the sum of w, which is made likewise (docs/readings.md, R32)
 *   log_prob  (x - m) - log(s)
 *   grad      (e * (1 / s) - [c = t]) * (w * (1 / sum of w)), for sum and none: * w; 0 where ignored; then * dloss
 * Without weights and ignore_index the sum of w is the number of positions.
 * Spec: ONNX SoftmaxCrossEntropyLoss-12 and -13 (13 adds bfloat16). */
#include "ops/loss_rules.h"

#include <stddef.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define FLOATS_12 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))

/* PyTorch's exporter writes targets that are probabilities as floating labels of the scores' shape: another loss. */
static bool loss_upgrade(struct upgrade_ctx *c)
{
    const struct value *const scores = node_input(c->node, 0), *const labels = node_input(c->node, 1);
    if (scores == NULL || labels == NULL || !dtype_is_float(labels->dtype) ||
        labels->shape.rank != scores->shape.rank || c->diag->strict)
        return true;
    node_remove_attr(c->node, "ignore_index"); /* of a class number */
    c->node->def = op_find(DOMAIN_STEPC, "SoftmaxCrossEntropyProbabilities");
    return true;
}

static const struct op_version versions[] = {
    {.since = 12, .dtypes = FLOATS_12}, {.since = 13, .upgrade = loss_upgrade}, {0}};
static const struct op_version grad_versions[] = {{.since = 1}, {0}};

#define SCORES {.name = "scores", .type = 'T', .dtypes = DTYPES_FLOATS}
#define LABELS {.name = "labels", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF}
#define WEIGHTS                                                                                                        \
    {.name = "weights", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF,                \
     .why = "ONNX marks the weights of classes as not differentiable, and PyTorch trains none"}
static const struct op_param inputs[] = {SCORES, LABELS, WEIGHTS, {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS},
                                          {.name = "log_prob", .type = 'T', .dtypes = DTYPES_FLOATS,
                                           .flags = PARAM_OPTIONAL},
                                          {0}};
static const struct op_param grad_inputs[] = {
    SCORES, LABELS, WEIGHTS, {.name = "dloss", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param grad_outputs[] = {{.name = "dscores", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool loss_infer(struct infer_ctx *c)
{
    if (!loss_infer_inputs(c))
        return false;
    const struct shape y = loss_shape(c->node);
    return infer_out(c, 0, DTYPE_UNDEFINED, &y) && infer_out(c, 1, DTYPE_UNDEFINED, infer_shape(c, 0));
}

/* dloss is a scalar under every reduction: what flows into a loss per position is multiplied outside,
 * which fuses as well. */
static bool grad_infer(struct infer_ctx *c)
{
    if (!loss_infer_inputs(c))
        return false;
    if (infer_rank(c, 3) != 0)
        return infer_error(c, "input 3 '%s' has rank %d, expected a scalar", infer_in(c, 3)->name, infer_rank(c, 3));
    return infer_out(c, 0, DTYPE_UNDEFINED, infer_shape(c, 0));
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static struct value *through_loss(struct grad_ctx *c, const struct loss *l)
{
    const bool per_position = l->reduction == LOSS_NONE;
    struct value *dy = grad_of_output(c, 0);
    struct attr attrs[3] = {attr_string("reduction", op_attr_string(c->node, "reduction"))};
    if (l->has_ignore)
        attrs[1] = attr_int("ignore_index", l->ignore);
    struct value *d = build_with(c, "stepc.SoftmaxCrossEntropyGrad", attrs, grad_input(c, 0), grad_input(c, 1),
                                 grad_input(c, 2), per_position ? build_like(c, dy, 1.0) : dy);
    return per_position ? build(c, "Mul", d, loss_with_class_axis(c->b, dy)) : d;
}

/* From the loss: (softmax - onehot) w dy (/ sum of w). From log_prob, as in LogSoftmax: d - softmax sum(d). */
static bool loss_grad(struct grad_ctx *c)
{
    const struct loss l = loss_of(c->node);
    const int axis = 1;
    if (grad_has_output(c, 0) && !grad_accumulate(c, 0, through_loss(c, &l)))
        return false;
    if (!grad_has_output(c, 1))
        return true;
    struct value *d = grad_of_output(c, 1);
    struct value *softmax = build(c, "Exp", grad_output(c, 1));
    return grad_accumulate(c, 0,
                           build(c, "Sub", d, build(c, "Mul", softmax, build_reduce_sum(c->b, d, &axis, 1, true))));
}

/* Runtimes know the loss as a function of these at best. */
static bool loss_plain(struct expand_ctx *c)
{
    struct loss_nodes l = loss_nodes_of(c->b, c->node);
    l.scores = build_with(c, "LogSoftmax", ATTRS(attr_int("axis", 1)), l.scores);
    if (expand_wants(c, 1) && !expand_out(c, 1, l.scores))
        return false;
    return !expand_wants(c, 0) || expand_out(c, 0, loss_of_logarithms(&l));
}

/* In ordinary operators: for gradients of this gradient. */
static bool grad_expand(struct expand_ctx *c)
{
    struct loss_nodes l = loss_nodes_of(c->b, c->node);
    struct value *softmax = build_with(c, "Softmax", ATTRS(attr_int("axis", 1)), l.scores);
    struct value *y = build(c, "Sub", softmax, build_cast(c->b, loss_label_mask(&l), l.scores->dtype));
    struct value *factor = loss_position_weights(&l);
    if (factor != NULL) {
        struct value *w = loss_with_class_axis(c->b, factor);
        struct value *zero = build_like(c, w, 0.0);
        y = build(c, "Where", build(c, "Equal", w, zero), zero, build(c, "Mul", y, w));
    }
    if (l.loss.reduction == LOSS_MEAN)
        y = build(c, "Mul", y, build(c, "Reciprocal", loss_total_weight(&l, factor)));
    return expand_out(c, 0, build(c, "Mul", y, expand_in(c, 3)));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

struct position {
    int64_t from; /* first score: element 0 of C */
    int64_t label;
    bool ignored;
    double weight, max, sum;
};

/* e of the position goes to e[0..C). */
static bool look_at(const struct eval_ctx *c, const struct loss *l, int64_t p, double *e, struct position *out)
{
    const enum dtype dtype = c->in[0]->dtype;
    const double *x = eval_f(c, 0) + p / l->d * l->c * l->d + p % l->d;
    *out = (struct position){.from = x - eval_f(c, 0), .max = eval_max(x, l->c, l->d)};
    if (!loss_label(c, l, p, &out->label, &out->ignored))
        return false;
    out->weight = loss_weight(c, out->label, out->ignored);
    for (int64_t k = 0; k < l->c; k++)
        e[k] = eval_math(c, dtype, MATH_EXP, eval_round(c, x[k * l->d] - out->max));
    if (l->d == 1)
        out->sum = eval_sum_lanes(c, dtype, e, l->c, 1);
    for (int64_t k = 0; k < l->c && l->d != 1; k++)
        out->sum = eval_round(c, out->sum + e[k]);
    return true;
}

/* A sum over positions in index order. */
struct total {
    double done, block;
};

static void add_position(const struct eval_ctx *c, struct total *t, int64_t p, double x)
{
    if (p > 0 && p % EVAL_BLOCK_OF_LOSS == 0) {
        t->done = eval_round(c, t->done + t->block);
        t->block = 0;
    }
    t->block = eval_round(c, t->block + x);
}

static double total_of(const struct eval_ctx *c, const struct total *t)
{
    return eval_round(c, t->done + t->block);
}

/* Sum of all weights, in index order; the labels have been looked at. */
static double total_weight(const struct eval_ctx *c, const struct loss *l)
{
    const int64_t positions = l->n * l->d;
    if (!eval_has(c, 2) && !l->has_ignore)
        return eval_round(c, (double)positions);
    struct total total = {0};
    for (int64_t p = 0; p < positions; p++) {
        const int64_t label = eval_i(c, 1)[p];
        add_position(c, &total, p, loss_weight(c, label, l->has_ignore && label == l->ignore));
    }
    return total_of(c, &total);
}

static void write_log_prob(const struct eval_ctx *c, const struct loss *l, const struct position *at, double log_sum)
{
    double *y = eval_out_f(c, 1);
    for (int64_t k = 0; k < l->c && y != NULL; k++) {
        const int64_t i = at->from + k * l->d;
        y[i] = eval_round(c, eval_round(c, eval_f(c, 0)[i] - at->max) - log_sum);
    }
}

static double loss_at(const struct eval_ctx *c, const struct loss *l, const struct position *at, double log_sum)
{
    if (at->ignored)
        return 0;
    const double shifted = eval_round(c, eval_f(c, 0)[at->from + at->label * l->d] - at->max);
    return eval_round(c, eval_round(c, log_sum - shifted) * at->weight);
}

static bool loss_eval(struct eval_ctx *c)
{
    const struct loss l = loss_of(c->node);
    double *y = eval_out_f(c, 0), *e = arena_array(c->scratch, double, (size_t)l.c);
    struct total total = {0};
    for (int64_t p = 0; p < l.n * l.d; p++) {
        struct position at;
        if (!look_at(c, &l, p, e, &at))
            return false;
        const double log_sum = eval_math(c, c->in[0]->dtype, MATH_LOG, at.sum);
        const double loss = loss_at(c, &l, &at, log_sum);
        write_log_prob(c, &l, &at, log_sum);
        add_position(c, &total, p, loss);
        if (y != NULL && l.reduction == LOSS_NONE)
            y[p] = loss;
    }
    if (y != NULL && l.reduction != LOSS_NONE)
        y[0] = l.reduction == LOSS_SUM ? total_of(c, &total)
                                            : eval_round(c, total_of(c, &total) / total_weight(c, &l));
    return true;
}

static double grad_at(const struct eval_ctx *c, double probability, bool is_label, const struct position *at,
                      double scale)
{
    if (at->ignored)
        return 0;
    const double difference = eval_round(c, probability - (is_label ? 1 : 0));
    return eval_round(c, difference * eval_round(c, at->weight * scale));
}

static bool grad_eval(struct eval_ctx *c)
{
    const struct loss l = loss_of(c->node);
    double *y = eval_out_f(c, 0), *e = arena_array(c->scratch, double, (size_t)l.c);
    const double dloss = eval_f(c, 3)[0];
    for (int64_t p = 0; p < l.n * l.d; p++) { /* before weights are looked up: reports labels that are out of range */
        int64_t label;
        bool ignored;
        if (!loss_label(c, &l, p, &label, &ignored))
            return false;
    }
    const double scale = l.reduction == LOSS_MEAN ? eval_round(c, 1 / total_weight(c, &l)) : 1;
    for (int64_t p = 0; p < l.n * l.d && y != NULL; p++) {
        struct position at;
        if (!look_at(c, &l, p, e, &at))
            return false;
        const double inverse = eval_round(c, 1 / at.sum);
        for (int64_t k = 0; k < l.c; k++) {
            const double g = grad_at(c, eval_round(c, e[k] * inverse), k == at.label, &at, scale);
            y[at.from + k * l.d] = eval_round(c, g * dloss);
        }
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static void add_operand(struct lower_ctx *c, const char *param, const struct view *v)
{
    const struct access a = {.buffer = v->buffer, .offset = v->offset};
    lower_template_operand(c, param, &a);
}

static void check_label_range(struct lower_ctx *c, const struct loss *l, const struct view *labels)
{
    const struct view flat = {.buffer = labels->buffer, .offset = labels->offset, .shape = SHAPE(l->n * l->d),
                              .stride = {1}};
    lower_add_check(c, &flat.shape, lower_load(c, &flat), 0, l->c, "STEPC_E_LABEL");
    struct check *check = &c->kernel->checks.data[c->kernel->checks.count - 1];
    check->has_except = l->has_ignore;
    check->except = l->ignore;
}

/* Positions at a time: enough to keep the loops over short rows long, without much scratch for long rows. Where classes
 * do not lie side by side, neighbouring positions do: a vector of them at least. */
static int64_t block_of(const struct loss *l)
{
    enum { MOST = 64, VECTOR = 16, SCRATCH = 1024 };
    const int64_t least = l->d == 1 ? 1 : VECTOR, available = l->d == 1 ? l->n : l->d;
    int64_t block = SCRATCH / (l->c > 0 ? l->c : 1);
    block = block < least ? least : block > MOST ? MOST : block;
    block = block < available ? block : available;
    return block > 1 ? block : 1;
}

enum { PADDED_LANES = 16 };

/* One row that nearly fills a vector. */
static bool is_padded(const struct lower_ctx *c, const struct loss *l)
{
    return l->n == 1 && l->d == 1 && l->c > PADDED_LANES / 4 && l->c < PADDED_LANES && !c->options.scalar;
}

/* Positions that the templates add up at a time. */
enum { BLOCK_OF_LOSS = 1024 };

static const char *const late[] = {"N", NULL}, *const late_most[] = {"BLOCK", "LONG", NULL};
static const struct template_traits loss_template = {
    .name = "softmax_cross_entropy", .late = late, .late_most = late_most};
static const struct template_traits plain_template = {
    .name = "softmax_cross_entropy_plain", .late = late, .late_most = late_most};

/* The kernel of a loss or of its gradient: equal but for their parts, so that fusion makes one of the two. */
static struct loss instantiate(struct lower_ctx *c)
{
    const struct loss l = loss_of(c->node);
    const bool has_weights = lower_has(c, 2);
    const struct view scores = lower_contiguous(c, 0), labels = lower_contiguous(c, 1);
    struct view weights = {0};
    if (has_weights)
        weights = lower_contiguous(c, 2);
    lower_kernel(c, "softmax_cross_entropy");
    lower_template(c, c->options.small ? &plain_template : &loss_template, lower_dtype(c, 0));
    lower_template_int(c, "N", l.n);
    lower_template_int(c, "C", l.c);
    lower_template_int(c, "D", l.d);
    lower_template_int(c, "HAS_IGNORE", l.has_ignore);
    lower_template_data(c, "IGNORE", l.ignore);
    lower_template_int(c, "HAS_WEIGHTS", has_weights);
    lower_template_int(c, "REDUCTION", (int64_t)l.reduction); /* 0 none, 1 sum, 2 mean */
    lower_template_int(c, "LONG", l.n * l.d > BLOCK_OF_LOSS);
    lower_template_int(c, "BLOCK", c->options.small ? 1 : block_of(&l));
    lower_template_int(c, "TRANSPOSED", l.d == 1 && l.c >= 4 && !c->options.scalar);
    lower_template_int(c, "PADDED", is_padded(c, &l));
    lower_template_scratch(c, "scratch",
                           c->options.small ? l.c : is_padded(c, &l) ? PADDED_LANES : block_of(&l) * l.c);
    /* maximum, difference, exponential, sum; product and difference of the gradient */
    lower_template_flops(c, 6 * l.n * l.c * l.d);
    add_operand(c, "scores", &scores);
    add_operand(c, "labels", &labels);
    if (has_weights)
        add_operand(c, "weights", &weights);
    check_label_range(c, &l, &labels);
    return l;
}

static void fill(struct lower_ctx *c, const char *hole, int output, const struct shape *shape, const struct expr *value)
{
    struct part *p = lower_template_part(c, hole, shape->rank, shape->dim);
    const struct view to = view_of_buffer(lower_out_view(c, output).buffer, shape);
    lower_store(c, p, &to, value);
}

static bool loss_lower(struct lower_ctx *c)
{
    const struct loss l = instantiate(c);
    const struct expr *result = expr_result(c->arena, lower_dtype(c, 0));
    const struct shape per_position = SHAPE(l.n, l.d), all = SHAPE(l.n, l.c, l.d);
    if (lower_wants(c, 0))
        fill(c, "loss", 0, l.reduction == LOSS_NONE ? &per_position : &SHAPE_SCALAR, result);
    if (lower_wants(c, 1))
        fill(c, "log_prob", 1, &all, result);
    return true;
}

static bool is_one(const struct expr *e)
{
    return e->op == EXPR_FLOAT && e->f == 1;
}

static bool grad_lower(struct lower_ctx *c)
{
    const struct loss l = instantiate(c);
    const struct shape all = SHAPE(l.n, l.c, l.d);
    const struct expr *dloss = lower_in_over(c, 3, &all);
    const struct expr *result = expr_result(c->arena, lower_dtype(c, 0));
    fill(c, "grad", 0, &all, is_one(dloss) ? result : expr_binary(c->arena, EXPR_MUL, result, dloss));
    return true;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text = "g (float[5,10] x, int64[5] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }",
     .feed = "normal,index:10"},
    {.text = "g (float[3,37] x, int32[3] t) => (float y, float[3,37] p) "
             "{ y, p = SoftmaxCrossEntropyLoss <reduction = \"sum\"> (x, t) }", .feed = "normal,index:37"},
    {.text = "g (double[5,4] x, int64[5] t, double[4] w) => (double y) "
             "{ y = SoftmaxCrossEntropyLoss <ignore_index = 2> (x, t, w) }", .feed = "normal,index:4,positive"},
    {.text = "g (float[70,10] x, int64[70] t) => (float y, float[70,10] p) { y, p = SoftmaxCrossEntropyLoss(x, t) }",
     .feed = "normal,index:10"},
    {.text = "g (float[21,16] x, int64[21] t, float[16] w) => (float[21] y) "
             "{ y = SoftmaxCrossEntropyLoss <reduction = \"none\", ignore_index = 5> (x, t, w) }",
     .feed = "normal,index:16,positive"},
    {.text = "g (double[2,4,3,2] x, int64[2,3,2] t) => (double[2,3,2] y, double[2,4,3,2] p) "
             "{ y, p = SoftmaxCrossEntropyLoss <reduction = \"none\", ignore_index = 1> (x, t) }",
     .feed = "normal,index:4"},
    {.text = "g (double[2,4,3] x, int32[2,3] t, double[4] w) => (double y, double[2,4,3] p) "
             "{ y, p = SoftmaxCrossEntropyLoss(x, t, w) }", .feed = "normal,index:4,positive"},
    {.text = "g (float[2,3] x) => (float y) { t = Constant <value_ints = [7, 1]> () "
             "y = SoftmaxCrossEntropyLoss <ignore_index = 7> (x, t) }"},
    {.text = "g (float[150,3] x, int64[150] t, float[3] w) => (float y) { y = SoftmaxCrossEntropyLoss(x, t, w) }",
     .feed = "normal,index:3,positive"},
    {.text = "g (float[100,20] x, int32[100] t) => (float y) "
             "{ y = SoftmaxCrossEntropyLoss <reduction = \"sum\"> (x, t) }", .feed = "normal,index:20"},
    {.text = "g (float[45,100] x, int64[45] t) => (float y) { y = SoftmaxCrossEntropyLoss <ignore_index = 7> (x, t) }",
     .feed = "normal,index:100"},
    {.text = "g (float[3,5,7,7] x, int64[3,7,7] t, float[5] w) => (float y) "
             "{ y = SoftmaxCrossEntropyLoss <ignore_index = 2> (x, t, w) }", .feed = "normal,index:5,positive"},
    {.text = "g (float[1,6,80] x, int64[1,80] t) => (float y, float[1,6,80] p) { "
             "y, p = SoftmaxCrossEntropyLoss(x, t) }",
     .feed = "normal,index:6"},
    {.text = "g (float[2,3,80] x, int64[2,80] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }",
     .feed = "normal,index:3"},
    {.text = "g (float[5,10] x, int64[4] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }",
     .error = "expected [5]"},
    {.text = "g (float[5,10] x, int64[5] t, float[9] w) => (float y) { y = SoftmaxCrossEntropyLoss(x, t, w) }",
     .error = "expected [10]"},
    {.text = "g (float[5] x, int64[5] t) => (float y) { y = SoftmaxCrossEntropyLoss(x, t) }", .error = "at least 2"},
    {.text = "g (float[5,3] x, int64[5] t) => (float y) { y = SoftmaxCrossEntropyLoss <reduction = \"avg\"> (x, t) }",
     .error = "'avg'"},
    {.text = "g (float16[6,5] x, int64[6] t) => (float16 y) { y = SoftmaxCrossEntropyLoss(x, t) }",
     .feed = "normal,index:5"},
    {0}};
static const struct op_sample grad_samples[] = {
    {.text = "g (float[5,10] x, int64[5] t, float d) => (float[5,10] y) "
             "{ y = stepc.SoftmaxCrossEntropyGrad(x, t, \"\", d) }", .feed = "normal,index:10"},
    {.text = "g (float[35,9] x, int64[35] t, float[9] w, float d) => (float[35,9] y) "
             "{ y = stepc.SoftmaxCrossEntropyGrad <ignore_index = 2> (x, t, w, d) }",
     .feed = "normal,index:9,positive"},
    {.text = "g (double[2,4,3] x, int64[2,3] t, double[4] w, double d) => (double[2,4,3] y) "
             "{ y = stepc.SoftmaxCrossEntropyGrad <ignore_index = 2> (x, t, w, d) }",
     .feed = "normal,index:4,positive"},
    {.text = "g (double[5,4] x, int32[5] t, double d) => (double[5,4] y) "
             "{ y = stepc.SoftmaxCrossEntropyGrad <reduction = \"none\"> (x, t, \"\", d) }",
     .feed = "normal,index:4"},
    {.text = "g (double[9,3] x, int64[9] t, double d) => (double[9,3] y) "
             "{ y = stepc.SoftmaxCrossEntropyGrad <ignore_index = 1> (x, t, \"\", d) }",
     .feed = "normal,index:3"},
    {0}};

const struct op_def op_defs_softmax_cross_entropy[] = {
    {.name = "SoftmaxCrossEntropyLoss", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = loss_attrs,
     .infer = loss_infer, .axes = loss_axes, .grad = loss_grad,
     .plain = loss_plain, .eval = loss_eval, .lower = loss_lower, .selects_from = loss_selects_from,
     .bounded = loss_bounded, .samples = samples},
    {.domain = DOMAIN_STEPC, .name = "SoftmaxCrossEntropyGrad", .versions = grad_versions, .inputs = grad_inputs,
     .outputs = grad_outputs, .attrs = loss_attrs, .infer = grad_infer, .expand = grad_expand,
     .plain = grad_expand, .eval = grad_eval,
     .lower = grad_lower, .selects_from = loss_selects_from, .samples = grad_samples},
    {0}};
