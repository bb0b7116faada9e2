#include "tree/tree.h"

static bool any_of(const struct expr *e, bool (*f)(const struct expr *e, void *data), void *data)
{
    return e && expr_any(e, f, data);
}

bool tree_any(const stmt_list *list, bool (*f)(const struct expr *e, void *data), void *data)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const s = list->data[i];
        if (any_of(s->from, f, data) || any_of(s->to, f, data) || any_of(s->by, f, data) || any_of(s->next, f, data) ||
            any_of(s->condition, f, data) || any_of(s->value, f, data) || any_of(s->target, f, data) ||
            tree_any(&s->body, f, data) || tree_any(&s->otherwise, f, data))
            return true;
    }
    return false;
}
