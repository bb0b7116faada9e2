/* SPDX-License-Identifier: 0BSD */
/* Packing of an operand into a panel: panel[depth,width], columns <= width, missing ones are zeros.
 *
 *   stepc_pack(panel, width, b, row_step, column_step, columns, depth)   of b[depth,columns]
 *   stepc_pack_transposed(panel, width, b, b_step, columns, depth)       of b[columns,depth]', b_step from row to row
 *
 * And a matrix with nothing around it: to[rows,columns] = from[columns,rows]', steps from row to row.
 *
 *   stepc_transpose_back(to, to_step, from, from_step, rows, columns) */
#ifndef STEPC_KERNELS_PACK_H
#define STEPC_KERNELS_PACK_H

#include "stepc_quad.h"
#include "stepc_registers.h"

/* Does stepc_pack_transposed() transpose in blocks of vectors? */
#if STEPC_FORM == 2
#define STEPC_TRANSPOSES_IN_BLOCKS 1
#else
#define STEPC_TRANSPOSES_IN_BLOCKS 0
#endif

#include "stepc_for_float.h"
#include "stepc_pack_body.h"
#include "stepc_for_double.h"
#include "stepc_pack_body.h"

#endif
