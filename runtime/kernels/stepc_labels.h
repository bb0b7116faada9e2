/* SPDX-License-Identifier: 0BSD */
/* Labels as indices of classes. */
#ifndef STEPC_KERNELS_LABELS_H
#define STEPC_KERNELS_LABELS_H

#include <stdint.h>

/* The label as an index, in range whatever it is. */
/* Why: a variable of its own, because a prover learns from the comparison of a variable and not from that of a cast. */
static inline int stepc_class(const int64_t label, const int classes)
{
    const uint64_t c = (uint64_t)label;
    return c < (uint64_t)classes ? (int)c : 0;
}

#endif
