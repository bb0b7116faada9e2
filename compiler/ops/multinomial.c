/* Multinomial: classes drawn with the probabilities of a softmax. x is [batch, classes], y [batch, sample_size], both
 * by rows:
 *   e = exp(x - max x),  c[k] = e[0] + .. + e[k],  y = how many k have c[k] <= u c[last] and c[k] < c[last]
 * with u as RandomUniform draws it for element [b, s] of y, in double where x is double, else in float. So no class of
 * probability 0 is drawn, and of a row that is no numbers, class 0.
 * A drawn class has no gradient. Expanded; types of 16 bits are converted to float. Spec: ONNX Multinomial-7, -22
 * (bfloat16). */
#include "ops/random_rules.h"

#include <math.h>

static const struct op_attr attrs[] = {{.name = "dtype", .type = ATTR_INT, .int_default = DTYPE_INT32},
                                       {.name = "sample_size", .type = ATTR_INT, .int_default = 1},
                                       {.name = "seed", .type = ATTR_FLOAT, .no_default = true},
                                       {0}};
static const struct op_version versions[] = {{.since = 7, .dtypes = FLOATS_1}, {.since = 22}, {0}};
static const struct op_param inputs[] = {{.name = "input", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};
static const struct op_param outputs[] = {{.name = "output", .dtypes = DTYPES_INDEX}, {0}};

static bool multinomial_infer(struct infer_ctx *c)
{
    const int64_t dtype = op_attr_int(c->node, "dtype"), samples = op_attr_int(c->node, "sample_size");
    const struct value *const x = infer_in(c, 0);
    if (dtype != DTYPE_INT32 && dtype != DTYPE_INT64)
        return infer_error(c, "attribute 'dtype' is %lld, expected %d (int32) or %d (int64)", (long long)dtype,
                           DTYPE_INT32, DTYPE_INT64);
    if (samples < 1)
        return infer_error(c, "attribute 'sample_size' is %lld, expected 1 or more", (long long)samples);
    if (x->shape.rank != 2 || x->shape.dim[1] == 0)
        return infer_error(c, "input 0 '%s' has shape %s, expected [batch, classes] with a class at least", x->name,
                           shape_text(c->diag->arena, &x->shape));
    return infer_out(c, 0, (enum dtype)dtype, &SHAPE_OF(shape_size(&x->shape, 0), size_constant(samples)));
}

static enum dtype drawn_type(enum dtype x)
{
    return x == DTYPE_DOUBLE ? DTYPE_DOUBLE : DTYPE_FLOAT;
}

/* u for each element of y. */
static struct value *draw(struct expand_ctx *c, enum dtype dtype)
{
    const struct shape *const y = &node_output(c->node, 0)->shape;
    uint64_t seed;
    struct attr a[4] = {attr_dims("shape", y), attr_int("dtype", dtype)};
    if (random_seed(c->node, &seed))
        a[2] = attr_int("seed", (int64_t)seed); /* exact, which a float is not: random_seed() takes either */
    c->b->stream = c->node->stream;
    c->b->counter = c->node->counter;
    return build_value(c->b, "RandomUniform", a, NULL, 0);
}

static bool multinomial_expand(struct expand_ctx *c)
{
    const enum dtype dtype = drawn_type(expand_in(c, 0)->dtype);
    struct value *const x = build_cast(c->b, expand_in(c, 0), dtype), *const u = draw(c, dtype);
    const struct size batch = shape_size(&x->shape, 0), classes = shape_size(&x->shape, 1), one = size_constant(1);
    struct value *const axis = build_ints(c->b, &(int64_t){1}, 1), *const most = build(c, "ReduceMax", x, axis);
    struct value *const sums = build(c, "CumSum", build(c, "Exp", build(c, "Sub", x, most)), build_int(c->b, 1));
    struct value *const all = build(c, "Slice", sums, build_dims(c->b, &SHAPE_OF(size_difference(classes, one))),
                                    build_dims(c->b, &SHAPE_OF(classes)), axis);
    const struct size draws = shape_size(&u->shape, 1);
    struct value *const wanted = build_reshape(c->b, build(c, "Mul", u, all), &SHAPE_OF(batch, draws, one));
    struct value *const beside = build_reshape(c->b, sums, &SHAPE_OF(batch, one, classes));
    struct value *const passed = build(c, "And", build(c, "LessOrEqual", beside, wanted),
                                       build(c, "Less", beside, build_reshape(c->b, all, &SHAPE_OF(batch, one, one))));
    const enum dtype counted = node_output(c->node, 0)->dtype;
    return expand_out(c, 0, build_reduce_sum(c->b, build_cast(c->b, passed, counted), (int[]){2}, 1, false));
}

/* How many classes of a row are passed by u; `sums` is room for its sums. */
static int64_t class_of(const double *x, int64_t classes, double u, double *sums)
{
    double most = -HUGE_VAL;
    for (int64_t k = 0; k < classes; k++)
        most = x[k] > most || isnan(x[k]) ? x[k] : most;
    for (int64_t k = 0; k < classes; k++)
        sums[k] = (k > 0 ? sums[k - 1] : 0) + exp(x[k] - most);
    int64_t passed = 0;
    for (int64_t k = 0; k < classes; k++)
        passed += sums[k] <= u * sums[classes - 1] && sums[k] < sums[classes - 1];
    return passed;
}

static bool multinomial_eval(struct eval_ctx *c)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    struct eval_tensor *const y = eval_output(c, 0);
    if (y == NULL)
        return true;
    const int64_t classes = x->shape.dim[1], samples = y->shape.dim[1];
    double *const sums = arena_array(c->scratch, double, (size_t)classes);
    random_start_eval(c);
    for (int64_t k = 0; k < y->count; k++)
        y->i[k] = class_of(x->f + k / samples * classes, classes, eval_uniform(c, drawn_type(x->dtype), k), sums);
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[3,5] x) => (int32[3,1] y) { y = Multinomial(x) }"},
    {.text = "g (float[2,7] x) => (int64[2,40] y) { y = Multinomial <dtype = 7, sample_size = 40, seed = 2.5> (x) }"},
    {.text = "g (double[2,4] x) => (int32[2,9] y) { l = LogSoftmax(x) y = Multinomial <sample_size = 9> (l) }"},
    {.text = "g (float16[2,4] x) => (int32[2,9] y) { y = Multinomial <sample_size = 9> (x) }", .opset = 10},
    {.text = "g (float[0,4] x) => (int32[0,2] y) { y = Multinomial <sample_size = 2> (x) }"},
    /* one class alone can be drawn; one class */
    {.text = "g () => (int32[1,20] y) { x = Constant <value = float[1,4] {-inf, 3, -inf, -inf}> () "
             "y = Multinomial <sample_size = 20> (x) }"},
    {.text = "g (float[2,1] x) => (int32[2,3] y) { y = Multinomial <sample_size = 3> (x) }"},
    {.text = "g (float[4] x) => (int32[4] y) { y = Multinomial(x) }",
     .error = "has shape [4], expected [batch, classes]"},
    {.text = "g (float[4,0] x) => (int32[4,1] y) { y = Multinomial(x) }", .error = "with a class at least"},
    {.text = "g (float[4,2] x) => (int32[4,0] y) { y = Multinomial <sample_size = 0> (x) }",
     .error = "attribute 'sample_size' is 0, expected 1 or more"},
    {.text = "g (float[4,2] x) => (int8[4,1] y) { y = Multinomial <dtype = 3> (x) }",
     .error = "attribute 'dtype' is 3, expected 6 (int32) or 7 (int64)"},
    {0}};

const struct op_def op_defs_multinomial[] = {
    {.name = "Multinomial", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = multinomial_infer, .grad = grad_none, .expand = multinomial_expand, .eval = multinomial_eval,
     .is_random = true, .samples = samples},
    {0}};
