/* The memory plan of an entry as a picture: kernels from left to right, the arena from below, a rectangle
 * for each temporary. */
#ifndef STEPC_REPORT_DRAW_MEMORY_H
#define STEPC_REPORT_DRAW_MEMORY_H

#include "report/report.h"

/* An <svg> element; "" for an entry without temporaries. */
const char *memory_svg(struct arena *a, const struct report_entry *e);

#endif
