/* What is known of the machine that runs the emitted code (stepc compile --machine). */
#ifndef STEPC_LOWER_TARGETS_H
#define STEPC_LOWER_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of targets.def, which explains the members. */
struct target {
    const char *name;
    int vector_bytes;
    int int_bits;
    int cache_kib[2];
    int thread;
    bool small;
    const char *description;
};

extern const struct target targets[];
extern const size_t target_count;

/* By name; NULL if there is none. */
const struct target *target_find(const char *name);

/* The row for what has none of its own, by the name of a processor or a chip, in capitals or not; NULL: unknown.
 * `generic` is that of known ones that compute like no other row. */
const struct target *target_like(const char *name);

/* ---- what the cost models ask; t may be NULL: any machine -------------------------------------------------------- */

/* Bytes; 0: there is none. */
int64_t target_first_cache(const struct target *t);
int64_t target_second_cache(const struct target *t);
/* What stays in the first cache; INT64_MAX without one: all memory is near. */
int64_t target_near(const struct target *t);
/* From so many bytes on, what was stored or read has more probably left the second cache than not when it is wanted
 * next, if other kernels ran in between: a quarter of it. INT64_MAX without one. */
int64_t target_far(const struct target *t);
/* Operations that a kernel must have to be worth a thread's start. */
int64_t target_thread(const struct target *t);

/* Is it one machine, and not any? NULL is any. */
bool target_is_named(const struct target *t);
/* What C counts up to `most` with there: int, which has 16 bits where nothing else is known, int32_t or int64_t. */
const char *target_index_type(const struct target *t, int64_t most);
/* Have int, addresses and sizes 16 bits there? Then double has 32. */
bool target_is_narrow(const struct target *t);

#endif
