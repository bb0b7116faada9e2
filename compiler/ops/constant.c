/* Constant: a tensor given by an attribute. Import turns these nodes into constants of the graph, sparse ones included,
 * so that nodes of this kind are only ever seen when a rewrite builds one.
 * Spec: ONNX Constant-1 to -25: `value` only until 11 (sparse_value), 12 (numbers, lists, strings);
 * later ones add types. */
#include "ops/move_rules.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define ATTR_VALUE {.name = "value", .type = ATTR_TENSOR, .no_default = true}
#define ATTR_SPARSE {.name = "sparse_value", .type = ATTR_SPARSE_TENSOR, .no_default = true}

static const struct op_attr attrs_1[] = {{.name = "value", .type = ATTR_TENSOR, .required = true}, {0}};
static const struct op_attr attrs_11[] = {ATTR_SPARSE, ATTR_VALUE, {0}};
static const struct op_attr attrs[] = {ATTR_SPARSE,
                                       ATTR_VALUE,
                                       {.name = "value_float", .type = ATTR_FLOAT, .no_default = true},
                                       {.name = "value_floats", .type = ATTR_FLOATS, .no_default = true},
                                       {.name = "value_int", .type = ATTR_INT, .no_default = true},
                                       {.name = "value_ints", .type = ATTR_INTS, .no_default = true},
                                       {.name = "value_string", .type = ATTR_STRING, .no_default = true},
                                       {.name = "value_strings", .type = ATTR_STRINGS, .no_default = true},
                                       {0}};
static const struct op_version versions[] = {
    {.since = 1, .attrs = attrs_1}, {.since = 9, .attrs = attrs_1}, {.since = 11, .attrs = attrs_11},
    {.since = 12},                  {.since = 13},                  {.since = 19},
    {.since = 21},                  {.since = 23},                  {.since = 24},
    {.since = 25},                  {0}};
static const struct op_param inputs[] = {{0}};
static const struct op_param outputs[] = {{.name = "output", .dtypes = MOVE_TYPES_25}, {0}};

/* The one attribute that a Constant has, or NULL if it has none or several. */
static const struct attr *only_attr(const struct node *n)
{
    return n->attrs.count == 1 ? &n->attrs.data[0] : NULL;
}

static bool constant_infer(struct infer_ctx *c)
{
    const struct attr *a = only_attr(c->node);
    if (a == NULL)
        return infer_error(c, "Constant has %zu values, expected one", c->node->attrs.count);
    switch (a->type) {
    case ATTR_TENSOR:
        if (!(MOVE_TYPES_25 & DTYPE_BIT(a->t->dtype)))
            return infer_unsupported(c, "attribute 'value' is of type %s, which is not supported",
                                     dtype_name(a->t->dtype));
        return infer_out(c, 0, a->t->dtype, &a->t->shape);
    case ATTR_FLOAT: return infer_out(c, 0, DTYPE_FLOAT, &SHAPE_SCALAR);
    case ATTR_INT: return infer_out(c, 0, DTYPE_INT64, &SHAPE_SCALAR);
    case ATTR_FLOATS: return infer_out(c, 0, DTYPE_FLOAT, &SHAPE((int64_t)a->count));
    case ATTR_INTS: return infer_out(c, 0, DTYPE_INT64, &SHAPE((int64_t)a->count));
    case ATTR_STRING:
    case ATTR_STRINGS: return infer_unsupported(c, "attribute '%s': tensors of strings are not supported", a->name);
    default:
        return infer_unsupported(c, "attribute '%s' of type %s is not supported", a->name, attr_type_name(a->type));
    }
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

static bool constant_eval(struct eval_ctx *c)
{
    const struct attr *a = only_attr(c->node);
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    if (a->type == ATTR_TENSOR) {
        const struct eval_tensor *t = eval_from_tensor(c->scratch, a->t);
        for (int64_t k = 0; k < y->count; k++)
            move_element(y, k, t, k);
        return true;
    }
    for (int64_t k = 0; k < y->count; k++) {
        if (y->f != NULL)
            y->f[k] = a->type == ATTR_FLOAT ? a->f : a->floats[k];
        else
            y->i[k] = a->type == ATTR_INT ? a->i : a->ints[k];
    }
    return true;
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

static const struct op_sample samples[] = {
    {.text = "g (float[3] x) => (float[3] y) { c = Constant <value_floats = [1.0, 2.0, -0.5]> () y = Mul(x, c) }"},
    {.text = "g (float[3] x) => (float[3] y) { c = Constant <value_float = 1.5> () y = Mul(x, c) }"},
    {.text = "g (int64[2] x) => (int64[2] y) { c = Constant <value_ints = [3, -4]> () y = Add(x, c) }",
     .no_gradient = true},
    {.text = "g (int64[2] x) => (int64[2] y) { c = Constant <value_int = 3> () y = Add(x, c) }", .no_gradient = true},
    {.text = "g (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1.0, 2.0}> () y = Add(x, c) }",
     .opset = 9},
    {.text = "g (float[2] x) => (float[2] y) { c = Constant () y = Add(x, c) }", .error = "no value"},
    {0}};

/* Never lowered: without inputs, its value is known and becomes a constant of the graph. */
const struct op_def op_defs_constant[] = {
    {.name = "Constant", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs,
     .infer = constant_infer, .grad = grad_none, .eval = constant_eval, .samples = samples},
    {0}};
