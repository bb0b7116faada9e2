/* Shared by the passes. */
#ifndef STEPC_REWRITE_REWRITE_INTERNAL_H
#define STEPC_REWRITE_REWRITE_INTERNAL_H

#include "graph/op_def.h"
#include <string.h>

#endif
