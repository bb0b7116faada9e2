/* SPDX-License-Identifier: 0BSD */
/* Labels and indices: are they in range, and which class is one? */
#ifndef STEPC_KERNELS_LABELS_H
#define STEPC_KERNELS_LABELS_H

#include <stddef.h>
#include <stdint.h>

/* Is one of x[count] below `low`, or not below `high`? Without jumps, so that the loop is one of vectors. */
static inline int stepc_outside64(const int64_t *x, const size_t count, const int64_t low, const int64_t high)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong |= (uint64_t)((x[i] < low) | (x[i] >= high));
    return wrong != 0;
}

static inline int stepc_outside32(const int32_t *x, const size_t count, const int64_t low, const int64_t high)
{
    uint64_t wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong |= (uint64_t)((x[i] < low) | (x[i] >= high));
    return wrong != 0;
}

/* The label as an index, in range whatever it is. */
/* Why: a variable of its own, because a prover learns from the comparison of a variable and not from that of a cast. */
static inline int stepc_class(const int64_t label, const int classes)
{
    const uint64_t c = (uint64_t)label;
    return c < (uint64_t)classes ? (int)c : 0;
}

#endif
