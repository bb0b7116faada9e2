/* SPDX-License-Identifier: 0BSD */
/* As window_line.h, of planes without gaps between lines: what would come from another line is masked. Embedded whole
 * into emitted code; for double as tile.h. */
#ifndef STEPC_TEMPLATE_WINDOW_KEPT_H
#define STEPC_TEMPLATE_WINDOW_KEPT_H

#include "window_lanes.h"

#if STEPC_FORM == 2

#define KEPT_VECTORS 4 /* with the masks of two columns they stay in registers */

typedef int32_t window_bits __attribute__((vector_size(VECTOR_BYTES)));
typedef int32_t window_bits_at __attribute__((vector_size(VECTOR_BYTES), aligned(sizeof(float)), may_alias));

/* to[vectors * WINDOW_LANES] = the sum over lines l and columns c of w[l, c] * x[l * line_step + m + column], where
 * m = shift + c * step; where m is not 0, of those columns only whose bits are all set in keep[c] */
static STEPC_INLINE void window_line_kept(const int vectors, const int lines, const int columns, float *restrict to,
                                          const float *restrict w, const float *restrict x, const int line_step,
                                          const int shift, const int step, const float *restrict keep,
                                          const int keep_step)
{
    window_vec acc[KEPT_VECTORS];
    STEPC_UNROLL
    for (int v = 0; v < vectors; v++)
        acc[v] = (window_vec){0};
    for (int l = 0; l < lines; l++) {
        STEPC_UNROLL
        for (int c = 0; c < columns; c++) {
            const float *const b = x + l * line_step + shift + c * step;
            const float s = w[l * columns + c];
            STEPC_UNROLL
            for (int v = 0; v < vectors; v++) {
                window_vec e = *(const window_vec_at *)(b + v * WINDOW_LANES);
                if (shift + c * step != 0)
                    e = (window_vec)((window_bits)e &
                                     *(const window_bits_at *)(keep + c * keep_step + v * WINDOW_LANES));
                acc[v] += s * e;
            }
        }
    }
    STEPC_UNROLL
    for (int v = 0; v < vectors; v++)
        *(window_vec_at *)(to + v * WINDOW_LANES) = acc[v];
}

#elif STEPC_FORM == 1

#define KEPT_VECTORS 1

static STEPC_INLINE void window_line_kept(const int vectors, const int lines, const int columns, float *restrict to,
                                          const float *restrict w, const float *restrict x, const int line_step,
                                          const int shift, const int step, const float *restrict keep,
                                          const int keep_step)
{
    float sum[WINDOW_LANES] = {0};
    (void)vectors;
    for (int l = 0; l < lines; l++) {
        for (int c = 0; c < columns; c++) {
            const float *const b = x + l * line_step + shift + c * step, *const k = keep + c * keep_step;
            const float s = w[l * columns + c];
            for (int i = 0; i < WINDOW_LANES; i++) {
                const float e = b[i];
                sum[i] += s * (k[i] != 0 ? e : 0);
            }
        }
    }
    memcpy(to, sum, sizeof sum);
}

#else

#define KEPT_VECTORS 1

static STEPC_KERNEL void window_line_kept(const int vectors, const int lines, const int columns, float *restrict to,
                                          const float *restrict w, const float *restrict x, const int line_step,
                                          const int shift, const int step, const float *restrict keep,
                                          const int keep_step)
{
    float c0 = 0, c1 = 0, c2 = 0, c3 = 0;
    (void)vectors;
    for (int l = 0; l < lines; l++) {
        for (int c = 0; c < columns; c++) {
            const float *const b = x + l * line_step + shift + c * step, *const k = keep + c * keep_step;
            const float s = w[l * columns + c];
            c0 += s * (k[0] != 0 ? b[0] : 0);
            c1 += s * (k[1] != 0 ? b[1] : 0);
            c2 += s * (k[2] != 0 ? b[2] : 0);
            c3 += s * (k[3] != 0 ? b[3] : 0);
        }
    }
    to[0] = c0, to[1] = c1, to[2] = c2, to[3] = c3;
}

#endif

#define KEPT_COLUMNS (KEPT_VECTORS * WINDOW_LANES)

#endif
