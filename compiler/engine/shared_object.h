/* Emitted C, compiled with a C compiler and loaded into this process. */
#ifndef STEPC_ENGINE_SHARED_OBJECT_H
#define STEPC_ENGINE_SHARED_OBJECT_H

#include "base/diag.h"
#include "emit/emit.h"

struct shared_object {
    void *handle;
    const void *model; /* const stepc_model * */
};

/* Of the emitted files: no header of a system or of the runtime is called so, whatever the model is. */
#define SHARED_OBJECT_STEM "model"

/* `text` was emitted with the file_stem SHARED_OBJECT_STEM and the name `name`. cc: program and flags separated by
 * blanks ("gcc -O3 -march=native"), NULL: $CC or "cc", with -O2, and `native` with -march=native. A failure of the
 * compiler is reported with its first lines. */
bool shared_object_build(struct diag *d, struct arena *a, const char *name, const struct emitted *text, const char *cc,
                         bool reproducible, bool native, struct shared_object *out) MUST_USE;
void shared_object_close(struct shared_object *so);

#endif
