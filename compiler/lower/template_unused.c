/* Sizes decide what an instance leaves out: with one image, nothing reads its number. A parameter that its function
 * does not mention is mentioned, since compilers warn of it. */
#include "lower/template.h"

#include <ctype.h>
#include <string.h>

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool mentions(const char *text, const char *name, size_t length)
{
    for (const char *at = text; (at = strstr(at, name)) != NULL; at++)
        if ((at == text || !in_word(at[-1])) && !in_word(at[length]))
            return true;
    return false;
}

/* The name in front of `end`, where a parameter's declaration ends. */
static const char *name_before(struct arena *a, const char *begin, const char *end)
{
    const char *from = end;
    while (from > begin && in_word(from[-1]))
        from--;
    return arena_strndup(a, from, (size_t)(end - from));
}

const char *template_mention_unused(struct arena *a, const char *function)
{
    const char *const open = strchr(function, '('), *const body = strstr(function, "\n{\n");
    if (!open || !body || open > body || strstr(function, "static") != function)
        return function;
    struct strbuf unused = {.arena = a};
    for (const char *at = open + 1; at < body; at++) {
        if (*at != ',' && *at != ')')
            continue;
        const char *const name = name_before(a, open, at);
        if (*name && !str_equal(name, "void") && !mentions(body, name, strlen(name)))
            strbuf_addf(&unused, "%s(void)%s", unused.length ? ", " : "    ", name);
    }
    if (unused.length == 0)
        return function;
    const size_t head = (size_t)(body - function) + strlen("\n{\n");
    return arena_printf(a, "%.*s%s;\n%s", (int)head, function, strbuf_text(&unused), function + head);
}
