/* Trees of ai.onnx.ml: what the attributes of TreeEnsembleClassifier, TreeEnsembleRegressor and TreeEnsemble say,
 * checked once for all: afterwards every number of a node, leaf, feature and target is in range, and no walk comes to a
 * node twice. A node may be reached in several ways. */
#ifndef STEPC_OPS_TREE_RULES_H
#define STEPC_OPS_TREE_RULES_H

#include "graph/op_def.h"

/* The numbers of TreeEnsemble's nodes_modes. */
enum tree_mode { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ, TREE_MEMBER, TREE_MODES };
/* The numbers of TreeEnsemble's aggregate_function. */
enum tree_aggregate { TREE_AVERAGE, TREE_SUM, TREE_MIN, TREE_MAX, TREE_AGGREGATES };

/* A place is the number of a node, or -1 - leaf. */
struct tree_node {
    enum tree_mode mode;
    bool nan_is_true; /* NaN goes where the condition holds; else it is compared like a number */
    int64_t feature;
    double split;
    const double *members; /* TREE_MEMBER: the condition holds for each of these */
    size_t member_count;
    int64_t next[2]; /* where the condition holds, and where it does not */
};

struct tree_weight {
    int64_t target;
    double weight;
};

struct forest {
    enum dtype type; /* in which features are compared and weights are added: float or double */
    int64_t features, targets;
    struct tree_node *nodes;
    size_t node_count;
    int64_t *roots; /* places */
    size_t root_count;
    size_t leaf_count;
    size_t *first; /* leaf l has weights[first[l]] .. weights[first[l + 1] - 1] */
    struct tree_weight *weights;
    enum tree_aggregate aggregate;
    const double *base; /* added to the aggregates; NULL: nothing */
    size_t base_count;
};

/* Reads the node's attributes; the input is [N,F] or [F]. Of the form since version 1 the weights are in attributes
 * that begin with `prefix` ("target", "class"), NULL: the form of TreeEnsemble. targets 0: one more than the highest
 * id. False after a report; lives in `a`. */
bool forest_read(struct forest *f, struct arena *a, struct diag *d, const struct node *n, const char *prefix,
                 int64_t targets);
/* Only a row's place is looked for: the leaf that it comes to from a place. */
int64_t forest_leaf(const struct forest *f, int64_t place, const double *row);
/* A row's aggregate for each target, base values included. */
void forest_scores(const struct forest *f, const double *row, double *scores);

/* ---- as a table -------------------------------------------------------------------------------------------------- */

/* Nodes that all compare in one way (templates/tree_leaves.c), in an order in which each stands in front of those it
 * leads to. */
struct tree_table {
    size_t count, ways;
    int64_t *features, *next; /* next: `ways` for each */
    double *splits;
    int64_t *roots; /* as many as the forest has */
};
/* False if there would be too many nodes. */
bool forest_table(const struct forest *f, struct arena *a, struct tree_table *out);

/* How weights are looked up. By columns: each tree has weights of one target at most, and the trees of a target are put
 * side by side, as many for each target (`slots`), some of which may be none. Else each leaf has a weight for each
 * target. */
struct tree_weights {
    bool by_columns;
    int64_t slots;    /* by columns: of a target; else: trees */
    int64_t *tree_of; /* by columns: [targets * slots], -1: none */
    double *weights;  /* by columns: of each leaf and of none, [leaves + 1]; else [leaves, targets] */
    int64_t count;
    bool may_be_absent; /* minimum or maximum of nothing is 0; it is infinite among the weights */
};
/* False if they are too many. */
bool forest_weights(const struct forest *f, struct arena *a, struct tree_weights *out);

#endif
