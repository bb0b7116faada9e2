#include "graph/region.h"

#include "base/str.h"

struct region *region_new(const struct graph *g, struct size trips, bool backwards)
{
    struct arena *const a = g->arena;
    struct program *const p = arena_new(a, struct program);
    *p = (struct program){.name = "region", .arena = a, .diag = g->diag, .model = g->program->model,
                          .fold = g->program->fold, .within = g->program};
    struct graph *const body = graph_new(p, "region");
    body->loc = g->loc;
    vec_push(a, &p->entries,
             ((struct entry){.name = "region", .kind = ENTRY_STEP, .graph = body, .training = -1, .is_region = true}));
    struct region *const r = arena_new(a, struct region);
    *r = (struct region){.program = p, .trips = trips, .backwards = backwards};
    return r;
}

struct graph *region_graph(const struct region *r)
{
    return r->program->entries.data[0].graph;
}

static struct variable *add_variable(struct region *r, const char *name, enum dtype dtype, const struct shape *shape)
{
    struct program *const p = r->program;
    struct variable *const v = arena_new(p->arena, struct variable);
    v->name = program_variable(p, name) ? arena_printf(p->arena, "%s_%zu", name, p->variables.count) : name;
    v->dtype = dtype;
    v->shape = *shape;
    v->index = (int)p->variables.count;
    vec_push(p->arena, &p->variables, v);
    return v;
}

struct value *region_state(struct region *r, const char *name, enum dtype dtype, const struct shape *shape)
{
    if ((size_t)r->states != r->program->variables.count)
        UNREACHABLE("state '%s' of a region that stacks already", name);
    r->states++;
    return graph_add_variable(region_graph(r), add_variable(r, name, dtype, shape));
}

static void bind(struct region *r, struct variable *to, struct value *v)
{
    struct graph *const g = region_graph(r);
    vec_push(g->arena, &g->bindings, ((struct binding){to, v, g->loc}));
}

void region_carry(struct region *r, int i, struct value *v)
{
    bind(r, r->program->variables.data[i], v);
}

struct value *region_input(struct region *r, const char *name, enum dtype dtype, const struct shape *shape,
                           bool is_slice)
{
    vec_push(r->program->arena, &r->is_slice, is_slice);
    return graph_add_input(region_graph(r), name, dtype, shape);
}

int region_stack(struct region *r, const char *name, struct value *v)
{
    bind(r, add_variable(r, name, v->dtype, &v->shape), v);
    return (int)r->program->variables.count - 1;
}

struct shape region_stacked_shape(const struct region *r, const struct shape *of_step)
{
    struct shape s = SHAPE_SCALAR;
    shape_add(&s, r->trips);
    for (int d = 0; d < of_step->rank; d++)
        shape_take(&s, of_step, d);
    return s;
}

static int find_binding(const struct region *r, int i)
{
    const struct graph *const g = region_graph(r);
    for (size_t b = 0; b < g->bindings.count; b++)
        if (g->bindings.data[b].variable == r->program->variables.data[i])
            return (int)b;
    return -1;
}

struct value *region_stacked(const struct region *r, int i)
{
    const int b = find_binding(r, i);
    return b < 0 ? NULL : region_graph(r)->bindings.data[b].value;
}

void region_drop(struct region *r, int i)
{
    struct graph *const g = region_graph(r);
    const int b = find_binding(r, i);
    if (b < 0)
        return;
    vec_remove(&g->bindings, (size_t)b);
    g->edits++;
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

struct node *graph_add_like(struct graph *to, const struct node *n, const struct loc *loc, struct node *before)
{
    struct node *const copy = graph_add_node(to, n->def, n->name, loc, before);
    copy->stream = n->stream;
    copy->counter = n->counter;
    copy->region = n->region ? region_copy(to, n->region) : NULL;
    for (size_t i = 0; i < n->attrs.count; i++)
        node_set_attr(copy, n->attrs.data[i]);
    return copy;
}

static void copy_node(struct graph *to, const struct node *n, struct value **now)
{
    struct node *const copy = graph_add_like(to, n, &n->loc, NULL);
    for (size_t i = 0; i < n->inputs.count; i++)
        node_add_input(copy, n->inputs.data[i] ? now[n->inputs.data[i]->id] : NULL);
    vec_each(const struct value *, v, &n->outputs) {
        struct value *const made = node_add_output(copy, v ? v->name : NULL);
        if (v)
            now[v->id] = made;
    }
    if (!node_infer(copy))
        UNREACHABLE("a copy of %s '%s' that inference refuses", n->def->name, n->name);
}

void region_copy_nodes(struct graph *to, const struct graph *from, struct value **now)
{
    vec_each(const struct value *, v, &from->sources)
        if (v->kind == VALUE_CONSTANT)
            now[v->id] = graph_add_constant(to, v->name, v->constant);
    for (const struct node *n = from->first; n != NULL; n = n->next)
        copy_node(to, n, now);
}

struct region *region_copy(const struct graph *g, const struct region *r)
{
    struct region *const copy = region_new(g, r->trips, r->backwards);
    copy->of_parts = r->of_parts;
    copy->strips_of = r->strips_of;
    const struct graph *const from = region_graph(r);
    struct arena scratch = {0};
    struct value **const now = arena_array(&scratch, struct value *, (size_t)from->value_count + 1);
    for (size_t i = 0; i < r->program->variables.count; i++) {
        const struct variable *const v = r->program->variables.data[i];
        const struct value *const read = map_get(&from->variables, v->name);
        struct variable *const own = add_variable(copy, v->name, v->dtype, &v->shape);
        copy->states += (int)i < r->states;
        if (read)
            now[read->id] = graph_add_variable(region_graph(copy), own);
    }
    vec_each(const struct value *, v, &from->inputs)
        now[v->id] = region_input(copy, v->name, v->dtype, &v->shape, r->is_slice.data[v_at]);
    region_copy_nodes(region_graph(copy), from, now);
    vec_each_ptr(const struct binding, b, &from->bindings)
        bind(copy, copy->program->variables.data[b->variable->index], now[b->value->id]);
    arena_free(&scratch);
    return copy;
}

static void copy_knowledge(const struct graph *from, struct value *const *now)
{
    vec_each(const struct value *, v, &from->inputs) {
        now[v->id]->constant = v->constant;
        now[v->id]->specialised = v->specialised;
        now[v->id]->stays_open = v->stays_open;
    }
    for (const struct node *n = from->first; n != NULL; n = n->next)
        vec_each(const struct value *, v, &n->outputs)
            if (v) {
                now[v->id]->zero_sum = v->zero_sum;
                now[v->id]->producer->placed = n->placed;
            }
}

struct graph *graph_copy(const struct graph *g)
{
    struct graph *const copy = graph_new(g->program, g->name);
    struct arena scratch = {0};
    struct value **const now = arena_array(&scratch, struct value *, (size_t)g->value_count + 1);
    copy->loc = g->loc;
    vec_each(const struct value *, v, &g->inputs)
        now[v->id] = graph_add_input(copy, v->name, v->dtype, &v->shape);
    vec_each(const struct value *, v, &g->sources)
        if (v->kind == VALUE_VARIABLE)
            now[v->id] = graph_add_variable(copy, v->variable);
    region_copy_nodes(copy, g, now);
    copy_knowledge(g, now);
    vec_each_ptr(const struct graph_output, o, &g->outputs)
        vec_push(copy->arena, &copy->outputs, ((struct graph_output){o->name, now[o->value->id]}));
    vec_each_ptr(const struct binding, b, &g->bindings)
        vec_push(copy->arena, &copy->bindings, ((struct binding){b->variable, now[b->value->id], b->loc}));
    arena_free(&scratch);
    return copy;
}

/* ---- equality ---------------------------------------------------------------------------------------------------- */

/* Values of two graphs that stand for each other. */
struct pairs {
    struct arena arena;
    const struct value **of; /* by id in the first graph */
};

static bool equal_types(const struct value *a, const struct value *b)
{
    return a->dtype == b->dtype && shape_equal(&a->shape, &b->shape);
}

static bool pair(struct pairs *p, const struct value *a, const struct value *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    p->of[a->id] = b;
    return equal_types(a, b);
}

/* What is read: a constant is known by its content, all else by what it is paired with. */
static bool reads_pair(const struct pairs *p, const struct value *a, const struct value *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (a->kind == VALUE_CONSTANT && b->kind == VALUE_CONSTANT)
        return tensor_identical(a->constant, b->constant);
    return p->of[a->id] == b;
}

bool node_same_kind(const struct node *a, const struct node *b)
{
    if (a->def != b->def || a->attrs.count != b->attrs.count || a->inputs.count != b->inputs.count ||
        a->outputs.count != b->outputs.count || (a->region == NULL) != (b->region == NULL))
        return false;
    for (size_t i = 0; i < a->inputs.count; i++)
        if ((a->inputs.data[i] == NULL) != (b->inputs.data[i] == NULL))
            return false;
    for (size_t i = 0; i < a->outputs.count; i++)
        if ((a->outputs.data[i] == NULL) != (b->outputs.data[i] == NULL))
            return false;
    for (size_t i = 0; i < a->attrs.count; i++)
        if (!attr_equal(&a->attrs.data[i], &b->attrs.data[i]))
            return false;
    return a->region == NULL || region_equal(a->region, b->region);
}

static bool equal_nodes(struct pairs *p, const struct node *a, const struct node *b)
{
    bool same = node_same_kind(a, b) && !a->def->is_random;
    for (size_t i = 0; same && i < a->inputs.count; i++)
        same = reads_pair(p, a->inputs.data[i], b->inputs.data[i]);
    for (size_t i = 0; same && i < a->outputs.count; i++)
        same = pair(p, a->outputs.data[i], b->outputs.data[i]);
    return same;
}

static bool equal_interfaces(struct pairs *p, const struct region *a, const struct region *b)
{
    const struct graph *const g = region_graph(a), *const h = region_graph(b);
    const size_t variables = a->program->variables.count;
    bool same = a->states == b->states && a->backwards == b->backwards && a->trips.most == b->trips.most &&
                a->trips.per == b->trips.per && variables == b->program->variables.count &&
                g->inputs.count == h->inputs.count;
    for (size_t i = 0; same && i < variables; i++) {
        const struct variable *const v = a->program->variables.data[i], *const w = b->program->variables.data[i];
        same = v->dtype == w->dtype && shape_equal(&v->shape, &w->shape) &&
               pair(p, map_get(&g->variables, v->name), map_get(&h->variables, w->name));
    }
    for (size_t i = 0; same && i < g->inputs.count; i++)
        same = a->is_slice.data[i] == b->is_slice.data[i] && pair(p, g->inputs.data[i], h->inputs.data[i]);
    return same;
}

static bool equal_bindings(const struct pairs *p, const struct graph *g, const struct graph *h)
{
    bool same = g->bindings.count == h->bindings.count;
    for (size_t i = 0; same && i < g->bindings.count; i++)
        same = g->bindings.data[i].variable->index == h->bindings.data[i].variable->index &&
               reads_pair(p, g->bindings.data[i].value, h->bindings.data[i].value);
    return same;
}

bool region_equal(const struct region *a, const struct region *b)
{
    struct pairs p = {{0}, NULL};
    const struct graph *const g = region_graph(a), *const h = region_graph(b);
    const struct node *n = g->first, *m = h->first;
    p.of = arena_array(&p.arena, const struct value *, (size_t)g->value_count + 1);
    bool same = g->node_count == h->node_count && equal_interfaces(&p, a, b);
    for (; same && n != NULL && m != NULL; n = n->next, m = m->next)
        same = equal_nodes(&p, n, m);
    same = same && n == m && equal_bindings(&p, g, h);
    arena_free(&p.arena);
    return same;
}

/* ---- the node ---------------------------------------------------------------------------------------------------- */

struct node *build_region(struct builder *b, struct region *r, struct value *const *inputs, size_t count,
                          const char *const *outputs, size_t output_count)
{
    struct node *const n = graph_add_node(b->graph, op_find_qualified("stepc.Scan"), "", &b->loc, b->before);
    n->region = r;
    while (count > 0 && inputs[count - 1] == NULL)
        count--;
    for (size_t i = 0; i < count; i++)
        node_add_input(n, inputs[i]);
    for (size_t o = 0; o < output_count; o++)
        node_add_output(n, outputs[o]);
    b->failed |= !node_infer(n);
    return n;
}
