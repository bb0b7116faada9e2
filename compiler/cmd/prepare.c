/* stepc prepare MODEL -o OUT.onnx: an inference model becomes a training model. */
#include "base/clean.h"
#include "cmd/depfile.h"
#include "cmd/files.h"
#include "cmd/training_options.h"

#include "base/str.h"
#include "graph/bounded.h"

#include <stdio.h>

static const struct option_spec specs[] = {
    {"out", 'o', OPTION_TEXT, "OUT.onnx", "file to write; OUT.onnxtxt: as text"},
    {0}};
static const struct option_spec *const tables[] = {specs, training_options, depfile_options, model_options, NULL};

static bool prepare(struct session *s, const struct options *o, struct prepare_options *p, const char *path,
                    const char *out)
{
    struct import_options import;
    struct model *m;
    str_list outputs = {0};
    struct strbuf report = {.arena = &s->arena, .clean = true};
    vec_push(&s->arena, &outputs, out);
    if (!read_import_options(s, o, &import) || !refuse_range(s, &import, "prepare") ||
        !read_model(s, o, &import, path, &m) || !files_check_options(s, o, path, m, "out") ||
        !prepare_as_told(s, o, p, &import, m, &report))
        return false;
    bounded_remember(&s->arena, m, import.bounds);
    struct file_content rule;
    if (!make_depfile(s, o, path, m, outputs, &rule) || !model_write(&s->diag, m, out) ||
        (rule.path && !file_write_all(&s->diag, &rule, 1)))
        return false;
    if (!option_given(o, "quiet"))
        print_lines(strbuf_text(&report)), print_text("written: %s\n", out);
    return true;
}

static int run(struct session *s, const struct options *o)
{
    struct prepare_options p;
    const char *const path = single_argument(s, o, "MODEL"), *const out = path ? model_to_write(s, o) : NULL;
    if (!out)
        return EXIT_USAGE;
    if (!read_training_options(s, o, &p))
        return EXIT_USAGE;
    return exit_status(prepare(s, o, &p, path, out));
}

const struct command command_prepare = {
    .name = "prepare",
    .arguments = "MODEL -o OUT.onnx --loss NAME [options]",
    .summary = "inference model -> training model: loss, Gradient, optimizer, bindings",
    .example = "stepc prepare digits.onnx -o digits_train.onnx --loss softmax-cross-entropy --optimizer adam",
    .options = tables,
    .run = run,
};
