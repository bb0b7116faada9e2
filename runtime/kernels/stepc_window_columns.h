/* SPDX-License-Identifier: 0BSD */
/* Sums for the gradient of weights: vectors run across the elements that a window sees. For that an image of x is made
 * in which a column holds all channels, and where windows are short also what all planes or lines of the window see.
 * So the elements of a window's line lie side by side, a run.
 *
 *   stepc_fill_columns(c, to, from, at)
 *       to[plane, line, column, element] = the image of from[channels, c.planes, c.lines, c.columns]; element k of a
 *       column begins at[k] behind the plane and line of x that it sees. What lies outside of x is not written: it is
 *       zero already
 *   stepc_add_window_sums(rows, first, end, k, r, total, image, at, dy)
 *       total[row, r.runs * r.step] += the sums k of dy[row] and the elements of each run, which begins at[run] in the
 *       image, for the rows first .. end - 1 of `rows`, which begin and end with whole tiles, but for the last. r.step
 *       is a multiple of 16, not below r.length; of x as much is read
 *   stepc_order_weights(channels, taps, held, to, total, places)
 *       to[channel, tap] = total[channel * held + places[tap]]: a row of sums in the order of the weights */
#ifndef STEPC_KERNELS_WINDOW_COLUMNS_H
#define STEPC_KERNELS_WINDOW_COLUMNS_H

#include "stepc_window_lines.h"
#include "stepc_window_tile.h"

struct stepc_columns {
    int planes, lines, columns;                   /* of a channel of x */
    int image_planes, image_lines, image_columns; /* of the image */
    int plane_step, line_step;                    /* between planes and lines of x that the image's see */
    int plane_pad, line_pad, column_pad;          /* zeros in front; below 0: so much is left out */
    int held_planes, held_lines, held_columns;    /* positions of the window in a column, */
    int plane_reach, line_reach, column_reach;    /* and elements of x from one of them to the next, if there is one */
    int column;                                   /* elements of a column */
};

struct stepc_runs {
    int runs, length, step; /* of a window; elements of each, and in `total` */
};

#include "stepc_for_float.h"
#include "stepc_window_columns_body.h"
#include "stepc_for_double.h"
#include "stepc_window_columns_body.h"

#endif
