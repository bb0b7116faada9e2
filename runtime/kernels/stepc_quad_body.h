/* SPDX-License-Identifier: 0BSD */
/* What stepc_quad.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2
typedef STEPC_T STEPC_OF(quad) __attribute__((vector_size(4 * sizeof(STEPC_T))));
typedef STEPC_T STEPC_OF(quad_at)
    __attribute__((vector_size(4 * sizeof(STEPC_T)), aligned(sizeof(STEPC_T)), may_alias));
#if defined(__clang__)
#define STEPC_SHUFFLE(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#else
#define STEPC_INTEGERS(a)                                                                                              \
    __typeof__(__builtin_choose_expr(sizeof((a)[0]) == 4, (int32_t)0, (int64_t)0))                                     \
        __attribute__((vector_size(sizeof(a))))
#define STEPC_SHUFFLE(a, b, i, j, k, l) __builtin_shuffle(a, b, (STEPC_INTEGERS(a)){i, j, k, l})
#endif

/* r = r', four rows of four: `some` and `others` take elements of two rows, then the same is done with pairs of
 * rows. */
#define STEPC_TRANSPOSE_FOUR(r, some, others, join_some, join_others)                                                  \
    const __typeof__((r)[0]) some01 = some((r)[0], (r)[1]), others01 = others((r)[0], (r)[1]);                         \
    const __typeof__((r)[0]) some23 = some((r)[2], (r)[3]), others23 = others((r)[2], (r)[3]);                         \
    (r)[0] = join_some(some01, some23);                                                                                \
    (r)[1] = join_some(others01, others23);                                                                            \
    (r)[2] = join_others(some01, some23);                                                                              \
    (r)[3] = join_others(others01, others23);
/* Of floats the even ones, then the odd ones. */
/* Why: on x86 one instruction, which more units execute than those that interleave (two, not one: 96 x 400 times a
 * vector takes 6.4 instead of 7.8 kilocycles). */
#define STEPC_EVEN(a, b) STEPC_SHUFFLE(a, b, 0, 2, 4, 6)
#define STEPC_ODD(a, b) STEPC_SHUFFLE(a, b, 1, 3, 5, 7)
/* Of doubles those that stay in their half of a vector. */
#define STEPC_EVEN_IN_HALVES(a, b) STEPC_SHUFFLE(a, b, 0, 4, 2, 6)
#define STEPC_ODD_IN_HALVES(a, b) STEPC_SHUFFLE(a, b, 1, 5, 3, 7)
#define STEPC_JOIN_FIRST(a, b) STEPC_SHUFFLE(a, b, 0, 1, 4, 5)
#define STEPC_JOIN_LAST(a, b) STEPC_SHUFFLE(a, b, 2, 3, 6, 7)

/* Four rows of four, in place. By pointer: how vectors are passed by value depends on the compiler. */
static STEPC_INLINE void STEPC_OF(transpose_quads)(STEPC_OF(quad) *restrict r)
{
    if (sizeof(STEPC_T) == 4) {
        STEPC_TRANSPOSE_FOUR(r, STEPC_EVEN, STEPC_ODD, STEPC_EVEN, STEPC_ODD)
    } else {
        STEPC_TRANSPOSE_FOUR(r, STEPC_EVEN_IN_HALVES, STEPC_ODD_IN_HALVES, STEPC_JOIN_FIRST, STEPC_JOIN_LAST)
    }
}

/* Eight rows of four, each vector with two of them: the fourth row after its first. */
#if STEPC_VECTOR_BYTES >= 32 && (defined(__clang__) || __GNUC__ >= 12)
#define STEPC_FOURS_LANES 8
typedef STEPC_T STEPC_OF(fours) __attribute__((vector_size(8 * sizeof(STEPC_T))));
typedef STEPC_T STEPC_OF(fours_at)
    __attribute__((vector_size(8 * sizeof(STEPC_T)), aligned(sizeof(STEPC_T)), may_alias));
#define STEPC_EVENS(a, b) __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14)
#define STEPC_ODDS(a, b) __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15)
#define STEPC_EVENS_IN_HALVES(a, b) __builtin_shufflevector(a, b, 0, 8, 2, 10, 4, 12, 6, 14)
#define STEPC_ODDS_IN_HALVES(a, b) __builtin_shufflevector(a, b, 1, 9, 3, 11, 5, 13, 7, 15)
#define STEPC_JOIN_FIRSTS(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define STEPC_JOIN_LASTS(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)
#define STEPC_JOINED_QUADS(row, fourth)                                                                                \
    __builtin_shufflevector(*(const STEPC_OF(quad_at) *)(row), *(const STEPC_OF(quad_at) *)(fourth), 0, 1, 2, 3, 4, 5, \
                            6, 7)
#if defined(__clang__) || !defined(__SIZEOF_INT128__)
#define STEPC_FOUR_OF_ROW(row, fourth) STEPC_JOINED_QUADS(row, fourth)
#else
/* The same with each quad as one long integer. */
/* Why: GCC then takes the second one from memory as it joins them, and else loads it before (32 x 64 times a vector:
 * 0.33 instead of 0.37 kilocycles). */
typedef unsigned STEPC_OF(long_at) __attribute__((mode(TI), aligned(sizeof(STEPC_T)), may_alias));
typedef unsigned STEPC_OF(long_integer) __attribute__((mode(TI)));
typedef STEPC_OF(long_integer) STEPC_OF(long_integers) __attribute__((vector_size(8 * sizeof(STEPC_T))));
#define STEPC_FOUR_OF_ROW(row, fourth)                                                                                 \
    __builtin_choose_expr(sizeof(STEPC_T) == 4,                                                                        \
                          (STEPC_OF(fours))(STEPC_OF(long_integers)){*(const STEPC_OF(long_at) *)(row),                \
                                                                     *(const STEPC_OF(long_at) *)(fourth)},            \
                          STEPC_JOINED_QUADS(row, fourth))
#endif
static STEPC_INLINE void STEPC_OF(transpose_fours)(STEPC_OF(fours) *restrict r)
{
    if (sizeof(STEPC_T) == 4) {
        STEPC_TRANSPOSE_FOUR(r, STEPC_EVENS, STEPC_ODDS, STEPC_EVENS, STEPC_ODDS)
    } else {
        STEPC_TRANSPOSE_FOUR(r, STEPC_EVENS_IN_HALVES, STEPC_ODDS_IN_HALVES, STEPC_JOIN_FIRSTS, STEPC_JOIN_LASTS)
    }
}
#else
#define STEPC_FOURS_LANES 4
typedef STEPC_OF(quad) STEPC_OF(fours);
typedef STEPC_OF(quad_at) STEPC_OF(fours_at);
#define STEPC_FOUR_OF_ROW(row, fourth) (*(const STEPC_OF(quad_at) *)(row))
static STEPC_INLINE void STEPC_OF(transpose_fours)(STEPC_OF(fours) *restrict r)
{
    STEPC_OF(transpose_quads)(r);
}
#endif
#endif
