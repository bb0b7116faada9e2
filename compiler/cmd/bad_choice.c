#include "cmd/bad_choice.h"

#include "base/str.h"
#include "graph/op_def.h"

struct index_choice {
    const struct node *node;
    int64_t from;           /* how many there are */
    bool is_label;          /* from 0; an index may count from the end */
    const int64_t *ignored; /* a label that chooses nothing, or NULL */
};

static bool is_bad(const struct index_choice *c, int64_t x)
{
    return (x >= c->from || x < (c->is_label ? 0 : -c->from)) && !(c->ignored && x == *c->ignored);
}

/* The input of the graph whose elements these are, in the same order. */
static const struct value *source_of(const struct value *v)
{
    while (v && v->kind == VALUE_RESULT &&
           (v->producer->def->is_reshape || node_is(v->producer, "Cast") || node_is(v->producer, "Identity")))
        v = v->producer->inputs.data[0];
    return v && v->kind == VALUE_INPUT ? v : NULL;
}

static const struct tensor *fed(const struct entry *e, const struct tensor *const *inputs, const struct value *v)
{
    for (size_t i = 0; i < e->graph->inputs.count; i++)
        if (e->graph->inputs.data[i] == v)
            return inputs[i];
    return NULL;
}

/* "[2,0]" */
static const char *place_text(struct arena *a, const struct shape *s, int64_t k)
{
    struct strbuf b = {.arena = a};
    for (int d = 0; d < s->rank; d++)
        strbuf_addf(&b, "%s%lld", d ? "," : "[", (long long)(k / shape_count_range(s, d + 1, s->rank) % s->dim[d]));
    strbuf_add(&b, s->rank > 0 ? "]" : "");
    return strbuf_text(&b);
}

static void note_choice(struct session *s, const char *where, const struct index_choice *c, const struct value *v,
                        const struct tensor *t, int64_t k, const struct data *data, const int64_t *order,
                        int64_t batch)
{
    const struct data_set *const set = data ? data_find(data, v->name) : NULL;
    const int64_t row = t->shape.rank > 0 ? k / shape_count_range(&t->shape, 1, t->shape.rank) : 0;
    const char *const sample =
        set ? arena_printf(&s->arena, ", of sample %lld of its data", (long long)order[batch * data->batch + row]) : "";
    diag_note(&s->diag, &c->node->loc, "%s: '%s'%s is %lld%s; %s chooses from %lld", where, v->name,
              place_text(&s->arena, &t->shape, k), (long long)tensor_get_int(t, k), sample,
              op_display_name(c->node->def), (long long)c->from);
}

/* What operand i of the node chooses from; from = 0: nothing. */
static struct index_choice choice_of(struct arena *a, const struct node *n, size_t i)
{
    const struct attr *const ignored = node_attr(n, "ignore_index");
    struct index_choice c = {.node = n};
    if (n->def->selects_from && n->inputs.data[i] && dtype_is_int(n->inputs.data[i]->dtype))
        c.from = n->def->selects_from(n, (int)i);
    c.is_label = node_is(n, "SoftmaxCrossEntropyLoss") || node_is(n, "NegativeLogLikelihoodLoss") ||
                 n->def == op_find(DOMAIN_STEPC, "PickLabels") ||
                 n->def == op_find(DOMAIN_STEPC, "SoftmaxCrossEntropyGrad");
    if (c.is_label && ignored)
        c.ignored = arena_copy(a, &ignored->i, sizeof ignored->i, alignof(int64_t));
    return c;
}

void explain_bad_choice(struct session *s, const char *where, const struct entry *entry,
                        const struct tensor *const *inputs, const struct data *data, const int64_t *order,
                        int64_t batch)
{
    graph_each_node(entry->graph, n)
        for (size_t i = 0; i < n->inputs.count; i++) {
            const struct index_choice c = choice_of(&s->arena, n, i);
            const struct value *const v = c.from > 0 ? source_of(n->inputs.data[i]) : NULL;
            const struct tensor *const t = v ? fed(entry, inputs, v) : NULL;
            for (int64_t k = 0; t && dtype_is_int(t->dtype) && k < t->count; k++)
                if (is_bad(&c, tensor_get_int(t, k))) {
                    note_choice(s, where, &c, v, t, k, data, order, batch);
                    return;
                }
        }
}
