/* Sizes of inputs that a model leaves open without a name get one, by which --dim can set them: "batch" for the batch,
 * "INPUT[1]" for any other. */
#ifndef STEPC_PREPARE_OPEN_SIZES_H
#define STEPC_PREPARE_OPEN_SIZES_H

#include "graph/import.h"

#define OPEN_BATCH "batch"

/* dims: the options of --dim; names that they use stay. shaped: inputs whose shapes the caller says in another way. */
void name_open_sizes(struct arena *a, struct model *m, const struct import_options *o, const str_list *shaped);

#endif
