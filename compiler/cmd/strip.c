/* stepc strip MODEL -o OUT.onnx: a training model becomes an inference model, with trained weights. */
#include "base/clean.h"
#include "cmd/files.h"
#include "cmd/foreign.h"

#include "base/str.h"
#include "engine/state_file.h"
#include "model/check_model.h"
#include "prepare/strip.h"
#include <stdio.h>

static const struct option_spec specs[] = {
    {"out", 'o', OPTION_TEXT, "OUT.onnx", "file to write"},
    {"state", 0, OPTION_TEXT, "FILE",
     "trained values: what 'stepc run --save' or a program's checkpoint wrote; or a framework's checkpoint"},
    {"average", 0, OPTION_FLAG, NULL, "weights become their moving averages, which prepare --ema keeps"},
    {"quiet", 'q', OPTION_FLAG, NULL, "do not print what was taken out"},
    {0}};
static const struct option_spec *const tables[] = {specs, NULL};

/* A tensor of its own for each: several initializers may share one. */
static void list_items(struct arena *a, const strip_list *trained, state_items *items)
{
    vec_each(const struct model_initializer *, x, trained)
        vec_push(a, items,
                 ((struct state_item){.name = x->name, .tensor = tensor_new(a, x->tensor->dtype, &x->tensor->shape),
                                      .role = STEPC_ROLE_WEIGHT}));
}

static bool check_outcome(struct session *s, const struct model_initializer *x, const struct state_item *item,
                          const char *path)
{
    const struct tensor *const t = item->tensor;
    const char *const type = arena_printf(&s->arena, "%s%s", dtype_name(t->dtype), shape_text(&s->arena, &t->shape));
    switch (item->outcome) {
    case STEPC_LOADED:
        return true;
    case STEPC_LOAD_OTHER_DTYPE:
        return diag_error(&s->diag, &x->loc, "'%s' is %s; in %s it has another type", x->name, type, path);
    case STEPC_LOAD_OTHER_SHAPE:
        return diag_error(&s->diag, &x->loc, "'%s' is %s; in %s it has another shape", x->name, type, path);
    default:
        return diag_error(&s->diag, &x->loc, "'%s' is trained, but %s has no value for it", x->name, path);
    }
}

/* All trained values or none: those of `sources`. What else the state holds (optimizer, counters) is of no use here. */
static bool put_values(struct session *s, const strip_list *trained, const strip_list *sources, const char *path)
{
    state_items items = {0};
    bool ok = true;
    list_items(&s->arena, sources, &items);
    if (!state_file_read(&s->diag, &s->arena, path, &items, NULL))
        return false;
    for (size_t i = 0; i < items.count; i++)
        ok = check_outcome(s, sources->data[i], &items.data[i], path) && ok;
    for (size_t i = 0; i < items.count && ok; i++) {
        trained->data[i]->tensor = items.data[i].tensor;
        trained->data[i]->external_location = NULL;
    }
    return ok;
}

/* The same of a framework's checkpoint. */
static bool put_checkpoint(struct session *s, struct model *m, const char *path, struct strbuf *report)
{
    static const char *optimizer = "optimizer";
    struct fill_options fill = {.reset = {&optimizer, 1, 1}};
    struct filled filled;
    struct checkpoint c;
    return checkpoint_read(&s->diag, &s->arena, path, m, &c) && fill_model(s, m, &c, &fill, report, &filled);
}

static bool strip(struct session *s, const struct options *o, const char *path, const char *out)
{
    struct model *m;
    strip_list trained = {0}, averages = {0};
    const bool average = option_given(o, "average");
    struct strbuf report = {.arena = &s->arena, .clean = true};
    const char *const state = option_text(o, "state");
    if (!model_read(&s->diag, &s->arena, path, &m))
        return false;
    if (!files_check_options(s, o, path, m, "out"))
        return false;
    strip_find_trained(&s->arena, m, &trained);
    if (state && trained.count == 0)
        return diag_error(&s->diag, &LOC_FILE(path),
                          "--state %s: no training_info of the model writes a weight of the inference graph", state);
    if (average && !strip_find_averages(&s->arena, m, &trained, &averages))
        return diag_error(&s->diag, &LOC_FILE(path),
                          "--average: the model keeps no moving averages of weights; prepare --ema does");
    const bool foreign = state && checkpoint_is_one(state);
    if (state && !(foreign ? put_checkpoint(s, m, state, &report)
                           : put_values(s, &trained, average ? &averages : &trained, state)))
        return false;
    if (foreign && !files_check_options(s, o, path, m, "out"))
        return false;
    for (size_t i = 0; i < averages.count && (!state || foreign); i++)
        trained.data[i]->tensor = averages.data[i]->tensor;
    if (average)
        strbuf_addf(&report, "weights: their moving averages\n");
    if (state && !foreign)
        strbuf_addf(&report, "trained values: %zu of %zu initializers\n", trained.count, m->graph->initializers.count);
    strip_model(&s->diag, m, &report);
    model_drop_stale_devices(&s->diag, m);
    if (!model_write(&s->diag, m, out))
        return false;
    if (!option_given(o, "quiet"))
        print_lines(strbuf_text(&report)), print_text("written: %s\n", out);
    return true;
}

static int run(struct session *s, const struct options *o)
{
    const char *const path = single_argument(s, o, "MODEL"), *const out = path ? model_to_write(s, o) : NULL;
    if (!out)
        return EXIT_USAGE;
    return exit_status(strip(s, o, path, out));
}

const struct command command_strip = {
    .name = "strip",
    .arguments = "MODEL -o OUT.onnx [--state FILE] [--average]",
    .summary = "training model -> inference model, with trained weights",
    .example = "stepc strip digits_train.onnx -o digits.onnx --state trained.state",
    .options = tables,
    .notes = "Takes out training_info, initializers that only training used, and the import of the training "
             "operators. What is left\n"
             "runs in any ONNX tool. A model that went through 'stepc prepare' comes back as it was. Where "
             "prepare had to change the\n"
             "inference model (functions, branches, --untie, --tie, --batch, --set, --names-from, training form, a "
             "loss inside), it\nstays changed, and this is said.\n",
    .run = run,
};
