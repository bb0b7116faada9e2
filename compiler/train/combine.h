/* From a model to a program: which initializers are variables, and one graph per entry (main graph + algorithm, bindings).
 * Spec: training-ir sections 8 and 9; onnx.proto TrainingInfoProto. Gradient nodes are still there afterwards: see
 * adjoint_expand(). */
#ifndef STEPC_TRAIN_COMBINE_H
#define STEPC_TRAIN_COMBINE_H

#include "graph/import.h"

/* Entries made: "init" (always: restores stored values, then runs the initialization graphs), one ENTRY_STEP per
 * TrainingInfoProto with update_binding and one ENTRY_EVALUATE per one without (named after the algorithm graph, mangled to C
 * identifiers; "step" when there is exactly one training entry with update bindings, otherwise their own names with "step"
 * running all in order left to emission), "infer" (the main graph alone).
 * `only`: comma-separated names of entries to make, NULL: all. */
bool combine_program(struct diag *d, struct arena *a, const struct model *m, const struct import_options *o, const char *name,
                     const char *only, struct program **out) MUST_USE;

struct entry *program_entry(const struct program *p, const char *name); /* NULL if absent */
struct variable *program_variable(const struct program *p, const char *name);

#endif
