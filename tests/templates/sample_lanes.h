/* A header of kernels for sample.c, with a routine for each type. */
#ifndef SAMPLE_LANES_H
#define SAMPLE_LANES_H

#include <stdint.h>

/* Lanes of a vector, by target. */
#if defined(__GNUC__)
#define WIDTH(T) (16 / (int)sizeof(T))
#else
#define WIDTH(T) 4
#endif

/* part(count, first, ...) for n elements, up to three at a time. */
#define STEPC_EACH_THREE(n, part, ...)                                                                                 \
    do {                                                                                                               \
        for (int first_ = 0; first_ < (n) - (n) % 3; first_ += 3)                                                      \
            part(3, first_, __VA_ARGS__);                                                                              \
        if ((n) % 3 > 0)                                                                                               \
            part((n) % 3, (n) - (n) % 3, __VA_ARGS__);                                                                 \
    } while (0)

struct span {
    int low, high;
};

#include "kernels/stepc_for_float.h"
#include "sample_lanes_body.h"
#include "kernels/stepc_for_double.h"
#include "sample_lanes_body.h"

#endif
