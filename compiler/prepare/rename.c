#include "prepare/rename.h"

#include "prepare/prepare_internal.h"
#include <string.h>

const char *renamed(const struct map *to, const char *name)
{
    const char *const own = map_get(to, name);
    return own ? own : name;
}

void rename_in_list(str_list *names, const struct map *to)
{
    vec_each_ptr(const char *, x, names)
        *x = renamed(to, *x);
}

static void rename_infos(model_values *values, const struct map *to)
{
    vec_each(struct model_value_info *, vi, values)
        vi->name = renamed(to, vi->name);
}

static void rename_bytes(struct model_bytes *s, const struct map *to)
{
    const char *const name = s->data ? map_get(to, s->data) : NULL;
    if (name)
        *s = (struct model_bytes){name, strlen(name)};
}

static void rename_attributes(struct model_node *n, const struct map *to)
{
    if (!str_equal(n->op_type, "Gradient") || !str_equal(n->domain, PREVIEW_TRAINING))
        return;
    vec_each(struct model_attr *, x, &n->attrs) {
        if (x->type == ATTR_STRING)
            rename_bytes(&x->s, to);
        for (size_t i = 0; x->type == ATTR_STRINGS && i < x->strings.count; i++)
            rename_bytes(&x->strings.data[i], to);
    }
}

void rename_in_node(struct model_node *n, const struct map *to)
{
    rename_in_list(&n->inputs, to);
    rename_in_list(&n->outputs, to);
    vec_each_ptr(struct model_node_devices, x, &n->devices)
        vec_each_ptr(struct model_sharding, s, &x->shardings)
            s->tensor = renamed(to, s->tensor);
    rename_attributes(n, to);
    model_each_inner(n, inner)
        rename_in_graph(inner, to);
}

/* Nesting is bounded by the reader. */
void rename_in_graph(struct model_graph *g, const struct map *to)
{
    rename_infos(&g->inputs, to);
    rename_infos(&g->outputs, to);
    rename_infos(&g->value_infos, to);
    vec_each(struct model_initializer *, x, &g->initializers)
        x->name = renamed(to, x->name);
    vec_each(struct model_sparse *, x, &g->sparse_initializers)
        x->name = renamed(to, x->name);
    vec_each(struct model_quantization *, q, &g->quantization) {
        q->tensor_name = renamed(to, q->tensor_name);
        vec_each_ptr(struct model_pair, x, &q->parameters) /* "SCALE_TENSOR": a name */
            x->value = renamed(to, x->value);
    }
    vec_each(struct model_node *, n, &g->nodes)
        rename_in_node(n, to);
}
