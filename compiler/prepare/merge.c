/* The union of two main graphs; the frame of merging. merge.h has the rules. */
#include "prepare/merge.h"

#include "base/file.h"
#include "graph/bounded.h"
#include "prepare/edit.h"
#include "prepare/merge_internal.h"
#include "prepare/rename.h"
#include "prepare/strip.h"

#include <math.h>
#include <string.h>

/* ---- what may not differ ----------------------------------------------------------------------------------------- */

static bool fail(const struct merger *m, const struct loc *at, const char *what, const char *why)
{
    return diag_error(m->diag, at, "%s %s, compared with %s", what, why, m->into->file);
}

static bool merge_opsets(struct merger *m)
{
    bool ok = true;
    vec_each_ptr (const struct model_opset, x, &m->from->opsets) {
        const int64_t own = model_opset(&m->into->opsets, x->domain);
        if (own == 0)
            vec_push(m->arena, &m->into->opsets, *x);
        else if (own != x->version)
            ok = diag_error(m->diag, &LOC_FILE(m->from->file), "it imports %s %lld, and %s imports %lld",
                            x->domain[0] != '\0' ? x->domain : "ai.onnx", (long long)x->version, m->into->file,
                            (long long)own);
    }
    if (m->from->ir_version > m->into->ir_version)
        m->into->ir_version = m->from->ir_version;
    return ok;
}

static bool merge_functions(struct merger *m)
{
    bool ok = true;
    vec_each (struct model_function *, f, &m->from->functions) {
        const struct model_function *own = NULL;
        vec_each (const struct model_function *, x, &m->into->functions)
            if (str_equal(x->name, f->name) && str_equal(x->domain, f->domain) && str_equal(x->overload, f->overload))
                own = x;
        if (!own)
            vec_push(m->arena, &m->into->functions, f);
        else if (!merge_same_function(own, f))
            ok = fail(m, &f->loc, arena_printf(m->arena, "function '%s'", f->name), "differs") && ok;
    }
    return ok;
}

/* A configuration that both have is one. */
static bool merge_configurations(struct merger *m)
{
    bool ok = true;
    vec_each_ptr(const struct model_devices, x, &m->from->configurations) {
        const struct model_devices *own = NULL;
        vec_each_ptr(const struct model_devices, y, &m->into->configurations)
            if (str_equal(x->name, y->name))
                own = y;
        if (!own)
            vec_push(m->arena, &m->into->configurations, *x);
        else if (own->count != x->count)
            ok = diag_error(m->diag, &LOC_FILE(m->from->file),
                            "device configuration '%s' has %d devices, that of %s %d", x->name, (int)x->count,
                            m->into->file, (int)own->count);
    }
    return ok;
}

/* ---- names of the main graph ------------------------------------------------------------------------------------- */

static void add_name(struct merger *m, const char *name)
{
    map_set(&m->main_names, name, NULL);
    map_set(&m->added, name, NULL);
}

static bool add_input(struct merger *m, struct model_value_info *vi)
{
    const struct model_value_info *const own = model_find_value(&m->into->graph->inputs, vi->name);
    const char *const what = arena_printf(m->arena, "input '%s'", vi->name);
    if (own)
        return merge_same_type(&own->type, &vi->type) || fail(m, &vi->loc, what, "has another type or shape");
    if (map_has(&m->main_names, vi->name) && !model_find_initializer(m->into->graph, vi->name))
        return fail(m, &vi->loc, what, "is no input there");
    add_name(m, vi->name);
    vec_push(m->arena, &m->into->graph->inputs, vi);
    return true;
}

static bool differ(double x, double y)
{
    return x != y && !(isnan(x) && isnan(y));
}

static const char *difference(struct arena *a, const struct tensor *x, const struct tensor *y)
{
    if (x->dtype != y->dtype || !shape_equal(&x->shape, &y->shape))
        return arena_printf(a, "is %s%s, not %s%s", dtype_name(y->dtype), shape_text(a, &y->shape),
                            dtype_name(x->dtype), shape_text(a, &x->shape));
    for (int64_t i = 0; x->dtype != DTYPE_STRING && i < x->count; i++)
        if (differ(tensor_get_double(x, i), tensor_get_double(y, i)))
            return arena_printf(a, "differs: element %lld is %g, not %g", (long long)i, tensor_get_double(y, i),
                                tensor_get_double(x, i));
    return "differs";
}

/* `into` may list as an input what is an initializer of `from`, and the other way round: then there is a value for it.
 */
static bool add_initializer(struct merger *m, struct model_initializer *x)
{
    struct model_graph *const g = m->into->graph;
    const struct model_initializer *const own = model_find_initializer(g, x->name);
    const char *const what = arena_printf(m->arena, "initializer '%s'", x->name);
    if (own)
        return tensor_identical(own->tensor, x->tensor) ||
               fail(m, &x->loc, what, difference(m->arena, own->tensor, x->tensor));
    if (map_has(&m->main_names, x->name) && !map_has(&m->added, x->name))
        return fail(m, &x->loc, what, "is no initializer there");
    add_name(m, x->name);
    vec_push(m->arena, &g->initializers, x);
    return true;
}

static bool add_sparse(struct merger *m, struct model_sparse *x)
{
    struct model_graph *const g = m->into->graph;
    const char *const what = arena_printf(m->arena, "sparse initializer '%s'", x->name);
    vec_each (const struct model_sparse *, own, &g->sparse_initializers)
        if (str_equal(own->name, x->name))
            return merge_same_sparse(own, x) || fail(m, &x->loc, what, "differs");
    if (map_has(&m->main_names, x->name))
        return fail(m, &x->loc, what, "is none there");
    add_name(m, x->name);
    vec_push(m->arena, &g->sparse_initializers, x);
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

/* The node of `into` whose results have the names of n's and that is the same; NULL: there is none. */
static const struct model_node *find_same(const struct merger *m, const struct model_node *n)
{
    const struct model_node *found = NULL;
    for (size_t i = 0; i < n->outputs.count; i++) {
        const char *const name = n->outputs.data[i];
        const struct model_node *const own = name[0] != '\0' ? map_get(&m->producers, name) : NULL;
        if (name[0] != '\0' && (!own || (found && own != found)))
            return NULL;
        found = own ? own : found;
    }
    if (!found || !merge_same_node(found, n))
        return NULL;
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i][0] != '\0' && !str_equal(found->outputs.data[i], n->outputs.data[i]))
            return NULL;
    return found;
}

/* Names inside of a node's graphs are free in the merged graph, too: a value may not be called like one outside. Other
 * nodes may have the same names inside. */
static void free_inner_names(struct merger *m, const struct model_node *n)
{
    struct map inner_names = {.arena = m->arena}, fresh_names = {.arena = m->arena};
    model_each_inner(n, inner) collect_names(&inner_names, inner);
    for (size_t i = 0; i < inner_names.count; i++) {
        const char *const name = inner_names.entries[i].key;
        if (!map_has(&m->main_names, name)) {
            add_name(m, name);
            continue;
        }
        const char *const fresh = take_fresh_name(&m->taken, arena_printf(m->arena, "%s.%s", m->title, name));
        add_name(m, fresh);
        map_set(&fresh_names, name, (void *)(uintptr_t)fresh);
    }
    model_each_inner(n, inner) rename_in_graph(inner, &fresh_names);
}

static void add_node(struct merger *m, struct model_node *n)
{
    rename_in_node(n, &m->renamed);
    if (find_same(m, n))
        return;
    free_inner_names(m, n);
    vec_each (const char *, name, &n->outputs) {
        if (name[0] == '\0')
            continue;
        const char *own = name;
        if (map_has(&m->main_names, name)) {
            own = take_fresh_name(&m->taken, arena_printf(m->arena, "%s.%s", m->title, name));
            strbuf_addf(m->report, "'%s' of %s is computed in another way: '%s'\n", name, m->from->file, own);
            map_set(&m->renamed, name, (void *)(uintptr_t)own);
        }
        add_name(m, own);
        map_set(&m->producers, own, n);
    }
    rename_in_node(n, &m->renamed);
    vec_push(m->arena, &m->into->graph->nodes, n);
}

static void add_values(struct merger *m, model_values *to, const model_values *from)
{
    vec_each (struct model_value_info *, vi, from) {
        const char *const name = map_get(&m->renamed, vi->name);
        if (name)
            vi->name = name;
        if (!model_find_value(to, vi->name))
            vec_push(m->arena, to, vi);
    }
}

static bool merge_main_graphs(struct merger *m)
{
    struct model_graph *const g = m->into->graph, *const other = m->from->graph;
    bool ok = true;
    collect_names(&m->main_names, g);
    vec_each (struct model_node *, n, &g->nodes)
        vec_each (const char *, name, &n->outputs)
            map_set(&m->producers, name, n);
    vec_each (struct model_value_info *, vi, &other->inputs)
        ok = add_input(m, vi) && ok;
    vec_each (struct model_initializer *, x, &other->initializers)
        ok = add_initializer(m, x) && ok;
    vec_each (struct model_sparse *, x, &other->sparse_initializers)
        ok = add_sparse(m, x) && ok;
    if (!ok)
        return false;
    vec_each (struct model_node *, n, &other->nodes)
        add_node(m, n);
    add_values(m, &g->outputs, &other->outputs);
    add_values(m, &g->value_infos, &other->value_infos);
    return true;
}

/* Does a node of the first model, or a result of one, have this name? */
static bool is_of_first(const struct merger *m, const char *name)
{
    for (size_t i = 0; i < m->producers.count; i++) {
        const struct model_node *const n = m->producers.entries[i].value;
        if (!map_has(&m->added, m->producers.entries[i].key) &&
            (str_equal(m->producers.entries[i].key, name) || str_equal(n->name, name)))
            return true;
    }
    return false;
}

/* Of one name there can be one: of a node, or of a result as it is called now. */
static bool merge_bounds(struct merger *m)
{
    const struct map *const own = bounded_options(m->arena, m->into, NULL),
                     *const other = bounded_options(m->arena, m->from, NULL);
    struct map renamed = {.arena = m->arena};
    for (size_t i = 0; other && i < other->count; i++) {
        const struct bound_option *const x = other->entries[i].value;
        const char *const now = map_get(&m->renamed, other->entries[i].key),
                   *const name = now ? now : other->entries[i].key;
        const struct bound_option *const y = own ? map_get(own, name) : NULL;
        if (y && x->most != y->most)
            return diag_error(m->diag, &LOC_FILE(m->from->file),
                              "it was prepared with --bound %s=%lld, and %s with %lld", name,
                              (long long)x->most, m->into->file, (long long)y->most);
        if (!y && is_of_first(m, name))
            return diag_error(m->diag, &LOC_FILE(m->from->file),
                              "it was prepared with --bound %s=%lld, and %s, which has a node or tensor of that name, "
                              "without", name, (long long)x->most, m->into->file);
        map_set(&renamed, name, other->entries[i].value);
    }
    bounded_remember(m->arena, m->into, &renamed);
    return true;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static void take_names(struct merger *m, const struct model *from)
{
    collect_names(&m->taken, from->graph);
    vec_each (const struct model_training *, t, &from->training)
        if (t->algorithm)
            collect_names(&m->taken, t->algorithm);
}

static void note_interface(struct arena *a, const struct model_graph *g, str_list *inputs, str_list *outputs)
{
    vec_each (const struct model_value_info *, vi, &g->inputs)
        vec_push(a, inputs, vi->name);
    vec_each (const struct model_value_info *, vi, &g->outputs)
        vec_push(a, outputs, vi->name);
}

bool merge_models(struct diag *d, struct arena *a, struct model *into, struct model *from, struct strbuf *report)
{
    struct merger m = {.diag = d,
                       .arena = a,
                       .into = into,
                       .from = from,
                       .report = report,
                       .title = path_stem(a, from->file),
                       .main_names.arena = a,
                       .taken.arena = a,
                       .added.arena = a,
                       .producers.arena = a,
                       .renamed.arena = a};
    note_interface(a, into->graph, &m.inputs[0], &m.outputs[0]);
    note_interface(a, from->graph, &m.inputs[1], &m.outputs[1]);
    take_names(&m, into);
    take_names(&m, from);
    bool ok = merge_opsets(&m);
    ok = merge_functions(&m) && ok;
    ok = merge_configurations(&m) && ok;
    ok = merge_main_graphs(&m) && ok;
    if (!ok || !merge_bounds(&m) || !merge_entries(&m))
        return false;
    strip_merge_notes(a, into, from);
    model_add_files(a, into, from);
    return true;
}
