/* ConvTranspose, the transpose of Conv as a linear map: x [n, groups c, spatial], w [groups c, o, window], y [n, groups
 * o, spatial].
 *   y[n,o,i] = (sum over c, t of x[n,c,p] w[c,o,t]) + b[o]       p: the position with p * stride + t * dilation -
 *                                                                pad_begin = i
 * With windows of the reach k = (size - 1) * dilation + 1 the whole map has (in - 1) * stride + k
 * elements per axis, and
 *   out = (in - 1) * stride + k + output_padding - pad_begin - pad_end
 *   output_shape    out is given, and what is too much, (in - 1) * stride + k + output_padding - out, is cut off: the
 *                   larger half in front, with SAME_UPPER at the end. Less than nothing adds zeros at the end, as the
 *                   specification's examples have it.
 *   SAME_*          the same with out = in * stride, unless output_shape is given
 *   VALID           no pads
 * It is Conv's derivative in its input, stepc.ConvGradInput, on the elements that it has, zeros around them and the
 * bias: the contract and all gradients are those of these. Spec: ONNX ConvTranspose-1, -11, -22 (22 only adds
 * bfloat16). */
#include "ops/window_rules.h"

#include "base/checked.h"
#include <string.h>

/* ---- schema ----------------------------------------------------------------------------------------------------- */

static const struct op_attr attrs[] = {{.name = "auto_pad", .type = ATTR_STRING, .string_default = "NOTSET"},
                                       WINDOW_LIST("dilations"),
                                       {.name = "group", .type = ATTR_INT, .int_default = 1},
                                       WINDOW_LIST("kernel_shape"),
                                       WINDOW_LIST("output_padding"),
                                       WINDOW_LIST("output_shape"),
                                       WINDOW_LIST("pads"),
                                       WINDOW_LIST("strides"),
                                       {0}};
static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1}, {.since = 11, .dtypes = FLOATS_1}, {.since = 22}, {0}};

#define PARAM(label, marks)                                                                                            \
    {                                                                                                                  \
        .name = (label), .type = 'T', .dtypes = DTYPES_FLOATS, .flags = (marks)                                        \
    }
static const struct op_param inputs[] = {PARAM("X", 0), PARAM("W", 0), PARAM("B", PARAM_OPTIONAL), {0}};
static const struct op_param outputs[] = {PARAM("Y", 0), {0}};

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

/* One axis. Output i is element i + begin of the whole map, which has `whole` elements. */
struct axis {
    int64_t in, out, size, stride, dilation, whole, begin;
};

struct lists { /* NULL: absent */
    const int64_t *strides, *dilations, *pads, *extra, *out;
};

static void cut_to_size(struct axis *a, int64_t out, int64_t extra, bool upper)
{
    const int64_t surplus = a->whole + extra - out, cut = surplus > 0 ? surplus : 0;
    a->out = out;
    a->begin = upper ? cut / 2 : cut - cut / 2;
}

static struct axis make_axis(const struct shape *x, const struct shape *w, const struct lists *l, const char *pad,
                             int rank, int i)
{
    struct axis a = {.in = x->dim[2 + i],
                     .size = w->dim[2 + i],
                     .stride = l->strides ? l->strides[i] : 1,
                     .dilation = l->dilations ? l->dilations[i] : 1};
    const int64_t extra = l->extra ? l->extra[i] : 0;
    const bool upper = strcmp(pad, "SAME_UPPER") == 0;
    a.whole = (a.in - 1) * a.stride + (a.size - 1) * a.dilation + 1;
    if (l->out != NULL) {
        cut_to_size(&a, l->out[i], extra, upper);
    } else if (upper || strcmp(pad, "SAME_LOWER") == 0) {
        cut_to_size(&a, a.in * a.stride, extra, upper);
    } else {
        const bool pads = l->pads != NULL && strcmp(pad, "NOTSET") == 0;
        a.begin = pads ? l->pads[i] : 0;
        a.out = a.whole + extra - a.begin - (pads ? l->pads[rank + i] : 0);
    }
    return a;
}

/* The axes of a node that inference has passed. */
static int axes_of(const struct node *n, struct axis axes[WINDOW_AXES])
{
    const struct shape *x = &node_input(n, 0)->shape, *w = &node_input(n, 1)->shape;
    struct lists l = {0};
    size_t count;
    op_attr_ints(n, "strides", &l.strides, &count);
    op_attr_ints(n, "dilations", &l.dilations, &count);
    op_attr_ints(n, "pads", &l.pads, &count);
    op_attr_ints(n, "output_padding", &l.extra, &count);
    op_attr_ints(n, "output_shape", &l.out, &count);
    for (int i = 0; i < x->rank - 2; i++)
        axes[i] = make_axis(x, w, &l, op_attr_string(n, "auto_pad"), x->rank - 2, i);
    return x->rank - 2;
}

static bool check_weights(struct infer_ctx *c, int rank)
{
    const struct value *x = infer_in(c, 0), *w = infer_in(c, 1);
    const int64_t groups = op_attr_int(c->node, "group");
    struct shape size;
    if (w->shape.rank != rank + 2)
        return infer_error(c, "input 1 '%s' has rank %d, expected %d", w->name, w->shape.rank, rank + 2);
    if (w->shape.dim[0] != x->shape.dim[1])
        return infer_error(c, "input 1 '%s' is for %lld channels, expected %lld", w->name, (long long)w->shape.dim[0],
                           (long long)x->shape.dim[1]);
    if (groups < 1)
        return infer_error(c, "attribute 'group' is %lld, expected 1 or more", (long long)groups);
    if (x->shape.dim[1] % groups != 0)
        return infer_error(c, "%lld input channels cannot be divided into %lld groups", (long long)x->shape.dim[1],
                           (long long)groups);
    if (!window_infer_kernel(c, rank, false, &size))
        return false;
    for (int i = 0; i < rank; i++) {
        const int64_t in_w = w->shape.dim[2 + i];
        if (size.rank > 0 && size.dim[i] != in_w)
            return infer_error(c, "attribute 'kernel_shape' has %lld for spatial axis %d, but input 1 '%s' has %lld",
                               (long long)size.dim[i], i, w->name, (long long)in_w);
        if (in_w < 1 || in_w > INT32_MAX)
            return infer_error(c, "input 1 '%s' has windows of %lld elements along spatial axis %d", w->name,
                               (long long)in_w, i);
    }
    return true;
}

static bool check_lists(struct infer_ctx *c, int rank)
{
    const size_t count = (size_t)rank;
    const char *const pad = op_attr_string(c->node, "auto_pad");
    struct lists l;
    if (strcmp(pad, "NOTSET") != 0 && strcmp(pad, "SAME_UPPER") != 0 && strcmp(pad, "SAME_LOWER") != 0 &&
        strcmp(pad, "VALID") != 0)
        return infer_error(c, "attribute 'auto_pad' is '%s', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID", pad);
    return window_infer_list(c, "strides", count, 1, &l.strides) &&
           window_infer_list(c, "dilations", count, 1, &l.dilations) &&
           window_infer_list(c, "pads", 2 * count, -INT32_MAX, &l.pads) &&
           window_infer_list(c, "output_padding", count, 0, &l.extra) &&
           window_infer_list(c, "output_shape", count, 0, &l.out);
}

static bool check_bias(struct infer_ctx *c, int64_t channels)
{
    const struct value *b = infer_in(c, 2);
    if (b == NULL || (b->shape.rank == 1 && b->shape.dim[0] == channels))
        return true;
    return infer_error(c, "input 2 '%s' is not a list of %lld numbers, one per output channel", b->name,
                       (long long)channels);
}

/* With output_shape it is a constant. */
static struct size out_size(const struct node *n, const struct axis *a, int i)
{
    const struct size in = shape_size(&node_input(n, 0)->shape, 2 + i),
                      window = shape_size(&node_input(n, 1)->shape, 2 + i),
                      whole = size_sum(size_product(in, size_constant(a->stride)),
                                       size_product(window, size_constant(a->dilation)));
    return (struct size){a->out, node_attr(n, "output_shape") ? 0 : whole.per};
}

static bool transpose_infer(struct infer_ctx *c)
{
    const int rank = window_infer_rank(c, 0);
    struct axis axes[WINDOW_AXES];
    if (rank == 0 || !check_weights(c, rank) || !check_lists(c, rank))
        return false;
    const struct size groups = size_constant(op_attr_int(c->node, "group"));
    struct shape y = SHAPE_OF(shape_size(infer_shape(c, 0), 0), size_product(shape_size(infer_shape(c, 1), 1), groups));
    int64_t channels;
    if (!checked_mul(infer_shape(c, 1)->dim[1], groups.most, &channels))
        return infer_error(c, "there are too many output channels");
    for (int i = 0; i < rank; i++)
        if (infer_shape(c, 0)->dim[2 + i] > INT32_MAX)
            return infer_unsupported(c, "more than %d elements along a spatial axis are not supported", INT32_MAX);
    axes_of(c->node, axes);
    for (int i = 0; i < rank; i++) {
        if (axes[i].out < 0)
            return infer_error(c, "the output would have %lld elements along spatial axis %d", (long long)axes[i].out,
                               i);
        shape_add(&y, out_size(c->node, &axes[i], i));
    }
    return check_bias(c, y.dim[1]) && infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- as other operators ----------------------------------------------------------------------------------------- */

/* The elements [low, high) of the whole map that y has: the rest of y is zeros. A convolution would read behind the
 * last element with as little as one more window, so fewer than `stride` further zeros may belong to it. */
static bool overlap(const struct axis *a, int64_t *low, int64_t *high)
{
    const int64_t end = a->begin + a->out, most = a->whole + a->stride - 1;
    *low = a->begin > 0 ? a->begin : 0;
    *high = end < most ? end : most;
    return a->in > 0 && *low < a->whole && *low < *high;
}

struct inner_conv { /* the part of y that is a derivative of Conv */
    struct shape shape;
    int64_t strides[WINDOW_AXES], dilations[WINDOW_AXES], pads[2 * WINDOW_AXES];
    int64_t around[2 * (2 + WINDOW_AXES)]; /* zeros to add, as Pad counts them */
    bool has_zeros;
};

static bool find_inner(const struct axis *axes, int rank, const struct shape *y, struct inner_conv *v)
{
    *v = (struct inner_conv){.shape = *y};
    for (int i = 0; i < rank; i++) {
        const struct axis *a = &axes[i];
        int64_t low, high;
        if (!overlap(a, &low, &high))
            return false;
        shape_set(&v->shape, 2 + i, (struct size){high - low, y->per[2 + i]});
        v->strides[i] = a->stride;
        v->dilations[i] = a->dilation;
        v->pads[i] = low;
        v->pads[rank + i] = high < a->whole ? a->whole - high : 0;
        v->around[2 + i] = low - a->begin;
        v->around[rank + 4 + i] = a->begin + a->out - high;
        v->has_zeros = v->has_zeros || low != a->begin || high != a->begin + a->out;
    }
    return true;
}

static struct value *build_map(struct expand_ctx *c, const struct shape *y)
{
    struct value *x = expand_in(c, 0), *w = expand_in(c, 1);
    struct axis axes[WINDOW_AXES];
    struct inner_conv v;
    const int rank = axes_of(c->node, axes);
    const size_t count = (size_t)rank;
    if (!find_inner(axes, rank, y, &v))
        return build_expand(c->b, build_like(c, x, 0.0), y);
    struct value *map =
        build_with(c, "stepc.ConvGradInput",
                   ATTRS(attr_ints("dilations", v.dilations, count), attr_int("group", op_attr_int(c->node, "group")),
                         attr_ints("pads", v.pads, 2 * count), attr_dims("shape", &v.shape),
                         attr_ints("strides", v.strides, count)),
                   x, w);
    return v.has_zeros ? build(c, "Pad", map, build_ints(c->b, v.around, 2 * (count + 2))) : map;
}

static bool transpose_expand(struct expand_ctx *c)
{
    const struct shape *y = &node_output(c->node, 0)->shape;
    struct value *map = build_map(c, y), *b = expand_in(c, 2);
    struct shape channels = SHAPE_OF(shape_size(y, 1));
    for (int d = 2; d < y->rank; d++)
        shape_add(&channels, size_constant(1));
    return expand_out(c, 0, b ? build(c, "Add", map, build_reshape(c->b, b, &channels)) : map);
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

/* Terms of one output element, the same for all images and channels: which input meets which weight. */
struct output_terms {
    int64_t count, *x, *w;
    int64_t *along[3]; /* per axis and position of the window: the input that it adds, or -1 */
};

static struct output_terms make_terms(struct arena *scratch, const struct axis a[3])
{
    const size_t size = (size_t)(a[0].size * a[1].size * a[2].size);
    struct output_terms t = {.x = arena_array(scratch, int64_t, size), .w = arena_array(scratch, int64_t, size)};
    for (int i = 0; i < 3; i++)
        t.along[i] = arena_array(scratch, int64_t, (size_t)a[i].size);
    return t;
}

static void find_inputs(const struct axis *a, int64_t at, int64_t *along)
{
    for (int64_t t = 0; t < a->size; t++) {
        const int64_t distance = at + a->begin - t * a->dilation;
        const bool exists = distance >= 0 && distance % a->stride == 0 && distance / a->stride < a->in;
        along[t] = exists ? distance / a->stride : -1;
    }
}

static void find_terms(const struct axis a[3], const int64_t at[3], struct output_terms *t)
{
    const int64_t *p0 = t->along[0], *p1 = t->along[1], *p2 = t->along[2];
    for (int i = 0; i < 3; i++)
        find_inputs(&a[i], at[i], t->along[i]);
    t->count = 0;
    for (int64_t i = 0; i < a[0].size; i++)
        for (int64_t j = 0; j < a[1].size && p0[i] >= 0; j++)
            for (int64_t k = 0; k < a[2].size && p1[j] >= 0; k++) {
                if (p2[k] < 0)
                    continue;
                t->x[t->count] = (p0[i] * a[1].in + p1[j]) * a[2].in + p2[k];
                t->w[t->count++] = (i * a[1].size + j) * a[2].size + k;
            }
}

struct conv_transpose_sizes { /* of the whole node; c, o: channels of one group */
    int64_t n, groups, c, o, in, size, out;
};

/* The sum for image n and channel o, which belongs to one group. */
static double sum_of(const struct eval_ctx *c, const struct conv_transpose_sizes *s, const struct output_terms *t,
                     int64_t n, int64_t o)
{
    const int64_t group = o / s->o;
    double sum = 0;
    for (int64_t k = 0; k < s->c; k++) {
        const int64_t channel = group * s->c + k;
        const double *x = eval_f(c, 0) + (n * s->groups * s->c + channel) * s->in,
                     *w = eval_f(c, 1) + (channel * s->o + o % s->o) * s->size;
        for (int64_t i = 0; i < t->count; i++)
            sum = eval_round(c, sum + eval_round(c, x[t->x[i]] * w[t->w[i]]));
    }
    return sum;
}

static bool transpose_eval(struct eval_ctx *c)
{
    static const struct axis none = {.in = 1, .out = 1, .size = 1, .stride = 1, .dilation = 1, .whole = 1};
    struct axis a[3] = {none, none, none};
    const struct shape *x = &c->in[0]->shape, *w = &c->in[1]->shape;
    axes_of(c->node, a + (3 - (x->rank - 2)));
    const struct conv_transpose_sizes s = {.n = x->dim[0],
                                           .groups = op_attr_int(c->node, "group"),
                                           .c = x->dim[1] / op_attr_int(c->node, "group"),
                                           .o = w->dim[1],
                                           .in = a[0].in * a[1].in * a[2].in,
                                           .size = a[0].size * a[1].size * a[2].size,
                                           .out = a[0].out * a[1].out * a[2].out};
    double *y = eval_out_f(c, 0);
    if (y == NULL || c->out[0]->count == 0)
        return true;
    struct output_terms t = make_terms(c->scratch, a);
    for (int64_t i = 0; i < s.out; i++) {
        const int64_t at[3] = {i / a[2].out / a[1].out, i / a[2].out % a[1].out, i % a[2].out};
        find_terms(a, at, &t);
        for (int64_t n = 0; n < s.n; n++)
            for (int64_t o = 0; o < s.groups * s.o; o++) {
                const double sum = sum_of(c, &s, &t, n, o);
                y[(n * s.groups * s.o + o) * s.out + i] = eval_has(c, 2) ? eval_round(c, sum + eval_f(c, 2)[o]) : sum;
            }
    }
    return true;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text = "g (float[2,3,4,5] x, float[3,4,3,2] w, float[4] b) => (float[2,4,6,6] y) { y = ConvTranspose(x, w, b) }"},
    {.text = "g (double[2,3,4,5] x, double[3,4,3,3] w, double[4] b) => (double[2,4,8,10] y) "
             "{ y = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], output_padding = [1, 1]> (x, w, b) }"},
    {.text = "g (float[2,6,7,5] x, float[6,4,4,4] w, float[8] b) => (float[2,8,14,10] y) "
             "{ y = ConvTranspose <strides = [2, 2], pads = [1, 1, 1, 1], group = 2> (x, w, b) }"},
    {.text = "g (double[1,4,3,4] x, double[4,1,2,3] w) => (double[1,4,11,10] y) "
             "{ y = ConvTranspose <strides = [3, 2], group = 4, pads = [0, 0, -3, -1]> (x, w) }"},
    {.text = "g (double[1,2,3,3] x, double[2,3,2,3] w, double[3] b) => (double[1,3,12,16] y) "
             "{ y = ConvTranspose <strides = [5, 7], pads = [0, 1, 0, 0]> (x, w, b) }"},
    {.text = "g (double[1,2,3,3] x, double[2,3,2,2] w) => (double[1,3,5,7] y) "
             "{ y = ConvTranspose <dilations = [2, 3], strides = [1, 2], pads = [-1, 0, 1, 1]> (x, w) }"},
    {.text = "g (double[1,1,3,3] x, double[1,2,3,3] w) => (double[1,2,10,8] y) "
             "{ y = ConvTranspose <strides = [3, 2], output_shape = [10, 8]> (x, w) }"},
    {.text = "g (double[1,2,3,3] x, double[2,3,3,3] w, double[3] b) => (double[1,3,6,4] y) "
             "{ y = ConvTranspose <strides = [2, 2], output_shape = [6, 4], kernel_shape = [3, 3], pads = [9, 9, 9, "
             "9]> (x, w, b) }"},
    {.text = "g (double[1,2,3,3] x, double[2,3,3,3] w) => (double[1,3,6,4] y) "
             "{ y = ConvTranspose <strides = [2, 2], output_shape = [6, 4], output_padding = [1, 0], auto_pad = "
             "\"SAME_UPPER\"> (x, w) }"},
    {.text = "g (float[1,1,3,4] x, float[1,2,3,3] w) => (float[1,2,6,8] y) "
             "{ y = ConvTranspose <strides = [2, 2], auto_pad = \"SAME_UPPER\"> (x, w) }"},
    {.text = "g (float[1,1,3,4] x, float[1,2,3,2] w) => (float[1,2,6,12] y) "
             "{ y = ConvTranspose <strides = [2, 3], auto_pad = \"SAME_LOWER\"> (x, w) }"},
    {.text = "g (double[1,2,3,3] x, double[2,1,2,2] w) => (double[1,1,4,4] y) "
             "{ y = ConvTranspose <auto_pad = \"VALID\", pads = [1, 1, 1, 1]> (x, w) }",
     .opset = 10},
    {.text = "g (double[2,3,9] x, double[3,4,5] w, double[4] b) => (double[2,4,21] y) "
             "{ y = ConvTranspose <strides = [2], output_padding = [2], pads = [1, 1]> (x, w, b) }",
     .opset = 1},
    {.text = "g (float[2,3,2,3,4] x, float[3,2,2,3,2] w, float[2] b) => (float[2,2,4,6,8] y) "
             "{ y = ConvTranspose <strides = [2, 2, 2], pads = [0, 1, 0, 0, 0, 0]> (x, w, b) }"},
    {.text = "g (double[1,2,4,4] x, double[2,3,3,3] w) => (double[1,3,4,4] y) "
             "{ y = ConvTranspose <pads = [1, 1, 1, 1]> (x, w) }"},
    {.text = "g (float[2,9,5,4] x, float[9,10,1,1] w, float[10] b) => (float[2,10,5,4] y) "
             "{ y = ConvTranspose(x, w, b) }"},
    {.text = "g (float[1,2,3,3] x, float[2,2,2,2] w, float[2] b) => (float[1,2,1,1] y) "
             "{ y = ConvTranspose <pads = [3, 3, 0, 0]> (x, w, b) }"},
    {.text = "g (double[1,2,3,3] x, double[2,2,2,2] w, double[2] b) => (double[1,2,5,4] y) "
             "{ y = ConvTranspose <pads = [5, 0, -6, 0]> (x, w, b) }"},
    {.text = "g (float[1,2,3,0] x, float[2,2,2,3] w, float[2] b) => (float[1,2,4,2] y) { y = ConvTranspose(x, w, b) }"},
    {.text = "g (float[2,0,3,3] x, float[0,2,2,2] w, float[2] b) => (float[2,2,4,4] y) { y = ConvTranspose(x, w, b) }"},
    {.text = "g (float[0,2,3,3] x, float[2,2,2,2] w) => (float[0,2,4,4] y) { y = ConvTranspose(x, w) }"},
    {.text = "g (float16[1,2,3,3] x, float16[2,3,3,3] w, float16[3] b) => (float16[1,3,7,7] y) "
             "{ y = ConvTranspose <strides = [2, 2]> (x, w, b) }"},
    {.text = "g (float[1,3,4,4] x, float[2,3,3,3] w) => (float[1,2,2,2] y) "
             "{ y = ConvTranspose(x, w) }",
     .error = "is for 2 channels, expected 3"},
    {.text = "g (float[1,3,4,4] x, float[3,3,3] w) => (float[1,2,2,2] y) "
             "{ y = ConvTranspose(x, w) }",
     .error = "has rank 3, expected 4"},
    {.text = "g (float[1,3,4,4] x, float[3,2,3,3] w) => (float[1,4,6,6] y) { y = ConvTranspose <group = 2> (x, w) }",
     .error = "cannot be divided into 2 groups"},
    {.text = "g (float[1,3,4,4] x, float[3,2,3,3] w, float[3] b) => (float[1,2,6,6] y) { y = ConvTranspose(x, w, b) }",
     .error = "not a list of 2 numbers"},
    {.text = "g (float[1,3,4,4] x, float[3,2,3,3] w) => (float[1,2,6,6] y) "
             "{ y = ConvTranspose <kernel_shape = [3, 2]> (x, w) }",
     .error = "has 2 for spatial axis 1"},
    {.text = "g (float[1,3,4,4] x, float[3,2,3,3] w) => (float[1,2,6,6] y) "
             "{ y = ConvTranspose <output_shape = [1, 2, 6, 6]> (x, w) }",
     .error = "attribute 'output_shape' has 4 numbers, expected 2"},
    {.text = "g (float[1,3,4,4] x, float[3,2,3,3] w) => (float[1,2,6,6] y) "
             "{ y = ConvTranspose <auto_pad = \"SAME\"> (x, w) }",
     .error = "expected NOTSET"},
    {.text = "g (float[1,3,4,4] x, float[3,2,3,3] w) => (float[1,2,6,6] y) "
             "{ y = ConvTranspose <pads = [9, 0, 0, 0]> (x, w) }",
     .error = "would have -3 elements along spatial axis 0"},
    {.text = "g (float[3,4] x, float[3,2] w) => (float[1,2] y) "
             "{ y = ConvTranspose(x, w) }",
     .error = "has rank 2, expected 3 to 5"},
    {0}};

const struct op_def op_defs_conv_transpose[] = {{.name = "ConvTranspose",
                                                 .versions = versions,
                                                 .inputs = inputs,
                                                 .outputs = outputs,
                                                 .attrs = attrs,
                                                 .infer = transpose_infer,
                                                 .axes = axes_samples,
                                                 .expand = transpose_expand,
                                                 .eval = transpose_eval,
                                                 .is_sum = true,
                                                 .samples = samples},
                                                {0}};
