/* runtime/stepc_math.h, stepc_trigonometry.h, stepc_hyperbolic.h, stepc_rounding.h, stepc_integer.h, stepc_random.h:
 * accuracy against libm of twice the precision, special cases, the same bits everywhere. `unit_math --exhaustive
 * [NAME]` tries every float (minutes for each function) and many more doubles, and prints the errors that
 * docs/numerics-functions.md states. */
#include "math_hash.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

float math_quotient(float a, float b); /* math_quotient.c */

#define COUNT(array) ((int)(sizeof(array) / sizeof(array)[0]))

static bool exhaustive;

/* Sanitizers look at where functions go, not at how accurate they are: one point in so many. */
enum { THINNED = SANITIZED ? 10 : 1 };

/* ---- references -------------------------------------------------------------- */

static double sigmoid_reference(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double softplus_reference(double x)
{
    return x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

/* Reduced exactly, as pi is not. */
static double sin2pi_reference(double u)
{
    const double quarters = rint(4.0 * u), d = (4.0 * u - quarters) * 1.5707963267948966;
    const double y = fmod(quarters, 2.0) == 0.0 ? sin(d) : cos(d);
    return fmod(fmod(quarters, 4.0) + 4.0, 4.0) >= 2.0 ? -y : y;
}

static double cos2pi_reference(double u)
{
    return sin2pi_reference(u + 0.25);
}

static long double sigmoid_long(long double x)
{
    return 1.0L / (1.0L + expl(-x));
}

static long double softplus_long(long double x)
{
    return x > 0.0L ? x + log1pl(expl(-x)) : log1pl(expl(x));
}

static long double sin2pi_long(long double u)
{
    const long double quarters = rintl(4.0L * u), d = (4.0L * u - quarters) * 1.57079632679489661923L;
    const long double y = fmodl(quarters, 2.0L) == 0.0L ? sinl(d) : cosl(d);
    return fmodl(fmodl(quarters, 4.0L) + 4.0L, 4.0L) >= 2.0L ? -y : y;
}

static long double cos2pi_long(long double u)
{
    return sin2pi_long(u + 0.25L);
}

/* ---- errors in units of the last place ----------------------------------------- */

/* Infinity counts as the first number that is too large. */
static long double clamped(long double x, int max_exponent)
{
    const long double limit = ldexpl(1.0L, max_exponent);
    return x > limit ? limit : x < -limit ? -limit : x;
}

static double ulps(long double got, long double want, int digits, int min_exponent, int max_exponent)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got) ? 0.0 : HUGE_VAL;
    if (isinf(want))
        return got == want ? 0.0 : HUGE_VAL;
    int e = 0;
    frexpl(want, &e);
    if (want == 0.0L || e < min_exponent)
        e = min_exponent;
    const long double error = clamped(got, max_exponent) - clamped(want, max_exponent);
    return (double)(fabsl(error) / ldexpl(1.0L, e - digits));
}

/* The same for float and quick: an exhaustive run needs it 2^32 times. */
static double ulpsf(float got, double want)
{
    if ((double)got == want)
        return 0.0;
    if (isnan(want) || isnan(got) || isinf(want))
        return isnan(want) && isnan(got) ? 0.0 : HUGE_VAL;
    const double limit = 0x1p128, y = fmin(fmax((double)got, -limit), limit), r = fmin(fmax(want, -limit), limit);
    const uint64_t exponent = stepc_bits(r) >> 52 & 0x7FFu, least = 1023u - 126u, most = 1023u + 127u;
    const uint64_t e = exponent < least ? least : exponent > most ? most : exponent;
    return fabs(y - r) * stepc_from_bits((2046u + 23u - e) << 52);
}

/* ---- float functions, one operand ---------------------------------------------- */

struct float_case {
    const char *name;
    math_float_function *function;
    math_double_function *reference;
    double max_ulps;        /* measured over all floats of the domain, rounded up */
    float low, high;        /* the domain; infinities and NaN belong to a domain up to infinity */
};

static const struct float_case float_cases[] = {
    {"expf", stepc_expf, exp, 0.77, -INFINITY, INFINITY},
    {"expm1f", stepc_expm1f, expm1, 1.06, -INFINITY, INFINITY},
    {"logf", stepc_logf, log, 0.91, -INFINITY, INFINITY},
    {"log1pf", stepc_log1pf, log1p, 0.92, -INFINITY, INFINITY},
    {"softplusf", stepc_softplusf, softplus_reference, 1.58, -INFINITY, INFINITY},
    {"sqrtf", stepc_sqrtf, sqrt, 0.5, -INFINITY, INFINITY},
    {"sqrt_softf", stepc_sqrt_softf, sqrt, 0.5, -INFINITY, INFINITY},
    {"tanhf", stepc_tanhf, tanh, 1.34, -INFINITY, INFINITY},
    {"sigmoidf", stepc_sigmoidf, sigmoid_reference, 1.85, -INFINITY, INFINITY},
    {"erff", stepc_erff, erf, 1.60, -INFINITY, INFINITY},
    {"sinf", stepc_sinf, sin, 1.08, -INFINITY, INFINITY},
    {"cosf", stepc_cosf, cos, 1.08, -INFINITY, INFINITY},
    {"tanf", stepc_tanf, tan, 1.26, -INFINITY, INFINITY},
    {"asinf", stepc_asinf, asin, 1.17, -INFINITY, INFINITY},
    {"acosf", stepc_acosf, acos, 1.16, -INFINITY, INFINITY},
    {"atanf", stepc_atanf, atan, 1.89, -INFINITY, INFINITY},
    {"sinhf", stepc_sinhf, sinh, 1.60, -INFINITY, INFINITY},
    {"coshf", stepc_coshf, cosh, 1.14, -INFINITY, INFINITY},
    {"asinhf", stepc_asinhf, asinh, 0.84, -INFINITY, INFINITY},
    {"acoshf", stepc_acoshf, acosh, 1.52, -INFINITY, INFINITY},
    {"atanhf", stepc_atanhf, atanh, 0.74, -INFINITY, INFINITY},
    {"sin2pif", stepc_sin2pif, sin2pi_reference, 1.63, -524288.0f, 524288.0f},
    {"cos2pif", stepc_cos2pif, cos2pi_reference, 1.63, -524288.0f, 524288.0f},
    {"rintf", stepc_rintf, rint, 0.0, -INFINITY, INFINITY},
    {"truncf", stepc_truncf, trunc, 0.0, -INFINITY, INFINITY},
    {"floorf", stepc_floorf, floor, 0.0, -INFINITY, INFINITY},
    {"ceilf", stepc_ceilf, ceil, 0.0, -INFINITY, INFINITY},
};

/* The largest error, at *at. A prime stride reaches every exponent. */
static double measure(const struct float_case *c, float *at)
{
    const uint64_t stride = exhaustive ? 1u : 21013u * THINNED;
    double worst = 0.0;
    *at = 0.0f;
    for (uint64_t u = 0; u <= 0xFFFFFFFFu; u += stride) {
        const float x = stepc_from_bitsf((uint32_t)u);
        if (x < c->low || x > c->high || (isnan(x) && !isinf(c->high)))
            continue;
        const double error = ulpsf(c->function(x), c->reference((double)x));
        if (error > worst) {
            worst = error;
            *at = x;
        }
    }
    if (exhaustive)
        printf("%-12s %.4f ulp at %a\n", c->name, worst, (double)*at);
    fflush(stdout);
    return worst;
}

START_TEST(float_function_is_accurate)
{
    const struct float_case *c = &float_cases[_i];
    float at;
    const double worst = measure(c, &at);
    ck_assert_msg(worst <= c->max_ulps, "%s(%a) is off by %g ulp", c->name, (double)at, worst);
}
END_TEST

/* ---- double functions, one operand --------------------------------------------- */

static uint64_t random_word(uint64_t i, uint32_t stream)
{
    uint32_t word[4];
    stepc_philox(20u, i, stream, 0u, word);
    return (uint64_t)word[0] << 32 | word[1];
}

static double random_between(uint64_t i, uint32_t stream, double low, double high)
{
    return low + (high - low) * ((double)(random_word(i, stream) >> 11) * 0x1p-53);
}

struct double_case {
    const char *name;
    math_double_function *function;
    long double (*reference)(long double);
    double max_ulps;
    double low, high;       /* points are spread evenly; between infinities: random bits */
};

static const struct double_case double_cases[] = {
    {"exp", stepc_exp, expl, 0.9, -750.0, 715.0},
    {"exp", stepc_exp, expl, 0.9, -1.0, 1.0},
    {"expm1", stepc_expm1, expm1l, 1.4, -60.0, 715.0},
    {"expm1", stepc_expm1, expm1l, 1.4, -2.0, 2.0},
    {"log", stepc_log, logl, 1.0, -INFINITY, INFINITY},
    {"log", stepc_log, logl, 1.0, 0.5, 2.0},
    {"log1p", stepc_log1p, log1pl, 1.0, -INFINITY, INFINITY},
    {"log1p", stepc_log1p, log1pl, 1.0, -1.0, 3.0},
    {"softplus", stepc_softplus, softplus_long, 1.7, -760.0, 760.0},
    {"softplus", stepc_softplus, softplus_long, 1.7, -5.0, 5.0},
    {"sqrt", stepc_sqrt, sqrtl, 0.5, -INFINITY, INFINITY},
    {"sqrt_soft", stepc_sqrt_soft, sqrtl, 0.5, -INFINITY, INFINITY},
    {"tanh", stepc_tanh, tanhl, 1.5, -25.0, 25.0},
    {"tanh", stepc_tanh, tanhl, 1.5, -1.0, 1.0},
    {"sigmoid", stepc_sigmoid, sigmoid_long, 2.0, -760.0, 50.0},
    {"sigmoid", stepc_sigmoid, sigmoid_long, 2.0, -5.0, 5.0},
    {"erf", stepc_erf, erfl, 1.5, -7.0, 7.0},
    {"erf", stepc_erf, erfl, 1.5, -1.5, 1.5},
    {"sin", stepc_sin, sinl, 1.0, -10.0, 10.0},
    {"sin", stepc_sin, sinl, 1.0, -INFINITY, INFINITY},
    {"cos", stepc_cos, cosl, 1.0, -10.0, 10.0},
    {"cos", stepc_cos, cosl, 1.0, -INFINITY, INFINITY},
    {"tan", stepc_tan, tanl, 1.2, -10.0, 10.0},
    {"tan", stepc_tan, tanl, 1.2, -INFINITY, INFINITY},
    {"asin", stepc_asin, asinl, 1.2, -1.0, 1.0},
    {"acos", stepc_acos, acosl, 1.2, -1.0, 1.0},
    {"atan", stepc_atan, atanl, 2.0, -4.0, 4.0},
    {"atan", stepc_atan, atanl, 2.0, -INFINITY, INFINITY},
    {"sinh", stepc_sinh, sinhl, 1.7, -715.0, 715.0},
    {"sinh", stepc_sinh, sinhl, 1.7, -2.0, 2.0},
    {"cosh", stepc_cosh, coshl, 1.2, -715.0, 715.0},
    {"cosh", stepc_cosh, coshl, 1.2, -2.0, 2.0},
    {"asinh", stepc_asinh, asinhl, 0.9, -INFINITY, INFINITY},
    {"asinh", stepc_asinh, asinhl, 0.9, -4.0, 4.0},
    {"acosh", stepc_acosh, acoshl, 1.5, 1.0, INFINITY},
    {"acosh", stepc_acosh, acoshl, 1.5, 1.0, 4.0},
    {"atanh", stepc_atanh, atanhl, 0.9, -1.0, 1.0},
    {"sin2pi", stepc_sin2pi, sin2pi_long, 1.8, 0.0, 1.0},
    {"cos2pi", stepc_cos2pi, cos2pi_long, 1.8, 0.0, 1.0},
    {"rint", stepc_rint, rintl, 0.0, -100.0, 100.0},
    {"trunc", stepc_trunc, truncl, 0.0, -100.0, 100.0},
    {"floor", stepc_floor, floorl, 0.0, -100.0, 100.0},
    {"ceil", stepc_ceil, ceill, 0.0, -INFINITY, INFINITY},
};

START_TEST(double_function_is_accurate)
{
    const struct double_case *c = &double_cases[_i];
    const uint64_t points = exhaustive ? 20000000u : 20000u / THINNED;
    double worst = 0.0, at = 0.0;
    for (uint64_t i = 0; i < points && LDBL_MANT_DIG > DBL_MANT_DIG; i++) {
        const double x = isinf(c->low) ? stepc_from_bits(random_word(i, 0u)) : random_between(i, 0u, c->low, c->high);
        const double error = ulps((long double)c->function(x), c->reference((long double)x), DBL_MANT_DIG, DBL_MIN_EXP,
                                  DBL_MAX_EXP);
        if (error > worst) {
            worst = error;
            at = x;
        }
    }
    if (exhaustive)
        printf("%-12s %.4f ulp at %a\n", c->name, worst, at);
    fflush(stdout);
    ck_assert_msg(worst <= c->max_ulps, "%s(%a) is off by %g ulp", c->name, at, worst);
}
END_TEST

/* ---- float16 and bfloat16 ----------------------------------------------------------- */

static const struct half_case {
    const char *name;
    /* of the significand; of the smallest normal number and the largest number, as in ilogb() */
    int digits, min_exponent, max_exponent;
    uint32_t infinity;                      /* bit pattern */
    float (*widen)(uint16_t h);
    uint16_t (*narrow)(float x);
} half_cases[] = {{"float16", 11, -14, 15, 0x7C00u, stepc_float16_to_float, stepc_float_to_float16},
                  {"bfloat16", 8, -126, 127, 0x7F80u, stepc_bfloat16_to_float, stepc_float_to_bfloat16}};

/* What the bits say: sign, exponent, significand. */
static double half_value(const struct half_case *c, uint32_t h)
{
    const uint32_t hidden = 1u << (c->digits - 1), magnitude = h & 0x7FFFu, exponent = magnitude / hidden,
                   low = magnitude % hidden;
    const double value = magnitude > c->infinity    ? (double)NAN
                         : magnitude == c->infinity ? (double)INFINITY
                         : exponent == 0u           ? ldexp((double)low, c->min_exponent - c->digits + 1)
                                          : ldexp((double)(low + hidden), c->min_exponent - c->digits + (int)exponent);
    return (h & 0x8000u) != 0u ? -value : value;
}

/* Nearest multiple of the last digit, ties to even. */
static double half_rounded(const struct half_case *c, float x)
{
    if (x == 0.0f || !isfinite(x))
        return (double)x;
    const int exponent = ilogb((double)x) > c->min_exponent ? ilogb((double)x) : c->min_exponent;
    const double last = ldexp(1.0, exponent - c->digits + 1), y = rint((double)x / last) * last;
    return fabs(y) >= ldexp(1.0, c->max_exponent + 1) ? copysign((double)INFINITY, y) : y;
}

static void check_narrow(const struct half_case *c, float x)
{
    const double got = (double)c->widen(c->narrow(x)), want = half_rounded(c, x);
    const bool same = isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want);
    ck_assert_msg(same, "%a as %s is %a, expected %a", (double)x, c->name, got, want);
}

START_TEST(half_floats_are_read_exactly)
{
    const struct half_case *c = &half_cases[_i];
    for (uint32_t h = 0; h < 0x10000u; h++) {
        const double got = (double)c->widen((uint16_t)h), want = half_value(c, h);
        ck_assert_msg(isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want),
                      "%s %#x is %a, expected %a", c->name, h, got, want);
        ck_assert_msg(isnan(want) || c->narrow((float)want) == h, "%s %#x does not come back", c->name, h);
    }
    ck_assert_uint_eq(c->narrow(NAN), c->infinity | 1u << (c->digits - 2));
    ck_assert_uint_eq(c->narrow(-NAN), c->infinity | 1u << (c->digits - 2));
}
END_TEST

/* The ties between all neighbours, the floats beside these, and any float. */
START_TEST(floats_become_the_nearest_half_float)
{
    const struct half_case *c = &half_cases[_i];
    for (uint32_t h = 0; h < 0x10000u; h++) {
        const uint32_t magnitude = h & 0x7FFFu;
        if (magnitude >= c->infinity)
            continue;
        const double low = half_value(c, h),
                     step = magnitude == 0u ? half_value(c, h + 1u) : low - half_value(c, h - 1u);
        const float tie =
            (float)(magnitude + 1u < c->infinity ? 0.5 * (low + half_value(c, h + 1u)) : low + 0.5 * step);
        check_narrow(c, tie);
        check_narrow(c, nextafterf(tie, -INFINITY));
        check_narrow(c, nextafterf(tie, INFINITY));
    }
    for (uint64_t i = 0; i < (exhaustive ? 0x100000000u : 200000u); i++)
        check_narrow(c, stepc_from_bitsf(exhaustive ? (uint32_t)i : (uint32_t)random_word(i, 0u)));
}
END_TEST

/* ---- two operands ---------------------------------------------------------------- */

/* x anything, y so that the result is an ordinary number; x near 1; y a small integer; anything. */
static void pow_operands(uint64_t i, double max_power, double x_bits, double *x, double *y)
{
    *x = i % 4u == 1u ? random_between(i, 1u, 0.5, 2.0) : x_bits;
    *y = i % 4u == 0u   ? random_between(i, 2u, -max_power, max_power) / log2(fabs(*x))
         : i % 4u == 1u ? random_between(i, 2u, -max_power, max_power)
         : i % 4u == 2u ? floor(random_between(i, 2u, -40.0, 40.0))
                        : stepc_from_bits(random_word(i, 3u));
}

START_TEST(pow_is_accurate)
{
    const uint64_t points = exhaustive ? 100000000u : 50000u / THINNED;
    double worst = 0.0, worstf = 0.0;
    for (uint64_t i = 0; i < points; i++) {
        double x, y;
        pow_operands(i, 155.0, (double)stepc_from_bitsf((uint32_t)random_word(i, 0u)), &x, &y);
        const float xf = (float)x, yf = (float)y;
        worstf = fmax(worstf, ulpsf(stepc_powf(xf, yf), pow((double)xf, (double)yf)));
        if (LDBL_MANT_DIG == DBL_MANT_DIG)
            continue;
        pow_operands(i, 1080.0, stepc_from_bits(random_word(i, 0u)), &x, &y);
        worst = fmax(worst, ulps((long double)stepc_pow(x, y), powl((long double)x, (long double)y), DBL_MANT_DIG,
                                 DBL_MIN_EXP, DBL_MAX_EXP));
    }
    if (exhaustive)
        printf("powf %.4f ulp, pow %.4f ulp\n", worstf, worst);
    ck_assert_msg(worstf <= 0.9, "powf is off by %g ulp", worstf);
    ck_assert_msg(worst <= 0.9, "pow is off by %g ulp", worst);
}
END_TEST

static const double special[] = {0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 3.0, -3.0, 1e-40, -1e-40, 2.5, INFINITY,
                                 -INFINITY, 1e300, 8388609.0, -16777217.0, 9007199254740993.0, -1e38, NAN};

/* Equal with the sign of zero, or both NaN; not counting rounding where neither is special. */
static bool same_special(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b ? signbit(a) == signbit(b) : fabs(a - b) <= 1e-6 * fabs(b);
}

START_TEST(pow_and_fmod_agree_with_libm_on_special_operands)
{
    for (int i = 0; i < COUNT(special); i++) {
        for (int j = 0; j < COUNT(special); j++) {
            const double x = special[i], y = special[j];
            const float xf = (float)x, yf = (float)y;
            ck_assert_msg(same_special(stepc_pow(x, y), pow(x, y)), "pow(%g, %g)", x, y);
            ck_assert_msg(same_special(stepc_fmod(x, y), fmod(x, y)), "fmod(%g, %g)", x, y);
            ck_assert_msg(same_special((double)stepc_powf(xf, yf), (double)powf(xf, yf)), "powf(%g, %g)", x, y);
            ck_assert_msg(same_special((double)stepc_fmodf(xf, yf), (double)fmodf(xf, yf)), "fmodf(%g, %g)", x, y);
        }
    }
}
END_TEST

START_TEST(functions_of_one_operand_agree_with_libm_on_special_operands)
{
    for (int i = 0; i < COUNT(special); i++) {
        const double x = special[i];
        for (int k = 0; k < COUNT(float_cases); k++) {
            const struct float_case *c = &float_cases[k];
            const float xf = (float)x;
            if (!isinf(c->high))
                continue;
            ck_assert_msg(same_special((double)c->function(xf), (double)(float)c->reference((double)xf)), "%s(%g)",
                          c->name, x);
        }
        for (int k = 0; k < COUNT(double_cases); k++) {
            const struct double_case *c = &double_cases[k];
            if (strstr(c->name, "2pi") != NULL)
                continue;
            ck_assert_msg(same_special(c->function(x), (double)c->reference((long double)x)), "%s(%g)", c->name, x);
        }
    }
}
END_TEST

/* Divisors as optimizers have them, sqrt(x) + c, dividends of any size that leaves the quotient a normal number. */
START_TEST(quotient_by_steps_is_accurate)
{
    const uint64_t points = exhaustive ? 200000000u : 400000u / THINNED;
    double worst = 0.0;
    for (uint64_t i = 0; i < points; i++) {
        const float b = (float)exp2(random_between(i, 0u, log2(1e-30), log2(2e37)));
        const float quotient = (float)(exp2(random_between(i, 1u, -60.0, 60.0)) * (i % 2u ? 1.0 : -1.0));
        const float a = (float)((double)quotient * (double)b);
        if (isinf(a) || fabsf(a) < FLT_MIN)
            continue;
        worst = fmax(worst, ulpsf(math_quotient(a, b), (double)a / (double)b));
    }
    if (exhaustive)
        printf("quotientf %.4f ulp\n", worst);
    ck_assert_msg(worst > 0.5 && worst <= 1.8, "the quotient is off by %g ulp", worst);
    for (int i = 0; i < COUNT(special); i++)
        ck_assert(same_special((double)math_quotient((float)special[i], 0.25f), (double)((float)special[i] * 4.0f)));
    ck_assert(isnan(math_quotient(1.0f, NAN)));
    ck_assert(fabsf(math_quotient(1e30f, INFINITY)) < 1e-6f);
    ck_assert(math_quotient(0.0f, INFINITY) == 0.0f);
}
END_TEST

START_TEST(remainder_is_exact)
{
    for (uint64_t i = 0; i < 20000u; i++) {
        const double x = stepc_from_bits(random_word(i, 0u));
        const double y = i % 2u ? x / random_between(i, 1u, 1.0, 1e9) : stepc_from_bits(random_word(i, 1u));
        const float xf = stepc_from_bitsf((uint32_t)random_word(i, 0u));
        const float yf =
            i % 2u ? xf / (float)random_between(i, 1u, 1.0, 1e5) : stepc_from_bitsf((uint32_t)random_word(i, 1u));
        const double want = fmod(x, y), wantf = (double)fmodf(xf, yf);
        ck_assert(math_hash_double(0, stepc_fmod(x, y)) == math_hash_double(0, want));
        ck_assert(math_hash_double(0, (double)stepc_fmodf(xf, yf)) == math_hash_double(0, wantf));
    }
}
END_TEST

/* ---- integers ----------------------------------------------------------------------- */

static const double conversion_cases[] = {0.0, -0.0, 0.9, -0.9, 1.0, -1.5, 127.9, 128.0, -128.9, -129.0, 255.9, 256.0,
                                          32767.5, -32769.0, 65535.5, 65536.0, 16777217.0, 2147483647.5, 2147483648.0,
                                          -2147483648.5, -2147483649.0, 4294967295.5, 4294967296.0,
                                          9223372036854774784.0, 9223372036854775808.0, -9223372036854775808.0, -1e19,
                                          18446744073709549568.0, 18446744073709551616.0, 1e30, -1e30, 1e-300, INFINITY,
                                          -INFINITY, NAN};

/* The comparisons are made in long double, which holds 64 bits where this test runs. */
#define SATURATED(type, x, min, max)                                                                                   \
    (isnan(x)                                 ? 0                                                                      \
     : (long double)(x) <= (long double)(min) ? (min)                                                                  \
     : (long double)(x) >= (long double)(max) ? (max)                                                                  \
                                              : (type)(x))
#define CHECK_CONVERSION(type, name, min, max)                                                                         \
    do {                                                                                                               \
        const double y = (double)(float)x;                                                                             \
        const type want = SATURATED(type, x, min, max), wantf = SATURATED(type, y, min, max);                          \
        ck_assert_msg(stepc_double_to_##name(x) == want, "double %g to " #name, x);                                    \
        ck_assert_msg(stepc_float_to_##name((float)x) == wantf, "float %g to " #name, x);                              \
    } while (0)

START_TEST(conversion_drops_the_fraction_and_saturates)
{
    const double x = conversion_cases[_i];
    CHECK_CONVERSION(int8_t, int8, INT8_MIN, INT8_MAX);
    CHECK_CONVERSION(int16_t, int16, INT16_MIN, INT16_MAX);
    CHECK_CONVERSION(int32_t, int32, INT32_MIN, INT32_MAX);
    CHECK_CONVERSION(int64_t, int64, INT64_MIN, INT64_MAX);
    CHECK_CONVERSION(uint8_t, uint8, 0, UINT8_MAX);
    CHECK_CONVERSION(uint16_t, uint16, 0, UINT16_MAX);
    CHECK_CONVERSION(uint32_t, uint32, 0, UINT32_MAX);
    CHECK_CONVERSION(uint64_t, uint64, 0, UINT64_MAX);
}
END_TEST

/* The mathematical value is computed in 64 bits and wrapped. */
START_TEST(arithmetic_of_32_bits_is_total_and_wraps)
{
    static const int32_t operands[] = {0, 1, -1, 2, -2, 3, 7, -7, 100000, INT32_MAX, INT32_MIN, INT32_MIN + 1};
    for (int i = 0; i < COUNT(operands); i++) {
        for (int j = 0; j < COUNT(operands); j++) {
            const int32_t a = operands[i], b = operands[j];
            const int64_t x = a, y = b, q = y == 0 ? 0 : x / y, r = y == 0 ? 0 : x % y;
            ck_assert_int_eq(stepc_add32(a, b), (int32_t)(x + y));
            ck_assert_int_eq(stepc_sub32(a, b), (int32_t)(x - y));
            ck_assert_int_eq(stepc_mul32(a, b), (int32_t)(x * y));
            ck_assert_int_eq(stepc_div32(a, b), (int32_t)q);
            ck_assert_int_eq(stepc_rem32(a, b), (int32_t)r);
            ck_assert_int_eq(stepc_mod32(a, b), (int32_t)(r != 0 && (r < 0) != (y < 0) ? r + y : r));
            ck_assert_int_eq(stepc_div64(a, b), q);
            ck_assert_int_eq(stepc_mod64(a, b), r != 0 && (r < 0) != (y < 0) ? r + y : r);
            ck_assert_uint_eq(stepc_divu32((uint32_t)a, (uint32_t)b), b == 0 ? 0 : (uint32_t)a / (uint32_t)b);
            ck_assert_uint_eq(stepc_modu32((uint32_t)a, (uint32_t)b), b == 0 ? 0 : (uint32_t)a % (uint32_t)b);
        }
    }
}
END_TEST

START_TEST(arithmetic_of_64_bits_wraps)
{
    ck_assert_int_eq(stepc_add64(INT64_MAX, 1), INT64_MIN);
    ck_assert_int_eq(stepc_sub64(INT64_MIN, 1), INT64_MAX);
    ck_assert_int_eq(stepc_mul64(INT64_MAX, 2), -2);
    ck_assert_int_eq(stepc_neg64(INT64_MIN), INT64_MIN);
    ck_assert_int_eq(stepc_abs64(INT64_MIN), INT64_MIN);
    ck_assert_int_eq(stepc_div64(INT64_MIN, -1), INT64_MIN);
    ck_assert_int_eq(stepc_rem64(INT64_MIN, -1), 0);
    ck_assert_uint_eq(stepc_divu64(UINT64_MAX, 0), 0);
    ck_assert_uint_eq(stepc_modu64(UINT64_MAX, 10), 5);
    ck_assert_int_eq(stepc_signed8(200u), -56);
    ck_assert_int_eq(stepc_signed16(0x18000u), INT16_MIN);
}
END_TEST

START_TEST(shift_by_the_width_gives_zero)
{
    ck_assert_uint_eq(stepc_shl32(3u, 31u), 0x80000000u);
    ck_assert_uint_eq(stepc_shl32(3u, 32u), 0u);
    ck_assert_uint_eq(stepc_shr32(0x80000000u, 31u), 1u);
    ck_assert_uint_eq(stepc_shr32(UINT32_MAX, 33u), 0u);
    ck_assert_uint_eq(stepc_shl64(3u, 63u), 0x8000000000000000u);
    ck_assert_uint_eq(stepc_shl64(3u, 64u), 0u);
    ck_assert_uint_eq(stepc_shr64(UINT64_MAX, 63u), 1u);
    ck_assert_uint_eq(stepc_shr64(UINT64_MAX, UINT64_MAX), 0u);
}
END_TEST

/* ---- random numbers ----------------------------------------------------------------- */

/* The known answers published with Random123 (kat_vectors). */
START_TEST(philox_gives_the_published_answers)
{
    static const struct {
        uint64_t seed, counter;
        uint32_t stream, block, want[4];
    } cases[] = {
        {0u, 0u, 0u, 0u, {0x6627E8D5u, 0xE169C58Du, 0xBC57AC4Cu, 0x9B00DBD8u}},
        {UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX, {0x408F276Du, 0x41C83B0Eu, 0xA20BC7C6u, 0x6D5451FDu}},
        {0x299F31D0A4093822u, 0x13198A2E85A308D3u, 0x03707344u, 0x243F6A88u,
         {0xD16CFE09u, 0x94FDCCEBu, 0x5001E420u, 0x24126EA1u}},
    };
    for (int i = 0; i < COUNT(cases); i++) {
        uint32_t got[4];
        stepc_philox(cases[i].seed, cases[i].counter, cases[i].stream, cases[i].block, got);
        ck_assert_mem_eq(got, cases[i].want, sizeof got);
    }
}
END_TEST

START_TEST(blocks_hold_the_elements)
{
    for (uint32_t block = 0; block < 100u; block++) {
        float four[4], normal_four[4];
        double two[2], normal_two[2];
        stepc_uniform4f(1u, 2u, 3u, block, four);
        stepc_normal4f(1u, 2u, 3u, block, normal_four);
        stepc_uniform2(1u, 2u, 3u, block, two);
        stepc_normal2(1u, 2u, 3u, block, normal_two);
        for (uint32_t i = 0; i < 4u; i++) {
            ck_assert(four[i] == stepc_uniformf(1u, 2u, 3u, 4u * block + i));
            ck_assert(normal_four[i] == stepc_normalf(1u, 2u, 3u, 4u * block + i));
        }
        for (uint32_t i = 0; i < 2u; i++) {
            ck_assert(two[i] == stepc_uniform(1u, 2u, 3u, 2u * block + i));
            ck_assert(normal_two[i] == stepc_normal(1u, 2u, 3u, 2u * block + i));
        }
    }
}
END_TEST

/* In any order, of which only the usual one saves work. */
START_TEST(kept_blocks_hold_the_elements)
{
    float kept_uniform4[4], kept_normal4[4];
    double kept_uniform2[2], kept_normal2[2];
    uint64_t blocks[4] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    for (uint64_t i = 0; i < 300u; i++) {
        const uint64_t element = i < 100u ? i : i < 200u ? 299u - i : i * 0x9E3779B97F4A7C15u;
        ck_assert(stepc_next_uniformf(kept_uniform4, &blocks[0], 1u, 2u, 3u, element) ==
                  stepc_uniformf(1u, 2u, 3u, element));
        ck_assert(stepc_next_normalf(kept_normal4, &blocks[1], 1u, 2u, 3u, element) ==
                  stepc_normalf(1u, 2u, 3u, element));
        ck_assert(stepc_next_uniform(kept_uniform2, &blocks[2], 1u, 2u, 3u, element) ==
                  stepc_uniform(1u, 2u, 3u, element));
        ck_assert(stepc_next_normal(kept_normal2, &blocks[3], 1u, 2u, 3u, element) ==
                  stepc_normal(1u, 2u, 3u, element));
    }
}
END_TEST

START_TEST(tensors_are_filled_in_order)
{
    float uniform_floats[11], normal_floats[11];
    double uniform_doubles[11], normal_doubles[11];
    stepc_fill_uniformf(uniform_floats, 11, -0.25f, 0.5f, 1u, 2u, 3u);
    stepc_fill_normalf(normal_floats, 11, 0.5f, 1u, 2u, 3u);
    stepc_fill_uniform(uniform_doubles, 11, -0.25, 0.5, 1u, 2u, 3u);
    stepc_fill_normal(normal_doubles, 11, 0.5, 1u, 2u, 3u);
    for (uint64_t i = 0; i < 11u; i++) { /* halves are exact */
        ck_assert(uniform_floats[i] == -0.25f + stepc_uniformf(1u, 2u, 3u, i) * 0.5f);
        ck_assert(normal_floats[i] == stepc_normalf(1u, 2u, 3u, i) * 0.5f);
        ck_assert(uniform_doubles[i] == -0.25 + stepc_uniform(1u, 2u, 3u, i) * 0.5);
        ck_assert(normal_doubles[i] == stepc_normal(1u, 2u, 3u, i) * 0.5);
    }
}
END_TEST

START_TEST(uniform_lies_below_one)
{
    ck_assert(stepc_unitf(0u) == 0.0f && stepc_unitf(UINT32_MAX) == 1.0f - 0x1p-24f);
    ck_assert(stepc_unit(0u, 0u) == 0.0 && stepc_unit(UINT32_MAX, UINT32_MAX) == 1.0 - 0x1p-53);
}
END_TEST

/* Moments of N numbers: the standard errors of mean, variance and fourth moment are 1, sqrt(2) and sqrt(96) times
 * N^-1/2 = 0.0032; the bounds are four of them. */
START_TEST(normal_has_the_moments)
{
    const uint32_t n = 100000u;
    double mean = 0.0, variance = 0.0, fourth = 0.0;
    for (uint32_t i = 0; i < n; i++) {
        const double x = _i == 0 ? (double)stepc_normalf(11u, 0u, 0u, i) : stepc_normal(11u, 0u, 0u, i);
        mean += x / n;
        variance += x * x / n;
        fourth += x * x * x * x / n;
    }
    ck_assert_double_eq_tol(mean, 0.0, 0.0127);
    ck_assert_double_eq_tol(variance, 1.0, 0.018);
    ck_assert_double_eq_tol(fourth, 3.0, 0.124);
}
END_TEST

/* Rows without far arguments go another way than rows with one. */
START_TEST(rows_have_the_bits_of_their_elements)
{
    static void (*const rows[])(float *, int) = {stepc_sin_row, stepc_cos_row, stepc_tan_row};
    static float (*const one[])(float) = {stepc_sinf, stepc_cosf, stepc_tanf};
    static const float far[] = {1.0f, 6434.0f, -1e30f, INFINITY, NAN};
    for (int f = 0; f < COUNT(far); f++) {
        float v[19], x[19];
        for (int i = 0; i < 19; i++)
            v[i] = x[i] = i == 7 ? far[f] : (float)(i - 9) * 711.7f;
        rows[_i](v, 19);
        for (int i = 0; i < 19; i++) {
            const float y = one[_i](x[i]);
            ck_assert(stepc_bitsf(v[i]) == stepc_bitsf(y) || (v[i] != v[i] && y != y));
        }
    }
}
END_TEST

START_TEST(bits_are_those_of_every_other_machine)
{
    ck_assert_uint_eq(math_hash_of_floats(), MATH_HASH_OF_FLOATS);
    ck_assert_uint_eq(math_hash_of_doubles(), MATH_HASH_OF_DOUBLES);
}
END_TEST

static Suite *math_suite(void)
{
    Suite *suite = suite_create("math");
    TCase *accuracy = tcase_create("accuracy");
    tcase_set_timeout(accuracy, 60.0);
    tcase_add_loop_test(accuracy, float_function_is_accurate, 0, COUNT(float_cases));
    tcase_add_loop_test(accuracy, double_function_is_accurate, 0, COUNT(double_cases));
    tcase_add_loop_test(accuracy, half_floats_are_read_exactly, 0, COUNT(half_cases));
    tcase_add_loop_test(accuracy, floats_become_the_nearest_half_float, 0, COUNT(half_cases));
    tcase_add_test(accuracy, pow_is_accurate);
    tcase_add_test(accuracy, quotient_by_steps_is_accurate);
    tcase_add_test(accuracy, remainder_is_exact);
    tcase_add_test(accuracy, pow_and_fmod_agree_with_libm_on_special_operands);
    tcase_add_test(accuracy, functions_of_one_operand_agree_with_libm_on_special_operands);
    tcase_add_loop_test(accuracy, rows_have_the_bits_of_their_elements, 0, 3);
    tcase_add_test(accuracy, bits_are_those_of_every_other_machine);
    suite_add_tcase(suite, accuracy);

    TCase *integers = tcase_create("integers");
    tcase_add_loop_test(integers, conversion_drops_the_fraction_and_saturates, 0, COUNT(conversion_cases));
    tcase_add_test(integers, arithmetic_of_32_bits_is_total_and_wraps);
    tcase_add_test(integers, arithmetic_of_64_bits_wraps);
    tcase_add_test(integers, shift_by_the_width_gives_zero);
    suite_add_tcase(suite, integers);

    TCase *random = tcase_create("random");
    tcase_add_test(random, philox_gives_the_published_answers);
    tcase_add_test(random, blocks_hold_the_elements);
    tcase_add_test(random, kept_blocks_hold_the_elements);
    tcase_add_test(random, tensors_are_filled_in_order);
    tcase_add_test(random, uniform_lies_below_one);
    tcase_add_loop_test(random, normal_has_the_moments, 0, 2);
    suite_add_tcase(suite, random);
    return suite;
}

int main(int argc, char **argv)
{
    exhaustive = argc > 1 && strcmp(argv[1], "--exhaustive") == 0;
    if (exhaustive && argc > 2) {
        float at;
        bool good = false;
        for (int i = 0; i < COUNT(float_cases); i++)
            if (strcmp(float_cases[i].name, argv[2]) == 0)
                good = measure(&float_cases[i], &at) <= float_cases[i].max_ulps;
        return good ? 0 : 1;
    }
    SRunner *runner = srunner_create(math_suite());
    if (exhaustive)
        srunner_set_fork_status(runner, CK_NOFORK);      /* no time limits */
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
