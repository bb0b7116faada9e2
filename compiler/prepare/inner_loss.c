/* A model that computes its loss itself: infer() needs no labels and no loss. When everything else is written, the
 * nodes of the main graph that no other output depends on go into the algorithms which use them, with the inputs
 * that nothing else reads:
 *
 *   main    y = Gemm(x, W)  loss = SoftmaxCrossEntropyLoss(y, labels)         y = Gemm(x, W)
 *   train   g = Gradient<y = "loss">(W, x, labels) => loss = SoftmaxCrossEntropyLoss(y, labels) g = ...
 *
 * A model whose only output is its loss keeps it, and so does one whose loss has parameters of its own: then it has
 * another name there, if a step computes it in another form. */
#include "prepare/prepare_internal.h"

#include <string.h>

struct mover {
    struct preparer *p;
    struct map kept;           /* names of the main graph that other outputs depend on */
    struct map values, inputs; /* names that go: outputs of nodes, inputs of the graph */
    model_nodes nodes;
};

/* ---- what goes --------------------------------------------------------------------------------------------------- */

static bool is_variable(const struct model *m, const char *name)
{
    vec_each(const struct model_training *, t, &m->training)
        vec_each_ptr(const struct model_pair, binding, &t->update_binding)
            if (str_equal(binding->key, name))
                return true;
    return false;
}

/* False: the loss has variables of its own, which belong to the main graph. */
static bool find_nodes(struct mover *v)
{
    const struct model_graph *const g = v->p->model->graph;
    struct map read = {.arena = v->p->arena};
    vec_each(struct model_node *, n, &g->nodes) {
        if (gives_one_of(n, &v->kept) || !is_needed(v->p, n))
            continue;
        vec_push(v->p->arena, &v->nodes, n);
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0') {
                map_set(&v->values, name, NULL);
                map_set(&read, name, NULL);
            }
    }
    mark_ancestors(&(struct model_graph){.nodes = v->nodes}, &read);
    for (size_t i = 0; i < read.count; i++) {
        const char *const name = read.entries[i].key;
        if (map_has(&v->kept, name))
            continue;
        if (is_variable(v->p->model, name))
            return false;
        if (model_find_value(&g->inputs, name) && !model_find_initializer(g, name))
            map_set(&v->inputs, name, NULL);
    }
    return v->nodes.count > 0;
}

/* ---- who uses it ------------------------------------------------------------------------------------------------- */

/* Names in the attributes of Gradient count: y is read by its name alone. */
static bool reads_any(struct arena *a, const struct model_graph *g, const struct map *names)
{
    struct map read = {.arena = a};
    vec_each(const struct model_node *, n, &g->nodes)
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0')
                map_set(&read, name, NULL);
    mark_ancestors(g, &read);
    for (size_t i = 0; i < read.count; i++)
        if (map_has(names, read.entries[i].key))
            return true;
    vec_each(const struct model_node *, n, &g->nodes) {
        const struct model_attr *const y = model_find_attr(&n->attrs, "y");
        if (y && y->type == ATTR_STRING && y->s.data && map_has(names, y->s.data))
            return true;
    }
    return false;
}

/* ---- moving ------------------------------------------------------------------------------------------------------ */

/* Each entry has nodes of its own: annotations for devices are added to each. */
static struct model_node *own_node(struct arena *a, const struct model_node *n)
{
    struct model_node *const own = arena_copy(a, n, sizeof *n, alignof(struct model_node));
    memset(&own->devices, 0, sizeof own->devices);
    vec_each_ptr(const struct model_node_devices, x, &n->devices)
        vec_push(a, &own->devices, *x);
    return own;
}

static void put_nodes_first(struct mover *v, struct model_graph *g)
{
    struct model_graph old = *g;
    memset(&g->nodes, 0, sizeof g->nodes);
    vec_each(const struct model_node *, n, &v->nodes)
        vec_push(v->p->arena, &g->nodes, own_node(v->p->arena, n));
    vec_each(struct model_node *, n, &old.nodes)
        vec_push(v->p->arena, &g->nodes, n);
    vec_each(struct model_value_info *, vi, &v->p->model->graph->value_infos)
        if (map_has(&v->values, vi->name))
            vec_push(v->p->arena, &g->value_infos, vi);
}

static void put_output(struct mover *v, struct model_graph *g)
{
    if (!model_find_value(&g->outputs, v->p->source))
        vec_push(v->p->arena, &g->outputs, model_find_value(&v->p->model->graph->outputs, v->p->source));
}

static void put_inputs_first(struct mover *v, struct model_graph *g)
{
    struct model_graph old = *g;
    memset(&g->inputs, 0, sizeof g->inputs);
    for (size_t i = 0; i < v->inputs.count; i++)
        vec_push(v->p->arena, &g->inputs, model_find_value(&v->p->model->graph->inputs, v->inputs.entries[i].key));
    vec_each(struct model_value_info *, vi, &old.inputs)
        vec_push(v->p->arena, &g->inputs, vi);
}

/* An entry that binds nothing is there to give the loss. */
static void move_into(struct mover *v, const struct model_training *t)
{
    const bool needs_nodes = t->update_binding.count == 0 || reads_any(v->p->arena, t->algorithm, &v->values);
    const bool needs_inputs = needs_nodes || reads_any(v->p->arena, t->algorithm, &v->inputs);
    if (needs_nodes) {
        put_nodes_first(v, t->algorithm);
        put_output(v, t->algorithm);
    }
    if (needs_inputs)
        put_inputs_first(v, t->algorithm);
}

static void remove_nodes(struct mover *v)
{
    struct model_graph *const g = v->p->model->graph;
    for (size_t i = g->nodes.count; i-- > 0;)
        for (size_t k = 0; k < v->nodes.count; k++)
            if (g->nodes.data[i] == v->nodes.data[k]) {
                vec_remove(&g->nodes, i);
                break;
            }
    for (size_t i = g->value_infos.count; i-- > 0;)
        if (map_has(&v->values, g->value_infos.data[i]->name))
            vec_remove(&g->value_infos, i);
}

static void remove_from_main(struct mover *v)
{
    struct model_graph *const g = v->p->model->graph;
    remove_nodes(v);
    for (size_t i = g->inputs.count; i-- > 0;)
        if (map_has(&v->inputs, g->inputs.data[i]->name))
            vec_remove(&g->inputs, i);
    for (size_t i = g->outputs.count; i-- > 0;)
        if (str_equal(g->outputs.data[i]->name, v->p->source))
            vec_remove(&g->outputs, i);
}

static void rename_reads(struct model_graph *g, const char *old, const char *name)
{
    vec_each(struct model_node *, n, &g->nodes) {
        rename_names(&n->inputs, old, name);
        vec_each(struct model_attr *, x, &n->attrs)
            if (str_equal(x->name, "y") && x->type == ATTR_STRING && x->s.data && str_equal(x->s.data, old))
                x->s = (struct model_bytes){name, strlen(name)};
    }
}

/* Where it is made, read and given out. */
static void rename_everywhere(struct model_graph *g, const char *old, const char *name)
{
    rename_reads(g, old, name);
    vec_each(struct model_node *, n, &g->nodes)
        rename_names(&n->outputs, old, name);
    rename_values(&g->outputs, old, name);
}

/* 'loss' is free now where the nodes have not gone. */
static void add_left_loss(struct preparer *p, const struct quotient *q)
{
    if (model_find_value(&q->algorithm->outputs, "loss"))
        return;
    model_add_node(p->arena, q->algorithm, "", "Div", (const char *[]){q->sum, q->weight, NULL},
                   (const char *[]){"loss", NULL});
    model_add_value(p->arena, q->algorithm, 1, "loss", p->loss_dtype, NULL, 0);
}

/* ---- a loss that stays ----------------------------------------------------------------------------------------------
 * What is called 'loss' is the one that is trained with; that of infer(), in inference form, gives its name away.
 */

/* An entry that has no loss of its own gives that of the main graph. */
static void add_same_loss(struct preparer *p, struct model_graph *g, const char *main_loss)
{
    const struct model_value_info *const out = model_find_value(&p->model->graph->outputs, main_loss);
    if (model_find_value(&g->outputs, "loss"))
        return;
    model_add_node(p->arena, g, "", "Identity", (const char *[]){main_loss, NULL}, (const char *[]){"loss", NULL});
    model_add_value(p->arena, g, 1, "loss", p->loss_dtype, out->type.dims.data, out->type.dims.count);
}

static void give_name_away(struct preparer *p, const char *step_loss)
{
    struct model *const m = p->model;
    if (!str_equal(p->source, "loss") || !model_find_value(&m->graph->outputs, "loss") ||
        (str_equal(step_loss, "loss") && p->left_losses.count == 0))
        return;
    const char *const name = edit_fresh_name(&p->edit, "inference_loss");
    rename_everywhere(m->graph, "loss", name);
    rename_values(&m->graph->value_infos, "loss", name);
    vec_each(const struct model_training *, t, &m->training)
        rename_reads(t->algorithm, "loss", name);
    if (!str_equal(step_loss, "loss"))
        rename_everywhere(m->training.data[0]->algorithm, step_loss, "loss");
    for (size_t i = 0; i < p->left_losses.count; i++) {
        struct quotient q = p->left_losses.data[i];
        q.sum = str_equal(q.sum, "loss") ? name : q.sum;
        add_left_loss(p, &q);
    }
    vec_each(const struct model_training *, t, &m->training)
        if (t->update_binding.count == 0)
            add_same_loss(p, t->algorithm, name);
    edit_changed(&p->edit, "another name for its own loss");
    say(p, "'loss' is what a step minimizes; infer() calls its own '%s'", name);
}

void take_scores_out(struct preparer *p)
{
    struct mover v = {.p = p, .nodes = p->score_nodes, .values.arena = p->arena};
    vec_each(const struct model_node *, n, &v.nodes)
        vec_each(const char *, name, &n->outputs)
            map_set(&v.values, name, NULL);
    vec_each(const struct model_training *, t, &p->model->training)
        if (v.nodes.count > 0 && reads_any(p->arena, t->algorithm, &v.values))
            put_nodes_first(&v, t->algorithm);
    remove_nodes(&v);
}

void take_loss_out(struct preparer *p, const char *step_loss)
{
    struct mover v = {.p = p, .kept.arena = p->arena, .values.arena = p->arena, .inputs.arena = p->arena};
    const struct model_graph *const g = p->model->graph;
    if (p->options->loss != LOSS_OUTPUT || !model_find_value(&g->outputs, p->source))
        return;
    if (g->outputs.count < 2) {
        give_name_away(p, step_loss);
        return;
    }
    vec_each(const struct model_value_info *, vi, &g->outputs)
        if (!str_equal(vi->name, p->source))
            map_set(&v.kept, vi->name, NULL);
    mark_ancestors(g, &v.kept);
    if (map_has(&v.kept, p->source) || !find_nodes(&v)) {
        say(p, "infer() computes the loss too: other outputs, or parameters of its own, depend on it");
        give_name_away(p, step_loss);
        return;
    }
    vec_each(const struct model_training *, t, &p->model->training)
        move_into(&v, t);
    remove_from_main(&v);
    edit_changed(&p->edit, "without its loss");
    say(p, "infer() does not compute the loss%s%s%s", v.inputs.count > 0 ? " and does not take " : "",
        v.inputs.count > 0 ? arena_printf(p->arena, "'%s'", v.inputs.entries[0].key) : "",
        v.inputs.count > 1 ? " and what else only the loss reads" : "");
    struct model_graph *const step = p->model->training.data[0]->algorithm;
    const bool is_free = str_equal(p->loss_output, "loss") && !map_has(&v.kept, "loss");
    if (is_free && !str_equal(step_loss, "loss") && !model_find_value(&step->outputs, "loss"))
        rename_everywhere(step, step_loss, "loss");
    for (size_t i = 0; i < p->left_losses.count && !map_has(&v.kept, "loss"); i++)
        add_left_loss(p, &p->left_losses.data[i]);
}
