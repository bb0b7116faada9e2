#include "emit/names.h"

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

const char *name_upper(struct arena *a, const char *identifier)
{
    char *s = arena_strdup(a, identifier);
    for (char *p = s; *p; p++)
        *p = (char)toupper((unsigned char)*p);
    return s;
}
