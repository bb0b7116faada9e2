/* Kernels whose trees are equal share a function, whatever the model calls what they read and write. If they differ in
 * sizes, these are parameters (tree/equal.h): where the code is for size, if that is shorter; else where compilers gain
 * nothing from knowing them. */
#include "emit/emit_internal.h"

#include "base/hash.h"
#include <inttypes.h>
#include <string.h>

enum { SIZES_MOST = 8 }; /* of one function */

/* ---- which are equal --------------------------------------------------------------------------------------------- */

static bool same_key(const struct kernel_trees *x, const struct kernel_trees *y)
{
    return x->key.words.count == y->key.words.count &&
           memcmp(x->key.words.data, y->key.words.data, x->key.words.count * sizeof *x->key.words.data) == 0;
}

static bool same_sizes(const struct kernel_trees *x, const struct kernel_trees *y)
{
    for (size_t i = 0; i < x->key.sizes.count; i++)
        if (!tree_same_size(&x->key.sizes.data[i], &y->key.sizes.data[i]))
            return false;
    return true;
}

static struct kernel_class *new_class(struct emission *e, struct kernel_group *g)
{
    struct kernel_class *const c = arena_new(e->arena, struct kernel_class);
    vec_push(e->arena, &c->groups, g);
    vec_push(e->arena, &e->classes, c);
    return c;
}

static void classify(struct emission *e, struct map *known, struct kernel_group *g)
{
    const struct kernel_trees *const t = g->trees;
    const uint64_t hash = hash_bytes(t->key.words.data, t->key.words.count * sizeof *t->key.words.data);
    const char *const name = arena_printf(e->arena, "%016" PRIx64, hash);
    struct kernel_class *const first = map_get(known, name);
    for (struct kernel_class *c = first; c; c = c->next)
        if (same_key(c->groups.data[0]->trees, t)) {
            vec_push(e->arena, &c->groups, g);
            return;
        }
    struct kernel_class *const c = new_class(e, g);
    c->next = first;
    map_set(known, name, c);
}

/* Only kernels of the same sizes stay in the class; the others get classes of their own. */
static void split(struct emission *e, struct kernel_class *c)
{
    VEC(struct kernel_class *) parts = {0};
    vec_push(e->arena, &parts, c);
    const size_t count = c->groups.count;
    c->groups.count = 1;
    for (size_t i = 1; i < count; i++) {
        struct kernel_group *const g = c->groups.data[i];
        size_t at = 0;
        while (at < parts.count && !same_sizes(parts.data[at]->groups.data[0]->trees, g->trees))
            at++;
        if (at < parts.count)
            vec_push(e->arena, &parts.data[at]->groups, g);
        else
            vec_push(e->arena, &parts, new_class(e, g));
    }
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

/* Constant i of the keys, by group. */
struct column {
    size_t at;
    const struct expr *value; /* of the function: a parameter, or a multiple of one; NULL: not known yet */
};

static const struct tree_size *size_in(const struct kernel_class *c, size_t group, size_t at)
{
    return &c->groups.data[group]->trees->key.sizes.data[at];
}

static bool is_same_column(const struct kernel_class *c, size_t x, size_t y)
{
    for (size_t g = 0; g < c->groups.count; g++)
        if (!tree_same_size(size_in(c, g, x), size_in(c, g, y)))
            return false;
    return true;
}

static bool is_constant(const struct kernel_class *c, size_t at)
{
    for (size_t g = 1; g < c->groups.count; g++)
        if (!tree_same_size(size_in(c, 0, at), size_in(c, g, at)))
            return false;
    return true;
}

/* What x is a multiple of y by, the same for all; 0: it is none. */
static int64_t factor_of(const struct kernel_class *c, size_t x, size_t y)
{
    int64_t factor = 0;
    for (size_t g = 0; g < c->groups.count; g++) {
        const struct expr *const p = size_in(c, g, x)->value, *const q = size_in(c, g, y)->value;
        if (p->op != EXPR_INT || q->op != EXPR_INT || q->i <= 0 || p->i % q->i != 0)
            return 0;
        if (g > 0 && p->i / q->i != factor)
            return 0;
        factor = p->i / q->i;
    }
    return factor > 1 ? factor : 0;
}

typedef VEC(struct column) column_list;

static column_list find_columns(struct emission *e, const struct kernel_class *c)
{
    column_list list = {0};
    for (size_t i = 0; i < c->groups.data[0]->trees->key.sizes.count; i++) {
        size_t at = 0;
        while (at < list.count && !is_same_column(c, list.data[at].at, i))
            at++;
        if (at == list.count && !is_constant(c, i))
            vec_push(e->arena, &list, (struct column){.at = i});
    }
    return list;
}

/* The column that this one is a multiple of, itself a multiple of none; or NULL. */
static struct column *base_of(const struct kernel_class *c, column_list *list, const struct column *x)
{
    struct column *found = NULL;
    vec_each_ptr(struct column, y, list)
        if (y != x && factor_of(c, x->at, y->at) > 0 && (!found || factor_of(c, found->at, y->at) > 0))
            found = y;
    return found;
}

static const char *wider(const char *x, const char *y)
{
    static const char *const types[] = {"int64_t", "int32_t"};
    for (int i = 0; i < 2; i++)
        if (str_equal(x, types[i]) || str_equal(y, types[i]))
            return types[i];
    return x;
}

static const char *index_type(const struct emission *e, const struct kernel_class *c)
{
    const char *type = kernel_index_type(c->groups.data[0]->kernel, e->options->target);
    for (size_t g = 1; g < c->groups.count; g++)
        type = wider(type, kernel_index_type(c->groups.data[g]->kernel, e->options->target));
    return type;
}

static const struct tree_var *size_var(struct emission *e, const struct kernel_class *c, const struct column *x)
{
    const struct tree_size *const s = size_in(c, 0, x->at);
    if (!map_has(&e->file.taken, s->wish))
        UNREACHABLE("functions of the file may be called '%s', too", s->wish);
    if (s->value->op == EXPR_FLOAT)
        return tree_var(e->arena, VAR_VALUE, s->value->dtype, c_type(s->value->dtype), s->wish);
    int64_t low = s->value->i, high = low;
    for (size_t g = 1; g < c->groups.count; g++) {
        const int64_t i = size_in(c, g, x->at)->value->i;
        low = i < low ? i : low;
        high = i > high ? i : high;
    }
    const bool is_wide = s->value->op == EXPR_WIDE || low < INT32_MIN || high > INT32_MAX;
    return tree_index_var(e->arena, VAR_VALUE, is_wide ? "int64_t" : index_type(e, c), s->wish, low, high);
}

/* Is one function with so many parameters more shorter than all of them? */
static bool is_shorter(const struct kernel_class *c, size_t sizes)
{
    const size_t words = c->groups.data[0]->trees->key.words.count, count = c->groups.count;
    return (count - 1) * words > count * sizes * 12;
}

/* How many parameters their function would have. */
static size_t count_sizes(struct emission *e, const struct kernel_class *c)
{
    column_list list = find_columns(e, c);
    size_t count = 0;
    vec_each_ptr(struct column, x, &list)
        count += base_of(c, &list, x) == NULL;
    return count;
}

/* Takes g into the class, if that leaves parameters few enough. */
static bool takes(struct emission *e, struct kernel_class *c, struct kernel_group *g)
{
    vec_push(e->arena, &c->groups, g);
    if (count_sizes(e, c) <= SIZES_MOST)
        return true;
    c->groups.count--;
    return false;
}

/* Kernels that differ in too many sizes become several classes: each kernel goes to the first that takes it. */
static void divide(struct emission *e, struct kernel_class *c)
{
    VEC(struct kernel_class *) parts = {0};
    const size_t count = c->groups.count;
    if (count_sizes(e, c) <= SIZES_MOST)
        return;
    vec_push(e->arena, &parts, c);
    c->groups.count = 1;
    for (size_t i = 1; i < count; i++) {
        struct kernel_group *const g = c->groups.data[i];
        size_t at = 0;
        while (at < parts.count && !takes(e, parts.data[at], g))
            at++;
        if (at == parts.count)
            vec_push(e->arena, &parts, new_class(e, g));
    }
}

/* The parameters, and what each constant of the key is; false: the kernels keep functions of their own. */
static bool find_sizes(struct emission *e, struct kernel_class *c)
{
    struct arena *const a = e->arena;
    column_list list = find_columns(e, c);
    const struct kernel_trees *const t = c->groups.data[0]->trees;
    VEC(size_t) taken = {0};
    vec_each_ptr(struct column, x, &list) {
        if (base_of(c, &list, x))
            continue;
        const struct tree_var *const v = size_var(e, c, x);
        vec_push(a, &c->sizes, v);
        vec_push(a, &taken, x->at);
        x->value = tree_read(a, v);
    }
    vec_each_ptr(struct column, x, &list)
        if (!x->value) {
            const struct column *const base = base_of(c, &list, x);
            x->value = index_mul(a, base->value, index_constant(a, factor_of(c, x->at, base->at)));
        }
    if (e->options->small && c->sizes.count > 0 && !is_shorter(c, c->sizes.count)) {
        c->sizes.count = 0;
        return false;
    }
    c->values = arena_array(a, const struct expr *, t->key.sizes.count + 1);
    for (size_t i = 0; i < t->key.sizes.count; i++)
        vec_each_ptr(struct column, x, &list)
            if (is_same_column(c, x->at, i))
                c->values[i] = x->value;
    for (size_t g = 0; g < c->groups.count; g++) {
        c->groups.data[g]->sizes = arena_array(a, const struct expr *, taken.count + 1);
        for (size_t i = 0; i < taken.count; i++)
            c->groups.data[g]->sizes[i] = size_in(c, g, taken.data[i])->value;
    }
    return true;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Which variable of the key the parameter is; the count of them: none. */
static size_t var_number(const struct kernel_trees *t, size_t param)
{
    const struct tree_var *const v = t->params.data[param].is_local ? NULL : t->params.data[param].var;
    size_t at = 0;
    while (at < t->key.vars.count && t->key.vars.data[at] != v)
        at++;
    return at;
}

static size_t param_number(const struct kernel_trees *t, const struct tree_var *v)
{
    size_t at = 0;
    while (at < t->params.count && (t->params.data[at].is_local || t->params.data[at].var != v))
        at++;
    return at;
}

size_t group_param(const struct kernel_group *g, size_t param)
{
    const struct kernel_trees *const t = g->class->trees;
    const size_t var = var_number(t, param);
    return var < t->key.vars.count ? param_number(g->trees, g->trees->key.vars.data[var]) : g->trees->params.count;
}

const struct tree_var *class_var(const struct kernel_group *g, size_t param)
{
    const size_t var = var_number(g->trees, param);
    return var < g->trees->key.vars.count ? g->class->trees->key.vars.data[var] : NULL;
}

uint32_t group_counter(const struct kernel_group *g, size_t at)
{
    const struct kernel_trees *const t = g->class->trees, *const own = g->trees;
    for (size_t v = 0; v < t->key.vars.count; v++)
        for (size_t i = 0; i < own->counters.count; i++)
            if (t->key.vars.data[v] == t->counters.data[at] && own->key.vars.data[v] == own->counters.data[i])
                return own->counter_numbers.data[i];
    UNREACHABLE("counter %zu is read by no function", at);
}

/* What the names of a parameter have in common. */
static void join_names(struct emission *e, struct kernel_class *c)
{
    const struct kernel_trees *const t = c->first->trees;
    c->names = arena_array(e->arena, const char *, t->params.count + 1);
    c->trees = c->first->trees;
    for (size_t g = 0; g < c->groups.count; g++) {
        const struct kernel_group *const group = c->groups.data[g];
        c->is_shared |= group->is_shared;
        for (size_t i = 0; i < t->params.count; i++) {
            const size_t own = group == c->first ? i : group_param(group, i);
            const char *const name = own < group->trees->params.count ? group->names[own] : NULL;
            if (group == c->groups.data[0]) {
                c->names[i] = name;
            } else if (c->names[i] && (!name || !str_equal(c->names[i], name))) {
                c->names[i] = name ? name_in_common(e->arena, c->names[i], name) : NULL;
                c->is_shared = true;
            } else {
                c->is_shared |= name && !c->names[i];
            }
        }
    }
    c->is_shared |= c->sizes.count > 0;
}

/* ---- the function ------------------------------------------------------------------------------------------------ */

/* An index has the range that it has in any of them. Each kernel was seen to stay in bounds when it was made. With
 * sizes that are parameters, ranges of several say nothing of bounds: the rows of one and the columns of another. */
static void widen_ranges(const struct kernel_class *c)
{
    for (size_t i = 0; i < c->trees->key.vars.count; i++) {
        struct tree_var *const v = (struct tree_var *)(uintptr_t)c->trees->key.vars.data[i];
        for (size_t g = 0; g < c->groups.count; g++) {
            const struct tree_var *const x = c->groups.data[g]->trees->key.vars.data[i];
            v->has_range &= x->has_range;
            v->low = x->low < v->low ? x->low : v->low;
            v->high = x->high > v->high ? x->high : v->high;
            if (v->kind == VAR_POINTER && (c->sizes.count > 0 || x->count != v->count))
                v->count = 0;
        }
    }
}

static void name_params(struct emission *e, const char *const *names, kernel_params *params)
{
    for (size_t i = 0; i < params->count; i++)
        if (names[i])
            params->data[i].name = name_of_local(e, names[i]);
}

/* The group whose indices need the widest type: its functions serve all. */
static struct kernel_group *widest(const struct emission *e, const struct kernel_class *c)
{
    const char *const type = index_type(e, c);
    for (size_t g = 0; g < c->groups.count; g++)
        if (str_equal(kernel_index_type(c->groups.data[g]->kernel, e->options->target), type))
            return c->groups.data[g];
    return c->groups.data[0];
}

static void make_trees(struct emission *e, struct kernel_class *c)
{
    c->first = widest(e, c);
    join_names(e, c);
    if (c->groups.count == 1)
        return;
    kernel_params params = find_params(e, c->first->kernel);
    name_params(e, c->names, &params);
    e->kernel_is_shared = c->is_shared;
    c->trees = build_kernel(e, c->first->kernel, &params);
    if (!same_key(c->trees, c->first->trees))
        UNREACHABLE("kernel '%s' is another one by another name", c->first->kernel->label);
    widen_ranges(c);
    tree_put_sizes(e->arena, c->trees->functions.data, c->trees->functions.count, sizes_of(e), c->values, &c->sizes);
}

void classify_kernels(struct emission *e)
{
    struct map known = {.arena = e->arena};
    vec_each(struct kernel_group *, g, &e->group_list) {
        kernel_params params = find_params(e, g->kernel);
        name_params(e, g->names, &params);
        e->kernel_is_shared = g->is_shared;
        g->trees = build_kernel(e, g->kernel, &params);
        classify(e, &known, g);
    }
    vec_each(struct kernel_class *, c, &e->classes) {
        divide(e, c);
        if (c->groups.count > 1 && !find_sizes(e, c))
            split(e, c);
    }
    vec_each(struct kernel_class *, c, &e->classes)
        vec_each(struct kernel_group *, g, &c->groups)
            g->class = c;
    vec_each(struct kernel_class *, c, &e->classes)
        make_trees(e, c);
}
