/* The interpreter: nodes in order, each value kept until its last reader has run. */
#include "interp/interp.h"

#include <string.h>

struct interp *interp_new(struct arena *a, const struct program *p, enum arithmetic arithmetic)
{
    struct interp *s = arena_new(a, struct interp);
    *s = (struct interp){.arena = a, .program = p, .arithmetic = arithmetic};
    s->variables = arena_array(a, struct tensor *, p->variables.count);
    s->counters = arena_array(a, uint64_t, p->counters.count);
    for (size_t i = 0; i < p->variables.count; i++) {
        const struct variable *v = p->variables.data[i];
        s->variables[i] = tensor_new(a, v->dtype, &v->shape);
    }
    return s;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

/* Memory of the values that appear together: all outputs of a node, or one source. Freed when the last of
 * them has been read. */
struct holder {
    struct arena arena;
    size_t alive;
};

struct graph_run {
    struct interp *interp;
    const struct graph *graph;
    const struct tensor *const *inputs; /* by position in graph->inputs */
    const struct eval_tensor **value;   /* by value->id; NULL: not there yet, or gone */
    struct holder **holder;             /* by value->id */
    size_t *readers;                    /* by value->id: reads still to come */
    bool initializes;                   /* random numbers are drawn with counters at 0 */
    struct arena arena;                 /* of the tables */
    struct diag *diag;
};

/* ORDER READERS: what count_readers() counts, release() takes back. */
static void count_readers(struct graph_run *r)
{
    graph_each_node(r->graph, n)
        for (size_t i = 0; i < n->inputs.count; i++)
            if (n->inputs.data[i] != NULL)
                r->readers[n->inputs.data[i]->id]++;
    for (size_t i = 0; i < r->graph->outputs.count; i++)
        r->readers[r->graph->outputs.data[i].value->id]++;
    for (size_t i = 0; i < r->graph->bindings.count; i++)
        r->readers[r->graph->bindings.data[i].value->id]++;
}

static void holder_drop(struct holder *h)
{
    if (--h->alive == 0)
        arena_free(&h->arena);
}

static void hold(struct graph_run *r, const struct value *v, const struct eval_tensor *t, struct holder *h)
{
    h->alive++;
    r->value[v->id] = t;
    r->holder[v->id] = h;
}

static void release(struct graph_run *r, const struct value *v)
{
    if (--r->readers[v->id] > 0)
        return;
    holder_drop(r->holder[v->id]);
    r->value[v->id] = NULL;
    r->holder[v->id] = NULL;
}

/* The content of a value that no node computes. */
static const struct tensor *source_tensor(const struct graph_run *r, const struct value *v)
{
    if (v->kind == VALUE_CONSTANT)
        return v->constant;
    if (v->kind == VALUE_VARIABLE)
        return r->interp->variables[v->variable->index];
    for (size_t i = 0; i < r->graph->inputs.count; i++)
        if (r->graph->inputs.data[i] == v)
            return r->inputs[i];
    UNREACHABLE("value '%s' is read before it is computed", v->name);
}

/* The value in the interpreter's form; sources are brought in when first read. */
static const struct eval_tensor *read_value(struct graph_run *r, const struct value *v)
{
    if (r->value[v->id] == NULL) {
        struct holder *h = arena_new(&r->arena, struct holder);
        hold(r, v, eval_from_tensor(&h->arena, source_tensor(r, v)), h);
    }
    return r->value[v->id];
}

static bool run_node(struct graph_run *r, const struct node *n)
{
    struct arena tables = {0};
    const struct eval_tensor **in = arena_array(&tables, const struct eval_tensor *, n->inputs.count);
    struct eval_tensor **out = arena_array(&tables, struct eval_tensor *, n->outputs.count);
    for (size_t i = 0; i < n->inputs.count; i++)
        in[i] = n->inputs.data[i] == NULL ? NULL : read_value(r, n->inputs.data[i]);

    const struct interp *s = r->interp;
    const struct eval_random random = {s->seed, n->stream == 0 || r->initializes ? 0 : s->counters[n->counter]};
    struct holder *h = arena_new(&r->arena, struct holder);
    h->alive = 1; /* our own hold, until the outputs are handed over */
    const bool ok = eval_node(n, in, out, s->arithmetic, random, &h->arena, r->diag);
    for (size_t o = 0; ok && o < n->outputs.count; o++)
        if (out[o] != NULL && r->readers[n->outputs.data[o]->id] > 0)
            hold(r, n->outputs.data[o], out[o], h);
    holder_drop(h);

    for (size_t i = 0; ok && i < n->inputs.count; i++)
        if (n->inputs.data[i] != NULL)
            release(r, n->inputs.data[i]);
    arena_free(&tables);
    return ok;
}

static struct tensor *take_result(struct graph_run *r, struct arena *a, const struct value *v)
{
    struct tensor *t = eval_to_tensor(a, read_value(r, v));
    release(r, v);
    return t;
}

bool interp_check_input(struct diag *d, const struct loc *at, const struct value *input, const struct tensor *t,
                        const struct shape *shape)
{
    if (t == NULL)
        return diag_error(d, at, "input '%s' is not fed", input->name);
    if (t->dtype != input->dtype)
        return diag_error(d, at, "input '%s' is fed %s, expected %s", input->name, dtype_name(t->dtype),
                          dtype_name(input->dtype));
    if (!shape_equal(&t->shape, shape))
        return diag_error(d, at, "input '%s' is fed shape %s, expected %s", input->name,
                          shape_text(d->arena, &t->shape), shape_text(d->arena, shape));
    return true;
}

static bool check_inputs(const struct graph_run *r)
{
    bool ok = true;
    for (size_t i = 0; i < r->graph->inputs.count; i++) {
        const struct value *v = r->graph->inputs.data[i];
        const struct tensor *t = r->inputs == NULL ? NULL : r->inputs[i];
        if (!interp_check_input(r->diag, &r->graph->loc, v, t, &v->shape))
            ok = false;
        else if (v->specialised && !tensor_identical(t, v->constant))
            ok = diag_error(r->diag, &r->graph->loc,
                            "input '%s' decides shapes: the graph was built for another content of it", v->name);
    }
    return ok;
}

/* Fetched values by name; the extra reader keeps each until the end. */
static bool find_fetches(struct graph_run *r, const struct interp_fetch *fetches, size_t count,
                         const struct value **values)
{
    bool ok = true;
    for (size_t i = 0; i < count; i++) {
        values[i] = graph_find(r->graph, fetches[i].name);
        for (size_t o = 0; values[i] == NULL && o < r->graph->outputs.count; o++)
            if (strcmp(r->graph->outputs.data[o].name, fetches[i].name) == 0)
                values[i] = r->graph->outputs.data[o].value;
        if (values[i] == NULL)
            ok = diag_error(r->diag, &r->graph->loc, "there is no tensor '%s' to fetch", fetches[i].name);
        else
            r->readers[values[i]->id]++;
    }
    return ok;
}

/* All new values are taken before any is written: right-hand sides see the state as it was (docs/readings.md, R10). */
static void write_bindings(struct graph_run *r)
{
    const struct graph *g = r->graph;
    struct tensor **new_value = arena_array(&r->arena, struct tensor *, g->bindings.count);
    for (size_t i = 0; i < g->bindings.count; i++)
        new_value[i] = take_result(r, &r->arena, g->bindings.data[i].value);
    for (size_t i = 0; i < g->bindings.count; i++) {
        struct tensor *variable = r->interp->variables[g->bindings.data[i].variable->index];
        memcpy(variable->data, new_value[i]->data, tensor_bytes(variable));
    }
}

static void run_free(struct graph_run *r)
{
    for (int id = 0; id < r->graph->value_count; id++)
        if (r->holder[id] != NULL)
            holder_drop(r->holder[id]);
    arena_free(&r->arena);
}

static bool run_graph(struct graph_run *r, struct tensor **outputs, struct interp_fetch *fetches, size_t fetch_count,
                      struct arena *a)
{
    const struct graph *g = r->graph;
    const size_t values = (size_t)g->value_count;
    r->value = arena_array(&r->arena, const struct eval_tensor *, values);
    r->holder = arena_array(&r->arena, struct holder *, values);
    r->readers = arena_array(&r->arena, size_t, values);
    const struct value **fetched = arena_array(&r->arena, const struct value *, fetch_count);
    count_readers(r);
    bool ok = check_inputs(r);
    ok = find_fetches(r, fetches, fetch_count, fetched) && ok;
    graph_each_node(g, n)
        ok = ok && run_node(r, n);
    if (ok) {
        for (size_t i = 0; i < fetch_count; i++)
            fetches[i].tensor = take_result(r, a, fetched[i]);
        for (size_t i = 0; outputs != NULL && i < g->outputs.count; i++)
            outputs[i] = take_result(r, a, g->outputs.data[i].value);
        write_bindings(r);
    }
    run_free(r);
    return ok;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

bool interp_run(struct interp *s, const struct entry *e, const struct tensor *const *inputs, struct tensor **outputs,
                struct interp_fetch *fetches, size_t fetch_count, struct arena *a, struct diag *d)
{
    struct graph_run r = {
        .interp = s, .graph = e->graph, .inputs = inputs, .initializes = e->kind == ENTRY_INIT, .diag = d};
    if (!run_graph(&r, outputs, fetches, fetch_count, a))
        return false;
    for (size_t i = 0; i < e->counter_count; i++)
        s->counters[e->first_counter + i]++;
    return true;
}

bool interp_init(struct interp *s, uint64_t seed, struct diag *d)
{
    const struct program *p = s->program;
    s->seed = seed;
    for (size_t i = 0; i < p->counters.count; i++)
        s->counters[i] = 0;
    for (size_t i = 0; i < p->variables.count; i++) {
        const struct variable *v = p->variables.data[i];
        if (v->initial != NULL)
            memcpy(s->variables[i]->data, v->initial->data, tensor_bytes(v->initial));
        else
            memset(s->variables[i]->data, 0, tensor_bytes(s->variables[i]));
    }
    for (size_t i = 0; i < p->entries.count; i++) {
        const struct entry *e = &p->entries.data[i];
        struct arena unused = {0};
        const bool ok = e->kind != ENTRY_INIT || interp_run(s, e, NULL, NULL, NULL, 0, &unused, d);
        arena_free(&unused);
        if (!ok)
            return false;
    }
    return true;
}
