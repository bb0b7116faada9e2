/* What the files of report/ share; included nowhere else. */
#ifndef STEPC_REPORT_REPORT_INTERNAL_H
#define STEPC_REPORT_REPORT_INTERNAL_H

#include "report/report.h"

#include "base/str.h"

/* ---- costs (cost.c) ---------------------------------------------------------------------------------------------- */

/* Floating-point operations of one call: two per multiply-add, one per other operation, an elementary function counted
 * as one. False where lowering has not said what the core of a template takes: *flops is then of the rest. */
bool cost_flops(const struct kernel *k, int64_t *flops);
/* Bytes of the elements that it reads and writes, each element once. Scratch memory is left out. */
void cost_bytes(const struct kernel *k, int64_t *read, int64_t *written);

/* ---- training (training.c) --------------------------------------------------------------------------------------- */

void gather_trainings(struct report *r);

/* ---- for readers (readable.c) ------------------------------------------------------------------------------------ */

/* "9,472" */
const char *readable_grouped(struct arena *a, int64_t x);
/* "512 B", "9.3 KiB", "31.6 MiB" */
const char *readable_bytes(struct arena *a, int64_t bytes);
/* "332 k", "1.2 G": decimal, for operations */
const char *readable_count(struct arena *a, int64_t count);
/* At most `most` characters of UTF-8, the last one an ellipsis where something was cut off. */
const char *readable_shortened(struct arena *a, const char *text, size_t most);
/* Characters (not bytes) of UTF-8 text. */
size_t readable_length(const char *text);
/* "[2,3] float" */
const char *readable_type(struct arena *a, enum dtype d, const struct shape *s);

#endif
