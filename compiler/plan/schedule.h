/* Internal to plan/: the order of kernels. */
#ifndef STEPC_PLAN_SCHEDULE_H
#define STEPC_PLAN_SCHEDULE_H

#include "plan/plan.h"

/* Puts l->kernels into the order of lowest peak that the search finds. False (reported) only if no order lets every
 * kernel that can fail run before the first write to the state. */
bool schedule_kernels(struct diag *d, struct lowered *l) MUST_USE;

/* Some legal order, drawn at random: what schedule_kernels() is measured against. */
bool schedule_at_random(struct diag *d, struct lowered *l, uint64_t seed) MUST_USE;

/* Largest sum of bytes alive at once in the order of l->kernels, results in place of what dies where that may be. */
bool schedule_peak(struct diag *d, struct lowered *l, int64_t *peak) MUST_USE;

#endif
