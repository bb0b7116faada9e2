/* Which outputs a model gives. Behind the scores of a detector or classifier stands what a program can do without and
 * stepc cannot compile: boxes that are chosen by their scores, names of classes. --outputs names those to keep; prepare
 * leaves out by itself what is not supported and the loss does not need. */
#ifndef STEPC_PREPARE_OUTPUTS_H
#define STEPC_PREPARE_OUTPUTS_H

#include "graph/import.h"
#include "prepare/edit.h"

/* The main graph gives these tensors, inner ones too, and has only what they, or training, need: nodes, initializers
 * that only others read, inputs likewise. */
bool keep_outputs(struct diag *d, struct arena *a, struct model *m, const str_list *names) MUST_USE;
/* An output of ZipMap (scikit-learn's probabilities as a list of maps from classes) becomes the tensor behind it. */
void open_maps(struct edit *e);
/* Without outputs that are text, names of classes for example, where the model gives others; `source` stays. */
void leave_out_text(struct edit *e, const char *source);
/* After a model without training_info was refused: if some of its outputs do without what is not supported, a note
 * names the option that keeps these alone. */
void advise_outputs(struct diag *d, struct arena *a, struct model *m, const struct import_options *o);
/* Leaves out outputs for which something is not supported, as long as `source` (NULL: the first output that is left)
 * does without it, and inputs that nobody reads and no program could give. Says what. */
void drop_unsupported(struct edit *e, const struct import_options *o, const char *source);

#endif
