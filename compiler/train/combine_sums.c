/* Sums over samples: variables that an entry adds something to and else does not look at, as accumulate() of
 * `prepare --split` does. Machines that each call the entry for a part of the samples may add up what it added.
 *
 *   W.grad_sum <- Add(W.grad_sum, W.gradient)     a sum, if W.gradient depends on an input or on random numbers
 *   T <- Add(T, 1)                                none: it counts calls
 *   h <- h.new = Add(h, G2), W <- f(h.new)        none: the optimizer reads it */
#include "base/str.h"
#include "graph/op_def.h"
#include "train/combine.h"

/* Of main graph and algorithm, whose names are those of one graph (R12). */
struct model_dataflow {
    struct map readers; /* name -> the node that reads it, NULL for several */
    struct map makers;  /* name -> the node that makes it */
    struct map varying; /* what depends on inputs of the entry or on random numbers */
};

static void note_reads(void *to, const struct model_node *n)
{
    struct map *const readers = to;
    vec_each(const char *, name, &n->inputs)
        map_set(readers, name, map_has(readers, name) ? NULL : (void *)(intptr_t)n);
}

/* A node with a graph inside may read anything. */
static bool varies(const struct model_dataflow *f, const struct model_node *n)
{
    const struct op_def *const def = op_find(n->domain, n->op_type);
    bool result = def != NULL && def->is_random;
    vec_each(const char *, name, &n->inputs)
        result = result || map_has(&f->varying, name);
    model_each_inner(n, inner)
        result = result || inner != NULL;
    return result;
}

static void note_flow(struct model_dataflow *f, const struct model_graph *mg)
{
    vec_each(const struct model_value_info *, vi, &mg->inputs)
        if (model_find_initializer(mg, vi->name) == NULL)
            map_set(&f->varying, vi->name, NULL);
    vec_each(struct model_node *, n, &mg->nodes) {
        const bool varying = varies(f, n);
        vec_each(const char *, name, &n->outputs) {
            map_set(&f->makers, name, n);
            if (varying)
                map_set(&f->varying, name, NULL);
        }
    }
    model_each_node(mg, note_reads, &f->readers);
}

static bool is_read_once(const struct model_dataflow *f, const char *name, const struct model_node *by)
{
    return map_get(&f->readers, name) == by;
}

static bool is_sum(const struct model_dataflow *f, const char *name, const char *value)
{
    const struct model_node *const n = map_get(&f->makers, value);
    if (n == NULL || !str_equal(n->op_type, "Add") || n->domain[0] != '\0' || n->inputs.count != 2)
        return false;
    const bool is_first = str_equal(n->inputs.data[0], name);
    return (is_first || str_equal(n->inputs.data[1], name)) && is_read_once(f, name, n) &&
           !map_has(&f->readers, value) && map_has(&f->varying, n->inputs.data[is_first]);
}

static void note_sums(struct arena *a, const struct model *m, const struct model_training *t, struct map *sums)
{
    struct model_dataflow f = {{.arena = a}, {.arena = a}, {.arena = a}};
    if (t->algorithm == NULL || t->update_binding.count == 0)
        return;
    note_flow(&f, m->graph);
    note_flow(&f, t->algorithm);
    vec_each_ptr(const struct model_pair, pair, &t->update_binding)
        if (is_sum(&f, pair->key, pair->value))
            map_set(sums, pair->key, NULL);
}

void combine_find_sums(struct arena *a, const struct model *m, struct map *sums)
{
    vec_each(const struct model_training *, t, &m->training)
        note_sums(a, m, t, sums);
}
