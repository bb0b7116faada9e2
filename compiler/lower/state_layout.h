/* In which order the state holds the elements of its matrices. */
#ifndef STEPC_LOWER_STATE_LAYOUT_H
#define STEPC_LOWER_STATE_LAYOUT_H

#include "graph/graph.h"

/* Sets by_columns of the variables that every entry of the program reads faster so: weights of a product for one
 * sample, y = W x, whose sums lie side by side then, and all that is computed with them element by element (what an
 * optimizer remembers). Plain ones elsewhere: where another product reads the matrix along its rows, as the gradient
 * of the layer's input does, or init() draws it at random. From canonical graphs, before lowering. */
void choose_state_layout(const struct program *p);

/* Dims of the array in the state: the variable's, or those of its transpose. */
struct shape variable_layout(const struct variable *v);
/* A tensor of the variable's shape with its elements in the order of the state: `t` itself, or a copy in the arena. */
const struct tensor *tensor_in_layout(struct arena *a, const struct variable *v, const struct tensor *t);

#endif
