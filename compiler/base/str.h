/* Building strings piece by piece, and small helpers on NUL-terminated strings. */
#ifndef STEPC_BASE_STR_H
#define STEPC_BASE_STR_H

#include "base/vec.h"
#include <stdbool.h>

/* A growing text in an arena. A zeroed strbuf with .arena set is empty; text is always
 * NUL-terminated once non-empty. */
struct strbuf {
    struct arena *arena;
    char *text;
    size_t length, capacity;
    bool clean; /* for people: what %s stands for is cleaned (base/clean.h); what is added as it stands is not */
};

void strbuf_add(struct strbuf *b, const char *s);
void strbuf_add_n(struct strbuf *b, const char *s, size_t n);
void strbuf_addf(struct strbuf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
void strbuf_addv(struct strbuf *b, const char *fmt, va_list args) PRINTF_LIKE(2, 0);
/* Makes room for n more bytes: whoever knows that much is coming spares copies of what is there. */
void strbuf_reserve(struct strbuf *b, size_t n);
/* The text so far, never NULL. */
const char *strbuf_text(const struct strbuf *b);

bool str_equal(const char *a, const char *b); /* NULL equals NULL only */
bool str_starts_with(const char *s, const char *prefix);
bool str_ends_with(const char *s, const char *suffix);
/* Does `name` match the shell-like `pattern` (only * and ? are special)? */
bool str_glob(const char *pattern, const char *name);
/* Levenshtein distance, for "did you mean"; stops counting at `limit`. */
size_t str_distance(const char *a, const char *b, size_t limit);
/* The one of `names` (count entries) closest to `s` within a third of its length, or NULL. */
const char *str_closest(const char *s, const char *const *names, size_t count);
/* "; did you mean 'x'?" of that one, or "". */
const char *str_suggestion(struct arena *a, const char *s, const char *const *names, size_t count);

typedef VEC(const char *) str_list;
bool str_list_has(const str_list *l, const char *s);
void str_list_add(struct arena *a, str_list *l, const char *s); /* if it is not there yet */

void str_sort(const char **names, size_t count);

/* ASCII, whatever the locale: what names in C begin with; digits. */
bool is_letter(char c);
bool is_digit(char c);

/* "" for one, else "s". */
const char *str_plural(size_t n);

/* Whole-string parsing; false (and *out untouched) unless the whole of s is one number in range. */
bool str_to_int64(const char *s, long long *out);
bool str_to_double(const char *s, double *out); /* independent of the locale */

#endif
