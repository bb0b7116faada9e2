/* DeformConv: a convolution whose windows read x at places that `offset` moves, and weigh what they read by `mask`:
 *   y[n,o,p] = (sum over c, t of w[o,c,t] mask[n,g,t,p] x[n,c,v]) + b[o]      v = p * stride + t * dilation - pad +
 *                                                                                 offset[n,g,t,.,p]
 * with g the group of offsets that channel c belongs to. Between elements x is interpolated linearly
 * along each axis, as if zeros lay around it. It is made of stepc.PlaceIndex and stepc.TakePlaces (grid_sample.c),
 * which read the 2 (4, 8) neighbours of each place, their weights, and a convolution by a window of one element over
 * what all positions have read; so all inputs have gradients. At a whole number the slope is that towards the next
 * element, as in torchvision. Types of 16 bits are computed in float. Spec: ONNX DeformConv-19, -22 (22 only adds
 * bfloat16). */
#include "ops/window_rules.h"

#include "base/checked.h"

#include <math.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define NUMBER(label)                                                                                                  \
    {                                                                                                                  \
        .name = (label), .type = ATTR_INT, .int_default = 1                                                            \
    }
static const struct op_attr attrs[] = {WINDOW_LIST("dilations"),
                                       NUMBER("group"),
                                       WINDOW_LIST("kernel_shape"),
                                       NUMBER("offset_group"),
                                       WINDOW_LIST("pads"),
                                       WINDOW_LIST("strides"),
                                       {0}};
#define PARAM(label, marks)                                                                                            \
    {                                                                                                                  \
        .name = (label), .type = 'T', .dtypes = DTYPES_FLOATS, .flags = (marks)                                        \
    }
static const struct op_param inputs[] = {
    PARAM("X", 0), PARAM("W", 0), PARAM("offset", 0), PARAM("B", PARAM_OPTIONAL), PARAM("mask", PARAM_OPTIONAL), {0}};
static const struct op_param outputs[] = {PARAM("Y", 0), {0}};
static const struct op_version versions[] = {
    {.since = 19, .dtypes = DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16)}, {.since = 22}, {0}};

enum { IN_X, IN_W, IN_OFFSET, IN_B, IN_MASK };
enum { MOST_IN_FLOAT = 1 << 24 }; /* whole numbers */

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

struct deform {
    int64_t channels, outputs, groups, offset_groups;
    struct size n;
    int64_t taps, out, in; /* positions of a window; elements of a channel of y, of x */
    struct window window;
};

static struct deform deform_of(const struct node *n)
{
    const struct shape *x = &node_input(n, IN_X)->shape, *w = &node_input(n, IN_W)->shape;
    const struct shape size = window_of_weights(w);
    struct deform v = {.n = shape_size(x, 0),
                       .channels = x->dim[1],
                       .outputs = w->dim[0],
                       .groups = op_attr_int(n, "group"),
                       .offset_groups = op_attr_int(n, "offset_group"),
                       .window = window_of(n, x, &size)};
    v.taps = window_size(&v.window);
    v.out = window_out_count(&v.window);
    v.in = window_in_count(&v.window);
    return v;
}

static bool check_groups(struct infer_ctx *c, const char *attr, const char *what, int64_t channels)
{
    const int64_t groups = op_attr_int(c->node, attr);
    if (groups < 1)
        return infer_error(c, "attribute '%s' is %lld, expected 1 or more", attr, (long long)groups);
    return channels % groups == 0 || infer_error(c, "%lld %s channels cannot be divided into %lld groups",
                                                 (long long)channels, what, (long long)groups);
}

static bool check_weights(struct infer_ctx *c, int rank)
{
    const struct shape *x = infer_shape(c, IN_X), *w = infer_shape(c, IN_W);
    struct shape size;
    if (w->rank != x->rank)
        return infer_error(c, "input 1 '%s' has rank %d, expected %d", infer_in(c, IN_W)->name, w->rank, x->rank);
    if (!check_groups(c, "group", "input", x->dim[1]) || !check_groups(c, "group", "output", w->dim[0]) ||
        !check_groups(c, "offset_group", "input", x->dim[1]) || !window_infer_kernel(c, rank, false, &size))
        return false;
    if (w->dim[1] != x->dim[1] / op_attr_int(c->node, "group"))
        return infer_error(c, "input 1 '%s' is for %lld channels, expected %lld", infer_in(c, IN_W)->name,
                           (long long)w->dim[1], (long long)(x->dim[1] / op_attr_int(c->node, "group")));
    for (int i = 0; i < size.rank; i++)
        if (size.dim[i] != w->dim[2 + i])
            return infer_error(c, "attribute 'kernel_shape' has %lld for spatial axis %d, but input 1 '%s' has %lld",
                               (long long)size.dim[i], i, infer_in(c, IN_W)->name, (long long)w->dim[2 + i]);
    return true;
}

/* Input i has `each` numbers for every position of the window and every group of offsets. */
static bool check_per_tap(struct infer_ctx *c, int i, const struct window *w, int64_t each)
{
    int64_t numbers;
    if (infer_in(c, i) == NULL)
        return true;
    if (!checked_mul(op_attr_int(c->node, "offset_group"), window_size(w) * each, &numbers))
        return infer_error(c, "there are too many groups of offsets");
    const struct shape expected =
        window_out_shape(w, shape_size(infer_shape(c, IN_X), 0), size_constant(numbers));
    return shape_equal(infer_shape(c, i), &expected) ||
           infer_error(c, "input %d '%s' has shape %s, expected %s", i, infer_in(c, i)->name,
                       shape_text(c->graph->arena, infer_shape(c, i)), shape_text(c->graph->arena, &expected));
}

static bool deform_infer(struct infer_ctx *c)
{
    const int rank = window_infer_rank(c, IN_X);
    struct window w;
    if (rank == 0 || !check_weights(c, rank))
        return false;
    const struct shape size = window_of_weights(infer_shape(c, IN_W));
    if (!window_infer(c, infer_shape(c, IN_X), &size, &w))
        return false;
    for (int i = 0; i < WINDOW_AXES; i++)
        if (w.axis[i].in > MOST_IN_FLOAT && infer_in(c, IN_X)->dtype != DTYPE_DOUBLE)
            return infer_unsupported(
                c, "an axis of more than %d elements is not supported: float cannot tell them apart", MOST_IN_FLOAT);
    if (!check_per_tap(c, IN_OFFSET, &w, rank) || !check_per_tap(c, IN_MASK, &w, 1))
        return false;
    const struct value *b = infer_in(c, IN_B);
    const struct shape y =
        window_out_shape(&w, shape_size(infer_shape(c, IN_X), 0), shape_size(infer_shape(c, IN_W), 0));
    if (b != NULL && (b->shape.rank != 1 || b->shape.dim[0] != y.dim[1]))
        return infer_error(c, "input 3 '%s' is not a list of %lld numbers, one per output channel", b->name,
                           (long long)y.dim[1]);
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- as other operators ------------------------------------------------------------------------------------------ */

static struct size planes_of(const struct deform *v)
{
    return size_product(v->n, size_constant(v->offset_groups));
}

/* What follows has the dimensions [images and groups of offsets, 2 neighbours along the first axis.., the last axis,
 * positions and outputs]: 1 where it does not change. */
struct deform_axis {
    struct value *place, *weight;
};

static struct value *number_of(struct expand_ctx *c, struct value *like, double x)
{
    return build_scalar(c->b, like->dtype, x);
}

/* 0, 1, ... along dimension d of v, in v's type. */
static struct value *positions(struct expand_ctx *c, struct value *v, int d)
{
    return build_cast(c->b, build_with(c, "stepc.Positions", ATTRS(attr_int("axis", d)), v), v->dtype);
}

/* Position of each tap along axis i, as a constant [1, taps, 1...]. */
static struct value *taps_along(struct expand_ctx *c, const struct deform *v, int i, enum dtype dtype, int rank)
{
    struct shape shape = SHAPE(1, v->taps);
    for (int d = 2; d < rank; d++)
        shape_add(&shape, size_constant(1));
    struct tensor *t = tensor_new(c->b->graph->arena, dtype, &shape);
    int64_t unit = 1;
    for (int d = WINDOW_AXES - 1; d > i; d--)
        unit *= v->window.axis[d].size;
    const struct window_axis *a = &v->window.axis[i];
    for (int64_t k = 0; k < v->taps; k++)
        tensor_set_double(t, k, (double)(k / unit % a->size * a->dilation - a->pad_begin));
    return build_constant(c->b, t);
}

/* Along spatial axis i (of rank): [images and groups, taps, outputs...]. */
static struct value *build_place(struct expand_ctx *c, const struct deform *v, struct value *offset, int i, int rank)
{
    const struct window_axis *a = &v->window.axis[WINDOW_AXES - rank + i];
    struct value *moved = build_with(c, "Gather", ATTRS(attr_int("axis", 2)), offset, build_int(c->b, i));
    struct value *starts = build(c, "Mul", positions(c, moved, 2 + i), number_of(c, moved, (double)a->stride));
    struct value *taps = taps_along(c, v, WINDOW_AXES - rank + i, moved->dtype, moved->shape.rank);
    return build(c, "Add", build(c, "Add", starts, taps), moved);
}

/* A constant with `first` and `second` for the two neighbours along axis i. */
static struct value *build_two(struct expand_ctx *c, int i, int rank, enum dtype dtype, double first, double second)
{
    struct shape shape = SHAPE_SCALAR;
    for (int d = 0; d < rank + 2; d++)
        shape_add(&shape, size_constant(d == 1 + i ? 2 : 1));
    struct tensor *t = tensor_new(c->b->graph->arena, dtype, &shape);
    tensor_set_double(t, 0, first);
    tensor_set_double(t, 1, second);
    return build_constant(c->b, t);
}

static struct deform_axis build_axis(struct expand_ctx *c, const struct deform *v, struct value *offset, int i,
                                     int rank)
{
    const int64_t size = v->window.axis[WINDOW_AXES - rank + i].in;
    struct shape apart = SHAPE_OF(planes_of(v));
    for (int d = 0; d < rank; d++)
        shape_add(&apart, size_constant(1));
    shape_add(&apart, size_constant(v->taps * v->out));
    struct value *place = build_reshape(c->b, build_place(c, v, offset, i, rank), &apart);
    struct value *floor = build(c, "Floor", place), *t = build(c, "Sub", place, floor);
    struct value *neighbour = build(c, "Add", floor, build_two(c, i, rank, place->dtype, 0, 1));
    struct value *weight = build(c, "Add", build(c, "Mul", build_two(c, i, rank, place->dtype, -1, 1), t),
                                 build_two(c, i, rank, place->dtype, 1, 0));
    struct value *inside = build(c, "And", build(c, "GreaterOrEqual", neighbour, number_of(c, place, 0)),
                                 build(c, "LessOrEqual", neighbour, number_of(c, place, (double)(size - 1))));
    return (struct deform_axis){neighbour, build(c, "Where", inside, weight, number_of(c, place, 0))};
}

/* What every position of every window reads: [images and groups, channels of a group, taps and outputs]. */
static struct value *build_columns(struct expand_ctx *c, const struct deform *v, struct value *x, struct value *offset)
{
    const int rank = v->window.rank;
    const struct size planes = planes_of(v), channels = size_constant(v->channels / v->offset_groups),
                      places = size_constant(v->taps * v->out), in = size_constant(v->in);
    int64_t dims[WINDOW_AXES], count = 1;
    struct value *place[WINDOW_AXES], *weight = NULL;
    for (int i = 0; i < rank; i++) {
        const struct deform_axis a = build_axis(c, v, offset, i, rank);
        place[i] = a.place;
        weight = weight ? build(c, "Mul", weight, a.weight) : a.weight;
        dims[i] = v->window.axis[WINDOW_AXES - rank + i].in;
        count *= 2;
    }
    const struct size neighbours = size_constant(count);
    struct value *index =
        build_value(c->b, "stepc.PlaceIndex", ATTRS(attr_ints("shape", dims, (size_t)rank)), place, (size_t)rank);
    struct value *read = build(c, "stepc.TakePlaces", build_reshape(c->b, x, &SHAPE_OF(planes, channels, in)),
                               build_reshape(c->b, index, &SHAPE_OF(planes, size_product(neighbours, places))));
    struct value *each = build_reshape(c->b, read, &SHAPE_OF(planes, channels, neighbours, places));
    const struct shape of_all = SHAPE_OF(planes, size_constant(1), neighbours, places);
    struct value *share = build(c, "Mul", each, build_reshape(c->b, weight, &of_all));
    return build_reduce_sum(c->b, share, (const int[]){2}, 1, false);
}

static bool deform_expand(struct expand_ctx *c)
{
    const struct deform v = deform_of(c->node);
    const struct shape *y = &node_output(c->node, 0)->shape;
    const enum dtype stored = expand_in(c, IN_X)->dtype, dtype = dtype_computed(stored);
    struct value *bias = expand_in(c, IN_B), *mask = expand_in(c, IN_MASK), *columns;
    const struct size taps = size_constant(v.taps * v.out);
    const struct shape of_columns = SHAPE_OF(v.n, size_constant(v.channels * v.taps), size_constant(v.out));
    struct shape apart = SHAPE_OF(planes_of(&v), size_constant(v.taps), size_constant(v.window.rank));
    for (int i = 0; i < v.window.rank; i++)
        shape_take(&apart, y, 2 + i);
    if (v.in == 0 || v.channels == 0) {
        columns = build_expand(c->b, build_scalar(c->b, dtype, 0), &of_columns);
    } else {
        struct value *offset = build_reshape(c->b, build_cast(c->b, expand_in(c, IN_OFFSET), dtype), &apart);
        columns = build_columns(c, &v, build_cast(c->b, expand_in(c, IN_X), dtype), offset);
        if (mask)
            columns = build(
                c, "Mul", columns,
                build_reshape(c->b, build_cast(c->b, mask, dtype), &SHAPE_OF(planes_of(&v), size_constant(1), taps)));
        columns = build_reshape(c->b, columns, &of_columns);
    }
    struct value *w = build_reshape(c->b, build_cast(c->b, expand_in(c, IN_W), dtype),
                                    &SHAPE(v.outputs, v.channels / v.groups * v.taps, 1));
    const struct attr *group = ATTRS(attr_int("group", v.groups));
    struct value *sum = bias ? build_with(c, "Conv", group, columns, w, build_cast(c->b, bias, dtype))
                             : build_with(c, "Conv", group, columns, w);
    return expand_out(c, 0, build_cast(c->b, build_reshape(c->b, sum, y), stored));
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

/* x between its elements, at place `at` along the axes from `d` on. */
static double read_between(const struct window *w, const double *x, const double *at, int d)
{
    if (d == WINDOW_AXES)
        return *x;
    const struct window_axis *a = &w->axis[d];
    int64_t inner = 1;
    for (int i = d + 1; i < WINDOW_AXES; i++)
        inner *= w->axis[i].in;
    double sum = 0;
    for (int k = 0; k < 2; k++) {
        const double place = floor(at[d]) + k, weight = k == 0 ? 1 - (at[d] - floor(at[d])) : at[d] - floor(at[d]);
        if (place >= 0 && place < (double)a->in)
            sum += weight * read_between(w, x + (int64_t)place * inner, at, d + 1);
    }
    return sum;
}

/* Where position t of window p reads, as group g of image n has it. */
static void find_place(const struct deform *v, const double *offset, int64_t group, int64_t t, int64_t p, double *at)
{
    int64_t tap = t, out = p;
    const int front = WINDOW_AXES - v->window.rank;
    for (int d = WINDOW_AXES - 1; d >= 0; d--) {
        const struct window_axis *a = &v->window.axis[d];
        at[d] = (double)(out % a->out * a->stride + tap % a->size * a->dilation - a->pad_begin);
        if (d >= front)
            at[d] += offset[((group * v->taps + t) * v->window.rank + d - front) * v->out + p];
        tap /= a->size;
        out /= a->out;
    }
}

static bool deform_eval(struct eval_ctx *c)
{
    const struct deform v = deform_of(c->node);
    const int64_t inputs_of_group = v.channels / v.groups, outputs_of_group = v.outputs / v.groups;
    double *y = eval_out_f(c, 0);
    for (int64_t k = 0; y != NULL && k < v.n.most * v.outputs * v.out; k++) {
        const int64_t p = k % v.out, o = k / v.out % v.outputs, n = k / v.out / v.outputs;
        double sum = 0;
        for (int64_t i = 0; i < inputs_of_group * v.taps; i++) {
            const int64_t t = i % v.taps, channel = o / outputs_of_group * inputs_of_group + i / v.taps;
            const int64_t group = n * v.offset_groups + channel / (v.channels / v.offset_groups);
            double at[WINDOW_AXES];
            find_place(&v, eval_f(c, IN_OFFSET), group, t, p, at);
            const double x = read_between(&v.window, eval_f(c, IN_X) + (n * v.channels + channel) * v.in, at, 0);
            const double mask = eval_has(c, IN_MASK) ? eval_f(c, IN_MASK)[(group * v.taps + t) * v.out + p] : 1;
            sum += eval_f(c, IN_W)[o * inputs_of_group * v.taps + i] * mask * x;
        }
        y[k] = sum + (eval_has(c, IN_B) ? eval_f(c, IN_B)[o] : 0);
    }
    return true;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text = "g (double[2,3,5,6] x, double[4,3,3,2] w, double[2,12,3,5] o) => (double[2,4,3,5] y) { y = DeformConv(x, "
             "w, o) }"},
    {.text = "g (float[1,4,5,5] x, float[6,2,3,3] w, float[1,36,3,3] o, float[6] b, float[1,18,3,3] m) => "
             "(float[1,6,3,3] y) "
             "{ y = DeformConv <group = 2, offset_group = 2, strides = [2, 2], pads = [1, 1, 1, 1]> (x, w, o, b, m) }"},
    {.text = "g (double[1,2,6,6] x, double[2,2,2,2] w, double[1,8,2,5] o, double[1,4,2,5] m) => (double[1,2,2,5] y) "
             "{ y = DeformConv <dilations = [2, 1], strides = [2, 1], kernel_shape = [2, 2]> (x, w, o, , m) }"},
    {.text = "g (double[2,2,7] x, double[3,2,3] w, double[2,3,5] o) => (double[2,3,5] y) { y = DeformConv(x, w, o) }",
     .opset = 19},
    {.text = "g (double[1,1,3,3,4] x, double[2,1,2,2,2] w, double[1,24,2,2,3] o) => (double[1,2,2,2,3] y) { y = "
             "DeformConv(x, w, o) }"},
    /* offsets of 0: a convolution */
    {.text = "g (float[1,2,4,4] x, float[3,2,3,3] w) => (float[1,3,4,4] y) { "
             "s = Constant <value_ints = [1, 18, 4, 4]> () o = ConstantOfShape(s) y = DeformConv <pads = [1, 1, 1, 1]> "
             "(x, w, o) }"},
    {.text = "g (float16[1,2,4,4] x, float16[1,2,2,2] w, float16[1,8,3,3] o) => (float16[1,1,3,3] y) { y = "
             "DeformConv(x, w, o) }",
     .tolerance = 0.02},
    {.text =
         "g (float[0,2,4,4] x, float[1,2,2,2] w, float[0,8,3,3] o) => (float[0,1,3,3] y) { y = DeformConv(x, w, o) }"},
    {.text =
         "g (float[1,2,4,4] x, float[1,2,2,2] w, float[1,4,3,3] o) => (float[1,1,3,3] y) { y = DeformConv(x, w, o) }",
     .error = "has shape [1,4,3,3], expected [1,8,3,3]"},
    {.text =
         "g (float[1,2,4,4] x, float[1,2,2,2] w, float[1,8,3,3] o, float[1] b, float[1,8,3,3] m) => (float[1,1,3,3] y) "
         "{ y = DeformConv(x, w, o, b, m) }",
     .error = "has shape [1,8,3,3], expected [1,4,3,3]"},
    {.text =
         "g (float[1,2,4,4] x, float[1,1,2,2] w, float[1,8,3,3] o) => (float[1,1,3,3] y) { y = DeformConv(x, w, o) }",
     .error = "is for 1 channels, expected 2"},
    {.text = "g (float[1,2,4,4] x, float[1,2,2,2] w, float[1,8,3,3] o) => (float[1,1,3,3] y) "
             "{ y = DeformConv <offset_group = 3> (x, w, o) }",
     .error = "2 input channels cannot be divided into 3 groups"},
    {.text = "g (float[2,4] x, float[1,2] w, float[2,4] o) => (float[2,4] y) { y = DeformConv(x, w, o) }",
     .error = "has rank 2, expected 3 to 5"},
    {0}};

const struct op_def op_defs_deform_conv[] = {{.name = "DeformConv",
                                              .versions = versions,
                                              .inputs = inputs,
                                              .outputs = outputs,
                                              .attrs = attrs,
                                              .infer = deform_infer,
                                              .expand = deform_expand,
                                              .eval = deform_eval,
                                              .samples = samples},
                                             {0}};
