/* Kernel templates at run time: the table that the build makes from templates/ (tools/gen_templates.c) and its
 * instantiation, which is nothing but concatenation. templates/template.h explains the language. */
#ifndef STEPC_LOWER_TEMPLATE_H
#define STEPC_LOWER_TEMPLATE_H

#include "base/str.h"
#include "base/vec.h"
#include <stdint.h>

/* ---- the table: generated data, read-only ------------------------------------------------------------------------ */

enum template_segment_kind {
    TEMPLATE_TEXT,           /* text as it stands */
    TEMPLATE_INT,            /* integer hole, or several as an expression in postfix: "N N 16 % -" */
    TEMPLATE_TYPE,           /* type hole `text` */
    TEMPLATE_LITERAL,        /* constant of the type hole `text`: parts[0] is the number */
    TEMPLATE_PARAM,          /* parameter `text` of the kernel */
    TEMPLATE_ITEM,           /* name of the item `text` of the same file */
    TEMPLATE_HELPER,         /* name of the function `text` of a runtime header */
    TEMPLATE_SECTION,        /* `text`, something that section `from` declares */
    TEMPLATE_EXPR,           /* expression hole `text`, parts are the arguments */
    TEMPLATE_STMT,           /* statement hole `text`, parts are the arguments; covers whole lines */
    TEMPLATE_IF,             /* `text` is the condition in postfix: parts[0] or parts[1] */
    /* loop `from`, of `text` iterations in postfix: parts[0] if it is one, else parts[1], parts[2] */
    TEMPLATE_LOOP,
    TEMPLATE_INDEX,          /* variable `text` of loop `from`; 0 where the loop is left out */
    TEMPLATE_CAPTURE_PARAMS, /* end of the parameter list of item `text`, in which holes are called */
    TEMPLATE_CAPTURE_ARGS    /* end of the arguments of a call of such an item */
};

struct template_text {
    const struct template_segment *segments;
    size_t count;
};

struct template_segment {
    enum template_segment_kind kind;
    const char *text, *from;
    int indent;  /* STMT: columns before the call */
    bool
        bare; /* INT, PARAM, EXPR: delimiters on both sides, no parentheses needed; SECTION: takes the type as suffix */
    bool alone;  /* STMT: sole body of a loop or branch, needs braces if it becomes several lines or none;
                  * SECTION: a macro on a line of its own, a hint */
    const struct template_text *parts;
    size_t part_count;
};

enum template_suffix {
    TEMPLATE_SHARED,  /* depends on no hole */
    TEMPLATE_BY_TYPE, /* depends on type holes only */
    TEMPLATE_OWN      /* belongs to the instance */
};

/* A function, typedef or const table of a template file that kernels use. */
struct template_item {
    const char *name;
    enum template_suffix suffix;
    const char *const *types; /* BY_TYPE: the type holes, NULL-terminated */
    const char *comment;      /* as written, or NULL */
    struct template_text text;
};

struct template_param {
    const char *name;
    struct template_text declaration; /* "const T *restrict a" */
};

struct template_kernel {
    const char *name, *form;        /* "product_vector", "vector" (NULL: none of vector, lanes, scalar) */
    const char *file;               /* "product.c" */
    const char *comment;            /* as written, or NULL */
    const char *const *names; /* what the kernel and the file's items declare, NULL-terminated: captures must differ */
    const struct template_param *params;
    size_t param_count;
    struct template_text body;      /* without the outer braces, not indented */
    const struct template_item *items; /* of the file, in its order */
    size_t item_count;
};

/* One function (or constant) of runtime/stepc_math.h and the like, to be copied with all it needs. */
struct template_helper {
    const char *name, *file;
    const char *comment; /* or NULL */
    const char *text;
    const uint16_t *needs; /* indices of helpers, all above this one */
    size_t need_count;
};

/* A header that is embedded whole, without include guard, #include lines and what stands above the guard. One that says
 * `float` is written for float and can be had for other types, its names with the type as suffix (tile_double). */
struct template_section {
    const char *name;          /* "registers" */
    struct template_text text; /* TYPE: the type; SECTION: what it or another such section declares */
    bool by_type;
    const uint16_t *needs;     /* indices of sections, all above this one */
    size_t need_count;
    const uint16_t *helpers;   /* indices of helpers that it calls */
    size_t helper_count;
};

struct template_table {
    const struct template_kernel *kernels;
    size_t kernel_count;
    const struct template_helper *helpers; /* in file order */
    size_t helper_count;
    const struct template_section *sections;
    size_t section_count;
};

extern const struct template_table template_table; /* of templates/ and runtime/ */

/* Each NULL where there is none of the name. */
const struct template_kernel *template_find(const struct template_table *t, const char *name);
const struct template_helper *template_find_helper(const struct template_table *t, const char *name);
const struct template_section *template_find_section(const struct template_table *t, const char *name);

/* Has the kernel, or the file's items that it uses, the integer hole `name`? */
bool template_has_int(const struct template_kernel *k, const char *name);

/* Marks helper `name` and what it needs in used[helper_count]; emit the marked ones in order. */
void template_use_helper(const struct template_table *t, const char *name, bool *used);

/* ---- instantiation ----------------------------------------------------------------------------------------------- */

struct template_int {
    const char *name;
    int64_t value;
};

struct template_name {
    const char *name, *text;
};

/* Something that a hole's text names besides its arguments. Items in which the hole is called get it as a parameter, so
 * that the name means the same everywhere; it must not be one of the kernel's `names`. To capture what a parameter of
 * the kernel points to, rename that parameter. Several captures of one name are one parameter. */
struct template_capture {
    const char *hole;
    const char *declaration; /* "const float *restrict bias" */
    const char *name;        /* "bias" */
};

/* What goes into the holes. A hole of live text without a binding is an internal error; parameters may stay, and an
 * integer hole WITH_... that is not listed is 0. In texts for expression and statement holes, $1 .. $9 are the
 * arguments of the call, put in parentheses where needed. */
struct template_binding {
    const char *name; /* of the instance: prefix of its own items */
    const struct template_int *ints;
    size_t int_count;
    const struct template_name *types, *exprs, *stmts, *params;
    size_t type_count, expr_count, stmt_count, param_count;
    /* Asked for expression and statement holes that are not listed; sees the arguments as they will read. The text is
     * taken as it is: an expression in parentheses if it is to bind tightly, unless `bare`. Multiple lines relative to
     * column 0. */
    const char *(*fill)(void *user, const char *hole, const char *const *args, size_t count, bool bare);
    /* Is the hint, a macro on a line of its own, emitted? NULL: all are. */
    bool (*keeps)(void *user, const char *hint);
    void *user;
    const struct template_capture *captures;
    size_t capture_count;
};

struct template_use {
    const char *name, *type; /* of a section; the first bound type */
};

struct template_piece {
    const char *name; /* pieces of equal name have equal text: emit one */
    const char *text; /* with its comment */
};

struct template_instance {
    const char *body;                      /* statements, not indented, each line ended */
    const bool *params_used;               /* [param_count]: named by the body */
    VEC(struct template_piece) pieces;     /* must stand above the kernel, in this order */
    VEC(const char *) helpers;             /* runtime functions called by body and pieces, each once */
    VEC(struct template_use) sections;     /* sections used, each once */
};

void template_instantiate(struct arena *a, const struct template_kernel *k, const struct template_binding *b,
                          struct template_instance *out);

/* "const float *restrict a" for parameter i, with type holes and names bound. */
const char *template_param_text(struct arena *a, const struct template_kernel *k, size_t i,
                                const struct template_binding *b);

/* The whole function: `head` ("static void"), the instance's name, `params` (NULL: the template's own) and the body. */
const char *template_function(struct arena *a, const struct template_kernel *k, const struct template_binding *b,
                              const struct template_instance *made, const char *head, const char *params);

/* Appends the used sections and what they need, in the table's order, an empty line between two; marks the helpers that
 * they call in helpers_used[helper_count] (may be NULL). */
void template_add_sections(struct arena *a, const struct template_table *t, const struct template_use *uses,
                           size_t count, struct strbuf *out, bool *helpers_used);

/* The text of a function, "static ...", which mentions those of its parameters that it would not. */
const char *template_mention_unused(struct arena *a, const char *function);

/* Joins what brackets hold together over several lines and breaks lines longer than `width` anew. Comments and
 * directives stay. Bodies and pieces have been through it. */
const char *template_wrap(struct arena *a, const char *text, size_t width);
#define TEMPLATE_WIDTH 118 /* of pieces; bodies leave room for one indentation */

/* Puts `text` in parentheses unless it is an identifier, a number, or such with subscripts, calls and members behind
 * it. */
const char *template_parenthesise(struct arena *a, const char *text);

#endif
