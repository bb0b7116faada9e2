/* Col2Im, and the two maps that it is made of, with no padding. x is [n, c, in...], v [n, c, t..., o...]: positions t
 * of windows o.
 *   Windows       v[n,c,t,o] = x[n,c, o * stride + t * dilation]          a view: costs nothing
 *   WindowsGrad   x[n,c,i] = the sum of v[n,c,t,o] over all t and o with o * stride + t * dilation = i, in the order of
 *                 t, from +0
 * Each is the derivative of the other. A sum over the last axis of x where that has one element takes 16 lanes, as any
 * sum along the last axis does. Col2Im is WindowsGrad into the image with its padding, which is then cut off.
 * Spec: ONNX Col2Im-18. */
#include "ops/move_rules.h"
#include "ops/window_rules.h"

#include "base/checked.h"

#define NEEDED(label)                                                                                                  \
    {                                                                                                                  \
        .name = (label), .type = ATTR_INTS, .required = true                                                           \
    }
static const struct op_attr windows_attrs[] = {
    WINDOW_LIST("dilations"), NEEDED("kernel_shape"), WINDOW_LIST("strides"), {0}};
static const struct op_attr grad_attrs[] = {
    WINDOW_LIST("dilations"), NEEDED("kernel_shape"), NEEDED("shape"), WINDOW_LIST("strides"), {0}};
static const struct op_attr col2im_attrs[] = {
    WINDOW_LIST("dilations"), WINDOW_LIST("pads"), WINDOW_LIST("strides"), {0}};
#define PARAM(label)                                                                                                   \
    {                                                                                                                  \
        .name = (label), .type = 'T', .dtypes = DTYPES_NUMERIC                                                         \
    }
static const struct op_param windows_inputs[] = {PARAM("x"), {0}}, windows_outputs[] = {PARAM("v"), {0}};
static const struct op_param grad_inputs[] = {PARAM("v"), {0}}, grad_outputs[] = {PARAM("x"), {0}};
static const struct op_param col2im_inputs[] = {
    PARAM("input"),
    {.name = "image_shape", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
    {.name = "block_shape", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
    {0}};
static const struct op_param col2im_outputs[] = {PARAM("output"), {0}};
static const struct op_version versions[] = {{.since = 1}, {0}}, col2im_versions[] = {{.since = 18}, {0}};

/* ---- Windows and WindowsGrad: shapes ---------------------------------------------------------------------------- */

static struct window window_over(const struct node *n, const struct shape *x)
{
    return window_of_kernel(n, x);
}

static struct shape shape_of_windows(const struct window *w, const struct shape *x)
{
    const struct shape weights = window_weights(w, size_constant(1), size_constant(1));
    struct shape v = SHAPE_OF(shape_size(x, 0), shape_size(x, 1));
    for (int i = 0; i < w->rank; i++)
        shape_take(&v, &weights, 2 + i);
    for (int i = 0; i < w->rank; i++)
        shape_add(&v, window_out_size(&w->axis[WINDOW_AXES - w->rank + i]));
    return v;
}

static bool windows_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    struct shape size;
    struct window w;
    if (window_infer_rank(c, 0) == 0 || !window_infer_kernel(c, x->rank - 2, true, &size) ||
        !window_infer(c, x, &size, &w))
        return false;
    const struct shape v = shape_of_windows(&w, x);
    return infer_out(c, 0, DTYPE_UNDEFINED, &v);
}

static bool windows_grad_infer(struct infer_ctx *c)
{
    const struct shape x = window_shape(c->node), *v = infer_shape(c, 0);
    struct shape size;
    struct window w;
    for (int d = 0; d < x.rank; d++)
        if (x.dim[d] < 0)
            return infer_error(c, "attribute 'shape' contains %lld", (long long)x.dim[d]);
    if (x.rank < 3 || x.rank > 2 + WINDOW_AXES)
        return infer_error(c, "attribute 'shape' has %d numbers, expected 3 to 5", x.rank);
    if (!window_infer_kernel(c, x.rank - 2, true, &size) || !window_infer(c, &x, &size, &w))
        return false;
    const struct shape expected = shape_of_windows(&w, &x);
    if (!shape_equal(v, &expected))
        return infer_error(c, "input 0 '%s' has shape %s, expected %s", infer_in(c, 0)->name,
                           shape_text(c->graph->arena, v), shape_text(c->graph->arena, &expected));
    return infer_out(c, 0, DTYPE_UNDEFINED, &x);
}

/* ---- gradients -------------------------------------------------------------------------------------------------- */

static struct value *build_windows(struct builder *b, const char *op, struct value *v, const struct window *w,
                                   const struct shape *shape)
{
    struct window_attrs a;
    window_make_attrs(w, &a);
    const struct attr kernel = a.attr[0], stride = a.attr[1], dilation = a.attr[2];
    const struct attr *attrs =
        shape == NULL ? ATTRS(kernel, stride, dilation)
                      : ATTRS(kernel, stride, dilation, attr_dims("shape", shape));
    return build_value(b, op, attrs, &v, 1);
}

static bool windows_grad(struct grad_ctx *c)
{
    const struct shape *x = &grad_input(c, 0)->shape;
    const struct window w = window_over(c->node, x);
    return grad_accumulate(c, 0, build_windows(c->b, "stepc.WindowsGrad", grad_of_output(c, 0), &w, x));
}

static bool windows_grad_grad(struct grad_ctx *c)
{
    const struct shape x = window_shape(c->node);
    const struct window w = window_over(c->node, &x);
    return grad_accumulate(c, 0, build_windows(c->b, "stepc.Windows", grad_of_output(c, 0), &w, NULL));
}

/* ---- for other runtimes ----------------------------------------------------------------------------------------- */

/* Which element position t of window o reads, [t o], and how many there are. */
static struct value *build_places(struct builder *b, const struct window_axis *a)
{
    struct tensor *const t = tensor_new(b->graph->arena, DTYPE_INT64, &SHAPE(a->size * a->out));
    for (int64_t k = 0; k < t->count; k++)
        tensor_set_int(t, k, k % a->out * a->stride + k / a->out * a->dilation);
    return build_constant(b, t);
}

/* [n, c, t, o, t, o...] and back to [n, c, t..., o...]; *apart: the former's shape. */
static void pair_axes(const struct window *w, const struct shape *v, struct shape *apart, int *there, int *back)
{
    *apart = SHAPE_OF(shape_size(v, 0), shape_size(v, 1));
    for (int d = 0; d < 2; d++)
        there[d] = back[d] = d;
    for (int i = 0; i < 2 * w->rank; i++) {
        const int from = 2 + i / 2 + (i % 2 != 0 ? w->rank : 0);
        there[2 + i] = from;
        back[from] = 2 + i;
        shape_take(apart, v, from);
    }
}

/* A Gather along each axis. */
static bool windows_plain(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    const struct window w = window_over(c->node, &x->shape);
    struct shape apart;
    int there[SHAPE_MAX_RANK], back[SHAPE_MAX_RANK];
    pair_axes(&w, &node_output(c->node, 0)->shape, &apart, there, back);
    for (int i = 0; i < w.rank; i++)
        x = build_with(c, "Gather", ATTRS(attr_int("axis", 2 + i)), x,
                       build_places(c->b, &w.axis[WINDOW_AXES - w.rank + i]));
    return expand_out(c, 0, build_transpose(c->b, build_reshape(c->b, x, &apart), back));
}

/* A scattered sum along each axis. */
static bool windows_grad_plain(struct expand_ctx *c)
{
    const struct shape to = window_shape(c->node);
    const struct window w = window_over(c->node, &to);
    struct shape apart, x = to;
    int there[SHAPE_MAX_RANK], back[SHAPE_MAX_RANK];
    pair_axes(&w, &expand_in(c, 0)->shape, &apart, there, back);
    struct value *v = build_transpose(c->b, expand_in(c, 0), there);
    for (int i = 0; i < w.rank; i++)
        shape_set(&x, 2 + i, shape_size_range(&apart, 2 + 2 * i, 4 + 2 * i));
    for (int i = 0; i < w.rank; i++) {
        const struct size one = size_constant(1), rows = shape_size(&x, 2 + i), size = shape_size(&to, 2 + i),
                          inner = shape_size_range(&x, 3 + i, x.rank);
        struct value *places = build_places(c->b, &w.axis[WINDOW_AXES - w.rank + i]);
        places = build_reshape(c->b, places, &SHAPE_OF(one, rows, one));
        v = build_reshape(c->b, v, &SHAPE_OF(shape_size_range(&x, 0, 2 + i), rows, inner));
        v = build_with(c, "stepc.Scatter", ATTRS(attr_size("size", &size)), places, v);
        shape_set(&x, 2 + i, size);
    }
    return expand_out(c, 0, build_reshape(c->b, v, &to));
}

/* ---- values ----------------------------------------------------------------------------------------------------- */

static bool windows_eval(struct eval_ctx *c)
{
    const struct window w = window_over(c->node, &c->in[0]->shape);
    const int64_t size = window_size(&w), in = window_in_count(&w), out = window_out_count(&w);
    int64_t *from = arena_array(c->scratch, int64_t, (size_t)c->out[0]->count);
    for (int64_t k = 0; k < c->out[0]->count; k++)
        from[k] = k / out / size * in + window_element(&w, k % out, k / out % size);
    eval_gather(c, from);
    return true;
}

/* The window that reads element i at position t, all of them row-major numbers; -1: none. */
static int64_t window_that_reads(const struct window *w, int64_t i, int64_t t)
{
    int64_t out = 0, unit = 1;
    for (int d = WINDOW_AXES - 1; d >= 0; d--) {
        const struct window_axis *a = &w->axis[d];
        const int64_t distance = i % a->in - t % a->size * a->dilation;
        if (distance < 0 || distance % a->stride != 0 || distance / a->stride >= a->out)
            return -1;
        out += distance / a->stride * unit;
        unit *= a->out;
        i /= a->in;
        t /= a->size;
    }
    return out;
}

static double sum_of(struct eval_ctx *c, const double *v, const int64_t *at, int64_t size, double *terms, bool in_lanes)
{
    double sum = 0;
    for (int64_t t = 0; t < size; t++) {
        terms[t] = at[t] < 0 ? 0 : v[at[t]];
        sum = eval_round(c, sum + terms[t]);
    }
    return in_lanes ? eval_sum_lanes(c, c->in[0]->dtype, terms, size, 1) : sum;
}

static int64_t sum_of_ints(const struct eval_ctx *c, const int64_t *v, const int64_t *at, int64_t size)
{
    int64_t sum = 0;
    for (int64_t t = 0; t < size; t++)
        if (at[t] >= 0)
            sum = eval_int_binary(c->in[0]->dtype, '+', sum, v[at[t]]);
    return sum;
}

static bool windows_grad_eval(struct eval_ctx *c)
{
    const struct eval_tensor *v = eval_input(c, 0);
    const struct shape shape = window_shape(c->node);
    const struct window w = window_over(c->node, &shape);
    const int64_t size = window_size(&w), in = window_in_count(&w), out = window_out_count(&w),
                  planes = shape.dim[0] * shape.dim[1];
    int64_t *at = arena_array(c->scratch, int64_t, (size_t)size);
    double *terms = arena_array(c->scratch, double, (size_t)size);
    for (int64_t i = 0; eval_wants(c, 0) && i < in; i++) {
        for (int64_t t = 0; t < size; t++) {
            const int64_t o = window_that_reads(&w, i, t);
            at[t] = o < 0 ? -1 : t * out + o;
        }
        for (int64_t p = 0; p < planes; p++) {
            if (v->f != NULL)
                eval_out_f(c, 0)[p * in + i] =
                    sum_of(c, v->f + p * size * out, at, size, terms, w.axis[WINDOW_AXES - 1].in == 1);
            else
                eval_out_i(c, 0)[p * in + i] = sum_of_ints(c, v->i + p * size * out, at, size);
        }
    }
    return true;
}

/* ---- code ------------------------------------------------------------------------------------------------------- */

static bool windows_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0);
    const struct window w = window_over(c->node, &x.shape);
    struct view v = {
        .buffer = x.buffer, .offset = x.offset, .shape = *lower_out_shape(c, 0), .stride = {x.stride[0], x.stride[1]}};
    for (int i = 0; i < w.rank; i++) {
        const struct window_axis *a = &w.axis[WINDOW_AXES - w.rank + i];
        v.stride[2 + i] = a->dilation * x.stride[2 + i];
        v.stride[2 + w.rank + i] = a->stride * x.stride[2 + i];
    }
    return lower_as_view(c, 0, &v);
}

/* Along one axis, in the loops `i` over elements and `t` over positions: the window, and does it exist (*exists is NULL
 * to begin with)? */
static const struct expr *window_at_loops(struct arena *a, const struct window_axis *w, int i, int t,
                                          const struct expr **exists)
{
    const struct expr *zero = expr_int(a, DTYPE_INT64, 0), *stride = expr_int(a, DTYPE_INT64, w->stride);
    const struct expr *before = expr_binary(a, EXPR_MUL, expr_index(a, t), expr_int(a, DTYPE_INT64, w->dilation));
    const struct expr *distance = expr_binary(a, EXPR_SUB, expr_index(a, i), before);
    const struct expr *o = w->stride == 1 ? distance : expr_binary(a, EXPR_DIV, distance, stride);
    const struct expr *ok = expr_binary(a, EXPR_AND, expr_binary(a, EXPR_LE, zero, distance),
                                        expr_binary(a, EXPR_LT, o, expr_int(a, DTYPE_INT64, w->out)));
    if (w->stride > 1)
        ok = expr_binary(a, EXPR_AND, ok, expr_binary(a, EXPR_EQ, expr_binary(a, EXPR_MOD, distance, stride), zero));
    *exists = *exists == NULL ? ok : expr_binary(a, EXPR_AND, *exists, ok);
    return expr_select(a, ok, o, zero);
}

/* Loops over n, c and the elements but the last axis, then over the window, then over the last axis: its sums stand
 * side by side. */
static bool windows_grad_lower(struct lower_ctx *c)
{
    const struct view v = lower_view_of(c, 0), x = lower_out_view(c, 0);
    const struct window w = window_over(c->node, &x.shape);
    const int rank = w.rank, tap = 1 + rank, last = 1 + 2 * rank;
    struct shape loops = {.rank = 2 + 2 * rank};
    shape_set(&loops, 0, shape_size(&x.shape, 0));
    shape_set(&loops, 1, shape_size(&x.shape, 1));
    struct view to = {.buffer = x.buffer, .offset = x.offset, .stride = {x.stride[0], x.stride[1]}};
    struct access from = {.buffer = v.buffer, .offset = v.offset, .stride = {v.stride[0], v.stride[1]}};
    const struct expr *exists = NULL;
    if (shape_count(&x.shape) == 0)
        return true;
    if (shape_count(&v.shape) == 0)
        return move_fill_and_place(c, move_zero(c, lower_out_dtype(c, 0)), NULL, NULL);
    for (int i = 0; i < rank; i++) {
        const int element = i == rank - 1 ? last : 2 + i;
        shape_set(&loops, element, shape_size(&x.shape, 2 + i));
        shape_set(&loops, tap + i, shape_size(&v.shape, 2 + i));
        to.stride[element] = x.stride[2 + i];
        from.stride[tap + i] = v.shape.dim[2 + i] == 1 ? 0 : v.stride[2 + i];
        const struct window_axis *a = &w.axis[WINDOW_AXES - rank + i];
        from.term[from.term_count++] =
            (struct access_term){.index = window_at_loops(c->arena, a, element, tap + i, &exists),
                                 .stride = v.stride[2 + rank + i],
                                 .extent = a->out};
    }
    to.shape = loops;
    lower_kernel(c, NULL);
    struct part *p = lower_part(c, &loops);
    for (int i = 0; i < rank; i++)
        p->reduced[tap + i] = true;
    p->reduce = REDUCE_SUM;
    p->element = expr_select(c->arena, exists, lower_load_at(c, &from), move_zero(c, lower_dtype(c, 0)));
    lower_store(c, p, &to, expr_result(c->arena, p->element->dtype));
    return true;
}

/* ---- Col2Im ------------------------------------------------------------------------------------------------------ */

/* The window over the image with its padding, from lists that were looked at. */
static struct window padded_window(const struct node *n, const int64_t *image, const int64_t *block, int rank)
{
    struct window w = {.rank = rank};
    const int64_t *strides, *dilations, *pads;
    size_t count;
    op_attr_ints(n, "strides", &strides, &count);
    op_attr_ints(n, "dilations", &dilations, &count);
    op_attr_ints(n, "pads", &pads, &count);
    for (int i = 0; i < WINDOW_AXES; i++)
        w.axis[i] = (struct window_axis){.in = 1, .out = 1, .size = 1, .stride = 1, .dilation = 1};
    for (int i = 0; i < rank; i++) {
        struct window_axis *a = &w.axis[WINDOW_AXES - rank + i];
        a->pad_begin = pads ? pads[i] : 0;
        a->pad_end = pads ? pads[rank + i] : 0;
        a->in = image[i] + a->pad_begin + a->pad_end;
        a->size = block[i];
        a->stride = strides ? strides[i] : 1;
        a->dilation = dilations ? dilations[i] : 1;
        const int64_t room = a->in - (a->size - 1) * a->dilation - 1;
        a->out = room < 0 ? 0 : room / a->stride + 1;
    }
    return w;
}

static bool check_sizes(struct infer_ctx *c, const char *what, const int64_t *x, size_t count, int64_t least)
{
    for (size_t i = 0; i < count; i++)
        if (x[i] < least || x[i] > INT32_MAX)
            return infer_error(c, "%s contains %lld, expected numbers from %lld to %d", what, (long long)x[i],
                               (long long)least, INT32_MAX);
    return true;
}

static bool col2im_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    const int64_t *image, *block, *list;
    size_t rank, count;
    if (x->rank != 3)
        return infer_error(c, "input 0 '%s' has rank %d, expected 3: [N, C times block, windows]", infer_in(c, 0)->name,
                           x->rank);
    if (!infer_known_ints(c, 1, &image, &rank) || !infer_known_ints(c, 2, &block, &count))
        return false;
    if (rank != count)
        return infer_error(c, "image_shape has %zu numbers, block_shape has %zu", rank, count);
    if (rank < 1 || rank > WINDOW_AXES)
        return infer_unsupported(c, "an image of %zu axes is not supported: 1 to %d are", rank, WINDOW_AXES);
    if (!check_sizes(c, "image_shape", image, rank, 0) || !check_sizes(c, "block_shape", block, rank, 1) ||
        !window_infer_list(c, "strides", rank, 1, &list) || !window_infer_list(c, "dilations", rank, 1, &list) ||
        !window_infer_list(c, "pads", 2 * rank, 0, &list))
        return false;
    const struct window w = padded_window(c->node, image, block, (int)rank);
    struct shape padded = SHAPE_OF(shape_size(x, 0));
    for (int i = 0; i < WINDOW_AXES; i++)
        shape_add(&padded, window_in_size(&w.axis[i]));
    int64_t size = 1, windows = 1, elements;
    if (!shape_count_checked(&padded, &elements))
        return infer_error(c, "the image with its padding has too many elements");
    for (int i = 0; i < WINDOW_AXES; i++)
        if (!checked_mul(size, w.axis[i].size, &size) || !checked_mul(windows, w.axis[i].out, &windows))
            return infer_error(c, "there are too many elements");
    if (x->dim[1] % size != 0)
        return infer_error(c, "dimension 1 of input 0 '%s' is %lld, not a multiple of the %lld elements of a block",
                           infer_in(c, 0)->name, (long long)x->dim[1], (long long)size);
    if (x->dim[2] != windows)
        return infer_error(c, "input 0 '%s' has %lld windows, expected %lld", infer_in(c, 0)->name,
                           (long long)x->dim[2], (long long)windows);
    struct shape y = SHAPE_OF(shape_size(x, 0), size_quotient(shape_size(x, 1), size));
    for (size_t i = 0; i < rank; i++)
        shape_add(&y, size_constant(image[i]));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* The same for a node that inference has passed. */
static struct window col2im_window(struct arena *a, const struct node *n)
{
    size_t rank;
    const int64_t *image = move_known_ints(a, n, 1, &rank), *block = move_known_ints(a, n, 2, &rank);
    return padded_window(n, image, block, (int)rank);
}

static bool col2im_expand(struct expand_ctx *c)
{
    const struct shape *y = &node_output(c->node, 0)->shape;
    const struct window w = col2im_window(c->b->graph->arena, c->node);
    struct shape padded = *y;
    struct shape end = *y;
    int64_t start[2 + WINDOW_AXES] = {0};
    if (window_out_count(&w) == 0)
        return expand_out(c, 0, build_expand(c->b, build_like(c, expand_in(c, 0), 0.0), y));
    for (int i = 0; i < w.rank; i++) {
        const struct window_axis *a = &w.axis[WINDOW_AXES - w.rank + i];
        shape_set(&padded, 2 + i, size_constant(a->in));
        start[2 + i] = a->pad_begin;
        shape_set(&end, 2 + i, size_constant(a->in - a->pad_end));
    }
    const struct shape apart = shape_of_windows(&w, &padded);
    struct value *v =
        build_windows(c->b, "stepc.WindowsGrad", build_reshape(c->b, expand_in(c, 0), &apart), &w, &padded);
    if (!shape_equal(&padded, y))
        v = build(c, "Slice", v, build_ints(c->b, start, (size_t)y->rank), build_dims(c->b, &end));
    return expand_out(c, 0, v);
}

/* Each element goes where it belongs, or into the padding. */
static bool col2im_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct window w = col2im_window(c->scratch, c->node);
    struct window whole = w; /* over the padding as well */
    for (int d = 0; d < WINDOW_AXES; d++)
        whole.axis[d].pad_begin = whole.axis[d].pad_end = 0;
    const int64_t size = window_size(&w), out = window_out_count(&w);
    for (int64_t k = 0; eval_wants(c, 0) && k < x->count; k++) {
        int64_t i = window_element(&whole, k % out, k / out % size), at = 0, unit = 1;
        bool inside = true;
        for (int d = WINDOW_AXES - 1; d >= 0; d--) {
            const struct window_axis *a = &w.axis[d];
            const int64_t p = i % a->in - a->pad_begin, length = a->in - a->pad_begin - a->pad_end;
            inside = inside && p >= 0 && p < length;
            at += p * unit;
            unit *= length;
            i /= a->in;
        }
        at += k / out / size * unit;
        if (inside && x->f != NULL)
            eval_out_f(c, 0)[at] += x->f[k];
        else if (inside)
            eval_out_i(c, 0)[at] = eval_int_binary(x->dtype, '+', eval_out_i(c, 0)[at], x->i[k]);
    }
    return true;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

#define TWO "i = Constant <value_ints = [5, 6]> () b = Constant <value_ints = [2, 3]> () "
static const struct op_sample col2im_samples[] = {
    {.text = "g (float[2,18,16] x) => (float[2,3,5,6] y) { " TWO "y = Col2Im(x, i, b) }"},
    {.text = "g (double[1,6,9] x) => (double[1,1,5,6] y) { " TWO
             "y = Col2Im <strides = [2, 2], pads = [1, 1, 0, 1]> (x, i, b) }"},
    {.text = "g (double[1,6,6] x) => (double[1,1,5,6] y) { " TWO "y = Col2Im <dilations = [3, 2]> (x, i, b) }",
     .error = "has 6 windows"},
    {.text = "g (double[1,6,4] x) => (double[1,1,5,6] y) { " TWO "y = Col2Im <dilations = [3, 2]> (x, i, b) }"},
    {.text = "g (float[2,6,4] x) => (float[2,2,8] y) { i = Constant <value_ints = [8]> () b = Constant <value_ints = "
             "[3]> () "
             "y = Col2Im <strides = [2], pads = [1, 0]> (x, i, b) }"},
    {.text = "g (float[1,16,8] x) => (float[1,2,3,3,3] y) { i = Constant <value_ints = [3, 3, 3]> () b = Constant "
             "<value_ints = [2, 2, 2]> () "
             "y = Col2Im(x, i, b) }"},
    {.text = "g (float[2,40,3] x) => (float[2,2,22,1] y) { i = Constant <value_ints = [22, 1]> () b = Constant "
             "<value_ints = [20, 1]> () "
             "y = Col2Im(x, i, b) }"},
    {.text = "g (int32[1,4,4] x) => (int32[1,1,3,3] y) { i = Constant <value_ints = [3, 3]> () b = Constant "
             "<value_ints = [2, 2]> () "
             "y = Col2Im(x, i, b) }",
     .no_gradient = true},
    {.text = "g (float16[1,4,4] x) => (float16[1,1,3,3] y) { i = Constant <value_ints = [3, 3]> () b = Constant "
             "<value_ints = [2, 2]> () "
             "y = Col2Im(x, i, b) }"},
    {.text = "g (float[1,4,0] x) => (float[1,1,1,3] y) { i = Constant <value_ints = [1, 3]> () b = Constant "
             "<value_ints = [2, 2]> () "
             "y = Col2Im(x, i, b) }"},
    {.text = "g (float[1,5,16] x) => (float[1,1,5,6] y) { " TWO "y = Col2Im(x, i, b) }",
     .error = "not a multiple of the 6 elements"},
    {.text = "g (float[1,6,16] x) => (float[1,1,5,6] y) { i = Constant <value_ints = [-5, 6]> () b = Constant "
             "<value_ints = [2, 3]> () "
             "y = Col2Im(x, i, b) }",
     .error = "image_shape contains -5, expected numbers from 0"},
    {.text = "g (float[1,6,16] x) => (float[1,1,5,6] y) { i = Constant <value_ints = [5, 6]> () b = Constant "
             "<value_ints = [0, 3]> () "
             "y = Col2Im(x, i, b) }",
     .error = "block_shape contains 0, expected numbers from 1"},
    {.text = "g (float[1,6,16] x) => (float[1,1,5,6] y) { i = Constant <value_ints = [5, 6]> () b = Constant "
             "<value_ints = [2, 2147483648]> () "
             "y = Col2Im(x, i, b) }",
     .error = "block_shape contains 2147483648"},
    {.text = "g (float[1,6,16] x, int64[2] i, int64[2] b) => (float[1,1,5,6] y) { y = Col2Im(x, i, b) }",
     .error = "known at compile time"},
    {0}};
static const struct op_sample windows_samples[] = {
    {.text = "g (float[2,3,6,7] x) => (float[2,3,2,3,5,5] v) { v = stepc.Windows <kernel_shape = [2, 3]> (x) }"},
    {.text = "g (double[1,2,9] x) => (double[1,2,2,3] v) { v = stepc.Windows <kernel_shape = [2], strides = [3], "
             "dilations = [2]> (x) }"},
    {.text =
         "g (double[1,2,3,4,5] x) => (double[1,2,2,2,2,2,3,4] v) { v = stepc.Windows <kernel_shape = [2, 2, 2]> (x) }"},
    {.text = "g (float[1,2,3] x) => (float[1,2,4,0] v) { v = stepc.Windows <kernel_shape = [4]> (x) }",
     .error = "does not fit"},
    {0}};
static const struct op_sample windows_grad_samples[] = {
    {.text = "g (float[2,3,2,3,5,5] v) => (float[2,3,6,7] x) { x = stepc.WindowsGrad <kernel_shape = [2, 3], shape = "
             "[2, 3, 6, 7]> (v) }"},
    {.text = "g (double[1,2,2,3] v) => (double[1,2,9] x) "
             "{ x = stepc.WindowsGrad <kernel_shape = [2], strides = [3], dilations = [2], shape = [1, 2, 9]> (v) }"},
    {.text = "g (float[1,2,2,4] v) => (float[1,2,9] x) { x = stepc.WindowsGrad <kernel_shape = [2], shape = [1, 2, 9]> "
             "(v) }",
     .error = "has shape [1,2,2,4], expected [1,2,2,8]"},
    {.text = "g (float[1,2,2,8] v) => (float[1,2,9] x) { x = stepc.WindowsGrad <kernel_shape = [2], shape = [-1, 2, "
             "9]> (v) }",
     .error = "attribute 'shape' contains -1"},
    {0}};

const struct op_def op_defs_col2im[] = {{.name = "Col2Im",
                                         .versions = col2im_versions,
                                         .inputs = col2im_inputs,
                                         .outputs = col2im_outputs,
                                         .attrs = col2im_attrs,
                                         .infer = col2im_infer,
                                         .expand = col2im_expand,
                                         .eval = col2im_eval,
                                         .samples = col2im_samples},
                                        {.domain = DOMAIN_STEPC,
                                         .name = "Windows",
                                         .versions = versions,
                                         .inputs = windows_inputs,
                                         .outputs = windows_outputs,
                                         .attrs = windows_attrs,
                                         .infer = windows_infer,
                                         .grad = windows_grad,
                                         .plain = windows_plain,
                                         .eval = windows_eval,
                                         .lower = windows_lower,
                                         .samples = windows_samples},
                                        {.domain = DOMAIN_STEPC,
                                         .name = "WindowsGrad",
                                         .versions = versions,
                                         .inputs = grad_inputs,
                                         .outputs = grad_outputs,
                                         .attrs = grad_attrs,
                                         .infer = windows_grad_infer,
                                         .grad = windows_grad_grad,
                                         .plain = windows_grad_plain,
                                         .eval = windows_grad_eval,
                                         .lower = windows_grad_lower,
                                         .samples = windows_grad_samples},
                                        {0}};
