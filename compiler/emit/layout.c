/* Layout of text that came from templates: once the kernel's name is in, heads of functions and calls are wrapped anew. */
#include "emit/emit_internal.h"

#include <string.h>

#define WIDTH 118

static const char *with_name(struct arena *a, const char *text, const char *name)
{
    struct strbuf b = {.arena = a};
    const char *at;
    while ((at = strstr(text, PLACEHOLDER)) != NULL) {
        strbuf_add_n(&b, text, (size_t)(at - text));
        strbuf_add(&b, name);
        text = at + strlen(PLACEHOLDER);
    }
    strbuf_add(&b, text);
    return strbuf_text(&b);
}

/* Brackets that the stretch opens and does not close. */
static int open_brackets(const char *text, size_t length)
{
    int depth = 0;
    for (size_t i = 0; i < length; i++)
        depth += text[i] == '(' || text[i] == '[' ? 1 : text[i] == ')' || text[i] == ']' ? -1 : 0;
    return depth;
}

/* The next line without its newline; lines that end inside brackets are joined with what follows. */
static const char *next_line(struct arena *a, const char **text)
{
    const size_t first = strcspn(*text, "\n");
    struct strbuf b = {.arena = a};
    const char *at = *text;
    strbuf_add_n(&b, at, first);
    at += first + (at[first] == '\n');
    const size_t start = strspn(strbuf_text(&b), " ");
    const bool is_code = b.length > start && b.text[start] != '/' && b.text[start] != '*' && b.text[start] != '#';
    while (is_code && *at && open_brackets(b.text, b.length) > 0) {
        at += strspn(at, " ");
        const size_t n = strcspn(at, "\n");
        if (b.text[b.length - 1] != '(' && b.text[b.length - 1] != '[')
            strbuf_add(&b, " ");
        strbuf_add_n(&b, at, n);
        at += n + (at[n] == '\n');
    }
    *text = at;
    return strbuf_text(&b);
}

/* Index of the bracket that closes the one at `open`, or of the end. */
static size_t closing(const char *line, size_t open)
{
    int depth = 0;
    for (size_t i = open; line[i]; i++) {
        depth += open_brackets(line + i, 1);
        if (depth == 0)
            return i;
    }
    return strlen(line);
}

typedef VEC(const char *) text_list;

static text_list split_arguments(struct arena *a, const char *line, size_t open, size_t close)
{
    text_list items = {0};
    size_t begin = open + 1;
    for (size_t i = begin; i <= close; i++) {
        if (i < close && (line[i] != ',' || open_brackets(line + begin, i - begin) != 0))
            continue;
        vec_push(a, &items, arena_strndup(a, line + begin, i - begin));
        begin = i + 1 + strspn(line + i + 1, " ");
    }
    return items;
}

/* A long line is wrapped at the arguments of its first call that has several. */
static void add_wrapped(struct arena *a, struct writer *out, const char *line)
{
    const size_t indent = strspn(line, " ");
    const bool is_code = line[indent] != '/' && line[indent] != '*' && line[indent] != '#';
    for (size_t i = indent; line[i] && is_code && strlen(line) > WIDTH; i++) {
        if (line[i] != '(')
            continue;
        const size_t close = closing(line, i);
        const text_list items = split_arguments(a, line, i, close);
        if (items.count < 2 || !line[close])
            continue;
        out->depth = (int)indent / 4;
        write_list(out, arena_strndup(a, line + indent, i + 1 - indent), items.data, items.count, line + close);
        return;
    }
    strbuf_addf(&out->text, "%s\n", line);
}

const char *layout_kernel(struct arena *a, const char *text, const char *name)
{
    struct writer out = {.text = {.arena = a}};
    text = with_name(a, text, name);
    while (*text)
        add_wrapped(a, &out, next_line(a, &text));
    return strbuf_text(&out.text);
}
