/* The layout of matrices in the state: values that meet element by element have the same one, so they are gathered
 * in groups, over all entries; a group is held by columns if a product wants that and nothing refuses. */
#include "lower/state_layout.h"

#include "graph/op_def.h"
#include "tensor/tensor.h"

enum { FEWEST_SUMS = 16 }; /* side by side: a vector of them */

/* Members are the program's variables, then the values of each entry. */
struct layout_groups {
    const struct program *p;
    size_t *parent, *first; /* first: of each entry's values */
    bool *wanted, *refused;
};

static size_t root_of(struct layout_groups *g, size_t i)
{
    while (g->parent[i] != i)
        i = g->parent[i] = g->parent[g->parent[i]];
    return i;
}

static size_t member_of(const struct layout_groups *g, size_t entry, const struct value *v)
{
    return v->kind == VALUE_VARIABLE ? (size_t)v->variable->index : g->first[entry] + (size_t)v->id;
}

static void join(struct layout_groups *g, size_t i, size_t j)
{
    const size_t from = root_of(g, i), to = root_of(g, j);
    g->parent[from] = to;
    g->wanted[to] |= g->wanted[from];
    g->refused[to] |= g->refused[from];
}

/* y[1,N] = x W', W [N,K]: each row of W is a sum. */
static bool wants_columns(const struct node *n, size_t input)
{
    struct op_product p;
    return input == 1 && n->def->product && n->def->product(n, &p) && p.transposes_b && p.rows == 1 &&
           p.columns >= FEWEST_SUMS && p.terms > 1;
}

/* Elements of an outer product can be computed in any order; so can random numbers, which are drawn by their index. */
static bool has_no_order(const struct node *n)
{
    struct op_product p;
    return n->def->is_random || (n->def->product && n->def->product(n, &p) && p.terms == 1);
}

static void visit(struct layout_groups *g, size_t entry, const struct node *n)
{
    const struct value *const y = n->outputs.data[0];
    const bool elementwise = y && n->def->is_elementwise;
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct value *const x = n->inputs.data[i];
        if (!x)
            continue;
        const size_t member = member_of(g, entry, x);
        if (elementwise && shape_equal(&x->shape, &y->shape))
            join(g, member, member_of(g, entry, y));
        else if (wants_columns(n, i))
            g->wanted[root_of(g, member)] = true;
        else
            g->refused[root_of(g, member)] = true;
    }
    for (size_t o = 0; !elementwise && !has_no_order(n) && o < n->outputs.count; o++)
        if (n->outputs.data[o])
            g->refused[root_of(g, member_of(g, entry, n->outputs.data[o]))] = true;
}

static void visit_entry(struct layout_groups *g, size_t entry)
{
    const struct graph *const graph = g->p->entries.data[entry].graph;
    graph_each_node(graph, n)
        visit(g, entry, n);
    for (size_t i = 0; i < graph->inputs.count; i++)
        g->refused[root_of(g, member_of(g, entry, graph->inputs.data[i]))] = true;
    for (size_t i = 0; i < graph->sources.count; i++)
        if (graph->sources.data[i]->kind == VALUE_CONSTANT)
            g->refused[root_of(g, member_of(g, entry, graph->sources.data[i]))] = true;
    for (size_t i = 0; i < graph->outputs.count; i++)
        g->refused[root_of(g, member_of(g, entry, graph->outputs.data[i].value))] = true;
    for (size_t i = 0; i < graph->bindings.count; i++)
        join(g, (size_t)graph->bindings.data[i].variable->index, member_of(g, entry, graph->bindings.data[i].value));
}

/* Templates read float and double in place; and what copies a variable row-major counts its elements in int32_t. */
static bool can_lie_by_columns(const struct variable *v)
{
    return v->shape.rank == 2 && (v->dtype == DTYPE_FLOAT || v->dtype == DTYPE_DOUBLE) &&
           shape_count(&v->shape) <= INT32_MAX;
}

void choose_state_layout(const struct program *p)
{
    struct arena *const a = p->arena;
    struct layout_groups g = {.p = p, .first = arena_array(a, size_t, p->entries.count + 1)};
    size_t count = p->variables.count;
    for (size_t i = 0; i < p->entries.count; i++) {
        g.first[i] = count;
        count += (size_t)p->entries.data[i].graph->value_count;
    }
    g.parent = arena_array(a, size_t, count + 1);
    g.wanted = arena_array(a, bool, count + 1);
    g.refused = arena_array(a, bool, count + 1);
    for (size_t i = 0; i < count; i++)
        g.parent[i] = i;
    for (size_t i = 0; i < p->entries.count; i++)
        visit_entry(&g, i);
    for (size_t i = 0; i < p->variables.count; i++)
        g.refused[root_of(&g, i)] |= !can_lie_by_columns(p->variables.data[i]);
    for (size_t i = 0; i < p->variables.count; i++) {
        const size_t root = root_of(&g, i);
        p->variables.data[i]->by_columns = g.wanted[root] && !g.refused[root];
    }
}

struct shape variable_layout(const struct variable *v)
{
    return v->by_columns ? SHAPE(v->shape.dim[1], v->shape.dim[0]) : v->shape;
}

const struct tensor *tensor_in_layout(struct arena *a, const struct variable *v, const struct tensor *t)
{
    return v->by_columns ? tensor_transposed(a, t) : t;
}
