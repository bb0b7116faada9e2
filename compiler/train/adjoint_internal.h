/* Shared by adjoint.c and merge_sums.c. */
#ifndef STEPC_TRAIN_ADJOINT_INTERNAL_H
#define STEPC_TRAIN_ADJOINT_INTERNAL_H

#include "graph/graph.h"

/* Of sums made from value number `since` on: scattered rows become one scattering of all rows, pieces of a tensor stand
 * side by side. */
bool merge_sums(struct graph *g, int since) MUST_USE;

#endif
