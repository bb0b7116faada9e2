#include "seeds.h"

#include "base/file.h"
#include "base/str.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS_PER_MODEL = 120 };

typedef enum outcome (*seed_test)(const struct seeds *s, uint64_t seed);

static pid_t start(const struct seeds *s, seed_test test, long long seed)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child != 0)
        return child;
    alarm(SECONDS_PER_MODEL);
    const enum outcome found = test(s, (uint64_t)seed);
    fflush(stdout);
    _exit((int)found);
}

static enum outcome finish(pid_t child, long long seed)
{
    int status = FAILED;
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) < OUTCOMES &&
        WEXITSTATUS(status) != FAILED)
        return (enum outcome)WEXITSTATUS(status);
    if (WIFSIGNALED(status))
        printf("  %s\n", WTERMSIG(status) == SIGALRM ? "took too long" : strsignal(WTERMSIG(status)));
    printf("FAILED seed %lld\n", seed);
    return FAILED;
}

static bool read_settings(struct seeds *s, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2) {
        const char *name = argv[i], *value = i + 1 < argc ? argv[i + 1] : "";
        long long *number = str_equal(name, "--first")   ? &s->first
                            : str_equal(name, "--count") ? &s->count
                            : str_equal(name, "-j")      ? &s->jobs
                                                         : NULL;
        if (str_equal(name, "--cc"))
            s->cc = value;
        else if (str_equal(name, "--check"))
            s->check = value;
        else if (str_equal(name, "--keep"))
            s->keep = value;
        else if (!number || !str_to_int64(value, number) || *number < 0)
            return false;
    }
    return s->jobs > 0;
}

bool is_long_test(void)
{
    const char *const is_long = getenv("STEPC_TEST_LONG");
    return !is_long || !str_equal(is_long, "no");
}

int test_seeds(struct seeds *s, int argc, char **argv, seed_test test)
{
    s->first = s->first > 0 ? s->first : 1;
    s->keep = s->keep ? s->keep : ".";
    s->jobs = sysconf(_SC_NPROCESSORS_ONLN);
    if (!read_settings(s, argc, argv)) {
        fprintf(stderr, "usage: %s [--cc \"cc -O1\"] [--check \"cc ...\"] [--first SEED] [--count N] [-j N] "
                        "[--keep FOLDER]\n", argv[0]);
        return 2;
    }
    if (mkdir(s->keep, 0777) != 0 && !file_is_directory(s->keep)) {
        fprintf(stderr, "--keep %s: %s\n", s->keep, strerror(errno));
        return 2;
    }
    pid_t *const children = calloc((size_t)s->count + 1, sizeof *children);
    long long found[OUTCOMES] = {0}, started = 0;
    for (long long i = 0; i < s->count; i++) {
        for (; started < s->count && started < i + s->jobs; started++)
            children[started] = start(s, test, s->first + started);
        found[finish(children[i], s->first + i)]++;
    }
    free(children);
    printf("seeds %lld to %lld: %lld models", s->first, s->first + s->count - 1, s->count);
    if (found[REFUSED] + found[NO_MODEL] > 0)
        printf(", %lld refused, %lld without a program", found[REFUSED], found[NO_MODEL]);
    printf(", %lld failed\n", found[FAILED]);
    return found[FAILED] > 0;
}
