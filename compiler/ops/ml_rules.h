/* What operators of ai.onnx.ml share: lists of attributes, numbers of any type, transformations of scores. */
#ifndef STEPC_OPS_ML_RULES_H
#define STEPC_OPS_ML_RULES_H

#include "ops/op.h"

#define ML_NUMBERS (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) | DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_INT32))

/* Elements of a list; 0 where the attribute is absent. */
size_t ml_count(const struct node *n, const char *name);
/* Element p of input 0, whatever its type. */
double ml_number_at(const struct eval_ctx *c, int64_t p);
/* Rows [N,F] of input 0, [F] being one row. */
int64_t ml_rows(const struct node *n);
struct size ml_rows_size(const struct node *n);
int64_t ml_features(const struct node *n);
/* Reports a rank other than 1 and 2, and rows without features. */
bool ml_check_rows(struct infer_ctx *c);

/* Transformations of scores [N,E]: NONE, LOGISTIC (the logistic function of each), SOFTMAX (of each row), SOFTMAX_ZERO
 * (the same, in which scores of 0 stay 0) and PROBIT (the normal distribution's quantile, by the formula that the
 * runtimes use: docs/readings.md). */
bool ml_check_transform(struct infer_ctx *c, const char *post);
void ml_transform(const char *post, int64_t rows, int64_t results, const double *from, double *to);
struct value *ml_transformed(struct expand_ctx *c, const char *post, struct value *scores);

/* A constant of such numbers. */
struct value *ml_constant(struct expand_ctx *c, enum dtype d, const double *x, const struct shape *s);

#endif
