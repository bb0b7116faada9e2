/* What an entry is while it is built; section_entries.c makes its statements, entry_arguments.c what they name. */
#ifndef STEPC_EMIT_ENTRY_BUILD_H
#define STEPC_EMIT_ENTRY_BUILD_H

#include "emit/emit_internal.h"
#include "emit/entry.h"

struct want {
    struct guard outputs; /* that it feeds */
    bool always;          /* feeds the state, or more outputs than fit */
};

typedef VEC(const struct expr *) expr_list;

struct entry_build {
    struct emission *e;
    struct arena *a;
    const struct entry *entry;
    const struct plan *plan;
    struct want *wants;         /* by kernel */
    struct want *input_wants;   /* by input: of all kernels that read it */
    const struct buffer **also; /* by buffer id: output that a temporary is written to directly when wanted */
    struct entry_vars {
        struct tree_var *state, *arena, *seed, *in, *out; /* parameters */
        const struct tree_var **variables, *random_seed, **counters; /* of the program: members of the state */
        const struct tree_var **inputs, **outputs, *count, *weights;
        tree_vars params;       /* those that the function has */
    } v;
    struct tree_var **temporaries; /* by buffer id: pointers; their values are where they lie, once they are named */
    const char **told;          /* by buffer id: "[32,32], until update_fc1()", for the memory map in the header */
    struct map weights;         /* name -> struct tree_var *, a pointer into the weights file */
    struct name_scope names;
    struct entry_steps body;
    const char *made; /* by the kernel at hand */
    bool reads_weights;
};

/* The parameters and their members: first of all. */
void entry_make_variables(struct entry_build *t);
/* Pointers into the arena, when it is known which of them are outputs. */
void entry_make_temporaries(struct entry_build *t);
/* An empty scope but for what entries call things themselves. */
struct name_scope entry_scope(const struct emission *e);
/* The address of the variable's first element. */
const struct expr *entry_begin(struct entry_build *t, const struct tree_var *v);
const struct tree_var *entry_member(const struct entry_build *t, const struct variable *v); /* of the state */
/* A pointer to the buffer's elements; its only element; its memory, for memcpy(). */
const struct expr *entry_pointer(struct entry_build *t, const struct buffer *b);
const struct expr *entry_element(struct entry_build *t, const struct buffer *b);
const struct expr *entry_memory(struct entry_build *t, const struct buffer *b);
/* Where a tensor lies in the weights file, and in an array of the file. */
const struct expr *entry_weights(struct entry_build *t, const struct weights_place *place, enum dtype dtype);
const struct expr *entry_constant(struct entry_build *t, const struct tensor *constant, const char *wish);
/* Element i. */
const struct expr *entry_number(struct arena *a, const struct tensor *t, int64_t i);
/* Seed and counters of a kernel that draws. */
void entry_add_random(struct entry_build *t, const struct kernel_call *call, expr_list *list);

#endif
