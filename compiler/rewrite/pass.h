/* Rewrites from graph to graph, run as a table in a fixed order; after each the graph can be printed (--dump-after
 * PASS) and is checked in debug builds. */
#ifndef STEPC_REWRITE_PASS_H
#define STEPC_REWRITE_PASS_H

#include "graph/graph.h"
#include <stdio.h>

struct pass_options;

/* For program->fold: the content of v if it follows from constants and shapes alone (integers, bools and shapes always;
 * floats in contract arithmetic), at most 65,536 elements; cached in v->constant. */
const struct tensor *fold_value(struct value *v);
/* Of integers that were folded, whose inputs are known: what they are as sizes, as in struct tensor (fold_sizes.c). */
const int64_t *fold_sizes(const struct node *n, size_t output, struct arena *scratch);

/* The one element that all elements of v equal, bit for bit, if that is known at compile time; else NULL. Sees through
 * Expand, so that v may be of any size. */
const struct tensor *uniform_value(struct graph *g, struct value *v);

/* What rewrite_recognise() has found. */
enum recognised_kind { RECOGNISED_LOGARITHM, RECOGNISED_QUOTIENT, RECOGNISED_NORM, RECOGNISED_KINDS };
struct recognised {
    enum recognised_kind kind;
    const char *name; /* of the node as the model has it; of its output, if it has none */
};
typedef VEC(struct recognised) recognised_list;

/* Before differentiation, once, for both arithmetics: spellings that lose digits or become NaN -> operators that
 * compute the same well. Found ones are added to the list, which may be NULL. False after a report. */
bool rewrite_recognise(struct graph *g, recognised_list *found) MUST_USE;

/* Each returns false only after a report. They keep the meaning: under ARITHMETIC_SAME the bits. */
/* composites without lowering -> primitives */
bool rewrite_expand(struct graph *g);
/* The same but for those that o->stays says; o may be NULL */
bool rewrite_expand_some(struct graph *g, const struct pass_options *o);
/* nodes with known results -> constants (repeated numbers: Expand of a scalar) */
bool rewrite_fold(struct graph *g);
/* local rules: x*1, x+0 for integers, no-op casts and reshapes, double transpose, Where with known condition ... */
bool rewrite_simplify(struct graph *g);
/* equal nodes become one (not random ones) */
bool rewrite_cse(struct graph *g);
/* what no output and no binding needs goes; trailing unwanted node outputs become NULL */
bool rewrite_dce(struct graph *g);

/* Of init() alone, once it is canonical: bindings to zeros become initial values. */
bool rewrite_zeros(struct graph *g);

/* Of a canonical graph that kernels are made of: a batch that is computed in parts becomes a region (roll.c). A second
 * time changes nothing. */
bool rewrite_roll(struct graph *g) MUST_USE;
/* Likewise: the value `large` is computed in `count` strips, with what makes and reads it (strips.c). *done: it could
 * be; else nothing has changed. */
bool rewrite_strips(struct graph *g, struct value *large, int64_t count, bool *done) MUST_USE;
/* Of one that small kernels are made of: operators that take less memory. Likewise. */
bool rewrite_shrink(struct graph *g) MUST_USE;

struct pass_options {
    const char *dump_after; /* a pass's name or NULL */
    FILE *dump_to;
    /* Composites that are not taken apart; NULL: all are, as what is lowered must be. */
    bool (*stays)(const struct node *n, void *to);
    void *stays_to;
};
/* The passes that dump_after may name, in order; NULL-terminated. */
extern const char *const pass_names[];
/* All of the above to the canonical graph (DESIGN.md), repeated until nothing changes. */
bool canonicalise(struct graph *g, const struct pass_options *o) MUST_USE;

#endif
