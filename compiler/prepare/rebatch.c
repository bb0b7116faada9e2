/* How a batch is found. The model is walked node by node in two sizes at once: `old`, as it was exported, and `next`,
 * whose inputs have N in the place of the example's batch. Inference gives both shapes of every value; where they
 * differ, the batch flows. A node that reads a shape as a constant (Reshape, Expand...) would stop it: the constant is
 * written anew, for this node, as the layout says:
 *
 *   old [8 (batch), 6, 32] -> Reshape to [48, 32]        the batch is the outer factor of element numbers: it moves in
 *                                                        strides of 6 * 32. In [48, 32] that stride falls into
 * dimension 0 new [N, 6, 32] -> Reshape to [N * 6, 32]
 *
 * A batch of 1 could stand in front of any dimension; an own dimension of size 1 at the right stride is preferred, then
 * the outermost. What does not fit afterwards (a folded constant of the example's batch, a Slice of it) is an error of
 * the node. */
#include "prepare/rebatch_internal.h"

#include "graph/build.h"
#include "graph/dim_expression.h"
#include "prepare/open_sizes.h"
#include "prepare/squeezes.h"
#include "rewrite/pass.h"
#include <string.h>

enum {
    OTHER_SIZES = 8, /* of symbolic dimensions */
    PROBE = 13       /* the doctor tries this many times the example's batch */
};

/* ---- both sizes -------------------------------------------------------------------------------------------------- */

static void begin_side(struct rebatch *r, struct side *s)
{
    const struct edit *const e = r->edit;
    s->diag.arena = r->arena;
    s->program =
        (struct program){.name = "rebatch", .arena = r->arena, .diag = &s->diag, .model = e->model, .fold = fold_value};
    s->graph = graph_new(&s->program, "rebatch");
    s->scope.arena = r->arena;
}

/* Where the input has the batch, if it has size elements there, or leaves them open; -1: nowhere. */
static int batch_dim(const struct rebatch *r, const struct model_value_info *vi, int64_t size)
{
    const int axis = batch_axis_of(&r->axes, vi->name);
    if (vi->type.kind != TYPE_TENSOR || axis < 0 || vi->type.dims.count <= (size_t)axis ||
        model_find_initializer(r->edit->model->graph, vi->name))
        return -1;
    const struct model_dim *const dim = &vi->type.dims.data[axis];
    return dim->value == size || (dim->value < 0 && str_equal(dim->param, OPEN_BATCH)) ? axis : -1;
}

static const struct model_value_info *with_batch(struct rebatch *r, const struct model_value_info *vi, int axis,
                                                 int64_t size)
{
    struct model_value_info *const own = arena_new(r->arena, struct model_value_info);
    *own = *vi;
    memset(&own->type.dims, 0, sizeof own->type.dims);
    for (size_t d = 0; d < vi->type.dims.count; d++)
        vec_push(r->arena, &own->type.dims, vi->type.dims.data[d]);
    own->type.dims.data[axis].value = size;
    return own;
}

/* Inputs and initializers. */
static bool add_sources(struct rebatch *r, struct side *s)
{
    const struct model_graph *const g = r->edit->model->graph;
    struct model_graph bare = *g;
    memset(&bare.nodes, 0, sizeof bare.nodes);
    memset(&bare.inputs, 0, sizeof bare.inputs);
    bare.value_infos.count = 0;
    for (size_t i = 0; i < g->inputs.count; i++) {
        const struct model_value_info *vi = g->inputs.data[i];
        const int axis = batch_dim(r, vi, r->from);
        if (axis >= 0)
            vi = with_batch(r, vi, axis, s == &r->next ? r->to : r->from);
        vec_push(r->arena, &bare.inputs, (struct model_value_info *)(uintptr_t)vi);
    }
    return import_nodes(s->graph, &bare, &s->scope, &r->import, "infer");
}

bool rebatch_add_node_to(struct rebatch *r, struct side *s, struct model_node *n)
{
    struct model_graph one = {.name = r->edit->model->graph->name, .doc = "", .loc = r->edit->model->graph->loc};
    vec_push(r->arena, &one.nodes, n);
    return import_nodes(s->graph, &one, &s->scope, &r->import, "infer");
}

static const struct value *value_of(const struct side *s, const char *name)
{
    return name[0] != '\0' ? map_get(&s->scope, name) : NULL;
}

static const char *first_message(const struct diag *d)
{
    const char *const text = diag_first_error(d);
    return text ? text : "it does not fit";
}

static bool fail_at(struct rebatch *r, const struct model_node *n, const char *why)
{
    return !r->quiet && diag_error(r->edit->diag, &n->loc, "%s: %s%s", r->option, why,
                                   r->opens ? "; export the network with an open batch (PyTorch: dynamic_axes)" : "");
}

/* ---- where the batch is ------------------------------------------------------------------------------------------ */

static const struct batch_place *place_of(const struct rebatch *r, const char *name)
{
    return map_get(&r->places, name);
}

void rebatch_set_place(struct rebatch *r, const char *name, int dim, int64_t inner)
{
    struct batch_place *const p = arena_new(r->arena, struct batch_place);
    *p = (struct batch_place){dim, inner};
    map_set(&r->places, name, p);
}

/* The elements behind one step of the batch, in the value's row-major order. */
static int64_t stride_of(const struct batch_place *p, const struct shape *s)
{
    return shape_count_range(s, p->dim + 1, s->rank) * p->inner;
}

/* The dimension of the value (of shape s in the example) into which a batch of that stride falls, or -1. */
static int fitting_dim(const struct rebatch *r, const char *name, const struct shape *s, int64_t stride)
{
    int64_t behind = 1;
    int best = -1;
    bool exact = false, told = false;
    for (int d = s->rank - 1; d >= 0; behind *= s->dim[d--]) {
        const bool own = s->dim[d] == r->from && behind == stride;
        if (behind == 0 || s->dim[d] == 0 || stride % behind != 0 || (behind * s->dim[d]) % (stride * r->from) != 0)
            continue;
        if (is_batch_dim(&r->axes, name, d))
            best = d;
        else if ((own || !exact) && !told)
            best = d;
        told = told || is_batch_dim(&r->axes, name, d);
        exact = exact || own;
    }
    return best;
}

static bool keeps_layout(const struct model_node *n)
{
    return is_op(n, "Reshape") || is_op(n, "Flatten") || is_op(n, "Squeeze") || is_op(n, "Unsqueeze");
}

/* Outside of reshapes a dimension that is a product keeps its factors: an input has the same. */
static int64_t inherited_inner(const struct rebatch *r, const struct model_node *n, int64_t size)
{
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct batch_place *const p = place_of(r, n->inputs.data[i]);
        const struct value *const v = value_of(&r->old, n->inputs.data[i]);
        if (p && v && v->shape.dim[p->dim] == size)
            return p->inner;
    }
    return 1;
}

static void find_place(struct rebatch *r, const struct model_node *n, const char *name)
{
    const struct value *const a = value_of(&r->old, name), *const b = value_of(&r->next, name);
    if (!a || !b || a->shape.rank != b->shape.rank)
        return;
    int dim = -1;
    for (int d = a->shape.rank - 1; d >= 0; d--)
        if (a->shape.dim[d] != b->shape.dim[d])
            dim = d;
    if (dim < 0)
        return;
    int64_t inner = inherited_inner(r, n, a->shape.dim[dim]);
    const struct batch_place *const from = keeps_layout(n) ? place_of(r, n->inputs.data[0]) : NULL;
    if (from) {
        const int64_t stride = stride_of(from, &value_of(&r->old, n->inputs.data[0])->shape);
        const int64_t behind = shape_count_range(&a->shape, dim + 1, a->shape.rank);
        inner = behind > 0 && stride % behind == 0 ? stride / behind : 1;
    }
    rebatch_set_place(r, name, dim, inner);
}

/* ---- constants --------------------------------------------------------------------------------------------------- */

static const struct tensor *known_input(const struct side *s, const struct model_node *n, size_t input)
{
    if (n->inputs.count <= input || n->inputs.data[input][0] == '\0')
        return NULL;
    struct value *const v = map_get(&s->scope, n->inputs.data[input]);
    const struct tensor *const t = v ? value_known(v) : NULL;
    return t && t->shape.rank == 1 && dtype_is_int(t->dtype) && t->count <= SHAPE_MAX_RANK ? t : NULL;
}

/* The target in the file: -1 and 0 may already say the right thing. `resolved`: the example's output. */
static bool fix_reshape(struct rebatch *r, struct model_node *n)
{
    const struct batch_place *const p = place_of(r, n->inputs.data[0]);
    const struct value *const x = value_of(&r->old, n->inputs.data[0]);
    const struct value *const resolved = value_of(&r->old, n->outputs.data[0]);
    const struct tensor *const target = known_input(&r->next, n, 1), *const before = known_input(&r->old, n, 1);
    if (!p || !x || !resolved || !target || !before || before->count != resolved->shape.rank)
        return true;
    const int dim = fitting_dim(r, n->outputs.data[0], &resolved->shape, stride_of(p, &x->shape));
    if (dim < 0)
        return fail_at(r, n,
                       arena_printf(r->arena,
                                    "the target %s cannot be read with a batch: the batch is dimension %d of '%s' %s",
                                    shape_text(r->arena, &resolved->shape), p->dim, n->inputs.data[0],
                                    shape_text(r->arena, &x->shape)));
    int64_t wanted[SHAPE_MAX_RANK];
    const struct value *const now = value_of(&r->next, n->inputs.data[0]);
    for (int d = 0; d < resolved->shape.rank; d++) {
        const int64_t size = d == dim ? resolved->shape.dim[d] / r->from * r->to : resolved->shape.dim[d];
        const int64_t said = tensor_get_int(target, d);
        const bool copies = said == 0 && d < now->shape.rank && now->shape.dim[d] == size;
        wanted[d] = said == -1 || copies ? said : size;
    }
    if (r->opens)
        rebatch_open_target(r, n, target, &now->shape, dim, wanted);
    else
        rebatch_change_input(r, n, 1, target, wanted, resolved->shape.rank);
    return true;
}

/* Does the value have a dimension of which it is known that it is the batch? */
static bool has_batch_dim(const struct rebatch *r, const char *name, int rank)
{
    for (int d = 0; d < rank; d++)
        if (is_batch_dim(&r->axes, name, d))
            return true;
    return false;
}

/* Expand, Tile, and Resize by sizes: where the operand has the batch, so has the target; where the operand is stretched
 * from 1 to the example's batch, in the first dimension or in one that is known to be the batch, that is the batch too.
 */
static void fix_target(struct rebatch *r, struct model_node *n, size_t input)
{
    const struct value *const x = value_of(&r->old, n->inputs.data[0]);
    const struct value *const now = value_of(&r->next, n->inputs.data[0]);
    const struct tensor *const target = known_input(&r->next, n, input), *const before = known_input(&r->old, n, input);
    const bool repeats = is_op(n, "Tile");
    const char *const out = n->outputs.data[0];
    int64_t wanted[SHAPE_MAX_RANK];
    if (!x || !now || !target || !before || before->count != target->count)
        return;
    const bool told = has_batch_dim(r, out, (int)target->count);
    for (int64_t d = 0; d < target->count; d++) {
        const int64_t own = d - (target->count - x->shape.rank);
        wanted[d] = tensor_get_int(target, d);
        const bool fixed = tensor_get_int(before, d) == wanted[d];
        if (own >= 0 && x->shape.dim[own] != now->shape.dim[own]) {
            if (!repeats && fixed && wanted[d] == x->shape.dim[own])
                wanted[d] = now->shape.dim[own];
        } else if ((told ? is_batch_dim(&r->axes, out, (int)d) : d == 0) && fixed && wanted[d] == r->from &&
                   !place_of(r, n->inputs.data[0]) && (own < 0 || x->shape.dim[own] == 1)) {
            wanted[d] = r->to;
        }
    }
    rebatch_change_input(r, n, input, target, wanted, target->count);
}

/* The size of AffineGrid's images begins with their number. */
static void fix_size(struct rebatch *r, struct model_node *n)
{
    const struct value *const theta = value_of(&r->next, n->inputs.data[0]);
    const struct tensor *const size = known_input(&r->next, n, 1);
    int64_t wanted[SHAPE_MAX_RANK];
    if (!theta || !size || theta->shape.rank == 0 || size->count < 1 || size->count > SHAPE_MAX_RANK)
        return;
    for (int64_t d = 0; d < size->count; d++)
        wanted[d] = tensor_get_int(size, d);
    if (wanted[0] == r->from)
        wanted[0] = theta->shape.dim[0];
    rebatch_change_input(r, n, 1, size, wanted, size->count);
}

/* An initial state or a part of a Concat for one example is the same for all of them: it is expanded. */
static void widen(struct rebatch *r, struct model_node *n, size_t input, int axis)
{
    if (r->from != 1 || n->inputs.count <= input || n->inputs.data[input][0] == '\0' ||
        place_of(r, n->inputs.data[input]))
        return;
    const char *const name = n->inputs.data[input];
    const struct value *const x = value_of(&r->old, name);
    if (!x || x->shape.rank <= axis || x->shape.dim[axis] != 1)
        return;
    struct shape wide = x->shape;
    wide.dim[axis] = r->to;
    rebatch_expand_to(r, n, input, name, &wide, axis);
}

/* What updates are put into may be a constant, zeros mostly, with a part for each sample of the example. */
static bool fix_scatter(struct rebatch *r, struct model_node *n)
{
    const struct batch_place *const p = place_of(r, n->inputs.data[1]);
    struct value *const x = map_get(&r->old.scope, n->inputs.data[0]);
    int axis;
    if (!p || !x || place_of(r, n->inputs.data[0]) || p->dim >= x->shape.rank || x->shape.dim[p->dim] != r->from ||
        !shape_axis(x->shape.rank, attribute_int(n, "axis", 0), &axis) || axis == p->dim)
        return true;
    struct shape shape = x->shape;
    int64_t count;
    shape.dim[p->dim] = r->to;
    if (rebatch_give_parts(r, n, 0, x, p->dim))
        return true;
    if (!shape_count_checked(&shape, &count) || count > MOST_WIDENED)
        return fail_at(
            r, n,
            arena_printf(r->arena, "'%s' would have the shape %s", n->inputs.data[0], shape_text(r->arena, &shape)));
    return fail_at(r, n,
                   arena_printf(r->arena, "'%s' has a part of its own for each sample of the example",
                                n->inputs.data[0]));
}

/* Constants that the exporter made, with equal parts for the samples of the example: initial states, mostly. */
static void widen_constants(struct rebatch *r, struct model_node *n)
{
    for (size_t i = 0; i < n->inputs.count && r->from > 1; i++) {
        const char *const name = n->inputs.data[i];
        struct value *const x = name[0] != '\0' ? map_get(&r->old.scope, name) : NULL;
        const bool made = x && !place_of(r, name) && value_known(x) &&
                          (is_anonymous(name) || !model_find_initializer(r->edit->model->graph, name));
        for (int d = 0; made && d < x->shape.rank; d++) {
            if (x->shape.dim[d] == r->from && is_batch_dim(&r->axes, name, d) && rebatch_give_parts(r, n, i, x, d)) {
                rebatch_set_place(r, n->inputs.data[i], d, 1);
                break;
            }
        }
    }
}

static void widen_operands(struct rebatch *r, struct model_node *n)
{
    const bool recurrent = is_op(n, "RNN") || is_op(n, "GRU") || is_op(n, "LSTM");
    const int states = attribute_int(n, "layout", 0) == 0 ? 1 : 0;
    for (size_t i = 5; recurrent && n->inputs.count > 0 && place_of(r, n->inputs.data[0]) && i < 7; i++)
        widen(r, n, i, states);
    if (!is_op(n, "Concat"))
        return;
    const struct batch_place *batch = NULL;
    for (size_t i = 0; i < n->inputs.count && !batch; i++)
        batch = place_of(r, n->inputs.data[i]);
    for (size_t i = 0; batch && attribute_int(n, "axis", 0) != batch->dim && i < n->inputs.count; i++)
        widen(r, n, i, batch->dim);
}

/* x[0:8], x[0]: after a new size this would be a part of the batch. */
static bool check_batch_is_kept(struct rebatch *r, const struct model_node *n)
{
    static const char *const ops[] = {"Slice", "Gather", "Split", "GatherElements", "GatherND"};
    const struct batch_place *const p = n->inputs.count > 0 ? place_of(r, n->inputs.data[0]) : NULL;
    bool concerned = false, kept = false;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        concerned = concerned || is_op(n, ops[i]);
    for (size_t i = 0; i < n->outputs.count; i++)
        kept = kept || place_of(r, n->outputs.data[i]);
    if (!p || !concerned || kept)
        return true;
    return fail_at(r, n,
                   arena_printf(r->arena, "it takes a part of dimension %d of '%s', which is the batch", p->dim,
                                n->inputs.data[0]));
}

/* Does a layer take the dimension for its features? Then it is no batch. */
static bool sums_over_batch(const struct rebatch *r, const struct model_node *n)
{
    for (size_t i = 0; i < n->inputs.count && i < 2; i++) {
        const struct batch_place *const p = place_of(r, n->inputs.data[i]);
        const struct value *const x = value_of(&r->old, n->inputs.data[i]);
        if (!p || !x)
            continue;
        const int last = x->shape.rank - 1, columns = attribute_int(n, i == 0 ? "transA" : "transB", 0) != 0;
        if (is_op(n, "MatMul") && p->dim == (i == 0 ? last : last > 0 ? last - 1 : 0))
            return true;
        if (is_op(n, "Gemm") && p->dim == (i == 0 ? !columns : columns))
            return true;
        if (i == 0 && p->dim == 1 && (is_op(n, "Conv") || is_op(n, "ConvTranspose") || is_op(n, "BatchNormalization")))
            return true;
    }
    return r->example->type.dims.count == 1;
}

static bool fail_without_batch(struct rebatch *r, const struct model_node *n)
{
    const struct model_type *const t = &r->example->type;
    return fail_at(r, n,
                   arena_printf(r->arena,
                                "input '%s' %s seems to have no batch axis: here its %s dimension is one of features; "
                                "export the network with a batch, [N,%s",
                                r->example->name, model_dims_text(r->arena, t->dims.data, t->dims.count),
                                r->axis == 0 ? "first" : "second",
                                model_dims_text(r->arena, t->dims.data, t->dims.count) + 1));
}

/* What does not broadcast with a batch of another size has as many parts as the export had samples: of sizes that only
 * stand for others nothing is said. */
static const char *why_it_does_not_fit(const struct rebatch *r, const struct model_node *n)
{
    const struct op_def *const def = op_find(n->domain, n->op_type);
    for (size_t i = 0; r->from > 1 && def && def->is_elementwise && i < n->inputs.count; i++) {
        const struct batch_place *const p = place_of(r, n->inputs.data[i]);
        const struct value *const batch = value_of(&r->old, n->inputs.data[i]);
        for (size_t k = 0; p && batch && k < n->inputs.count; k++) {
            const struct value *const x = value_of(&r->old, n->inputs.data[k]);
            const int d = x ? p->dim + x->shape.rank - batch->shape.rank : -1;
            if (d >= 0 && d < x->shape.rank && !place_of(r, n->inputs.data[k]) && x->shape.dim[d] != 1)
                return arena_printf(r->arena, "'%s' %s has a part for each of the %lld samples of the export",
                                    n->inputs.data[k], shape_text(r->arena, &x->shape), (long long)r->from);
        }
    }
    return first_message(&r->next.diag);
}

/* ---- the walk ---------------------------------------------------------------------------------------------------- */

static bool step(struct rebatch *r, struct model_node *n)
{
    if (!rebatch_add_node_to(r, &r->old, n))
        return fail_at(r, n, arena_printf(r->arena, "the model is wrong as it is: %s", first_message(&r->old.diag)));
    widen_operands(r, n);
    widen_constants(r, n);
    if (n->outputs.count > 0 && n->inputs.count > 1) {
        if (is_op(n, "Reshape") && !fix_reshape(r, n))
            return false;
        if ((is_op(n, "ScatterElements") || is_op(n, "Scatter")) && !fix_scatter(r, n))
            return false;
        if (is_op(n, "Expand") || is_op(n, "Tile"))
            fix_target(r, n, 1);
        if (is_op(n, "Resize"))
            fix_target(r, n, 3);
        if (is_op(n, "AffineGrid"))
            fix_size(r, n);
    }
    if (!rebatch_add_node_to(r, &r->next, n))
        return sums_over_batch(r, n)
                   ? fail_without_batch(r, n)
                   : fail_at(r, n,
                             arena_printf(r->arena, "a constant that it reads cannot be read as a batch: %s",
                                          why_it_does_not_fit(r, n)));
    vec_each(const char *, name, &n->outputs)
        if (name[0] != '\0')
            find_place(r, n, name);
    return check_batch_is_kept(r, n);
}

/* The first input that is fed and has a batch; NULL: there is none. */
static const struct model_value_info *example_input(const struct model *m, const struct batch_axes *axes, int *axis)
{
    const struct model_graph *const g = m->graph;
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        *axis = batch_axis_of(axes, vi->name);
        if (!model_find_initializer(g, vi->name) && vi->type.kind == TYPE_TENSOR && *axis >= 0 &&
            vi->type.dims.count > (size_t)*axis)
            return vi;
    }
    return NULL;
}

static void find_input_places(struct rebatch *r)
{
    const struct model_graph *const g = r->edit->model->graph;
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        const int axis = batch_dim(r, vi, r->from);
        if (axis >= 0)
            rebatch_set_place(r, vi->name, axis, 1);
    }
}

/* What the model declares of a value that has a new shape. */
static void declare_anew(const struct rebatch *r, struct model_value_info *vi)
{
    const struct value *const v = value_of(&r->next, vi->name), *const old = value_of(&r->old, vi->name);
    for (size_t d = 0; v && d < vi->type.dims.count && (int)d < v->shape.rank; d++) {
        struct model_dim *const dim = &vi->type.dims.data[d];
        const bool is_batch = old && (int)d < old->shape.rank && old->shape.dim[d] != v->shape.dim[d];
        if (r->opens && is_batch)
            *dim = (struct model_dim){-1, v->shape.dim[d] == r->to ? OPEN_BATCH : "", dim->denotation};
        else if (!r->opens && (dim->value >= 0 || str_equal(dim->param, OPEN_BATCH)))
            *dim = (struct model_dim){v->shape.dim[d], "", dim->denotation};
    }
}

static void declare_all_anew(const struct rebatch *r)
{
    struct model_graph *const g = r->edit->model->graph;
    const model_values *const lists[] = {&g->inputs, &g->outputs, &g->value_infos};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        vec_each(struct model_value_info *, vi, lists[i])
            declare_anew(r, vi);
}

/* Declared by the name of the batch, but of another size: an export with one name for two. */
static bool is_mislabelled(const struct rebatch *r, const struct model_value_info *vi, size_t dim)
{
    const struct shape *const s = size_of_value(&r->axes, vi->name);
    const struct shape *const example = size_of_value(&r->axes, r->example->name);
    return s && example && (size_t)s->rank == vi->type.dims.count && s->dim[dim] != example->dim[r->axis];
}

/* A batch that has a name gets its size. */
static void bind_in(const struct rebatch *r, const model_values *list, const char *symbol, int64_t size)
{
    vec_each(struct model_value_info *, vi, list)
        for (size_t k = 0; k < vi->type.dims.count; k++) {
            struct model_dim *const dim = &vi->type.dims.data[k];
            if (dim->value < 0 && str_equal(dim->param, symbol))
                *dim = (struct model_dim){is_mislabelled(r, vi, k) ? -1 : size, "", dim->denotation};
            else if (dim->value < 0 && dim_is_expression(dim->param))
                dim->param = dim_expression_bind(r->arena, dim->param, symbol, size);
        }
}

static void bind_symbol(struct rebatch *r, const char *symbol, int64_t size)
{
    const struct model_graph *const g = r->edit->model->graph;
    bind_in(r, &g->inputs, symbol, size);
    bind_in(r, &g->outputs, symbol, size);
    bind_in(r, &g->value_infos, symbol, size);
    edit_changed(r->edit, "the batch size");
    edit_say(r->edit, "batch: %lld, in the place of '%s'", (long long)size, symbol);
}

static bool walk_sources(struct rebatch *r, struct side *s)
{
    begin_side(r, s);
    return add_sources(r, s) || (!r->quiet && diag_error(r->edit->diag, &r->edit->loc, "%s: %s", r->option,
                                                         first_message(&s->diag)));
}

static bool walk(struct rebatch *r)
{
    struct model_graph *const g = r->edit->model->graph;
    if (!walk_sources(r, &r->old) || !walk_sources(r, &r->next))
        return false;
    find_input_places(r);
    for (size_t i = 0; i < g->nodes.count; i++) {
        struct model_node *const n = g->nodes.data[i];
        if (!step(r, n))
            return false;
        while (g->nodes.data[i] != n) /* nodes were put in front of it */
            i++;
    }
    return true;
}

static struct rebatch begin(struct edit *e, const struct import_options *o)
{
    struct rebatch r = {.edit = e, .arena = e->arena, .places.arena = e->arena};
    if (o)
        r.import = *o;
    r.import.provisional_dim = OTHER_SIZES;
    find_batch_axes(e->arena, e->model, o, &r.axes);
    r.example = example_input(e->model, &r.axes, &r.axis);
    return r;
}

/* What the model is when no input has a batch. */
static bool fail_without_example(const struct rebatch *r, int64_t batch)
{
    const struct edit *const e = r->edit;
    vec_each(const struct model_value_info *, vi, &e->model->graph->inputs)
        if (batch_axis_of(&r->axes, vi->name) == NO_BATCH_AXIS)
            return diag_error(e->diag, &vi->loc,
                              "--batch %lld: input '%s' seems to have no batch axis: its first dimension is the time "
                              "of a recurrent layer; export the network with a batch",
                              (long long)batch, vi->name);
    return diag_error(e->diag, &e->loc, "--batch %lld: no input has a dimension that could be the batch",
                      (long long)batch);
}

/* MXNet's exporter writes 0 for the size of an open batch. */
static void open_zeros(struct rebatch *r)
{
    const struct model_graph *const g = r->edit->model->graph;
    const model_values *const lists[] = {&g->outputs, &g->value_infos};
    vec_each(struct model_value_info *, vi, &g->inputs) {
        const int axis = batch_dim(r, vi, 0);
        if (axis >= 0)
            vi->type.dims.data[axis] = (struct model_dim){-1, OPEN_BATCH, vi->type.dims.data[axis].denotation};
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        vec_each(struct model_value_info *, vi, lists[i])
            vec_each_ptr(struct model_dim, dim, &vi->type.dims)
                if (dim->value == 0)
                    *dim = (struct model_dim){-1, "", dim->denotation};
}

static void finish(const struct rebatch *r, const char *batch)
{
    edit_changed(r->edit, "the batch size");
    edit_say(r->edit, "batch: %s, in the model's example it was %lld", batch, (long long)r->from);
    vec_each(const struct model_node *, n, &r->changed)
        edit_say(r->edit, "  '%s' (%s) held it as a constant", node_title(n), n->op_type);
    declare_all_anew(r);
}

bool rebatch_model(struct edit *e, int64_t batch, const struct import_options *o)
{
    keep_batch_of_squeezes(e->diag, e->arena, e->model, o);
    struct rebatch r = begin(e, o);
    if (!r.example)
        return fail_without_example(&r, batch);
    const struct model_dim *const dim = &r.example->type.dims.data[r.axis];
    if (dim->value == 0)
        open_zeros(&r);
    if (dim->value < 0 && dim->param[0] == '\0')
        return diag_error(e->diag, &r.example->loc,
                          "--batch %lld: dimension %d of input '%s' has neither size nor name; give --shape %s=...",
                          (long long)batch, r.axis, r.example->name, r.example->name);
    if (dim->value < 0) {
        bind_symbol(&r, dim->param, batch);
        return true;
    }
    r.from = dim->value;
    r.to = batch;
    r.option = arena_printf(r.arena, "--batch %lld", (long long)batch);
    if (r.from == batch)
        return true;
    if (!walk(&r))
        return false;
    finish(&r, arena_printf(r.arena, "%lld", (long long)batch));
    return true;
}

bool open_batch(struct edit *e, const struct import_options *o, const char *option)
{
    keep_batch_of_squeezes(e->diag, e->arena, e->model, o);
    struct rebatch r = begin(e, o);
    const int64_t size = r.example ? r.example->type.dims.data[r.axis].value : -1;
    if (size == 0)
        open_zeros(&r);
    if (size <= 0)
        return true;
    r.from = size;
    r.to = size * PROBE;
    r.opens = true;
    r.option = option;
    if (!walk(&r))
        return false;
    finish(&r, "open");
    return true;
}

void find_frozen_batch(struct edit *e, const struct import_options *o, int64_t *size, node_list *out)
{
    struct rebatch r = begin(e, o);
    const int64_t value = r.example ? r.example->type.dims.data[r.axis].value : 0;
    *size = value > 0 ? value : 0;
    *out = (node_list){0};
    if (*size == 0)
        return;
    r.from = *size;
    r.to = *size * PROBE;
    r.quiet = true;
    (void)!walk(&r);
    *out = r.changed;
}
