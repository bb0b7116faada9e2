#include "prepare/edit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void take_name(struct map *names, const char *name)
{
    if (name[0] != '\0')
        map_set(names, name, NULL);
}

void collect_own_names(struct map *names, const struct model_graph *g)
{
    vec_each(const struct model_value_info *, vi, &g->inputs)
        take_name(names, vi->name);
    vec_each(const struct model_initializer *, x, &g->initializers)
        take_name(names, x->name);
    vec_each(const struct model_sparse *, x, &g->sparse_initializers)
        take_name(names, x->name);
    vec_each(const struct model_node *, n, &g->nodes)
        vec_each(const char *, name, &n->outputs)
            take_name(names, name);
}

void collect_names(struct map *names, const struct model_graph *g)
{
    collect_own_names(names, g);
    vec_each(const struct model_node *, n, &g->nodes)
        model_each_inner(n, inner)
            collect_names(names, inner);
}

void edit_begin(struct edit *e, struct diag *d, struct arena *a, struct model *m, struct strbuf *report)
{
    *e = (struct edit){.diag = d,
                       .arena = a,
                       .model = m,
                       .report = report,
                       .names.arena = a,
                       .inner_constants.arena = a,
                       .loc = LOC_FILE(m->file)};
    collect_names(&e->names, m->graph);
}

void edit_say(struct edit *e, const char *fmt, ...)
{
    va_list args;
    if (!e->report)
        return;
    va_start(args, fmt);
    strbuf_addv(e->report, fmt, args);
    va_end(args);
    strbuf_add(e->report, "\n");
}

void edit_changed(struct edit *e, const char *what)
{
    str_list_add(e->arena, &e->changes, what);
}

const char *edit_fresh_name(struct edit *e, const char *wish)
{
    return take_fresh_name(&e->names, wish);
}

void rename_names(str_list *names, const char *old, const char *name)
{
    vec_each_ptr(const char *, x, names)
        if (str_equal(*x, old))
            *x = name;
}

void rename_values(model_values *values, const char *old, const char *name)
{
    vec_each(struct model_value_info *, v, values)
        if (str_equal(v->name, old))
            v->name = name;
}

/* Nesting is bounded by the reader. */
bool is_read_within(const struct model_graph *g, const char *name)
{
    if (!g)
        return false;
    if (model_find_value(&g->outputs, name))
        return true;
    vec_each(const struct model_node *, n, &g->nodes) {
        if (str_list_has(&n->inputs, name))
            return true;
        model_each_inner(n, inner)
            if (is_read_within(inner, name))
                return true;
    }
    return false;
}

void rename_reads_within(struct model_graph *g, const char *old, const char *name)
{
    vec_each(struct model_node *, n, &g->nodes) {
        rename_names(&n->inputs, old, name);
        vec_each_ptr(struct model_node_devices, x, &n->devices)
            vec_each_ptr(struct model_sharding, s, &x->shardings)
                if (str_equal(s->tensor, old))
                    s->tensor = name;
        model_each_inner(n, inner)
            rename_reads_within(inner, old, name);
    }
    rename_values(&g->outputs, old, name);
}

void edit_remove_initializer(struct edit *e, const char *name)
{
    struct model_graph *const g = e->model->graph;
    for (size_t i = g->initializers.count; i-- > 0;)
        if (str_equal(g->initializers.data[i]->name, name))
            vec_remove(&g->initializers, i);
    for (size_t i = g->inputs.count; i-- > 0;)
        if (str_equal(g->inputs.data[i]->name, name))
            vec_remove(&g->inputs, i);
}

const char *initializer_suggestion(struct arena *a, const struct model_graph *g, const char *name)
{
    str_list names = {0};
    vec_each(const struct model_initializer *, x, &g->initializers)
        vec_push(a, &names, x->name);
    return str_suggestion(a, name, names.data, names.count);
}

struct model_node *edit_insert_node(struct edit *e, size_t at, const char *op, const char *a, const char *b,
                                    const char *output)
{
    struct model_graph *const g = e->model->graph;
    struct model_node *const n =
        model_add_node(e->arena, g, "", op, (const char *[]){a, b, NULL}, (const char *[]){output, NULL});
    n->loc.file = e->model->file;
    memmove(&g->nodes.data[at + 1], &g->nodes.data[at], (g->nodes.count - 1 - at) * sizeof g->nodes.data[0]);
    g->nodes.data[at] = n;
    return n;
}

bool edit_is_output(const struct edit *e, const char *name)
{
    return model_find_value(&e->model->graph->outputs, name) != NULL;
}

/* "view_3", "val_12", "lifted_tensor_0": what a tracer calls the results of its operations. */
static bool is_traced_name(const char *name)
{
    static const char *const ops[] = {"val", "view", "reshape", "transpose", "permute", "expand", "slice", "unsqueeze",
                                      "squeeze", "cat", "add", "sub", "mul", "div", "neg", "arange", "full", "ones",
                                      "zeros", "triu", "tril", "clone", "select", "_to_copy", "lifted_tensor",
                                      "c_lifted_tensor", "scalar_tensor", "scalar_tensor_default"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const size_t length = strlen(ops[i]);
        if (strncmp(name, ops[i], length) == 0 && name[length] == '_' && name[length + 1] != '\0' &&
            strspn(name + length + 1, "0123456789") == strlen(name + length + 1))
            return true;
    }
    return false;
}

/* "zeros", "full_like_2": tensors that the network makes while it runs, with no name but that of the operation. The
 * first one has no number. */
bool is_traced_creation(const char *name)
{
    static const char *const ops[] = {"zeros", "ones", "full", "arange", "eye", "linspace", "scalar_tensor", "empty",
                                      "zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        const size_t length = strlen(ops[i]);
        if (strncmp(name, ops[i], length) != 0)
            continue;
        const char *const rest = name + length;
        const size_t digits = rest[0] == '_' ? strspn(rest + 1, "0123456789") : 0;
        if (rest[0] == '\0' || (digits > 0 && rest[1 + digits] == '\0'))
            return true;
    }
    return false;
}

/* "const_fold_opt__12", "new_shape__7": tf2onnx */
static bool is_numbered_by_tf2onnx(const char *name)
{
    const char *const at = strstr(name, "__");
    return at && at[2] != '\0' && strspn(at + 2, "0123456789") == strlen(at + 2);
}

bool is_tensorflow_constant(const char *name)
{
    const char *const last = strrchr(name, '/');
    return last && (last[1] == 'x' || last[1] == 'y') && last[2] == ':' &&
           strspn(last + 3, "0123456789") == strlen(last + 3);
}

bool is_anonymous(const char *name)
{
    return str_starts_with(name, "onnx::") || name[0] == '/' ||
           (name[0] != '\0' && strspn(name, "0123456789") == strlen(name)) || is_traced_name(name) ||
           is_numbered_by_tf2onnx(name) || is_tensorflow_constant(name);
}

const char *names_text(struct arena *a, const str_list *names, size_t most)
{
    struct strbuf b = {.arena = a};
    for (size_t i = 0; i < names->count && i < most; i++)
        strbuf_addf(&b, "%s'%s'", i == 0 ? "" : i + 1 == names->count ? " and " : ", ", names->data[i]);
    if (names->count > most)
        strbuf_addf(&b, " and %zu more", names->count - most);
    return strbuf_text(&b);
}
