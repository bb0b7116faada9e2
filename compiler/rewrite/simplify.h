/* Shared by simplify.c (numbers, the table of rules) and simplify_layout.c (rules on shapes). */
#ifndef STEPC_REWRITE_SIMPLIFY_H
#define STEPC_REWRITE_SIMPLIFY_H

#include "graph/build.h"

struct rule_ctx {
    struct builder *b; /* before the node */
    struct node *node; /* output 0 is wanted */
};

struct value *rule_input(const struct rule_ctx *c, size_t i);
const struct value *rule_output(const struct rule_ctx *c); /* output 0 */
/* The node that makes v, if it is the operator `op`; else NULL. */
struct node *rule_producer(const struct value *v, const char *op);
/* x broadcast to the shape of output 0. */
struct value *rule_expand(struct rule_ctx *c, struct value *x);

/* Each returns what replaces output 0, or NULL; some change the node's inputs instead. */
struct value *simplify_reshape(struct rule_ctx *c); /* Flatten, Squeeze and Unsqueeze too */
struct value *simplify_transpose(struct rule_ctx *c);
struct value *simplify_expand(struct rule_ctx *c);
struct value *simplify_elementwise(struct rule_ctx *c); /* any operator: looks whether it is elementwise */

#endif
