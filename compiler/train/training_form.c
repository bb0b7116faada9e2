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
#include "train/prepare_internal.h"

#include <string.h>

enum {
    BATCHNORM_MODE_OPSET = 14,
    DROPOUT_MODE_OPSET = 12, /* before, Dropout had only the inference form */
    MEAN = 3,                /* inputs of BatchNormalization */
    VARIANCE = 4
};

/* ---- forms ----------------------------------------------------------------------------------------------------------
 */

/* What an input is known to be; NULL: not a constant of the main graph. */
static const struct tensor *constant_input(const struct preparer *p, const struct model_node *n, size_t input)
{
    if (n->inputs.count <= input || n->inputs.data[input][0] == '\0')
        return NULL;
    const char *const name = n->inputs.data[input];
    const struct model_initializer *const init = model_find_initializer(p->model->graph, name);
    if (init)
        return init->tensor;
    const struct model_node *const producer = producer_of(p, name);
    const struct model_attr *const value = is_op(producer, "Constant") ? node_attribute(producer, "value") : NULL;
    return value && value->type == ATTR_TENSOR ? value->t : NULL;
}

static bool is_training_batchnorm(const struct preparer *p, const struct model_node *n)
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
        if (name[0] != '\0' && (map_has(&p->ancestors, name) || model_find_output(p->model->graph, name)))
            return true;
    }
    return false;
}

/* Dropout whose mode is decided while it runs is left alone. */
static bool has_fixed_mode(const struct preparer *p, const struct model_node *n)
{
    return p->opset >= DROPOUT_MODE_OPSET &&
           (n->inputs.count < 3 || n->inputs.data[2][0] == '\0' || constant_input(p, n, 2));
}

static bool is_training_dropout(const struct preparer *p, const struct model_node *n)
{
    const struct tensor *const mode = constant_input(p, n, 2);
    return mode && mode->count == 1 && tensor_get_int(mode, 0) != 0;
}

static bool drops_nothing(const struct preparer *p, const struct model_node *n)
{
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
    if (is_op(n, "BatchNormalization")) {
        remove_attribute(p, n, "training_mode");
        n->outputs.count = 1;
    } else if (n->inputs.count > 2) {
        n->inputs.count = 2;
    }
}

/* ---- the plan -------------------------------------------------------------------------------------------------------
 */

struct form_counts {
    size_t trained, frozen, rewritten, old_dropouts, left;
};

bool is_needed(const struct preparer *p, const struct model_node *n)
{
    for (size_t k = 0; k < n->outputs.count; k++)
        if (n->outputs.data[k][0] != '\0' && map_has(&p->ancestors, n->outputs.data[k]))
            return true;
    return false;
}

static void plan_batchnorm(struct preparer *p, struct model_node *n, struct form_counts *c)
{
    const bool training = is_training_batchnorm(p, n);
    if (training && has_read_extras(p, n)) {
        c->left++;
        return;
    }
    if (training)
        to_inference_form(p, n);
    c->rewritten += training;
    if (!is_needed(p, n))
        return;
    if (p->options->batchnorm == BATCHNORM_FROZEN) {
        c->frozen++;
        return;
    }
    c->trained++;
    map_set(&p->in_training, n->outputs.data[0], n);
}

static void plan_dropout(struct preparer *p, struct model_node *n, struct form_counts *c)
{
    if (!has_fixed_mode(p, n)) {
        c->old_dropouts += p->opset < DROPOUT_MODE_OPSET && is_needed(p, n);
        return;
    }
    const bool training = is_training_dropout(p, n);
    if (training)
        to_inference_form(p, n);
    c->rewritten += training;
    if (is_needed(p, n) && !drops_nothing(p, n))
        map_set(&p->in_training, n->outputs.data[0], n);
}

static void say_plan(struct preparer *p, const struct form_counts *c)
{
    const size_t dropouts = p->in_training.count - c->trained;
    if (c->rewritten > 0)
        say(p,
            "%zu BatchNormalization and Dropout of the model were in training form: infer() has them in inference form",
            c->rewritten);
    if (c->trained > 0)
        say(p,
            "%zu BatchNormalization: a step uses the statistics of its batch and stores the running ones; infer() uses "
            "the stored ones",
            c->trained);
    if (c->frozen > 0)
        say(p, "%zu BatchNormalization: a step uses the stored statistics and leaves them alone (--batchnorm frozen)",
            c->frozen);
    if (c->left > 0)
        say(p, "%zu BatchNormalization stay in training form in infer() too: the model reads their statistics",
            c->left);
    if (dropouts > 0)
        say(p, "%zu Dropout: a step drops, infer() does not", dropouts);
    if (c->old_dropouts > 0)
        say(p, "note: %zu Dropout drop nothing in a step: before opset %d there is no training form", c->old_dropouts,
            DROPOUT_MODE_OPSET);
}

void plan_training_form(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    struct form_counts c = {0};
    for (size_t i = 0; i < g->nodes.count; i++) {
        struct model_node *const n = g->nodes.data[i];
        if (n->outputs.count == 0 || n->inputs.count == 0)
            continue;
        if (is_op(n, "BatchNormalization") && n->inputs.count > VARIANCE)
            plan_batchnorm(p, n, &c);
        else if (is_op(n, "Dropout"))
            plan_dropout(p, n, &c);
    }
    say_plan(p, &c);
}

/* ---- copies ---------------------------------------------------------------------------------------------------------
 */

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

static void train_batchnorm(struct preparer *p, struct model_node *copy)
{
    copy->outputs.count = 1;
    for (size_t i = MEAN; i <= VARIANCE; i++) {
        const char *const statistic = copy->inputs.data[i];
        const char *const value = fresh_name(p, arena_printf(p->arena, "%s.new", statistic));
        copy->inputs.data[i] = latest_statistic(p, statistic);
        vec_push(p->arena, &copy->outputs, value);
        set_latest(p, statistic, value);
    }
    remove_attribute(p, copy, "training_mode");
    if (p->opset >= BATCHNORM_MODE_OPSET)
        model_set_int(p->arena, copy, "training_mode", 1);
}

static void train_dropout(struct preparer *p, struct model_node *copy)
{
    while (copy->inputs.count < 2)
        vec_push(p->arena, &copy->inputs, "");
    copy->inputs.count = 2;
    vec_push(p->arena, &copy->inputs, add_scalar(p, "true", DTYPE_BOOL, 1));
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

void copy_main_node(struct preparer *p, const struct model_node *n, struct map *renamed)
{
    struct model_node *const copy = arena_new(p->arena, struct model_node);
    *copy = *n;
    copy->name = copied_name(p, n->name);
    memset(&copy->inputs, 0, sizeof copy->inputs);
    memset(&copy->outputs, 0, sizeof copy->outputs);
    for (size_t i = 0; i < n->inputs.count; i++)
        vec_push(p->arena, &copy->inputs, name_in_copy(p, renamed, n->inputs.data[i]));
    for (size_t i = 0; i < n->outputs.count; i++) {
        const char *const old = n->outputs.data[i];
        const char *const own = old[0] == '\0' ? "" : fresh_name(p, copied_name(p, old));
        vec_push(p->arena, &copy->outputs, own);
        if (own[0] != '\0')
            map_set(renamed, old, (void *)(uintptr_t)own);
    }
    if (n->outputs.count > 0 && map_get(&p->in_training, n->outputs.data[0]) == n) {
        if (is_op(n, "Dropout"))
            train_dropout(p, copy);
        else
            train_batchnorm(p, copy);
    }
    vec_push(p->arena, &p->algorithm->nodes, copy);
}

/* Does the node read, itself or in a subgraph, something that has been copied? */
static bool reads_copied(const struct model_node *n, const struct map *renamed, bool *in_subgraph);

static bool graph_reads_copied(const struct model_graph *g, const struct map *renamed)
{
    bool ignored = false;
    for (size_t i = 0; i < g->nodes.count; i++)
        if (reads_copied(g->nodes.data[i], renamed, &ignored) || ignored)
            return true;
    for (size_t i = 0; i < g->outputs.count; i++)
        if (map_has(renamed, g->outputs.data[i]->name))
            return true;
    return false;
}

static bool reads_copied(const struct model_node *n, const struct map *renamed, bool *in_subgraph)
{
    for (size_t i = 0; i < n->attrs.count; i++) {
        const struct model_attr *const x = n->attrs.data[i];
        if (x->type == ATTR_GRAPH && x->g)
            *in_subgraph = *in_subgraph || graph_reads_copied(x->g, renamed);
        for (size_t k = 0; x->type == ATTR_GRAPHS && k < x->graphs.count; k++)
            *in_subgraph = *in_subgraph || graph_reads_copied(x->graphs.data[k], renamed);
    }
    for (size_t i = 0; i < n->inputs.count; i++)
        if (map_has(renamed, n->inputs.data[i]))
            return true;
    return false;
}

bool copy_in_training_form(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    struct map renamed = {.arena = p->arena};
    for (size_t i = 0; p->in_training.count > 0 && i < g->nodes.count; i++) {
        const struct model_node *const n = g->nodes.data[i];
        bool in_subgraph = false;
        if (!is_needed(p, n))
            continue;
        const bool start = n->outputs.count > 0 && map_get(&p->in_training, n->outputs.data[0]) == n;
        const bool behind = reads_copied(n, &renamed, &in_subgraph);
        if (in_subgraph)
            return diag_error(p->diag, &n->loc,
                              "a subgraph reads what stands behind BatchNormalization or Dropout in training form, and "
                              "cannot be copied; see --batchnorm frozen");
        if (start || behind)
            copy_main_node(p, n, &renamed);
    }
    p->loss_input = name_in_copy(p, &renamed, p->loss_input);
    return true;
}

void bind_statistics(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    for (size_t i = 0; i < p->latest_statistics.count; i++) {
        const struct map_entry *const s = &p->latest_statistics.entries[i];
        bind_update(p, s->key, s->value, model_find_initializer(g, s->key)->tensor);
    }
}
