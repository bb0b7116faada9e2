#include "emit/number.h"

#include "base/decimal.h"
#include "base/str.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The fewest digits that read back to the same value: 0.1f, not 0.100000001f. */
const char *number_float(struct arena *a, enum dtype dtype, double x)
{
    const bool is_double = dtype == DTYPE_DOUBLE;
    char text[DECIMAL_MAX + 4];
    if (isnan(x))
        return is_double ? "STEPC_NAN" : "STEPC_NANF";
    if (isinf(x))
        return arena_printf(a, "%sSTEPC_INF%s", x < 0 ? "-" : "", is_double ? "" : "F");
    size_t n = is_double ? decimal_double(text, x) : decimal_float(text, (float)x);
    if (!strpbrk(text, ".e")) {
        memcpy(text + n, ".0", 2);
        n += 2;
    }
    if (!is_double)
        text[n++] = 'f';
    return arena_strndup(a, text, n);
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
