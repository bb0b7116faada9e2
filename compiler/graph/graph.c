/* The data structure: nodes in a doubly linked list, values with lists of their readers. Keeps both sides of every edge
 * in step; everything that changes an edge goes through node_set_input(), node_add_input() or graph_replace(). */
#include "graph/graph.h"

#include "base/str.h"
#include "graph/op_def.h"
#include <assert.h>
#include <inttypes.h>
#include <stdint.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* Numbers are tried upwards from the last one given out for the same wish, so that n equal wishes cost n
 * look-ups, not n^2. */
const char *graph_fresh_name(struct graph *g, const char *wish)
{
    if (map_get(&g->names, wish) == NULL)
        return arena_strdup(g->arena, wish);
    uintptr_t number = (uintptr_t)map_get(&g->name_counts, wish);
    if (number < 2)
        number = 2;
    const char *name = arena_printf(g->arena, "%s_%llu", wish, (unsigned long long)number);
    while (map_get(&g->names, name) != NULL)
        name = arena_printf(g->arena, "%s_%llu", wish, (unsigned long long)++number);
    map_set(&g->name_counts, wish, (void *)number);
    return name;
}

struct value *graph_find(const struct graph *g, const char *name)
{
    return map_get(&g->names, name);
}

static void release_name(struct graph *g, const struct value *v)
{
    if (map_get(&g->names, v->name) == v)
        map_set(&g->names, v->name, NULL);
}

void graph_rename(struct graph *g, struct value *v, const char *name)
{
    release_name(g, v);
    v->name = arena_strdup(g->arena, name);
    map_set(&g->names, v->name, v);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

static struct value *value_new(struct graph *g, const char *wish, enum value_kind kind)
{
    struct value *v = arena_new(g->arena, struct value);
    v->name = graph_fresh_name(g, wish);
    v->kind = kind;
    v->id = g->value_count++;
    map_set(&g->names, v->name, v);
    return v;
}

struct value *graph_add_input(struct graph *g, const char *name, enum dtype dtype, const struct shape *shape)
{
    struct value *v = value_new(g, name, VALUE_INPUT);
    v->dtype = dtype;
    v->shape = *shape;
    vec_push(g->arena, &g->inputs, v);
    return v;
}

struct value *graph_add_constant(struct graph *g, const char *name, const struct tensor *t)
{
    struct value *v = value_new(g, name, VALUE_CONSTANT);
    v->dtype = t->dtype;
    v->shape = t->shape;
    v->constant = t;
    vec_push(g->arena, &g->sources, v);
    return v;
}

struct value *graph_add_variable(struct graph *g, struct variable *variable)
{
    struct value *v = map_get(&g->variables, variable->name);
    if (v != NULL) {
        assert(v->variable == variable);
        return v;
    }
    v = value_new(g, variable->name, VALUE_VARIABLE);
    v->dtype = variable->dtype;
    v->shape = variable->shape;
    v->variable = variable;
    vec_push(g->arena, &g->sources, v);
    map_set(&g->variables, variable->name, v);
    return v;
}

const struct tensor *value_known(struct value *v)
{
    if (v->constant != NULL || v->kind != VALUE_RESULT)
        return v->constant;
    const struct program *p = v->producer->graph->program;
    return p->fold != NULL ? p->fold(v) : NULL;
}

/* ---- uses -------------------------------------------------------------------------------------------------------- */

static void add_use(struct node *n, size_t input)
{
    struct value *v = n->inputs.data[input];
    if (v != NULL)
        vec_push(n->graph->arena, &v->uses, ((struct use){n, (int)input}));
}

/* From the end: uses are mostly dropped in the opposite order in which they were made (dce walks backwards), and lists
 * of popular values are long. */
static void drop_use(struct node *n, size_t input)
{
    struct value *v = n->inputs.data[input];
    if (v == NULL)
        return;
    size_t i = v->uses.count;
    while (i > 0 && !(v->uses.data[i - 1].node == n && v->uses.data[i - 1].input == (int)input))
        i--;
    if (i == 0)
        UNREACHABLE("'%s' does not know its reader '%s'", v->name, n->name);
    vec_remove(&v->uses, i - 1);
}

static void trim_inputs(struct node *n)
{
    while (n->inputs.count > 0 && n->inputs.data[n->inputs.count - 1] == NULL)
        n->inputs.count--;
}

void node_add_input(struct node *n, struct value *v)
{
    vec_push(n->graph->arena, &n->inputs, v);
    add_use(n, n->inputs.count - 1);
}

void node_set_input(struct node *n, int i, struct value *v)
{
    assert(i >= 0 && (size_t)i < n->inputs.count);
    if (n->inputs.data[i] == v)
        return;
    n->graph->edits++;
    drop_use(n, (size_t)i);
    n->inputs.data[i] = v;
    add_use(n, (size_t)i);
    trim_inputs(n);
}

void graph_replace(struct graph *g, struct value *old, struct value *by)
{
    if (old == by)
        return;
    g->edits++;
    vec_each(const struct use, u, &old->uses) {
        u.node->inputs.data[u.input] = by;
        vec_push(g->arena, &by->uses, u);
    }
    old->uses.count = 0;
    for (size_t i = 0; i < g->outputs.count; i++)
        if (g->outputs.data[i].value == old)
            g->outputs.data[i].value = by;
    for (size_t i = 0; i < g->bindings.count; i++)
        if (g->bindings.data[i].value == old)
            g->bindings.data[i].value = by;
}

bool graph_gives(const struct graph *g, const struct value *v)
{
    for (size_t i = 0; i < g->outputs.count; i++)
        if (g->outputs.data[i].value == v)
            return true;
    for (size_t i = 0; i < g->bindings.count; i++)
        if (g->bindings.data[i].value == v)
            return true;
    return false;
}

const struct binding *graph_find_binding(const struct graph *g, const struct variable *v)
{
    vec_each_ptr(const struct binding, b, &g->bindings)
        if (b->variable == v)
            return b;
    return NULL;
}

bool graph_is_used(const struct graph *g, const struct value *v)
{
    return v->uses.count != 0 || graph_gives(g, v);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------- */

struct value *node_input(const struct node *n, size_t i)
{
    return i < n->inputs.count ? n->inputs.data[i] : NULL;
}

struct value *node_output(const struct node *n, size_t i)
{
    return i < n->outputs.count ? n->outputs.data[i] : NULL;
}

struct value *node_add_output(struct node *n, const char *name)
{
    struct value *v = NULL;
    if (name != NULL) {
        v = value_new(n->graph, name, VALUE_RESULT);
        v->producer = n;
        v->output = (int)n->outputs.count;
    }
    vec_push(n->graph->arena, &n->outputs, v);
    return v;
}

void node_drop_output(struct node *n, size_t i)
{
    const struct value *v = n->outputs.data[i];
    assert(v->uses.count == 0);
    release_name(n->graph, v);
    n->outputs.data[i] = NULL;
    n->graph->edits++;
    while (n->outputs.count > 0 && n->outputs.data[n->outputs.count - 1] == NULL)
        n->outputs.count--;
}

void graph_keep_sources(struct graph *g, const bool *needed)
{
    size_t kept = 0;
    vec_each(struct value *, v, &g->sources) {
        if (needed[v->id]) {
            g->sources.data[kept++] = v;
            continue;
        }
        assert(v->uses.count == 0);
        release_name(g, v);
        if (v->kind == VALUE_VARIABLE)
            map_set(&g->variables, v->variable->name, NULL);
    }
    g->sources.count = kept;
}

/* ---- the list ---------------------------------------------------------------------------------------------------- */

static void link_before(struct graph *g, struct node *n, struct node *before)
{
    n->next = before;
    n->prev = before != NULL ? before->prev : g->last;
    *(n->prev != NULL ? &n->prev->next : &g->first) = n;
    *(before != NULL ? &before->prev : &g->last) = n;
}

static void unlink_node(struct graph *g, struct node *n)
{
    *(n->prev != NULL ? &n->prev->next : &g->first) = n->next;
    *(n->next != NULL ? &n->next->prev : &g->last) = n->prev;
}

struct node *graph_add_node(struct graph *g, const struct op_def *def, const char *name, const struct loc *loc,
                            struct node *before)
{
    struct node *n = arena_new(g->arena, struct node);
    n->def = def;
    n->name = name;
    n->loc = loc != NULL ? *loc : (struct loc){.index = -1};
    n->graph = g;
    link_before(g, n, before);
    g->node_count++;
    g->edits++;
    return n;
}

/* The node keeps its `next`, so that a walk which stands on it can go on. */
void graph_remove_node(struct graph *g, struct node *n)
{
    assert(!n->removed);
    vec_each(struct value *, v, &n->outputs) {
        if (v == NULL)
            continue;
        if (v->uses.count != 0)
            UNREACHABLE("node '%s' is removed, but '%s' has readers", n->name, v->name);
        release_name(g, v);
    }
    for (size_t i = n->inputs.count; i-- > 0;)
        drop_use(n, i);
    n->inputs.count = 0;
    unlink_node(g, n);
    n->removed = true;
    g->node_count--;
    g->edits++;
}

void graph_move_before(struct graph *g, struct node *n, struct node *before)
{
    if (n == before)
        return;
    unlink_node(g, n);
    link_before(g, n, before);
}

struct entry *program_entry(const struct program *p, const char *name)
{
    vec_each_ptr(struct entry, e, &p->entries)
        if (str_equal(e->name, name))
            return e;
    return NULL;
}

struct program *program_outermost(struct program *p)
{
    while (p->within != NULL)
        p = p->within;
    return p;
}

struct variable *program_variable(const struct program *p, const char *name)
{
    vec_each(struct variable *, v, &p->variables)
        if (str_equal(v->name, name))
            return v;
    return NULL;
}

int64_t program_span(const struct program *p)
{
    while (p->within != NULL)
        p = p->within;
    return p->range != NULL ? p->range->high - p->range->low : 0;
}

struct graph *graph_new(struct program *p, const char *name)
{
    struct graph *g = arena_new(p->arena, struct graph);
    g->name = name;
    g->program = p;
    g->arena = p->arena;
    g->diag = p->diag;
    g->names.arena = g->name_counts.arena = g->variables.arena = p->arena;
    g->loc.index = -1;
    return g;
}

/* ---- sizes that are known late ---------------------------------------------------------------------------------- */

struct shape value_shape_at(const struct value *v, int64_t count)
{
    struct shape s = v->shape;
    for (int d = 0; v->late && d < s.rank; d++)
        if (v->late[d].per != 0)
            shape_set(&s, d, size_constant(v->late[d].base + v->late[d].per * count));
    return s;
}

int64_t value_count_of(const struct value *v, const struct shape *s)
{
    for (int d = 0; v->late && s->rank == v->shape.rank && d < s->rank; d++)
        if (v->late[d].per != 0)
            return (s->dim[d] - v->late[d].base) / v->late[d].per;
    return -1;
}

const char *value_shape_text(struct arena *a, const struct program *p, const struct value *v)
{
    struct strbuf b = {.arena = a};
    if (!v->late)
        return shape_text(a, &v->shape);
    for (int d = 0; d < v->shape.rank; d++) {
        const struct late_size *const s = &v->late[d];
        strbuf_add(&b, d ? "," : "[");
        if (s->per == 0)
            strbuf_addf(&b, "%" PRId64, v->shape.dim[d]);
        else if (s->per != 1)
            strbuf_addf(&b, "%" PRId64 "*%s", s->per, p->range->name);
        else
            strbuf_add(&b, p->range->name);
        if (s->base != 0)
            strbuf_addf(&b, " %c %" PRId64, s->base < 0 ? '-' : '+', s->base < 0 ? -s->base : s->base);
    }
    strbuf_add(&b, "]");
    return strbuf_text(&b);
}
