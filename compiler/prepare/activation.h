/* The Softmax or Sigmoid that a network ends in, whatever moves or converts its elements behind it, and however it is
 * spelled:
 *
 *   p = Softmax(z)  c = Cast(p)  y = Reshape(c)        e = Exp(Sub(z, ReduceMax(z)))  y = Div(e, ReduceSum(e))
 *
 * A loss of scores reads what stands in front of it, moved and converted likewise. */
#ifndef STEPC_PREPARE_ACTIVATION_H
#define STEPC_PREPARE_ACTIVATION_H

#include "prepare/prepare_internal.h"

enum activation_kind { ACTIVATION_NONE, ACTIVATION_SOFTMAX, ACTIVATION_LOG_SOFTMAX, ACTIVATION_SIGMOID };

struct activation {
    enum activation_kind kind;
    const struct model_node *node; /* its last one */
    const char *name;              /* "Softmax" */
    const char *scores;            /* what it is applied to */
    bool has_axis;                 /* of a Softmax: the one that it runs over, in the way of its node's opset */
    int64_t axis;
    bool flattens; /* over all axes from that one on */
    VEC(const struct model_node *) moves; /* behind it, the last one first */
};

/* What `name` is the result of; false: of none. */
bool find_activation(const struct preparer *p, const char *name, struct activation *out);
/* The same where nodes stand behind it that compute with its results alone: a Clip, a product with a constant. *behind:
 * the last of them. */
bool find_hidden_activation(const struct preparer *p, const char *name, struct activation *out,
                            const struct model_node **behind);

#endif
