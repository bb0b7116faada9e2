/* stepc expand: the entries of a model as plain ONNX models, which any runtime executes. */
#include "devices/devices.h"
#include "expand/expand.h"

#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/expand_state.h"
#include "cmd/files.h"
#include "engine/pipeline.h"
#include "model/model.h"
#include "prepare/gradient_model.h"

#include <string.h>

static const struct option_spec specs[] = {
    {"out", 'o', OPTION_TEXT, "OUT.onnx", "files to write: OUT.ENTRY.onnx for each entry; OUT.onnx where there is one"},
    {"entry", 0, OPTION_TEXT, "NAME", "this entry alone, as OUT.onnx"},
    {"opset", 0, OPTION_TEXT, "N", "version of the operators of ai.onnx, 13 to 28 (default: 18)"},
    {"random", 0, OPTION_TEXT, "exact|native",
     "random numbers: the same as everywhere, in integer arithmetic (default), or as the runtime draws them"},
    {"state", 0, OPTION_TEXT, "FILE",
     "what 'stepc run --save' or a program has saved: init() gives it, and entries that change nothing have it inside"},
    {"gradient-of", 0, OPTION_TEXT, "LOSS",
     "no entry, but the gradient of this tensor: a model whose outputs are LOSS and a NAME.gradient for each "
     "--with-respect-to"},
    {"with-respect-to", 0, OPTION_LIST, "NAME",
     "an input, an initializer (which becomes an input), or an inner tensor"},
    {"quiet", 'q', OPTION_FLAG, NULL, "do not print what was written"},
    {0}};
static const struct option_spec *const tables[] = {specs, model_options, NULL};

struct expand_job {
    struct session *session;
    const struct options *options;
    const char *path, *out;
    struct expand_options expand;
    struct pipeline_options pipeline;
};

bool read_opset(struct diag *d, const struct options *o, int *out)
{
    const char *const text = option_text(o, "opset");
    long long n;
    if (text != NULL && (!str_to_int64(text, &n) || n < EXPAND_OLDEST_OPSET || n > EXPAND_NEWEST_OPSET))
        return diag_usage(d, "--opset %s: expected a number from %d to %d", text, EXPAND_OLDEST_OPSET,
                          EXPAND_NEWEST_OPSET);
    *out = text != NULL ? (int)n : EXPAND_DEFAULT_OPSET;
    return true;
}

static bool read_options(struct expand_job *j)
{
    static const char *const randoms[] = {"exact", "native", NULL};
    const struct options *const o = j->options;
    struct diag *const d = &j->session->diag;
    bool ok = read_opset(d, o, &j->expand.opset);
    j->expand.native_random = option_choice(d, o, "random", randoms, &ok) == 1;
    j->expand.entry = option_text(o, "entry");
    if (option_given(o, "gradient-of") != option_given(o, "with-respect-to"))
        ok = diag_usage(d, "--gradient-of LOSS and --with-respect-to NAME belong together");
    if (option_given(o, "gradient-of") && option_given(o, "state"))
        ok = diag_usage(d, "--gradient-of and --state exclude each other: weights are inputs of the gradient");
    if (option_given(o, "gradient-of") && option_given(o, "entry"))
        ok = diag_usage(d, "--gradient-of and --entry exclude each other: the gradient is no entry of the model");
    return ok;
}

/* OUT.ENTRY.onnx, or OUT.onnx for what is the only one. */
static const char *path_of(const struct expand_job *j, const char *entry)
{
    const char *const dot = strrchr(j->out, '.');
    return j->expand.entry != NULL
               ? j->out
               : arena_printf(&j->session->arena, "%.*s.%s%s", (int)(dot - j->out), j->out, entry, dot);
}

static bool check_files(struct expand_job *j, const struct model *m, const struct program *p)
{
    struct arena *const a = &j->session->arena;
    named_files read = {0}, written = {0};
    files_read(a, j->options, j->path, m, NULL, &read);
    vec_each_ptr(const struct entry, e, &p->entries)
        if (j->expand.entry == NULL || str_equal(j->expand.entry, e->name))
            files_add(a, &written, arena_printf(a, "the model of %s()", e->name), path_of(j, e->name));
    return files_check(&j->session->diag, &read, &written);
}

static bool check_entry(struct expand_job *j, const struct program *p)
{
    const char *names[64];
    size_t count = 0;
    if (j->expand.entry != NULL && str_equal(j->expand.entry, "init") && p->variables.count == 0)
        return diag_error(&j->session->diag, &LOC_FILE(j->path),
                          "nothing changes in the model: init() has nothing to give");
    if (j->expand.entry == NULL || program_entry(p, j->expand.entry) != NULL || str_equal(j->expand.entry, "init"))
        return true;
    for (; count < p->entries.count && count < 64; count++)
        names[count] = p->entries.data[count].name;
    return diag_error(&j->session->diag, &LOC_FILE(j->path), "the model has no entry '%s'%s", j->expand.entry,
                      str_suggestion(&j->session->arena, j->expand.entry, names, count));
}

static bool write_models(struct expand_job *j, const expanded_list *list)
{
    bool ok = true;
    vec_each_ptr(const struct expanded, x, list) {
        ok = ok && model_write(&j->session->diag, x->model, path_of(j, x->entry));
        if (ok && !option_given(j->options, "quiet"))
            print_text("written: %s\n", path_of(j, x->entry));
    }
    return ok;
}

static bool expand(struct expand_job *j)
{
    struct session *const s = j->session;
    struct import_options *const import = &j->pipeline.import;
    const char *const loss = option_text(j->options, "gradient-of");
    const str_list names = option_list(j->options, "with-respect-to");
    struct model *m;
    struct program *p;
    expanded_list list;
    struct map masks = {.arena = &s->arena};
    struct pipeline_gradient gradient = {.loss = loss, .names = names, .masks = &masks};
    if (!read_import_options(s, j->options, import) || !refuse_range(s, import, "expand") ||
        !read_model(s, j->options, import, j->path, &m))
        return false;
    if (model_has_devices(m))
        diag_warning(&s->diag, &LOC_FILE(m->file),
                     "its annotations for several devices are not in what is written, which has other nodes");
    if (loss != NULL)
        gradient_masks(&s->diag, m, &names, &masks);
    if (loss != NULL && gradient_model_has(m, loss)) {
        if (!gradient_model(&s->diag, &s->arena, m, loss, &names, &masks))
            return false;
        j->pipeline.entries = gradient.entry = "infer";
    } else if (loss != NULL) {
        j->pipeline.gradient = &gradient;
    }
    struct expand_choice choice = {.opset = j->expand.opset};
    j->pipeline.passes = (struct pass_options){.stays = expand_stays, .stays_to = &choice};
    if (!may_need_outputs(s, import, m, pipeline_canonical(&s->diag, &s->arena, m, &j->pipeline, &p)))
        return false;
    if (loss != NULL) {
        j->expand.entry = gradient.entry;
        j->expand.title = "gradient";
    }
    const char *const state = option_text(j->options, "state");
    return check_entry(j, p) && check_files(j, m, p) && (!state || expand_state(s, state, p, &j->expand)) &&
           expand_program(&s->arena, p, &j->expand, &list) && write_models(j, &list);
}

static int run(struct session *s, const struct options *o)
{
    struct expand_job j = {.session = s, .options = o, .path = single_argument(s, o, "MODEL")};
    if (!j.path)
        return EXIT_USAGE;
    j.out = model_to_write(s, o);
    if (!j.out || !read_options(&j))
        return EXIT_USAGE;
    return exit_status(expand(&j));
}

const struct command command_expand = {
    .name = "expand",
    .arguments = "MODEL -o OUT.onnx [options]",
    .summary = "the entries of a model as plain ONNX models, for any runtime",
    .example = "stepc expand digits_train.onnx -o digits.onnx --dim batch=32",
    .options = tables,
    .notes =
        "OUT.init.onnx gives the variables: weights, what optimizers keep, counters, the state of random numbers.\n"
        "OUT.step.onnx takes them as inputs, and gives those that it changes as outputs named NAME.new, beside the\n"
        "outputs of the step; OUT.infer.onnx takes those that it reads. The entry \"stepc.variables\" of the\n"
        "metadata of each file lists them, as JSON. docs/expand.md says more.\n",
    .run = run,
};
