/* Numbers in few bits, q = integer, s = scale, z = zero point (absent: 0):
 *   QuantizeLinear     q = saturate(round(x / s) + z)     halves to even; x / s in the type of s, or in `precision`
 *   DequantizeLinear   y = (q - z) * s                    in float
 * s and z are one for the tensor (one element), one for each place along `axis` (a list), or one for each block of
 * `block_size` places along it (of x's rank). NaN becomes z. Integers have 2 to 16 bits; DequantizeLinear also takes
 * int32. Floats of 8 and 4 bits round by themselves, q = (x / s + z) in that type, and saturate unless told not to.
 *   DynamicQuantizeLinear   s = (max(0, max x) - min(0, min x)) / 255,  z = saturate(round(-min(0, min x) / s))
 *
 * Gradient: ONNX gives none, and none goes through integers. A DequantizeLinear of a QuantizeLinear with the same s
 * and z (or of a Clip of one, as PyTorch exports a narrower range) becomes stepc.FakeQuantize before a Gradient is
 * taken, whose rule is PyTorch's: straight through where x / s + z is in the range, ends included, 0 outside. The
 * scale gets what PyTorch's learnable form gives it: round(x / s) - x / s inside, the end of the range outside. Of
 * a DequantizeLinear of anything else the scale has its ordinary gradient. A NaN stays NaN in FakeQuantize.
 *
 * All are expanded; scales are brought to shapes that broadcast. Spec: ONNX QuantizeLinear-10 to -25,
 * DequantizeLinear-10 to -25, DynamicQuantizeLinear-11. */
#include "ops/op.h"

#include <math.h>
#include <string.h>

enum { X, SCALE, ZERO }; /* inputs of both */

#define BITS_8 (DTYPE_BIT(DTYPE_UINT8) | DTYPE_BIT(DTYPE_INT8))
#define BITS_16 (DTYPE_BIT(DTYPE_UINT16) | DTYPE_BIT(DTYPE_INT16))
#define INT32_ONLY DTYPE_BIT(DTYPE_INT32)
#define FLOAT_ONLY DTYPE_BIT(DTYPE_FLOAT)
#define HALF_FLOATS (FLOAT_ONLY | DTYPES_FLOAT16S)
#define SMALL (DTYPES_FLOAT8 | DTYPE_BIT(DTYPE_FLOAT4E2M1) | DTYPES_INT4 | DTYPES_INT2)
#define QUANTIZED (BITS_8 | BITS_16 | SMALL)

/* ---- how scales lie over the tensor ----------------------------------------------------------------------------- */

/* Of a node that inference has passed. */
struct grid {
    int axis;      /* -1: one scale for all */
    int64_t block; /* places along the axis with one scale */
};

static struct grid grid_of(const struct node *n)
{
    const struct shape *x = &node_input(n, X)->shape, *s = &node_input(n, SCALE)->shape;
    struct grid g = {.axis = -1, .block = 1};
    if (shape_count(s) == 1 && op_attr_int(n, "block_size") == 0)
        return g;
    if (!shape_axis(x->rank, op_attr_int(n, "axis"), &g.axis))
        UNREACHABLE("an axis that inference refuses");
    if (op_attr_int(n, "block_size") > 0)
        g.block = op_attr_int(n, "block_size");
    return g;
}

static bool check_blocks(struct infer_ctx *c, int64_t block)
{
    int axis;
    const struct shape *x = infer_shape(c, X), *s = infer_shape(c, SCALE);
    if (block < 0)
        return infer_error(c, "attribute 'block_size' is %lld, expected none or a positive number", (long long)block);
    if (!infer_axis(c, op_attr_int(c->node, "axis"), x->rank, &axis))
        return false;
    struct shape expected = *x;
    shape_set(&expected, axis, size_quotient_up(shape_size(x, axis), block));
    if (shape_equal(s, &expected))
        return true;
    return infer_error(c, "input 1 '%s' has shape %s, expected %s: a scale for each block of %lld along axis %d",
                       infer_in(c, SCALE)->name, shape_text(c->diag->arena, s), shape_text(c->diag->arena, &expected),
                       (long long)block, axis);
}

static bool check_scales(struct infer_ctx *c)
{
    int axis;
    const struct value *scale = infer_in(c, SCALE), *zero = infer_in(c, ZERO);
    const struct shape *x = infer_shape(c, X), *s = &scale->shape;
    const int64_t block = op_attr_int(c->node, "block_size");
    if (zero != NULL && !shape_equal(&zero->shape, s) && (shape_count(&zero->shape) != 1 || shape_count(s) != 1))
        return infer_error(c, "input 2 '%s' has shape %s, expected %s as input 1 '%s'", zero->name,
                           shape_text(c->diag->arena, &zero->shape), shape_text(c->diag->arena, s), scale->name);
    if (block != 0)
        return check_blocks(c, block);
    if (shape_count(s) == 1 && s->rank <= 1)
        return true;
    if (s->rank != 1)
        return infer_error(c, "input 1 '%s' has rank %d, expected a scalar or a list, as there is no block_size",
                           scale->name, s->rank);
    if (!infer_axis(c, op_attr_int(c->node, "axis"), x->rank, &axis))
        return false;
    if (s->dim[0] == x->dim[axis])
        return true;
    return infer_error(c, "input 1 '%s' has %lld scales for axis %d of %lld elements", scale->name,
                       (long long)s->dim[0], axis, (long long)x->dim[axis]);
}

/* The node's operands in shapes that broadcast together. */
struct parts {
    struct builder *b;
    struct grid grid;
    struct shape x_shape; /* with an axis for the blocks, where they are all full */
    bool full_blocks;
    struct value *x, *scale, *zero; /* zero: NULL where omitted */
};

static struct value *shaped(struct parts *p, struct value *v)
{
    struct shape s = p->x_shape;
    if (p->grid.axis < 0)
        return build_reshape(p->b, v, &SHAPE_SCALAR);
    for (int d = 0; d < s.rank && p->grid.block == 1; d++)
        shape_set(&s, d, d == p->grid.axis ? shape_size(&s, d) : size_constant(1));
    if (p->full_blocks)
        shape_set(&s, p->grid.axis + 1, size_constant(1));
    if (p->grid.block == 1 || p->full_blocks)
        return shape_count(&s) == shape_count(&v->shape) ? build_reshape(p->b, v, &s) : v;
    if (v->shape.dim[p->grid.axis] == 1)
        return v;
    int64_t *const from = arena_array(p->b->graph->arena, int64_t, (size_t)s.dim[p->grid.axis]);
    for (int64_t i = 0; i < s.dim[p->grid.axis]; i++)
        from[i] = i / p->grid.block;
    return build_value(p->b, "Gather", ATTRS(attr_int("axis", p->grid.axis)),
                       (struct value *const[]){v, build_ints(p->b, from, (size_t)s.dim[p->grid.axis])}, 2);
}

static struct parts parts_of(struct builder *b, const struct node *n, struct value *x, struct value *scale,
                             struct value *zero)
{
    struct parts p = {.b = b, .grid = grid_of(n), .x_shape = x->shape};
    const int axis = p.grid.axis;
    if (axis >= 0 && p.grid.block > 1 && x->shape.dim[axis] % p.grid.block == 0 && x->shape.rank < SHAPE_MAX_RANK) {
        p.full_blocks = true;
        p.x_shape.rank++;
        for (int d = p.x_shape.rank - 1; d > axis; d--)
            shape_set(&p.x_shape, d, shape_size(&x->shape, d - 1));
        shape_set(&p.x_shape, axis, size_quotient(shape_size(&x->shape, axis), p.grid.block));
        shape_set(&p.x_shape, axis + 1, size_constant(p.grid.block));
    }
    p.x = build_reshape(b, x, &p.x_shape);
    p.scale = shaped(&p, scale);
    p.zero = zero != NULL ? shaped(&p, zero) : NULL;
    return p;
}

/* Of each element of x, in order: the number of its scale. */
static int64_t *scale_numbers(struct eval_ctx *c)
{
    const struct grid g = grid_of(c->node);
    const struct shape *x = &c->in[X]->shape, *s = &c->in[SCALE]->shape;
    int64_t *const at = arena_array(c->scratch, int64_t, (size_t)c->in[X]->count), index[SHAPE_MAX_RANK] = {0};
    for (int64_t k = 0; g.axis >= 0 && k < c->in[X]->count; k++) {
        if (s->rank == 1 && op_attr_int(c->node, "block_size") == 0)
            at[k] = index[g.axis];
        for (int d = 0; d < x->rank && op_attr_int(c->node, "block_size") != 0; d++)
            at[k] = at[k] * s->dim[d] + (d == g.axis ? index[d] / g.block : index[d]);
        shape_next(x, index);
    }
    return at;
}

/* Gather of a list, or a scale repeated: which of two constants is meant does not matter. */
static bool same_content(struct value *a, struct value *b)
{
    if (a == b)
        return true;
    const struct tensor *x = a != NULL ? value_known(a) : NULL, *y = b != NULL ? value_known(b) : NULL;
    return x != NULL && y != NULL && tensor_same_sizes(x, y);
}

/* ---- QuantizeLinear --------------------------------------------------------------------------------------------- */

static const struct op_attr no_attrs[] = {{0}};
static const struct op_attr axis_attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = 1}, {0}};
#define ATTR_AXIS                                                                                                      \
    {                                                                                                                  \
        .name = "axis", .type = ATTR_INT, .int_default = 1                                                             \
    }
#define ATTR_SATURATE                                                                                                  \
    {                                                                                                                  \
        .name = "saturate", .type = ATTR_INT, .int_default = 1                                                         \
    }
#define ATTR_BLOCK                                                                                                     \
    {                                                                                                                  \
        .name = "block_size", .type = ATTR_INT                                                                         \
    }
#define ATTR_OUTPUT                                                                                                    \
    {                                                                                                                  \
        .name = "output_dtype", .type = ATTR_INT                                                                       \
    }
static const struct op_attr quantize_attrs_19[] = {ATTR_AXIS, ATTR_SATURATE, {0}};
static const struct op_attr quantize_attrs_21[] = {ATTR_AXIS, ATTR_SATURATE, ATTR_BLOCK, ATTR_OUTPUT, {0}};
static const struct op_attr quantize_attrs[] = {
    ATTR_AXIS, ATTR_SATURATE, ATTR_BLOCK, ATTR_OUTPUT, {.name = "precision", .type = ATTR_INT}, {0}};

#define QUANTIZE_INPUTS(letter, x, scale, zero)                                                                        \
    {                                                                                                                  \
        {.name = "x", .type = 'X', .dtypes = (x)}, {.name = "y_scale", .type = (letter), .dtypes = (scale)},           \
            {.name = "y_zero_point", .type = 'Z', .dtypes = (zero), .flags = PARAM_OPTIONAL},                          \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
static const struct op_param quantize_inputs_10[] = QUANTIZE_INPUTS('S', FLOAT_ONLY | INT32_ONLY, FLOAT_ONLY, BITS_8);
static const struct op_param quantize_inputs_19[] =
    QUANTIZE_INPUTS('X', HALF_FLOATS | INT32_ONLY, HALF_FLOATS | INT32_ONLY, BITS_8 | SMALL);
static const struct op_param quantize_inputs_21[] =
    QUANTIZE_INPUTS('X', HALF_FLOATS | INT32_ONLY, HALF_FLOATS | INT32_ONLY, BITS_8 | BITS_16 | SMALL);
static const struct op_param quantize_inputs[] = QUANTIZE_INPUTS(
    'S', HALF_FLOATS | INT32_ONLY, HALF_FLOATS | INT32_ONLY | DTYPE_BIT(DTYPE_FLOAT8E8M0), QUANTIZED);
static const struct op_param quantize_outputs[] = {{.name = "y", .dtypes = QUANTIZED}, {0}};

static const struct op_version quantize_versions[] = {
    {.since = 10, .attrs = no_attrs, .inputs = quantize_inputs_10},
    {.since = 13, .attrs = axis_attrs, .inputs = quantize_inputs_10},
    {.since = 19, .attrs = quantize_attrs_19, .inputs = quantize_inputs_19},
    {.since = 21, .attrs = quantize_attrs_21, .inputs = quantize_inputs_21},
    {.since = 23},
    {.since = 24},
    {.since = 25},
    {0}};

/* The type of the quotient: that of the scale, where one can divide in it. */
static enum dtype precision_of(const struct node *n)
{
    const int64_t given = op_attr_int(n, "precision");
    const enum dtype scale = node_input(n, SCALE)->dtype;
    return given != 0 ? (enum dtype)given : HALF_FLOATS & DTYPE_BIT(scale) ? scale : DTYPE_FLOAT;
}

static bool check_precision(struct infer_ctx *c)
{
    const int64_t given = op_attr_int(c->node, "precision");
    if (given != 0 && (given < 0 || given >= DTYPE_COUNT || !(HALF_FLOATS & DTYPE_BIT(given))))
        return infer_error(c, "attribute 'precision' is %lld, expected float, float16 or bfloat16", (long long)given);
    return true;
}

static bool quantize_infer(struct infer_ctx *c)
{
    const struct value *zero = infer_in(c, ZERO);
    const int64_t wish = op_attr_int(c->node, "output_dtype");
    const int64_t type = wish != 0 ? wish : zero != NULL ? (int64_t)zero->dtype : DTYPE_UINT8;
    if (zero != NULL && wish != 0 && wish != (int64_t)zero->dtype)
        return infer_error(c, "attribute 'output_dtype' is %lld, but input 2 '%s' is %s", (long long)wish, zero->name,
                           dtype_name(zero->dtype));
    if (type <= 0 || type >= DTYPE_COUNT || !(QUANTIZED & DTYPE_BIT(type)))
        return infer_unsupported(c, "quantization to %s is not supported",
                                 type > 0 && type < DTYPE_COUNT ? dtype_name((enum dtype)type) : "this type");
    return check_scales(c) && check_precision(c) && infer_out(c, 0, (enum dtype)type, infer_shape(c, X));
}

/* The ends of the range before the zero point is added, as floats. */
static struct value *range_end(struct builder *b, int64_t end, struct value *zero)
{
    if (zero == NULL)
        return build_scalar(b, DTYPE_FLOAT, (double)end);
    struct value *const wide = build_cast(b, zero, DTYPE_INT32);
    struct value *const in[] = {build_scalar(b, DTYPE_INT32, (double)end), wide};
    return build_cast(b, build_value(b, "Sub", NULL, in, 2), DTYPE_FLOAT);
}

static struct value *quotient(struct expand_ctx *c, struct value *x, struct value *scale, enum dtype precision)
{
    return build(c, "Div", build_cast(c->b, x, precision), build_cast(c->b, scale, precision));
}

static struct value *rounded_quotient(struct expand_ctx *c, struct value *x, struct value *scale, enum dtype precision)
{
    return build_cast(c->b, build(c, "Round", quotient(c, x, scale, precision)), DTYPE_FLOAT);
}

/* Floats round by themselves. */
static struct value *quantized_float(struct expand_ctx *c, const struct parts *p, enum dtype to)
{
    struct value *q = build_cast(c->b, quotient(c, p->x, p->scale, precision_of(c->node)), DTYPE_FLOAT);
    if (p->zero != NULL)
        q = build(c, "Add", q, build_cast(c->b, p->zero, DTYPE_FLOAT));
    const struct attr *const how = ATTRS(attr_int("to", to), attr_int("saturate", op_attr_int(c->node, "saturate")));
    return build_with(c, "Cast", how, q);
}

static bool quantize_expand(struct expand_ctx *c)
{
    const enum dtype to = c->node->outputs.data[0]->dtype;
    struct parts p = parts_of(c->b, c->node, expand_in(c, X), expand_in(c, SCALE), expand_in(c, ZERO));
    if (dtype_is_float(to))
        return expand_out(c, 0, build_reshape(c->b, quantized_float(c, &p, to), &expand_in(c, X)->shape));
    struct value *q = rounded_quotient(c, p.x, p.scale, precision_of(c->node));
    q = build(c, "Max", q, range_end(c->b, dtype_min_int(to), p.zero));
    q = build_cast(c->b, build(c, "Min", q, range_end(c->b, dtype_max_int(to), p.zero)), DTYPE_INT32);
    if (p.zero != NULL)
        q = build(c, "Add", q, build_cast(c->b, p.zero, DTYPE_INT32));
    return expand_out(c, 0, build_reshape(c->b, build_cast(c->b, q, to), &expand_in(c, X)->shape));
}

static double number_at(const struct eval_tensor *t, int64_t k)
{
    return t->f != NULL ? t->f[k] : (double)t->i[k];
}

/* A quotient in the precision asked for, in both arithmetics: a quotient near a half is rounded to an integer, and
 * one unit more or less is no rounding error any more. */
static double quotient_of(enum dtype precision, double x, double scale)
{
    return dtype_round(precision, dtype_round(DTYPE_FLOAT, dtype_round(precision, x) / dtype_round(precision, scale)));
}

static int64_t saturated(double x, int64_t zero, int64_t low, int64_t high)
{
    if (isnan(x))
        return zero;
    const double q = nearbyint(x);
    return q < (double)(low - zero) ? low : q > (double)(high - zero) ? high : (int64_t)q + zero;
}

static bool quantize_eval(struct eval_ctx *c)
{
    struct eval_tensor *const y = eval_output(c, 0);
    const int64_t *const at = scale_numbers(c);
    const bool has_zero = eval_has(c, ZERO), saturates = op_attr_int(c->node, "saturate") != 0;
    for (int64_t k = 0; y != NULL && k < y->count; k++) {
        const double x = quotient_of(precision_of(c->node), number_at(c->in[X], k), number_at(c->in[SCALE], at[k]));
        if (y->f != NULL)
            y->f[k] = dtype_round_small(y->dtype, x + (has_zero ? c->in[ZERO]->f[at[k]] : 0), saturates);
        else
            y->i[k] =
                saturated(x, has_zero ? c->in[ZERO]->i[at[k]] : 0, dtype_min_int(y->dtype), dtype_max_int(y->dtype));
    }
    return true;
}

#define TENTH "s = Constant <value_float = 0.1> () "
static const struct op_sample quantize_samples[] = {
    {.text = "g (float[0,1000000000000001] x, float[0,333333333333334] s) => (uint8[0,1000000000000001] y) { y = "
             "QuantizeLinear <axis = 1, block_size = 3> (x, s) }",
     .no_gradient = true},
    {.text = "g (float[2,9] x) => (uint8[2,9] y) { " TENTH "y = QuantizeLinear(x, s) }", .no_gradient = true},
    {.text = "g (float[2,9] x) => (int8[2,9] y) { " TENTH
             "z = Constant <value = int8 {-3}> () y = QuantizeLinear(x, s, z) }",
     .no_gradient = true},
    {.text = "g (float[2,9] x, uint16 z) => (uint16[2,9] y) { s = Constant <value_float = 0.0001> () y = "
             "QuantizeLinear(x, s, z) }",
     .no_gradient = true},
    {.text = "g (float[2,9] x) => (int16[2,9] y) { s = Constant <value_floats = [0.0001]> () y = QuantizeLinear "
             "<output_dtype = 5> (x, s) }",
     .no_gradient = true},
    /* halves to even, both ends, what is not finite */
    {.text = "g () => (int8[9] y) { x = Constant <value_floats = [0.5, 1.5, -2.5, 2.5, 126.5, 127.5, -200.0, 1e30, "
             "-1e30]> () "
             "s = Constant <value_float = 1.0> () z = Constant <value = int8 {1}> () y = QuantizeLinear(x, s, z) }",
     .no_gradient = true},
    {.text = "g (float[3] x) => (uint8[3] y) { nought = Constant <value_float = 0.0> () n = Div(nought, nought) v = "
             "Mul(x, n) " TENTH "z = Constant <value = uint8 {7}> () y = QuantizeLinear(v, s, z) }",
     .no_gradient = true},
    {.text = "g (float[2,3,4] x, int8[3] z) => (int8[2,3,4] y) { s = Constant <value_floats = [0.1, 0.02, 0.5]> () y = "
             "QuantizeLinear(x, s, z) }",
     .no_gradient = true},
    {.text = "g (float[2,3] x) => (uint8[2,3] y) { s = Constant <value_floats = [0.1, 0.02]> () y = QuantizeLinear "
             "<axis = -2> (x, s) }",
     .opset = 13,
     .no_gradient = true},
    {.text = "g (float[2,6] x, uint8[2,3] z) => (uint8[2,6] y) { s = Constant <value = float[2,3] {0.1, 0.2, 0.3, 0.4, "
             "0.5, 0.6}> () "
             "y = QuantizeLinear <block_size = 2> (x, s, z) }",
     .opset = 21,
     .no_gradient = true},
    /* blocks that do not fill the axis; one block */
    {.text = "g (float[5,2] x, uint8[3,2] z) => (uint8[5,2] y) { s = Constant <value = float[3,2] {0.1, 0.2, 0.3, 0.4, "
             "0.5, 0.6}> () "
             "y = QuantizeLinear <axis = 0, block_size = 2> (x, s, z) }",
     .no_gradient = true},
    {.text = "g (float[2,3] x) => (uint8[2,3] y) { s = Constant <value = float[2,1] {0.1, 0.2}> () y = QuantizeLinear "
             "<block_size = 4> (x, s) }",
     .no_gradient = true},
    {.text = "g (float[2,3] x) => (uint8[2,3] y) { s = Constant <value = float[2,3] {0.1, 0.2, 0.3, 0.4, 0.5, 0.6}> () "
             "y = QuantizeLinear <block_size = 1> (x, s) }",
     .no_gradient = true},
    {.text = "g (int32[9] x) => (int8[9] y) { s = Constant <value_float = 0.75> () y = QuantizeLinear <output_dtype = "
             "3> (x, s) }",
     .no_gradient = true},
    {.text =
         "g (float16[9] x) => (int8[9] y) { " TENTH "t = CastLike(s, x) y = QuantizeLinear <output_dtype = 3> (x, t) }",
     .no_gradient = true},
    {.text = "g (float[9] x) => (int8[9] y) { " TENTH "y = QuantizeLinear <output_dtype = 3, precision = 16> (x, s) }",
     .no_gradient = true},
    {.text = "g (float[0] x) => (uint8[0] y) { " TENTH "y = QuantizeLinear(x, s) }", .opset = 10, .no_gradient = true},
    {.text = "g (float x) => (uint8 y) { " TENTH "y = QuantizeLinear(x, s) }", .opset = 19, .no_gradient = true},
    {.text = "g (float[2,3] x, float[2] s) => (uint8[2,3] y) { y = QuantizeLinear(x, s) }",
     .error = "input 1 's' has 2 scales for axis 1 of 3 elements"},
    {.text = "g (float[3] x, float[3] s) => (uint8[3] y) { y = QuantizeLinear(x, s) }",
     .error = "axis 1 is out of range"},
    {.text = "g (float[2,3] x, float[2,2] s) => (uint8[2,3] y) { y = QuantizeLinear(x, s) }",
     .error = "expected a scalar or a list"},
    {.text = "g (float[2,3] x, float[2,3] s) => (uint8[2,3] y) { y = QuantizeLinear <block_size = 2> (x, s) }",
     .error = "input 1 's' has shape [2,3], expected [2,2]: a scale for each block of 2 along axis 1"},
    {.text = "g (float[2,3] x, float s, uint8[2] z) => (uint8[2,3] y) { y = QuantizeLinear(x, s, z) }",
     .error = "expected [] as input 1 's'"},
    {.text = "g (float[3] x, float s) => (uint8[3] y) { y = QuantizeLinear <output_dtype = 10> (x, s) }",
     .error = "quantization to float16 is not supported"},
    {.text = "g (float[2,9] x) => (float8e4m3fn[2,9] y) { " TENTH "y = QuantizeLinear <output_dtype = 17> (x, s) }",
     .opset = 23,
     .no_gradient = true},
    {.text = "g () => (float8e5m2[6] y) { x = Constant <value_floats = [1e9, -1e9, 5.7344e4, 6.1440e4, 0.3, -0.0]> () "
             "s = Constant <value_float = 1.0> () y = QuantizeLinear <output_dtype = 19, saturate = 0> (x, s) }",
     .no_gradient = true},
    {.text = "g (float[2,9] x) => (float4e2m1[2,9] y) { " TENTH "y = QuantizeLinear <output_dtype = 23> (x, s) }",
     .no_gradient = true},
    {.text = "g (float[9] x, int4 z) => (int4[9] y) { " TENTH "y = QuantizeLinear(x, s, z) }", .no_gradient = true},
    {.text = "g (float[2,4] x, uint2[2,2] z) => (uint2[2,4] y) { s = Constant "
             "<value = float[2,2] {0.5, 0.2, 0.3, 0.4}> () y = QuantizeLinear <block_size = 2> (x, s, z) }",
     .no_gradient = true},
    {.text = "g (float[9] x) => (int8[9] y) { f = Constant <value_float = 0.3> () s = Cast <to = 24> (f) "
             "y = QuantizeLinear <output_dtype = 3> (x, s) }",
     .no_gradient = true},
    {.text = "g (float[3] x, float s, int8 z) => (uint8[3] y) { y = QuantizeLinear <output_dtype = 2> (x, s, z) }",
     .error = "attribute 'output_dtype' is 2, but input 2 'z' is int8"},
    {.text = "g (float[3] x, float s) => (uint8[3] y) { y = QuantizeLinear <precision = 11> (x, s) }",
     .error = "attribute 'precision' is 11"},
    {0}};

/* ---- DequantizeLinear ------------------------------------------------------------------------------------------- */

static const struct op_attr dequantize_attrs_21[] = {ATTR_AXIS, ATTR_BLOCK, {0}};
static const struct op_attr dequantize_attrs[] = {ATTR_AXIS, ATTR_BLOCK, ATTR_OUTPUT, {0}};

#define DEQUANTIZE_INPUTS(x, scale)                                                                                    \
    {                                                                                                                  \
        {.name = "x", .type = 'Q', .dtypes = (x)}, {.name = "x_scale", .type = 'S', .dtypes = (scale)},                \
            {.name = "x_zero_point", .type = 'Q', .dtypes = (x), .flags = PARAM_OPTIONAL},                             \
        {                                                                                                              \
            0                                                                                                          \
        }                                                                                                              \
    }
static const struct op_param dequantize_inputs_10[] = DEQUANTIZE_INPUTS(BITS_8 | INT32_ONLY, FLOAT_ONLY);
static const struct op_param dequantize_inputs_19[] = DEQUANTIZE_INPUTS(BITS_8 | INT32_ONLY | SMALL, HALF_FLOATS);
static const struct op_param dequantize_inputs[] =
    DEQUANTIZE_INPUTS(QUANTIZED | INT32_ONLY, HALF_FLOATS | DTYPE_BIT(DTYPE_FLOAT8E8M0));
static const struct op_param dequantize_outputs[] = {{.name = "y", .dtypes = HALF_FLOATS}, {0}};

static const struct op_version dequantize_versions[] = {
    {.since = 10, .attrs = no_attrs, .inputs = dequantize_inputs_10},
    {.since = 13, .attrs = axis_attrs, .inputs = dequantize_inputs_10},
    {.since = 19, .attrs = axis_attrs, .inputs = dequantize_inputs_19},
    {.since = 21, .attrs = dequantize_attrs_21},
    {.since = 23},
    {.since = 24},
    {.since = 25},
    {0}};

static bool dequantize_infer(struct infer_ctx *c)
{
    const int64_t wish = op_attr_int(c->node, "output_dtype");
    const int64_t type = wish != 0 ? wish : (int64_t)infer_in(c, SCALE)->dtype;
    if (type <= 0 || type >= DTYPE_COUNT || !(HALF_FLOATS & DTYPE_BIT(type)))
        return infer_error(c, "the result would be %s, expected float, float16 or bfloat16",
                           type > 0 && type < DTYPE_COUNT ? dtype_name((enum dtype)type) : "of no type");
    return check_scales(c) && infer_out(c, 0, (enum dtype)type, infer_shape(c, X));
}

static bool dequantize_expand(struct expand_ctx *c)
{
    struct value *const q = expand_in(c, X);
    struct parts p = parts_of(c->b, c->node, q, expand_in(c, SCALE), expand_in(c, ZERO));
    struct value *y = build_cast(c->b, p.x, dtype_is_float(q->dtype) ? DTYPE_FLOAT : DTYPE_INT32);
    if (p.zero != NULL)
        y = build(c, "Sub", y, build_cast(c->b, p.zero, y->dtype));
    y = build(c, "Mul", build_cast(c->b, y, DTYPE_FLOAT), build_cast(c->b, p.scale, DTYPE_FLOAT));
    return expand_out(c, 0, build_reshape(c->b, build_cast(c->b, y, c->node->outputs.data[0]->dtype), &q->shape));
}

static bool dequantize_eval(struct eval_ctx *c)
{
    struct eval_tensor *const y = eval_output(c, 0);
    const int64_t *const at = scale_numbers(c);
    const struct eval_tensor *const q = c->in[X], *const zero = eval_has(c, ZERO) ? c->in[ZERO] : NULL;
    for (int64_t k = 0; y != NULL && k < y->count; k++) {
        double d;
        if (q->f != NULL)
            d = q->f[k] - (zero != NULL ? zero->f[at[k]] : 0);
        else
            d = (double)dtype_wrap(DTYPE_INT32, q->i[k] - (zero != NULL ? zero->i[at[k]] : 0));
        y->f[k] = eval_round_to(c, DTYPE_FLOAT, eval_round_to(c, DTYPE_FLOAT, d) * c->in[SCALE]->f[at[k]]);
    }
    return true;
}

/* ---- both together ---------------------------------------------------------------------------------------------- */

/* The QuantizeLinear that made v, and the range that is left of its type. */
static struct node *quantizer_of(struct value *v, int64_t *low, int64_t *high)
{
    *low = dtype_min_int(v->dtype);
    *high = dtype_max_int(v->dtype);
    if (v->kind == VALUE_RESULT && node_is(v->producer, "Clip")) {
        struct value *const from = node_input(v->producer, 1), *const to = node_input(v->producer, 2);
        const struct tensor *const least = from != NULL ? value_known(from) : NULL, *const most = to != NULL
                                                                                                      ? value_known(to)
                                                                                                      : NULL;
        if ((from != NULL && least == NULL) || (to != NULL && most == NULL))
            return NULL;
        *low = least != NULL ? tensor_get_int(least, 0) : *low;
        *high = most != NULL ? tensor_get_int(most, 0) : *high;
        v = node_input(v->producer, 0);
    }
    return v->kind == VALUE_RESULT && node_is(v->producer, "QuantizeLinear") ? v->producer : NULL;
}

static bool dequantize_join(struct expand_ctx *c)
{
    int64_t low, high;
    struct value *const integers = expand_in(c, X);
    const struct node *const q = dtype_is_int(integers->dtype) ? quantizer_of(integers, &low, &high) : NULL;
    if (q == NULL || !same_content(node_input(q, SCALE), expand_in(c, SCALE)) ||
        !same_content(node_input(q, ZERO), expand_in(c, ZERO)))
        return false;
    const struct grid here = grid_of(c->node), there = grid_of(q);
    struct value *const x = node_input(q, X);
    if (here.axis != there.axis || here.block != there.block || !dtype_is_float(x->dtype) ||
        !dtype_is_float(expand_in(c, SCALE)->dtype))
        return false;
    const enum dtype precision = precision_of(q);
    struct parts p = parts_of(c->b, c->node, x, expand_in(c, SCALE), expand_in(c, ZERO));
    struct value *y =
        build(c, "stepc.FakeQuantize", build_cast(c->b, p.x, precision), build_cast(c->b, p.scale, precision),
              range_end(c->b, low, p.zero), range_end(c->b, high, p.zero));
    y = build_reshape(c->b, build_cast(c->b, y, c->node->outputs.data[0]->dtype), &x->shape);
    return expand_out(c, 0, y);
}

#define UINT8_ZERO "z = Constant <value = uint8 {12}> () "
static const struct op_sample dequantize_samples[] = {
    {.text = "g (uint8[2,9] x) => (float[2,9] y) { " TENTH "y = DequantizeLinear(x, s) }", .no_gradient = true},
    {.text = "g (int8[2,9] x, float s, int8 z) => (float[2,9] y) { y = DequantizeLinear(x, s, z) }"},
    {.text = "g (int16[2,3,4] x, float[3] s, int16[3] z) => (float[2,3,4] y) { y = DequantizeLinear(x, s, z) }",
     .opset = 21},
    {.text = "g (uint8[2,3] x, float[2] s) => (float[2,3] y) { y = DequantizeLinear <axis = 0> (x, s) }", .opset = 13},
    {.text = "g (uint16[2,6] x, float[2,3] s, uint16[2,3] z) => (float[2,6] y) { y = DequantizeLinear <block_size = 2> "
             "(x, s, z) }"},
    {.text =
         "g (int8[5,2] x, float[3,2] s) => (float[5,2] y) { y = DequantizeLinear <axis = 0, block_size = 2> (x, s) }"},
    {.text = "g (int32[4] x, float s) => (float[4] y) { y = DequantizeLinear(x, s) }", .opset = 10},
    {.text = "g (uint8[9] x, float16 s) => (float16[9] y) { y = DequantizeLinear(x, s) }",
     .opset = 19,
     .tolerance = 2e-3},
    {.text = "g (uint8[9] x, float16 s) => (float[9] y) { y = DequantizeLinear <output_dtype = 1> (x, s) }"},
    {.text = "g (float[1] s) => (float[4] y) { x = Constant <value = int4[4] {-8, 7, 3, -1}> () z = Constant <value = "
             "int4[1] {1}> () "
             "y = DequantizeLinear(x, s, z) }"},
    {.text = "g (float[2,2] s) => (float[2,3] y) { x = Constant <value = uint2[2,3] {0, 1, 2, 3, 2, 1}> () "
             "y = DequantizeLinear <block_size = 2> (x, s) }"},
    {.text = "g (float s) => (float[4] y) { f = Constant <value_floats = [0.5, -3.0, 448.0, 1.1]> () x = Cast <to = "
             "17> (f) y = DequantizeLinear(x, s) }"},
    {.text = "g (float8e5m2[2,9] x, float s) => (float[2,9] y) { y = DequantizeLinear(x, s) }", .opset = 19},
    {.text = "g (float8e4m3fn[2,9] x, float16[2] s, float8e4m3fn[2] z) => (float16[2,9] y) "
             "{ y = DequantizeLinear <axis = 0> (x, s, z) }", .tolerance = 2e-3},
    {.text = "g (float4e2m1[2,6] x, float[2,3] s) => (float[2,6] y) { y = DequantizeLinear <block_size = 2> (x, s) }"},
    {.text = "g (int4[9] x, float s, int4 z) => (float[9] y) { y = DequantizeLinear(x, s, z) }"},
    {.text = "g (uint2[2,3] x, float[2] s, uint2[2] z) => (float[2,3] y) "
             "{ y = DequantizeLinear <axis = 0> (x, s, z) }"},
    {.text = "g (float[3,4] w) => (float[3,4] y) { f = Constant <value_float = 0.3> () s = Cast <to = 24> (f) "
             "c = Cast <to = 3> (w) t = DequantizeLinear <output_dtype = 1> (c, s) y = Mul(t, w) }"},
    {.text = "g (uint8[2,3] x, float[2] s) => (float[2,3] y) { y = DequantizeLinear(x, s) }",
     .error = "input 1 's' has 2 scales for axis 1 of 3 elements"},
    /* pairs: the scale's gradient, x's is a step function's and stands in tests of its own */
    {.text = "g (float[2,3] x, float[2,3] w) => (float[2,3] y) { " TENTH UINT8_ZERO
             "q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) "
             "y = Mul(d, w) }",
     .no_gradient = true},
    {0}};

/* ---- stepc.FakeQuantize: y = clip(round(x / scale), low, high) * scale, in float -------------------------------- */

static const struct op_param fake_inputs[] = {
    {.name = "x", .type = 'T', .dtypes = HALF_FLOATS},
    {.name = "scale", .type = 'T', .dtypes = HALF_FLOATS},
    {.name = "low", .type = 'L', .dtypes = FLOAT_ONLY, .flags = PARAM_NOT_DIFF},
    {.name = "high", .type = 'L', .dtypes = FLOAT_ONLY, .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param fake_outputs[] = {{.name = "y", .dtypes = FLOAT_ONLY}, {0}};
static const struct op_version fake_versions[] = {{.since = 1}, {0}};

/* The operands broadcast to x. */
static bool fake_infer(struct infer_ctx *c)
{
    struct shape s = *infer_shape(c, 0);
    for (int i = 1; i < 4; i++)
        if (!shape_broadcast(&s, &s, infer_shape(c, i)) || !shape_equal(&s, infer_shape(c, 0)))
            return infer_error(c, "input %d '%s' does not broadcast to input 0", i, infer_in(c, i)->name);
    return infer_out(c, 0, DTYPE_FLOAT, &s);
}

/* r = round(x / scale); inside: low <= r <= high.
 * dx = inside ? dy : 0,  dscale = dy * (inside ? r - x / scale : r < low ? low : high) */
static bool fake_grad(struct grad_ctx *c)
{
    struct value *x = grad_input(c, 0), *scale = grad_input(c, 1), *low = grad_input(c, 2), *high = grad_input(c, 3);
    struct value *dy = grad_of_output(c, 0), *quotient = build(c, "Div", x, scale);
    struct value *exact = build_cast(c->b, quotient, DTYPE_FLOAT),
                 *r = build_cast(c->b, build(c, "Round", quotient), DTYPE_FLOAT);
    struct value *inside = build(c, "And", build(c, "GreaterOrEqual", r, low), build(c, "LessOrEqual", r, high));
    if (grad_wants(c, 0) &&
        !grad_accumulate(c, 0, build_cast(c->b, build(c, "Where", inside, dy, build_like(c, dy, 0.0)), x->dtype)))
        return false;
    if (!grad_wants(c, 1))
        return true;
    struct value *end = build(c, "Where", build(c, "Less", r, low), low, high);
    struct value *slope = build(c, "Where", inside, build(c, "Sub", r, exact), end);
    return grad_accumulate(c, 1, build_cast(c->b, build(c, "Mul", dy, slope), x->dtype));
}

static bool fake_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *scale = expand_in(c, 1);
    struct value *r = rounded_quotient(c, x, scale, x->dtype);
    r = build(c, "Min", build(c, "Max", r, expand_in(c, 2)), expand_in(c, 3));
    return expand_out(c, 0, build(c, "Mul", r, build_cast(c->b, scale, DTYPE_FLOAT)));
}

static double fake_value(const struct eval_ctx *c, const double *x)
{
    double r = nearbyint(quotient_of(c->in[0]->dtype, x[0], x[1]));
    r = r < x[2] ? x[2] : r;
    r = x[3] < r ? x[3] : r;
    return eval_round(c, r * x[1]);
}

static bool fake_eval(struct eval_ctx *c)
{
    return eval_map_f(c, fake_value);
}

/* x has the gradient of the identity, not that of the value: only where nothing is rounded do differences agree. */
static const struct op_sample fake_samples[] = {
    {.text = "g (float[2,9] x) => (float[2,9] y) { " TENTH
             "a = Constant <value_float = -5.0> () b = Constant <value_float = 8.0> () "
             "y = stepc.FakeQuantize(x, s, a, b) }",
     .no_gradient = true},
    {.text = "g (float16[2,9] x) => (float[2,9] y) { t = Constant <value_floats = [0.125]> () s = CastLike(t, x) a = "
             "Constant <value_float = -5.0> () "
             "b = Constant <value_float = 8.0> () y = stepc.FakeQuantize(x, s, a, b) }",
     .no_gradient = true},
    {.text = "g (float[2,3] x, float[2] s) => (float[2,3] y) { a = Constant <value_float = -5.0> () y = "
             "stepc.FakeQuantize(x, s, a, a) }",
     .error = "input 1 's' does not broadcast to input 0"},
    {0}};

/* ---- DynamicQuantizeLinear -------------------------------------------------------------------------------------- */

static const struct op_param dynamic_inputs[] = {{.name = "x", .type = 'T', .dtypes = FLOAT_ONLY}, {0}};
static const struct op_param dynamic_outputs[] = {{.name = "y", .dtypes = DTYPE_BIT(DTYPE_UINT8)},
                                                  {.name = "y_scale", .dtypes = FLOAT_ONLY},
                                                  {.name = "y_zero_point", .dtypes = DTYPE_BIT(DTYPE_UINT8)},
                                                  {0}};
static const struct op_version dynamic_versions[] = {{.since = 11}, {0}};

static bool dynamic_infer(struct infer_ctx *c)
{
    if (shape_count(infer_shape(c, 0)) == 0)
        return infer_error(c, "input 0 '%s' has no elements: there is no smallest and largest", infer_in(c, 0)->name);
    return infer_out(c, 0, DTYPE_UNDEFINED, infer_shape(c, 0)) && infer_out(c, 1, DTYPE_UNDEFINED, &SHAPE_SCALAR) &&
           infer_out(c, 2, DTYPE_UNDEFINED, &SHAPE_SCALAR);
}

static bool dynamic_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *nought = build_like(c, x, 0.0), *full = build_like(c, x, 255.0);
    struct value *least = build(c, "Min", build_with(c, "ReduceMin", ATTRS(attr_int("keepdims", 0)), x), nought);
    struct value *most = build(c, "Max", build_with(c, "ReduceMax", ATTRS(attr_int("keepdims", 0)), x), nought);
    struct value *scale = build(c, "Div", build(c, "Sub", most, least), full);
    struct value *zero = build(c, "Round", build(c, "Div", build(c, "Sub", nought, least), scale));
    zero = build_cast(c->b, build(c, "Min", build(c, "Max", zero, nought), full), DTYPE_UINT8);
    return expand_out(c, 0, build(c, "QuantizeLinear", x, scale, zero)) && expand_out(c, 1, scale) &&
           expand_out(c, 2, zero);
}

static bool dynamic_eval(struct eval_ctx *c)
{
    const struct eval_tensor *const x = c->in[0];
    double least = 0, most = 0;
    for (int64_t k = 0; k < x->count; k++) { /* a NaN stays */
        least = isnan(least) || least < x->f[k] ? least : x->f[k];
        most = isnan(most) || most > x->f[k] ? most : x->f[k];
    }
    const double scale = dtype_round(DTYPE_FLOAT, dtype_round(DTYPE_FLOAT, most - least) / 255);
    const int64_t zero = saturated(quotient_of(DTYPE_FLOAT, -least, scale), 0, 0, 255);
    for (int64_t k = 0; eval_wants(c, 0) && k < x->count; k++)
        eval_out_i(c, 0)[k] = saturated(quotient_of(DTYPE_FLOAT, x->f[k], scale), zero, 0, 255);
    if (eval_wants(c, 1))
        eval_out_f(c, 1)[0] = scale;
    if (eval_wants(c, 2))
        eval_out_i(c, 2)[0] = zero;
    return true;
}

static const struct op_sample dynamic_samples[] = {
    {.text = "g (float[2,9] x) => (uint8[2,9] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }",
     .no_gradient = true},
    {.text = "g (float[7] x) => (uint8[7] y, uint8 z) { p = Exp(x) y, , z = DynamicQuantizeLinear(p) }",
     .no_gradient = true},
    {.text = "g (float x) => (uint8 y) { y = DynamicQuantizeLinear(x) }",
     .error = "DynamicQuantizeLinear has 3 outputs, the node names 1"},
    {.text = "g (float[0] x) => (uint8[0] y, float s, uint8 z) { y, s, z = DynamicQuantizeLinear(x) }",
     .error = "has no elements"},
    {0}};

/* ---- records ---------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_quantize[] = {{.name = "QuantizeLinear",
                                           .versions = quantize_versions,
                                           .inputs = quantize_inputs,
                                           .outputs = quantize_outputs,
                                           .attrs = quantize_attrs,
                                           .infer = quantize_infer,
                                           .grad = grad_none,
                                           .expand = quantize_expand,
                                           .eval = quantize_eval,
                                           .samples = quantize_samples},
                                          {.name = "DequantizeLinear",
                                           .versions = dequantize_versions,
                                           .inputs = dequantize_inputs,
                                           .outputs = dequantize_outputs,
                                           .attrs = dequantize_attrs,
                                           .infer = dequantize_infer,
                                           .expand = dequantize_expand,
                                           .join = dequantize_join,
                                           .eval = dequantize_eval,
                                           .samples = dequantize_samples},
                                          {.name = "DynamicQuantizeLinear",
                                           .versions = dynamic_versions,
                                           .inputs = dynamic_inputs,
                                           .outputs = dynamic_outputs,
                                           .infer = dynamic_infer,
                                           .grad = grad_none,
                                           .expand = dynamic_expand,
                                           .eval = dynamic_eval,
                                           .samples = dynamic_samples},
                                          {.domain = DOMAIN_STEPC,
                                           .name = "FakeQuantize",
                                           .versions = fake_versions,
                                           .inputs = fake_inputs,
                                           .outputs = fake_outputs,
                                           .infer = fake_infer,
                                           .grad = fake_grad,
                                           .expand = fake_expand,
                                           .eval = fake_eval,
                                           .samples = fake_samples},
                                          {0}};
