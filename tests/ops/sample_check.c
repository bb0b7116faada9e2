/* What a sample proves: shapes as declared, one value from every engine, derivatives that are
 * derivatives, and its error. */
#include "sample.h"

#include "base/str.h"
#include "graph/op_def.h"
#include "train/adjoint.h"
#include "train/combine.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool sample_fail(struct sample_test *t, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (!t->reason)
        t->reason = arena_strdup(&t->arena, text);
    return false;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

enum answer { ANSWER_DOUBLE, ANSWER_SAME, ANSWER_GENERATED };
static const char *const answer_names[] = {"the interpreter in double", "the interpreter as generated code computes",
                                           "generated code"};

struct run {
    struct engine *engine;
    const struct graph *graph;
    struct tensor **outputs; /* one per graph output */
};

static bool has_error(const struct sample_test *t, const char *part)
{
    for (size_t i = 0; i < t->diag.messages.count; i++)
        if (t->diag.messages.data[i].severity == DIAG_ERROR && strstr(t->diag.messages.data[i].text, part))
            return true;
    return false;
}

static const char *first_error(const struct sample_test *t)
{
    for (size_t i = 0; i < t->diag.messages.count; i++)
        if (t->diag.messages.data[i].severity == DIAG_ERROR)
            return t->diag.messages.data[i].text;
    return "an error without a message";
}

static bool open_engine(struct sample_test *t, const struct model *m, enum answer answer, struct run *r)
{
    const struct engine_options o = {.kind = answer == ANSWER_GENERATED ? ENGINE_GENERATED : ENGINE_INTERPRETED,
                                     .arithmetic = answer == ANSWER_DOUBLE ? ARITHMETIC_DOUBLE : ARITHMETIC_SAME,
                                     .reproducible = true,
                                     .cc = t->cc,
                                     .pipeline = {.name = "sample", .entries = "init,infer",
                                                  .simd = t->small ? SIMD_NONE : SIMD_AUTO, .small = t->small}};
    *r = (struct run){0};
    if (!engine_open(&t->diag, &t->arena, m, &o, &r->engine))
        return false;
    r->graph = program_entry(engine_program(r->engine), "infer")->graph;
    r->outputs = arena_array(&t->arena, struct tensor *, r->graph->outputs.count + 1);
    return true;
}

/* Each run starts from init(), so that random operators draw the same numbers again: that is why "init" is
 * among the entries. */
static bool run_engine(struct sample_test *t, struct run *r, const struct tensor *const *inputs)
{
    return engine_init(r->engine, t->seed) &&
           engine_run(r->engine, program_entry(engine_program(r->engine), "infer"), inputs, r->outputs, &t->arena);
}

static size_t output_index(const struct graph *g, const char *name)
{
    for (size_t i = 0; i < g->outputs.count; i++)
        if (str_equal(g->outputs.data[i].name, name))
            return i;
    UNREACHABLE("no output '%s'", name);
}

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool check_shapes(struct sample_test *t, const struct model *m, const struct run *r)
{
    for (size_t i = 0; i < m->graph->outputs.count; i++) {
        const struct model_value_info *said = m->graph->outputs.data[i];
        const struct value *v = r->graph->outputs.data[output_index(r->graph, said->name)].value;
        bool ok = v->dtype == said->type.elem &&
                  (!said->type.has_shape || (size_t)v->shape.rank == said->type.dims.count);
        for (size_t d = 0; ok && said->type.has_shape && d < said->type.dims.count; d++)
            ok = said->type.dims.data[d].value < 0 || said->type.dims.data[d].value == v->shape.dim[d];
        if (!ok)
            return sample_fail(t, "output '%s' is %s%s, which is not what the sample declares", said->name,
                               dtype_name(v->dtype), shape_text(&t->arena, &v->shape));
    }
    return true;
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Relative tolerance between double arithmetic and that of the dtype: some tens of rounding units, for short sums. The
 * functions of the runtime are within 2 units of libm's. */
static double tolerance_of(const struct sample_test *t, enum dtype d)
{
    if (t->sample->tolerance > 0)
        return t->sample->tolerance;
    switch (d) {
    case DTYPE_DOUBLE: return 1e-12;
    case DTYPE_FLOAT16: return 5e-3;
    case DTYPE_BFLOAT16: return 4e-2;
    default: return 1e-5;
    }
}

/* The narrowest floating type of the graph decides, since it may stand anywhere before the output. */
static double graph_tolerance(const struct sample_test *t, const struct graph *g)
{
    double worst = tolerance_of(t, DTYPE_DOUBLE);
    for (size_t i = 0; i < g->inputs.count; i++)
        if (dtype_is_float(g->inputs.data[i]->dtype))
            worst = fmax(worst, tolerance_of(t, g->inputs.data[i]->dtype));
    graph_each_node(g, n)
        for (size_t i = 0; i < n->outputs.count; i++)
            if (n->outputs.data[i] && dtype_is_float(n->outputs.data[i]->dtype))
                worst = fmax(worst, tolerance_of(t, n->outputs.data[i]->dtype));
    return worst;
}

static double largest(const struct tensor *t)
{
    double most = 0;
    for (int64_t i = 0; i < t->count; i++)
        if (isfinite(tensor_get_double(t, i)))
            most = fmax(most, fabs(tensor_get_double(t, i)));
    return most;
}

/* Sums cancel: an element is held against itself and, more loosely, against the largest of its tensor. */
static bool is_close(double got, double want, double tolerance, double scale)
{
    if (isnan(want) || isnan(got))
        return isnan(want) && isnan(got);
    return got == want || fabs(got - want) <= tolerance * (fabs(want) + 0.25 * scale);
}

static bool check_close(struct sample_test *t, const char *name, const struct tensor *got, const struct tensor *want,
                        double tolerance)
{
    const bool is_float = dtype_is_float(want->dtype);
    const double scale = is_float ? largest(want) : 0;
    for (int64_t i = 0; i < want->count; i++) {
        if (is_float && !is_close(tensor_get_double(got, i), tensor_get_double(want, i), tolerance, scale))
            return sample_fail(t, "output '%s' element %lld is %.9g in %s, %.9g in %s", name, (long long)i,
                               tensor_get_double(got, i), answer_names[ANSWER_GENERATED], tensor_get_double(want, i),
                               answer_names[ANSWER_DOUBLE]);
        if (!is_float && tensor_get_int(got, i) != tensor_get_int(want, i))
            return sample_fail(t, "output '%s' element %lld is %lld in %s, %lld in %s", name, (long long)i,
                               (long long)tensor_get_int(got, i), answer_names[ANSWER_GENERATED],
                               (long long)tensor_get_int(want, i), answer_names[ANSWER_DOUBLE]);
    }
    return true;
}

/* Every bit, except that one NaN is as good as another: which of two NaNs an addition passes on is the
 * machine's choice. */
static bool same_bits(const struct tensor *a, const struct tensor *b, int64_t i)
{
    const size_t size = dtype_size(a->dtype);
    if (!memcmp((const char *)a->data + (size_t)i * size, (const char *)b->data + (size_t)i * size, size))
        return true;
    return dtype_is_float(a->dtype) && isnan(tensor_get_double(a, i)) && isnan(tensor_get_double(b, i));
}

static bool check_bits(struct sample_test *t, const char *name, const struct tensor *got, const struct tensor *want,
                       const char *inputs)
{
    for (int64_t i = 0; i < want->count; i++)
        if (!same_bits(got, want, i))
            return sample_fail(t, "output '%s' element %lld of %s inputs differs in bits: %.17g in %s, %.17g in %s",
                               name, (long long)i, inputs, tensor_get_double(got, i), answer_names[ANSWER_GENERATED],
                               tensor_get_double(want, i), answer_names[ANSWER_SAME]);
    return true;
}

static bool run_all(struct sample_test *t, struct run runs[3], int from, enum feed_kind kind)
{
    for (int k = from; k < 3; k++)
        if (!run_engine(t, &runs[k], sample_feed(t, runs[k].graph, kind)))
            return sample_fail(t, "%s: %s", answer_names[k], first_error(t));
    return true;
}

static bool compare_outputs(struct sample_test *t, struct run runs[3], bool with_double, const char *inputs)
{
    const struct graph *g = runs[ANSWER_GENERATED].graph;
    const double tolerance = graph_tolerance(t, runs[ANSWER_DOUBLE].graph);
    for (size_t i = 0; i < g->outputs.count; i++) {
        const char *name = g->outputs.data[i].name;
        const struct tensor *got = runs[ANSWER_GENERATED].outputs[i];
        const struct tensor *same = runs[ANSWER_SAME].outputs[output_index(runs[ANSWER_SAME].graph, name)];
        /* The losses of sample_differentiate() may cancel to anything; their bits are compared, their terms
         * follow in gradients. */
        const bool is_loss = str_equal(name, "loss") || str_equal(name, "loss_2");
        if (with_double && !is_loss &&
            !check_close(t, name, got, runs[ANSWER_DOUBLE].outputs[output_index(runs[ANSWER_DOUBLE].graph, name)],
                         tolerance))
            return false;
        if (!check_bits(t, name, got, same, inputs))
            return false;
    }
    return true;
}

/* On special values only bits are compared: at overflow and underflow double arithmetic rightly gives other answers. An
 * operator may refuse them (a label out of range), but then both engines must. */
static bool check_special(struct sample_test *t, struct run runs[3])
{
    const struct tensor **const same = sample_feed(t, runs[ANSWER_SAME].graph, FEED_SPECIAL);
    const struct tensor **const generated = sample_feed(t, runs[ANSWER_GENERATED].graph, FEED_SPECIAL);
    const bool interpreted_ran = run_engine(t, &runs[ANSWER_SAME], same);
    const bool generated_ran = run_engine(t, &runs[ANSWER_GENERATED], generated);
    if (interpreted_ran != generated_ran)
        return sample_fail(t, "on special inputs only %s refuses: %s",
                           interpreted_ran ? "generated code" : "the interpreter", first_error(t));
    return !interpreted_ran || compare_outputs(t, runs, false, "special");
}

/* All engines on one model. */
static bool check_engines(struct sample_test *t, const struct model *m, bool special)
{
    struct run runs[3] = {{0}};
    bool ok = true;
    int opened = 0;
    for (; ok && opened < 3; opened++)
        if (!open_engine(t, m, (enum answer)opened, &runs[opened]))
            ok = sample_fail(t, "%s: %s", answer_names[opened], first_error(t));
    ok = ok && check_shapes(t, m, &runs[ANSWER_DOUBLE]) && run_all(t, runs, 0, FEED_DRAWN) &&
         compare_outputs(t, runs, true, "drawn") && (!special || check_special(t, runs));
    for (int k = 0; k < opened; k++)
        if (runs[k].engine)
            engine_close(runs[k].engine);
    return ok;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

/* With steps h and 2h combined the error is about h^4/30 times the fifth derivative, 3e-18, and that of rounding
 * 1e-16 / h. Small also because no kink (where Max changes its mind) may lie within 2h of the inputs; those of the
 * default seed keep away. */
#define STEP 1e-4

static double loss_at(struct sample_test *t, struct run *r, const struct tensor **inputs, size_t input, double step,
                      const char *loss)
{
    const struct tensor *const saved = inputs[input];
    struct tensor *moved = tensor_new(&t->arena, saved->dtype, &saved->shape);
    for (int64_t i = 0; i < saved->count; i++)
        tensor_set_double(moved, i, tensor_get_double(saved, i) + step * sample_normal(t->seed, "direction", i));
    inputs[input] = moved;
    const bool ok = run_engine(t, r, inputs);
    inputs[input] = saved;
    return ok ? tensor_get_double(r->outputs[output_index(r->graph, loss)], 0) : NAN;
}

/* Constants in rules for float graphs are float numbers: 6e-8 is in them, however exactly the rest is computed. */
static double derivative_tolerance(const struct model_value_info *x)
{
    switch (x->type.elem) {
    case DTYPE_FLOAT16: return 2e-3;
    case DTYPE_BFLOAT16: return 2e-2;
    case DTYPE_FLOAT: return 2e-6;
    default: return 1e-7;
    }
}

/* d loss / d input along a random direction: central differences against the gradient that the model computes. */
static bool check_direction(struct sample_test *t, struct run *r, const struct tensor **inputs, size_t input,
                            const char *loss, const char *gradient, double tolerance)
{
    double along = 0, size = 0;
    const struct tensor *g = r->outputs[output_index(r->graph, gradient)];
    if (g->count == 0)
        return true;
    for (int64_t i = 0; i < g->count; i++) {
        const double part = tensor_get_double(g, i) * sample_normal(t->seed, "direction", i);
        along += part;
        size += fabs(part);
    }
    double values[4];
    const double steps[4] = {STEP, -STEP, 2 * STEP, -2 * STEP};
    for (int k = 0; k < 4; k++)
        values[k] = loss_at(t, r, inputs, input, steps[k], loss);
    const double near = (values[0] - values[1]) / (2 * STEP), far = (values[2] - values[3]) / (4 * STEP);
    const double numeric = (4 * near - far) / 3;
    if (!(fabs(numeric - along) <= tolerance * fmax(fmax(size, fabs(numeric)), 1e-3)))
        return sample_fail(t, "%s: along a random direction %s changes by %.12g, but its gradient says %.12g", gradient,
                           loss, numeric, along);
    return true;
}

static bool check_differences(struct sample_test *t, const struct model *m, int order)
{
    struct model *wide;
    struct run r;
    bool ok = sample_read(t, &wide);
    sample_differentiate(&t->arena, wide, &(struct derivative_options){.order = order, .wide = true});
    if (!open_engine(t, wide, ANSWER_DOUBLE, &r))
        return sample_fail(t, "gradient: %s", first_error(t));
    const struct tensor **inputs = sample_feed(t, r.graph, FEED_DRAWN);
    const char *const loss = order == 1 ? "loss" : "loss_2", *const prefix = order == 1 ? "d" : "d2";
    for (size_t i = 0; ok && i < m->graph->inputs.count; i++) {
        const struct model_value_info *x = m->graph->inputs.data[i];
        const char *gradient = arena_printf(&t->arena, "%s_%s", prefix, x->name);
        bool asked = false;
        for (size_t k = 0; k < r.graph->outputs.count; k++)
            asked = asked || str_equal(r.graph->outputs.data[k].name, gradient);
        if (asked)
            ok = (run_engine(t, &r, inputs) || sample_fail(t, "gradient: %s", first_error(t))) &&
                 check_direction(t, &r, inputs, i, loss, gradient, derivative_tolerance(x));
    }
    engine_close(r.engine);
    return ok;
}

/* Can it be differentiated twice? Then that model is what the engines are compared on: it computes everything. */
static bool is_twice_differentiable(struct sample_test *t)
{
    struct model *m;
    struct run r;
    if (!sample_read(t, &m))
        return false;
    sample_differentiate(&t->arena, m, &(struct derivative_options){.order = 2, .wide = true});
    const bool ok = open_engine(t, m, ANSWER_DOUBLE, &r);
    if (!ok && !has_error(t, "the gradient of"))
        return sample_fail(t, "second gradient: %s", first_error(t));
    if (ok)
        engine_close(r.engine);
    return ok;
}

static bool check_gradient(struct sample_test *t, const struct model *m)
{
    struct model *plain;
    if (!check_differences(t, m, 1))
        return false;
    t->checked_gradient = true;
    t->checked_second = is_twice_differentiable(t);
    if (t->reason || (t->checked_second && !check_differences(t, m, 2)) || !sample_read(t, &plain))
        return false;
    sample_differentiate(&t->arena, plain, &(struct derivative_options){.order = t->checked_second ? 2 : 1});
    return check_engines(t, plain, false);
}

/* An operator whose gradient is refused must say so. */
static bool check_refusal(struct sample_test *t)
{
    struct model *m;
    struct run r;
    if (!sample_read(t, &m))
        return false;
    sample_differentiate(&t->arena, m, &(struct derivative_options){.order = 1});
    if (open_engine(t, m, ANSWER_DOUBLE, &r)) {
        engine_close(r.engine);
        return sample_fail(t, "the gradient should be refused, but is not");
    }
    return has_error(t, "the gradient of") ||
           sample_fail(t, "the gradient is refused for another reason: %s", first_error(t));
}

/* ---- one sample -------------------------------------------------------------------------------------------------- */

/* *opens: the model is accepted, whatever the run does. */
static bool runs(struct sample_test *t, const struct model *m, enum answer k, bool *opens)
{
    struct run r;
    *opens = open_engine(t, m, k, &r);
    const bool ok = *opens && run_engine(t, &r, sample_feed(t, r.graph, FEED_DRAWN));
    engine_close(r.engine);
    return ok;
}

/* The error may come from any place: the reader, import, a run of the interpreter, or code generation. */
static bool check_error(struct sample_test *t)
{
    struct model *m;
    bool works = sample_read(t, &m), opens = works;
    for (enum answer k = ANSWER_DOUBLE; works && k <= ANSWER_GENERATED; k++)
        works = runs(t, m, k, &opens);
    t->checked_error = true;
    if (works)
        return sample_fail(t, "works, expected an error with '%s'", t->sample->error);
    if (opens && runs(t, m, ANSWER_GENERATED, &opens)) /* what data are wrong is for every engine to say */
        return sample_fail(t, "works in generated code, expected an error with '%s'", t->sample->error);
    return has_error(t, t->sample->error) ||
           sample_fail(t, "expected an error with '%s', got: %s", t->sample->error, first_error(t));
}

bool sample_is_differentiated(const struct sample_test *t, const struct model *m)
{
    /* Before opset 6 the nodes that sum up the outputs would be written differently. */
    const int64_t opset = model_opset(&m->opsets, "");
    const bool old = opset > 0 && opset < 6;
    return !t->sample->no_gradient && !old && t->def->grad != grad_none && !t->def->is_structural &&
           sample_has_gradient(m);
}

bool sample_check(struct sample_test *t)
{
    struct model *m;
    if (t->sample->error)
        return check_error(t);
    if (!sample_read(t, &m))
        return sample_fail(t, "%s", first_error(t));
    if (!check_engines(t, m, true) || !sample_check_axes(t, m))
        return false;
    t->checked_value = true;
    if (!sample_is_differentiated(t, m))
        return true;
    return t->def->grad == grad_undefined ? check_refusal(t) : check_gradient(t, m);
}
