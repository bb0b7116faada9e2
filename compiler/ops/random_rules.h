/* The seed of random operators. Internal to ops/. */
#ifndef STEPC_OPS_RANDOM_RULES_H
#define STEPC_OPS_RANDOM_RULES_H

#include "ops/op.h"

/* The key of a node with the attribute `seed`: a float is truncated to an integer (R33 in docs/readings.md), Dropout's
 * is an integer. False where the node has none: the model's seed is meant. */
bool random_seed(const struct node *n, uint64_t *seed);
/* Lets the node's own seed, if any, replace the model's. Call before eval_uniform() and eval_normal(). */
void random_start_eval(struct eval_ctx *c);

/* For .plain: draws as nodes of ai.onnx, the same numbers as of eval_uniform(); those of eval_normal() but for the last
 * digits, which are those of the runtime's functions. `d` is float or double. */
struct value *random_build_uniform(struct expand_ctx *c, enum dtype d, const struct shape *s);
struct value *random_build_normal(struct expand_ctx *c, enum dtype d, const struct shape *s);

#endif
