#include "prepare/fix_sizes.h"

#include "base/map.h"
#include "graph/dim_expression.h"

#include <string.h>

struct known_sizes {
    struct arena *arena;
    const struct import_options *options;
    struct map known; /* symbol -> const int64_t * */
};

static struct size known_size(const void *context, const char *symbol)
{
    const int64_t *const size = map_get(context, symbol);
    return size_constant(size ? *size : -1);
}

static bool has_entries(const struct known_sizes *s, const char *symbol)
{
    const struct map *const dims = s->options->dims;
    for (size_t i = 0; i < dims->count; i++) {
        const char *const colon = strchr(dims->entries[i].key, ':');
        if (colon && str_equal(colon + 1, symbol))
            return true;
    }
    return false;
}

static void add_dims(struct known_sizes *s)
{
    const struct map *const dims = s->options->dims;
    for (size_t i = 0; dims && i < dims->count; i++)
        if (!strchr(dims->entries[i].key, ':') && !has_entries(s, dims->entries[i].key))
            map_set(&s->known, dims->entries[i].key, dims->entries[i].value);
}

/* What --shape says of the symbols of an input. */
static void add_shapes(struct known_sizes *s, const struct model_graph *g)
{
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        const struct shape *const given = s->options->shapes ? map_get(s->options->shapes, vi->name) : NULL;
        if (!given || !vi->type.has_shape || vi->type.dims.count != (size_t)given->rank)
            continue;
        for (int k = 0; k < given->rank; k++) {
            const struct model_dim *const dim = &vi->type.dims.data[k];
            if (dim->value < 0 && dim->param[0] != '\0' && !dim_is_expression(dim->param) &&
                !map_has(&s->known, dim->param))
                map_set(&s->known, dim->param,
                        arena_copy(s->arena, &given->dim[k], sizeof(int64_t), alignof(int64_t)));
        }
    }
}

static void fix_type(const struct known_sizes *s, struct model_type *t)
{
    if (t->element)
        fix_type(s, t->element);
    vec_each_ptr(struct model_dim, dim, &t->dims) {
        if (dim->value >= 0 || dim->param[0] == '\0')
            continue;
        const int64_t *const given = map_get(&s->known, dim->param);
        const int64_t size = given                          ? *given
                             : dim_is_expression(dim->param) ? dim_expression_size(s->arena, dim->param, known_size,
                                                                                   &s->known).most
                                                             : -1;
        if (size >= 0)
            *dim = (struct model_dim){.value = size, .param = "", .denotation = dim->denotation};
    }
}

static void fix_graph(const struct known_sizes *s, struct model_graph *g)
{
    if (!g)
        return;
    const model_values *const lists[] = {&g->inputs, &g->outputs, &g->value_infos};
    for (size_t i = 0; i < 3; i++)
        vec_each(struct model_value_info *, vi, lists[i])
            fix_type(s, &vi->type);
    vec_each(struct model_node *, n, &g->nodes)
        vec_each(const struct model_attr *, attr, &n->attrs) {
            fix_graph(s, attr->g);
            vec_each(struct model_graph *, inner, &attr->graphs)
                fix_graph(s, inner);
        }
}

const struct import_options *fix_sizes(struct arena *a, struct model *m, const struct import_options *o)
{
    struct known_sizes s = {.arena = a, .options = o, .known.arena = a};
    struct import_options *const out = arena_copy(a, o, sizeof *o, alignof(struct import_options));
    struct map *const dims = arena_new(a, struct map);
    add_dims(&s);
    add_shapes(&s, m->graph);
    *dims = s.known;
    out->dims = dims;
    if (s.known.count == 0)
        return out;
    fix_graph(&s, m->graph);
    vec_each(const struct model_training *, t, &m->training) {
        fix_graph(&s, t->algorithm);
        fix_graph(&s, t->initialization);
    }
    return out;
}
