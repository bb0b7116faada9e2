/* Arithmetic of the two modes: rounding, elementary functions, sums, integers. docs/numerics.md is the contract. */
#include "eval/eval.h"

#include "stepc_hyperbolic.h"
#include "stepc_math.h"
#include "stepc_random.h"
#include "stepc_rounding.h"
#include "stepc_trigonometry.h"

#include <math.h>

/* float16, bfloat16 and the 8-bit types compute in float: a node's results are rounded further in eval_node(). */
static bool rounds_to_float(const struct eval_ctx *c, enum dtype d)
{
    return c->arithmetic == ARITHMETIC_SAME && d != DTYPE_DOUBLE;
}

double eval_round_to(const struct eval_ctx *c, enum dtype d, double x)
{
    return rounds_to_float(c, d) ? (double)(float)x : x;
}

/* Output 0 may be the one that nobody wants. */
static enum dtype dtype_of_node(const struct eval_ctx *c)
{
    size_t o = 0;
    while (c->node->outputs.data[o] == NULL)
        o++;
    return c->node->outputs.data[o]->dtype;
}

double eval_round(const struct eval_ctx *c, double x)
{
    return eval_round_to(c, dtype_of_node(c), x);
}

/* ---- elementary functions ---------------------------------------------------------------------------------------- */

/* The interpreter's own double forms, written to be accurate and not to be fast. */
static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double softplus(double x)
{
    return fmax(x, 0) + log1p(exp(-fabs(x)));
}

static const struct {
    double (*plain)(double);
    float (*contract_float)(float);
    double (*contract_double)(double);
} functions[MATH_COUNT] = {
#define FUNCTION(NAME, function, cost, plain) {plain, stepc_##function##f, stepc_##function},
#include "eval/functions.def"
#undef FUNCTION
};

double eval_math(const struct eval_ctx *c, enum dtype d, enum math_fn f, double x)
{
    if (c->arithmetic == ARITHMETIC_DOUBLE)
        return functions[f].plain(x);
    if (d == DTYPE_DOUBLE)
        return functions[f].contract_double(x);
    return (double)functions[f].contract_float((float)x);
}

double eval_pow(const struct eval_ctx *c, enum dtype d, double x, double y)
{
    if (c->arithmetic == ARITHMETIC_DOUBLE)
        return pow(x, y);
    if (d == DTYPE_DOUBLE)
        return stepc_pow(x, y);
    return (double)stepc_powf((float)x, (float)y);
}

/* ---- folds ------------------------------------------------------------------------------------------------------- */

static void add_to_lanes(const struct eval_ctx *c, enum dtype d, double *lane, const double *x, int64_t n,
                         int64_t stride)
{
    for (int64_t k = 0; k < n; k++) {
        double *l = &lane[k % CONTRACT_LANES];
        *l = eval_round_to(c, d, *l + x[k * stride]);
    }
}

static double fold_lanes(const struct eval_ctx *c, enum dtype d, double *lane)
{
    for (int w = CONTRACT_LANES / 2; w > 0; w /= 2)
        for (int l = 0; l < w; l++)
            lane[l] = eval_round_to(c, d, lane[l] + lane[l + w]);
    return lane[0];
}

double eval_sum_lanes(const struct eval_ctx *c, enum dtype d, const double *x, int64_t n, int64_t stride)
{
    double lane[CONTRACT_LANES] = {0};
    add_to_lanes(c, d, lane, x, n, stride);
    return fold_lanes(c, d, lane);
}

double eval_sum_row(const struct eval_ctx *c, enum dtype d, const double *x, int64_t n, int64_t stride)
{
    double total[CONTRACT_LANES] = {0};
    for (int64_t first = 0; first < n; first += EVAL_BLOCK_OF_ROW) {
        double lane[CONTRACT_LANES] = {0};
        const int64_t left = n - first;
        add_to_lanes(c, d, lane, x + first * stride, left < EVAL_BLOCK_OF_ROW ? left : EVAL_BLOCK_OF_ROW, stride);
        add_to_lanes(c, d, total, lane, CONTRACT_LANES, 1);
    }
    return fold_lanes(c, d, total);
}

double eval_dot(const struct eval_ctx *c, int64_t n, int64_t terms, const double *a, int64_t step_a, const double *b,
                int64_t step_b)
{
    const bool rounds = rounds_to_float(c, dtype_of_node(c));
    double total = 0;
    for (int64_t first = 0; first < n; first += terms) {
        const int64_t end = n - first < terms ? n : first + terms;
        double sum = 0;
        for (int64_t k = first; k < end; k++) {
            const double product = a[k * step_a] * b[k * step_b];
            sum = rounds ? (double)(float)(sum + (double)(float)product) : sum + product;
        }
        total = rounds ? (double)(float)(total + sum) : total + sum;
    }
    return total;
}

double eval_max(const double *x, int64_t n, int64_t stride)
{
    double m = -INFINITY;
    for (int64_t k = 0; k < n; k++)
        if (x[k * stride] > m || isnan(x[k * stride]))
            m = x[k * stride];
    return m;
}

/* ---- integers ---------------------------------------------------------------------------------------------------- */

/* Signed division truncates; MIN / -1 wraps to MIN, as -MIN does, and its remainder is 0. */
static int64_t divide(enum dtype d, int64_t a, int64_t b, bool remainder)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    if (b == 0)
        return 0;
    if (!dtype_is_signed(d))
        return (int64_t)(remainder ? x % y : x / y);
    if (b == -1)
        return remainder ? 0 : (int64_t)(0 - x);
    return remainder ? a % b : a / b;
}

int64_t eval_int_binary(enum dtype d, char op, int64_t a, int64_t b)
{
    const uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case '+': return dtype_wrap(d, (int64_t)(x + y));
    case '-': return dtype_wrap(d, (int64_t)(x - y));
    case '*': return dtype_wrap(d, (int64_t)(x * y));
    case '/': return dtype_wrap(d, divide(d, a, b, false));
    case '%': return dtype_wrap(d, divide(d, a, b, true));
    default: UNREACHABLE("integer operation '%c'", op);
    }
}

/* ---- random numbers ---------------------------------------------------------------------------------------------- */

double eval_uniform(const struct eval_ctx *c, enum dtype d, int64_t element)
{
    const struct eval_random r = c->random;
    if (d == DTYPE_DOUBLE)
        return stepc_uniform(r.seed, r.counter, c->node->stream, (uint64_t)element);
    return (double)stepc_uniformf(r.seed, r.counter, c->node->stream, (uint64_t)element);
}

double eval_normal(const struct eval_ctx *c, enum dtype d, int64_t element)
{
    const struct eval_random r = c->random;
    if (d == DTYPE_DOUBLE)
        return stepc_normal(r.seed, r.counter, c->node->stream, (uint64_t)element);
    return (double)stepc_normalf(r.seed, r.counter, c->node->stream, (uint64_t)element);
}
