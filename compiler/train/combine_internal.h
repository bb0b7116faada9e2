/* Shared by combine.c, combine_check.c, combine_names.c, combine_sizes.c, combine_step.c and combine_sums.c. */
#ifndef STEPC_TRAIN_COMBINE_INTERNAL_H
#define STEPC_TRAIN_COMBINE_INTERNAL_H

#include "train/combine.h"

typedef VEC(struct variable *) variable_list;

/* What the names of a graph mean (combine_names.c). The first definition of a name counts. */
struct graph_names {
    const struct model_graph *graph; /* NULL: all tables are empty */
    struct map initializers;         /* -> struct model_initializer * */
    struct map inputs;               /* -> struct model_value_info * */
    struct map outputs, results;     /* of the graph, of its nodes */
    struct map reads;                /* by its nodes */
    bool may_read_all;               /* some node has a subgraph */
};

/* The names of a training_info's graphs. */
struct training_names {
    const struct graph_names *algorithm, *initialization;
};

struct combiner {
    struct diag *diag;
    struct arena *arena;
    const struct model *model;
    const struct import_options *options;
    struct import_options own_options; /* with inferred sizes, see combine_sizes.c */
    const char *only;
    struct program *program;
    /* State variables by name -> struct variable * (NULL until made): initializers of the main graph, and per
     * training_info those of its algorithm. */
    struct map main_state;
    struct map *own_state;
    struct map entry_names;
    const struct graph_names *main_names;
    struct training_names *names; /* per training_info */
};

const struct graph_names *combine_names(struct arena *a, const struct model_graph *mg);
/* Does the graph read the name, or give it out? A node with a subgraph may read anything. */
bool combine_is_read(const struct graph_names *x, const char *name) MUST_USE;

/* The entry's graph, empty; `counters` of the program from `first` on are its own. */
struct graph *combine_add_entry(struct combiner *c, const char *name, enum entry_kind kind, int training, size_t first,
                                size_t counters);
/* The main graph as training_info k is combined with it: whole, or its initializers alone (R31 in docs/readings.md). */
const struct model_graph *combine_main_graph(const struct combiner *c, size_t k);
/* Adds main graph and algorithm of training_info k to g: nodes, outputs and bindings, which drop the outputs that only
 * feed them (R13). The scope holds the state variables, and inputs that are there already. */
bool combine_add_training(struct combiner *c, struct graph *g, size_t k, struct map *scope, const char *entry) MUST_USE;
bool combine_has_updates(const struct model_training *t);
/* How many training_infos have updates? */
size_t combine_count_steps(const struct model *m);
/* The entry "step" of several training entries, whose names are given by training_info. */
bool combine_make_step(struct combiner *c, const char *const *names) MUST_USE;

/* All rules of training_info that need no shapes: bindings (R6, R8, R9, R14, R15), graphs that have to be there, names
 * of the combined graphs (R12). Enters the state variables into main_state and own_state. */
bool combine_check(struct combiner *c) MUST_USE;
/* Does the algorithm of training_info number k run the main graph by GraphCall, and refer to nothing that the main
 * graph computes or is fed? Then the main graph is not part of the combined graph (R31). */
bool combine_calls_main_only(const struct combiner *c, size_t k) MUST_USE;
/* Is its entry combined with the main graph's initializers alone? */
bool combine_without_main(const struct combiner *c, size_t k) MUST_USE;
/* Symbols of outputs of the main graph that no input has get the sizes that inference gives them;
 * --dim has to agree. */
bool combine_infer_sizes(struct combiner *c) MUST_USE;
/* The place of training_info number k. */
struct loc combine_loc(const struct combiner *c, size_t k);

#endif
