/* SPDX-License-Identifier: 0BSD */
/* Sums over windows whose vectors run across channels, for the gradient of depthwise convolutions: element (position,
 * channel) of an image is at position * STEPC_WINDOW_LANES + channel. Three forms, each of which adds an element's
 * terms in index order. */
#ifndef STEPC_KERNELS_WINDOW_CHANNELS_H
#define STEPC_KERNELS_WINDOW_CHANNELS_H

#include "stepc_window_lanes.h"

#include "stepc_for_float.h"
#include "stepc_window_channels_body.h"
#include "stepc_for_double.h"
#include "stepc_window_channels_body.h"

#endif
