/* SPDX-License-Identifier: 0BSD */
/* The register tile of products of eight columns or fewer. */
#ifndef STEPC_KERNELS_NARROW_H
#define STEPC_KERNELS_NARROW_H

#include "stepc_quad.h"
#include "stepc_registers.h"
#include "stepc_tile.h"

#include "stepc_for_float.h"
#include "stepc_narrow_body.h"
#include "stepc_for_double.h"
#include "stepc_narrow_body.h"

#endif
