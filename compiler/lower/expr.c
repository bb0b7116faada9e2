#include "lower/expr.h"

#include "lower/kernel.h"
#include <string.h>

/* ---- makers ------------------------------------------------------------------------------------------------------ */

static struct expr *expr_new(struct arena *a, enum expr_op op, enum dtype dtype)
{
    struct expr *e = arena_new(a, struct expr);
    e->op = op;
    e->dtype = dtype;
    return e;
}

const struct expr *expr_float(struct arena *a, enum dtype dtype, double x)
{
    struct expr *e = expr_new(a, EXPR_FLOAT, dtype);
    e->f = dtype_round(dtype, x);
    return e;
}

const struct expr *expr_int(struct arena *a, enum dtype dtype, int64_t x)
{
    struct expr *e = expr_new(a, EXPR_INT, dtype);
    e->i = dtype_wrap(dtype, x);
    return e;
}

const struct expr *expr_number(struct arena *a, enum dtype dtype, double x)
{
    return dtype_is_float(dtype) ? expr_float(a, dtype, x) : expr_int(a, dtype, dtype_from_double(dtype, x));
}

const struct expr *expr_index(struct arena *a, int dim)
{
    struct expr *e = expr_new(a, EXPR_INDEX, DTYPE_INT64);
    e->i = dim;
    return e;
}

const struct expr *expr_load(struct arena *a, const struct access *access)
{
    struct expr *e = expr_new(a, EXPR_LOAD, access->buffer->dtype);
    e->access = arena_copy(a, access, sizeof *access, alignof(struct access));
    return e;
}

const struct expr *expr_result(struct arena *a, enum dtype dtype)
{
    return expr_new(a, EXPR_RESULT, dtype);
}

const struct expr *expr_unary(struct arena *a, enum expr_op op, const struct expr *x)
{
    struct expr *e = expr_new(a, op, x->dtype);
    e->arg[0] = x;
    return e;
}

static bool is_int(const struct expr *e, int64_t x)
{
    return e->op == EXPR_INT && e->i == x;
}

/* Index arithmetic only: x + 0, x * 1, x * 0 and constants, so that row-major numbers of one-dimensional loops read
 * plainly. */
static const struct expr *fold_int(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y)
{
    if (dtype_is_float(x->dtype))
        return NULL;
    if (op == EXPR_ADD && is_int(y, 0))
        return x;
    if (op == EXPR_ADD && is_int(x, 0))
        return y;
    if (op == EXPR_MUL && is_int(y, 1))
        return x;
    if (op == EXPR_MUL && is_int(x, 1))
        return y;
    if (x->op != EXPR_INT || y->op != EXPR_INT)
        return NULL;
    const uint64_t p = (uint64_t)x->i, q = (uint64_t)y->i;
    switch (op) {
    case EXPR_ADD: return expr_int(a, x->dtype, (int64_t)(p + q));
    case EXPR_SUB: return expr_int(a, x->dtype, (int64_t)(p - q));
    case EXPR_MUL: return expr_int(a, x->dtype, (int64_t)(p * q));
    default: return NULL;
    }
}

static bool same_constant(const struct expr *a, const struct expr *b)
{
    return a->op == EXPR_FLOAT && b->op == EXPR_FLOAT && a->dtype == b->dtype && a->f == b->f;
}

/* What is to be compared to the constant c: of `t < c ? c : t` it is t, which is above c in the same cases (NaN in
 * none). So is what Relu lets through, recomputed by its gradient. */
static const struct expr *compared_to(const struct expr *c, const struct expr *y)
{
    const bool at_least_c = y->op == EXPR_SELECT && y->arg[0]->op == EXPR_LT && y->arg[0]->arg[0] == y->arg[2] &&
                            same_constant(y->arg[0]->arg[1], c) && same_constant(y->arg[1], c);
    return at_least_c ? y->arg[2] : y;
}

static bool is_comparison(enum expr_op op)
{
    return op == EXPR_LT || op == EXPR_LE || op == EXPR_EQ;
}

const struct expr *expr_binary(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y)
{
    const struct expr *folded = fold_int(a, op, x, y);
    if (folded)
        return folded;
    struct expr *e = expr_new(a, op, is_comparison(op) ? DTYPE_BOOL : x->dtype);
    e->arg[0] = x;
    e->arg[1] = op == EXPR_LT ? compared_to(x, y) : y;
    return e;
}

const struct expr *expr_select(struct arena *a, const struct expr *cond, const struct expr *x, const struct expr *y)
{
    if (cond->op == EXPR_INT)
        return cond->i ? x : y;
    struct expr *e = expr_new(a, EXPR_SELECT, x->dtype);
    e->arg[0] = cond;
    e->arg[1] = x;
    e->arg[2] = y;
    return e;
}

static const struct {
    const char *name;
    int cost;
} functions[EXPR_FN_COUNT] = {
#define FUNCTION(NAME, function, cost, plain) {#function, cost},
#include "eval/functions.def"
#undef FUNCTION
};

const char *expr_fn_name(enum expr_fn fn)
{
    return functions[fn].name;
}

int expr_fn_cost(enum expr_fn fn)
{
    return functions[fn].cost;
}

const struct expr *expr_math(struct arena *a, enum expr_fn fn, const struct expr *x)
{
    struct expr *e = expr_new(a, EXPR_MATH, x->dtype);
    e->fn = fn;
    e->arg[0] = x;
    return e;
}

const struct expr *expr_cast(struct arena *a, enum dtype to, const struct expr *x)
{
    if (x->dtype == to)
        return x;
    if (dtype_computed(to) != to && x->op == EXPR_CAST && x->arg[0]->dtype == to && x->dtype == dtype_computed(to))
        return x->arg[0]; /* which holds every value of it */
    struct expr *e = expr_new(a, EXPR_CAST, to);
    e->arg[0] = x;
    return e;
}

const struct expr *expr_bits(struct arena *a, enum dtype to, const struct expr *x)
{
    struct expr *e = expr_new(a, EXPR_BITS, to);
    e->arg[0] = x;
    return e;
}

const struct expr *expr_random(struct arena *a, enum expr_op op, enum dtype dtype, uint32_t stream,
                               const struct expr_draw *draw, const struct expr *element)
{
    struct expr *e = expr_new(a, op, dtype);
    e->arg[0] = element;
    e->i = stream;
    e->draw = arena_copy(a, draw, sizeof *draw, alignof(struct expr_draw));
    return e;
}

/* ---- looking at -------------------------------------------------------------------------------------------------- */

int expr_arg_count(const struct expr *e)
{
    switch (e->op) {
    case EXPR_FLOAT:
    case EXPR_INT:
    case EXPR_LOAD:
    case EXPR_INDEX:
    case EXPR_COUNT:
    case EXPR_RESULT:
    case EXPR_VAR:
    case EXPR_WIDE:
    case EXPR_TEXT:
    case EXPR_NULL:
    case EXPR_CALL:
    case EXPR_WHOLE:
    case EXPR_BYTES:
    case EXPR_SIZEOF: return 0;
    case EXPR_ELEMENT:
    case EXPR_ADDRESS:
    case EXPR_MEMBER:
    case EXPR_NEG:
    case EXPR_NOT:
    case EXPR_CAST:
    case EXPR_BITS:
    case EXPR_MATH:
    case EXPR_UNIFORM:
    case EXPR_NORMAL: return 1;
    case EXPR_SELECT: return 3;
    default: return 2;
    }
}

/* Of the operation itself. */
static int own_cost(const struct expr *e)
{
    static const int random_cost = 40, power_cost = 24, division_cost = 4;
    switch (e->op) {
    case EXPR_FLOAT:
    case EXPR_INT:
    case EXPR_INDEX:
    case EXPR_COUNT:
    case EXPR_RESULT: return 0;
    case EXPR_UNIFORM:
    case EXPR_NORMAL: return random_cost;
    case EXPR_MATH: return functions[e->fn].cost;
    case EXPR_POW: return power_cost;
    case EXPR_DIV:
    case EXPR_MOD: return division_cost;
    default: return 1;
    }
}

#define COST_MOST 1000 /* beyond it nobody counts exactly */

int expr_cost(const struct expr *e)
{
    int cost = own_cost(e);
    for (int i = 0; i < expr_arg_count(e) && cost < COST_MOST; i++)
        cost += expr_cost(e->arg[i]);
    return cost;
}

static bool moves_along(const struct expr *e, void *dim)
{
    const int d = *(const int *)dim;
    return e->op == EXPR_RESULT || (e->op == EXPR_INDEX && e->i == d) ||
           (e->op == EXPR_LOAD && (e->access->stride[d] != 0 || e->access->term_count > 0));
}

int expr_cost_along(const struct expr *e, int dim)
{
    if (!expr_any(e, moves_along, &dim))
        return 0;
    int cost = own_cost(e);
    for (int i = 0; i < expr_arg_count(e) && cost < COST_MOST; i++)
        cost += expr_cost_along(e->arg[i], dim);
    return cost;
}

/* Nodes are shared, so a walk marks where it has been. The number of the walk is no part of an expression, which
 * stays as it was made; hence the cast. A table of addresses instead took half of the time of compiling a chain of
 * elementwise nodes. */
static uint64_t begin_walk(void)
{
    static uint64_t walks;
    return ++walks;
}

static bool visit_once(const struct expr *e, uint64_t walk)
{
    if (e->walk == walk)
        return false;
    ((struct expr *)(uintptr_t)e)->walk = walk;
    return true;
}

/* Loads in the order of a walk. Most expressions have few, and need no memory but this. */
struct load_list {
    struct arena arena;
    const struct access *few[16];
    VEC(const struct access *) accesses;
};

static void find_loads(struct load_list *l, const struct expr *e, uint64_t walk)
{
    if (!visit_once(e, walk))
        return;
    if (e->op == EXPR_LOAD) {
        for (int t = 0; t < e->access->term_count; t++)
            find_loads(l, e->access->term[t].index, walk);
        vec_push(&l->arena, &l->accesses, e->access);
        return;
    }
    const int count = expr_arg_count(e);
    for (int i = 0; i < count; i++)
        find_loads(l, e->arg[i], walk);
}

void expr_each_load(const struct expr *e, void (*f)(const struct access *, void *), void *data)
{
    struct load_list l = {.accesses = {0}};
    l.accesses.data = l.few;
    l.accesses.capacity = sizeof l.few / sizeof *l.few;
    find_loads(&l, e, begin_walk());
    for (size_t i = 0; i < l.accesses.count; i++)
        f(l.accesses.data[i], data);
    arena_free(&l.arena);
}

static bool any(const struct expr *e, bool (*f)(const struct expr *e, void *data), void *data, uint64_t walk)
{
    if (!visit_once(e, walk))
        return false;
    if (f(e, data))
        return true;
    for (int i = 0; i < expr_arg_count(e); i++)
        if (any(e->arg[i], f, data, walk))
            return true;
    for (int t = 0; e->op == EXPR_LOAD && t < e->access->term_count; t++)
        if (any(e->access->term[t].index, f, data, walk))
            return true;
    for (size_t i = 0; e->op == EXPR_CALL && i < e->call->count; i++)
        if (any(e->call->args[i], f, data, walk))
            return true;
    return false;
}

bool expr_any(const struct expr *e, bool (*f)(const struct expr *e, void *data), void *data)
{
    return any(e, f, data, begin_walk());
}

bool expr_is_index(const struct expr *e, void *data)
{
    (void)data;
    return e->op == EXPR_INDEX;
}

bool expr_uses_index(const struct expr *e)
{
    return expr_any(e, expr_is_index, NULL);
}

bool access_same(const struct access *a, const struct access *b)
{
    if (a->buffer != b->buffer || a->offset != b->offset || a->term_count != b->term_count ||
        memcmp(a->stride, b->stride, sizeof a->stride) != 0)
        return false;
    for (int t = 0; t < a->term_count; t++)
        if (a->term[t].stride != b->term[t].stride || a->term[t].index != b->term[t].index)
            return false;
    return true;
}

bool expr_same_draw(const struct expr *a, const struct expr *b)
{
    return a->op == b->op && a->dtype == b->dtype && a->i == b->i && a->draw->counter == b->draw->counter &&
           a->draw->has_seed == b->draw->has_seed && a->draw->seed == b->draw->seed;
}

bool expr_same_node(const struct expr *a, const struct expr *b)
{
    if (a->op != b->op || a->dtype != b->dtype || a->fn != b->fn || a->i != b->i ||
        memcmp(&a->f, &b->f, sizeof a->f) != 0)
        return false;
    if ((a->op == EXPR_UNIFORM || a->op == EXPR_NORMAL) && !expr_same_draw(a, b))
        return false;
    for (int i = 0; i < expr_arg_count(a); i++)
        if (a->arg[i] != b->arg[i])
            return false;
    return a->op != EXPR_LOAD || access_same(a->access, b->access);
}

/* ---- substitution ------------------------------------------------------------------------------------------------ */

/* A table of nodes, each with another one: hashed by address, which no result depends on. Most expressions are
 * small, and need no memory but this. */
struct node_table {
    struct arena arena;
    struct node_slot {
        const struct expr *from, *to;
    } few[32], *slots;
    size_t count, slot_count; /* a power of two; at least half of them are empty */
};

static struct node_slot *find_slot(struct node_table *t, const struct expr *e)
{
    size_t at = (size_t)((uint64_t)(uintptr_t)e * 0x9e3779b97f4a7c15u >> 32);
    if (!t->slots) {
        t->slots = t->few;
        t->slot_count = sizeof t->few / sizeof *t->few;
    }
    while (t->slots[at &= t->slot_count - 1].from && t->slots[at].from != e)
        at++;
    return &t->slots[at];
}

/* Only what is not there yet. */
static void add_slot(struct node_table *t, const struct expr *from, const struct expr *to)
{
    if (2 * (t->count + 1) > t->slot_count && t->slots) {
        struct node_slot *old = t->slots;
        const size_t old_count = t->slot_count;
        t->slot_count *= 2;
        t->slots = arena_array(&t->arena, struct node_slot, t->slot_count);
        for (size_t i = 0; i < old_count; i++)
            if (old[i].from)
                *find_slot(t, old[i].from) = old[i];
    }
    *find_slot(t, from) = (struct node_slot){from, to};
    t->count++;
}

struct substitution {
    const struct expr_map *map;
    struct node_table done;
};

static const struct expr *substitute(struct substitution *s, const struct expr *e);

static const struct expr *rebuild(struct substitution *s, const struct expr *e)
{
    const int count = expr_arg_count(e);
    const struct expr *arg[3];
    const struct access *access = e->access;
    bool changed = false;
    for (int i = 0; i < count; i++) {
        arg[i] = substitute(s, e->arg[i]);
        changed |= arg[i] != e->arg[i];
    }
    if (e->op == EXPR_LOAD && access->term_count > 0) {
        struct access *const copy = arena_copy(s->map->arena, access, sizeof *access, alignof(struct access));
        for (int t = 0; t < copy->term_count; t++) {
            copy->term[t].index = substitute(s, copy->term[t].index);
            changed |= copy->term[t].index != access->term[t].index;
        }
        access = copy;
    }
    if (changed) {
        struct expr *made = arena_copy(s->map->arena, e, sizeof *e, alignof(struct expr));
        for (int i = 0; i < count; i++)
            made->arg[i] = arg[i];
        if (made->op == EXPR_LT)
            made->arg[1] = compared_to(arg[0], arg[1]);
        made->access = access;
        e = made;
    }
    const struct expr *by = NULL;
    if (e->op == EXPR_LOAD && s->map->load)
        by = s->map->load(e, s->map->data);
    else if (e->op == EXPR_INDEX && s->map->index)
        by = s->map->index(e, s->map->data);
    else if (e->op == EXPR_RESULT && s->map->result)
        by = s->map->result(e, s->map->data);
    return by ? by : e;
}

/* What no callback is asked about and nothing stands below. */
static bool is_fixed(const struct expr_map *m, const struct expr *e)
{
    return e->op == EXPR_FLOAT || e->op == EXPR_INT || e->op == EXPR_COUNT || (e->op == EXPR_INDEX && !m->index) ||
           (e->op == EXPR_RESULT && !m->result);
}

static const struct expr *substitute(struct substitution *s, const struct expr *e)
{
    if (is_fixed(s->map, e))
        return e;
    const struct node_slot *known = find_slot(&s->done, e);
    if (known->from)
        return known->to;
    const struct expr *by = rebuild(s, e);
    add_slot(&s->done, e, by);
    return by;
}

const struct expr *expr_substitute(const struct expr_map *m, const struct expr *e)
{
    struct substitution s = {.map = m};
    const struct expr *by = substitute(&s, e);
    arena_free(&s.done.arena);
    return by;
}
