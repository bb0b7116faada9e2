/* The rules of the format for every node of a model, also where import does not look: branches that are not taken,
 * functions that are not called; and what a program can do without: omitted inputs listed beyond the last, names
 * of graphs within nodes that stand outside of them, too. */
#ifndef STEPC_GRAPH_CHECK_NODES_H
#define STEPC_GRAPH_CHECK_NODES_H

#include "base/diag.h"
#include "model/model.h"

/* To be asked of a model that could be imported, which has said already what is wrong with what it looks at. Types and
 * shapes are not looked at. */
bool check_nodes(struct diag *d, const struct model *m) MUST_USE;

#endif
