/* For tests of statement trees: pointers, constants, and a function to call. */
#ifndef STEPC_TESTS_TREES_H
#define STEPC_TESTS_TREES_H

#include "tree/tree.h"

static struct arena arena;

static inline void begin(void)
{
    arena = (struct arena){0};
}

static inline void end(void)
{
    arena_free(&arena);
}

static inline struct tree_var *pointer(const char *name, int64_t count, bool written)
{
    struct tree_var *const v = tree_var(&arena, VAR_POINTER, DTYPE_FLOAT, "float", name);
    v->count = count;
    v->written = written;
    return v;
}

static inline const struct expr *constant(int64_t x)
{
    return index_constant(&arena, x);
}

static inline struct expr *made(enum expr_op op, enum dtype dtype)
{
    struct expr *const e = arena_new(&arena, struct expr);
    e->op = op;
    e->dtype = dtype;
    return e;
}

/* A constant that only the user's compiler knows. */
static inline const struct expr *macro(const char *name)
{
    return tree_read(&arena, tree_var(&arena, VAR_MACRO, DTYPE_INDEX, "int", name));
}

static inline const struct expr *float_constant(double x)
{
    return expr_float(&arena, DTYPE_FLOAT, x);
}

/* static void add(float *to, const float *from, const int count) */
static inline struct tree_function *callee(void)
{
    struct tree_function *const f = arena_new(&arena, struct tree_function);
    *f = (struct tree_function){.name = "add", .attributes = "", .type = "void", .kind = FUNCTION_OWN};
    vec_push(&arena, &f->params, pointer("to", 0, true));
    vec_push(&arena, &f->params, pointer("from", 0, false));
    vec_push(&arena, &f->params, tree_var(&arena, VAR_VALUE, DTYPE_INDEX, "int", "count"));
    return f;
}

static inline const struct expr *call_of(struct tree_function *f, const struct expr *to, const struct expr *from,
                                         const struct expr *count)
{
    const struct expr *const args[] = {to, from, count};
    const struct expr *const call = tree_call(&arena, f->dtype, CALL_FUNCTION, f->name, args, count ? 3 : 2);
    ((struct tree_call *)(uintptr_t)call->call)->function = f;
    return call;
}

#endif
