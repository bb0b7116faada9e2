/* Functions that were built together become whole. What nobody reads goes: values, what is set and never read, and
 * parameters with their arguments. What a function reads of its kernel's variables, itself or in functions that it
 * calls, becomes a parameter.
 *
 *   part(rows, i) { s = 3; y[i] = x[i]; }          part(i, y, x) { y[i] = x[i]; }
 *   kernel(y, x) { part(8, 0); }             ->    kernel(y, x) { part(0, y, x); } */
#include "tree/template.h"

struct settling {
    struct arena *arena;
    struct tree_function *const *functions; /* none calls a later one */
    size_t count;
    VEC(struct tree_call *) calls; /* of functions, in all of them; some may have gone */
    bool changed;
};

static struct tree_var *changeable(const struct tree_var *v)
{
    return (struct tree_var *)(uintptr_t)v; /* made for these functions alone */
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

static bool names_var(const struct expr *e)
{
    return e->op == EXPR_VAR || e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS;
}

/* What counts is 0 or more. */
static bool add_read(const struct expr *e, void *data)
{
    (void)data;
    if (names_var(e))
        changeable(e->var)->reads++;
    return false;
}

static bool forget_reads(const struct expr *e, void *data)
{
    (void)data;
    if (names_var(e))
        changeable(e->var)->reads = 0;
    return false;
}

static bool forget_declared(const struct stmt *s, void *data)
{
    (void)data;
    if (s->var)
        changeable(s->var)->reads = 0;
    return false;
}

/* Is it a local's, which only its own function sees? */
static bool is_local_target(const struct expr *target)
{
    return target->var->kind == VAR_CELL || target->var->kind == VAR_ARRAY;
}

static void count_in(const struct expr *e)
{
    if (e)
        expr_any(e, add_read, NULL);
}

/* A local that is only set is not read. */
static bool count_reads(const struct stmt *s, void *data)
{
    (void)data;
    for (int i = 0; i + 1 < STMT_EXPRS; i++)
        count_in(s->expr[i]);
    count_in(s->kind == STMT_SET && is_local_target(s->target) ? s->target->arg[0] : s->target);
    count_in(s->var ? s->var->extent : NULL);
    return false;
}

static void count_function(const struct tree_function *f)
{
    for (size_t i = 0; i < f->params.count; i++)
        changeable(f->params.data[i])->reads = 0;
    tree_any_statement(&f->body, forget_declared, NULL);
    tree_any(&f->body, forget_reads, NULL);
    tree_any_statement(&f->body, count_reads, NULL);
}

/* ---- what nobody reads ------------------------------------------------------------------------------------------- */

static bool is_effect(const struct stmt *s, void *data)
{
    (void)data;
    return s->kind == STMT_CALL || (s->kind == STMT_SET && !is_local_target(s->target));
}

/* Does it call a function that writes memory that its caller knows? */
static bool has_effect(const struct expr *e, void *data)
{
    if (e->op != EXPR_CALL || e->call->kind != CALL_FUNCTION)
        return false;
    const stmt_list *const body = &e->call->function->body;
    return tree_any_statement(body, is_effect, data) || tree_any(body, has_effect, data);
}

static const struct tree_var *written_var(const struct stmt *s)
{
    if (s->kind == STMT_DECLARE)
        return s->var;
    return s->kind == STMT_SET && is_local_target(s->target) ? s->target->var : NULL;
}

/* Nothing: a value, or a loop or condition around nothing. What a call does stays. */
static bool vanishes(struct settling *t, struct stmt *s)
{
    const struct tree_var *const v = written_var(s);
    if ((s->kind == STMT_LOOP || s->kind == STMT_IF) && s->body.count == 0 && s->otherwise.count == 0)
        return true;
    if (!v || v->reads > 0)
        return false;
    if (!s->value || !expr_any(s->value, has_effect, NULL))
        return true;
    if (s->value->op == EXPR_CALL) { /* its result alone is not read */
        t->changed = true;
        *s = (struct stmt){.kind = STMT_CALL, .value = s->value, .comment = s->comment};
    }
    return false;
}

static void clear_list(struct settling *t, stmt_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        struct stmt *const s = (struct stmt *)(uintptr_t)list->data[i];
        clear_list(t, &s->body);
        clear_list(t, &s->otherwise);
        if (s->kind == STMT_IF && s->body.count == 0 && s->otherwise.count > 0) {
            s->condition = index_not(t->arena, s->condition);
            s->body = s->otherwise;
            s->otherwise = (stmt_list){0};
        }
        if (vanishes(t, s))
            t->changed = true;
        else
            list->data[kept++] = s;
    }
    list->count = kept;
}

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static bool note_call(const struct expr *e, void *data)
{
    struct settling *const t = data;
    if (e->op == EXPR_CALL && e->call->kind == CALL_FUNCTION)
        vec_push(t->arena, &t->calls, (struct tree_call *)(uintptr_t)e->call);
    return false;
}

static void drop_argument(struct tree_call *c, size_t at)
{
    for (size_t i = at; i + 1 < c->count; i++)
        c->args[i] = c->args[i + 1];
    c->count--;
}

static void drop_parameters(struct settling *t, struct tree_function *f)
{
    for (size_t i = f->params.count; i-- > 0;) {
        if (f->params.data[i]->reads > 0)
            continue;
        for (size_t c = 0; c < t->calls.count; c++)
            if (t->calls.data[c]->function == f)
                drop_argument(t->calls.data[c], i);
        vec_remove(&f->params, i);
        t->changed = true;
    }
}

/* ---- captures ---------------------------------------------------------------------------------------------------- */

struct capturing {
    struct settling *t;
    const tree_vars *outer;
    tree_vars declared, found;
    const struct tree_var *stray; /* neither declared here nor one of `outer` */
};

static bool note_declared(const struct stmt *s, void *data)
{
    struct capturing *const c = data;
    if (s->var)
        vec_push(c->t->arena, &c->declared, s->var);
    return false;
}

static bool note_free(const struct expr *e, void *data)
{
    struct capturing *const c = data;
    if (!names_var(e) || e->var->kind == VAR_MACRO || tree_has(&c->declared, e->var))
        return false;
    if (!tree_has(c->outer, e->var))
        c->stray = e->var;
    else if (!tree_has(&c->found, e->var))
        vec_push(c->t->arena, &c->found, e->var);
    return false;
}

static void add_argument(struct settling *t, struct tree_call *c, const struct tree_var *v)
{
    const struct expr **const args = arena_array(t->arena, const struct expr *, c->count + 1);
    for (size_t i = 0; i < c->count; i++)
        args[i] = c->args[i];
    args[c->count++] = v->kind == VAR_POINTER ? tree_address(t->arena, v, index_constant(t->arena, 0))
                                              : tree_read(t->arena, v);
    c->args = args;
}

/* In the order of `outer`. Functions above it have their captures by now, so their calls count as reads. */
static const struct tree_var *capture(struct settling *t, struct tree_function *f, const tree_vars *outer)
{
    struct capturing c = {.t = t, .outer = outer};
    for (size_t i = 0; i < f->params.count; i++)
        vec_push(t->arena, &c.declared, f->params.data[i]);
    tree_any_statement(&f->body, note_declared, &c);
    tree_any(&f->body, note_free, &c);
    for (size_t i = 0; i < outer->count && f != t->functions[t->count - 1]; i++) {
        if (!tree_has(&c.found, outer->data[i]))
            continue;
        vec_push(t->arena, &f->params, outer->data[i]);
        for (size_t k = 0; k < t->calls.count; k++)
            if (t->calls.data[k]->function == f)
                add_argument(t, t->calls.data[k], outer->data[i]);
    }
    return c.stray;
}

const char *tree_settle(struct arena *a, struct tree_function *const *functions, size_t count, const tree_vars *outer)
{
    struct settling t = {.arena = a, .functions = functions, .count = count};
    for (size_t i = 0; i < count; i++)
        tree_any(&functions[i]->body, note_call, &t);
    do {
        t.changed = false;
        for (size_t i = count; i-- > 0;) {
            count_function(functions[i]);
            clear_list(&t, &functions[i]->body);
        }
        for (size_t i = 0; i + 1 < count; i++) {
            count_function(functions[i]);
            drop_parameters(&t, functions[i]);
        }
    } while (t.changed);
    for (size_t i = 0; i < count; i++) {
        const struct tree_var *const stray = capture(&t, functions[i], outer);
        if (stray)
            return arena_printf(a, "'%s' of '%s' is neither declared nor given", stray->name, functions[i]->name);
    }
    for (size_t i = 0; i < outer->count; i++)
        changeable(outer->data[i])->reads = 0;
    count_function(functions[count - 1]);
    return NULL;
}
