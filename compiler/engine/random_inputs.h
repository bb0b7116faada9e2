/* Inputs that are made up: small normal numbers, and numbers within the range of what they index. */
#ifndef STEPC_ENGINE_RANDOM_INPUTS_H
#define STEPC_ENGINE_RANDOM_INPUTS_H

#include "graph/graph.h"

/* Tensors for the graph's inputs, in its order. An element that is an index, also after it was cast, sliced, reshaped,
 * joined with others or moved by an offset, lies within what it indexes: rows of an embedding, classes of a loss, of
 * each of several its own. */
const struct tensor **random_inputs(struct arena *a, const struct graph *g, uint64_t seed);
/* The next of the numbers that these are made of: inputs need not follow the contract of random operators. */
uint64_t random_next(uint64_t *state);

#endif
