/* Shapes: every dimension is known when a graph is built (--dim binds symbols at import), for the highest count where
 * it has a range. */
#ifndef STEPC_TENSOR_SHAPE_H
#define STEPC_TENSOR_SHAPE_H

#include "base/arena.h"
#include "tensor/size.h"
#include <stdbool.h>
#include <stdint.h>

#define SHAPE_MAX_RANK 12

struct shape {
    int rank;
    int64_t dim[SHAPE_MAX_RANK]; /* each >= 0 */
    int64_t per[SHAPE_MAX_RANK]; /* of each as a size (size.h) */
};

/* SHAPE(2, 3) */
#define SHAPE(...)                                                                                                     \
    ((struct shape){.rank = (int)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), .dim = {__VA_ARGS__}})
#define SHAPE_SCALAR ((struct shape){.rank = 0})

/* SHAPE_OF(x, y): the same of sizes. */
#define SHAPE_OF(...)                                                                                                  \
    (*(const struct shape[]){shape_of_sizes((const struct size[]){__VA_ARGS__},                                        \
                                            sizeof((const struct size[]){__VA_ARGS__}) / sizeof(struct size))})
struct shape shape_of_sizes(const struct size *x, size_t count);

/* Dimensions as sizes. Rules of operators give theirs so, or they would be constants. */
struct size shape_size(const struct shape *s, int d);
void shape_set(struct shape *s, int d, struct size x);
void shape_add(struct shape *s, struct size x);                    /* behind the others */
void shape_take(struct shape *s, const struct shape *from, int d); /* likewise, one of another shape */
/* Product of dims [from, to). */
struct size shape_size_range(const struct shape *s, int from, int to);
struct size shape_elements(const struct shape *s); /* of all */
bool shape_is_constant(const struct shape *s);

bool shape_equal(const struct shape *a, const struct shape *b);
bool shape_same_sizes(const struct shape *a, const struct shape *b); /* for all counts of a range */
bool shape_is_transposed(const struct shape *a, const struct shape *b); /* matrices */
/* Product of the dims, 1 for a scalar. The shape was checked before: never overflows. */
int64_t shape_count(const struct shape *s);
/* As shape_count, for unchecked shapes: false on a negative dim or a product (in bytes of 16) that does not fit. */
bool shape_count_checked(const struct shape *s, int64_t *count);
/* Product of dims [from, to). */
int64_t shape_count_range(const struct shape *s, int from, int to);

/* Broadcasts two shapes the ONNX way: right-aligned, a dimension of 1 stretches. *out may alias a or b.
 * Returns false, *out unspecified, if some pair differs and neither is 1. Reports nothing: only the caller knows which
 * node to blame. Spec: ONNX Broadcasting.md, "Multidirectional Broadcasting". */
bool shape_broadcast(struct shape *out, const struct shape *a, const struct shape *b);
/* Row-major strides in elements. */
void shape_strides(const struct shape *s, int64_t stride[SHAPE_MAX_RANK]);
/* Strides with which an operand of shape `s` is read over the (broadcast) domain `to`: 0 where it stretches. */
void shape_broadcast_strides(const struct shape *s, const struct shape *to, int64_t stride[SHAPE_MAX_RANK]);
/* Axis in [-rank, rank) to [0, rank); false when outside. */
bool shape_axis(int rank, int64_t axis, int *out);
/* "[2,3]", "[]". */
const char *shape_text(struct arena *a, const struct shape *s);
/* Advances a multi-index in row-major order; false after the last. Start with all zeros (and count != 0). */
bool shape_next(const struct shape *s, int64_t index[SHAPE_MAX_RANK]);

#endif
