/* Names come from a model, and whoever wrote it may be an enemy: what could move a terminal's cursor, colour or turn
 * round its text, or forge a line, is shown as \xNN wherever text is for people. */
#ifndef STEPC_BASE_CLEAN_H
#define STEPC_BASE_CLEAN_H

#include "base/arena.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

/* Length of the UTF-8 character at s, of which `left` bytes are there; 0: it is none, being overlong, a surrogate, or
 * beyond U+10FFFF. Does a byte go on with a character? One of 0 does not, so `left` may be SIZE_MAX for a string. */
size_t utf8_character(const char *s, size_t left);
bool utf8_continues(char c);
/* Bytes of the character at s, which is not empty. *unsafe: it is to be shown by its numbers, being a control character
 * (C0, DEL, C1), one that changes the direction of text or ends a line (U+061C, U+200E, U+200F, U+2028 to U+202E,
 * U+2066 to U+2069), or no UTF-8 (then 1 byte). */
size_t clean_next(const char *s, bool *unsafe);
/* A text with all of these as \xNN; `text` itself if it has none. */
const char *clean_text(struct arena *a, const char *text);
void clean_print(FILE *to, const char *text);
/* What strbuf_addf() does for a strbuf that is clean: what %s and %c stand for is cleaned. */
struct strbuf;
void clean_format(struct strbuf *b, const char *fmt, va_list args) PRINTF_LIKE(2, 0);

/* printf() to stdout; what %s stands for is cleaned: names in it are harmless, line ends in it are not ours. */
void print_text(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* The same to stderr: for what is said before there is a diag, and beside it. */
void say_text(const char *fmt, ...) PRINTF_LIKE(1, 2);
/* Text that was cleaned as it was made, with its lines. */
void print_lines(const char *text);
/* Shows what was printed so far. */
void print_flush(void);
/* The same at the end. False, with errno, if any of it could not be written. */
bool print_end(void);

#endif
