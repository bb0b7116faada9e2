/* Schedule and memory: the order of kernels, and where temporaries lie in the arena of a call. */
#ifndef STEPC_PLAN_PLAN_H
#define STEPC_PLAN_PLAN_H

#include "lower/kernel.h"

/* One entry, ready to be printed. */
struct plan {
    const struct lowered *lowered; /* kernels in final order; buffers have their arena_offset */
    size_t arena_bytes;            /* of this entry, with alignment */
    size_t bound_bytes;            /* largest sum of bytes alive at once: no packing can do better in this order */
    struct plan_life {
        int first, last;           /* kernels (positions) that write first and read last; -1: never */
    } *life;                       /* by buffer id */
};

#define PLAN_ALIGN 64 /* bytes: a cache line and the widest vector */

/* Reorders kernels: those that can fail before the first write to a variable, every reader of a variable before its
 * update, updates early, and among what is ready the kernel that lets most bytes die. Then offsets. */
bool plan_entry(struct diag *d, struct lowered *l, struct plan **out) MUST_USE;

#endif
