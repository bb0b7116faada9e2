#include "emit/writer.h"

#include "base/clean.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 118

static void indent(struct writer *w)
{
    for (int i = 0; i < w->depth; i++)
        strbuf_add(&w->text, "    ");
}

void write_line(struct writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    indent(w);
    strbuf_addv(&w->text, fmt, ap);
    strbuf_add(&w->text, "\n");
    va_end(ap);
}

void write_verbatim(struct writer *w, const char *text, size_t length)
{
    indent(w);
    strbuf_add_n(&w->text, text, length);
    strbuf_add(&w->text, "\n");
}

void write_blank(struct writer *w)
{
    strbuf_add(&w->text, "\n");
}

void write_open(struct writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    indent(w);
    strbuf_addv(&w->text, fmt, ap);
    strbuf_add(&w->text, " {\n");
    va_end(ap);
    w->depth++;
}

void write_close(struct writer *w, const char *after)
{
    w->depth--;
    write_line(w, "}%s", after);
}

/* How many lines a list takes that begins in `column`, and whose other lines begin in `start`. */
static int lines_of(const char *const *items, size_t count, size_t column, size_t start, size_t between, size_t tail)
{
    int lines = 1;
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(items[i]) + (i + 1 < count ? between : tail);
        const bool breaks = i > 0 && column + 1 + n > WIDTH;
        lines += breaks;
        column = breaks ? start + n : column + (i > 0) + n;
    }
    return lines;
}

/* Lines begin below the first item, unless there are fewer of them if they begin further left. */
static void write_items(struct writer *w, const char *head, const char *const *items, size_t count, const char *between,
                        const char *tail)
{
    const size_t left = 4 * (size_t)w->depth + 8, b = strlen(between), t = strlen(tail);
    size_t column = 4 * (size_t)w->depth + strlen(head);
    const size_t start = lines_of(items, count, column, column, b, t) <= lines_of(items, count, column, left, b, t)
                             ? column
                             : left;
    indent(w);
    strbuf_add(&w->text, head);
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(items[i]) + strlen(i + 1 < count ? between : tail);
        if (i > 0 && column + 1 + n > WIDTH) {
            strbuf_add(&w->text, "\n");
            for (size_t s = 0; s < start; s++)
                strbuf_add(&w->text, " ");
            column = start;
        } else if (i > 0) {
            strbuf_add(&w->text, " ");
            column++;
        }
        strbuf_add(&w->text, items[i]);
        strbuf_add(&w->text, i + 1 < count ? between : tail);
        column += n;
    }
    if (count == 0)
        strbuf_add(&w->text, tail);
    strbuf_add(&w->text, "\n");
}

void write_list(struct writer *w, const char *head, const char *const *items, size_t count, const char *tail)
{
    write_items(w, head, items, count, ",", tail);
}

void write_alternatives(struct writer *w, const char *head, const char *const *items, size_t count, const char *tail)
{
    write_items(w, head, items, count, " ||", tail);
}

/* A name from the model could close the comment or open a trigraph. */
static char safe_in_comment(char previous, char c)
{
    const bool closes = previous == '*' && c == '/', opens = previous == '/' && c == '*',
               trigraph = previous == '?' && c == '?';
    return closes || opens || trigraph || c == '\\' ? '_' : c;
}

const char *comment_safe(struct arena *a, const char *text)
{
    char *safe = arena_strdup(a, text), previous = ' ';
    for (char *p = safe; *p; p++)
        previous = *p = safe_in_comment(previous, *p);
    return clean_text(a, safe); /* compilers warn about text that turns round what follows it */
}

void write_comment(struct writer *w, const char *text)
{
    const size_t start = 4 * (size_t)w->depth + 3;
    size_t column = start;
    const char *p = comment_safe(w->text.arena, text);
    indent(w);
    strbuf_add(&w->text, "/*");
    while (*p) {
        const size_t word = strcspn(p, " ");
        if (column + word + 3 > WIDTH && column > start) {
            strbuf_add(&w->text, "\n");
            indent(w);
            strbuf_add(&w->text, " *");
            column = start;
        }
        strbuf_add(&w->text, " ");
        strbuf_add_n(&w->text, p, word);
        column += word + 1;
        p += word + strspn(p + word, " ");
    }
    strbuf_add(&w->text, " */\n");
}

void write_section(struct writer *w, const char *title)
{
    char rule[81];
    const size_t used = strlen("/* ---- ") + strlen(title) + strlen("  */");
    const size_t n = used < 78 ? 78 - used : 4;
    memset(rule, '-', n);
    rule[n] = '\0';
    write_blank(w);
    write_line(w, "/* ---- %s %s */", title, rule);
    write_blank(w);
}

void write_words(struct writer *w, const char *const *words, size_t count, const char *comment)
{
    const char *const about = comment ? comment_safe(w->text.arena, comment) : NULL;
    size_t column = 4 * (size_t)w->depth, length = column + (about ? strlen("/*  */ ") + strlen(about) : 0);
    for (size_t i = 0; i < count; i++)
        length += strlen(words[i]) + (i > 0);
    const bool is_above = about && length > WIDTH;
    if (is_above)
        write_comment(w, comment);
    indent(w);
    for (size_t i = 0; i < count; i++) {
        const size_t n = strlen(words[i]);
        if (i > 0 && column + 1 + n > WIDTH) {
            strbuf_add(&w->text, "\n    ");
            indent(w);
            column = 4 * (size_t)w->depth + 4;
        } else if (i > 0) {
            strbuf_add(&w->text, " ");
            column++;
        }
        strbuf_add(&w->text, words[i]);
        column += n;
    }
    if (about && !is_above)
        strbuf_addf(&w->text, " /* %s */", about);
    strbuf_add(&w->text, "\n");
}
