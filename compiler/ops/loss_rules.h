/* What SoftmaxCrossEntropyLoss, NegativeLogLikelihoodLoss and their helpers share: scores [N, C, d1...], labels [N,
 * d1...], weights [C]; attributes reduction and ignore_index. Internal to ops/. */
#ifndef STEPC_OPS_LOSS_RULES_H
#define STEPC_OPS_LOSS_RULES_H

#include "ops/op.h"

enum loss_reduction { LOSS_NONE, LOSS_SUM, LOSS_MEAN };

extern const struct op_attr loss_attrs[];

/* Scores seen as [n, c, d]: d is the product of the dims after C. Position p = n index * d + d index. */
struct loss {
    int64_t n, c, d;
    enum loss_reduction reduction;
    bool has_ignore;
    int64_t ignore;
};
struct loss loss_of(const struct node *n); /* of a node that inference has passed */
/* The attribute ignore_index; false where it is absent or no label of the type of input 1 can have that value. */
bool loss_ignore_index(const struct node *n, int64_t *index);

/* Inputs 0, 1 and (if present) 2 and the attribute `reduction`. */
bool loss_infer_inputs(struct infer_ctx *c);
/* The same where input 1 has the shape of input 0. */
bool loss_infer_probabilities(struct infer_ctx *c);
/* For .axes: positions are apart, or summed over; classes are whole. */
void loss_axes(struct axes_ctx *c);
/* For .selects_from: labels are input 1. */
int64_t loss_selects_from(const struct node *n, int input);
struct shape loss_shape(const struct node *n); /* of the loss: of labels under LOSS_NONE, else scalar */

/* For .bounded: positions that are not meant are ignored. Output 1, where there is one, is like input 0. */
bool loss_bounded(struct bounded_ctx *c);

/* The label at position p: *ignored, or in [0, C); else reports and returns false. */
bool loss_label(const struct eval_ctx *c, const struct loss *l, int64_t p, int64_t *label, bool *ignored);
/* The weight of that position; input 2 are the weights of classes. */
double loss_weight(const struct eval_ctx *c, int64_t label, bool ignored);

/* The same in nodes. The context is any with a member `struct builder *b`. */
struct loss_nodes {
    struct builder *b;
    struct loss loss;
    struct value *scores, *labels, *weights; /* weights: NULL where omitted */
};
struct loss_nodes loss_nodes_of(struct builder *b, const struct node *n);
/* Weight of each position, of labels' shape; NULL: all are 1. */
struct value *loss_position_weights(struct loss_nodes *l);
/* Sum of all weights: a scalar (rank 0). */
struct value *loss_total_weight(struct loss_nodes *l, struct value *position_weights);
/* bool, of scores' shape: is c the label at (n, d...)? Ignored labels outside [0, C) are nowhere. */
struct value *loss_label_mask(struct loss_nodes *l);
/* bool, of labels' shape: is it the one to ignore? Exactly: not every int64 is a double. */
struct value *loss_is_ignored(struct builder *b, struct value *labels, int64_t ignore);
/* The loss, l->scores being logarithms of probabilities: NegativeLogLikelihoodLoss. */
struct value *loss_of_logarithms(struct loss_nodes *l);
/* x of labels' shape with an axis of one put where C is. */
struct value *loss_with_class_axis(struct builder *b, struct value *x);

#endif
