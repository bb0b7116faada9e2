#include "engine/shared_object.h"

#include "base/file.h"
#include "engine/c_compiler.h"
#include "engine/runtime_files.h"
#include <dlfcn.h>
#include <string.h>

static bool write_sources(struct diag *d, struct arena *a, const char *dir, const char *name,
                          const struct emitted *text)
{
    return file_write(d, path_join(a, dir, arena_printf(a, "%s.c", name)), text->source, strlen(text->source)) &&
           file_write(d, path_join(a, dir, arena_printf(a, "%s.h", name)), text->header, strlen(text->header)) &&
           runtime_files_write(d, a, dir);
}

static bool compile(struct diag *d, struct arena *a, const char *dir, const char *name, const char *cc,
                    bool reproducible, const char *library)
{
    static const char *const always[] = {"-std=c99", "-fPIC", "-shared", "-w"};
    c_arguments words;
    if (!c_compiler_words(d, a, cc, &words))
        return false;
    if (words.count == 1)
        vec_push(a, &words, "-O2");
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        vec_push(a, &words, always[i]);
    if (reproducible)
        vec_push(a, &words, "-ffp-contract=off");
    vec_push(a, &words, "-I");
    vec_push(a, &words, dir);
    vec_push(a, &words, "-o");
    vec_push(a, &words, library);
    vec_push(a, &words, path_join(a, dir, arena_printf(a, "%s.c", name)));
    return c_compiler_run(d, a, &words, dir, "the generated code");
}

bool shared_object_build(struct diag *d, struct arena *a, const char *name, const struct emitted *text, const char *cc,
                         bool reproducible, struct shared_object *out)
{
    *out = (struct shared_object){0};
    const char *dir;
    if (!temp_directory(d, a, &dir))
        return false;
    out->directory = dir;
    const char *library = path_join(a, dir, "model.so");
    bool ok = write_sources(d, a, dir, name, text) && compile(d, a, dir, name, cc, reproducible, library);
    if (ok) {
        out->handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
        out->model = out->handle ? dlsym(out->handle, arena_printf(a, "%s_model", name)) : NULL;
        if (!out->model) {
            const char *reason = dlerror();
            ok =
                diag_error(d, NULL, "the compiled model cannot be loaded: %s", reason ? reason : "no descriptor in it");
        }
    }
    if (!ok)
        shared_object_close(out);
    return ok;
}

void shared_object_close(struct shared_object *so)
{
    if (so->handle)
        dlclose(so->handle);
    if (so->directory)
        temp_directory_remove(so->directory);
    *so = (struct shared_object){0};
}
