/* Checkpoints of the runtime (runtime/checkpoint.h) for tensors of the compiler: the same files that
 * emitted programs write. */
#ifndef STEPC_ENGINE_STATE_FILE_H
#define STEPC_ENGINE_STATE_FILE_H

#include "base/diag.h"
#include "checkpoint.h"
#include "tensor/tensor.h"

/* One variable. Loading sets the elements of its tensor. */
struct state_item {
    const char *name;
    struct tensor *tensor; /* of a type that emitted code has; empty ones are passed over */
    stepc_role role;
    stepc_load_outcome outcome; /* set by loading */
};
typedef VEC(struct state_item) state_items;
typedef VEC(const char *) state_names;

/* Replaces the file at once, whole, when it is on the disk. */
bool state_file_write(struct diag *d, struct arena *a, const char *path, const state_items *items) MUST_USE;
/* Loads what fits and says of each item what became of it. *unknown (may be NULL): names of the file that no
 * item has; those beginning with "stepc." are passed over. False: there is no whole checkpoint in the file; no
 * tensor was touched. */
bool state_file_read(struct diag *d, struct arena *a, const char *path, state_items *items,
                     state_names *unknown) MUST_USE;

#endif
