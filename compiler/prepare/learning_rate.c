/* --schedule: the learning rate of a step is the variable `learning_rate` times a factor, which depends on the number s
 * of steps done before. So the base rate can be set at run time, and a reloaded state goes on where it was.
 *
 *   step     gamma ^ floor(s / every)
 *   cosine   floor + (1 - floor) (1 + cos(pi u)) / 2,   u = (s - warmup) / (steps - warmup) within [0, 1]
 *   linear   1 - u
 *   warmup   of cosine and linear: not above (s + 1) / warmup
 *
 * In double, since s may exceed 2^24; a few operations a step. */
#include "prepare/prepare_internal.h"
#include "prepare/spec.h"

#include <stddef.h>
#include <string.h>

#define PI 3.14159265358979323846
#define FIELD(f) offsetof(struct rate_schedule, f)
#define MOST_STEPS 1e15
#define STEPS(name, from) {#name, FIELD(name), .low = (from), .high = MOST_STEPS, .whole = true, .required = (from) > 0}

static const struct spec_rule rules[SCHEDULE_COUNT] = {
    {"constant", {{0}}},
    {"step", {STEPS(every, 1), {"gamma", FIELD(gamma), .usual = 0.1, .high = 1e6}}},
    {"cosine", {STEPS(steps, 1), {"floor", FIELD(floor), .high = 1}, STEPS(warmup, 0)}},
    {"linear", {STEPS(steps, 1), STEPS(warmup, 0)}},
};

static const struct spec_table table = {"--schedule", "schedule", rules, SCHEDULE_COUNT};

bool schedule_parse(struct diag *d, struct arena *a, const char *text, struct rate_schedule *out)
{
    size_t kind;
    *out = (struct rate_schedule){0};
    if (!spec_parse(d, a, &table, text, &kind, out))
        return false;
    out->kind = (enum schedule_kind)kind;
    if (out->steps > 0 && out->warmup >= out->steps)
        return diag_error(d, NULL, "--schedule %s: warmup=%g is not less than steps=%g, which includes it",
                          rules[kind].name, out->warmup, out->steps);
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static const char *number(struct preparer *p, const char *wish, double x)
{
    return add_scalar(p, wish, DTYPE_DOUBLE, x);
}

/* u */
static const char *add_progress(struct preparer *p, const char *s)
{
    const struct rate_schedule *const o = &p->options->schedule;
    if (o->warmup > 0)
        s = add_op(p, "steps_after_warmup", "Sub", s, number(p, "warmup", o->warmup));
    const char *const u = add_op(p, "progress", "Div", s, number(p, "steps_to_go", o->steps - o->warmup));
    const char *const low = add_op(p, "progress", "Max", u, number(p, "zero_double", 0));
    return add_op(p, "progress", "Min", low, number(p, "one_double", 1));
}

static const char *add_cosine(struct preparer *p, const char *u)
{
    const double floor = p->options->schedule.floor;
    const char *const angle = add_op(p, "angle", "Mul", u, number(p, "pi", PI));
    const char *const wave = add_op(p, "wave", "Cos", angle);
    const char *const raised = add_op(p, "raised_wave", "Add", wave, number(p, "one_double", 1));
    const char *const scaled = add_op(p, "scaled_wave", "Mul", raised, number(p, "half_range", (1 - floor) / 2));
    return floor == 0 ? scaled : add_op(p, "wave_above_floor", "Add", scaled, number(p, "rate_floor", floor));
}

static const char *add_staircase(struct preparer *p, const char *s)
{
    const struct rate_schedule *const o = &p->options->schedule;
    const char *const turns = add_op(p, "turns", "Div", s, number(p, "every", o->every));
    return add_op(p, "rate_factor", "Pow", number(p, "gamma", o->gamma), add_op(p, "turn", "Floor", turns));
}

const char *add_schedule(struct preparer *p, const char *step, int64_t first)
{
    const struct rate_schedule *const o = &p->options->schedule;
    if (o->kind == SCHEDULE_CONSTANT)
        return NULL;
    const char *s = add_cast(p, "steps_done", step, DTYPE_DOUBLE);
    if (first != 0)
        s = add_op(p, "steps_done", "Sub", s, number(p, "first_step", (double)first));
    say(p, "schedule: %s, a factor for the learning rate", rules[o->kind].name);
    if (o->kind == SCHEDULE_STEP)
        return add_staircase(p, s);
    const char *const u = add_progress(p, s);
    const char *const factor = o->kind == SCHEDULE_COSINE
                                   ? add_cosine(p, u)
                                   : add_op(p, "rate_factor", "Sub", number(p, "one_double", 1), u);
    if (o->warmup == 0)
        return factor;
    const char *const next = add_op(p, "next_step", "Add", s, number(p, "one_double", 1));
    const char *const rise = add_op(p, "rise", "Div", next, number(p, "warmup", o->warmup));
    return add_op(p, "rate_factor", "Min", rise, factor);
}
