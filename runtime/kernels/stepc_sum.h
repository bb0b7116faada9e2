/* SPDX-License-Identifier: 0BSD */
/* The sum of a row in the order that every sum over a last axis has.
 *
 *   stepc_sum16(x, count)    element i joins part i % 16 of 16, and the parts are added by halves
 *   stepc_fold16(part)       only that: the sum of 16 parts, which are changed */
#ifndef STEPC_KERNELS_SUM_H
#define STEPC_KERNELS_SUM_H

#include "stepc.h"

#include "stepc_for_float.h"
#include "stepc_sum_body.h"
#include "stepc_for_double.h"
#include "stepc_sum_body.h"

#endif
