/* What products of matrices share: MatMul, MatMulInteger, QLinearMatMul. An operand of rank 1 is a row (on the left) or
 * a column (on the right), and its axis of one is taken out of the result. */
#ifndef STEPC_OPS_MATMUL_RULES_H
#define STEPC_OPS_MATMUL_RULES_H

#include "ops/op.h"

/* The product with all ranks equal and at least 2: a[outer.., m, k] b[outer.., k, n] = y[outer.., m, n]; outer dims of
 * a and b may be 1. */
struct matmul_sizes {
    struct shape a, b, y;
    int outer; /* number of outer dims */
    int64_t m, n, k;
};

/* False where the outer dims do not broadcast. */
bool matmul_sizes_of(const struct shape *a, const struct shape *b, struct matmul_sizes *out);

/* ---- inference --------------------------------------------------------------------------------------------------- */

/* Output 0, of the dtype given, from the inputs numbered a and b; reports what does not fit. */
bool matmul_infer_product(struct infer_ctx *c, int a, int b, enum dtype dtype);

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Where the row of a, and the column of b, begin that make the element of y at `index`: elements of the operands lie 1
 * and n apart there. */
int64_t matmul_row(const struct matmul_sizes *p, const int64_t *index);
int64_t matmul_column(const struct matmul_sizes *p, const int64_t *index);

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* Input i, of shape `promoted` with leading ones, as [outer.., rows, columns] with outer dims stretched to those of the
 * result. */
struct view matmul_operand(struct lower_ctx *c, int i, const struct shape *promoted, const struct matmul_sizes *p);

#endif
