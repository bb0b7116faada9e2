/* Layout of text that came from templates: arithmetic on literals is done, and once the kernel's name is in, heads
 * of functions and calls are wrapped anew. */
#include "emit/emit_internal.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#define WIDTH 118

static const char *with_name(struct arena *a, const char *text, const char *name)
{
    struct strbuf b = {.arena = a};
    const char *at;
    while ((at = strstr(text, PLACEHOLDER)) != NULL) {
        strbuf_add_n(&b, text, (size_t)(at - text));
        strbuf_add(&b, name);
        text = at + strlen(PLACEHOLDER);
    }
    strbuf_add(&b, text);
    return strbuf_text(&b);
}

/* ---- arithmetic on literals -------------------------------------------------------------------------------------- */

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* A decimal number at text[at] that is a word of its own; its length, 0 if there is none. */
static size_t literal_at(const char *text, size_t at, int64_t *value)
{
    size_t n = 0;
    *value = 0;
    if (at > 0 && in_word(text[at - 1]))
        return 0;
    for (; isdigit((unsigned char)text[at + n]) && n < 9; n++)
        *value = 10 * *value + (text[at + n] - '0');
    return in_word(text[at + n]) ? 0 : n;
}

static char before(const char *text, size_t at)
{
    while (at > 0 && text[at - 1] == ' ')
        at--;
    return at > 0 ? text[at - 1] : '(';
}

static char after(const char *text, size_t at)
{
    return text[at + strspn(text + at, " ")];
}

/* May `x op y` with these neighbours be done first? The neighbours of a sum must not bind tighter, or be sums on its
 * left. */
static bool may_fold(char op, char left, char right)
{
    if (strchr("*/%)", left))
        return false; /* `)` may end a cast */
    return op == '*' || op == '%' || (!strchr("+-", left) && !strchr("*/%", right));
}

/* "x op y" at text[at] as one number: its length, 0 where there is nothing to do. */
static size_t fold_operation(const char *text, size_t at, int64_t *value)
{
    int64_t x, y;
    const size_t n = literal_at(text, at, &x), right = at + n + 3;
    if (n == 0 || text[at + n] != ' ' || !strchr("*%+-", text[at + n + 1]) || text[at + n + 2] != ' ')
        return 0;
    const char op = text[at + n + 1];
    const size_t m = literal_at(text, right, &y);
    if (m == 0 || (op == '%' && y == 0) || (op == '-' && y > x) ||
        !may_fold(op, before(text, at), after(text, right + m)))
        return 0;
    *value = op == '*' ? x * y : op == '%' ? x % y : op == '+' ? x + y : x - y;
    return *value <= INT32_MAX ? n + 3 + m : 0;
}

/* " + 0", " - 0", " * 1" and " / 1" behind anything, but nothing that binds tighter than a sum behind them; "0 + "
 * where a sum begins. */
static size_t vanishing_term(const char *text, size_t at)
{
    int64_t value;
    if (text[at] == '0' && !strncmp(text + at, "0 + ", 4) && literal_at(text, at, &value) == 1)
        return strchr("([,=<>", before(text, at)) ? 4 : 0;
    if (at == 0 || text[at] != ' ' || !text[at + 1] || !strchr("+-*/", text[at + 1]) || text[at + 2] != ' ')
        return 0;
    const bool is_sum = strchr("+-", text[at + 1]) != NULL;
    if (text[at + 3] != (is_sum ? '0' : '1') || literal_at(text, at + 3, &value) != 1)
        return 0;
    return is_sum && strchr("*/%", after(text, at + 4)) ? 0 : 4;
}

/* "(32)" that is no argument list and no cast. */
static size_t bracketed_literal(const char *text, size_t at, int64_t *value)
{
    if (text[at] != '(' || (at > 0 && (in_word(text[at - 1]) || text[at - 1] == ')')))
        return 0;
    const size_t n = literal_at(text, at + 1, value);
    return n > 0 && text[at + 1 + n] == ')' ? n + 2 : 0;
}

/* "(y)" between operators and delimiters, as it is left of "(0 + y)": the length of the name, 0 if it is none. A
 * cast (no blank behind it), or what a keyword or call takes, has other neighbours. */
static size_t bracketed_name(const char *text, size_t at)
{
    const bool returned = at >= 7 && !strncmp(text + at - 7, "return ", 7);
    if (text[at] != '(' || (at > 0 && !strchr(" ([", text[at - 1])) ||
        !(returned || strchr("([,=+-*/%<>", before(text, at))))
        return 0;
    size_t n = 0;
    while (in_word(text[at + 1 + n]))
        n++;
    if (n == 0 || text[at + 1 + n] != ')')
        return 0;
    const char *const behind = text + at + n + 2;
    const bool operator= behind[0] == ' ' && behind[1] && strchr("+-*/%<>=", behind[1]) && behind[2] &&
        strchr(" =", behind[2]);
    return operator || (*behind && strchr("),;]", *behind)) ? n : 0;
}

/* Can something begin at this character? */
static bool may_begin(char c)
{
    return c == ' ' || c == '(' || c == '/' || (c >= '0' && c <= '9');
}

/* One pass over text[*at ..], to the end of a line that no comment goes on behind. Neighbours are looked at in front
 * of it, too. */
static bool fold_line(const char *text, size_t *at, struct strbuf *out)
{
    bool changed = false;
    size_t i = *at;
    for (bool ended = false; text[i] && !ended;) {
        int64_t value;
        size_t n = 0;
        while (text[i + n] && text[i + n] != '\n' && !may_begin(text[i + n]))
            n++;
        if (n > 0 || text[i] == '\n') {
            ended = text[i + n] == '\n';
            n += ended;
            strbuf_add_n(out, text + i, n);
        } else if (text[i] == '/' && text[i + 1] == '*') {
            const char *end = strstr(text + i, "*/");
            n = end ? (size_t)(end + 2 - text) - i : strlen(text + i);
            strbuf_add_n(out, text + i, n);
        } else if ((n = vanishing_term(text, i)) > 0) {
            changed = true;
        } else if ((n = fold_operation(text, i, &value)) > 0 || (n = bracketed_literal(text, i, &value)) > 0) {
            strbuf_addf(out, "%" PRId64, value);
            changed = true;
        } else if ((n = bracketed_name(text, i)) > 0) {
            strbuf_add_n(out, text + i + 1, n);
            n += 2;
            changed = true;
        } else {
            n = 1;
            strbuf_add_n(out, text + i, 1);
        }
        i += n;
    }
    *at = i;
    return changed;
}

/* Line by line, each until nothing changes: few change at all. */
static const char *fold_literals(struct arena *a, const char *text)
{
    struct strbuf out = {.arena = a}, line = {.arena = a}, folded = {.arena = a};
    strbuf_reserve(&out, strlen(text));
    for (size_t at = 0; text[at];) {
        const size_t begin = out.length;
        bool changed = fold_line(text, &at, &out);
        while (changed) { /* once more, behind the character in front of the line */
            size_t from = begin > 0;
            line.length = folded.length = 0;
            strbuf_add_n(&line, out.text + begin - from, out.length - begin + from);
            changed = fold_line(line.text, &from, &folded);
            out.length = begin;
            strbuf_add_n(&out, strbuf_text(&folded), folded.length);
        }
    }
    return strbuf_text(&out);
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/* Brackets that the stretch opens and does not close. */
static int open_brackets(const char *text, size_t length)
{
    int depth = 0;
    for (size_t i = 0; i < length; i++)
        depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
    return depth;
}

/* The next line without its newline; lines that end inside brackets are joined with what follows. */
static const char *next_line(struct arena *a, const char **text)
{
    const size_t first = strcspn(*text, "\n");
    struct strbuf b = {.arena = a};
    const char *at = *text;
    strbuf_add_n(&b, at, first);
    at += first + (at[first] == '\n');
    const size_t start = strspn(strbuf_text(&b), " ");
    const bool is_code = b.length > start && b.text[start] != '/' && b.text[start] != '*' && b.text[start] != '#';
    while (is_code && *at && open_brackets(b.text, b.length) > 0) {
        at += strspn(at, " ");
        const size_t n = strcspn(at, "\n");
        if (b.text[b.length - 1] != '(' && b.text[b.length - 1] != '[')
            strbuf_add(&b, " ");
        strbuf_add_n(&b, at, n);
        at += n + (at[n] == '\n');
    }
    *text = at;
    return strbuf_text(&b);
}

/* Index of the bracket that closes the one at `open`, or of the end. */
static size_t closing(const char *line, size_t open)
{
    int depth = 0;
    for (size_t i = open; line[i]; i++) {
        depth += open_brackets(line + i, 1);
        if (depth == 0)
            return i;
    }
    return strlen(line);
}

typedef VEC(const char *) text_list;

static text_list split_arguments(struct arena *a, const char *line, size_t open, size_t close)
{
    text_list items = {0};
    size_t begin = open + 1;
    for (size_t i = begin; i <= close; i++) {
        if (i < close && (line[i] != ',' || open_brackets(line + begin, i - begin) != 0))
            continue;
        vec_push(a, &items, arena_strndup(a, line + begin, i - begin));
        begin = i + 1 + strspn(line + i + 1, " ");
    }
    return items;
}

/* A long line is wrapped at the arguments of its first call that has several. */
static void add_wrapped(struct arena *a, struct writer *out, const char *line)
{
    const size_t indent = strspn(line, " ");
    const bool is_code = line[indent] != '/' && line[indent] != '*' && line[indent] != '#';
    for (size_t i = indent; line[i] && is_code && strlen(line) > WIDTH; i++) {
        if (line[i] != '(')
            continue;
        const size_t close = closing(line, i);
        const text_list items = split_arguments(a, line, i, close);
        if (items.count < 2 || !line[close])
            continue;
        out->depth = (int)indent / 4;
        write_list(out, arena_strndup(a, line + indent, i + 1 - indent), items.data, items.count, line + close);
        return;
    }
    strbuf_addf(&out->text, "%s\n", line);
}

const char *layout_kernel(struct arena *a, const char *text, const char *name)
{
    struct writer out = {.text = {.arena = a}};
    text = with_name(a, fold_literals(a, text), name);
    while (*text)
        add_wrapped(a, &out, next_line(a, &text));
    return strbuf_text(&out.text);
}
