#include "prepare/from_checkpoint.h"

#include <math.h>
#include <string.h>

struct taker {
    struct diag *diag;
    struct arena *arena;
    struct loc loc;
    struct checkpoint *checkpoint;
    struct prepare_options *options;
    struct strbuf *report;
    const checkpoint_numbers *numbers; /* of the first group */
    const int64_t *steps_made;         /* as --steps-made says; NULL: the checkpoint says it */
};

static bool has(const struct taker *t, const char *key)
{
    return !isnan(checkpoint_number(t->numbers, key, NAN));
}

static double number(const struct taker *t, const char *key)
{
    return checkpoint_number(t->numbers, key, 0);
}

static bool keeps(const struct taker *t, const char *key)
{
    vec_each_ptr(const struct checkpoint_parameter, p, &t->checkpoint->parameters)
        vec_each_ptr(const struct named_tensor, x, &p->state)
            if (str_equal(x->name, key))
                return true;
    return false;
}

static bool any_decays(const struct taker *t)
{
    vec_each_ptr(const struct checkpoint_group, g, &t->checkpoint->groups)
        if (checkpoint_number(&g->numbers, "weight_decay", 0) != 0)
            return true;
    return false;
}

/* ---- the optimizer ----------------------------------------------------------------------------------------------- */

/* Adam adds its decay to the gradient, AdamW takes it from the weight; the state says which since PyTorch 2.7 only. */
static bool find_decoupling(const struct taker *t, bool *decoupled)
{
    *decoupled = number(t, "decoupled_weight_decay") != 0;
    if (has(t, "decoupled_weight_decay") || !any_decays(t))
        return true;
    *decoupled = true;
    if (!isnan(t->checkpoint->most_steps)) { /* of Hugging Face's Trainer, which has AdamW */
        strbuf_add(t->report, "optimizer: taken for AdamW, as Trainer has it\n");
        return true;
    }
    double most = 0;
    vec_each_ptr(const struct checkpoint_group, g, &t->checkpoint->groups)
        most = fmax(most, checkpoint_number(&g->numbers, "weight_decay", 0));
    return diag_error(t->diag, &t->loc,
                      "weight decay %g may be Adam's or AdamW's, which the checkpoint does not say; --optimizer "
                      "adamw:weight_decay=%g is AdamW, --optimizer adamw:weight_decay=0,norm_coefficient=%g Adam",
                      most, most, most);
}

static bool is_one_of(const char *const *names, const char *name)
{
    while (*names && !str_equal(*names, name))
        names++;
    return *names != NULL;
}

/* Has the list any number that is none of these? */
static bool has_others(const checkpoint_numbers *numbers, const char *const *known)
{
    vec_each_ptr(const struct checkpoint_number, x, numbers)
        if (!is_one_of(known, x->key))
            return true;
    return false;
}

/* By what PyTorch's own have; transformers.AdamW is the one that may correct no bias. NULL: somebody else's. */
static const char *adam_name(const struct taker *t)
{
    static const char *const radam[] = {"lr", "initial_lr", "betas", "beta1", "beta2", "eps", "weight_decay",
                                        "decoupled_weight_decay", "foreach", "maximize", "capturable",
                                        "differentiable", NULL};
    if (keeps(t, "exp_inf"))
        return "adamax";
    if (has(t, "momentum_decay"))
        return "nadam";
    if (has(t, "amsgrad") || number(t, "correct_bias") != 0)
        return "adamw";
    if (!has(t, "eps"))
        return "lion";
    return has_others(t->numbers, radam) ? NULL : "radam";
}

static bool fail_to_tell(const struct taker *t)
{
    if (t->checkpoint->anonymous)
        return diag_error(t->diag, &t->loc,
                          "it has what an optimizer keeps, but says neither which it was nor its numbers; --optimizer "
                          "NAME says it%s",
                          keeps(t, "exp_avg_sq") ? ": adam:epsilon=1e-07 is Keras's Adam, adamw:weight_decay=0 optax's"
                                                 : "");
    return diag_error(t->diag, &t->loc,
                      "which optimizer has kept its state cannot be told; --optimizer NAME says it");
}

/* Adam and its relatives. */
static bool adam_text(const struct taker *t, const char **out)
{
    const char *const name = adam_name(t);
    bool decoupled = true;
    if (!name)
        return fail_to_tell(t);
    if (str_equal(name, "adamw") && !has(t, "correct_bias") && !find_decoupling(t, &decoupled))
        return false;
    if ((str_equal(name, "nadam") || str_equal(name, "radam")) && number(t, "decoupled_weight_decay") != 0 &&
        any_decays(t))
        return diag_error(t->diag, &t->loc, "its optimizer is %s with the weight decay of AdamW, which there is not",
                          name);
    const double decay = number(t, "weight_decay");
    struct strbuf b = {.arena = t->arena};
    strbuf_addf(&b, "%s:beta1=%.9g,beta2=%.9g", name, number(t, "beta1"), number(t, "beta2"));
    if (has(t, "eps"))
        strbuf_addf(&b, ",epsilon=%.9g", number(t, "eps"));
    if (str_equal(name, "adamw"))
        strbuf_addf(&b, ",weight_decay=%.9g,norm_coefficient=%.9g,amsgrad=%g", decoupled ? decay : 0,
                    decoupled ? 0 : decay, number(t, "amsgrad"));
    else
        strbuf_addf(&b, ",%s=%.9g", str_equal(name, "lion") ? "weight_decay" : "norm_coefficient", decay);
    if (str_equal(name, "nadam"))
        strbuf_addf(&b, ",momentum_decay=%.9g", number(t, "momentum_decay"));
    *out = strbuf_text(&b);
    return true;
}

static const char *sgd_text(const struct taker *t)
{
    const double momentum = number(t, "momentum"), decay = number(t, "weight_decay");
    if (momentum == 0)
        return arena_printf(t->arena, "sgd:norm_coefficient=%.9g", decay);
    return arena_printf(t->arena, "%s:alpha=%.9g,beta=%.9g,norm_coefficient=%.9g",
                        number(t, "nesterov") != 0 ? "nesterov" : "momentum", momentum, 1 - number(t, "dampening"),
                        decay);
}

/* As --optimizer has it. */
static bool optimizer_text(const struct taker *t, const char **out)
{
    if (t->checkpoint->anonymous)
        return fail_to_tell(t);
    if (number(t, "maximize") != 0)
        return diag_error(t->diag, &t->loc, "its optimizer maximizes, which there is not: negate the loss");
    if (has(t, "beta1"))
        return adam_text(t, out);
    if (has(t, "centered"))
        *out = arena_printf(t->arena, "rmsprop:alpha=%.9g,epsilon=%.9g,norm_coefficient=%.9g,momentum=%.9g,centered=%g",
                            number(t, "alpha"), number(t, "eps"), number(t, "weight_decay"), number(t, "momentum"),
                            number(t, "centered"));
    else if (has(t, "lr_decay"))
        *out = arena_printf(t->arena, "adagrad:decay_factor=%.9g,norm_coefficient=%.9g,epsilon=%.9g",
                            number(t, "lr_decay"), number(t, "weight_decay"), number(t, "eps"));
    else if (has(t, "momentum"))
        *out = sgd_text(t);
    else
        return fail_to_tell(t);
    return true;
}

static bool take_optimizer(const struct taker *t)
{
    const char *text = NULL;
    if (!optimizer_text(t, &text))
        return false;
    strbuf_addf(t->report, "from %s: --optimizer %s\n", t->checkpoint->path, text);
    return optimizer_parse(t->diag, t->arena, text, &t->options->optimizer);
}

/* ---- what --optimizer leaves out --------------------------------------------------------------------------------- */

/* Does the text have the key, as in "adamw:beta1=0.8,amsgrad=1"? */
static bool says(const char *text, const char *key)
{
    const size_t n = strlen(key);
    for (const char *at = strchr(text, ':'); at; at = strchr(at + 1, ','))
        if (strncmp(at + 1, key, n) == 0 && at[1 + n] == '=')
            return true;
    return false;
}

struct completion {
    const struct taker *taker;
    const char *text; /* of --optimizer */
    struct strbuf taken;
};

static void complete(struct completion *c, const char *key, double x)
{
    double *const own = optimizer_key(&c->taker->options->optimizer, key);
    if (!own || isnan(x) || says(c->text, key) || (float)*own == (float)x)
        return;
    *own = x;
    strbuf_addf(&c->taken, "%s%s=%.9g", c->taken.length > 0 ? ", " : "", key, x);
}

/* Which decay is AdamW's and which is added to the gradient: where the checkpoint does not say it, the optimizer that
 * was named does. */
static void complete_decay(struct completion *c)
{
    const struct taker *const t = c->taker;
    struct optimizer *const o = &t->options->optimizer;
    const bool both = optimizer_key(o, "weight_decay") && optimizer_key(o, "norm_coefficient"),
               decoupled = has(t, "decoupled_weight_decay") ? number(t, "decoupled_weight_decay") != 0
                                                            : optimizer_key(o, "weight_decay") != NULL;
    const double decay = checkpoint_number(t->numbers, "weight_decay", NAN);
    if (both && (says(c->text, "weight_decay") || says(c->text, "norm_coefficient")))
        return;
    if (both || decoupled)
        complete(c, "weight_decay", decoupled ? decay : 0);
    if (both || !decoupled)
        complete(c, "norm_coefficient", decoupled ? 0 : decay);
}

/* An optimizer of the same family as the checkpoint's: numbers that nobody said are the checkpoint's. */
static void complete_optimizer(const struct taker *t, const char *text)
{
    static const struct {
        const char *key, *theirs;
    } adam[] = {{"beta1", "beta1"},       {"beta2", "beta2"},     {"alpha", "beta1"},
                {"beta", "beta2"},        {"epsilon", "eps"},     {"momentum_decay", "momentum_decay"},
                {"amsgrad", "amsgrad"}},
      others[] = {{"epsilon", "eps"}, {"alpha", "alpha"}, {"centered", "centered"}, {"momentum", "momentum"},
                  {"decay_factor", "lr_decay"}};
    struct optimizer *const o = &t->options->optimizer;
    struct completion c = {.taker = t, .text = text, .taken.arena = t->arena};
    const bool is_adam = optimizer_key(o, "beta2") || o->kind == OPTIMIZER_ADAM,
               is_momentum = o->kind == OPTIMIZER_MOMENTUM || o->kind == OPTIMIZER_NESTEROV,
               is_plain = is_momentum || o->kind == OPTIMIZER_SGD,
               fits = t->checkpoint->anonymous ? is_adam
                      : is_adam  ? has(t, "beta1") && has(t, "eps") == (o->kind != OPTIMIZER_LION)
                      : is_plain ? has(t, "momentum") && !has(t, "centered")
                                 : has(t, o->kind == OPTIMIZER_RMSPROP ? "centered" : "lr_decay");
    if (!fits)
        return;
    for (size_t i = 0; is_adam && i < sizeof adam / sizeof *adam; i++)
        complete(&c, adam[i].key, checkpoint_number(t->numbers, adam[i].theirs, NAN));
    for (size_t i = 0; !is_adam && !is_momentum && i < sizeof others / sizeof *others; i++)
        complete(&c, others[i].key, checkpoint_number(t->numbers, others[i].theirs, NAN));
    if (is_momentum && number(t, "momentum") != 0) {
        complete(&c, "alpha", number(t, "momentum"));
        complete(&c, "beta", 1 - number(t, "dampening"));
    }
    complete_decay(&c);
    if (c.taken.length > 0)
        strbuf_addf(t->report, "from %s: %s, of which --optimizer says nothing\n", t->checkpoint->path,
                    strbuf_text(&c.taken));
}

/* ---- the schedule ------------------------------------------------------------------------------------------------ */

static const char *milestones_text(const struct taker *t, double stride)
{
    struct strbuf b = {.arena = t->arena};
    for (size_t i = 0; i < t->checkpoint->milestones.count; i++)
        strbuf_addf(&b, "%s%.0f", i > 0 ? "," : "", t->checkpoint->milestones.data[i] * stride);
    return strbuf_text(&b);
}

/* The shortest text that reads back as the same. */
static const char *exact(const struct taker *t, double x)
{
    for (int digits = 6;; digits++) {
        const char *const text = arena_printf(t->arena, "%.*g", digits, x);
        double again;
        if (digits == 17 || (str_to_double(text, &again) && again == x))
            return text;
    }
}

/* OneCycleLR: its state has the phases, the group the rates. */
static const char *cycle_text(const struct taker *t)
{
    const checkpoint_numbers *const s = &t->checkpoint->schedule;
    const double steps = checkpoint_number(s, "total_steps", NAN), end = checkpoint_number(s, "first_end", NAN),
                 phases = checkpoint_number(s, "phases", NAN), most = number(t, "max_lr"),
                 first = number(t, "initial_lr"), last = number(t, "min_lr");
    if (isnan(steps) || isnan(end) || (phases != 2 && phases != 3) || !(most > 0 && first > 0 && last > 0))
        return NULL;
    return arena_printf(t->arena,
                        "onecycle:steps=%.0f,pct_start=%s,div_factor=%s,final_div_factor=%s,linear=%g,three_phase=%d",
                        steps, exact(t, (end + 1) / steps), exact(t, most / first), exact(t, first / last),
                        checkpoint_number(s, "linear", 0), phases == 3);
}

/* ExponentialLR has nothing but its factor; others have one as well. */
static bool is_exponential(const checkpoint_numbers *s)
{
    static const char *const keys[] = {"gamma", "last_epoch", "base_lrs", "verbose", "_step_count", "_last_lr",
                                       "_get_lr_called_within_step", "_is_initial", NULL};
    return !isnan(checkpoint_number(s, "gamma", NAN)) && !has_others(s, keys);
}

/* As --schedule has it, in steps; NULL where none is equal. base: the rate that factors multiply. stride: steps from
 * one call to the next, between which PyTorch's rate stands still: *drifts, if this one does not. */
static const char *schedule_text(const struct taker *t, double base, double stride, bool *drifts)
{
    const checkpoint_numbers *const s = &t->checkpoint->schedule;
    const double gamma = checkpoint_number(s, "gamma", NAN), every = checkpoint_number(s, "step_size", NAN),
                 most = checkpoint_number(s, "T_max", NAN), least = checkpoint_number(s, "eta_min", 0),
                 total = checkpoint_number(s, "total_iters", NAN);
    *drifts = false;
    if (!isnan(checkpoint_number(s, "phases", NAN)))
        return stride == 1 ? cycle_text(t) : NULL;
    if (!isnan(gamma) && !isnan(every))
        return arena_printf(t->arena, "step:every=%.0f,gamma=%s", every * stride, exact(t, gamma));
    if (!isnan(gamma) && t->checkpoint->milestones.count > 0)
        return arena_printf(t->arena, "multistep:milestones=%s,gamma=%s", milestones_text(t, stride), exact(t, gamma));
    if (is_exponential(s))
        return stride == 1 ? arena_printf(t->arena, "exponential:gamma=%s", exact(t, gamma))
                           : arena_printf(t->arena, "step:every=%.0f,gamma=%s", stride, exact(t, gamma));
    *drifts = stride > 1;
    if (!isnan(most) && base > 0)
        return arena_printf(t->arena, "cosine:steps=%.0f,floor=%s", most * stride, exact(t, least / base));
    if (!isnan(total) && checkpoint_number(s, "start_factor", NAN) == 1 && checkpoint_number(s, "end_factor", NAN) == 0)
        return arena_printf(t->arena, "linear:steps=%.0f", total * stride);
    return NULL;
}

/* What the schedule does that its text does not say. */
static void warn_of_schedule(const struct taker *t)
{
    const checkpoint_numbers *const s = &t->checkpoint->schedule;
    const double least = checkpoint_number(s, "eta_min", 0);
    if (checkpoint_number(s, "cycle_momentum", 0) != 0)
        diag_warning(t->diag, &t->loc, "its schedule moves the %s as well, which stays what it is now: %g",
                     has(t, "beta1") ? "first beta" : "momentum", number(t, has(t, "beta1") ? "beta1" : "momentum"));
    vec_each_ptr(const struct checkpoint_group, g, &t->checkpoint->groups)
        if (least != 0 && checkpoint_number(&g->numbers, "initial_lr", 0) != number(t, "initial_lr")) {
            diag_warning(t->diag, &t->loc,
                         "its schedule ends at %g for each group; here it is a share of a group's own learning rate",
                         least);
            return;
        }
}

/* ", StepLR," or nothing. */
static const char *called(const struct taker *t)
{
    const char *const name = t->checkpoint->schedule_name;
    return name ? arena_printf(t->arena, ", %s,", name) : "";
}

/* Without the schedule. */
static bool leave_schedule(const struct taker *t, const char *why)
{
    const double most = t->checkpoint->most_steps;
    const char *const usual =
        isnan(most) ? ""
                    : arena_printf(t->arena, " (--schedule linear:steps=%.0f is Trainer's own without warm-up)", most);
    t->checkpoint->has_schedule = false; /* this is all that can be said of it */
    return diag_warning(t->diag, &t->loc,
                        "its schedule%s %s: the learning rate stays at %g; --schedule says another%s, "
                        "--learning-rate-input NAME leaves it to the program",
                        called(t), why, number(t, "lr"), usual);
}

static const char *why_none(const struct taker *t)
{
    const char *const name = t->checkpoint->schedule_name;
    if (!name)
        return "is a function, which a checkpoint does not hold, or one that --schedule has not";
    return str_starts_with(name, "LambdaLR") ? "is a function, which a checkpoint does not hold"
                                             : "has no equal among those of --schedule";
}

/* text: of the schedule in its own calls. */
static bool leave_epochs(const struct taker *t, const char *text)
{
    const double calls = checkpoint_calls(t->checkpoint), steps = checkpoint_steps(t->checkpoint, t->steps_made);
    if (isnan(steps))
        return leave_schedule(t, arena_printf(t->arena,
                                              "was called %g times, once an epoch, and how many steps an epoch has is "
                                              "not in the file (--steps-made N says how many were made; counted in "
                                              "epochs it is %s)",
                                              calls, text));
    return leave_schedule(t, arena_printf(t->arena,
                                          "was called %g times, its optimizer made %g steps: it counts epochs, and how "
                                          "many steps one has cannot be told (counted in epochs it is %s)",
                                          calls, steps, text));
}

static bool take_schedule(const struct taker *t)
{
    struct checkpoint *const c = t->checkpoint;
    const double base = checkpoint_number(&c->schedule, "base_lrs", checkpoint_number(t->numbers, "initial_lr", NAN)),
                 stride = checkpoint_stride(c, t->steps_made);
    bool drifts = false;
    const char *const text = schedule_text(t, base, isnan(stride) ? 1 : stride, &drifts);
    if (!text)
        return leave_schedule(t, why_none(t));
    if (isnan(stride))
        return leave_epochs(t, text);
    strbuf_addf(t->report, "from %s: --schedule %s\n", c->path, text);
    warn_of_schedule(t);
    if (stride > 1) {
        c->has_schedule = false; /* the counts are told here */
        diag_warning(t->diag, &t->loc,
                     "its schedule%s was called %g times, its optimizer made %g steps: a call is taken for %g "
                     "steps%s; --schedule says it otherwise, in steps",
                     called(t), checkpoint_calls(c), checkpoint_steps(c, t->steps_made), stride,
                     drifts ? ", between which its rate stood still, and here changes evenly" : "");
    }
    return schedule_parse(t->diag, t->arena, text, &t->options->schedule);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* NAN where it is that of the first group. */
static double own_number(const struct checkpoint_group *g, const char *key, double common)
{
    const double x = checkpoint_number(&g->numbers, key, NAN);
    return x == common ? NAN : x;
}

static void take_groups(const struct taker *t, const struct model *m, const struct fill_options *fill, const char *rate)
{
    struct map in_model = {.arena = t->arena}; /* name in the file -> that of the initializer */
    vec_each(const struct model_initializer *, x, &m->graph->initializers)
        map_set(&in_model, weights_renamed(t->arena, &fill->weights, x->name, NULL), (void *)(uintptr_t)x->name);
    for (size_t i = 1; i < t->checkpoint->groups.count; i++) {
        const struct checkpoint_group *const theirs = &t->checkpoint->groups.data[i];
        struct group g = {.title = arena_printf(t->arena, "group %zu of %s", i + 1, t->checkpoint->path),
                          .learning_rate = own_number(theirs, rate, number(t, rate)),
                          .weight_decay = own_number(theirs, "weight_decay", number(t, "weight_decay"))};
        vec_each_ptr(const struct checkpoint_parameter, p, &t->checkpoint->parameters)
            if (p->group == i && p->name) {
                /* what an export has made up gets its name by content */
                const bool there = map_has(&in_model, p->name);
                vec_push(t->arena, there ? &g.names : &g.later, there ? map_get(&in_model, p->name) : p->name);
            }
        if (g.names.count + g.later.count == 0 || (isnan(g.learning_rate) && isnan(g.weight_decay)))
            continue;
        strbuf_addf(t->report, "from %s: a --group of %zu tensors\n", t->checkpoint->path,
                    g.names.count + g.later.count);
        vec_push(t->arena, &t->options->groups, g);
    }
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

/* A file without a schedule may have been saved under one: by the rates it shows. */
static void warn_of_lost_schedule(const struct taker *t)
{
    const double base = checkpoint_number(t->numbers, "initial_lr", NAN);
    if (!isnan(base) && base != number(t, "lr"))
        diag_warning(t->diag, &t->loc,
                     "it was saved under a schedule, which it does not hold: the learning rate stays at %g, where the "
                     "schedule began with %g; --schedule says how it goes on",
                     number(t, "lr"), base);
}

bool options_from_checkpoint(struct diag *d, struct arena *a, const struct model *m, struct checkpoint *c,
                             const struct fill_options *fill, const struct given_options *given,
                             struct prepare_options *p, struct strbuf *report)
{
    struct taker t = {.diag = d,
                      .arena = a,
                      .loc = LOC_FILE(c->path),
                      .checkpoint = c,
                      .options = p,
                      .report = report,
                      .steps_made = fill->steps};
    p->from = c;
    if (!c->has_optimizer || c->groups.count == 0)
        return given->optimizer || diag_warning(d, &t.loc,
                                                "it has no state of an optimizer; --optimizer NAME says which "
                                                "one goes on");
    t.numbers = &c->groups.data[0].numbers;
    if (given->optimizer)
        complete_optimizer(&t, given->optimizer);
    if ((!given->optimizer && !take_optimizer(&t)) || (!given->schedule && c->has_schedule && !take_schedule(&t)))
        return false;
    if (!given->schedule && !given->learning_rate && !c->has_schedule && c->schedule.count == 0)
        warn_of_lost_schedule(&t);
    const char *const rate = checkpoint_rate_key(t.numbers, p->schedule.kind != SCHEDULE_CONSTANT);
    if (!given->learning_rate && has(&t, rate))
        p->learning_rate = number(&t, rate);
    if (given->groups || c->groups.count == 1)
        return true;
    if (!checkpoint_name_parameters(d, a, m, c, fill, report))
        return false;
    take_groups(&t, m, fill, rate);
    return true;
}
