/* The compiler as a table of contents: model -> program -> canonical graphs -> kernels -> plan -> C. */
#ifndef STEPC_ENGINE_PIPELINE_H
#define STEPC_ENGINE_PIPELINE_H

#include "emit/emit.h"
#include "graph/import.h"
#include "rewrite/pass.h"

/* What an entry computes is replaced by a gradient: its outputs are the loss and NAME.gradient for each name, and it
 * changes nothing. */
struct pipeline_gradient {
    const char *loss;
    str_list names;
    const struct map *masks; /* name -> const struct tensor *, by which its gradient is multiplied */
    const char *entry; /* set: the first one that has the loss */
};

struct pipeline_options {
    const char *name;             /* C prefix; NULL: from the model's file */
    const char *entries;          /* comma-separated entries to make; NULL: all */
    struct import_options import;
    const char *const *fetch;     /* values to add as outputs of `fetch_entry`, beside its own */
    size_t fetch_count;
    const char *fetch_entry;
    struct pipeline_gradient *gradient; /* NULL: all stays */
    /* Names of the inputs that `fetch_entry` will be given; NULL: all. Outputs of the main graph that need others are
     * left out, and these inputs with them, if neither the entry's own outputs and bindings nor `fetch` need them. */
    const struct map *given;
    int threads;                  /* large kernels are cut into so many shares; 0 or 1: none is */
    const struct target *target;  /* the machine that the text is for; NULL: any */
    /* of the text: see struct emit_options, where pipeline_compile() and engines put it */
    int simd;
    bool check_finite;            /* see struct lower_options */
    bool small;                   /* few instructions count for more than few cycles; of the text as well */
    bool blas;                    /* large matrix products call a BLAS */
    bool warns;                   /* of what nobody can have meant (training_forms.h) */
    size_t ram;                   /* state and arena must fit: budget.h; 0: no bound */
    struct pass_options passes;   /* --dump-after: also "recognise", "differentiate", "lower", "fuse", "plan", "tree" */
};

/* The options for one count of the range o->import.range. */
struct pipeline_options pipeline_at(struct arena *a, const struct pipeline_options *o, int64_t count);
/* Import, combination, differentiation. The program as the model says it, before any simplification. */
bool pipeline_program(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                      struct program **out) MUST_USE;
/* The same, then simplified to the canonical graph (DESIGN.md). */
bool pipeline_canonical(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                        struct program **out) MUST_USE;
/* Lowering, fusion, schedule, memory: one plan per entry. */
bool pipeline_plans(struct diag *d, struct arena *a, const struct program *p, const struct pipeline_options *o,
                    struct plan ***out) MUST_USE;
/* Do state and arena fit into `ram` bytes? 0: any do. False after a report. */
bool pipeline_fits_ram(struct diag *d, struct arena *a, const struct program *p, struct plan *const *plans,
                       const struct emitted *text, size_t ram) MUST_USE;
/* All of it. emit->name may be NULL (the program's name is taken). */
bool pipeline_compile(struct diag *d, struct arena *a, const struct model *m, const struct pipeline_options *o,
                      const struct emit_options *emit, struct emitted *out, struct program **program) MUST_USE;

#endif
