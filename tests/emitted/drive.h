/* Runs any emitted model through its descriptor: init, some steps, every other entry, with inputs that depend on
 * nothing but the model's names. Works on a host and on a bare target: no library, memory from the caller. */
#ifndef STEPC_TESTS_DRIVE_H
#define STEPC_TESTS_DRIVE_H

#include "stepc.h"

enum { DRIVE_STEPS = 5, DRIVE_TENSORS = 16 };

typedef struct drive_memory {
    void *state, *arena;         /* of model->state_bytes and model->arena_bytes */
    unsigned char *values;       /* for inputs and outputs, aligned as stepc_max_align */
    size_t values_bytes;
} drive_memory;

/* FNV-1a over all outputs and the final state; *status is the first status that is not STEPC_OK. */
uint32_t drive(const stepc_model *model, const drive_memory *memory, stepc_status *status);

#endif
