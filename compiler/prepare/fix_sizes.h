/* --dim, --shape where a model is prepared: sizes that the user gives stand in the training model, in every
 * declaration; so those of inputs, targets and what is between agree. */
#ifndef STEPC_PREPARE_FIX_SIZES_H
#define STEPC_PREPARE_FIX_SIZES_H

#include "graph/import.h"

/* The options with what was fixed. A symbol of which an entry has a size of its own (--dim infer:batch=1) stays one:
 * nothing is said of it while the model is prepared. */
const struct import_options *fix_sizes(struct arena *a, struct model *m, const struct import_options *o);

#endif
