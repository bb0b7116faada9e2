/* stepc merge A.onnx B.onnx... -o OUT.onnx: training models with a main graph in common become one, with the entries of
 * all. */
#include "base/clean.h"
#include "cmd/files.h"

#include "base/str.h"
#include "model/check_model.h"
#include "model/model.h"
#include "prepare/merge.h"

static const struct option_spec specs[] = {{"out", 'o', OPTION_TEXT, "OUT.onnx", "file to write; OUT.onnxtxt: as text"},
                                           {"quiet", 'q', OPTION_FLAG, NULL, "do not print what was renamed"},
                                           {0}};
static const struct option_spec *const tables[] = {specs, NULL};

static bool read_one(struct session *s, const char *path, struct model **out)
{
    if (!model_read(&s->diag, &s->arena, path, out))
        return false;
    merge_name_entries(&s->arena, *out);
    return true;
}

static bool merge(struct session *s, const struct options *o, const char *out)
{
    struct model *all = NULL;
    named_files read = {0}, written = {0};
    struct strbuf report = {.arena = &s->arena, .clean = true};
    vec_each (const char *, path, &o->arguments) {
        struct model *m;
        if (!read_one(s, path, &m) || (all && !merge_models(&s->diag, &s->arena, all, m, &report)))
            return false;
        files_read(&s->arena, o, path, m, all ? NULL : "out", &read); /* the first may be edited in place */
        all = all ? all : m;
    }
    model_drop_stale_devices(&s->diag, all);
    files_written(&s->arena, o, all, &written);
    if (!files_check(&s->diag, &read, &written) || !model_write(&s->diag, all, out))
        return false;
    if (option_given(o, "quiet"))
        return true;
    print_lines(strbuf_text(&report));
    vec_each (const struct model_training *, t, &all->training)
        if (t->algorithm)
            print_text("entry: %s\n", t->algorithm->name);
    print_text("written: %s\n", out);
    return true;
}

static int run(struct session *s, const struct options *o)
{
    if (o->arguments.count < 2) {
        say_text("stepc merge: expected two models or more, got %zu\nTry 'stepc help merge'.\n", o->arguments.count);
        return EXIT_USAGE;
    }
    const char *const out = model_to_write(s, o);
    return out ? exit_status(merge(s, o, out)) : EXIT_USAGE;
}

const struct command command_merge = {
    .name = "merge",
    .arguments = "A.onnx B.onnx... -o OUT.onnx",
    .summary = "training models with weights in common -> one model, the entries of all",
    .example = "stepc merge discriminator.onnx generator.onnx -o gan.onnx",
    .options = tables,
    .notes = "The main graph is the union: what two models have by name is there once. Initializers and inputs of one "
             "name have to\n"
             "be the same in all; a node that computes something else under a name that is taken is called FILE.NAME. "
             "An entry that\n"
             "prepare called 'train' is called after its file; a variable that an earlier entry has too becomes "
             "ENTRY.NAME.\n",
    .run = run,
};
