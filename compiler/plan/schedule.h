/* Internal to plan/: the order of kernels. */
#ifndef STEPC_PLAN_SCHEDULE_H
#define STEPC_PLAN_SCHEDULE_H

#include "plan/plan.h"

/* False (reported) only if no order lets every failing kernel run before the first state write. */
bool schedule_kernels(struct diag *d, struct lowered *l) MUST_USE;

#endif
