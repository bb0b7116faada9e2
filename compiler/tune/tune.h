/* Shape passes: what makes the functions of a kernel fit the machine that they are for. They stand between building
 * trees and settling them, are the rows of passes.def, and read what the machine is. Each gives the same bits. */
#ifndef STEPC_TUNE_TUNE_H
#define STEPC_TUNE_TUNE_H

#include "lower/targets.h"
#include "tree/tree.h"

/* The machine, as its row of targets.def and the command line (--simd, --optimize) say. */
struct tune {
    struct arena *arena;
    const struct target *row; /* the first row, without --machine */
    bool has_vectors;         /* or may have, as far as is known */
    bool small;               /* code size goes before speed */
};

/* Runs the passes that this machine wants, in their order, over all functions; `after` is called behind each. */
void tune_functions(const struct tune *t, struct tree_function *const *functions, size_t count,
                    void (*after)(void *user, const char *pass), void *user);

/* ---- for passes -------------------------------------------------------------------------------------------------- */

/* Offers all statements, outer ones first. Where `take` returns true it has put something else at b, which is offered
 * in turn; it may change s as well, or do nothing. */
void tune_replace(const struct tune *t, stmt_list *body,
                  bool (*take)(const struct tune *t, struct stmt *s, struct tree_builder *b));

/* ---- the passes, each in the file of its name -------------------------------------------------------------------- */

#define TUNE_PASS(name, wanted) void tune_##name(const struct tune *t, stmt_list *body);
#include "tune/passes.def"
#undef TUNE_PASS

#endif
