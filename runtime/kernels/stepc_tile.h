/* SPDX-License-Identifier: 0BSD */
/* The register tile of matrix products in its three forms. */
#ifndef STEPC_KERNELS_TILE_H
#define STEPC_KERNELS_TILE_H

#include "stepc_registers.h"

#include "stepc_for_float.h"
#include "stepc_tile_body.h"
#include "stepc_for_double.h"
#include "stepc_tile_body.h"

#endif
