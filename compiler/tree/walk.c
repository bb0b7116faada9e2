#include "tree/tree.h"

bool tree_any(const stmt_list *list, bool (*f)(const struct expr *e, void *data), void *data)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const s = list->data[i];
        for (int k = 0; k < STMT_EXPRS; k++)
            if (s->expr[k] && expr_any(s->expr[k], f, data))
                return true;
        if (tree_any(&s->body, f, data) || tree_any(&s->otherwise, f, data))
            return true;
    }
    return false;
}
