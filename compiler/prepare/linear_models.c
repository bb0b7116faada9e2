#include "prepare/linear_models.h"

#include "graph/op_def.h"

struct spelling {
    struct edit *e;
    struct arena *arena;
    struct model_graph *graph;
    struct model_graph made; /* its nodes are the new list */
    struct map softmax;      /* results of Softmax that were made here */
    struct map reads;        /* what the nodes of the graph read; without an arena: not looked at yet */
    str_list weights;
};

/* A linear model: what its attributes say, if all fits together. */
struct linear_model {
    const struct model_node *node;
    const char *x, *title, *post;
    const struct model_attr *coefficients, *intercepts; /* intercepts NULL: none */
    int64_t results, features;
};

static const char *text_of(const struct model_node *n, const char *name)
{
    const struct model_attr *const a = model_find_attr(&n->attrs, name);
    return a && a->type == ATTR_STRING ? a->s.data : "NONE";
}

static size_t count_of(const struct model_node *n, const char *name)
{
    const struct model_attr *const a = model_find_attr(&n->attrs, name);
    return !a ? 0 : a->type == ATTR_FLOATS ? a->floats.count : a->type == ATTR_INTS ? a->ints.count : a->strings.count;
}

/* Is the attribute, if it is there, of that type? */
static bool is_of_type(const struct model_node *n, const char *name, enum attr_type type)
{
    const struct model_attr *const a = model_find_attr(&n->attrs, name);
    return !a || a->type == type;
}

static const char *output_of(const struct model_node *n, size_t i)
{
    return i < n->outputs.count ? n->outputs.data[i] : "";
}

/* Is it known to be one row without an axis for samples? */
static bool is_row(const struct spelling *s, const char *name)
{
    const struct model_value_info *const v = model_find_value(&s->graph->inputs, name);
    return v && v->type.kind == TYPE_TENSOR && v->type.has_shape && v->type.dims.count != 2;
}

static bool read_linear(const struct spelling *s, const struct model_node *n, int64_t results, struct linear_model *out)
{
    const size_t given = count_of(n, "coefficients"), intercepts = count_of(n, "intercepts");
    const char *const post = text_of(n, "post_transform");
    const bool is_known = str_equal(post, "NONE") || str_equal(post, "LOGISTIC") || str_equal(post, "SOFTMAX");
    if (n->inputs.count != 1 || is_row(s, n->inputs.data[0]) || results < 1 || given == 0 ||
        given % (uint64_t)results != 0 || (intercepts != 0 && intercepts != (uint64_t)results) || !is_known)
        return false;
    *out = (struct linear_model){.node = n,
                                 .x = n->inputs.data[0],
                                 .title = n->name[0] != '\0' ? n->name : n->op_type,
                                 .post = post,
                                 .coefficients = model_find_attr(&n->attrs, "coefficients"),
                                 .intercepts = intercepts ? model_find_attr(&n->attrs, "intercepts") : NULL,
                                 .results = results,
                                 .features = (int64_t)(given / (uint64_t)results)};
    return out->coefficients->type == ATTR_FLOATS && (!out->intercepts || out->intercepts->type == ATTR_FLOATS);
}

/* ---- nodes and initializers -------------------------------------------------------------------------------------- */

static struct model_node *add_node(struct spelling *s, const struct linear_model *l, const char *op,
                                   const char *const *in, const char *out)
{
    struct model_node *const n = model_add_node(s->arena, &s->made, "", op, in, (const char *[]){out, NULL});
    n->name = edit_fresh_name(s->e, arena_printf(s->arena, "%s.%s", l->title, op));
    n->loc = l->node->loc;
    n->metadata = l->node->metadata;
    return n;
}

static const char *add_initializer(struct spelling *s, const struct linear_model *l, const char *part, struct tensor *t)
{
    struct model_initializer *const init = arena_new(s->arena, struct model_initializer);
    init->name = edit_fresh_name(s->e, arena_printf(s->arena, "%s.%s", l->title, part));
    init->doc = "";
    init->tensor = t;
    init->loc = l->node->loc;
    vec_push(s->arena, &s->graph->initializers, init);
    return init->name;
}

static const char *add_weight(struct spelling *s, const struct linear_model *l, const char *part,
                              const struct model_attr *a, const struct shape *shape)
{
    struct tensor *const t = tensor_new(s->arena, DTYPE_FLOAT, shape);
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_double(t, i, (double)a->floats.data[i]);
    const char *const name = add_initializer(s, l, part, t);
    vec_push(s->arena, &s->weights, name);
    return name;
}

static const char *inner_name(struct spelling *s, const struct linear_model *l, const char *part)
{
    return edit_fresh_name(s->e, arena_printf(s->arena, "%s.%s", l->title, part));
}

/* The scores in front of the transformation are called `name`. */
static void add_scores(struct spelling *s, const struct linear_model *l, const char *name)
{
    const struct model_value_info *const v = model_find_value(&s->graph->inputs, l->x);
    const char *in[] = {l->x, add_weight(s, l, "coefficients", l->coefficients, &SHAPE(l->results, l->features)), NULL,
                        NULL};
    if (!v || v->type.elem != DTYPE_FLOAT) {
        const char *const as_float = inner_name(s, l, "x");
        struct model_node *const cast = add_node(s, l, "Cast", (const char *[]){l->x, NULL}, as_float);
        model_set_int(s->arena, cast, "to", DTYPE_FLOAT);
        in[0] = as_float;
    }
    if (l->intercepts)
        in[2] = add_weight(s, l, "intercepts", l->intercepts, &SHAPE(l->results));
    model_set_int(s->arena, add_node(s, l, "Gemm", in, name), "transB", 1);
}

/* y = post(scores); "": nobody wants it. Returns the name of the scores. */
static const char *add_results(struct spelling *s, const struct linear_model *l, const char *y)
{
    const bool is_plain = str_equal(l->post, "NONE"), is_softmax = str_equal(l->post, "SOFTMAX");
    const char *const scores = is_plain && y[0] != '\0' ? y : inner_name(s, l, "scores");
    add_scores(s, l, scores);
    if (is_plain || y[0] == '\0')
        return scores;
    struct model_node *const n = add_node(s, l, is_softmax ? "Softmax" : "Sigmoid", (const char *[]){scores, NULL}, y);
    if (is_softmax) {
        model_set_int(s->arena, n, "axis", 1);
        map_set(&s->softmax, y, n);
    }
    return scores;
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static void add_label(struct spelling *s, const struct linear_model *l, const char *scores, const char *label)
{
    const struct model_attr *const labels = model_find_attr(&l->node->attrs, "classlabels_ints");
    struct tensor *const t = tensor_new(s->arena, DTYPE_INT64, &SHAPE(l->results));
    for (int64_t i = 0; i < t->count; i++)
        tensor_set_int(t, i, labels->ints.data[i]);
    const char *const list = add_initializer(s, l, "labels", t), *const best = inner_name(s, l, "best");
    struct model_node *const n = add_node(s, l, "ArgMax", (const char *[]){scores, NULL}, best);
    model_set_int(s->arena, n, "axis", 1);
    model_set_int(s->arena, n, "keepdims", 0);
    add_node(s, l, "Gather", (const char *[]){list, best, NULL}, label);
}

static void note_reads(const struct model_graph *g, struct map *reads)
{
    vec_each (const struct model_node *, n, &g->nodes) {
        vec_each (const char *, name, &n->inputs)
            map_set(reads, name, NULL);
        model_each_inner(n, inner) note_reads(inner, reads);
    }
}

static bool is_read(struct spelling *s, const char *name)
{
    if (!s->reads.arena) {
        s->reads.arena = s->arena;
        note_reads(s->graph, &s->reads);
    }
    return map_has(&s->reads, name);
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static bool spell_regressor(struct spelling *s, const struct model_node *n)
{
    const struct model_attr *const targets = model_find_attr(&n->attrs, "targets");
    struct linear_model l;
    if (!read_linear(s, n, targets ? targets->i : 1, &l) || output_of(n, 0)[0] == '\0')
        return false;
    add_results(s, &l, output_of(n, 0));
    return true;
}

static bool spell_classifier(struct spelling *s, const struct model_node *n)
{
    const size_t ints = count_of(n, "classlabels_ints"), texts = count_of(n, "classlabels_strings");
    const char *const label = output_of(n, 0), *const y = output_of(n, 1);
    struct linear_model l;
    const bool is_wanted = is_read(s, label) || edit_is_output(s->e, label);
    if (!is_of_type(n, "classlabels_ints", ATTR_INTS) || !is_of_type(n, "classlabels_strings", ATTR_STRINGS) ||
        !read_linear(s, n, (int64_t)(ints > 0 ? ints : texts), &l) || (texts > 0 && (ints > 0 || is_wanted)))
        return false;
    const char *const scores = add_results(s, &l, y);
    if (ints > 0 && label[0] != '\0')
        add_label(s, &l, scores, label);
    return true;
}

static bool spell_normalizer(struct spelling *s, const struct model_node *n)
{
    if (!str_equal(text_of(n, "norm"), "L1") || n->inputs.count != 1 || n->outputs.count != 1 ||
        !map_has(&s->softmax, n->inputs.data[0]))
        return false;
    struct linear_model l = {.node = n, .title = n->name[0] != '\0' ? n->name : n->op_type};
    add_node(s, &l, "Identity", (const char *[]){n->inputs.data[0], NULL}, n->outputs.data[0]);
    return true;
}

static bool spell_out(struct spelling *s, const struct model_node *n)
{
    if (!str_equal(n->domain, DOMAIN_ML))
        return false;
    return str_equal(n->op_type, "LinearRegressor")    ? spell_regressor(s, n)
           : str_equal(n->op_type, "LinearClassifier") ? spell_classifier(s, n)
           : str_equal(n->op_type, "Normalizer")       ? spell_normalizer(s, n)
                                                       : false;
}

void spell_out_linear_models(struct edit *e)
{
    enum { MOST_NAMED = 6 };
    struct spelling s = {.e = e, .arena = e->arena, .graph = e->model->graph, .softmax.arena = e->arena};
    vec_each (struct model_node *, n, &s.graph->nodes)
        if (!spell_out(&s, n))
            vec_push(s.arena, &s.made.nodes, n);
    if (s.weights.count == 0)
        return;
    s.graph->nodes = s.made.nodes;
    edit_changed(e, "linear models of ai.onnx.ml as matrix products");
    edit_say(e, "linear models of ai.onnx.ml are matrix products now, of %s",
             names_text(s.arena, &s.weights, MOST_NAMED));
}
