/* Random tensors: RandomUniform RandomNormal RandomUniformLike RandomNormalLike Bernoulli.
 *
 * Element k of a node's output is a function of (seed, counter of the entry, stream of the node, k):
 * runtime/stepc_random.h. The seed is the attribute, truncated to an integer, or the model's (R33 in docs/readings.md).
 * Doubles are drawn as doubles, everything else as float.
 *   uniform    low + u * (high - low), u in [0, 1); rounding may reach `high`
 *   normal     mean + n * scale
 *   Bernoulli  u < p (R34: the prose, not the function body)
 * Steps that change nothing (low = 0, high - low = 1, ...) are left out.
 * Spec: ONNX Operators.md; versions 22 only add bfloat16. */
#include "ops/random_rules.h"

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define ATTR_SEED {.name = "seed", .type = ATTR_FLOAT, .no_default = true}
#define ATTR_SHAPE {.name = "shape", .type = ATTR_INTS, .required = true}
#define ATTR_DTYPE {.name = "dtype", .type = ATTR_INT, .int_default = DTYPE_FLOAT}
#define ATTR_DTYPE_LIKE {.name = "dtype", .type = ATTR_INT, .no_default = true}
#define ATTR_NUMBER(label, value) {.name = (label), .type = ATTR_FLOAT, .float_default = (value)}

static const struct op_attr uniform_attrs[] = {
    ATTR_DTYPE, ATTR_NUMBER("high", 1), ATTR_NUMBER("low", 0), ATTR_SEED, ATTR_SHAPE, {0}};
static const struct op_attr normal_attrs[] = {
    ATTR_DTYPE, ATTR_NUMBER("mean", 0), ATTR_NUMBER("scale", 1), ATTR_SEED, ATTR_SHAPE, {0}};
static const struct op_attr uniform_like_attrs[] = {
    ATTR_DTYPE_LIKE, ATTR_NUMBER("high", 1), ATTR_NUMBER("low", 0), ATTR_SEED, {0}};
static const struct op_attr normal_like_attrs[] = {
    ATTR_DTYPE_LIKE, ATTR_NUMBER("mean", 0), ATTR_NUMBER("scale", 1), ATTR_SEED, {0}};
static const struct op_attr bernoulli_attrs[] = {ATTR_DTYPE_LIKE, ATTR_SEED, {0}};

static const struct op_version versions[] = {{.since = 1}, {.since = 22}, {0}};
static const struct op_version bernoulli_versions[] = {{.since = 15, .dtypes = FLOATS_1}, {.since = 22}, {0}};

static const struct op_param no_inputs[] = {{0}};
static const struct op_param like_inputs[] = {{.name = "input", .type = 'T', .dtypes = DTYPES_ALL}, {0}};
static const struct op_param bernoulli_inputs[] = {{.name = "input", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "output", .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param bernoulli_outputs[] = {{.name = "output", .dtypes = DTYPES_ALL}, {0}};

static bool infer_typed(struct infer_ctx *c, int64_t dtype, dtype_set allowed, const struct shape *shape)
{
    if (dtype <= 0 || dtype >= DTYPE_COUNT)
        return infer_error(c, "attribute 'dtype' is %lld, which is no type", (long long)dtype);
    if (!(allowed & DTYPE_BIT(dtype)))
        return infer_error(c, "the output would be %s, which %s cannot give", dtype_name((enum dtype)dtype),
                           op_display_name(c->node->def));
    return infer_out(c, 0, (enum dtype)dtype, shape);
}

static bool shaped_infer(struct infer_ctx *c)
{
    const struct attr *dims = node_attr(c->node, "shape");
    if (dims == NULL)
        return infer_error(c, "attribute 'shape' is missing");
    if (dims->count > SHAPE_MAX_RANK)
        return infer_unsupported(c, "attribute 'shape' has %zu entries, at most %d are supported", dims->count,
                                 SHAPE_MAX_RANK);
    const struct shape shape = op_attr_dims(c->node, "shape");
    for (int d = 0; d < shape.rank; d++)
        if (shape.dim[d] < 0)
            return infer_error(c, "attribute 'shape' has the negative dimension %lld", (long long)shape.dim[d]);
    return infer_typed(c, op_attr_int(c->node, "dtype"), DTYPES_FLOATS, &shape);
}

static int64_t dtype_or_like(const struct infer_ctx *c)
{
    const struct attr *dtype = node_attr(c->node, "dtype");
    return dtype != NULL ? dtype->i : (int64_t)infer_in(c, 0)->dtype;
}

static bool like_infer(struct infer_ctx *c)
{
    return infer_typed(c, dtype_or_like(c), DTYPES_FLOATS, infer_shape(c, 0));
}

static bool bernoulli_infer(struct infer_ctx *c)
{
    return infer_typed(c, dtype_or_like(c), DTYPES_ALL, infer_shape(c, 0));
}

/* ---- drawing: offset + draw * factor ----------------------------------------------------------------------------- */

struct scaling {
    double offset, factor; /* before rounding to the dtype */
};

static struct scaling uniform_scaling(const struct node *n)
{
    const double low = op_attr_float(n, "low");
    return (struct scaling){low, op_attr_float(n, "high") - low};
}

static struct scaling normal_scaling(const struct node *n)
{
    return (struct scaling){op_attr_float(n, "mean"), op_attr_float(n, "scale")};
}

typedef double (*draw_fn)(const struct eval_ctx *c, enum dtype d, int64_t element);

static bool eval_draws(struct eval_ctx *c, draw_fn draw, struct scaling s)
{
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    random_start_eval(c);
    const double factor = eval_round(c, s.factor);
    for (int64_t k = 0; k < y->count; k++) {
        y->f[k] = draw(c, y->dtype, k);
        if (factor != 1)
            y->f[k] = eval_round(c, y->f[k] * factor);
        if (s.offset != 0)
            y->f[k] = eval_round(c, s.offset + y->f[k]);
    }
    return true;
}

static const struct expr *lower_draw(struct lower_ctx *c, enum expr_op op, enum dtype d, const struct shape *shape)
{
    struct expr_draw draw = {.counter = c->node->counter};
    draw.has_seed = random_seed(c->node, &draw.seed);
    return expr_random(c->arena, op, d, c->node->stream, &draw, lower_element(c, shape));
}

static bool lower_draws(struct lower_ctx *c, enum expr_op op, struct scaling s)
{
    const enum dtype d = lower_out_dtype(c, 0);
    const struct expr *y = lower_draw(c, op, d, lower_out_shape(c, 0));
    const double factor = dtype_round(d, s.factor);
    if (factor != 1)
        y = expr_binary(c->arena, EXPR_MUL, y, expr_number(c->arena, d, factor));
    if (s.offset != 0)
        y = expr_binary(c->arena, EXPR_ADD, expr_number(c->arena, d, s.offset), y);
    return lower_map(c, y);
}

static bool uniform_eval(struct eval_ctx *c)
{
    return eval_draws(c, eval_uniform, uniform_scaling(c->node));
}

static bool uniform_lower(struct lower_ctx *c)
{
    return lower_draws(c, EXPR_UNIFORM, uniform_scaling(c->node));
}

static bool normal_eval(struct eval_ctx *c)
{
    return eval_draws(c, eval_normal, normal_scaling(c->node));
}

static bool normal_lower(struct lower_ctx *c)
{
    return lower_draws(c, EXPR_NORMAL, normal_scaling(c->node));
}

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

/* A runtime's own numbers: the node stays, and has its seed as ONNX says. */
static bool stay(struct expand_ctx *c)
{
    uint64_t seed;
    if (random_seed(c->node, &seed))
        node_set_attr(c->node, attr_float("seed", (double)(float)(int64_t)seed));
    return true;
}

static struct value *scaled(struct expand_ctx *c, struct value *y, struct scaling s)
{
    const enum dtype d = node_output(c->node, 0)->dtype;
    const double factor = dtype_round(d, s.factor);
    if (factor != 1)
        y = build(c, "Mul", y, build_like(c, y, factor));
    y = build_cast(c->b, y, d);
    return s.offset != 0 ? build(c, "Add", build_like(c, y, s.offset), y) : y;
}

static enum dtype drawn_as(enum dtype d)
{
    return d == DTYPE_DOUBLE ? d : DTYPE_FLOAT;
}

static bool uniform_plain(struct expand_ctx *c)
{
    const struct value *const y = node_output(c->node, 0);
    if (c->target->native_random)
        return stay(c);
    struct value *const u = random_build_uniform(c, drawn_as(y->dtype), &y->shape);
    return expand_out(c, 0, scaled(c, u, uniform_scaling(c->node)));
}

static bool normal_plain(struct expand_ctx *c)
{
    const struct value *const y = node_output(c->node, 0);
    if (c->target->native_random)
        return stay(c);
    struct value *const n = random_build_normal(c, drawn_as(y->dtype), &y->shape);
    return expand_out(c, 0, scaled(c, n, normal_scaling(c->node)));
}

static bool bernoulli_plain(struct expand_ctx *c)
{
    const struct value *const y = node_output(c->node, 0);
    if (c->target->native_random)
        return stay(c);
    const enum dtype d = drawn_as(expand_in(c, 0)->dtype);
    struct value *const u = random_build_uniform(c, d, &y->shape);
    struct value *const hit = build(c, "Less", u, build_cast(c->b, expand_in(c, 0), d));
    return expand_out(c, 0, build_cast(c->b, hit, y->dtype));
}

/* ---- Bernoulli: the draw is a step function of p, so the gradient is 0 (grad_none), as in PyTorch ---------------- */

static bool bernoulli_eval(struct eval_ctx *c)
{
    const struct eval_tensor *p = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    random_start_eval(c);
    for (int64_t k = 0; k < y->count; k++) {
        const bool hit = eval_uniform(c, p->dtype, k) < p->f[k];
        if (y->f != NULL)
            y->f[k] = hit;
        else
            y->i[k] = hit;
    }
    return true;
}

static bool bernoulli_lower(struct lower_ctx *c)
{
    const enum dtype d = lower_out_dtype(c, 0);
    const struct expr *u = lower_draw(c, EXPR_UNIFORM, lower_dtype(c, 0), lower_out_shape(c, 0));
    const struct expr *hit = expr_binary(c->arena, EXPR_LT, u, lower_in(c, 0));
    if (d == DTYPE_BOOL)
        return lower_map(c, hit);
    return lower_map(c, expr_select(c->arena, hit, expr_number(c->arena, d, 1), expr_number(c->arena, d, 0)));
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample uniform_samples[] = {
    {.text = "g () => (float[5,7] y) { y = RandomUniform <shape = [5, 7], seed = 3.7> () }"},
    {.text = "g () => (float[6] y) { y = RandomUniform <shape = [6], seed = -7e12> () }"},
    {.text = "g () => (double[7] y) { y = RandomUniform <shape = [7], dtype = 11, low = -2.0, high = 3.0> () }"},
    {.text = "g () => (float y) { y = RandomUniform <shape: ints = []> () }"},
    {.text = "g () => (int32[2] y) { y = RandomUniform <shape = [2], dtype = 6> () }", .error = "int32"},
    {.text = "g () => (float[2] y) { y = RandomUniform <shape = [-2]> () }", .error = "negative"},
    {0}};
static const struct op_sample normal_samples[] = {
    {.text = "g () => (float[5,7] y) { y = RandomNormal <shape = [5, 7]> () }"},
    {.text = "g () => (double[7] y) "
             "{ y = RandomNormal <shape = [7], dtype = 11, mean = 1.0, scale = 0.02, seed = 1.0> () }"},
    {.text = "g () => (float[1] y) { y = RandomNormal <shape = [1,1,1,1,1,1,1,1,1,1,1,1,1]> () }",
     .error = "attribute 'shape' has 13 entries, at most 12 are supported"},
    {.text = "g () => (float[1] y) { y = RandomNormal <shape = [2, -1]> () }",
     .error = "attribute 'shape' has the negative dimension -1"},
    {.text = "g () => (int32[1] y) { y = RandomNormal <shape = [2], dtype = 6> () }",
     .error = "the output would be int32, which RandomNormal cannot give"},
    {.text = "g () => (int32[1] y) { y = RandomNormal <shape = [2], dtype = 99> () }",
     .error = "attribute 'dtype' is 99, which is no type"},
    {0}};
static const struct op_sample uniform_like_samples[] = {
    {.text = "g (int32[3,5] x) => (float[3,5] y) { y = RandomUniformLike <dtype = 1> (x) }", .no_gradient = true},
    {.text = "g (int32[3,5] x) => (int32[3,5] y) { y = RandomUniformLike(x) }", .error = "int32"},
    {.text = "g (double[4] x) => (double[4] y) { y = RandomUniformLike <low = -1.0, high = 1.0, seed = 2.0> (x) }",
     .no_gradient = true},
    {0}};
static const struct op_sample normal_like_samples[] = {
    {.text = "g (double[3,5] x) => (double[3,5] y) { y = RandomNormalLike <scale = 2.0> (x) }", .no_gradient = true},
    {.text = "g (bool[3,5] x) => (float[3,5] y) { y = RandomNormalLike <dtype = 1, mean = 3.0> (x) }",
     .no_gradient = true},
    {0}};
static const struct op_sample bernoulli_samples[] = {
    {.text = "g (float[3,20] p) => (float[3,20] y) { y = Bernoulli(p) }", .feed = "unit", .no_gradient = true},
    {.text = "g (double[20] p) => (bool[20] y) { y = Bernoulli <dtype = 9, seed = 5.0> (p) }", .feed = "unit",
     .no_gradient = true},
    {.text = "g (float[20] p) => (int8[20] y) { y = Bernoulli <dtype = 3> (p) }", .feed = "unit", .no_gradient = true},
    {0}};

const struct op_def op_defs_random[] = {
    {.name = "RandomUniform", .versions = versions, .inputs = no_inputs, .outputs = outputs, .attrs = uniform_attrs,
     .infer = shaped_infer, .grad = grad_none,
     .plain = uniform_plain, .eval = uniform_eval, .lower = uniform_lower, .samples = uniform_samples,
     .is_random = true},
    {.name = "RandomNormal", .versions = versions, .inputs = no_inputs, .outputs = outputs, .attrs = normal_attrs,
     .infer = shaped_infer, .grad = grad_none,
     .plain = normal_plain, .eval = normal_eval, .lower = normal_lower, .samples = normal_samples,
     .is_random = true},
    {.name = "RandomUniformLike", .versions = versions, .inputs = like_inputs, .outputs = outputs,
     .attrs = uniform_like_attrs, .infer = like_infer, .grad = grad_none,
     .plain = uniform_plain, .eval = uniform_eval, .lower = uniform_lower,
     .samples = uniform_like_samples, .is_random = true, .shape_only = true},
    {.name = "RandomNormalLike", .versions = versions, .inputs = like_inputs, .outputs = outputs,
     .attrs = normal_like_attrs, .infer = like_infer, .grad = grad_none,
     .plain = normal_plain, .eval = normal_eval, .lower = normal_lower,
     .samples = normal_like_samples, .is_random = true, .shape_only = true},
    {.name = "Bernoulli", .versions = bernoulli_versions, .inputs = bernoulli_inputs, .outputs = bernoulli_outputs,
     .attrs = bernoulli_attrs, .infer = bernoulli_infer, .grad = grad_none,
     .plain = bernoulli_plain, .eval = bernoulli_eval,
     .lower = bernoulli_lower, .samples = bernoulli_samples, .is_random = true},
    {0}};
