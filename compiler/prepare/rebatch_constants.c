/* What holds the batch of an example as a constant has another size, or computes it where the batch becomes open. */
#include "prepare/rebatch_internal.h"

#include "graph/build.h"
#include <string.h>

/* A constant, in both sizes. */
static const char *add_ints(struct rebatch *r, const char *wish, const int64_t *x, int64_t count)
{
    const char *const name = edit_fresh_name(r->edit, wish);
    struct tensor *const t = tensor_from_ints(r->arena, x, count);
    model_add_initializer(r->arena, r->edit->model->graph, name, t);
    map_set(&r->next.scope, name, graph_add_constant(r->next.graph, name, t));
    map_set(&r->old.scope, name, graph_add_constant(r->old.graph, name, t));
    return name;
}

static struct model_node *insert_before(struct rebatch *r, const struct model_node *n, const char *op, const char *a,
                                        const char *b, const char *out)
{
    size_t at = 0;
    while (r->edit->model->graph->nodes.data[at] != n)
        at++;
    return edit_insert_node(r->edit, at, op, a, b, out);
}

/* output = OP(a, b) in front of n, in both sizes. */
static const char *compute(struct rebatch *r, const struct model_node *n, const char *op, const char *a, const char *b,
                           const char *wish)
{
    const char *const out = edit_fresh_name(r->edit, wish);
    struct model_node *const made = insert_before(r, n, op, a, b, out);
    if (str_equal(op, "Concat"))
        model_set_int(r->arena, made, "axis", 0);
    (void)!rebatch_add_node_to(r, &r->old, made); /* what goes wrong, n says */
    (void)!rebatch_add_node_to(r, &r->next, made);
    return out;
}

/* x, of which elements that differ from those of `old` are multiples of the batch, as it is at run time. */
static const char *open_ints(struct rebatch *r, const struct model_node *n, const int64_t *x, const int64_t *old,
                             int64_t count)
{
    const char *all = NULL;
    if (!r->open_size) {
        const char *const axis = add_ints(r, "batch.axis", (const int64_t[]){r->axis}, 1);
        const char *const shape = compute(r, n, "Shape", r->example->name, NULL, "batch.shape");
        r->open_size = compute(r, n, "Gather", shape, axis, "batch.size");
    }
    for (int64_t i = 0, end; i < count; i = end) {
        const char *piece = r->open_size;
        const bool is_batch = x[i] != old[i];
        for (end = i + 1; !is_batch && end < count && x[end] == old[end];)
            end++;
        if (!is_batch)
            piece = add_ints(r, "batch.sizes", x + i, end - i);
        else if (x[i] != r->to)
            piece = compute(r, n, "Mul", piece, add_ints(r, "batch.factor", (const int64_t[]){x[i] / r->to}, 1),
                            "batch.multiple");
        all = all ? compute(r, n, "Concat", all, piece, "batch.target") : piece;
    }
    return all;
}

void rebatch_replace_by(struct rebatch *r, struct model_node *n, size_t input, struct tensor *t)
{
    const char *const wish = r->opens ? arena_printf(r->arena, "%s.batch", n->inputs.data[input])
                                      : arena_printf(r->arena, "%s.batch%lld", n->inputs.data[input], (long long)r->to);
    const char *const name = edit_fresh_name(r->edit, wish);
    model_add_initializer(r->arena, r->edit->model->graph, name, t);
    map_set(&r->next.scope, name, graph_add_constant(r->next.graph, name, t));
    map_set(&r->old.scope, name, map_get(&r->old.scope, n->inputs.data[input]));
    n->inputs.data[input] = name;
    vec_push(r->arena, &r->changed, n);
}

void rebatch_change_input(struct rebatch *r, struct model_node *n, size_t input, const struct tensor *old,
                          const int64_t *x, int64_t count)
{
    bool same = old->count == count;
    for (int64_t i = 0; same && i < count; i++)
        same = tensor_get_int(old, i) == x[i];
    if (same)
        return;
    if (!r->opens) {
        rebatch_replace_by(r, n, input, tensor_from_ints(r->arena, x, count));
        return;
    }
    int64_t before[SHAPE_MAX_RANK];
    for (int64_t i = 0; i < count; i++)
        before[i] = tensor_get_int(old, i);
    n->inputs.data[input] = open_ints(r, n, x, before, count);
    vec_push(r->arena, &r->changed, n);
}

void rebatch_open_target(struct rebatch *r, struct model_node *n, const struct tensor *old, const struct shape *x,
                         int dim, int64_t *wanted)
{
    const int rank = (int)old->count;
    bool same = true, is_free = true;
    for (int d = 0; d < rank; d++) {
        same = same && wanted[d] == tensor_get_int(old, d);
        is_free = is_free && wanted[d] != -1;
    }
    if (same)
        return;
    if (wanted[dim] > 0 && dim < x->rank && x->dim[dim] == wanted[dim] && attribute_int(n, "allowzero", 0) == 0)
        wanted[dim] = 0;
    else if (wanted[dim] > 0 && is_free)
        wanted[dim] = -1;
    if (wanted[dim] <= 0) {
        rebatch_replace_by(r, n, 1, tensor_from_ints(r->arena, wanted, rank));
        return;
    }
    int64_t other[SHAPE_MAX_RANK];
    memcpy(other, wanted, (size_t)rank * sizeof *other);
    other[dim] = 0;
    n->inputs.data[1] = open_ints(r, n, wanted, other, rank);
    vec_push(r->arena, &r->changed, n);
}

void rebatch_expand_to(struct rebatch *r, struct model_node *n, size_t input, const char *name,
                       const struct shape *wide, int axis)
{
    struct shape old = *wide;
    old.dim[axis] = r->from;
    const char *const shape =
        r->opens ? open_ints(r, n, wide->dim, old.dim, wide->rank)
                 : add_ints(r, arena_printf(r->arena, "%s.batch%lld", name, (long long)r->to), wide->dim, wide->rank);
    const char *const out = edit_fresh_name(r->edit, arena_printf(r->arena, "%s.wide", name));
    if (!rebatch_add_node_to(r, &r->next, insert_before(r, n, "Expand", name, shape, out)))
        return;
    map_set(&r->old.scope, out, map_get(&r->old.scope, n->inputs.data[input]));
    rebatch_set_place(r, out, axis, 1);
    n->inputs.data[input] = out;
    vec_push(r->arena, &r->changed, n);
}

/* A constant with a part for each sample of the example, all of them equal: with one for each sample. NULL: it is
 * none, or too large. */
static struct tensor *with_parts(struct rebatch *r, struct value *x, int dim, int64_t parts)
{
    const struct tensor *const t = value_known(x);
    struct shape shape = x->shape;
    int64_t count;
    shape.dim[dim] = parts;
    if (!t || r->from <= 0 || !shape_count_checked(&shape, &count) || count > MOST_WIDENED)
        return NULL;
    const size_t size = dtype_size(x->dtype) * (size_t)shape_count_range(&shape, dim + 1, shape.rank);
    const size_t outer = (size_t)shape_count_range(&shape, 0, dim), from = (size_t)r->from, to = (size_t)parts;
    struct tensor *const wide = tensor_new(r->arena, x->dtype, &shape);
    for (size_t o = 0; o < outer; o++) {
        const unsigned char *const first = (const unsigned char *)t->data + o * from * size;
        for (size_t k = 1; k < from; k++)
            if (memcmp(first, first + k * size, size) != 0)
                return NULL;
        for (size_t k = 0; k < to; k++)
            memcpy((unsigned char *)wide->data + (o * to + k) * size, first, size);
    }
    return wide;
}

bool rebatch_give_parts(struct rebatch *r, struct model_node *n, size_t input, struct value *x, int dim)
{
    struct tensor *const t = with_parts(r, x, dim, r->opens ? 1 : r->to);
    if (!t)
        return false;
    if (!r->opens) {
        rebatch_replace_by(r, n, input, t);
        return true;
    }
    struct shape wide = x->shape;
    wide.dim[dim] = r->to;
    const char *const one = edit_fresh_name(r->edit, arena_printf(r->arena, "%s.one", n->inputs.data[input]));
    model_add_initializer(r->arena, r->edit->model->graph, one, t);
    map_set(&r->next.scope, one, graph_add_constant(r->next.graph, one, t));
    rebatch_expand_to(r, n, input, one, &wide, dim);
    return true;
}
