/* Emitted C, compiled with a C compiler and loaded into this process. */
#ifndef STEPC_ENGINE_SHARED_OBJECT_H
#define STEPC_ENGINE_SHARED_OBJECT_H

#include "base/diag.h"
#include "emit/emit.h"

struct shared_object {
    void *handle;
    const void *model; /* const stepc_model * */
};

/* cc: program and flags separated by blanks ("gcc -O3 -march=native"), NULL: $CC or "cc", with -O2. A failure of the
 * compiler is reported with its first lines. */
bool shared_object_build(struct diag *d, struct arena *a, const char *name, const struct emitted *text, const char *cc,
                         bool reproducible, struct shared_object *out) MUST_USE;
void shared_object_close(struct shared_object *so);

#endif
