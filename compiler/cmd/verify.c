/* stepc verify: do recorded tests hold? Folders with a model.onnx and test_data_set_N, the layout of
 * ONNX's backend tests.
 *
 * Every test runs in a process of its own, so that whatever a model does to us counts against that test alone. A signal
 * that ends us ends these processes, and their compilers, first. */
#include "base/clean.h"
#include "base/file.h"
#include "base/interrupt.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "expand/expand.h"
#include "graph/op_def.h"
#include "model/model.h"
#include "train/combine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct option_spec specs[] = {
    {"engine", 0, OPTION_TEXT, "interpreted|generated|both|expanded",
     "who computes (default: both); expanded: the interpreter, what 'stepc expand' makes of the model"},
    {"opset", 0, OPTION_TEXT, "N", "with --engine expanded: as 'stepc expand' has it (default: 18)"},
    {"rtol", 0, OPTION_TEXT, "R", "relative tolerance (default 1e-3)"},
    {"atol", 0, OPTION_TEXT, "A", "absolute tolerance (default 1e-7)"},
    {"jobs", 'j', OPTION_TEXT, "N", "tests at a time (default: the processors)"},
    {"list", 0, OPTION_TEXT, "FILE", "only the tests named in FILE, one a line"},
    {"cc", 0, OPTION_TEXT, "\"CC FLAGS\"", "C compiler of the generated engine"},
    {"timeout", 0, OPTION_TEXT, "SECONDS", "a test that takes longer fails (default 120)"},
    {0}};
static const struct option_spec *const tables[] = {specs, NULL};

struct suite {
    struct session *s;
    const char *root;
    str_list tests; /* paths below root */
    struct map wanted; /* by --list; those that were found hold their name */
    bool use_list, interpreted, generated, expanded;
    int opset; /* of what is expanded */
    double rtol, atol;
    const char *cc;
    unsigned timeout;
};

/* ---- finding tests ----------------------------------------------------------------------------------------------- */

static void find_tests(struct suite *t, const char *below, int depth)
{
    struct arena *a = &t->s->arena;
    const char *dir = *below ? path_join(a, t->root, below) : t->root;
    if (file_exists(path_join(a, dir, "model.onnx")) && file_is_directory(path_join(a, dir, "test_data_set_0"))) {
        const bool listed = t->use_list && map_has(&t->wanted, below);
        if (listed)
            map_set(&t->wanted, below, (void *)(uintptr_t)below);
        if (!t->use_list || listed)
            vec_push(a, &t->tests, *below ? below : ".");
        return;
    }
    DIR *d = depth < 8 ? opendir(dir) : NULL;
    if (!d)
        return;
    str_list names = {0};
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.' && file_is_directory(path_join(a, dir, e->d_name)))
            vec_push(a, &names, arena_strdup(a, e->d_name));
    closedir(d);
    str_sort(names.data, names.count);
    vec_each(const char *, name, &names)
        find_tests(t, *below ? arena_printf(a, "%s/%s", below, name) : name, depth + 1);
}

static bool read_list(struct suite *t, const char *path)
{
    unsigned char *text;
    size_t size;
    t->wanted.arena = &t->s->arena;
    if (!path)
        return true;
    t->use_list = true;
    if (!file_read(&t->s->diag, &t->s->arena, path, 64 << 20, &text, &size))
        return false;
    for (char *line = (char *)text; *line;) {
        const size_t n = strcspn(line, "\r\n");
        if (n > 0)
            map_set(&t->wanted, arena_strndup(&t->s->arena, line, n), NULL);
        line += n + strspn(line + n, "\r\n");
    }
    return true;
}

static bool check_list(const struct suite *t, const char *path, const char *folders)
{
    bool ok = true;
    for (size_t i = 0; i < t->wanted.count; i++)
        if (!t->wanted.entries[i].value)
            ok = diag_error(&t->s->diag, &LOC_FILE(path), "there is no test '%s' below %s", t->wanted.entries[i].key,
                            folders);
    return ok;
}

/* ---- one test (in the child) ------------------------------------------------------------------------------------- */

enum test_verdict { PASS, FAIL, UNSUPPORTED };

struct test {
    struct suite *suite;
    struct session *s;
    struct model *m;
    const char *dir;
    double rtol, atol;
    char reason[400];
};

static enum test_verdict conclude(struct test *t, enum test_verdict v, const char *reason)
{
    snprintf(t->reason, sizeof t->reason, "%s", reason);
    for (char *p = t->reason; *p; p++)
        if (*p == '\n')
            *p = ' ';
    return v;
}

/* What was reported first: something that stepc does not support, or a failure. */
static enum test_verdict conclude_from_messages(struct test *t)
{
    vec_each_ptr(const struct diag_message, m, &t->s->diag.messages)
        if (m->severity == DIAG_ERROR)
            return conclude(t, m->unsupported ? UNSUPPORTED : FAIL, m->text);
    return conclude(t, FAIL, "no reason given");
}

static void read_tolerance(struct test *t)
{
    const char *path = path_join(&t->s->arena, t->dir, "tolerance.json");
    json_t *root = file_exists(path) ? json_load_file(path, 0, NULL) : NULL;
    const json_t *r = json_object_get(root, "rtol"), *a = json_object_get(root, "atol");
    t->rtol = json_is_number(r) ? json_number_value(r) : t->rtol;
    t->atol = json_is_number(a) ? json_number_value(a) : t->atol;
    json_decref(root);
}

static const char *input_file(struct test *t, const char *set, size_t i)
{
    return path_join(&t->s->arena, set, arena_printf(&t->s->arena, "input_%zu.pb", i));
}

/* The files belong to the inputs in order: to all of them, or, where there are fewer files, to those without an
 * initializer (IR 3 models list their weights among the inputs). */
static bool read_inputs(struct test *t, const char *set, struct map *fed)
{
    struct arena *a = &t->s->arena;
    const struct model_graph *g = t->m->graph;
    const bool all = g->inputs.count > 0 && file_exists(input_file(t, set, g->inputs.count - 1));
    for (size_t i = 0, file = 0; i < g->inputs.count; i++) {
        const char *const name = g->inputs.data[i]->name, *path, *inner;
        struct tensor *x;
        if (!all && model_find_initializer(g, name))
            continue;
        path = input_file(t, set, file++);
        if (!file_exists(path))
            break;
        if (!tensor_file_read(&t->s->diag, a, path, &x, &inner))
            return false;
        map_set(fed, name, x);
    }
    return true;
}

static bool close_enough(const struct test *t, const struct tensor *got, const struct tensor *want, int64_t i)
{
    if (!dtype_is_float(want->dtype))
        return tensor_get_int(got, i) == tensor_get_int(want, i);
    const double x = tensor_get_double(got, i), y = tensor_get_double(want, i);
    if (isnan(x) || isnan(y))
        return isnan(x) && isnan(y);
    return x == y || fabs(x - y) <= t->atol + t->rtol * fabs(y);
}

static enum test_verdict compare_output(struct test *t, const char *engine, const char *name, const struct tensor *got,
                                        const struct tensor *want, bool random)
{
    struct arena *a = &t->s->arena;
    if (got->dtype != want->dtype || !shape_equal(&got->shape, &want->shape))
        return conclude(t, FAIL,
                        arena_printf(a, "%s: output '%s' is %s %s, expected %s %s", engine, name,
                                     dtype_name(got->dtype), shape_text(a, &got->shape), dtype_name(want->dtype),
                                     shape_text(a, &want->shape)));
    for (int64_t i = 0; i < want->count && !random; i++)
        if (!close_enough(t, got, want, i))
            return conclude(t, FAIL,
                            arena_printf(a, "%s: output '%s' element %lld is %.9g, expected %.9g", engine, name,
                                         (long long)i, tensor_get_double(got, i), tensor_get_double(want, i)));
    return PASS;
}

/* Do random numbers reach an output? Their values cannot be compared with those of another generator. */
static bool draws_random(const struct entry *e)
{
    graph_each_node(e->graph, n)
        if (n->def->is_random)
            return true;
    return false;
}

/* The model as `stepc expand` writes it. What it has beside the model's inputs is the state of random numbers: 0. */
static bool expand_model(struct test *t, struct map *fed, struct model **out, bool *draws)
{
    struct arena *const a = &t->s->arena;
    struct diag *const d = &t->s->diag;
    struct expand_choice choice = {.opset = t->suite->opset};
    const struct pipeline_options pipeline = {.entries = "infer", .name = "test", .import = {.fed = fed},
                                              .passes = {.stays = expand_stays, .stays_to = &choice}};
    const struct expand_options o = {.opset = t->suite->opset, .entry = "infer"};
    struct program *p;
    expanded_list list;
    if (!pipeline_canonical(d, a, t->m, &pipeline, &p))
        return false;
    *draws = draws_random(program_entry(p, "infer"));
    if (!expand_program(a, p, &o, &list) ||
        !model_read_written(d, a, t->m->file, list.data[0].model, out))
        return false;
    vec_each(const struct model_value_info *, v, &(*out)->graph->inputs)
        if (str_starts_with(v->name, "random_") && !map_has(fed, v->name))
            map_set(fed, v->name, tensor_scalar_int(a, 0));
    return true;
}

static enum test_verdict run_data_set(struct test *t, const char *set, enum engine_kind kind)
{
    struct arena *a = &t->s->arena;
    struct map *fed = arena_new(a, struct map);
    struct model *m = t->m;
    bool draws = false;
    fed->arena = a;
    if (!read_inputs(t, set, fed) || (t->suite->expanded && !expand_model(t, fed, &m, &draws)))
        return conclude_from_messages(t);
    /* What is expanded is rounded as it says: a Cast to integers of a double that is no float is another number. */
    const enum arithmetic arithmetic = t->suite->expanded ? ARITHMETIC_SAME : ARITHMETIC_DOUBLE;
    struct engine_options o = {.kind = kind, .arithmetic = arithmetic, .cc = t->suite->cc,
                               .pipeline = {.entries = "infer", .name = "test", .import = {.fed = fed}}};
    struct engine *e;
    if (!engine_open(&t->s->diag, a, m, &o, &e))
        return conclude_from_messages(t);
    const struct entry *entry = program_entry(engine_program(e), "infer");
    const struct graph *g = entry->graph;
    const struct tensor **inputs = arena_array(a, const struct tensor *, g->inputs.count + 1);
    struct tensor **outputs = arena_array(a, struct tensor *, g->outputs.count + 1);
    for (size_t i = 0; i < g->inputs.count; i++)
        inputs[i] = map_get(fed, g->inputs.data[i]->name);
    enum test_verdict v =
        engine_init(e, 0) && engine_run(e, entry, inputs, outputs, a) ? PASS : conclude_from_messages(t);
    const bool random = draws || draws_random(entry);
    const char *const name_of_interpreted = t->suite->expanded ? "expanded" : "interpreted";
    for (size_t i = 0; i < g->outputs.count && v == PASS; i++) {
        struct tensor *want;
        const char *inner;
        if (!tensor_file_read(&t->s->diag, a, path_join(a, set, arena_printf(a, "output_%zu.pb", i)), &want, &inner))
            v = conclude_from_messages(t);
        else
            v = compare_output(t, kind == ENGINE_GENERATED ? "generated" : name_of_interpreted, g->outputs.data[i].name,
                               outputs[i], want, random);
    }
    engine_close(e);
    return v;
}

static enum test_verdict run_test(struct test *t)
{
    struct arena *a = &t->s->arena;
    read_tolerance(t);
    if (!model_read(&t->s->diag, a, path_join(a, t->dir, "model.onnx"), &t->m))
        return conclude_from_messages(t);
    const model_values *const lists[] = {&t->m->graph->inputs, &t->m->graph->outputs};
    for (int i = 0; i < 2; i++)
        vec_each(const struct model_value_info *, vi, lists[i])
            if (vi->type.kind != TYPE_TENSOR)
                return conclude(t, UNSUPPORTED, arena_printf(a, "'%s' is not a tensor", vi->name));
    enum test_verdict v = PASS;
    for (int k = 0; v == PASS; k++) {
        const char *set = path_join(a, t->dir, arena_printf(a, "test_data_set_%d", k));
        if (!file_is_directory(set))
            break;
        if (t->suite->interpreted)
            v = run_data_set(t, set, ENGINE_INTERPRETED);
        if (v == PASS && t->suite->generated)
            v = run_data_set(t, set, ENGINE_GENERATED);
    }
    return v;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

struct verify_job {
    struct interrupt_child process;
    int pipe;
};

static const char *const verdict_names[] = {"PASS", "FAIL", "UNSUPPORTED"};

static void child(struct suite *suite, const char *name, int to)
{
    struct session s;
    session_begin(&s, &command_verify);
    struct test t = {.suite = suite, .s = &s, .rtol = suite->rtol, .atol = suite->atol};
    t.dir = !suite->root ? name : str_equal(name, ".") ? suite->root : path_join(&s.arena, suite->root, name);
    alarm(suite->timeout);
    const enum test_verdict v = run_test(&t);
    dprintf(to, "%s %s%s%s\n", verdict_names[v], name, t.reason[0] ? "  " : "", t.reason);
    arena_free(&s.arena);
}

/* Those from `others` to j run already. False, with errno: there is no process or no pipe to be had now. */
static bool start(struct suite *suite, const char *name, const struct verify_job *others, struct verify_job *j)
{
    int ends[2];
    print_flush();
    if (pipe(ends) != 0)
        return false;
    for (int i = 0; i < 2; i++)
        fcntl(ends[i], F_SETFD, FD_CLOEXEC); /* a compiler that goes on is not waited for */
    if (interrupt_fork(&j->process) == 0) {
        for (; others < j; others++)
            close(others->pipe);
        close(ends[0]);
        child(suite, name, ends[1]);
        _exit(0);
    }
    const int error = errno;
    close(ends[1]);
    j->pipe = ends[0];
    if (j->process.pid < 0)
        close(ends[0]);
    errno = error;
    return j->process.pid > 0;
}

/* Waits for the test. Where a signal came it was ended, and there is no verdict. */
static enum test_verdict finish(const char *name, struct verify_job *j)
{
    char line[2048];
    size_t n = 0;
    for (ssize_t got; n + 1 < sizeof line && (got = read(j->pipe, line + n, sizeof line - 1 - n)) > 0;)
        n += (size_t)got;
    line[n] = '\0';
    close(j->pipe);
    const int status = interrupt_wait(&j->process);
    if (interrupted())
        return FAIL;
    if (n == 0) {
        print_text("FAIL %s  %s\n", name,
                   WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "took too long" : "crashed");
        return FAIL;
    }
    line[n - (line[n - 1] == '\n')] = '\0';
    print_text("%s\n", line);
    return line[0] == 'P' ? PASS : line[0] == 'F' ? FAIL : UNSUPPORTED;
}

static bool run_all(struct suite *t, size_t jobs)
{
    size_t counts[3] = {0};
    struct verify_job *running = arena_array(&t->s->arena, struct verify_job, t->tests.count + 1);
    size_t started = 0;
    bool ok = true;
    interrupt_hold();
    for (size_t i = 0; i < started || (ok && i < t->tests.count && !interrupted()); i++) {
        while (started < t->tests.count && started < i + jobs && !interrupted() &&
               start(t, t->tests.data[started], &running[i], &running[started]))
            started++;
        if (i < started)
            counts[finish(t->tests.data[i], &running[i])]++;
        else if (!interrupted())
            ok = diag_error(&t->s->diag, NULL, "no process can be started for a test: %s", strerror(errno));
    }
    interrupt_release();
    if (!ok)
        return false;
    print_text("%zu passed, %zu failed, %zu unsupported\n", counts[PASS], counts[FAIL], counts[UNSUPPORTED]);
    return counts[PASS] > 0 && counts[FAIL] == 0 && counts[UNSUPPORTED] == 0;
}

static bool read_number(struct session *s, const struct options *o, const char *name, double fallback, double *out)
{
    const char *text = option_text(o, name);
    *out = fallback;
    return !text || (str_to_double(text, out) && *out >= 0) ||
           diag_usage(&s->diag, "--%s %s: expected a number", name, text);
}

static bool verify(struct session *s, const struct options *o, long long jobs, long long timeout)
{
    struct suite t = {.s = s, .cc = option_text(o, "cc"), .timeout = (unsigned)timeout};
    enum { BOTH, INTERPRETED, GENERATED, EXPANDED };
    static const char *const engines[] = {"both", "interpreted", "generated", "expanded", NULL};
    bool ok = true;
    const int engine = option_choice(&s->diag, o, "engine", engines, &ok);
    t.interpreted = engine != GENERATED;
    t.generated = engine != INTERPRETED && engine != EXPANDED;
    t.expanded = engine == EXPANDED;
    if (option_given(o, "opset") && !t.expanded)
        return diag_usage(&s->diag, "--opset goes with --engine expanded");
    if (!ok || !read_opset(&s->diag, o, &t.opset) || !read_number(s, o, "rtol", 1e-3, &t.rtol) ||
        !read_number(s, o, "atol", 1e-7, &t.atol) ||
        !read_list(&t, option_text(o, "list")))
        return false;
    for (size_t i = 0; i < o->arguments.count; i++) {
        t.root = o->arguments.data[i];
        if (!file_is_directory(t.root))
            return diag_error(&s->diag, &LOC_FILE(t.root), "not a folder");
        const size_t first = t.tests.count;
        find_tests(&t, "", 0);
        for (size_t j = first; o->arguments.count > 1 && j < t.tests.count; j++) /* several folders: paths as typed */
            t.tests.data[j] =
                str_equal(t.tests.data[j], ".") ? t.root : path_join(&s->arena, t.root, t.tests.data[j]);
    }
    const char *const folders = o->arguments.count > 1 ? "these folders" : t.root;
    if (t.tests.count == 0)
        return diag_error(&s->diag, NULL, "no %s below %s: a test is a folder with model.onnx and test_data_set_0",
                          t.use_list ? "test of the list" : "test", folders);
    if (!check_list(&t, option_text(o, "list"), folders))
        return false;
    if (o->arguments.count > 1)
        t.root = NULL;
    return run_all(&t, jobs ? (size_t)jobs : (size_t)sysconf(_SC_NPROCESSORS_ONLN));
}

static int run(struct session *s, const struct options *o)
{
    enum { MOST_SECONDS = 1 << 30 }; /* alarm() takes an unsigned number */
    long long jobs, timeout;
    if (!option_count(o, "jobs", 0, &jobs) || !option_count(o, "timeout", 120, &timeout))
        return EXIT_USAGE;
    if (timeout > MOST_SECONDS) {
        say_text("stepc: --timeout %lld: expected a number of seconds up to %d\n", timeout, MOST_SECONDS);
        return EXIT_USAGE;
    }
    if (o->arguments.count == 0) {
        say_text("stepc verify: name at least one folder\nTry 'stepc help verify'.\n");
        return EXIT_USAGE;
    }
    return exit_status(verify(s, o, jobs, timeout));
}

const struct command command_verify = {
    .name = "verify",
    .arguments = "DIR... [options]",
    .summary = "do recorded tests hold? folders with model.onnx and test_data_set_N",
    .example = "stepc verify --engine both conformance/node",
    .options = tables,
    .run = run,
};
