/* SPDX-License-Identifier: 0BSD */
/* Sine and cosine of the numeric contract; written and used like stepc_math.h. */
#ifndef STEPC_TRIGONOMETRY_H
#define STEPC_TRIGONOMETRY_H

#include "stepc_math.h"

/* ---- sin and cos -------------------------------------------------------------- */

/* sin(pi/2 d) and cos(pi/2 d) for d in [-1/2, 1/2]. */
static inline float stepc_quarter_sinf(float d)
{
    const float z = d * d;
    float p = 0.000158268114f;
    p = p * z - 0.00468130037f;
    p = p * z + 0.0796925873f;
    p = p * z - 0.645964086f;
    return d * 1.57079637f + (d * -4.37113883e-8f + d * z * p);
}

static inline float stepc_quarter_cosf(float d)
{
    const float z = d * d;
    float p = 0.0009040609f;
    p = p * z - 0.0208603088f;
    p = p * z + 0.253669262f;
    p = p * z - 1.23370051f;
    return 1.0f + z * p;
}

static inline double stepc_quarter_sin(double d)
{
    const double z = d * d;
    double p = -6.6283968976452114e-10;
    p = p * z + 5.6919350099382714e-08;
    p = p * z - 3.5988427436124505e-06;
    p = p * z + 0.00016044118473162834;
    p = p * z - 0.0046817541353153195;
    p = p * z + 0.07969262624616695;
    p = p * z - 0.64596409750624628;
    return d * 1.5707963267948966 + (d * 6.123233995736766e-17 + d * z * p);
}

static inline double stepc_quarter_cos(double d)
{
    const double z = d * d;
    double p = 6.5072971255707523e-11;
    p = p * z - 6.3863322276593986e-09;
    p = p * z + 4.7108741067635289e-07;
    p = p * z - 2.5202042363400741e-05;
    p = p * z + 0.0009192602748386194;
    p = p * z - 0.020863480763352923;
    p = p * z + 0.25366950790104803;
    p = p * z - 1.2337005501361697;
    return 1.0 + z * p;
}

/* sin(2 pi u) and cos(2 pi u) for |u| <= 2^19 (2^48): the reduction is exact, so are multiples of a quarter. */
static inline float stepc_sin2pif(float u)
{
    const float t = 4.0f * u + 12582912.0f;
    const float d = 4.0f * u - (t - 12582912.0f);
    const uint32_t n = stepc_bitsf(t);
    const float y = stepc_selectf((int)(n & 1u), stepc_quarter_cosf(d), stepc_quarter_sinf(d));
    return stepc_from_bitsf(stepc_bitsf(y) ^ (n >> 1) << 31);
}

static inline float stepc_cos2pif(float u)
{
    const float t = 4.0f * u + 12582912.0f;
    const float d = 4.0f * u - (t - 12582912.0f);
    const uint32_t n = stepc_bitsf(t) + 1u;
    const float y = stepc_selectf((int)(n & 1u), stepc_quarter_cosf(d), stepc_quarter_sinf(d));
    return stepc_from_bitsf(stepc_bitsf(y) ^ (n >> 1) << 31);
}

static inline double stepc_sin2pi(double u)
{
    const double t = 4.0 * u + 6755399441055744.0;
    const double d = 4.0 * u - (t - 6755399441055744.0);
    const uint64_t n = stepc_bits(t);
    const double y = stepc_select((int)(n & 1u), stepc_quarter_cos(d), stepc_quarter_sin(d));
    return stepc_from_bits(stepc_bits(y) ^ (n >> 1) << 63);
}

static inline double stepc_cos2pi(double u)
{
    const double t = 4.0 * u + 6755399441055744.0;
    const double d = 4.0 * u - (t - 6755399441055744.0);
    const uint64_t n = stepc_bits(t) + 1u;
    const double y = stepc_select((int)(n & 1u), stepc_quarter_cos(d), stepc_quarter_sin(d));
    return stepc_from_bits(stepc_bits(y) ^ (n >> 1) << 63);
}

/* |x| = quadrant pi/2 + *r + *rest modulo 2 pi, |*r| <= pi/4; returns the quadrant, 0 to 3.
 * Payne and Hanek: of the bits of 2 / pi only a window counts, those before it make multiples of 4, those after it
 * nothing that is seen. The product is one of integers, exact for all finite x; small |x| is its own remainder. */
static inline uint32_t stepc_quadrantf(float x, float *r, float *rest)
{
    static const uint32_t two_over_pi[8] = {        /* 32 zeros before the point */
        0x00000000u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u, 0xFE5163ABu};
    const uint32_t u = stepc_bitsf(x) & 0x7FFFFFFFu;
    const uint32_t first = u < 0x3C000000u ? 0u : (u >> 23) - 120u;         /* position of the window */
    const uint32_t i = first >> 5, s = first & 31u;
    const uint64_t w_01 = (uint64_t)two_over_pi[i] << 32 | two_over_pi[i + 1u];
    const uint64_t w_12 = (uint64_t)two_over_pi[i + 1u] << 32 | two_over_pi[i + 2u];
    const uint64_t w_23 = (uint64_t)two_over_pi[i + 2u] << 32 | two_over_pi[i + 3u];
    const uint64_t m = (u & 0x007FFFFFu) | 0x00800000u;
    const uint64_t turn = (m * ((w_01 << s) >> 32) << 32) + m * ((w_12 << s) >> 32) +
                          (m * ((w_23 << s) >> 32) >> 32);    /* in units of 2^-64 full turns */
    const uint32_t quadrant = (uint32_t)((turn + 0x2000000000000000u) >> 62);
    const uint64_t part = turn - ((uint64_t)quadrant << 62);                /* signed */
    const uint64_t sign = part >> 63;
    const uint64_t size = (part ^ (0u - sign)) + sign;
    const float high = (float)(int32_t)(size >> 37) * 2.98023224e-8f;       /* 2^-25 */
    const float low = (float)(int32_t)(size >> 13 & 0x00FFFFFFu) * 1.77635684e-15f +
                      (float)(int32_t)(size & 0x1FFFu) * 2.16840434e-19f;   /* 2^-49, 2^-62 */
    const float v = high + low, v_rest = (high - v) + low;
    const float v_h = stepc_upperf(v), v_l = (v - v_h) + v_rest;
    const float a = v_h * 1.57031250f, a_rest = v_h * 0.000483826795f + v_l * 1.57079637f;
    const float b = a + a_rest, b_rest = (a - b) + a_rest;
    const uint32_t small = u < 0x3F490FDBu;                                 /* pi/4 */
    const uint32_t negate = (uint32_t)sign << 31;
    *r = stepc_selectf((int)small, stepc_from_bitsf(u), stepc_from_bitsf(stepc_bitsf(b) ^ negate));
    *rest = stepc_selectf((int)small, 0.0f, stepc_from_bitsf(stepc_bitsf(b_rest) ^ negate));
    return small ? 0u : quadrant;
}

/* The upper half of the product. */
static inline uint64_t stepc_mul_high64(uint64_t a, uint64_t b)
{
    const uint64_t a_h = a >> 32, a_l = a & 0xFFFFFFFFu, b_h = b >> 32, b_l = b & 0xFFFFFFFFu;
    const uint64_t middle = a_h * b_l + (a_l * b_l >> 32);
    const uint64_t other = a_l * b_h + (middle & 0xFFFFFFFFu);
    return a_h * b_h + (middle >> 32) + (other >> 32);
}

static inline uint32_t stepc_quadrant(double x, double *r, double *rest)
{
    static const uint32_t two_over_pi[39] = {       /* 64 zeros before the point */
        0x00000000u, 0x00000000u, 0xA2F9836Eu, 0x4E441529u, 0xFC2757D1u, 0xF534DDC0u, 0xDB629599u, 0x3C439041u,
        0xFE5163ABu, 0xDEBBC561u, 0xB7246E3Au, 0x424DD2E0u, 0x06492EEAu, 0x09D1921Cu, 0xFE1DEB1Cu, 0xB129A73Eu,
        0xE88235F5u, 0x2EBB4484u, 0xE99C7026u, 0xB45F7E41u, 0x3991D639u, 0x835339F4u, 0x9C845F8Bu, 0xBDF9283Bu,
        0x1FF897FFu, 0xDE05980Fu, 0xEF2F118Bu, 0x5A0A6D1Fu, 0x6D367ECFu, 0x27CB09B7u, 0x4F463F66u, 0x9E5FEA2Du,
        0x7527BAC7u, 0xEBE5F17Bu, 0x3D0739F7u, 0x8A5292EAu, 0x6BFB5FB1u, 0x1F8D5D08u, 0x56033046u};
    const uint64_t u = stepc_bits(x) & 0x7FFFFFFFFFFFFFFFu;
    const uint32_t first = u < 0x3F60000000000000u ? 0u : (uint32_t)(u >> 52) - 1013u;
    const uint32_t i = first >> 5, s = first & 31u;
    uint64_t w[6] = {0u, 0u, 0u, 0u, 0u, 0u};
    for (uint32_t j = 0; j < 6u; j++)
        w[j] = (((uint64_t)two_over_pi[i + j] << 32 | two_over_pi[i + j + 1u]) << s) >> 32;
    const uint64_t m = (u & 0x000FFFFFFFFFFFFFu) | 0x0010000000000000u;
    const uint64_t w_23 = w[2] << 32 | w[3];
    const uint64_t lower = m * w_23 + stepc_mul_high64(m, w[4] << 32 | w[5]);
    const uint64_t carry = lower < m * w_23;
    const uint64_t turn = m * (w[0] << 32 | w[1]) + stepc_mul_high64(m, w_23) + carry;
    const uint32_t quadrant = (uint32_t)((turn + 0x2000000000000000u) >> 62);
    const uint64_t part = turn - ((uint64_t)quadrant << 62);
    const uint64_t sign = part >> 63;
    const uint64_t size_low = (lower ^ (0u - sign)) + sign;
    const uint64_t size = (part ^ (0u - sign)) + (sign & (size_low == 0u));
    const double high = (double)(int32_t)(size >> 32) * 9.3132257461547852e-10;            /* 2^-30 */
    const double middle = (double)(size & 0xFFFFFFFFu) * 2.1684043449710089e-19;           /* 2^-62 */
    const double low = (double)(size_low >> 32) * 5.0487097934144756e-29;                  /* 2^-94 */
    const double sum = high + middle, sum_rest = ((high - sum) + middle) + low;
    const double v = sum + sum_rest, v_rest = (sum - v) + sum_rest;
    const double v_h = stepc_upper(v), v_l = (v - v_h) + v_rest;
    const double a = v_h * 1.5707963109016418, a_rest = v_h * 1.5893254773528196e-08 + v_l * 1.5707963267948966;
    const double b = a + a_rest, b_rest = (a - b) + a_rest;
    const uint32_t small = u < 0x3FE921FB54442D18u;
    const uint64_t negate = sign << 63;
    *r = stepc_select((int)small, stepc_from_bits(u), stepc_from_bits(stepc_bits(b) ^ negate));
    *rest = stepc_select((int)small, 0.0, stepc_from_bits(stepc_bits(b_rest) ^ negate));
    return small ? 0u : quadrant;
}

/* sin and cos of r + rest, |r| <= pi/4. */
static inline float stepc_kernel_sinf(float r, float rest)
{
    const float z = r * r;
    float p = 2.71831414e-06f;
    p = p * z - 0.000198393362f;
    p = p * z + 0.00833332911f;
    p = p * z - 0.166666672f;
    return r + (r * z * p + rest);
}

static inline float stepc_kernel_cosf(float r, float rest)
{
    const float z = r * r;
    float p = 2.44391686e-05f;
    p = p * z - 0.00138873758f;
    p = p * z + 0.0416666456f;
    const float half = 0.5f * z;
    const float y = 1.0f - half;
    return y + (((1.0f - y) - half) + (z * z * p - r * rest));
}

static inline double stepc_kernel_sin(double r, double rest)
{
    const double z = r * r;
    double p = 1.5896869592059768e-10;
    p = p * z - 2.5050759912576949e-08;
    p = p * z + 2.7557313707672295e-06;
    p = p * z - 0.00019841269829869819;
    p = p * z + 0.0083333333333225207;
    p = p * z - 0.16666666666666632;
    return r + (r * z * p + rest);
}

static inline double stepc_kernel_cos(double r, double rest)
{
    const double z = r * r;
    double p = -1.1361209027780417e-11;
    p = p * z + 2.0875756321271993e-09;
    p = p * z - 2.7557314622171453e-07;
    p = p * z + 2.4801587290536337e-05;
    p = p * z - 0.0013888888888876074;
    p = p * z + 0.041666666666666616;
    const double half = 0.5 * z;
    const double y = 1.0 - half;
    return y + (((1.0 - y) - half) + (z * z * p - r * rest));
}

static inline float stepc_sinf(float x)
{
    float r = 0.0f, rest = 0.0f;
    const uint32_t n = stepc_quadrantf(x, &r, &rest);
    const float y = stepc_selectf((int)(n & 1u), stepc_kernel_cosf(r, rest), stepc_kernel_sinf(r, rest));
    const float value = stepc_from_bitsf(stepc_bitsf(y) ^ (stepc_bitsf(x) >> 31 ^ n >> 1) << 31);
    const int is_finite = stepc_fabsf(x) < stepc_from_bitsf(0x7F800000u);
    return stepc_selectf(is_finite, value, stepc_from_bitsf(0x7FC00000u));
}

static inline float stepc_cosf(float x)
{
    float r = 0.0f, rest = 0.0f;
    const uint32_t n = stepc_quadrantf(x, &r, &rest);
    const float y = stepc_selectf((int)(n & 1u), stepc_kernel_sinf(r, rest), stepc_kernel_cosf(r, rest));
    const float value = stepc_from_bitsf(stepc_bitsf(y) ^ ((n + 1u) >> 1) << 31);
    const int is_finite = stepc_fabsf(x) < stepc_from_bitsf(0x7F800000u);
    return stepc_selectf(is_finite, value, stepc_from_bitsf(0x7FC00000u));
}

static inline double stepc_sin(double x)
{
    double r = 0.0, rest = 0.0;
    const uint64_t n = stepc_quadrant(x, &r, &rest);
    const double y = stepc_select((int)(n & 1u), stepc_kernel_cos(r, rest), stepc_kernel_sin(r, rest));
    const double value = stepc_from_bits(stepc_bits(y) ^ (stepc_bits(x) >> 63 ^ n >> 1) << 63);
    const int is_finite = stepc_fabs(x) < stepc_from_bits(0x7FF0000000000000u);
    return stepc_select(is_finite, value, stepc_from_bits(0x7FF8000000000000u));
}

static inline double stepc_cos(double x)
{
    double r = 0.0, rest = 0.0;
    const uint64_t n = stepc_quadrant(x, &r, &rest);
    const double y = stepc_select((int)(n & 1u), stepc_kernel_sin(r, rest), stepc_kernel_cos(r, rest));
    const double value = stepc_from_bits(stepc_bits(y) ^ ((n + 1u) >> 1) << 63);
    const int is_finite = stepc_fabs(x) < stepc_from_bits(0x7FF0000000000000u);
    return stepc_select(is_finite, value, stepc_from_bits(0x7FF8000000000000u));
}

#endif
