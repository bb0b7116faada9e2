/* Internal to plan/: kernels as tasks, with what must run before what. */
#ifndef STEPC_PLAN_TASKS_H
#define STEPC_PLAN_TASKS_H

#include "plan/in_place.h"

struct task {
    struct kernel *kernel; /* NULL: no kernel; it only stands between those that can fail and those that write state */
    VEC(int) successors, predecessors;
    bool writes_state, can_fail;
    buffer_list reads, writes;
    buffer_list touches;    /* temporaries read or written, and scratch; each once */
    VEC(int) touched;       /* their ids */
    in_place_list in_place; /* what may take the place of what */
};

struct task_list {
    struct arena *arena;
    struct task *tasks; /* kernels in the given order, which is legal */
    int count;
    int64_t *bytes;     /* by buffer id: what a temporary takes in the arena */
    int *touches;       /* by buffer id: how many tasks touch it */
    size_t buffer_count;
};

/* A check that stands behind a write to the state becomes a kernel of its own in front of it (l->kernels grows). False
 * (reported) if no order lets every kernel that can fail run before the first write to the state. */
bool tasks_make(struct diag *d, struct arena *a, struct lowered *l, struct task_list *out) MUST_USE;

/* Bytes that a buffer takes, with alignment. */
int64_t plan_buffer_bytes(const struct buffer *b);

#endif
