/* A tensor: dtype, shape, elements in row-major order and native byte order. */
#ifndef STEPC_TENSOR_TENSOR_H
#define STEPC_TENSOR_TENSOR_H

#include "base/diag.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

struct tensor {
    enum dtype dtype;
    struct shape shape;
    int64_t count;          /* = shape_count(&shape) */
    void *data;             /* count * dtype_size(dtype) bytes, aligned to 16; NULL only for STRING */
    const int64_t *per;     /* integers: of each element as a size (size.h); NULL: all are constants */
    const char **strings;   /* STRING only: count pointers (bytes; lengths beside) */
    size_t *string_lengths; /* STRING only */
};

/* Zeroed elements in the arena. The shape must have passed shape_count_checked(). */
struct tensor *tensor_new(struct arena *a, enum dtype dtype, const struct shape *shape);
size_t tensor_bytes(const struct tensor *t);
/* Any numeric element by value; element i in row-major order. */
double tensor_get_double(const struct tensor *t, int64_t i);
/* integers and bool; floats truncate as dtype_from_double INT64 */
int64_t tensor_get_int(const struct tensor *t, int64_t i);
void tensor_set_double(struct tensor *t, int64_t i, double x); /* floats round, integers as dtype_from_double */
void tensor_set_int(struct tensor *t, int64_t i, int64_t x);
/* Makes. */
struct tensor *tensor_scalar_double(struct arena *a, enum dtype dtype, double x); /* rank 0, any numeric dtype */
struct tensor *tensor_scalar_int(struct arena *a, int64_t x);                     /* INT64 */
struct tensor *tensor_from_ints(struct arena *a, const int64_t *x, int64_t count); /* INT64, rank 1 */
struct tensor *tensor_from_dims(struct arena *a, const struct shape *s); /* INT64, rank 1: its dims, as sizes */
struct size tensor_get_size(const struct tensor *t, int64_t i); /* integers */
/* Are all elements the same bits? So are those of a tensor without elements. */
bool tensor_is_uniform(const struct tensor *t);
bool tensor_is_zero(const struct tensor *t); /* all bytes; so no -0.0 */
struct tensor *tensor_transposed(struct arena *a, const struct tensor *t); /* a matrix, not of strings */
/* Each element by value in another numeric type, as tensor_set_double() or, for integers, tensor_set_int() has it. */
struct tensor *tensor_cast(struct arena *a, const struct tensor *t, enum dtype to);
/* The same numbers in another of DTYPES_ALL; NULL if an element has no such form there, which is number *lost
 * in row-major order. */
struct tensor *tensor_convert(struct arena *a, const struct tensor *t, enum dtype to, int64_t *lost);

/* Same dtype, shape and bits? For the highest count of a range, where there is one. */
bool tensor_identical(const struct tensor *a, const struct tensor *b);
/* For all counts: identical, and so are shapes and integers as sizes. */
bool tensor_same_sizes(const struct tensor *a, const struct tensor *b);

/* NumPy .npy files, version 1 and 2 in, 1 out; C order or Fortran order (converted), native or swapped bytes. */
bool npy_read(struct diag *d, struct arena *a, const char *path, struct tensor **out) MUST_USE;
/* The same from memory. `path` is for messages. */
bool npy_parse(struct diag *d, struct arena *a, const char *path, const unsigned char *bytes, size_t size,
               struct tensor **out) MUST_USE;
bool npy_write(struct diag *d, const char *path, const struct tensor *t) MUST_USE;

#endif
