/* Floats of 8 and 4 bits in runtime/stepc_rounding.h: every code against what its bits mean, and floats against the
 * nearest number of the type, found by looking at all of them. */
#include <check.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "stepc_rounding.h"
#include "suite.h"

static const struct small_case {
    const char *name;
    int bits, mantissa, bias; /* below a sign bit */
    uint32_t infinity, nan;   /* codes without the sign; a code that does not exist: none */
    bool has_minus_zero;      /* else that code is NaN */
    float (*widen)(uint8_t h);
    uint8_t (*narrow)(float x);
} small_cases[] = {
    {"float8e4m3fn", 8, 3, 7, 999, 0x7f, true, stepc_float8e4m3fn_to_float, stepc_float_to_float8e4m3fn},
    {"float8e4m3fnuz", 8, 3, 8, 999, 999, false, stepc_float8e4m3fnuz_to_float, stepc_float_to_float8e4m3fnuz},
    {"float8e5m2", 8, 2, 15, 0x7c, 0x7f, true, stepc_float8e5m2_to_float, stepc_float_to_float8e5m2},
    {"float8e5m2fnuz", 8, 2, 16, 999, 999, false, stepc_float8e5m2fnuz_to_float, stepc_float_to_float8e5m2fnuz},
    {"float4e2m1", 4, 1, 1, 999, 999, true, stepc_float4e2m1_to_float, stepc_float_to_float4e2m1}};
enum { CASES = sizeof small_cases / sizeof *small_cases };

static double value_of(const struct small_case *c, uint32_t code)
{
    const uint32_t sign = 1u << (c->bits - 1), size = code & (sign - 1u), hidden = 1u << c->mantissa;
    const int exponent = (int)(size / hidden);
    const double value = exponent == 0 ? ldexp((double)size, 1 - c->bias - c->mantissa)
                                       : ldexp((double)(size % hidden + hidden), exponent - c->bias - c->mantissa);
    if (size == c->nan || (size > c->infinity && c->infinity < sign) || (code == sign && !c->has_minus_zero))
        return (double)NAN;
    return copysign(size == c->infinity ? (double)INFINITY : value, code >= sign ? -1.0 : 1.0);
}

static uint32_t largest_of(const struct small_case *c)
{
    uint32_t code = (1u << (c->bits - 1)) - 1u;
    while (!isfinite(value_of(c, code)))
        code--;
    return code;
}

/* The nearest finite number, of two as near the even code; an infinity where the type has it. */
static uint32_t nearest(const struct small_case *c, float x)
{
    const uint32_t sign = signbit(x) ? 1u << (c->bits - 1) : 0u;
    const double size = fabs((double)x);
    uint32_t best = 0;
    if (isinf(x) && c->infinity < 1u << (c->bits - 1))
        return c->infinity | sign;
    if (size >= value_of(c, largest_of(c)))
        return largest_of(c) | sign;
    for (uint32_t code = 1; code <= largest_of(c); code++) {
        const double off = fabs(value_of(c, code) - size), least = fabs(value_of(c, best) - size);
        if (off < least || (off == least && code % 2u == 0u))
            best = code;
    }
    return best == 0 && !c->has_minus_zero ? 0 : best | sign;
}

static void check_narrow(const struct small_case *c, float x)
{
    ck_assert_msg(c->narrow(x) == nearest(c, x), "%a as %s is %#x, expected %#x", (double)x, c->name,
                  (unsigned)c->narrow(x), (unsigned)nearest(c, x));
}

START_TEST(codes_are_read_exactly)
{
    const struct small_case *c = &small_cases[_i];
    for (uint32_t code = 0; code < 1u << c->bits; code++) {
        const double got = (double)c->widen((uint8_t)code), want = value_of(c, code);
        ck_assert_msg(isnan(want) ? isnan(got) : got == want && !signbit(got) == !signbit(want),
                      "%s %#x is %a, expected %a", c->name, (unsigned)code, got, want);
        ck_assert_msg(isnan(want) || c->narrow((float)want) == code, "%s %#x does not come back", c->name,
                      (unsigned)code);
    }
    const uint32_t nan = c->has_minus_zero ? c->nan : 0x80u;
    ck_assert_uint_eq(c->narrow(NAN), c->bits == 8 ? nan : 0u);
    ck_assert_uint_eq(c->narrow(-NAN), c->bits == 8 ? nan : 0u);
}
END_TEST

START_TEST(floats_become_the_nearest_number)
{
    const struct small_case *c = &small_cases[_i];
    for (uint32_t code = 0; code <= largest_of(c); code++) {
        const double low = value_of(c, code), step = code > 0 ? low - value_of(c, code - 1) : value_of(c, 1);
        const float tie = (float)(code < largest_of(c) ? 0.5 * (low + value_of(c, code + 1)) : low + 0.5 * step);
        for (int sign = -1; sign <= 1; sign += 2) {
            check_narrow(c, (float)sign * tie);
            check_narrow(c, (float)sign * nextafterf(tie, 0.0f));
            check_narrow(c, (float)sign * nextafterf(tie, INFINITY));
        }
    }
    check_narrow(c, INFINITY);
    check_narrow(c, -INFINITY);
    for (uint32_t i = 0; i < 100000u; i++) { /* every exponent, all sorts of fractions */
        const float x = stepc_from_bitsf(i * 42949u + i % 3u);
        if (!isnan(x))
            check_narrow(c, x);
    }
}
END_TEST

/* Up to the next power of two, from 2^-127 to 2^127. */
START_TEST(scales_are_powers_of_two)
{
    for (int code = 0; code < 255; code++) {
        const float power = ldexpf(1.0f, code - 127);
        ck_assert_msg(stepc_float8e8m0_to_float((uint8_t)code) == power, "%#x", (unsigned)code);
        ck_assert_uint_eq(stepc_float_to_float8e8m0(power), code);
        ck_assert_uint_eq(stepc_float_to_float8e8m0(-power), code);
        ck_assert_uint_eq(stepc_float_to_float8e8m0(nextafterf(power, INFINITY)), code < 254 ? code + 1 : 254);
        ck_assert_uint_eq(stepc_float_to_float8e8m0(nextafterf(power, 0.0f)), code);
    }
    ck_assert_uint_eq(stepc_float_to_float8e8m0(0.0f), 0);
    ck_assert_uint_eq(stepc_float_to_float8e8m0(INFINITY), 255);
    ck_assert_uint_eq(stepc_float_to_float8e8m0(NAN), 255);
    ck_assert(isnan(stepc_float8e8m0_to_float(255)));
}
END_TEST

int main(void)
{
    TCase *const t = tcase_create("small");
    tcase_add_loop_test(t, codes_are_read_exactly, 0, CASES);
    tcase_add_loop_test(t, floats_become_the_nearest_number, 0, CASES);
    tcase_add_test(t, scales_are_powers_of_two);
    return run_tests("floats of 8 and 4 bits", t);
}
