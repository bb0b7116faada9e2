/* Shared by the passes. */
#ifndef STEPC_REWRITE_REWRITE_INTERNAL_H
#define STEPC_REWRITE_REWRITE_INTERNAL_H

#include "graph/op_def.h"
#include <string.h>

/* Is n the operator of ai.onnx called `op`? */
static inline bool node_is(const struct node *n, const char *op)
{
    return (n->def->domain == NULL || n->def->domain[0] == '\0') && strcmp(n->def->name, op) == 0;
}

#endif
