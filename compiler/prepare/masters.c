#include "prepare/masters.h"

#include <string.h>

/* ---- there ------------------------------------------------------------------------------------------------------- */

static void set_tensor(struct model_graph *g, struct model_initializer *init, struct tensor *t)
{
    struct model_value_info *const input = model_find_value(&g->inputs, init->name); /* in files before IR 4 */
    init->tensor = t;
    init->external_location = NULL;
    if (input)
        input->type.elem = t->dtype;
}

const char *widen_initializer(struct edit *e, struct model_initializer *init)
{
    struct model_graph *const g = e->model->graph;
    const enum dtype given = init->tensor->dtype;
    const char *const rounded =
        edit_fresh_name(e, arena_printf(e->arena, "%s.%s", init->name, dtype_name(given)));
    rename_reads_within(g, init->name, rounded);
    set_tensor(g, init, tensor_cast(e->arena, init->tensor, DTYPE_FLOAT));
    model_set_int(e->arena, edit_insert_node(e, 0, "Cast", init->name, NULL, rounded), "to", given);
    return rounded;
}

/* ---- and back ---------------------------------------------------------------------------------------------------- */

/* The only node that reads the name, if it is a Cast to 16 bits, and no graph inside a node does; else the number of
 * nodes. */
static size_t find_cast(const struct model_graph *g, const char *name, enum dtype *to)
{
    size_t found = g->nodes.count, readers = 0;
    if (model_find_value(&g->outputs, name))
        return g->nodes.count;
    vec_each(const struct model_node *, n, &g->nodes) {
        model_each_inner(n, inner)
            if (is_read_within(inner, name))
                return g->nodes.count;
        if (!str_list_has(&n->inputs, name))
            continue;
        const struct model_attr *const x = model_find_attr(&n->attrs, "to");
        readers++;
        if (!str_equal(n->op_type, "Cast") || n->domain[0] != '\0' || !x || x->type != ATTR_INT ||
            n->outputs.count != 1 || !(x->i == DTYPE_FLOAT16 || x->i == DTYPE_BFLOAT16))
            return g->nodes.count;
        *to = (enum dtype)x->i;
        found = n_at;
    }
    return readers == 1 ? found : g->nodes.count;
}

static bool narrow(struct arena *a, struct model *m, const char *name)
{
    struct model_graph *const g = m->graph;
    struct model_initializer *const init = model_find_initializer(g, name);
    enum dtype to = DTYPE_UNDEFINED;
    const size_t at = init ? find_cast(g, name, &to) : g->nodes.count;
    if (at == g->nodes.count || init->tensor->dtype != DTYPE_FLOAT)
        return false;
    const char *const rounded = g->nodes.data[at]->outputs.data[0];
    vec_remove(&g->nodes, at);
    set_tensor(g, init, tensor_cast(a, init->tensor, to));
    rename_reads_within(g, rounded, name);
    return true;
}

/* ---- which ------------------------------------------------------------------------------------------------------- */

void remember_widened(struct arena *a, struct model *m, const str_list *names)
{
    struct strbuf text = {.arena = a};
    vec_each(const char *, name, names)
        strbuf_addf(&text, "%s%s", name_at > 0 ? "\n" : "", name);
    if (names->count > 0)
        vec_push(a, &m->metadata, ((struct model_pair){METADATA_WIDENED, strbuf_text(&text)}));
}

void narrow_remembered(struct arena *a, struct model *m, const char *names, struct strbuf *report)
{
    size_t count = 0;
    for (const char *at = names; at && *at;) {
        const size_t n = strcspn(at, "\n");
        count += narrow(a, m, arena_strndup(a, at, n));
        at += n + (at[n] == '\n');
    }
    if (count > 0)
        strbuf_addf(report, "rounded to 16 bits again: %zu initializer%s\n", count, str_plural(count));
}
