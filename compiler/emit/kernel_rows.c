/* Rows of a matrix are computed in parts of so many as the user's compiler has registers for, and a last part of fewer.
 * A function that is called for all of them is called by a macro of runtime/kernels/stepc_registers.h:
 *
 *   for (int i = 0; i < 32 - STEPC_LAST_ROWS(32); i += STEPC_PART_ROWS(32))
 *       part(STEPC_PART_ROWS(32), i, x, y);
 *   if (STEPC_LAST_ROWS(32) > 0)
 *       part(STEPC_LAST_ROWS(32), 32 - STEPC_LAST_ROWS(32), x, y);         ->  STEPC_EACH_PART(32, part, x, y); */
#include "emit/emit_internal.h"

/* n of STEPC_PART_ROWS(n) or the like; -1: it is not that. */
static int64_t rows_of(const struct expr *e, const char *macro)
{
    const bool is_call = e && e->op == EXPR_CALL && e->call->kind == CALL_SECTION && str_equal(e->call->name, macro);
    return is_call && e->call->args[0]->op == EXPR_INT ? e->call->args[0]->i : -1;
}

static bool is_last_rows(const struct expr *e, int64_t n)
{
    return rows_of(e, "STEPC_LAST_ROWS") == n;
}

/* n - STEPC_LAST_ROWS(n) */
static bool is_whole_parts(const struct expr *e, int64_t n)
{
    return e && e->op == EXPR_SUB && index_is(e->arg[0], n) && is_last_rows(e->arg[1], n);
}

/* The call that is all of the list; NULL: it is something else. */
static const struct tree_call *only_call(const stmt_list *list)
{
    const struct stmt *const s = list->count == 1 ? list->data[0] : NULL;
    const bool is_call = s && s->kind == STMT_CALL && s->value->call->kind == CALL_FUNCTION && !s->comment;
    return is_call && s->value->call->count > 2 ? s->value->call : NULL;
}

static bool is_var(const struct expr *e, void *v)
{
    return e->op == EXPR_VAR && e->var == v;
}

/* But for the first two arguments, which are the rows and which of them comes first. */
static bool is_same_call(struct expr_scope *s, const struct tree_call *x, const struct tree_call *y,
                         const struct tree_var *row)
{
    bool same = x->function == y->function && x->count == y->count && is_var(x->args[1], (void *)(uintptr_t)row);
    for (size_t i = 2; same && i < x->count; i++)
        same = !expr_any(x->args[i], is_var, (void *)(uintptr_t)row) &&
               str_equal(tree_expr_text(s, x->args[i], PREC_NONE), tree_expr_text(s, y->args[i], PREC_NONE));
    return same;
}

/* var < bound, where that is all that a loop asks. */
static const struct expr *bound_of(const struct stmt *loop)
{
    const struct expr *const c = loop->condition;
    if (!loop->to && c && c->op == EXPR_LT && c->arg[0]->op == EXPR_VAR && c->arg[0]->var == loop->var)
        return c->arg[1];
    return c ? NULL : loop->to;
}

/* How many rows a loop, which stands before `next`, goes through in parts; -1: it is another one. */
static int64_t rows_of_loop(struct expr_scope *s, const struct stmt *loop, const struct stmt *next)
{
    const int64_t n = loop->kind == STMT_LOOP ? rows_of(loop->by, "STEPC_PART_ROWS") : -1;
    if (n < 0 || next->kind != STMT_IF || !index_is(loop->from, 0) || !is_whole_parts(bound_of(loop), n) ||
        loop->hint || next->otherwise.count > 0 || next->condition->op != EXPR_GT ||
        !is_last_rows(next->condition->arg[0], n) || !index_is(next->condition->arg[1], 0))
        return -1;
    const struct tree_call *const part = only_call(&loop->body), *const last = only_call(&next->body);
    return part && last && rows_of(part->args[0], "STEPC_PART_ROWS") == n && is_last_rows(last->args[0], n) &&
                   is_whole_parts(last->args[1], n) && is_same_call(s, part, last, loop->var)
               ? n
               : -1;
}

static const struct stmt *each_part(struct arena *a, const struct stmt *loop, int64_t n)
{
    const struct tree_call *const part = only_call(&loop->body);
    const struct expr **const args = arena_array(a, const struct expr *, part->count);
    args[0] = index_constant(a, n);
    for (size_t i = 2; i < part->count; i++)
        args[i - 1] = part->args[i];
    const struct expr *const call = tree_call(a, DTYPE_INDEX, CALL_FUNCTION, part->name, args, part->count - 1);
    struct tree_call *const made = (struct tree_call *)(uintptr_t)call->call;
    made->function = part->function;
    made->each = "STEPC_EACH_PART";
    made->sizes = 1;
    made->given = 2;
    struct stmt *const s = arena_new(a, struct stmt);
    *s = (struct stmt){.kind = STMT_CALL, .value = call, .comment = loop->comment};
    return s;
}

void call_each_part(struct expr_scope *s, stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct stmt *const at = (struct stmt *)(uintptr_t)list->data[i];
        call_each_part(s, &at->body);
        call_each_part(s, &at->otherwise);
        const int64_t n = i + 1 < list->count ? rows_of_loop(s, at, list->data[i + 1]) : -1;
        if (n < 0)
            continue;
        list->data[i] = each_part(s->arena, at, n);
        vec_remove(list, i + 1);
    }
}
