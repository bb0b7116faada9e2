/* --weights-from FILE.safetensors: weights that an export left as inputs of the graph (export_params=False, or
 * torch.export without parameters) become initializers with the values of the file. */
#ifndef STEPC_PREPARE_INPUT_WEIGHTS_H
#define STEPC_PREPARE_INPUT_WEIGHTS_H

#include "prepare/edit.h"

/* Inputs that have no value and are called like tensors of the file. Says which. */
bool weigh_inputs(struct edit *e, const char *path) MUST_USE;

#endif
