/* Two kernels that are equal but for names have trees of one form; layers that differ in sizes have trees that differ
 * in constants only. One walk writes a tree down as numbers, in which a variable is that of its first appearance, and
 * meets the constants that may differ; it may put something else in their place.
 *
 *   for (i < 64) y[i] = x[i] / 49        for (i < 128) out[i] = in[i] / 9        one key, sizes 64, 49 and 128, 9
 *
 * What is to be fast keeps the constants that compilers make use of: how often innermost loops run and what their
 * index is multiplied with, factors in them, arguments of routines and all that meets a macro. */
#include "tree/equal.h"

#include "base/str.h"
#include <string.h>

enum {
    /* Iterations of a loop that stands for itself, and of one in another: from here on it does not matter any more
     * where the last few end. */
    LONG_LOOP = 64, LONG_ROW = 512,
    FUNCTIONS_MOST = 64
};

/* Where a constant stands. */
enum {
    IS_FIXED = 1, /* C takes no variable there */
    IS_INNER = 2  /* compilers make use of it */
};

struct key_walk {
    struct arena *arena;
    struct tree_function *const *functions;
    size_t count;
    enum tree_sizes which;
    struct tree_key *key;
    const struct expr *const *values; /* NULL: nothing is replaced */
    const tree_vars *sizes;
    const struct tree_var *inner;     /* of the innermost loop around, NULL: there is none, or another one in it */
    int depth;                        /* loops around */
    tree_vars taken[FUNCTIONS_MOST];  /* by function: which of the sizes it takes */
};

static void add(struct key_walk *w, uint64_t word)
{
    words_add(w->arena, &w->key->words, word);
}

static void add_text(struct key_walk *w, const char *text)
{
    words_add_text(w->arena, &w->key->words, text);
}

static uint64_t bits_of(const struct expr *e)
{
    uint64_t bits = (uint64_t)e->i;
    if (e->op == EXPR_FLOAT)
        memcpy(&bits, &e->f, sizeof bits);
    return bits;
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static bool may_differ(const struct key_walk *w, const struct expr *e, unsigned where)
{
    const bool is_index = (e->op == EXPR_INT && e->dtype == DTYPE_INDEX) || e->op == EXPR_WIDE;
    const bool is_number = e->op == EXPR_FLOAT && (e->dtype == DTYPE_FLOAT || e->dtype == DTYPE_DOUBLE);
    const bool is_kept = w->which == SIZES_ALL ? (where & IS_FIXED) : (where & (IS_FIXED | IS_INNER));
    return (is_index || is_number) && !is_kept;
}

static const struct expr *walk_constant(struct key_walk *w, const struct expr *e, unsigned where, const char *wish)
{
    const size_t at = w->key->sizes.count;
    if (!may_differ(w, e, where)) {
        add(w, bits_of(e));
        return e;
    }
    vec_push(w->arena, &w->key->sizes, ((struct tree_size){e, wish}));
    return w->values && w->values[at] ? w->values[at] : e;
}

bool tree_same_size(const struct tree_size *x, const struct tree_size *y)
{
    return x->value->op == y->value->op && x->value->dtype == y->value->dtype &&
           bits_of(x->value) == bits_of(y->value);
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

/* `wish`: what a constant that it is would be called. */
static const struct expr *walk(struct key_walk *w, const struct expr *e, unsigned where, const char *wish);

/* Types of indices of 32 bits are one. */
static const char *type_of(const struct tree_var *v)
{
    return v->dtype == DTYPE_INDEX && str_equal(v->type, "int") ? "int32_t" : v->type;
}

static void add_var(struct key_walk *w, const struct tree_var *v)
{
    size_t at = 0;
    while (at < w->key->vars.count && w->key->vars.data[at] != v)
        at++;
    add(w, at);
    if (at < w->key->vars.count)
        return;
    vec_push(w->arena, &w->key->vars, v);
    add(w, (uint64_t)v->kind << 32 | (uint64_t)v->dtype << 16 | (uint64_t)v->written << 2 |
               (uint64_t)v->is_restrict << 1 | (uint64_t)v->is_of_file);
    add_text(w, type_of(v));
    if (v->kind == VAR_MACRO || v->is_of_file || v->of)
        add_text(w, v->name);
    if (v->of)
        add_var(w, v->of);
    if (v->kind == VAR_MACRO)
        add_text(w, v->of_type);
    if (v->kind == VAR_ARRAY)
        add(w, (uint64_t)v->count);
    if (v->extent)
        walk(w, v->extent, IS_FIXED, NULL);
}

static bool is_macro(const struct expr *e, void *unused)
{
    (void)unused;
    return (e->op == EXPR_VAR && e->var->kind == VAR_MACRO) ||
           (e->op == EXPR_CALL && (e->call->kind == CALL_SECTION || e->call->kind == CALL_NAMED));
}

static bool has_macro(const struct expr *e)
{
    return e->op != EXPR_CALL && expr_any(e, is_macro, NULL);
}

static bool is_var(const struct expr *e, void *v)
{
    return e->op == EXPR_VAR && e->var == v;
}

/* Which of the functions it is, count: none of them that has something of its own. */
static size_t function_number(const struct key_walk *w, const struct tree_function *f)
{
    size_t at = 0;
    while (at < w->count && w->functions[at] != f)
        at++;
    return at < w->count && (f->kind == FUNCTION_OWN || at + 1 == w->count) ? at : w->count;
}

/* Arguments of routines that no tile is made by. */
static const struct routine_size {
    const char *routine;
    size_t argument;
} routine_sizes[] = {
#define ROUTINE_SIZE(routine, argument, name) {"stepc_" #routine, argument},
#include "tree/routine_sizes.def"
};

static unsigned where_of_argument(const struct tree_call *c, size_t i, unsigned where)
{
    if (c->kind != CALL_SECTION && c->kind != CALL_NAMED)
        return where | IS_INNER;
    for (size_t r = 0; r < sizeof routine_sizes / sizeof *routine_sizes; r++)
        if (routine_sizes[r].argument == i && str_equal(c->name, routine_sizes[r].routine))
            return 0;
    return where | IS_INNER | IS_FIXED;
}

static const struct expr *walk_call(struct key_walk *w, const struct expr *e, unsigned where)
{
    const struct tree_call *const c = e->call;
    const size_t number = c->function ? function_number(w, c->function) : 0;
    const tree_vars *const taken = c->function && number < w->count ? &w->taken[number] : &(tree_vars){0};
    const struct expr **const args = arena_array(w->arena, const struct expr *, c->count + taken->count + 1);
    add(w, (uint64_t)c->kind << 32 | (uint64_t)c->by_type << 16 | c->count);
    add(w, number);
    add_text(w, c->function && number == w->count ? c->function->name : c->name);
    bool is_changed = taken->count > 0;
    for (size_t i = 0; i < c->count; i++) {
        if (c->members)
            add_text(w, c->members[i]);
        args[i] = walk(w, c->args[i], where_of_argument(c, i, where), "size");
        is_changed |= args[i] != c->args[i];
    }
    for (size_t i = 0; i < taken->count; i++)
        args[c->count + i] = tree_read(w->arena, taken->data[i]);
    if (!is_changed)
        return e;
    struct tree_call *const call = arena_copy(w->arena, c, sizeof *c, alignof(struct tree_call));
    call->args = args;
    call->count += taken->count;
    struct expr *const made = arena_copy(w->arena, e, sizeof *e, alignof(struct expr));
    made->call = call;
    return made;
}

/* Where the operands of e stand. */
static unsigned where_of_operands(const struct key_walk *w, const struct expr *e, unsigned where)
{
    if (e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS)
        return has_macro(e->arg[0]) ? IS_INNER | IS_FIXED : 0;
    if (e->dtype != DTYPE_INDEX || !w->inner || e->op == EXPR_ADD || e->op == EXPR_SUB)
        return where;
    const bool moves = expr_any(e, is_var, (void *)(uintptr_t)w->inner);
    return e->op == EXPR_MUL && !moves ? where : where | IS_INNER;
}

/* The same of its operands. */
static const char *operand_wish(const struct expr *e, int i, const char *wish)
{
    if (e->dtype != DTYPE_INDEX && e->op != EXPR_ELEMENT)
        return e->op == EXPR_DIV && i == 1 ? "divisor" : "factor";
    return e->op == EXPR_MUL ? "step" : e->op == EXPR_ELEMENT || e->op == EXPR_ADDRESS ? "begin" : wish;
}

static const struct expr *walk(struct key_walk *w, const struct expr *e, unsigned where, const char *wish)
{
    const struct expr *args[3];
    add(w, (uint64_t)e->op << 32 | (uint64_t)e->dtype << 16 | (uint64_t)e->fn);
    switch (e->op) {
    case EXPR_FLOAT:
    case EXPR_INT:
    case EXPR_WIDE: return walk_constant(w, e, where, wish);
    case EXPR_CALL: return walk_call(w, e, where);
    case EXPR_TEXT:
    case EXPR_NULL:
    case EXPR_MEMBER:
    case EXPR_SIZEOF: add_text(w, e->text); break;
    default: break;
    }
    if (e->op == EXPR_CAST && e->dtype == DTYPE_INDEX)
        add_text(w, e->text);
    if (e->op == EXPR_SELECT || e->op == EXPR_DIV)
        add(w, (uint64_t)e->i);
    if (tree_var_of(e))
        add_var(w, e->var);
    const unsigned inside = where_of_operands(w, e, where);
    bool is_changed = false;
    for (int i = 0; i < expr_arg_count(e); i++) {
        args[i] = walk(w, e->arg[i], inside, operand_wish(e, i, wish));
        is_changed |= args[i] != e->arg[i];
    }
    if (!is_changed)
        return e;
    struct expr *const made = arena_copy(w->arena, e, sizeof *e, alignof(struct expr));
    memcpy(made->arg, args, (size_t)expr_arg_count(e) * sizeof *args);
    return made;
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static bool is_call(const struct expr *e, void *unused)
{
    (void)unused;
    return e->op == EXPR_CALL && e->call->kind == CALL_FUNCTION;
}

/* Is it a loop, or does it call what may be one? */
static bool holds_loop(const struct stmt *s, void *unused)
{
    const stmt_list alone = {.data = &s, .count = 1};
    return s->kind == STMT_LOOP || (s->kind == STMT_CALL && s->value->op == EXPR_CALL) ||
           (s->kind != STMT_IF && tree_any(&alone, is_call, unused));
}

static bool is_innermost(const struct stmt *loop)
{
    return !tree_any_statement(&loop->body, holds_loop, NULL);
}

/* How far the loop goes: of a long one, a compiler gains nothing from knowing. */
static unsigned where_of_end(struct key_walk *w, const struct stmt *loop, bool is_innermost)
{
    const int64_t least = w->depth > 0 ? LONG_ROW : LONG_LOOP;
    const bool is_long = loop->to && loop->to->op == EXPR_INT && loop->to->i >= least;
    if (w->which == SIZES_OUTER)
        add(w, is_long);
    if (loop->loop != LOOP_PLAIN)
        return IS_INNER | IS_FIXED;
    return is_long || !is_innermost ? 0 : IS_INNER;
}

static void walk_list(struct key_walk *w, stmt_list *list);

static const struct expr *walk_root(struct key_walk *w, const struct expr *e, unsigned where, const char *wish)
{
    add(w, e != NULL);
    return e ? walk(w, e, where | (has_macro(e) ? IS_INNER | IS_FIXED : 0), wish) : NULL;
}

static void walk_loop(struct key_walk *w, struct stmt *s)
{
    static const char *const extents[] = {"rows", "columns", "depth", "extent"};
    const struct tree_var *const inner = w->inner;
    const bool is_last = is_innermost(s);
    const char *const wish = is_last && w->depth == 0 ? "count" : extents[w->depth < 3 ? w->depth : 3];
    const unsigned begin = is_last || s->loop != LOOP_PLAIN ? IS_INNER : 0;
    add(w, s->loop);
    add(w, (uint64_t)s->step);
    add_var(w, s->var);
    s->from = walk_root(w, s->from, begin, "begin");
    s->to = walk_root(w, s->to, where_of_end(w, s, is_last), wish);
    s->condition = walk_root(w, s->condition, begin, wish);
    s->by = walk_root(w, s->by, begin, "step");
    s->next = walk_root(w, s->next, begin, "step");
    w->inner = is_last ? s->var : NULL;
    w->depth++;
    walk_list(w, &s->body);
    w->depth--;
    w->inner = inner;
}

static void walk_statement(struct key_walk *w, struct stmt *s)
{
    add(w, (uint64_t)s->kind << 32 | (uint64_t)s->op);
    if (s->kind == STMT_LOOP) {
        walk_loop(w, s);
        return;
    }
    const unsigned where = w->inner ? IS_INNER : 0;
    const bool is_list = s->kind == STMT_DECLARE && s->var->kind == VAR_ARRAY;
    s->condition = walk_root(w, s->condition, where, "size");
    s->value = walk_root(w, s->value, is_list ? IS_FIXED : where, "size");
    if (s->kind == STMT_DECLARE) {
        add(w, (uint64_t)s->repeat);
        add_var(w, s->var);
    }
    s->target = walk_root(w, s->target, where, "begin");
    walk_list(w, &s->body);
    walk_list(w, &s->otherwise);
}

static void walk_list(struct key_walk *w, stmt_list *list)
{
    add(w, list->count);
    for (size_t i = 0; i < list->count; i++)
        walk_statement(w, (struct stmt *)(uintptr_t)list->data[i]); /* made for these functions alone */
}

/* ---- functions --------------------------------------------------------------------------------------------------- */

static void take_sizes(struct key_walk *w, size_t at)
{
    struct tree_function *const f = w->functions[at];
    for (size_t i = 0; w->sizes && i < w->sizes->count; i++) {
        if (!tree_any(&f->body, is_var, (void *)(uintptr_t)w->sizes->data[i]))
            continue;
        vec_push(w->arena, &w->taken[at], w->sizes->data[i]);
        vec_push(w->arena, &f->params, w->sizes->data[i]);
    }
}

static void walk_function(struct key_walk *w, size_t at)
{
    struct tree_function *const f = w->functions[at];
    const bool is_own = function_number(w, f) == at;
    add(w, (uint64_t)f->kind << 32 | f->params.count);
    add_text(w, f->type);
    add_text(w, f->attributes);
    add_text(w, at + 1 < w->count ? f->name : NULL);
    if (!is_own)
        return;
    if (at + 1 < w->count)
        vec_each(const struct tree_var *, v, &f->params)
            add_var(w, v);
    walk_list(w, &f->body);
    take_sizes(w, at);
}

static void walk_all(struct key_walk *w)
{
    for (size_t i = 0; i < w->count; i++)
        walk_function(w, i);
}

void tree_find_key(struct arena *a, struct tree_function *const *functions, size_t count, enum tree_sizes which,
                   struct tree_key *key)
{
    struct key_walk w = {.arena = a, .functions = functions, .count = count, .which = which, .key = key};
    *key = (struct tree_key){0};
    walk_all(&w);
}

void tree_put_sizes(struct arena *a, struct tree_function *const *functions, size_t count, enum tree_sizes which,
                    const struct expr *const *values, const tree_vars *sizes)
{
    struct tree_key key = {0};
    struct key_walk w = {.arena = a, .functions = functions, .count = count, .which = which, .key = &key,
                         .values = values, .sizes = sizes};
    walk_all(&w);
}
