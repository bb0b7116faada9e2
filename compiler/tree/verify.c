/* Whether a tree may be printed. */
#include "tree/tree.h"

#include "base/str.h"

struct verifier {
    struct arena *arena;
    tree_vars scope; /* what is declared here; the innermost last */
    const struct index_bound *where; /* what conditions around say */
    bool is_never;                   /* they never hold: no element is read */
    bool has_names;                  /* variables are named */
    const tree_vars *around;         /* what else may be read: functions that are built together have it in scope */
    const char *wrong;
};

static void fail(struct verifier *v, const char *what, const struct tree_var *var)
{
    if (!v->wrong)
        v->wrong = arena_printf(v->arena, "'%s' %s", var ? var->name : "an expression", what);
}

static void declare(struct verifier *v, const struct tree_var *var)
{
    for (size_t i = 0; i < v->scope.count; i++) {
        if (v->scope.data[i] == var)
            fail(v, "is declared twice", var);
        else if (v->has_names && str_equal(v->scope.data[i]->name, var->name))
            fail(v, "hides another of this name", var);
    }
    vec_push(v->arena, &v->scope, var);
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static bool is_index(enum dtype d)
{
    return d == DTYPE_INDEX || d == DTYPE_INT64 || d == DTYPE_INT32;
}

static bool match(enum dtype a, enum dtype b)
{
    return a == b || (is_index(a) && is_index(b));
}

/* What C takes as one. */
static bool is_condition(enum dtype d)
{
    return d == DTYPE_BOOL || d == DTYPE_INDEX;
}

static bool is_element_of(const struct tree_var *var)
{
    return var->kind == VAR_POINTER || var->kind == VAR_ARRAY;
}

static void check_element(struct verifier *v, const struct expr *e)
{
    struct index_range r;
    if (!is_element_of(e->var))
        fail(v, "has no elements", e->var);
    if (!is_index(e->arg[0]->dtype))
        fail(v, "has an index that is none", e->var);
    if (e->var->count > 0 && !v->is_never && index_range(e->arg[0], v->where, &r) &&
        (r.low < 0 || r.high >= e->var->count))
        fail(v, "is read or written outside", e->var);
}

static bool is_pointer(const struct expr *e)
{
    return e->op == EXPR_ADDRESS || e->op == EXPR_WHOLE || e->op == EXPR_NULL ||
           (e->op == EXPR_CALL && e->call->kind == CALL_STRUCT) || (e->op == EXPR_SELECT && is_pointer(e->arg[1]));
}

/* Do the operands' types fit the operation and its result? Casts, bits and random numbers take what they are given. */
static bool types_fit(const struct expr *e)
{
    const struct expr *const *const x = e->arg;
    if ((e->op == EXPR_EQ || e->op == EXPR_NE) && (is_pointer(x[0]) || is_pointer(x[1])))
        return is_pointer(x[0]) && is_pointer(x[1]) && is_condition(e->dtype);
    if (e->op >= EXPR_ADD && e->op <= EXPR_SHR)
        return match(x[0]->dtype, x[1]->dtype) && match(x[0]->dtype, e->dtype);
    switch (e->op) {
    case EXPR_LT:
    case EXPR_LE:
    case EXPR_EQ:
    case EXPR_GT:
    case EXPR_GE:
    case EXPR_NE: return match(x[0]->dtype, x[1]->dtype) && is_condition(e->dtype);
    case EXPR_BOTH:
    case EXPR_EITHER: return is_condition(x[0]->dtype) && is_condition(x[1]->dtype) && is_condition(e->dtype);
    case EXPR_SELECT:
        return is_condition(x[0]->dtype) && match(x[1]->dtype, x[2]->dtype) && match(x[1]->dtype, e->dtype);
    case EXPR_NEG:
    case EXPR_NOT:
    case EXPR_MATH: return x[0]->dtype == e->dtype;
    default: return true;
    }
}

static void check(struct verifier *v, const struct expr *e);

/* Of functions of the file, number and kind of the arguments; a place that is written must be one that may be. */
static void check_call(struct verifier *v, const struct tree_call *c)
{
    for (size_t i = 0; i < c->count && !v->wrong; i++)
        check(v, c->args[i]);
    if (c->kind == CALL_HOLE)
        fail(v, "is a hole", NULL);
    if (c->kind != CALL_FUNCTION)
        return;
    if (c->count != c->function->params.count)
        fail(v, "is a call with too many or too few arguments", NULL);
    for (size_t i = 0; i < c->function->params.count && !v->wrong; i++) {
        const struct tree_var *const p = c->function->params.data[i];
        const struct expr *const x = c->args[i];
        if ((p->kind == VAR_POINTER) != is_pointer(x))
            fail(v, "is given a value for a pointer, or a pointer for a value", p);
        if (p->kind == VAR_POINTER && p->written && x->op == EXPR_ADDRESS && !x->var->written &&
            (x->var->kind == VAR_POINTER || x->var->of || x->var->is_of_file))
            fail(v, "is given to a function that writes there", x->var);
    }
}

/* c ? x : y; in x, a bound that c sets holds. */
static void check_chosen(struct verifier *v, const struct expr *e)
{
    const struct expr *const c = e->arg[0];
    const struct index_bound *const outer = v->where;
    const bool is_bound = c->op == EXPR_LT && c->arg[0]->op == EXPR_VAR && index_is_constant(c->arg[1]);
    const struct index_bound bound = {is_bound ? c->arg[0]->var : NULL, is_bound ? c->arg[1]->i : 0, outer};
    const bool was_never = v->is_never;
    check(v, c);
    v->where = is_bound ? &bound : outer;
    v->is_never |= is_bound && bound.var->has_range && bound.below <= bound.var->low;
    check(v, e->arg[1]);
    v->where = outer;
    v->is_never = was_never;
    check(v, e->arg[2]);
}

static void check(struct verifier *v, const struct expr *e)
{
    if (e->op == EXPR_SELECT)
        check_chosen(v, e);
    for (int i = 0; i < expr_arg_count(e) && e->op != EXPR_SELECT && !v->wrong; i++)
        check(v, e->arg[i]);
    if (e->op == EXPR_LOAD || e->op == EXPR_INDEX || e->op == EXPR_RESULT)
        fail(v, "is not one of a tree", NULL);
    const struct tree_var *const var = tree_var_of(e);
    const bool is_everywhere = !var || var->kind == VAR_MACRO || var->is_of_file || tree_has(v->around, var);
    if (!is_everywhere && !tree_has(&v->scope, var->of ? var->of : var))
        fail(v, "is not in scope", var);
    if (e->op == EXPR_CALL)
        check_call(v, e->call);
    if (e->op == EXPR_VAR && is_element_of(e->var))
        fail(v, "is no value", e->var);
    if (e->op == EXPR_ELEMENT)
        check_element(v, e);
    if (e->op == EXPR_MATRIX && e->var->rank != 2)
        fail(v, "is no matrix", e->var);
    if (!types_fit(e))
        fail(v, "has operands of other types", NULL);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void check_list(struct verifier *v, const stmt_list *list);

static void check_if_any(struct verifier *v, const struct expr *e)
{
    if (e)
        check(v, e);
}

static void check_loop(struct verifier *v, const struct stmt *l)
{
    const size_t outer = v->scope.count;
    check(v, l->from);
    if (l->step == 0 ? !l->by && !l->next : l->to && l->step < 1)
        fail(v, "does not advance", l->var);
    if (!l->to && !l->condition)
        fail(v, "does not end", l->var);
    if (l->var->kind != VAR_LOOP)
        fail(v, "is no variable of a loop", l->var);
    declare(v, l->var);
    check_if_any(v, l->to);
    check_if_any(v, l->condition);
    check_if_any(v, l->by);
    check_if_any(v, l->next);
    check_list(v, &l->body);
    v->scope.count = outer;
}

static void check_if(struct verifier *v, const struct stmt *s)
{
    const size_t outer = v->scope.count;
    check(v, s->condition);
    if (!is_condition(s->condition->dtype))
        fail(v, "is no condition", NULL);
    check_list(v, &s->body);
    v->scope.count = outer;
    check_list(v, &s->otherwise);
    v->scope.count = outer;
}

static void check_declaration(struct verifier *v, const struct stmt *d)
{
    const bool is_array = d->var->kind == VAR_ARRAY;
    check_if_any(v, d->value);
    if (d->value && !match(d->value->dtype, d->var->dtype) && d->value->dtype != DTYPE_INDEX)
        fail(v, "is declared with a value of another type", d->var);
    if (!d->value && !is_array)
        fail(v, "is declared without a value", d->var);
    if (is_array && !d->var->extent && (d->var->count < 1 || d->repeat > d->var->count))
        fail(v, "has too many values", d->var);
    check_if_any(v, d->var->extent);
    declare(v, d->var);
}

static void check_set(struct verifier *v, const struct stmt *s)
{
    const struct expr *const to = s->target;
    check(v, to);
    check(v, s->value);
    if (to->op != EXPR_VAR && to->op != EXPR_ELEMENT && to->op != EXPR_MATRIX)
        fail(v, "is no target", NULL);
    else if (to->var->of ? !to->var->written
             : to->op == EXPR_VAR ? to->var->kind != VAR_CELL
                                  : to->var->kind == VAR_POINTER && !to->var->written)
        fail(v, "is set but must not be", to->var);
    else if (!match(to->dtype, s->value->dtype) && s->value->dtype != DTYPE_INDEX)
        fail(v, "is set to a value of another type", to->var);
}

static void check_list(struct verifier *v, const stmt_list *list)
{
    for (size_t i = 0; i < list->count && !v->wrong; i++) {
        const struct stmt *const s = list->data[i];
        switch (s->kind) {
        case STMT_LOOP: check_loop(v, s); break;
        case STMT_DECLARE: check_declaration(v, s); break;
        case STMT_SET: check_set(v, s); break;
        case STMT_IF: check_if(v, s); break;
        case STMT_CALL: check(v, s->value); break;
        case STMT_RETURN: check_if_any(v, s->value); break;
        }
    }
}

static void declare_all(struct verifier *v, const tree_vars *list)
{
    for (size_t i = 0; i < list->count; i++)
        declare(v, list->data[i]);
}

const char *tree_verify(struct arena *a, const tree_vars *parameters, const stmt_list *body)
{
    struct verifier v = {.arena = a, .has_names = true, .around = &(tree_vars){0}};
    declare_all(&v, parameters);
    check_list(&v, body);
    return v.wrong;
}

const char *tree_verify_pass(struct arena *a, const tree_vars *around, const struct tree_function *f)
{
    struct verifier v = {.arena = a, .around = around};
    declare_all(&v, &f->params);
    check_list(&v, &f->body);
    return v.wrong;
}
