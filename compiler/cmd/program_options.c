#include "cmd/program_options.h"

#include "base/str.h"

const struct option_spec program_options[] = {
    OPTION_HEADING("the program"),
    {"entries", 0, OPTION_TEXT, "LIST", "comma-separated entries to emit (default: all)"},
    {"reproducible", 0, OPTION_FLAG, NULL, "the same bits on every machine and compiler"},
    {"check-finite", 0, OPTION_FLAG, NULL,
     "a step that would store an infinity or NaN stores nothing and says so (STEPC_E_NOT_FINITE); it computes "
     "all new values first"},
    {"standalone", 0, OPTION_FLAG, NULL, "the files bring the runtime along: nothing else to compile or to install"},
    {"trace", 0, OPTION_FLAG, NULL, "STEPC_TRACE(number, name) in front of each kernel, for a profiler or a watchdog"},
    {"weights", 0, OPTION_TEXT, "auto|embed|file|incbin",
     "large tensors: in the text; in OUT.weights for the program to read, or for the assembler; auto (default): text "
     "up to 16 MB, then file"},
    CODE_OPTIONS,
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
    return ok;
}
