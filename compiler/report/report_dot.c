/* The report for Graphviz: a cluster for the main graph, and one for the kernels of each entry. */
#include "base/clean.h"
#include "report/picture.h"
#include "report/report_internal.h"

#include <string.h>

/* Inside a quoted string: quotes and backslashes escaped, a line break as \n. */
static const char *quoted(struct arena *a, const char *text)
{
    struct strbuf b = {.arena = a};
    while (*text) {
        const char c = *text;
        bool unsafe;
        const size_t n = clean_next(text, &unsafe);
        if (c == '"' || c == '\\')
            strbuf_addf(&b, "\\%c", c);
        else if (c == '\n')
            strbuf_add(&b, "\\n");
        else if (!unsafe)
            strbuf_add_n(&b, text, n);
        else
            for (size_t i = 0; i < n; i++)
                strbuf_addf(&b, "\\\\x%02X", (unsigned char)text[i]);
        text += n;
    }
    return strbuf_text(&b);
}

static const char *style_of(const char *kind)
{
    static const struct {
        const char *kind, *style;
    } styles[] = {{"input", "shape=ellipse"},
                  {"output", "shape=ellipse"},
                  {"node", "fillcolor=\"#eef2f7\""},
                  {"forward", "fillcolor=\"#cfe3f5\""},
                  {"backward", "fillcolor=\"#fbdcc0\""},
                  {"update", "fillcolor=\"#cdebd3\""},
                  {"copy", "fillcolor=\"#e8e8e8\""}};
    for (size_t i = 0; i < sizeof styles / sizeof *styles; i++)
        if (!strcmp(styles[i].kind, kind))
            return styles[i].style;
    return "";
}

static void add_cluster(struct strbuf *b, const struct picture *p, size_t number, const char *name)
{
    struct arena *const a = b->arena;
    strbuf_addf(b, "  subgraph cluster_%zu {\n    label=\"%s\";\n", number, quoted(a, name));
    for (size_t i = 0; i < p->nodes.count; i++) {
        const struct picture_node *n = &p->nodes.data[i];
        strbuf_addf(b, "    n%zu_%zu [label=\"", number, i);
        if (n->number >= 0)
            strbuf_addf(b, "%d ", n->number);
        strbuf_addf(b, "%s%s%s\", tooltip=\"%s\", %s];\n", quoted(a, n->title), n->detail[0] ? "\\n" : "",
                    quoted(a, n->detail), quoted(a, n->tooltip), style_of(n->kind));
    }
    vec_each_ptr(const struct picture_edge, e, &p->edges)
        strbuf_addf(b, "    n%zu_%d -> n%zu_%d [label=\"%s\", tooltip=\"%s\"];\n", number, e->from, number, e->to,
                    quoted(a, e->type), quoted(a, e->name));
    strbuf_add(b, "  }\n");
}

const char *report_dot(const struct report *r)
{
    struct strbuf b = {.arena = r->arena};
    const struct picture model = picture_of_model(r);
    strbuf_addf(&b,
                "digraph \"%s\" {\n  node [shape=box, style=\"rounded,filled\", fillcolor=white, "
                "fontname=\"sans-serif\", fontsize=11];\n"
                "  edge [fontname=\"sans-serif\", fontsize=9];\n",
                quoted(r->arena, r->graph));
    add_cluster(&b, &model, 0, arena_printf(r->arena, "main graph %s", r->graph));
    for (size_t i = 0; i < r->entries.count; i++) {
        const struct picture kernels = picture_of_entry(r, &r->entries.data[i]);
        if (kernels.nodes.count)
            add_cluster(&b, &kernels, i + 1, arena_printf(r->arena, "kernels of %s", r->entries.data[i].name));
    }
    strbuf_add(&b, "}\n");
    return strbuf_text(&b);
}
