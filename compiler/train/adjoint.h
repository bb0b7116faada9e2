/* Differentiation: Gradient nodes become ordinary nodes. Reverse mode on the graph; every rule is a rewrite in terms of
 * operators, so that gradients of gradients come free.
 * Spec: ONNX Gradient-1 and docs/readings.md, R18 to R28. */
#ifndef STEPC_TRAIN_ADJOINT_H
#define STEPC_TRAIN_ADJOINT_H

#include "graph/build.h"

/* The context of one rule: node y1.. = op(x1..), given adjoints of outputs, wanted adjoints of inputs. */
struct grad_ctx {
    struct builder *b; /* places nodes where adjoints go; locations say "gradient of node 'fc1'" */
    struct node *node; /* the primal node */
    struct value **dy; /* per output, NULL: zero */
    struct value **dx; /* per input, what was accumulated so far by this rule */
    const bool *wanted; /* per input */
};

/* The primal's values. */
struct value *grad_input(const struct grad_ctx *c, int i);  /* NULL where omitted */
struct value *grad_output(struct grad_ctx *c, int i); /* makes the output exist if nobody wanted it before */
int grad_input_count(const struct grad_ctx *c);
/* Adjoint flowing into output i: a tensor of zeros if nothing flows. grad_has_output: does something flow? */
struct value *grad_of_output(struct grad_ctx *c, int i);
bool grad_has_output(const struct grad_ctx *c, int i);
/* Is the adjoint of input i asked for? Rules need not check: accumulating what is not wanted is dropped, but expensive
 * nodes should not be built for nothing (dead ones are removed anyway). */
bool grad_wants(const struct grad_ctx *c, int i);
double grad_attr_float(const struct grad_ctx *c, const char *name);
int64_t grad_attr_int(const struct grad_ctx *c, const char *name);
/* Adds v to the adjoint of input i. v may be of a broadcast shape: it is summed back to the input's shape here and
 * nowhere else. Returns !c->b->failed. */
bool grad_accumulate(struct grad_ctx *c, int i, struct value *v);

/* For .grad: no input carries a gradient (Shape, Less, ArgMax). */
bool grad_none(struct grad_ctx *c);
/* For .grad: refused, with a reason in the operator's file: reports "the gradient of X is not defined". */
bool grad_undefined(struct grad_ctx *c);

/* Replaces every Gradient node of g by ordinary nodes, inner ones first. All missing rules are reported at once, each
 * with the path from y. */
bool adjoint_expand(struct graph *g) MUST_USE;

#endif
