/* Where: condition ? X : Y, all three broadcast.
 * stepc.IfTaken: y = x; dx = taken ? dy : 0, even where dy is no number. What a branch of If reads from outside goes
 * through it where both branches are computed (graph/import_if.c).
 * Spec: ONNX Where-9 and -16 (16 only adds bfloat16). */
#include "ops/op.h"

static const struct op_version versions[] = {
    {.since = 9, .dtypes = DTYPES_ALL & ~DTYPE_BIT(DTYPE_BFLOAT16)}, {.since = 16}, {0}};
static const struct op_param inputs[] = {
    {.name = "condition", .type = 'B', .dtypes = DTYPES_BOOL, .flags = PARAM_NOT_DIFF},
    {.name = "X", .type = 'T', .dtypes = DTYPES_ALL},
    {.name = "Y", .type = 'T', .dtypes = DTYPES_ALL},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

/* dX = condition ? dy : 0, dY = condition ? 0 : dy */
static bool where_grad(struct grad_ctx *c)
{
    struct value *condition = grad_input(c, 0), *dy = grad_of_output(c, 0);
    struct value *zero = build_like(c, dy, 0.0);
    if (grad_wants(c, 1) && !grad_accumulate(c, 1, build(c, "Where", condition, dy, zero)))
        return false;
    return !grad_wants(c, 2) || grad_accumulate(c, 2, build(c, "Where", condition, zero, dy));
}

/* A choice between bools, which onnxruntime has no kernel for: (c and x) or (not c and y). */
static bool where_plain(struct expand_ctx *c)
{
    struct value *const condition = expand_in(c, 0), *const x = expand_in(c, 1);
    if (x->dtype != DTYPE_BOOL)
        return true;
    struct value *const first = build(c, "And", condition, x);
    struct value *const second = build(c, "And", build(c, "Not", condition), expand_in(c, 2));
    return expand_out(c, 0, build(c, "Or", first, second));
}

static bool where_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    if (y == NULL)
        return true;
    int64_t *index[3];
    for (int i = 0; i < 3; i++) {
        index[i] = arena_array(c->scratch, int64_t, (size_t)y->count);
        eval_broadcast_index(eval_input(c, i), &y->shape, index[i]);
    }
    for (int64_t p = 0; p < y->count; p++) {
        const int from = eval_i(c, 0)[index[0][p]] ? 1 : 2;
        if (y->f != NULL)
            y->f[p] = eval_f(c, from)[index[from][p]];
        else
            y->i[p] = eval_i(c, from)[index[from][p]];
    }
    return true;
}

static bool where_lower(struct lower_ctx *c)
{
    return lower_map(c, expr_select(c->arena, lower_in(c, 0), lower_in(c, 1), lower_in(c, 2)));
}

static const struct op_sample samples[] = {
    {.text = "g (bool[2,3] c, float[2,3] x, float[2,3] y) => (float[2,3] z) { z = Where(c, x, y) }"},
    {.text = "g (bool[3,1] c, double[4] x, double[2,1,1] y) => (double[2,3,4] z) { z = Where(c, x, y) }"},
    {.text = "g (bool c, int64[4] x, int64[4] y) => (int64[4] z) { z = Where(c, x, y) }", .no_gradient = true},
    {.text = "g (bool[4] c, bool[2,1] x, bool[4] y) => (bool[2,4] z) { z = Where(c, x, y) }", .no_gradient = true},
    {.text = "g (int32[4] c, float[4] x, float[4] y) => (float[4] z) { z = Where(c, x, y) }", .error = "int32"},
    {.text = "g (bool[3,4] c, float16[3,4] a, float16[1,4] b) => (float16[3,4] y) { y = Where(c, a, b) }"},
    {0}};

/* ---- IfTaken ----------------------------------------------------------------------------------------------------- */

static const struct op_version taken_versions[] = {{.since = 1}, {0}};
static const struct op_param taken_inputs[] = {
    {.name = "x", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "taken", .dtypes = DTYPES_BOOL, .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param taken_outputs[] = {{.name = "y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool taken_infer(struct infer_ctx *c)
{
    const struct value *const taken = infer_in(c, 1);
    return taken->shape.rank == 0 ? infer_same_as_input(c)
                                  : infer_error(c, "input 1 '%s' (taken) has rank %d, expected 0", taken->name,
                                                taken->shape.rank);
}

static bool taken_grad(struct grad_ctx *c)
{
    struct value *const dy = grad_of_output(c, 0);
    return grad_accumulate(c, 0, build(c, "Where", grad_input(c, 1), dy, build_like(c, dy, 0.0)));
}

static bool taken_expand(struct expand_ctx *c)
{
    return expand_out(c, 0, expand_in(c, 0));
}

static bool taken_eval(struct eval_ctx *c)
{
    struct eval_tensor *const y = eval_output(c, 0);
    for (int64_t i = 0; y != NULL && i < y->count; i++)
        y->f[i] = eval_f(c, 0)[i];
    return true;
}

static const struct op_sample taken_samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { c = Constant <value = bool {1}> () t = stepc.IfTaken(x, c) "
             "y = Mul(t, t) }"},
    {.text = "g (float[3] x, bool[1] c) => (float[3] y) { y = stepc.IfTaken(x, c) }",
     .error = "input 1 'c' (taken) has rank 1, expected 0"},
    {0}};

const struct op_def op_defs_where[] = {
    {.name = "Where", .written = "?:", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = infer_broadcast, .grad = where_grad, .plain = where_plain, .eval = where_eval, .lower = where_lower,
     .is_elementwise = true, .sizes = SIZES_MOVED, .samples = samples},
    {.domain = DOMAIN_STEPC, .name = "IfTaken", .versions = taken_versions, .inputs = taken_inputs,
     .outputs = taken_outputs, .infer = taken_infer, .grad = taken_grad, .expand = taken_expand, .eval = taken_eval,
     .samples = taken_samples},
    {0}};
