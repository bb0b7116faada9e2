/* BatchNormalization and Dropout. The main graph is what infer() runs, so it has them in inference form; a step runs a
 * copy of the main graph from the first of them on, which stands in the algorithm, reads the same initializers and has
 * them in training form. What a step does to running statistics is bound.
 *
 *   main    h = Gemm(x, W)   b = BatchNormalization(h, s, c, mean, var)                      y = Relu(b)
 *   train   train/b, mean.new, var.new = BatchNormalization<training_mode = 1>(h, s, c, mean, var)   train/y =
 * Relu(train/b) mean <- mean.new, var <- var.new;  the loss reads train/y
 *
 * A main graph that was exported in training form is brought to inference form first.
 * Spec: BatchNormalization-7 (training is asked for by outputs), -14 (training_mode); Dropout-12 (training_mode). */
#include "prepare/prepare_internal.h"

#include <string.h>

enum {
    BATCHNORM_MODE_OPSET = 14,
    DROPOUT_MODE_OPSET = 12, /* before, Dropout had only the inference form: a step has it in other nodes */
    MEAN = 3,                /* inputs of BatchNormalization */
    VARIANCE = 4
};

static const double USUAL_MOMENTUM = 0.9, USUAL_RATIO = 0.5;

/* ---- forms ------------------------------------------------------------------------------------------------------- */

/* What an input is known to be; NULL: not a constant of the main graph. */
static const struct tensor *constant_input(const struct preparer *p, const struct model_node *n, size_t input)
{
    if (n->inputs.count <= input || n->inputs.data[input][0] == '\0')
        return NULL;
    const char *const name = n->inputs.data[input];
    const struct model_initializer *const init = model_find_initializer(p->model->graph, name);
    if (init)
        return init->tensor;
    return constant_of(producer_of(p, name));
}

bool is_training_batchnorm(const struct preparer *p, const struct model_node *n)
{
    if (p->opset >= BATCHNORM_MODE_OPSET)
        return attribute_int(n, "training_mode", 0) != 0;
    for (size_t i = 1; i < n->outputs.count; i++)
        if (n->outputs.data[i][0] != '\0')
            return true;
    return false;
}

/* Is something else than the first output wanted: by a node, a subgraph or the caller? */
static bool has_read_extras(const struct preparer *p, const struct model_node *n)
{
    for (size_t i = 1; i < n->outputs.count; i++) {
        const char *const name = n->outputs.data[i];
        if (name[0] != '\0' && (map_has(&p->ancestors, name) || model_find_value(&p->model->graph->outputs, name)))
            return true;
    }
    return false;
}

/* Dropout whose mode is decided while it runs is left alone. */
static bool has_fixed_mode(const struct preparer *p, const struct model_node *n)
{
    return n->inputs.count < 3 || n->inputs.data[2][0] == '\0' || constant_input(p, n, 2);
}

static bool is_training_dropout(const struct preparer *p, const struct model_node *n)
{
    const struct tensor *const mode = constant_input(p, n, 2);
    return mode && mode->count == 1 && tensor_get_int(mode, 0) != 0;
}

static double attribute_float(const struct model_node *n, const char *name, double fallback)
{
    const struct model_attr *const a = model_find_attr(&n->attrs, name);
    return a && a->type == ATTR_FLOAT ? (double)a->f : fallback;
}

static bool drops_nothing(const struct preparer *p, const struct model_node *n)
{
    if (p->opset < DROPOUT_MODE_OPSET)
        return attribute_float(n, "ratio", USUAL_RATIO) == 0;
    const struct tensor *const ratio = constant_input(p, n, 1);
    return ratio && ratio->count == 1 && tensor_get_double(ratio, 0) == 0;
}

static void remove_attribute(struct preparer *p, struct model_node *n, const char *name)
{
    struct model_node old = *n;
    memset(&n->attrs, 0, sizeof n->attrs);
    for (size_t i = 0; i < old.attrs.count; i++)
        if (!str_equal(old.attrs.data[i]->name, name))
            vec_push(p->arena, &n->attrs, old.attrs.data[i]);
}

static void to_inference_form(struct preparer *p, struct model_node *n)
{
    edit_changed(&p->edit, "BatchNormalization and Dropout in inference form");
    if (is_op(n, "BatchNormalization")) {
        remove_attribute(p, n, "training_mode");
        n->outputs.count = 1;
    } else if (n->inputs.count > 2) {
        n->inputs.count = 2;
    }
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

bool is_batchnorm(const struct model_node *n)
{
    return is_op(n, "BatchNormalization") && n->outputs.count > 0 && n->inputs.count > VARIANCE;
}

/* After one update from 1 by a batch of variance v >= 0: var = momentum + (1 - momentum) v, as the
 * exporter rounds it. */
static bool may_be_one_update(const struct tensor *var, double momentum)
{
    const double least = momentum * (1 - 1e-6);
    for (int64_t i = 0; i < var->count; i++)
        if (!(tensor_get_double(var, i) >= least))
            return false;
    return true;
}

static bool is_all(const struct tensor *t, double x)
{
    for (int64_t i = 0; i < t->count; i++)
        if (tensor_get_double(t, i) != x)
            return false;
    return true;
}

/* torch.onnx.export(..., training=TrainingMode.TRAINING) runs the network once, on the example. In a network that was
 * trained some channel has a variance below the momentum, as a rule. */
size_t spoiled_statistics(const struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    size_t count = 0;
    bool moved = false;
    vec_each(const struct model_node *, n, &g->nodes) {
        if (!is_batchnorm(n) || has_own_statistics(p, n))
            continue;
        const struct model_initializer *const var = model_find_initializer(g, n->inputs.data[VARIANCE]);
        if (!var || !is_training_batchnorm(p, n) ||
            !may_be_one_update(var->tensor, attribute_float(n, "momentum", USUAL_MOMENTUM)))
            return 0;
        moved = moved || !is_all(var->tensor, 1);
        count++;
    }
    return moved ? count : 0;
}

bool has_training_form(const struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_node *, n, &g->nodes)
        if ((is_batchnorm(n) && is_training_batchnorm(p, n)) || (is_op(n, "Dropout") && is_training_dropout(p, n)))
            return true;
    return false;
}

static void set_all(struct preparer *p, const char *name, double x)
{
    struct model_initializer *const init = model_find_initializer(p->model->graph, name);
    if (!init)
        return;
    struct tensor *const t = tensor_new(p->arena, init->tensor->dtype, &init->tensor->shape);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, x);
    init->tensor = t;
    init->external_location = NULL;
    edit_changed(&p->edit, "fresh running statistics");
}

/* Running statistics that are constants become initializers, so that a step can store them. */
static void lift_statistics(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    str_list statistics = {0};
    vec_each(const struct model_node *, n, &g->nodes)
        for (size_t i = MEAN; is_batchnorm(n) && statistics_form(p, n) == STATISTICS_OF_BATCH && i <= VARIANCE; i++)
            vec_push(p->arena, &statistics, n->inputs.data[i]);
    vec_each(const char *, name, &statistics)
        lift_named_constant(p, name);
}

/* Exactly 0 and 1: nothing has moved them. */
static bool are_fresh(const struct preparer *p, const struct model_node *n)
{
    const struct tensor *const mean = constant_input(p, n, MEAN), *const var = constant_input(p, n, VARIANCE);
    return mean && var && is_all(mean, 0) && is_all(var, 1);
}

size_t moved_statistics(const struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    size_t count = 0;
    if (!str_equal(p->model->producer_name, "pytorch"))
        return 0;
    vec_each(const struct model_node *, n, &g->nodes)
        count += is_batchnorm(n) && is_training_batchnorm(p, n) && !has_own_statistics(p, n) && !are_fresh(p, n);
    return count;
}

static bool has_frozen_statistics(const struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_node *, n, &g->nodes)
        if (is_batchnorm(n) && is_training_batchnorm(p, n) && statistics_form(p, n) >= STATISTICS_FROZEN_ASKED)
            return true;
    return false;
}

/* An exporter in training form runs the network on its example, which moves the statistics that the file has. Who
 * trains with the stored ones computes with wrong numbers. */
static void say_moved(struct preparer *p)
{
    const size_t spoiled = spoiled_statistics(p), moved = moved_statistics(p);
    const bool frozen = has_frozen_statistics(p);
    if (spoiled == 0 && moved == 0)
        return;
    const char *const text =
        spoiled > 0
            ? arena_printf(p->arena,
                           "%zu BatchNormalization: the running statistics come from the exporter's own run of a fresh "
                           "network on its example, or look so (--batchnorm-statistics reset: 0 and 1)",
                           spoiled)
            : arena_printf(p->arena,
                           "%zu BatchNormalization: exported in training form, which has moved the running statistics "
                           "toward the exporter's example; examples/pytorch/export.py exports them as they are",
                           moved);
    if (frozen)
        diag_warning(p->diag, &p->loc, "%s; --batchnorm frozen trains with them", text);
    else
        say(p, "note: %s", text);
}

/* Before the nodes are brought to inference form. Frozen statistics are no start of anything: only
 * `reset` touches them. */
static void reset_statistics(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    const enum statistics_kind how = p->options->statistics;
    const bool by_itself = how == STATISTICS_AUTO && !has_frozen_statistics(p) &&
                           spoiled_statistics(p) > 0;
    size_t count = 0;
    if (how != STATISTICS_RESET && !by_itself) {
        say_moved(p);
        return;
    }
    vec_each(const struct model_node *, n, &g->nodes) {
        if (!is_batchnorm(n) || has_own_statistics(p, n))
            continue;
        set_all(p, n->inputs.data[MEAN], 0);
        set_all(p, n->inputs.data[VARIANCE], 1);
        count++;
    }
    if (count > 0)
        say(p, "%zu BatchNormalization: running statistics start from 0 and 1 (--batchnorm-statistics %s)", count,
            by_itself ? "auto" : "reset");
}

/* ---- the plan ---------------------------------------------------------------------------------------------------- */

struct form_counts {
    size_t trained, normalizations, dropouts, masked_dropouts, left; /* the second and third: rewritten */
    size_t by_form[STATISTICS_FORMS];
};

bool is_needed(const struct preparer *p, const struct model_node *n)
{
    return gives_one_of(n, &p->ancestors);
}

static void plan_batchnorm(struct preparer *p, struct model_node *n, struct form_counts *c)
{
    const enum statistics_form form = statistics_form(p, n);
    if (form == STATISTICS_OWN) {
        c->by_form[form]++;
        return;
    }
    const bool training = is_training_batchnorm(p, n);
    if (training && has_read_extras(p, n)) {
        c->left++;
        return;
    }
    if (training)
        to_inference_form(p, n);
    c->normalizations += training;
    if (!is_needed(p, n))
        return;
    c->by_form[form]++;
    if (form != STATISTICS_OF_BATCH)
        return;
    c->trained++;
    map_set(&p->in_training, n->outputs.data[0], n);
}

static void plan_dropout(struct preparer *p, struct model_node *n, struct form_counts *c)
{
    if (!has_fixed_mode(p, n))
        return;
    if (p->opset < DROPOUT_MODE_OPSET && has_read_extras(p, n)) {
        c->masked_dropouts += is_needed(p, n);
        return;
    }
    const bool training = is_training_dropout(p, n);
    if (training)
        to_inference_form(p, n);
    c->dropouts += training;
    if (is_needed(p, n) && !drops_nothing(p, n))
        map_set(&p->in_training, n->outputs.data[0], n);
}

static void say_rewritten(struct preparer *p, const struct form_counts *c)
{
    if (c->normalizations + c->dropouts == 0)
        return;
    const char *const first = c->normalizations > 0
                                  ? arena_printf(p->arena, "%zu BatchNormalization", c->normalizations)
                                  : "";
    const char *const second = c->dropouts > 0 ? arena_printf(p->arena, "%zu Dropout", c->dropouts) : "";
    say(p, "%s%s%s of the model %s in training form: infer() has %s in inference form", first,
        first[0] != '\0' && second[0] != '\0' ? " and " : "", second,
        c->normalizations + c->dropouts == 1 ? "was" : "were", c->normalizations + c->dropouts == 1 ? "it" : "them");
}

/* They are kept as the model has them, unlike weights: the operator gives them in the type that it takes. */
static void say_half_statistics(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_initializer *, x, &g->initializers)
        if (dtype_is_float16(x->tensor->dtype) && map_has(&p->statistics, x->name)) {
            say(p, "note: running statistics are %s ('%s'): what moves one by less than half a unit is lost",
                dtype_name(x->tensor->dtype), x->name);
            return;
        }
}

const char *unaveraged_statistics(const struct preparer *p, const struct map *only, int momentum)
{
    size_t count = 0;
    vec_each(const struct model_node *, n, &p->model->graph->nodes)
        count += is_batchnorm(n) && (!only || map_has(only, n->outputs.data[0])) &&
                 attribute_float(n, "momentum", USUAL_MOMENTUM) == momentum;
    if (count == 0)
        return NULL;
    return arena_printf(p->arena,
                        "%zu BatchNormalization with momentum %d: %s (PyTorch's exporter writes this of momentum=None, "
                        "the mean of all batches, which ONNX does not have)",
                        count, momentum,
                        momentum == 1 ? "no step moves the running statistics, which infer() uses"
                                      : "running statistics are those of the last batch alone");
}

static void warn_of_unaveraged(const struct preparer *p)
{
    for (int momentum = 0; momentum <= 1; momentum++) {
        const char *const text = unaveraged_statistics(p, &p->in_training, momentum);
        if (text)
            diag_warning(p->diag, &p->loc, "%s; give the layers a momentum before the export", text);
    }
}

static void say_plan(struct preparer *p, const struct form_counts *c)
{
    static const char *const reasons[] = {
        [STATISTICS_FROZEN_ASKED] = "--batchnorm frozen",
        [STATISTICS_FROZEN_EXPORT] = "frozen in the export; --batchnorm train, or train:NAME, uses those of the batch",
        [STATISTICS_FROZEN_PART] = "in a part where nothing is trained; --batchnorm train uses those of the batch"};
    const size_t dropouts = p->in_training.count - c->trained;
    say_rewritten(p, c);
    if (c->by_form[STATISTICS_OWN] > 0)
        say(p,
            "%zu BatchNormalization by statistics that the network computes (weight standardization, instance "
            "normalization): left as in the model",
            c->by_form[STATISTICS_OWN]);
    if (c->trained > 0)
        say(p,
            "%zu BatchNormalization: a step uses the statistics of its batch and stores the running ones; infer() uses "
            "the stored ones",
            c->trained);
    if (c->trained > 0)
        say_half_statistics(p);
    warn_of_unaveraged(p);
    for (size_t i = STATISTICS_FROZEN_ASKED; i < STATISTICS_FORMS; i++)
        if (c->by_form[i] > 0)
            say(p, "%zu BatchNormalization: a step uses the stored statistics and leaves them alone (%s)",
                c->by_form[i], reasons[i]);
    if (c->left > 0)
        say(p, "%zu BatchNormalization stay in training form in infer() too: the model reads their statistics",
            c->left);
    if (dropouts > 0)
        say(p, "%zu Dropout: a step drops, infer() does not", dropouts);
    if (c->masked_dropouts > 0)
        say(p,
            "note: %zu Dropout drop nothing in a step: the model reads their mask, and before opset %d there is no "
            "training form",
            c->masked_dropouts, DROPOUT_MODE_OPSET);
}

void plan_training_form(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    struct form_counts c = {0};
    lift_statistics(p);
    reset_statistics(p);
    vec_each(struct model_node *, n, &g->nodes) {
        if (n->outputs.count == 0 || n->inputs.count == 0)
            continue;
        if (is_batchnorm(n))
            plan_batchnorm(p, n, &c);
        else if (is_op(n, "Dropout"))
            plan_dropout(p, n, &c);
    }
    say_plan(p, &c);
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Running statistics go from copy to copy where several share them. */
static const char *latest_statistic(const struct preparer *p, const char *name)
{
    const char *const value = map_get(&p->latest_statistics, name);
    return value ? value : name;
}

static void set_latest(struct preparer *p, const char *statistic, const char *value)
{
    if (model_find_initializer(p->model->graph, statistic))
        map_set(&p->latest_statistics, statistic, (void *)(uintptr_t)value);
    else
        diag_warning(p->diag, &p->loc,
                     "running statistic '%s' is not an initializer: no step stores it; if the exporter merged it with "
                     "another, --untie auto separates them",
                     statistic);
}

/* PyTorch's running variance takes the unbiased variance of the batch: of n values, n / (n - 1) times ONNX's. With
 * ONNX's result v = m old + (1 - m) batch that is  v + (v - m old) / (n - 1). */
static const char *unbiased(struct preparer *p, const struct model_node *copy, const char *old, const char *v,
                            const struct tensor *like)
{
    const double momentum = attribute_float(copy, "momentum", USUAL_MOMENTUM);
    const char *const all = add_op(p, "elements", "Size", copy->inputs.data[0]);
    const char *const n = add_op(p, "elements_of_channel", "Div", all, add_int(p, "channels", like->count));
    const char *const rest = add_cast(p, "others", add_op(p, "others.int64", "Sub", n, add_int(p, "one", 1)),
                                      like->dtype);
    const char *const kept = add_op(p, "kept_variance", "Mul", old, add_scalar(p, "momentum", like->dtype, momentum));
    const char *const share = add_op(p, "batch_variance", "Sub", v, kept);
    return add_op(p, suffixed(p, v, "unbiased"), "Add", v, add_op(p, "bias_of_variance", "Div", share, rest));
}

static void correct_variance(struct preparer *p, const struct model_node *copy, const char *statistic)
{
    const struct model_initializer *const init = model_find_initializer(p->model->graph, statistic);
    if (p->options->unbiased_variance && init && init->tensor->count > 0)
        set_latest(p, statistic, unbiased(p, copy, copy->inputs.data[VARIANCE], copy->outputs.data[2], init->tensor));
}

static void train_batchnorm(struct preparer *p, struct model_node *copy)
{
    copy->outputs.count = 1;
    for (size_t i = MEAN; i <= VARIANCE; i++) {
        const char *const statistic = copy->inputs.data[i];
        const char *const value = fresh_name(p, suffixed(p, statistic, "new"));
        copy->inputs.data[i] = latest_statistic(p, statistic);
        vec_push(p->arena, &copy->outputs, value);
        set_latest(p, statistic, value);
    }
    remove_attribute(p, copy, "training_mode");
    if (p->opset >= BATCHNORM_MODE_OPSET) {
        model_set_int(p->arena, copy, "training_mode", 1);
        return;
    }
    /* all five or one */
    vec_push(p->arena, &copy->outputs, fresh_name(p, suffixed(p, copy->outputs.data[0], "saved_mean")));
    vec_push(p->arena, &copy->outputs, fresh_name(p, suffixed(p, copy->outputs.data[0], "saved_var")));
}

static void train_dropout(struct preparer *p, struct model_node *copy)
{
    while (copy->inputs.count < 2)
        vec_push(p->arena, &copy->inputs, "");
    copy->inputs.count = 2;
    vec_push(p->arena, &copy->inputs, add_scalar(p, "true", DTYPE_BOOL, 1));
}

/* What opset 12 says in one node:  y = x * Cast(Not(RandomUniformLike(x) < ratio)) * (1 / (1 - ratio)) */
static void add_old_dropout(struct preparer *p, const struct model_node *original, const struct model_node *copy)
{
    const struct value *const v = p->graph ? graph_find(p->graph, original->outputs.data[0]) : NULL;
    const enum dtype dtype = v ? v->dtype : DTYPE_FLOAT;
    const char *const x = copy->inputs.data[0], *const y = copy->outputs.data[0];
    const double ratio = attribute_float(original, "ratio", USUAL_RATIO);
    const char *const drawn = add_op(p, suffixed(p, y, "uniform"), "RandomUniformLike", x);
    model_set_int(p->arena, last_node(p), "dtype", DTYPE_FLOAT);
    const char *const drop = add_op(p, suffixed(p, y, "drop"), "Less", drawn,
                                    add_scalar(p, "dropout_ratio", DTYPE_FLOAT, ratio));
    const char *const keep = add_op(p, suffixed(p, y, "keep"), "Not", drop);
    const char *const mask = add_cast(p, suffixed(p, y, "mask"), keep, dtype);
    const char *const kept = add_op(p, suffixed(p, y, "kept"), "Mul", x, mask);
    const char *const scale = add_scalar(p, "dropout_scale", dtype, 1 / (1 - ratio));
    model_add_node(p->arena, p->algorithm, "", "Mul", (const char *[]){kept, scale, NULL}, (const char *[]){y, NULL});
}

/* In a part of the batch, inputs are replaced by their part. */
static const char *name_in_copy(struct preparer *p, const struct map *renamed, const char *name)
{
    const char *const own = map_get(renamed, name);
    return own ? own : part_of_input(p, name);
}

/* What the copy calls its own. */
static const char *copied_name(struct preparer *p, const char *name)
{
    if (name[0] == '\0')
        return "";
    return p->part_count == 0 ? arena_printf(p->arena, "train/%s", name)
                              : arena_printf(p->arena, "%s.part%zu", name, p->part + 1);
}

/* Names that a graph inside a node defines, and those of the graphs around it inside the same node: they stay. */
struct own_names {
    struct map names;
    const struct own_names *outer;
};

static struct model_graph *copy_inner_graph(struct preparer *p, const struct model_graph *g, const struct map *renamed,
                                            const struct own_names *outer);

static const char *name_inside(struct preparer *p, const struct map *renamed, const struct own_names *own,
                               const char *name)
{
    for (; own; own = own->outer)
        if (map_has(&own->names, name))
            return name;
    return name_in_copy(p, renamed, name);
}

/* The node's attributes, graphs among them with the names of the copy. */
static void copy_inner_graphs(struct preparer *p, struct model_node *copy, const struct map *renamed,
                              const struct own_names *own)
{
    const struct model_node old = *copy;
    memset(&copy->attrs, 0, sizeof copy->attrs);
    for (size_t i = 0; i < old.attrs.count; i++) {
        struct model_attr *x = old.attrs.data[i];
        if (x->type == ATTR_GRAPH || x->type == ATTR_GRAPHS) {
            x = arena_copy(p->arena, x, sizeof *x, alignof(struct model_attr));
            if (x->g)
                x->g = copy_inner_graph(p, x->g, renamed, own);
            memset(&x->graphs, 0, sizeof x->graphs);
            for (size_t k = 0; k < old.attrs.data[i]->graphs.count; k++)
                vec_push(p->arena, &x->graphs, copy_inner_graph(p, old.attrs.data[i]->graphs.data[k], renamed, own));
        }
        vec_push(p->arena, &copy->attrs, x);
    }
}

static struct model_graph *copy_inner_graph(struct preparer *p, const struct model_graph *g, const struct map *renamed,
                                            const struct own_names *outer)
{
    struct own_names own = {.names.arena = p->arena, .outer = outer};
    struct model_graph *const copy = arena_copy(p->arena, g, sizeof *g, alignof(struct model_graph));
    collect_own_names(&own.names, g);
    memset(&copy->nodes, 0, sizeof copy->nodes);
    memset(&copy->outputs, 0, sizeof copy->outputs);
    for (size_t i = 0; i < g->nodes.count; i++) {
        struct model_node *const n = arena_copy(p->arena, g->nodes.data[i], sizeof *g->nodes.data[i],
                                                alignof(struct model_node));
        memset(&n->inputs, 0, sizeof n->inputs);
        for (size_t k = 0; k < g->nodes.data[i]->inputs.count; k++)
            vec_push(p->arena, &n->inputs, name_inside(p, renamed, &own, g->nodes.data[i]->inputs.data[k]));
        copy_inner_graphs(p, n, renamed, &own);
        vec_push(p->arena, &copy->nodes, n);
    }
    for (size_t i = 0; i < g->outputs.count; i++) {
        struct model_value_info *const vi =
            arena_copy(p->arena, g->outputs.data[i], sizeof *g->outputs.data[i], alignof(struct model_value_info));
        vi->name = name_inside(p, renamed, &own, vi->name);
        vec_push(p->arena, &copy->outputs, vi);
    }
    return copy;
}

void copy_main_node(struct preparer *p, const struct model_node *n)
{
    struct model_node *const copy = arena_new(p->arena, struct model_node);
    *copy = *n;
    copy->name = copied_name(p, n->name);
    memset(&copy->inputs, 0, sizeof copy->inputs);
    memset(&copy->outputs, 0, sizeof copy->outputs);
    for (size_t i = 0; i < n->inputs.count; i++)
        vec_push(p->arena, &copy->inputs, name_in_copy(p, &p->copies, n->inputs.data[i]));
    copy_inner_graphs(p, copy, &p->copies, NULL);
    vec_each(const char *, old, &n->outputs) {
        const char *const own = old[0] == '\0' ? "" : fresh_name(p, copied_name(p, old));
        vec_push(p->arena, &copy->outputs, own);
        if (own[0] != '\0')
            map_set(&p->copies, old, (void *)(uintptr_t)own);
    }
    const bool trains = n->outputs.count > 0 && map_get(&p->in_training, n->outputs.data[0]) == n;
    if (trains && is_op(n, "Dropout") && p->opset < DROPOUT_MODE_OPSET) {
        add_old_dropout(p, n, copy);
        return;
    }
    if (trains && is_op(n, "Dropout"))
        train_dropout(p, copy);
    else if (trains)
        train_batchnorm(p, copy);
    vec_push(p->arena, &p->algorithm->nodes, copy);
    if (trains && is_op(n, "BatchNormalization"))
        correct_variance(p, copy, n->inputs.data[VARIANCE]);
}

/* Does the node read, itself or in a graph inside it, something that has been copied? */
static bool reads_copied(const struct model_node *n, const struct map *renamed);

static bool graph_reads_copied(const struct model_graph *g, const struct map *renamed)
{
    vec_each(const struct model_node *, n, &g->nodes)
        if (reads_copied(n, renamed))
            return true;
    vec_each(const struct model_value_info *, vi, &g->outputs)
        if (map_has(renamed, vi->name))
            return true;
    return false;
}

static bool reads_copied(const struct model_node *n, const struct map *renamed)
{
    vec_each(const char *, name, &n->inputs)
        if (map_has(renamed, name))
            return true;
    model_each_inner(n, inner)
        if (graph_reads_copied(inner, renamed))
            return true;
    return false;
}

void copy_in_training_form(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    p->copies = (struct map){.arena = p->arena};
    for (size_t i = 0; p->in_training.count > 0 && i < g->nodes.count; i++) {
        const struct model_node *const n = g->nodes.data[i];
        if (!is_needed(p, n))
            continue;
        const bool start = n->outputs.count > 0 && map_get(&p->in_training, n->outputs.data[0]) == n;
        if (start || reads_copied(n, &p->copies))
            copy_main_node(p, n);
    }
    p->loss_input = name_in_copy(p, &p->copies, p->loss_input);
}

void bind_statistics(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    for (size_t i = 0; i < p->latest_statistics.count; i++) {
        const struct map_entry *const s = &p->latest_statistics.entries[i];
        bind_update(p, s->key, s->value, model_find_initializer(g, s->key)->tensor);
    }
}
