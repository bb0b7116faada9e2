/* stepc run: init, then an entry for some steps, interpreted or generated; over whole data sets it is a trainer. */
#include "base/checked.h"
#include "base/clean.h"
#include "base/file.h"
#include "base/str.h"
#include "cmd/cmd.h"
#include "cmd/feeds.h"
#include "cmd/files.h"
#include "cmd/foreign.h"
#include "cmd/bad_choice.h"
#include "cmd/not_finite.h"
#include "cmd/progress.h"
#include "cmd/run_data.h"
#include "cmd/run_digest.h"
#include "cmd/run_state.h"
#include "cmd/run_table.h"
#include "cmd/run_validate.h"
#include "train/combine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct option_spec specs[] = {
    OPTION_HEADING("what is run"),
    {"entry", 0, OPTION_TEXT, "NAME", "entry to run (default: step if there is one, else infer)"},
    {"steps", 0, OPTION_TEXT, "N", "how often in this run (default: as many as the feeds hold)"},
    {"seed", 0, OPTION_TEXT, "S", "seed given to init() (default 0)"},
    OPTION_HEADING("by whom"),
    {"engine", 0, OPTION_TEXT, "interpreted|generated", "who computes (default: interpreted)"},
    {"arithmetic", 0, OPTION_TEXT, "double|same", "of the interpreter: same gives the bits of --reproducible code"},
    {"reproducible", 0, OPTION_FLAG, NULL, "generated code without contraction"},
    CODE_OPTIONS,
    {"cc", 0, OPTION_TEXT, "\"CC FLAGS\"",
     "C compiler of the generated engine (default: $CC or cc, -O2 -march=native)"},
    OPTION_HEADING("tensors, step by step"),
    {"feed", 0, OPTION_LIST, "NAME=FILE", ".pb or .npy; one leading axis more than declared: a slice per step"},
    {"fetch", 0, OPTION_LIST, "NAME=FILE",
     "write an output or any tensor (stacked over steps), or a variable (after the last)"},
    OPTION_HEADING("whole data sets"),
    {"data", 0, OPTION_LIST, "NAME=FILE", "whole data set: the leading axis counts samples, a batch per step"},
    {"batch", 0, OPTION_TEXT, "N", "samples of a step (default: what the model declares)"},
    {"epochs", 0, OPTION_TEXT, "N",
     "how often through the data in this run, wherever it goes on (default: 1, or as --steps needs)"},
    {"shuffle", 0, OPTION_TEXT, "SEED", "a new order of the samples in every epoch, the same for the same seed"},
    {"validate", 0, OPTION_LIST, "NAME=FILE", "data for entry evaluate (or infer) after every epoch"},
    OPTION_HEADING("the state"),
    {"load", 0, OPTION_TEXT, "STATE",
     "go on from a saved state: also with feeds, data and --seed; or from a framework's checkpoint: .pt, .pth, .bin, "
     ".npz, .safetensors, a Hugging Face folder, a checkpoint of TensorFlow or flax"},
    {"save", 0, OPTION_TEXT, "STATE",
     "write the state after the last step; STATE.safetensors: for PyTorch, what the optimizer keeps under its names"},
    {"save-every", 0, OPTION_TEXT, "N",
     "and after every N steps, over the one before: a run that is killed can go on from there"},
    {"partial", 0, OPTION_FLAG, NULL, "--load what fits, into a model that has changed"},
    {"reset", 0, OPTION_LIST, "optimizer|GLOB", "--load all but these, which start as init() leaves them"},
    {"rename", 0, OPTION_LIST, "NAME=NAME", "name in the model = name in the framework's checkpoint; one * for many"},
    {"transpose", 0, OPTION_LIST, "GLOB", "matrices that stand transposed there, square ones too"},
    FOREIGN_PARAMETERS,
    FOREIGN_STEPS,
    {"from", 0, OPTION_TEXT, "N",
     "number of the first step, and its place in feeds and data (default: where --load goes on, or the checkpoint "
     "that has filled the model; else 0)"},
    OPTION_HEADING("results"),
    {"csv", 0, OPTION_TEXT, "FILE", "scalar outputs of every step as a table"},
    {"plot", 0, OPTION_TEXT, "FILE.svg", "scalar outputs over the steps as a picture"},
    {"hash", 0, OPTION_FLAG, NULL,
     "print digests of the curve of scalars, of all outputs and of the final state (SHA-256)"},
    {"quiet", 'q', OPTION_FLAG, NULL, "print nothing"},
    {0}};
static const struct option_spec *const tables[] = {specs, model_options, NULL};

struct fetch {
    const char *name, *path;
    int output;                  /* index among the entry's outputs, or -1 */
    const struct variable *variable;
    struct tensor *stacked;
};

/* What the numbers on the command line say; 0: not given. */
struct counts {
    long long steps, seed, batch, epochs, shuffle, from, save_every;
};

struct run_job {
    struct session *s;
    const struct options *o;
    struct counts counts;
    bool quiet, print_steps, print_epochs, shuffled;
    uint64_t shuffle_seed;
    struct model *m;
    struct feeds feeds;
    struct data data; /* empty without --data */
    int64_t *order;   /* of the samples in epoch `ordered` */
    int64_t ordered;
    struct validation validation;
    struct engine *engine;
    enum arithmetic arithmetic;
    const struct entry *entry;
    VEC(struct fetch) fetches;
    struct state_options state;
    int64_t first, end; /* steps to run: first .. end-1 */
    int loss; /* index of the output that is minimised, or -1 */
    struct run_table table;
    size_t *columns; /* per output: its column in the table */
    double *sums;    /* per output: over the epoch so far */
    struct history history;
    struct progress progress;
    struct run_digest digest;
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

static bool read_engine_options(struct run_job *r, struct engine_options *e)
{
    static const char *const kinds[] = {"interpreted", "generated", NULL};
    static const char *const arithmetics[] = {"double", "same", NULL};
    bool ok = true;
    e->kind = (enum engine_kind)option_choice(&r->s->diag, r->o, "engine", kinds, &ok);
    if (ok)
        e->arithmetic = (enum arithmetic)option_choice(&r->s->diag, r->o, "arithmetic", arithmetics, &ok);
    e->reproducible = option_given(r->o, "reproducible");
    e->cc = option_text(r->o, "cc");
    e->native = true;
    if (!ok || !read_code_options(&r->s->diag, r->o, &e->pipeline))
        return false;
    /* Generated code runs the canonical graph: what the interpreter repeats of it, it repeats in
     * the same arithmetic. */
    r->arithmetic = e->kind == ENGINE_GENERATED ? ARITHMETIC_SAME : e->arithmetic;
    return state_read_options(r->s, r->o, &r->state);
}

static bool read_fetches(struct run_job *r)
{
    const str_list list = option_list(r->o, "fetch");
    bool ok = true;
    vec_each(const char *, pair, &list) {
        struct fetch f = {.output = -1};
        if (file_pair(&r->s->arena, r->m, pair, &f.name, &f.path))
            vec_push(&r->s->arena, &r->fetches, f);
        else
            ok = diag_usage(&r->s->diag, "--fetch %s: expected NAME=FILE", pair);
    }
    return ok;
}

static bool check_data_options(struct run_job *r)
{
    static const char *const need_data[] = {"batch", "epochs", "shuffle", "validate"};
    bool ok = true;
    for (size_t i = 0; i < sizeof need_data / sizeof *need_data; i++)
        if (option_given(r->o, need_data[i]) && !option_given(r->o, "data"))
            ok = diag_usage(&r->s->diag, "--%s belongs to --data: without whole data sets it says nothing",
                            need_data[i]);
    return ok;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

static bool resolve_fetches(struct run_job *r)
{
    bool ok = true;
    vec_each_ptr(struct fetch, f, &r->fetches) {
        for (size_t j = 0; j < r->entry->graph->outputs.count; j++)
            if (str_equal(r->entry->graph->outputs.data[j].name, f->name))
                f->output = (int)j;
        f->variable = f->output < 0 ? program_variable(engine_program(r->engine), f->name) : NULL;
        if (f->output < 0 && !f->variable)
            ok = diag_error(&r->s->diag, &LOC_FILE(r->m->file),
                            "there is no output, tensor or variable '%s' to fetch", f->name);
    }
    return ok;
}

static bool read_all_data(struct run_job *r, struct import_options *import)
{
    if (!feeds_read(r->s, r->m, option_list(r->o, "feed"), import, &r->feeds) ||
        !data_read(r->s, r->m, "data", option_list(r->o, "data"), r->counts.batch, import, &r->data) ||
        !data_read(r->s, r->m, "validate", option_list(r->o, "validate"), r->data.batch, import, &r->validation.data))
        return false;
    vec_each_ptr(const struct data_set, set, &r->data.list)
        if (feeds_find(&r->feeds, set->name))
            return diag_usage(&r->s->diag, "input '%s' is given by --feed and by --data: leave one out", set->name);
    r->order = arena_array(&r->s->arena, int64_t, (size_t)r->data.samples);
    r->ordered = -1;
    return true;
}

static const struct map *given_inputs(struct run_job *r)
{
    struct map *const names = arena_new(&r->s->arena, struct map);
    names->arena = &r->s->arena;
    vec_each_ptr(const struct feed, f, &r->feeds.list)
        map_set(names, f->name, NULL);
    vec_each_ptr(const struct data_set, t, &r->data.list)
        map_set(names, t->name, NULL);
    return names;
}

static bool open_engine(struct run_job *r, const char *path)
{
    struct engine_options e = {.kind = ENGINE_INTERPRETED};
    struct arena *a = &r->s->arena;
    if (!read_engine_options(r, &e) || !read_import_options(r->s, r->o, &e.pipeline.import) ||
        !read_model(r->s, r->o, &e.pipeline.import, path, &r->m) || !read_fetches(r) ||
        !files_check_options(r->s, r->o, path, r->m, NULL) || !state_fill(r->s, r->o, &r->state, r->m) ||
        (r->state.foreign && !files_check_options(r->s, r->o, path, r->m, NULL)) ||
        !read_all_data(r, &e.pipeline.import))
        return false;
    const char *entry = option_text(r->o, "entry") ? option_text(r->o, "entry") : default_entry(r->m);
    const char **names = arena_array(a, const char *, r->fetches.count + 1);
    for (size_t i = 0; i < r->fetches.count; i++)
        names[i] = r->fetches.data[i].name;
    const bool validates = r->validation.data.list.count > 0;
    e.pipeline.entries = arena_printf(a, "init,%s%s%s%s", state_entries(a, &r->state, r->m), entry,
                                      validates ? "," : "", validates ? validation_entry(r->m) : "");
    e.pipeline.fetch = names;
    e.pipeline.fetch_count = r->fetches.count;
    e.pipeline.fetch_entry = entry;
    e.pipeline.given = given_inputs(r);
    if (!may_need_outputs(r->s, &e.pipeline.import, r->m, engine_open(&r->s->diag, a, r->m, &e, &r->engine)))
        return false;
    r->entry = program_entry(engine_program(r->engine), entry);
    if (validates && !validation_begin(r->s, r->m, engine_program(r->engine), &r->validation))
        return false;
    return resolve_fetches(r);
}

/* ---- inputs ------------------------------------------------------------------------------------------------------ */

static int64_t epoch_of(const struct run_job *r, int64_t step)
{
    return r->data.batches ? step / r->data.batches : 0;
}

static const struct tensor *input_tensor(struct run_job *r, const char *name, int64_t step, struct arena *a)
{
    const struct tensor *fed = feeds_tensor(&r->feeds, name, step, a);
    return fed || !r->data.batches ? fed : data_batch(&r->data, name, r->order, step % r->data.batches, a);
}

/* Any step may be asked for, not only the next: a step that went wrong is run again. */
static bool step_inputs(void *self, int64_t step, struct arena *a, const struct tensor ***inputs)
{
    struct run_job *r = self;
    const struct graph *g = r->entry->graph;
    bool ok = true;
    if (r->data.batches && r->ordered != epoch_of(r, step)) {
        r->ordered = epoch_of(r, step);
        data_order(&r->data, r->shuffled ? &r->shuffle_seed : NULL, r->ordered, r->order);
    }
    *inputs = arena_array(a, const struct tensor *, g->inputs.count + 1);
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *v = g->inputs.data[i];
        (*inputs)[i] = input_tensor(r, v->name, step, a);
        if (!(*inputs)[i])
            ok = diag_error(&r->s->diag, &LOC_FILE(r->m->file),
                            "entry '%s': input '%s' %s%s is not fed; give --%s %s=FILE", r->entry->name, v->name,
                            dtype_name(v->dtype), shape_text(&r->s->arena, &v->shape),
                            r->data.batches ? "data" : "feed", v->name);
    }
    return ok;
}

/* ---- the steps --------------------------------------------------------------------------------------------------- */

static bool is_scalar(const struct run_job *r, size_t output)
{
    return shape_count(&r->entry->graph->outputs.data[output].value->shape) == 1;
}

static void keep_fetches(struct run_job *r, struct tensor *const *outputs, int64_t step)
{
    vec_each_ptr(struct fetch, f, &r->fetches) {
        if (f->output < 0)
            continue;
        const struct tensor *t = outputs[f->output];
        if (!f->stacked) {
            struct shape s = {.rank = t->shape.rank + 1, .dim = {r->end - r->first}};
            memcpy(s.dim + 1, t->shape.dim, (size_t)t->shape.rank * sizeof *s.dim);
            f->stacked = tensor_new(&r->s->arena, t->dtype, &s);
        }
        memcpy((char *)f->stacked->data + (size_t)(step - r->first) * tensor_bytes(t), t->data, tensor_bytes(t));
    }
}

static void print_scalars(const struct run_job *r, struct tensor *const *outputs, int64_t step)
{
    struct arena a = {0};
    print_text("step %lld", (long long)step);
    for (size_t i = 0; i < r->entry->graph->outputs.count; i++) {
        if (!is_scalar(r, i))
            continue;
        print_text("  %s ", r->entry->graph->outputs.data[i].name);
        if (dtype_is_float(outputs[i]->dtype))
            print_text("%s", table_value_text(&a, outputs[i]->dtype, tensor_get_double(outputs[i], 0)));
        else
            print_text("%lld", (long long)tensor_get_int(outputs[i], 0));
    }
    putchar('\n');
    arena_free(&a);
}

static void add_to_table(struct run_job *r, struct tensor *const *outputs)
{
    for (size_t i = 0; i < r->entry->graph->outputs.count; i++)
        if (is_scalar(r, i)) {
            r->sums[i] += tensor_get_double(outputs[i], 0);
            table_set(&r->table, r->columns[i], tensor_get_double(outputs[i], 0));
        }
}

/* Training stops when a scalar output is NaN, or the loss infinite: all steps after it are wasted. */
static bool check_finite(struct run_job *r, struct tensor *const *outputs, int64_t step)
{
    for (size_t i = 0; r->entry->kind == ENTRY_STEP && i < r->entry->graph->outputs.count; i++) {
        if (!is_scalar(r, i) || !dtype_is_float(outputs[i]->dtype))
            continue;
        const double x = tensor_get_double(outputs[i], 0);
        if (!isnan(x) && ((int)i != r->loss || isfinite(x)))
            continue;
        progress_clear(&r->progress);
        diag_error(&r->s->diag, &LOC_FILE(r->m->file), "step %lld: '%s' is %s: stopped", (long long)step,
                   r->entry->graph->outputs.data[i].name, isnan(x) ? "NaN" : "infinite");
        history_explain(&r->history, r->s, r->engine, r->arithmetic, r->entry,
                        &(struct step_feeds){step_inputs, r}, step, i);
        return false;
    }
    return true;
}

static bool finish_epoch(struct run_job *r, int64_t step)
{
    const int64_t epoch = epoch_of(r, step), begin = epoch * r->data.batches;
    const int64_t steps = step + 1 - (begin < r->first ? r->first : begin);
    struct validation *v = &r->validation;
    if (v->data.batches && !validation_run(r->s, r->engine, v))
        return false;
    vec_each_ptr(const struct metric, x, &v->metrics)
        table_set(&r->table, x->column, x->value);
    progress_clear(&r->progress);
    if (r->print_epochs) {
        print_text("epoch %lld", (long long)epoch);
        for (size_t i = 0; i < r->entry->graph->outputs.count; i++)
            if (is_scalar(r, i))
                print_text("  %s %.6g", r->entry->graph->outputs.data[i].name, r->sums[i] / (double)steps);
        vec_each_ptr(const struct metric, x, &v->metrics)
            print_text("  %s %.6g", x->name, x->value);
        putchar('\n');
        print_flush();
    }
    memset(r->sums, 0, r->entry->graph->outputs.count * sizeof *r->sums);
    return true;
}

/* What one step gave goes to whoever wants it. */
static bool use_outputs(struct run_job *r, struct tensor *const *outputs, int64_t step)
{
    const bool ends_epoch = r->data.batches && ((step + 1) % r->data.batches == 0 || step + 1 == r->end);
    keep_fetches(r, outputs, step);
    if (r->print_steps)
        print_scalars(r, outputs, step);
    if (option_given(r->o, "hash"))
        run_digest_step(&r->digest, r->entry->graph, outputs);
    add_to_table(r, outputs);
    bool ok = check_finite(r, outputs, step);
    if (ok && ends_epoch)
        ok = finish_epoch(r, step);
    if (!table_end_row(&r->table, &r->s->diag, step, epoch_of(r, step))) {
        progress_clear(&r->progress);
        ok = false;
    }
    if (ok)
        progress_show(&r->progress, step + 1 - r->first,
                      r->loss < 0 ? NULL : r->entry->graph->outputs.data[r->loss].name,
                      r->loss < 0 ? NULL : &(double){tensor_get_double(outputs[r->loss], 0)});
    return ok;
}

static bool one_step(struct run_job *r, int64_t step)
{
    struct arena a = {0};
    const struct tensor **inputs;
    struct tensor **outputs = arena_array(&a, struct tensor *, r->entry->graph->outputs.count + 1);
    if (r->entry->kind == ENTRY_STEP)
        history_keep(&r->history, r->engine, step);
    bool ok = step_inputs(r, step, &a, &inputs);
    if (ok && !engine_run(r->engine, r->entry, inputs, outputs, &a)) {
        explain_bad_choice(r->s, arena_printf(&a, "step %lld", (long long)step), r->entry, inputs,
                           r->data.batches ? &r->data : NULL, r->order, r->data.batches ? step % r->data.batches : 0);
        ok = false;
    }
    ok = ok && use_outputs(r, outputs, step);
    arena_free(&a);
    return ok;
}

static bool write_fetches(struct run_job *r)
{
    bool ok = true;
    vec_each_ptr(struct fetch, f, &r->fetches) {
        struct tensor *t = f->variable ? engine_read(r->engine, f->variable, &r->s->arena) : f->stacked;
        ok &= tensor_file_write(&r->s->diag, f->path, f->name, t);
    }
    return ok;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/* How many steps the command line asks for; the feeds' own number may be smaller. */
static bool wanted_steps(struct run_job *r, int64_t *out)
{
    const struct counts *c = &r->counts;
    int64_t most = INT64_MAX; /* what --epochs allows */
    const bool by_epochs = option_given(r->o, "epochs");
    if (by_epochs && r->data.batches && !checked_mul(c->epochs, r->data.batches, &most))
        return diag_error(&r->s->diag, NULL, "--epochs %lld: too many", c->epochs);
    if (option_given(r->o, "steps"))
        *out = c->steps;
    else if (r->data.batches)
        *out = by_epochs ? most : r->data.batches;
    else
        *out = r->feeds.steps ? r->feeds.steps - r->first : 1;
    *out = *out < most ? *out : most;
    return true;
}

/* --from N, else where --load goes on, else where the checkpoint stopped that has filled the model. */
static void find_first(struct run_job *r)
{
    if (option_given(r->o, "from")) {
        r->first = r->counts.from;
        return;
    }
    if (r->state.load || r->entry->kind != ENTRY_STEP)
        return;
    r->first = checkpoint_steps_of_model(r->m);
    if (r->first > 0 && !option_given(r->o, "quiet"))
        say_text("stepc run: goes on with step %lld, where the checkpoint stopped that the model was filled from; "
                 "--from 0 begins with the first\n",
                 (long long)r->first);
}

static bool count_steps(struct run_job *r)
{
    int64_t steps = 0;
    find_first(r);
    if (!wanted_steps(r, &steps))
        return false;
    if (!checked_add(r->first, steps, &r->end))
        return diag_error(&r->s->diag, NULL, "%lld steps from step %lld: too many", (long long)steps,
                          (long long)r->first);
    vec_each_ptr(const struct fetch, f, &r->fetches)
        if (steps == 0 && !f->variable)
            return diag_error(&r->s->diag, NULL, "--fetch %s: without a step there is none", f->name);
    const bool may_be_none = option_given(r->o, "steps");
    if (!r->feeds.steps || (r->end <= r->feeds.steps && (steps > 0 || may_be_none)))
        return true;
    if (r->first)
        return diag_error(&r->s->diag, NULL,
                          "steps %lld to %lld: the feeds hold %lld; --from 0 begins with their first again",
                          (long long)r->first, (long long)(steps > 0 ? r->end - 1 : r->first),
                          (long long)r->feeds.steps);
    return diag_error(&r->s->diag, NULL, "%s %lld: the feeds hold %lld",
                      r->counts.steps ? "--steps" : "steps to run:", (long long)steps, (long long)r->feeds.steps);
}

/* The output called loss, else the first floating scalar of a training step. */
static int find_loss(const struct run_job *r)
{
    int found = -1;
    for (size_t i = 0; i < r->entry->graph->outputs.count; i++) {
        const struct graph_output *o = &r->entry->graph->outputs.data[i];
        if (!is_scalar(r, i) || !dtype_is_float(o->value->dtype))
            continue;
        if (str_equal(o->name, "loss"))
            return (int)i;
        if (found < 0 && r->entry->kind == ENTRY_STEP)
            found = (int)i;
    }
    return found;
}

static void note_dropped(const char *option, const struct data *d)
{
    const int64_t left = d->samples - d->batches * d->batch;
    if (left)
        say_text("stepc run: note: %lld of %lld samples of --%s do not fill a batch of %lld: "
                 "the last ones of every epoch are dropped\n",
                (long long)left, (long long)d->samples, option, (long long)d->batch);
}

static bool open_outputs(struct run_job *r)
{
    const struct graph *g = r->entry->graph;
    struct arena *a = &r->s->arena;
    r->table = (struct run_table){.arena = a, .epochs = r->data.batches > 0};
    r->columns = arena_array(a, size_t, g->outputs.count + 1);
    r->sums = arena_array(a, double, g->outputs.count + 1);
    for (size_t i = 0; i < g->outputs.count; i++)
        if (is_scalar(r, i))
            r->columns[i] = table_add_column(&r->table, g->outputs.data[i].name, g->outputs.data[i].value->dtype);
    vec_each_ptr(struct metric, m, &r->validation.metrics)
        m->column = table_add_column(&r->table, m->name, DTYPE_FLOAT);
    r->loss = find_loss(r);
    r->quiet = option_given(r->o, "quiet");
    r->print_epochs = r->data.batches && !r->quiet && r->fetches.count == 0;
    r->print_steps = !r->data.batches && !r->quiet && r->fetches.count == 0;
    if (!r->quiet) {
        note_dropped("data", &r->data);
        note_dropped("validate", &r->validation.data);
    }
    if (r->print_epochs && r->validation.data.batches)
        print_text("%s\n", validation_text(a, &r->validation));
    return table_open(&r->table, &r->s->diag, option_text(r->o, "csv"), option_text(r->o, "plot"));
}

/* The lines of a run on a terminal are its progress. */
static bool wants_bar(const struct run_job *r)
{
    return !r->quiet && !(r->print_steps && isatty(STDOUT_FILENO));
}

static bool save_now_and_then(struct run_job *r, int64_t steps)
{
    const int64_t every = r->counts.save_every;
    return every == 0 || steps == r->end || (steps - r->first) % every != 0 ||
           state_save(r->s, &r->state, r->m, r->engine, steps);
}

static bool run_steps(struct run_job *r)
{
    run_digest_begin(&r->digest);
    progress_begin(&r->progress, wants_bar(r), r->end - r->first);
    for (int64_t i = r->first; i < r->end; i++)
        if (!one_step(r, i) || !save_now_and_then(r, i + 1))
            return false;
    if (option_given(r->o, "hash"))
        run_digest_print(&r->digest, r->engine, &r->s->arena);
    return write_fetches(r) && state_save(r->s, &r->state, r->m, r->engine, r->end);
}

static bool start_state(struct run_job *r)
{
    r->state.batch = r->data.batches ? r->data.batch : 0;
    r->state.trains = r->entry->kind == ENTRY_STEP;
    r->state.goes_on = r->state.trains && !option_given(r->o, "from");
    r->state.entry = r->entry->training < 0 ? NULL : r->m->training.data[r->entry->training];
    r->state.quiet = option_given(r->o, "quiet");
    return engine_init(r->engine, (uint64_t)r->counts.seed) &&
           state_load(r->s, &r->state, r->m, r->engine, &r->first);
}

static bool train(struct run_job *r, const char *path)
{
    if (!check_data_options(r) || !open_engine(r, path) || !start_state(r) || !count_steps(r) || !open_outputs(r))
        return false;
    const bool ran = run_steps(r);
    const char *title = arena_printf(&r->s->arena, "%s: %s", path_base(&r->s->arena, path), r->entry->name);
    return table_close(&r->table, &r->s->diag, title) && ran;
}

static bool read_counts(const struct options *o, struct counts *c)
{
    return option_count(o, "steps", 0, &c->steps) && option_count(o, "seed", 0, &c->seed) &&
           option_count(o, "batch", 0, &c->batch) && option_count(o, "epochs", 0, &c->epochs) &&
           option_count(o, "shuffle", 0, &c->shuffle) && option_count(o, "from", 0, &c->from) &&
           option_count(o, "save-every", 0, &c->save_every);
}

static int run(struct session *s, const struct options *o)
{
    const char *path = single_argument(s, o, "MODEL");
    struct run_job r = {.s = s, .o = o};
    if (!path || !read_counts(o, &r.counts))
        return EXIT_USAGE;
    r.shuffled = option_given(o, "shuffle");
    r.shuffle_seed = (uint64_t)r.counts.shuffle;
    const bool ok = train(&r, path);
    history_free(&r.history);
    if (r.engine)
        engine_close(r.engine);
    return exit_status(ok);
}

const struct command command_run = {
    .name = "run",
    .arguments = "MODEL [options]",
    .summary = "run an entry on data: interpreted, or generated and compiled",
    .example = "stepc run digits_train.onnx --data x=x.npy --data target=labels.npy --batch 32 --epochs 10 "
               "--shuffle 1 --plot loss.svg",
    .options = tables,
    .run = run,
};
