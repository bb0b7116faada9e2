/* Shared by merge.c, merge_entries.c and merge_equal.c. */
#ifndef STEPC_PREPARE_MERGE_INTERNAL_H
#define STEPC_PREPARE_MERGE_INTERNAL_H

#include "base/map.h"
#include "prepare/merge.h"

struct merger {
    struct diag *diag;
    struct arena *arena;
    struct model *into, *from;
    struct strbuf *report;
    const char *title;              /* of what comes from `from`: its file's name without folder and ending */
    struct map main_names;          /* of the main graph of `into`, and of graphs inside its nodes */
    struct map taken;               /* no fresh name may be one of these: all names of both models */
    struct map added;               /* those that were not in `into` before */
    struct map producers;           /* result of a node of the main graph of `into` -> struct model_node * */
    struct map renamed;             /* name in the main graph of `from` -> const char *, in the merged one */
    str_list inputs[2], outputs[2]; /* of the main graphs of `into` and `from` as they were */
};

/* ---- merge_entries.c ---- */

/* The entries of `from` become entries of `into`, whose main graph is the merged one. */
bool merge_entries(struct merger *m) MUST_USE;

/* ---- merge_equal.c ---- */

/* Do they compute the same from values of the same names? Results, except of graphs inside, may have other names. */
bool merge_same_node(const struct model_node *a, const struct model_node *b);
bool merge_same_type(const struct model_type *a, const struct model_type *b);
bool merge_same_sparse(const struct model_sparse *a, const struct model_sparse *b);
bool merge_same_function(const struct model_function *a, const struct model_function *b);

#endif
