#include "cmd/run_rates.h"

#include "base/str.h"
#include "engine/pipeline.h"

#include <string.h>

static void add_initializers(struct arena *a, const struct model_graph *from, const struct map *values,
                             const struct map *needed, struct model_graph *to)
{
    vec_each(const struct model_initializer *, x, &from->initializers) {
        const struct tensor *const now = map_get(values, x->name);
        if (map_has(needed, x->name))
            model_add_initializer(a, to, x->name, now ? tensor_cast(a, now, now->dtype) : x->tensor);
    }
}

/* A model of the nodes of the algorithm behind which its rates stand: its outputs. */
static struct model *rates_alone(struct arena *a, const struct model *m, const struct model_graph *algorithm,
                                 const struct map *values)
{
    struct model *const out = arena_copy(a, m, sizeof *m, alignof(struct model));
    struct map needed = {.arena = a};
    model_nodes nodes = {0};
    out->graph = model_graph_new(a, "rates");
    out->training.count = 0;
    for (size_t i = algorithm->nodes.count; i-- > 0;) {
        struct model_node *const n = algorithm->nodes.data[i];
        bool wanted = false;
        vec_each(const char *, y, &n->outputs) {
            wanted = wanted || str_starts_with(y, "scheduled_rate") || map_has(&needed, y);
            if (str_starts_with(y, "scheduled_rate"))
                model_add_value(a, out->graph, 1, y, DTYPE_UNDEFINED, NULL, 0);
        }
        vec_each(const char *, x, &n->inputs)
            if (wanted && x[0] != '\0')
                map_set(&needed, x, NULL);
        if (wanted)
            vec_push(a, &nodes, n);
    }
    while (nodes.count > 0)
        vec_push(a, &out->graph->nodes, nodes.data[--nodes.count]);
    add_initializers(a, m->graph, values, &needed, out->graph);
    add_initializers(a, algorithm, values, &needed, out->graph);
    return out->graph->outputs.count > 0 ? out : NULL;
}

void run_rates_add(struct arena *a, const struct model *m, struct map *values)
{
    vec_each(const struct model_training *, t, &m->training) {
        const struct model *const alone = t->algorithm ? rates_alone(a, m, t->algorithm, values) : NULL;
        struct diag trial = {.arena = a};
        struct program *p;
        if (!alone || !pipeline_canonical(&trial, a, alone, &(struct pipeline_options){.name = "rates"}, &p))
            continue; /* made by others, of whatever */
        vec_each_ptr(const struct entry, e, &p->entries)
            vec_each_ptr(const struct graph_output, y, &e->graph->outputs)
                if (y->value->constant && !map_has(values, y->name))
                    map_set(values, y->name, (void *)(uintptr_t)y->value->constant);
    }
}
