/* MaxPool and its derivative stepc.MaxPoolGrad, and the two as small code computes them. Element i of a window is what
 * its position t reads; positions in the padding do not take part.
 *   MaxPool           y = the greatest element; of equal ones the first (row-major) counts; NaN is greater than
 *                     all, the last NaN counts
 *   MaxPoolGrad       dx[i] = sum of dy over the windows whose maximum is element i, in order of windows, from +0
 *   MaxPoolPlaces     MaxPool's y, and places: the position t of each maximum in its window, a byte
 *   MaxPoolGradAt     MaxPoolGrad by those places, without x: what MaxPool reads may be gone by then
 * Ties as in PyTorch. MaxPool's value does not depend on dx: the second derivative in x is zero. Indices number
 * the elements of the whole tensor; with storage_order = 1 the spatial axes of each channel are numbered with
 * the first one fastest.
 * Spec: ONNX MaxPool-1, -8 (Indices), -10 (ceil_mode, dilations), -11, -12 (int8, uint8), -22. */
#include "ops/pool_rules.h"

#include <math.h>
#include <string.h>

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define BYTES (DTYPE_BIT(DTYPE_INT8) | DTYPE_BIT(DTYPE_UINT8))

static const struct op_attr max_attrs_8[] = {POOL_ATTRS_1, POOL_NUMBER("storage_order"), {0}};
static const struct op_attr max_attrs[] = {
    POOL_ATTRS_1, POOL_NUMBER("storage_order"), POOL_NUMBER("ceil_mode"), WINDOW_LIST("dilations"), {0}};
static const struct op_attr grad_at_attrs[] = {
    POOL_ATTRS_1, POOL_NUMBER("ceil_mode"), WINDOW_LIST("dilations"), WINDOW_LIST("shape"), {0}};

static const struct op_param max_inputs[] = {POOL_PARAM("X", DTYPES_FLOATS | BYTES), {0}};
static const struct op_param max_outputs_1[] = {POOL_PARAM("Y", 0), {0}};
static const struct op_param max_outputs[] = {
    POOL_PARAM("Y", DTYPES_FLOATS | BYTES),
    {.name = "Indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OPTIONAL | PARAM_OUTPUT_NOT_DIFF},
    {0}};
static const struct op_param max_grad_inputs[] = {POOL_PARAM("X", DTYPES_FLOATS), POOL_PARAM("dY", DTYPES_FLOATS), {0}};
static const struct op_param places_inputs[] = {POOL_PARAM("X", DTYPES_FLOATS), {0}};
static const struct op_param places_outputs[] = {
    {.name = "Y", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_OPTIONAL},
    {.name = "Places", .dtypes = DTYPE_BIT(DTYPE_UINT8), .flags = PARAM_OPTIONAL | PARAM_OUTPUT_NOT_DIFF},
    {0}};
static const struct op_param grad_at_inputs[] = {
    {.name = "Places", .dtypes = DTYPE_BIT(DTYPE_UINT8), .flags = PARAM_NOT_DIFF},
    POOL_PARAM("dY", DTYPES_FLOATS),
    {0}};
static const struct op_param grad_outputs[] = {POOL_PARAM("dX", DTYPES_FLOATS), {0}};

static const struct op_version max_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = pool_attrs_1, .outputs = max_outputs_1},
    {.since = 8, .dtypes = FLOATS_1, .attrs = max_attrs_8},
    {.since = 10, .dtypes = FLOATS_1},
    {.since = 11, .dtypes = FLOATS_1},
    {.since = 12, .dtypes = FLOATS_1 | BYTES},
    {.since = 22},
    {0}};

/* ---- shapes ------------------------------------------------------------------------------------------------------ */

static bool max_infer(struct infer_ctx *c)
{
    const int64_t order = op_attr_int(c->node, "storage_order");
    if (order != 0 && order != 1)
        return infer_error(c, "attribute 'storage_order' is %lld, expected 0 or 1", (long long)order);
    return pool_infer(c) && infer_out(c, 1, DTYPE_INT64, &c->out[0].shape);
}

static bool max_grad_infer(struct infer_ctx *c)
{
    return window_infer_rank(c, 0) != 0 && pool_infer_grad(c, 1, infer_shape(c, 0));
}

enum { MOST_PLACES = 256 }; /* a byte */

static bool places_infer(struct infer_ctx *c)
{
    if (!pool_infer(c))
        return false;
    const struct window w = pool_window(c->node, infer_shape(c, 0));
    if (window_size(&w) > MOST_PLACES)
        return infer_error(c, "a window has more than %d elements", MOST_PLACES);
    return infer_out(c, 1, DTYPE_UINT8, &c->out[0].shape);
}

static bool grad_at_infer(struct infer_ctx *c)
{
    struct shape x;
    return window_infer_shape(c, &x) && pool_infer_grad(c, 0, &x) && pool_infer_grad(c, 1, &x) &&
           infer_out(c, 0, infer_in(c, 1)->dtype, &x);
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static bool max_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    struct value *x = grad_input(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    pool_make_attrs(c->node, &w, &a);
    return grad_accumulate(c, 0, build_with(c, "stepc.MaxPoolGrad", a.attr, x, grad_of_output(c, 0)));
}

/* dx = MaxPoolGrad(x, dy), u flows into dx: what flows into dy is u where the maxima of x are. */
static bool max_grad_grad(struct grad_ctx *c)
{
    struct window_attrs a;
    struct value *x = grad_input(c, 0), *dy = grad_input(c, 1), *u = grad_of_output(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    pool_make_attrs(c->node, &w, &a);
    const struct node *pool = build_node(c->b, "MaxPool", a.attr, &x, 1, 2);
    if (c->b->failed)
        return false;
    struct value *flat = build_reshape(c->b, u, &SHAPE_OF(shape_elements(&u->shape)));
    struct value *at = build_reshape(c->b, pool->outputs.data[1], &SHAPE_OF(shape_elements(&dy->shape)));
    return grad_accumulate(c, 1, build_reshape(c->b, build(c, "Gather", flat, at), &dy->shape));
}

/* ---- for small code ---------------------------------------------------------------------------------------------- */

static bool gives_places(const struct node *n)
{
    return n->def == op_find(DOMAIN_STEPC, "MaxPoolPlaces");
}

/* Does the node go over these windows of x? */
static bool has_windows(const struct node *n, const struct shape *x, const struct window *w)
{
    const struct window its = pool_window(n, x);
    return memcmp(its.axis, w->axis, sizeof its.axis) == 0;
}

/* The last MaxPool or MaxPoolPlaces in front of c->node that goes over windows w of x; or NULL. */
static struct node *find_pool(const struct expand_ctx *c, const struct value *x, const struct window *w)
{
    for (struct node *n = c->node->prev; n != NULL; n = n->prev)
        if ((node_is(n, "MaxPool") || gives_places(n)) && n->inputs.data[0] == x && has_windows(n, &x->shape, w))
            return n;
    return NULL;
}

/* The places of the maxima of x: those of its pool (NULL: there is none), which gives them from now on. */
static struct value *places_of(struct expand_ctx *c, struct value *x, const struct window *w, struct node *pool)
{
    struct window_attrs a;
    if (pool != NULL && gives_places(pool) && node_output(pool, 1) != NULL)
        return pool->outputs.data[1];
    struct value *const y = pool != NULL ? node_output(pool, 0) : NULL;
    struct builder b = *c->b;
    if (y != NULL) {
        b.before = pool;
        b.loc = pool->loc;
        b.prefix = arena_printf(b.graph->arena, "%s.", y->name);
    }
    pool_make_attrs(c->node, w, &a);
    const struct node *const n = build_node(&b, "stepc.MaxPoolPlaces", a.attr, &x, 1, 2);
    c->b->failed |= b.failed;
    if (b.failed)
        return x;
    if (y != NULL)
        build_replace(&b, y, n->outputs.data[0]);
    return build_called(&b, "places", n->outputs.data[1]);
}

/* Is v +0, in each element? */
static bool is_zero(const struct value *v)
{
    const struct tensor *const t = v->kind == VALUE_CONSTANT && dtype_is_float(v->dtype) ? v->constant : NULL;
    return t != NULL && t->count > 0 && tensor_is_uniform(t) && tensor_get_double(t, 0) == 0 &&
           !signbit(tensor_get_double(t, 0));
}

/* What `mask`, a comparison of x with a number, says of the elements of x, said of those of y; NULL: it is another. */
static struct value *mask_of_maxima(struct expand_ctx *c, const struct value *mask, const struct value *x,
                                    struct value *y)
{
    static const char *const comparisons[] = {"Greater", "GreaterOrEqual", "Less", "LessOrEqual"};
    const struct node *const n = mask->kind == VALUE_RESULT ? mask->producer : NULL;
    for (size_t k = 0; n != NULL && k < sizeof comparisons / sizeof comparisons[0]; k++)
        for (size_t i = 0; i < 2 && node_is(n, comparisons[k]); i++) {
            struct value *in[2] = {n->inputs.data[0], n->inputs.data[1]};
            if (in[i] != x || in[1 - i]->kind != VALUE_CONSTANT || in[1 - i]->shape.rank != 0)
                continue;
            in[i] = y;
            return build_value(c->b, n->def->name, NULL, in, 2);
        }
    return NULL;
}

/* The derivative of what stands in front of the pool keeps some elements of dx and makes zeros of others, by what x is
 * there (Relu: x > 0). Where the maximum is, y is that x: dy can be masked in its place, and x is not needed. Returns
 * what is to be pooled backwards; *masked is the result that has it. */
static struct value *mask_adjoint(struct expand_ctx *c, struct value *y, struct value **masked)
{
    struct value *const dy = expand_in(c, 1), *const dx = node_output(c->node, 0);
    *masked = dx;
    if (dx->uses.count != 1 || graph_gives(c->b->graph, dx) || !node_is(dx->uses.data[0].node, "Where"))
        return dy;
    const struct node *const where = dx->uses.data[0].node;
    const int at = dx->uses.data[0].input;
    const struct value *const zero = node_input(where, at == 1 ? 2 : 1);
    if (at == 0 || !is_zero(zero) || !shape_equal(&where->outputs.data[0]->shape, &dx->shape))
        return dy;
    struct value *const mask = mask_of_maxima(c, node_input(where, 0), expand_in(c, 0), y);
    if (mask == NULL)
        return dy;
    struct value *const none = build_scalar(c->b, dy->dtype, 0.0);
    *masked = where->outputs.data[0];
    return build_called(c->b, "masked",
                        at == 1 ? build(c, "Where", mask, dy, none) : build(c, "Where", mask, none, dy));
}

static bool max_grad_plain(struct expand_ctx *c);

/* Where the maxima lie is remembered, a byte for each, instead of looked for again: what MaxPool reads is needed no
 * more. (Vectors would take longer: GCC selects integers by comparisons of floats one by one, and places as floats cost
 * LeNet a tenth more time.) */
static bool max_grad_shrink(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    if (window_size(&w) > MOST_PLACES)
        return max_grad_plain(c);
    struct node *const pool = find_pool(c, x, &w);
    struct value *masked = node_output(c->node, 0), *dy = expand_in(c, 1);
    if (pool != NULL && node_output(pool, 0) != NULL)
        dy = mask_adjoint(c, pool->outputs.data[0], &masked);
    struct value *const places = places_of(c, x, &w, pool);
    if (c->b->failed)
        return false;
    struct window_attrs a;
    pool_make_attrs(c->node, &w, &a);
    a.attr[WINDOW_ATTRS + 1] = attr_dims("shape", &x->shape);
    build_replace(c->b, masked, build_with(c, "stepc.MaxPoolGradAt", a.attr, places, dy));
    return !c->b->failed;
}

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

static bool no_window_overlaps(const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++)
        if (w->axis[i].stride < (w->axis[i].size - 1) * w->axis[i].dilation + 1 && w->axis[i].out > 1)
            return false;
    return true;
}

/* dx: the sums of dy at these elements, numbered as MaxPool's Indices: one after the other where windows lie apart,
 * else added up. */
static bool expand_sums(struct expand_ctx *c, const struct window *w, const struct shape *x, struct value *at)
{
    struct value *dy = expand_in(c, 1);
    const struct size one = size_constant(1), size = shape_elements(x);
    const struct shape row = SHAPE_OF(one, shape_elements(&dy->shape), one);
    at = build_reshape(c->b, at, &row);
    struct value *const data = build_expand(c->b, build_like(c, dy, 0.0), &SHAPE_OF(one, size, one));
    const struct attr *how =
        ATTRS(attr_size("size", &size), attr_string("reduction", no_window_overlaps(w) ? "none" : "add"));
    dy = build_reshape(c->b, dy, &row);
    return expand_out(c, 0, build_reshape(c->b, build_with(c, "stepc.Scatter", how, at, dy, data), x));
}

static bool max_grad_plain(struct expand_ctx *c)
{
    struct window_attrs a;
    struct value *x = expand_in(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    pool_make_attrs(c->node, &w, &a);
    const struct node *const pool = build_node(c->b, "MaxPool", a.attr, &x, 1, 2);
    return !c->b->failed && expand_sums(c, &w, &x->shape, pool->outputs.data[1]);
}

/* first + step * o for the windows o along axis d of the output's shape. */
static struct value *build_counted(struct expand_ctx *c, const struct shape *y, int d, int64_t first, int64_t step)
{
    struct shape s = *y;
    for (int i = 0; i < s.rank; i++)
        if (i != d)
            shape_set(&s, i, size_constant(1));
    struct tensor *const t = tensor_new(c->b->graph->arena, DTYPE_INT64, &s);
    for (int64_t o = 0; o < t->count; o++)
        tensor_set_int(t, o, first + o * step);
    return build_constant(c->b, t);
}

/* From MaxPool's numbers of elements: along each axis, what lies between the window's begin and the element. */
static bool places_plain(struct expand_ctx *c)
{
    struct window_attrs attrs;
    struct value *x = expand_in(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    pool_make_attrs(c->node, &w, &attrs);
    const struct node *const pool = build_node(c->b, "MaxPool", attrs.attr, &x, 1, expand_wants(c, 1) ? 2 : 1);
    if (c->b->failed || !expand_out(c, 0, pool->outputs.data[0]) || !expand_wants(c, 1))
        return !c->b->failed;
    struct value *const at = pool->outputs.data[1], *place = build_like(c, at, 0.0);
    int64_t step = window_in_count(&w);
    for (int i = WINDOW_AXES - w.rank, d = 2; i < WINDOW_AXES; i++, d++) {
        const struct window_axis *const a = &w.axis[i];
        struct value *along = build(c, "Mod", at, build_like(c, at, (double)step));
        step /= a->in;
        along = build(c, "Div", along, build_like(c, at, (double)step));
        along = build(c, "Sub", along, build_counted(c, &at->shape, d, -a->pad_begin, a->stride));
        along = build(c, "Div", along, build_like(c, at, (double)a->dilation));
        place = build(c, "Add", build(c, "Mul", place, build_like(c, at, (double)a->size)), along);
    }
    return expand_out(c, 1, build_cast(c->b, place, DTYPE_UINT8));
}

/* The other way round. */
static bool grad_at_plain(struct expand_ctx *c)
{
    const struct shape x = window_shape(c->node), *const y = &expand_in(c, 1)->shape;
    const struct window w = pool_window(c->node, &x);
    struct value *const place = build_cast(c->b, expand_in(c, 0), DTYPE_INT64);
    const int64_t plane = window_in_count(&w);
    struct value *at = build(c, "Add", build_counted(c, y, 0, 0, plane * x.dim[1]), build_counted(c, y, 1, 0, plane));
    int64_t step = plane, taps = window_size(&w);
    for (int i = WINDOW_AXES - w.rank, d = 2; i < WINDOW_AXES; i++, d++) {
        const struct window_axis *const a = &w.axis[i];
        struct value *along = build(c, "Mod", place, build_like(c, place, (double)taps));
        taps /= a->size;
        step /= a->in;
        along = build(c, "Div", along, build_like(c, place, (double)taps));
        along = build(c, "Mul", along, build_like(c, place, (double)a->dilation));
        along = build(c, "Add", along, build_counted(c, y, d, -a->pad_begin, a->stride));
        at = build(c, "Add", at, build(c, "Mul", along, build_like(c, place, (double)step)));
    }
    return expand_sums(c, &w, &x, at);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The element of window o with the maximum; x begins at `base`. */
static int64_t find_maximum(const struct eval_tensor *x, const struct window *w, int64_t base, int64_t o)
{
    const int64_t size = window_size(w);
    int64_t best = -1;
    for (int64_t t = 0; t < size; t++) {
        const int64_t i = window_element(w, o, t);
        if (i < 0)
            continue;
        if (best < 0 || (x->f != NULL ? x->f[base + i] > x->f[base + best] || isnan(x->f[base + i])
                                      : x->i[base + i] > x->i[base + best]))
            best = i;
    }
    return best;
}

static int64_t element_number(const struct window *w, int64_t i, bool column_major)
{
    const struct window_axis *a = w->axis;
    if (!column_major)
        return i;
    const int64_t x = i % a[2].in, y = i / a[2].in % a[1].in, z = i / a[2].in / a[1].in;
    return z + a[0].in * (y + a[1].in * x);
}

static bool max_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *y = eval_output(c, 0);
    int64_t *indices = eval_wants(c, 1) ? eval_out_i(c, 1) : NULL;
    const struct window w = pool_window(c->node, &x->shape);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), planes = x->shape.dim[0] * x->shape.dim[1];
    const bool column_major = op_attr_int(c->node, "storage_order") != 0;
    for (int64_t k = 0; k < planes * out; k++) {
        const int64_t base = k / out * in, i = find_maximum(x, &w, base, k % out);
        if (y != NULL && y->f != NULL)
            y->f[k] = x->f[base + i];
        else if (y != NULL)
            y->i[k] = x->i[base + i];
        if (indices != NULL)
            indices[k] = base + element_number(&w, i, column_major);
    }
    return true;
}

static bool max_grad_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const double *dy = eval_f(c, 1);
    double *dx = eval_out_f(c, 0);
    const struct window w = pool_window(c->node, &x->shape);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), planes = x->shape.dim[0] * x->shape.dim[1];
    for (int64_t k = 0; dx != NULL && k < planes * out; k++) {
        const int64_t base = k / out * in;
        double *sum = &dx[base + find_maximum(x, &w, base, k % out)];
        *sum = eval_round(c, *sum + dy[k]);
    }
    return true;
}

static bool places_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    double *y = eval_wants(c, 0) ? eval_out_f(c, 0) : NULL;
    int64_t *places = eval_wants(c, 1) ? eval_out_i(c, 1) : NULL;
    const struct window w = pool_window(c->node, &x->shape);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), planes = x->shape.dim[0] * x->shape.dim[1];
    for (int64_t k = 0; k < planes * out; k++) {
        const int64_t base = k / out * in, i = find_maximum(x, &w, base, k % out);
        if (y != NULL)
            y[k] = x->f[base + i];
        for (int64_t t = 0; places != NULL && t < window_size(&w); t++)
            if (window_element(&w, k % out, t) == i)
                places[k] = t;
    }
    return true;
}

static bool grad_at_eval(struct eval_ctx *c)
{
    const struct shape x = window_shape(c->node);
    const int64_t *places = eval_i(c, 0);
    const double *dy = eval_f(c, 1);
    double *dx = eval_out_f(c, 0);
    const struct window w = pool_window(c->node, &x);
    const int64_t in = window_in_count(&w), out = window_out_count(&w), planes = pool_planes(&x);
    for (int64_t k = 0; dx != NULL && k < planes * out; k++) {
        const int64_t i = places[k] < window_size(&w) ? window_element(&w, k % out, places[k]) : -1;
        if (i >= 0)
            dx[k / out * in + i] = eval_round(c, dx[k / out * in + i] + dy[k]);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* `then` where v is greater than the best so far, or NaN, else `other`. Each selection has one comparison: of two at
 * once GCC 12 would make bits, one by one. */
static const struct expr *later_of(struct arena *a, const struct expr *best, const struct expr *v,
                                   const struct expr *then, const struct expr *other)
{
    const struct expr *greater = expr_select(a, expr_binary(a, EXPR_LT, best, v), then, other);
    return dtype_is_float(v->dtype) ? expr_select(a, expr_binary(a, EXPR_EQ, v, v), greater, then) : greater;
}

/* Outputs: the maxima, and their positions where they are wanted. */
static bool lower_max_map(struct lower_ctx *c, const struct window *w)
{
    struct arena *const a = c->arena;
    const struct shape *const over = lower_out_shape(c, lower_wants(c, 0) ? 0 : 1);
    const struct view x = lower_view_of(c, 0);
    const struct expr *best = pool_load_position(c, &x, over, w, 0), *place = expr_int(a, DTYPE_INT32, 0);
    for (int64_t t = 1; t < window_size(w); t++) {
        const struct expr *const v = pool_load_position(c, &x, over, w, t);
        place = later_of(a, best, v, expr_int(a, DTYPE_INT32, t), place);
        best = later_of(a, best, v, v, best);
    }
    return lower_maps(c, (const struct expr *const[]){best, expr_cast(a, DTYPE_UINT8, place)}, 2);
}

static const char *const late[] = {"PLANES", NULL};
static const struct pool_template max_pool = {{.name = "max_pool", .late = late},
                                              {.name = "max_pool_plain", .late = late}};
static const struct template_traits max_pool_grad = {.name = "max_pool_grad", .late = late},
                                    max_pool_grad_apart = {.name = "max_pool_grad_apart", .late = late},
                                    max_pool_grad_at = {.name = "max_pool_grad_plain", .late = late},
                                    max_pool_grad_at_apart = {.name = "max_pool_grad_apart_plain", .late = late};

/* MaxPool and MaxPoolPlaces: `second` is the template's hole for output 1. */
static bool lower_maxima(struct lower_ctx *c, const struct template_traits *form, const char *second)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    const int64_t planes = pool_planes(lower_shape(c, 0)), out = window_out_count(&w);
    for (int o = 0; o < 2; o++)
        if (lower_wants(c, o))
            lower_out_view(c, o);
    if (planes * out == 0)
        return true;
    lower_contiguous(c, 0);
    lower_kernel(c, NULL);
    pool_bind_window(c, form, &w, planes, lower_dtype(c, 0), window_leaves_input(&w), false);
    lower_template_int(c, "COLUMN_MAJOR", op_attr_int(c->node, "storage_order"));
    pool_bind_operand(c, "x", 0);
    if (lower_wants(c, 0))
        pool_add_finish(c, "finish", 0, planes, out);
    if (lower_wants(c, 1))
        pool_add_finish(c, second, 1, planes, out);
    return true;
}

static bool max_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    return !lower_wants(c, 1) && pool_is_map(&w) ? lower_max_map(c, &w)
                                                 : lower_maxima(c, pool_form(c, &max_pool), "finish_index");
}

static bool places_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    return pool_is_map(&w) ? lower_max_map(c, &w) : lower_maxima(c, &max_pool.small, "finish_place");
}

/* Windows side by side, from the first element on. */
static bool lies_apart(const struct window *w)
{
    for (int i = 0; i < WINDOW_AXES; i++) {
        const struct window_axis *a = &w->axis[i];
        if (a->stride != a->size || (a->dilation != 1 && a->size > 1))
            return false;
    }
    return !window_leaves_input(w);
}

/* MaxPoolGrad and MaxPoolGradAt: `first` is the template's name for input 0. */
static bool lower_adjoints(struct lower_ctx *c, const struct window *w, const struct template_traits *form,
                           const struct template_traits *form_apart, const char *first)
{
    const int64_t planes = pool_planes(lower_out_shape(c, 0));
    const bool apart = lies_apart(w) && window_size(w) <= POOL_UNROLLED;
    if (planes * window_out_count(w) == 0)
        return pool_lower_zeros(c);
    lower_contiguous(c, 0);
    lower_contiguous(c, 1);
    lower_kernel(c, NULL);
    pool_bind_window(c, apart ? form_apart : form, w, planes, lower_dtype(c, 1), window_leaves_input(w), false);
    pool_bind_operand(c, first, 0);
    pool_bind_operand(c, "dy", 1);
    if (!apart)
        lower_template_scratch(c, "scratch", window_in_count(w));
    pool_add_finish(c, "finish", 0, planes, window_in_count(w));
    return true;
}

static bool max_grad_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_shape(c, 0));
    return lower_adjoints(c, &w, &max_pool_grad, &max_pool_grad_apart, "x");
}

static bool grad_at_lower(struct lower_ctx *c)
{
    const struct window w = pool_window(c->node, lower_out_shape(c, 0));
    return lower_adjoints(c, &w, &max_pool_grad_at, &max_pool_grad_at_apart, "places");
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const struct op_sample max_samples[] = {
    {.text = "g (float[2,3,6,7] x) => (float[2,3,3,3] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"},
    {.text = "g (double[2,3,6,7] x) => (double[2,3,6,7] y) "
             "{ y = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x) }"},
    {.text = "g (double[1,2,6,7] x) => (double[1,2,2,3] y) "
             "{ y = MaxPool <kernel_shape = [3, 2], strides = [3, 2]> (x) }"},
    {.text = "g (double[1,2,7,7] x) => (double[1,2,4,4] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x) }"},
    {.text = "g (double[1,2,7,8] x) => (double[1,2,3,4] y) "
             "{ y = MaxPool <kernel_shape = [3, 3], strides = [2, 1], dilations = [1, 2]> (x) }"},
    {.text = "g (float[1,2,5,5] x) => (float[1,2,3,3] y) "
             "{ y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], auto_pad = \"SAME_LOWER\"> (x) }"},
    {.text = "g (float[2,3,9] x) => (float[2,3,4] y) { y = MaxPool <kernel_shape = [3], strides = [2]> (x) }"},
    {.text = "g (double[1,2,4,5,6] x) => (double[1,2,2,2,3] y) "
             "{ y = MaxPool <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (x) }"},
    {.text = "g (float[2,3,6,7] x) => (float[2,3,3,3] y, int64[2,3,3,3] i) "
             "{ y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"},
    {.text = "g (float[2,2,4,5,6] x) => (int64[2,2,3,4,5] i) "
             "{ y, i = MaxPool <kernel_shape = [2, 2, 2], storage_order = 1> (x) }",
     .no_gradient = true},
    {.text = "g (int8[1,2,6,7] x) => (int8[1,2,3,3] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
     .no_gradient = true},
    {.text = "g (uint8[1,2,6,7] x) => (uint8[1,2,4,4] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }",
     .no_gradient = true},
    {.text = "g (double[1,1,6] z) => (double[1,1,3] y) "
             "{ x = Floor(z) y = MaxPool <kernel_shape = [2], strides = [2]> (x) }"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }",
     .opset = 7},
    {.text = "g (float[1,2,5,43] z) => (float[1,2,3,22] y, int64[1,2,3,22] i) "
             "{ x = Floor(z) y, i = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }"},
    {.text = "g (float[1,1,3,4,40] x) => (float[1,1,3,2,36] y) "
             "{ y = MaxPool "
             "<kernel_shape = [2, 2, 3], dilations = [2, 1, 3], strides = [1, 2, 1], pads = [1, 0, 1, 1, 0, 1]> (x) }"},
    {.text = "g (float[0,1,6,7] x) => (float[0,1,5,6] y) { y = MaxPool <kernel_shape = [2, 2]> (x) }"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [2]> (x) }",
     .error = "attribute 'kernel_shape' has 1 numbers, expected 2"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) { y = MaxPool(x) }", .error = "kernel_shape"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], pads = [2, 0, 0, 0]> (x) }",
     .error = "lies in the padding"},
    {.text = "g (float[6,7] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [2]> (x) }", .error = "has rank 2"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) "
             "{ y = MaxPool <kernel_shape = [2, 2], auto_pad = \"SAME\"> (x) }",
     .error = "expected NOTSET"},
    {.text = "g (float[1,1,6,7] x) => (float[1,1,3,3] y) { y = MaxPool <kernel_shape = [8, 2]> (x) }",
     .error = "does not fit"},
    {.text = "g (float16[1,2,6,6] x) => (float16[1,2,3,3] y) "
             "{ y = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x) }"},
    {0}};

static const struct op_sample places_samples[] = {
    {.text = "g (float[2,3,6,7] x) => (float[2,3,3,3] y, uint8[2,3,3,3] p) "
             "{ y, p = stepc.MaxPoolPlaces <kernel_shape = [2, 2], strides = [2, 2]> (x) }"},
    {.text = "g (float[1,2,5,43] z) => (float[1,2,3,22] y, uint8[1,2,3,22] p) "
             "{ x = Floor(z) "
             "y, p = stepc.MaxPoolPlaces <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }"},
    {.text = "g (double[1,2,4,5,6] x) => (uint8[1,2,2,3,2] p) "
             "{ y, p = stepc.MaxPoolPlaces <kernel_shape = [3, 3, 3], dilations = [1, 1, 2]> (x) }",
     .no_gradient = true},
    {.text = "g (float[1,1,20,20] x) => (float[1,1,4,4] y) { y = stepc.MaxPoolPlaces <kernel_shape = [17, 17]> (x) }",
     .error = "a window has more than 256 elements"},
    {0}};

static const struct op_sample grad_at_samples[] = {
    {.text = "g (uint8[2,3,3,3] p, double[2,3,3,3] dy) => (double[2,3,6,7] dx) "
             "{ dx = stepc.MaxPoolGradAt <kernel_shape = [2, 2], strides = [2, 2], shape = [2, 3, 6, 7]> (p, dy) }",
     .feed = "index:4",
     .no_gradient = true},
    {.text = "g (float[1,2,5,43] x, float[1,2,3,22] dy) => (float[1,2,5,43] dx) "
             "{ y, p = stepc.MaxPoolPlaces <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) "
             "dx = stepc.MaxPoolGradAt <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], "
             "shape = [1, 2, 5, 43]> (p, dy) }",
     .no_gradient = true},
    {.text = "g (uint8[1,2,2,3,2] p, float[1,2,2,3,2] dy) => (float[1,2,4,5,6] dx) "
             "{ dx = stepc.MaxPoolGradAt <kernel_shape = [3, 3, 3], dilations = [1, 1, 2], "
             "shape = [1, 2, 4, 5, 6]> (p, dy) }",
     .feed = "index:27",
     .no_gradient = true},
    {.text = "g (float[1,1,4] x) => (float[1,1,4] dx) "
             "{ y, p = stepc.MaxPoolPlaces <kernel_shape = [2], strides = [2]> (x) "
             "dx = stepc.MaxPoolGradAt <kernel_shape = [2], strides = [2], shape = [1, 1, 4]> (p, y) }",
     .no_gradient = true},
    {.text = "g (uint8[1,1,3,3] p, float[1,1,3,2] dy) => (float[1,1,6,7] dx) "
             "{ dx = stepc.MaxPoolGradAt <kernel_shape = [2, 2], strides = [2, 2], shape = [1, 1, 6, 7]> (p, dy) }",
     .error = "does not have the shape of the pool's output"},
    {.text = "g (uint8[1,1,3,2] p, float[1,1,3,3] dy) => (float[1,1,6,7] dx) "
             "{ dx = stepc.MaxPoolGradAt <kernel_shape = [2, 2], strides = [2, 2], shape = [1, 1, 6, 7]> (p, dy) }",
     .error = "does not have the shape of the pool's output"},
    {0}};

static const struct op_sample max_grad_samples[] = {
    {.text = "g (double[2,3,6,7] x, double[2,3,3,3] dy) => (double[2,3,6,7] dx) "
             "{ dx = stepc.MaxPoolGrad <kernel_shape = [2, 2], strides = [2, 2]> (x, dy) }"},
    {.text = "g (float[2,3,6,7] x, float[2,3,6,7] dy) => (float[2,3,6,7] dx) "
             "{ dx = stepc.MaxPoolGrad <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, dy) }"},
    {.text = "g (float[1,2,5,6,7] z, float[1,2,2,3,2] dy) => (float[1,2,5,6,7] dx) "
             "{ x = Floor(z) dx = stepc.MaxPoolGrad <kernel_shape = [2, 2, 3], strides = [2, 2, 3]> (x, dy) }"},
    {.text = "g (float[1,2,5,43] z, float[1,2,3,22] dy) => (float[1,2,5,43] dx) "
             "{ x = Floor(z) "
             "dx = stepc.MaxPoolGrad <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x, dy) }"},
    {.text = "g (float[1,2,6] x, float[1,2,6] dy) => (float[1,2,6] dx) "
             "{ dx = stepc.MaxPoolGrad <kernel_shape = [2]> (x, dy) }",
     .error = "does not have the shape of the pool's output"},
    {0}};
static void max_grad_axes(struct axes_ctx *c)
{
    axes_pass_before(c, 0, 0, 2);
    axes_pass_before(c, 1, 0, 2);
}

const struct op_def op_defs_max_pool[] = {{.name = "MaxPool",
                                           .versions = max_versions,
                                           .inputs = max_inputs,
                                           .outputs = max_outputs,
                                           .attrs = max_attrs,
                                           .infer = max_infer,
                                           .axes = axes_samples_and_channels,
                                           .grad = max_grad,
                                           .eval = max_eval,
                                           .lower = max_lower,
                                           .bounded = bounded_samples,
                                           .samples = max_samples},
                                          {.domain = DOMAIN_STEPC,
                                           .name = "MaxPoolGrad",
                                           .versions = pool_grad_versions,
                                           .inputs = max_grad_inputs,
                                           .outputs = grad_outputs,
                                           .attrs = max_attrs,
                                           .infer = max_grad_infer,
                                           .axes = max_grad_axes,
                                           .grad = max_grad_grad,
                                           .plain = max_grad_plain,
                                           .shrink = max_grad_shrink,
                                           .eval = max_grad_eval,
                                           .lower = max_grad_lower,
                                           .samples = max_grad_samples},
                                          {.domain = DOMAIN_STEPC,
                                           .name = "MaxPoolPlaces",
                                           .versions = pool_grad_versions,
                                           .inputs = places_inputs,
                                           .outputs = places_outputs,
                                           .attrs = max_attrs,
                                           .infer = places_infer,
                                           .axes = axes_samples_and_channels,
                                           .grad = max_grad,
                                           .plain = places_plain,
                                           .eval = places_eval,
                                           .lower = places_lower,
                                           .samples = places_samples},
                                          {.domain = DOMAIN_STEPC,
                                           .name = "MaxPoolGradAt",
                                           .versions = pool_grad_versions,
                                           .inputs = grad_at_inputs,
                                           .outputs = grad_outputs,
                                           .attrs = grad_at_attrs,
                                           .infer = grad_at_infer,
                                           .axes = max_grad_axes,
                                           .grad = grad_undefined,
                                           .plain = grad_at_plain,
                                           .eval = grad_at_eval,
                                           .lower = grad_at_lower,
                                           .samples = grad_at_samples},
                                          {0}};
