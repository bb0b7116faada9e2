/* SPDX-License-Identifier: 0BSD */
/* Which of a window's positions see more than the zeros around an image. */
#ifndef STEPC_KERNELS_WINDOW_SKIP_H
#define STEPC_KERNELS_WINDOW_SKIP_H

#include "stepc_window_tile.h"

/* How many positions at the begin of k.at lie at or before `begin`, or at or behind `end`. */
static STEPC_INLINE int stepc_idle_taps(const struct stepc_window_terms k, const int begin, const int end)
{
    int n = 0;
    while (n < k.taps && (k.at[n] <= begin || k.at[n] >= end))
        n++;
    return n;
}

/* The terms of the sum of which the first `idle` positions of each channel are left out, and those at the end that lie
 * at or before `begin`, or at or behind `end`. */
static STEPC_INLINE struct stepc_window_terms stepc_terms_inside(const struct stepc_window_terms k, const int idle,
                                                                 const int begin, const int end)
{
    struct stepc_window_terms inside = k;
    inside.at += idle;
    inside.taps -= idle;
    while (inside.taps > 0 && (inside.at[inside.taps - 1] <= begin || inside.at[inside.taps - 1] >= end))
        inside.taps--;
    return inside;
}

#endif
