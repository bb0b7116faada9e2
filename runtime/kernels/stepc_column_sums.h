/* SPDX-License-Identifier: 0BSD */
/* Products of a matrix and a vector, by columns: the elements of a column lie side by side.
 *
 *   stepc_columns_times_vector(rows, depth, goes_on, sum, column, column_step, factor, factor_step)
 *
 * sum[i] += matrix(i, depth) * factor[depth], a sum that starts from zero and is added in index order; up to 64 rows.
 * Element (i,k) is column[i + k * column_step]. goes_on: `sum` does not hold zeros only. */
#ifndef STEPC_KERNELS_COLUMN_SUMS_H
#define STEPC_KERNELS_COLUMN_SUMS_H

#include "stepc_registers.h"

/* Terms that the sums of `rows` rows in memory get at a time where the matrix is updated as well. */
/* Why: with more terms the sums are read less often, but more places of memory are walked at once, which processors of
 * AMD mind: 400 x 120 with Adam 6.5 (two) or 6.9 (one) instead of 9.8 us with GCC, but 2048 x 2048 0.45 (two) instead
 * of 0.34 ms. Clang takes shorter vectors where the columns walked are not whole vectors apart: 120 x 84 2.9 instead of
 * 1.5 us. */
#if STEPC_FORM == 0
#define STEPC_UPDATED_AT_ONCE(rows, columns) 8
#elif defined(STEPC_AMD)
#define STEPC_UPDATED_AT_ONCE(rows, columns) ((rows) % 16 == 0 && (columns) < (1 << 16) / (rows) ? 2 : 1)
#elif defined(__clang__)
#define STEPC_UPDATED_AT_ONCE(rows, columns) ((rows) % 16 == 0 ? 8 : 1)
#else
#define STEPC_UPDATED_AT_ONCE(rows, columns) 8
#endif

#include "stepc_for_float.h"
#include "stepc_column_sums_body.h"
#include "stepc_for_double.h"
#include "stepc_column_sums_body.h"

#endif
