/* What an entry does, step by step, before it is one function or several: section_entries.c makes the statements,
 * entry.c puts them into blocks and declares pointers, entry_parts.c cuts long entries. */
#ifndef STEPC_EMIT_ENTRY_H
#define STEPC_EMIT_ENTRY_H

#include "emit/names.h"
#include "emit/writer.h"
#include "tree/tree.h"

enum { GUARD_MOST = 3 };

/* Outputs of which one must be wanted, ascending; none: in any case. */
struct guard {
    int count, output[GUARD_MOST];
};

/* Statements that stay together. A local pointer (a POINTER with a value) that they name is declared before the first
 * step that does, in the innermost block that all do. Its value may choose an output that is written instead where it
 * is wanted. */
struct entry_step {
    struct guard guard;
    stmt_list body;
    const char *kernel; /* the function of the kernel or check that is called, or NULL */
    const char *made;   /* what it makes, or NULL */
    bool may_fail;      /* something in it returns a status */
    /* by entry_add_step(): */
    int block;          /* number of the block of equal guards in which it stands */
    tree_vars pointers; /* that it names */
};

struct entry_steps {
    struct arena *arena;
    const struct tree_var *const *outputs; /* by number: out->loss */
    VEC(struct entry_step) steps;
};

void entry_add_step(struct entry_steps *l, struct entry_step s);
/* Is one of these wanted? NULL: it does not matter. */
const struct expr *entry_guard(const struct entry_steps *l, struct guard guard);
/* Steps first .. end - 1. */
void entry_put_steps(const struct entry_steps *l, size_t first, size_t end, struct tree_builder *b);
/* if (call != STEPC_OK) return status; */
void entry_put_check(struct tree_builder *b, const struct expr *call, const struct expr *status);

typedef VEC(struct tree_function *) tree_functions;
struct expr_scope;

/* What the steps are of: digits_step(). */
struct entry_function {
    const char *model, *entry;
    const tree_vars *params; /* that it may have */
    struct name_scope *file;
    struct expr_scope *scope; /* in which lines are counted */
};
/* All steps. Where they are more than a person reads at once they become functions, and what is put here calls these
 * (entry_parts.c). */
void entry_put_parts(const struct entry_steps *l, const struct entry_function *f, tree_functions *functions,
                     struct tree_builder *b);
/* Is the parameter named by these statements, or a member of what it points to? */
bool entry_uses(const stmt_list *body, const struct tree_var *param);

#endif
