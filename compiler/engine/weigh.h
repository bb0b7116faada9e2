/* What a canonical graph takes: memory over time, and operations. For those that change it to take less. */
#ifndef STEPC_ENGINE_WEIGH_H
#define STEPC_ENGINE_WEIGH_H

#include "engine/pipeline.h"
#include "plan/plan.h"

/* A plan, and what it says of the values of the graph. */
struct weighed {
    struct arena arena; /* of the kernels and the plan */
    struct plan *plan;
    int64_t flops;  /* of all kernels, */
    int64_t work;   /* and with what loops of few turns take */
    int64_t *alive; /* bytes, by kernel */
    int64_t excess; /* bytes over what is aimed at, added up over all kernels; weigh_excess() */
    int peak;       /* the kernel at which most is alive */
};

/* Plans the entry. The caller frees w->arena, also after a report, which is false. */
bool weigh_entry(struct diag *d, const struct program *p, size_t entry, const struct pipeline_options *o,
                 struct weighed *w) MUST_USE;
void weigh_excess(struct weighed *w, int64_t limit);
int64_t weigh_bytes(const struct buffer *b);

#endif
