/* The readers behind checkpoint_read(): each adds what its file holds. */
#ifndef STEPC_FOREIGN_CHECKPOINT_INTERNAL_H
#define STEPC_FOREIGN_CHECKPOINT_INTERNAL_H

#include "foreign/bundle.h"
#include "foreign/checkpoint.h"
#include "foreign/pickle.h"

struct checkpoint_reader {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    struct checkpoint *to;
    size_t looked_at; /* values of a pickle: they may be shared, so that walks are longer than files */
};

/* What torch.save wrote. (checkpoint_torch.c) */
bool checkpoint_add_saved(struct checkpoint_reader *r, const struct pickle_value *root) MUST_USE;
bool checkpoint_add_optimizer(struct checkpoint_reader *r, const struct pickle_value *v) MUST_USE;
void checkpoint_add_schedule(struct checkpoint_reader *r, const struct pickle_value *v);
/* A list of tensors, in which "optimizer.state.NAME.KEY" and "optimizer.param_groups.NAME.KEY" are what they say. */
bool checkpoint_add_tensors(struct checkpoint_reader *r, const named_tensors *tensors) MUST_USE;
bool checkpoint_add_npz(struct checkpoint_reader *r, const char *path, const unsigned char *bytes,
                        size_t size) MUST_USE;
/* What flax.serialization.to_bytes wrote. (checkpoint_flax.c) */
bool checkpoint_add_flax(struct checkpoint_reader *r, const unsigned char *bytes, size_t size) MUST_USE;
/* TensorFlow's, with all tensors filled. (checkpoint_tensorflow.c) */
bool checkpoint_add_bundle(struct checkpoint_reader *r, const struct bundle *b) MUST_USE;
/* What PREFIX.index and its data files hold. (tensorflow_files.c) */
bool checkpoint_add_tensorflow(struct checkpoint_reader *r, const char *prefix) MUST_USE;
/* The prefix of a checkpoint of TensorFlow: that itself, its .index, one of its data files, a SavedModel, its folder
 * `variables`, a folder whose file `checkpoint` names the newest. NULL: the path is none of these. *named_by: the file
 * `checkpoint` where that was needed, else NULL. */
const char *tensorflow_prefix(struct arena *a, const char *path, const char **named_by);
/* Reads a file of the checkpoint, and notes it. Every reader opens files by it alone. */
bool checkpoint_open(struct checkpoint_reader *r, struct arena *a, const char *path, size_t limit,
                     unsigned char **bytes, size_t *size) MUST_USE;
/* A folder of Orbax's? */
bool orbax_is_one(struct arena *a, const char *path);
bool checkpoint_add_folder(struct checkpoint_reader *r, const char *path) MUST_USE;
/* One file of weights, by its extension or how it begins. */
bool checkpoint_add_file(struct checkpoint_reader *r, const char *path) MUST_USE;
/* The shards that PATH.index.json lists. */
bool checkpoint_add_index(struct checkpoint_reader *r, const char *path) MUST_USE;

#endif
