/* Numbers and names for people. */
#include "base/clean.h"
#include "report/report_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const char *readable_grouped(struct arena *a, int64_t x)
{
    char digits[32];
    struct strbuf b = {.arena = a};
    const int n = snprintf(digits, sizeof digits, "%" PRId64, x);
    for (int i = 0; i < n; i++)
        strbuf_addf(&b, "%s%c", i && digits[i - 1] != '-' && (n - i) % 3 == 0 ? "," : "", digits[i]);
    return strbuf_text(&b);
}

/* Three digits at most, of the largest unit that leaves one in front of the point. */
static const char *with_unit(struct arena *a, int64_t x, double step, const char *const *units, int count)
{
    double v = (double)x;
    int u = 0;
    for (; u + 1 < count && v >= step; u++)
        v /= step;
    return u == 0 || v >= 99.95 ? arena_printf(a, "%.0f%s", v, units[u]) : arena_printf(a, "%.1f%s", v, units[u]);
}

const char *readable_bytes(struct arena *a, int64_t bytes)
{
    static const char *const units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    return with_unit(a, bytes, 1024, units, sizeof units / sizeof *units);
}

const char *readable_count(struct arena *a, int64_t count)
{
    static const char *const units[] = {"", " k", " M", " G", " T"};
    return with_unit(a, count, 1000, units, sizeof units / sizeof *units);
}

size_t readable_length(const char *text)
{
    size_t n = 0;
    for (; *text; text++)
        n += !utf8_continues(*text);
    return n;
}

const char *readable_shortened(struct arena *a, const char *text, size_t most)
{
    if (readable_length(text) <= most)
        return text;
    const char *end = text;
    for (size_t n = 0; *end && (n += !utf8_continues(*end)) < most;)
        end++;
    return arena_printf(a, "%.*s\xe2\x80\xa6", (int)(end - text), text);
}

const char *readable_type(struct arena *a, enum dtype d, const struct shape *s)
{
    return s->rank ? arena_printf(a, "%s %s", shape_text(a, s), dtype_name(d)) : dtype_name(d);
}
