/* SPDX-License-Identifier: 0BSD */
/* Vectors of four, and of twice four where vectors are longer, and what turns blocks of four of them. Embedded whole into emitted code,
 * which may need one of the functions only; for double as tile.h. */
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

/* r = r', four rows of four: of each four lanes first the first two, or the last, change places between vectors. */
#define TURN_FOUR(r, interleave_first, interleave_last, join_first, join_last) \
    const __typeof__((r)[0]) low01 = interleave_first((r)[0], (r)[1]), high01 = interleave_last((r)[0], (r)[1]); \
    const __typeof__((r)[0]) low23 = interleave_first((r)[2], (r)[3]), high23 = interleave_last((r)[2], (r)[3]); \
    (r)[0] = join_first(low01, low23); \
    (r)[1] = join_last(low01, low23); \
    (r)[2] = join_first(high01, high23); \
    (r)[3] = join_last(high01, high23);
#define INTERLEAVE_FIRST(a, b) SHUFFLE(a, b, 0, 4, 1, 5)
#define INTERLEAVE_LAST(a, b) SHUFFLE(a, b, 2, 6, 3, 7)
#define JOIN_FIRST(a, b) SHUFFLE(a, b, 0, 1, 4, 5)
#define JOIN_LAST(a, b) SHUFFLE(a, b, 2, 3, 6, 7)

/* By pointer: to pass vectors that a target does not have would depend on the compiler's conventions. */
static STEPC_INLINE __attribute__((unused)) void turn_quads(quad *restrict r)
{
    TURN_FOUR(r, INTERLEAVE_FIRST, INTERLEAVE_LAST, JOIN_FIRST, JOIN_LAST)
}

/* Eight rows of four, each vector with two of them: the fourth row after its first. */
#if VECTOR_BYTES >= 32 && (defined(__clang__) || __GNUC__ >= 12)
#define FOURS_LANES 8
typedef float fours __attribute__((vector_size(8 * sizeof(float))));
typedef float fours_at __attribute__((vector_size(8 * sizeof(float)), aligned(sizeof(float)), may_alias));
#define INTERLEAVE_FIRSTS(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define INTERLEAVE_LASTS(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define JOIN_FIRSTS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define JOIN_LASTS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define FOUR_OF_ROW(row, fourth) __builtin_shufflevector(*(const quad_at *)(row), *(const quad_at *)(fourth), 0, 1, 2, 3, 4, 5, 6, 7)
static STEPC_INLINE __attribute__((unused)) void turn_fours(fours *restrict r)
{
    TURN_FOUR(r, INTERLEAVE_FIRSTS, INTERLEAVE_LASTS, JOIN_FIRSTS, JOIN_LASTS)
}
#else
#define FOURS_LANES 4
typedef quad fours;
typedef quad_at fours_at;
#define FOUR_OF_ROW(row, fourth) (*(const quad_at *)(row))
static STEPC_INLINE __attribute__((unused)) void turn_fours(fours *restrict r)
{
    turn_quads(r);
}
#endif
#endif

#endif
