/* Shared by adjoint.c and merge_scatters.c. */
#ifndef STEPC_TRAIN_ADJOINT_INTERNAL_H
#define STEPC_TRAIN_ADJOINT_INTERNAL_H

#include "graph/graph.h"

/* Of sums made from value number `since` on: those of several scattered rows become one scattering of all rows. */
bool merge_scatters(struct graph *g, int since) MUST_USE;

#endif
