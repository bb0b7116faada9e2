#include "emit/number.h"

#include "base/decimal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- into memory of the caller ----------------------------------------------------------------------------------- */

static size_t put(char *to, const char *text)
{
    const size_t n = strlen(text);
    memcpy(to, text, n + 1);
    return n;
}

/* The fewest digits that read back to the same value: 0.1f, not 0.100000001f. */
static size_t float_text(char *text, enum dtype dtype, double x)
{
    const bool is_double = dtype == DTYPE_DOUBLE;
    if (isnan(x))
        return put(text, is_double ? "STEPC_NAN" : "STEPC_NANF");
    if (isinf(x))
        return (size_t)snprintf(text, NUMBER_MAX, "%sSTEPC_INF%s", x < 0 ? "-" : "", is_double ? "" : "F");
    size_t n = is_double ? decimal_double(text, x) : decimal_float(text, (float)x);
    if (!strpbrk(text, ".e"))
        n += put(text + n, ".0");
    if (!is_double)
        n += put(text + n, "f");
    return n;
}

static size_t int_text(char *text, enum dtype dtype, int64_t x)
{
    if (dtype == DTYPE_UINT64)
        return (size_t)snprintf(text, NUMBER_MAX, "UINT64_C(%" PRIu64 ")", (uint64_t)x);
    if (dtype == DTYPE_UINT32)
        return (size_t)snprintf(text, NUMBER_MAX, "%" PRId64 "u", x);
    if (x == INT64_MIN)
        return put(text, "INT64_MIN");
    if (dtype == DTYPE_INT32 && x == INT32_MIN)
        return put(text, "INT32_MIN");
    return (size_t)snprintf(text, NUMBER_MAX, x > INT32_MAX || x < -INT32_MAX ? "INT64_C(%" PRId64 ")" : "%" PRId64, x);
}

/* Floats of 16 bits and less: the bit pattern. */
static size_t pattern_text(char *text, const struct tensor *t, int64_t i)
{
    uint16_t bits;
    if (dtype_size(t->dtype) == 1)
        return (size_t)snprintf(text, NUMBER_MAX, "0x%02x", (unsigned)((const unsigned char *)t->data)[i]);
    memcpy(&bits, (const unsigned char *)t->data + (size_t)i * sizeof bits, sizeof bits);
    return (size_t)snprintf(text, NUMBER_MAX, "0x%04x", (unsigned)bits);
}

size_t number_text(char text[NUMBER_MAX], const struct tensor *t, int64_t i)
{
    if (dtype_is_pattern(t->dtype))
        return pattern_text(text, t, i);
    return dtype_is_float(t->dtype) ? float_text(text, t->dtype, tensor_get_double(t, i))
                                    : int_text(text, t->dtype, tensor_get_int(t, i));
}

/* ---- in an arena ------------------------------------------------------------------------------------------------- */

const char *number_float(struct arena *a, enum dtype dtype, double x)
{
    char text[NUMBER_MAX];
    return arena_strndup(a, text, float_text(text, dtype, x));
}

const char *number_int(struct arena *a, enum dtype dtype, int64_t x)
{
    char text[NUMBER_MAX];
    return arena_strndup(a, text, int_text(text, dtype, x));
}

const char *number_element(struct arena *a, const struct tensor *t, int64_t i)
{
    char text[NUMBER_MAX];
    return arena_strndup(a, text, number_text(text, t, i));
}
