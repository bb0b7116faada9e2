#include "graph/dim_expression.h"

#include "base/checked.h"
#include "base/str.h"
#include <string.h>

enum { DEEPEST = 32 };

struct parser {
    const char *at;
    struct arena *arena;
    dim_lookup *lookup;
    const void *context;
    int depth;
    bool failed;
};

static bool starts_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t name_length(const char *text)
{
    size_t n = 0;
    while (starts_name(text[n]) || is_digit(text[n]) || text[n] == '.')
        n++;
    return n;
}

static int64_t fail(struct parser *p)
{
    p->failed = true;
    return 0;
}

static char next(struct parser *p)
{
    p->at += strspn(p->at, " ");
    return *p->at;
}

static bool take(struct parser *p, const char *what)
{
    next(p);
    if (!str_starts_with(p->at, what))
        return false;
    p->at += strlen(what);
    return true;
}

static int64_t parse_sum(struct parser *p);

static int64_t parse_number(struct parser *p)
{
    int64_t x = 0;
    for (; is_digit(*p->at); p->at++)
        if (!checked_mul(x, 10, &x) || !checked_add(x, *p->at - '0', &x))
            return fail(p);
    return x;
}

static int64_t parse_atom(struct parser *p)
{
    const char c = next(p);
    if (is_digit(c))
        return parse_number(p);
    if (starts_name(c)) {
        const size_t n = name_length(p->at);
        const int64_t size = p->lookup(p->context, arena_strndup(p->arena, p->at, n));
        p->at += n;
        return size >= 0 ? size : fail(p);
    }
    if (!take(p, "(") || ++p->depth > DEEPEST)
        return fail(p);
    const int64_t x = parse_sum(p);
    p->depth--;
    return take(p, ")") ? x : fail(p);
}

/* Rounds down, as Python's // does. */
static int64_t divide(struct parser *p, int64_t a, int64_t b, bool exactly)
{
    if (b <= 0 || (exactly && a % b != 0))
        return fail(p);
    return a / b - (a % b < 0);
}

static int64_t parse_product(struct parser *p)
{
    int64_t x = parse_atom(p);
    while (!p->failed) {
        if (take(p, "*")) {
            if (!checked_mul(x, parse_atom(p), &x))
                return fail(p);
        } else if (take(p, "//")) {
            x = divide(p, x, parse_atom(p), false);
        } else if (take(p, "/")) {
            x = divide(p, x, parse_atom(p), true);
        } else if (take(p, "%")) {
            const int64_t b = parse_atom(p), rest = b > 0 ? x % b : fail(p);
            x = rest < 0 ? rest + b : rest;
        } else {
            break;
        }
    }
    return x;
}

static int64_t parse_sum(struct parser *p)
{
    int64_t x = parse_product(p);
    while (!p->failed) {
        const bool plus = take(p, "+");
        if (!plus && !take(p, "-"))
            break;
        int64_t y = parse_product(p);
        if (p->failed || !checked_mul(y, plus ? 1 : -1, &y) || !checked_add(x, y, &x))
            return fail(p);
    }
    return x;
}

bool dim_is_expression(const char *text)
{
    return text[0] != '\0' && (!starts_name(text[0]) || text[name_length(text)] != '\0');
}

int64_t dim_expression_size(struct arena *a, const char *text, dim_lookup *lookup, const void *context)
{
    struct parser p = {.at = text, .arena = a, .lookup = lookup, .context = context};
    const int64_t x = parse_sum(&p);
    return !p.failed && next(&p) == '\0' && x >= 0 ? x : -1;
}

const char *dim_expression_bind(struct arena *a, const char *text, const char *symbol, int64_t size)
{
    const char *const all = text;
    struct strbuf out = {.arena = a};
    bool found = false;
    while (*text != '\0') {
        const size_t n = starts_name(*text) ? name_length(text) : 1;
        const bool is_it = strlen(symbol) == n && strncmp(text, symbol, n) == 0;
        found = found || is_it;
        if (is_it)
            strbuf_addf(&out, "%lld", (long long)size);
        else
            strbuf_addf(&out, "%.*s", (int)n, text);
        text += n;
    }
    return found ? strbuf_text(&out) : all;
}
