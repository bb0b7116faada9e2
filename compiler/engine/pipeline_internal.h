/* What pipeline.c, range.c and unfed.c share; included nowhere else. */
#ifndef STEPC_ENGINE_PIPELINE_INTERNAL_H
#define STEPC_ENGINE_PIPELINE_INTERNAL_H

#include "engine/pipeline.h"
#include "lower/lower.h"

/* ---- pipeline.c -------------------------------------------------------------------------------------------------- */

/* pipeline_program() without a range. */
bool pipeline_one_program(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                          struct program **out) MUST_USE;
/* What pipeline_options.given leaves out (unfed.c). */
bool pipeline_leave_out_unfed(struct arena *a, const struct model *m, struct program *p,
                              const struct pipeline_options *o) MUST_USE;
/* Brings all entries to their canonical form. */
bool pipeline_simplify(struct program *p, const struct pass_options *passes) MUST_USE;
/* Lowered, fused, and in the forms that options ask for; late: sizes may be known late. */
bool pipeline_kernels(struct diag *d, struct arena *a, const struct entry *e, const struct pipeline_options *o,
                      bool late, struct lowered **out) MUST_USE;

/* The same, then cut into shares and planned. */
bool pipeline_plan_entry(struct diag *d, struct arena *a, const struct program *p, size_t entry,
                         const struct pipeline_options *o, struct plan **out) MUST_USE;

/* ---- range.c: programs with a range ------------------------------------------------------------------------------ */

/* The program's range and its programs for other counts; notes which sizes of arguments are late. */
bool range_add_probes(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                      struct program *p) MUST_USE;
/* Canonical forms of these; those of all counts must be what these and that of the program say. */
bool range_simplify(struct diag *d, const struct model *m, const struct pipeline_options *o,
                    struct program *p) MUST_USE;
/* Are there options that exclude a range? */
bool range_check_options(struct diag *d, const struct program *p, const struct pipeline_options *o) MUST_USE;
void range_choose_layouts(const struct program *p);
/* The kernels of an entry, in which late sizes are noted. */
bool range_kernels(struct diag *d, struct arena *a, const struct program *p, size_t entry,
                   const struct pipeline_options *o, struct lowered **out) MUST_USE;

#endif
