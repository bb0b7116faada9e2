/* Two training models become one: the union of their main graphs, in which what both have by name is there once, and
 * the entries of both. So models that were prepared apart, each with its own loss, parameters and optimizer, share
 * their weights.
 *
 *   d.onnx: z -> G -> D, trains D        into d: z -> G -> D, entries d (trains D) and g (trains G)
 *   g.onnx: z -> G -> D, trains G
 *
 * Of main graphs: an initializer or input of one name has to be the same in both, else the models are refused. A node
 * whose results have the names of a node that is the same is that node; another one's results are called FILE.NAME
 * where their names are taken. Of entries: the variables of its own that an entry's algorithm has are called ENTRY.NAME
 * where an earlier entry has one of that name, and so is what else it calls like something of the main graph. */
#ifndef STEPC_PREPARE_MERGE_H
#define STEPC_PREPARE_MERGE_H

#include "base/str.h"
#include "model/model.h"

/* An entry that `prepare` has called 'train' is called after the model's file. */
void merge_name_entries(struct arena *a, struct model *m);

/* `from` goes into `into`; what was renamed is added to *report. On failure both are of no further use. */
bool merge_models(struct diag *d, struct arena *a, struct model *into, struct model *from,
                  struct strbuf *report) MUST_USE;

#endif
