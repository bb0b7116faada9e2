/* Inside of rewrite_roll() (pass.h). */
#ifndef STEPC_REWRITE_ROLL_H
#define STEPC_REWRITE_ROLL_H

#include "rewrite/into_region.h"
#include "rewrite/pass.h"

/* Add(Add(f1, f2), f3): the whole sum, that of the first two parts, and the first part's term. */
struct roll_sum {
    struct value *last, *first, *term;
    struct value *state; /* in the region */
};

/* A part reads, where the first one reads `start`, what the part before it made. */
struct roll_handed {
    struct value *start, **of;
};

/* What is computed of the whole batch, and in the first part: along this axis it is that of all parts, one behind the
 * other. */
struct roll_whole {
    struct value *whole, *of_part;
    int axis;
};

typedef VEC(struct value **) value_tuples;

struct roll {
    struct graph *graph;
    struct arena *arena; /* of the pass */
    size_t parts;
    struct value ***of;        /* by id of a value of the first part: what it is in each part; NULL: it is none */
    int *part;                 /* by id: the part that makes it, from 1 on, or has it from a Split; 0: none */
    bool *is_same;             /* by id: all parts read it */
    bool *is_sum;              /* by id: a sum of terms of the parts, or of the first of them */
    VEC(struct value *) noted; /* values of the first part, in the order in which they were found */
    VEC(struct roll_sum) sums;
    VEC(struct roll_handed) handed;
    VEC(struct roll_whole) wholes;
    struct into_region into;
};

/* Is it what a Split gives to a part? Along which axis? */
bool roll_is_slice(const struct roll *r, const struct value *v);
int roll_axis(const struct value *slice);

/* Fills in `wholes`. */
void roll_find_wholes(struct roll *r);

#endif
