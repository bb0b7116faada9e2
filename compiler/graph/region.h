/* Regions: a node that runs a graph of its own once for each step of time (stepc.Scan). All that the graph reads comes
 * in through the node, so passes that do not look into regions see an ordinary node.
 *
 * The graph belongs to a program of its own. What is carried from step to step are variables of that program: the
 * node's input is the value before the first step, its output that after the last. What is stacked are variables as
 * well, which nothing reads: the node's output has one for each step, along its first axis. Inputs of the graph are
 * slices of the node's input, one for each step along its first axis, or captures, the same in all steps.
 *
 *   node inputs    initial states (NULL: zeros), then the graph's inputs in order (NULL: nobody reads it)
 *   node outputs   final states, then what is stacked */
#ifndef STEPC_GRAPH_REGION_H
#define STEPC_GRAPH_REGION_H

#include "graph/build.h"

struct region {
    struct program *program; /* with one entry; its variables: the states, then what is stacked */
    int states;
    struct size trips;       /* steps of time, 1 or more */
    bool backwards;          /* from the last slice to the first; what is stacked stands at the same places */
    /* in comments and names: */
    bool of_parts;           /* its steps are parts of a batch, not steps of time; */
    const char *strips_of;   /* or strips of this value, of which only one is to lie in memory; NULL: they are not */
    VEC(bool) is_slice;      /* by input of the graph; else a capture */
};

/* An empty region for a node of g. */
struct region *region_new(const struct graph *g, struct size trips, bool backwards);
struct graph *region_graph(const struct region *r);
/* A state, to read in the graph; all states come before anything is stacked. */
struct value *region_state(struct region *r, const char *name, enum dtype dtype, const struct shape *shape);
/* The state that was made as number i has this value after a step. */
void region_carry(struct region *r, int i, struct value *v);
/* An input; a slice has the shape of one step. */
struct value *region_input(struct region *r, const char *name, enum dtype dtype, const struct shape *shape,
                           bool is_slice);
/* v of every step becomes an output of the node, under that name; returns its number. A node that is built already gets
 * it as a further one. */
int region_stack(struct region *r, const char *name, struct value *v);
/* Shape of slices or of what is stacked, with all steps. */
struct shape region_stacked_shape(const struct region *r, const struct shape *of_step);
/* What the graph stacks as output number i, or NULL if it does not any more. */
struct value *region_stacked(const struct region *r, int i);
/* Output i is not wanted: nothing is stacked there. */
void region_drop(struct region *r, int i);
/* The same operator with the same attributes and the same operands and results left out, and the same region? What they
 * read may differ. */
bool node_same_kind(const struct node *a, const struct node *b);
/* Do both run the same nodes, one for one in their order, on the same constants? Names may differ. */
bool region_equal(const struct region *a, const struct region *b);
/* A copy, with nodes and values of its own, for a node of g. */
struct region *region_copy(const struct graph *g, const struct region *r);
/* A copy of a graph, which is no entry's, of the same program; no size of it is known late. */
struct graph *graph_copy(const struct graph *g);
/* The nodes of `from`, copied to the end of `to`; now[id] is the value that stands for each, filled in for inputs and
 * variables. Constants are taken along. */
void region_copy_nodes(struct graph *to, const struct graph *from, struct value **now);

/* A node like n, with a region of its own, but without inputs and outputs; placed before `before` (NULL: at the
 * end). */
struct node *graph_add_like(struct graph *to, const struct node *n, const struct loc *loc, struct node *before);

/* The node of r. `outputs` names what it makes, NULL: not wanted. */
struct node *build_region(struct builder *b, struct region *r, struct value *const *inputs, size_t count,
                          const char *const *outputs, size_t output_count);

#endif
