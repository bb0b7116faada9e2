/* run --hash: what a run has computed, as three numbers that anybody can compute again (docs/recipes.md). */
#ifndef STEPC_CMD_RUN_DIGEST_H
#define STEPC_CMD_RUN_DIGEST_H

#include "base/hash.h"
#include "engine/engine.h"

struct run_digest {
    struct sha256 curve, outputs; /* of the steps so far */
};

void run_digest_begin(struct run_digest *d);
/* What a step gave, one tensor for each output of its graph. */
void run_digest_step(struct run_digest *d, const struct graph *g, struct tensor *const *outputs);
/* Three lines, those of the steps and of the state as it is now. Ends *d. */
void run_digest_print(struct run_digest *d, struct engine *e, struct arena *a);

#endif
