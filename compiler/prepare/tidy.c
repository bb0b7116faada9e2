#include "prepare/tidy.h"

#include "prepare/edit.h"
#include "prepare/rename.h"
#include <string.h>

/* ---- every list of nodes of a model ------------------------------------------------------------------------------ */

typedef bool (*graph_visit)(void *to, struct model_graph *g);

/* The graph, and those inside its nodes; the reader bounds their depth. */
static bool visit_graph(struct model_graph *g, graph_visit visit, void *to)
{
    if (!g)
        return true;
    if (!visit(to, g))
        return false;
    vec_each(struct model_node *, n, &g->nodes)
        model_each_inner(n, inner)
            if (!visit_graph(inner, visit, to))
                return false;
    return true;
}

static bool visit_graphs(struct model *m, graph_visit visit, void *to)
{
    bool ok = visit_graph(m->graph, visit, to);
    vec_each(struct model_training *, t, &m->training)
        ok = ok && visit_graph(t->initialization, visit, to) && visit_graph(t->algorithm, visit, to);
    return ok;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

enum visit_state { UNSEEN, OPEN, PLACED };

struct node_sorter {
    struct diag *diag;
    struct arena *arena;
    const model_nodes *nodes;
    struct map producers; /* value -> size_t *, the node that makes it */
    enum visit_state *state;
    model_nodes sorted;
};

/* A node that waits for what it reads: reads[next..] are not looked at yet. */
struct waiting {
    size_t node, next;
    str_list reads;
};
typedef VEC(struct waiting) waiting_list;

static void add_reads(struct arena *a, const struct model_node *n, str_list *out)
{
    vec_each(const char *, name, &n->inputs)
        vec_push(a, out, name);
    model_each_inner(n, inner) {
        vec_each(const struct model_node *, own, &inner->nodes)
            add_reads(a, own, out);
        vec_each(const struct model_value_info *, vi, &inner->outputs)
            vec_push(a, out, vi->name);
    }
    vec_each(const struct model_attr *, x, &n->attrs) /* Gradient names y there alone */
        if (str_equal(n->op_type, "Gradient") && str_equal(x->name, "y") && x->type == ATTR_STRING && x->s.data)
            vec_push(a, out, x->s.data);
}

static void begin_node(struct node_sorter *s, waiting_list *open, size_t node)
{
    struct waiting w = {.node = node};
    add_reads(s->arena, s->nodes->data[node], &w.reads);
    s->state[node] = OPEN;
    vec_push(s->arena, open, w);
}

static bool report_cycle(struct node_sorter *s, const struct model_node *n)
{
    return diag_error(s->diag, &n->loc, "the node reads what follows from its own results: there is no order");
}

/* The node behind all that it depends on. */
static bool place(struct node_sorter *s, size_t node)
{
    waiting_list open = {0};
    begin_node(s, &open, node);
    while (open.count > 0) {
        struct waiting *const w = &open.data[open.count - 1];
        if (w->next == w->reads.count) {
            s->state[w->node] = PLACED;
            vec_push(s->arena, &s->sorted, s->nodes->data[w->node]);
            open.count--;
            continue;
        }
        const size_t *const from = map_get(&s->producers, w->reads.data[w->next++]);
        if (from && s->state[*from] == OPEN)
            return report_cycle(s, s->nodes->data[*from]);
        if (from && s->state[*from] == UNSEEN)
            begin_node(s, &open, *from);
    }
    return true;
}

static bool sort_list(struct diag *d, model_nodes *nodes)
{
    struct arena scratch = {0};
    struct node_sorter s = {.diag = d, .arena = &scratch, .nodes = nodes, .producers.arena = &scratch};
    s.state = arena_array(&scratch, enum visit_state, nodes->count);
    vec_each(const struct model_node *, n, nodes)
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0')
                map_set(&s.producers, name, arena_copy(&scratch, &n_at, sizeof n_at, alignof(size_t)));
    bool ok = true;
    for (size_t i = 0; i < nodes->count && ok; i++)
        ok = s.state[i] != UNSEEN || place(&s, i);
    for (size_t i = 0; i < nodes->count && ok; i++)
        nodes->data[i] = s.sorted.data[i];
    arena_free(&scratch);
    return ok;
}

static bool sort_graph(void *to, struct model_graph *g)
{
    return sort_list(to, &g->nodes);
}

bool sort_nodes(struct diag *d, struct model *m)
{
    bool ok = visit_graphs(m, sort_graph, d);
    vec_each(struct model_function *, f, &m->functions)
        ok = sort_list(d, &f->nodes) && ok;
    return ok;
}

/* ---- declarations ------------------------------------------------------------------------------------------------ */

static bool drop_infos(void *to, struct model_graph *g)
{
    (void)to;
    g->value_infos.count = 0;
    return true;
}

void drop_value_infos(struct model *m)
{
    (void)visit_graphs(m, drop_infos, NULL);
    vec_each(struct model_function *, f, &m->functions)
        f->value_infos.count = 0;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

struct renamer {
    struct diag *diag;
    struct arena *arena;
    struct map names; /* of the model -> const char *, the new ones; NULL: it stays */
};

static bool collect(void *to, struct model_graph *g)
{
    struct renamer *const r = to;
    collect_own_names(&r->names, g);
    return true;
}

static bool choose_names(struct renamer *r, const struct weight_options *rules)
{
    bool *const used = arena_array(r->arena, bool, rules->renames.count);
    struct map taken = {.arena = r->arena};
    bool ok = true;
    for (size_t i = 0; i < r->names.count; i++) {
        struct map_entry *const e = &r->names.entries[i];
        const char *const to = weights_renamed(r->arena, rules, e->key, used);
        e->value = str_equal(to, e->key) ? NULL : (void *)(uintptr_t)to;
        if (to[0] == '\0')
            ok = diag_error(r->diag, NULL, "--rename: '%s' would have no name", e->key);
        else if (map_has(&taken, to))
            ok = diag_error(r->diag, NULL, "--rename: two tensors would be called '%s'", to);
        map_set(&taken, to, NULL);
    }
    for (size_t i = 0; i < rules->renames.count; i++)
        if (!used[i])
            ok = diag_error(r->diag, NULL, "--rename %s=%s: no tensor has such a name", rules->renames.data[i].in_model,
                            rules->renames.data[i].in_file);
    return ok;
}

static void rename_bindings(const struct renamer *r, model_pairs *pairs)
{
    vec_each_ptr(struct model_pair, x, pairs)
        *x = (struct model_pair){renamed(&r->names, x->key), renamed(&r->names, x->value)};
}

/* What a list in the metadata names may have gone from the model: it is renamed all the same. */
static void choose_listed_names(struct renamer *r, const struct model *m, const struct weight_options *rules)
{
    str_list listed = {0};
    metadata_all_names(r->arena, m, &listed);
    vec_each(const char *, name, &listed) {
        const char *const to = weights_renamed(r->arena, rules, name, NULL);
        if (!map_has(&r->names, name) && to[0] != '\0')
            map_set(&r->names, name, (void *)(uintptr_t)to);
    }
}

bool rename_tensors(struct diag *d, struct arena *a, struct model *m, const struct weight_options *rules)
{
    struct renamer r = {.diag = d, .arena = a, .names.arena = a};
    if (rules->renames.count == 0)
        return true;
    if (!visit_graphs(m, collect, &r) || !choose_names(&r, rules))
        return false;
    choose_listed_names(&r, m, rules);
    rename_in_graph(m->graph, &r.names);
    vec_each(struct model_training *, t, &m->training) {
        rename_bindings(&r, &t->initialization_binding);
        rename_bindings(&r, &t->update_binding);
        if (t->initialization)
            rename_in_graph(t->initialization, &r.names);
        if (t->algorithm)
            rename_in_graph(t->algorithm, &r.names);
    }
    metadata_rename(a, m, &r.names);
    return true;
}
