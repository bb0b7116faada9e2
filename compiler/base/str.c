#include "base/str.h"
#include "base/clean.h"
#include "base/checked.h"
#include "base/format.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* And for a NUL. */
void strbuf_reserve(struct strbuf *b, size_t n)
{
    size_t needed;
    if (!checked_add_size(b->length, n, &needed) || !checked_add_size(needed, 1, &needed))
        UNREACHABLE("a text of more than SIZE_MAX bytes");
    if (needed <= b->capacity)
        return;
    size_t capacity = b->capacity < 64 ? 64 : b->capacity;
    while (capacity < needed && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    if (capacity < needed)
        capacity = needed;
    char *text = arena_array(b->arena, char, capacity);
    if (b->length != 0)
        memcpy(text, b->text, b->length);
    b->text = text;
    b->capacity = capacity;
}

void strbuf_add_n(struct strbuf *b, const char *s, size_t n)
{
    strbuf_reserve(b, n);
    if (n != 0)
        memcpy(b->text + b->length, s, n);
    b->length += n;
    b->text[b->length] = '\0';
}

void strbuf_add(struct strbuf *b, const char *s)
{
    strbuf_add_n(b, s, strlen(s));
}

void strbuf_addv(struct strbuf *b, const char *fmt, va_list args)
{
    if (b->clean) {
        clean_format(b, fmt, args);
        return;
    }
    va_list again;
    va_copy(again, args);
    const size_t room = b->capacity - b->length;
    const int length = format_text(room == 0 ? NULL : b->text + b->length, room, fmt, args);
    if (length < 0)
        UNREACHABLE("strbuf_addv cannot format \"%s\"", fmt);
    if ((size_t)length >= room) {
        strbuf_reserve(b, (size_t)length);
        format_text(b->text + b->length, (size_t)length + 1, fmt, again);
    }
    va_end(again);
    b->length += (size_t)length;
}

void strbuf_addf(struct strbuf *b, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    strbuf_addv(b, fmt, args);
    va_end(args);
}

const char *strbuf_text(const struct strbuf *b)
{
    return b->text == NULL ? "" : b->text;
}

bool str_equal(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return strcmp(a, b) == 0;
}

bool str_starts_with(const char *s, const char *prefix)
{
    return strncmp(s, prefix, strlen(prefix)) == 0;
}

bool str_ends_with(const char *s, const char *suffix)
{
    const size_t length = strlen(s), tail = strlen(suffix);
    return length >= tail && strcmp(s + length - tail, suffix) == 0;
}

/* On a mismatch only the last star can usefully swallow one more character, so no recursion is needed and the time is
 * at most the product of the lengths. */
bool str_glob(const char *pattern, const char *name)
{
    const char *star = NULL, *resume = NULL;
    while (*name != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            resume = name;
        } else if (*pattern == '?' || *pattern == *name) {
            pattern++;
            name++;
        } else if (star != NULL) {
            pattern = star;
            name = ++resume;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

enum { DISTANCE_LONGEST = 255 };

/* Two rows of the usual table would do; one is enough, the diagonal kept aside. Where the differing middles are longer
 * than a row the answer is `limit`: nobody mistypes names of that length. */
size_t str_distance(const char *a, const char *b, size_t limit)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    size_t m = strlen(a), n = strlen(b);
    while (m != 0 && n != 0 && a[m - 1] == b[n - 1]) {
        m--;
        n--;
    }
    if (m == 0 || n == 0)
        return m + n < limit ? m + n : limit;
    if (m > DISTANCE_LONGEST || n > DISTANCE_LONGEST)
        return limit;
    size_t row[DISTANCE_LONGEST + 1]; /* row[j]: from a[0..i) to b[0..j) */
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= m; i++) {
        size_t diagonal = row[0], smallest = row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
            if (best < smallest)
                smallest = best;
        }
        if (smallest >= limit)
            return limit;
    }
    return row[n] < limit ? row[n] : limit;
}

const char *str_closest(const char *s, const char *const *names, size_t count)
{
    const char *closest = NULL;
    size_t limit = strlen(s) / 3 + 1; /* one more than what is still accepted */
    for (size_t i = 0; i < count; i++) {
        const size_t distance = str_distance(s, names[i], limit);
        if (distance < limit) {
            closest = names[i];
            limit = distance;
        }
    }
    return closest;
}

static bool may_start_number(char c)
{
    return c != '\0' && strchr(" \t\n\v\f\r", c) == NULL; /* strtoll and strtod would skip these */
}

bool str_to_int64(const char *s, long long *out)
{
    if (!may_start_number(*s))
        return false;
    char *end;
    errno = 0;
    const long long x = strtoll(s, &end, 10);
    if (errno != 0 || end == s || *end != '\0')
        return false;
    *out = x;
    return true;
}

const char *str_suggestion(struct arena *a, const char *s, const char *const *names, size_t count)
{
    const char *const close = str_closest(s, names, count);
    return close ? arena_printf(a, "; did you mean '%s'?", close) : "";
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void str_sort(const char **names, size_t count)
{
    if (count > 0)
        qsort(names, count, sizeof *names, by_text);
}

const char *str_plural(size_t n)
{
    return n == 1 ? "" : "s";
}

bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool str_list_has(const str_list *l, const char *s)
{
    vec_each(const char *, own, l)
        if (str_equal(own, s))
            return true;
    return false;
}

void str_list_add(struct arena *a, str_list *l, const char *s)
{
    if (!str_list_has(l, s))
        vec_push(a, l, s);
}

/* strtod() follows the locale's decimal point, but none of our programs calls setlocale(): the locale is "C" always.
 * What is too small for a double becomes the nearest one, perhaps 0; what is too large is refused. Hexadecimal floats,
 * "inf" and "nan" are numbers too. */
bool str_to_double(const char *s, double *out)
{
    if (!may_start_number(*s))
        return false;
    char *end;
    errno = 0;
    const double x = strtod(s, &end);
    if (end == s || *end != '\0' || (errno == ERANGE && (x == HUGE_VAL || x == -HUGE_VAL)))
        return false;
    *out = x;
    return true;
}
