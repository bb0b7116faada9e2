#include "random_model.h"

#include "base/str.h"
#include "gen.h"
#include "graph/op_def.h"
#include <string.h>

#define FLOATS (DTYPE_BIT(DTYPE_FLOAT) | DTYPE_BIT(DTYPE_DOUBLE))

static struct model *new_model(struct gen *g)
{
    struct model *m = arena_new(g->arena, struct model);
    m->file = "random.onnx";
    m->ir_version = 10;
    m->producer_name = m->producer_version = m->domain = m->doc = "";
    m->graph = model_graph_new(g->arena, "random");
    vec_push(g->arena, &m->opsets, ((struct model_opset){"", g->opset}));
    vec_push(g->arena, &m->opsets, ((struct model_opset){DOMAIN_TRAINING, 1}));
    return m;
}

static void draw_settings(struct gen *g)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 2, 3, 4, 32}, opsets[] = {13, 17, 18, 21, 26};
    g->opset = opsets[gen_below(g, sizeof opsets / sizeof *opsets)];
    g->kind = (enum random_kind)gen_below(g, 3);
    g->smooth = gen_chance(g, 50);
    for (int i = 0; i < 3; i++)
        g->dims[i] = sizes[gen_below(g, sizeof sizes / sizeof *sizes)];
    if (gen_chance(g, 6))
        g->dims[0] = 0;
}

static enum dtype leaf_dtype(struct gen *g)
{
    static const enum dtype others[] = {DTYPE_DOUBLE, DTYPE_INT32, DTYPE_INT64, DTYPE_BOOL, DTYPE_INT8, DTYPE_FLOAT16};
    return gen_chance(g, 75) ? DTYPE_FLOAT : others[gen_below(g, 6)];
}

static void add_leaves(struct gen *g)
{
    const int count = 1 + (int)gen_below(g, 4);
    for (int i = 0; i < count; i++) {
        const struct shape s = gen_shape(g, GEN_MAX_RANK);
        const enum dtype dtype = i == 0 ? DTYPE_FLOAT : leaf_dtype(g);
        if (i == 0)
            gen_input(g, gen_name(g), dtype, &s, 1.5);
        else
            gen_leaf(g, dtype, &s);
    }
}

static void add_operators(struct gen *g)
{
    const int wanted = 2 + (int)gen_below(g, 24);
    for (int made = 0, tries = 0; made < wanted && tries < 10 * wanted; tries++)
        made += gen_operator(g);
}

/* ---- outputs ----------------------------------------------------------------------------------------------------- */

static bool is_computed(const struct model_graph *g, const char *name)
{
    for (size_t i = 0; i < g->nodes.count; i++)
        for (size_t o = 0; o < g->nodes.data[i]->outputs.count; o++)
            if (str_equal(g->nodes.data[i]->outputs.data[o], name))
                return true;
    return false;
}

static bool is_read(const struct model_graph *g, const char *name)
{
    for (size_t i = 0; i < g->nodes.count; i++)
        for (size_t k = 0; k < g->nodes.data[i]->inputs.count; k++)
            if (str_equal(g->nodes.data[i]->inputs.data[k], name))
                return true;
    return false;
}

static void add_output(struct gen *g, const struct operand *o)
{
    struct model_dim dims[SHAPE_MAX_RANK];
    for (int i = 0; i < o->shape.rank; i++)
        dims[i] = (struct model_dim){o->shape.dim[i], "", ""};
    if (!model_find_value(&g->graph->outputs, o->name))
        model_add_value(g->arena, g->graph, 1, o->name, o->dtype, dims, (size_t)o->shape.rank);
}

/* What nobody reads, and some that are read as well. */
static void add_outputs(struct gen *g)
{
    for (size_t i = 0; i < g->operands.count; i++) {
        const struct operand *o = g->operands.data[i];
        if (is_computed(g->graph, o->name) && (!is_read(g->graph, o->name) || gen_chance(g, 15)))
            add_output(g, o);
    }
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

/* The sum of everything floating that the graph computes and nobody reads, squared or not, as one scalar. */
static const struct operand *add_loss(struct gen *g, size_t count)
{
    const struct operand *loss = NULL;
    const struct shape scalar = SHAPE_SCALAR;
    for (size_t i = 0; i < count; i++) {
        const struct operand *o = g->operands.data[i];
        if (!(FLOATS & DTYPE_BIT(o->dtype)) || !is_computed(g->model->graph, o->name) ||
            is_read(g->model->graph, o->name))
            continue;
        if (gen_chance(g, 50))
            o = GEN_NODE(g, "Mul", o->dtype, &o->shape, o->bound * o->bound, o, o);
        const struct operand *sum = GEN_NODE(g, "ReduceSum", o->dtype, &scalar, 1, o);
        model_set_int(g->arena, gen_last(g), "keepdims", 0);
        if (sum->dtype != DTYPE_FLOAT) {
            sum = GEN_NODE(g, "Cast", DTYPE_FLOAT, &scalar, 1, sum);
            model_set_int(g->arena, gen_last(g), "to", DTYPE_FLOAT);
        }
        loss = loss ? GEN_NODE(g, "Add", DTYPE_FLOAT, &scalar, 1, loss, sum) : sum;
    }
    return loss;
}

typedef VEC(const struct operand *) operand_list;

/* Gradient of y by xs: as many outputs, which are returned. */
static const struct operand **add_gradient(struct gen *g, const struct operand *y, const operand_list *xs)
{
    struct arena *a = g->arena;
    const char **names = arena_array(a, const char *, xs->count + 1),
               **outputs = arena_array(a, const char *, xs->count + 1);
    const struct operand **results = arena_array(a, const struct operand *, xs->count + 1);
    for (size_t i = 0; i < xs->count; i++) {
        struct operand *o = arena_new(a, struct operand);
        *o = *xs->data[i];
        o->name = outputs[i] = gen_name(g);
        names[i] = xs->data[i]->name;
        results[i] = o;
    }
    struct model_node *n = model_add_node(a, g->graph, DOMAIN_TRAINING, "Gradient", names, outputs);
    model_set_strings(a, n, "xs", names, xs->count);
    model_set_string(a, n, "y", y->name);
    return results;
}

static bool is_leaf(const struct gen *g, const struct operand *o)
{
    return !is_computed(g->model->graph, o->name);
}

static operand_list choose_xs(struct gen *g, size_t count, bool initializers)
{
    operand_list xs = {0};
    for (size_t i = 0; i < count && xs.count < 6; i++) {
        const struct operand *o = g->operands.data[i];
        if (!(FLOATS & DTYPE_BIT(o->dtype)) || (initializers && !model_find_initializer(g->model->graph, o->name)))
            continue;
        if (is_leaf(g, o) ? gen_chance(g, 70) : gen_chance(g, 5))
            vec_push(g->arena, &xs, o);
    }
    return xs;
}

static void differentiate(struct gen *g)
{
    const size_t count = g->operands.count;
    const operand_list xs = choose_xs(g, count, false);
    const struct operand *loss = add_loss(g, count);
    if (!loss || xs.count == 0)
        return;
    const struct operand **results = add_gradient(g, loss, &xs);
    for (size_t i = 0; i < xs.count; i++)
        add_output(g, results[i]);
}

/* ---- training ---------------------------------------------------------------------------------------------------- */

static void bind(struct gen *g, model_pairs *list, const char *key, const char *value)
{
    const struct model_pair p = {key, value};
    vec_push(g->arena, list, p);
}

static const struct operand *sgd(struct gen *g, const struct operand *x, const struct operand *dx)
{
    const struct operand *rate = gen_constant(g, x->dtype, 0.01),
                         *step = GEN_NODE(g, "Mul", x->dtype, &x->shape, 1, rate, dx);
    return GEN_NODE(g, "Sub", x->dtype, &x->shape, 1, x, step);
}

static void set_attributes(struct gen *g, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        model_set_float(g->arena, gen_last(g), names[i], 0.125f * (float)(1 + gen_below(g, 6)));
}

/* The optimizer's operator, with one moment (Momentum, Adagrad) or two (Adam): variables of the algorithm. */
static const struct operand *optimizer(struct gen *g, struct model_training *t, const struct operand *x,
                                       const struct operand *dx)
{
    static const char *const ops[] = {"Momentum", "Adagrad", "Adam"};
    const int which = (int)gen_below(g, 3), moments = which == 2 ? 2 : 1;
    const struct shape scalar = SHAPE_SCALAR;
    const struct operand *in[7] = {gen_constant(g, x->dtype, 0.01), gen_initializer(g, DTYPE_INT64, &scalar), x, dx},
                         *out[3];
    str_list inputs = {0}, outputs = {0};
    for (int i = 0; i < moments; i++) {
        struct tensor *zero = tensor_new(g->arena, x->dtype, &x->shape);
        struct operand *v = arena_new(g->arena, struct operand);
        *v = *x;
        v->name = gen_name(g);
        model_add_initializer(g->arena, g->graph, v->name, zero);
        in[4 + i] = v;
    }
    memset(model_find_initializer(g->graph, in[1]->name)->tensor->data, 0, sizeof(int64_t));
    for (int i = 0; i < 4 + moments; i++)
        vec_push(g->arena, &inputs, in[i]->name);
    vec_push(g->arena, &inputs, NULL);
    for (int i = 0; i <= moments; i++) {
        struct operand *v = arena_new(g->arena, struct operand);
        *v = *x;
        v->name = gen_name(g);
        out[i] = v;
        vec_push(g->arena, &outputs, v->name);
        if (i > 0) {
            add_output(g, v);
            bind(g, &t->update_binding, in[3 + i]->name, v->name);
        }
    }
    vec_push(g->arena, &outputs, NULL);
    struct model_node *n = model_add_node(g->arena, g->graph, DOMAIN_TRAINING, ops[which], inputs.data, outputs.data);
    static const char *const momentum[] = {"alpha", "beta", "norm_coefficient"},
                             *const adam[] = {"alpha", "beta", "norm_coefficient"},
                             *const adagrad[] = {"decay_factor", "norm_coefficient"};
    if (which == 1)
        set_attributes(g, adagrad, 2);
    else
        set_attributes(g, which == 0 ? momentum : adam, 3);
    if (which == 0)
        model_set_string(g->arena, n, "mode", gen_chance(g, 50) ? "standard" : "nesterov");
    return out[0];
}

static const char *const no_nodes[] = {NULL};

/* A random start for some variables. */
static void add_initialization(struct gen *g, struct model_training *t)
{
    t->initialization = model_graph_new(g->arena, "start");
    for (size_t i = 0; i < t->update_binding.count; i++) {
        const char *key = t->update_binding.data[i].key;
        const struct model_initializer *v = model_find_initializer(g->model->graph, key);
        if (!v || v->tensor->count == 0 || gen_chance(g, 50))
            continue;
        const char *const out[] = {arena_printf(g->arena, "start_%zu", i), NULL};
        struct model_dim dims[SHAPE_MAX_RANK];
        for (int k = 0; k < v->tensor->shape.rank; k++)
            dims[k] = (struct model_dim){v->tensor->shape.dim[k], "", ""};
        struct model_node *n = model_add_node(g->arena, t->initialization, "",
                                              gen_chance(g, 50) ? "RandomNormal" : "RandomUniform", no_nodes, out);
        model_set_ints(g->arena, n, "shape", v->tensor->shape.dim, (size_t)v->tensor->shape.rank);
        model_set_int(g->arena, n, "dtype", v->tensor->dtype);
        if (gen_chance(g, 50))
            model_set_float(g->arena, n, "seed", 3.0f);
        model_add_value(g->arena, t->initialization, 1, out[0], v->tensor->dtype, dims, (size_t)v->tensor->shape.rank);
        bind(g, &t->initialization_binding, key, out[0]);
    }
    if (t->initialization_binding.count == 0)
        t->initialization = NULL;
}

static void train(struct gen *g)
{
    const size_t count = g->operands.count;
    const operand_list xs = choose_xs(g, count, true);
    struct model_training *t = arena_new(g->arena, struct model_training);
    if (xs.count == 0)
        return;
    t->loc = LOC_FILE(g->model->file);
    g->graph = t->algorithm = model_graph_new(g->arena, "training");
    const struct operand *loss = add_loss(g, count);
    if (!loss)
        return;
    add_output(g, loss);
    const struct operand **gradients = add_gradient(g, loss, &xs);
    for (size_t i = 0; i < xs.count; i++) {
        const struct operand *next =
            gen_chance(g, 50) ? sgd(g, xs.data[i], gradients[i]) : optimizer(g, t, xs.data[i], gradients[i]);
        add_output(g, next);
        bind(g, &t->update_binding, xs.data[i]->name, next->name);
        if (gen_chance(g, 30))
            add_output(g, gradients[i]);
    }
    add_initialization(g, t);
    vec_push(g->arena, &g->model->training, t);
}

struct random_model random_model(struct arena *a, uint64_t seed)
{
    struct gen g = {.arena = a, .random = seed * UINT64_C(0x2545F4914F6CDD1D)};
    draw_settings(&g);
    g.model = new_model(&g);
    g.graph = g.model->graph;
    do {
        add_leaves(&g);
        add_operators(&g);
    } while (g.graph->nodes.count == 0);
    add_outputs(&g);
    if (g.kind == RANDOM_GRADIENT)
        differentiate(&g);
    else if (g.kind == RANDOM_TRAINING)
        train(&g);
    return (struct random_model){g.model, g.kind, g.smooth};
}
