/* SPDX-License-Identifier: 0BSD */
/* Rounding of the numeric contract, to half precision and to integers, and the remainder; written and used like stepc_math.h. */
#ifndef STEPC_ROUNDING_H
#define STEPC_ROUNDING_H

#include "stepc_math.h"

/* ---- float16 and bfloat16: bit patterns to float, exact; float to them, to nearest, ties to even ---------------------------- */

/* The exponent moves from bias 15 to 127. A subnormal gets the exponent of the smallest normal number, 2^-14, which is then taken
 * away. */
static inline float stepc_float16_to_float(uint16_t h)
{
    const uint32_t u = (uint32_t)(h & 0x7FFFu) << 13;
    const float small = stepc_from_bitsf(u + 0x38800000u) - 6.10351562e-5f;
    const uint32_t normal = u + (u < 0x0F800000u ? 0x38000000u : 0x70000000u); /* infinity and NaN keep the largest exponent */
    const uint32_t magnitude = u < 0x00800000u ? stepc_bitsf(small) : normal;
    return stepc_from_bitsf(magnitude | (uint32_t)(h & 0x8000u) << 16);
}

/* Below 2^-14 the sum with 1/2, whose last bit is 2^-24, rounds to a multiple of the smallest subnormal. Above, what rounds up carries
 * into the exponent, up to that of infinity. */
static inline uint16_t stepc_float_to_float16(float x)
{
    const uint32_t sign = stepc_bitsf(x) >> 16 & 0x8000u, u = stepc_bitsf(x) & 0x7FFFFFFFu;
    const uint32_t small = stepc_bitsf(stepc_from_bitsf(u) + 0.5f) - 0x3F000000u;
    const uint32_t normal = (u - 0x38000000u + 0x00000FFFu + (u >> 13 & 1u)) >> 13;
    const uint32_t finite = u < 0x38800000u ? small : normal;
    const uint32_t number = (u < 0x47800000u ? finite : 0x7C00u) | sign;
    return (uint16_t)(u > 0x7F800000u ? 0x7E00u : number);
}

static inline float stepc_bfloat16_to_float(uint16_t h)
{
    return stepc_from_bitsf((uint32_t)h << 16);
}

static inline uint16_t stepc_float_to_bfloat16(float x)
{
    const uint32_t u = stepc_bitsf(x);
    const uint32_t number = (u + 0x00007FFFu + (u >> 16 & 1u)) >> 16;
    return (uint16_t)((u & 0x7FFFFFFFu) > 0x7F800000u ? 0x7FC0u : number);
}

/* ---- rounding to integers, remainder: exact ----------------------------------- */

/* Adding 2^23 (2^52) rounds to an integer, ties to even; larger numbers, infinities and NaN are left alone. */
static inline float stepc_rintf(float x)
{
    const float a = stepc_fabsf(x);
    const float n = (a + 8388608.0f) - 8388608.0f;
    return stepc_copysignf(stepc_selectf(a < 8388608.0f, n, a), x);
}

static inline float stepc_truncf(float x)
{
    const float a = stepc_fabsf(x);
    const float n = stepc_rintf(a);
    return stepc_copysignf(n - stepc_selectf(n > a, 1.0f, 0.0f), x);
}

static inline float stepc_floorf(float x)
{
    const float n = stepc_rintf(x);
    return stepc_copysignf(n - stepc_selectf(n > x, 1.0f, 0.0f), x);
}

static inline float stepc_ceilf(float x)
{
    const float n = stepc_rintf(x);
    return stepc_copysignf(n + stepc_selectf(n < x, 1.0f, 0.0f), x);
}

static inline double stepc_rint(double x)
{
    const double a = stepc_fabs(x);
    const double n = (a + 4503599627370496.0) - 4503599627370496.0;
    return stepc_copysign(stepc_select(a < 4503599627370496.0, n, a), x);
}

static inline double stepc_trunc(double x)
{
    const double a = stepc_fabs(x);
    const double n = stepc_rint(a);
    return stepc_copysign(n - stepc_select(n > a, 1.0, 0.0), x);
}

static inline double stepc_floor(double x)
{
    const double n = stepc_rint(x);
    return stepc_copysign(n - stepc_select(n > x, 1.0, 0.0), x);
}

static inline double stepc_ceil(double x)
{
    const double n = stepc_rint(x);
    return stepc_copysign(n + stepc_select(n < x, 1.0, 0.0), x);
}

/* C's fmod: the sign of x, NaN for infinite x and for y = 0. A binary digit of the quotient per turn of the loop. */
static inline float stepc_fmodf(float x, float y)
{
    const uint32_t ux = stepc_bitsf(x) & 0x7FFFFFFFu, uy = stepc_bitsf(y) & 0x7FFFFFFFu;
    if (ux >= 0x7F800000u || uy > 0x7F800000u || uy == 0u)
        return stepc_from_bitsf(0x7FC00000u);
    if (ux < uy)
        return x;
    const uint32_t ex = ux < 0x00800000u ? 1u : ux >> 23, ey = uy < 0x00800000u ? 1u : uy >> 23;
    const uint32_t m = uy - ((ey - 1u) << 23), my = m > 0u ? m : 1u;        /* m > 0, but provers cannot see it */
    uint32_t rest = (ux - ((ex - 1u) << 23)) % my;
    for (uint32_t i = ey; i < ex; i++) {
        rest <<= 1;
        rest -= rest < my ? 0u : my;
    }
    return stepc_copysignf(stepc_scalef((float)(int32_t)rest, ey + 104u), x);
}

static inline double stepc_fmod(double x, double y)
{
    const uint64_t ux = stepc_bits(x) & 0x7FFFFFFFFFFFFFFFu, uy = stepc_bits(y) & 0x7FFFFFFFFFFFFFFFu;
    if (ux >= 0x7FF0000000000000u || uy > 0x7FF0000000000000u || uy == 0u)
        return stepc_from_bits(0x7FF8000000000000u);
    if (ux < uy)
        return x;
    const uint64_t ex = ux < 0x0010000000000000u ? 1u : ux >> 52, ey = uy < 0x0010000000000000u ? 1u : uy >> 52;
    const uint64_t m = uy - ((ey - 1u) << 52), my = m > 0u ? m : 1u;
    uint64_t rest = (ux - ((ex - 1u) << 52)) % my;
    for (uint64_t i = ey; i < ex; i++) {
        rest <<= 1;
        rest -= rest < my ? 0u : my;
    }
    return stepc_copysign(stepc_scale((double)(int64_t)rest, ey + 971u), x);
}

#endif
