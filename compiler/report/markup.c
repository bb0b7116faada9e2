#include "report/markup.h"
#include "base/clean.h"

static const char *entity(char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return NULL;
    }
}

/* U+FFFE and U+FFFF, which XML forbids. */
static bool is_forbidden(const char *text)
{
    const unsigned char *const s = (const unsigned char *)text;
    return s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe;
}

const char *markup_text(struct arena *a, const char *text)
{
    struct strbuf b = {.arena = a};
    while (*text) {
        const char *const replaced = entity(*text);
        bool unsafe;
        const size_t n = clean_next(text, &unsafe);
        if (replaced)
            strbuf_add(&b, replaced);
        else if (!unsafe && !is_forbidden(text))
            strbuf_add_n(&b, text, n);
        else
            for (size_t i = 0; i < n; i++)
                strbuf_addf(&b, "\\x%02X", (unsigned char)text[i]);
        text += n;
    }
    return strbuf_text(&b);
}
