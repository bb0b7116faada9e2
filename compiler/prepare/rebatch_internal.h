/* What rebatch.c and rebatch_constants.c share. Included nowhere else. */
#ifndef STEPC_PREPARE_REBATCH_INTERNAL_H
#define STEPC_PREPARE_REBATCH_INTERNAL_H

#include "prepare/batch_axis.h"
#include "prepare/prepare_internal.h"
#include "prepare/rebatch.h"

/* The batch is `dim`'s factor with `inner` elements of the dimension behind each of its steps. */
struct batch_place {
    int dim;
    int64_t inner;
};

struct side {
    struct diag diag;
    struct program program;
    struct graph *graph;
    struct map scope;
};

struct rebatch {
    struct edit *edit;
    struct arena *arena;
    struct import_options import;
    const struct model_value_info *example; /* the first input that has a batch; NULL: none */
    int axis;                               /* of the batch in it */
    int64_t from, to;
    struct side old, next;
    struct batch_axes axes;
    struct map places; /* value -> struct batch_place * */
    node_list changed;
    const char *option;    /* that asks for it */
    bool opens;            /* the batch gets no size: constants are computed from that of the example's input */
    const char *open_size; /* opens: the batch as a tensor of one element; NULL: nothing needs it yet */
    bool quiet;            /* the model is a copy to look at: nothing is reported */
};

enum { MOST_WIDENED = 1 << 26 }; /* elements of a constant with a part for each sample */

bool rebatch_add_node_to(struct rebatch *r, struct side *s, struct model_node *n);
/* The value has the batch in dimension `dim`. */
void rebatch_set_place(struct rebatch *r, const char *name, int dim, int64_t inner);

/* ---- rebatch_constants.c ---- */

/* An initializer for this node alone: others may read the old constant in another sense. */
void rebatch_replace_by(struct rebatch *r, struct model_node *n, size_t input, struct tensor *t);
/* An input that is `old` becomes x. Where the batch becomes open, what differs is the batch. */
void rebatch_change_input(struct rebatch *r, struct model_node *n, size_t input, const struct tensor *old,
                          const int64_t *x, int64_t count);
/* A Reshape's target that is `old`, of an operand of shape x, becomes `wanted`, and leaves dimension `dim` open: by 0,
 * which copies it, or by -1, or it is computed. */
void rebatch_open_target(struct rebatch *r, struct model_node *n, const struct tensor *old, const struct shape *x,
                         int dim, int64_t *wanted);
/* The node reads `name`, with one part along the axis, expanded to the shape that it has in the next size. */
void rebatch_expand_to(struct rebatch *r, struct model_node *n, size_t input, const char *name,
                       const struct shape *wide, int axis);
/* The input has equal parts for the samples of the example: it gets one for each sample. False: it has not. */
bool rebatch_give_parts(struct rebatch *r, struct model_node *n, size_t input, struct value *x, int dim);

#endif
