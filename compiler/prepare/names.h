/* --names-from FILE.safetensors: initializers whose names the exporter made up ("onnx::MatMul_57") get the names of the
 * tensors of the same content: as they stand, transposed, or with the gates of a recurrent layer in ONNX's order. */
#ifndef STEPC_PREPARE_NAMES_H
#define STEPC_PREPARE_NAMES_H

#include "model/safetensors.h"
#include "prepare/edit.h"

/* Says what got which name, and warns of made-up names that stay. */
bool name_initializers(struct edit *e, const char *path) MUST_USE;
/* The same with the tensors of `path` at hand. */
void name_from_tensors(struct edit *e, const char *path, const named_tensors *tensors);

#endif
