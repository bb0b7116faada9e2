/* An element that has a name for the next statement alone, which reads it once, stands there itself:
 *
 *   const float v = acc[l];
 *   y[l] = y[l] - rate * v;           ->   y[l] = y[l] - rate * acc[l];
 *
 * Not where it would be loaded in one branch of a select only: compilers would jump, or mask the load. Not what is
 * computed: compilers may contract within an expression. An index that fills a line keeps its statement. */
#include "tree/tree.h"

static bool is_var(const struct expr *e, void *v)
{
    return e->op == EXPR_VAR && e->var == v;
}

/* How often the value is read in any case; 2 or more also where only a branch or a call reads it. */
static int reads_of(const struct expr *e, const struct tree_var *v)
{
    int reads = is_var(e, (void *)(uintptr_t)v);
    const bool is_choice = e->op == EXPR_SELECT || e->op == EXPR_BOTH || e->op == EXPR_EITHER || e->op == EXPR_CALL;
    if (is_choice || (e->op == EXPR_MATH && !dtype_is_float(e->dtype))) /* |x| of integers is a choice in C */
        return expr_any(e, is_var, (void *)(uintptr_t)v) ? 2 : 0;
    for (int i = 0; i < expr_arg_count(e); i++)
        reads += reads_of(e->arg[i], v);
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
    return made;
}

static int size_of(const struct expr *e)
{
    int size = 1;
    for (int i = 0; i < expr_arg_count(e); i++)
        size += size_of(e->arg[i]);
    return size;
}

/* Does `next` alone, of the list from it on, read what `s` declares? */
static bool stands_once(const struct stmt *s, const stmt_list *list, size_t next)
{
    enum { LONGEST = 9 };
    const struct stmt *const n = next < list->count ? list->data[next] : NULL;
    if (s->kind != STMT_DECLARE || s->var->kind != VAR_VALUE || !s->value || s->value->op != EXPR_ELEMENT ||
        s->value->dtype != s->var->dtype || size_of(s->value) > LONGEST || s->comment || !n ||
        (n->kind != STMT_SET && n->kind != STMT_DECLARE) || !n->value || n->comment || reads_of(n->value, s->var) != 1)
        return false;
    if (n->kind == STMT_SET && (n->op == SET_MAX || n->op == SET_TOP || n->op == SET_MIN))
        return false; /* these read the value several times */
    const stmt_list rest = {.data = list->data + next + 1, .count = list->count - next - 1};
    const bool is_target = n->kind == STMT_SET && expr_any(n->target, is_var, (void *)(uintptr_t)s->var);
    return !is_target && !tree_any(&rest, is_var, (void *)(uintptr_t)s->var);
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
        if (!stands_once(s, list, i + 1))
            continue;
        struct stmt *const next = (struct stmt *)(uintptr_t)list->data[i + 1];
        next->value = with(a, next->value, s->var, s->value);
        vec_remove(list, i);
    }
}
