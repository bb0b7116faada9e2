/* stepc compile: a model becomes one C file and its header; an inference model may be prepared for
 * training on the way. */
#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/depfile.h"
#include "cmd/files.h"
#include "cmd/program_options.h"
#include "cmd/training_options.h"
#include "devices/devices.h"
#include "engine/check_c.h"
#include "model/check_model.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec specs[] = {
    OPTION_HEADING("output"),
    {"out", 'o', OPTION_TEXT, "OUT.c", "file to write; OUT.h beside it"},
    {"name", 0, OPTION_TEXT, "ID", "prefix of every name (default: the output file's stem)"},
    {"check", 0, OPTION_FLAG, NULL, "compile what was made: the strictest warnings are errors"},
    {"cc", 0, OPTION_TEXT, "\"CC FLAGS\"", "C compiler for --check (default: $CC or cc, -O2)"},
    {"dump-after", 0, OPTION_TEXT, "PASS",
     "also print what stands after a pass: combine, recognise, differentiate, expand, fold, simplify, "
     "cse, dce, canonical, lower, fuse, plan, tree"},
    {"ignore-devices", 0, OPTION_FLAG, NULL,
     "annotations for several devices are left aside: the program is for one, or for MPI like any split model's"},
    {0}};
static const struct option_spec from_inference[] = {
    OPTION_HEADING("an inference MODEL with --loss becomes a training model first, as by 'stepc prepare':"), {0}};
static const struct option_spec *const tables[] = {specs, program_options, depfile_options, from_inference,
                                                   training_options, model_options, NULL};

/* Beside the source. */
static const char *path_beside(struct arena *a, const char *source, const char *ending)
{
    return arena_printf(a, "%.*s%s", (int)(strlen(source) - 2), source, ending);
}

/* In the order in which they run; those of the canonical graph repeat until nothing changes. */
static bool check_pass(struct diag *d, const char *pass)
{
    static const char *const names[] = {"combine", "recognise", "differentiate", "expand", "fold", "simplify",
                                        "cse",     "dce",       "canonical",     "lower",  "fuse", "plan",
                                        "tree"};
    for (size_t i = 0; pass && i < sizeof names / sizeof *names; i++)
        if (str_equal(pass, names[i]))
            return true;
    return !pass ||
           diag_error(d, NULL, "--dump-after %s: there is no such pass; 'stepc help compile' names them", pass);
}

struct compile_job {
    struct session *session;
    const struct options *options;
    const char *path, *out;
    struct prepare_options training;
    bool prepares;     /* options of training are given */
    struct pipeline_options pipeline;
    struct emit_options emit;
    struct strbuf report;
};

/* What is wrong here is wrong usage. */
static bool read_options(struct compile_job *j)
{
    const struct options *const o = j->options;
    struct diag *const d = &j->session->diag;
    bool ok = check_pass(d, option_text(o, "dump-after"));
    ok = read_program_options(d, o, &j->pipeline, &j->emit) && ok;
    j->prepares = training_options_given(o);
    return (!j->prepares || read_training_options(j->session, o, &j->training)) && ok;
}

/* Before the work and, where a file of weights turns out to be needed, behind it. */
static bool check_files(struct compile_job *j, const struct model *m, bool has_weights)
{
    struct session *const s = j->session;
    named_files read = {0}, written = {0};
    files_read(&s->arena, j->options, j->path, m, NULL, &read);
    files_written(&s->arena, j->options, m, &written);
    files_add(&s->arena, &written, "the header", path_beside(&s->arena, j->out, ".h"));
    if (has_weights)
        files_add(&s->arena, &written, "the file of weights", path_beside(&s->arena, j->out, ".weights"));
    return files_check(&s->diag, &read, &written);
}

static bool write_files(struct compile_job *j, const struct model *m, const struct emitted *text)
{
    struct session *const s = j->session;
    const char *const header = path_beside(&s->arena, j->out, ".h");
    const char *const weights = path_beside(&s->arena, j->out, ".weights");
    str_list outputs = {0};
    vec_push(&s->arena, &outputs, j->out);
    vec_push(&s->arena, &outputs, header);
    if (text->weights)
        vec_push(&s->arena, &outputs, weights);
    struct file_content files[4] = {{header, put_text, text->header, strlen(text->header)},
                                    {j->out, put_text, text->source, strlen(text->source)}};
    size_t count = 2;
    if (text->weights)
        files[count++] = (struct file_content){weights, weights_image_put, text->weights, text->weights->bytes};
    if ((text->weights && !check_files(j, m, true)) ||
        !make_depfile(s, j->options, j->path, m, outputs, &files[count]))
        return false;
    return file_write_all(&s->diag, files, files[count].path ? count + 1 : count);
}

/* Annotations for several devices have to be what runtime/mpi executes. What is wrong otherwise, compilation says. */
static bool read_devices(struct compile_job *j, const struct model *m)
{
    struct diag *const d = &j->session->diag;
    const struct import_options *const import = &j->pipeline.import;
    const struct pipeline_options at =
        import->range ? pipeline_at(d->arena, &j->pipeline, import->range->high) : j->pipeline;
    if (!model_has_devices(m) || option_given(j->options, "ignore-devices"))
        return true;
    return model_check_devices(d, m) &&
           devices_are_data_parallel(d, d->arena, m, &at.import, &j->emit.devices_text);
}

static bool compile(struct compile_job *j)
{
    const struct options *const o = j->options;
    struct arena *const a = &j->session->arena;
    struct diag *const d = &j->session->diag;
    const char *const stem = path_stem(a, j->out);
    struct model *m;
    struct program *program;
    struct emitted text;
    struct pipeline_options *const pipeline = &j->pipeline;
    pipeline->name = option_text(o, "name") ? option_text(o, "name") : stem;
    pipeline->passes = (struct pass_options){.dump_after = option_text(o, "dump-after"), .dump_to = stdout};
    j->emit.file_stem = stem;
    j->emit.model_file = path_base(a, j->path);
    j->emit.options_text = changing_options_text(a, o);
    pipeline->warns = j->training.warns_later = true;
    struct prepare_options *const training = j->prepares ? &j->training : NULL;
    if (!read_import_options(j->session, o, &pipeline->import) ||
        !read_prepared_model(j->session, o, training, &pipeline->import, j->path, &j->report, &m) ||
        !check_files(j, m, false) || !read_devices(j, m) ||
        !may_need_outputs(j->session, &pipeline->import, m,
                          pipeline_compile(d, a, m, pipeline, &j->emit, &text, &program)) ||
        (option_given(o, "check") && !check_c(d, a, stem, &text, option_text(o, "cc"))) || !write_files(j, m, &text))
        return false;
    if (text.weights_unasked)
        diag_note(d, &LOC_FILE(j->path),
                  "%zu MB of weights are in %s, which init() takes as in->weights: a C compiler would take very long "
                  "over them; --weights embed keeps them in the text, incbin leaves them to the assembler",
                  text.weights->bytes >> 20, path_base(a, path_beside(a, j->out, ".weights")));
    if (!option_given(o, "quiet"))
        print_lines(strbuf_text(&j->report));
    return true;
}

static int run(struct session *s, const struct options *o)
{
    struct compile_job j = {.session = s,
                            .options = o,
                            .path = single_argument(s, o, "MODEL"),
                            .out = option_text(o, "out"),
                            .report = {.arena = &s->arena, .clean = true}};
    if (!j.path)
        return EXIT_USAGE;
    if (!j.out || !str_ends_with(j.out, ".c") || strlen(path_base(&s->arena, j.out)) < 3) {
        say_text("stepc compile: -o OUT.c names the file to write%s\n",
                 option_given(o, "output") ? " (--output is the tensor that the loss reads)" : "");
        return EXIT_USAGE;
    }
    if (!read_options(&j))
        return EXIT_USAGE;
    return exit_status(compile(&j));
}

const struct command command_compile = {
    .name = "compile",
    .arguments = "MODEL -o OUT.c [options]",
    .summary = "emit OUT.c and OUT.h: init(), step(), infer()",
    .example = "stepc compile digits_train.onnx -o digits.c --dim batch=32",
    .options = tables,
    .run = run,
};
