#include "cmd/not_finite.h"

#include "base/str.h"
#include "interp/interp.h"
#include <math.h>
#include <string.h>

void history_keep(struct history *h, struct engine *e, int64_t step)
{
    if (step % HISTORY_STEPS != 0 && h->copies[h->newest].variables)
        return;
    const struct program *p = engine_program(e);
    h->newest = !h->newest;
    struct state_copy *c = &h->copies[h->newest];
    arena_free(&c->arena);
    c->step = step;
    c->counters = arena_array(&c->arena, uint64_t, p->counters.count);
    for (size_t i = 0; i < p->counters.count; i++)
        c->counters[i] = engine_counter(e, i);
    c->variables = arena_array(&c->arena, struct tensor *, p->variables.count + 1);
    for (size_t i = 0; i < p->variables.count; i++)
        c->variables[i] = engine_read(e, p->variables.data[i], &c->arena);
}

void history_free(struct history *h)
{
    arena_free(&h->copies[0].arena);
    arena_free(&h->copies[1].arena);
}

/* ---- one step, looked at closely --------------------------------------------------------------------------------- */

struct replay {
    struct session *s;
    const struct program *program;
    const struct entry *entry;
    const struct step_feeds *feeds;
    const struct state_copy *from;
    enum arithmetic arithmetic;
    uint64_t seed;
    struct arena arena;            /* of the step being looked at */
    const struct tensor **content; /* by value->id: all values of that step */
};

static int64_t first_not_finite(const struct tensor *t)
{
    if (t && dtype_is_float(t->dtype))
        for (int64_t i = 0; i < t->count; i++)
            if (!isfinite(tensor_get_double(t, i)))
                return i;
    return -1;
}

static bool is_bad(const struct replay *r, const struct value *v)
{
    return v && first_not_finite(r->content[v->id]) >= 0;
}

/* The interpreter as it stands before step `step`. */
static struct interp *interp_before(struct replay *r, int64_t step)
{
    struct interp *p = interp_new(&r->arena, r->program, r->arithmetic);
    p->seed = r->seed;
    memcpy(p->counters, r->from->counters, r->program->counters.count * sizeof *p->counters);
    for (size_t i = 0; i < r->program->variables.count; i++)
        memcpy(p->variables[i]->data, r->from->variables[i]->data, tensor_bytes(p->variables[i]));
    for (int64_t k = r->from->step; k < step; k++) {
        struct arena a = {0};
        const struct tensor **inputs;
        const bool ok = r->feeds->inputs(r->feeds->self, k, &a, &inputs) &&
                        interp_run(p, r->entry, inputs, NULL, NULL, 0, &a, &r->s->diag);
        arena_free(&a);
        if (!ok)
            return NULL;
    }
    return p;
}

/* Variables are copied: they are overwritten when the step ends. */
static void keep_sources(struct replay *r, const struct interp *p, const struct tensor *const *inputs)
{
    const struct graph *g = r->entry->graph;
    for (size_t i = 0; i < g->inputs.count; i++)
        r->content[g->inputs.data[i]->id] = inputs[i];
    vec_each(const struct value *, v, &g->sources) {
        if (v->kind == VALUE_CONSTANT) {
            r->content[v->id] = v->constant;
            continue;
        }
        struct tensor *old = tensor_new(&r->arena, v->dtype, &v->shape);
        memcpy(old->data, p->variables[v->variable->index]->data, tensor_bytes(old));
        r->content[v->id] = old;
    }
}

/* Runs step `step` and keeps every value of it. */
static bool look_at(struct replay *r, int64_t step)
{
    const struct graph *g = r->entry->graph;
    const struct tensor **inputs;
    arena_free(&r->arena);
    r->content = arena_array(&r->arena, const struct tensor *, (size_t)g->value_count + 1);
    struct interp *p = interp_before(r, step);
    if (!p || !r->feeds->inputs(r->feeds->self, step, &r->arena, &inputs))
        return false;
    keep_sources(r, p, inputs);
    VEC(struct interp_fetch) fetches = {0};
    VEC(int) ids = {0};
    graph_each_node(g, n)
        for (size_t o = 0; o < n->outputs.count; o++)
            if (n->outputs.data[o]) {
                vec_push(&r->arena, &fetches, ((struct interp_fetch){.name = n->outputs.data[o]->name}));
                vec_push(&r->arena, &ids, n->outputs.data[o]->id);
            }
    if (!interp_run(p, r->entry, inputs, NULL, fetches.data, fetches.count, &r->arena, &r->s->diag))
        return false;
    for (size_t i = 0; i < fetches.count; i++)
        r->content[ids.data[i]] = fetches.data[i].tensor;
    return true;
}

/* ---- following the value back ------------------------------------------------------------------------------------ */

/* Marks, by value->id, the values that are not finite and from which `target` got it: only through such
 * values, so that an infinity that a Where discards is nobody's fault. Returns the first node with a marked
 * output and finite inputs. */
static const struct node *find_cause(const struct replay *r, const struct value *target, bool *marked)
{
    const struct node *cause = NULL;
    marked[target->id] = is_bad(r, target);
    for (const struct node *n = r->entry->graph->last; n; n = n->prev) {
        bool wanted = false, inherited = false;
        for (size_t o = 0; o < n->outputs.count; o++)
            wanted |= n->outputs.data[o] && marked[n->outputs.data[o]->id];
        for (size_t i = 0; wanted && i < n->inputs.count; i++)
            if (is_bad(r, n->inputs.data[i]))
                inherited = marked[n->inputs.data[i]->id] = true;
        if (wanted && !inherited)
            cause = n;
    }
    return cause;
}

static const char *describe(struct replay *r, const struct value *v)
{
    const struct tensor *t = r->content[v->id];
    struct arena *a = &r->s->arena;
    const int64_t at = first_not_finite(t);
    struct strbuf index = {.arena = a};
    int64_t stride[SHAPE_MAX_RANK], bad = 0;
    shape_strides(&t->shape, stride);
    for (int k = 0; k < t->shape.rank; k++)
        strbuf_addf(&index, "%s%lld", k ? "," : "", (long long)(at / stride[k] % t->shape.dim[k]));
    for (int64_t i = 0; i < t->count; i++)
        bad += !isfinite(tensor_get_double(t, i));
    const double x = tensor_get_double(t, at);
    return arena_printf(a, "'%s' %s%s is %s at [%s] (%lld of %lld elements not finite)", v->name, dtype_name(v->dtype),
                        shape_text(a, &v->shape),
                        isnan(x) ? "NaN"
                        : x > 0  ? "infinite"
                                 : "minus infinite",
                        strbuf_text(&index), (long long)bad, (long long)t->count);
}

static void report_node(struct replay *r, int64_t step, const struct node *n)
{
    for (size_t o = 0; o < n->outputs.count; o++)
        if (is_bad(r, n->outputs.data[o])) {
            const char *node = n->name[0] ? arena_printf(&r->s->arena, "node '%s' (%s)", n->name, n->def->name)
                                          : arena_printf(&r->s->arena, "a nameless %s", n->def->name);
            diag_note(&r->s->diag, &n->loc, "step %lld: first made here, from finite inputs: %s, tensor %s",
                      (long long)step, node, describe(r, n->outputs.data[o]));
            return;
        }
}

static const struct value *bound_value(const struct graph *g, const struct variable *v)
{
    for (size_t i = 0; i < g->bindings.count; i++)
        if (g->bindings.data[i].variable == v)
            return g->bindings.data[i].value;
    return NULL;
}

/* A source that was not finite when the step began. Returns the variable if the step before can be asked about it. */
static const struct variable *report_source(struct replay *r, int64_t step, const bool *marked, bool *found)
{
    const struct graph *g = r->entry->graph;
    const struct loc at = LOC_FILE(r->program->model->file);
    for (size_t i = 0; i < g->inputs.count; i++)
        if (marked[g->inputs.data[i]->id]) {
            diag_note(&r->s->diag, &at, "step %lld: it was fed: input %s", (long long)step,
                      describe(r, g->inputs.data[i]));
            *found = true;
            return NULL;
        }
    vec_each(const struct value *, v, &g->sources) {
        if (!marked[v->id])
            continue;
        *found = true;
        if (v->kind == VALUE_VARIABLE && step > r->from->step && bound_value(g, v->variable))
            return v->variable;
        diag_note(&r->s->diag, &at, "before step %lld: %s %s", (long long)step,
                  v->kind == VALUE_VARIABLE ? "variable" : "constant", describe(r, v));
        return NULL;
    }
    return NULL;
}

static void follow(struct replay *r, int64_t step, const struct value *target)
{
    while (look_at(r, step)) {
        bool *marked = arena_array(&r->arena, bool, (size_t)r->entry->graph->value_count + 1), found = false;
        const struct node *cause = find_cause(r, target, marked);
        const struct variable *earlier = report_source(r, step, marked, &found);
        if (!earlier && !found && cause)
            report_node(r, step, cause);
        else if (!earlier && !found)
            diag_note(&r->s->diag, &LOC_FILE(r->program->model->file),
                      "step %lld: interpreted, '%s' is finite: the engine's rounding or an overflow inside a kernel "
                      "made the difference",
                      (long long)step, target->name);
        if (!earlier)
            return;
        target = bound_value(r->entry->graph, earlier);
        step--;
    }
}

void history_explain(const struct history *h, struct session *s, struct engine *e, enum arithmetic arithmetic,
                     const struct entry *entry, const struct step_feeds *feeds, int64_t step, size_t output)
{
    const struct state_copy *newest = &h->copies[h->newest], *older = &h->copies[!h->newest];
    struct replay r = {.s = s, .feeds = feeds, .arithmetic = arithmetic};
    const struct tensor **inputs;
    struct program *p;
    if (feeds->inputs(feeds->self, step, &s->arena, &inputs) && engine_program_for(e, entry, inputs, &p)) {
        r.program = p;
        r.entry = &p->entries.data[entry - engine_program(e)->entries.data];
        r.from = older->variables ? older : newest;
        r.seed = engine_seed(e);
        follow(&r, step, r.entry->graph->outputs.data[output].value);
    }
    arena_free(&r.arena);
}
