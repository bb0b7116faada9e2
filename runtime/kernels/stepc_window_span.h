/* SPDX-License-Identifier: 0BSD */
/* What a window sees along an axis, from a table of five numbers for each window. */
#ifndef STEPC_KERNELS_WINDOW_SPAN_H
#define STEPC_KERNELS_WINDOW_SPAN_H

#include "stepc_registers.h"

/* Position in the window and place in the operand of the first term inside; terms inside, and zeros before and behind
 * them. */
struct stepc_window_span {
    int tap, place, count, before, behind;
};

static STEPC_INLINE struct stepc_window_span stepc_window_span(const int32_t *restrict spans, const int i)
{
    const int32_t *const s = spans + i * 5;
    return (struct stepc_window_span){.tap = s[0], .place = s[1], .count = s[2], .before = s[3], .behind = s[4]};
}

#endif
