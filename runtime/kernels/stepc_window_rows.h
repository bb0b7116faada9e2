/* SPDX-License-Identifier: 0BSD */
/* All windows of an image, for some rows of weights: tiles of stepc_window_tile.h one after the other.
 *
 *   stepc_window_rows(rows, k, g, flat, flat_step, w, image)
 *       flat[row * flat_step + window] = the sum k of w[row] and the image behind the window. Where lines of windows
 *       are whole vectors, STEPC_WHOLE_VECTORS, windows lie side by side. Else there are gaps between lines and between
 *       planes, as there are in the image. flat_step is a multiple of 32, not below the number of windows with their
 *       gaps; as far is read of the image
 *   stepc_window_rows_inside(rows, k, g, flat, flat_step, w, image, begin, end, finite)
 *       the same; if all weights are `finite`, tiles leave out terms before element `begin` of the image and from `end`
 *       on, where these are zeros for all of their windows
 *   stepc_window_vectors(rows, window, k, g, sum, w, image)
 *       sum[row, STEPC_WINDOW_COLUMNS] = the same of the windows from `window`, a multiple of as many, on; lines of
 *       windows are whole vectors
 *   stepc_window_rows_of(o, m, k, ..)
 *   stepc_window_rows_inside_of(o, m, k, ..)
 *   stepc_window_vectors_of(o, m, window, ..)
 *       the same for rows o .. of m, a literal: as many as STEPC_WINDOW_ROWS_FROM(o, m)
 *
 * 1 < rows <= STEPC_WINDOW_TILE_ROWS. Rows and sizes are literals in every call. */
#ifndef STEPC_KERNELS_WINDOW_ROWS_H
#define STEPC_KERNELS_WINDOW_ROWS_H

#include "stepc_window_skip.h"
#include "stepc_window_tile.h"

/* Planes, lines and columns of windows, and elements of the image from line to line and from plane to plane. */
struct stepc_windows {
    int planes, lines, columns;
    int image_line, image_plane;
};

#include "stepc_for_float.h"
#include "stepc_window_rows_body.h"
#include "stepc_for_double.h"
#include "stepc_window_rows_body.h"

#endif
