#include "base/format.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct sink {
    char *out;
    size_t room, length; /* length goes on behind room */
};

static void put(struct sink *s, const char *text, size_t n)
{
    if (s->length < s->room) {
        const size_t left = s->room - s->length;
        memcpy(s->out + s->length, text, n < left ? n : left);
    }
    s->length += n;
}

static void put_number(struct sink *s, bool minus, uint64_t x)
{
    char text[24], *p = text + sizeof text;
    do
        *--p = (char)('0' + x % 10);
    while ((x /= 10) != 0);
    if (minus)
        *--p = '-';
    put(s, p, (size_t)(text + sizeof text - p));
}

static void put_signed(struct sink *s, int64_t x)
{
    put_number(s, x < 0, x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
}

/* At most `precision` characters (all of them: -1), with blanks in front up to `width`. */
static void put_string(struct sink *s, const char *text, int width, int precision)
{
    const size_t n = precision < 0 ? strlen(text) : strnlen(text, (size_t)precision);
    for (size_t i = n; i < (size_t)width; i++)
        put(s, " ", 1);
    put(s, text, n);
}

/* How the arguments of a conversion are taken. */
enum conversion {
    OTHER, PERCENT, CHARACTER, STRING, INT, UNSIGNED, LONG, UNSIGNED_LONG, LONG_LONG, UNSIGNED_LONG_LONG, SIZE
};

static enum conversion kind_of(const char *conversion, size_t *length)
{
    static const struct {
        const char text[4];
        enum conversion kind;
    } kinds[] = {{"s", STRING}, {"d", INT},  {"u", UNSIGNED},       {"c", CHARACTER},   {"ld", LONG},
                 {"zu", SIZE},  {"%", PERCENT}, {"lu", UNSIGNED_LONG}, {"lld", LONG_LONG}, {"llu", UNSIGNED_LONG_LONG}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t n = 0;
        while (kinds[i].text[n] && conversion[n] == kinds[i].text[n])
            n++;
        if (!kinds[i].text[n]) {
            *length = n;
            return kinds[i].kind;
        }
    }
    return OTHER;
}

/* False, with part of the text written, at a conversion that is not known here. */
static bool put_all(struct sink *s, const char *fmt, va_list args)
{
    for (;;) {
        const char *const begin = fmt;
        while (*fmt && *fmt != '%')
            fmt++;
        put(s, begin, (size_t)(fmt - begin));
        if (!*fmt++)
            return true;
        const bool has_width = fmt[0] == '*', has_precision = fmt[has_width] == '.' && fmt[has_width + 1] == '*';
        fmt += (has_width ? 1 : 0) + (has_precision ? 2 : 0);
        size_t length;
        const enum conversion kind = kind_of(fmt, &length);
        if (kind == OTHER || ((has_width || has_precision) && kind != STRING))
            return false;
        fmt += length;
        char c;
        int64_t number;
        switch (kind) {
        case PERCENT: put(s, "%", 1); break;
        case CHARACTER:
            c = (char)va_arg(args, int);
            put(s, &c, 1);
            break;
        case STRING: {
            const int width = has_width ? va_arg(args, int) : 0, precision = has_precision ? va_arg(args, int) : -1;
            const char *const text = va_arg(args, const char *);
            if (width < 0 || !text)
                return false;
            put_string(s, text, width, precision);
            break;
        }
        case INT: number = va_arg(args, int); put_signed(s, number); break;
        case LONG: number = va_arg(args, long); put_signed(s, number); break;
        case LONG_LONG: number = va_arg(args, long long); put_signed(s, number); break;
        case UNSIGNED: put_number(s, false, va_arg(args, unsigned)); break;
        case UNSIGNED_LONG: put_number(s, false, va_arg(args, unsigned long)); break;
        case UNSIGNED_LONG_LONG: put_number(s, false, va_arg(args, unsigned long long)); break;
        case SIZE: put_number(s, false, va_arg(args, size_t)); break;
        case OTHER: break;
        }
    }
}

int format_text(char *out, size_t room, const char *fmt, va_list args)
{
    struct sink s = {out, room, 0};
    va_list own;
    va_copy(own, args);
    const bool done = put_all(&s, fmt, own);
    va_end(own);
    if (!done)
        return vsnprintf(out, room, fmt, args);
    if (room > 0)
        out[s.length < room ? s.length : room - 1] = '\0';
    return s.length <= INT_MAX ? (int)s.length : -1;
}
