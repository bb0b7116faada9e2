/* From the canonical graph to kernels: what operators' .lower callbacks are written in. */
#ifndef STEPC_LOWER_LOWER_H
#define STEPC_LOWER_LOWER_H

#include "graph/op_def.h"
#include "lower/kernel.h"

struct lower_options {
    const struct target *target; /* the machine that costs are for; NULL: any */
    bool scalar; /* code without vectors, or as little as possible: memory counts for more than time */
    bool small;  /* as little code as possible: plain loops */
    bool late;   /* sizes may be known late: no form that is made for a number of images */
    bool check_finite; /* a step stores nothing unless all it would store is finite: it computes all of that first */
};

struct lower_ctx {
    struct lowered *l;
    struct lower_options options;
    struct arena *arena;
    const struct node *node;
    struct view *views; /* by value id */
    struct kernel *kernel; /* the kernel being made by this node, if any */
};

/* ---- what a node has --------------------------------------------------------------------------------------------- */

bool lower_has(const struct lower_ctx *c, int i);
bool lower_wants(const struct lower_ctx *c, int o);
const struct shape *lower_shape(const struct lower_ctx *c, int i);
const struct shape *lower_out_shape(const struct lower_ctx *c, int o);
/* The types in which they are computed: dtype_computed(). */
enum dtype lower_dtype(const struct lower_ctx *c, int i);
enum dtype lower_out_dtype(const struct lower_ctx *c, int o);
struct view lower_view_of(const struct lower_ctx *c, int i); /* how input i lies in memory */
/* The same, row-major without gaps: copied first where it is not, once for all readers from here on. For template
 * operands. */
struct view lower_contiguous(struct lower_ctx *c, int i);
/* Not lowered by this version: reports, returns false. */
#define lower_error(c, ...) diag_error((c)->l->diag, &(c)->node->loc, __VA_ARGS__)

/* ---- maps -------------------------------------------------------------------------------------------------------- */

/* Input i at the current point of output 0's shape (dims of the map's loops = dims of output 0), broadcast. A constant
 * scalar becomes a literal. */
const struct expr *lower_in(struct lower_ctx *c, int i);
/* The same over loops of shape `domain` (input broadcast to it); rank = domain's. */
const struct expr *lower_in_over(struct lower_ctx *c, int i, const struct shape *domain);
/* Load through any view over loops whose first dims are the view's dims. Loads of float16 are converted to float. */
const struct expr *lower_load(struct lower_ctx *c, const struct view *v);
const struct expr *lower_load_at(struct lower_ctx *c, const struct access *access);
struct access lower_access(const struct view *v);
/* Row-major number of the current point of output 0's shape, int64 (for random numbers). */
const struct expr *lower_element(struct lower_ctx *c, const struct shape *shape);

/* output 0 = e at each of its points. */
bool lower_map(struct lower_ctx *c, const struct expr *e);
/* Several outputs of one shape from one loop nest: e[o] for output o (NULL or unwanted: skipped). */
bool lower_maps(struct lower_ctx *c, const struct expr *const *e, int count);

/* ---- views ------------------------------------------------------------------------------------------------------- */

/* Output o needs no kernel: it is this view (of an input's buffer). */
bool lower_as_view(struct lower_ctx *c, int o, const struct view *v);
/* Output o is input i's elements in row-major order under output o's shape: a view where strides can say it, else a
 * copy. */
bool lower_as_reshape(struct lower_ctx *c, int o, int i);

/* ---- reductions -------------------------------------------------------------------------------------------------- */

/* Loops over input 0's shape; dims with reduced[d] are folded in contract order (docs/numerics.md), then output 0 =
 * finish at the kept point. element: over all dims (lower_in_over(c, 0, shape of input 0) mostly); finish: in terms
 * of expr_result(), NULL: the result itself. Output 0 has the kept dims in order, with or without 1s. */
bool lower_reduce(struct lower_ctx *c, const bool *reduced, enum reduce_op op, const struct expr *element,
                  const struct expr *finish);

/* ---- general loop kernels and templates -------------------------------------------------------------------------- */

/* A new kernel of this node without parts. Afterwards c->kernel. */
struct kernel *lower_kernel(struct lower_ctx *c, const char *label);
/* The fresh row-major buffer of output o (made on first call), as a view. */
struct view lower_out_view(struct lower_ctx *c, int o);
/* Appends a loop nest over `domain`; returns it for adding stores. */
struct part *lower_part(struct lower_ctx *c, const struct shape *domain);
/* Adds: element at the part's current point of `to` (dims of the view = dims of the loops) = e, rounded where `to`
 * is float16. */
void lower_store(struct lower_ctx *c, struct part *p, const struct view *to, const struct expr *e);
void lower_add_check(struct lower_ctx *c, const struct shape *domain, const struct expr *value, int64_t low,
                     int64_t high, const char *status);

/* Makes c->kernel an instance of a template (lower_kernel() first). */
void lower_template(struct lower_ctx *c, const struct template_traits *tmpl, enum dtype type);
void lower_template_int(struct lower_ctx *c, const char *hole, int64_t value);
/* The same for a number that only data are compared with: any int64, where others are sizes and distances. */
void lower_template_data(struct lower_ctx *c, const char *hole, int64_t value);
/* Multiplications and additions of the body, for reports: those of the parts are counted by themselves. */
void lower_template_flops(struct lower_ctx *c, int64_t flops);
/* What loops of few turns take on a small machine beside these, in as many of them; for choices between programs. */
void lower_template_overhead(struct lower_ctx *c, int64_t flops);
/* Operand pointer: outer strides are taken for the kernel's outer dims. Templates compute in float: of a buffer of
 * float16 they read a copy in float, made once in front of the kernel. */
void lower_template_operand(struct lower_ctx *c, const char *param, const struct access *access);
/* The operand given last, read element by element over `rank` loops, may be computed: then the template needs so
 * much scratch more. Its access has strides for these loops. */
void lower_template_loops(struct lower_ctx *c, int rank, const int64_t *extent, int64_t scratch);
/* A template with the hole SHARES can be cut between so many pieces of its results. */
void lower_template_pieces(struct lower_ctx *c, int64_t pieces);
/* One with the hole CUT_CHANNELS also between so many channels: planes of that many elements of the operand, and of the
 * result. */
void lower_template_channels(struct lower_ctx *c, int64_t channels, int64_t of_operand, int64_t of_result);
void lower_template_scratch(struct lower_ctx *c, const char *param, int64_t count);
/* A table of the file, the same for all kernels with equal contents; for operand `param` of a template. */
struct buffer *lower_table_named(struct lower_ctx *c, const char *name, const struct tensor *t);
struct access lower_table(struct lower_ctx *c, const char *param, const struct tensor *t);
/* The part that fills statement hole `hole`; loops: outer dims, then `rank` dims of extents. */
struct part *lower_template_part(struct lower_ctx *c, const char *hole, int rank, const int64_t *extent);

/* The numeric contract: so many products of a matrix product are added in one sum. With 640 terms rounding errors
 * are half of what one sum has; sums of 16 would be better still, but adding one up costs as much as a term. */
enum { PRODUCT_TERMS_OF_SUM = 80 };

/* A matrix product out[outer.., m, n] = finish(sum over k of a[outer.., m, k] * b[outer.., k, n]) for MatMul, Gemm
 * and pointwise Conv: picks the template (rows of b contiguous: direct; else packed) and binds sizes and strides.
 * Views have dims outer.., then two. terms_of_sum: so many products in a sum, which are then added;
 * PRODUCT_TERMS_OF_SUM, or as many as there are. finish: over dims outer.., m, n in terms of expr_result(); NULL:
 * the sum itself. Stored to output 0. */
bool lower_product(struct lower_ctx *c, const struct view *a, const struct view *b, int64_t terms_of_sum,
                   const struct expr *finish);

/* The same of integers, whose sums wrap in `type`: operands of fewer bits become that as they are read, and zero
 * points, views of the operands' shapes (NULL: none), are subtracted from them. */
bool lower_product_of_integers(struct lower_ctx *c, enum dtype type, const struct view *a, const struct view *b,
                               const struct view *zero_a, const struct view *zero_b, const struct expr *finish);

/* ---- regions ----------------------------------------------------------------------------------------------------- */

/* For .lower: a kernel that runs the kernels of the node's region. */
bool lower_region(struct lower_ctx *c);

/* ---- the driver -------------------------------------------------------------------------------------------------- */

/* Lowers one entry's canonical graph. Outputs and bindings become copies into BUFFER_OUTPUT and BUFFER_VARIABLE (fusion
 * merges them into their producers). */
bool lower_entry(struct diag *d, struct arena *a, const struct entry *e, struct lower_options options,
                 struct lowered **out) MUST_USE;

/* Leaves out what has no elements to compute (empty.c): afterwards every extent of a loop kernel is at least 1. */
void lower_drop_empty(struct lowered *l);

#endif
