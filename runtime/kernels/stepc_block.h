/* SPDX-License-Identifier: 0BSD */
/* What products that compute block by block do besides their tiles.
 *
 *   stepc_pack_rows(tiles, rows, depth, packed, longest, a, row_step, depth_step, with_sums, goes_on, sums)
 *
 * Packs the rows of up to four tiles of a[tiles * rows, depth], rows <= 8: element (t * rows + r, k) goes to
 * packed[(t * longest + k) * 8 + r]. With sums: sums[i] += row i, in index order, from zero or (goes_on) from what is
 * there.
 *
 *   stepc_pack_rows_of(i, end, m, depth, packed, ..)
 *
 * The tiles of rows i .. end - 1, of m in all: whole ones, or what is left, as stepc_tile_of().
 *
 *   stepc_ahead(first, end, rows, columns, from, step)
 *
 * Asks for rows first .. end - 1 of from[rows,columns], step from row to row, to be brought nearer. */
#ifndef STEPC_KERNELS_BLOCK_H
#define STEPC_KERNELS_BLOCK_H

#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_block_body.h"
#include "stepc_for_double.h"
#include "stepc_block_body.h"

#endif
