#include "base/clean.h"

#include "base/str.h"
#include <errno.h>
#include <stdint.h>
#include <string.h>

bool utf8_continues(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

size_t utf8_character(const char *text, size_t left)
{
    const unsigned char *const s = (const unsigned char *)text;
    if (s[0] < 0x80)
        return 1;
    const size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4 || n > left)
        return 0;
    for (size_t i = 1; i < n; i++)
        if (!utf8_continues(text[i]))
            return 0;
    const bool overlong = (s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xf0 && s[1] < 0x90);
    const bool beyond = (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf4 && s[1] >= 0x90);
    return overlong || beyond ? 0 : n;
}

static bool is_unsafe(const unsigned char *s, size_t length)
{
    if (length < 2)
        return length == 0 || s[0] < 0x20 || s[0] == 0x7f;
    const bool control = s[0] == 0xc2 && s[1] < 0xa0;
    const bool letter_mark = s[0] == 0xd8 && s[1] == 0x9c;
    const bool marks = s[0] == 0xe2 && s[1] == 0x80 && (s[2] == 0x8e || s[2] == 0x8f || (s[2] >= 0xa8 && s[2] <= 0xae));
    const bool isolates = s[0] == 0xe2 && s[1] == 0x81 && s[2] >= 0xa6 && s[2] <= 0xa9;
    return control || letter_mark || marks || isolates;
}

size_t clean_next(const char *s, bool *unsafe)
{
    const size_t length = utf8_character(s, SIZE_MAX);
    *unsafe = is_unsafe((const unsigned char *)s, length);
    return length > 0 ? length : 1;
}

static size_t safe_bytes(const char *text)
{
    bool unsafe = false;
    size_t n = 0;
    while (text[n]) {
        const size_t length = clean_next(text + n, &unsafe);
        if (unsafe)
            break;
        n += length;
    }
    return n;
}

/* Appends it with what is unsafe as \xNN. */
static void add_clean(struct strbuf *b, const char *text)
{
    while (*text) {
        bool unsafe;
        const size_t safe = safe_bytes(text);
        strbuf_add_n(b, text, safe);
        text += safe;
        for (size_t n = *text ? clean_next(text, &unsafe) : 0; n > 0; n--) {
            char number[8];
            strbuf_add_n(b, number, (size_t)snprintf(number, sizeof number, "\\x%02X", (unsigned char)*text++));
        }
    }
}

const char *clean_text(struct arena *a, const char *text)
{
    if (!text[safe_bytes(text)])
        return text;
    struct strbuf b = {.arena = a};
    add_clean(&b, text);
    return strbuf_text(&b);
}

/* ---- printf() whose strings are cleaned -------------------------------------------------------------------------- */

static void add_padded(struct strbuf *b, const char *text, int width, int precision, bool left)
{
    struct strbuf whole = {.arena = b->arena};
    add_clean(&whole, text);
    const size_t n = precision >= 0 && (size_t)precision < whole.length ? (size_t)precision : whole.length;
    const size_t blanks = width > 0 && (size_t)width > n ? (size_t)width - n : 0;
    for (size_t i = 0; !left && i < blanks; i++)
        strbuf_add_n(b, " ", 1);
    strbuf_add_n(b, strbuf_text(&whole), n);
    for (size_t i = 0; left && i < blanks; i++)
        strbuf_add_n(b, " ", 1);
}

/* A number at the place of a star, or the digits that stand there; -1: neither. */
static const char *read_count(const char *at, va_list *args, int *out)
{
    *out = -1;
    if (*at == '*') {
        *out = va_arg(*args, int);
        return at + 1;
    }
    for (; *at >= '0' && *at <= '9'; at++)
        *out = (*out < 0 ? 0 : *out) * 10 + (*at - '0');
    return at;
}

enum { NUMBER_MOST = 400 }; /* the largest double has 309 digits in front of its point */

/* Numbers: the C library prints them, in the largest type of their kind. */
static void add_number(struct strbuf *b, const char *flags, int flag_count, int width, int precision, const char *size,
                       char conversion, va_list *args)
{
    char spec[64], text[NUMBER_MOST];
    const bool is_double = strchr("aefgEG", conversion) != NULL, is_signed = conversion == 'd' || conversion == 'i';
    int n = snprintf(spec, sizeof spec, "%%%.*s", flag_count, flags);
    if (width >= 0)
        n += snprintf(spec + n, sizeof spec - (size_t)n, "%d", width);
    if (precision >= 0)
        n += snprintf(spec + n, sizeof spec - (size_t)n, ".%d", precision);
    snprintf(spec + n, sizeof spec - (size_t)n, "%s%c", is_double ? "" : "ll", conversion);
    const bool is_long = *size == 'l' && size[1] != 'l', is_longest = *size == 'l' && size[1] == 'l',
               is_size = *size == 'z';
    if (is_double)
        n = snprintf(text, sizeof text, spec, va_arg(*args, double));
    else if (is_signed)
        n = snprintf(text, sizeof text, spec,
                     is_longest ? va_arg(*args, long long)
                     : is_long  ? va_arg(*args, long)
                                : va_arg(*args, int));
    else
        n = snprintf(text, sizeof text, spec,
                     is_longest ? va_arg(*args, unsigned long long)
                     : is_size  ? (unsigned long long)va_arg(*args, size_t)
                     : is_long  ? va_arg(*args, unsigned long)
                                : va_arg(*args, unsigned));
    if (n < 0 || n >= (int)sizeof text)
        UNREACHABLE("a number with %d characters", n);
    strbuf_add_n(b, text, (size_t)n);
}

static const char *add_conversion(struct strbuf *b, const char *fmt, va_list *args)
{
    const char *const flags = fmt, *at = fmt + strspn(fmt, "-+ #0");
    const int flag_count = (int)(at - flags);
    const bool left = memchr(flags, '-', (size_t)flag_count) != NULL;
    int width, precision = -1;
    at = read_count(at, args, &width);
    if (*at == '.') {
        at = read_count(at + 1, args, &precision);
        precision = precision < 0 && at[-1] == '.' ? 0 : precision;
    }
    const char *const size = at;
    at += strspn(at, "lz");
    switch (*at) {
    case '%': strbuf_add_n(b, "%", 1); break;
    case 's': add_padded(b, va_arg(*args, const char *), width, precision, left); break;
    case 'c': add_padded(b, (char[]){(char)va_arg(*args, int), '\0'}, width, -1, left); break;
    default:
        if (!*at || !strchr("diuxXaefgEG", *at))
            UNREACHABLE("clean_format cannot format \"%s\"", fmt);
        add_number(b, flags, flag_count, width, precision, size, *at, args);
    }
    return at + 1;
}

void clean_format(struct strbuf *b, const char *fmt, va_list args)
{
    struct strbuf plain = *b; /* what is added here is clean already */
    va_list own;
    plain.clean = false;
    va_copy(own, args);
    while (*fmt) {
        const size_t n = strcspn(fmt, "%");
        strbuf_add_n(&plain, fmt, n);
        fmt += n;
        if (*fmt)
            fmt = add_conversion(&plain, fmt + 1, &own);
    }
    va_end(own);
    plain.clean = b->clean;
    *b = plain;
}

static const char *formatted(struct arena *a, const char *fmt, va_list args)
{
    struct strbuf b = {.arena = a, .clean = true};
    strbuf_addv(&b, fmt, args);
    return strbuf_text(&b);
}

/* ---- to a file --------------------------------------------------------------------------------------------------- */

void clean_print(FILE *to, const char *text)
{
    struct arena scratch = {0};
    fputs(clean_text(&scratch, text), to);
    arena_free(&scratch);
}

void say_text(const char *fmt, ...)
{
    struct arena scratch = {0};
    va_list args;
    va_start(args, fmt);
    fputs(formatted(&scratch, fmt, args), stderr);
    va_end(args);
    arena_free(&scratch);
}

/* ---- to stdout --------------------------------------------------------------------------------------------------- */

static int first_error; /* why the first piece that did not arrive did not */

void print_lines(const char *text)
{
    const size_t length = strlen(text);
    errno = 0;
    if (fwrite(text, 1, length, stdout) != length && first_error == 0)
        first_error = errno;
}

void print_text(const char *fmt, ...)
{
    struct arena scratch = {0};
    va_list args;
    va_start(args, fmt);
    print_lines(formatted(&scratch, fmt, args));
    va_end(args);
    arena_free(&scratch);
}

void print_flush(void)
{
    errno = 0;
    if (fflush(stdout) != 0 && first_error == 0)
        first_error = errno;
}

bool print_end(void)
{
    print_flush();
    if (first_error == 0 && ferror(stdout))
        first_error = EIO; /* of a piece that was not put here */
    errno = first_error;
    return first_error == 0;
}
