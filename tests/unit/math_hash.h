/* A hash of the bits of every function of the numeric contract over fixed inputs. The same number must come out on
 * every machine, with every compiler and optimisation level (with -ffp-contract=off): the host's unit test compares it
 * with the constant below, a program for a device does the same. Strict C99, no library. */
#ifndef STEPC_TESTS_MATH_HASH_H
#define STEPC_TESTS_MATH_HASH_H

#include "stepc_integer.h"
#include "stepc_math.h"
#include "stepc_random.h"

enum { MATH_HASH_POINTS = 1500 };
#define MATH_HASH 0x0000000000000000u

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

static uint64_t math_hash_two_operands(uint64_t hash)
{
    for (uint32_t i = 0; i < MATH_HASH_POINTS; i++) {
        uint32_t word[4] = {0u, 0u, 0u, 0u};
        stepc_philox(3u, 0u, 0u, i, word);
        const float x = stepc_from_bitsf(word[0]), y = 40.0f * stepc_unitf(word[1]) - 20.0f;
        const double a = stepc_from_bits((uint64_t)word[2] << 32 | word[3]), b = (double)y * 5.0;
        hash = math_hash_float(hash, stepc_powf(x, y));
        hash = math_hash_float(hash, stepc_powf(20.0f + y, 4.0f * y));
        hash = math_hash_float(hash, stepc_fmodf(x, y));
        hash = math_hash_double(hash, stepc_pow(a, b));
        hash = math_hash_double(hash, stepc_pow(20.0 + (double)y, 11.0 * b));
        hash = math_hash_double(hash, stepc_fmod(a, b));
        hash = math_hash_add(hash, (uint64_t)stepc_float_to_int64(x) ^ stepc_float_to_uint64(y));
        hash = math_hash_add(hash, (uint64_t)stepc_double_to_int64(a) ^ stepc_double_to_uint32(b));
        hash = math_hash_add(hash, (uint64_t)stepc_float_to_int8(y) ^ stepc_float_to_uint16(x));
    }
    return hash;
}

static uint64_t math_hash_random(uint64_t hash)
{
    for (uint32_t i = 0; i < MATH_HASH_POINTS; i++) {
        hash = math_hash_float(hash, stepc_uniformf(5u, 7u, 1u, i));
        hash = math_hash_double(hash, stepc_uniform(5u, 7u, 2u, i));
        hash = math_hash_float(hash, stepc_normalf(5u, 7u, 3u, i));
        hash = math_hash_double(hash, stepc_normal(5u, 7u, 4u, i));
    }
    return hash;
}

static uint64_t math_hash(void)
{
    static math_float_function *const floats[] = {
        stepc_expf, stepc_expm1f, stepc_logf, stepc_log1pf, stepc_softplusf, stepc_sqrtf, stepc_sqrt_softf, stepc_tanhf,
        stepc_sigmoidf, stepc_erff, stepc_sinf, stepc_cosf, stepc_rintf, stepc_truncf, stepc_floorf, stepc_ceilf};
    static math_double_function *const doubles[] = {
        stepc_exp, stepc_expm1, stepc_log, stepc_log1p, stepc_softplus, stepc_sqrt, stepc_sqrt_soft, stepc_tanh,
        stepc_sigmoid, stepc_erf, stepc_sin, stepc_cos, stepc_rint, stepc_trunc, stepc_floor, stepc_ceil};
    uint64_t hash = 0;
    for (uint32_t i = 0; i < sizeof floats / sizeof floats[0]; i++)
        hash = math_hash_float_function(hash, floats[i]);
    for (uint32_t i = 0; i < sizeof doubles / sizeof doubles[0]; i++)
        hash = math_hash_double_function(hash, doubles[i]);
    return math_hash_random(math_hash_two_operands(hash));
}

#endif
