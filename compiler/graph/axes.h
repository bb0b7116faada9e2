/* Which axes of a node's operands and results run together, so that parts of them can be computed apart from others.
 * Axes with the same label are cut in the same way: a part of the result needs that part of the operands. A label that
 * operands have and a result has not is summed (or multiplied, or searched) over: what the parts give is put together.
 * Axes without a label must be whole.
 *
 *   MatMul   a[m,k] b[k,n] = y[m,n]      k is summed over
 *   Softmax  x[n,-] = y[n,-]             with axis 1, which is whole
 *
 * devices/ follows the distribution over devices by it. Reshapes have no rule: their axes are of other sizes, and
 * devices/shards.h knows how parts go through. */
#ifndef STEPC_GRAPH_AXES_H
#define STEPC_GRAPH_AXES_H

#include "graph/op_def.h"

enum { AXIS_WHOLE = 0 };
typedef int axis_labels[SHAPE_MAX_RANK];

struct axes_ctx {
    const struct node *node;
    axis_labels *in, *out; /* by operand and axis; omitted ones have none */
    int labels;            /* AXIS_WHOLE and those made */
};

/* By the node's rule, or by what the flags of its operator say. False: nothing is known of it. */
bool node_axes(struct arena *a, const struct node *n, struct axes_ctx *out);

/* For .axes. An axis that an operand has not is left alone. */
int axes_label(struct axes_ctx *c);                             /* a new one */
void axes_put(struct axes_ctx *c, int input, int axis, int label);
void axes_give(struct axes_ctx *c, int output, int axis, int label);
/* Axis `from` of the input is axis `to` of the output. */
void axes_pass(struct axes_ctx *c, int input, int from, int output, int to);
/* Equal shapes: all axes; or all but one, or those in front of it. */
void axes_pass_all(struct axes_ctx *c, int input, int output);
void axes_pass_but(struct axes_ctx *c, int input, int output, int axis);
void axes_pass_before(struct axes_ctx *c, int input, int output, int axis);
/* The input's axes, from the last one on, with those of output 0; what has one element broadcasts. */
void axes_pass_broadcast(struct axes_ctx *c, int input);

/* Rules of several operators: output 0 is all inputs broadcast together; axes 0, samples, and 1, channels, are apart;
 * axis 0 alone is. */
void axes_broadcast(struct axes_ctx *c);
void axes_samples_and_channels(struct axes_ctx *c);
void axes_samples(struct axes_ctx *c);

#endif
