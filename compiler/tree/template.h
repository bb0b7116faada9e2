/* Kernel templates as trees: the table that the build makes from templates/ (tools/gen_templates.c), and what becomes
 * of one for a kernel. templates/template.h explains the language. */
#ifndef STEPC_TREE_TEMPLATE_H
#define STEPC_TREE_TEMPLATE_H

#include "base/str.h"
#include "tree/tree.h"

/* ---- the table: generated data, read-only ------------------------------------------------------------------------ */

struct template_kernel {
    const char *name, *file;              /* "product", "product.c" */
    const struct tree_function *function; /* with those that it calls */
    const char *const *functions;         /* the names of all in the file, NULL-terminated */
};

/* A function of runtime/stepc_math.h and the like. */
struct template_helper {
    const char *name, *file;
    bool has_double; /* it computes with double, or something that it calls does */
};

struct template_trees {
    const struct template_kernel *kernels;
    size_t count;
    const struct template_helper *helpers;
    size_t helper_count;
};

extern const struct template_trees template_trees; /* of templates/ and runtime/ */

/* NULL where there is none of the name. */
const struct template_kernel *template_kernel_find(const struct template_trees *t, const char *name);
const struct template_helper *template_helper_find(const struct template_trees *t, const char *name);

/* ---- instantiation ----------------------------------------------------------------------------------------------- */

struct template_int {
    const char *name;
    int64_t value;
    const struct expr *late; /* what it is when the kernel runs; NULL: value */
};

struct template_type {
    const char *hole, *type; /* "LABELS", "int32_t" */
    enum dtype dtype;        /* of T */
};

struct template_operand {
    const char *param;
    const struct expr *place; /* EXPR_ADDRESS: where it begins */
};

/* What goes into the holes. A hole of live code without a binding is an internal error; an integer hole WITH_... that
 * is not listed is 0. */
struct template_binding {
    const struct template_int *ints;
    size_t int_count;
    const struct template_type *types;
    size_t type_count;
    const struct template_operand *operands; /* for parameters of the kernel; all that live code names */
    size_t operand_count;
    const tree_vars *outer; /* what holes may name besides their arguments, in the order of parameters */
    /* What a call of a hole does, at the builder's place; what it gives. */
    void (*run)(void *user, struct tree_builder *b, const char *hole, const struct expr *const *args, size_t count);
    const struct expr *(*value)(void *user, const char *hole, const struct expr *const *args, size_t count);
    void *user;
};

struct template_instance {
    VEC(struct tree_function *) functions; /* of this kernel or shared, those that are called first */
};

/* Builds the body of the kernel at the builder's place. Functions of its own have no captures yet: tree_settle(). */
void template_build(struct tree_builder *b, const struct template_kernel *k, const struct template_binding *binding,
                    struct template_instance *out);

/* Makes functions whole that were built together, of which the last is the kernel: what nobody reads goes, from
 * statements and from parameters; what a function reads of `outer` becomes a parameter and an argument of its calls.
 * NULL, or what is wrong: a variable that is none of these. */
const char *tree_settle(struct arena *a, struct tree_function *const *functions, size_t count, const tree_vars *outer);

/* Names the variables of functions that were built together, of which the last is the kernel. No name is reserved. */
void tree_name(struct arena *a, struct tree_function *const *functions, size_t count,
               bool (*is_reserved)(const char *name));

#endif
