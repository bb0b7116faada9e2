/* What is known of the machine that runs the emitted code (stepc compile --machine). */
#ifndef STEPC_LOWER_TARGETS_H
#define STEPC_LOWER_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

/* A row of targets.def, which explains the members. */
struct target {
    const char *name;
    int vector_bytes, vector_registers;
    bool fused;
    int int_bits;
    int cache_kib[2];
    bool small;
    const char *has, *may; /* macros, with blanks between them */
    const char *description;
};

extern const struct target targets[];
extern const size_t target_count;

/* By name; NULL if there is none. */
const struct target *target_find(const char *name);
/* Is it one machine, and not any? NULL is any. */
bool target_is_named(const struct target *t);
/* May the compiler of this machine define the macro, one of target_macros? That of any machine may. */
bool target_may_define(const struct target *t, const char *macro);
/* Does it in any case? */
bool target_defines(const struct target *t, const char *macro);

/* The macros for instruction sets in templates/ and runtime/. */
extern const char *const target_macros[];
extern const size_t target_macro_count;

#endif
