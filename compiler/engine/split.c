/* Cuts a graph along its kernels. What a kernel reads through a view (a node that no kernel computes) is cut behind the
 * view, so that the kernel meets the same strides as in the whole. */
#include "engine/split.h"

#include "base/str.h"
#include "graph/region.h"
#include <string.h>

struct program_cut {
    struct arena *arena;
    const struct lowered *lowered;
    const struct graph *from;
    struct graph *to;
    struct value **made; /* by value id of `from` */
    const struct kernel *kernel;
    VEC(struct value *) inputs;
};

static bool in_kernel(const struct kernel *k, const struct node *n)
{
    for (size_t i = 0; i < k->nodes.count; i++)
        if (k->nodes.data[i] == n)
            return true;
    return false;
}

static bool is_view(const struct program_cut *c, const struct node *n)
{
    for (size_t k = 0; k < c->lowered->kernels.count; k++)
        if (in_kernel(c->lowered->kernels.data[k], n))
            return false;
    return true;
}

static struct value *bring(struct program_cut *c, struct value *v);

/* Copies a node with what it reads. */
static void copy_node(struct program_cut *c, const struct node *n)
{
    struct value **inputs = arena_array(c->arena, struct value *, n->inputs.count + 1);
    for (size_t i = 0; i < n->inputs.count; i++)
        inputs[i] = n->inputs.data[i] ? bring(c, n->inputs.data[i]) : NULL;
    struct node *copy = graph_add_like(c->to, n, &n->loc, NULL);
    for (size_t i = 0; i < n->inputs.count; i++)
        node_add_input(copy, inputs[i]);
    for (size_t i = 0; i < n->outputs.count; i++) {
        struct value *v = n->outputs.data[i];
        struct value *made = node_add_output(copy, v ? graph_fresh_name(c->to, v->name) : NULL);
        if (!v)
            continue;
        c->made[v->id] = made;
        made->dtype = v->dtype;
        made->shape = v->shape;
    }
    if (!node_infer(copy))
        UNREACHABLE("a copied node infers as the original did");
}

static struct value *bring(struct program_cut *c, struct value *v)
{
    if (c->made[v->id])
        return c->made[v->id];
    if (v->kind == VALUE_CONSTANT)
        return c->made[v->id] = graph_add_constant(c->to, v->name, v->constant);
    if (v->kind == VALUE_RESULT && (in_kernel(c->kernel, v->producer) || is_view(c, v->producer))) {
        copy_node(c, v->producer);
        return c->made[v->id];
    }
    c->made[v->id] = graph_add_input(c->to, v->name, v->dtype, &v->shape);
    vec_push(c->arena, &c->inputs, v);
    return c->made[v->id];
}

static bool read_outside(const struct program_cut *c, const struct value *v)
{
    for (size_t i = 0; i < v->uses.count; i++)
        if (!in_kernel(c->kernel, v->uses.data[i].node))
            return true;
    for (size_t i = 0; i < c->from->outputs.count; i++)
        if (c->from->outputs.data[i].value == v)
            return true;
    for (size_t i = 0; i < c->from->bindings.count; i++)
        if (c->from->bindings.data[i].value == v)
            return true;
    return false;
}

static void cut_kernel(struct program_cut *c)
{
    graph_each_node(c->from, n)
        for (size_t o = 0; in_kernel(c->kernel, n) && o < n->outputs.count; o++) {
            struct value *v = n->outputs.data[o];
            if (v && read_outside(c, v))
                vec_push(c->arena, &c->to->outputs, ((struct graph_output){v->name, bring(c, v)}));
        }
}

struct split split_entry(struct diag *d, struct arena *a, const struct program *p, const struct entry *entry,
                         const struct lowered *l)
{
    struct program *made = arena_new(a, struct program);
    *made = (struct program){.name = "kernels", .arena = a, .diag = d, .model = p->model, .fold = p->fold};
    made->random_streams = p->random_streams;
    for (size_t i = 0; i < p->counters.count; i++)
        vec_push(a, &made->counters, p->counters.data[i]);
    struct split out = {.program = made};
    const struct entry init = {.name = "init", .kind = ENTRY_INIT, .graph = graph_new(made, "init"), .training = -1};
    vec_push(a, &made->entries, init);
    for (size_t i = 0; i < l->kernels.count; i++) {
        const struct kernel *k = l->kernels.data[i];
        if (k->nodes.count == 0)
            continue;
        struct program_cut c = {.arena = a, .lowered = l, .from = entry->graph, .kernel = k};
        c.to = graph_new(made, arena_printf(a, "kernel_%zu", i));
        c.made = arena_array(a, struct value *, (size_t)entry->graph->value_count + 1);
        cut_kernel(&c);
        const struct entry e = {.name = c.to->name, .kind = ENTRY_EVALUATE, .graph = c.to, .training = -1};
        vec_push(a, &made->entries, e);
        vec_push(a, &out.kernels, ((struct split_kernel){.label = k->label, .inputs = c.inputs.data}));
    }
    for (size_t i = 0; i < out.kernels.count; i++)
        out.kernels.data[i].entry = &made->entries.data[i + 1];
    return out;
}
