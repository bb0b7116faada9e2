/* How elements that meet at one place are taken together: by ScatterElements, ScatterND and stepc.Scatter. */
#ifndef STEPC_OPS_SCATTER_ROWS_H
#define STEPC_OPS_SCATTER_ROWS_H

#include "ops/index_rules.h"

enum scatter_reduction {
    SCATTER_ADD,
    SCATTER_MUL,
    SCATTER_MAX,
    SCATTER_MIN,
    SCATTER_NONE,
    SCATTER_UNKNOWN
}; /* as in templates/scatter.c */

/* Of the attribute `reduction`. */
enum scatter_reduction scatter_reduction(const struct node *n);
/* Checks the attribute. */
bool scatter_infer_reduction(struct infer_ctx *c);

/* to[k] = to[k] and from[j] taken together, in the arithmetic of the node. For bool, sums are OR and products AND. */
void scatter_combine(const struct eval_ctx *c, enum scatter_reduction r, struct eval_tensor *to, int64_t k,
                     const struct eval_tensor *from, int64_t j);

#endif
