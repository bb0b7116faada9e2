/* The interpreter: runs a program's entries node by node. */
#ifndef STEPC_INTERP_INTERP_H
#define STEPC_INTERP_INTERP_H

#include "eval/eval.h"

/* Everything that changes: variables (rounded to their dtype), seed, counters. */
struct interp {
    struct arena *arena;
    const struct program *program;
    enum arithmetic arithmetic;
    struct tensor **variables; /* by variable->index */
    uint64_t seed;
    uint64_t *counters; /* of program->counters: they are part of the state */
};

struct interp *interp_new(struct arena *a, const struct program *p, enum arithmetic arithmetic);
/* Stored initial values, counters 0, then the init entry's graph with the given seed. */
bool interp_init(struct interp *s, uint64_t seed, struct diag *d) MUST_USE;

/* Is `t` what may be fed to an input, where it has that shape? */
bool interp_check_input(struct diag *d, const struct loc *at, const struct value *input, const struct tensor *t,
                        const struct shape *shape) MUST_USE;

/* Asked for by name beside the declared outputs (any value of the graph, by its name). */
struct interp_fetch {
    const char *name;
    struct tensor *tensor; /* set by the run, in `a` */
};

/* Runs one entry: inputs in the graph's order; outputs (if not NULL) get one tensor per graph output, fetches any
 * value. Bindings are written at the end, rounded to the variable's dtype, and the entry's counters advance, only
 * if nothing failed. */
bool interp_run(struct interp *s, const struct entry *e, const struct tensor *const *inputs, struct tensor **outputs,
                struct interp_fetch *fetches, size_t fetch_count, struct arena *a, struct diag *d) MUST_USE;

#endif
