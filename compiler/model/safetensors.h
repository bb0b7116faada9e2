/* .safetensors, the weights of other frameworks: 8 bytes of length n (little-endian), n bytes of JSON that names
 * tensors with dtype, shape and place, then their values, row-major and little-endian, side by side without holes.
 * Spec: github.com/huggingface/safetensors, README.md "Format". */
#ifndef STEPC_MODEL_SAFETENSORS_H
#define STEPC_MODEL_SAFETENSORS_H

#include "base/diag.h"
#include "tensor/tensor.h"

struct named_tensor {
    const char *name;
    const struct tensor *tensor;
};
typedef VEC(struct named_tensor) named_tensors;

/* All tensors in the order of the file. Every fault of the header is reported, not only the first. */
bool safetensors_read(struct diag *d, struct arena *a, const char *path, named_tensors *out) MUST_USE;
/* The same from memory. `path` is for messages. */
bool safetensors_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                       named_tensors *out) MUST_USE;
/* Wide elements first, so that all are aligned; otherwise in the order given. The same bytes for the same tensors. */
bool safetensors_encode(struct diag *d, struct arena *a, const char *path, const named_tensors *tensors,
                        unsigned char **bytes, size_t *size) MUST_USE;
bool safetensors_write(struct diag *d, const char *path, const named_tensors *tensors) MUST_USE;

#endif
