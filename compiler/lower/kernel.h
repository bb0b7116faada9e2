/* Kernels: what is left of the graph after lowering. A kernel is one C function, of one of four kinds
 * (enum kernel_kind). */
#ifndef STEPC_LOWER_KERNEL_H
#define STEPC_LOWER_KERNEL_H

#include "graph/graph.h"
#include "lower/expr.h"

struct plan;
struct region;
struct target;

/* ---- buffers and views ------------------------------------------------------------------------------------------- */

enum buffer_kind {
    BUFFER_INPUT,    /* in->name */
    BUFFER_OUTPUT,   /* out->name: may be NULL at run time */
    BUFFER_CONSTANT, /* a const array of the file */
    BUFFER_VARIABLE, /* a member of the state */
    BUFFER_TEMP,     /* in the arena of the call */
    BUFFER_LOCAL     /* one element: a local variable of its kernel, set anew in each row */
};

struct buffer {
    enum buffer_kind kind;
    enum dtype dtype;
    int64_t count;            /* elements */
    struct late_size late;    /* the same, where it depends on the program's range; then `count` is the most */
    struct shape shape;       /* logical, for comments */
    const char *name;         /* the ONNX name of the value, variable, input or output */
    const struct tensor *constant;
    struct variable *variable;
    int index;                /* input: in graph->inputs; output: in graph->outputs */
    int id;                   /* position in lowered->buffers */
    size_t arena_offset;      /* TEMP: set by the plan, bytes */
    struct buffer *in_float;  /* float16: the copy in float that templates read, or NULL */
    /* TEMP: the plan lets its first writer put it where that one lies, which dies there; or NULL */
    const struct buffer *place_of;
};

/* A value seen as strides over a buffer. */
struct view {
    struct buffer *buffer;
    int64_t offset; /* elements */
    struct shape shape;
    int64_t stride[SHAPE_MAX_RANK];
};

/* The whole buffer, row-major. */
struct view view_of_buffer(struct buffer *b, const struct shape *shape);
bool view_is_contiguous(const struct view *v); /* row-major without gaps (offset may be anything) */
/* The view under another shape of the same count; false where strides cannot say it. */
bool view_reshape(const struct view *v, const struct shape *to, struct view *out);
struct view view_transpose(const struct view *v, const int *perm);
struct view view_slice(const struct view *v, const int64_t *start, const int64_t *step, const struct shape *to);
struct view view_broadcast(const struct view *v, const struct shape *to); /* must be broadcastable */

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

struct store {
    struct access to; /* stride 0 along reduced dims */
    const struct expr *value;
};

/* REDUCE_MAX and REDUCE_MIN: a NaN stays; REDUCE_TOP: the maximum where a NaN may be passed over. */
enum reduce_op { REDUCE_NONE, REDUCE_SUM, REDUCE_MAX, REDUCE_TOP, REDUCE_MIN, REDUCE_PROD };

/* What a scan stores in each iteration: what is folded up to here, with this iteration's element or before it. */
enum scan { SCAN_NONE, SCAN_WITH, SCAN_BEFORE };

/* Terms of a float sum that are added up by themselves (part.in_blocks): along a last axis, along outer axes. */
enum { BLOCK_OF_ROW = 4096, BLOCK_OF_COLUMN = 4096 };

/* A loop nest: for every point of the dims that are not reduced, fold `element` over the reduced ones (if any), then
 * run the stores: all values are computed before the first is written. In a scan the one reduced loop runs in order
 * from its first iteration to its last, and the stores run in each, with what is folded so far; nothing that it reads
 * may be written by it but where SCAN_WITH writes it. In a template kernel a part fills the
 * statement hole `hole`: its dims are the kernel's outer dims, then the hole's index arguments; the hole's last
 * argument is EXPR_RESULT (holes that hand over no result: none). */
struct part {
    int rank;
    int64_t extent[LOOP_MAX_DIMS];
    struct late_size late[LOOP_MAX_DIMS]; /* extents that depend on the program's range; `extent` is then the most */
    bool reduced[LOOP_MAX_DIMS];
    /* so many reduced loops at the end are the last axis; 0: all that stand there. A kept loop that stood in front of
     * them may have moved (part_lead) */
    int lane_loops;
    bool in_blocks; /* a REDUCE_SUM of floats that begins anew after so many terms (docs/numerics.md) */
    enum reduce_op reduce;
    enum scan scan;
    const struct expr *element; /* REDUCE_NONE: NULL */
    VEC(struct store) stores;
    const char *hole; /* template kernels: name of the statement hole */
};

/* Proved before the kernel writes anything, else the kernel returns `status`: low <= value < high at each point of
 * the loops. */
struct check {
    int rank;
    int64_t extent[LOOP_MAX_DIMS];
    struct late_size late[LOOP_MAX_DIMS];
    const struct expr *value; /* an integer expression over those loops */
    int64_t low, high;
    int64_t except; /* with has_except: this value passes as well (ignore_index) */
    bool has_except;
    const char *status; /* "STEPC_E_LABEL", "STEPC_E_INDEX" */
};

/* What a template reads through a pointer parameter: memory that begins at `access`, moved to the place of the outer
 * loops (inner strides are in ints). Some templates take an operand plane by plane, each element once: then `rank`
 * loops (outer dims, then the indices of the statement hole PARAM_into) walk it, and fusion may give an expression
 * that is computed there instead. */
struct operand {
    const char *param;
    struct access access;
    int rank; /* 0: only as memory */
    int64_t extent[LOOP_MAX_DIMS];
    int64_t scratch;          /* elements that the template needs behind its own scratch to compute planes */
    const struct expr *value; /* computed; NULL: memory */
};

/* Memory of a kernel that nobody else reads: what stages need for one block, parts of a row for one row. */
struct own {
    struct buffer *buffer; /* TEMP */
    const char *param;     /* what its parameter shall be called */
};

/* What fusion and threads may do with an instance of a template: facts that whoever binds it knows, and nobody else
 * asks for the template's name. A product's sizes and steps are those of its operands a and b (lower/product.h). */
struct kernel;
struct lowered;
struct template_traits {
    const char *name;   /* base name of the template's functions ("product"): forms product_vector, product_lanes ... */
    bool is_product;    /* its rows, or terms of its sums, can be a stage: product_of_rows(), product_of_terms() */
    bool has_row_sums;  /* hole row_sum: it takes sums of the rows of a product's operand a */
    bool takes_update;  /* hole update: it takes what changes operand 0, ROWS x K elements, where it has read them */
    bool is_in_library; /* which has threads of its own */
    /* Makes the template compute shares of its pieces; false: it cannot. NULL: it does, if there are so many pieces. */
    bool (*cut)(struct kernel *k, int shares, const struct target *target);
    void (*make_plain)(struct kernel *k);   /* into a template of plain loops; NULL: it stays */
    bool (*call_library)(struct kernel *k); /* into a call of a BLAS, where that is possible; NULL: never */
    /* Integers that may depend on the program's range, and those for which their most serves; NULL-terminated. */
    const char *const *late, *const *late_most;
    /* Makes it another template that takes the sizes which depend on the range; false: there is none. */
    bool (*make_late)(struct lowered *l, struct kernel *k);
};

/* Elements of scratch that shares begin at multiples of: no two write to one line of memory. */
enum { SHARE_LINE = 16 };

#define KERNEL_MAX_OPERANDS 6
#define KERNEL_MAX_INTS 48

struct kernel_int {
    const char *name; /* integer hole */
    int64_t value;
    struct late_size late; /* it depends on the program's range; then `value` is the most */
    bool is_data;          /* only data are compared with it: no size and no distance, any int64 */
};

/* What a kernel of a template binds. */
struct kernel_template {
    const struct template_traits *traits;
    enum dtype type;           /* binds the type hole T */
    int64_t flops;             /* multiplications and additions of the body: for reports */
    int64_t overhead;          /* what its loops take beside them, as so many of them: for choices */
    struct operand *operands;  /* KERNEL_MAX_OPERANDS */
    int operand_count;
    struct kernel_int *ints;   /* KERNEL_MAX_INTS; WITH_<HOLE> is bound by emission: 1 where a part fills the hole */
    int int_count;
};

/* Memory that a kernel needs for itself, planned into the arena. */
struct kernel_scratch {
    const char *param;     /* of a template: its pointer parameter, or NULL */
    int64_t count;         /* elements; of a template: of its type, for one share */
    struct buffer *buffer; /* TEMP, or NULL: none */
};

/* Kernels that take turns, block by block (fuse/blocks.c): the outer loops go around them all, and the last of these
 * over rows, `rows` of them at a time; the last block may begin before the one in front of it ends. The stages' own
 * loops begin with these. */
struct kernel_blocks {
    VEC(struct kernel *) stages;
    int64_t rows;
};

/* How a kernel is cut into shares, which may run side by side. */
struct kernel_cut {
    int64_t pieces;            /* template kernels that cut themselves: of so many pieces shares can be made */
    /* of so many others, if > 0, with the hole CUT_CHANNELS: channels, whose planes have that many elements in operands
     * and results */
    int64_t channels, plane[2];
    int shares;                /* > 1: so many; each has scratch.count elements of scratch */
    /* > 1: shares run so many times, hole `pass`, each after all shares of the one before; scratch is common */
    int passes;
    int outer;                 /* template kernels: the outer loop that is cut, or -1: the template does it (SHARES) */
};

/* Memory of a region's graph, and where it lies outside: from `offset` on, in each step `step` elements further. */
struct region_port {
    struct buffer *inner, *outer;
    int64_t offset, step;
    const struct tensor *fill; /* of a start without `outer`: the one element that all begin with; NULL: zeros */
};

/* A kernel that runs the kernels of a region, step by step (graph/region.h). */
struct kernel_region {
    const struct region *region;
    struct lowered *body;
    struct plan *plan;              /* of the body; its temporaries lie in the kernel's scratch */
    VEC(struct region_port) reads;  /* inputs of the graph */
    VEC(struct region_port) writes; /* states, then what is stacked */
    VEC(struct region_port) starts; /* what states begin with: inner is theirs, outside */
};

enum kernel_kind {
    KERNEL_LOOPS,    /* its parts, one after the other, or nothing but checks */
    KERNEL_TEMPLATE, /* a template, whose statement holes its parts fill */
    KERNEL_STAGES,   /* other kernels in turn, block by block; no parts */
    KERNEL_REGION    /* other kernels step by step; no parts */
};

struct kernel {
    enum kernel_kind kind;
    int id;                    /* number at lowering; gaps after fusion */
    const char *label;         /* "product", "relu", ...; fusion adds what it joins: first part of the C name */
    int joined;                /* how many words fusion has added to the label */
    bool removed;
    VEC(const struct node *) nodes; /* what it computes, in graph order: for comments and traces */
    VEC(struct part) parts;
    VEC(struct check) checks;
    const struct kernel *checked; /* it is nothing but the checks of this one, which runs behind it; or NULL */
    /* leading loops that all parts share, which run one after the other for each row; 0: none */
    int rows;
    int outer_rank;            /* loops around a template's body, or around stages */
    int64_t outer_extent[SHAPE_MAX_RANK];
    struct late_size outer_late[SHAPE_MAX_RANK];
    struct kernel_cut cut;
    struct kernel_scratch scratch;
    VEC(struct own) own;
    union {
        struct kernel_template tmpl;  /* KERNEL_TEMPLATE */
        struct kernel_blocks blocks;  /* KERNEL_STAGES */
        struct kernel_region *region; /* KERNEL_REGION */
    };
};

/* One entry, lowered. */
struct lowered {
    struct arena *arena;
    struct diag *diag;
    const struct entry *entry;
    const struct target *target; /* the machine that costs are for (targets.h); NULL: any */
    VEC(struct buffer *) buffers;
    VEC(struct kernel *) kernels; /* a legal order */
};

struct buffer *buffer_new(struct lowered *l, enum buffer_kind kind, const char *name, enum dtype dtype,
                          const struct shape *shape);
/* What a kernel touches: buffers read (loads, operands, check values) and written (stores), each once, in a stable
 * order. Its local variables are not among them. */
typedef VEC(struct buffer *) buffer_list;
void kernel_reads(struct arena *a, const struct kernel *k, buffer_list *out);
void kernel_writes(struct arena *a, const struct kernel *k, buffer_list *out);
bool expr_reads(const struct expr *e, const struct buffer *b);
bool operand_reads(const struct operand *o, const struct buffer *b);
/* Plain copy of one whole contiguous buffer into another (what remains of outputs and bindings)? Emitted as memcpy. */
bool kernel_is_copy(const struct kernel *k, struct buffer **from, struct buffer **to);
/* Does it fill a whole contiguous buffer with random numbers, element by element in their order, and not in shares?
 * Emitted as a call of the runtime. */
struct kernel_draw {
    struct buffer *to;
    const struct expr *number; /* EXPR_NORMAL or EXPR_UNIFORM */
    double factor, offset;     /* offset + factor * number; of normal numbers the offset is 0 */
};
bool kernel_is_draw(const struct kernel *k, struct kernel_draw *out);
bool buffers_have(const buffer_list *l, const struct buffer *b);
/* Every store s of every part p. */
#define kernel_each_store(k, p, s)                                                                                     \
    vec_each_ptr(struct part, p, &(k)->parts)                                                                          \
        vec_each_ptr(struct store, s, &p->stores)
/* Of all that a part computes, where it stores included: each load, is there a node for which f holds, and a copy with
 * loads, indices and results replaced (expr.h). */
void part_each_load(const struct part *p, void (*f)(const struct access *access, void *data), void *data);
bool part_any(const struct part *p, bool (*f)(const struct expr *e, void *data), void *data);
void part_substitute(struct part *p, const struct expr_map *map);
/* Has each iteration of loop d results of its own? */
bool part_keeps(const struct part *p, int d);
/* Walks adjacent loops from `rows` on as one where every access allows it, and drops loops of one iteration; reduced
 * loops are merged among themselves only. The order in which elements are visited stays. *p is a private copy
 * afterwards. */
void part_collapse(struct arena *a, struct part *p, int rows);
/* The same for the leading loops that all parts share. */
void kernel_collapse_rows(struct arena *a, struct kernel *k);
/* One loop becomes two, the outer one of `outer` iterations; false where loops cannot be renumbered. *p is a private
 * copy afterwards. */
bool part_split(struct arena *a, struct part *p, int dim, int64_t outer);
/* Loop dim goes over `block` iterations only, from where a loop of all its iterations says that stands in front of it
 * afterwards; false where loops cannot be renumbered. *p is a private copy afterwards. */
bool part_block(struct arena *a, struct part *p, int dim, int64_t block);
/* A loop of so many iterations, in which nothing moves, in front of loop dim. */
bool part_around(struct arena *a, struct part *p, int dim, int64_t iterations);
/* Loop dim becomes the outermost; false where loops cannot be renumbered. What is reduced is visited in the same
 * order. *p is a private copy afterwards. */
bool part_lead(struct arena *a, struct part *p, int dim);
/* Does the load, in loops of part l, touch only what the store, in loops of part s, writes at the same point of the
 * first `rows` loops, which both share? */
bool part_same_row(const struct part *s, const struct access *store, const struct part *l, const struct access *load,
                   int rows);
/* The type of the target that holds every index of the kernel, for loop variables: target_index_type(). */
const char *kernel_index_type(const struct kernel *k, const struct target *t);
/* Is there a type for the indices of every kernel? What is not compiled is reported, by its first node. */
bool kernels_check_sizes(struct lowered *l) MUST_USE;
/* Is there nothing but checks? */
bool kernel_only_checks(const struct kernel *k);
/* What the loops around a template's body count together. */
int64_t kernel_outer_count(const struct kernel *k);
int64_t kernel_int(const struct kernel *k, const char *name); /* -1 where not bound */
/* Makes a kernel of loops one of a template that binds nothing yet. */
void kernel_bind_template(struct arena *a, struct kernel *k, const struct template_traits *traits, enum dtype type);
/* Operands and integers of its own, for a copy that is going to change. */
void kernel_own_values(struct arena *a, struct kernel *k);
void kernel_set_int(struct kernel *k, const char *name, int64_t value);
/* What a region writes to `from` goes to `to`. */
void region_write_to(struct kernel_region *k, const struct buffer *from, struct buffer *to);
/* Scratch for the temporaries of a region. */
void region_add_scratch(struct lowered *l, struct kernel *k, int64_t bytes);
/* Scratch of so many elements from now on. */
void kernel_resize_scratch(struct kernel *k, int64_t count);
/* Scratch for a kernel that had none. */
void kernel_add_scratch(struct lowered *l, struct kernel *k, const char *param, int64_t count);
/* Does something in it depend on the program's range? */
bool kernel_is_late(const struct kernel *k);
static inline bool is_late(const struct late_size *s)
{
    return s->per != 0;
}
/* Deterministic text of all kernels, for --dump-after lower|fuse and tests. */
const char *lowered_print(struct arena *a, const struct lowered *l);

#endif
