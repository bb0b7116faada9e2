/* What the machine of opcodes (pickle.c) and the globals (pickle_globals.c) share. */
#ifndef STEPC_FOREIGN_PICKLE_INTERNAL_H
#define STEPC_FOREIGN_PICKLE_INTERNAL_H

#include "foreign/pickle.h"

struct pickler {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    const char *name;
    const unsigned char *bytes;
    size_t size, at; /* of what comes next */
    VEC(struct pickle_value *) stack;
    VEC(size_t) marks; /* heights of the stack */
    VEC(struct pickle_value *) memo;
    pickle_tensors *tensors;
};

/* An error with the place: false, as compilers see. */
void pickle_report(struct pickler *p, const char *fmt, ...) PRINTF_LIKE(2, 3);
#define pickle_fault(p, ...) (pickle_report((p), __VA_ARGS__), false)
struct pickle_value *pickle_new(struct pickler *p, enum pickle_kind kind);
struct pickle_value *pickle_new_items(struct pickler *p, enum pickle_kind kind);

/* The row of "module name"; an error for one that is not in the table. */
bool pickle_find_global(struct pickler *p, const char *module, const char *name, size_t *out) MUST_USE;
/* What calling it with these arguments (a tuple) gives. */
bool pickle_call(struct pickler *p, const struct pickle_value *callee, const struct pickle_value *arguments,
                 struct pickle_value **out) MUST_USE;
/* A storage, by what the pickle says in the place of it: ('storage', type, key, device, count). */
bool pickle_load_storage(struct pickler *p, const struct pickle_value *id, struct pickle_value **out) MUST_USE;
const char *pickle_global_name(struct arena *a, size_t global);

#endif
