/* SPDX-License-Identifier: 0BSD */
/* The adjoint of a window's maximum.
 *
 *   stepc_max_adjoints(planes, lines, columns, adjoints, from, plane_step, line_step, adjoint)
 *       adjoints[planes, lines, columns] = adjoint at the element of the window that is its maximum, the first of equal
 *       ones, or the last NaN; 0 elsewhere. The window is at `from`, with so many elements from plane to plane and from
 *       line to line
 *
 * Sizes are literals in every call: loops over them are written out, and elements are selected, not branched upon, so
 * that vectors can run across windows. */
#ifndef STEPC_KERNELS_WINDOW_ADJOINTS_H
#define STEPC_KERNELS_WINDOW_ADJOINTS_H

#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_window_adjoints_body.h"
#include "stepc_for_double.h"
#include "stepc_window_adjoints_body.h"

#endif
