/* --initialize: random weights to start from. He (2015): normal, variance 2 / fan_in. Glorot (2010): uniform, variance
 * 2 / (fan_in + fan_out). Biases start at 0, as matrices that are added do (positions); scales start at 1, rows of
 * embeddings at unit length on average. In a recipe what else there is starts near 0: no stored value stays. */
#include "prepare/prepare_internal.h"

#include "prepare/parameters.h"

#include <math.h>

struct fans {
    double in, out;
};

static bool find_fans(const struct shape *s, enum fan_layout layout, struct fans *f)
{
    if (layout == FAN_NONE || s->rank < 2)
        return false;
    const bool kernel = layout == FAN_OUT_IN_KERNEL || layout == FAN_IN_OUT_KERNEL;
    const bool out_first = layout == FAN_OUT_IN || layout == FAN_OUT_IN_KERNEL;
    const double first = (double)s->dim[kernel ? 0 : s->rank - 2], second = (double)s->dim[kernel ? 1 : s->rank - 1];
    const double taps = kernel ? (double)shape_count_range(s, 2, s->rank) : 1;
    *f = (struct fans){(out_first ? second : first) * taps, (out_first ? first : second) * taps};
    return f->in > 0 && f->out > 0;
}

/* Nodes of the initialization graph have a name space of their own. */
static const char *add_node(struct preparer *p, struct model_graph *g, const struct trainable *t, const char *op,
                            const char *input)
{
    const char *const out = suffixed(p, t->name, "initial");
    model_add_node(p->arena, g, "", op, (const char *[]){input, NULL}, (const char *[]){out, NULL});
    return out;
}

static struct model_node *last_of(const struct model_graph *g)
{
    return g->nodes.data[g->nodes.count - 1];
}

static const char *add_random(struct preparer *p, struct model_graph *g, const struct trainable *t, bool normal,
                              double size)
{
    const char *const out = add_node(p, g, t, normal ? "RandomNormal" : "RandomUniform", NULL);
    struct model_node *const n = last_of(g);
    model_set_ints(p->arena, n, "shape", t->tensor->shape.dim, (size_t)t->tensor->shape.rank);
    model_set_int(p->arena, n, "dtype", t->tensor->dtype);
    if (normal) {
        model_set_float(p->arena, n, "scale", (float)size);
    } else {
        model_set_float(p->arena, n, "low", (float)-size);
        model_set_float(p->arena, n, "high", (float)size);
    }
    return out;
}

/* ConstantOfShape came with opset 9; before, the tensor stands in the node. */
static const char *add_filled(struct preparer *p, struct model_graph *g, const struct trainable *t, double x)
{
    const bool by_shape = p->opset >= 9;
    const char *shape = NULL;
    if (by_shape) {
        shape = suffixed(p, t->name, "shape");
        model_add_initializer(p->arena, g, shape,
                              tensor_from_ints(p->arena, t->tensor->shape.dim, t->tensor->shape.rank));
    }
    struct tensor *const value = tensor_new(p->arena, t->tensor->dtype, by_shape ? &SHAPE(1) : &t->tensor->shape);
    for (int64_t i = 0; i < value->count; i++)
        tensor_set_double(value, i, x);
    const char *const out = add_node(p, g, t, by_shape ? "ConstantOfShape" : "Constant", shape);
    model_set_tensor(p->arena, last_of(g), "value", value);
    return out;
}

/* ---- which rule -------------------------------------------------------------------------------------------------- */

/* The input of an RNN, GRU or LSTM that is made of the tensor by pieces, as PyTorch's export for training makes it:
 * gates reordered, directions put together; 0: none. */
static size_t recurrent_input(const struct preparer *p, const char *name)
{
    struct map made = {.arena = p->arena};
    map_set(&made, name, NULL);
    for (size_t i = 0; i < made.count && i < MOST_MOVES; i++)
        vec_each(const struct model_node *, n, &p->model->graph->nodes)
            for (size_t k = 0; k < n->inputs.count; k++) {
                if (!str_equal(n->inputs.data[k], made.entries[i].key))
                    continue;
                if (k >= 1 && k <= 3 && (is_op(n, "RNN") || is_op(n, "GRU") || is_op(n, "LSTM")))
                    return k;
                if ((only_moves(n) && k == 0) || is_op(n, "Concat"))
                    vec_each(const char *, y, &n->outputs)
                        if (y[0] != '\0')
                            map_set(&made, y, NULL);
            }
    return 0;
}

static bool is_added(const struct preparer *p, const char *name)
{
    vec_each(const struct model_node *, n, &p->model->graph->nodes)
        if (is_op(n, "Add") && n->inputs.count == 2 &&
            (str_equal(n->inputs.data[0], name) || str_equal(n->inputs.data[1], name)))
            return true;
    return false;
}

/* NULL: no rule. */
static const char *add_by_rule(struct preparer *p, struct model_graph *g, const struct trainable *t)
{
    const bool he = p->options->initialize == INITIALIZE_HE;
    const struct shape *const s = &t->tensor->shape;
    const size_t recurrent = t->role == TRAINABLE_OTHER || t->role == TRAINABLE_WEIGHT
                                 ? recurrent_input(p, t->name) : 0;
    const enum fan_layout layout = recurrent > 0 && t->layout == FAN_NONE ? FAN_OUT_IN : t->layout;
    struct fans f;
    if (t->role == TRAINABLE_BIAS || t->role == TRAINABLE_SCALE || recurrent == 3)
        return add_filled(p, g, t, t->role == TRAINABLE_SCALE);
    if (t->role == TRAINABLE_EMBEDDING && s->rank >= 2 && s->dim[s->rank - 1] > 0)
        return add_random(p, g, t, true, sqrt(1 / (double)s->dim[s->rank - 1]));
    if ((t->role == TRAINABLE_WEIGHT || recurrent > 0) && find_fans(s, layout, &f))
        return add_random(p, g, t, he, he ? sqrt(2 / f.in) : sqrt(6 / (f.in + f.out)));
    return t->role == TRAINABLE_OTHER && !is_vector(t->tensor) && is_added(p, t->name) ? add_filled(p, g, t, 0) : NULL;
}

/* NULL: the stored values stay. Of a recipe those that are one number do, which nobody has found out, and few. */
static const char *add_initial(struct preparer *p, struct model_graph *g, const struct trainable *t)
{
    enum { FEW = 16 };
    const char *const by_rule = add_by_rule(p, g, t);
    if (by_rule)
        return by_rule;
    if (p->options->recipe && t->tensor->count > FEW && !tensor_is_uniform(t->tensor)) {
        say(p, "note: --initialize has no rule for '%s': normal numbers of deviation 0.02", t->name);
        return add_random(p, g, t, true, 0.02);
    }
    say(p, "note: --initialize has no rule for '%s': its stored values stay", t->name);
    return NULL;
}

void add_initialization(struct preparer *p)
{
    if (p->options->initialize == INITIALIZE_KEEP)
        return;
    struct model_graph *const g = model_graph_new(p->arena, "initialization");
    g->loc.file = p->model->file;
    vec_each_ptr(struct trainable, t, &p->trainables) {
        const char *const value = add_initial(p, g, t);
        if (!value)
            continue;
        struct model_dim dims[SHAPE_MAX_RANK] = {{0}};
        for (int k = 0; k < t->tensor->shape.rank; k++)
            dims[k].value = t->tensor->shape.dim[k];
        model_add_value(p->arena, g, 1, value, t->tensor->dtype, dims, (size_t)t->tensor->shape.rank);
        vec_push(p->arena, &p->training->initialization_binding, ((struct model_pair){t->name, value}));
        if (average_of(p, t))
            vec_push(p->arena, &p->training->initialization_binding, ((struct model_pair){t->average, value}));
    }
    if (p->training->initialization_binding.count > 0)
        p->training->initialization = g;
}
