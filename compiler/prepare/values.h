/* What the elements of a tensor say about it: nobody initializes a parameter with a table of sines, a mask or a
 * row of equal steps. */
#ifndef STEPC_PREPARE_VALUES_H
#define STEPC_PREPARE_VALUES_H

#include "tensor/tensor.h"

/* All elements equal, and there is one. */
bool values_are_all(const struct tensor *t, double x);
bool values_are_uniform(const struct tensor *t);
/* "a mask": what is not finite or so large that nothing is left of it, or zeros and ones; NULL: it is none. */
const char *values_of_mask(const struct tensor *t);
/* What a tensor that nobody draws at random looks like: "a mask", "sines", ...; NULL: it may be a parameter. */
const char *values_made_by_rule(const struct tensor *t);
/* Is it a mask or a table of sines? The other rules may be somebody's start for a parameter, too. */
bool values_are_surely_made(const struct tensor *t);
/* The weight of a convolution, [filters, channels, kernel...]: the same filter for every channel, which equals its
 * reflection or the negative of that: a blur, an edge detector. */
bool values_are_fixed_filters(const struct tensor *t);
/* Rows of one 1 and else 0, but not the identity: a choice or an exchange of elements. */
bool values_are_permutation(const struct tensor *t);

#endif
