#include "prepare/inside.h"

#include <string.h>

/* A graph and where it stands. */
struct inner_place {
    const struct model_graph *graph;
    const char *text; /* "the body of Loop 'y'"; NULL: the main graph */
};
typedef VEC(struct inner_place) place_list;

static const char *place_text(struct arena *a, const struct model_node *n, const struct model_graph *g)
{
    vec_each(const struct model_attr *, x, &n->attrs)
        if (x->type == ATTR_GRAPH && x->g == g)
            return arena_printf(a, "the %s of %s '%s'", x->name, n->op_type, node_title(n));
    return arena_printf(a, "a graph of %s '%s'", n->op_type, node_title(n));
}

/* The graph, and after it those inside its nodes. Nesting is bounded by the reader. */
static void find_places(struct arena *a, const struct model_graph *g, const char *text, place_list *out)
{
    vec_push(a, out, ((struct inner_place){g, text}));
    vec_each(const struct model_node *, n, &g->nodes)
        model_each_inner(n, inner)
            find_places(a, inner, place_text(a, n, inner), out);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static const char *type_text(struct arena *a, enum dtype dtype, const struct shape *shape, const struct inner_place *at)
{
    return arena_printf(a, "%s%s%s%s", dtype_name(dtype), shape_text(a, shape), at->text ? " in " : "",
                        at->text ? at->text : "");
}

static void find_in(const struct rules *r, const struct inner_place *at, left_inside_list *out)
{
    struct arena *const a = r->p->arena;
    vec_each(const struct model_sparse *, s, &at->graph->sparse_initializers)
        if (dtype_is_float(s->values->dtype) && map_has(&r->reached, s->name))
            vec_push(a, out, ((struct left_inside){s->name, type_text(a, s->values->dtype, &s->dims, at),
                                                   "sparse initializers are not trained; a dense one would be"}));
}

void find_left_inside(const struct rules *r, left_inside_list *out)
{
    place_list places = {0};
    find_places(r->p->arena, r->p->model->graph, NULL, &places);
    vec_each_ptr(const struct inner_place, at, &places)
        find_in(r, at, out);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static const char *what_in(struct arena *a, const struct inner_place *at, const char *name)
{
    const char *const in = at->text ? arena_printf(a, " in %s", at->text) : "";
    vec_each(const struct model_sparse *, s, &at->graph->sparse_initializers)
        if (str_equal(s->name, name))
            return arena_printf(a, "it is a sparse initializer%s; a dense one could be trained", in);
    if (model_find_initializer(at->graph, name))
        return arena_printf(a, "it is an initializer%s, where it cannot be trained", in);
    if (model_find_value(&at->graph->inputs, name))
        return arena_printf(a, "it is an input%s", at->text ? arena_printf(a, " of %s", at->text) : "");
    vec_each(const struct model_node *, n, &at->graph->nodes)
        if (str_list_has(&n->outputs, name))
            return is_op(n, "Constant") ? arena_printf(a, "it is a Constant%s that is no list or matrix of floats", in)
                                        : arena_printf(a, "%s '%s'%s computes it", n->op_type, node_title(n), in);
    return NULL;
}

const char *what_is_called(struct arena *a, const struct model *m, const char *name)
{
    place_list places = {0};
    find_places(a, m->graph, NULL, &places);
    vec_each_ptr(const struct inner_place, at, &places) {
        const char *const what = what_in(a, at, name);
        if (what)
            return what;
    }
    return NULL;
}

/* ---- forms ------------------------------------------------------------------------------------------------------- */

void warn_of_forms_inside(struct preparer *p)
{
    place_list places = {0};
    find_places(p->arena, p->model->graph, NULL, &places);
    vec_each_ptr(const struct inner_place, at, &places) {
        vec_each(const struct model_node *, n, &at->graph->nodes) {
            const bool norm = is_op(n, "BatchNormalization") && asks_for_batch_statistics(p->options);
            if (at->text && (norm || is_op(n, "Dropout")))
                diag_warning(p->diag, &n->loc,
                             "it stands in %s: a step has it in the form that infer() has, %s", at->text,
                             norm ? "and leaves its statistics alone" : "which the model says");
        }
    }
}
