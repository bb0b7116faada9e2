/* SPDX-License-Identifier: 0BSD */
/* What the tiles of windows have in common: lanes of a vector and columns of a tile. */
#ifndef STEPC_KERNELS_WINDOW_LANES_H
#define STEPC_KERNELS_WINDOW_LANES_H

#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_window_lanes_body.h"
#include "stepc_for_double.h"
#include "stepc_window_lanes_body.h"

#endif
