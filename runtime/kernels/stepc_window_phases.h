/* SPDX-License-Identifier: 0BSD */
/* Gradients of strided windows: elements of dx that have the same remainder of the stride are a phase, and see the same
 * positions of the window.
 *
 *   stepc_pack_phases(rows, channels, taps, to, w, order)
 *       to[row / tile, channel, t, row % tile] = w[channel, row, order[t]], where a tile is STEPC_WINDOW_ROWS(rows)
 *   stepc_merge_line(windows, phases, late, to, from, step)
 *       to[(j + (c < late)) * phases + c] = from[c * step + j]: a line of dx from those of its phases, of which the
 *       first `late` begin a window later
 *   stepc_merge_short_line(columns, phases, late, low, to, from, step)
 *       the same without what lies beyond its ends: to[x] is element x + low of that line */
#ifndef STEPC_KERNELS_WINDOW_PHASES_H
#define STEPC_KERNELS_WINDOW_PHASES_H

#include "stepc_window_lanes.h"

#include "stepc_for_float.h"
#include "stepc_window_phases_body.h"
#include "stepc_for_double.h"
#include "stepc_window_phases_body.h"

#endif
