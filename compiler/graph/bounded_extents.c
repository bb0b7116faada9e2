/* Lists of sizes in which counts occur: Shape(x) of an x with a count, and what is made of it before it shapes
 * something. Each element is a number or a multiple of a count, by the structure of what computes it. */
#include "graph/bounded.h"

#include "graph/graph_internal.h"

#include <string.h>

enum { DEEPEST = 64, MOST_VISITS = 2000, LARGEST = 1 << 30 };

/* Operands that are read twice would double the work at each level. */
struct extent_search {
    int depth, visits;
};

static bool find(struct bounded_extents *x, struct value *v, struct extent_search *s);

static bool is_op(const struct value *v, const char *op)
{
    return v->kind == VALUE_RESULT && node_is(v->producer, op);
}

static bool add(struct bounded_extents *x, int64_t number, struct value *count)
{
    if (x->count == SHAPE_MAX_RANK)
        return false;
    x->of[x->count++] = (struct bounded_extent){number, count};
    return true;
}

static bool find_known(struct bounded_extents *x, const struct tensor *t)
{
    bool ok = t->count <= SHAPE_MAX_RANK && (dtype_is_int(t->dtype) || t->dtype == DTYPE_BOOL);
    for (int64_t k = 0; ok && k < t->count; k++)
        ok = add(x, tensor_get_int(t, k), NULL);
    return ok;
}

static bool find_joined(struct bounded_extents *x, const struct node *n, struct extent_search *s)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i]->shape.rank != 1 || !find(x, n->inputs.data[i], s))
            return false;
    return true;
}

static bool find_chosen(struct bounded_extents *x, const struct node *n, struct extent_search *s)
{
    struct bounded_extents from = {0};
    const struct tensor *const places = value_known(n->inputs.data[1]);
    if (places == NULL || n->inputs.data[0]->shape.rank != 1 || !find(&from, n->inputs.data[0], s))
        return false;
    for (int64_t k = 0; k < places->count; k++) {
        const int64_t place = tensor_get_int(places, k), at = place < 0 ? place + from.count : place;
        if (at < 0 || at >= from.count || !add(x, from.of[at].number, from.of[at].count))
            return false;
    }
    return true;
}

/* A piece of a list, from front to back. */
static bool find_cut(struct bounded_extents *x, const struct node *n, struct extent_search *s)
{
    struct bounded_extents from = {0};
    const struct tensor *const start = value_known(n->inputs.data[1]);
    const struct tensor *const steps = node_input(n, 4) != NULL ? value_known(n->inputs.data[4]) : NULL;
    const int64_t count = n->outputs.data[0]->shape.dim[0];
    if (start == NULL || start->count != 1 ||
        (steps != NULL && (steps->count != 1 || tensor_get_int(steps, 0) != 1)) ||
        !find(&from, n->inputs.data[0], s))
        return false;
    int64_t at = tensor_get_int(start, 0);
    at = at < 0 ? at + from.count : at;
    for (int64_t k = at < 0 ? 0 : at, end = k + count; k < end; k++)
        if (k >= from.count || !add(x, from.of[k].number, from.of[k].count))
            return false;
    return true;
}

static struct bounded_extent element(const struct bounded_extents *x, int k)
{
    return x->of[x->count == 1 ? 0 : k];
}

static bool multiply(struct bounded_extent a, struct bounded_extent b, struct bounded_extent *y)
{
    if ((a.count != NULL && b.count != NULL) || a.number >= LARGEST || a.number <= -LARGEST || b.number >= LARGEST ||
        b.number <= -LARGEST)
        return false;
    *y = (struct bounded_extent){a.number * b.number, a.count != NULL ? a.count : b.count};
    return true;
}

/* A count is never below 0. */
static bool compare(struct bounded_extent a, struct bounded_extent b, struct bounded_extent *y)
{
    *y = (struct bounded_extent){a.count == NULL && b.count == NULL && a.number == b.number, NULL};
    return (a.count == NULL && b.count == NULL) || (a.count == NULL && a.number < 0 && b.number > 0) ||
           (b.count == NULL && b.number < 0 && a.number > 0);
}

static bool find_pairs(struct bounded_extents *x, const struct node *n, struct extent_search *s,
                       bool (*rule)(struct bounded_extent a, struct bounded_extent b, struct bounded_extent *y))
{
    struct bounded_extents a = {0}, b = {0};
    struct bounded_extent y;
    if (!find(&a, n->inputs.data[0], s) || !find(&b, n->inputs.data[1], s))
        return false;
    for (int k = 0; k < shape_count(&n->outputs.data[0]->shape); k++)
        if (!rule(element(&a, k), element(&b, k), &y) || !add(x, y.number, y.count))
            return false;
    return true;
}

static bool find_either(struct bounded_extents *x, const struct node *n, struct extent_search *s)
{
    struct bounded_extents which = {0}, a = {0}, b = {0};
    if (!find(&which, n->inputs.data[0], s) || !find(&a, n->inputs.data[1], s) || !find(&b, n->inputs.data[2], s))
        return false;
    for (int k = 0; k < shape_count(&n->outputs.data[0]->shape); k++) {
        const struct bounded_extent is = element(&which, k), y = is.number != 0 ? element(&a, k) : element(&b, k);
        if (is.count != NULL || !add(x, y.number, y.count))
            return false;
    }
    return true;
}

static bool find(struct bounded_extents *x, struct value *v, struct extent_search *s)
{
    static const char *const same[] = {"Reshape", "Unsqueeze", "Squeeze", "Identity", "Cast"};
    if (v->shape.rank > 1 || shape_count(&v->shape) > SHAPE_MAX_RANK || v->bounded != NULL ||
        s->depth == DEEPEST || ++s->visits > MOST_VISITS)
        return false;
    const struct tensor *const t = value_known(v);
    if (t != NULL)
        return find_known(x, t);
    if (v->kind != VALUE_RESULT || !(dtype_is_int(v->dtype) || v->dtype == DTYPE_BOOL))
        return false;
    const struct node *const n = v->producer;
    if (n->def == op_find(DOMAIN_STEPC, "CountUpTo"))
        return add(x, 1, v);
    bool moves = false;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        moves = moves || (is_op(v, same[i]) && n->inputs.data[0]->shape.rank <= 1);
    s->depth++;
    const bool found = moves                ? find(x, n->inputs.data[0], s)
                       : is_op(v, "Concat") ? find_joined(x, n, s)
                       : is_op(v, "Gather") ? find_chosen(x, n, s)
                       : is_op(v, "Slice")  ? find_cut(x, n, s)
                       : is_op(v, "Mul")    ? find_pairs(x, n, s, multiply)
                       : is_op(v, "Equal")  ? find_pairs(x, n, s, compare)
                       : is_op(v, "Where")  ? find_either(x, n, s)
                                            : false;
    s->depth--;
    return found;
}

bool bounded_extents(struct value *v, struct bounded_extents *x)
{
    *x = (struct bounded_extents){0};
    struct extent_search s = {0};
    return find(x, v, &s);
}

const struct tensor *bounded_fixed(struct graph *g, struct value *v)
{
    struct bounded_extents x;
    if (v->kind != VALUE_RESULT || v->constant != NULL || !dtype_is_int(v->dtype) || !bounded_extents(v, &x))
        return v->constant;
    struct tensor *const t = tensor_new(g->arena, v->dtype, &v->shape);
    for (int k = 0; k < x.count; k++) {
        if (x.of[k].count != NULL)
            return NULL;
        tensor_set_int(t, k, x.of[k].number);
    }
    v->constant = t;
    g->program->fold_epoch++;
    return t;
}

static int64_t slots_of(const struct value *count)
{
    const int64_t most = op_attr_int(count->producer, "most");
    return most < 2 ? 2 : most;
}

bool bounded_shape(struct bounded_ctx *c, int i, struct value **dims, int *axis, const struct bounded **x)
{
    struct value *const v = node_input(c->node, (size_t)i);
    struct bounded_extents e;
    int64_t numbers[SHAPE_MAX_RANK];
    *axis = -1;
    if (v == NULL || bounded_is_known(c, i) || !bounded_extents(v, &e))
        return false;
    for (int k = 0; k < e.count; k++) {
        numbers[k] = e.of[k].number;
        if (e.of[k].count == NULL)
            continue;
        if (*axis >= 0 || numbers[k] < 1 || numbers[k] >= LARGEST)
            return false;
        *axis = k;
        numbers[k] *= slots_of(e.of[k].count);
    }
    if (*axis < 0)
        return false;
    struct value *const count = e.of[*axis].count;
    struct bounded *const made = arena_new(c->b->graph->arena, struct bounded);
    const int64_t times = e.of[*axis].number;
    *made = (struct bounded){.axis = *axis, .most = op_attr_int(count->producer, "most") * times};
    made->origin = bounded_origin(count);
    made->is_asked = op_attr_int(count->producer, "is_asked") != 0;
    made->count = times == 1 ? count : build(c, "Mul", count, build_int(c->b, times));
    *dims = v->shape.rank == 0 ? build_int(c->b, numbers[0]) : build_ints(c->b, numbers, (size_t)e.count);
    *x = made;
    return true;
}
