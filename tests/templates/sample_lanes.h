/* An embedded header for sample.c. */
#ifndef SAMPLE_LANES_H
#define SAMPLE_LANES_H

#include <stdint.h>

/* Lanes of a vector, by target. */
#if defined(__GNUC__)
#define WIDTH (16 / (int)sizeof(float))
typedef float wide __attribute__((vector_size(16)));
#else
#define WIDTH 4
#endif

/* c[0..WIDTH) += a * b */
/* Why: this stays
 * in the template. */
static inline __attribute__((unused)) void add_scaled(float *restrict c, const float a, const float *restrict b)
{
    for (int l = 0; l < WIDTH; l++)
        c[l] += a * b[l];
}

#endif
