/* SPDX-License-Identifier: 0BSD */
/* Vectors of four, and of twice four where vectors are longer, and how blocks of four of them are transposed. Embedded
 * whole into emitted code, which may need one of the functions only; for double as tile.h. */
#ifndef STEPC_TEMPLATE_QUAD_H
#define STEPC_TEMPLATE_QUAD_H

#include "registers.h"

#if STEPC_FORM == 2
typedef float quad __attribute__((vector_size(4 * sizeof(float))));
typedef float quad_at __attribute__((vector_size(4 * sizeof(float)), aligned(sizeof(float)), may_alias));
#if defined(__clang__)
#define SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define INTEGERS(a)                                                                                                    \
    __typeof__(__builtin_choose_expr(sizeof((a)[0]) == 4, (int32_t)0, (int64_t)0))                                     \
        __attribute__((vector_size(sizeof(a))))
#define SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (INTEGERS(a)){i, j, k, l})
#endif

/* r = r', four rows of four: `some` and `others` take elements of two rows, then the same is done with pairs of
 * rows. */
#define TRANSPOSE_FOUR(r, some, others, join_some, join_others) \
    const __typeof__((r)[0]) some01 = some((r)[0], (r)[1]), others01 = others((r)[0], (r)[1]); \
    const __typeof__((r)[0]) some23 = some((r)[2], (r)[3]), others23 = others((r)[2], (r)[3]); \
    (r)[0] = join_some(some01, some23); \
    (r)[1] = join_some(others01, others23); \
    (r)[2] = join_others(some01, some23); \
    (r)[3] = join_others(others01, others23);
/* Of floats the even ones, then the odd ones. */
/* Why: on x86 one instruction, which more units execute than those that interleave (two, not one: 96 x 400 times a
 * vector takes 6.4 instead of 7.8 kilocycles). */
#define EVEN(a, b) SHUFFLE(a, b, 0, 2, 4, 6)
#define ODD(a, b) SHUFFLE(a, b, 1, 3, 5, 7)
/* Of doubles those that stay in their half of a vector. */
#define EVEN_IN_HALVES(a, b) SHUFFLE(a, b, 0, 4, 2, 6)
#define ODD_IN_HALVES(a, b) SHUFFLE(a, b, 1, 5, 3, 7)
#define JOIN_FIRST(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define JOIN_LAST(a, b) SHUFFLE(a, b, 2, 3, 6, 7)

/* Four rows of four, in place. By pointer: how vectors are passed by value depends on the compiler. */
static STEPC_INLINE void transpose_quads(quad *restrict r)
{
    if (sizeof(float) == 4) {
        TRANSPOSE_FOUR(r, EVEN, ODD, EVEN, ODD)
    } else {
        TRANSPOSE_FOUR(r, EVEN_IN_HALVES, ODD_IN_HALVES, JOIN_FIRST, JOIN_LAST)
    }
}

/* Eight rows of four, each vector with two of them: the fourth row after its first. */
#if VECTOR_BYTES >= 32 && (defined(__clang__) || __GNUC__ >= 12)
#define FOURS_LANES 8
typedef float fours __attribute__((vector_size(8 * sizeof(float))));
typedef float fours_at __attribute__((vector_size(8 * sizeof(float)), aligned(sizeof(float)), may_alias));
#define EVENS(a, b) __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14)
#define ODDS(a, b) __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15)
#define EVENS_IN_HALVES(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define ODDS_IN_HALVES(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define JOIN_FIRSTS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define JOIN_LASTS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define JOINED_QUADS(row, fourth)                                                                                      \
    __builtin_shufflevector(*(const quad_at *)(row), *(const quad_at *)(fourth), 0, 1, 2, 3, 4, 5, 6, 7)
#if defined(__clang__) || !defined(__SIZEOF_INT128__)
#define FOUR_OF_ROW(row, fourth) JOINED_QUADS(row, fourth)
#else
/* The same with each quad as one long integer. */
/* Why: GCC then takes the second one from memory as it joins them, and else loads it before (32 x 64 times a vector:
 * 0.33 instead of 0.37 kilocycles). */
typedef unsigned long_at __attribute__((mode(TI), aligned(sizeof(float)), may_alias));
typedef unsigned long_integer __attribute__((mode(TI)));
typedef long_integer long_integers __attribute__((vector_size(8 * sizeof(float))));
#define FOUR_OF_ROW(row, fourth)                                                                                       \
    __builtin_choose_expr(sizeof(float) == 4,                                                                          \
                          (fours)(long_integers){*(const long_at *)(row), *(const long_at *)(fourth)},                 \
                          JOINED_QUADS(row, fourth))
#endif
static STEPC_INLINE void transpose_fours(fours *restrict r)
{
    if (sizeof(float) == 4) {
        TRANSPOSE_FOUR(r, EVENS, ODDS, EVENS, ODDS)
    } else {
        TRANSPOSE_FOUR(r, EVENS_IN_HALVES, ODDS_IN_HALVES, JOIN_FIRSTS, JOIN_LASTS)
    }
}
#else
#define FOURS_LANES 4
typedef quad fours;
typedef quad_at fours_at;
#define FOUR_OF_ROW(row, fourth) (*(const quad_at *)(row))
static STEPC_INLINE void transpose_fours(fours *restrict r)
{
    transpose_quads(r);
}
#endif
#endif

#endif
