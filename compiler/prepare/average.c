/* --ema D: an exponential moving average of every trained tensor, A' = D A + (1 - D) W' behind each update, and an
 * entry that computes what infer() does with A in the place of W:
 *
 *   main         net (x, W) => (y)       W is a trained initializer; it is listed as an input, so that a call may
 *                                        give another
 *   infer_average  (x) => (y.average)    y.average = GraphCall<graph_name = "net">(x, W.average)
 *
 * The averages are initializers of the main graph, which both algorithms see. Running statistics are used as they are:
 * they are averages already. */
#include "prepare/strip.h"
#include "prepare/updates.h"

#include <string.h>

/* ---- the averages ------------------------------------------------------------------------------------------------ */

static const char *new_value(const struct preparer *p, const char *key)
{
    vec_each_ptr (const struct model_pair, x, &p->training->update_binding)
        if (str_equal(x->key, key))
            return x->value;
    return key;
}

const char *average_of(struct preparer *p, struct trainable *t)
{
    if (!t->average && p->options->ema > 0) {
        struct tensor *const initial = arena_copy(p->arena, t->tensor, sizeof *initial, alignof(struct tensor));
        t->average = fresh_name(p, suffixed(p, t->name, "average"));
        map_set(&p->main_names, t->average, NULL);
        model_add_initializer(p->arena, p->model->graph, t->average, initial);
    }
    return t->average;
}

void add_averages(struct updater *u)
{
    struct preparer *const p = u->p;
    if (p->options->ema == 0)
        return;
    vec_each_ptr (struct trainable, t, &p->trainables) {
        if (!is_updated_here(p, t))
            continue;
        const char *const old = average_of(p, t);
        bind_update(p, old, mean_of(u, t, old, "ema", p->options->ema, old, new_value(p, t->name)), t->tensor);
    }
    say(p, "moving averages: NAME.average = %g NAME.average + %g NAME, of every trained tensor", p->options->ema,
        1 - p->options->ema);
}

/* ---- the entry --------------------------------------------------------------------------------------------------- */

static const struct trainable *find_trainable(const struct preparer *p, const char *name)
{
    vec_each_ptr (const struct trainable, t, &p->trainables)
        if (str_equal(t->name, name))
            return t;
    return NULL;
}

/* Files before IR 4 list them already. */
static void list_weights_as_inputs(struct preparer *p)
{
    struct model_graph *const g = p->model->graph;
    str_list added = {0};
    vec_each_ptr (const struct trainable, t, &p->trainables) {
        struct model_dim dims[SHAPE_MAX_RANK] = {{0}};
        if (model_find_value(&g->inputs, t->name))
            continue;
        for (int i = 0; i < t->tensor->shape.rank; i++)
            dims[i].value = t->tensor->shape.dim[i];
        model_add_value(p->arena, g, 0, t->name, t->tensor->dtype, dims, (size_t)t->tensor->shape.rank);
        vec_push(p->arena, &added, t->name);
    }
    strip_remember_inputs(p->arena, p->model, &added);
}

/* The same type under another name. */
static struct model_value_info *copy_info(struct preparer *p, const struct model_value_info *vi, const char *name)
{
    struct model_value_info *const copy = arena_copy(p->arena, vi, sizeof *vi, alignof(struct model_value_info));
    copy->name = name;
    return copy;
}

void add_average_entry(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    str_list in = {0}, out = {0};
    if (p->options->ema == 0)
        return;
    list_weights_as_inputs(p);
    begin_algorithm(p, entry_name(p, "infer_average"));
    vec_each (const struct model_value_info *, vi, &g->inputs) {
        const struct trainable *const t = find_trainable(p, vi->name);
        const bool stored = model_find_initializer(g, vi->name) != NULL;
        vec_push(p->arena, &in, t ? t->average : stored ? "" : vi->name);
        if (!stored)
            vec_push(p->arena, &p->algorithm->inputs, copy_info(p, vi, vi->name));
    }
    vec_each (const struct model_value_info *, vi, &g->outputs) {
        const char *const name = fresh_name(p, suffixed(p, vi->name, "average"));
        vec_push(p->arena, &out, name);
        vec_push(p->arena, &p->algorithm->outputs, copy_info(p, vi, name));
    }
    vec_push(p->arena, &in, NULL);
    vec_push(p->arena, &out, NULL);
    struct model_node *const n =
        model_add_node(p->arena, p->algorithm, PREVIEW_TRAINING, "GraphCall", in.data, out.data);
    model_set_string(p->arena, n, "graph_name", g->name);
    attach_algorithm(p);
    say(p, "entry '%s': what infer computes, with the averages", p->algorithm->name);
}
