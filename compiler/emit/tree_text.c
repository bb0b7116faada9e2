/* Statement trees as lines of C. Nothing is decided here. A statement that is longer than a line goes on in the next
 * one, eight columns further in, where no line of a body begins. Lines end at blanks that stand in as few brackets as
 * possible. */
#include "emit/emit_internal.h"

#include "base/str.h"
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

/* ---- lines ------------------------------------------------------------------------------------------------------- */

enum { WIDTH = 118, GOES_ON = 8 };

static int brackets(char c)
{
    return c == '(' || c == '[' || c == '{' ? 1 : c == ')' || c == ']' || c == '}' ? -1 : 0;
}

/* Where the line that begins at `text` ends, if it may be broken within so many brackets: the last place where it
 * fits, one behind a comma if there is any, or the first where it does not; its end if it is none. `depth` counts
 * brackets, before and after. */
static size_t line_end(const char *text, size_t room, int deepest, int *depth)
{
    const size_t length = strlen(text);
    size_t end = 0, comma = 0;
    int at_end = *depth, at_comma = *depth, here = *depth;
    for (size_t i = 0; i < length && length > room; i++) {
        here += brackets(text[i]);
        if (text[i] != LINE_MAY_BREAK || here > deepest)
            continue;
        if (end > 0 && i > room)
            break;
        end = i;
        at_end = here;
        if (text[i - 1] == ',') {
            comma = i;
            at_comma = here;
        }
    }
    if (end == 0)
        return length;
    *depth = comma > 0 ? at_comma : at_end;
    return comma > 0 ? comma : end;
}

static void write_piece(struct writer *w, size_t indent, const char *text, size_t length)
{
    struct strbuf *const b = &w->text;
    const size_t begin = b->length;
    strbuf_addf(b, "%*s%.*s\n", (int)indent, "", (int)length, text);
    w->lines++;
    for (char *p = b->text + begin; (p = strchr(p, LINE_MAY_BREAK));)
        *p = ' ';
}

/* Writes the lines, or only looks whether all of them fit. */
static bool break_lines(struct writer *w, const char *text, int deepest, bool looks)
{
    int depth = 0;
    bool fits = true;
    for (size_t indent = 4 * (size_t)w->depth; *text; indent = 4 * (size_t)w->depth + GOES_ON) {
        const size_t n = line_end(text, WIDTH - indent, deepest, &depth);
        fits &= n <= WIDTH - indent;
        if (!looks)
            write_piece(w, indent, text, n);
        text += n + (text[n] == LINE_MAY_BREAK);
    }
    return fits;
}

static void write_statement(struct arena *a, struct writer *w, const char *fmt, ...) PRINTF_LIKE(3, 4);

static void write_statement(struct arena *a, struct writer *w, const char *fmt, ...)
{
    enum { DEEPEST = 16 };
    struct strbuf b = {.arena = a};
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

/* What is left of a list. */
struct stmt_list_rest {
    const struct stmt *const *at;
    size_t count;
};

static void print_list(struct expr_scope *s, struct writer *w, const stmt_list *list);

/* The lines of a comment as it was written, at today's depth. */
static void print_comment(struct writer *w, const char *text)
{
    for (bool first = true; text && *text; first = false) {
        const size_t blanks = strspn(text, " "), n = strcspn(text + blanks, "\n");
        write_line(w, "%s%.*s", first ? "" : " ", (int)n, text + blanks);
        text += blanks + n;
        text += *text == '\n';
    }
}

/* The bound is asked first: what else must hold may read where the variable leads. */
static const char *condition_text(struct expr_scope *s, const struct stmt *l)
{
    const char *const more = l->condition ? tree_expr_text(s, l->condition, l->to ? PREC_BOTH : PREC_NONE) : "";
    if (!l->to)
        return more;
    return arena_printf(s->arena, "%s < %s%s%s", l->var->name, tree_expr_text(s, l->to, PREC_LESS + 1),
                        *more ? " && " : "", more);
}

static const char *step_text(struct expr_scope *s, const struct stmt *l)
{
    const char *const i = l->var->name;
    if (l->next)
        return arena_printf(s->arena, "%s = %s", i, tree_expr_text(s, l->next, PREC_NONE));
    if (l->by) {
        const bool falls = l->by->op == EXPR_NEG;
        return arena_printf(s->arena, "%s %c= %s", i, falls ? '-' : '+',
                            tree_expr_text(s, falls ? l->by->arg[0] : l->by, PREC_NONE));
    }
    if (l->step == 1 || l->step == -1)
        return arena_printf(s->arena, "%s%s", i, l->step == 1 ? "++" : "--");
    return arena_printf(s->arena, "%s %c= %" PRId64, i, l->step > 0 ? '+' : '-', l->step > 0 ? l->step : -l->step);
}

/* What needs no braces: one statement, of which nothing is said. A question in another would be read twice. */
static bool stands_bare(const struct stmt *around)
{
    const struct stmt *const s = around->body.count == 1 ? around->body.data[0] : NULL;
    if (!s || s->comment || s->kind == STMT_DECLARE)
        return false;
    return s->kind != STMT_IF || (around->kind == STMT_LOOP && s->otherwise.count == 0);
}

/* `head` may take several lines. */
static void print_body(struct expr_scope *s, struct writer *w, const char *head, const struct stmt *around)
{
    const bool is_bare = stands_bare(around);
    write_statement(s->arena, w, "%s%s", head, is_bare ? "" : " {");
    w->depth++;
    print_list(s, w, &around->body);
    w->depth--;
    if (!is_bare)
        write_line(w, "}");
}

/* What stands before the loop: "STEPC_SHARES(4) ", "". */
static const char *hint_text(struct expr_scope *s, const struct stmt *l)
{
    const char *const macro = loop_kinds[l->loop].macro;
    if (!macro)
        return "";
    if (!str_ends_with(macro, "()"))
        return arena_printf(s->arena, "%s ", macro);
    return arena_printf(s->arena, "%.*s(%s) ", (int)strlen(macro) - 2, macro, tree_expr_text(s, l->to, PREC_NONE));
}

static void print_loop(struct expr_scope *s, struct writer *w, const struct stmt *l)
{
    s->marks_breaks = false; /* only behind its semicolons */
    const char *const from = tree_expr_text(s, l->from, PREC_NONE), *const condition = condition_text(s, l);
    const char *const step = step_text(s, l);
    s->marks_breaks = true;
    print_body(s, w,
               arena_printf(s->arena, "%sfor (%s %s = %s;\v%s;\v%s)", hint_text(s, l), l->var->type, l->var->name, from,
                            condition, step),
               l);
}

static void print_if(struct expr_scope *s, struct writer *w, const struct stmt *i, const char *before)
{
    const char *const condition = tree_expr_text(s, i->condition, PREC_NONE);
    if (i->otherwise.count == 0 && !*before) {
        print_body(s, w, arena_printf(s->arena, "if (%s)", condition), i);
        return;
    }
    write_statement(s->arena, w, "%sif (%s) {", before, condition);
    w->depth++;
    print_list(s, w, &i->body);
    if (i->otherwise.count == 1 && i->otherwise.data[0]->kind == STMT_IF) {
        w->depth--;
        print_if(s, w, i->otherwise.data[0], "} else ");
        return;
    }
    if (i->otherwise.count > 0) {
        w->depth--;
        write_open(w, "} else");
        print_list(s, w, &i->otherwise);
    }
    write_close(w, "");
}

/* "sum[3] = {s0, s1, s2}" or "sum[32] = {0.0f}", without what is not known of it. */
static const char *array_text(struct expr_scope *s, const struct stmt *d, const char *values)
{
    const char *const count = d->var->extent ? tree_expr_text(s, d->var->extent, PREC_NONE)
                                             : arena_printf(s->arena, "%" PRId64, d->var->count);
    return values ? arena_printf(s->arena, "%s[%s] = {%s}", d->var->name, count, values)
                  : arena_printf(s->arena, "%s[%s]", d->var->name, count);
}

static const char *repeated(struct expr_scope *s, const struct stmt *d)
{
    struct strbuf list = {.arena = s->arena};
    const char *const value = d->value ? tree_stored_text(s, d->value) : NULL;
    for (int64_t i = 0; i < d->repeat; i++)
        strbuf_addf(&list, "%s%s", i ? ",\v" : "", value);
    return value ? strbuf_text(&list) : NULL;
}

static bool reads_var(const struct expr *e, void *v)
{
    return (e->op == EXPR_VAR || e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS) && e->var == v;
}

/* How many statements behind the declaration of an array say what its elements are, one after the other: all, or 0. */
static size_t count_elements_set(const struct stmt_list_rest *r)
{
    const struct stmt *const d = r->at[0];
    const size_t count = d->var->kind == VAR_ARRAY && !d->var->extent ? (size_t)d->var->count : 0;
    if (count == 0 || d->value || r->count <= count)
        return 0;
    for (size_t i = 0; i < count; i++) {
        const struct stmt *const set = r->at[i + 1];
        if (set->kind != STMT_SET || set->op != SET_TO || set->comment || set->target->op != EXPR_ELEMENT ||
            set->target->var != d->var || !index_is(set->target->arg[0], (int64_t)i) ||
            expr_any(set->value, reads_var, (void *)(uintptr_t)d->var))
            return 0;
    }
    return count;
}

static const char *elements_text(struct expr_scope *s, const struct stmt_list_rest *r, size_t count)
{
    struct strbuf list = {.arena = s->arena};
    for (size_t i = 0; i < count; i++)
        strbuf_addf(&list, "%s%s", i ? ",\v" : "", tree_stored_text(s, r->at[i + 1]->value));
    return strbuf_text(&list);
}

/* "const float *" and the like: what several declarations may have in common. */
static const char *declared_type(struct arena *a, const struct tree_var *v)
{
    const bool is_constant = v->kind == VAR_VALUE || (v->kind == VAR_POINTER && !v->written);
    return arena_printf(a, "%s%s", is_constant ? "const " : "", v->type);
}

static const char *declarator_text(struct expr_scope *s, const struct stmt *d)
{
    if (d->var->kind == VAR_ARRAY)
        return array_text(s, d, repeated(s, d));
    if (d->var->kind == VAR_POINTER)
        return arena_printf(s->arena, "*const %s =\v%s", d->var->name, tree_expr_text(s, d->value, PREC_NONE));
    return arena_printf(s->arena, "%s =\v%s", d->var->name, tree_stored_text(s, d->value));
}

/* With what is said of it behind it, or above where a line has no room. */
static void print_described(struct expr_scope *s, struct writer *w, const struct stmt *d)
{
    const struct expr *const x = d->value;
    const char *const head = arena_printf(s->arena, "%s %s%s =", declared_type(s->arena, d->var),
                                          d->var->kind == VAR_POINTER ? "*const " : "", d->var->name);
    const char *words[4] = {head};
    size_t count = 1;
    s->marks_breaks = false;
    if (x->op == EXPR_SELECT) {
        words[count++] = tree_expr_text(s, x->arg[0], PREC_EQUAL);
        words[count++] = arena_printf(s->arena, "? %s", tree_expr_text(s, x->arg[1], PREC_SELECT + 1));
        words[count++] = arena_printf(s->arena, ": %s;", tree_expr_text(s, x->arg[2], PREC_SELECT));
    } else {
        words[count++] = arena_printf(s->arena, "%s;", tree_expr_text(s, x, PREC_NONE));
    }
    s->marks_breaks = true;
    write_words(w, words, count, d->var->about);
}

/* Declarations of a type share a line as long as it is a short one. Returns how many statements are printed. */
static size_t print_declarations(struct expr_scope *s, struct writer *w, const struct stmt_list_rest *r)
{
    enum { SHORT = 96 };
    if (r->at[0]->var->about) {
        print_described(s, w, r->at[0]);
        return 1;
    }
    const size_t elements = count_elements_set(r);
    const char *const type = declared_type(s->arena, r->at[0]->var);
    if (elements > 0) {
        write_statement(s->arena, w, "%s %s;", type, array_text(s, r->at[0], elements_text(s, r, elements)));
        return elements + 1;
    }
    const char *text = arena_printf(s->arena, "%s %s", type, declarator_text(s, r->at[0]));
    size_t count = 1;
    for (; count < r->count; count++) {
        const struct stmt *const next = r->at[count];
        const struct stmt_list_rest rest = {r->at + count, r->count - count};
        if (next->kind != STMT_DECLARE || next->comment || next->var->about ||
            !str_equal(declared_type(s->arena, next->var), type) ||
            (next->var->kind == VAR_POINTER) != (r->at[0]->var->kind == VAR_POINTER) || count_elements_set(&rest) > 0)
            break;
        const char *const longer = arena_printf(s->arena, "%s,\v%s", text, declarator_text(s, next));
        if (strlen(longer) > SHORT)
            break;
        text = longer;
    }
    write_statement(s->arena, w, "%s;", text);
    return count;
}

/* NaN is what differs from itself. */
static void print_selection(struct expr_scope *s, struct writer *w, const struct stmt *set, const char *target)
{
    const char *const v = tree_expr_text(s, set->value, PREC_LESS + 1), *const less = set->op == SET_MIN ? "<" : ">";
    if (dtype_is_float(set->target->dtype) && set->op != SET_TOP)
        write_statement(s->arena, w, "%s = %s != %s\v? %s\v: %s %s %s\v? %s\v: %s;", target, v, v, v, v, less, target,
                        v, target);
    else
        write_statement(s->arena, w, "%s = %s %s %s\v? %s\v: %s;", target, v, less, target, v, target);
}

/* Sums and products of integers wrap. */
static void print_set(struct expr_scope *s, struct writer *w, const struct stmt *set)
{
    static const char signs[] = {[SET_SUM] = '+', [SET_DIFFERENCE] = '-', [SET_PRODUCT] = '*', [SET_OR] = '|'};
    const enum dtype d = set->target->dtype;
    s->marks_breaks = false;
    const char *const target = tree_expr_text(s, set->target, PREC_PRIMARY);
    s->marks_breaks = true;
    if (set->op == SET_TO)
        write_statement(s->arena, w, "%s =\v%s;", target, tree_stored_text(s, set->value));
    else if (set->op == SET_MAX || set->op == SET_TOP || set->op == SET_MIN)
        print_selection(s, w, set, target);
    else if (set->op == SET_SUM && d == DTYPE_INDEX && index_is(set->value, 1))
        write_statement(s->arena, w, "%s++;", target);
    else if (dtype_is_float(d) || d == DTYPE_INDEX || set->op == SET_OR)
        write_statement(s->arena, w, "%s %c=\v%s;", target, signs[set->op], tree_expr_text(s, set->value, PREC_NONE));
    else
        write_statement(s->arena, w, "%s =\v(%s)((uint64_t)%s %c\v(uint64_t)%s);", target, c_type(d), target,
                        signs[set->op], tree_expr_text(s, set->value, PREC_UNARY));
}

static void print_list(struct expr_scope *s, struct writer *w, const stmt_list *list)
{
    for (size_t i = 0, printed; i < list->count; i += printed) {
        const struct stmt *const at = list->data[i];
        print_comment(w, at->comment);
        printed = 1;
        switch (at->kind) {
        case STMT_LOOP: print_loop(s, w, at); break;
        case STMT_IF: print_if(s, w, at, ""); break;
        case STMT_CALL: write_statement(s->arena, w, "%s;", tree_expr_text(s, at->value, PREC_NONE)); break;
        case STMT_DECLARE:
            printed = print_declarations(s, w, &(struct stmt_list_rest){list->data + i, list->count - i});
            break;
        case STMT_SET: print_set(s, w, at); break;
        case STMT_RETURN:
            write_statement(s->arena, w, "return%s%s;", at->value ? " " : "",
                            at->value ? tree_expr_text(s, at->value, PREC_NONE) : "");
            break;
        }
    }
}

void print_statements(struct expr_scope *s, struct writer *w, const stmt_list *list)
{
    s->marks_breaks = true;
    print_list(s, w, list);
    s->marks_breaks = false;
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static const char *declaration_text(struct arena *a, const struct tree_var *v)
{
    if (v->kind == VAR_POINTER)
        return arena_printf(a, "%s%s *%s%s", v->written ? "" : "const ", v->type, v->is_restrict ? "restrict " : "",
                            v->name);
    return arena_printf(a, "%s %s", v->type, v->name);
}

void print_head(struct arena *a, struct writer *w, const struct tree_function *f, const char *after)
{
    struct strbuf params = {.arena = a};
    const char *const storage = f->is_public ? "" : "static ", *const attributes = f->attributes ? f->attributes : "",
                      *const blank = *attributes ? " " : "";
    const char *const before = arena_printf(a, "%s%s%s%s %s(", storage, attributes, blank, f->type, f->name);
    for (size_t i = 0; i < f->params.count; i++) {
        const char *const param = declaration_text(a, f->params.data[i]);
        /* The first one stands below where it has no room: only then, or a blank would be left. */
        const bool is_below = i == 0 && 4 * (size_t)w->depth + strlen(before) + strlen(param) + 1 > WIDTH;
        strbuf_addf(&params, "%s%s", i ? ",\v" : is_below ? "\v" : "", param);
    }
    write_statement(a, w, "%s%s)%s", before, f->params.count ? strbuf_text(&params) : "void", after);
}

void print_function(struct expr_scope *s, struct writer *w, const struct tree_function *f)
{
    print_comment(w, f->comment);
    print_head(s->arena, w, f, "");
    write_line(w, "{");
    w->depth++;
    print_statements(s, w, &f->body);
    w->depth--;
    write_line(w, "}");
}

const char *function_text(struct expr_scope *s, const struct tree_function *f)
{
    struct writer w = {.text = {.arena = s->arena}};
    print_function(s, &w, f);
    return strbuf_text(&w.text);
}
