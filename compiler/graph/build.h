/* Making nodes by operator name: used by gradients, expansions, version upgrades and rewrites.
 *
 * Of the arguments of a call, or the operands of an operator, one at most makes nodes, takes names or writes text: C
 * leaves their order open, gcc begins with the last and Clang with the first, and what stepc emits would depend on who
 * compiled it. Others get a statement of their own. Inside braces, as build() has them, both go from left to right. */
#ifndef STEPC_GRAPH_BUILD_H
#define STEPC_GRAPH_BUILD_H

#include "graph/op_def.h"

/* Where new nodes go and whom they belong to. */
struct builder {
    struct graph *graph;
    struct node *before;  /* new nodes stand before this one; NULL: at the end */
    struct loc loc;       /* given to new nodes (origin included) */
    const char *prefix;   /* new values are called prefix + operator name, "" allowed */
    uint32_t stream;      /* given to random nodes made here; 0: take a new stream */
    uint32_t counter;     /* likewise, with the stream */
    bool failed;          /* some build failed and was reported; results are then placeholders of the first input */
};

/* The general form: attrs ends with .name == NULL or is NULL; inputs may contain NULL (omitted); `outputs`
 * values are made. Never returns NULL. After a failed inference (reported; b->failed set) output 0 stands in
 * with input 0's type. */
struct node *build_node(struct builder *b, const char *op, const struct attr *attrs, struct value *const *inputs,
                        size_t count, size_t outputs);
/* One output. */
struct value *build_value(struct builder *b, const char *op, const struct attr *attrs, struct value *const *inputs,
                          size_t count);

/* build(c, "Mul", a, b): c is any context with a member `struct builder *b` (grad_ctx, expand_ctx,
 * upgrade_ctx, ...). */
#define build(c, op, ...)                                                                                              \
    build_value((c)->b, (op), NULL, (struct value *const[]){__VA_ARGS__},                                              \
                sizeof((struct value *const[]){__VA_ARGS__}) / sizeof(struct value *))
/* build_with(c, "ReduceSum", ATTRS(attr_int("keepdims", 1)), x, axes) */
#define build_with(c, op, attrs, ...)                                                                                  \
    build_value((c)->b, (op), (attrs), (struct value *const[]){__VA_ARGS__},                                           \
                sizeof((struct value *const[]){__VA_ARGS__}) / sizeof(struct value *))

/* Constants. A scalar (rank 0) of x's dtype; of a given dtype; int64 list (rank 1); int64 scalar; any tensor. */
#define build_like(c, x, number) build_scalar((c)->b, (x)->dtype, (number))
struct value *build_scalar(struct builder *b, enum dtype dtype, double x);
struct value *build_ints(struct builder *b, const int64_t *x, size_t count);
struct value *build_dims(struct builder *b, const struct shape *s); /* a list, of sizes */
struct value *build_int(struct builder *b, int64_t x);
struct value *build_size(struct builder *b, struct size x);
struct value *build_constant(struct builder *b, const struct tensor *t);
/* A table of stepc's own, so many elements long: a few lines of a model can ask for any. False, and said: with those
 * of the program before it is too much. build_constant() asks itself. */
bool table_spend(struct program *p, const struct loc *at, int64_t count) MUST_USE;
/* first, first + 1, ... in the shape s, of which one dimension may be other than 1. A long list has no storage: it
 * comes from a Range. */
struct value *build_counter(struct builder *b, enum dtype dtype, int64_t first, const struct shape *s);
/* A constant tensor of one repeated number with the dtype and shape of x (as Expand of a scalar, no storage). */
struct value *build_full_like(struct builder *b, struct value *x, double number);

/* Frequent shapes of code. */
/* Reshape to constant dims; x itself if equal */
struct value *build_reshape(struct builder *b, struct value *x, const struct shape *to);
struct value *build_transpose(struct builder *b, struct value *x, const int *perm);        /* rank entries */
/* A constant 0 where x->zero_sum says so: the sum itself would be rounding errors, which an optimizer
 * like Adam magnifies. */
struct value *build_reduce_sum(struct builder *b, struct value *x, const int *axes, size_t count, bool keepdims);
struct value *build_expand(struct builder *b, struct value *x, const struct shape *to);    /* x itself if equal */
struct value *build_cast(struct builder *b, struct value *x, enum dtype to);               /* x itself if equal */

/* v, called by prefix + name if this builder has made it. */
struct value *build_called(struct builder *b, const char *name, struct value *v);
/* Readers of `old` read v, of the same type, from now on. If b made v, v takes over old's name. */
void build_replace(struct builder *b, struct value *old, struct value *v);

/* A node of an older version on its way to the newest form. The callback changes c->node in place (attributes, inputs)
 * or builds other nodes before it. Inputs made here are constants. */
struct upgrade_ctx {
    struct builder *b;
    struct node *node; /* not yet inferred: outputs have no shape; inputs do */
    struct diag *diag;
    int opset; /* version imported for the domain */
};
#define upgrade_error(c, ...) diag_error((c)->diag, &(c)->node->loc, __VA_ARGS__)
/* attribute (ints, or int for a list of one) -> input number `at` as an int64 constant of rank 1. Absent: nothing, so
 * the default of the old version, if the input has another one, is set as an attribute first (ops/dft.c). */
bool upgrade_attr_to_input(struct upgrade_ctx *c, const char *attr, int at);
/* float attribute -> scalar constant input of the dtype of input 0 */
bool upgrade_float_attr_to_input(struct upgrade_ctx *c, const char *attr, int at);
/* Opset 1: the attribute `consumed_inputs` (in-place hints) is dropped. */
bool upgrade_drop_consumed_inputs(struct upgrade_ctx *c);
/* Opsets 1 to 6: attributes `broadcast` and `axis` of two-operand operators; the second operand is reshaped so that the
 * newest form's broadcasting does the same. Drops `consumed_inputs` too. */
bool upgrade_broadcast_attr(struct upgrade_ctx *c);

/* What a model is written for (compiler/expand). */
struct plain_target {
    int opset;                     /* of ai.onnx */
    bool native_random;            /* the runtime draws random numbers as it likes */
    struct value *seed;            /* int64 scalars; NULL where nothing draws */
    struct value *const *counters; /* by number in program->counters */
};

/* A composite on its way to other nodes: replaces each wanted output. */
struct expand_ctx {
    struct builder *b;
    struct node *node;
    const struct plain_target *target; /* of the rule `plain`, else NULL */
};
struct value *expand_in(const struct expand_ctx *c, int i); /* NULL where omitted */
bool expand_wants(const struct expand_ctx *c, int output);
/* Readers of output i read v from now on. Returns !b->failed. */
bool expand_out(struct expand_ctx *c, int i, struct value *v);
/* Replaces the node's outputs by its rule `expand`, or by constants where it makes no elements. */
bool expand_node(struct expand_ctx *c);

#endif
