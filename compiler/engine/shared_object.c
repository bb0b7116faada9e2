#include "engine/shared_object.h"

#include "base/file.h"
#include "engine/c_compiler.h"
#include <dlfcn.h>

bool shared_object_build(struct diag *d, struct arena *a, const char *name, const struct emitted *text, const char *cc,
                         bool reproducible, bool native, struct shared_object *out)
{
    const char *const flags[] = {"-std=c99", "-fPIC", "-shared", "-w", reproducible ? "-ffp-contract=off" : NULL, NULL};
    const struct c_job job = {.text = text, .stem = SHARED_OBJECT_STEM, .cc = cc, .flags = flags,
                              .for_this_machine = native, .what = "the generated code"};
    const char *directory;
    *out = (struct shared_object){0};
    if (!temp_directory(d, a, &directory))
        return false;
    const char *const library = path_join(a, directory, "model.so");
    bool ok = c_compile(d, a, directory, &job, library);
    if (ok) {
        out->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        out->model = out->handle ? dlsym(out->handle, arena_printf(a, "%s_model", name)) : NULL;
        if (!out->model) {
            const char *reason = dlerror();
            ok =
                diag_error(d, NULL, "the compiled model cannot be loaded: %s", reason ? reason : "no descriptor in it");
        }
    }
    temp_directory_remove(directory); /* what is loaded does without: a crash or a signal leaves nothing */
    if (!ok)
        shared_object_close(out);
    return ok;
}

void shared_object_close(struct shared_object *so)
{
    if (so->handle)
        dlclose(so->handle);
    *so = (struct shared_object){0};
}
