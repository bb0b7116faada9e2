#include "emit/number.h"

#include "base/str.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shortest of %.6g .. %.17g that reads back to the same value: 0.1f, not 0.100000001f. */
static void shortest(char *text, size_t size, enum dtype dtype, double x)
{
    const int most = dtype == DTYPE_DOUBLE ? 17 : 9;
    for (int digits = 1; digits <= most; digits++) {
        snprintf(text, size, "%.*g", digits, x);
        const bool same = dtype == DTYPE_DOUBLE ? strtod(text, NULL) == x : strtof(text, NULL) == (float)x;
        if (same)
            return;
    }
}

const char *number_float(struct arena *a, enum dtype dtype, double x)
{
    const char *suffix = dtype == DTYPE_DOUBLE ? "" : "f";
    if (isnan(x))
        return arena_printf(a, "STEPC_NAN%s", dtype == DTYPE_DOUBLE ? "" : "F");
    if (isinf(x))
        return arena_printf(a, "%sSTEPC_INF%s", x < 0 ? "-" : "", dtype == DTYPE_DOUBLE ? "" : "F");
    char text[64];
    shortest(text, sizeof text, dtype, x);
    const char *point = strpbrk(text, ".e") ? "" : ".0";
    return arena_printf(a, "%s%s%s", text, point, suffix);
}

const char *number_int(struct arena *a, enum dtype dtype, int64_t x)
{
    if (dtype == DTYPE_UINT64)
        return arena_printf(a, "UINT64_C(%" PRIu64 ")", (uint64_t)x);
    if (dtype == DTYPE_UINT32)
        return arena_printf(a, "%" PRId64 "u", x);
    if (x == INT64_MIN)
        return "INT64_MIN";
    if (dtype == DTYPE_INT32 && x == INT32_MIN)
        return "INT32_MIN";
    if (x > INT32_MAX || x < -INT32_MAX)
        return arena_printf(a, "INT64_C(%" PRId64 ")", x);
    return arena_printf(a, "%" PRId64, x);
}

const char *number_element(struct arena *a, const struct tensor *t, int64_t i)
{
    if (dtype_is_float(t->dtype))
        return number_float(a, t->dtype, tensor_get_double(t, i));
    return number_int(a, t->dtype, tensor_get_int(t, i));
}
