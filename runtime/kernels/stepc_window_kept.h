/* SPDX-License-Identifier: 0BSD */
/* As stepc_window_line.h, of planes without gaps between lines: what would come from another line is masked. */
#ifndef STEPC_KERNELS_WINDOW_KEPT_H
#define STEPC_KERNELS_WINDOW_KEPT_H

#include "stepc_window_lanes.h"

#include "stepc_for_float.h"
#include "stepc_window_kept_body.h"
#include "stepc_for_double.h"
#include "stepc_window_kept_body.h"

#endif
