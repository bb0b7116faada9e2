/* Writing the algorithm graph: nodes in the form that the model's opset has, fresh names, constants. */
#include "prepare/prepare_internal.h"

#include "base/checked.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *fresh_name(struct preparer *p, const char *wish)
{
    return take_fresh_name(&p->names, wish);
}

const char *suffixed(struct preparer *p, const char *name, const char *suffix)
{
    return arena_printf(p->arena, "%s.%s", name, suffix);
}

const char *add_op_of(struct preparer *p, const char *wish, const char *op, const char *const *inputs)
{
    const char *const out = fresh_name(p, wish);
    model_add_node(p->arena, p->algorithm, "", op, inputs, (const char *[]){out, NULL});
    return out;
}

struct model_node *last_node(const struct preparer *p)
{
    return p->algorithm->nodes.data[p->algorithm->nodes.count - 1];
}

const char *add_tensor(struct preparer *p, const char *wish, struct tensor *t)
{
    const char *const name = fresh_name(p, wish);
    model_add_initializer(p->arena, p->algorithm, name, t);
    return name;
}

const char *add_scalar(struct preparer *p, const char *wish, enum dtype dtype, double x)
{
    const char *const key = arena_printf(p->arena, "%s %d %.17g", wish, dtype, x);
    const char *name = map_get(&p->constants, key);
    if (!name) {
        name = add_tensor(p, wish, tensor_scalar_double(p->arena, dtype, x));
        map_set(&p->constants, key, (void *)(uintptr_t)name);
    }
    return name;
}

const char *add_int(struct preparer *p, const char *wish, int64_t x)
{
    return add_tensor(p, wish, tensor_scalar_int(p->arena, x));
}

const char *add_cast(struct preparer *p, const char *wish, const char *x, enum dtype to)
{
    const char *const y = add_op(p, wish, "Cast", x);
    model_set_int(p->arena, last_node(p), "to", to);
    return y;
}

/* Axes became an input in 13 (ReduceSum) or 18 (the others); without axes every version reduces all. */
const char *add_reduce(struct preparer *p, const char *wish, const char *op, const char *x, int64_t axis)
{
    const bool as_input = p->opset >= (str_equal(op, "ReduceSum") ? 13 : 18);
    const char *axes = NULL;
    if (axis >= 0 && as_input)
        axes = add_tensor(p, "axes", tensor_from_ints(p->arena, &axis, 1));
    const char *const y = add_op(p, wish, op, x, axes);
    if (axis >= 0 && !as_input)
        model_set_ints(p->arena, last_node(p), "axes", &axis, 1);
    model_set_int(p->arena, last_node(p), "keepdims", 0);
    return y;
}

/* The bounds became inputs in 11. */
const char *add_clip(struct preparer *p, const char *wish, const char *x, enum dtype dtype, double low, double high)
{
    if (p->opset >= 11) {
        const char *const most = add_scalar(p, "clip_max", dtype, high);
        return add_op(p, wish, "Clip", x, add_scalar(p, "clip_min", dtype, low), most);
    }
    const char *const y = add_op(p, wish, "Clip", x);
    model_set_float(p->arena, last_node(p), "min", (float)low);
    model_set_float(p->arena, last_node(p), "max", (float)high);
    return y;
}

const char *add_reshape(struct preparer *p, const char *wish, const char *x, const int64_t *dims, size_t rank)
{
    struct tensor *const shape = tensor_from_ints(p->arena, dims, (int64_t)rank);
    return add_op(p, wish, "Reshape", x, add_tensor(p, suffixed(p, wish, "shape"), shape));
}

void declare_output(struct preparer *p, const char *name, enum dtype dtype, const struct shape *shape)
{
    struct model_dim dims[SHAPE_MAX_RANK] = {{0}};
    const size_t rank = shape ? (size_t)shape->rank : 0;
    for (size_t i = 0; i < rank; i++)
        dims[i].value = shape->dim[i];
    model_add_value(p->arena, p->algorithm, 1, name, dtype, dims, rank);
}

void bind_update(struct preparer *p, const char *key, const char *value, const struct tensor *like)
{
    declare_output(p, value, like->dtype, &like->shape);
    vec_push(p->arena, &p->training->update_binding, ((struct model_pair){key, value}));
}

bool is_op(const struct model_node *n, const char *op)
{
    return n && n->domain[0] == '\0' && str_equal(n->op_type, op);
}

struct tensor *constant_of(const struct model_node *n)
{
    const struct model_attr *const value =
        is_op(n, "Constant") && n->outputs.count == 1 ? model_find_attr(&n->attrs, "value") : NULL;
    return value && value->type == ATTR_TENSOR ? value->t : NULL;
}

struct model_node *node_of(const struct preparer *p, const char *name)
{
    struct model_node *const n = map_get(&p->producers, name);
    return n ? n : map_get(&p->inner_producers, name);
}

/* Chains are as long as the graph at most; a cycle, which only a broken model has, ends the walk too. */
struct model_node *producer_of(const struct preparer *p, const char *name)
{
    struct model_node *n = node_of(p, name);
    for (int i = 0; is_op(n, "Identity") && n->inputs.count == 1 && i < MOST_MOVES; i++)
        n = node_of(p, n->inputs.data[0]);
    return n;
}

const char *node_title(const struct model_node *n)
{
    return n->name[0] != '\0' || n->outputs.count == 0 ? n->name : n->outputs.data[0];
}

int64_t attribute_int(const struct model_node *n, const char *name, int64_t fallback)
{
    const struct model_attr *const x = model_find_attr(&n->attrs, name);
    return x && x->type == ATTR_INT ? x->i : fallback;
}

void say(struct preparer *p, const char *fmt, ...)
{
    va_list args;
    if (p->silent)
        return;
    va_start(args, fmt);
    strbuf_addv(p->report, fmt, args);
    va_end(args);
    strbuf_add(p->report, "\n");
}
