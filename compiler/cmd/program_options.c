#include "cmd/program_options.h"

#include "base/str.h"
#include <string.h>

const struct option_spec program_options[] = {
    OPTION_HEADING("the program"),
    {"entries", 0, OPTION_TEXT, "LIST", "comma-separated entries to emit (default: all)"},
    {"reproducible", 0, OPTION_FLAG, NULL,
     "the same bits on every machine and compiler; init() alone checks that the C compiler rounds so"},
    {"check-finite", 0, OPTION_FLAG, NULL,
     "a step that would store an infinity or NaN stores nothing and says so (STEPC_E_NOT_FINITE); it computes "
     "all new values first"},
    {"standalone", 0, OPTION_FLAG, NULL, "the files bring the runtime along: nothing else to compile or to install"},
    {"trace", 0, OPTION_FLAG, NULL, "STEPC_TRACE(number, name) in front of each kernel, for a profiler or a watchdog"},
    {"weights", 0, OPTION_TEXT, "auto|embed|file|incbin",
     "large tensors: in the text; in OUT.weights for the program to read, or for the assembler; auto (default): text "
     "up to 16 MB, then file"},
    CODE_OPTIONS,
    {"dispatch", 0, OPTION_TEXT, "LIST",
     "one C file for all these levels of x86, of which a program takes the highest that its processor has: "
     "x86-64,x86-64-v3,x86-64-v4"},
    {"threads", 0, OPTION_TEXT, "N",
     "cut large kernels into N shares, which threads compute side by side if the C is built with -fopenmp"},
    {"blas", 0, OPTION_FLAG, NULL,
     "large matrix products call a BLAS: link runtime/blas/stepc_blas.c and, say, OpenBLAS"},
    {0}};

enum { MOST_THREADS = 256 };

static bool parse_threads(struct diag *d, const char *text, int *out)
{
    long long count;
    if (!str_to_int64(text, &count) || count < 1 || count > MOST_THREADS)
        return diag_usage(d, "--threads %s: expected a number from 1 to %d", text, MOST_THREADS);
    *out = (int)count;
    return true;
}

/* ---- levels of a processor --------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    unsigned bit; /* 0: the compiler's options, which are always there */
} levels[] = {{"x86-64", 0}, {"x86-64-v3", LEVEL_3}, {"x86-64-v4", LEVEL_4}};
enum { LEVELS = sizeof levels / sizeof *levels };

static bool unknown_level(struct diag *d, const struct options *o, const char *list, const char *word)
{
    const char *names[LEVELS + 1] = {0};
    for (size_t i = 0; i < LEVELS; i++)
        names[i] = levels[i].name;
    if (str_equal(word, "x86-64-v2"))
        return diag_usage(d, "--dispatch %s: on x86-64-v2 emitted C would use nothing that x86-64 has not", list);
    if (target_find(word))
        return diag_usage(d, "--dispatch %s: emitted C knows no levels of '%s', only x86-64, x86-64-v3 and x86-64-v4; "
                             "for it the file is compiled as without the option",
                          list, word);
    return diag_usage(d, "--dispatch %s: '%s' is no level: expected %s%s", list, word, "x86-64,x86-64-v3,x86-64-v4",
                      str_suggestion(o->arena, word, names, LEVELS));
}

static bool add_level(struct diag *d, const struct options *o, const char *list, const char *word, unsigned *named)
{
    for (size_t i = 0; i < LEVELS; i++) {
        if (!str_equal(levels[i].name, word))
            continue;
        if (*named & 1u << i)
            return diag_usage(d, "--dispatch %s: %s is named twice", list, word);
        *named |= 1u << i;
        return true;
    }
    return unknown_level(d, o, list, word);
}

static bool parse_levels(struct diag *d, const struct options *o, const char *list, unsigned *out)
{
    unsigned named = 0;
    for (const char *p = list;; p++) {
        const size_t n = strcspn(p, ",");
        if (!add_level(d, o, list, arena_strndup(o->arena, p, n), &named))
            return false;
        p += n;
        if (!*p)
            break;
    }
    for (size_t i = 0; i < LEVELS; i++)
        *out |= named & 1u << i ? levels[i].bit : 0;
    if (!(named & 1))
        return diag_usage(d, "--dispatch %s: x86-64 is missing, for processors that have none of the others", list);
    return *out || diag_usage(d, "--dispatch %s: expected another level, to choose from", list);
}

/* Vectors are those of each level. */
static bool check_levels(struct diag *d, const struct options *o, const struct emit_options *emit)
{
    bool ok = true;
    if (target_is_named(emit->target))
        ok = diag_usage(d, "--dispatch and --machine %s exclude each other: --dispatch names what the C is for",
                        emit->target->name);
    if (option_given(o, "optimize") && emit->small)
        ok = diag_usage(d, "--dispatch and --optimize size exclude each other: one level is smaller than several");
    if (option_given(o, "simd") && emit->simd != SIMD_AUTO)
        ok = diag_usage(d, "--dispatch and --simd %s exclude each other: each level has vectors of its own",
                        option_text(o, "simd"));
    return ok;
}

static bool read_levels(struct diag *d, const struct options *o, struct emit_options *emit)
{
    const char *const list = option_text(o, "dispatch");
    emit->levels = 0;
    return !list || (parse_levels(d, o, list, &emit->levels) && check_levels(d, o, emit));
}

static bool check_blas(struct diag *d, const struct options *o)
{
    bool ok = true;
    if (option_given(o, "blas") && option_given(o, "reproducible"))
        ok = diag_usage(d, "--blas and --reproducible exclude each other: in which order a BLAS adds is its own "
                                 "affair, and changes with the processor and the number of threads");
    if (option_given(o, "blas") && option_given(o, "standalone"))
        ok = diag_usage(d, "--blas and --standalone exclude each other: a BLAS is a library to link");
    return ok;
}

bool read_program_options(struct diag *d, const struct options *o, struct pipeline_options *pipeline,
                          struct emit_options *emit)
{
    static const char *const weights[] = {"embed", "file", "incbin", "auto", NULL};
    const char *const threads = option_text(o, "threads");
    bool ok = read_code_options(d, o, pipeline);
    pipeline->threads = 1;
    emit->weights = (enum emit_weights)option_choice(d, o, "weights", weights, &ok);
    if (!option_given(o, "weights"))
        emit->weights = WEIGHTS_AUTO;
    ok = (!threads || parse_threads(d, threads, &pipeline->threads)) && ok;
    ok = check_blas(d, o) && ok;
    pipeline->entries = option_text(o, "entries");
    pipeline->blas = option_given(o, "blas");
    pipeline->check_finite = emit->check_finite = option_given(o, "check-finite");
    emit->reproducible = option_given(o, "reproducible");
    emit->standalone = option_given(o, "standalone");
    emit->trace = option_given(o, "trace");
    emit->target = pipeline->target;
    emit->simd = pipeline->simd;
    emit->small = pipeline->small;
    return read_levels(d, o, emit) && ok;
}
