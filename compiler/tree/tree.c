#include "tree/tree.h"

#include "base/checked.h"

/* ---- variables --------------------------------------------------------------------------------------------------- */

struct tree_var *tree_var(struct arena *a, enum var_kind kind, enum dtype dtype, const char *type, const char *name)
{
    struct tree_var *const v = arena_new(a, struct tree_var);
    *v = (struct tree_var){.kind = kind, .dtype = dtype, .type = type, .name = name};
    return v;
}

struct tree_var *tree_index_var(struct arena *a, enum var_kind kind, const char *type, const char *name, int64_t low,
                                int64_t high)
{
    struct tree_var *const v = tree_var(a, kind, DTYPE_INDEX, type, name);
    v->has_range = true;
    v->low = low;
    v->high = high;
    return v;
}

struct tree_var *tree_member(struct arena *a, enum var_kind kind, enum dtype dtype, const char *type,
                             const struct tree_var *of, const char *name, int64_t count)
{
    struct tree_var *const v = tree_var(a, kind, dtype, type, name);
    v->of = of;
    v->count = count;
    v->written = of->written;
    return v;
}

static struct expr *make(struct arena *a, enum expr_op op, enum dtype dtype, const struct expr *x,
                         const struct expr *y)
{
    struct expr *const e = arena_new(a, struct expr);
    e->op = op;
    e->dtype = dtype;
    e->arg[0] = x;
    e->arg[1] = y;
    return e;
}

static const struct expr *of_var(struct arena *a, enum expr_op op, const struct tree_var *v, const struct expr *index)
{
    struct expr *const e = make(a, op, v->dtype, index, NULL);
    e->var = v;
    return e;
}

const struct expr *tree_read(struct arena *a, const struct tree_var *v)
{
    return of_var(a, EXPR_VAR, v, NULL);
}

const struct expr *tree_element(struct arena *a, const struct tree_var *v, const struct expr *index)
{
    return of_var(a, EXPR_ELEMENT, v, index);
}

const struct expr *tree_address(struct arena *a, const struct tree_var *v, const struct expr *index)
{
    return of_var(a, EXPR_ADDRESS, v, index);
}

const struct expr *tree_whole(struct arena *a, const struct tree_var *v)
{
    return of_var(a, EXPR_WHOLE, v, NULL);
}

const struct expr *tree_matrix(struct arena *a, const struct tree_var *v, const struct expr *row,
                               const struct expr *column)
{
    struct expr *const e = make(a, EXPR_MATRIX, v->dtype, row, column);
    e->var = v;
    return e;
}

const struct expr *tree_bytes(struct arena *a, const struct tree_var *v)
{
    struct expr *const e = make(a, EXPR_BYTES, DTYPE_INDEX, NULL, NULL);
    e->var = v;
    return e;
}

const struct expr *tree_sizeof(struct arena *a, const char *type)
{
    struct expr *const e = make(a, EXPR_SIZEOF, DTYPE_INDEX, NULL, NULL);
    e->text = type;
    return e;
}

const struct expr *tree_null(struct arena *a)
{
    return make(a, EXPR_NULL, DTYPE_INDEX, NULL, NULL);
}

const struct expr *tree_condition(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y)
{
    return make(a, op, DTYPE_BOOL, x, y);
}

const struct expr *tree_call(struct arena *a, enum dtype dtype, enum call_kind kind, const char *name,
                             const struct expr *const *args, size_t count)
{
    struct tree_call *const c = arena_new(a, struct tree_call);
    struct expr *const e = make(a, EXPR_CALL, dtype, NULL, NULL);
    c->kind = kind;
    c->name = name;
    c->count = count;
    c->args = arena_array(a, const struct expr *, count + 1);
    for (size_t i = 0; i < count; i++)
        c->args[i] = args[i];
    e->call = c;
    return e;
}

const struct expr *tree_call_routine(struct arena *a, enum dtype dtype, const char *name, const char *from,
                                     const struct expr *const *args, size_t count)
{
    const struct expr *const e = tree_call(a, dtype, CALL_SECTION, name, args, count);
    ((struct tree_call *)(uintptr_t)e->call)->from = from;
    return e;
}

const struct expr *tree_call_function(struct arena *a, struct tree_function *f, const struct expr *const *args,
                                      size_t count)
{
    const struct expr *const e = tree_call(a, f->dtype, CALL_FUNCTION, NULL, args, count);
    ((struct tree_call *)(uintptr_t)e->call)->function = f;
    return e;
}

/* ---- indices ----------------------------------------------------------------------------------------------------- */

bool index_is_constant(const struct expr *e)
{
    return e->op == EXPR_INT && e->dtype == DTYPE_INDEX;
}

static const struct expr *number(struct arena *a, enum expr_op op, int64_t x)
{
    struct expr *const e = make(a, op, DTYPE_INDEX, NULL, NULL);
    e->i = x;
    return e;
}

const struct expr *index_constant(struct arena *a, int64_t x)
{
    return number(a, EXPR_INT, x);
}

const struct expr *index_wide(struct arena *a, int64_t x)
{
    return number(a, EXPR_WIDE, x);
}

/* A text, or a cast to this type. */
static const struct expr *spelt(struct arena *a, enum expr_op op, const struct expr *x, const char *text)
{
    struct expr *const e = make(a, op, DTYPE_INDEX, x, NULL);
    e->text = text;
    return e;
}

const struct expr *index_text(struct arena *a, const char *text)
{
    return spelt(a, EXPR_TEXT, NULL, text);
}

const struct expr *index_cast(struct arena *a, const char *type, const struct expr *x)
{
    return index_is_constant(x) ? x : spelt(a, EXPR_CAST, x, type);
}

bool index_is(const struct expr *e, int64_t x)
{
    return index_is_constant(e) && e->i == x;
}

static const struct expr *binary(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y)
{
    return make(a, op, DTYPE_INDEX, x, y);
}

const struct expr *index_add(struct arena *a, const struct expr *x, const struct expr *y)
{
    int64_t sum;
    if (index_is(y, 0))
        return x;
    if (index_is(x, 0))
        return y;
    if (index_is_constant(x) && index_is_constant(y) && checked_add(x->i, y->i, &sum))
        return index_constant(a, sum);
    return binary(a, EXPR_ADD, x, y);
}

const struct expr *index_sub(struct arena *a, const struct expr *x, const struct expr *y)
{
    int64_t difference;
    if (index_is(y, 0))
        return x;
    if (index_is_constant(x) && index_is_constant(y) && checked_sub(x->i, y->i, &difference))
        return index_constant(a, difference);
    return binary(a, EXPR_SUB, x, y);
}

const struct expr *index_mul(struct arena *a, const struct expr *x, const struct expr *y)
{
    int64_t product;
    if (index_is(y, 1) || index_is(x, 0))
        return x;
    if (index_is(x, 1) || index_is(y, 0))
        return y;
    if (index_is_constant(x) && index_is_constant(y) && checked_mul(x->i, y->i, &product))
        return index_constant(a, product);
    return binary(a, EXPR_MUL, x, y);
}

/* Both constants, and a divisor by which C may divide? */
static bool may_divide(const struct expr *x, const struct expr *y)
{
    return index_is_constant(x) && index_is_constant(y) && y->i > 0;
}

/* All that x may be has the same quotient, *q. */
static bool has_one_quotient(const struct expr *x, const struct expr *y, int64_t *q)
{
    struct index_range r;
    if (!index_is_constant(y) || y->i <= 0 || !index_range(x, NULL, &r) || r.low < 0)
        return false;
    *q = r.low / y->i;
    return *q == r.high / y->i;
}

const struct expr *index_div(struct arena *a, const struct expr *x, const struct expr *y)
{
    int64_t q;
    if (may_divide(x, y))
        return index_constant(a, x->i / y->i);
    if (has_one_quotient(x, y, &q))
        return index_constant(a, q);
    return index_is(y, 1) || (index_is(x, 0) && index_is_constant(y)) ? x : binary(a, EXPR_DIV, x, y);
}

const struct expr *index_mod(struct arena *a, const struct expr *x, const struct expr *y)
{
    int64_t q;
    if (may_divide(x, y))
        return index_constant(a, x->i % y->i);
    if (has_one_quotient(x, y, &q))
        return q == 0 ? x : index_sub(a, x, index_constant(a, q * y->i));
    return index_is(y, 1) ? index_constant(a, 0) : binary(a, EXPR_MOD, x, y);
}

static bool holds(enum expr_op op, int64_t x, int64_t y)
{
    switch (op) {
    case EXPR_LT: return x < y;
    case EXPR_LE: return x <= y;
    case EXPR_GT: return x > y;
    case EXPR_GE: return x >= y;
    case EXPR_EQ: return x == y;
    case EXPR_NE: return x != y;
    default: UNREACHABLE("comparison %d", (int)op);
    }
}

/* Do the ranges decide? Then *result says how. */
static bool is_decided(enum expr_op op, const struct expr *x, const struct expr *y, bool *result)
{
    struct index_range p, q;
    if (!index_range(x, NULL, &p) || !index_range(y, NULL, &q))
        return false;
    *result = holds(op, p.low, q.high);
    if (op == EXPR_EQ || op == EXPR_NE)
        return p.high < q.low || q.high < p.low;
    return *result == holds(op, p.high, q.low);
}

const struct expr *index_compare(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y)
{
    bool result;
    if (index_is_constant(x) && index_is_constant(y))
        return index_constant(a, holds(op, x->i, y->i));
    return is_decided(op, x, y, &result) ? index_constant(a, result) : binary(a, op, x, y);
}

const struct expr *index_not(struct arena *a, const struct expr *x)
{
    return index_is_constant(x) ? index_constant(a, x->i == 0) : make(a, EXPR_NOT, DTYPE_INDEX, x, NULL);
}

const struct expr *index_choose(struct arena *a, const struct expr *c, const struct expr *x, const struct expr *y)
{
    if (index_is_constant(c))
        return c->i != 0 ? x : y;
    struct expr *const e = make(a, EXPR_SELECT, x->dtype, c, x);
    e->arg[2] = y;
    return e;
}

/* As a condition, x && y or x || y is known where x decides, and y where x does not. */
static const struct expr *logical(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y)
{
    const bool decides = index_is_constant(x) && (x->i != 0) == (op == EXPR_EITHER);
    if (decides || (index_is_constant(x) && index_is_constant(y)))
        return index_constant(a, decides ? x->i != 0 : y->i != 0);
    if (index_is_constant(x))
        return y;
    if (index_is_constant(y))
        return (y->i != 0) == (op == EXPR_BOTH) ? x : y;
    return binary(a, op, x, y);
}

const struct expr *index_binary(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y)
{
    switch (op) {
    case EXPR_ADD: return index_add(a, x, y);
    case EXPR_SUB: return index_sub(a, x, y);
    case EXPR_MUL: return index_mul(a, x, y);
    case EXPR_DIV: return index_div(a, x, y);
    case EXPR_MOD: return index_mod(a, x, y);
    case EXPR_BOTH:
    case EXPR_EITHER: return logical(a, op, x, y);
    default: return index_compare(a, op, x, y);
    }
}

/* The same operations on the same variables and constants? */
static bool same_index(const struct expr *x, const struct expr *y)
{
    if (x == y)
        return true;
    if (x->op != y->op || x->dtype != y->dtype || x->i != y->i || x->op == EXPR_TEXT || x->op == EXPR_LOAD)
        return false;
    if ((x->op == EXPR_VAR || x->op == EXPR_ELEMENT) && x->var != y->var)
        return false;
    if (x->op == EXPR_CAST && x->text != y->text)
        return false;
    for (int i = 0; i < expr_arg_count(x); i++)
        if (!same_index(x->arg[i], y->arg[i]))
            return false;
    return true;
}

const struct expr *index_smaller(struct arena *a, const struct expr *x, const struct expr *y)
{
    struct index_range p, q;
    const bool are_known = index_range(x, NULL, &p) && index_range(y, NULL, &q);
    if (same_index(x, y) || (are_known && p.high <= q.low))
        return x;
    if (are_known && q.high <= p.low)
        return y;
    return index_choose(a, index_compare(a, EXPR_LT, x, y), x, y);
}

static bool ranges_of(const struct expr *e, const struct index_bound *where, struct index_range *x,
                      struct index_range *y)
{
    return index_range(e->arg[0], where, x) && index_range(e->arg[1], where, y);
}

/* All four products of ends. */
static bool range_of_product(const struct index_range *x, const struct index_range *y, struct index_range *r)
{
    const int64_t xs[] = {x->low, x->high}, ys[] = {y->low, y->high};
    *r = (struct index_range){INT64_MAX, INT64_MIN};
    for (int i = 0; i < 4; i++) {
        int64_t p;
        if (!checked_mul(xs[i / 2], ys[i % 2], &p))
            return false;
        r->low = p < r->low ? p : r->low;
        r->high = p > r->high ? p : r->high;
    }
    return true;
}

/* A smaller of two, as index_smaller() makes it; other selects are not known. */
static bool range_of_smaller(const struct expr *e, const struct index_bound *where, struct index_range *r)
{
    struct index_range x, y;
    const struct expr *const less = e->arg[0];
    if (less->op != EXPR_LT || less->arg[0] != e->arg[1] || less->arg[1] != e->arg[2] ||
        !index_range(e->arg[1], where, &x) || !index_range(e->arg[2], where, &y))
        return false;
    *r = (struct index_range){x.low < y.low ? x.low : y.low, x.high < y.high ? x.high : y.high};
    return true;
}

static bool range_of_var(const struct tree_var *v, const struct index_bound *where, struct index_range *r)
{
    *r = (struct index_range){v->low, v->high};
    for (; where; where = where->outer)
        if (where->var == v && where->below - 1 < r->high)
            r->high = where->below - 1;
    return v->has_range;
}

bool index_range(const struct expr *e, const struct index_bound *where, struct index_range *r)
{
    struct index_range x, y;
    switch (e->op) {
    case EXPR_INT:
    case EXPR_WIDE: *r = (struct index_range){e->i, e->i}; return e->dtype == DTYPE_INDEX;
    case EXPR_VAR: return range_of_var(e->var, where, r);
    case EXPR_CAST: return e->dtype == DTYPE_INDEX && index_range(e->arg[0], where, r);
    case EXPR_ADD:
        return ranges_of(e, where, &x, &y) && checked_add(x.low, y.low, &r->low) &&
               checked_add(x.high, y.high, &r->high);
    case EXPR_SUB:
        return ranges_of(e, where, &x, &y) && checked_sub(x.low, y.high, &r->low) &&
               checked_sub(x.high, y.low, &r->high);
    case EXPR_MUL: return ranges_of(e, where, &x, &y) && range_of_product(&x, &y, r);
    case EXPR_SELECT: return e->dtype == DTYPE_INDEX && range_of_smaller(e, where, r);
    default: return false;
    }
}

/* ---- building ---------------------------------------------------------------------------------------------------- */

struct tree_builder tree_builder(struct arena *a, stmt_list *body)
{
    return (struct tree_builder){.arena = a, .at = body};
}

static struct stmt *add(struct tree_builder *b, enum stmt_kind kind)
{
    struct stmt *const s = arena_new(b->arena, struct stmt);
    s->kind = kind;
    vec_push(b->arena, b->at, s);
    return s;
}

static void open(struct tree_builder *b, stmt_list *body)
{
    vec_push(b->arena, &b->outer, b->at);
    b->at = body;
}

struct stmt *tree_open_loop(struct tree_builder *b, const struct tree_var *v, const struct expr *from,
                            const struct expr *to, int64_t step, enum loop_kind kind)
{
    struct stmt *const s = add(b, STMT_LOOP);
    s->var = v;
    s->from = from;
    s->to = to;
    s->step = step;
    s->loop = kind;
    open(b, &s->body);
    return s;
}

void tree_open_if(struct tree_builder *b, const struct expr *condition)
{
    struct stmt *const s = add(b, STMT_IF);
    s->condition = condition;
    open(b, &s->body);
}

void tree_open_else(struct tree_builder *b)
{
    struct stmt *const s = b->at->count ? (struct stmt *)(uintptr_t)b->at->data[b->at->count - 1] : NULL;
    if (!s || s->kind != STMT_IF)
        UNREACHABLE("an else without its if");
    open(b, &s->otherwise);
}

void tree_close(struct tree_builder *b)
{
    if (b->outer.count == 0)
        UNREACHABLE("nothing is open");
    b->at = b->outer.data[--b->outer.count];
}

void tree_declare(struct tree_builder *b, const struct tree_var *v, const struct expr *value)
{
    tree_declare_array(b, v, value, 0);
}

void tree_declare_array(struct tree_builder *b, const struct tree_var *v, const struct expr *value, int64_t repeat)
{
    struct stmt *const s = add(b, STMT_DECLARE);
    s->var = v;
    s->value = value;
    s->repeat = repeat;
}

void tree_set(struct tree_builder *b, const struct expr *target, enum set_op op, const struct expr *value)
{
    struct stmt *const s = add(b, STMT_SET);
    s->target = target;
    s->op = op;
    s->value = value;
}

void tree_run(struct tree_builder *b, const struct expr *call)
{
    add(b, STMT_CALL)->value = call;
}

void tree_return(struct tree_builder *b, const struct expr *value)
{
    add(b, STMT_RETURN)->value = value;
}
