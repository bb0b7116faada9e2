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

/* The same index made again by the makers: they have nothing left to do. */
const struct expr *made_again(struct arena *a, const struct expr *e);

/* Runs the tree; false where it reads or writes outside of an array. */
bool interpret_tree(const struct random_tree *t, float *y, const float *x, const int64_t *z);

#endif
