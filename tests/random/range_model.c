#include "range_model.h"

#include "base/str.h"
#include <inttypes.h>

/* A matrix of so many columns; rows 0 are N, others some function of it, equal numbers equal functions. */
struct matrix {
    const char *name;
    int rows;
    int64_t columns;
};

struct maker {
    struct arena *arena;
    uint64_t random;
    struct strbuf initializers, nodes;
    VEC(struct matrix) made;
    int names, functions; /* given out */
};

/* ---- chance ------------------------------------------------------------------------------------------------------ */

/* SplitMix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(struct maker *m)
{
    uint64_t z = m->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int64_t below(struct maker *m, int64_t n)
{
    return (int64_t)(next_random(m) % (uint64_t)n);
}

static bool chance(struct maker *m, int percent)
{
    return below(m, 100) < percent;
}

#define ONE_OF(m, list) (list)[below((m), (int64_t)(sizeof(list) / sizeof *(list)))]

static int64_t width(struct maker *m)
{
    static const int64_t widths[] = {1, 1, 2, 3, 4, 6, 8, 16, 17, 24, 32};
    return ONE_OF(m, widths);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* A node with one output, of which `format` is what stands behind "name = ". */
static const char *node(struct maker *m, const char *format, ...) PRINTF_LIKE(2, 3);
static const char *node(struct maker *m, const char *format, ...)
{
    const char *const name = arena_printf(m->arena, "v%d", m->names++);
    va_list args;
    va_start(args, format);
    strbuf_addf(&m->nodes, "  %s = ", name);
    strbuf_addv(&m->nodes, format, args);
    strbuf_add(&m->nodes, "\n");
    va_end(args);
    return name;
}

/* An initializer, with its name behind the type. */
static const char *initializer(struct maker *m, const char *type, const char *elements)
{
    const char *const name = arena_printf(m->arena, "c%d", m->names++);
    strbuf_addf(&m->initializers, "%s%s %s = {%s}", m->initializers.length > 0 ? ", " : "", type, name, elements);
    return name;
}

static const char *ints(struct maker *m, int64_t x)
{
    return initializer(m, "int64[1]", arena_printf(m->arena, "%" PRId64, x));
}

static const char *number(struct maker *m, double x)
{
    return initializer(m, "float", arena_printf(m->arena, "%g", x));
}

static const char *weight(struct maker *m, int64_t rows, int64_t columns)
{
    struct strbuf b = {.arena = m->arena};
    for (int64_t i = 0; i < (rows ? rows : 1) * columns; i++)
        strbuf_addf(&b, "%s%g", i ? ", " : "", (double)below(m, 33) / 16.0 - 1.0);
    const char *const type = rows ? arena_printf(m->arena, "float[%" PRId64 ",%" PRId64 "]", rows, columns)
                                  : arena_printf(m->arena, "float[%" PRId64 "]", columns);
    return initializer(m, type, strbuf_text(&b));
}

/* ---- operands ---------------------------------------------------------------------------------------------------- */

static bool keep(struct maker *m, const char *name, int rows, int64_t columns)
{
    vec_push(m->arena, &m->made, ((struct matrix){name, rows, columns}));
    return true;
}

static bool keep_like(struct maker *m, const struct matrix *x, const char *name)
{
    return keep(m, name, x->rows, x->columns);
}

/* Younger ones more often. */
static struct matrix pick(struct maker *m)
{
    const int64_t count = (int64_t)m->made.count, back = below(m, count);
    return m->made.data[count - 1 - (chance(m, 70) ? back / 3 : back)];
}

/* Rows of x as a list of one, int64. */
static const char *rows_of(struct maker *m, const struct matrix *x)
{
    const char *const shape = node(m, "Shape(%s)", x->name);
    return chance(m, 50) ? node(m, "Slice(%s, %s, %s)", shape, ints(m, 0), ints(m, 1))
                         : node(m, "Gather(%s, %s)", shape, ints(m, 0));
}

/* A number that follows from a size: some are the same for many counts. */
static const char *size(struct maker *m, const struct matrix *x)
{
    static const char *const operators[] = {"Div", "Mod", "Min", "Max", "Sub", "Add", "Mul"};
    static const int64_t numbers[] = {1, 2, 3, 4, 5, 8, 16};
    const char *of = rows_of(m, x);
    for (int64_t i = below(m, 3); i > 0; i--)
        of = node(m, "%s(%s, %s)", ONE_OF(m, operators), of, ints(m, ONE_OF(m, numbers)));
    return of;
}

/* ---- layers ------------------------------------------------------------------------------------------------------ */

static bool make_product(struct maker *m)
{
    const struct matrix x = pick(m);
    const int64_t columns = width(m);
    if (chance(m, 40))
        return keep(m, node(m, "MatMul(%s, %s)", x.name, weight(m, x.columns, columns)), x.rows, columns);
    return chance(m, 50) ? keep(m, node(m, "Gemm(%s, %s, %s)", x.name, weight(m, x.columns, columns),
                                        weight(m, 0, columns)), x.rows, columns)
                         : keep(m, node(m, "Gemm <transB = 1> (%s, %s)", x.name, weight(m, columns, x.columns)), x.rows,
                                columns);
}

static bool make_activation(struct maker *m)
{
    static const char *const operators[] = {"Relu", "Tanh", "Sigmoid", "Neg", "Softplus", "Softmax <axis = 1> ",
                                            "Softmax <axis = 0> ", "LogSoftmax <axis = 1> ", "Elu", "Abs"};
    const struct matrix x = pick(m);
    return keep_like(m, &x, node(m, "%s(%s)", ONE_OF(m, operators), x.name));
}

/* The sign of zeros shows whether a sum had a start. */
static bool make_zeros(struct maker *m)
{
    const struct matrix x = pick(m);
    return keep_like(m, &x, node(m, "Mul(%s, %s)", x.name, number(m, 0)));
}

static bool make_slice(struct maker *m)
{
    static const int64_t starts[] = {0, 0, 0, 1, 2, -1, -2, -8}, ends[] = {1, 2, 4, 8, 16, -1, INT64_MAX};
    const struct matrix x = pick(m);
    const char *const start = chance(m, 25) ? size(m, &x) : ints(m, ONE_OF(m, starts)),
                     *const end = chance(m, 40) ? size(m, &x) : ints(m, ONE_OF(m, ends));
    return keep(m, node(m, "Slice(%s, %s, %s, %s)", x.name, start, end, ints(m, 0)), ++m->functions, x.columns);
}

static bool make_gather(struct maker *m)
{
    static const char *const places[] = {"0", "-1", "0, 0", "0, -1", "1, 0, 2"};
    static const int counts[] = {1, 1, 2, 2, 3};
    const struct matrix x = pick(m);
    const int64_t which = below(m, 5);
    const char *at = initializer(m, arena_printf(m->arena, "int64[%d]", counts[which]), places[which]);
    if (chance(m, 30))
        at = node(m, "Sub(%s, %s)", rows_of(m, &x), ints(m, 1 + below(m, 3)));
    return keep(m, node(m, "Gather <axis = 0> (%s, %s)", x.name, at), ++m->functions, x.columns);
}

static bool make_concat(struct maker *m)
{
    const struct matrix x = pick(m), y = pick(m);
    if (x.rows == y.rows && x.columns + y.columns <= 40 && chance(m, 60))
        return keep(m, node(m, "Concat <axis = 1> (%s, %s)", x.name, y.name), x.rows, x.columns + y.columns);
    if (x.columns != y.columns || chance(m, 30))
        return keep(m, node(m, "Concat <axis = 0> (%s, %s)", x.name, weight(m, 1 + below(m, 4), x.columns)),
                    ++m->functions, x.columns);
    return keep(m, node(m, "Concat <axis = 0> (%s, %s)", x.name, y.name), ++m->functions, x.columns);
}

/* Rows of half the length, twice as many; and the same by another way. */
static bool make_reshape(struct maker *m)
{
    const struct matrix x = pick(m);
    const int64_t columns = x.columns % 2 == 0 && chance(m, 60) ? x.columns / 2 : x.columns;
    const bool whole = columns == x.columns;
    const char *to = initializer(m, "int64[2]", arena_printf(m->arena, "-1, %" PRId64, columns));
    if (whole && chance(m, 60))
        to = node(m, "Concat <axis = 0> (%s, %s)", rows_of(m, &x), ints(m, chance(m, 50) ? -1 : columns));
    return keep(m, node(m, "Reshape(%s, %s)", x.name, to), whole ? x.rows : ++m->functions, columns);
}

/* A reduction, and what is made of it beside all rows. */
static bool make_reduction(struct maker *m)
{
    static const char *const reductions[] = {"ReduceSum", "ReduceMean", "ReduceMax",       "ReduceMin", "ReduceL2",
                                             "ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceLogSumExp"};
    static const char *const operators[] = {"Add", "Sub", "Mul"};
    const struct matrix x = pick(m);
    const bool rows = chance(m, 75);
    const char *const y = node(m, "%s(%s, %s)", ONE_OF(m, reductions), x.name, ints(m, rows ? 0 : 1));
    if (chance(m, 30))
        return keep(m, y, rows ? ++m->functions : x.rows, rows ? x.columns : 1);
    return keep_like(m, &x, node(m, "%s(%s, %s)", ONE_OF(m, operators), x.name, y));
}

static bool make_normalization(struct maker *m)
{
    const struct matrix x = pick(m);
    if (chance(m, 30))
        return keep_like(m, &x, node(m, "LayerNormalization(%s, %s)", x.name, weight(m, 0, x.columns)));
    struct strbuf ones = {.arena = m->arena};
    for (int64_t i = 0; i < x.columns; i++)
        strbuf_addf(&ones, "%s%g", i ? ", " : "", 1.0 + (double)below(m, 4) / 4);
    const char *const type = arena_printf(m->arena, "float[%" PRId64 "]", x.columns);
    return keep_like(m, &x, node(m, "BatchNormalization(%s, %s, %s, %s, %s)", x.name, weight(m, 0, x.columns),
                                 weight(m, 0, x.columns), weight(m, 0, x.columns),
                                 initializer(m, type, strbuf_text(&ones))));
}

static bool make_sum(struct maker *m)
{
    static const char *const operators[] = {"Add", "Sub", "Mul", "Max", "Min"};
    const struct matrix x = pick(m), y = pick(m);
    return x.rows == y.rows && (x.columns == y.columns || y.columns == 1) &&
           keep_like(m, &x, node(m, "%s(%s, %s)", ONE_OF(m, operators), x.name, y.name));
}

/* A factor that follows from a size. */
static bool make_factor(struct maker *m)
{
    const struct matrix x = pick(m);
    const char *const n = node(m, "Cast <to = 1> (%s)", chance(m, 60) ? rows_of(m, &x) : size(m, &x));
    return keep_like(m, &x, node(m, "%s(%s, %s)", chance(m, 60) ? "Div" : "Mul", x.name, n));
}

/* x' x, or rows held against rows. */
static bool make_square(struct maker *m)
{
    const struct matrix x = pick(m);
    const char *const t = node(m, "Transpose <perm = [1, 0]> (%s)", x.name);
    if (chance(m, 70))
        return keep_like(m, &x, node(m, "MatMul(%s, %s)", x.name, node(m, "MatMul(%s, %s)", t, x.name)));
    const char *const scores = node(m, "Softmax <axis = 1> (%s)", node(m, "MatMul(%s, %s)", x.name, t));
    return keep_like(m, &x, node(m, "MatMul(%s, %s)", scores, x.name));
}

static bool make_image(struct maker *m)
{
    const struct matrix x = pick(m);
    if (x.columns % 8 != 0)
        return false;
    const char *const to = initializer(m, "int64[4]", arena_printf(m->arena, "-1, %" PRId64 ", 2, 4", x.columns / 8));
    const char *const image = node(m, "Reshape(%s, %s)", x.name, to);
    struct strbuf w = {.arena = m->arena};
    for (int64_t i = 0; i < 2 * (x.columns / 8) * 9; i++)
        strbuf_addf(&w, "%s%g", i ? ", " : "", (double)below(m, 17) / 16 - 0.5);
    const char *const window = initializer(m, arena_printf(m->arena, "float[2,%" PRId64 ",3,3]", x.columns / 8),
                                           strbuf_text(&w));
    const char *y = node(m, "Conv <pads = [1, 1, 1, 1]> (%s, %s)", image, window);
    const bool pools = chance(m, 50);
    if (pools)
        y = node(m, "%s <kernel_shape = [2, 2], strides = [2, 2]> (%s)", chance(m, 50) ? "MaxPool" : "AveragePool", y);
    return keep(m, node(m, "Flatten(%s)", y), x.rows, pools ? 4 : 16);
}

static bool make_copies(struct maker *m)
{
    const struct matrix x = pick(m);
    if (chance(m, 50))
        return keep_like(m, &x, node(m, "Expand(%s, %s)", weight(m, 1, x.columns), node(m, "Shape(%s)", x.name)));
    return keep_like(m, &x, node(m, "CumSum(%s, %s)", x.name, initializer(m, "int64", "0")));
}

static bool make_embedding(struct maker *m)
{
    const struct matrix x = pick(m);
    const int64_t columns = width(m);
    const char *const at = node(m, "ArgMax <axis = 1, keepdims = 0> (%s)", x.name);
    return keep(m, node(m, "Gather <axis = 0> (%s, %s)", weight(m, x.columns, columns), at), x.rows, columns);
}

static void add_layer(struct maker *m)
{
    static bool (*const layers[])(struct maker *) = {
        make_product, make_product,   make_product,   make_activation, make_activation, make_activation, make_zeros,
        make_slice,   make_slice,     make_slice,     make_gather,     make_concat,     make_reshape,    make_reduction,
        make_reduction, make_sum,
        make_normalization, make_normalization, make_factor, make_square, make_image, make_copies, make_embedding};
    (void)ONE_OF(m, layers)(m);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

/* What rows that are not N say, beside each row of y. */
static const char *add_branch(struct maker *m, const char *y, int64_t columns)
{
    static const char *const reductions[] = {"ReduceMean", "ReduceSum", "ReduceMax"};
    struct matrix x = pick(m);
    for (int i = 0; i < 8 && x.rows == 0; i++)
        x = pick(m);
    if (x.rows == 0)
        return y;
    const char *const line = node(m, "%s(%s, %s)", ONE_OF(m, reductions), x.name, ints(m, 0));
    return node(m, "%s(%s, %s)", chance(m, 70) ? "Add" : "Mul", y,
                node(m, "MatMul(%s, %s)", line, weight(m, x.columns, columns)));
}

/* Rows of N go through a head; others may be an output as they stand. */
static struct matrix add_head(struct maker *m)
{
    struct matrix x = pick(m);
    for (int i = 0; i < 8 && x.rows != 0; i++)
        x = pick(m);
    if (x.rows != 0 && chance(m, 60))
        x = m->made.data[0];
    const int64_t columns = chance(m, 45) ? 1 : 1 + below(m, 10);
    const char *y = node(m, "Gemm(%s, %s, %s)", x.name, weight(m, x.columns, columns), weight(m, 0, columns));
    for (int64_t i = below(m, 3); i > 0; i--)
        y = add_branch(m, y, columns);
    return (struct matrix){y, x.rows, columns};
}

static const char *choose_loss(struct maker *m, const struct matrix *y)
{
    static const char *const losses[] = {"mse", "mse", "l1", "huber", "bce-logits"};
    if (y->rows != 0)
        return NULL;
    return y->columns > 1 && chance(m, 40) ? "softmax-cross-entropy" : ONE_OF(m, losses);
}

struct range_model range_model(struct arena *a, uint64_t seed)
{
    static const char *const optimizers[] = {"sgd", "momentum", "adam"};
    struct maker m = {.arena = a, .random = seed * UINT64_C(0x2545F4914F6CDD1D)};
    m.initializers.arena = m.nodes.arena = a;
    const int64_t columns = width(&m);
    (void)keep(&m, "x", 0, columns);
    for (int64_t i = 1 + below(&m, 6); i > 0; i--)
        add_layer(&m);
    struct matrix y = add_head(&m);
    const char *loss = choose_loss(&m, &y);
    if (loss && chance(&m, 20)) {
        y.name = node(&m, "Sigmoid(%s)", y.name);
        loss = "bce";
    }
    const int64_t low = chance(&m, 60) ? 1 : 1 + below(&m, 16), high = low + 1 + below(&m, 32 - low);
    const char *const text =
        arena_printf(a, "<ir_version: 8, opset_import: [\"\" : 18]>\ng (float[N,%" PRId64 "] x) => (float[M,%" PRId64
                        "] %s)\n<%s>\n{\n%s}\n", columns, y.columns, y.name, strbuf_text(&m.initializers),
                     strbuf_text(&m.nodes));
    return (struct range_model){text, chance(&m, 85) ? loss : NULL, ONE_OF(&m, optimizers), {"N", low, high}};
}
