/* SPDX-License-Identifier: 0BSD */
/* The register tile of matrix products that also adds up its rows of a. */
#ifndef STEPC_KERNELS_TILE_SUMS_H
#define STEPC_KERNELS_TILE_SUMS_H

#include "stepc_quad.h"
#include "stepc_registers.h"
#include "stepc_tile.h"

#include "stepc_for_float.h"
#include "stepc_tile_sums_body.h"
#include "stepc_for_double.h"
#include "stepc_tile_sums_body.h"

#endif
