/* Multi-device annotations against the graphs that they belong to: what each says of a tensor's shape, and what follows
 * for all other tensors (docs/devices.md). The graphs are those of train/combine.h, Gradient still in them.
 * Structural rules come first: model_check_devices(). */
#ifndef STEPC_DEVICES_DEVICES_H
#define STEPC_DEVICES_DEVICES_H

#include "graph/import.h"

enum { MOST_DEVICES = 1024 }; /* beyond these nothing is followed */

struct devices_options {
    int64_t assumed; /* sizes that are this number, or multiples of it, may be others; 0: all sizes are known */
    const char *configuration; /* the only one that is followed; NULL: all are */
    struct strbuf *table; /* which device holds which part of every tensor, as text; NULL: is not wanted */
    const char *way_out; /* what runtime/mpi does not execute is an error, with this behind it; NULL: it need not */
};

bool model_has_devices(const struct model *m);
/* What annotations are followed through: all entries as combination leaves them. NULL: the model cannot be imported
 * with these sizes, for which nothing is reported. */
struct program *devices_program(struct arena *a, const struct model *m, const struct import_options *import);
/* All entries, each finding once. */
bool devices_check(struct diag *d, const struct program *p, const struct devices_options *o) MUST_USE;

/* ---- data parallel training (docs/many-machines.md) -------------------------------------------------------------- */

/* Where a tensor is read in the graph, it is in equal parts along an axis, or whole on one device. */
struct devices_part {
    const struct model_graph *graph;
    const char *tensor;
    int axis;
    int64_t device; /* -1: in parts */
};
struct devices_annotation {
    const char *configuration;
    int64_t devices;
    VEC(struct devices_part) parts;
};

/* Adds a configuration, and to all nodes of the main graph and of algorithms what follows from those parts. Sizes that
 * are not known are import->provisional_dim. What runtime/mpi would not execute is an error of the node. */
bool devices_annotate(struct diag *d, struct arena *a, struct model *m, const struct devices_annotation *what,
                      const struct import_options *import) MUST_USE;
/* Do all annotations say what runtime/mpi does? Reports what is something else. Sizes in `import` are those of a call,
 * for one device's samples. *summary: who computes what, a line; NULL: no node is annotated, or the model cannot be
 * imported, for which nothing is reported. */
bool devices_are_data_parallel(struct diag *d, struct arena *a, const struct model *m,
                               const struct import_options *import, const char **summary) MUST_USE;

#endif
