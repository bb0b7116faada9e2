/* Ifs that are decided whatever the inputs and their sizes are become their branches: the condition is a constant, or
 * it follows from constants, from ranks and from sizes that are known. */
#ifndef STEPC_PREPARE_DECIDE_H
#define STEPC_PREPARE_DECIDE_H

#include "graph/import.h"
#include "graph/inline.h"

/* In the main graph and in graphs inside its nodes. Returns how many. options: --dim, --shape; may be NULL. *by_sizes:
 * how many of them were decided by these. */
size_t decide_branches(struct inliner *x, const struct import_options *options, size_t *by_sizes);

#endif
