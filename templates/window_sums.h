/* SPDX-License-Identifier: 0BSD */
/* The register tile of the gradient of weights, in three forms: rows are positions of the window, vectors run across output
 * channels, and all windows of an image are added up in order. Embedded whole into emitted code; for double as tile.h. */
#ifndef STEPC_TEMPLATE_WINDOW_SUMS_H
#define STEPC_TEMPLATE_WINDOW_SUMS_H

#include "window_lanes.h"

#if STEPC_FORM == 2

/* Rows of a call, at most: each has a pointer. With 16 registers two vectors leave room for fewer. */
#define SUMS_MOST 12
#define SUMS_TILE(columns) ((columns) > WINDOW_LANES && TILE_ROWS < 8 ? TILE_ROWS : SUMS_MOST)
#define SUMS_PARTS(rows, columns) (((rows) + SUMS_TILE(columns) - 1) / SUMS_TILE(columns))
#define SUMS_ROWS(rows, columns) (((rows) + SUMS_PARTS(rows, columns) - 1) / SUMS_PARTS(rows, columns))

/* to[rows, vectors * WINDOW_LANES] = the sum over planes, lines and columns p of image[offset[row] + p] * dy[p, lane] */
static STEPC_INLINE void window_sums(const int rows, const int vectors, const int planes, const int lines,
                                     const int columns, float *restrict to, const float *restrict image,
                                     const int32_t *restrict offset, const int plane_step, const int line_step,
                                     const float *restrict dy, const int dy_step)
{
    window_vec acc[SUMS_MOST * VECTORS];
    STEPC_UNROLL
    for (int i = 0; i < rows; i++)
        acc[i * VECTORS] = acc[i * VECTORS + 1] = (window_vec){0};
    for (int l = 0; l < planes * lines; l++) {
        const float *row[SUMS_MOST];
        const float *const d = dy + l * columns * dy_step;
        STEPC_UNROLL
        for (int i = 0; i < rows; i++)
            row[i] = image + offset[i] + l / lines * plane_step + l % lines * line_step;
        for (int p = 0; p < columns; p++) {
            const window_vec d0 = *(const window_vec_at *)(d + p * dy_step);
            const window_vec d1 = *(const window_vec_at *)(d + p * dy_step + (vectors > 1 ? WINDOW_LANES : 0));
            STEPC_UNROLL
            for (int i = 0; i < rows; i++) {
                const float s = row[i][p];
                acc[i * VECTORS] += s * d0;
                if (vectors > 1)
                    acc[i * VECTORS + 1] += s * d1;
            }
        }
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        *(window_vec_at *)(to + i * WINDOW_COLUMNS) = acc[i * VECTORS];
        if (vectors > 1)
            *(window_vec_at *)(to + i * WINDOW_COLUMNS + WINDOW_LANES) = acc[i * VECTORS + 1];
    }
}

#elif STEPC_FORM == 1

static STEPC_INLINE void window_sums(const int rows, const int vectors, const int planes, const int lines,
                                     const int columns, float *restrict to, const float *restrict image,
                                     const int32_t *restrict offset, const int plane_step, const int line_step,
                                     const float *restrict dy, const int dy_step)
{
    float c0[WINDOW_LANES] = {0}, c1[WINDOW_LANES] = {0}, c2[WINDOW_LANES] = {0}, c3[WINDOW_LANES] = {0};
    float c4[WINDOW_LANES] = {0}, c5[WINDOW_LANES] = {0}, c6[WINDOW_LANES] = {0}, c7[WINDOW_LANES] = {0};
    (void)vectors;
    for (int l = 0; l < planes * lines; l++) {
        const float *const line = image + l / lines * plane_step + l % lines * line_step;
        const float *const r0 = line + offset[0], *const r1 = line + offset[rows > 1 ? 1 : rows - 1];
        const float *const r2 = line + offset[rows > 2 ? 2 : rows - 1], *const r3 = line + offset[rows > 3 ? 3 : rows - 1];
        const float *const r4 = line + offset[rows > 4 ? 4 : rows - 1], *const r5 = line + offset[rows > 5 ? 5 : rows - 1];
        const float *const r6 = line + offset[rows > 6 ? 6 : rows - 1], *const r7 = line + offset[rows > 7 ? 7 : rows - 1];
        for (int p = 0; p < columns; p++) {
            const float *const d = dy + (l * columns + p) * dy_step;
            const float s0 = r0[p], s1 = r1[p], s2 = r2[p], s3 = r3[p], s4 = r4[p], s5 = r5[p], s6 = r6[p], s7 = r7[p];
            for (int i = 0; i < WINDOW_LANES; i++) {
                const float v = d[i];
                c0[i] += s0 * v;
                c1[i] += s1 * v;
                c2[i] += s2 * v;
                c3[i] += s3 * v;
                c4[i] += s4 * v;
                c5[i] += s5 * v;
                c6[i] += s6 * v;
                c7[i] += s7 * v;
            }
        }
    }
    memcpy(to, c0, sizeof c0);
    memcpy(to + WINDOW_LANES, c1, sizeof c1);
    memcpy(to + 2 * WINDOW_LANES, c2, sizeof c2);
    memcpy(to + 3 * WINDOW_LANES, c3, sizeof c3);
    memcpy(to + 4 * WINDOW_LANES, c4, sizeof c4);
    memcpy(to + 5 * WINDOW_LANES, c5, sizeof c5);
    memcpy(to + 6 * WINDOW_LANES, c6, sizeof c6);
    memcpy(to + 7 * WINDOW_LANES, c7, sizeof c7);
}

#else

static STEPC_KERNEL void window_sums(const int rows, const int vectors, const int planes, const int lines,
                                     const int columns, float *restrict to, const float *restrict image,
                                     const int32_t *restrict offset, const int plane_step, const int line_step,
                                     const float *restrict dy, const int dy_step)
{
    float c00 = 0, c01 = 0, c02 = 0, c03 = 0, c10 = 0, c11 = 0, c12 = 0, c13 = 0;
    float c20 = 0, c21 = 0, c22 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
    const int row1 = offset[rows > 1 ? 1 : 0], row2 = offset[rows > 2 ? 2 : 0], row3 = offset[rows > 3 ? 3 : 0];
    (void)vectors;
    for (int l = 0; l < planes * lines; l++) {
        const float *line = image + l / lines * plane_step + l % lines * line_step;
        const float *const r0 = line + offset[0], *const r1 = line + row1, *const r2 = line + row2, *const r3 = line + row3;
        for (int p = 0; p < columns; p++) {
            const float d0 = dy[0], d1 = dy[1], d2 = dy[2], d3 = dy[3];
            float s = r0[p];
            c00 += s * d0;
            c01 += s * d1;
            c02 += s * d2;
            c03 += s * d3;
            s = r1[p];
            c10 += s * d0;
            c11 += s * d1;
            c12 += s * d2;
            c13 += s * d3;
            s = r2[p];
            c20 += s * d0;
            c21 += s * d1;
            c22 += s * d2;
            c23 += s * d3;
            s = r3[p];
            c30 += s * d0;
            c31 += s * d1;
            c32 += s * d2;
            c33 += s * d3;
            dy += dy_step;
        }
    }
    to[0] = c00, to[1] = c01, to[2] = c02, to[3] = c03, to[4] = c10, to[5] = c11, to[6] = c12, to[7] = c13;
    to[8] = c20, to[9] = c21, to[10] = c22, to[11] = c23, to[12] = c30, to[13] = c31, to[14] = c32, to[15] = c33;
}

#endif

#if STEPC_FORM != 2
#define SUMS_MOST TILE_ROWS
#define SUMS_ROWS(rows, columns) PART_ROWS(rows)
#endif

#endif
