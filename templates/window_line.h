/* SPDX-License-Identifier: 0BSD */
/* As window_tile.h, for a single row of weights: depthwise convolutions. */
#ifndef STEPC_TEMPLATE_WINDOW_LINE_H
#define STEPC_TEMPLATE_WINDOW_LINE_H

#include "window_lanes.h"

#if STEPC_FORM == 2

#define LINE_VECTORS 8

/* One row, with as many columns as keep the adders busy: to[vectors * WINDOW_LANES] = the sum over c and t of w[c, t] *
 * image[c, at[t] + column] */
static STEPC_INLINE void window_line(const int vectors, const int channels, const int taps, float *restrict to,
                                     const float *restrict w, const int w_channel, const int w_tap,
                                     const float *restrict image, const int image_channel, const int32_t *restrict at)
{
    window_vec acc[LINE_VECTORS];
    STEPC_UNROLL
    for (int v = 0; v < vectors; v++)
        acc[v] = (window_vec){0};
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++) {
            const float *const b = image + c * image_channel + at[t];
            const float s = w[c * w_channel + t * w_tap];
            STEPC_UNROLL
            for (int v = 0; v < vectors; v++)
                acc[v] += s * *(const window_vec_at *)(b + v * WINDOW_LANES);
        }
    }
    STEPC_UNROLL
    for (int v = 0; v < vectors; v++)
        *(window_vec_at *)(to + v * WINDOW_LANES) = acc[v];
}

#elif STEPC_FORM == 1

#define LINE_VECTORS 1

static STEPC_INLINE void window_line(const int vectors, const int channels, const int taps, float *restrict to,
                                     const float *restrict w, const int w_channel, const int w_tap,
                                     const float *restrict image, const int image_channel, const int32_t *restrict at)
{
    float sum[WINDOW_LANES] = {0};
    (void)vectors;
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++) {
            const float *const b = image + c * image_channel + at[t];
            const float s = w[c * w_channel + t * w_tap];
            for (int l = 0; l < WINDOW_LANES; l++)
                sum[l] += s * b[l];
        }
    }
    memcpy(to, sum, sizeof sum);
}

#else

#define LINE_VECTORS 1

static STEPC_KERNEL void window_line(const int vectors, const int channels, const int taps, float *restrict to,
                                     const float *restrict w, const int w_channel, const int w_tap,
                                     const float *restrict image, const int image_channel, const int32_t *restrict at)
{
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    (void)vectors;
    for (int c = 0; c < channels; c++) {
        for (int t = 0; t < taps; t++) {
            const float *const b = image + c * image_channel + at[t];
            const float s = w[c * w_channel + t * w_tap];
            c0 += s * b[0];
            c1 += s * b[1];
            c2 += s * b[2];
            c3 += s * b[3];
        }
    }
    to[0] = c0, to[1] = c1, to[2] = c2, to[3] = c3;
}

#endif

#define LINE_COLUMNS (LINE_VECTORS * WINDOW_LANES)

#endif
