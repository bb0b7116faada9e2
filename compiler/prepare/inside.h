/* What preparation leaves in graphs inside nodes, or cannot train whatever it is called: said, not passed over. */
#ifndef STEPC_PREPARE_INSIDE_H
#define STEPC_PREPARE_INSIDE_H

#include "prepare/parameters.h"

/* Numbers that the loss depends on and that no initializer of the main graph holds. */
struct left_inside {
    const char *name, *what; /* "float[3,3] in the body of Loop 'y'" */
    const char *why;         /* "sparse initializers are not trained" */
};
typedef VEC(struct left_inside) left_inside_list;

/* Of floats, and read where a gradient of the loss arrives. */
void find_left_inside(const struct rules *r, left_inside_list *out);
/* What a name is that no initializer of the main graph has: "it is an input", ...; NULL: nothing has it. */
const char *what_is_called(struct arena *a, const struct model *m, const char *name);
/* Warns of BatchNormalization and Dropout in graphs inside nodes: a step has them as infer() does. */
void warn_of_forms_inside(struct preparer *p);

#endif
