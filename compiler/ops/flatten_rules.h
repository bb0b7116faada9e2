/* Softmax, LogSoftmax and Hardmax before opset 13: the input is flattened to a matrix at `axis`, and what counts is its
 * rows. */
#ifndef STEPC_OPS_FLATTEN_RULES_H
#define STEPC_OPS_FLATTEN_RULES_H

#include "ops/op.h"

/* For .upgrade from 11 to 13: one axis where that is the same, else y = Reshape(OP(Reshape(x, [rows, columns])),
 * shape). */
bool flatten_upgrade(struct upgrade_ctx *c);

#endif
