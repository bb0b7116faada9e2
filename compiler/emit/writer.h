/* The one writer of C text: knows indentation, nothing of C beyond braces. */
#ifndef STEPC_EMIT_WRITER_H
#define STEPC_EMIT_WRITER_H

#include "base/str.h"
#include "base/vec.h"

typedef VEC(const char *) text_list;

struct writer {
    struct strbuf text;
    int depth; /* of indentation, four spaces each */
    int lines; /* so far */
};

/* One line at the current depth (printf); the newline is added. An empty format gives an empty line. */
void write_line(struct writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same of a text as it stands. */
void write_verbatim(struct writer *w, const char *text, size_t length);
void write_blank(struct writer *w);
/* "... {" and one deeper; "}" and one back. */
void write_open(struct writer *w, const char *fmt, ...) PRINTF_LIKE(2, 3);
void write_close(struct writer *w, const char *after); /* "}" + after */
/* A list "head a, b, c)tail" wrapped at 118 columns, continuation lines eight columns further in. */
void write_list(struct writer *w, const char *head, const char *const *items, size_t count, const char *tail);
/* Words with blanks between them, wrapped, continuation lines eight columns further in; a comment behind them or, where
 * it does not fit, above them (NULL: none). */
void write_words(struct writer *w, const char *const *words, size_t count, const char *comment);
/* A text between `head` and `tail`, wrapped, continuation lines behind `next`; made safe to stand in a comment. */
void write_paragraph(struct writer *w, const char *head, const char *next, const char *text, const char *tail);
/* A comment of one or more lines, wrapped. */
void write_comment(struct writer *w, const char *text);
/* The text with everything replaced that could end the comment it stands in, begin another or span lines. */
const char *comment_safe(struct arena *a, const char *text);
/* The section rule: an empty line, then slash-star ---- title ---- star-slash and an empty line. */
void write_section(struct writer *w, const char *title);

#endif
