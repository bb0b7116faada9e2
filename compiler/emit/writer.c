#include "emit/writer.h"

#include "base/clean.h"
#include "base/vec.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 118
#define CONTINUATION "        " /* what a line begins with that goes on with the one before */

static void indent(struct writer *w)
{
    for (int i = 0; i < w->depth; i++)
        strbuf_add(&w->text, "    ");
}

void write_blank(struct writer *w)
{
    strbuf_add(&w->text, "\n");
    w->lines++;
}

void write_line(struct writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    indent(w);
    strbuf_addv(&w->text, fmt, ap);
    write_blank(w);
    va_end(ap);
}

void write_verbatim(struct writer *w, const char *text, size_t length)
{
    indent(w);
    strbuf_add_n(&w->text, text, length);
    write_blank(w);
}

void write_open(struct writer *w, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    indent(w);
    strbuf_addv(&w->text, fmt, ap);
    strbuf_add(&w->text, " {");
    write_blank(w);
    va_end(ap);
    w->depth++;
}

void write_close(struct writer *w, const char *after)
{
    w->depth--;
    write_line(w, "}%s", after);
}

/* The first line begins with `head`, the others with `next`. `between` stands behind each word but the last. */
static void write_wrapped(struct writer *w, const char *head, const char *next, const char *const *words, size_t count,
                          const char *between, const char *tail)
{
    size_t column = 4 * (size_t)w->depth + strlen(head);
    indent(w);
    strbuf_add(&w->text, head);
    for (size_t i = 0; i < count; i++) {
        const char *const behind = i + 1 == count ? tail : between;
        const size_t length = strlen(words[i]) + strlen(behind);
        if (i > 0 && column + 1 + length > WIDTH) {
            write_blank(w);
            indent(w);
            strbuf_add(&w->text, next);
            column = 4 * (size_t)w->depth + strlen(next);
        } else if (i > 0) {
            strbuf_add(&w->text, " ");
            column++;
        }
        strbuf_addf(&w->text, "%s%s", words[i], behind);
        column += length;
    }
    if (count == 0)
        strbuf_add(&w->text, tail);
}

void write_list(struct writer *w, const char *head, const char *const *items, size_t count, const char *tail)
{
    write_wrapped(w, head, CONTINUATION, items, count, ",", tail);
    write_blank(w);
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

void write_paragraph(struct writer *w, const char *head, const char *next, const char *text, const char *tail)
{
    struct arena *const a = w->text.arena;
    VEC(const char *) words = {0};
    for (const char *p = comment_safe(a, text); *p; p += strspn(p, " ")) {
        const size_t n = strcspn(p, " ");
        vec_push(a, &words, arena_strndup(a, p, n));
        p += n;
    }
    write_wrapped(w, head, next, words.data, words.count, "", tail);
    write_blank(w);
}

void write_comment(struct writer *w, const char *text)
{
    write_paragraph(w, "/* ", " * ", text, " */");
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
    size_t length = 4 * (size_t)w->depth + (about ? strlen("/*  */ ") + strlen(about) : 0);
    for (size_t i = 0; i < count; i++)
        length += strlen(words[i]) + (i > 0);
    const bool is_above = about && length > WIDTH;
    if (is_above)
        write_comment(w, comment);
    write_wrapped(w, "", CONTINUATION, words, count, "", "");
    if (about && !is_above)
        strbuf_addf(&w->text, " /* %s */", about);
    write_blank(w);
}
