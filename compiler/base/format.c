#include "base/format.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* What fits into the room is written, all is counted. */
struct text {
    char *to;
    size_t room, length;
};

static void put(struct text *t, const char *s, size_t n)
{
    if (t->length < t->room)
        memcpy(t->to + t->length, s, n < t->room - t->length ? n : t->room - t->length);
    t->length += n;
}

static void put_integer(struct text *t, uint64_t magnitude, bool is_negative)
{
    char digits[24], *at = digits + sizeof digits;
    do
        *--at = (char)('0' + magnitude % 10);
    while ((magnitude /= 10) > 0);
    if (is_negative)
        *--at = '-';
    put(t, at, (size_t)(digits + sizeof digits - at));
}

static void put_signed(struct text *t, int64_t x)
{
    put_integer(t, x < 0 ? 0 - (uint64_t)x : (uint64_t)x, x < 0);
}

/* Does the format at `at`, behind the %, begin with `directive`? Then it moves behind it. */
static bool takes(const char **at, const char *directive)
{
    const size_t n = strlen(directive);
    if (strncmp(*at, directive, n) != 0)
        return false;
    *at += n;
    return true;
}

/* False: a directive that is left to the C library. */
static bool put_all(struct text *t, const char *format, va_list args)
{
    while (*format) {
        const size_t plain = strcspn(format, "%");
        put(t, format, plain);
        format += plain;
        if (*format++ == '\0')
            return true;
        if (takes(&format, "s")) {
            const char *const s = va_arg(args, const char *);
            if (s == NULL)
                return false;
            put(t, s, strlen(s));
        } else if (takes(&format, "d")) {
            put_signed(t, va_arg(args, int));
        } else if (takes(&format, "ld")) {
            put_signed(t, va_arg(args, long));
        } else if (takes(&format, "lld")) {
            put_signed(t, va_arg(args, long long));
        } else if (takes(&format, "u")) {
            put_integer(t, va_arg(args, unsigned), false);
        } else if (takes(&format, "zu")) {
            put_integer(t, va_arg(args, size_t), false);
        } else if (takes(&format, "c")) {
            const char c = (char)va_arg(args, int);
            put(t, &c, 1);
        } else if (takes(&format, "%")) {
            put(t, "%", 1);
        } else if (takes(&format, ".*s")) {
            const int most = va_arg(args, int);
            const char *const s = va_arg(args, const char *);
            if (most < 0 || s == NULL)
                return false;
            const char *const end = memchr(s, '\0', (size_t)most);
            put(t, s, end ? (size_t)(end - s) : (size_t)most);
        } else {
            return false;
        }
    }
    return true;
}

int format_args(char *to, size_t room, const char *format, va_list args)
{
    struct text t = {.to = to, .room = room};
    va_list again;
    va_copy(again, args);
    int length;
    if (!put_all(&t, format, args))
        length = vsnprintf(to, room, format, again);
    else
        length = t.length <= INT_MAX ? (int)t.length : -1;
    va_end(again);
    if (length >= 0 && room > 0)
        to[(size_t)length < room ? (size_t)length : room - 1] = '\0';
    return length;
}
