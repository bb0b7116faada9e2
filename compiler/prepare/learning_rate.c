/* --schedule: the learning rate of a step is the variable `learning_rate` times a factor, which depends on the number s
 * of steps done before. So the base rate can be set at run time, and a reloaded state goes on where it was.
 *
 *   step         gamma ^ floor(s / every)
 *   multistep    gamma ^ (number of milestones <= s)
 *   exponential  gamma ^ s
 *   cosine       floor + (1 - floor) (1 + cos(pi u)) / 2,   u = (s - warmup) / (steps - warmup) within [0, 1]
 *   linear       1 - u
 *   warmup       of cosine and linear: not above (s + 1) / warmup
 *   onecycle     phases from one factor to the next: from + (to - from) w(u), u = (s - start) / (end - start) within
 *                [0, 1], w(u) = (1 - cos(pi u)) / 2, or u; written as a sum over phases, since w(0) = 0 and w(1) = 1
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
    {"multistep",
     {{"milestones", FIELD(milestones), .high = MOST_STEPS, .whole = true, .required = true, .list = true},
      {"gamma", FIELD(gamma), .usual = 0.1, .high = 1e6}}},
    {"exponential", {{"gamma", FIELD(gamma), .high = 1e6, .required = true}}},
    {"cosine", {STEPS(steps, 1), {"floor", FIELD(floor), .high = 1}, STEPS(warmup, 0)}},
    {"linear", {STEPS(steps, 1), STEPS(warmup, 0)}},
    {"onecycle",
     {STEPS(steps, 1),
      {"pct_start", FIELD(pct_start), .usual = 0.3, .high = 1},
      {"div_factor", FIELD(div_factor), .usual = 25, .low = 1, .high = 1e30},
      {"final_div_factor", FIELD(final_div_factor), .usual = 1e4, .low = 1, .high = 1e30},
      {"linear", FIELD(linear), .high = 1, .whole = true},
      {"three_phase", FIELD(three_phase), .high = 1, .whole = true}}},
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
    if (out->three_phase != 0 && out->pct_start > 0.5)
        return diag_error(d, NULL, "--schedule onecycle: pct_start=%g: three phases leave at most 0.5 for the first",
                          out->pct_start);
    return true;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

static const char *number(struct preparer *p, const char *wish, double x)
{
    return add_scalar(p, wish, DTYPE_DOUBLE, x);
}

/* (s - start) / length within [0, 1] */
static const char *add_progress(struct preparer *p, const char *s, const char *start_name, double start, double length)
{
    if (start != 0)
        s = add_op(p, arena_printf(p->arena, "steps_after_%s", start_name), "Sub", s, number(p, start_name, start));
    const char *const u = add_op(p, "progress", "Div", s, number(p, "steps_to_go", length));
    const char *const low = add_op(p, "progress", "Max", u, number(p, "zero_double", 0));
    return add_op(p, "progress", "Min", low, number(p, "one_double", 1));
}

/* cos(pi u) */
static const char *add_wave(struct preparer *p, const char *u)
{
    return add_op(p, "wave", "Cos", add_op(p, "angle", "Mul", u, number(p, "pi", PI)));
}

static const char *add_cosine(struct preparer *p, const char *u)
{
    const double floor = p->options->schedule.floor;
    const char *const raised = add_op(p, "raised_wave", "Add", add_wave(p, u), number(p, "one_double", 1));
    const char *const scaled = add_op(p, "scaled_wave", "Mul", raised, number(p, "half_range", (1 - floor) / 2));
    return floor == 0 ? scaled : add_op(p, "wave_above_floor", "Add", scaled, number(p, "rate_floor", floor));
}

/* gamma ^ n */
static const char *add_power(struct preparer *p, const char *n)
{
    return add_op(p, "rate_factor", "Pow", number(p, "gamma", p->options->schedule.gamma), n);
}

static const char *add_staircase(struct preparer *p, const char *s)
{
    const char *const turns = add_op(p, "turns", "Div", s, number(p, "every", p->options->schedule.every));
    return add_power(p, add_op(p, "turn", "Floor", turns));
}

static const char *add_milestones(struct preparer *p, const char *s)
{
    const spec_list *const at = &p->options->schedule.milestones;
    struct tensor *const t = tensor_new(p->arena, DTYPE_DOUBLE, &SHAPE((int64_t)at->count));
    for (size_t i = 0; i < at->count; i++)
        tensor_set_double(t, (int64_t)i, at->data[i]);
    const char *const ahead = add_op(p, "milestones_ahead", "Greater", add_tensor(p, "milestones", t), s);
    const char *const passed = add_op(p, "milestones_passed", "Not", ahead);
    const char *const ones = add_cast(p, "milestones_passed.double", passed, DTYPE_DOUBLE);
    return add_power(p, add_reduce(p, "turn", "ReduceSum", ones, -1));
}

/* rise w((s - start) / (end - start)) */
static const char *add_part(struct preparer *p, const char *s, double start, double end, double rise)
{
    const char *const share = add_progress(p, s, "phase", start, end - start);
    if (p->options->schedule.linear != 0)
        return add_op(p, "rise", "Mul", share, number(p, "whole_rise", rise));
    const char *const wave = add_op(p, "fallen_wave", "Sub", number(p, "one_double", 1), add_wave(p, share));
    return add_op(p, "rise", "Mul", wave, number(p, "half_rise", rise / 2));
}

/* sum + what a phase has changed at s. One that ends before the first step is over, one without length at the end of
 * all is not reached. */
static const char *add_phase(struct preparer *p, const char *s, const char *sum, double start, double end, double rise)
{
    if (end > 0 && end <= start)
        return sum;
    return add_op(p, "rate_factor", "Add", sum,
                  end <= 0 ? number(p, "whole_rise", rise) : add_part(p, s, start, end, rise));
}

/* As torch.optim.lr_scheduler.OneCycleLR, whose max_lr is the variable. */
static const char *add_cycle(struct preparer *p, const char *s)
{
    const struct rate_schedule *const o = &p->options->schedule;
    const double low = 1 / o->div_factor, least = low / o->final_div_factor;
    const double top = o->pct_start * o->steps - 1, last = o->steps - 1;
    const char *const rising = add_phase(p, s, number(p, "first_factor", low), 0, top, 1 - low);
    if (o->three_phase == 0)
        return add_phase(p, s, rising, top, last, least - 1);
    const double back = 2 * o->pct_start * o->steps - 2;
    return add_phase(p, s, add_phase(p, s, rising, top, back, low - 1), back, last, least - low);
}

/* Of cosine and linear. */
static const char *add_descent(struct preparer *p, const char *s)
{
    const struct rate_schedule *const o = &p->options->schedule;
    const char *const u = add_progress(p, s, "warmup", o->warmup, o->steps - o->warmup);
    const char *const factor = o->kind == SCHEDULE_COSINE
                                   ? add_cosine(p, u)
                                   : add_op(p, "rate_factor", "Sub", number(p, "one_double", 1), u);
    if (o->warmup == 0)
        return factor;
    const char *const next = add_op(p, "next_step", "Add", s, number(p, "one_double", 1));
    const char *const rise = add_op(p, "rise", "Div", next, number(p, "warmup", o->warmup));
    return add_op(p, "rate_factor", "Min", rise, factor);
}

const char *add_schedule(struct preparer *p, const char *step, int64_t first)
{
    static const char *(*const factors[SCHEDULE_COUNT])(struct preparer *, const char *) = {
        [SCHEDULE_STEP] = add_staircase, [SCHEDULE_MULTISTEP] = add_milestones, [SCHEDULE_EXPONENTIAL] = add_power,
        [SCHEDULE_COSINE] = add_descent, [SCHEDULE_LINEAR] = add_descent,       [SCHEDULE_ONECYCLE] = add_cycle};
    const enum schedule_kind kind = p->options->schedule.kind;
    if (kind == SCHEDULE_CONSTANT)
        return NULL;
    const char *s = add_cast(p, "steps_done", step, DTYPE_DOUBLE);
    if (first != 0)
        s = add_op(p, "steps_done", "Sub", s, number(p, "first_step", (double)first));
    say(p, "schedule: %s, a factor for the learning rate", rules[kind].name);
    return factors[kind](p, s);
}
