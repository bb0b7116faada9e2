/* TensorFlow's checkpoints V2 (a "tensor bundle"): NAME.index is a table of what each tensor is and where it lies,
 * NAME.data-00000-of-00001... have their bytes. Not trusted: every byte.
 * Spec: tensorflow/core/protobuf/tensor_bundle.proto, tensorflow/core/util/tensor_bundle/tensor_bundle.cc. */
#ifndef STEPC_FOREIGN_BUNDLE_H
#define STEPC_FOREIGN_BUNDLE_H

#include "tensor/tensor.h"

struct bundle_entry {
    const char *name;
    const char *type; /* TensorFlow's name of it */
    enum dtype dtype; /* DTYPE_UNDEFINED: one that is not read; DTYPE_STRING: `text`, if it is a single one */
    struct shape shape;
    size_t shard;
    uint64_t offset, size;
    uint32_t crc;
    const struct tensor *tensor; /* once bundle_fill() has set it */
    const unsigned char *text;   /* in the arena */
    size_t text_size;
};

struct bundle {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    size_t shards;
    bool *used;                       /* of each data file: does an entry lie in it? */
    bool unchecked;                   /* checksums: a fuzzer cannot find them */
    VEC(struct bundle_entry) entries; /* names ascend */
};

/* What the index says. */
bool bundle_open(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                 bool unchecked, struct bundle *out) MUST_USE;
/* The tensors in it, copied: together at most as large as the file. */
bool bundle_fill(struct bundle *b, const char *path, size_t shard, const unsigned char *bytes, size_t size) MUST_USE;

/* Elements that a file has with low bytes first become ours; a truth is 0 or 1. */
void tensor_to_native(struct tensor *t);

#endif
