/* Which values of an entry are computed in strips (rewrite_strips()): those without which its arena is smaller. */
#ifndef STEPC_ENGINE_STRIPS_H
#define STEPC_ENGINE_STRIPS_H

#include "engine/pipeline.h"
#include "plan/plan.h"

/* Changes the canonical graph of the entry with the largest arena, as long as that makes it smaller, and plans it anew:
 * all entries share one. Operations and bits stay. False after a report. */
bool strips_choose(struct diag *d, struct arena *a, const struct program *p, const struct pipeline_options *o,
                   struct plan **plans) MUST_USE;

#endif
