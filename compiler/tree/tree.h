/* Statement trees: what a function of the emitted file does, between kernels and text. Immutable, in an arena;
 * expressions are those of lower/expr.h, in which loads have become elements of variables, and indices sums of loop
 * variables. Whoever builds a tree decides; printing it decides nothing. A declaration holds to the end of its list. */
#ifndef STEPC_TREE_TREE_H
#define STEPC_TREE_TREE_H

#include "lower/expr.h"

enum var_kind {
    VAR_POINTER, /* `count` elements in memory, 0: not known. A parameter, or a local with the address of its first */
    VAR_VALUE,   /* one value that is never set again: a parameter or a const local */
    VAR_CELL,    /* a local that statements set */
    VAR_ARRAY,   /* a local array of `count` elements */
    VAR_LOOP,    /* the variable of a loop */
    VAR_MACRO,   /* a constant that only the user's compiler knows: it stands as it is spelt */
    VAR_HOLE     /* in templates: an integer hole */
};

/* In templates, the type that the hole T stands for. */
#define DTYPE_TEMPLATE DTYPE_STRING

/* A variable has an identity. Its name is what it wishes to be called until tree_name() has named it; then the name is
 * unique where it is in scope. */
struct tree_var {
    enum var_kind kind;
    enum dtype dtype;          /* of its elements; DTYPE_INDEX: an index */
    const char *type, *name;   /* as C spells them; a POINTER's type is that of its elements */
    bool is_named;
    const char *wish;          /* of what is_named: what it had wished */
    int64_t count;             /* POINTER, ARRAY */
    const struct expr *extent; /* ARRAY: how many elements, where the user's compiler has to compute it; else NULL */
    const char *from;          /* MACRO: the header of runtime/ that has it, "kernels/stepc_tile.h"; else NULL */
    const char *of_type;       /* MACRO: the type hole that it takes, "T"; else NULL */
    bool written;              /* POINTER: may be set */
    bool is_restrict;          /* POINTER that is a parameter */
    /* Of the structs that entries are given: the pointer to the one that this is a member of; of how many dimensions C
     * declares it. */
    const struct tree_var *of;
    int rank;
    bool is_cast;              /* C declares its elements otherwise, as a matrix or as bytes: their address is a cast */
    bool is_of_file;           /* all functions of the file see it */
    const char *about;         /* what a comment says of it where it is declared, or NULL */
    bool has_range;            /* an index: low <= it <= high */
    int64_t low, high;
    const struct expr *value;  /* VALUE: what it was declared with, or NULL; POINTER, in entries: where it points */
    int reads;                 /* how often it is read, where settle.c has counted */
};

/* What a compiler is told of a loop (loop_kinds.def). */
enum loop_kind {
#define LOOP_KIND(kind, macro, header, use) LOOP_##kind,
#include "tree/loop_kinds.def"
#undef LOOP_KIND
};

/* Where that gains something: everywhere; with vectors only; but where code size goes before speed without vectors. */
enum loop_use { USE_ANYWHERE, USE_WITH_VECTORS, USE_UNLESS_SMALL };

struct loop_kind_row {
    const char *name, *macro, *header;
    enum loop_use use;
};

extern const struct loop_kind_row loop_kinds[]; /* by enum loop_kind */

/* The kind of the macro above a loop of a template; false: no kind has it. */
bool loop_kind_find(const char *macro, enum loop_kind *kind) MUST_USE;

enum stmt_kind { STMT_LOOP, STMT_IF, STMT_DECLARE, STMT_SET, STMT_CALL, STMT_RETURN };

/* What a SET does with its value v and target t. MAX and MIN keep a NaN of either; TOP is a maximum in which a NaN
 * may be passed over. These three read v several times: it is a variable, a constant or an element. */
enum set_op { SET_TO, SET_SUM, SET_DIFFERENCE, SET_PRODUCT, SET_OR, SET_MAX, SET_TOP, SET_MIN };

struct stmt;
typedef VEC(const struct stmt *) stmt_list;
typedef VEC(const struct tree_var *) tree_vars;

enum { STMT_EXPRS = 7 };

struct stmt {
    enum stmt_kind kind;
    const struct tree_var *var;           /* LOOP, DECLARE */
    union {
        struct {
            const struct expr *from, *to; /* LOOP: from <= var < to; `to` may be NULL: `condition` says how long */
            const struct expr *by, *next; /* LOOP: var += by; var = next */
            const struct expr *condition; /* IF; LOOP: what must hold, too, asked where var < to, or NULL */
            const struct expr *value;     /* DECLARE (NULL: none), SET, CALL, RETURN (NULL: nothing) */
            const struct expr *target;    /* SET: a VAR, an ELEMENT or one of a MATRIX */
        };
        const struct expr *expr[STMT_EXPRS]; /* all of these, the target last */
    };
    int64_t step;                  /* LOOP; 0: by `by`, or to `next` */
    enum loop_kind loop;           /* LOOP */
    stmt_list body, otherwise;     /* LOOP, IF; IF */
    /* DECLARE an array: how often `value` stands in its list; what the list leaves out is 0 */
    int64_t repeat;
    enum set_op op;                /* SET */
    const char *comment;           /* above it, or NULL */
};

/* A function of the emitted file, or of a template. */
struct tree_function {
    const char *name;
    const char *comment;    /* as written, or NULL */
    const char *attributes; /* "inline", "STEPC_KERNEL" */
    const char *type;       /* of its result, as C spells it */
    enum dtype dtype;
    tree_vars params;
    stmt_list body;
    /* Of a template: where it stands in its file, and whether what is emitted depends on nothing, on types only
     * (then it is shared by all kernels of those types), or on the kernel. */
    int place;
    const tree_vars *written;  /* of an instance: the template's parameters */
    bool is_public;            /* not static */
    enum function_kind { FUNCTION_SHARED, FUNCTION_BY_TYPE, FUNCTION_OWN } kind;
};

/* ---- variables and indices --------------------------------------------------------------------------------------- */

struct tree_var *tree_var(struct arena *a, enum var_kind kind, enum dtype dtype, const char *type, const char *name);
/* A local of `type` for an index, with its range. */
struct tree_var *tree_index_var(struct arena *a, enum var_kind kind, const char *type, const char *name, int64_t low,
                                int64_t high);
/* A member of the struct that `of` points to, with `count` elements; it may be set where that may. */
struct tree_var *tree_member(struct arena *a, enum var_kind kind, enum dtype dtype, const char *type,
                             const struct tree_var *of, const char *name, int64_t count);
const struct expr *tree_read(struct arena *a, const struct tree_var *v); /* EXPR_VAR */
const struct expr *tree_element(struct arena *a, const struct tree_var *v, const struct expr *index);
/* x op y, a bool: a comparison of values, or of bools one of AND, OR, BOTH, EITHER. Nothing is folded. */
const struct expr *tree_condition(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y);

/* Makers of index expressions. They fold constants where these fit, x + 0, x - 0, x * 1, x * 0, x / 1, casts of
 * constants, and the smaller of two where ranges tell which it is. */
const struct expr *index_constant(struct arena *a, int64_t x);
const struct expr *index_wide(struct arena *a, int64_t x);
const struct expr *index_text(struct arena *a, const char *text);
const struct expr *index_add(struct arena *a, const struct expr *x, const struct expr *y);
const struct expr *index_sub(struct arena *a, const struct expr *x, const struct expr *y);
const struct expr *index_mul(struct arena *a, const struct expr *x, const struct expr *y);
const struct expr *index_div(struct arena *a, const struct expr *x, const struct expr *y);
const struct expr *index_smaller(struct arena *a, const struct expr *x, const struct expr *y); /* x < y ? x : y */
const struct expr *index_cast(struct arena *a, const char *type, const struct expr *x);
bool index_is_constant(const struct expr *e);
bool index_is(const struct expr *e, int64_t x); /* that constant? */
/* The remainder; comparisons, &&, || and ! as C's int; one of two. What ranges decide is a constant: the condition of a
 * loop is made before its variable has a range, which holds in the body only. */
const struct expr *index_mod(struct arena *a, const struct expr *x, const struct expr *y);
const struct expr *index_compare(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y);
const struct expr *index_not(struct arena *a, const struct expr *x);
const struct expr *index_choose(struct arena *a, const struct expr *c, const struct expr *x, const struct expr *y);
/* x op y for any of C's binary operators between indices. */
const struct expr *index_binary(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y);
const struct expr *tree_address(struct arena *a, const struct tree_var *v, const struct expr *index);
const struct expr *tree_whole(struct arena *a, const struct tree_var *v); /* EXPR_WHOLE */
const struct expr *tree_matrix(struct arena *a, const struct tree_var *v, const struct expr *row,
                               const struct expr *column); /* EXPR_MATRIX */
const struct expr *tree_bytes(struct arena *a, const struct tree_var *v); /* EXPR_BYTES */
const struct expr *tree_sizeof(struct arena *a, const char *type);        /* EXPR_SIZEOF */
const struct expr *tree_null(struct arena *a);                            /* EXPR_NULL */
const struct expr *tree_call(struct arena *a, enum dtype dtype, enum call_kind kind, const char *name,
                             const struct expr *const *args, size_t count);
/* A call of a routine of the header `from` of the runtime. */
const struct expr *tree_call_routine(struct arena *a, enum dtype dtype, const char *name, const char *from,
                                     const struct expr *const *args, size_t count);
/* A call of a function of the file. */
const struct expr *tree_call_function(struct arena *a, struct tree_function *f, const struct expr *const *args,
                                      size_t count);
/* What a condition says where it holds: var < below. */
struct index_bound {
    const struct tree_var *var;
    int64_t below;
    const struct index_bound *outer; /* what else holds, or NULL */
};
struct index_range {
    int64_t low, high;
};
/* The least and the largest value, where the ranges of its variables and what holds there (NULL: nothing) tell. */
bool index_range(const struct expr *e, const struct index_bound *where, struct index_range *r);

/* ---- building ---------------------------------------------------------------------------------------------------- */

/* Where the next statement goes. */
struct tree_builder {
    struct arena *arena;
    stmt_list *at;          /* the innermost open list */
    VEC(stmt_list *) outer; /* those around it */
};

struct tree_builder tree_builder(struct arena *a, stmt_list *body);
struct stmt *tree_open_loop(struct tree_builder *b, const struct tree_var *v, const struct expr *from,
                            const struct expr *to, int64_t step, enum loop_kind kind);
void tree_open_if(struct tree_builder *b, const struct expr *condition);
void tree_open_else(struct tree_builder *b); /* of the IF that was closed last in this list */
void tree_close(struct tree_builder *b);
void tree_declare(struct tree_builder *b, const struct tree_var *v, const struct expr *value);
void tree_declare_array(struct tree_builder *b, const struct tree_var *v, const struct expr *value, int64_t repeat);
void tree_set(struct tree_builder *b, const struct expr *target, enum set_op op, const struct expr *value);
void tree_run(struct tree_builder *b, const struct expr *call);
void tree_return(struct tree_builder *b, const struct expr *value);

/* ---- looking at -------------------------------------------------------------------------------------------------- */

/* Deterministic text of a function, for --dump-after tree and tests (print.c). */
const char *tree_print(struct arena *a, const struct tree_function *f);
/* The variable that e itself is, is an element or the address of, or asks the size of; NULL: none. */
const struct tree_var *tree_var_of(const struct expr *e);
/* Is it one of these? */
bool tree_has(const tree_vars *list, const struct tree_var *v);
/* Does f hold for some statement, in the order in which they stand? */
bool tree_any_statement(const stmt_list *list, bool (*f)(const struct stmt *s, void *data), void *data);
/* Does f hold for some node of some expression? */
bool tree_any(const stmt_list *list, bool (*f)(const struct expr *e, void *data), void *data);

/* e, or another one in which what `by` gives for a node stands in its place, where that is not NULL; e itself stays.
 * Nothing is folded. */
const struct expr *tree_with(struct arena *a, const struct expr *e,
                             const struct expr *(*by)(const struct expr *e, void *data), void *data);
/* The same place, or the same number? Of places whose indices are sums and products. */
bool tree_same_place(const struct expr *x, const struct expr *y);
/* Elements that have a name for one statement only, which reads them once, stand there (once.c). */
void tree_inline_elements(struct arena *a, stmt_list *list);

/* ---- verifying --------------------------------------------------------------------------------------------------- */

/* NULL, or what is wrong with the body of a function of these parameters: a variable that is not in scope or
 * declared twice, two of a name, a type that does not fit, a target that cannot be set, an element outside of its
 * array. */
const char *tree_verify(struct arena *a, const tree_vars *parameters, const stmt_list *body);
/* The same before variables are named, between passes; what is `around` is in scope as well. */
const char *tree_verify_pass(struct arena *a, const tree_vars *around, const struct tree_function *f);
/* The same of a function, and what tells only who sees the functions that it calls (verify_calls.c): a parameter or a
 * local that nobody reads; memory of a call that is written as one argument and known as another, of which one is
 * restrict. `shared`: members of what it points to may lie in the same memory; or NULL. */
const char *tree_verify_function(struct arena *a, const struct tree_function *f, const struct tree_var *shared);
/* NULL, or what is wrong with a function that returns a status: one that is not STEPC_OK, when the function, or one
 * that it calls, may have written what `state`, one of its parameters, points to. */
const char *tree_verify_entry(struct arena *a, const struct tree_function *f, const struct tree_var *state);

#endif
