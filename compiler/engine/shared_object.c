#include "engine/shared_object.h"

#include "base/file.h"
#include "base/str.h"
#include "engine/runtime_text.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef VEC(const char *) arguments;

static void split_words(struct arena *a, const char *text, arguments *out)
{
    for (const char *p = text + strspn(text, " \t"); *p; p += strspn(p, " \t")) {
        const size_t n = strcspn(p, " \t");
        vec_push(a, out, arena_strndup(a, p, n));
        p += n;
    }
}

/* Runs a program without a shell, its messages into a file. Returns the exit status, -1 if it could not be started. */
static int run(struct arena *a, const arguments *words, const char *messages)
{
    char **argv = arena_array(a, char *, words->count + 1);
    for (size_t i = 0; i < words->count; i++)
        argv[i] = arena_strdup(a, words->data[i]);
    const pid_t child = fork();
    if (child < 0)
        return -1;
    if (child == 0) {
        const int fd = open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd >= 0) {
            dup2(fd, 1);
            dup2(fd, 2);
        }
        execvp(argv[0], argv);
        _exit(127);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

static bool report_failure(struct diag *d, struct arena *a, const char *compiler, int status, const char *messages)
{
    if (status < 0)
        return diag_error(d, NULL, "the C compiler '%s' cannot be run; name one with --cc or the variable CC", compiler);
    unsigned char *text;
    size_t size;
    if (!file_read(d, a, messages, 1 << 20, &text, &size))
        return false;
    const char *first = strstr((char *)text, "error");
    while (first && first > (char *)text && first[-1] != '\n')
        first--;
    first = first ? first : (char *)text;
    return diag_error(d, NULL, "the C compiler '%s' rejects the generated code: %s", compiler,
                      arena_strndup(a, first, strcspn(first, "\n")));
}

static bool write_sources(struct diag *d, struct arena *a, const char *dir, const char *name, const struct emitted *text)
{
    return file_write(d, path_join(a, dir, arena_printf(a, "%s.c", name)), text->source, strlen(text->source)) &&
           file_write(d, path_join(a, dir, arena_printf(a, "%s.h", name)), text->header, strlen(text->header)) &&
           file_write(d, path_join(a, dir, "stepc.h"), runtime_stepc_h, strlen(runtime_stepc_h));
}

static bool compile(struct diag *d, struct arena *a, const char *dir, const char *name, const char *cc, bool reproducible,
                    const char *library)
{
    static const char *const always[] = {"-std=c99", "-fPIC", "-shared", "-w"};
    const char *messages = path_join(a, dir, "messages");
    const char *from_environment = getenv("CC");
    arguments words = {0};
    split_words(a, cc ? cc : from_environment && *from_environment ? from_environment : "cc", &words);
    if (words.count == 0)
        return diag_error(d, NULL, "the C compiler's name is empty");
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
    const int status = run(a, &words, messages);
    return status == 0 || report_failure(d, a, words.data[0], status, messages);
}

bool shared_object_build(struct diag *d, struct arena *a, const char *name, const struct emitted *text, const char *cc, bool reproducible,
                         struct shared_object *out)
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
            ok = diag_error(d, NULL, "the compiled model cannot be loaded: %s", reason ? reason : "no descriptor in it");
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
