/* --batch N: the batch of the example with which a model was exported is replaced by N. */
#ifndef STEPC_PREPARE_REBATCH_H
#define STEPC_PREPARE_REBATCH_H

#include "graph/import.h"
#include "prepare/edit.h"

/* Declared shapes of inputs, outputs and values, and constants that hold the batch. An error names the node whose
 * constant cannot be read as a batch. */
bool rebatch_model(struct edit *e, int64_t batch, const struct import_options *o) MUST_USE;

/* A batch with a size becomes open, as 'batch': what holds its number is computed from the input that has it. What has
 * none stays. An error names `option` and the node. */
bool open_batch(struct edit *e, const struct import_options *o, const char *option) MUST_USE;

/* For the doctor: nodes whose constants hold the batch, in the order of the graph. *size: the batch of the example, 0
 * where the model leaves it open. Reports nothing; the model is of no further use. */
typedef VEC(const struct model_node *) node_list;
void find_frozen_batch(struct edit *e, const struct import_options *o, int64_t *size, node_list *out);

#endif
