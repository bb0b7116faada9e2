/* Training options: the table, and how prepare_options come out of it. */
#include "cmd/training_options.h"

#include "base/str.h"
#include "prepare/fix_sizes.h"
#include "prepare/merge.h"
#include "prepare/strip.h"
#include <string.h>

#define ENTRY_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

const struct option_spec training_options[] = {
    OPTION_HEADING("the loss"),
    {"output", 0, OPTION_TEXT, "NAME", "tensor that the loss reads (default: the first output of floats)"},
    {"loss", 0, OPTION_TEXT, "NAME", "softmax-cross-entropy, nll, mse, l1, huber, bce, bce-logits, output"},
    {"target", 0, OPTION_TEXT, "NAME", "input that the loss compares with, new or not (default: target)"},
    {"target-type", 0, OPTION_TEXT, "TYPE", "int64, int32, uint8, float, double"},
    {"class-axis", 0, OPTION_TEXT, "N", "axis of the classes (default: 1; -1 for language models)"},
    {"ignore-index", 0, OPTION_TEXT, "N", "label that does not count"},
    {"label-smoothing", 0, OPTION_TEXT, "F", "share of the target spread over all classes"},
    {"class-weights", 0, OPTION_TEXT, "FILE", ".pb or .npy with a number for each class"},
    {"sample-weight", 0, OPTION_TEXT, "NAME", "input with a weight for each sample; the mean divides by their sum"},
    OPTION_HEADING("the update"),
    {"optimizer", 0, OPTION_TEXT, "NAME[:KEY=VALUE,...]",
     "sgd (default), momentum, nesterov, adagrad, adam, adamw, amsgrad, nadam, radam, adamax, lamb, lion, adafactor, "
     "rmsprop"},
    {"learning-rate", 0, OPTION_TEXT, "F", "initial value of the variable learning_rate"},
    {"learning-rate-input", 0, OPTION_TEXT, "NAME", "the learning rate is an input of step() instead"},
    {"first-step", 0, OPTION_TEXT, "N", "step count at the first step (default: 1 for adam, else 0)"},
    {"schedule", 0, OPTION_TEXT, "NAME[:KEY=VALUE,...]",
     "constant; step:every=N,gamma=F; multistep:milestones=N,N,..,gamma=F; exponential:gamma=F; "
     "cosine:steps=N,floor=F,warmup=N; linear:steps=N,warmup=N; onecycle:steps=N,pct_start=F"},
    {"ema", 0, OPTION_TEXT, "F",
     "moving averages of what is trained, A = F A + (1 - F) W after each step; an entry infer_average() computes with "
     "them"},
    {"clip-norm", 0, OPTION_TEXT, "F", "bound for the norm of all gradients together"},
    {"clip-value", 0, OPTION_TEXT, "F", "bound for each element of a gradient"},
    {"group", 0, OPTION_LIST, "GLOB:KEY=VALUE,...|@FILE.json",
     "learning_rate and weight_decay of some tensors; @FILE: [{\"params\": [GLOB, ...], \"lr\": F, "
     "\"weight_decay\": F}, ...]"},
    OPTION_HEADING("what is trained"),
    {"train", 0, OPTION_LIST, "GLOB|@FILE",
     "initializers to train (default: what the framework trains); @FILE: names, one a line"},
    {"freeze", 0, OPTION_LIST, "GLOB|@FILE", "initializers not to train"},
    {"detach", 0, OPTION_LIST, "GLOB",
     "tensors through which no gradient flows (besides those that the file says were detached)"},
    {"padding", 0, OPTION_TEXT, "HOW",
     "the row of zeros of PyTorch's embeddings: keep (default, as padding_idx does), train"},
    {"initialize", 0, OPTION_TEXT, "HOW", "keep (default), he, glorot: what init() starts from"},
    {"batchnorm", 0, OPTION_LIST, "HOW[:GLOB]",
     "train: statistics of the batch; frozen: the stored ones; with a pattern for those that it names (default: train, "
     "but frozen where the export says so and in front of all that is trained)"},
    {"batchnorm-statistics", 0, OPTION_TEXT, "HOW",
     "what running statistics start from: keep (default): the model's; reset: 0 and 1; auto: reset if an "
     "export has moved them"},
    {"batchnorm-variance", 0, OPTION_TEXT, "HOW",
     "running variances: population (default, as ONNX says), or unbiased, as in PyTorch"},
    OPTION_HEADING("what the export did"),
    {"batch", 0, OPTION_TEXT, "N", "batch size, in the place of the example's with which the model was exported"},
    {"untie", 0, OPTION_LIST, "auto|never|GLOB", "initializers that the exporter merged become separate variables"},
    {"tie", 0, OPTION_LIST, "A=B|A=B^T|never", "initializer A is B, or B transposed: one variable"},
    {"weights-from", 0, OPTION_TEXT, "FILE",
     "weights that are inputs of the graph get the values of the tensors of these names; .safetensors, .pt, .npz..."},
    {"names-from", 0, OPTION_TEXT, "FILE", "made-up names become those of the tensors of the same content"},
    OPTION_HEADING("entries"),
    {"entry", 0, OPTION_TEXT, "NAME",
     "what the entry is called; a MODEL that has entries keeps them and gets this one too (see 'stepc help merge')"},
    {"split", 0, OPTION_FLAG, NULL,
     "entries accumulate() and apply() instead of step(): samples may come one at a time"},
    {"shards", 0, OPTION_TEXT, "N",
     "with --split: entries apply_0(), apply_1()... for shares of the weights, and advance()"},
    {"devices", 0, OPTION_TEXT, "N",
     "with --split: annotations of N devices that share the samples, as ONNX has them (IR 11)"},
    {"accumulate", 0, OPTION_TEXT, "N", "step() goes through its batch in N parts"},
    {"evaluate", 0, OPTION_FLAG, NULL, "an entry evaluate() too: loss and accuracy, changes nothing"},
    {"gradients", 0, OPTION_FLAG, NULL, "gradients are outputs of step(), named NAME.gradient"},
    OPTION_HEADING("messages"),
    {"quiet", 'q', OPTION_FLAG, NULL, "do not print what will be trained"},
    {0}};

bool training_options_given(const struct options *o)
{
    for (const struct option_spec *t = training_options; t->name; t++)
        if (t->kind != OPTION_GROUP && !str_equal(t->name, "quiet") && option_given(o, t->name))
            return true;
    return false;
}

/* ---- from text --------------------------------------------------------------------------------------------------- */

static bool read_number(struct diag *d, const struct options *o, const char *name, double low, double high, double *out)
{
    const char *const text = option_text(o, name);
    double x;
    if (!text)
        return true;
    if (!str_to_double(text, &x) || !(x >= low && x <= high))
        return diag_error(d, NULL, "--%s %s: expected a number from %g%s", name, text, low,
                          high <= 1 ? arena_printf(d->arena, " to %g", high) : "");
    *out = x;
    return true;
}

static bool read_integer(struct diag *d, const struct options *o, const char *name, long long low, int64_t *out)
{
    const char *const text = option_text(o, name);
    long long x;
    if (!text)
        return true;
    if (!str_to_int64(text, &x) || x < low)
        return diag_error(d, NULL, "--%s %s: expected a whole number%s", name, text,
                          low == INT64_MIN ? "" : arena_printf(d->arena, " from %lld", low));
    *out = x;
    return true;
}

static bool exclude(struct diag *d, const struct options *o, const char *a, const char *b)
{
    return !option_given(o, a) || !option_given(o, b) ||
           diag_error(d, NULL, "--%s and --%s exclude each other", a, b);
}

#define CHOICE(d, o, name, ok, ...) option_choice(d, o, name, (const char *const[]){__VA_ARGS__, NULL}, &(ok))

static bool read_target_type(struct diag *d, const struct options *o, enum dtype *out)
{
    static const enum dtype dtypes[] = {DTYPE_INT64, DTYPE_INT32, DTYPE_UINT8, DTYPE_FLOAT, DTYPE_DOUBLE};
    bool ok = true;
    const int i = CHOICE(d, o, "target-type", ok, "int64", "int32", "uint8", "float", "double");
    *out = option_given(o, "target-type") ? dtypes[i] : DTYPE_UNDEFINED;
    return ok;
}

static bool read_loss(struct diag *d, const struct options *o, enum loss_kind *out)
{
    const char *const text = option_text(o, "loss");
    if (!text)
        return diag_error(d, NULL,
                          "--loss NAME says what to minimize: softmax-cross-entropy, mse, ...; output: the model's "
                          "output is the loss ('stepc strip' first where MODEL is a training model, which has its "
                          "own)");
    return loss_parse(d, text, out);
}

static bool read_entry(struct diag *d, const struct options *o, const char **out)
{
    static const char *const taken[] = {"init", "step", "infer"};
    const char *const name = *out = option_text(o, "entry");
    if (!name)
        return true;
    if (!is_letter(name[0]) || name[strspn(name, ENTRY_LETTERS)] != '\0')
        return diag_error(d, NULL, "--entry %s: expected a name of letters, digits and _", name);
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (str_equal(name, taken[i]))
            return diag_error(d, NULL, "--entry %s: every model has an entry of that name", name);
    return true;
}

static bool read_average(struct diag *d, const struct options *o, double *out)
{
    const char *const text = option_text(o, "ema");
    return !text || (str_to_double(text, out) && *out > 0 && *out < 1) ||
           diag_error(d, NULL, "--ema %s: expected a number between 0 and 1, such as 0.999", text);
}

static bool read_groups(struct session *s, const struct options *o, group_list *out)
{
    const str_list texts = option_list(o, "group");
    bool ok = true;
    vec_each(const char *, text, &texts)
        ok = group_parse(&s->diag, &s->arena, text, out) && ok;
    return ok;
}

static bool read_batchnorm(struct session *s, const struct options *o, batchnorm_choices *out)
{
    const str_list texts = option_list(o, "batchnorm");
    bool ok = true;
    vec_each(const char *, text, &texts) {
        struct batchnorm_choice c;
        ok = batchnorm_parse(&s->diag, &s->arena, text, &c) && ok;
        vec_push(&s->arena, out, c);
    }
    return ok;
}

bool read_training_options(struct session *s, const struct options *o, struct prepare_options *p)
{
    struct diag *const d = &s->diag;
    *p = (struct prepare_options){.class_axis = 1, .learning_rate = -1, .first_step = -1};
    const char *const optimizer = option_text(o, "optimizer");
    p->output = option_text(o, "output");
    p->target = option_text(o, "target");
    p->sample_weight = option_text(o, "sample-weight");
    p->learning_rate_input = option_text(o, "learning-rate-input");
    p->gradients = option_given(o, "gradients");
    p->split = option_given(o, "split");
    p->evaluate = option_given(o, "evaluate");
    p->train = option_list(o, "train");
    p->freeze = option_list(o, "freeze");
    p->detach = option_list(o, "detach");
    p->names_from = option_text(o, "names-from");
    p->weights_from = option_text(o, "weights-from");
    p->untie = option_list(o, "untie");
    p->tie = option_list(o, "tie");
    bool ok = read_loss(d, o, &p->loss);
    ok = read_entry(d, o, &p->entry) && ok;
    ok = read_batchnorm(s, o, &p->batchnorm) && ok;
    p->unbiased_variance = CHOICE(d, o, "batchnorm-variance", ok, "population", "unbiased");
    p->train_padding = CHOICE(d, o, "padding", ok, "keep", "train");
    p->statistics = (enum statistics_kind)CHOICE(d, o, "batchnorm-statistics", ok, "keep", "reset", "auto");
    ok = read_integer(d, o, "batch", 1, &p->batch) && ok;
    ok = optimizer_parse(d, &s->arena, optimizer ? optimizer : "sgd", &p->optimizer) && ok;
    ok = read_target_type(d, o, &p->target_type) && ok;
    p->initialize = (enum initialize_kind)CHOICE(d, o, "initialize", ok, "keep", "he", "glorot");
    ok = read_number(d, o, "learning-rate", 0, 1e30, &p->learning_rate) && ok;
    ok = read_number(d, o, "clip-norm", 0, 1e30, &p->clip_norm) && ok;
    ok = read_average(d, o, &p->ema) && ok;
    ok = read_number(d, o, "clip-value", 0, 1e30, &p->clip_value) && ok;
    ok = read_number(d, o, "label-smoothing", 0, 1, &p->label_smoothing) && ok;
    ok = read_integer(d, o, "first-step", 0, &p->first_step) && ok;
    ok = read_integer(d, o, "accumulate", 1, &p->accumulate) && ok;
    ok = read_integer(d, o, "shards", 1, &p->shards) && ok;
    ok = read_integer(d, o, "class-axis", INT64_MIN, &p->class_axis) && ok;
    if (option_given(o, "ignore-index")) {
        int64_t *const ignored = arena_new(&s->arena, int64_t);
        ok = read_integer(d, o, "ignore-index", INT64_MIN, ignored) && ok;
        p->ignore_index = ignored;
    }
    const char *const schedule = option_text(o, "schedule");
    ok = (!schedule || schedule_parse(d, &s->arena, schedule, &p->schedule)) && ok;
    ok = read_groups(s, o, &p->groups) && ok;
    ok = exclude(d, o, "learning-rate", "learning-rate-input") && ok;
    ok = exclude(d, o, "schedule", "learning-rate-input") && ok;
    ok = exclude(d, o, "split", "accumulate") && ok;
    if (option_given(o, "shards") && !p->split)
        ok = diag_error(d, NULL, "--shards wants --split: it makes several entries of apply()");
    ok = read_integer(d, o, "devices", 2, &p->devices) && ok;
    if (option_given(o, "devices") && option_given(o, "batch"))
        ok = diag_error(d, NULL, "--devices leaves the batch open, so --batch cannot say it: 'stepc compile --dim "
                                 "batch=N' has the samples of a call, on one device");
    if (option_given(o, "devices") && !p->split)
        ok = diag_error(d, NULL, "--devices goes with --split: devices add up between accumulate() and apply()");
    return ok;
}

/* ---- with files -------------------------------------------------------------------------------------------------- */

static bool read_class_weights(struct session *s, const struct options *o, struct prepare_options *p)
{
    const char *const path = option_text(o, "class-weights"), *name;
    struct tensor *t;
    if (!path)
        return true;
    if (!tensor_file_read(&s->diag, &s->arena, path, &t, &name))
        return false;
    p->class_weights = t;
    return true;
}

/* One more entry for a training model: its inference model is prepared by itself, then merged into it. */
static bool add_entry(struct session *s, const struct prepare_options *p, struct model *m, struct strbuf *report)
{
    struct model *more, *added;
    struct strbuf stripped = {.arena = &s->arena};
    vec_each(const struct model_training *, t, &m->training)
        if (t->algorithm && str_equal(t->algorithm->name, p->entry))
            return diag_error(&s->diag, &LOC_FILE(m->file), "--entry %s: the model has an entry of that name",
                              p->entry);
    if (!model_read_written(&s->diag, &s->arena, m->file, m, &more))
        return false;
    strip_model(&s->diag, more, &stripped);
    if (!prepare_model(&s->diag, &s->arena, more, p, report) ||
        !model_read_written(&s->diag, &s->arena, p->entry, more, &added)) /* so it is called in messages */
        return false;
    model_add_files(&s->arena, added, more);
    return merge_models(&s->diag, &s->arena, m, added, report);
}

bool prepare_as_told(struct session *s, const struct options *o, struct prepare_options *p,
                     const struct import_options *import, struct model *m, struct strbuf *report)
{
    p->import = fix_sizes(&s->arena, m, import);
    p->fixed_inputs = option_given(o, "set");
    p->chosen_outputs = option_given(o, "outputs");
    if (!read_class_weights(s, o, p) || !group_read_files(&s->diag, &s->arena, &p->groups))
        return false;
    return m->training.count > 0 && p->entry ? add_entry(s, p, m, report)
                                             : prepare_model(&s->diag, &s->arena, m, p, report);
}

static bool prepare_again(struct session *s, const struct options *o, struct prepare_options *p,
                          const struct import_options *import, const char *path, struct strbuf *report,
                          struct model **m)
{
    const struct model *const written = *m;
    if (!prepare_as_told(s, o, p, import, *m, report) || !model_read_written(&s->diag, &s->arena, path, written, m))
        return false;
    model_add_files(&s->arena, *m, written);
    return true;
}

/* A dimension with a range stays a symbol of the model. */
static struct import_options without_range(struct arena *a, const struct import_options *import)
{
    struct import_options out = *import;
    struct map *const dims = arena_new(a, struct map);
    dims->arena = a;
    for (size_t i = 0; i < import->dims->count; i++)
        if (!str_equal(import->dims->entries[i].key, import->range->name))
            map_set(dims, import->dims->entries[i].key, import->dims->entries[i].value);
    out.dims = dims;
    out.range = NULL;
    return out;
}

bool read_prepared_model(struct session *s, const struct options *o, struct prepare_options *p,
                         const struct import_options *import, const char *path, struct strbuf *report,
                         struct model **out)
{
    const struct import_options open = import->range ? without_range(&s->arena, import) : *import;
    struct size_names names = {0};
    if (!read_set_model(s, o, import, path, out))
        return false;
    add_size_names(s, *out, &names);
    if (p && !prepare_again(s, o, p, &open, path, report, out))
        return false;
    add_size_names(s, *out, &names);
    warn_of_unknown_sizes(s, o, path, &names);
    return true;
}
