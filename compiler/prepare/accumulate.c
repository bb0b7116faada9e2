/* Batches in parts: gradients of several batches are added up before the optimizer reads them.
 *
 *   --split          accumulate   loss_sum, NAME.grad_sum, sample_count += those of the samples given
 *                    apply        gradient = grad_sum / sample_count; the updates; all three = 0
 *   --shards N       apply_0, apply_1 ..: each the updates of a share of the weights; advance: the loss, the count of
 *                    steps + 1, and all three = 0
 *   --accumulate N   one step that splits its batch: for each part, a copy of the main graph, then a Gradient
 *
 * A part contributes the gradient of its *sum* of losses: contributions then add up to that of the whole batch,
 * whatever the sizes of the parts. Products and bias gradients add in the order of samples with one accumulator
 * (docs/numerics.md), so samples that come one at a time give the bits of the whole batch; and division by the count at
 * the end instead of at the start changes nothing where the count is a power of two.
 *
 * The accumulators are written by both entries, so they stand in the main graph: an algorithm cannot see another's
 * initializers. apply refers to nothing else there, and is combined without it (combine_check.c). */
#include "prepare/prepare_internal.h"

#include <string.h>

enum {
    MOST_PARTS = 256,
    MOST_NODES = 20000, /* of all copies of the main graph together */
    ZEROS_OPSET = 9     /* ConstantOfShape */
};

/* ---- what both have in common ------------------------------------------------------------------------------------ */

/* The output loss = sum / weight. A model's own loss may have the name already, at least until it is taken out. */
static void add_loss_output(struct preparer *p, const char *sum, const char *weight)
{
    if (map_has(&p->names, p->loss_output)) {
        vec_push(p->arena, &p->left_losses, ((struct quotient){p->algorithm, sum, weight}));
        return;
    }
    add_op(p, p->loss_output, "Div", sum, weight);
    declare_output(p, p->loss_output, p->loss_dtype, NULL);
}

/* statistic += move_sum / weight: once for all shards. */
static void move_statistics(struct preparer *p, const char *inverse)
{
    vec_each_ptr(const struct model_pair, x, &p->moves) {
        const struct tensor *const like = model_find_initializer(p->model->graph, x->key)->tensor;
        const char *const own =
            like->dtype == p->loss_dtype ? inverse : add_cast(p, "inverse_count.cast", inverse, like->dtype);
        const char *const move = add_op(p, suffixed(p, x->key, "mean_move"), "Mul", x->value, own);
        bind_update(p, x->key, add_op(p, suffixed(p, x->key, "new"), "Add", x->key, move), like);
    }
}

/* gradient = sum / weight, by one division for all. Without samples, the gradient is 0 and not NaN. */
static void divide_gradients(struct preparer *p, const char *weight)
{
    const char *inverse[2] = {NULL, NULL};
    const char *const safe = add_op(p, "safe_count", "Max", weight, add_scalar(p, "least_count", p->loss_dtype, 1e-30));
    const char *const own = add_op(p, "inverse_count", "Reciprocal", safe);
    if (p->shard == 0)
        move_statistics(p, own);
    vec_each_ptr(struct trainable, t, &p->trainables) {
        const enum dtype dtype = t->tensor->dtype;
        const char **const slot = &inverse[dtype == DTYPE_DOUBLE];
        if (!*slot)
            *slot = dtype == p->loss_dtype ? own : add_cast(p, "inverse_count.cast", own, dtype);
        t->gradient = add_op(p, suffixed(p, t->name, "gradient"), "Mul", t->gradient, *slot);
        if (p->options->gradients)
            declare_output(p, t->gradient, dtype, &t->tensor->shape);
    }
}

/* ---- --split ----------------------------------------------------------------------------------------------------- */

struct accumulator {
    const char *name, *addend;
    const struct tensor *initial;
};

typedef VEC(struct accumulator) accumulator_list;

/* main: NAME += addend. The variable is an initializer of the main graph. */
static const char *add_accumulator(struct preparer *p, accumulator_list *all, const char *wish, const char *addend,
                                   enum dtype dtype, const struct shape *shape)
{
    struct tensor *const zeros = tensor_new(p->arena, dtype, shape);
    const char *const name = fresh_name(p, wish);
    map_set(&p->main_names, name, NULL);
    model_add_initializer(p->arena, p->model->graph, name, zeros);
    bind_update(p, name, add_op(p, suffixed(p, name, "new"), "Add", name, addend), zeros);
    vec_push(p->arena, all, ((struct accumulator){name, addend, zeros}));
    return name;
}

static void reset_accumulator(struct preparer *p, const struct accumulator *a)
{
    const struct shape *const s = &a->initial->shape;
    struct tensor *const zero = tensor_new(p->arena, a->initial->dtype, &SHAPE(1));
    const char *const shape = add_tensor(p, suffixed(p, a->name, "shape"), tensor_from_ints(p->arena, s->dim, s->rank));
    const char *const zeros = add_op(p, suffixed(p, a->name, "zero"), "ConstantOfShape", shape);
    model_set_tensor(p->arena, last_node(p), "value", zero);
    bind_update(p, a->name, zeros, a->initial);
}

/* --devices: a part that moved running statistics would leave them to the next one, and machines have no next one. How
 * far each would move them from where they are, times its samples, is a sum like all others: apply moves them by the
 * mean. */
static void add_moves(struct preparer *p, accumulator_list *all, const char *weight)
{
    for (size_t i = 0; i < p->latest_statistics.count; i++) {
        const struct map_entry *const s = &p->latest_statistics.entries[i];
        const struct tensor *const like = model_find_initializer(p->model->graph, s->key)->tensor;
        const char *const own =
            like->dtype == p->loss_dtype ? weight : add_cast(p, "sample_weight.cast", weight, like->dtype);
        const char *const move = add_op(p, suffixed(p, s->key, "move"), "Sub", s->value, s->key);
        const char *const addend = add_op(p, suffixed(p, s->key, "move_addend"), "Mul", move, own);
        const char *const sum =
            add_accumulator(p, all, suffixed(p, s->key, "move_sum"), addend, like->dtype, &like->shape);
        vec_push(p->arena, &p->moves, ((struct model_pair){s->key, sum}));
    }
}

static bool begin_accumulate(struct preparer *p, accumulator_list *all)
{
    if (!begin_training(p, entry_name(p, "accumulate"), true))
        return false;
    const char *const weight = p->loss_weight; /* of the part */
    add_loss_output(p, p->loss_sum, p->loss_weight);
    p->loss_weight = add_accumulator(p, all, "sample_count", p->loss_weight, p->loss_dtype, &SHAPE_SCALAR);
    p->loss_sum = add_accumulator(p, all, "loss_sum", p->loss_sum, p->loss_dtype, &SHAPE_SCALAR);
    vec_each_ptr(struct trainable, t, &p->trainables)
        t->sum = t->gradient =
            add_accumulator(p, all, suffixed(p, t->name, "grad_sum"), t->gradient, t->tensor->dtype, &t->tensor->shape);
    if (p->options->devices > 0)
        add_moves(p, all, weight);
    else
        bind_statistics(p);
    add_initialization(p);
    attach_algorithm(p);
    return true;
}

/* ---- --shards N -------------------------------------------------------------------------------------------------- */

bool is_updated_here(const struct preparer *p, const struct trainable *t)
{
    return p->shard_count == 0 || t->shard == p->shard;
}

const char *shared_scalar(struct preparer *p, const char *wish, struct tensor *initial)
{
    vec_each_ptr (const struct model_pair, x, &p->shared_scalars)
        if (str_equal(x->key, wish))
            return x->value;
    const char *const name = fresh_name(p, wish);
    map_set(&p->main_names, name, NULL);
    model_add_initializer(p->arena, p->model->graph, name, initial);
    vec_push(p->arena, &p->shared_scalars, ((struct model_pair){wish, name}));
    return name;
}

/* The largest tensor first, each to the shard that has least so far. */
static void share_out(struct preparer *p, size_t shards)
{
    int64_t *const loads = arena_array(p->arena, int64_t, shards);
    bool *const given = arena_array(p->arena, bool, p->trainables.count);
    for (size_t n = 0; n < p->trainables.count; n++) {
        size_t largest = p->trainables.count, least = 0;
        for (size_t i = 0; i < p->trainables.count; i++)
            if (!given[i] && (largest == p->trainables.count ||
                              p->trainables.data[i].tensor->count > p->trainables.data[largest].tensor->count))
                largest = i;
        for (size_t s = 1; s < shards; s++)
            if (loads[s] < loads[least])
                least = s;
        given[largest] = true;
        p->trainables.data[largest].shard = least;
        loads[least] += p->trainables.data[largest].tensor->count;
    }
}

/* What all shards share changes once, behind them: rates, which are bound to themselves, and the count of steps. */
static void add_advance(struct preparer *p, const accumulator_list *all)
{
    begin_algorithm(p, entry_name(p, "advance"));
    add_loss_output(p, p->loss_sum, p->loss_weight);
    vec_each_ptr (const struct model_pair, x, &p->shared_scalars) {
        const struct tensor *const initial = model_find_initializer(p->model->graph, x->value)->tensor;
        const char *const next = suffixed(p, x->value, "new");
        if (dtype_is_float(initial->dtype))
            bind_update(p, x->value, add_op(p, next, "Identity", x->value), initial);
        else
            bind_update(p, x->value, add_op(p, next, "Add", x->value, add_int(p, "one_step", 1)), initial);
    }
    vec_each_ptr (const struct accumulator, x, all)
        reset_accumulator(p, x);
    attach_algorithm(p);
}

/* Clipping by the norm reads all gradients, so no shard sets a sum to zero. */
static bool add_shards(struct preparer *p, const accumulator_list *all)
{
    const char **const sums = arena_array(p->arena, const char *, p->trainables.count);
    const size_t shards = (size_t)p->options->shards;
    if (shards > p->trainables.count)
        return diag_error(p->diag, &p->loc, "--shards %zu: only %zu tensors are trained, and a shard has at least one",
                          shards, p->trainables.count);
    share_out(p, shards);
    p->shard_count = shards;
    for (size_t i = 0; i < p->trainables.count; i++)
        sums[i] = p->trainables.data[i].gradient;
    for (p->shard = 0; p->shard < shards; p->shard++) {
        for (size_t i = 0; i < p->trainables.count; i++)
            p->trainables.data[i].gradient = sums[i];
        begin_algorithm(p, entry_name(p, arena_printf(p->arena, "apply_%zu", p->shard)));
        divide_gradients(p, p->loss_weight);
        if (!add_optimizer(p))
            return false;
        attach_algorithm(p);
        p->silent = true; /* the others say the same */
    }
    p->silent = false;
    add_advance(p, all);
    say(p,
        "entries: 'accumulate' adds up gradients in NAME.grad_sum, 'apply_0' to 'apply_%zu' take their mean and update "
        "a share of the weights each, 'advance' comes last",
        shards - 1);
    return true;
}

/* ---- which of both ----------------------------------------------------------------------------------------------- */

bool prepare_split(struct preparer *p)
{
    accumulator_list all = {0};
    if (p->opset < ZEROS_OPSET)
        return diag_error(p->diag, &p->loc, "--split needs an operator of opset %d, the model imports ai.onnx %lld",
                          ZEROS_OPSET, (long long)p->opset);
    if (!begin_accumulate(p, &all))
        return false;
    if (p->options->shards > 1)
        return add_shards(p, &all);
    begin_algorithm(p, entry_name(p, "apply"));
    divide_gradients(p, p->loss_weight);
    add_loss_output(p, p->loss_sum, p->loss_weight);
    if (!add_optimizer(p))
        return false;
    vec_each_ptr(const struct accumulator, x, &all)
        reset_accumulator(p, x);
    attach_algorithm(p);
    say(p, "entries: 'accumulate' adds up gradients in NAME.grad_sum, 'apply' takes their mean and updates");
    return true;
}

/* ---- --accumulate N: parts of the inputs ------------------------------------------------------------------------- */

bool same_dim(const struct model_dim *a, const struct model_dim *b)
{
    return a->value >= 0 || b->value >= 0 ? a->value == b->value : str_equal(a->param, b->param);
}

int batch_dim_of_input(const struct preparer *p, const char *input, bool of_main)
{
    const int *const own = map_get(&p->batch_of_inputs, input);
    return of_main && !own ? batch_axis_of(&p->batch_axes, input) : own ? *own : 0;
}

const struct model_dim *dim_of_input(const struct model_value_info *vi, int axis)
{
    return vi && vi->type.kind == TYPE_TENSOR && vi->type.has_shape && axis >= 0 && vi->type.dims.count > (size_t)axis
               ? &vi->type.dims.data[axis]
               : NULL;
}

/* The batch axis: that of the first input that the loss depends on. */
static bool find_batch(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    vec_each(const struct model_value_info *, vi, &g->inputs) {
        const struct model_dim *const dim = dim_of_input(vi, batch_dim_of_input(p, vi->name, true));
        if (!dim || !map_has(&p->ancestors, vi->name) || model_find_initializer(g, vi->name))
            continue;
        p->batch = *dim;
        const int64_t n = p->options->accumulate;
        return dim->value < 0 || dim->value % n == 0 ||
               diag_error(p->diag, &p->loc, "--accumulate %lld: the batch of input '%s' is %lld, which is no multiple",
                          (long long)n, vi->name, (long long)dim->value);
    }
    return diag_error(p->diag, &p->loc, "--accumulate: the loss depends on no input with a batch axis");
}

static const char **split_input(struct preparer *p, const char *input, int axis)
{
    const char **const parts = arena_array(p->arena, const char *, p->part_count + 1);
    for (size_t i = 0; i < p->part_count; i++)
        parts[i] = fresh_name(p, arena_printf(p->arena, "%s.part%zu", input, i + 1));
    struct model_node *const n =
        model_add_node(p->arena, p->algorithm, "", "Split", (const char *[]){input, NULL}, parts);
    model_set_int(p->arena, n, "axis", axis);
    if (p->opset >= 18)
        model_set_int(p->arena, n, "num_outputs", (int64_t)p->part_count);
    map_set(&p->parts, input, parts);
    return parts;
}

const char *part_of_input(struct preparer *p, const char *input)
{
    const struct model_graph *const g = p->model->graph;
    const struct model_value_info *const of_main = model_find_value(&g->inputs, input);
    const struct model_value_info *const vi = of_main ? of_main : model_find_value(&p->algorithm->inputs, input);
    const int axis = batch_dim_of_input(p, input, of_main != NULL);
    const struct model_dim *const dim = dim_of_input(vi, axis);
    if (p->part_count == 0 || !dim || (of_main && (model_find_initializer(g, input) || !same_dim(dim, &p->batch))))
        return input;
    const char **parts = (const char **)map_get(&p->parts, input);
    if (!parts)
        parts = split_input(p, input, axis);
    return parts[p->part];
}

/* ---- --accumulate N: copies of the main graph -------------------------------------------------------------------- */

/* The node, and those of graphs inside it. */
static size_t count_nodes(const struct model_node *n)
{
    size_t count = 1;
    model_each_inner(n, inner)
        vec_each(const struct model_node *, own, &inner->nodes)
            count += count_nodes(own);
    return count;
}

static bool check_copies(struct preparer *p)
{
    const struct model_graph *const g = p->model->graph;
    const int64_t n = p->options->accumulate;
    size_t nodes = 0;
    vec_each(const struct model_node *, node, &g->nodes)
        nodes += is_needed(p, node) ? count_nodes(node) : 0;
    if (n > MOST_PARTS || nodes * (size_t)n > MOST_NODES)
        return diag_error(p->diag, &p->loc,
                          "--accumulate %lld: a step would hold %lld copies of %zu nodes; at most %d parts and %d "
                          "nodes are made; see --split, which takes any number of parts",
                          (long long)n, (long long)n, nodes, MOST_PARTS, MOST_NODES);
    return true;
}

/* Loss and gradients of one part. */
static bool add_part(struct preparer *p, const char *loss_input)
{
    const struct model_graph *const g = p->model->graph;
    p->copies = (struct map){.arena = p->arena};
    vec_each(const struct model_node *, n, &g->nodes)
        if (is_needed(p, n))
            copy_main_node(p, n);
    const char *const own = map_get(&p->copies, loss_input);
    p->loss_input = own ? own : part_of_input(p, loss_input);
    p->silent = p->part > 0;
    bool ok = add_loss(p);
    p->silent = false;
    ok = (p->part > 0 || choose_trainables(p)) && ok;
    if (ok)
        add_gradient(p, p->loss_sum);
    return ok;
}

static const char *sum_of(struct preparer *p, const char *wish, const char *before, const char *x)
{
    return before ? add_op(p, wish, "Add", before, x) : x;
}

static bool add_parts(struct preparer *p)
{
    const char *const loss_input = p->loss_input, *loss = NULL, *weight = NULL, **sums = NULL;
    for (p->part = 0; p->part < p->part_count; p->part++) {
        if (!add_part(p, loss_input))
            return false;
        loss = sum_of(p, "loss_sum", loss, p->loss_sum);
        weight = sum_of(p, "sample_count", weight, p->loss_weight);
        if (!sums)
            sums = arena_array(p->arena, const char *, p->trainables.count);
        for (size_t i = 0; i < p->trainables.count; i++) {
            struct trainable *const t = &p->trainables.data[i];
            sums[i] = t->gradient = sum_of(p, suffixed(p, t->name, "grad_sum"), sums[i], t->gradient);
        }
    }
    p->part_count = 0;
    p->loss_sum = loss;
    p->loss_weight = weight;
    return true;
}

bool prepare_accumulation(struct preparer *p)
{
    begin_algorithm(p, entry_name(p, "train"));
    p->sums = true;
    if (!check_copies(p) || !find_batch(p))
        return false;
    p->part_count = (size_t)p->options->accumulate;
    if (!add_parts(p))
        return false;
    divide_gradients(p, p->loss_weight);
    add_loss_output(p, p->loss_sum, p->loss_weight);
    if (!add_optimizer(p))
        return false;
    bind_statistics(p);
    add_initialization(p);
    attach_algorithm(p);
    say(p, "a step goes through its batch in %lld parts", (long long)p->options->accumulate);
    return true;
}
