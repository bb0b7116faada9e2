/* prepare --recipe: a training model without what training gave, as small as it can be (docs/recipes.md). */
#ifndef STEPC_PREPARE_RECIPE_H
#define STEPC_PREPARE_RECIPE_H

#include "base/str.h"
#include "model/model.h"

/* What init() overwrites becomes zeros, which the text form writes as {0, ...}; what only tools read goes: doc strings,
 * declared types of inner values, metadata of nodes, lists of names. */
void recipe_empty(struct arena *a, struct model *m, struct strbuf *report);

#endif
