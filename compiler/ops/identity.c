/* Identity: the value itself.
 * Spec: ONNX Identity-1 to -25; later versions only add types (sequences and optional values are not supported). */
#include "ops/move_rules.h"

static const struct op_param inputs[] = {{.name = "input", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};
static const struct op_version versions[] = {
    {.since = 1, .dtypes = MOVE_TYPES_1},   {.since = 13, .dtypes = MOVE_TYPES_13},
    {.since = 14, .dtypes = MOVE_TYPES_13}, {.since = 16, .dtypes = MOVE_TYPES_13},
    {.since = 19, .dtypes = MOVE_TYPES_19}, {.since = 21, .dtypes = MOVE_TYPES_21},
    {.since = 23, .dtypes = MOVE_TYPES_23}, {.since = 24, .dtypes = MOVE_TYPES_24},
    {.since = 25},                          {0}};

static bool identity_grad(struct grad_ctx *c)
{
    return grad_accumulate(c, 0, grad_of_output(c, 0));
}

static bool identity_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    for (int64_t k = 0; y != NULL && k < x->count; k++) {
        if (y->f != NULL)
            y->f[k] = x->f[k];
        else
            y->i[k] = x->i[k];
    }
    return true;
}

static bool identity_lower(struct lower_ctx *c)
{
    const struct view v = lower_view_of(c, 0);
    return lower_as_view(c, 0, &v);
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = Identity(x) }"},
    {.text = "g (bool[4] x) => (bool[4] y) { y = Identity(x) }", .no_gradient = true},
    {.text = "g () => (float8e5m2[2] y) { x = Constant <value_floats = [1.5, -3.0]> () e = Cast <to = 19> (x) "
             "y = Identity(e) }"},
    {.text = "g () => (float8e5m2[2] y) { x = Constant <value_floats = [1.5, -3.0]> () e = Cast <to = 19> (x) "
             "y = Identity(e) }",
     .opset = 18,
     .error = "float8e5m2"},
    {0}};

const struct op_def op_defs_identity[] = {
    {.name = "Identity", .written = "=", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = infer_same_as_input, .grad = identity_grad, .eval = identity_eval, .lower = identity_lower,
     .is_view = true, .bounded = bounded_same, .sizes = SIZES_MOVED, .samples = samples},
    {0}};
