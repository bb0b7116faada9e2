/* --schedule: the learning rate of a step is the variable `learning_rate` times a factor, which depends on the number s
 * of steps done before. So the base rate can be set at run time, and a reloaded state goes on where it was.
 *
 *   step     gamma ^ floor(s / every)
 *   cosine   floor + (1 - floor) (1 + cos(pi u)) / 2,   u = (s - warmup) / (steps - warmup) within [0, 1]
 *   linear   1 - u
 *   warmup   of cosine and linear: not above (s + 1) / warmup
 *
 * In double, since s may exceed 2^24; a few operations a step. */
#include "train/prepare_internal.h"

#include <stddef.h>
#include <string.h>

#define PI 3.14159265358979323846
#define FIELD(f) offsetof(struct rate_schedule, f)
enum { KEYS = 3 };

struct key {
    const char *name;
    size_t field;
    bool whole;        /* a number of steps */
    double usual, low; /* usual < 0: has to be given */
    double high;
};

static const struct rule {
    const char *name;
    struct key keys[KEYS + 1];
} rules[SCHEDULE_COUNT] = {
    {"constant", {{0}}},
    {"step", {{"every", FIELD(every), true, -1, 1, 1e15}, {"gamma", FIELD(gamma), false, 0.1, 0, 1e6}}},
    {"cosine",
     {{"steps", FIELD(steps), true, -1, 1, 1e15},
      {"floor", FIELD(floor), false, 0, 0, 1},
      {"warmup", FIELD(warm_up), true, 0, 0, 1e15}}},
    {"linear", {{"steps", FIELD(steps), true, -1, 1, 1e15}, {"warmup", FIELD(warm_up), true, 0, 0, 1e15}}},
};

/* ---- the command line's text ------------------------------------------------------------------------------------- */

static double *field_of(struct rate_schedule *s, const struct key *k)
{
    return (double *)(void *)((char *)s + k->field);
}

static bool set_key(struct diag *d, struct rate_schedule *s, const char *name, const char *value)
{
    const struct rule *const rule = &rules[s->kind];
    struct strbuf all = {.arena = d->arena};
    double x;
    for (const struct key *k = rule->keys; k->name; k++) {
        strbuf_addf(&all, "%s%s", k == rule->keys ? "" : ", ", k->name);
        if (!str_equal(name, k->name))
            continue;
        if (!str_to_double(value, &x) || !(x >= k->low && x <= k->high) || (k->whole && x != (double)(int64_t)x))
            return diag_error(d, NULL, "--schedule %s: %s=%s: expected a %snumber from %g to %g", rule->name, name,
                              value, k->whole ? "whole " : "", k->low, k->high);
        *field_of(s, k) = x;
        return true;
    }
    return diag_error(d, NULL, "--schedule %s: no key '%s'; it has: %s", rule->name, name,
                      rule->keys[0].name ? strbuf_text(&all) : "none");
}

static bool find_rule(struct diag *d, const char *name, enum schedule_kind *out)
{
    struct strbuf all = {.arena = d->arena};
    for (int i = 0; i < SCHEDULE_COUNT; i++) {
        strbuf_addf(&all, "%s%s", i ? ", " : "", rules[i].name);
        *out = (enum schedule_kind)i;
        if (str_equal(name, rules[i].name))
            return true;
    }
    return diag_error(d, NULL, "--schedule %s: no such schedule; there are: %s", name, strbuf_text(&all));
}

static bool check_keys(struct diag *d, struct rate_schedule *s)
{
    for (const struct key *k = rules[s->kind].keys; k->name; k++)
        if (*field_of(s, k) < 0)
            return diag_error(d, NULL, "--schedule %s: give %s=N", rules[s->kind].name, k->name);
    if (s->steps > 0 && s->warm_up >= s->steps)
        return diag_error(d, NULL, "--schedule %s: warmup=%g is not less than steps=%g, which includes it",
                          rules[s->kind].name, s->warm_up, s->steps);
    return true;
}

bool schedule_parse(struct diag *d, struct arena *a, const char *text, struct rate_schedule *out)
{
    const size_t length = strcspn(text, ":");
    *out = (struct rate_schedule){0};
    if (!find_rule(d, arena_strndup(a, text, length), &out->kind))
        return false;
    for (const struct key *k = rules[out->kind].keys; k->name; k++)
        *field_of(out, k) = k->usual;
    bool ok = true;
    for (const char *p = text + length; *p != '\0';) {
        p++; /* ':' or ',' */
        const size_t n = strcspn(p, ",");
        const char *const pair = arena_strndup(a, p, n), *const equals = strchr(pair, '=');
        if (equals)
            ok = set_key(d, out, arena_strndup(a, pair, (size_t)(equals - pair)), equals + 1) && ok;
        else
            ok = diag_error(d, NULL, "--schedule %s: '%s': expected key=value", text, pair) && ok;
        p += n;
    }
    return ok && check_keys(d, out);
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
    if (o->warm_up > 0)
        s = add_op(p, "steps_after_warmup", "Sub", s, number(p, "warmup", o->warm_up), NULL);
    const char *const u = add_op(p, "progress", "Div", s, number(p, "steps_to_go", o->steps - o->warm_up), NULL);
    const char *const low = add_op(p, "progress", "Max", u, number(p, "zero_double", 0), NULL);
    return add_op(p, "progress", "Min", low, number(p, "one_double", 1), NULL);
}

static const char *add_cosine(struct preparer *p, const char *u)
{
    const double floor = p->options->schedule.floor;
    const char *const angle = add_op(p, "angle", "Mul", u, number(p, "pi", PI), NULL);
    const char *const wave = add_op(p, "wave", "Cos", angle, NULL, NULL);
    const char *const raised = add_op(p, "raised_wave", "Add", wave, number(p, "one_double", 1), NULL);
    const char *const scaled = add_op(p, "scaled_wave", "Mul", raised, number(p, "half_range", (1 - floor) / 2), NULL);
    return floor == 0 ? scaled : add_op(p, "wave_above_floor", "Add", scaled, number(p, "rate_floor", floor), NULL);
}

static const char *add_staircase(struct preparer *p, const char *s)
{
    const struct rate_schedule *const o = &p->options->schedule;
    const char *const turns = add_op(p, "turns", "Div", s, number(p, "every", o->every), NULL);
    return add_op(p, "rate_factor", "Pow", number(p, "gamma", o->gamma), add_op(p, "turn", "Floor", turns, NULL, NULL),
                  NULL);
}

const char *add_schedule(struct preparer *p, const char *step, int64_t first)
{
    const struct rate_schedule *const o = &p->options->schedule;
    if (o->kind == SCHEDULE_CONSTANT)
        return NULL;
    const char *s = add_cast(p, "steps_done", step, DTYPE_DOUBLE);
    if (first != 0)
        s = add_op(p, "steps_done", "Sub", s, number(p, "first_step", (double)first), NULL);
    say(p, "schedule: %s, a factor for the learning rate", rules[o->kind].name);
    if (o->kind == SCHEDULE_STEP)
        return add_staircase(p, s);
    const char *const u = add_progress(p, s);
    const char *const factor = o->kind == SCHEDULE_COSINE
                                   ? add_cosine(p, u)
                                   : add_op(p, "rate_factor", "Sub", number(p, "one_double", 1), u, NULL);
    if (o->warm_up == 0)
        return factor;
    const char *const next = add_op(p, "next_step", "Add", s, number(p, "one_double", 1), NULL);
    const char *const rise = add_op(p, "rise", "Div", next, number(p, "warmup", o->warm_up), NULL);
    return add_op(p, "rate_factor", "Min", rise, factor, NULL);
}
