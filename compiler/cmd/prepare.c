/* stepc prepare MODEL -o OUT.onnx: an inference model becomes a training model. */
#include "base/clean.h"
#include "cmd/depfile.h"
#include "cmd/training_options.h"

#include "base/str.h"
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
    text_list outputs = {0};
    struct strbuf report = {.arena = &s->arena, .clean = true};
    vec_push(&s->arena, &outputs, out);
    if (!read_import_options(s, o, &import) || !refuse_range(s, &import, "prepare") || !read_model(s, o, path, &m) ||
        !prepare_as_told(s, o, p, &import, m, &report) || !model_write(&s->diag, m, out) ||
        !write_depfile(s, o, path, m, outputs))
        return false;
    if (!option_given(o, "quiet"))
        print_lines(strbuf_text(&report)), print_text("written: %s\n", out);
    return true;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct session s;
    struct options o;
    struct prepare_options p;
    session_begin(&s);
    if (!options_parse(&s.arena, self->name, tables, argc, argv, &o))
        return EXIT_USAGE;
    const char *const path = single_argument(self, &o, "MODEL"), *const out = option_text(&o, "out");
    if (!path)
        return EXIT_USAGE;
    if (!out || (!str_ends_with(out, ".onnx") && !str_ends_with(out, ".onnxtxt"))) {
        say_text("stepc prepare: -o OUT.onnx names the file to write%s\n",
                 option_given(&o, "output") ? " (--output is the tensor that the loss reads)" : "");
        return EXIT_USAGE;
    }
    if (!read_training_options(&s, &o, &p)) {
        session_end(&s, false);
        return EXIT_USAGE;
    }
    return session_end(&s, prepare(&s, &o, &p, path, out));
}

const struct command command_prepare = {
    .name = "prepare",
    .arguments = "MODEL -o OUT.onnx --loss NAME [options]",
    .summary = "inference model -> training model: loss, Gradient, optimizer, bindings",
    .example = "stepc prepare digits.onnx -o digits_train.onnx --loss softmax-cross-entropy --optimizer adam",
    .options = tables,
    .run = run,
};
