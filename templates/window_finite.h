/* SPDX-License-Identifier: 0BSD */
/* Zeros around an image need not be multiplied by weights that are finite. Embedded whole into emitted code; for double
 * as tile.h. */
#ifndef STEPC_TEMPLATE_WINDOW_FINITE_H
#define STEPC_TEMPLATE_WINDOW_FINITE_H

#include "window_lanes.h"

/* Are all of w[count] finite? Then zero times their sum is zero. */
static STEPC_INLINE int are_finite(const int count, const float *restrict w)
{
    float sum = 0;
#if STEPC_FORM == 2
    const int whole = count - count % (4 * WINDOW_LANES);
    window_vec sums[4] = {{0}, {0}, {0}, {0}};
    for (int i = 0; i < whole; i += 4 * WINDOW_LANES) {
        STEPC_UNROLL
        for (int v = 0; v < 4; v++)
            sums[v] += *(const window_vec_at *)(w + i + v * WINDOW_LANES) * 0;
    }
    sums[0] += sums[1] + (sums[2] + sums[3]);
    for (int l = 0; l < WINDOW_LANES; l++)
        sum += sums[0][l];
#else
    const int whole = 0;
#endif
    for (int i = whole; i < count; i++)
        sum += w[i] * 0;
    return sum == 0;
}

#endif
