/* The rule that says which axes run together (graph/axes.h), held against what the interpreter computes: with other
 * numbers in one half of an axis, the other half of every axis of the results that runs along with it stays, bit by
 * bit. What lacks the axis is put together over it: by an operator that is listed here, and where that is a sum, what
 * one half adds does not depend on the other. */
#include "sample.h"

#include "base/str.h"
#include "graph/axes.h"
#include "train/combine.h"
#include <math.h>
#include <string.h>

struct halves {
    struct sample_test *t;
    struct engine *engine;
    const struct graph *graph; /* of the engine */
    const struct node *node;
    struct axes_ctx axes;
    const struct tensor **inputs, **others;
    struct tensor **before, **after;
};

/* Parts of a batch meet in its statistics. */
static bool meets_within(const struct node *n)
{
    return node_is(n, "BatchNormalization") && op_attr_int(n, "training_mode") != 0;
}

static const struct node *find_node(const struct sample_test *t, const struct graph *g)
{
    graph_each_node(g, n)
        if (n->def == t->def)
            return n;
    return NULL;
}

static int argument_of(const struct graph *g, const struct value *v)
{
    for (size_t i = 0; v && v->kind == VALUE_INPUT && i < g->inputs.count; i++)
        if (str_equal(g->inputs.data[i]->name, v->name))
            return (int)i;
    return -1;
}

static int result_of(const struct graph *g, const struct value *v)
{
    for (size_t i = 0; v && i < g->outputs.count; i++)
        if (str_equal(g->outputs.data[i].name, v->name))
            return (int)i;
    return -1;
}

/* What may be put together over an axis, and how many operands are summed over, each by itself: a mean by the weights
 * of its labels is no sum. */
static const struct joins {
    const char *op;
    size_t adds;
} joins[] = {
    {"ReduceSum", 2},
    {"ReduceMean", 2},
    {"ReduceSumSquare", 2},
    {"ReduceL1", 2},
    {"ReduceL2", 0},
    {"ReduceLogSum", 0},
    {"ReduceLogSumExp", 0},
    {"ReduceMax", 0},
    {"ReduceMin", 0},
    {"ReduceProd", 0},
    {"MatMul", 2},
    {"Gemm", 2},
    {"Einsum", 2},
    {"Conv", 2},
    {"SoftmaxCrossEntropyLoss", 1},
    {"NegativeLogLikelihoodLoss", 1},
    {"stepc.SoftmaxCrossEntropyProbabilities", 1},
};

static const struct joins *joins_of(const struct node *n)
{
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++)
        if (n->def == op_find_qualified(joins[i].op))
            return &joins[i];
    return NULL;
}

/* Is element k in the second half of the axis? */
static bool is_second(const struct shape *s, int axis, int64_t k)
{
    const int64_t behind = shape_count_range(s, axis + 1, s->rank);
    return k / behind % s->dim[axis] >= s->dim[axis] / 2;
}

static bool run(struct halves *h, struct tensor **outputs)
{
    return (engine_init(h->engine, h->t->seed) &&
            engine_run(h->engine, program_entry(engine_program(h->engine), "infer"), h->inputs, outputs,
                       &h->t->arena)) ||
           sample_fail(h->t, "axes: %s", diag_first_error(&h->t->diag));
}

static bool same_element(const struct tensor *a, const struct tensor *b, int64_t k)
{
    const size_t size = tensor_bytes(a) / (size_t)a->count;
    return memcmp((const char *)a->data + (size_t)k * size, (const char *)b->data + (size_t)k * size, size) == 0;
}

static bool check_result(struct halves *h, size_t o, int axis, bool changed_second)
{
    const struct value *const v = h->node->outputs.data[o];
    const int at = result_of(h->graph, v);
    const struct tensor *const a = at < 0 ? NULL : h->before[at], *const b = at < 0 ? NULL : h->after[at];
    for (int64_t k = 0; a && b && a->dtype != DTYPE_STRING && k < a->count; k++)
        if (is_second(&v->shape, axis, k) != changed_second && !same_element(a, b, k))
            return sample_fail(h->t, "axes: element %lld of '%s' follows the other half of axis %d", (long long)k,
                               v->name, axis);
    return true;
}

/* Axes with one label are equally long. */
static bool has_one_size(const struct halves *h, int label)
{
    int64_t first = -1;
    for (size_t i = 0; i < h->node->inputs.count + h->node->outputs.count; i++) {
        const size_t at = i < h->node->inputs.count ? i : i - h->node->inputs.count;
        const struct value *const v = i == at ? h->node->inputs.data[at] : h->node->outputs.data[at];
        const int *const labels = i == at ? h->axes.in[at] : h->axes.out[at];
        for (int d = 0; v && d < v->shape.rank; d++)
            if (labels[d] == label) {
                if (first >= 0 && first != v->shape.dim[d])
                    return false;
                first = v->shape.dim[d];
            }
    }
    return true;
}

/* The operand with other numbers in the halves that are asked for. */
static struct tensor *mix(struct halves *h, size_t i, int at, int axis, bool first, bool second)
{
    const struct tensor *const own = h->inputs[at];
    struct tensor *const mixed = tensor_new(&h->t->arena, own->dtype, &own->shape);
    const size_t size = own->count > 0 ? tensor_bytes(own) / (size_t)own->count : 0;
    for (int64_t k = 0; k < own->count; k++) {
        const bool other = is_second(&h->node->inputs.data[i]->shape, axis, k) ? second : first;
        memcpy((char *)mixed->data + (size_t)k * size,
               (const char *)(other ? h->others[at] : own)->data + (size_t)k * size, size);
    }
    return mixed;
}

static bool run_mixed(struct halves *h, size_t i, int at, int axis, bool first, bool second, struct tensor **outputs)
{
    const struct tensor *const own = h->inputs[at];
    h->inputs[at] = mix(h, i, at, axis, first, second);
    const bool ok = run(h, outputs);
    h->inputs[at] = own;
    return ok;
}

static bool result_has(const struct halves *h, size_t o, int label)
{
    const struct value *const v = h->node->outputs.data[o];
    for (int d = 0; v && d < v->shape.rank; d++)
        if (h->axes.out[o][d] == label)
            return true;
    return false;
}

static bool any_result_has(const struct halves *h, int label)
{
    for (size_t o = 0; o < h->node->outputs.count; o++)
        if (result_has(h, o, label))
            return true;
    return false;
}

/* f(a', b') - f(a', b) = f(a, b') - f(a, b) in every element, rounding aside */
static bool adds_up(const struct tensor *const *f, int64_t k)
{
    double x[4], largest = 1;
    for (int i = 0; i < 4; i++) {
        x[i] = tensor_get_double(f[i], k);
        if (!isfinite(x[i]))
            return true;
        largest = fmax(largest, fabs(x[i]));
    }
    return fabs(x[3] - x[1] - x[2] + x[0]) <= 1e-5 * largest;
}

/* Results without the axis: all of them stay, or each is a sum over it. */
static bool check_sums(struct halves *h, size_t i, int at, int axis)
{
    const size_t count = h->graph->outputs.count + 1;
    struct tensor **const first = arena_array(&h->t->arena, struct tensor *, count);
    struct tensor **const second = arena_array(&h->t->arena, struct tensor *, count);
    const struct joins *const joined = joins_of(h->node);
    if (!run_mixed(h, i, at, axis, true, false, first) || !run_mixed(h, i, at, axis, false, true, second) ||
        !run_mixed(h, i, at, axis, true, true, h->after))
        return false;
    for (size_t o = 0; o < h->node->outputs.count; o++) {
        const int out = result_of(h->graph, h->node->outputs.data[o]);
        if (out < 0 || result_has(h, o, h->axes.in[i][axis]))
            continue;
        const struct tensor *const f[] = {h->before[out], first[out], second[out], h->after[out]};
        for (int64_t k = 0; f[0]->dtype != DTYPE_STRING && k < f[0]->count; k++) {
            const bool stays = same_element(f[0], f[1], k) && same_element(f[0], f[2], k);
            if (!stays && !joined)
                return sample_fail(h->t, "axes: '%s' follows axis %d of '%s', which it lacks, and %s is no operator "
                                         "that puts parts together",
                                   h->node->outputs.data[o]->name, axis, h->node->inputs.data[i]->name,
                                   op_display_name(h->node->def));
            if (!stays && i < joined->adds && (DTYPES_FLOAT_DOUBLE & DTYPE_BIT(f[0]->dtype)) && !adds_up(f, k))
                return sample_fail(h->t, "axes: '%s' is no sum over axis %d of '%s'", h->node->outputs.data[o]->name,
                                   axis, h->node->inputs.data[i]->name);
        }
    }
    return true;
}

static bool check_axis(struct halves *h, size_t i, int axis, bool second)
{
    const struct value *const v = h->node->inputs.data[i];
    const int label = h->axes.in[i][axis], at = argument_of(h->graph, v);
    if (label == AXIS_WHOLE)
        return true;
    if (!has_one_size(h, label))
        return sample_fail(h->t, "axes: axis %d of '%s' runs along with one of another size", axis, v->name);
    if (!any_result_has(h, label) && !joins_of(h->node) && !h->node->def->shape_only)
        return sample_fail(h->t, "axes: no result has axis %d of '%s', and %s is no operator that puts parts together",
                           axis, v->name, op_display_name(h->node->def));
    if (at < 0 || v->shape.dim[axis] < 2 || v->dtype == DTYPE_STRING)
        return true;
    bool ok = (second || check_sums(h, i, at, axis)) && run_mixed(h, i, at, axis, !second, second, h->after);
    for (size_t o = 0; o < h->node->outputs.count && ok; o++)
        for (int d = 0; h->node->outputs.data[o] && d < h->node->outputs.data[o]->shape.rank; d++)
            if (h->axes.out[o][d] == label)
                ok = check_result(h, o, d, second) && ok;
    return ok;
}

/* As import leaves it: nothing is simplified. */
static const struct graph *imported(struct sample_test *t, const struct model *m)
{
    struct diag unheard = {.arena = &t->arena};
    const struct import_options o = {0};
    struct program *p;
    return combine_program(&unheard, &t->arena, m, &o, "sample", "infer", &p) ? p->entries.data[0].graph : NULL;
}

bool sample_check_axes(struct sample_test *t, const struct model *m)
{
    const struct engine_options o = {.kind = ENGINE_INTERPRETED, .arithmetic = ARITHMETIC_DOUBLE,
                                     .pipeline = {.name = "sample", .entries = "init,infer"}};
    const struct graph *const g = imported(t, m);
    struct halves h = {.t = t, .node = g ? find_node(t, g) : NULL};
    if (!h.node || meets_within(h.node) || !node_axes(&t->arena, h.node, &h.axes))
        return true;
    if (!engine_open(&t->diag, &t->arena, m, &o, &h.engine))
        return sample_fail(t, "axes: %s", diag_first_error(&t->diag));
    h.graph = program_entry(engine_program(h.engine), "infer")->graph;
    struct sample_test other = *t;
    other.seed++;
    h.inputs = sample_feed(t, h.graph, FEED_DRAWN);
    h.others = sample_feed(&other, h.graph, FEED_DRAWN);
    h.before = arena_array(&t->arena, struct tensor *, h.graph->outputs.count + 1);
    h.after = arena_array(&t->arena, struct tensor *, h.graph->outputs.count + 1);
    bool ok = run(&h, h.before);
    for (size_t i = 0; i < h.node->inputs.count && ok; i++)
        for (int d = 0; h.node->inputs.data[i] && d < h.node->inputs.data[i]->shape.rank && ok; d++)
            ok = check_axis(&h, i, d, false) && check_axis(&h, i, d, true);
    engine_close(h.engine);
    return ok;
}
