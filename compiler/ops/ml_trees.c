/* Trees of ai.onnx.ml. A row of X, [N,F] or one of [F], belongs to a leaf of each tree; what the leaves' weights add up
 * to (or their mean, minimum, maximum), and base values, are a row of scores for targets or classes:
 *   TreeEnsembleRegressor   Y = post(scores), float
 *   TreeEnsemble            the same, in the type of X
 *   TreeEnsembleClassifier  Z = post(scores), float; Y = the label of the greatest score, the first one of equals
 * X of integers becomes float. Where two labels have weights of class 0 only, these are one score s, and Z is [1 - s,
 * s] if no weight is negative and else [-s, s], with LOGISTIC the logistic function of -s and s; of class 1 only, [0,
 * s]. Then Y is the second label from s > 1/2 on, or s > 0 if a weight is negative. That is onnxruntime's way
 * (docs/readings.md).
 *
 * In other operators: stepc.TreeLeaves finds the leaves, weights are gathered from a table and added. Gradients with
 * respect to X are 0, as those of any choice by comparisons.
 * Spec: ONNX-ML TreeEnsemble-5, TreeEnsembleRegressor-1, -3, TreeEnsembleClassifier-1, -3 (double in tensors). */
#include "ops/ml_rules.h"
#include "ops/tree_rules.h"

#include "base/str.h"
#include <math.h>

#define NODES                                                                                                          \
    {.name = "nodes_falsenodeids", .type = ATTR_INTS}, {.name = "nodes_featureids", .type = ATTR_INTS},                \
        {.name = "nodes_hitrates", .type = ATTR_FLOATS}, {.name = "nodes_hitrates_as_tensor", .type = ATTR_TENSOR},    \
        {.name = "nodes_missing_value_tracks_true", .type = ATTR_INTS}, {.name = "nodes_modes", .type = ATTR_STRINGS}, \
        {.name = "nodes_nodeids", .type = ATTR_INTS}, {.name = "nodes_treeids", .type = ATTR_INTS},                    \
        {.name = "nodes_truenodeids", .type = ATTR_INTS}, {.name = "nodes_values", .type = ATTR_FLOATS},               \
        {.name = "nodes_values_as_tensor", .type = ATTR_TENSOR}, {.name = "base_values", .type = ATTR_FLOATS},         \
        {.name = "base_values_as_tensor", .type = ATTR_TENSOR},                                                        \
    {                                                                                                                  \
        .name = "post_transform", .type = ATTR_STRING, .string_default = "NONE"                                        \
    }
static const struct op_version versions[] = {{.since = 1}, {.since = 3}, {0}};
static const struct op_param inputs[] = {{.name = "X", .dtypes = ML_NUMBERS}, {0}};

/* ---- rows and scores --------------------------------------------------------------------------------------------- */

/* X as values: a float of what is an integer. */
static void read_row(const struct eval_ctx *c, const struct forest *f, int64_t r, double *row)
{
    const bool is_float = f->type == DTYPE_FLOAT && !eval_input(c, 0)->f;
    for (int64_t k = 0; k < f->features; k++) {
        const double x = ml_number_at(c, r * f->features + k);
        row[k] = is_float ? (double)(float)x : x;
    }
}

/* Scores of all rows, [rows,targets]. */
static double *scores_of_rows(const struct eval_ctx *c, const struct forest *f)
{
    const int64_t rows = ml_rows(c->node);
    double *const row = arena_array(c->scratch, double, (size_t)f->features);
    double *const scores = arena_array(c->scratch, double, (size_t)(rows * f->targets) + 1);
    for (int64_t r = 0; r < rows; r++) {
        read_row(c, f, r, row);
        forest_scores(f, row, scores + r * f->targets);
    }
    return scores;
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

static struct value *leaves_of(struct expand_ctx *c, const struct forest *f, const struct tree_table *t,
                               const struct tree_weights *w)
{
    struct arena *const a = c->b->graph->arena;
    const int64_t columns = w->by_columns ? f->targets * w->slots : w->slots;
    int64_t *const roots = arena_array(a, int64_t, (size_t)columns);
    for (int64_t i = 0; i < columns; i++) {
        const int64_t tree = w->by_columns ? w->tree_of[i] : i;
        roots[i] = tree < 0 ? -1 - (int64_t)f->leaf_count : t->roots[tree];
    }
    struct tensor *const splits = tensor_new(a, f->type, &SHAPE((int64_t)t->count));
    for (int64_t i = 0; i < splits->count; i++)
        tensor_set_double(splits, i, t->splits[i]);
    struct value *const x =
        build_reshape(c->b, build_cast(c->b, expand_in(c, 0), f->type),
                      &SHAPE_OF(ml_rows_size(c->node), size_constant(f->features)));
    const struct attr of_splits = {.name = "splits", .type = ATTR_TENSOR, .t = splits};
    return build_with(c, "stepc.TreeLeaves",
                      ATTRS(attr_ints("features", t->features, t->count),
                            attr_int("leaves", (int64_t)f->leaf_count + (w->by_columns ? 1 : 0)),
                            attr_ints("next", t->next, t->count * t->ways), attr_ints("roots", roots, (size_t)columns),
                            of_splits),
                      x);
}

/* [rows,targets] of the forest's type. */
static struct value *scores_of(struct expand_ctx *c, const struct forest *f)
{
    struct arena scratch = {0};
    struct tree_table t;
    struct tree_weights w;
    if (!forest_table(f, &scratch, &t) || !forest_weights(f, &scratch, &w))
        UNREACHABLE("trees whose tables are too large");
    const char *const fold = f->aggregate == TREE_MIN   ? "ReduceMin"
                             : f->aggregate == TREE_MAX ? "ReduceMax"
                                                        : "ReduceSum";
    struct value *leaf = leaves_of(c, f, &t, &w);
    if (w.by_columns)
        leaf = build_reshape(c->b, leaf, &SHAPE_OF(ml_rows_size(c->node), size_constant(f->targets),
                                                   size_constant(w.slots)));
    const struct shape of_weights = w.by_columns ? SHAPE(w.count) : SHAPE(w.count / f->targets, f->targets);
    struct value *const weights = build(c, "Gather", ml_constant(c, f->type, w.weights, &of_weights), leaf);
    struct value *const along = build_ints(c->b, (const int64_t[]){w.by_columns ? 2 : 1}, 1);
    struct value *s = build_with(c, fold, ATTRS(attr_int("keepdims", 0)), weights, along);
    arena_free(&scratch);
    if (w.may_be_absent)
        s = build(c, "Where", build(c, "IsInf", s), build_like(c, s, 0.0), s);
    if (f->aggregate == TREE_AVERAGE)
        s = build(c, "Div", s, build_like(c, s, (double)f->root_count));
    return f->base ? build(c, "Add", s, ml_constant(c, f->type, f->base, &SHAPE((int64_t)f->base_count))) : s;
}

/* ---- what all of them check -------------------------------------------------------------------------------------- */

/* Are there tables for it? */
static bool check_tables(struct infer_ctx *c, const struct forest *f, struct arena *a)
{
    struct tree_table t;
    struct tree_weights w;
    return (forest_table(f, a, &t) && forest_weights(f, a, &w)) ||
           infer_unsupported(c, "its trees have %zu nodes and %zu leaves for %lld targets: too many", f->node_count,
                             f->leaf_count, (long long)f->targets);
}

static bool check_base(struct infer_ctx *c, const struct forest *f)
{
    return f->base_count == 0 || f->base_count == (uint64_t)f->targets ||
           infer_error(c, "attribute 'base_values' has %zu elements, expected %lld", f->base_count,
                       (long long)f->targets);
}

/* Scores with base values of a regressor. */
static bool regressor_read(struct infer_ctx *c, const char *prefix, const char *post, int64_t *targets)
{
    const struct attr *const given = node_attr(c->node, "n_targets");
    struct arena a = {0};
    struct forest f;
    if (given && given->i < 1)
        return infer_error(c, "attribute 'n_targets' is %lld, expected 1 or more", (long long)given->i);
    const bool is_right = ml_check_rows(c) && ml_check_transform(c, post) &&
                          forest_read(&f, &a, c->diag, c->node, prefix, given ? given->i : 0) && check_base(c, &f) &&
                          check_tables(c, &f, &a);
    *targets = is_right ? f.targets : 0;
    arena_free(&a);
    return is_right;
}

/* Of a node that was checked. */
static struct forest forest_of(const struct node *n, struct arena *a, const char *prefix, int64_t targets)
{
    struct diag d = {.arena = a};
    struct forest f;
    if (!forest_read(&f, a, &d, n, prefix, targets))
        UNREACHABLE("trees that were right are wrong: %s", diag_first_error(&d));
    return f;
}

static bool eval_regressor(struct eval_ctx *c, const char *prefix, const char *post)
{
    const struct attr *const given = node_attr(c->node, "n_targets");
    const struct forest f = forest_of(c->node, c->scratch, prefix, given ? given->i : 0);
    if (eval_wants(c, 0))
        ml_transform(post, ml_rows(c->node), f.targets, scores_of_rows(c, &f), eval_out_f(c, 0));
    return true;
}

static bool expand_regressor(struct expand_ctx *c, const char *prefix, const char *post, enum dtype to)
{
    const struct attr *const given = node_attr(c->node, "n_targets");
    struct arena a = {0};
    const struct forest f = forest_of(c->node, &a, prefix, given ? given->i : 0);
    struct value *const s = build_cast(c->b, scores_of(c, &f), to);
    arena_free(&a);
    return expand_out(c, 0, ml_transformed(c, post, s));
}

/* ---- TreeEnsembleRegressor --------------------------------------------------------------------------------------- */

static const struct op_attr regressor_attrs[] = {
    NODES,
    {.name = "aggregate_function", .type = ATTR_STRING, .string_default = "SUM"},
    {.name = "n_targets", .type = ATTR_INT, .no_default = true},
    {.name = "target_ids", .type = ATTR_INTS},
    {.name = "target_nodeids", .type = ATTR_INTS},
    {.name = "target_treeids", .type = ATTR_INTS},
    {.name = "target_weights", .type = ATTR_FLOATS},
    {.name = "target_weights_as_tensor", .type = ATTR_TENSOR},
    {0}};
static const struct op_param regressor_outputs[] = {{.name = "Y", .dtypes = DTYPE_BIT(DTYPE_FLOAT)}, {0}};

static bool regressor_infer(struct infer_ctx *c)
{
    int64_t targets = 0;
    return regressor_read(c, "target", op_attr_string(c->node, "post_transform"), &targets) &&
           infer_out(c, 0, DTYPE_FLOAT, &SHAPE_OF(ml_rows_size(c->node), size_constant(targets)));
}

static bool regressor_eval(struct eval_ctx *c)
{
    return eval_regressor(c, "target", op_attr_string(c->node, "post_transform"));
}

static bool regressor_expand(struct expand_ctx *c)
{
    return expand_regressor(c, "target", op_attr_string(c->node, "post_transform"), DTYPE_FLOAT);
}

/* ---- TreeEnsemble ------------------------------------------------------------------------------------------------ */

#define TREE_FLOATS (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) | DTYPE_BIT(DTYPE_FLOAT16))
static const struct op_attr ensemble_attrs[] = {
    {.name = "aggregate_function", .type = ATTR_INT, .int_default = TREE_SUM},
    {.name = "leaf_targetids", .type = ATTR_INTS, .required = true},
    {.name = "leaf_weights", .type = ATTR_TENSOR, .required = true},
    {.name = "membership_values", .type = ATTR_TENSOR},
    {.name = "n_targets", .type = ATTR_INT, .no_default = true},
    {.name = "nodes_falseleafs", .type = ATTR_INTS, .required = true},
    {.name = "nodes_falsenodeids", .type = ATTR_INTS, .required = true},
    {.name = "nodes_featureids", .type = ATTR_INTS, .required = true},
    {.name = "nodes_hitrates", .type = ATTR_TENSOR},
    {.name = "nodes_missing_value_tracks_true", .type = ATTR_INTS},
    {.name = "nodes_modes", .type = ATTR_TENSOR, .required = true},
    {.name = "nodes_splits", .type = ATTR_TENSOR, .required = true},
    {.name = "nodes_trueleafs", .type = ATTR_INTS, .required = true},
    {.name = "nodes_truenodeids", .type = ATTR_INTS, .required = true},
    {.name = "post_transform", .type = ATTR_INT},
    {.name = "tree_roots", .type = ATTR_INTS, .required = true},
    {0}};
static const struct op_version ensemble_versions[] = {{.since = 5}, {0}};
static const struct op_param ensemble_inputs[] = {{.name = "X", .type = 'T', .dtypes = TREE_FLOATS}, {0}};
static const struct op_param ensemble_outputs[] = {{.name = "Y", .type = 'T', .dtypes = TREE_FLOATS}, {0}};

static const char *post_of(const struct node *n)
{
    static const char *const names[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const int64_t post = op_attr_int(n, "post_transform");
    return post >= 0 && post < (int64_t)(sizeof names / sizeof *names) ? names[post] : NULL;
}

static bool ensemble_infer(struct infer_ctx *c)
{
    int64_t targets = 0;
    if (!post_of(c->node))
        return infer_error(c, "attribute 'post_transform' is %lld, expected 0 to 4",
                           (long long)op_attr_int(c->node, "post_transform"));
    return regressor_read(c, NULL, post_of(c->node), &targets) &&
           infer_out(c, 0, DTYPE_UNDEFINED, &SHAPE_OF(ml_rows_size(c->node), size_constant(targets)));
}

static bool ensemble_eval(struct eval_ctx *c)
{
    return eval_regressor(c, NULL, post_of(c->node));
}

static bool ensemble_expand(struct expand_ctx *c)
{
    return expand_regressor(c, NULL, post_of(c->node), expand_in(c, 0)->dtype);
}

/* ---- TreeEnsembleClassifier -------------------------------------------------------------------------------------- */

static const struct op_attr classifier_attrs[] = {NODES,
                                                  {.name = "class_ids", .type = ATTR_INTS},
                                                  {.name = "class_nodeids", .type = ATTR_INTS},
                                                  {.name = "class_treeids", .type = ATTR_INTS},
                                                  {.name = "class_weights", .type = ATTR_FLOATS},
                                                  {.name = "class_weights_as_tensor", .type = ATTR_TENSOR},
                                                  {.name = "classlabels_int64s", .type = ATTR_INTS},
                                                  {.name = "classlabels_strings", .type = ATTR_STRINGS},
                                                  {0}};
static const struct op_param classifier_outputs[] = {
    {.name = "Y", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF},
    {.name = "Z", .dtypes = DTYPE_BIT(DTYPE_FLOAT)},
    {0}};

/* How scores of two classes come of weights for one. */
struct tree_classes {
    int64_t count, only; /* only: the class that has weights, of two; -1: each has */
    double threshold;    /* of the only score: above, it is the second class */
    bool is_share;       /* the other's score is 1 - s, and not -s */
};

static struct tree_classes classes_of(const struct node *n, const struct forest *f)
{
    const size_t ints = ml_count(n, "classlabels_int64s");
    struct tree_classes k = {.count = (int64_t)(ints ? ints : ml_count(n, "classlabels_strings")), .only = -1};
    const int64_t *ids = node_attr(n, "class_ids")->ints;
    bool is_one = k.count == 2;
    for (size_t i = 1; is_one && i < ml_count(n, "class_ids"); i++)
        is_one = ids[i] == ids[0];
    k.only = is_one ? ids[0] : -1;
    k.is_share = true;
    for (size_t i = 0; i < f->first[f->leaf_count]; i++)
        k.is_share = k.is_share && !(f->weights[i].weight < 0);
    k.threshold = k.is_share ? 0.5 : 0;
    return k;
}

static bool check_classes(struct infer_ctx *c, const struct forest *f)
{
    const struct tree_classes k = classes_of(c->node, f);
    const char *const post = op_attr_string(c->node, "post_transform");
    if (k.only < 0)
        return check_base(c, f);
    if (f->base_count > (k.only == 0 ? 1 : 0))
        return infer_unsupported(c, "attribute 'base_values' has %zu elements, and only class %lld has weights",
                                 f->base_count, (long long)k.only);
    if (k.only == 0 && !str_equal(post, "NONE") && !str_equal(post, "LOGISTIC"))
        return infer_unsupported(c,
                                 "attribute 'post_transform' is '%s', and only class 0 has weights: what its score "
                                 "means depends on who reads it",
                                 post);
    return true;
}

static bool classifier_infer(struct infer_ctx *c)
{
    const size_t ints = ml_count(c->node, "classlabels_int64s"), texts = ml_count(c->node, "classlabels_strings");
    struct arena a = {0};
    struct forest f;
    if (texts > 0 && node_output(c->node, 0))
        return infer_unsupported(c, "its labels are strings; export with labels that are integers "
                                    "(classlabels_int64s), or without the label");
    if ((ints > 0) == (texts > 0) || ints + texts < 2)
        return infer_error(c, "it has %zu labels that are integers and %zu strings, expected two or more of one kind",
                           ints, texts);
    const bool is_right = ml_check_rows(c) && ml_check_transform(c, op_attr_string(c->node, "post_transform")) &&
                          forest_read(&f, &a, c->diag, c->node, "class", (int64_t)(ints + texts)) &&
                          check_classes(c, &f) && check_tables(c, &f, &a);
    arena_free(&a);
    return is_right && infer_out(c, 0, DTYPE_INT64, &SHAPE_OF(ml_rows_size(c->node))) &&
           infer_out(c, 1, DTYPE_FLOAT, &SHAPE_OF(ml_rows_size(c->node), size_constant((int64_t)(ints + texts))));
}

/* The number of a row's label. */
static int64_t best_of(const struct tree_classes *k, const double *scores)
{
    int64_t best = 0;
    if (k->only >= 0)
        return scores[k->only] > k->threshold;
    for (int64_t e = 1; e < k->count; e++)
        best = scores[e] > scores[best] ? e : best;
    return best;
}

static struct forest classifier_forest(const struct node *n, struct arena *a, struct tree_classes *k)
{
    const size_t ints = ml_count(n, "classlabels_int64s");
    struct forest f = forest_of(n, a, "class", (int64_t)(ints ? ints : ml_count(n, "classlabels_strings")));
    *k = classes_of(n, &f);
    return f;
}

static bool classifier_eval(struct eval_ctx *c)
{
    struct tree_classes k;
    const struct forest f = classifier_forest(c->node, c->scratch, &k);
    double *const scores = scores_of_rows(c, &f);
    for (int64_t r = 0; r < ml_rows(c->node); r++) {
        double *const s = scores + r * k.count;
        if (eval_wants(c, 0))
            eval_out_i(c, 0)[r] = node_attr(c->node, "classlabels_int64s")->ints[best_of(&k, s)];
        if (k.only >= 0) {
            const double only = s[k.only];
            const bool shared = str_equal(op_attr_string(c->node, "post_transform"), "NONE");
            s[0] = k.only == 1 ? 0 : k.is_share && shared ? 1 - only : -only;
            s[1] = only;
        }
    }
    if (eval_wants(c, 1))
        ml_transform(op_attr_string(c->node, "post_transform"), ml_rows(c->node), k.count, scores, eval_out_f(c, 1));
    return true;
}

/* [rows,2] of one score. */
static struct value *both_of(struct expand_ctx *c, const struct tree_classes *k, struct value *s)
{
    const bool shared = k->is_share && str_equal(op_attr_string(c->node, "post_transform"), "NONE");
    struct value *const other = k->only == 1 ? build_full_like(c->b, s, 0)
                                : shared     ? build(c, "Sub", build_like(c, s, 1.0), s)
                                             : build(c, "Neg", s);
    return build_with(c, "Concat", ATTRS(attr_int("axis", 1)), other, s);
}

static bool classifier_expand(struct expand_ctx *c)
{
    const char *const post = op_attr_string(c->node, "post_transform");
    struct arena a = {0};
    struct tree_classes k;
    struct forest f = classifier_forest(c->node, &a, &k);
    for (size_t i = 0; k.only == 1 && i < f.first[f.leaf_count]; i++)
        f.weights[i].target = 0;
    f.targets = k.only >= 0 ? 1 : f.targets;
    struct value *const s = scores_of(c, &f);
    arena_free(&a);
    struct value *const all = k.only >= 0 ? both_of(c, &k, s) : s;
    if (expand_wants(c, 1) && !expand_out(c, 1, ml_transformed(c, post, build_cast(c->b, all, DTYPE_FLOAT))))
        return false;
    if (!expand_wants(c, 0))
        return true;
    const struct attr *const labels = node_attr(c->node, "classlabels_int64s");
    struct value *best;
    if (k.only >= 0)
        best = build_reshape(c->b, build_cast(c->b, build(c, "Greater", s, build_like(c, s, k.threshold)), DTYPE_INT64),
                             &SHAPE_OF(ml_rows_size(c->node)));
    else
        best = build_with(c, "ArgMax", ATTRS(attr_int("axis", 1), attr_int("keepdims", 0)), s);
    return expand_out(c, 0, build(c, "Gather", build_ints(c->b, labels->ints, labels->count), best));
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

#define ML "ai.onnx.ml."
/* Two trees: x0 <= 0.25 ? (x1 > -0.5 ? leaf 2 : leaf 3) : leaf 4; x1 == x0's like: x1 < 0.125 ? leaf 1 : leaf 2 */
#define TWO_TREES                                                                                                      \
    "nodes_treeids = [0, 0, 0, 0, 0, 7, 7, 7], nodes_nodeids = [0, 1, 2, 3, 4, 0, 1, 2], "                             \
    "nodes_featureids = [0, 1, 0, 0, 0, 1, 0, 0], nodes_values = [0.25, -0.5, 0.0, 0.0, 0.0, 0.125, 0.0, 0.0], "       \
    "nodes_modes = [\"BRANCH_LEQ\", \"BRANCH_GT\", \"LEAF\", \"LEAF\", \"LEAF\", \"BRANCH_LT\", \"LEAF\", \"LEAF\"], " \
    "nodes_truenodeids = [1, 2, 0, 0, 0, 1, 0, 0], nodes_falsenodeids = [4, 3, 0, 0, 0, 2, 0, 0]"
#define ONE_TREE(mode, missing) ONE_TREE_AT(mode, missing, "1.0")
#define ONE_TREE_AT(mode, missing, split)                                                                              \
    "nodes_treeids = [0, 0, 0], nodes_nodeids = [5, 6, 7], nodes_featureids = [0, 0, 0], nodes_values = [" split       \
    ", 0.0, 0.0], nodes_modes = [\"" mode "\", \"LEAF\", \"LEAF\"], nodes_truenodeids = [6, 0, 0], "                   \
    "nodes_falsenodeids = [7, 0, 0], nodes_missing_value_tracks_true = [" missing                                      \
    ", 0, 0], target_treeids = [0, 0], target_nodeids = [6, 7], target_ids = [0, 0], target_weights = [3.0, 5.0], "    \
    "n_targets = 1"
#define ONE_TARGET                                                                                                     \
    "target_treeids = [0, 0, 0, 7, 7], target_nodeids = [2, 3, 4, 1, 2], target_ids = [0, 0, 0, 0, 0], "               \
    "target_weights = [1.0, -2.0, 3.5, 0.25, 10.0], n_targets = 1"
/* leaf 3 of the first tree has no weight, leaf 2 two for one target */
#define THREE_TARGETS                                                                                                  \
    "target_treeids = [0, 0, 0, 0, 7, 7], target_nodeids = [2, 2, 2, 4, 1, 2], target_ids = [0, 1, 0, 2, 1, 0], "      \
    "target_weights = [1.0, -2.0, 3.5, 0.25, 10.0, -7.0], n_targets = 3"
#define SPECIAL "x = Constant <value = float[7,1] {nan, 1.0, 0.99999994, 1.0000001, inf, -inf, -0.0}> () "
#define MODE(mode, missing)                                                                                            \
    {                                                                                                                  \
        .text =                                                                                                        \
            "g () => (float[7,1] y) { " SPECIAL "y = " ML "TreeEnsembleRegressor <" ONE_TREE(mode, missing) "> (x) }"  \
    }

static const struct op_sample regressor_samples[] = {
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsembleRegressor <" TWO_TREES ", " ONE_TARGET
             ", base_values = [0.5]> (x) }",
     .no_gradient = true},
    {.text = "g (double[6,2] x) => (float[6,3] y) { y = " ML "TreeEnsembleRegressor <" TWO_TREES ", " THREE_TARGETS
             ", base_values = [0.5, -1.0, 2.0], aggregate_function = \"AVERAGE\", post_transform = \"SOFTMAX\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (float[6,3] y) { y = " ML "TreeEnsembleRegressor <" TWO_TREES ", " THREE_TARGETS
             ", aggregate_function = \"MIN\"> (x) }",
     .no_gradient = true},
    {.text = "g (int64[6,2] x) => (float[6,3] y) { y = " ML "TreeEnsembleRegressor <" TWO_TREES ", " THREE_TARGETS
             ", aggregate_function = \"MAX\", post_transform = \"LOGISTIC\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[2] x) => (float[1,1] y) { y = " ML "TreeEnsembleRegressor <" TWO_TREES ", " ONE_TARGET "> (x) }",
     .no_gradient = true},
    {.text = "g () => (float[4,1] y) { x = Constant <value = double[4,1] {1.0, 1.0000000000000002, "
             "0.9999999999999999, 0.5}> () y = " ML
             "TreeEnsembleRegressor <nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, "
             "0], nodes_values_as_tensor = double[3] {1.0, 0.0, 0.0}, nodes_modes = [\"BRANCH_EQ\", \"LEAF\", "
             "\"LEAF\"], nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], "
             "target_nodeids = [1, 2], target_ids = [0, 0], target_weights_as_tensor = double[2] {0.1, 0.2}, "
             "base_values_as_tensor = double[1] {0.3}, n_targets = 1> (x) }"},
    MODE("BRANCH_LEQ", "0"),
    MODE("BRANCH_LEQ", "1"),
    MODE("BRANCH_LT", "0"),
    MODE("BRANCH_LT", "1"),
    MODE("BRANCH_GTE", "0"),
    MODE("BRANCH_GTE", "1"),
    MODE("BRANCH_GT", "0"),
    MODE("BRANCH_GT", "1"),
    MODE("BRANCH_EQ", "0"),
    MODE("BRANCH_EQ", "1"),
    MODE("BRANCH_NEQ", "0"),
    MODE("BRANCH_NEQ", "1"),
    {.text = "g () => (float[7,1] y) { " SPECIAL "y = " ML
             "TreeEnsembleRegressor <" ONE_TREE_AT("BRANCH_LT", "0", "-inf") "> (x) }"},
    {.text = "g () => (float[7,1] y) { " SPECIAL "y = " ML
             "TreeEnsembleRegressor <" ONE_TREE_AT("BRANCH_EQ", "0", "-inf") "> (x) }"},
    {.text = "g () => (float[7,1] y) { " SPECIAL "y = " ML
             "TreeEnsembleRegressor <" ONE_TREE_AT("BRANCH_NEQ", "1", "nan") "> (x) }"},
    {.text =
         "g (float[2,2] x) => (float[2,1] y) { y = " ML
         "TreeEnsembleRegressor <nodes_treeids = [0], nodes_nodeids = [0], nodes_featureids = [0], nodes_values = "
         "[0.0], nodes_modes = [\"LEAF\"], nodes_truenodeids = [0], nodes_falsenodeids = [0], target_treeids = [0], "
         "target_nodeids = [0], target_ids = [0], target_weights = [1.5]> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsembleRegressor <" TWO_TREES ", " ONE_TARGET
             ", base_values = [0.5, 1.0]> (x) }",
     .error = "'base_values' has 2 elements, expected 1"},
    {.text =
         "g (float[6,1] x) => (float[6,1] y) { y = " ML "TreeEnsembleRegressor <" TWO_TREES ", " ONE_TARGET "> (x) }",
     .error = "element 1 of attribute 'nodes_featureids' is 1, expected 0 to 0"},
    {.text = "g (float[6,1] x) => (float[6,1] y) { y = " ML
             "TreeEnsembleRegressor <" ONE_TREE("BRANCH_MEMBER", "0") "> (x) }",
     .error = "element 0 of attribute 'nodes_modes' is 'BRANCH_MEMBER'"},
    {.text = "g (float[6,1] x) => (float[6,1] y) { y = " ML
             "TreeEnsembleRegressor <" ONE_TREE("BRANCH_LT", "0") ", aggregate_function = \"MEDIAN\"> (x) }",
     .error = "'aggregate_function' is none of AVERAGE"},
    {.text = "g (float[6,1,1] x) => (float[6,1] y) { y = " ML
             "TreeEnsembleRegressor <" ONE_TREE("BRANCH_LT", "0") "> (x) }",
     .error = "has rank 3, expected 2"},
    {.text = "g (float[2,2] x) => (float[2,1] y) { y = " ML
             "TreeEnsembleRegressor <nodes_treeids = [0, 0], nodes_nodeids = [0, 1], nodes_featureids = [0, 0], "
             "nodes_values = [0.0, 1.0], nodes_modes = [\"BRANCH_LT\", \"BRANCH_LT\"], nodes_truenodeids = [1, 0], "
             "nodes_falsenodeids = [1, 0], target_treeids = [0], target_nodeids = [0], target_ids = [0], "
             "target_weights = [1.5]> (x) }",
     .error = "its trees have a cycle"},
    {.text = "g (float[2,2] x) => (float[2,1] y) { y = " ML
             "TreeEnsembleRegressor <nodes_treeids = [0], nodes_nodeids = [0], nodes_featureids = [0], "
             "nodes_values = [0.0], nodes_modes = [\"BRANCH_LT\"], nodes_truenodeids = [3], nodes_falsenodeids = [0], "
             "target_treeids = [0], target_nodeids = [0], target_ids = [0], target_weights = [1.5]> (x) }",
     .error = "node 0 of tree 0 leads to node 3, which the tree does not have"},
    {.text = "g (float[2,2] x) => (float[2,1] y) { y = " ML
             "TreeEnsembleRegressor <nodes_treeids = [0, 0], nodes_nodeids = [2, 2], nodes_featureids = [0, 0], "
             "nodes_values = [0.0, 0.0], nodes_modes = [\"LEAF\", \"LEAF\"], nodes_truenodeids = [0, 0], "
             "nodes_falsenodeids = [0, 0], target_treeids = [0], target_nodeids = [2], target_ids = [0], "
             "target_weights = [1.5]> (x) }",
     .error = "tree 0 has two nodes 2"},
    {.text = "g (float[2,2] x) => (float[2,1] y) { y = " ML
             "TreeEnsembleRegressor <nodes_treeids = [0], nodes_nodeids = [0], nodes_featureids = [0], "
             "nodes_values = [0.0], nodes_modes = [\"LEAF\"], nodes_truenodeids = [0], nodes_falsenodeids = [0], "
             "target_treeids = [0], target_nodeids = [4], target_ids = [0], target_weights = [1.5]> (x) }",
     .error = "is for node 4 of tree 0, which there is not"},
    {.text = "g (float[2,2] x) => (float[2,1] y) { y = " ML
             "TreeEnsembleRegressor <nodes_treeids = [0], nodes_nodeids = [0], nodes_featureids = [0], "
             "nodes_values = [0.0, 1.0], nodes_modes = [\"LEAF\"], nodes_truenodeids = [0], nodes_falsenodeids = [0], "
             "target_treeids = [0], target_nodeids = [0], target_ids = [0], target_weights = [1.5]> (x) }",
     .error = "'nodes_values' has 2 elements, expected 1"},
    {.text =
         "g (float[2,2] x) => (float[2,1] y) { y = " ML
         "TreeEnsembleRegressor <nodes_treeids = [0], nodes_nodeids = [0], nodes_featureids = [0], "
         "nodes_values = [0.0], nodes_modes = [\"LEAF\"], nodes_truenodeids = [0], nodes_falsenodeids = [0], "
         "target_treeids = [0], target_nodeids = [0], target_ids = [1], target_weights = [1.5], n_targets = 1> (x) }",
     .error = "element 0 of attribute 'target_ids' is 1, expected 0 to 0"},
    {.text = "g (float[2,2] x) => (float[2,1] y) { y = " ML
             "TreeEnsembleRegressor <nodes_treeids = [0], nodes_nodeids = [0], nodes_featureids = [0], "
             "nodes_values = [0.0], nodes_modes = [\"LEAF\"], nodes_truenodeids = [0], nodes_falsenodeids = [0], "
             "target_treeids = [0], target_nodeids = [0], target_ids = [0], target_weights = [inf], "
             "aggregate_function = \"MIN\"> (x) }",
     .error = "'target_weights' is not finite"},
    {.text = "g (float[2,2] x) => (float[2,1] y) { y = " ML "TreeEnsembleRegressor(x) }", .error = "it has no trees"},
    {0}};

/* Leaves 0 and 1 are reached in two ways each. */
#define SETS                                                                                                           \
    "leaf_targetids = [0, 1, 2, 3], nodes_falseleafs = [1, 0, 1], nodes_falsenodeids = [2, 2, 3], nodes_featureids = " \
    "[0, 0, 0], nodes_modes = uint8[3] {0, 6, 6}, nodes_trueleafs = [0, 1, 1], nodes_truenodeids = [1, 0, 1], "        \
    "tree_roots = [0], n_targets = 4"
#define SETS_OF(type)                                                                                                  \
    "leaf_weights = " type "[4] {1, 10, 1000, 100}, membership_values = " type                                         \
    "[8] {1.5, 3.75, 8, 9, nan, 12, 7, nan}, nodes_splits = " type "[3] {11, 23, nan}"
#define STUMPS(mode, next)                                                                                             \
    "leaf_targetids = [0, 0], leaf_weights = float[2] {1, 2}, nodes_falseleafs = [1, 1], nodes_falsenodeids = [0, "    \
    "1], nodes_featureids = [0, 1], nodes_modes = uint8[2] {" mode ", 3}, nodes_trueleafs = [1, 0], "                  \
    "nodes_truenodeids = [0, " next "], nodes_splits = float[2] {0.5, nan}, tree_roots = [0, 1, 0]"
static const struct op_sample ensemble_samples[] = {
    {.text = "g () => (float[7,4] y) { x = Constant <value = float[7,1] {1.5, 3.5, -0.125, nan, 12, 7, 8}> () y = " ML
             "TreeEnsemble <" SETS ", " SETS_OF("float") "> (x) }"},
    {.text = "g () => (double[3,4] y) { x = Constant <value = double[3,1] {12, nan, 9.000000000000002}> () y = " ML
             "TreeEnsemble <" SETS ", " SETS_OF("double") ", nodes_missing_value_tracks_true = [0, 1, 0], "
                                                          "post_transform = 3, aggregate_function = 0> (x) }"},
    {.text = "g (float16[5,1] x) => (float16[5,4] y) { y = " ML "TreeEnsemble <" SETS ", " SETS_OF("float") "> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsemble <" STUMPS("0", "0") "> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML
             "TreeEnsemble <" STUMPS("1", "0") ", aggregate_function = 2, post_transform = 4> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsemble <" STUMPS("7", "0") "> (x) }",
     .error = "'nodes_modes' is 7, expected 0 to 6"},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsemble <" STUMPS("6", "0") "> (x) }",
     .error = "has no set of values, which ends with NaN, for node 0"},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsemble <" STUMPS("0", "2") "> (x) }",
     .error = "element 1 of attribute 'nodes_truenodeids' is 2, expected 0 to 1: the nodes"},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML
             "TreeEnsemble <" STUMPS("0", "0") ", membership_values = float[1] {nan}> (x) }",
     .error = "'membership_values' has 1 elements, the sets of the nodes 0"},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsemble <" STUMPS("0", "0") ", n_targets = 0> (x) }",
     .error = "'n_targets' is 0"},
    {.text =
         "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsemble <" STUMPS("0", "0") ", post_transform = 5> (x) }",
     .error = "'post_transform' is 5"},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML
             "TreeEnsemble <" STUMPS("0", "0") ", aggregate_function = 4> (x) }",
     .error = "'aggregate_function' is none of"},
    {.text = "g (float[6,2] x) => (float[6,1] y) { y = " ML "TreeEnsemble <" STUMPS("0", "1") "> (x) }",
     .error = "its trees have a cycle"},
    {0}};

#define CLASSES(ids, weights)                                                                                          \
    "class_treeids = [0, 0, 0, 7, 7], class_nodeids = [2, 3, 4, 1, 2], class_ids = [" ids                              \
    "], class_weights = [" weights "]"
static const struct op_sample classifier_samples[] = {
    {.text =
         "g (float[6,2] x) => (int64[6] y, float[6,3] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES
         ", " CLASSES(
             "0, 1, 2, 2, 0",
             "1.0, -2.0, 3.5, 0.25, 10.0") ", classlabels_int64s = [5, -7, 9], base_values = [0.5, -1.0, 2.0]> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (int64[6] y, float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES
             ", " CLASSES("0, 0, 0, 0, 0", "0.5, 0.0, 0.25, 0.25, 0.0") ", classlabels_int64s = [5, -7]> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (int64[6] y, float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES
             ", " CLASSES("0, 0, 0, 0, 0",
                          "0.5, -1.0, 0.25, 0.25, 0.0") ", classlabels_int64s = [5, -7], base_values = [0.125]> (x) }",
     .no_gradient = true},
    {.text = "g (double[6,2] x) => (int64[6] y, float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES
             ", " CLASSES(
                 "0, 0, 0, 0, 0",
                 "0.5, 1.0, 0.25, 0.25, 0.0") ", classlabels_int64s = [5, -7], post_transform = \"LOGISTIC\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (int64[6] y, float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES
             ", " CLASSES(
                 "1, 1, 1, 1, 1",
                 "0.5, -1.0, 0.25, 0.25, 0.0") ", classlabels_int64s = [5, -7], post_transform = \"SOFTMAX\"> (x) }",
     .no_gradient = true},
    {.text =
         "g (float[6,2] x) => (int64[6] y, float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES
         ", " CLASSES("0, 1, 1, 0, 1",
                      "0.5, 0.75, 0.25, 0.25, 0.5") ", classlabels_int64s = [5, -7], base_values = [0.125, 0.5]> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (float[6,2] z) { , z = " ML "TreeEnsembleClassifier <" TWO_TREES ", " CLASSES(
         "0, 1, 1, 0, 1", "0.5, 0.75, 0.25, 0.25, 0.5") ", classlabels_strings = [\"a\", \"b\"]> (x) }",
     .no_gradient = true},
    {.text = "g (float[6,2] x) => (float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES ", " CLASSES(
         "0, 1, 1, 0, 1", "0.5, 0.75, 0.25, 0.25, 0.5") ", classlabels_strings = [\"a\", \"b\"]> (x) }",
     .error = "its labels are strings"},
    {.text = "g (float[6,2] x) => (float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES
             ", " CLASSES("0, 0, 0, 0, 0", "0.5, 0.75, 0.25, 0.25, 0.5") ", classlabels_int64s = [1]> (x) }",
     .error = "expected two or more of one kind"},
    {.text = "g (float[6,2] x) => (float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES ", " CLASSES(
         "0, 0, 0, 0, 0",
         "0.5, 0.75, 0.25, 0.25, 0.5") ", classlabels_int64s = [1, 2], post_transform = \"SOFTMAX\"> (x) }",
     .error = "'post_transform' is 'SOFTMAX', and only class 0 has weights"},
    {.text = "g (float[6,2] x) => (float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES ", " CLASSES(
         "1, 1, 1, 1, 1", "0.5, 0.75, 0.25, 0.25, 0.5") ", classlabels_int64s = [1, 2], base_values = [0.5]> (x) }",
     .error = "'base_values' has 1 elements, and only class 1 has weights"},
    {.text = "g (float[6,2] x) => (float[6,2] z) { y, z = " ML "TreeEnsembleClassifier <" TWO_TREES
             ", " CLASSES("0, 0, 0, 0, 2", "0.5, 0.75, 0.25, 0.25, 0.5") ", classlabels_int64s = [1, 2]> (x) }",
     .error = "element 4 of attribute 'class_ids' is 2, expected 0 to 1"},
    {0}};

const struct op_def op_defs_ml_trees[] = {{.domain = DOMAIN_ML,
                                           .name = "TreeEnsembleRegressor",
                                           .versions = versions,
                                           .inputs = inputs,
                                           .outputs = regressor_outputs,
                                           .attrs = regressor_attrs,
                                           .infer = regressor_infer,
                                           .grad = grad_none,
                                           .expand = regressor_expand,
                                           .eval = regressor_eval,
                                           .samples = regressor_samples},
                                          {.domain = DOMAIN_ML,
                                           .name = "TreeEnsembleClassifier",
                                           .versions = versions,
                                           .inputs = inputs,
                                           .outputs = classifier_outputs,
                                           .attrs = classifier_attrs,
                                           .infer = classifier_infer,
                                           .grad = grad_none,
                                           .expand = classifier_expand,
                                           .eval = classifier_eval,
                                           .samples = classifier_samples},
                                          {.domain = DOMAIN_ML,
                                           .name = "TreeEnsemble",
                                           .versions = ensemble_versions,
                                           .inputs = ensemble_inputs,
                                           .outputs = ensemble_outputs,
                                           .attrs = ensemble_attrs,
                                           .infer = ensemble_infer,
                                           .grad = grad_none,
                                           .expand = ensemble_expand,
                                           .eval = ensemble_eval,
                                           .in_float = true,
                                           .samples = ensemble_samples},
                                          {0}};
