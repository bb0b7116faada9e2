#include "emit/names.h"

#include "base/str.h"
#include <ctype.h>
#include <string.h>

const char *name_mangle(struct arena *a, const char *wish)
{
    enum { LONGEST = 48 }; /* C99 promises 63 significant characters, prefixes and suffixes included */
    char *const text = arena_array(a, char, strlen(wish) + 1);
    size_t n = 0;
    for (const char *p = wish; *p; p++) {
        const bool plain = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9');
        if (plain)
            text[n++] = *p;
        else if (n > 0 && text[n - 1] != '_') /* runs of other characters become one underscore */
            text[n++] = '_';
    }
    while (n > 0 && text[n - 1] == '_')
        n--;
    text[n < LONGEST ? n : LONGEST] = '\0';
    if (*text == '\0')
        return "v";
    if (*text >= '0' && *text <= '9')
        return arena_printf(a, "v%s", text);
    return name_is_reserved(text) ? arena_printf(a, "%s_", text) : text;
}

struct name_scope name_scope_within(struct arena *a, const struct name_scope *outer)
{
    const struct name_scope *const as_it_is = arena_copy(a, outer, sizeof *outer, alignof(struct name_scope));
    return (struct name_scope){.taken = {.arena = a}, .outer = as_it_is};
}

static bool is_taken(const struct name_scope *s, const char *name)
{
    while (s && !map_has(&s->taken, name))
        s = s->outer;
    return s;
}

const char *name_exactly(struct name_scope *s, const char *base)
{
    struct arena *a = s->taken.arena;
    const char *name = base;
    intptr_t number = (intptr_t)map_get(&s->taken, base);
    const bool is_free_of_rules = name_is_reserved(base); /* all that begins with STEPC_ is: so is it with a number */
    while (is_taken(s, name) || (name != base && !is_free_of_rules && name_is_reserved(name)))
        name = arena_printf(a, "%s_%d", base, (int)(++number + 1));
    map_set(&s->taken, base, (void *)number);
    if (name != base)
        map_set(&s->taken, name, NULL);
    return name;
}

const char *name_in(struct name_scope *s, const char *wish)
{
    return name_exactly(s, name_mangle(s->taken.arena, wish));
}

const char *name_first_free(struct name_scope *s, const char *const *wishes, size_t count)
{
    size_t i = 0;
    while (i + 1 < count && (is_taken(s, wishes[i]) || name_is_reserved(wishes[i])))
        i++;
    return name_exactly(s, wishes[i]);
}

/* ---- what names have in common ----------------------------------------------------------------------------------- */

enum { WORDS_MOST = 32 };

/* Letters or digits, one behind the other. */
struct word {
    const char *text;
    size_t length;
    bool is_number, is_glued; /* nothing stands between it and the one before */
};

static size_t find_words(const char *name, struct word *words)
{
    size_t count = 0;
    for (const char *p = name; *p && count < WORDS_MOST;) {
        const char *const begin = p;
        while (isdigit((unsigned char)*p))
            p++;
        const bool is_number = p > begin;
        while (!is_number && isalpha((unsigned char)*p))
            p++;
        if (p > begin)
            words[count++] = (struct word){begin, (size_t)(p - begin), is_number,
                                           begin > name && isalnum((unsigned char)begin[-1])};
        else
            p++;
    }
    return count;
}

static bool is_same_word(const struct word *x, const struct word *y)
{
    return x->length == y->length && memcmp(x->text, y->text, x->length) == 0;
}

/* The words that `keep` marks; numbers at the end only say which of several it was. */
static const char *join_words(struct arena *a, const struct word *words, const bool *keep, size_t count)
{
    struct strbuf b = {.arena = a};
    while (count > 0 && (!keep[count - 1] || (words[count - 1].is_number && !words[count - 1].is_glued)))
        count--;
    for (size_t i = 0; i < count; i++) {
        const bool is_glued = i > 0 && words[i].is_glued && keep[i - 1];
        if (keep[i] && (b.length > 0 || !words[i].is_number))
            strbuf_addf(&b, "%s%.*s", b.length && !is_glued ? "_" : "", (int)words[i].length, words[i].text);
    }
    return b.length > 1 ? strbuf_text(&b) : NULL;
}

const char *name_in_common(struct arena *a, const char *x, const char *y)
{
    struct word in_x[WORDS_MOST], in_y[WORDS_MOST];
    const size_t m = find_words(x, in_x), n = find_words(y, in_y);
    int longest[WORDS_MOST + 1][WORDS_MOST + 1] = {0}; /* common sequence of words i .. of x and j .. of y */
    bool keep[WORDS_MOST] = {false};
    for (size_t i = m; i-- > 0;)
        for (size_t j = n; j-- > 0;) {
            const int without = longest[i + 1][j] > longest[i][j + 1] ? longest[i + 1][j] : longest[i][j + 1];
            longest[i][j] = is_same_word(&in_x[i], &in_y[j]) ? longest[i + 1][j + 1] + 1 : without;
        }
    for (size_t i = 0, j = 0; i < m && j < n;) {
        if (is_same_word(&in_x[i], &in_y[j])) {
            keep[i++] = true;
            j++;
        } else if (longest[i + 1][j] >= longest[i][j + 1]) {
            i++;
        } else {
            j++;
        }
    }
    return join_words(a, in_x, keep, m);
}

const char *name_upper(struct arena *a, const char *identifier)
{
    char *s = arena_strdup(a, identifier);
    for (char *p = s; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return s;
}
