/* SPDX-License-Identifier: 0BSD */
/* What --reproducible promises, from here to the end of the file: the same bits from every compiler. Products are
 * rounded before they are added to something, whatever the compiler's options say. */
#ifndef STEPC_KERNELS_REPRODUCIBLE_H
#define STEPC_KERNELS_REPRODUCIBLE_H

#include "stepc.h"

#if defined(__FAST_MATH__)
#error "this file promises reproducible results: compile it without -ffast-math"
#endif
#if defined(STEPC_EXCESS_PRECISION)
#error "this file promises reproducible results: float expressions must be evaluated as float"
#endif
#if defined(__clang__) || !defined(__GNUC__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

#endif
