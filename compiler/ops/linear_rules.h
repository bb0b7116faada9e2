/* How QLinearMatMul and QLinearConv end: a sum in int32 times a scale becomes an integer of 8 bits. For ops/ only. */
#ifndef STEPC_OPS_LINEAR_RULES_H
#define STEPC_OPS_LINEAR_RULES_H

#include "ops/op.h"

/* Inputs `scale` and `zero` of the node, one number each; reports where not. */
bool linear_infer_result(struct infer_ctx *c, int scale, int zero);
/* saturate(round(sum * factor / scale) + zero): factor is a float that broadcasts to the sum, `scale` and `zero` are
 * numbers of inputs. */
struct value *linear_build_result(struct expand_ctx *c, struct value *sum, struct value *factor, int scale, int zero);
/* The same for one sum, whose factor is a product of two scales. */
int64_t linear_eval_result(const struct eval_ctx *c, int64_t sum, double left, double right, int scale, int zero);

#endif
