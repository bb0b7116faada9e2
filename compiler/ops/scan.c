/* stepc.Scan: runs a graph once for each step of time, and carries values from step to step (graph/region.h). What
 * recurrent layers are made of, and their gradients.
 *
 *   state[0] = initial;  state[t + 1], stacked[t] = graph(state[t], slice[t], captures)
 *
 * The gradient is a Scan that runs the other way. Its states are the adjoints of the states, and sums of the adjoints
 * of captures; its graph is the gradient of the graph, as the rules of the operators in it give it. For this the states
 * before each step are stacked, and products, which cost most; all else is computed again. */
#include "graph/region.h"
#include "ops/op.h"

#include <string.h>

static const struct op_param inputs[] = {
    {.name = "inputs", .dtypes = DTYPES_ALL, .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS | PARAM_OPTIONAL}, {0}};
static const struct op_param outputs[] = {
    {.name = "outputs", .dtypes = DTYPES_ALL, .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS | PARAM_OPTIONAL}, {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool scan_infer(struct infer_ctx *c)
{
    const struct region *const r = c->node->region;
    if (r == NULL)
        return infer_error(c, "Scan of the domain stepc is made by operators that run in steps: no model has it");
    const struct program *const p = r->program;
    for (size_t i = 0; i < c->node->outputs.count; i++) {
        const struct variable *const v = p->variables.data[i];
        const struct shape stacked = region_stacked_shape(r, &v->shape);
        if (!infer_out(c, (int)i, v->dtype, (int)i < r->states ? &v->shape : &stacked))
            return false;
    }
    return true;
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* What the gradient's node is being made of. */
struct backward {
    struct grad_ctx *c;
    struct arena *arena;
    struct region *forward, *region;
    struct builder *b;           /* in the gradient's graph */
    VEC(struct value *) inputs;  /* of the gradient's node, behind its states */
    VEC(struct value *) initial; /* by state */
    struct value **now;          /* by id in the forward graph: what stands for it */
    struct value **inner;        /* by input of the forward node: what stands for it in the gradient's graph */
    struct value **carried;      /* by input of the forward node: the state that holds its adjoint, or a sum of it */
    struct value *sum;           /* of results times their adjoints: its gradient is taken */
};

static bool is_float(const struct value *v)
{
    return v != NULL && (DTYPES_FLOATS & DTYPE_BIT(v->dtype)) != 0;
}

static const char *adjoint_name(const struct backward *s, const char *name)
{
    return arena_printf(s->arena, "d_%s", name);
}

static struct value *add_state(struct backward *s, const char *name, const struct value *like, struct value *initial)
{
    vec_push(s->arena, &s->initial, initial);
    return region_state(s->region, adjoint_name(s, name), like->dtype, &like->shape);
}

/* The adjoint of each state is carried; those of captures are summed up. */
static void add_states(struct backward *s)
{
    const struct graph *const g = region_graph(s->forward);
    const int states = s->forward->states;
    for (int i = 0; i < states; i++) {
        struct value *const result = region_stacked(s->forward, i);
        if (is_float(result))
            s->carried[i] = add_state(s, s->forward->program->variables.data[i]->name, result,
                                      grad_has_output(s->c, i) ? grad_of_output(s->c, i) : NULL);
    }
    for (int i = 0; i < (int)g->inputs.count; i++)
        if (!s->forward->is_slice.data[i] && grad_wants(s->c, states + i) && is_float(g->inputs.data[i]))
            s->carried[states + i] = add_state(s, g->inputs.data[i]->name, g->inputs.data[i], NULL);
}

static struct value *add_input(struct backward *s, struct value *outer, const struct value *like, const char *name,
                               bool is_slice)
{
    vec_push(s->arena, &s->inputs, outer);
    return region_input(s->region, name, like->dtype, &like->shape, is_slice);
}

/* What the forward node makes as output number i. */
static struct value *forward_output(struct backward *s, int i, const char *name)
{
    struct node *const n = s->c->node;
    while (n->outputs.count < (size_t)i)
        node_add_output(n, NULL);
    struct value *const v = node_add_output(n, name);
    s->c->b->failed |= !node_infer(n);
    return v;
}

/* v of the forward graph is stacked there; what reads it as a slice. */
static struct value *bring_over(struct backward *s, struct value *v)
{
    const int i = region_stack(s->forward, arena_printf(s->arena, "%s_steps", v->name), v);
    return add_input(s, forward_output(s, i, s->forward->program->variables.data[i]->name), v, v->name, true);
}

/* The graph once more, from states that are slices now. */
static void copy_forward(struct backward *s)
{
    const struct region *const r = s->forward;
    struct graph *const g = region_graph(r);
    for (int i = 0; i < r->states; i++) {
        struct value *const state = map_get(&g->variables, r->program->variables.data[i]->name);
        if (state && graph_is_used(g, state))
            s->inner[i] = s->now[state->id] = bring_over(s, state);
    }
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *const v = g->inputs.data[i];
        struct value *const outer = node_input(s->c->node, (size_t)r->states + i);
        if (outer)
            s->inner[(size_t)r->states + i] = s->now[v->id] = add_input(s, outer, v, v->name, r->is_slice.data[i]);
    }
    region_copy_nodes(s->b->graph, g, s->now);
}

/* Products of the copy that adjoints read, read from where the forward graph stacks them. */
static void bring_products(struct backward *s)
{
    graph_each_node(region_graph(s->forward), n)
    {
        struct value *const v = n->def->is_sum ? node_output(n, 0) : NULL;
        if (v == NULL || v->uses.count == 0)
            continue;
        struct value *const copy = s->now[v->id], *const slice = bring_over(s, v);
        const char *const name = copy->name;
        graph_replace(s->b->graph, copy, slice);
        graph_rename(s->b->graph, copy, graph_fresh_name(s->b->graph, "replaced"));
        graph_rename(s->b->graph, slice, name);
        s->now[v->id] = slice;
    }
}

static void add_to_sum(struct backward *s, const struct value *result, struct value *adjoint)
{
    struct value *const factors[] = {s->now[result->id], adjoint};
    struct value *const product = build_value(s->b, "Mul", NULL, factors, 2);
    struct value *const sum = build_value(s->b, "ReduceSum", ATTRS(attr_int("keepdims", 0)), &product, 1);
    s->sum = s->sum ? build_value(s->b, "Add", NULL, (struct value *const[]){s->sum, sum}, 2) : sum;
}

static void make_sum(struct backward *s, int results)
{
    for (int i = 0; i < results; i++) {
        struct value *const result = region_stacked(s->forward, i);
        if (!is_float(result))
            continue;
        if (i < s->forward->states)
            add_to_sum(s, result, s->carried[i]);
        else if (grad_has_output(s->c, i))
            add_to_sum(s, result, add_input(s, grad_of_output(s->c, i), result, adjoint_name(s, result->name), true));
    }
}

/* Does the sum depend on v? */
static bool *find_reached(struct backward *s, const struct value *v)
{
    const struct graph *const g = s->b->graph;
    bool *const reached = arena_array(s->arena, bool, (size_t)g->value_count);
    reached[v->id] = true;
    for (const struct node *n = g->first; n != NULL; n = n->next) {
        bool any = false;
        for (size_t i = 0; i < n->inputs.count; i++)
            any |= n->inputs.data[i] && reached[n->inputs.data[i]->id];
        for (size_t i = 0; i < n->outputs.count && any; i++)
            if (n->outputs.data[i])
                reached[n->outputs.data[i]->id] = true;
    }
    return reached;
}

/* The adjoints, by input of the forward node, of what stands for them in the graph; NULL where there is none. */
static bool take_gradient(struct backward *s, size_t count, struct value **dx)
{
    VEC(const char *) names = {0};
    VEC(struct value *) listed = {0};
    size_t *const from = arena_array(s->arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        struct value *const x = s->inner[i];
        const bool wanted = is_float(x) && (i < (size_t)s->forward->states || grad_wants(s->c, (int)i));
        if (!wanted || !find_reached(s, x)[s->sum->id])
            continue;
        from[listed.count] = i;
        vec_push(s->arena, &listed, x);
        vec_push(s->arena, &names, x->name);
    }
    if (listed.count == 0)
        return true;
    const struct attr xs = {.name = "xs", .type = ATTR_STRINGS, .strings = names.data, .count = names.count};
    const struct node *const n = build_node(s->b, "ai.onnx.preview.training.Gradient",
                                            ATTRS(xs, attr_string("y", s->sum->name)), listed.data, listed.count,
                                            listed.count);
    for (size_t i = 0; i < listed.count; i++) {
        const char *const name = arena_printf(s->arena, "%s_of_step", adjoint_name(s, s->inner[from[i]]->name));
        dx[from[i]] = n->outputs.data[i];
        graph_rename(s->b->graph, dx[from[i]], graph_fresh_name(s->b->graph, name));
    }
    return !s->b->failed;
}

/* Carries and stacks the adjoints; output[i] is where the node has that of input i, or -1. */
static void bind_adjoints(struct backward *s, size_t count, struct value *const *dx, int *output)
{
    int state = 0;
    for (size_t i = 0; i < count; i++) {
        struct value *const held = s->carried[i];
        output[i] = held ? state : -1;
        if (held == NULL)
            continue;
        const bool adds = i >= (size_t)s->forward->states;
        struct value *next = dx[i] ? dx[i] : adds ? held : build_full_like(s->b, held, 0.0);
        if (adds && dx[i])
            next = build_value(s->b, "Add", NULL, (struct value *const[]){held, dx[i]}, 2);
        region_carry(s->region, state++, next);
    }
    for (size_t i = 0; i < count; i++)
        if (dx[i] && !s->carried[i])
            output[i] = region_stack(s->region, adjoint_name(s, s->inner[i]->name), dx[i]);
}

static bool build_backward(struct backward *s, size_t count, const int *output)
{
    const size_t results = s->region->program->variables.count;
    const char **const names = arena_array(s->arena, const char *, results);
    for (size_t i = 0; i < results; i++)
        names[i] = arena_printf(s->arena, "%s%s", s->c->b->prefix, s->region->program->variables.data[i]->name);
    for (size_t i = 0; i < s->inputs.count; i++)
        vec_push(s->arena, &s->initial, s->inputs.data[i]);
    const struct node *const n =
        build_region(s->c->b, s->region, s->initial.data, s->initial.count, names, results);
    bool ok = !s->c->b->failed;
    for (size_t i = 0; i < count && ok; i++)
        if (output[i] >= 0 && grad_wants(s->c, (int)i))
            ok = grad_accumulate(s->c, (int)i, n->outputs.data[output[i]]);
    return ok;
}

static bool scan_grad(struct grad_ctx *c)
{
    struct region *const r = c->node->region;
    struct arena *const a = r->program->arena;
    const size_t count = (size_t)r->states + region_graph(r)->inputs.count;
    const int results = (int)r->program->variables.count;
    struct backward s = {.c = c, .arena = a, .forward = r};
    s.region = region_new(c->b->graph, r->trips, !r->backwards);
    struct builder b = {.graph = region_graph(s.region), .loc = c->b->loc, .prefix = "grad."};
    s.b = &b;
    s.now = arena_array(a, struct value *, (size_t)region_graph(r)->value_count);
    s.inner = arena_array(a, struct value *, count);
    s.carried = arena_array(a, struct value *, count);
    add_states(&s);
    copy_forward(&s);
    make_sum(&s, results);
    if (s.sum == NULL)
        return true;
    struct value **const dx = arena_array(a, struct value *, count);
    int *const output = arena_array(a, int, count);
    if (b.failed || !take_gradient(&s, count, dx))
        return false;
    bind_adjoints(&s, count, dx, output);
    if (b.failed || !adjoint_expand(b.graph))
        return false;
    bring_products(&s);
    return build_backward(&s, count, output);
}

/* ---- evaluation -------------------------------------------------------------------------------------------------- */

struct scan_evaluation {
    struct eval_ctx *c;
    const struct region *region;
    const struct graph *graph;
    const struct eval_tensor **value; /* by id, in the step at hand */
    struct eval_tensor **state;       /* by number */
};

static void copy_elements(struct eval_tensor *to, int64_t at, const struct eval_tensor *from)
{
    if (to->f)
        memcpy(to->f + at, from->f, (size_t)from->count * sizeof *to->f);
    else
        memcpy(to->i + at, from->i, (size_t)from->count * sizeof *to->i);
}

static void read_step(struct scan_evaluation *s, int64_t step, struct arena *a)
{
    const struct graph *const g = s->graph;
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct value *const v = g->inputs.data[i];
        const struct eval_tensor *const x = eval_input(s->c, s->region->states + (int)i);
        if (x == NULL || !s->region->is_slice.data[i]) {
            s->value[v->id] = x;
            continue;
        }
        struct eval_tensor *const slice = arena_new(a, struct eval_tensor);
        *slice = (struct eval_tensor){.dtype = v->dtype, .shape = v->shape, .count = shape_count(&v->shape)};
        slice->f = x->f ? x->f + step * slice->count : NULL;
        slice->i = x->i ? x->i + step * slice->count : NULL;
        s->value[v->id] = slice;
    }
    for (size_t i = 0; i < g->sources.count; i++)
        if (g->sources.data[i]->kind == VALUE_VARIABLE)
            s->value[g->sources.data[i]->id] = s->state[g->sources.data[i]->variable->index];
}

static bool run_nodes(struct scan_evaluation *s, struct arena *a)
{
    for (const struct node *n = s->graph->first; n != NULL; n = n->next)
        if (!eval_node_at(n, s->value, s->c->arithmetic, s->c->random, a, s->c->diag))
            return false;
    return true;
}

/* All results are taken before a state is written. */
static void write_step(struct scan_evaluation *s, int64_t step, struct arena *a)
{
    const size_t count = s->graph->bindings.count;
    struct eval_tensor **const taken = arena_array(a, struct eval_tensor *, count);
    for (size_t i = 0; i < count; i++) {
        const struct eval_tensor *const v = s->value[s->graph->bindings.data[i].value->id];
        taken[i] = eval_tensor_new(a, v->dtype, &v->shape);
        copy_elements(taken[i], 0, v);
    }
    for (size_t i = 0; i < count; i++) {
        const int index = s->graph->bindings.data[i].variable->index;
        if (index < s->region->states)
            copy_elements(s->state[index], 0, taken[i]);
        else if (eval_wants(s->c, index))
            copy_elements(eval_output(s->c, index), step * taken[i]->count, taken[i]);
    }
}

static bool scan_eval(struct eval_ctx *c)
{
    const struct region *const r = c->node->region;
    struct scan_evaluation s = {.c = c, .region = r, .graph = region_graph(r)};
    s.value = arena_array(c->scratch, const struct eval_tensor *, (size_t)s.graph->value_count);
    s.state = arena_array(c->scratch, struct eval_tensor *, (size_t)r->states);
    for (int i = 0; i < r->states; i++) {
        const struct variable *const v = r->program->variables.data[i];
        s.state[i] = eval_tensor_new(c->scratch, v->dtype, &v->shape);
        if (eval_has(c, i))
            copy_elements(s.state[i], 0, eval_input(c, i));
    }
    for (size_t i = 0; i < s.graph->sources.count; i++)
        if (s.graph->sources.data[i]->kind == VALUE_CONSTANT)
            s.value[s.graph->sources.data[i]->id] = eval_from_tensor(c->scratch, s.graph->sources.data[i]->constant);
    for (int64_t t = 0; t < r->trips.most; t++) {
        const int64_t step = r->backwards ? r->trips.most - 1 - t : t;
        struct arena of_step = {0};
        read_step(&s, step, &of_step);
        const bool ok = run_nodes(&s, &of_step);
        if (ok)
            write_step(&s, step, &of_step);
        arena_free(&of_step);
        if (!ok)
            return false;
    }
    for (int i = 0; i < r->states; i++)
        if (eval_wants(c, i))
            copy_elements(eval_output(c, i), 0, s.state[i]);
    return true;
}

/* No model has the operator itself: layers that become one. */
static const struct op_sample samples[] = {
    {.text = "g (float[7,2,3] x, float[1,5,3] w, float[1,5,5] r, float[1,2,5] h) => (float[1,2,5] y) { "
             "_, y = RNN(x, w, r, , , h) }"},
    {.text = "g (double[1,1,3] x, double[1,6,3] w, double[1,6,2] r) => (double[1,1,1,2] y) { y = GRU(x, w, r) }"},
    {.text = "g (float[2,1,3] x) => (float[2,1,3] y) { y = stepc.Scan(x) }",
     .error = "is made by operators that run in steps: no model has it"},
    {0}};

const struct op_def op_defs_scan[] = {{.domain = DOMAIN_STEPC,
                                       .name = "Scan",
                                       .versions = versions,
                                       .inputs = inputs,
                                       .outputs = outputs,
                                       .infer = scan_infer,
                                       .grad = scan_grad,
                                       .eval = scan_eval,
                                       .lower = lower_region,
                                       .samples = samples},
                                      {0}};
