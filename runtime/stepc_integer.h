/* SPDX-License-Identifier: 0BSD */
/* Integer arithmetic of the numeric contract, total and without undefined behaviour: sums and products wrap, x / 0 is
 * 0, the least number divided by -1 wraps, a shift by the width or more gives 0, a floating-point number becomes an
 * integer by dropping its fraction and saturating, NaN becomes 0. x mod 0 is 0 as well.
 *
 * Used like stepc_math.h. Narrow types: compute in 32 bits, then wrap: stepc_signed8((uint32_t)stepc_div32(a, b)). */
#ifndef STEPC_INTEGER_H
#define STEPC_INTEGER_H

#include <stdint.h>
#include <string.h>

#include "stepc_math.h"

/* ---- signed from unsigned, modulo 2^width (a cast is implementation-defined) ---- */

static inline int8_t stepc_signed2(uint32_t u)
{
    return (int8_t)((int32_t)((u & 3u) ^ 2u) - 2);
}

static inline int8_t stepc_signed4(uint32_t u)
{
    return (int8_t)((int32_t)((u & 15u) ^ 8u) - 8);
}

static inline int8_t stepc_signed8(uint32_t u)
{
    const uint8_t low = (uint8_t)(u & 0xFFu);
    int8_t s;
    memcpy(&s, &low, sizeof s);
    return s;
}

static inline int16_t stepc_signed16(uint32_t u)
{
    const uint16_t low = (uint16_t)(u & 0xFFFFu);
    int16_t s;
    memcpy(&s, &low, sizeof s);
    return s;
}

static inline int32_t stepc_signed32(uint32_t u)
{
    int32_t s;
    memcpy(&s, &u, sizeof s);
    return s;
}

static inline int64_t stepc_signed64(uint64_t u)
{
    int64_t s;
    memcpy(&s, &u, sizeof s);
    return s;
}

/* ---- sums, products, quotients, shifts -------------------------------------- */

static inline int32_t stepc_add32(int32_t a, int32_t b)
{
    return stepc_signed32((uint32_t)a + (uint32_t)b);
}

static inline int32_t stepc_sub32(int32_t a, int32_t b)
{
    return stepc_signed32((uint32_t)a - (uint32_t)b);
}

static inline int32_t stepc_mul32(int32_t a, int32_t b)
{
    return stepc_signed32((uint32_t)a * (uint32_t)b);
}

static inline int32_t stepc_neg32(int32_t a)
{
    return stepc_signed32(0u - (uint32_t)a);
}

static inline int32_t stepc_abs32(int32_t a)
{
    return a < 0 ? stepc_neg32(a) : a;
}

/* |a|, also of the least number. */
static inline uint32_t stepc_size32(int32_t a)
{
    return a < 0 ? 0u - (uint32_t)a : (uint32_t)a;
}

static inline uint32_t stepc_divu32(uint32_t a, uint32_t b)
{
    return b > 0u ? a / (b > 0u ? b : 1u) : 0u;
}

static inline uint32_t stepc_modu32(uint32_t a, uint32_t b)
{
    return a % (b > 0u ? b : 1u);
}

/* Towards zero. */
static inline int32_t stepc_div32(int32_t a, int32_t b)
{
    const uint32_t quotient = stepc_divu32(stepc_size32(a), stepc_size32(b));
    return stepc_signed32((a < 0) != (b < 0) ? 0u - quotient : quotient);
}

/* C's remainder: the sign of a. */
static inline int32_t stepc_rem32(int32_t a, int32_t b)
{
    const uint32_t rest = stepc_modu32(stepc_size32(a), stepc_size32(b));
    return stepc_signed32(a < 0 ? 0u - rest : rest);
}

/* ONNX Mod: the sign of b. */
static inline int32_t stepc_mod32(int32_t a, int32_t b)
{
    const int32_t rest = stepc_rem32(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? stepc_add32(rest, b) : rest;
}

static inline uint32_t stepc_shl32(uint32_t a, uint32_t n)
{
    return n < 32u ? a << (n & 31u) : 0u;
}

static inline uint32_t stepc_shr32(uint32_t a, uint32_t n)
{
    return n < 32u ? a >> (n & 31u) : 0u;
}

static inline int64_t stepc_add64(int64_t a, int64_t b)
{
    return stepc_signed64((uint64_t)a + (uint64_t)b);
}

static inline int64_t stepc_sub64(int64_t a, int64_t b)
{
    return stepc_signed64((uint64_t)a - (uint64_t)b);
}

static inline int64_t stepc_mul64(int64_t a, int64_t b)
{
    return stepc_signed64((uint64_t)a * (uint64_t)b);
}

static inline int64_t stepc_neg64(int64_t a)
{
    return stepc_signed64(0u - (uint64_t)a);
}

static inline int64_t stepc_abs64(int64_t a)
{
    return a < 0 ? stepc_neg64(a) : a;
}

/* |a|, also of the least number. */
static inline uint64_t stepc_size64(int64_t a)
{
    return a < 0 ? 0u - (uint64_t)a : (uint64_t)a;
}

static inline uint64_t stepc_divu64(uint64_t a, uint64_t b)
{
    return b > 0u ? a / (b > 0u ? b : 1u) : 0u;
}

static inline uint64_t stepc_modu64(uint64_t a, uint64_t b)
{
    return a % (b > 0u ? b : 1u);
}

/* Towards zero. */
static inline int64_t stepc_div64(int64_t a, int64_t b)
{
    const uint64_t quotient = stepc_divu64(stepc_size64(a), stepc_size64(b));
    return stepc_signed64((a < 0) != (b < 0) ? 0u - quotient : quotient);
}

/* C's remainder: the sign of a. */
static inline int64_t stepc_rem64(int64_t a, int64_t b)
{
    const uint64_t rest = stepc_modu64(stepc_size64(a), stepc_size64(b));
    return stepc_signed64(a < 0 ? 0u - rest : rest);
}

/* ONNX Mod: the sign of b. */
static inline int64_t stepc_mod64(int64_t a, int64_t b)
{
    const int64_t rest = stepc_rem64(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? stepc_add64(rest, b) : rest;
}

/* a^n by squaring, wrapping; a negative n gives 0 except for a of 1 or -1. */
static STEPC_FAST_INLINE int64_t stepc_pow64(int64_t a, int64_t n)
{
    uint64_t x = (uint64_t)a, y = 1u, rest = (uint64_t)n;
    if (n < 0)
        return a == 1 ? 1 : a == -1 ? ((rest & 1u) != 0u ? -1 : 1) : 0;
    for (int i = 0; i < 63; i++) {
        y = (rest & 1u) != 0u ? y * x : y;
        x *= x;
        rest >>= 1;
    }
    return stepc_signed64(y);
}

static inline uint64_t stepc_shl64(uint64_t a, uint64_t n)
{
    return n < 64u ? a << (n & 63u) : 0u;
}

static inline uint64_t stepc_shr64(uint64_t a, uint64_t n)
{
    return n < 64u ? a >> (n & 63u) : 0u;
}

/* ---- floating point to integer ------------------------------------------------ */

/* |x| without its fraction, at most 2^32 - 1; 0 for NaN. */
static STEPC_FAST_INLINE uint32_t stepc_magnitude32f(float x)
{
    const uint32_t u = stepc_bitsf(x) & 0x7FFFFFFFu;
    const uint32_t e = u >> 23;                                     /* the significand counts 2^(e - 150) */
    const uint32_t m = (u & 0x007FFFFFu) | 0x00800000u;
    const uint32_t left = e > 150u ? e - 150u : 0u, right = e < 150u ? 150u - e : 0u;
    const uint32_t size = m << (left & 31u) >> (right > 31u ? 31u : right);
    return u > 0x7F800000u ? 0u : e > 158u ? 0xFFFFFFFFu : size;
}

/* |x| without its fraction, at most 2^64 - 1; 0 for NaN. */
static STEPC_FAST_INLINE uint64_t stepc_magnitude64f(float x)
{
    const uint32_t u = stepc_bitsf(x) & 0x7FFFFFFFu;
    const uint32_t e = u >> 23;
    const uint64_t m = (u & 0x007FFFFFu) | 0x00800000u;
    const uint32_t left = e > 150u ? e - 150u : 0u, right = e < 150u ? 150u - e : 0u;
    const uint64_t size = m << (left & 63u) >> (right > 63u ? 63u : right);
    return u > 0x7F800000u ? 0u : e > 190u ? 0xFFFFFFFFFFFFFFFFu : size;
}

static STEPC_FAST_INLINE uint64_t stepc_magnitude64(double x)
{
    const uint64_t u = stepc_bits(x) & 0x7FFFFFFFFFFFFFFFu;
    const uint64_t e = u >> 52;                                     /* the significand counts 2^(e - 1075) */
    const uint64_t m = (u & 0x000FFFFFFFFFFFFFu) | 0x0010000000000000u;
    const uint64_t left = e > 1075u ? e - 1075u : 0u, right = e < 1075u ? 1075u - e : 0u;
    const uint64_t size = m << (left & 63u) >> (right > 63u ? 63u : right);
    return u > 0x7FF0000000000000u ? 0u : e > 1086u ? 0xFFFFFFFFFFFFFFFFu : size;
}

static inline int8_t stepc_float_to_int8(float x)
{
    const uint32_t negative = x < 0.0f, limit = 0x80u - 1u + negative;
    const uint32_t whole = stepc_magnitude32f(x), size = whole > limit ? limit : whole;
    return stepc_signed8(negative ? 0u - size : size);
}

static inline int16_t stepc_float_to_int16(float x)
{
    const uint32_t negative = x < 0.0f, limit = 0x8000u - 1u + negative;
    const uint32_t whole = stepc_magnitude32f(x), size = whole > limit ? limit : whole;
    return stepc_signed16(negative ? 0u - size : size);
}

static inline int32_t stepc_float_to_int32(float x)
{
    const uint32_t negative = x < 0.0f, limit = 0x80000000u - 1u + negative;
    const uint32_t whole = stepc_magnitude32f(x), size = whole > limit ? limit : whole;
    return stepc_signed32(negative ? 0u - size : size);
}

static inline int64_t stepc_float_to_int64(float x)
{
    const uint64_t negative = x < 0.0f, limit = 0x8000000000000000u - 1u + negative;
    const uint64_t whole = stepc_magnitude64f(x), size = whole > limit ? limit : whole;
    return stepc_signed64(negative ? 0u - size : size);
}

static inline uint8_t stepc_float_to_uint8(float x)
{
    const uint32_t whole = x > 0.0f ? stepc_magnitude32f(x) : 0u;
    return (uint8_t)(whole > 0xFFu ? 0xFFu : whole);
}

static inline uint16_t stepc_float_to_uint16(float x)
{
    const uint32_t whole = x > 0.0f ? stepc_magnitude32f(x) : 0u;
    return (uint16_t)(whole > 0xFFFFu ? 0xFFFFu : whole);
}

static inline uint32_t stepc_float_to_uint32(float x)
{
    return x > 0.0f ? stepc_magnitude32f(x) : 0u;
}

static inline uint64_t stepc_float_to_uint64(float x)
{
    return x > 0.0f ? stepc_magnitude64f(x) : 0u;
}

static inline int8_t stepc_double_to_int8(double x)
{
    const uint64_t negative = x < 0.0, limit = 0x80u - 1u + negative;
    const uint64_t whole = stepc_magnitude64(x), size = whole > limit ? limit : whole;
    return stepc_signed8((uint32_t)((negative ? 0u - size : size) & 0xFFFFFFFFu));
}

static inline int16_t stepc_double_to_int16(double x)
{
    const uint64_t negative = x < 0.0, limit = 0x8000u - 1u + negative;
    const uint64_t whole = stepc_magnitude64(x), size = whole > limit ? limit : whole;
    return stepc_signed16((uint32_t)((negative ? 0u - size : size) & 0xFFFFFFFFu));
}

static inline int32_t stepc_double_to_int32(double x)
{
    const uint64_t negative = x < 0.0, limit = 0x80000000u - 1u + negative;
    const uint64_t whole = stepc_magnitude64(x), size = whole > limit ? limit : whole;
    return stepc_signed32((uint32_t)((negative ? 0u - size : size) & 0xFFFFFFFFu));
}

static inline int64_t stepc_double_to_int64(double x)
{
    const uint64_t negative = x < 0.0, limit = 0x8000000000000000u - 1u + negative;
    const uint64_t whole = stepc_magnitude64(x), size = whole > limit ? limit : whole;
    return stepc_signed64(negative ? 0u - size : size);
}

static inline uint8_t stepc_double_to_uint8(double x)
{
    const uint64_t whole = x > 0.0 ? stepc_magnitude64(x) : 0u;
    return (uint8_t)(whole > 0xFFu ? 0xFFu : whole);
}

static inline uint16_t stepc_double_to_uint16(double x)
{
    const uint64_t whole = x > 0.0 ? stepc_magnitude64(x) : 0u;
    return (uint16_t)(whole > 0xFFFFu ? 0xFFFFu : whole);
}

static inline uint32_t stepc_double_to_uint32(double x)
{
    const uint64_t whole = x > 0.0 ? stepc_magnitude64(x) : 0u;
    return (uint32_t)(whole > 0xFFFFFFFFu ? 0xFFFFFFFFu : whole);
}

static inline uint64_t stepc_double_to_uint64(double x)
{
    return x > 0.0 ? stepc_magnitude64(x) : 0u;
}

#endif
