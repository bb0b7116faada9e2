/* What can be said more shortly. x = x - y is x -= y; and an element that has a name for the next statement alone,
 * which reads it once, stands there itself:
 *
 *   const float v = acc[l];
 *   y[l] = y[l] - rate * v;           ->   y[l] = y[l] - rate * acc[l];
 *
 * Not where it would be loaded in one branch of a select only: compilers would jump, or mask the load. Not what is
 * computed, unless it is stored as it is: compilers may contract within an expression. An index that fills a line keeps
 * its statement. */
#include "tree/tree.h"

#include <ctype.h>

static bool is_var(const struct expr *e, void *v)
{
    return e->op == EXPR_VAR && e->var == v;
}

/* How often the value is read in any case; 2 or more also where only a branch or a call reads it. */
static int reads_of(const struct expr *e, const struct tree_var *v)
{
    int reads = is_var(e, (void *)(uintptr_t)v);
    const bool is_choice = e->op == EXPR_SELECT || e->op == EXPR_BOTH || e->op == EXPR_EITHER ||
                           (e->op == EXPR_CALL && isupper((unsigned char)e->call->name[0]));
    if (is_choice || (e->op == EXPR_MATH && !dtype_is_float(e->dtype))) /* |x| of integers is a choice in C */
        return expr_any(e, is_var, (void *)(uintptr_t)v) ? 2 : 0;
    for (int i = 0; i < expr_arg_count(e); i++)
        reads += reads_of(e->arg[i], v);
    for (size_t i = 0; e->op == EXPR_CALL && i < e->call->count; i++)
        reads += reads_of(e->call->args[i], v);
    return reads;
}

static const struct expr *with(struct arena *a, const struct expr *e, const struct tree_var *v, const struct expr *by)
{
    if (is_var(e, (void *)(uintptr_t)v))
        return by;
    struct expr *const made = arena_copy(a, e, sizeof *e, alignof(struct expr));
    for (int i = 0; i < expr_arg_count(e); i++)
        if (reads_of(e->arg[i], v) > 0)
            made->arg[i] = with(a, e->arg[i], v, by);
    if (e->op == EXPR_CALL) {
        struct tree_call *const c = arena_copy(a, e->call, sizeof *c, alignof(struct tree_call));
        c->args = arena_copy(a, c->args, c->count * sizeof *c->args, alignof(const struct expr *));
        for (size_t i = 0; i < c->count; i++)
            if (reads_of(c->args[i], v) > 0)
                c->args[i] = with(a, c->args[i], v, by);
        made->call = c;
    }
    return made;
}

static int size_of(const struct expr *e)
{
    int size = 1;
    for (int i = 0; i < expr_arg_count(e); i++)
        size += size_of(e->arg[i]);
    return size;
}

static bool names_target(const struct expr *e, void *target)
{
    return (e->op == EXPR_VAR || e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS) &&
           e->var == ((const struct expr *)target)->var;
}

/* A store that neither reads what `s` declares nor changes what that is computed from: pointers are restrict. */
static bool is_apart(const struct stmt *n, const struct stmt *s)
{
    void *const v = (void *)(uintptr_t)s->var;
    return n->kind == STMT_SET && !expr_any(n->value, is_var, v) && !expr_any(n->target, is_var, v) &&
           !expr_any(s->value, names_target, (void *)(uintptr_t)n->target);
}

/* Where in the list the statement is that alone reads what `s` declares, which stands before `next`; 0: nowhere. Right
 * behind it, but for stores in between where it is only stored. */
static size_t reader_of(const struct stmt *s, const stmt_list *list, size_t next)
{
    enum { LONGEST = 9 };
    if (s->kind != STMT_DECLARE || s->var->kind != VAR_VALUE || !s->value || s->value->dtype != s->var->dtype ||
        s->comment)
        return 0;
    size_t at = next;
    while (at < list->count && is_apart(list->data[at], s))
        at++;
    const struct stmt *const n = at < list->count ? list->data[at] : NULL;
    if (!n || (n->kind != STMT_SET && n->kind != STMT_DECLARE) || !n->value || n->comment ||
        reads_of(n->value, s->var) != 1)
        return 0;
    const bool is_copy = n->value->op == EXPR_VAR &&
                         (n->kind == STMT_DECLARE ? n->var->dtype == s->var->dtype : n->op == SET_TO);
    if (!is_copy && (at > next || s->value->op != EXPR_ELEMENT || size_of(s->value) > LONGEST))
        return 0;
    if (n->kind == STMT_SET && (n->op == SET_MAX || n->op == SET_TOP || n->op == SET_MIN))
        return 0; /* these read the value several times */
    const stmt_list rest = {.data = list->data + at + 1, .count = list->count - at - 1};
    const bool is_target = n->kind == STMT_SET && expr_any(n->target, is_var, (void *)(uintptr_t)s->var);
    return !is_target && !tree_any(&rest, is_var, (void *)(uintptr_t)s->var) ? at : 0;
}

bool tree_same_place(const struct expr *x, const struct expr *y)
{
    bool same = x->op == y->op && x->dtype == y->dtype;
    switch (x->op) {
    case EXPR_INT: return same && x->i == y->i;
    case EXPR_VAR: return same && x->var == y->var;
    case EXPR_ELEMENT: same = same && x->var == y->var; break;
    case EXPR_ADD:
    case EXPR_SUB:
    case EXPR_MUL:
    case EXPR_DIV:
    case EXPR_MOD: break;
    default: return false;
    }
    for (int i = 0; same && i < expr_arg_count(x); i++)
        same = tree_same_place(x->arg[i], y->arg[i]);
    return same;
}

static void set_by_itself(struct stmt *s)
{
    const enum expr_op op = s->kind == STMT_SET && s->op == SET_TO ? s->value->op : EXPR_INT;
    if ((op != EXPR_ADD && op != EXPR_SUB && op != EXPR_MUL) || !dtype_is_float(s->value->dtype) ||
        !tree_same_place(s->target, s->value->arg[0]))
        return;
    s->op = op == EXPR_ADD ? SET_SUM : op == EXPR_SUB ? SET_DIFFERENCE : SET_PRODUCT;
    s->value = s->value->arg[1];
}

void tree_inline_elements(struct arena *a, stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct stmt *const s = (struct stmt *)(uintptr_t)list->data[i];
        tree_inline_elements(a, &s->body);
        tree_inline_elements(a, &s->otherwise);
    }
    for (size_t i = list->count; i-- > 0;) {
        const struct stmt *const s = list->data[i];
        const size_t at = reader_of(s, list, i + 1);
        if (at == 0)
            continue;
        struct stmt *const reader = (struct stmt *)(uintptr_t)list->data[at];
        reader->value = with(a, reader->value, s->var, s->value);
        vec_remove(list, i);
    }
    for (size_t i = 0; i < list->count; i++)
        set_by_itself((struct stmt *)(uintptr_t)list->data[i]);
}
