/* Functions that are equal but for the names of their variables and for sizes: their key, and sizes as parameters. */
#ifndef STEPC_TREE_EQUAL_H
#define STEPC_TREE_EQUAL_H

#include "base/words.h"
#include "tree/tree.h"

/* Which constants may be parameters. */
enum tree_sizes {
    SIZES_OUTER, /* where compilers gain nothing from knowing them: not in innermost loops, nor in tiles */
    SIZES_ALL    /* wherever C takes a variable */
};

/* A constant that may differ. */
struct tree_size {
    const struct expr *value; /* EXPR_INT of an index, EXPR_WIDE or EXPR_FLOAT */
    const char *wish;         /* what it would be called */
};

/* Functions that were built together, written down as numbers: equal ones have equal words. */
struct tree_key {
    word_list words;
    VEC(struct tree_size) sizes; /* in the order in which they are met */
    tree_vars vars;              /* the same of all variables */
};

/* Of functions that are settled, of which none calls a later one. */
void tree_find_key(struct arena *a, struct tree_function *const *functions, size_t count, enum tree_sizes which,
                   struct tree_key *key);
bool tree_same_size(const struct tree_size *x, const struct tree_size *y);
/* Constant i of their key becomes values[i], if that is not NULL; what a function reads of `sizes` becomes a parameter
 * and an argument of its calls, as in tree_settle(). */
void tree_put_sizes(struct arena *a, struct tree_function *const *functions, size_t count, enum tree_sizes which,
                    const struct expr *const *values, const tree_vars *sizes);

#endif
