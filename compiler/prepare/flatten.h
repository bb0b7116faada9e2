/* First of all, what stands in functions and in graphs inside nodes comes into the main graph, where preparation looks:
 * calls of functions, Ifs that are decided (decide.h), and weights of graphs that stay inside nodes.
 *
 *   y = Loop(...) <body = ... <float[3,3] w = {...}> { h = MatMul(s, w) ... }>
 *   ->   w is an initializer of the main graph, which the body reads */
#ifndef STEPC_PREPARE_FLATTEN_H
#define STEPC_PREPARE_FLATTEN_H

#include "graph/import.h"
#include "prepare/edit.h"

/* options: --dim, --shape; may be NULL. The names of `e` are those of the new main graph. */
void flatten_model(struct edit *e, const struct import_options *options);

#endif
