#include "report/picture.h"

#include "base/map.h"
#include "graph/op_def.h"
#include "model/model.h"
#include "report/report_internal.h"
#include <inttypes.h>
#include <stdint.h>

/* ---- building ---------------------------------------------------------------------------------------------------- */

struct picture_builder {
    struct arena *arena;
    const struct report *report;
    struct picture picture;
    struct map at; /* value -> index of the node that gives it + 1 */
};

static int add_node(struct picture_builder *b, struct picture_node n)
{
    n.depends = str_equal(n.kind, "input");
    vec_push(b->arena, &b->picture.nodes, n);
    return (int)b->picture.nodes.count - 1;
}

static void add_edge(struct picture_builder *b, int from, int to, const char *name, const char *type)
{
    for (size_t i = b->picture.edges.count; i-- > 0 && b->picture.edges.data[i].to == to;)
        if (b->picture.edges.data[i].from == from && str_equal(b->picture.edges.data[i].name, name))
            return;
    if (from < 0 || from >= to)
        return;
    vec_push(b->arena, &b->picture.edges, ((struct picture_edge){from, to, name, type}));
    b->picture.nodes.data[to].depends |= b->picture.nodes.data[from].depends;
}

static void give(struct picture_builder *b, const char *value, int node)
{
    map_set(&b->at, value, (void *)(intptr_t)(node + 1));
}

/* -1 where nothing drawn gives the value. */
static int giver(const struct picture_builder *b, const char *value)
{
    return (int)(intptr_t)map_get(&b->at, value) - 1;
}

/* ---- the main graph ---------------------------------------------------------------------------------------------- */

/* Shapes as some entry found them; the graph of a step has the names of the main graph. */
static const char *type_of(const struct picture_builder *b, const char *name)
{
    const struct program *p = b->report->program;
    for (size_t i = p->entries.count; i-- > 0;) {
        const struct value *v = graph_find(p->entries.data[i].graph, name);
        if (v && p->entries.data[i].kind != ENTRY_INIT)
            return readable_type(b->arena, v->dtype, &v->shape);
    }
    return "";
}

static const char *parameters_of(const struct picture_builder *b, const struct model_node *n)
{
    const struct model_graph *g = b->report->program->model->graph;
    struct strbuf text = {.arena = b->arena};
    for (size_t i = 0; i < n->inputs.count; i++) {
        const struct model_initializer *init = model_find_initializer(g, n->inputs.data[i]);
        if (init && init->tensor->shape.rank > 0 && dtype_is_float(init->tensor->dtype))
            strbuf_addf(&text, "%s%s %s", text.length ? ", " : "", init->name,
                        shape_text(b->arena, &init->tensor->shape));
    }
    return strbuf_text(&text);
}

/* Shapes, axes and masks that an exporter computes from constants hide the network. */
static bool is_constant(const struct picture_builder *b, const struct model_node *n, const char *parameters)
{
    const struct op_def *const def = op_find(n->domain, n->op_type);
    bool depends = parameters[0] || (def && def->is_random);
    for (size_t i = 0; i < n->inputs.count; i++)
        depends |= giver(b, n->inputs.data[i]) >= 0;
    for (size_t i = 0; i < n->attrs.count; i++)
        depends |= n->attrs.data[i]->type == ATTR_GRAPH; /* which may read anything */
    return !depends;
}

static void add_model_node(struct picture_builder *b, const struct model_node *n, int number)
{
    const char *detail = parameters_of(b, n);
    if (is_constant(b, n, detail))
        return;
    struct strbuf tip = {.arena = b->arena};
    strbuf_addf(&tip, "%s", n->op_type);
    if (n->name[0])
        strbuf_addf(&tip, " \"%s\"", n->name);
    if (detail[0])
        strbuf_addf(&tip, "\nparameters: %s", detail);
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i][0])
            strbuf_addf(&tip, "\n%s %s %s", i ? "and" : "gives", n->outputs.data[i], type_of(b, n->outputs.data[i]));
    const int at = add_node(b, (struct picture_node){.id = "", .kind = "node", .number = number, .title = n->op_type,
                                                     .detail = detail, .tooltip = strbuf_text(&tip)});
    for (size_t i = 0; i < n->inputs.count; i++)
        if (n->inputs.data[i][0])
            add_edge(b, giver(b, n->inputs.data[i]), at, n->inputs.data[i], type_of(b, n->inputs.data[i]));
    for (size_t i = 0; i < n->outputs.count; i++)
        if (n->outputs.data[i][0])
            give(b, n->outputs.data[i], at);
}

static void add_ends(struct picture_builder *b, const struct model_graph *g, bool outputs)
{
    const size_t count = outputs ? g->outputs.count : g->inputs.count;
    for (size_t i = 0; i < count; i++) {
        const char *name = outputs ? g->outputs.data[i]->name : g->inputs.data[i]->name, *type = type_of(b, name);
        if (!outputs && model_find_initializer(g, name))
            continue; /* a default value: a parameter */
        const char *tip = arena_printf(b->arena, "%s %s %s", outputs ? "output" : "input", name, type);
        const int at = add_node(b, (struct picture_node){.id = "", .kind = outputs ? "output" : "input", .number = -1,
                                                         .title = name, .detail = type, .tooltip = tip});
        if (outputs)
            add_edge(b, giver(b, name), at, name, type);
        else
            give(b, name, at);
    }
}

struct picture picture_of_model(const struct report *r)
{
    struct picture_builder b = {.arena = r->arena, .report = r, .at = {.arena = r->arena}};
    const struct model_graph *g = r->program->model->graph;
    add_ends(&b, g, false);
    for (size_t i = 0; i < g->nodes.count; i++)
        add_model_node(&b, g->nodes.data[i], (int)i);
    add_ends(&b, g, true);
    return b.picture;
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

struct kernels {
    struct picture_builder b;
    const struct report_entry *entry;
    int *writer; /* by buffer id: node that wrote it last, + 1 */
};

static const char *variables_text(struct arena *a, const buffer_list *list, const char *before)
{
    struct strbuf text = {.arena = a};
    for (size_t i = 0; i < list->count; i++)
        if (list->data[i]->kind == BUFFER_VARIABLE)
            strbuf_addf(&text, "%s%s", text.length ? ", " : before, list->data[i]->name);
    return strbuf_text(&text);
}

static const char *kernel_tooltip(struct arena *a, const struct report_kernel *k, size_t i)
{
    struct strbuf tip = {.arena = a};
    strbuf_addf(&tip, "kernel %zu: %s (%s)\n%s\n%s%s operations, %s read, %s written", i, k->name,
                report_phase_names[k->phase], k->about, readable_count(a, k->flops), k->flops_known ? "" : " or more",
                readable_bytes(a, k->bytes_read), readable_bytes(a, k->bytes_written));
    const char *reads = variables_text(a, &k->reads, "\nreads "), *writes = variables_text(a, &k->writes, "\nupdates ");
    strbuf_addf(&tip, "%s%s", reads, writes);
    return strbuf_text(&tip);
}

static void add_reads(struct kernels *q, const struct report_kernel *k, int to)
{
    struct arena *a = q->b.arena;
    vec_each(const struct buffer *, v, &k->reads)
        if (v->kind == BUFFER_TEMP || v->kind == BUFFER_INPUT)
            add_edge(&q->b, q->writer[v->id] - 1, to, v->name, readable_type(a, v->dtype, &v->shape));
}

static void add_kernel(struct kernels *q, const struct report_kernel *k, size_t number)
{
    struct arena *a = q->b.arena;
    if (!k->is_called) { /* the output is the buffer that it would copy */
        for (size_t i = 0; i < k->writes.count && k->reads.count; i++)
            q->writer[k->writes.data[i]->id] = q->writer[k->reads.data[0]->id];
        return;
    }
    const char *updates = variables_text(a, &k->writes, "updates "), *reads = variables_text(a, &k->reads, "");
    const struct picture_node n = {.id = arena_printf(a, "%s-%zu", q->entry->name, number),
                                   .kind = report_phase_names[k->phase], .number = (int)number, .title = k->name,
                                   .detail = updates[0] ? updates : reads, .tooltip = kernel_tooltip(a, k, number)};
    const int at = add_node(&q->b, n);
    add_reads(q, k, at);
    for (size_t i = 0; i < k->writes.count; i++)
        q->writer[k->writes.data[i]->id] = at + 1;
}

static size_t buffers_of(const struct report_entry *e)
{
    int most = -1;
    for (size_t k = 0; k < e->kernels.count; k++) {
        const buffer_list *lists[] = {&e->kernels.data[k].reads, &e->kernels.data[k].writes};
        for (int i = 0; i < 2; i++)
            for (size_t j = 0; j < lists[i]->count; j++)
                most = lists[i]->data[j]->id > most ? lists[i]->data[j]->id : most;
    }
    return (size_t)(most + 1);
}

static int add_end(struct kernels *q, const struct buffer *v, const char *kind)
{
    struct arena *a = q->b.arena;
    const char *type = readable_type(a, v->dtype, &v->shape), *tip = arena_printf(a, "%s %s %s", kind, v->name, type);
    return add_node(&q->b, (struct picture_node){.id = "", .kind = kind, .number = -1, .title = v->name, .detail = type,
                                                 .tooltip = tip});
}

/* Inputs that some kernel reads. */
static void add_inputs(struct kernels *q)
{
    for (size_t k = 0; k < q->entry->kernels.count; k++) {
        const buffer_list *reads = &q->entry->kernels.data[k].reads;
        for (size_t j = 0; j < reads->count; j++)
            if (reads->data[j]->kind == BUFFER_INPUT && !q->writer[reads->data[j]->id])
                q->writer[reads->data[j]->id] = 1 + add_end(q, reads->data[j], "input");
    }
}

static void add_outputs(struct kernels *q)
{
    for (size_t k = 0; k < q->entry->kernels.count; k++) {
        const buffer_list *writes = &q->entry->kernels.data[k].writes;
        vec_each(const struct buffer *, v, writes) {
            if (v->kind != BUFFER_OUTPUT || !q->writer[v->id])
                continue;
            const int from = q->writer[v->id] - 1, at = add_end(q, v, "output");
            add_edge(&q->b, from, at, v->name, readable_type(q->b.arena, v->dtype, &v->shape));
            q->writer[v->id] = 0; /* drawn */
        }
    }
}

struct picture picture_of_entry(const struct report *r, const struct report_entry *e)
{
    struct kernels q = {.b = {.arena = r->arena, .report = r, .at = {.arena = r->arena}}, .entry = e};
    q.writer = arena_array(r->arena, int, buffers_of(e) + 1);
    add_inputs(&q);
    for (size_t k = 0; k < e->kernels.count; k++)
        add_kernel(&q, &e->kernels.data[k], k);
    add_outputs(&q);
    return q.b.picture;
}
