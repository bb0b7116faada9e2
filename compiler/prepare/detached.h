/* Tensors through which no gradient flows: what a network computed behind .detach() or under no_grad. A Gradient lists
 * them in zs: there they are free variables of what it differentiates, whatever computes them. */
#ifndef STEPC_PREPARE_DETACHED_H
#define STEPC_PREPARE_DETACHED_H

#include "prepare/prepare_internal.h"

/* x + (y - x) in one of its forms. */
struct straight_through {
    const struct model_node *sum;
    const char *x, *difference; /* "": there is none that could be detached in the place of one x of two */
};
typedef VEC(struct straight_through) straight_through_list;

/* Enters into p->detached what the file says, and warns of what it says in vain. p->diag NULL: nobody is warned. */
void find_marked_detached(struct preparer *p);
/* The same and what --detach names. Reads producers. */
bool find_detached(struct preparer *p) MUST_USE;
/* Straight-through estimators without a detach: y's value, and y's gradient instead of x's. None in files of which
 * examples/pytorch/export.py says what is detached. Reads p->detached. */
void find_straight_through(struct preparer *p, straight_through_list *out);
/* "'z_q' is 'z' + (y - 'z'), ...": without what to do. */
const char *straight_through_text(struct arena *a, const struct straight_through *s);
/* Warns of those that the loss depends on, says what is detached. Reads p->ancestors. */
void say_detached(struct preparer *p);
/* The names, in what is being written, of the detached tensors that the loss depends on. */
void list_detached(const struct preparer *p, str_list *out);

#endif
