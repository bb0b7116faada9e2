/* scikit-learn's exporter leaves the batch without a name, Paddle's writes -1, others "?" or "None", which would be one
 * size for all of them. TensorFlow's numbers them, so that the batches of two inputs have two names. */
#include "prepare/open_sizes.h"

#include "prepare/batch_axis.h"
#include <string.h>

/* ---- names that say nothing -------------------------------------------------------------------------------------- */

static bool is_number(const char *text)
{
    return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

/* Of what is called so, nothing is known. */
static bool says_nothing(const char *symbol)
{
    static const char *const texts[] = {"", "?", "-1", "None", "none", "unknown", "dynamic"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (str_equal(symbol, texts[i]))
            return true;
    return false;
}

/* "unk__6" (tf2onnx), "DynamicDimension.0" (Paddle2ONNX), "x_dynamic_axes_1" (PyTorch, axes without names): a size that
 * somebody has numbered. */
static bool is_numbered(const char *symbol)
{
    static const char *const marks[] = {"unk__", "DynamicDimension.", "_dynamic_axes_"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *const at = strstr(symbol, marks[i]);
        if (at && is_number(at + strlen(marks[i])))
            return true;
    }
    return false;
}

/* ---- naming ------------------------------------------------------------------------------------------------------ */

struct namer {
    struct arena *arena;
    struct model *model;
    const struct import_options *options;
    const str_list *shaped;
};

/* "infer:batch" uses "batch", too. */
static bool is_used(const struct namer *n, const char *symbol)
{
    const struct map *const dims = n->options->dims;
    for (size_t i = 0; dims && i < dims->count; i++) {
        const char *const key = dims->entries[i].key, *const colon = strchr(key, ':');
        if (str_equal(key, symbol) || (colon && str_equal(colon + 1, symbol)))
            return true;
    }
    return false;
}

static bool is_open(const struct namer *n, const struct model_dim *dim)
{
    return dim->value < 0 && says_nothing(dim->param) && (dim->param[0] == '\0' || !is_used(n, dim->param));
}

static bool is_argument(const struct namer *n, const struct model_graph *g, const struct model_value_info *vi)
{
    return vi->type.kind == TYPE_TENSOR && !model_find_initializer(g, vi->name) && !str_list_has(n->shaped, vi->name);
}

static bool has_open_size(const struct namer *n, const struct model_graph *g)
{
    vec_each(const struct model_value_info *, vi, &g->inputs)
        vec_each_ptr(const struct model_dim, dim, &vi->type.dims)
            if (is_argument(n, g, vi) &&
                (is_open(n, dim) || (dim->value < 0 && is_numbered(dim->param) && !is_used(n, dim->param))))
                return true;
    return false;
}

/* Every open size gets the name of its place. */
static void name_by_place(const struct namer *n, struct model_graph *g)
{
    vec_each(struct model_value_info *, vi, &g->inputs)
        for (size_t k = 0; is_argument(n, g, vi) && k < vi->type.dims.count; k++)
            if (is_open(n, &vi->type.dims.data[k]))
                vi->type.dims.data[k].param = arena_printf(n->arena, "%s[%zu]", vi->name, k);
}

static void rename_in(const model_values *values, const char *old, const char *name)
{
    vec_each(struct model_value_info *, vi, values)
        vec_each_ptr(struct model_dim, dim, &vi->type.dims)
            if (dim->value < 0 && str_equal(dim->param, old))
                dim->param = name;
}

static void rename_symbol(const struct namer *n, const char *old, const char *name)
{
    const struct model *const m = n->model;
    rename_in(&m->graph->inputs, old, name);
    rename_in(&m->graph->outputs, old, name);
    rename_in(&m->graph->value_infos, old, name);
    vec_each(const struct model_training *, t, &m->training)
        if (t->algorithm) {
            rename_in(&t->algorithm->inputs, old, name);
            rename_in(&t->algorithm->outputs, old, name);
        }
}

/* The place of the batch, or NULL: the input has none, or its size is known. */
static const struct model_dim *batch_of(const struct batch_axes *axes, const struct model_value_info *vi)
{
    const int axis = batch_axis_of(axes, vi->name);
    return axis >= 0 && (size_t)axis < vi->type.dims.count && vi->type.dims.data[axis].value < 0
               ? &vi->type.dims.data[axis]
               : NULL;
}

static bool is_made(const char *symbol, const struct model_value_info *vi)
{
    const size_t length = strlen(vi->name);
    return is_numbered(symbol) || (strncmp(symbol, vi->name, length) == 0 && symbol[length] == '[');
}

/* What the first input calls it; else "batch", if nothing else has that name. */
static const char *batch_name(const struct namer *n, const struct batch_axes *axes)
{
    const struct model_graph *const g = n->model->graph;
    struct map names = {.arena = n->arena};
    bool first = true;
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        const struct model_dim *const batch = batch_of(axes, vi);
        if (!is_argument(n, g, vi))
            continue;
        if (first && batch && !is_made(batch->param, vi))
            return batch->param;
        first = false;
        vec_each_ptr(const struct model_dim, dim, &vi->type.dims)
            if (dim->value < 0 && dim != batch)
                map_set(&names, dim->param, NULL);
    }
    return take_fresh_name(&names, OPEN_BATCH);
}

static void name_batches(const struct namer *n, const struct model_graph *g, const struct batch_axes *axes,
                         const char *name)
{
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        const struct model_dim *const batch = is_argument(n, g, vi) ? batch_of(axes, vi) : NULL;
        if (batch && is_made(batch->param, vi) && !is_used(n, batch->param))
            rename_symbol(n, batch->param, name);
    }
}

/* A name for all sizes of the outputs is none. */
static void blank_names(const struct namer *n, const model_values *values)
{
    vec_each(struct model_value_info *, vi, values)
        vec_each_ptr(struct model_dim, dim, &vi->type.dims)
            if (is_open(n, dim))
                dim->param = "";
}

void name_open_sizes(struct arena *a, struct model *m, const struct import_options *o, const str_list *shaped)
{
    const struct namer n = {a, m, o, shaped};
    blank_names(&n, &m->graph->outputs);
    blank_names(&n, &m->graph->value_infos);
    struct batch_axes axes, of_algorithm = {.arena = a, .of_inputs.arena = a};
    bool open = has_open_size(&n, m->graph);
    vec_each(const struct model_training *, t, &m->training)
        open = open || (t->algorithm && has_open_size(&n, t->algorithm));
    if (!open)
        return;
    name_by_place(&n, m->graph);
    find_batch_axes(a, m, o, &axes);
    const char *const name = batch_name(&n, &axes);
    name_batches(&n, m->graph, &axes, name);
    vec_each(const struct model_training *, t, &m->training)
        if (t->algorithm) {
            name_by_place(&n, t->algorithm);
            name_batches(&n, t->algorithm, &of_algorithm, name);
        }
}
