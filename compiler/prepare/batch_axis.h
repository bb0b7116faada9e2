/* Which dimension of an input is the batch. Mostly the first; in front of a recurrent layer as ONNX has it, [time,
 * batch, features], and of attention that PyTorch exports for batch_first=False, it is the second. */
#ifndef STEPC_PREPARE_BATCH_AXIS_H
#define STEPC_PREPARE_BATCH_AXIS_H

#include "graph/import.h"

struct batch_axes {
    struct arena *arena;
    const struct model_graph *main;
    const struct graph *sizes; /* the main graph as far as it could be imported, mostly with made-up sizes */
    struct map producers;      /* value -> const struct model_node * */
    struct map of_inputs;      /* input -> const int *, where the layers that read it say it */
    struct map spots;          /* "dimension name" of values that the batch runs through, as far as is known */
};

/* No axis of the input is a batch: its first one is the time of a layer that sees one sample. */
enum { NO_BATCH_AXIS = -1 };

/* As much of the main graph as can be imported, with made-up sizes for what the options leave open. Reports nothing. */
const struct graph *graph_with_sizes(struct arena *a, const struct model *m, const struct import_options *o);
/* Looks at the layers of the main graph. Reports nothing: where the model cannot be imported, less is known. */
void find_batch_axes(struct arena *a, const struct model *m, const struct import_options *o, struct batch_axes *out);
/* Of an input of the main graph: 0 where no layer says anything else. */
int batch_axis_of(const struct batch_axes *b, const char *input);
/* The shape of a value of the main graph, with made-up sizes; NULL: not known. */
const struct shape *size_of_value(const struct batch_axes *b, const char *name);
/* Is this dimension of a value of the main graph one of the batch, outermost in it at least? */
bool is_batch_dim(const struct batch_axes *b, const char *name, int dim);
/* Which dimension of a value of the main graph comes from the batch of an input; -1: none, as far as is known. */
int batch_dim_of_value(const struct batch_axes *b, const char *name, int rank);

#endif
