/* Statement trees as lines of C. Nothing is decided here. */
#include "emit/emit_internal.h"

#include <inttypes.h>

static void print_loop(struct expr_scope *s, struct writer *w, const struct stmt *l)
{
    const char *const i = l->var->name, *const from = tree_expr_text(s, l->from, PREC_NONE);
    const char *const to = tree_expr_text(s, l->to, PREC_LESS + 1);
    if (l->hint)
        write_line(w, "%s", l->hint);
    if (l->step == 1)
        write_open(w, "for (%s %s = %s; %s < %s; %s++)", l->var->type, i, from, i, to, i);
    else
        write_open(w, "for (%s %s = %s; %s < %s; %s += %" PRId64 ")", l->var->type, i, from, i, to, i, l->step);
    print_statements(s, w, &l->body);
    write_close(w, "");
}

static void print_array(struct expr_scope *s, struct writer *w, const struct stmt *d)
{
    struct strbuf list = {.arena = s->arena};
    const char *const value = d->value ? tree_stored_text(s, d->value) : NULL;
    for (int64_t i = 0; i < d->repeat; i++)
        strbuf_addf(&list, "%s%s", i ? ", " : "", value);
    if (value)
        write_line(w, "%s %s[%" PRId64 "] = {%s};", d->var->type, d->var->name, d->var->count, strbuf_text(&list));
    else
        write_line(w, "%s %s[%" PRId64 "];", d->var->type, d->var->name, d->var->count);
}

static void print_declaration(struct expr_scope *s, struct writer *w, const struct stmt *d)
{
    const char *const constant = d->var->kind == VAR_VALUE ? "const " : "";
    if (d->var->kind == VAR_ARRAY)
        print_array(s, w, d);
    else
        write_line(w, "%s%s %s = %s;", constant, d->var->type, d->var->name, tree_stored_text(s, d->value));
}

/* Sums and products of integers wrap. */
static void print_wrapping(struct expr_scope *s, struct writer *w, const struct stmt *set, const char *target)
{
    const char *const op = set->op == SET_SUM ? "+" : "*";
    write_line(w, "%s = (%s)((uint64_t)%s %s (uint64_t)%s);", target, c_type(set->target->dtype), target, op,
               tree_expr_text(s, set->value, PREC_UNARY));
}

/* NaN is what differs from itself. */
static void print_selection(struct expr_scope *s, struct writer *w, const struct stmt *set, const char *target)
{
    const char *const v = tree_expr_text(s, set->value, PREC_LESS + 1), *const less = set->op == SET_MIN ? "<" : ">";
    if (dtype_is_float(set->target->dtype) && set->op != SET_TOP)
        write_line(w, "%s = %s != %s ? %s : %s %s %s ? %s : %s;", target, v, v, v, v, less, target, v, target);
    else
        write_line(w, "%s = %s %s %s ? %s : %s;", target, v, less, target, v, target);
}

static void print_set(struct expr_scope *s, struct writer *w, const struct stmt *set)
{
    const char *const target = tree_expr_text(s, set->target, PREC_PRIMARY);
    const bool is_float = dtype_is_float(set->target->dtype);
    switch (set->op) {
    case SET_TO: write_line(w, "%s = %s;", target, tree_stored_text(s, set->value)); return;
    case SET_OR: write_line(w, "%s |= %s;", target, tree_expr_text(s, set->value, PREC_NONE)); return;
    case SET_SUM:
    case SET_PRODUCT:
        if (is_float)
            write_line(w, "%s %s %s;", target,
                       set->op == SET_SUM ? "+=" : "*=", tree_expr_text(s, set->value, PREC_NONE));
        else
            print_wrapping(s, w, set, target);
        return;
    case SET_MAX:
    case SET_TOP:
    case SET_MIN: print_selection(s, w, set, target); return;
    }
}

void print_statements(struct expr_scope *s, struct writer *w, const stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const at = list->data[i];
        switch (at->kind) {
        case STMT_LOOP: print_loop(s, w, at); break;
        case STMT_DECLARE: print_declaration(s, w, at); break;
        case STMT_SET: print_set(s, w, at); break;
        case STMT_RETURN: write_line(w, "return %s;", tree_expr_text(s, at->value, PREC_NONE)); break;
        case STMT_TEXT: write_block(w, at->text); break;
        }
    }
}
