/* SPDX-License-Identifier: 0BSD */
/* Rounding of the numeric contract, to half precision and to integers, and the remainder; written and used like
 * stepc_math.h. */
#ifndef STEPC_ROUNDING_H
#define STEPC_ROUNDING_H

#include "stepc_math.h"

/* ---- float16 and bfloat16: bit patterns to float, exact; float to them, to nearest, ties to even ----------------- */

/* The exponent moves from bias 15 to 127. A subnormal gets the exponent of the smallest normal number, 2^-14, which is
 * then taken away. */
static inline float stepc_float16_to_float(uint16_t h)
{
    const uint32_t u = (uint32_t)(h & 0x7FFFu) << 13;
    const float small = stepc_from_bitsf(u + 0x38800000u) - 6.10351562e-5f;
    const uint32_t normal = u + (u < 0x0F800000u ? 0x38000000u : 0x70000000u); /* the largest exponent stays so */
    const uint32_t magnitude = u < 0x00800000u ? stepc_bitsf(small) : normal;
    return stepc_from_bitsf(magnitude | (uint32_t)(h & 0x8000u) << 16);
}

/* Below 2^-14 the sum with 1/2, whose last bit is 2^-24, rounds to a multiple of the smallest subnormal. Above, what
 * rounds up carries into the exponent, up to that of infinity. */
static STEPC_FAST_INLINE uint16_t stepc_float_to_float16(float x)
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

/* ---- floats of 8 and 4 bits: bit patterns to float, exact; float to them ----------------------------------------- */

/* A sign bit, an exponent of that bias, `mantissa` bits; no infinities and no NaN: the callers know them. As above,
 * subnormals get an exponent which is then taken away. */
static STEPC_FAST_INLINE float stepc_small_to_float(uint32_t code, uint32_t sign, uint32_t mantissa, uint32_t bias)
{
    const uint32_t size = code & (sign - 1u), u = size << (23u - mantissa);
    const float least = stepc_from_bitsf((128u - bias) << 23);
    const float small = stepc_from_bitsf(u + ((128u - bias) << 23)) - least;
    const float normal = stepc_from_bitsf(u + ((127u - bias) << 23));
    return stepc_copysignf(stepc_selectf(size < (uint32_t)1 << mantissa, small, normal),
                           stepc_from_bitsf((code & sign) != 0u ? 0x80000000u : 0u));
}

/* The code of |x| without a sign, to nearest, ties to even, at most `largest`; x is no NaN. Of a sum with 2^k, whose
 * last bit is the smallest subnormal, the low bits are the code of what is below the normal numbers. */
static STEPC_FAST_INLINE uint32_t stepc_float_to_small(float x, uint32_t mantissa, uint32_t bias, uint32_t largest)
{
    const uint32_t u = stepc_bitsf(x) & 0x7FFFFFFFu, shift = 23u - mantissa;
    const uint32_t magic = (128u - bias + shift) << 23, least = (128u - bias) << 23;
    const uint32_t small = stepc_bitsf(stepc_from_bitsf(u) + stepc_from_bitsf(magic)) - magic;
    const uint32_t normal = (u - least + 0x007FFFFFu + ((uint32_t)1 << (shift - 1u)) + (u >> shift & 1u)) >> shift;
    const uint32_t code = u < least ? small : normal;
    return u < 0x7F800000u && code < largest ? code : largest;
}

static inline uint32_t stepc_sign_bit(float x, uint32_t sign)
{
    return stepc_bitsf(x) >> 31 != 0u ? sign : 0u;
}

static inline uint32_t stepc_is_nan(float x)
{
    return (stepc_bitsf(x) & 0x7FFFFFFFu) > 0x7F800000u;
}

/* Largest number 448, one NaN of either sign, no infinities. */
static inline float stepc_float8e4m3fn_to_float(uint8_t h)
{
    return (h & 0x7Fu) == 0x7Fu ? stepc_from_bitsf(0x7FC00000u) : stepc_small_to_float(h, 0x80u, 3u, 7u);
}

static inline uint8_t stepc_float_to_float8e4m3fn(float x)
{
    const uint32_t number = stepc_float_to_small(x, 3u, 7u, 0x7Eu) | stepc_sign_bit(x, 0x80u);
    return (uint8_t)(stepc_is_nan(x) ? 0x7Fu : number);
}

/* Largest number 240; where minus zero would be stands NaN. */
static inline float stepc_float8e4m3fnuz_to_float(uint8_t h)
{
    return h == 0x80u ? stepc_from_bitsf(0x7FC00000u) : stepc_small_to_float(h, 0x80u, 3u, 8u);
}

static inline uint8_t stepc_float_to_float8e4m3fnuz(float x)
{
    const uint32_t size = stepc_float_to_small(x, 3u, 8u, 0x7Fu),
                   number = size > 0u ? size | stepc_sign_bit(x, 0x80u) : 0u;
    return (uint8_t)(stepc_is_nan(x) ? 0x80u : number);
}

/* Largest number 57344; infinities, which stay, and NaNs as in float16. */
static inline float stepc_float8e5m2_to_float(uint8_t h)
{
    return stepc_float16_to_float((uint16_t)((uint32_t)h << 8));
}

static inline uint8_t stepc_float_to_float8e5m2(float x)
{
    const uint32_t size =
        (stepc_bitsf(x) & 0x7FFFFFFFu) == 0x7F800000u ? 0x7Cu : stepc_float_to_small(x, 2u, 15u, 0x7Bu);
    return (uint8_t)(stepc_is_nan(x) ? 0x7Fu : size | stepc_sign_bit(x, 0x80u));
}

/* Largest number 57344; where minus zero would be stands NaN. */
static inline float stepc_float8e5m2fnuz_to_float(uint8_t h)
{
    return h == 0x80u ? stepc_from_bitsf(0x7FC00000u) : stepc_small_to_float(h, 0x80u, 2u, 16u);
}

static inline uint8_t stepc_float_to_float8e5m2fnuz(float x)
{
    const uint32_t size = stepc_float_to_small(x, 2u, 16u, 0x7Fu),
                   number = size > 0u ? size | stepc_sign_bit(x, 0x80u) : 0u;
    return (uint8_t)(stepc_is_nan(x) ? 0x80u : number);
}

/* 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives; NaN becomes 0. */
static inline float stepc_float4e2m1_to_float(uint8_t h)
{
    return stepc_small_to_float(h & 15u, 8u, 1u, 1u);
}

static inline uint8_t stepc_float_to_float4e2m1(float x)
{
    return (uint8_t)(stepc_is_nan(x) ? 0u : stepc_float_to_small(x, 1u, 1u, 7u) | stepc_sign_bit(x, 8u));
}

/* The powers of two from 2^-127 to 2^127, NaN, and neither sign nor zero. */
static inline float stepc_float8e8m0_to_float(uint8_t h)
{
    return h == 0xFFu ? stepc_from_bitsf(0x7FC00000u) : stepc_from_bitsf(h == 0u ? 0x00400000u : (uint32_t)h << 23);
}

/* |x|, up to the next power of two; an infinity becomes NaN. */
static inline uint8_t stepc_float_to_float8e8m0(float x)
{
    const uint32_t u = stepc_bitsf(x) & 0x7FFFFFFFu;
    const uint32_t up = u <= 0x00400000u ? 0u : (u + 0x007FFFFFu) >> 23;
    return (uint8_t)(u >= 0x7F800000u ? 0xFFu : up < 0xFEu ? up : 0xFEu);
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

/* C's fmod: the sign of x, NaN for infinite x and for y = 0. Each iteration gives one binary digit of the quotient. */
static STEPC_FAST_INLINE float stepc_fmodf(float x, float y)
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

static STEPC_FAST_INLINE double stepc_fmod(double x, double y)
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
