/* Scalar expression trees: what a kernel computes at one point of its loops. Immutable; shared nodes are computed
 * once. */
#ifndef STEPC_LOWER_EXPR_H
#define STEPC_LOWER_EXPR_H

#include "base/vec.h"
#include "tensor/tensor.h"

struct buffer;        /* kernel.h */
struct tree_var;      /* tree/tree.h */
struct tree_function; /* tree/tree.h */
struct expr;

#define LOOP_MAX_DIMS (2 * SHAPE_MAX_RANK)

/* An element of a buffer seen from the loops of a part: offset + sum(stride[d] * index d) + sum(term.stride *
 * term.index), in elements. Strides may be 0 or negative. Dims beyond the part's rank have stride 0. */
struct access_term {
    const struct expr *index; /* an integer in [0, extent): a check of the kernel proves it before */
    int64_t stride, extent;
};
#define ACCESS_MAX_TERMS 4
struct access {
    struct buffer *buffer;
    int64_t offset;
    int64_t stride[LOOP_MAX_DIMS];
    struct access_term term[ACCESS_MAX_TERMS];
    int term_count;
};

enum expr_op {
    EXPR_FLOAT,  /* constant .f */
    EXPR_INT,    /* constant .i (integers, bool) */
    EXPR_LOAD,   /* .access */
    EXPR_INDEX,  /* index of loop dim .i, int64 */
    EXPR_COUNT,  /* .i times the count of the program's range, int64: known when the program runs */
    EXPR_RESULT, /* what the core of the kernel (reduction, template) hands to the epilogue of this part */
    /* one operand */
    EXPR_NEG,
    EXPR_NOT,
    EXPR_CAST /* to .dtype */,
    EXPR_BITS /* read as .dtype, of the same width */,
    EXPR_MATH /* .fn */,
    /* two operands */
    EXPR_ADD,
    EXPR_SUB,
    EXPR_MUL,
    EXPR_DIV,
    EXPR_MOD /* sign of the dividend */,
    EXPR_POW,
    EXPR_AND,
    EXPR_OR,
    EXPR_XOR /* bool, and the bits of integers */,
    EXPR_SHL,
    EXPR_SHR /* unsigned */,
    EXPR_LT,
    EXPR_LE,
    EXPR_EQ, /* -> bool */
    /* three */
    EXPR_SELECT, /* arg[0] ? arg[1] : arg[2]; both sides may be evaluated */
    /* random: arg[0] = number of the element (int64); .i = stream; .draw */
    EXPR_UNIFORM,
    EXPR_NORMAL,
    /* In statement trees (tree/tree.h), where loads, indices and results have become these: */
    EXPR_VAR,     /* .var */
    EXPR_ELEMENT, /* element arg[0] of .var */
    EXPR_WIDE,    /* constant .i among indices, which makes what it meets 64 bits wide */
    EXPR_TEXT,    /* .text, as spelt: a bare word */
    EXPR_ADDRESS, /* of element arg[0] of .var; of a variable that has no elements: its own, arg[0] is 0 */
    EXPR_WHOLE,   /* .var as memcpy() takes it, which asks for no type */
    EXPR_MATRIX,  /* element arg[1] of row arg[0] of .var, which C declares as a matrix */
    EXPR_NULL,    /* the pointer to nothing; .text: its type */
    EXPR_CALL,    /* .call */
    EXPR_MEMBER,  /* .text of the struct arg[0] */
    EXPR_SIZEOF,  /* of the type .text */
    EXPR_BYTES,   /* of .var: how many it takes, or what it points to does */
    EXPR_GT,
    EXPR_GE,
    EXPR_NE,
    EXPR_BOTH,  /* &&: the second one only where the first holds */
    EXPR_EITHER /* || */
};

/* The dtype of index arithmetic, which is C's own, in the type of loop variables: it cannot overflow
 * (kernel_index_type()). */
#define DTYPE_INDEX DTYPE_UNDEFINED

enum expr_fn { /* the elementary functions: stepc_exp(f), ... */
#define FUNCTION(NAME, function, cost, plain) EXPR_FN_##NAME,
#include "eval/functions.def"
#undef FUNCTION
    EXPR_FN_COUNT
};

/* What is called, in statement trees. */
struct tree_call {
    enum call_kind {
        CALL_FUNCTION,   /* `function`, of the same program or template */
        CALL_NAMED,      /* function or macro `name` of the C library or of the emitted file */
        CALL_HELPER,     /* function `name` of the runtime */
        CALL_SECTION,    /* function or macro `name` of header `from` of runtime/kernels/ */
        CALL_HOLE,       /* in templates: expression or statement hole `name` */
        CALL_INITIALIZER, /* no call, but {.members[0] = args[0], ..} */
        CALL_STRUCT       /* none either: the address of a struct of type `name` with args as members, in their order */
    } kind;
    const char *name, *from;
    bool by_type; /* SECTION: there is one for each type of elements */
    struct tree_function *function;
    const struct expr **args;
    size_t count;
    const char *const *members;
};

/* What random numbers depend on besides their element and stream. */
struct expr_draw {
    uint32_t counter; /* which of program->counters */
    bool has_seed;    /* the key is `seed`, not the model's */
    uint64_t seed;
};

/* Floats of 16 bits and less and integers of less than 8 are types of memory: loads and values that are stored have
 * them, and a cast stands between these and the operations, which know dtype_computed() only. A cast to float16 and
 * back is the rounding at the end of a node. */
struct expr {
    enum expr_op op;
    enum dtype dtype; /* of the result */
    enum expr_fn fn;
    const struct expr *arg[3];
    double f;
    int64_t i; /* trees: of SELECT and DIV 1 where it is computed by a helper: by bits, by steps */
    union {
        const struct access *access; /* LOAD; most nodes are none, and it is five times as large as all else */
        const struct expr_draw *draw; /* UNIFORM, NORMAL */
        const struct tree_var *var;   /* VAR, ELEMENT, ADDRESS, WHOLE, MATRIX, BYTES */
        const struct tree_call *call; /* CALL */
        const char *text;             /* TEXT, NULL, MEMBER, SIZEOF; CAST to DTYPE_INDEX: the name of the type */
    };
    const char *word; /* the value of the model that it is, in any kernel; or NULL. It makes no difference */
    uint64_t walk; /* the last one that came here; expr.c alone looks at it */
};

/* Makers, in the arena of the lowering. Constants are folded only where exact (integers, selects of known
 * conditions). */
const struct expr *expr_float(struct arena *a, enum dtype dtype, double x);
const struct expr *expr_int(struct arena *a, enum dtype dtype, int64_t x);
/* A number in dtype, float or integer. */
const struct expr *expr_number(struct arena *a, enum dtype dtype, double x);
const struct expr *expr_index(struct arena *a, int dim);
const struct expr *expr_load(struct arena *a, const struct access *access);
const struct expr *expr_result(struct arena *a, enum dtype dtype);
const struct expr *expr_unary(struct arena *a, enum expr_op op, const struct expr *x);
const struct expr *expr_binary(struct arena *a, enum expr_op op, const struct expr *x, const struct expr *y);
const struct expr *expr_select(struct arena *a, const struct expr *cond, const struct expr *x, const struct expr *y);
/* "exp", as in stepc_exp() and stepc_expf(). */
const char *expr_fn_name(enum expr_fn fn);
/* Its row's cost in eval/functions.def. */
int expr_fn_cost(enum expr_fn fn);
const struct expr *expr_math(struct arena *a, enum expr_fn fn, const struct expr *x);
const struct expr *expr_cast(struct arena *a, enum dtype to, const struct expr *x);
/* The bits of x as `to`; x and the result may be float16 or bool, as they lie in memory. */
const struct expr *expr_bits(struct arena *a, enum dtype to, const struct expr *x);
const struct expr *expr_random(struct arena *a, enum expr_op op, enum dtype dtype, uint32_t stream,
                               const struct expr_draw *draw, const struct expr *element);
bool expr_same_draw(const struct expr *a, const struct expr *b); /* both random: but for the element */

int expr_arg_count(const struct expr *e);
/* Rough cost for fusion: loads 1, arithmetic 1, divisions 4, elementary functions mostly 12, random 40. */
int expr_cost(const struct expr *e);
/* The same of what changes along loop `dim`: everything else is computed once before the loop. */
int expr_cost_along(const struct expr *e, int dim);
/* Calls f for every load below e, terms' indices included; shared nodes once. f may start walks of its own. */
void expr_each_load(const struct expr *e, void (*f)(const struct access *access, void *data), void *data);
/* Copy of e with loads, indices and results replaced: each callback returns the new expression, or NULL to keep the
 * (rebuilt) node. Shared nodes stay shared. */
struct expr_map {
    struct arena *arena;
    const struct expr *(*load)(const struct expr *load, void *data);
    const struct expr *(*index)(const struct expr *index, void *data);
    const struct expr *(*result)(const struct expr *result, void *data);
    void *data;
};
const struct expr *expr_substitute(const struct expr_map *m, const struct expr *e);
/* Same operation on the very same operands (compared by address, not looked into)? */
bool expr_same_node(const struct expr *a, const struct expr *b);
/* Does f hold for some node of e (shared nodes are asked once)? f starts no other walk. */
bool expr_any(const struct expr *e, bool (*f)(const struct expr *e, void *data), void *data);
/* Does e contain the number of a loop (EXPR_INDEX)? Is it one? */
bool expr_uses_index(const struct expr *e);
bool expr_is_index(const struct expr *e, void *unused);
/* The same element of the same buffer at each point of the loops, terms compared by address? */
bool access_same(const struct access *a, const struct access *b);

#endif
