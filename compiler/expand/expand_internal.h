#ifndef STEPC_EXPAND_EXPAND_INTERNAL_H
#define STEPC_EXPAND_EXPAND_INTERNAL_H

#include "expand/expand.h"
#include "graph/build.h"

struct expansion {
    struct arena *arena;
    struct program *program;
    const struct expand_options *options;
    expanded_list *out;
    size_t own_variables;       /* those behind them are of the random state */
    struct variable *seed;      /* NULL: nothing draws */
    struct variable **counters; /* by number in program->counters */
};

/* ---- plain.c ----------------------------------------------------------------------------------------------------- */

/* Nodes that no runtime knows become nodes of ai.onnx, by the rules `plain`; in regions as well. Then the graph is
 * simplified again, without taking composites apart. */
bool plain_nodes(struct graph *g, const struct plain_target *t) MUST_USE;
/* What is given out are results of nodes, each given out once; all nodes get the form of the opset. Nothing but writing
 * may follow. */
bool plain_versions(struct graph *g, int opset) MUST_USE;

/* ---- write_graph.c ----------------------------------------------------------------------------------------------- */

struct graph_writer {
    struct arena *arena;
    struct model_graph *to;
    struct map *names;       /* taken, in this graph and those around it */
    const char **name_of;    /* by id of a value */
};

/* Writes nodes and constants of g. Inputs, variables and whatever else needs a certain name have one already. The
 * graph's outputs are the caller's to add. */
void write_nodes(struct graph_writer *w, const struct graph *g);
/* where: as model_add_value() */
void write_value(struct graph_writer *w, int where, const char *name, enum dtype dtype, const struct shape *shape);
const char *write_name(struct graph_writer *w, const struct value *v);

#endif
