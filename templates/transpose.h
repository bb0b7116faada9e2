/* SPDX-License-Identifier: 0BSD */
/* Transposing in blocks of whole vectors. Embedded whole into emitted code; for double as tile.h. */
#ifndef STEPC_TEMPLATE_TRANSPOSE_H
#define STEPC_TEMPLATE_TRANSPOSE_H

#include "pack.h"

#if STEPC_FORM == 2 && (VECTOR_BYTES == 64 || VECTOR_BYTES == 32)
#define TRANSPOSED_LANES (VECTOR_BYTES / 4)
typedef int32_t lane_bits __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t lane_bits_at __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

/* To transpose, blocks of s x s lanes change places, for s = 1, 2, 4 and so on: the lanes that rows a and b then
 * hold. */
#define FIRST_LANE(l, s) (((l) & (s)) ? TRANSPOSED_LANES + (l) - (s) : (l))
#define SECOND_LANE(l, s) (((l) & (s)) ? TRANSPOSED_LANES + (l) : (l) + (s))
#define EIGHT_LANES(lane, from, s)                                                                                     \
    lane(from, s), lane((from) + 1, s), lane((from) + 2, s), lane((from) + 3, s), lane((from) + 4, s),                 \
        lane((from) + 5, s), lane((from) + 6, s), lane((from) + 7, s)
#if VECTOR_BYTES == 64
#define ALL_LANES(lane, s) EIGHT_LANES(lane, 0, s), EIGHT_LANES(lane, 8, s)
#else
#define ALL_LANES(lane, s) EIGHT_LANES(lane, 0, s)
#endif
#if defined(__clang__)
#define SHUFFLE_LANES(a, b, lane, s) __builtin_shufflevector(a, b, ALL_LANES(lane, s))
#else
#define SHUFFLE_LANES(a, b, lane, s) __builtin_shuffle(a, b, (__typeof__(a)){ALL_LANES(lane, s)})
#endif
#define EXCHANGE_LANES(r, s) \
    STEPC_UNROLL \
    for (int i = 0; i < TRANSPOSED_LANES; i++) { \
        if ((i & (s)) == 0) { \
            const __typeof__((r)[0]) first = SHUFFLE_LANES(r[i], r[i + (s)], FIRST_LANE, s); \
            r[i + (s)] = SHUFFLE_LANES(r[i], r[i + (s)], SECOND_LANE, s); \
            r[i] = first; \
        } \
    }

/* to[i, r] = from[r, i] of as many rows as lanes, 4 bytes each */
static STEPC_INLINE void transpose_lanes(void *restrict to, const int to_step, const void *restrict from,
                                         const int from_step)
{
    lane_bits r[TRANSPOSED_LANES];
    STEPC_UNROLL
    for (int i = 0; i < TRANSPOSED_LANES; i++)
        r[i] = *(const lane_bits_at *)((const int32_t *)from + i * from_step);
#if VECTOR_BYTES == 64
    EXCHANGE_LANES(r, 8)
#endif
    EXCHANGE_LANES(r, 4)
    EXCHANGE_LANES(r, 2)
    EXCHANGE_LANES(r, 1)
    STEPC_UNROLL
    for (int i = 0; i < TRANSPOSED_LANES; i++)
        *(lane_bits_at *)((int32_t *)to + i * to_step) = r[i];
}
#endif

/* to[count, to_step] = from[rows, count]', from_step from row to row; rows that do not exist up to to_step are zeros.
 * Of blocks of whole vectors the last overlaps the one before it. */
/* Why: these take a third of the time of blocks of 4 x 4. */
static STEPC_INLINE void transpose(float *restrict to, const int to_step, const float *restrict from,
                                   const int from_step, const int rows, const int count)
{
#if STEPC_FORM == 2 && (VECTOR_BYTES == 64 || VECTOR_BYTES == 32)
    if (sizeof(float) == 4 && rows == to_step && rows % TRANSPOSED_LANES == 0 && count >= TRANSPOSED_LANES) {
        for (int r = 0; r < rows; r += TRANSPOSED_LANES) {
            for (int i = 0; i + TRANSPOSED_LANES <= count; i += TRANSPOSED_LANES)
                transpose_lanes(to + i * to_step + r, to_step, from + r * from_step + i, from_step);
            if (count % TRANSPOSED_LANES > 0)
                transpose_lanes(to + (count - TRANSPOSED_LANES) * to_step + r, to_step,
                                from + r * from_step + count - TRANSPOSED_LANES, from_step);
        }
        return;
    }
#endif
    pack_transposed(to, to_step, from, from_step, rows, count);
}

#endif
