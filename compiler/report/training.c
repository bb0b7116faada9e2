/* What an algorithm does, read off the model: the Gradient node names the loss; what leads from a gradient to
 * the new value of its variable is the optimizer. Only text is made of it, so what is not recognised is
 * described by its operators. */
#include "report/report_internal.h"

#include "base/map.h"
#include "graph/op_def.h"
#include "model/model.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- looking around ---------------------------------------------------------------------------------------------- */

struct training_reader {
    struct arena *arena;
    const struct model *model;
    const struct model_graph *algorithm;
    struct map producers; /* value of the algorithm -> struct model_node * */
};

static const struct model_node *producer(const struct training_reader *q, const char *name)
{
    return map_get(&q->producers, name);
}

static void find_producers(struct training_reader *q)
{
    const struct model_graph *g = q->algorithm;
    q->producers.arena = q->arena;
    vec_each(struct model_node *, n, &g->nodes)
        vec_each(const char *, name, &n->outputs)
            if (name[0])
                map_set(&q->producers, name, n);
}

static bool is_training_node(const struct model_node *n)
{
    return str_equal(n->domain, DOMAIN_TRAINING);
}

static bool is_gradient(const struct model_node *n)
{
    return is_training_node(n) && str_equal(n->op_type, "Gradient");
}

/* ---- nodes as text ----------------------------------------------------------------------------------------------- */

static void add_attr(struct strbuf *b, const struct model_attr *a, int *count)
{
    if (a->type != ATTR_FLOAT && a->type != ATTR_INT && a->type != ATTR_STRING)
        return; /* lists and graphs say too much */
    strbuf_addf(b, "%s%s=", (*count)++ ? ", " : "", a->name);
    if (a->type == ATTR_FLOAT)
        strbuf_addf(b, "%.6g", (double)a->f);
    else if (a->type == ATTR_INT)
        strbuf_addf(b, "%" PRId64, a->i);
    else
        strbuf_add(b, a->s.data);
}

/* "Adam<alpha=0.9, beta=0.999>" */
static const char *operator_text(struct arena *a, const struct model_node *n)
{
    struct strbuf b = {.arena = a}, attrs = {.arena = a};
    int count = 0;
    for (size_t i = 0; i < n->attrs.count; i++)
        add_attr(&attrs, n->attrs.data[i], &count);
    strbuf_add(&b, n->op_type);
    if (count)
        strbuf_addf(&b, "<%s>", strbuf_text(&attrs));
    return strbuf_text(&b);
}

static const char *node_text(struct arena *a, const struct model_node *n)
{
    struct strbuf b = {.arena = a};
    strbuf_addf(&b, "%s(", operator_text(a, n));
    for (size_t i = 0; i < n->inputs.count; i++)
        strbuf_addf(&b, "%s%s", i ? ", " : "", n->inputs.data[i]);
    strbuf_add(&b, ")");
    return strbuf_text(&b);
}

static const struct model_node *find_producer_in(const struct model_graph *g, const char *name)
{
    vec_each(const struct model_node *, n, &g->nodes)
        if (str_list_has(&n->outputs, name))
            return n;
    return NULL;
}

/* ---- gradients --------------------------------------------------------------------------------------------------- */

static void read_gradient(const struct training_reader *q, const struct model_node *n, struct report_training *out)
{
    const struct model_attr *y = model_find_attr(&n->attrs, "y"), *xs = model_find_attr(&n->attrs, "xs");
    if (y && y->type == ATTR_STRING && !out->loss) {
        out->loss = y->s.data;
        const struct model_node *from = producer(q, out->loss);
        from = from ? from : find_producer_in(q->model->graph, out->loss);
        out->loss_text = from ? node_text(q->arena, from) : NULL;
    }
    for (size_t i = 0; xs && i < xs->strings.count; i++)
        vec_push(q->arena, &out->trains, xs->strings.data[i].data);
}

/* ---- updates ----------------------------------------------------------------------------------------------------- */

/* Where a learning rate comes from. */
static const char *rate_text(const struct training_reader *q, const struct report *r, const char *name)
{
    const struct model_initializer *init = model_find_initializer(q->algorithm, name);
    init = init ? init : model_find_initializer(q->model->graph, name);
    if (init && init->tensor->count == 1 && dtype_is_float(init->tensor->dtype)) {
        const double x = tensor_get_double(init->tensor, 0);
        return program_variable(r->program, name)
                   ? arena_printf(q->arena, "variable '%s', initially %.6g", name, x)
                   : arena_printf(q->arena, "%.6g", x);
    }
    const struct model_node *n = producer(q, name);
    return n ? arena_printf(q->arena, "'%s', computed by %s", name, n->op_type)
             : arena_printf(q->arena, "input '%s'", name);
}

/* The nodes between a new value and what it depends on; gradients, and what they stand on, are not entered. */
struct chain {
    VEC(const struct model_node *) nodes;
    struct map seen; /* values */
};

static void follow(const struct training_reader *q, struct chain *c, const char *first)
{
    VEC(const char *) open = {0};
    vec_push(q->arena, &open, first);
    while (open.count) {
        const char *name = open.data[--open.count];
        const struct model_node *n = map_has(&c->seen, name) ? NULL : producer(q, name);
        map_set(&c->seen, name, NULL);
        if (!n || is_gradient(n))
            continue;
        bool known = false;
        for (size_t i = 0; i < c->nodes.count; i++)
            known |= c->nodes.data[i] == n;
        if (known)
            continue;
        vec_push(q->arena, &c->nodes, n);
        vec_each(const char *, input, &n->inputs)
            if (input[0])
                vec_push(q->arena, &open, input);
    }
}

static const char *operators_of(struct arena *a, const struct chain *c)
{
    const char **names = arena_array(a, const char *, c->nodes.count + 1);
    struct strbuf b = {.arena = a};
    for (size_t i = 0; i < c->nodes.count; i++)
        names[i] = c->nodes.data[i]->op_type;
    str_sort(names, c->nodes.count);
    for (size_t i = 0; i < c->nodes.count; i++)
        if (i == 0 || strcmp(names[i], names[i - 1]) != 0)
            strbuf_addf(&b, "%s%s", i ? ", " : "", names[i]);
    return strbuf_text(&b);
}

static bool is_of_gradient(const struct training_reader *q, const char *name)
{
    const struct model_node *n = producer(q, name);
    return n && is_gradient(n);
}

/* X - R * G, in either order of the product: R, or NULL. */
static const char *descent_rate(const struct training_reader *q, const struct model_node *sub, const char *x)
{
    const struct model_node *mul = sub->inputs.count == 2 ? producer(q, sub->inputs.data[1]) : NULL;
    if (!str_equal(sub->op_type, "Sub") || sub->domain[0] || !str_equal(sub->inputs.data[0], x) || !mul ||
        !str_equal(mul->op_type, "Mul") || mul->domain[0] || mul->inputs.count != 2)
        return NULL;
    for (int i = 0; i < 2; i++)
        if (is_of_gradient(q, mul->inputs.data[i]))
            return mul->inputs.data[1 - i];
    return NULL;
}

/* Does some algorithm give the variable a new value, rather than its own again? */
static bool is_changed(const struct model *m, const char *name)
{
    vec_each(const struct model_training *, t, &m->training)
        vec_each_ptr(const struct model_pair, binding, &t->update_binding) {
            if (!str_equal(binding->key, name))
                continue;
            const struct model_node *n = t->algorithm ? find_producer_in(t->algorithm, binding->value) : NULL;
            if (!n || !str_equal(n->op_type, "Identity") || !str_equal(n->inputs.data[0], name))
                return true;
        }
    return false;
}

/* Of a written-out update: the one floating scalar that it reads and that the program sets, a variable or an input.
 * NULL where there are several, or none. */
static const char *only_scalar(const struct training_reader *q, const struct report *r, const struct chain *c)
{
    const char *found = NULL;
    int count = 0;
    for (size_t i = 0; i < c->seen.count; i++) {
        const char *name = c->seen.entries[i].key;
        const struct model_value_info *input = model_find_value(&q->algorithm->inputs, name);
        bool scalar = input && input->type.kind == TYPE_TENSOR && dtype_is_float(input->type.elem) &&
                      input->type.has_shape && input->type.dims.count == 0;
        const struct variable *v = program_variable(r->program, name);
        scalar |= v && dtype_is_float(v->dtype) && v->shape.rank == 0 && !is_changed(q->model, name);
        count += scalar;
        found = scalar ? name : found;
    }
    return count == 1 ? found : NULL;
}

static void describe_update(const struct training_reader *q, const struct report *r, const struct model_pair *binding,
                            struct report_training *out)
{
    struct chain c = {.seen = {.arena = q->arena}};
    const struct model_node *last = producer(q, binding->value);
    follow(q, &c, binding->value);
    vec_each(const struct model_node *, n, &c.nodes)
        if (is_training_node(n)) {
            out->optimizer = operator_text(q->arena, n);
            if (n->inputs.count)
                out->rate = rate_text(q, r, n->inputs.data[0]);
            return;
        }
    const char *rate = last ? descent_rate(q, last, binding->key) : NULL;
    if (rate) {
        out->optimizer = "gradient descent, X - R * G";
        out->rate = rate_text(q, r, rate);
    } else if (c.nodes.count) {
        out->optimizer = arena_printf(q->arena, "written out (%s)", operators_of(q->arena, &c));
        rate = only_scalar(q, r, &c);
        out->rate = rate ? rate_text(q, r, rate) : NULL;
    }
}

/* Does the main graph read the tensor as it stands? Then it is a parameter, not a moment of the optimizer. */
static bool is_weight(const struct report *r, const char *name)
{
    const struct variable *v = program_variable(r->program, name);
    return v && v->role == ROLE_WEIGHT;
}

/* The update of the first weight stands for all of them. */
static void read_updates(const struct training_reader *q, const struct report *r, const struct model_training *t,
                         struct report_training *out)
{
    for (size_t i = 0; i < t->update_binding.count && !out->optimizer; i++)
        if (is_weight(r, t->update_binding.data[i].key))
            describe_update(q, r, &t->update_binding.data[i], out);
}

static const char *entry_of(const struct program *p, size_t training)
{
    for (size_t i = 0; i < p->entries.count; i++)
        if (p->entries.data[i].training == (int)training)
            return p->entries.data[i].name;
    return NULL;
}

void gather_trainings(struct report *r)
{
    const struct model *m = r->program->model;
    for (size_t k = 0; k < m->training.count; k++) {
        const struct model_training *t = m->training.data[k];
        struct report_training out = {.entry = entry_of(r->program, k)};
        if (!t->algorithm)
            continue;
        struct training_reader q = {.arena = r->arena, .model = m, .algorithm = t->algorithm};
        find_producers(&q);
        vec_each(const struct model_node *, n, &t->algorithm->nodes)
            if (is_gradient(n))
                read_gradient(&q, n, &out);
        read_updates(&q, r, t, &out);
        if (out.loss || out.optimizer) /* neither: it only computes, metrics say */
            vec_push(r->arena, &r->trainings, out);
    }
}
