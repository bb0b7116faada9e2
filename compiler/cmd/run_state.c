#include "cmd/run_state.h"

#include "base/checked.h"
#include "base/clean.h"
#include "base/str.h"
#include "cmd/foreign.h"
#include "cmd/run_rates.h"
#include "engine/state_file.h"
#include "foreign/give.h"
#include "model/model.h"
#include "train/combine.h"
#include <stdio.h>
#include <string.h>

/* How many steps were run: where feeds and data go on. Only `stepc run` knows it. */
static const char *const steps_name = GIVEN_STEPS, *const seed_name = "stepc.random_seed",
                         *const batch_name = "stepc.run_batch";

bool state_read_options(struct session *s, const struct options *o, struct state_options *out)
{
    *out = (struct state_options){.load = option_text(o, "load"),
                                  .save = option_text(o, "save"),
                                  .partial = option_given(o, "partial"),
                                  .reset = option_list(o, "reset")};
    static const char *const of_checkpoints[] = {"rename", "transpose", "parameters", "steps-made"},
                             *const not_written[] = {".pt", ".pth", ".npz", ".msgpack"};
    bool ok = read_weight_options(s, o, &out->weights);
    out->foreign = out->load && checkpoint_is_one(out->load);
    out->gives = out->save && str_ends_with(out->save, ".safetensors");
    for (size_t i = 0; i < sizeof of_checkpoints / sizeof *of_checkpoints; i++)
        if (!out->foreign && !(out->gives && i < 2) && option_given(o, of_checkpoints[i]))
            ok = diag_usage(&s->diag, "--%s belongs to --load of a framework's checkpoint", of_checkpoints[i]);
    for (size_t i = 0; out->save && i < sizeof not_written / sizeof *not_written; i++)
        if (str_ends_with(out->save, not_written[i]))
            ok = diag_usage(&s->diag, "--save %s: for PyTorch the state goes into a file that ends in .safetensors",
                            out->save);
    if (!out->save && option_given(o, "save-every"))
        ok = diag_usage(&s->diag, "--save-every belongs to --save");
    if (!out->load && out->partial)
        ok = diag_usage(&s->diag, "--partial belongs to --load");
    if (!out->load && out->reset.count > 0)
        ok = diag_usage(&s->diag, "--reset belongs to --load: without it everything starts anew");
    return ok;
}

const char *state_entries(struct arena *a, const struct state_options *o, const struct model *m)
{
    struct strbuf list = {.arena = a};
    str_list names = {0};
    combine_training_names(a, m, &names);
    for (size_t i = 0; (o->load || o->save) && i < names.count; i++)
        strbuf_addf(&list, "%s,", names.data[i]);
    return strbuf_text(&list);
}

/* ---- what the state is ------------------------------------------------------------------------------------------- */

static bool is_reset(const struct state_options *o, const struct variable *v)
{
    vec_each(const char *, glob, &o->reset)
        if (str_equal(glob, "optimizer") ? v->role >= ROLE_OPTIMIZER : str_glob(glob, v->name))
            return true;
    return false;
}

static void add_number(struct arena *a, state_items *items, const char *name, enum dtype dtype, uint64_t x)
{
    struct tensor *const t = tensor_new(a, dtype, &SHAPE_SCALAR);
    tensor_set_int(t, 0, (int64_t)x);
    vec_push(a, items, ((struct state_item){.name = name, .tensor = t, .role = STEPC_ROLE_COUNTER}));
}

/* The roles of both have one order. */
static stepc_role role_of(const struct variable *v)
{
    static const stepc_role roles[] = {STEPC_ROLE_WEIGHT, STEPC_ROLE_STATISTIC, STEPC_ROLE_OPTIMIZER,
                                       STEPC_ROLE_COUNTER, STEPC_ROLE_SUM};
    return roles[v->role];
}

/* In the order of the emitted state: variables, seed, counters; then the steps, and the samples of one if `batch` is
 * not negative. Copies. */
static void list_items(struct arena *a, struct engine *e, int64_t steps, int64_t batch, state_items *items)
{
    const struct program *const p = engine_program(e);
    vec_each(const struct variable *, v, &p->variables)
        vec_push(a, items, ((struct state_item){.name = v->name, .tensor = engine_read(e, v, a), .role = role_of(v)}));
    if (program_draws(engine_program(e))) {
        add_number(a, items, seed_name, DTYPE_UINT64, engine_seed(e));
        for (size_t i = 0; i < p->counters.count; i++)
            add_number(a, items, engine_counter_name(a, p, i), DTYPE_UINT64, engine_counter(e, i));
    }
    add_number(a, items, steps_name, DTYPE_INT64, (uint64_t)steps);
    if (batch >= 0)
        add_number(a, items, batch_name, DTYPE_INT64, (uint64_t)batch);
}

/* As a checkpoint for PyTorch; what is no variable is ours. */
static bool give_items(struct session *s, struct arena *a, const struct state_options *o, const struct model *m,
                       const struct program *p, const state_items *items, int64_t steps)
{
    struct map values = {.arena = a};
    named_tensors own = {0};
    for (size_t i = 0; i < items->count; i++)
        if (i < p->variables.count) /* sums that are 0, as between two steps, PyTorch has not */
            map_set(&values, items->data[i].name,
                    items->data[i].role == STEPC_ROLE_SUM && tensor_is_zero(items->data[i].tensor)
                        ? NULL
                        : items->data[i].tensor);
        else
            vec_push(a, &own, ((struct named_tensor){items->data[i].name, items->data[i].tensor}));
    run_rates_add(a, m, &values);
    return checkpoint_give(&s->diag, a, m, &values, &own, steps, &o->weights, o->save);
}

bool state_save(struct session *s, const struct state_options *o, const struct model *m, struct engine *e,
                int64_t steps)
{
    struct arena scratch = {0};
    state_items items = {0};
    if (!o->save)
        return true;
    const int64_t batch = o->trains && o->batch > 0 ? o->batch : o->loaded_batch;
    list_items(&scratch, e, steps, batch > 0 ? batch : -1, &items);
    const bool ok = o->gives ? give_items(s, &scratch, o, m, engine_program(e), &items, steps)
                             : state_file_write(&s->diag, &scratch, o->save, &items);
    arena_free(&scratch);
    return ok;
}

/* ---- loading ----------------------------------------------------------------------------------------------------- */

static bool report_misfit(struct session *s, const struct state_options *o, const char *text)
{
    if (!o->partial)
        return diag_error(&s->diag, &LOC_FILE(o->load), "%s", text);
    diag_warning(&s->diag, &LOC_FILE(o->load), "%s", text);
    return true;
}

static bool check_variable(struct session *s, const struct state_options *o, const struct state_item *item)
{
    struct arena *const a = &s->arena;
    const struct tensor *const t = item->tensor;
    const char *const type = arena_printf(a, "%s%s", dtype_name(t->dtype), shape_text(a, &t->shape));
    switch (item->outcome) {
    case STEPC_LOAD_MISSING:
        if (item->role == STEPC_ROLE_SUM) /* 0 between steps */
            return true;
        return report_misfit(s, o, arena_printf(a, "the state has no value for '%s' %s", item->name, type));
    case STEPC_LOAD_OTHER_DTYPE:
        return report_misfit(s, o,
                             arena_printf(a, "'%s' has another type in the state; the model's is %s",
                                          item->name, type));
    case STEPC_LOAD_OTHER_SHAPE:
        return report_misfit(s, o,
                             arena_printf(a, "'%s' has another shape in the state; the model's is %s",
                                          item->name, type));
    default:
        return true;
    }
}

static bool check_items(struct session *s, const struct state_options *o, const struct program *p,
                        const state_items *items, const state_names *unknown)
{
    bool ok = true;
    size_t loaded = 0, wanted = 0;
    for (size_t i = 0; i < p->variables.count; i++) {
        const bool reset = is_reset(o, p->variables.data[i]);
        ok = (reset || check_variable(s, o, &items->data[i])) && ok;
        wanted += !reset;
        loaded += !reset && items->data[i].outcome == STEPC_LOADED;
    }
    vec_each(const char *, name, unknown)
        ok = report_misfit(
                 s, o, arena_printf(&s->arena, "the model has no variable '%s', but the state has one", name)) &&
             ok;
    if (!ok)
        diag_note(&s->diag, &LOC_FILE(o->load), "--partial loads what fits");
    if (ok && loaded == 0 && wanted > 0)
        return diag_error(&s->diag, &LOC_FILE(o->load), "nothing of the state fits the model");
    if (ok && loaded < wanted)
        say_text("stepc run: note: %zu of %zu variables loaded; the others start as init() leaves them\n", loaded,
                 wanted);
    return ok;
}

static bool check_patterns(struct session *s, const struct state_options *o, const struct program *p)
{
    bool ok = true;
    vec_each(const char *, glob, &o->reset) {
        bool found = str_equal(glob, "optimizer");
        vec_each(const struct variable *, v, &p->variables)
            found = found || str_glob(glob, v->name);
        if (!found)
            ok = diag_error(&s->diag, NULL, "--reset %s: no variable has such a name", glob);
    }
    return ok;
}

/* Items without a value in the file hold what init() left. */
static void take_items(struct engine *e, const struct state_options *o, const state_items *items, int64_t *steps)
{
    const struct program *const p = engine_program(e);
    size_t at = p->variables.count;
    for (size_t i = 0; i < p->variables.count; i++)
        if (!is_reset(o, p->variables.data[i]))
            engine_write(e, p->variables.data[i], items->data[i].tensor);
    if (program_draws(engine_program(e))) {
        engine_set_seed(e, (uint64_t)tensor_get_int(items->data[at++].tensor, 0));
        for (size_t i = 0; i < p->counters.count; i++)
            engine_set_counter(e, i, (uint64_t)tensor_get_int(items->data[at++].tensor, 0));
    }
    *steps = tensor_get_int(items->data[at].tensor, 0);
}

bool state_fill(struct session *s, const struct options *o, struct state_options *state, struct model *m)
{
    struct strbuf report = {.arena = &s->arena, .clean = true};
    if (!state->foreign)
        return true;
    if (!fill_from(s, o, m, state->load, &report, &state->filled))
        return false;
    for (const char *line = strbuf_text(&report), *end; !option_given(o, "quiet") && *line; line = end + 1) {
        end = strchr(line, '\n');
        say_text("stepc run: %s\n", arena_strndup(&s->arena, line, (size_t)(end - line)));
    }
    return true;
}

static const struct tensor *own_number(const named_tensors *own, const char *name)
{
    vec_each_ptr(const struct named_tensor, t, own)
        if (str_equal(t->name, name) && t->tensor->count == 1 && dtype_is_int(t->tensor->dtype))
            return t->tensor;
    return NULL;
}

/* Seed and counters of random numbers, where `stepc run` has written the checkpoint. */
static void take_own(struct engine *e, const named_tensors *own)
{
    struct arena scratch = {0};
    const struct program *const p = engine_program(e);
    const struct tensor *const seed = own_number(own, seed_name);
    if (program_draws(p) && seed)
        engine_set_seed(e, (uint64_t)tensor_get_int(seed, 0));
    for (size_t i = 0; program_draws(p) && i < p->counters.count; i++) {
        const struct tensor *const x = own_number(own, engine_counter_name(&scratch, p, i));
        if (x)
            engine_set_counter(e, i, (uint64_t)tensor_get_int(x, 0));
    }
    arena_free(&scratch);
}

/* The steps so far had `before` samples each, and data goes on by the number of steps. */
static void warn_of_batch(struct session *s, const struct state_options *o, int64_t steps)
{
    const int64_t before = o->loaded_batch;
    int64_t samples;
    if (!o->goes_on || o->batch == 0 || before <= 0 || before == o->batch || steps <= 0 ||
        !checked_mul(before, steps, &samples))
        return;
    const char *const hint = samples % o->batch != 0
                                 ? ""
                                 : arena_printf(&s->arena, "; --from %lld goes on behind the samples that it has seen",
                                                (long long)(samples / o->batch));
    diag_warning(&s->diag, &LOC_FILE(o->load),
                 "its steps had %lld samples, those of this run have %lld: data goes on with step %lld as if all "
                 "before had had so many%s",
                 (long long)before, (long long)o->batch, (long long)steps, hint);
}

/* init() may have drawn what the checkpoint says. */
static void take_filled(struct session *s, struct engine *e, struct state_options *o, int64_t *steps)
{
    vec_each(const struct variable *, v, &engine_program(e)->variables) {
        const struct tensor *const t = map_get(&o->filled.set, v->name);
        if (t && t->dtype == v->dtype && shape_equal(&t->shape, &v->shape))
            engine_write(e, v, t);
    }
    take_own(e, &o->filled.own);
    *steps = o->filled.steps;
    const struct tensor *const batch = own_number(&o->filled.own, batch_name);
    if (batch)
        o->loaded_batch = tensor_get_int(batch, 0);
    warn_of_batch(s, o, *steps);
}

/* A program with emitted code has written it, which knows of no run: the model's counter says how far it is. */
static void take_counted(struct session *s, const struct state_options *o, const struct model *m,
                         const struct program *p, const state_items *items, int64_t *steps)
{
    struct map values = {.arena = &s->arena};
    const char *counter;
    for (size_t i = 0; i < p->variables.count; i++)
        if (items->data[i].outcome == STEPC_LOADED)
            map_set(&values, items->data[i].name, items->data[i].tensor);
    const int64_t counted = checkpoint_steps_counted(&s->arena, m, o->entry, &values, &counter);
    if (counter)
        *steps = counted;
    if (o->goes_on && !o->quiet && !counter)
        say_text("stepc run: it does not say how many steps were made: data goes on from its beginning; --from N says "
                 "it\n");
    else if (o->goes_on && !o->quiet && counted > 0)
        say_text("stepc run: goes on with step %lld, as '%s' says; --from 0 begins with the first\n",
                 (long long)counted, counter);
}

bool state_load(struct session *s, struct state_options *o, const struct model *m, struct engine *e, int64_t *steps)
{
    state_items items = {0};
    state_names unknown = {0};
    *steps = 0;
    if (!o->load)
        return true;
    if (o->foreign) {
        take_filled(s, e, o, steps);
        return check_patterns(s, o, engine_program(e));
    }
    list_items(&s->arena, e, 0, 0, &items);
    if (!check_patterns(s, o, engine_program(e)) || !state_file_read(&s->diag, &s->arena, o->load, &items, &unknown) ||
        !check_items(s, o, engine_program(e), &items, &unknown))
        return false;
    take_items(e, o, &items, steps);
    const struct state_item *const run_steps = &items.data[items.count - 2];
    if (o->trains && run_steps->outcome != STEPC_LOADED)
        take_counted(s, o, m, engine_program(e), &items, steps);
    o->loaded_batch = tensor_get_int(items.data[items.count - 1].tensor, 0);
    warn_of_batch(s, o, *steps);
    return *steps >= 0 ||
           diag_error(&s->diag, &LOC_FILE(o->load), "the state says it has been through %lld steps", (long long)*steps);
}
