/* A training run that meets NaN or infinity: which node made the first one?
 *
 * The state is copied every few steps. When an output turns out not finite, the interpreter runs the steps
 * since an older copy again on the same inputs and follows the value back, through the variables into earlier
 * steps where it must. */
#ifndef STEPC_CMD_NOT_FINITE_H
#define STEPC_CMD_NOT_FINITE_H

#include "cmd/cmd.h"

/* Copies of the state: between HISTORY_STEPS and twice as many steps can be run again. */
enum { HISTORY_STEPS = 8 };

struct state_copy {
    struct arena arena;
    struct tensor **variables; /* by variable->index; NULL: no copy yet */
    int64_t step;              /* the next to be run from here */
    uint64_t *counters;        /* of its random numbers */
};

struct history {
    struct state_copy copies[2];
    int newest;
};

/* What is fed in a step, in the entry's order (in `a`); the tensors of earlier steps can be asked for again. */
struct step_feeds {
    bool (*inputs)(void *self, int64_t step, struct arena *a, const struct tensor ***inputs);
    void *self;
};

/* To be called before each step. */
void history_keep(struct history *h, struct engine *e, int64_t step);
/* Reports where output `output` of step `step` became not finite, as notes to the error reported before. */
void history_explain(const struct history *h, struct session *s, struct engine *e, enum arithmetic arithmetic,
                     const struct entry *entry, const struct step_feeds *feeds, int64_t step, size_t output);
void history_free(struct history *h);

#endif
