/* From model to model: a call of one of the model's functions becomes the nodes of the function, and an If that is
 * decided those of its branch. Who looks at the nodes of the main graph then sees all of them.
 *
 *   [fc] h = m.Dense(x)     Dense (a) => (b) { w = Constant...  p = MatMul(a, w)  b = Relu(p) }
 *   ->   fc.w = Constant...   fc.p = MatMul(x, fc.w)   h = Relu(fc.p)
 *
 * Names are those that import gives: the call's label, a dot, and the name in the function. What is not as it should be
 * is left alone: import reports it where the model is compiled. Needs no shapes. */
#ifndef STEPC_GRAPH_INLINE_H
#define STEPC_GRAPH_INLINE_H

#include "base/map.h"
#include "model/model.h"

struct inliner {
    struct arena *arena;
    struct model *model;
    struct map functions; /* key -> struct model_function * */
    struct map names;     /* of the main graph and of graphs inside it -> uintptr_t, how often each is defined */
    struct map prefixes;  /* -> uintptr_t, how often each is used */
    struct map shared;    /* constant of a function -> its name in the main graph */
    model_nodes first;    /* constants that are put in front of all nodes */
    struct map sizes;     /* of functions -> uintptr_t, one more than the nodes that a call becomes */
    str_list constants;   /* in the main graph, of floats, which stood in functions and branches */
    int64_t left;         /* nodes that may still be made */
    size_t calls;         /* of the main graph and of graphs inside it, that became nodes */
};

void inline_begin(struct inliner *x, struct arena *a, struct model *m);
/* All calls of the main graph, nested ones and those in graphs inside nodes too. Functions that nobody calls any more
 * are removed. A number of a function's Constants with a list or matrix of floats, which may be a weight, is shared by
 * all calls. A node that means something else under the opset of the model stays a function of its own. */
void inline_calls(struct inliner *x);
/* Which branch is taken, "then_branch" or "else_branch"; NULL: that depends on data. */
typedef const char *inline_choice(void *with, const struct model_node *n);
/* Each If of g, and of graphs inside its nodes, for which there is a choice becomes its branch; Ifs in such a branch
 * are left for another time. Initializers of the branch become those of the graph. Returns how many. */
size_t inline_branches(struct inliner *x, struct model_graph *g, inline_choice *choose, void *with);
/* A list or matrix of floats in a Constant, which may be somebody's weight; NULL: the node is another. */
struct tensor *inline_weight(const struct model_node *n);
/* Does the name mean one value only, wherever it is read? */
bool inline_is_single(const struct inliner *x, const char *name);
/* A name that nothing in the main graph has: `wish`, `wish_2`... It is taken from now on. */
const char *inline_fresh_name(struct inliner *x, const char *wish);

#endif
