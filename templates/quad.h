/* SPDX-License-Identifier: 0BSD */
/* Vectors of four, and what turns blocks of four of them. Embedded whole into emitted code; for double as tile.h. */
#ifndef STEPC_TEMPLATE_QUAD_H
#define STEPC_TEMPLATE_QUAD_H

#include "registers.h"

#if STEPC_FORM == 2
typedef float quad __attribute__((vector_size(4 * sizeof(float))));
typedef float quad_at __attribute__((vector_size(4 * sizeof(float)), aligned(sizeof(float)), may_alias));
#if defined(__clang__)
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define INTEGERS(a) __typeof__(__builtin_choose_expr(sizeof((a)[0]) == 4, (int32_t)0, (int64_t)0)) __attribute__((vector_size(sizeof(a))))
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (INTEGERS(a)){i, j, k, l})
#endif
#endif

#endif
