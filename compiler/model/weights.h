/* Weights of a model to and from lists of named tensors. */
#ifndef STEPC_MODEL_WEIGHTS_H
#define STEPC_MODEL_WEIGHTS_H

#include "base/str.h"
#include "model/model.h"
#include "model/safetensors.h"

/* "encoder.*" of the model is "bert.encoder.*" of the file. At most one `*` in each; the first rule
 * that matches counts. */
struct weight_rename {
    const char *in_model, *in_file;
};

struct weight_options {
    VEC(struct weight_rename) renames;
    str_list transpose; /* patterns: matrices of these names are transposed in the file, square ones too */
    bool partial;                /* what is missing or does not fit is a warning */
};

/* Names, one a line: matrices that the framework has the other way round, and kernels of convolutions that it has as
 * TensorFlow does. Preparation notes it where it finds out. */
#define METADATA_TRANSPOSED "stepc.transposed"
/* *out: the options with those of them that are initializers of the main graph; `squares`: only those of which the
 * shape does not say how they stand. */
void weights_as_noted(struct arena *a, const struct model *m, bool squares, const struct weight_options *o,
                      struct weight_options *out);

/* The name under the first rule that matches, which is noted in used[] (may be NULL); else the name itself. */
const char *weights_renamed(struct arena *a, const struct weight_options *o, const char *name, bool *used);
/* The floating-point initializers of the main graph, under the names of the file. */
void weights_list(struct arena *a, const struct model *m, const struct weight_options *o, named_tensors *out);
/* Sets initializers to the file's values: by name, converted between floating types or integer types,
 * matrices transposed where only that fits. What was not simply copied is told in *report; every mismatch is
 * an error: initializers without a tensor (but single numbers), other shapes and kinds; tensors without an
 * initializer are warnings. */
bool weights_set(struct diag *d, struct arena *a, struct model *m, const char *path, const named_tensors *tensors,
                 const struct weight_options *o, struct strbuf *report) MUST_USE;

#endif
