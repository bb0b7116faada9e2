/* Sizes of a model that is compiled are those of a call, for one device's share of the samples. Annotations speak of
 * the samples of all devices: the model with as many times the batch. */
#include "devices/judge_internal.h"

#include "base/checked.h"
#include <string.h>

struct search {
    struct arena *arena;
    const struct model *model;
    const struct model_graph *algorithm; /* at hand, or NULL */
    const struct model_devices *of;
    struct whole_batch *found;
};

/* The first axis of an input, where the sharding has it in parts. */
static const struct model_value_info *split_input(const struct search *s, const struct model_sharding *x)
{
    const struct model_value_info *vi = model_find_value(&s->model->graph->inputs, x->tensor);
    if (!vi && s->algorithm)
        vi = model_find_value(&s->algorithm->inputs, x->tensor);
    if (!vi || vi->type.kind != TYPE_TENSOR || vi->type.dims.count == 0)
        return NULL;
    vec_each_ptr(const struct model_sharded_axis, axis, &x->axes)
        if (axis->axis == 0 || axis->axis == -(int64_t)vi->type.dims.count)
            vec_each_ptr(const struct model_shards, part, &axis->shards)
                if (part->count > 1)
                    return vi;
    return NULL;
}

static void note_inputs(void *to, const struct model_node *n)
{
    const struct search *const s = to;
    vec_each_ptr(const struct model_node_devices, entry, &n->devices)
        if (str_equal(entry->configuration, s->of->name))
            vec_each_ptr(const struct model_sharding, x, &entry->shardings) {
                const struct model_value_info *const vi = split_input(s, x);
                if (!vi)
                    continue;
                map_set(&s->found->inputs, vi->name, NULL);
                if (vi->type.dims.data[0].value < 0)
                    map_set(&s->found->symbols, vi->type.dims.data[0].param, NULL);
                else if (!s->found->fixed) {
                    s->found->fixed = vi;
                    s->found->reader = n;
                }
            }
}

/* "batch", and "step:batch" for one entry. */
static bool is_symbol(const struct whole_batch *b, const char *key)
{
    const char *const colon = strchr(key, ':');
    return map_has(&b->symbols, colon ? colon + 1 : key);
}

static bool times(const struct model_devices *x, int64_t size, int64_t *out)
{
    return checked_mul(size, x->count, out);
}

static bool scale_dims(struct arena *a, const struct model_devices *x, struct whole_batch *b, const struct map *dims)
{
    for (size_t i = 0; dims && i < dims->count; i++) {
        int64_t *const size = arena_new(a, int64_t);
        *size = *(const int64_t *)dims->entries[i].value;
        if (is_symbol(b, dims->entries[i].key) && !times(x, *size, size))
            return false;
        map_set(&b->dims, dims->entries[i].key, size);
    }
    return true;
}

static bool scale_shapes(struct arena *a, const struct model_devices *x, struct whole_batch *b,
                         const struct map *shapes)
{
    for (size_t i = 0; shapes && i < shapes->count; i++) {
        struct shape *const shape = arena_new(a, struct shape);
        *shape = *(const struct shape *)shapes->entries[i].value;
        if (map_has(&b->inputs, shapes->entries[i].key) && shape->rank > 0 && !times(x, shape->dim[0], &shape->dim[0]))
            return false;
        map_set(&b->shapes, shapes->entries[i].key, shape);
    }
    return true;
}

bool find_whole_batch(struct arena *a, const struct model *m, const struct model_devices *x,
                      const struct import_options *import, struct whole_batch *out)
{
    struct search s = {a, m, NULL, x, out};
    *out = (struct whole_batch){.symbols.arena = a, .inputs.arena = a, .dims.arena = a, .shapes.arena = a};
    out->import = *import;
    model_each_node(m->graph, note_inputs, &s);
    vec_each(const struct model_training *, t, &m->training) {
        s.algorithm = t->algorithm;
        model_each_node(t->algorithm, note_inputs, &s);
    }
    if (!scale_dims(a, x, out, import->dims) || !scale_shapes(a, x, out, import->shapes))
        return false;
    out->import.dims = &out->dims;
    out->import.shapes = &out->shapes;
    return true;
}
