/* Internal to plan/: results that take the place of an operand that dies. */
#ifndef STEPC_PLAN_IN_PLACE_H
#define STEPC_PLAN_IN_PLACE_H

#include "plan/plan.h"

/* `result` may be written where `operand` lies: the kernel reads no element of it after it has written that element. */
struct in_place {
    struct buffer *operand, *result;
};
typedef VEC(struct in_place) in_place_list;

/* All pairs of temporaries of a kernel for which that holds, wherever the kernel stands, in a stable order; at
 * most IN_PLACE_MOST. `is_output`, by buffer id, marks temporaries that the entry may keep in the caller's memory:
 * they take no part. */
void in_place_find(struct arena *a, const struct kernel *k, const bool *is_output, in_place_list *out);
#define IN_PLACE_MOST 64

/* May pair i be done beside those before it that are `taken`? One operand gives its place to one result. */
bool in_place_is_free(const in_place_list *pairs, const bool *taken, size_t i);

/* Marks the temporaries that are copied to an output as a whole, by buffer id. */
bool *in_place_outputs(struct arena *a, const struct lowered *l);

#endif
