/* SPDX-License-Identifier: 0BSD */
/* The register tile of products of eight columns or fewer.
 *
 *   stepc_narrow_tile(rows, columns, depth, terms, c, c_step, a, row_step, depth_step, b, b_step, with_sums, sums)
 *
 * c[rows, columns] = a[rows,depth] * b[depth,columns], `terms` products in a sum, c_step from row to row of c, else as
 * stepc_tile(); rows <= STEPC_NARROW_ROWS. With vectors STEPC_NARROW_LANES are stored of every row, in the order of the
 * rows. with_sums: sums[i] += row i of a; else sums is left as it was. */
#ifndef STEPC_KERNELS_NARROW_H
#define STEPC_KERNELS_NARROW_H

#include "stepc_quad.h"
#include "stepc_registers.h"
#include "stepc_tile.h"

/* Lanes of a vector of type T, columns of a packed b, rows of a tile, and those that are finished together. */
#if STEPC_FORM == 2
#define STEPC_NARROW_LANES(T) (STEPC_LANES(T) < 8 ? STEPC_LANES(T) : 8)
#define STEPC_NARROW_WIDTH 8
#if defined(__AVX512F__)
#define STEPC_NARROW_ROWS 16
#else
#define STEPC_NARROW_ROWS STEPC_TILE_ROWS
#endif
#define STEPC_NARROW_GROUP (8 * STEPC_NARROW_ROWS)
#else
#define STEPC_NARROW_LANES(T) STEPC_LANES(T)
#define STEPC_NARROW_WIDTH 16
#define STEPC_NARROW_ROWS STEPC_TILE_ROWS
#define STEPC_NARROW_GROUP (4 * STEPC_TILE_ROWS)
#endif

#include "stepc_for_float.h"
#include "stepc_narrow_body.h"
#include "stepc_for_double.h"
#include "stepc_narrow_body.h"

#endif
