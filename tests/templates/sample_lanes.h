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

struct span {
    int low, high;
};

/* c[0..WIDTH) += a * b */
/* Why: this stays
 * in the template. */
static inline __attribute__((unused)) void add_scaled(float *c, const float a, const float *b)
{
    for (int l = 0; l < WIDTH; l++)
        c[l] += a * b[l];
}

#endif
