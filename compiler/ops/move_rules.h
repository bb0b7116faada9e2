/* What the operators that only move data share: Reshape, Transpose, Slice, Gather, Concat, Split, Expand, Pad... */
#ifndef STEPC_OPS_MOVE_RULES_H
#define STEPC_OPS_MOVE_RULES_H

#include "ops/op.h"

/* The types that such operators take, by opset. Strings and complex numbers are not supported. */
#define MOVE_TYPES_1 (DTYPES_ALL & ~DTYPE_BIT(DTYPE_BFLOAT16))
#define MOVE_TYPES_13 DTYPES_ALL
#define MOVE_TYPES_19                                                                                                  \
    (DTYPES_ALL | DTYPE_BIT(DTYPE_FLOAT8E4M3FN) | DTYPE_BIT(DTYPE_FLOAT8E4M3FNUZ) | DTYPE_BIT(DTYPE_FLOAT8E5M2) |      \
     DTYPE_BIT(DTYPE_FLOAT8E5M2FNUZ))
#define MOVE_TYPES_21 (MOVE_TYPES_19 | DTYPE_BIT(DTYPE_INT4) | DTYPE_BIT(DTYPE_UINT4))
#define MOVE_TYPES_23 (MOVE_TYPES_21 | DTYPE_BIT(DTYPE_FLOAT4E2M1))
#define MOVE_TYPES_24 (MOVE_TYPES_23 | DTYPE_BIT(DTYPE_FLOAT8E8M0))
#define MOVE_TYPES_25 (MOVE_TYPES_24 | DTYPE_BIT(DTYPE_INT2) | DTYPE_BIT(DTYPE_UINT2))

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* Input i, known at compile time, as a list of dimensions; reports a negative one and more than
 * SHAPE_MAX_RANK of them. */
bool move_infer_dims(struct infer_ctx *c, int i, struct shape *out);
/* Sets listed[axis] for each of `count` axes of a tensor of `rank`; `twice` allows repetitions.
 * Reports what is wrong. */
bool move_infer_axes(struct infer_ctx *c, const int64_t *axes, size_t count, int rank, bool twice, bool *listed);

/* The attribute `axis` of a node that inference has looked at, as an axis of input 0. */
int move_axis(const struct node *n);
/* Has input i, if it is there, that shape? Reports it where not. */
bool move_infer_shape(struct infer_ctx *c, int i, const struct shape *expected);

/* A value that inference has asked for before, as integers in the arena; NULL where the input is omitted. */
const struct size *move_known_sizes(struct arena *a, const struct node *n, int i, size_t *count);
const int64_t *move_known_ints(struct arena *a, const struct node *n, int i, size_t *count);

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* For operators that only rename dimensions: dx = dy in x's shape. */
bool move_reshape_grad(struct grad_ctx *c);

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* to[k] = from[j], of the same dtype */
void move_element(struct eval_tensor *to, int64_t k, const struct eval_tensor *from, int64_t j);
/* to at each index p = from[offset + sum(stride[d] * p[d])] */
void move_read_strided(struct eval_tensor *to, const struct eval_tensor *from, int64_t offset, const int64_t *stride);
/* to[offset + sum(stride[d] * p[d])] = from at each index p */
void move_write_strided(struct eval_tensor *to, int64_t offset, const int64_t *stride, const struct eval_tensor *from);
/* For .eval: output 0 is input 0, element by element in row-major order. */
bool move_reshape_eval(struct eval_ctx *c);

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* For .lower: output 0 is input 0 under another shape. */
bool move_reshape_lower(struct lower_ctx *c);
/* 0 of any type. */
const struct expr *move_zero(struct lower_ctx *c, enum dtype dtype);
/* A kernel that fills output 0 with `fill`, then copies `from` (where not NULL and not empty) to `place`, a view of
 * output 0 of from's shape. */
bool move_fill_and_place(struct lower_ctx *c, const struct expr *fill, const struct view *from,
                         const struct view *place);

#endif
