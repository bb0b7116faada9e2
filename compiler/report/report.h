/* What `stepc inspect` says about a compiled program: gathered once, then printed as text, as JSON, as a
 * page, or for Graphviz. */
#ifndef STEPC_REPORT_REPORT_H
#define STEPC_REPORT_REPORT_H

#include "plan/plan.h"

/* ---- what is known ----------------------------------------------------------------------------------------------- */

/* What only emission knows. */
/* A program that recomputes so much that it needs no more memory than that. */
struct report_point {
    int64_t ram_bytes, arena_bytes; /* ram: state and arena */
    int64_t flops;                  /* of one call of each entry but init */
};
typedef VEC(struct report_point) report_points;

struct report_code {
    size_t state_bytes, arena_bytes; /* sizes of the two structs */
    size_t constant_bytes;           /* of all const arrays */
    const char *const *const *calls; /* [entry][kernel]: the C function; NULL: no call, an output is written in place */
    const char *options_text;        /* --dim and others, as typed; "" if none */
    const report_points *curve;      /* what --ram can have; NULL: nobody asked */
};

struct report_tensor {
    const char *name;
    enum dtype dtype;
    struct shape shape;
    int64_t bytes;
};

enum report_role {
    REPORT_WEIGHT,
    REPORT_STATISTIC,
    REPORT_OPTIMIZER,
    REPORT_COUNTER,
    REPORT_SUM,
    REPORT_FROZEN,
    REPORT_ROLES
};
extern const char *const report_role_names[REPORT_ROLES]; /* "weight", ... */

/* A variable of the state, or a floating initializer of the main graph that nothing changes (REPORT_FROZEN). */
struct report_parameter {
    struct report_tensor tensor;
    enum report_role role;
};

/* One TrainingInfoProto that differentiates or updates: what its algorithm does, as far as it can be told;
 * else fields are NULL. */
struct report_training {
    const char *entry;        /* "step", or NULL where the entry is not compiled */
    const char *loss;         /* the tensor that is differentiated */
    const char *loss_text;    /* what computes it: "SoftmaxCrossEntropyLoss<reduction="mean">(logits, target)" */
    /* "gradient descent, X - R * G"; "Adam<alpha=0.9>"; "written out (Add, Div, Mul, Sqrt, Sub)" */
    const char *optimizer;
    const char *rate;         /* "variable 'learning_rate', initially 0.01" */
    VEC(const char *) trains; /* main graph's tensors with a gradient */
};

enum report_phase { PHASE_FORWARD, PHASE_BACKWARD, PHASE_UPDATE, PHASE_COPY, REPORT_PHASES };
extern const char *const report_phase_names[REPORT_PHASES]; /* "forward", "backward", "update", "copy" */

struct report_kernel {
    const struct kernel *kernel;
    const char *name;  /* of the C function, "memcpy", or the label of what is not called */
    bool is_called;    /* false: copies an output that is written in place */
    enum report_phase phase; /* backward: computes some gradient, and perhaps the update of its variable at once */
    bool updates;      /* writes variables */
    const char *about; /* the nodes it computes: "Gemm "fc1"; Mul x2, Sub" */
    int64_t flops;     /* docs/inspect.md says what counts; of the known part if !flops_known */
    bool flops_known;
    int64_t bytes_read, bytes_written; /* each element that it touches once */
    buffer_list reads, writes;         /* without scratch */
    int64_t alive;                     /* bytes of the arena in use while it runs */
};

enum report_temporary_kind {
    TEMPORARY_FORWARD,
    TEMPORARY_KEPT,
    TEMPORARY_GRADIENT,
    TEMPORARY_SCRATCH,
    TEMPORARY_KINDS
};
extern const char *const report_temporary_names[TEMPORARY_KINDS]; /* "forward", "kept", "gradient", "scratch" */

struct report_temporary {
    const char *name;
    enum dtype dtype;
    struct shape shape;
    enum report_temporary_kind kind; /* kept: computed in the forward half, last read in the backward one */
    int64_t offset, bytes, space;    /* space: bytes rounded up to PLAN_ALIGN */
    int first, last;                 /* kernels that write it first and read it last */
};

struct report_entry {
    const struct entry *entry;
    const char *name, *kind; /* kind: "init", "step", "infer", "evaluate" */
    VEC(struct report_tensor) inputs, outputs;
    VEC(struct report_kernel) kernels;
    VEC(struct report_temporary) temporaries; /* by offset, then first kernel */
    int called;                               /* kernels that are */
    int64_t flops, bytes;                     /* sums over kernels that are called */
    bool flops_known;
    int64_t arena_bytes, bound_bytes; /* bound: largest sum of bytes alive at once */
    int peak;                         /* the first kernel with the most bytes alive; -1 without temporaries */
};

struct report {
    struct arena *arena;
    const struct program *program;
    const char *file, *graph, *opsets, *options_text;
    char digest[65];
    VEC(struct report_parameter) parameters; /* variables in the order of the state, then frozen ones in model order */
    struct {
        int64_t tensors, elements, bytes;
    } roles[REPORT_ROLES];
    VEC(struct report_training) trainings;
    VEC(struct report_entry) entries;
    report_points curve; /* from the plain program to the smallest; empty: not asked for */
    int64_t state_bytes, arena_bytes, constant_bytes;
    int64_t ram_bytes, flash_bytes; /* state + arena; constants. Neither code nor stack nor inputs and outputs */
};

/* plans[i] belongs to entries[i] of the program. */
const struct report *report_gather(struct arena *a, const struct program *p, struct plan *const *plans,
                                   const struct report_code *code);

/* Floating-point operations of one call, as far as they are known (docs/inspect.md says what counts). */
int64_t report_flops(const struct kernel *k);
/* These and what loops of few turns take: to choose between programs. */
int64_t report_work(const struct kernel *k);

/* ---- what is printed --------------------------------------------------------------------------------------------- */

/* Plain text for a terminal; control characters in names are shown as \xNN. */
const char *report_text(const struct report *r);
/* docs/inspect.md has the schema, which only grows. */
const char *report_json(const struct report *r);
/* One self-contained page. */
const char *report_html(const struct report *r);
/* For Graphviz: the main graph, and the kernels of each entry. */
const char *report_dot(const struct report *r);

/* ---- limits ------------------------------------------------------------------------------------------------------ */

/* Reports what is over, by how much, and what takes most. ram_option: as the user typed it, "--max-ram". A
 * limit below 0 is none. */
bool report_check_limits(struct diag *d, const struct report *r, const char *ram_option, int64_t max_ram,
                         int64_t max_flash) MUST_USE;

#endif
