/* Rules of the format that stepc itself can do without: a model that breaks one may compile, but other tools refuse it.
 * The others are checked where they matter: by the readers and by import. */
#ifndef STEPC_MODEL_CHECK_MODEL_H
#define STEPC_MODEL_CHECK_MODEL_H

#include "model/model.h"

/* Reports all that is wrong. Spec: ONNX IR.md. */
bool model_check(struct diag *d, const struct model *m) MUST_USE;
/* The part of it about distribution over devices (check_devices.c). */
bool model_check_devices(struct diag *d, const struct model *m) MUST_USE;
/* Behind a change of the model: specifications whose tensor is no longer the node's are left out, with a warning. */
void model_drop_stale_devices(struct diag *d, struct model *m);

#endif
