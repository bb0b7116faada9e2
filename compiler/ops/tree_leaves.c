/* TreeLeaves(x): the leaf of each of several trees that a row belongs to. x [N,F] of float or double -> int32 [N,T].
 * Attributes are a table of nodes (templates/tree_leaves.c says what is in it): node i asks whether feature features[i]
 * is at most splits[i]; roots and next hold numbers of nodes, or -1 - leaf. Trees of ai.onnx.ml become this
 * (ops/ml_trees.c). No gradient: which leaf it is does not change but at splits. */
#include "ops/op.h"

static const struct op_attr attrs[] = {
    {.name = "features", .type = ATTR_INTS, .required = true}, {.name = "leaves", .type = ATTR_INT, .required = true},
    {.name = "next", .type = ATTR_INTS, .required = true},     {.name = "roots", .type = ATTR_INTS, .required = true},
    {.name = "splits", .type = ATTR_TENSOR, .required = true}, {0}};
static const struct op_version versions[] = {{.since = 1}, {0}};
static const struct op_param inputs[] = {
    {.name = "x", .type = 'T', .dtypes = DTYPES_FLOAT_DOUBLE, .flags = PARAM_NOT_DIFF}, {0}};
static const struct op_param outputs[] = {
    {.name = "leaves", .dtypes = DTYPE_BIT(DTYPE_INT32), .flags = PARAM_OUTPUT_NOT_DIFF}, {0}};

struct leaf_table {
    size_t nodes, ways, trees;
    int64_t leaves;
    const int64_t *features, *next, *roots;
    const struct tensor *splits;
};

static struct leaf_table table_of(const struct node *n)
{
    struct leaf_table t = {.leaves = op_attr_int(n, "leaves"), .splits = node_attr(n, "splits")->t};
    size_t ways;
    (void)op_attr_ints(n, "features", &t.features, &t.nodes);
    (void)op_attr_ints(n, "next", &t.next, &ways);
    (void)op_attr_ints(n, "roots", &t.roots, &t.trees);
    t.ways = t.nodes > 0 && ways == 2 * t.nodes ? 2 : 3;
    return t;
}

static bool check_place(struct infer_ctx *c, const struct leaf_table *t, const char *name, size_t i, int64_t place,
                        int64_t first)
{
    if (place < 0 ? -1 - place < t->leaves : place >= first && (uint64_t)place < t->nodes)
        return true;
    return infer_error(c, "element %zu of attribute '%s' is %lld, which is no node behind it and no leaf", i, name,
                       (long long)place);
}

static bool tree_infer(struct infer_ctx *c)
{
    const struct shape *const x = infer_shape(c, 0);
    const struct leaf_table t = table_of(c->node);
    if (x->rank != 2)
        return infer_error(c, "input 0 '%s' has rank %d, expected 2", infer_in(c, 0)->name, x->rank);
    if (node_attr(c->node, "next")->count != t.nodes * t.ways || (uint64_t)t.splits->count != t.nodes)
        return infer_error(c, "attributes 'next' and 'splits' do not fit %zu nodes", t.nodes);
    if (t.splits->dtype != infer_in(c, 0)->dtype)
        return infer_error(c, "attribute 'splits' is not of input 0's type");
    if (t.nodes > INT32_MAX / 3 || t.leaves < 1 || t.leaves > INT32_MAX)
        return infer_error(c, "it has %zu nodes and %lld leaves", t.nodes, (long long)t.leaves);
    for (size_t i = 0; i < t.nodes; i++)
        if (t.features[i] < 0 || t.features[i] >= x->dim[1])
            return infer_error(c, "element %zu of attribute 'features' is %lld, expected 0 to %lld", i,
                               (long long)t.features[i], (long long)x->dim[1] - 1);
    for (size_t i = 0; i < t.nodes * t.ways; i++)
        if (!check_place(c, &t, "next", i, t.next[i], (int64_t)(i / t.ways) + 1))
            return false;
    for (size_t i = 0; i < t.trees; i++)
        if (!check_place(c, &t, "roots", i, t.roots[i], 0))
            return false;
    return infer_out(c, 0, DTYPE_INT32, &SHAPE_OF(shape_size(x, 0), size_constant((int64_t)t.trees)));
}

static bool tree_eval(struct eval_ctx *c)
{
    const struct leaf_table t = table_of(c->node);
    const int64_t rows = eval_input(c, 0)->shape.dim[0], features = eval_input(c, 0)->shape.dim[1];
    for (int64_t p = 0; p < rows * (int64_t)t.trees; p++) {
        const double *const row = eval_f(c, 0) + p / (int64_t)t.trees * features;
        int64_t at = t.roots[p % (int64_t)t.trees];
        while (at >= 0) {
            const double x = row[t.features[at]], split = tensor_get_double(t.splits, at);
            const size_t way = x <= split ? 0 : t.ways == 2 || x > split ? 1 : 2;
            at = t.next[(size_t)at * t.ways + way];
        }
        eval_out_i(c, 0)[p] = -1 - at;
    }
    return true;
}

/* ---- for other runtimes ------------------------------------------------------------------------------------------ */

/* Questions on the longest way from a root to a leaf: ways lead to nodes further behind. */
static int64_t depth_of(struct arena *a, const struct leaf_table *t)
{
    int64_t *const below = arena_array(a, int64_t, t->nodes + 1), most = 0;
    for (size_t i = t->nodes; i-- > 0;) {
        below[i] = 1;
        for (size_t w = 0; w < t->ways; w++) {
            const int64_t to = t->next[i * t->ways + w];
            if (to >= 0 && below[to] + 1 > below[i])
                below[i] = below[to] + 1;
        }
    }
    for (size_t k = 0; k < t->trees; k++)
        most = t->roots[k] >= 0 && below[t->roots[k]] > most ? below[t->roots[k]] : most;
    return most;
}

/* One question of each tree for all rows: [N, T] numbers of nodes to those that follow. */
static struct value *ask(struct expand_ctx *c, const struct leaf_table *t, struct value *at)
{
    struct value *const x = expand_in(c, 0), *const zero = build_int(c->b, 0);
    struct value *const is_leaf = build(c, "Less", at, zero);
    struct value *const node = build(c, "Where", is_leaf, zero, at);
    struct value *const feature = build(c, "Gather", build_ints(c->b, t->features, t->nodes), node);
    struct value *const split = build(c, "Gather", build_constant(c->b, t->splits), node);
    struct value *const asked = build_with(c, "GatherElements", ATTRS(attr_int("axis", 1)), x, feature);
    struct value *way = build_int(c->b, 1);
    if (t->ways == 3)
        way = build(c, "Where", build(c, "Greater", asked, split), way, build_int(c->b, 2));
    way = build(c, "Where", build(c, "LessOrEqual", asked, split), zero, way);
    way = build(c, "Add", build(c, "Mul", node, build_int(c->b, (int64_t)t->ways)), way);
    struct value *const next = build(c, "Gather", build_ints(c->b, t->next, t->nodes * t->ways), way);
    return build(c, "Where", is_leaf, at, next);
}

static bool tree_plain(struct expand_ctx *c)
{
    const struct leaf_table t = table_of(c->node);
    const int64_t depth = depth_of(c->b->graph->arena, &t);
    const struct shape rows = SHAPE_OF(shape_size(&expand_in(c, 0)->shape, 0), size_constant((int64_t)t.trees));
    struct value *at = build_expand(c->b, build_ints(c->b, t.roots, t.trees), &rows);
    for (int64_t k = 0; k < depth; k++)
        at = ask(c, &t, at);
    return expand_out(c, 0, build_cast(c->b, build(c, "Sub", build_int(c->b, -1), at), DTYPE_INT32));
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static void bind_table(struct lower_ctx *c, const char *param, const int64_t *x, size_t count)
{
    const size_t kept = count > 0 ? count : 1; /* trees of one leaf only: nobody reads it */
    struct tensor *const t = tensor_new(c->arena, DTYPE_INT32, &SHAPE((int64_t)kept));
    for (size_t i = 0; i < count; i++)
        tensor_set_int(t, (int64_t)i, x[i]);
    const struct access a = lower_table(c, param, t);
    lower_template_operand(c, param, &a);
}

static const struct template_traits tree_template = {.name = "tree_leaves"};

static bool tree_lower(struct lower_ctx *c)
{
    const struct leaf_table t = table_of(c->node);
    const struct view x = lower_view_of(c, 0), out = lower_out_view(c, 0);
    if (out.buffer->count == 0)
        return true;
    const struct access row = {.buffer = x.buffer, .offset = x.offset, .stride = {x.stride[0]}};
    struct kernel *const k = lower_kernel(c, "leaves");
    k->outer_rank = 1;
    k->outer_extent[0] = x.shape.dim[0];
    lower_template(c, &tree_template, x.buffer->dtype);
    lower_template_int(c, "TREES", (int64_t)t.trees);
    lower_template_int(c, "WAYS", (int64_t)t.ways);
    lower_template_int(c, "X_COL", x.stride[1]);
    lower_template_operand(c, "x", &row);
    bind_table(c, "roots", t.roots, t.trees);
    bind_table(c, "features", t.features, t.nodes);
    struct tensor *const splits = tensor_new(c->arena, t.splits->dtype, &SHAPE(t.nodes > 0 ? (int64_t)t.nodes : 1));
    for (size_t i = 0; i < t.nodes; i++)
        tensor_set_double(splits, (int64_t)i, tensor_get_double(t.splits, (int64_t)i));
    const struct access of_splits = lower_table(c, "splits", splits);
    lower_template_operand(c, "splits", &of_splits);
    bind_table(c, "next", t.next, t.nodes * t.ways);
    lower_template_flops(c, (int64_t)t.trees);
    struct part *const p = lower_template_part(c, "finish", 1, &out.shape.dim[1]);
    lower_store(c, p, &out, expr_result(c->arena, DTYPE_INT32));
    return true;
}

static const struct op_sample samples[] = {
    {.text = "g (float[5,2] x) => (int32[5,2] y) { y = stepc.TreeLeaves <features = [1, 0], leaves = 3, "
             "next = [1, -1, -2, -3], roots = [0, -3], splits = float[2] {0.25, -0.5}> (x) }",
     .no_gradient = true},
    {.text = "g () => (int32[3,1] y) { x = Constant <value = double[3,1] {0.0, nan, 1.0}> () "
             "y = stepc.TreeLeaves <features = [0], leaves = 3, next = [-1, -2, -3], roots = [0], "
             "splits = double[1] {0.25}> (x) }",
     .no_gradient = true},
    {.text = "g (float[2,5] x) => (int32[5,2] y) { t = Transpose(x) y = stepc.TreeLeaves <features = [1, 0], "
             "leaves = 3, next = [1, -1, -1, -2, -2, -3], roots = [0, 1], splits = float[2] {0.25, -0.5}> (t) }",
     .no_gradient = true},
    {.text = "g (float[2,1] x) => (int32[2,1] y) { y = stepc.TreeLeaves <features = [1], leaves = 2, "
             "next = [-1, -2], roots = [0], splits = float[1] {0.0}> (x) }",
     .error = "'features' is 1, expected 0 to 0"},
    {.text = "g (float[2,1] x) => (int32[2,1] y) { y = stepc.TreeLeaves <features = [0], leaves = 2, "
             "next = [0, -2], roots = [0], splits = float[1] {0.0}> (x) }",
     .error = "'next' is 0, which is no node behind it and no leaf"},
    {.text = "g (float[2,1] x) => (int32[2,1] y) { y = stepc.TreeLeaves <features = [0], leaves = 2, "
             "next = [-1, -3], roots = [0], splits = float[1] {0.0}> (x) }",
     .error = "'next' is -3"},
    {.text = "g (float[2,1] x) => (int32[2,1] y) { y = stepc.TreeLeaves <features = [0], leaves = 2, "
             "next = [-1, -2], roots = [1], splits = float[1] {0.0}> (x) }",
     .error = "'roots' is 1"},
    {.text = "g (float[2,1] x) => (int32[2,1] y) { y = stepc.TreeLeaves <features = [0], leaves = 2, "
             "next = [-1], roots = [0], splits = float[1] {0.0}> (x) }",
     .error = "do not fit 1 nodes"},
    {.text = "g (double[2,1] x) => (int32[2,1] y) { y = stepc.TreeLeaves <features = [0], leaves = 2, "
             "next = [-1, -2], roots = [0], splits = float[1] {0.0}> (x) }",
     .error = "'splits' is not of input 0's type"},
    {.text = "g (float[2] x) => (int32[2,1] y) { y = stepc.TreeLeaves <features = [0], leaves = 2, "
             "next = [-1, -2], roots = [0], splits = float[1] {0.0}> (x) }",
     .error = "has rank 1, expected 2"},
    {0}};

const struct op_def op_defs_tree_leaves[] = {{.domain = DOMAIN_STEPC,
                                              .name = "TreeLeaves",
                                              .versions = versions,
                                              .inputs = inputs,
                                              .outputs = outputs,
                                              .attrs = attrs,
                                              .infer = tree_infer,
                                              .plain = tree_plain,
                                              .grad = grad_none,
                                              .eval = tree_eval,
                                              .lower = tree_lower,
                                              .samples = samples},
                                             {0}};
