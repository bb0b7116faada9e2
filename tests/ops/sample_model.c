/* From a sample's text to models: as it stands, and with derivatives. */
#include "sample.h"

#include "base/str.h"
#include "graph/op_def.h"
#include <string.h>

#define NEWEST_OPSET 28

/* A domain that no operator of ours is in but the sample's own: its newest version. */
static const char *own_import(struct sample_test *t)
{
    static const char *const imported[] = {DOMAIN_ONNX, DOMAIN_TRAINING, DOMAIN_PREVIEW, DOMAIN_ML, DOMAIN_STEPC};
    const struct op_version *v = t->def->versions;
    const char *const domain = t->def->domain ? t->def->domain : DOMAIN_ONNX;
    for (size_t i = 0; i < sizeof imported / sizeof *imported; i++)
        if (str_equal(imported[i], domain))
            return "";
    while (v[1].since)
        v++;
    return arena_printf(&t->arena, ", \"%s\" : %d", domain, v->since);
}

bool sample_read(struct sample_test *t, struct model **out)
{
    if (t->sample->text[0] == '<') /* a whole model */
        return model_read_text(&t->diag, &t->arena, "sample", t->sample->text, strlen(t->sample->text), out);
    const int opset = t->sample->opset ? t->sample->opset : NEWEST_OPSET;
    const char *text = arena_printf(&t->arena,
                                    "<ir_version: 10, opset_import: [\"\" : %d, \"" DOMAIN_TRAINING
                                    "\" : 1, \"" DOMAIN_PREVIEW "\" : 1, \"" DOMAIN_ML "\" : 5, \"" DOMAIN_STEPC
                                    "\" : 1%s]>\n%s",
                                    opset, own_import(t), t->sample->text);
    return model_read_text(&t->diag, &t->arena, "sample", text, strlen(text), out);
}

/* ---- what can be differentiated ---------------------------------------------------------------------------------- */

static bool is_floating(const struct model_value_info *v)
{
    return v->type.kind == TYPE_TENSOR && (DTYPES_FLOATS & DTYPE_BIT(v->type.elem));
}

static const struct op_param *param_of(const struct op_def *def, size_t position)
{
    const struct op_param *p = def->inputs;
    for (size_t i = 0; i < position && p[0].name && p[1].name; i++)
        p++;
    return p;
}

static bool reads_for_gradient(const struct model_node *n, const char *name)
{
    const struct op_def *def = op_find(n->domain, n->op_type);
    for (size_t i = 0; def && i < n->inputs.count; i++)
        if (str_equal(n->inputs.data[i], name) && !(param_of(def, i)->flags & PARAM_NOT_DIFF))
            return true;
    return false;
}

static bool is_differentiable(const struct model_graph *g, const struct model_value_info *v)
{
    for (size_t i = 0; is_floating(v) && i < g->nodes.count; i++)
        if (reads_for_gradient(g->nodes.data[i], v->name))
            return true;
    return false;
}

bool sample_has_gradient(const struct model *m)
{
    const struct model_graph *g = m->graph;
    bool from = false, to = false;
    for (size_t i = 0; i < g->inputs.count; i++)
        from = from || is_differentiable(g, g->inputs.data[i]);
    for (size_t i = 0; i < g->outputs.count; i++)
        to = to || is_floating(g->outputs.data[i]);
    return from && to;
}

/* ---- derivatives ------------------------------------------------------------------------------------------------- */

typedef VEC(struct model_value_info *) value_list;

struct deriver {
    struct arena *arena;
    struct model_graph *graph;
    bool wide;
    value_list xs;
};

static const char *one(struct deriver *d, const char *op, const char *first, const char *second, const char *result)
{
    const char *const in[] = {first, second, NULL}, *const out[] = {result, NULL};
    model_add_node(d->arena, d->graph, "", op, in, out);
    return result;
}

static const char *cast_to_double(struct deriver *d, const char *x, const char *result)
{
    one(d, "Cast", x, NULL, result);
    model_set_int(d->arena, d->graph->nodes.data[d->graph->nodes.count - 1], "to", DTYPE_DOUBLE);
    return result;
}

/* sum(x * cotangent), as a double scalar; the cotangent is a new input. */
static const char *weighed(struct deriver *d, const struct model_value_info *x, const char *name, const char *prefix)
{
    struct arena *a = d->arena;
    const char *cotangent = arena_printf(a, "%s_for_%s", prefix, x->name),
               *stem = arena_printf(a, "%s_%s", prefix, x->name);
    model_add_value(a, d->graph, 0, cotangent, x->type.elem, x->type.dims.data, x->type.dims.count);
    const char *product = one(d, "Mul", name, cotangent, arena_printf(a, "%s_product", stem));
    const char *sum = one(d, "ReduceSum", product, NULL, arena_printf(a, "%s_sum", stem));
    model_set_int(a, d->graph->nodes.data[d->graph->nodes.count - 1], "keepdims", 0);
    return cast_to_double(d, sum, arena_printf(a, "%s_double", stem));
}

static void add_output(struct deriver *d, const char *name, enum dtype dtype, const struct model_value_info *like)
{
    model_add_value(d->arena, d->graph, 1, name, dtype, like ? like->type.dims.data : NULL,
                    like ? like->type.dims.count : 0);
}

/* loss = the sum of the terms. */
static void add_loss(struct deriver *d, const str_list *terms, const char *loss)
{
    const char *sum = terms->data[0];
    for (size_t i = 1; i < terms->count; i++)
        sum = one(d, "Add", sum, terms->data[i], arena_printf(d->arena, "%s_part_%zu", loss, i));
    one(d, "Identity", sum, NULL, loss);
    add_output(d, loss, DTYPE_DOUBLE, NULL);
}

/* Gradient of `loss` by all xs; results are called PREFIX_x and become outputs. */
static void add_gradient(struct deriver *d, const char *loss, const char *prefix)
{
    const char **xs = arena_array(d->arena, const char *, d->xs.count + 1);
    const char **results = arena_array(d->arena, const char *, d->xs.count + 1);
    for (size_t i = 0; i < d->xs.count; i++) {
        xs[i] = d->xs.data[i]->name;
        results[i] = arena_printf(d->arena, "%s_of_%s", prefix, xs[i]);
    }
    struct model_node *n = model_add_node(d->arena, d->graph, DOMAIN_TRAINING, "Gradient", xs, results);
    model_set_strings(d->arena, n, "xs", xs, d->xs.count);
    model_set_string(d->arena, n, "y", loss);
    for (size_t i = 0; i < d->xs.count; i++) {
        const char *name = arena_printf(d->arena, "%s_%s", prefix, xs[i]);
        if (d->wide)
            cast_to_double(d, results[i], name);
        else
            one(d, "Identity", results[i], NULL, name);
        add_output(d, name, d->wide ? DTYPE_DOUBLE : d->xs.data[i]->type.elem, d->xs.data[i]);
    }
}

/* Feeds x as the double "wide_x" through a cast. Casts stand first: xs are results of nodes then. */
static void widen_inputs(struct deriver *d)
{
    struct model_graph *g = d->graph;
    const size_t own = g->nodes.count;
    for (size_t i = 0; i < d->xs.count; i++) {
        const char *x = d->xs.data[i]->name, *wide = arena_printf(d->arena, "wide_%s", x);
        one(d, "Cast", wide, NULL, x);
        model_set_int(d->arena, g->nodes.data[g->nodes.count - 1], "to", d->xs.data[i]->type.elem);
        /* The list of xs keeps the description of x; the graph's input gets its own. */
        for (size_t k = 0; k < g->inputs.count; k++)
            if (g->inputs.data[k] == d->xs.data[i]) {
                struct model_value_info *v = arena_new(d->arena, struct model_value_info);
                *v = *d->xs.data[i];
                v->name = wide;
                v->type.elem = DTYPE_DOUBLE;
                g->inputs.data[k] = v;
            }
    }
    const size_t casts = g->nodes.count - own;
    struct model_node **nodes = arena_array(d->arena, struct model_node *, g->nodes.count);
    memcpy(nodes, g->nodes.data + own, casts * sizeof *nodes);
    memcpy(nodes + casts, g->nodes.data, own * sizeof *nodes);
    memcpy(g->nodes.data, nodes, g->nodes.count * sizeof *nodes);
}

void sample_differentiate(struct arena *a, struct model *m, const struct derivative_options *o)
{
    struct deriver d = {.arena = a, .graph = m->graph, .wide = o->wide};
    const size_t outputs = m->graph->outputs.count;
    str_list terms = {0}, terms_2 = {0};
    for (size_t i = 0; i < m->graph->inputs.count; i++)
        if (is_differentiable(m->graph, m->graph->inputs.data[i]))
            vec_push(a, &d.xs, m->graph->inputs.data[i]);
    if (o->wide)
        widen_inputs(&d);
    for (size_t i = 0; i < outputs; i++) {
        const struct model_value_info *y = m->graph->outputs.data[i];
        if (is_floating(y))
            vec_push(a, &terms, weighed(&d, y, y->name, "c"));
    }
    add_loss(&d, &terms, "loss");
    add_gradient(&d, "loss", "d");
    if (o->order < 2)
        return;
    for (size_t i = 0; i < d.xs.count; i++)
        vec_push(a, &terms_2, weighed(&d, d.xs.data[i], arena_printf(a, "d_of_%s", d.xs.data[i]->name), "c2"));
    add_loss(&d, &terms_2, "loss_2");
    add_gradient(&d, "loss_2", "d2");
}
