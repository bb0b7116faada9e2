/* Streams of random numbers: each random node of the model has a number, by its place among all of them. */
#include "graph/import_internal.h"

#include <stdio.h>

/* ---- random streams ---------------------------------------------------------------------------------------------- */

bool import_is_random(const struct model_node *mn)
{
    const struct op_def *const def = op_find(mn->domain, mn->op_type);
    return def != NULL && def->is_random;
}

/* A graph inside a node counts once, however often a loop runs it. */
static uint32_t count_inner(const struct map *functions, const struct model_graph *main_graph,
                            const struct model_node *mn, int depth, size_t *budget)
{
    uint32_t random = 0;
    vec_each(const struct model_attr *, x, &mn->attrs)
        if (x->type == ATTR_GRAPH && x->g != NULL)
            random += import_count_random(functions, main_graph, &x->g->nodes, depth, budget);
    return random;
}

uint32_t import_count_random(const struct map *functions, const struct model_graph *main_graph,
                             const model_nodes *nodes, int depth, size_t *budget)
{
    uint32_t random = 0;
    vec_each(const struct model_node *, n, nodes) {
        const struct model_function *const f = import_called_function(functions, n);
        if (f == NULL && !import_is_graph_call(n)) {
            random += import_is_random(n) + count_inner(functions, main_graph, n, depth, budget);
            continue;
        }
        const model_nodes *const body = f != NULL ? &f->nodes : &main_graph->nodes;
        if (depth >= IMPORT_DEEPEST_CALL || *budget < body->count)
            continue;
        *budget -= body->count;
        random += import_count_random(functions, main_graph, body, depth + 1, budget);
    }
    return random;
}

uint32_t import_first_stream(const struct map *functions, const struct model *m, const struct model_graph *until)
{
    uint32_t streams = 0;
    const size_t trainings = m->training.count;
    for (size_t i = 0; i < 1 + 2 * trainings; i++) {
        const struct model_graph *mg = m->graph;
        if (i > 0)
            mg = i <= trainings ? m->training.data[i - 1]->algorithm
                                : m->training.data[i - 1 - trainings]->initialization;
        if (mg == NULL)
            continue;
        if (mg == until)
            break;
        size_t budget = IMPORT_MOST_INLINED;
        streams += import_count_random(functions, m->graph, &mg->nodes, 0, &budget);
    }
    return streams;
}

uint32_t import_random_streams(const struct model *m)
{
    struct arena scratch = {0};
    struct map functions = {.arena = &scratch};
    import_index_functions(&functions, m);
    const uint32_t streams = import_first_stream(&functions, m, NULL);
    arena_free(&scratch);
    return streams;
}

/* Remembered: an If in a loop asks in every iteration. */
uint32_t import_count_inner_random(struct importer *im, const struct model_graph *g)
{
    struct arena *const a = im->g->arena;
    char key[32];
    snprintf(key, sizeof key, "%p", (const void *)g);
    uint32_t *count = map_get(&im->inner_random, key);
    if (count == NULL) {
        size_t budget = IMPORT_MOST_INLINED;
        count = arena_new(a, uint32_t);
        *count = import_count_random(&im->functions, im->model->graph, &g->nodes, 0, &budget);
        map_set(&im->inner_random, arena_strdup(a, key), count);
    }
    return *count;
}

/* Number k of a node's repetitions has the node's stream plus k times the number of all: no other node has that. */
uint32_t import_next_stream(struct importer *im, const struct import_scope *r)
{
    uint32_t stream = ++im->stream;
    if (!r->repeated)
        return stream;
    struct arena *const a = im->g->arena;
    const char *const key = arena_printf(a, "%u", (unsigned)stream);
    uint32_t *count = map_get(&im->repetitions, key);
    if (count == NULL) {
        count = arena_new(a, uint32_t);
        map_set(&im->repetitions, key, count);
    }
    stream += (*count)++ * im->streams;
    if (im->g->program->random_streams < stream)
        im->g->program->random_streams = stream;
    return stream;
}
