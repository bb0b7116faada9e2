/* Hashes of the bits of every function of the numeric contract over fixed inputs, one for those that use no double, one
 * for those that do. The same numbers must come out on every machine, with every compiler and optimisation level (with
 * -ffp-contract=off): the host's unit test compares them with the constants below, a program for a device does the
 * same. Strict C99, no library.
 *
 * The second one fails on Arm cores without a double-precision unit: subtraction in gcc's library (12.2 was tried) is
 * off by one bit now and then, where the exponents differ by 33, e.g. in 1.0 - 0x1.326b42276ad9dp-33. */
#ifndef STEPC_TESTS_MATH_HASH_H
#define STEPC_TESTS_MATH_HASH_H

#include "stepc_hyperbolic.h"
#include "stepc_integer.h"
#include "stepc_math.h"
#include "stepc_random.h"
#include "stepc_rounding.h"
#include "stepc_trigonometry.h"

enum { MATH_HASH_POINTS = 1500 };
#define MATH_HASH_OF_FLOATS 0xB6A0D6EBFB6B9A72u
#define MATH_HASH_OF_DOUBLES 0xAEE13283D6866F75u

static uint64_t math_hash_add(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

/* NaN counts as one value. */
static uint64_t math_hash_float(uint64_t hash, float x)
{
    return math_hash_add(hash, x != x ? 0x7FC00000u : stepc_bitsf(x));
}

static uint64_t math_hash_double(uint64_t hash, double x)
{
    return math_hash_add(hash, x != x ? 0x7FF8000000000000u : stepc_bits(x));
}

typedef float math_float_function(float x);
typedef double math_double_function(double x);

/* Half of the points have random bits, the others are spread over [-100, 100). */
static uint64_t math_hash_float_function(uint64_t hash, math_float_function *f)
{
    for (uint32_t i = 0; i < MATH_HASH_POINTS; i++) {
        uint32_t word[4] = {0u, 0u, 0u, 0u};
        stepc_philox(1u, 0u, 0u, i, word);
        hash = math_hash_float(hash, f(stepc_from_bitsf(word[0])));
        hash = math_hash_float(hash, f(200.0f * stepc_unitf(word[1]) - 100.0f));
    }
    return hash;
}

static uint64_t math_hash_double_function(uint64_t hash, math_double_function *f)
{
    for (uint32_t i = 0; i < MATH_HASH_POINTS; i++) {
        uint32_t word[4] = {0u, 0u, 0u, 0u};
        stepc_philox(2u, 0u, 0u, i, word);
        hash = math_hash_double(hash, f(stepc_from_bits((uint64_t)word[0] << 32 | word[1])));
        hash = math_hash_double(hash, f(200.0 * stepc_unit(word[2], word[3]) - 100.0));
    }
    return hash;
}

static uint64_t math_hash_float_pairs(uint64_t hash)
{
    for (uint32_t i = 0; i < MATH_HASH_POINTS; i++) {
        uint32_t word[4] = {0u, 0u, 0u, 0u};
        stepc_philox(3u, 0u, 0u, i, word);
        const float x = stepc_from_bitsf(word[0]), y = 40.0f * stepc_unitf(word[1]) - 20.0f;
        hash = math_hash_float(hash, stepc_powf(x, y));
        hash = math_hash_float(hash, stepc_powf(20.0f + y, 4.0f * y));
        hash = math_hash_float(hash, stepc_fmodf(x, y));
        hash = math_hash_add(hash, (uint64_t)stepc_float_to_int64(x) ^ stepc_float_to_uint64(y));
        hash = math_hash_add(hash, (uint64_t)stepc_float_to_int8(y) ^ stepc_float_to_uint16(x));
        hash = math_hash_float(hash, stepc_uniformf(5u, 7u, 1u, i));
        hash = math_hash_float(hash, stepc_normalf(5u, 7u, 3u, i));
    }
    return hash;
}

static uint64_t math_hash_double_pairs(uint64_t hash)
{
    for (uint32_t i = 0; i < MATH_HASH_POINTS; i++) {
        uint32_t word[4] = {0u, 0u, 0u, 0u};
        stepc_philox(4u, 0u, 0u, i, word);
        const double x = stepc_from_bits((uint64_t)word[0] << 32 | word[1]);
        const double y = 200.0 * stepc_unit(word[2], word[3]) - 100.0;
        hash = math_hash_double(hash, stepc_pow(x, y));
        hash = math_hash_double(hash, stepc_pow(100.0 + y, 2.0 * y));
        hash = math_hash_double(hash, stepc_fmod(x, y));
        hash = math_hash_add(hash, (uint64_t)stepc_double_to_int64(x) ^ stepc_double_to_uint32(y));
        hash = math_hash_double(hash, stepc_uniform(5u, 7u, 2u, i));
        hash = math_hash_double(hash, stepc_normal(5u, 7u, 4u, i));
    }
    return hash;
}

static float math_round16f(float x)
{
    return stepc_float16_to_float(stepc_float_to_float16(x));
}

static float math_roundb16f(float x)
{
    return stepc_bfloat16_to_float(stepc_float_to_bfloat16(x));
}

static uint64_t math_hash_of_floats(void)
{
    static math_float_function *const functions[] = {stepc_expf, stepc_expm1f, stepc_logf, stepc_log1pf,
                                                     stepc_softplusf, stepc_sqrtf, stepc_sqrt_softf, stepc_tanhf,
                                                     stepc_sigmoidf, stepc_erff, stepc_sinf, stepc_cosf, stepc_tanf,
                                                     stepc_asinf, stepc_acosf, stepc_atanf, stepc_sinhf, stepc_coshf,
                                                     stepc_asinhf, stepc_acoshf, stepc_atanhf, stepc_rintf,
                                                     stepc_truncf, stepc_floorf, stepc_ceilf, math_round16f,
                                                     math_roundb16f};
    uint64_t hash = 0;
    for (uint32_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        hash = math_hash_float_function(hash, functions[i]);
    return math_hash_float_pairs(hash);
}

static uint64_t math_hash_of_doubles(void)
{
    static math_double_function *const functions[] = {stepc_exp, stepc_expm1, stepc_log, stepc_log1p, stepc_softplus,
                                                      stepc_sqrt, stepc_sqrt_soft, stepc_tanh, stepc_sigmoid, stepc_erf,
                                                      stepc_sin, stepc_cos, stepc_tan, stepc_asin, stepc_acos,
                                                      stepc_atan, stepc_sinh, stepc_cosh, stepc_asinh, stepc_acosh,
                                                      stepc_atanh, stepc_rint, stepc_trunc, stepc_floor, stepc_ceil};
    uint64_t hash = 0;
    for (uint32_t i = 0; i < sizeof functions / sizeof functions[0]; i++)
        hash = math_hash_double_function(hash, functions[i]);
    return math_hash_double_pairs(hash);
}

#endif
