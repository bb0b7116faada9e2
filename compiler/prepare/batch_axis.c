/* Layers tell their batch by its place: recurrent ones have an axis for it, products of two computed operands one in
 * front. From there it is followed up to the inputs, through what moves elements. Where steps of time are unrolled, an
 * input is read at x[0], x[1]...: its first axis is the time. */
#include "prepare/batch_axis.h"

#include "graph/dim_expression.h"
#include "prepare/prepare_internal.h"
#include "rewrite/pass.h"
#include <string.h>

enum {
    FIRST_SIZE = 4001, /* made-up sizes are all different: sizes that real dimensions seldom have */
    OTHER_SIZE = 8,
    FEWEST_STEPS = 2 /* x[0] and x[1]: one alone may be anything */
};

struct spot {
    const char *name;
    int dim;
};

struct tracer {
    struct batch_axes *axes;
    VEC(struct spot) pending;
    struct map *seen;  /* "dimension name" */
    struct map *found; /* input -> const int * */
};

/* ---- sizes ------------------------------------------------------------------------------------------------------- */

static void number_names(struct arena *a, const struct model_graph *g, const struct map *given, struct map *dims)
{
    int64_t next = FIRST_SIZE;
    for (size_t i = 0; given && i < given->count; i++)
        map_set(dims, given->entries[i].key, given->entries[i].value);
    vec_each(const struct model_value_info *, vi, &g->inputs)
        vec_each_ptr(const struct model_dim, dim, &vi->type.dims) {
            str_list names = {0};
            if (dim->value >= 0 || dim->param[0] == '\0')
                continue;
            dim_expression_symbols(a, dim->param, &names);
            vec_each(const char *, name, &names)
                if (!map_has(dims, name)) {
                    map_set(dims, name, arena_copy(a, &next, sizeof next, alignof(int64_t)));
                    next += 2;
                }
        }
}

const struct graph *graph_with_sizes(struct arena *a, const struct model *m, const struct import_options *o)
{
    struct diag *const silent = arena_new(a, struct diag);
    struct program *const p = arena_new(a, struct program);
    struct map dims = {.arena = a}, scope = {.arena = a};
    struct import_options options = o ? *o : (struct import_options){0};
    silent->arena = a;
    *p = (struct program){.name = "sizes", .arena = a, .diag = silent, .model = m, .fold = fold_value};
    struct graph *const g = graph_new(p, "sizes");
    number_names(a, m->graph, options.dims, &dims);
    options.dims = &dims;
    options.provisional_dim = OTHER_SIZE;
    (void)!import_nodes(g, m->graph, &scope, &options, "infer");
    return g;
}

static struct value *value_of(const struct batch_axes *b, const char *name)
{
    return b->sizes && name[0] != '\0' ? graph_find(b->sizes, name) : NULL;
}

static const struct shape *shape_of(const struct batch_axes *b, const char *name)
{
    const struct value *const v = value_of(b, name);
    return v ? &v->shape : NULL;
}

/* ---- up to the inputs -------------------------------------------------------------------------------------------- */

static const char *spot_key(const struct batch_axes *b, const char *name, int dim)
{
    return arena_printf(b->arena, "%d %s", dim, name);
}

static void add_spot(struct tracer *t, const char *name, int dim)
{
    const struct shape *const s = shape_of(t->axes, name);
    if (!s || dim < 0 || dim >= s->rank)
        return;
    const char *const key = spot_key(t->axes, name, dim);
    if (map_has(t->seen, key))
        return;
    map_set(t->seen, key, NULL);
    vec_push(t->axes->arena, &t->pending, ((struct spot){name, dim}));
}

static void add_input(struct tracer *t, const struct model_node *n, size_t input, int dim)
{
    if (input < n->inputs.count)
        add_spot(t, n->inputs.data[input], dim);
}

/* Of two layouts of the same elements: the dimension that begins where `dim` does, of its size if there is one. */
static int aligned_dim(const struct shape *from, const struct shape *to, int dim)
{
    const int64_t behind = shape_count_range(from, dim, from->rank), size = from->dim[dim];
    int best = -1;
    for (int d = 0; d < to->rank && behind > 0; d++) {
        const bool fits = to->dim[d] > 0 && (size % to->dim[d] == 0 || to->dim[d] % size == 0) &&
                          (size > 1 || to->dim[d] == 1);
        if (shape_count_range(to, d, to->rank) != behind || !fits)
            continue;
        if (to->dim[d] == size)
            return d;
        best = best < 0 ? d : best;
    }
    return best;
}

/* Axes that are put in or taken out, of a shape of that rank; false: not known. */
static bool read_axes(const struct tracer *t, const struct model_node *n, int rank, bool axes[SHAPE_MAX_RANK])
{
    const struct model_attr *const own = model_find_attr(&n->attrs, "axes");
    struct value *const input = n->inputs.count > 1 ? value_of(t->axes, n->inputs.data[1]) : NULL;
    const struct tensor *const known = input ? fold_value(input) : NULL;
    const size_t count = own ? own->ints.count : known ? (size_t)known->count : 0;
    memset(axes, 0, SHAPE_MAX_RANK * sizeof *axes);
    for (size_t i = 0; i < count; i++) {
        int axis;
        if (!shape_axis(rank, own ? own->ints.data[i] : tensor_get_int(known, (int64_t)i), &axis))
            return false;
        axes[axis] = true;
    }
    return count > 0;
}

/* Squeeze and Unsqueeze: the dimension with as many others in front of it. */
static int squeezed_dim(const struct tracer *t, const struct model_node *n, const struct shape *y,
                        const struct shape *x, int dim)
{
    const bool puts_in = is_op(n, "Unsqueeze");
    const int rank = puts_in ? y->rank : x->rank;
    bool axes[SHAPE_MAX_RANK];
    if (!read_axes(t, n, rank, axes))
        return aligned_dim(y, x, dim);
    int kept = 0;
    for (int d = 0; d < rank; d++) {
        if (puts_in && d == dim)
            return axes[d] ? -1 : kept;
        if (!puts_in && !axes[d] && kept == dim)
            return d;
        kept += !axes[d];
    }
    return -1;
}

static int transposed_dim(const struct model_node *n, int rank, int dim)
{
    const struct model_attr *const perm = model_find_attr(&n->attrs, "perm");
    if (!perm || perm->ints.count != (size_t)rank)
        return rank - 1 - dim;
    return (int)perm->ints.data[dim];
}

static void trace_gather(struct tracer *t, const struct model_node *n, int dim)
{
    const struct shape *const x = shape_of(t->axes, n->inputs.data[0]), *const i = shape_of(t->axes, n->inputs.data[1]);
    int axis;
    if (!x || !i || !shape_axis(x->rank, attribute_int(n, "axis", 0), &axis))
        return;
    if (dim < axis)
        add_input(t, n, 0, dim);
    else if (dim < axis + i->rank)
        add_input(t, n, 1, dim - axis);
    else
        add_input(t, n, 0, dim - i->rank + 1);
}

/* y has the axes in front of both matrices, then rows of the first and columns of the second: those that are vectors
 * have none. */
static void trace_product(struct tracer *t, const struct model_node *n, const struct shape *y, int dim)
{
    const struct shape *x[2] = {0};
    for (size_t i = 0; i < 2 && i < n->inputs.count; i++)
        x[i] = shape_of(t->axes, n->inputs.data[i]);
    if (!x[0] || !x[1])
        return;
    const bool has_rows = x[0]->rank > 1, has_columns = x[1]->rank > 1;
    const int front = y->rank - has_rows - has_columns;
    for (size_t i = 0; i < 2 && dim < front; i++)
        add_input(t, n, i, dim - front + x[i]->rank - 2);
    if (dim == front && has_rows)
        add_input(t, n, 0, x[0]->rank - 2);
    else if (dim >= front)
        add_input(t, n, 1, x[1]->rank - 1);
}

static bool is_recurrent(const struct model_node *n)
{
    return is_op(n, "RNN") || is_op(n, "GRU") || is_op(n, "LSTM");
}

/* Y is [time, direction, batch, features], what follows it [direction, batch, features]; layout 1 has the batch first.
 */
static void trace_recurrent(struct tracer *t, const struct model_node *n, const char *output, int dim)
{
    const bool batch_first = attribute_int(n, "layout", 0) != 0, sequence = str_equal(output, n->outputs.data[0]);
    const int batch = batch_first ? 0 : sequence ? 2 : 1, time = batch_first ? 1 : 0;
    if (dim == batch)
        add_input(t, n, 0, batch_first ? 0 : 1);
    else if (sequence && dim == time)
        add_input(t, n, 0, time);
}

/* Anything else keeps the places of its dimensions, counted from the last one, where sizes are the same. */
static void trace_others(struct tracer *t, const struct model_node *n, const struct shape *y, int dim)
{
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct shape *const x = shape_of(t->axes, n->inputs.data[i]);
        const int own = x ? dim - (y->rank - x->rank) : -1;
        if (own >= 0 && x->dim[own] == y->dim[dim] && (x->rank == y->rank || x->dim[own] > 1))
            add_input(t, n, i, own);
    }
}

static void trace_node(struct tracer *t, const struct model_node *n, const char *output, int dim)
{
    const struct shape *const y = shape_of(t->axes, output);
    const struct shape *const x = n->inputs.count > 0 ? shape_of(t->axes, n->inputs.data[0]) : NULL;
    if (!x)
        return;
    if (is_op(n, "Transpose"))
        add_input(t, n, 0, transposed_dim(n, x->rank, dim));
    else if (is_op(n, "Squeeze") || is_op(n, "Unsqueeze"))
        add_input(t, n, 0, squeezed_dim(t, n, y, x, dim));
    else if (is_op(n, "Reshape") || is_op(n, "Flatten"))
        add_input(t, n, 0, aligned_dim(y, x, dim));
    else if (is_op(n, "Gather") && n->inputs.count > 1)
        trace_gather(t, n, dim);
    else if (is_op(n, "MatMul") && n->inputs.count > 1)
        trace_product(t, n, y, dim);
    else if (is_op(n, "Gemm") && dim == 0)
        add_input(t, n, 0, attribute_int(n, "transA", 0) != 0);
    else if (is_recurrent(n))
        trace_recurrent(t, n, output, dim);
    else if (!is_op(n, "Gemm"))
        trace_others(t, n, y, dim);
}

static void trace_all(struct tracer *t)
{
    const struct model_graph *const g = t->axes->main;
    while (t->pending.count > 0) {
        const struct spot s = t->pending.data[--t->pending.count];
        const struct model_node *const n = map_get(&t->axes->producers, s.name);
        if (n)
            trace_node(t, n, s.name, s.dim);
        else if (model_find_value(&g->inputs, s.name) && !map_has(t->found, s.name))
            map_set(t->found, s.name, arena_copy(t->axes->arena, &s.dim, sizeof s.dim, alignof(int)));
    }
}

static struct tracer begin(struct batch_axes *b, struct map *seen, struct map *found)
{
    return (struct tracer){.axes = b, .seen = seen, .found = found};
}

/* ---- what layers say --------------------------------------------------------------------------------------------- */

/* Inputs whose first dimension is a time that nobody calls a batch. */
static void find_recurrent(struct batch_axes *b, struct map *times)
{
    struct map seen = {.arena = b->arena};
    struct tracer batch = begin(b, &b->spots, &b->of_inputs), time = begin(b, &seen, times);
    vec_each(const struct model_node *, n, &b->main->nodes) {
        const bool batch_first = attribute_int(n, "layout", 0) != 0;
        if (!is_recurrent(n))
            continue;
        add_input(&batch, n, 0, batch_first ? 0 : 1);
        add_input(&time, n, 0, batch_first ? 1 : 0);
        add_input(&batch, n, 4, 0);
        for (size_t i = 5; i < 7; i++)
            add_input(&batch, n, i, batch_first ? 0 : 1);
    }
    trace_all(&batch);
    trace_all(&time);
}

/* x[0], x[1]: the steps of a loop that is written out. */
static void find_unrolled(struct batch_axes *b)
{
    struct map steps = {.arena = b->arena};
    struct tracer t = begin(b, &b->spots, &b->of_inputs);
    vec_each(const struct model_node *, n, &b->main->nodes) {
        const char *const x = n->inputs.count > 0 ? n->inputs.data[0] : "";
        const struct shape *const s = shape_of(b, x);
        const bool element = is_op(n, "Gather") && n->inputs.count > 1 && shape_of(b, n->inputs.data[1]) &&
                             shape_of(b, n->inputs.data[1])->rank == 0;
        const bool parts = is_op(n, "Split") && s && s->rank > 0 && s->dim[0] > 1 &&
                           (int64_t)n->outputs.count == s->dim[0];
        int axis;
        if (!s || s->rank < 2 || (!element && !parts) || map_has(&b->producers, x) ||
            !shape_axis(s->rank, attribute_int(n, "axis", 0), &axis) || axis != 0)
            continue;
        int *count = map_get(&steps, x);
        if (!count)
            map_set(&steps, x, count = arena_new(b->arena, int));
        *count += parts ? FEWEST_STEPS : 1;
        if (*count >= FEWEST_STEPS)
            add_spot(&t, x, 1);
    }
    trace_all(&t);
}

/* The outermost dimension of a product of two computed operands: samples, or samples and heads. */
static void find_products(struct batch_axes *b)
{
    struct tracer t = begin(b, &b->spots, &b->of_inputs);
    vec_each(const struct model_node *, n, &b->main->nodes) {
        bool computed = (is_op(n, "MatMul") || is_op(n, "Attention")) && n->inputs.count > 1;
        for (size_t i = 0; i < 2 && computed; i++) {
            const struct shape *const s = shape_of(b, n->inputs.data[i]);
            computed = s && s->rank > 2 && map_has(&b->producers, n->inputs.data[i]);
        }
        for (size_t i = 0; i < 2 && computed; i++)
            add_input(&t, n, i, 0);
    }
    trace_all(&t);
}

/* ---- all values -------------------------------------------------------------------------------------------------- */

/* The first input with a batch says how large it is: others that have as many there are of the same samples. */
static void add_input_spots(struct batch_axes *b)
{
    int64_t size = -1;
    vec_each(const struct model_value_info *, vi, &b->main->inputs) {
        const struct value *const v = value_of(b, vi->name);
        const int axis = batch_axis_of(b, vi->name);
        if (!v || v->kind != VALUE_INPUT || axis < 0 || axis >= v->shape.rank)
            continue;
        size = size < 0 ? v->shape.dim[axis] : size;
        if (v->shape.dim[axis] == size)
            map_set(&b->spots, spot_key(b, vi->name, axis), NULL);
    }
}

/* A dimension that goes back to one of the batch is of the batch, and so is all else that it goes back to. In another
 * layout it must be of the same size: of 1 and 4 elements that begin at one place, both may be meant. */
static void follow_batch(struct batch_axes *b, struct tracer *back, const struct model_node *n, const char *output,
                         int dim)
{
    struct map seen = {.arena = b->arena};
    struct tracer step = begin(b, &seen, NULL);
    bool batch = false;
    const bool layout = is_op(n, "Reshape") || is_op(n, "Flatten");
    trace_node(&step, n, output, dim);
    vec_each_ptr(const struct spot, s, &step.pending)
        batch = batch || (is_batch_dim(b, s->name, s->dim) &&
                          (!layout || shape_of(b, s->name)->dim[s->dim] == shape_of(b, output)->dim[dim]));
    if (!batch)
        return;
    map_set(&b->spots, spot_key(b, output, dim), NULL);
    vec_each_ptr(const struct spot, s, &step.pending)
        add_spot(back, s->name, s->dim);
    trace_all(back);
}

static void follow_all(struct batch_axes *b)
{
    struct map found = {.arena = b->arena};
    struct tracer back = begin(b, &b->spots, &found);
    add_input_spots(b);
    vec_each(const struct model_node *, n, &b->main->nodes)
        vec_each(const char *, output, &n->outputs) {
            const struct shape *const y = shape_of(b, output);
            for (int d = 0; y && d < y->rank; d++)
                follow_batch(b, &back, n, output, d);
        }
}

/* Are there layers that have something to say? */
static bool has_such_layers(const struct model_graph *g)
{
    vec_each(const struct model_node *, n, &g->nodes)
        if (is_recurrent(n) || is_op(n, "Gather") || is_op(n, "Split") || is_op(n, "MatMul") ||
            is_op(n, "Attention") || is_op(n, "Squeeze"))
            return true;
    return false;
}

void find_batch_axes(struct arena *a, const struct model *m, const struct import_options *o, struct batch_axes *out)
{
    struct map times = {.arena = a};
    *out = (struct batch_axes){.arena = a, .main = m->graph, .producers.arena = a, .of_inputs.arena = a,
                                .spots.arena = a};
    vec_each(const struct model_node *, n, &m->graph->nodes)
        vec_each(const char *, name, &n->outputs)
            if (name[0] != '\0')
                map_set(&out->producers, name, (void *)(uintptr_t)n);
    if (!has_such_layers(m->graph))
        return;
    out->sizes = graph_with_sizes(a, m, o);
    find_recurrent(out, &times);
    find_unrolled(out);
    find_products(out);
    for (size_t i = 0; i < times.count; i++) {
        static const int none = NO_BATCH_AXIS;
        const int *const time = times.entries[i].value, *const batch = map_get(&out->of_inputs, times.entries[i].key);
        if (*time == 0 && !batch)
            map_set(&out->of_inputs, times.entries[i].key, (void *)(uintptr_t)&none);
    }
    follow_all(out);
}

const struct shape *size_of_value(const struct batch_axes *b, const char *name)
{
    return shape_of(b, name);
}

bool is_batch_dim(const struct batch_axes *b, const char *name, int dim)
{
    return map_has(&b->spots, spot_key(b, name, dim));
}

int batch_axis_of(const struct batch_axes *b, const char *input)
{
    const int *const axis = map_get(&b->of_inputs, input);
    return axis ? *axis : 0;
}

int batch_dim_of_value(const struct batch_axes *b, const char *name, int rank)
{
    for (int d = 0; d < rank; d++) {
        struct map seen = {.arena = b->arena}, found = {.arena = b->arena};
        struct batch_axes own = *b;
        struct tracer t = begin(&own, &seen, &found);
        add_spot(&t, name, d);
        trace_all(&t);
        for (size_t i = 0; i < found.count; i++) {
            const int *const dim = found.entries[i].value;
            if (*dim == batch_axis_of(b, found.entries[i].key))
                return d;
        }
    }
    return -1;
}
