/* Parts that several expressions of a kernel share, or several places of one, and what is loaded in a branch of a
 * select: they become locals. */
#include "emit/emit_internal.h"

struct occurrence {
    const struct expr *expr;
    int count;
    bool chosen; /* stands in a branch of a select */
};

struct brought { /* a node to its one object: seen[to] */
    const struct expr *from;
    size_t to;
};

struct expr_sharing {
    struct expr_scope *s;
    struct arena *arena;
    VEC(struct occurrence) seen; /* post-order: operands before their users */
    VEC(struct brought) brought;
};

/* Alike as far as one looks: it finds x beside x, not everything that is equal. */
static bool look_alike(const struct expr *a, const struct expr *b, int depth)
{
    struct expr copy = *b;
    if (a == b)
        return true;
    if (depth == 0 || a->op != b->op)
        return false;
    for (int i = 0; i < expr_arg_count(a); i++) {
        if (!look_alike(a->arg[i], b->arg[i], depth - 1))
            return false;
        copy.arg[i] = a->arg[i];
    }
    return expr_same_node(a, &copy);
}

/* What compilers warn about: x < x of integers is known, and so is c ? x : x. They come from Max(x, x) and the like. */
static struct expr without_tautology(const struct expr *e)
{
    enum { DEPTH = 4 };
    const bool compares = e->op == EXPR_LT || e->op == EXPR_LE || e->op == EXPR_EQ;
    while (e->op == EXPR_SELECT && look_alike(e->arg[1], e->arg[2], DEPTH))
        e = e->arg[1];
    if (compares && !dtype_is_float(e->arg[0]->dtype) && look_alike(e->arg[0], e->arg[1], DEPTH))
        return (struct expr){.op = EXPR_INT, .dtype = DTYPE_BOOL, .i = e->op != EXPR_LT};
    return *e;
}

static void uncount(struct expr_sharing *h, const struct expr *e)
{
    for (size_t i = 0; i < h->seen.count; i++)
        h->seen.data[i].count -= h->seen.data[i].expr == e;
}

/* An expression is there once more, but its operands are not: it has a name then. */
static void uncount_operands(struct expr_sharing *h, const struct expr *e)
{
    for (int i = 0; i < expr_arg_count(e); i++)
        uncount(h, e->arg[i]);
    for (int t = 0; e->op == EXPR_LOAD && t < e->access->term_count; t++)
        uncount(h, e->access->term[t].index);
}

/* The object that stands for an expression whose operands are unified. */
static const struct expr *find_same(struct expr_sharing *h, const struct expr *e, const struct expr *copy)
{
    size_t at = 0;
    while (at < h->seen.count &&
           (h->seen.data[at].expr->op != copy->op || !expr_same_node(h->seen.data[at].expr, copy)))
        at++;
    if (at == h->seen.count) {
        const struct expr *const made = arena_copy(h->arena, copy, sizeof *copy, alignof(struct expr));
        vec_push(h->arena, &h->seen, ((struct occurrence){.expr = made}));
    } else {
        uncount_operands(h, copy);
    }
    vec_push(h->arena, &h->brought, ((struct brought){e, at}));
    h->seen.data[at].count++;
    return h->seen.data[at].expr;
}

static const struct expr *unify(struct expr_sharing *h, const struct expr *e);

static const struct access *unify_terms(struct expr_sharing *h, const struct access *a)
{
    struct access *const copy = arena_copy(h->arena, a, sizeof *a, alignof(struct access));
    if (find_param(h->s, a->buffer)->by_value)
        copy->term_count = 0; /* its only element: the text has no index */
    for (int t = 0; t < copy->term_count; t++)
        copy->term[t].index = unify(h, copy->term[t].index);
    return copy;
}

/* Equal expressions become one object, so that what is the same is computed once. */
static const struct expr *unify(struct expr_sharing *h, const struct expr *e)
{
    for (size_t i = 0; i < h->brought.count; i++)
        if (h->brought.data[i].from == e) {
            struct occurrence *const o = &h->seen.data[h->brought.data[i].to];
            o->count++;
            return o->expr;
        }
    struct expr copy = without_tautology(e);
    for (int i = 0; i < expr_arg_count(&copy); i++)
        copy.arg[i] = unify(h, copy.arg[i]);
    if (copy.op == EXPR_LOAD && copy.access->term_count > 0)
        copy.access = unify_terms(h, copy.access);
    return find_same(h, e, &copy);
}

static void mark_chosen(struct expr_sharing *h, const struct expr *e)
{
    for (size_t i = 0; i < h->seen.count; i++)
        h->seen.data[i].chosen |= h->seen.data[i].expr == e;
}

static bool is_word(const struct expr *e)
{
    return e->op == EXPR_FLOAT || e->op == EXPR_INT || e->op == EXPR_INDEX || e->op == EXPR_COUNT ||
           e->op == EXPR_RESULT;
}

static bool is_comparison(const struct expr *e)
{
    return e->op == EXPR_LT || e->op == EXPR_LE || e->op == EXPR_EQ;
}

static bool is_worth_a_name(const struct expr_sharing *h, const struct occurrence *o);

/* Is e, no comparison, a name or a number where it stands? */
static bool is_said_in_a_word(const struct expr_sharing *h, const struct expr *e)
{
    for (size_t i = 0; i < h->seen.count && !is_comparison(e); i++)
        if (h->seen.data[i].expr == e)
            return is_word(e) || is_worth_a_name(h, &h->seen.data[i]);
    return false;
}

/* A comparison of what has names is written again: compilers see that it is the same, and the mask of a vector needs
 * no byte for each element in between. */
static bool is_short_comparison(const struct expr_sharing *h, const struct expr *e)
{
    return is_comparison(e) && is_said_in_a_word(h, e->arg[0]) && is_said_in_a_word(h, e->arg[1]);
}

/* Loads in branches of a select are done in any case: GCC would not load what C does not, and jumps instead of
 * computing in vectors (15 times slower). */
static bool is_worth_a_name(const struct expr_sharing *h, const struct occurrence *o)
{
    if (is_word(o->expr) || (o->count < 2 && !(o->chosen && o->expr->op == EXPR_LOAD)))
        return false;
    return o->expr->op == EXPR_LOAD ? !find_param(h->s, o->expr->access->buffer)->by_value
                                    : !is_short_comparison(h, o->expr);
}

/* From users to operands: what only one outcome of a condition needs, and is not computed before it. */
static void find_chosen(struct expr_sharing *h)
{
    for (size_t i = h->seen.count; i-- > 0;) {
        const struct expr *e = h->seen.data[i].expr;
        const bool passes_on = h->seen.data[i].chosen && !is_worth_a_name(h, &h->seen.data[i]);
        for (int a = 0; a < expr_arg_count(e); a++)
            if (passes_on || (e->op == EXPR_SELECT && a > 0))
                mark_chosen(h, e->arg[a]);
    }
}

void expr_hoist(struct expr_scope *s, struct tree_builder *b, const struct expr **e, size_t count)
{
    struct expr_sharing h = {.s = s, .arena = s->arena};
    for (size_t i = 0; i < count; i++)
        e[i] = unify(&h, e[i]);
    find_chosen(&h);
    VEC(const struct expr *) named = {0};
    for (size_t i = 0; i < h.seen.count; i++)
        if (is_worth_a_name(&h, &h.seen.data[i]))
            vec_push(s->arena, &named, h.seen.data[i].expr);
    for (size_t i = 0; i < named.count; i++) {
        const struct expr *const x = named.data[i], *const value = expr_resolve(s, x);
        const char *const wish = value_wish(s, x, named.data, named.count);
        struct tree_var *const v = tree_var(s->arena, VAR_VALUE, x->dtype, c_type(x->dtype), wish);
        v->value = value;
        tree_declare(b, v, value);
        vec_push(s->arena, &s->locals, ((struct expr_local){x, v}));
    }
}
