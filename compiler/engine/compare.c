#include "engine/compare.h"

#include "base/str.h"
#include "engine/error_bound.h"
#include "engine/random_inputs.h"
#include "engine/split.h"
#include "graph/op_def.h"
#include "interp/interp.h"
#include "train/combine.h"
#include <float.h>
#include <math.h>
#include <string.h>

#define TRIALS 3         /* perturbations of the inputs */
#define PER_TRIAL 16.0   /* times their effect, and ... */
#define PER_RESULT 4.0   /* ... times the rounding unit of the largest result, is what generated code may differ by */

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

struct comparison {
    struct diag *diag;
    struct arena *arena;
    const struct compare_options *o;
    struct compare_report *report;
    struct engine *interpreted, *generated;
};

/* Of step `step`: what is fed, and what is made up. NULL: what is fed does not fit (reported). */
static const struct tensor **inputs_of(struct comparison *c, const struct graph *g, int64_t step)
{
    const struct tensor **const inputs = random_inputs(c->arena, g, c->o->seed + (uint64_t)step);
    bool ok = true;
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *const v = g->inputs.data[i];
        const struct tensor *const fed = c->o->feed ? c->o->feed(c->o->feeder, v->name, step, c->arena) : NULL;
        if (fed && v->late) /* kernels are compared for the highest count: fit_count() feeds whole runs */
            continue;
        inputs[i] = fed ? fed : inputs[i];
        ok = interp_check_input(c->diag, &g->loc, v, inputs[i], &v->shape) && ok;
    }
    return ok ? inputs : NULL;
}

static void note_worst(struct compare_line *line, double ratio, const char *name)
{
    if (ratio > line->ratio) {
        line->ratio = ratio;
        line->worst_at = name;
    }
}

static void add_line(struct comparison *c, struct compare_line line)
{
    vec_push(c->arena, &c->report->lines, line);
    c->report->ok &= line.ok;
}

static double unit_of(enum dtype d)
{
    switch (d) {
    case DTYPE_DOUBLE: return DBL_EPSILON;
    case DTYPE_FLOAT16: return 0x1p-10;
    case DTYPE_BFLOAT16: return 0x1p-7;
    default: return FLT_EPSILON;
    }
}

/* What a result in d may be off by at once: all values of float16 on the way to it are rounded to float16,
 * wherever they stand. */
static double unit_within(const struct graph *g, enum dtype d)
{
    double unit = unit_of(d);
    graph_each_node(g, n)
        for (size_t o = 0; o < n->outputs.count; o++)
            if (n->outputs.data[o] && dtype_is_float16(n->outputs.data[o]->dtype))
                unit = fmax(unit, unit_of(n->outputs.data[o]->dtype));
    return unit;
}

/* Every float one unit in the last place up or down, at random. */
static struct tensor *perturbed(struct arena *a, const struct graph *g, const struct tensor *t, uint64_t *random)
{
    struct tensor *p = tensor_new(a, t->dtype, &t->shape);
    memcpy(p->data, t->data, tensor_bytes(t));
    const double unit = unit_within(g, t->dtype);
    for (int64_t i = 0; dtype_is_float(t->dtype) && i < t->count; i++)
        tensor_set_double(p, i, tensor_get_double(t, i) * (1.0 + (random_next(random) & 1u ? unit : -unit)));
    return p;
}

struct kernel_run {
    const struct split_kernel *kernel;
    const struct tensor **inputs;
    struct tensor **plain, **generated;
};

static double largest_difference(const struct tensor *x, const struct tensor *y)
{
    double most = 0;
    for (int64_t i = 0; i < x->count; i++) {
        const double p = tensor_get_double(x, i), q = tensor_get_double(y, i);
        const double d = p == q || (isnan(p) && isnan(q)) ? 0 : fabs(p - q);
        most = isnan(d) ? INFINITY : d > most ? d : most;
    }
    return most;
}

static double largest_value(const struct tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < t->count; i++)
        if (isfinite(tensor_get_double(t, i)) && fabs(tensor_get_double(t, i)) > most)
            most = fabs(tensor_get_double(t, i));
    return most;
}

/* The bits of a NaN are outside the contract. */
static bool same_bits(const struct tensor *x, const struct tensor *y)
{
    const size_t size = dtype_size(x->dtype);
    if (x->dtype != y->dtype || x->count != y->count)
        return false;
    for (int64_t i = 0; i < x->count; i++)
        if (memcmp((const char *)x->data + (size_t)i * size, (const char *)y->data + (size_t)i * size, size) != 0 &&
            !(isnan(tensor_get_double(x, i)) && isnan(tensor_get_double(y, i))))
            return false;
    return true;
}

/* What output o may differ by. */
static bool find_tolerances(struct comparison *c, const struct kernel_run *r, double *tolerance)
{
    const struct graph *g = r->kernel->entry->graph;
    struct arena *a = c->arena;
    uint64_t random = c->o->seed;
    for (size_t o = 0; o < g->outputs.count; o++)
        tolerance[o] = PER_RESULT * unit_within(g, g->outputs.data[o].value->dtype) * largest_value(r->plain[o]);
    for (int trial = 0; trial < TRIALS; trial++) {
        const struct tensor **moved = arena_array(a, const struct tensor *, g->inputs.count + 1);
        struct tensor **outputs = arena_array(a, struct tensor *, g->outputs.count + 1);
        for (size_t i = 0; i < g->inputs.count; i++)
            moved[i] = perturbed(a, g, r->inputs[i], &random);
        if (!engine_run(c->interpreted, r->kernel->entry, moved, outputs, a))
            return false;
        for (size_t o = 0; o < g->outputs.count; o++)
            tolerance[o] += PER_TRIAL / TRIALS * largest_difference(r->plain[o], outputs[o]);
    }
    return true;
}

static struct compare_line judge(struct comparison *c, const char *entry, const struct kernel_run *r,
                                 const double *tolerance)
{
    struct compare_line line = {.entry = entry, .what = r->kernel->label, .worst_at = "", .ok = true};
    const struct graph *g = r->kernel->entry->graph;
    for (size_t o = 0; o < g->outputs.count; o++) {
        const bool exact = c->o->bits || !dtype_is_float(r->plain[o]->dtype);
        const double d = largest_difference(r->plain[o], r->generated[o]);
        const bool equal = c->o->bits ? same_bits(r->plain[o], r->generated[o]) : d == 0;
        note_worst(&line, equal ? 0 : exact || tolerance[o] == 0 ? INFINITY : d / tolerance[o],
                   g->outputs.data[o].name);
    }
    line.ok = line.ratio <= 1;
    return line;
}

/* The largest part of what each element may differ by. */
static double worst_within(const struct tensor *x, const struct tensor *y, const struct error_bound *b)
{
    double most = 0;
    for (int64_t i = 0; i < x->count; i++) {
        const double p = tensor_get_double(x, i), q = tensor_get_double(y, i),
                     room = q > p ? b->high[i] - p : p - b->low[i];
        const double part = p == q || (isnan(p) && isnan(q)) ? 0 : fabs(p - q) / room;
        most = isnan(part) ? INFINITY : fmax(part, most);
    }
    return most;
}

/* The bound of whole tensors is quick and holds nearly always. Where it does not, that of each element decides. */
static void judge_closely(const struct kernel_run *r, struct compare_line *line)
{
    struct arena a = {0};
    const struct graph *const g = r->kernel->entry->graph;
    struct error_bound *const bounds = arena_array(&a, struct error_bound, g->outputs.count + 1);
    enum dtype type = DTYPE_DOUBLE;
    bool exact = true; /* what must be equal is */
    struct compare_line close = *line;
    close.ratio = 0;
    for (size_t o = 0; o < g->outputs.count; o++) {
        const enum dtype d = r->plain[o]->dtype;
        type = dtype_is_float(d) && unit_of(d) > unit_of(type) ? d : type;
        exact = exact && (dtype_is_float(d) || largest_difference(r->plain[o], r->generated[o]) == 0);
    }
    if (exact && error_bounds(&a, g, r->inputs, unit_within(g, type), bounds)) {
        for (size_t o = 0; o < g->outputs.count; o++) {
            const double part = bounds[o].low ? worst_within(r->plain[o], r->generated[o], &bounds[o]) : 0;
            note_worst(&close, part, g->outputs.data[o].name);
        }
        close.ok = close.ratio <= 1;
        line->worst_at = close.worst_at;
        *line = close.ok ? close : *line;
    }
    arena_free(&a);
}

static bool compare_kernel(struct comparison *c, const char *entry, struct kernel_run *r)
{
    const struct graph *g = r->kernel->entry->graph;
    r->plain = arena_array(c->arena, struct tensor *, g->outputs.count + 1);
    r->generated = arena_array(c->arena, struct tensor *, g->outputs.count + 1);
    double *tolerance = arena_array(c->arena, double, g->outputs.count + 1);
    if (!engine_run(c->interpreted, r->kernel->entry, r->inputs, r->plain, c->arena) ||
        !engine_run(c->generated, r->kernel->entry, r->inputs, r->generated, c->arena) ||
        (!c->o->bits && !find_tolerances(c, r, tolerance)))
        return false;
    struct compare_line line = judge(c, entry, r, tolerance);
    if (!line.ok && !c->o->bits)
        judge_closely(r, &line);
    add_line(c, line);
    return true;
}

/* The values of the whole entry that its kernels read, one kernel's behind another's, as the interpreter finds them on
 * random inputs. */
static bool run_whole(struct comparison *c, struct program *p, const struct entry *entry, const struct split *s,
                      const struct tensor ***values)
{
    struct interp *interp = interp_new(c->arena, p, c->o->bits ? ARITHMETIC_SAME : ARITHMETIC_DOUBLE);
    VEC(struct interp_fetch) fetches = {0};
    for (size_t k = 0; k < s->kernels.count; k++)
        for (size_t i = 0; i < s->kernels.data[k].entry->graph->inputs.count; i++)
            vec_push(c->arena, &fetches, ((struct interp_fetch){.name = s->kernels.data[k].inputs[i]->name}));
    const struct tensor **const inputs = inputs_of(c, entry->graph, 0);
    if (!inputs || !interp_init(interp, c->o->seed, c->diag) ||
        !interp_run(interp, entry, inputs, NULL, fetches.data, fetches.count, c->arena, c->diag))
        return false;
    *values = arena_array(c->arena, const struct tensor *, fetches.count + 1);
    for (size_t i = 0; i < fetches.count; i++)
        (*values)[i] = fetches.data[i].tensor;
    return true;
}

static struct engine_options options_of(const struct comparison *c, enum engine_kind kind,
                                        const struct pipeline_options *pipeline)
{
    return (struct engine_options){.kind = kind,
                                   .arithmetic = c->o->bits ? ARITHMETIC_SAME : ARITHMETIC_DOUBLE,
                                   .reproducible = c->o->bits,
                                   .cc = c->o->cc,
                                   .pipeline = *pipeline};
}

static bool init_engines(struct comparison *c)
{
    return engine_init(c->interpreted, c->o->seed) && engine_init(c->generated, c->o->seed);
}

static void close_engines(struct comparison *c)
{
    if (c->interpreted)
        engine_close(c->interpreted);
    if (c->generated)
        engine_close(c->generated);
    c->interpreted = c->generated = NULL;
}

static bool compare_kernels(struct comparison *c, struct program *p, const struct entry *entry, const struct plan *plan)
{
    const struct tensor **values;
    const struct split s = split_entry(c->diag, c->arena, p, entry, plan->lowered);
    const struct pipeline_options how = {
        .target = c->o->pipeline.target, .simd = c->o->pipeline.simd, .small = c->o->pipeline.small};
    const struct engine_options io = options_of(c, ENGINE_INTERPRETED, &how),
                                go = options_of(c, ENGINE_GENERATED, &how);
    bool ok = run_whole(c, p, entry, &s, &values) &&
              engine_open_program(c->diag, c->arena, s.program, &io, &c->interpreted) &&
              engine_open_program(c->diag, c->arena, s.program, &go, &c->generated) && init_engines(c);
    for (size_t k = 0; ok && k < s.kernels.count; k++) {
        struct kernel_run r = {.kernel = &s.kernels.data[k], .inputs = values};
        values += r.kernel->entry->graph->inputs.count;
        ok = r.kernel->entry->graph->outputs.count == 0 || compare_kernel(c, entry->name, &r);
    }
    close_engines(c);
    return ok;
}

/* ---- whole runs -------------------------------------------------------------------------------------------------- */

static double relative_difference(const struct tensor *x, const struct tensor *y)
{
    const double scale = largest_value(x), d = largest_difference(x, y);
    return d == 0 ? 0 : scale > 0 ? d / scale : INFINITY;
}

static void note_difference(struct comparison *c, struct compare_line *line, const char *name, const struct tensor *x,
                            const struct tensor *y)
{
    note_worst(line, c->o->bits ? (same_bits(x, y) ? 0 : INFINITY) : relative_difference(x, y), name);
}

/* Inputs of a program with a range: as many as are fed, else the lowest count, one in the middle and the highest in
 * turn, or every one. What is made up is made for the highest. */
static void fit_count(struct comparison *c, const struct size_range *r, const struct graph *g, int64_t step,
                      const struct tensor **inputs)
{
    int64_t count = c->o->every_count ? r->low + step % (r->high - r->low + 1)
                                      : r->low + (r->high - r->low) * (step % 3) / 2;
    const struct tensor **const fed = arena_array(c->arena, const struct tensor *, g->inputs.count + 1);
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *const v = g->inputs.data[i];
        fed[i] = c->o->feed && v->late ? c->o->feed(c->o->feeder, v->name, step, c->arena) : NULL;
        count = fed[i] ? value_count_of(v, &fed[i]->shape) : count;
    }
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *const v = g->inputs.data[i];
        const struct shape shape = value_shape_at(v, count);
        if (!v->late || fed[i] || count < r->low || count > r->high) { /* the engine says what does not fit */
            inputs[i] = fed[i] ? fed[i] : inputs[i];
            continue;
        }
        struct tensor *const t = tensor_new(c->arena, v->dtype, &shape);
        memcpy(t->data, inputs[i]->data, tensor_bytes(t));
        inputs[i] = t;
    }
}

/* One run of both engines. `wanted`: what generated code is asked for; NULL: everything. */
static bool compare_step(struct comparison *c, const char *name, int64_t step, const bool *wanted,
                         struct compare_line *line)
{
    const struct program *const g = engine_program(c->generated), *const p = engine_program(c->interpreted);
    const struct entry *const e = program_entry(g, name), *const f = program_entry(p, name);
    /* Of the graph as the model has it: simplification may have dropped what says which numbers an input takes. */
    const struct tensor **const inputs = inputs_of(c, f->graph, step);
    struct tensor **const x = arena_array(c->arena, struct tensor *, e->graph->outputs.count + 1);
    struct tensor **const y = arena_array(c->arena, struct tensor *, e->graph->outputs.count + 1);
    if (inputs && g->range)
        fit_count(c, g->range, f->graph, step, inputs);
    if (!inputs || !engine_run(c->interpreted, f, inputs, x, c->arena) ||
        !engine_run_some(c->generated, e, inputs, wanted, y, c->arena))
        return false;
    for (size_t o = 0; o < e->graph->outputs.count; o++)
        if (!wanted || wanted[o])
            note_difference(c, line, e->graph->outputs.data[o].name, x[o], y[o]);
    return true;
}

/* The last step again, with some outputs and then with the others alone: each is left out once. */
static bool compare_without_outputs(struct comparison *c, const char *name, struct compare_line *line)
{
    const size_t count = program_entry(engine_program(c->generated), name)->graph->outputs.count;
    bool *const wanted = arena_array(c->arena, bool, count + 1);
    uint64_t random = c->o->seed;
    for (int turn = 0; turn < 2 && count > 0; turn++) {
        for (size_t o = 0; o < count; o++)
            wanted[o] = turn == 0 ? random_next(&random) >> 32 & 1 : !wanted[o];
        if (!compare_step(c, name, c->o->steps - 1, wanted, line))
            return false;
    }
    return true;
}

static bool compare_run(struct comparison *c, const char *name)
{
    const struct program *const g = engine_program(c->generated), *const p = engine_program(c->interpreted);
    struct compare_line line = {.entry = name,
                                .what = arena_printf(c->arena, "%lld whole runs", (long long)c->o->steps),
                                .worst_at = "", .ok = true};
    for (int64_t step = 0; step < c->o->steps; step++)
        if (!compare_step(c, name, step, NULL, &line))
            return false;
    if (c->o->steps > 0 && !compare_without_outputs(c, name, &line))
        return false;
    for (size_t i = 0; i < p->variables.count; i++) {
        const struct variable *const v = p->variables.data[i];
        note_difference(c, &line, v->name, engine_read(c->interpreted, v, c->arena),
                        engine_read(c->generated, program_variable(g, v->name), c->arena));
    }
    line.ok = !c->o->bits || line.ratio == 0;
    add_line(c, line);
    return true;
}

static bool compare_runs(struct comparison *c, const struct model *m)
{
    const struct engine_options io = options_of(c, ENGINE_INTERPRETED, &c->o->pipeline),
                                go = options_of(c, ENGINE_GENERATED, &c->o->pipeline);
    bool ok = engine_open(c->diag, c->arena, m, &io, &c->interpreted) &&
              engine_open(c->diag, c->arena, m, &go, &c->generated) && init_engines(c);
    for (size_t i = 0; ok && i < engine_program(c->generated)->entries.count; i++)
        if (engine_program(c->generated)->entries.data[i].kind != ENTRY_INIT)
            ok = compare_run(c, engine_program(c->generated)->entries.data[i].name);
    close_engines(c);
    return ok;
}

bool compare_engines(struct diag *d, struct arena *a, const struct model *m, const struct compare_options *o,
                     struct compare_report *out)
{
    struct comparison c = {.diag = d, .arena = a, .o = o, .report = out};
    struct program *p;
    struct plan **plans;
    *out = (struct compare_report){.ok = true};
    if (!pipeline_canonical(d, a, m, &o->pipeline, &p) || !engine_fits_memory(d, a, p) ||
        !pipeline_plans(d, a, p, &o->pipeline, &plans))
        return false;
    for (size_t i = 0; i < p->entries.count && !o->runs_only; i++)
        if (!compare_kernels(&c, p, &p->entries.data[i], plans[i]))
            return false;
    return compare_runs(&c, m);
}
