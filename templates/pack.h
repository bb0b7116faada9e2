/* SPDX-License-Identifier: 0BSD */
/* Packing of a transposed operand. Embedded whole into emitted code; for double as tile.h. */
#ifndef STEPC_TEMPLATE_PACK_H
#define STEPC_TEMPLATE_PACK_H

#include "quad.h"
#include "registers.h"

#if STEPC_FORM == 2
/* to[4,4] = r', four rows of four. By pointer: to pass vectors that a target does not have would depend on the compiler's conventions. */
static STEPC_INLINE void store_transposed(float *restrict to, const int to_step, const quad *restrict r)
{
    const quad low01 = SHUFFLE(r[0], r[1], 0, 4, 1, 5), high01 = SHUFFLE(r[0], r[1], 2, 6, 3, 7);
    const quad low23 = SHUFFLE(r[2], r[3], 0, 4, 1, 5), high23 = SHUFFLE(r[2], r[3], 2, 6, 3, 7);
    *(quad_at *)to = SHUFFLE(low01, low23, 0, 1, 4, 5);
    *(quad_at *)(to + to_step) = SHUFFLE(low01, low23, 2, 3, 6, 7);
    *(quad_at *)(to + 2 * to_step) = SHUFFLE(high01, high23, 0, 1, 4, 5);
    *(quad_at *)(to + 3 * to_step) = SHUFFLE(high01, high23, 2, 3, 6, 7);
}

/* The same of from[rows,4]', missing rows are zeros */
static STEPC_INLINE void transpose_4x4(float *restrict to, const int to_step, const float *restrict from,
                                       const int from_step, const int rows)
{
    quad r[4] = {{0}};
    if (rows > 0)
        r[0] = *(const quad_at *)from;
    if (rows > 1)
        r[1] = *(const quad_at *)(from + from_step);
    if (rows > 2)
        r[2] = *(const quad_at *)(from + 2 * from_step);
    if (rows > 3)
        r[3] = *(const quad_at *)(from + 3 * from_step);
    store_transposed(to, to_step, r);
}

/* The same of from[FOURS_LANES,4]'. */
static STEPC_INLINE void transpose_fours(float *restrict to, const int to_step, const float *restrict from, const int from_step)
{
    const fours r0 = FOUR_OF_ROW(from, from + 4 * from_step), r1 = FOUR_OF_ROW(from + from_step, from + 5 * from_step);
    const fours r2 = FOUR_OF_ROW(from + 2 * from_step, from + 6 * from_step), r3 = FOUR_OF_ROW(from + 3 * from_step, from + 7 * from_step);
    const fours low01 = INTERLEAVE_FIRST(r0, r1), high01 = INTERLEAVE_LAST(r0, r1);
    const fours low23 = INTERLEAVE_FIRST(r2, r3), high23 = INTERLEAVE_LAST(r2, r3);
    *(fours_at *)to = JOIN_FIRST(low01, low23);
    *(fours_at *)(to + to_step) = JOIN_LAST(low01, low23);
    *(fours_at *)(to + 2 * to_step) = JOIN_FIRST(high01, high23);
    *(fours_at *)(to + 3 * to_step) = JOIN_LAST(high01, high23);
}
#endif

/* panel[depth,width] = b[columns,depth]', columns <= width, missing ones are zeros, b_step from row to row of b: makes
 * a transposed operand row-contiguous. In 4 x 4 blocks of vectors five times faster than one by one. */
static STEPC_INLINE void pack_transposed(float *restrict panel, const int width, const float *restrict b,
                                         const int b_step, const int columns, const int depth)
{
    const int blocked = STEPC_FORM == 2 && width % 4 == 0 ? depth - depth % 4 : 0; /* two doubles are no block */
#if STEPC_FORM == 2
    for (int k = 0; k < blocked; k += 4) {
        int j = 0;
        for (; j + FOURS_LANES <= columns; j += FOURS_LANES)
            transpose_fours(panel + k * width + j, width, b + j * b_step + k, b_step);
        for (; j + 4 <= columns; j += 4)
            transpose_4x4(panel + k * width + j, width, b + j * b_step + k, b_step, 4);
        for (; j < width; j += 4)
            transpose_4x4(panel + k * width + j, width, b + (j < columns ? j * b_step + k : 0), b_step, columns - j);
    }
#endif
    for (int k = blocked; k < depth; k++) {
        for (int j = 0; j < width; j++)
            panel[k * width + j] = j < columns ? b[j * b_step + k] : 0;
    }
}

#endif
