/* SPDX-License-Identifier: 0BSD */
/* Which of a window's positions see more than the zeros around an image. Embedded whole into emitted code; for double
 * as tile.h. */
#ifndef STEPC_TEMPLATE_WINDOW_SKIP_H
#define STEPC_TEMPLATE_WINDOW_SKIP_H

#include "window_tile.h"

/* How many positions at the begin of k.at lie at or before `begin`, or at or behind `end`. */
static STEPC_INLINE int idle_taps(const struct window_terms k, const int begin, const int end)
{
    int n = 0;
    while (n < k.taps && (k.at[n] <= begin || k.at[n] >= end))
        n++;
    return n;
}

/* The terms of the sum of which the first `idle` positions of each channel are left out, and those at the end that lie
 * at or before `begin`, or at or behind `end`. */
static STEPC_INLINE struct window_terms terms_inside(const struct window_terms k, const int idle, const int begin,
                                                     const int end)
{
    struct window_terms inside = k;
    inside.at += idle;
    inside.taps -= idle;
    while (inside.taps > 0 && (inside.at[inside.taps - 1] <= begin || inside.at[inside.taps - 1] >= end))
        inside.taps--;
    return inside;
}

#endif
