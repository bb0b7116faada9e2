/* Bounds of rounding errors, element by element, for what a kernel computes. */
#ifndef STEPC_ENGINE_ERROR_BOUND_H
#define STEPC_ENGINE_ERROR_BOUND_H

#include "graph/graph.h"

/* What one output's elements lie between when the kernel is computed in its own precision. */
struct error_bound {
    const double *low, *high;
};

/* One for each output of the graph (floats only; others are exact: NULL), from these inputs. `unit`: the relative error
 * of one operation. False: the graph has something that this does not know (random numbers). Memory comes from `a`. */
bool error_bounds(struct arena *a, const struct graph *g, const struct tensor *const *inputs, double unit,
                  struct error_bound *out) MUST_USE;

#endif
