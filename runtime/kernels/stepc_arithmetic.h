/* SPDX-License-Identifier: 0BSD */
/* Does this build compute as it is written, round each result by itself, to the nearest, and keep numbers next to zero?
 * What --reproducible promises depends on it; init() asks. */
/* Why: what is volatile keeps the compiler from computing it beforehand. */
#ifndef STEPC_KERNELS_ARITHMETIC_H
#define STEPC_KERNELS_ARITHMETIC_H

#include <stdint.h>
#include <string.h>
#include "stepc.h"

#if defined(__GNUC__)
#define STEPC_ARITHMETIC_CHECK STEPC_APART __attribute__((unused))
#else
#define STEPC_ARITHMETIC_CHECK STEPC_APART
#endif

static STEPC_ARITHMETIC_CHECK stepc_status stepc_check_arithmetic(void)
{
    volatile float factor = 1.00012207f, one = 1.0f, three = 3.0f, quarter = 2.98023224e-8f, minus = -0.0f;
    volatile float least = 1.17549435e-38f;
    const float f = factor, unit = one, some = quarter, five = unit + 4.0f, small = least * 0.5f;
    const float zero = minus + 0.0f;
    uint32_t zero_bits;
    memcpy(&zero_bits, &zero, sizeof zero_bits);
    const int rounds = f * f - 1.00024414f == 0.0f; /* 2^-26, where product and difference are one operation */
    const int is_near = one + quarter == one && one + three * quarter > one && one / three == 0.333333343f;
    const int is_in_order = unit + some - unit == 0.0f; /* not as some + (unit - unit) */
    const int divides = five / 3.0f == 1.66666663f;     /* 1.66666675, where it is multiplied by a third */
    const int keeps = small != 0.0f && small + small == least;
    return rounds && is_near && is_in_order && divides && keeps && zero_bits == 0 ? STEPC_OK : STEPC_E_ARITHMETIC;
}

/* Of double: is each result rounded by itself? */
static STEPC_ARITHMETIC_CHECK stepc_status stepc_check_arithmetic_double(void)
{
    volatile double factor = 1.0000000074505806;
    const double f = factor; /* 1, where the compiler takes constants for float */
    return f != 1.0 && f * f - 1.0000000149011612 == 0.0 ? STEPC_OK : STEPC_E_ARITHMETIC;
}

#endif
