/* Multi-device annotations against the graphs that they belong to: what each says of a tensor's shape, and what follows
 * for all other tensors (docs/devices.md). The graphs are those of train/combine.h, Gradient still in them.
 * Structural rules come first: model_check_devices(). */
#ifndef STEPC_DEVICES_DEVICES_H
#define STEPC_DEVICES_DEVICES_H

#include "base/str.h"
#include "graph/graph.h"

struct devices_options {
    int64_t assumed; /* sizes that are this number, or multiples of it, may be others; 0: all sizes are known */
    struct strbuf *table; /* which device holds which part of every tensor, as text; NULL: is not wanted */
};

bool model_has_devices(const struct model *m);
/* All entries, each finding once. */
bool devices_check(struct diag *d, const struct program *p, const struct devices_options *o) MUST_USE;

#endif
