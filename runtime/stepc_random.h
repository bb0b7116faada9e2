/* SPDX-License-Identifier: 0BSD */
/* Random numbers of the numeric contract: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy
 * as 1, 2, 3", 2011), a function of its arguments without any state. Element i of a tensor is a function of
 *
 *   seed      the key: what the caller gave to init()
 *   counter   the step: advances when an entry commits
 *   stream    which random node of the model
 *   i         the element's row-major index; a block of four 32-bit words serves 4 floats or 2 doubles
 *
 * so that elements may be drawn in any order and by any number of threads. Uniform numbers are exact; normal ones use
 * the functions of stepc_math.h and stepc_trigonometry.h and are as reproducible as those. */
#ifndef STEPC_RANDOM_H
#define STEPC_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "stepc_trigonometry.h"

/* The four words of a block: counter words (block, counter low, counter high, stream), key words (seed low, high). */
static STEPC_FAST_INLINE void stepc_philox(uint64_t seed, uint64_t counter, uint32_t stream, uint32_t block,
                                           uint32_t out[4])
{
    uint32_t k0 = (uint32_t)(seed & 0xFFFFFFFFu), k1 = (uint32_t)(seed >> 32);
    uint32_t c0 = block, c1 = (uint32_t)(counter & 0xFFFFFFFFu), c2 = (uint32_t)(counter >> 32), c3 = stream;
    for (int round = 0; round < 10; round++) {
        const uint64_t p0 = (uint64_t)c0 * 0xD2511F53u;
        const uint64_t p1 = (uint64_t)c2 * 0xCD9E8D57u;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)(p1 & 0xFFFFFFFFu);
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)(p0 & 0xFFFFFFFFu);
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* ---- uniform in [0, 1) ------------------------------------------------------- */

/* The upper 24 bits of a word, as a multiple of 2^-24: exact. */
static inline float stepc_unitf(uint32_t word)
{
    return (float)(int32_t)(word >> 8) * 5.96046448e-8f;
}

/* 53 bits, the upper 26 of the first word and the upper 27 of the second, as a multiple of 2^-53: exact. */
static inline double stepc_unit(uint32_t first, uint32_t second)
{
    return ((double)(int32_t)(first >> 6) * 134217728.0 + (double)(int32_t)(second >> 5)) * 1.1102230246251565e-16;
}

/* Elements 4 block .. 4 block + 3. */
static STEPC_FAST_INLINE void stepc_uniform4f(uint64_t seed, uint64_t counter, uint32_t stream, uint32_t block,
                                              float out[4])
{
    uint32_t word[4] = {0u, 0u, 0u, 0u};
    stepc_philox(seed, counter, stream, block, word);
    out[0] = stepc_unitf(word[0]);
    out[1] = stepc_unitf(word[1]);
    out[2] = stepc_unitf(word[2]);
    out[3] = stepc_unitf(word[3]);
}

/* Elements 2 block and 2 block + 1. */
static inline void stepc_uniform2(uint64_t seed, uint64_t counter, uint32_t stream, uint32_t block, double out[2])
{
    uint32_t word[4] = {0u, 0u, 0u, 0u};
    stepc_philox(seed, counter, stream, block, word);
    out[0] = stepc_unit(word[0], word[1]);
    out[1] = stepc_unit(word[2], word[3]);
}

static inline float stepc_uniformf(uint64_t seed, uint64_t counter, uint32_t stream, uint64_t element)
{
    uint32_t word[4] = {0u, 0u, 0u, 0u};
    stepc_philox(seed, counter, stream, (uint32_t)((element >> 2) & 0xFFFFFFFFu), word);
    return stepc_unitf(word[element & 3u]);
}

static inline double stepc_uniform(uint64_t seed, uint64_t counter, uint32_t stream, uint64_t element)
{
    double pair[2] = {0.0, 0.0};
    stepc_uniform2(seed, counter, stream, (uint32_t)((element >> 1) & 0xFFFFFFFFu), pair);
    return pair[element & 1u];
}

/* ---- normal, mean 0 and variance 1 ------------------------------------------- */

/* Box and Muller: two uniform numbers make two independent normal ones. 1 - u lies in (0, 1]: its log is finite. */
static inline void stepc_box_mullerf(float u, float v, float out[2])
{
    const float radius = stepc_sqrtf(-2.0f * stepc_logf(1.0f - u));
    out[0] = radius * stepc_cos2pif(v);
    out[1] = radius * stepc_sin2pif(v);
}

static inline void stepc_box_muller(double u, double v, double out[2])
{
    const double radius = stepc_sqrt(-2.0 * stepc_log(1.0 - u));
    out[0] = radius * stepc_cos2pi(v);
    out[1] = radius * stepc_sin2pi(v);
}

/* Elements 4 block .. 4 block + 3, from the uniform numbers of that block, pair by pair. */
static inline void stepc_normal4f(uint64_t seed, uint64_t counter, uint32_t stream, uint32_t block, float out[4])
{
    uint32_t word[4] = {0u, 0u, 0u, 0u};
    stepc_philox(seed, counter, stream, block, word);
    stepc_box_mullerf(stepc_unitf(word[0]), stepc_unitf(word[1]), out);
    stepc_box_mullerf(stepc_unitf(word[2]), stepc_unitf(word[3]), out + 2);
}

/* Elements 2 block and 2 block + 1. */
static inline void stepc_normal2(uint64_t seed, uint64_t counter, uint32_t stream, uint32_t block, double out[2])
{
    uint32_t word[4] = {0u, 0u, 0u, 0u};
    stepc_philox(seed, counter, stream, block, word);
    stepc_box_muller(stepc_unit(word[0], word[1]), stepc_unit(word[2], word[3]), out);
}

static inline float stepc_normalf(uint64_t seed, uint64_t counter, uint32_t stream, uint64_t element)
{
    float four[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    stepc_normal4f(seed, counter, stream, (uint32_t)((element >> 2) & 0xFFFFFFFFu), four);
    return four[element & 3u];
}

static inline double stepc_normal(uint64_t seed, uint64_t counter, uint32_t stream, uint64_t element)
{
    double pair[2] = {0.0, 0.0};
    stepc_normal2(seed, counter, stream, (uint32_t)((element >> 1) & 0xFFFFFFFFu), pair);
    return pair[element & 1u];
}

/* ---- one after the other ------------------------------------------------------ */

/* For loops over elements in their order: a block is drawn when the first of its elements is asked for, and kept for
 * the others. Before the first, *block is UINT64_MAX. */
static STEPC_FAST_INLINE float stepc_next_uniformf(float kept[4], uint64_t *block, uint64_t seed, uint64_t counter,
                                        uint32_t stream, uint64_t element)
{
    if (*block != element >> 2) {
        *block = element >> 2;
        stepc_uniform4f(seed, counter, stream, (uint32_t)(*block & 0xFFFFFFFFu), kept);
    }
    return kept[element & 3u];
}

static STEPC_FAST_INLINE double stepc_next_uniform(double kept[2], uint64_t *block, uint64_t seed, uint64_t counter,
                                        uint32_t stream, uint64_t element)
{
    if (*block != element >> 1) {
        *block = element >> 1;
        stepc_uniform2(seed, counter, stream, (uint32_t)(*block & 0xFFFFFFFFu), kept);
    }
    return kept[element & 1u];
}

static STEPC_FAST_INLINE float stepc_next_normalf(float kept[4], uint64_t *block, uint64_t seed, uint64_t counter,
                                                  uint32_t stream, uint64_t element)
{
    if (*block != element >> 2) {
        *block = element >> 2;
        stepc_normal4f(seed, counter, stream, (uint32_t)(*block & 0xFFFFFFFFu), kept);
    }
    return kept[element & 3u];
}

static STEPC_FAST_INLINE double stepc_next_normal(double kept[2], uint64_t *block, uint64_t seed, uint64_t counter,
                                       uint32_t stream, uint64_t element)
{
    if (*block != element >> 1) {
        *block = element >> 1;
        stepc_normal2(seed, counter, stream, (uint32_t)(*block & 0xFFFFFFFFu), kept);
    }
    return kept[element & 1u];
}

/* Fill a tensor: its elements are offset + factor * number, in one block of numbers after the other. */
static STEPC_FAST_INLINE void stepc_fill_uniformf(float *to, size_t count, float offset, float factor, uint64_t seed,
                                                  uint64_t counter, uint32_t stream)
{
    float kept[4] = {0.0f};
    uint64_t block = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        to[i] = offset + stepc_next_uniformf(kept, &block, seed, counter, stream, i) * factor;
}

static STEPC_FAST_INLINE void stepc_fill_uniform(double *to, size_t count, double offset, double factor, uint64_t seed,
                                                 uint64_t counter, uint32_t stream)
{
    double kept[2] = {0.0};
    uint64_t block = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        to[i] = offset + stepc_next_uniform(kept, &block, seed, counter, stream, i) * factor;
}

static STEPC_FAST_INLINE void stepc_fill_normalf(float *to, size_t count, float factor, uint64_t seed,
                                                 uint64_t counter, uint32_t stream)
{
    float kept[4] = {0.0f};
    uint64_t block = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        to[i] = stepc_next_normalf(kept, &block, seed, counter, stream, i) * factor;
}

static STEPC_FAST_INLINE void stepc_fill_normal(double *to, size_t count, double factor, uint64_t seed,
                                                uint64_t counter, uint32_t stream)
{
    double kept[2] = {0.0};
    uint64_t block = UINT64_MAX;
    for (size_t i = 0; i < count; i++)
        to[i] = stepc_next_normal(kept, &block, seed, counter, stream, i) * factor;
}

#endif
