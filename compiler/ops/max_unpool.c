/* MaxUnpool: zeros with x at the places that MaxPool's Indices name, y[i[k]] = x[k] in the order of k, so that the last
 * one counts. Per axis there are (in - 1) * stride + size - pads elements, and Indices number the elements of such a
 * tensor. With another output_shape they number that one's if the model's own MaxPool made them from a tensor of that
 * shape, or if it is smaller along some axis. Else, as in the specification's test, they are still those of the smaller
 * tensor, behind which zeros lie along each axis. The gradient is taken from dy at the same places, also for elements
 * that a later one replaced, as in PyTorch. Spec: ONNX MaxUnpool-9, -11, -22 (22 only adds bfloat16). */
#include "ops/index_rules.h"
#include "ops/window_rules.h"

#define FLOATS_9 (DTYPES_FLOAT_DOUBLE | DTYPE_BIT(DTYPE_FLOAT16))
#define ATTR_KERNEL {.name = "kernel_shape", .type = ATTR_INTS, .required = true}
#define ATTR_NUMBERED {.name = "numbered", .type = ATTR_INTS, .no_default = true}
static const struct op_attr attrs_9[] = {ATTR_KERNEL, WINDOW_LIST("pads"), WINDOW_LIST("strides"), {0}};
/* As a node stands in a graph: it keeps the shape of the tensor whose elements Indices number. */
static const struct op_attr attrs[] = {
    ATTR_KERNEL, WINDOW_LIST("pads"), WINDOW_LIST("strides"), ATTR_NUMBERED, {0}};
static const struct op_version versions[] = {{.since = 9, .dtypes = FLOATS_9, .attrs = attrs_9},
                                             {.since = 11, .dtypes = FLOATS_9, .attrs = attrs_9},
                                             {.since = 22, .attrs = attrs_9},
                                             {0}};
#define INT64S DTYPE_BIT(DTYPE_INT64)
static const struct op_param inputs[] = {
    {.name = "X", .type = 'T', .dtypes = DTYPES_FLOATS},
    {.name = "I", .dtypes = INT64S, .flags = PARAM_NOT_DIFF},
    {.name = "output_shape", .dtypes = INT64S, .flags = PARAM_OPTIONAL | PARAM_NOT_DIFF},
    {0}};
static const struct op_param outputs[] = {{.name = "output", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

/* ---- shapes ----------------------------------------------------------------------------------------------------- */

/* From attributes that inference has looked at. */
static struct shape inverse_of_pool(const struct node *n)
{
    struct shape s = node_input(n, 0)->shape;
    const int64_t *size = NULL, *stride = NULL, *pads = NULL;
    const int rank = s.rank - 2;
    size_t count;
    op_attr_ints(n, "kernel_shape", &size, &count);
    op_attr_ints(n, "strides", &stride, &count);
    op_attr_ints(n, "pads", &pads, &count);
    for (int i = 0; i < rank; i++) {
        const int64_t apart = stride ? stride[i] : 1, around = pads ? pads[i] + pads[rank + i] : 0;
        const struct size last = size_product(shape_size(&s, 2 + i), size_constant(apart));
        shape_set(&s, 2 + i, size_sum(last, size_constant(size[i] - apart - around)));
    }
    return s;
}

static bool is_spatially_equal(const struct shape *a, const struct shape *b)
{
    bool equal = a->rank == b->rank;
    for (int d = 2; equal && d < a->rank; d++)
        equal = a->dim[d] == b->dim[d];
    return equal;
}

/* Are the indices those of a MaxPool over planes of y's size, moved by sums and views at most? */
static bool comes_from_pool(const struct value *v, const struct shape *y, int depth)
{
    if (v->kind != VALUE_RESULT || depth == 0)
        return false;
    const struct node *n = v->producer;
    if (node_is(n, "MaxPool"))
        return v == node_output(n, 1) && is_spatially_equal(&node_input(n, 0)->shape, y);
    if (node_is(n, "Add") || node_is(n, "Sub"))
        return comes_from_pool(node_input(n, 0), y, depth - 1) || comes_from_pool(node_input(n, 1), y, depth - 1);
    return (n->def->is_view || node_is(n, "Cast")) && comes_from_pool(node_input(n, 0), y, depth - 1);
}

static struct shape decide_numbered(const struct node *n, const struct shape *y)
{
    enum { FAR = 8 };
    const struct shape s = inverse_of_pool(n);
    if (comes_from_pool(node_input(n, 1), y, FAR))
        return *y;
    for (int d = 0; d < y->rank; d++)
        if (s.dim[d] > y->dim[d] || s.dim[d] < 0)
            return *y;
    return s;
}

static struct shape shape_of_attr(const struct node *n, const char *name)
{
    return op_attr_dims(n, name);
}

/* The tensor whose elements Indices number: none of its dimensions is greater than y's. The node keeps it: passes may
 * take what made the indices away. */
static struct shape numbered_shape(struct node *n, const struct shape *y)
{
    if (node_attr(n, "numbered") == NULL) {
        const struct shape s = decide_numbered(n, y);
        node_set_attr(n, attr_dims("numbered", &s));
    }
    return shape_of_attr(n, "numbered");
}
static bool infer_output_shape(struct infer_ctx *c, struct shape *y)
{
    const struct shape *x = infer_shape(c, 0);
    if (infer_in(c, 2) == NULL)
        return true;
    if (!move_infer_dims(c, 2, y))
        return false;
    if (y->rank != x->rank || y->dim[0] != x->dim[0] || y->dim[1] != x->dim[1])
        return infer_error(c, "output_shape is %s, expected the batch and channels of input 0 '%s' and %d spatial axes",
                           shape_text(c->graph->arena, y), infer_in(c, 0)->name, x->rank - 2);
    return true;
}

static bool unpool_infer(struct infer_ctx *c)
{
    const int rank = window_infer_rank(c, 0);
    const size_t count = (size_t)rank;
    const int64_t *list;
    struct shape size;
    if (rank == 0 || !window_infer_kernel(c, rank, true, &size) || !window_infer_list(c, "strides", count, 1, &list) ||
        !window_infer_list(c, "pads", 2 * count, 0, &list))
        return false;
    const struct shape *x = infer_shape(c, 0);
    if (!shape_equal(x, infer_shape(c, 1)))
        return infer_error(c, "input 1 '%s' does not have the shape of input 0 '%s'", infer_in(c, 1)->name,
                           infer_in(c, 0)->name);
    for (int d = 2; d < x->rank; d++)
        if (x->dim[d] > INT32_MAX)
            return infer_unsupported(c, "more than %d elements along a spatial axis are not supported", INT32_MAX);
    struct shape y = inverse_of_pool(c->node);
    if (!infer_output_shape(c, &y))
        return false;
    for (int d = 2; d < y.rank; d++)
        if (y.dim[d] < 0)
            return infer_error(c, "the output would have %lld elements along spatial axis %d", (long long)y.dim[d],
                               d - 2);
    if (!infer_out(c, 0, DTYPE_UNDEFINED, &y))
        return false;
    const struct shape numbered = numbered_shape(c->node, &y);
    return index_infer_known(c, 1, INDEX_ALL, shape_count(&numbered));
}

static bool unpool_expand(struct expand_ctx *c)
{
    const struct shape *y = &node_output(c->node, 0)->shape, numbered = shape_of_attr(c->node, "numbered");
    return expand_out(c, 0,
                      build_with(c, "stepc.Unpool",
                                 ATTRS(attr_dims("numbered", &numbered), attr_dims("shape", y)),
                                 expand_in(c, 0), expand_in(c, 1)));
}

/* ---- Unpool(x, indices): zeros of `shape`, with x where the indices say, which number a tensor of shape `numbered` */

static const struct op_attr put_attrs[] = {{.name = "numbered", .type = ATTR_INTS, .required = true},
                                           {.name = "shape", .type = ATTR_INTS, .required = true},
                                           {0}};
static const struct op_version put_versions[] = {{.since = 1}, {0}};
static const struct op_param put_inputs[] = {{.name = "x", .type = 'T', .dtypes = DTYPES_FLOATS},
                                             {.name = "indices", .dtypes = INT64S, .flags = PARAM_NOT_DIFF},
                                             {0}};
static const struct op_param put_outputs[] = {{.name = "y", .type = 'T', .dtypes = DTYPES_FLOATS}, {0}};

static bool put_infer(struct infer_ctx *c)
{
    const struct shape y = shape_of_attr(c->node, "shape"), numbered = shape_of_attr(c->node, "numbered");
    int64_t count;
    if (y.rank < 3 || y.rank > 2 + WINDOW_AXES || numbered.rank != y.rank || !shape_count_checked(&numbered, &count))
        return infer_error(c, "attributes 'shape' and 'numbered' are not of 3 to 5 dimensions each");
    for (int d = 0; d < y.rank; d++)
        if (numbered.dim[d] > y.dim[d] || (d < 2 && numbered.dim[d] != y.dim[d]))
            return infer_error(c, "attribute 'numbered' has %lld for axis %d, 'shape' has %lld",
                               (long long)numbered.dim[d], d, (long long)y.dim[d]);
    if (!shape_equal(infer_shape(c, 0), infer_shape(c, 1)))
        return infer_error(c, "input 1 '%s' does not have the shape of input 0 '%s'", infer_in(c, 1)->name,
                           infer_in(c, 0)->name);
    return infer_out(c, 0, DTYPE_UNDEFINED, &y) && index_infer_known(c, 1, INDEX_ALL, count);
}

static bool put_grad(struct grad_ctx *c)
{
    struct value *dy = grad_of_output(c, 0), *indices = grad_input(c, 1);
    const struct shape *x = &indices->shape, numbered = shape_of_attr(c->node, "numbered");
    const int64_t start[SHAPE_MAX_RANK] = {0};
    const size_t rank = (size_t)numbered.rank;
    if (shape_count(x) == 0)
        return true;
    if (!shape_equal(&numbered, &dy->shape))
        dy = build(c, "Slice", dy, build_ints(c->b, start, rank), build_ints(c->b, numbered.dim, rank));
    struct value *flat = build_reshape(c->b, dy, &SHAPE_OF(shape_elements(&numbered)));
    struct value *taken = build(c, "Gather", flat, build_reshape(c->b, indices, &SHAPE_OF(shape_elements(x))));
    return grad_accumulate(c, 0, build_reshape(c->b, taken, x));
}

/* Where in a tensor of shape y the elements lie that indices number: axis by axis, planes as they are. */
static struct value *renumber(struct builder *b, struct value *index, const struct shape *numbered,
                              const struct shape *y)
{
    const struct {
        struct builder *b;
    } c = {b};
    struct value *place = NULL;
    int64_t stride = 1;
    for (int d = y->rank - 1; d > 1; d--) {
        struct value *const dim = build_int(b, numbered->dim[d]);
        struct value *const at = build(&c, "Mul", build(&c, "Mod", index, dim), build_int(b, stride));
        place = place != NULL ? build(&c, "Add", place, at) : at;
        index = build(&c, "Div", index, dim);
        stride *= y->dim[d];
    }
    index = build(&c, "Mul", index, build_int(b, stride));
    return build(&c, "Add", place, index);
}

static bool put_plain(struct expand_ctx *c)
{
    const struct shape *const y = &node_output(c->node, 0)->shape, numbered = shape_of_attr(c->node, "numbered");
    struct value *index = expand_in(c, 1), *const zero = build_int(c->b, 0);
    const int64_t size = shape_count(y);
    struct value *const negative = build(c, "Less", index, zero);
    struct value *const from_end = build(c, "Add", index, build_int(c->b, shape_count(&numbered)));
    index = build(c, "Where", negative, from_end, index);
    if (!shape_equal(&numbered, y))
        index = renumber(c->b, index, &numbered, y);
    const struct size one = size_constant(1);
    const struct shape row = SHAPE_OF(one, shape_elements(&index->shape), one);
    index = build_reshape(c->b, index, &row);
    struct value *const x = build_reshape(c->b, expand_in(c, 0), &row);
    struct value *const zeros = build_expand(c->b, build_like(c, x, 0.0), &SHAPE_OF(one, shape_elements(y), one));
    const struct attr *how = ATTRS(attr_int("size", size), attr_string("reduction", "none"));
    return expand_out(c, 0, build_reshape(c->b, build_with(c, "stepc.Scatter", how, index, x, zeros), y));
}

/* ---- value ------------------------------------------------------------------------------------------------------ */

/* Element k of a tensor of shape `from` in one of shape `to`, which is no smaller. */
static int64_t element_in(int64_t k, const struct shape *from, const struct shape *to)
{
    int64_t at = 0, stride[SHAPE_MAX_RANK];
    shape_strides(to, stride);
    for (int d = from->rank - 1; d >= 0; d--) {
        at += k % from->dim[d] * stride[d];
        k /= from->dim[d];
    }
    return at;
}

/* Either operator: both say in an attribute what indices number. */
static int64_t unpool_selects_from(const struct node *n, int input)
{
    const struct shape numbered = shape_of_attr(n, "numbered");
    return input == 1 ? shape_count(&numbered) : 0;
}

static bool unpool_eval(struct eval_ctx *c)
{
    const struct eval_tensor *x = eval_input(c, 0);
    const struct shape *y = &node_output(c->node, 0)->shape, numbered = shape_of_attr(c->node, "numbered");
    double *out = eval_out_f(c, 0);
    for (int64_t k = 0; k < x->count; k++) {
        int64_t index;
        if (!index_read(c, 1, k, shape_count(&numbered), &index))
            return false;
        if (out != NULL)
            out[element_in(index, &numbered, y)] = x->f[k];
    }
    return true;
}

/* ---- code ------------------------------------------------------------------------------------------------------- */

/* Where in y the element lies that `index` numbers: at that place, or, in a larger y, plane by plane and axis by axis.
 */
static struct access place_of(struct lower_ctx *c, const struct view *y, const struct shape *numbered,
                              const struct expr *index)
{
    struct arena *a = c->arena;
    struct access to = {.buffer = y->buffer, .offset = y->offset};
    if (shape_equal(numbered, &y->shape)) {
        to.term[to.term_count++] = (struct access_term){.index = index, .stride = 1, .extent = shape_count(numbered)};
        return to;
    }
    for (int d = numbered->rank - 1; d > 1; d--) {
        const struct expr *dim = expr_int(a, DTYPE_INT64, numbered->dim[d]);
        to.term[to.term_count++] = (struct access_term){
            .index = expr_binary(a, EXPR_MOD, index, dim), .stride = y->stride[d], .extent = numbered->dim[d]};
        index = expr_binary(a, EXPR_DIV, index, dim);
    }
    to.term[to.term_count++] =
        (struct access_term){.index = index, .stride = y->stride[1], .extent = numbered->dim[0] * numbered->dim[1]};
    return to;
}

static bool put_lower(struct lower_ctx *c)
{
    const struct view x = lower_view_of(c, 0), indices = lower_view_of(c, 1), y = lower_out_view(c, 0);
    const struct shape numbered = shape_of_attr(c->node, "numbered");
    if (shape_count(&x.shape) == 0)
        return move_fill_and_place(c, move_zero(c, lower_out_dtype(c, 0)), NULL, NULL);
    lower_kernel(c, NULL);
    index_add_check(c, 1, &indices, INDEX_ALL, shape_count(&numbered));
    if (shape_count(&numbered) == 0)
        return true; /* the check fails */
    lower_store(c, lower_part(c, &y.shape), &y, move_zero(c, lower_out_dtype(c, 0)));
    struct part *p = lower_part(c, &x.shape);
    lower_store(c, p, &y, lower_load(c, &x));
    p->stores.data[0].to = place_of(c, &y, &numbered, index_load(c, &indices, shape_count(&numbered)));
    return true;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static const struct op_sample samples[] = {
    {.text =
         "g (float[2,3,6,8] x) => (float[2,3,6,8] y) { p, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) "
         "y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (p, i) }"},
    {.text =
         "g (double[2,3,5,7] x) => (double[2,3,5,7] y) { p, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) "
         "s = Constant <value_ints = [2, 3, 5, 7]> () y = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (p, i, "
         "s) }"},
    {.text = "g (double[1,2,8] x) => (double[1,2,8] y) { p, i = MaxPool <kernel_shape = [2], strides = [2], pads = [1, "
             "1]> (x) "
             "y = MaxUnpool <kernel_shape = [2], strides = [2], pads = [1, 1]> (p, i) }",
     .opset = 11},
    {.text = "g (double[1,2,5] x) => (double[1,2,5] y) { p, i = MaxPool <kernel_shape = [2], strides = [2]> (x) "
             "o = Constant <value_int = 1> () j = Add(i, o) k = Sub(j, o) m = Identity(k) s = Constant <value_ints = "
             "[1, 2, 5]> () "
             "y = MaxUnpool <kernel_shape = [2], strides = [2]> (p, m, s) }"},
    {.text = "g (float[1,2,2,4,6] x) => (float[1,2,2,5,6] y) { p, i = MaxPool <kernel_shape = [2, 2, 2], strides = [2, "
             "2, 2]> (x) "
             "s = Constant <value_ints = [1, 2, 2, 5, 6]> () y = MaxUnpool <kernel_shape = [2, 2, 2], strides = [2, 2, "
             "2]> (p, i, s) }"},
    {.text = "g (double[1,1,3] x) => (double[1,1,5] y) { i = Constant <value = int64[1,1,3] {0, 3, 4}> () "
             "s = Constant <value_ints = [1, 1, 5]> () y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, i, s) }"},
    {.text = "g (float[1,2,3] x) => (float[1,2,5] y) { i = Constant <value = int64[1,2,3] {0, 3, 4, 6, 5, 9}> () "
             "y = MaxUnpool <kernel_shape = [3]> (x, i) }",
     .opset = 9},
    /* all the same place: the last one counts */
    {.text = "g (float[1,2,3] x) => (float[1,2,4] y) { i = Constant <value = int64[1,2,3] {7, 7, 7, 7, 7, 7}> () "
             "y = MaxUnpool <kernel_shape = [2]> (x, i) }",
     .no_gradient = true},
    {.text = "g (float[1,2,3] x, int64[1,2,3] i) => (float[1,2,4] y) { y = MaxUnpool <kernel_shape = [2]> (x, i) }",
     .feed = ",index:8",
     .no_gradient = true},
    {.text = "g (float[0,2,3] x, int64[0,2,3] i) => (float[0,2,4] y) { y = MaxUnpool <kernel_shape = [2]> (x, i) }"},
    {.text = "g (bfloat16[1,1,2] x) => (bfloat16[1,1,4] y) { i = Constant <value = int64[1,1,2] {3, 0}> () "
             "y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, i) }"},
    {.text = "g (float[1,2,3] x) => (float[1,2,4] y) { i = Constant <value = int64[1,2,3] {0, 3, 4, 6, 5, 9}> () "
             "y = MaxUnpool <kernel_shape = [2]> (x, i) }",
     .error = "is the index 9, expected -8 to 7"},
    /* of fewer than no elements: the indices number what comes out; of none: nothing */
    {.text = "g (float[1,2,3] x) => (float[1,2,4] y) { i = Constant <value = int64[1,2,3] {0, 3, 2, 6, 5, 7}> () "
             "s = Constant <value_ints = [1, 2, 4]> () "
             "y = MaxUnpool <kernel_shape = [2], pads = [3, 2]> (x, i, s) }"},
    {.text = "g (float[1,2,3] x) => (float[1,2,4] y) { i = Constant <value = int64[1,2,3] {0, 3, 2, 6, 5, 7}> () "
             "s = Constant <value_ints = [1, 2, 4]> () "
             "y = MaxUnpool <kernel_shape = [2], pads = [2, 2]> (x, i, s) }",
     .error = "is the index 0, expected 0 to -1"},
    {.text = "g (float[1,2,3] x, int64[1,2,4] i) => (float[1,2,4] y) { y = MaxUnpool <kernel_shape = [2]> (x, i) }",
     .error = "does not have the shape of input 0"},
    {.text = "g (float[1,2,3] x, int64[1,2,3] i) => (float[1,2,4] y) { s = Constant <value_ints = [2, 4]> () "
             "y = MaxUnpool <kernel_shape = [2]> (x, i, s) }",
     .error = "output_shape is [2,4]"},
    {.text = "g (float[1,2,3] x, int64[1,2,3] i, int64[3] s) => (float[1,2,4] y) { y = MaxUnpool <kernel_shape = [2]> "
             "(x, i, s) }",
     .error = "must be known at compile time"},
    {.text = "g (float[1,2,3] x, int64[1,2,3] i) => (float[1,2,4] y) { y = MaxUnpool <kernel_shape = [2], pads = [3, "
             "2]> (x, i) }",
     .error = "would have -1 elements"},
    {.text = "g (float[1,2,3] x, int64[1,2,3] i) => (float[1,2,4] y) "
             "{ y = MaxUnpool <kernel_shape = [2], numbered = [1, 2, 4]> (x, i) }",
     .error = "numbered"},
    {0}};

static const struct op_sample put_samples[] = {
    {.text = "g (float[1,2,3] x) => (float[1,2,5] y) { i = Constant <value = int64[1,2,3] {0, 3, 4, 6, 5, 7}> () "
             "y = stepc.Unpool <numbered = [1, 2, 4], shape = [1, 2, 5]> (x, i) }"},
    {.text = "g (double[1,1,1,2] x) => (double[1,1,3,4] y) { i = Constant <value = int64[1,1,1,2] {5, 2}> () "
             "y = stepc.Unpool <numbered = [1, 1, 2, 3], shape = [1, 1, 3, 4]> (x, i) }"},
    {.text = "g (float[1,2,3] x, int64[1,2,3] i) => (float[1,2,5] y) "
             "{ y = stepc.Unpool <numbered = [1, 2, 6], shape = [1, 2, 5]> (x, i) }",
     .error = "attribute 'numbered' has 6 for axis 2"},
    {0}};

const struct op_def op_defs_max_unpool[] = {{.name = "MaxUnpool",
                                             .versions = versions,
                                             .inputs = inputs,
                                             .outputs = outputs,
                                             .attrs = attrs,
                                             .infer = unpool_infer,
                                             .expand = unpool_expand,
                                             .eval = unpool_eval,
                                             .selects_from = unpool_selects_from,
                                             .samples = samples},
                                            {.domain = DOMAIN_STEPC,
                                             .name = "Unpool",
                                             .versions = put_versions,
                                             .inputs = put_inputs,
                                             .outputs = put_outputs,
                                             .attrs = put_attrs,
                                             .infer = put_infer,
                                             .plain = put_plain,
                                             .grad = put_grad,
                                             .eval = unpool_eval,
                                             .lower = put_lower,
                                             .selects_from = unpool_selects_from,
                                             .samples = put_samples},
                                            {0}};
