/* From a node of the newest form of its operator to the form that an older opset has: the chain of upgrades (upgrade.h)
 * the other way round. For writing models. */
#ifndef STEPC_GRAPH_DOWNGRADE_H
#define STEPC_GRAPH_DOWNGRADE_H

#include "graph/build.h"

/* The node is not inferred again: its outputs keep their types. Rules may make constants, no other nodes. */
struct downgrade_ctx {
    struct builder *b;
    struct node *node;
    struct diag *diag;
    int opset;                        /* asked for */
    const struct op_version *version; /* whose form the node gets */
};
#define downgrade_error(c, ...) diag_unsupported((c)->diag, &(c)->node->loc, __VA_ARGS__)

/* Brings a node of ai.onnx to the form of `opset`. False after a report: the operator, an attribute, an operand or a
 * type of elements came later. */
bool downgrade_node(struct diag *d, struct node *n, int opset) MUST_USE;

/* Has the opset the operator, with the form, the attributes and the types of the node? Says and changes nothing. */
bool downgrade_fits(const struct node *n, int opset);

/* For rules `downgrade`: an input that is known, a list of integers, becomes an attribute; nothing where it is
 * omitted. */
bool downgrade_input_to_attr(struct downgrade_ctx *c, int at, const char *attr);
/* Takes an attribute out that lists nothing but ones, which is what its absence means. */
void downgrade_drop_ones(struct downgrade_ctx *c, const char *attr);

#endif
