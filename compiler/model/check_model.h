/* Rules of the format that stepc itself can do without: a model that breaks one may compile, but other tools refuse it.
 * The others are checked where they matter: by the readers and by import. */
#ifndef STEPC_MODEL_CHECK_MODEL_H
#define STEPC_MODEL_CHECK_MODEL_H

#include "model/model.h"

/* Reports all that is wrong. Spec: ONNX IR.md. */
bool model_check(struct diag *d, const struct model *m) MUST_USE;

#endif
