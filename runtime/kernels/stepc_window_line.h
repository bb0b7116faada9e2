/* SPDX-License-Identifier: 0BSD */
/* As stepc_window_tile.h, for a single row of weights: depthwise convolutions.
 *
 *   stepc_window_line(vectors, channels, taps, to, w, w_channel, w_tap, image, image_channel, at)
 *
 * to[vectors * lanes] = the sum over c and t of w[c, t] * image[c, at[t] + column]; vectors <= STEPC_LINE_VECTORS.
 *
 *   stepc_window_row(columns, channels, taps, to, w, w_channel, w_tap, image, image_channel, at)
 *
 * The same for any number of columns, up to which whole vectors are written and read. */
#ifndef STEPC_KERNELS_WINDOW_LINE_H
#define STEPC_KERNELS_WINDOW_LINE_H

#include "stepc_window_lanes.h"

/* The most vectors, and columns, of a tile. */
#if STEPC_FORM == 2
#define STEPC_LINE_VECTORS 8
#else
#define STEPC_LINE_VECTORS 1
#endif
#define STEPC_LINE_COLUMNS(T) (STEPC_LINE_VECTORS * STEPC_WINDOW_LANES(T))

#include "stepc_for_float.h"
#include "stepc_window_line_body.h"
#include "stepc_for_double.h"
#include "stepc_window_line_body.h"

#endif
