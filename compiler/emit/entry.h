/* What an entry does, step by step, before it is text: section_entries.c decides, print_entry_steps() lays out. */
#ifndef STEPC_EMIT_ENTRY_H
#define STEPC_EMIT_ENTRY_H

#include "base/vec.h"
#include "emit/names.h"
#include "emit/writer.h"
#include <stdint.h>


enum entry_step_kind {
    STEP_RUN,   /* a kernel is called */
    STEP_CHECK, /* a function that returns a status is called; unless that is STEPC_OK the entry returns `status` */
    STEP_CALL,  /* something else is called: memcpy() */
    STEP_SET,   /* target = value */
    STEP_FILL   /* target[i] = value for i < count */
};

/* Parameters of an entry. */
enum { USES_STATE = 1, USES_ARENA = 2, USES_SEED = 4, USES_IN = 8, USES_OUT = 16 };

enum { GUARD_MOST = 3 };

/* Outputs of which one must be wanted, ascending; none: in any case. */
struct guard {
    int count, output[GUARD_MOST];
};

/* A local pointer. It is declared before the first step that names it, in the innermost block that all do. */
struct entry_pointer {
    const char *type, *name;
    const char *place;   /* where it points to; NULL: the name says it, and nothing is declared */
    const char *wanted;  /* an output that is written instead if it is wanted: "out->loss"; or NULL */
    int wanted_output;   /* its number */
    const char *about;   /* a comment */
    /* while steps are printed: those of them that name it, and the next one that is declared at the same place */
    bool is_named;
    size_t first, last;
    const struct entry_pointer *next;
};
typedef VEC(struct entry_pointer *) entry_pointers;

struct entry_step {
    enum entry_step_kind kind;
    struct guard guard;
    int kernel;                  /* RUN, CHECK: its number, which traces tell */
    const char *name;            /* RUN, CHECK, CALL: the function */
    const char *made;            /* RUN: what it makes, or NULL */
    text_list arguments;         /* RUN, CHECK, CALL */
    const char *status;          /* CHECK */
    const char *target, *value;  /* SET, FILL */
    int64_t count;               /* FILL */
    /* by entry_add_step(): */
    int block;               /* number of the block of equal guards in which it stands */
    unsigned uses;           /* USES_.., with pointers */
    entry_pointers pointers; /* that it names */
};

struct entry_steps {
    struct arena *arena;
    const char *const *outputs; /* by number: "out->loss != NULL" */
    bool traces;                /* STEPC_TRACE() stands in front of each kernel */
    VEC(struct entry_step) steps;
    /* of the step that is added next */
    unsigned uses;
    entry_pointers pointers;
};

void entry_add_step(struct entry_steps *l, struct entry_step s);
/* The step that is added next names the pointer, which is new or the entry's. */
void entry_use_pointer(struct entry_steps *l, struct entry_pointer *p);
/* The conditions of a guard, which are alternatives. */
text_list entry_guard(const struct entry_steps *l, struct guard guard);
/* Steps first .. end - 1. */
void print_entry_steps(struct entry_steps *l, size_t first, size_t end, struct writer *w);

/* What the steps are of: digits_step(). */
struct entry_function {
    const char *model, *entry;
    bool mutates; /* it may change the state */
    struct name_scope *file;
};
/* All steps, into `body`. Where they are more than a person reads at once they become functions, in `functions`, and
 * `body` calls these (entry_parts.c). */
void print_entry_parts(struct entry_steps *l, const struct entry_function *f, struct writer *functions,
                       struct writer *body);
/* "if (name(arguments) != STEPC_OK) return status;" */
void print_entry_check(struct writer *w, const struct entry_step *s);

#endif
