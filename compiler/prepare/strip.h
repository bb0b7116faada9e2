/* The way back from a training model: what training needed is taken out, trained values are put in. What is left is an
 * inference model that any ONNX tool reads. A model that went through prepare_model() comes back as it was, unless
 * preparation has changed its main graph (what exporters did is undone, training form becomes inference form): such
 * changes stay, since the trained values are those of the graph as it is now. */
#ifndef STEPC_PREPARE_STRIP_H
#define STEPC_PREPARE_STRIP_H

#include "base/map.h"
#include "base/str.h"
#include "model/model.h"

/* To be called before the first training_info is added to m: notes in its metadata what strip_model() could not know
 * later. Most models need no note. */
void strip_remember(struct arena *a, struct model *m);
/* Likewise before the device configuration is added. */
void strip_remember_devices(struct arena *a, struct model *m, const char *configuration);
/* Notes that preparation listed these inputs, which initializers stand in for. */
void strip_remember_inputs(struct arena *a, struct model *m, const str_list *names);
/* The notes of `from`, which was merged into `into`. */
void strip_merge_notes(struct arena *a, struct model *into, const struct model *from);
/* Notes what preparation did to the main graph, as words for a list; "" for nothing. */
void strip_remember_changes(struct arena *a, struct model *m, const char *changes);

/* The initializers of the main graph that some training_info writes and that remain after strip_model(): what a state
 * holds values for. Pointers into the model. */
typedef VEC(struct model_initializer *) strip_list;
void strip_find_trained(struct arena *a, const struct model *m, strip_list *out);

/* The initializer that holds the moving average of each of them, in the same order; itself where there is none. False:
 * the model keeps no averages. */
bool strip_find_averages(struct arena *a, const struct model *m, const strip_list *trained, strip_list *out);

/* Takes out, in place: training_info; initializers that only training read or wrote; the import of the training
 * operators, if nothing uses it any more. What was done is added to *report, a line each. */
void strip_model(struct diag *d, struct model *m, struct strbuf *report);

#endif
