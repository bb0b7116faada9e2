/* --group: groups of trained tensors with a learning rate or a weight decay of their own. */
#ifndef STEPC_PREPARE_GROUPS_H
#define STEPC_PREPARE_GROUPS_H

#include "base/diag.h"
#include "base/str.h"
#include "base/vec.h"

struct group {
    const char *title;                  /* of messages: what the user typed, "FILE, group 2" */
    const char *file;                   /* to be read; NULL: the fields below are set */
    str_list names;                     /* patterns, or names as parameters have in the framework */
    str_list later;                     /* the same: the model has none of them yet, and perhaps never */
    double learning_rate, weight_decay; /* NAN: as for all */
};

typedef VEC(struct group) group_list;

/* GLOB:learning_rate=N,weight_decay=N, or @FILE, which is not read yet. */
bool group_parse(struct diag *d, struct arena *a, const char *text, group_list *out) MUST_USE;
/* In the place of each @FILE its groups, in order: a JSON list of {"params": [NAME..], "lr": N, "weight_decay": N}. */
bool group_read_files(struct diag *d, struct arena *a, group_list *all) MUST_USE;

#endif
