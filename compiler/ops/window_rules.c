/* Sizes of windows. With k = (size - 1) * dilation + 1, the reach of a window, and p = pad_begin + pad_end:
 *   out = floor((in + p - k) / stride) + 1        ceil_mode: ceil(...) + 1, but no window that starts behind the
 *                                                 input and its padding in front
 *   SAME_UPPER, SAME_LOWER   out = ceil(in / stride), p = max((out - 1) * stride + k - in, 0), the odd one
 *                            at the end or in front
 *   VALID                    p = 0
 * Where auto_pad is not NOTSET, pads is ignored. Spec: ONNX Conv-11, MaxPool-12, AveragePool-19. */
#include "ops/window_rules.h"

#include <string.h>

#define MOST INT32_MAX /* of each attribute: products of two stay far below int64's limit */

/* ---- attributes -------------------------------------------------------------------------------------------------- */

static bool check_range(struct infer_ctx *c, const char *name, int64_t x, int64_t least)
{
    if (x >= least && x <= MOST)
        return true;
    return infer_error(c, "attribute '%s' contains %lld, expected numbers from %lld to %lld", name, (long long)x,
                       (long long)least, (long long)MOST);
}

bool window_infer_list(struct infer_ctx *c, const char *name, size_t expected, int64_t least, const int64_t **x)
{
    size_t count = 0;
    *x = NULL;
    if (!op_attr_ints(c->node, name, x, &count)) {
        *x = NULL;
        return true;
    }
    if (count != expected)
        return infer_error(c, "attribute '%s' has %zu numbers, expected %zu", name, count, expected);
    for (size_t i = 0; i < count; i++)
        if (!check_range(c, name, (*x)[i], least))
            return false;
    return true;
}

int window_infer_rank(struct infer_ctx *c, int i)
{
    const int rank = infer_rank(c, i) - 2;
    if (rank >= 1 && rank <= WINDOW_AXES)
        return rank;
    infer_error(c, "input %d '%s' has rank %d, expected 3 to 5: [N, C, one to three spatial axes]", i,
                infer_in(c, i)->name, rank + 2);
    return 0;
}

bool window_infer_kernel(struct infer_ctx *c, int rank, bool required, struct shape *size)
{
    const int64_t *list;
    if (!window_infer_list(c, "kernel_shape", (size_t)rank, 1, &list))
        return false;
    *size = op_attr_dims(c->node, "kernel_shape");
    return list != NULL || !required || infer_error(c, "attribute 'kernel_shape' is missing");
}

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

struct size window_in_size(const struct window_axis *a)
{
    return (struct size){a->in, a->in_per};
}

struct size window_out_size(const struct window_axis *a)
{
    return (struct size){a->out, a->out_per};
}

struct size window_reach(const struct window_axis *a)
{
    const struct size size = {a->size, a->size_per}, behind = size_constant(1 - a->dilation);
    return size_sum(size_product(size, size_constant(a->dilation)), behind);
}

static int64_t reach(const struct window_axis *a)
{
    return window_reach(a).most;
}

struct shape window_of_weights(const struct shape *w)
{
    struct shape size = SHAPE_SCALAR;
    for (int d = 2; d < w->rank; d++)
        shape_take(&size, w, d);
    return size;
}

static void pad_same(struct window_axis *a, bool upper)
{
    a->out = (a->in + a->stride - 1) / a->stride;
    const int64_t missing = (a->out - 1) * a->stride + reach(a) - a->in;
    const int64_t pads = missing > 0 && a->out > 0 ? missing : 0;
    a->pad_begin = upper ? pads / 2 : pads - pads / 2;
    a->pad_end = pads - a->pad_begin;
}

static void count_windows(struct window_axis *a, bool ceil_mode)
{
    const int64_t room = a->in + a->pad_begin + a->pad_end - reach(a);
    if (room < 0) {
        a->out = 0;
        return;
    }
    a->out = room / a->stride + 1;
    if (ceil_mode && room % a->stride != 0 && a->out * a->stride < a->in + a->pad_begin)
        a->out++;
}

static bool has_attr(const struct node *n, const char *name)
{
    for (const struct op_attr *a = n->def->attrs; a != NULL && a->name != NULL; a++)
        if (strcmp(a->name, name) == 0)
            return true;
    return false;
}

enum auto_pad { PAD_EXPLICIT, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_VALID, PAD_UNKNOWN };

static enum auto_pad auto_pad_of(const struct node *n)
{
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"};
    if (!has_attr(n, "auto_pad"))
        return PAD_EXPLICIT;
    const char *name = op_attr_string(n, "auto_pad");
    for (int i = 0; i < PAD_UNKNOWN; i++)
        if (strcmp(name, names[i]) == 0)
            return (enum auto_pad)i;
    return PAD_UNKNOWN;
}

struct window_numbers {
    const int64_t *strides, *dilations, *pads; /* NULL: absent */
};

static struct window make_window(const struct node *n, const struct shape *shape, const struct shape *size,
                                 const struct window_numbers *x)
{
    struct window w = {.rank = shape->rank - 2};
    const int front = WINDOW_AXES - w.rank;
    const enum auto_pad pad = auto_pad_of(n);
    const bool ceil_mode = has_attr(n, "ceil_mode") && op_attr_int(n, "ceil_mode") != 0;
    for (int i = 0; i < front; i++)
        w.axis[i] = (struct window_axis){.in = 1, .out = 1, .size = 1, .stride = 1, .dilation = 1};
    for (int i = 0; i < w.rank; i++) {
        struct window_axis *a = &w.axis[front + i];
        *a = (struct window_axis){.in = shape->dim[2 + i], .in_per = shape->per[2 + i],
                                  .size = size->dim[i], .size_per = size->per[i],
                                  .stride = x->strides ? x->strides[i] : 1,
                                  .dilation = x->dilations ? x->dilations[i] : 1};
        if (pad == PAD_SAME_UPPER || pad == PAD_SAME_LOWER) {
            pad_same(a, pad == PAD_SAME_UPPER);
            a->out_per = size_quotient_up(window_in_size(a), a->stride).per;
            continue;
        }
        if (pad == PAD_EXPLICIT && x->pads != NULL) {
            a->pad_begin = x->pads[i];
            a->pad_end = x->pads[w.rank + i];
        }
        count_windows(a, ceil_mode);
        a->out_per = size_quotient(size_difference(window_in_size(a), window_reach(a)), a->stride).per;
    }
    return w;
}

bool window_infer(struct infer_ctx *c, const struct shape *shape, const struct shape *size, struct window *out)
{
    const size_t rank = (size_t)shape->rank - 2;
    struct window_numbers x = {0};
    if (!window_infer_list(c, "strides", rank, 1, &x.strides) || !window_infer_list(c, "pads", 2 * rank, 0, &x.pads) ||
        !window_infer_list(c, "dilations", rank, 1, &x.dilations))
        return false;
    if (auto_pad_of(c->node) == PAD_UNKNOWN)
        return infer_error(c, "attribute 'auto_pad' is '%s', expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                           op_attr_string(c->node, "auto_pad"));
    for (size_t i = 0; i < rank; i++)
        if (!check_range(c, "kernel_shape", size->dim[i], 1))
            return false;
    *out = make_window(c->node, shape, size, &x);
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &out->axis[i];
        if (a->out == 0 && a->in + a->pad_begin + a->pad_end < reach(a))
            return infer_error(c,
                               "a window of %lld does not fit into the %lld elements of spatial axis %d with its "
                               "padding",
                               (long long)reach(a), (long long)(a->in + a->pad_begin + a->pad_end),
                               i - (WINDOW_AXES - out->rank));
    }
    return true;
}

struct window window_of(const struct node *n, const struct shape *shape, const struct shape *size)
{
    struct window_numbers x = {0};
    size_t count;
    if (!op_attr_ints(n, "strides", &x.strides, &count))
        x.strides = NULL;
    if (!op_attr_ints(n, "pads", &x.pads, &count))
        x.pads = NULL;
    if (!op_attr_ints(n, "dilations", &x.dilations, &count))
        x.dilations = NULL;
    return make_window(n, shape, size, &x);
}

struct window window_of_kernel(const struct node *n, const struct shape *shape)
{
    const struct shape size = op_attr_dims(n, "kernel_shape");
    return window_of(n, shape, &size);
}

struct shape window_shape(const struct node *n)
{
    return op_attr_dims(n, "shape");
}

bool window_infer_shape(struct infer_ctx *c, struct shape *out)
{
    *out = window_shape(c->node);
    if (window_infer_rank(c, 0) == 0)
        return false;
    if (out->rank != infer_rank(c, 0))
        return infer_error(c, "attribute 'shape' has %d numbers, expected %d", out->rank, infer_rank(c, 0));
    for (int d = 0; d < out->rank; d++)
        if (out->dim[d] < 0)
            return infer_error(c, "attribute 'shape' contains %lld", (long long)out->dim[d]);
    return true;
}

bool window_infer_global(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    if (y.rank < 3)
        return infer_error(c, "input 0 '%s' has rank %d, expected at least 3: [N, C, spatial axes]",
                           infer_in(c, 0)->name, y.rank);
    if (shape_count_range(&y, 2, y.rank) == 0)
        return infer_error(c, "input 0 '%s' has no elements to pool", infer_in(c, 0)->name);
    for (int d = 2; d < y.rank; d++)
        shape_set(&y, d, size_constant(1));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

struct shape window_out_shape(const struct window *w, struct size n, struct size channels)
{
    struct shape y = SHAPE_OF(n, channels);
    for (int i = WINDOW_AXES - w->rank; i < WINDOW_AXES; i++)
        shape_add(&y, window_out_size(&w->axis[i]));
    return y;
}

struct shape window_weights(const struct window *w, struct size outputs, struct size inputs)
{
    struct shape s = SHAPE_OF(outputs, inputs);
    for (int i = WINDOW_AXES - w->rank; i < WINDOW_AXES; i++)
        shape_add(&s, (struct size){w->axis[i].size, w->axis[i].size_per});
    return s;
}

void window_make_attrs(const struct window *w, struct window_attrs *out)
{
    const int front = WINDOW_AXES - w->rank;
    const size_t rank = (size_t)w->rank;
    int64_t *stride = out->numbers, *dilation = stride + rank, *pads = dilation + rank;
    const struct shape weights = window_weights(w, size_constant(1), size_constant(1));
    out->size = window_of_weights(&weights);
    memset(out->attr, 0, sizeof out->attr);
    for (int i = 0; i < w->rank; i++) {
        const struct window_axis *a = &w->axis[front + i];
        stride[i] = a->stride;
        dilation[i] = a->dilation;
        pads[i] = a->pad_begin;
        pads[w->rank + i] = a->pad_end;
    }
    out->attr[0] = attr_dims("kernel_shape", &out->size);
    out->attr[1] = attr_ints("strides", stride, rank);
    out->attr[2] = attr_ints("dilations", dilation, rank);
    out->attr[3] = attr_ints("pads", pads, 2 * rank);
}

/* ---- where windows lie ------------------------------------------------------------------------------------------- */

int64_t window_at(const struct window_axis *a, int64_t out, int64_t tap)
{
    const int64_t at = out * a->stride + tap * a->dilation - a->pad_begin;
    return at >= 0 && at < a->in ? at : -1;
}

int64_t window_size(const struct window *w)
{
    return w->axis[0].size * w->axis[1].size * w->axis[2].size;
}

int64_t window_in_count(const struct window *w)
{
    return w->axis[0].in * w->axis[1].in * w->axis[2].in;
}

int64_t window_out_count(const struct window *w)
{
    return w->axis[0].out * w->axis[1].out * w->axis[2].out;
}

int64_t window_element(const struct window *w, int64_t out, int64_t tap)
{
    const struct window_axis *a = w->axis;
    const int64_t x = window_at(&a[2], out % a[2].out, tap % a[2].size);
    out /= a[2].out;
    tap /= a[2].size;
    const int64_t y = window_at(&a[1], out % a[1].out, tap % a[1].size);
    const int64_t z = window_at(&a[0], out / a[1].out, tap / a[1].size);
    return x < 0 || y < 0 || z < 0 ? -1 : (z * a[1].in + y) * a[2].in + x;
}

bool window_leaves_input(const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &w->axis[i];
        if (a->pad_begin > 0 || (a->out - 1) * a->stride + reach(a) > a->in)
            return true;
    }
    return false;
}

bool window_lacks_outputs(const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &w->axis[i];
        if (a->pad_begin + 1 < reach(a) || a->in + a->pad_begin > a->out * a->stride)
            return true;
    }
    return false;
}

/* Positions t with low <= out * stride + t * dilation - pad_begin < high. */
int64_t window_axis_population(const struct window_axis *a, int64_t out, bool padding)
{
    const int64_t low = padding ? -a->pad_begin : 0, high = padding ? a->in + a->pad_end : a->in;
    const int64_t start = out * a->stride - a->pad_begin;
    const int64_t skipped = start < low ? (low - start + a->dilation - 1) / a->dilation : 0;
    const int64_t reached = start < high ? (high - start + a->dilation - 1) / a->dilation : 0;
    const int64_t end = reached < a->size ? reached : a->size;
    return end > skipped ? end - skipped : 0;
}

int64_t window_equal_population(const struct window *w, bool padding)
{
    int64_t count = 1;
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &w->axis[i];
        const int64_t first = window_axis_population(a, 0, padding);
        if (a->out > 1 && (first < a->size || window_axis_population(a, a->out - 1, padding) < a->size))
            return 0;
        count *= first;
    }
    return count;
}

int64_t window_population(const struct window *w, int64_t out, bool padding)
{
    const struct window_axis *a = w->axis;
    return window_axis_population(&a[2], out % a[2].out, padding) *
           window_axis_population(&a[1], out / a[2].out % a[1].out, padding) *
           window_axis_population(&a[0], out / a[2].out / a[1].out, padding);
}
