/* Sizes of inputs that follow from the weights. */
#ifndef STEPC_GRAPH_IMPORT_SIZES_H
#define STEPC_GRAPH_IMPORT_SIZES_H

#include "model/model.h"

/* The one size that fits the weights which an input of that symbol meets: a product, a Conv, a sum with a vector. -1:
 * none is known. What nothing else binds has it. */
int64_t import_size_of_weights(const struct model_graph *g, const char *symbol);

#endif
