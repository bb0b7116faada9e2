/* Slice: along each listed axis the elements start, start + step, ... before end; and its gradient, SliceGrad.
 * Negative starts and ends count from the end; what lies outside is cut off; steps may be negative, not 0.
 * Spec: ONNX Slice-1 (attributes), -10 to -13 (inputs, steps). */
#include "ops/move_rules.h"

#include <stdlib.h>

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

static const struct op_attr attrs_1[] = {{.name = "axes", .type = ATTR_INTS, .no_default = true},
                                         {.name = "ends", .type = ATTR_INTS, .required = true},
                                         {.name = "starts", .type = ATTR_INTS, .required = true},
                                         {0}};
static const struct op_attr no_attrs[] = {{0}};
static const struct op_param inputs_1[] = {{.name = "data", .type = 'T', .dtypes = MOVE_TYPES_1}, {0}};

static bool upgrade_1(struct upgrade_ctx *c)
{
    return upgrade_attr_to_input(c, "starts", 1) && upgrade_attr_to_input(c, "ends", 2) &&
           upgrade_attr_to_input(c, "axes", 3);
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = MOVE_TYPES_1, .attrs = attrs_1, .inputs = inputs_1, .upgrade = upgrade_1},
    {.since = 10, .dtypes = MOVE_TYPES_1, .attrs = no_attrs},
    {.since = 11, .dtypes = MOVE_TYPES_1, .attrs = no_attrs},
    {.since = 13},
    {0}};
static const struct op_param inputs[] = {
    {.name = "data", .type = 'T', .dtypes = MOVE_TYPES_25},
    {.name = "starts", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
    {.name = "ends", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF},
    {.name = "axes", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF | PARAM_OPTIONAL},
    {.name = "steps", .type = 'I', .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF | PARAM_OPTIONAL},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};

/* ---- which elements ---------------------------------------------------------------------------------------------- */

/* For every dimension of the input: first index, distance, and number of elements. Where there is one element or none
 * the distance is 1, so that |step| never exceeds the dimension. */
struct slice_range {
    int64_t start[SHAPE_MAX_RANK], step[SHAPE_MAX_RANK];
    struct shape shape;
};

/* The inputs starts, ends, axes (or NULL) and steps (or NULL), checked, `count` each. */
struct request {
    const struct size *starts, *ends;
    const int64_t *axes, *steps;
    size_t count;
    int64_t span; /* of the program's range */
};

/* A place in an axis of `dim` elements; negative ones count from its end. */
static struct size place(struct size x, struct size dim, struct size low, struct size high, int64_t span)
{
    const struct size at = x.most < 0 ? size_sum(x, dim) : x;
    return size_least(size_greatest(at, low, span), high, span);
}

/* Do these take nothing, whatever the dimension is? */
static bool takes_none(struct size start, struct size end, int64_t step)
{
    return step > 0 && start.per == 0 && end.per == 0 && (start.most < 0) == (end.most < 0) && start.most >= end.most;
}

static void resolve_axis(struct slice_range *r, int d, const struct request *q, size_t k)
{
    /* As the specification has it. Going backwards, "before the first element" is -1; it cannot be written as such,
     * since negative numbers count from the end: anything below -dim says it. */
    const int64_t step = q->steps != NULL ? q->steps[k] : 1, stride = step == INT64_MIN ? INT64_MAX : llabs(step);
    const struct size dim = shape_size(&r->shape, d), none = size_constant(0),
                      before = size_constant(step > 0 ? 0 : -1), last = size_sum(dim, before),
                      start = place(q->starts[k], dim, none, last, q->span),
                      end = place(q->ends[k], dim, before, last, q->span),
                      distance = step > 0 ? size_difference(end, start) : size_difference(start, end);
    const struct size count = size_quotient_up(size_greatest(distance, none, q->span), stride);
    shape_set(&r->shape, d, dim.most == 0 || takes_none(q->starts[k], q->ends[k], step) ? none : count);
    r->start[d] = r->shape.dim[d] > 0 ? start.most : 0;
    r->step[d] = r->shape.dim[d] > 1 ? step : 1;
}

static struct slice_range resolve(const struct shape *x, const struct request *q)
{
    struct slice_range r = {.shape = *x};
    for (int d = 0; d < x->rank; d++)
        r.step[d] = 1;
    for (size_t k = 0; k < q->count; k++) {
        int d = (int)k;
        if (q->axes != NULL)
            (void)shape_axis(x->rank, q->axes[k], &d);
        resolve_axis(&r, d, q, k);
    }
    return r;
}

static struct slice_range range_of_node(struct arena *a, const struct node *n)
{
    struct request q = {.span = program_span(n->graph->program)};
    size_t unused;
    q.starts = move_known_sizes(a, n, 1, &q.count);
    q.ends = move_known_sizes(a, n, 2, &unused);
    q.axes = move_known_ints(a, n, 3, &unused);
    q.steps = move_known_ints(a, n, 4, &unused);
    return resolve(&n->inputs.data[0]->shape, &q);
}

/* ---- Slice ------------------------------------------------------------------------------------------------------- */

static bool read_list(struct infer_ctx *c, int i, const char *name, const int64_t **list, size_t expected)
{
    size_t count;
    *list = NULL;
    if (infer_in(c, i) == NULL)
        return true;
    if (!infer_known_ints(c, i, list, &count))
        return false;
    return count == expected ||
           infer_error(c, "input %d (%s) has %zu elements, expected %zu as input 1 (starts)", i, name, count, expected);
}

static bool check_axes(struct infer_ctx *c, const struct request *q)
{
    const int rank = infer_rank(c, 0);
    bool listed[SHAPE_MAX_RANK] = {false};
    if (q->axes != NULL)
        return move_infer_axes(c, q->axes, q->count, rank, false, listed);
    return q->count <= (size_t)rank ||
           infer_error(c, "input 1 (starts) has %zu elements for an input of rank %d", q->count, rank);
}

static bool slice_infer(struct infer_ctx *c)
{
    struct request q = {.span = program_span(c->graph->program)};
    size_t ends;
    if (!infer_known_sizes(c, 1, &q.starts, &q.count) || !infer_known_sizes(c, 2, &q.ends, &ends))
        return false;
    if (ends != q.count)
        return infer_error(c, "input 2 (ends) has %zu elements, expected %zu as input 1 (starts)", ends, q.count);
    if (!read_list(c, 3, "axes", &q.axes, q.count) || !read_list(c, 4, "steps", &q.steps, q.count) ||
        !check_axes(c, &q))
        return false;
    for (size_t k = 0; q.steps != NULL && k < q.count; k++)
        if (q.steps[k] == 0)
            return infer_error(c, "input 4 (steps) contains 0");
    const struct slice_range r = resolve(infer_shape(c, 0), &q);
    return infer_out(c, 0, DTYPE_UNDEFINED, &r.shape);
}

/* dx = 0 but for the elements that were taken, which have dy */
static bool slice_grad(struct grad_ctx *c)
{
    const struct shape *x = &grad_input(c, 0)->shape;
    const struct slice_range r = range_of_node(c->b->graph->arena, c->node);
    const size_t rank = (size_t)x->rank;
    const struct attr *attrs = ATTRS(attr_dims("shape", x), attr_ints("starts", r.start, rank),
                                     attr_ints("steps", r.step, rank));
    return grad_accumulate(c, 0, build_with(c, "stepc.SliceGrad", attrs, grad_of_output(c, 0)));
}

/* Offset and strides of a range within a tensor of `shape`. */
static int64_t strides_of_range(const struct shape *shape, const struct slice_range *r, int64_t *stride)
{
    int64_t offset = 0;
    shape_strides(shape, stride);
    for (int d = 0; d < shape->rank; d++) {
        offset += r->start[d] * stride[d];
        stride[d] *= r->step[d];
    }
    return offset;
}

static bool slice_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct slice_range r = range_of_node(c->scratch, c->node);
    int64_t stride[SHAPE_MAX_RANK];
    const int64_t offset = strides_of_range(&x->shape, &r, stride);
    if (eval_wants(c, 0))
        move_read_strided(eval_output(c, 0), x, offset, stride);
    return true;
}

static bool slice_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0);
    const struct slice_range r = range_of_node(c->arena, c->node);
    const struct view y = view_slice(&x, r.start, r.step, &r.shape);
    return lower_as_view(c, 0, &y);
}

static const struct op_sample slice_samples[] = {
    {.text = "g (float[4,5] x) => (float[2,5] y) "
             "{ s = Constant <value_ints = [1]> () e = Constant <value_ints = [3]> () y = Slice(x, s, e) }"},
    {.text = "g (double[4,5] x) => (double[4,2] y) "
             "{ s = Constant <value_ints = [-1]> () e = Constant <value_ints = [-99]> () "
             "a = Constant <value_ints = [-1]> () t = Constant <value_ints = [-3]> () y = Slice(x, s, e, a, t) }"},
    {.text = "g (double[5] x) => (double[3] y) "
             "{ s = Constant <value_ints = [4]> () e = Constant <value_ints = [-6]> () "
             "a = Constant <value_ints = [0]> () t = Constant <value_ints = [-2]> () y = Slice(x, s, e, a, t) }"},
    {.text = "g (float[4,5] x) => (float[2,2] y) { "
             "s = Constant <value_ints = [0, -2]> () e = Constant <value_ints = [99, 99]> () "
             "a = Constant <value_ints = [0, 1]> () t = Constant <value_ints = [3, 1]> () y = Slice(x, s, e, a, t) }"},
    {.text = "g (float[4] x) => (float[0] y) { s = Constant <value_ints = [3]> () e = Constant <value_ints = [1]> () "
             "y = Slice(x, s, e) }"},
    {.text = "g (float[4,5] x) => (float[2,5] y) { y = Slice <axes = [0], starts = [1], ends = [-1]> (x) }",
     .opset = 9},
    {.text = "g (float[4] x) => (float[4] y) { s = Constant <value_ints = [0]> () e = Constant <value_ints = [4]> () "
             "a = Constant <value_ints = [0]> () t = Constant <value_ints = [0]> () y = Slice(x, s, e, a, t) }",
     .error = "contains 0"},
    {.text = "g (float[4] x) => (float[4] y) "
             "{ s = Constant <value_ints = [0]> () e = Constant <value_ints = [4, 4]> () y = Slice(x, s, e) }",
     .error = "has 2 elements, expected 1"},
    {.text = "g (float[4] x) => (float[4] y) "
             "{ s = Constant <value_ints = [0, 0]> () e = Constant <value_ints = [4, 4]> () y = Slice(x, s, e) }",
     .error = "rank 1"},
    {.text = "g (float[6,2] x, int64[1] s, int64[1] e) => (float[2] y) { p = Slice(x, s, e) q = Sigmoid(p) "
             "a = Constant <value_ints = [0]> () y = ReduceSum <keepdims = 0> (q, a) }",
     .feed = ",index:3,index:7"},
    {.text = "g (double[2,5] x, int32[1] s) => (double y) { e = Constant <value = int32[1] {-1}> () "
             "a = Constant <value = int32[1] {1}> () p = Slice(x, s, e, a) q = Exp(p) "
             "y = ReduceSum <keepdims = 0> (q) }",
     .feed = ",index:4"},
    {.text = "g (float[4,2] x, int64[2] s, int64[2] e) => (float[4,2] y) { y = Slice(x, s, e) }",
     .error = "must be known at compile time"},
    {0}};

/* ---- SliceGrad(dy): a tensor of zeros with dy at the elements of a range ----------------------------------------- */

static const struct op_attr grad_attrs[] = {{.name = "shape", .type = ATTR_INTS, .required = true},
                                            {.name = "starts", .type = ATTR_INTS, .required = true},
                                            {.name = "steps", .type = ATTR_INTS, .required = true},
                                            {0}};
static const struct op_version grad_versions[] = {{.since = 1}, {0}};
static const struct op_param grad_inputs[] = {{.name = "dy", .type = 'T', .dtypes = DTYPES_ALL}, {0}};
static const struct op_param grad_outputs[] = {{.name = "dx", .type = 'T', .dtypes = DTYPES_ALL}, {0}};

/* Attributes of a node that inference has accepted. */
static struct slice_range range_of_attrs(const struct node *n, struct shape *to)
{
    struct slice_range r = {.shape = n->inputs.data[0]->shape};
    const int64_t *starts, *steps;
    size_t count;
    op_attr_ints(n, "starts", &starts, &count);
    op_attr_ints(n, "steps", &steps, &count);
    *to = op_attr_dims(n, "shape");
    for (size_t d = 0; d < count; d++) {
        r.start[d] = starts[d];
        r.step[d] = steps[d];
    }
    return r;
}

/* All elements lie in [0, dim), and no product of a step with anything in the tensor overflows. */
static bool range_fits(int64_t start, int64_t step, int64_t count, int64_t dim)
{
    if (count == 0)
        return dim >= 0 && start == 0 && step == 1;
    if (start < 0 || start >= dim || step == 0 || (count == 1 && step != 1))
        return false;
    const int64_t room = step > 0 ? dim - 1 - start : start;
    const uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
    return (uint64_t)room / stride >= (uint64_t)(count - 1);
}

static bool slice_grad_infer(struct infer_ctx *c)
{
    static const char *const names[] = {"shape", "starts", "steps"};
    const struct shape *dy = infer_shape(c, 0);
    for (int k = 0; k < 3; k++) {
        const int64_t *list;
        size_t count;
        op_attr_ints(c->node, names[k], &list, &count);
        if (count != (size_t)dy->rank)
            return infer_error(c, "attribute '%s' has %zu entries, expected %d, the rank of input 0 '%s'", names[k],
                               count, dy->rank, infer_in(c, 0)->name);
    }
    struct shape to;
    const struct slice_range r = range_of_attrs(c->node, &to);
    for (int d = 0; d < to.rank; d++)
        if (!range_fits(r.start[d], r.step[d], dy->dim[d], to.dim[d]))
            return infer_error(c, "%lld elements from %lld by %lld do not fit into dimension %d of %lld",
                               (long long)dy->dim[d], (long long)r.start[d], (long long)r.step[d], d,
                               (long long)to.dim[d]);
    return infer_out(c, 0, DTYPE_UNDEFINED, &to);
}

/* The adjoint of dy is the slice of the adjoint. A range that goes backwards to element 0 ends "before" it. */
static bool slice_grad_grad(struct grad_ctx *c)
{
    struct builder *b = c->b;
    struct shape to;
    const struct slice_range r = range_of_attrs(c->node, &to);
    const size_t rank = (size_t)to.rank;
    int64_t axes[SHAPE_MAX_RANK];
    struct shape ends = SHAPE_SCALAR;
    for (int d = 0; d < to.rank; d++) {
        const struct size end = size_sum(size_constant(r.start[d]), size_product(shape_size(&r.shape, d),
                                                                                 size_constant(r.step[d])));
        shape_add(&ends, end.most < 0 ? size_constant(INT64_MIN) : end);
        axes[d] = d;
    }
    if (rank == 0)
        return grad_accumulate(c, 0, grad_of_output(c, 0));
    return grad_accumulate(c, 0,
                           build(c, "Slice", grad_of_output(c, 0), build_ints(b, r.start, rank),
                                 build_dims(b, &ends), build_ints(b, axes, rank), build_ints(b, r.step, rank)));
}

/* Backwards along the axes whose step is negative. */
static struct value *in_order(struct builder *b, struct value *dy, const struct slice_range *r)
{
    int64_t starts[SHAPE_MAX_RANK], ends[SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK], steps[SHAPE_MAX_RANK];
    size_t count = 0;
    for (int d = 0; d < dy->shape.rank; d++) {
        if (r->step[d] >= 0)
            continue;
        starts[count] = -1;
        ends[count] = INT64_MIN;
        steps[count] = -1;
        axes[count++] = d;
    }
    if (count == 0)
        return dy;
    struct value *const in[] = {dy, build_ints(b, starts, count), build_ints(b, ends, count),
                                build_ints(b, axes, count), build_ints(b, steps, count)};
    return build_value(b, "Slice", NULL, in, 5);
}

static struct value *pad_with_zeros(struct builder *b, struct value *x, const int64_t *pads)
{
    return build_value(b, "Pad", NULL, (struct value *const[]){x, build_ints(b, pads, 2 * (size_t)x->shape.rank)}, 2);
}

/* [.., n, ..] as [.., n step, ..], zeros between. */
static struct value *spread_out(struct builder *b, struct value *x, int d, int64_t step)
{
    int64_t pads[2 * (SHAPE_MAX_RANK + 1)] = {0};
    const struct shape apart = SHAPE_OF(shape_size_range(&x->shape, 0, d + 1), size_constant(1),
                                        shape_size_range(&x->shape, d + 1, x->shape.rank));
    struct shape together = x->shape;
    shape_set(&together, d, size_product(shape_size(&together, d), size_constant(step)));
    pads[apart.rank + 1] = step - 1;
    return build_reshape(b, pad_with_zeros(b, build_reshape(b, x, &apart), pads), &together);
}

/* Pad, of elements with zeros between where the step is not 1; a negative number of zeros cuts those off that were one
 * too many. */
static bool slice_grad_plain(struct expand_ctx *c)
{
    struct shape to;
    const struct slice_range r = range_of_attrs(c->node, &to);
    int64_t pads[2 * SHAPE_MAX_RANK] = {0};
    if (shape_count(&expand_in(c, 0)->shape) == 0)
        return expand_out(c, 0, build_expand(c->b, build_like(c, expand_in(c, 0), 0.0), &to));
    struct value *x = in_order(c->b, expand_in(c, 0), &r);
    for (int d = 0; d < to.rank; d++) {
        const int64_t step = r.step[d] < 0 ? -r.step[d] : r.step[d], last = (r.shape.dim[d] - 1) * r.step[d];
        if (step > 1)
            x = spread_out(c->b, x, d, step);
        pads[d] = r.step[d] < 0 ? r.start[d] + last : r.start[d];
        pads[to.rank + d] = to.dim[d] - pads[d] - x->shape.dim[d];
    }
    return expand_out(c, 0, pad_with_zeros(c->b, x, pads));
}

static bool slice_grad_eval(struct eval_ctx *c)
{
    struct shape to;
    const struct slice_range r = range_of_attrs(c->node, &to);
    int64_t stride[SHAPE_MAX_RANK];
    const int64_t offset = strides_of_range(&to, &r, stride);
    if (eval_wants(c, 0))
        move_write_strided(eval_output(c, 0), offset, stride, eval_input(c, 0));
    return true;
}

static bool slice_grad_lower(struct lower_ctx *c)
{
    struct shape to;
    const struct slice_range r = range_of_attrs(c->node, &to);
    const struct view dy = lower_view_of(c, 0), out = lower_out_view(c, 0);
    const struct view place = view_slice(&out, r.start, r.step, &r.shape);
    return move_fill_and_place(c, move_zero(c, lower_out_dtype(c, 0)), &dy, &place);
}

static const struct op_sample grad_samples[] = {
    {.text = "g (float[2,3] dy) => (float[4,6] dx) { "
             "dx = stepc.SliceGrad <shape = [4, 6], starts = [3, 1], steps = [-3, 2]> (dy) }"},
    {.text = "g (double[0] dy) => (double[3] dx) "
             "{ dx = stepc.SliceGrad <shape = [3], starts = [0], steps = [1]> (dy) }"},
    {.text = "g (float[2] dy) => (float[3] dx) { dx = stepc.SliceGrad <shape = [3], starts = [1], steps = [2]> (dy) }",
     .error = "do not fit"},
    {.text = "g (float[2] dy) => (float[3] dx) "
             "{ dx = stepc.SliceGrad <shape = [3, 1], starts = [1], steps = [1]> (dy) }",
     .error = "expected 1, the rank"},
    {0}};

/* ---- by data ----------------------------------------------------------------------------------------------------- */

static bool is_scalar_index(const struct value *v)
{
    return v != NULL && (v->dtype == DTYPE_INT64 || v->dtype == DTYPE_INT32) && shape_count(&v->shape) == 1;
}

/* A start or an end as a place from 0 to `size`, which may be a count itself. */
static struct value *place_of(struct bounded_ctx *c, struct value *x, struct value *size)
{
    struct value *const zero = build_int(c->b, 0);
    x = build_cast(c->b, build_reshape(c->b, x, &SHAPE_SCALAR), DTYPE_INT64);
    x = build(c, "Where", build(c, "Less", x, zero), build(c, "Add", x, size), x);
    return build(c, "Min", build(c, "Max", x, zero), size);
}

/* One axis from a start or to an end that data say, every element of it: a Gather. */
static bool slice_by_data(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    struct value *const v = node_input(n, 0), *const starts = node_input(n, 1), *const ends = node_input(n, 2);
    int axis = 0;
    if (v == NULL || (bounded_is_known(c, 1) && bounded_is_known(c, 2)) || !is_scalar_index(starts) ||
        !is_scalar_index(ends) || !bounded_is_known(c, 3) || !bounded_is_known(c, 4))
        return true;
    const struct tensor *const axes = node_input(n, 3) != NULL ? value_known(n->inputs.data[3]) : NULL;
    const struct tensor *const steps = node_input(n, 4) != NULL ? value_known(n->inputs.data[4]) : NULL;
    if ((axes != NULL && axes->count != 1) || (steps != NULL && (steps->count != 1 || tensor_get_int(steps, 0) != 1)) ||
        !shape_axis(v->shape.rank, axes != NULL ? tensor_get_int(axes, 0) : 0, &axis) || v->shape.dim[axis] == 0)
        return true;
    const struct bounded *const of = bounded_in(c, 0);
    if (of != NULL && of->axis != axis)
        return bounded_refuse(c, 0, "Slice would make another size follow from data");
    const int64_t most = of != NULL ? of->most : v->shape.dim[axis];
    struct value *const size = of != NULL ? of->count : build_int(c->b, most), *const zero = build_int(c->b, 0);
    struct value *const start = place_of(c, starts, size), *const end = place_of(c, ends, size);
    int64_t slots;
    const struct bounded *const x = bounded_new(c, build(c, "Max", build(c, "Sub", end, start), zero), most, &slots);
    struct value *const last = build_int(c->b, v->shape.dim[axis] - 1);
    struct value *const places = build(c, "Min", build(c, "Add", bounded_steps(c->b, x, slots), start), last);
    return bounded_become(c, "Gather", ATTRS(attr_int("axis", axis)), (struct value *const[]){v, places}, 2) &&
           bounded_out(c, 0, x, axis);
}

static bool slice_bounded(struct bounded_ctx *c)
{
    const struct bounded *const x = bounded_in(c, 0);
    const struct slice_range r = range_of_node(c->node->graph->arena, c->node);
    const struct shape *const shape = &c->node->inputs.data[0]->shape;
    if (r.start[x->axis] != 0 || r.step[x->axis] != 1 || r.shape.dim[x->axis] != shape->dim[x->axis])
        return bounded_refuse(c, 0, "Slice takes elements along this axis by their place");
    return bounded_same(c);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

/* Axes of which all is taken, in order. */
static void slice_axes(struct axes_ctx *c)
{
    struct arena scratch = {0};
    const struct shape *const x = &node_input(c->node, 0)->shape;
    const struct slice_range r = range_of_node(&scratch, c->node);
    for (int d = 0; d < x->rank; d++)
        if (r.shape.dim[d] == x->dim[d] && r.step[d] == 1)
            axes_pass(c, 0, d, 0, d);
    arena_free(&scratch);
}

const struct op_def op_defs_slice[] = {
    {.name = "Slice", .versions = versions, .inputs = inputs, .outputs = outputs, .infer = slice_infer,
     .axes = slice_axes,
     .grad = slice_grad, .eval = slice_eval, .lower = slice_lower, .is_view = true,
     .sized_by_data = slice_by_data, .bounded = slice_bounded, .sizes = SIZES_MOVED, .samples = slice_samples},
    {.domain = DOMAIN_STEPC, .name = "SliceGrad", .versions = grad_versions, .inputs = grad_inputs,
     .outputs = grad_outputs, .attrs = grad_attrs, .infer = slice_grad_infer, .grad = slice_grad_grad,
     .plain = slice_grad_plain, .eval = slice_grad_eval, .lower = slice_grad_lower, .samples = grad_samples},
    {0}};
