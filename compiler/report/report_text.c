#include "report/report.h"

#include "base/str.h"
#include <inttypes.h>
#include <string.h>

static const char *const role_names[] = {"weight", "statistic", "optimizer", "counter"};

static int64_t points(const struct part *p)
{
    int64_t n = 1;
    for (int d = 0; d < p->rank; d++)
        n *= p->extent[d];
    return n;
}

static bool count_operation(const struct expr *e, void *count)
{
    *(int64_t *)count += e->op >= EXPR_NEG && dtype_is_float(e->dtype) && e->op != EXPR_CAST;
    return false;
}

static int64_t operations(const struct expr *e)
{
    int64_t count = 0;
    expr_any(e, count_operation, &count);
    return count;
}

/* Floating-point operations of one call: two per multiply-add of a product or convolution, one per operation of an expression, an elementary
 * function counted as one. */
static int64_t kernel_flops(const struct kernel *k)
{
    int64_t flops = k->flops;
    for (int d = 0; d < k->outer_rank; d++)
        flops *= k->outer_extent[d];
    for (size_t i = 0; i < k->parts.count; i++) {
        const struct part *p = &k->parts.data[i];
        int64_t kept = 1;
        for (int d = 0; d < p->rank; d++)
            kept *= p->reduced[d] ? 1 : p->extent[d];
        if (p->element)
            flops += points(p) * (1 + operations(p->element));
        for (size_t s = 0; s < p->stores.count; s++)
            flops += kept * operations(p->stores.data[s].value);
    }
    return flops;
}

static int64_t kernel_bytes(const struct kernel *k)
{
    struct arena scratch = {0};
    buffer_list touched = {0}, writes = {0};
    kernel_reads(&scratch, k, &touched);
    kernel_writes(&scratch, k, &writes);
    int64_t bytes = 0;
    for (size_t i = 0; i < touched.count; i++)
        bytes += touched.data[i]->count * (int64_t)dtype_size(touched.data[i]->dtype);
    for (size_t i = 0; i < writes.count; i++)
        bytes += writes.data[i]->count * (int64_t)dtype_size(writes.data[i]->dtype);
    arena_free(&scratch);
    return bytes;
}

static void add_tensor(struct strbuf *b, const char *what, const char *name, enum dtype d, const struct shape *s)
{
    strbuf_addf(b, "    %-7s %s %s %s\n", what, name, dtype_name(d), shape_text(b->arena, s));
}

static void add_entry(struct strbuf *b, const struct entry *e, const struct plan *plan)
{
    const struct graph *g = e->graph;
    strbuf_addf(b, "\nentry %s: %zu kernels, arena %zu bytes (lower bound %zu)\n", e->name, plan->lowered->kernels.count, plan->arena_bytes,
                plan->bound_bytes);
    for (size_t i = 0; i < g->inputs.count; i++)
        add_tensor(b, "input", g->inputs.data[i]->name, g->inputs.data[i]->dtype, &g->inputs.data[i]->shape);
    for (size_t i = 0; i < g->outputs.count; i++)
        add_tensor(b, "output", g->outputs.data[i].name, g->outputs.data[i].value->dtype, &g->outputs.data[i].value->shape);
    int64_t flops = 0;
    for (size_t i = 0; i < plan->lowered->kernels.count; i++) {
        const struct kernel *k = plan->lowered->kernels.data[i];
        flops += kernel_flops(k);
        strbuf_addf(b, "    %3zu %-44.44s %12" PRId64 " flop %10" PRId64 " bytes\n", i, k->label, kernel_flops(k), kernel_bytes(k));
    }
    strbuf_addf(b, "    total %" PRId64 " floating-point operations\n", flops);
}

const char *report_text(struct arena *a, const struct program *p, struct plan *const *plans)
{
    struct strbuf b = {.arena = a};
    int64_t bytes = 0, parameters = 0;
    for (size_t i = 0; i < p->variables.count; i++) {
        const struct variable *v = p->variables.data[i];
        bytes += shape_count(&v->shape) * (int64_t)dtype_size(v->dtype);
        parameters += v->role == ROLE_WEIGHT ? shape_count(&v->shape) : 0;
    }
    strbuf_addf(&b, "%s: %" PRId64 " trainable parameters, %" PRId64 " bytes of state\n", p->model->file, parameters, bytes);
    for (size_t i = 0; i < p->variables.count; i++) {
        const struct variable *v = p->variables.data[i];
        add_tensor(&b, role_names[v->role], v->name, v->dtype, &v->shape);
    }
    for (size_t i = 0; i < p->entries.count; i++)
        add_entry(&b, &p->entries.data[i], plans[i]);
    return strbuf_text(&b);
}
