/* What `stepc inspect` says about a compiled program. */
#ifndef STEPC_REPORT_REPORT_H
#define STEPC_REPORT_REPORT_H

#include "plan/plan.h"

/* Entries with inputs and outputs, variables, kernels with their floating-point operations and bytes, memory against the
 * lower bound; plain text. plans[i] belongs to entries[i]. */
const char *report_text(struct arena *a, const struct program *p, struct plan *const *plans);

#endif
