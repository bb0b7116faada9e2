#include "tree/tree.h"

const struct tree_var *tree_var_of(const struct expr *e)
{
    switch (e->op) {
    case EXPR_VAR:
    case EXPR_ELEMENT:
    case EXPR_ADDRESS:
    case EXPR_WHOLE:
    case EXPR_MATRIX:
    case EXPR_BYTES: return e->var;
    default: return NULL;
    }
}

bool tree_has(const tree_vars *list, const struct tree_var *v)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->data[i] == v)
            return true;
    return false;
}

bool tree_any_statement(const stmt_list *list, bool (*f)(const struct stmt *s, void *data), void *data)
{
    for (size_t i = 0; i < list->count; i++)
        if (f(list->data[i], data) || tree_any_statement(&list->data[i]->body, f, data) ||
            tree_any_statement(&list->data[i]->otherwise, f, data))
            return true;
    return false;
}

struct any_expr {
    bool (*f)(const struct expr *e, void *data);
    void *data;
};

static bool any_of_statement(const struct stmt *s, void *data)
{
    const struct any_expr *const any = data;
    for (int i = 0; i < STMT_EXPRS; i++)
        if (s->expr[i] && expr_any(s->expr[i], any->f, any->data))
            return true;
    return false;
}

bool tree_any(const stmt_list *list, bool (*f)(const struct expr *e, void *data), void *data)
{
    return tree_any_statement(list, any_of_statement, &(struct any_expr){f, data});
}

typedef const struct expr *(*replace)(const struct expr *e, void *data);

/* The arguments of e that are others, in place; are there any? */
static bool replace_args(struct arena *a, const struct expr **args, size_t count, replace by, void *data)
{
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        const struct expr *const old = args[i];
        args[i] = tree_with(a, old, by, data);
        any |= args[i] != old;
    }
    return any;
}

static bool replace_in_call(struct arena *a, struct expr *e, replace by, void *data)
{
    struct tree_call *const c = arena_copy(a, e->call, sizeof *c, alignof(struct tree_call));
    c->args = arena_copy(a, c->args, c->count * sizeof *c->args, alignof(const struct expr *));
    e->call = c;
    return replace_args(a, c->args, c->count, by, data);
}

const struct expr *tree_with(struct arena *a, const struct expr *e, replace by, void *data)
{
    const struct expr *const other = by(e, data);
    if (other)
        return other;
    struct expr *const made = arena_copy(a, e, sizeof *e, alignof(struct expr));
    bool any = replace_args(a, made->arg, (size_t)expr_arg_count(e), by, data);
    if (e->op == EXPR_CALL)
        any |= replace_in_call(a, made, by, data);
    return any ? made : e;
}
