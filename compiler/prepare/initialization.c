/* --initialize: random weights to start from. He (2015): normal, variance 2 / fan_in. Glorot (2010): uniform, variance
 * 2 / (fan_in + fan_out). Biases start at 0, scales at 1, rows of embeddings at unit length on average. */
#include "prepare/prepare_internal.h"

#include <math.h>

struct fans {
    double in, out;
};

static bool find_fans(const struct trainable *t, struct fans *f)
{
    const struct shape *const s = &t->tensor->shape;
    if (t->layout == FAN_NONE || s->rank < 2)
        return false;
    const bool kernel = t->layout == FAN_OUT_IN_KERNEL || t->layout == FAN_IN_OUT_KERNEL;
    const bool out_first = t->layout == FAN_OUT_IN || t->layout == FAN_OUT_IN_KERNEL;
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

/* NULL: no rule, the stored values stay. */
static const char *add_initial(struct preparer *p, struct model_graph *g, const struct trainable *t)
{
    const bool he = p->options->initialize == INITIALIZE_HE;
    const struct shape *const s = &t->tensor->shape;
    struct fans f;
    if (t->role == TRAINABLE_BIAS || t->role == TRAINABLE_SCALE)
        return add_filled(p, g, t, t->role == TRAINABLE_SCALE);
    if (t->role == TRAINABLE_EMBEDDING && s->rank >= 2 && s->dim[s->rank - 1] > 0)
        return add_random(p, g, t, true, sqrt(1 / (double)s->dim[s->rank - 1]));
    if (t->role != TRAINABLE_WEIGHT || !find_fans(t, &f))
        return NULL;
    return add_random(p, g, t, he, he ? sqrt(2 / f.in) : sqrt(6 / (f.in + f.out)));
}

void add_initialization(struct preparer *p)
{
    if (p->options->initialize == INITIALIZE_KEEP)
        return;
    struct model_graph *const g = model_graph_new(p->arena, "initialization");
    g->loc.file = p->model->file;
    vec_each_ptr(struct trainable, t, &p->trainables) {
        const char *const value = add_initial(p, g, t);
        if (!value) {
            say(p, "note: --initialize has no rule for '%s': its stored values stay", t->name);
            continue;
        }
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
