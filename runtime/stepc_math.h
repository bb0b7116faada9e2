/* SPDX-License-Identifier: 0BSD */
/* Elementary functions of the numeric contract: the same bits on every target and with every compiler.
 *
 * Arithmetic on float and double is + - * / and comparison, everything else is integer arithmetic on the bits, so
 * that only IEEE 754 arithmetic in the declared type (FLT_EVAL_METHOD 0), round to nearest, subnormals and
 * -ffp-contract=off are assumed. Selections are `?:`, hence compilers vectorise loops over these functions. Errors,
 * domains and special cases are tabulated in docs/numerics-functions.md; tests/unit/test_math.c measures them.
 *
 * The file has two users: the interpreter and emitted code include it. Every function is static: what is not called is
 * not there.
 *
 * The bits of a NaN are not part of the contract: IEEE 754 does not fix them. */
#ifndef STEPC_MATH_H
#define STEPC_MATH_H

#include <stdint.h>
#include <string.h>

/* Of functions with many lines: where code size goes before speed (STEPC_SMALL, behind stepc.h), they are called. */
#if defined(STEPC_SMALL) && defined(__GNUC__)
#define STEPC_FAST_INLINE STEPC_NOINLINE __attribute__((unused))
#else
#define STEPC_FAST_INLINE inline
#endif
/* The longest of them, where loops have vectors: compilers inline these once at most, and a loop that calls has no
 * vectors. */
#if !defined(STEPC_SMALL) && defined(__GNUC__) && defined(__OPTIMIZE__) && (defined(__SSE2__) || defined(__ARM_NEON))
#define STEPC_LOOP_INLINE inline __attribute__((always_inline))
#else
#define STEPC_LOOP_INLINE STEPC_FAST_INLINE
#endif

/* ---- bits ------------------------------------------------------------------ */

static inline uint32_t stepc_bitsf(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float stepc_from_bitsf(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline uint64_t stepc_bits(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double stepc_from_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline float stepc_fabsf(float x)
{
    return stepc_from_bitsf(stepc_bitsf(x) & 0x7FFFFFFFu);
}

static inline double stepc_fabs(double x)
{
    return stepc_from_bits(stepc_bits(x) & 0x7FFFFFFFFFFFFFFFu);
}

/* The magnitude of x with the sign of s. */
static inline float stepc_copysignf(float x, float s)
{
    return stepc_from_bitsf((stepc_bitsf(x) & 0x7FFFFFFFu) | (stepc_bitsf(s) & 0x80000000u));
}

static inline double stepc_copysign(double x, double s)
{
    return stepc_from_bits((stepc_bits(x) & 0x7FFFFFFFFFFFFFFFu) | (stepc_bits(s) & 0x8000000000000000u));
}

/* c ? a : b for c = 0 or 1, where a and b are computed in any case. */
/* Why: with `?:` gcc moves the computation of a and b into branches, cannot take them back (it minds traps) and does
 * not vectorise; where both are plain values `?:` is good. */
static inline float stepc_selectf(int c, float a, float b)
{
    const uint32_t mask = 0u - (uint32_t)c;
    return stepc_from_bitsf((stepc_bitsf(a) & mask) | (stepc_bitsf(b) & ~mask));
}

static inline double stepc_select(int c, double a, double b)
{
    const uint64_t mask = 0u - (uint64_t)c;
    return stepc_from_bits((stepc_bits(a) & mask) | (stepc_bits(b) & ~mask));
}

/* x rounded towards zero to 12 (26) bits: products of two such numbers are exact. */
static inline float stepc_upperf(float x)
{
    return stepc_from_bitsf(stepc_bitsf(x) & 0xFFFFF000u);
}

static inline double stepc_upper(double x)
{
    return stepc_from_bits(stepc_bits(x) & 0xFFFFFFFFF8000000u);
}

/* x * 2^(k - 254) for 2 <= k <= 506, in two factors: results may overflow, or be subnormal and are rounded once. */
static inline float stepc_scalef(float x, uint32_t k)
{
    return x * stepc_from_bitsf((k - (k >> 1)) << 23) * stepc_from_bitsf((k >> 1) << 23);
}

/* x * 2^(k - 2046) for 2 <= k <= 4090. */
static inline double stepc_scale(double x, uint64_t k)
{
    return x * stepc_from_bits((k - (k >> 1)) << 52) * stepc_from_bits((k >> 1) << 52);
}

/* ---- exp ------------------------------------------------------------------- */

/* exp(x) = 2^n exp(r), r = x - n ln 2 in [-ln2/2, ln2/2]; ln 2 in two parts, n times the first is exact.
 * exp(r), for t = n + 1.5 * 2^23: adding that rounds to an integer, which then stands in the low bits of the sum. */
static STEPC_FAST_INLINE float stepc_exp_restf(float x, float t)
{
    const float n = t - 12582912.0f;
    const float r_1 = x - n * 0.693359375f;
    const float r = r_1 - n * -2.12194440e-4f;
    const float r_rest = (r_1 - r) - n * -2.12194440e-4f;
    float q = 1.97898597e-4f;
    q = q * r + 1.39448466e-3f;
    q = q * r + 8.33349861e-3f;
    q = q * r + 4.16662917e-2f;
    q = q * r + 1.66666657e-1f;
    q = q * r + 0.5f;
    const float one_r = 1.0f + r;
    return one_r + (((1.0f - one_r) + r) + (r * r * q + r_rest));
}

/* Below -104 nothing is left; multiplying down to it is slow on most processors. */
static inline float stepc_expf(float x)
{
    const int is_zero = x < -104.0f;
    const float c = stepc_selectf(is_zero, 0.0f, stepc_selectf(x > 105.0f, 105.0f, x));
    const float t = c * 1.44269504f + 12582912.0f;
    const float p = stepc_exp_restf(c, t);
    return stepc_selectf(is_zero, 0.0f, stepc_scalef(p, stepc_bitsf(t) - 0x4B400000u + 254u));
}

static STEPC_FAST_INLINE double stepc_exp_rest(double x, double t)
{
    const double n = t - 6755399441055744.0;
    const double r_1 = x - n * 6.93147180369123816490e-01;
    const double r = r_1 - n * 1.90821492927058770002e-10;
    const double r_rest = (r_1 - r) - n * 1.90821492927058770002e-10;
    double q = 2.4999499621394227e-08;
    q = q * r + 2.7630238328050107e-07;
    q = q * r + 2.7557588334430969e-06;
    q = q * r + 2.4801493134905762e-05;
    q = q * r + 0.00019841269504152769;
    q = q * r + 0.0013888888943585217;
    q = q * r + 0.0083333333334956929;
    q = q * r + 0.041666666666530384;
    q = q * r + 0.1666666666666641;
    q = q * r + 0.50000000000000111;
    const double one_r = 1.0 + r;
    return one_r + (((1.0 - one_r) + r) + (r * r * q + r_rest));
}

static inline double stepc_exp(double x)
{
    const int is_zero = x < -746.0;
    const double c = stepc_select(is_zero, 0.0, stepc_select(x > 746.0, 746.0, x));
    const double t = c * 1.4426950408889634 + 6755399441055744.0;
    return stepc_select(is_zero, 0.0, stepc_scale(stepc_exp_rest(c, t), stepc_bits(t) - 0x4338000000000000u + 2046u));
}

/* exp(x) - 1 = 2^n ((1 - 2^-n) + r + (exp(r) - 1 - r)), added in this order. */
static STEPC_FAST_INLINE float stepc_expm1f(float x)
{
    const float limit = stepc_selectf(x < 0.0f, 30.0f, 105.0f);
    const float c = stepc_selectf(stepc_fabsf(x) > limit, stepc_copysignf(limit, x), x);
    const float t = c * 1.44269504f + 12582912.0f;
    const float n = t - 12582912.0f;
    const float r_1 = c - n * 0.693359375f;
    const float r = r_1 - n * -2.12194440e-4f;
    const float r_rest = (r_1 - r) - n * -2.12194440e-4f;
    float q = 1.97898597e-4f;
    q = q * r + 1.39448466e-3f;
    q = q * r + 8.33349861e-3f;
    q = q * r + 4.16662917e-2f;
    q = q * r + 1.66666657e-1f;
    q = q * r + 0.5f;
    const uint32_t k = stepc_bitsf(t) - 0x4B400000u;
    const float base = 1.0f - stepc_selectf(n > 64.0f, 0.0f, stepc_from_bitsf((127u - k) << 23));
    const float sum = base + r;
    const float y = sum + (((base - sum) + r) + (r * r * q + r_rest));
    return stepc_copysignf(stepc_scalef(y, k + 254u), x);
}

static STEPC_FAST_INLINE double stepc_expm1(double x)
{
    const double limit = stepc_select(x < 0.0, 50.0, 746.0);
    const double c = stepc_select(stepc_fabs(x) > limit, stepc_copysign(limit, x), x);
    const double t = c * 1.4426950408889634 + 6755399441055744.0;
    const double n = t - 6755399441055744.0;
    const double r_1 = c - n * 6.93147180369123816490e-01;
    const double r = r_1 - n * 1.90821492927058770002e-10;
    const double r_rest = (r_1 - r) - n * 1.90821492927058770002e-10;
    double q = 2.4999499621394227e-08;
    q = q * r + 2.7630238328050107e-07;
    q = q * r + 2.7557588334430969e-06;
    q = q * r + 2.4801493134905762e-05;
    q = q * r + 0.00019841269504152769;
    q = q * r + 0.0013888888943585217;
    q = q * r + 0.0083333333334956929;
    q = q * r + 0.041666666666530384;
    q = q * r + 0.1666666666666641;
    q = q * r + 0.50000000000000111;
    const uint64_t k = stepc_bits(t) - 0x4338000000000000u;
    const double base = 1.0 - stepc_select(n > 128.0, 0.0, stepc_from_bits((1023u - k) << 52));
    const double sum = base + r;
    const double y = sum + (((base - sum) + r) + (r * r * q + r_rest));
    return stepc_copysign(stepc_scale(y, k + 2046u), x);
}

/* ---- log ------------------------------------------------------------------- */

/* log(1 + f) - f for 1 + f in [sqrt(1/2), sqrt(2)). */
static STEPC_FAST_INLINE float stepc_log_restf(float f)
{
    float q = 6.91823587e-2f;
    q = q * f - 1.17899850e-1f;
    q = q * f + 1.18716523e-1f;
    q = q * f - 1.23842351e-1f;
    q = q * f + 1.42188489e-1f;
    q = q * f - 1.66692629e-1f;
    q = q * f + 2.00022161e-1f;
    q = q * f - 2.49999866e-1f;
    q = q * f + 3.33333105e-1f;
    return f * f * (f * q - 0.5f);
}

/* With s = f / (2 + f): log(1 + f) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + R(s^2)). */
static STEPC_FAST_INLINE double stepc_log_rest(double f)
{
    const double s = f / (2.0 + f);
    const double z = s * s;
    const double half = 0.5 * f * f;
    double q = 0.1324704470818244;
    q = q * z + 0.13250641413738204;
    q = q * z + 0.15387064632007968;
    q = q * z + 0.18181776350008452;
    q = q * z + 0.2222222263676514;
    q = q * z + 0.28571428569166607;
    q = q * z + 0.40000000000005925;
    q = q * z + 0.66666666666666663;
    return s * (half + z * q) - half;
}

/* log(x) = e ln 2 + log(1 + f), x = 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). Subnormals are scaled first. */
static STEPC_FAST_INLINE float stepc_logf(float x)
{
    const int subnormal = x < 1.17549435e-38f;
    const float y = stepc_selectf(subnormal, x * 8388608.0f, x);
    const float bias = subnormal ? 8388758.0f : 8388735.0f;                /* 2^23 + 127, + 23 */
    const uint32_t u = stepc_bitsf(y) + 0x004AFB0Du;                       /* the bits of 1 less those of sqrt(1/2) */
    const float e = stepc_from_bitsf(0x4B000000u | (u >> 23)) - bias;
    const float f = stepc_from_bitsf((u & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
    const float value = e * 0.693359375f + (f + (stepc_log_restf(f) + e * -2.12194440e-4f));
    const float other = stepc_from_bitsf(x == 0.0f ? 0xFF800000u : 0x7FC00000u);
    const float finite = stepc_selectf(x > 0.0f, value, other);
    return stepc_selectf(x < stepc_from_bitsf(0x7F800000u), finite, x);    /* infinity and NaN are their own */
}

static STEPC_FAST_INLINE double stepc_log(double x)
{
    const int subnormal = x < stepc_from_bits(0x0010000000000000u);
    const double y = stepc_select(subnormal, x * 4503599627370496.0, x);
    const double bias = subnormal ? 4503599627371571.0 : 4503599627371519.0;       /* 2^52 + 1023, + 52 */
    const uint64_t u = stepc_bits(y) + 0x00095F619980C433u;
    const double e = stepc_from_bits(0x4330000000000000u | (u >> 52)) - bias;
    const double f = stepc_from_bits((u & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    const double value = e * 6.93147180369123816490e-01 + (f + (stepc_log_rest(f) + e * 1.90821492927058770002e-10));
    const double other = stepc_from_bits(x == 0.0 ? 0xFFF0000000000000u : 0x7FF8000000000000u);
    const double finite = stepc_select(x > 0.0, value, other);
    return stepc_select(x < stepc_from_bits(0x7FF0000000000000u), finite, x);
}

/* log(1 + x): as log where 1 + x leaves [sqrt(1/2), sqrt(2)), plus what 1 + x lost in rounding; within, f = x. */
static STEPC_FAST_INLINE float stepc_log1pf(float x)
{
    const float y = 1.0f + x;
    const uint32_t u = stepc_bitsf(y) + 0x004AFB0Du;
    const float e = stepc_from_bitsf(0x4B000000u | (u >> 23)) - 8388735.0f;
    const float m = stepc_from_bitsf((u & 0x007FFFFFu) + 0x3F3504F3u) - 1.0f;
    const float lost = stepc_selectf(x < 1.0f, x - (y - 1.0f), 1.0f - (y - x)) / y;
    const float f = stepc_selectf(e == 0.0f, x, m);
    const float more = stepc_selectf(e == 0.0f, 0.0f, lost);
    const float value = e * 0.693359375f + (f + (stepc_log_restf(f) + (e * -2.12194440e-4f + more)));
    const float other = stepc_from_bitsf(x == -1.0f ? 0xFF800000u : 0x7FC00000u);
    const float finite = stepc_selectf(x > -1.0f, stepc_copysignf(value, x), other);
    return stepc_selectf(x < stepc_from_bitsf(0x7F800000u), finite, x);
}

static STEPC_FAST_INLINE double stepc_log1p(double x)
{
    const double y = 1.0 + x;
    const uint64_t u = stepc_bits(y) + 0x00095F619980C433u;
    const double e = stepc_from_bits(0x4330000000000000u | (u >> 52)) - 4503599627371519.0;
    const double m = stepc_from_bits((u & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu) - 1.0;
    const double lost = stepc_select(x < 1.0, x - (y - 1.0), 1.0 - (y - x)) / y;
    const double f = stepc_select(e == 0.0, x, m);
    const double more = stepc_select(e == 0.0, 0.0, lost);
    const double value = e * 6.93147180369123816490e-01 +
                         (f + (stepc_log_rest(f) + (e * 1.90821492927058770002e-10 + more)));
    const double other = stepc_from_bits(x == -1.0 ? 0xFFF0000000000000u : 0x7FF8000000000000u);
    const double finite = stepc_select(x > -1.0, stepc_copysign(value, x), other);
    return stepc_select(x < stepc_from_bits(0x7FF0000000000000u), finite, x);
}

/* log(1 + exp(x)) without overflow, and without loss where exp(x) is small. */
static inline float stepc_softplusf(float x)
{
    const float tail = stepc_log1pf(stepc_expf(-stepc_fabsf(x)));
    return stepc_selectf(x > 0.0f, x, 0.0f) + tail;
}

static inline double stepc_softplus(double x)
{
    const double tail = stepc_log1p(stepc_exp(-stepc_fabs(x)));
    return stepc_select(x > 0.0, x, 0.0) + tail;
}

/* ---- sqrt: correctly rounded ------------------------------------------------- */

/* Digit by digit in integers: 25 binary digits of the root of a significand in [1, 4), the last one decides the
 * rounding (no root lies half-way). For machines without the instruction, where integers are what is fast. */
static STEPC_FAST_INLINE float stepc_sqrt_softf(float x)
{
    const uint32_t u = stepc_bitsf(x < 1.17549435e-38f ? x * 16777216.0f : x);
    const uint32_t half_scale = x < 1.17549435e-38f ? 14u : 2u;             /* half of 24, + 2 */
    const uint32_t e = u >> 23;
    uint32_t rest = ((u & 0x007FFFFFu) | 0x00800000u) << (2u - (e & 1u));   /* an odd exponent gives a bit to it */
    uint32_t root = 0, twice = 0;
    for (uint32_t bit = 0x01000000u; bit != 0; bit >>= 1) {
        const uint32_t take = twice + bit <= rest ? 0xFFFFFFFFu : 0u;
        rest = (rest - ((twice + bit) & take)) << 1;
        twice += (bit << 1) & take;
        root += bit & take;
    }
    const float y = stepc_from_bitsf(((root + 1u) >> 1) + ((((e + 129u) >> 1) - half_scale) << 23));
    const float special = x < 0.0f ? stepc_from_bitsf(0x7FC00000u) : x;
    return x > 0.0f && x < stepc_from_bitsf(0x7F800000u) ? y : special;
}

static STEPC_FAST_INLINE double stepc_sqrt_soft(double x)
{
    const uint64_t u = stepc_bits(x < stepc_from_bits(0x0010000000000000u) ? x * 18014398509481984.0 : x);
    const uint64_t half_scale = x < stepc_from_bits(0x0010000000000000u) ? 29u : 2u;     /* half of 54, + 2 */
    const uint64_t e = u >> 52;
    uint64_t rest = ((u & 0x000FFFFFFFFFFFFFu) | 0x0010000000000000u) << (2u - (e & 1u));
    uint64_t root = 0, twice = 0;
    for (uint64_t bit = 0x0020000000000000u; bit != 0; bit >>= 1) {
        const uint64_t take = twice + bit <= rest ? 0xFFFFFFFFFFFFFFFFu : 0u;
        rest = (rest - ((twice + bit) & take)) << 1;
        twice += (bit << 1) & take;
        root += bit & take;
    }
    const double y = stepc_from_bits(((root + 1u) >> 1) + ((((e + 1025u) >> 1) - half_scale) << 52));
    const double special = x < 0.0 ? stepc_from_bits(0x7FF8000000000000u) : x;
    return x > 0.0 && x < stepc_from_bits(0x7FF0000000000000u) ? y : special;
}

/* The instruction where there is one: sqrtf, declared without side effects, sets no errno and is no call of libm. */
/* Why: gcc and clang then emit the bare (vector) instruction, without -fno-math-errno. */
static STEPC_FAST_INLINE float stepc_sqrtf(float x)
{
#if defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 4)
    float y;
    (void)stepc_sqrt_softf; /* named in every branch: no compiler calls it unused */
    __asm__("vsqrt.f32 %0, %1" : "=t"(y) : "t"(x));
    return y;
#elif defined(__GNUC__) && defined(__OPTIMIZE__) && __STDC_HOSTED__ && \
      (defined(__SSE2__) || defined(__aarch64__) || defined(__riscv_fsqrt))
    extern float sqrtf(float) __attribute__((__const__));
    (void)stepc_sqrt_softf;
    return sqrtf(x);
#else
    return stepc_sqrt_softf(x);
#endif
}

/* a / b for b from 1e-30, at most 2 ULP; not part of the contract (not with --reproducible). Where vectors are large, 1
 * / b is computed by multiplications: a first guess with the exponent negated (5 % off), then a cubic step and a Newton
 * step. Above 2e37 b is taken as infinity, the only such value that a root gives. */
/* Why: loops that take a root and divide by it wait for one divider, while the multipliers have nothing to do (AVX-512:
 * Adam takes 0.62 of the time; processors of AMD divide as fast). */
static STEPC_FAST_INLINE float stepc_quotientf(float a, float b)
{
#if defined(__GNUC__) && defined(__OPTIMIZE__) && __STDC_HOSTED__ && defined(__AVX512F__) && defined(__FMA__) && \
    !defined(STEPC_AMD)
    extern float fmaf(float, float, float) __attribute__((__const__));
    const float d = 2e37f < b ? 2e37f : b; /* a NaN stays */
    const float y = stepc_from_bitsf(0x7EF311C3u - stepc_bitsf(d)), e = fmaf(-d, y, 1.0f);
    const float z = fmaf(y, fmaf(e, e, e), y);
    return a * fmaf(z, fmaf(-d, z, 1.0f), z);
#else
    return a / b;
#endif
}

static STEPC_FAST_INLINE double stepc_sqrt(double x)
{
#if defined(__GNUC__) && defined(__arm__) && defined(__ARM_FP) && (__ARM_FP & 8)
    double y;
    (void)stepc_sqrt_soft;
    __asm__("vsqrt.f64 %P0, %P1" : "=w"(y) : "w"(x));
    return y;
#elif defined(__GNUC__) && defined(__OPTIMIZE__) && __STDC_HOSTED__ && \
      (defined(__SSE2__) || defined(__aarch64__) || (defined(__riscv_fsqrt) && __riscv_flen >= 64))
    extern double sqrt(double) __attribute__((__const__));
    (void)stepc_sqrt_soft;
    return sqrt(x);
#else
    return stepc_sqrt_soft(x);
#endif
}

/* ---- tanh and the logistic function ----------------------------------------- */

/* x + x^3 P(x^2) near 0, else 1 - 2 / (exp(2x) + 1); both are computed, one is taken. */
static STEPC_FAST_INLINE float stepc_tanhf(float x)
{
    const float a = stepc_fabsf(x);
    const float z = a * a;
    float p = 2.14454858e-3f;
    p = p * z - 8.17959942e-3f;
    p = p * z + 2.17018109e-2f;
    p = p * z - 5.39470129e-2f;
    p = p * z + 1.33332089e-1f;
    p = p * z - 3.33333313e-1f;
    const float inner = a + a * z * p;
    const float outer = 1.0f - 2.0f / (stepc_expf(2.0f * a) + 1.0f);
    return stepc_copysignf(stepc_selectf(a < 0.625f, inner, outer), x);
}

static STEPC_FAST_INLINE double stepc_tanh(double x)
{
    const double a = stepc_fabs(x);
    const double z = a * a;
    double p = 6.039285935581302e-06;
    p = p * z - 3.0181642380641757e-05;
    p = p * z + 9.1554633697346711e-05;
    p = p * z - 0.00023701065699740736;
    p = p * z + 0.00058945183197738711;
    p = p * z - 0.001455726064184714;
    p = p * z + 0.0035921140369090452;
    p = p * z - 0.0088632343185460448;
    p = p * z + 0.021869488469259624;
    p = p * z - 0.053968253966086288;
    p = p * z + 0.13333333333329811;
    p = p * z - 0.33333333333333315;
    const double inner = a + a * z * p;
    const double outer = 1.0 - 2.0 / (stepc_exp(2.0 * a) + 1.0);
    return stepc_copysign(stepc_select(a < 0.625, inner, outer), x);
}

/* 1 / (1 + exp(-x)), for negative x as exp(x) / (1 + exp(x)): nothing overflows. */
static inline float stepc_sigmoidf(float x)
{
    const float z = stepc_expf(-stepc_fabsf(x));
    const float p = 1.0f / (1.0f + z), n = z / (1.0f + z);
    return stepc_selectf(x < 0.0f, stepc_selectf(z < 0.25f, z - z * n, n), p);
}

static inline double stepc_sigmoid(double x)
{
    const double z = stepc_exp(-stepc_fabs(x));
    const double p = 1.0 / (1.0 + z), n = z / (1.0 + z);
    return stepc_select(x < 0.0, stepc_select(z < 0.25, z - z * n, n), p);
}

/* ---- pow ------------------------------------------------------------------- */

/* 2^(y log2 x), the logarithm and its product with y as sums of two numbers, with twice the precision together:
 * "_h" is the larger part with half the bits, so that products of such parts are exact, "_l" the rest.
 *
 *   |x| = 2^e m, s = (m - 1) / (m + 1), t = s^2, q = t (1/3 + t (1/5 + ...)), log2 m = 2 / ln 2 (s + s q)
 *
 * Special cases are those of IEEE 754-2008: pow(x, 0) = pow(1, y) = 1 even for NaN. */
static STEPC_LOOP_INLINE float stepc_powf(float x, float y)
{
    const float inf = stepc_from_bitsf(0x7F800000u);
    const float ax = stepc_fabsf(x), ay = stepc_fabsf(y);

    const float scaled = stepc_selectf(ax < 1.17549435e-38f, ax * 8388608.0f, ax);
    const float bias = ax < 1.17549435e-38f ? 8388758.0f : 8388735.0f;
    const uint32_t u = stepc_bitsf(scaled) + 0x004AFB0Du;
    const float e = stepc_from_bitsf(0x4B000000u | (u >> 23)) - bias;
    const float m = stepc_from_bitsf((u & 0x007FFFFFu) + 0x3F3504F3u);

    const float f = m - 1.0f;
    const float d = m + 1.0f;
    const float d_h = stepc_upperf(d), d_l = m - (d_h - 1.0f);
    const float r = 1.0f / d;
    const float s = f * r;
    const float s_h = stepc_upperf(s), s_l = ((f - s_h * d_h) - s_h * d_l) * r;
    const float t = s_h * s_h, t_rest = s_l * (s_h + s);
    const float t_h = stepc_upperf(t), t_l = (t - t_h) + t_rest;
    const float t_all = t + t_rest;

    float p = 9.73446369e-2f;                              /* 1/5 + t/7 + ... */
    p = p * t_all + 1.10924773e-1f;
    p = p * t_all + 1.42859370e-1f;
    p = p * t_all + 1.99999988e-1f;
    const float w = t_all * p;
    const float c_h = stepc_upperf(0.333333343f + w);
    const float c_l = (0.333333343f - c_h) + (w - 9.93410776e-9f);         /* 1/3 less its float */
    const float q = t_h * c_h, q_rest = t_h * c_l + t_l * (c_h + c_l);
    const float q_h = stepc_upperf(q), q_l = (q - q_h) + q_rest;
    const float sum = s_h + s_h * q_h;
    const float sum_rest = ((s_h - sum) + s_h * q_h) + (s_l + (s_l * (q_h + q_l) + s_h * q_l));

    /* 2 / ln 2 = 2.88476562 + 6.24456792e-4 */
    const float sum_h = stepc_upperf(sum), sum_l = (sum - sum_h) + sum_rest;
    const float g = sum_h * 2.88476562f, g_rest = sum_h * 6.24456792e-4f + sum_l * 2.88539004f;
    const float lg = e + g, lg_rest = ((e - lg) + g) + g_rest;

    /* Beyond 2^34 every y makes 0, 1 or infinity, as 2^34 does. */
    const float cut = stepc_selectf(ay > 17179869184.0f, stepc_copysignf(17179869184.0f, y), y);
    const float y_h = stepc_upperf(cut), y_l = cut - y_h;
    const float lg_h = stepc_upperf(lg), lg_l = (lg - lg_h) + lg_rest;
    const float product = y_h * lg_h, product_rest = y_l * lg_h + cut * lg_l;
    const float power = product + product_rest;
    const int outside = stepc_fabsf(power) > 200.0f;
    const float a = stepc_selectf(outside, stepc_copysignf(200.0f, power), product);
    const float a_rest = stepc_selectf(outside, 0.0f, product_rest);

    const float shifted = (a + a_rest) + 12582912.0f;
    const float n = shifted - 12582912.0f;
    const float b = (a - n) + a_rest;
    const float b_h = stepc_upperf(b), b_l = ((a - n) - b_h) + a_rest;
    const float v = b_h * 0.693115234f, v_rest = b_h * 3.19461833e-5f + b_l * 0.693147182f;
    const float z = v + v_rest, z_rest = (v - z) + v_rest;
    float k = 1.97898597e-4f;                              /* as in stepc_expf */
    k = k * z + 1.39448466e-3f;
    k = k * z + 8.33349861e-3f;
    k = k * z + 4.16662917e-2f;
    k = k * z + 1.66666657e-1f;
    k = k * z + 0.5f;
    const float one_z = 1.0f + z;
    const float power2 = one_z + (((1.0f - one_z) + z) + (z * z * k + z_rest));
    const float plain = stepc_scalef(power2, stepc_bitsf(shifted) - 0x4B400000u + 254u);

    const float at_zero = y < 0.0f ? inf : 0.0f;
    const float at_inf = y < 0.0f ? 0.0f : inf;
    const float magnitude = stepc_selectf(ax == 0.0f, at_zero, stepc_selectf(ax == inf, at_inf, plain));

    /* Adding 2^23 rounds to an integer; from 2^23 on everything is one, from 2^24 on an even one. */
    const float half = 0.5f * ay;
    const float big = 8388608.0f;
    const uint32_t integer = (uint32_t)(ay >= big) | (uint32_t)((ay + big) - big == ay);
    const uint32_t even = (uint32_t)(half >= big) | (uint32_t)((half + big) - big == half);
    const uint32_t negative = stepc_bitsf(x) >> 31;
    const float with_sign = stepc_from_bitsf(stepc_bitsf(magnitude) | (negative & integer & (even ^ 1u)) << 31);
    const uint32_t undefined = (negative & (integer ^ 1u) & (uint32_t)((ax < inf) & (ax > 0.0f))) |
                               (uint32_t)(x != x) | (uint32_t)(y != y);
    const float result = stepc_selectf((int)undefined, stepc_from_bitsf(0x7FC00000u), with_sign);
    return stepc_selectf((y == 0.0f) | (x == 1.0f), 1.0f, result);
}

static STEPC_FAST_INLINE double stepc_pow(double x, double y)
{
    const double inf = stepc_from_bits(0x7FF0000000000000u);
    const double ax = stepc_fabs(x), ay = stepc_fabs(y);

    const double scaled = stepc_select(ax < stepc_from_bits(0x0010000000000000u), ax * 4503599627370496.0, ax);
    const double bias = ax < stepc_from_bits(0x0010000000000000u) ? 4503599627371571.0 : 4503599627371519.0;
    const uint64_t u = stepc_bits(scaled) + 0x00095F619980C433u;
    const double e = stepc_from_bits(0x4330000000000000u | (u >> 52)) - bias;
    const double m = stepc_from_bits((u & 0x000FFFFFFFFFFFFFu) + 0x3FE6A09E667F3BCDu);

    const double f = m - 1.0;
    const double d = m + 1.0;
    const double d_h = stepc_upper(d), d_l = m - (d_h - 1.0);
    const double r = 1.0 / d;
    const double s = f * r;
    const double s_h = stepc_upper(s), s_l = ((f - s_h * d_h) - s_h * d_l) * r;
    const double t = s_h * s_h, t_rest = s_l * (s_h + s);
    const double t_h = stepc_upper(t), t_l = (t - t_h) + t_rest;
    const double t_all = t + t_rest;

    double p = 0.05506113358011764;                    /* 1/5 + t/7 + ... */
    p = p * t_all + 0.052115330877664318;
    p = p * t_all + 0.058843317658574451;
    p = p * t_all + 0.066666203971340779;
    p = p * t_all + 0.076923083728552291;
    p = p * t_all + 0.090909090846743382;
    p = p * t_all + 0.11111111111144929;
    p = p * t_all + 0.14285714285714191;
    p = p * t_all + 0.20000000000000001;
    const double w = t_all * p;
    const double c_h = stepc_upper(0.33333333333333331 + w);
    const double c_l = (0.33333333333333331 - c_h) + (w + 1.8503717077085941e-17);         /* 1/3 less its double */
    const double q = t_h * c_h, q_rest = t_h * c_l + t_l * (c_h + c_l);
    const double q_h = stepc_upper(q), q_l = (q - q_h) + q_rest;
    const double sum = s_h + s_h * q_h;
    const double sum_rest = ((s_h - sum) + s_h * q_h) + (s_l + (s_l * (q_h + q_l) + s_h * q_l));

    /* 2 / ln 2 = 2.885390043258667 + 3.8519259822532349e-08 */
    const double sum_h = stepc_upper(sum), sum_l = (sum - sum_h) + sum_rest;
    const double g = sum_h * 2.885390043258667, g_rest = sum_h * 3.8519259822532349e-08 + sum_l * 2.8853900817779268;
    const double lg = e + g, lg_rest = ((e - lg) + g) + g_rest;

    /* Beyond 2^66 every y makes 0, 1 or infinity, as 2^66 does. */
    const double cut = stepc_select(ay > 73786976294838206464.0, stepc_copysign(73786976294838206464.0, y), y);
    const double y_h = stepc_upper(cut), y_l = cut - y_h;
    const double lg_h = stepc_upper(lg), lg_l = (lg - lg_h) + lg_rest;
    const double product = y_h * lg_h, product_rest = y_l * lg_h + cut * lg_l;
    const double power = product + product_rest;
    const int outside = stepc_fabs(power) > 1200.0;
    const double a = stepc_select(outside, stepc_copysign(1200.0, power), product);
    const double a_rest = stepc_select(outside, 0.0, product_rest);

    const double shifted = (a + a_rest) + 6755399441055744.0;
    const double n = shifted - 6755399441055744.0;
    const double b = (a - n) + a_rest;
    const double b_h = stepc_upper(b), b_l = ((a - n) - b_h) + a_rest;
    const double v = b_h * 0.69314716756343842, v_rest = b_h * 1.2996506893889889e-08 + b_l * 0.69314718055994529;
    const double z = v + v_rest, z_rest = (v - z) + v_rest;
    double k = 2.4999499621394227e-08;                  /* as in stepc_exp */
    k = k * z + 2.7630238328050107e-07;
    k = k * z + 2.7557588334430969e-06;
    k = k * z + 2.4801493134905762e-05;
    k = k * z + 0.00019841269504152769;
    k = k * z + 0.0013888888943585217;
    k = k * z + 0.0083333333334956929;
    k = k * z + 0.041666666666530384;
    k = k * z + 0.1666666666666641;
    k = k * z + 0.50000000000000111;
    const double one_z = 1.0 + z;
    const double power2 = one_z + (((1.0 - one_z) + z) + (z * z * k + z_rest));
    const double plain = stepc_scale(power2, stepc_bits(shifted) - 0x4338000000000000u + 2046u);

    const double at_zero = y < 0.0 ? inf : 0.0;
    const double at_inf = y < 0.0 ? 0.0 : inf;
    const double magnitude = stepc_select(ax == 0.0, at_zero, stepc_select(ax == inf, at_inf, plain));

    /* Adding 2^52 rounds to an integer; from 2^52 on everything is one, from 2^53 on an even one. */
    const double half = 0.5 * ay;
    const double big = 4503599627370496.0;
    const uint64_t integer = (uint64_t)(ay >= big) | (uint64_t)((ay + big) - big == ay);
    const uint64_t even = (uint64_t)(half >= big) | (uint64_t)((half + big) - big == half);
    const uint64_t negative = stepc_bits(x) >> 63;
    const double with_sign = stepc_from_bits(stepc_bits(magnitude) | (negative & integer & (even ^ 1u)) << 63);
    const uint64_t undefined = (negative & (integer ^ 1u) & (uint64_t)((ax < inf) & (ax > 0.0))) |
                               (uint64_t)(x != x) | (uint64_t)(y != y);
    const double result = stepc_select((int)undefined, stepc_from_bits(0x7FF8000000000000u), with_sign);
    return stepc_select((y == 0.0) | (x == 1.0), 1.0, result);
}

/* ---- erf -------------------------------------------------------------------- */

/* 1 - exp(-Q), Q = -log(1 - erf(a)) = a + a P(a) up to 4, where nothing is missing from 1: one formula for all
 * arguments. -Q = r + n ln 2, and exp(r) - 1 = r + r^2 (1/2 + ...). Both polynomials are added in pairs: elements side
 * by side wait for their longest chain. */
static STEPC_FAST_INLINE float stepc_erff(float x)
{
    const float a = stepc_fabsf(x);
    const float c = stepc_selectf(a > 4.0f, 4.0f, a);
    const float c_2 = c * c;
    const float c_4 = c_2 * c_2;
    const float p_0 = (0.102776304f - 0.0191478245f * c) * c_2 + (0.128379166f + 0.636619568f * c);
    const float p_4 = (0.000118854892f * c - 0.00063734717f) * c_2 + (0.00167565746f * c - 0.000169494262f);
    const float excess = c * ((p_4 - 9.38701305e-06f * c_4) * c_4 + p_0);
    const float y = c + excess;
    const float y_rest = (c - y) + excess;

    const float t = y * -1.44269504f + 12582912.0f;
    const float n = t - 12582912.0f;
    const float r = (-y - n * 0.693359375f) - n * -2.12194440e-4f;
    const float r_2 = r * r;
    const float q = ((1.99450660e-4f * r + 1.39326637e-3f) * r_2 + (8.33320711e-3f * r + 4.16664891e-2f)) * r_2 +
                    (1.66666672e-1f * r + 0.5f);
    const float m = r + (r_2 * q - y_rest);
    const float scale = stepc_from_bitsf((stepc_bitsf(t) - 0x4B400000u + 127u) << 23);
    return stepc_copysignf((1.0f - scale) - scale * m, x);
}

/* x + x P(x^2) near 0, else 1 - exp(-Q(|x|)); both are computed, one is taken. */
static STEPC_FAST_INLINE double stepc_erf(double x)
{
    const double a = stepc_fabs(x);
    const double z = a * a;
    double p = 6.3808709943662165e-11;
    p = p * z - 1.159805884617889e-09;
    p = p * z + 1.4712167193413148e-08;
    p = p * z - 1.6357315660087767e-07;
    p = p * z + 1.6461594070651629e-06;
    p = p * z - 1.492562848950397e-05;
    p = p * z + 0.00012055332351337452;
    p = p * z - 0.00085483270112567307;
    p = p * z + 0.0052239776252906789;
    p = p * z - 0.026866170645120042;
    p = p * z + 0.11283791670955083;
    p = p * z - 0.37612638903183754;
    p = p * z + 0.12837916709551259;
    const double inner = a + a * p;
    const double c = stepc_select(a > 6.0, 6.0, a);
    double q = -1.2808962198813447e-12;
    q = q * c + 5.7586815503878655e-11;
    q = q * c - 1.2122009109229159e-09;
    q = q * c + 1.5861152443021215e-08;
    q = q * c - 1.4425598645857371e-07;
    q = q * c + 9.6390537188507055e-07;
    q = q * c - 4.8550146597401789e-06;
    q = q * c + 1.8431765653851189e-05;
    q = q * c - 5.054388775105105e-05;
    q = q * c + 8.2957667840510892e-05;
    q = q * c + 2.1838943808670445e-05;
    q = q * c - 0.00060775742478086359;
    q = q * c + 0.0017305897166916854;
    q = q * c - 0.0002460480371559199;
    q = q * c - 0.019101716832310611;
    q = q * c + 0.10275912088865662;
    q = q * c + 0.63662434264747136;
    q = q * c + 1.1283782258684012;
    q = q * c + 8.9276739703721344e-08;
    const double outer = 1.0 - stepc_exp(-q);
    return stepc_copysign(stepc_select(a < 0.921875, inner, outer), x);
}

#endif
