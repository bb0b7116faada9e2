/* TopK: the k greatest (or least) elements along an axis, in order, and where they were; of equal ones the one with the
 * lower index comes first. NaN counts as infinity: the specification leaves it open, and PyTorch has it in front of
 * that. Unsorted results (`sorted` = 0) may come in any order: they come sorted. d X is dy at the elements that were
 * taken.
 *
 * In generated code, of n elements: up to 16 of many are found one after the other, each as the greatest of those that
 * come behind the one before it (2 k n simple operations in 2 k kernels, which are vectors). Else their places are
 * found line by line (stepc.Places): up to 40 are kept in order while a line is read once, of more the places of the
 * whole line are sorted.
 * Spec: ONNX TopK-1 (attribute k), -10, -11 (least, all numbers), -24 (bfloat16). */
#include "ops/move_rules.h"

#include <math.h>
#include <stdlib.h>

/* ---- sorting, for values ----------------------------------------------------------------------------------------- */

/* An element of a line. Integers by `i`, which is shifted for uint64 so that signed comparison is right; floats by `f`.
 * */
struct sort_key {
    double f;
    int64_t i, position;
};

/* Which of two comes first if the greater one does? -1, 0, 1 */
static int compare_numbers(const struct sort_key *a, const struct sort_key *b)
{
    if (a->f != b->f)
        return a->f > b->f ? -1 : 1;
    return a->i == b->i ? 0 : a->i > b->i ? -1 : 1;
}

static int first_of_equals(const struct sort_key *a, const struct sort_key *b)
{
    return a->position < b->position ? -1 : a->position > b->position;
}

static int compare_greatest(const void *a, const void *b)
{
    const int order = compare_numbers(a, b);
    return order != 0 ? order : first_of_equals(a, b);
}

static int compare_least(const void *a, const void *b)
{
    const int order = compare_numbers(b, a);
    return order != 0 ? order : first_of_equals(a, b);
}

static void sort_line(const struct eval_tensor *x, int64_t start, int64_t stride, int64_t count, bool largest,
                      struct sort_key *keys)
{
    for (int64_t k = 0; k < count; k++) {
        const int64_t at = start + k * stride, shift = x->dtype == DTYPE_UINT64 ? INT64_MIN : 0;
        keys[k] = (struct sort_key){.i = x->f != NULL ? 0 : x->i[at] ^ shift, .position = k};
        if (x->f != NULL)
            keys[k].f = isnan(x->f[at]) ? INFINITY : x->f[at];
    }
    qsort(keys, (size_t)count, sizeof *keys, largest ? compare_greatest : compare_least);
}

/* ---- TopK -------------------------------------------------------------------------------------------------------- */

#define NUMERIC_11 (DTYPES_NUMERIC & ~DTYPE_BIT(DTYPE_BFLOAT16))
#define AXIS {.name = "axis", .type = ATTR_INT, .int_default = -1}
static const struct op_attr attrs_1[] = {AXIS, {.name = "k", .type = ATTR_INT, .required = true}, {0}};
static const struct op_attr attrs_10[] = {AXIS, {0}};
static const struct op_attr attrs[] = {AXIS,
                                       {.name = "largest", .type = ATTR_INT, .int_default = 1},
                                       {.name = "sorted", .type = ATTR_INT, .int_default = 1},
                                       {0}};
static const struct op_param inputs_1[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_NUMERIC}, {0}};
static const struct op_param inputs[] = {{.name = "X", .type = 'T', .dtypes = DTYPES_NUMERIC},
                                         {.name = "K", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF},
                                         {0}};
static const struct op_param outputs[] = {
    {.name = "Values", .type = 'T', .dtypes = DTYPES_NUMERIC},
    {.name = "Indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF},
    {0}};

static bool upgrade_k(struct upgrade_ctx *c)
{
    return upgrade_attr_to_input(c, "k", 1);
}

static const struct op_version versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = attrs_1, .inputs = inputs_1, .upgrade = upgrade_k},
    {.since = 10, .dtypes = FLOATS_1, .attrs = attrs_10},
    {.since = 11, .dtypes = NUMERIC_11},
    {.since = 24},
    {0}};

enum { MOST_ROUNDS = 16, FEW_OF_MANY = 16 };

static int top_axis(const struct node *n)
{
    int axis = 0;
    (void)shape_axis(n->inputs.data[0]->shape.rank, op_attr_int(n, "axis"), &axis);
    return axis;
}

static bool top_infer(struct infer_ctx *c)
{
    struct shape y = *infer_shape(c, 0);
    const struct size *k;
    size_t count;
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), y.rank, &axis) || !infer_known_sizes(c, 1, &k, &count))
        return false;
    if (count != 1)
        return infer_error(c, "input 1 '%s' (K) has %zu elements, expected one", infer_in(c, 1)->name, count);
    if (k[0].most < 0 || k[0].most > y.dim[axis])
        return infer_error(c, "input 1 '%s' (K) is %lld, expected 0 to %lld, the size of axis %d", infer_in(c, 1)->name,
                           (long long)k[0].most, (long long)y.dim[axis], axis);
    shape_set(&y, axis, k[0]);
    return infer_out(c, 0, DTYPE_UNDEFINED, &y) && infer_out(c, 1, DTYPE_INT64, &y);
}

static struct value *without_nan(struct expand_ctx *c, struct value *x)
{
    return dtype_is_float(x->dtype) ? build(c, "Where", build(c, "IsNaN", x), build_like(c, x, INFINITY), x) : x;
}

/* One after the other: [outer,size,inner], in a type that ReduceMax takes, without NaN. */
struct top_search {
    struct expand_ctx *c;
    struct value *x;
    struct value *worst;        /* a number that nothing is behind of */
    struct value *places, *end; /* 0, 1, .. along the lines, and their length */
    const char *reduction, *beyond;
};

static struct value *worst_of(struct expand_ctx *c, enum dtype d, bool largest)
{
    struct tensor *t = tensor_new(c->b->graph->arena, d, &SHAPE_SCALAR);
    if (dtype_is_float(d))
        tensor_set_double(t, 0, largest ? -INFINITY : INFINITY);
    else
        tensor_set_int(t, 0, largest ? dtype_min_int(d) : dtype_is_signed(d) ? dtype_max_int(d) : dtype_wrap(d, -1));
    return build_constant(c->b, t);
}

static struct top_search search_of(struct expand_ctx *c, struct value *lines, bool largest)
{
    struct value *x = without_nan(c, lines);
    if (!dtype_is_float(x->dtype) && dtype_bits(x->dtype) == 16)
        x = build_cast(c->b, x, DTYPE_INT32);
    struct value *places = build_with(c, "stepc.Positions", ATTRS(attr_int("axis", 1)), lines);
    return (struct top_search){c,
                               x,
                               worst_of(c, x->dtype, largest),
                               places,
                               build_size(c->b, shape_size(&lines->shape, 1)),
                               largest ? "ReduceMax" : "ReduceMin",
                               largest ? "Less" : "Greater"};
}

/* The first that comes behind the number and the place of the one before it, which it replaces; NULL: the first of all.
 * */
static void find_next(const struct top_search *s, struct value **number, struct value **place)
{
    struct expand_ctx *c = s->c;
    struct value *along = build_ints(c->b, (const int64_t[]){1}, 1), *rest = s->x, *is_behind = NULL;
    if (*number != NULL) {
        struct value *is_equal = build(c, "And", build(c, "Equal", s->x, *number), build(c, "Less", *place, s->places));
        is_behind = build(c, "Or", build(c, s->beyond, s->x, *number), is_equal);
        rest = build(c, "Where", is_behind, s->x, s->worst);
    }
    *number = build(c, s->reduction, rest, along);
    struct value *is_there = build(c, "Equal", s->x, *number);
    if (is_behind != NULL)
        is_there = build(c, "And", is_there, is_behind);
    *place = build(c, "ReduceMin", build(c, "Where", is_there, s->places, s->end), along);
}

static struct value *search_places(struct expand_ctx *c, struct value *lines, bool largest, int64_t k)
{
    const struct top_search s = search_of(c, lines, largest);
    struct value *found[MOST_ROUNDS], *number = NULL, *place = NULL;
    for (int64_t r = 0; r < k; r++) {
        find_next(&s, &number, &place);
        found[r] = place;
    }
    return k == 1 ? place : build_value(c->b, "Concat", ATTRS(attr_int("axis", 1)), found, (size_t)k);
}

/* Places of the first k in the order, [outer,k,inner]. */
static struct value *places_of(struct expand_ctx *c, struct value *x, int axis, int64_t k)
{
    const bool largest = op_attr_int(c->node, "largest") != 0;
    const int64_t size = x->shape.dim[axis];
    const struct shape apart = SHAPE_OF(shape_size_range(&x->shape, 0, axis), shape_size(&x->shape, axis),
                                        shape_size_range(&x->shape, axis + 1, x->shape.rank));
    struct value *lines = build_reshape(c->b, x, &apart);
    if (k == 1 || (k > 0 && k <= MOST_ROUNDS && size >= FEW_OF_MANY * k))
        return search_places(c, lines, largest, k);
    return build_with(c, "stepc.Places", ATTRS(attr_int("k", k), attr_int("largest", largest)),
                      without_nan(c, lines));
}

static bool top_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    const int axis = top_axis(c->node);
    const struct value *any = expand_wants(c, 0) ? c->node->outputs.data[0] : c->node->outputs.data[1];
    struct value *at = build_reshape(c->b, places_of(c, x, axis, any->shape.dim[axis]), &any->shape);
    if (expand_wants(c, 1) && !expand_out(c, 1, at))
        return false;
    return !expand_wants(c, 0) ||
           expand_out(c, 0, build_with(c, "GatherElements", ATTRS(attr_int("axis", axis)), x, at));
}

static bool top_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    struct eval_tensor *values = eval_output(c, 0), *indices = eval_output(c, 1);
    const int axis = top_axis(c->node);
    const int64_t size = x->shape.dim[axis], inner = shape_count_range(&x->shape, axis + 1, x->shape.rank),
                  k = eval_i(c, 1)[0];
    struct sort_key *keys = arena_array(c->scratch, struct sort_key, (size_t)size);
    for (int64_t line = 0; size > 0 && line < x->count / size; line++) {
        const int64_t outer = line / inner, i = line % inner;
        sort_line(x, outer * size * inner + i, inner, size, op_attr_int(c->node, "largest") != 0, keys);
        for (int64_t r = 0; r < k; r++) {
            if (values != NULL)
                move_element(values, (outer * k + r) * inner + i, x, (outer * size + keys[r].position) * inner + i);
            if (indices != NULL)
                indices->i[(outer * k + r) * inner + i] = keys[r].position;
        }
    }
    return true;
}

#define K_2 "k = Constant <value_ints = [2]> () "
static const struct op_sample samples[] = {
    {.text = "g (float[3,5] x) => (float[3,2] y, int64[3,2] i) { " K_2 "y, i = TopK(x, k) }"},
    {.text =
         "g (double[3,5,2] x) => (double[3,2,2] y) { " K_2 "y, i = TopK <axis = 1, largest = 0, sorted = 0> (x, k) }"},
    {.text = "g (float16[5,3] x) => (float16[2,3] y) { " K_2 "y, i = TopK <axis = -2> (x, k) }"},
    {.text =
         "g (float[3,5] x) => (float[3,1] y, int64[3,1] i) { k = Constant <value_ints = [1]> () y, i = TopK(x, k) }"},
    {.text =
         "g (float[3,5] x) => (int64[3,1] i) { k = Constant <value_ints = [1]> () y, i = TopK <largest = 0> (x, k) }",
     .no_gradient = true},
    {.text = "g (float[4] x) => (float[4] y, int64[4] i) { k = Constant <value_ints = [4]> () y, i = TopK(x, k) }"},
    {.text = "g (float[4] x) => (float[0] y, int64[0] i) { k = Constant <value_ints = [0]> () y, i = TopK(x, k) }"},
    {.text = "g (float[0,4] x) => (float[0,2] y, int64[0,2] i) { " K_2 "y, i = TopK(x, k) }"},
    {.text = "g (int8[3,9] x) => (int8[3,2] y, int64[3,2] i) { " K_2 "y, i = TopK(x, k) }", .no_gradient = true},
    {.text = "g (uint64[9] x) => (uint64[2] y, int64[2] i) { " K_2 "y, i = TopK <largest = 0> (x, k) }",
     .no_gradient = true},
    {.text = "g (int64[9] x) => (int64[1] y) { k = Constant <value_ints = [1]> () y, i = TopK <largest = 0> (x, k) }",
     .opset = 11,
     .no_gradient = true},
    {.text = "g () => (float[3] y, int64[3] i) { x = Constant <value_floats = [1.0, 3.0, 3.0, 2.0, 3.0]> () "
             "k = Constant <value_ints = [3]> () y, i = TopK(x, k) }"},
    {.text = "g (float[3,40] x) => (float[3,2] y, int64[3,2] i) { " K_2 "y, i = TopK(x, k) }"},
    {.text = "g (double[2,40,3] x) => (double[2,2,3] y, int64[2,2,3] i) { " K_2
             "y, i = TopK <axis = 1, largest = 0> (x, k) }"},
    {.text = "g (int8[50] x) => (int8[2] y, int64[2] i) { " K_2 "y, i = TopK(x, k) }", .no_gradient = true},
    {.text = "g (uint16[50] x) => (uint16[2] y, int64[2] i) { " K_2 "y, i = TopK <largest = 0> (x, k) }",
     .no_gradient = true},
    {.text = "g (uint64[50] x) => (uint64[2] y, int64[2] i) { " K_2 "y, i = TopK <largest = 0> (x, k) }",
     .no_gradient = true},
    {.text = "g (float[2,50] x) => (float[2,44] y) { k = Constant <value_ints = [44]> () "
             "y, i = TopK <largest = 0> (x, k) }"},
    {.text = "g (float16[45,2] x) => (float16[45,2] y, int64[45,2] i) { k = Constant <value_ints = [45]> () "
             "y, i = TopK <axis = 0> (x, k) }"},
    {.text = "g (double[2,33] x) => (double[2,30] y) { k = Constant <value_ints = [30]> () y, i = TopK(x, k) }"},
    {.text = "g (float[3,5] x) => (float[3,2] y, int64[3,2] i) { y, i = TopK <k = 2> (x) }", .opset = 1},
    {.text = "g (float[3,5] x) => (float[3,2] y, int64[3,2] i) { " K_2 "y, i = TopK <axis = 1> (x, k) }", .opset = 10},
    {.text = "g (float[3,5] x) => (float[3,6] y) { k = Constant <value_ints = [6]> () y, i = TopK(x, k) }",
     .error = "is 6, expected 0 to 5, the size of axis 1"},
    {.text = "g (float[3,5] x, int64[1] k) => (float[3] y) { v, i = TopK(x, k) a = Constant <value_ints = [1]> () "
             "y = ReduceSumSquare <keepdims = 0> (v, a) }",
     .feed = ",index:6"},
    {.text = "g (float[3,1] x, int64[1] k) => (float y) { v, i = TopK(x, k) y = ReduceSum <keepdims = 0> (v) }",
     .feed = ",index:2"},
    {.text = "g (float[3,5] x, int64[1] k) => (float[3,2] y) { y, i = TopK(x, k) }",
     .error = "how many elements output 'y' has along axis 1 follows from data (node #0 (TopK))"},
    {.text = "g (float[3,5] x) => (float[3,2] y) { k = Constant <value_ints = [2, 2]> () y, i = TopK(x, k) }",
     .error = "has 2 elements, expected one"},
    {.text = "g (float x) => (float y) { " K_2 "y, i = TopK(x, k) }", .error = "is a scalar"},
    {0}};

/* ---- Places(x): where the first k of each line of [outer,size,inner] are, in order. x holds no NaN --------------- */

static const struct op_attr places_attrs[] = {{.name = "k", .type = ATTR_INT, .required = true},
                                              {.name = "largest", .type = ATTR_INT, .int_default = 1},
                                              {0}};
static const struct op_version own_versions[] = {{.since = 1}, {0}};
static const struct op_param places_inputs[] = {
    {.name = "x", .type = 'T', .dtypes = DTYPES_NUMERIC, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param places_outputs[] = {
    {.name = "places", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

static bool places_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    const int64_t k = op_attr_int(c->node, "k");
    if (x->rank != 3)
        return infer_error(c, "input 0 '%s' has rank %d, expected 3", infer_in(c, 0)->name, x->rank);
    if (k < 0 || k > x->dim[1])
        return infer_error(c, "attribute 'k' is %lld, expected 0 to %lld", (long long)k, (long long)x->dim[1]);
    return infer_out(c, 0, DTYPE_INT64, &SHAPE_OF(shape_size(x, 0), size_constant(k), shape_size(x, 2)));
}

/* TopK: of equal elements both take the first. */
static bool places_plain(struct expand_ctx *c)
{
    struct value *const in[] = {expand_in(c, 0), build_ints(c->b, &(int64_t){op_attr_int(c->node, "k")}, 1)};
    const struct attr *how = ATTRS(attr_int("axis", 1), attr_int("largest", op_attr_int(c->node, "largest")));
    return expand_out(c, 0, build_node(c->b, "TopK", how, in, 2, 2)->outputs.data[1]);
}

static bool places_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const int64_t size = x->shape.dim[1], inner = x->shape.dim[2], k = op_attr_int(c->node, "k");
    struct sort_key *keys = arena_array(c->scratch, struct sort_key, (size_t)size);
    int64_t *y = eval_out_i(c, 0);
    for (int64_t line = 0; y != NULL && size > 0 && line < x->count / size; line++) {
        const int64_t o = line / inner, i = line % inner;
        sort_line(x, o * size * inner + i, inner, size, op_attr_int(c->node, "largest") != 0, keys);
        for (int64_t r = 0; r < k; r++)
            y[(o * k + r) * inner + i] = keys[r].position;
    }
    return true;
}

static const char *const late[] = {"OUTER", "X_OUTER", NULL};

/* Without vectors all is merged. */
static void merge_all(struct kernel *k)
{
    kernel_set_int(k, "RUN", 1);
}

static const struct template_traits places_template = {.name = "places", .late = late, .make_plain = merge_all};

/* What depends on the elements in such a way is no loop nest, so this is a template (templates/places.c). */
static bool places_lower(struct lower_ctx *c)
{
    enum { FEW = 40, RUN = 32 };
    static const char *const strides[] = {"X_OUTER", "X_ROW", "X_COL"};
    const struct view x = lower_view_of(c, 0), out = lower_out_view(c, 0);
    const int64_t size = x.shape.dim[1], k = out.shape.dim[1];
    const enum dtype type = dtype_computed(x.buffer->dtype);
    if (size > INT32_MAX / 2)
        return lower_error(c, "lines of more than %d elements are not compiled", INT32_MAX / 2);
    if (out.buffer->count == 0)
        return true;
    lower_kernel(c, NULL);
    lower_template(c, &places_template, type);
    lower_template_int(c, "OUTER", x.shape.dim[0]);
    lower_template_int(c, "SIZE", size);
    lower_template_int(c, "INNER", x.shape.dim[2]);
    lower_template_int(c, "K", k);
    lower_template_int(c, "LARGEST", op_attr_int(c->node, "largest") != 0);
    lower_template_int(c, "FEW", FEW);
    lower_template_int(c, "RUN", size < RUN ? size : RUN);
    for (int d = 0; d < 3; d++)
        lower_template_int(c, strides[d], x.stride[d]);
    const struct access access = {.buffer = x.buffer, .offset = x.offset};
    lower_template_operand(c, "x", &access);
    lower_template_scratch(c, "order", k <= FEW ? k : 2 * size);
    lower_template_flops(c, shape_count(&x.shape));
    c->kernel->scratch.buffer->dtype = DTYPE_INT32;
    struct part *p = lower_template_part(c, "finish", 3, out.shape.dim);
    lower_store(c, p, &out, expr_result(c->arena, DTYPE_INT64));
    return true;
}

static const struct op_sample places_samples[] = {
    {.text = "g (int32[2,5,3] x) => (int64[2,3,3] y) { y = stepc.Places <k = 3> (x) }", .no_gradient = true},
    {.text = "g (uint64[2,5,1] x) => (int64[2,5,1] y) { y = stepc.Places <k = 5, largest = 0> (x) }",
     .no_gradient = true},
    {.text = "g (int8[1,77,2] x) => (int64[1,77,2] y) { y = stepc.Places <k = 77> (x) }", .no_gradient = true},
    {.text = "g (float[2,5,3] x) => (int64[2,6,3] y) { y = stepc.Places <k = 6> (x) }",
     .error = "is 6, expected 0 to 5"},
    {.text = "g (float[5] x) => (int64[3] y) { y = stepc.Places <k = 3> (x) }", .error = "has rank 1, expected 3"},
    {0}};

/* ---- by data ----------------------------------------------------------------------------------------------------- */

/* As many as may be wanted, of which the first are. */
static bool top_by_data(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    struct value *const v = node_input(n, 0), *const k = node_input(n, 1);
    int axis;
    int64_t slots;
    if (v == NULL || k == NULL || bounded_is_known(c, 1) || k->dtype != DTYPE_INT64 || shape_count(&k->shape) != 1 ||
        !shape_axis(v->shape.rank, op_attr_int(n, "axis"), &axis) || v->shape.dim[axis] == 0)
        return true;
    if (v->bounded != NULL)
        return bounded_refuse(c, 0, "TopK would make another size follow from data");
    /* A greater one is an error in any case, which the count would not be. */
    struct value *const number = build_with(c, "stepc.CountUpTo", ATTRS(attr_int("most", v->shape.dim[axis])),
                                            build_reshape(c->b, k, &SHAPE_SCALAR));
    const struct bounded *const x = bounded_new(c, number, v->shape.dim[axis], &slots);
    struct value *const from =
        slots <= v->shape.dim[axis] ? v : build_with(c, "Concat", ATTRS(attr_int("axis", axis)), v, v);
    struct value *const in[] = {from, build_ints(c->b, &slots, 1)};
    const struct attr *const how = ATTRS(attr_int("axis", axis), attr_int("largest", op_attr_int(n, "largest")));
    return bounded_become(c, "TopK", how, in, 2) && bounded_out(c, 0, x, axis) && bounded_out(c, 1, x, axis);
}

static bool top_bounded(struct bounded_ctx *c)
{
    const struct bounded *const x = bounded_in(c, 0);
    if (x == NULL || x->axis == top_axis(c->node))
        return bounded_refuse(c, x != NULL ? 0 : 1, "TopK needs a fixed size there");
    return bounded_same(c);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static void top_axes(struct axes_ctx *c)
{
    for (size_t i = 0; i < c->node->outputs.count; i++)
        axes_pass_but(c, 0, (int)i, top_axis(c->node));
}

const struct op_def op_defs_top_k[] = {
    {.name = "TopK", .versions = versions, .inputs = inputs, .outputs = outputs, .attrs = attrs, .infer = top_infer,
     .axes = top_axes,
     .expand = top_expand, .eval = top_eval, .sized_by_data = top_by_data, .bounded = top_bounded, .samples = samples},
    {.domain = DOMAIN_STEPC, .name = "Places", .versions = own_versions, .inputs = places_inputs,
     .outputs = places_outputs, .attrs = places_attrs, .infer = places_infer, .grad = grad_none, .plain = places_plain,
     .eval = places_eval,
     .lower = places_lower, .samples = places_samples},
    {0}};
