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

struct span {
    int low, high;
};

#include "kernels/stepc_for_float.h"
#include "sample_lanes_body.h"
#include "kernels/stepc_for_double.h"
#include "sample_lanes_body.h"

#endif
