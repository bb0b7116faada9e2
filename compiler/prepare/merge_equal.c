/* Are two parts of models the same? Names of nodes, documentation and metadata do not count. */
#include "prepare/merge_internal.h"

#include <string.h>

static bool same_names(const str_list *a, const str_list *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (!str_equal(a->data[i], b->data[i]))
            return false;
    return a->count == b->count;
}

static bool same_bytes(const struct model_bytes *a, const struct model_bytes *b)
{
    return a->size == b->size && (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static bool same_dim(const struct model_dim *a, const struct model_dim *b)
{
    return a->value == b->value && (a->value >= 0 || str_equal(a->param, b->param));
}

bool merge_same_type(const struct model_type *a, const struct model_type *b)
{
    if (a->kind != b->kind || a->elem != b->elem || a->has_shape != b->has_shape || a->dims.count != b->dims.count ||
        (a->element != NULL) != (b->element != NULL))
        return false;
    for (size_t i = 0; i < a->dims.count; i++)
        if (!same_dim(&a->dims.data[i], &b->dims.data[i]))
            return false;
    return !a->element || merge_same_type(a->element, b->element);
}

bool merge_same_sparse(const struct model_sparse *a, const struct model_sparse *b)
{
    return shape_equal(&a->dims, &b->dims) && tensor_identical(a->values, b->values) &&
           tensor_identical(a->indices, b->indices);
}

static bool same_graph(const struct model_graph *a, const struct model_graph *b);

/* Floats by their bits: NaN is itself. */
static bool same_floats(const float *a, const float *b, size_t count)
{
    return count == 0 || memcmp(a, b, count * sizeof *a) == 0;
}

static bool same_lists(const struct model_attr *a, const struct model_attr *b)
{
    if (a->ints.count != b->ints.count || a->strings.count != b->strings.count ||
        a->tensors.count != b->tensors.count || a->graphs.count != b->graphs.count)
        return false;
    for (size_t i = 0; i < a->ints.count; i++)
        if (a->ints.data[i] != b->ints.data[i])
            return false;
    for (size_t i = 0; i < a->strings.count; i++)
        if (!same_bytes(&a->strings.data[i], &b->strings.data[i]))
            return false;
    for (size_t i = 0; i < a->tensors.count; i++)
        if (!tensor_identical(a->tensors.data[i], b->tensors.data[i]))
            return false;
    for (size_t i = 0; i < a->graphs.count; i++)
        if (!same_graph(a->graphs.data[i], b->graphs.data[i]))
            return false;
    return a->floats.count == b->floats.count && same_floats(a->floats.data, b->floats.data, a->floats.count);
}

/* Attributes of other kinds, which are rare, count as different: then the node is there twice. */
static bool same_value(const struct model_attr *a, const struct model_attr *b)
{
    switch (a->type) {
    case ATTR_FLOAT:
        return same_floats(&a->f, &b->f, 1);
    case ATTR_INT:
        return a->i == b->i;
    case ATTR_STRING:
        return same_bytes(&a->s, &b->s);
    case ATTR_TENSOR:
        return tensor_identical(a->t, b->t);
    case ATTR_GRAPH:
        return same_graph(a->g, b->g);
    case ATTR_FLOATS:
    case ATTR_INTS:
    case ATTR_STRINGS:
    case ATTR_TENSORS:
    case ATTR_GRAPHS:
        return same_lists(a, b);
    default:
        return false;
    }
}

static bool same_attrs(const model_attrs *a, const model_attrs *b)
{
    if (a->count != b->count)
        return false;
    vec_each (const struct model_attr *, x, a) {
        const struct model_attr *const y = model_find_attr(b, x->name);
        if (!y || x->type != y->type || !str_equal(x->ref, y->ref) || (x->ref[0] == '\0' && !same_value(x, y)))
            return false;
    }
    return true;
}

bool merge_same_node(const struct model_node *a, const struct model_node *b)
{
    return str_equal(a->op_type, b->op_type) && str_equal(a->domain, b->domain) &&
           str_equal(a->overload, b->overload) && a->outputs.count == b->outputs.count &&
           same_names(&a->inputs, &b->inputs) && same_attrs(&a->attrs, &b->attrs);
}

static bool same_nodes(const model_nodes *a, const model_nodes *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (!merge_same_node(a->data[i], b->data[i]) || !same_names(&a->data[i]->outputs, &b->data[i]->outputs))
            return false;
    return a->count == b->count;
}

static bool same_values(const model_values *a, const model_values *b)
{
    for (size_t i = 0; a->count == b->count && i < a->count; i++)
        if (!str_equal(a->data[i]->name, b->data[i]->name) || !merge_same_type(&a->data[i]->type, &b->data[i]->type))
            return false;
    return a->count == b->count;
}

static bool same_graph(const struct model_graph *a, const struct model_graph *b)
{
    if (a->initializers.count != b->initializers.count || a->sparse_initializers.count > 0 ||
        b->sparse_initializers.count > 0)
        return false;
    vec_each (const struct model_initializer *, x, &a->initializers) {
        const struct model_initializer *const y = model_find_initializer(b, x->name);
        if (!y || !tensor_identical(x->tensor, y->tensor))
            return false;
    }
    return same_values(&a->inputs, &b->inputs) && same_values(&a->outputs, &b->outputs) &&
           same_nodes(&a->nodes, &b->nodes);
}

bool merge_same_function(const struct model_function *a, const struct model_function *b)
{
    if (a->opsets.count != b->opsets.count)
        return false;
    vec_each_ptr (const struct model_opset, x, &a->opsets)
        if (model_opset(&b->opsets, x->domain) != x->version)
            return false;
    return same_names(&a->inputs, &b->inputs) && same_names(&a->outputs, &b->outputs) &&
           same_names(&a->attributes, &b->attributes) && same_attrs(&a->attribute_defaults, &b->attribute_defaults) &&
           same_nodes(&a->nodes, &b->nodes);
}
