/* SPDX-License-Identifier: 0BSD */
/* Products of a matrix and a vector, by rows that lie apart, several of them at a time.
 *
 *   stepc_rows_times_vector(rows, depth, goes_on, sum, row, row_step, factor, factor_step)
 *       sum[i] += row i[depth] * factor[depth], a sum that starts from zero and is added in index order; `sum` has room
 *       for a multiple of eight. goes_on: it does not hold zeros only.
 *   stepc_far_rows_times_vector(rows, depth, ahead, sum, row, row_step, factor, factor_step)
 *       The same twice, of `depth` elements and of the next `depth`, for up to STEPC_FAR_ROWS rows that lie in no near
 *       cache. Meanwhile as many elements from `ahead` on are asked for. */
#ifndef STEPC_KERNELS_ROW_SUMS_H
#define STEPC_KERNELS_ROW_SUMS_H

#include "stepc_quad.h"
#include "stepc_registers.h"

#define STEPC_FAR_ROWS 8 /* rows at a time that lie in no near cache */

/* The loop over sums that are read again right after they were stored. */
/* Why: GCC would take vectors twice as long as those that were stored, and wait until these have left for memory (32 x
 * 64 times a vector: 0.37 instead of 0.33 kilocycles); Clang does not, and makes more of one loop. */
#if STEPC_FORM != 2
#define STEPC_SUMS_READ 16
#elif defined(__clang__)
#define STEPC_SUMS_READ (4 * STEPC_FOURS_LANES)
#else
#define STEPC_SUMS_READ STEPC_FOURS_LANES
#endif

#include "stepc_for_float.h"
#include "stepc_row_sums_body.h"
#include "stepc_for_double.h"
#include "stepc_row_sums_body.h"

#endif
