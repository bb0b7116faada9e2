/* stepc prepare MODEL -o OUT.onnx: an inference model becomes a training model. */
#include "base/clean.h"
#include "cmd/check_recipe.h"
#include "cmd/depfile.h"
#include "cmd/files.h"
#include "cmd/foreign.h"
#include "cmd/training_options.h"

#include "base/str.h"
#include "graph/bounded.h"
#include "model/check_model.h"
#include "prepare/from_checkpoint.h"
#include "prepare/recipe.h"

#include <stdio.h>

static const struct option_spec specs[] = {
    {"out", 'o', OPTION_TEXT, "OUT.onnx", "file to write; OUT.onnxtxt: as text"},
    {"recipe", 0, OPTION_FLAG, NULL,
     "no weights: init() draws them (--initialize he, if nothing else is said), and what is written is checked as "
     "'check --recipe' does; OUT.onnxtxt is small then"},
    {0}};
static const struct option_spec from_options[] = {
    OPTION_HEADING("where a framework stopped"),
    {"from", 0, OPTION_TEXT, "CHECKPOINT",
     "training goes on there: weights, optimizer and what it keeps, step count, learning rate and schedule, as far as "
     "no option says otherwise; .pt, .pth, .bin, .npz, .safetensors, a Hugging Face folder, a checkpoint of TensorFlow "
     "or flax"},
    {"rename", 0, OPTION_LIST, "NAME=NAME", "name in the model = name in the checkpoint; one * for many"},
    {"transpose", 0, OPTION_LIST, "GLOB", "matrices that stand transposed in the checkpoint, square ones too"},
    FOREIGN_PARAMETERS,
    FOREIGN_STEPS,
    {"partial", 0, OPTION_FLAG, NULL,
     "what is missing or does not fit is a warning, and what the model has stays"},
    {0}};
static const struct option_spec *const tables[] = {specs,           training_options, from_options,
                                                   depfile_options, model_options,    NULL};

/* What the checkpoint says goes into the options, before the model is prepared... */
static bool read_from(struct session *s, const struct options *o, struct model *m, struct checkpoint *c,
                      struct fill_options *fill, struct prepare_options *p, struct strbuf *report)
{
    const struct given_options given = {.optimizer = option_text(o, "optimizer"),
                                        .learning_rate = option_given(o, "learning-rate") ||
                                                         option_given(o, "learning-rate-input"),
                                        .schedule = option_given(o, "schedule") ||
                                                    option_given(o, "learning-rate-input"),
                                        .groups = option_given(o, "group")};
    return !option_given(o, "from") ||
           (read_fill_options(s, o, fill) && checkpoint_read(&s->diag, &s->arena, option_text(o, "from"), m, c) &&
            options_from_checkpoint(&s->diag, &s->arena, m, c, fill, &given, p, report));
}

/* ... and its tensors into what that gives. */
static bool fill_prepared(struct session *s, const struct options *o, struct model *m, struct checkpoint *c,
                          struct fill_options *fill, struct strbuf *report)
{
    struct filled filled;
    if (option_given(o, "learning-rate"))
        vec_push(&s->arena, &fill->reset, "learning_rate*"); /* what was said counts */
    return !option_given(o, "from") ||
           (fill_model(s, m, c, fill, report, &filled) && refuse_nothing(s, &filled, c->path));
}

static bool check_from(struct session *s, const struct options *o)
{
    static const char *const names[] = {"rename", "transpose", "parameters", "steps-made", "partial"};
    bool ok = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (option_given(o, names[i]) && !option_given(o, "from"))
            ok = diag_usage(&s->diag, "--%s belongs to --from", names[i]);
    return ok;
}

/* The model as it is written, without a size that only the command line gives. */
static bool check_as_recipe(struct session *s, const struct model *m, const char *path)
{
    struct model *written;
    struct program *p;
    struct pipeline_options o = {.name = "model"};
    return model_read_written(&s->diag, &s->arena, path, m, &written) &&
           pipeline_program(&s->diag, &s->arena, written, &o, &p) &&
           check_recipe(&s->diag, &s->arena, written, &o, p, "");
}

static bool prepare(struct session *s, const struct options *o, struct prepare_options *p, const char *path,
                    const char *out)
{
    struct import_options import;
    struct model *m;
    struct checkpoint c;
    struct fill_options fill = {0};
    str_list outputs = {0};
    struct strbuf report = {.arena = &s->arena, .clean = true};
    vec_push(&s->arena, &outputs, out);
    if (!read_import_options(s, o, &import) || !refuse_range(s, &import, "prepare") ||
        !read_model(s, o, &import, path, &m) || !files_check_options(s, o, path, m, "out") || !check_from(s, o) ||
        !read_from(s, o, m, &c, &fill, p, &report) || !prepare_as_told(s, o, p, &import, m, &report) ||
        !fill_prepared(s, o, m, &c, &fill, &report) || !files_check_options(s, o, path, m, "out"))
        return false;
    bounded_remember(&s->arena, m, import.bounds);
    if (p->recipe)
        recipe_empty(&s->arena, m, &report);
    model_drop_stale_devices(&s->diag, m);
    struct file_content rule;
    if ((p->recipe && !check_as_recipe(s, m, path)) || !make_depfile(s, o, path, m, outputs, &rule) ||
        !model_write(&s->diag, m, out) || (rule.path && !file_write_all(&s->diag, &rule, 1)))
        return false;
    if (!option_given(o, "quiet"))
        print_lines(strbuf_text(&report)), print_text("written: %s\n", out);
    return true;
}

/* What init() draws is what there is: weights of a checkpoint are none. */
static bool read_recipe(struct session *s, const struct options *o, struct prepare_options *p)
{
    p->recipe = option_given(o, "recipe");
    if (!p->recipe)
        return true;
    if (option_given(o, "from"))
        return diag_usage(&s->diag, "--recipe and --from exclude each other");
    if (option_given(o, "initialize") && p->initialize == INITIALIZE_KEEP)
        return diag_usage(&s->diag, "--recipe draws the weights: --initialize keep keeps them");
    if (p->initialize == INITIALIZE_KEEP)
        p->initialize = INITIALIZE_HE;
    if (!option_given(o, "batchnorm-statistics"))
        p->statistics = STATISTICS_RESET;
    return true;
}

static int run(struct session *s, const struct options *o)
{
    struct prepare_options p;
    const char *const path = single_argument(s, o, "MODEL"), *const out = path ? model_to_write(s, o) : NULL;
    if (!out)
        return EXIT_USAGE;
    if (!read_training_options(s, o, &p) || !read_recipe(s, o, &p))
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
