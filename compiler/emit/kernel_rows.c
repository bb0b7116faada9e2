/* Rows of a matrix are computed in parts of so many as the user's compiler has registers for, and a last part of fewer.
 * A function that is called for all of them is called by a macro of runtime/kernels/stepc_registers.h:
 *
 *   for (int i = 0; i < 32 - STEPC_LAST_ROWS(32); i += STEPC_PART_ROWS(32))
 *       part(STEPC_PART_ROWS(32), i, x, y);
 *   if (STEPC_LAST_ROWS(32) > 0)
 *       part(STEPC_LAST_ROWS(32), 32 - STEPC_LAST_ROWS(32), x, y);         ->  STEPC_EACH_PART(32, part, x, y);
 *
 * The same for rows of weights, also where in each part another loop goes through windows, in vectors
 * (stepc_window_lanes.h). */
#include "emit/emit_internal.h"

#include <string.h>

/* So many in each part; left for the last; NULL: what is left of n. */
struct steps {
    const char *part, *last, *each;
    int64_t n;
};

static const struct steps kinds[] = {
    {.part = "STEPC_PART_ROWS", .last = "STEPC_LAST_ROWS", .each = "STEPC_EACH_PART"},
    {.part = "STEPC_WINDOW_ROWS", .last = "STEPC_WINDOW_LAST_ROWS", .each = "STEPC_EACH_WINDOW_PART"}};

static const char vector_of[] = "STEPC_WINDOW_LANES(";

/* n of STEPC_PART_ROWS(n) or the like; -1: it is not that. */
static int64_t rows_of(const struct expr *e, const char *macro)
{
    const bool is_call = e && e->op == EXPR_CALL && e->call->kind == CALL_SECTION && str_equal(e->call->name, macro);
    return is_call && e->call->args[0]->op == EXPR_INT ? e->call->args[0]->i : -1;
}

static bool is_macro(const struct expr *e, const char *name)
{
    return e->op == EXPR_VAR && e->var->kind == VAR_MACRO && str_equal(e->var->name, name);
}

static bool is_part(const struct expr *e, const struct steps *t)
{
    return t->last ? rows_of(e, t->part) == t->n : is_macro(e, t->part);
}

static bool is_last(const struct expr *e, const struct steps *t)
{
    if (t->last)
        return rows_of(e, t->last) == t->n;
    return e->op == EXPR_MOD && index_is(e->arg[0], t->n) && is_macro(e->arg[1], t->part);
}

/* n less the last */
static bool is_whole_parts(const struct expr *e, const struct steps *t)
{
    return e->op == EXPR_SUB && index_is(e->arg[0], t->n) && is_last(e->arg[1], t);
}

/* var < bound, where that is all that a loop asks. */
static const struct expr *bound_of(const struct stmt *loop)
{
    const struct expr *const c = loop->condition;
    if (!loop->to && c && c->op == EXPR_LT && c->arg[0]->op == EXPR_VAR && c->arg[0]->var == loop->var)
        return c->arg[1];
    return c ? NULL : loop->to;
}

/* How a loop goes through rows or windows, if it does, and the statement behind it through the last of them. */
static bool find_steps(const struct stmt *loop, const struct stmt *next, struct steps *t)
{
    const struct expr *const bound = loop->kind == STMT_LOOP ? bound_of(loop) : NULL, *const by = loop->by;
    *t = (struct steps){0};
    for (size_t i = 0; by && i < sizeof kinds / sizeof *kinds; i++)
        if (rows_of(by, kinds[i].part) >= 0) {
            *t = kinds[i];
            t->n = rows_of(by, kinds[i].part);
        }
    if (by && by->op == EXPR_VAR && by->var->kind == VAR_MACRO && str_starts_with(by->var->name, vector_of)) {
        t->part = by->var->name;
        t->n = bound && bound->op == EXPR_SUB && bound->arg[0]->op == EXPR_INT ? bound->arg[0]->i : -1;
    }
    return t->part && bound && !loop->hint && index_is(loop->from, 0) && is_whole_parts(bound, t) &&
           next->kind == STMT_IF && next->otherwise.count == 0 && next->condition->op == EXPR_GT &&
           is_last(next->condition->arg[0], t) && index_is(next->condition->arg[1], 0);
}

/* The call that is all of the list; NULL: it is something else. */
static const struct tree_call *only_call(const stmt_list *list)
{
    const struct stmt *const s = list->count == 1 ? list->data[0] : NULL;
    const bool is_call = s && s->kind == STMT_CALL && s->value->call->kind == CALL_FUNCTION && !s->comment;
    return is_call ? s->value->call : NULL;
}

static bool is_var(const struct expr *e, void *v)
{
    return e->op == EXPR_VAR && e->var == v;
}

/* Do both calls say the same, but for the arguments from `at` to the one before `end`? The first of these say how many,
 * and which of them comes first. */
static bool is_same_call(struct expr_scope *s, const struct tree_call *x, const struct tree_call *y,
                         const struct tree_var *row, const struct steps *t, size_t at, size_t end)
{
    void *const v = (void *)(uintptr_t)row;
    bool same = x->function == y->function && x->count == y->count && x->count > end && is_part(x->args[at], t) &&
                is_var(x->args[at + 1], v) && is_last(y->args[at], t) && is_whole_parts(y->args[at + 1], t);
    for (size_t i = 0; same && i < x->count; i++)
        if (i < at || i >= end)
            same = !expr_any(x->args[i], is_var, v) &&
                   str_equal(tree_expr_text(s, x->args[i], PREC_NONE), tree_expr_text(s, y->args[i], PREC_NONE));
    return same;
}

/* A call of which the first arguments are `sizes`, in the place of those that say which rows. */
static const struct stmt *each_part(struct arena *a, const struct stmt *loop, const struct tree_call *part,
                                    const char *macro, const struct expr *const *sizes, size_t count, size_t replaced)
{
    const struct expr **const args = arena_array(a, const struct expr *, part->count + count);
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        args[n++] = sizes[i];
    for (size_t i = replaced; i < part->count; i++)
        args[n++] = part->args[i];
    const struct expr *const call = tree_call(a, DTYPE_INDEX, CALL_FUNCTION, part->name, args, n);
    struct tree_call *const made = (struct tree_call *)(uintptr_t)call->call;
    made->function = part->function;
    made->each = macro;
    made->sizes = count;
    made->given = replaced;
    struct stmt *const s = arena_new(a, struct stmt);
    *s = (struct stmt){.kind = STMT_CALL, .value = call, .comment = loop->comment};
    return s;
}

/* Of a loop through rows and of the statement behind it. NULL: they are something else. */
static const struct stmt *part_of_rows(struct expr_scope *s, const struct stmt *loop, const struct stmt *next,
                                       const struct steps *t)
{
    const struct tree_call *const part = only_call(&loop->body), *const last = only_call(&next->body);
    const struct expr *const n = index_constant(s->arena, t->n);
    return t->each && part && last && is_same_call(s, part, last, loop->var, t, 0, 2)
               ? each_part(s->arena, loop, part, t->each, &n, 1, 2)
               : NULL;
}

/* The call in a loop through windows, in vectors, and in the statement behind it; NULL: the list is something else. */
static const struct tree_call *call_of_windows(struct expr_scope *s, const stmt_list *list, struct steps *t)
{
    if (list->count != 2 || !find_steps(list->data[0], list->data[1], t) || t->last)
        return NULL;
    const struct tree_call *const part = only_call(&list->data[0]->body), *const last = only_call(&list->data[1]->body);
    return part && last && is_same_call(s, part, last, list->data[0]->var, t, 2, 4) ? part : NULL;
}

/* The same where each of both goes through windows. */
static const struct stmt *tile_of_rows(struct expr_scope *s, const struct stmt *loop, const struct stmt *next,
                                       const struct steps *t)
{
    struct steps windows, others;
    const struct tree_call *const part = call_of_windows(s, &loop->body, &windows),
                           *const last = call_of_windows(s, &next->body, &others);
    if (!t->each || !part || !last || windows.n != others.n || !is_same_call(s, part, last, loop->var, t, 0, 4))
        return NULL;
    struct tree_var *const type = arena_new(s->arena, struct tree_var);
    const size_t length = strlen(windows.part) - strlen(vector_of) - 1;
    *type = (struct tree_var){.kind = VAR_MACRO, .name = arena_printf(s->arena, "%.*s", (int)length,
                                                                      windows.part + strlen(vector_of))};
    const struct expr *const sizes[] = {tree_read(s->arena, type), index_constant(s->arena, t->n),
                                        index_constant(s->arena, windows.n)};
    return each_part(s->arena, loop, part, "STEPC_EACH_WINDOW_TILE", sizes, 3, 4);
}

void call_each_part(struct expr_scope *s, stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        struct stmt *const at = (struct stmt *)(uintptr_t)list->data[i];
        struct steps t;
        call_each_part(s, &at->body);
        call_each_part(s, &at->otherwise);
        if (i + 1 == list->count || !find_steps(at, list->data[i + 1], &t))
            continue;
        const struct stmt *const call = part_of_rows(s, at, list->data[i + 1], &t);
        const struct stmt *const made = call ? call : tile_of_rows(s, at, list->data[i + 1], &t);
        if (!made)
            continue;
        list->data[i] = made;
        vec_remove(list, i + 1);
    }
}
