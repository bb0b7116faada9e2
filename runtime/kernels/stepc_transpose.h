/* SPDX-License-Identifier: 0BSD */
/* Transposing in blocks of whole vectors. */
#ifndef STEPC_KERNELS_TRANSPOSE_H
#define STEPC_KERNELS_TRANSPOSE_H

#include "stepc_pack.h"

#include "stepc_for_float.h"
#include "stepc_transpose_body.h"
#include "stepc_for_double.h"
#include "stepc_transpose_body.h"

#endif
