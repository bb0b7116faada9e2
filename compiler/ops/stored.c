/* Stored (stepc): y = x, as a variable of x's type would hold it.
 *
 * A step that runs several training entries reads here what an earlier one bound, as if it had been written to the
 * variable in between (train/combine_step.c): rounded to its type, and an unlisted leaf to every Gradient that follows
 * (R19 in docs/readings.md), whatever it was computed from. Disappears when Gradient nodes are expanded. */
#include "ops/op.h"

static const struct op_param inputs[] = {{.name = "x", .type = 'T', .dtypes = DTYPES_ALL}, {0}};
static const struct op_param outputs[] = {
    {.name = "y", .type = 'T', .dtypes = DTYPES_ALL, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};

static bool stored_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    const struct eval_tensor *const held = eval_from_tensor(c->scratch, eval_to_tensor(c->scratch, x));
    for (int64_t k = 0; y != NULL && k < x->count; k++) {
        if (y->f != NULL)
            y->f[k] = held->f[k];
        else
            y->i[k] = held->i[k];
    }
    return true;
}

static bool stored_expand(struct expand_ctx *c)
{
    return expand_out(c, 0, expand_in(c, 0));
}

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] x) => (float[2,3] y) { y = stepc.Stored(x) }", .no_gradient = true},
    {.text = "g (int64[4] x) => (int64[4] y) { y = stepc.Stored(x) }", .no_gradient = true},
    {0}};

const struct op_def op_defs_stored[] = {
    {.domain = DOMAIN_STEPC, .name = "Stored", .versions = versions, .inputs = inputs, .outputs = outputs,
     .infer = infer_same_as_input, .grad = grad_none, .expand = stored_expand, .eval = stored_eval, .samples = samples,
     .is_state = true},
    {0}};
