/* The report as one page: no scripts, nothing from elsewhere; style from page.css, pictures inline. All text of the
 * model goes through safe(). */
#include "report/draw_memory.h"
#include "report/markup.h"
#include "report/page_css.h"
#include "report/picture.h"
#include "report/report_internal.h"

#include <inttypes.h>

enum { OPEN_MOST = 60 }; /* boxes: larger graphs are folded away at first */

struct page {
    struct arena *arena;
    const struct report *report;
    struct strbuf html;
};

static void raw(struct page *p, const char *html)
{
    strbuf_add(&p->html, html);
}

static const char *safe(struct page *p, const char *text)
{
    return markup_text(p->arena, text);
}

static void fact(struct page *p, const char *what, const char *text)
{
    if (text && text[0])
        strbuf_addf(&p->html, "<dt>%s</dt><dd><code>%s</code></dd>\n", what, safe(p, text));
}

static const char *grouped(struct page *p, int64_t x)
{
    return readable_grouped(p->arena, x);
}

static const char *bytes(struct page *p, int64_t x)
{
    return readable_bytes(p->arena, x);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static const struct report_entry *main_entry(const struct report *r)
{
    const struct report_entry *found = NULL;
    for (size_t i = 0; i < r->entries.count; i++)
        if (!found || r->entries.data[i].flops > found->flops)
            found = &r->entries.data[i];
    return found;
}

static void card(struct page *p, const char *number, const char *what)
{
    strbuf_addf(&p->html, "<div class=\"card\"><b>%s</b>%s</div>\n", number, what);
}

static const char *tensors(struct page *p, int64_t n)
{
    return arena_printf(p->arena, "%s tensor%s", grouped(p, n), str_plural((size_t)n));
}

static void add_cards(struct page *p)
{
    const struct report *r = p->report;
    const struct report_entry *e = main_entry(r);
    raw(p, "<div class=\"cards\">\n");
    if (r->roles[REPORT_WEIGHT].tensors || r->trainings.count)
        card(p, grouped(p, r->roles[REPORT_WEIGHT].elements),
             arena_printf(p->arena, "parameters are trained, in %s", tensors(p, r->roles[REPORT_WEIGHT].tensors)));
    if (r->roles[REPORT_FROZEN].tensors)
        card(p, grouped(p, r->roles[REPORT_FROZEN].elements),
             arena_printf(p->arena, "are frozen, in %s", tensors(p, r->roles[REPORT_FROZEN].tensors)));
    card(p, bytes(p, r->ram_bytes),
         arena_printf(p->arena, "of RAM: state %s + arena %s bytes", grouped(p, r->state_bytes),
                      grouped(p, r->arena_bytes)));
    card(p, bytes(p, r->flash_bytes),
         arena_printf(p->arena, "of flash: %s bytes of constants", grouped(p, r->flash_bytes)));
    if (e)
        card(p, arena_printf(p->arena, "%s%s", readable_count(p->arena, e->flops), e->flops_known ? "" : "+"),
             arena_printf(p->arena, "floating-point operations in one <code>%s</code>, %d kernel%s", e->name, e->called,
                          str_plural((size_t)e->called)));
    raw(p, "</div>\n");
}

static void bar_part(struct page *p, const char *kind, int64_t size)
{
    if (size > 0)
        strbuf_addf(&p->html, "<span class=\"%s\" style=\"flex:%" PRId64 " 1 0\" title=\"%s: %s bytes\"></span>", kind,
                    size, kind, grouped(p, size));
}

static void bar_legend(struct page *p, const char *kind, const char *what, int64_t size)
{
    if (size > 0)
        strbuf_addf(&p->html, "<span><i class=\"%s\"></i>%s %s</span>\n", kind, what, bytes(p, size));
}

/* What RAM is spent on. */
static void add_ram(struct page *p)
{
    static const char *const about[] = {"weights", "statistics", "the optimizer&#39;s", "counters", "sums"};
    const struct report *r = p->report;
    raw(p, "<h3>RAM</h3>\n<div class=\"bar\">");
    for (int role = 0; role < REPORT_FROZEN; role++)
        bar_part(p, report_role_names[role], r->roles[role].bytes);
    bar_part(p, "arena", r->arena_bytes);
    raw(p, "</div>\n<div class=\"legend\">\n");
    for (int role = 0; role < REPORT_FROZEN; role++)
        bar_legend(p, report_role_names[role], about[role], r->roles[role].bytes);
    bar_legend(p, "arena", "arena, work memory of the entry that needs most", r->arena_bytes);
    raw(p,
        "</div>\n<p class=\"soft\">Not counted: code, stack, and the inputs and outputs, which the caller owns.</p>\n");
}

static void add_training(struct page *p, const struct report_training *t)
{
    raw(p, "<h3>");
    if (t->entry)
        strbuf_addf(&p->html, "What <code>%s</code> does", t->entry);
    else
        raw(p, "An algorithm that is not compiled");
    raw(p, "</h3>\n<dl>\n");
    fact(p, "loss", t->loss_text ? arena_printf(p->arena, "%s = %s", t->loss, t->loss_text) : t->loss);
    fact(p, "optimizer", t->optimizer);
    fact(p, "learning rate", t->rate);
    if (t->trains.count) {
        strbuf_addf(&p->html, "<dt>gradients of</dt><dd>%s<details><summary>which</summary>",
                    tensors(p, (int64_t)t->trains.count));
        for (size_t i = 0; i < t->trains.count; i++)
            strbuf_addf(&p->html, "%s<code>%s</code>", i ? ", " : "", safe(p, t->trains.data[i]));
        raw(p, "</details></dd>\n");
    }
    raw(p, "</dl>\n");
}

static void add_head(struct page *p)
{
    const struct report *r = p->report;
    const char *const title = safe(p, r->graph[0] ? r->graph : r->file);
    strbuf_addf(&p->html,
                "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                "<title>%s: stepc inspect</title>\n<style>\n%s</style>\n</head>\n<body>\n"
                "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\"><defs>"
                "<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"6\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
                "orient=\"auto\"><path class=\"head\" d=\"M0 0L8 4L0 8Z\"/></marker></defs></svg>\n"
                "<h1>%s</h1>\n<p class=\"soft\"><code>%s</code>, opset %s, sha256 %s",
                title, page_css, title, safe(p, r->file), safe(p, r->opsets),
                safe(p, readable_shortened(p->arena, r->digest, 17)));
    if (r->options_text[0])
        strbuf_addf(&p->html, ", with <code>%s</code>", safe(p, r->options_text));
    raw(p, "</p>\n<nav>\n");
    vec_each_ptr(const struct report_entry, e, &r->entries)
        if (e->kernels.count)
            strbuf_addf(&p->html, "<a href=\"#entry-%s\">%s</a>\n", e->name, e->name);
    raw(p, "<a href=\"#model\">model</a>\n<a href=\"#parameters\">parameters</a>\n<a href=\"#counts\">what "
           "counts</a>\n</nav>\n");
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static void tensor_row(struct page *p, const char *what, const struct report_tensor *t)
{
    strbuf_addf(&p->html,
                "<tr><td>%s</td><td><code>%s</code></td><td>%s</td><td>%s</td><td class=\"n\">%s</td></tr>\n", what,
                safe(p, t->name), dtype_name(t->dtype), shape_text(p->arena, &t->shape), grouped(p, t->bytes));
}

static void add_arguments(struct page *p, const struct report_entry *e)
{
    if (e->inputs.count + e->outputs.count == 0)
        return;
    raw(p, "<h3>Inputs and outputs</h3>\n<div class=\"scroll\"><table>\n<tr><th></th><th>name</th><th>type</th>"
           "<th>shape</th><th class=\"n\">bytes</th></tr>\n");
    vec_each_ptr(const struct report_tensor, t, &e->inputs)
        tensor_row(p, "input", t);
    vec_each_ptr(const struct report_tensor, t, &e->outputs)
        tensor_row(p, "output", t);
    raw(p, "</table></div>\n");
}

static void add_kernel(struct page *p, const struct report_entry *e, size_t i, int64_t most)
{
    const struct report_kernel *k = &e->kernels.data[i];
    const int64_t moved = k->bytes_read + k->bytes_written;
    strbuf_addf(&p->html, "<tr id=\"%s-%zu\"%s><td class=\"n\">%zu</td><td class=\"f\">", e->name, i,
                k->is_called ? "" : " class=\"faint\"", i);
    if (!k->is_called) {
        strbuf_addf(&p->html,
                    "no call: <code>%s</code> is written in place</td><td></td><td class=\"n\"></td>"
                    "<td class=\"n\"></td><td class=\"n\"></td>",
                    safe(p, k->writes.count ? k->writes.data[0]->name : k->name));
    } else {
        strbuf_addf(&p->html,
                    "<code>%s</code></td><td class=\"phase-name\"><i class=\"%s\"></i>%s%s</td><td class=\"n\">%s%s",
                    safe(p, k->name), report_phase_names[k->phase], report_phase_names[k->phase],
                    k->updates && k->phase != PHASE_UPDATE ? ", updates" : "", grouped(p, k->flops),
                    k->flops_known ? "" : "+");
        if (most > 0 && k->flops > 0)
            strbuf_addf(&p->html, "<span class=\"share\" style=\"width:%.1f%%\"></span>",
                        100.0 * (double)k->flops / (double)most);
        strbuf_addf(&p->html, "</td><td class=\"n\">%s</td><td class=\"n\">%.2f</td>", grouped(p, moved),
                    moved ? (double)k->flops / (double)moved : 0);
    }
    strbuf_addf(&p->html, "<td class=\"n\">%s</td><td class=\"about\">%s</td></tr>\n", grouped(p, k->alive),
                safe(p, k->about));
}

static void add_kernels(struct page *p, const struct report_entry *e)
{
    int64_t most = 0;
    for (size_t i = 0; i < e->kernels.count; i++)
        most = e->kernels.data[i].flops > most ? e->kernels.data[i].flops : most;
    raw(p, "<h3>Kernels</h3>\n<div class=\"scroll\"><table>\n<tr><th class=\"n\">#</th><th>function</th><th>phase</th>"
           "<th class=\"n\">operations</th><th class=\"n\">bytes</th><th class=\"n\">operations per byte</th>"
           "<th class=\"n\">arena alive</th><th>computes</th></tr>\n");
    for (size_t i = 0; i < e->kernels.count; i++)
        add_kernel(p, e, i, most);
    raw(p, "</table></div>\n");
}

static void add_parameters(struct page *p)
{
    const struct report *r = p->report;
    raw(p, "<h2 id=\"parameters\">Parameters</h2>\n");
    if (r->parameters.count == 0) {
        raw(p, "<p>The model has none.</p>\n");
        return;
    }
    raw(p, "<p>In the order of the state; what is frozen is constant.</p>\n<div class=\"scroll\"><table>\n<tr>"
           "<th>role</th><th>name</th><th>type</th><th>shape</th><th class=\"n\">bytes</th></tr>\n");
    vec_each_ptr(const struct report_parameter, x, &r->parameters)
        tensor_row(p, report_role_names[x->role], &x->tensor);
    raw(p, "</table></div>\n");
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

static void add_memory(struct page *p, const struct report_entry *e)
{
    if (e->temporaries.count == 0)
        return;
    strbuf_addf(&p->html,
                "<h3>Memory plan</h3>\n<p>Each rectangle is a temporary: from the kernel that writes it to the last "
                "that reads it, at its place in the arena of %s bytes. ",
                grouped(p, e->arena_bytes));
    if (e->arena_bytes <= e->bound_bytes)
        raw(p,
            "That is the lower bound: as many bytes are alive at once, and no packing can do better in this order. ");
    else
        strbuf_addf(&p->html,
                    "The lower bound, the most bytes that are alive at once, is %s: the plan takes %.1f%% more. ",
                    grouped(p, e->bound_bytes),
                    100.0 * (double)(e->arena_bytes - e->bound_bytes) / (double)(e->bound_bytes ? e->bound_bytes : 1));
    strbuf_addf(&p->html, "Most is alive during <a href=\"#%s-%d\">kernel %d</a>, shaded.</p>\n", e->name,
                e->peak, e->peak);
    raw(p, "<div class=\"legend\"><span><i class=\"forward\"></i>forward</span><span><i class=\"kept\"></i>forward, "
           "kept for the gradients</span><span><i class=\"gradient\"></i>gradients</span><span><i class=\"scratch\">"
           "</i>work space of one kernel</span><span><i class=\"line\"></i>lower bound</span></div>\n"
           "<figure class=\"plan\">\n");
    raw(p, memory_svg(p->arena, e));
    raw(p, "</figure>\n<p class=\"soft\">The strip below the plan tells the kernels apart: <i>forward</i> blue, "
           "<i>backward</i> orange, <i>update</i> green; a green rim where a kernel of the backward half updates its "
           "variable at once. Point at anything for details; kernels link to their row below.</p>\n");
}

static void add_graph(struct page *p, const char *title, const struct picture *graph, const char *about)
{
    strbuf_addf(&p->html,
                "<h3>%s</h3>\n<p>%s</p>\n<details%s><summary>%zu box%s, %zu arrow%s</summary>\n"
                "<figure class=\"tall\">\n%s</figure></details>\n",
                title, about, graph->nodes.count <= OPEN_MOST ? " open" : "", graph->nodes.count,
                graph->nodes.count == 1 ? "" : "es", graph->edges.count, str_plural(graph->edges.count),
                picture_svg(p->arena, graph));
}

static void add_entry(struct page *p, const struct report_entry *e)
{
    const struct picture kernels = picture_of_entry(p->report, e);
    strbuf_addf(&p->html, "<h2 id=\"entry-%s\">Entry <code>%s</code></h2>\n", e->name, e->name);
    if (e->kernels.count == 0) {
        raw(p, "<p>It calls no kernels.</p>\n");
        return;
    }
    strbuf_addf(&p->html, "<p>%d kernel%s, %s%s floating-point operations, %s moved: %.2f operations per byte.</p>\n",
                e->called, str_plural((size_t)e->called), grouped(p, e->flops), e->flops_known ? "" : " or more",
                bytes(p, e->bytes), e->bytes ? (double)e->flops / (double)e->bytes : 0);
    add_arguments(p, e);
    add_memory(p, e);
    add_kernels(p, e);
    add_graph(p, "Graph of kernels", &kernels,
              "What each kernel computes goes along the arrows to those that read it. In boxes: the function, and the "
              "variables that it reads or updates. In larger graphs, numbers of kernels stand for arrows over many "
              "layers: to 201, from 17.");
}

static void add_model(struct page *p)
{
    const struct picture graph = picture_of_model(p->report);
    raw(p, "<h2 id=\"model\">Model</h2>\n");
    add_graph(p, "Main graph", &graph,
              "The graph for inference, as the file has it: operators with their parameters. What is computed from "
              "constants alone is left out. Dashed: inputs and outputs.");
}

static void add_counts(struct page *p)
{
    raw(p, "<h2 id=\"counts\">What counts</h2>\n<dl>\n"
           "<dt>operations</dt><dd>floating-point; a multiply-add is two, an elementary function is one. A + behind a "
           "number: a part of the kernel is not counted.</dd>\n"
           "<dt>bytes</dt><dd>each element that a kernel reads or writes, once: what a perfect cache would move. Work "
           "space is left out.</dd>\n"
           "<dt>alive</dt><dd>bytes of the arena that hold something while the kernel runs, each temporary "
           "rounded up to 64.</dd>\n"
           "<dt>RAM</dt><dd>the two structs that the caller owns, state and arena. Neither the stack nor "
           "inputs and outputs.</dd>\n"
           "<dt>flash</dt><dd>constant arrays: frozen tensors, tables, and the initial values that <code>init()</code> "
           "restores. Not the code.</dd>\n"
           "</dl>\n");
}

const char *report_html(const struct report *r)
{
    struct page p = {.arena = r->arena, .report = r, .html = {.arena = r->arena}};
    add_head(&p);
    add_cards(&p);
    for (size_t i = 0; i < r->trainings.count; i++)
        add_training(&p, &r->trainings.data[i]);
    add_ram(&p);
    for (size_t i = 0; i < r->entries.count; i++)
        if (r->entries.data[i].kernels.count)
            add_entry(&p, &r->entries.data[i]);
    add_model(&p);
    add_parameters(&p);
    add_counts(&p);
    raw(&p, "</body>\n</html>\n");
    return strbuf_text(&p.html);
}
