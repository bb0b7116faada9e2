/* Recognition only looks at nodes: which value is divided by the sum of which. Shapes are asked for by who bypasses. */
#include "prepare/activation.h"

#include "graph/op_def.h"
#include "prepare/parameters.h"
#include "prepare/values.h"

enum { AXES_FROM_13 = 13 };

/* ---- small patterns ---------------------------------------------------------------------------------------------- */

static const struct model_node *made_by(const struct preparer *p, const char *name, const char *op)
{
    const struct model_node *const n = producer_of(p, name);
    return is_op(n, op) && n->inputs.count > 0 ? n : NULL;
}

/* One value by two names: Identity gives another. */
static bool is_same_value(const struct preparer *p, const char *a, const char *b)
{
    const struct model_node *const n = producer_of(p, a);
    return str_equal(a, b) || (n && n == producer_of(p, b));
}

static bool is_number(const struct preparer *p, const char *name, double x)
{
    const struct model_initializer *const init = model_find_initializer(p->model->graph, name);
    const struct tensor *const t = init ? init->tensor : constant_of(producer_of(p, name));
    return t && t->shape.rank <= 1 && values_are_all(t, x);
}

/* OP(x, c) with a number c, in either order where `commutes`; NULL: it is something else. */
static const char *beside_number(const struct preparer *p, const char *name, const char *op, double c, bool commutes)
{
    const struct model_node *const n = made_by(p, name, op);
    if (!n || n->inputs.count != 2)
        return NULL;
    if (is_number(p, n->inputs.data[1], c))
        return n->inputs.data[0];
    return commutes && is_number(p, n->inputs.data[0], c) ? n->inputs.data[1] : NULL;
}

/* z of -z */
static const char *negated(const struct preparer *p, const char *name)
{
    const struct model_node *const neg = made_by(p, name, "Neg"), *const sub = made_by(p, name, "Sub");
    if (neg)
        return neg->inputs.data[0];
    if (sub && sub->inputs.count == 2 && is_number(p, sub->inputs.data[0], 0))
        return sub->inputs.data[1];
    const char *const product = beside_number(p, name, "Mul", -1, true);
    return product ? product : beside_number(p, name, "Div", -1, false);
}

/* x of e^x */
static const char *exponent(const struct preparer *p, const char *name)
{
    const struct model_node *const n = made_by(p, name, "Exp");
    return n ? n->inputs.data[0] : NULL;
}

/* a / b, also as a * (1 / b) */
static bool is_quotient(const struct preparer *p, const struct model_node *n, const char **a, const char **b)
{
    if (n->inputs.count != 2 || !(is_op(n, "Div") || is_op(n, "Mul")))
        return false;
    *a = n->inputs.data[0];
    *b = n->inputs.data[1];
    for (size_t i = 0; is_op(n, "Mul") && i < 2; i++) {
        const struct model_node *const inverse = made_by(p, n->inputs.data[1 - i], "Reciprocal");
        if (!inverse)
            continue;
        *a = n->inputs.data[i];
        *b = inverse->inputs.data[0];
        return true;
    }
    return is_op(n, "Div");
}

/* The one axis of a reduction or an Unsqueeze. */
static bool only_axis(const struct preparer *p, const struct model_node *n, int64_t *axis)
{
    const struct model_attr *const axes = model_find_attr(&n->attrs, "axes");
    if (axes) {
        *axis = axes->type == ATTR_INTS && axes->ints.count == 1 ? axes->ints.data[0] : 0;
        return axes->type == ATTR_INTS && axes->ints.count == 1;
    }
    if (n->inputs.count < 2)
        return false;
    const struct model_initializer *const init = model_find_initializer(p->model->graph, n->inputs.data[1]);
    const struct tensor *const t = init ? init->tensor : constant_of(producer_of(p, n->inputs.data[1]));
    if (!t || t->count != 1 || t->dtype != DTYPE_INT64)
        return false;
    *axis = tensor_get_int(t, 0);
    return true;
}

/* A reduction over one axis that stands beside what it reduces: the axis is kept or comes back by an Unsqueeze, and
 * what is spread over it by broadcasting or an Expand. NULL: it is none. */
static const struct model_node *reduction_beside(const struct preparer *p, const char *name, const char *op,
                                                 int64_t *axis)
{
    const struct model_node *n = producer_of(p, name);
    int64_t own;
    if (is_op(n, "Expand") && n->inputs.count > 0)
        n = producer_of(p, n->inputs.data[0]);
    const bool comes_back = is_op(n, "Unsqueeze") && n->inputs.count > 0 && only_axis(p, n, &own);
    if (comes_back)
        n = producer_of(p, n->inputs.data[0]);
    if (!is_op(n, op) || n->inputs.count == 0 || !only_axis(p, n, axis) || (comes_back && own != *axis))
        return NULL;
    return (attribute_int(n, "keepdims", 1) != 0) != comes_back ? n : NULL;
}

static bool is_reduction_of(const struct preparer *p, const char *name, const char *op, const char *x, int64_t *axis)
{
    const struct model_node *const n = reduction_beside(p, name, op, axis);
    return n && is_same_value(p, n->inputs.data[0], x);
}

/* ---- Softmax ----------------------------------------------------------------------------------------------------- */

static bool is_softmax_operator(const struct preparer *p, const struct model_node *n, struct activation *out)
{
    const bool logarithm = is_op(n, "LogSoftmax");
    if (!logarithm && !is_op(n, "Softmax"))
        return false;
    *out = (struct activation){.kind = logarithm ? ACTIVATION_LOG_SOFTMAX : ACTIVATION_SOFTMAX,
                               .name = logarithm ? "LogSoftmax" : "Softmax",
                               .has_axis = true,
                               .axis = attribute_int(n, "axis", p->opset >= AXES_FROM_13 ? -1 : 1),
                               .flattens = p->opset < AXES_FROM_13,
                               .scores = n->inputs.data[0]};
    return true;
}

/* Softmax does not change when all scores lose the same: z of z - max(z). */
static const char *without_maximum(const struct preparer *p, const char *scores, int64_t axis)
{
    const struct model_node *const sub = made_by(p, scores, "Sub");
    int64_t own;
    return sub && sub->inputs.count == 2 &&
                   is_reduction_of(p, sub->inputs.data[1], "ReduceMax", sub->inputs.data[0], &own) && own == axis
               ? sub->inputs.data[0]
               : scores;
}

static struct activation spelled_out(const struct preparer *p, enum activation_kind kind, const char *scores,
                                     int64_t axis)
{
    return (struct activation){.kind = kind,
                               .name = kind == ACTIVATION_SOFTMAX ? "Softmax" : "LogSoftmax",
                               .has_axis = true,
                               .axis = axis,
                               .scores = without_maximum(p, scores, axis)};
}

/* e / sum(e), e = exp(z) */
static bool is_spelled_softmax(const struct preparer *p, const struct model_node *n, struct activation *out)
{
    const char *e, *sum;
    int64_t axis;
    if (!is_quotient(p, n, &e, &sum) || !exponent(p, e) || !is_reduction_of(p, sum, "ReduceSum", e, &axis))
        return false;
    *out = spelled_out(p, ACTIVATION_SOFTMAX, exponent(p, e), axis);
    return true;
}

/* x of log(sum(exp(x))) */
static const char *of_log_sum(const struct preparer *p, const char *name, int64_t *axis)
{
    const struct model_node *const whole = reduction_beside(p, name, "ReduceLogSumExp", axis);
    if (whole)
        return whole->inputs.data[0];
    const struct model_node *const log = made_by(p, name, "Log");
    const struct model_node *const sum = log ? reduction_beside(p, log->inputs.data[0], "ReduceSum", axis) : NULL;
    return sum ? exponent(p, sum->inputs.data[0]) : NULL;
}

static bool is_spelled_log_softmax(const struct preparer *p, const struct model_node *n, struct activation *out)
{
    int64_t axis;
    if (!is_op(n, "Sub") || n->inputs.count != 2)
        return false;
    const char *const x = of_log_sum(p, n->inputs.data[1], &axis);
    if (!x || !is_same_value(p, x, n->inputs.data[0]))
        return false;
    *out = spelled_out(p, ACTIVATION_LOG_SOFTMAX, x, axis);
    return true;
}

static bool is_softmax(const struct preparer *p, const struct model_node *n, struct activation *out)
{
    return is_softmax_operator(p, n, out) || is_spelled_softmax(p, n, out) || is_spelled_log_softmax(p, n, out);
}

/* Log(Softmax(z)) and Exp(LogSoftmax(z)) are the other of the two. */
static bool is_other_softmax(const struct preparer *p, const struct model_node *n, struct activation *out)
{
    const bool log = is_op(n, "Log");
    if (!log && !is_op(n, "Exp"))
        return false;
    const struct model_node *const inner = producer_of(p, n->inputs.data[0]);
    if (!inner || inner->inputs.count == 0 || !is_softmax(p, inner, out) ||
        out->kind != (log ? ACTIVATION_SOFTMAX : ACTIVATION_LOG_SOFTMAX))
        return false;
    out->kind = log ? ACTIVATION_LOG_SOFTMAX : ACTIVATION_SOFTMAX;
    out->name = log ? "LogSoftmax" : "Softmax";
    return true;
}

/* ---- Sigmoid ----------------------------------------------------------------------------------------------------- */

/* z of 1 + exp(-z) */
static const char *of_denominator(const struct preparer *p, const char *name)
{
    const char *const e = beside_number(p, name, "Add", 1, true);
    const char *const x = e ? exponent(p, e) : NULL;
    return x ? negated(p, x) : NULL;
}

/* exp(z) / (1 + exp(z)) */
static const char *of_exponentials(const struct preparer *p, const char *a, const char *b)
{
    const char *const e = beside_number(p, b, "Add", 1, true);
    return e && is_same_value(p, a, e) ? exponent(p, e) : NULL;
}

/* z of tanh(z / 2) */
static const char *of_tanh(const struct preparer *p, const char *name)
{
    const struct model_node *const n = made_by(p, name, "Tanh");
    const char *const half = n ? beside_number(p, n->inputs.data[0], "Mul", 0.5, true) : NULL;
    return half || !n ? half : beside_number(p, n->inputs.data[0], "Div", 2, false);
}

/* (tanh(z / 2) + 1) / 2, in this order or the other */
static const char *of_shifted_tanh(const struct preparer *p, const struct model_node *n)
{
    const char *const y = n->outputs.data[0];
    const char *const sum = beside_number(p, y, "Mul", 0.5, true);
    const char *const inner = sum ? beside_number(p, sum, "Add", 1, true) : NULL;
    if (inner)
        return of_tanh(p, inner);
    const char *const product = beside_number(p, y, "Add", 0.5, true);
    const char *const half = product ? beside_number(p, product, "Mul", 0.5, true) : NULL;
    return half ? of_tanh(p, half) : NULL;
}

static const char *sigmoid_scores(const struct preparer *p, const struct model_node *n)
{
    const char *a, *b;
    if (is_op(n, "Sigmoid"))
        return n->inputs.data[0];
    if (is_op(n, "Reciprocal"))
        return of_denominator(p, n->inputs.data[0]);
    if (is_op(n, "Pow") && n->inputs.count == 2 && is_number(p, n->inputs.data[1], -1))
        return of_denominator(p, n->inputs.data[0]);
    if (!is_quotient(p, n, &a, &b))
        return of_shifted_tanh(p, n);
    const char *const z = is_number(p, a, 1) ? of_denominator(p, b) : of_exponentials(p, a, b);
    return z ? z : of_shifted_tanh(p, n);
}

static bool is_sigmoid(const struct preparer *p, const struct model_node *n, struct activation *out)
{
    const char *const scores = sigmoid_scores(p, n);
    if (scores)
        *out = (struct activation){.kind = ACTIVATION_SIGMOID, .name = "Sigmoid", .scores = scores};
    return scores != NULL;
}

/* ---- what stands behind ------------------------------------------------------------------------------------------ */

static bool is_move(const struct model_node *n)
{
    static const char *const others[] = {"Pad", "Dropout", "QuantizeLinear", "DequantizeLinear"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (is_op(n, others[i]))
            return false;
    return n && n->inputs.count > 0 && (only_moves(n) || is_op(n, "Gather"));
}

bool find_activation(const struct preparer *p, const char *name, struct activation *out)
{
    struct activation found = {0};
    VEC(const struct model_node *) moves = {0};
    const struct model_node *n = map_get(&p->producers, name);
    *out = found;
    for (int i = 0; is_move(n) && i < MOST_MOVES; i++) {
        vec_push(p->arena, &moves, n);
        n = map_get(&p->producers, n->inputs.data[0]);
    }
    if (!n || n->inputs.count == 0 || n->outputs.count == 0)
        return false;
    if (!is_softmax(p, n, &found) && !is_other_softmax(p, n, &found) && !is_sigmoid(p, n, &found))
        return false;
    found.node = n;
    for (size_t i = 0; i < moves.count; i++)
        vec_push(p->arena, &found.moves, moves.data[i]);
    *out = found;
    return true;
}

/* Results of such nodes mix or change elements, but nothing else comes in. */
static bool computes_alone(const struct model_node *n)
{
    static const char *const ops[] = {"Concat", "Dropout",        "ReduceMean",      "ReduceSum", "ReduceMax",
                                      "Pad",    "QuantizeLinear", "DequantizeLinear"};
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (is_op(n, ops[i]))
            return true;
    const struct op_def *const def = op_find(n->domain, n->op_type);
    return is_move(n) || (def && def->is_elementwise);
}

static bool is_known(const struct preparer *p, const char *name)
{
    return name[0] == '\0' || model_find_initializer(p->model->graph, name) || constant_of(producer_of(p, name));
}

/* `budget`: how many nodes may still be looked at; values may be read by many. */
static bool find_behind(const struct preparer *p, const char *name, int depth, int *budget, struct activation *out)
{
    if (find_activation(p, name, out))
        return true;
    const struct model_node *const n = map_get(&p->producers, name);
    struct activation one;
    bool found = false;
    if (!n || depth == 0 || (*budget)-- <= 0 || !computes_alone(n))
        return false;
    for (size_t i = 0; i < n->inputs.count; i++) {
        if (is_known(p, n->inputs.data[i]))
            continue;
        if (!find_behind(p, n->inputs.data[i], depth - 1, budget, found ? &one : out))
            return false;
        found = true;
    }
    return found;
}

bool find_hidden_activation(const struct preparer *p, const char *name, struct activation *out,
                            const struct model_node **behind)
{
    enum { DEPTH = 8 }; /* more is no ending any more */
    int budget = MOST_MOVES;
    *behind = map_get(&p->producers, name);
    return find_behind(p, name, DEPTH, &budget, out);
}
