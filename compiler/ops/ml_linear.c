/* Linear models of ai.onnx.ml. With coefficients C [E,F] and intercepts b [E] (0 where absent) of the node:
 *   LinearRegressor   Y = post(X C' + b)                          one row of coefficients for each target
 *   LinearClassifier  Z = post(s), Y = the label of the greatest of s = X C' + b in a row; the first one of equals
 * X [N,F], or [F] as one row, becomes float; Y of the regressor and Z are float [N,E]. post is nothing, LOGISTIC (the
 * logistic function of each), SOFTMAX, SOFTMAX_ZERO or PROBIT (ops/ml_rules.h). Gradients are those of
 * the product; `prepare` trains coefficients and intercepts (prepare/linear_models.c). A classifier of two labels with
 * one row of coefficients is refused: what its scores are depends on who reads it.
 * Spec: ONNX-ML LinearRegressor-1, LinearClassifier-1. */
#include "ops/ml_rules.h"

static const struct op_param inputs[] = {{.name = "X", .dtypes = ML_NUMBERS}, {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};

/* ---- what a node says -------------------------------------------------------------------------------------------- */

struct linear_node {
    int64_t rows, features, results;
    const double *coefficients, *intercepts; /* intercepts NULL: 0 */
};

static struct linear_node linear_of(const struct node *n, int64_t results)
{
    const struct shape *const x = &n->inputs.data[0]->shape;
    const struct attr *const b = node_attr(n, "intercepts");
    return (struct linear_node){.rows = x->rank == 2 ? x->dim[0] : 1,
                                .features = x->dim[x->rank - 1],
                                .results = results,
                                .coefficients = node_attr(n, "coefficients")->floats,
                                .intercepts = b && b->count > 0 ? b->floats : NULL};
}

static bool check_sizes(struct infer_ctx *c, int64_t results)
{
    const struct shape *const x = infer_shape(c, 0);
    const size_t given = ml_count(c->node, "coefficients"), intercepts = ml_count(c->node, "intercepts");
    if (x->rank != 1 && x->rank != 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected 2: [samples, features]", infer_in(c, 0)->name,
                           x->rank);
    const int64_t features = x->dim[x->rank - 1];
    if (results < 1)
        return infer_error(c, "it has %lld results, expected one or more", (long long)results);
    if (given % (uint64_t)results != 0 || given / (uint64_t)results != (uint64_t)features)
        return infer_error(c,
                           "attribute 'coefficients' has %zu numbers, expected %lld rows of %lld, the features of "
                           "input 0 '%s'",
                           given, (long long)results, (long long)features, infer_in(c, 0)->name);
    if (intercepts != 0 && intercepts != (uint64_t)results)
        return infer_error(c, "attribute 'intercepts' has %zu numbers, expected %lld", intercepts, (long long)results);
    return true;
}

static bool infer_scores(struct infer_ctx *c, int output, int64_t results)
{
    return infer_out(c, output, DTYPE_FLOAT, &SHAPE_OF(ml_rows_size(c->node), size_constant(results)));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static void fill_scores(const struct eval_ctx *c, const struct linear_node *l, double *scores)
{
    for (int64_t n = 0; n < l->rows; n++)
        for (int64_t e = 0; e < l->results; e++) {
            double sum = 0;
            for (int64_t f = 0; f < l->features; f++)
                sum += ml_number_at(c, n * l->features + f) * l->coefficients[e * l->features + f];
            scores[n * l->results + e] = sum + (l->intercepts ? l->intercepts[e] : 0);
        }
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

static struct value *scores_of(struct expand_ctx *c, const struct linear_node *l)
{
    struct value *const x =
        build_reshape(c->b, build_cast(c->b, expand_in(c, 0), DTYPE_FLOAT), &SHAPE(l->rows, l->features));
    struct value *const w = ml_constant(c, DTYPE_FLOAT, l->coefficients, &SHAPE(l->results, l->features));
    if (!l->intercepts)
        return build_with(c, "Gemm", ATTRS(attr_int("transB", 1)), x, w);
    return build_with(c, "Gemm", ATTRS(attr_int("transB", 1)), x, w,
                      ml_constant(c, DTYPE_FLOAT, l->intercepts, &SHAPE(l->results)));
}

/* ---- LinearRegressor --------------------------------------------------------------------------------------------- */

static const struct op_attr regressor_attrs[] = {
    {.name = "coefficients", .type = ATTR_FLOATS, .required = true},
    {.name = "intercepts", .type = ATTR_FLOATS},
    {.name = "post_transform", .type = ATTR_STRING, .string_default = "NONE"},
    {.name = "targets", .type = ATTR_INT, .int_default = 1},
    {0}};
static const struct op_param regressor_outputs[] = {{.name = "Y", .dtypes = DTYPE_BIT(DTYPE_FLOAT)}, {0}};

static bool regressor_infer(struct infer_ctx *c)
{
    const int64_t targets = op_attr_int(c->node, "targets");
    return check_sizes(c, targets) && ml_check_transform(c, op_attr_string(c->node, "post_transform")) &&
           infer_scores(c, 0, targets);
}

static bool regressor_eval(struct eval_ctx *c)
{
    const struct linear_node l = linear_of(c->node, op_attr_int(c->node, "targets"));
    double *const scores = arena_array(c->scratch, double, (size_t)(l.rows * l.results) + 1);
    fill_scores(c, &l, scores);
    if (eval_wants(c, 0))
        ml_transform(op_attr_string(c->node, "post_transform"), l.rows, l.results, scores, eval_out_f(c, 0));
    return true;
}

static bool regressor_expand(struct expand_ctx *c)
{
    const struct linear_node l = linear_of(c->node, op_attr_int(c->node, "targets"));
    return expand_out(c, 0, ml_transformed(c, op_attr_string(c->node, "post_transform"), scores_of(c, &l)));
}

#define ML "ai.onnx.ml."
static const struct op_sample regressor_samples[] = {
    {.text = "g (float[3,2] x) => (float[3,1] y) { y = " ML
             "LinearRegressor <coefficients = [0.5, -2.0], intercepts = [0.25]> (x) }"},
    {.text = "g (double[4,2] x) => (float[4,3] y) { y = " ML
             "LinearRegressor <coefficients = [0.5, -2.0, 1.0, 0.125, 3.0, -1.5], targets = 3, post_transform = "
             "\"SOFTMAX\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[2] x) => (float[1,2] y) { y = " ML
             "LinearRegressor <coefficients = [0.5, -2.0, 1.0, 0.25], intercepts = [0.0, 1.0], targets = 2, "
             "post_transform = \"LOGISTIC\"> (x) }"},
    {.text = "g (float[2,2] x) => (float[2,2] y) { y = " ML
             "LinearRegressor <coefficients = [0.0, 0.0, 1.0, 0.25], targets = 2, post_transform = \"SOFTMAX_ZERO\"> "
             "(x) }"},
    {.text = "g (int64[3,2] x) => (float[3,1] y) { y = " ML "LinearRegressor <coefficients = [0.5, -2.0]> (x) }",
     .no_gradient = true},
    {.text =
         "g (float[6,2] x) => (float[6,2] y) { y = " ML
         "LinearRegressor <coefficients = [0.125, 0.125, 0.0625, 0.1875], intercepts = [0.0625, 0.625], targets = 2, "
         "post_transform = \"PROBIT\"> (x) }",
     .feed = "unit"},
    {.text = "g (float[3,2] x) => (float[3,1] y) { y = " ML "LinearRegressor <coefficients = [0.5, -2.0, 1.0]> (x) }",
     .error = "has 3 numbers, expected 1 rows of 2"},
    {.text = "g (float[3,2] x) => (float[3,1] y) { y = " ML
             "LinearRegressor <coefficients = [0.5, -2.0], intercepts = [1.0, 2.0]> (x) }",
     .error = "'intercepts' has 2 numbers, expected 1"},
    {.text = "g (float[3,2] x) => (float[3,1] y) { y = " ML
             "LinearRegressor <coefficients = [0.5, -2.0], post_transform = \"TANH\"> (x) }",
     .error = "'post_transform' is 'TANH'"},
    {.text = "g (float[3,2,1] x) => (float[3,1] y) { y = " ML "LinearRegressor <coefficients = [0.5, -2.0]> (x) }",
     .error = "has rank 3, expected 2"},
    {0}};

/* ---- LinearClassifier -------------------------------------------------------------------------------------------- */

static const struct op_attr classifier_attrs[] = {
    {.name = "classlabels_ints", .type = ATTR_INTS},
    {.name = "classlabels_strings", .type = ATTR_STRINGS},
    {.name = "coefficients", .type = ATTR_FLOATS, .required = true},
    {.name = "intercepts", .type = ATTR_FLOATS},
    {.name = "multi_class", .type = ATTR_INT},
    {.name = "post_transform", .type = ATTR_STRING, .string_default = "NONE"},
    {0}};
static const struct op_param classifier_outputs[] = {
    {.name = "Y", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF},
    {.name = "Z", .dtypes = DTYPE_BIT(DTYPE_FLOAT)},
    {0}};

static int64_t classes_of(const struct node *n)
{
    const size_t ints = ml_count(n, "classlabels_ints");
    return (int64_t)(ints > 0 ? ints : ml_count(n, "classlabels_strings"));
}

static bool classifier_infer(struct infer_ctx *c)
{
    const size_t texts = ml_count(c->node, "classlabels_strings");
    const int64_t labels = classes_of(c->node);
    if (texts > 0 && node_output(c->node, 0))
        return infer_unsupported(c, "its labels are strings; export with labels that are integers "
                                    "(classlabels_ints), or without the label");
    const struct shape *const x = infer_shape(c, 0);
    if (labels == 2 && x->rank > 0 && ml_count(c->node, "coefficients") == (uint64_t)x->dim[x->rank - 1])
        return infer_unsupported(c, "it has one row of coefficients for two labels");
    return check_sizes(c, labels) && ml_check_transform(c, op_attr_string(c->node, "post_transform")) &&
           infer_out(c, 0, DTYPE_INT64, &SHAPE_OF(ml_rows_size(c->node))) && infer_scores(c, 1, labels);
}

static bool classifier_eval(struct eval_ctx *c)
{
    const struct attr *const labels = node_attr(c->node, "classlabels_ints");
    const struct linear_node l = linear_of(c->node, classes_of(c->node));
    double *const scores = arena_array(c->scratch, double, (size_t)(l.rows * l.results) + 1);
    fill_scores(c, &l, scores);
    for (int64_t r = 0; eval_wants(c, 0) && r < l.rows; r++) {
        const double *const x = scores + r * l.results;
        int64_t best = 0;
        for (int64_t e = 1; e < l.results; e++)
            best = x[e] > x[best] ? e : best;
        eval_out_i(c, 0)[r] = labels->ints[best];
    }
    if (eval_wants(c, 1))
        ml_transform(op_attr_string(c->node, "post_transform"), l.rows, l.results, scores, eval_out_f(c, 1));
    return true;
}

static bool classifier_expand(struct expand_ctx *c)
{
    const struct attr *const labels = node_attr(c->node, "classlabels_ints");
    const struct linear_node l = linear_of(c->node, classes_of(c->node));
    struct value *const s = scores_of(c, &l);
    if (expand_wants(c, 1) && !expand_out(c, 1, ml_transformed(c, op_attr_string(c->node, "post_transform"), s)))
        return false;
    if (!expand_wants(c, 0))
        return true;
    struct value *const best = build_with(c, "ArgMax", ATTRS(attr_int("axis", 1), attr_int("keepdims", 0)), s);
    return expand_out(c, 0, build(c, "Gather", build_ints(c->b, labels->ints, labels->count), best));
}

static const struct op_sample classifier_samples[] = {
    {.text = "g (float[5,2] x) => (int64[5] y, float[5,3] z) { y, z = " ML
             "LinearClassifier <classlabels_ints = [7, -1, 4], coefficients = [0.5, -2.0, 1.0, 0.125, 3.0, -1.5], "
             "intercepts = [0.0, 0.5, 1.0], post_transform = \"SOFTMAX\"> (x) }"},
    {.text = "g (double[3,1] x) => (float[3,2] z) { , z = " ML
             "LinearClassifier <classlabels_ints = [0, 1], coefficients = [0.5, -2.0], multi_class = 1, "
             "post_transform = \"LOGISTIC\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[3,2] x) => (int64[3] y) { y, z = " ML
             "LinearClassifier <classlabels_ints = [0, 1], coefficients = [0.5, -2.0, 1.0, 1.0]> (x) }",
     .no_gradient = true},
    {.text = "g (float[3,2] x) => (float[3,2] z) { y, z = " ML
             "LinearClassifier <classlabels_ints = [0, 1], coefficients = [0.5, -2.0]> (x) }",
     .error = "one row of coefficients for two labels"},
    {.text = "g (float[3,2] x) => (float[3,2] z) { y, z = " ML
             "LinearClassifier <classlabels_strings = [\"a\", \"b\"], coefficients = [0.5, -2.0, 1.0, 1.0]> (x) }",
     .error = "its labels are strings"},
    {.text = "g (float[3,2] x) => (float[3,2] z) { , z = " ML
             "LinearClassifier <classlabels_strings = [\"a\", \"b\"], coefficients = [0.5, -2.0, 1.0, 1.0]> (x) }"},
    {.text = "g (float[3,2] x) => (float[3,2] z) { y, z = " ML "LinearClassifier <coefficients = [0.5, -2.0]> (x) }",
     .error = "it has 0 results"},
    {0}};

const struct op_def op_defs_ml_linear[] = {{.domain = DOMAIN_ML,
                                            .name = "LinearRegressor",
                                            .versions = versions,
                                            .inputs = inputs,
                                            .outputs = regressor_outputs,
                                            .attrs = regressor_attrs,
                                            .infer = regressor_infer,
                                            .expand = regressor_expand,
                                            .eval = regressor_eval,
                                            .samples = regressor_samples},
                                           {.domain = DOMAIN_ML,
                                            .name = "LinearClassifier",
                                            .versions = versions,
                                            .inputs = inputs,
                                            .outputs = classifier_outputs,
                                            .attrs = classifier_attrs,
                                            .infer = classifier_infer,
                                            .expand = classifier_expand,
                                            .eval = classifier_eval,
                                            .samples = classifier_samples},
                                           {0}};
