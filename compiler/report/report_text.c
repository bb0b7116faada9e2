/* The report for a terminal. Numbers are printed in full: scripts look for them. */
#include "base/clean.h"
#include "report/report_internal.h"

#include <inttypes.h>
#include <string.h>

enum { TIMELINE_MOST = 60, NAME_WIDTH = 44 };

static const char *clean(const struct report *r, const char *text)
{
    return clean_text(r->arena, text);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void add_training(struct strbuf *b, const struct report *r, const struct report_training *t)
{
    const char *name = t->entry ? t->entry : "(not compiled)";
    strbuf_addf(b, "%-10s", name);
    const char *next = strlen(name) <= 10 ? "" : "\n          ";
    if (t->loss) {
        strbuf_addf(b, "%s loss: %s", next, clean(r, t->loss));
        if (t->loss_text)
            strbuf_addf(b, " = %s", clean(r, t->loss_text));
        next = "\n          ";
    }
    if (t->trains.count) {
        strbuf_addf(b, "%s gradients of %zu tensors", next, t->trains.count);
        next = "\n          ";
    }
    if (t->optimizer) {
        strbuf_addf(b, "%s optimizer: %s", next, clean(r, t->optimizer));
        next = "\n          ";
    }
    if (t->rate)
        strbuf_addf(b, "%s learning rate: %s", next, clean(r, t->rate));
    strbuf_add(b, "\n");
}

static void add_summary(struct strbuf *b, const struct report *r)
{
    const int64_t trained = r->roles[REPORT_WEIGHT].elements;
    strbuf_addf(b, "%s: graph '%s', opset %s\n\n", clean(r, r->file), clean(r, r->graph), clean(r, r->opsets));
    strbuf_addf(b,
                "trains     %" PRId64 " parameters in %" PRId64 " tensors; %" PRId64 " in %" PRId64
                " tensors are frozen\n",
                trained, r->roles[REPORT_WEIGHT].tensors, r->roles[REPORT_FROZEN].elements,
                r->roles[REPORT_FROZEN].tensors);
    for (size_t i = 0; i < r->trainings.count; i++)
        add_training(b, r, &r->trainings.data[i]);
    strbuf_addf(b, "memory     RAM %" PRId64 " bytes: state %" PRId64 ", arena %" PRId64 "\n", r->ram_bytes,
                r->state_bytes, r->arena_bytes);
    strbuf_addf(b, "           flash %" PRId64 " bytes of constants\n", r->flash_bytes);
    strbuf_add(b, "           not counted: code, stack, and the inputs and outputs, which the caller owns\n");
}

static void add_tensor(struct strbuf *b, const struct report *r, const char *what, const struct report_tensor *t)
{
    strbuf_addf(b, "    %-9s %s %s\n", what, clean(r, t->name), readable_type(r->arena, t->dtype, &t->shape));
}

static void add_parameters(struct strbuf *b, const struct report *r)
{
    if (r->parameters.count)
        strbuf_add(b, "\nparameters\n");
    for (size_t i = 0; i < r->parameters.count; i++)
        add_tensor(b, r, report_role_names[r->parameters.data[i].role], &r->parameters.data[i].tensor);
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static void add_kernels(struct strbuf *b, const struct report *r, const struct report_entry *e)
{
    if (e->kernels.count)
        strbuf_addf(b, "    %4s %-*s %15s %13s %9s %13s\n", "", NAME_WIDTH, "kernel", "operations", "bytes",
                    "ops/byte", "alive");
    for (size_t i = 0; i < e->kernels.count; i++) {
        const struct report_kernel *k = &e->kernels.data[i];
        const int64_t bytes = k->bytes_read + k->bytes_written;
        if (!k->is_called) {
            strbuf_addf(b, "    %4zu %s: no call, written in place\n", i,
                        clean(r, k->writes.count ? k->writes.data[0]->name : k->name));
            continue;
        }
        strbuf_addf(b, "    %4zu %-*s %14" PRId64 "%s %13" PRId64 " %9.2f %13" PRId64 "\n", i, NAME_WIDTH,
                    readable_shortened(r->arena, clean(r, k->name), NAME_WIDTH), k->flops, k->flops_known ? " " : "+",
                    bytes, bytes ? (double)k->flops / (double)bytes : 0, k->alive);
    }
    strbuf_addf(b, "    total %" PRId64 "%s floating-point operations, %" PRId64 " bytes\n", e->flops,
                e->flops_known ? "" : " or more", e->bytes);
}

/* One mark per kernel: alive or not. */
static const char *timeline(struct arena *a, const struct report_entry *e, const struct report_temporary *t)
{
    struct strbuf b = {.arena = a};
    for (int k = 0; k < (int)e->kernels.count && e->kernels.count <= TIMELINE_MOST; k++)
        strbuf_add(&b, k >= t->first && k <= t->last ? "#" : ".");
    return strbuf_text(&b);
}

static void add_memory(struct strbuf *b, const struct report *r, const struct report_entry *e)
{
    if (e->temporaries.count == 0)
        return;
    strbuf_addf(b, "    memory: most is alive during kernel %d\n", e->peak);
    strbuf_addf(b, "    %10s %10s %9s\n", "offset", "bytes", "kernels");
    vec_each_ptr(const struct report_temporary, t, &e->temporaries) {
        const char *marks = timeline(r->arena, e, t);
        strbuf_addf(b, "    %10" PRId64 " %10" PRId64 " %9s %s%s%-8s %s %s\n", t->offset, t->bytes,
                    arena_printf(r->arena, "%d-%d", t->first, t->last), marks, *marks ? " " : "",
                    report_temporary_names[t->kind], clean(r, t->name), readable_type(r->arena, t->dtype, &t->shape));
    }
}

static void add_entry(struct strbuf *b, const struct report *r, const struct report_entry *e)
{
    strbuf_addf(b, "\nentry %s: %d kernels, arena %" PRId64 " bytes (lower bound %" PRId64 ")\n", e->name, e->called,
                e->arena_bytes, e->bound_bytes);
    for (size_t i = 0; i < e->inputs.count; i++)
        add_tensor(b, r, "input", &e->inputs.data[i]);
    for (size_t i = 0; i < e->outputs.count; i++)
        add_tensor(b, r, "output", &e->outputs.data[i]);
    add_kernels(b, r, e);
    add_memory(b, r, e);
}

/* Bars are lengths of the arena, the plain program's is the longest. */
static void add_curve(struct strbuf *b, const struct report *r)
{
    static const char bar[] = "########################################";
    if (r->curve.count == 0)
        return;
    const struct report_point *const plain = &r->curve.data[0];
    strbuf_addf(b, "\nwhat --ram can have, by computing again\n    %12s %12s %14s %7s\n", "RAM", "arena", "operations",
                "more");
    vec_each_ptr(const struct report_point, p, &r->curve) {
        const double more = plain->flops > 0 ? 100 * (double)(p->flops - plain->flops) / (double)plain->flops : 0;
        const int length = (int)(p->arena_bytes * (int64_t)(sizeof bar - 1) /
                                 (plain->arena_bytes > 0 ? plain->arena_bytes : 1));
        strbuf_addf(b, "    %12" PRId64 " %12" PRId64 " %14" PRId64 " %6.1f%% %.*s\n", p->ram_bytes, p->arena_bytes,
                    p->flops, more, length, bar);
    }
}

const char *report_text(const struct report *r)
{
    struct strbuf b = {.arena = r->arena};
    add_summary(&b, r);
    add_parameters(&b, r);
    for (size_t i = 0; i < r->entries.count; i++)
        add_entry(&b, r, &r->entries.data[i]);
    add_curve(&b, r);
    return strbuf_text(&b);
}
