/* stepc compile: a model becomes one C file and its header; an inference model may be prepared for training on the way. */
#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/depfile.h"
#include "cmd/training_options.h"
#include "engine/check_c.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec specs[] = {
    OPTION_HEADING("output"),
    {"out", 'o', OPTION_TEXT, "OUT.c", "file to write; OUT.h beside it"},
    {"name", 0, OPTION_TEXT, "ID", "prefix of every name (default: the output file's stem)"},
    {"entries", 0, OPTION_TEXT, "LIST", "comma-separated entries to emit (default: all)"},
    {"reproducible", 0, OPTION_FLAG, NULL, "the same bits on every machine and compiler"},
    {"check-finite", 0, OPTION_FLAG, NULL,
     "a step that would store an infinity or NaN stores nothing and says so (STEPC_E_NOT_FINITE); it computes all new values first"},
    {"standalone", 0, OPTION_FLAG, NULL, "OUT.h brings the runtime along: nothing else to compile or to install"},
    {"weights", 0, OPTION_TEXT, "auto|embed|file|incbin",
     "large tensors: in the text; in OUT.weights for the program to read, or for the assembler; auto (default): text up to 16 MB, then file"},
    CODE_OPTIONS,
    {"threads", 0, OPTION_TEXT, "N", "cut large kernels into N shares, which threads compute side by side if the C is built with -fopenmp"},
    {"blas", 0, OPTION_FLAG, NULL, "large matrix products call a BLAS: link runtime/blas/stepc_blas.c and, say, OpenBLAS"},
    {"ram", 0, OPTION_TEXT, "SIZE", "refuse what does not fit: state and arena together, in bytes, or as 48K, 2M"},
    {"check", 0, OPTION_FLAG, NULL, "compile what was made: the strictest warnings are errors"},
    {"cc", 0, OPTION_TEXT, "\"CC FLAGS\"", "C compiler for --check (default: $CC or cc, -O2)"},
    {"dump-after", 0, OPTION_TEXT, "PASS",
     "also print what stands after a pass: combine, differentiate, expand, fold, simplify, cse, dce, canonical, lower, fuse, plan"},
    {0}};
static const struct option_spec from_inference[] = {
    OPTION_HEADING("an inference MODEL with --loss becomes a training model first, as by 'stepc prepare':"), {0}};
static const struct option_spec *const tables[] = {specs, depfile_options, from_inference, training_options, model_options, NULL};

static const char *header_path(struct arena *a, const char *source)
{
    return arena_printf(a, "%.*s.h", (int)(strlen(source) - 2), source);
}

static const char *weights_path(struct arena *a, const char *source)
{
    return arena_printf(a, "%.*s.weights", (int)(strlen(source) - 2), source);
}

/* In the order in which they run; those of the canonical graph repeat until nothing changes. */
static bool check_pass(struct diag *d, const char *pass)
{
    static const char *const names[] = {"combine", "differentiate", "expand", "fold", "simplify", "cse",
                                        "dce",     "canonical",     "lower",  "fuse", "plan"};
    for (size_t i = 0; pass && i < sizeof names / sizeof *names; i++)
        if (str_equal(pass, names[i]))
            return true;
    return !pass || diag_error(d, NULL, "--dump-after %s: there is no such pass; 'stepc help compile' names them", pass);
}

struct job {
    struct session *session;
    const struct options *options;
    const char *path, *out;
    struct prepare_options training;
    bool prepares;     /* options of training are given */
    enum emit_weights weights;
    size_t ram;        /* 0: no bound */
    int threads, simd;
    bool small;        /* --optimize size */
    struct strbuf report;
};

static bool parse_weights(struct diag *d, const char *text, enum emit_weights *out)
{
    static const char *const names[] = {"embed", "file", "incbin", "auto"};
    for (int i = 0; i < 4; i++)
        if (str_equal(text, names[i])) {
            *out = (enum emit_weights)i;
            return true;
        }
    return diag_error(d, NULL, "--weights %s: expected embed, file, incbin or auto", text);
}

enum { MOST_THREADS = 256 };

/* What is wrong here is wrong usage. */
static bool read_options(struct job *j)
{
    const struct options *const o = j->options;
    struct diag *const d = &j->session->diag;
    const char *const ram = option_text(o, "ram"), *const threads = option_text(o, "threads");
    long long count = 1;
    bool ok = check_pass(d, option_text(o, "dump-after"));
    if (option_given(o, "weights"))
        ok = parse_weights(d, option_text(o, "weights"), &j->weights) && ok;
    ok = read_code_options(d, o, &j->simd, &j->small) && ok;
    if (threads && (!str_to_int64(threads, &count) || count < 1 || count > MOST_THREADS)) {
        count = 1;
        ok = diag_error(d, NULL, "--threads %s: expected a number from 1 to %d", threads, MOST_THREADS);
    }
    j->threads = (int)count;
    if (ram && !parse_size(ram, &j->ram))
        ok = diag_error(d, NULL, "--ram %s: expected a number of bytes, or one with K, M or G behind it", ram);
    if (option_given(o, "blas") && option_given(o, "reproducible"))
        ok = diag_error(d, NULL, "--blas and --reproducible exclude each other: in which order a BLAS adds is its own affair, and changes with "
                                 "the processor and the number of threads");
    if (option_given(o, "blas") && option_given(o, "standalone"))
        ok = diag_error(d, NULL, "--blas and --standalone exclude each other: a BLAS is a library to link");
    j->prepares = training_options_given(o);
    return (!j->prepares || read_training_options(j->session, o, &j->training)) && ok;
}

static bool write_files(struct job *j, const struct model *m, const struct emitted *text)
{
    struct session *const s = j->session;
    const char *const header = header_path(&s->arena, j->out), *const weights = weights_path(&s->arena, j->out);
    text_list outputs = {0};
    vec_push(&s->arena, &outputs, j->out);
    vec_push(&s->arena, &outputs, header);
    if (text->weights)
        vec_push(&s->arena, &outputs, weights);
    return (!text->weights || file_write_from(&s->diag, weights, weights_image_put, text->weights, text->weights->bytes)) &&
           file_write(&s->diag, header, text->header, strlen(text->header)) &&
           file_write(&s->diag, j->out, text->source, strlen(text->source)) && write_depfile(s, j->options, j->path, m, outputs);
}

static bool compile(struct job *j)
{
    const struct options *const o = j->options;
    struct arena *const a = &j->session->arena;
    struct diag *const d = &j->session->diag;
    const char *const stem = path_stem(a, j->out);
    struct model *m;
    struct program *program;
    struct emitted text;
    struct pipeline_options pipeline = {
        .name = option_text(o, "name") ? option_text(o, "name") : stem,
        .entries = option_text(o, "entries"),
        .ram = j->ram,
        .threads = j->threads,
        .simd = j->simd,
        .small = j->small,
        .blas = option_given(o, "blas"),
        .check_finite = option_given(o, "check-finite"),
        .passes = {.dump_after = option_text(o, "dump-after"), .dump_to = stdout},
    };
    const struct emit_options emit = {.file_stem = stem,
                                      .model_file = path_base(a, j->path),
                                      .options_text = changing_options_text(a, o),
                                      .reproducible = option_given(o, "reproducible"),
                                      .check_finite = option_given(o, "check-finite"),
                                      .standalone = option_given(o, "standalone"),
                                      .weights = option_given(o, "weights") ? j->weights : WEIGHTS_AUTO};
    struct prepare_options *const training = j->prepares ? &j->training : NULL;
    if (!read_import_options(j->session, o, &pipeline.import) ||
        !read_prepared_model(j->session, o, training, &pipeline.import, j->path, &j->report, &m) ||
        !pipeline_compile(d, a, m, &pipeline, &emit, &text, &program) ||
        (option_given(o, "check") && !check_c(d, a, stem, &text, option_text(o, "cc"))) || !write_files(j, m, &text))
        return false;
    if (text.weights_unasked)
        diag_note(d, &LOC_FILE(j->path),
                  "%zu MB of weights are in %s, which init() takes as in->weights: a C compiler would take very long over them; "
                  "--weights embed keeps them in the text, incbin leaves them to the assembler",
                  text.weights->bytes >> 20, path_base(a, weights_path(a, j->out)));
    if (!option_given(o, "quiet"))
        print_lines(strbuf_text(&j->report));
    return true;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct session s;
    struct options o;
    session_begin(&s);
    if (!options_parse(&s.arena, self->name, tables, argc, argv, &o))
        return EXIT_USAGE;
    struct job j = {.session = &s,
                    .options = &o,
                    .path = single_argument(self, &o, "MODEL"),
                    .out = option_text(&o, "out"),
                    .report = {.arena = &s.arena, .clean = true}};
    if (!j.path)
        return EXIT_USAGE;
    if (!j.out || !str_ends_with(j.out, ".c") || strlen(path_base(&s.arena, j.out)) < 3) {
        fprintf(stderr, "stepc compile: -o OUT.c names the file to write%s\n",
                option_given(&o, "output") ? " (--output is the tensor that the loss reads)" : "");
        return EXIT_USAGE;
    }
    if (!read_options(&j)) {
        session_end(&s, false);
        return EXIT_USAGE;
    }
    return session_end(&s, compile(&j));
}

const struct command command_compile = {
    .name = "compile",
    .arguments = "MODEL -o OUT.c [options]",
    .summary = "emit OUT.c and OUT.h: init(), step(), infer()",
    .example = "stepc compile digits_train.onnx -o digits.c --dim batch=32",
    .options = tables,
    .run = run,
};
