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
