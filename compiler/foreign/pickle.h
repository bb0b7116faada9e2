/* Pickles of checkpoints: a reader of the opcodes and globals that tensors, numbers, text and the containers of both
 * need. Nothing is ever called: a global is a row of a closed table, and what REDUCE means for it is code of ours. All
 * else is refused by name. Not trusted: every byte. Time and memory are within a constant factor of the pickle's size.
 * Spec: Python's Lib/pickletools.py (opcodes); torch/_utils.py and torch/serialization.py (what PyTorch puts into
 * them).
 */
#ifndef STEPC_FOREIGN_PICKLE_H
#define STEPC_FOREIGN_PICKLE_H

#include "base/diag.h"
#include "tensor/tensor.h"

#define PICKLE_MAX_BYTES ((size_t)16 << 20) /* a thousand tensors take 150 KiB */

enum pickle_kind {
    PICKLE_NONE,
    PICKLE_BOOL,
    PICKLE_INT,
    PICKLE_FLOAT,
    PICKLE_TEXT,
    PICKLE_BYTES,
    PICKLE_LIST, /* list, set */
    PICKLE_TUPLE,
    PICKLE_DICT,
    PICKLE_GLOBAL,
    PICKLE_STORAGE,
    PICKLE_TENSOR,
    PICKLE_OPAQUE /* what a checkpoint may hold and nobody asks for: a device, a number of NumPy's */
};

/* A tensor's elements among those of a storage; the file with them is read by torch_file.c. */
struct pickle_storage {
    const char *key;
    enum dtype dtype; /* DTYPE_UNDEFINED: bytes, of which the tensor says the type */
    int64_t count;    /* elements; bytes, if the type is not known */
};

struct pickle_tensor {
    const struct pickle_storage *storage;
    enum dtype dtype;
    int64_t offset; /* elements */
    struct shape shape;
    int64_t stride[SHAPE_MAX_RANK];
    struct tensor *tensor; /* NULL until its elements are there */
};

struct pickle_value;
typedef VEC(const struct pickle_value *) pickle_values;

struct pickle_value {
    enum pickle_kind kind;
    union {
        int64_t i;            /* BOOL, INT */
        double f;             /* FLOAT */
        const char *text;     /* TEXT: UTF-8 without NUL; OPAQUE: what it is called in messages */
        size_t global;        /* GLOBAL: row of the table */
        pickle_values *items; /* LIST, TUPLE; DICT: key, value, key, value... */
        struct pickle_storage *storage;
        struct pickle_tensor *tensor;
    };
    const char *method; /* OPAQUE: the name of the method that it is; else NULL */
};

typedef VEC(struct pickle_tensor *) pickle_tensors;

/* The value that the pickle makes, and its tensors in order, yet without elements. `name` is for messages. */
bool pickle_parse(struct diag *d, struct arena *a, const char *path, const char *name, const unsigned char *bytes,
                  size_t size, const struct pickle_value **out, pickle_tensors *tensors) MUST_USE;

/* The value under a key of a dict; NULL where there is none, or no dict. The last one counts, as in Python. */
const struct pickle_value *pickle_get(const struct pickle_value *dict, const char *key);
/* A number, of a bool too, or of a tensor with one element; false for all else. */
bool pickle_number(const struct pickle_value *v, double *out);
/* "a list of 3", for messages. */
const char *pickle_describe(struct arena *a, const struct pickle_value *v);

#endif
