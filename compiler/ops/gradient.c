/* Gradient: the derivatives of y with respect to xs, in the graph that the node stands in. train/adjoint.c expands it;
 * this is its schema only. Spec: ONNX ai.onnx.preview.training Gradient-1, and docs/readings.md, R18 to R28. */
#include "ops/op.h"

static const struct op_attr attrs[] = {{.name = "xs", .type = ATTR_STRINGS, .required = true},
                                       {.name = "zs", .type = ATTR_STRINGS, .no_default = true},
                                       {.name = "y", .type = ATTR_STRING, .required = true},
                                       {0}};
static const struct op_param inputs[] = {
    {.name = "Inputs", .dtypes = DTYPES_ALL, .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS}, {0}};
static const struct op_param outputs[] = {
    {.name = "Outputs", .dtypes = DTYPES_FLOATS, .flags = PARAM_VARIADIC | PARAM_HETEROGENEOUS}, {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};

/* Is input i what a tensor of that name may be replaced by? Names that mean nothing are reported when the
 * node is expanded. */
static bool check_stands_for(struct infer_ctx *c, int i, const char *name)
{
    const struct value *const x = infer_in(c, i), *const listed = graph_find(c->node->graph, name);
    if (listed == NULL || (listed->dtype == x->dtype && shape_equal(&listed->shape, &x->shape)))
        return true;
    struct arena text = {0};
    infer_error(c, "input %d '%s' is %s%s, but stands for '%s' of %s%s", i, x->name, dtype_name(x->dtype),
                shape_text(&text, &x->shape), listed->name, dtype_name(listed->dtype),
                shape_text(&text, &listed->shape));
    arena_free(&text);
    return false;
}

/* Output i is like input i. What the names mean is looked at when the node is expanded. */
static bool gradient_infer(struct infer_ctx *c)
{
    const struct attr *const xs = node_attr(c->node, "xs");
    if (xs == NULL || xs->count == 0)
        return infer_error(c, "xs is empty: Gradient needs at least one tensor to differentiate with respect to");
    if (c->node->outputs.count > xs->count)
        return infer_error(c, "Gradient has %zu outputs for %zu name%s in xs", c->node->outputs.count, xs->count,
                           xs->count == 1 ? "" : "s");
    for (size_t i = 0; i < c->node->outputs.count; i++) {
        const struct value *const x = infer_in(c, (int)i);
        if (x == NULL)
            return infer_error(c, "input %zu, the value of '%s', is missing", i, xs->strings[i]);
        if (!(DTYPES_FLOATS & DTYPE_BIT(x->dtype)))
            return infer_error(c, "input %zu '%s' is %s: only floating tensors have a gradient", i, x->name,
                               dtype_name(x->dtype));
        if (!check_stands_for(c, (int)i, xs->strings[i]) || !infer_out(c, (int)i, x->dtype, &x->shape))
            return false;
    }
    return true;
}

const struct op_def op_defs_gradient[] = {{.domain = DOMAIN_TRAINING,
                                           .name = "Gradient",
                                           .versions = versions,
                                           .inputs = inputs,
                                           .outputs = outputs,
                                           .attrs = attrs,
                                           .infer = gradient_infer,
                                           .is_structural = true},
                                          {0}};
