#include "ops/ml_rules.h"

#include "base/str.h"
#include <math.h>

size_t ml_count(const struct node *n, const char *name)
{
    const struct attr *const a = node_attr(n, name);
    return a ? a->count : 0;
}

double ml_number_at(const struct eval_ctx *c, int64_t p)
{
    const struct eval_tensor *const x = eval_input(c, 0);
    return x->f ? x->f[p] : (double)x->i[p];
}

int64_t ml_rows(const struct node *n)
{
    const struct shape *const x = &n->inputs.data[0]->shape;
    return x->rank == 2 ? x->dim[0] : 1;
}

struct size ml_rows_size(const struct node *n)
{
    const struct shape *const x = &n->inputs.data[0]->shape;
    return x->rank == 2 ? shape_size(x, 0) : size_constant(1);
}

int64_t ml_features(const struct node *n)
{
    const struct shape *const x = &n->inputs.data[0]->shape;
    return x->dim[x->rank - 1];
}

bool ml_check_rows(struct infer_ctx *c)
{
    const struct shape *const x = infer_shape(c, 0);
    if (x->rank != 1 && x->rank != 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected 2: [samples, features]", infer_in(c, 0)->name,
                           x->rank);
    return x->dim[x->rank - 1] > 0 || infer_error(c, "input 0 '%s' has no features", infer_in(c, 0)->name);
}

/* ---- transformations of scores ----------------------------------------------------------------------------------- */

bool ml_check_transform(struct infer_ctx *c, const char *post)
{
    static const char *const known[] = {"NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO", "PROBIT"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (str_equal(post, known[i]))
            return true;
    return infer_error(
        c, "attribute 'post_transform' is '%s', expected NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO or PROBIT", post);
}

/* sqrt(2) erfinv(2 p - 1), erfinv(x) = sign(x) sqrt(sqrt(v^2 - l / A) - v), v = 2 / (3.14159 A) + l / 2 with
 * l = log(1 - x^2): good to 0.002, and what onnxruntime and ONNX's reference compute. */
#define PROBIT_A 0.147
#define PROBIT_FIRST (2 / (3.14159 * PROBIT_A))
#define PROBIT_ROOT 1.41421356

static double probit(double p)
{
    const double x = 2 * p - 1, l = log((1 - x) * (1 + x)), v = PROBIT_FIRST + 0.5 * l;
    const double size = sqrt(sqrt(v * v - l / PROBIT_A) - v);
    return PROBIT_ROOT * (x < 0 ? -size : size);
}

void ml_transform(const char *post, int64_t rows, int64_t results, const double *from, double *to)
{
    const bool is_softmax = str_starts_with(post, "SOFTMAX"), keeps_zeros = str_equal(post, "SOFTMAX_ZERO");
    for (int64_t p = 0; p < rows * results; p++)
        to[p] = str_equal(post, "LOGISTIC") ? 1 / (1 + exp(-from[p]))
                : str_equal(post, "PROBIT") ? probit(from[p])
                                            : from[p];
    for (int64_t r = 0; is_softmax && r < rows; r++) {
        const double *const x = from + r * results;
        double most = -INFINITY, sum = 0;
        for (int64_t e = 0; e < results; e++)
            most = x[e] > most ? x[e] : most;
        for (int64_t e = 0; e < results; e++)
            sum += keeps_zeros && x[e] == 0 ? 0 : exp(x[e] - most);
        for (int64_t e = 0; e < results; e++)
            to[r * results + e] = keeps_zeros && x[e] == 0 ? 0 : exp(x[e] - most) / sum;
    }
}

static struct value *probit_of(struct expand_ctx *c, struct value *p)
{
    struct value *const one = build_like(c, p, 1.0), *const half = build_like(c, p, 0.5);
    struct value *const x = build(c, "Sub", build(c, "Mul", p, build_like(c, p, 2.0)), one);
    struct value *const l = build(c, "Log", build(c, "Mul", build(c, "Sub", one, x), build(c, "Add", one, x)));
    struct value *const v = build(c, "Add", build(c, "Mul", l, half), build_like(c, p, PROBIT_FIRST));
    struct value *const rest = build(c, "Div", l, build_like(c, p, -PROBIT_A));
    struct value *const root = build(c, "Sqrt", build(c, "Add", build(c, "Mul", v, v), rest));
    /* root - v, which would lose the digits of small ones where v is above 0 */
    struct value *const small = build(c, "Div", rest, build(c, "Add", root, v));
    struct value *const is_small = build(c, "Greater", v, build_like(c, p, 0.0));
    struct value *const size = build(c, "Sqrt", build(c, "Where", is_small, small, build(c, "Sub", root, v)));
    struct value *const is_below = build(c, "Less", x, build_like(c, p, 0.0));
    return build(c, "Mul", build_like(c, p, PROBIT_ROOT), build(c, "Where", is_below, build(c, "Neg", size), size));
}

struct value *ml_transformed(struct expand_ctx *c, const char *post, struct value *s)
{
    if (str_equal(post, "LOGISTIC"))
        return build(c, "Sigmoid", s);
    if (str_equal(post, "SOFTMAX"))
        return build(c, "Softmax", s);
    if (str_equal(post, "NONE"))
        return s;
    if (str_equal(post, "PROBIT"))
        return probit_of(c, s);
    struct value *const zero = build_like(c, s, 0.0), *const is_zero = build(c, "Equal", s, zero);
    struct value *const along = build_ints(c->b, (const int64_t[]){1}, 1);
    struct value *const shifted = build(c, "Sub", s, build(c, "ReduceMax", s, along));
    struct value *const e = build(c, "Where", is_zero, zero, build(c, "Exp", shifted));
    struct value *const sum = build(c, "ReduceSum", e, along);
    return build(c, "Where", is_zero, zero, build(c, "Div", e, sum));
}

struct value *ml_constant(struct expand_ctx *c, enum dtype d, const double *x, const struct shape *s)
{
    struct tensor *const t = tensor_new(c->b->graph->arena, d, s);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, x[i]);
    return build_constant(c->b, t);
}
