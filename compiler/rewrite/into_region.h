/* Nodes of a graph that become the nodes of a region. */
#ifndef STEPC_REWRITE_INTO_REGION_H
#define STEPC_REWRITE_INTO_REGION_H

#include "graph/build.h"
#include "graph/region.h"

struct into_region {
    struct graph *graph; /* in which the region's node will be */
    struct arena *arena;
    struct region *region;
    VEC(struct value *) inputs; /* of the node: what comes in, after the states */
    struct value **now;         /* by id of a value of the graph: what stands for it in the region; NULL: nothing yet */
    bool *is_step;              /* by id: another one in each step */
};

struct into_region into_region(struct graph *g, struct arena *a);

/* What stands for v in the region. What is the same in all steps comes in; where it is no more than a way to read
 * something, that does. */
struct value *into_region_value(struct into_region *r, struct value *v);

/* v stands for a step of `whole`, which is cut along the axis. */
void into_region_slice(struct into_region *r, struct builder *b, struct value *v, struct value *whole,
                       const struct shape *of_step, int axis);

/* A copy of n at the end of the region. shape: its first result has this one there, NULL: the same. */
void into_region_node(struct into_region *r, const struct node *n, const struct shape *shape);

/* [12, 7] -> [3, 4, 7]: the steps along the first axis. The way back, to the shape of the whole. */
struct value *into_region_cut(struct builder *b, struct value *whole, int axis, int64_t steps);
struct value *into_region_whole(struct builder *b, struct value *cut, int axis, const struct shape *to);

/* Readers of what the region's node makes stand behind it. */
void into_region_move_readers(struct graph *g, struct node *region);
/* `made` takes the readers of `old`, and the name of `called`. */
void into_region_take_place(struct graph *g, struct value *old, struct value *called, struct value *made);

#endif
