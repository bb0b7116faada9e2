/* NumPy files: whole tensors in memory, for data that fit it. */
#ifndef MPI_EXAMPLE_NPY_H
#define MPI_EXAMPLE_NPY_H

#include "stepc.h"

#include <stddef.h>

typedef struct npy {
    char type[8];        /* "<f4" */
    size_t samples;      /* the first dimension */
    size_t sample_bytes; /* of all others */
    unsigned char *values;
} npy;

/* Row-major, little-endian; 0 after a message to stderr. The values are malloc()ed. */
int npy_read(const char *path, npy *out);
/* Has it the input's type and, but for the first, its dimensions? */
int npy_fits(const npy *data, const stepc_tensor_info *input);

#endif
