/* Model graphs become typed graphs: names resolved, opsets applied, old operator versions upgraded, shapes inferred. */
#ifndef STEPC_GRAPH_IMPORT_H
#define STEPC_GRAPH_IMPORT_H

#include "graph/graph.h"

struct import_options {
    /* Sizes for symbolic dimensions: "batch" or "step:batch" (entry first) -> const int64_t *. */
    const struct map *dims;
    /* Whole shapes for inputs, by name -> const struct shape *. */
    const struct map *shapes;
    /* Values the caller will feed, by input name -> const struct tensor *: their shapes bind symbolic dimensions, and their
     * content is used where a shape depends on it (the input is then `specialised`). */
    const struct map *fed;
    /* Size for symbols that nothing binds; 0: that is an error naming --dim. `prepare` uses it to learn ranks. */
    int64_t provisional_dim;
};

/* Adds the nodes of a model graph to g. Names seen before are in `scope` (value name -> struct value *); definitions are
 * added to it. The caller has put inputs and state variables there as it wants them: an input or initializer whose name is
 * already in scope is taken from there. Graph outputs are NOT added (see import_outputs). All independent errors of the graph are reported. */
bool import_nodes(struct graph *g, const struct model_graph *mg, struct map *scope, const struct import_options *o,
                  const char *entry) MUST_USE;
/* Declared shape of an input after binding dims: reports when a dimension stays unknown. */
bool import_input_shape(struct graph *g, const struct model_value_info *vi, const struct import_options *o, const char *entry,
                        struct shape *shape) MUST_USE;
bool import_outputs(struct graph *g, const struct model_graph *mg, struct map *scope) MUST_USE;

#endif
