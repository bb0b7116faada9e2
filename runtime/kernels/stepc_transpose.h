/* SPDX-License-Identifier: 0BSD */
/* Transposing in blocks of whole vectors.
 *
 *   stepc_transpose(to, to_step, from, from_step, rows, count)
 *
 * to[count, to_step] = from[rows, count]', from_step from row to row; rows that do not exist up to to_step are zeros.
 */
#ifndef STEPC_KERNELS_TRANSPOSE_H
#define STEPC_KERNELS_TRANSPOSE_H

#include "stepc_pack.h"

#include "stepc_for_float.h"
#include "stepc_transpose_body.h"
#include "stepc_for_double.h"
#include "stepc_transpose_body.h"

#endif
