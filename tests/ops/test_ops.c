/* The samples of all operators: shapes, values of both engines, gradients, error texts.
 *   test_ops [--cc "cc -O0"] [--quick-cc CC] [--seed N] [-j N] [--optimize size] [PATTERN...]
 *   test_ops --check expanded [PATTERN...]: instead, that what `stepc expand` makes of them computes the same
 *   test_ops --write FOLDER [PATTERN...]: only writes their models, OPERATOR_N.onnxtxt, those with a gradient with it;
 *     with --check expanded what `stepc expand` makes of them, with numbers, OPERATOR_N/
 *
 * PATTERN: only operators whose name matches (shell-like), "*Grad". --optimize: as stepc has it.
 *
 * Other seeds than the default may draw inputs right beside a kink (two operands of Max within 1e-4): a gradient that
 * fails there need not be wrong.
 *
 * --quick-cc: compiles all samples but the first of each operator.
 *
 * Each sample runs in a process of its own: whatever it does counts against that sample alone. With -j 0 all run in
 * this one, for a debugger. */
#include "base/str.h"
#include "graph/op_def.h"
#include "sample.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIMEOUT_SECONDS 120

struct job {
    const struct op_def *def;
    const struct op_sample *sample;
    pid_t pid;
    int pipe;
};

struct suite {
    struct arena arena;
    VEC(struct job) jobs;
    const char *cc, *quick_cc; /* the second NULL: none */
    const char *folder;        /* of --write, or NULL */
    uint64_t seed;
    bool small;
    bool expanded; /* instead: what `stepc expand` makes of them */
    size_t errors, values, gradients, seconds, failed;
};

/* ---- in the child ------------------------------------------------------------------------------------------------ */

/* Answers one line: which checks were made as letters, then the reason of a failure. */
static void child(const struct suite *s, const struct job *j, int to)
{
    struct sample_test t = {.def = j->def, .sample = j->sample, .cc = s->cc, .seed = s->seed, .small = s->small};
    if (s->quick_cc && j->sample != j->def->samples)
        t.cc = s->quick_cc;
    t.diag.arena = &t.arena;
    const bool ok = s->expanded ? sample_check_expanded(&t) : sample_check(&t);
    dprintf(to, "%s%s%s%s%s%s%s\n", ok ? "+" : "-", t.checked_error ? "e" : "", t.checked_value ? "v" : "",
            t.checked_gradient ? "g" : "", t.checked_second ? "s" : "", ok ? "" : " ",
            ok         ? ""
            : t.reason ? t.reason
                       : "no reason given");
}

static void start(struct suite *s, struct job *j)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends) != 0)
        UNREACHABLE("no pipe");
    j->pid = fork();
    if (j->pid == 0) {
        close(ends[0]);
        dup2(ends[1], STDERR_FILENO); /* internal errors speak there before they abort */
        alarm(TIMEOUT_SECONDS);
        child(s, j, ends[1]);
        _exit(0);
    }
    close(ends[1]);
    j->pipe = ends[0];
}

/* ---- instead of a test ------------------------------------------------------------------------------------------- */

static bool write_sample(const struct suite *s, const struct job *j)
{
    struct sample_test t = {.def = j->def, .sample = j->sample};
    struct model *m;
    t.diag.arena = &t.arena;
    const char *const stem = arena_printf(&t.arena, "%s/%s_%td", s->folder, op_display_name(j->def),
                                          j->sample - j->def->samples);
    const char *const path = arena_printf(&t.arena, "%s.onnxtxt", stem);
    if (s->expanded) {
        const bool written = sample_write_expanded(&t, stem);
        if (!written)
            fprintf(stderr, "%s\n", t.reason);
        arena_free(&t.arena);
        return written;
    }
    bool ok = sample_read(&t, &m);
    if (ok && sample_is_differentiated(&t, m))
        sample_differentiate(&t.arena, m, &(struct derivative_options){.order = 1});
    ok = ok && model_write_text(&t.diag, m, path, false);
    diag_print(&t.diag, stderr);
    arena_free(&t.arena);
    return ok;
}

/* Models that must work only. */
static int write_samples(const struct suite *s)
{
    vec_each_ptr(const struct job, j, &s->jobs)
        if (!j->sample->error && !write_sample(s, j)) {
            fprintf(stderr, "test_ops: sample of %s cannot be written: %s\n", op_display_name(j->def), j->sample->text);
            return 1;
        }
    return 0;
}

/* ---- in the parent ----------------------------------------------------------------------------------------------- */

static void report_failure(struct suite *s, const struct job *j, const char *reason)
{
    s->failed++;
    printf("FAIL %s: %s\n     %s%s\n", op_display_name(j->def), reason, j->sample->text,
           j->sample->opset ? arena_printf(&s->arena, "  (opset %d)", j->sample->opset) : "");
}

static void finish(struct suite *s, const struct job *j)
{
    char line[4096];
    size_t n = 0;
    for (ssize_t got; n + 1 < sizeof line && (got = read(j->pipe, line + n, sizeof line - 1 - n)) > 0;)
        n += (size_t)got;
    line[n] = '\0';
    close(j->pipe);
    int status = 0;
    waitpid(j->pid, &status, 0);
    for (size_t i = n; i > 0 && line[i - 1] == '\n'; i--)
        line[i - 1] = '\0';
    if (WIFSIGNALED(status) || (line[0] != '+' && line[0] != '-')) {
        report_failure(s, j,
                       WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "took too long"
                       : n > 0 ? arena_printf(&s->arena, "crashed: %s", line)
                               : "crashed");
        return;
    }
    const size_t letters = strcspn(line, " ");
    s->errors += memchr(line, 'e', letters) != NULL;
    s->values += memchr(line, 'v', letters) != NULL;
    s->gradients += memchr(line, 'g', letters) != NULL;
    s->seconds += memchr(line, 's', letters) != NULL;
    if (line[0] == '-')
        report_failure(s, j, line + letters + (line[letters] != '\0'));
}

static bool is_wanted(const struct op_def *def, int count, char **patterns)
{
    for (int i = 0; i < count; i++)
        if (str_glob(patterns[i], op_display_name(def)))
            return true;
    return count == 0;
}

/* Does a sample of the operator that must work stand in opsets [from, to)? */
static bool has_sample(const struct op_def *def, int from, int to)
{
    for (const struct op_sample *x = def->samples; x && x->text; x++)
        if (!x->error && (x->opset ? x->opset : INT_MAX - 1) >= from && (x->opset ? x->opset : INT_MAX - 1) < to)
            return true;
    return false;
}

/* What nobody tests: an operator without a sample, an upgrade that no sample takes. */
static void check_coverage(struct suite *s, const struct op_def *def)
{
    if (def->is_structural) /* Gradient: the gradient checks are its samples */
        return;
    if (!has_sample(def, 0, INT_MAX)) {
        printf("FAIL %s: has no sample that works\n", op_display_name(def));
        s->failed++;
    }
    for (const struct op_version *v = def->versions; v->since; v++)
        if (v->upgrade && !has_sample(def, v->since, v[1].since ? v[1].since : INT_MAX)) {
            printf("FAIL %s: no sample takes the upgrade from version %d\n", op_display_name(def), v->since);
            s->failed++;
        }
}

static void collect(struct suite *s, int count, char **patterns)
{
    for (const struct op_def *const *file = op_table; *file; file++)
        for (const struct op_def *def = *file; def->name; def++) {
            if (!is_wanted(def, count, patterns))
                continue;
            check_coverage(s, def);
            for (const struct op_sample *x = def->samples; x && x->text; x++) {
                const struct job j = {.def = def, .sample = x};
                vec_push(&s->arena, &s->jobs, j);
            }
        }
}

static bool parse_options(struct suite *s, long long *jobs, int *argc, char ***argv)
{
    long long seed = 1;
    *jobs = sysconf(_SC_NPROCESSORS_ONLN);
    for (; *argc > 1 && (*argv)[0][0] == '-'; *argc -= 2, *argv += 2) {
        const char *name = (*argv)[0], *value = (*argv)[1];
        if (str_equal(name, "--cc"))
            s->cc = value;
        else if (str_equal(name, "--quick-cc"))
            s->quick_cc = value;
        else if (str_equal(name, "--write"))
            s->folder = value;
        else if (str_equal(name, "--check") && str_equal(value, "expanded"))
            s->expanded = true;
        else if (str_equal(name, "--optimize") && str_equal(value, "size"))
            s->small = true;
        else if (!(str_equal(name, "--seed") && str_to_int64(value, &seed)) &&
                 !(str_equal(name, "-j") && str_to_int64(value, jobs)))
            return false;
    }
    s->seed = (uint64_t)seed;
    return *jobs >= 0 && (*argc == 0 || (*argv)[0][0] != '-');
}

int main(int argc, char **argv)
{
    struct suite s = {.cc = "cc -O0"};
    long long jobs;
    argc--;
    argv++;
    if (!parse_options(&s, &jobs, &argc, &argv)) {
        fprintf(stderr, "usage: test_ops [--cc \"cc -O0\"] [--quick-cc CC] [--seed N] [-j N] [--optimize size] "
                        "[--check expanded] [--write FOLDER] [PATTERN...]\n");
        return 2;
    }
    collect(&s, argc, argv);
    if (s.jobs.count == 0) {
        fprintf(stderr, "test_ops: no operator has such a name\n");
        return 1;
    }
    if (s.folder)
        return write_samples(&s);
    for (size_t i = 0; jobs == 0 && i < s.jobs.count; i++) {
        printf("%s: %s\n", op_display_name(s.jobs.data[i].def), s.jobs.data[i].sample->text);
        fflush(stdout);
        child(&s, &s.jobs.data[i], STDOUT_FILENO);
    }
    if (jobs == 0)
        return 0;
    size_t started = 0;
    for (size_t i = 0; i < s.jobs.count; i++) {
        for (; started < s.jobs.count && started < i + (size_t)jobs; started++)
            start(&s, &s.jobs.data[started]);
        finish(&s, &s.jobs.data[i]);
    }
    printf("%zu samples: %zu values, %zu gradients, %zu second gradients, %zu errors; %zu failed\n", s.jobs.count,
           s.values, s.gradients, s.seconds, s.errors, s.failed);
    arena_free(&s.arena);
    return s.failed > 0;
}
