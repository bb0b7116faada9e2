/* Shared by import.c, import_types.c and import_constant.c. */
#ifndef STEPC_GRAPH_IMPORT_INTERNAL_H
#define STEPC_GRAPH_IMPORT_INTERNAL_H

#include "graph/import.h"

/* Checks what the model declares of a value against what inference found; symbols and unknown parts say nothing.
 * `what`: "output", "value". */
bool import_check_declared(struct diag *d, const struct model_value_info *vi, const char *what,
                           const struct value *v) MUST_USE;

/* The dense form of a sparse tensor, or NULL after a report. */
struct tensor *import_dense(struct diag *d, struct arena *a, const struct model_sparse *s);

bool import_is_constant(const struct model_node *mn);
/* The tensor of a Constant node, whatever attribute holds it; NULL after a report. */
const struct tensor *import_constant_tensor(struct diag *d, struct arena *a, const struct model_node *mn);

#endif
