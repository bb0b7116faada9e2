/* Recomputation (--ram): what an entry would keep from early to late is computed a second time where it is read late,
 * until state and arena fit. Bits stay: the same nodes on the same operands.
 *
 *   h = Relu(c); ..; dc = Where(h > 0, ..)        h = Relu(c); ..; h.again = Relu(c); dc = Where(h.again > 0, ..)
 *
 * Chen and others 2016 (arXiv:1604.06174) keep some values of the way forwards and compute those between them again.
 * Here each value is weighed by itself, by what the memory plan and the count of operations then say. */
#ifndef STEPC_ENGINE_BUDGET_H
#define STEPC_ENGINE_BUDGET_H

#include "engine/pipeline.h"
#include "plan/plan.h"
#include "report/report.h"

/* Changes the canonical graphs of entries whose arena, with the state, takes more than o->ram bytes, and plans them
 * anew. Those that cannot fit are left as small as they could be made. False after a report. */
bool budget_fit(struct diag *d, struct arena *a, const struct program *p, const struct pipeline_options *o,
                struct plan **plans) MUST_USE;

/* The plain program, the smallest that recomputation makes, and some between them, from the largest on, each smaller
 * than the one before. The program that o describes has no range. */
bool budget_curve(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                  report_points *out) MUST_USE;

#endif
