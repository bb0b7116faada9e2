/* Do the two engines agree? Kernel by kernel from equal inputs, and over whole runs. */
#ifndef STEPC_ENGINE_COMPARE_H
#define STEPC_ENGINE_COMPARE_H

#include "engine/engine.h"

struct compare_options {
    struct pipeline_options pipeline;
    const char *cc;
    bool bits;     /* reproducible code against ARITHMETIC_SAME: every bit must agree */
    uint64_t seed; /* of the random inputs and of init() */
    int64_t steps; /* of the whole run */
    bool runs_only;   /* no kernel by itself */
    bool every_count; /* of a range in turn; else the lowest, one in the middle, the highest */
    /* What is fed to the input in that step, in `a`; NULL: what is made up. May be NULL. */
    const struct tensor *(*feed)(void *feeder, const char *name, int64_t step, struct arena *a);
    void *feeder;
};

/* Result of one kernel or one run. */
struct compare_line {
    const char *entry, *what; /* "step", "product_relu" */
    const char *worst_at;     /* output with the largest error */
    double ratio;             /* error over tolerance; above 1 the engines disagree */
    bool ok;
};
struct compare_report {
    VEC(struct compare_line) lines;
    bool ok;
};

/* Kernels: each kernel's nodes become an entry of their own, fed with the values that the interpreter computed for the
 * whole entry, rounded to their dtype. Floats must agree within a multiple of what moving every input by one rounding
 * unit does to the result (a backward error: sums are held against the sum of their terms' magnitudes this way), or
 * else each element within what its own operations can be off by (error_bound.h: an optimizer's quotient near 0
 * magnifies). Integers and random numbers exactly; under `bits` everything exactly. Runs: init() and `steps` times
 * each training entry on random inputs, then twice more with outputs that are NULL at random; under `bits` outputs and
 * variables must agree to the bit, else the difference is reported only. */
bool compare_engines(struct diag *d, struct arena *a, const struct model *m, const struct compare_options *o,
                     struct compare_report *out) MUST_USE;

#endif
