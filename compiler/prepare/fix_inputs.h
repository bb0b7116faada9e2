/* --set NAME=VALUE: an input of the model becomes a constant of that value. Models ask for what a program decides once:
 * a sampling rate, whether there is a cache, the end of a slice. Where that is known, branches are decided and shapes
 * follow. It is a Constant node, not an initializer: nobody trains it. */
#ifndef STEPC_PREPARE_FIX_INPUTS_H
#define STEPC_PREPARE_FIX_INPUTS_H

#include "graph/import.h"

/* Fixes the input of the main graph and of every algorithm that has one of this name. The value is text, "16000",
 * "1,2,3", "false", one number for all elements, or the name of a file after "@": .npy or .pb. Sizes of the input
 * that the model leaves open come from options or from the value. *found: whether there is such an input. */
bool fix_input(struct diag *d, struct arena *a, struct model *m, const struct import_options *o, const char *name,
               const char *value, bool *found) MUST_USE;

#endif
