/* SPDX-License-Identifier: 0BSD */
/* What the tiles of windows have in common: lanes of a vector and columns of a tile. Embedded whole into emitted code;
 * for double as tile.h. */
#ifndef STEPC_TEMPLATE_WINDOW_LANES_H
#define STEPC_TEMPLATE_WINDOW_LANES_H

#include "registers.h"

#if STEPC_FORM == 2
typedef float window_vec __attribute__((vector_size(VECTOR_BYTES)));
/* a window_vec anywhere */
typedef float window_vec_at __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(float)), may_alias));
#define WINDOW_LANES (VECTOR_BYTES / (int)sizeof(float))
#elif STEPC_FORM == 1
#define WINDOW_LANES (VECTOR_BYTES / (int)sizeof(float))
#else
#define WINDOW_LANES 4
#endif
#define WINDOW_COLUMNS (VECTORS * WINDOW_LANES)
/* Rows of a tile when `rows` are cut into parts, none above WINDOW_TILE_ROWS. Scalar tiles have 4 or 6. */
/* Why: what costs less, where a tile of 6 rows takes 7 / 5 of one of 4. */
#if STEPC_FORM == 0
#define WINDOW_TILE_ROWS 6
#define WINDOW_COST_4(rows) (((rows) + 3) / 4 * 5)
#define WINDOW_COST_6(rows) ((rows) / 6 * 7 + ((rows) % 6 > 4 ? 7 : (rows) % 6 > 0 ? 5 : 0))
#define WINDOW_ROWS(rows)                                                                                              \
    (WINDOW_COST_4(rows) <= WINDOW_COST_6(rows) ? ((rows) < 4 ? (rows) : 4) : ((rows) < 6 ? (rows) : 6))
#else
#define WINDOW_TILE_ROWS TILE_ROWS
#define WINDOW_ROWS(rows) PART_ROWS(rows)
#endif
/* The most vectors of a tile, also for so many rows: those that 32 registers hold. */
#if STEPC_FORM == 2 && (defined(__AVX512F__) || defined(__aarch64__))
#define WINDOW_VECTORS 4
#define WINDOW_VECTORS_OF(rows) ((rows) > 6 ? 3 : 4)
#else
#define WINDOW_VECTORS VECTORS
#define WINDOW_VECTORS_OF(rows) VECTORS
#endif
/* As many as keep the adders busy: twelve sums. */
#define FEW_VECTORS(rows) ((rows) > 5 ? VECTORS : WINDOW_VECTORS_OF(rows))
/* Vectors of a tile when `vectors` are cut into parts that are nearly equal. */
#define VECTOR_PARTS(vectors, rows) (((vectors) + WINDOW_VECTORS_OF(rows) - 1) / WINDOW_VECTORS_OF(rows))
#define PART_VECTORS(vectors, rows) (((vectors) + VECTOR_PARTS(vectors, rows) - 1) / VECTOR_PARTS(vectors, rows))
#define LINE_VECTORS_OF(elements) (((elements) + WINDOW_LANES - 1) / WINDOW_LANES)
#define WINDOW_LAST_ROWS(rows) ((rows) % WINDOW_ROWS(rows))
/* Are lines of `columns` whole vectors, for several rows? Their tiles go from line to line; others run over the
 * gaps. */
#define WHOLE_VECTORS(rows, columns) ((rows) > 1 && (columns) % WINDOW_LANES == 0)
#define LINE_OF_VECTORS(columns) ((columns) >= WINDOW_LANES ? (columns) / WINDOW_LANES : 1)

#endif
