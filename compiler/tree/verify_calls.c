/* Whether functions fit together that were verified one by one: what is declared is read, what a call may write is
 * apart from what else it is given, and an entry that fails has changed nothing. */
#include "tree/tree.h"

#include "base/str.h"

/* ---- what is declared is read ------------------------------------------------------------------------------------ */

static bool is_target_of(const struct stmt *s, const struct tree_var *v)
{
    const bool is_local = v->kind == VAR_CELL || v->kind == VAR_ARRAY;
    return s->kind == STMT_SET && s->op == SET_TO && s->target->var == v && is_local && !v->of;
}

static bool names_var(const struct expr *e, void *data)
{
    const struct tree_var *const v = data, *const named = tree_var_of(e);
    return named && (named == v || named->of == v);
}

/* Setting a local is not reading it; its index may be. */
static bool statement_reads(const struct stmt *s, void *data)
{
    const bool is_target = is_target_of(s, data);
    for (int i = 0; i < STMT_EXPRS; i++) {
        const struct expr *e = s->expr[i];
        if (e && e == s->target && is_target)
            e = e->op == EXPR_ELEMENT ? e->arg[0] : NULL;
        if (e && expr_any(e, names_var, data))
            return true;
    }
    return s->var && s->var->extent && expr_any(s->var->extent, names_var, data);
}

static bool is_read(const stmt_list *body, const struct tree_var *v)
{
    return tree_any_statement(body, statement_reads, (void *)(uintptr_t)v);
}

struct read_search {
    const stmt_list *body;
    const struct tree_var *unread;
};

static bool declares_unread(const struct stmt *s, void *data)
{
    struct read_search *const r = data;
    if (s->kind == STMT_DECLARE && !is_read(r->body, s->var))
        r->unread = s->var;
    return r->unread != NULL;
}

static const struct tree_var *find_unread(const struct tree_function *f)
{
    struct read_search r = {.body = &f->body};
    for (size_t i = 0; i < f->params.count; i++)
        if (!is_read(&f->body, f->params.data[i]))
            return f->params.data[i];
    tree_any_statement(&f->body, declares_unread, &r);
    return r.unread;
}

/* ---- arguments are apart ----------------------------------------------------------------------------------------- */

/* Elements of an object: a parameter, an array or a member of a struct. */
struct memory_place {
    const struct tree_var *object;
    const struct expr *at;   /* in elements of the object; if it is not a number: */
    int64_t begin, end;      /* in bytes; end < 0: not known */
};

enum { PLACES = 2 };

/* Where a pointer leads: through locals, and to either side of a choice. Returns how many there are. */
static int find_places(const struct expr *e, int64_t bytes, struct memory_place places[PLACES])
{
    if (e->op == EXPR_SELECT) {
        const int count = find_places(e->arg[1], bytes, places);
        return count + (count < PLACES ? find_places(e->arg[2], bytes, places + count) : 0);
    }
    if (e->op != EXPR_ADDRESS && e->op != EXPR_WHOLE)
        return 0;
    const struct tree_var *const v = e->var;
    const bool is_begin = e->op == EXPR_WHOLE || index_is(e->arg[0], 0);
    if (v->kind == VAR_POINTER && v->value && is_begin)
        return find_places(v->value, bytes, places);
    struct index_range r = {0};
    const bool is_known = is_begin || (index_range(e->arg[0], NULL, &r) && r.low == r.high);
    const int64_t begin = r.low * (int64_t)dtype_size(v->dtype);
    places[0] = (struct memory_place){v, is_begin ? NULL : e->arg[0], begin, is_known ? begin + bytes : -1};
    return 1;
}

static bool is_same_object(const struct tree_var *x, const struct tree_var *y)
{
    return x == y || (x->of && x->of == y->of && str_equal(x->name, y->name));
}

/* Members of the arena are arrays in the same memory: `of` is that of both. */
static bool overlap(const struct memory_place *x, const struct memory_place *y, const struct tree_var *shared)
{
    const bool is_shared = shared && x->object->of == shared && y->object->of == shared;
    if (!is_shared && !is_same_object(x->object, y->object))
        return false;
    if (x->end < 0 || y->end < 0)
        return x->at && y->at && tree_same_place(x->at, y->at);
    return x->begin < y->end && y->begin < x->end;
}

struct apart_search {
    const struct tree_var *shared, *wrong;
};

static int64_t bytes_at(const struct tree_var *param)
{
    return param->count * (int64_t)dtype_size(param->dtype);
}

/* Arguments i and j of a call. */
static bool may_meet(const struct tree_call *c, size_t i, size_t j, const struct tree_var *shared)
{
    const struct tree_var *const p = c->function->params.data[i], *const q = c->function->params.data[j];
    struct memory_place x[PLACES], y[PLACES];
    if (p->kind != VAR_POINTER || q->kind != VAR_POINTER || !(p->is_restrict || q->is_restrict) ||
        !(p->written || q->written))
        return false;
    const int xs = find_places(c->args[i], bytes_at(p), x), ys = find_places(c->args[j], bytes_at(q), y);
    for (int k = 0; k < xs; k++)
        for (int l = 0; l < ys; l++)
            if (overlap(&x[k], &y[l], shared))
                return true;
    return false;
}

static bool call_meets(const struct expr *e, void *data)
{
    struct apart_search *const s = data;
    if (e->op != EXPR_CALL || e->call->kind != CALL_FUNCTION)
        return false;
    for (size_t i = 0; i < e->call->count && !s->wrong; i++)
        for (size_t j = 0; j < i && !s->wrong; j++)
            if (may_meet(e->call, i, j, s->shared))
                s->wrong = e->call->function->params.data[j];
    return s->wrong != NULL;
}

/* ---- checks before writes ---------------------------------------------------------------------------------------- */

struct write_walk {
    struct arena *arena;
    const struct tree_var *state; /* of the function at hand: a pointer to the struct */
    bool has_written, fails_late;
    VEC(const struct tree_call *) calls; /* of the statement at hand */
};

static void walk_list(struct write_walk *w, const stmt_list *list);

static bool leads_to(const struct expr *e, const struct tree_var *state)
{
    const struct tree_var *const v = tree_var_of(e);
    return v && (v == state || v->of == state);
}

/* Functions of the file say what they write; of others it is what their first argument leads to. A function that is
 * given the state itself is walked through. */
static void walk_call(struct write_walk *w, const struct tree_call *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const bool is_function = c->kind == CALL_FUNCTION;
        const struct tree_var *const p = is_function ? c->function->params.data[i] : NULL;
        if (!leads_to(c->args[i], w->state))
            continue;
        if (p && c->args[i]->var == w->state) {
            struct write_walk inner = {
                .arena = w->arena, .state = p, .has_written = w->has_written, .fails_late = w->fails_late};
            walk_list(&inner, &c->function->body);
            w->has_written = inner.has_written;
            w->fails_late = inner.fails_late;
        } else {
            const bool is_place = c->args[i]->op == EXPR_ADDRESS || c->args[i]->op == EXPR_WHOLE;
            w->has_written |= p ? p->kind == VAR_POINTER && p->written : i == 0 && is_place;
        }
    }
}

static bool note_call(const struct expr *e, void *data)
{
    struct write_walk *const w = data;
    if (e->op == EXPR_CALL)
        vec_push(w->arena, &w->calls, e->call);
    return false;
}

/* An error that begins here; a variable has one of a function that was walked through. */
static bool is_error(const struct expr *status)
{
    return status->op == EXPR_TEXT && !str_equal(status->text, "STEPC_OK");
}

/* A branch that returns has no part in what follows. */
static void walk_if(struct write_walk *w, const struct stmt *s)
{
    const bool before = w->has_written;
    walk_list(w, &s->body);
    const bool returns = s->body.count > 0 && s->body.data[s->body.count - 1]->kind == STMT_RETURN;
    const bool after = returns ? before : w->has_written;
    w->has_written = before;
    walk_list(w, &s->otherwise);
    w->has_written |= after;
}

static void walk_list(struct write_walk *w, const stmt_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct stmt *const s = list->data[i];
        w->calls.count = 0;
        for (int x = 0; x < STMT_EXPRS; x++)
            if (s->expr[x])
                expr_any(s->expr[x], note_call, w);
        vec_each(const struct tree_call *, c, &w->calls)
            walk_call(w, c);
        if (s->kind == STMT_SET)
            w->has_written |= leads_to(s->target, w->state);
        if (s->kind == STMT_RETURN && s->value && is_error(s->value))
            w->fails_late |= w->has_written;
        if (s->kind == STMT_IF)
            walk_if(w, s);
        else
            walk_list(w, &s->body);
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

const char *tree_verify_function(struct arena *a, const struct tree_function *f, const struct tree_var *shared)
{
    const char *const wrong = tree_verify(a, &f->params, &f->body);
    struct apart_search s = {.shared = shared};
    if (wrong)
        return wrong;
    const struct tree_var *const unread = find_unread(f);
    if (unread)
        return arena_printf(a, "'%s' is not read", unread->name);
    tree_any(&f->body, call_meets, &s);
    return s.wrong ? arena_printf(a, "'%s' is given memory that the function writes as another", s.wrong->name) : NULL;
}

const char *tree_verify_entry(struct arena *a, const struct tree_function *f, const struct tree_var *state)
{
    struct write_walk w = {.arena = a, .state = state};
    walk_list(&w, &f->body);
    return w.fails_late ? arena_printf(a, "'%s' may fail when it has written", f->name) : NULL;
}
