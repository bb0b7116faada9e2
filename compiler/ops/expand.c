/* Expand: the input broadcast with a shape, both ways: dimensions of 1 in the shape keep the input's.
 * Spec: ONNX Expand-8 and -13 (13 only adds bfloat16). */
#include "ops/move_rules.h"

static const struct op_version versions[] = {{.since = 8, .dtypes = MOVE_TYPES_1}, {.since = 13}, {0}};
static const struct op_param inputs[] = {
    {.name = "input", .type = 'T', .dtypes = MOVE_TYPES_25},
    {.name = "shape", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};

static bool expand_infer(struct infer_ctx *c)
{
    struct shape wish, to;
    if (!move_infer_dims(c, 1, &wish))
        return false;
    if (shape_broadcast(&to, infer_shape(c, 0), &wish))
        return infer_out(c, 0, DTYPE_UNDEFINED, &to);
    struct arena text = {0};
    infer_error(c, "input 0 '%s' of shape %s does not broadcast with the shape %s of input 1", infer_in(c, 0)->name,
                shape_text(&text, infer_shape(c, 0)), shape_text(&text, &wish));
    arena_free(&text);
    return false;
}

/* dx = dy, summed back to x's shape where broadcasting is undone */
static bool expand_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, grad_of_output(c, 0));
}

static bool expand_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    int64_t *from = arena_array(c->scratch, int64_t, (size_t)y->count);
    eval_broadcast_index(eval_input(c, 0), &y->shape, from);
    eval_gather(c, from);
    return true;
}

static bool expand_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0);
    const struct view y = view_broadcast(&x, lower_out_shape(c, 0));
    return lower_as_view(c, 0, &y);
}

static const struct op_sample samples[] = {
    {.text = "g (float[3,1] x) => (float[2,3,4] y) { s = Constant <value_ints = [2, 1, 4]> () y = Expand(x, s) }"},
    {.text = "g (double x) => (double[2,2] y) { s = Constant <value_ints = [2, 2]> () y = Expand(x, s) }"},
    {.text = "g (float[2,3] x) => (float[2,3] y) { s = Constant <value_ints = [1]> () y = Expand(x, s) }"},
    {.text = "g (bool[1] x) => (bool[3] y) { s = Constant <value_ints = [3]> () y = Expand(x, s) }",
     .no_gradient = true},
    {.text = "g (float[1] x) => (float[0] y) { s = Constant <value_ints = [0]> () y = Expand(x, s) }"},
    {.text = "g (float[2,3] x) => (float[2,4] y) { s = Constant <value_ints = [2, 4]> () y = Expand(x, s) }",
     .error = "does not broadcast"},
    {0}};

/* A dimension that is not 1 comes from the shape, where it is a fixed number. */
static bool expand_bounded(struct bounded_ctx *c)
{
    const struct bounded *x = bounded_in(c, 0);
    struct value *const v = c->node->inputs.data[0], *const y = c->node->outputs.data[0];
    const struct tensor *const wish = value_known(c->node->inputs.data[1]);
    const int at = x->axis + y->shape.rank - v->shape.rank, d = at - y->shape.rank + (int)wish->count;
    if (d >= 0 && tensor_get_int(wish, d) != 1)
        return bounded_refuse(c, 0, "the shape says a fixed number there");
    return bounded_out(c, 0, x, at);
}

static bool expand_by_data(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    const struct bounded *count;
    struct value *dims, *const x = node_input(n, 0);
    int axis;
    if (x == NULL || !bounded_shape(c, 1, &dims, &axis, &count))
        return true;
    if (!bounded_become(c, "Expand", ATTRS_NONE, (struct value *const[]){x, dims}, 2))
        return false;
    const int rank = n->outputs.data[0]->shape.rank, at = axis + rank - (int)shape_count(&dims->shape);
    const int d = at - rank + x->shape.rank;
    const bool fits = x->bounded != NULL ? x->bounded->axis == d && bounded_alike(x->bounded, count)
                                         : d < 0 || x->shape.dim[d] == 1;
    return fits ? bounded_out(c, 0, count, at)
                : bounded_refuse_shape(c, 1, count, "it is not known to be as many as input 0 has");
}

const struct op_def op_defs_expand[] = {
    {.name = "Expand", .written = "=", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = expand_infer, .grad = expand_grad, .eval = expand_eval, .lower = expand_lower, .is_view = true,
     .is_broadcast = true, .bounded = expand_bounded, .sized_by_data = expand_by_data,
     .sizes = SIZES_MOVED, .samples = samples},
    {0}};
