/* From a model to a program: which initializers are variables, and one graph per entry (main graph + algorithm,
 * bindings). Gradient nodes are still there afterwards: see adjoint_expand().
 * Spec: onnx.proto, TrainingInfoProto, and docs/readings.md, R6 to R17. */
#ifndef STEPC_TRAIN_COMBINE_H
#define STEPC_TRAIN_COMBINE_H

#include "graph/import.h"

/* Entries made: "init" (always: restores stored values, then runs the initialization graphs), one ENTRY_STEP per
 * TrainingInfoProto with update_binding and one ENTRY_EVALUATE per one without (named after the algorithm graph,
 * mangled to C identifiers), "infer" (the main graph alone). A single training entry with update bindings is called
 * "step"; of several each has its own name, and "step" runs them all in order as one graph (combine_step.c).
 * `only`: comma-separated names of entries to make, NULL: all. */
bool combine_program(struct diag *d, struct arena *a, const struct model *m, const struct import_options *o,
                     const char *name, const char *only, struct program **out) MUST_USE;

/* The main graph alone, as far as it can be imported: name -> its struct value, or NULL. What is wrong is said to d,
 * and what does not follow from it is there all the same. */
void combine_values(struct diag *d, struct arena *a, const struct model *m, const struct import_options *o,
                    struct map *values);

/* What the entries with update bindings are called, in order. */
void combine_training_names(struct arena *a, const struct model *m, str_list *names);

/* Sums over samples (ROLE_SUM): enters into *sums the variables that some entry only adds to. */
void combine_find_sums(struct arena *a, const struct model *m, struct map *sums);

#endif
