/* SPDX-License-Identifier: 0BSD */
/* Zeros around an image need not be multiplied by weights that are finite.
 *
 *   stepc_are_finite(count, w)    are all of w[count] finite? Then zero times their sum is zero. */
#ifndef STEPC_KERNELS_WINDOW_FINITE_H
#define STEPC_KERNELS_WINDOW_FINITE_H

#include "stepc_window_lanes.h"

#include "stepc_for_float.h"
#include "stepc_window_finite_body.h"
#include "stepc_for_double.h"
#include "stepc_window_finite_body.h"

#endif
