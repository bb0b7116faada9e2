/* SPDX-License-Identifier: 0BSD */
/* Copies of lines, which may be shorter than vectors, to where they lie closer together or further apart. */
#ifndef STEPC_KERNELS_WINDOW_LINES_H
#define STEPC_KERNELS_WINDOW_LINES_H

#include "stepc_pack.h"
#include "stepc_window_lanes.h"

#include "stepc_for_float.h"
#include "stepc_window_lines_body.h"
#include "stepc_for_double.h"
#include "stepc_window_lines_body.h"

#endif
