/* SPDX-License-Identifier: 0BSD */
/* The register tile of windows that move over an image, in three forms. An image is laid out so that all positions of a window
 * are constant distances (`at`) from its place, and neighbouring windows are neighbours in memory (conv.c). Every form adds an
 * element's terms in index order. Embedded whole into emitted code; for double as tile.h. */
#ifndef STEPC_TEMPLATE_WINDOW_TILE_H
#define STEPC_TEMPLATE_WINDOW_TILE_H

#include "window_lanes.h"

#if STEPC_FORM == 2

/* to[rows, vectors * WINDOW_LANES] = the sum over c and t of w[row, c, t] * image[c, at[t] + column]; the second vector's columns begin
 * `next` behind those of the first */
static STEPC_INLINE void window_tile(const int rows, const int vectors, const int channels, const int taps,
                                     float *restrict to, const int to_step, const float *restrict w, const int w_row,
                                     const int w_channel, const int w_tap, const float *restrict image,
                                     const int image_channel, const int next, const int32_t *restrict at)
{
    window_vec acc[16];
    STEPC_UNROLL
    for (int i = 0; i < rows * vectors; i++)
        acc[i] = (window_vec){0};
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++) {
            const float *const b = image + c * image_channel + at[t];
            const float *const a = w + c * w_channel + t * w_tap;
            window_vec x[VECTORS];
            STEPC_UNROLL
            for (int v = 0; v < vectors; v++)
                x[v] = *(const window_vec_at *)(b + v * next);
            STEPC_UNROLL
            for (int i = 0; i < rows; i++) {
                const float s = a[i * w_row];
                STEPC_UNROLL
                for (int v = 0; v < vectors; v++)
                    acc[i * vectors + v] += s * x[v];
            }
        }
    }
    STEPC_UNROLL
    for (int i = 0; i < rows; i++) {
        STEPC_UNROLL
        for (int v = 0; v < vectors; v++)
            *(window_vec_at *)(to + i * to_step + v * WINDOW_LANES) = acc[i * vectors + v];
    }
}

#elif STEPC_FORM == 1

/* The same in C99: named arrays and one loop over the lanes (tile.h). Rows that do not exist repeat the last one. */
static STEPC_INLINE void window_tile(const int rows, const int vectors, const int channels, const int taps,
                                     float *restrict to, const int to_step, const float *restrict w, const int w_row,
                                     const int w_channel, const int w_tap, const float *restrict image,
                                     const int image_channel, const int next, const int32_t *restrict at)
{
    float c0[WINDOW_LANES] = {0}, c1[WINDOW_LANES] = {0}, c2[WINDOW_LANES] = {0}, c3[WINDOW_LANES] = {0};
    float c4[WINDOW_LANES] = {0}, c5[WINDOW_LANES] = {0}, c6[WINDOW_LANES] = {0}, c7[WINDOW_LANES] = {0};
    const int last = (rows - 1) * w_row;
    (void)vectors, (void)next;
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++) {
            const float *const b = image + c * image_channel + at[t];
            const float *const a = w + c * w_channel + t * w_tap;
            const float s0 = a[0], s1 = a[rows > 1 ? w_row : last], s2 = a[rows > 2 ? 2 * w_row : last];
            const float s3 = a[rows > 3 ? 3 * w_row : last], s4 = a[rows > 4 ? 4 * w_row : last];
            const float s5 = a[rows > 5 ? 5 * w_row : last], s6 = a[rows > 6 ? 6 * w_row : last];
            const float s7 = a[rows > 7 ? 7 * w_row : last];
            for (int l = 0; l < WINDOW_LANES; l++) {
                const float v = b[l];
                c0[l] += s0 * v;
                c1[l] += s1 * v;
                c2[l] += s2 * v;
                c3[l] += s3 * v;
                c4[l] += s4 * v;
                c5[l] += s5 * v;
                c6[l] += s6 * v;
                c7[l] += s7 * v;
            }
        }
    }
    memcpy(to, c0, sizeof c0);
    if (rows > 1)
        memcpy(to + to_step, c1, sizeof c1);
    if (rows > 2)
        memcpy(to + 2 * to_step, c2, sizeof c2);
    if (rows > 3)
        memcpy(to + 3 * to_step, c3, sizeof c3);
    if (rows > 4)
        memcpy(to + 4 * to_step, c4, sizeof c4);
    if (rows > 5)
        memcpy(to + 5 * to_step, c5, sizeof c5);
    if (rows > 6)
        memcpy(to + 6 * to_step, c6, sizeof c6);
    if (rows > 7)
        memcpy(to + 7 * to_step, c7, sizeof c7);
}

#else

/* The same for scalar registers. Of 32 of them 6 x 4 sums fill most, and need a tenth fewer instructions than 4 x 4; `most` is 4 or 6.
 * Rows that do not exist repeat the first one. */
static STEPC_INLINE void window_tile_of(const int most, const int rows, const int channels, const int taps,
                                        float *restrict to, const int to_step, const float *restrict w, const int w_row,
                                        const int w_channel, const int w_tap, const float *restrict image,
                                        const int image_channel, const int32_t *restrict at)
{
    float c00 = 0, c01 = 0, c02 = 0, c03 = 0, c10 = 0, c11 = 0, c12 = 0, c13 = 0;
    float c20 = 0, c21 = 0, c22 = 0, c23 = 0, c30 = 0, c31 = 0, c32 = 0, c33 = 0;
    float c40 = 0, c41 = 0, c42 = 0, c43 = 0, c50 = 0, c51 = 0, c52 = 0, c53 = 0;
    const int row1 = rows > 1 ? w_row : 0, row2 = rows > 2 ? 2 * w_row : 0, row3 = rows > 3 ? 3 * w_row : 0;
    const int row4 = rows > 4 ? 4 * w_row : 0, row5 = rows > 5 ? 5 * w_row : 0;
    for (int c = 0; c < channels; c++) {
        const float *a = w + c * w_channel;
        for (int t = 0; t < taps; t++) {
            const float *const b = image + c * image_channel + at[t];
            const float b0 = b[0], b1 = b[1], b2 = b[2], b3 = b[3];
            float s = a[0];
            c00 += s * b0;
            c01 += s * b1;
            c02 += s * b2;
            c03 += s * b3;
            s = a[row1];
            c10 += s * b0;
            c11 += s * b1;
            c12 += s * b2;
            c13 += s * b3;
            s = a[row2];
            c20 += s * b0;
            c21 += s * b1;
            c22 += s * b2;
            c23 += s * b3;
            s = a[row3];
            c30 += s * b0;
            c31 += s * b1;
            c32 += s * b2;
            c33 += s * b3;
            if (most > 4) {
                s = a[row4];
                c40 += s * b0;
                c41 += s * b1;
                c42 += s * b2;
                c43 += s * b3;
                s = a[row5];
                c50 += s * b0;
                c51 += s * b1;
                c52 += s * b2;
                c53 += s * b3;
            }
            a += w_tap;
        }
    }
    to[0] = c00, to[1] = c01, to[2] = c02, to[3] = c03;
    if (rows > 1)
        to += to_step, to[0] = c10, to[1] = c11, to[2] = c12, to[3] = c13;
    if (rows > 2)
        to += to_step, to[0] = c20, to[1] = c21, to[2] = c22, to[3] = c23;
    if (rows > 3)
        to += to_step, to[0] = c30, to[1] = c31, to[2] = c32, to[3] = c33;
    if (most > 4 && rows > 4)
        to += to_step, to[0] = c40, to[1] = c41, to[2] = c42, to[3] = c43;
    if (most > 4 && rows > 5)
        to += to_step, to[0] = c50, to[1] = c51, to[2] = c52, to[3] = c53;
}

/* Shared functions (tile.h). */
static STEPC_KERNEL void window_tile_4(const int rows, const int channels, const int taps, float *restrict to, const int to_step,
                                       const float *restrict w, const int w_row, const int w_channel, const int w_tap,
                                       const float *restrict image, const int image_channel, const int32_t *restrict at)
{
    window_tile_of(4, rows, channels, taps, to, to_step, w, w_row, w_channel, w_tap, image, image_channel, at);
}

static STEPC_KERNEL void window_tile_6(const int rows, const int channels, const int taps, float *restrict to, const int to_step,
                                       const float *restrict w, const int w_row, const int w_channel, const int w_tap,
                                       const float *restrict image, const int image_channel, const int32_t *restrict at)
{
    window_tile_of(6, rows, channels, taps, to, to_step, w, w_row, w_channel, w_tap, image, image_channel, at);
}

static STEPC_INLINE void window_tile(const int rows, const int vectors, const int channels, const int taps,
                                     float *restrict to, const int to_step, const float *restrict w, const int w_row,
                                     const int w_channel, const int w_tap, const float *restrict image,
                                     const int image_channel, const int next, const int32_t *restrict at)
{
    (void)vectors, (void)next;
    if (rows > 4)
        window_tile_6(rows, channels, taps, to, to_step, w, w_row, w_channel, w_tap, image, image_channel, at);
    else
        window_tile_4(rows, channels, taps, to, to_step, w, w_row, w_channel, w_tap, image, image_channel, at);
}

#endif

#endif
