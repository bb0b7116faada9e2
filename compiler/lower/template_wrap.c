/* Line breaks of instantiated text. Names and captures make a template's lines longer or shorter than they were
 * written, so what stands in parentheses over several lines is joined and broken anew, continuation lines aligned
 * behind the bracket. */
#include "lower/template.h"

#include <string.h>

#define DEEPEST_BRACKET 90 /* column behind which nothing is aligned: better a long line than a narrow strip */

/* Brackets open at the end of the line, beyond `depth` at its begin. */
static int depth_after(const char *line, size_t length, int depth)
{
    for (size_t i = 0; i < length; i++) {
        depth += line[i] == '(';
        depth -= line[i] == ')';
    }
    return depth;
}

/* Do these two characters stand in the line? */
static bool holds(const char *line, size_t length, const char *two)
{
    for (const char *at = line; length > 1 && (at = memchr(at, two[0], (size_t)(line + length - 1 - at))) != NULL; at++)
        if (at[1] == two[1])
            return true;
    return false;
}

/* Column of the innermost bracket that is open at `at`, or -1. `outer`: one that an earlier line left open, or -1. */
static int open_bracket(const char *line, size_t at, int outer)
{
    int columns[64], depth = 0;
    if (outer >= 0)
        columns[depth++] = outer;
    for (size_t i = 0; i < at; i++) {
        if (line[i] == '(' && depth < 64)
            columns[depth++] = (int)i;
        else if (line[i] == ')' && depth > 0)
            depth--;
    }
    return depth > 0 ? columns[depth - 1] : -1;
}

/* The last place behind ", " at or before `width`, in the outermost list that has one; 0 if there is none. */
static size_t break_place(const char *line, size_t width, int outer)
{
    size_t best = 0;
    int best_bracket = DEEPEST_BRACKET;
    for (size_t i = strspn(line, " ") + 2; i <= width + 1 && line[i]; i++) {
        if (line[i - 2] != ',' || line[i - 1] != ' ')
            continue;
        const int bracket = open_bracket(line, i, outer);
        if (bracket >= 0 && bracket <= best_bracket) {
            best = i;
            best_bracket = bracket;
        }
    }
    return best;
}

static void add_wrapped(struct arena *a, struct strbuf *out, const char *line, size_t width)
{
    int outer = -1;
    while (strlen(line) > width) {
        const size_t at = break_place(line, width, outer);
        if (at == 0)
            break;
        outer = open_bracket(line, at, outer);
        strbuf_add_n(out, line, at - 1);
        strbuf_add(out, "\n");
        line = arena_printf(a, "%*s%s", outer + 1, "", line + at);
    }
    strbuf_addf(out, "%s\n", line);
}

const char *template_wrap(struct arena *a, const char *text, size_t width)
{
    struct strbuf out = {.arena = a};
    bool in_comment = false;
    while (*text) {
        size_t length = strcspn(text, "\n");
        const bool comment = in_comment || holds(text, length, "/*") || text[0] == '#';
        if (holds(text, length, "/*") || holds(text, length, "*/"))
            in_comment = !holds(text, length, "*/");
        struct strbuf line = {.arena = a};
        strbuf_add_n(&line, text, length);
        text += length + (text[length] == '\n');
        while (!comment && *text && depth_after(strbuf_text(&line), line.length, 0) > 0) {
            length = strcspn(text, "\n");
            if (holds(text, length, "/*") || text[0] == '#')
                break;
            const size_t blanks = strspn(text, " ");
            strbuf_add(&line, " ");
            strbuf_add_n(&line, text + blanks, length - blanks);
            text += length + (text[length] == '\n');
        }
        if (comment)
            strbuf_addf(&out, "%s\n", strbuf_text(&line));
        else
            add_wrapped(a, &out, strbuf_text(&line), width);
    }
    return strbuf_text(&out);
}
