/* Statement trees as lines of C. Nothing is decided here. A statement that is longer than a line goes on in the next
 * one, four columns further in, at blanks that stand in as few brackets as possible. */
#include "emit/emit_internal.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* ---- lines ------------------------------------------------------------------------------------------------------- */

enum { WIDTH = 118 };

static int brackets(char c)
{
    return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
}

/* Where the line that begins at `text` ends, if it may be broken within so many brackets: the last place where it
 * fits, or the first where it does not; its end if it is none. `depth` counts brackets, before and after. */
static size_t line_end(const char *text, size_t room, int deepest, int *depth)
{
    size_t end = 0;
    int at_end = *depth, here = *depth;
    for (size_t i = 0; text[i]; i++) {
        here += brackets(text[i]);
        if (text[i] != LINE_MAY_BREAK || here > deepest)
            continue;
        if (end > 0 && i > room)
            break;
        end = i;
        at_end = here;
    }
    if (end == 0 || (strlen(text) <= room)) {
        *depth = here;
        return strlen(text);
    }
    *depth = at_end;
    return end;
}

/* Writes the lines, or only looks whether all of them fit. */
static bool break_lines(struct writer *w, const char *text, int deepest, bool looks)
{
    int depth = 0;
    bool fits = true;
    for (size_t indent = 4 * (size_t)w->depth; *text; indent = 4 * (size_t)w->depth + 4) {
        const size_t n = line_end(text, WIDTH - indent, deepest, &depth);
        fits &= n <= WIDTH - indent;
        if (!looks) {
            for (size_t i = 0; i < indent; i++)
                strbuf_add(&w->text, " ");
            for (size_t i = 0; i < n; i++)
                strbuf_add_n(&w->text, text[i] == LINE_MAY_BREAK ? " " : text + i, 1);
            strbuf_add(&w->text, "\n");
        }
        text += n + (text[n] == LINE_MAY_BREAK);
    }
    return fits;
}

static void write_statement(struct expr_scope *s, struct writer *w, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void write_statement(struct expr_scope *s, struct writer *w, const char *fmt, ...)
{
    enum { DEEPEST = 16 };
    struct strbuf b = {.arena = s->arena};
    va_list ap;
    va_start(ap, fmt);
    strbuf_addv(&b, fmt, ap);
    va_end(ap);
    int deepest = 0;
    while (deepest < DEEPEST && !break_lines(w, strbuf_text(&b), deepest, true))
        deepest++;
    break_lines(w, strbuf_text(&b), deepest, false);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void print_list(struct expr_scope *s, struct writer *w, const stmt_list *list);

static void print_loop(struct expr_scope *s, struct writer *w, const struct stmt *l)
{
    s->marks_breaks = false; /* heads stay on one line */
    const char *const i = l->var->name, *const from = tree_expr_text(s, l->from, PREC_NONE);
    const char *const to = tree_expr_text(s, l->to, PREC_LESS + 1);
    s->marks_breaks = true;
    const char *const hint = loop_hint(s->e->options, l->hint);
    if (hint) {
        map_set(&s->e->hints, hint, NULL);
        write_line(w, "%s", hint);
    }
    if (l->step == 1)
        write_open(w, "for (%s %s = %s; %s < %s; %s++)", l->var->type, i, from, i, to, i);
    else
        write_open(w, "for (%s %s = %s; %s < %s; %s += %" PRId64 ")", l->var->type, i, from, i, to, i, l->step);
    print_list(s, w, &l->body);
    write_close(w, "");
}

static void print_array(struct expr_scope *s, struct writer *w, const struct stmt *d)
{
    struct strbuf list = {.arena = s->arena};
    const char *const value = d->value ? tree_stored_text(s, d->value) : NULL;
    for (int64_t i = 0; i < d->repeat; i++)
        strbuf_addf(&list, "%s%s", i ? ",\v" : "", value);
    if (value)
        write_statement(s, w, "%s %s[%" PRId64 "] = {%s};", d->var->type, d->var->name, d->var->count,
                        strbuf_text(&list));
    else
        write_statement(s, w, "%s %s[%" PRId64 "];", d->var->type, d->var->name, d->var->count);
}

static void print_declaration(struct expr_scope *s, struct writer *w, const struct stmt *d)
{
    const char *const constant = d->var->kind == VAR_VALUE ? "const " : "";
    if (d->var->kind == VAR_ARRAY)
        print_array(s, w, d);
    else
        write_statement(s, w, "%s%s %s =\v%s;", constant, d->var->type, d->var->name, tree_stored_text(s, d->value));
}

/* Sums and products of integers wrap. */
static void print_wrapping(struct expr_scope *s, struct writer *w, const struct stmt *set, const char *target)
{
    const char *const op = set->op == SET_SUM ? "+" : "*";
    write_statement(s, w, "%s =\v(%s)((uint64_t)%s %s\v(uint64_t)%s);", target, c_type(set->target->dtype), target, op,
               tree_expr_text(s, set->value, PREC_UNARY));
}

/* NaN is what differs from itself. */
static void print_selection(struct expr_scope *s, struct writer *w, const struct stmt *set, const char *target)
{
    const char *const v = tree_expr_text(s, set->value, PREC_LESS + 1), *const less = set->op == SET_MIN ? "<" : ">";
    if (dtype_is_float(set->target->dtype) && set->op != SET_TOP)
        write_statement(s, w, "%s = %s != %s\v? %s\v: %s %s %s\v? %s\v: %s;", target, v, v, v, v, less, target, v,
                        target);
    else
        write_statement(s, w, "%s = %s %s %s\v? %s\v: %s;", target, v, less, target, v, target);
}

static void print_set(struct expr_scope *s, struct writer *w, const struct stmt *set)
{
    s->marks_breaks = false;
    const char *const target = tree_expr_text(s, set->target, PREC_PRIMARY);
    s->marks_breaks = true;
    const bool is_float = dtype_is_float(set->target->dtype);
    switch (set->op) {
    case SET_TO: write_statement(s, w, "%s =\v%s;", target, tree_stored_text(s, set->value)); return;
    case SET_OR: write_statement(s, w, "%s |=\v%s;", target, tree_expr_text(s, set->value, PREC_NONE)); return;
    case SET_SUM:
    case SET_PRODUCT:
        if (is_float)
            write_statement(s, w, "%s %s\v%s;", target,
                       set->op == SET_SUM ? "+=" : "*=", tree_expr_text(s, set->value, PREC_NONE));
        else
            print_wrapping(s, w, set, target);
        return;
    case SET_MAX:
    case SET_TOP:
    case SET_MIN: print_selection(s, w, set, target); return;
    }
}

static void print_list(struct expr_scope *s, struct writer *w, const stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const at = list->data[i];
        switch (at->kind) {
        case STMT_LOOP: print_loop(s, w, at); break;
        case STMT_DECLARE: print_declaration(s, w, at); break;
        case STMT_SET: print_set(s, w, at); break;
        case STMT_RETURN: write_statement(s, w, "return %s;", tree_expr_text(s, at->value, PREC_NONE)); break;
        case STMT_TEXT: write_block(w, at->text); break;
        }
    }
}

void print_statements(struct expr_scope *s, struct writer *w, const stmt_list *list)
{
    s->marks_breaks = true;
    print_list(s, w, list);
    s->marks_breaks = false;
}
