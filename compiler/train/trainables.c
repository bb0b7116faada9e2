/* Which initializers are trained: those in a weight, bias or scale slot of an operator on the way to the loss, or those
 * that --train names. */
#include "train/prepare_internal.h"

#include <string.h>

/* ---- what the loss depends on ---------------------------------------------------------------------------------------
 */

static void mark(struct map *marked, const char *name)
{
    if (name[0] != '\0' && !map_has(marked, name))
        map_set(marked, name, NULL);
}

static void mark_inputs(struct map *marked, const struct model_node *n);

/* A subgraph reads values of the graph around it without listing them: every name that it reads is marked. Names of its
 * own among them do no harm. */
static void mark_captures(struct map *marked, const struct model_graph *g)
{
    for (size_t i = 0; i < g->nodes.count; i++)
        mark_inputs(marked, g->nodes.data[i]);
    for (size_t i = 0; i < g->outputs.count; i++)
        mark(marked, g->outputs.data[i]->name);
}

static void mark_inputs(struct map *marked, const struct model_node *n)
{
    for (size_t i = 0; i < n->inputs.count; i++)
        mark(marked, n->inputs.data[i]);
    for (size_t i = 0; i < n->attrs.count; i++) {
        const struct model_attr *const x = n->attrs.data[i];
        if (x->type == ATTR_GRAPH && x->g)
            mark_captures(marked, x->g);
        for (size_t k = 0; x->type == ATTR_GRAPHS && k < x->graphs.count; k++)
            mark_captures(marked, x->graphs.data[k]);
    }
}

/* Nodes stand in topological order, so that one walk backwards finds all. */
void mark_ancestors(const struct model_graph *g, struct map *marked)
{
    for (size_t i = g->nodes.count; i-- > 0;) {
        const struct model_node *const n = g->nodes.data[i];
        bool needed = false;
        for (size_t k = 0; k < n->outputs.count; k++)
            needed = needed || (n->outputs.data[k][0] != '\0' && map_has(marked, n->outputs.data[k]));
        if (needed)
            mark_inputs(marked, n);
    }
}

void find_ancestors(struct preparer *p)
{
    mark(&p->ancestors, p->loss_input);
    mark_ancestors(p->model->graph, &p->ancestors);
}

/* ---- slots ----------------------------------------------------------------------------------------------------------
 */

struct slot {
    const char *op;
    size_t input;
    enum trainable_role role;
    enum fan_layout layout;
};

static const struct slot slots[] = {
    {"Gemm", 0, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"Gemm", 1, TRAINABLE_WEIGHT, FAN_IN_OUT},
    {"Gemm", 2, TRAINABLE_BIAS, FAN_NONE},
    {"MatMul", 0, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"MatMul", 1, TRAINABLE_WEIGHT, FAN_IN_OUT},
    {"Conv", 1, TRAINABLE_WEIGHT, FAN_OUT_IN_KERNEL},
    {"Conv", 2, TRAINABLE_BIAS, FAN_NONE},
    {"ConvTranspose", 1, TRAINABLE_WEIGHT, FAN_IN_OUT_KERNEL},
    {"ConvTranspose", 2, TRAINABLE_BIAS, FAN_NONE},
    {"Gather", 0, TRAINABLE_EMBEDDING, FAN_NONE},
    {"BatchNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"BatchNormalization", 2, TRAINABLE_BIAS, FAN_NONE},
    {"InstanceNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"InstanceNormalization", 2, TRAINABLE_BIAS, FAN_NONE},
    {"LayerNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"LayerNormalization", 2, TRAINABLE_BIAS, FAN_NONE},
    {"GroupNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"GroupNormalization", 2, TRAINABLE_BIAS, FAN_NONE},
    {"RMSNormalization", 1, TRAINABLE_SCALE, FAN_NONE},
    {"PRelu", 1, TRAINABLE_OTHER, FAN_NONE}, /* a new start of a slope is no rule's business */
    {"RNN", 1, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"RNN", 2, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"RNN", 3, TRAINABLE_BIAS, FAN_NONE},
    {"GRU", 1, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"GRU", 2, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"GRU", 3, TRAINABLE_BIAS, FAN_NONE},
    {"LSTM", 1, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"LSTM", 2, TRAINABLE_WEIGHT, FAN_OUT_IN},
    {"LSTM", 3, TRAINABLE_BIAS, FAN_NONE},
};
enum { SLOTS = sizeof slots / sizeof *slots };

static const char *role_name(enum trainable_role role)
{
    static const char *const names[] = {"weight", "embedding", "bias", "scale", "parameter"};
    return names[role];
}

/* Follows Identity and Transpose from a node's input to where the value comes from. *flips: how often it was
 * transposed. */
static const char *origin_of(const struct preparer *p, const char *name, int *flips)
{
    *flips = 0;
    for (size_t i = 0; i < p->model->graph->nodes.count; i++) {
        const struct model_node *const n = map_get(&p->producers, name);
        if (!(is_op(n, "Identity") || is_op(n, "Transpose")) || n->inputs.count != 1)
            break;
        *flips += is_op(n, "Transpose");
        name = n->inputs.data[0];
    }
    return name;
}

static enum fan_layout flipped(enum fan_layout l, int flips)
{
    if (flips % 2 == 0 || (l != FAN_IN_OUT && l != FAN_OUT_IN))
        return l;
    return l == FAN_IN_OUT ? FAN_OUT_IN : FAN_IN_OUT;
}

/* At most one dimension is not 1: [C], [1,C,1,1]. */
static bool is_vector(const struct tensor *t)
{
    int wide = 0;
    for (int i = 0; i < t->shape.rank; i++)
        wide += t->shape.dim[i] != 1;
    return t->shape.rank > 0 && wide <= 1;
}

static bool is_product(const struct model_node *n)
{
    return is_op(n, "MatMul") || is_op(n, "Gemm") || is_op(n, "Conv") || is_op(n, "ConvTranspose");
}

/* (x - mean) / sqrt(variance + epsilon): a normalization spelled out. */
static bool is_normalized(const struct preparer *p, const struct model_node *n)
{
    return is_op(n, "Div") && n->inputs.count == 2 && is_op(producer_of(p, n->inputs.data[1]), "Sqrt");
}

static bool is_scaled(const struct preparer *p, const struct model_node *n)
{
    return is_op(n, "Mul") && n->inputs.count == 2 &&
           (is_normalized(p, producer_of(p, n->inputs.data[0])) || is_normalized(p, producer_of(p, n->inputs.data[1])));
}

/* Add and Mul tell a parameter from a constant by what stands on the other side. */
static bool spelled_out_slot(const struct preparer *p, const struct model_node *n, size_t input, const struct tensor *t,
                             struct slot *out)
{
    if (n->inputs.count != 2 || !is_vector(t))
        return false;
    const struct model_node *const other = producer_of(p, n->inputs.data[1 - input]);
    if (is_op(n, "Add") && (is_product(other) || is_scaled(p, other)))
        *out = (struct slot){"Add", input, TRAINABLE_BIAS, FAN_NONE};
    else if (is_op(n, "Mul") && is_normalized(p, other))
        *out = (struct slot){"Mul", input, TRAINABLE_SCALE, FAN_NONE};
    else
        return false;
    return true;
}

static bool find_slot(const struct preparer *p, const struct model_node *n, size_t input, const struct tensor *t,
                      struct slot *out)
{
    for (size_t i = 0; i < SLOTS; i++) {
        if (!is_op(n, slots[i].op) || slots[i].input != input)
            continue;
        *out = slots[i];
        if (is_op(n, "Gemm") && attribute_int(n, input == 0 ? "transA" : "transB", 0) != 0)
            out->layout = flipped(out->layout, 1);
        return true;
    }
    return spelled_out_slot(p, n, input, t, out);
}

/* initializer -> struct trainable *, for each that stands in a slot on the way to the loss. */
static void find_candidates(struct preparer *p, struct map *candidates, const struct map *initializers)
{
    const struct model_graph *const g = p->model->graph;
    for (size_t i = 0; i < g->nodes.count; i++) {
        const struct model_node *const n = g->nodes.data[i];
        for (size_t k = 0; k < n->inputs.count; k++) {
            int flips;
            struct slot slot;
            const char *const name = origin_of(p, n->inputs.data[k], &flips);
            const struct model_initializer *const init = map_get(initializers, name);
            if (!init || map_has(candidates, name) || !map_has(&p->ancestors, name) ||
                !dtype_is_float(init->tensor->dtype) || init->tensor->shape.rank == 0 ||
                !find_slot(p, n, k, init->tensor, &slot))
                continue;
            struct trainable *const t = arena_new(p->arena, struct trainable);
            *t = (struct trainable){
                .name = init->name,
                .tensor = init->tensor,
                .role = slot.role,
                .layout = flipped(slot.layout, flips),
                .why = arena_printf(p->arena, "%s of %s '%s'", role_name(slot.role), n->op_type, node_title(n))};
            map_set(candidates, name, t);
        }
    }
}

void find_constant_weights(const struct preparer *p, struct map *out)
{
    const struct model_graph *const g = p->model->graph;
    for (size_t i = 0; i < g->nodes.count; i++) {
        const struct model_node *const n = g->nodes.data[i];
        for (size_t k = 0; k < n->inputs.count; k++) {
            int flips;
            struct slot slot;
            const char *const name = origin_of(p, n->inputs.data[k], &flips);
            const struct model_node *const constant = map_get(&p->producers, name);
            const struct model_attr *const value = is_op(constant, "Constant") ? node_attribute(constant, "value") : NULL;
            if (value && value->type == ATTR_TENSOR && value->t && dtype_is_float(value->t->dtype) &&
                value->t->shape.rank > 0 && !map_has(out, name) && find_slot(p, n, k, value->t, &slot))
                map_set(out, name,
                        arena_printf(p->arena, "%s of %s '%s'", role_name(slot.role), n->op_type, node_title(n)));
        }
    }
}

/* ---- the choice -----------------------------------------------------------------------------------------------------
 */

static bool has_wildcard(const char *glob)
{
    return strpbrk(glob, "*?") != NULL;
}

static bool matches(const glob_list *globs, const char *name)
{
    for (size_t i = 0; i < globs->count; i++)
        if (str_equal(globs->data[i], name) || str_glob(globs->data[i], name))
            return true;
    return false;
}

static bool names_exactly(const glob_list *globs, const char *name)
{
    for (size_t i = 0; i < globs->count; i++)
        if (str_equal(globs->data[i], name))
            return true;
    return false;
}

/* The tensor of a Constant node; NULL: the node is another, or its value is of another form. */
static struct tensor *constant_of(const struct model_node *n)
{
    const struct model_attr *const value = is_op(n, "Constant") && n->outputs.count == 1 ? node_attribute(n, "value") : NULL;
    return value && value->type == ATTR_TENSOR ? value->t : NULL;
}

/* Node `at`, a Constant, becomes an initializer, which a binding may write. */
static void lift_constant(struct preparer *p, size_t at)
{
    struct model_graph *const g = p->model->graph;
    const struct model_node *const n = g->nodes.data[at];
    model_add_initializer(p->arena, g, n->outputs.data[0], constant_of(n));
    g->initializers.data[g->initializers.count - 1]->loc = n->loc;
    map_set(&p->producers, n->outputs.data[0], NULL);
    edit_changed(&p->edit, "initializers in the place of constants");
    say(p, "constant '%s' becomes an initializer", n->outputs.data[0]);
    vec_remove(&g->nodes, at);
}

/* Those that --train names. A pattern takes those in the place of a weight only. */
static void lift_constants(struct preparer *p, const glob_list *globs, const struct map *weights)
{
    const struct model_graph *const g = p->model->graph;
    for (size_t i = 0; i < g->nodes.count;) {
        const struct model_node *const n = g->nodes.data[i];
        if (constant_of(n) && (names_exactly(globs, n->outputs.data[0]) ||
                               (map_has(weights, n->outputs.data[0]) && matches(globs, n->outputs.data[0]))))
            lift_constant(p, i);
        else
            i++;
    }
}

void lift_named_constant(struct preparer *p, const char *name)
{
    const struct model_graph *const g = p->model->graph;
    for (size_t i = 0; i < g->nodes.count; i++)
        if (constant_of(g->nodes.data[i]) && str_equal(g->nodes.data[i]->outputs.data[0], name)) {
            lift_constant(p, i);
            return;
        }
}

static bool check_globs(struct preparer *p, const char *option, const glob_list *globs)
{
    const struct model_graph *const g = p->model->graph;
    bool ok = true;
    const char **const names = arena_array(p->arena, const char *, g->initializers.count);
    for (size_t i = 0; i < g->initializers.count; i++)
        names[i] = g->initializers.data[i]->name;
    for (size_t k = 0; k < globs->count; k++) {
        const char *const glob = globs->data[k];
        bool found = false;
        for (size_t i = 0; i < g->initializers.count; i++)
            found = found || str_equal(glob, names[i]) || str_glob(glob, names[i]);
        if (found)
            continue;
        const char *const close = str_closest(glob, names, g->initializers.count);
        ok = diag_error(p->diag, &p->loc, "--%s %s: no initializer has %s%s%s%s", option, glob,
                        has_wildcard(glob) ? "a name that matches" : "that name", close ? "; did you mean '" : "",
                        close ? close : "", close ? "'?" : "");
    }
    return ok;
}

static bool can_be_trained(const struct tensor *t)
{
    return (DTYPE_BIT(t->dtype) & DTYPES_FLOAT_DOUBLE) != 0 && t->count > 0;
}

/* What --train names without a wildcard has to be trainable; what a wildcard takes along need not. */
static bool check_named(struct preparer *p, const struct model_initializer *init)
{
    if (!can_be_trained(init->tensor))
        return diag_error(p->diag, &init->loc,
                          "--train %s: it is %s%s; tensors of float and double with elements can be trained",
                          init->name, dtype_name(init->tensor->dtype), shape_text(p->arena, &init->tensor->shape));
    if (map_has(&p->statistics, init->name))
        return diag_error(p->diag, &init->loc,
                          "--train %s: it is a running statistic of BatchNormalization, which has no gradient",
                          init->name);
    if (!map_has(&p->ancestors, init->name))
        return diag_error(p->diag, &init->loc, "--train %s: the loss does not depend on it", init->name);
    return true;
}

static void add_trainable(struct preparer *p, const struct map *candidates, const struct model_initializer *init)
{
    const struct trainable *const candidate = map_get(candidates, init->name);
    const struct trainable other = {
        .name = init->name, .tensor = init->tensor, .role = TRAINABLE_OTHER, .why = "named by --train"};
    vec_push(p->arena, &p->trainables, candidate ? *candidate : other);
}

static const char *tensor_text(struct preparer *p, const struct tensor *t)
{
    return arena_printf(p->arena, "%s%s", dtype_name(t->dtype), shape_text(p->arena, &t->shape));
}

static void say_not_trained(struct preparer *p, const struct model_initializer *init, const char *why)
{
    if (dtype_is_float(init->tensor->dtype) && init->tensor->shape.rank > 0)
        say(p, "  not %s %s: %s", init->name, tensor_text(p, init->tensor), why);
}

/* Reports an initializer that the rules leave alone: returns why, or NULL if it is trained. */
static const char *reason_against(const struct preparer *p, const struct map *candidates,
                                  const struct model_initializer *init)
{
    const struct prepare_options *const o = p->options;
    if (matches(&o->freeze, init->name))
        return "--freeze";
    if (map_has(&p->statistics, init->name))
        return "running statistic";
    if (!map_has(&p->ancestors, init->name))
        return "the loss does not depend on it";
    if (o->train.count > 0 && !matches(&o->train, init->name))
        return "no --train names it";
    if (o->train.count == 0 && !map_has(candidates, init->name))
        return "in no weight, bias or scale slot of an operator; --train trains it";
    return can_be_trained(init->tensor) ? NULL : "only float and double are trained";
}

static void say_trainables(struct preparer *p)
{
    int64_t elements = 0;
    for (size_t i = 0; i < p->trainables.count; i++)
        elements += p->trainables.data[i].tensor->count;
    say(p, "trained: %zu tensor%s, %lld elements", p->trainables.count, p->trainables.count == 1 ? "" : "s",
        (long long)elements);
    for (size_t i = 0; i < p->trainables.count; i++) {
        const struct trainable *const t = &p->trainables.data[i];
        say(p, "  %s %s: %s", t->name, tensor_text(p, t->tensor), t->why);
    }
}

bool choose_trainables(struct preparer *p)
{
    const struct prepare_options *const o = p->options;
    struct map candidates = {.arena = p->arena}, initializers = {.arena = p->arena}, constants = {.arena = p->arena};
    find_constant_weights(p, &constants);
    lift_constants(p, &o->train, &constants);
    struct model_graph *const g = p->model->graph;
    for (size_t i = 0; i < g->initializers.count; i++)
        map_set(&initializers, g->initializers.data[i]->name, g->initializers.data[i]);
    find_candidates(p, &candidates, &initializers);
    bool ok = check_globs(p, "train", &o->train);
    ok = check_globs(p, "freeze", &o->freeze) && ok;
    for (size_t i = 0; i < g->initializers.count; i++) {
        const struct model_initializer *const init = g->initializers.data[i];
        if (names_exactly(&o->train, init->name) && !matches(&o->freeze, init->name))
            ok = check_named(p, init) && ok;
        if (!reason_against(p, &candidates, init))
            add_trainable(p, &candidates, init);
    }
    if (!ok)
        return false;
    if (p->trainables.count == 0)
        return diag_error(
            p->diag, &p->loc, "nothing to train: no float initializer that '%s' depends on %s", p->loss_input,
            o->train.count || o->freeze.count ? "is left by --train and --freeze"
            : constants.count > 0             ? "stands in a weight, bias or scale slot, but constants do; --train '*' trains them"
                                              : "stands in a weight, bias or scale slot; --train NAME trains any");
    say_trainables(p);
    for (size_t i = 0; i < g->initializers.count; i++) {
        const char *const why = reason_against(p, &candidates, g->initializers.data[i]);
        if (why)
            say_not_trained(p, g->initializers.data[i], why);
    }
    for (size_t i = 0; i < constants.count; i++)
        if (!model_find_initializer(g, constants.entries[i].key) && map_has(&p->ancestors, constants.entries[i].key))
            say(p, "  not %s: a constant, in the place of a %s; --train trains it", constants.entries[i].key,
                (const char *)constants.entries[i].value);
    return true;
}
