/* One entry per kernel: for comparing kernels one at a time. */
#ifndef STEPC_ENGINE_SPLIT_H
#define STEPC_ENGINE_SPLIT_H

#include "engine/pipeline.h"

struct split_kernel {
    const char *label;
    struct entry *entry;         /* in the new program */
    struct value **inputs;       /* of the original graph, in the order of the entry's inputs */
};

struct split {
    struct program *program;     /* an empty init entry, then one ENTRY_EVALUATE per kernel */
    VEC(struct split_kernel) kernels;
};

/* The canonical graph of `entry` cut along its kernels (after fusion). */
struct split split_entry(struct diag *d, struct arena *a, const struct program *p, const struct entry *entry,
                         const struct lowered *l);

#endif
