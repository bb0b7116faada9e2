/* SPDX-License-Identifier: 0BSD */
/* Products of a matrix and a vector, by rows that lie apart, several of them at a time. */
#ifndef STEPC_KERNELS_ROW_SUMS_H
#define STEPC_KERNELS_ROW_SUMS_H

#include "stepc_quad.h"
#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_row_sums_body.h"
#include "stepc_for_double.h"
#include "stepc_row_sums_body.h"

#endif
