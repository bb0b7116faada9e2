/* Comments of a template's functions as they stand in emitted code: parameters, operands and sizes go by the names and
 * numbers that they have there, and nothing is said of what is not there.
 *
 *   Rows o ..{ of group g} of x. Those before n + fresh are finished.      as written, above a function of these
 *   Rows o .. of pool1.                                                    where g and fresh are constants
 *
 * What stands in braces goes if it names something that is gone, else its sentence does, or the part up to a
 * semicolon. */
#include "emit/emit_internal.h"

#include "base/str.h"
#include "lower/items.h"
#include <ctype.h>
#include <inttypes.h>
#include <string.h>

struct comment_names {
    struct arena *arena;
    const struct tree_function *f;
    const struct kernel *k;
    const kernel_params *params;
};

/* ---- words ------------------------------------------------------------------------------------------------------- */

static const struct tree_var *param_of(const struct comment_names *n, const char *wish)
{
    for (size_t i = 0; i < n->f->params.count; i++)
        if (str_equal(n->f->params.data[i]->wish, wish))
            return n->f->params.data[i];
    return NULL;
}

static const char *operand_text(const struct comment_names *n, const struct operand *o)
{
    for (size_t i = 0; i < n->params->count && !o->value; i++)
        if (n->params->data[i].buffer == o->access.buffer && n->params->data[i].var)
            return n->params->data[i].var->name;
    return NULL;
}

/* Many a parameter is called by a word that a sentence may have, too. */
static bool is_marked(const char *text, const char *begin, size_t length)
{
    static const char operators[] = "`[+-(";
    const char *before = begin;
    while (before > text && before[-1] == ' ')
        before--;
    return length == 1 || memcmp(begin + length, " ..", 3) == 0 || memcmp(begin + length, " + ", 3) == 0 ||
           (before > text && strchr(operators, before[-1])) || (before > text + 1 && memcmp(before - 2, "..", 2) == 0);
}

/* What the word stands for, itself if it is no name; NULL: for something that is not there. */
static const char *meaning(const struct comment_names *n, const char *word, bool marked, char next)
{
    for (size_t i = 0; i < n->f->written->count && marked; i++)
        if (str_equal(n->f->written->data[i]->name, word)) {
            const struct tree_var *const v = param_of(n, word);
            return v ? v->name : NULL;
        }
    if (str_equal(word, "a") && next == ' ') /* the article */
        return word;
    kernel_each_item(it, n->k) {
        if (it.kind == ITEM_OPERAND && str_equal(it.operand->param, word))
            return operand_text(n, it.operand);
        if (it.kind == ITEM_INT && str_equal(it.integer->name, word))
            return is_late(&it.integer->late) ? NULL : arena_printf(n->arena, "%" PRId64, it.integer->value);
    }
    return word;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Adds text[0 .. length) of `whole`; false: it names what is not there. */
static bool add_text(const struct comment_names *n, struct strbuf *b, const char *whole, const char *text,
                     size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t end = i;
        while (end < length && in_word(text[end]))
            end++;
        if (end > i) {
            const char next = end < length ? text[end] : '.';
            const bool marked = is_marked(whole, text + i, end - i);
            const char *const word = meaning(n, arena_strndup(n->arena, text + i, end - i), marked, next);
            if (!word)
                return false;
            strbuf_add(b, word);
            i = end;
            continue;
        }
        const char *const close = text[i] == '{' ? memchr(text + i, '}', length - i) : NULL;
        if (close) {
            struct strbuf phrase = {.arena = n->arena};
            const size_t inner = (size_t)(close - text) - i - 1;
            if (add_text(n, &phrase, whole, text + i + 1, inner))
                strbuf_add(b, strbuf_text(&phrase));
            i += inner + 2;
            continue;
        }
        const bool ends_already = text[i] == '.' && str_ends_with(strbuf_text(b), ".."); /* "rows o .." */
        if (!ends_already)
            strbuf_add_n(b, text + i, 1);
        i++;
    }
    return true;
}

/* ---- sentences --------------------------------------------------------------------------------------------------- */

/* Length of the text up to a semicolon or the end of a sentence, with that; ".." ends none. */
static size_t part_length(const char *text)
{
    size_t i = 0;
    for (int depth = 0; text[i]; i++) {
        depth += (text[i] == '{') - (text[i] == '}');
        const bool is_stop = text[i] == ';' || (text[i] == '.' && text[i + 1] != '.' && (i == 0 || text[i - 1] != '.'));
        if (depth == 0 && is_stop && (text[i + 1] == ' ' || !text[i + 1]))
            return i + 1;
    }
    return i;
}

/* The text between the marks, on one line. */
static const char *bare_text(struct arena *a, const char *comment)
{
    struct strbuf b = {.arena = a};
    const char *const end = comment + strlen(comment) - strlen(" */");
    for (const char *p = comment + strlen("/* "); p < end; p++) {
        if (*p != '\n') {
            strbuf_add_n(&b, p, 1);
            continue;
        }
        strbuf_add(&b, " ");
        p += strspn(p + 1, " *");
    }
    return strbuf_text(&b);
}

static const char *instantiated(const struct comment_names *n, const char *const whole)
{
    struct strbuf all = {.arena = n->arena};
    const char *text = whole;
    bool is_cut = false; /* what follows has lost the beginning of its sentence */
    while (*text) {
        const size_t length = part_length(text);
        const bool ends = length == 0 || text[length - 1] != ';';
        struct strbuf part = {.arena = n->arena};
        if (add_text(n, &part, whole, text, length)) {
            if (is_cut && part.length > 0)
                part.text[0] = (char)toupper((unsigned char)part.text[0]);
            strbuf_addf(&all, "%s%s", all.length ? " " : "", strbuf_text(&part));
            is_cut = false;
        } else if (!ends) {
            is_cut = all.length == 0 || all.text[all.length - 1] != ';';
        } else if (all.length > 0 && all.text[all.length - 1] == ';') {
            all.text[all.length - 1] = '.';
        }
        text += length;
        text += strspn(text, " ");
    }
    return all.length > 0 ? strbuf_text(&all) : NULL;
}

const char *template_comment(struct arena *a, const struct tree_function *f, const struct kernel *k,
                             const kernel_params *params)
{
    const struct comment_names n = {a, f, k, params};
    const char *const text = f->comment && f->written ? instantiated(&n, bare_text(a, f->comment)) : NULL;
    struct writer lines = {.text = {.arena = a}};
    if (!text)
        return NULL;
    write_comment(&lines, text);
    return strbuf_text(&lines.text);
}
