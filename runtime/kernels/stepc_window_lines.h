/* SPDX-License-Identifier: 0BSD */
/* Copies of lines, which may be shorter than vectors, to where they lie closer together or further apart.
 *
 *   stepc_copy_line(columns, to, from)
 *       to[columns] = from[columns]
 *   stepc_copy_lines(lines, columns, gap, to, to_step, from, from_step)
 *       to[l * to_step + x] = from[l * from_step + x]; `gap` zeros behind each line
 *   stepc_copy_planes(planes, lines, columns, gap, to, to_plane, to_line, from)
 *       the same for planes of lines that lie side by side in from
 *   stepc_interleave_lines(lines, columns, to, to_step, from, at)
 *       to[x * to_step + k] = from[at[k] + x]: lines come to lie side by side */
#ifndef STEPC_KERNELS_WINDOW_LINES_H
#define STEPC_KERNELS_WINDOW_LINES_H

#include "stepc_pack.h"
#include "stepc_window_lanes.h"

#include "stepc_for_float.h"
#include "stepc_window_lines_body.h"
#include "stepc_for_double.h"
#include "stepc_window_lines_body.h"

#endif
