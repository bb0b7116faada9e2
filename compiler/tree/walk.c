#include "tree/tree.h"

#include "base/str.h"

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

static bool is_of(const struct expr *e, void *v)
{
    return (e->op == EXPR_VAR || e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS) && e->var == v;
}

bool tree_names(const stmt_list *list, const struct tree_var *v)
{
    return tree_any(list, is_of, (void *)(uintptr_t)v);
}

static void add_text(struct strbuf *b, const stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->data[i]->kind == STMT_TEXT)
            strbuf_add(b, list->data[i]->text);
        add_text(b, &list->data[i]->body);
        add_text(b, &list->data[i]->otherwise);
    }
}

const char *tree_all_text(struct arena *a, const stmt_list *list)
{
    struct strbuf b = {.arena = a};
    add_text(&b, list);
    return strbuf_text(&b);
}
