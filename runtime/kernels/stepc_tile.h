/* SPDX-License-Identifier: 0BSD */
/* The register tile of matrix products in its three forms.
 *
 *   stepc_tile(rows, vectors, depth, terms, how, c, a, row_step, depth_step, b, b_step)
 *
 * c[rows, vectors * lanes] = a[rows,depth] * b[depth, vectors * lanes], `terms` products in a sum, and the sums added
 * in order. c has STEPC_TILE_COLUMNS per row; element (i,k) of a is at a[i * row_step + k * depth_step], b_step lies
 * between rows of b, whose elements are neighbours. rows <= STEPC_TILE_ROWS, vectors <= STEPC_VECTORS, 0 < terms. What
 * `how` says is done with c. In the form without vectors all STEPC_TILE_ROWS rows of c are written. Rows, vectors,
 * terms and steps are literals in every call, which keeps the sums in registers.
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

/* Columns, and vectors, of a tile when b is packed into panels that may be narrower than a tile. */
#define STEPC_PANEL_TILE(T, panel) (STEPC_TILE_COLUMNS(T) < (panel) ? STEPC_TILE_COLUMNS(T) : (panel))
#define STEPC_PANEL_VECTORS(T, panel) (STEPC_PANEL_TILE(T, panel) / STEPC_LANES(T))

/* For all tiles of m rows and n columns: n is a multiple of what a tile has, or the last vector overlaps the one before
 * it, n >= STEPC_LANES(T), and of the columns j .. of a tile those from `from` to `to` - 1 are new.
 *   EACH_WHOLE_TILE        part(rows, i, j, ...)
 *   EACH_TILE              part(rows, i, vectors, from, to, j, ...)
 * The same for a panel, row by row of tiles; n <= panel, and the last tile's `to` is less where n is no multiple:
 *   EACH_WHOLE_PANEL_TILE  part(rows, i, j, ...)
 *   EACH_PANEL_TILE        part(rows, i, to, j, ...) */
#define STEPC_EACH_WHOLE_TILE(T, m, n, part, ...)                                                                      \
    do {                                                                                                               \
        for (int stepc_j = 0; stepc_j < (n); stepc_j += STEPC_TILE_COLUMNS(T))                                         \
            STEPC_EACH_PART(m, part, stepc_j, __VA_ARGS__);                                                            \
    } while (0)
#define STEPC_EACH_TILE(T, m, n, part, ...)                                                                            \
    do {                                                                                                               \
        for (int stepc_j = 0; stepc_j < (n) - (n) % STEPC_TILE_COLUMNS(T); stepc_j += STEPC_TILE_COLUMNS(T))           \
            STEPC_EACH_PART(m, part, STEPC_VECTORS, 0, STEPC_TILE_COLUMNS(T), stepc_j, __VA_ARGS__);                   \
        if ((n) % STEPC_TILE_COLUMNS(T) >= STEPC_LANES(T))                                                             \
            STEPC_EACH_PART(m, part, 1, 0, STEPC_LANES(T), (n) - (n) % STEPC_TILE_COLUMNS(T), __VA_ARGS__);            \
        if ((n) % STEPC_LANES(T) > 0)                                                                                  \
            STEPC_EACH_PART(m, part, 1, STEPC_LANES(T) - (n) % STEPC_LANES(T), STEPC_LANES(T), (n) - STEPC_LANES(T),   \
                            __VA_ARGS__);                                                                              \
    } while (0)
#define STEPC_PANEL_TILES_(rows, i, T, panel, n, part, ...)                                                            \
    do {                                                                                                               \
        for (int stepc_j = 0; stepc_j < (n) - (n) % STEPC_PANEL_TILE(T, panel); stepc_j += STEPC_PANEL_TILE(T, panel)) \
            part(rows, i, STEPC_PANEL_TILE(T, panel), stepc_j, __VA_ARGS__);                                           \
        if ((n) % STEPC_PANEL_TILE(T, panel) > 0)                                                                      \
            part(rows, i, (n) % STEPC_PANEL_TILE(T, panel), (n) - (n) % STEPC_PANEL_TILE(T, panel), __VA_ARGS__);      \
    } while (0)
#define STEPC_EACH_PANEL_TILE(T, m, panel, n, part, ...)                                                               \
    do {                                                                                                               \
        for (int stepc_i = 0; stepc_i < (m) - STEPC_LAST_ROWS(m); stepc_i += STEPC_PART_ROWS(m))                       \
            STEPC_PANEL_TILES_(STEPC_PART_ROWS(m), stepc_i, T, panel, n, part, __VA_ARGS__);                           \
        if (STEPC_LAST_ROWS(m) > 0)                                                                                    \
            STEPC_PANEL_TILES_(STEPC_LAST_ROWS(m), (m) - STEPC_LAST_ROWS(m), T, panel, n, part, __VA_ARGS__);          \
    } while (0)
#define STEPC_WHOLE_PANEL_TILES_(rows, i, T, panel, part, ...)                                                         \
    do {                                                                                                               \
        for (int stepc_j = 0; stepc_j < (panel); stepc_j += STEPC_PANEL_TILE(T, panel))                                \
            part(rows, i, stepc_j, __VA_ARGS__);                                                                       \
    } while (0)
#define STEPC_EACH_WHOLE_PANEL_TILE(T, m, panel, part, ...)                                                            \
    do {                                                                                                               \
        for (int stepc_i = 0; stepc_i < (m) - STEPC_LAST_ROWS(m); stepc_i += STEPC_PART_ROWS(m))                       \
            STEPC_WHOLE_PANEL_TILES_(STEPC_PART_ROWS(m), stepc_i, T, panel, part, __VA_ARGS__);                        \
        if (STEPC_LAST_ROWS(m) > 0)                                                                                    \
            STEPC_WHOLE_PANEL_TILES_(STEPC_LAST_ROWS(m), (m) - STEPC_LAST_ROWS(m), T, panel, part, __VA_ARGS__);       \
    } while (0)

/* What a tile does with the sums in c: it sets them, goes on from them, or adds its own, which start from zero. */
#define STEPC_TILE_SETS 0
#define STEPC_TILE_GOES_ON 1
#define STEPC_TILE_ADDS 2

#include "stepc_for_float.h"
#include "stepc_tile_body.h"
#include "stepc_for_double.h"
#include "stepc_tile_body.h"

#endif
