/* Entries of two models under one main graph: what is renamed in them, and calls of the main graph. */
#include "prepare/merge_internal.h"

#include "base/file.h"
#include "prepare/edit.h"
#include "prepare/prepare_internal.h"
#include "prepare/rename.h"

#include <string.h>

/* ---- names of entries -------------------------------------------------------------------------------------------- */

void merge_name_entries(struct arena *a, struct model *m)
{
    vec_each (struct model_training *, t, &m->training)
        if (t->algorithm && str_equal(t->algorithm->name, "train"))
            t->algorithm->name = path_stem(a, m->file);
}

static bool check_entry_names(const struct merger *m)
{
    bool ok = true;
    vec_each (const struct model_training *, t, &m->from->training)
        vec_each (const struct model_training *, own, &m->into->training)
            if (t->algorithm && own->algorithm && t->algorithm->name[0] != '\0' &&
                str_equal(t->algorithm->name, own->algorithm->name))
                ok = diag_error(m->diag, &t->algorithm->loc,
                                "%s has an entry '%s' too; give the file another name, or prepare --entry NAME",
                                m->into->file, t->algorithm->name);
    return ok;
}

/* ---- names in algorithms ----------------------------------------------------------------------------------------- */

static bool is_key(const struct model_training *t, const char *name)
{
    vec_each_ptr (const struct model_pair, x, &t->update_binding)
        if (str_equal(x->key, name))
            return true;
    vec_each_ptr (const struct model_pair, x, &t->initialization_binding)
        if (str_equal(x->key, name))
            return true;
    return false;
}

/* A variable of the algorithm alone. */
static bool is_own_variable(const struct model_training *t, const char *name)
{
    return model_find_initializer(t->algorithm, name) && is_key(t, name);
}

static bool is_variable_of_any(const struct model *m, const char *name)
{
    vec_each (const struct model_training *, t, &m->training)
        if (t->algorithm && is_own_variable(t, name))
            return true;
    return false;
}

/* Does the name, which the algorithm defines, mean something else now? Inputs may be those of the main graph. */
static bool clashes(const struct merger *m, const struct model_training *t, const char *name, bool is_new)
{
    const struct model_graph *const g = m->into->graph;
    if (model_find_value(&t->algorithm->inputs, name) && model_find_value(&g->inputs, name) &&
        !model_find_initializer(g, name))
        return false;
    if (!is_new)
        return map_has(&m->added, name);
    return map_has(&m->main_names, name) || (is_own_variable(t, name) && is_variable_of_any(m->into, name));
}

/* What each name in the algorithm becomes. */
static void plan_names(struct merger *m, const struct model_training *t, bool is_new, struct map *to)
{
    struct map own = {.arena = m->arena};
    const char *const entry = t->algorithm->name[0] != '\0' ? t->algorithm->name : m->title;
    collect_names(&own, t->algorithm);
    for (size_t i = 0; is_new && i < m->renamed.count; i++)
        if (!map_has(&own, m->renamed.entries[i].key))
            map_set(to, m->renamed.entries[i].key, m->renamed.entries[i].value);
    for (size_t i = 0; i < own.count; i++) {
        const char *const name = own.entries[i].key;
        if (!clashes(m, t, name, is_new))
            continue;
        const char *const fresh = take_fresh_name(&m->taken, arena_printf(m->arena, "%s.%s", entry, name));
        map_set(to, name, (void *)(uintptr_t)fresh);
        if (is_own_variable(t, name) || model_find_value(&t->algorithm->inputs, name))
            strbuf_addf(m->report, "'%s' of entry '%s' becomes '%s'\n", name, entry, fresh);
    }
}

static bool calls_main_graph(const struct model_graph *algorithm)
{
    vec_each (const struct model_node *, n, &algorithm->nodes)
        if (str_equal(n->op_type, "GraphCall") && str_equal(n->domain, PREVIEW_TRAINING))
            return true;
    return false;
}

/* An input that the main graph has now, too, is the main graph's; but calls of the main graph take their own. */
static void drop_repeated_inputs(const struct merger *m, struct model_graph *algorithm)
{
    for (size_t i = algorithm->inputs.count; i-- > 0 && !calls_main_graph(algorithm);) {
        const struct model_value_info *const own = algorithm->inputs.data[i], *const of_main = model_find_value(
                                                                                  &m->into->graph->inputs, own->name);
        if (of_main && merge_same_type(&of_main->type, &own->type))
            vec_remove(&algorithm->inputs, i);
    }
}

static void rename_training(struct merger *m, struct model_training *t, bool is_new)
{
    struct map to = {.arena = m->arena}, outer = {.arena = m->arena}, own = {.arena = m->arena};
    plan_names(m, t, is_new, &to);
    rename_in_graph(t->algorithm, &to);
    drop_repeated_inputs(m, t->algorithm);
    vec_each_ptr (struct model_pair, x, &t->update_binding)
        *x = (struct model_pair){renamed(&to, x->key), renamed(&to, x->value)};
    vec_each_ptr (struct model_pair, x, &t->initialization_binding)
        x->key = renamed(&to, x->key);
    if (!t->initialization || !is_new)
        return;
    collect_names(&own, t->initialization);
    for (size_t i = 0; i < m->renamed.count; i++)
        if (!map_has(&own, m->renamed.entries[i].key))
            map_set(&outer, m->renamed.entries[i].key, m->renamed.entries[i].value);
    rename_in_graph(t->initialization, &outer);
}

/* ---- calls of the main graph ------------------------------------------------------------------------------------- */

/* The element of `values` that belongs to `name` among `names`; "": none. */
static const char *matching(const str_list *names, const str_list *values, const char *name)
{
    for (size_t i = 0; i < names->count && i < values->count; i++)
        if (str_equal(names->data[i], name))
            return values->data[i];
    return "";
}

static void trim(str_list *names)
{
    while (names->count > 0 && names->data[names->count - 1][0] == '\0')
        names->count--;
}

/* What the call gives for an input that its own main graph does not have: the same input. */
static const char *further_input(struct merger *m, struct model_graph *algorithm, struct model_value_info *vi)
{
    if (model_find_initializer(m->into->graph, vi->name))
        return "";
    if (!model_find_value(&algorithm->inputs, vi->name))
        vec_push(m->arena, &algorithm->inputs, vi);
    return vi->name;
}

static void redirect_call(struct merger *m, struct model_node *n, struct model_graph *algorithm, int side)
{
    const struct model_graph *const g = m->into->graph;
    str_list inputs = {0}, outputs = {0}, results = m->outputs[side];
    if (side == 1)
        rename_in_list(&results, &m->renamed);
    vec_each (struct model_value_info *, vi, &g->inputs) {
        const char *const own = matching(&m->inputs[side], &n->inputs, vi->name);
        vec_push(m->arena, &inputs, own[0] != '\0' ? own : further_input(m, algorithm, vi));
    }
    vec_each (const struct model_value_info *, vi, &g->outputs)
        vec_push(m->arena, &outputs, matching(&results, &n->outputs, vi->name));
    trim(&inputs);
    trim(&outputs);
    n->inputs = inputs;
    n->outputs = outputs;
    n->attrs.count = 0; /* there is graph_name alone */
    model_set_string(m->arena, n, "graph_name", g->name);
}

static void redirect_calls(struct merger *m, struct model_training *t, int side)
{
    vec_each (struct model_node *, n, &t->algorithm->nodes)
        if (str_equal(n->op_type, "GraphCall") && str_equal(n->domain, PREVIEW_TRAINING))
            redirect_call(m, n, t->algorithm, side);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

bool merge_entries(struct merger *m)
{
    if (!check_entry_names(m))
        return false;
    for (int side = 0; side < 2; side++) {
        struct model *const one = side == 0 ? m->into : m->from;
        vec_each (struct model_training *, t, &one->training) {
            if (!t->algorithm)
                continue;
            rename_training(m, t, side == 1);
            redirect_calls(m, t, side);
        }
    }
    vec_each (struct model_training *, t, &m->from->training)
        vec_push(m->arena, &m->into->training, t);
    return true;
}
