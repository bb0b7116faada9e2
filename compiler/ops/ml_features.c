/* Features of ai.onnx.ml, as far as they are numbers. X [N,F], or [F] as one row; results are float but for
 * ArrayFeatureExtractor and Imputer, which keep the type.
 *   Scaler     Y = (X - offset) * scale, both [F] or of one number
 *   Normalizer Y = X / norm of its row: MAX the greatest |x|, L1 their sum, L2 the root of their squares' sum; a row of
 *              zeros stays
 *   Binarizer  Y = X > threshold ? 1 : 0
 *   Imputer    Y = X, but what equals the replaced value (a NaN: each NaN) is the imputed value of its feature
 *   FeatureVectorizer      Y = its inputs side by side, [N, sum of their features]
 *   ArrayFeatureExtractor  Z = the features of X, along its last axis, whose numbers are Y
 *   OneHotEncoder          Y [.., C] = 1 where X is the category; `zeros` = 0 refuses what is none
 * Scaler, Normalizer, Imputer, FeatureVectorizer and ArrayFeatureExtractor have gradients.
 * Spec: ONNX-ML Scaler-1, Normalizer-1, Binarizer-1, Imputer-1, FeatureVectorizer-1, ArrayFeatureExtractor-1,
 * OneHotEncoder-1. */
#include "ops/move_rules.h"

#include "base/str.h"
#include <math.h>

#define NUMBERS (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) | DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_INT32))
#define ML "ai.onnx.ml."
static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_param number_in[] = {{.name = "X", .dtypes = NUMBERS}, {0}};
static const struct op_param float_out[] = {{.name = "Y", .dtypes = DTYPE_BIT(DTYPE_FLOAT)}, {0}};

static size_t count_of(const struct node *n, const char *name)
{
    const struct attr *const a = node_attr(n, name);
    return a ? a->count : 0;
}

static int64_t features_of(const struct node *n)
{
    const struct shape *const x = &n->inputs.data[0]->shape;
    return x->rank > 0 ? x->dim[x->rank - 1] : 1;
}

static bool float_like_input(struct infer_ctx *c)
{
    return infer_out(c, 0, DTYPE_FLOAT, infer_shape(c, 0));
}

static double number_at(const struct eval_ctx *c, int64_t p)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    return x->f ? x->f[p] : (double)x->i[p];
}

/* A list of the node as a row that broadcasts along features. */
static struct value *row_of(struct expand_ctx *c, enum dtype d, const struct attr *list)
{
    struct tensor *const t = tensor_new(c->b->graph->arena, d, &SHAPE((int64_t)list->count));
    for (int64_t i = 0; i < t->count; i++)
        if (list->floats)
            tensor_set_double(t, i, list->floats[i]);
        else
            tensor_set_int(t, i, list->ints[i]);
    return build_constant(c->b, t);
}

/* One number, or one for each feature. */
static bool check_list(struct infer_ctx *c, const char *name)
{
    const size_t count = count_of(c->node, name);
    if (count == 0 || count == 1 || count == (uint64_t)features_of(c->node))
        return true;
    return infer_error(c, "attribute '%s' has %zu numbers, expected 1 or %lld, the features of input 0 '%s'", name,
                       count, (long long)features_of(c->node), infer_in(c, 0)->name);
}

/* ---- Scaler ------------------------------------------------------------------------------------------------------ */

static const struct op_attr scaler_attrs[] = {
    {.name = "offset", .type = ATTR_FLOATS}, {.name = "scale", .type = ATTR_FLOATS}, {0}};

static bool scaler_infer(struct infer_ctx *c)
{
    return check_list(c, "offset") && check_list(c, "scale") && float_like_input(c);
}

static bool scaler_eval(struct eval_ctx *c)
{
    const struct attr *const offset = node_attr(c->node, "offset"), *const scale = node_attr(c->node, "scale");
    const int64_t features = features_of(c->node);
    for (int64_t p = 0; eval_wants(c, 0) && p < eval_input(c, 0)->count; p++) {
        const int64_t f = p % features;
        double y = number_at(c, p);
        if (offset && offset->count > 0)
            y -= offset->floats[offset->count > 1 ? f : 0];
        if (scale && scale->count > 0)
            y *= scale->floats[scale->count > 1 ? f : 0];
        eval_out_f(c, 0)[p] = y;
    }
    return true;
}

static bool scaler_expand(struct expand_ctx *c)
{
    struct value *y = build_cast(c->b, expand_in(c, 0), DTYPE_FLOAT);
    if (count_of(c->node, "offset") > 0)
        y = build(c, "Sub", y, row_of(c, DTYPE_FLOAT, node_attr(c->node, "offset")));
    if (count_of(c->node, "scale") > 0)
        y = build(c, "Mul", y, row_of(c, DTYPE_FLOAT, node_attr(c->node, "scale")));
    return expand_out(c, 0, build_reshape(c->b, y, &expand_in(c, 0)->shape));
}

static const struct op_sample scaler_samples[] = {
    {.text = "g (float[3,2] x) => (float[3,2] y) { y = " ML "Scaler <offset = [0.5, -1.0], scale = [2.0, 0.25]> (x) }"},
    {.text = "g (double[2] x) => (float[2] y) { y = " ML "Scaler <scale = [0.5]> (x) }", .no_gradient = true},
    {.text = "g (int64[2,2] x) => (float[2,2] y) { y = " ML "Scaler <offset = [3.0]> (x) }", .no_gradient = true},
    {.text = "g (float[3,2] x) => (float[3,2] y) { y = " ML "Scaler <offset = [0.5, -1.0, 2.0]> (x) }",
     .error = "'offset' has 3 numbers, expected 1 or 2"},
    {0}};

/* ---- Normalizer -------------------------------------------------------------------------------------------------- */

static const struct op_attr normalizer_attrs[] = {{.name = "norm", .type = ATTR_STRING, .string_default = "MAX"}, {0}};

static bool normalizer_infer(struct infer_ctx *c)
{
    const char *const norm = op_attr_string(c->node, "norm");
    if (!str_equal(norm, "MAX") && !str_equal(norm, "L1") && !str_equal(norm, "L2"))
        return infer_error(c, "attribute 'norm' is '%s', expected MAX, L1 or L2", norm);
    if (infer_rank(c, 0) == 0)
        return infer_error(c, "input 0 '%s' is a scalar, expected [samples, features]", infer_in(c, 0)->name);
    return float_like_input(c);
}

static bool normalizer_eval(struct eval_ctx *c)
{
    const char *const norm = op_attr_string(c->node, "norm");
    const int64_t features = features_of(c->node), count = eval_input(c, 0)->count;
    for (int64_t at = 0; eval_wants(c, 0) && at < count; at += features) {
        double size = 0;
        for (int64_t p = at; p < at + features; p++) {
            const double x = fabs(number_at(c, p));
            size = str_equal(norm, "L1") ? size + x : str_equal(norm, "L2") ? size + x * x : x > size ? x : size;
        }
        size = str_equal(norm, "L2") ? sqrt(size) : size;
        for (int64_t p = at; p < at + features; p++)
            eval_out_f(c, 0)[p] = size == 0 ? number_at(c, p) : number_at(c, p) / size;
    }
    return true;
}

static bool normalizer_expand(struct expand_ctx *c)
{
    const char *const norm = op_attr_string(c->node, "norm");
    struct value *const x = build_cast(c->b, expand_in(c, 0), DTYPE_FLOAT);
    struct value *const along = build_ints(c->b, (const int64_t[]){-1}, 1);
    struct value *const size = str_equal(norm, "L2")   ? build(c, "ReduceL2", x, along)
                               : str_equal(norm, "L1") ? build(c, "ReduceL1", x, along)
                                                       : build(c, "ReduceMax", build(c, "Abs", x), along);
    struct value *const is_zero = build(c, "Equal", size, build_like(c, x, 0.0));
    return expand_out(c, 0, build(c, "Div", x, build(c, "Where", is_zero, build_like(c, x, 1.0), size)));
}

static const struct op_sample normalizer_samples[] = {
    {.text = "g (float[3,4] x) => (float[3,4] y) { y = " ML "Normalizer(x) }", .no_gradient = true},
    {.text = "g (float[3,4] x) => (float[3,4] y) { y = " ML "Normalizer <norm = \"L1\"> (x) }", .feed = "positive"},
    {.text = "g (float[3,4] x) => (float[3,4] y) { y = " ML "Normalizer <norm = \"L2\"> (x) }"},
    {.text = "g (int32[4] x) => (float[4] y) { y = " ML "Normalizer <norm = \"L2\"> (x) }", .no_gradient = true},
    {.text = "g () => (float[2,2] y) { x = Constant <value = float[2,2] {0, 0, 3, -4}> () y = " ML
             "Normalizer <norm = \"L2\"> (x) }"},
    {.text = "g (float[3] x) => (float[3] y) { y = " ML "Normalizer <norm = \"L3\"> (x) }",
     .error = "'norm' is 'L3', expected MAX, L1 or L2"},
    {.text = "g (float x) => (float y) { y = " ML "Normalizer(x) }", .error = "is a scalar"},
    {0}};

/* ---- Binarizer --------------------------------------------------------------------------------------------------- */

static const struct op_attr binarizer_attrs[] = {{.name = "threshold", .type = ATTR_FLOAT}, {0}};
static const struct op_param any_in[] = {{.name = "X", .type = 'T', .dtypes = NUMBERS}, {0}};
static const struct op_param any_out[] = {{.name = "Y", .type = 'T', .dtypes = NUMBERS}, {0}};

static bool binarizer_eval(struct eval_ctx *c)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    const double threshold = op_attr_float(c->node, "threshold");
    for (int64_t p = 0; eval_wants(c, 0) && p < x->count; p++)
        if (x->f)
            eval_out_f(c, 0)[p] = x->f[p] > threshold;
        else
            eval_out_i(c, 0)[p] = (double)x->i[p] > threshold;
    return true;
}

static bool binarizer_expand(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0);
    struct value *const number = dtype_is_float(x->dtype) ? x : build_cast(c->b, x, DTYPE_DOUBLE);
    struct value *const above = build(c, "Greater", number, build_like(c, number, op_attr_float(c->node, "threshold")));
    return expand_out(c, 0, build_cast(c->b, above, x->dtype));
}

static const struct op_sample binarizer_samples[] = {
    {.text = "g (float[3,4] x) => (float[3,4] y) { y = " ML "Binarizer <threshold = 0.25> (x) }", .no_gradient = true},
    {.text = "g (int64[3] x) => (int64[3] y) { y = " ML "Binarizer(x) }", .no_gradient = true},
    {.text = "g () => (float[3] y) { x = Constant <value_floats = [0.25, 0.5, 0.0]> () y = " ML
             "Binarizer <threshold = 0.25> (x) }"},
    {0}};

/* ---- Imputer ----------------------------------------------------------------------------------------------------- */

static const struct op_attr imputer_attrs[] = {{.name = "imputed_value_floats", .type = ATTR_FLOATS},
                                               {.name = "imputed_value_int64s", .type = ATTR_INTS},
                                               {.name = "replaced_value_float", .type = ATTR_FLOAT},
                                               {.name = "replaced_value_int64", .type = ATTR_INT},
                                               {0}};

static const struct attr *imputed_of(const struct node *n)
{
    const bool is_float = dtype_is_float(n->inputs.data[0]->dtype);
    return node_attr(n, is_float ? "imputed_value_floats" : "imputed_value_int64s");
}

static bool imputer_infer(struct infer_ctx *c)
{
    const struct attr *const imputed = imputed_of(c->node);
    if (!imputed || imputed->count == 0)
        return infer_error(c, "it has no imputed values for input 0 '%s', which is %s", infer_in(c, 0)->name,
                           dtype_name(infer_in(c, 0)->dtype));
    return check_list(c, imputed->name) && infer_out(c, 0, DTYPE_UNDEFINED, infer_shape(c, 0));
}

static bool imputer_eval(struct eval_ctx *c)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    const struct attr *const imputed = imputed_of(c->node);
    const double replaced = op_attr_float(c->node, "replaced_value_float");
    const int64_t given = op_attr_int(c->node, "replaced_value_int64"), features = features_of(c->node);
    const int64_t replaced_int = x->f ? 0 : dtype_wrap(x->dtype, given);
    for (int64_t p = 0; eval_wants(c, 0) && p < x->count; p++) {
        const size_t f = imputed->count > 1 ? (size_t)(p % features) : 0;
        if (x->f)
            eval_out_f(c, 0)[p] =
                (isnan(replaced) ? isnan(x->f[p]) : x->f[p] == replaced) ? imputed->floats[f] : x->f[p];
        else
            eval_out_i(c, 0)[p] = x->i[p] == replaced_int ? dtype_wrap(x->dtype, imputed->ints[f]) : x->i[p];
    }
    return true;
}

static bool imputer_expand(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0);
    const double replaced = op_attr_float(c->node, "replaced_value_float");
    struct value *is_replaced;
    if (!dtype_is_float(x->dtype)) {
        struct tensor *const t = tensor_new(c->b->graph->arena, x->dtype, &SHAPE_SCALAR);
        tensor_set_int(t, 0, op_attr_int(c->node, "replaced_value_int64"));
        is_replaced = build(c, "Equal", x, build_constant(c->b, t));
    } else {
        is_replaced = isnan(replaced) ? build(c, "IsNaN", x) : build(c, "Equal", x, build_like(c, x, replaced));
    }
    struct value *const y = build(c, "Where", is_replaced, row_of(c, x->dtype, imputed_of(c->node)), x);
    return expand_out(c, 0, build_reshape(c->b, y, &x->shape));
}

static const struct op_sample imputer_samples[] = {
    {.text = "g (float[3,2] x) => (float[3,2] y) { y = " ML
             "Imputer <imputed_value_floats = [1.5, -2.0], replaced_value_float = 0.0> (x) }"},
    {.text = "g () => (float[2,2] y) { x = Constant <value = float[2,2] {0, nan, 3, nan}> () y = " ML
             "Imputer <imputed_value_floats = [1.5], replaced_value_float = nan> (x) }"},
    {.text = "g (int64[3,2] x) => (int64[3,2] y) { y = " ML
             "Imputer <imputed_value_int64s = [4, 5], replaced_value_int64 = 0> (x) }",
     .no_gradient = true},
    {.text = "g (int32[3,2] x) => (int32[3,2] y) { y = " ML
             "Imputer <imputed_value_int64s = [4294967299], replaced_value_int64 = 4294967296> (x) }",
     .no_gradient = true},
    {.text = "g (int64[3,2] x) => (int64[3,2] y) { y = " ML "Imputer <imputed_value_floats = [1.5]> (x) }",
     .error = "no imputed values for input 0 'x', which is int64"},
    {0}};

/* ---- FeatureVectorizer ------------------------------------------------------------------------------------------- */

static const struct op_attr vectorizer_attrs[] = {{.name = "inputdimensions", .type = ATTR_INTS}, {0}};
static const struct op_param vectorizer_in[] = {
    {.name = "X", .dtypes = NUMBERS, .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS}, {0}};

/* [N,F] of an input: a list is a column. */
static struct shape rows_of(const struct value *x)
{
    return x->shape.rank == 2   ? x->shape
           : x->shape.rank == 1 ? SHAPE_OF(shape_size(&x->shape, 0), size_constant(1))
                                : (struct shape){0};
}

static bool vectorizer_infer(struct infer_ctx *c)
{
    const struct attr *const wanted = node_attr(c->node, "inputdimensions");
    struct shape y = rows_of(infer_in(c, 0));
    for (int i = 0; i < infer_input_count(c); i++) {
        const struct value *const x = infer_in(c, i);
        const struct shape s = rows_of(x);
        if (s.rank != 2 || s.dim[0] != y.dim[0])
            return infer_error(c, "input %d '%s' does not have the shape [samples, features] with %lld samples", i,
                               x->name, (long long)y.dim[0]);
        if (wanted && (wanted->count != (size_t)infer_input_count(c) || wanted->ints[i] != s.dim[1]))
            return infer_error(c, "attribute 'inputdimensions' does not say the features of input %d '%s', %lld", i,
                               x->name, (long long)s.dim[1]);
        shape_set(&y, 1, i == 0 ? shape_size(&s, 1) : size_sum(shape_size(&y, 1), shape_size(&s, 1)));
    }
    return infer_out(c, 0, DTYPE_FLOAT, &y);
}

static bool vectorizer_eval(struct eval_ctx *c)
{
    int64_t first = 0;
    for (size_t i = 0; eval_wants(c, 0) && i < c->node->inputs.count; i++) {
        const struct eval_tensor *const x = eval_input(c, (int)i);
        const int64_t features = rows_of(c->node->inputs.data[i]).dim[1], all = eval_output(c, 0)->shape.dim[1];
        for (int64_t p = 0; p < x->count; p++)
            eval_out_f(c, 0)[p / features * all + first + p % features] = x->f ? x->f[p] : (double)x->i[p];
        first += features;
    }
    return true;
}

static bool vectorizer_expand(struct expand_ctx *c)
{
    const size_t count = c->node->inputs.count;
    struct value **const parts = arena_array(c->b->graph->arena, struct value *, count);
    for (size_t i = 0; i < count; i++) {
        struct value *const x = expand_in(c, (int)i);
        const struct shape s = rows_of(x);
        parts[i] = build_reshape(c->b, build_cast(c->b, x, DTYPE_FLOAT), &s);
    }
    return expand_out(c, 0, build_value(c->b, "Concat", ATTRS(attr_int("axis", 1)), parts, count));
}

static const struct op_sample vectorizer_samples[] = {
    {.text = "g (float[3,2] x, float[3] z, int64[3,1] i) => (float[3,4] y) { y = " ML
             "FeatureVectorizer <inputdimensions = [2, 1, 1]> (x, z, i) }"},
    {.text = "g (double[3,2] x) => (float[3,2] y) { y = " ML "FeatureVectorizer(x) }", .no_gradient = true},
    {.text = "g (float[3,2] x, float[2,2] z) => (float[3,4] y) { y = " ML "FeatureVectorizer(x, z) }",
     .error = "input 1 'z' does not have the shape [samples, features] with 3 samples"},
    {.text = "g (float[3,2] x) => (float[3,2] y) { y = " ML "FeatureVectorizer <inputdimensions = [3]> (x) }",
     .error = "does not say the features of input 0 'x', 2"},
    {0}};

/* ---- ArrayFeatureExtractor --------------------------------------------------------------------------------------- */

static const struct op_param extractor_in[] = {{.name = "X", .type = 'T', .dtypes = NUMBERS},
                                               {.name = "Y", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
                                               {0}};
static const struct op_param extractor_out[] = {{.name = "Z", .type = 'T', .dtypes = NUMBERS}, {0}};

static bool extractor_infer(struct infer_ctx *c)
{
    struct shape z = *infer_shape(c, 0);
    if (z.rank == 0)
        return infer_error(c, "input 0 '%s' is a scalar, expected features along its last axis", infer_in(c, 0)->name);
    const struct size taken = shape_elements(infer_shape(c, 1));
    z = z.rank == 1 ? SHAPE_OF(size_constant(1), taken) : z;
    shape_set(&z, z.rank - 1, taken);
    return infer_out(c, 0, DTYPE_UNDEFINED, &z);
}

static bool extractor_eval(struct eval_ctx *c)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    const int64_t features = features_of(c->node), taken = eval_input(c, 1)->count;
    for (int64_t k = 0; k < taken; k++)
        if (eval_i(c, 1)[k] < -features || eval_i(c, 1)[k] >= features)
            return eval_error(c, "feature %lld is outside of the %lld that there are", (long long)eval_i(c, 1)[k],
                              (long long)features);
    for (int64_t p = 0; eval_wants(c, 0) && taken > 0 && p < eval_output(c, 0)->count; p++) {
        const int64_t at = eval_i(c, 1)[p % taken];
        move_element(eval_output(c, 0), p, x, p / taken * features + (at < 0 ? at + features : at));
    }
    return true;
}

static bool extractor_expand(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0), *const at = expand_in(c, 1);
    struct value *const list = build_reshape(c->b, at, &SHAPE_OF(shape_elements(&at->shape)));
    struct value *const z = build_with(c, "Gather", ATTRS(attr_int("axis", -1)), x, list);
    return expand_out(c, 0, build_reshape(c->b, z, &c->node->outputs.data[0]->shape));
}

static int64_t extractor_selects_from(const struct node *n, int input)
{
    return input == 1 ? features_of(n) : 0;
}

static const struct op_sample extractor_samples[] = {
    {.text = "g (float[3,5] x, int64[2] i) => (float[3,2] z) { z = " ML "ArrayFeatureExtractor(x, i) }",
     .feed = "normal,index:5"},
    {.text = "g (int64[5] x, int64[3,1] i) => (int64[1,3] z) { z = " ML "ArrayFeatureExtractor(x, i) }",
     .feed = "normal,index:5",
     .no_gradient = true},
    {.text = "g (float[3,5] x) => (float[3,2] z) { i = Constant <value_ints = [-1, -5]> () z = " ML
             "ArrayFeatureExtractor(x, i) }"},
    {.text = "g (float[3,5] x, int64[9] i) => (float[3,9] z) { n = Constant <value_int = 5> () k = Sub(i, n) z = " ML
             "ArrayFeatureExtractor(x, k) }",
     .feed = "normal,index:10"},
    {.text = "g (float x, int64[1] i) => (float z) { z = " ML "ArrayFeatureExtractor(x, i) }", .error = "is a scalar"},
    {.text = "g (float[3,5] x, int64[2] i) => (float[3,2] z) { z = " ML "ArrayFeatureExtractor(x, i) }",
     .feed = ",index:100",
     .error = "is outside of the 5 that there are"},
    {.text = "g (float[3,5] x) => (float[3,1] z) { i = Constant <value_ints = [5]> () z = " ML
             "ArrayFeatureExtractor(x, i) }",
     .error = "feature 5 is outside of the 5 that there are"},
    {0}};

/* ---- OneHotEncoder ----------------------------------------------------------------------------------------------- */

static const struct op_attr one_hot_attrs[] = {{.name = "cats_int64s", .type = ATTR_INTS},
                                               {.name = "cats_strings", .type = ATTR_STRINGS},
                                               {.name = "zeros", .type = ATTR_INT, .int_default = 1},
                                               {0}};

static bool one_hot_infer(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    if (count_of(c->node, "cats_strings") > 0)
        return infer_unsupported(c, "its categories are strings; encode them outside of the model");
    if (op_attr_int(c->node, "zeros") == 0)
        return infer_unsupported(c, "attribute 'zeros' is 0, which refuses unknown categories when the program runs");
    if (y.rank == SHAPE_MAX_RANK)
        return infer_error(c, "input 0 '%s' has rank %d, which leaves no axis for categories", infer_in(c, 0)->name,
                           y.rank);
    shape_add(&y, size_constant((int64_t)count_of(c->node, "cats_int64s")));
    return infer_out(c, 0, DTYPE_FLOAT, &y);
}

static bool one_hot_eval(struct eval_ctx *c)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    const struct attr *const cats = node_attr(c->node, "cats_int64s");
    const int64_t count = (int64_t)count_of(c->node, "cats_int64s");
    for (int64_t p = 0; eval_wants(c, 0) && p < eval_output(c, 0)->count; p++) {
        const int64_t cat = cats->ints[p % count];
        eval_out_f(c, 0)[p] = x->f ? x->f[p / count] == (double)cat : x->i[p / count] == cat;
    }
    return true;
}

static bool one_hot_expand(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0);
    const enum dtype wide = dtype_is_float(x->dtype) ? DTYPE_DOUBLE : DTYPE_INT64; /* a category fits, as it is */
    struct value *const cats = row_of(c, DTYPE_INT64, node_attr(c->node, "cats_int64s"));
    struct value *const column = build(c, "Unsqueeze", x, build_ints(c->b, (const int64_t[]){-1}, 1));
    struct value *const same = build(c, "Equal", build_cast(c->b, column, wide), build_cast(c->b, cats, wide));
    return expand_out(c, 0, build_cast(c->b, same, DTYPE_FLOAT));
}

static const struct op_sample one_hot_samples[] = {
    {.text = "g (int64[3,2] x) => (float[3,2,4] y) { y = " ML "OneHotEncoder <cats_int64s = [0, 1, -1, 2]> (x) }",
     .no_gradient = true},
    {.text = "g (float[5] x) => (float[5,2] y) { y = " ML "OneHotEncoder <cats_int64s = [0, 1]> (x) }",
     .no_gradient = true},
    {.text = "g () => (float[2,2] y) { x = Constant <value = int32[2] {0, 5}> () y = " ML
             "OneHotEncoder <cats_int64s = [4294967296, 5]> (x) }"},
    {.text = "g (int32[2] x) => (float[2,2] y) { y = " ML "OneHotEncoder <cats_int64s = [4294967296, 1]> (x) }",
     .no_gradient = true},
    {.text = "g (int64[3] x) => (float[3,1] y) { y = " ML "OneHotEncoder <cats_strings = [\"a\"]> (x) }",
     .error = "its categories are strings"},
    {.text = "g (int64[3] x) => (float[3,1] y) { y = " ML "OneHotEncoder <cats_int64s = [1], zeros = 0> (x) }",
     .error = "'zeros' is 0"},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_ml_features[] = {{.domain = DOMAIN_ML,
                                              .name = "Scaler",
                                              .versions = versions,
                                              .inputs = number_in,
                                              .outputs = float_out,
                                              .attrs = scaler_attrs,
                                              .infer = scaler_infer,
                                              .expand = scaler_expand,
                                              .eval = scaler_eval,
                                              .samples = scaler_samples},
                                             {.domain = DOMAIN_ML,
                                              .name = "Normalizer",
                                              .versions = versions,
                                              .inputs = number_in,
                                              .outputs = float_out,
                                              .attrs = normalizer_attrs,
                                              .infer = normalizer_infer,
                                              .expand = normalizer_expand,
                                              .eval = normalizer_eval,
                                              .samples = normalizer_samples},
                                             {.domain = DOMAIN_ML,
                                              .name = "Binarizer",
                                              .versions = versions,
                                              .inputs = any_in,
                                              .outputs = any_out,
                                              .attrs = binarizer_attrs,
                                              .infer = infer_same_as_input,
                                              .grad = grad_none,
                                              .expand = binarizer_expand,
                                              .eval = binarizer_eval,
                                              .samples = binarizer_samples},
                                             {.domain = DOMAIN_ML,
                                              .name = "Imputer",
                                              .versions = versions,
                                              .inputs = any_in,
                                              .outputs = any_out,
                                              .attrs = imputer_attrs,
                                              .infer = imputer_infer,
                                              .expand = imputer_expand,
                                              .eval = imputer_eval,
                                              .samples = imputer_samples},
                                             {.domain = DOMAIN_ML,
                                              .name = "FeatureVectorizer",
                                              .versions = versions,
                                              .inputs = vectorizer_in,
                                              .outputs = float_out,
                                              .attrs = vectorizer_attrs,
                                              .infer = vectorizer_infer,
                                              .expand = vectorizer_expand,
                                              .eval = vectorizer_eval,
                                              .samples = vectorizer_samples},
                                             {.domain = DOMAIN_ML,
                                              .name = "ArrayFeatureExtractor",
                                              .versions = versions,
                                              .inputs = extractor_in,
                                              .outputs = extractor_out,
                                              .infer = extractor_infer,
                                              .expand = extractor_expand,
                                              .eval = extractor_eval,
                                              .selects_from = extractor_selects_from,
                                              .samples = extractor_samples},
                                             {.domain = DOMAIN_ML,
                                              .name = "OneHotEncoder",
                                              .versions = versions,
                                              .inputs = number_in,
                                              .outputs = float_out,
                                              .attrs = one_hot_attrs,
                                              .infer = one_hot_infer,
                                              .grad = grad_none,
                                              .expand = one_hot_expand,
                                              .eval = one_hot_eval,
                                              .samples = one_hot_samples},
                                             {0}};
