/* What MaxPool, AveragePool and their derivatives share. See pool_rules.h. */
#include "ops/pool_rules.h"

const struct op_attr pool_attrs_1[] = {POOL_ATTRS_1, {0}};
const struct op_version pool_grad_versions[] = {{.since = 1}, {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

#define WINDOW_MOST (1 << 24) /* elements of a window */

struct window pool_window(const struct node *n, const struct shape *x)
{
    return window_of_kernel(n, x);
}

/* A window along an axis that has no element, or -1, without looking at all of them. Windows in front of the input are
 * empty where they end there, the first one most of all; behind it the last one. Only where one step of the window is
 * longer than the input may it step over: which element it would meet repeats itself from window to window, after at
 * most as many windows as there are elements if none is empty. */
static int64_t find_empty_window(const struct window_axis *a)
{
    const int64_t looked = a->dilation > a->in ? a->in + 1 : 1, last = a->out - 1;
    for (int64_t o = 0; o < looked && o <= last; o++)
        if (window_axis_population(a, o, false) == 0)
            return o;
    return last >= 0 && window_axis_population(a, last, false) == 0 ? last : -1;
}

/* Every window must have an element: nobody says what the maximum of nothing is. */
static bool check_windows(struct infer_ctx *c, const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        const int64_t empty = find_empty_window(&w->axis[i]);
        if (empty >= 0)
            return infer_error(c, "window %lld along spatial axis %d lies in the padding", (long long)empty,
                               i - (WINDOW_AXES - w->rank));
    }
    return true;
}

/* The window over x, checked. */
static bool infer_window(struct infer_ctx *c, const struct shape *x, struct window *w)
{
    struct shape size;
    int64_t elements = 1;
    if (!window_infer_kernel(c, x->rank - 2, true, &size))
        return false;
    for (int i = 0; i < x->rank - 2; i++) {
        elements *= size.dim[i];
        if (elements > WINDOW_MOST)
            return infer_error(c, "a window has more than %d elements", WINDOW_MOST);
    }
    return window_infer(c, x, &size, w);
}

bool pool_infer(struct infer_ctx *c)
{
    struct window w;
    if (window_infer_rank(c, 0) == 0 || !infer_window(c, infer_shape(c, 0), &w))
        return false;
    const struct shape y = window_out_shape(&w, shape_size(infer_shape(c, 0), 0), shape_size(infer_shape(c, 0), 1));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y) && check_windows(c, &w);
}

bool pool_infer_grad(struct infer_ctx *c, int i, const struct shape *x)
{
    struct window w;
    if (!infer_window(c, x, &w))
        return false;
    const struct shape y = window_out_shape(&w, shape_size(x, 0), shape_size(x, 1));
    if (!shape_equal(&y, infer_shape(c, i)))
        return infer_error(c, "input %d '%s' does not have the shape of the pool's output", i, infer_in(c, i)->name);
    return infer_out(c, 0, DTYPE_UNDEFINED, x) && check_windows(c, &w);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

void pool_make_attrs(const struct node *n, const struct window *w, struct window_attrs *a)
{
    window_make_attrs(w, a);
    a->attr[WINDOW_ATTRS] = attr_int("ceil_mode", op_attr_int(n, "ceil_mode"));
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

bool pool_is_map(const struct window *w)
{
    return !window_leaves_input(w) && window_size(w) <= POOL_UNROLLED;
}

const struct expr *pool_load_position(struct lower_ctx *c, const struct view *x, const struct shape *over,
                                      const struct window *w, int64_t t)
{
    struct view v = {.buffer = x->buffer, .offset = x->offset, .shape = *over};
    v.stride[0] = x->stride[0];
    v.stride[1] = x->stride[1];
    for (int i = WINDOW_AXES - 1; i >= WINDOW_AXES - w->rank; i--) {
        const struct window_axis *a = &w->axis[i];
        const int d = 2 + i - (WINDOW_AXES - w->rank);
        v.offset += t % a->size * a->dilation * x->stride[d];
        v.stride[d] = a->stride * x->stride[d];
        t /= a->size;
    }
    return lower_load(c, &v);
}

static void bind_axis(struct lower_ctx *c, const char *prefix, int axis, int64_t x)
{
    lower_template_int(c, arena_printf(c->arena, "%s%c", prefix, "DHW"[axis]), x);
}

/* The windows of a line that see no padding: none, or those from the first such one on. */
static void bind_inside(struct lower_ctx *c, const struct window_axis *line)
{
    const int64_t last = line->in - 1 - (line->size - 1) * line->dilation + line->pad_begin;
    const int64_t first = (line->pad_begin + line->stride - 1) / line->stride,
                  beyond = last < 0 ? 0 : last / line->stride + 1;
    const int64_t end = beyond < line->out ? beyond : line->out;
    lower_template_int(c, "INSIDE", first < end ? first : line->out);
    lower_template_int(c, "BEYOND", first < end ? end : line->out);
}

const struct template_traits *pool_form(const struct lower_ctx *c, const struct pool_template *t)
{
    return c->options.small ? &t->small : &t->fast;
}

void pool_bind_window(struct lower_ctx *c, const struct template_traits *form, const struct window *w, int64_t planes,
                      enum dtype type, bool lacks, bool padding)
{
    lower_template(c, form, type);
    lower_template_pieces(c, planes);
    lower_template_int(c, "PLANES", planes);
    lower_template_int(c, "FLOATS", dtype_is_float(type));
    lower_template_int(c, "COLUMN_MAJOR", 0);
    lower_template_int(c, "PADDED", lacks);
    lower_template_int(c, "COUNT", window_equal_population(w, padding));
    /* a comparison or addition for each element */
    lower_template_flops(c, planes * window_size(w) * window_out_count(w));
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &w->axis[i];
        bind_axis(c, "", i, a->in);
        bind_axis(c, "O", i, a->out);
        bind_axis(c, "K", i, a->size);
        bind_axis(c, "S", i, a->stride);
        bind_axis(c, "L", i, a->dilation);
        bind_axis(c, "PAD_", i, a->pad_begin);
        bind_axis(c, "BEGIN_", i, padding ? -a->pad_begin : 0);
        bind_axis(c, "END_", i, padding ? a->in + a->pad_end : a->in);
        /* no hole: indices go that far */
        bind_axis(c, "PADDED_", i, a->in + a->pad_begin + a->pad_end + a->size * a->dilation);
    }
    bind_inside(c, &w->axis[WINDOW_AXES - 1]);
}

void pool_bind_operand(struct lower_ctx *c, const char *param, int i)
{
    const struct view v = lower_contiguous(c, i);
    const struct access a = {.buffer = v.buffer, .offset = v.offset};
    lower_template_operand(c, param, &a);
}

void pool_add_finish(struct lower_ctx *c, const char *hole, int output, int64_t planes, int64_t count)
{
    const struct view out = lower_out_view(c, output), to = view_of_buffer(out.buffer, &SHAPE(planes, count));
    struct part *p = lower_template_part(c, hole, 2, to.shape.dim);
    lower_store(c, p, &to, expr_result(c->arena, lower_out_dtype(c, output)));
}

int64_t pool_planes(const struct shape *x)
{
    return x->dim[0] * x->dim[1];
}

bool pool_lower_zeros(struct lower_ctx *c)
{
    return lower_map(c, expr_number(c->arena, lower_out_dtype(c, 0), 0));
}
