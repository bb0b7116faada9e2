#include "foreign/fill_internal.h"

#include "base/checked.h"
#include "foreign/give.h"

#include <math.h>
#include <string.h>

enum { MOST_LISTED = 8, MOST_STEPS = 1 << 30 };

struct filler {
    struct diag *diag;
    struct arena *arena;
    struct loc loc; /* the checkpoint */
    struct model *model;
    struct checkpoint *checkpoint;
    const struct fill_options *options;
    struct strbuf *report;
    struct updates updates;
    struct filled *out;
    struct map weights; /* of the checkpoint: name -> const struct tensor * */
    struct map of_file; /* the checkpoint's name -> struct model_initializer * of the main graph */
    struct map aliases; /* of the checkpoint */
    struct weight_ways ways;
    struct map firsts;  /* counter -> what it has before the first step, int64_t * */
    bool stays;         /* the optimizer's variables held something before */
    bool keeps;         /* and does so, since the checkpoint has nothing of one */
    bool counted;       /* the counters were set, by `count` */
    size_t kept;        /* tensors that the checkpoint's optimizer keeps */
    int64_t count;      /* steps that the optimizer has made */
    bool knows_steps;   /* how many steps were made */
};

/* ---- what all parts need ----------------------------------------------------------------------------------------- */

static bool is_reset(const struct filler *f, const char *name, bool is_optimizer)
{
    vec_each(const char *, glob, &f->options->reset)
        if (str_equal(glob, "optimizer") ? is_optimizer : str_glob(glob, name))
            return true;
    return false;
}

static bool misfit(struct filler *f, const char *text)
{
    return f->options->weights.partial ? diag_warning(f->diag, &f->loc, "%s", text)
                                       : diag_error(f->diag, &f->loc, "%s", text);
}

static const char *type_text(struct arena *a, const struct tensor *t)
{
    return arena_printf(a, "%s%s", dtype_name(t->dtype), shape_text(a, &t->shape));
}

/* "a, b and 3 more" */
static const char *listed(struct arena *a, const str_list *names)
{
    struct strbuf b = {.arena = a};
    for (size_t i = 0; i < names->count && i < MOST_LISTED; i++)
        strbuf_addf(&b, "%s%s", i > 0 ? ", " : "", names->data[i]);
    if (names->count > MOST_LISTED)
        strbuf_addf(&b, " and %zu more", names->count - MOST_LISTED);
    return strbuf_text(&b);
}

bool stands_transposed(const struct weight_options *o, const char *name, const struct tensor *in_file,
                       const struct tensor *in_model)
{
    bool forced = false;
    vec_each(const char *, pattern, &o->transpose)
        forced = forced || str_glob(pattern, name);
    return shape_is_transposed(&in_file->shape, &in_model->shape) &&
           (forced || !shape_equal(&in_file->shape, &in_model->shape));
}

static void note_set(struct filler *f, const struct model_initializer *x)
{
    map_set(&f->out->set, x->name, x->tensor);
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static bool any_name_fits(const struct filler *f)
{
    vec_each_ptr(const struct named_tensor, t, &f->checkpoint->weights)
        if (map_has(&f->of_file, t->name))
            return true;
    return false;
}

/* Checkpoints may have two names for a weight, as TensorFlow's do: the second ones, if any is in the model. */
static bool take_other_names(struct filler *f)
{
    struct checkpoint *const c = f->checkpoint;
    struct map others = {.arena = f->arena};
    bool fits = false;
    for (size_t i = 0; i < c->other_names.count && i < c->weights.count; i++) {
        map_set(&others, c->weights.data[i].name, (void *)(uintptr_t)c->other_names.data[i]);
        fits = fits || map_has(&f->of_file, c->other_names.data[i]);
    }
    if (!fits || c->other_names.count != c->weights.count)
        return false;
    strbuf_addf(f->report, "names: its second ones, as '%s' for '%s'\n", c->other_names.data[0],
                c->weights.data[0].name);
    vec_each_ptr(struct named_tensor, t, &c->weights)
        t->name = map_get(&others, t->name);
    vec_each_ptr(struct checkpoint_parameter, p, &c->parameters)
        if (p->name && map_has(&others, p->name))
            p->name = map_get(&others, p->name);
    c->other_names = (str_list){0};
    return true;
}

/* "module." of DataParallel, "_orig_mod." of torch.compile, "model." of Lightning, "params/" of flax: all names have
 * it; else NULL. */
static const char *common_prefix(struct arena *a, const str_list *list)
{
    const char *const dot = list->count > 0 ? strpbrk(list->data[0], "./") : NULL;
    if (!dot || dot[1] == '\0')
        return NULL;
    const char *const prefix = arena_strndup(a, list->data[0], (size_t)(dot + 1 - list->data[0]));
    vec_each(const char *, name, list)
        if (!str_starts_with(name, prefix) || strlen(name) == strlen(prefix))
            return NULL;
    return prefix;
}

static const char *common_prefix_of_weights(struct filler *f)
{
    str_list names = {0};
    vec_each_ptr(const struct named_tensor, t, &f->checkpoint->weights)
        vec_push(f->arena, &names, t->name);
    return common_prefix(f->arena, &names);
}

static void drop_prefix(struct checkpoint *c, const char *prefix)
{
    const size_t n = strlen(prefix);
    vec_each_ptr(struct named_tensor, t, &c->weights)
        t->name += n;
    for (size_t i = 0; i < c->aliases.count; i++)
        c->aliases.data[i] += n;
    vec_each_ptr(struct checkpoint_parameter, p, &c->parameters)
        if (p->name && str_starts_with(p->name, prefix))
            p->name += n;
}

static void match_names(struct filler *f)
{
    enum { MOST_PREFIXES = 8 };
    str_list *const others = &f->checkpoint->other_names;
    for (int i = 0; i < MOST_PREFIXES; i++) {
        if (any_name_fits(f) || take_other_names(f))
            return;
        const char *const prefix = common_prefix_of_weights(f), *const other = common_prefix(f->arena, others);
        if (!prefix && !other)
            return;
        for (size_t k = 0; other && k < others->count; k++)
            others->data[k] += strlen(other);
        if (!prefix)
            continue;
        drop_prefix(f->checkpoint, prefix);
        strbuf_addf(f->report, "names: without '%s', with which all begin\n", prefix);
    }
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

/* Those that the model can have no use for: other names of tied weights, counters of BatchNorm. */
static bool is_passed_over(const struct filler *f, const char *name)
{
    return !map_has(&f->of_file, name) &&
           (str_ends_with(name, "num_batches_tracked") || map_has(&f->aliases, name));
}

/* A square matrix says nothing about itself: where others stand transposed, it may, too. So may any of TensorFlow's
 * where nothing that reads it says how it stands. */
static void warn_of_squares(struct filler *f, bool others)
{
    str_list squares = {0};
    for (size_t i = 0; (others || f->checkpoint->channels_last) && i < f->of_file.count; i++) {
        const struct model_initializer *const x = f->of_file.entries[i].value;
        const struct tensor *const t = map_get(&f->weights, f->of_file.entries[i].key);
        if (t && t->shape.rank == 2 && shape_is_transposed(&t->shape, &x->tensor->shape) &&
            t->shape.dim[0] == t->shape.dim[1] && t->shape.dim[0] > 1 &&
            weight_way(&f->ways, x->name) != WAY_AS_IT_STANDS &&
            !stands_transposed(&f->options->weights, x->name, t, x->tensor))
            vec_push(f->arena, &squares, x->name);
    }
    if (squares.count > 0)
        diag_warning(f->diag, &f->loc,
                     "%s %s %s square and taken as %s; --transpose NAME turns it",
                     others ? "others are transposed here, but" : "no operator says how a matrix stands, and",
                     listed(f->arena, &squares), squares.count == 1 ? "is" : "are",
                     squares.count == 1 ? "it stands" : "they stand");
}

/* Of a training model: what training writes, and what the checkpoint has; constants stay. */
static bool wants(const struct filler *f, const struct model_initializer *x, const char *name)
{
    const bool is_ours = map_has(&f->options->sums, x->name) || str_ends_with(x->name, ".average");
    if (is_reset(f, x->name, false) || (is_ours && !map_has(&f->weights, name)))
        return false;
    return f->model->training.count == 0 || map_has(&f->updates.bound, x->name) || map_has(&f->weights, name);
}

/* Both have what the other has not: constants were folded in the export, most likely. */
static void note_strangers(struct filler *f, const struct model *part, const named_tensors *tensors)
{
    str_list no_place = {0}, not_given = {0};
    vec_each_ptr(const struct named_tensor, t, tensors)
        if (!map_has(&f->of_file, t->name))
            vec_push(f->arena, &no_place, t->name);
    vec_each(const struct model_initializer *, x, &part->graph->initializers)
        if (dtype_is_float(x->tensor->dtype) && x->tensor->count > 1 &&
            !map_has(&f->weights, weights_renamed(f->arena, &f->options->weights, x->name, NULL)))
            vec_push(f->arena, &not_given, x->name);
    if (no_place.count == 0)
        return;
    if (f->checkpoint->other_names.count > 0)
        diag_note(f->diag, &f->loc, "its tensors have second names, which --rename may use as well: %s",
                  listed(f->arena, &f->checkpoint->other_names));
    diag_note(f->diag, &f->loc,
              "%zu of its tensors have no place in the model: %s%s; an export that folds constants makes new weights "
              "of several, as of a convolution and the normalization behind it: examples/pytorch/export.py exports the "
              "network as it trains, with the names of the checkpoint",
              no_place.count, listed(f->arena, &no_place),
              not_given.count == 0 ? ""
                                   : arena_printf(f->arena, "; it has %zu that the checkpoint does not give: %s",
                                                  not_given.count, listed(f->arena, &not_given)));
}

static bool fill_weights(struct filler *f)
{
    struct model part = {.file = f->model->file, .graph = model_graph_new(f->arena, f->model->graph->name)};
    named_tensors tensors = {0};
    bool transposes = false;
    if (f->checkpoint->weights.count == 0) {
        strbuf_add(f->report, "weights: those of the model, since the checkpoint has none\n");
        return diag_warning(f->diag, &f->loc,
                            "it has no weights, only what an optimizer keeps: those of the model stay, which are not "
                            "those that were trained; they may be in a file beside it");
    }
    vec_each(struct model_initializer *, x, &f->model->graph->initializers) {
        const char *const name = weights_renamed(f->arena, &f->options->weights, x->name, NULL);
        const struct tensor *const t = map_get(&f->weights, name);
        if (!wants(f, x, name))
            continue;
        vec_push(f->arena, &part.graph->initializers, x);
        transposes = transposes || (t && stands_transposed(&f->options->weights, x->name, t, x->tensor));
    }
    vec_each_ptr(const struct named_tensor, t, &f->checkpoint->weights) {
        const struct model_initializer *const x = map_get(&f->of_file, t->name);
        if (!is_passed_over(f, t->name) && !(x && is_reset(f, x->name, false)))
            vec_push(f->arena, &tensors, *t);
    }
    warn_of_squares(f, transposes);
    if (!weights_set(f->diag, f->arena, &part, f->checkpoint->path, &tensors, &f->options->weights, f->report)) {
        note_strangers(f, &part, &tensors);
        return false;
    }
    vec_each(const struct model_initializer *, x, &part.graph->initializers)
        if (map_has(&f->weights, weights_renamed(f->arena, &f->options->weights, x->name, NULL)))
            note_set(f, x);
    return true;
}

/* Sums that the checkpoint does not have: it was written between two steps. */
static void clear_sums(struct filler *f)
{
    vec_each(struct model_initializer *, x, &f->model->graph->initializers) {
        if (!map_has(&f->options->sums, x->name) || map_has(&f->out->set, x->name) || is_reset(f, x->name, false))
            continue;
        x->tensor = tensor_new(f->arena, x->tensor->dtype, &x->tensor->shape);
        x->external_location = NULL;
        note_set(f, x);
    }
}

/* --ema: averages that the checkpoint does not have begin with its weights. */
static void start_averages(struct filler *f)
{
    str_list names = {0};
    vec_each(struct model_initializer *, x, &f->model->graph->initializers) {
        if (!str_ends_with(x->name, ".average") || map_has(&f->out->set, x->name) || is_reset(f, x->name, false))
            continue;
        const char *const weight = arena_strndup(f->arena, x->name, strlen(x->name) - strlen(".average"));
        const struct tensor *const t = map_get(&f->out->set, weight);
        if (!t || !map_has(&f->updates.bound, x->name) || t->dtype != x->tensor->dtype ||
            !shape_equal(&t->shape, &x->tensor->shape))
            continue;
        x->tensor = tensor_cast(f->arena, t, t->dtype);
        note_set(f, x);
        vec_push(f->arena, &names, x->name);
    }
    if (names.count > 0)
        strbuf_addf(f->report, "moving averages: they start from the checkpoint's weights (%zu)\n", names.count);
}

/* ---- the optimizer ----------------------------------------------------------------------------------------------- */

static bool set_state(struct filler *f, const char *variable, const struct tensor *t)
{
    struct model_initializer *const x = map_get(&f->updates.initializers, variable);
    if (!shape_equal(&t->shape, &x->tensor->shape) || !dtype_is_float(t->dtype) || !dtype_is_float(x->tensor->dtype))
        return misfit(f, arena_printf(f->arena, "'%s' is %s, but the checkpoint has %s for it", variable,
                                      type_text(f->arena, x->tensor), type_text(f->arena, t)));
    if (t->dtype == x->tensor->dtype) {
        x->tensor = tensor_new(f->arena, t->dtype, &t->shape);
        memcpy(x->tensor->data, t->data, tensor_bytes(t)); /* NaNs keep their bits */
    } else
        x->tensor = tensor_cast(f->arena, t, x->tensor->dtype);
    note_set(f, x);
    return true;
}

/* What PyTorch keeps for one weight. *left: what the model has no variable for. */
static bool fill_parameter(struct filler *f, const struct checkpoint_parameter *p, str_list *left, size_t *set)
{
    const struct model_initializer *const x = map_get(&f->of_file, p->name);
    const struct tensor *const weight = map_get(&f->weights, p->name);
    bool ok = true;
    vec_each_ptr(const struct named_tensor, t, &p->state) {
        const char *const variable = x ? updates_slot(&f->updates, x->name, t->name, &p->state) : NULL;
        if (!variable) {
            vec_push(f->arena, left, arena_printf(f->arena, "%s of '%s'", t->name, p->name));
            continue;
        }
        if (is_reset(f, variable, true))
            continue;
        const bool turns = t->tensor->shape.rank == 2 &&
                           stands_transposed(&f->options->weights, x->name, weight ? weight : t->tensor, x->tensor);
        ok = set_state(f, variable, turns ? tensor_transposed(f->arena, t->tensor) : t->tensor) && ok;
        (*set)++;
    }
    return ok;
}

static bool fill_states(struct filler *f)
{
    str_list left = {0};
    size_t set = 0;
    bool ok = true;
    vec_each_ptr(const struct checkpoint_parameter, p, &f->checkpoint->parameters)
        if (p->name)
            ok = fill_parameter(f, p, &left, &set) && ok;
    strbuf_addf(f->report, "optimizer: %zu tensors of %zu parameters\n", set, f->checkpoint->parameters.count);
    if (left.count > 0)
        diag_warning(f->diag, &f->loc, "the model has no variable for what the optimizer keeps: %s",
                     listed(f->arena, &left));
    return ok;
}

/* What the optimizer has counted, else what the file says. */
static double count_steps(struct filler *f)
{
    const struct checkpoint *const c = f->checkpoint;
    const double steps = checkpoint_steps(c, NULL), calls = checkpoint_calls(c);
    double least = NAN;
    vec_each_ptr(const struct checkpoint_parameter, p, &c->parameters)
        least = isnan(least) || p->steps < least ? p->steps : least;
    if (!isnan(least) && steps != least)
        diag_warning(f->diag, &f->loc,
                     "the optimizer has made from %g to %g steps with its parameters; the model counts "
                     "%g for all",
                     least, steps, steps);
    if (!isnan(steps) || isnan(calls) || isnan(checkpoint_stride(c, NULL)))
        return steps;
    strbuf_addf(f->report,
                "steps: %g, as often as the schedule was called; if that was once an epoch, --steps-made says them\n",
                calls);
    return calls;
}

/* Where data goes on `stepc run` has noted, which may be elsewhere: --reset optimizer, --from N. */
static bool take_run_steps(struct filler *f, int64_t *out)
{
    vec_each_ptr(const struct named_tensor, t, &f->checkpoint->own) {
        if (!str_equal(t->name, GIVEN_STEPS) || t->tensor->count != 1 || !dtype_is_int(t->tensor->dtype))
            continue;
        *out = tensor_get_int(t->tensor, 0);
        if (*out < 0 || *out > MOST_STEPS)
            return diag_error(f->diag, &f->loc, "%lld steps are no number of steps", (long long)*out);
    }
    return true;
}

static bool find_steps(struct filler *f, int64_t *out)
{
    const double steps = f->options->steps ? (double)*f->options->steps : count_steps(f);
    *out = 0;
    if (!isnan(steps) && !(steps >= 0 && steps <= MOST_STEPS && steps == floor(steps)))
        return diag_error(f->diag, &f->loc, "%g steps are no number of steps", steps);
    *out = isnan(steps) ? 0 : (int64_t)steps;
    f->knows_steps = !isnan(steps);
    if (isnan(steps) && f->updates.counters.count > 0)
        diag_warning(f->diag, &f->loc,
                     "it does not say how many steps were made: data and a schedule go on from their beginning; "
                     "--steps-made N says it ('stepc run --from N': of the data alone)%s",
                     f->kept > 0 ? ", the optimizer as after its first step" : "");
    f->count = isnan(steps) && f->kept > 0 ? 1 : *out; /* a momentum is there */
    return f->options->steps || take_run_steps(f, out);
}

/* What the counters had before the first step, and whether the model has gone on from there. */
static void find_firsts(struct filler *f)
{
    f->stays = !updates_is_fresh(&f->updates);
    for (size_t i = 0; i < f->updates.counters.count; i++) {
        const char *const name = f->updates.counters.entries[i].key;
        const struct model_initializer *const x = map_get(&f->updates.initializers, name);
        int64_t *const first = arena_new(f->arena, int64_t);
        *first = updates_first_count(&f->updates, name);
        map_set(&f->firsts, name, first);
        f->stays = f->stays || *first != tensor_get_int(x->tensor, 0);
    }
}

static bool fill_counters(struct filler *f)
{
    bool ok = true;
    f->counted = !is_reset(f, "", true);
    for (size_t i = 0; i < f->updates.counters.count; i++) {
        const char *const name = f->updates.counters.entries[i].key;
        struct model_initializer *const x = map_get(&f->updates.initializers, name);
        const int64_t first = *(const int64_t *)map_get(&f->firsts, name);
        if (is_reset(f, name, true))
            continue;
        int64_t sum;
        if (!checked_add(first, f->count, &sum) || dtype_wrap(x->tensor->dtype, sum) != sum) {
            ok = diag_error(f->diag, &x->loc, "'%s' %s counts from %lld: %lld more do not fit", name,
                            dtype_name(x->tensor->dtype), (long long)first, (long long)f->count);
            continue;
        }
        x->tensor = tensor_cast(f->arena, x->tensor, x->tensor->dtype);
        tensor_set_int(x->tensor, 0, sum);
        note_set(f, x);
        strbuf_addf(f->report, "step count: '%s' is %lld, after %lld step%s\n", name, (long long)sum,
                    (long long)f->count, str_plural((size_t)f->count));
    }
    return ok;
}

/* ---- what groups say --------------------------------------------------------------------------------------------- */

static bool is_among(const struct update_facts *ours, double x)
{
    for (size_t i = 0; i < ours->constants.count; i++)
        if ((float)ours->constants.data[i] == (float)x)
            return true;
    return false;
}

/* A number of the checkpoint's optimizer that the model has otherwise, told once for each value. */
static void compare_number(struct filler *f, struct map *told, const char *key, double theirs,
                           const struct update_facts *facts)
{
    const double ours = checkpoint_number(&facts->numbers, key, NAN);
    if (isnan(theirs) || (float)theirs == (float)ours || (isnan(ours) && (theirs == 0 || is_among(facts, theirs))))
        return;
    const char *const text =
        isnan(ours)
            ? arena_printf(f->arena, "the optimizer's %s was %g; the model's updates have none", key, theirs)
            : arena_printf(f->arena, "the optimizer's %s was %g; the model's updates have %g", key, theirs, ours);
    if (!map_has(told, text))
        diag_warning(f->diag, &f->loc, "%s", text);
    map_set(told, text, NULL);
}

static void compare_group(struct filler *f, struct map *told, const checkpoint_numbers *theirs,
                          const struct update_facts *ours)
{
    static const char *const keys[] = {"beta1", "beta2", "eps", "weight_decay", "momentum", "lr_decay"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        compare_number(f, told, keys[i], checkpoint_number(theirs, keys[i], NAN), ours);
    if (checkpoint_number(theirs, "maximize", 0) != 0 && !map_has(told, "maximize"))
        diag_warning(f->diag, &f->loc, "the optimizer maximized; the model's updates minimize");
    map_set(told, "maximize", NULL);
}

static void set_rate(struct filler *f, struct map *rates, const char *name, double x, const char *weight)
{
    struct model_initializer *const init = map_get(&f->updates.initializers, name);
    double *const before = map_get(rates, name);
    if (!init || init->tensor->count != 1 || !dtype_is_float(init->tensor->dtype) || is_reset(f, name, false))
        return;
    if (before) {
        if (*before != x)
            diag_warning(f->diag, &f->loc,
                         "'%s' had learning rate %g; the model has one, '%s', for it and others: %g is taken", weight,
                         x, name, *before);
        return;
    }
    double *const kept = arena_new(f->arena, double);
    *kept = x;
    map_set(rates, name, kept);
    init->tensor = tensor_cast(f->arena, init->tensor, init->tensor->dtype);
    tensor_set_double(init->tensor, 0, x);
    note_set(f, init);
    strbuf_addf(f->report, "learning rate: '%s' is %g\n", name, x);
}

const char *checkpoint_rate_key(const checkpoint_numbers *group, bool scheduled)
{
    static const char *const bases[] = {"max_lr", "initial_lr"};
    for (size_t i = 0; scheduled && i < 2; i++)
        if (!isnan(checkpoint_number(group, bases[i], NAN)))
            return bases[i];
    return "lr";
}

/* scheduled: the model has one, too; rated: its learning rate is a variable. */
static void warn_of_schedule(struct filler *f, bool scheduled, bool rated)
{
    const struct checkpoint *const c = f->checkpoint;
    const double calls = checkpoint_calls(c), stride = checkpoint_stride(c, f->options->steps);
    const char *const name = c->schedule_name ? arena_printf(f->arena, ", %s,", c->schedule_name) : "";
    if (c->has_schedule && !scheduled && rated)
        diag_warning(f->diag, &f->loc,
                     "it has a schedule%s and the model has none: the learning rate stays as it was; 'stepc "
                     "prepare --from' takes schedules over",
                     name);
    if (!c->has_schedule || !scheduled || isnan(calls) || (f->knows_steps && calls == (double)f->out->steps))
        return;
    if (!f->knows_steps)
        diag_warning(f->diag, &f->loc,
                     "its schedule%s was called %g times, once an epoch most likely; that of the model goes by steps, "
                     "which nobody has counted",
                     name, calls);
    else
        diag_warning(f->diag, &f->loc,
                     "its schedule%s was called %g times, its optimizer made %lld steps%s; that of the model goes by "
                     "the steps",
                     name, calls, (long long)f->out->steps,
                     stride > 1 ? arena_printf(f->arena, ", %g for a call", stride) : "");
}

static void fill_groups(struct filler *f)
{
    struct map told = {.arena = f->arena}, rates = {.arena = f->arena};
    bool scheduled = false, rated = false, said = false;
    vec_each_ptr(const struct checkpoint_parameter, p, &f->checkpoint->parameters) {
        const struct model_initializer *const x = p->name ? map_get(&f->of_file, p->name) : NULL;
        const checkpoint_numbers *const group = &f->checkpoint->groups.data[p->group].numbers;
        struct update_facts facts;
        if (!x || !map_has(&f->updates.bound, x->name))
            continue;
        updates_facts(&f->updates, x->name, &facts);
        compare_group(f, &told, group, &facts);
        const double rate = checkpoint_number(group, checkpoint_rate_key(group, facts.scheduled != NULL), NAN);
        if (facts.rate && !isnan(rate))
            set_rate(f, &rates, facts.rate, rate, p->name);
        scheduled = scheduled || facts.scheduled != NULL;
        rated = rated || facts.rate || !isnan(facts.fixed_rate);
        said = said || !isnan(rate);
    }
    if (!said && f->checkpoint->anonymous)
        strbuf_add(f->report, "learning rate: that of the model, since the checkpoint says none\n");
    warn_of_schedule(f, scheduled, rated);
}

/* ---- what is missing --------------------------------------------------------------------------------------------- */

static bool list_missing(struct filler *f)
{
    str_list missing = {0};
    for (size_t i = 0; i < f->updates.bound.count; i++) {
        const char *const name = f->updates.bound.entries[i].key;
        if (updates_is_state(&f->updates, name) && !map_has(&f->out->set, name) && !is_reset(f, name, true))
            vec_push(f->arena, &missing, name);
    }
    if (missing.count == 0)
        return true;
    const char *const cure = f->out->steps == 0 ? "" : "; 'stepc run --load FILE --reset optimizer' starts it anew";
    return misfit(f, arena_printf(f->arena, "what the model's optimizer keeps is not in it: %s%s",
                                  listed(f->arena, &missing), cure));
}

/* Weights alone, into a model that another checkpoint has filled. The note of its steps is of what stays. */
static bool keep_optimizer(struct filler *f)
{
    const int64_t made = checkpoint_steps_of_model(f->model);
    strbuf_addf(f->report,
                "optimizer: what the model has of one stays, after %lld step%s, since the checkpoint has no state of "
                "one; it starts anew in a model that is prepared again\n",
                (long long)made, str_plural((size_t)made));
    f->keeps = true;
    if (f->options->steps || !isnan(count_steps(f)))
        return find_steps(f, &f->out->steps);
    f->out->steps = made;
    f->knows_steps = true;
    return true;
}

static bool fill_optimizer(struct filler *f)
{
    const bool trains = f->model->training.count > 0;
    if (trains && !f->checkpoint->has_optimizer && f->stays)
        return keep_optimizer(f);
    if (trains && !f->checkpoint->has_optimizer)
        strbuf_add(f->report, "optimizer: it starts anew, since the checkpoint has no state of one\n");
    if (!trains && f->checkpoint->has_optimizer)
        strbuf_add(f->report, "optimizer: not taken, since the model has none; 'stepc prepare --from' adds one\n");
    if (!trains || !f->checkpoint->has_optimizer || is_reset(f, "", true))
        return find_steps(f, &f->out->steps);
    if (!checkpoint_name_parameters(f->diag, f->arena, f->model, f->checkpoint, f->options, f->report) ||
        !find_steps(f, &f->out->steps))
        return false;
    vec_each_ptr(const struct checkpoint_parameter, p, &f->checkpoint->parameters)
        if (!p->name)
            return true; /* it was said that the optimizer starts anew */
    bool ok = fill_states(f);
    ok = fill_counters(f) && ok;
    fill_groups(f);
    return ok && (f->checkpoint->parameters.count == 0 || list_missing(f));
}

/* ---- the steps made ---------------------------------------------------------------------------------------------- */

static void note_steps(struct filler *f)
{
    model_pairs *const notes = &f->model->metadata;
    for (size_t i = notes->count; i-- > 0;)
        if (str_equal(notes->data[i].key, METADATA_STEPS_MADE) || str_equal(notes->data[i].key, METADATA_STEPS_COUNTED))
            vec_remove(notes, i);
    if (f->model->training.count == 0)
        return;
    if (f->out->steps > 0)
        vec_push(f->arena, notes,
                 ((struct model_pair){METADATA_STEPS_MADE, arena_printf(f->arena, "%lld", (long long)f->out->steps)}));
    if (f->counted && f->count != f->out->steps)
        vec_push(f->arena, notes,
                 ((struct model_pair){METADATA_STEPS_COUNTED, arena_printf(f->arena, "%lld", (long long)f->count)}));
}

/* -1: there is no such note. */
static int64_t noted(const struct model *m, const char *key)
{
    long long steps;
    vec_each_ptr(const struct model_pair, x, &m->metadata)
        if (str_equal(x->key, key) && str_to_int64(x->value, &steps) && steps >= 0 && steps <= MOST_STEPS)
            return steps;
    return -1;
}

int64_t checkpoint_steps_of_model(const struct model *m)
{
    const int64_t steps = noted(m, METADATA_STEPS_MADE);
    return steps > 0 ? steps : 0;
}

int64_t checkpoint_counted_of_model(const struct model *m)
{
    const int64_t counted = noted(m, METADATA_STEPS_COUNTED);
    return counted >= 0 ? counted : checkpoint_steps_of_model(m);
}

bool checkpoint_fill(struct diag *d, struct arena *a, struct model *m, struct checkpoint *c,
                     const struct fill_options *o, struct strbuf *report, struct filled *out)
{
    struct filler f = {.diag = d,
                       .arena = a,
                       .loc = LOC_FILE(c->path),
                       .model = m,
                       .checkpoint = c,
                       .options = o,
                       .report = report,
                       .out = out,
                       .weights.arena = a,
                       .of_file.arena = a,
                       .aliases.arena = a,
                       .firsts.arena = a};
    vec_each_ptr(const struct checkpoint_parameter, p, &c->parameters)
        f.kept += p->state.count;
    struct fill_options own = *o;
    weights_as_noted(a, m, true, &o->weights, &own.weights);
    f.options = &own;
    updates_find(a, m, &f.updates);
    find_firsts(&f);
    vec_each(struct model_initializer *, x, &m->graph->initializers)
        map_set(&f.of_file, weights_renamed(a, &o->weights, x->name, NULL), x);
    match_names(&f);
    weight_ways_find(a, m, c, &f.ways);
    checkpoint_lay_out_kernels(d, a, &f.of_file, c, &f.ways, &own.weights, report);
    if (!checkpoint_join_recurrent(d, a, m, c, f.options, m->training.count > 0 && !is_reset(&f, "", true), report))
        return false;
    vec_each_ptr(const struct named_tensor, t, &c->weights)
        map_set(&f.weights, t->name, (void *)(uintptr_t)t->tensor);
    vec_each(const char *, name, &c->aliases)
        map_set(&f.aliases, name, NULL);
    if (!fill_weights(&f) || !fill_optimizer(&f))
        return false;
    out->nothing = true;
    for (size_t i = 0; i < out->set.count; i++)
        out->nothing = out->nothing && map_has(&f.updates.counters, out->set.entries[i].key);
    clear_sums(&f);
    start_averages(&f);
    if (!f.keeps)
        note_steps(&f);
    out->own = c->own;
    vec_each(const char *, note, &c->notes)
        strbuf_addf(report, "%s\n", note);
    if (c->rest.count > 0)
        strbuf_addf(report, "passed over: %s\n", listed(a, &c->rest));
    return true;
}
