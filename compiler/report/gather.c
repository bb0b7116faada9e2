/* From a program and its plans to what the report says. */
#include "report/report_internal.h"

#include "base/checked.h"
#include "graph/op_def.h"
#include "model/model.h"
#include <stdlib.h>
#include <string.h>

const char *const report_role_names[REPORT_ROLES] = {"weight", "statistic", "optimizer", "counter", "sum", "frozen"};
const char *const report_phase_names[REPORT_PHASES] = {"forward", "backward", "update", "copy"};
const char *const report_temporary_names[TEMPORARY_KINDS] = {"forward", "kept", "gradient", "scratch"};

/* ---- the model --------------------------------------------------------------------------------------------------- */

static struct report_tensor tensor_of(const char *name, enum dtype d, const struct shape *s)
{
    return (struct report_tensor){name, d, *s, shape_count(s) * (int64_t)dtype_size(d)};
}

static void add_parameter(struct report *r, const struct report_tensor *t, enum report_role role)
{
    vec_push(r->arena, &r->parameters, ((struct report_parameter){*t, role}));
    r->roles[role].tensors++;
    r->roles[role].elements += shape_count(&t->shape);
    r->roles[role].bytes += t->bytes;
}

/* Numbers of the main graph that nothing changes; integers are shapes and axes, not parameters. */
static void gather_frozen(struct report *r)
{
    const struct model_graph *g = r->program->model->graph;
    vec_each(const struct model_initializer *, init, &g->initializers) {
        if (!dtype_is_float(init->tensor->dtype) || program_variable(r->program, init->name))
            continue;
        const struct report_tensor t = tensor_of(init->name, init->tensor->dtype, &init->tensor->shape);
        add_parameter(r, &t, REPORT_FROZEN);
    }
}

static void gather_parameters(struct report *r)
{
    static const enum report_role roles[] = {[ROLE_WEIGHT] = REPORT_WEIGHT, [ROLE_STATISTIC] = REPORT_STATISTIC,
                                             [ROLE_OPTIMIZER] = REPORT_OPTIMIZER, [ROLE_COUNTER] = REPORT_COUNTER,
                                             [ROLE_SUM] = REPORT_SUM};
    vec_each(const struct variable *, v, &r->program->variables) {
        const struct report_tensor t = tensor_of(v->name, v->dtype, &v->shape);
        add_parameter(r, &t, roles[v->role]);
    }
    gather_frozen(r);
}

static void gather_model(struct report *r)
{
    const struct model *m = r->program->model;
    struct strbuf opsets = {.arena = r->arena};
    r->file = m->file;
    r->graph = m->graph->name;
    for (size_t i = 0; i < m->opsets.count; i++)
        strbuf_addf(&opsets, "%s%s %lld", i ? ", " : "",
                    m->opsets.data[i].domain[0] ? m->opsets.data[i].domain : "ai.onnx",
                    (long long)m->opsets.data[i].version);
    r->opsets = strbuf_text(&opsets);
    for (int i = 0; i < 32; i++)
        snprintf(r->digest + 2 * i, 3, "%02x", m->digest[i]);
}

/* ---- kernels ----------------------------------------------------------------------------------------------------- */

/* What sets nodes apart from others of their operator: " "fc1"", " (gradient of node 'fc1')", or nothing. */
static const char *apart(struct arena *a, const struct node *n)
{
    if (n->loc.origin)
        return arena_printf(a, " (%s)", n->loc.origin);
    return n->name[0] ? arena_printf(a, " \"%s\"", n->name) : "";
}

/* The operators of nodes from `first` on that have the same text behind them, each once: "Mul x3, Sub". They
 * are marked as said. */
static void add_group(struct strbuf *b, const struct kernel *k, size_t first, const char *const *behind, bool *said)
{
    const char *separator = "";
    for (size_t i = first; i < k->nodes.count; i++) {
        int count = 0;
        if (!str_equal(behind[i], behind[first]))
            continue;
        for (size_t j = i; j < k->nodes.count && !said[i]; j++) {
            if (said[j] || k->nodes.data[j]->def != k->nodes.data[i]->def || !str_equal(behind[j], behind[first]))
                continue;
            count++;
            said[j] = j != i;
        }
        if (count == 0)
            continue;
        said[i] = true;
        strbuf_addf(b, "%s%s", separator, op_display_name(k->nodes.data[i]->def));
        if (count > 1)
            strbuf_addf(b, " x%d", count);
        separator = ", ";
    }
    strbuf_add(b, behind[first]);
}

static const char *about_kernel(struct arena *a, const struct kernel *k)
{
    struct strbuf b = {.arena = a};
    bool *said = arena_array(a, bool, k->nodes.count + 1);
    const char **behind = arena_array(a, const char *, k->nodes.count + 1);
    for (size_t i = 0; i < k->nodes.count; i++)
        behind[i] = apart(a, k->nodes.data[i]);
    for (size_t i = 0; i < k->nodes.count; i++) {
        if (said[i])
            continue;
        strbuf_add(&b, b.length ? "; " : "");
        add_group(&b, k, i, behind, said);
    }
    return strbuf_text(&b);
}

static bool is_of_gradient(const struct kernel *k)
{
    vec_each(const struct node *, n, &k->nodes)
        if (n->loc.origin && str_starts_with(n->loc.origin, "gradient of"))
            return true;
    return false;
}

static enum report_phase phase_of(const struct kernel *k, bool updates)
{
    struct buffer *from, *to;
    if (is_of_gradient(k))
        return PHASE_BACKWARD;
    if (updates)
        return PHASE_UPDATE;
    return kernel_is_copy(k, &from, &to) ? PHASE_COPY : PHASE_FORWARD;
}

static void add_kernel(struct report *r, struct report_entry *e, const struct kernel *k, const char *call)
{
    struct report_kernel out = {.kernel = k, .is_called = call != NULL, .name = call ? call : k->label,
                                .about = about_kernel(r->arena, k)};
    kernel_reads(r->arena, k, &out.reads);
    kernel_writes(r->arena, k, &out.writes);
    for (size_t i = 0; i < out.writes.count; i++)
        out.updates |= out.writes.data[i]->kind == BUFFER_VARIABLE;
    out.phase = phase_of(k, out.updates);
    out.flops_known = cost_flops(k, &out.flops);
    cost_bytes(k, &out.bytes_read, &out.bytes_written);
    vec_push(r->arena, &e->kernels, out);
    if (!out.is_called)
        return;
    e->called++;
    e->flops += out.flops;
    e->flops_known &= out.flops_known;
    e->bytes += out.bytes_read + out.bytes_written;
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static bool is_scratch(const struct report_entry *e, const struct buffer *b)
{
    vec_each_ptr(const struct report_kernel, k, &e->kernels)
        if (k->kernel->scratch.buffer == b)
            return true;
    return false;
}

static enum report_temporary_kind kind_of(const struct report_entry *e, const struct report_temporary *t)
{
    if (e->kernels.data[t->first].phase == PHASE_BACKWARD)
        return TEMPORARY_GRADIENT;
    return e->kernels.data[t->last].phase == PHASE_BACKWARD ? TEMPORARY_KEPT : TEMPORARY_FORWARD;
}

static int by_offset(const void *a, const void *b)
{
    const struct report_temporary *x = a, *y = b;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Bytes in use during each kernel: a result may take the place of what dies, so the two count once. Temporaries are
 * sorted by offset. */
static void count_alive(struct report *r, struct report_entry *e)
{
    int64_t *end = arena_array(r->arena, int64_t, e->kernels.count + 1); /* of what is in use up to here */
    vec_each_ptr(const struct report_temporary, t, &e->temporaries)
        for (int k = t->first; k <= t->last; k++) {
            const int64_t from = t->offset > end[k] ? t->offset : end[k], to = t->offset + t->space;
            e->kernels.data[k].alive += to > from ? to - from : 0;
            end[k] = to > end[k] ? to : end[k];
        }
}

static void gather_memory(struct report *r, struct report_entry *e, const struct plan *plan)
{
    const struct lowered *l = plan->lowered;
    for (size_t i = 0; i < l->buffers.count; i++) {
        const struct buffer *b = l->buffers.data[i];
        const struct plan_life *life = &plan->life[i];
        if (b->kind != BUFFER_TEMP || life->first < 0 || b->count == 0)
            continue;
        struct report_temporary t = {.name = b->name, .dtype = b->dtype, .shape = b->shape,
                                     .offset = (int64_t)b->arena_offset,
                                     .bytes = b->count * (int64_t)dtype_size(b->dtype), .first = life->first,
                                     .last = life->last};
        t.space = round_up(t.bytes, PLAN_ALIGN);
        t.kind = is_scratch(e, b) ? TEMPORARY_SCRATCH : kind_of(e, &t);
        if (t.kind == TEMPORARY_SCRATCH) {
            t.name = "scratch";
            t.shape = SHAPE(b->count);
        }
        vec_push(r->arena, &e->temporaries, t);
    }
    if (e->temporaries.count)
        qsort(e->temporaries.data, e->temporaries.count, sizeof *e->temporaries.data, by_offset);
    count_alive(r, e);
    e->peak = -1;
    for (size_t k = 0; k < e->kernels.count && e->temporaries.count; k++)
        if (e->peak < 0 || e->kernels.data[k].alive > e->kernels.data[e->peak].alive)
            e->peak = (int)k;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static void gather_entry(struct report *r, const struct entry *entry, const struct plan *plan, const char *const *calls)
{
    static const char *const kinds[] = {
        [ENTRY_INIT] = "init", [ENTRY_STEP] = "step", [ENTRY_INFER] = "infer", [ENTRY_EVALUATE] = "evaluate"};
    struct report_entry e = {.entry = entry, .name = entry->name, .kind = kinds[entry->kind], .flops_known = true};
    const struct graph *g = entry->graph;
    vec_each(const struct value *, v, &g->inputs)
        vec_push(r->arena, &e.inputs, tensor_of(v->name, v->dtype, &v->shape));
    vec_each_ptr(const struct graph_output, o, &g->outputs)
        vec_push(r->arena, &e.outputs, tensor_of(o->name, o->value->dtype, &o->value->shape));
    for (size_t i = 0; i < plan->lowered->kernels.count; i++)
        add_kernel(r, &e, plan->lowered->kernels.data[i], calls[i]);
    gather_memory(r, &e, plan);
    e.arena_bytes = (int64_t)plan->arena_bytes;
    e.bound_bytes = (int64_t)plan->bound_bytes;
    vec_push(r->arena, &r->entries, e);
}

const struct report *report_gather(struct arena *a, const struct program *p, struct plan *const *plans,
                                   const struct report_code *code)
{
    struct report *r = arena_new(a, struct report);
    *r = (struct report){.arena = a, .program = p, .options_text = code->options_text};
    r->state_bytes = (int64_t)code->state_bytes;
    r->arena_bytes = (int64_t)code->arena_bytes;
    r->constant_bytes = (int64_t)code->constant_bytes;
    r->ram_bytes = r->state_bytes + r->arena_bytes;
    r->flash_bytes = r->constant_bytes;
    if (code->curve)
        r->curve = *code->curve;
    gather_model(r);
    gather_parameters(r);
    gather_trainings(r);
    for (size_t i = 0; i < p->entries.count; i++)
        gather_entry(r, &p->entries.data[i], plans[i], code->calls[i]);
    return r;
}
