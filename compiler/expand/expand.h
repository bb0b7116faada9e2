/* From a canonical graph to a plain model: what an entry computes, in operators of ai.onnx as a given opset has them.
 *
 * The graph's variables are inputs and outputs of the model: an input has the variable's name and is its content
 * before the call, the output NAME.new is that after it. Seed and counters of random numbers are variables as well,
 * int64 scalars. Which belong together is in the model's metadata_props, as "stepc.variables". */
#ifndef STEPC_EXPAND_EXPAND_H
#define STEPC_EXPAND_EXPAND_H

#include "graph/graph.h"

enum { EXPAND_OLDEST_OPSET = 13, EXPAND_NEWEST_OPSET = 28, EXPAND_DEFAULT_OPSET = 18 };

struct expand_options {
    int opset;          /* of ai.onnx */
    const char *entry;  /* the only one that is wanted; NULL: all */
    const char *title;  /* what it is called in the model; NULL: as it is */
    bool native_random; /* RandomNormal and RandomUniform, in place of the numbers of docs/numerics-functions.md */
    /* Not NULL: the initial values of variables are a state that was saved, and this is the rest of it, the seed and
     * program->counters. init() gives that state; entries that change nothing have the values inside. */
    const int64_t *random_state;
};

/* For pass_options.stays of the canonical graph: composites of float that may stay for an opset; runtimes have few of
 * other types. Normalizations, recurrent layers and the like are faster as one node; but where derivatives are taken,
 * their parts are shared with those. */
struct expand_choice {
    int opset;
    const struct graph *graph; /* that was asked for last, and */
    bool is_differentiated;    /* whether a node of it is of a gradient */
};
bool expand_stays(const struct node *n, void *choice);

struct expanded {
    const char *entry;
    struct model *model;
};
typedef VEC(struct expanded) expanded_list;

/* The entries of a canonical program, whose graphs are changed. There is always one called init where there are
 * variables: it gives what they start from. False after a report to the program's messages: some node cannot be written
 * so. */
bool expand_program(struct arena *a, struct program *p, const struct expand_options *o, expanded_list *out) MUST_USE;

#endif
