/* usage: malformed STEPC [--count N] [--seed S] [--keep FOLDER] [-j N]
 *
 * Damages valid models and lets `stepc check` and `stepc compile` read them, under limits of time and memory. Each
 * must end with status 0, or with 1, an error message and no output file: no crash, no wrong usage. What is
 * accepted must be C. */
#include "base/file.h"
#include "base/str.h"
#include "model/model.h"
#include "mutate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* MEMORY: without sanitizers, which map all of the address space */
enum { CPU_SECONDS = SANITIZED ? 6 : 1, WALL_SECONDS = 60, MEMORY = 200 << 20, MOST_JOBS = 64 };

static const char *const models[] = {"adam", "labels", "shapes"};
enum { MODELS = sizeof models / sizeof *models };

struct settings {
    const char *stepc, *keep;
    long long count, seed, jobs;
};

struct tally {
    long long accepted, refused, failed;
};

/* ---- running ----------------------------------------------------------------------------------------------------- */

static void limit(int what, rlim_t most)
{
    const struct rlimit l = {most, most};
    setrlimit(what, &l);
}

static void redirect(int fd, const char *path)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, fd) < 0)
        _exit(126);
}

/* The wait status of argv, with its stderr in the file `errors`. */
static int run(const char *const *argv, const char *errors, bool limited)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        redirect(STDOUT_FILENO, "/dev/null");
        redirect(STDERR_FILENO, errors);
        if (limited) {
            limit(RLIMIT_CPU, CPU_SECONDS);
            limit(RLIMIT_CORE, 0);
            if (!SANITIZED)
                limit(RLIMIT_AS, MEMORY);
            alarm(WALL_SECONDS);
        }
        execvp(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

static const char *read_whole(struct arena *a, const char *path)
{
    struct diag d = {.arena = a};
    unsigned char *bytes;
    size_t size;
    if (!file_read(&d, a, path, 1 << 24, &bytes, &size))
        return "";
    return arena_strndup(a, (const char *)bytes, size);
}

/* ---- one damaged file -------------------------------------------------------------------------------------------- */

static bool exists(const char *path)
{
    struct stat s;
    return stat(path, &s) == 0;
}

struct trial {
    struct arena *arena;
    const struct settings *settings;
    const char *model, *source, *header, *errors;
};

static bool complain(const struct trial *t, const char *command, const char *what)
{
    printf("FAILED %s %s: %s\n", command, t->model, what);
    printf("%.2000s\n", read_whole(t->arena, t->errors));
    return false;
}

/* Did the command end as it may? */
static bool judge(const struct trial *t, const char *command, int status)
{
    if (WIFSIGNALED(status))
        return complain(t, command, strsignal(WTERMSIG(status)));
    const int code = WEXITSTATUS(status);
    if (code != 0 && code != 1)
        return complain(t, command, arena_printf(t->arena, "status %d", code));
    const char *text = read_whole(t->arena, t->errors);
    if (strstr(text, "Sanitizer") || strstr(text, "runtime error:"))
        return complain(t, command, "a sanitizer speaks");
    if (code == 1 && !strstr(text, "error: "))
        return complain(t, command, "status 1 without a message");
    if (code == 0 && strstr(text, " error: "))
        return complain(t, command, "an error message, but status 0");
    return true;
}

static bool try_check(const struct trial *t)
{
    const char *const argv[] = {t->settings->stepc, "check", t->model, NULL};
    return judge(t, "check", run(argv, t->errors, true));
}

static bool try_compile(const struct trial *t, bool *accepted)
{
    const char *const argv[] = {t->settings->stepc, "compile", t->model, "-o", t->source, NULL};
    const char *const cc[] = {"cc", "-std=c99", "-w", "-fsyntax-only", "-I", RUNTIME_FOLDER, t->source, NULL};
    const int status = run(argv, t->errors, true);
    *accepted = status == 0;
    bool ok = judge(t, "compile", status);
    if (ok && (exists(t->source) != *accepted || exists(t->header) != *accepted))
        ok = complain(t, "compile", *accepted ? "no output file" : "an output file in spite of the error");
    if (ok && *accepted && run(cc, t->errors, false) != 0)
        ok = complain(t, "compile", "what it wrote is no C");
    unlink(t->source);
    unlink(t->header);
    return ok;
}

/* 'a' accepted, 'r' refused, 'f' failed. */
static char try_one(const struct settings *s, const struct bytes *valid, long long index)
{
    struct arena a = {0};
    struct diag d = {.arena = &a};
    const char *what, *stem = arena_printf(&a, "%s/malformed_%lld_%lld", s->keep, s->seed, index);
    const struct trial t = {&a, s, arena_printf(&a, "%s.onnx", stem), arena_printf(&a, "%s.c", stem),
                            arena_printf(&a, "%s.h", stem), arena_printf(&a, "%s.txt", stem)};
    const struct bytes b = mutate(&a, valid[index % MODELS], (uint64_t)s->seed * 1000003u + (uint64_t)index, &what);
    bool accepted = false;
    bool ok = file_write(&d, t.model, b.data, b.size);
    ok = ok && try_check(&t) && try_compile(&t, &accepted);
    if (ok)
        unlink(t.model);
    else
        printf("%s: %s (%s)\n", t.model, models[index % MODELS], what);
    unlink(t.errors);
    arena_free(&a);
    return ok ? accepted ? 'a' : 'r' : 'f';
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static bool read_valid(struct arena *a, struct bytes *valid)
{
    struct diag d = {.arena = a};
    for (int i = 0; i < MODELS; i++) {
        struct model *m;
        if (!model_read(&d, a, arena_printf(a, "%s/%s.onnxtxt", MODELS_FOLDER, models[i]), &m) ||
            !model_encode_onnx(&d, a, m, &valid[i].data, &valid[i].size)) {
            diag_print(&d, stderr);
            return false;
        }
    }
    return true;
}

/* Every jobs-th file, in a process of its own; what became of each goes to the pipe, a letter each. */
static int start_worker(const struct settings *s, const struct bytes *valid, long long first)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0)
        return -1;
    if (fork() == 0) {
        for (long long i = first; i < s->count; i += s->jobs) {
            const char result = try_one(s, valid, i);
            fflush(stdout);
            if (write(ends[1], &result, 1) != 1)
                break;
        }
        _exit(0);
    }
    close(ends[1]);
    return ends[0];
}

static void add_results(int from, struct tally *t)
{
    char result;
    while (from >= 0 && read(from, &result, 1) == 1) {
        t->accepted += result == 'a';
        t->refused += result == 'r';
        t->failed += result == 'f';
    }
    close(from);
    wait(NULL);
}

static bool read_settings(struct settings *s, int argc, char **argv)
{
    for (int i = 2; i + 1 < argc; i += 2) {
        long long *number = str_equal(argv[i], "--count") ? &s->count : str_equal(argv[i], "--seed") ? &s->seed
                            : str_equal(argv[i], "-j") ? &s->jobs : NULL;
        if (str_equal(argv[i], "--keep"))
            s->keep = argv[i + 1];
        else if (!number || !str_to_int64(argv[i + 1], number))
            return false;
    }
    return argc >= 2 && argc % 2 == 0 && s->count > 0 && s->jobs > 0 && s->jobs <= MOST_JOBS;
}

int main(int argc, char **argv)
{
    struct settings s = {.stepc = argc > 1 ? argv[1] : "", .keep = ".", .count = 500, .seed = 1,
                         .jobs = sysconf(_SC_NPROCESSORS_ONLN)};
    s.jobs = s.jobs < MOST_JOBS ? s.jobs : MOST_JOBS;
    struct arena a = {0};
    struct bytes valid[MODELS];
    struct tally t = {0};
    int workers[MOST_JOBS];
    if (!read_settings(&s, argc, argv)) {
        fprintf(stderr, "usage: malformed STEPC [--count N] [--seed S] [--keep FOLDER] [-j N]\n");
        return 2;
    }
    if (mkdir(s.keep, 0777) != 0 && !file_is_directory(s.keep)) {
        fprintf(stderr, "--keep %s: %s\n", s.keep, strerror(errno));
        return 2;
    }
    if (!read_valid(&a, valid))
        return 1;
    for (long long i = 0; i < s.jobs; i++)
        workers[i] = start_worker(&s, valid, i);
    for (long long i = 0; i < s.jobs; i++)
        add_results(workers[i], &t);
    printf("seed %lld: %lld files, %lld accepted, %lld refused, %lld failed\n", s.seed, s.count, t.accepted, t.refused,
           s.count - t.accepted - t.refused);
    arena_free(&a);
    return t.accepted + t.refused != s.count || t.refused == 0;
}
