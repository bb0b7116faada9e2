/* SPDX-License-Identifier: 0BSD */
/* Products of a matrix and a vector, by columns: the elements of a column lie side by side. */
#ifndef STEPC_KERNELS_COLUMN_SUMS_H
#define STEPC_KERNELS_COLUMN_SUMS_H

#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_column_sums_body.h"
#include "stepc_for_double.h"
#include "stepc_column_sums_body.h"

#endif
