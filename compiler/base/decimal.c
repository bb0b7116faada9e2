/* Models hold millions of weights, so the common case does without printf: where a power of ten and the digits as an
 * integer are both exact doubles, one rounded division (or product) is what any correct reader computes, and comparing
 * it with x decides whether these digits are enough. Measured: 0.05 us for a weight, against 1.4 us with printf and
 * strtod. */
#include "base/decimal.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* |x| = 0.DIGITS * 10^point */
struct digits {
    char text[24];
    int count, point;
};

enum { EXACT = 22 }; /* 10^22 is the last power of ten that a double holds exactly */

static const double power[EXACT + 1] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                        1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Would a float reader get the same from y and from everything that rounds to y? Not where y lies half way. */
static bool rounds_to_float(double y, double x)
{
    uint64_t bits;
    double below, above;
    if ((float)y != (float)x)
        return false;
    memcpy(&bits, &y, sizeof bits);
    bits--;
    memcpy(&below, &bits, sizeof below);
    bits += 2;
    memcpy(&above, &bits, sizeof above);
    return (float)below == (float)x && (float)above == (float)x;
}

static bool is_same(double y, double x, bool is_float)
{
    return is_float ? rounds_to_float(y, x) : y == x;
}

/* 10^*e <= x < 10^(*e + 1), for x well inside the table's range. */
static bool find_exponent(double x, int *e)
{
    if (!(x >= 1e-21 && x < 1e21))
        return false;
    *e = 0;
    if (x >= 1)
        while (x >= power[*e + 1])
            ++*e;
    else
        while (x * power[-*e] < 1)
            --*e;
    return true;
}

/* x in `count` digits (at most 15): does it read back? False, too, where the powers are not exact. */
static bool try_exact(double x, int e, int count, bool is_float, uint64_t *out)
{
    const int scale = count - 1 - e;
    if (scale > EXACT || scale < -EXACT)
        return false;
    *out = (uint64_t)(int64_t)((scale >= 0 ? x * power[scale] : x / power[-scale]) + 0.5); /* less than 10^16 */
    const double digits = (double)(int64_t)*out;
    return is_same(scale >= 0 ? digits / power[scale] : digits * power[-scale], x, is_float);
}

static void set_digits(struct digits *d, uint64_t m, int scale)
{
    int n = 1;
    for (; m % 10 == 0; m /= 10)
        scale--;
    for (uint64_t most = 10; m >= most; most *= 10)
        n++;
    for (int i = n; i-- > 0; m /= 10)
        d->text[i] = (char)('0' + m % 10);
    d->count = n;
    d->point = n - scale;
}

/* *tried: so many digits are known not to be enough. */
static bool shortest_exact(double x, bool is_float, struct digits *d, int *tried)
{
    const int most = is_float ? 9 : 15,
              middle = is_float ? 6 : most; /* most numbers need many digits: look there first */
    int e;
    uint64_t m;
    if (!find_exponent(x, &e))
        return false;
    if (most - 1 - e > EXACT)
        return false;
    int count = try_exact(x, e, middle, is_float, &m) ? 1 : middle + 1;
    while (count <= most && !try_exact(x, e, count, is_float, &m))
        count++;
    *tried = most;
    if (count > most)
        return false;
    set_digits(d, m, count - 1 - e);
    return true;
}

/* "d.ddde-05" of printf. */
static void parse_printed(const char *text, struct digits *d)
{
    d->count = 0;
    for (; *text != 'e'; text++)
        if (*text >= '0' && *text <= '9')
            d->text[d->count++] = *text;
    d->point = (int)strtol(text + 1, NULL, 10) + 1;
    while (d->count > 1 && d->text[d->count - 1] == '0')
        d->count--;
}

static void shortest_printed(double x, bool is_float, int tried, struct digits *d)
{
    char text[40];
    const int most = is_float ? 9 : 17;
    for (int count = tried < most ? tried + 1 : most; count <= most; count++) {
        snprintf(text, sizeof text, "%.*e", count - 1, x);
        const double y = strtod(text, NULL);
        if (count == most || (y == x && !is_float) ||
            (is_float && (float)y == (float)x && strtof(text, NULL) == (float)x))
            break;
    }
    parse_printed(text, d);
}

static size_t put_digits(char *out, const struct digits *d)
{
    char *p = out;
    const bool fixed = d->point > -5 && d->point <= 9;
    const int point = fixed ? d->point : 1; /* digits before the point */
    if (point <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = point; i < 0; i++)
            *p++ = '0';
    }
    const int first = point < 0 ? 0 : point < d->count ? point : d->count;
    memcpy(p, d->text, (size_t)first);
    p += first;
    if (first > 0 && first < d->count)
        *p++ = '.';
    memcpy(p, d->text + first, (size_t)(d->count - first));
    p += d->count - first;
    for (int i = d->count; i < point; i++)
        *p++ = '0';
    if (!fixed)
        return (size_t)(p - out) + (size_t)sprintf(p, "e%d", d->point - 1);
    *p = '\0';
    return (size_t)(p - out);
}

static size_t put_number(char *text, double x, bool is_float)
{
    const bool minus = signbit(x);
    struct digits d;
    int tried = 0;
    if (isnan(x) || isinf(x) || x == 0)
        return (size_t)sprintf(text, "%s%s", minus ? "-" : "", isnan(x) ? "nan" : isinf(x) ? "inf" : "0");
    if (minus)
        *text++ = '-';
    if (!shortest_exact(fabs(x), is_float, &d, &tried))
        shortest_printed(fabs(x), is_float, tried, &d);
    return put_digits(text, &d) + minus;
}

size_t decimal_float(char text[DECIMAL_MAX], float x)
{
    return put_number(text, (double)x, true);
}

size_t decimal_double(char text[DECIMAL_MAX], double x)
{
    return put_number(text, x, false);
}
