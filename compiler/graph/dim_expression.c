#include "graph/dim_expression.h"

#include "base/checked.h"
#include "base/str.h"
#include <string.h>

enum { DEEPEST = 32 };

struct dim_parser {
    const char *at;
    struct arena *arena;
    dim_lookup *lookup;
    const void *context;
    int depth;
    bool failed;
};

static size_t name_length(const char *text)
{
    size_t n = 0;
    while (is_letter(text[n]) || is_digit(text[n]) || text[n] == '.')
        n++;
    return n;
}

/* A fraction in its lowest terms: floor(length/2 - 1/2) has halves on the way. */
struct ratio {
    int64_t above, below; /* below > 0 */
};

static struct ratio fail(struct dim_parser *p)
{
    p->failed = true;
    return (struct ratio){0, 1};
}

static struct ratio ratio(struct dim_parser *p, int64_t above, int64_t below)
{
    int64_t a = above, b = below;
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    if (below <= 0 || above == INT64_MIN)
        return fail(p);
    a = a < 0 ? -a : a;
    return (struct ratio){above / a, below / a};
}

static struct ratio add(struct dim_parser *p, struct ratio x, struct ratio y)
{
    int64_t a, b, below;
    if (!checked_mul(x.above, y.below, &a) || !checked_mul(y.above, x.below, &b) || !checked_add(a, b, &a) ||
        !checked_mul(x.below, y.below, &below))
        return fail(p);
    return ratio(p, a, below);
}

static struct ratio multiply(struct dim_parser *p, struct ratio x, struct ratio y)
{
    int64_t above, below;
    if (!checked_mul(x.above, y.above, &above) || !checked_mul(x.below, y.below, &below))
        return fail(p);
    return ratio(p, above, below);
}

/* Sizes are divided by positive numbers only. */
static struct ratio divide(struct dim_parser *p, struct ratio x, struct ratio y)
{
    return y.above > 0 ? multiply(p, x, (struct ratio){y.below, y.above}) : fail(p);
}

static struct ratio round_down(struct ratio x)
{
    return (struct ratio){x.above / x.below - (x.above % x.below < 0), 1};
}

static struct ratio negative(struct ratio x)
{
    return (struct ratio){-x.above, x.below}; /* never INT64_MIN, see ratio() */
}

static struct ratio round_up_ratio(struct ratio x)
{
    return negative(round_down(negative(x)));
}

static bool is_less(struct dim_parser *p, struct ratio x, struct ratio y)
{
    return add(p, x, negative(y)).above < 0;
}

static char next(struct dim_parser *p)
{
    p->at += strspn(p->at, " ");
    return *p->at;
}

static bool take(struct dim_parser *p, const char *what)
{
    next(p);
    if (!str_starts_with(p->at, what))
        return false;
    p->at += strlen(what);
    return true;
}

static struct ratio parse_sum(struct dim_parser *p);

static struct ratio parse_number(struct dim_parser *p)
{
    int64_t x = 0;
    for (; is_digit(*p->at); p->at++)
        if (!checked_mul(x, 10, &x) || !checked_add(x, *p->at - '0', &x))
            return fail(p);
    return (struct ratio){x, 1};
}

enum function { FLOOR, CEILING, LARGEST, SMALLEST };

static const struct {
    const char *name;
    enum function function;
} functions[] = {{"floor", FLOOR}, {"ceil", CEILING}, {"ceiling", CEILING}, {"max", LARGEST},
                 {"Max", LARGEST}, {"min", SMALLEST}, {"Min", SMALLEST}};

/* From behind the '(' of a call. */
static struct ratio parse_call(struct dim_parser *p, enum function f)
{
    struct ratio x = parse_sum(p);
    while (!p->failed && (f == LARGEST || f == SMALLEST) && take(p, ",")) {
        const struct ratio y = parse_sum(p);
        if (is_less(p, x, y) == (f == LARGEST))
            x = y;
    }
    if (p->failed || !take(p, ")"))
        return fail(p);
    return f == FLOOR ? round_down(x) : f == CEILING ? round_up_ratio(x) : x;
}

static struct ratio parse_name(struct dim_parser *p)
{
    const size_t n = name_length(p->at);
    const char *const name = arena_strndup(p->arena, p->at, n);
    p->at += n;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_equal(name, functions[i].name) && take(p, "("))
            return parse_call(p, functions[i].function);
    const int64_t size = p->lookup(p->context, name);
    return size >= 0 ? (struct ratio){size, 1} : fail(p);
}

static struct ratio parse_parenthesis(struct dim_parser *p)
{
    const struct ratio x = take(p, "(") ? parse_sum(p) : fail(p);
    return take(p, ")") ? x : fail(p);
}

static struct ratio parse_factor(struct dim_parser *p)
{
    if (++p->depth > DEEPEST)
        return fail(p);
    const char c = next(p);
    const struct ratio x = is_digit(c)      ? parse_number(p)
                           : is_letter(c)   ? parse_name(p)
                           : take(p, "-")   ? negative(parse_factor(p))
                                            : parse_parenthesis(p);
    p->depth--;
    return x;
}

/* x - y floor(x / y), as Python's % */
static struct ratio remainder_of(struct dim_parser *p, struct ratio x, struct ratio y)
{
    return add(p, x, negative(multiply(p, y, round_down(divide(p, x, y)))));
}

static struct ratio parse_product(struct dim_parser *p)
{
    struct ratio x = parse_factor(p);
    while (!p->failed) {
        if (take(p, "*"))
            x = multiply(p, x, parse_factor(p));
        else if (take(p, "//"))
            x = round_down(divide(p, x, parse_factor(p)));
        else if (take(p, "/"))
            x = divide(p, x, parse_factor(p));
        else if (take(p, "%"))
            x = remainder_of(p, x, parse_factor(p));
        else
            break;
    }
    return x;
}

static struct ratio parse_sum(struct dim_parser *p)
{
    struct ratio x = parse_product(p);
    while (!p->failed) {
        if (take(p, "+"))
            x = add(p, x, parse_product(p));
        else if (take(p, "-"))
            x = add(p, x, negative(parse_product(p)));
        else
            break;
    }
    return x;
}

bool dim_is_expression(const char *text)
{
    return text[0] != '\0' && (!is_letter(text[0]) || text[name_length(text)] != '\0');
}

int64_t dim_expression_size(struct arena *a, const char *text, dim_lookup *lookup, const void *context)
{
    struct dim_parser p = {.at = text, .arena = a, .lookup = lookup, .context = context};
    const struct ratio x = parse_sum(&p);
    return !p.failed && next(&p) == '\0' && x.below == 1 && x.above >= 0 ? x.above : -1;
}

static bool is_function(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_equal(name, functions[i].name))
            return true;
    return false;
}

void dim_expression_names(struct arena *a, const char *text, str_list *out)
{
    while (*text != '\0') {
        const size_t n = is_letter(*text) || is_digit(*text) ? name_length(text) : 1;
        const char *const name = arena_strndup(a, text, n);
        if (is_letter(*text) && !(is_function(name) && text[n] == '('))
            str_list_add(a, out, name);
        text += n;
    }
}

static int64_t any_size(const void *context, const char *symbol)
{
    (void)context, (void)symbol;
    return 2520;
}

void dim_expression_symbols(struct arena *a, const char *text, str_list *out)
{
    if (dim_is_expression(text) && dim_expression_size(a, text, any_size, NULL) >= 0)
        dim_expression_names(a, text, out);
    else
        str_list_add(a, out, text);
}

const char *dim_expression_bind(struct arena *a, const char *text, const char *symbol, int64_t size)
{
    const char *const all = text;
    struct strbuf out = {.arena = a};
    bool found = false;
    while (*text != '\0') {
        const size_t n = is_letter(*text) ? name_length(text) : 1;
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
