/* What range.c and range_counts.c share; included nowhere else. */
#ifndef STEPC_ENGINE_RANGE_INTERNAL_H
#define STEPC_ENGINE_RANGE_INTERNAL_H

#include "graph/graph.h"

enum { RANGE_PROBES = 3 };

/* Programs for the highest count and two beside it, which say what depends on the count. */
struct range_probes {
    const struct size_range *range;
    int64_t step; /* from probe to probe */
    const struct program *of[RANGE_PROBES];
};

/* Is `is`, the canonical program for `count`, what the probes, canonical as well, say for that count? What is not is
 * reported, with the first probe's node. */
bool range_holds_at(struct diag *d, struct arena *scratch, const struct range_probes *p, const struct program *is,
                    int64_t count) MUST_USE;

#endif
