/* SPDX-License-Identifier: 0BSD */
/* Images of what windows see: copies that are padded with zeros, in which neighbouring windows are neighbours.
 *
 *   stepc_fill_phases(channels, c, image, from)
 *       image[channel, phase, plane, line, column] of from[channels, c.planes, c.lines, c.columns]: along an axis of
 *       stride S an image is sorted by index modulo S, a phase is what has the same remainder
 *   stepc_mark_shifted(copies, lines, columns, shift, step, keep)
 *       keep[c, p] = 1 where element p of a plane, moved by shift + c * step columns, comes from its own line, else 0,
 *       for p up to lines * columns rounded up to 16
 *   stepc_fill_shifted(copies, lines, columns, shift, step, to, to_step, plane, keep)
 *       to[c * to_step + p] = plane[p + shift + c * step] where that is kept, else 0, so far; as much is read, also
 *       before the plane */
#ifndef STEPC_KERNELS_WINDOW_IMAGE_H
#define STEPC_KERNELS_WINDOW_IMAGE_H

#include "stepc_registers.h"

struct stepc_image {
    int planes, lines, columns;                      /* of a channel */
    int plane_stride, line_stride, column_stride;    /* of windows */
    int plane_pad, line_pad, column_pad;             /* zeros in front; below 0: so much is left out */
    int plane_phases, line_phases, column_phases;    /* that windows see */
    int image_planes, image_lines, image_columns;    /* of each phase */
};

#include "stepc_for_float.h"
#include "stepc_window_image_body.h"
#include "stepc_for_double.h"
#include "stepc_window_image_body.h"

#endif
