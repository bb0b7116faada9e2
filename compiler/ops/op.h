/* Everything an operator's file needs. */
#ifndef STEPC_OPS_OP_H
#define STEPC_OPS_OP_H

#include "eval/eval.h"
#include "graph/axes.h"
#include "graph/bounded.h"
#include "graph/build.h"
#include "graph/downgrade.h"
#include "graph/op_def.h"
#include "lower/lower.h"
#include "train/adjoint.h"

/* The floating types of operators as of opset 1: before bfloat16. */
#define FLOATS_1 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))

#endif
