#include "engine/c_compiler.h"

#include "base/file.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool c_compiler_words(struct diag *d, struct arena *a, const char *cc, c_arguments *out)
{
    const char *from_environment = getenv("CC");
    const char *text = cc ? cc : from_environment && *from_environment ? from_environment : "cc";
    *out = (c_arguments){0};
    for (const char *p = text + strspn(text, " \t"); *p; p += strspn(p, " \t")) {
        const size_t n = strcspn(p, " \t");
        vec_push(a, out, arena_strndup(a, p, n));
        p += n;
    }
    return out->count > 0 || diag_error(d, NULL, "the C compiler's name is empty");
}

/* Returns the exit status, -1 if the program could not be started. */
static int run(struct arena *a, const c_arguments *words, const char *messages)
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

bool c_compiler_run(struct diag *d, struct arena *a, const c_arguments *words, const char *dir, const char *what)
{
    const char *messages = path_join(a, dir, "messages");
    const int status = run(a, words, messages);
    if (status == 0)
        return true;
    if (status < 0)
        return diag_error(d, NULL, "the C compiler '%s' cannot be run; name one with --cc or the variable CC",
                          words->data[0]);
    unsigned char *text;
    size_t size;
    if (!file_read(d, a, messages, 1 << 20, &text, &size))
        return false;
    const char *first = strstr((char *)text, "error");
    while (first && first > (char *)text && first[-1] != '\n')
        first--;
    first = first ? first : (char *)text;
    return diag_error(d, NULL, "the C compiler '%s' rejects %s: %s", words->data[0], what,
                      arena_strndup(a, first, strcspn(first, "\n")));
}
