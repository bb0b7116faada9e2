/* ResampleAxis: weighted sums over a window that lies elsewhere for each result, along one axis: Resize is made of it.
 *   y[o.., k, i..] = sum over t of weight[k, t] * x[o.., start[k] + t, i..]; without weights x[o.., start[k], i..]
 * Windows and weights are known at compile time. Where a window has up to 16 positions, products are added from the
 * first one on, in their order; more are added as ReduceSum adds them along that axis. The gradient in x is another
 * ResampleAxis, whose windows are the results that read an element; if these lie too far apart for a table of
 * reasonable size, it is a stepc.Scatter. A weight of 0 counts as a term. */
#include "ops/move_rules.h"

#include "base/checked.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define DTYPES_START (DTYPE_BIT(DTYPE_INT16) | DTYPES_INDEX)
static const struct op_attr attrs[] = {{.name = "axis", .type = ATTR_INT, .required = true}, {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_param inputs[] = {
    {.name = "x", .type = 'T', .dtypes = DTYPES_ALL},
    {.name = "start", .dtypes = DTYPES_START, .flags = PARAM_NOT_DIFF},
    {.name = "weight", .type = 'T', .dtypes = DTYPES_FLOATS, .flags = PARAM_NOT_DIFF | PARAM_OPTIONAL},
    {0}};
static const struct op_param outputs[] = {{.name = "y", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

/* ---- windows ----------------------------------------------------------------------------------------------------- */

/* The node around its axis, and its tables. */
struct taps {
    int axis;
    int64_t outer, in, out, inner, size; /* size: of a window */
    const struct tensor *start, *weight; /* weight NULL: 1, and size is 1 */
};

static struct taps taps_of(const struct node *n)
{
    const struct shape *x = &n->inputs.data[0]->shape;
    struct value *weight = node_input(n, 2);
    struct taps t = {.start = value_known(n->inputs.data[1]), .weight = weight ? value_known(weight) : NULL};
    (void)shape_axis(x->rank, op_attr_int(n, "axis"), &t.axis);
    t.outer = shape_count_range(x, 0, t.axis);
    t.in = x->dim[t.axis];
    t.inner = shape_count_range(x, t.axis + 1, x->rank);
    t.out = n->inputs.data[1]->shape.dim[0];
    t.size = weight ? weight->shape.dim[1] : 1;
    return t;
}

static int64_t start_of(const struct taps *t, int64_t k)
{
    return tensor_get_int(t->start, k);
}

static double weight_of(const struct taps *t, int64_t k, int64_t tap)
{
    return t->weight ? tensor_get_double(t->weight, k * t->size + tap) : 1.0;
}

static bool resample_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *start = infer_shape(c, 1);
    struct shape y = *x;
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), x->rank, &axis))
        return false;
    const struct tensor *known = infer_known(c, 1);
    if (known == NULL || (infer_in(c, 2) != NULL && infer_known(c, 2) == NULL))
        return false;
    if (start->rank != 1)
        return infer_error(c, "input 1 (start) has rank %d, expected 1", start->rank);
    if (infer_in(c, 2) != NULL &&
        (infer_rank(c, 2) != 2 || infer_shape(c, 2)->dim[0] != start->dim[0] || infer_shape(c, 2)->dim[1] < 1))
        return infer_error(c, "input 2 (weight) does not have the shape [%lld,window]", (long long)start->dim[0]);
    const int64_t size = infer_in(c, 2) != NULL ? infer_shape(c, 2)->dim[1] : 1;
    for (int64_t k = 0; k < known->count; k++)
        if (tensor_get_int(known, k) < 0 || tensor_get_int(known, k) > x->dim[axis] - size)
            return infer_error(c, "window %lld of %lld elements from element %lld on leaves dimension %d of %lld",
                               (long long)k, (long long)size, (long long)tensor_get_int(known, k), axis,
                               (long long)x->dim[axis]);
    shape_set(&y, axis, shape_size(start, 0));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

/* Gather of all windows side by side, and a sum along them. */
static bool resample_plain(struct expand_ctx *c)
{
    const struct taps t = taps_of(c->node);
    struct value *x = expand_in(c, 0);
    struct tensor *const at = tensor_new(c->b->graph->arena, DTYPE_INT64, &SHAPE(t.out * t.size));
    const int window = t.axis + 1;
    for (int64_t k = 0; k < at->count; k++)
        tensor_set_int(at, k, start_of(&t, k / t.size) + k % t.size);
    x = build_with(c, "Gather", ATTRS(attr_int("axis", t.axis)), x, build_constant(c->b, at));
    if (t.weight == NULL)
        return expand_out(c, 0, x);
    struct shape apart = {.rank = 0}, weight = {.rank = 0};
    for (int d = 0; d < x->shape.rank; d++) {
        shape_add(&apart, d == t.axis ? size_constant(t.out) : shape_size(&x->shape, d));
        shape_add(&weight, size_constant(d == t.axis ? t.out : 1));
        if (d == t.axis) {
            shape_add(&apart, size_constant(t.size));
            shape_add(&weight, size_constant(t.size));
        }
    }
    x = build_reshape(c->b, x, &apart);
    x = build(c, "Mul", x, build_reshape(c->b, expand_in(c, 2), &weight));
    return expand_out(c, 0, build_reduce_sum(c->b, x, &window, 1, false));
}

/* ---- gradient ---------------------------------------------------------------------------------------------------- */

/* The results that read an element of x lie in [first, last]; first > last: none does. */
struct readers {
    int64_t first, last;
};

static struct readers *readers_of(struct arena *a, const struct taps *t)
{
    struct readers *r = arena_array(a, struct readers, (size_t)t->in);
    for (int64_t i = 0; i < t->in; i++)
        r[i] = (struct readers){.first = t->out, .last = -1};
    for (int64_t k = 0; k < t->out; k++)
        for (int64_t tap = 0; tap < t->size; tap++) {
            struct readers *e = &r[start_of(t, k) + tap];
            if (weight_of(t, k, tap) == 0)
                continue;
            e->first = k < e->first ? k : e->first;
            e->last = k > e->last ? k : e->last;
        }
    return r;
}

static int64_t most_readers(const struct readers *r, int64_t count)
{
    int64_t most = 1;
    for (int64_t i = 0; i < count; i++)
        most = r[i].last - r[i].first + 1 > most ? r[i].last - r[i].first + 1 : most;
    return most;
}

/* The tables transposed: window i holds the results that read element i, `size` of them. */
static struct value *build_transposed(struct grad_ctx *c, const struct taps *t, const struct readers *r, int64_t size)
{
    struct arena *a = c->b->graph->arena;
    struct value *dy = grad_of_output(c, 0);
    struct tensor *start = tensor_new(a, t->out <= INT16_MAX ? DTYPE_INT16 : DTYPE_INT64, &SHAPE(t->in));
    struct tensor *weight = tensor_new(a, dy->dtype, &SHAPE(t->in, size));
    for (int64_t i = 0; i < t->in; i++) {
        const int64_t first = r[i].first < t->out - size ? r[i].first : t->out - size;
        tensor_set_int(start, i, first);
        for (int64_t k = r[i].first; k <= r[i].last; k++) {
            const int64_t tap = i - start_of(t, k);
            if (tap >= 0 && tap < t->size)
                tensor_set_double(weight, i * size + k - first, weight_of(t, k, tap));
        }
    }
    return build_with(c, "stepc.ResampleAxis", ATTRS(attr_int("axis", t->axis)), dy, build_constant(c->b, start),
                      build_constant(c->b, weight));
}

/* Every term of every sum goes back by itself. */
static struct value *build_scattered(struct grad_ctx *c, const struct taps *t)
{
    struct arena *a = c->b->graph->arena;
    const struct shape *const y = &grad_of_output(c, 0)->shape;
    const struct size outer = shape_size_range(y, 0, t->axis), inner = shape_size_range(y, t->axis + 1, y->rank),
                      out = size_constant(t->out);
    struct value *dy = build_reshape(c->b, grad_of_output(c, 0), &SHAPE_OF(outer, out, size_constant(1), inner));
    struct tensor *index = tensor_new(a, DTYPE_INT64, &SHAPE(1, t->out * t->size, 1));
    for (int64_t k = 0; k < index->count; k++)
        tensor_set_int(index, k, start_of(t, k / t->size) + k % t->size);
    if (t->weight)
        dy = build(c, "Mul", dy, build_reshape(c->b, grad_input(c, 2), &SHAPE(t->out, t->size, 1)));
    struct value *terms = build_reshape(c->b, dy, &SHAPE_OF(outer, size_product(out, size_constant(t->size)), inner));
    struct value *dx =
        build_with(c, "stepc.Scatter", ATTRS(attr_int("size", t->in)), build_constant(c->b, index), terms);
    return build_reshape(c->b, dx, &grad_input(c, 0)->shape);
}

#define TABLE_GROWTH 8 /* a table that is transposed may be so many times as large */

static bool resample_grad(struct grad_ctx *c)
{
    const struct taps t = taps_of(c->node);
    struct value *x = grad_input(c, 0);
    if (shape_count(&x->shape) == 0 || t.out == 0)
        return grad_accumulate(c, 0, build_full_like(c->b, x, 0.0));
    struct arena scratch = {0};
    const struct readers *r = readers_of(&scratch, &t);
    const int64_t size = most_readers(r, t.in);
    int64_t entries;
    const bool fits = checked_mul(size, t.in, &entries) && entries <= TABLE_GROWTH * (t.out * t.size + t.in);
    struct value *dx = fits ? build_transposed(c, &t, r, size) : build_scattered(c, &t);
    arena_free(&scratch);
    return grad_accumulate(c, 0, dx);
}

/* ---- value ------------------------------------------------------------------------------------------------------- */

#define WRITTEN_OUT 16 /* positions of a window */

/* One window; x is its first element, the next ones are `inner` apart. */
static double sum_of_window(const struct eval_ctx *c, const struct taps *t, int64_t k, const double *x)
{
    const enum dtype d = eval_input(c, 0)->dtype;
    double *products = arena_array(c->scratch, double, (size_t)t->size);
    for (int64_t tap = 0; tap < t->size; tap++)
        products[tap] = eval_round(c, weight_of(t, k, tap) * x[tap * t->inner]);
    if (t->size > WRITTEN_OUT && t->inner == 1)
        return eval_sum_lanes(c, d, products, t->size, 1);
    double sum = t->size > WRITTEN_OUT ? eval_round(c, 0 + products[0]) : products[0];
    for (int64_t tap = 1; tap < t->size; tap++)
        sum = eval_round(c, sum + products[tap]);
    return sum;
}

static bool resample_eval(struct eval_ctx *c)
{
    const struct taps t = taps_of(c->node);
    struct eval_tensor *y = eval_output(c, 0);
    for (int64_t p = 0; y != NULL && p < y->count; p++) {
        const int64_t o = p / t.inner / t.out, k = p / t.inner % t.out, i = p % t.inner;
        const int64_t from = (o * t.in + start_of(&t, k)) * t.inner + i;
        if (t.weight)
            y->f[p] = sum_of_window(c, &t, k, &eval_f(c, 0)[from]);
        else
            move_element(y, p, eval_input(c, 0), from);
    }
    return true;
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

/* Reads position `tap` of the window of the current result: loops are y's dimensions, windows change along t->axis. */
static const struct expr *load_position(struct lower_ctx *c, const struct taps *t, const struct view *x, int64_t tap)
{
    const struct view starts = lower_view_of(c, 1);
    struct view over = *x, index = {.buffer = starts.buffer, .offset = starts.offset, .shape = *lower_out_shape(c, 0)};
    over.shape = *lower_out_shape(c, 0);
    over.offset += tap * x->stride[t->axis];
    over.stride[t->axis] = 0;
    index.stride[t->axis] = starts.stride[0];
    struct access access = lower_access(&over);
    access.term[access.term_count++] =
        (struct access_term){.index = expr_cast(c->arena, DTYPE_INT64, lower_load(c, &index)),
                             .stride = x->stride[t->axis],
                             .extent = t->in - t->size + 1};
    return lower_load_at(c, &access);
}

static const struct expr *load_weight(struct lower_ctx *c, const struct taps *t, int64_t tap)
{
    const struct view weights = lower_view_of(c, 2);
    struct view over = {
        .buffer = weights.buffer, .offset = weights.offset + tap * weights.stride[1], .shape = *lower_out_shape(c, 0)};
    over.stride[t->axis] = weights.stride[0];
    return lower_load(c, &over);
}

static bool lower_written_out(struct lower_ctx *c, const struct taps *t)
{
    const struct view x = lower_view_of(c, 0);
    const struct expr *sum = NULL;
    for (int64_t tap = 0; tap < t->size; tap++) {
        const struct expr *term = load_position(c, t, &x, tap);
        if (t->weight)
            term = expr_binary(c->arena, EXPR_MUL, load_weight(c, t, tap), term);
        sum = sum ? expr_binary(c->arena, EXPR_ADD, sum, term) : term;
    }
    return lower_map(c, sum);
}

/* Results between `first` and first + repetitions * results repeat: result k + results reads with the same weights what
 * lies `step` elements further on. So no table is needed there; the others are the border. */
struct period {
    int64_t first, repetitions, results, step;
};

/* Does result k + p read as result k does? */
static bool repeats(const struct taps *t, int64_t k, const struct period *p)
{
    bool same = start_of(t, k + p->results) - start_of(t, k) == p->step;
    for (int64_t tap = 0; tap < t->size && same; tap++)
        same = weight_of(t, k, tap) == weight_of(t, k + p->results, tap);
    return same;
}

/* The period around the middle of the axis. */
static struct period longest(const struct taps *t, int64_t results)
{
    const int64_t middle = (t->out - results) / 2;
    struct period p = {
        .first = middle, .results = results, .step = start_of(t, middle + results) - start_of(t, middle)};
    int64_t end = middle;
    while (end + results < t->out && repeats(t, end, &p))
        end++;
    while (p.first > 0 && repeats(t, p.first - 1, &p))
        p.first--;
    p.repetitions = (end + results - p.first) / results;
    return p;
}

#define MOST_PRODUCTS 128 /* that are written out */
#define MOST_TOGETHER 16  /* results of a period */
#define LEAST_REPETITIONS 3

static bool find_period(const struct taps *t, struct period *p)
{
    for (int64_t results = 1; results <= MOST_TOGETHER && results < t->out; results++) {
        *p = longest(t, results);
        if (p->repetitions >= LEAST_REPETITIONS && (t->out - (p->repetitions - 1) * results) * t->size <= MOST_PRODUCTS)
            return true;
    }
    return false;
}

/* Result k, and with a step those that far behind it, at one iteration of the loop over t->axis. */
static const struct expr *known_window(struct lower_ctx *c, const struct taps *t, const struct view *x, int64_t k,
                                       int64_t step, const struct shape *loops)
{
    struct view at = {.buffer = x->buffer, .offset = x->offset, .shape = *loops};
    const struct expr *sum = NULL;
    for (int d = 0; d < loops->rank; d++)
        at.stride[d] = x->stride[d];
    at.offset += start_of(t, k) * x->stride[t->axis];
    at.stride[t->axis] *= step;
    for (int64_t tap = 0; tap < t->size; tap++, at.offset += x->stride[t->axis]) {
        const struct expr *term = lower_load(c, &at);
        if (weight_of(t, k, tap) != 1)
            term = expr_binary(c->arena, EXPR_MUL, expr_float(c->arena, term->dtype, weight_of(t, k, tap)), term);
        sum = sum ? expr_binary(c->arena, EXPR_ADD, sum, term) : term;
    }
    return sum;
}

static void store_window(struct lower_ctx *c, struct part *part, const struct taps *t, const struct shape *loops,
                         int64_t k, int64_t results, int64_t step)
{
    const struct view x = lower_view_of(c, 0), y = lower_out_view(c, 0);
    struct view to = y;
    to.shape = *loops;
    to.offset += k * y.stride[t->axis];
    to.stride[t->axis] *= results;
    lower_store(c, part, &to, known_window(c, t, &x, k, step, loops));
}

/* A loop over the repetitions that stores the results of one, and the border one by one: what a reader would write.
 * Vectors run along the repetitions. */
static bool lower_period(struct lower_ctx *c, const struct taps *t, const struct period *p)
{
    const int64_t end = p->first + p->repetitions * p->results;
    struct shape loops = *lower_out_shape(c, 0);
    lower_kernel(c, NULL);
    shape_set(&loops, t->axis, size_constant(p->repetitions));
    struct part *part = lower_part(c, &loops);
    for (int64_t k = p->first; k < p->first + p->results; k++)
        store_window(c, part, t, &loops, k, p->results, p->step);
    c->kernel->rows = t->axis;
    if (p->first == 0 && end == t->out)
        return true;
    shape_set(&loops, t->axis, size_constant(1));
    part = lower_part(c, &loops);
    for (int64_t k = 0; k < t->out; k++)
        if (k < p->first || k >= end)
            store_window(c, part, t, &loops, k, 1, 0);
    return true;
}

/* Loops over [outer, out, window, inner]. */
static bool lower_sum(struct lower_ctx *c, const struct taps *t)
{
    const struct view x = lower_contiguous(c, 0), starts = lower_view_of(c, 1), weights = lower_view_of(c, 2);
    const struct shape loops = SHAPE(t->outer, t->out, t->size, t->inner), kept = SHAPE(t->outer, t->out, 1, t->inner);
    const struct view to = {
        .buffer = lower_out_view(c, 0).buffer, .shape = kept, .stride = {t->out * t->inner, t->inner, 0, 1}};
    const struct view index = {
        .buffer = starts.buffer, .offset = starts.offset, .shape = loops, .stride = {0, starts.stride[0]}};
    const struct view weight = {.buffer = weights.buffer,
                                .offset = weights.offset,
                                .shape = loops,
                                .stride = {0, weights.stride[0], weights.stride[1]}};
    const struct view window = {
        .buffer = x.buffer, .offset = x.offset, .shape = loops, .stride = {t->in * t->inner, 0, t->inner, 1}};
    struct access access = lower_access(&window);
    access.term[access.term_count++] =
        (struct access_term){.index = expr_cast(c->arena, DTYPE_INT64, lower_load(c, &index)),
                             .stride = t->inner,
                             .extent = t->in - t->size + 1};
    lower_kernel(c, NULL);
    struct part *p = lower_part(c, &loops);
    p->reduced[2] = true;
    p->reduce = REDUCE_SUM;
    p->element = expr_binary(c->arena, EXPR_MUL, lower_load(c, &weight), lower_load_at(c, &access));
    lower_store(c, p, &to, expr_result(c->arena, lower_out_dtype(c, 0)));
    return true;
}

static bool resample_lower(struct lower_ctx *c)
{
    const struct taps t = taps_of(c->node);
    struct period p;
    if (lower_out_view(c, 0).buffer->count == 0)
        return true;
    if (t.inner == 1 && t.size <= WRITTEN_OUT && find_period(&t, &p))
        return lower_period(c, &t, &p);
    return t.size > WRITTEN_OUT ? lower_sum(c, &t) : lower_written_out(c, &t);
}

/* ---- record ------------------------------------------------------------------------------------------------------ */

#define ROW(count, list) "s = Constant <value = int16[" count "] {" list "}> () "
#define SMALL(list) "s = Constant <value = int16[4] {" list "}> () "
static const struct op_sample samples[] = {
    {.text = "g (float[2,5,3] x) => (float[2,4,3] y) { " SMALL(
         "0, 3, 1, 3") "w = Constant <value = float[4,2] {0.5, 0.5, 1, 0.25, -2, 3, 0, 0}> () y = stepc.ResampleAxis "
                       "<axis = 1> (x, s, w) }"},
    {.text = "g (double[2,5] x) => (double[2,4] y) { " SMALL(
         "0, 0, 2, 2") "w = Constant <value = double[4,3] {0.5, 0.5, 1, 0.25, -2, 3, 0, 0, 1, 0.1, 0.2, 0.3}> () "
                       "y = stepc.ResampleAxis <axis = -1> (x, s, w) }"},
    {.text = "g (float[5,3] x) => (float[4,3] y) { " SMALL("4, 0, 0, 4") "y = stepc.ResampleAxis <axis = 0> (x, s) }"},
    {.text = "g (bool[5,3] x) => (bool[5,4] y) { " SMALL("0, 0, 1, 2") "y = stepc.ResampleAxis <axis = 1> (x, s) }",
     .no_gradient = true},
    {.text = "g (float[2,0] x) => (float[0,0] y) { s = Constant <value = int32[0] {}> () y = stepc.ResampleAxis <axis "
             "= 0> (x, s) }"},
    /* windows of more positions than are written out, along the last axis and another one */
    {.text = "g (float[2,20] x) => (float[2,2] y) { s = Constant <value = int32[2] {0, 2}> () n = Constant <value_ints "
             "= [2, 18]> () "
             "o = Constant <value_float = 0.3> () w = Expand(o, n) y = stepc.ResampleAxis <axis = 1> (x, s, w) }"},
    {.text = "g (float[2,20,3] x) => (float[2,2,3] y) { s = Constant <value = int64[2] {2, 1}> () n = Constant "
             "<value_ints = [2, 18]> () "
             "o = Constant <value_float = 0.3> () w = Expand(o, n) y = stepc.ResampleAxis <axis = 1> (x, s, w) }"},
    {.text = "g (float16[5,3] x) => (float16[4,3] y) { " SMALL(
         "0, 3, 1, 3") "w = Constant <value = float16[4,1] {1, 2, 3, 4}> () y = stepc.ResampleAxis <axis = 0> (x, s, "
                       "w) }"},
    {.text = "g (float[5] x) => (float[4] y) { " SMALL(
         "0, 3, 1, 4") "w = Constant <value = float[4,2] {0, 0, 0, 0, 0, 0, 0, 0}> () y = stepc.ResampleAxis <axis = "
                       "0> (x, s, w) }",
     .error = "window 3 of 2 elements from element 4 on leaves dimension 0 of 5"},
    {.text = "g (float[5] x) => (float[4] y) { " SMALL("0, 3, 1, -1") "y = stepc.ResampleAxis <axis = 0> (x, s) }",
     .error = "leaves"},
    {.text = "g (float[5] x) => (float[4] y) { " SMALL("0, 3, 1, 1") "w = Constant <value = float[2,1] {0, 0}> () "
                                                                     "y = stepc.ResampleAxis <axis = 0> (x, s, w) }",
     .error = "does not have the shape [4,window]"},
    {.text = "g (float[5] x, int32[4] s) => (float[4] y) { y = stepc.ResampleAxis <axis = 0> (x, s) }",
     .error = "known"},
    {0}};

const struct op_def op_defs_resample[] = {{.domain = DOMAIN_STEPC,
                                           .name = "ResampleAxis",
                                           .versions = versions,
                                           .inputs = inputs,
                                           .outputs = outputs,
                                           .attrs = attrs,
                                           .infer = resample_infer,
                                           .plain = resample_plain,
                                           .grad = resample_grad,
                                           .eval = resample_eval,
                                           .lower = resample_lower,
                                           .samples = samples},
                                          {0}};
