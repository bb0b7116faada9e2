/* SPDX-License-Identifier: 0BSD */
/* Vectors of four, and of twice four where vectors are longer, and what turns blocks of four of them. Embedded whole into emitted code; for double as tile.h. */
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

/* Of each four lanes the first two, or the last, change places between vectors. */
#if VECTOR_BYTES >= 32 && (defined(__clang__) || __GNUC__ >= 12)
#define FOURS_LANES 8
typedef float fours __attribute__((vector_size(8 * sizeof(float))));
typedef float fours_at __attribute__((vector_size(8 * sizeof(float)), aligned(sizeof(float)), may_alias));
#define INTERLEAVE_FIRST(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define INTERLEAVE_LAST(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define JOIN_FIRST(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define JOIN_LAST(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define FOUR_OF_ROW(row, fourth) /* and four of the fourth row after it */ \
    __builtin_shufflevector(*(const quad_at *)(row), *(const quad_at *)(fourth), 0, 1, 2, 3, 4, 5, 6, 7)
#else
#define FOURS_LANES 4
typedef quad fours;
typedef quad_at fours_at;
#define INTERLEAVE_FIRST(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define INTERLEAVE_LAST(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define JOIN_FIRST(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define JOIN_LAST(a, b) SHUFFLE(a, b, 2, 3, 6, 7)
#define FOUR_OF_ROW(row, fourth) (*(const quad_at *)(row))
#endif
#endif

#endif
