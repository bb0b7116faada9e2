/* check --recipe: does the file alone say how to train, and nothing of what training gave (docs/recipes.md)? */
#ifndef STEPC_CMD_CHECK_RECIPE_H
#define STEPC_CMD_CHECK_RECIPE_H

#include "engine/pipeline.h"

/* `p`: the model's whole program before simplification; `assumed`: sizes that the file leaves open, as text, "" if
 * none. Reports each rule that fails, with the variable, entry or node. */
bool check_recipe(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                  const struct program *p, const char *assumed) MUST_USE;

#endif
