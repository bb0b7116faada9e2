/* Files of torch.save (.pt, .pth, .bin): a zip archive with a pickle, PREFIX/data.pkl, and a file PREFIX/data/KEY for
 * each storage of tensors. Not trusted: every byte.
 * Spec: torch/serialization.py (_save, _load), since PyTorch 1.6. */
#ifndef STEPC_FOREIGN_TORCH_FILE_H
#define STEPC_FOREIGN_TORCH_FILE_H

#include "foreign/pickle.h"

/* What was saved, all tensors with their elements; they take at most four times the file (views of one storage are
 * copies here). `path` is for messages. */
bool torch_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
                 const struct pickle_value **out) MUST_USE;

#endif
