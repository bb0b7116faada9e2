/* SPDX-License-Identifier: 0BSD */
/* The register tile of matrix products that also adds up its rows of a.
 *
 *   stepc_tile_and_sums(rows, vectors, depth, terms, c, a, depth_step, b, b_step, sums)
 *
 * stepc_tile() that sets c, for rows of a side by side (row_step is 1); and sums[i] += row i of a[rows,depth], in index
 * order.
 *
 *   stepc_tile_of_and_sums(i, m, ..)
 *
 * For rows i .. of m, as stepc_tile_of(). */
#ifndef STEPC_KERNELS_TILE_SUMS_H
#define STEPC_KERNELS_TILE_SUMS_H

#include "stepc_quad.h"
#include "stepc_registers.h"
#include "stepc_tile.h"

#include "stepc_for_float.h"
#include "stepc_tile_sums_body.h"
#include "stepc_for_double.h"
#include "stepc_tile_sums_body.h"

#endif
