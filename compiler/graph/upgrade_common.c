/* Steps from old versions that many operators share. */
#include "graph/build.h"

bool upgrade_drop_consumed_inputs(struct upgrade_ctx *c)
{
    node_remove_attr(c->node, "consumed_inputs");
    return true;
}

/* B's shape with 1s appended so that its first dimension meets dimension `axis` of A. */
static bool align_at_axis(struct upgrade_ctx *c, const struct shape *a, const struct shape *b, int64_t axis,
                          struct shape *out)
{
    const int64_t at = axis < 0 ? axis + a->rank : axis;
    if (at < 0 || at > a->rank - b->rank)
        return upgrade_error(c,
                             "attribute 'axis' is %lld: input 1 of rank %d does not fit there into input 0 of rank %d",
                             (long long)axis, b->rank, a->rank);
    *out = *b;
    while (out->rank < a->rank - (int)at)
        shape_add(out, size_constant(1));
    return true;
}

bool upgrade_broadcast_attr(struct upgrade_ctx *c)
{
    struct node *n = c->node;
    struct value *a = node_input(n, 0), *b = node_input(n, 1);
    if (a == NULL || b == NULL)
        return true; /* the count is reported by inference */
    const struct attr *broadcast = node_attr(n, "broadcast");
    const struct attr *axis = node_attr(n, "axis");
    struct shape to = b->shape;
    if (broadcast == NULL || broadcast->i == 0) {
        if (!shape_equal(&a->shape, &b->shape)) {
            struct arena text = {0};
            upgrade_error(c, "inputs have shapes %s and %s, expected equal ones without attribute broadcast=1",
                          shape_text(&text, &a->shape), shape_text(&text, &b->shape));
            arena_free(&text);
            return false;
        }
    } else if (axis != NULL && !align_at_axis(c, &a->shape, &b->shape, axis->i, &to)) {
        return false;
    }
    node_set_input(n, 1, build_reshape(c->b, b, &to));
    node_remove_attr(n, "broadcast");
    node_remove_attr(n, "axis");
    node_remove_attr(n, "consumed_inputs");
    return !c->b->failed;
}
