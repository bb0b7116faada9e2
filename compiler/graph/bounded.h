/* Sizes that follow from data. How many elements a mask takes is known when the program runs, and shapes are fixed when
 * it is compiled. So what an operator selects is made at the largest size that there can be, together with a count,
 * an int64 scalar of the graph, of how many are meant:
 *   i = NonZero(mask)          i:int64[1,8], bounded along axis 1, count = ReduceSum(Cast(mask))
 *   y = Gather(x, i)           y:float[8,3], bounded along axis 0 by the same count
 *   z = ReduceSum(y)           z = ReduceSum(Where(0..7 < count, y, 0))
 * Elements beyond the count are copies of ones that were taken or could be (the first one, mostly), so that whatever
 * is computed of them is as finite as the rest; no result depends on them, and they get a gradient of 0.
 *
 * All this ends with the import of a model: the graph then has fixed shapes, and nobody after it knows of counts.
 * The largest size is what the operand allows, or what --bound says: then one count more is an error at run time. */
#ifndef STEPC_GRAPH_BOUNDED_H
#define STEPC_GRAPH_BOUNDED_H

#include "graph/build.h"

/* Of a model: a line NAME=N for each. */
#define METADATA_BOUNDS "stepc.bounds"

/* --bound NAME=N. */
struct bound_option {
    int64_t most;
    bool is_used;
};

/* Along `axis` the first `count` elements of a value are meant. */
struct bounded {
    int axis;
    struct value *count;
    int64_t most;       /* the count is not greater */
    const char *origin; /* for messages: "node 'nz' (NonZero)" */
    bool is_asked;      /* by --bound, so that it may be seen in outputs */
};

/* A node whose input has a count, or whose result gets one. */
struct bounded_ctx {
    struct builder *b;
    struct node *node;
    bool is_settled; /* a rule has given the outputs what they have */
};

/* ---- for rules of operators -------------------------------------------------------------------------------------- */

/* NULL where input i is omitted or has no count. */
const struct bounded *bounded_in(const struct bounded_ctx *c, int i);
/* Is its content known when the model is compiled, or the input left out? */
bool bounded_is_known(const struct bounded_ctx *c, int i);
/* Output o, if the node has it, has x's count along `axis`. Returns true. */
bool bounded_out(struct bounded_ctx *c, int o, const struct bounded *x, int axis);
/* No input but this one has a count; else reports. */
bool bounded_only(struct bounded_ctx *c, int i) MUST_USE;
/* Reports that the operator can't have a count there. `why` begins in lower case. Returns false. */
bool bounded_refuse(struct bounded_ctx *c, int i, const char *why);
/* Two counts that are the same number in every run. */
bool bounded_alike(const struct bounded *a, const struct bounded *b);
/* x where its count says that it is meant, `fill` (a scalar of x's type) elsewhere: a value without a count. */
struct value *bounded_filled(struct builder *b, struct value *x, struct value *fill);
/* The same of input i of the node, which reads it from now on. */
void bounded_fill_input(struct bounded_ctx *c, int i, struct value *fill);
/* Scalars of a type: the least and the greatest value that it has, infinities among them, or the finite ones only. */
struct value *bounded_least(struct builder *b, enum dtype d, bool finite);
struct value *bounded_greatest(struct builder *b, enum dtype d);
/* The node is this operator from now on, with one output. */
bool bounded_become(struct bounded_ctx *c, const char *op, const struct attr *attrs, struct value *const *inputs,
                    size_t count) MUST_USE;

/* A count, of up to `natural` (1 or more) elements as the operand allows; --bound may say less, and then more ends the
 * entry with an error. `slots` of the result: how many elements a tensor has along the axis, never 1, so that nothing
 * is broadcast or squeezed. */
const struct bounded *bounded_new(struct bounded_ctx *c, struct value *count, int64_t natural, int64_t *slots);
/* mask: bool[n]. The places of what is true in it, int64[slots], with its count along axis 0. NULL after a report. */
struct value *bounded_places(struct bounded_ctx *c, struct value *mask);
/* 0, 1, .. count - 1, and 0 for what is not meant: int64[slots], which the caller marks. */
struct value *bounded_steps(struct builder *b, const struct bounded *x, int64_t slots);

/* A number, or so many times a count (a value that stepc.CountUpTo makes). */
struct bounded_extent {
    int64_t number;
    struct value *count;
};
struct bounded_extents {
    int count;
    struct bounded_extent of[SHAPE_MAX_RANK];
};
/* The elements of a scalar or a list of integers, if their structure tells. */
bool bounded_extents(struct value *v, struct bounded_extents *x);
/* The content of v where it follows from sizes that no count is in, although what it is made of is not known. */
const struct tensor *bounded_fixed(struct graph *g, struct value *v);
/* For sized_by_data: input i is a list of sizes one of which is a count, or so many times a count. Gives the list with
 * room for the most, where that size is in it, and the count. */
bool bounded_shape(struct bounded_ctx *c, int i, struct value **dims, int *axis, const struct bounded **x);
/* Reports that a size that input i says, a count as bounded_shape() found it, can't be one. Returns false. */
bool bounded_refuse_shape(struct bounded_ctx *c, int i, const struct bounded *x, const char *why);
/* Whose count it is: "node 'nz' (NonZero)". */
const char *bounded_origin(const struct value *count);

/* ---- rules that operators share ---------------------------------------------------------------------------------- */

/* Operands broadcast among each other. */
bool bounded_elementwise(struct bounded_ctx *c);
/* Output 0 has the elements of input 0 in the same order. */
bool bounded_reshape(struct bounded_ctx *c);
/* All outputs have the axes of input 0, and each element along the counted one is by itself. */
bool bounded_same(struct bounded_ctx *c);
/* The same, if the count is along axis 0: what samples have nothing to do with each other for. */
bool bounded_samples(struct bounded_ctx *c);

/* ---- for inference and import ------------------------------------------------------------------------------------ */

/* Before inference: lets n become one of known sizes. *settled: its outputs have their counts. */
bool bounded_begin(struct node *n, bool *settled) MUST_USE;
/* After inference. */
bool bounded_follow(struct node *n) MUST_USE;
/* The graph gives out v, which has a count, as `name`: zeros beyond it; and `name`_count. */
bool bounded_give(struct graph *g, const struct loc *at, const char *name, struct value *v) MUST_USE;
/* What the model's metadata say, and `given` (or NULL) before that: name -> struct bound_option *. NULL: nothing. */
const struct map *bounded_options(struct arena *a, const struct model *m, const struct map *given);
/* Writes what is given into the metadata, so that it need not be said again. */
void bounded_remember(struct arena *a, struct model *m, const struct map *given);
/* Import is over: sizes are what they are. Warns of bounds that nothing has. */
void bounded_forget(struct program *p);

#endif
