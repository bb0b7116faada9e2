/* Pad: elements added (or with negative numbers, removed) before and after each axis. Modes:
 *   constant   a number        edge      the nearest element
 *   reflect    mirrored, without repeating the border       wrap      from the other end
 * The last three repeat the pattern when there is more padding than tensor, as NumPy does.
 * Spec: ONNX Pad-1 and -2 (attributes), -11 to -25 (inputs; 18 adds axes, 19 wrap). */
#include "graph/axes.h"
#include "ops/move_rules.h"

#include "base/checked.h"

#include <string.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define NUMERIC_11 (DTYPES_NUMERIC & ~DTYPE_BIT(DTYPE_BFLOAT16))
#define ATTR_MODE {.name = "mode", .type = ATTR_STRING, .string_default = "constant"}
#define ATTR_NUMBER {.name = "value", .type = ATTR_FLOAT, .float_default = 0.0}

static const struct op_attr attrs_1[] = {
    ATTR_MODE, {.name = "paddings", .type = ATTR_INTS, .required = true}, ATTR_NUMBER, {0}};
static const struct op_attr attrs_2[] = {ATTR_MODE,
                                         {.name = "pads", .type = ATTR_INTS, .required = true},
                                         ATTR_NUMBER,
                                         {0}};
static const struct op_attr attrs[] = {ATTR_MODE, {0}};
static const struct op_param inputs_1[] = {{.name = "data", .type = 'T', .dtypes = FLOATS_1}, {0}};
static const struct op_param inputs_11[] = {
    {.name = "data", .type = 'T', .dtypes = DTYPES_ALL},
    {.name = "pads", .dtypes = DTYPE_BIT(DTYPE_INT64)},
    {.name = "constant_value", .type = 'T', .dtypes = DTYPES_ALL, .flags = PARAM_OPTIONAL},
    {0}};
static const struct op_param inputs[] = {
    {.name = "data", .type = 'T', .dtypes = MOVE_TYPES_25},
    {.name = "pads", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
    /* marked non-differentiable upstream, although the result depends on it smoothly: as in PyTorch it has
     * its gradient here */
    {.name = "constant_value", .type = 'T', .dtypes = MOVE_TYPES_25, .flags = PARAM_OPTIONAL},
    {.name = "axes", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF | PARAM_OPTIONAL},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};

static bool upgrade_1(struct upgrade_ctx *c)
{
    struct attr pads = *node_attr(c->node, "paddings");
    pads.name = "pads";
    node_set_attr(c->node, pads);
    node_remove_attr(c->node, "paddings");
    return true;
}

static bool upgrade_2(struct upgrade_ctx *c)
{
    return upgrade_attr_to_input(c, "pads", 1) && upgrade_float_attr_to_input(c, "value", 2);
}

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

enum pad_mode { CONSTANT, REFLECT, EDGE, WRAP, MODE_COUNT };
static const char *const mode_names[] = {[CONSTANT] = "constant", [REFLECT] = "reflect", [EDGE] = "edge",
                                         [WRAP] = "wrap"};

static enum pad_mode pad_mode(const struct node *n)
{
    const char *name = op_attr_string(n, "mode");
    int mode = 0;
    while (mode < MODE_COUNT && strcmp(name, mode_names[mode]) != 0)
        mode++;
    return (enum pad_mode)mode;
}

struct padding {
    int64_t before[SHAPE_MAX_RANK], after[SHAPE_MAX_RANK];
};

/* pads = the numbers before each of the axes, then those after. axes NULL: all. */
static struct padding spread(int rank, const int64_t *pads, const int64_t *axes, size_t count)
{
    struct padding p = {{0}, {0}};
    for (size_t k = 0; k < count; k++) {
        int d = (int)k;
        if (axes != NULL)
            (void)shape_axis(rank, axes[k], &d);
        p.before[d] = pads[k];
        p.after[d] = pads[count + k];
    }
    return p;
}

/* Of a node that inference has accepted. */
static struct padding padding_of(struct arena *a, const struct node *n)
{
    size_t count, unused;
    const int64_t *pads = move_known_ints(a, n, 1, &count), *axes = move_known_ints(a, n, 3, &unused);
    return spread(n->inputs.data[0]->shape.rank, pads, axes, count / 2);
}

/* Until 18 all axes were meant. */
static bool downgrade_axes(struct downgrade_ctx *c)
{
    struct node *const n = c->node;
    const int rank = n->inputs.data[0]->shape.rank;
    int64_t pads[2 * SHAPE_MAX_RANK];
    if (node_input(n, 3) == NULL)
        return true;
    const struct padding p = padding_of(n->graph->arena, n);
    for (int d = 0; d < rank; d++) {
        pads[d] = p.before[d];
        pads[rank + d] = p.after[d];
    }
    node_set_input(n, 1, build_ints(c->b, pads, 2 * (size_t)rank));
    node_set_input(n, 3, NULL);
    return true;
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .inputs = inputs_1, .upgrade = upgrade_1},
    {.since = 2, .dtypes = FLOATS_1, .attrs = attrs_2, .inputs = inputs_1, .upgrade = upgrade_2},
    {.since = 11, .dtypes = NUMERIC_11, .inputs = inputs_11},
    {.since = 13, .dtypes = MOVE_TYPES_13, .inputs = inputs_11, .downgrade = downgrade_axes},
    {.since = 18, .dtypes = MOVE_TYPES_13},
    {.since = 19, .dtypes = MOVE_TYPES_19},
    {.since = 21, .dtypes = MOVE_TYPES_21},
    {.since = 23, .dtypes = MOVE_TYPES_23},
    {.since = 24, .dtypes = MOVE_TYPES_24},
    {.since = 25},
    {0}};

static bool infer_padding(struct infer_ctx *c, struct padding *p)
{
    const int rank = infer_rank(c, 0);
    const int64_t *pads, *axes = NULL;
    size_t count, axis_count = (size_t)rank;
    bool listed[SHAPE_MAX_RANK] = {false};
    if (!infer_known_ints(c, 1, &pads, &count))
        return false;
    if (infer_in(c, 3) != NULL && !(infer_known_ints(c, 3, &axes, &axis_count) &&
                                    move_infer_axes(c, axes, axis_count, rank, false, listed)))
        return false;
    if (count != 2 * axis_count)
        return infer_error(c, "input 1 (pads) has %zu elements, expected %zu: two for each axis", count,
                           2 * axis_count);
    *p = spread(rank, pads, axes, axis_count);
    return true;
}

static bool padded_dim(struct infer_ctx *c, int d, int64_t dim, int64_t before, int64_t after, int64_t *out)
{
    if (!checked_add(dim, before, out) || !checked_add(*out, after, out) || before > INT64_MAX / 16 ||
        before < -INT64_MAX / 16)
        return infer_error(c, "the padding of dimension %d is too large", d);
    if (*out < 0)
        return infer_error(c, "dimension %d is %lld and cannot lose %lld elements", d, (long long)dim,
                           (long long)(dim - *out));
    return dim > 0 || *out == 0 || pad_mode(c->node) == CONSTANT ||
           infer_error(c, "dimension %d is 0: mode '%s' has no element to repeat", d, mode_names[pad_mode(c->node)]);
}

static bool pad_infer(struct infer_ctx *c)
{
    const struct value *number = infer_in(c, 2);
    struct shape y = *infer_shape(c, 0);
    struct padding p;
    if (pad_mode(c->node) == MODE_COUNT)
        return infer_error(c, "attribute 'mode' is '%s', expected 'constant', 'reflect', 'edge' or 'wrap'",
                           op_attr_string(c->node, "mode"));
    if (number != NULL && (shape_count(&number->shape) != 1 || number->shape.rank > 1))
        return infer_error(c, "input 2 '%s' (constant_value) must be a scalar", number->name);
    if (!infer_padding(c, &p))
        return false;
    for (int d = 0; d < y.rank; d++) {
        int64_t dim;
        if (!padded_dim(c, d, y.dim[d], p.before[d], p.after[d], &dim))
            return false;
        shape_set(&y, d, (struct size){dim, y.per[d]});
    }
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* What is left of x in y, in mode constant: elements [from, from + shape) of x are at [at, at + shape) of y. */
struct kept {
    int64_t from[SHAPE_MAX_RANK], at[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK];
    struct shape shape;
};

static struct kept kept_of(const struct shape *x, const struct padding *p)
{
    struct kept k = {.shape = *x};
    for (int d = 0; d < x->rank; d++) {
        const int64_t from = p->before[d] < 0 ? -p->before[d] : 0, to = x->dim[d] + (p->after[d] < 0 ? p->after[d] : 0);
        k.step[d] = 1;
        shape_set(&k.shape, d, to > from ? (struct size){to - from, x->per[d]} : size_constant(0));
        k.from[d] = to > from ? from : 0;
        k.at[d] = to > from && p->before[d] > 0 ? p->before[d] : 0;
    }
    return k;
}

/* The element that position i (from 0 at the first element of x) repeats, along an axis of `dim` elements. */
static int64_t repeated(enum pad_mode mode, int64_t i, int64_t dim)
{
    if (mode == EDGE || dim == 1)
        return i < 0 ? 0 : i >= dim ? dim - 1 : i;
    const int64_t period = mode == WRAP ? dim : 2 * (dim - 1);
    const int64_t k = (i % period + period) % period;
    return k < dim ? k : period - k;
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* dx = the part of dy that came from x, 0 where x was cut off; d constant_value = the sum of the rest of dy */
static bool constant_grad(struct grad_ctx *c, const struct padding *p)
{
    const struct shape *x = &grad_input(c, 0)->shape;
    struct value *dy = grad_of_output(c, 0);
    const struct kept k = kept_of(x, p);
    const size_t rank = (size_t)x->rank;
    struct shape ends = SHAPE_SCALAR;
    for (int d = 0; d < x->rank; d++)
        shape_add(&ends, size_sum(shape_size(&k.shape, d), size_constant(k.at[d])));
    if (rank == 0)
        return grad_accumulate(c, 0, dy);
    struct value *part = build(c, "Slice", dy, build_ints(c->b, k.at, rank), build_dims(c->b, &ends));
    const struct attr steps = attr_ints("steps", k.step, rank);
    if (grad_wants(c, 2)) {
        const struct attr *place = ATTRS(attr_dims("shape", &dy->shape),
                                         attr_ints("starts", k.at, rank), steps);
        struct value *rest = build(c, "Sub", dy, build_with(c, "stepc.SliceGrad", place, part));
        if (!grad_accumulate(c, 2, rest))
            return false;
    }
    const struct attr *place = ATTRS(attr_dims("shape", x), attr_ints("starts", k.from, rank), steps);
    return grad_accumulate(c, 0, shape_equal(&k.shape, x) ? part : build_with(c, "stepc.SliceGrad", place, part));
}

/* repeated() of rows positions from -before on: [1,rows,1]. Computed, since a table would be as long as the axis. */
static struct value *sources(struct grad_ctx *c, int64_t rows, int64_t before, int64_t dim)
{
    const enum pad_mode mode = pad_mode(c->node);
    const bool clips = mode == EDGE || dim == 1;
    const int64_t period = clips ? 1 : mode == WRAP ? dim : 2 * (dim - 1);
    const int64_t shift = ((-before) % period + period) % period;
    struct value *i = build_counter(c->b, DTYPE_INT64, clips ? -before : shift, &SHAPE(1, rows, 1));
    if (clips)
        return build(c, "Min", build(c, "Max", i, build_int(c->b, 0)), build_int(c->b, dim - 1));
    i = build(c, "Mod", i, build_int(c->b, period));
    struct value *const mirrored = build(c, "Sub", build_int(c->b, period), i);
    return mode == WRAP ? i : build(c, "Where", build(c, "Less", i, build_int(c->b, dim)), i, mirrored);
}

/* Elements that are repeated are taken by their places, an axis at a time, where the mode came later or runtimes refuse
 * to go round more than once. */
static bool pad_plain(struct expand_ctx *c)
{
    enum { WRAP_OPSET = 19 };
    const enum pad_mode mode = pad_mode(c->node);
    const struct padding p = padding_of(c->b->graph->arena, c->node);
    struct value *x = expand_in(c, 0);
    bool stays = mode == CONSTANT || mode == EDGE || (mode == WRAP && c->target->opset >= WRAP_OPSET);
    if (mode == REFLECT) {
        stays = true;
        for (int d = 0; d < x->shape.rank; d++)
            stays = stays && p.before[d] < x->shape.dim[d] && p.after[d] < x->shape.dim[d];
    }
    for (int d = 0; !stays && d < x->shape.rank; d++) {
        const int64_t dim = x->shape.dim[d], rows = dim + p.before[d] + p.after[d];
        if (rows == dim && p.before[d] == 0)
            continue;
        struct tensor *const t = tensor_new(c->b->graph->arena, DTYPE_INT64, &SHAPE(rows));
        for (int64_t i = 0; i < rows; i++)
            tensor_set_int(t, i, repeated(mode, i - p.before[d], dim));
        x = build_with(c, "Gather", ATTRS(attr_int("axis", d)), x, build_constant(c->b, t));
    }
    return stays || expand_out(c, 0, x);
}

/* dx = every element of dy added to the one it repeats, an axis at a time */
static struct value *repeating_grad(struct grad_ctx *c, const struct padding *p)
{
    const struct shape *x = &grad_input(c, 0)->shape;
    struct value *dy = grad_of_output(c, 0);
    struct shape shape = dy->shape;
    for (int d = 0; d < x->rank; d++) {
        const int64_t rows = shape.dim[d];
        const struct size outer = shape_size_range(&shape, 0, d), inner = shape_size_range(&shape, d + 1, shape.rank);
        if (p->before[d] == 0 && p->after[d] == 0)
            continue;
        struct value *listed = sources(c, rows, p->before[d], x->dim[d]);
        dy = build_reshape(c->b, dy, &SHAPE_OF(outer, shape_size(&shape, d), inner));
        dy = build_with(c, "stepc.Scatter", ATTRS(attr_int("size", x->dim[d])), listed, dy);
        shape_set(&shape, d, shape_size(x, d));
    }
    return build_reshape(c->b, dy, x);
}

static bool pad_grad(struct grad_ctx *c)
{
    const struct padding p = padding_of(c->b->graph->arena, c->node);
    if (pad_mode(c->node) == CONSTANT)
        return constant_grad(c, &p);
    return !grad_wants(c, 0) || grad_accumulate(c, 0, repeating_grad(c, &p));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* Row-major position in x of the element that y has at `index`, or -1 for padding with a number. */
static int64_t source_of(const struct shape *x, const struct padding *p, enum pad_mode mode, const int64_t *index)
{
    int64_t position = 0;
    for (int d = 0; d < x->rank; d++) {
        int64_t i = index[d] - p->before[d];
        if (mode != CONSTANT)
            i = repeated(mode, i, x->dim[d]);
        if (i < 0 || i >= x->dim[d])
            return -1;
        position = position * x->dim[d] + i;
    }
    return position;
}

static bool pad_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0), *number = eval_input(c, 2);
    struct eval_tensor *y = eval_output(c, 0);
    const struct padding p = padding_of(c->scratch, c->node);
    int64_t index[SHAPE_MAX_RANK] = {0};
    for (int64_t k = 0; y != NULL && k < y->count; k++) {
        const int64_t from = source_of(&x->shape, &p, pad_mode(c->node), index);
        if (from >= 0)
            move_element(y, k, x, from);
        else if (number != NULL)
            move_element(y, k, number, 0);
        shape_next(&y->shape, index);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static bool lower_constant(struct lower_ctx *c, const struct padding *p)
{
    const struct view x = lower_view_of(c, 0), out = lower_out_view(c, 0);
    const struct kept k = kept_of(&x.shape, p);
    const struct view from = view_slice(&x, k.from, k.step, &k.shape), place = view_slice(&out, k.at, k.step, &k.shape);
    const struct expr *number = lower_has(c, 2) ? lower_in_over(c, 2, &SHAPE(1)) : move_zero(c, lower_out_dtype(c, 0));
    return move_fill_and_place(c, number, &from, &place);
}

/* repeated() as an expression: the index of y along dimension d to the one of x. */
static const struct expr *repeated_index(struct arena *a, enum pad_mode mode, int d, int64_t before, int64_t dim)
{
    const struct expr *zero = expr_int(a, DTYPE_INT64, 0), *size = expr_int(a, DTYPE_INT64, dim);
    const struct expr *i = expr_index(a, d);
    if (dim == 1)
        return zero;
    if (mode == EDGE) {
        const struct expr *last = expr_int(a, DTYPE_INT64, dim - 1);
        i = expr_binary(a, EXPR_SUB, i, expr_int(a, DTYPE_INT64, before));
        return expr_select(a, expr_binary(a, EXPR_LT, i, zero), zero,
                           expr_select(a, expr_binary(a, EXPR_LT, i, size), i, last));
    }
    const int64_t period = mode == WRAP ? dim : 2 * (dim - 1);
    const int64_t shift = ((-before) % period + period) % period; /* not negative: MOD has the sign of the dividend */
    i = expr_binary(a, EXPR_ADD, i, expr_int(a, DTYPE_INT64, shift));
    i = expr_binary(a, EXPR_MOD, i, expr_int(a, DTYPE_INT64, period));
    if (mode == WRAP)
        return i;
    const struct expr *mirrored = expr_binary(a, EXPR_SUB, expr_int(a, DTYPE_INT64, period), i);
    return expr_select(a, expr_binary(a, EXPR_LT, i, size), i, mirrored);
}

static bool lower_repeating(struct lower_ctx *c, const struct padding *p)
{
    const struct view x = lower_view_of(c, 0), out = lower_out_view(c, 0);
    const enum pad_mode mode = pad_mode(c->node);
    struct access access = {.buffer = x.buffer, .offset = x.offset};
    if (out.buffer->count == 0)
        return true;
    for (int d = 0; d < x.shape.rank; d++) {
        if (p->before[d] == 0 && p->after[d] == 0) {
            access.stride[d] = x.shape.dim[d] == 1 ? 0 : x.stride[d];
            continue;
        }
        if (access.term_count == ACCESS_MAX_TERMS)
            return lower_error(c, "mode '%s' on more than %d axes is not compiled", mode_names[mode], ACCESS_MAX_TERMS);
        const struct expr *const index = repeated_index(c->arena, mode, d, p->before[d], x.shape.dim[d]);
        access.term[access.term_count++] =
            (struct access_term){.index = index, .stride = x.stride[d], .extent = x.shape.dim[d]};
    }
    return lower_map(c, lower_load_at(c, &access));
}

static bool pad_lower(struct lower_ctx *c)
{
    const struct padding p = padding_of(c->arena, c->node);
    return pad_mode(c->node) == CONSTANT ? lower_constant(c, &p) : lower_repeating(c, &p);
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

static const struct op_sample samples[] = {
    {.text = "g (float[2,3] x) => (float[4,6] y) { p = Constant <value_ints = [1, 0, 1, 3]> () y = Pad(x, p) }"},
    {.text = "g (double[2,4] x, double v) => (double[3,2] y) { "
             "p = Constant <value_ints = [1, -1, 0, -1]> () y = Pad(x, p, v) }"},
    {.text = "g (float[2,3] x) => (float[2,5] y) "
             "{ p = Constant <value_ints = [2, 0]> () a = Constant <value_ints = [-1]> () y = Pad(x, p, , a) }"},
    {.text = "g (float[3,2] x) => (float[8,2] y) { p = Constant <value_ints = [3, 0, 2, 0]> () "
             "y = Pad <mode = \"reflect\"> (x, p) }"},
    {.text = "g (float[3,2] x) => (float[5,4] y) { p = Constant <value_ints = [1, 2, 1, 0]> () "
             "y = Pad <mode = \"edge\"> (x, p) }"},
    {.text = "g (float[3] x) => (float[9] y) "
             "{ p = Constant <value_ints = [4, 2]> () y = Pad <mode = \"wrap\"> (x, p) }"},
    /* indices that are counted, not stored */
    {.text = "g (double[3] x) => (double[5010] y) { "
             "p = Constant <value_ints = [7, 5000]> () y = Pad <mode = \"reflect\"> (x, p) }"},
    {.text = "g (double[3] x) => (double[5004] y) { "
             "p = Constant <value_ints = [5000, 1]> () y = Pad <mode = \"edge\"> (x, p) }"},
    {.text = "g (double[3] x) => (double[5002] y) { "
             "p = Constant <value_ints = [5000, -1]> () y = Pad <mode = \"wrap\"> (x, p) }"},
    {.text = "g (float[2,3] x) => (float[2,5] y) { y = Pad <pads = [0, 1, 0, 1], value = 2.5> (x) }", .opset = 2},
    {.text = "g (float[2,3] x) => (float[2,5] y) { y = Pad <paddings = [0, 1, 0, 1]> (x) }", .opset = 1},
    {.text = "g (float[3] x) => (float[5] y) "
             "{ p = Constant <value_ints = [1, 1]> () y = Pad <mode = \"mirror\"> (x, p) }", .error = "'mirror'"},
    {.text = "g (float[3] x) => (float[5] y) { p = Constant <value_ints = [2]> () y = Pad(x, p) }",
     .error = "expected 2"},
    {.text = "g (float[3] x) => (float[0] y) { p = Constant <value_ints = [-2, -2]> () y = Pad(x, p) }",
     .error = "cannot lose 4"},
    {.text = "g (float[0] x) => (float[2] y) "
             "{ p = Constant <value_ints = [1, 1]> () y = Pad <mode = \"edge\"> (x, p) }",
     .error = "no element to repeat"},
    {.text = "g (float[2,3] x) => (float[0,5] y) { p = Constant <value_ints = [-2, 1, 0, 1]> () y = Pad <mode "
             "= \"edge\"> (x, p) }"},
    {.text = "g (float[2,3] x) => (float[2] y) { p = Constant <value_ints = [-2, 0, -1, 0]> () y = Pad(x, p) }",
     .error = "dimension 0 is 2 and cannot lose 3 elements"},
    {.text = "g (float[2] x) => (float[2] y) { p = Constant <value_ints = [1152921504606846976, 0]> () y = "
             "Pad(x, p) }",
     .error = "the padding of dimension 0 is too large"},
    {0}};

static void pad_axes(struct axes_ctx *c)
{
    struct arena scratch = {0};
    const struct padding p = padding_of(&scratch, c->node);
    for (int d = 0; d < c->node->inputs.data[0]->shape.rank; d++)
        if (p.before[d] == 0 && p.after[d] == 0)
            axes_pass(c, 0, d, 0, d);
    arena_free(&scratch);
}

const struct op_def op_defs_pad[] = {
    {.name = "Pad", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs, .infer = pad_infer,
     .axes = pad_axes,
     .grad = pad_grad, .plain = pad_plain, .eval = pad_eval, .lower = pad_lower, .samples = samples},
    {0}};
