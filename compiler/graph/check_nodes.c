#include "graph/check_nodes.h"

#include "base/map.h"
#include "base/str.h"
#include "graph/import_internal.h"
#include "graph/upgrade.h"

/* Names that are visible: a graph's own, and behind them those of the graph around it. */
struct names {
    struct map own;
    const struct names *outer;
};

struct node_checker {
    struct diag *diag;
    struct arena *arena;
    const struct model *model;
    struct map functions;
    const model_opsets *opsets; /* of the model, or of the function at hand */
};

static bool is_visible(const struct names *names, const char *name)
{
    for (; names; names = names->outer)
        if (map_has(&names->own, name))
            return true;
    return false;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* What a graph defines may have no name of a graph around it; `what` is as in "input". */
static bool define(struct node_checker *c, struct names *names, const char *name, const char *what,
                   const struct loc *at)
{
    if (name[0] == '\0')
        return true;
    if (map_has(&names->own, name))
        return diag_error(c->diag, at, "%s '%s' is defined already", what, name);
    if (is_visible(names->outer, name))
        return diag_error(c->diag, at,
                          "%s '%s' has the name of a tensor outside of the graph: names are given once (SSA)", what,
                          name);
    map_set(&names->own, name, NULL);
    return true;
}

static bool check_reads(struct node_checker *c, const struct model_node *n, const struct names *names)
{
    bool ok = true;
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i][0] != '\0' && !is_visible(names, n->inputs.data[i]))
            ok = diag_error(c->diag, &n->loc, "input %zu '%s' is not defined before the node", i, n->inputs.data[i]);
    return ok;
}

/* ---- what an operator takes -------------------------------------------------------------------------------------- */

/* In addition to the checks of import, which lets what is omitted stand anywhere. */
static bool check_omitted(struct node_checker *c, const struct op_choice *choice, const struct model_node *n)
{
    const struct op_param *const outputs = upgrade_params(choice, false);
    const size_t most = op_count_params(upgrade_params(choice, true));
    bool ok = true;
    if (op_param_at(upgrade_params(choice, true), most) == NULL && n->inputs.count > most)
        ok = diag_error(c->diag, &n->loc, "%s takes at most %zu input%s, the node lists %zu, omitted ones among them",
                        n->op_type, most, str_plural(most), n->inputs.count);
    for (size_t i = 0; i < n->outputs.count; i++) {
        const struct op_param *const p = op_param_at(outputs, i);
        if (n->outputs.data[i][0] == '\0' && p && !(p->flags & (PARAM_OPTIONAL | PARAM_VARIADIC)))
            ok = diag_error(c->diag, &n->loc, "output %zu (%s) of %s has no name: it cannot be omitted", i, p->name,
                            n->op_type);
    }
    return ok;
}

static bool is_imported(const struct node_checker *c, const struct model_node *n)
{
    return model_opset(c->opsets, n->domain) != 0 || (n->domain[0] == '\0' && c->model->ir_version < 3);
}

static bool report_not_imported(struct node_checker *c, const struct model_node *n)
{
    return diag_error(c->diag, &n->loc, "domain '%s' of %s is not imported: opset_import has no entry for it",
                      n->domain[0] != '\0' ? n->domain : "ai.onnx", n->op_type);
}

static bool check_operator(struct node_checker *c, const struct model_node *n)
{
    struct op_choice choice;
    if (import_called_function(&c->functions, n) != NULL)
        return is_imported(c, n) || report_not_imported(c, n);
    if (op_find(n->domain, n->op_type) == NULL) /* unsupported at most, unless ONNX has none of that name */
        return n->domain[0] != '\0' || onnx_names_has(n->op_type) ||
               diag_error(c->diag, &n->loc, "unknown operator %s in domain 'ai.onnx'", n->op_type);
    if (!is_imported(c, n))
        return report_not_imported(c, n);
    return upgrade_choose(c->diag, n, c->opsets, c->model->ir_version, &choice) &&
           upgrade_check_node(c->diag, &choice, n) && check_omitted(c, &choice, n);
}

/* ---- graphs ------------------------------------------------------------------------------------------------------ */

static bool check_list(struct node_checker *c, const model_nodes *nodes, struct names *names);

static bool check_inner(struct node_checker *c, const struct model_node *n, const struct model_graph *g,
                        const struct names *outer)
{
    struct names names = {{.arena = c->arena}, outer};
    bool ok = g->name[0] != '\0' || diag_error(c->diag, &n->loc, "a graph of the node has no name");
    vec_each(const struct model_value_info *, vi, &g->inputs)
        ok = define(c, &names, vi->name, "input", &n->loc) && ok;
    vec_each(const struct model_initializer *, x, &g->initializers)
        ok = (model_find_value(&g->inputs, x->name) || define(c, &names, x->name, "initializer", &n->loc)) && ok;
    vec_each(const struct model_sparse *, x, &g->sparse_initializers)
        ok = (model_find_value(&g->inputs, x->name) || define(c, &names, x->name, "initializer", &n->loc)) && ok;
    ok = check_list(c, &g->nodes, &names) && ok;
    vec_each(const struct model_value_info *, vi, &g->outputs)
        if (!is_visible(&names, vi->name))
            ok = diag_error(c->diag, &n->loc, "output '%s' of graph '%s' is not defined", vi->name, g->name);
    return ok;
}

static bool check_branches(struct node_checker *c, const struct model_node *n)
{
    const struct model_attr *const yes = model_find_attr(&n->attrs, "then_branch"),
                            *const no = model_find_attr(&n->attrs, "else_branch");
    if (n->domain[0] != '\0' || !str_equal(n->op_type, "If") || !yes || !yes->g || !no || !no->g ||
        yes->g->outputs.count == no->g->outputs.count)
        return true;
    return diag_error(c->diag, &n->loc, "then_branch has %zu outputs and else_branch %zu", yes->g->outputs.count,
                      no->g->outputs.count);
}

static bool check_list(struct node_checker *c, const model_nodes *nodes, struct names *names)
{
    bool ok = true;
    vec_each(const struct model_node *, n, nodes) {
        ok = check_reads(c, n, names) && ok;
        ok = check_operator(c, n) && ok;
        ok = check_branches(c, n) && ok;
        model_each_inner(n, g)
            ok = check_inner(c, n, g, names) && ok;
        vec_each(const char *, name, &n->outputs)
            ok = define(c, names, name, "output", &n->loc) && ok;
    }
    return ok;
}

static void add_graph_names(struct names *names, const struct model_graph *g)
{
    vec_each(const struct model_value_info *, vi, &g->inputs)
        map_set(&names->own, vi->name, NULL);
    vec_each(const struct model_initializer *, x, &g->initializers)
        map_set(&names->own, x->name, NULL);
    vec_each(const struct model_sparse *, x, &g->sparse_initializers)
        map_set(&names->own, x->name, NULL);
}

/* `names` has those of the main graph afterwards. An algorithm sees them, and may give them to values of its own. */
static bool check_graph(struct node_checker *c, const struct model_graph *g, struct names *names)
{
    if (!g)
        return true;
    add_graph_names(names, g);
    return check_list(c, &g->nodes, names);
}

static bool check_function(struct node_checker *c, const struct model_function *f)
{
    struct names names = {.own = {.arena = c->arena}};
    bool ok = true;
    c->opsets = &f->opsets;
    vec_each(const char *, name, &f->inputs)
        map_set(&names.own, name, NULL);
    ok = check_list(c, &f->nodes, &names);
    vec_each(const char *, name, &f->outputs)
        if (!map_has(&names.own, name))
            ok = diag_error(c->diag, &f->loc, "function '%s' does not define its output '%s'", f->name, name);
    return ok;
}

bool check_nodes(struct diag *d, const struct model *m)
{
    struct arena scratch = {0};
    struct node_checker c = {
        .diag = d, .arena = &scratch, .model = m, .functions.arena = &scratch, .opsets = &m->opsets};
    struct names names = {.own = {.arena = &scratch}};
    import_index_functions(&c.functions, m);
    bool ok = check_graph(&c, m->graph, &names);
    vec_each(const struct model_training *, t, &m->training) {
        struct names algorithm = {{.arena = &scratch}, NULL}, initialization = {{.arena = &scratch}, NULL};
        for (size_t i = 0; i < names.own.count; i++)
            map_set(&algorithm.own, names.own.entries[i].key, NULL);
        ok = check_graph(&c, t->initialization, &initialization) && ok;
        ok = check_graph(&c, t->algorithm, &algorithm) && ok;
    }
    vec_each(const struct model_function *, f, &m->functions)
        ok = check_function(&c, f) && ok;
    arena_free(&scratch);
    return ok;
}
