/* The same elements in row-major order under another shape: Reshape, Flatten, Squeeze, Unsqueeze.
 * Spec: ONNX Reshape-1 to -25, Flatten-1 to -25, Squeeze-1 to -25, Unsqueeze-1 to -25. Shapes and axes move from
 * attributes to inputs in Reshape-5, Squeeze-13 and Unsqueeze-13; most other versions only add types. */
#include "ops/move_rules.h"

#include "base/checked.h"

/* ---- schemas ----------------------------------------------------------------------------------------------------- */

#define NEWER_VERSIONS                                                                                                 \
    {.since = 21, .dtypes = MOVE_TYPES_21}, {.since = 23, .dtypes = MOVE_TYPES_23},                                    \
        {.since = 24, .dtypes = MOVE_TYPES_24}, {.since = 25}, {0}
#define INPUT_DATA {.name = "data", .type = 'T', .dtypes = MOVE_TYPES_25}
#define INPUT_INTS(NAME, FLAGS)                                                                                        \
    {.name = (NAME), .dtypes = DTYPE_BIT(DTYPE_INT64), .flags = PARAM_NOT_DIFF | (FLAGS)}

static const struct op_attr no_attrs[] = {{0}};
static const struct op_param only_data[] = {INPUT_DATA, {0}};

/* ---- Reshape ----------------------------------------------------------------------------------------------------- */

static const struct op_attr reshape_attrs_1[] = {{.name = "consumed_inputs", .type = ATTR_INTS, .no_default = true},
                                                 {.name = "shape", .type = ATTR_INTS, .required = true},
                                                 {0}};
static const struct op_attr reshape_attrs[] = {{.name = "allowzero", .type = ATTR_INT, .int_default = 0}, {0}};

static bool reshape_upgrade_1(struct upgrade_ctx *c)
{
    return upgrade_drop_consumed_inputs(c) && upgrade_attr_to_input(c, "shape", 1);
}

static const struct op_param reshape_inputs[] = {INPUT_DATA, INPUT_INTS("shape", 0), {0}};
static const struct op_param reshape_outputs[] = {{.name = "reshaped", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};
static const struct op_version reshape_versions[] = {
    {.since = 1, .dtypes = FLOATS_1, .attrs = reshape_attrs_1, .inputs = only_data, .upgrade = reshape_upgrade_1},
    {.since = 5, .dtypes = MOVE_TYPES_1, .attrs = no_attrs},
    {.since = 13, .dtypes = MOVE_TYPES_13, .attrs = no_attrs},
    {.since = 14, .dtypes = MOVE_TYPES_13},
    {.since = 19, .dtypes = MOVE_TYPES_19},
    NEWER_VERSIONS};

/* One dimension as asked for: itself, 0 for the input's, or -1 for what is left (kept as -1). */
static bool resolve_dim(struct infer_ctx *c, struct shape *to, int k, struct size wish)
{
    const struct shape *x = infer_shape(c, 0);
    shape_set(to, k, wish);
    if (wish.most < -1)
        return infer_error(c, "dimension %d of the new shape is %lld, expected -1 or more", k, (long long)wish.most);
    if (wish.most != 0 || op_attr_int(c->node, "allowzero") != 0)
        return true;
    if (k >= x->rank)
        return infer_error(c, "dimension %d of the new shape is 0 (as the input's), but the input has rank %d", k,
                           x->rank);
    shape_set(to, k, shape_size(x, k));
    return true;
}

/* The dimension given as -1, from the number of elements and the other dimensions. */
static bool resolve_rest(struct infer_ctx *c, struct shape *to, int rest)
{
    const int64_t count = shape_count(infer_shape(c, 0));
    int64_t others = 1;
    for (int k = 0; k < to->rank; k++)
        if (k != rest && !checked_mul(others, to->dim[k], &others))
            return infer_error(c, "the new shape is too large");
    if (others == 0)
        return infer_error(c, "dimension %d of the new shape is -1, which says nothing beside a dimension of 0", rest);
    if (count % others != 0)
        return infer_error(c, "dimension %d of the new shape is -1, but %lld elements do not divide by %lld", rest,
                           (long long)count, (long long)others);
    shape_set(to, rest, size_constant(1));
    shape_set(to, rest, size_over(shape_size_range(infer_shape(c, 0), 0, infer_rank(c, 0)),
                                  shape_elements(to)));
    return true;
}

static bool check_same_count(struct infer_ctx *c, const struct shape *to)
{
    int64_t count;
    if (shape_count_checked(to, &count) && count == shape_count(infer_shape(c, 0)))
        return true;
    struct arena text = {0};
    infer_error(c, "input 0 '%s' of shape %s cannot take the shape %s, which has another number of elements",
                infer_in(c, 0)->name, shape_text(&text, infer_shape(c, 0)), shape_text(&text, to));
    arena_free(&text);
    return false;
}

static bool reshape_infer(struct infer_ctx *c)
{
    const struct size *wish;
    size_t count;
    int rest = -1;
    if (!infer_known_sizes(c, 1, &wish, &count))
        return false;
    if (count > SHAPE_MAX_RANK)
        return infer_error(c, "the new shape has rank %zu, at most %d is supported", count, SHAPE_MAX_RANK);
    struct shape to = {.rank = (int)count};
    for (int k = 0; k < to.rank; k++) {
        if (!resolve_dim(c, &to, k, wish[k]))
            return false;
        if (to.dim[k] != -1)
            continue;
        if (rest >= 0)
            return infer_error(c, "dimensions %d and %d of the new shape are both -1", rest, k);
        rest = k;
    }
    if (rest >= 0 && !resolve_rest(c, &to, rest))
        return false;
    return check_same_count(c, &to) && infer_out(c, 0, DTYPE_UNDEFINED, &to);
}

static const struct op_sample reshape_samples[] = {
    {.text = "g (float[2,3,4] x) => (float[4,6] y) { s = Constant <value_ints = [4, 6]> () y = Reshape(x, s) }"},
    {.text = "g (float[2,3,4] x) => (float[2,12] y) { s = Constant <value_ints = [0, -1]> () y = Reshape(x, s) }"},
    {.text = "g (double[1,1] x) => (double y) { s = Constant <value_ints : ints = []> () y = Reshape(x, s) }"},
    {.text = "g (float[2,3] x) => (float[2,3] y) "
             "{ t = Transpose(x) s = Constant <value_ints = [2, 3]> () y = Reshape(t, s) }"},
    {.text = "g (float[0,3] x) => (float[3,0] y) "
             "{ s = Constant <value_ints = [3, 0]> () y = Reshape <allowzero = 1> (x, s) }"},
    {.text = "g (float[2,3] x) => (float[6] y) { y = Reshape <shape = [6]> (x) }", .opset = 1},
    {.text = "g (float[2,3] x) => (float[4] y) { s = Constant <value_ints = [4]> () y = Reshape(x, s) }",
     .error = "another number of elements"},
    {.text = "g (float[2,3] x) => (float[4,1] y) { s = Constant <value_ints = [4, -1]> () y = Reshape(x, s) }",
     .error = "do not divide"},
    {.text = "g (float[2,3] x) => (float[2,3] y) { s = Constant <value_ints = [-1, -1]> () y = Reshape(x, s) }",
     .error = "both -1"},
    {.text = "g (float[6] x) => (float[6,1] y) { s = Constant <value_ints = [6, 0]> () y = Reshape(x, s) }",
     .error = "rank 1"},
    {.text = "g (float[6] x, int64[1] s) => (float[6] y) { y = Reshape(x, s) }",
     .error = "must be known at compile time"},
    {.text = "g (float[2] x) => (float[1,1,1,1,1,1,1,1,1,1,1,2] y) { s = Constant <value_ints = "
             "[1,1,1,1,1,1,1,1,1,1,1, 2]> () y = Reshape(x, s) }"},
    {.text = "g (float[2] x) => (float[2] y) { s = Constant <value_ints = [1,1,1,1,1,1,1,1,1,1,1,1, 2]> () y "
             "= Reshape(x, s) }",
     .error = "the new shape has rank 13, at most 12 is supported"},
    {0}};

/* ---- Flatten: to a matrix, split before `axis` ------------------------------------------------------------------- */

static const struct op_attr flatten_attrs[] = {{.name = "axis", .type = ATTR_INT, .int_default = 1}, {0}};
static const struct op_param flatten_inputs[] = {{.name = "input", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};
static const struct op_param flatten_outputs[] = {{.name = "output", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};
static const struct op_version flatten_versions[] = {{.since = 1, .dtypes = FLOATS_1},
                                                     {.since = 9, .dtypes = MOVE_TYPES_1},
                                                     {.since = 11, .dtypes = MOVE_TYPES_1},
                                                     {.since = 13, .dtypes = MOVE_TYPES_13},
                                                     NEWER_VERSIONS};

/* Unlike elsewhere, axis == rank is allowed. A scalar becomes [1,1] with the default axis of 1, too. */
static bool flatten_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    int64_t axis = op_attr_int(c->node, "axis");
    if (x->rank == 0 && axis == 1)
        axis = 0;
    if (axis < -x->rank || axis > x->rank)
        return infer_error(c, "axis %lld is out of range [%d, %d]", (long long)axis, -x->rank, x->rank);
    const int split = (int)(axis < 0 ? axis + x->rank : axis);
    return infer_out(c, 0, DTYPE_UNDEFINED,
                     &SHAPE_OF(shape_size_range(x, 0, split), shape_size_range(x, split, x->rank)));
}

/* A scalar has no axis 1 for runtimes. */
static bool flatten_plain(struct expand_ctx *c)
{
    struct value *const x = expand_in(c, 0);
    return x->shape.rank > 0 || expand_out(c, 0, build_reshape(c->b, x, &node_output(c->node, 0)->shape));
}

static const struct op_sample flatten_samples[] = {
    {.text = "g (float[2,3,4] x) => (float[2,12] y) { y = Flatten(x) }"},
    {.text = "g (float[2,3,4] x) => (float[1,24] y) { y = Flatten <axis = 0> (x) }"},
    {.text = "g (double[2,3,4] x) => (double[24,1] y) { y = Flatten <axis = 3> (x) }"},
    {.text = "g (float[2,3,4] x) => (float[6,4] y) { y = Flatten <axis = -1> (x) }"},
    {.text = "g (float[2,0,4] x) => (float[2,0] y) { y = Flatten(x) }"},
    {.text = "g (float[2,3] x) => (float[6,1] y) { y = Flatten <axis = 3> (x) }", .error = "out of range [-2, 2]"},
    {.text = "g (float x) => (float[1,1] y) { y = Flatten(x) }"},
    {.text = "g (float x) => (float[1,1] y) { y = Flatten <axis = 0> (x) }"},
    {.text = "g (float x) => (float[1,1] y) { y = Flatten <axis = 2> (x) }",
     .error = "axis 2 is out of range [0, 0]"},
    {0}};

/* ---- Squeeze: without the listed dimensions of 1, or without any ------------------------------------------------- */

static const struct op_attr squeeze_attrs_11[] = {{.name = "axes", .type = ATTR_INTS, .no_default = true}, {0}};
static const struct op_attr unsqueeze_attrs_11[] = {{.name = "axes", .type = ATTR_INTS, .required = true}, {0}};

static bool axes_upgrade(struct upgrade_ctx *c)
{
    return upgrade_attr_to_input(c, "axes", 1);
}

static const struct op_param squeeze_inputs[] = {INPUT_DATA, INPUT_INTS("axes", PARAM_OPTIONAL), {0}};
static const struct op_param squeeze_outputs[] = {{.name = "squeezed", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};
static const struct op_version squeeze_versions[] = {
    {.since = 1, .dtypes = MOVE_TYPES_1, .attrs = squeeze_attrs_11, .inputs = only_data},
    {.since = 11, .dtypes = MOVE_TYPES_1, .attrs = squeeze_attrs_11, .inputs = only_data, .upgrade = axes_upgrade},
    {.since = 13, .dtypes = MOVE_TYPES_13, .attrs = no_attrs},
    NEWER_VERSIONS};

static bool squeeze_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    const int64_t *axes = NULL;
    size_t count = 0;
    bool dropped[SHAPE_MAX_RANK] = {false};
    struct shape to = SHAPE_SCALAR;
    if (infer_in(c, 1) != NULL &&
        !(infer_known_ints(c, 1, &axes, &count) && move_infer_axes(c, axes, count, x->rank, true, dropped)))
        return false;
    for (int d = 0; d < x->rank; d++) {
        if (dropped[d] && x->dim[d] != 1)
            return infer_error(c, "dimension %d of input 0 '%s' is %lld and cannot be squeezed out, expected 1", d,
                               infer_in(c, 0)->name, (long long)x->dim[d]);
        const bool drop = axes != NULL ? dropped[d] : x->dim[d] == 1;
        if (!drop)
            shape_take(&to, x, d);
    }
    return infer_out(c, 0, DTYPE_UNDEFINED, &to);
}

static const struct op_sample squeeze_samples[] = {
    {.text = "g (float[1,3,1,2] x) => (float[3,2] y) { y = Squeeze(x) }"},
    {.text = "g (float[1,3,1,2] x) => (float[1,3,2] y) { a = Constant <value_ints = [-2]> () y = Squeeze(x, a) }"},
    {.text = "g (double[1] x) => (double y) { y = Squeeze(x) }"},
    {.text = "g (float[1,3,1] x) => (float[3,1] y) { y = Squeeze <axes = [0]> (x) }", .opset = 9},
    {.text = "g (float[1,3] x) => (float[1] y) { a = Constant <value_ints = [1]> () y = Squeeze(x, a) }",
     .error = "dimension 1 of input 0 'x' is 3"},
    {.text = "g (float[1,3] x) => (float[3] y) { a = Constant <value_ints = [2]> () y = Squeeze(x, a) }",
     .error = "out of range"},
    {.text = "g (float[2,1,3,1] x) => (float[2,3] y) { y = Squeeze <axes = [-1, 1]> (x) }", .opset = 11},
    {.text = "g (float[3,2] x) => (float[3] y) { a = Constant <value_ints = [1]> () y = Squeeze(x, a) }",
     .error = "dimension 1 of input 0 'x' is 2 and cannot be squeezed out, expected 1"},
    {0}};

/* ---- Unsqueeze: with dimensions of 1 at the listed places of the result ------------------------------------------ */

static const struct op_param unsqueeze_inputs[] = {INPUT_DATA, INPUT_INTS("axes", 0), {0}};
static const struct op_param unsqueeze_outputs[] = {{.name = "expanded", .type = 'T', .dtypes = MOVE_TYPES_25}, {0}};
static const struct op_version unsqueeze_versions[] = {
    {.since = 1, .dtypes = MOVE_TYPES_1, .attrs = unsqueeze_attrs_11, .inputs = only_data},
    {.since = 11, .dtypes = MOVE_TYPES_1, .attrs = unsqueeze_attrs_11, .inputs = only_data, .upgrade = axes_upgrade},
    {.since = 13, .dtypes = MOVE_TYPES_13, .attrs = no_attrs},
    NEWER_VERSIONS};

static bool unsqueeze_infer(struct infer_ctx *c)
{
    const struct shape *x = infer_shape(c, 0);
    const int64_t *axes;
    size_t count;
    bool added[SHAPE_MAX_RANK] = {false};
    if (!infer_known_ints(c, 1, &axes, &count))
        return false;
    if (count > (size_t)(SHAPE_MAX_RANK - x->rank))
        return infer_error(c, "the result would have rank %zu, at most %d is supported", (size_t)x->rank + count,
                           SHAPE_MAX_RANK);
    const int rank = x->rank + (int)count;
    struct shape to = SHAPE_SCALAR;
    if (!move_infer_axes(c, axes, count, rank, false, added))
        return false;
    for (int d = 0, from = 0; d < rank; d++)
        shape_add(&to, added[d] ? size_constant(1) : shape_size(x, from++));
    return infer_out(c, 0, DTYPE_UNDEFINED, &to);
}

static const struct op_sample unsqueeze_samples[] = {
    {.text = "g (float[3,2] x) => (float[1,3,2,1] y) { a = Constant <value_ints = [-1, 0]> () y = Unsqueeze(x, a) }"},
    {.text = "g (double x) => (double[1] y) { a = Constant <value_ints = [0]> () y = Unsqueeze(x, a) }"},
    {.text = "g (float[3,2] x) => (float[3,1,2] y) { a = Constant <value_int = 1> () y = Unsqueeze(x, a) }"},
    {.text = "g (float[3,2] x) => (float[3,1,2] y) { y = Unsqueeze <axes = [1]> (x) }", .opset = 11},
    {.text = "g (float[3] x) => (float[1,1,3] y) { a = Constant <value_ints = [0, -3]> () y = Unsqueeze(x, a) }",
     .error = "listed twice"},
    {.text = "g (float[3] x) => (float[3,1] y) { a = Constant <value_ints = [2]> () y = Unsqueeze(x, a) }",
     .error = "out of range"},
    {.text = "g (float[1,1,1,1,1,1,1,1,1,1,2] x) => (float[1,1,1,1,1,1,1,1,1,1,1,2] y) { a = Constant "
             "<value_ints = [0]> () y = Unsqueeze(x, a) }"},
    {.text = "g (float[1,1,1,1,1,1,1,1,1,1,1,2] x) => (float[2] y) { a = Constant <value_ints = [0, 1]> () y "
             "= Unsqueeze(x, a) }",
     .error = "the result would have rank 14, at most 12 is supported"},
    {0}};

/* The new shape has a count of input 0 in it. Written with -1 in its place, it is like any other. */
static bool reshape_by_data(struct bounded_ctx *c)
{
    struct node *const n = c->node;
    const struct bounded *count;
    struct value *dims, *const x = node_input(n, 0);
    int axis;
    if (x == NULL || !bounded_shape(c, 1, &dims, &axis, &count))
        return true; /* what is missing is reported by inference */
    if (x->bounded == NULL)
        return bounded_refuse_shape(c, 1, count, "what is reshaped has a fixed number of elements");
    const struct attr *const how = ATTRS(attr_int("allowzero", op_attr_int(n, "allowzero")));
    if (!bounded_become(c, "Reshape", how, (struct value *const[]){x, dims}, 2))
        return false;
    struct shape open = n->outputs.data[0]->shape;
    shape_set(&open, axis, size_constant(-1));
    dims = build_ints(c->b, open.dim, (size_t)open.rank);
    if (!bounded_become(c, "Reshape", how, (struct value *const[]){x, dims}, 2) || !bounded_reshape(c))
        return false;
    const struct bounded *const y = n->outputs.data[0]->bounded;
    return (y->axis == axis && bounded_alike(y, count)) ||
           bounded_refuse_shape(c, 1, count, "it is not known to be as many as input 0 has");
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

const struct op_def op_defs_reshape[] = {
    {.name = "Reshape", .written = "=", .versions = reshape_versions, .inputs = reshape_inputs,
     .outputs = reshape_outputs, .attrs = reshape_attrs, .infer = reshape_infer, .grad = move_reshape_grad,
     .eval = move_reshape_eval, .lower = move_reshape_lower, .is_view = true, .is_reshape = true,
     .sized_by_data = reshape_by_data, .sizes = SIZES_MOVED, .samples = reshape_samples},
    {.name = "Flatten", .plain = flatten_plain, .written = "=", .versions = flatten_versions, .inputs = flatten_inputs,
     .outputs = flatten_outputs, .attrs = flatten_attrs, .infer = flatten_infer, .grad = move_reshape_grad,
     .eval = move_reshape_eval, .lower = move_reshape_lower, .is_view = true, .is_reshape = true,
     .sizes = SIZES_MOVED, .samples = flatten_samples},
    {.name = "Squeeze", .written = "=", .versions = squeeze_versions, .inputs = squeeze_inputs,
     .outputs = squeeze_outputs, .infer = squeeze_infer, .grad = move_reshape_grad, .eval = move_reshape_eval,
     .lower = move_reshape_lower, .is_view = true, .is_reshape = true,
     .sizes = SIZES_MOVED, .samples = squeeze_samples},
    {.name = "Unsqueeze", .written = "=", .versions = unsqueeze_versions, .inputs = unsqueeze_inputs,
     .outputs = unsqueeze_outputs, .infer = unsqueeze_infer, .grad = move_reshape_grad, .eval = move_reshape_eval,
     .lower = move_reshape_lower, .is_view = true, .is_reshape = true,
     .sizes = SIZES_MOVED, .samples = unsqueeze_samples},
    {0}};
