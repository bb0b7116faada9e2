/* Evaluating one node, plainly. Floats are computed in double, integers and bool in int64 (unsigned ones by
 * pattern), and under ARITHMETIC_SAME every basic operation rounds to the dtype as generated code does (double
 * rounding is innocuous for + - * / sqrt of binary32 in binary64), elementary functions are the contract's, and sums
 * run in the contract's order.
 *
 * An operator has ONE eval function for both arithmetics: it writes eval_round(c, ...) around each basic operation. */
#ifndef STEPC_EVAL_EVAL_H
#define STEPC_EVAL_EVAL_H

#include "graph/op_def.h"

enum arithmetic { ARITHMETIC_DOUBLE, ARITHMETIC_SAME };

/* A tensor while interpreting. Exactly one of f and i is set: f for floating dtypes, i for integers and bool. */
struct eval_tensor {
    enum dtype dtype;
    struct shape shape;
    int64_t count;
    double *f;
    int64_t *i; /* values brought into range by dtype_wrap(); UINT64 by pattern; bool 0 or 1 */
};

/* Random state of the running entry: key and counter of Philox (runtime/stepc_random.h). */
struct eval_random {
    uint64_t seed, counter;
};

struct eval_ctx {
    const struct node *node;
    const struct eval_tensor *const *in; /* per input, NULL where omitted */
    struct eval_tensor *const *out;      /* per output, allocated and zeroed; NULL where not wanted */
    enum arithmetic arithmetic;
    struct eval_random random;
    struct arena *scratch; /* freed after the node */
    struct diag *diag;
};

struct eval_tensor *eval_tensor_new(struct arena *a, enum dtype dtype, const struct shape *shape);
struct eval_tensor *eval_from_tensor(struct arena *a, const struct tensor *t);
struct tensor *eval_to_tensor(struct arena *a, const struct eval_tensor *t); /* rounds floats to the dtype */

/* Inputs and outputs. */
bool eval_has(const struct eval_ctx *c, int i);
bool eval_wants(const struct eval_ctx *c, int o);
const struct eval_tensor *eval_input(const struct eval_ctx *c, int i);
struct eval_tensor *eval_output(const struct eval_ctx *c, int o);
const double *eval_f(const struct eval_ctx *c, int i);   /* floats of input i */
const int64_t *eval_i(const struct eval_ctx *c, int i);  /* integers of input i */
double *eval_out_f(const struct eval_ctx *c, int o);
int64_t *eval_out_i(const struct eval_ctx *c, int o);
/* A run-time fault (label out of range ...): reports at the node, returns false. */
bool eval_error(const struct eval_ctx *c, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* ---- arithmetic -------------------------------------------------------------------------------------------------- */

/* Rounds the exact result of a basic operation on dtype d: under SAME to d (float16 and bfloat16: to float, the rest at
 * the node's end), under DOUBLE not at all. */
double eval_round_to(const struct eval_ctx *c, enum dtype d, double x);
/* The same for the dtype of output 0 (of the first wanted output, if that one is not). */
double eval_round(const struct eval_ctx *c, double x);

/* Elementary functions for dtype d: libm in double, or the contract's functions under SAME. */
enum math_fn {
#define FUNCTION(NAME, function, cost, plain) MATH_##NAME,
#include "eval/functions.def"
#undef FUNCTION
    MATH_COUNT
};
double eval_math(const struct eval_ctx *c, enum dtype d, enum math_fn f, double x);
double eval_pow(const struct eval_ctx *c, enum dtype d, double x, double y);

/* Sums and other folds in the order of the contract (docs/numerics.md): along the last axes 16 strided lanes folded by
 * halves, otherwise index order. `trailing` elements x[0], x[stride], ... */
#define CONTRACT_LANES 16
double eval_sum_lanes(const struct eval_ctx *c, enum dtype d, const double *x, int64_t n, int64_t stride);
/* The same in blocks, as ReduceSum adds along a last axis. */
double eval_sum_row(const struct eval_ctx *c, enum dtype d, const double *x, int64_t n, int64_t stride);
/* Where a sum begins another block: so many elements of a last axis, terms of outer axes, positions of a loss. */
enum { EVAL_BLOCK_OF_ROW = 4096, EVAL_BLOCK_OF_COLUMN = 4096, EVAL_BLOCK_OF_LOSS = 1024 };
/* a[0] b[0] + a[step_a] b[step_b] + ..., n products added in index order, `terms` at a time from 0, and those sums in
 * turn; every product and every sum is rounded as by eval_round(). */
enum { EVAL_TERMS_OF_PRODUCT = 80 }; /* of a matrix product */
double eval_dot(const struct eval_ctx *c, int64_t n, int64_t terms, const double *a, int64_t step_a, const double *b,
                int64_t step_b);
/* max as the contract folds it (order does not matter but NaN does: any NaN gives NaN) */
double eval_max(const double *x, int64_t n, int64_t stride);

/* Integer arithmetic of the contract: wraps in dtype d; x/0 = 0; MIN/-1 wraps; see dtype_wrap(). */
int64_t eval_int_binary(enum dtype d, char op /* + - * / % */, int64_t a, int64_t b);

/* Random numbers of the contract for one element of the node's stream: uniform in [0, 1), normal with mean 0 and
 * variance 1. Doubles are drawn as doubles, all other types as float; both arithmetics draw the same. A node with a
 * seed of its own sets c->random.seed first. */
double eval_uniform(const struct eval_ctx *c, enum dtype d, int64_t element);
double eval_normal(const struct eval_ctx *c, enum dtype d, int64_t element);

/* ---- iteration --------------------------------------------------------------------------------------------------- */

/* output 0 [p] = fn(inputs at p), all inputs broadcast to output 0's shape. For floats -> float. args has one
 * entry per input (integer inputs are converted, omitted ones give 0). Results of the integer forms are wrapped to
 * output 0's dtype. */
typedef double (*eval_fn_f)(const struct eval_ctx *c, const double *args);
bool eval_map_f(struct eval_ctx *c, eval_fn_f fn);
/* ints (or bools) -> int (or bool) */
typedef int64_t (*eval_fn_i)(const struct eval_ctx *c, const int64_t *args);
bool eval_map_i(struct eval_ctx *c, eval_fn_i fn);
/* floats -> bool/int */
typedef int64_t (*eval_fn_fi)(const struct eval_ctx *c, const double *args);
bool eval_map_fi(struct eval_ctx *c, eval_fn_fi fn);
/* Linear index into an input for each element of a broadcast domain: shape_count(domain) of them. */
void eval_broadcast_index(const struct eval_tensor *in, const struct shape *domain, int64_t *index);

/* Pure data movement: output 0 element p = input 0 element from[p] (-1: zero), any dtype. */
void eval_gather(struct eval_ctx *c, const int64_t *from);

/* Evaluates n: allocates outputs in `a`, calls def->eval, and under SAME rounds float16/bfloat16 results. out[] has
 * n->outputs.count entries. */
bool eval_node(const struct node *n, const struct eval_tensor *const *in, struct eval_tensor **out,
               enum arithmetic arithmetic, struct eval_random random, struct arena *a, struct diag *diag) MUST_USE;
/* The same where operands are found by the ids of their values, and results are put so. */
bool eval_node_at(const struct node *n, const struct eval_tensor **value, enum arithmetic arithmetic,
                  struct eval_random random, struct arena *a, struct diag *diag) MUST_USE;

#endif
