/* SPDX-License-Identifier: 0BSD */
/* What emitted kernels ask of compilers that make vectors, from here to the end of the file. It stands before all other
 * headers of kernels, since what they have is merged into kernels: with the same options only. */
#ifndef STEPC_KERNELS_COMPILER_H
#define STEPC_KERNELS_COMPILER_H

#include "stepc.h"

/* Why: for some processors GCC makes vectors of half the registers, in all but matrix products; and with -O2 none of
 * loops that leave a rest. Where an emitted file says how long vectors are, or that there are none, it does not ask. */
#if defined(STEPC_FORM) && STEPC_FORM == 0
#elif !defined(STEPC_VECTOR_BYTES) || STEPC_VECTOR_BYTES == 64
#if defined(__AVX512F__) && defined(__GNUC__) && __GNUC__ >= 8 && !defined(__clang__)
#pragma GCC target("prefer-vector-width=512")
#undef STEPC_REST
#define STEPC_REST(n) 16
#endif
#if defined(__OPTIMIZE__) && !defined(__OPTIMIZE_SIZE__) && defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__)
#pragma GCC optimize("vect-cost-model=dynamic")
#endif
#endif

/* Clang tells where it does not follow a hint: where the target has no vectors, or a sanitizer is in the way. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

#endif
