/* Model graphs become typed graphs: names resolved, opsets applied, old operator versions upgraded, shapes inferred,
 * model-local functions inlined. */
#ifndef STEPC_GRAPH_IMPORT_H
#define STEPC_GRAPH_IMPORT_H

#include "graph/graph.h"

struct import_options {
    /* Sizes for symbolic dimensions: "batch" or "step:batch" (entry first) -> const int64_t *. */
    const struct map *dims;
    /* Whole shapes for inputs, by name -> const struct shape *. */
    const struct map *shapes;
    /* Values the caller will feed, by input name -> const struct tensor *: their shapes bind symbolic dimensions, and
     * their content is used where a shape depends on it (the input is then `specialised`). */
    const struct map *fed;
    /* Size for symbols that nothing binds; 0: that is an error naming --dim. `prepare` uses it to learn ranks. */
    int64_t provisional_dim;
    /* A dimension whose size each call says; `dims` has its highest size. NULL: there is none. */
    const struct size_range *range;
    /* Of sizes in `dims` that follow from it, by name: what one count more adds -> const int64_t *. NULL: none does. */
    const struct map *pers;
    /* Largest sizes where data say how many (struct program); NULL: none is given. */
    const struct map *bounds;
};

/* What concerns the model as a whole: opset_import, IR version against training_info (R3, R4 in docs/readings.md),
 * functions. */
bool import_check_model(struct diag *d, const struct model *m) MUST_USE;
/* How many random streams the nodes of the model take: main graph first, then algorithms, then initializations. The
 * stream of a node depends on its place in the model and on the counter it draws with (graph->counter) alone: entries
 * with update bindings draw different numbers of a node that they share. */
uint32_t import_random_streams(const struct model *m);

/* Adds the nodes of a model graph to g (to its end). Names seen before are in `scope` (value name -> struct value *);
 * definitions are added to it, NULL for those that could not be made (reported; their readers are skipped silently).
 * The caller has put inputs and state variables there as it wants them: an input or initializer whose name is already
 * in scope is taken from there. Other inputs are added to g. An input that has an initializer is a constant, not an
 * argument, unless options->fed or options->shapes names it (R12 in docs/readings.md). Graph outputs are NOT added (see
 * import_outputs). All independent errors of the graph are reported. */
bool import_nodes(struct graph *g, const struct model_graph *mg, struct map *scope, const struct import_options *o,
                  const char *entry) MUST_USE;
/* Is what a scope has a tensor, and not NULL, a sequence or an optional value? */
bool import_is_tensor(const struct value *v);
/* Adds to g and to scope the inputs of a model graph that are arguments of the entry and not in scope yet: what
 * import_nodes() does first. Called before, it gives inputs their names in g before nodes take them. */
bool import_arguments(struct graph *g, const struct model_graph *mg, struct map *scope, const struct import_options *o,
                      const char *entry) MUST_USE;
/* Declared shape of an input after binding dims: reports when a dimension stays unknown. */
bool import_input_shape(struct graph *g, const struct model_value_info *vi, const struct import_options *o,
                        const char *entry, struct shape *shape) MUST_USE;
/* Adds the outputs that mg lists, checked against their declared types; one that g lists already is not repeated. */
bool import_outputs(struct graph *g, const struct model_graph *mg, struct map *scope) MUST_USE;

#endif
