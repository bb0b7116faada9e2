/* What the reductions of reduce.c share: their axes, and their values, which one walk finds. reduce.c has the order of
 * sums. */
#ifndef STEPC_OPS_REDUCE_RULES_H
#define STEPC_OPS_REDUCE_RULES_H

#include "ops/op.h"

/* Of a node that inference has passed: is axis d reduced? */
void reduce_axes(const struct node *n, bool *reduced);
/* Elements that one result is made of. */
int64_t reduce_count(const struct node *n, const bool *reduced);
/* The result's shape with keepdims = 1. */
struct shape reduce_kept_shape(const struct node *n, const bool *reduced);

/* result = finish(fold of element(x)) */
struct reduction {
    enum { FOLD_SUM, FOLD_PROD, FOLD_MAX, FOLD_MIN } fold;
    enum { ELEMENT_PLAIN, ELEMENT_ABS, ELEMENT_SQUARE } element;
    enum { FINISH_PLAIN, FINISH_MEAN, FINISH_SQRT, FINISH_LOG } finish;
};

/* Where the elements of one result lie: result r, step s reads x[start[r] + step[s]], into lane[s]. */
struct fold_walk {
    int64_t results, steps;
    int64_t *start, *step;
    int *lane;
    bool *begins; /* another block of a sum */
};

struct fold_walk reduce_walk(struct eval_ctx *c);
/* Logarithms of sums of exponentials of integers are taken in double. */
enum dtype reduce_working_dtype(const struct eval_ctx *c);
/* An integer as a number. */
double reduce_wide(enum dtype d, int64_t x);
/* Of one result, whose elements lie along the walk from x on; not finished. */
double reduce_fold(const struct eval_ctx *c, const struct reduction *r, const struct fold_walk *w, const double *x);
/* Output 0. */
bool reduce_eval(struct eval_ctx *c, const struct reduction *r);

#endif
