/* Shared by infer.c, verify.c and import. */
#ifndef STEPC_GRAPH_GRAPH_INTERNAL_H
#define STEPC_GRAPH_GRAPH_INTERNAL_H

#include "graph/op_def.h"

/* Runs the rule of n->def without touching the node: c->out holds what it finds, in `a`. Reports to d. */
bool infer_node_into(struct infer_ctx *c, struct node *n, struct arena *a, struct diag *d) MUST_USE;

/* node_infer() of a node whose sizes are known: no count is asked for or given. */
bool node_infer_plain(struct node *n) MUST_USE;

/* The content of v where it is known at compile time or will be fed; else NULL. */
const struct tensor *known_or_fed(struct graph *g, struct value *v);
/* From now on what is fed to v, and to what it follows from, is not looked at. */
void known_stays_open(const struct graph *g, struct value *v);
/* The content; NULL after a report that names what it depends on. `what` is how the node refers to it: "input 1 'axes'
 * (axes)". */
const struct tensor *known_or_report(struct graph *g, const struct loc *at, const char *what, struct value *v);
/* What a user can do to have v known: "; --set x=VALUE fixes it", or "". */
const char *known_cure(const struct graph *g, struct value *v);

#endif
