/* What `stepc convert` mends in models of other tools: nodes out of order, names, declarations that are wrong. */
#ifndef STEPC_PREPARE_TIDY_H
#define STEPC_PREPARE_TIDY_H

#include "base/map.h"
#include "model/model.h"
#include "model/weights.h"

/* Each node of every graph and function behind those whose results it reads; else as they were. Reports a cycle. */
bool sort_nodes(struct diag *d, struct model *m) MUST_USE;
/* Takes the declared types of inner values out. */
void drop_value_infos(struct model *m);
/* Tensors of the main graph, of training and of the graphs inside nodes get new names: in_model -> in_file of the
 * rules; what the metadata say of them goes along. Names in functions are their own. Refuses a rule that fits nothing,
 * and a name that is taken. */
bool rename_tensors(struct diag *d, struct arena *a, struct model *m, const struct weight_options *rules) MUST_USE;

#endif
