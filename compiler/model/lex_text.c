#include "model/lex_text.h"

#include "base/str.h"
#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

bool text_is_type_word(const char *word)
{
    static const char *const words[] = {"seq", "optional", "map", "sparse_tensor", "opaque"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(word, words[i]))
            return true;
    return false;
}

bool text_special_number(const char *text, double *out)
{
    const bool minus = *text == '-';
    char low[16];
    const char *word = text + minus;
    if (strlen(word) >= sizeof low)
        return false;
    for (size_t i = 0; i <= strlen(word); i++)
        low[i] = (char)(word[i] >= 'A' && word[i] <= 'Z' ? word[i] + 32 : word[i]);
    const bool infinite = !strcmp(low, "inf") || !strcmp(low, "infinity");
    if (!infinite && strcmp(low, "nan") != 0)
        return false;
    *out = copysign(infinite ? INFINITY : NAN, minus ? -1.0 : 1.0);
    return true;
}

/* The beginning of a line, as far as a message shows it: locations are kept for every node, so a file that is one long
 * line must not be copied for each. */
static const char *line_text(const struct lexer *l, const char *start)
{
    enum { MOST = 200 };
    size_t n = 0;
    while (start + n < l->end && start[n] != '\n' && n < MOST)
        n++;
    return arena_strndup(l->arena, start, n);
}

static struct loc token_loc(const struct lexer *l, const struct token *t)
{
    return (struct loc){.file = l->file, .line = t->line, .col = t->col, .source_line = line_text(l, t->line_start),
                        .index = -1};
}

struct loc lexer_loc(const struct lexer *l)
{
    return token_loc(l, &l->token);
}

bool lexer_error_at(struct lexer *l, const struct token *at, const char *fmt, ...)
{
    const struct loc loc = token_loc(l, at);
    va_list ap;
    va_start(ap, fmt);
    if (!l->failed && !l->silent) /* what follows the first fault is guesswork */
        diag_errorv(l->diag, &loc, fmt, ap);
    va_end(ap);
    l->failed = true;
    return false;
}

static void skip_blanks(struct lexer *l)
{
    while (l->next < l->end) {
        if (*l->next == '\n') {
            l->line++;
            l->line_start = l->next + 1;
        } else if (*l->next == '#') {
            while (l->next + 1 < l->end && l->next[1] != '\n')
                l->next++;
        } else if (*l->next != ' ' && *l->next != '\t' && *l->next != '\r') {
            return;
        }
        l->next++;
    }
}

static void take(struct lexer *l, enum token_kind kind, const char *from, size_t size)
{
    l->token.kind = kind;
    l->token.text = arena_strndup(l->arena, from, size);
    l->token.size = size;
    l->next = from + size;
}

/* A backslash only quotes the next character; a string may go on over several lines. */
static void lex_string(struct lexer *l)
{
    const char *const first = l->next + 1, *end = first;
    while (end < l->end && *end != '"')
        end += *end == '\\' ? 2 : 1;
    if (end >= l->end) {
        lexer_error(l, "the string has no closing '\"'");
        return;
    }
    char *text = arena_array(l->arena, char, (size_t)(end - first) + 1);
    size_t n = 0;
    for (const char *p = first; p < end; p++) {
        p += *p == '\\';
        text[n++] = *p;
        if (*p == '\n') {
            l->line++;
            l->line_start = p + 1;
        }
    }
    l->token.kind = TOKEN_STRING;
    l->token.text = text;
    l->token.size = n;
    l->next = end + 1;
}

static void lex_number(struct lexer *l)
{
    const char *p = l->next + (*l->next == '-');
    bool is_float = false;
    while (p < l->end && is_digit(*p))
        p++;
    if (p < l->end && *p == '.') {
        is_float = true;
        for (p++; p < l->end && is_digit(*p); p++)
            ;
    }
    if (p < l->end && (*p == 'e' || *p == 'E')) {
        is_float = true;
        p++;
        if (p < l->end && (*p == '+' || *p == '-'))
            p++;
        while (p < l->end && is_digit(*p))
            p++;
    }
    take(l, is_float ? TOKEN_FLOAT : TOKEN_INT, l->next, (size_t)(p - l->next));
}

static size_t word_length(const struct lexer *l, const char *p)
{
    size_t n = 0;
    while (p + n < l->end && (is_letter(p[n]) || is_digit(p[n])))
        n++;
    return n;
}

void lexer_advance(struct lexer *l)
{
    skip_blanks(l);
    l->token = (struct token){.kind = TOKEN_END, .text = "", .line_start = l->line_start, .line = l->line,
                              .col = (int)(l->next - l->line_start) + 1};
    if (l->failed || l->next >= l->end)
        return;
    const char c = *l->next, d = l->next + 1 < l->end ? l->next[1] : '\0';
    if (is_letter(c))
        take(l, TOKEN_NAME, l->next, word_length(l, l->next));
    else if (is_digit(c) || (c == '-' && is_digit(d)))
        lex_number(l);
    else if (c == '-' && is_letter(d)) /* -inf */
        take(l, TOKEN_FLOAT, l->next, 1 + word_length(l, l->next + 1));
    else if (c == '"')
        lex_string(l);
    else if (c == '=' && d == '>')
        take(l, TOKEN_ARROW, l->next, 2);
    else if (c != '\0' && strchr("()[]{}<>,:=.@?", c))
        take(l, TOKEN_MARK, l->next, 1);
    else
        lexer_error(l, isprint((unsigned char)c) ? "unexpected character '%c'" : "unexpected byte 0x%02x",
                    (unsigned char)c);
    if (l->failed)
        l->token.kind = TOKEN_END;
}

struct token lexer_peek(const struct lexer *l)
{
    struct lexer copy = *l;
    copy.silent = true;
    lexer_advance(&copy);
    return copy.token;
}

void lexer_begin(struct lexer *l, struct diag *d, struct arena *a, const char *file, const char *text, size_t size)
{
    *l = (struct lexer){.diag = d, .arena = a, .file = file, .text = text, .end = text + size, .next = text,
                        .line_start = text, .line = 1};
    lexer_advance(l);
}

bool lexer_is(const struct lexer *l, char mark)
{
    return l->token.kind == TOKEN_MARK && l->token.text[0] == mark;
}

const char *lexer_describe(const struct lexer *l)
{
    switch (l->token.kind) {
    case TOKEN_END: return "the end of the file";
    case TOKEN_STRING: return "a string";
    case TOKEN_INT:
    case TOKEN_FLOAT: return arena_printf(l->arena, "the number %.40s", l->token.text);
    default: return arena_printf(l->arena, "'%.60s'", l->token.text);
    }
}
