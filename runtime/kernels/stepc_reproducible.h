/* SPDX-License-Identifier: 0BSD */
/* What --reproducible promises, from here to the end of the file: the same bits from every compiler. Products are
 * rounded before they are added to something, whatever the compiler's options say. */
#ifndef STEPC_KERNELS_REPRODUCIBLE_H
#define STEPC_KERNELS_REPRODUCIBLE_H

#include "stepc.h"

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    defined(__NO_SIGNED_ZEROS__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "this file promises reproducible results: compile it without -ffast-math and the options that are part of it"
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
