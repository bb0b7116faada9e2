/* One function per family of operators. Shapes are worked out here once more: what the compiler infers must agree. */
#include "gen.h"

#include "base/str.h"
#include <math.h>
#include <string.h>

#define FLOATS (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE) | DTYPE_BIT(DTYPE_FLOAT16))
#define INTS (DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64) | DTYPE_BIT(DTYPE_INT8))
#define NUMBERS (FLOATS | INTS)
#define BOOLS DTYPE_BIT(DTYPE_BOOL)
#define ANY (NUMBERS | BOOLS | DTYPE_BIT(DTYPE_BFLOAT16)) /* most operators take bfloat16 in newer versions only */

/* How a result moves when an operand does. */
enum continuity { SMOOTH, KINK, JUMP };

/* The derivative of a kink jumps. */
static bool allowed(const struct gen *g, enum continuity c)
{
    return !g->smooth || c == SMOOTH || (c == KINK && g->kind == RANDOM_INFERENCE);
}

static bool is_float(const struct operand *x)
{
    return dtype_is_float(x->dtype);
}

static bool is_empty(const struct operand *x)
{
    return shape_count(&x->shape) == 0;
}

static bool attr_int(struct gen *g, const char *name, int64_t x)
{
    model_set_int(g->arena, gen_last(g), name, x);
    return true;
}

/* An axis as a model may write it: counted from either end. */
static int64_t written_axis(struct gen *g, int axis, int rank)
{
    return gen_chance(g, 40) ? axis - rank : axis;
}

/* ---- elementwise ------------------------------------------------------------------------------------------------- */

static bool make_unary(struct gen *g)
{
    static const struct unary {
        const char *op;
        double scale, most; /* |result| <= min(scale * |x|, most), 0: no limit */
        enum continuity continuity;
    } ops[] = {{"Neg", 1, 0, SMOOTH},        {"Tanh", 1, 1, SMOOTH},     {"Sigmoid", 99, 1, SMOOTH},
               {"Softplus", 1.7, 0, SMOOTH}, {"Sin", 1, 1, SMOOTH},      {"Cos", 99, 1, SMOOTH},
               {"Erf", 1.2, 1, SMOOTH},      {"Identity", 1, 0, SMOOTH}, {"Atan", 1, 1.6, SMOOTH},
               {"Asinh", 1, 0, SMOOTH},      {"Abs", 1, 0, KINK},        {"Relu", 1, 0, KINK},
               {"LeakyRelu", 1, 0, KINK},    {"Floor", 2, 0, JUMP},      {"Ceil", 2, 0, JUMP},
               {"Round", 2, 0, JUMP},        {"Sign", 99, 1, JUMP}};
    const struct unary *u = &ops[gen_below(g, sizeof ops / sizeof *ops)];
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x || !allowed(g, u->continuity))
        return false;
    double bound = u->scale * x->bound + (str_equal(u->op, "Softplus") ? 1 : 0);
    if (u->most > 0 && bound > u->most)
        bound = u->most;
    return GEN_NODE(g, u->op, x->dtype, &x->shape, bound, x);
}

/* x * x + c: a number that may be divided by and has a logarithm. */
static const struct operand *positive(struct gen *g, const struct operand *x)
{
    const struct operand *c = gen_constant(g, x->dtype, 0.5),
                         *square = GEN_NODE(g, "Mul", x->dtype, &x->shape, x->bound * x->bound, x, x);
    return GEN_NODE(g, "Add", x->dtype, &x->shape, square->bound + 0.5, square, c);
}

static bool make_exp(struct gen *g)
{
    const struct operand *x = gen_pick(g, FLOATS);
    static const char *const ops[] = {"Exp", "Sinh", "Cosh"};
    return x && x->bound <= 4 && GEN_NODE(g, ops[gen_below(g, 3)], x->dtype, &x->shape, exp(x->bound), x);
}

/* Functions of a number that is well within (-1, 1). */
static bool make_of_unit(struct gen *g)
{
    static const char *const ops[] = {"Asin", "Acos", "Atanh", "Tan"};
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x)
        return false;
    const struct operand *sine = GEN_NODE(g, "Sin", x->dtype, &x->shape, 1, x);
    const struct operand *unit = GEN_NODE(g, "Mul", x->dtype, &x->shape, 0.75, sine, gen_constant(g, x->dtype, 0.75));
    return GEN_NODE(g, ops[gen_below(g, 4)], x->dtype, &x->shape, 2.5, unit);
}

/* Integers by zero as well; floats jump. */
static bool make_mod(struct gen *g)
{
    const struct operand *x = gen_pick(g, NUMBERS), *y = x ? gen_pick_beside(g, x) : NULL;
    struct shape s;
    if (!y || (is_float(x) && (!allowed(g, JUMP) || y->bound > 9)) || !shape_broadcast(&s, &x->shape, &y->shape) ||
        shape_count(&s) > GEN_MAX_COUNT)
        return false;
    if (is_float(x))
        y = positive(g, y);
    GEN_NODE(g, "Mod", x->dtype, &s, x->bound + y->bound, x, y);
    return attr_int(g, "fmod", is_float(x) || gen_chance(g, 50));
}

/* The bits of an integer of at most b lie below 2 b. */
static bool make_bits(struct gen *g)
{
    static const char *const ops[] = {"BitwiseAnd", "BitwiseOr", "BitwiseXor"};
    const struct operand *x = g->opset >= 18 ? gen_pick(g, INTS) : NULL;
    if (!x || x->bound > GEN_MAX_BOUND / 4)
        return false;
    if (gen_chance(g, 25))
        return GEN_NODE(g, "BitwiseNot", x->dtype, &x->shape, x->bound + 1, x);
    const struct operand *y = gen_pick_beside(g, x);
    struct shape s;
    return shape_broadcast(&s, &x->shape, &y->shape) && shape_count(&s) <= GEN_MAX_COUNT &&
           GEN_NODE(g, ops[gen_below(g, 3)], x->dtype, &s, 2 * (x->bound + y->bound), x, y);
}

static bool make_of_positive(struct gen *g)
{
    static const char *const ops[] = {"Sqrt", "Log", "Reciprocal", "Pow"};
    const char *op = ops[gen_below(g, 4)];
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x || x->bound > 9)
        return false;
    const struct operand *p = positive(g, x);
    if (!str_equal(op, "Pow"))
        return GEN_NODE(g, op, x->dtype, &x->shape, p->bound > 2 ? p->bound : 2, p);
    static const double exponents[] = {0.5, 2, -1, 1.5, 3, -0.5, 0, 1};
    const double e = exponents[gen_below(g, 8)], bound = pow(p->bound, e) + 2;
    return bound <= GEN_MAX_BOUND && GEN_NODE(g, "Pow", x->dtype, &x->shape, bound, p,
                                              gen_constant(g, gen_chance(g, 50) ? x->dtype : DTYPE_FLOAT, e));
}

static bool make_binary(struct gen *g)
{
    static const struct binary { const char *op; enum continuity continuity; unsigned dtypes; } ops[] = {
        {"Add", SMOOTH, NUMBERS}, {"Sub", SMOOTH, NUMBERS}, {"Mul", SMOOTH, NUMBERS}, {"Div", SMOOTH, NUMBERS},
        {"Max", KINK, NUMBERS},   {"Min", KINK, NUMBERS},   {"Sum", SMOOTH, FLOATS},  {"Mean", SMOOTH, FLOATS}};
    const struct binary *b = &ops[gen_below(g, 8)];
    const struct operand *x = gen_pick(g, b->dtypes), *y = x ? gen_pick_beside(g, x) : NULL;
    const bool divides = str_equal(b->op, "Div");
    if (!y || (is_float(x) && !allowed(g, b->continuity)) || (divides && y->bound > 9) ||
        (x->dtype == DTYPE_INT8 && g->opset < 14))
        return false;
    if (divides)
        y = is_float(x) ? positive(g, y) : gen_constant(g, x->dtype, 3);
    struct shape s;
    if (!shape_broadcast(&s, &x->shape, &y->shape) || shape_count(&s) > GEN_MAX_COUNT)
        return false;
    const double bound = str_equal(b->op, "Mul") ? x->bound * y->bound : divides ? 2 * x->bound : x->bound + y->bound;
    if (bound > GEN_MAX_BOUND)
        return false;
    return gen_chance(g, 50) || divides ? GEN_NODE(g, b->op, x->dtype, &s, bound, x, y) != NULL
                                        : GEN_NODE(g, b->op, x->dtype, &s, bound, y, x) != NULL;
}

static bool make_compare(struct gen *g)
{
    static const char *const ops[] = {"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"};
    const struct operand *x = gen_pick(g, NUMBERS), *y = x ? gen_pick_beside(g, x) : NULL;
    struct shape s;
    if (!y || (is_float(x) && !allowed(g, JUMP)) || !shape_broadcast(&s, &x->shape, &y->shape))
        return false;
    return GEN_NODE(g, ops[gen_below(g, g->opset >= 12 ? 5 : 3)], DTYPE_BOOL, &s, 1, x, y);
}

static bool make_logical(struct gen *g)
{
    static const char *const ops[] = {"And", "Or", "Xor"};
    const struct operand *x = gen_pick(g, BOOLS);
    if (!x)
        return false;
    if (gen_chance(g, 30))
        return GEN_NODE(g, "Not", DTYPE_BOOL, &x->shape, 1, x);
    const struct operand *y = gen_pick_beside(g, x);
    struct shape s;
    return shape_broadcast(&s, &x->shape, &y->shape) && GEN_NODE(g, ops[gen_below(g, 3)], DTYPE_BOOL, &s, 1, x, y);
}

static bool make_where(struct gen *g)
{
    const struct operand *c = gen_pick(g, BOOLS), *x = gen_pick(g, NUMBERS), *y = x ? gen_pick_beside(g, x) : NULL;
    struct shape s;
    if (!c || !y || !shape_broadcast(&s, &x->shape, &y->shape) || !shape_broadcast(&s, &s, &c->shape) ||
        shape_count(&s) > GEN_MAX_COUNT)
        return false;
    return GEN_NODE(g, "Where", x->dtype, &s, fmax(x->bound, y->bound), c, x, y);
}

static bool make_clip(struct gen *g)
{
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x || !allowed(g, KINK))
        return false;
    const struct operand *low = gen_constant(g, x->dtype, -0.5), *high = gen_constant(g, x->dtype, 0.75);
    return GEN_NODE(g, "Clip", x->dtype, &x->shape, 1, x, low, high);
}

static bool make_cast(struct gen *g)
{
    static const enum dtype to[] = {DTYPE_FLOAT, DTYPE_DOUBLE, DTYPE_FLOAT,   DTYPE_INT32,   DTYPE_INT64,
                                    DTYPE_INT8,  DTYPE_BOOL,   DTYPE_FLOAT16, DTYPE_BFLOAT16};
    const enum dtype t = to[gen_below(g, 9)];
    const struct operand *x = gen_pick(g, ANY);
    /* What a gradient or a training step makes may be infinite: no integers from it. */
    if (!x || (is_float(x) && !dtype_is_float(t) && !allowed(g, JUMP)))
        return false;
    GEN_NODE(g, "Cast", t, &x->shape, t == DTYPE_BOOL ? 1 : x->bound, x);
    return attr_int(g, "to", t);
}

/* ---- reductions -------------------------------------------------------------------------------------------------- */

struct axes {
    bool reduced[SHAPE_MAX_RANK];
    int64_t list[SHAPE_MAX_RANK];
    int count;
    int64_t size; /* elements that become one */
};

static struct axes random_axes(struct gen *g, const struct shape *s)
{
    struct axes a = {.size = 1};
    for (int i = 0; i < s->rank; i++)
        if (gen_chance(g, 50)) {
            a.reduced[i] = true;
            a.list[a.count++] = written_axis(g, i, s->rank);
            a.size *= s->dim[i];
        }
    if (a.count == 0) /* none named: all */
        for (int i = 0; i < s->rank; i++) {
            a.reduced[i] = true;
            a.size *= s->dim[i];
        }
    return a;
}

static struct shape reduced_shape(const struct shape *s, const struct axes *a, bool keep)
{
    struct shape r = {0};
    for (int i = 0; i < s->rank; i++)
        if (!a->reduced[i] || keep)
            r.dim[r.rank++] = a->reduced[i] ? 1 : s->dim[i];
    return r;
}

static bool make_reduce(struct gen *g)
{
    static const struct reduce {
        const char *op;
        enum continuity continuity;
        int axes_are_input;
        bool empty, sums;
    } ops[] = {{"ReduceSum", SMOOTH, 13, true, true},        {"ReduceMean", SMOOTH, 18, false, false},
               {"ReduceMax", KINK, 18, false, false},        {"ReduceMin", KINK, 18, false, false},
               {"ReduceSumSquare", SMOOTH, 18, true, true},  {"ReduceL1", KINK, 18, true, true},
               {"ReduceLogSumExp", SMOOTH, 18, false, true}, {"ReduceProd", SMOOTH, 18, true, false},
               {"ReduceSum", SMOOTH, 13, true, true}};
    const struct reduce *r = &ops[gen_below(g, sizeof ops / sizeof *ops)];
    const struct operand *x =
        gen_pick(g, str_equal(r->op, "ReduceSum") ? FLOATS | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64) : FLOATS);
    if (!x || !allowed(g, r->continuity) || (is_empty(x) && !r->empty))
        return false;
    const struct axes a = random_axes(g, &x->shape);
    const bool keep = gen_chance(g, 50), square = str_equal(r->op, "ReduceSumSquare");
    const struct shape s = reduced_shape(&x->shape, &a, keep);
    double bound = (r->sums ? (double)a.size : 1) * (square ? x->bound * x->bound : x->bound);
    if (str_equal(r->op, "ReduceLogSumExp"))
        bound = x->bound + 9;
    if (str_equal(r->op, "ReduceProd"))
        bound = pow(x->bound > 1 ? x->bound : 1, (double)a.size);
    if (bound > 20 * GEN_MAX_BOUND)
        return false;
    if (a.count && g->opset >= r->axes_are_input)
        GEN_NODE(g, r->op, x->dtype, &s, bound, x, gen_ints(g, a.list, a.count));
    else
        GEN_NODE(g, r->op, x->dtype, &s, bound, x);
    if (a.count && g->opset < r->axes_are_input)
        model_set_ints(g->arena, gen_last(g), "axes", a.list, (size_t)a.count);
    return keep && gen_chance(g, 50) ? true : attr_int(g, "keepdims", keep);
}

static bool make_arg(struct gen *g)
{
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x || x->shape.rank == 0 || is_empty(x) || !allowed(g, JUMP))
        return false;
    struct axes a = {.count = 1};
    const int axis = (int)gen_below(g, x->shape.rank);
    const bool keep = gen_chance(g, 50);
    a.reduced[axis] = true;
    const struct shape s = reduced_shape(&x->shape, &a, keep);
    GEN_NODE(g, gen_chance(g, 50) ? "ArgMax" : "ArgMin", DTYPE_INT64, &s, (double)x->shape.dim[axis], x);
    return attr_int(g, "axis", written_axis(g, axis, x->shape.rank)) && attr_int(g, "keepdims", keep);
}

static bool make_softmax(struct gen *g)
{
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x || x->shape.rank == 0 || is_empty(x))
        return false;
    const bool log = gen_chance(g, 40);
    const int axis = (int)gen_below(g, x->shape.rank);
    GEN_NODE(g, log ? "LogSoftmax" : "Softmax", x->dtype, &x->shape, log ? 2 * x->bound + 9 : 1, x);
    return attr_int(g, "axis", written_axis(g, axis, x->shape.rank));
}

static bool make_cumulative(struct gen *g)
{
    const struct operand *x = gen_pick(g, FLOATS | DTYPE_BIT(DTYPE_INT32) | DTYPE_BIT(DTYPE_INT64));
    if (!x || x->shape.rank == 0 || g->opset < (x->dtype == DTYPE_FLOAT16 ? 14 : 11))
        return false;
    const int axis = (int)gen_below(g, x->shape.rank);
    const int64_t n = x->shape.dim[axis], written = written_axis(g, axis, x->shape.rank);
    const double sum = (double)n * x->bound, product = pow(x->bound > 1 ? x->bound : 1, (double)n);
    const bool multiplies = g->opset >= 26 && product <= GEN_MAX_BOUND && gen_chance(g, 40);
    if (!multiplies && sum > 20 * GEN_MAX_BOUND)
        return false;
    GEN_NODE(g, multiplies ? "CumProd" : "CumSum", x->dtype, &x->shape, multiplies ? product : sum, x,
             gen_ints(g, &written, 1));
    return attr_int(g, "exclusive", gen_chance(g, 40)) && attr_int(g, "reverse", gen_chance(g, 50));
}

/* ---- products ---------------------------------------------------------------------------------------------------- */

static bool make_matmul(struct gen *g)
{
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x || x->shape.rank == 0)
        return false;
    const int64_t k = x->shape.dim[x->shape.rank - 1], n = gen_dim(g);
    struct shape w = {.rank = gen_chance(g, 15) ? 1 : 2, .dim = {k, n}}, s = x->shape;
    if (w.rank == 2 && x->shape.rank >= 3 && gen_chance(g, 50)) { /* a batch of matrices on the right as well */
        w = x->shape;
        w.dim[w.rank - 2] = k;
        w.dim[w.rank - 1] = n;
        for (int i = 0; i < w.rank - 2; i++)
            if (gen_chance(g, 30))
                w.dim[i] = 1;
    }
    s.rank -= w.rank == 1;
    if (w.rank > 1)
        s.dim[s.rank - 1] = n;
    const double bound = x->bound * (double)k;
    if (shape_count(&s) > GEN_MAX_COUNT || shape_count(&w) > GEN_MAX_COUNT || bound > 5 * GEN_MAX_BOUND)
        return false;
    return GEN_NODE(g, "MatMul", x->dtype, &s, bound, x, gen_leaf(g, x->dtype, &w));
}

/* Sums of 32 bits of integers of 8. */
static bool make_integer_matmul(struct gen *g)
{
    const struct operand *x = gen_pick(g, DTYPE_BIT(DTYPE_INT8));
    if (!x || x->shape.rank < 2)
        return false;
    const int64_t k = x->shape.dim[x->shape.rank - 1], n = gen_dim(g);
    const struct shape w = SHAPE(k, n), columns = SHAPE(n);
    struct shape s = x->shape, rows = x->shape;
    s.dim[s.rank - 1] = n;
    rows.dim[rows.rank - 1] = 1;
    const double bound = (x->bound + 9) * 18 * (double)k;
    if (shape_count(&s) > GEN_MAX_COUNT || bound > 200 * GEN_MAX_BOUND)
        return false;
    const struct operand *b = gen_leaf(g, DTYPE_INT8, &w);
    if (gen_chance(g, 30))
        return GEN_NODE(g, "MatMulInteger", DTYPE_INT32, &s, bound, x, b);
    const struct operand *of_rows = gen_leaf(g, DTYPE_INT8, gen_chance(g, 50) ? &rows : &SHAPE_SCALAR);
    if (gen_chance(g, 40))
        return GEN_NODE(g, "MatMulInteger", DTYPE_INT32, &s, bound, x, b, of_rows);
    const struct operand *of_columns = gen_leaf(g, DTYPE_INT8, gen_chance(g, 50) ? &columns : &SHAPE_SCALAR);
    return GEN_NODE(g, "MatMulInteger", DTYPE_INT32, &s, bound, x, b, of_rows, of_columns);
}

static bool make_gemm(struct gen *g)
{
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x || x->shape.rank != 2)
        return false;
    const bool ta = gen_chance(g, 40), tb = gen_chance(g, 40), with_c = gen_chance(g, 70);
    const int64_t m = x->shape.dim[ta], k = x->shape.dim[!ta], n = gen_dim(g);
    const struct shape w = tb ? SHAPE(n, k) : SHAPE(k, n), s = SHAPE(m, n);
    const double bound = x->bound * (double)k + 3;
    if (shape_count(&s) > GEN_MAX_COUNT || bound > 5 * GEN_MAX_BOUND)
        return false;
    const struct operand *b = gen_leaf(g, x->dtype, &w);
    struct shape cs[] = {SHAPE(n), SHAPE(1, n), SHAPE(m, 1), s, SHAPE_SCALAR};
    if (with_c)
        GEN_NODE(g, "Gemm", x->dtype, &s, bound, x, b, gen_leaf(g, x->dtype, &cs[gen_below(g, 5)]));
    else
        GEN_NODE(g, "Gemm", x->dtype, &s, bound, x, b);
    if (gen_chance(g, 30))
        model_set_float(g->arena, gen_last(g), "alpha", 0.5f);
    if (gen_chance(g, 30))
        model_set_float(g->arena, gen_last(g), "beta", gen_chance(g, 30) ? 0.0f : -1.25f);
    return (!ta || attr_int(g, "transA", 1)) && (!tb || attr_int(g, "transB", 1));
}

/* ---- movement ---------------------------------------------------------------------------------------------------- */

static bool make_trilu(struct gen *g)
{
    const struct operand *x = g->opset >= 14 ? gen_pick(g, NUMBERS | BOOLS) : NULL;
    if (!x || x->shape.rank < 2)
        return false;
    const int64_t k = gen_below(g, 9) - 4;
    if (gen_chance(g, 30))
        GEN_NODE(g, "Trilu", x->dtype, &x->shape, x->bound, x);
    else
        GEN_NODE(g, "Trilu", x->dtype, &x->shape, x->bound, x, gen_ints(g, &k, 1));
    return attr_int(g, "upper", gen_chance(g, 50));
}

static bool make_transpose(struct gen *g)
{
    const struct operand *x = gen_pick(g, ANY);
    if (!x || x->shape.rank < 2)
        return false;
    struct shape s = x->shape;
    int64_t perm[SHAPE_MAX_RANK];
    for (int i = 0; i < s.rank; i++)
        perm[i] = i;
    for (int i = s.rank - 1; i > 0; i--) {
        const int j = (int)gen_below(g, i + 1);
        const int64_t p = perm[i];
        perm[i] = perm[j];
        perm[j] = p;
    }
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = x->shape.dim[perm[i]];
    GEN_NODE(g, "Transpose", x->dtype, &s, x->bound, x);
    model_set_ints(g->arena, gen_last(g), "perm", perm, (size_t)s.rank);
    return true;
}

/* Neighbouring axes flow together, a one comes in between. */
static bool make_reshape(struct gen *g)
{
    const struct operand *x = gen_pick(g, ANY);
    if (!x)
        return false;
    struct shape s = {0};
    for (int i = 0; i < x->shape.rank; i++) {
        if (gen_chance(g, 20))
            s.dim[s.rank++] = 1;
        if (s.rank && gen_chance(g, 40))
            s.dim[s.rank - 1] *= x->shape.dim[i];
        else
            s.dim[s.rank++] = x->shape.dim[i];
    }
    if (s.rank > GEN_MAX_RANK)
        return false;
    struct shape written = s;
    if (s.rank && !is_empty(x) && gen_chance(g, 40))
        written.dim[gen_below(g, s.rank)] = -1;
    const struct operand *to = gen_ints(g, written.dim, s.rank);
    GEN_NODE(g, "Reshape", x->dtype, &s, x->bound, x, to);
    return is_empty(x) && g->opset >= 14 ? attr_int(g, "allowzero", 1) : true;
}

static bool make_unsqueeze(struct gen *g)
{
    const struct operand *x = gen_pick(g, ANY);
    if (!x || x->shape.rank >= GEN_MAX_RANK)
        return false;
    const int axis = (int)gen_below(g, x->shape.rank + 1);
    struct shape s = x->shape;
    memmove(s.dim + axis + 1, s.dim + axis, (size_t)(s.rank - axis) * sizeof *s.dim);
    s.dim[axis] = 1;
    s.rank++;
    const int64_t written = written_axis(g, axis, s.rank);
    return GEN_NODE(g, "Unsqueeze", x->dtype, &s, x->bound, x, gen_ints(g, &written, 1));
}

static bool make_slice(struct gen *g)
{
    const struct operand *x = gen_pick(g, ANY);
    if (!x || x->shape.rank == 0 || is_empty(x))
        return false;
    const int axis = (int)gen_below(g, x->shape.rank);
    const int64_t d = x->shape.dim[axis], step = gen_below(g, 3) + 1, count = gen_below(g, (d + step - 1) / step) + 1;
    const int64_t first = gen_below(g, d - (count - 1) * step), last = first + (count - 1) * step;
    const bool backward = gen_chance(g, 30);
    const int64_t start = backward ? last : first, by = backward ? -step : step;
    /* Before element 0, walking backward, is written as far out as it goes: -1 would mean the last element. */
    const int64_t end = backward                                ? (first == 0 ? INT64_MIN + 1 : first - 1)
                        : gen_chance(g, 30) && last + step >= d ? INT64_MAX
                                                                : last + 1;
    const int64_t axis_written = written_axis(g, axis, x->shape.rank),
                  start_written = gen_chance(g, 30) ? start - d : start;
    struct shape s = x->shape;
    s.dim[axis] = count;
    return GEN_NODE(g, "Slice", x->dtype, &s, x->bound, x, gen_ints(g, &start_written, 1), gen_ints(g, &end, 1),
                    gen_ints(g, &axis_written, 1), gen_ints(g, &by, 1));
}

static bool make_concat(struct gen *g)
{
    const struct operand *x = gen_pick(g, ANY);
    if (!x || x->shape.rank == 0)
        return false;
    const int axis = (int)gen_below(g, x->shape.rank), parts = 2 + (int)gen_below(g, 2);
    const struct operand *list[4] = {x};
    struct shape s = x->shape;
    double bound = x->bound;
    for (int p = 1; p < parts; p++) {
        struct shape other = x->shape;
        other.dim[axis] = gen_chance(g, 50) ? other.dim[axis] : gen_dim(g);
        const struct operand *y = NULL;
        for (int i = 0; i < 8 && !y; i++) { /* something there already, or a new leaf */
            const struct operand *o = gen_pick(g, DTYPE_BIT(x->dtype));
            y = o && shape_equal(&o->shape, &other) ? o : NULL;
        }
        y = y ? y : gen_leaf(g, x->dtype, &other);
        list[p] = y;
        s.dim[axis] += other.dim[axis];
        bound = fmax(bound, y->bound);
    }
    if (shape_count(&s) > GEN_MAX_COUNT)
        return false;
    if (gen_chance(g, 50)) {
        const struct operand *first = list[0];
        list[0] = list[1];
        list[1] = first;
    }
    gen_node(g, "Concat", list, x->dtype, &s, bound);
    return attr_int(g, "axis", written_axis(g, axis, s.rank));
}

static bool make_split(struct gen *g)
{
    const struct operand *x = gen_pick(g, ANY);
    if (!x || x->shape.rank == 0)
        return false;
    const int axis = (int)gen_below(g, x->shape.rank);
    const int64_t d = x->shape.dim[axis];
    if (d < 2)
        return false;
    const int64_t at = 1 + gen_below(g, d - 1), sizes[] = {at, d - at};
    struct shape s = x->shape;
    s.dim[axis] = at;
    const struct operand *split = gen_ints(g, sizes, 2);
    const double bound = x->bound;
    GEN_NODE(g, "Split", x->dtype, &s, bound, x, split);
    struct model_node *n = gen_last(g);
    attr_int(g, "axis", written_axis(g, axis, s.rank));
    /* The second output is added behind gen_node's back, and becomes an operand through an Identity. */
    struct operand *rest = arena_new(g->arena, struct operand);
    *rest = (struct operand){gen_name(g), x->dtype, s, bound};
    rest->shape.dim[axis] = d - at;
    vec_push(g->arena, &n->outputs, rest->name);
    return GEN_NODE(g, "Identity", rest->dtype, &rest->shape, bound, rest);
}

static bool make_gather(struct gen *g)
{
    const struct operand *x = gen_pick(g, ANY);
    if (!x || x->shape.rank == 0 || is_empty(x))
        return false;
    const int axis = (int)gen_below(g, x->shape.rank);
    const struct shape is = gen_shape(g, 2);
    struct shape s = {.rank = x->shape.rank - 1 + is.rank};
    if (s.rank > GEN_MAX_RANK)
        return false;
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = i < axis ? x->shape.dim[i] : i < axis + is.rank ? is.dim[i - axis] : x->shape.dim[i - is.rank + 1];
    if (shape_count(&s) > GEN_MAX_COUNT)
        return false;
    struct operand index = {.name = gen_name(g), .dtype = gen_chance(g, 50) ? DTYPE_INT32 : DTYPE_INT64, .shape = is};
    if (gen_chance(g, 50)) {
        struct tensor *t = tensor_new(g->arena, index.dtype, &is);
        for (int64_t i = 0; i < t->count; i++)
            tensor_set_int(t, i, gen_below(g, 2 * x->shape.dim[axis]) - x->shape.dim[axis]);
        model_add_initializer(g->arena, g->graph, index.name, t);
    } else { /* no operand: others must not take what is drawn to be an index here */
        struct model_dim dims[SHAPE_MAX_RANK];
        for (int i = 0; i < is.rank; i++)
            dims[i] = (struct model_dim){is.dim[i], "", ""};
        model_add_value(g->arena, g->graph, 0, index.name, index.dtype, dims, (size_t)is.rank);
    }
    GEN_NODE(g, "Gather", x->dtype, &s, x->bound, x, &index);
    return attr_int(g, "axis", written_axis(g, axis, x->shape.rank));
}

static bool make_expand(struct gen *g)
{
    const struct operand *x = gen_pick(g, ANY);
    if (!x)
        return false;
    struct shape s = x->shape;
    for (int i = 0; i < s.rank; i++)
        if (s.dim[i] == 1)
            s.dim[i] = gen_dim(g);
    if (s.rank < GEN_MAX_RANK && gen_chance(g, 50)) {
        memmove(s.dim + 1, s.dim, (size_t)s.rank * sizeof *s.dim);
        s.dim[0] = gen_dim(g);
        s.rank++;
    }
    if (shape_count(&s) > GEN_MAX_COUNT)
        return false;
    return GEN_NODE(g, "Expand", x->dtype, &s, x->bound, x, gen_ints(g, s.dim, s.rank));
}

static bool make_tile(struct gen *g)
{
    const struct operand *x = gen_pick(g, FLOATS | DTYPE_BIT(DTYPE_INT64));
    if (!x || x->shape.rank == 0)
        return false;
    struct shape s = x->shape;
    int64_t repeats[SHAPE_MAX_RANK];
    for (int i = 0; i < s.rank; i++) {
        repeats[i] = gen_chance(g, 60) ? 1 : 2 + gen_below(g, 2);
        s.dim[i] *= repeats[i];
    }
    return shape_count(&s) <= GEN_MAX_COUNT &&
           GEN_NODE(g, "Tile", x->dtype, &s, x->bound, x, gen_ints(g, repeats, s.rank));
}

static bool make_pad(struct gen *g)
{
    static const char *const modes[] = {"constant", "edge", "reflect"};
    const char *mode = modes[gen_below(g, 3)];
    const struct operand *x = gen_pick(g, FLOATS);
    if (!x || x->shape.rank == 0 || is_empty(x))
        return false;
    int64_t pads[2 * SHAPE_MAX_RANK];
    struct shape s = x->shape;
    for (int i = 0; i < 2 * s.rank; i++) {
        const int64_t d = x->shape.dim[i % s.rank], most = str_equal(mode, "reflect") ? d - 1 : 2;
        pads[i] = gen_chance(g, 50) ? 0 : gen_below(g, (most > 2 ? 2 : most) + 1);
        s.dim[i % s.rank] += pads[i];
    }
    if (shape_count(&s) > GEN_MAX_COUNT)
        return false;
    const struct operand *p = gen_ints(g, pads, 2 * s.rank);
    if (str_equal(mode, "constant") && gen_chance(g, 50))
        GEN_NODE(g, "Pad", x->dtype, &s, x->bound + 1, x, p, gen_constant(g, x->dtype, 0.75));
    else
        GEN_NODE(g, "Pad", x->dtype, &s, x->bound, x, p);
    model_set_string(g->arena, gen_last(g), "mode", mode);
    return true;
}

/* ---- which ------------------------------------------------------------------------------------------------------- */

bool gen_operator(struct gen *g)
{
    static const struct maker { bool (*make)(struct gen *); int weight; } makers[] = {
        {make_unary, 16},    {make_exp, 3},    {make_of_positive, 5}, {make_of_unit, 3},   {make_mod, 2},
        {make_bits, 2},      {make_trilu, 2},  {make_binary, 22},     {make_compare, 3},   {make_logical, 2},
        {make_where, 4},     {make_clip, 1},   {make_cast, 4},        {make_reduce, 12},   {make_arg, 1},
        {make_softmax, 4},   {make_matmul, 8}, {make_gemm, 6},        {make_transpose, 6}, {make_reshape, 6},
        {make_unsqueeze, 3}, {make_slice, 5},  {make_concat, 4},      {make_split, 2},     {make_gather, 3},
        {make_expand, 3},    {make_tile, 2},   {make_pad, 3},         {gen_conv, 6},       {gen_conv_transpose, 3},
        {gen_pool, 4},       {gen_lrn, 1},     {gen_blocks, 1},      {make_cumulative, 4}, {make_integer_matmul, 3}};
    enum { MAKERS = sizeof makers / sizeof *makers };
    int total = 0;
    for (int i = 0; i < MAKERS; i++)
        total += makers[i].weight;
    int64_t at = gen_below(g, total);
    int i = 0;
    while (at >= makers[i].weight)
        at -= makers[i++].weight;
    return makers[i].make(g);
}
