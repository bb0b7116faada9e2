/* Sizes that nobody has to say: an input whose size an exporter left open, though the weights beside it fit one only.
 * Keras does so in front of a Normalization layer. */
#include "graph/import_sizes.h"

#include "base/str.h"

/* An axis of a value. */
struct value_axis {
    const char *value;
    int rank, at;
};

static const struct tensor *constant_input(const struct model_graph *g, const struct model_node *n, size_t i)
{
    const struct model_initializer *const init =
        i < n->inputs.count && n->inputs.data[i][0] != '\0' ? model_find_initializer(g, n->inputs.data[i]) : NULL;
    return init ? init->tensor : NULL;
}

static int64_t int_attribute(const struct model_node *n, const char *name, int64_t fallback)
{
    vec_each(const struct model_attr *, a, &n->attrs)
        if (str_equal(a->name, name) && a->type == ATTR_INT)
            return a->i;
    return fallback;
}

static int64_t dim_of(const struct tensor *t, int axis)
{
    return axis >= 0 && axis < t->shape.rank ? t->shape.dim[axis] : -1;
}

/* What the weights of a layer fit, of the axis of input 0; -1: nothing is known. */
static int64_t size_of_layer(const struct model_graph *g, const struct model_node *n, const struct value_axis *x)
{
    const struct tensor *const w = constant_input(g, n, 1);
    if (!w)
        return -1;
    if (str_equal(n->op_type, "MatMul") && x->at == x->rank - 1 && w->shape.rank >= 2)
        return dim_of(w, w->shape.rank - 2);
    if (str_equal(n->op_type, "Gemm") && x->at == (int_attribute(n, "transA", 0) ? 0 : 1))
        return dim_of(w, int_attribute(n, "transB", 0) ? 1 : 0);
    if (str_equal(n->op_type, "Conv") && x->at == 1 && dim_of(w, 1) > 0 && dim_of(w, 1) < INT32_MAX) {
        const int64_t group = int_attribute(n, "group", 1);
        return group > 0 && group < INT32_MAX ? dim_of(w, 1) * group : -1;
    }
    if (str_equal(n->op_type, "BatchNormalization") && x->at == 1)
        return dim_of(w, 0);
    if (str_equal(n->op_type, "LSTM") || str_equal(n->op_type, "GRU") || str_equal(n->op_type, "RNN"))
        return x->at == 2 ? dim_of(w, 2) : -1;
    return -1;
}

/* One element for each place of the axis. */
static int64_t size_beside(const struct model_graph *g, const struct model_node *n, size_t input,
                           const struct value_axis *x)
{
    const bool arithmetic = str_equal(n->op_type, "Add") || str_equal(n->op_type, "Sub") ||
                            str_equal(n->op_type, "Mul") || str_equal(n->op_type, "Div");
    const struct tensor *const c = arithmetic && n->inputs.count == 2 ? constant_input(g, n, 1 - input) : NULL;
    const int64_t size = c ? dim_of(c, c->shape.rank - (x->rank - x->at)) : -1;
    return size > 1 ? size : -1;
}

static int64_t wanted_size(const struct model_graph *g, const struct value_axis *x)
{
    int64_t size = -1;
    vec_each(const struct model_node *, n, &g->nodes) {
        for (size_t i = 0; size < 0 && i < n->inputs.count && n->domain[0] == '\0'; i++) {
            if (!str_equal(n->inputs.data[i], x->value))
                continue;
            size = i == 0 ? size_of_layer(g, n, x) : -1;
            if (size < 0 && i < 2)
                size = size_beside(g, n, i, x);
        }
        if (size >= 0)
            break;
    }
    return size;
}

int64_t import_size_of_weights(const struct model_graph *g, const char *symbol)
{
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        for (size_t k = 0; symbol[0] != '\0' && vi->type.kind == TYPE_TENSOR && k < vi->type.dims.count; k++) {
            const struct model_dim *const dim = &vi->type.dims.data[k];
            if (dim->value >= 0 || !str_equal(dim->param, symbol))
                continue;
            const int64_t size = wanted_size(g, &(struct value_axis){vi->name, (int)vi->type.dims.count, (int)k});
            if (size > 0)
                return size;
        }
    }
    return -1;
}
