/* SPDX-License-Identifier: 0BSD */
/* As stepc_window_tile.h, for a single row of weights: depthwise convolutions. */
#ifndef STEPC_KERNELS_WINDOW_LINE_H
#define STEPC_KERNELS_WINDOW_LINE_H

#include "stepc_window_lanes.h"

#include "stepc_for_float.h"
#include "stepc_window_line_body.h"
#include "stepc_for_double.h"
#include "stepc_window_line_body.h"

#endif
