/* Sizes of a model that is compiled are those of a call, for one device's share of the samples. Annotations speak of
 * the samples of all devices: the model with as many times the batch. */
#include "devices/judge_internal.h"

#include "base/checked.h"
#include <string.h>

struct batch_search {
    struct arena *arena;
    const struct model *model;
    const struct model_graph *algorithm; /* at hand, or NULL */
    const struct model_devices *of;
    struct whole_batch *found;
};

/* The axis of an input that the sharding has in parts, the first one of several; NULL: none, or it is no input. */
static const struct model_value_info *split_input(const struct batch_search *s, const struct model_sharding *x,
                                                  int *axis)
{
    const struct model_value_info *vi = model_find_value(&s->model->graph->inputs, x->tensor);
    if (!vi && s->algorithm)
        vi = model_find_value(&s->algorithm->inputs, x->tensor);
    if (!vi || vi->type.kind != TYPE_TENSOR)
        return NULL;
    vec_each_ptr(const struct model_sharded_axis, own, &x->axes)
        vec_each_ptr(const struct model_shards, part, &own->shards)
            if (part->count > 1 && shape_axis((int)vi->type.dims.count, own->axis, axis))
                return vi;
    return NULL;
}

static void note_inputs(void *to, const struct model_node *n)
{
    const struct batch_search *const s = to;
    vec_each_ptr(const struct model_node_devices, entry, &n->devices)
        if (str_equal(entry->configuration, s->of->name))
            vec_each_ptr(const struct model_sharding, x, &entry->shardings) {
                int axis;
                const struct model_value_info *const vi = split_input(s, x, &axis);
                if (!vi)
                    continue;
                const struct model_dim *const dim = &vi->type.dims.data[axis];
                map_set(&s->found->inputs, vi->name, arena_copy(s->arena, &axis, sizeof axis, alignof(int)));
                if (dim->value < 0)
                    map_set(&s->found->symbols, dim->param, NULL);
                else if (!s->found->fixed) {
                    s->found->fixed = vi;
                    s->found->fixed_size = dim->value;
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
        const int *const axis = map_get(&b->inputs, shapes->entries[i].key);
        if (axis && *axis < shape->rank && !times(x, shape->dim[*axis], &shape->dim[*axis]))
            return false;
        map_set(&b->shapes, shapes->entries[i].key, shape);
    }
    return true;
}

bool find_whole_batch(struct arena *a, const struct model *m, const struct model_devices *x,
                      const struct import_options *import, struct whole_batch *out)
{
    struct batch_search s = {a, m, NULL, x, out};
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
