/* Operators whose result has as many elements as some content says: Compress, NonZero, Unique. Shapes are fixed when a
 * model is compiled: where that content (Compress's condition, the input of the others) is known then, so is the shape.
 * Else Compress and NonZero have room for all, and a count (graph/bounded.h); Unique is refused.
 *   Compress  the slices along `axis` (without it: the elements, row-major) for which the condition holds; a Gather
 *   NonZero   [rank, count]: the indices of all elements that are not 0, row-major; a constant
 *   Unique    the different slices along `axis` (without it: elements) in ascending order, or, unless `sorted`, in the
 *             order in which they first come; where each comes first; which one each slice is; how often each comes.
 *             NaNs are equal and greatest. Constants
 * Spec: ONNX Compress-9, -11 (negative axis); NonZero-9, -13 (bfloat16); Unique-11. */
#include "ops/move_rules.h"

#include <math.h>
#include <stdlib.h>

#define NUMBERS {.name = "X", .type = 'T', .dtypes = DTYPES_ALL, .flags = PARAM_NOT_DIFF}
#define INTS(label) {.name = (label), .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF}
#define OPTIONAL_INTS(label)                                                                                           \
    {.name = (label), .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_OUTPUT_NOT_DIFF | PARAM_OPTIONAL}

/* The outputs of a node whose input 0 is known, as constants that `eval` finds. */
static bool as_constants(struct expand_ctx *c,
                         void (*eval)(const struct node *n, struct arena *a, const struct eval_tensor *x,
                                      struct eval_tensor *const *out))
{
    enum { MOST_OUTPUTS = 4 };
    struct arena scratch = {0};
    const struct node *n = c->node;
    const struct tensor *known = value_known(n->inputs.data[0]);
    if (known == NULL)
        UNREACHABLE("input 0 of %s is no longer known", op_display_name(n->def));
    struct eval_tensor *out[MOST_OUTPUTS] = {NULL};
    for (size_t o = 0; o < n->outputs.count; o++)
        if (n->outputs.data[o] != NULL)
            out[o] = eval_tensor_new(&scratch, n->outputs.data[o]->dtype, &n->outputs.data[o]->shape);
    eval(n, &scratch, eval_from_tensor(&scratch, known), out);
    bool ok = true;
    for (size_t o = 0; o < n->outputs.count; o++)
        if (out[o] != NULL)
            ok = expand_out(c, (int)o, build_constant(c->b, eval_to_tensor(c->b->graph->arena, out[o]))) && ok;
    arena_free(&scratch);
    return ok;
}

/* ---- Compress ---------------------------------------------------------------------------------------------------- */

static const struct op_attr compress_attrs[] = {{.name = "axis", .type = ATTR_INT, .no_default = true}, {0}};
static const struct op_version compress_versions[] = {{.since = 9}, {.since = 11}, {0}};
static const struct op_param compress_inputs[] = {{.name = "input", .type = 'T', .dtypes = MOVE_TYPES_1},
                                                  {.name = "condition", .dtypes = DTYPES_BOOL, .flags = PARAM_NOT_DIFF},
                                                  {0}};
static const struct op_param compress_outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_1}, {0}};

/* The axis, or -1: the tensor taken as one row. */
static int compress_axis(const struct node *n)
{
    const struct attr *a = node_attr(n, "axis");
    int axis = -1;
    if (a != NULL)
        (void)shape_axis(n->inputs.data[0]->shape.rank, a->i, &axis);
    return axis;
}

static bool compress_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    const struct attr *given = node_attr(c->node, "axis");
    int axis = -1;
    if (given != NULL && !infer_axis(c, given->i, x->rank, &axis))
        return false;
    const struct tensor *condition = infer_known(c, 1);
    if (condition == NULL)
        return false;
    if (condition->shape.rank != 1)
        return infer_error(c, "input 1 '%s' (condition) has rank %d, expected 1", infer_in(c, 1)->name,
                           condition->shape.rank);
    const int64_t size = axis < 0 ? shape_count(x) : x->dim[axis];
    int64_t taken = 0;
    for (int64_t k = 0; k < condition->count; k++) {
        if (tensor_get_int(condition, k) == 0)
            continue;
        if (k >= size)
            return infer_error(c, "input 1 '%s' (condition) takes element %lld of %lld", infer_in(c, 1)->name,
                               (long long)k, (long long)size);
        taken++;
    }
    struct shape y = axis < 0 ? SHAPE(taken) : *x;
    if (axis >= 0)
        shape_set(&y, axis, size_constant(taken));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y);
}

static bool compress_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0);
    const struct tensor *condition = value_known(expand_in(c, 1));
    const int axis = compress_axis(c->node);
    if (condition == NULL)
        UNREACHABLE("the condition is no longer known");
    int64_t *taken = arena_array(c->b->graph->arena, int64_t, (size_t)condition->count);
    size_t count = 0;
    for (int64_t k = 0; k < condition->count; k++)
        if (tensor_get_int(condition, k) != 0)
            taken[count++] = k;
    if (axis < 0)
        x = build_reshape(c->b, x, &SHAPE_OF(shape_elements(&x->shape)));
    return expand_out(
        c, 0, build_with(c, "Gather", ATTRS(attr_int("axis", axis < 0 ? 0 : axis)), x, build_ints(c->b, taken, count)));
}

static bool compress_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0), *condition = eval_input(c, 1);
    const int axis = compress_axis(c->node);
    const int64_t inner = axis < 0 ? 1 : shape_count_range(&x->shape, axis + 1, x->shape.rank);
    const int64_t size = axis < 0 ? x->count : x->shape.dim[axis];
    struct eval_tensor *y = eval_output(c, 0);
    int64_t at = 0;
    for (int64_t p = 0; y != NULL && p < x->count; p++) {
        const int64_t k = p / inner % size;
        if (k < condition->count && condition->i[k] != 0)
            move_element(y, at++, x, p);
    }
    return true;
}

static const struct op_sample compress_samples[] = {
    {.text =
         "g (float[2,3] x) => (float[2] y) { c = Constant <value = bool[5] {0, 1, 0, 0, 1}> () y = Compress(x, c) }"},
    {.text = "g (double[3,2,2] x) => (double[2,2,2] y) { c = Constant <value = bool[3] {1, 0, 1}> () y = Compress "
             "<axis = 0> (x, c) }"},
    {.text = "g (float[2,4] x) => (float[2,3] y) { c = Constant <value = bool[4] {1, 1, 0, 1}> () y = Compress <axis = "
             "-1> (x, c) }"},
    {.text =
         "g (int8[2,4] x) => (int8[2,0] y) { c = Constant <value = bool[2] {0, 0}> () y = Compress <axis = 1> (x, c) }",
     .opset = 9,
     .no_gradient = true},
    {.text = "g (float[3] x) => (float[2] y) { c = Constant <value = bool[4] {1, 0, 0, 1}> () y = Compress(x, c) }",
     .error = "takes element 3 of 3"},
    {.text = "g (float[7,3] x, bool[7] c) => (float[3] y) { s = Compress <axis = 0> (x, c) t = Tanh(s) a = Constant "
             "<value_ints = [0]> () y = ReduceSum <keepdims = 0> (t, a) }"},
    {.text = "g (float[2,3] x, bool[6] c) => (double y) { s = Compress(x, c) d = Cast <to = 11> (s) e = Exp(d) y = "
             "ReduceSum <keepdims = 0> (e) }"},
    /* none is taken, and Sqrt has no derivative where the first is */
    {.text = "g (float[5] x) => (float y) { h = Constant <value_float = 100.0> () c = Greater(x, h) s = Compress(x, c) "
             "a = Abs(s) n = Neg(a) r = Sqrt(n) p = ReduceSum <keepdims = 0> (r) q = ReduceSum <keepdims = 0> (x) "
             "y = Add(p, q) }"},
    {.text = "g (float[3] x, bool[3] c) => (float[2] y) { y = Compress(x, c) }",
     .error = "how many elements output 'y' has along axis 0 follows from data (node #0 (Compress))"},
    {.text = "g (float[3] x, bool[3] c, float[3] z) => (float y) { s = Compress(x, c) p = Mul(s, z) y = ReduceSum "
             "<keepdims = 0> (p) }",
     .error = "input 1 'z' has a fixed number there"},
    {.text = "g (float[3] x, bool[3] c, bool[3] d) => (float y) { s = Compress(x, c) t = Compress(x, d) "
             "p = Mul(s, t) y = ReduceSum <keepdims = 0> (p) }",
     .error = "it is not known to be as many as those of input 0 's'"},
    {.text = "g (float[3] x) => (float[2] y) { c = Constant <value = bool[1,3] {1, 0, 1}> () y = Compress(x, c) }",
     .error = "has rank 2, expected 1"},
    {.text = "g (float[3] x) => (float[2] y) { c = Constant <value = bool[3] {1, 0, 1}> () y = Compress <axis = 1> (x, "
             "c) }",
     .error = "out of range"},
    {0}};

/* ---- NonZero ----------------------------------------------------------------------------------------------------- */

static const struct op_version non_zero_versions[] = {{.since = 9, .dtypes = MOVE_TYPES_1}, {.since = 13}, {0}};
static const struct op_param non_zero_inputs[] = {NUMBERS, {0}}, non_zero_outputs[] = {INTS("Y"), {0}};

static bool is_zero(const struct eval_tensor *x, int64_t k)
{
    return x->f != NULL ? x->f[k] == 0 : x->i[k] == 0;
}

static bool non_zero_infer(struct infer_ctx *c)
{
    const struct tensor *x = infer_known(c, 0);
    int64_t count = 0;
    if (x == NULL)
        return false;
    for (int64_t k = 0; k < x->count; k++)
        count += dtype_is_float(x->dtype) ? tensor_get_double(x, k) != 0 : tensor_get_int(x, k) != 0;
    return infer_out(c, 0, DTYPE_INT64, &SHAPE(x->shape.rank, count));
}

static void find_non_zero(const struct node *n, struct arena *a, const struct eval_tensor *x,
                          struct eval_tensor *const *out)
{
    int64_t point[SHAPE_MAX_RANK] = {0}, found = 0;
    (void)n;
    (void)a;
    for (int64_t k = 0; out[0] != NULL && k < x->count; k++) {
        for (int d = 0; d < x->shape.rank && !is_zero(x, k); d++)
            out[0]->i[d * out[0]->shape.dim[1] + found] = point[d];
        found += !is_zero(x, k);
        shape_next(&x->shape, point);
    }
}

static bool non_zero_expand(struct expand_ctx *c)
{
    return as_constants(c, find_non_zero);
}

static bool non_zero_eval(struct eval_ctx *c)
{
    find_non_zero(c->node, c->scratch, eval_input(c, 0), c->out);
    return true;
}

static const struct op_sample non_zero_samples[] = {
    {.text = "g () => (int64[2,3] y) { x = Constant <value = float[2,2] {1, 0, -2, 3}> () y = NonZero(x) }"},
    {.text = "g () => (int64[1,2] y) { x = Constant <value = bool[4] {0, 1, 1, 0}> () y = NonZero(x) }", .opset = 9},
    {.text = "g () => (int64[0,1] y) { x = Constant <value_int = 7> () y = NonZero(x) }"},
    {.text = "g () => (int64[1,0] y) { x = Constant <value_ints = [0, 0]> () y = NonZero(x) }"},
    {.text = "g (bool[3,4] m, float[3,4,2] x) => (float[2] y) { i = NonZero(m) t = Transpose(i) s = GatherND(x, t) a = "
             "Constant <value_ints = [0]> () y = ReduceSumSquare <keepdims = 0> (s, a) }"},
    {.text = "g (int32[5] x) => (int64 y) { i = NonZero(x) y = Size(i) }", .feed = "index:2", .no_gradient = true},
    {.text = "g (float[3] x) => (int64[1,2] y) { y = NonZero(x) }",
     .error = "how many elements output 'y' has along axis 1 follows from data (node #0 (NonZero))"},
    {0}};

/* ---- Unique: the slices ------------------------------------------------------------------------------------------ */

static const struct op_attr unique_attrs[] = {{.name = "axis", .type = ATTR_INT, .no_default = true},
                                              {.name = "sorted", .type = ATTR_INT, .int_default = 1},
                                              {0}};
static const struct op_version unique_versions[] = {{.since = 11}, {0}};
static const struct op_param unique_inputs[] = {NUMBERS, {0}};
static const struct op_param unique_outputs[] = {
    {.name = "Y", .type = 'T', .dtypes = DTYPES_ALL, .flags = PARAM_OUTPUT_NOT_DIFF},
    OPTIONAL_INTS("indices"),
    OPTIONAL_INTS("inverse_indices"),
    OPTIONAL_INTS("counts"),
    {0}};

/* A tensor as [outer,count,inner]: slices along an axis, or its elements. */
struct slices {
    const struct eval_tensor *x;
    int64_t outer, count, inner;
};

struct slice {
    const struct slices *of;
    int64_t position;
    int64_t group; /* which of the different ones, in ascending order */
};

/* The different ones: where each comes first, and its number in the order wanted. */
struct equal_slices {
    int64_t first, count, number;
};

static struct slices slices_of(const struct node *n, const struct eval_tensor *x)
{
    const struct attr *a = node_attr(n, "axis");
    int axis = 0;
    if (a == NULL || !shape_axis(x->shape.rank, a->i, &axis))
        return (struct slices){x, 1, x->count, 1};
    return (struct slices){x, shape_count_range(&x->shape, 0, axis), x->shape.dim[axis],
                           shape_count_range(&x->shape, axis + 1, x->shape.rank)};
}

static int64_t element_of(const struct slice *s, int64_t k)
{
    const struct slices *of = s->of;
    return (k / of->inner * of->count + s->position) * of->inner + k % of->inner;
}

static int compare_elements(const struct eval_tensor *x, int64_t j, int64_t k)
{
    if (x->f != NULL && (isnan(x->f[j]) || isnan(x->f[k])))
        return (isnan(x->f[j]) != 0) - (isnan(x->f[k]) != 0);
    if (x->f != NULL)
        return (x->f[j] > x->f[k]) - (x->f[j] < x->f[k]);
    if (x->dtype == DTYPE_UINT64)
        return ((uint64_t)x->i[j] > (uint64_t)x->i[k]) - ((uint64_t)x->i[j] < (uint64_t)x->i[k]);
    return (x->i[j] > x->i[k]) - (x->i[j] < x->i[k]);
}

static int compare_content(const struct slice *a, const struct slice *b)
{
    int order = 0;
    for (int64_t k = 0; order == 0 && k < a->of->outer * a->of->inner; k++)
        order = compare_elements(a->of->x, element_of(a, k), element_of(b, k));
    return order;
}

static int compare_slices(const void *a, const void *b)
{
    const struct slice *x = a, *y = b;
    const int order = compare_content(x, y);
    return order != 0 ? order : (x->position > y->position) - (x->position < y->position);
}

static int compare_firsts(const void *a, const void *b)
{
    const struct equal_slices *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

/* All slices in ascending order, and how many differ. */
static struct slice *sort_slices(struct arena *a, const struct slices *of, int64_t *groups)
{
    struct slice *s = arena_array(a, struct slice, (size_t)of->count);
    *groups = 0;
    for (int64_t k = 0; k < of->count; k++)
        s[k] = (struct slice){of, k, 0};
    if (of->count > 0)
        qsort(s, (size_t)of->count, sizeof *s, compare_slices);
    for (int64_t k = 0; k < of->count; k++) {
        *groups += k == 0 || compare_content(&s[k - 1], &s[k]) != 0;
        s[k].group = *groups - 1;
    }
    return s;
}

/* ---- Unique ------------------------------------------------------------------------------------------------------ */

static bool unique_infer(struct infer_ctx *c)
{
    const struct attr *given = node_attr(c->node, "axis");
    const struct tensor *x = infer_known(c, 0);
    int axis = -1;
    if (x == NULL || (given != NULL && !infer_axis(c, given->i, x->shape.rank, &axis)))
        return false;
    if (x->count == 0 && axis >= 0 && x->shape.dim[axis] > 0)
        return infer_unsupported(c, "input 0 '%s' has slices without elements", infer_in(c, 0)->name);
    struct arena scratch = {0};
    const struct slices of = slices_of(c->node, eval_from_tensor(&scratch, x));
    int64_t groups;
    (void)sort_slices(&scratch, &of, &groups);
    arena_free(&scratch);
    struct shape y = axis < 0 ? SHAPE(groups) : x->shape;
    if (axis >= 0)
        shape_set(&y, axis, size_constant(groups));
    return infer_out(c, 0, DTYPE_UNDEFINED, &y) && infer_out(c, 1, DTYPE_INT64, &SHAPE(groups)) &&
           infer_out(c, 2, DTYPE_INT64, &SHAPE(of.count)) && infer_out(c, 3, DTYPE_INT64, &SHAPE(groups));
}

/* Slice `from` of x becomes slice `to` of y. */
static void copy_slice(const struct slices *x, int64_t from, struct eval_tensor *y, int64_t groups, int64_t to)
{
    const struct slices results = {y, x->outer, groups, x->inner};
    const struct slice source = {x, from, 0}, target = {&results, to, 0};
    for (int64_t k = 0; k < x->outer * x->inner; k++)
        move_element(y, element_of(&target, k), x->x, element_of(&source, k));
}

static void find_unique(const struct node *n, struct arena *a, const struct eval_tensor *x,
                        struct eval_tensor *const *out)
{
    const struct slices of = slices_of(n, x);
    const size_t wanted = n->outputs.count;
    int64_t groups;
    struct slice *s = sort_slices(a, &of, &groups);
    struct equal_slices *g = arena_array(a, struct equal_slices, (size_t)groups);
    int64_t *number = arena_array(a, int64_t, (size_t)groups); /* of a group, by its place in ascending order */
    for (int64_t k = of.count - 1; k >= 0; k--)
        g[s[k].group] = (struct equal_slices){s[k].position, g[s[k].group].count + 1, s[k].group};
    if (groups > 0 && op_attr_int(n, "sorted") == 0)
        qsort(g, (size_t)groups, sizeof *g, compare_firsts);
    for (int64_t k = 0; k < groups; k++) {
        number[g[k].number] = k;
        if (out[0] != NULL)
            copy_slice(&of, g[k].first, out[0], groups, k);
        if (wanted > 1 && out[1] != NULL)
            out[1]->i[k] = g[k].first;
        if (wanted > 3 && out[3] != NULL)
            out[3]->i[k] = g[k].count;
    }
    for (int64_t k = 0; wanted > 2 && out[2] != NULL && k < of.count; k++)
        out[2]->i[s[k].position] = number[s[k].group];
}

static bool unique_expand(struct expand_ctx *c)
{
    return as_constants(c, find_unique);
}

static bool unique_eval(struct eval_ctx *c)
{
    find_unique(c->node, c->scratch, eval_input(c, 0), c->out);
    return true;
}

static const struct op_sample unique_samples[] = {
    {.text = "g () => (float[4] y, int64[4] i, int64[6] j, int64[4] n) { "
             "x = Constant <value_floats = [2.0, 1.0, 1.0, 3.0, 4.0, 3.0]> () y, i, j, n = Unique(x) }"},
    {.text = "g () => (int64[4] y, int64[4] i, int64[6] j, int64[4] n) { "
             "x = Constant <value_ints = [2, 1, 1, 3, 4, 3]> () y, i, j, n = Unique <sorted = 0> (x) }"},
    {.text = "g () => (int64[2,3] y, int64[2] i, int64[3] j) { "
             "x = Constant <value = int64[3,3] {1, 0, 0, 1, 0, 0, 2, 3, 4}> () y, i, j = Unique <axis = 0> (x) }"},
    {.text = "g () => (bool[2,2] y, int64[2] n) { x = Constant <value = bool[2,3] {1, 0, 1, 0, 1, 0}> () "
             "y, i, j, n = Unique <axis = -1> (x) }"},
    {.text = "g () => (float[0] y) { x = Constant <value = float[0] {}> () y = Unique(x) }"},
    {.text = "g () => (float[0,1] y) { x = Constant <value = float[0,1000000000000000] {}> () y = Unique <axis = 1> "
             "(x) }",
     .error = "input 0 'x' has slices without elements"},
    {.text = "g (float[3] x) => (float[3] y) { y = Unique(x) }",
     .error = "must be known at compile time, but it is an input"},
    {0}};

/* ---- by data ----------------------------------------------------------------------------------------------------- */

/* A tensor as bool[n], false where it is not meant. */
static struct value *as_mask(struct bounded_ctx *c, struct value *v)
{
    if (v->bounded != NULL)
        v = bounded_filled(c->b, v, build_cast(c->b, build_int(c->b, 0), v->dtype));
    return build_reshape(c->b, build_cast(c->b, v, DTYPE_BOOL), &SHAPE_OF(shape_elements(&v->shape)));
}

/* Places in the tensor as one row, and from them those along each axis. */
static bool non_zero_by_data(struct bounded_ctx *c)
{
    struct value *const v = node_input(c->node, 0);
    if (v == NULL || bounded_is_known(c, 0) || v->shape.rank == 0 || shape_count(&v->shape) == 0)
        return true;
    const size_t rank = (size_t)v->shape.rank;
    int64_t stride[SHAPE_MAX_RANK];
    shape_strides(&v->shape, stride);
    struct value *const places = bounded_places(c, as_mask(c, v));
    if (places == NULL)
        return false;
    const struct bounded *const x = places->bounded;
    struct value *const row = build(c, "Unsqueeze", places, build_ints(c->b, (int64_t[]){0}, 1));
    const struct shape column = SHAPE((int64_t)rank, 1);
    struct value *const strides = build_reshape(c->b, build_ints(c->b, stride, rank), &column);
    struct value *const dims = build_reshape(c->b, build_ints(c->b, v->shape.dim, rank), &column);
    struct value *const quotient = rank > 1 ? build(c, "Div", row, strides) : row;
    return (rank > 1 ? bounded_become(c, "Mod", ATTRS_NONE, (struct value *const[]){quotient, dims}, 2)
                     : bounded_become(c, "Identity", ATTRS_NONE, &row, 1)) &&
           bounded_out(c, 0, x, 1);
}

static bool compress_by_data(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    struct value *v = node_input(n, 0), *condition = node_input(n, 1);
    const struct attr *const given = node_attr(n, "axis");
    int axis = 0;
    if (v == NULL || condition == NULL || bounded_is_known(c, 1) || condition->dtype != DTYPE_BOOL ||
        condition->shape.rank != 1 || shape_count(&condition->shape) == 0 ||
        (given != NULL && !shape_axis(v->shape.rank, given->i, &axis)))
        return true;
    const int64_t size = given != NULL ? v->shape.dim[axis] : shape_count(&v->shape);
    const struct bounded *const of = v->bounded, *const by = condition->bounded;
    if (of != NULL && (given == NULL || of->axis != axis || by == NULL || !bounded_alike(of, by)))
        return bounded_refuse(c, 0, "it is not known to be as many as the condition has");
    if (of == NULL && by != NULL)
        return bounded_refuse(c, 1, "what is chosen from has a fixed number");
    if (size == 0)
        return true;
    struct value *const places = bounded_places(c, as_mask(c, condition));
    if (places == NULL)
        return false;
    const struct bounded *const x = places->bounded;
    if (given == NULL)
        v = build_reshape(c->b, v, &SHAPE_OF(shape_elements(&v->shape)));
    return bounded_become(c, "Gather", ATTRS(attr_int("axis", axis)), (struct value *const[]){v, places}, 2) &&
           bounded_out(c, 0, x, axis);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_selection[] = {
    {.name = "Compress", .versions = compress_versions, .inputs = compress_inputs, .outputs = compress_outputs,
     .attrs = compress_attrs, .infer = compress_infer, .expand = compress_expand, .eval = compress_eval,
     .sized_by_data = compress_by_data, .samples = compress_samples},
    {.name = "NonZero", .versions = non_zero_versions, .inputs = non_zero_inputs, .outputs = non_zero_outputs,
     .infer = non_zero_infer, .grad = grad_none, .expand = non_zero_expand, .eval = non_zero_eval,
     .sized_by_data = non_zero_by_data, .samples = non_zero_samples},
    {.name = "Unique", .versions = unique_versions, .inputs = unique_inputs, .outputs = unique_outputs,
     .attrs = unique_attrs, .infer = unique_infer, .grad = grad_none, .expand = unique_expand, .eval = unique_eval,
     .samples = unique_samples},
    {0}};
