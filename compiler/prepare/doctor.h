/* The export doctor: what an exporter did that would spoil training, or surprise, and the cure. None of it is an error:
 * the model is right as inference goes. */
#ifndef STEPC_PREPARE_DOCTOR_H
#define STEPC_PREPARE_DOCTOR_H

#include "base/vec.h"
#include "graph/import.h"

struct finding {
    const char *text, *cure;
};
typedef VEC(struct finding) finding_list;

/* What is lost, so that no option of preparation brings it back: layers folded into others,
 * Dropout, lengths. Changes nothing. */
void examine_lost(struct arena *a, struct model *m, finding_list *out);
/* All of it, in the order in which they matter; of a model that trains already, what is not decided by that. The model
 * is of no further use. */
void examine_export(struct arena *a, struct model *m, const struct import_options *o, finding_list *out);

#endif
