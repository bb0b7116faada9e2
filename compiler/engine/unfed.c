/* An entry computes what the main graph gives out as well as its own outputs. Of a model with several entries one may
 * need fewer inputs for its own: what only needs the others is left out, and they are not asked for. */
#include "engine/pipeline_internal.h"

#include "base/str.h"
#include "rewrite/pass.h"

struct leaver {
    const struct pipeline_options *options;
    const struct model *model;
    const struct entry *entry;
    bool *depends; /* by id of a value: on an input that is not given */
};

static void find_dependent(struct leaver *l)
{
    const struct graph *const g = l->entry->graph;
    for (size_t i = 0; i < g->inputs.count; i++)
        if (!map_has(l->options->given, g->inputs.data[i]->name))
            l->depends[g->inputs.data[i]->id] = true;
    for (const struct node *n = g->first; n != NULL; n = n->next) {
        bool any = false;
        for (size_t i = 0; i < n->inputs.count; i++)
            any = any || (n->inputs.data[i] != NULL && l->depends[n->inputs.data[i]->id]);
        for (size_t i = 0; i < n->outputs.count; i++)
            if (n->outputs.data[i] != NULL)
                l->depends[n->outputs.data[i]->id] = any;
    }
}

/* Of the training_info that the entry runs: one, or all that update something. */
static bool is_own_output(const struct leaver *l, const char *name)
{
    vec_each(const struct model_training *, t, &l->model->training) {
        const bool runs = l->entry->training < 0 ? t->update_binding.count > 0 : (int)t_at == l->entry->training;
        if (runs && t->algorithm && model_find_value(&t->algorithm->outputs, name))
            return true;
    }
    return false;
}

/* What is fetched is wanted; where nothing is, what the entry is there for: all that infer() gives out. */
static bool is_wanted(const struct leaver *l, const char *name)
{
    for (size_t i = 0; i < l->options->fetch_count; i++)
        if (str_equal(l->options->fetch[i], name))
            return true;
    return l->options->fetch_count == 0 && (l->entry->kind == ENTRY_INFER || is_own_output(l, name));
}

static bool is_needed(const struct leaver *l)
{
    const struct graph *const g = l->entry->graph;
    for (size_t i = 0; i < g->bindings.count; i++)
        if (l->depends[g->bindings.data[i].value->id])
            return true;
    vec_each_ptr(const struct graph_output, o, &g->outputs)
        if (l->depends[o->value->id] && is_wanted(l, o->name))
            return true;
    return false;
}

static void drop_outputs(struct leaver *l, struct arena *a)
{
    struct graph *const g = l->entry->graph;
    struct strbuf dropped = {.arena = a};
    size_t kept = 0;
    for (size_t i = 0; i < g->outputs.count; i++) {
        const struct graph_output o = g->outputs.data[i];
        if (l->depends[o.value->id])
            strbuf_addf(&dropped, "%s'%s'", dropped.length > 0 ? ", " : "", o.name);
        else
            g->outputs.data[kept++] = o;
    }
    g->outputs.count = kept;
    if (dropped.length > 0 && l->options->fetch_count == 0)
        diag_note(g->diag, &LOC_FILE(l->model->file),
                  "entry '%s' is run without what needs inputs that are not fed: %s", l->entry->name,
                  strbuf_text(&dropped));
}

static void drop_inputs(struct leaver *l)
{
    struct graph *const g = l->entry->graph;
    size_t kept = 0;
    for (size_t i = 0; i < g->inputs.count; i++)
        if (!l->depends[g->inputs.data[i]->id])
            g->inputs.data[kept++] = g->inputs.data[i];
    g->inputs.count = kept;
}

bool pipeline_leave_out_unfed(struct arena *a, const struct model *m, struct program *p,
                              const struct pipeline_options *o)
{
    const struct entry *const e = o->given && o->fetch_entry ? program_entry(p, o->fetch_entry) : NULL;
    if (!e)
        return true;
    struct leaver l = {o, m, e, arena_array(a, bool, (size_t)e->graph->value_count)};
    find_dependent(&l);
    if (is_needed(&l))
        return true; /* whoever runs it says which input is missing */
    drop_outputs(&l, a);
    drop_inputs(&l);
    return rewrite_dce(e->graph);
}
