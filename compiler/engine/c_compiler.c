#include "engine/c_compiler.h"

#include "base/file.h"
#include "base/interrupt.h"
#include "base/map.h"
#include "base/str.h"
#include "emit/runtime_text.h"
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool write_text(struct diag *d, struct arena *a, const char *dir, const char *name, const char *text)
{
    return file_write_scratch(d, path_join(a, dir, name), put_text, text);
}

static const char *whole_text(struct arena *a, const struct runtime_file *f)
{
    struct strbuf text = {.arena = a};
    for (const struct runtime_piece *p = f->pieces;; p++) {
        strbuf_add(&text, p->text);
        if (!p->include)
            return strbuf_text(&text);
        strbuf_addf(&text, "#include \"%s\"\n", p->include);
    }
}

/* The file with what it includes, unless it is there. */
static bool write_included(struct diag *d, struct arena *a, const char *dir, const char *name, struct map *written)
{
    const struct runtime_file *const f = runtime_file_find(name);
    if (!f || map_has(written, f->name))
        return true;
    map_set(written, f->name, NULL);
    if (!write_text(d, a, dir, f->name, whole_text(a, f)))
        return false;
    for (const struct runtime_piece *p = f->pieces; p->include; p++)
        if (!write_included(d, a, dir, p->include, written))
            return false;
    return true;
}

/* What the text includes of the runtime. */
static bool write_runtime(struct diag *d, struct arena *a, const char *dir, const char *text)
{
    static const char include[] = "#include \"";
    struct map written = {.arena = a};
    bool ok = write_text(d, a, dir, "stepc.h", runtime_stepc_h) &&
              write_text(d, a, dir, "stepc_blas.h", runtime_stepc_blas_h) &&
              directory_make(d, path_join(a, dir, "kernels"));
    for (const char *p = text; ok && (p = strstr(p, include)) != NULL;) {
        p += strlen(include);
        ok = write_included(d, a, dir, arena_strndup(a, p, strcspn(p, "\"\n")), &written);
    }
    return ok;
}

static bool write_files(struct diag *d, struct arena *a, const char *dir, const struct c_job *job)
{
    const struct weights_image *const weights = job->text->weights;
    return write_text(d, a, dir, arena_printf(a, "%s.c", job->stem), job->text->source) &&
           write_text(d, a, dir, arena_printf(a, "%s.h", job->stem), job->text->header) &&
           write_runtime(d, a, dir, job->text->source) &&
           (!weights || file_write_scratch(d, path_join(a, dir, "weights"), weights_image_put, weights));
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef VEC(char *) word_list;

static void add_words(struct arena *a, word_list *words, const char *text)
{
    for (const char *p = text + strspn(text, " \t"); *p; p += strspn(p, " \t")) {
        const size_t n = strcspn(p, " \t");
        vec_push(a, words, arena_strndup(a, p, n));
        p += n;
    }
}

static void add_word(struct arena *a, word_list *words, const char *word)
{
    vec_push(a, words, arena_strdup(a, word));
}

/* For an assembler's string inside one of C. */
static const char *escaped_path(struct arena *a, const char *path)
{
    struct strbuf text = {.arena = a};
    for (const char *p = path; *p; p++) {
        const unsigned char c = (unsigned char)*p;
        if (c <= ' ' || c >= 127 || strchr("\"\\?", c))
            strbuf_addf(&text, "\\\\%03o", c);
        else
            strbuf_add_n(&text, p, 1);
    }
    return strbuf_text(&text);
}

/* The compiler's own temporary files are to lie in the folder, too; its messages are read, so they are not translated.
 * Returns the exit status, -1 if the program could not be started, -1 - N if the signal N ended it. */
static int run(char **argv, const char *dir, const char *messages)
{
    struct interrupt_child child;
    if (interrupt_fork(&child) < 0)
        return -1;
    if (child.pid == 0) {
        const int in = open("/dev/null", O_RDONLY), out = open(messages, O_WRONLY | O_CREAT, 0600);
        if (in >= 0 && out >= 0) {
            dup2(in, 0);
            dup2(out, 1);
            dup2(out, 2);
        }
        if (strchr(dir, '%') == NULL)
            setenv("TMPDIR", dir, 1);
        else
            unsetenv("TMPDIR"); /* Clang would replace each % by a letter */
        setenv("LC_ALL", "C", 1);
        execvp(argv[0], argv);
        _exit(127);
    }
    const int status = interrupt_wait(&child);
    if (WIFSIGNALED(status))
        return -1 - WTERMSIG(status);
    return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

/* Compilers know it for some processors, or never. */
static bool knows_march_native(struct arena *a, const char *program, const char *dir)
{
    char *argv[] = {arena_strdup(a, program),        arena_strdup(a, "-march=native"), arena_strdup(a, "-E"),
                    arena_strdup(a, "-x"),           arena_strdup(a, "c"),             arena_strdup(a, "/dev/null"),
                    NULL};
    return run(argv, dir, path_join(a, dir, "answer")) == 0;
}

static bool find_words(struct diag *d, struct arena *a, const char *dir, const struct c_job *job, const char *out,
                       word_list *words)
{
    const char *const from_environment = getenv("CC"), *const macro = job->text->weights_path_macro;
    add_words(a, words, job->cc ? job->cc : from_environment && *from_environment ? from_environment : "cc");
    if (words->count == 0)
        return diag_error(d, NULL, "the C compiler's name is empty");
    const bool has_flags = words->count > 1;
    if (!has_flags)
        add_word(a, words, "-O2");
    if (!has_flags && !job->cc && job->for_this_machine && knows_march_native(a, words->data[0], dir))
        add_word(a, words, "-march=native");
    for (const char *const *flag = job->flags; *flag; flag++)
        add_word(a, words, *flag);
    if (macro)
        add_word(a, words, arena_printf(a, "-D%s=\"%s/weights\"", macro, escaped_path(a, dir)));
    add_word(a, words, "-I");
    add_word(a, words, dir);
    add_word(a, words, "-o");
    add_word(a, words, out);
    add_word(a, words, path_join(a, dir, arena_printf(a, "%s.c", job->stem)));
    vec_push(a, words, NULL);
    return true;
}

/* Room for messages, taken before the compiler fills the disk, or else it could not even say that it has. They end at
 * the first zero. */
static bool put_room(const void *unused, byte_sink sink, void *to)
{
    static const char zeros[1 << 16];
    (void)unused;
    return sink(to, zeros, sizeof zeros);
}

/* The first line that GCC or Clang call an error; else the first where the word stands, as with others; else the first.
 * Empty: there is none. */
static const char *first_error(struct arena *a, const char *messages)
{
    enum { MOST_BYTES = 16 << 20 };
    char *const text = arena_array(a, char, MOST_BYTES + 1);
    size_t size = 0;
    if (!file_begin(messages, (unsigned char *)text, MOST_BYTES, &size))
        return "";
    text[size] = '\0';
    const char *const called = strstr(text, "error:"), *const word = called ? called : strstr(text, "error");
    const char *first = word ? word : text;
    while (word && first > text && first[-1] != '\n')
        first--;
    first += strspn(first, " \t\r\n");
    return arena_strndup(a, first, strcspn(first, "\r\n"));
}

bool c_compile(struct diag *d, struct arena *a, const char *dir, const struct c_job *job, const char *out)
{
    word_list words = {0};
    const char *const messages = path_join(a, dir, "messages");
    if (!find_words(d, a, dir, job, out, &words) || !write_files(d, a, dir, job) ||
        !file_write_scratch(d, messages, put_room, NULL))
        return false;
    if (interrupted())
        return diag_error(d, NULL, "interrupted");
    const int status = run(words.data, dir, messages);
    if (status == 0)
        return true;
    if (status < -1)
        return diag_error(d, NULL, "the C compiler '%s' was ended by signal %d", words.data[0], -1 - status);
    if (status < 0)
        return diag_error(d, NULL, "the C compiler '%s' cannot be run; name one with --cc or the variable CC",
                          words.data[0]);
    const char *const said = first_error(a, messages);
    return diag_error(d, NULL, "the C compiler '%s' rejects %s: %s", words.data[0], job->what,
                      *said ? said : arena_printf(a, "it says nothing, and ends with status %d", status));
}
