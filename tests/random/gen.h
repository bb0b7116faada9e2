/* A random model while it grows: the operands there are so far, and how to add one. */
#ifndef STEPC_TESTS_RANDOM_GEN_H
#define STEPC_TESTS_RANDOM_GEN_H

#include "random_model.h"

struct operand {
    const char *name;
    enum dtype dtype;
    struct shape shape;
    double bound; /* no element is larger, about: keeps values away from overflow, where roundings decide everything */
};

struct gen {
    struct arena *arena;
    uint64_t random;
    struct model *model;
    struct model_graph *graph;
    VEC(struct operand *) operands;
    int64_t dims[3]; /* what shapes are made of: few sizes, so that operands often fit each other */
    int64_t opset;
    enum random_kind kind;
    bool smooth;
    int names;
};

enum { GEN_MAX_RANK = 4, GEN_MAX_COUNT = 6000 };
#define GEN_MAX_BOUND 100.0

/* ---- chance ------------------------------------------------------------------------------------------------------ */

int64_t gen_below(struct gen *g, int64_t n); /* [0, n), n > 0 */
bool gen_chance(struct gen *g, int percent);
int64_t gen_dim(struct gen *g);
struct shape gen_shape(struct gen *g, int max_rank);
const char *gen_name(struct gen *g);

/* ---- operands ---------------------------------------------------------------------------------------------------- */

/* One of those whose dtype is in the set (DTYPE_BIT), younger ones more often; NULL: none. */
const struct operand *gen_pick(struct gen *g, unsigned long long dtypes);
/* The same, broadcastable with x and of its dtype; a new leaf if none is found. */
const struct operand *gen_pick_beside(struct gen *g, const struct operand *x);
/* A new input or initializer with random elements. */
const struct operand *gen_leaf(struct gen *g, enum dtype dtype, const struct shape *shape);
const struct operand *gen_input(struct gen *g, const char *name, enum dtype dtype, const struct shape *shape,
                                double bound);
const struct operand *gen_initializer(struct gen *g, enum dtype dtype, const struct shape *shape);
/* an INT64 initializer, no operand for others */
const struct operand *gen_ints(struct gen *g, const int64_t *x, int count);
const struct operand *gen_constant(struct gen *g, enum dtype dtype, double x); /* a scalar */

/* Adds a node with one output, which becomes an operand; inputs NULL-terminated. gen_last is the node. */
const struct operand *gen_node(struct gen *g, const char *op, const struct operand *const *inputs, enum dtype dtype,
                               const struct shape *shape, double bound);
#define GEN_NODE(g, op, dtype, shape, bound, ...)                                                                      \
    gen_node(g, op, (const struct operand *const[]){__VA_ARGS__, NULL}, dtype, shape, bound)
struct model_node *gen_last(struct gen *g);

/* ---- windows (gen_windows.c) ------------------------------------------------------------------------------------- */

/* Each adds one operator; false: it did not fit. */
bool gen_conv(struct gen *g);
bool gen_conv_transpose(struct gen *g);
bool gen_pool(struct gen *g);
bool gen_lrn(struct gen *g);
bool gen_blocks(struct gen *g);

/* ---- operators (gen_ops.c) --------------------------------------------------------------------------------------- */

/* Adds one operator at random; false: it did not fit anything that is there. */
bool gen_operator(struct gen *g);

#endif
