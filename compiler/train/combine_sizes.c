/* Symbols of the model that no input has: exporters give one to every size of an output that they cannot compute. Where
 * an algorithm's input has it (the target of a loss), shape inference of the main graph says what it is. */
#include "train/combine_internal.h"

#include "base/str.h"
#include <string.h>

static bool has_symbol(const struct model_graph *g, const char *symbol)
{
    for (size_t i = 0; g && i < g->inputs.count; i++)
        if (model_type_has(&g->inputs.data[i]->type, symbol))
            return true;
    return false;
}

/* Is it a symbol that only outputs and values within the main graph have? */
static bool is_made_up(const struct model *m, const struct model_dim *dim)
{
    return dim->value < 0 && dim->param[0] != '\0' && !has_symbol(m->graph, dim->param);
}

typedef VEC(const struct model_value_info *) info_list;

/* What declares such symbols. */
static void find_declarations(struct arena *a, const struct model *m, info_list *out)
{
    const model_values *const lists[] = {&m->graph->outputs, &m->graph->value_infos};
    for (int i = 0; i < 2; i++)
        vec_each(const struct model_value_info *, vi, lists[i]) {
            bool made_up = false;
            for (size_t k = 0; vi->type.kind == TYPE_TENSOR && k < vi->type.dims.count; k++)
                made_up = made_up || is_made_up(m, &vi->type.dims.data[k]);
            if (made_up)
                vec_push(a, out, vi);
        }
}

static bool is_wanted(const struct combiner *c, const info_list *declarations)
{
    vec_each(const struct model_value_info *, vi, declarations)
        vec_each_ptr(const struct model_dim, dim, &vi->type.dims) {
            if (!is_made_up(c->model, dim))
                continue;
            if (c->options->dims && map_has(c->options->dims, dim->param))
                return true;
            vec_each(const struct model_training *, t, &c->model->training)
                if (has_symbol(t->algorithm, dim->param))
                    return true;
        }
    return false;
}

/* --dim as a training entry has it: 'step:batch' goes before 'batch', and is no size of each call. */
static void dims_of_step(const struct import_options *o, struct map *out, struct map *pers)
{
    for (int own = 0; own < 2; own++)
        for (size_t i = 0; o->dims && i < o->dims->count; i++) {
            const struct map_entry *const e = &o->dims->entries[i];
            if (own && !str_starts_with(e->key, "step:"))
                continue;
            const char *const symbol = own ? e->key + strlen("step:") : e->key;
            map_set(out, symbol, e->value);
            if (own)
                map_set(pers, symbol, arena_new(pers->arena, int64_t)); /* a constant: 0 */
        }
}

static bool check_given(struct combiner *c, const struct model_value_info *vi, size_t k, int64_t given, int64_t size)
{
    return given == size ||
           diag_error(c->diag, &vi->loc, "--dim %s=%lld: it is dimension %zu of '%s', which has size %lld",
                      vi->type.dims.data[k].param, (long long)given, k, vi->name, (long long)size);
}

bool combine_infer_sizes(struct combiner *c)
{
    info_list declarations = {0};
    struct diag *const trial = arena_new(c->arena, struct diag);
    struct import_options options = *c->options;
    struct map *const dims = arena_new(c->arena, struct map), *const pers = arena_new(c->arena, struct map),
               plain = {.arena = c->arena}, plain_pers = {.arena = c->arena};
    struct program *p;
    bool ok = true;
    find_declarations(c->arena, c->model, &declarations);
    if (c->model->training.count == 0 || (c->only && str_equal(c->only, "infer")) || !is_wanted(c, &declarations))
        return true;
    trial->arena = dims->arena = pers->arena = c->arena;
    dims_of_step(c->options, &plain, &plain_pers);
    options.dims = &plain;
    options.pers = &plain_pers;
    /* What the main graph lacks is said alone: the sizes of a target follow from it. */
    if (!combine_program(trial, c->arena, c->model, &options, "sizes", "infer", &p))
        return (c->only && str_equal(c->only, "init")) ||
               combine_program(c->diag, c->arena, c->model, &options, "sizes", "infer", &p);
    for (size_t i = 0; c->options->dims && i < c->options->dims->count; i++)
        map_set(dims, c->options->dims->entries[i].key, c->options->dims->entries[i].value);
    const struct graph *const g = program_entry(p, "infer")->graph;
    vec_each(const struct model_value_info *, vi, &declarations) {
        const struct value *const v = graph_find(g, vi->name);
        for (size_t k = 0; v && k < vi->type.dims.count && vi->type.dims.count == (size_t)v->shape.rank; k++) {
            const char *const symbol = vi->type.dims.data[k].param;
            if (!is_made_up(c->model, &vi->type.dims.data[k]))
                continue;
            const int64_t *const given = map_get(&plain, symbol);
            if (given)
                ok = check_given(c, vi, k, *given, v->shape.dim[k]) && ok;
            if (map_has(dims, symbol))
                continue;
            map_set(dims, symbol, arena_copy(c->arena, &v->shape.dim[k], sizeof(int64_t), alignof(int64_t)));
            map_set(pers, symbol, arena_copy(c->arena, &v->shape.per[k], sizeof(int64_t), alignof(int64_t)));
        }
    }
    c->own_options = options;
    c->own_options.dims = dims;
    c->own_options.pers = pers;
    c->options = &c->own_options;
    return ok;
}
