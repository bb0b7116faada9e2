/* SPDX-License-Identifier: 0BSD */
/* Lines of images and of results, which may be shorter than vectors: copied where they lie closer together or further apart. Embedded
 * whole into emitted code; for double as tile.h. */
#ifndef STEPC_TEMPLATE_WINDOW_LINES_H
#define STEPC_TEMPLATE_WINDOW_LINES_H

#include "pack.h"
#include "window_lanes.h"

/* to[columns] = from[columns] */
static STEPC_INLINE void copy_line(const int columns, float *restrict to, const float *restrict from)
{
    int x = 0;
#if STEPC_FORM == 2
    for (; x + WINDOW_LANES <= columns; x += WINDOW_LANES)
        *(window_vec_at *)(to + x) = *(const window_vec_at *)(from + x);
    STEPC_UNROLL
    for (; x + 4 <= columns; x += 4)
        *(quad_at *)(to + x) = *(const quad_at *)(from + x);
#endif
    for (; x < columns; x++)
        to[x] = from[x];
}

/* to[l * to_step + x] = from[l * from_step + x]; `gap` zeros behind each line. Lines come one after the other, so that all but the last
 * are written in whole vectors, too far: what is destroyed are zeros, or belongs to the next line. */
static STEPC_INLINE void copy_lines(const int lines, const int columns, const int gap, float *restrict to, const int to_step,
                                    const float *restrict from, const int from_step)
{
    for (int l = 0; l < lines - 1; l++) {
        copy_line(STEPC_FORM == 2 ? (columns + 3) / 4 * 4 : columns, to + l * to_step, from + l * from_step);
        for (int x = columns; x < columns + gap && x < (columns + 3) / 4 * 4; x++)
            to[l * to_step + x] = 0;
    }
    copy_line(columns, to + (lines - 1) * to_step, from + (lines - 1) * from_step);
}

#if STEPC_FORM == 2
/* to[x * to_step + k] = line k at x, of four lines and at least 4 columns: in blocks of 4 x 4, the last of which overlaps the one before */
static STEPC_INLINE void interleave_fours(const int columns, float *restrict to, const int to_step, const float *restrict line0,
                                          const float *restrict line1, const float *restrict line2, const float *restrict line3)
{
    for (int i = 0; i < columns; i += 4) {
        const int x = i + 4 <= columns ? i : columns - 4;
        const quad r[4] = {*(const quad_at *)(line0 + x), *(const quad_at *)(line1 + x), *(const quad_at *)(line2 + x),
                           *(const quad_at *)(line3 + x)};
        store_transposed(to + x * to_step, to_step, r);
    }
}
#endif

/* to[x * to_step + k] = from[at[k] + x]: lines come to lie side by side; of fours the last overlaps the one before it. */
static STEPC_INLINE void interleave_lines(const int lines, const int columns, float *restrict to, const int to_step,
                                          const float *restrict from, const int32_t *restrict at)
{
#if STEPC_FORM == 2
    if (lines >= 4 && columns >= 4) {
        for (int i = 0; i < lines; i += 4) {
            const int k = i + 4 <= lines ? i : lines - 4;
            interleave_fours(columns, to + k, to_step, from + at[k], from + at[k + 1], from + at[k + 2], from + at[k + 3]);
        }
        return;
    }
#endif
    for (int k = 0; k < lines; k++) {
        for (int x = 0; x < columns; x++)
            to[x * to_step + k] = from[at[k] + x];
    }
}

/* The same of lines that lie `from_step` apart. */
static STEPC_INLINE void turn_lines(const int lines, const int columns, float *restrict to, const int to_step,
                                    const float *restrict from, const int from_step)
{
#if STEPC_FORM == 2
    if (lines >= 4 && columns >= 4) {
        for (int i = 0; i < lines; i += 4) {
            const float *const line = from + (i + 4 <= lines ? i : lines - 4) * from_step;
            interleave_fours(columns, to + (i + 4 <= lines ? i : lines - 4), to_step, line, line + from_step, line + 2 * from_step,
                             line + 3 * from_step);
        }
        return;
    }
#endif
    for (int k = 0; k < lines; k++) {
        for (int x = 0; x < columns; x++)
            to[x * to_step + k] = from[k * from_step + x];
    }
}

#endif
