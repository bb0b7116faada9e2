/* SPDX-License-Identifier: 0BSD */
/* The register tile of matrix products in its three forms.
 *
 *   stepc_tile(rows, vectors, depth, terms, how, c, a, row_step, depth_step, b, b_step)
 *
 * c[rows, vectors * lanes] = a[rows,depth] * b[depth, vectors * lanes], `terms` products in a sum, and the sums added
 * in order. c has STEPC_TILE_COLUMNS per row; element (i,k) of a is at a[i * row_step + k * depth_step], b_step lies
 * between rows of b, whose elements are neighbours. rows <= STEPC_TILE_ROWS, vectors <= STEPC_VECTORS, 0 < terms. What
 * `how` says is done with c. In the form without vectors all STEPC_TILE_ROWS rows of c are written. Rows and
 * vectors are literals in every call, which keeps the sums in registers; depth, terms and steps may be parameters of a
 * kernel that layers share.
 *
 *   stepc_tile_of(i, m, vectors, depth, terms, c, a, row_step, depth_step, b, b_step)
 *
 * stepc_tile() that sets c, for rows i .. of m: as many as STEPC_ROWS_FROM(i, m); i is no literal.
 *
 *   stepc_tile_of_terms(i, m, vectors, depth, terms, how, c, ..)
 *
 * The same, which does what `how` says.
 *
 *   stepc_tile_late(i, m, ..)
 *
 * stepc_tile_of() where m is no literal either, and a tile has STEPC_TILE_ROWS, or what is left.
 *
 *   stepc_store_tile(rows, columns, to, step, c)
 *
 * to[rows,columns] = the sums in c, step from row to row of `to`. */
#ifndef STEPC_KERNELS_TILE_H
#define STEPC_KERNELS_TILE_H

#include "stepc_registers.h"

/* Lanes of a vector of type T, and columns of a tile. */
#if STEPC_FORM == 0
#define STEPC_LANES(T) 4
#else
#define STEPC_LANES(T) (STEPC_VECTOR_BYTES / (int)sizeof(T))
#endif
#define STEPC_TILE_COLUMNS(T) (STEPC_VECTORS * STEPC_LANES(T))

/* n columns, at least 16, are taken so many at a time, and what is left of them at last. */
#define STEPC_COLUMNS_OF(T, n) (STEPC_TILE_COLUMNS(T) <= (n) ? STEPC_TILE_COLUMNS(T) : STEPC_LANES(T))
#define STEPC_LAST_COLUMNS(T, n) ((n) % STEPC_COLUMNS_OF(T, n))

/* Columns, and vectors, of a tile when b is packed into panels that may be narrower than a tile. */
#define STEPC_PANEL_TILE(T, panel) (STEPC_TILE_COLUMNS(T) < (panel) ? STEPC_TILE_COLUMNS(T) : (panel))
#define STEPC_PANEL_VECTORS(T, panel) (STEPC_PANEL_TILE(T, panel) / STEPC_LANES(T))

/* What a tile does with the sums in c: it sets them, goes on from them, or adds its own, which start from zero. */
#define STEPC_TILE_SETS 0
#define STEPC_TILE_GOES_ON 1
#define STEPC_TILE_ADDS 2

#include "stepc_for_float.h"
#include "stepc_tile_body.h"
#include "stepc_for_double.h"
#include "stepc_tile_body.h"

#endif
