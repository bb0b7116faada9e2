/* Random statement trees, and an interpreter of trees that shares nothing with the printer. */
#ifndef STEPC_TESTS_TREES_RANDOM_TREE_H
#define STEPC_TESTS_TREES_RANDOM_TREE_H

#include "tree/tree.h"

enum { ELEMENTS = 64, CHOICES = 16, MOST_CHOICE = 7 };

/* void f(float *y, const float *x, const int64_t *z): ELEMENTS of y and x; CHOICES of z, each from 0 to MOST_CHOICE. */
struct random_tree {
    const struct tree_var *y, *x, *z;
    stmt_list body;
};

struct random_tree random_tree(struct arena *a, uint64_t seed);

/* The same with choices taken from bytes, one each, and the first one of each kind behind them: for fuzzers. */
struct random_tree tree_of_bytes(struct arena *a, const unsigned char *bytes, size_t size);

/* What is wrong with the tree, or NULL: the verifier accepts it, no index can be folded further, and what is broken in
 * it is refused. */
const char *check_tree(struct arena *a, const struct random_tree *t);

/* Arguments for the tree's function, y filled as before a call. */
void tree_arguments(uint64_t seed, float *y, float *x, int64_t *z);

/* The same index made again by the makers: they have nothing left to do. */
const struct expr *made_again(struct arena *a, const struct expr *e);

/* Runs the tree; false where it reads or writes outside of an array. */
bool interpret_tree(const struct random_tree *t, float *y, const float *x, const int64_t *z);

#endif
