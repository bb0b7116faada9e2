/* SPDX-License-Identifier: 0BSD */
/* What the tiles of windows have in common: lanes of a vector and columns of a tile. */
#ifndef STEPC_KERNELS_WINDOW_LANES_H
#define STEPC_KERNELS_WINDOW_LANES_H

#include "stepc_registers.h"

/* Lanes of a vector of type T, and columns of a tile. */
#if STEPC_FORM == 0
#define STEPC_WINDOW_LANES(T) 4
#else
#define STEPC_WINDOW_LANES(T) (STEPC_VECTOR_BYTES / (int)sizeof(T))
#endif
#define STEPC_WINDOW_COLUMNS(T) (STEPC_VECTORS * STEPC_WINDOW_LANES(T))
/* Rows of a tile when `rows` are cut into parts, none above STEPC_WINDOW_TILE_ROWS. Scalar tiles have 4 or 6. */
/* Why: what costs less, where a tile of 6 rows takes 7 / 5 of one of 4. */
#if STEPC_FORM == 0
#define STEPC_WINDOW_TILE_ROWS 6
#define STEPC_WINDOW_COST_4(rows) (((rows) + 3) / 4 * 5)
#define STEPC_WINDOW_COST_6(rows) ((rows) / 6 * 7 + ((rows) % 6 > 4 ? 7 : (rows) % 6 > 0 ? 5 : 0))
#define STEPC_WINDOW_ROWS(rows)                                                                                        \
    (STEPC_WINDOW_COST_4(rows) <= STEPC_WINDOW_COST_6(rows) ? ((rows) < 4 ? (rows) : 4) : ((rows) < 6 ? (rows) : 6))
#else
#define STEPC_WINDOW_TILE_ROWS STEPC_TILE_ROWS
#define STEPC_WINDOW_ROWS(rows) STEPC_PART_ROWS(rows)
#endif
/* The most vectors of a tile, also for so many rows: those that 32 registers hold. */
#if STEPC_FORM == 2 && (defined(__AVX512F__) || defined(__aarch64__))
#define STEPC_WINDOW_VECTORS 4
#define STEPC_WINDOW_VECTORS_OF(rows) ((rows) > 6 ? 3 : 4)
#else
#define STEPC_WINDOW_VECTORS STEPC_VECTORS
#define STEPC_WINDOW_VECTORS_OF(rows) STEPC_VECTORS
#endif
/* As many as keep the adders busy: twelve sums. */
#define STEPC_FEW_VECTORS(rows) ((rows) > 5 ? STEPC_VECTORS : STEPC_WINDOW_VECTORS_OF(rows))
/* Vectors of a tile when `vectors` are cut into parts that are nearly equal. */
#define STEPC_VECTOR_PARTS(vectors, rows)                                                                              \
    (((vectors) + STEPC_WINDOW_VECTORS_OF(rows) - 1) / STEPC_WINDOW_VECTORS_OF(rows))
#define STEPC_PART_VECTORS(vectors, rows)                                                                              \
    (((vectors) + STEPC_VECTOR_PARTS(vectors, rows) - 1) / STEPC_VECTOR_PARTS(vectors, rows))
#define STEPC_LINE_VECTORS_OF(T, elements) (((elements) + STEPC_WINDOW_LANES(T) - 1) / STEPC_WINDOW_LANES(T))
#define STEPC_WINDOW_LAST_ROWS(rows) ((rows) % STEPC_WINDOW_ROWS(rows))
/* How many the tile has that begins with row o. */
#define STEPC_WINDOW_ROWS_FROM(o, rows)                                                                                \
    (STEPC_WINDOW_LAST_ROWS(rows) == 0 || (o) + STEPC_WINDOW_ROWS(rows) <= (rows) ? STEPC_WINDOW_ROWS(rows)            \
                                                                                  : STEPC_WINDOW_LAST_ROWS(rows))
/* As many as whole tiles have, for these rows. */
#define STEPC_WINDOW_ALL_ROWS(rows)                                                                                    \
    (((rows) + STEPC_WINDOW_ROWS(rows) - 1) / STEPC_WINDOW_ROWS(rows) * STEPC_WINDOW_ROWS(rows))
/* Are lines of `columns` whole vectors? Then tiles of several rows go from line to line; others run over the gaps. */
#define STEPC_WHOLE_VECTORS(T, columns) ((columns) % STEPC_WINDOW_LANES(T) == 0)
#define STEPC_LINE_OF_VECTORS(T, columns) ((columns) >= STEPC_WINDOW_LANES(T) ? (columns) / STEPC_WINDOW_LANES(T) : 1)

#include "stepc_for_float.h"
#include "stepc_window_lanes_body.h"
#include "stepc_for_double.h"
#include "stepc_window_lanes_body.h"

#endif
