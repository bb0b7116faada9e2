/* The sections of templates/ for one form of vectors (--simd): what the preprocessor would decide by the form is decided here, and
 * only the branch that remains is emitted. Conditions that depend on the target stay:
 *
 *   #if defined(__GNUC__) && STEPC_FORM == 2       --simd none: false, dropped
 *   #elif defined(__AVX512F__)                     becomes #if */
#include "emit/emit_internal.h"

#include "base/str.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- conditions -------------------------------------------------------------------------------------------------- */

struct macro {
    const char *name;
    bool defined;
    long value;
};

struct known {
    struct macro macros[2];
    size_t count;
};

static struct known known_of(int simd)
{
    const bool has_lanes = simd != SIMD_AUTO && simd != SIMD_NONE;
    return (struct known){.macros = {{"STEPC_VECTOR_BYTES", has_lanes, simd * (long)sizeof(float)}, {"STEPC_FORM", true, 0}},
                          .count = simd == SIMD_NONE ? 2 : 1};
}

struct outcome {
    bool known;
    long value;
};

struct condition {
    const struct known *known;
    const char *at;
};

static const struct macro *find_macro(const struct known *k, const char *name, size_t length)
{
    for (size_t i = 0; i < k->count; i++)
        if (strlen(k->macros[i].name) == length && !strncmp(k->macros[i].name, name, length))
            return &k->macros[i];
    return NULL;
}

static void skip_space(struct condition *c)
{
    c->at += strspn(c->at, " \t");
}

static bool take(struct condition *c, const char *text)
{
    skip_space(c);
    if (!str_starts_with(c->at, text))
        return false;
    c->at += strlen(text);
    return true;
}

static size_t word_length(const char *s)
{
    size_t n = 0;
    while (isalnum((unsigned char)s[n]) || s[n] == '_')
        n++;
    return n;
}

static const struct macro *take_name(struct condition *c)
{
    skip_space(c);
    const char *name = c->at;
    c->at += word_length(name);
    return find_macro(c->known, name, (size_t)(c->at - name));
}

static struct outcome parse_or(struct condition *c);

static struct outcome parse_operand(struct condition *c)
{
    struct outcome x = {0};
    if (take(c, "(")) {
        x = parse_or(c);
        take(c, ")");
        return x;
    }
    if (take(c, "!")) {
        x = parse_operand(c);
        return (struct outcome){x.known, !x.value};
    }
    skip_space(c);
    if (isdigit((unsigned char)*c->at)) {
        char *end;
        x = (struct outcome){true, strtol(c->at, &end, 0)};
        c->at = end + word_length(end);
        return x;
    }
    if (take(c, "defined")) {
        const bool bracket = take(c, "(");
        const struct macro *m = take_name(c);
        if (bracket)
            take(c, ")");
        return (struct outcome){m != NULL, m && m->defined};
    }
    if (word_length(c->at) == 0)
        UNREACHABLE("a condition of templates/ that this does not read: %s", c->at);
    const struct macro *m = take_name(c);
    return (struct outcome){m != NULL, m ? m->value : 0};
}

static struct outcome parse_comparison(struct condition *c)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">"};
    const struct outcome a = parse_operand(c);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        if (!take(c, operators[i]))
            continue;
        const struct outcome b = parse_operand(c);
        const long x = a.value, y = b.value;
        const bool values[] = {x == y, x != y, x <= y, x >= y, x < y, x > y};
        return (struct outcome){a.known && b.known, values[i]};
    }
    return a;
}

static struct outcome parse_and(struct condition *c)
{
    struct outcome a = parse_comparison(c);
    while (take(c, "&&")) {
        const struct outcome b = parse_comparison(c);
        const bool no = (a.known && !a.value) || (b.known && !b.value);
        a = (struct outcome){no || (a.known && b.known), !no};
    }
    return a;
}

static struct outcome parse_or(struct condition *c)
{
    struct outcome a = parse_and(c);
    while (take(c, "||")) {
        const struct outcome b = parse_and(c);
        const bool yes = (a.known && a.value) || (b.known && b.value);
        a = (struct outcome){yes || (a.known && b.known), yes};
    }
    return a;
}

static struct outcome evaluate(const struct known *known, const char *text)
{
    struct condition c = {known, text};
    return parse_or(&c);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* One #if that is open. */
struct branch {
    bool outer;   /* is the text around it emitted? */
    bool live;    /* and the branch at hand? */
    bool decided; /* a branch whose condition is known to be true was there: what follows is dropped */
    bool written; /* some #if of it stands in the text, which wants an #endif */
};

struct filter {
    struct known known;
    struct strbuf out;
    VEC(struct branch) open;
};

static bool is_live(const struct filter *f)
{
    return f->open.count == 0 || f->open.data[f->open.count - 1].live;
}

static void add_line(struct filter *f, const char *line)
{
    const size_t n = f->out.length;
    const bool after_blank = n == 0 || (n > 1 && f->out.text[n - 1] == '\n' && f->out.text[n - 2] == '\n');
    if (*line == '\0' && after_blank)
        return;
    strbuf_addf(&f->out, "%s\n", line);
}

/* The next branch of b begins with the directive `line`. */
static void begin_branch(struct filter *f, struct branch *b, struct outcome x, const char *line)
{
    const bool first = !b->written && str_starts_with(line, "#elif");
    b->live = b->outer && !b->decided && (!x.known || x.value);
    if (!b->live)
        return;
    if (!x.known)
        add_line(f, first ? arena_printf(f->out.arena, "#if%s", line + strlen("#elif")) : line);
    else if (b->written)
        add_line(f, "#else");
    b->written |= !x.known;
    b->decided = x.known;
}

static void open_branch(struct filter *f, struct outcome x, const char *line)
{
    struct branch b = {.outer = is_live(f)};
    begin_branch(f, &b, x, line);
    vec_push(f->out.arena, &f->open, b);
}

static void close_branch(struct filter *f)
{
    if (f->open.data[--f->open.count].written)
        add_line(f, "#endif");
}

/* Of #ifdef and #ifndef. */
static struct outcome is_defined(const struct known *known, const char *name, bool wanted)
{
    struct condition c = {known, name};
    const struct macro *m = take_name(&c);
    return (struct outcome){m != NULL, m && m->defined == wanted};
}

static void filter_line(struct filter *f, const char *line)
{
    struct branch *const b = f->open.count ? &f->open.data[f->open.count - 1] : NULL;
    if (str_starts_with(line, "#ifndef")) {
        open_branch(f, is_defined(&f->known, line + strlen("#ifndef"), false), line);
    } else if (str_starts_with(line, "#ifdef")) {
        open_branch(f, is_defined(&f->known, line + strlen("#ifdef"), true), line);
    } else if (str_starts_with(line, "#if")) {
        open_branch(f, evaluate(&f->known, line + strlen("#if")), line);
    } else if (str_starts_with(line, "#elif")) {
        begin_branch(f, b, evaluate(&f->known, line + strlen("#elif")), line);
    } else if (str_starts_with(line, "#else")) {
        begin_branch(f, b, (struct outcome){true, 1}, line);
    } else if (str_starts_with(line, "#endif")) {
        close_branch(f);
    } else if (is_live(f)) {
        add_line(f, line);
    }
}

static const char *macro_line(struct arena *a, const struct known *k)
{
    for (size_t i = k->count; i-- > 0;)
        if (k->macros[i].defined)
            return arena_printf(a, "#define %s %ld", k->macros[i].name, k->macros[i].value);
    return NULL;
}

const char *keep_form(struct arena *a, const char *text, int simd)
{
    struct filter f = {.known = known_of(simd), .out = {.arena = a}};
    const char *macro = macro_line(a, &f.known);
    if (macro) {
        add_line(&f, macro);
        add_line(&f, "");
    }
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, "\n");
        filter_line(&f, arena_strndup(a, p, n));
        p += n + (p[n] == '\n');
    }
    return strbuf_text(&f.out);
}
