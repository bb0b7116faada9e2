/* SPDX-License-Identifier: 0BSD */
/* Sums over windows whose vectors run across channels, for the gradient of depthwise convolutions: element (position,
 * channel) of an image is at position * STEPC_WINDOW_LANES + channel. Three forms, each of which adds an element's
 * terms in index order.
 *
 *   stepc_channel_sums(taps, planes, lines, columns, ...)
 *
 * total[taps, lane] += the sum over planes, lines and columns p of dy[p, lane] * image[at[t] + p, lane];
 * taps <= STEPC_CHANNEL_TAPS.
 *
 *   stepc_add_channel_sums(taps, planes, lines, columns, ...)
 *
 * The same for any number of taps.
 *
 *   stepc_fill_channels(c, image, planes)
 *
 * image[phase, plane, line, column, lane] of planes[c.planes, c.lines, c.columns, lane], laid out as
 * stepc_window_image.h says. What lies outside of the planes is not written: it is zero already. */
#ifndef STEPC_KERNELS_WINDOW_CHANNELS_H
#define STEPC_KERNELS_WINDOW_CHANNELS_H

#include "stepc_window_image.h"
#include "stepc_window_lanes.h"

/* Positions of the window that are summed together. */
#if STEPC_FORM == 2
#define STEPC_CHANNEL_TAPS 12
#else
#define STEPC_CHANNEL_TAPS 4
#endif

#include "stepc_for_float.h"
#include "stepc_window_channels_body.h"
#include "stepc_for_double.h"
#include "stepc_window_channels_body.h"

#endif
