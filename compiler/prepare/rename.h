/* New names for what a graph calls by name. */
#ifndef STEPC_PREPARE_RENAME_H
#define STEPC_PREPARE_RENAME_H

#include "base/map.h"
#include "model/model.h"

/* Every name of the graph, and of graphs inside its nodes, that the map has becomes the const char * there; what it has
 * not, or has NULL for, stays. Gradient names tensors in its attributes, too. */
void rename_in_graph(struct model_graph *g, const struct map *to);
void rename_in_node(struct model_node *n, const struct map *to);
void rename_in_list(str_list *names, const struct map *to);
/* What the name becomes: itself, if nothing else. */
const char *renamed(const struct map *to, const char *name);

#endif
