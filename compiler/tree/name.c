/* Names of variables, given once, when the functions of a kernel are whole. Until then a variable only has a wish, and
 * several may wish the same:
 *
 *   kernel(x) { for (i..) { t = x[i]; y[i] = t; }  for (i..) .. }      two loops, one after the other: both are i
 *   kernel(x) { for (i..) for (i..) .. }                               the inner one becomes j
 *
 * Nothing has the name of what it would hide, or of what would hide it. */
#include "tree/template.h"

#include "base/map.h"
#include "base/str.h"
#include <string.h>

struct variable_naming {
    struct arena *arena;
    bool (*is_reserved)(const char *name);
    struct map called;  /* functions that the one at hand calls (values unused) */
    tree_vars scope;    /* what is declared here; the innermost last */
};

static struct tree_var *changeable(const struct tree_var *v)
{
    return (struct tree_var *)(uintptr_t)v; /* made for these functions alone */
}

/* ---- candidates -------------------------------------------------------------------------------------------------- */

static const char letters[] = "ijkmnpqr";

/* The next index after `wish`, if that is one letter: i, j, k .. NULL: there is none. */
static const char *next_letter(struct arena *a, const char *wish, int nth)
{
    const int count = (int)sizeof letters - 1;
    const char *const at = strchr(letters, wish[0]);
    const int next = at ? (int)(at - letters) + nth : nth - 1;
    return strlen(wish) == 1 && nth < count ? arena_printf(a, "%c", letters[next % count]) : NULL;
}

/* What the variable may be called instead of what it wishes: the first choice, the second .. */
static const char *candidate(struct arena *a, const struct tree_var *v, int nth)
{
    static const char *const ordinals[] = {"other", "third", "fourth", "fifth", "sixth", "seventh", "eighth"};
    const int known = (int)(sizeof ordinals / sizeof *ordinals);
    const char *const letter = v->kind == VAR_LOOP ? next_letter(a, v->name, nth) : NULL;
    if (letter)
        return letter;
    return nth <= known ? arena_printf(a, "%s_%s", ordinals[nth - 1], v->name)
                        : arena_printf(a, "%s_%d", v->name, nth + 1);
}

/* ---- scopes ------------------------------------------------------------------------------------------------------ */

struct clash {
    const struct tree_var *var;
    const char *name;
};

static bool is_declared_as(const struct stmt *s, void *data)
{
    const struct clash *const c = data;
    return s->var && s->var != c->var && s->var->is_named && str_equal(s->var->name, c->name);
}

/* Is the name that of something around, or of something in `rest`, where v is in scope? */
static bool is_taken(const struct variable_naming *n, const struct tree_var *v, const char *name, const stmt_list *rest)
{
    for (size_t i = 0; i < n->scope.count; i++)
        if (str_equal(n->scope.data[i]->name, name))
            return true;
    return map_has(&n->called, name) || n->is_reserved(name) ||
           tree_any_statement(rest, is_declared_as, &(struct clash){v, name});
}

/* Names v, which is in scope in `rest`. */
static void declare(struct variable_naming *n, const struct tree_var *v, const stmt_list *rest)
{
    const char *name = v->name;
    for (int nth = 1; !v->is_named && is_taken(n, v, name, rest); nth++)
        name = candidate(n->arena, v, nth);
    if (!v->is_named)
        changeable(v)->wish = v->name;
    changeable(v)->name = name;
    changeable(v)->is_named = true;
    vec_push(n->arena, &n->scope, v);
}

static void name_list(struct variable_naming *n, const stmt_list *list)
{
    const size_t outer = n->scope.count;
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const s = list->data[i];
        const stmt_list rest = {.data = list->data + i + 1, .count = list->count - i - 1};
        const size_t around = n->scope.count;
        if (s->var)
            declare(n, s->var, s->kind == STMT_LOOP ? &s->body : &rest);
        name_list(n, &s->body);
        name_list(n, &s->otherwise);
        if (s->kind == STMT_LOOP)
            n->scope.count = around;
    }
    n->scope.count = outer;
}

static bool note_called(const struct expr *e, void *data)
{
    struct variable_naming *const n = data;
    if (e->op == EXPR_CALL && e->call->name)
        map_set(&n->called, e->call->name, NULL);
    return false;
}

static void name_function(struct variable_naming *n, const struct tree_function *f)
{
    n->scope.count = 0;
    n->called = (struct map){.arena = n->arena};
    tree_any(&f->body, note_called, n);
    for (size_t i = 0; i < f->params.count; i++) /* what it shares with the kernel first */
        if (f->params.data[i]->is_named)
            declare(n, f->params.data[i], &f->body);
    for (size_t i = 0; i < f->params.count; i++)
        if (!tree_has(&n->scope, f->params.data[i]))
            declare(n, f->params.data[i], &f->body);
    name_list(n, &f->body);
}

void tree_name(struct arena *a, struct tree_function *const *functions, size_t count,
               bool (*is_reserved)(const char *name))
{
    struct variable_naming n = {.arena = a, .is_reserved = is_reserved};
    for (size_t i = count; i-- > 0;)
        name_function(&n, functions[i]);
}
