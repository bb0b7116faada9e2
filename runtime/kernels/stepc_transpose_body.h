/* SPDX-License-Identifier: 0BSD */
/* What stepc_transpose.h says, for elements of the type STEPC_T. */

#if STEPC_FORM == 2 && (STEPC_VECTOR_BYTES == 64 || STEPC_VECTOR_BYTES == 32)
#define STEPC_TRANSPOSED_LANES (STEPC_VECTOR_BYTES / 4)
typedef int32_t STEPC_OF(lane_bits) __attribute__((vector_size(STEPC_VECTOR_BYTES)));
typedef int32_t STEPC_OF(lane_bits_at) __attribute__((vector_size(STEPC_VECTOR_BYTES), aligned(4), may_alias));

/* To transpose, blocks of s x s lanes change places, for s = 1, 2, 4 and so on: the lanes that rows a and b then
 * hold. */
#define STEPC_FIRST_LANE(l, s) (((l) & (s)) ? STEPC_TRANSPOSED_LANES + (l) - (s) : (l))
#define STEPC_SECOND_LANE(l, s) (((l) & (s)) ? STEPC_TRANSPOSED_LANES + (l) : (l) + (s))
#define STEPC_EIGHT_LANES(lane, from, s)                                                                               \
    lane(from, s), lane((from) + 1, s), lane((from) + 2, s), lane((from) + 3, s), lane((from) + 4, s),                 \
        lane((from) + 5, s), lane((from) + 6, s), lane((from) + 7, s)
#if STEPC_VECTOR_BYTES == 64
#define STEPC_ALL_LANES(lane, s) STEPC_EIGHT_LANES(lane, 0, s), STEPC_EIGHT_LANES(lane, 8, s)
#else
#define STEPC_ALL_LANES(lane, s) STEPC_EIGHT_LANES(lane, 0, s)
#endif
#if defined(__clang__)
#define STEPC_SHUFFLE_LANES(a, b, lane, s) __builtin_shufflevector(a, b, STEPC_ALL_LANES(lane, s))
#else
#define STEPC_SHUFFLE_LANES(a, b, lane, s) __builtin_shuffle(a, b, (__typeof__(a)){STEPC_ALL_LANES(lane, s)})
#endif
#define STEPC_EXCHANGE_LANES(r, s)                                                                                     \
    STEPC_UNROLL                                                                                                       \
    for (int i = 0; i < STEPC_TRANSPOSED_LANES; i++) {                                                                 \
        if ((i & (s)) == 0) {                                                                                          \
            const __typeof__((r)[0]) first = STEPC_SHUFFLE_LANES(r[i], r[i + (s)], STEPC_FIRST_LANE, s);               \
            r[i + (s)] = STEPC_SHUFFLE_LANES(r[i], r[i + (s)], STEPC_SECOND_LANE, s);                                  \
            r[i] = first;                                                                                              \
        }                                                                                                              \
    }

/* to[i, r] = from[r, i] of as many rows as lanes, 4 bytes each */
static STEPC_INLINE void STEPC_OF(transpose_lanes)(void *restrict to, const int to_step, const void *restrict from,
                                                   const int from_step)
{
    STEPC_OF(lane_bits) r[STEPC_TRANSPOSED_LANES];
    STEPC_UNROLL
    for (int i = 0; i < STEPC_TRANSPOSED_LANES; i++)
        r[i] = *(const STEPC_OF(lane_bits_at) *)((const int32_t *)from + i * from_step);
#if STEPC_VECTOR_BYTES == 64
    STEPC_EXCHANGE_LANES(r, 8)
#endif
    STEPC_EXCHANGE_LANES(r, 4)
    STEPC_EXCHANGE_LANES(r, 2)
    STEPC_EXCHANGE_LANES(r, 1)
    STEPC_UNROLL
    for (int i = 0; i < STEPC_TRANSPOSED_LANES; i++)
        *(STEPC_OF(lane_bits_at) *)((int32_t *)to + i * to_step) = r[i];
}
#endif

/* to[count, to_step] = from[rows, count]', from_step from row to row; rows that do not exist up to to_step are zeros.
 * Of blocks of whole vectors the last overlaps the one before it. */
/* Why: these take a third of the time of blocks of 4 x 4. */
static STEPC_INLINE void STEPC_OF(transpose)(STEPC_T *restrict to, const int to_step, const STEPC_T *restrict from,
                                             const int from_step, const int rows, const int count)
{
#if STEPC_FORM == 2 && (STEPC_VECTOR_BYTES == 64 || STEPC_VECTOR_BYTES == 32)
    if (sizeof(STEPC_T) == 4 && rows == to_step && rows % STEPC_TRANSPOSED_LANES == 0 &&
        count >= STEPC_TRANSPOSED_LANES) {
        for (int r = 0; r < rows; r += STEPC_TRANSPOSED_LANES) {
            for (int i = 0; i + STEPC_TRANSPOSED_LANES <= count; i += STEPC_TRANSPOSED_LANES)
                STEPC_OF(transpose_lanes)(to + i * to_step + r, to_step, from + r * from_step + i, from_step);
            if (count % STEPC_TRANSPOSED_LANES > 0)
                STEPC_OF(transpose_lanes)(to + (count - STEPC_TRANSPOSED_LANES) * to_step + r, to_step, from + r *
                    from_step + count - STEPC_TRANSPOSED_LANES, from_step);
        }
        return;
    }
#endif
    STEPC_OF(pack_transposed)(to, to_step, from, from_step, rows, count);
}
