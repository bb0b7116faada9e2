/* SPDX-License-Identifier: 0BSD */
/* Windows whose vectors run across images: a tile is some rows of weights at one window of STEPC_WINDOW_COLUMNS images.
 * So each window has terms of its own, and terms in the padding are left out.
 *
 *   stepc_pack_window_rows(rows, channels, taps, to, w, w_row, w_channel)
 *       to[row / tile, channel, tap, row % tile] = w[row * w_row + channel * w_channel + tap], where a tile is
 *       STEPC_WINDOW_ROWS(rows); to has room for STEPC_WINDOW_ALL_ROWS(rows), of which those that do not exist are not
 *       written
 *   stepc_batch_windows(rows, count, first, b, to, w, image, spans, finite)
 *       to[row, i, column] = the sum of window first + i for the image in that column: rows <= STEPC_WINDOW_TILE_ROWS,
 *       i < count <= STEPC_WINDOW_LANES, and a row takes STEPC_BATCH(T) elements of to. w is a tile of packed weights;
 *       element i of channel k of the image in column l is at image[(k * b.plane + i) * STEPC_WINDOW_COLUMNS + l].
 *       spans: what windows see along each axis (stepc_window_span.h), lines first; where not all weights are `finite`,
 *       the zeros around the image count
 *   stepc_batch_windows_of(o, m, count, first, b, ..)
 *       the same for rows o .. of m, a literal: as many as STEPC_WINDOW_ROWS_FROM(o, m)
 *   stepc_turn_windows(to, from)
 *       to[column, i] = from[i, column] of STEPC_WINDOW_LANES windows of a row */
#ifndef STEPC_KERNELS_WINDOW_BATCH_H
#define STEPC_KERNELS_WINDOW_BATCH_H

#include "stepc_transpose.h"
#include "stepc_window_span.h"
#include "stepc_window_tile.h"

/* Sums of a row: a vector of windows, for the images of a tile. */
#define STEPC_BATCH(T) (STEPC_WINDOW_LANES(T) * STEPC_WINDOW_COLUMNS(T))

/* Sums over channels and positions of a window. */
struct stepc_batch {
    int channels, plane;   /* of the operand, and elements of each */
    int taps;              /* positions of the window, for each channel */
    int lines, columns;    /* of windows */
    int line_tap, tap;     /* from one term to the next along each axis: in the window */
    int line_place, place; /* and in the operand */
    int tile;              /* rows of packed weights that lie side by side */
};

#include "stepc_for_float.h"
#include "stepc_window_batch_body.h"
#include "stepc_for_double.h"
#include "stepc_window_batch_body.h"

#endif
