/* SPDX-License-Identifier: 0BSD */
/* Vectors of four, and of twice four where vectors are longer, and how blocks of four of them are transposed. */
#ifndef STEPC_KERNELS_QUAD_H
#define STEPC_KERNELS_QUAD_H

#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_quad_body.h"
#include "stepc_for_double.h"
#include "stepc_quad_body.h"

#endif
