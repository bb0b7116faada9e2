/* ScatterElements and ScatterND: data with updates put where indices say; the counterparts of GatherElements and
 * GatherND.
 *   ScatterElements  y = data, then y[o.., indices[o.., k, i..], i..] = updates[o.., k, i..] for each k in turn
 *   ScatterND        y = data, then y[indices[k.., 0], indices[k.., 1], .., i..] = updates[k.., i..] for each k in turn
 * `reduction` says how what is there and what is put are taken together (add, mul, max, min): rounded at each step, in
 * the order of the indices. For bool, where ONNX says nothing, sums are OR and products AND. Both are written with
 * stepc.Scatter, which has the gradients.
 * Spec: ONNX ScatterElements-11, -13, -16 (add, mul), -18 (max, min); ScatterND alike. Scatter-9 is ScatterElements
 * under its old name. */
#include "graph/axes.h"
#include "ops/scatter_rows.h"

#include "base/str.h"

/* ---- schema ------------------------------------------------------------------------------------------------------ */

#define AXIS {.name = "axis", .type = ATTR_INT, .int_default = 0}
#define REDUCTION {.name = "reduction", .type = ATTR_STRING, .string_default = "none"}
#define DATA(label) {.name = (label), .type = 'T', .dtypes = DTYPES_ALL}
static const struct op_attr element_attrs[] = {AXIS, REDUCTION, {0}}, element_attrs_11[] = {AXIS, {0}};
static const struct op_attr point_attrs[] = {REDUCTION, {0}}, point_attrs_11[] = {{0}};
static const struct op_param element_inputs[] = {
    DATA("data"), {.name = "indices", .dtypes = DTYPES_INDEX, .flags = PARAM_NOT_DIFF}, DATA("updates"), {0}};
static const struct op_param point_inputs[] = {
    DATA("data"), {.name = "indices", .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF}, DATA("updates"), {0}};
static const struct op_param outputs[] = {DATA("output"), {0}};

static bool has_reduction(struct upgrade_ctx *c, const char *name)
{
    const struct attr *a = node_attr(c->node, "reduction");
    return a != NULL && a->type == ATTR_STRING && str_equal(a->s, name);
}

static bool upgrade_16(struct upgrade_ctx *c)
{
    return !(has_reduction(c, "max") || has_reduction(c, "min")) ||
           upgrade_error(c, "attribute 'reduction' is '%s', expected none, add or mul before opset 18",
                         node_attr(c->node, "reduction")->s);
}

static bool upgrade_name(struct upgrade_ctx *c)
{
    c->node->def = op_find(DOMAIN_ONNX, "ScatterElements");
    return true;
}

static const struct op_version element_versions[] = {{.since = 11, .dtypes = MOVE_TYPES_1, .attrs = element_attrs_11},
                                                     {.since = 13, .attrs = element_attrs_11},
                                                     {.since = 16, .upgrade = upgrade_16},
                                                     {.since = 18},
                                                     {0}};
static const struct op_version point_versions[] = {{.since = 11, .dtypes = MOVE_TYPES_1, .attrs = point_attrs_11},
                                                   {.since = 13, .attrs = point_attrs_11},
                                                   {.since = 16, .upgrade = upgrade_16},
                                                   {.since = 18},
                                                   {0}};
static const struct op_version old_versions[] = {{.since = 9, .dtypes = MOVE_TYPES_1, .upgrade = upgrade_name},
                                                 {.since = 11, .dtypes = MOVE_TYPES_1, .deprecated = true},
                                                 {0}};

/* ---- ScatterElements --------------------------------------------------------------------------------------------- */

static bool element_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1);
    int axis;
    if (!infer_axis(c, op_attr_int(c->node, "axis"), x->rank, &axis))
        return false;
    if (!shape_equal(indices, infer_shape(c, 2)))
        return infer_error(c, "input 2 '%s' does not have the shape of input 1 '%s'", infer_in(c, 2)->name,
                           infer_in(c, 1)->name);
    return index_infer_elements(c, axis) && scatter_infer_reduction(c) && infer_out(c, 0, DTYPE_UNDEFINED, x);
}

static int64_t element_selects_from(const struct node *n, int input)
{
    return input == 1 ? n->inputs.data[0]->shape.dim[move_axis(n)] : 0;
}

/* x where dimension e lies in [from[e], to[e]). */
static struct value *block(struct expand_ctx *c, struct value *x, const struct shape *from, const struct shape *to)
{
    int64_t axes[SHAPE_MAX_RANK];
    for (int d = 0; d < x->shape.rank; d++)
        axes[d] = d;
    return build(c, "Slice", x, build_dims(c->b, from), build_dims(c->b, to),
                 build_ints(c->b, axes, (size_t)x->shape.rank));
}

/* What the indices can name is `inner`, the leading part of x; what lies behind it along each axis stays as it is. */
static struct value *with_the_rest(struct expand_ctx *c, struct value *inner, struct value *x)
{
    struct shape from = {.rank = x->shape.rank}, to = inner->shape;
    for (int d = x->shape.rank - 1; d >= 0; d--) {
        shape_set(&from, d, shape_size(&to, d));
        shape_set(&to, d, shape_size(&x->shape, d));
        if (from.dim[d] < to.dim[d])
            inner = build_with(c, "Concat", ATTRS(attr_int("axis", d)), inner, block(c, x, &from, &to));
        shape_set(&from, d, size_constant(0));
    }
    return inner;
}

static bool element_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *indices = expand_in(c, 1), *updates = expand_in(c, 2), *named = x;
    const int axis = move_axis(c->node);
    const struct shape *s = &updates->shape;
    const struct size outer = shape_size_range(s, 0, axis), inner = shape_size_range(s, axis + 1, s->rank),
                      size = shape_size(&x->shape, axis);
    const struct shape lines = SHAPE_OF(outer, shape_size(s, axis), inner);
    struct shape part = *s;
    shape_set(&part, axis, size);
    if (!shape_equal(&part, &x->shape))
        named = block(c, x, &(struct shape){.rank = part.rank}, &part);
    struct value *y = build_with(
        c, "stepc.Scatter",
        ATTRS(attr_size("size", &size), attr_string("reduction", op_attr_string(c->node, "reduction"))),
        build_reshape(c->b, indices, &lines), build_reshape(c->b, updates, &lines),
        build_reshape(c->b, named, &SHAPE_OF(outer, size, inner)));
    return expand_out(c, 0, with_the_rest(c, build_reshape(c->b, y, &part), x));
}

static void copy_data(const struct eval_ctx *c, struct eval_tensor *y)
{
    for (int64_t k = 0; y != NULL && k < y->count; k++)
        move_element(y, k, eval_input(c, 0), k);
}

static bool element_eval(struct eval_ctx *c)
{
    const struct shape *x = &eval_input(c, 0)->shape, *indices = &eval_input(c, 1)->shape;
    const enum scatter_reduction r = scatter_reduction(c->node);
    const int axis = move_axis(c->node);
    struct eval_tensor *y = eval_output(c, 0);
    int64_t stride[SHAPE_MAX_RANK], point[SHAPE_MAX_RANK] = {0};
    shape_strides(x, stride);
    copy_data(c, y);
    for (int64_t k = 0; k < eval_input(c, 1)->count; k++) {
        int64_t at = 0, index;
        if (!index_read(c, 1, k, x->dim[axis], &index))
            return false;
        for (int d = 0; d < indices->rank; d++)
            at += stride[d] * (d == axis ? index : point[d]);
        if (y != NULL)
            scatter_combine(c, r, y, at, eval_input(c, 2), k);
        shape_next(indices, point);
    }
    return true;
}

/* ---- ScatterND --------------------------------------------------------------------------------------------------- */

/* Axes of data that a point names. */
static int axes_of_point(const struct node *n)
{
    const struct shape *indices = &n->inputs.data[1]->shape;
    return (int)indices->dim[indices->rank - 1];
}

/* One dimension of the updates for each of the indices but the last, and for each of data that a point does not name.
 * */
static bool check_updates(struct infer_ctx *c, int point)
{
    const struct shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1);
    struct shape expected = SHAPE_SCALAR;
    if (indices->rank - 1 + x->rank - point > SHAPE_MAX_RANK)
        return infer_error(c, "input 2 '%s' should have rank %d, at most %d is supported", infer_in(c, 2)->name,
                           indices->rank - 1 + x->rank - point, SHAPE_MAX_RANK);
    for (int d = 0; d < indices->rank - 1; d++)
        shape_take(&expected, indices, d);
    for (int d = point; d < x->rank; d++)
        shape_take(&expected, x, d);
    return shape_equal(&expected, infer_shape(c, 2)) ||
           infer_error(c, "input 2 '%s' has shape %s, expected %s", infer_in(c, 2)->name,
                       shape_text(c->graph->arena, infer_shape(c, 2)), shape_text(c->graph->arena, &expected));
}

static bool point_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1);
    if (x->rank == 0 || indices->rank == 0)
        return infer_error(c, "input %d '%s' is a scalar", x->rank == 0 ? 0 : 1,
                           infer_in(c, x->rank == 0 ? 0 : 1)->name);
    const int64_t point = indices->dim[indices->rank - 1];
    if (point < 1 || point > x->rank)
        return infer_error(c, "the last dimension of input 1 '%s' is %lld, expected 1 to %d", infer_in(c, 1)->name,
                           (long long)point, x->rank);
    for (int j = 0; j < point; j++)
        if (!index_infer_known(c, 1, (struct index_column){point, j}, x->dim[j]))
            return false;
    return scatter_infer_reduction(c) && check_updates(c, (int)point) && infer_out(c, 0, DTYPE_UNDEFINED, x);
}

static int64_t point_selects_from(const struct node *n, int input)
{
    return input == 1 ? index_least(n->inputs.data[0]->shape.dim, axes_of_point(n)) : 0;
}

static bool point_expand(struct expand_ctx *c)
{
    struct value *x = expand_in(c, 0), *indices = expand_in(c, 1);
    const int point = axes_of_point(c->node);
    const struct size rows = shape_size_range(&indices->shape, 0, indices->shape.rank - 1), one = size_constant(1),
                      size = shape_size_range(&x->shape, 0, point),
                      inner = shape_size_range(&x->shape, point, x->shape.rank);
    struct value *index =
        build_with(c, "stepc.PointIndex", ATTRS(attr_ints("shape", x->shape.dim, (size_t)point)), indices);
    const struct attr *how =
        ATTRS(attr_size("size", &size), attr_string("reduction", op_attr_string(c->node, "reduction")));
    struct value *y = build_with(c, "stepc.Scatter", how, build_reshape(c->b, index, &SHAPE_OF(one, rows, one)),
                                 build_reshape(c->b, expand_in(c, 2), &SHAPE_OF(one, rows, inner)),
                                 build_reshape(c->b, x, &SHAPE_OF(one, size, inner)));
    return expand_out(c, 0, build_reshape(c->b, y, &x->shape));
}

static bool point_eval(struct eval_ctx *c)
{
    const struct shape *x = &eval_input(c, 0)->shape;
    const enum scatter_reduction r = scatter_reduction(c->node);
    const int count = axes_of_point(c->node);
    const int64_t inner = shape_count_range(x, count, x->rank);
    struct eval_tensor *y = eval_output(c, 0);
    copy_data(c, y);
    for (int64_t k = 0; k < eval_input(c, 1)->count / count; k++) {
        int64_t at = 0, index;
        for (int j = 0; j < count; j++) {
            if (!index_read(c, 1, k * count + j, x->dim[j], &index))
                return false;
            at = at * x->dim[j] + index;
        }
        for (int64_t i = 0; y != NULL && i < inner; i++)
            scatter_combine(c, r, y, at * inner + i, eval_input(c, 2), k * inner + i);
    }
    return true;
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static const struct op_sample element_samples[] = {
    {.text =
         "g (float[5,3] x, float[2,3] u) => (float[5,3] y) { i = Constant <value = int64[2,3] {1, 0, 2, -5, 2, 4}> () "
         "y = ScatterElements(x, i, u) }"},
    {.text = "g (float[5,3] x, int32[4,3] i, float[4,3] u) => (float[5,3] y) { y = ScatterElements(x, i, u) }",
     .feed = ",index:5",
     .no_gradient = true},
    {.text = "g (float[5,3] x, int64[4,3] i, float[4,3] u) => (float[5,3] y) { y = ScatterElements <reduction = "
             "\"add\"> (x, i, u) }",
     .feed = ",index:5"},
    {.text = "g (double[2,5,3] x, int64[2,7,3] i, double[2,7,3] u) => (double[2,5,3] y) { "
             "y = ScatterElements <axis = -2, reduction = \"mul\"> (x, i, u) }",
     .feed = ",index:5"},
    {.text = "g (float[5,4] x, int64[7,1] i, float[7,4] u) => (float[5,4] y) { s = Constant <value_ints = [7, 4]> () e "
             "= Expand(i, s) "
             "y = ScatterElements <reduction = \"add\"> (x, e, u) }",
     .feed = ",index:5"},
    {.text = "g (float[3,5,4] x, int64[2,6,3] i, float[2,6,3] u) => (float[3,5,4] y) { "
             "y = ScatterElements <axis = 1, reduction = \"max\"> (x, i, u) }",
     .feed = ",index:5"},
    {.text = "g (float[4,3,2] x, int64[1,3,1] i, float[1,3,1] u) => (float[4,3,2] y) { "
             "y = ScatterElements <reduction = \"min\"> (x, i, u) }",
     .feed = ",index:4"},
    /* sums that begin with zeros, also with negative ones */
    {.text = "g (int64[4] i, float[4] u) => (float[6] y) { x = Constant <value = float[6] {0, 0, 0, 0, 0, 0}> () "
             "y = ScatterElements <reduction = \"add\"> (x, i, u) }",
     .feed = "index:3,"},
    {.text = "g (int64[4] i, float[4] u) => (float[6] y) { x = Constant <value = float[6] {0, 0, 0, -0.0, 0, -0.0}> () "
             "y = ScatterElements <reduction = \"add\"> (x, i, u) }",
     .feed = "index:3,"},
    {.text = "g (float[5] x, int64[9] i, float[9] u) => (float[5] y) { n = Constant <value_int = 5> () k = Sub(i, n) "
             "y = ScatterElements <reduction = \"add\"> (x, k, u) }",
     .feed = ",index:10"},
    {.text = "g (float[5] x, int64[9] i, float[9] u) => (float[5] y) { n = Constant <value_int = 5> () k = Sub(i, n) "
             "y = ScatterElements <reduction = \"max\"> (x, k, u) }",
     .feed = ",index:10"},
    {.text = "g (float[4,3] x, int64[0,3] i, float[0,3] u) => (float[4,3] y) { y = ScatterElements(x, i, u) }"},
    {.text = "g (float[4,3] x, int64[2,0] i, float[2,0] u) => (float[4,3] y) { y = ScatterElements(x, i, u) }"},
    {.text = "g (bool[5] x, int64[4] i, bool[4] u) => (bool[5] y) { y = ScatterElements(x, i, u) }",
     .feed = ",index:5",
     .opset = 11,
     .no_gradient = true},
    {.text = "g (uint8[5] x, int64[4] i, uint8[4] u) => (uint8[5] y) { y = ScatterElements <reduction = \"add\"> (x, "
             "i, u) }",
     .feed = ",index:5",
     .opset = 16,
     .no_gradient = true},
    {.text =
         "g (bool[5] x, int64[4] i, bool[4] u) => (bool[5] y) { y = ScatterElements <reduction = \"mul\"> (x, i, u) }",
     .feed = ",index:5",
     .no_gradient = true},
    {.text = "g (float16[5] x, int64[9] i, float16[9] u) => (float16[5] y) { y = ScatterElements <reduction = \"add\"> "
             "(x, i, u) }",
     .feed = ",index:5"},
    {.text = "g (float[5] x, float[1] u) => (float[5] y) { i = Constant <value_ints = [5]> () y = ScatterElements(x, "
             "i, u) }",
     .error = "is the index 5, expected -5 to 4"},
    {.text = "g (float[5] x, int64[4] i, float[4] u) => (float[5] y) { y = ScatterElements(x, i, u) }",
     .feed = ",index:100",
     .error = ", expected -5 to 4"},
    {.text = "g (float[5] x, int64[4] i, float[4] u) => (float[5] y) "
             "{ y = ScatterElements <reduction = \"max\"> (x, i, u) }",
     .feed = ",index:100",
     .error = ", expected -5 to 4"},
    {.text = "g (float[5] x, int64[2] i, float[1] u) => (float[5] y) { y = ScatterElements(x, i, u) }",
     .error = "does not have the shape of input 1 'i'"},
    {.text = "g (float[5,2] x, int64[2] i, float[2] u) => (float[5,2] y) { y = ScatterElements(x, i, u) }",
     .error = "has rank 1, expected 2"},
    {.text = "g (float[5,2] x, int64[2,3] i, float[2,3] u) => (float[5,2] y) { y = ScatterElements(x, i, u) }",
     .error = "is 3, expected at most 2"},
    {.text = "g (float[5] x, int64[2] i, float[2] u) => (float[5] y) { y = ScatterElements <reduction = \"mean\"> (x, "
             "i, u) }",
     .error = "is 'mean', expected none, add, mul, min or max"},
    {.text = "g (float[5] x, int64[2] i, float[2] u) => (float[5] y) { y = ScatterElements <reduction = \"max\"> (x, "
             "i, u) }",
     .opset = 16,
     .error = "expected none, add or mul before opset 18"},
    {0}};

static const struct op_sample point_samples[] = {
    {.text = "g (float[5,3] x, float[3,3] u) => (float[5,3] y) { i = Constant <value = int64[3,1] {1, -5, 4}> () y = "
             "ScatterND(x, i, u) }"},
    {.text = "g (float[4,4,3] x, int64[5,2] i, float[5,3] u) => (float[4,4,3] y) { y = ScatterND(x, i, u) }",
     .feed = ",index:4",
     .no_gradient = true},
    {.text = "g (float[4,4,3] x, int64[5,2] i, float[5,3] u) => (float[4,4,3] y) { y = ScatterND <reduction = \"add\"> "
             "(x, i, u) }",
     .feed = ",index:4"},
    {.text = "g (double[3,3] x, int64[2,5,2] i, double[2,5] u) => (double[3,3] y) { y = ScatterND <reduction = "
             "\"mul\"> (x, i, u) }",
     .feed = ",index:3"},
    {.text = "g (float[3,2] x, int64[6,1] i, float[6,2] u) => (float[3,2] y) { y = ScatterND <reduction = \"max\"> (x, "
             "i, u) }",
     .feed = ",index:3"},
    {.text = "g (float[3] x, int64[1] i, float u) => (float[3] y) { y = ScatterND <reduction = \"min\"> (x, i, u) }",
     .feed = ",index:3"},
    {.text = "g (float[3,3] x, int64[9,2] i, float[9] u) => (float[3,3] y) { n = Constant <value_int = 3> () "
             "k = Sub(i, n) y = ScatterND <reduction = \"add\"> (x, k, u) }",
     .feed = ",index:6"},
    {.text = "g (float[3,2] x, int64[0,1] i, float[0,2] u) => (float[3,2] y) { y = ScatterND(x, i, u) }"},
    {.text = "g (int64[4,1] i, float[4] u) => (float[6] y) { x = Constant <value = float[6] {0, 0, 0, -0.0, 0, "
             "-0.0}> () "
             "y = ScatterND <reduction = \"add\"> (x, i, u) }",
     .feed = "index:3,"},
    {.text =
         "g (int16[3] x, int64[7,1] i, int16[7] u) => (int16[3] y) { y = ScatterND <reduction = \"mul\"> (x, i, u) }",
     .feed = ",index:3",
     .opset = 16,
     .no_gradient = true},
    {.text = "g (float[3] x, int64[4,1] i, float[4] u) => (float[3] y) { y = ScatterND(x, i, u) }",
     .feed = ",index:3",
     .opset = 11,
     .no_gradient = true},
    {.text = "g (float[2,3] x, float[1] u) => (float[2,3] y) { i = Constant <value = int64[1,2] {0, 3}> () y = "
             "ScatterND(x, i, u) }",
     .error = "element 1 of input 1 'i' is the index 3, expected -3 to 2"},
    {.text = "g (float[3,3] x, int64[4,2] i, float[4] u) => (float[3,3] y) "
             "{ y = ScatterND <reduction = \"add\"> (x, i, u) }",
     .feed = ",index:100",
     .error = ", expected -3 to 2"},
    {.text = "g (float[2,3] x, int64[4,1] i, float[4] u) => (float[2,3] y) { y = ScatterND(x, i, u) }",
     .error = "has shape [4], expected [4,3]"},
    {.text = "g (float[2,3] x, int64[4,3] i, float[4] u) => (float[2,3] y) { y = ScatterND(x, i, u) }",
     .error = "is 3, expected 1 to 2"},
    {.text = "g (float[2,3] x, int64 i, float[4] u) => (float[2,3] y) { y = ScatterND(x, i, u) }",
     .error = "is a scalar"},
    {.text =
         "g (float[3] x, int64[4,1] i, float[4] u) => (float[3] y) { y = ScatterND <reduction = \"min\"> (x, i, u) }",
     .opset = 17,
     .error = "expected none, add or mul before opset 18"},
    {0}};

static const struct op_sample old_samples[] = {
    {.text =
         "g (float[5,3] x, float[2,3] u) => (float[5,3] y) { i = Constant <value = int64[2,3] {1, 0, 2, 0, 2, 4}> () "
         "y = Scatter(x, i, u) }",
     .opset = 9},
    {.text = "g (int32[5] x, int64[2] i, int32[2] u) => (int32[5] y) { y = Scatter <axis = 0> (x, i, u) }",
     .opset = 10,
     .feed = ",index:5",
     .no_gradient = true},
    {.text = "g (float[5] x, int64[2] i, float[2] u) => (float[5] y) { y = Scatter(x, i, u) }",
     .opset = 11,
     .error = "is deprecated"},
    {0}};

/* ---- sizes that follow from data --------------------------------------------------------------------------------- */

/* Updates that are not meant change nothing of what they are combined with. */
static struct value *neutral(struct builder *b, enum scatter_reduction r, enum dtype d)
{
    switch (r) {
    case SCATTER_MUL:
        return build_cast(b, build_int(b, 1), d);
    case SCATTER_MAX:
        return bounded_least(b, d, false);
    case SCATTER_MIN:
        return bounded_greatest(b, d);
    default:
        return build_cast(b, build_int(b, 0), d);
    }
}

static bool check_bounded(struct bounded_ctx *c, const struct bounded *indices, const struct bounded *updates)
{
    if (bounded_in(c, 0) != NULL)
        return bounded_refuse(c, 0, "what is scattered into needs a fixed size");
    if (indices == NULL || updates == NULL || indices->axis != updates->axis || !bounded_alike(indices, updates))
        return bounded_refuse(c, indices != NULL ? 1 : 2,
                              "indices and updates are not known to be as many as each other");
    return true;
}

static bool element_bounded(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    const enum scatter_reduction r = scatter_reduction(n);
    if (!check_bounded(c, bounded_in(c, 1), bounded_in(c, 2)))
        return false;
    if (r == SCATTER_NONE)
        return bounded_refuse(c, 1, "ScatterElements needs a reduction for that");
    bounded_fill_input(c, 2, neutral(c->b, r, n->inputs.data[2]->dtype));
    return true;
}

/* Data as rows that a number names, and one row more, where updates go that are not meant. */
static bool point_bounded(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    struct value *const x = n->inputs.data[0], *const indices = n->inputs.data[1];
    const enum scatter_reduction r = scatter_reduction(n);
    const int point = axes_of_point(n), rank = indices->shape.rank;
    if (!check_bounded(c, bounded_in(c, 1), bounded_in(c, 2)))
        return false;
    if (indices->bounded->axis == rank - 1)
        return bounded_refuse(c, 1, "ScatterND takes a fixed number of axes");
    bounded_fill_input(c, 2, neutral(c->b, r, n->inputs.data[2]->dtype));
    if (r != SCATTER_NONE)
        return true;
    const int64_t size = shape_count_range(&x->shape, 0, point),
                  inner = shape_count_range(&x->shape, point, x->shape.rank),
                  count = shape_count_range(&indices->shape, 0, rank - 1);
    struct value *number =
        build_with(c, "stepc.PointIndex", ATTRS(attr_ints("shape", x->shape.dim, (size_t)point)), indices);
    number = build_reshape(c->b, bounded_filled(c->b, number, build_int(c->b, size)), &SHAPE(count, 1));
    struct value *const rows = build_reshape(c->b, x, &SHAPE(size, inner));
    struct value *const trash = build_expand(c->b, build_cast(c->b, build_int(c->b, 0), x->dtype), &SHAPE(1, inner));
    struct value *const all = build_with(c, "Concat", ATTRS(attr_int("axis", 0)), rows, trash);
    struct value *const y =
        build(c, "ScatterND", all, number, build_reshape(c->b, n->inputs.data[2], &SHAPE(count, inner)));
    struct value *const kept =
        build(c, "Slice", y, build_ints(c->b, (int64_t[]){0}, 1), build_ints(c->b, &size, 1));
    struct value *const in[] = {kept, build_dims(c->b, &x->shape)};
    return bounded_become(c, "Reshape", ATTRS_NONE, in, 2);
}

static void element_labels(struct axes_ctx *c)
{
    const struct shape *const x = &node_input(c->node, 0)->shape, *const i = &node_input(c->node, 1)->shape;
    for (int d = 0; d < x->rank; d++)
        for (int k = 0; k < 3 && d != move_axis(c->node) && x->dim[d] == i->dim[d]; k++)
            axes_pass(c, k, d, 0, d);
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_scatter[] = {
    {.name = "ScatterElements", .versions = element_versions, .inputs = element_inputs, .outputs = outputs,
     .attrs = element_attrs, .infer = element_infer, .axes = element_labels,
     .expand = element_expand, .eval = element_eval,
     .selects_from = element_selects_from, .bounded = element_bounded, .samples = element_samples},
    {.name = "ScatterND", .versions = point_versions, .inputs = point_inputs, .outputs = outputs,
     .attrs = point_attrs, .infer = point_infer, .expand = point_expand, .eval = point_eval,
     .selects_from = point_selects_from, .bounded = point_bounded, .samples = point_samples},
    {.name = "Scatter", .versions = old_versions, .inputs = element_inputs, .outputs = outputs,
     .attrs = element_attrs_11, .infer = element_infer, .expand = element_expand, .eval = element_eval,
     .selects_from = element_selects_from, .samples = old_samples},
    {0}};
