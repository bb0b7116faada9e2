#include "ops/flatten_rules.h"

/* The only axis from `from` on with more than one element (the last one if there is none); -1 where there are several.
 * */
static int single_axis(const struct shape *s, int from)
{
    int found = s->rank - 1, count = 0;
    for (int d = from; d < s->rank; d++)
        if (s->dim[d] != 1) {
            found = d;
            count++;
        }
    return count <= 1 ? found : -1;
}

bool flatten_upgrade(struct upgrade_ctx *c)
{
    struct node *n = c->node;
    struct value *x = node_input(n, 0);
    if (x == NULL)
        return true; /* the count is reported by inference */
    const struct attr *axis = node_attr(n, "axis");
    int from;
    if (!shape_axis(x->shape.rank, axis != NULL ? axis->i : 1, &from))
        return upgrade_error(c, "axis %lld is out of range for input 0 '%s' of rank %d",
                             (long long)(axis != NULL ? axis->i : 1), x->name, x->shape.rank);
    const int single = single_axis(&x->shape, from);
    if (single >= 0) {
        node_set_attr(n, attr_int("axis", single));
        return true;
    }
    const struct shape rows =
        SHAPE_OF(shape_size_range(&x->shape, 0, from), shape_size_range(&x->shape, from, x->shape.rank));
    struct value *y = build_with(c, n->def->name, ATTRS(attr_int("axis", 1)), build_reshape(c->b, x, &rows));
    struct value *shape = build_dims(c->b, &x->shape);
    node_remove_attr(n, "axis");
    n->def = op_find(DOMAIN_ONNX, "Reshape");
    node_set_attr(n, attr_int("allowzero", 1));
    node_set_input(n, 0, y);
    node_add_input(n, shape);
    return !c->b->failed;
}
