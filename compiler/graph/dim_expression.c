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

/* ---- numbers that may depend on the program's range -------------------------------------------------------------- */

struct number {
    struct ratio most, per; /* as struct size has them */
    bool affine;
};

static struct number failed(struct dim_parser *p)
{
    return (struct number){fail(p), {0, 1}, true};
}

static struct number constant(int64_t x)
{
    return (struct number){{x, 1}, {0, 1}, true};
}

static struct number sum(struct dim_parser *p, struct number x, struct number y)
{
    return (struct number){add(p, x.most, y.most), add(p, x.per, y.per), x.affine && y.affine};
}

static struct number minus(struct number x)
{
    return (struct number){negative(x.most), negative(x.per), x.affine};
}

static struct number product(struct dim_parser *p, struct number x, struct number y)
{
    const struct ratio per = add(p, multiply(p, x.per, y.most), multiply(p, y.per, x.most));
    return (struct number){multiply(p, x.most, y.most), per,
                           x.affine && y.affine && (x.per.above == 0 || y.per.above == 0)};
}

static struct number quotient(struct dim_parser *p, struct number x, struct number y)
{
    return (struct number){divide(p, x.most, y.most), divide(p, x.per, y.most),
                           x.affine && y.affine && y.per.above == 0};
}

static struct number rounded(struct number x, bool up)
{
    return (struct number){up ? round_up_ratio(x.most) : round_down(x.most), x.per, x.affine && x.per.below == 1};
}

/* The larger one, or the smaller. Which one it is may differ from count to count. */
static struct number chosen(struct dim_parser *p, struct number x, struct number y, bool larger)
{
    struct number z = (add(p, x.most, negative(y.most)).above < 0) == larger ? y : x;
    z.affine = x.affine && y.affine && x.per.above == y.per.above && x.per.below == y.per.below;
    return z;
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

static struct number parse_sum(struct dim_parser *p);

static struct number parse_number(struct dim_parser *p)
{
    int64_t x = 0;
    for (; is_digit(*p->at); p->at++)
        if (!checked_mul(x, 10, &x) || !checked_add(x, *p->at - '0', &x))
            return failed(p);
    return constant(x);
}

enum function { FLOOR, CEILING, LARGEST, SMALLEST };

static const struct {
    const char *name;
    enum function function;
} functions[] = {{"floor", FLOOR}, {"ceil", CEILING}, {"ceiling", CEILING}, {"max", LARGEST},
                 {"Max", LARGEST}, {"min", SMALLEST}, {"Min", SMALLEST}};

/* From behind the '(' of a call. */
static struct number parse_call(struct dim_parser *p, enum function f)
{
    struct number x = parse_sum(p);
    while (!p->failed && (f == LARGEST || f == SMALLEST) && take(p, ","))
        x = chosen(p, x, parse_sum(p), f == LARGEST);
    if (p->failed || !take(p, ")"))
        return failed(p);
    return f == FLOOR || f == CEILING ? rounded(x, f == CEILING) : x;
}

static struct number parse_name(struct dim_parser *p)
{
    const size_t n = name_length(p->at);
    const char *const name = arena_strndup(p->arena, p->at, n);
    p->at += n;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (str_equal(name, functions[i].name) && take(p, "("))
            return parse_call(p, functions[i].function);
    const struct size size = p->lookup(p->context, name);
    const bool affine = size.per != NOT_AFFINE;
    return size.most >= 0 ? (struct number){{size.most, 1}, {affine ? size.per : 0, 1}, affine} : failed(p);
}

static struct number parse_parenthesis(struct dim_parser *p)
{
    const struct number x = take(p, "(") ? parse_sum(p) : failed(p);
    return take(p, ")") ? x : failed(p);
}

static struct number parse_factor(struct dim_parser *p)
{
    if (++p->depth > DEEPEST)
        return failed(p);
    const char c = next(p);
    const struct number x = is_digit(c)    ? parse_number(p)
                            : is_letter(c) ? parse_name(p)
                            : take(p, "-") ? minus(parse_factor(p))
                                           : parse_parenthesis(p);
    p->depth--;
    return x;
}

/* x - y floor(x / y), as Python's % */
static struct number remainder_of(struct dim_parser *p, struct number x, struct number y)
{
    return sum(p, x, minus(product(p, y, rounded(quotient(p, x, y), false))));
}

static struct number parse_product(struct dim_parser *p)
{
    struct number x = parse_factor(p);
    while (!p->failed) {
        if (take(p, "*"))
            x = product(p, x, parse_factor(p));
        else if (take(p, "//"))
            x = rounded(quotient(p, x, parse_factor(p)), false);
        else if (take(p, "/"))
            x = quotient(p, x, parse_factor(p));
        else if (take(p, "%"))
            x = remainder_of(p, x, parse_factor(p));
        else
            break;
    }
    return x;
}

static struct number parse_sum(struct dim_parser *p)
{
    struct number x = parse_product(p);
    while (!p->failed) {
        if (take(p, "+"))
            x = sum(p, x, parse_product(p));
        else if (take(p, "-"))
            x = sum(p, x, minus(parse_product(p)));
        else
            break;
    }
    return x;
}

bool dim_is_expression(const char *text)
{
    return text[0] != '\0' && (!is_letter(text[0]) || text[name_length(text)] != '\0');
}

struct size dim_expression_size(struct arena *a, const char *text, dim_lookup *lookup, const void *context)
{
    struct dim_parser p = {.at = text, .arena = a, .lookup = lookup, .context = context};
    const struct number x = parse_sum(&p);
    if (p.failed || next(&p) != '\0' || x.most.below != 1 || x.most.above < 0)
        return size_constant(-1);
    return (struct size){x.most.above, x.affine && x.per.below == 1 ? x.per.above : NOT_AFFINE};
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

static struct size any_size(const void *context, const char *symbol)
{
    (void)context, (void)symbol;
    return size_constant(2520);
}

void dim_expression_symbols(struct arena *a, const char *text, str_list *out)
{
    if (dim_is_expression(text) && dim_expression_size(a, text, any_size, NULL).most >= 0)
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
