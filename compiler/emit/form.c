/* The sections of templates/ and the functions of runtime/ for one form of vectors (--simd) and one machine
 * (--machine): what the preprocessor would decide by these is decided here, and only the branch that remains is
 * emitted. Conditions that depend on more stay:
 *
 *   #if defined(__GNUC__) && STEPC_FORM == 2       --simd none: false, dropped
 *   #elif defined(__AVX512F__)                     becomes #if
 *   #if defined(__GNUC__) && defined(__SSE2__)     --machine x86-64: becomes #if defined(__GNUC__) */
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
    struct arena *arena;
    VEC(struct macro) macros;
    bool rewrites; /* conditions lose what is known of them */
};

static void add_macro(struct known *k, const char *name, bool defined, long value)
{
    vec_push(k->arena, &k->macros, ((struct macro){name, defined, value}));
}

/* Of a machine, its instruction set: a compiler for it that has vectors has GNU's. */
static struct known known_of(struct arena *a, const struct emit_options *o)
{
    struct known k = {.arena = a};
    const bool has_lanes = o->simd != SIMD_AUTO && o->simd != SIMD_NONE, is_named = target_is_named(o->target);
    const bool has_form = is_named && o->target->vector_bytes > 0 && has_lanes;
    const long bytes = has_lanes ? o->simd * (long)sizeof(float) : 0;
    add_macro(&k, "STEPC_VECTOR_BYTES", has_lanes && !(has_form && bytes == o->target->vector_bytes), bytes);
    add_macro(&k, "STEPC_PLAIN", emits_plain(o), 1);
    add_macro(&k, "STEPC_SMALL", emits_plain(o) && o->small, 1);
    if (o->simd == SIMD_NONE || has_form)
        add_macro(&k, "STEPC_FORM", true, has_form ? 2 : 0);
    if (!has_form && !emits_plain(o))
        return k;
    k.rewrites = true;
    for (size_t i = 0; i < target_macro_count; i++) {
        const char *const name = target_macros[i];
        if (target_defines(o->target, name) || !target_may_define(o->target, name))
            add_macro(&k, name, target_defines(o->target, name), 1);
    }
    return k;
}

struct outcome {
    bool known;
    long value;
    const char *text; /* not known: the condition without what is */
};

struct condition {
    const struct known *known;
    const char *at;
};

static const struct macro *find_macro(const struct known *k, const char *name, size_t length)
{
    for (size_t i = 0; i < k->macros.count; i++)
        if (strlen(k->macros.data[i].name) == length && !strncmp(k->macros.data[i].name, name, length))
            return &k->macros.data[i];
    return NULL;
}

static void skip_space(struct condition *c)
{
    c->at += strspn(c->at, " \t\\\n");
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

static struct outcome known_value(long value)
{
    return (struct outcome){.known = true, .value = value};
}

/* Text as it stands from `begin` to where the condition is read. */
static struct outcome not_known(const struct condition *c, const char *begin)
{
    return (struct outcome){.text = arena_strndup(c->known->arena, begin, (size_t)(c->at - begin))};
}

static struct outcome parse_name(struct condition *c, const char *begin)
{
    if (take(c, "defined")) {
        const bool bracket = take(c, "(");
        const struct macro *m = take_name(c);
        if (bracket)
            take(c, ")");
        return m ? known_value(m->defined) : not_known(c, begin);
    }
    if (word_length(c->at) == 0)
        UNREACHABLE("a condition of templates/ that this does not read: %s", c->at);
    const struct macro *m = take_name(c);
    return m ? known_value(m->defined ? m->value : 0) : not_known(c, begin);
}

static struct outcome parse_operand(struct condition *c)
{
    skip_space(c);
    const char *const begin = c->at;
    if (take(c, "(")) {
        struct outcome x = parse_or(c);
        take(c, ")");
        if (!x.known && strchr(x.text, ' '))
            x.text = arena_printf(c->known->arena, "(%s)", x.text);
        return x;
    }
    if (take(c, "!")) {
        const struct outcome x = parse_operand(c);
        return x.known ? known_value(!x.value) : not_known(c, begin);
    }
    if (isdigit((unsigned char)*c->at)) {
        char *end;
        const long value = strtol(c->at, &end, 0);
        c->at = end + word_length(end);
        return known_value(value);
    }
    return parse_name(c, begin);
}

static struct outcome parse_comparison(struct condition *c)
{
    static const char *const operators[] = {"==", "!=", "<=", ">=", "<", ">", "&"};
    skip_space(c);
    const char *const begin = c->at;
    const struct outcome a = parse_operand(c);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        skip_space(c);
        if (str_starts_with(c->at, "&&") || !take(c, operators[i]))
            continue;
        const struct outcome b = parse_operand(c);
        const long x = a.value, y = b.value;
        const bool values[] = {x == y, x != y, x <= y, x >= y, x < y, x > y, (x & y) != 0};
        return a.known && b.known ? known_value(values[i]) : not_known(c, begin);
    }
    return a;
}

/* a && b, or a || b, where the value `decides` of either decides. */
static struct outcome join(const struct condition *c, struct outcome a, struct outcome b, bool decides)
{
    if ((a.known && !a.value == !decides) || (b.known && !b.value == !decides))
        return known_value(decides);
    if (a.known || b.known)
        return a.known ? b : a;
    return (struct outcome){.text = arena_printf(c->known->arena, "%s %s %s", a.text, decides ? "||" : "&&", b.text)};
}

static struct outcome parse_and(struct condition *c)
{
    struct outcome a = parse_comparison(c);
    while (take(c, "&&"))
        a = join(c, a, parse_comparison(c), false);
    return a;
}

static struct outcome parse_or(struct condition *c)
{
    struct outcome a = parse_and(c);
    while (take(c, "||"))
        a = join(c, a, parse_and(c), true);
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
    const struct emit_options *options;
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
    const char *word = str_starts_with(line, "#elif") ? "#elif" : "#if";
    const bool rewritten = f->known.rewrites && x.text, first = !b->written && str_equal(word, "#elif");
    b->live = b->outer && !b->decided && (!x.known || x.value);
    if (!b->live)
        return;
    const char *const condition = rewritten ? arena_printf(f->out.arena, " %s", x.text) : line + strlen(word);
    if (!x.known)
        add_line(f, first || rewritten ? arena_printf(f->out.arena, "%s%s", first ? "#if" : word, condition) : line);
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
    return (struct outcome){.known = m != NULL, .value = m && m->defined == wanted};
}

/* A line that is but a macro: a hint for the loop below it. */
static bool is_idle_hint(const struct filter *f, const char *line)
{
    const char *const name = line + strspn(line, " ");
    return str_starts_with(name, "STEPC_") && name[word_length(name)] == '\0' && !loop_hint(f->options, name);
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
        begin_branch(f, b, known_value(1), line);
    } else if (str_starts_with(line, "#endif")) {
        close_branch(f);
    } else if (is_live(f) && !is_idle_hint(f, line)) {
        add_line(f, line);
    }
}

bool text_names(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + 1, name))
        if ((at == text || word_length(at - 1) == 0) && word_length(at + length) == 0)
            return true;
    return false;
}

/* What the text still asks for of what is known. */
static const char *macro_lines(struct arena *a, const struct known *k, const char *text)
{
    struct strbuf out = {.arena = a};
    for (size_t i = k->macros.count; i-- > 0;) {
        const struct macro *const m = &k->macros.data[i];
        const bool is_own = str_equal(m->name, "STEPC_FORM") || str_equal(m->name, "STEPC_VECTOR_BYTES");
        if (m->defined && is_own && (!k->rewrites || text_names(text, m->name)))
            strbuf_addf(&out, "#define %s %ld\n", m->name, m->value);
    }
    strbuf_add(&out, out.length ? "\n" : "");
    return strbuf_text(&out);
}

/* The length of a line, without its end; of a comment, or of a directive, that goes on in the next ones. */
static size_t line_length(const char *text)
{
    const char *const end = str_starts_with(text, "/*") ? strstr(text, "*/") : NULL;
    size_t n = end ? (size_t)(end + strlen("*/") - text) : 0;
    n += strcspn(text + n, "\n");
    while (*text == '#' && !str_starts_with(text, "#define") && n > 0 && text[n - 1] == '\\' && text[n])
        n += 1 + strcspn(text + n + 1, "\n");
    return n;
}

const char *keep_form(struct arena *a, const char *text, const struct emit_options *o)
{
    struct filter f = {.options = o, .known = known_of(a, o), .out = {.arena = a}};
    for (const char *p = text; *p;) {
        const size_t n = line_length(p);
        filter_line(&f, arena_strndup(a, p, n));
        p += n + (p[n] == '\n');
    }
    return strbuf_text(&f.out);
}

const char *keep_form_of_sections(struct arena *a, const char *text, const struct emit_options *o)
{
    const char *const kept = keep_form(a, text, o);
    const struct known known = known_of(a, o);
    return arena_printf(a, "%s%s", macro_lines(a, &known, kept), kept);
}
