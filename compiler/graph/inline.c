#include "graph/inline.h"

#include "base/str.h"
#include "graph/import_internal.h"
#include "graph/upgrade.h"

#include <string.h>

/* What a name of a list of nodes is called where they go. */
enum naming {
    NAMES_STAY,
    NAMES_STAY_IF_FREE, /* else they get the prefix */
    NAMES_GET_PREFIX
};

/* A list of nodes on its way into the main graph. */
struct inline_source {
    enum naming naming;
    const char *prefix;
    const struct call *call; /* NULL: it is of no function */
    const model_opsets *opsets;
    const model_values *outputs; /* of a graph inside a node; NULL: it is none */
    struct map names; /* its own -> those in the main graph; "": an input that the caller omits */
    const struct inline_source
        *outer; /* whose names are seen from here too; NULL: for a function none, else the model's */
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void count_name(struct map *names, const char *name)
{
    if (name[0] != '\0')
        map_set(names, name, (void *)((uintptr_t)map_get(names, name) + 1));
}

/* Depth of nesting is bounded by the reader. */
static void count_names(struct map *names, const struct model_graph *g)
{
    vec_each(const struct model_value_info *, vi, &g->inputs)
        if (!model_find_initializer(g, vi->name))
            count_name(names, vi->name);
    vec_each(const struct model_initializer *, init, &g->initializers)
        count_name(names, init->name);
    vec_each(const struct model_sparse *, s, &g->sparse_initializers)
        count_name(names, s->name);
    vec_each(const struct model_node *, n, &g->nodes) {
        vec_each(const char *, name, &n->outputs)
            count_name(names, name);
        model_each_inner(n, inner)
            count_names(names, inner);
    }
}

const char *inline_fresh_name(struct inliner *x, const char *wish)
{
    const char *const name = take_fresh_name(&x->names, wish);
    count_name(&x->names, name);
    return name;
}

bool inline_is_single(const struct inliner *x, const char *name)
{
    return (uintptr_t)map_get(&x->names, name) == 1;
}

/* "fc.", and for another node with that label "fc_2." */
static const char *new_prefix(struct inliner *x, const struct inline_source *s, const struct model_node *n)
{
    const char *const text = arena_printf(x->arena, "%s%s", s->prefix, import_label(n));
    const uintptr_t before = (uintptr_t)map_get(&x->prefixes, text);
    map_set(&x->prefixes, text, (void *)(before + 1));
    return before == 0 ? arena_printf(x->arena, "%s.", text)
                       : arena_printf(x->arena, "%s_%zu.", text, (size_t)before + 1);
}

static const char *new_name(struct inliner *x, const struct inline_source *s, const char *name)
{
    if (s->naming == NAMES_STAY || (s->naming == NAMES_STAY_IF_FREE && inline_is_single(x, name)))
        return name;
    return inline_fresh_name(x, arena_printf(x->arena, "%s%s", s->prefix, name));
}

static void set_name(struct inline_source *s, const char *name, const char *to)
{
    map_set(&s->names, name, (void *)(uintptr_t)to);
}

static void own_name(struct inliner *x, struct inline_source *s, const char *name)
{
    if (name[0] != '\0' && !map_has(&s->names, name))
        set_name(s, name, new_name(x, s, name));
}

/* NULL: nothing is called so. */
static const char *name_of(const struct inline_source *s, const char *name)
{
    if (name[0] == '\0')
        return "";
    for (; s; s = s->outer) {
        const char *const to = map_get(&s->names, name);
        if (to)
            return to;
        if (!s->outer)
            return s->call ? NULL : name;
    }
    return NULL;
}

static bool rename_list(struct inliner *x, const struct inline_source *s, const str_list *from, str_list *to)
{
    memset(to, 0, sizeof *to);
    vec_each(const char *, name, from) {
        const char *const own = name_of(s, name);
        if (!own)
            return false;
        vec_push(x->arena, to, own);
    }
    return true;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

static bool inline_list(struct inliner *x, struct inline_source *s, const model_nodes *from, model_nodes *to);

#define COPY(x, p, T) ((T *)arena_copy((x)->arena, (p), sizeof(T), alignof(T)))

static bool copy_values(struct inliner *x, const struct inline_source *s, const model_values *from, model_values *to)
{
    memset(to, 0, sizeof *to);
    vec_each(const struct model_value_info *, vi, from) {
        const char *const name = name_of(s, vi->name);
        if (!name || name[0] == '\0')
            return false;
        struct model_value_info *const copy = COPY(x, vi, struct model_value_info);
        copy->name = name;
        vec_push(x->arena, to, copy);
    }
    return true;
}

static void copy_initializers(struct inliner *x, const struct inline_source *s, const struct model_graph *from,
                              struct model_graph *to)
{
    vec_each(const struct model_initializer *, init, &from->initializers) {
        struct model_initializer *const copy = COPY(x, init, struct model_initializer);
        copy->name = name_of(s, init->name);
        vec_push(x->arena, &to->initializers, copy);
    }
    vec_each(const struct model_sparse *, sparse, &from->sparse_initializers) {
        struct model_sparse *const copy = COPY(x, sparse, struct model_sparse);
        copy->name = name_of(s, sparse->name);
        vec_push(x->arena, &to->sparse_initializers, copy);
    }
}

static void own_initializers(struct inliner *x, struct inline_source *s, const struct model_graph *g)
{
    vec_each(const struct model_initializer *, init, &g->initializers)
        own_name(x, s, init->name);
    vec_each(const struct model_sparse *, sparse, &g->sparse_initializers)
        own_name(x, s, sparse->name);
}

/* What is declared of values that are there. */
static void copy_declared(struct inliner *x, const struct inline_source *s, const model_values *from, model_values *to)
{
    vec_each(const struct model_value_info *, vi, from) {
        if (!map_has(&s->names, vi->name))
            continue;
        struct model_value_info *const copy = COPY(x, vi, struct model_value_info);
        copy->name = name_of(s, vi->name);
        vec_push(x->arena, to, copy);
    }
}

/* A graph inside a node. NULL: something in it is not as it should be. */
static struct model_graph *copy_graph(struct inliner *x, const struct inline_source *outer, const struct model_graph *g)
{
    struct inline_source s = *outer;
    s.names = (struct map){.arena = x->arena};
    s.outputs = &g->outputs;
    s.outer = outer;
    struct model_graph *const copy = COPY(x, g, struct model_graph);
    memset(&copy->initializers, 0, sizeof copy->initializers);
    memset(&copy->sparse_initializers, 0, sizeof copy->sparse_initializers);
    memset(&copy->value_infos, 0, sizeof copy->value_infos);
    memset(&copy->nodes, 0, sizeof copy->nodes);
    vec_each(const struct model_value_info *, vi, &g->inputs)
        own_name(x, &s, vi->name);
    own_initializers(x, &s, g);
    copy_initializers(x, &s, g, copy);
    if (!copy_values(x, &s, &g->inputs, &copy->inputs) || !inline_list(x, &s, &g->nodes, &copy->nodes) ||
        !copy_values(x, &s, &g->outputs, &copy->outputs))
        return NULL;
    copy_declared(x, &s, &g->value_infos, &copy->value_infos);
    return copy;
}

/* Graphs of an attribute that the caller gave have the names of the main graph already. */
static bool copy_attr(struct inliner *x, const struct inline_source *s, struct model_attr *attr, struct model_node *to)
{
    const bool given = attr->ref[0] != '\0';
    if (given && s->call)
        attr = import_resolve_attr(x->arena, s->call, attr);
    if (!attr)
        return true;
    if (!given && (attr->type == ATTR_GRAPH || attr->type == ATTR_GRAPHS)) {
        const struct model_attr *const old = attr;
        attr = COPY(x, old, struct model_attr);
        memset(&attr->graphs, 0, sizeof attr->graphs);
        if (old->type == ATTR_GRAPH && old->g && !(attr->g = copy_graph(x, s, old->g)))
            return false;
        vec_each(const struct model_graph *, g, &old->graphs) {
            vec_push(x->arena, &attr->graphs, copy_graph(x, s, g));
            if (!attr->graphs.data[attr->graphs.count - 1])
                return false;
        }
    }
    vec_push(x->arena, &to->attrs, attr);
    return true;
}

/* NULL: something in it is not as it should be. */
static struct model_node *copy_node(struct inliner *x, const struct inline_source *s, const struct model_node *n)
{
    struct model_node *const copy = COPY(x, n, struct model_node);
    memset(&copy->attrs, 0, sizeof copy->attrs);
    if (!rename_list(x, s, &n->inputs, &copy->inputs) || !rename_list(x, s, &n->outputs, &copy->outputs))
        return NULL;
    if (n->name[0] != '\0' && s->prefix[0] != '\0' && s->naming != NAMES_STAY)
        copy->name = arena_printf(x->arena, "%s%s", s->prefix, n->name);
    copy->loc.node = copy->name;
    if (s->call && !copy->loc.origin)
        copy->loc.origin = arena_printf(x->arena, "function '%s' called by %s", s->call->function->name,
                                        import_node_text(x->arena, s->call->node));
    if (s->call && !copy->loc.trace && !copy->loc.scopes) {
        copy->loc.trace = s->call->node->loc.trace;
        copy->loc.scopes = s->call->node->loc.scopes;
    }
    vec_each(struct model_attr *, attr, &n->attrs)
        if (!copy_attr(x, s, attr, copy))
            return NULL;
    return copy;
}

static struct model_node *identity(struct inliner *x, const struct loc *at, const char *from, const char *to)
{
    struct model_graph holder = {.loc = *at};
    return model_add_node(x->arena, &holder, "", "Identity", (const char *[]){from, NULL},
                          (const char *[]){to, NULL});
}

/* ---- constants of functions -------------------------------------------------------------------------------------- */

struct tensor *inline_weight(const struct model_node *n)
{
    const struct model_attr *const value = n->domain[0] == '\0' && strcmp(n->op_type, "Constant") == 0
                                               ? model_find_attr(&n->attrs, "value")
                                               : NULL;
    const bool fits = value && value->type == ATTR_TENSOR && value->ref[0] == '\0' && value->t &&
                      dtype_is_float(value->t->dtype) && value->t->shape.rank > 0 && n->outputs.count == 1 &&
                      n->outputs.data[0][0] != '\0' && n->inputs.count == 0;
    return fits ? value->t : NULL;
}

static const char *key_of(struct inliner *x, const struct model_node *n)
{
    return arena_printf(x->arena, "%p", (const void *)n);
}

/* One for all calls: what is a weight is trained as one. */
static void share_constant(struct inliner *x, struct inline_source *s, const struct model_node *n)
{
    const char *const key = key_of(x, n), *name = map_get(&x->shared, key);
    if (!name) {
        struct model_node *const copy = COPY(x, n, struct model_node);
        name = inline_fresh_name(x, arena_printf(x->arena, "%s%s", s->prefix, n->outputs.data[0]));
        memset(&copy->outputs, 0, sizeof copy->outputs);
        vec_push(x->arena, &copy->outputs, name);
        copy->name = "";
        vec_push(x->arena, &x->first, copy);
        vec_push(x->arena, &x->constants, name);
        map_set(&x->shared, key, (void *)(uintptr_t)name);
    }
    set_name(s, n->outputs.data[0], name);
}

/* Results are not: each call gives them by its own name. */
static bool can_share(const struct inline_source *s, const struct model_node *n)
{
    return s->call && inline_weight(n) && !map_has(&s->names, n->outputs.data[0]) &&
           !(s->outputs && model_find_value(s->outputs, n->outputs.data[0]));
}

static bool is_shared(struct inliner *x, const struct inline_source *s, const struct model_node *n)
{
    const char *const name = s->call && inline_weight(n) ? map_get(&x->shared, key_of(x, n)) : NULL;
    return name && str_equal(name_of(s, n->outputs.data[0]), name);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static bool has_inner_graphs(const struct model_node *n)
{
    model_each_inner(n, inner)
        return inner != NULL;
    return false;
}

#define VERSIONS_DOMAIN "stepc.versions"

/* "" stays, all others become names of the function. */
static void formal_names(struct inliner *x, str_list *list, const char *letter, str_list *formal, str_list *actual)
{
    vec_each_ptr(const char *, name, list) {
        if ((*name)[0] == '\0')
            continue;
        vec_push(x->arena, actual, *name);
        *name = arena_printf(x->arena, "%s%zu", letter, actual->count);
        vec_push(x->arena, formal, *name);
    }
}

static const char *function_name(struct inliner *x, const char *op_type)
{
    const char *name;
    size_t number = x->functions.count;
    do
        name = arena_printf(x->arena, "%s_%zu", op_type, number++);
    while (map_has(&x->functions, import_function_key(x->arena, VERSIONS_DOMAIN, name, "")));
    return name;
}

/* A node of another opset than the model's, with the names of the main graph, becomes the only node of a function. */
static struct model_node *as_function(struct inliner *x, const struct inline_source *s, struct model_node *n)
{
    struct model *const m = x->model;
    if (has_inner_graphs(n))
        return NULL;
    struct model_function *const f = arena_new(x->arena, struct model_function);
    *f = (struct model_function){.domain = VERSIONS_DOMAIN, .overload = "", .doc = "", .loc = n->loc};
    f->name = function_name(x, n->op_type);
    vec_each_ptr(const struct model_opset, o, s->opsets)
        vec_push(x->arena, &f->opsets, *o);
    struct model_node *const call = COPY(x, n, struct model_node);
    *call = (struct model_node){.name = n->name, .op_type = f->name, .domain = f->domain, .overload = "", .doc = "",
                                .loc = n->loc};
    formal_names(x, &n->inputs, "x", &f->inputs, &call->inputs);
    formal_names(x, &n->outputs, "y", &f->outputs, &call->outputs);
    vec_push(x->arena, &f->nodes, n);
    vec_push(x->arena, &m->functions, f);
    map_set(&x->functions, import_function_key(x->arena, f->domain, f->name, ""), f);
    if (model_opset(&m->opsets, VERSIONS_DOMAIN) == 0)
        vec_push(x->arena, &m->opsets, ((struct model_opset){VERSIONS_DOMAIN, 1}));
    return call;
}

/* The node as the model's opsets have it. NULL: it cannot be. */
static struct model_node *in_opset_of_model(struct inliner *x, const struct inline_source *s, struct model_node *n)
{
    struct model *const m = x->model;
    const int64_t here = model_opset(s->opsets, n->domain), there = model_opset(&m->opsets, n->domain);
    if (s->opsets == &m->opsets)
        return n;
    if (here == 0)
        return NULL;
    if (there == 0)
        vec_push(x->arena, &m->opsets, ((struct model_opset){n->domain, here}));
    return there == 0 || upgrade_keeps_form(n, here, there) ? n : as_function(x, s, n);
}

/* ---- how much becomes of a call ---------------------------------------------------------------------------------- */

enum { MOST_MADE = 200000 }; /* nodes in all: networks have less, and each costs memory */

static int64_t nodes_of_list(struct inliner *x, const model_nodes *nodes, int depth);

/* All nodes of a call, those of nested ones too; more than MOST_MADE: too many, or it calls itself. */
static int64_t nodes_of_call(struct inliner *x, const struct model_function *f, int depth)
{
    const char *const key = import_function_key(x->arena, f->domain, f->name, f->overload);
    const uintptr_t known = (uintptr_t)map_get(&x->sizes, key);
    if (known > 0 || depth > IMPORT_DEEPEST_CALL)
        return known > 0 ? (int64_t)known - 1 : MOST_MADE + 1;
    map_set(&x->sizes, key, (void *)(uintptr_t)(MOST_MADE + 2)); /* for who calls it meanwhile: that is a circle */
    /* To bind each takes less than to make a node. */
    const int64_t names = (int64_t)(f->inputs.count + f->outputs.count) / 16;
    const int64_t count = nodes_of_list(x, &f->nodes, depth + 1) + names;
    map_set(&x->sizes, key, (void *)(uintptr_t)(count + 1));
    return count;
}

static int64_t nodes_of_list(struct inliner *x, const model_nodes *nodes, int depth)
{
    int64_t count = 0;
    vec_each(const struct model_node *, n, nodes) {
        const struct model_function *const f = import_called_function(&x->functions, n);
        count += f ? nodes_of_call(x, f, depth) : 1;
        model_each_inner(n, inner)
            count += nodes_of_list(x, &inner->nodes, depth);
        if (count > MOST_MADE)
            return MOST_MADE + 1;
    }
    return count;
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static bool is_own_attr(const struct model_function *f, const char *name)
{
    return str_starts_with(name, "__") || model_find_attr(&f->attribute_defaults, name) ||
           str_list_has(&f->attributes, name);
}

static bool can_inline(struct inliner *x, const struct inline_source *s, const struct model_function *f,
                       const struct model_node *n)
{
    vec_each(const struct model_attr *, attr, &n->attrs)
        if (!is_own_attr(f, attr->name))
            return false;
    return (s->call || nodes_of_call(x, f, 0) <= x->left) && n->inputs.count <= f->inputs.count &&
           n->outputs.count <= f->outputs.count;
}

static bool is_made(const struct model_function *f, const char *name)
{
    vec_each(const struct model_node *, n, &f->nodes)
        if (str_list_has(&n->outputs, name))
            return true;
    return false;
}

/* Formal names mean the actual operands, and those of results that a node makes what the caller calls them. */
static void bind_operands(const struct model_function *f, const struct model_node *n, struct inline_source *inner)
{
    for (size_t i = 0; i < f->inputs.count; i++)
        set_name(inner, f->inputs.data[i], i < n->inputs.count ? n->inputs.data[i] : "");
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i][0] != '\0' && !map_has(&inner->names, f->outputs.data[i]) &&
            is_made(f, f->outputs.data[i]))
            set_name(inner, f->outputs.data[i], n->outputs.data[i]);
}

/* n: the call, with the names of the main graph. label: its prefix. */
static bool inline_call(struct inliner *x, const struct inline_source *s, const struct model_function *f,
                        const struct model_node *n, const char *prefix, model_nodes *to)
{
    if (!can_inline(x, s, f, n))
        return false;
    if (!s->call)
        x->left -= nodes_of_call(x, f, 0);
    const struct call call = {f, n, s->call, s->call ? s->call->depth + 1 : 1};
    struct inline_source inner = {.naming = NAMES_GET_PREFIX,
                                  .prefix = prefix,
                                  .call = &call,
                                  .opsets = f->opsets.count > 0 ? &f->opsets : s->opsets,
                                  .names.arena = x->arena};
    bind_operands(f, n, &inner);
    model_nodes made = {0};
    if (!inline_list(x, &inner, &f->nodes, &made))
        return false;
    for (size_t i = 0; i < n->outputs.count; i++) {
        const char *const own = name_of(&inner, f->outputs.data[i]);
        if (!own || own[0] == '\0')
            return false;
        if (n->outputs.data[i][0] != '\0' && !str_equal(own, n->outputs.data[i]))
            vec_push(x->arena, &made, identity(x, &n->loc, own, n->outputs.data[i]));
    }
    vec_each(struct model_node *, node, &made)
        vec_push(x->arena, to, node);
    return true;
}

/* Nodes of the list go to `to`, with the names of the main graph. False: something in it is not as it should be; only
 * in functions, whose call then stays. */
static bool inline_list(struct inliner *x, struct inline_source *s, const model_nodes *from, model_nodes *to)
{
    vec_each(const struct model_node *, n, from)
        if (can_share(s, n))
            share_constant(x, s, n);
        else
            vec_each(const char *, name, &n->outputs)
                own_name(x, s, name);
    vec_each(const struct model_node *, n, from) {
        if (is_shared(x, s, n))
            continue;
        struct model_node *const copy = copy_node(x, s, n);
        const struct model_function *const f = import_called_function(&x->functions, n);
        if (!copy)
            return false;
        if (f && inline_call(x, s, f, copy, new_prefix(x, s, n), to)) {
            x->calls += !s->call;
            continue;
        }
        struct model_node *const own = f && s->call ? NULL : in_opset_of_model(x, s, copy);
        if (!own)
            return false;
        vec_push(x->arena, to, own);
        if (s->naming != NAMES_STAY && inline_weight(own))
            vec_push(x->arena, &x->constants, own->outputs.data[0]);
    }
    return true;
}

/* ---- functions that are left ------------------------------------------------------------------------------------- */

static void keep_called(const struct inliner *x, const model_nodes *nodes, struct map *kept)
{
    vec_each(const struct model_node *, n, nodes) {
        const struct model_function *const f = import_called_function(&x->functions, n);
        const char *const key = f ? import_function_key(x->arena, f->domain, f->name, f->overload) : "";
        if (f && !map_has(kept, key)) {
            map_set(kept, key, NULL);
            keep_called(x, &f->nodes, kept);
        }
        model_each_inner(n, inner)
            keep_called(x, &inner->nodes, kept);
    }
}

static bool is_domain_used(const model_nodes *nodes, const char *domain)
{
    vec_each(const struct model_node *, n, nodes) {
        if (str_equal(n->domain, domain))
            return true;
        model_each_inner(n, inner)
            if (is_domain_used(&inner->nodes, domain))
                return true;
    }
    return false;
}

/* Nothing but a function that is gone was of the domain. */
static void remove_import(struct model *m, const char *domain)
{
    bool used = model_domain(domain)[0] == '\0' || is_domain_used(&m->graph->nodes, domain);
    vec_each(const struct model_function *, f, &m->functions)
        used = used || str_equal(f->domain, domain) || is_domain_used(&f->nodes, domain);
    for (size_t i = m->opsets.count; i-- > 0 && !used;)
        if (str_equal(m->opsets.data[i].domain, domain))
            vec_remove(&m->opsets, i);
}

static void remove_functions(struct inliner *x)
{
    struct model *const m = x->model;
    struct map kept = {.arena = x->arena};
    str_list domains = {0};
    keep_called(x, &m->graph->nodes, &kept);
    vec_each(const struct model_training *, t, &m->training)
        for (int i = 0; i < 2; i++) {
            const struct model_graph *const g = i == 0 ? t->algorithm : t->initialization;
            if (g)
                keep_called(x, &g->nodes, &kept);
        }
    for (size_t i = m->functions.count; i-- > 0;) {
        const struct model_function *const f = m->functions.data[i];
        if (map_has(&kept, import_function_key(x->arena, f->domain, f->name, f->overload)))
            continue;
        str_list_add(x->arena, &domains, f->domain);
        vec_remove(&m->functions, i);
    }
    for (size_t i = 0; i < domains.count && m->training.count == 0; i++)
        remove_import(m, domains.data[i]);
}

/* ---- the main graph ---------------------------------------------------------------------------------------------- */

void inline_begin(struct inliner *x, struct arena *a, struct model *m)
{
    *x = (struct inliner){.arena = a, .model = m, .functions.arena = a, .names.arena = a, .prefixes.arena = a,
                          .shared.arena = a, .sizes.arena = a, .left = MOST_MADE};
    import_index_functions(&x->functions, m);
    count_names(&x->names, m->graph);
}

void inline_calls(struct inliner *x)
{
    struct model *const m = x->model;
    struct inline_source root = {.naming = NAMES_STAY, .prefix = "", .opsets = &m->opsets, .names.arena = x->arena};
    model_nodes nodes = {0};
    if (m->functions.count == 0 || !inline_list(x, &root, &m->graph->nodes, &nodes) || x->calls == 0)
        return;
    memset(&m->graph->nodes, 0, sizeof m->graph->nodes);
    vec_each(struct model_node *, n, &x->first)
        vec_push(x->arena, &m->graph->nodes, n);
    vec_each(struct model_node *, n, &nodes)
        vec_push(x->arena, &m->graph->nodes, n);
    remove_functions(x);
}

/* ---- branches ---------------------------------------------------------------------------------------------------- */

static bool is_if(const struct model_node *n)
{
    return n->domain[0] == '\0' && strcmp(n->op_type, "If") == 0 && n->inputs.count == 1;
}

static const struct model_graph *branch_of(const struct model_node *n, const char *which)
{
    const struct model_attr *const a = model_find_attr(&n->attrs, which);
    const struct model_graph *const g = a && a->type == ATTR_GRAPH ? a->g : NULL;
    return g && g->inputs.count == 0 && g->outputs.count >= n->outputs.count ? g : NULL;
}

/* What a node of the branch makes is called as the If calls it; what else the branch gives becomes an Identity. */
static void bind_results(struct inliner *x, struct inline_source *s, const struct model_graph *branch,
                         const struct model_node *n)
{
    vec_each(const struct model_node *, node, &branch->nodes)
        for (size_t i = 0; i < n->outputs.count; i++) {
            const char *const own = branch->outputs.data[i]->name;
            if (n->outputs.data[i][0] != '\0' && str_list_has(&node->outputs, own) && !map_has(&s->names, own))
                set_name(s, own, n->outputs.data[i]);
        }
    own_initializers(x, s, branch);
}

/* Its results and declarations go to g, its nodes to `to`. */
static bool inline_branch(struct inliner *x, struct model_graph *g, const struct model_node *n,
                          const struct model_graph *branch, model_nodes *to)
{
    const struct inline_source root = {.naming = NAMES_STAY, .prefix = "", .names.arena = x->arena};
    struct inline_source s = {.naming = NAMES_STAY_IF_FREE, .opsets = &x->model->opsets, .names.arena = x->arena,
                              .outer = &root};
    model_nodes made = {0};
    s.prefix = new_prefix(x, &root, n);
    bind_results(x, &s, branch, n);
    if (!inline_list(x, &s, &branch->nodes, &made))
        return false;
    copy_initializers(x, &s, branch, g);
    copy_declared(x, &s, &branch->value_infos, &g->value_infos);
    vec_each(struct model_node *, node, &made)
        vec_push(x->arena, to, node);
    for (size_t i = 0; i < n->outputs.count; i++) {
        const char *const own = name_of(&s, branch->outputs.data[i]->name);
        if (n->outputs.data[i][0] != '\0' && !str_equal(own, n->outputs.data[i]))
            vec_push(x->arena, to, identity(x, &n->loc, own, n->outputs.data[i]));
    }
    return true;
}

size_t inline_branches(struct inliner *x, struct model_graph *g, inline_choice *choose, void *with)
{
    const model_nodes old = g->nodes;
    size_t count = 0;
    memset(&g->nodes, 0, sizeof g->nodes);
    vec_each(struct model_node *, n, &old) {
        const char *const which = is_if(n) ? choose(with, n) : NULL;
        const struct model_graph *const branch = which ? branch_of(n, which) : NULL;
        if (branch && inline_branch(x, g, n, branch, &g->nodes)) {
            count++;
            continue;
        }
        vec_push(x->arena, &g->nodes, n);
        model_each_inner(n, inner)
            count += inline_branches(x, inner, choose, with);
    }
    return count;
}
