/* SPDX-License-Identifier: 0BSD */
/* As stepc_window_line.h, of planes without gaps between lines: what would come from another line is masked.
 *
 *   stepc_window_line_kept(vectors, lines, columns, to, w, x, line_step, shift, step, keep, keep_step)
 *
 * to[vectors * lanes] = the sum over lines l and columns c of w[l, c] * x[l * line_step + m + column], where
 * m = shift + c * step; where m is not 0, of those columns only whose bits are all set in keep[c].
 * vectors <= STEPC_KEPT_VECTORS.
 *
 *   stepc_window_plane_kept(windows, lines, columns, to, w, x, line_step, shift, step, keep, keep_step)
 *
 * The same for all windows of a plane; whole vectors are written and read.
 *
 *   stepc_mark_kept(width, columns, shift, step, keep, keep_step)
 *
 * Sets the bits of keep[c, window], for a plane with lines of `width` elements and keep_step windows, where the element
 * that column c sees is of the window's own line; clears the others. */
#ifndef STEPC_KERNELS_WINDOW_KEPT_H
#define STEPC_KERNELS_WINDOW_KEPT_H

#include "stepc_window_lanes.h"

#include <string.h>

/* The most vectors, and columns, of a tile. */
#if STEPC_FORM == 2
#define STEPC_KEPT_VECTORS 4 /* with the masks of two columns they stay in registers */
#else
#define STEPC_KEPT_VECTORS 1
#endif
#define STEPC_KEPT_COLUMNS(T) (STEPC_KEPT_VECTORS * STEPC_WINDOW_LANES(T))

#include "stepc_for_float.h"
#include "stepc_window_kept_body.h"
#include "stepc_for_double.h"
#include "stepc_window_kept_body.h"

#endif
