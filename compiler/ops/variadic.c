/* Any number of operands, folded from the left, broadcast: Sum Mean Max Min.
 * Spec: ONNX Operators.md. Before opset 8 the shapes had to be equal, which broadcasting includes. */
#include "ops/op.h"

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

static const struct op_attr consumed_inputs[] = {{.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true},
                                                 {0}};
static const struct op_attr no_attrs[] = {{0}};

#define VERSION_1 {.since = 1, .dtypes = FLOATS_1, .attrs = consumed_inputs, .upgrade = upgrade_drop_consumed_inputs}

static const struct op_version sum_versions[] = {
    VERSION_1, {.since = 6, .dtypes = FLOATS_1, .attrs = no_attrs}, {.since = 8, .dtypes = FLOATS_1}, {.since = 13},
    {0}};
static const struct op_version max_versions[] = {VERSION_1,
                                                 {.since = 6, .dtypes = FLOATS_1, .attrs = no_attrs},
                                                 {.since = 8, .dtypes = FLOATS_1},
                                                 {.since = 12, .dtypes = FLOATS_1 | DTYPES_INTS},
                                                 {.since = 13},
                                                 {0}};

#define OPERANDS(set) {{.name = "data_0", .type = 'T', .dtypes = (set), .flags = PARAM_VARIADIC}, {0}}
#define RESULT(label, set) {{.name = (label), .type = 'T', .dtypes = (set)}, {0}}
static const struct op_param float_inputs[] = OPERANDS(DTYPES_FLOATS), numeric_inputs[] = OPERANDS(DTYPES_NUMERIC);
static const struct op_param sum_outputs[] = RESULT("sum", DTYPES_FLOATS),
                             mean_outputs[] = RESULT("mean", DTYPES_FLOATS);
static const struct op_param max_outputs[] = RESULT("max", DTYPES_NUMERIC),
                             min_outputs[] = RESULT("min", DTYPES_NUMERIC);

/* ---- Sum and Mean ------------------------------------------------------------------------------------------------ */

static int operand_count(const struct eval_ctx *c)
{
    return (int)c->node->inputs.count;
}

static bool accumulate_all(struct grad_ctx *c, struct value *d)
{
    for (int i = 0; i < grad_input_count(c); i++)
        if (!grad_accumulate(c, i, d))
            return false;
    return true;
}

static const struct expr *lower_sum(struct lower_ctx *c)
{
    const struct expr *sum = lower_in(c, 0);
    for (int i = 1; i < (int)c->node->inputs.count; i++)
        sum = expr_binary(c->arena, EXPR_ADD, sum, lower_in(c, i));
    return sum;
}

static bool sum_grad(struct grad_ctx *c)
{
    return accumulate_all(c, grad_of_output(c, 0));
}

static double sum_f(const struct eval_ctx *c, const double *x)
{
    double sum = x[0];
    for (int i = 1; i < operand_count(c); i++)
        sum = eval_round(c, sum + x[i]);
    return sum;
}

static bool sum_eval(struct eval_ctx *c)
{
    return eval_map_f(c, sum_f);
}

static bool sum_lower(struct lower_ctx *c)
{
    return lower_map(c, lower_sum(c));
}

static const struct op_sample sum_samples[] = {
    {.text = "g (float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] y) { y = Sum(a, b, c) }"},
    {.text = "g (double[4] a) => (double[4] y) { y = Sum(a) }"},
    {.text = "g (int32[4] a) => (int32[4] y) { y = Sum(a) }", .error = "is int32"},
    {.text = "g (float[5] a, float[5] b) => (float[5] y) { y = Sum <consumed_inputs = [0, 0]> (a, b) }", .opset = 5},
    {0}};

/* Each operand gets dy / n. */
static bool mean_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0);
    return accumulate_all(c, build(c, "Div", dy, build_like(c, dy, (double)grad_input_count(c))));
}

static double mean_f(const struct eval_ctx *c, const double *x)
{
    return eval_round(c, sum_f(c, x) / operand_count(c));
}

static bool mean_eval(struct eval_ctx *c)
{
    return eval_map_f(c, mean_f);
}

static bool mean_lower(struct lower_ctx *c)
{
    const struct expr *n = expr_number(c->arena, lower_out_dtype(c, 0), (double)c->node->inputs.count);
    return lower_map(c, expr_binary(c->arena, EXPR_DIV, lower_sum(c), n));
}

static const struct op_sample mean_samples[] = {
    {.text = "g (float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] y) { y = Mean(a, b, c) }"},
    {.text = "g (double[4] a, double[4] b) => (double[4] y) { y = Mean(a, b) }"},
    {.text = "g (float[5] a, float[5] b) => (float[5] y) { y = Mean <consumed_inputs = [0, 0]> (a, b) }", .opset = 5},
    {0}};

/* ---- Max and Min: any NaN gives NaN, of equal operands the first stays ------------------------------------------- */

/* The adjoint d of m = Op(a, b) to its operands, as in PyTorch's maximum and minimum: to the chosen one; a tie is
 * halved. `loses` is the comparison under which the left operand is not chosen. */
static struct value *share(struct grad_ctx *c, const char *loses, struct value *left, struct value *right,
                           struct value *d)
{
    struct value *half = build(c, "Mul", d, build_like(c, d, 0.5));
    struct value *kept = build(c, "Where", build(c, "Equal", left, right), half, d);
    return build(c, "Where", build(c, loses, left, right), build_like(c, d, 0.0), kept);
}

/* As a left fold of two-operand steps (R26 in docs/readings.md): the partial results are made again, the adjoint walks
 * back through them. */
static bool extremum_grad(struct grad_ctx *c, const char *op, const char *loses)
{
    const int n = grad_input_count(c);
    struct value **partial = arena_array(c->b->graph->arena, struct value *, (size_t)n);
    partial[0] = grad_input(c, 0);
    for (int i = 1; i < n - 1; i++)
        partial[i] = build(c, op, partial[i - 1], grad_input(c, i));
    struct value *d = grad_of_output(c, 0);
    for (int i = n - 1; i > 0; i--) {
        struct value *x = grad_input(c, i);
        if (grad_wants(c, i) && !grad_accumulate(c, i, share(c, loses, x, partial[i - 1], d)))
            return false;
        d = share(c, loses, partial[i - 1], x, d);
    }
    return grad_accumulate(c, 0, d);
}

static bool max_grad(struct grad_ctx *c)
{
    return extremum_grad(c, "Max", "Less");
}

static double max_f(const struct eval_ctx *c, const double *x)
{
    double m = x[0];
    for (int i = 1; i < operand_count(c); i++)
        m = x[i] <= m || m != m ? m : x[i];
    return m;
}

static bool less_int(const struct eval_ctx *c, int64_t a, int64_t b)
{
    return c->in[0]->dtype == DTYPE_UINT64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t max_i(const struct eval_ctx *c, const int64_t *x)
{
    int64_t m = x[0];
    for (int i = 1; i < operand_count(c); i++)
        m = less_int(c, m, x[i]) ? x[i] : m;
    return m;
}

static bool max_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) != NULL ? eval_map_f(c, max_f) : eval_map_i(c, max_i);
}

/* m = (low <= high, or m is NaN) ? m : x */
static const struct expr *keep_or_take(struct lower_ctx *c, const struct expr *low, const struct expr *high,
                                       const struct expr *m, const struct expr *x)
{
    const struct expr *keep = expr_binary(c->arena, EXPR_LE, low, high);
    if (dtype_is_float(m->dtype))
        keep = expr_binary(c->arena, EXPR_OR, keep,
                           expr_unary(c->arena, EXPR_NOT, expr_binary(c->arena, EXPR_EQ, m, m)));
    return expr_select(c->arena, keep, m, x);
}

static bool max_lower(struct lower_ctx *c)
{
    const struct expr *m = lower_in(c, 0);
    for (int i = 1; i < (int)c->node->inputs.count; i++) {
        const struct expr *x = lower_in(c, i);
        m = keep_or_take(c, x, m, m, x);
    }
    return lower_map(c, m);
}

static const struct op_sample max_samples[] = {
    {.text = "g (float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] y) { y = Max(a, b, c) }"},
    {.text = "g (float[4] x) => (float[4] y) { zero = Constant <value_float = 0.0> () a = Mul(x, zero) b = Neg(a) "
             "m = Max(a, b) one = Constant <value_float = 1.0> () y = Div(one, m) }",
     .no_gradient = true}, /* of zeros the first stays */
    {.text = "g (double[4] a) => (double[4] y) { y = Max(a) }"},
    {.text = "g (int8[9] a, int8[9] b) => (int8[9] y) { y = Max(a, b) }", .no_gradient = true},
    {.text = "g (uint64[9] a, uint64[9] b) => (uint64[9] y) { y = Max(a, b) }", .no_gradient = true},
    /* ties: 1/4, 1/4, 1/2 of the last fold */
    {.text = "g () => (float[2] d) { x = Constant <value_floats = [1.0, 2.0]> () z = Identity(x) w = Identity(x) "
             "y = Max(x, z, w) s = ReduceSum <keepdims = 0> (y) "
             "d = ai.onnx.preview.training.Gradient <xs = [\"x\"], zs = [\"z\", \"w\"], y = \"s\"> (x, z, w) }",
     .no_gradient = true},
    {.text = "g (float[5] a, float[5] b) => (float[5] y) { y = Max <consumed_inputs = [0, 0]> (a, b) }", .opset = 5},
    {.text = "g (float16[3,4] a, float16[4] b, float16[3,1] c) => (float16[3,4] y) { y = Max(a, b, c) }"},
    {0}};

static bool min_grad(struct grad_ctx *c)
{
    return extremum_grad(c, "Min", "Greater");
}

static double min_f(const struct eval_ctx *c, const double *x)
{
    double m = x[0];
    for (int i = 1; i < operand_count(c); i++)
        m = m <= x[i] || m != m ? m : x[i];
    return m;
}

static int64_t min_i(const struct eval_ctx *c, const int64_t *x)
{
    int64_t m = x[0];
    for (int i = 1; i < operand_count(c); i++)
        m = less_int(c, x[i], m) ? x[i] : m;
    return m;
}

static bool min_eval(struct eval_ctx *c)
{
    return eval_f(c, 0) != NULL ? eval_map_f(c, min_f) : eval_map_i(c, min_i);
}

static bool min_lower(struct lower_ctx *c)
{
    const struct expr *m = lower_in(c, 0);
    for (int i = 1; i < (int)c->node->inputs.count; i++) {
        const struct expr *x = lower_in(c, i);
        m = keep_or_take(c, m, x, m, x);
    }
    return lower_map(c, m);
}

static const struct op_sample min_samples[] = {
    {.text = "g (float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] y) { y = Min(a, b, c) }"},
    {.text = "g (float[4] x) => (float[4] y) { zero = Constant <value_float = 0.0> () a = Mul(x, zero) b = Neg(a) "
             "m = Min(a, b) one = Constant <value_float = 1.0> () y = Div(one, m) }",
     .no_gradient = true}, /* of zeros the first stays */
    {.text = "g (int32[9] a, int32[9] b) => (int32[9] y) { y = Min(a, b) }", .no_gradient = true},
    {.text = "g (float[5] a, float[5] b) => (float[5] y) { y = Min <consumed_inputs = [0, 0]> (a, b) }", .opset = 5},
    {0}};

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_variadic[] = {
    {.name = "Sum", .versions = sum_versions, .inputs = float_inputs, .outputs = sum_outputs, .infer = infer_broadcast,
     .grad = sum_grad, .eval = sum_eval, .lower = sum_lower, .is_elementwise = true, .samples = sum_samples},
    {.name = "Mean", .versions = sum_versions, .inputs = float_inputs, .outputs = mean_outputs,
     .infer = infer_broadcast, .grad = mean_grad, .eval = mean_eval, .lower = mean_lower, .is_elementwise = true,
     .samples = mean_samples},
    {.name = "Max", .versions = max_versions, .inputs = numeric_inputs, .outputs = max_outputs,
     .infer = infer_broadcast, .grad = max_grad, .eval = max_eval, .lower = max_lower, .is_elementwise = true,
     .sizes = SIZES_GREATEST, .samples = max_samples},
    {.name = "Min", .versions = max_versions, .inputs = numeric_inputs, .outputs = min_outputs,
     .infer = infer_broadcast, .grad = min_grad, .eval = min_eval, .lower = min_lower, .is_elementwise = true,
     .sizes = SIZES_LEAST, .samples = min_samples},
    {0}};
