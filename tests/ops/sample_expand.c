/* A sample as `stepc expand` writes it: for each opset the plain model computes the same, with all derivatives, or is
 * refused because the opset is too old. Both are interpreted in double. */
#include "sample.h"

#include "base/str.h"
#include "expand/expand.h"
#include "train/adjoint.h"
#include <math.h>
#include <string.h>
#include <sys/stat.h>

static const int opsets[] = {EXPAND_NEWEST_OPSET, EXPAND_DEFAULT_OPSET, 15, EXPAND_OLDEST_OPSET};

struct computed {
    const struct graph *graph;
    struct tensor **outputs;
};

/* What plain models have beside the sample's inputs. */
static void set_random_state(struct sample_test *t, const struct graph *g, const struct tensor **inputs)
{
    for (size_t i = 0; i < g->inputs.count; i++) {
        if (str_equal(g->inputs.data[i]->name, "random_seed"))
            inputs[i] = tensor_scalar_int(&t->arena, (int64_t)t->seed);
        if (str_equal(g->inputs.data[i]->name, "random_counter"))
            inputs[i] = tensor_scalar_int(&t->arena, 0);
    }
}

static bool compute(struct sample_test *t, const struct model *m, struct computed *out)
{
    const struct engine_options o = {.kind = ENGINE_INTERPRETED, .arithmetic = ARITHMETIC_DOUBLE,
                                     .pipeline = {.name = "sample", .entries = "init,infer"}};
    struct engine *e;
    if (!engine_open(&t->diag, &t->arena, m, &o, &e))
        return sample_fail(t, "%s", diag_first_error(&t->diag));
    const struct entry *const infer = program_entry(engine_program(e), "infer");
    out->graph = infer->graph;
    out->outputs = arena_array(&t->arena, struct tensor *, out->graph->outputs.count + 1);
    const struct tensor **const inputs = sample_feed(t, out->graph, FEED_DRAWN);
    set_random_state(t, out->graph, inputs);
    const bool ok = engine_init(e, t->seed) && engine_run(e, infer, inputs, out->outputs, &t->arena);
    engine_close(e);
    return ok || sample_fail(t, "%s", diag_first_error(&t->diag));
}

/* As a reader of the file sees it. *out stays NULL where the opset is too old. */
static bool expand(struct sample_test *t, const struct model *m, int opset, struct model **out)
{
    struct diag said = {.arena = &t->arena};
    struct expand_choice choice = {.opset = opset};
    const struct pipeline_options pipeline = {.name = "sample", .entries = "init,infer",
                                              .passes = {.stays = expand_stays, .stays_to = &choice}};
    const struct expand_options o = {.opset = opset, .entry = "infer"};
    struct program *p;
    expanded_list list;
    *out = NULL;
    if (!pipeline_canonical(&said, &t->arena, m, &pipeline, &p))
        return sample_fail(t, "%s", diag_first_error(&said));
    if (!expand_program(&t->arena, p, &o, &list))
        return (opset < EXPAND_NEWEST_OPSET && strstr(diag_first_error(&said), "--opset")) ||
               sample_fail(t, "opset %d: %s", opset, diag_first_error(&said));
    return model_read_written(&said, &t->arena, "plain.onnx", list.data[0].model, out) ||
           sample_fail(t, "opset %d: %s", opset, diag_first_error(&said));
}

static bool has_narrow(const struct graph *g)
{
    for (size_t i = 0; i < g->inputs.count; i++)
        if (dtype_is_float16(g->inputs.data[i]->dtype))
            return true;
    graph_each_node(g, n)
        for (size_t i = 0; i < n->outputs.count; i++)
            if (n->outputs.data[i] && dtype_is_float16(n->outputs.data[i]->dtype))
                return true;
    return false;
}

/* Rounding to 16 bits is part of the double answer as well, at other places. */
static double tolerance_of(const struct graph *a, const struct graph *b)
{
    return has_narrow(a) || has_narrow(b) ? 0.05 : 1e-6;
}

static double largest(const struct tensor *x)
{
    double most = 0;
    for (int64_t k = 0; k < x->count; k++)
        if (isfinite(tensor_get_double(x, k)))
            most = fmax(most, fabs(tensor_get_double(x, k)));
    return most;
}

static bool check_output(struct sample_test *t, int opset, const char *name, const struct tensor *got,
                         const struct tensor *want, double tolerance)
{
    if (got->dtype != want->dtype || !shape_equal(&got->shape, &want->shape))
        return sample_fail(t, "opset %d: output '%s' is %s%s, expected %s%s", opset, name, dtype_name(got->dtype),
                           shape_text(&t->arena, &got->shape), dtype_name(want->dtype),
                           shape_text(&t->arena, &want->shape));
    const double scale = largest(want);
    for (int64_t k = 0; k < want->count; k++) {
        const double x = tensor_get_double(got, k), y = tensor_get_double(want, k);
        const double most = dtype_is_float(want->dtype) ? tolerance * (fabs(y) + 0.25 * scale) : 0;
        if (!(isnan(x) && isnan(y)) && x != y && !(fabs(x - y) <= most))
            return sample_fail(t, "opset %d: output '%s' element %lld is %.9g, expected %.9g", opset, name,
                               (long long)k, x, y);
    }
    return true;
}

static bool check_opset(struct sample_test *t, const struct model *m, const struct computed *want, int opset)
{
    struct model *plain;
    struct computed got;
    if (!expand(t, m, opset, &plain))
        return false;
    if (!plain)
        return true;
    if (!compute(t, plain, &got))
        return false;
    if (got.graph->outputs.count != want->graph->outputs.count)
        return sample_fail(t, "opset %d: the plain model has %zu outputs", opset, got.graph->outputs.count);
    const double tolerance = tolerance_of(want->graph, got.graph);
    for (size_t i = 0; i < want->graph->outputs.count; i++) {
        const char *const name = want->graph->outputs.data[i].name;
        if (!str_equal(got.graph->outputs.data[i].name, name))
            return sample_fail(t, "opset %d: output %zu is '%s'", opset, i, got.graph->outputs.data[i].name);
        if (!strstr(name, "loss") &&
            !check_output(t, opset, name, got.outputs[i], want->outputs[i], tolerance))
            return false;
    }
    return true;
}

/* The sample with derivatives up to the order that it has; 0: none. */
static bool read_order(struct sample_test *t, int order, struct model **out)
{
    if (!sample_read(t, out))
        return false;
    if (order > 0)
        sample_differentiate(&t->arena, *out, &(struct derivative_options){.order = order});
    return true;
}

static bool opens(struct sample_test *t, const struct model *m)
{
    struct diag said = {.arena = &t->arena};
    const struct pipeline_options pipeline = {.name = "sample", .entries = "init,infer"};
    struct program *p;
    return pipeline_canonical(&said, &t->arena, m, &pipeline, &p);
}

/* How often it can be differentiated; -1 after a failure. */
static int most_derivatives(struct sample_test *t)
{
    struct model *m;
    if (!read_order(t, 0, &m)) {
        sample_fail(t, "%s", diag_first_error(&t->diag));
        return -1;
    }
    int order = sample_is_differentiated(t, m) && t->def->grad != grad_undefined ? 2 : 0;
    while (order > 0 && read_order(t, order, &m) && !opens(t, m))
        order--;
    return order;
}

static bool read_and_compute(struct sample_test *t, int order, struct model **m, struct computed *want)
{
    return (read_order(t, order, m) && compute(t, *m, want)) || sample_fail(t, "%s", diag_first_error(&t->diag));
}

static bool check_order(struct sample_test *t, int order)
{
    struct model *m;
    struct computed want;
    if (!read_and_compute(t, order, &m, &want))
        return false;
    for (size_t i = 0; i < sizeof opsets / sizeof *opsets; i++)
        if (!check_opset(t, m, &want, opsets[i]))
            return false;
    return true;
}

/* By itself, where composites stay, and with all derivatives that it has. */
bool sample_check_expanded(struct sample_test *t)
{
    if (t->sample->error)
        return true;
    const int order = most_derivatives(t);
    if (order < 0 || !check_order(t, 0) || (order > 0 && !check_order(t, order)))
        return false;
    t->checked_value = true;
    t->checked_gradient = order > 0;
    t->checked_second = order > 1;
    return true;
}

/* ---- for another runtime ----------------------------------------------------------------------------------------- */

static bool write_tensor(struct sample_test *t, const char *folder, const char *what, const char *name,
                         const struct tensor *x)
{
    return npy_write(&t->diag, arena_printf(&t->arena, "%s/%s_%s.npy", folder, what, name), x) ||
           sample_fail(t, "%s", diag_first_error(&t->diag));
}

static bool write_order(struct sample_test *t, int order, const char *folder)
{
    struct model *m, *plain;
    struct computed want;
    if (!read_and_compute(t, order, &m, &want) || !expand(t, m, EXPAND_DEFAULT_OPSET, &plain))
        return false;
    if (!plain)
        return true; /* the opset is too old */
    if (mkdir(folder, 0777) != 0 || !model_write(&t->diag, plain, arena_printf(&t->arena, "%s/model.onnx", folder)))
        return sample_fail(t, "%s cannot be written", folder);
    struct computed got;
    if (!compute(t, plain, &got))
        return false;
    const struct tensor **const inputs = sample_feed(t, got.graph, FEED_DRAWN);
    set_random_state(t, got.graph, inputs);
    for (size_t i = 0; i < got.graph->inputs.count; i++)
        if (!write_tensor(t, folder, "input", got.graph->inputs.data[i]->name, inputs[i]))
            return false;
    for (size_t i = 0; i < want.graph->outputs.count; i++)
        if (!write_tensor(t, folder, "output", want.graph->outputs.data[i].name, want.outputs[i]))
            return false;
    return true;
}

bool sample_write_expanded(struct sample_test *t, const char *folder)
{
    const int order = most_derivatives(t);
    return order >= 0 && write_order(t, 0, folder) &&
           (order == 0 || write_order(t, order, arena_printf(&t->arena, "%s_derived", folder)));
}
