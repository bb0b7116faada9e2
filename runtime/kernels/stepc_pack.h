/* SPDX-License-Identifier: 0BSD */
/* Packing of a transposed operand. */
#ifndef STEPC_KERNELS_PACK_H
#define STEPC_KERNELS_PACK_H

#include "stepc_quad.h"
#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_pack_body.h"
#include "stepc_for_double.h"
#include "stepc_pack_body.h"

#endif
