/* The rule that says which axes run together (graph/axes.h), held against what the interpreter computes: with other
 * numbers in one half of an axis, the other half of every axis of the results that runs along with it stays, bit by
 * bit. */
#include "sample.h"

#include "base/str.h"
#include "graph/axes.h"
#include "train/combine.h"
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

/* Axes with one label are equally long; where a reshape joins others, *even says whether all have halves. */
static bool has_halves(const struct halves *h, int label, bool *even)
{
    int64_t first = -1;
    bool equal = true;
    *even = true;
    for (size_t i = 0; i < h->node->inputs.count + h->node->outputs.count; i++) {
        const size_t at = i < h->node->inputs.count ? i : i - h->node->inputs.count;
        const struct value *const v = i == at ? h->node->inputs.data[at] : h->node->outputs.data[at];
        const int *const labels = i == at ? h->axes.in[at] : h->axes.out[at];
        for (int d = 0; v && d < v->shape.rank; d++)
            if (labels[d] == label) {
                equal = equal && (first < 0 || first == v->shape.dim[d]);
                first = v->shape.dim[d];
                *even = *even && first % 2 == 0;
            }
    }
    *even = *even || equal;
    return equal || h->node->def->is_reshape;
}

static bool check_axis(struct halves *h, size_t i, int axis, bool second)
{
    const struct value *const v = h->node->inputs.data[i];
    const int label = h->axes.in[i][axis], at = argument_of(h->graph, v);
    bool even;
    if (label == AXIS_WHOLE)
        return true;
    if (!has_halves(h, label, &even))
        return sample_fail(h->t, "axes: axis %d of '%s' runs along with one of another size", axis, v->name);
    if (at < 0 || v->shape.dim[axis] < 2 || v->dtype == DTYPE_STRING || !even)
        return true;
    const struct tensor *const own = h->inputs[at];
    struct tensor *const mixed = tensor_new(&h->t->arena, own->dtype, &own->shape);
    const size_t size = own->count > 0 ? tensor_bytes(own) / (size_t)own->count : 0;
    for (int64_t k = 0; k < own->count; k++)
        memcpy((char *)mixed->data + (size_t)k * size,
               (const char *)(is_second(&v->shape, axis, k) == second ? h->others[at] : own)->data + (size_t)k * size,
               size);
    h->inputs[at] = mixed;
    bool ok = run(h, h->after);
    h->inputs[at] = own;
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
