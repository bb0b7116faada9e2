/* SPDX-License-Identifier: 0BSD */
/* What flows back through the maximum of a window.
 *
 *   stepc_max_flows(planes, lines, columns, flows, from, plane_step, line_step, flow)
 *       flows[planes, lines, columns] = flow at the element of the window that is its maximum, the first of equal ones,
 *       or the last NaN; 0 elsewhere. The window is at `from`, with so many elements from plane to plane and from line
 *       to line
 *
 * Sizes are literals in every call: loops over them are written out, and elements are selected, not branched upon, so
 * that vectors can run across windows. */
#ifndef STEPC_KERNELS_WINDOW_FLOWS_H
#define STEPC_KERNELS_WINDOW_FLOWS_H

#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_window_flows_body.h"
#include "stepc_for_double.h"
#include "stepc_window_flows_body.h"

#endif
