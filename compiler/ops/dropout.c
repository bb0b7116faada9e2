/* Dropout. In training, with u drawn per element as by RandomUniform in float:
 *   mask = u >= ratio,  output = mask ? data * scale : 0,  scale = 1 / (1 - ratio) in data's type
 * otherwise output = data and mask is all true. What is not known at compile time is decided by Where at run time.
 * Spec: ONNX Dropout-1, -6 (attributes ratio and is_test), -7 (inference only), -10 (mask is bool; of data's type
 * before), -12 (ratio and training_mode are inputs), -13, -22. A node in inference form draws nothing. */
#include "ops/random_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define ATTR_RATIO {.name = "ratio", .type = ATTR_FLOAT, .float_default = 0.5}
#define ATTR_IS_TEST {.name = "is_test", .type = ATTR_INT, .int_default = 0}
static const struct op_attr attrs_1[] = {
    {.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true}, ATTR_IS_TEST, ATTR_RATIO, {0}};
static const struct op_attr attrs_6[] = {ATTR_IS_TEST, ATTR_RATIO, {0}};
static const struct op_attr attrs_7[] = {ATTR_RATIO, {0}};
#define ATTR_SEED {.name = "seed", .type = ATTR_INT, .no_default = true}
static const struct op_attr attrs_12[] = {ATTR_SEED, {0}};
/* As a node stands in a graph: the mask of the versions before 10 has the type of data. */
static const struct op_attr attrs[] = {ATTR_SEED, {.name = "mask_of_data", .type = ATTR_INT, .int_default = 0}, {0}};

#define DATA {.name = "data", .type = 'T', .dtypes = DTYPES_FLOATS}
static const struct op_param inputs_1[] = {DATA, {0}};
static const struct op_param inputs[] = {
    DATA,
    {.name = "ratio", .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF,
     .why = "ONNX marks the ratio of Dropout as not differentiable; which elements are dropped is "
            "no smooth function of it"},
    {.name = "training_mode", .dtypes = DTYPES_BOOL, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    {0}};
#define MASK(set) {.name = "mask", .dtypes = (set), .flags = PARAM_OPTIONAL | PARAM_OUTPUT_NOT_DIFF}
static const struct op_param outputs_1[] = {
    {.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, MASK(DTYPES_FLOATS), {0}};
static const struct op_param outputs_10[] = {
    {.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, MASK(DTYPES_BOOL), {0}};
static const struct op_param outputs[] = {
    {.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, MASK(DTYPES_FLOATS | DTYPES_BOOL), {0}};

static void keep_old_mask(struct upgrade_ctx *c)
{
    if (node_output(c->node, 1) != NULL)
        node_set_attr(c->node, attr_int("mask_of_data", 1));
}

/* Training unless is_test = 1. */
static bool upgrade_is_test(struct upgrade_ctx *c)
{
    struct node *n = c->node;
    keep_old_mask(c);
    const struct attr *ratio = node_attr(n, "ratio"), *is_test = node_attr(n, "is_test");
    const double r = ratio != NULL ? ratio->f : 0.5;
    const bool training = is_test == NULL || is_test->i == 0;
    node_remove_attr(n, "is_test");
    node_remove_attr(n, "ratio");
    if (!training || n->inputs.count != 1)
        return true; /* a wrong count is reported by inference */
    node_add_input(n, build_scalar(c->b, DTYPE_FLOAT, r));
    node_add_input(n, build_scalar(c->b, DTYPE_BOOL, 1));
    return true;
}

static bool upgrade_inference(struct upgrade_ctx *c)
{
    node_remove_attr(c->node, "ratio"); /* nothing is dropped */
    return true;
}

static bool upgrade_7(struct upgrade_ctx *c)
{
    keep_old_mask(c);
    return upgrade_inference(c);
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .inputs = inputs_1, .outputs = outputs_1,
     .upgrade = upgrade_drop_consumed_inputs},
    {.since = 6, .dtypes = FLOATS_1, .attrs = attrs_6, .inputs = inputs_1, .outputs = outputs_1,
     .upgrade = upgrade_is_test},
    {.since = 7, .dtypes = FLOATS_1, .attrs = attrs_7, .inputs = inputs_1, .outputs = outputs_1, .upgrade = upgrade_7},
    {.since = 10, .dtypes = FLOATS_1, .attrs = attrs_7, .inputs = inputs_1, .outputs = outputs_10,
     .upgrade = upgrade_inference},
    {.since = 12, .dtypes = FLOATS_1, .attrs = attrs_12, .outputs = outputs_10},
    {.since = 13, .attrs = attrs_12, .outputs = outputs_10},
    {.since = 22, .attrs = attrs_12, .outputs = outputs_10},
    {0}};

static bool check_scalar(struct infer_ctx *c, int i)
{
    const struct value *v = infer_in(c, i);
    if (v == NULL || shape_count(&v->shape) == 1)
        return true;
    return infer_error(c, "input %d '%s' has %lld elements, expected a scalar", i, v->name,
                       (long long)shape_count(&v->shape));
}

static bool check_ratio(struct infer_ctx *c)
{
    struct value *v = infer_in(c, 1);
    const struct tensor *known = v != NULL ? value_known(v) : NULL;
    if (known == NULL)
        return true;
    const double ratio = tensor_get_double(known, 0);
    return (ratio >= 0 && ratio < 1) || infer_error(c, "ratio is %g, expected at least 0 and less than 1", ratio);
}

static bool dropout_infer(struct infer_ctx *c)
{
    const enum dtype mask = op_attr_int(c->node, "mask_of_data") ? infer_in(c, 0)->dtype : DTYPE_BOOL;
    return check_scalar(c, 1) && check_scalar(c, 2) && check_ratio(c) &&
           infer_out(c, 0, DTYPE_UNDEFINED, infer_shape(c, 0)) && infer_out(c, 1, mask, infer_shape(c, 0));
}

/* ---- as other nodes ---------------------------------------------------------------------------------------------- */

enum dropout_mode { MODE_INFERENCE, MODE_TRAINING, MODE_DECIDED_AT_RUN_TIME };

static enum dropout_mode mode_of(const struct node *n)
{
    struct value *ratio = node_input(n, 1), *training = node_input(n, 2);
    const struct tensor *known_ratio = ratio != NULL ? value_known(ratio) : NULL;
    if (training == NULL || (known_ratio != NULL && tensor_get_double(known_ratio, 0) == 0))
        return MODE_INFERENCE;
    const struct tensor *known = value_known(training);
    if (known == NULL)
        return MODE_DECIDED_AT_RUN_TIME;
    return tensor_get_int(known, 0) != 0 ? MODE_TRAINING : MODE_INFERENCE;
}

/* Input i as a scalar of rank 0; the default ratio where it is omitted. */
static struct value *scalar_input(struct builder *b, const struct node *n, int i)
{
    struct value *v = node_input(n, (size_t)i);
    return v != NULL ? build_reshape(b, v, &SHAPE_SCALAR) : build_scalar(b, DTYPE_FLOAT, 0.5);
}

/* mask ? x * scale : 0, and x itself where it turns out not to be training. Of x and, for its gradient, of dy. */
static struct value *build_dropped(struct builder *b, const struct node *n, struct value *x, struct value *mask,
                                   enum dropout_mode mode)
{
    const struct {
        struct builder *b;
    } c = {b};
    struct value *one = build_scalar(b, x->dtype, 1.0);
    struct value *kept = build(&c, "Sub", one, build_cast(b, scalar_input(b, n, 1), x->dtype));
    struct value *scaled = build(&c, "Mul", x, build(&c, "Div", one, kept));
    struct value *dropped = build(&c, "Where", mask, scaled, build_scalar(b, x->dtype, 0.0));
    return mode == MODE_TRAINING ? dropped : build(&c, "Where", scalar_input(b, n, 2), dropped, x);
}

/* dx = dy through the same mask and scale: a dropped element has gradient 0 */
static bool dropout_grad(struct grad_ctx *c)
{
    const enum dropout_mode mode = mode_of(c->node);
    struct value *dy = grad_of_output(c, 0);
    if (mode == MODE_INFERENCE)
        return grad_accumulate(c, 0, dy);
    struct value *mask = build_cast(c->b, grad_output(c, 1), DTYPE_BOOL);
    return grad_accumulate(c, 0, build_dropped(c->b, c->node, dy, mask, mode));
}

static struct value *draw_mask(struct expand_ctx *c, enum dropout_mode mode)
{
    const struct shape *s = &expand_in(c, 0)->shape;
    uint64_t seed;
    struct attr draw[3] = {attr_dims("shape", s)};
    if (random_seed(c->node, &seed))
        draw[1] = attr_int("seed", (int64_t)seed); /* exact, which a float is not: random_seed() takes either */
    c->b->stream = c->node->stream;
    c->b->counter = c->node->counter;
    struct value *u = build_value(c->b, "RandomUniform", draw, NULL, 0);
    struct value *keep = build(c, "GreaterOrEqual", u, build_cast(c->b, scalar_input(c->b, c->node, 1), DTYPE_FLOAT));
    if (mode == MODE_TRAINING)
        return keep;
    return build(c, "Or", keep, build(c, "Not", scalar_input(c->b, c->node, 2)));
}

static bool expand_mask(struct expand_ctx *c, struct value *mask)
{
    return !expand_wants(c, 1) || expand_out(c, 1, build_cast(c->b, mask, node_output(c->node, 1)->dtype));
}

static bool dropout_expand(struct expand_ctx *c)
{
    const enum dropout_mode mode = mode_of(c->node);
    struct value *x = expand_in(c, 0);
    if (mode == MODE_INFERENCE) {
        if (!expand_mask(c, build_expand(c->b, build_scalar(c->b, DTYPE_BOOL, 1), &x->shape)))
            return false;
        return expand_out(c, 0, build(c, "Identity", x));
    }
    struct value *mask = draw_mask(c, mode);
    if (!expand_mask(c, mask))
        return false;
    return !expand_wants(c, 0) || expand_out(c, 0, build_dropped(c->b, c->node, x, mask, mode));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static bool dropout_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const double ratio = eval_has(c, 1) ? eval_f(c, 1)[0] : 0.5, least = (double)(float)ratio;
    const bool training = eval_has(c, 2) && eval_i(c, 2)[0] != 0 && ratio != 0;
    const double scale = eval_round_to(c, x->dtype,
                                       1 / eval_round_to(c, x->dtype, 1 - eval_round_to(c, x->dtype, ratio)));
    const bool of_data = op_attr_int(c->node, "mask_of_data") != 0;
    double *y = eval_out_f(c, 0), *float_mask = of_data ? eval_out_f(c, 1) : NULL;
    int64_t *mask = of_data ? NULL : eval_out_i(c, 1);
    random_start_eval(c);
    for (int64_t k = 0; k < x->count; k++) {
        const bool keep = !training || eval_uniform(c, DTYPE_FLOAT, k) >= least;
        if (mask != NULL)
            mask[k] = keep;
        if (float_mask != NULL)
            float_mask[k] = keep;
        if (y != NULL)
            y[k] = !training ? x->f[k] : keep ? eval_round_to(c, x->dtype, x->f[k] * scale) : 0;
    }
    return true;
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

#define TRAINING "t0 = Constant <value_int = 1> () t = Cast <to = 9> (t0) "
static const struct op_sample samples[] = {
    {.text = "g (float[3,4] x) => (float[3,4] y) { y = Dropout(x) }"},
    {.text = "g (float[3,4] x) => (float[3,4] y, bool[3,4] m) { y, m = Dropout(x) }"},
    {.text = "g (float[30,4] x) => (float[30,4] y, bool[30,4] m) { r = Constant <value_float = 0.25> () " TRAINING
             "y, m = Dropout <seed = 7> (x, r, t) }"},
    {.text = "g (double[30] x) => (double[30] y) { " TRAINING "y = Dropout(x, \"\", t) }"},
    {.text = "g (double[30] x, float r, bool t) => (double[30] y, bool[30] m) { y, m = Dropout <seed = 1> (x, r, t) }",
     .feed = "normal,unit"},
    {.text = "g (float[3] x) => (float[3] y, bool[3] m) "
             "{ r = Constant <value_float = 0.0> () " TRAINING "y, m = Dropout(x, r, t) }"},
    {.text = "g (float[30] x) => (float[30] y) { y = Dropout <ratio = 0.1> (x) }", .opset = 6},
    {.text = "g (float[30] x) => (float[30] y) { y = Dropout <ratio = 0.1, is_test = 1> (x) }", .opset = 1},
    {.text = "g (float[30] x) => (float[30] y, bool[30] m) { y, m = Dropout <ratio = 0.1> (x) }", .opset = 10},
    {.text = "g (float[3] x) => (float[3] y, float[3] m) { y, m = Dropout(x) }", .opset = 7},
    {.text = "g (double[30] x) => (double[30] y, double[30] m) { y, m = Dropout <ratio = 0.3> (x) }", .opset = 6},
    {.text = "g (float[30] x) => (float[30] y) { y, unread = Dropout <ratio = 0.3, consumed_inputs = [0]> (x) }",
     .opset = 1},
    {.text = "g (float[3] x) => (float[3] y) { y = Dropout <mask_of_data = 1> (x) }", .error = "mask_of_data"},
    {.text = "g (float[3] x) => (float[3] y) { r = Constant <value_float = 1.0> () y = Dropout(x, r) }",
     .error = "less than 1"},
    {.text = "g (float[3] x, float[2] r) => (float[3] y) { y = Dropout(x, r) }", .error = "expected a scalar"},
    {.text = "g (float[3,5] x) => (float[3,5] y) { y = Dropout <ratio = 0.3> (x) }", .opset = 9},
    {0}};

const struct op_def op_defs_dropout[] = {
    {.name = "Dropout", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = dropout_infer, .grad = dropout_grad, .expand = dropout_expand, .eval = dropout_eval,
     .bounded = bounded_same, .samples = samples,
     .is_random = true},
    {0}};
