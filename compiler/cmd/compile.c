/* stepc compile: a model becomes one C file and its header. */
#include "base/file.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "model/model.h"

#include <stdio.h>
#include <string.h>

static const struct option_spec specs[] = {
    OPTION_HEADING("output"),
    {"output", 'o', OPTION_TEXT, "OUT.c", "file to write; OUT.h beside it"},
    {"name", 0, OPTION_TEXT, "ID", "prefix of every name (default: the output file's stem)"},
    {"entries", 0, OPTION_TEXT, "LIST", "comma-separated entries to emit (default: all)"},
    {"reproducible", 0, OPTION_FLAG, NULL, "the same bits on every machine and compiler"},
    {"dump-after", 0, OPTION_TEXT, "PASS",
     "also print what stands after a pass: combine, differentiate, expand, fold, simplify, cse, dce, canonical, lower, fuse, plan"},
    {0}};
static const struct option_spec *const tables[] = {specs, model_options, NULL};

/* The options that change the output, in a fixed order. */
static const char *options_text(struct arena *a, const struct options *o)
{
    static const char *const with_text[] = {"entries", "dim", "shape"};
    struct strbuf b = {.arena = a};
    for (size_t i = 0; i < sizeof with_text / sizeof *with_text; i++) {
        const text_list l = option_list(o, with_text[i]);
        for (size_t j = 0; j < l.count; j++)
            strbuf_addf(&b, "%s--%s %s", b.length ? " " : "", with_text[i], l.data[j]);
    }
    if (option_given(o, "reproducible"))
        strbuf_addf(&b, "%s--reproducible", b.length ? " " : "");
    return strbuf_text(&b);
}

static const char *header_path(struct arena *a, const char *source)
{
    return arena_printf(a, "%.*s.h", (int)(strlen(source) - 2), source);
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

static bool compile(struct session *s, const struct options *o, const char *path, const char *out)
{
    struct arena *a = &s->arena;
    struct model *m;
    struct program *program;
    struct emitted text;
    struct pipeline_options pipeline = {
        .name = option_text(o, "name") ? option_text(o, "name") : path_stem(a, out),
        .entries = option_text(o, "entries"),
        .passes = {.dump_after = option_text(o, "dump-after"), .dump_to = stdout},
    };
    const struct emit_options emit = {.file_stem = path_stem(a, out),
                                      .model_file = path_base(a, path),
                                      .options_text = options_text(a, o),
                                      .reproducible = option_given(o, "reproducible"),
                                      .simd = -1};
    if (!check_pass(&s->diag, pipeline.passes.dump_after) || !read_import_options(s, o, &pipeline.import) || !read_model(s, o, path, &m) ||
        !pipeline_compile(&s->diag, a, m, &pipeline, &emit, &text, &program))
        return false;
    return file_write(&s->diag, header_path(a, out), text.header, strlen(text.header)) &&
           file_write(&s->diag, out, text.source, strlen(text.source));
}

static int run(const struct command *self, int argc, char **argv)
{
    struct session s;
    struct options o;
    session_begin(&s);
    if (!options_parse(&s.arena, self->name, tables, argc, argv, &o))
        return EXIT_USAGE;
    const char *path = single_argument(self, &o, "MODEL"), *out = option_text(&o, "output");
    if (!path)
        return EXIT_USAGE;
    if (!out || !str_ends_with(out, ".c") || strlen(path_base(&s.arena, out)) < 3) {
        fprintf(stderr, "stepc compile: -o OUT.c names the file to write\n");
        return EXIT_USAGE;
    }
    return session_end(&s, compile(&s, &o, path, out));
}

const struct command command_compile = {
    .name = "compile",
    .arguments = "MODEL -o OUT.c [options]",
    .summary = "emit OUT.c and OUT.h: init(), step(), infer()",
    .example = "stepc compile digits_train.onnx -o digits.c --dim batch=32",
    .options = tables,
    .run = run,
};
