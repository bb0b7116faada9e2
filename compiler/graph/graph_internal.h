/* Shared by infer.c and verify.c. */
#ifndef STEPC_GRAPH_GRAPH_INTERNAL_H
#define STEPC_GRAPH_GRAPH_INTERNAL_H

#include "graph/op_def.h"

/* Runs the rule of n->def without touching the node: c->out holds what it finds, in `a`. Reports to d. */
bool infer_node_into(struct infer_ctx *c, struct node *n, struct arena *a, struct diag *d) MUST_USE;

#endif
