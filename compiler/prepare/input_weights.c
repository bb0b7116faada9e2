#include "prepare/input_weights.h"

#include "foreign/checkpoint.h"
#include "model/weights.h"
#include <string.h>

/* torch.export calls the input of "fc1.weight" p_fc1_weight, that of a buffer b_..., of a constant c_... */
static bool is_traced_as(const char *input, const char *tensor)
{
    if (input[0] != '\0' && strchr("pbc", input[0]) && input[1] == '_')
        input += 2;
    for (; *input && *tensor; input++, tensor++)
        if (*input != *tensor && !(*input == '_' && *tensor == '.'))
            return false;
    return *input == *tensor;
}

/* By its name, or by what a tracer makes of it, if that is one tensor's. */
static const struct named_tensor *find_tensor(const named_tensors *file, const char *input)
{
    const struct named_tensor *found = NULL;
    size_t count = 0;
    vec_each_ptr(const struct named_tensor, t, file) {
        if (str_equal(t->name, input))
            return t;
        if (is_traced_as(input, t->name)) {
            found = t;
            count++;
        }
    }
    return count == 1 ? found : NULL;
}

/* As declared; what is left open is as in the file. */
static struct shape wanted_shape(const struct model_type *t, const struct shape *in_file)
{
    struct shape s = *in_file;
    if (!t->has_shape)
        return s;
    const bool agrees = t->dims.count == (size_t)in_file->rank;
    s.rank = (int)t->dims.count;
    for (int k = 0; k < s.rank; k++)
        s.dim[k] = t->dims.data[k].value >= 0 ? t->dims.data[k].value : agrees ? in_file->dim[k] : 1;
    return s;
}

static bool can_be_weight(const struct model_graph *g, const struct model_value_info *vi)
{
    return vi->type.kind == TYPE_TENSOR && vi->type.elem != DTYPE_UNDEFINED && vi->type.elem != DTYPE_STRING &&
           !model_find_initializer(g, vi->name);
}

/* They have values now, so the graph does not ask for them. */
static void take_over(struct edit *e, const struct model_graph *weights)
{
    enum { FREE_INITIALIZERS_IR = 4 };
    struct model_graph *const g = e->model->graph;
    vec_each(struct model_initializer *, x, &weights->initializers)
        vec_push(e->arena, &g->initializers, x);
    for (size_t i = g->inputs.count; i-- > 0;)
        if (e->model->ir_version >= FREE_INITIALIZERS_IR && model_find_initializer(weights, g->inputs.data[i]->name))
            vec_remove(&g->inputs, i);
}

bool weigh_inputs(struct edit *e, const char *path)
{
    enum { MOST_NAMED = 8 };
    struct model_graph *const g = e->model->graph;
    struct model weights = {.file = e->model->file, .graph = model_graph_new(e->arena, g->name)};
    struct checkpoint c;
    named_tensors used = {0};
    str_list names = {0};
    struct strbuf report = {.arena = e->arena, .clean = true};
    if (!checkpoint_read(e->diag, e->arena, path, e->model, &c))
        return false;
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        const struct named_tensor *const t = can_be_weight(g, vi) ? find_tensor(&c.weights, vi->name) : NULL;
        int64_t count;
        if (!t)
            continue;
        const struct shape s = wanted_shape(&vi->type, &t->tensor->shape);
        if (!shape_count_checked(&s, &count) || count > t->tensor->count)
            return diag_error(e->diag, &vi->loc, "--weights-from %s: input '%s' has shape %s, but the tensor has %s",
                              path, vi->name, shape_text(e->arena, &s), shape_text(e->arena, &t->tensor->shape));
        model_add_initializer(e->arena, weights.graph, vi->name, tensor_new(e->arena, vi->type.elem, &s));
        weights.graph->initializers.data[names.count]->loc = vi->loc;
        vec_push(e->arena, &used, ((struct named_tensor){vi->name, t->tensor}));
        vec_push(e->arena, &names, vi->name);
    }
    if (names.count == 0)
        return diag_error(e->diag, &e->loc, "--weights-from %s: none of its %zu tensors has the name of an input", path,
                          c.weights.count);
    if (!weights_set(e->diag, e->arena, &weights, path, &used, &(struct weight_options){0}, &report))
        return false;
    take_over(e, weights.graph);
    edit_changed(e, "weights in the place of inputs");
    edit_say(e, "%zu input%s become%s weights of %s: %s", names.count, str_plural(names.count),
             names.count == 1 ? "s" : "", path, names_text(e->arena, &names, MOST_NAMED));
    return true;
}
