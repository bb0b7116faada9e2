/* Support vector machines of ai.onnx.ml. Of V vectors, and rows of X [N,F] (or one of [F]) as float, with gamma, coef0
 * and degree in kernel_params:
 *   LINEAR x.v   POLY (gamma x.v + coef0)^degree   RBF exp(-gamma |x - v|^2)   SIGMOID tanh(gamma x.v + coef0)
 *   SVMRegressor   Y = K(x, vectors) . coefficients + rho [N,1], one_class: 1 where that is above 0, else -1; without
 *                  vectors Y = x . coefficients + rho
 *   SVMClassifier  one against one: of each two classes a < b a score s, above 0 a vote for a, else one for b. Y = the
 *                  label with most votes, the first one of equals. Z = post(scores), of two classes post of [-s, s];
 * with prob_a and prob_b probabilities of the classes [N,C], by libsvm's pairwise coupling. That is onnxruntime's way,
 * and libsvm's. Coupling: with r_ab = logistic(-(prob_a s + prob_b)), within 1e-7 of 0 and 1, p is where the sum of
 * (r_ba p_a - r_ab p_b)^2 is least; here exactly, there until a step changes little (docs/readings.md). A classifier
 * without vectors is refused: LinearClassifier is one. Gradients with respect to X are those of the operators that it
 * is made of. Spec: ONNX-ML SVMClassifier-1, SVMRegressor-1. */
#include "ops/ml_rules.h"

#include "base/str.h"
#include <math.h>

static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_param inputs[] = {{.name = "X", .dtypes = ML_NUMBERS}, {0}};

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

enum svm_kernel { SVM_LINEAR, SVM_POLY, SVM_RBF, SVM_SIGMOID, SVM_KERNELS };

struct machine {
    enum svm_kernel kernel;
    double gamma, coef0, degree;
    int64_t features, vectors;
    const double *support; /* [vectors,features] */
};

static bool kernel_of(const struct node *n, enum svm_kernel *out)
{
    static const char *const names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    for (int k = 0; k < SVM_KERNELS; k++)
        if (str_equal(op_attr_string(n, "kernel_type"), names[k])) {
            *out = (enum svm_kernel)k;
            return true;
        }
    return false;
}

static struct machine machine_of(const struct node *n, int64_t vectors)
{
    const struct attr *const params = node_attr(n, "kernel_params"), *const support = node_attr(n, "support_vectors");
    struct machine m = {.features = ml_features(n), .vectors = vectors, .support = support ? support->floats : NULL};
    (void)kernel_of(n, &m.kernel);
    if (params && params->count == 3) {
        m.gamma = params->floats[0];
        m.coef0 = params->floats[1];
        m.degree = params->floats[2];
    }
    return m;
}

static bool check_count(struct infer_ctx *c, const char *name, int64_t wanted)
{
    const size_t given = ml_count(c->node, name);
    return given == (uint64_t)wanted ||
           infer_error(c, "attribute '%s' has %zu numbers, expected %lld", name, given, (long long)wanted);
}

static bool check_machine(struct infer_ctx *c, int64_t vectors)
{
    enum svm_kernel kernel;
    const size_t params = ml_count(c->node, "kernel_params"), given = ml_count(c->node, "support_vectors");
    if (!ml_check_rows(c))
        return false;
    if (!kernel_of(c->node, &kernel))
        return infer_error(c, "attribute 'kernel_type' is '%s', expected LINEAR, POLY, RBF or SIGMOID",
                           op_attr_string(c->node, "kernel_type"));
    if (params != 3 && (params != 0 || kernel != SVM_LINEAR))
        return infer_error(c, "attribute 'kernel_params' has %zu numbers, expected 3: gamma, coef0 and degree", params);
    if (given % (uint64_t)vectors != 0 || given / (uint64_t)vectors != (uint64_t)ml_features(c->node))
        return infer_error(c,
                           "attribute 'support_vectors' has %zu numbers, expected %lld rows of %lld, the features of "
                           "input 0 '%s'",
                           given, (long long)vectors, (long long)ml_features(c->node), infer_in(c, 0)->name);
    return true;
}

/* Row r beside vector v. */
static double kernel_at(const struct eval_ctx *c, const struct machine *m, int64_t r, int64_t v)
{
    double dot = 0, distance = 0;
    for (int64_t f = 0; f < m->features; f++) {
        const double x = ml_number_at(c, r * m->features + f), s = m->support[v * m->features + f];
        dot += x * s;
        distance += (x - s) * (x - s);
    }
    switch (m->kernel) {
    case SVM_LINEAR:
        return dot;
    case SVM_POLY:
        return pow(m->gamma * dot + m->coef0, m->degree);
    case SVM_RBF:
        return exp(-m->gamma * distance);
    case SVM_SIGMOID:
        return tanh(m->gamma * dot + m->coef0);
    case SVM_KERNELS:
        break;
    }
    UNREACHABLE("kernel %d of a support vector machine", (int)m->kernel);
}

static struct value *rows_of(struct expand_ctx *c)
{
    struct value *const x = build_cast(c->b, expand_in(c, 0), DTYPE_FLOAT);
    return build_reshape(c->b, x, &SHAPE_OF(ml_rows_size(c->node), size_constant(ml_features(c->node))));
}

/* [N,V] */
static struct value *kernels_of(struct expand_ctx *c, const struct machine *m)
{
    struct value *const x = rows_of(c);
    struct value *const support = ml_constant(c, DTYPE_FLOAT, m->support, &SHAPE(m->vectors, m->features));
    if (m->kernel == SVM_RBF) {
        const struct size one = size_constant(1), features = size_constant(m->features);
        struct value *const each = build_reshape(c->b, x, &SHAPE_OF(ml_rows_size(c->node), one, features));
        struct value *const apart = build(c, "Sub", each, support), *const along = build_ints(c->b, (int64_t[]){2}, 1);
        struct value *const distance =
            build_with(c, "ReduceSum", ATTRS(attr_int("keepdims", 0)), build(c, "Mul", apart, apart), along);
        return build(c, "Exp", build(c, "Mul", distance, build_like(c, x, -m->gamma)));
    }
    struct value *const dot = build_with(c, "Gemm", ATTRS(attr_int("transB", 1)), x, support);
    if (m->kernel == SVM_LINEAR)
        return dot;
    struct value *const scaled =
        build(c, "Add", build(c, "Mul", dot, build_like(c, x, m->gamma)), build_like(c, x, m->coef0));
    return m->kernel == SVM_SIGMOID ? build(c, "Tanh", scaled) : build(c, "Pow", scaled, build_like(c, x, m->degree));
}

/* ---- SVMRegressor ------------------------------------------------------------------------------------------------ */

static const struct op_attr regressor_attrs[] = {
    {.name = "coefficients", .type = ATTR_FLOATS},
    {.name = "kernel_params", .type = ATTR_FLOATS},
    {.name = "kernel_type", .type = ATTR_STRING, .string_default = "LINEAR"},
    {.name = "n_supports", .type = ATTR_INT},
    {.name = "one_class", .type = ATTR_INT},
    {.name = "post_transform", .type = ATTR_STRING, .string_default = "NONE"},
    {.name = "rho", .type = ATTR_FLOATS},
    {.name = "support_vectors", .type = ATTR_FLOATS},
    {0}};
static const struct op_param regressor_outputs[] = {{.name = "Y", .dtypes = DTYPE_BIT(DTYPE_FLOAT)}, {0}};

static bool regressor_infer(struct infer_ctx *c)
{
    const int64_t vectors = op_attr_int(c->node, "n_supports");
    if (!str_equal(op_attr_string(c->node, "post_transform"), "NONE"))
        return infer_unsupported(c, "attribute 'post_transform' is '%s'; NONE is supported",
                                 op_attr_string(c->node, "post_transform"));
    if (vectors < 0)
        return infer_error(c, "attribute 'n_supports' is %lld, expected 0 or more", (long long)vectors);
    if (vectors > 0 ? !check_machine(c, vectors) : !ml_check_rows(c))
        return false;
    return check_count(c, "coefficients", vectors > 0 ? vectors : ml_features(c->node)) && check_count(c, "rho", 1) &&
           infer_out(c, 0, DTYPE_FLOAT, &SHAPE_OF(ml_rows_size(c->node), size_constant(1)));
}

static bool regressor_eval(struct eval_ctx *c)
{
    const struct machine m = machine_of(c->node, op_attr_int(c->node, "n_supports"));
    const double *const w = node_attr(c->node, "coefficients")->floats;
    for (int64_t r = 0; eval_wants(c, 0) && r < ml_rows(c->node); r++) {
        double y = node_attr(c->node, "rho")->floats[0];
        for (int64_t v = 0; v < m.vectors; v++)
            y += w[v] * kernel_at(c, &m, r, v);
        for (int64_t f = 0; m.vectors == 0 && f < m.features; f++)
            y += w[f] * ml_number_at(c, r * m.features + f);
        eval_out_f(c, 0)[r] = op_attr_int(c->node, "one_class") == 0 ? y : y > 0 ? 1 : -1;
    }
    return true;
}

static bool regressor_expand(struct expand_ctx *c)
{
    const struct machine m = machine_of(c->node, op_attr_int(c->node, "n_supports"));
    struct value *const terms = m.vectors > 0 ? kernels_of(c, &m) : rows_of(c);
    const struct shape column = SHAPE_OF(shape_size(&terms->shape, 1), size_constant(1));
    struct value *const w = ml_constant(c, DTYPE_FLOAT, node_attr(c->node, "coefficients")->floats, &column);
    struct value *const rho = ml_constant(c, DTYPE_FLOAT, node_attr(c->node, "rho")->floats, &SHAPE(1));
    struct value *const y = build(c, "Gemm", terms, w, rho);
    if (op_attr_int(c->node, "one_class") == 0)
        return expand_out(c, 0, y);
    struct value *const is_inside = build(c, "Greater", y, build_like(c, y, 0.0));
    return expand_out(c, 0, build(c, "Where", is_inside, build_like(c, y, 1.0), build_like(c, y, -1.0)));
}

/* ---- SVMClassifier ----------------------------------------------------------------------------------------------- */

static const struct op_attr classifier_attrs[] = {
    {.name = "classlabels_ints", .type = ATTR_INTS},
    {.name = "classlabels_strings", .type = ATTR_STRINGS},
    {.name = "coefficients", .type = ATTR_FLOATS},
    {.name = "kernel_params", .type = ATTR_FLOATS},
    {.name = "kernel_type", .type = ATTR_STRING, .string_default = "LINEAR"},
    {.name = "post_transform", .type = ATTR_STRING, .string_default = "NONE"},
    {.name = "prob_a", .type = ATTR_FLOATS},
    {.name = "prob_b", .type = ATTR_FLOATS},
    {.name = "rho", .type = ATTR_FLOATS},
    {.name = "support_vectors", .type = ATTR_FLOATS},
    {.name = "vectors_per_class", .type = ATTR_INTS},
    {0}};
static const struct op_param classifier_outputs[] = {
    {.name = "Y", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF},
    {.name = "Z", .dtypes = DTYPE_BIT(DTYPE_FLOAT)},
    {0}};
#define MOST_CLASSES 256 /* their pairs make 32640 scores */

/* Pairs (a, b) of classes are numbered (0, 1), (0, 2) .. (1, 2) .. */
struct svm_classes {
    struct machine m;
    int64_t count, pairs;
    const int64_t *vectors;                             /* of each class */
    const double *coefficients, *rho, *prob_a, *prob_b; /* prob_a NULL: scores are no probabilities */
};

static struct svm_classes classes_of(const struct node *n)
{
    const struct attr *const per_class = node_attr(n, "vectors_per_class");
    struct svm_classes k = {.count = (int64_t)per_class->count, .vectors = per_class->ints};
    int64_t all = 0;
    for (int64_t a = 0; a < k.count; a++)
        all += k.vectors[a];
    k.m = machine_of(n, all);
    k.pairs = k.count * (k.count - 1) / 2;
    k.coefficients = node_attr(n, "coefficients")->floats;
    k.rho = node_attr(n, "rho")->floats;
    if (ml_count(n, "prob_a") > 0) {
        k.prob_a = node_attr(n, "prob_a")->floats;
        k.prob_b = node_attr(n, "prob_b")->floats;
    }
    return k;
}

static bool check_vectors(struct infer_ctx *c)
{
    const struct attr *const per_class = node_attr(c->node, "vectors_per_class");
    int64_t all = 0;
    for (size_t a = 0; a < per_class->count; a++) {
        if (per_class->ints[a] < 0 || per_class->ints[a] > INT32_MAX)
            return infer_error(c, "element %zu of attribute 'vectors_per_class' is %lld", a,
                               (long long)per_class->ints[a]);
        all += per_class->ints[a];
    }
    if (all == 0)
        return infer_error(c, "attribute 'vectors_per_class' has no vectors");
    return check_machine(c, all) && check_count(c, "coefficients", ((int64_t)per_class->count - 1) * all);
}

static bool check_labels(struct infer_ctx *c, size_t classes)
{
    const size_t ints = ml_count(c->node, "classlabels_ints"), texts = ml_count(c->node, "classlabels_strings");
    if (texts > 0 && node_output(c->node, 0))
        return infer_unsupported(c, "its labels are strings; export with labels that are integers "
                                    "(classlabels_ints), or without the label");
    return ints + texts == classes ||
           infer_error(c, "it has %zu labels for the %zu classes of 'vectors_per_class'", ints + texts, classes);
}

static bool classifier_infer(struct infer_ctx *c)
{
    const size_t classes = ml_count(c->node, "vectors_per_class");
    const int64_t pairs = (int64_t)classes * ((int64_t)classes - 1) / 2;
    const char *const post = op_attr_string(c->node, "post_transform");
    if (classes == 0)
        return infer_unsupported(c, "it has no vectors_per_class, which makes it a linear model: export it as "
                                    "LinearClassifier");
    if (classes < 2 || classes > MOST_CLASSES)
        return infer_error(c, "attribute 'vectors_per_class' has %zu elements, expected 2 to %d", classes,
                           MOST_CLASSES);
    if (!check_labels(c, classes) || !check_vectors(c) || !check_count(c, "rho", pairs) || !ml_check_transform(c, post))
        return false;
    const bool has_probabilities = ml_count(c->node, "prob_a") > 0;
    if (ml_count(c->node, "prob_a") + ml_count(c->node, "prob_b") > 0 &&
        (!check_count(c, "prob_a", pairs) || !check_count(c, "prob_b", pairs)))
        return false;
    if (!has_probabilities && classes == 2 && !str_equal(post, "NONE") && !str_equal(post, "LOGISTIC"))
        return infer_unsupported(c, "attribute 'post_transform' is '%s'; of one score NONE and LOGISTIC are supported",
                                 post);
    const int64_t scores = has_probabilities || classes == 2 ? (int64_t)classes : pairs;
    return infer_out(c, 0, DTYPE_INT64, &SHAPE_OF(ml_rows_size(c->node))) &&
           infer_out(c, 1, DTYPE_FLOAT, &SHAPE_OF(ml_rows_size(c->node), size_constant(scores)));
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The scores of a row's pairs. */
static void pair_scores(const struct eval_ctx *c, const struct svm_classes *k, int64_t r, double *kernel, double *score)
{
    int64_t pair = 0, first_a = 0;
    for (int64_t v = 0; v < k->m.vectors; v++)
        kernel[v] = kernel_at(c, &k->m, r, v);
    for (int64_t a = 0; a < k->count; first_a += k->vectors[a++]) {
        int64_t first_b = first_a + k->vectors[a];
        for (int64_t b = a + 1; b < k->count; first_b += k->vectors[b++], pair++) {
            score[pair] = k->rho[pair];
            for (int64_t v = first_a; v < first_a + k->vectors[a]; v++)
                score[pair] += k->coefficients[(b - 1) * k->m.vectors + v] * kernel[v];
            for (int64_t v = first_b; v < first_b + k->vectors[b]; v++)
                score[pair] += k->coefficients[a * k->m.vectors + v] * kernel[v];
        }
    }
}

static int64_t most_voted(const struct svm_classes *k, const double *score, double *votes)
{
    int64_t pair = 0, best = 0;
    for (int64_t a = 0; a < k->count; a++)
        votes[a] = 0;
    for (int64_t a = 0; a < k->count; a++)
        for (int64_t b = a + 1; b < k->count; b++, pair++)
            votes[score[pair] > 0 ? a : b] += 1;
    for (int64_t a = 1; a < k->count; a++)
        best = votes[a] > votes[best] ? a : best;
    return best;
}

/* As libsvm goes towards the minimum, one probability after the other, but until nothing moves. */
static void couple(const struct svm_classes *k, const double *score, struct arena *scratch, double *p)
{
    enum { ROUNDS = 10000 };
    const int64_t n = k->count;
    double *const share = arena_array(scratch, double, (size_t)(n * n)), *const q = arena_array(scratch, double,
                                                                                                (size_t)(n * n));
    int64_t pair = 0;
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = a + 1; b < n; b++, pair++) {
            const double s = 1 / (1 + exp(k->prob_a[pair] * score[pair] + k->prob_b[pair]));
            share[a * n + b] = fmin(fmax(s, 1e-7), 1 - 1e-7);
            share[b * n + a] = 1 - share[a * n + b];
        }
    for (int64_t a = 0; a < n; a++)
        for (int64_t b = 0; b < n; b++)
            if (a != b) {
                q[a * n + a] += share[b * n + a] * share[b * n + a];
                q[a * n + b] = -share[b * n + a] * share[a * n + b];
            }
    for (int64_t a = 0; a < n; a++)
        p[a] = 1 / (double)n;
    double moved = 1;
    for (int round = 0; round < ROUNDS && moved > 1e-15; round++) {
        moved = 0;
        for (int64_t a = 0; a < n; a++) {
            double all = 0, own = 0;
            for (int64_t b = 0; b < n; b++) {
                double row = 0;
                for (int64_t d = 0; d < n; d++)
                    row += q[b * n + d] * p[d];
                all += p[b] * row;
                own = b == a ? row : own;
            }
            const double step = (all - own) / q[a * n + a];
            p[a] += step;
            for (int64_t b = 0; b < n; b++)
                p[b] /= 1 + step;
            moved = fmax(moved, fabs(step));
        }
    }
}

static bool classifier_eval(struct eval_ctx *c)
{
    const struct svm_classes k = classes_of(c->node);
    const int64_t rows = ml_rows(c->node), width = k.prob_a || k.count == 2 ? k.count : k.pairs;
    double *const kernel = arena_array(c->scratch, double, (size_t)k.m.vectors);
    double *const score = arena_array(c->scratch, double, (size_t)k.pairs);
    double *const votes = arena_array(c->scratch, double, (size_t)k.count);
    double *const all = arena_array(c->scratch, double, (size_t)(rows * width) + 1);
    for (int64_t r = 0; r < rows; r++) {
        double *const z = all + r * width;
        pair_scores(c, &k, r, kernel, score);
        if (eval_wants(c, 0))
            eval_out_i(c, 0)[r] = node_attr(c->node, "classlabels_ints")->ints[most_voted(&k, score, votes)];
        for (int64_t i = 0; !k.prob_a && i < k.pairs; i++)
            z[i] = score[i];
        if (k.prob_a)
            couple(&k, score, c->scratch, z);
        else if (k.count == 2) {
            z[0] = -score[0];
            z[1] = score[0];
        }
    }
    if (eval_wants(c, 1))
        ml_transform(op_attr_string(c->node, "post_transform"), rows, width, all, eval_out_f(c, 1));
    return true;
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

/* [N,pairs]: one product, with 0 where a pair has no use for a vector. */
static struct value *scores_of(struct expand_ctx *c, const struct svm_classes *k)
{
    struct arena scratch = {0};
    double *const w = arena_array(&scratch, double, (size_t)(k->m.vectors * k->pairs));
    int64_t pair = 0, first_a = 0;
    for (int64_t a = 0; a < k->count; first_a += k->vectors[a++]) {
        int64_t first_b = first_a + k->vectors[a];
        for (int64_t b = a + 1; b < k->count; first_b += k->vectors[b++], pair++) {
            for (int64_t v = first_a; v < first_a + k->vectors[a]; v++)
                w[v * k->pairs + pair] = k->coefficients[(b - 1) * k->m.vectors + v];
            for (int64_t v = first_b; v < first_b + k->vectors[b]; v++)
                w[v * k->pairs + pair] = k->coefficients[a * k->m.vectors + v];
        }
    }
    struct value *const weights = ml_constant(c, DTYPE_FLOAT, w, &SHAPE(k->m.vectors, k->pairs));
    arena_free(&scratch);
    return build(c, "Gemm", kernels_of(c, &k->m), weights, ml_constant(c, DTYPE_FLOAT, k->rho, &SHAPE(k->pairs)));
}

/* A matrix [pairs,columns] whose row for (a, b) has `of_a` in column a and `of_b` in column b. */
static struct value *of_pairs(struct expand_ctx *c, const struct svm_classes *k, double of_a, double of_b)
{
    struct tensor *const t = tensor_new(c->b->graph->arena, DTYPE_FLOAT, &SHAPE(k->pairs, k->count));
    int64_t pair = 0;
    for (int64_t a = 0; a < k->count; a++)
        for (int64_t b = a + 1; b < k->count; b++, pair++) {
            tensor_set_double(t, pair * k->count + a, of_a);
            tensor_set_double(t, pair * k->count + b, of_b);
        }
    return build_constant(c->b, t);
}

/* With w of 1 for a vote for a, of 0 for b: votes = w A + (1 - w) B = w (A - B) + (1 .. 1) B. Class b has b votes then.
 */
static struct value *label_of(struct expand_ctx *c, const struct svm_classes *k, struct value *scores)
{
    const struct attr *const labels = node_attr(c->node, "classlabels_ints");
    struct value *const is_a = build_cast(c->b, build(c, "Greater", scores, build_like(c, scores, 0.0)), DTYPE_FLOAT);
    struct value *const all_b = build_counter(c->b, DTYPE_FLOAT, 0, &SHAPE(k->count));
    struct value *const votes = build(c, "Gemm", is_a, of_pairs(c, k, 1, -1), all_b);
    struct value *const best = build_with(c, "ArgMax", ATTRS(attr_int("axis", 1), attr_int("keepdims", 0)), votes);
    return build(c, "Gather", build_ints(c->b, labels->ints, labels->count), best);
}

/* shares [N,C,C]: r_ab at [a,b], 0 at [a,a]. */
static struct value *shares_of(struct expand_ctx *c, const struct svm_classes *k, struct value *scores)
{
    struct value *const a = ml_constant(c, DTYPE_FLOAT, k->prob_a, &SHAPE(k->pairs));
    struct value *const b = ml_constant(c, DTYPE_FLOAT, k->prob_b, &SHAPE(k->pairs));
    struct value *const at = build(c, "Neg", build(c, "Add", build(c, "Mul", scores, a), b));
    struct value *const r =
        build(c, "Clip", build(c, "Sigmoid", at), build_like(c, at, 1e-7), build_like(c, at, 1 - 1e-7));
    struct value *const none = build_full_like(
        c->b, build_with(c, "Gather", ATTRS(attr_int("axis", 1)), r, build_ints(c->b, (int64_t[]){0}, 1)), 0);
    struct value *const rest = build(c, "Sub", build_like(c, r, 1.0), r);
    struct value *const all = build_with(c, "Concat", ATTRS(attr_int("axis", 1)), r, rest, none);
    struct tensor *const from = tensor_new(c->b->graph->arena, DTYPE_INT64, &SHAPE(k->count, k->count));
    int64_t pair = 0;
    for (int64_t i = 0; i < k->count; i++) {
        tensor_set_int(from, i * k->count + i, 2 * k->pairs);
        for (int64_t j = i + 1; j < k->count; j++, pair++) {
            tensor_set_int(from, i * k->count + j, pair);
            tensor_set_int(from, j * k->count + i, k->pairs + pair);
        }
    }
    return build_with(c, "Gather", ATTRS(attr_int("axis", 1)), all, build_constant(c->b, from));
}

static struct value *part(struct expand_ctx *c, struct value *m, int64_t row, int64_t rows, int64_t column,
                          int64_t columns)
{
    return build(c, "Slice", m, build_ints(c->b, (int64_t[]){row, column}, 2),
                 build_ints(c->b, (int64_t[]){row + rows, column + columns}, 2),
                 build_ints(c->b, (int64_t[]){1, 2}, 2));
}

/* The least p' Q p with a sum of 1, Q_aa = sum of r_ba^2, Q_ab = -r_ba r_ab, is (Q + 1)^-1 (1 .. 1)', scaled: of
 * [Q + 1, (1 .. 1)'] columns are eliminated one by one, above and below, in the order they have: Q + 1 is positive
 * definite. */
static struct value *coupled(struct expand_ctx *c, const struct svm_classes *k, struct value *scores)
{
    const int64_t n = k->count;
    const struct size rows = ml_rows_size(c->node);
    const struct shape column_of_ones = SHAPE_OF(rows, size_constant(n), size_constant(1));
    struct value *const r = shares_of(c, k, scores);
    struct value *const turned = build_transpose(c->b, r, (const int[]){0, 2, 1});
    struct value *const one = build_like(c, r, 1.0);
    struct value *const of_own = build_with(c, "ReduceSum", ATTRS(attr_int("keepdims", 1)),
                                            build(c, "Mul", turned, turned), build_ints(c->b, (int64_t[]){2}, 1));
    struct tensor *const unit = tensor_new(c->b->graph->arena, DTYPE_FLOAT, &SHAPE(n, n));
    for (int64_t a = 0; a < n; a++)
        tensor_set_double(unit, a * n + a, 1);
    struct value *const others = build(c, "Sub", one, build(c, "Mul", r, turned));
    struct value *m = build(c, "Add", others, build(c, "Mul", of_own, build_constant(c->b, unit)));
    struct value *const ones = build_expand(c->b, build_reshape(c->b, one, &SHAPE(1, 1, 1)), &column_of_ones);
    m = build_with(c, "Concat", ATTRS(attr_int("axis", 2)), m, ones);
    for (int64_t a = 0; a < n; a++) {
        /* what is left of the matrix is [n, n - a] and the right side */
        struct value *const pivot = build(c, "Div", part(c, m, a, 1, 1, n - a), part(c, m, a, 1, 0, 1));
        struct value *const column = part(c, m, 0, n, 0, 1);
        struct tensor *const keeps = tensor_new(c->b->graph->arena, DTYPE_BOOL, &SHAPE(n, 1));
        tensor_set_int(keeps, a, 1);
        struct value *const rest = build(c, "Sub", part(c, m, 0, n, 1, n - a), build(c, "Mul", column, pivot));
        m = build(c, "Where", build_constant(c->b, keeps), pivot, rest);
    }
    struct value *const sum = build(c, "ReduceSum", m, build_ints(c->b, (int64_t[]){1}, 1));
    return build_reshape(c->b, build(c, "Div", m, sum), &SHAPE_OF(rows, size_constant(n)));
}

static bool classifier_expand(struct expand_ctx *c)
{
    const struct svm_classes k = classes_of(c->node);
    struct value *const scores = scores_of(c, &k);
    if (expand_wants(c, 1)) {
        struct value *const z =
            k.prob_a       ? coupled(c, &k, scores)
            : k.count == 2 ? build_with(c, "Concat", ATTRS(attr_int("axis", 1)), build(c, "Neg", scores), scores)
                           : scores;
        if (!expand_out(c, 1, ml_transformed(c, op_attr_string(c->node, "post_transform"), z)))
            return false;
    }
    return !expand_wants(c, 0) || expand_out(c, 0, label_of(c, &k, scores));
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

#define ML "ai.onnx.ml."
#define TWO_VECTORS "coefficients = [0.5, -2.0], support_vectors = [0.25, -1.0, 0.5, 1.0, 0.125, -0.5], n_supports = 2"
static const struct op_sample regressor_samples[] = {
    {.text = "g (float[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS ", rho = [0.25]> (x) }"},
    {.text = "g (float[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS
             ", rho = [0.25], kernel_type = \"RBF\", kernel_params = [0.5, 0.0, 3.0]> (x) }"},
    {.text = "g (float[3] x) => (float[1,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS
             ", rho = [0.25], kernel_type = \"POLY\", kernel_params = [0.25, 0.5, 3.0]> (x) }"},
    {.text = "g (double[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS
             ", rho = [0.25], kernel_type = \"SIGMOID\", kernel_params = [0.25, 0.5, 0.0]> (x) }",
     .no_gradient = true},
    {.text = "g (float[7,3] x) => (float[7,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS
             ", rho = [0.0], one_class = 1> (x) }",
     .no_gradient = true},
    {.text =
         "g (int64[4,2] x) => (float[4,1] y) { y = " ML "SVMRegressor <coefficients = [0.5, -2.0], rho = [0.25]> (x) }",
     .no_gradient = true},
    {.text = "g (float[4,2] x) => (float[4,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS ", rho = [0.25]> (x) }",
     .error = "'support_vectors' has 6 numbers, expected 2 rows of 2"},
    {.text = "g (float[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS "> (x) }",
     .error = "'rho' has 0 numbers, expected 1"},
    {.text = "g (float[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS
             ", rho = [0.25], kernel_type = \"RBF\"> (x) }",
     .error = "'kernel_params' has 0 numbers, expected 3"},
    {.text = "g (float[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS
             ", rho = [0.25], kernel_type = \"LAPLACE\"> (x) }",
     .error = "'kernel_type' is 'LAPLACE', expected LINEAR"},
    {.text = "g (float[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <" TWO_VECTORS
             ", rho = [0.25], post_transform = \"SOFTMAX\"> (x) }",
     .error = "'post_transform' is 'SOFTMAX'; NONE is supported"},
    {.text =
         "g (float[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <coefficients = [0.5, -2.0], rho = [0.25]> (x) }",
     .error = "'coefficients' has 2 numbers, expected 3"},
    {.text = "g (float[4,3] x) => (float[4,1] y) { y = " ML "SVMRegressor <n_supports = -1> (x) }",
     .error = "'n_supports' is -1"},
    {0}};

#define OF_TWO                                                                                                         \
    "coefficients = [0.5, 1.0, -1.5], support_vectors = [0.25, -1.0, 0.5, 1.0, 0.125, -0.5], vectors_per_class = [2, " \
    "1], rho = [0.25]"
#define OF_THREE                                                                                                       \
    "coefficients = [0.5, 1.0, -1.5, 0.75, -0.25, 0.5, 0.75, -1.25], support_vectors = [0.25, -1.0, 0.5, 1.0, 0.125, " \
    "-0.5, 1.5, 0.75], vectors_per_class = [1, 2, 1], rho = [0.25, -0.5, 0.125], classlabels_ints = [7, -1, 4]"
static const struct op_sample classifier_samples[] = {
    {.text = "g (float[9,2] x) => (int64[9] y, float[9,2] z) { y, z = " ML "SVMClassifier <" OF_TWO
             ", classlabels_ints = [3, 8]> (x) }"},
    {.text = "g (float[9,2] x) => (int64[9] y, float[9,2] z) { y, z = " ML "SVMClassifier <" OF_TWO
             ", classlabels_ints = [3, 8], post_transform = \"LOGISTIC\", kernel_type = \"RBF\", kernel_params = "
             "[0.5, 0.0, 3.0]> (x) }"},
    {.text = "g (float[9,2] x) => (int64[9] y, float[9,2] z) { y, z = " ML "SVMClassifier <" OF_TWO
             ", classlabels_ints = [3, 8], prob_a = [-1.5], prob_b = [0.25]> (x) }"},
    {.text = "g (float[9,2] x) => (int64[9] y, float[9,3] z) { y, z = " ML "SVMClassifier <" OF_THREE
             ", kernel_type = \"RBF\", kernel_params = [0.5, 0.0, 3.0]> (x) }"},
    {.text = "g (double[9,2] x) => (int64[9] y, float[9,3] z) { y, z = " ML "SVMClassifier <" OF_THREE
             ", post_transform = \"SOFTMAX\"> (x) }",
     .no_gradient = true},
    {.text = "g (float[9,2] x) => (int64[9] y, float[9,3] z) { y, z = " ML "SVMClassifier <" OF_THREE
             ", prob_a = [-1.5, -2.0, -0.5], prob_b = [0.25, 0.0, -0.125], kernel_type = \"SIGMOID\", kernel_params = "
             "[0.5, 0.25, 3.0]> (x) }"},
    {.text = "g (float[2] x) => (float[1,2] z) { , z = " ML "SVMClassifier <" OF_TWO
             ", classlabels_strings = [\"no\", \"yes\"]> (x) }"},
    {.text = "g (float[9,2] x) => (float[9,2] z) { y, z = " ML "SVMClassifier <" OF_TWO
             ", classlabels_strings = [\"no\", \"yes\"]> (x) }",
     .error = "its labels are strings"},
    {.text =
         "g (float[9,2] x) => (float[9,2] z) { y, z = " ML "SVMClassifier <" OF_TWO ", classlabels_ints = [3]> (x) }",
     .error = "it has 1 labels for the 2 classes"},
    {.text = "g (float[9,2] x) => (float[9,2] z) { y, z = " ML "SVMClassifier <" OF_TWO
             ", classlabels_ints = [3, 8], post_transform = \"SOFTMAX\"> (x) }",
     .error = "'post_transform' is 'SOFTMAX'; of one score"},
    {.text = "g (float[9,2] x) => (float[9,2] z) { y, z = " ML "SVMClassifier <" OF_TWO
             ", classlabels_ints = [3, 8], prob_a = [1.0]> (x) }",
     .error = "'prob_b' has 0 numbers, expected 1"},
    {.text = "g (float[9,2] x) => (float[9,2] z) { y, z = " ML
             "SVMClassifier <classlabels_ints = [3, 8], coefficients = [1.0, 2.0], rho = [0.5]> (x) }",
     .error = "export it as LinearClassifier"},
    {.text = "g (float[9,2] x) => (float[9,2] z) { y, z = " ML
             "SVMClassifier <classlabels_ints = [3, 8], vectors_per_class = [1, -1], rho = [0.5]> (x) }",
     .error = "element 1 of attribute 'vectors_per_class' is -1"},
    {.text = "g (float[9,2] x) => (float[9,2] z) { y, z = " ML
             "SVMClassifier <classlabels_ints = [3], vectors_per_class = [1], rho = [0.5]> (x) }",
     .error = "'vectors_per_class' has 1 elements, expected 2 to 256"},
    {.text = "g (float[9,2] x) => (float[9,2] z) { y, z = " ML
             "SVMClassifier <classlabels_ints = [3, 8], vectors_per_class = [1, 1], support_vectors = [0.0, 0.0, 1.0, "
             "1.0], coefficients = [1.0], rho = [0.5]> (x) }",
     .error = "'coefficients' has 1 numbers, expected 2"},
    {0}};

const struct op_def op_defs_ml_svm[] = {{.domain = DOMAIN_ML,
                                         .name = "SVMRegressor",
                                         .versions = versions,
                                         .inputs = inputs,
                                         .outputs = regressor_outputs,
                                         .attrs = regressor_attrs,
                                         .infer = regressor_infer,
                                         .expand = regressor_expand,
                                         .eval = regressor_eval,
                                         .samples = regressor_samples},
                                        {.domain = DOMAIN_ML,
                                         .name = "SVMClassifier",
                                         .versions = versions,
                                         .inputs = inputs,
                                         .outputs = classifier_outputs,
                                         .attrs = classifier_attrs,
                                         .infer = classifier_infer,
                                         .expand = classifier_expand,
                                         .eval = classifier_eval,
                                         .samples = classifier_samples},
                                        {0}};
