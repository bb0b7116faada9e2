/* What a kernel consists of, item after item: the one walk of those who read, write, compare, measure or print kernels.
 * Each asks for the kind of an item in a switch without default: a kind that one of them does not know is an error of
 * the C compiler. */
#ifndef STEPC_LOWER_ITEMS_H
#define STEPC_LOWER_ITEMS_H

#include "lower/kernel.h"

/* In the order in which they come. */
enum item_kind {
    ITEM_LOOP,    /* around a template's body, or around stages */
    ITEM_INT,     /* an integer of its template */
    ITEM_SCRATCH, /* if it has memory */
    ITEM_CHECK,
    ITEM_OPERAND, /* of its template */
    ITEM_PART,
    ITEM_STAGE,   /* a kernel: whoever wants its items walks it */
    ITEM_OWN,
    ITEM_REGION   /* its ports, and its body: kernels that lie in other memory */
};

struct item_loop {
    int64_t extent;
    const struct late_size *late;
};

struct kernel_item {
    enum item_kind kind;
    size_t at; /* which of its kind */
    union {
        struct item_loop loop;
        const struct kernel_int *integer;
        const struct kernel_scratch *scratch;
        const struct check *check;
        const struct operand *operand;
        const struct part *part;
        const struct kernel *stage;
        const struct own *own;
        const struct kernel_region *region;
    };
    size_t next; /* of this kind: kernel_next() */
};

/* From {0} on: the next item; false: that was the last. */
bool kernel_next(const struct kernel *k, struct kernel_item *it);
#define kernel_each_item(it, k) for (struct kernel_item it = {0}; kernel_next(k, &it);)

/* Is there an expression for which f holds, in parts, computed operands or stages? Checks, functions of their own, are
 * left out. */
bool kernel_any(const struct kernel *k, bool (*f)(const struct expr *e, void *data), void *data);

#endif
