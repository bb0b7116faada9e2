/* Shared by recognise.c (the pass, quotients, norms) and logarithm.c (logarithms). */
#ifndef STEPC_REWRITE_RECOGNISE_H
#define STEPC_REWRITE_RECOGNISE_H

#include "graph/build.h"

struct recogniser {
    struct builder *b;        /* before the node at hand */
    const struct map *listed; /* names that Gradient nodes list: what is made there is nobody's business behind it */
    struct map *kept;         /* results at this node, see recognise_kept(): a value may be met by many ways */
};

/* How many nodes deep an expression is looked at. */
enum { RECOGNISE_DEPTH = 8 };

/* The node that makes v, if it may be looked through; of the operator `op`; else NULL. */
struct node *recognise_producer(const struct recogniser *r, const struct value *v);
struct node *recognise_made_by(const struct recogniser *r, const struct value *v, const char *op);
/* The node that makes v only moves elements of its input 0, floats, or casts them to floats. */
bool recognise_moves(const struct recogniser *r, const struct value *v);
/* What stands for v if the node that makes v reads these inputs instead. */
struct value *recognise_again(const struct recogniser *r, const struct value *v, struct value *const *inputs);
/* The same with another input 0. */
struct value *recognise_moved(const struct recogniser *r, const struct value *v, struct value *x);

/* Where what is made of v at this depth, in this manner, is kept; NULL there: it is not made yet. */
struct value **recognise_kept(const struct recogniser *r, const char *manner, const struct value *v, int depth);

/* Are all elements of v one number that is known when compiling? */
bool recognise_number(const struct recogniser *r, struct value *v, double *x);
bool recognise_one(const struct recogniser *r, struct value *v);
/* -x */
struct value *recognise_negated(const struct recogniser *r, struct value *x);
/* ReduceLogSumExp of x along the axes of the node, a sum or a logarithm of one. */
struct value *recognise_log_sum_exp(const struct recogniser *r, const struct node *sum, struct value *x);

/* Is x something minus a maximum of it, so that Exp(x) is at most 1? */
bool recognise_below_maximum(const struct recogniser *r, const struct value *x);

/* Each gives what replaces output 0 of the node, or NULL. */
struct value *recognise_log(const struct recogniser *r, struct node *n);
struct value *recognise_quotient(const struct recogniser *r, struct node *n);
struct value *recognise_reduce_log_sum(const struct recogniser *r, struct node *n);

#endif
