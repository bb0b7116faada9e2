#include "report/markup.h"

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

/* Bytes of a character that is shown by its numbers: C0 and C1 controls, U+FFFE and U+FFFF. */
static size_t forbidden(const unsigned char *s)
{
    if (s[0] < 0x20 || s[0] == 0x7f)
        return 1;
    if (s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0)
        return 2;
    return s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe ? 3 : 0;
}

void markup_text(struct strbuf *b, const char *text)
{
    while (*text) {
        const char *const replaced = entity(*text);
        const size_t n = forbidden((const unsigned char *)text);
        for (size_t i = 0; i < n; i++)
            strbuf_addf(b, "\\x%02X", (unsigned char)text[i]);
        if (replaced)
            strbuf_add(b, replaced);
        else if (n == 0)
            strbuf_add_n(b, text, 1);
        text += n ? n : 1;
    }
}
