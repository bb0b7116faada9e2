/* What can be said more shortly. x = x - y is x -= y; and an element that has a name for the next statement alone,
 * which reads it once, stands there itself:
 *
 *   const float v = acc[l];
 *   y[l] = y[l] - rate * v;           ->   y[l] = y[l] - rate * acc[l];
 *
 * So does what a function of the runtime gives. Not where it would be loaded in one branch of a select only: compilers
 * would jump, or mask the load. Not what is computed otherwise, unless it is stored as it is: compilers may contract
 * within an expression. An index that fills a line keeps its statement. */
#include "tree/tree.h"

#include "base/str.h"
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

struct replacement {
    const struct tree_var *var;
    const struct expr *by;
};

static const struct expr *replacement_of(const struct expr *e, void *data)
{
    const struct replacement *const r = data;
    return e->op == EXPR_VAR && e->var == r->var ? r->by : NULL;
}

static const struct expr *with(struct arena *a, const struct expr *e, const struct tree_var *v, const struct expr *by)
{
    return tree_with(a, e, replacement_of, &(struct replacement){v, by});
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

/* Has the value the variable's type? */
static bool is_of_type(const struct expr *value, const struct tree_var *v)
{
    return value->dtype == v->dtype || (value->op == EXPR_ELEMENT && str_equal(value->var->type, v->type));
}

/* An element; or what a function of the runtime computes of one, which compilers do not contract with anything. */
static bool may_stand_inside(const struct expr *value)
{
    enum { LONGEST = 9 };
    const bool is_function = (value->op == EXPR_MATH && dtype_is_float(value->dtype)) ||
                             (value->op == EXPR_CALL && value->call->kind == CALL_HELPER);
    return (value->op == EXPR_ELEMENT || is_function) && size_of(value) <= LONGEST;
}

/* Where in the list the statement is that alone reads what `s` declares, which stands before `next`; 0: nowhere. Right
 * behind it, but for stores in between where it is only stored. */
static size_t reader_of(const struct stmt *s, const stmt_list *list, size_t next)
{
    if (s->kind != STMT_DECLARE || s->var->kind != VAR_VALUE || !s->value || !is_of_type(s->value, s->var) ||
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
    if (!is_copy && (at > next || !may_stand_inside(s->value)))
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

/* ---- stores that come at once ------------------------------------------------------------------------------------ */

/* Does e name the memory of the target, or may it be a part of that by another name? */
static bool may_name_target(const struct expr *e, void *target)
{
    const bool has_elements = e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS;
    return names_target(e, target) || (has_elements && e->var->kind == VAR_POINTER && !e->var->is_restrict);
}

static bool holds_place(const struct expr *e, void *unused)
{
    (void)unused;
    return e->op == EXPR_ELEMENT || e->op == EXPR_CALL;
}

/* Is it y[i] = v for the v that d declares, in memory that nothing else names? */
static bool stores_value(const struct stmt *s, const struct stmt *d)
{
    enum { LONGEST = 9 };
    if (s->kind != STMT_SET || s->op != SET_TO || s->comment || !is_var(s->value, (void *)(uintptr_t)d->var))
        return false;
    const struct expr *const to = s->target;
    return to->op == EXPR_ELEMENT && to->dtype == d->var->dtype && to->var->kind == VAR_POINTER &&
           to->var->is_restrict && size_of(to) <= LONGEST && !expr_any(to->arg[0], holds_place, NULL);
}

/* May the store of d's value stand before s? It declares or stores something else, and the place is known there. */
static bool may_pass(const struct stmt *s, const struct expr *place)
{
    void *const to = (void *)(uintptr_t)place;
    if ((s->kind != STMT_DECLARE && s->kind != STMT_SET) || !s->value || expr_any(s->value, may_name_target, to) ||
        (s->kind == STMT_SET && expr_any(s->target, may_name_target, to)))
        return false;
    return s->kind == STMT_SET || !expr_any(place->arg[0], is_var, (void *)(uintptr_t)s->var);
}

/* Reads s the value once and at most, in any case, and leaves the place alone? */
static bool may_read_place(const struct stmt *s, const struct tree_var *v, const struct expr *place)
{
    void *const var = (void *)(uintptr_t)v, *const to = (void *)(uintptr_t)place;
    const stmt_list alone = {.data = &s, .count = 1};
    if (!tree_any(&alone, is_var, var))
        return !tree_any(&alone, may_name_target, to);
    return (s->kind == STMT_DECLARE || (s->kind == STMT_SET && s->op <= SET_PRODUCT)) &&
           !tree_any(&alone, may_name_target, to) && reads_of(s->value, v) == 1 &&
           (s->kind == STMT_DECLARE || !expr_any(s->target, is_var, var));
}

/* Where in the list the value that list[at] declares is stored, so that all others may read it there; 0: nowhere. */
static size_t store_of(const stmt_list *list, size_t at)
{
    const struct stmt *const d = list->data[at];
    if (d->kind != STMT_DECLARE || d->var->kind != VAR_VALUE || !d->value || d->comment ||
        d->value->dtype != d->var->dtype)
        return 0;
    size_t store = at + 1;
    while (store < list->count && !stores_value(list->data[store], d))
        store++;
    if (store == list->count)
        return 0;
    const struct expr *const place = list->data[store]->target;
    bool ok = !expr_any(place->arg[0], is_var, (void *)(uintptr_t)d->var);
    for (size_t i = at + 1; i < list->count; i++)
        ok = ok && (i == store || (may_read_place(list->data[i], d->var, place) &&
                                   (i > store || may_pass(list->data[i], place))));
    return ok ? store : 0;
}

/*   new = 0.9 * v[i] + g;  v[i] = new;  w[i] -= rate * new;     ->    v[i] = 0.9 * v[i] + g;  w[i] -= rate * v[i]; */
static void store_at_once(struct arena *a, stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const size_t store = store_of(list, i);
        if (store == 0)
            continue;
        const struct stmt *const d = list->data[i], *const set = list->data[store];
        struct stmt *const made = arena_copy(a, set, sizeof *set, alignof(struct stmt));
        made->value = d->value;
        list->data[i] = made;
        vec_remove(list, store);
        for (size_t k = i + 1; k < list->count; k++) {
            struct stmt *const s = (struct stmt *)(uintptr_t)list->data[k];
            if (s->value && reads_of(s->value, d->var) > 0)
                s->value = with(a, s->value, d->var, made->target);
        }
    }
}

/* ---- a list ------------------------------------------------------------------------------------------------------ */

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
    store_at_once(a, list);
    for (size_t i = 0; i < list->count; i++)
        set_by_itself((struct stmt *)(uintptr_t)list->data[i]);
}
