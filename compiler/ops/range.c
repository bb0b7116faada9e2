/* Range: start, start + delta, start + 2 delta ... up to limit, which is left out.
 *   n = max(0, ceil((limit - start) / delta)), y[i] = start + i delta
 * All three must be known at compile time, since n is a size. Floats count and compute in their own type, float16 and
 * bfloat16 in float (stash_type 1): each of limit - start, its quotient by delta, i delta and the sum is rounded.
 * Integers are exact.
 * Spec: ONNX Range-11 and -27 (27 adds float16, bfloat16 and stash_type). */
#include "ops/op.h"

#include <math.h>
#include <stdlib.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define TYPES_11 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_INT16) | DTYPES_INDEX)
#define TYPES_27 (TYPES_11 | DTYPES_FLOAT16S)

static const struct op_attr no_attrs[] = {{0}};
static const struct op_attr attrs[] = {{.name = "stash_type", .type = ATTR_INT, .int_default = DTYPE_FLOAT}, {0}};
static const struct op_version versions[] = {{.since = 11, .dtypes = TYPES_11, .attrs = no_attrs}, {.since = 27}, {0}};
static const struct op_param inputs[] = {{.name = "start", .type = 'T', .dtypes = TYPES_27, .flags = PARAM_NOT_DIFF},
                                         {.name = "limit", .type = 'T', .dtypes = TYPES_27, .flags = PARAM_NOT_DIFF},
                                         {.name = "delta", .type = 'T', .dtypes = TYPES_27, .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {
    {.name = "output", .type = 'T', .dtypes = TYPES_27, .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

/* ---- how many ---------------------------------------------------------------------------------------------------- */

/* -1: more than anybody can have. */
static int64_t count_ints(int64_t start, int64_t limit, int64_t delta)
{
    if (delta > 0 ? limit <= start : limit >= start)
        return 0;
    const uint64_t way = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    const uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    const uint64_t count = way / step + (way % step != 0);
    return count > INT64_MAX ? -1 : (int64_t)count;
}

static int64_t count_floats(enum dtype d, double start, double limit, double delta)
{
    double quotient = (limit - start) / delta;
    if (d != DTYPE_DOUBLE)
        quotient = (double)((float)((float)limit - (float)start) / (float)delta);
    return !(quotient > 0) ? 0 : quotient < 0x1p62 ? (int64_t)ceil(quotient) : -1;
}

/* What one count of a range of sizes more adds to it. */
static int64_t per_of_ints(const struct infer_ctx *c, const struct tensor *const t[3])
{
    const int64_t delta = tensor_get_int(t[2], 0), by = delta == INT64_MIN ? INT64_MAX : llabs(delta);
    const struct size start = tensor_get_size(t[0], 0), limit = tensor_get_size(t[1], 0);
    if (start.per == 0 && limit.per == 0)
        return 0;
    const struct size way = delta > 0 ? size_difference(limit, start) : size_difference(start, limit);
    return size_quotient_up(size_greatest(way, size_constant(0), program_span(c->graph->program)), by).per;
}

static bool range_infer(struct infer_ctx *c)
{
    const struct tensor *t[3];
    const enum dtype d = infer_in(c, 0)->dtype;
    for (int i = 0; i < 3; i++) {
        t[i] = infer_known(c, i);
        if (t[i] == NULL)
            return false;
        if (t[i]->count != 1 || t[i]->shape.rank > 1)
            return infer_error(c, "input %d '%s' has %lld elements, expected a scalar", i, infer_in(c, i)->name,
                               (long long)t[i]->count);
        if (dtype_is_float(d) && !isfinite(tensor_get_double(t[i], 0)))
            return infer_error(c, "input %d '%s' is %g, expected a finite number", i, infer_in(c, i)->name,
                               tensor_get_double(t[i], 0));
    }
    if (tensor_get_double(t[2], 0) == 0)
        return infer_error(c, "input 2 '%s' (delta) is 0", infer_in(c, 2)->name);
    if (dtype_is_float16(d) && op_attr_int(c->node, "stash_type") != DTYPE_FLOAT)
        return infer_unsupported(c, "attribute 'stash_type' is %lld, only 1 (float) is supported for %s",
                                 (long long)op_attr_int(c->node, "stash_type"), dtype_name(d));
    const int64_t count =
        dtype_is_float(d)
            ? count_floats(d, tensor_get_double(t[0], 0), tensor_get_double(t[1], 0), tensor_get_double(t[2], 0))
                          : count_ints(tensor_get_int(t[0], 0), tensor_get_int(t[1], 0), tensor_get_int(t[2], 0));
    if (count < 0)
        return infer_error(c, "the range from %g to %g in steps of %g has too many elements",
                           tensor_get_double(t[0], 0),
                           tensor_get_double(t[1], 0), tensor_get_double(t[2], 0));
    const struct size elements = {count, dtype_is_float(d) ? 0 : per_of_ints(c, t)};
    return infer_out(c, 0, d, &SHAPE_OF(elements));
}

/* ---- value and code ---------------------------------------------------------------------------------------------- */

static bool range_eval(struct eval_ctx *c)
{
    struct eval_tensor *y = eval_output(c, 0);
    for (int64_t i = 0; y != NULL && i < y->count; i++) {
        if (y->f != NULL)
            y->f[i] = eval_round(c, eval_f(c, 0)[0] + eval_round(c, eval_round(c, (double)i) * eval_f(c, 2)[0]));
        else
            y->i[i] = eval_int_binary(y->dtype, '+', eval_i(c, 0)[0],
                                      eval_int_binary(y->dtype, '*', i, eval_i(c, 2)[0]));
    }
    return true;
}

/* For ranges that are too long to be a table of the file. */
static bool range_lower(struct lower_ctx *c)
{
    struct arena *a = c->arena;
    const struct expr *i = expr_cast(a, lower_dtype(c, 0), expr_index(a, 0));
    return lower_map(c, expr_binary(a, EXPR_ADD, lower_in(c, 0), expr_binary(a, EXPR_MUL, i, lower_in(c, 2))));
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

#define NUMBER(name, value) name " = Constant <value = " value "> () "
#define RANGE(type, start, limit, delta) \
    NUMBER("s", type " {" start "}")                                                                                   \
    NUMBER("l", type " {" limit "}") NUMBER("d", type " {" delta "}") "y = Range(s, l, d) }"

/* The text syntax has no numbers of these types. */
#define HALF(number, start, limit, delta)                                                                              \
    NUMBER("s0", "float {" start "}") "s = Cast <to = " number "> (s0) "                                               \
    NUMBER("l0", "float {" limit "}") "l = Cast <to = " number "> (l0) "                                               \
    NUMBER("d0", "float {" delta "}") "d = Cast <to = " number "> (d0) "

static const struct op_sample samples[] = {
    {.text = "g () => (float[2] y) { " RANGE("float", "1.0", "5.0", "2.0"), .no_gradient = true},
    {.text = "g () => (int32[3] y) { " RANGE("int32", "10", "4", "-2"), .no_gradient = true},
    {.text = "g () => (int64[3] y) { " RANGE("int64", "0", "7", "3"), .no_gradient = true},
    {.text = "g () => (int16[0] y) { " RANGE("int16", "5", "5", "1"), .no_gradient = true},
    {.text = "g () => (double[0] y) { " RANGE("double", "0.0", "1.0", "-1.0"), .no_gradient = true},
    /* the quotient rounds to 3 */
    {.text = "g () => (float[3] y) { " RANGE("float", "0.0", "0.3", "0.1"), .no_gradient = true},
    {.text = "g () => (float16[5] y) { " HALF("10", "0.5", "3.0", "0.5") "y = Range(s, l, d) }", .no_gradient = true},
    {.text = "g () => (bfloat16[4] y) { " HALF("16", "1.0", "-3.0", "-1.0") "y = Range(s, l, d) }",
     .no_gradient = true},
    {.text = "g () => (int64[2] y) { "
             RANGE("int64", "-9223372036854775807", "9223372036854775807", "9223372036854775807"),
     .no_gradient = true},
    /* too long for a table */
    {.text = "g () => (float[70000] y) { " RANGE("float", "-0.25", "6999.75", "0.1"), .no_gradient = true},
    {.text = "g () => (int32[70000] y) { " RANGE("int32", "-3", "209997", "3"), .no_gradient = true},
    {.text = "g (float[2,3] x) => (float[2,3] y) { zero = Constant <value_int = 0> () "
             "one = Constant <value_int = 1> () k = Constant <value_int = 1> () s = Shape(x) n = Gather(s, k) "
             "r = Range(zero, n, one) f = Cast <to = 1> (r) "
             "y = Mul(x, f) }"},
    {.text = "g () => (int64[3] y) { " RANGE("int64", "0", "3", "0"), .error = "(delta) is 0"},
    {.text = "g () => (int64[3] y) { " RANGE("int64", "-9223372036854775807", "9223372036854775807", "1"),
     .error = "too many elements"},
    {.text = "g () => (int64[3] y) { " RANGE("int64", "0", "4611686018427387904", "1"),
     .error = "not possible or too large"},
    {.text = "g () => (float[3] y) { " RANGE("float", "0.0", "inf", "1.0"), .error = "expected a finite number"},
    {.text = "g () => (int64[3] y) { " RANGE("int64[2]", "0, 1", "3, 4", "1, 1"), .error = "expected a scalar"},
    {.text = "g (int64 n) => (int64[3] y) { " NUMBER("s", "int64 {0}") NUMBER("d", "int64 {1}") "y = Range(s, n, d) }",
     .error = "must be known at compile time"},
    {.text = "g () => (float16[5] y) { " HALF("10", "0.5", "3.0", "0.5") "y = Range <stash_type = 10> (s, l, d) }",
     .error = "only 1 (float) is supported"},
    {.text = "g () => (float16[5] y) { " HALF("10", "0.5", "3.0", "0.5") "y = Range(s, l, d) }",
     .opset = 26,
     .error = "float16"},
    {.text = "g () => (float[2] y) { a = Constant <value_float = 0.0> () b = Constant <value_float = 1.0> () "
             "y = Range(a, b, a) }",
     .error = "(delta) is 0"},
    {0}};

/* 0, 1, .. up to a count. */
static bool range_by_data(struct bounded_ctx *c)
{
    struct value *const start = node_input(c->node, 0), *const step = node_input(c->node, 2);
    const struct bounded *count;
    struct value *limit;
    int axis;
    if (start == NULL || step == NULL || start->dtype != DTYPE_INT64 || !bounded_shape(c, 1, &limit, &axis, &count))
        return true;
    const struct tensor *const first = value_known(start), *const by = value_known(step);
    if (first == NULL || by == NULL || tensor_get_int(first, 0) != 0 || tensor_get_int(by, 0) != 1)
        return bounded_refuse_shape(c, 1, count, "the first number is not 0, or they do not grow by 1");
    return bounded_become(c, "Range", ATTRS_NONE, (struct value *const[]){start, limit, step}, 3) &&
           bounded_out(c, 0, count, 0);
}

/* Runtimes add up floats one by one, and each addition rounds. */
static bool range_plain(struct expand_ctx *c)
{
    const struct value *const y = node_output(c->node, 0);
    if (!dtype_is_float(y->dtype))
        return true;
    const enum dtype d = y->dtype == DTYPE_DOUBLE ? y->dtype : DTYPE_FLOAT;
    struct value *const start = build_reshape(c->b, build_cast(c->b, expand_in(c, 0), d), &SHAPE_SCALAR);
    struct value *const delta = build_reshape(c->b, build_cast(c->b, expand_in(c, 2), d), &SHAPE_SCALAR);
    struct value *i = build_cast(c->b, build_counter(c->b, DTYPE_INT64, 0, &y->shape), d);
    i = build(c, "Mul", i, delta);
    return expand_out(c, 0, build_cast(c->b, build(c, "Add", start, i), y->dtype));
}

const struct op_def op_defs_range[] = {
    {.name = "Range", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs, .infer = range_infer,
     .is_counted = true,
     .grad = grad_none, .plain = range_plain, .eval = range_eval, .lower = range_lower,
     .sized_by_data = range_by_data, .samples = samples},
    {0}};
