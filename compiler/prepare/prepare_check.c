/* What compile and check would say of the prepared model is said at once: operators that stepc does not have, gradients
 * that are not defined. A model that is wrong is not written. */
#include "prepare/prepare_internal.h"

#include "train/adjoint.h"
#include "train/combine.h"

enum {
    MOST_NODES = 3,    /* of an operator that are named */
    MOST_REASONS = 5,  /* that are passed on */
    SMALL_SIZE = 8,    /* for all symbols */
    LARGE_SIZE = 96
};

/* ---- operators --------------------------------------------------------------------------------------------------- */

struct missing {
    const char *op, *domain;
    str_list nodes;
};
typedef VEC(struct missing *) missing_list;

static bool is_known(const struct model *m, const struct model_node *n)
{
    if (op_find(n->domain, n->op_type))
        return true;
    vec_each(const struct model_function *, f, &m->functions)
        if (str_equal(f->name, n->op_type) && str_equal(f->domain, n->domain))
            return true;
    return false;
}

struct missing_search {
    const struct preparer *p;
    missing_list *all;
};

static void add_missing(void *search, const struct model_node *n)
{
    const struct missing_search *const s = search;
    struct missing *own = NULL;
    if (is_known(s->p->model, n))
        return;
    for (size_t i = 0; i < s->all->count && !own; i++)
        if (str_equal(s->all->data[i]->op, n->op_type) && str_equal(s->all->data[i]->domain, n->domain))
            own = s->all->data[i];
    if (!own) {
        own = arena_new(s->p->arena, struct missing);
        *own = (struct missing){.op = n->op_type, .domain = n->domain};
        vec_push(s->p->arena, s->all, own);
    }
    vec_push(s->p->arena, &own->nodes, node_title(n));
}

static void warn_missing(struct preparer *p, const missing_list *all)
{
    vec_each(const struct missing *, m, all)
        diag_warning(p->diag, &p->loc,
                     "stepc compile will refuse this model: operator %s%s%s%s is not supported: node%s %s", m->op,
                     m->domain[0] != '\0' ? " of domain '" : "", m->domain, m->domain[0] != '\0' ? "'" : "",
                     str_plural(m->nodes.count), names_text(p->arena, &m->nodes, MOST_NODES));
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static bool passes(struct preparer *p, struct diag *trial, int64_t size, bool own_sizes)
{
    trial->arena = p->arena;
    const struct program *const program = try_program(p, trial, NULL, own_sizes, size);
    if (!program)
        return false;
    vec_each_ptr(const struct entry, e, &program->entries)
        if (!adjoint_expand(e->graph))
            return false;
    return true;
}

static bool has_open_sizes(const struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_value_info *, vi, &g->inputs)
        vec_each_ptr(const struct model_dim, dim, &vi->type.dims)
            if (dim->value < 0)
                return true;
    return false;
}

static bool pass_on(struct preparer *p, const struct diag *trial)
{
    const bool open = has_open_sizes(p);
    bool ok = true;
    size_t said = 0;
    vec_each_ptr(const struct diag_message, m, &trial->messages) {
        if (m->severity != DIAG_ERROR || said++ >= MOST_REASONS)
            continue;
        if (m->unsupported)
            diag_warning(p->diag, &m->loc, "stepc compile will refuse this model: %s", m->text);
        else if (open)
            diag_warning(p->diag, &m->loc,
                         "stepc compile may refuse this model: %s; --dim and --shape say sizes", m->text);
        else
            ok = diag_error(p->diag, &m->loc, "%s", m->text);
    }
    return ok;
}

bool check_prepared(struct preparer *p)
{
    missing_list missing = {0};
    struct diag *const trials = arena_array(p->arena, struct diag, 3);
    model_each_node(p->model->graph, add_missing, &(struct missing_search){p, &missing});
    warn_missing(p, &missing);
    if (missing.count > 0 || passes(p, &trials[0], SMALL_SIZE, true))
        return true;
    return (has_open_sizes(p) &&
            (passes(p, &trials[1], SMALL_SIZE, false) || passes(p, &trials[2], LARGE_SIZE, false))) ||
           pass_on(p, &trials[0]);
}
