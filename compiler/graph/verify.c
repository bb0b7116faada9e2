/* The invariants of a graph, checked after every pass in debug builds and in tests. What fails here
 * is a bug of ours. */
#include "graph/graph_internal.h"
#include "graph/region.h"

#include <stdio.h>
#include <string.h>

struct verification {
    const struct graph *g;
    const char *pass;
    struct arena scratch;
    bool *defined;       /* by id: source, or output of a node already passed */
    size_t *reads;       /* by id: inputs of nodes that name the value */
};

#define FAIL(c, ...)                                                                                                   \
    UNREACHABLE("after %s, graph '%s': %s", (c)->pass, (c)->g->name, arena_printf(&(c)->scratch, __VA_ARGS__))

static void check_value(struct verification *c, const struct value *v)
{
    if (v->id < 0 || v->id >= c->g->value_count)
        FAIL(c, "'%s' has id %d of %d", v->name, v->id, c->g->value_count);
    if (c->defined[v->id])
        FAIL(c, "'%s' is defined twice", v->name);
    if (graph_find(c->g, v->name) != v)
        FAIL(c, "the name '%s' does not lead to its value", v->name);
    if (v->dtype == DTYPE_UNDEFINED)
        FAIL(c, "'%s' has no dtype", v->name);
    const struct tensor *t = v->constant;
    if (t != NULL && (t->dtype != v->dtype || !shape_equal(&t->shape, &v->shape)))
        FAIL(c, "the known content of '%s' is of another type", v->name);
    c->defined[v->id] = true;
}

static void check_sources(struct verification *c)
{
    const struct graph *g = c->g;
    for (size_t i = 0; i < g->inputs.count; i++) {
        if (g->inputs.data[i]->kind != VALUE_INPUT)
            FAIL(c, "input '%s' is of another kind", g->inputs.data[i]->name);
        check_value(c, g->inputs.data[i]);
    }
    vec_each(const struct value *, v, &g->sources) {
        if (!(v->kind == VALUE_CONSTANT && v->constant != NULL) && !(v->kind == VALUE_VARIABLE && v->variable != NULL))
            FAIL(c, "source '%s' is neither a constant nor a variable", v->name);
        check_value(c, v);
    }
}

static void check_inputs(struct verification *c, const struct node *n)
{
    if (n->inputs.count > 0 && n->inputs.data[n->inputs.count - 1] == NULL)
        FAIL(c, "%s '%s' ends with an omitted input", n->def->name, n->name);
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *v = n->inputs.data[i];
        if (v == NULL)
            continue;
        if (v->id >= c->g->value_count || !c->defined[v->id])
            FAIL(c, "input %zu '%s' of %s '%s' is not defined before it", i, v->name, n->def->name, n->name);
        c->reads[v->id]++;
    }
}

static void check_inference(struct verification *c, struct node *n)
{
    struct diag d = {.arena = &c->scratch};
    struct infer_ctx found;
    if (!infer_node_into(&found, n, &c->scratch, &d)) {
        diag_print(&d, stderr);
        FAIL(c, "inference refuses %s '%s'", n->def->name, n->name);
    }
    for (size_t i = 0; i < n->outputs.count; i++) {
        const struct value *v = n->outputs.data[i];
        if (v == NULL)
            continue;
        const struct infer_output *o = &found.out[i];
        if (o->dtype != v->dtype || !shape_equal(&o->shape, &v->shape))
            FAIL(c, "'%s' is %s%s, but inference finds %s%s", v->name, dtype_name(v->dtype),
                 shape_text(&c->scratch, &v->shape), dtype_name(o->dtype), shape_text(&c->scratch, &o->shape));
    }
}

static void check_outputs(struct verification *c, const struct node *n)
{
    for (size_t i = 0; i < n->outputs.count; i++) {
        const struct value *v = n->outputs.data[i];
        if (v == NULL)
            continue;
        if (v->kind != VALUE_RESULT || v->producer != n || v->output != (int)i)
            FAIL(c, "'%s' does not know its producer %s", v->name, n->def->name);
        check_value(c, v);
    }
}

static void check_nodes(struct verification *c)
{
    size_t count = 0;
    const struct node *previous = NULL;
    for (struct node *n = c->g->first; n != NULL; n = n->next) {
        if (n->removed || n->graph != c->g || n->prev != previous)
            FAIL(c, "the list of nodes is broken at %s '%s'", n->def->name, n->name);
        check_inputs(c, n);
        check_inference(c, n);
        check_outputs(c, n);
        if (n->region != NULL)
            graph_verify(region_graph(n->region), c->pass);
        previous = n;
        count++;
    }
    if (c->g->last != previous || count != c->g->node_count)
        FAIL(c, "%zu nodes are listed, %zu counted", count, c->g->node_count);
}

/* Every use names a reader that reads, and there are as many as reads: so the two sides agree. */
static void check_uses(struct verification *c, const struct value *v)
{
    if (v->uses.count != c->reads[v->id])
        FAIL(c, "'%s' lists %zu readers, has %zu", v->name, v->uses.count, c->reads[v->id]);
    for (size_t i = 0; i < v->uses.count; i++)
        if (node_input(v->uses.data[i].node, (size_t)v->uses.data[i].input) != v)
            FAIL(c, "'%s' lists a reader that does not read it", v->name);
}

static void check_all_uses(struct verification *c)
{
    const struct graph *g = c->g;
    for (size_t i = 0; i < g->inputs.count; i++)
        check_uses(c, g->inputs.data[i]);
    for (size_t i = 0; i < g->sources.count; i++)
        check_uses(c, g->sources.data[i]);
    for (const struct node *n = g->first; n != NULL; n = n->next)
        for (size_t i = 0; i < n->outputs.count; i++)
            if (n->outputs.data[i] != NULL)
                check_uses(c, n->outputs.data[i]);
}

static void check_ends(struct verification *c)
{
    const struct graph *g = c->g;
    for (size_t i = 0; i < g->outputs.count; i++)
        if (!c->defined[g->outputs.data[i].value->id])
            FAIL(c, "output '%s' is not defined", g->outputs.data[i].name);
    vec_each_ptr(const struct binding, b, &g->bindings) {
        if (!c->defined[b->value->id])
            FAIL(c, "the new value of '%s' is not defined", b->variable->name);
        if (b->value->dtype != b->variable->dtype || !shape_equal(&b->value->shape, &b->variable->shape))
            FAIL(c, "the new value of '%s' is of another type", b->variable->name);
    }
}

void graph_verify(const struct graph *g, const char *after_pass)
{
    struct verification c = {.g = g, .pass = after_pass};
    c.defined = arena_array(&c.scratch, bool, (size_t)g->value_count);
    c.reads = arena_array(&c.scratch, size_t, (size_t)g->value_count);
    check_sources(&c);
    check_nodes(&c);
    check_all_uses(&c);
    check_ends(&c);
    arena_free(&c.scratch);
}
