/* Operators that stepc does not have: each is said once, with the nodes that need it and what can be done. */
#include "base/file.h"
#include "base/str.h"
#include "graph/import_internal.h"
#include "graph/upgrade.h"

#include <string.h>

enum { MOST_NAMED = 5, MOST_ERRORS = 100 /* a model that lacks more operators is no model */ };

/* Those of ONNX-ML. */
static bool is_classical(const char *op)
{
    static const char *const names[] = {
        "ArrayFeatureExtractor", "Binarizer", "CastMap", "CategoryMapper", "DictVectorizer", "FeatureVectorizer",
        "Imputer", "LabelEncoder", "LinearClassifier", "LinearRegressor", "Normalizer", "OneHotEncoder",
        "SVMClassifier", "SVMRegressor", "Scaler", "TreeEnsemble", "TreeEnsembleClassifier", "TreeEnsembleRegressor",
        "ZipMap"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (str_equal(op, names[i]))
            return true;
    return false;
}

bool import_is_missing(const struct model_node *mn)
{
    const char *name;
    if (op_find(mn->domain, mn->op_type))
        return false;
    if (str_equal(mn->domain, DOMAIN_ML))
        return is_classical(mn->op_type);
    if (mn->domain[0] == '\0')
        return onnx_names_has(mn->op_type) || !str_closest(mn->op_type, onnx_names, onnx_names_count);
    return op_names(mn->domain, &name, 1) == 0;
}

/* The nodes of the whole model that mean the same operator. */
struct needers {
    const struct model_node *wanted, *first;
    struct strbuf names;
    size_t count;
};

static void look_at(void *needers, const struct model_node *mn)
{
    struct needers *const n = needers;
    if (!str_equal(mn->op_type, n->wanted->op_type) || !str_equal(mn->domain, n->wanted->domain))
        return;
    if (n->count++ == 0)
        n->first = mn;
    if (n->count <= MOST_NAMED && mn->name[0] != '\0')
        strbuf_addf(&n->names, "%s'%s'", n->names.length ? ", " : "", mn->name);
    else if (n->count <= MOST_NAMED)
        strbuf_addf(&n->names, "%s#%d", n->names.length ? ", " : "", mn->loc.index);
}

static void look_at_model(struct needers *n, const struct model *m)
{
    model_each_node(m->graph, look_at, n);
    vec_each(const struct model_training *, t, &m->training) {
        model_each_node(t->initialization, look_at, n);
        model_each_node(t->algorithm, look_at, n);
    }
    vec_each(const struct model_function *, f, &m->functions)
        model_each_node(&(struct model_graph){.nodes = f->nodes}, look_at, n);
}

/* training_model.onnx and optimizer_model.onnx, which ONNX Runtime generates for its own training. */
static bool is_of_runtime_training(const struct model_node *mn)
{
    static const char *const ends[] = {"Grad", "Gradient", "GradientArgs", "Optimizer", "LossInternal", "Training"};
    if (!str_equal(mn->domain, "com.microsoft"))
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (str_ends_with(mn->op_type, ends[i]))
            return true;
    return str_starts_with(mn->op_type, "InPlaceAccumulator") || str_starts_with(mn->op_type, "OptimizerV") ||
           str_starts_with(mn->op_type, "SGDOptimizer") || str_starts_with(mn->op_type, "AdamWOptimizer");
}

/* Where the forward model is: generate_artifacts() puts eval_model.onnx beside the others, with the same prefix. */
static const char *runtime_artifact(struct arena *a, const struct model *m, const struct model_node *mn)
{
    static const char *const names[] = {"training_model.onnx", "optimizer_model.onnx"};
    const bool is_optimizer = strstr(mn->op_type, "Optimizer") != NULL;
    const char *beside = "";
    for (size_t i = 0; i < 2; i++) {
        if (!str_ends_with(m->file, names[i]))
            continue;
        const int prefix = (int)(strlen(m->file) - strlen(names[i]));
        const char *const path = arena_printf(a, "%.*seval_model.onnx", prefix, m->file);
        if (file_exists(path))
            beside = arena_printf(a, "; %s is that model with a loss, but without weights", path);
    }
    return arena_printf(a,
                        "this is %s of ONNX Runtime's training, which that runtime alone can run: give stepc the "
                        "forward model, the file that generate_artifacts() was given, whose gradients and updates it "
                        "writes itself%s",
                        is_optimizer ? "the optimizer's model" : "the training model", beside);
}

static const char *what_to_do(struct arena *a, const struct model *m, const struct model_node *mn)
{
    static const struct {
        const char *domain, *op, *text; /* op: what the name begins with; NULL: any */
    } rows[] = {
        {"", "StringNormalizer", "prepare text outside of the model"},
        {"", "TfIdfVectorizer", "prepare text outside of the model"},
        {"com.microsoft", "QLinear", "quantize with quant_format=QuantFormat.QDQ, which writes operators of ONNX only"},
        {"com.microsoft", "QGemm", "quantize with quant_format=QuantFormat.QDQ, which writes operators of ONNX only"},
        {"com.microsoft", NULL, "it comes from ONNX Runtime's optimization: take the file from before that"},
        {DOMAIN_ML, "ZipMap", "export without it (options={'zipmap': False}): probabilities are then a tensor"},
        {DOMAIN_ML, NULL, "it is about strings or maps: prepare them outside of the model"},
        {"org.pytorch.aten", NULL, "export with operators of ONNX only (operator_export_type=ONNX)"},
    };
    if (is_of_runtime_training(mn))
        return runtime_artifact(a, m, mn);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_equal(mn->domain, rows[i].domain) && (!rows[i].op || str_starts_with(mn->op_type, rows[i].op)))
            return rows[i].text;
    return mn->domain[0] == '\0' ? "export the layer in other operators ('stepc ops' lists them)"
                                 : "export with operators of ONNX only, or with a function of that name in the model";
}

bool import_report_missing(struct importer *im, const struct model_node *mn)
{
    struct diag *const d = im->g->diag;
    struct needers n = {.wanted = mn, .first = mn, .names.arena = d->arena};
    const char *const key = arena_printf(im->g->arena, "%s\1%s", mn->domain, mn->op_type);
    if (map_has(&im->missing, key) || d->errors > MOST_ERRORS)
        return false;
    map_set(&im->missing, key, NULL);
    if (is_of_runtime_training(mn)) { /* the whole file is: once is enough */
        if (map_has(&im->missing, ""))
            return false;
        map_set(&im->missing, "", NULL);
    }
    look_at_model(&n, im->model);
    const char *const more = n.count > MOST_NAMED ? arena_printf(d->arena, " and %zu more", n.count - MOST_NAMED) : "";
    if (mn->domain[0] == '\0' && !onnx_names_has(mn->op_type))
        return diag_error(d, &n.first->loc,
                          "unknown operator %s in domain 'ai.onnx': ONNX has none of that name; %zu node%s: %s%s; an "
                          "operator of one's own belongs in another domain, with a function in the model that says "
                          "what it computes",
                          mn->op_type, n.count, n.count == 1 ? " needs it" : "s need it", strbuf_text(&n.names), more);
    const char *any;
    const char *const domain = mn->domain[0] != '\0' ? arena_printf(d->arena, " of domain '%s'", mn->domain) : "";
    return diag_unsupported(
        d, &n.first->loc, "operator %s%s is not supported%s; %zu node%s: %s%s; %s", mn->op_type, domain,
        domain[0] && !op_names(mn->domain, &any, 1)
            ? ": no operator of this domain is, and the model has no function of that name"
            : "",
        n.count, n.count == 1 ? " needs it" : "s need it", strbuf_text(&n.names), more,
        what_to_do(d->arena, im->model, mn));
}
