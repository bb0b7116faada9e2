#include "random_tree.h"

#include <stdio.h>

enum { MOST_DEPTH = 3, MOST_VARS = 24 };

struct maker {
    struct arena *a;
    uint64_t state;
    const unsigned char *bytes; /* NULL: numbers are drawn from the state */
    size_t left;                /* of the bytes */
    struct random_tree *t;
    struct tree_builder b;
    const struct tree_var *vars[MOST_VARS]; /* in scope */
    int var_count, named;
};

/* The next byte, or splitmix64. */
static uint64_t draw(struct maker *m)
{
    if (m->bytes && m->left == 0)
        return 0;
    if (m->bytes) {
        m->left--;
        return *m->bytes++;
    }
    uint64_t z = m->state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static int below(struct maker *m, int n)
{
    return (int)(draw(m) % (uint64_t)n);
}

static const char *fresh(struct maker *m, const char *stem)
{
    return arena_printf(m->a, "%s%d", stem, m->named++);
}

/* A variable in scope of this kind, or NULL. */
static const struct tree_var *some(struct maker *m, enum var_kind kind)
{
    const int first = m->var_count > 0 ? below(m, m->var_count) : 0;
    for (int i = 0; i < m->var_count; i++) {
        const struct tree_var *const v = m->vars[(first + i) % m->var_count];
        if (v->kind == kind)
            return v;
    }
    return NULL;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static const struct expr *any_index(struct maker *m, int depth);

/* Of indices alone. */
static const struct expr *index_condition(struct maker *m, int depth)
{
    static const enum expr_op comparisons[] = {EXPR_LT, EXPR_LE, EXPR_GT, EXPR_GE, EXPR_EQ, EXPR_NE};
    if (depth > 0 && below(m, 3) == 0) {
        const struct expr *const c = index_condition(m, depth - 1);
        return below(m, 3) == 0 ? index_not(m->a, c)
                                : index_binary(m->a, below(m, 2) ? EXPR_BOTH : EXPR_EITHER, c,
                                               index_condition(m, depth - 1));
    }
    return index_compare(m->a, comparisons[below(m, 6)], any_index(m, depth), any_index(m, depth > 0 ? depth - 1 : 0));
}

static const struct expr *any_index(struct maker *m, int depth)
{
    const struct tree_var *const loop = some(m, VAR_LOOP);
    if (depth == 0 || below(m, 4) == 0)
        return loop && below(m, 3) ? tree_read(m->a, loop) : index_constant(m->a, below(m, 6));
    const struct expr *const x = any_index(m, depth - 1), *const y = any_index(m, depth - 1);
    switch (below(m, 9)) {
    case 0: return index_add(m->a, x, y);
    case 1: return index_sub(m->a, x, y);
    case 2: return index_mul(m->a, x, index_constant(m->a, below(m, 5)));
    case 3: return index_smaller(m->a, x, y);
    case 4: return index_cast(m->a, "int", x);
    case 5: return index_div(m->a, x, index_constant(m->a, 1 + below(m, 4)));
    case 6: return index_mod(m->a, x, index_constant(m->a, 1 + below(m, 4)));
    case 7: return index_choose(m->a, index_condition(m, depth - 1), x, y);
    default: return index_add(m->a, x, index_wide(m->a, below(m, 4)));
    }
}

/* An index that ranges prove to lie within so many elements. */
static const struct expr *index_within(struct maker *m, int64_t count)
{
    for (int i = 0; i < 8; i++) {
        struct index_range r;
        const struct expr *const e = any_index(m, MOST_DEPTH);
        if (index_range(e, NULL, &r) && r.low >= 0 && r.high < count)
            return e;
    }
    return index_constant(m->a, below(m, (int)count));
}

/* An element of x, or one that z chooses. */
static const struct expr *element(struct maker *m)
{
    if (below(m, 4))
        return tree_element(m->a, m->t->x, index_within(m, ELEMENTS));
    const struct expr *const chosen = tree_element(m->a, m->t->z, index_within(m, CHOICES));
    const struct expr *const row = index_mul(m->a, chosen, index_constant(m->a, 1 + below(m, 8)));
    return tree_element(m->a, m->t->x, index_add(m->a, row, index_constant(m->a, below(m, 8))));
}

static const struct expr *value(struct maker *m, int depth);

/* Two conditions as one. Those of kernels of loops are bool and joined by bits, those of templates are C's int. */
static const struct expr *joined(struct maker *m, const struct expr *c, const struct expr *d)
{
    if (c->dtype == DTYPE_BOOL && d->dtype == DTYPE_BOOL && below(m, 2))
        return expr_binary(m->a, below(m, 2) ? EXPR_AND : EXPR_OR, c, d);
    return index_binary(m->a, below(m, 2) ? EXPR_BOTH : EXPR_EITHER, c, d);
}

static const struct expr *condition(struct maker *m, int depth)
{
    static const enum expr_op comparisons[] = {EXPR_LT, EXPR_LE, EXPR_EQ, EXPR_GT, EXPR_GE, EXPR_NE};
    const struct tree_var *const loop = some(m, VAR_LOOP);
    if (loop && below(m, 4) == 0)
        return expr_binary(m->a, EXPR_LT, tree_read(m->a, loop), index_constant(m->a, below(m, 4)));
    if (depth > 0 && below(m, 3) == 0) {
        const struct expr *const c = condition(m, depth - 1);
        if (below(m, 3) == 0)
            return c->dtype == DTYPE_BOOL ? expr_unary(m->a, EXPR_NOT, c) : index_not(m->a, c);
        return joined(m, c, condition(m, depth - 1));
    }
    if (below(m, 4) == 0)
        return index_condition(m, depth);
    const struct expr *const x = value(m, 0), *const y = value(m, depth > 0 ? depth - 1 : 0);
    const int which = below(m, 9);
    return which < 3 ? expr_binary(m->a, comparisons[which], x, y)
                     : index_compare(m->a, comparisons[which - 3], x, y);
}

static const struct expr *leaf(struct maker *m)
{
    const struct tree_var *const kept = some(m, below(m, 2) ? VAR_VALUE : VAR_CELL), *const array = some(m, VAR_ARRAY);
    switch (below(m, 4)) {
    case 0: return expr_float(m->a, DTYPE_FLOAT, (below(m, 41) - 20) / 8.0);
    case 1: return kept ? tree_read(m->a, kept) : element(m);
    case 2: return array ? tree_element(m->a, array, index_within(m, array->count)) : element(m);
    default: return element(m);
    }
}

static const struct expr *chosen(struct maker *m, const struct expr *c, const struct expr *x, const struct expr *y)
{
    return c->dtype == DTYPE_BOOL ? expr_select(m->a, c, x, y) : index_choose(m->a, c, x, y);
}

static const struct expr *value(struct maker *m, int depth)
{
    static const enum expr_op operations[] = {EXPR_ADD, EXPR_SUB, EXPR_MUL};
    if (depth == 0 || below(m, 4) == 0)
        return leaf(m);
    const struct expr *const x = value(m, depth - 1);
    switch (below(m, 7)) {
    case 0: return expr_unary(m->a, EXPR_NEG, x);
    case 1: return chosen(m, condition(m, depth - 1), x, value(m, depth - 1));
    case 2: return expr_binary(m->a, EXPR_ADD, x, expr_cast(m->a, DTYPE_FLOAT, any_index(m, depth)));
    default: return expr_binary(m->a, operations[below(m, 3)], x, value(m, depth - 1));
    }
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void declare(struct maker *m, const struct tree_var *v)
{
    if (m->var_count < MOST_VARS)
        m->vars[m->var_count++] = v;
}

static void add_declaration(struct maker *m)
{
    static const enum var_kind kinds[] = {VAR_VALUE, VAR_CELL, VAR_ARRAY};
    const enum var_kind kind = kinds[below(m, 3)];
    struct tree_var *const v = tree_var(m->a, kind, DTYPE_FLOAT, "float", fresh(m, "v"));
    const struct expr *const start = kind == VAR_ARRAY ? expr_float(m->a, DTYPE_FLOAT, below(m, 5) / 2.0)
                                                       : value(m, MOST_DEPTH);
    v->count = kind == VAR_ARRAY ? 1 + below(m, 8) : 1;
    if (kind == VAR_ARRAY)
        tree_declare_array(&m->b, v, start, 1 + below(m, (int)v->count));
    else
        tree_declare(&m->b, v, start);
    v->value = kind == VAR_VALUE ? start : NULL;
    declare(m, v);
}

static void add_set(struct maker *m)
{
    static const enum set_op ops[] = {SET_TO, SET_SUM, SET_DIFFERENCE, SET_PRODUCT, SET_MAX, SET_TOP, SET_MIN};
    const enum set_op op = ops[below(m, 7)];
    const struct tree_var *const cell = below(m, 2) ? some(m, VAR_CELL) : NULL;
    const struct tree_var *const array = below(m, 2) ? some(m, VAR_ARRAY) : NULL;
    const bool reads_again = op == SET_MAX || op == SET_TOP || op == SET_MIN;
    const struct expr *const target = cell    ? tree_read(m->a, cell)
                                      : array ? tree_element(m->a, array, index_within(m, array->count))
                                              : tree_element(m->a, m->t->y, index_within(m, ELEMENTS));
    tree_set(&m->b, target, op, reads_again ? leaf(m) : value(m, MOST_DEPTH));
}

static void add_statements(struct maker *m, int depth);

/* Upwards by a number, an expression or an assignment, maybe as long as something else holds; or downwards. */
static void add_loop(struct maker *m, int depth)
{
    const int64_t from = below(m, 3), step = 1 + below(m, 3), to = from + below(m, 5);
    const int64_t last = to > from ? from + (to - 1 - from) / step * step : from;
    const int before = m->var_count, kind = below(m, 6);
    struct tree_var *const v = tree_index_var(m->a, VAR_LOOP, "int", fresh(m, "i"), from, last);
    const struct expr *const low = index_constant(m->a, from), *const high = index_constant(m->a, to);
    const bool is_down = kind == 0, is_other = kind == 1 || kind == 2;
    struct stmt *const loop = is_down ? tree_open_loop(&m->b, v, index_constant(m->a, last), NULL, -step, LOOP_PLAIN)
                                      : tree_open_loop(&m->b, v, low, high, is_other ? 0 : step, LOOP_PLAIN);
    if (kind == 1)
        loop->by = index_constant(m->a, step);
    if (kind == 2)
        loop->next = index_add(m->a, tree_read(m->a, v), index_constant(m->a, step));
    v->has_range = !is_down;
    if (is_down) /* its range is that in the body, which would decide the condition */
        loop->condition = index_compare(m->a, EXPR_GE, tree_read(m->a, v), low);
    v->has_range = true;
    declare(m, v);
    if (kind == 3)
        loop->condition = condition(m, 1);
    add_statements(m, depth - 1);
    tree_close(&m->b);
    m->var_count = before;
}

static void add_if(struct maker *m, int depth)
{
    const int before = m->var_count;
    tree_open_if(&m->b, condition(m, MOST_DEPTH));
    add_statements(m, depth - 1);
    if (below(m, 16) == 0)
        tree_return(&m->b, NULL);
    tree_close(&m->b);
    m->var_count = before;
    if (below(m, 2))
        return;
    tree_open_else(&m->b);
    add_statements(m, depth - 1);
    tree_close(&m->b);
    m->var_count = before;
}

static void add_statements(struct maker *m, int depth)
{
    const int count = 1 + below(m, 4), outer = m->var_count;
    for (int i = 0; i < count; i++) {
        const int kind = below(m, 5);
        if (kind == 0)
            add_declaration(m);
        else if (kind == 1 && depth > 0)
            add_loop(m, depth);
        else if (kind == 2 && depth > 0)
            add_if(m, depth);
        else
            add_set(m);
    }
    m->var_count = depth == MOST_DEPTH ? m->var_count : outer;
}

static struct random_tree make_tree(struct maker *m)
{
    struct arena *const a = m->a;
    struct random_tree t = {.body = {0}};
    struct tree_var *const y = tree_var(a, VAR_POINTER, DTYPE_FLOAT, "float", "y");
    struct tree_var *const x = tree_var(a, VAR_POINTER, DTYPE_FLOAT, "float", "x");
    struct tree_var *const z = tree_var(a, VAR_POINTER, DTYPE_INT64, "int64_t", "z");
    y->count = x->count = ELEMENTS;
    y->written = true;
    z->count = CHOICES;
    t.y = y;
    t.x = x;
    t.z = z;
    m->t = &t;
    m->b = tree_builder(a, &t.body);
    for (int i = 0; i < 3; i++)
        add_statements(m, MOST_DEPTH);
    return t;
}

struct random_tree random_tree(struct arena *a, uint64_t seed)
{
    struct maker m = {.a = a, .state = seed};
    return make_tree(&m);
}

struct random_tree tree_of_bytes(struct arena *a, const unsigned char *bytes, size_t size)
{
    static const unsigned char none;
    struct maker m = {.a = a, .bytes = size > 0 ? bytes : &none, .left = size};
    return make_tree(&m);
}

/* ---- made again -------------------------------------------------------------------------------------------------- */

/* As index_smaller() makes it. */
static bool is_smaller(const struct expr *e)
{
    const struct expr *const c = e->arg[0];
    return c->op == EXPR_LT && c->arg[0] == e->arg[1] && c->arg[1] == e->arg[2];
}

const struct expr *made_again(struct arena *a, const struct expr *e)
{
    if (e->op == EXPR_ELEMENT)
        return tree_element(a, e->var, made_again(a, e->arg[0]));
    if (e->dtype != DTYPE_INDEX || expr_arg_count(e) == 0)
        return e;
    const struct expr *const x = made_again(a, e->arg[0]);
    const struct expr *const y = expr_arg_count(e) > 1 ? made_again(a, e->arg[1]) : NULL;
    switch (e->op) {
    case EXPR_CAST: return index_cast(a, e->text, x);
    case EXPR_NOT: return index_not(a, x);
    case EXPR_SELECT:
        return is_smaller(e) ? index_smaller(a, y, made_again(a, e->arg[2]))
                             : index_choose(a, x, y, made_again(a, e->arg[2]));
    default: return index_binary(a, e->op, x, y);
    }
}
