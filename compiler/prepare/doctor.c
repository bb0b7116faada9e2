#include "prepare/doctor.h"

#include "prepare/activation.h"
#include "prepare/batch_axis.h"
#include "prepare/detached.h"
#include "prepare/computed.h"
#include "prepare/flatten.h"
#include "prepare/inside.h"
#include "prepare/parameters.h"
#include "prepare/rebatch.h"
#include "prepare/tie.h"
#include <math.h>

enum { MOST_NAMED = 4 };

/* What keeps everything: names, Dropout, BatchNormalization with its statistics. */
#define EXPORT_CURE                                                                                                    \
    "export by examples/pytorch/export.py (training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False, "     \
    "with net.train() and m.eval() for each BatchNorm m)"

struct doctor {
    struct arena *arena;
    struct model *model;
    struct edit edit;
    struct preparer view; /* model and producers: what trainables.c reads */
    finding_list *findings;
    bool trains;        /* the model has training entries: what prepare decides is decided */
    struct map updated; /* what they write */
};

static void add(struct doctor *x, const char *text, const char *cure)
{
    vec_push(x->arena, x->findings, ((struct finding){text, cure}));
}

static const char *named(const struct doctor *x, const str_list *l)
{
    return names_text(x->arena, l, MOST_NAMED);
}

/* "1 initializer", "3 initializers" */
static const char *count_of(const struct doctor *x, size_t n, const char *what)
{
    return arena_printf(x->arena, "%zu %s%s", n, what, str_plural(n));
}

/* ---- variables that are not what they were ----------------------------------------------------------------------- */

static void examine_merged(struct doctor *x)
{
    merged_list all = {0};
    str_list apart = {0}, unknown = {0};
    find_merged(&x->edit, &all);
    find_separable(&x->edit, &all, &apart, &unknown);
    if (apart.count > 0)
        add(x,
            arena_printf(x->arena, "%s %s merged by the exporter with what %s equal to", named(x, &apart),
                         apart.count == 1 ? "is" : "are", apart.count == 1 ? "it was" : "they were"),
            "none needed: prepare makes them variables of their own again (--untie never does not)");
    vec_each_ptr(const struct merged, m, &all) {
        str_list others = {0};
        vec_each(const char *, other, &m->others)
            vec_each(const char *, name, &unknown)
                if (name == other)
                    vec_push(x->arena, &others, other);
        if (others.count > 0)
            add(x,
                arena_printf(x->arena,
                             "initializer '%s' also stands for %s: merged because they were equal, they would be "
                             "trained as one",
                             m->kept, named(x, &others)),
                "prepare --untie auto makes them variables of their own again");
    }
}

static void examine_ties(struct doctor *x)
{
    tie_list sure = {0}, unknown = {0};
    find_cut_ties(&x->edit, &sure, &unknown);
    vec_each_ptr(const struct tie, t, &sure)
        add(x,
            arena_printf(x->arena, "'%s' is a copy of '%s'%s that the exporter made", t->tensor, t->equals,
                         tie_manner(t)),
            arena_printf(x->arena, "none needed: prepare makes them one variable (as --tie '%s'; --tie never does not)",
                         tie_text(x->arena, t)));
    vec_each_ptr(const struct tie, t, &unknown)
        add(x,
            arena_printf(x->arena,
                         "'%s' has the content of '%s'%s: if they were one parameter, they would be trained apart",
                         t->tensor, t->equals, tie_manner(t)),
            tie_cure(x->arena, t));
    computed_list computed = {0};
    find_computed(&x->edit, &computed);
    vec_each_ptr(const struct computed, c, &computed)
        add(x, arena_printf(x->arena, "'%s' is %s, which the exporter computed", c->tensor, c->text),
            c->op ? "none needed: prepare computes it again (--tie never does not)" : EXPORT_CURE);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const struct model_initializer *anonymous_input(const struct doctor *x, const struct model_node *n, size_t input)
{
    if (n->inputs.count <= input || !is_anonymous(n->inputs.data[input]))
        return NULL;
    const struct model_initializer *const init = model_find_initializer(x->model->graph, n->inputs.data[input]);
    return init && dtype_is_float(init->tensor->dtype) && init->tensor->shape.rank > 0 ? init : NULL;
}

/* Weights that exporters leave alone unless they compute them anew: behind a weight norm, a mask, a standardization.
 * Those of MatMul are mostly transposed. */
static bool is_computed(const struct doctor *x, const struct model_node *n)
{
    return ((is_op(n, "Conv") || is_op(n, "ConvTranspose")) && anonymous_input(x, n, 1) && !anonymous_input(x, n, 2)) ||
           (is_op(n, "Gemm") && anonymous_input(x, n, 1) && attribute_int(n, "transB", 0) != 0);
}

static void examine_computed(struct doctor *x)
{
    const struct model_graph *const g = x->model->graph;
    str_list computed = {0};
    vec_each(const struct model_node *, n, &g->nodes)
        if (is_computed(x, n))
            vec_push(x->arena, &computed, n->inputs.data[1]);
    if (computed.count > 0)
        add(x,
            arena_printf(x->arena,
                         "%s %s computed by the exporter, most likely out of other parameters (weight norm, a mask): a "
                         "step trains the result in their place",
                         named(x, &computed), computed.count == 1 ? "was" : "were"),
            EXPORT_CURE);
}

/* A Conv whose weight and bias are both new was a Conv with a normalization behind it. */
static bool is_folded(const struct doctor *x, const struct model_node *n)
{
    return (is_op(n, "Conv") || is_op(n, "ConvTranspose")) && anonymous_input(x, n, 1) && anonymous_input(x, n, 2);
}

static void examine_folded(struct doctor *x)
{
    const struct model_graph *const g = x->model->graph;
    str_list folded = {0};
    vec_each(const struct model_node *, n, &g->nodes)
        if (is_folded(x, n))
            vec_push(x->arena, &folded, node_title(n));
    if (folded.count > 0)
        add(x,
            arena_printf(x->arena,
                         "%s %s weight and bias that the exporter computed, most likely with BatchNormalization folded "
                         "in: it will not normalize while it is trained",
                         named(x, &folded), folded.count == 1 ? "has" : "have"),
            "train it as it is, or " EXPORT_CURE);
}

static void examine_names(struct doctor *x)
{
    const struct model_graph *const g = x->model->graph;
    str_list anonymous = {0};
    vec_each(const struct model_node *, n, &g->nodes)
        for (size_t k = 0; k < n->inputs.count && !is_folded(x, n); k++)
            if (anonymous_input(x, n, k))
                vec_push(x->arena, &anonymous, n->inputs.data[k]);
    if (anonymous.count > 0)
        add(x,
            arena_printf(x->arena,
                         "%s without a name of your own: %s, copies that the exporter computed, mostly transposed",
                         count_of(x, anonymous.count, "initializer"), named(x, &anonymous)),
            "export with do_constant_folding=False, or prepare --names-from FILE.safetensors with the weights under "
            "their names");
}

/* ---- the graph --------------------------------------------------------------------------------------------------- */

/* Do the outputs depend on it, and is it no running statistic? Then *v is what the rules say. */
static bool may_be_trained(const struct doctor *x, struct rules *rules, const struct model_initializer *init,
                           struct trained_verdict *v)
{
    if (!dtype_is_float(init->tensor->dtype) || !map_has(&rules->reached, init->name) ||
        map_has(&x->view.statistics, init->name))
        return false;
    *v = judge(rules, init);
    return true;
}

/* In functions and in graphs inside nodes they are parameters, and where nothing else is; otherwise nobody knows. */
static void examine_constants(struct doctor *x, struct rules *rules)
{
    const struct model_graph *const g = x->model->graph;
    str_list trained = {0};
    const bool all = keeps_weights_as_constants(rules);
    vec_each(const struct model_node *, n, &g->nodes) {
        struct trained_verdict v;
        const char *const name = is_like_weight(rules, n, &v) ? n->outputs.data[0] : "";
        if (name[0] != '\0' && all)
            vec_push(x->arena, &trained, name);
        else if (map_has(&x->edit.inner_constants, name))
            vec_push(x->arena, &trained, name);
        else if (name[0] != '\0')
            add(x,
                arena_printf(x->arena, "constant '%s' stands where a parameter does and is not trained: %s", name,
                             v.why),
                arena_printf(x->arena, "prepare --train '%s', if it is a parameter", name));
    }
    if (trained.count > 0 && !x->trains)
        add(x,
            arena_printf(x->arena, "constants stand where parameters do: %s, %s", named(x, &trained),
                         all ? "and no initializer does" : "of functions or of graphs inside nodes"),
            "none needed: prepare trains them; --freeze NAME, if one is no parameter");
}

/* What a gradient would reach, and what prepare would not train unless it is told to, or has not trained. */
static void examine_left_out(struct doctor *x, struct rules *rules)
{
    const struct model_graph *const g = x->model->graph;
    vec_each(const struct model_initializer *, init, &g->initializers) {
        struct trained_verdict v;
        if (may_be_trained(x, rules, init, &v) && !v.trained && !v.moot && !map_has(&x->updated, init->name))
            add(x, arena_printf(x->arena, "'%s' %s%s is not trained: %s", init->name, dtype_name(init->tensor->dtype),
                                shape_text(x->arena, &init->tensor->shape), v.why),
                arena_printf(x->arena, "prepare --train '%s', if it is a parameter", init->name));
    }
    examine_constants(x, rules);
    left_inside_list inside = {0};
    find_left_inside(rules, &inside);
    vec_each_ptr(const struct left_inside, l, &inside)
        add(x, arena_printf(x->arena, "'%s' %s is not trained", l->name, l->what), l->why);
}

/* What prepare trains, although it might be a buffer. */
static void examine_unsure(struct doctor *x, struct rules *rules)
{
    const struct model_graph *const g = x->model->graph;
    str_list unsure = {0};
    vec_each(const struct model_initializer *, init, &g->initializers) {
        struct trained_verdict v;
        if (may_be_trained(x, rules, init, &v) && v.trained && !v.sure &&
            (!x->trains || map_has(&x->updated, init->name)))
            vec_push(x->arena, &unsure, init->name);
    }
    if (unsure.count > 0)
        add(x,
            arena_printf(x->arena, "%s trained, but may be %s", named(x, &unsure),
                         unsure.count == 1 ? "a buffer" : "buffers"),
            "prepare --freeze NAME, or export by examples/pytorch/export.py, which says what is a parameter");
}

/* Exporters leave detach() out; its place can be seen where it stood in a straight-through estimator. */
static void examine_straight_through(struct doctor *x)
{
    straight_through_list all = {0};
    find_straight_through(&x->view, &all);
    vec_each_ptr(const struct straight_through, s, &all)
        add(x, straight_through_text(x->arena, s),
            s->difference[0] != '\0'
                ? arena_printf(x->arena,
                               "prepare --detach '%s', or export by examples/pytorch/export.py, which keeps it",
                               s->difference)
                : "export by examples/pytorch/export.py, which keeps it");
}

/* A loss operator, or a mean to a scalar beside other outputs. */
static bool is_loss(const struct doctor *x, const struct model_value_info *output, const struct model_node *n)
{
    if (is_op(n, "SoftmaxCrossEntropyLoss") || is_op(n, "NegativeLogLikelihoodLoss"))
        return true;
    return (is_op(n, "ReduceMean") || is_op(n, "ReduceSum")) && output->type.kind == TYPE_TENSOR &&
           output->type.dims.count == 0 && x->model->graph->outputs.count > 1;
}

static void examine_end(struct doctor *x)
{
    const struct model_graph *const g = x->model->graph;
    struct activation activation;
    if (x->trains)
        return;
    vec_each(const struct model_value_info *, vi, &g->outputs) {
        const char *const name = vi->name;
        const struct model_node *const n = producer_of(&x->view, name);
        if (is_loss(x, vi, n))
            add(x,
                arena_printf(x->arena, "output '%s', out of a %s, is a loss: the model computes it when it infers, too",
                             name, n->op_type),
                arena_printf(x->arena, "prepare --loss output --output '%s'%s", name,
                             g->outputs.count > 1 ? " trains with it, and leaves it out of infer()"
                                                  : " trains with it"));
        if (find_activation(&x->view, name, &activation))
            add(x,
                arena_printf(x->arena, "output '%s' comes out of a %s, which a loss of logits would apply twice", name,
                             activation.name),
                arena_printf(x->arena, "prepare's %s reads '%s' in front of it; for another loss, --output '%s'",
                             activation.kind == ACTIVATION_SIGMOID ? "bce" : "softmax-cross-entropy",
                             activation.scores, activation.scores));
    }
}

static size_t count_ops(const struct doctor *x, const char *op)
{
    const struct model_graph *const g = x->model->graph;
    size_t count = 0;
    vec_each(const struct model_node *, n, &g->nodes)
        count += is_op(n, op);
    return count;
}

/* Is there a sign that the export was in training form? Dropout is left out of an export in inference
 * form without a trace. */
static void examine_dropped(struct doctor *x)
{
    if (str_equal(x->model->producer_name, "pytorch") && count_ops(x, "Dropout") == 0 && !has_training_form(&x->view) &&
        !x->view.known.says_export)
        add(x, "no Dropout: if the network has any, the exporter has left it out, and a step trains without it",
            EXPORT_CURE);
}

static void examine_forms(struct doctor *x)
{
    const struct model_graph *const g = x->model->graph;
    const size_t norms = count_ops(x, "BatchNormalization"), quantized = count_ops(x, "DequantizeLinear");
    str_list half = {0};
    vec_each(const struct model_initializer *, init, &g->initializers)
        if (dtype_is_float(init->tensor->dtype) && init->tensor->shape.rank > 0 &&
            (DTYPE_BIT(init->tensor->dtype) & DTYPES_FLOATS) == 0)
            vec_push(x->arena, &half, init->name);
    if (norms > 0 && !x->trains)
        add(x,
            arena_printf(x->arena, "%s: stored statistics are what infer() uses",
                         count_of(x, norms, "BatchNormalization node")),
            "prepare trains with the statistics of the batch; --batchnorm frozen keeps the stored ones");
    const size_t spoiled = spoiled_statistics(&x->view), moved = moved_statistics(&x->view);
    if (spoiled > 0)
        add(x,
            arena_printf(x->arena,
                         "running statistics of %s are one update away from 0 and 1: the exporter ran a fresh "
                         "network on its example",
                         count_of(x, spoiled, "BatchNormalization node")),
            "prepare --batchnorm-statistics reset starts them from 0 and 1; or " EXPORT_CURE);
    else if (moved > 0)
        add(x,
            arena_printf(x->arena, "running statistics of %s have been moved by the exporter's run on its example",
                         count_of(x, moved, "BatchNormalization node")),
            EXPORT_CURE);
    for (int momentum = 0; momentum <= 1; momentum++) {
        const char *const text = unaveraged_statistics(&x->view, NULL, momentum);
        if (text)
            add(x, text, "set `momentum` of these layers to a number, as 0.1, before the export");
    }
    if (half.count > 0)
        add(x,
            arena_printf(x->arena, "%s of less than 16 bits: %s; such numbers are not trained",
                         count_of(x, half.count, "initializer"), named(x, &half)),
            "export in float32");
    if (quantized > 0)
        add(x,
            arena_printf(x->arena, "%s: quantized weights are integers and have no gradient",
                         count_of(x, quantized, "DequantizeLinear node")),
            "train before quantizing");
}

/* ---- lengths ----------------------------------------------------------------------------------------------------- */

static bool samples_by(const struct model_node *n, const char *mode)
{
    const struct model_attr *const x = model_find_attr(&n->attrs, "coordinate_transformation_mode");
    return x && x->type == ATTR_STRING && str_equal(x->s.data, mode);
}

/* In which R52 makes a difference: a resized length that is no integer, and for pytorch_half_pixel less than 2. */
static bool has_such_length(const struct graph *sizes, const struct model_node *n, bool aligns)
{
    const struct value *const in = graph_find(sizes, n->inputs.data[0]);
    struct value *const scales = graph_find(sizes, n->inputs.data[2]);
    const struct tensor *const known = scales ? value_known(scales) : NULL;
    if (!in || !known || shape_count(&known->shape) != in->shape.rank)
        return false;
    for (int d = 0; d < in->shape.rank; d++) {
        const float length = (float)in->shape.dim[d] * (float)tensor_get_double(known, d);
        if (length > 1 && length != floorf(length) && (aligns || length < 2))
            return true;
    }
    return false;
}

/* PyTorch and its exporter take the whole length there, ONNX does not. */
static void examine_resized(struct doctor *x, const struct import_options *o)
{
    const struct graph *sizes = NULL;
    str_list resized = {0};
    vec_each(const struct model_node *, n, &x->model->graph->nodes) {
        const bool aligns = samples_by(n, "align_corners");
        const bool has_scales = is_op(n, "Resize") && n->inputs.count > 2 && n->inputs.data[2][0] != '\0';
        if (!has_scales || !(aligns || samples_by(n, "pytorch_half_pixel")))
            continue;
        if (!sizes)
            sizes = graph_with_sizes(x->arena, x->model, o);
        if (has_such_length(sizes, n, aligns))
            vec_push(x->arena, &resized, node_title(n));
    }
    if (resized.count > 0 && str_equal(x->model->producer_name, "pytorch"))
        add(x,
            arena_printf(x->arena,
                         "%s %s by a factor to a length that is no integer: ONNX samples by that length, PyTorch by "
                         "the whole one (R52)",
                         named(x, &resized), resized.count == 1 ? "resizes" : "resize"),
            "export interpolate() with `size`, or with recompute_scale_factor=True");
}

/* Last: it changes the model. */
static void examine_batch(struct doctor *x, const struct import_options *o)
{
    node_list nodes;
    str_list titles = {0};
    int64_t size;
    find_frozen_batch(&x->edit, o, &size, &nodes);
    vec_each(const struct model_node *, n, &nodes)
        vec_push(x->arena, &titles, node_title(n));
    if (titles.count > 0)
        add(x,
            arena_printf(x->arena, "the batch of the example, %lld, is in constants of %s", (long long)size,
                         named(x, &titles)),
            "prepare --batch N; or export with dynamic_axes");
    else if (size == 1)
        add(x, "the batch is 1, from the example: statistics and gradients of a single sample",
            "prepare --batch N; or export with dynamic_axes");
}

static struct doctor doctor_of(struct arena *a, struct model *m, finding_list *out)
{
    struct doctor x = {.arena = a,
                       .model = m,
                       .view = {.arena = a, .model = m, .opset = model_opset(&m->opsets, ""), .producers.arena = a},
                       .findings = out};
    x.view.statistics.arena = a;
    known_names_read(a, m, &x.view.known);
    find_statistics(&x.view);
    index_nodes(&x.view);
    find_marked_detached(&x.view);
    x.updated.arena = a;
    vec_each(const struct model_training *, t, &m->training)
        vec_each_ptr(const struct model_pair, p, &t->update_binding) {
            x.trains = true;
            map_set(&x.updated, p->key, NULL);
        }
    return x;
}

void examine_lost(struct arena *a, struct model *m, finding_list *out)
{
    struct doctor x = doctor_of(a, m, out);
    examine_folded(&x);
    examine_computed(&x);
    examine_dropped(&x);
    examine_resized(&x, NULL);
}

void examine_export(struct arena *a, struct model *m, const struct import_options *o, finding_list *out)
{
    struct diag silent = {.arena = a};
    struct edit whole;
    edit_begin(&whole, &silent, a, m, NULL);
    flatten_model(&whole, o);
    struct doctor x = doctor_of(a, m, out);
    edit_begin(&x.edit, &silent, a, m, NULL);
    x.edit.inner_constants = whole.inner_constants;
    x.edit.known = &x.view.known;
    examine_merged(&x);
    examine_ties(&x);
    struct map outputs = {.arena = a};
    struct rules rules;
    vec_each(const struct model_value_info *, vi, &m->graph->outputs)
        map_set(&outputs, vi->name, NULL);
    rules_begin(&rules, &x.view, &outputs);
    examine_left_out(&x, &rules);
    examine_unsure(&x, &rules);
    examine_straight_through(&x);
    examine_end(&x);
    examine_folded(&x);
    examine_computed(&x);
    examine_dropped(&x);
    examine_names(&x);
    examine_forms(&x);
    examine_resized(&x, o);
    examine_batch(&x, o);
}
